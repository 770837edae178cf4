"""Whatever comes, nothing escapes the gate, and the answer is there in time. `make hostile` does this at full size."""

import contextlib
import gc
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from rightcall import Gate, Unreadable, loads
from support.every import every
from support.hostile.kinds import NOTE, Kind, judge_check, judge_loads
from support.hostile.objects import OBJECTS
from support.hostile.schemas import SCHEMAS
from support.hostile.texts import TEXTS

SIZE = 60_000
"""Enough that anything quadratic in it takes more than its second."""


@pytest.fixture(autouse=True, scope="module")
def quiet() -> Iterator[None]:
    """Every refusal is a log line, and a failed test would show thousands."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(autouse=True, scope="module")
def unburdened() -> None:
    """What the tests before have left in memory is not searched by the collector while these are timed."""
    gc.collect()
    gc.freeze()


KINDS = [*TEXTS, *OBJECTS, *SCHEMAS]


def by_name(kind: Kind) -> str:
    return kind.name


@pytest.mark.long
@pytest.mark.promise("N-11", "N-13", "N-17", "V-01")
@every("kind", KINDS, ids=by_name, parts=16)
def test_the_gate_answers_in_time_and_lets_nothing_escape(kind: Kind) -> None:
    found = judge_check(kind, SIZE).complaints and judge_check(kind, SIZE).complaints  # the collector may come between
    assert not found


@pytest.mark.long
@pytest.mark.promise("N-17")
@every("kind", TEXTS, ids=by_name, parts=12)
@every("led", [False, True], ids=["free", "led by a schema"])
def test_the_reader_answers_in_time_and_lets_nothing_escape(kind: Kind, led: bool) -> None:
    schema = NOTE["parameters"] if led else None
    found = judge_loads(kind, SIZE, schema).complaints and judge_loads(kind, SIZE, schema).complaints
    assert not found


@pytest.mark.parametrize("value", [b"{}", None, 7, {}, ["{}"]], ids=repr)
def test_the_reader_says_that_it_reads_text_only(value: object) -> None:
    with pytest.raises(TypeError, match="text"):
        loads(value)  # type: ignore[arg-type]


def test_every_kind_of_input_is_there_once() -> None:
    names = [kind.name for kind in KINDS]
    assert len(names) == len(set(names))
    assert len(names) >= 160


@pytest.mark.promise("N-17")
@pytest.mark.parametrize(
    "written",
    [
        "{{'text': open({0!r}, 'w').write('x')}}",
        "open({0!r}, 'w')",
        "note(text=open({0!r}, 'w').write('x'))",
        "{{'text': f\"{{open({0!r}, 'w')}}\"}}",
        "{{'text': (lambda: open({0!r}, 'w'))()}}",
        "{{'text': [open({0!r}, 'w') for _ in '1']}}",
        "{{'text': __import__('pathlib').Path({0!r}).touch()}}",
        "{{'text': 'x', 'tags': \"[open({0!r}, 'w')]\"}}",
        '{{"text": "x", "place": "__import__(\'pathlib\').Path({0!r}).touch()"}}',
        '{{"text": "x", "count": "len(open({0!r}, \'w\').name)"}}',
        "!!python/object/apply:pathlib.Path.touch [{0!r}]",
    ],
)
def test_nothing_that_a_model_wrote_is_ever_executed(written: str, tmp_path: Path) -> None:
    trap = tmp_path / "sprung"
    text = written.format(str(trap))
    Gate([NOTE]).check("note", text)
    for schema in (None, NOTE["parameters"]):
        with contextlib.suppress(Unreadable):
            loads(text, schema)
    assert not trap.exists()
