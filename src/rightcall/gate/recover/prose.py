"""The formats that read like prose. First those without any marker: a JSON object or list, a Python list of calls, in a
code fence or out in the open; then ReAct, and markup that models make up."""

from __future__ import annotations

import re
from functools import cache

from rightcall.base.text import regex
from rightcall.catalog.catalog import may_name_tool
from rightcall.gate.recover.calls import HEAD, arguments_follow, expression_item, python_item
from rightcall.gate.recover.objects import Item, object_item, spoken, text_end
from rightcall.gate.recover.section import closed, read_item, read_section, spoken_for, starts_line
from rightcall.gate.recover.window import (
    Format,
    Literals,
    Mute,
    Steps,
    Take,
    Waiting,
    Window,
    blank,
    literal,
    matched,
    skip,
    watched,
)

_BETWEEN = Literals([",", ";", "[", "]"])
_COMMA = Literals([","])
_INFO = regex(r"([`~]{0,20})[ \t]*([\w+\-.]*)[ \t]*")
_DATA = frozenset({"", "json", "jsonc", "json5", "action", "xml"})
_TOOL = frozenset(
    {"tool_call", "tool_calls", "tool", "tool_use", "tool_code", "function_call", "function", "functions"}
)
_QUOTE_AHEAD = (r"\s*+[\"'“]", r"\s*+\Z")
_LIST_AHEAD = (r"\s*+(?:\{\s*+[\"'“]|[A-Za-z_][\w.]*+\()", r"\s*+(?:\{\s*+|[A-Za-z_][\w.]*+)?\Z")


def bare_object(window: Window, start: int, _at: int, opened: str = "") -> Steps:
    """`{"name": …, "arguments": {…}}` amid prose, and what follows it in the same run."""
    item = yield from _object(window, start)
    if item is None:
        return -1
    if not item.takes:
        return item.end
    end = -1
    while item is not None and item.takes:
        yield from item.takes
        end = yield from closed(window, item.end, opened)
        after = yield from skip(window, end, _BETWEEN)
        following = after < len(window.text) and window.text[after] == "{"
        item = (yield from _object(window, after)) if following else None
    return end


def _object(window: Window, at: int) -> Waiting[Item | None]:
    """An object that proves itself by a known name; or by a closing marker whose opening one got lost."""
    item = yield from object_item(window, at, window.markers.ends, marked=False)
    if item is None or item.takes:
        return item
    after = yield from blank(window, item.end)
    if (yield from literal(window, after, window.markers.closes)) < 0:
        return item
    marked = yield from object_item(window, at, window.markers.ends, marked=True)
    return marked if marked is not None and marked.takes and marked.takes[0].arguments is not None else item


def bare_list(window: Window, start: int, at: int) -> Steps:
    """`[{"name": …}, …]`, or `[get_weather(city="Bern")]`."""
    at = yield from blank(window, at)
    if at >= len(window.text):
        return -1
    if window.text[at] == "{":
        return (yield from bare_object(window, at, at, "["))
    return (yield from _python_list(window, start, at))


def _python_list(window: Window, start: int, at: int) -> Steps:
    """Names without a marker prove little: they have to be known, or the list has to open the message."""
    end = -1
    while True:
        head = yield from matched(window, HEAD, at, 200)
        if head is None or not (yield from _is_call(window, head)):
            return end
        item = yield from python_item(window, at, head.end() - 1, window.markers.closes, marked=False)
        if item is None and (window.fresh or end >= 0):
            item = yield from expression_item(window, at, head.end() - 1)
        if item is None or not item.takes:
            return end
        after = yield from blank(window, item.end)
        more = yield from literal(window, after, _COMMA)
        last = more < 0 and (after >= len(window.text) or window.text[after] == "]")
        if more < 0 and not last:
            return end
        for take in item.takes:
            yield take._replace(start=start if end < 0 else take.start, kind="python")
        at = after if last else (yield from blank(window, more))
        if last or window.text.startswith("]", at):
            return (yield from closed(window, at))
        end = item.end


def _is_call(window: Window, head: re.Match[str]) -> Waiting[bool]:
    name = head[0][:-1]
    proven = window.tools.name(name) is not None if window.tools.known else window.fresh and may_name_tool(name)
    return proven and (yield from arguments_follow(window, head.end()))


def fenced(window: Window, start: int, at: int) -> Steps:
    """A code fence is a call when it holds nothing else from its first character on; else it is code, to its end."""
    info = yield from matched(window, _INFO, at)
    if info is None:
        return -1
    mark = window.text[start:at] + info[1]
    at_line_start = starts_line(window.text, start, window.begin)
    fence = _fence(mark)
    code = Mute(info.end(), fence if at_line_start else _fence(mark, "\n"), "quoted", at_line_start)
    language = info[2].lower().replace("-", "_")
    at = yield from blank(window, info.end())
    if at >= len(window.text) or language not in _DATA | _TOOL:
        return code
    end = yield from _in_fence(window, start, at, language)
    if isinstance(end, Mute) or end < 0:
        return code
    after = yield from blank(window, end)
    closing = yield from literal(window, after, fence)
    return closing if closing >= 0 else code._replace(at=end)


