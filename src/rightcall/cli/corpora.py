"""A corpus for `rightcall eval`: which shape a file has, its cases one by one, and how each is judged."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, cast

from rightcall.cli.options import MAX_BYTES, InputError, bounded_lines, decoded, open_lines

Shape = Literal["calls", "json", "emissions"]
_NEEDED: dict[Shape, tuple[str, ...]] = {  # in this order: what has all fields of emissions is no broken JSON
    "calls": ("schema", "emitted", "accepted"),
    "emissions": ("text", "tools", "expected"),
    "json": ("text", "expected"),
}
_SCHEMA_WORDS = frozenset(
    {"type", "properties", "items", "anyOf", "oneOf", "allOf", "enum", "const", "$ref", "required"}
)


def rows(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every object of a JSON lines file with its line number; blank lines are skipped."""
    with open_lines(path) as stream:
        for number, line in bounded_lines(stream):
            if line is None:
                raise InputError(f"a line of more than {MAX_BYTES:,} bytes", source=path, line=number)
            if line.strip():
                yield number, _object(line, path, number)


def _object(line: bytes, path: str, number: int) -> dict[str, Any]:
    try:
        value = json.loads(decoded(line, path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"not one JSON object in this line: {error}", source=path, line=number) from error
    if not isinstance(value, dict):
        raise InputError(f"a case is a JSON object, not {type(value).__name__}", source=path, line=number)
    return cast(dict[str, Any], value)


def shape_of_case(case: dict[str, Any], path: str, number: int) -> Shape:
    """What kind of corpus a case belongs to, by the fields it has."""
    for shape, fields in _NEEDED.items():
        if all(field in case for field in fields):
            return shape
    raise InputError(
        "a case needs text, tools and expected (an emission), schema, emitted and accepted (a damaged call) or text "
        "and expected (broken JSON); "
        f"this one has {', '.join(sorted(case)) or 'no field'}",
        source=path,
        line=number,
    )


def cases(path: str) -> Iterator[tuple[Shape, int, dict[str, Any]]]:
    """The cases of a file, all of the shape that the first one has."""
    first: Shape | None = None
    for number, case in rows(path):
        shape = shape_of_case(case, path, number)
        first = first or shape
        if shape != first:
            raise InputError(
                f"a case of another shape than the ones before it ({shape}, not {first})", source=path, line=number
            )
        yield shape, number, case


def read_flags(path: str | None) -> dict[str, dict[str, Any]]:
    """The flags by the id of the case they belong to."""
    flags: dict[str, dict[str, Any]] = {}
    for number, flag in rows(path) if path else ():
        if not isinstance(flag.get("id"), str):
            raise InputError("a flag needs the `id` of its case", source=path or "", line=number)
        flags[flag["id"]] = flag
    return flags


def json_schema(case: dict[str, Any]) -> dict[str, Any] | None:
    """The JSON Schema of a broken-JSON case: `json_schema`, or `schema` where that is one and no other language."""
    for field in ("json_schema", "schema"):
        schema = case.get(field)
        if isinstance(schema, dict) and "baml" not in schema and _SCHEMA_WORDS & schema.keys():
            return cast(dict[str, Any], schema)
    return None


# ── scoring ──
# How `rightcall eval` judges one case: pure functions of what was wanted and what came out.
#
# Three kinds of corpus are judged. *Emissions*: what a model wrote and the calls it holds. *Calls*: a tool's schema,
# damaged arguments and the values that would be right (`accepted` maps each argument to a list of right values; the
# empty text in that list means "may be absent"; inside an object each member has such a list again). *JSON*: a broken
# text and the value that was meant.

CallOutcome = Literal["restored", "refused", "wrong"]
JsonOutcome = Literal["exact", "accepted", "refused_ok", "refused", "wrong"]
EmissionOutcome = Literal["exact", "accepted", "refused", "wrong"]
CALL_OUTCOMES: tuple[CallOutcome, ...] = ("restored", "refused", "wrong")
JSON_OUTCOMES: tuple[JsonOutcome, ...] = ("exact", "accepted", "refused_ok", "refused", "wrong")
EMISSION_OUTCOMES: tuple[EmissionOutcome, ...] = ("exact", "accepted", "refused", "wrong")
UNREADABLE_KINDS = frozenset({"no_json", "unrepairable", "sap_unparseable"})
"""Kinds of JSON case in which nothing is there to be read: a refusal is the right answer."""


def equal(one: Any, other: Any, *, null_is_absent: bool = False) -> bool:
    """Equality of JSON values: 1 is 1.0 but not true, NaN is NaN, the order of keys does not count.

    >>> equal({"a": 1, "b": None}, {"a": 1.0}, null_is_absent=True)
    True
    >>> equal(True, 1)
    False
    """
    kind = _kind(one)
    if kind != _kind(other):
        return False
    if kind == "number":
        return _same_number(one, other)
    if kind == "list":
        return len(one) == len(other) and all(
            equal(a, b, null_is_absent=null_is_absent) for a, b in zip(one, other, strict=True)
        )
    if kind == "object":
        mine, theirs = (
            ({key: item for key, item in value.items() if item is not None} if null_is_absent else value)
            for value in (one, other)
        )
        return mine.keys() == theirs.keys() and all(
            equal(item, theirs[key], null_is_absent=null_is_absent) for key, item in mine.items()
        )
    return bool(one == other)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, Mapping):
        return "object"
    if isinstance(value, list | tuple):
        return "list"
    return type(cast(object, value)).__name__


