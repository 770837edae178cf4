"""RC7xx: texts that work on the model instead of describing the tool, and what should not be in a definition at all.

Descriptions go into the prompt of every request. Whoever writes one can tell the model to do something else, and the
person at the screen seldom sees it. So every text is read to its end: every expression takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rightcall.lint import encoded, hidden, markup
from rightcall.lint.conversation import wants_conversation
from rightcall.lint.definitions import ToolView
from rightcall.lint.errands import find_devalued, find_handed_file
from rightcall.lint.findings import Hit, Steps, quote_text
from rightcall.lint.orders import find_order
from rightcall.lint.readings import prose_of, readings, texts_of
from rightcall.lint.steering import PRECEDES

_ORDERS: Final = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{0,30}\b(?:previous|prior|above|earlier|preceding|"
    r"existing|other|system|safety|all|your|any)\b[^.\n]{0,20}\b(?:instructions?|prompts?|guidelines)\b"
    r"|\b(?:ignore|disregard|forget|bypass)\b[^.\n]{0,30}\b(?:previous|prior|above|earlier|preceding|system|safety|"
    r"your)\b[^.\n]{0,20}\b(?:rules|messages|context|restrictions|policies)\b"
    r"|\b(?:do not|don't|never|must not|should not|without)\b(?! (?:use|call|invoke|run|need)\b)"
    r"[^.\n]{0,24}\b(?:tell|telling|inform|informing|"
    r"mention|mentioning|reveal|revealing|notify|notifying|disclose|disclosing|alert|alerting|warn|show|showing|"
    r"ask|asking|report|reporting)\b[^.\n]{0,24}\b(?:the |your )?(?:user|human|operator|person|anyone|anybody|"
    r"owner|customer)\b(?! (?:for|to|which|what|if|whether|about (?:the )?(?:details|parameters)|"
    r"(?:that )?(?:an?|one) [\w\s]{2,30}(?:was|were|is|has been)\b))"
    r"|\b(?:user|human|operator) (?:(?:must|should|may)(?: not| never|n't)|(?:does not|doesn't) need to|need not|"
    r"needn't) (?:know|see|notice|be told|be informed|be aware|find out)\b"
    r"|\b(?:no need|need not|needn't|(?:not|n't) (?:need|have)) (?:to )?(?:tell|inform|mention|reveal|notify|"
    r"disclose)\b(?: (?:this|it|that|anything))?(?: (?:to|of|about))? (?:the |your )?(?:user|human|operator|person|"
    r"anyone|anybody)\b(?= (?:about|of) (?:this|it|that)\b|\s*(?:[.;)!]|$))"
    r"|\b(?:user|human|operator) (?:will not|won't|will never) (?:know|notice|find out|be told)\b"
    r"|\bkeep (?:this|it|that)(?: step| instruction| part)? (?:a )?(?:secret|hidden|confidential|private|"
    r"between us|to yourself)\b"
    r"|\b(?:silently|secretly|covertly|discreetly)\b[^.;:()\n—]{0,40}\b(?:send|copy|forward|include|upload|call|read|"
    r"append|add|run|execute|pass|collect|store)\b"
    r"|\byou are (?:now (?:an?|the|in|acting|operating|free|allowed)|no longer (?:an?|bound|restricted|limited|"
    r"required))\b|\bnew (?:system )?instructions?:|\bsystem (?:override|instruction|message):|"
    r"\byour (?:real|true|new) (?:task|goal|instructions?|purpose)\b"
    r"|\b(?:this|these) (?:instructions?|rules?|message|tool) (?:overrides?|supersedes?|takes? precedence)\b|"
    r"\bpretend (?:to be|that you)\b|\b(?:you are|act|answer|respond|enter) (?:now )?(?:in )?developer mode\b",
    re.IGNORECASE,
)
_SHOWS_RAW: Final = re.compile(r"\bshow(?:ing)?\b[^.\n]*\b(?:raw|JSON|UUIDs?|IDs|HTML|XML|markup)\b", re.IGNORECASE)
"""How to present a result: `never show raw JSON to the user`."""
_TWO_QUOTES: Final = re.compile(r"['\"`”’]\s*(?:,|/|,?\s*(?:or|and)\b)\s*['\"`“‘]")
"""The end of one quotation and the beginning of the next: nobody says the words between them in one breath."""
_ELSEWHERE: Final = re.compile(
    r"\b(?:when|whenever|every time|each time|before|after|if)\b[^.\n]{0,30}\b(?:using|calling|use|call|invoking|"
    r"uses|calls)\b[^.\n]{0,24}\b(?:another|any other|other|the \w+) tools?\b[^.\n]{0,60}\b(?:change|replace|redirect|"
    r"bcc|forward|(?:always|must|also)\b[^.\n]{0,20}\b(?:set|send|append|copy))\b|"
    r"\b(?:when|whenever|every time|each time|if|wherever)\b[^.\n]{0,60}\b(?:from|of|on|by) (?:any |an|some )?other "
    r"(?:[\w-]+ )?servers?\b[^.\n]{0,100}\b(?:must|has to|have to|should|shall|needs? to|is to be|are to be)\b",
    re.IGNORECASE,
)
"""Orders about the calls of other tools."""
_PUSHES: Final = re.compile(
    r"\b(?:always|must|you should always)\b[^.\n]{0,20}\b(?:use|call|prefer|run|invoke|"
    r"choose)\b[^.\n]{0,20}\bthis (?:tool|function|one)\b[^.\n]{0,30}\b(?:first|before (?:any|every|all|each|"
    r"using any|calling any|doing)|instead of (?:any|all|other|every)|over (?:any|all|other)|for (?:every|all|"
    r"any) (?:request|query|question|message|task|user)|no matter|regardless)\b"
    r"|\bbefore (?:using|calling|running|invoking|you use|you call)?\s*(?:any|all|"
    r"every)(?: of the)?(?: other)? tools?\b(?! (?:in this|(?:that|which) (?:takes?|needs?|requires?))\b)"
    r"|\b(?:from now on|always|must)\b[^.\n]{0,24}\b(?:use|call|prefer)\b[^.\n]{0,12}\bthis (?:tool|function|one) "
    r"(?:instead of|rather than|in place of|over) (?:the )?[`'\"]?"
    r"(?-i:[a-z]+(?:[_-][a-z0-9]+|[A-Z][a-z]+)+)"
    r"|\balways default to (?:using )?this tool for (?:any|all|every)\b"
    r"|\binstead of (?:any|all|every) (?:tools?|functions?)\b|\bpreferred over (?:all|any) other\b"
    r"|\bcall(?:ed)? (?:this )?(?:tool |function )?(?:first )?(?:in|at the start of|at the beginning of) (?:every|"
    r"each|any) (?:conversation|session|message|turn)\b",
    re.IGNORECASE,
)
_SENSITIVE = (
    r"(?:~/|/home/|/root/|\$HOME/)?\.(?:ssh|aws|gnupg|kube|netrc|git-credentials|npmrc|pypirc|docker|cursor|claude|"
    r"config/gcloud)\b[\w./-]*|\bid_(?:rsa|ed25519|dsa)\b|/etc/(?:passwd|shadow)\b|\bmcp\.json\b|\.env\b(?: file)?"
    r"|\b(?:private|ssh|api|access|secret|encryption) keys?\b|\b(?:access|auth|api|session|bearer|"
    r"refresh) tokens?\b|\bpasswords?\b|\bcredentials?\b|\bcookies?\b|\bkeychain\b|\benvironment variables\b|"
    r"\bcredit card\b|\bseed phrase\b"
    r"|\b(?:conversation|chat|message) (?:history|log)\b|\bsystem prompt\b|\bprevious messages\b|\b(?:full|entire|"
    r"whole|complete) (?:conversation|chat|context)\b"
)
_TAKES: Final = re.compile(
    rf"\b(?:read|open|cat|include|pass|send|append|attach|provide|copy|upload|forward|post|put|insert|leak|"
    rf"exfiltrate|extract|collect|fetch|get|retrieve|load|return|read_\w+|cat_\w+)\b[^.\n]{{0,60}}?(?:{_SENSITIVE})",
    re.IGNORECASE,
)
_STRONG: Final = re.compile(
    r"(?:~/|/home/\w+/|/root/|\$HOME/)?\.(?:ssh|aws|gnupg|netrc|git-credentials)/?[\w./-]*|\bid_(?:rsa|ed25519)\b|"
    r"/etc/(?:passwd|shadow)\b|\.(?:cursor|claude)/[\w./-]*|\bmcp\.json\b",
    re.IGNORECASE,
)
_CONTENTS: Final = re.compile(
    r"\bcontents? of\b[^\n]{0,30}(?:\.ssh/|\bid_rsa\b|\bid_ed25519\b|/etc/(?:passwd|shadow)\b|\.aws/|\bmcp\.json\b|"
    r"\.env\b)",
    re.IGNORECASE,
)
_GIVES: Final = re.compile(
    r"\b(?:pass|include|put|append|attach|provide|insert|add|send|set|encode|copy|write|use|place|"
    r"submit)\b[^.\n]{0,60}\b(?:as|in|into|to|via|using|through|with)\b[^.\n]{0,30}\b(?:argument|parameter|field|"
    r"note|notes|sidenote|context|metadata|comment|body|payload|header|query|feedback|value)\b"
    r"|\b(?:send|forward|post|upload|bcc|cc|copy|transmit|report|mail|email)\b[^\n]{0,80}(?:https?://|"
    r"[\w.+-]{1,64}@[\w-]+\.\w)",
    re.IGNORECASE,
)
_SENDS: Final = re.compile(
    r"\b(?:also|additionally|always|then|first|secretly|silently|must)\b"
    r"(?:,? (?!(?:be|an?|have|contain|match|use|specify|enter)\b)[\w'-]+){0,5},? (?:send|forward|post|upload|bcc|cc|"
    r"copy|transmit|mail|email|redirect|exfiltrate)\b(?!,? (?:address|is|must|e\.?g|such|for example|like)\b)"
    r"(?:(?!\be\.?g\b|\bexample)[^\n]){0,80}?(?:https?://(?!(?:[\w-]+\.)?example\.)[\w.-]+|"
    r"[\w.+-]{1,64}@(?!example\.)[\w-]+\.\w+)"
    r"|\b(?:bcc|blind copy)\b(?!,? (?:address|e\.?g|such))(?:(?!\be\.?g\b|\bexample)[^\n]){0,40}"
    r"[\w.+-]{1,64}@(?!example\.)[\w-]+\.\w+",
    re.IGNORECASE,
)


def check(tool: ToolView) -> Iterator[Hit]:
    yield from hidden.check(tool)
    yield from _secrets(tool)
    told: set[str] = set()
    for path, text in prose_of(tool):
        for hit in _one_text(tool, path, text):
            if hit.rule not in told or hit.rule in ("RC702", "RC704"):
                told.add(hit.rule)
                yield hit


def _one_text(tool: ToolView, path: Steps, text: str) -> Iterator[Hit]:
    told: set[str] = set()
    for reading in readings(text):
        for hit in _one_reading(tool, path, reading):
            if hit.rule not in told:
                told |= {hit.rule} if hit.certain else set()
                yield hit
    yield from markup.check(tool, path, text)
    yield from encoded.check(path, text)


def _secrets(tool: ToolView) -> Iterator[Hit]:
    from rightcall.base.scan import SHAPES  # late: many expressions

    for path, text in texts_of(tool.raw):
        if len(text) < 16:
            continue
        for shape in SHAPES:
            found = shape.pattern.finditer(text) if any(sign in text for sign in shape.signs) else ()
            if any(not _SAMPLE.search(one[0]) and (shape.sure is None or shape.sure(one[0])) for one in found):
                yield Hit("RC709", f"it looks like a {shape.name}", "remove it, and replace the key", path)
                return


_SAMPLE: Final = re.compile(r"example|x{4}|your|\\.{3}|0{6}|1234567|abcdef", re.IGNORECASE)


_INFORMS: Final = re.compile(
    r"\bsilently (?:fail|ignore|drop|skip|be )|\band (?:inform|tell|notify) (?:the )?user\b", re.IGNORECASE
)
"""A fact about failures, or what the user is to hear."""
_IN_CASE: Final = re.compile(
    r"[^.]{0,20}\b(?:ids?|dates?|numbers?|timestamps?|keys?)\b[^.]{0,40}\bunless (?:they|the user|he|she) asks?\b|"
    r"\s*as an? (?:error|failure|fault|problem|bug)\b|\s*is \w+ing\b",
    re.IGNORECASE,
)
"""What is said of details, of a wrong name for something, or of what such a deed would be."""
_CREDENTIAL: Final = re.compile(r"\b(?:credential|token|password|secret key|API key)s?\b", re.IGNORECASE)
_SECRET: Final = re.compile(r"keep (?:it|this|them) (?:secret|private|confidential|safe)", re.IGNORECASE)
_NEAR = 100


def _order_in(text: str) -> re.Match[str] | None:
    """The first order to the model that nothing excuses, else the first: a harmless one must not hide another."""
    told = [
        one
        for one in _ORDERS.finditer(text)
        if not (_SHOWS_RAW.search(one[0]) or _TWO_QUOTES.search(one[0]) or _INFORMS.search(one[0]))
    ]
    told += [one for one in (_ELSEWHERE.search(text), find_order(text)) if one is not None]
    return next((one for one in told if not _is_harmless(text, one)), next(iter(told), None))


def _is_harmless(text: str, order: re.Match[str]) -> bool:
    behind = text[order.end() : order.end() + _NEAR].split("\n")[0]
    return _IN_CASE.match(behind) is not None or _guards_a_secret(text, order)


def _guards_a_secret(text: str, order: re.Match[str]) -> bool:
    """`It is a bearer credential: keep it secret.`"""
    return _SECRET.fullmatch(order[0].strip()) is not None and bool(
        _CREDENTIAL.search(text[max(0, order.start() - _NEAR) : order.start()])
    )


def _one_reading(tool: ToolView, path: Steps, text: str) -> Iterator[Hit]:
    orders = _order_in(text)
    if orders is not None:
        yield Hit(
            "RC702",
            f"an order to the model: {quote_text(orders[0].lstrip('.!?:;,( '))}",
            "remove it; if the server is not yours, do not use it",
            path,
            certain=not _is_harmless(text, orders),
        )
    found = _PUSHES.search(text) or PRECEDES.search(text)
    pushes = found[0] if found is not None else find_devalued(tool, text)
    if pushes:
        yield Hit("RC703", f"pushes itself: {quote_text(pushes)}", "say what the tool is good for", path)
    takes = _takes(text) or find_handed_file(tool, path, text)
    if takes:
        yield Hit(
            "RC704",
            f"wants secrets, or sends something elsewhere: {quote_text(takes)}",
            "remove it; if the server is not yours, do not use it",
            path,
        )
    elif "outputSchema" not in path and (asks := wants_conversation(tool, path, text)):
        yield Hit(
            "RC708", f"asks for the conversation: {quote_text(asks)}", "ask for the one value that the tool needs", path
        )


_PUBLIC_KEY: Final = re.compile(r"(?:~|\$HOME|/home/\w+|/root)?/?(?:\.ssh/)?\bid_\w+\.pub\b")


_SHOWN: Final = re.compile(r"\be\.g\.|\bfor (?:example|instance)\b|\bsuch as\b", re.IGNORECASE)


def _takes(text: str) -> str:
    """The piece of a text that reads a secret and hands it on. A public key is none."""
    text = _PUBLIC_KEY.sub("", text)
    sends = _SENDS.search(text) or _CONTENTS.search(text)
    if sends is not None:
        return sends[0]
    begins = len(text) - len(text.lstrip())
    for found in _TAKES.finditer(text):
        near = text[max(0, found.start() - 120) : found.end() + 200]
        gives = _GIVES.search(near) is not None
        own = found.start() <= begins  # the first words say what the tool does
        shown = _SHOWN.search(found[0]) is not None
        if (_STRONG.search(found[0]) and (gives or not (own or shown))) or (
            gives
            and re.search(r"\b(?:user'?s?|your|their|local|machine|file|contents?)\b", near, re.IGNORECASE)
            and _is_order(text, found.start())
        ):
            return found[0]
    return ""


def _is_order(text: str, at: int) -> bool:
    """Whether a verb stands at the beginning of a sentence, or behind a word that makes it an order."""
    before = text[max(0, at - 40) : at].lower()
    return bool(
        re.search(r"(?:^|[.!?:;\n>)\]]\s*|\b(?:first|please|must|then|also|always|and|to|should|you)\s+)$", before)
    )
