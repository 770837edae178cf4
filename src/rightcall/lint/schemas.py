"""RC4xx: schemas that are wrong, that accept nothing or anything, or that are harder to follow than they need be."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

from rightcall.base.text import message_of, render_json
from rightcall.catalog.schema import validator
from rightcall.catalog.tidy import STRICT_BOUNDS, Part, Schema, as_list, as_schema, parts, tidy_arguments
from rightcall.errors import RightCallError
from rightcall.gate.repair.words import words_of
from rightcall.lint.definitions import DEEPEST, TYPES, Argument, ToolView, follow
from rightcall.lint.evident import is_keyed
from rightcall.lint.findings import Hit, Steps, join_names, named_steps, quote_name, quote_text, word_set

MOST_LEVELS: Final = 5
"""Levels of objects inside each other before a tool counts as deeply nested."""
MOST_BRANCHES: Final = 4
MANY_CHOICES: Final = 60
MOST_CHOICES: Final = 100
MOST_ARGUMENTS: Final = 25
VERY_MANY_ARGUMENTS: Final = 40
FOREIGN: Final = {
    "str": "string", "text": "string", "int": "integer", "long": "integer", "float": "number", "double": "number",
    "bool": "boolean", "list": "array", "tuple": "array", "dict": "object", "map": "object", "any": "", "none": "null",
}  # fmt: skip

STANDARD_KEYS: Final = word_set(
    "$schema $id $ref $defs $anchor $dynamicRef $dynamicAnchor $vocabulary $comment id definitions type enum const "
    "multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern maxItems minItems "
    "uniqueItems maxContains minContains maxProperties minProperties required dependentRequired dependencies "
    "properties patternProperties additionalProperties propertyNames unevaluatedProperties unevaluatedItems "
    "dependentSchemas items additionalItems prefixItems contains allOf anyOf oneOf not if then else title description "
    "default deprecated readOnly writeOnly examples example format contentEncoding contentMediaType contentSchema "
    "nullable discriminator optional propertyOrdering default_value min max values options choices regex"
)
"""Keywords of all drafts of JSON Schema and of OpenAPI, and those that RC417 tells of."""

# ── one tool ──


def check(tool: ToolView) -> Iterator[Hit]:
    schema = tool.schema
    if schema is None:
        yield from _no_schema(tool)
        return
    yield from _root(tool, schema)
    yield from _whole(tool, schema)
    yield from _shape(tool, schema)
    places = dict(walk(schema, tool.schema_path))
    for path, part in places.items():
        yield from _part(path, part)
        yield from _required_inside(path, part, places.get(path[:-2], {}))
    yield from _references(tool, schema)
    for argument in tool.arguments:
        yield from _argument(argument, schema)
    yield from _examples(tool, schema)


def walk(schema: Schema, base: Steps, depth: int = 0) -> Iterator[tuple[Steps, Schema]]:
    """Every schema inside a schema, itself first, with its place; `definitions` of older drafts too."""
    yield base, schema
    if depth >= DEEPEST * 3:
        return
    inner: list[tuple[str, str | int | None, Part]] = list(parts(schema))
    inner += [("definitions", key, part) for key, part in as_schema(schema.get("definitions")).items()]
    if isinstance(schema.get("items"), list):
        inner += [("items", number, part) for number, part in enumerate(cast("list[Part]", schema["items"]))]
    for keyword, key, part in inner:
        if isinstance(part, dict):
            yield from walk(part, (*base, keyword) if key is None else (*base, keyword, key), depth + 1)


def reached(schema: Schema, base: Steps) -> Iterator[tuple[Steps, Schema]]:
    """The same without definitions that nothing refers to; one that is referred to comes once."""
    todo, seen = [(base, {key: value for key, value in schema.items() if key not in ("$defs", "definitions")})], {""}
    while todo:
        for path, part in walk(todo[0][1], todo.pop(0)[0]):
            yield path, part
            reference = part.get("$ref")
            if isinstance(reference, str) and reference not in seen:
                seen.add(reference)
                target = follow(reference, schema)
                if target:
                    todo.append(((*base, *reference.removeprefix("#/").split("/")), target))


def _no_schema(tool: ToolView) -> Iterator[Hit]:
    given = next((tool.inner[key] for key in ("inputSchema", "input_schema", "parameters") if key in tool.inner), None)
    if given is not None:
        yield Hit(
            "RC401", "the schema is not an object", 'give {"type": "object", "properties": {…}}', tool.schema_path
        )
    elif "annotations" in tool.raw or "outputSchema" in tool.raw or tool.shape in ("mcp", "anthropic"):
        yield Hit(
            "RC401",
            "no schema for the arguments",
            'give {"type": "object", "properties": {}} where there are none',
            tool.at("name"),
        )


def _root(tool: ToolView, schema: Schema) -> Iterator[Hit]:
    kind = schema.get("type")
    if kind is None and not {"anyOf", "oneOf", "allOf", "$ref"} & schema.keys() and (schema or tool.shape == "mcp"):
        if not _is_shorthand(schema):
            yield Hit("RC401", 'the schema has no "type": "object"', 'add "type": "object"', tool.schema_path)
    elif kind not in (None, "object", "dict", "OBJECT"):
        yield Hit(
            "RC401",
            f"the schema is of type {quote_text(str(kind))}, not an object",
            'make it "type": "object"',
            tool.schema_path,
        )


def _is_shorthand(schema: Schema) -> bool:
    """`{"city": "string"}`, which our gate reads, and no provider does."""
    named = {key: value for key, value in schema.items() if not key.startswith("$")}
    return bool(named) and "properties" not in named and all(isinstance(value, (str, dict)) for value in named.values())


def _whole(tool: ToolView, schema: Schema) -> Iterator[Hit]:
    """What the compiler of schemas says of it."""
    if _is_shorthand(schema) and "type" not in schema and "$ref" not in schema:
        yield Hit(
            "RC402",
            "the arguments are not under `properties`",
            'write {"type": "object", "properties": {…}}',
            tool.schema_path,
        )
        return
    try:
        tidied = tidy_arguments(schema)
        _compile(tidied)
    except RightCallError as fault:
        yield Hit(
            "RC402", f"the schema cannot be read: {message_of(fault, 160)}", "correct the schema", tool.schema_path
        )
    except (ValueError, RecursionError, TypeError) as fault:
        if "$ref" not in json.dumps(schema, default=str) or "nresolvable" not in str(fault):
            yield Hit(
                "RC402", f"the schema is not valid: {message_of(fault, 160)}", "correct the schema", tool.schema_path
            )


def _compile(schema: Schema) -> None:
    from jsonschema_rs import meta  # late: only this rule asks

    meta.validate({**schema, "$schema": "https://json-schema.org/draft/2020-12/schema"})


def _shape(tool: ToolView, schema: Schema) -> Iterator[Hit]:
    deepest = max((_objects(one.path) for one in tool.arguments), default=0)
    if deepest > MOST_LEVELS:
        place = next(one.path for one in tool.arguments if _objects(one.path) > MOST_LEVELS)
        told = f"arguments are nested {deepest} levels deep"
        yield Hit("RC411", told, "flatten them", place, certain=deepest > MOST_LEVELS + 1)
    if len(tool.top) > MOST_ARGUMENTS:
        certain = len(tool.top) > VERY_MANY_ARGUMENTS
        advice = "split the tool, or group what is rarely used"
        yield Hit("RC415", f"{len(tool.top)} arguments", advice, tool.schema_path, certain=certain)
    seen: dict[Steps, Schema] = {}
    for path, part in walk(schema, tool.schema_path):
        seen[path] = part
        for word in ("anyOf", "oneOf"):
            branches = [one for one in as_list(part.get(word)) if as_schema(one).get("type") != "null"]
            if (
                len(branches) >= MOST_BRANCHES
                and not _is_list_of_values(branches)
                and not _is_any_value(branches)
                and not _is_discriminated(branches, schema)
                and not _is_chosen(path, seen.get(path[:-2], {}), len(branches))
                and (shapes := len({_outline(as_schema(one), schema) for one in branches})) >= MOST_BRANCHES
            ):
                yield Hit(
                    "RC414",
                    f"{_where(path)} may have {shapes} different shapes",
                    "make several tools, or an `enum` that says which",
                    path,
                )


def _objects(path: Steps) -> int:
    return sum(1 for keyword, _ in named_steps(path) if keyword == "properties")


def _is_list_of_values(branches: list[Any]) -> bool:
    """`anyOf` of constants: an enum, written out."""
    return all("const" in as_schema(one) or "enum" in as_schema(one) for one in branches)


def _is_any_value(branches: list[Any]) -> bool:
    """Plain types beside each other, none with properties: whatever JSON can say."""
    return all(_SHAPED.isdisjoint(as_schema(one)) for one in branches)


_SHAPED: Final = frozenset(("properties", "$ref", "anyOf", "oneOf", "allOf"))


def _is_chosen(path: Steps, around: Schema, branches: int) -> bool:
    """Whether another argument says which shape it is: one with a value for each."""
    others = as_schema(around.get("properties")) if path[-2:-1] == ("properties",) else {}
    return any(len(as_list(as_schema(one).get("enum"))) == branches for name, one in others.items() if name != path[-1])


def _outline(branch: Schema, root: Schema) -> str:
    """The keys and types of a branch: bounds and texts make no other shape."""
    whole = follow(branch["$ref"], root) if isinstance(branch.get("$ref"), str) else branch
    keys = {name: as_schema(one).get("type") for name, one in as_schema(whole.get("properties")).items()}
    rest = {} if keys else {key: value for key, value in whole.items() if key not in ("title", "description")}
    if whole.get("type") == "string":
        rest = {}  # an address of either kind is one text
    values = [whole["const"]] if "const" in whole else as_list(whole.get("enum"))
    if values:  # 1, -1 and other numbers are one shape
        return json.dumps(sorted({type(one).__name__ for one in values}))
    return json.dumps([whole.get("type"), keys, rest], sort_keys=True, default=str)


def _is_discriminated(branches: list[Any], root: Schema) -> bool:
    """Objects, each with a constant that says which it is."""
    return all(_has_constant(as_schema(one), root) for one in branches)


def _has_constant(branch: Schema, root: Schema) -> bool:
    reference = branch.get("$ref")
    whole = follow(reference, root) if isinstance(reference, str) else branch
    for part in as_schema(whole.get("properties")).values():
        if "const" in as_schema(part) or len(as_list(as_schema(part).get("enum"))) == 1:
            return True
    return False


def _where(path: Steps) -> str:
    """The place of a schema, as its argument's name."""
    named = [name for keyword, name in named_steps(path) if keyword == "properties"]
    if not named:
        return "the schema"
    inside = path[-1] == "items" and path[-2] != "properties"
    return f"an item of {quote_name(named[-1])}" if inside else quote_name(named[-1])


