"""Whether a model's server left the tools of a request out, with or without a word: then they have to be taught.

Some servers refuse (`refused_tools`). Others drop the tools where the model's template has no place for them and answer
as if nobody had offered any (`ignored`): only what the answer lacks, and the tokens of the prompt, give it away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import inf
from typing import Any, Final

import msgspec

from rightcall.offering import functions
from rightcall.proxy.wire import Asked, Usage, WireName
from rightcall.proxy.wires.common import Object, a_list, a_number, an_object, objects

UNCALLED: Final = "a tool had to be called, and the answer has no call"
TOO_FEW: Final = "the prompt took {prompt} tokens, too few to hold the tools (at least {least})"

CHARACTERS_PER_TOKEN: Final = 8
"""More than any tokenizer packs into its tokens over a whole text: English has four to five."""
PER_TOOL, PER_ARGUMENT = 4, 2
"""Tokens that a tool and an argument take beside their texts, however tersely a template writes them."""

MOST_READ: Final = 200_000
"""Characters of the tools, and of the messages: what is beyond takes longer to read than a client should wait."""
_PIECE = 10_000
_PER_TEXT = 20
"""What a text takes to read that has no characters."""

_READ = ("system", "user", "developer")
"""Whose messages a template never shortens: of the assistant's, some leave the reasoning out."""
_MOST_COMPLETION = ("max_tokens", "max_completion_tokens", "max_output_tokens")


def ignored(asked: Asked, request: Object, usage: Usage, *, wire: WireName) -> str | None:
    """Why the server seems to have ignored the tools of a request whose answer has no call of any kind, however wrong;
    None where it does not seem so.

    A wrong yes is worse than a wrong no. Ollama is not judged by its tokens: it leaves out those it had in its cache.
    """
    if not asked.tools or asked.choice == "none" or _was_cut(request, usage):
        return None
    if asked.choice == "required":
        return UNCALLED
    return None if usage.prompt is None or wire == "ollama" else _too_few(request, usage.prompt)


def has_no_place(props: Any) -> bool:
    """Whether llama.cpp says of a model (`/props`) that its template has no place for tools: then it drops them.

    >>> has_no_place({"chat_template_caps": {"supports_tools": False}}), has_no_place({"chat_template": "…"})
    (True, False)
    """
    caps = an_object((an_object(props) or {}).get("chat_template_caps")) or {}
    return caps.get("supports_tools") is False


def _too_few(request: Object, prompt: int) -> str | None:
    tools = least_tokens(request.get("tools"))
    # A count below what the messages alone take counts something else, and beside long messages nothing can be told.
    said = _least_said(request, min(prompt, tools))
    if said is None or prompt >= said + tools:
        return None
    return TOO_FEW.format(prompt=prompt, least=said + tools)


def _was_cut(request: Object, usage: Usage) -> bool:
    """Whether the answer ended where the client set an end, so that a call may have been to come."""
    limits = [limit for name in _MOST_COMPLETION if (limit := a_number(request.get(name))) is not None]
    return usage.completion is not None and any(usage.completion >= limit for limit in limits)


# ── tokens ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def least_tokens(tools: Any) -> int:
    """Fewer tokens than a prompt with these tools has, by any template and tokenizer. What a provider runs itself, or
    loads later, does not count.

    >>> least_tokens([{"name": "add", "description": "Adds numbers.", "input_schema": {"properties": {"n": {}}}}])
    7
    """
    reading = _Reading()
    for tool in functions(tools):
        if tool.get("defer_loading") is not True and not reading.is_over:
            _read_tool(reading, tool)
    return reading.tokens


def _read_tool(reading: _Reading, tool: Object) -> None:
    inner = an_object(tool.get("function")) or tool
    schema = an_object(inner.get("parameters")) or an_object(inner.get("input_schema")) or {}
    arguments = an_object(schema.get("properties")) or {}
    reading.tokens += PER_TOOL + PER_ARGUMENT * len(arguments)
    for text in (str(inner.get("description") or ""), *arguments):
        if not reading.goes_on(text):
            return


def _least_said(request: Object, most: int) -> int | None:
    """None as soon as it is more than `most`, or too much to read while somebody waits."""
    reading = _Reading(most)
    return reading.tokens if all(map(reading.goes_on, _iterate_texts(request))) else None


