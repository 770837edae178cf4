"""A refusal exists in the shape each API wants."""

from typing import Any, get_args

import pytest

from rightcall.errors import ConfigError, ModelError, RightCallError, StoreError, Unreadable
from rightcall.types import Call, MessageShape, Problem, Verdict, refusal
from support.every import every

REFUSED = Verdict(ok=False, call=None, found=Call("w", {}, "call_1"), hint="⚠️ Invalid w call.")
WARNED = Verdict(ok=True, call=Call("w", {}, "call_1"), hint="⚠️ Invalid w call.", mode="warn")


@pytest.mark.promise("V-03")
@every(
    ("shape", "message"),
    [
        ("text", "⚠️ Invalid w call."),
        ("openai", {"role": "tool", "tool_call_id": "call_1", "content": "⚠️ Invalid w call."}),
        (
            "anthropic",
            {"type": "tool_result", "tool_use_id": "call_1", "content": "⚠️ Invalid w call.", "is_error": True},
        ),
        ("mcp", {"content": [{"type": "text", "text": "⚠️ Invalid w call."}], "isError": True}),
    ],
)
def test_a_refusal_in_every_shape(shape: MessageShape, message: Any) -> None:
    assert refusal(REFUSED, shape) == REFUSED.message(shape) == message


def test_a_warning_is_no_error() -> None:
    assert refusal(WARNED, "anthropic")["is_error"] is False
    assert refusal(WARNED, "mcp")["isError"] is False


def test_a_call_without_an_id_has_an_empty_one() -> None:
    assert refusal(Verdict(ok=False, call=None, hint="x"), "openai")["tool_call_id"] == ""


@every("shape", get_args(MessageShape))
def test_where_nothing_is_wrong_there_is_nothing_to_tell(shape: MessageShape) -> None:
    assert refusal(Verdict(ok=True, call=Call("w", {})), shape) is None


def test_a_refusal_without_a_hint_still_says_why() -> None:
    verdict = Verdict(ok=False, call=None, problems=(Problem("type", "a", "`a` must be a text"),))
    assert refusal(verdict) == "`a` must be a text."
    assert refusal(Verdict(ok=False, call=None)) == "The call was refused."


def test_an_unknown_shape_is_named_with_those_that_exist() -> None:
    with pytest.raises(ValueError, match="expected openai, anthropic, mcp or text"):
        refusal(REFUSED, "soap")  # type: ignore[arg-type]


@every(
    "error",
    [
        Unreadable("a key was expected", 7),
        StoreError("a key was expected", "full"),
        ModelError("a key was expected", "status", status=500),
        ConfigError("a key was expected"),
    ],
)
def test_an_error_reads_as_its_message_and_nothing_else(error: RightCallError) -> None:
    assert str(error) == "a key was expected"
    assert error.args == ("a key was expected",)


@every(
    ("source", "line", "shown"),
    [("", 0, "wrong"), ("", 3, "wrong"), ("a.toml", 0, "a.toml: wrong"), ("a.toml", 3, "a.toml:3: wrong"),
     ("a\n\x1b[2Jb", 1, "a\\n\\x1b[2Jb:1: wrong")],
)  # fmt: skip
def test_a_wrong_setting_says_where_it_stands(source: str, line: int, shown: str) -> None:
    error = ConfigError("wrong", source=source, line=line)
    assert (str(error), error.source, error.line) == (shown, source, line)
