"""RC5xx: what a provider refuses or drops of a schema. Each rule has its source and the day on which it was read.

Rules for a strict mode count only where the definition asks for it (`"strict": true`) or `--provider` names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, cast

from rightcall.catalog.tidy import Schema, as_list, as_schema
from rightcall.lint.definitions import Argument, ToolView
from rightcall.lint.findings import Hit, Steps, join_names, named_steps, quote_name, quote_text, word_set
from rightcall.lint.schemas import reached

_OPENAI_STRICT: Final = word_set(
    "allOf not dependentRequired dependentSchemas if then else patternProperties propertyNames prefixItems "
    "uniqueItems contains minContains maxContains unevaluatedItems unevaluatedProperties minProperties "
    "maxProperties oneOf"
)
_ANTHROPIC_STRICT: Final = word_set(
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength maxItems uniqueItems "
    "oneOf not if then else patternProperties propertyNames prefixItems contains dependentRequired "
    "dependentSchemas minProperties maxProperties"
)
_GEMINI: Final = word_set(
    "exclusiveMinimum exclusiveMaximum multipleOf uniqueItems const oneOf allOf not if then else "
    "patternProperties propertyNames prefixItems contains dependentRequired dependentSchemas "
    "unevaluatedProperties"
)
_NOT_IN_GEMINI: Final = _GEMINI | word_set("$ref $defs $schema definitions additionalProperties")
"""What a definition in Gemini's own shape cannot have; clients that translate others leave it out."""
_DROPPED: Final = ("pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "format")


_GEMINI_ALONE: Final = frozenset(("gemini",))


def check(tool: ToolView, providers: frozenset[str] = frozenset()) -> Iterator[Hit]:
    """`providers`: those that are named; with none, all, and a strict mode only where the definition asks for it."""
    schema = tool.schema
    if schema is None:
        return
    if tool.shape == "gemini" and not providers:
        providers = _GEMINI_ALONE
    every = not providers
    if every or providers & {"openai", "openai-strict", "anthropic", "anthropic-strict"}:
        yield from _top(tool, schema)
    if "openai-strict" in providers or (
        tool.is_strict and tool.shape != "anthropic" and (every or "openai" in providers)
    ):
        yield from _openai_strict(tool, schema)
    if "anthropic-strict" in providers or (
        tool.is_strict and tool.shape == "anthropic" and (every or "anthropic" in providers)
    ):
        yield from _anthropic_strict(tool, schema)
    if every or providers & {"openai", "openai-strict"}:
        yield from _lookaround(tool, schema)
    if every or "gemini" in providers:
        yield from _gemini(tool, schema, named=not every)
    if every or "ollama" in providers:
        yield from _ollama(tool)
    if every or "llama.cpp" in providers:
        yield from _llama(tool, schema)
    if every or providers & {"gemini", "llama.cpp", "openai-strict"}:
        yield from _tuples(tool, schema)
    if not tool.is_strict and (every or providers & {"gemini", "openai-strict"}):
        yield from _free_keys(tool)


_KEYS_TOLD: Final = re.compile(
    r"[{}]|\b(?:examples?|keys?|keyed|fields?|columns?|by (?:its |their |the )?\w+|maps?|mapping|pairs?|"
    r"dict(?:ionary)?|each|every|e\.?g|such as|like|any|free-form|as returned|names? (?:to|of|and)|see)\b|->|→|=",
    re.IGNORECASE,
)


def _free_keys(tool: ToolView) -> Iterator[Hit]:
    """Objects with any keys, of which clients for Gemini send no more than `object`."""
    for one in tool.arguments:
        closed = {"properties", "patternProperties", "propertyNames", "anyOf", "oneOf", "allOf"} & one.schema.keys()
        if one.kind == "object" and one.schema.get("additionalProperties") not in (None, False) and not closed:
            yield Hit(
                "RC511",
                f"{quote_name(one.name)} has any keys: clients for Gemini show an empty object, and OpenAI's strict "
                "mode refuses it",
                "say in the description what the keys are, or take a list of objects with `name` and `value`",
                one.path,
                certain=bool(one.description.strip()) and not _KEYS_TOLD.search(one.description),
            )


def _top(tool: ToolView, schema: Schema) -> Iterator[Hit]:
    found = [word for word in ("anyOf", "oneOf", "allOf", "enum", "not", "const") if word in schema]
    if found:
        yield Hit(
            "RC501",
            f"{join_names(found)} at the top level of the schema: OpenAI and Anthropic refuse it",
            "list all arguments under `properties`",
            (*tool.schema_path, found[0]),
        )


_LOOKAROUND: Final = re.compile(r"(?<!\\)(?:\\\\)*\(\?<?[=!]")


def _lookaround(tool: ToolView, schema: Schema) -> Iterator[Hit]:
    """Patterns that look ahead or behind. Zod 4 writes one for each `z.email()`."""
    found = [
        path
        for path, part in reached(schema, tool.schema_path)
        if isinstance(part.get("pattern"), str) and _LOOKAROUND.search(part["pattern"])
    ]
    if found:
        yield Hit(
            "RC510",
            f"OpenAI refuses the pattern of {join_names(map(_named, found))}: it looks ahead or behind",
            "write it without `(?=`, `(?!` and `(?<`, or replace it by a `format`",
            (*found[0], "pattern"),
        )


def _named(path: Steps) -> str:
    named = [name for _, name in named_steps(path)]
    return named[-1] if named else "the schema"


def _gathered(tool: ToolView, schema: Schema, words: frozenset[str]) -> dict[str, list[str]]:
    """The keywords that are there, each with the arguments that have it."""
    found: dict[str, list[str]] = {}
    for path, part in reached(schema, tool.schema_path):
        old = {strict for strict, _, _ in _STRICT if isinstance(part.get(strict), bool)}  # which RC417 tells
        for word in (part.keys() & words) - old:
            found.setdefault(word, []).append(_named(path))
    return dict(sorted(found.items()))


def _openai_strict(tool: ToolView, schema: Schema) -> Iterator[Hit]:
    problems: list[str] = []
    for path, part in reached(schema, tool.schema_path):
        if "properties" not in part and part.get("type") != "object":
            continue
        name = _named(path)
        if part.get("additionalProperties") is not False:
            problems.append(f"{quote_name(name)} lacks `additionalProperties: false`")
        missing = [key for key in as_schema(part.get("properties")) if key not in as_list(part.get("required"))]
        if missing:
            problems.append(f"{join_names(missing)} must be in `required`")
    problems += [
        f"`{word}` is not permitted ({join_names(names)})"
        for word, names in _gathered(tool, schema, _OPENAI_STRICT).items()
    ]
    if problems:
        remedy = "close every object, and list every property in `required`"
        yield Hit("RC502", _refusal("OpenAI", problems), remedy, tool.schema_path)


def _anthropic_strict(tool: ToolView, schema: Schema) -> Iterator[Hit]:
    words = _gathered(tool, schema, _ANTHROPIC_STRICT)
    problems = [f"`{word}` ({join_names(names)})" for word, names in words.items()]
    for path, part in reached(schema, tool.schema_path):
        if part.get("type") == "object" and part.get("additionalProperties") is not False:
            problems.append(f"{quote_name(_named(path))} lacks `additionalProperties: false`")
        if isinstance(part.get("minItems"), int) and part["minItems"] > 1:
            problems.append(f"`minItems` above 1 ({quote_name(_named(path))})")
    if problems:
        remedy = "move the constraint to the description, and close the objects"
        yield Hit("RC503", _refusal("Anthropic", problems), remedy, tool.schema_path)


def _refusal(provider: str, problems: list[str]) -> str:
    more = f", and {len(problems) - 2} more" if len(problems) > 2 else ""
    return f"{provider}'s strict mode refuses it: {'; '.join(problems[:2])}{more}"


def _gemini(tool: ToolView, schema: Schema, *, named: bool) -> Iterator[Hit]:
    """`named`: `--provider` asks for it; otherwise a strict definition is OpenAI's, whose way it is to write `null`
    beside a type."""
    own = tool.shape == "gemini"
    words = {
        word: names
        for word, names in _gathered(tool, schema, _NOT_IN_GEMINI if own else _GEMINI).items()
        if word not in ("allOf", "oneOf") or names != ["the schema"]
    }
    for path, part in reached(schema, tool.schema_path):
        values = part.get("enum")
        if isinstance(values, list) and any(
            not isinstance(one, str) and one is not None for one in cast("list[Any]", values)
        ):
            words.setdefault(_ENUM_OF_NUMBERS, []).append(_named(path))
        elif isinstance(values, list) and "" in values:
            words.setdefault(_EMPTY_VALUE, []).append(_named(path))
        if isinstance(part.get("type"), list) and (named or not tool.is_strict):
            words.setdefault(_TYPE_AS_LIST, []).append(_named(path))
        if own and part.get("type") == "string" and part.get("format") not in (None, "date-time", "enum"):
            words.setdefault(f"the format {quote_text(str(part['format']))}", []).append(_named(path))
    if words:
        told = "; ".join(f"{_keyword(word)} ({join_names(names, 3)})" for word, names in list(words.items())[:3])
        more = f", and {len(words) - 3} more" if len(words) > 3 else ""
        parts = [part for _, part in reached(schema, tool.schema_path)]
        yield Hit(
            "RC504",
            f"Gemini's `parameters` refuses {told}{more}",
            _instead(words, parts),
            tool.schema_path,
            fixable="const" in words or "oneOf" in words or any(map(_strict_integer, parts)),
        )
    formats = [
        _named(path)
        for path, part in reached(schema, tool.schema_path)
        if part.get("type") == "string" and part.get("format") not in (None, "date-time", "enum")
    ]
    if formats and not own:
        yield Hit(
            "RC505",
            f"Gemini's `parameters` does not know the format of {join_names(formats)}",
            "keep it, unless you send it to Gemini yourself",
            tool.schema_path,
        )


_ENUM_OF_NUMBERS: Final = "an enum of numbers"
_EMPTY_VALUE: Final = "an empty value in `enum`"
_TYPE_AS_LIST: Final = "a type that is a list"
_INSTEAD: Final = {
    "const": "`enum` with one value", "oneOf": "`anyOf`",
    _ENUM_OF_NUMBERS: "text values, or a range where no number is left out,", _TYPE_AS_LIST: "`anyOf`",
}  # fmt: skip


def _keyword(word: str) -> str:
    """A keyword in backticks, and what is told in words without them."""
    return word if " " in word else f"`{word}`"


_STRICT: Final = (("exclusiveMinimum", "minimum", 1), ("exclusiveMaximum", "maximum", -1))


def _strict_integer(part: Schema) -> bool:
    """Whether a strict bound can be written as a plain one: of integers, which have a next one."""
    return part.get("type") == "integer" and any(
        type(part.get(strict)) is int and plain not in part for strict, plain, _ in _STRICT
    )


def _bounds(part: Schema) -> Iterator[str]:
    """What to write for each strict bound of a part."""
    for strict, plain, step in _STRICT:
        bound = part.get(strict)
        if isinstance(bound, bool):
            continue
        if strict in part and part.get("type") == "integer" and isinstance(bound, int):
            yield f"write `{plain}` {bound + step} for `{strict}` {bound}"
        elif strict in part:
            yield f"send `{strict}` in `parametersJsonSchema`, or say the bound in the text instead"


def _instead(words: dict[str, list[str]], parts: list[Schema]) -> str:
    known = list(dict.fromkeys(told for part in parts for told in _bounds(part)))
    plain = any("const" in part and not isinstance(part["const"], str) for part in parts)
    known += [
        f"write {_INSTEAD[word]} for {_keyword(word)}"
        for word in words
        if word in _INSTEAD and not (word == "const" and plain)
    ]
    if "const" in words and plain:
        known.append("leave `const` out, and say the value in the description")
    if "propertyNames" in words:
        known.append("leave `propertyNames` out")
    if "$ref" in words:
        known.append("put the referenced schema in its place")
    if "prefixItems" in words:
        known.append("write `items` for `prefixItems`, or make it an object")
    if _EMPTY_VALUE in words:
        known.append("leave the empty value out, and let the argument be left out")
    if any({"not": {}} in as_list(part.get(union)) for part in parts for union in ("anyOf", "oneOf")):
        known.append('leave the branch `{"not": {}}` out, which nothing fits')
        words = {word: names for word, names in words.items() if word != "not"}
    if "allOf" in words:
        known.append("merge the parts of `allOf` into one schema")
    left = [word for word in words if word not in _HANDLED]
    if known and left:
        known.insert(1, f"leave {join_names(left)} out, and say it in the description")
    return "; ".join(known[:3]) if known else "leave it out, and say it in the description"


_HANDLED: Final = frozenset(
    (
        *_INSTEAD,
        _EMPTY_VALUE,
        "propertyNames",
        "$ref",
        "prefixItems",
        "allOf",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "$defs",
        "definitions",
    )
)
"""Words that have a remedy of their own, or go with one."""
_KEPT: Final = frozenset(("type", "enum", "anyOf", "properties"))
_LOST: Final = frozenset(("$ref", "oneOf", "allOf", "const"))


def _is_read_by_ollama(argument: Argument, tool: ToolView) -> bool:
    """Whether Ollama reads an argument keyword by keyword. It keeps whatever is below `items` and `$defs` as it is, and
    what is below a keyword that it drops is told with that keyword."""
    steps = argument.path[len(tool.schema_path) :]
    return all(step in ("properties", "anyOf") for step in steps[::2])


def _is_lost(argument: Argument) -> bool:
    """Whether a model sees no type of the argument, or of an object behind a reference no fields."""
    part = argument.part
    bare = part.get("type") == "object" and "$ref" in part and "properties" not in part
    return (bare and "properties" in argument.schema) or (_KEPT.isdisjoint(part) and not _LOST.isdisjoint(part))


_WRITTEN: Final = {
    "$ref": "put the referenced schema in its place",
    "oneOf": "write `anyOf` for `oneOf`",
    "allOf": "merge the parts of `allOf` into one schema",
    "const": "write `enum` with one value for `const`",
}


def _ollama(tool: ToolView) -> Iterator[Hit]:
    read = [one for one in tool.arguments if _is_read_by_ollama(one, tool)]
    lost = [one for one in read if _is_lost(one)]
    if lost:
        words = sorted({word for one in lost for word in _LOST if word in one.part})
        what = "no fields" if all("type" in one.part for one in lost) else "no type"
        yield Hit(
            "RC506",
            f"Ollama drops {join_names(words)}, so a model sees {what} for {join_names(one.name for one in lost)}",
            "; ".join(_WRITTEN[word] for word in words),
            lost[0].path,
        )
    silent = [
        one
        for one in read
        if (words := [word for word in _DROPPED if word in one.part]) and not _tells(one.description, one.part, words)
    ]
    if silent:
        yield Hit(
            "RC507",
            f"Ollama drops bounds and formats of {join_names(one.name for one in silent)}",
            "say them in the description too",
            silent[0].path,
        )


_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}\b)")


