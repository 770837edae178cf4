"""Any OpenAI-compatible endpoint as a model: llama.cpp, Ollama, LM Studio, vLLM, OpenAI, and whoever speaks like them.

    model = Endpoint("http://localhost:11434", "qwen3:4b")
    answer = await model([{"role": "user", "content": "Hello"}], temperature=0.2)

It needs nothing but the standard library. A server that is down, slow, or talks nonsense is a `ModelError` with one
sentence that says so, within `seconds`; no answer is trusted, a schema given with the question is only a wish.
"""

import asyncio
import os
import re
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, structs

from rightcall import suggest_keywords
from rightcall.base.http.answers import Address, Headers, HttpError, header_of, read_address
from rightcall.base.http.client import Incoming, Request, exchange
from rightcall.base.json.marks import is_object
from rightcall.base.telemetry.spans import NO_SPAN, OFF, Span, Telemetry
from rightcall.base.text import escaped, wire_name
from rightcall.errors import ConfigError, ModelError
from rightcall.models.answers import (
    MOST_BODY,
    Pieces,
    Whom,
    answer_told,
    names_in,
    read_refusal,
    secrets_of,
    whole,
    with_whole_characters,
)

if TYPE_CHECKING:
    from rightcall.policy.settings import RouterModel


# ── the request ──
# What goes out: the address, the headers and the question as bytes.

CHAT = "/chat/completions"
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_VALUE = re.compile(r"[\t\x20-\x7e]*\Z")
_OURS = frozenset({"host", "connection", "content-length", "transfer-encoding", "content-type", "accept-encoding"})


def address_of(url: str) -> Address:
    address = read_address(
        url,
        "`url` must be an address such as http://localhost:11434 or https://api.example.com/v1",
        "the key goes into `key`",
    )
    if address.path.endswith(CHAT):
        return msgspec.structs.replace(address, path=address.path.removesuffix(CHAT))
    return address if address.path else msgspec.structs.replace(address, path="/v1")


def headers_of(key: str | None, headers: Mapping[str, str]) -> Headers:
    """The headers of every request. What could end one and begin another is refused, and never shown."""
    for name, value in headers.items():
        if not _NAME.match(name) or name.lower() in _OURS:
            raise ConfigError(f"`headers`: {escaped(name, 60)} cannot be set; take another name, in letters and -")
        if not _VALUE.match(value):
            raise ConfigError(f"`headers`: the value of {name} must be one line of ASCII")
        if key is not None and name.lower() == "authorization":
            raise ConfigError("`headers`: authorization is what `key` sends; give one of the two")
    if key is not None and (not key or not _VALUE.match(key) or " " in key):
        raise ConfigError("`key` must be ASCII without blanks, or None for no key; is there a line end behind it?")
    lines = {
        "user-agent": "rightcall",
        "accept": "application/json, text/event-stream",
        "accept-encoding": "identity",
        "content-type": "application/json",
    }
    lines |= {name.lower(): value for name, value in headers.items()}
    lines |= {"authorization": f"Bearer {key}"} if key is not None else {}
    return [(name.encode("ascii"), value.encode("ascii")) for name, value in lines.items()]


def options_of(temperature: float | None, max_tokens: int | None, top_p: float | None) -> dict[str, Any]:
    options = {"temperature": temperature, "max_tokens": max_tokens, "top_p": top_p}
    return {name: value for name, value in options.items() if value is not None}


def encode_body(body: dict[str, Any]) -> bytes:
    try:
        try:
            return msgspec.json.encode(body)
        except UnicodeEncodeError:  # half a character, which a model may well write
            return msgspec.json.encode(with_whole_characters(body))
    except (TypeError, RecursionError) as why:
        raise ConfigError(f"`messages` must be what JSON can hold: {escaped(str(why), 200)}") from None


# ── what a server can do ──
# How a server wants to be asked, which it only tells by refusing: what it takes is remembered.

_REFUSALS: Final = frozenset({400, 404, 415, 422, 501})
"""What servers answer that do not know a `response_format`. A question that is wrong for another reason is asked three
times then, and the last refusal tells it."""

