"""RC2xx: descriptions that are missing, say nothing, were copied, or tell something else than the definition does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Final

from rightcall.gate.repair.words import joined, same_meaning, singular, words_of
from rightcall.lint.definitions import Argument, ToolView
from rightcall.lint.evident import MOST_TEXT
from rightcall.lint.findings import Hit, bare, quote_name, quote_text, word_set
from rightcall.lint.meaning import stem
from rightcall.lint.polarity import find_turned
from rightcall.lint.senses import find_kind
from rightcall.lint.told import find_missing

_ACTS: Final = {
    "read": "get list read fetch search find show view query retrieve lookup describe count inspect browse look "
    "display",
    "delete": "delete remove erase destroy drop purge wipe discard",
    "create": "create insert register add",
    "start": "start begin launch enroll enable activate resume restore",
    "open": "open",
    "make": "generate",
    "update": "update modify patch edit replace rewrite overwrite",
    "move": "move rename",
    "send": "send publish submit email",
    "end": "cancel terminate revoke archive close end stop withdraw disable deactivate suspend pause",
    "mark": "mark set toggle",
}
ACT_OF: Final = {word: act for act, words in _ACTS.items() for word in words.split()}
_TURNS_TEXT = (
    "start/stop begin/end read/write enable/disable show/hide open/close allow/deny accept/reject upload/download "
    "push/pull import/export encrypt/decrypt encode/decode add/remove insert/delete lock/unlock activate/deactivate "
    "include/exclude approve/reject approve/decline accept/decline archive/restore pause/resume increase/decrease "
    "deposit/withdraw promote/demote join/leave attach/detach suspend/resume suspend/reactivate grant/revoke "
    "admit/discharge raise/lower hire/dismiss book/cancel schedule/cancel reserve/release publish/withdraw"
)
TURNS: Final = [frozenset(pair.split("/")) for pair in _TURNS_TEXT.split()]
"""Verbs, each with its contrary. A contrary that only begins with `un`, `dis` or `de` is one as well."""
_COMPATIBLE_TEXT = (
    "end/update end/delete end/send end/move create/send create/update make/read make/create make/update make/send "
    "make/move update/move move/send open/read open/create open/make open/update open/move open/send "
    "open/start start/create start/make start/update start/send start/move"
)
_COMPATIBLE: Final = {frozenset(pair.split("/")) for pair in _COMPATIBLE_TEXT.split()}
_SIDES: Final = (
    ("start starts begin begins beginning earliest", "end ends ending latest finish"),
    ("source origin", "destination target"),
    ("origin departure", "destination arrival"),
    ("minimum min lowest smallest", "maximum max highest largest"),
    ("before", "after"),
    ("width", "height"),
    ("latitude", "longitude"),
    ("sender", "recipient receiver"),
    ("parent", "child"),
    ("first", "last"),
    ("old previous", "new"),
    ("left", "right"),
    ("input", "output"),
    ("include", "exclude"),
    ("row rows", "column columns"),
    ("ascending", "descending"),
    ("departure", "arrival"),
    ("buyer", "seller"),
    ("expected", "actual"),
    ("username login", "password"),
)
_PLACEHOLDER: Final = re.compile(
    r"\W*(?:todo|tbd|t\.b\.d|fixme|xxx+|lorem ipsum|placeholder|n/?a|none|null|undefined|asdf\w*|foo(?:\s*bar)?|"
    r"blah(?:\s+blah)*|does (?:some )?(?:stuff|things|something)(?: with [\w ]{2,30})?(?:, see [\w ]{2,30})?|"
    r"string|desc|test(?:\s+(?:tool|description))?|coming soon|to be (?:done|written|defined|added)|"
    r"(?:(?:insert|add|enter|write|your|put|some|tool|function|argument|parameter|a|the)\s+){0,4}description"
    r"(?:\s+(?:here|goes here|of the tool))?|no description(?:\s+\w+)?|)\W*",
    re.IGNORECASE,
)
_EXCUSE: Final = re.compile(
    r"\W*(?:(?:please )?see (?:the )?(?:docs?|documentation|readme|wiki|(?:source )?code|name)|"
    r"(?:for )?internal(?: use)?(?: only)?|self[- ]explanatory|"
    r"(?:just )?(?:what|as) the name (?:says|suggests|implies)|(?:please )?do not (?:touch|change|remove|use)|"
    r"(?:please )?(?:ask|contact) \w+ before [\w ]{2,40}|"
    r"(?:an? |the )?(?:old|new|legacy) version(?: of [\w ]{2,30})?(?:, do not (?:touch|change|remove|use))?)\W*",
    re.IGNORECASE,
)
"""What stands for the description of a tool, and tells nothing of it."""
_STARTS_TODO: Final = re.compile(
    r"\W*(?:(?i:tbd|fixme|lorem ipsum|placeholder|xxx)\b|(?i:todo)\s*(?:[:!?(\[]|-\s|$)|TODO\b(?!\s+(?i:lists?|items?|"
    r"entit|tasks?|ids?|entr|names?|apps?|titles?|status)))"
)
"""`Todo list ID` is the ID of a list."""
_STOP: Final = word_set(
    "the a an of for to this that value values parameter argument your is it its be in on with and or by as "
    "from tool function string number text input given specified"
)

# ── one tool ──


def check(tool: ToolView) -> Iterator[Hit]:
    yield from _tool_description(tool)
    acts = [*_act(tool)]
    yield from acts or _kept(tool)
    yield from _ends_after_all(tool)
    yield from _acts_after_all(tool)
    copied = [*_copied(tool)]
    yield from copied or _second(tool)
    yield from _swapped(tool)
    yield from _find_cut(tool)
    yield from find_missing(tool)
    for argument in tool.arguments:
        yield from _argument_description(argument)


_SENTENCES: Final = re.compile(r"[.;!?]\s")
_UNSPACED: Final = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Letters of languages that write no space between words: about two make one."""