def _tells(text: str, part: Schema, words: list[str]) -> bool:
    """Whether the text says what a keyword does, roughly: its number or its name is in it."""
    text = _THOUSANDS.sub("", text)
    return any(
        str(part[word]) in text or (isinstance(part[word], str) and part[word].lower() in text.lower())
        for word in words
    )


def _llama(tool: ToolView, schema: Schema) -> Iterator[Hit]:
    for path, part in reached(schema, tool.schema_path):
        pattern = part.get("pattern")
        if (
            isinstance(pattern, str)
            and not (pattern.startswith("^") and pattern.endswith("$"))
            and part.get("type") == "string"
        ):
            yield Hit(
                "RC508",
                f"the pattern of {quote_name(_named(path))} is not anchored: llama.cpp accepts any text there",
                "begin it with `^` and end it with `$`",
                path,
            )
        elif "properties" in part and {"anyOf", "oneOf"} & part.keys() and path != tool.schema_path:
            yield Hit(
                "RC508",
                f"{quote_name(_named(path))} mixes `properties` with `anyOf` or `oneOf`: llama.cpp cannot",
                "put the properties into each branch",
                path,
            )


def _tuples(tool: ToolView, schema: Schema) -> Iterator[Hit]:
    for path, part in reached(schema, tool.schema_path):
        if isinstance(part.get("items"), list) or "prefixItems" in part:
            yield Hit(
                "RC509",
                f"{quote_name(_named(path))} has a schema for each position of a list",
                "make it an object, or a list of one type",
                path,
            )
