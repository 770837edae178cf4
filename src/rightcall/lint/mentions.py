"""RC209, RC706: arguments and tools that a text names and that no list has.

A name counts where the words around it say what it is; names of fields of a result, of settings and of parts of a value
are left alone. Marks around a name (backticks, quotes) make no difference.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence, Set
from itertools import chain
from typing import Final

from rightcall.catalog.tidy import as_list, as_schema
from rightcall.gate.repair.words import joined, words_of
from rightcall.lint.definitions import Argument, ToolView
from rightcall.lint.evident import MOST_TEXT
from rightcall.lint.explained import documented
from rightcall.lint.findings import Hit, join_names, named_steps, plain, word_set
from rightcall.lint.readings import prose_of
from rightcall.lint.schemas import walk
from rightcall.lint.told import flag_names, former_names, listed_names, one_word_names, shown_names


def check_list(tools: Sequence[ToolView]) -> Iterator[tuple[ToolView | None, Hit]]:
    yield from _unknown(tools)
    yield from _unknown_tools(tools)


# ── arguments ──

_MENTION: Final = re.compile(
    r"(?:(?:parameter|argument|option|flag|param)s?[ \t]+[`'\"]([A-Za-z_]\w{1,40})[`'\"]|"
    r"[`'\"]([A-Za-z_]\w{1,40})[`'\"][ \t]+(?:parameter|argument|option|flag|param)s?\b)",
    re.IGNORECASE,
)
_THE_ONE: Final = re.compile(
    r"\b(?:[Uu]se|[Ss]et|[Pp]ass|[Gg]ive|[Vv]ia|[Ww]ith|[Tt]hrough) the ([a-z][a-z0-9]{2,30}) (?:parameter|argument)\b"
)
_ADJECTIVES: Final = word_set(
    "optional required first second third last same following above below new only other next right given named single "
    "additional extra query string search main matching corresponding respective path body url input"
)
_IDENTIFIER = r"(?:[a-z]+(?:_[a-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+)"
_EACH = rf"(?:(?:an?|the|your|its|both|also|either)\s+){{0,2}}({_IDENTIFIER})\b(?![(.:/-]\w)"
_GIVEN_AT_ALL = r"(?:given|set|passed|provided|supplied|specified)"
_IS_GIVEN = rf"(?:is|are|was) (?:also )?(?:not )?(?:{_GIVEN_AT_ALL}|omitted|left out|present|missing)"
_SERVES = (
    "limit|control|filter|choose|select|restrict|narrow|specify|change|page|include|exclude|return|get more|ask for"
)
_TURNS_PAGE = r"(?:get|fetch|load|read|see|reach) (?:the )?(?:next|following|further|more|remaining|later)"
_AS_TYPE = r"(?:an?|strings?|integers?|numbers?|arrays?|lists?|objects?|booleans?|text|JSON|true|false|null|is)\b"
_GIVEN: Final = re.compile(
    rf"\b(?i:set|specify|increase|adjust|raise|lower|pass|give|provide|supply|omit|leave out|fill in)\s+{_EACH}"
    rf"(?!\s+as\s+(?!{_AS_TYPE}))(?!\s+(?:to|into)\s+(?:the\s+)?{_IDENTIFIER})|"
    rf"\b(?i:set|pass|give)\s+(?:the\s+)?\w+\s+(?:to|for)\s[^.;:\n]{{1,80}}?\s(?:and|or)\s+(?:the\s+)?"
    rf"({_IDENTIFIER})\s+(?:to|for|if|when)\b|"
    rf"\b(?i:optional|required|mandatory): {_EACH}|"
    rf"\b(?i:arguments?|parameters?|option|param)\s+{_EACH}|\b({_IDENTIFIER})\s+(?i:arguments?|parameters?|param)\b|"
    rf"\b(?i:use)\s+(?:the\s+)?({_IDENTIFIER})(?<!_at)(?<!_on)(?<!_by)(?: (?:and|or) \w+)?"
    rf"\s+(?:(?:instead )?to (?:{_SERVES})|for more)\b|"
    rf"\b(?i:use)\s+(?:the\s+)?((?=page|after|offset|skip|start){_IDENTIFIER})\s+to {_TURNS_PAGE}\b|"
    rf"\b(?i:use)\s+(?:the\s+)?((?=max_|min_|page_|max[A-Z]|min[A-Z]|page[A-Z]|[a-z_]+_(?:size|limit)\b){_IDENTIFIER})"
    r"\s+to (?:get|see|fetch|list|receive|have|cap|shorten|reduce|keep|ask|show|set)\b|"
    rf"\b(?i:given by|at most|up to|controlled by|limited by|governed by|both)\s+{_EACH}|"
    rf"\b({_IDENTIFIER})\s+(?:must|has to|have to|should|can|may) be {_GIVEN_AT_ALL}\b|"
    rf"\b(?i:requires|needs|takes|expects|together with|along with|in combination with)\s+{_EACH}"
    rf"(?=\s*(?:[.,;)]|$|and\b|or\b|to\b))|"
    rf"\b(?i:if|when|unless|where|once)\s+(?:the\s+)?({_IDENTIFIER})\s+{_IS_GIVEN}\b|"
    rf"(?:^|[.;,(]\s+)(?i:the\s+)?({_IDENTIFIER})\s+(?:is|are)\s+(?:always\s+)?(?:required|mandatory|optional)\b|"
    rf"\b(?i:narrow|limit|filter|restrict|page|bound|control|shorten|widen)(?:\s+(?!with\b|via\b|using\b|through\b)"
    rf"[\w-]+){{1,6}}\s+(?i:with|via|using|through)\s+(?:the\s+)?({_IDENTIFIER})(?<!_at)(?<!_on)(?<!_by)\b(?![(.:/-]\w)"
)
"""`Set max_results to …`, `Requires order_ref and …`, `if order_ref is given`, in a text without marks."""
_BETWEEN: Final = re.compile(
    rf"\b(?i:between|from)\s+(?:the\s+)?({_IDENTIFIER})\s+(?:and|to|until)\s+(?:the\s+)?({_IDENTIFIER})\b|"
    rf"(?:^|[.;]\s+)({_IDENTIFIER})\s+and\s+({_IDENTIFIER})\s+(?:must|have to) be\b"
)
"""`Rows between first_day and last_day are returned`: the bounds are given, whatever comes back."""
_PASSED_AS: Final = re.compile(
    r"\b(?i:pass|give|provide|supply|send|hand|feed)\s+(?:(?!as\b)[\w.'-]+\s+){1,6}as\s+(?:the\s+)?"
    rf"({_IDENTIFIER})\b(?![(.:/-]\w)(?!\s+(?:to|in|into|for|of|when calling)\s+(?:the\s+)?{_IDENTIFIER})"
)
"""`Pass next_cursor as page_token`: the one is a value, the other an argument."""
_SET: Final = re.compile(
    r"\b[Ss]et(?:ting)? (?:the )?[`'\"]?(?!(?:it|this|that|them|one|value|flag|option|parameter|argument|field|"
    r"property|setting|switch|both)\b)([a-z]\w{1,40})[`'\"]? to [`'\"]?(?:true|false)\b|"
    r"[`'\"]([a-z]\w{1,40})\s?=\s?(?:true|false)[`'\"]|"
    r"\b[Ss]et ([a-z]\w{1,40})=(?:true|false)\b|"
    r"\b(?:[Ll]eave|[Kk]eep|[Ww]ith) (?:the )?[`'\"]([a-z]\w{1,40})[`'\"] (?:set )?(?:to|at) [`'\"]?(?:true|false)\b"
)


_NOT = r"(?<!not )(?<!n't )(?<!never )\b"
_ORDERED: Final = re.compile(
    rf"{_NOT}(?i:set|pass|give|provide|supply|fill in|enter|specify|include|use|name)\s+"
    rf"(?:(?:an?|the|your|both)\s+){{0,2}}({_IDENTIFIER})\b(?![(.:/=-]\w)|"
    rf"(?<!^)(?<!^.){_NOT}(?i:set|supply|pass|specify|fill in)\s+([a-z]{{3,30}})\s+(?:to|for|with|as)\s+"
    r"(?:the|an?|what|who|how|its|one)\b|"
    rf"{_NOT}(?i:put|write|state|give)\s+(?:[\w'-]+\s+){{1,8}}?(?:in|into|as)\s+({_IDENTIFIER})\b(?![(.:/=-]\w)"
)


def _of_others(tool: ToolView, taken: Collection[str], names: Set[str]) -> list[str]:
    """The arguments that the text of a tool tells to give and that only other tools have: `Set contact_id to …`.
    `taken` is what any tool takes, `names` those of all tools; a sentence that names another tool may tell of it."""
    text = plain(tool.description[:MOST_TEXT])
    found = {next(filter(None, one.groups())): one for one in _ORDERED.finditer(text)}
    own = {name.lower() for one in tool.arguments for name in (one.name, *map(str, as_list(one.schema.get("enum"))))}
    told = {name: _sentence(text, one) for name, one in found.items() if name.lower() in taken}
    names -= {tool.name, *told}
    return [
        name
        for name, sentence in told.items()
        if name.lower() not in own and not _TOLD.search(sentence) and not {*_WORDS.findall(sentence)} & names
    ]


_WORDS: Final = re.compile(r"[\w-]+")
_TOLD: Final = re.compile(r"\b(?:return(?:s|ed)?|results?|responses?|outputs?|fields?|columns?)\b", re.IGNORECASE)
"""A sentence about what comes back."""


def _unknown(tools: Sequence[ToolView]) -> Iterator[tuple[ToolView | None, Hit]]:
    """Arguments that a text tells of and no tool of the list has."""
    taken = {one.name.lower() for tool in tools for one in tool.arguments}
    named = {tool.name for tool in tools}
    known = taken | {tool.name.lower() for tool in tools}
    known |= {joined(name) for name in known}
    known |= {
        str(value).lower() for tool in tools for one in tool.arguments for value in as_list(one.schema.get("enum"))
    }
    known |= {name.lower() for tool in tools for name in _results(tool)}
    for tool in tools:
        if tool.schema is None or tool.ruled:
            continue
        own_names = [one.name for one in tool.arguments]
        own = {name.lower() for name in own_names}
        told = [name for name, _ in documented(tool)]
        listed = (
            [name for name in told if name.partition(".")[0].lower() not in own and not _is_heading(name, own_names)]
            if own & {name.lower() for name in told} or len(told) == 1 or _is_flat(tool)
            else []
        )
        mentioned = _mentioned(tool.description) + [name for one in tool.top for name in _mentioned(one.description)]
        mentioned += [*one_word_names(tool, _OF_RESULT), *listed_names(tool), *former_names(tool)]
        shown = shown_names(tool)
        if any(_is_open(one) for one in tool.arguments):
            mentioned, shown = [], []  # what the text names may be a key of the open object
        returned = {name.lower() for name in _told_results(tool)}
        unknown = (name for name in mentioned if name.lower() not in returned)
        if not tool.has_operations and not any(map(_is_open, tool.arguments)):
            listed += _of_others(tool, taken, named)
        names = [*listed, *(name for name in unknown if name.lower() not in known and joined(name) not in known)]
        names += [name for name in (*shown, *flag_names(tool)) if name not in names]
        if names:
            yield tool, Hit(
                "RC209", f"the text mentions {join_names(names)}, which the schema does not have",
                "add the argument to the schema, or remove it from the text", tool.at("description"),
            )  # fmt: skip


def _results(tool: ToolView) -> Iterator[str]:
    """The names of the fields of a result, at any depth."""
    for path, _ in walk(as_schema(tool.raw.get("outputSchema")), ()):
        yield from (name for keyword, name in named_steps(path) if keyword == "properties")


_RETURNS: Final = re.compile(r"\n[ \t]*(?:Returns?|Response|Output|Result)s?:[ \t]*\n", re.IGNORECASE)
_RETURNED: Final = re.compile(
    r"^[ \t]*(?:[-*•][ \t]+)?[`'\"]?([A-Za-z]\w{0,60})[`'\"]?(?: \([^()\n]{0,60}\))?:", re.MULTILINE
)


def _told_results(tool: ToolView) -> list[str]:
    """The names of the fields that a text lists under `Returns:`."""
    _, *behind = _RETURNS.split(tool.description[:MOST_TEXT], maxsplit=1)
    return _RETURNED.findall(behind[0]) if behind else []


def _is_heading(name: str, own: Sequence[str]) -> bool:
    """`Note:` among arguments in small letters."""
    return name[0].isupper() and not any(one[:1].isupper() for one in own)


def _is_flat(tool: ToolView) -> bool:
    """Whether a tool takes plain values alone, so that a list of arguments can only be of those."""
    return all(one.kind in ("string", "integer", "number", "boolean") for one in tool.top) and bool(tool.top)


def _is_open(argument: Argument) -> bool:
    """An object that takes keys which the schema does not name."""
    schema = argument.schema
    if argument.kind != "object":
        held = argument.item if argument.kind == "array" else {}
        loose = [as_schema(one) for word in ("anyOf", "oneOf") for one in as_list(schema.get(word))] + [held]
        return any(one.get("type") == "object" and not one.get("properties") for one in loose)
    return not schema.get("properties") or bool(schema.get("additionalProperties"))


def _mentioned(text: str) -> list[str]:
    """The names that a text uses as those of arguments: called so, or set to a value."""
    called = [
        (found[0].lower(), found[1] or found[2])
        for found in _MENTION.finditer(text[:MOST_TEXT])
        if not _OF_ADDRESS.search(_sentence(text, found))
    ]
    loose = ("option", "flag")
    called += [("argument", found[1]) for found in _THE_ONE.finditer(text[:MOST_TEXT]) if found[1] not in _ADJECTIVES]
    named = [name for words, name in called if not any(word in words for word in loose) or len(words_of(name)) > 1]
    unmarked = plain(text[:MOST_TEXT])
    given: dict[str, re.Match[str]] = {}
    for found in _GIVEN.finditer(unmarked):
        given.setdefault(next(one for one in found.groups() if one), found)
    named += [name for name, found in given.items() if not _OF_RESULT.search(_sentence(unmarked, found))]
    named = [name for name in named if not _is_value(name, unmarked) and not _is_part(name, unmarked)]
    named += [found[1] for found in _PASSED_AS.finditer(unmarked)]
    named += [name for found in _BETWEEN.finditer(unmarked) for name in found.groups() if name]
    return named + [
        next(filter(None, found.groups()))
        for found in _SET.finditer(text[:MOST_TEXT])
        if not _is_elsewhere(text, found)
    ]


_OF_ADDRESS: Final = re.compile(r"\b(?:callback|redirect|query string|URLs?)\b", re.IGNORECASE)
"""A sentence about the parameters of an address."""


def _is_value(name: str, text: str) -> bool:
    """Whether a text lists the name among the values of an argument, beside where it tells of it, or as one kind of
    value: `Pass a file_id or a URL`."""
    word = re.escape(name)
    if re.search(rf"\ban? {word} or\b|\bor an? {word}\b", text):
        return True
    listed = rf"[,(:|\n][ \t]*(?:[-*•][ \t]+)?{word}[ \t]*[,)|\n]"
    return len(re.findall(rf"(?<!\w){word}(?!\w)", text)) > 1 and re.search(listed, text) is not None


def _is_part(name: str, text: str) -> bool:
    """Whether a text has the name in a path: `folder/fileName`, `_meta.limit`."""
    return re.search(rf"\w[/.]{re.escape(name)}\b|\b{re.escape(name)}/\w", text) is not None


_OF_RESULT: Final = re.compile(
    r"\b(?:return(?:s|ed)?|computes?|calculates?|results?|responses?|outputs?|answers?|repl(?:y|ies)|previous|prior|received|obtained|"
    r"comes? from|taken from|from the|scopes?|permissions?|privileges?|roles?|extensions?|plugins?|packages?|modules?|"
    r"install\w*|settings?|env|environment|config\w*|server|headers?|fields?|columns?|propert(?:y|ies)|keys?|blocks?|"
    r"objects?|entity|entities|attributes?|flags?|internal(?:ly)?|present|instead of|"
    r"e\.g|for example|example|such as|like)\b",
    re.IGNORECASE,
)
"""A sentence about something else than arguments: fields of a result, settings of a server, parts of a value."""


def _sentence(text: str, found: re.Match[str]) -> str:
    """The sentence that something stands in, or what is near to it."""
    before = text[max(0, found.start() - _SENTENCE) : found.start()]
    begins = max(before.rfind(". "), before.rfind("\n")) + 1
    behind = text[found.start() : found.end() + _SENTENCE]
    ends = _ENDS.search(behind, found.end() - found.start())
    return before[begins:] + behind[: ends.start() if ends is not None else None]


_SENTENCE = 300
_ENDS: Final = re.compile(r"\.\s|\n|$")


def _is_elsewhere(text: str, found: re.Match[str]) -> bool:
    """Whether what is set is a field of the result, or a setting of the server that a person changes."""
    before = _GIVES.search(text[max(0, found.start() - 40) : found.start()])
    given = found[2] is None or before is not None
    name = next(filter(None, found.groups()))
    return not given or _SETTING.search(_sentence(text, found)) is not None or name.upper() in text


_GIVES: Final = re.compile(
    r"(?<!annotated )(?<!marked )(?<!flagged )(?<!tagged )(?<!labelled )(?<!labeled )"
    r"(?:\b(?:set|pass|use|specify|provide|add)|(?:^|[.;,:(]\s{0,2})with)\s+[`'\"]?$",
    re.IGNORECASE,
)
_SETTING: Final = re.compile(
    r"\b(?:settings?|env|environment|toggle|config\w*|human|administrator|server|marked|returns?|returned|results?|"
    r"response|output)\b",
    re.IGNORECASE,
)


# ── tools ──

_TOOL_NAME = r"[`'\"]([A-Za-z][\w-]{2,60})[`'\"]"
_FIELDS: Final = word_set(
    "id ids time date at by on name type status count term price text url key token number size mode only in out to "
    "from value code path day range index level period"
)
_MAKES: Final = word_set(
    "get list search find create delete remove update fetch add describe validate resolve lookup look retrieve "
    "prepare cancel submit upload download generate send make verify publish approve reject register refresh "
    "enumerate activate enable disable wait pick choose insert append attach detach restore archive compute determine "
    "discover explore identify reset rename replace revoke scan subscribe acquire obtain collect compare configure "
    "connect drain"
)
_NOUNS_TOO: Final = word_set(
    "query read open start check show book hold run pay refund close lock reserve confirm charge view export import "
    "sync stop save load move copy convert assign transfer inspect browse select retry deploy execute release set "
    "estimate calculate preview"
)
"""Verbs that are nouns as well: `start_time` is a field."""
_AGAIN: Final = re.compile(r"(?:un|re|de|dis)(?=\w{3})")


def _is_verbed(name: str) -> bool:
    """Whether it is the name of a tool by its verb."""
    verb, *words = words_of(name)
    field = words[-1] in _FIELDS
    verbs = {verb, _AGAIN.sub("", verb, count=1)}
    made = not verbs.isdisjoint(_MAKES) and not (field and len(words) == 1)
    return made or (not verbs.isdisjoint(_NOUNS_TOO) and not field) or words[-1] == "lookup"


_USES: Final = re.compile(
    rf"\b(?i:use|call|using|calling|invoke|invoking|run|running|try|prefer|via|with|from|"
    rf"see)\s+(?:the\s+)?(?:{_TOOL_NAME}|([a-z]+(?:_[a-z0-9]+)+))\s+tool\b"
    rf"|\btool\s+(?:called\s+|named\s+)?(?:{_TOOL_NAME}|([a-z]+(?:_[a-z0-9]+)+))"
    rf"|\b(?i:when|whenever|if|before|after|every time)\b[^.\n]{{0,40}}?\b(?:the\s+)?(?:{_TOOL_NAME}|"
    rf"([a-z]+(?:_[a-z0-9]+)+))\s+(?:tool\s+)?is\s+(?:called|used|invoked|run)\b"
)
_NAMES: Final = re.compile(
    r"\b((?i:use|using|call|calling|run|running|invoke|invoking|ask|try|prefer|(?<!\()via|with|from|"
    r"(?<!supported )(?<!provided )by|through|see|"
    r"see also|after|before|than|output of|results? of|(?:to |for )?use(?:d)? (?:it )?(?:in|with|by|for)|"
    r"(?:needed|required|expected|accepted) by|(?:pass|feed|hand)(?:ed)? (?:it |this |them )?(?:on )?(?:to|into)))\s+"
    rf"(?:the\s+)?({_IDENTIFIER})\b(?![(.=+-]\w|/(?![a-z]+_)\w|\(|=)"
    rf"|(?<![\w./])({_IDENTIFIER})\s+(first|beforehand|instead|afterwards|returned|returns|gave|"
    r"(?:was|has been|must be|should be|has to be|can be) (?:called|run|invoked|used))\b"
)
"""In a text without marks."""
_CALLS: Final = re.compile(r"call|run|invok|see also|first|before|(?:must|should|has to) be", re.IGNORECASE)
_GOES_ON: Final = re.compile(
    r"[`'\"]?(?:\s*(?:[.,;:)]|$)|"
    r"\s+(?:first|before|beforehand|again|and|to|or|with|for|in order|once|until|when|if)\b)"
)
"""What comes behind the name of something that is called; not `run low_priority jobs`."""


def _is_called(found: re.Match[str]) -> bool:
    """Whether what a text names is a tool by its verb, or by what is done to it: `Call find_pod first`."""
    name, around = found[2] or found[3], found[1] or found[4]
    if _is_verbed(name):
        return True
    called = _CALLS.match(around) is not None and (found[4] or _GOES_ON.match(found.string, found.end()))
    return bool(called) and words_of(name)[-1] not in _FIELDS and not name.startswith("pg_")


_ELSEWHERE: Final = re.compile(
    r"[`'\"]?(?:\s+tools?)?\s+(?:on|from|of|in|at)\s+(?:the\s+)?[`'\"]?(?:[\w-]+-mcp\b|mcp-[\w-]+|"
    r"(?:another|other|an?other|a different) (?:[\w-]+ )?servers?\b)",
    re.IGNORECASE,
)
"""The text says that the tool is another server's."""
_OF_CODE: Final = re.compile(
    r"(?:[`'\"]?,? (?:and|or) [`'\"]?\w+)?[`'\"]?(?:\(\))? (?:endpoint|method|function|API|"
    r"operation|action|command|mode)s?\b"
)
"""The text says that it is none."""
_OWN: Final = re.compile(r"(?<=\w)[`'\"]{0,1}['’]s\b")
"""`` `get_page`'s ``"""
_CAMEL: Final = re.compile(r"[a-z][A-Z]")
_MOST_PIECES = 40
_MOST_NAMES = 40
"""Names of one tool that are looked for in its texts."""