def _tool_description(tool: ToolView) -> Iterator[Hit]:
    text, place = tool.description.strip(), tool.at("description")
    if not text:
        if not tool.ruled:
            yield Hit(
                "RC201", "no description", "say what it does, when to use it, and what it returns", tool.at("name")
            )
        return
    said = [one for one in _SENTENCES.split(text[:120]) if one.strip()]
    if _is_placeholder(text) or (len(text) < 120 and all(map(_EXCUSE.fullmatch, said))):
        yield Hit("RC211", f"the description is a placeholder: {quote_text(text)}", "write the description", place)
        return
    text = _THIS_TOOL.sub("", text)
    told, named = telling(text), {singular(word) for word in words_of(tool.name)}
    repeats = all(word in named or any(alike(word, other) for other in named) for word in told)
    length = len(text.split()) + len(_UNSPACED.findall(text)) // 2
    sentence = _ARTICLE.search(text) is not None
    same = repeats and 0 < length - len(_ARTICLE.findall(text)) < 5 and not (sentence and _LINK.search(text))
    idle = not repeats and {*told[:1]} <= _IDLE_VERBS and named.isdisjoint(_IDLE_VERBS)
    idle = idle and all(word in _IDLE or any(alike(word, other) for other in named) for word in told)
    if (
        idle
        or length < 3
        or (len(text) < 12 and text.isascii() and not sentence)
        or (same and (sentence or length < 4))
    ):
        how = "says no more than the name" if repeats or idle else "is too short to choose by"
        yield Hit(
            "RC202",
            f"{quote_text(text)} {how}",
            "say what it does, when to use it, and what it returns",
            place,
            certain=idle or length < 3 or not _is_evident(tool),
        )


_IDLE_VERBS: Final = word_set("perform execute handle process do doe run carry carrie call invoke used take manage")
_IDLE: Final = _IDLE_VERBS | word_set(
    "operation action task function argument request data thing stuff job call api result output item entity object "
    "parameter option requested required needed appropriate relevant provided corresponding various certain related "
    "necessary what some any all out give back return and"
)
"""Words that could be said of any tool."""

_ARTICLE: Final = re.compile(
    r"\b(?:an?|the|one|your|this|that|any|some|single|given|specified|certain|existing)\b", re.IGNORECASE
)
_LINK: Final = re.compile(
    r"\b(?:of|for|to|by|in|on|with|from|as|at|into|and|or|via|using|within|between|without|per|if|when)\b|[:;\n(]",
    re.IGNORECASE,
)
"""What joins a second thing to the first: `Adds a label to an issue` has an object more."""


def _is_evident(tool: ToolView) -> bool:
    """Whether a tool reads, deletes or starts what its ids point to: `Deletes a draft` leaves little to ask."""
    words = words_of(tool.name)
    acts = {ACT_OF.get(word) for word in words} & {"read", "delete"} or _SWITCHES & {*words}
    needed = [one for one in tool.top if one.required or len(tool.top) == 1]
    pointed = all(not {*words_of(one.name)}.isdisjoint(_POINTS) for one in needed)
    if needed and pointed and all(one.description for one in tool.top) and _WIDE.isdisjoint(words):
        return True  # `Follows an author.`
    return bool(acts) and (len(tool.top) < 2 or all({*words_of(one.name)} & _POINTS for one in tool.top))