def _compiles(pattern: str) -> bool:
    import jsonschema_rs  # late: only what compiles a schema pays for it

    try:
        jsonschema_rs.Draft202012Validator(
            {"type": "string", "pattern": pattern}, pattern_options=jsonschema_rs.FancyRegexOptions()
        )
    except ValueError:
        return False
    return True


COMPOSED: Final = frozenset(("anyOf", "oneOf", "allOf", "$ref", "patternProperties"))


def _is_beside(path: Steps) -> bool:
    """Whether a schema is one of several for the same value, so that another may have the properties."""
    return path[-1:] in (("not",), ("if",), ("then",), ("else",)) or path[-2:-1] in (("allOf",), ("anyOf",), ("oneOf",))


def _part(path: Steps, part: Schema) -> Iterator[Hit]:
    """One schema, by itself."""
    yield from _foreign(path, part)
    kind = part.get("type")
    if (
        (kind == "array" or (isinstance(kind, list) and "array" in kind))
        and "items" not in part
        and "prefixItems" not in part
    ):
        yield Hit("RC404", f"{_where(path)} is an array without `items`", 'add "items" with the type of an item', path)
    listed = as_list(part.get("properties")) if isinstance(part.get("properties"), list) else []
    if listed:
        yield Hit("RC402", "`properties` is a list", "make it an object, by names", path)
    unknown = [
        name
        for name in as_list(part.get("required"))
        if isinstance(name, str) and name not in as_schema(part.get("properties"))
    ]
    apart = COMPOSED.isdisjoint(part) and not _is_beside(path)
    plain = apart and ("properties" in part or kind == "object")
    if unknown and plain:
        near = {re.sub(r"[\W_]+", "", name).lower(): name for name in as_schema(part.get("properties"))}
        meant = [near[bare] for name in unknown if (bare := re.sub(r"[\W_]+", "", name).lower()) in near]
        yield Hit(
            "RC403",
            f"`required` names {join_names(unknown)}, which `properties` does not have",
            f"write {join_names(meant)}" if meant else "add the argument, or remove it from `required`",
            (*path, "required"),
            fixable=not meant,
        )
    yield from _bounds(path, part)
    yield from _choices(path, part)
    pattern = part.get("pattern")
    if isinstance(pattern, str) and not _compiles(pattern):
        yield Hit("RC402", f"the pattern of {_where(path)} is not a regular expression", "correct the pattern", path)


