"""The text a refused model reads: what is wrong, and a call that would be right.

The form is the guardrail's: `⚠️ Invalid write call. Missing required fields: content. Example: {…}`.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from rightcall.base.json.marks import is_object, json_type
from rightcall.base.secrets import is_secret
from rightcall.base.text import escaped, invalid_call, regex, render_json
from rightcall.catalog.tidy import Part, Schema, as_list, as_schema, ref_name, types
from rightcall.catalog.tool import Tool
from rightcall.types import Call, Problem, Rules

# ── sample text ──
# A text that fits a schema: by format, by pattern where the pattern is simple, by length.

_FORMATS = {
    "date": "2025-01-31", "date-time": "2025-01-31T09:30:00Z", "time": "09:30:00Z", "duration": "PT1H",
    "email": "name@example.com", "idn-email": "name@example.com", "uri": "https://example.com/page",
    "url": "https://example.com/page", "uri-reference": "/page", "iri": "https://example.com/page",
    "hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "json-pointer": "/name",
    "uuid": "123e4567-e89b-12d3-a456-426614174000", "regex": "^[a-z]+$",
}  # fmt: skip
_LONGEST = 500
_PIECE = regex(
    r"(?P<atom>\\[dwsDWS]|\\.|\[\^?(?:\\.|[^\]\\])+\]|[^\\\[\](){}*+?|^$])"
    r"(?P<count>\{\d+(?:,\d*)?\}|[*+?])?"
)
_CLASSES = {r"\d": "1", r"\w": "a", r"\s": " ", r"\D": "a", r"\W": "-", r"\S": "a", ".": "a"}


def text_for(node: Schema, name: str) -> str:
    """A text for an argument; without any wish of the schema its own name in angle brackets."""
    wished = _FORMATS.get(str(node.get("format", "")))
    pattern = node.get("pattern")
    if isinstance(pattern, str):
        from_pattern = text_matching(pattern, node.get("minLength", 0))
        text = from_pattern if from_pattern is not None else (wished or "text")
    else:
        text = wished or (f"<{name}>" if name else "text")
    least, most = node.get("minLength", 0), node.get("maxLength")
    if len(text) < least <= 2 * _LONGEST and not isinstance(pattern, str):
        text = text.ljust(least, "x")
    return text[:most] if isinstance(most, int) and len(text) > most else text


def text_matching(pattern: str, least: int = 0) -> str | None:
    """The shortest text of a simple pattern (letters, classes, counts, plain groups); None when it is not simple.

    >>> text_matching(r"^[A-Z]{3}-\\d+$")
    'AAA-1'
    """
    if len(pattern) > _LONGEST:
        return None
    flat = _ungrouped(pattern.removeprefix("^").removesuffix("$"))
    if flat is None:
        return None
    text, position, growing = "", 0, None
    while position < len(flat):
        piece = _PIECE.match(flat, position)
        if piece is None:
            return None
        letter = _letter(piece["atom"])
        if letter is None:
            return None
        low, high = _counts(piece["count"])
        if low > _LONGEST:
            return None
        text += letter * low
        growing = (len(text), letter) if high is None else growing
        position = piece.end()
    if len(text) < least <= 2 * _LONGEST and growing is not None:
        at, letter = growing
        text = text[:at] + letter * (least - len(text)) + text[at:]
    return text if len(text) <= 2 * _LONGEST else None


def _ungrouped(pattern: str) -> str | None:
    """Groups without counts, by their first alternative; deeper or counted groups are not simple."""
    while True:
        group = re.search(r"(?<!\\)\((?:\?:)?([^()]*)\)(.?)", pattern)
        if group is None:
            break
        if group[2] in ("{", "*", "+"):
            return None
        inner = "" if group[2] == "?" else _first_choice(group[1])
        if inner is None:
            return None
        keep = "" if group[2] == "?" else group[2]
        pattern = pattern[: group.start()] + inner + keep + pattern[group.end() :]
    return _first_choice(pattern)


def _first_choice(pattern: str) -> str | None:
    choice = re.match(r"(?:\\.|\[(?:\\.|[^\]\\])*\]|[^|\\\[])*", pattern)
    if choice is None or pattern[choice.end() : choice.end() + 1] not in ("", "|"):
        return None  # a bracket that never closes
    return choice[0].removesuffix("$")


def _letter(atom: str) -> str | None:
    if atom in _CLASSES:
        return _CLASSES[atom]
    if atom.startswith("\\"):
        return None if atom[1].isalnum() else atom[1]
    if not atom.startswith("["):
        return atom
    if atom.startswith("[^"):
        excluded = re.compile(atom)
        return next((letter for letter in "a1-A_ " if excluded.match(letter)), None)
    first = re.match(r"\[(\\.|.)", atom)
    return _letter(first[1]) if first else None


def _counts(count: str | None) -> tuple[int, int | None]:
    """Least and most of a repetition; None for no end."""
    if count is None:
        return 1, 1
    if count in "*+?":
        return {"*": 0, "+": 1, "?": 0}[count], 1 if count == "?" else None
    low, _, high = count[1:-1].partition(",")
    return int(low), None if "," in count and not high else int(high or low)


# ── sample ──
# A value that fits a schema, small and plain. Best effort: who uses it checks the result.

_DEEP = 12


class NoSampleError(Exception):
    """No value can be found."""


class Sampler:
    """Makes values for one tool. `generous` also fills in what is optional, for schemas that ask for it indirectly."""

    def __init__(self, root: Schema, generous: bool = False) -> None:
        self.root = root
        self.defs = as_schema(root.get("$defs"))
        self.generous = generous

    def arguments(self, wanted: list[str]) -> dict[str, Any]:
        """The arguments of a call: what the schema requires and what is `wanted`; one at least, if there is any."""
        node = self.whole(self.root)
        properties = as_schema(node.get("properties"))
        names = [name for name in properties if name in (*as_list(node.get("required")), *wanted)]
        names += [name for name in (*as_list(node.get("required")), *wanted) if name not in properties]
        if not names and properties and not self.generous:
            names = [next(iter(properties))]
        return self.object(node, "", 0, list(dict.fromkeys(names)))

    def value(self, part: Part, name: str, depth: int) -> Any:
        if part is False or depth > _DEEP:
            raise NoSampleError(name)
        node = self.whole(part)
        if "const" in node:
            return node["const"]
        for keyword in ("enum", "examples"):
            told = [value for value in as_list(node.get(keyword)) if value is not None and _is_of(types(node), value)]
            if told:
                return told[0]
        if node.get("default") is not None and _is_of(types(node), node["default"]):
            return node["default"]
        branches = as_list(node.get("anyOf")) or as_list(node.get("oneOf"))
        if branches:
            return self.branch(node, branches, name, depth)
        kinds = [kind for kind in types(node) or () if kind != "null"] or list(types(node) or ()) or [_guessed(node)]
        return self.of_kind(kinds[0], node, name, depth)

    def whole(self, part: Part) -> Schema:
        """The schema with `$ref` and `allOf` taken in."""
        node = as_schema(part)
        for _ in range(_DEEP):
            inner: list[Any] = as_list(node.get("allOf"))
            if "$ref" in node:
                inner = [self.defs.get(ref_name(node["$ref"]), True), *inner]
            if not inner:
                break
            node = {key: value for key, value in node.items() if key not in ("$ref", "allOf")}
            for more in inner:
                node = _both(as_schema(more), node)
        return node

    def branch(self, node: Schema, branches: list[Part], name: str, depth: int) -> Any:
        """The first alternative that can be made; null only when there is nothing else."""
        rest = {key: value for key, value in node.items() if key not in ("anyOf", "oneOf")}
        real = [part for part in branches if as_schema(part).get("type") != "null"]
        for part in real or branches:
            try:
                return self.value(_both(self.whole(part), rest), name, depth + 1)
            except NoSampleError:
                continue
        raise NoSampleError(name)

    def of_kind(self, kind: str, node: Schema, name: str, depth: int) -> Any:
        if kind == "string":
            return text_for(node, name)
        if kind in ("integer", "number"):
            return _number(node, whole=kind == "integer")
        if kind == "array":
            return self.array(node, name, depth)
        if kind == "object":
            return self.object(node, name, depth, as_list(node.get("required")))
        return kind == "boolean" or None

    def array(self, node: Schema, name: str, depth: int) -> list[Any]:
        made = [self.value(part, name, depth + 1) for part in as_list(node.get("prefixItems"))]
        least, most = node.get("minItems", 0), node.get("maxItems", math.inf)
        items = cast("Part", node.get("items", True))
        if not made and items is not True and items is not False and most >= 1:
            least = max(least, 1)
        if least > 50:
            raise NoSampleError(name)
        while len(made) < least:
            value = self.value(items if items is not True else {"type": "string"}, name, depth + 1)
            made.append(_another(value, made, as_schema(items)) if node.get("uniqueItems") else value)
        return made[: int(most)] if most != math.inf else made

    def object(self, node: Schema, name: str, depth: int, names: list[str]) -> dict[str, Any]:
        properties = as_schema(node.get("properties"))
        if self.generous:
            names = list(dict.fromkeys((*names, *properties)))
        made: dict[str, Any] = {}
        for key in names:
            try:
                made[key] = self.value(cast("Part", properties.get(key, {"type": "string"})), key, depth + 1)
            except NoSampleError:
                if key in as_list(node.get("required")):
                    raise
        for key in properties:
            if len(made) < node.get("minProperties", 0) and key not in made:
                made[key] = self.value(cast("Part", properties[key]), key, depth + 1)
        extra = cast("Part", node.get("additionalProperties", not properties))
        while len(made) < min(node.get("minProperties", 0), 50) and extra is not False:
            made[f"key{len(made) + 1}"] = self.value(
                extra if extra is not True else {"type": "string"}, name, depth + 1
            )
        return made


def _is_of(kinds: tuple[str, ...] | None, value: Any) -> bool:
    """Examples in the wild are often written as text, whatever the type."""
    return kinds is None or json_type(value) in kinds or (json_type(value) == "integer" and "number" in kinds)


def _both(under: Schema, over: Schema) -> Schema:
    """Two schemas of the same value in one; where both speak, names add up and otherwise `over` wins."""
    node = {**under, **over}
    for keyword in ("properties", "$defs"):
        if keyword in under and keyword in over:
            node[keyword] = {**as_schema(under[keyword]), **as_schema(over[keyword])}
    if "required" in under and "required" in over:
        node["required"] = list(dict.fromkeys((*as_list(under["required"]), *as_list(over["required"]))))
    if "allOf" in under and "allOf" in over:
        node["allOf"] = [*as_list(under["allOf"]), *as_list(over["allOf"])]
    for keyword, tighter in (("minimum", max), ("minLength", max), ("minItems", max), ("maximum", min),
                             ("maxLength", min), ("maxItems", min)):  # fmt: skip
        if keyword in under and keyword in over:
            node[keyword] = tighter(under[keyword], over[keyword])
    return node


def _guessed(node: Schema) -> str:
    """What an untyped schema probably speaks of."""
    for kind, words in (
        ("object", ("properties", "required", "additionalProperties", "minProperties", "patternProperties")),
        ("array", ("items", "prefixItems", "minItems", "uniqueItems", "maxItems")),
        ("number", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
    ):
        if any(word in node for word in words):
            return kind
    return "string"


def _number(node: Schema, *, whole: bool) -> int | float:
    low = node.get("minimum", -math.inf)
    high = node.get("maximum", math.inf)
    above, below = node.get("exclusiveMinimum", -math.inf), node.get("exclusiveMaximum", math.inf)
    step = node.get("multipleOf", 1 if whole else 0)
    if whole and step != int(step):
        step = 1
    tries: list[float] = [1, 0, low, high, above + 1, below - 1, (max(low, above) + min(high, below)) / 2]
    if step:
        tries += [math.ceil(value / step) * step for value in tries if math.isfinite(value)]
        tries += [(math.floor(above / step) + 1) * step] if math.isfinite(above) else []
    for value in tries:
        number = int(value) if math.isfinite(value) and value == int(value) else value
        fits = low <= number <= high and above < number < below and math.isfinite(number)
        if fits and (not whole or number == int(number)) and (not step or abs(number % step) < 1e-9):
            return number
    raise NoSampleError("number")


def _another(value: Any, taken: list[Any], items: Schema) -> Any:
    """A value unlike those already there, for lists without repetition."""
    choices = [one for one in as_list(items.get("enum")) if one not in taken]
    if "enum" in items:
        if not choices:
            raise NoSampleError("enum")
        return choices[0]
    count = 0
    candidate = value
    while candidate in taken:
        count += 1
        if isinstance(value, bool):
            candidate = not value
        elif isinstance(value, (int, float)):
            candidate = value + count * (items.get("multipleOf") or 1)
        elif isinstance(value, str):
            candidate = f"{value}{count}"
        if count > 50 or candidate is value:
            raise NoSampleError("unique")
    return candidate


# ── example ──
# A right call of a tool, to show a model: declared in a pack, or made from the schema. Never one that does not fit.

_LONGEST_KEPT, _MOST_KEPT, _DEEPEST_KEPT = 300, 30, 3
"""Characters of a text, members of a list or object, and levels, of a call that an example keeps."""
LONGEST_VALUE = 1_000
"""A longer example would drown the hint; it is left out."""


def example(tool: Tool) -> dict[str, Any] | None:
    """Arguments that `tool.accepts` (once defaults are filled in), as few as possible; None where none can be made."""
    found = _example(tool)
    return None if found is None else dict(found)


@lru_cache(maxsize=256)
def _example(tool: Tool) -> dict[str, Any] | None:
    if tool.rules.example is not None:
        return dict(tool.rules.example)
    for generous in (False, True):
        try:
            made = _build_example(tool, generous)
        except (NoSampleError, ArithmeticError, RecursionError):  # a bound of 10**400, a schema without end
            continue
        if _fits(tool, made):
            return made
    return None


def _build_example(tool: Tool, generous: bool, more: Sequence[str] = ()) -> dict[str, Any]:
    sampler = Sampler(tool.schema, generous)
    made: dict[str, Any] = sampler.arguments([*_wanted(tool.rules), *more])
    for name in tool.rules.json_text:
        if name in made:
            made[name] = "{}"
    for name, least in tool.rules.min_length.items():
        if isinstance(made.get(name), str):
            made[name] = (made[name] + " ").ljust(least, "…") if len(made[name]) < least else made[name]
    for name in tool.rules.defaults:
        made.pop(name, None)  # filled in anyway
    return made


def _wanted(rules: Rules) -> list[str]:
    """What the rules ask for beside the schema's own `required`."""
    return [*rules.required, *(group[0] for group in rules.required_any if group), *rules.required_unless]


