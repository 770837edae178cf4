"""RC209, RC216: what a text tells of a call: an argument by one word, an example, or a value that nothing takes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from rightcall.catalog.tidy import as_schema
from rightcall.gate.repair.words import joined, words_of
from rightcall.lint.definitions import ToolView
from rightcall.lint.evident import MOST_TEXT
from rightcall.lint.findings import Hit, quote_text, word_set

# ── one word in marks ──

_WORD = r"`([a-z][a-z0-9_]{2,40})`"
_GIVES: Final = re.compile(
    rf"\b(?:set|pass|give|provide|specify|supply|fill in|enter|state|choose|adjust)\s+(?:the\s+|an?\s+|your\s+)?{_WORD}"
    rf"(?!\s*(?:in|as|into|via|for|under|with|on|at|by|of)\b|\s+to\s+(?:the\s+)?`|[`=(:/.]\w)|"
    rf"\b(?:give|pass|send|supply|put|write|name|state|enter|describe|provide|explain)\s+(?:[\w'-]+\s+){{1,12}}?"
    rf"(?:in|into|as|under)\s+{_WORD}"
    r"(?!\s+(?:format|form|notation|style|order|units?|file|folder|mode)\b|[`=(:/.]\w)",
    re.IGNORECASE,
)
_NEXT: Final = re.compile(rf",? and (?:the )?(?:[\w'-]+\s+){{1,5}}(?:in|into|as|under)\s+{_WORD}", re.IGNORECASE)
"""… `and the one to reach in`, with the verb left out"""
_OMITS: Final = re.compile(
    rf"\b(?:omit|leave out|leave off)\s+(?:the\s+)?{_WORD}(?=\s*(?:[.,;)]|$|(?:to|for|if|when|and|or|unless)\b))",
    re.IGNORECASE,
)
"""What may be left out of a call is an argument, whatever the sentence goes on with."""
_PASSES: Final = re.compile(r"(?:pass|supply)\b", re.IGNORECASE)
_NO_NAMES: Final = word_set(
    "string null true false none json integer number boolean object array list text undefined any all asc desc this "
    "that markdown html csv yaml xml auto default utc"
)
_RANGE: Final = re.compile(r"\s+(?:from|to|between|as)\s+(?:a number |a value )?-?\d")


def one_word_names(tool: ToolView, elsewhere: re.Pattern[str]) -> list[str]:
    """Arguments that a text tells to give by one word in marks: `` Set `score` and give reasons in `comment` ``. It
    counts where the same sentence has a real argument in marks, or where a range of numbers comes behind."""
    own = {one.name.lower() for one in tool.arguments}
    names: list[str] = []
    for sentence in re.split(r"\.\s|\n", tool.description[:MOST_TEXT]):
        if "`" not in sentence:
            continue
        names += [found[1] for found in _OMITS.finditer(sentence) if found[1].lower() not in _NO_NAMES]
        if elsewhere.search(sentence):
            continue
        beside = own & {word.lower() for word in re.findall(r"`(\w+)`", sentence)}
        given = [(found, found[1] or found[2], found[2]) for found in _GIVES.finditer(sentence)]
        given += [(found, found[1], found[1]) for found in _NEXT.finditer(sentence) if given]
        several = len({put for _, _, put in given if put} - own) > 1
        for found, name, put in given:
            several = several or "_" in name or (put is not None and _PASSES.match(found[0]) is not None)
            if name.lower() not in _NO_NAMES and (beside or (several and put) or _RANGE.match(sentence, found.end())):
                names.append(name)
    return names


_PUT: Final = re.compile(
    r"(?:^|[.;]\s+)(?:pass|put|give|send|list|supply) (?:the|all|your) ([\w-]+) in ([a-z_]{4,30})(?=\s*[,.;]|$)",
    re.IGNORECASE,
)
_TAKES: Final = re.compile(r"\W*(?:the |all |list of )?([\w-]+) (?:of|to|for|in|that|which|with)\b", re.IGNORECASE)


def former_names(tool: ToolView) -> list[str]:
    """`Pass the charts in widgets`, where the text of another argument says that it takes the charts."""
    text = tool.description[:MOST_TEXT]
    takers = {found[1].lower(): one for one in tool.top if (found := _TAKES.match(one.description))}
    known = {one.name.lower() for one in tool.arguments} | _NO_NAMES
    return [
        found[2] for found in _PUT.finditer(text)
        if found[2] not in known and (one := takers.get(found[1].lower())) is not None and one.name not in text
    ]  # fmt: skip


_LISTED: Final = re.compile(
    r"\b(?:pass|give|provide|supply|specify|requires|needs|takes) ((?:\w{2,40}(?:, |,? and )){1,8}\w{2,40})"
    r"(?=\s*(?:[.,;:)]|$))",
    re.IGNORECASE,
)


def listed_names(tool: ToolView) -> list[str]:
    """`Pass loom_id and ells`, where the one is an argument and no text of the tool tells of a required one: then
    the other is its former name."""
    text = tool.description[:MOST_TEXT]
    said = {*re.findall(r"\w+", text)}
    own = {one.name for one in tool.arguments}
    if all(one.name in said for one in tool.top if one.required):
        return []
    known = own | {word for name in own for word in words_of(name)} | _NO_NAMES
    names: list[str] = []
    for found in _LISTED.finditer(text):
        told = re.findall(r"\w+", found[1].replace(" and ", " "))
        if any(name in own and len(words_of(name)) > 1 for name in told):
            names += [name for name in told if name.islower() and name not in known]
    return names


_FLAG: Final = re.compile(r"(?:\[|\]|\|)\s?--([a-z][a-z0-9-]{1,30})")
_COMMAND_LINE: Final = word_set("args argv arguments flag flags options command cmd input prompt line params")


def flag_names(tool: ToolView) -> list[str]:
    """`[--hours N] [--goal "X"]`: what a command line would take, and no argument does."""
    if any(not _COMMAND_LINE.isdisjoint(words_of(one.name)) for one in tool.arguments):
        return []
    own = {joined(one.name) for one in tool.arguments}
    flags = dict.fromkeys(_FLAG.findall(tool.description[:MOST_TEXT]))
    return [flag for flag in flags if own.isdisjoint((joined(flag), joined(flag.removeprefix("no-"))))]


# ── examples of calls ──

_SHOWS: Final = re.compile(
    r"\b(?:examples?(?: (?:call|input|arguments?|request|usage|payload))?|e\.g\.?|for instance|"
    r"(?:call|called|use|invoke)(?: it| this| this tool)? with|usage|(?:sample|typical) (?:call|input|request)|"
    r"arguments?|input)[^\w{}\[]{0,8}(?:json\s{0,4})?$",
    re.IGNORECASE,
)
_OF_RESULT: Final = re.compile(r"\b(?:returns?|returned|results?|responses?|outputs?|replies|reply|answers?)\b", re.I)
_MOST_EXAMPLES = 8
_BRANCHES: Final = word_set("anyOf oneOf allOf $ref patternProperties")
"""Where a schema may have more arguments than it lists."""


def shown_names(tool: ToolView) -> list[str]:
    """The keys of examples of a call that no argument is called by."""
    schema, text = tool.schema or {}, tool.description[:MOST_TEXT]
    own = [one.name for one in tool.top]
    if (
        not own
        or schema.get("additionalProperties")
        or {"patternProperties", "anyOf", "oneOf", "allOf"} & schema.keys()
    ):
        return []
    known = {joined(name) for name in own}
    nested = {joined(one.name) for one in tool.arguments}
    names: list[str] = []
    for keys in (*_objects(tool, text), *_calls(tool, text)):
        strange = [key for key in keys if joined(key) not in known]
        if len(strange) < len(keys) and not any(joined(key) in nested for key in strange):
            names += strange
    return names


def _objects(tool: ToolView, text: str) -> Iterator[Sequence[str]]:
    decoder = json.JSONDecoder()
    own = {one.name for one in tool.top}
    if any(re.search("json", one.description, re.IGNORECASE) for one in tool.top):
        return  # it may be the value of that argument
    call = f"{tool.name}("
    starts = [
        at
        for at, letter in enumerate(text)
        if letter == "{" and (text.endswith(call, 0, at) or _SHOWS.search(text[max(0, at - 60) : at]))
    ]
    for at in starts[:_MOST_EXAMPLES]:
        before = re.split(r"\.\s|\n", text[max(0, at - 200) : at].replace("e.g.", "eg"))[-1]
        if _OF_RESULT.search(before) or own & {*re.findall(r"\w+", before)}:
            continue  # what comes back, or the value of one argument
        try:
            found: Any = decoder.raw_decode(text, at)[0]
        except (ValueError, RecursionError):
            continue
        named = as_schema(found).get("name") == tool.name
        inner = as_schema(found).get("arguments") if named else found
        yield [*as_schema(inner)]


_KEY: Final = re.compile(r"(?:^|,)\s*([a-zA-Z_]\w{1,40})\s?=(?!=)")


def _calls(tool: ToolView, text: str) -> Iterator[Sequence[str]]:
    """`get_order(order_id="O-1", amount=3)`"""
    if f"{tool.name}(" not in text:
        return
    pattern = rf"(?<![\w.]){re.escape(tool.name)}\(([^()\n]{{1,300}})\)"
    for found in [*re.finditer(pattern, text)][:_MOST_EXAMPLES]:
        yield _KEY.findall(re.sub(r"\"[^\"\n]*\"|'[^'\n]*'|\[[^\]\n]*\]|\{[^}\n]*\}", "x", found[1]))


# ── no argument at all ──

_THING = r"(?!by\b|in\b|at\b|to\b|that\b|the\b|time\b|moment\b|set\b|point\b|way\b|list\b)[a-z][\w-]+"
_VERBS = (
    r"gets?|fetch(?:es)?|finds?|looks? up|retrieves?|returns?|loads?|deletes?|removes?|updates?|cancels?|shows?|reads?|"
    r"opens?|closes?|sends?|starts?|stops?|computes?|calculates?|converts?"
)
_ASKED: Final = re.compile(
    rf"\b(?:of|for|in|at|from|to|on|with|by|{_VERBS})\s+(?:an?\s+|the\s+|your\s+)?(?:given|specified|supplied)\s+"
    rf"{_THING}|"
    rf"\b(?:of|for|in|at|from|on)\s+(?:an?|the)\s+(?:provided|particular)\s+{_THING}|"
    rf"\b(?:{_VERBS})\s+(?:an?|one|a single)\s+(?:[\w-]+\s+){{1,4}}?"
    r"(?:by|with|using)\s+(?:its|their|his|the)?\s?(?:[\w-]+\s)?(?:ids?|name|number|code|key|uuid|slug|e-?mail|address|"
    r"identifier)\b|"
    r"\bmatch(?:es|ing)?\s+(?:an?|the|your|the given)\s+(?:search\s+)?(?:query|terms?|keywords?|phrase|pattern)\b",
    re.IGNORECASE,
)
_HINT: Final = re.compile(
    r"\bargument[- ]hint:\s*(?!\W*(?:--|none\b|no\b|n/a))[^\n\]]{1,60}|"
    r"\b(?:usage|args|arguments):[^\n]{0,40}[<\[][a-zA-Z][\w-]{1,30}[>\]]",
    re.IGNORECASE,
)
"""`[argument-hint: [PR_NUMBER]]`"""
_FROM_ELSEWHERE: Final = re.compile(
    r"\b(?:current\w*|active|selected|selection|signed|logged|session|config\w*|environment|defaults?|previous\w*|last|"
    r"settings?|connected|own|caller|authenticated|token|random\w*|server|workspace|help|guide|how to|instructions?|"
    r"template|prompt)\b",
    re.IGNORECASE,
)
"""Where a value may come from, if not from the call."""


def find_missing(tool: ToolView) -> Iterator[Hit]:
    """A text that tells of a value to be given, where the tool takes none."""
    schema = tool.schema
    takes_none = schema is not None and schema.get("properties") == {} and not schema.get("additionalProperties")
    if not takes_none or tool.ruled or _BRANCHES & (schema or {}).keys():
        return
    sentence = re.split(r"\.\s|\n\s*\n", tool.description[:MOST_TEXT].strip())[0][:400]
    found, hinted = _ASKED.search(sentence), _HINT.search(tool.description[:MOST_TEXT])
    if (found is not None and _FROM_ELSEWHERE.search(sentence)) or flag_names(tool):
        found = None
    found = found if flag_names(tool) or hinted is None else hinted
    if found is not None:
        yield Hit(
            "RC216",
            f"the text tells of a value to be given, and the tool takes none: {quote_text(found[0])}",
            "add the argument to the schema, or remove it from the text",
            tool.at("description"),
            certain=_WHOSE.search(found[0]) is None,
        )


_WHOSE: Final = re.compile(r"\b(?:accounts?|users?|mailbox|tenant|organi[sz]ation|team|company|site)\b", re.IGNORECASE)
"""What a session may stand for."""