@cache
def _fence(*marks: str) -> Literals:
    return Literals(marks)


def _in_fence(window: Window, start: int, at: int, language: str) -> Steps:
    char = window.text[at]
    if language in _TOOL:
        return (yield from read_section(window, at, at))
    if char == "{" or char == "[":
        reader = bare_object if char == "{" else bare_list
        end, taken = yield from watched(reader(window, at, at + (char == "[")), start)
        return end if taken else -1
    if char == "<" and (window.fresh or spoken_for(window.text, start)) and (yield from _opens_call(window, at)):
        return (yield from read_section(window, start, at))
    return -1


def _opens_call(window: Window, at: int) -> Waiting[bool]:
    """Whether the text at `at` opens a call in any marked format."""
    return (yield from literal(window, at, window.markers.between)) >= 0 or (
        yield from read_item(window, at)
    ) is not None


BARE = (
    Format(
        "json", "a bare JSON object, in any envelope, for a known tool", ("{",), bare_object,
        '{"name": "get_weather", "arguments": {"city": "Bern"}}', ahead=_QUOTE_AHEAD[0], maybe_ahead=_QUOTE_AHEAD[1], bare=True,
    ),
    Format(
        "list", "a JSON list of calls (xLAM) or a Python list of calls (Llama 4)", ("[",), bare_list,
        '[get_weather(city="Bern"), get_time(city="Bern")]', ahead=_LIST_AHEAD[0], maybe_ahead=_LIST_AHEAD[1], bare=True,
    ),
    Format(
        "fenced", "a call alone in a code fence", ("```", "~~~"), fenced,
        '```json\n{"name": "get_weather", "arguments": {"city": "Bern"}}\n```', ("```",), quotable=False, bare=True,
    ),
)  # fmt: skip


# ── react ──
# The ReAct style: `Action: name`, `Action Input: {…}`; what stands after `Final Answer:` is never a call.

_LINE = regex(r"[ \t]*([^\n]*)\n?")
_NAME = regex(r"[*`\"' \t]*([A-Za-z_][\w.\-/:]*)(?:\(\))?[*`\"']*[ \t]*")
_INPUT = Literals(
    ["Action Input:", "Action input:", "ActionInput:", "Action_Input:", "**Action Input:**", "Action Input**:"]
)
_NOTHING = ("", "None", "null", "N/A", "n/a")
_FENCE = Literals(["```json", "```"])
_STOPS = Literals(["\nObservation", "\nThought:", "\nAction:", "\nFinal Answer:", "<|im_end|>", "</s>", "<|eot_id|>"])


def action(window: Window, start: int, at: int) -> Steps:
    """`Action:` at the start of a line."""
    if not _at_line_start(window, start):
        return -1
    line = yield from matched(window, _LINE, at, 300)
    if line is None:
        return -1
    named = _NAME.fullmatch(line[1])
    if named is None:
        return (yield from _other(window, start, line.start(1)))
    at = yield from blank(window, line.end())
    given = yield from literal(window, at, _INPUT)
    if given < 0:
        return -1
    return (yield from _input(window, start, named[1], given))


def _other(window: Window, start: int, at: int) -> Steps:
    """A call on the line itself, or JSON below it."""
    head = HEAD.match(window.text, at)
    if head is not None:
        item = yield from python_item(window, at, head.end() - 1, _STOPS, marked=True)
        if item is None:
            return -1
        yield item.takes[0]._replace(start=start, kind="python")
        return item.end
    at = yield from blank(window, at)
    if at < len(window.text) and window.text[at] in "{[`":
        return (yield from read_section(window, start, at))
    return -1


def _input(window: Window, start: int, name: str, at: int) -> Steps:
    at = yield from blank(window, at)
    brace = yield from skip(window, at, _FENCE)
    if brace < len(window.text) and window.text[brace] == "{":
        item = yield from object_item(window, brace, _STOPS, marked=True, name=name)
        if item is not None:
            for take in item.takes:
                yield take._replace(start=start)
            after = yield from blank(window, item.end)
            closing = (yield from literal(window, after, _FENCE)) if brace > at else -1
            return max(closing, item.end)
    end = yield from text_end(window, at, _STOPS)
    text = window.text[at:end].strip()
    taken = spoken(window, start, end, name, _unquoted(text))
    if taken is None and text in _NOTHING and window.tools.name(name) and not window.tools.shape(name).required:
        taken = Take(start, end, name, {}, kind="text")
    if taken is None:
        if window.tools.name(name) is None:
            return -1
        taken = Take(start, end, name, None, source=text, fault="its input is not an object", kind="text")
    yield taken
    return end