def _same_number(one: float, other: float) -> bool:
    if one == other:
        return True
    if isinstance(one, int) and isinstance(other, int):
        return False
    if one != one or other != other:  # NaN, which equals nothing, here equals itself
        return one != one and other != other
    try:
        return math.isclose(one, other, rel_tol=1e-12, abs_tol=0.0)
    except OverflowError:  # an integer beyond every float
        return False


def fits(arguments: Any, accepted: Mapping[str, Sequence[Any]]) -> bool:
    """Whether every argument has one of its right values, none is missing and none is too many.

    >>> fits({"city": "Rome"}, {"city": ["Rome", "Roma"], "unit": ["", "C"]})
    True
    """
    if not isinstance(arguments, Mapping):
        return False
    given = cast(Mapping[str, Any], arguments)
    if any(name not in accepted for name in given):
        return False
    return all(
        any(_fits_value(given[name], right) for right in rights) if name in given else "" in rights
        for name, rights in accepted.items()
    )


def _fits_value(value: Any, right: Any) -> bool:
    if isinstance(right, Mapping):  # members hold lists of right values, by the same convention
        members = cast(Mapping[str, Any], right)
        if all(isinstance(item, list) for item in members.values()):
            return fits(value, members)
    if isinstance(right, list) and isinstance(value, list):
        wanted, given = cast(list[Any], right), cast(list[Any], value)
        return len(wanted) == len(given) and all(_fits_value(a, b) for a, b in zip(given, wanted, strict=True))
    return equal(value, right)


class CallCase(NamedTuple):
    """A call as it was emitted, and what may come of it."""

    emitted: Any
    accepted: Mapping[str, Any]
    recoverable: bool = True
    clean: bool = False


def judge_call(case: CallCase, *, ok: bool, arguments: Any, touched: bool) -> CallOutcome:
    """One damaged call. A clean one must come back as the same object without a repair; anything else is a wrong."""
    if not ok:
        return "refused"
    if not case.recoverable:
        return "wrong"
    if case.clean:
        emitted = case.emitted
        same = arguments is emitted if isinstance(emitted, Mapping) else fits(arguments, case.accepted)
        return "restored" if same and not touched else "wrong"
    return "restored" if fits(arguments, case.accepted) else "wrong"


def judge_json(case: Mapping[str, Any], flag: Mapping[str, Any], *, refused: bool, value: Any = None) -> JsonOutcome:
    """One broken JSON text. `flag` says what else may be right of a case whose expectation is a mere convention."""
    hopeless = flag.get("corrected_kind", case.get("kind")) in UNREADABLE_KINDS
    if refused:
        return "exact" if hopeless else "refused_ok" if flag.get("refuse_ok") else "refused"
    loose = case.get("schema") is not None or case.get("json_schema") is not None
    if hopeless:
        if case.get("kind") == "no_json" and value in (None, ""):
            return "accepted"
    elif equal(flag.get("corrected", case.get("expected")), value, null_is_absent=loose):
        return "exact"
    others = flag.get("also_accept") or ()
    return "accepted" if any(equal(other, value, null_is_absent=loose) for other in others) else "wrong"


def judge_emission(expected: Any, others: Sequence[Any], got: Sequence[Any]) -> EmissionOutcome:
    """One emission. `got` are the calls found, `others` lists of calls that are right as well."""
    if equal(expected, got):
        return "exact"
    if any(equal(other, got) for other in others):
        return "accepted"
    return "wrong" if got else "refused"


def is_core(flag: Mapping[str, Any]) -> bool:
    """Core cases are those nobody flagged, and those whose expectation was plainly wrong and is corrected."""
    return not flag or "corrected" in flag


def is_right(outcome: str) -> bool:
    return outcome in ("restored", "exact", "accepted", "refused_ok")
