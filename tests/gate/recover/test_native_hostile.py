"""Whatever is handed over as a message: nothing raises, nothing takes long, nothing is made up."""

import itertools
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn
from unittest.mock import MagicMock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.gate.recover.native import MOST, NativeCall, NativeText, Unpacked, unpack
from rightcall.types import Note
from support.every import every
from support.hostile.objects import OBJECTS, Angry, AngryDict, AngryList, AngryText, Impostor

pytestmark = pytest.mark.promise("R-02", "R-10")


def sound(unpacked: Unpacked) -> Unpacked:
    """What holds of every answer."""
    assert len(unpacked.parts) <= MOST
    for part in unpacked.parts:
        if isinstance(part, NativeText):
            assert type(part.text) is str
            assert part.text
            assert type(part.reasoning) is bool
        else:
            assert type(part) is NativeCall
            assert part.id is None or (type(part.id) is str and part.id)
            assert type(part.partial) is bool
    assert unpacked.finish is None or (type(unpacked.finish) is str and unpacked.finish)
    assert all(type(note) is Note and note.message.isprintable() for note in unpacked.notes)
    assert len(set(unpacked.notes)) == len(unpacked.notes)
    assert not any("could not be read completely" in note.message for note in unpacked.notes), "an error of our own"
    return unpacked


class Furious:
    """Every attribute is an error, and so is the question what it is."""

    def __getattribute__(self, name: str) -> NoReturn:
        raise RuntimeError("do not touch")


class Endless(Sequence[Any]):
    def __getitem__(self, at: Any) -> Any:
        return {"name": "a", "arguments": {}}

    def __len__(self) -> int:
        return 10**9


class Breaking(Sequence[Any]):
    """Gives one call and then breaks."""

    def __iter__(self) -> Iterator[Any]:
        yield {"name": "a", "arguments": {}}
        raise OSError("gone")

    def __getitem__(self, at: Any) -> Any:
        raise OSError("gone")

    def __len__(self) -> int:
        return 2


def cyclic(key: str, wrap: Callable[[Any], Any] = lambda value: value) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant"}
    message[key] = wrap(message)
    return message


def cyclic_list() -> list[Any]:
    value: list[Any] = []
    value.extend([value] * 10)
    return value


def deep(levels: int, wrap: Callable[[Any], Any]) -> Any:
    value: Any = {"name": "a", "arguments": {}}
    for _ in range(levels):
        value = wrap(value)
    return value


HOSTILE: dict[str, Callable[[], Any]] = {
    "furious": Furious,
    "furious inside": lambda: {"choices": [Furious()]},
    "furious content": lambda: {"role": "assistant", "content": Furious(), "tool_calls": Furious()},
    "angry": Angry,
    "angry dict": lambda: AngryDict(role="assistant", content="a"),
    "angry list": lambda: AngryList([{"name": "a", "arguments": {}}]),
    "angry text": lambda: AngryText("a"),
    "angry words": lambda: {"role": AngryText("assistant"), "type": AngryText("ai"), "content": AngryText("a")},
    "angry reasons": lambda: {"choices": [{"message": {"content": "a"}, "finish_reason": AngryText("length")}]},
    "angry fields": lambda: {"output": Angry(), "status": Angry(), "incomplete_details": Angry()},
    "angry calls": lambda: {"tool_calls": [{"id": Angry(), "function": {"name": Angry(), "arguments": Angry()}}]},
    "angry legacy call": lambda: {"role": "assistant", "function_call": Angry(), "tool_calls": [Angry(), Angry()]},
    "angry name in content and list": lambda: {
        "content": [{"type": "tool_use", "id": "c", "name": AngryText("a"), "input": {}}],
        "tool_calls": [{"id": "c", "name": "a", "args": {}}],
    },
    "impostor": Impostor,
    "mock": MagicMock,
    "mock inside": lambda: {"choices": [MagicMock()], "tool_calls": MagicMock()},
    "cycle through message": lambda: cyclic("message"),
    "cycle through content": lambda: cyclic("content"),
    "cycle through content in a list": lambda: cyclic("content", lambda value: [value, value, value]),
    "cycle through choices": lambda: cyclic("choices", lambda value: [value]),
    "cycle through output": lambda: cyclic("output", lambda value: [value] * 20),
    "cycle through reasoning": lambda: cyclic("reasoning", lambda value: [value] * 20),
    "cycle through text": lambda: {"type": "text"} | cyclic("text", lambda value: {"text": value}),
    "list that holds itself": cyclic_list,
    "deep lists": lambda: deep(100_000, lambda value: [value]),
    "deep messages": lambda: deep(100_000, lambda value: {"message": value}),
    "deep content": lambda: deep(100_000, lambda value: {"content": [value]}),
    "NaN": lambda: [float("nan"), {"name": float("nan"), "arguments": float("inf"), "id": float("nan")}],
    "huge id": lambda: {"name": "a", "arguments": {}, "id": 10**100_000},
    "endless sequence": Endless,
    "range": lambda: range(10**12),
    "endless iterator": itertools.count,
    "classes": lambda: [dict, types, print, len, ValueError("x"), AttributeError("x", name="a")],
    "keys that are no text": lambda: {1: 2, None: 3, ("a",): 4, Angry(): 5},
    "surrogates": lambda: {"type": "\ud800", "method": "\udfff", "content": "\ud800"},
    "many notes": lambda: [{"type": f"novelty{number}"} for number in range(100_000)],
}


