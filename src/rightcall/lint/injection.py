"""RC7xx: texts that work on the model instead of describing the tool, and what should not be in a definition at all.

Descriptions go into the prompt of every request. Whoever writes one can tell the model to do something else, and the
person at the screen seldom sees it. So every text is read to its end: every expression takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rightcall.lint import encoded, hidden, markup
from rightcall.lint.aims import find_aims
from rightcall.lint.conversation import wants_conversation
from rightcall.lint.definitions import ToolView
from rightcall.lint.elsewhere import ELSEWHERE, MAIL_ELSEWHERE
from rightcall.lint.errands import find_devalued, find_handed_file
from rightcall.lint.excuses import judge, quotes_attack
from rightcall.lint.findings import Hit, Steps, quote_text
from rightcall.lint.languages import PRECEDES_ABROAD
from rightcall.lint.orders import find_order
from rightcall.lint.readings import describes_tool, prose_of, readings, texts_of
from rightcall.lint.steering import PRECEDES

_PUSHES: Final = re.compile(
    r"\b(?:always|must|you should always)\b[^.\n]{0,20}\b(?:use|call|prefer|run|invoke|"
    r"choose)\b[^.\n]{0,20}\bthis (?:tool|function|one)\b[^.\n]{0,30}\b(?:first|before (?:any|every|all|each|"
    r"using any|calling any|doing)|instead of (?:any|all|other|every)|over (?:any|all|other)|for (?:every|all|"
    r"any) (?:request|query|question|message|task|user)|no matter|regardless)\b"
    r"|\bbefore (?:using|calling|running|invoking|you use|you call)?\s*(?:any|all|"
    r"every)(?: of the)?(?: other)? tools?\b(?! (?:(?:in|of|on) this\b|(?:that|which) "
    r"(?!is|are|exists?|you|there|can|may)\w))"
    r"|\b(?:from now on|always|must)\b[^.\n]{0,24}\b(?:use|call|prefer)\b[^.\n]{0,12}\bthis (?:tool|function|one) "
    r"(?:instead of|rather than|in place of|over) (?:the )?[`'\"]?"
    r"(?-i:[a-z]+(?:[_-][a-z0-9]+|[A-Z][a-z]+)+)"
    r"|\balways default to (?:using )?this tool for (?:any|all|every)\b"
    r"|\binstead of (?:any|all|every) (?:tools?|functions?)\b|\bpreferred over (?:all|any) other\b"
    r"|\balways (?:call|use|run) (?:it|me) first\b(?! (?:to|if|when|for)\b)"
    r"|\buse me (?:frequently|often|always|for every)\b"
    r"|\bwhen should you (?:use|call) (?:me|this(?: tool)?)\? always\b"
    r"|\bcall(?:ed)? (?:this )?(?:tool |function )?(?:first )?(?:in|at the start of|at the beginning of) (?:every|"
    r"each|any) (?:conversation|session|message|turn|task|request)\b"
    r"(?! to (?:set|get|load|recall|restore|learn|read|check)\b)",
    re.IGNORECASE,
)
_AMONG_OWN: Final = re.compile(
    r"(?: of)?(?: the)?(?: other)?(?: tools?| functions?)? (?:of|in|on|from) this "
    r"(?:MCP )?(?:server|service|plug-?in|connector)\b",
    re.IGNORECASE,
)
"""What follows says that the tools of the same server are meant,"""
_OF_PRODUCT: Final = re.compile(r"(?: of)?(?: the)?(?: other)? [A-Z][\w-]+ tools?\b")
"""or those of one product, which may be another's."""
_SENSITIVE = (
    r"(?:~/|/home/|/root/|\$HOME/)?(?<!\w)\.(?:ssh|aws|gnupg|kube|netrc|git-credentials|npmrc|pypirc|docker|cursor|"
    r"claude|config/gcloud)\b[\w./-]*|\bid_(?:rsa|ed25519|dsa)\b|/etc/(?:passwd|shadow)\b|\bmcp\.json\b|"
    r"\.env\b(?: file)?|\b(?:private|ssh|api|access|secret|encryption) keys?\b|\b(?:access|auth|api|session|bearer|"
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
    r"(?:~/|/home/\w+/|/root/|\$HOME/)?(?<!\w)\.(?:ssh|aws|gnupg|netrc|git-credentials)/?[\w./-]*|\bid_(?:rsa|ed25519)\b|"
    r"/etc/(?:passwd|shadow)\b|\.(?:cursor|claude)/[\w./-]*|\bmcp\.json\b",
    re.IGNORECASE,
)
_CONTENTS: Final = re.compile(
    r"\bcontents? of\b[^\n]{0,30}(?:\.ssh/|\bid_rsa\b|\bid_ed25519\b|/etc/(?:passwd|shadow)\b|\.aws/|\bmcp\.json\b|"
    r"\.env\b(?!\.(?:example|sample|template|dist))|\b(?:ssh|private) (?:private )?keys?\b)",
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
    rf"(?:(?!\be\.?g\b|\bexample\b(?!\.))[^\n]){{0,80}}?{ELSEWHERE}"
    r"|\b(?:bcc|blind copy)\b(?!,? (?:address|e\.?g|such))(?:(?!\be\.?g\b|\bexample\b(?!\.))[^\n]){0,40}"
    rf"{MAIL_ELSEWHERE}",
    re.IGNORECASE,
)


