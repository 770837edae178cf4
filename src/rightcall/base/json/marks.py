"""What the lenient reader can do to a text: every rule, the strategies that can carry it out, and how sure it is.

A rule that only changes notation (quotes, commas, comments) is certain: confidence 1. Below that another reading
exists, and the number says how much likelier ours is. Whoever switches strategies off switches off the rules that
no other strategy carries.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

from msgspec import Struct

from rightcall.types import Repair, StrategyName

REPAIRING: frozenset[StrategyName] = frozenset(("python_ast", "regex_quotes", "structure", "manual_repair"))
"""The strategies that change something; all of them are on unless the policy says otherwise."""

_BEFORE, _AFTER = 20, 160
"""How much of the text around a place a repair record quotes; the whole emission is in the audit."""


class Rule(Struct, frozen=True):
    strategies: tuple[StrategyName, ...]
    confidence: float
    what: str


_PY: tuple[StrategyName, ...] = ("python_ast", "structure")
_QUOTES: tuple[StrategyName, ...] = ("python_ast", "regex_quotes", "structure")
_STRUCTURE: tuple[StrategyName, ...] = ("structure",)

RULES: dict[str, Rule] = {
    "single_quotes": Rule(_QUOTES, 1.0, "single quotes read as double quotes"),
    "python_constant": Rule(_PY, 1.0, "True, False or None read as JSON"),
    "python_literal": Rule(_PY, 1.0, "a Python tuple, set or prefixed string read as JSON"),
    "trailing_comma": Rule(_PY, 1.0, "a surplus comma dropped"),
    "python_call": Rule(_PY, 1.0, "the arguments of a call read as an object"),
    "other_quotes": Rule(("regex_quotes", "structure"), 1.0, "typographic quotes or backticks read as quotes"),
    "triple_quotes": Rule(_PY, 1.0, "a triple-quoted string read as text"),
    "foreign_escape": Rule(_PY, 1.0, "an escape of Python or JavaScript decoded"),
    "odd_space": Rule(_STRUCTURE, 1.0, "white space that JSON does not have left out"),
    "comment": Rule(_STRUCTURE, 1.0, "a comment left out"),
    "fence": Rule(_STRUCTURE, 1.0, "a code fence left out"),
    "escaped_quotes": Rule(("regex_quotes", "structure"), 0.95, "escaped quotes around keys and values read as quotes"),
    "escaped_text": Rule(_STRUCTURE, 0.95, "the whole text was escaped once more"),
    "double_encoded": Rule(_STRUCTURE, 1.0, "JSON inside a JSON string read as JSON"),
    "unquoted_key": Rule(_STRUCTURE, 1.0, "a key without quotes"),
    "raw_newline": Rule(_STRUCTURE, 1.0, "a raw line break or control character inside a string kept"),
    "escape": Rule(_STRUCTURE, 0.95, "an illegal escape kept with its backslash"),
    "lone_surrogate": Rule(_STRUCTURE, 0.3, "half of a surrogate pair replaced by U+FFFD"),
    "number_form": Rule(_STRUCTURE, 1.0, "a number in another notation"),
    "number_as_text": Rule(_STRUCTURE, 1.0, "a number kept as written, where text is declared"),
    "constant_form": Rule(_STRUCTURE, 0.95, "undefined or another word for null, true or false"),
    "unquoted_text": Rule(_STRUCTURE, 0.9, "text without quotes"),
    "expression": Rule(_STRUCTURE, 0.3, "a Python expression kept as text"),
    "call_value": Rule(_STRUCTURE, 0.6, "a constructor call read as its argument"),
    "joined_strings": Rule(_STRUCTURE, 0.9, "strings joined by + put together"),
    "missing_comma": Rule(_STRUCTURE, 0.95, "a missing comma added"),
    "missing_colon": Rule(_STRUCTURE, 0.9, "a missing colon added"),
    "missing_value": Rule(_STRUCTURE, 0.5, "a key without a value left out"),
    "inner_quotes": Rule(_STRUCTURE, 0.9, "quotes inside a string kept as text"),
    "missing_open_quote": Rule(_STRUCTURE, 0.85, "a missing opening quote added"),
    "missing_end_quote": Rule(_STRUCTURE, 0.75, "a missing closing quote added"),
    "missing_quote_unsure": Rule(_STRUCTURE, 0.65, "a missing closing quote added before what may be a key"),
    "doubtful_escape": Rule(_STRUCTURE, 0.6, "backslashes in a path that may or may not be escapes"),
    "doubtful_rest": Rule(_STRUCTURE, 0.6, "what follows the value looks like a part of it"),
    "end_quote_at_end": Rule(_STRUCTURE, 0.6, "a missing closing quote added before the last brackets"),
    "weak_quote": Rule(_STRUCTURE, 0.65, "one of several places where a string may end"),
    "side_by_side": Rule(_STRUCTURE, 0.65, "values side by side read as two; they could be one"),
    "surplus_opener": Rule(_STRUCTURE, 0.85, "a surplus opening bracket dropped"),
    "missing_closer": Rule(_STRUCTURE, 0.95, "a missing bracket added before another one"),
    "wrong_closer": Rule(_STRUCTURE, 0.85, "a bracket of the wrong kind"),
    "surplus_closer": Rule(_STRUCTURE, 0.9, "a surplus bracket dropped"),
    "early_closer": Rule(_STRUCTURE, 0.7, "a bracket that closed too early left out"),
    "wrong_bracket": Rule(_STRUCTURE, 0.6, "keys in square brackets read as an object"),
    "stray_word": Rule(_STRUCTURE, 0.7, "a stray word before a key left out"),
    "ellipsis": Rule(_STRUCTURE, 0.6, "an ellipsis left out"),
    "prose": Rule(_STRUCTURE, 0.95, "text around the value left out"),
    "several_values": Rule(_STRUCTURE, 0.6, "several values read as a list"),
    "cut_closers": Rule(_STRUCTURE, 0.9, "the text was truncated: brackets completed"),
    "cut_value": Rule(_STRUCTURE, 0.4, "the text was truncated inside a value"),
    "markup": Rule(_STRUCTURE, 1.0, "parameter tags read as an object"),
    "bare_text": Rule(_STRUCTURE, 0.9, "the whole text taken as the value"),
}

_MANUAL = frozenset(name for name, rule in RULES.items() if "python_ast" in rule.strategies) | {"unquoted_key"}
"""What manual repair reads where a pack or the policy says that a text holds JSON: Python, and names without quotes."""


def repairs_of(
    marks: Mapping[str, int],
    text: str,
    path: str = "",
    strategies: frozenset[StrategyName] = REPAIRING,
    *,
    value: Any = None,
    declared: bool = False,
) -> tuple[tuple[Repair, ...], tuple[Rule, ...]]:
    """A record for each rule that was needed to read `value` from `text`, with the place where it was needed first,
    under the first strategy that may carry it out; and the rules that none of `strategies` may carry out. `declared`:
    somebody says of this one tool what the text holds, so that manual repair may read it too."""
    repairs: list[Repair] = []
    forbidden: list[Rule] = []
    for name, at in marks.items():
        rule = RULES[name]
        able = (*rule.strategies, "manual_repair") if declared and name in _MANUAL else rule.strategies
        allowed: list[StrategyName] = [strategy for strategy in able if strategy in strategies]
        if not allowed:
            forbidden.append(rule)
        else:
            excerpt = text[max(0, at - _BEFORE) : at + _AFTER]
            repairs.append(Repair(path, excerpt, value, allowed[0], name, rule.confidence, rule.what))
    return tuple(repairs), tuple(forbidden)


# ── strategies ──
# The repair strategies: named, in the order in which they are preferred, each of which can be switched off.
#
# Every rule of the reader and of the gate's repairs belongs to a strategy. A call is counted under the last strategy of
# this list that it needed; `direct` needed none, `failed` could not be helped by any.


STRATEGIES: dict[StrategyName, str] = {
    "direct": "the call fits as it is",
    "python_ast": "Python literals: single quotes, True, None, tuples, a call's arguments",
    "regex_quotes": "quotes of another kind: typographic quotes, backticks, escaped quotes",
    "structure": "the schema-led reader and the schema's names, values and types",
    "manual_repair": "what packs, the policy or a registered repair say of this one tool",
    "llm": "the structure by a model that `[gate.llm]` names; names and values as they were written",
    "failed": "no strategy gave a certain result",
}
NAMES: tuple[StrategyName, ...] = tuple(STRATEGIES)


def used(repairs: Iterable[Repair]) -> StrategyName:
    """The strategy a call is counted under."""
    return NAMES[max((NAMES.index(repair.strategy) for repair in repairs), default=0)]


# ── kinds ──
# The kinds of JSON values, as Python sees them; tests that also tell the type checker what they found.


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def is_missing(value: Any) -> bool:
    """Absent (None here), null or blank."""
    return value is None or (isinstance(value, str) and not value.strip())


def json_type(value: Any) -> str:
    """The JSON type of a value; `integer` for whole numbers.

    >>> [json_type(value) for value in (1, 1.0, 1.5, True, "1", None)]
    ['integer', 'integer', 'number', 'boolean', 'string', 'null']
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, dict) else "array"
