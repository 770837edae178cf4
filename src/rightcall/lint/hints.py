"""RC8xx: annotations of MCP that contradict the tool, or that no host understands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rightcall.catalog.tidy import as_list
from rightcall.gate.repair.words import singular, words_of
from rightcall.lint.definitions import ToolView
from rightcall.lint.findings import Hit, quote_name, quote_text, word_set

HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_KNOWN: Final = frozenset((*HINTS, "title", "audience", "priority", "lastModified"))
_CHANGES: Final = word_set(
    "delete remove erase destroy drop purge wipe create insert update modify rename write edit send publish "
    "upload append reset revoke kill terminate cancel archive rollback truncate overwrite deploy install uninstall"
)  # fmt: skip
_UNDONE: Final = word_set(
    "connect activate link assign mount publish subscribe register enroll install arm pair mute follow pin star share "
    "archive commission list authorize qualify allocate schedule engage deploy associate band friend"
)
_ENDS: Final = word_set(
    "suspend evict expel eject dismiss detach dispense shutdown withdraw redeem escalate "
    "reinstate reschedule evacuate depose demote"
).union(negation + verb for negation in ("dis", "de", "un") for verb in _UNDONE)
"""Verbs that end or turn round a state: `disconnect`, `unlink`, `evict`."""
_FIRST: Final = _ENDS | word_set(
    "add set move clear merge assign approve reject disable enable freeze unfreeze lock unlock block unblock transfer "
    "pay charge refund submit post invite grant ban pause resume restart stop reboot replace apply"
)
"""Verbs of change that are also nouns: only the first word of a name counts."""
_ANY: Final = word_set("execute exec run perform batch bulk manage save sync")
"""Verbs that may do anything with what follows."""
_DERIVED: Final = word_set(
    "plan preview summary report draft chart diagram graph url link query prompt schema estimate quote signature "
    "embedding embeddings image snippet template outline config configuration script screenshot snapshot thought text "
    "instructions guide help"
)
"""What can be made without changing anything."""
_ASKS: Final = word_set("prompt query request requests question ping echo packet packets probe probes")
_DELETES: Final = frozenset(["delete", "erase", "destroy", "drop", "purge", "wipe", "truncate"])
_READS: Final = word_set("get list read search find show describe count fetch query lookup view")
_REPEATS: Final = frozenset(["send", "append", "increment", "enqueue", "charge", "pay"])


def check(tool: ToolView) -> Iterator[Hit]:
    hints, place = tool.annotations, ("annotations",)
    words = words_of(tool.name)
    if not hints:
        if tool.shape == "mcp" and "annotations" not in tool.raw:
            yield Hit("RC806", "no annotations", "say at least `readOnlyHint`", tool.at("name"))
        return
    yield from _spelling(tool)
    verb = _verb(words)
    if verb and verb not in words[:2] and not _tells_verb(tool.description, verb):
        verb = ""  # `cli_install` that tells how to install: a noun
    read_only = hints.get("readOnlyHint")
    told = list[Hit]()
    if read_only is True and not _only_reads(words, tool.description):
        told = [*_contradicted(tool, words, verb)]
        yield from told
    if read_only is True and not told and words[-1:] and words[-1] not in _READERS:
        aside = _changed_by_text(tool.description)
        if not aside and not _only_reads(words, tool.description):
            aside = _erased_for_good(tool.description, words)
    else:
        aside = ""
    if aside:
        yield Hit(
            "RC801",
            f"`readOnlyHint` is true, and the description says {quote_text(aside)}",
            "set it to false, or correct the description",
            (*place, "readOnlyHint"),
        )
    yield from _destroys(tool, words, verb)
    world = _reached(tool.description) if hints.get("openWorldHint") is False else ""
    if world:
        yield Hit(
            "RC808",
            f"`openWorldHint` is false, and the description says {quote_text(world)}",
            "set it to true",
            (*place, "openWorldHint"),
        )
    again = _AGAIN.search(tool.description)
    if (
        hints.get("idempotentHint") is True
        and read_only is not True
        and (verb in _REPEATS or again is not None or _told_verb(tool.description).removesuffix("s") in _REPEATS)
        and not any("idempot" in one.name.lower() for one in tool.top)
    ):
        yield Hit(
            "RC807",
            f"`idempotentHint` is true, and {quote_name(tool.name)} says {quote_text(again[0] if again else verb)}",
            "set it to false",
            (*place, "idempotentHint"),
        )


def _destroys(tool: ToolView, words: tuple[str, ...], verb: str) -> Iterator[Hit]:
    """`destructiveHint` beside what the name and the text say."""
    read_only, destructive = tool.annotations.get("readOnlyHint"), tool.annotations.get("destructiveHint")
    place = ("annotations",)
    erases = _chosen_erasure(tool)
    if erases and (read_only is True or destructive is False) and not destructive:
        yield Hit(
            "RC801" if read_only is True else "RC802",
            f"`{'readOnlyHint` is true' if read_only is True else 'destructiveHint` is false'}, and {erases}",
            "set it to false, or make a tool of its own of what erases" if read_only is True else "set it to true",
            (*place, "readOnlyHint" if read_only is True else "destructiveHint"),
        )
        return
    if read_only is True and destructive is True:
        yield Hit(
            "RC803",
            "read-only and destructive at the same time",
            "keep the one that is right",
            (*place, "destructiveHint"),
        )
    elif (
        destructive is False
        and read_only is not True
        and (says := verb if verb in _DELETES else _erased_for_good(tool.description, words))
    ):
        yield Hit(
            "RC802",
            f"`destructiveHint` is false, and {quote_name(tool.name)} says {quote_text(says)}",
            "set it to true",
            (*place, "destructiveHint"),
            certain="cache" not in words and "caches" not in words,  # it comes again by itself
        )
    elif (
        destructive is True
        and not erases
        and verb in _READS
        and not (_CHANGES | _FIRST | _ANY) & {*words}
        and not _SAYS_ANY.search(tool.description)
        and not _KEEPS.search(tool.description)
    ):
        yield Hit(
            "RC805",
            f"`destructiveHint` is true, and {quote_name(tool.name)} says {quote_text(verb)}",
            "set `readOnlyHint` to true",
            (*place, "destructiveHint"),
        )
    elif (
        destructive is True
        and not erases
        and (reads := _TELLS_READS.match(tool.description))
        and not _tells_change(tool, words)
    ):
        yield Hit(
            "RC805",
            f"`destructiveHint` is true, and the description only says {quote_text(reads[0].strip())}",
            "say what it changes, or set `readOnlyHint` to true",
            (*place, "destructiveHint"),
        )


_CHOICE_OF_ACT: Final = word_set("action operation command op act verb")
_ERASES: Final = _DELETES | word_set("remove clear reset")


def _chosen_erasure(tool: ToolView) -> str:
    """What an argument such as `action` can choose that erases something, as a finding says it; empty where nothing."""
    for one in tool.top:
        if words_of(one.name)[-1:] and words_of(one.name)[-1] in _CHOICE_OF_ACT:
            for value in as_list(one.schema.get("enum")):
                if isinstance(value, str) and words_of(value)[:1] and words_of(value)[0] in _ERASES:
                    return f"{quote_name(one.name)} can be {quote_text(value)}"
    return ""


_KEEPS: Final = re.compile(r"\b(?:saves?|writes?|stores?|downloads?)\b", re.IGNORECASE)


def _tells_change(tool: ToolView, words: tuple[str, ...]) -> bool:
    """Whether name or text has a word for a change, or for what may do anything."""
    acts = tuple(_CHANGES | _FIRST | _ANY)
    told = (*words, *words_of(tool.description[:2_000]))
    return any(word.startswith(acts) for word in told) or _SAYS_ANY.search(tool.description) is not None


_AGAIN: Final = re.compile(
    r"\b(?:each|every) (?:further |new )?call (?:adds|creates|sends|takes|charges|appends|inserts|books|counts)\b|"
    r"\bcalling (?:it|this)(?: tool)? (?:twice|again) (?:adds|creates|sends|takes|charges|appends|inserts|books)\b|"
    r"\b(?:adds|creates|sends|appends|inserts|books|charges)\b[^.\n]{0,30}\b(?:on |with |at )?(?:each|every) (?:call|"
    r"time)\b|"
    r"\bnot idempotent\b",
    re.IGNORECASE,
)
_PLACE = r"(?:web ?sites?|web ?pages?|urls?|(?:web|internet) address(?:es)?|pages? (?:on|of) the (?:web|internet))"
_WORLD = r"(?:the )?(?:live |public |open |entire |whole )?(?:web|internet)"
_NO_PART = r"(?![- ](?:app|application|page|server|interface|log|console|ui|client|element|hook|socket|component)s?\b)"
_GETS = r"(?:fetch|download|scrape|crawl|retrieve|load|browse|visit|read|get|extract)(?:e?s|ing)?"
_REACHES: Final = re.compile(
    rf"\b(?:search(?:es|ing)?|brows(?:es?|ing)|crawl(?:s|ing)?) (?:across |through )?{_WORLD}\b{_NO_PART}|"
    rf"^\W*(?:performs?|runs?|does|do|makes?) (?:an? )?(?:\w+ )?(?:web|internet) search(?:es)?\b|"
    rf"\b{_GETS}\b[^.\n]{{0,60}}\b(?:from|of|at|on) (?:{_WORLD}\b{_NO_PART}|"
    rf"(?:any|arbitrary|an arbitrary|public|a public)(?: \w+)? {_PLACE})|"
    rf"^\W*{_GETS} (?:the )?(?:(?:main |full |raw )?(?:contents?|text|html|markdown) (?:of|from) )?"
    rf"(?:an?|any|one or more) (?:public |remote |given |arbitrary )?(?:{_PLACE})\b"
    r"(?! (?:of|to|for|that|in|into|parameter|list)\b)",
    re.IGNORECASE,
)
_AT_HOME: Final = re.compile(
    r"\b(?:local|locally|localhost|offline|cached|intranet|internal|snapshot|stored|saved|indexed|archived|sandbox\w*|"
    r"configured|allow-?listed|whitelisted)\b",
    re.IGNORECASE,
)


def _reached(text: str) -> str:
    """What a text says of the world that its tool reaches: any page, the whole web."""
    for sentence in re.split(r"[.;!]\s+|\n", text[:2_000]):
        found = _REACHES.search(sentence)
        if found is not None and not _IF_AT_ALL.search(sentence[: found.start()]) and not _AT_HOME.search(sentence):
            return found[0].strip()
    return ""


_READERS: Final = word_set("reader viewer inspector finder explorer lookup")
_SAYS_READS: Final = re.compile(r"\bread[- ]?only\b|\b(?:no|without) side effects\b", re.IGNORECASE)
_SAYS_ANY: Final = re.compile(
    r"\b(?:SQL|cypher|statements?|mutations?|commands?|scripts?|writes?|delet\w+|modif\w+|updat\w+|remov\w+)\b",
    re.IGNORECASE,
)
"""Words of a query that may change something, too."""
_TELLS_READS: Final = re.compile(
    r"\W*(?:get|list|return|retrieve|fetch|show|search|find|check|read|view|look|quer|display|describe|preview|"
    r"validate|analy[sz]e|compute|calculate|estimate|explain|count|inspect)(?:e?s|ies|y|ing)?\b",
    re.IGNORECASE,
)


def _only_reads(words: tuple[str, ...], text: str) -> bool:
    """Whether the name ends in what only reads (`archive_reader`), or the text says or begins with it: `block_height`
    that returns a number blocks nobody."""
    return (bool(words) and words[-1] in _READERS) or any((_SAYS_READS.search(text), _TELLS_READS.match(text)))


_SAYS_CHANGE: Final = re.compile(
    rf"\b(?<!how )to (?:{'|'.join(sorted(_CHANGES | _FIRST))})\b|"
    rf"^\W*(?:\w+ly )?(?:{'|'.join(sorted(_CHANGES))})(?:s|es)\b",
    re.IGNORECASE,
)
"""`Use it to update a profile`"""


_REPLACES: Final = re.compile(
    r"\b(?<!that )(?<!which )(?<!not )\w+ (?:is|are|will be|gets?) (?:then |also |permanently )?overwritten\b|"
    r"\b(?:is|are|will be) permanently (?:deleted|removed|erased)\b",
    re.IGNORECASE,
)


def _contradicted(tool: ToolView, words: tuple[str, ...], verb: str) -> Iterator[Hit]:
    """What is declared to read only, and changes something by its name or by its text."""
    place, told = ("annotations", "readOnlyHint"), _told_verb(tool.description)
    makes = "create" in (verb, told.removesuffix("s")) or "write" in (verb, told.removesuffix("s"))
    if makes and not _DERIVED.isdisjoint((*words[-1:], *words_of(tool.description[:60])[:8])):
        return
    named = verb in _CHANGES | _FIRST and (
        (verb in _CHANGES - _NOUNS and verb == words[0])
        or _tells_verb(tool.description, verb)
        or (verb == words[0] and _SAYS_CHANGE.search(tool.description[:200]) is not None)
    )
    if named:
        yield Hit(
            "RC801",
            f"`readOnlyHint` is true, and {quote_name(tool.name)} says {quote_text(verb)}",
            "set it to false, or rename the tool",
            place,
        )
    elif (replaced := _REPLACES.search(tool.description)) is not None:
        yield Hit(
            "RC801",
            f"`readOnlyHint` is true, and the description says {quote_text(replaced[0])}",
            "set it to false, or correct the description",
            place,
        )
    elif told:
        yield Hit(
            "RC801",
            f"`readOnlyHint` is true, and the description begins with {quote_text(told)}",
            "set it to false, or correct the description",
            place,
        )


_ADVERBS = r"(?:(?:then|also|first|both|\w+ly) ){0,2}"
_IS_CHANGED: Final = re.compile(
    rf"\b(?:is|are|will be|gets?) {_ADVERBS}(?:overwritten|removed|deleted|erased|replaced|wiped|purged|emptied|"
    r"cleared|reset|sent(?! (?:by|from)\b)|set (?:back )?to\b)",
    re.IGNORECASE,
)
"""What happens to things, wherever a text says it."""
_CHANGES_THEM: Final = re.compile(
    rf"(?:\b(?:and|then) {_ADVERBS}(?:(?:set|reset|delete|remove|clear|overwrite|erase|wipe|increment|archive|lock|"
    rf"close|consume|acknowledge)s?|"
    r"marks|advances)|"
    r"^\W*(?:it )?(?:also )?(?:deletes|removes|clears|overwrites|erases|wipes|purges|resets|"
    r"sends|emails|publishes|uploads|cancels)) (?:it|them|the|all|any|each|every|old|existing)\b",
    re.IGNORECASE,
)
_IF_AT_ALL: Final = re.compile(
    r"\b(?:that|which|who|whose|when|if|whether|once|unless|until|after|before|where|because|since|why|how|what|not|"
    r"never|no|without|would|could|can|may|might|must|should|previously|already|recently|only|cannot|"
    r"(?:from|in) (?:the )?(?:output|result|response|answer|returned)|dry[- ]run|preview|simulat\w*|example|e\.?g)\b",
    re.IGNORECASE,
)
"""Before or behind it: said of what is read, or of another time."""
_OF_RESULT: Final = re.compile(
    r"\b(?:results?|output|response|answer|duplicates?|whitespace|markup|tags|characters|lines|fields?|values?|"
    r"columns?|"
    r"prefix|suffix|spaces|accents|quotes|units|images?|ads|boilerplate|scripts?|noise|markdown|html|null|nulls|limit|"
    r"cursor|default|request|query)\b",
    re.IGNORECASE,
)
"""What a reading tool drops from its own answer."""


_OF_ITSELF: Final = re.compile(
    r"\b(?:this|the|these) (?:\w+ )?(?:tool|endpoint|method|function|command|operation|feature|api|argument|parameter|"
    r"option|alias)s? (?:(?:is|are|was|has been|have been) (?:going to be |being |now )?|will (?:soon )?(?:be )?)\w+|"
    r"\bdeprecat\w+",
    re.IGNORECASE,
)
"""What becomes of the tool: `This tool will be removed in version 2`."""


_LETTERS: Final = re.compile(
    r"\b(?:e-?mails?|messages?|mails?|notifications?|sms|letters?|invitations?|invites?|alerts?|reminders?|invoices?|"
    r"parcels?|orders?|requests?|copies|copy)\b",
    re.IGNORECASE,
)


_RUNS_STATEMENTS: Final = re.compile(
    r"\b(?:INSERT|UPDATE|DELETE|DROP|DDL|DML)\b[^.;\n]{0,60}\b(?:are|is|will be) (?:also |then )?(?:\w+ly )?"
    r"(?:committed|executed|run|applied)\b"
)
"""`UPDATE and DELETE are committed at once`"""


def _changed_by_text(text: str) -> str:
    """What a text says in passing that its tool does to things; empty where nothing, or where it denies it. Of a tool
    that begins with reading, only what it does itself counts: `Returns the counter and sets it to zero`."""
    if _SAYS_READS.search(text):
        return ""
    reads = _TELLS_READS.match(text) is not None
    for sentence in re.split(r"[.;!]\s+|\n", text[:2_000]):
        if _OF_ITSELF.search(sentence):
            continue
        found = _CHANGES_THEM.search(sentence) or _RUNS_STATEMENTS.search(sentence)
        if found is None or _IF_AT_ALL.search(sentence[: found.start()]):
            found = None if reads or _IF_AT_ALL.search(sentence) else _IS_CHANGED.search(sentence)
        if found is not None and found[0].endswith("sent") and not _LETTERS.search(sentence[: found.end()]):
            found = None  # `values are sent as given`
        if found is not None and not _OF_RESULT.search(sentence):
            return sentence[max(0, found.start() - 24) : found.end()].split(" ", found.start() > 24)[-1]
    return ""


_FOR_GOOD: Final = re.compile(
    rf"\b(?:permanently|irreversibly|irrevocably) {_ADVERBS}(?:erase|delete|destroy|remove|wipe|purge)[sd]?\b|"
    rf"\b(?:is|are|will be) {_ADVERBS}(?:erased|deleted|destroyed|wiped|purged)\b[^.\n]{{0,30}}\b(?:for good|forever|"
    r"permanently|cannot be (?:undone|restored|recovered))\b|"
    r"\b(?:all|any|every|everything|whatever)\b[^.\n]{0,60}\b(?:is|are|will be) (?:lost|gone)\b|"
    r"\b(?:is|are|will be|be) (?:lost|gone) (?:for good|forever|permanently)\b|"
    r"\boverwrit(?:es?|ing) (?:all |any )?(?:the |its |your )?(?:existing|current|previous|old) (?:data|contents?|"
    r"files?|records?|rows?|tables?|entries|entry|documents?|database|values?|versions?|one)\b|"
    r"^\W*(?:\w+ly )?(?:erase|wipe|destroy|purge|delete)s? (?:all|every|everything|the (?:whole|entire))\b|"
    r"^\W*(?:\w+ly )?(?:overwrite|wipe|erase|truncate)s? (?:the|all|any|an?|every|existing|whatever)\b|"
    r"^\W*(?:replace|discard)s? (?:(?:the )?(?:whole|entire|complete|existing|current)|all|every)\b|"
    r"(?:\b(?:and|then)|,) (?:overwrites|wipes|erases|destroys|purges) (?:the|all|any|every|existing|whatever)\b|"
    rf"\b(?:existing|current|previous|old|earlier|former|stored)\b[^.\n]{{0,50}}\b(?:is|are|will be|gets?) {_ADVERBS}"
    r"(?:overwritten|replaced|discarded|erased|wiped|dropped|lost)\b|"
    rf"\b(?:is|are|will be|gets?) {_ADVERBS}(?:overwritten|erased|wiped)\b|"
    r"\b(?:cannot|can not|can't|can never) be (?:restored|recovered|brought back|retrieved|got back)\b|"
    r"\b(?:reset|resets|resetting|restore[sd]?|set back|returns?)\b[^.\n]{0,40}\bto (?:its |the |their )?factory\b|"
    r"\b(?:that|which|who) (?:are|is|were) (?:not|no longer|missing)\b[^.\n]{0,40}\b(?:are|is|will be) (?:removed|"
    r"deleted|"
    r"dropped)\b|"
    r"\bfactory[- ]resets?\b|\b(?:reformats?|formats) (?:the|a|an|its) (?:\w+ )?(?:disk|drive|card|volume|partition|"
    r"stick)\b|"
    r"\bempties (?:the|a|an|its|all) (?:\w+ )?(?:table|queue|bucket|index|basket|mailbox|database|collection|list|"
    r"bin|folder)\b|\bno (?:way|means) (?:back|to (?:get|bring|restore|recover))\b|"
    r"\b(?:is|are|will be) (?:removed|taken away|cleared|dropped|closed) (?:for good|forever|permanently|"
    r"irrevocably)\b",
    re.IGNORECASE,
)
_NO_LOSS: Final = re.compile(
    r"\bcach(?:e|es|ed|ing)\b|\b(?:temporary|temp|draft|selection|filters?|highlights?|backup is (?:kept|made)|"
    r"undo|recycle bin|trash|instead of|rather than|avoid\w*|prevent\w*)\b",
    re.IGNORECASE,
)
"""What is made anew, or kept elsewhere."""
_DENIED: Final = re.compile(
    r"\b(?:not|never|no|nothing|none|without|if|unless|when|until|whether|would|already)\b", re.I
)
"""Before a loss. It may be one of things `that came in today`."""
_NOT_UNDONE: Final = re.compile(
    r"\b(?:this|it|that|(?:the|this) (?:action|operation|change|step|process|restore|reset))(?: action| operation)? "
    r"(?:cannot|can not|can't|can never) be (?:undone|reversed|reverted)\b(?! by\b)|\bthis (?:\w+ )?is irreversible\b",
    re.IGNORECASE,
)
_ADDS: Final = word_set(
    "send post publish pay transfer submit create add make mint sign book buy order place reply invite charge refund "
    "share upload issue commit vote register stake broadcast approve accept"
)
"""Verbs of what cannot be taken back and destroys nothing."""


def _erased_for_good(text: str, words: tuple[str, ...]) -> str:
    """What a text says that its tool destroys; `words` are those of its name."""
    begins = re.match(
        r"\W*(?:\w+ly )?((?:delete|erase|destroy|wipe|purge)s? (?:all|the|every|an?|any|one)\b)", text, re.I
    )
    if begins is not None and re.search(r"\bcannot be undone\b|\birreversibl|\bpermanent|\bfor good\b", text, re.I):
        return begins[1]
    for sentence in re.split(r"[.;!]\s+|\n", text[:2_000]):
        found = _FOR_GOOD.search(sentence)
        if found is None or _NO_LOSS.search(sentence) or _OF_ITSELF.search(sentence):
            continue
        unsure = _DENIED if re.search(r"\b(?:lost|gone)\b|\bcan", found[0], re.IGNORECASE) else _IF_AT_ALL
        if not unsure.search(sentence[: found.start()]):
            return found[0]
    undone = _NOT_UNDONE.search(text[:2_000])
    first = next((singular(word) for word in words_of(text[:60]) if not word.endswith("ly")), "")
    return undone[0] if undone is not None and first not in _ADDS and not _ADDS & {*words[:2]} else ""


def _tells_verb(text: str, verb: str) -> bool:
    """Whether a description begins with a verb: `Deletes a branch`, and not `Upload history of a channel`."""
    words = [word for word in words_of(text[:60]) if not word.endswith("ly")] or [""]
    noun = words[0] == verb and bool(words[1:2]) and words[1] in _TOLD_OF
    return words[0].startswith(verb[:-1]) and not noun


def _told_verb(text: str) -> str:
    """The verb that a description begins with, where it changes something."""
    words = [word for word in words_of(text[:60]) if not word.endswith("ly")] or [""]
    first = words[0]
    if first in _NOUNS and (len(words) < 2 or words[1] not in _DETERMINERS):
        return ""  # `Archive entries of a day`, `Update history of a package`
    if not _ASKS.isdisjoint(words[1:4]):
        return ""  # `Send a query`: it asks
    bases = {
        first,
        first.removesuffix("s"),
        first.removesuffix("es"),
        first.removesuffix("ies") + "y",
        first.removesuffix("ing"),
        first.removesuffix("ing") + "e",
    }
    switches = _SWITCHES.match(text)
    return first if bases & (_CHANGES | _ENDS) else switches[1] if switches is not None else ""


_SWITCHES: Final = re.compile(
    r"\W*(?:\w+ly )?((?:shut|turn|switch|power)(?:e?s)? (?:the \w+ )?(?:on|off|down)|cuts? (?:the \w+ )?off)\b",
    re.IGNORECASE,
)


_NOUNS: Final = word_set(
    "archive archives update updates upload uploads reset deploy deploys install installs edit edits"
)
_TOLD_OF: Final = word_set(
    "history status info information times guide log logs list count stats statistics details data entries results "
    "requests events metadata schedule schedules records of for in from"
)
"""Behind a word that is also a verb: then it is a noun, as in `upload history`."""
_DETERMINERS: Final = word_set("a an the one all this your its new existing some any specific multiple")


def _verb(words: tuple[str, ...]) -> str:
    """The verb of a name: the first word, or the second behind a prefix."""
    if words and words[0] in _FIRST:
        return words[0]
    for word in words[:2]:
        if word in _CHANGES or word in _READS or word in _REPEATS:
            return word
    last = words[-1] if words else ""
    return last if last in _CHANGES and len(words) > 1 else ""


def _spelling(tool: ToolView) -> Iterator[Hit]:
    by_letters = {name.lower(): name for name in HINTS}
    by_letters |= {name.lower().removesuffix("hint"): name for name in HINTS}
    for key, value in tool.annotations.items():
        right = by_letters.get(key.replace("_", "").replace("-", "").lower())
        if key not in _KNOWN and right is not None:
            yield Hit("RC804", f"{quote_name(key)} is not an annotation", f"write `{right}`", ("annotations", key))
        elif key in HINTS and not isinstance(value, bool):
            yield Hit(
                "RC804",
                f"`{key}` is {quote_text(str(value))}, not true or false",
                "write true or false",
                ("annotations", key),
            )