def _foreign(path: Steps, part: Schema) -> Iterator[Hit]:
    kind = part.get("type")
    kinds = cast("list[object]", kind) if isinstance(kind, list) else [kind]
    for one in kinds:
        if isinstance(one, str) and one not in TYPES:
            if one.lower() in TYPES or one.lower() in FOREIGN:
                right = one.lower() if one.lower() in TYPES else FOREIGN[one.lower()] or "nothing: leave `type` out"
                yield Hit("RC417", f"{_where(path)} has the type {quote_text(one)}", f"write {quote_text(right)}", path)
            else:
                yield Hit(
                    "RC402",
                    f"{_where(path)} has the unknown type {quote_text(one)}",
                    "use string, number, integer, boolean, array or object",
                    path,
                )
    if part.get("nullable") is True:
        yield Hit(
            "RC417",
            f"{_where(path)} has `nullable`, which is OpenAPI",
            'write "type": ["string", "null"], or leave it out of `required`',
            path,
        )
    for strict, plain in STRICT_BOUNDS:
        flag, bound = part.get(strict), part.get(plain)
        if isinstance(flag, bool):
            remedy = f"write `{strict}` {render_json(bound, 20)} for both" if flag and plain in part else "leave it out"
            text = f"{_where(path)} has `{strict}: {str(flag).lower()}`, the way of draft 4, which later drafts refuse"
            yield Hit("RC417", text, remedy, path)
    for word, right in (
        ("optional", "required"),
        ("default_value", "default"),
        ("min", "minimum"),
        ("max", "maximum"),
        ("values", "enum"),
        ("options", "enum"),
        ("choices", "enum"),
        ("regex", "pattern"),
    ):
        if word in part and "type" in part and _is_keyword_place(path):
            remedy = _IS_OPTIONAL if word == "optional" else f"write `{right}`"
            yield Hit("RC417", f"{_where(path)} has `{word}`, which is not a keyword of JSON Schema", remedy, path)