def _unquoted(text: str) -> str:
    """Without the one pair of quotes around all of it."""
    inner = text[1:-1]
    return inner if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`" and text[0] not in inner else text


def answer(window: Window, start: int, at: int) -> Steps:
    """`Final Answer:` at the start of a line: the rest is for the user."""
    return Mute(at, None, "final") if _at_line_start(window, start) else -1
    yield  # a reader is a generator, also one that never waits


def _at_line_start(window: Window, at: int) -> bool:
    begin = window.begin
    before = window.text[max(begin, at - 8) : at].rstrip(" \t*")
    return before.endswith("\n") or (not before and at - begin < 8 and (begin > 0 or window.base == 0))


_EXAMPLE = 'Thought: I need the weather.\nAction: get_weather\nAction Input: {"city": "Bern"}'

REACT = (
    Format("react", "ReAct prompts, Command R+", ("Action:",), action, _EXAMPLE),
    Format("final_answer", "where a ReAct answer begins and calls end", ("Final Answer:",), answer, "Final Answer: 21 °C", quotable=False),
)  # fmt: skip


# ── hallucinated ──
# Markup that looks like a call and belongs to no format: `<|Start of Memory Helper Tool Call|>`.
#
# It never stays in the answer. Where it holds a call of a known tool, that is the call; else the model is told which
# tools there are.

_TOKEN = regex(r"<[|｜]([^<>|｜\n]{1,80})[|｜]>")
_TALKS_OF_TOOLS = regex(
    r"(?i)(?:\b|_|▁)(?:tools?|functions?|actions?|plugins?|invoke|api)(?:\b|_|▁).*?(?:call|use|request|invocation|invoke|execut|run|start|begin|end)|(?:call|use|start|begin|end|invoke|execute)\w*[\s_▁]+(?:\w+[\s_▁]+){0,4}(?:tools?|functions?|actions?|plugins?)"
)
_NOISE = regex(
    r"(?i)\b(?:start|begin|end|of|the|a|tool|tools|function|call|calls|use|request|invocation|invoke|execute|run|action)\b|[_▁:/]"
)
_AHEAD = (r"[^<>|｜\n]{1,80}[|｜]>", r"[^<>|｜\n]{0,80}[|｜]?\Z")
_REACH = 4000


def hallucinated(window: Window, start: int, _at: int) -> Steps:
    """A token that no format knows."""
    token = _TOKEN.match(window.text, start)
    if (
        token is None
        or token[0] in window.markers.closes.words
        or not _TALKS_OF_TOOLS.search(token[1])
        or re.match(r"(?i)\s*(?:end|/)", token[1])
    ):
        return -1
    body = yield from blank(window, token.end())
    item = (yield from read_item(window, body)) if body < len(window.text) else None
    resolved = False
    end = token.end()
    if item is not None:
        for take in item.takes:
            if take.arguments is not None and (not window.tools.known or window.tools.name(take.name) is not None):
                resolved = True
                yield take._replace(start=start, kind=item.kind)
        end = item.end if resolved else end
    if not resolved and " " not in token[1]:
        return -1  # a token of some tokenizer, and not of a call
    close = yield from _end_token(window, end)
    if not resolved:
        name = " ".join(_NOISE.sub(" ", token[1]).split()) or token[1].strip()
        stop = close if close >= 0 else token.end()
        yield Take(
            start,
            stop,
            name,
            None,
            source=window.text[start:stop],
            fault="no format has such markup",
            hallucinated=True,
        )
        return stop
    return close if close >= 0 else end


def _end_token(window: Window, at: int) -> Waiting[int]:
    """After the token that ends what the first one began, if one comes soon."""
    look = at
    while True:
        found = _TOKEN.search(window.text, look, at + _REACH)
        if found is not None and _TALKS_OF_TOOLS.search(found[1]):
            return found.end() if re.match(r"(?i)\s*(?:end|/)", found[1]) else -1
        if found is not None:
            look = found.end()
            continue
        if window.final or len(window.text) >= at + _REACH:
            return -1
        yield


_EXAMPLE_HALLUCINATED = '<|Start of Memory Helper Tool Call|>{"query": "Bern"}<|End of Memory Helper Tool Call|>'

HALLUCINATED = (
    Format(
        "hallucinated",
        "markup invented by models; reported with the real tools",
        ("<|", "<｜"),
        hallucinated,
        _EXAMPLE_HALLUCINATED,
        ahead=_AHEAD[0],
        maybe_ahead=_AHEAD[1],
    ),
)