def _unknown_tools(tools: Sequence[ToolView]) -> Iterator[tuple[ToolView | None, Hit]]:
    """Tools that a text names and that no list has."""
    values = [value for tool in tools for one in tool.arguments for value in as_list(one.schema.get("enum"))]
    known = {end for name in (*(tool.name for tool in tools), *map(str, values)) for end in _endings(_plain(name))}
    known |= {_plain(one.name) for tool in tools for one in tool.arguments}
    known |= {_plain(name) for tool in tools for name in _results(tool)}
    is_camel = any(_CAMEL.search(tool.name) for tool in tools)
    for tool in tools:
        names: list[str] = []
        seen: set[str] = set()
        place = tool.at("description")
        for path, text in prose_of(tool):
            unmarked = plain(_OWN.sub(" ", text[:MOST_TEXT]))
            for found in chain(_USES.finditer(text[:MOST_TEXT]), _NAMES.finditer(unmarked)):
                if found.re is _NAMES and not _is_called(found):
                    continue
                name = next(one for one in found.groups() if one) if found.re is _USES else found[2] or found[3]
                told = len(tools) > 1 or found.re is _USES or not found[3] or f"`{name}`" in text
                told = told and (is_camel or not _CAMEL.search(name))  # else a function of a library
                told = told and not any(one.match(found.string, found.end()) for one in (_ELSEWHERE, _OF_CODE))
                if name in seen or len(seen) >= _MOST_NAMES or _plain(name) in known or not told:
                    continue
                seen.add(name)
                if not _is_value(name, unmarked):
                    place = place if names else path
                    names.append(name)  # one tool alone may be a piece of a list
        if names:
            yield (
                tool,
                Hit(
                    "RC706",
                    f"names a tool that is not on the list: {join_names(names)}",
                    "name a tool that exists, or describe what is meant",
                    place,
                    certain=not tool.has_operations,  # else it may be one of its operations
                ),
            )


def _endings(name: str) -> Iterator[str]:
    """A name, and what is left of it without its first words: a server's prefix may be left out."""
    pieces = name.split("_", _MOST_PIECES)
    return ("_".join(pieces[at:]) for at in range(len(pieces)))


def _plain(name: str) -> str:
    return re.sub(r"[\W-]+", "_", name).lower()
