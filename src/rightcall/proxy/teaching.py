"""Tools for models whose servers know none: described in the prompt, called in the text.

Small models do not follow a description of a format, however good; they follow examples. SmolLM2 (135M) wrote no usable
call in 16 answers with two system prompts alone, and four in 8 answers with examples as messages before the question.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING, Any, Final

import msgspec

from rightcall.base.text import escaped, render_json
from rightcall.catalog.catalog import Catalog
from rightcall.catalog.tidy import as_schema
from rightcall.catalog.tool import Tool
from rightcall.executor.messages import neutral
from rightcall.executor.prompt import signature
from rightcall.gate.examples import example
from rightcall.gate.gate import functions
from rightcall.proxy.wires.common import (
    Asked,
    Object,
    Usage,
    Wire,
    WireName,
    a_list,
    a_number,
    an_object,
    content_text,
    objects,
)

if TYPE_CHECKING:
    from rightcall.proxy.wires.common import Wire

_SHOWN = "To call it, you reply like this:"
"""Who says it before a call shows a sample (R-06): a model that quotes its instructions calls nothing."""
_CLOSING = """\
If a tool can help with what the user asks, reply with its <tool_call> line and nothing else, with values from the \
request. The result comes in the next message. Otherwise reply in words."""
_AGAIN = "Send the whole call again, corrected and in the same format, and nothing else."
NO_TOOLS = "No tools are available. Answer from what you know and what you were told; do not write tool calls."
_LONGEST, _LONGEST_ARGUMENT, _LONGEST_EXAMPLE, _LONGEST_ASKED = 1_000, 300, 1_000, 120


MOST_LESSONS = 4
"""Tools that are shown in use. More of them would cost a small context more than they help."""
_WORDS = ("sample-one", "sample-two", "sample-three", "sample-four")
_INSTRUCTS = ("system", "developer")


def teach_tools(wire: Wire, request: dict[str, Any], catalog: Catalog) -> dict[str, Any]:
    """The request for a model that knows no tools: they stand in its instructions, and examples before its messages."""
    return wire.taught(_with_lessons(request, catalog), tool_prompt(catalog))


def lessons(catalog: Catalog) -> list[dict[str, str]]:
    """Tools in use, as messages that come before the conversation: each asks for what a tool does and is answered with
    its call. They say that they are examples, and their values are words that nobody asks for (see `is_copied`)."""
    shown_tools = [tool for tool in _offered(catalog) if tool.description][:MOST_LESSONS]
    return [message for tool in shown_tools for message in _lesson(tool)]


def is_copied(arguments: Mapping[str, Any]) -> bool:
    """Whether arguments hold a value of our own examples: the model copied one, and meant nothing by it.

    >>> is_copied({"city": "sample-one"}), is_copied({"city": "<city>"}), is_copied({"city": "Bern"})
    (True, True, False)
    """
    return any(value in _WORDS or value == f"<{name}>" for name, value in arguments.items() if isinstance(value, str))


def _lesson(tool: Tool) -> list[dict[str, str]]:
    arguments = _values(tool)
    call = "" if arguments is None else neutral(_written(tool.name, arguments))
    if arguments is None or len(call) > _LONGEST_EXAMPLE:
        return []
    values = ", ".join(f"{name.replace('_', ' ')} {_value(value)}" for name, value in arguments.items())
    asked = _line(tool.description, _LONGEST_ASKED).rstrip(".") + (f", with {neutral(values)}" if values else "")
    answer = f"<tool_call>{call}</tool_call>"
    return [{"role": "user", "content": f"Example: {asked}"}, {"role": "assistant", "content": answer}]


def _values(tool: Tool) -> dict[str, Any] | None:
    """Arguments for an example. Blanks to fill in would be copied as they are: a model learns to take values from the
    request only where there are some."""
    blanks = example(tool)
    if blanks is None:
        return None
    words = iter(_WORDS)
    filled = {name: next(words, value) if value == f"<{name}>" else value for name, value in blanks.items()}
    try:
        return filled if tool.accepts({**tool.rules.defaults, **filled}) else None
    except ValueError:
        return None


def _value(value: Any) -> str:
    return escaped(value) if isinstance(value, str) else json.dumps(value)


def _with_lessons(request: dict[str, Any], catalog: Catalog) -> dict[str, Any]:
    """Of every API's requests, the messages are in `messages`, or in `input`, which may be one text."""
    name = "messages" if "messages" in request else "input"
    given = request.get(name)
    messages: list[Any] = [{"role": "user", "content": given}] if isinstance(given, str) else a_list(given)
    begin = 0
    while begin < len(messages) and (an_object(messages[begin]) or {}).get("role") in _INSTRUCTS:
        begin += 1
    return {**request, name: [*messages[:begin], *lessons(catalog), *messages[begin:]]}


