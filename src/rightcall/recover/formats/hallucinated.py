"""Markup that looks like a call and belongs to no format: `<|Start of Memory Helper Tool Call|>` (R-07).

It never stays in the answer. Where it holds a call of a known tool, that is the call; else the model is told which
tools there are.
"""

from __future__ import annotations

import re

from rightcall.parse.late import Late
from rightcall.recover.section import read_item
from rightcall.recover.take import Format, Steps, Take
from rightcall.recover.window import Waiting, Window, blank

_TOKEN = Late(r"<[|｜]([^<>|｜\n]{1,80})[|｜]>")
_TALKS_OF_TOOLS = Late(
    r"(?i)(?:\b|_|▁)(?:tools?|functions?|actions?|plugins?|invoke|api)(?:\b|_|▁).*?(?:call|use|request|invocation|invoke|execut|run|start|begin|end)|(?:call|use|start|begin|end|invoke|execute)\w*[\s_▁]+(?:\w+[\s_▁]+){0,4}(?:tools?|functions?|actions?|plugins?)"
)
_NOISE = Late(
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


_EXAMPLE = '<|Start of Memory Helper Tool Call|>{"query": "Bern"}<|End of Memory Helper Tool Call|>'

FORMATS = (
    Format(
        "hallucinated",
        "markup that models make up; reported with the real tools",
        ("<|", "<｜"),
        hallucinated,
        _EXAMPLE,
        ahead=_AHEAD[0],
        maybe_ahead=_AHEAD[1],
    ),
)