def _fits(tool: Tool, made: dict[str, Any]) -> bool:
    try:
        return tool.accepts({**tool.rules.defaults, **made})
    except ValueError:
        return False


def corrected(tool: Tool, problems: Iterable[Problem], written: Call | None) -> dict[str, Any] | None:
    """The call itself with other values where it was wrong: a model that copies it loses nothing of what it meant.

    None where nothing of it can stay, where a pack has an example of its own, and where it holds something secret.
    """
    given = written.arguments if written is not None else None
    if not is_object(given):
        return None
    wrong = {_first(one.path) for one in problems}
    known = as_schema(tool.schema.get("properties"))
    if tool.rules.example is not None or "" in wrong or not _is_short(given):
        return None
    kept = {name: value for name, value in given.items() if name in known and name not in wrong}
    if not kept or any(map(is_secret, kept)):
        return None
    try:
        made = _build_example(tool, False, [name for name in given if name in known and name in wrong])
    except (NoSampleError, ArithmeticError, RecursionError):
        return None
    whole = {**made, **{name: _bounded(known[name], given[name], made[name]) for name in made if name in given}, **kept}
    ordered = {name: whole[name] for name in known if name in whole}
    return ordered if _fits(tool, ordered) else None


def _is_short(value: Any, depth: int = 0) -> bool:
    """Whether a value can be shown in a line: a model may have written anything."""
    kind = cast("type[Any]", type(value))
    if kind is str:
        return len(value) <= _LONGEST_KEPT
    if kind is int:
        return value.bit_length() <= 64
    if kind is float:
        return math.isfinite(value)
    if kind not in (dict, list):
        return value is None or kind is bool
    if depth > _DEEPEST_KEPT or len(value) > _MOST_KEPT:
        return False
    return all(_is_short(one, depth + 1) for one in ([*value, *value.values()] if kind is dict else value))