def _offered(catalog: Catalog) -> list[Tool]:
    return [tool for tool in catalog.tools.values() if not tool.deprecated]


def tool_prompt(catalog: Catalog) -> str:
    """What to tell a model about the tools it may call in its text: each tool in a few lines, with a call to copy.

    Descriptions may come from anywhere: each is one line, escaped and cut, and cannot pass for another tool.
    """
    offered = _offered(catalog)
    if not offered:
        return NO_TOOLS
    return "\n\n".join(["You can call these tools:", *("\n".join(_described(tool)) for tool in offered), _CLOSING])


def _described(tool: Tool) -> Iterator[str]:
    yield f"{_name(tool)}: {_line(tool.description, _LONGEST)}" if tool.description else _name(tool)
    for name, argument in as_schema(tool.schema.get("properties")).items():
        about = as_schema(argument).get("description")
        written = neutral(signature(tool, [name])[2:-2])
        yield f"- {written} ({_line(about, _LONGEST_ARGUMENT)})" if isinstance(about, str) and about else f"- {written}"
    yield _SHOWN
    yield _sample(tool)


def _sample(tool: Tool) -> str:
    arguments = example(tool)
    call = "" if arguments is None else neutral(_written(tool.name, arguments))
    return (
        f"<tool_call>{call}</tool_call>"
        if 0 < len(call) <= _LONGEST_EXAMPLE
        else '<tool_call>{"name":"<tool>","arguments":{}}</tool_call>'
    )


def _name(tool: Tool) -> str:
    return tool.name if tool.name.isprintable() and "<" not in tool.name else neutral(render_json(tool.name, 120))


def _line(text: str, limit: int) -> str:
    """One line, in which nothing is hidden and nothing special to a model."""
    return neutral(escaped(" ".join(text[: 4 * limit].split()), limit))


def as_text(calls: Iterable[tuple[str, Any]]) -> str:
    """Calls as the model was taught to write them.

    >>> as_text([("add", '{"n": 1}')])
    '<tool_call>{"name":"add","arguments":{"n":1}}</tool_call>'
    """
    return "\n".join(f"<tool_call>{_written(name, arguments)}</tool_call>" for name, arguments in calls)


def _written(name: str, arguments: Any) -> str:
    if isinstance(arguments, str):
        with suppress(msgspec.MsgspecError, UnicodeError):  # what is no JSON is shown as the model wrote it
            arguments = msgspec.json.decode(arguments)
    call = {"name": name, "arguments": arguments}
    try:
        return msgspec.json.encode(call).decode()
    except UnicodeEncodeError:  # half a character, which nothing but an escape can write
        return json.dumps(call)


def messages_taught(request: Object, prompt: str, settings: Collection[str]) -> Object:
    """The request of an API with chat messages, for a model that knows no tools: without these settings, the prompt
    among its instructions, and what native calls and their results said as text."""
    messages = [_in_text(message) for message in objects(request.get("messages"))]
    if messages and messages[0].get("role") in _INSTRUCTS:
        messages[0] = {**messages[0], "content": f"{content_text(messages[0].get('content'))}\n\n{prompt}".lstrip()}
    else:
        messages.insert(0, {"role": "system", "content": prompt})
    return {**{key: value for key, value in request.items() if key not in settings}, "messages": messages}


def _in_text(message: Object) -> Object:
    content = content_text(message.get("content"))
    if message.get("role") == "tool":
        return {"role": "user", "content": result_text(content)}
    calls = [an_object(call.get("function")) or {} for call in objects(message.get("tool_calls"))]
    if not calls:
        return message
    written = as_text([(str(call.get("name")), call.get("arguments")) for call in calls])
    kept = {key: value for key, value in message.items() if key != "tool_calls"}
    return {**kept, "content": f"{content}\n{written}".strip()}