_WIDE: Final = word_set(
    "deploy run sync process manage handle execute do perform mute block build apply use invoke check"
)
"""Verbs that leave open what happens."""
_SWITCHES: Final = word_set("start stop restart enable disable pause resume")
_POINTS: Final = word_set("id ids uuid gid key name slug number no index owner repo path params")


_THIS_TOOL: Final = re.compile(
    r"^\W*(?:this|a|the) (?:tool|function|method) (?:(?:is|can be) used |allows you |lets you |is |that |"
    r"which )?(?:to|for) ",
    re.IGNORECASE,
)


def _is_placeholder(text: str) -> bool:
    empty = _PLACEHOLDER.fullmatch(text) is not None or _STARTS_TODO.match(text) is not None
    return (len(text) < 120 and empty) or "lorem ipsum dolor" in text[:MOST_TEXT].lower()


def telling(text: str) -> list[str]:
    """The words of a text that say something, in the singular."""
    return [singular(word) for word in words_of(text[:MOST_TEXT]) if word not in _STOP]


def alike(word: str, name: str) -> bool:
    """The same word in another form, or one that means the same."""
    start = min(len(word), len(name), 5)
    if start >= 4 and word[:start] == name[:start]:
        return True
    return (
        len(word) > 1
        and len(name) > 1
        and (same_meaning(word, name) or (len(name) >= 3 and name in word) or (len(word) >= 4 and word in name))
    )


def _act(tool: ToolView) -> Iterator[Hit]:
    """The verb of the name, and the verb that the description begins with."""
    words = words_of(tool.name)
    text = _THIS_TOOL.sub("", _SWITCHED.sub(_as_verb, tool.description[:400]))
    told = [word for word in words_of(text) if not word.endswith("ly")]
    if not told or not words:
        return
    own = [word for word in (*words[:1], *words[:0:-1]) if word in ACT_OF and not _TWO_ACTS & {*words}][:1]
    named = ACT_OF[own[0]] if own else ""
    yield from _harmless(tool, named)
    yield from _put_aside(tool, named)
    if told[1:2] == ["of"] or (told[0].endswith("ed") and told[0] not in ACT_OF):
        return  # `Patch of a branch`, `Registered devices`: no verbs
    verb = act_stem(told[0])
    act = ACT_OF.get(verb, "read" if verb in ("returns", "return") else "")
    sentence = {act_stem(word) for word in words_of(text.split(".")[0])}
    if named == "read" and words[-1] in _MADE and words[-1] in sentence:
        return  # `get_preview_link` creates what it returns
    if named == "delete" and not sentence.isdisjoint(_BINS):
        return  # `Moves a note to the trash`
    if words[0] not in ACT_OF and alike(verb, words[0]):
        return  # `post_incident_update` publishes one
    if _is_turned(words[0], told) or (
        act and named and act != named and "mark" not in (act, named) and frozenset((act, named)) not in _COMPATIBLE
        and not any(ACT_OF.get(word) == named or word[:4] == own[0][:4] for word in sentence)
        and (({act, named} & _APART and "start" not in (act, named)) or _is_of(words, text))
    ):  # fmt: skip
        yield Hit(
            "RC207",
            f"the name says {quote_text(own[0] if own else words[0])}, the description begins with "
            f"{quote_text(told[0])}",
            "correct the description, or rename the tool", tool.at("description"),
        )  # fmt: skip


_SWITCHED: Final = re.compile(
    r"^\W*(?:(?:switch|turn)(?:es|s)?\b(?=(?: [\w-]+){0,3}? (on|off)\b)|"
    r"takes?\b(?=(?: [\w-]+){1,3} (?:off|out|away|down)\b))",
    re.IGNORECASE,
)
"""`Switches the alarm on`, `Takes a tag off`"""


def _as_verb(found: re.Match[str]) -> str:
    return {"on": "enables", "off": "disables"}.get((found[1] or "").lower(), "removes")


_BINS: Final = word_set("trash bin recycle wastebasket")
_TWO_ACTS: Final = word_set("or and")
_APART: Final = word_set("read send")
"""What reads or sends does not change a thing, whatever it is."""


def _is_of(words: Sequence[str], text: str) -> bool:
    """Whether the verb that a text begins with is said of what the name has: `Opens a new ticket` of `archive_ticket`,
    and not `Creates a copy` of `remove_background`."""
    objects = [word for word in words if word not in ACT_OF]
    told = telling(_CLAUSE.split(text.strip(" *`\"'-"))[0])[1:]
    return not objects or any(alike(word, one) for word in told for one in objects)


