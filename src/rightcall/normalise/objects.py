"""Objects: names first, then what was flattened, then values; what is null and optional or unknown goes last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from rightcall.normalise.choices import choose
from rightcall.normalise.log import Log
from rightcall.normalise.names import DeclaredNames, NameMap, Renaming, is_noise, map_names, may_be_content
from rightcall.normalise.restraints import restrains
from rightcall.normalise.units import units_beside
from rightcall.normalise.values import conforms, fit, is_null_word
from rightcall.normalise.words import joined
from rightcall.parse.kinds import is_list, is_object
from rightcall.parse.late import Late
from rightcall.parse.shape import ANY, Shape
from rightcall.text.escape import escaped

_MOST_STRANGERS = 64
"""More names than this that nobody knows are no slip; they are not looked at one by one."""

_NAMED = 5
"""So many arguments a message names when one name could mean many."""

_OBJECT = frozenset({"object"})
_DOTTED = Late(r"(?P<outer>\w+)(?:\.|/|__|\[)(?P<inner>\w+)\]?")


class Manner(NamedTuple):
    """How one level of an object is treated: declared names and values, and whether more may be inferred."""

    aliases: Mapping[str, str] = {}
    values: Mapping[str, Mapping[str, Any]] = {}
    required: frozenset[str] = frozenset()


PLAIN = Manner()


def fit_object(
    given: dict[str, Any], shape: Shape, path: str, log: Log, depth: int, manner: Manner = PLAIN
) -> dict[str, Any]:
    """Bring an object into shape. The same object comes back where nothing had to change."""
    changed = given
    strangers = sum(1 for name in given if name not in shape.props)
    if strangers > _MOST_STRANGERS and shape.closed and log.led:
        styles = {joined(name) for name in shape.props}  # another style is certain, however many names are in it
        strangers = sum(1 for name in given if joined(name) not in styles) or 1
    if strangers > _MOST_STRANGERS and shape.closed:
        where = f"`{escaped(path, 120)}` has" if path else "There are"
        log.problem("unknown_argument", path, f"{where} {strangers} arguments that this tool does not have")
        return given
    if strangers and (shape.closed or shape.props):
        changed = _named(given, shape, path, log, depth, manner)
    result: dict[str, Any] = {}
    outer, log.beside = log.beside, units_beside(changed) or log.beside
    for name, value in changed.items():
        here = f"{path}.{name}" if path else name
        part = shape.props.get(name) or shape.additional or ANY
        value = _declared_value(value, manner.values.get(name), here, log)
        if name in shape.props and log.led and _drops_null(name, value, part, shape, manner):
            log.add(here, value, None, "null_optional", 1.0 if value is None else 0.95)
            continue
        result[name] = fit(value, part, here, log, depth)
    log.beside = outer
    same = result.keys() == given.keys() and all(result[name] is given[name] for name in result)
    return given if same else result


def _declared_value(value: Any, table: Mapping[str, Any] | None, path: str, log: Log) -> Any:
    """`bash` where the pack says that `terminal` is meant."""
    if not table or (is_object(value) or is_list(value)):
        return value
    meant = table.get(str(value).strip().lower(), value)
    if meant is not value and meant != value:
        log.add(path, value, meant, "value_alias", 1.0)
        return meant
    return value


def _drops_null(name: str, value: Any, part: Shape, shape: Shape, manner: Manner) -> bool:
    if name in shape.required or name in manner.required or not is_null_word(value):
        return False
    if part.enum is not None and value is not None and choose(value, part.enum, part.enum_aliases) is not None:
        return False  # `none` where `None` is one of the choices
    return not conforms(value, part)


def _named(given: dict[str, Any], shape: Shape, path: str, log: Log, depth: int, manner: Manner) -> dict[str, Any]:
    """The object under the names the schema knows."""

    def fits(value: Any, target: str) -> bool:
        part = shape.props[target]
        return conforms(fit(value, part, target, log.trial(), depth + 1), part)

    def is_right(value: Any, target: str) -> bool:
        return conforms(value, shape.props[target])

    open_map = not shape.closed
    nested = _flattened(given, shape, early=True) if log.led and not open_map else {}
    rest = {name: value for name, value in given.items() if name not in nested}
    required = shape.required | manner.required
    taken = {outer for outer, _ in nested.values() if outer not in given}
    known = [name for name in shape.props if name not in taken]
    declared = DeclaredNames(known, required - taken, _aliases(shape, manner))
    names = map_names(rest, declared, fits, is_right, guess=log.led and not open_map)
    result = _renamed(given, names, nested, path, log)
    late = _flattened({name: given[name] for name in names.unknown}, shape, early=False, present=result)
    if log.led and not open_map and late:
        names = names._replace(unknown=tuple(name for name in names.unknown if name not in late))
        _gather(result, given, late, path, log)
    if log.led and not open_map and names.unknown:
        names = names._replace(unknown=_gather_map(result, given, names, shape, path, log))
    _leave_out(result, names, given, shape, path, log)
    return result


def _aliases(shape: Shape, manner: Manner) -> Mapping[str, str]:
    declared = {part.alias: name for name, part in shape.props.items() if part.alias}
    return {**declared, **manner.aliases} if declared else manner.aliases


def _renamed(
    given: dict[str, Any], names: NameMap, nested: dict[str, tuple[str, str]], path: str, log: Log
) -> dict[str, Any]:
    by_name: dict[str, Renaming] = {renaming.given: renaming for renaming in names.renamed}
    replaced = {renaming.meant for renaming in names.renamed}
    result: dict[str, Any] = {}
    for name, value in given.items():
        renaming = by_name.get(name)
        if renaming is not None:
            result[renaming.meant] = value
            log.add(_join(path, name), name, renaming.meant, renaming.rule, renaming.confidence)
        elif name not in nested and name not in replaced:  # a blank argument that another name fills
            result[name] = value
    _gather(result, given, nested, path, log)  # last: what was given as an object is there by then
    return result


def _flattened(
    given: Mapping[str, Any], shape: Shape, *, early: bool, present: Mapping[str, Any] | None = None
) -> dict[str, tuple[str, str]]:
    """Names that belong into an object of their own: `budget.max`, or `max` where only `budget` has one.

    Early, before other names are looked at, only where the object is required or several names point to it.
    """
    objects = {
        name: part
        for name, part in shape.props.items()
        if "object" in part.types and isinstance((present or given).get(name, {}), dict)
    }
    found: dict[str, tuple[str, str]] = {}
    for name in given:
        if name in shape.props:
            continue
        dotted = _DOTTED.fullmatch(name)
        if dotted is not None and dotted["outer"] in objects:
            found[name] = (dotted["outer"], dotted["inner"])
            continue
        if any(joined(name) == joined(known) for known in shape.props):
            continue
        owners = [
            (outer, inner)
            for outer, part in objects.items()
            for inner in part.props
            if joined(inner) == joined(name) and inner not in (present or given).get(outer, {})
        ]
        if len(owners) == 1:
            found[name] = owners[0]
    if not early:
        return found
    counts = {outer: sum(1 for other, _ in found.values() if other == outer) for outer in objects}
    return {
        name: (outer, inner)
        for name, (outer, inner) in found.items()
        if outer in shape.required or counts[outer] > 1 or "." in name
    }


def _gather(
    result: dict[str, Any], given: Mapping[str, Any], nested: Mapping[str, tuple[str, str]], path: str, log: Log
) -> None:
    for name, (outer, inner) in nested.items():
        inside = dict(cast("dict[str, Any]", result.get(outer, {})))
        rival = next((key for key in inside if joined(key) == joined(inner)), None)
        if rival is not None and inside[rival] != given[name]:
            both = f"{_quoted(_join(path, name))} and {_quoted(_join(path, f'{outer}.{rival}'))}"
            log.problem("ambiguous_name", _join(path, name), f"{both} are one argument; give only one")
            continue
        inside[rival or inner] = given[name]
        result[outer] = inside
        result.pop(name, None)
        log.add(_join(path, name), name, f"{outer}.{inner}", "flattened", 0.95 if "." in name else 0.9)


def _gather_map(
    result: dict[str, Any], given: dict[str, Any], names: NameMap, shape: Shape, path: str, log: Log
) -> tuple[str, ...]:
    """All that is left belongs into the one required map that is missing, if its values are of the right kind."""
    missing = [name for name in shape.required if name not in result]
    loose = [name for name in names.unknown if not is_noise(name)]
    if len(missing) != 1 or not loose or names.ambiguous:
        return names.unknown
    target = shape.props.get(missing[0], ANY)
    values = target.additional
    if target.types != _OBJECT or target.props or (len(loose) < 2 and (values is None or not values.types)):
        return names.unknown
    if values is not None and not all(conforms(given[name], values) for name in loose):
        return names.unknown
    _gather(result, given, {name: (missing[0], name) for name in loose}, path, log)
    return tuple(name for name in names.unknown if name not in loose)


def _leave_out(
    result: dict[str, Any], names: NameMap, given: Mapping[str, Any], shape: Shape, path: str, log: Log
) -> None:
    """What no name fits: dropped, kept or refused as the policy says; refused in any case where it might mean two."""
    for name in names.unknown:
        here = _join(path, name)
        if name in names.ambiguous and (may_be_content(name) or _same_style(name, names.ambiguous[name])):
            log.problem("ambiguous_name", here, _ambiguity(here, name, names.ambiguous[name], shape, given))
        elif not shape.closed or log.unknown == "keep":
            continue
        elif log.unknown == "refuse" or not log.led:  # dropping is a repair too
            log.problem("unknown_argument", here, f"{_quoted(here)} is no argument of this tool")
        elif restrains(name, given[name]):
            why = "and leaving it out would change what the call does"
            log.problem("unknown_argument", here, f"{_quoted(here)} is no argument of this tool, {why}")
        else:
            result.pop(name, None)
            log.add(here, given[name], None, "dropped_argument", 0.95 if is_noise(name) else 0.85)


def _same_style(name: str, others: tuple[str, ...]) -> bool:
    return any(joined(name) == joined(other) for other in others if other != name)


def _ambiguity(here: str, name: str, others: tuple[str, ...], shape: Shape, given: Mapping[str, Any]) -> str:
    if not name.strip():
        return f"{_quoted(here)} is an argument without a name; name the argument that is meant"
    known = [_quoted(other) for other in dict.fromkeys(others) if other in shape.props]
    if len(known) > _NAMED:
        known = [*known[:_NAMED], f"{len(known) - _NAMED} more"]
    rivals = [_quoted(other) for other in dict.fromkeys(others) if other not in shape.props and other != name]
    if len(known) == 1 and not rivals and given.get(others[0]) is not None:
        rivals = known  # the argument itself was given too
    if rivals and known:
        return f"{_quoted(here)} and {' and '.join(rivals)} both stand for {' or '.join(known)}; give only one"
    return f"{_quoted(here)} is no argument of this tool; it could mean {' or '.join(known or rivals)}"


def _quoted(name: str) -> str:
    return f"`{escaped(name, 120)}`"


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