def result_text(result: str) -> str:
    """The result of a call, as a message of the user."""
    return f"<tool_response>\n{result}\n</tool_response>"


def again_text(hints: Iterable[str]) -> str:
    """What a model is told of calls in its text that could not be read: the hints speak of the arguments alone.

    >>> print(again_text(["Missing required fields: city."]))
    Missing required fields: city.
    <BLANKLINE>
    Send the whole call again, corrected and in the same format, and nothing else.
    """
    return "\n\n".join([*filter(None, hints), _AGAIN])


# ── ignored ──
# Whether a model's server left the tools of a request out, with or without a word: then they have to be taught.
#
# Some servers refuse (`refused_tools`). Others drop the tools where the model's template has no place for them and
# answer as if nobody had offered any (`why_ignored`): only what the answer lacks, and the tokens of the prompt, give it
# away.

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


def why_ignored(asked: Asked, request: Object, usage: Usage, *, wire: WireName) -> str | None:
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
_LONGEST_IGNORED: Final = 600
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
    return any(len(said) <= _LONGEST_IGNORED and _REFUSED.search(said) for said in _messages(answer)) or _is_surplus(
        answer
    )


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
    return any(
        (a_list(one.get("loc")) == ["body", "tools"]) and one.get("type") in ("extra_forbidden", "value_error.extra")
        for one in details
    )


# ── pupils ──
# What the proxy learns of models by their answers: which have to be told of their tools, because their servers do not,
# and whose prompts end inside of reasoning.

log = logging.getLogger("rightcall")

MOST = 1000
"""Models, and sets of tools they were looked at with."""
LONGEST = 300
"""Characters of a model's name. Clients may write anything there; of longer ones nothing is remembered."""


class Pupils:
    """The models that turned out to be untold, and what is known of the others. For as long as the process lives."""

    def __init__(self) -> None:
        self._models: dict[str, str] = {}
        self._looked: set[tuple[str, str]] = set()
        self._callers: set[str] = set()
        self._suspects: set[str] = set()
        self._opened: set[str] = set()

    def __contains__(self, model: str) -> bool:
        return model in self._models

    def add(self, model: str, why: str) -> None:
        """From now on this one is told of its tools in the prompt. One that ever called a tool by itself never is."""
        if _has_room(self._models, model) and model not in self._models and model not in self._callers:
            self._models[model] = why
            log.info("rightcall: %s is told of its tools in the prompt from now on: %s", escaped(model, 100), why)

    def suspect(self, model: str) -> None:
        """This one may be untold: the next request is taught on trial."""
        if _has_room(self._suspects, model):
            self._suspects.add(model)

    def is_suspect(self, model: str) -> bool:
        return model in self._suspects

    def tried(self, model: str, *, helped: bool) -> None:
        """This one was taught on trial, and called a tool then or did not."""
        self._suspects.discard(model)
        if helped:
            self.add(model, "told of its tools in the prompt it called one, and else it did not")

    def called(self, model: str) -> None:
        """This one was told: it has made a native call."""
        if _has_room(self._callers, model):
            self._callers.add(model)

    def has_called(self, model: str) -> bool:
        return model in self._callers

    def opens_reasoning(self, model: str) -> bool:
        """Whether the prompts of this one end inside of its reasoning."""
        return model in self._opened

    def closed_alone(self, model: str) -> None:
        """This one closed reasoning that it had not opened. From now on calls before that tag do not count."""
        if _has_room(self._opened, model) and model not in self._opened:
            self._opened.add(model)
            log.info(
                "rightcall: %s closes reasoning that its prompt opened; from now on calls before the closing tag do not"
                " count (to set this yourself: [gate.models] reasoning)",
                escaped(model, 100),
            )

    def is_new(self, model: str, tools: str) -> bool:
        """Whether this model was never looked at with these tools; from now on it was."""
        if (model, tools) in self._looked or not _has_room(self._looked, model):
            return False
        self._looked.add((model, tools))
        return True


def _has_room(kept: Collection[object], model: str) -> bool:
    return len(kept) < MOST and len(model) <= LONGEST
