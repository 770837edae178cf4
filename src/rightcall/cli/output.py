"""JSON as the commands print it: always valid, one line unless asked otherwise, and escaped on a terminal."""

import json
import math
import re
import sys
from collections.abc import Mapping
from typing import Any, TextIO, cast

from rightcall.text.escape import escaped
from rightcall.types import Call, Problem, Repair, Verdict

_MOST_DIGITS = 4000  # beyond this Python itself refuses to write an integer
_DEEPEST = 200
_SUSPECT = re.compile("[^\n\x20-\x7e]")  # line ends come from the indentation only: in strings JSON escapes them
_ODD_NUMBERS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def verdict_record(verdict: Verdict, name: str) -> dict[str, Any]:
    """A verdict as the plain object that `--json` and `--jsonl` print. `name` is the tool that was asked for."""
    call = verdict.call
    return {
        "ok": verdict.ok,
        "name": call.name if call else name,
        "arguments": call.arguments if call else None,
        "found": call_record(verdict.found),
        "repairs": [repair_record(repair) for repair in verdict.repairs],
        "problems": [problem_record(problem) for problem in verdict.problems],
        "hint": verdict.hint,
        "confidence": verdict.confidence,
        "truncated": verdict.truncated,
        "strategy": verdict.strategy,
        "retry": verdict.retry,
        "mode": verdict.mode,
    }


def call_record(call: Call | None) -> dict[str, Any] | None:
    return None if call is None else {"name": call.name, "arguments": call.arguments}


def repair_record(repair: Repair) -> dict[str, Any]:
    return {
        "path": repair.path,
        "before": repair.before,
        "after": repair.after,
        "strategy": repair.strategy,
        "rule": repair.rule,
        "confidence": repair.confidence,
    }


def problem_record(problem: Problem) -> dict[str, str]:
    return {"code": problem.code, "path": problem.path, "message": problem.message}


def json_text(value: Any, *, indent: int | None = None, ascii_only: bool = False) -> str:
    """JSON text of anything a model can have written; what JSON has no word for becomes text (NaN is "NaN")."""
    try:
        text = json.dumps(value, ensure_ascii=ascii_only, allow_nan=False, indent=indent)
    except (ValueError, TypeError, RecursionError):
        text = json.dumps(_tame(value, 0), ensure_ascii=ascii_only, indent=indent)
    return text if ascii_only else _SUSPECT.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    """What a terminal would obey or hide becomes an escape: it can only stand in a string, where that is the same."""
    character = match.group()
    if escaped(character) == character:
        return character
    return f"\\u{ord(character):04x}" if character <= "\uffff" else json.dumps(character)[1:-1]


def _tame(value: Any, depth: int) -> Any:
    """A copy of the value that JSON can carry; what it cannot carry becomes text."""
    if depth > _DEEPEST:
        return "…"
    if isinstance(value, Mapping):
        items = cast(Mapping[Any, Any], value).items()
        return {key if isinstance(key, str) else repr(key): _tame(item, depth + 1) for key, item in items}
    if isinstance(value, list | tuple):
        return [_tame(item, depth + 1) for item in cast(list[Any] | tuple[Any, ...], value)]
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if value.bit_length() < _MOST_DIGITS * 3 else f"(an integer of {value.bit_length()} bits)"
    if isinstance(value, float):
        return value if math.isfinite(value) else _ODD_NUMBERS[str(value)]
    return f"({type(value).__name__})"


def print_stats(stats: dict[str, Any]) -> None:
    """Statistics go to standard error, beside what is printed."""
    sys.stderr.write(json_text(stats) + "\n")


def is_unicode(stream: TextIO) -> bool:
    """Whether every character can be written to the stream as it is."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return encoding.lower().replace("-", "").replace("_", "") in ("utf8", "utf16", "utf32")
