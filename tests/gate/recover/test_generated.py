"""For every format: calls that fit their tools, written as the model writes them, in prose, are read back exactly."""

import logging
from binascii import crc32
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import Phase, given, seed, settings

from rightcall import Gate
from rightcall.types import Reading, Verdict
from support.every import every
from support.recover.strategies import Case, cases
from support.writers import WRITERS, Writer

pytestmark = pytest.mark.hypothesis  # with more examples in the long tests, as whatever hypothesis makes
every_format = every("writer", WRITERS.values(), ids=WRITERS.keys(), parts=12)
without_tools = every(
    "writer", [one for one in WRITERS.values() if not one.needs_tools], ids=lambda writer: writer.name, parts=6
)


@pytest.fixture(autouse=True, scope="module")
def quiet() -> Iterator[None]:
    """Every refusal is a log line, and a failed test would show thousands."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


def for_cases(writer: Writer, examples: int, check: Callable[[Case], None]) -> None:
    """Every format has cases of its own; from one seed all would have the same. To shrink one takes minutes."""

    @seed(crc32(writer.name.encode()))
    @settings(max_examples=max(2, examples * settings().max_examples // 50), phases=(Phase.generate,))
    @given(cases(writer))
    def run(case: Case) -> None:
        check(case)

    run()


def found(reading: Reading) -> list[tuple[str, Any] | None]:
    return [verdict.found and (verdict.found.name, verdict.found.arguments) for verdict in reading.calls]


def exact(value: Any) -> Any:
    """For comparing: Python holds true for 1, but a tool may not. 3 and 3.0 are one number in JSON too."""
    if isinstance(value, dict):
        return {key: exact(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [exact(item) for item in value]
    return f"flag {value}" if isinstance(value, bool) else value


def squeezed(text: str) -> str:
    return "".join(text.split())


def keeps_the_prose(reading: Reading, case: Case, writer: Writer) -> bool:
    """The prose, whole and in order; and nothing else, where the format has no words of its own."""
    left, said = squeezed(reading.text), [squeezed(piece) for piece in case.prose]
    if writer.quiet:
        return left == "".join(said)
    at = 0
    for piece in said:
        at = left.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True


@pytest.mark.promise("R-01", "R-05")
@every_format
def test_calls_in_prose_are_read_back_exactly(writer: Writer) -> None:
    def check(case: Case) -> None:
        reading = Gate(case.tools).read(case.text)
        assert exact(found(reading)) == exact(case.calls), case.text
        assert all(verdict.ok for verdict in reading.calls), case.text
        assert keeps_the_prose(reading, case, writer), (case.text, reading.text)

    for_cases(writer, 7, check)


def streamed(gate: Gate, chunks: list[str]) -> tuple[str, tuple[Verdict, ...]]:
    feed = gate.stream()
    events = [event for chunk in chunks for event in feed.push(chunk)]
    events.extend(feed.close())
    words = "".join(event for event in events if isinstance(event, str))
    return words, tuple(event for event in events if not isinstance(event, str))


def cut(text: str, random: Random) -> list[str]:
    ends = sorted(random.sample(range(len(text) + 1), min(len(text), random.choice((1, 3, 20)))))
    return [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]


@pytest.mark.promise("R-09")
@every_format
def test_every_chunking_gives_the_calls_and_the_prose_of_the_whole(writer: Writer) -> None:
    def check(case: Case) -> None:
        gate = Gate(case.tools)
        reading = gate.read(case.text)
        random = Random(case.text)
        for chunks in ([case.text], list(case.text), cut(case.text, random), cut(case.text, random)):
            assert streamed(gate, chunks) == (reading.text, reading.calls), chunks

    for_cases(writer, 4, check)


@pytest.mark.promise("R-01")
@without_tools
def test_a_gate_that_knows_no_tools_finds_the_same_calls(writer: Writer) -> None:
    """Their values too, where the format itself says of what type they are."""

    def check(case: Case) -> None:
        reading = Gate().read(case.text)
        assert [call and call[0] for call in found(reading)] == [name for name, _ in case.calls], case.text
        if writer.values == "json":
            assert exact(found(reading)) == exact(case.calls), case.text

    for_cases(writer, 4, check)


def test_the_generated_calls_fit_their_tools_as_they_are() -> None:
    """Else a refusal above would be the generator's fault."""

    def check(case: Case) -> None:
        gate = Gate(case.tools)
        verdicts = [gate.check(name, arguments) for name, arguments in case.calls]
        assert all(verdict.ok and not verdict.repairs for verdict in verdicts)

    for_cases(WRITERS["hermes"], 60, check)