def _required_inside(path: Steps, part: Schema, around: Schema) -> Iterator[Hit]:
    """`required` of draft 3, which is true or false and stands in the argument itself."""
    needed = part.get("required")
    if isinstance(needed, bool):
        listed = path[-1:] and path[-1] in as_list(around.get("required"))
        remedy = (
            _IS_LISTED if listed else "list its name in `required` of the object around it" if needed else _IS_OPTIONAL
        )
        yield Hit("RC422", f"{_where(path)} has `required: {str(needed).lower()}`", remedy, path)


_IS_LISTED: Final = "remove it: `required` of the object around it has the name already"
_IS_OPTIONAL: Final = "remove it: what `required` does not list is optional"


def _is_keyword_place(path: Steps) -> bool:
    """Whether the keys there are keywords, not names of arguments."""
    return path[-1:] != ("properties",)


def _bounds(path: Steps, part: Schema) -> Iterator[Hit]:
    for low, high in (
        ("minimum", "maximum"),
        ("minLength", "maxLength"),
        ("minItems", "maxItems"),
        ("exclusiveMinimum", "exclusiveMaximum"),
        ("minProperties", "maxProperties"),
    ):
        least, most = part.get(low), part.get(high)
        if _is_number(least) and _is_number(most) and cast("float", least) > cast("float", most):
            yield Hit(
                "RC408", f"{_where(path)} has `{low}` {least} above `{high}` {most}", "swap or correct them", path
            )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_PYTHON: Final = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


