"""Whatever a tool returns becomes text: nothing raises, nothing is over its budget, the JSON can be read."""

import dataclasses
import datetime
import decimal
import json
import pathlib
import tracemalloc
import uuid
from typing import Any, NamedTuple

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.executor.messages import NOTE, content, shape, trim
from rightcall.executor.trimming import CYCLE, DEEPEST, TOO_DEEP, Measure
from support.every import every
from support.hostile.objects import OBJECTS, Angry, Colour, cyclic_dict, shared
from support.pace import process_time
from support.results import RESULTS, json_values

TOOLS = ["", *sorted(RESULTS)]
budgets = st.integers(-1, 400)


class Point(NamedTuple):
    x: int
    y: int


class Row(msgspec.Struct):
    name: str


class Model(pydantic.BaseModel):
    name: str = "a"


@dataclasses.dataclass
class Card:
    name: str
    rows: list[Row]


class Plain:
    pass


class Speaking:
    def __str__(self) -> str:
        return "hello"


@every(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (-7, "-7"),
        (0.5, "0.5"),
        (float("nan"), '"NaN"'),
        ([float("inf"), float("-inf")], '["Infinity", "-Infinity"]'),
        ([10**5000], '["(a number of 16610 bits)"]'),
        ({1: "c", None: "b", (1, 2): "d", 2.5: "e"}, '{"1": "c", "null": "b", "<tuple>": "d", "2.5": "e"}'),
        ({"c", "a", "b"}, '["a", "b", "c"]'),
        (Point(1, 2), '{"x": 1, "y": 2}'),
        (Card("k", [Row("r")]), '{"name": "k", "rows": [{"name": "r"}]}'),
        (Model(), '{"name": "a"}'),
        ([Colour.RED], '["red"]'),
        ([datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)],
         '["2026-01-02", "2026-01-02T00:00:00+00:00"]'),
        ([decimal.Decimal("1.50"), pathlib.PurePosixPath("a/b"), uuid.UUID(int=1)],
         '["1.50", "a/b", "00000000-0000-0000-0000-000000000001"]'),
        ([b"text", b"\xff\x00"], '["text", "(2 bytes)"]'),
        ([Plain(), Plain, Angry(), Speaking(), ValueError("no")],
         '["<Plain>", "<type>", "<Angry>", "hello", "ValueError: no"]'),
        ([range(3)], '["range(0, 3)"]'),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)  # fmt: skip
def test_every_kind_of_value_has_a_text(value: Any, text: str) -> None:
    assert json.dumps(json.loads(trim([value], 1000).text)[0]) == text


def test_text_of_a_value_that_is_text_is_not_quoted() -> None:
    assert trim(b"plain", 100).text == "plain"
    assert trim(Colour.RED, 100).text == "red"
    assert trim(pathlib.PurePosixPath("a/b"), 100).text == "a/b"


def test_half_characters_become_a_sign_that_can_be_sent() -> None:
    assert trim("a\ud800b", 100).text == "a�b"
    assert json.loads(trim({"a\udfff": "\ud800"}, 100).text) == {"a�": "�"}


def test_what_holds_itself_is_shown_once() -> None:
    assert json.loads(trim(cyclic_dict(), 1000).text) == {"text": "x", "place": CYCLE}
    twice = [1]
    assert json.loads(trim([twice, twice], 1000).text) == [[1], [1]]


def test_what_is_nested_without_end_is_shown_to_a_depth() -> None:
    value: Any = "core"
    for _ in range(10_000):
        value = [value]
    text = trim(value, 100_000).text
    assert text.count("[") == DEEPEST
    assert TOO_DEEP in text


@pytest.mark.promise("O-01")
@every("kind", OBJECTS, ids=lambda kind: kind.name, parts=8)
def test_no_object_is_too_odd_or_too_long(kind: Any) -> None:
    value = kind.make(100_000)
    for tool in ("", "code/read", "code/search"):
        for tokens in (0, 30, 1000):
            done = trim(shape(tool, value), tokens, tool)
            assert len(done.text) <= 4 * tokens + NOTE
            done.text.encode()
            assert "cannot be shown" not in done.text