_PLAIN: Final = 2
_OPTIONS: Final = ("temperature", "max_tokens", "top_p")


class EndpointQuestion(Struct, frozen=True):
    """What is asked, in no server's words yet."""

    messages: list[dict[str, Any]]
    options: dict[str, Any]
    schema: dict[str, Any] | None = None
    stream: bool = False


class Manner(Struct, frozen=True):
    """`form`: 0 for a JSON schema, 1 for any JSON, 2 for neither. `without`: options that the server does not take."""

    form: int = 0
    without: frozenset[str] = frozenset()

    def body(self, model: str, question: EndpointQuestion) -> dict[str, Any]:
        body: dict[str, Any] = {"model": model, "messages": question.messages}
        for name, value in question.options.items():
            if name not in self.without:
                body[name] = value
            elif name == "max_tokens":
                body["max_completion_tokens"] = value  # as OpenAI's reasoning models call it, and they alone
        if question.schema is not None and self.form < _PLAIN:
            body["response_format"] = _FORMS[self.form](question.schema)
        return body | {"stream": True} if question.stream else body

    def other(self, question: EndpointQuestion, status: int, answer: Any) -> "Manner | None":
        """How to ask after this refusal; None: it is final."""
        option = _refused_option(answer)
        if option in question.options and option not in self.without:
            return structs.replace(self, without=self.without | {option})
        if status in _REFUSALS and question.schema is not None and self.form < _PLAIN:
            return structs.replace(self, form=self.form + 1)
        return None


PLAIN: Final = Manner(_PLAIN)


def _json_schema(schema: dict[str, Any]) -> dict[str, Any]:
    title = schema.get("title")
    name = (wire_name(title) if isinstance(title, str) else "") or "answer"
    return {"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": True}}


def _json_object(_: dict[str, Any]) -> dict[str, Any]:
    return {"type": "json_object"}


_FORMS: Final = (_json_schema, _json_object)


def _refused_option(answer: Any) -> str:
    """The option that the model does not take, as OpenAI tells it.

    >>> _refused_option({"error": {"code": "unsupported_value", "param": "temperature"}})
    'temperature'
    """
    error = answer.get("error") if is_object(answer) else None
    if not is_object(error) or error.get("code") not in ("unsupported_parameter", "unsupported_value"):
        return ""
    param = error.get("param")
    return param if param in _OPTIONS else ""


# ── waiting ──
# When a server says that it is busy, and how long it wants to be left alone.

_BUSY: Final = frozenset({429, 503})
_SECONDS: Final = re.compile(r"\d{1,9}(?:\.\d{1,9})?\Z", re.ASCII)


def seconds_to_wait(response: Incoming) -> float | None:
    """What the server asks for; None: it does not say that asking again would help."""
    said = header_of(response.headers, b"retry-after").decode("latin-1")
    if response.status not in _BUSY or not said:
        return None
    if _SECONDS.match(said):
        return float(said)
    try:
        at = parsedate_to_datetime(said)
    except ValueError:
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def advice_to_wait(whom: Whom, response: Incoming, pause: float | None, left: float) -> str:
    """What to do instead, where the answer itself says it."""
    if pause is not None and pause >= left:
        return f"it is busy and asks for {pause:g} s of patience, which is more than this question has"
    if pause is not None:
        return "it was left alone for as long as it asked for, and is still busy; ask less often, or later"
    if 300 <= response.status < 400:
        host = _host(response)
        at = f" ({whom.safe(host)})" if host else ""
        return f"redirects are not followed, a key could go astray; use the address it points to{at}"
    return ""


def _host(response: Incoming) -> str:
    """The host alone: the rest may hold a key, as our own url may."""
    try:
        return urlsplit(header_of(response.headers, b"location").decode("latin-1")).hostname or ""
    except ValueError:
        return ""


_MOST_SHOWN = 5


