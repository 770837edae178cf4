"""Arguments whose name says enough together with the name and the text of the tool, so that a missing description is
worth a note: the `uuid` of `get_server`, the `title` of a note, the `search_phrase` of a search."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, cast

from rightcall.catalog.tidy import as_list
from rightcall.gate.repair.words import singular, words_of
from rightcall.lint.definitions import Argument, ToolView
from rightcall.lint.findings import word_set

_IDS: Final = word_set(
    "id uuid uid guid arn identifier name slug key path filepath uri url file filename email username number"
)
"""The last word of a name that says which one is meant; the words before it say of what."""
_PLAIN: Final = word_set(
    "name title description descr summary content contents text message body subject comment note notes caption email "
    "phone username firstname lastname fullname url uri path filename tags tag labels label address city country "
    "street filepath webhook zip zipcode postcode bio changelog "
    "language quantity sql id uuid uid guid ids uuids identifier identifiers hostname ip ips port lines rows password "
    "doi isbn issn iban sku headers rationale reason explanation justification pid lat lng lon latitude longitude"
)
_WRITTEN: Final = word_set("description title note comment message reason rationale step summary text")
"""What is written freely, whatever it is of: `release_notes`, `cancel_reason`."""
_SEARCHES: Final = word_set("search find query lookup list filter look match suggest discover retrieve recall")
_BEGINNING = 12
"""Words of a name and a text that tell what a tool does."""
MOST_TEXT: Final = 20_000
"""Characters of a description that are read."""
_SOUGHT: Final = word_set("query q search term phrase keyword keywords text string input")
SWITCHES: Final = word_set(
    "enabled disabled enable disable active on raw recursive verbose archived fresh dry run confirm overwrite "
    "bold italic underline"
)
_UNITS: Final = word_set(
    "ms millisecond second sec minute min hour day week month year byte kb mb gb px pixel percent pct meter metre km "
    "celsius char character line token step item result page table row retry attempt count"
)
FORMED: Final = word_set(
    "date time datetime timestamp start end since until from to before after amount price cost rate size format filter "
    "range sort order type mode status state option config configuration setting param parameter arg argument data "
    "value field property unit kind level scope env body payload"
)
"""Words whose form or meaning a name cannot tell."""
_ABOUT: Final = word_set("the a an of in to new old own is has include including with show max min current target to")
_OF_KIND: Final = word_set("type kind from")
_PAGING: Final = word_set(
    "page pagesize perpage pagenumber limit offset cursor after pagetoken nextpagetoken nexttoken"
)
_MAKING: Final = word_set("create add update set edit insert")
_READING: Final = word_set("get list read fetch search find show view retrieve")
_PROJECTIONS: Final = word_set("properties fields columns attributes associations expand include")
"""What a result is to have."""
_KEYS: Final = word_set(
    "key property field setting item option column cell variable selector attribute pin element ref uid"
)
"""What says whose `value` it is."""
_NAMED: Final = word_set("property field setting header attribute option variable")
"""What is called by a name, which the tool is about."""
_MOVES: Final = word_set("rename move copy")
_SIDES: Final = word_set("from to source destination src dst old new")
_VERBS = 4
"""Words of a name that its verb is among."""
_REFERS: Final = re.compile(
    r"\bsee\b[^.\n]{0,80}\b(?:parameter|argument)s?\b|\bsame (?:parameters|arguments|options) as\b", re.IGNORECASE
)


def is_told_elsewhere(tool: ToolView) -> bool:
    """Whether a text sends its reader to another tool for what the arguments mean."""
    return _REFERS.search(tool.description[:MOST_TEXT]) is not None


def is_evident(argument: Argument, tool: ToolView, spoken: Sequence[str]) -> bool:
    """Whether the words of a tool, those of its name and its text, tell what the argument is."""
    if argument.name.startswith(("$", "_")):
        return True  # of a query language, such as `$filter` and `$top`; or none of the model's
    words = [singular(word) for word in words_of(argument.name) if not word.isdigit()]
    if not words or argument.kind == "object":
        return argument.depth == 0 and _is_subject(argument, tool)
    told, letters = set(spoken), argument.name.lower().replace("_", "")
    values = as_list(argument.schema.get("enum")) or as_list(argument.item.get("enum"))
    rest = set(words) - _ABOUT
    if letters in _PROJECTIONS and argument.kind == "array" and not _READING.isdisjoint(spoken[:_VERBS]):
        return True
    if values:
        return _are_spoken(values, told) or (bool(rest - _OF_KIND) and rest - _OF_KIND <= told)
    if argument.kind == "boolean":
        return all(one in told or any(_is_form(one, word) for word in told) for one in rest - SWITCHES)
    if (letters in _PAGING and not argument.required) or (
        argument.kind == "string" and _is_sought(argument, tool, words, spoken)
    ):
        return True
    if argument.kind == "string" and _is_of_name(words, letters, words_of(tool.name)):
        return True
    if is_keyed(argument):
        return True
    if letters in _PLAIN:
        return argument.kind != "array" or words[0] in ("tag", "label") or argument.required
    if len(words) > 1 and words[-1] in _IDS:
        return rest - _IDS <= told or _names_another(argument, words[:-1], spoken)
    if argument.kind in ("integer", "number") and len(words) > 1 and not _UNITS.isdisjoint(words):
        return True
    if argument.kind == "string" and len(words) > 1 and words[-1] in _WRITTEN:
        return True
    owner = re.fullmatch(r"(\w{3,}?)(?:id|uid)s?", letters)
    if owner is not None and owner[1] in told:
        return True  # `courseid`
    if len(words) == 1 and len(words[0]) >= _SHORTEST_OWNER and any(one.startswith(words[0]) for one in told):
        return words[0] not in FORMED  # `prot`, of a protocol
    return (bool(rest) and not rest & FORMED and rest <= told) or _is_subject(argument, tool)


def is_keyed(argument: Argument) -> bool:
    """Whether it is the `value` of what another argument names."""
    keys = {word for name in argument.siblings if name != argument.name for word in words_of(name)}
    return words_of(argument.name)[-1:] in (("value",), ("values",)) and not keys.isdisjoint(_KEYS)


def _is_of_name(words: Sequence[str], letters: str, named: Sequence[str]) -> bool:
    """`property` of `get_property`, `from` of `move_file`, and what is encoded as its name says."""
    if len(words) == 1 and words[0] in _NAMED:
        return words[0] in map(singular, named)
    return letters.endswith("base64") or (letters in _SIDES and not _MOVES.isdisjoint(named))


def _is_form(word: str, other: str) -> bool:
    """Whether both begin alike, as `monitored` and `monitoring` do."""
    length = max(_SHORTEST_STEM, len(word) - len("ing"))
    return word[:length] == other[:length]


_SHORTEST_STEM = 5


def _names_another(argument: Argument, owner: Sequence[str], spoken: Sequence[str]) -> bool:
    """Whether it names something else that the tool needs or reads, or a field of what it makes."""
    whole = argument.kind != "array" and min(map(len, owner)) > _SHORTEST_OWNER
    return whole and (argument.required or not (_MAKING | _READING).isdisjoint(spoken[:3]))


_SHORTEST_OWNER = 3


def _is_subject(argument: Argument, tool: ToolView) -> bool:
    """Whether a sentence is about it, or lists it with another argument: `Data should be …`, `name, quantity, unit`."""
    if argument.depth:
        return False
    name, text = re.escape(argument.name), tool.description[:MOST_TEXT]
    if len(argument.siblings) == 1 and re.search(r"\be\.g\.|\bfor example\b|\bsuch as\b|\blike:\s{0,9}[{\[]", text):
        return True
    others = "|".join(re.escape(one) for one in argument.siblings if one != argument.name)
    if re.search(rf"(?:^|[.\n(]\s*){name}s? (?:should|must|is|are|can|may)\b", text, re.IGNORECASE):
        return True
    near = rf"\b(?:{others})s?(?:,|,? (?:and|or)) {name}\b|\b{name}(?:,|,? (?:and|or)) (?:{others})\b"
    return bool(others) and re.search(near, text, re.IGNORECASE) is not None


def _are_spoken(values: Sequence[object], told: set[str]) -> bool:
    """Whether the text names most of the values."""
    texts = [words_of(one) for one in values if isinstance(one, str)]
    named = [one for one in texts if one and set(map(singular, one)) <= told]
    return bool(named) and len(named) * 2 > len(cast("list[object]", values))


def _is_sought(argument: Argument, tool: ToolView, words: Sequence[str], spoken: Sequence[str]) -> bool:
    """What a search looks for, or what the only argument of `… by id or name` is."""
    if not set(words) <= _SOUGHT:
        return False
    alone = len(argument.siblings) == 1 and " by " in tool.description[:MOST_TEXT]
    return alone or not _SEARCHES.isdisjoint(spoken[:_BEGINNING])