def test_what_changes_while_it_is_read_is_said_to_be_unreadable() -> None:
    class Fleeting:
        def __str__(self) -> str:
            rows.pop("b", None)
            return "x"

    rows: dict[str, Any] = {"a": Fleeting(), "b": 1}
    assert trim(rows, 100).text == "[… the result cannot be shown (RuntimeError)]"


@pytest.mark.promise("O-01")
@given(st.sampled_from(TOOLS), json_values, budgets)
def test_every_budget_gives_text_that_can_be_read(tool: str, value: Any, tokens: int) -> None:
    done = trim(shape(tool, value), tokens, tool)
    assert len(done.text) <= max(4 * tokens, 0) + NOTE
    assert done.tokens == -(-len(done.text) // 4)
    if done.body and not isinstance(value, str):
        json.loads(done.body)
    if not done.left_out:
        assert len(done.text) <= 4 * tokens


@pytest.mark.promise("O-01")
@given(st.sampled_from(sorted(RESULTS)), budgets)
def test_every_budget_gives_every_tools_result(tool: str, tokens: int) -> None:
    shaped = shape(tool, RESULTS[tool])
    done = trim(shaped, tokens, tool)
    assert len(done.text) <= max(4 * tokens, 0) + NOTE
    left = json.loads(done.body) if done.body else {}
    assert list(left) == [key for key in shaped if key in left]
    if tokens > 150:
        assert left.keys() == shaped.keys()
        assert left["summary"] == shaped["summary"]


@given(st.lists(st.text(st.sampled_from('ab"\\\n\té😀\x00'), max_size=30)), st.integers(0, 300))
def test_text_is_cut_at_the_end_of_a_line(lines: list[str], tokens: int) -> None:
    text = "\n".join(["", *lines])
    for done, kept in ((trim(text, tokens), None), (trim({"out": text}, tokens), "out")):
        left = done.body if kept is None else json.loads(done.body or "{}").get(kept, "")
        head = left.removesuffix("…")
        assert text.startswith(head)
        assert left != head or len(head) in (0, len(text)) or text[len(head)] == "\n" or text.find("\n") > len(head)


@given(json_values)
def test_what_is_measured_is_what_is_written(value: Any) -> None:
    measure = Measure()
    text = json.dumps(measure.whole(value, 0), indent=2, ensure_ascii=False)
    assert measure.text(value) == text
    assert measure.size(value, 0, 10**9) == len(text)
    for cap in (0, len(text) // 2, len(text) - 1):
        assert measure.size(value, 0, cap) > cap


@pytest.mark.long
@pytest.mark.parametrize(
    "make",
    [
        lambda: "one line of text\n" * 3_000_000,
        lambda: {"success": True, "stdout": "x" * 50_000_000, "code": 0},
        lambda: [{"id": number, "name": "row"} for number in range(400_000)],
        lambda: {f"key {number}": [number] for number in range(400_000)},
        lambda: RESULTS["code/search"] | {"matches": RESULTS["code/search"]["matches"] * 5000},
        lambda: RESULTS["code/read"] | {"content": "one line of text\n" * 3_000_000},
        lambda: shared(),
    ],
    ids=["text", "output", "rows", "table", "matches", "file", "shared"],
)
def test_fifty_megabytes_cost_what_is_shown_of_them(make: Any) -> None:
    value = make()
    tool = "code/search" if "matches" in value else "code/read" if "content" in value else ""
    shaped = shape(tool, value)
    began = process_time()
    done = trim(shaped, 4000, tool)
    assert process_time() - began < 1.5
    assert done.tokens <= 4000
    assert done.left_out
    tracemalloc.start()
    trim(shaped, 100, tool)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


@given(st.sampled_from(TOOLS), json_values, st.integers(120, 400))
def test_what_a_model_is_shown_is_within_the_budget_with_its_mark(tool: str, value: Any, tokens: int) -> None:
    assert content(tool, value, tokens).tokens <= tokens
