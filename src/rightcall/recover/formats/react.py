"""The ReAct style: `Action: name`, `Action Input: {…}`; what stands after `Final Answer:` is never a call."""

from __future__ import annotations

from rightcall.parse.late import Late
from rightcall.recover.items.json_object import object_item
from rightcall.recover.items.python_call import HEAD, python_item
from rightcall.recover.items.spoken import spoken, text_end
from rightcall.recover.section import section
from rightcall.recover.take import Format, Mute, Steps, Take
from rightcall.recover.window import Literals, Window, blank, literal, matched, skip

_LINE = Late(r"[ \t]*([^\n]*)\n?")
_NAME = Late(r"[*`\"' \t]*([A-Za-z_][\w.\-/:]*)(?:\(\))?[*`\"']*[ \t]*")
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
        return (yield from section(window, start, at))
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
        taken = Take(start, end, name, None, source=text, fault="its input is no object", kind="text")
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

FORMATS = (
    Format("react", "ReAct prompts, Command R+", ("Action:",), action, _EXAMPLE),
    Format("final_answer", "where a ReAct answer begins and calls end", ("Final Answer:",), answer, "Final Answer: 21 °C", quotable=False),
)  # fmt: skip