def _choices(path: Steps, part: Schema) -> Iterator[Hit]:
    listed = part.get("enum")
    if not isinstance(listed, list):
        return
    values = cast("list[Any]", listed)
    kind = part.get("type")
    named = cast("list[Any]", kind) if isinstance(kind, list) else [kind]
    kinds = [one for one in named if one in _PYTHON]
    wrong = [value for value in values if kinds and not any(_is_of(value, one) for one in kinds)]
    keys = [json.dumps(value, sort_keys=True, default=str) for value in values]
    if not values:
        yield Hit("RC407", f"{_where(path)} has an empty `enum`", "list the values, or remove it", path)
    elif wrong and kinds != ["array"]:
        yield Hit(
            "RC407",
            f"{_where(path)} is of type {quote_text(' or '.join(kinds))}, and `enum` has {render_json(wrong[0], 60)}",
            "make the values and the type fit",
            path,
        )
    elif len(set(keys)) < len(keys):
        yield Hit("RC407", f"{_where(path)} lists a value of `enum` twice", "remove one of them", path)
    elif (twin := _twin(values)) is not None:
        remedy = "remove one of them, unless they mean different things"
        yield Hit("RC420", f"{_where(path)} lists {quote_text(twin)} in two spellings", remedy, path)
    if len(values) > MANY_CHOICES:
        rule = "RC421" if len(values) > MOST_CHOICES else "RC418"
        yield Hit(rule, f"{_where(path)} has {len(values)} values", "make it a search, or describe the form", path)


def _twin(values: list[Any]) -> str | None:
    """A value that `enum` has in small and in capital letters too, where it does not have all of them so."""
    folded = [value.casefold() for value in values if isinstance(value, str)]
    twins = [value for value in folded if folded.count(value) > 1] if len(folded) < 100 else []
    return twins[0] if twins and len(twins) < len(folded) else None


def _is_of(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, cast("Any", _PYTHON[kind])) or (
        kind == "integer" and isinstance(value, float) and value.is_integer()
    )


def _references(tool: ToolView, root: Schema) -> Iterator[Hit]:
    """Of each kind of bad reference the first, with the number of the others."""
    found: dict[str, list[Hit]] = {}
    for path, part in walk(root, tool.schema_path):
        for hit in _reference(path, part, root):
            found.setdefault(hit.rule, []).append(hit)
    for first, *others in found.values():
        more = f" (and {len(others)} more)" if others else ""
        yield Hit(first.rule, first.message + more, first.remedy, first.path)