def _bounded(part: Part, value: Any, otherwise: Any) -> Any:
    """A number that is out of bounds, at the nearest bound."""
    node = as_schema(part)
    if json_type(value) not in ("integer", "number"):
        return otherwise
    nearest = min(max(value, node.get("minimum", value)), node.get("maximum", value))
    return nearest if nearest != value else otherwise


def example_text(tool: Tool, allowed: Collection[str] | None = None) -> str | None:
    """The example as one line of JSON; None where there is none to show."""
    found = example(tool)
    if found is None or (allowed is not None and any(name not in allowed for name in found)):
        return None
    return arguments_text(found)


def arguments_text(arguments: dict[str, Any]) -> str | None:
    """Arguments as one line of JSON; None where they are too long to show."""
    import json  # late: only a refusal pays for it

    text = escaped(json.dumps(arguments, ensure_ascii=False, default=str))
    return text if len(text) <= LONGEST_VALUE else None


# ── wording ──
# The words of problems, made for a model to act on: which argument, which rule, what was there instead.

Path = tuple[str | int, ...]
CHOICES = 12

_TYPES = {
    "string": "a text", "integer": "an integer", "number": "a number", "boolean": "true or false", "array": "a list",
    "object": "an object", "null": "null",
}  # fmt: skip


def path_text(path: Iterable[str | int]) -> str:
    """`items[0].size`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{escaped(step, 60)}" if text else escaped(step, 60)
    return text


def named(path: Sequence[str | int]) -> str:
    """An argument in a sentence; the call as a whole when there is no path."""
    return f"`{path_text(path)}`" if path else "the arguments"


def type_words(types: Iterable[str]) -> str:
    """`an integer or null`; null comes last, since it is hardly ever what is wanted."""
    return joined([_TYPES.get(name, name) for name in sorted(types, key=lambda name: name == "null")])


def got(value: Any) -> str:
    """What was there: `the text "three"`, `the number 3`, `a list [1, 2]`."""
    kinds = (str, "text"), (bool, ""), ((int, float), "number"), (Mapping, "object"), ((list, tuple), "list")
    kind = next((name for types, name in kinds if isinstance(value, types)), "")
    return f"the {kind} {render_json(value)}" if kind else render_json(value)


def choices(values: Sequence[Any]) -> str:
    """`celsius, fahrenheit`, cut where a long list would drown the rest; other than plain words as JSON."""
    plain = [
        value if isinstance(value, str) and _is_plain(value) else render_json(value, 40) for value in values[:CHOICES]
    ]
    more = f" … ({len(values)} in all)" if len(values) > CHOICES else ""
    return ", ".join(plain) + more


def joined(words: Sequence[str], last: str = "or") -> str:
    """`a, b or c`."""
    unique = list(dict.fromkeys(words))
    return f"{', '.join(unique[:-1])} {last} {unique[-1]}" if len(unique) > 1 else "".join(unique)


def _is_plain(text: str) -> bool:
    return bool(text) and len(text) <= 40 and text.isprintable() and not set(text) & set('",;') and text == text.strip()


NAMES = 30
"""So many tool names are listed; a longer list would drown the rest."""
LONGEST = 300
"""Characters of a sentence that a pack adds."""


def hint(
    tool: Tool, problems: Sequence[Problem], *, given: Call | None = None, allowed: Collection[str] | None = None
) -> str:
    """What to tell the model of a call that does not fit.

    `given` is that call, of which the example keeps what is right. `allowed`, where given,
    are the arguments this caller may use: no others are named.
    """
    told = [one for one in problems if allowed is None or not one.path or _first(one.path) in allowed]
    missing = [_field(one) for one in told if one.code in ("missing", "missing_any")]
    sentences = [invalid_call(tool.name)]
    if missing:
        sentences.append(f"Missing required fields: {', '.join(missing)}.")
    sentences += [f"{one.message}." for one in told if one.code not in ("missing", "missing_any")]
    if tool.rules.hint is not None:
        sentences.append(f"{escaped(tool.rules.hint, LONGEST).rstrip('.')}.")
    better = None if allowed is not None else corrected(tool, problems, given)
    shown = (None if better is None else arguments_text(better)) or example_text(tool, allowed)
    if shown is not None:
        sentences.append(f"Example: {shown}")
    return " ".join(sentences)


def _field(one: Problem) -> str:
    return f"({one.path})" if one.code == "missing_any" else one.path


def _first(path: str) -> str:
    return path.split(" or ")[0].split(".")[0].split("[")[0]


def unknown_tool_hint(name: str, suggestions: Iterable[str] = (), names: Iterable[str] = ()) -> str:
    """What to tell the model of a tool that nobody has. Give only names that this caller may use.

    >>> unknown_tool_hint("wether", ["weather"], ["search", "weather"])
    'Unknown tool `wether`. Did you mean `weather`? Tools: search, weather'
    """
    near = [f"`{escaped(one, 100)}`" for one in suggestions]
    text = f"Unknown tool `{escaped(name, 100)}`."
    if near:
        text += f" Did you mean {joined(near)}?"
    return text + _listed(names)


def nameless_hint(names: Iterable[str] = ()) -> str:
    """What to tell the model of a call that names no tool at all.

    >>> nameless_hint(["search", "weather"])
    '⚠️ Invalid tool call. The tool name is missing. Resend the call with a tool name. Tools: search, weather'
    """
    return f"{invalid_call('tool')} The tool name is missing. Resend the call with a tool name.{_listed(names)}"


def _listed(names: Iterable[str]) -> str:
    known = list(names)
    more = f" and {len(known) - NAMES} more" if len(known) > NAMES else ""
    return f" Tools: {', '.join(escaped(one, 100) for one in known[:NAMES])}{more}" if known else ""


def deprecated_hint(tool: Tool, replacement: Tool | None = None, meant: dict[str, Any] | None = None) -> str:
    """What to tell the model of a tool that another one has replaced. `meant` are its own arguments in the words of the
    new tool, where they would do."""
    new = tool.rules.replaced_by or ""
    text = f"{invalid_call(tool.name)} This tool is deprecated. Use `{escaped(new, 100)}` instead."
    shown = arguments_text(meant) if meant else None
    if shown is None:
        renamed = [f"`{old}` is `{now}` there" for old, now in tool.rules.replacement_arguments.items() if old != now]
        text += f" {', '.join(renamed)}." if renamed else ""
        shown = _example_instead(tool, replacement)
    return f"{text} Example: {shown}" if shown is not None else text


def _example_instead(tool: Tool, replacement: Tool | None) -> str | None:
    """A call of the new tool; where nobody has said what that takes, the old one's example in its words."""
    known = example_text(replacement) if replacement is not None else None
    if known is not None and known != "{}":  # which shows nothing
        return known
    renamed, old = tool.rules.replacement_arguments, tool.rules.example
    return arguments_text({renamed.get(key, key): old[key] for key in old}) if old else None


def can_retry(problems: Iterable[Problem]) -> bool:
    """Whether calling again, corrected as the hint says, can help: no other wording solves a fault of ours."""
    return not any(one.code == "fault" for one in problems)