def _is_turned(verb: str, told: Sequence[str]) -> bool:
    """Whether the first word of a text is the contrary of that of a name: `stop_server`, which says it starts one."""
    first = told[0]
    forms = {first, first.removesuffix("s"), first.removesuffix("es"), first.removesuffix("ing")}
    turned = any(frozenset((verb, one)) in TURNS or is_undone(verb, one) or is_undone(one, verb) for one in forms)
    return turned and not any(word.startswith(verb[:4]) for word in told)


_HARMLESS: Final = re.compile(
    r"(?:^|[.;]\s)(?:it is |this is )?harmless\b|\b(?:is|are|this is) (?:an? )?(?:safe |purely |strictly )*read[- "
    r"]only\b|"
    r"\bread[- ]only (?:operation|call|tool|preview)\b|"
    r"\b(?:nothing|no data|no (?:rows?|records?|files?))(?: \w+){0,4} (?:is|are|will be|gets?) "
    r"(?:changed|modified|deleted|removed|written|altered)\b|"
    r"\bdoes(?: not|n't) (?:change|modify|delete|remove|alter) (?:anything|any data)\b",
    re.IGNORECASE,
)
_UNLESS: Final = re.compile(
    r"\b(?:dry[ -_]?run|unless|if|when|until|before|by default|otherwise|first)\b", re.IGNORECASE
)


_CHANGING: Final = frozenset(("end", "update", "move", "send"))
_TRIES: Final = word_set("preview plan draft check validate estimate simulate test try dry status query search view")


def _harmless(tool: ToolView, named: str) -> Iterator[Hit]:
    """`delete_rows` that says it is read-only."""
    text = tool.description[:MOST_TEXT]
    words = words_of(tool.name)
    changes = named == "delete" or (ACT_OF.get(words[0]) in _CHANGING and _TRIES.isdisjoint(words))
    found = _HARMLESS.search(text) if changes else None
    if found is not None and not _UNLESS.search(text):
        yield Hit(
            "RC207",
            f"the name says {named if named == 'delete' else words[0]}, the description says {quote_text(found[0])}",
            "correct the description, or rename the tool",
            tool.at("description"),
        )


def _put_aside(tool: ToolView, named: str) -> Iterator[Hit]:
    """`delete_note` whose text promises that the note is only put away and comes back."""
    told = tool.description[:MOST_TEXT]
    undone = _UNDONE.search(told) if named == "delete" else None
    told = _DOTTED.sub(" ", told)
    if undone is not None and not _REALLY.search(told) and not any(_chooses(one) for one in tool.top):
        yield Hit(
            "RC207",
            f"the name says {named}, the description {quote_text(undone[0])}",
            "correct the description, or rename the tool",
            tool.at("description"),
        )


_DOTTED: Final = re.compile(r"\b\w{1,40}(?:\.\w{1,40}){1,6}")
"""`note.deleted`: an event."""
_REALLY: Final = re.compile(
    r"\b(?:delet|remov|eras|trash|soft|bin\b|destroy|drop|purg|wip(?:e|ing)|discard|clear|tak(?:e|ing)s? \w+ off)",
    re.IGNORECASE,
)
_UNDONE: Final = re.compile(
    r"\b(?:can|may) (?:(?:always|later|still|easily) )?be (?:undone|reversed|reverted|restored|recovered|brought "
    r"back|\w+ (?:to \w+ )?(?:again|back)\b[^.;\n]{0,20}\b(?:later|any time|anytime|whenever))\b|"
    r"\b(?:is|are) (?:(?:fully|always|easily) )?(?:reversible|recoverable)\b|"
    r"\b(?:nothing|no data) (?:is|gets|will be) (?:lost|erased|destroyed)\b|"
    r"\b(?:stays?|remains?|(?:is|are) (?:kept|left)) (?:where (?:it|they) (?:is|are)|intact|untouched|in place|"
    r"readable|available)\b",
    re.IGNORECASE,
)
"""A promise that nothing is lost."""
_FOR_GOOD: Final = re.compile(
    r"\b(?:deleted|erased|destroyed|removed|discarded|wiped|purged|shredded|lost|gone) (?:for good|for ever|forever|"
    r"permanently|irreversibly|irrevocably)\b|"
    r"\b(?:permanently|irreversibly|irrevocably) (?:deleted|erased|destroyed|removed|discarded|wiped|purged|"
    r"shredded)\b|\b(?:is|are) (?:erased|destroyed|wiped|purged|shredded) (?:along )?(?:with (?:it|them)|too|"
    r"as well)\b|"
    r"\b(?:cannot|can't|can never) be (?:undone|restored|recovered|reversed|brought back)\b",
    re.IGNORECASE,
)
_AT_TIMES: Final = re.compile(
    r"\b(?:if|unless|whether|after|until|before|instead|once|not|never|no longer|without|only|days?|weeks?)\b", re.I
)