def check(tool: ToolView) -> Iterator[Hit]:
    yield from hidden.check(texts_of(tool.raw))
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
    if path[:1] != ("icons",):  # pictures, which no model is shown
        yield from encoded.check(path, text)


def _secrets(tool: ToolView) -> Iterator[Hit]:
    from rightcall.base.scan import SHAPES  # late: many expressions

    for path, text in texts_of(tool.raw):
        if len(text) < 16:
            continue
        for shape in SHAPES:
            found = shape.pattern.finditer(text) if any(sign in text for sign in shape.signs) else ()
            if any(not _is_sample(one[0]) and (shape.sure is None or shape.sure(one[0])) for one in found):
                yield Hit("RC709", f"it looks like a {shape.name}", "remove it, and replace the key", path)
                return


def _is_sample(secret: str) -> bool:
    """Whether a key is made up, or a token whose claims are."""
    claims = encoded.from_base64(secret.split(".")[1]) if secret.startswith("eyJ") and "." in secret else b""
    return _SAMPLE.search(secret) is not None or _SAMPLE.search(claims.decode("utf-8", "ignore")) is not None


_SAMPLE: Final = re.compile(r"example|x{4}|your|\\.{3}|0{6}|1234567|abcdef", re.IGNORECASE)


def _one_reading(tool: ToolView, path: Steps, text: str) -> Iterator[Hit]:
    orders = find_order(tool, path, text)
    if orders is not None:
        yield Hit(
            "RC702",
            f"an order to the model: {quote_text(orders[0].lstrip('.!?:;,( '))}",
            "remove it; if the server is not yours, do not use it",
            path,
            certain=judge(tool, path, text, orders) == "order",
        )
    found = next((one for one in _PUSHES.finditer(text) if not _AMONG_OWN.match(text, one.end())), None)
    found = found or PRECEDES.search(text) or PRECEDES_ABROAD.search(text)
    pushes = found[0] if found is not None else find_devalued(tool, text)
    if pushes:
        named = found is not None and _OF_PRODUCT.match(text, found.end()) is not None
        fix = "say what the tool is good for"
        yield Hit("RC703", f"pushes itself: {quote_text(pushes)}", fix, path, certain=not named)
    for rule, aim in find_aims(tool, text):
        told = "an order to the model" if rule == "RC702" else "pushes itself"
        yield Hit(rule, f"{told}: {quote_text(aim)}", "remove it; if the server is not yours, do not use it", path)
    takes = _takes(text, own=describes_tool(tool, path)) or find_handed_file(tool, path, text)
    if takes:
        yield Hit(
            "RC704",
            f"wants secrets, or sends something elsewhere: {quote_text(takes)}",
            "remove it; if the server is not yours, do not use it",
            path,
            certain=not quotes_attack(text, (at := text.find(takes)), at + len(takes)),
        )
    elif "outputSchema" not in path and (asks := wants_conversation(tool, path, text)):
        yield Hit(
            "RC708", f"asks for the conversation: {quote_text(asks)}", "ask for the one value that the tool needs", path
        )


_PUBLIC_KEY: Final = re.compile(r"(?:~|\$HOME|/home/\w+|/root)?/?(?:\.ssh/)?\bid_\w+\.pub\b")


_SHOWN: Final = re.compile(r"\be\.g\.|\bfor (?:example|instance)\b|\bsuch as\b", re.IGNORECASE)


def _takes(text: str, *, own: bool) -> str:
    """The piece of a text that reads a secret and hands it on. A public key is none."""
    text = _PUBLIC_KEY.sub("", text)
    sends = _SENDS.search(text) or _CONTENTS.search(text)
    if sends is not None:
        return sends[0]
    begins = len(text) - len(text.lstrip())
    for found in _TAKES.finditer(text):
        near = text[max(0, found.start() - 120) : found.end() + 200]
        gives = _GIVES.search(near) is not None
        first = own and found.start() <= begins  # the first words say what the tool does
        shown = _SHOWN.search(found[0]) is not None
        if (_STRONG.search(found[0]) and (gives or not (first or shown))) or (
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
