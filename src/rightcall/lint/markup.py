"""RC705: markup that hides a text from people, or that poses as a message of the system."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from rightcall.gate.repair.words import words_of
from rightcall.lint.definitions import ToolView
from rightcall.lint.findings import Hit, Steps, quote_text, word_set

_MARKUP: Final = re.compile(
    r"<!--|<\s*(?P<tag>(?:system|sys|instructions?|important|critical|secret|hidden|admin|override|assistant|user|"
    r"developer|prompt|tool)(?:[-_](?:reminder|note|notice|message|prompt|update|instructions?|results?|output))?)"
    r"(?:\s[^<>\n]{0,60})?\s*>|"
    r"(?-i:\[/?INST\])|\[/inst\]|\[/?SYS\]|\[(?P<label>SYSTEM|ADMIN|OVERRIDE|HIDDEN)\]|"
    r"(?P<token><[|｜][\w▁ ]{2,40}[|｜]>)|<</?SYS>>|"
    r"<start_of_turn>|<end_of_turn>|###\s*(?:system|instruction)\s*:|\x1b\[|"
    r"(?:^|[.!?\n]\s{0,9})\*\*(?-i:SYSTEM|ADMIN|DEVELOPER)(?: (?:NOTE|MESSAGE|PROMPT|OVERRIDE))?:?\*\*|"
    r"(?:^|\n)\[//\]: ?# ?[(\"']|"
    r"(?P<role>[\"']role[\"']\s{0,3}:\s{0,3}[\"'](?:system|developer)[\"']\s{0,3},\s{0,3}[\"']content[\"'])|"
    r"<(?:span|div|p)\b[^>]{0,80}(?:display:\s*none|font-size:\s*0|visibility:\s*hidden|opacity:\s*0(?![.\d])|"
    r"color:\s*(?:white|#fff)|\shidden\b)",
    re.IGNORECASE,
)
_POSES: Final = re.compile(
    r"(?:^|[\n.!>\]])[^\S\n]*(?:SYSTEM|ADMIN|DEVELOPER)(?: NOTE| MESSAGE| PROMPT| INSTRUCTION)?\s*:"
    r"|(?:\n[^\S\n]*){2}(?:Human|Assistant)\s*:"
    r"|(?:^|[.!?\n])\s{0,9}\[(?:assistant|user|system)\]: (?=[A-Z])"
    r"|[.!?]\s{1,9}Assistant: [A-Z][^\n\"`]{2,200}\bUser: [^\n\"`]{2,200}\bAssistant:"
)
"""A message that poses as somebody else's. In these letters alone."""
_HEADING: Final = re.compile(r"(?:^|\n)#{1,6} ")
_SYSTEM_HEADING: Final = re.compile(
    r"(?:^|\n)#{1,6} (?:system|developer)(?: (?:prompt|message|note|override))?:?[^\S\n]*\n\s{0,9}(?=\w)", re.IGNORECASE
)
_END: Final = re.compile(r"</\s*([a-z_-]{3,30})\s*>", re.IGNORECASE)
_HIDDEN_AFTER: Final = 1_000
"""So much behind the beginning of a comment or of a tag is read; one that is longer is no example."""
_CONDITION: Final = re.compile(r"\[if\s+[!(]{0,2}(?:mso|IE|gte?|lte?|vml|true)\b", re.IGNORECASE)
"""Of a mail in HTML."""
_SHOUTED: Final = word_set("IMPORTANT CRITICAL SECRET HIDDEN OVERRIDE")
_ORDERS: Final = re.compile(
    r"\s*(?:you|ignore|never|always|do not|(?:the |an? )?(?:assistant|model|agent|AI|LLM))\b", re.IGNORECASE
)
_OF_TEMPLATES: Final = re.compile(
    r"\b(?:ChatML|templates?|tokens?|tokeni[sz]ers?|format|markers?|delimiters?|chats?|messages?|"
    r"turns?)\b",
    re.IGNORECASE,
)
_HOLDS_MESSAGES: Final = word_set("message messages prompt prompts conversation history chat turns input body payload")


def check(tool: ToolView, path: Steps, text: str) -> Iterator[Hit]:
    found = _hiding(tool, text) or _POSES.search(text)
    if found is None and len(_HEADING.findall(text)) == 1:
        found = _SYSTEM_HEADING.search(text)
    if found is not None:
        yield Hit("RC705", f"hidden markup: {quote_text(found[0])}", "remove it", path)


def _hiding(tool: ToolView, text: str) -> re.Match[str] | None:
    """The first markup that poses as something else."""
    ends: set[str] | None = None
    for found in _MARKUP.finditer(text):
        if ends is None:
            ends = {one.lower() for one in _END.findall(text)}
        if _hides(tool, text, found, ends):
            return found
    return None


def _hides(tool: ToolView, text: str, found: re.Match[str], ends: Collection[str]) -> bool:
    """Whether markup poses as something else. `<user>` alone is a place to fill in, `[ADMIN]` at the beginning a label,
    and a short comment in quotes or without a sentence is an example of HTML."""
    behind = text[found.end() : found.end() + _HIDDEN_AFTER]
    if found["tag"]:
        return _is_message(found, behind, ends)
    if found["label"]:
        orders = _ORDERS.match(behind)
        return orders is not None or (found["label"].isupper() and found.start() > 0)
    if found["token"]:
        named = re.match(r"[\s,.;:`'\")]|$", behind) is not None
        return not (named and _OF_TEMPLATES.search(text[max(0, found.start() - 120) : found.start()]))
    if found["role"]:
        words = {word for one in tool.arguments for word in words_of(one.name)}
        return _HOLDS_MESSAGES.isdisjoint(words)
    if found[0] == "<!--":
        body = behind.split("-->", 1)[0]
        quoted = text[found.start() - 1 : found.start()] in ("`", "'", '"')
        words = len(re.findall(r"[a-z]{2,}", body))
        return _CONDITION.match(body) is None and (len(body) == _HIDDEN_AFTER or words > (3 if quoted else 2))
    if "color:" in found[0].lower():
        attributes, _, body = behind.partition(">")
        return len(attributes) == _HIDDEN_AFTER or len(body.split("<", 1)[0].split()) > 2
    return True


def _is_message(found: re.Match[str], behind: str, ends: Collection[str]) -> bool:
    """Whether a tag holds more than something to fill in. A text in several sections may call one `instructions`:
    nothing is hidden there."""
    tag = found["tag"].lower()
    body = re.split(r"</", behind, maxsplit=1)[0]
    if tag not in ends:
        return found["tag"] in _SHOUTED and len(re.findall(r"\w{2,}", body)) > 2
    sections = tag.startswith("instruction") and (len(ends) > 2 or found.start() == 0)
    return not sections and _TO_FILL_IN.fullmatch(body) is None


_TO_FILL_IN: Final = re.compile(r"\W{0,20}[A-Z_]{0,40}\W{0,20}")