class Endpoint:
    """A model behind an OpenAI-compatible endpoint; `await` it with messages. Usable from any event loop and by many
    questions at once, since nothing is kept open between them.

    `url` may end in /v1 or /chat/completions; without any path, /v1 is meant. An empty `model` means the only one that
    the server has. `key` goes out as `Authorization: Bearer …`; neither it nor a header stands in an error or a repr.
    `seconds` is for a question as a whole. Without `schema` the server is never asked to keep to one.
    """

    @suggest_keywords
    def __init__(
        self,
        url: str,
        model: str = "",
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        seconds: float = 30.0,
        schema: bool = True,
    ) -> None:
        self._address = address_of(url)
        if not seconds > 0:
            raise ConfigError(f"`seconds` must be more than 0, not {seconds!r}")
        self.model = model
        self.seconds = seconds
        self._headers = headers_of(key, headers or {})
        self._secrets = secrets_of(key, headers or {})
        self._manner = Manner() if schema else PLAIN
        self._found = ""
        self._trust: ssl.SSLContext | None = None
        self.telemetry: Telemetry = OFF
        """What follows its questions; a router that is followed sets it."""

    @classmethod
    def of(cls, settings: "RouterModel", *, seconds: float = 30.0) -> Self:
        """As the policy file says it: [router.light] or [router.prime]."""
        key = os.environ.get(settings.key_env) if settings.key_env else None
        if settings.key_env and not key:
            raise ConfigError(
                f"key_env: the environment variable {settings.key_env} is not set; put the key for "
                f"{address_of(settings.url).authority} there, or leave key_env out"
            )
        return cls(
            settings.url,
            settings.model,
            key=key,
            headers=settings.headers,
            seconds=seconds,
            schema=settings.schema,
        )

    def __repr__(self) -> str:
        return f"Endpoint({self._address.authority!r}, {self.model!r})"

    async def __call__(
        self,
        messages: list[dict[str, Any]],
        *,
        schema: dict[str, Any] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        top_p: float | None = None,
    ) -> dict[str, Any]:
        """The server's whole answer, as OpenAI's API gives it. Raises ModelError."""
        question = EndpointQuestion(messages, options_of(temperature, max_tokens, top_p), schema)
        deadline = self._deadline()
        async with self._until(deadline), self._asked(question, deadline) as (whom, response, span):
            answer = whole(whom, await response.read_all())
            if span.is_live:
                span.tell(answer_told(answer))
            return answer

    async def stream(
        self,
        messages: list[dict[str, Any]],
        *,
        temperature: float | None = None,
        max_tokens: int | None = None,
        top_p: float | None = None,
    ) -> AsyncGenerator[str]:
        """The pieces of the answer as they come. Raises ModelError, also in the middle. Who stops before the end should
        `aclose` it, as with any such generator; then the connection is closed at once."""
        question = EndpointQuestion(messages, options_of(temperature, max_tokens, top_p), stream=True)
        deadline = self._deadline()
        async with AsyncExitStack() as stack:
            async with self._until(deadline):  # never around a `yield`: it would stop whoever is asking
                whom, response, span = await stack.enter_async_context(self._asked(question, deadline))
            pieces = Pieces(whom, is_followed=span.is_live)
            while not pieces.is_over:
                async with self._until(deadline):
                    data = await response.read()
                for text in pieces.feed(data) if data else ():
                    yield text
                if not data:
                    break
            rest = pieces.end()
            span.tell(pieces.told)
            for text in rest:
                yield text

    async def models(self) -> tuple[str, ...]:
        """The names of the models that the server lists; none where it lists none. Raises ModelError."""
        async with self._until(self._deadline()):
            return await self._listed()

    async def aclose(self) -> None:
        """For whoever closes all its models: here nothing is open."""

    def _deadline(self) -> float:
        return asyncio.get_running_loop().time() + self.seconds

    def _whom(self) -> Whom:
        return Whom(self._address, self.model or self._found, self._secrets)

    @asynccontextmanager
    async def _until(self, deadline: float) -> AsyncGenerator[None]:
        limit = asyncio.timeout_at(deadline)
        try:
            async with limit:
                yield
        except TimeoutError:
            if limit.expired():
                raise self._whom().late(self.seconds) from None
            raise

    @asynccontextmanager
    async def _asked(self, question: EndpointQuestion, deadline: float) -> AsyncGenerator[tuple[Whom, Incoming, Span]]:
        """An answer with the status 200, in whatever manner the server takes the question."""
        model = self.model or await self._only_model()
        span = self.telemetry.chat("openai")
        span.aim(model)
        span.tell({"server.address": self._address.host, "server.port": self._address.port})
        try:
            async with self._taken(question, deadline, model, span) as (whom, response):
                yield whom, response, span
        except BaseException as error:
            span.fail(type(error).__name__)
            raise
        finally:
            span.end()

    @asynccontextmanager
    async def _taken(
        self, question: EndpointQuestion, deadline: float, model: str, span: Span
    ) -> AsyncGenerator[tuple[Whom, Incoming]]:
        whom, manner, may_wait = self._whom(), self._manner, True
        while True:
            body = encode_body(manner.body(model, question))
            async with self._sent(whom, "POST", CHAT, body, span) as response:
                if response.status == 200:
                    self._manner = manner
                    yield whom, response
                    return
                answer = read_refusal(await response.read_all())
            other = manner.other(question, response.status, answer)
            if other is not None:
                manner = other
                continue
            pause = seconds_to_wait(response)
            left = deadline - asyncio.get_running_loop().time()
            if pause is None or pause >= left or not may_wait:
                self._found = "" if response.status == 404 else self._found  # another model may be loaded by now
                raise whom.refused(response.status, answer, advice_to_wait(whom, response, pause, left))
            may_wait = False
            await asyncio.sleep(pause)

    async def _only_model(self) -> str:
        """The model's name where nobody gave one. Servers that list none may have a default."""
        if not self._found:
            names = await self._listed()
            talking = [name for name in names if "embed" not in name.lower()]  # which LM Studio lists beside the others
            if len(talking) > 1:
                shown = ", ".join(escaped(name, 80) for name in talking[:_MOST_SHOWN])
                more = f" and {len(talking) - _MOST_SHOWN} more" if len(talking) > _MOST_SHOWN else ""
                raise self._whom().error(f"the server has several; say which with `model`: {shown}{more}", "status")
            self._found = talking[0] if talking else ""
        return self._found

    async def _listed(self) -> tuple[str, ...]:
        whom = self._whom()
        async with self._sent(whom, "GET", "/models") as response:
            raw = await response.read_all()
        if response.status in (401, 403):
            raise whom.refused(response.status, read_refusal(raw))
        return (names_in(raw) or ()) if response.status == 200 else ()

    @asynccontextmanager
    async def _sent(
        self, whom: Whom, method: str, path: str, body: bytes = b"", span: Span = NO_SPAN
    ) -> AsyncGenerator[Incoming]:
        if self._address.secure and self._trust is None:
            self._trust = ssl.create_default_context()
        request = Request(method, self._address.path + path, span.headers(self._headers), body, MOST_BODY)
        try:
            async with exchange(self._address, request, self._trust) as response:
                yield response
        except HttpError as error:
            raise whom.failed(error.fault) from None


# ── on this machine ──
# Which of the usual servers answer on the loopback interface, and with which models.

SERVERS = {"Ollama": 11434, "LM Studio": 1234, "llama.cpp": 8080, "vLLM": 8000}
"""By the port that each listens on unless it is told otherwise."""
_LOOK_SECONDS = 0.5


class LocalServer(Struct, frozen=True):
    """A server that answered, and the models that it lists."""

    name: str
    url: str
    models: tuple[str, ...]


async def find_local(seconds: float = _LOOK_SECONDS) -> list[LocalServer]:
    """The servers that list a model within so many seconds; nothing beyond this machine is asked."""
    found = await asyncio.gather(*(_look(name, port, seconds) for name, port in SERVERS.items()))
    return [one for one in found if one is not None]


async def _look(name: str, port: int, seconds: float) -> LocalServer | None:
    url = f"http://127.0.0.1:{port}/v1"
    try:
        models = await Endpoint(url, seconds=seconds).models()
    except ModelError:
        return None
    return LocalServer(name, url, models) if models else None
