"""RC204, RC212: arguments without a text of their own. What another text explains counts as described: a section of the
tool's description, its sentences, the object around the argument or the parts inside."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

from rightcall.catalog.tidy import as_list, as_schema
from rightcall.gate.repair.words import is_word, singular, words_of
from rightcall.lint.definitions import Argument, ToolView, effective, outside_branches
from rightcall.lint.evident import FORMED, MOST_TEXT, SWITCHES, is_evident, is_told_elsewhere
from rightcall.lint.findings import Hit, Steps, join_names, named_steps, word_set
from rightcall.lint.spelling import is_usual

_SECTION: Final = re.compile(
    r"^[ \t]*(?:\*\*)?(?:Args|Arguments|Parameters|Params|Inputs?)(?:\*\*)?[ \t]*:(?:\*\*)?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_ENTRY: Final = re.compile(
    r"^([ \t]*)(?:[-*•][ \t]+)?(?:\*\*|`)?([A-Za-z_][\w.]{0,60})(?:\*\*|"
    r"`)?[ \t]*(?:\(([^()\n]{0,80})\))?[ \t]*(?::|–|--?)[ \t]+(.*)$"
)
_FIELD: Final = re.compile(
    r"^[ \t]*[:@]param(?:[ \t]+\{?\w+\}?)??[ \t]+([A-Za-z_]\w{0,60})[ \t]*:?[ \t]*(.*)$", re.MULTILINE
)
_RETURNS: Final = re.compile(
    r"^[ \t]*(?:\*\*)?(?:Returns?|Raises|Yields|Examples?|Notes?|Usage|Outputs?)\b", re.IGNORECASE
)


def check_list(tools: Sequence[ToolView]) -> Iterator[tuple[ToolView | None, Hit]]:
    """Arguments that nothing explains, and those that only the description of the tool does."""
    described = [bool(one.description.strip()) for tool in tools for one in tool.top]
    forgot = 2 * sum(described) >= len(described)
    for tool in tools:
        yield from ((tool, hit) for hit in _find_bare(tool, forgot=forgot))


def _find_bare(tool: ToolView, *, forgot: bool) -> Iterator[Hit]:
    """`forgot`: whether the author describes at least half of all arguments. Of one who does not, those count whose
    form a name cannot tell."""
    told = {name for name, _ in documented(tool)}
    texts = {one.path: one.description for one in tool.arguments}
    bare = [
        one
        for one in tool.arguments
        if not one.description.strip()
        and one.name not in told
        and not _wraps(one, tool)
        and not _is_told(one, tool, texts)
    ]
    beside = {outside_branches(one.path) for one in tool.arguments if one.description.strip()}
    bare = [one for one in bare if not _is_page(one) and outside_branches(one.path) not in beside]
    if all(_is_plain(one, tool) for one in bare):
        bare = []
    if not tool.ruled:
        spoken = [singular(word) for word in words_of(f"{tool.name} {tool.description[:MOST_TEXT]}")]
        described = {one.name for one in tool.arguments if one.description.strip()}
        plain = {
            one.path
            for one in bare
            if is_told_elsewhere(tool)
            or one.name in described
            or _is_shaped(one, tool)
            or is_evident(one, tool, spoken)
            or not (forgot or _is_guess(one))
        }
        left = [one for one in bare if one.path not in plain]
        if len(left) <= _FEW and not _is_oversight(tool) and not any(_is_needed(one, tool) for one in left):
            plain, left = {one.path for one in bare}, []  # the author describes what is needed
        yield from _without_text(left)
        yield from _without_text([one for one in bare if one.path in plain], certain=False)
    moved = [one for one in tool.top if not one.part.get("description") and one.name in told]
    if moved:
        yield Hit(
            "RC212", f"only the description of the tool explains {join_names(one.name for one in moved)}",
            "move each text to its argument", tool.at("description"),
        )  # fmt: skip


_FEW = 3


def _is_oversight(tool: ToolView) -> bool:
    """Whether nearly all arguments of a tool have a text, so that one without was forgotten."""
    own = {outside_branches(one.path): one for one in tool.arguments if not _wraps(one, tool)}
    return sum(not one.description.strip() for one in own.values()) <= max(1, len(own) // 4)


def _is_guess(argument: Argument) -> bool:
    """Whether the name cannot tell what to write: an angle, a mode, a `filters` that is a text, or no word at all."""
    words = words_of(argument.name)
    if argument.kind in ("integer", "number") and argument.part.get("default"):
        return False  # which shows how large it is
    if argument.kind in ("integer", "number", "object", "") or not any(map(is_word, map(singular, words))):
        return True
    plural = argument.kind == "string" and singular(words[-1]) != words[-1]
    return plural or not (_FORMED | FORMED | _PLACES).isdisjoint(map(singular, words))


_PLACES: Final = word_set("when where how which region area zone location position place point")
"""Words of what may be a name, a code or coordinates."""


def _is_needed(argument: Argument, tool: ToolView) -> bool:
    """Whether a call may need it: it is required, or nothing is."""
    return argument.depth == 0 and (argument.required or not any(one.required for one in tool.top))


def _wraps(argument: Argument, tool: ToolView) -> bool:
    """Whether it only holds others, each of which is looked at by itself: a `body`, a list of objects."""
    root = tool.schema or {}
    inner = effective(argument.item, root) if argument.kind == "array" else argument.schema
    return bool(as_schema(inner.get("properties")))


def _is_shaped(argument: Argument, tool: ToolView) -> bool:
    """Whether the schema shows what to write: values, a form, an example, a text that is the default."""
    schema = argument.item if argument.kind == "array" else argument.schema
    schema = effective(schema, tool.schema or {})
    branches = [as_schema(one) for word in ("anyOf", "oneOf") for one in as_list(schema.get(word))]
    if _lists(schema) or (branches and all(one.get("type") == "null" or _lists(one) for one in branches)):
        return True
    if not {"format", "pattern", "examples"}.isdisjoint(argument.schema.keys() | schema.keys()):
        return True
    default = argument.part.get("default")
    if isinstance(default, str):
        return bool(default.strip())
    return isinstance(default, bool) and argument.kind == "boolean" and _is_clear_switch(argument.name, tool)


def _is_clear_switch(name: str, tool: ToolView) -> bool:
    """Whether a name says what true does. `comp` and `strict` have several readings, which is told where the author
    described all others."""
    words = words_of(name)
    if re.search(r"[A-Z]{2}", name) or not _is_oversight(tool):
        return not re.search(r"[A-Z]{2}", name)
    if len(words) == 1:
        return words[0] in _PLAIN_SWITCHES or words[0].endswith("ed")
    return all(is_word(singular(word)) or is_usual(word) for word in words)


_PLAIN_SWITCHES: Final = SWITCHES | word_set(
    "public private draft html markdown json csv text quiet debug silent explain follow reverse desc asc hidden "
    "visible unread important readonly optional unique default favorite featured global wait watch replace append "
    "create upsert refresh cache stream shuffle loop autoplay mute fullscreen headless interactive detach "
    "background color transparent minify pretty indent sort distinct fuzzy regex https ssl tls secure admin all "
    "today new open"
)
"""Switches of which everybody knows what they do."""


def _lists(schema: dict[str, Any]) -> bool:
    return bool(as_list(schema.get("enum"))) or "const" in schema


def _without_text(bare: list[Argument], *, certain: bool = True) -> Iterator[Hit]:
    if bare:
        names = list(dict.fromkeys(_full_name(one) for one in bare))
        some, them = ("argument has", "it") if len(names) == 1 else ("arguments have", "them")
        yield Hit(
            "RC204", f"{len(names)} {some} no description, and nothing explains {them}: {join_names(names)}",
            "describe each argument, with an example where its form matters", bare[0].path, certain=certain,
        )  # fmt: skip


def _is_page(argument: Argument) -> bool:
    return argument.kind in ("integer", "number") and argument.name.lower().replace("_", "") in _PAGING


_PAGING: Final = word_set("limit offset page pagesize pageoffset pagenumber perpage skip take top first")
"""Plain numbers that every list has."""
_PLAIN_OF: Final = {
    "search": word_set("query q term keyword keywords"),
    "find": word_set("query q term keyword keywords"),
    "create": word_set("name title"),
    "add": word_set("name title"),
    "update": word_set("name title"),
    "ask": word_set("message question prompt"),
}
"""By the verb of a tool, what it plainly takes."""


def _is_plain(argument: Argument, tool: ToolView) -> bool:
    """Whether the verb of the tool says what the argument is: the `query` of a search, the `name` of what is made."""
    words = words_of(tool.name)
    return argument.kind == "string" and any(argument.name.lower() in _PLAIN_OF.get(word, ()) for word in words)


def _full_name(argument: Argument) -> str:
    """`tracker.name` for an argument inside of another."""
    return ".".join(name for keyword, name in named_steps(argument.path) if keyword == "properties")


_OF_SCHEMA: Final = frozenset(
    ("type", "properties", "required", "items", "additionalProperties", "enum", "pattern", "minimum", "maximum")
)
"""Of a JSON Schema that an argument takes."""


def _is_told(argument: Argument, tool: ToolView, texts: dict[Steps, str]) -> bool:
    """Whether something else explains the argument: its parts or branches, the text of what it is in, or the
    description of the tool, which names it as an argument or as the only thing it takes."""
    name, text = argument.name, tool.description[:MOST_TEXT]
    if (
        "const" in argument.schema
        or (argument.schema.get("enum") and "default" in argument.part)
        or argument.schema.get("not") == {}
        or argument.schema.get("readOnly") is True
        or any(f"{mark}{name}{mark}" in text for mark in ("`", "'", '"', "**"))
    ):
        return True
    if any(one.get("description") for one in _inside(argument)) or argument.schema.get("properties") == {}:
        return True
    around = [texts.get(argument.path[:length], "") for length in range(len(argument.path))]
    if argument.depth and {*argument.siblings} in _PAIRS_OF_MAP and any(around):
        return True  # `key` and `value` of `Variables to set`
    if argument.depth and any(around) and any({name.lower()} < pair <= {*argument.siblings} for pair in _ENDS):
        return True  # `from` and `to` of `What is renamed`
    last = words_of(name.rstrip("0123456789_"))[-1:]
    if (
        argument.depth
        and last
        and (last[0] in _PLAIN or (last[0] in _OF_ADDRESS and _ADDRESS.search(" ".join(around))))
    ):
        return True
    told = " ".join(around) + (text if len(words_of(name)) > 1 else "")
    if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", told) or _speaks_of(name, text):
        return True
    if argument.depth == 0 and _is_passed(argument, tool):
        return True
    if (
        argument.depth
        and name in _OF_SCHEMA
        and re.search(r"\b(?:schema|validation|rules)\b", " ".join(around), re.IGNORECASE)
    ):
        return True
    stem, _, side = name.rpartition("_")
    if stem and re.search(rf"\b{re.escape(stem)}_\w+/{re.escape(side)}\b", text):
        return True  # `posted_from/to`
    if re.search(rf"\b(?:{re.escape(name)}/\w+|\w+/{re.escape(name)})\b", text):
        return True  # `optional start/end`
    alone = argument.depth == 0 and len(argument.siblings) == 1
    if alone and argument.kind in ("integer", "number", "boolean") and len(_VALUES.findall(text)) > 1:
        return True  # `the front door (0) or the back door (1)`
    return (alone and name.lower() in words_of(text)) or (argument.depth == 0 and _is_spoken_of(argument, tool, text))


_VALUES: Final = re.compile(
    r"\((?:\d{1,3}|true|false)\)|\b(?:\d{1,3}|true|false)(?: ?[=:] ?| (?:means|is|for) )(?=[a-zA-Z])"
)
"""A value with what it means."""


def _speaks_of(name: str, text: str) -> bool:
    """Whether a sentence says something of the argument by its name: `depth is …`, `The GUID must …`, `supply pin`."""
    known = re.escape(name)
    said = rf"(?<!\w){known}(?:\s?[=:(]| (?:is|are|must|may|can|takes|selects|names)\b)"
    given = rf"\b(?:supply|pass|provide|set|needs?) (?:an? |the |its )?{known}\b"
    written = rf"\bthe {known} (?:is|must|may|can)\b|\b{known} (?:syntax|format|form)\b"
    return re.search(said, text) is not None or re.search(rf"{given}|{written}", text, re.IGNORECASE) is not None


def _is_passed(argument: Argument, tool: ToolView) -> bool:
    """Whether a call in the text of the tool passes the argument by its position: `has_key('colour')`."""
    call = re.search(rf"(?<!\w){re.escape(tool.name)}\(([^()=\n]{{1,200}})\)", tool.description[:MOST_TEXT])
    values = call[1].split(",") if call is not None else []
    return argument.siblings.index(argument.name) < len(values) and re.match(r"\s*['\"\d\[{-]", values[0]) is not None


def _is_spoken_of(argument: Argument, tool: ToolView, text: str) -> bool:
    """Whether the description of the tool names the argument as what it works on: `Returns an issue by its number`,
    `the user ID`. Where its form matters, that is not enough."""
    words = [singular(word) for word in words_of(argument.name)]
    while len(words) > 1 and words[-1] in _OF_TYPE:
        words.pop()
    if not words or argument.kind == "object":
        return False
    told = [singular(word) for word in words_of(text.lower())]
    if len(words) > 1 and words[-1] in ("id", "name") and argument.kind != "array":
        named = [singular(word) for word in words_of(tool.name)]
        if _has(told, words[:-1]) or _has(named, words[:-1]):
            return True  # `incident_id` of `get_incident`, `ticket_id` of `Lists the notes of a ticket`
    if not _FORMED.isdisjoint(words):
        return False
    if len(words) == 1:
        pattern = rf"\b{_WORKS_ON}{re.escape(words[0])}s?\b(?! of)"
        return argument.kind != "array" and re.search(pattern, text, re.IGNORECASE) is not None
    return _has(told, words) or (words[-1] == "id" and len(words) > 2 and _has(told, words[-2:]))


def _has(words: list[str], piece: list[str]) -> bool:
    return any(words[at : at + len(piece)] == piece for at in range(len(words)))


_OF_TYPE: Final = word_set("str string dict json list text obj object")
_WORKS_ON = (
    r"(?:of|for|by|from|to|in|with|at|on|given|using|into) (?:(?:an?|the|its|this|that|one|another|your|given|specific|"
    r"specified|single) ){0,2}"
)
_FORMED: Final = word_set(
    "date day time timestamp start end since until from to before after duration timeout interval amount size format "
    "filter query range limit offset page sort order type mode status state options config"
)
"""Words in names of values whose form or unit a model cannot guess."""


_PLAIN: Final = word_set(
    "year month day hour minute second latitude longitude lat lng lon top right bottom left width height x y z"
)
"""Names inside an object that need no text."""
_ENDS: Final = ({"from", "to"}, {"old", "new"}, {"start", "end"}, {"min", "max"})
_PAIRS_OF_MAP: Final = ({"key", "value"}, {"name", "value"})
_OF_ADDRESS: Final = word_set("street city town state province region zip postal postcode code country county line 1 2")
_ADDRESS: Final = re.compile(r"\baddress\b", re.IGNORECASE)
_INSIDE = 3


def _inside(argument: Argument) -> Iterator[dict[str, Any]]:
    """The parts of an object or of a list, and the branches of a union, some levels deep."""
    left = [(argument.schema, 0)]
    while left:
        schema, depth = left.pop()
        inner = [as_schema(one) for one in as_schema(schema.get("properties")).values()]
        inner += [as_schema(one) for word in ("anyOf", "oneOf", "allOf") for one in as_list(schema.get(word))]
        inner += [as_schema(schema["items"])] if "items" in schema else []
        yield from inner
        left += [(one, depth + 1) for one in inner if depth < _INSIDE]


def documented(tool: ToolView) -> list[tuple[str, str]]:
    """The arguments that a description tells of in a section of its own, with what it says of each."""
    found: list[tuple[str, str]] = []
    text = tool.description
    section = _SECTION.search(text[:MOST_TEXT])
    if section is not None:
        found += _entries(text[section.end() : section.end() + MOST_TEXT], {one.name for one in tool.top})
    found += [(one[1], one[2].strip()) for one in _FIELD.finditer(text[:MOST_TEXT])]
    return found


def _entries(text: str, own: Collection[str]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    indent = ""
    for line in text.split("\n"):
        if not line.strip():
            if found:
                break
            continue
        entry = _ENTRY.match(line)
        named = entry is not None and entry[2] in own  # an argument called `output`
        if _RETURNS.match(line) and not named and (entry is None or not found or len(entry[1]) < len(indent)):
            break
        if entry is not None and (not found or entry[1] == indent):
            indent = entry[1]
            found.append((entry[2], entry[4].strip()))
        elif found and len(line) - len(line.lstrip()) > len(indent):
            found[-1] = found[-1][0], f"{found[-1][1]} {line.strip()}"
        else:
            break
    return found
