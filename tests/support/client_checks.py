"""What must hold for every client library: the tests of each of them call these."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import pytest
from msgspec import structs

from support.client_cases import BROKEN, CUT_SHORT, CUTS, MAYBE, RIGHT, TOKENS, recut, told
from support.clients import Client, Seen
from support.proxies import Rig, post, proxied
from support.scripted.parts import Pieces
from support.scripted.server import Answer, Dies, Fails, Failure, Raw, Text

__all__ = ["Pair", "pair_of"]

SAID = told([Text("one two three four five six")])


class Pair(NamedTuple):
    """One library twice: through the proxy, and at the upstream itself."""

    rig: Rig
    proxied: Client
    direct: Client

    def right(self, name: str) -> Answer:
        answer = RIGHT[name]
        return structs.replace(answer, finish=self.direct.cut_short) if answer.finish == CUT_SHORT else answer


@contextmanager
def pair_of(library: type[Client]) -> Iterator[Pair]:
    with ExitStack() as stack:
        rig = stack.enter_context(proxied())
        yield Pair(rig, stack.enter_context(library(rig.address)), stack.enter_context(library(rig.direct)))


def check_same_bytes(pair: Pair, name: str) -> None:
    """Whatever is not changed is the upstream's own bytes, under the upstream's own headers."""
    _check_bytes(pair, pair.right(name), CUTS)


def _check_bytes(pair: Pair, answer: Answer, cuts: list[Pieces]) -> None:
    for stream in (False, True):
        for pieces in cuts if stream else [None]:
            cut = structs.replace(answer, parts=recut(answer.parts, pieces))
            pair.rig.upstream.play([cut, cut])
            here = post(pair.rig.address, pair.direct.path, pair.direct.body(stream))
            there = post(pair.rig.direct, pair.direct.path, pair.direct.body(stream))
            assert here.body == there.body
            assert here.status == there.status
            assert there.headers.items() - here.headers.items() <= _own_framing(there.headers)


def _own_framing(headers: dict[str, str]) -> set[tuple[str, str]]:
    """How a body is framed is between two neighbours; everything else passes."""
    return {item for item in headers.items() if item[0] in ("transfer-encoding", "connection", "keep-alive")}


def check_same_objects(pair: Pair, name: str) -> None:
    """The library makes the same of it, field by field."""
    answer = pair.right(name)
    for stream in (False, True):
        pair.rig.upstream.play([answer, answer])
        assert pair.proxied.parsed(stream) == pair.direct.parsed(stream)


def check_same_text(pair: Pair, name: str) -> None:
    """Nothing is lifted and nothing lost; and the bytes are the same where no piece is half suspect."""
    answer = MAYBE[name]
    _check_bytes(pair, answer, [1, 10_000])
    for stream in (False, True):
        for pieces in CUTS if stream else [None]:
            cut = structs.replace(answer, parts=recut(answer.parts, pieces))
            pair.rig.upstream.play([cut, cut])
            assert pair.proxied.see(stream) == pair.direct.see(stream)


def check_repaired(pair: Pair, name: str) -> None:
    """The right calls, each with an id of its own; the right ending; the prose that is left; the tokens. Whole, and
    however the stream is cut."""
    broken = BROKEN[name]
    pair.rig.upstream.play([told(broken.parts)])
    whole = pair.proxied.see(stream=False)
    _check_seen(pair, name, whole)
    for pieces in CUTS:
        pair.rig.upstream.play([told(recut(broken.parts, pieces))])
        streamed = pair.proxied.see(stream=True)
        _check_seen(pair, name, streamed)
        assert streamed.prose.strip() == whole.prose.strip()
        assert streamed.reasoning == whole.reasoning


def _check_seen(pair: Pair, name: str, seen: Seen) -> None:
    broken = BROKEN[name]
    assert seen.named == broken.calls
    assert seen.prose.strip() == broken.prose
    assert seen.finish == pair.proxied.called
    assert seen.tokens == (TOKENS.prompt, TOKENS.completion)
    if prefix := pair.proxied.ids:
        ids = [call[0] for call in seen.calls]
        answer = told(broken.parts)
        assert all(given.startswith(prefix) for given in ids)
        assert len(set(ids)) == len(ids)
        assert [answer.numbered(prefix, call) for call in answer.calls] == ids[: len(answer.calls)]


HELPED = ["prose that looks like markup", "two right calls", "reasoning, prose and a call", "unknown fields"]


def check_helper_same(pair: Pair, name: str) -> None:
    answer = pair.right(name)
    pair.rig.upstream.play([answer, answer])
    assert pair.proxied.helped() == pair.direct.helped()


def check_helper_repaired(pair: Pair, name: str) -> None:
    pair.rig.upstream.play([told(BROKEN[name].parts)])
    _check_seen(pair, name, pair.proxied.helped()[1])


def check_same_error(pair: Pair, status: int) -> None:
    """What the upstream says of a request reaches the client as the upstream said it."""
    for stream in (False, True):
        failure = Failure(status, "no such luck", headers={"retry-after": "7", "x-told": "yes"})
        pair.rig.upstream.play([failure, failure])
        here, there = (_error(client, stream) for client in (pair.proxied, pair.direct))
        assert type(here) is type(there)
        assert str(here) == str(there)
        assert getattr(here, "status_code", None) == status
        assert getattr(here, "body", None) == getattr(there, "body", None)
        pair.rig.upstream.play([failure])
        assert post(pair.rig.address, pair.direct.path, pair.direct.body(stream)).headers["retry-after"] == "7"


def check_page(pair: Pair) -> None:
    """An error page of something between us and the model's server is an error as this API tells errors."""
    page = Raw(b"<html><title>502 Bad Gateway</title></html>", 502, content_type="text/html")
    pair.rig.upstream.play([page] * 2)
    here, there = (_error(client, False) for client in (pair.proxied, pair.direct))
    assert type(here) is type(there)
    assert "502 Bad Gateway" in str(here)
    assert "<title>" not in str(here)


def check_said_failure(pair: Pair) -> None:
    """A stream that says itself that it failed."""
    pair.rig.upstream.play([Fails(SAID, after=3)] * 2)
    here, there = (_error(client, True) for client in (pair.proxied, pair.direct))
    assert type(here) is type(there)
    assert str(here) == str(there)


def check_death(pair: Pair) -> None:
    """An upstream that dies is an error that the library knows, at whatever point it dies."""
    faults = [(Dies(SAID), False), *((Dies(SAID, after, half), True) for after in (0, 3) for half in (False, True))]
    for fault, stream in faults:
        pair.rig.upstream.play([fault])
        error = _error(pair.proxied, stream)
        assert isinstance(error, pair.proxied.error), (fault, stream, error)
        assert not isinstance(error, pair.proxied.lost), (fault, stream, error)


def _error(client: Client, stream: bool) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011  which one is what the caller asks
        client.ask(stream)
    return caught.value