def _kept(tool: ToolView) -> Iterator[Hit]:
    """A text that says that a call can be undone, and an argument whose text says that it cannot. Where an argument
    chooses, both may be true."""
    undone = _UNDONE.search(tool.description[:MOST_TEXT])
    if undone is None or _UNLESS.search(tool.description) or any(_chooses(one) for one in tool.top):
        return
    for argument in tool.top:
        for sentence in re.split(r"\.\s|[;\n]", argument.description[:MOST_TEXT]):
            found = _FOR_GOOD.search(sentence)
            if found is not None and not _AT_TIMES.search(sentence):
                yield Hit(
                    "RC207",
                    f"the description says {quote_text(undone[0])}, the text of {quote_name(argument.name)} "
                    f"{quote_text(found[0])}",
                    "make them the same",
                    tool.at("description"),
                )
                return


_FOR_EVER: Final = re.compile(
    r"\b(?:permanently|for ?ever|for good|for life|indefinitely|irrevocably)\b", re.IGNORECASE
)
_LASTING: Final = word_set(
    "until till end ends ending expire expires expiry expiration duration lift second minute hour day week month year"
)
_MOMENT: Final = re.compile(
    r"^\W*(?:the )?(?:date|day|moment|time) (?:on|at|after|until|from) which\b[^.]{0,60}\bends\b", re.I
)
_ENDS_IT: Final = re.compile(
    r"\b(?:last (?:day|date|moment)|until (?:when|which)|(?:after|from) which|ends?|expires?|is lifted|again|how long|"
    r"duration|length|lasts?)\b",
    re.IGNORECASE,
)

_FILTERS: Final = re.compile(r"\b(?:only|if|unless|omit\w*|left out|older|newer|before|0|none|null)\b", re.IGNORECASE)
"""Said of what is chosen, or of an end that may be left out."""


def _ends_after_all(tool: ToolView) -> Iterator[Hit]:
    """`Permanently bars a donor`, beside an argument for the last day of it."""
    text = tool.description[:MOST_TEXT]
    ever = _FOR_EVER.search(re.split(r"[.;\n]", text, maxsplit=1)[0])
    if (
        ever is None
        or _UNLESS.search(text)
        or "delete" in {ACT_OF.get(act_stem(word)) for word in words_of(text[:400])}
    ):
        return
    for one in tool.top:
        said = one.description[:MOST_TEXT]
        named = not _LASTING.isdisjoint(map(singular, words_of(one.name))) or _MOMENT.search(said) is not None
        if named and _ENDS_IT.search(said) and not (_FOR_EVER.search(said) or _FILTERS.search(said)):
            told = f"the description says {quote_text(ever[0])}, and {quote_name(one.name)} says when it ends"
            yield Hit("RC207", told, "make them the same", tool.at("description"))
            return


_REHEARSES: Final = re.compile(
    r"\b(?:preview|dry[- ]run|simulat\w+|draft|rehears\w+|"
    r"(?:nothing|no \w+) (?:is|are|gets?|will be) (?!returned|shown|found|listed)\w+|"
    r"(?:only|just|merely) (?:lists?|shows?|checks?|reports?|returns?|previews?|validates?)|"
    r"(?:makes|does) no(?:t| changes?)\b)",
    re.IGNORECASE,
)
_BY_ITSELF: Final = re.compile(r"\b(?:by default|unless|until you|normally)\b", re.IGNORECASE)
_REHEARSAL: Final = word_set(
    "dryrun preview previewonly simulate simulation simulateonly planonly validateonly checkonly whatif testrun"
)
_EARNEST: Final = word_set("confirm confirmed apply execute commit really")


def _acts_after_all(tool: ToolView) -> Iterator[Hit]:
    """`Only a preview unless you ask for more`, where `dry_run` is false by default."""
    for one in tool.top:
        default, name = one.part.get("default"), joined(one.name)
        if one.kind != "boolean" or not (
            (default is False and name in _REHEARSAL) or (default is True and name in _EARNEST)
        ):
            continue
        for sentence in re.split(r"\.\s|[;\n]", tool.description[:MOST_TEXT]):
            found = _REHEARSES.search(sentence)
            if found is not None and _BY_ITSELF.search(sentence) and not re.search(r"\b(?:no|not) dry", sentence, re.I):
                told = f"the description says {quote_text(sentence.strip())}, and {quote_name(one.name)} is"
                yield Hit("RC207", f"{told} {str(default).lower()} by default", "make them the same", one.path)
                return