def _reference(path: Steps, part: Schema, root: Schema) -> Iterator[Hit]:
    reference = part.get("$ref")
    if not isinstance(reference, str):
        return
    if not reference.startswith("#"):
        yield Hit("RC413", f"{_where(path)} refers to {quote_text(reference)}", "put the schema into `$defs`", path)
    elif reference != "#" and not follow(reference, root) and "/" in reference:
        yield Hit(
            "RC413",
            f"{_where(path)} refers to {quote_text(reference)}, which is not there",
            "put the schema into `$defs`",
            path,
        )
    elif _is_circle(reference, root):
        yield Hit(
            "RC412",
            f"{_where(path)} refers to itself through {quote_text(reference)}: "
            "Gemini and Anthropic's strict mode refuse it",
            "write out the levels that are needed",
            path,
        )


def _is_circle(reference: str, root: Schema) -> bool:
    """Whether the schema behind a reference leads back to the same reference."""
    start = root if reference == "#" else follow(reference, root)
    seen: set[str] = set()
    todo = [start]
    while todo:
        for _, part in walk(todo.pop(), ()):
            found = part.get("$ref")
            if not isinstance(found, str) or (part is start and found == reference):
                continue
            if found == reference:
                return True
            if found not in seen:
                seen.add(found)
                todo.append(follow(found, root))
    return False


# ── arguments ──


def _argument(argument: Argument, root: Schema) -> Iterator[Hit]:
    part, schema = argument.part, argument.schema
    if (
        not {"type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf", "properties", "items", "not", "if"}
        & schema.keys()
    ):
        if argument.depth:
            return  # any value inside of an object is often meant
        free = is_keyed(argument) or _ANY_TYPE.search(argument.description) is not None
        yield Hit("RC409", f"{quote_name(argument.name)} has no type", "give a type", argument.path, certain=not free)
    target = schema if argument.kind == "object" else argument.item if argument.item.get("type") == "object" else None
    if target is not None and _OPEN.isdisjoint(target) and not _is_free_form(argument):
        yield Hit(
            "RC410",
            f"{quote_name(argument.name)} is an object without properties",
            "list its properties, or give `additionalProperties` a schema",
            argument.path,
            certain=bool(argument.description.strip()),  # RC204 tells of one without a text
        )
    if "default" in part and part["default"] is not None and not fits_schema(part["default"], part, root):
        yield Hit(
            "RC405",
            f"the default of {quote_name(argument.name)} does not fit: {render_json(part['default'], 60)}",
            "correct the default, or remove it",
            (*argument.path, "default"),
        )
    samples = [*as_list(part.get("examples")), *([part["example"]] if "example" in part else [])]
    wrong = [one for one in samples if not fits_schema(one, part, root)]
    if wrong:
        yield Hit(
            "RC406",
            f"an example of {quote_name(argument.name)} does not fit: {render_json(wrong[0], 60)}",
            "correct the example, or remove it",
            argument.path,
        )
    title = part.get("title")
    if isinstance(title, str) and re.sub(r"[\W_]+", "", title).lower() == re.sub(r"[\W_]+", "", argument.name).lower():
        yield Hit(
            "RC416",
            f"the title of {quote_name(argument.name)} repeats its name",
            "remove it",
            (*argument.path, "title"),
        )


_ANY_TYPE: Final = re.compile(
    r"\b(?:JSON|any|whatever|arbitrary|either|string or|number or|or (?:an? )?(?:array|list|string|number|object))\b",
    re.I,
)
"""A text that says that values of several types are meant."""
_OPEN: Final = frozenset(("properties", "additionalProperties", "propertyNames", *COMPOSED))
_MAPS: Final = word_set(
    "header headers metadata variables labels tags env environment properties params parameters args arguments payload "
    "data values attributes extra custom context json record fields config conf configuration"
)
_TELLS: Final = re.compile(
    r"[{}]|\b(?:keys?|maps?|mapping|dictionary|free[- ]form|arbitrary|JSON|verbatim|raw)\b", re.IGNORECASE
)


