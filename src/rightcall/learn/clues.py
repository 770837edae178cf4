"""Clues: what a correction says about the mistake, difference by difference.

    written   {"needle": "x", "unit": "C"}
    corrected {"query": "x", "unit": "celsius"}   ─▶ alias needle → query, value unit: C → celsius

A difference counts only where it can be the cause: the corrected call with that one thing as it was written before
must be refused again.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from msgspec import json

from rightcall.base.json.marks import is_list, is_object
from rightcall.catalog.forms import explain
from rightcall.learn.bench import Bench
from rightcall.learn.retries import ALIKE, Mistake, Retry, kinship, likeness, plain
from rightcall.types import Call, Verdict

Kind = Literal[
    "name",  # a tool that is called by another name
    "alias",  # an argument that is called by another name
    "value",  # a value that stands for another
    "default",  # an argument that is left out, and always the same when it is given
    "form",  # dates and numbers in another form
    "format",  # a call that was written in a way nobody reads
    "missing",  # a tool that does not exist
    "switch",  # a tool that is called where another one is meant
    "unclear",  # an argument that gets many different wrong values
]
RULES: Final[tuple[Kind, ...]] = ("name", "alias", "value", "default", "form")
"""The kinds that a pack can hold. The others are advice."""

MOST_DIFFERENCES: Final = 12
"""A correction that changes more is another call."""
_LONGEST_VALUE: Final = 200
_TEXT: Final = frozenset(("string",))
SURE: Final = 0.9
"""A repair that is less certain is refused by some hosts, so that there is still something to learn."""


class Clue(NamedTuple):
    """One thing that a correction says: at `place` of `tool`, `given` meant `meant`."""

    kind: Kind
    tool: str
    place: str
    given: str
    meant: str
    """As JSON, so that 1 and true are two; of a form its text."""
    shown: str = ""
    """The wrong value itself, where `given` is not it."""


class Difference(NamedTuple):
    place: str
    given: Any
    meant: Any


class Differences(NamedTuple):
    """How the arguments of two calls differ. A place is general: `items[].size`."""

    renamed: list[tuple[str, str, Any]]
    """From one name to another, in the same object or into one; with the value."""
    added: list[Difference]
    removed: list[Difference]
    changed: list[Difference]


def clues(retry: Retry, bench: Bench) -> Iterator[Clue]:
    """What is to be learned from one correction; nothing where it is plainly another call."""
    mistake, call = retry.mistake, retry.corrected.call
    if mistake.verdict is None or call is None:
        return
    found = mistake.verdict.found
    if found is None or not is_object(found.arguments) or not is_object(call.arguments):
        return
    meant = mistake.verdict.call.name if mistake.verdict.call is not None else found.name
    key = retry.after.tools
    if meant != call.name:
        yield from _of_names(mistake, found, call, bench)
    if meant == call.name or bench.tool(meant, key) is None:
        yield from _of_arguments(retry, found, call, bench)


def _of_names(mistake: Mistake, found: Call, call: Call, bench: Bench) -> Iterator[Clue]:
    known = bench.tool(found.name, mistake.emitted.tools) is not None
    kind: Kind = "switch" if known else "name"
    if kind == "name" and mistake.verdict is not None and not _says(mistake.verdict, "unknown_tool"):
        return
    if kind == "name" or _is_same_request(found.arguments, call.arguments):
        yield Clue(kind, call.name, "", found.name, _text(call.name))


def _is_same_request(given: Any, meant: Any) -> bool:
    return likeness(given, meant) >= ALIKE or kinship(given, meant) >= ALIKE


def _of_arguments(retry: Retry, found: Call, call: Call, bench: Bench) -> Iterator[Clue]:
    tool, key = call.name, retry.after.tools
    verdict = retry.mistake.verdict
    assert verdict is not None
    known = {
        (repair.path.rpartition(".")[2], repair.after)
        for repair in verdict.repairs
        if isinstance(repair.after, str) and (verdict.problems or repair.confidence >= SURE)
    }
    differences = compare(found.arguments, call.arguments)
    if sum(map(len, differences)) > MOST_DIFFERENCES:
        return
    for given, meant, _ in differences.renamed:
        if (given.rpartition(".")[2], meant.rpartition(".")[2]) not in known:
            yield Clue("alias", tool, meant, given, _text(meant))
    renamed = {meant for _, meant, _ in differences.renamed}
    fitted = verdict.call.arguments if verdict.call is not None else None
    rest = compare(fitted, call.arguments) if is_object(fitted) else differences  # what the gate knows is done
    other = {one.place for one in (*differences.added, *differences.removed, *differences.changed)}
    if retry.mistake.ran and len(other) > 1:
        return  # nobody can say what it failed for
    written = {one.place: one.given for one in differences.changed}
    for place, fallen, meant in rest.changed if not retry.mistake.ran else differences.changed:
        given = written.get(place, fallen) if "[" not in place else fallen
        if not retry.mistake.ran and not _is_refused(bench, call, key, place, given):
            continue
        for clue in _of_value(tool, place, given, meant):
            if not retry.mistake.ran or clue.kind == "form" or _is_free(bench, tool, key, place):
                yield clue
    if rest.changed or differences.removed or retry.mistake.ran:
        return  # more was changed than what was missing
    for place, _, meant in rest.added:
        if place not in renamed and _is_missed(verdict, place):
            yield Clue("default", tool, place, "", _text(meant))


def _of_value(tool: str, place: str, given: Any, meant: Any) -> Iterator[Clue]:
    if is_object(given) or is_list(given) or is_object(meant) or is_list(meant) or given is None or meant is None:
        return
    for form in explain(given, meant):
        yield Clue("form", tool, place, "", form, _short(given))
    if len(str(given)) <= _LONGEST_VALUE:
        yield Clue("value", tool, place, plain_key(given), _text(meant), _short(given))
    yield Clue("unclear", tool, place, "", "", _short(given))


def plain_key(value: Any) -> str:
    """A value as a table of values looks it up."""
    return str(value).strip().lower()


def _short(value: Any) -> str:
    return str(value)[:_LONGEST_VALUE]


def _text(value: Any) -> str:
    try:
        return json.encode(value, order="deterministic").decode()
    except (TypeError, ValueError, RecursionError):
        return ""


def _says(verdict: Verdict, code: str) -> bool:
    return any(problem.code == code for problem in verdict.problems)


def _is_missed(verdict: Verdict, place: str) -> bool:
    """Whether the gate missed just this argument."""
    return any(
        problem.code in ("missing", "missing_any", "schema") and general_place(problem.path) in (place, "")
        for problem in verdict.problems
    )


def general_place(path: str) -> str:
    """A place in any item of a list: `items[].size` for `items[2].size`."""
    out, inside = "", False
    for sign in path:
        if sign == "[":
            out, inside = out + "[]", True
        elif sign == "]":
            inside = False
        elif not inside:
            out += sign
    return out


# ── comparing ──


def compare(given: Mapping[str, Any], meant: Mapping[str, Any]) -> Differences:
    """How two calls differ.

    >>> compare({"needle": "x", "n": 1}, {"query": "x", "n": 2}).renamed
    [('needle', 'query', 'x')]
    """
    found = Differences([], [], [], [])
    _compare_objects(given, meant, "", found)
    _pair_moved(found)
    return found


def _compare_objects(given: Mapping[str, Any], meant: Mapping[str, Any], path: str, found: Differences) -> None:
    for name in given:
        if name in meant:
            _compare_values(given[name], meant[name], _join(path, name), found)
    gone = {name: given[name] for name in given if name not in meant}
    new = {name: meant[name] for name in meant if name not in given}
    for name, value in list(gone.items()):
        same = [other for other, item in new.items() if _same(value, item)]
        rivals = [other for other, item in gone.items() if _same(value, item)]
        if len(same) == 1 and len(rivals) == 1:
            found.renamed.append((_join(path, name), _join(path, same[0]), value))
            del gone[name], new[same[0]]
    found.removed.extend(Difference(_join(path, name), value, None) for name, value in gone.items())
    found.added.extend(Difference(_join(path, name), None, value) for name, value in new.items())


def _compare_values(given: Any, meant: Any, path: str, found: Differences) -> None:
    if is_object(given) and is_object(meant):
        _compare_objects(given, meant, path, found)
    elif is_list(given) and is_list(meant) and len(given) == len(meant):
        for one, other in zip(given, meant, strict=True):
            _compare_values(one, other, f"{path}[]", found)
    elif not (given == meant and type(given) is type(meant)):
        found.changed.append(Difference(path, given, meant))


def _same(one: Any, other: Any) -> bool:
    """The same value, whatever it was written as; of objects and lists, equal ones."""
    if is_object(one) or is_list(one) or is_object(other) or is_list(other):
        return one == other
    return one is not None and plain(one) == plain(other)


def _pair_moved(found: Differences) -> None:
    """What left the arguments themselves and stands in an object now."""
    inner = [
        (_join(new.place, name), item)
        for new in found.added
        if is_object(new.meant)
        for name, item in new.meant.items()
    ]
    inner += [(new.place, new.meant) for new in found.added if "." in new.place and "[" not in new.place]
    for gone in list(found.removed):
        same = [place for place, item in inner if _same(gone.given, item)]
        if "." not in gone.place and len(same) == 1:
            found.renamed.append((gone.place, same[0], gone.given))
            found.removed.remove(gone)
            outer = same[0].partition(".")[0]
            found.added[:] = [new for new in found.added if new.place not in (outer, same[0])]


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


# ── the cause ──


def _is_refused(bench: Bench, call: Call, key: str, place: str, given: Any) -> bool:
    """Whether the corrected call is refused again with this one value as it was written before."""
    return bool(bench.judge(call.name, replaced(call.arguments, place.split("."), given), key).problems)


def _is_free(bench: Bench, tool: str, key: str, place: str) -> bool:
    """Whether any text may stand at a place: a value out of a list that failed is right all the same."""
    shape = bench.shape_at(tool, place, key)
    return shape is not None and shape.enum is None and shape.types == _TEXT


def replaced(arguments: Any, steps: list[str], value: Any) -> Any:
    """A copy of arguments with a value at a place, in every item where the place goes through a list."""
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    name = step.removesuffix("[]")
    if not is_object(arguments) or name not in arguments:
        return arguments
    inner = arguments[name]
    if not step.endswith("[]"):
        return {**arguments, name: replaced(inner, rest, value)}
    items = inner if is_list(inner) else []
    return {**arguments, name: [replaced(item, rest, value) for item in items]}


def values_at(arguments: Any, steps: list[str]) -> list[Any]:
    """What stands at a place, once for every item of the lists that it goes through."""
    here: list[Any] = [arguments]
    for step in steps:
        name, many = step.removesuffix("[]"), step.endswith("[]")
        found = [one[name] for one in here if is_object(one) and name in one]
        here = [item for one in found if is_list(one) for item in one] if many else found
    return here