def _chooses(argument: Argument) -> bool:
    return argument.kind == "boolean" or bool({"enum", "const", "anyOf", "oneOf"} & argument.schema.keys())


_MADE: Final = word_set("link url token session key signature preview summary screenshot snapshot report")


def is_undone(verb: str, other: str) -> bool:
    """Whether one verb undoes the other: `unmute` and `mute`, `disconnect` and `connect`."""
    return len(verb) > 2 and any(other == before + verb for before in ("un", "dis", "de"))


def act_stem(word: str) -> str:
    """`deletes`, `deleting`, `deleted`: delete."""
    if word in ACT_OF:
        return word
    for ending, put in (
        ("ies", "y"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("es", "e"),
        ("s", ""),
        ("ing", ""),
        ("ing", "e"),
        ("ed", ""),
        ("ed", "e"),
        ("ting", "t"),
    ):
        if word.endswith(ending) and word[: -len(ending)] + put in ACT_OF:
            return word[: -len(ending)] + put
    return word


def _copied(tool: ToolView) -> Iterator[Hit]:
    seen: dict[tuple[object, str], Argument] = {}
    shown: set[str] = set()
    for argument in tool.arguments:
        text = " ".join(argument.description.split()).lower() if "description" in argument.part else ""
        first = seen.setdefault((argument.path[:-1], text), argument)
        if (
            first is not argument
            and (
                (len(text) > 11 and len(re.findall(r"[a-z]+", text)) > 2)
                or (text and _differ_in_number(first, argument))
            )
            and not _is_pair(first, argument)
            and text not in shown
        ):
            shown.add(text)
            yield Hit(
                "RC206", f"{quote_name(first.name)} and {quote_name(argument.name)} have the same description: "
                         f"{quote_text(argument.description)}",
                "describe the difference", argument.path,
            )  # fmt: skip


def _differ_in_number(one: Argument, other: Argument) -> bool:
    """`account1` and `account2`, the same by their texts."""
    words = words_of(one.name)
    both = words[-1:] != words_of(other.name)[-1:] and all(words_of(side.name)[-1].isdigit() for side in (one, other))
    return both and words[:-1] == words_of(other.name)[:-1] and _MORE_OF.isdisjoint(words) and len(words[0]) > 2


def _is_pair(one: Argument, other: Argument) -> bool:
    """Two that are told together: of different types, or the same text names both, or tells the form of a value."""
    text = one.description.lower()
    told = one.kind != other.kind or (one.name.lower() in text and other.name.lower() in text)
    numbered = _NUMBERED.match(one.name) and _NUMBERED.match(other.name) and one.name[:-1] == other.name[:-1]
    return told or (_IS_FORM.search(text) is not None and not numbered)


_NUMBERED: Final = re.compile(r"(?![xyz])[a-z]{1,2}_?\d$", re.IGNORECASE)
"""`t1`: nothing but the text could tell it from `t2`."""
_COUNTS_UP: Final = word_set("other another second first one two the a an of id number 1 2")
_ORDINAL: Final = word_set("second secondary additional another other 2nd")
_MORE_OF: Final = word_set("address line street phone email mail city x y z")


def _second(tool: ToolView) -> Iterator[Hit]:
    """`id` beside `id2`, where no text says what each of them is for."""
    by_name = {(one.path[:-1], one.name): one for one in tool.arguments}
    for other in tool.arguments:
        name = re.sub(r"_?2$", "", other.name)
        one = by_name.get((other.path[:-1], name))
        if one is None or name == other.name or one.kind != other.kind or not _MORE_OF.isdisjoint(words_of(name)):
            continue
        mine, theirs = ({*telling(text)} - _COUNTS_UP for text in (one.description, other.description))
        apart = not _ORDINAL.isdisjoint(words_of(other.description)) and len(mine) > 1
        if mine == theirs and one.description and other.description and len(mine) < 6 and not apart:
            told = f"{quote_name(one.name)} and {quote_name(other.name)} differ in a number alone"
            yield Hit("RC206", f"{told}: {quote_text(other.description)}", "say what each of them is for", other.path)


def _swapped(tool: ToolView) -> Iterator[Hit]:
    """Two texts that were swapped: `sourceText`, `The translation`, beside `translatedText`, `The original`."""
    strings = [one for one in tool.arguments if one.kind == "string" and one.description][:_MOST_COMPARED]
    for one, other in permutations(strings, 2):
        mine, theirs = ([*map(stem, words_of(arg.name))] for arg in (one, other))
        if one.path[:-1] != other.path[:-1] or mine[-1:] != theirs[-1:] or len(mine) != 2 or len(theirs) != 2:
            continue
        told, beside = (_head_of(arg.description) for arg in (one, other))
        turned = _begins_with(told, theirs[:1]) and not _begins_with(told, mine[:1])
        if turned and _begins_with(beside, [mine[0], *_same_side(words_of(one.name)[0])]):
            yield Hit(
                "RC208",
                f"{quote_name(one.name)} is described as {quote_name(other.name)} is called: "
                f"{quote_text(one.description)}",
                "correct the description",
                one.path,
            )
            return


_MOST_COMPARED = 40
_CLAUSE: Final = re.compile(r"\b(?:that|which|who|to|for|of|in|from|with|when|as|by)\b|[^\w\s'-]")


def _head_of(text: str) -> list[str]:
    """The words that a text begins with, up to the first clause."""
    return telling(_CLAUSE.split(text[:_HEAD])[0])


_HEAD = 80


def _begins_with(words: Sequence[str], names: Sequence[str]) -> bool:
    return any(stem(word)[:_SAME] == name[:_SAME] for word in words for name in names)


def _same_side(word: str) -> list[str]:
    """Words for the same end: `origin`, of `source`."""
    return [name for pair in _SIDES for side in map(str.split, pair) if word in side for name in side]


_SAME = 6
_IS_FORM: Final = re.compile(
    r"\bhex\b|\bdigits?\b|\bseparated\b|\b(?:list|array) of\b|\bformat|yyyy|\biso \d|"
    r"\bin (?:pixels|points|seconds|percent|degrees)\b|\be\.g\.|\bor [`'\"]"
)


def _argument_description(argument: Argument) -> Iterator[Hit]:
    text = argument.description.strip()
    if not text:
        return
    if _is_placeholder(text) and argument.name.lower() not in words_of(text):
        yield Hit(
            "RC211",
            f"the description of {quote_name(argument.name)} is a placeholder: {quote_text(text)}",
            "write the description",
            argument.path,
        )
        return
    opposite = _opposite(argument.name, text) or _paged(argument, text) or find_turned(argument, text)
    if opposite is not None:
        yield Hit(
            "RC208",
            f"{quote_name(argument.name)} is described as {quote_text(opposite)}: {quote_text(text)}",
            "correct the description",
            argument.path,
        )
    else:
        yield from find_kind(argument, text)
    told = telling(text)
    named = {singular(word) for word in words_of(argument.name)}
    empty = argument.kind in ("integer", "number") and named <= _NUMBERS and named.issuperset(told)
    if empty and _FORM.isdisjoint(argument.schema):
        yield Hit(
            "RC211",
            f"the description of {quote_name(argument.name)} says nothing: {quote_text(text)}",
            "say what is counted or measured, and in which unit",
            argument.path,
        )
    if (
        len(told) < 4
        and all(word in named for word in told)
        and argument.kind == "string"
        and _FORM.isdisjoint(argument.schema)
        and not _SHOWS_FORM.search(text)
    ):
        yield Hit(
            "RC205",
            f"the description of {quote_name(argument.name)} repeats its name: {quote_text(text)}",
            "say which form the value has",
            argument.path,
        )


_NUMBERS: Final = word_set("value number quantity figure reading level measure measurement")
"""Names of numbers that leave open of what."""
_SHOWS_FORM: Final = re.compile(r"\([^()\s]*[_…*#:/.-][^()\s]*\)")
"""`Price ID (price_...)`"""
_FORM: Final = word_set("enum const format pattern")
"""Keywords that say which form a value has."""


_FIRSTS: Final = word_set("start begin beginning from")
_LASTS: Final = word_set("end ending finish to until")
_MOMENTS: Final = word_set("day date time moment hour month year week night minute")
"""`start_date`, the last day of the trip."""


def _opposite(name: str, text: str) -> str | None:
    """The word of a description that tells the opposite of the name."""
    named, told = (
        set(words_of(name)),
        [word.strip(".,:;()'\"`").lower().removesuffix("'s") for word in text[:200].split()][:10],
    )
    if len(told) < 2 or told[0] in ("like", "same", "see", "as") or not text[:20].isascii():
        return None  # of another language, an English word is the name of something else
    clause = next((at for at, word in enumerate(told) if at and word in ("that", "which", "where", "whose", "when")), 4)
    begins = told[: min(clause, 4)]
    for mine, contrary in ((_FIRSTS, "last final latest"), (_LASTS, "first earliest")):
        found = next((word for word in begins[:2] if word in contrary.split()), None)
        if found is not None and named & mine and not named & {*contrary.split()} and _MOMENTS & {*begins}:
            return found
    for one, other in _SIDES:
        for mine, theirs in ((one.split(), other.split()), (other.split(), one.split())):
            if named & {*mine} and not named & {*theirs} and not {*told} & {*mine}:
                found = next((word for word in begins if word in theirs), None)
                if found is not None:
                    return found
    return None


_SIZES: Final = word_set("limit count size pagesize perpage maxresults maxitems top take")
_PAGES: Final = word_set("page pageno pagenumber pageindex offset pageoffset")
_THINGS = r"(?:results|items|rows|entries|records|hits|matches|documents|messages|elements|objects|lines)"
_IS_PAGE: Final = re.compile(
    r"(?:(?:which|what) (?:[\w-]+ )?page\b|(?:(?:one|zero|[01])-based )?page (?:number|index|to (?:return|fetch|get|"
    r"show|load|start))\b|(?:number|index) of (?:[\w-]+ )?page\b)",
    re.IGNORECASE,
)
_IS_SIZE: Final = re.compile(
    rf"(?:(?:max(?:imum)? |largest |greatest |total )?(?:number|count) of (?:[\w-]+ )?{_THINGS}"
    r"(?! (?:to skip|skipped|before))|"
    rf"how many (?:[\w-]+ )?{_THINGS}(?! (?:to skip|are skipped))|{_THINGS} (?:per|on each|on a) page)",
    re.IGNORECASE,
)


_IS_OFFSET: Final = re.compile(rf"(?:number of|how many) (?:[\w-]+ )?{_THINGS} to skip\b", re.IGNORECASE)


def _paged(argument: Argument, text: str) -> str | None:
    """What a text begins with that is about the page where the name says how many, or the other way round."""
    if argument.kind not in ("integer", "number"):
        return None
    name, told = joined(argument.name), bare(text)
    found = _IS_PAGE.match(told) if name in _SIZES else _IS_SIZE.match(told) if name in _PAGES else None
    found = found or (_IS_OFFSET.match(told) if name in _SIZES else None)
    return found[0] if found is not None else None


# ── cut off ──

_LAST = 160
"""Characters at the end of a text that are read."""
_LEAST_WORDS = 6
_OPEN_END: Final = re.compile(
    r"(?:,|\b(?:the|an|and|or|but|because|which|whose|such as|in the format|(?:is|are) only|left is|"
    r"(?:can|may|must|will|cannot|should) be|"
    r"(?:have|has|need|needs|ought|are|is) to(?: be)?|(?:is|of|to|for|"
    r"with|by|"
    r"in|from|as) a))$"
)
"""Words that no sentence ends with. Small letters alone: `A` and `THE` may be names."""
_ASKS: Final = re.compile(r"\b(?:where|what|how|who|whom|as|than|why|like)\b[^,;.]{0,60}$", re.IGNORECASE)
"""Before a verb that may be the last word: `where the room should be`."""
_JOINS: Final = re.compile(r"\b(?:and|or)\b ?(?:/|,|or\b|and\b) ?(?:and|or)$")
"""`and / or`, two words that are meant."""
_ELLIPSIS: Final = re.compile(r"\s?(?:…|\.\.\.)$")
_ENGLISH: Final = re.compile(r"\b(?:the|to|for|with|is|are|of)\b")
_CODE: Final = re.compile(r"[{}=<>|]|https?://")


def _find_cut(tool: ToolView) -> Iterator[Hit]:
    """The description of the tool, and the first of those of its arguments that was cut off."""
    texts = [(tool.at("description"), tool.description)]
    texts += [((*one.path, "description"), one.description) for one in tool.arguments if "description" in one.part]
    for path, text in texts:
        ends = text.rstrip()[-_LAST:]
        line = ends.rsplit("\n", 1)[-1]
        if len(text.split()) >= _LEAST_WORDS and _is_cut(line) and _ENGLISH.search(ends):
            told = f"the text stops in the middle of a sentence: {quote_text(line[-40:])}"
            yield Hit("RC213", told, "write the rest of it", path)
            return


def _is_cut(line: str) -> bool:
    line = _ELLIPSIS.sub("", line)
    if not line.isascii() or _CODE.search(line) or len(line.split()) < _LEAST_WORDS:
        return False
    found = _OPEN_END.search(line) if not _JOINS.search(line) else None
    asked = found is not None and found[0].endswith((" be", " to")) and _ASKS.search(line[: found.start()])
    return found is not None and not asked
