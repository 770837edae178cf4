"""Finding out whom to ask: which API a server speaks, and which models it has."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from rightcall.base.http.addresses import Headers
from rightcall.errors import ConfigError
from rightcall.models.endpoint_answers import names_in
from rightcall.serve.doctor_requests import LISTS, PATHS, Speech, key_headers
from rightcall.serve.upstream import Upstream
from rightcall.text.escape import escaped

_MOST_SHOWN: Final = 20
_LONGEST_NAME: Final = 200
_LONGEST_ANSWER: Final = 4_000_000


class Found(Struct, frozen=True):
    """What a server said of itself."""

    speech: Speech
    models: tuple[str, ...]


async def find(upstream: Upstream, speech: Speech | None, key: str) -> Found:
    """The API that the server speaks and its models: OpenAI's first, then Ollama's own, unless one is given."""
    tried: tuple[Speech, ...] = ("openai", "ollama") if speech is None else (speech,)
    for one in tried:
        status, body = await get(upstream, LISTS[one], key_headers(one, key))
        if status in (401, 403):
            raise needs_key(upstream.host, status, given=bool(key))
        names = names_in(body) if status < 300 else None
        if names is not None:
            return Found(one, names)
    if speech is not None:  # servers need not list their models
        return Found(speech, ())
    asked = " nor ".join(LISTS[one] for one in tried)
    raise ConfigError(
        f"--upstream: {upstream.host} lists models neither at {asked}: is this the address of a model's server? "
        f"If it is, say which API it speaks (--wire {', '.join(PATHS)}) and name a --model"
    )


async def get(upstream: Upstream, target: str, headers: Headers) -> tuple[int, bytes]:
    """Status and body. Raises HttpError."""
    incoming = await upstream.send("GET", target, headers)
    try:
        return incoming.status, await incoming.read_all(_LONGEST_ANSWER)
    finally:
        incoming.release()


def needs_key(host: str, status: int, *, given: bool) -> ConfigError:
    wanted = "does not accept the key that --key-env names" if given else "wants a key"
    return ConfigError(
        f"{host} {wanted} (status {status}): put the right one into an environment variable and name that "
        "variable, such as --key-env OPENAI_API_KEY"
    )


def no_such_model(host: str, model: str, models: tuple[str, ...]) -> ConfigError:
    named = ", ".join(escaped(name, _LONGEST_NAME) for name in models[:_MOST_SHOWN])
    more = f" and {len(models) - _MOST_SHOWN} more" if len(models) > _MOST_SHOWN else ""
    there = f"it has {named}{more}" if models else "and it lists none"
    return ConfigError(f"--model: {host} has no model {escaped(model, _LONGEST_NAME)}; {there}")