_PARTS: Final = re.compile(
    r"[^.;:\n]{0,60}?\b(?:with|containing|consisting of|that has|fields:|properties:|attributes:)"
    r" (?!any\b|all\b|other\b)`?[\w-]+`?(?:, `?[\w-]+`?){1,12},? (?:and|or) `?[\w-]+`?(?:\s*[.;]|\s*$)",
    re.IGNORECASE,
)
"""`The event, with title, start and end.`: only the text names the properties."""


_NEEDED: Final = re.compile(
    r"\W*(?:the |all |any )?(?:[\w-]+ )?(?:fields|data|values|parameters|arguments|options|details|settings|inputs?|"
    r"information) (?:that (?:are|is) )?(?:needed|required|necessary|used)? ?(?:for|by|of|to run) (?:the|this|an?) "
    r"(?:[\w-]+ )?(?:action|operation|request|call|command|step|task|job|tool|function)\W*$",
    re.IGNORECASE,
)
"""`Fields needed for the action.`: nobody can tell which."""


def _is_free_form(argument: Argument) -> bool:
    """An object that is open on purpose: its name is that of a map, or the text tells what is in it."""
    words = words_of(argument.name)
    text = argument.description
    if (_PARTS.match(text) or (argument.required and _NEEDED.match(text))) and not _TELLS.search(text):
        return False
    return (bool(words) and words[-1] in _MAPS) or len(text.split()) > 3 or _TELLS.search(text) is not None


def fits_schema(value: Any, part: Schema, root: Schema) -> bool:
    """Whether a value fits a schema; of a schema that nobody can read, everything does."""
    definitions = {key: root[key] for key in ("$defs", "definitions") if key in root}
    try:
        wrapped = tidy_arguments({"type": "object", "properties": {"value": part}, **definitions})
        return validator(wrapped).is_valid({"value": value})
    except (RightCallError, ValueError, RecursionError, TypeError):
        return True


def _examples(tool: ToolView, schema: Schema) -> Iterator[Hit]:
    """Whole calls that are given as examples."""
    try:
        check = validator(tidy_arguments(schema))
    except (RightCallError, ValueError, RecursionError, TypeError):
        return
    known = as_schema(schema.get("properties"))
    for path, call in _sample_calls(tool, schema):
        unknown = [name for name in call if known and name not in known]
        if unknown or not check.is_valid(call):
            what = f"names {join_names(unknown)}" if unknown else "does not fit the schema"
            shown = render_json(call, 60)
            yield Hit("RC406", f"an example call {what}: {shown}", "correct the example, or remove it", path)
            return


def _sample_calls(tool: ToolView, schema: Schema) -> Iterator[tuple[Steps, dict[str, Any]]]:
    places = [(tool.at(key), tool.inner.get(key)) for key in ("input_examples", "inputExamples", "example", "examples")]
    for path, given in [*places, ((*tool.schema_path, "examples"), schema.get("examples"))]:
        for one in as_list(cast("object", given)) if isinstance(given, list) else [given]:
            call = as_schema(one)
            wrapped = [
                word for word in ("input", "arguments", "parameters", "value") if isinstance(call.get(word), dict)
            ]
            if wrapped and wrapped[0] not in as_schema(schema.get("properties")):
                call = as_schema(call[wrapped[0]])
            if isinstance(one, dict):
                yield path, call


# ── the list ──


def check_list(tools: Sequence[ToolView]) -> Iterator[tuple[ToolView | None, Hit]]:
    """A tool without a schema among others that have one."""
    described = sum(tool.schema is not None for tool in tools)
    for tool in tools:
        if tool.schema is None and described and not tool.ruled and not any(True for _ in _no_schema(tool)):
            yield (
                tool,
                Hit(
                    "RC401",
                    "no schema for the arguments, which the other tools have",
                    'give {"type": "object", "properties": {}}',
                    tool.at("name"),
                ),
            )