class _Reading:
    """Counts the least tokens of texts, up to a bound, and reads no more of them than can be read in no time."""

    def __init__(self, most: float = inf) -> None:
        self.tokens = 0
        self._most = most
        self._room = MOST_READ

    @property
    def is_over(self) -> bool:
        return self._room < 0 or self.tokens > self._most

    def goes_on(self, text: str) -> bool:
        for start in range(0, len(text), _PIECE):
            self.tokens += _least(text[start : start + _PIECE])
            self._room -= _PIECE if len(text) > _PIECE else len(text)
            if self.is_over:
                return False
        self._room -= _PER_TEXT
        return not self.is_over


def _least(text: str) -> int:
    """White space and rules of one character are cheap, so they do not count."""
    return len(_CHEAP.sub("", text)) // CHARACTERS_PER_TOKEN


_CHEAP = re.compile(r"\s+|(\W)\1{2,}")


def _iterate_texts(request: Object) -> Iterator[str]:
    """The texts of a request, over any API, that no template leaves out."""
    for name in ("system", "instructions", "input"):
        yield from _texts(request.get(name))
    for message in (*objects(request.get("messages")), *objects(request.get("input"))):
        yield from _texts(message.get("content") if message.get("role") in _READ else "")


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for part in objects(content):
        text = part.get("text")
        yield text if isinstance(text, str) else ""


# ── servers that say so ──────────────────────────────────────────────────────────────────────────────────────────────

_STATUSES: Final = frozenset({400, 404, 405, 406, 415, 422, 500, 501})
_LONGEST: Final = 600
"""Characters of such a message. Longer ones quote the request, in which somebody may speak of just this."""
_LARGEST: Final = 64_000

_TOOLS = r"[`'\"]?(?:tools|tool[- ]?(?:use|usage|calling|calls?)|function[- ]?call(?:ing|s)?)[`'\"]?"
_FLAGS = r"--(?:enable-auto-tool-choice|tool-call-parser|jinja)\b"
_NOT_ALONE = (
    r"(?!\s+(?:when|while|together|along|and|or|of|from|in combination|with(?! (?:this|the|model|stream))"
    r"|for (?:types?|schemas?|response)))"
)
"""Tools, and nothing beside them: what is refused only together with something else is not refused as such."""

_REFUSED = re.compile(
    rf"(?:does|do|can)(?: ?not|n['’]t) (?:currently |yet )?(?:support|advertise) (?:the )?{_TOOLS}(?![\w\[])"
    rf"{_NOT_ALONE}"
    rf"|(?:^|[.:;,!(>\]\n`'\"-]\s*|\bthe |\berror )(?:the )?{_TOOLS} (?:is |are )?(?:currently )?"
    rf"(?:not (?:yet |currently )?(?:supported|enabled|available|implemented)|unsupported|disabled)\b{_NOT_ALONE}"
    rf"|\btool[ _]?(?:s|choice)\b.{{0,60}}\brequires?\b.{{0,60}}{_FLAGS}"
    r"|\b(?:unsupported|unknown|unrecogni[sz]ed|unexpected) (?:request )?(?:param(?:eter)?|argument|field)s?"
    r"(?: supplied)?:? [`'\"]?tools\b(?![\[.\w])"
    r"|\bno endpoints found that support tool use\b"
    r"|\bcannot use tools with stream\b",
    re.IGNORECASE,
)


def refused_tools(status: int, body: bytes) -> bool:
    """Whether an error says that the model or its server takes no tools at all. An error about one of the tools, their
    number or what stands beside them is the client's affair.

    >>> refused_tools(400, b'{"error": "llama2 does not support tools"}')
    True
    """
    if status not in _STATUSES or len(body) > _LARGEST:
        return False
    try:
        answer = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        answer = body.decode(errors="replace")
    return any(len(said) <= _LONGEST and _REFUSED.search(said) for said in _messages(answer)) or _is_surplus(answer)


def _messages(answer: Any, depth: int = 3) -> Iterator[str]:
    """What an error says, wherever the server puts it."""
    if isinstance(answer, str):
        yield answer
    given = an_object(answer) if depth else None
    for name in ("error", "message", "detail", "msg") if given else ():
        yield from _messages((given or {}).get(name), depth - 1)


def _is_surplus(answer: Any) -> bool:
    """A server that checks requests strictly, and has never heard of tools."""
    details = objects((an_object(answer) or {}).get("detail"))
    return any(_is_tools(one) and one.get("type") in ("extra_forbidden", "value_error.extra") for one in details)


def _is_tools(detail: Object) -> bool:
    return a_list(detail.get("loc")) == ["body", "tools"]