@every("name", HOSTILE)
def test_hostile_messages_raise_nothing(name: str) -> None:
    sound(unpack(HOSTILE[name]()))


@pytest.mark.long
@every("kind", [kind for kind in OBJECTS if not kind.grows], ids=lambda kind: kind.name, parts=2)
def test_hostile_arguments_pass_through_untouched_and_hostile_messages_raise_nothing(kind: Any) -> None:
    arguments = kind.make(0)
    sound(unpack(arguments))
    sound(unpack([arguments]))
    (only,) = sound(unpack({"tool_calls": [{"id": "c", "function": {"name": "a", "arguments": arguments}}]})).parts
    assert isinstance(only, NativeCall)
    assert only.arguments is arguments


CALL = {"name": "a", "arguments": {}}


@pytest.mark.long
@pytest.mark.parametrize(
    "message",
    [
        [CALL] * 1_000_000,
        {"role": "assistant", "content": "a", "tool_calls": [{"function": CALL}] * 1_000_000},
        {"role": "assistant", "content": [{"type": "text", "text": "a"}] * 1_000_000},
        {"output": [{"type": "function_call", **CALL}] * 1_000_000},
        {"parts": [{"functionCall": CALL}] * 1_000_000},
        {"role": "assistant", "reasoning": [{"text": "a"}] * 1_000_000},
        Endless(),
    ],
)
def test_of_a_million_entries_the_first_ten_thousand_are_read_and_the_rest_is_told(message: Any) -> None:
    unpacked = sound(unpack(message))
    assert MOST - 1 <= len(unpacked.parts) <= MOST == 10_000
    assert [note.code for note in unpacked.notes] == ["too_many"]


def test_exactly_the_cap_is_no_reason_for_a_note() -> None:
    assert unpack([CALL] * MOST).notes == ()
    assert len(unpack([CALL] * MOST).parts) == MOST


def test_a_list_that_breaks_gives_what_it_gave_and_says_so() -> None:
    unpacked = sound(unpack({"role": "assistant", "tool_calls": Breaking()}))
    assert unpacked.parts == (NativeCall("a", {}, None, partial=False),)
    assert [note.code for note in unpacked.notes] == ["unreadable"]


def test_a_subclass_with_methods_of_its_own_is_read_by_what_it_holds() -> None:
    message = AngryDict(role="assistant", tool_calls=AngryList([AngryDict(function=AngryDict(CALL))]))
    assert sound(unpack(message)).parts == (NativeCall("a", CALL["arguments"], None, partial=False),)


def test_arguments_that_will_not_say_whether_they_are_there_are_not_taken_for_none() -> None:
    angry = Angry()
    (only,) = unpack(types.SimpleNamespace(name="a", arguments=angry)).parts
    assert isinstance(only, NativeCall)
    assert only.arguments is angry


WORDS = (
    "role", "content", "type", "text", "tool_calls", "function", "name", "arguments", "args", "input", "id", "call_id",
    "choices", "message", "finish_reason", "stop_reason", "candidates", "parts", "functionCall", "function_call",
    "output", "steps", "status", "incomplete_details", "reason", "method", "params", "thinking", "summary", "thought",
    "reasoning", "additional_kwargs", "invalid_tool_calls", "response_metadata", "toolUse", "delta", "custom",
)  # fmt: skip
SAID = (
    "assistant", "user", "message", "text", "tool_use", "function", "function_call", "reasoning", "server_tool_use",
    "tools/call", "length", "incomplete", "ai", "", "x",
)  # fmt: skip
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(SAID) | st.text(max_size=3)
MESSAGES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=6),
    max_leaves=25,
)


def as_objects(value: Any) -> Any:
    if isinstance(value, list):
        return [as_objects(inner) for inner in value]
    if not isinstance(value, dict) or not value:  # an object without attributes is not the same as nothing
        return value
    return types.SimpleNamespace(**{key: as_objects(inner) for key, inner in value.items()})


def inside(value: Any) -> Iterator[Any]:
    yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from inside(inner)


@given(MESSAGES)
def test_anything_that_looks_like_a_message_is_read_without_an_error_and_nothing_is_made_up(message: Any) -> None:
    unpacked = sound(unpack(message))
    there = [id(None), *(id(value) for value in inside(message))]
    for part in unpacked.parts:
        if isinstance(part, NativeCall):
            assert id(part.name) in there
            assert id(part.arguments) in there
        else:
            assert any(part.text == value for value in inside(message))
    assert unpack(message) == unpacked or "nan" in repr(message)


@given(MESSAGES)
def test_the_same_message_as_objects_has_as_many_parts(message: Any) -> None:
    as_data, as_attributes = unpack(message), sound(unpack(as_objects(message)))
    assert [type(part) for part in as_attributes.parts] == [type(part) for part in as_data.parts]
    assert as_attributes.finish == as_data.finish
