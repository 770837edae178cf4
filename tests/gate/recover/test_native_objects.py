"""Native messages as the objects of SDKs: models, dataclasses, structs, plain attributes."""

import dataclasses
import enum
from collections import UserDict
from types import MappingProxyType, SimpleNamespace
from typing import Any

import msgspec
import pydantic
import pytest

from rightcall.gate.recover.native import NativeCall, Unpacked, unpack
from support.every import every
from support.recover.native_messages import DATA, READ, TEXT, assistant, call, said, thought, tool_call, tool_use

pytestmark = pytest.mark.promise("R-02")


def objects(value: Any, key: str = "") -> Any:
    """The same message with attributes instead of keys; the arguments stay as they are."""
    if isinstance(value, list):
        return [objects(inner) for inner in value]
    if not isinstance(value, dict) or not value or key in ("arguments", "args", "input", "params", "action_input"):
        return value
    return SimpleNamespace(**{name: objects(inner, name) for name, inner in value.items()})


@every("name", [name for name in READ if not name.startswith("MCP")])
def test_an_object_with_attributes_reads_as_the_dict_does(name: str) -> None:
    message, parts, finish = READ[name]
    assert unpack(objects(message)) == Unpacked(tuple(parts), finish, ())


class Function(pydantic.BaseModel):
    name: str
    arguments: str


class ToolCall(pydantic.BaseModel):
    id: str
    function: Function
    type: str = "function"


class Message(pydantic.BaseModel, extra="allow"):
    content: str | None = None
    tool_calls: list[ToolCall] | None = None
    role: str = "assistant"


class Params(pydantic.BaseModel):
    name: str
    arguments: dict[str, Any] | None = None


class Request(pydantic.BaseModel):
    params: Params
    method: str = "tools/call"


class Rooted(pydantic.RootModel[dict[str, Any]]):
    pass


@dataclasses.dataclass
class ToolCallPart:
    """As pydantic-ai has it."""

    tool_name: str
    args: Any
    tool_call_id: str
    part_kind: str = "tool-call"


@dataclasses.dataclass
class TextPart:
    content: str
    part_kind: str = "text"


@dataclasses.dataclass
class BuiltinToolCallPart(ToolCallPart):
    part_kind: str = "builtin-tool-call"


@dataclasses.dataclass
class ModelResponse:
    parts: list[Any]
    finish_reason: str | None = None
    kind: str = "response"


class Block(msgspec.Struct):
    name: str
    input: Any
    id: str
    type: str = "tool_use"


class Unset:
    """What some SDKs put where nothing was sent."""

    def __bool__(self) -> bool:
        return False


class Reason(enum.Enum):
    MAX_TOKENS = 2


class Word(str, enum.Enum):  # noqa: UP042 - SDKs still write it so
    MAX_TOKENS = "MAX_TOKENS"


class OnlyDict:
    """Keeps its fields to itself, but gives its data."""

    def to_dict(self) -> dict[str, Any]:
        return tool_use()


def test_a_pydantic_message_is_read_with_the_fields_it_did_not_declare() -> None:
    function = Function(name="weather", arguments=TEXT)
    message = Message.model_validate({"tool_calls": [ToolCall(id="c1", function=function)], "reasoning_content": "Hm."})
    assert unpack(message).parts == (thought("Hm."), call())


def test_an_mcp_request_of_the_sdk_is_read() -> None:
    assert unpack(Request(params=Params(name="weather", arguments=DATA))).parts == (call(arguments=DATA, id=None),)


def test_parts_of_pydantic_ai_are_read_and_its_built_in_tools_left_alone() -> None:
    parts = [TextPart("Well."), BuiltinToolCallPart("search", {}, "b"), ToolCallPart("weather", DATA, "c1")]
    unpacked = unpack(ModelResponse(parts, "length"))
    assert unpacked.parts == (said("Well."), call(arguments=DATA))
    assert (unpacked.finish, [note.code for note in unpacked.notes]) == ("length", ["elsewhere"])


@pytest.mark.parametrize("message", [Block("weather", DATA, "c1"), OnlyDict(), Rooted(tool_use())])
def test_structs_and_objects_that_give_their_data_are_read(message: Any) -> None:
    assert unpack(message).parts == (call(arguments=DATA),)
    assert unpack([message]).parts == (call(arguments=DATA),)


def test_arguments_that_are_a_model_come_as_its_data() -> None:
    assert unpack(SimpleNamespace(name="weather", args=Params(name="x"))).parts == (
        call(arguments={"name": "x", "arguments": None}, id=None),
    )


@pytest.mark.parametrize("wrap", [MappingProxyType, UserDict])
def test_a_mapping_that_is_no_dict_is_read(wrap: Any) -> None:
    assert unpack(wrap(assistant(tool_calls=(wrap(tool_call()),)))).parts == (call(),)


class WithMethods:
    """Calls a method what an API calls a field."""

    role = "assistant"
    text = "a"

    def content(self) -> str:
        raise RuntimeError("not asked")

    def tool_calls(self) -> list[Any]:
        raise RuntimeError("not asked")


def test_a_method_is_no_field_and_is_not_called() -> None:
    assert unpack(WithMethods()) == Unpacked((said("a"),), None, ())


@every("thing", [AttributeError("x", name="a"), ImportError("x", name="a"), dict, dataclasses, print])
def test_exceptions_classes_modules_and_functions_are_no_messages(thing: Any) -> None:
    unpacked = unpack(thing)
    assert (unpacked.parts, [note.code for note in unpacked.notes]) == ((), ["unreadable"])
    (note,) = unpack(3).notes
    assert note.message == "a value of type int is not a message"


def test_a_field_that_was_not_sent_is_no_call() -> None:
    message = SimpleNamespace(role="assistant", content="a", tool_calls=Unset(), function_call=msgspec.UNSET)
    assert unpack(message) == Unpacked((said("a"),), None, ())


@every("reason", [Reason.MAX_TOKENS, Word.MAX_TOKENS, "FinishReason.MAX_TOKENS", "max_tokens"])
def test_the_token_limit_is_called_length_whatever_the_api_calls_it(reason: Any) -> None:
    parts = [SimpleNamespace(text="a", thought=None, function_call=None)]
    content = SimpleNamespace(role="model", parts=parts)
    assert unpack(SimpleNamespace(candidates=[SimpleNamespace(content=content, finish_reason=reason)])) == Unpacked(
        (said("a"),), "length", ()
    )


def test_a_cut_answer_stays_cut_whatever_follows() -> None:
    cut, whole = assistant(content="a", stop_reason="max_tokens"), assistant(content="b", stop_reason="end_turn")
    assert unpack([cut, whole]).finish == unpack([whole, cut]).finish == "length"


@every("arguments", [{"city": "Bern"}, '{"city": "Bern"}', "{'city': 'Be", {}, ""])
def test_arguments_are_the_object_that_the_sdk_holds(arguments: Any) -> None:
    for message in (
        Block("weather", arguments, "c1"),
        ModelResponse([ToolCallPart("weather", arguments, "c1")]),
        objects(assistant(tool_calls=[tool_call(arguments=arguments)])),
    ):
        (only,) = unpack(message).parts
        assert isinstance(only, NativeCall)
        assert only.arguments is arguments


def test_arguments_inside_a_model_are_not_copied() -> None:
    request = Request(params=Params(name="weather", arguments=dict(DATA)))
    (only,) = unpack(request).parts
    assert isinstance(only, NativeCall)
    assert only.arguments is request.params.arguments
