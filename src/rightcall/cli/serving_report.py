"""What the terminal is told of a request that has passed: one line for each call that something was done about.

The values in it go the way of the audit's: what is secret by its name or its shape is not shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rightcall.cli.terminal import Style
from rightcall.proxy.report import Provenance, notes, word_for
from rightcall.text.escape import escaped, render_json
from rightcall.text.redact import Redactor
from rightcall.text.secret_names import MARK

if TYPE_CHECKING:
    from rightcall.cli.serving_lines import Lines
    from rightcall.proxy.settle import Did
    from rightcall.serve.facts import Facts

_SHOWN = ("repaired", "lifted", "left")
_MOST = 20
"""Calls of one answer that have a line."""

_FAULTS = {
    "internal": "failed in RightCall itself",
    "refused": "refused: it cannot be passed on",
    "paused": "refused: all calls are paused; `rightcall resume` lets them run again",
}
"""Faults that are none of the upstream's."""


def teller(lines: Lines, style: Style, redactor: Callable[[], Redactor]) -> Callable[[Facts], None]:
    """Tells people what was done. `redactor` gives the one of this moment."""
    from rightcall.serve.noting import weight_of

    def tell(facts: Facts) -> None:
        did = [one for one in facts.did if one.fate in _SHOWN]
        fault = facts.fault if facts.fault != "gone" else ""
        if did or fault:
            weight = sum(weight_of(one) for one in did[:_MOST])
            first, more, observe = did[:_MOST], len(did) - _MOST, facts.observe
            lines.make(lambda: _render_request(first, more, fault, observe, style, redactor()), weight)

    return tell


def _render_request(did: list[Did], more: int, fault: str, observe: bool, style: Style, redactor: Redactor) -> str:
    told = [_line(one, observe, style, redactor) for one in did]
    if more > 0:
        told.append(f"  … and {more} more calls")
    if fault in _FAULTS:
        told.append(f"  {style.tint('request', 'red')} {_FAULTS[fault]}")
    elif fault:
        told.append(f"  {style.tint('upstream', 'red')} {fault}")
    return "\n".join(told)


def _line(did: Did, observe: bool, style: Style, redactor: Redactor) -> str:
    body = notes([did], redactor, Provenance("", "", ""))[0]
    tint = "yellow" if did.fate == "left" else "green"
    word = word_for(did, observe=observe)
    if did.fate == "left":
        why = "; ".join(escaped(_problem(one), 100) for one in body.problems[:2])
    else:
        why = ", ".join(_change(one) for one in body.repairs[:3])
    return f"  {style.tint(word, tint)} {escaped(body.tool, 60)}  {style.tint(why, 'dim')}".rstrip()


def _problem(problem: dict[str, str]) -> str:
    """Where all of the message is secret, what remains to be said."""
    message = problem["message"]
    return f"{problem['path']}: {problem['code']}" if MARK.fullmatch(message) else message


def _change(repair: dict[str, Any]) -> str:
    path = escaped(str(repair["path"]), 40) or "call"
    return f"{path} {render_json(repair['before'], 40)} → {render_json(repair['after'], 40)}"
