"""Which settings would help, each with the figure it rests on; and what no setting helps against."""

from __future__ import annotations

from collections.abc import Iterator

from rightcall.serve.doctor import Examination
from rightcall.serve.doctor_findings import Findings, Share

Advice = tuple[str, str]
"""The setting (empty where there is none) and the reason."""


def advice(examination: Examination, found: Findings) -> list[Advice]:
    """What to set for `rightcall proxy`, the most useful first."""
    if not found.total.shares["without"].asked:
        return []
    return [*_settings(found), *_limits(examination, found), *_beyond_repair(found)] or [_nothing(found)]


def _settings(found: Findings) -> Iterator[Advice]:
    shares = found.total.shares
    now, retry = shares["with"], shares["retry"]
    teach, teach_retry, lift = shares["teach"], shares["teach_retry"], shares["lift"]
    best_plain = max(now.usable, retry.usable)
    if teach.asked == now.asked and max(teach.usable, teach_retry.usable) > best_plain:
        yield "--teach on", _more("tools in the prompt", teach, now) + _why_taught(found)
        if teach_retry.usable > teach.usable:
            yield "--retry 1", _more("asking again when a call cannot be repaired", teach_retry, teach)
        return
    if "refused" in found.damage and teach.usable > now.usable:
        yield "--teach auto", "the default: this server refuses tools, and the proxy then puts them into the prompt"
    if retry.usable > now.usable:
        yield "--retry 1", _more("asking again when a call cannot be repaired", retry, now)
    if lift.usable > now.usable:
        yield "--lift on", _more("this provider's calls in the text", lift, now)
    if now.usable > shares["without"].usable:
        yield "", _more("the proxy with its default settings", now, shares["without"])


def _more(what: str, better: Share, than: Share) -> str:
    return f"{what}: {better.usable} of {better.asked} usable instead of {than.usable} of {than.asked}"


def _why_taught(found: Findings) -> str:
    if "refused" in found.damage:
        return "; the server refuses tools"
    return f"; {found.ignored}" if found.ignored else ""


def _limits(examination: Examination, found: Findings) -> Iterator[Advice]:
    cut = max(found.damage.get("cut", 0), found.taught_damage.get("cut", 0))
    if cut:
        tokens = examination.settings.tokens
        who = "one answer was" if cut == 1 else f"{cut} answers were"
        yield "max tokens", f"{who} cut off at {tokens} tokens: allow more in your client (here: --max-tokens)"
    slow = max(found.damage.get("slow", 0), found.taught_damage.get("slow", 0))
    if slow:
        seconds = examination.settings.seconds
        yield "timeout", f"{slow} answers took more than {seconds:g} s: allow more in your client (here: --timeout)"


def _beyond_repair(found: Findings) -> Iterator[Advice]:
    """What repair cannot help against: said plainly, so that nobody waits for a setting that does."""
    best_taught = found.total.shares["teach"].usable > found.total.shares["with"].usable
    damage = found.taught_damage if best_taught else found.damage
    asked = found.total.shares["without"].asked
    if wrong := damage.get("wrong tool", 0):
        yield "", f"this model picks the wrong tool in {wrong} of {asked} answers: no repair helps against that"
    if not best_taught and (deaf := damage.get("ignored", 0)):
        why = "and with the tools in its prompt the model did no better"
        yield "", f"the server did not tell the model of its tools in {deaf} of {asked} answers, {why}"
    if none := damage.get("none", 0):
        yield "", f"this model calls no tool at all in {none} of {asked} answers, though one was asked for"
    best = max(found.total.shares.values(), key=lambda share: share.usable)
    if best.usable > best.right:
        wrong = best.usable - best.right
        yield "", f"in {wrong} of {asked} answers the call fits, but a value is not the one that was asked for"


def _nothing(found: Findings) -> Advice:
    shares = found.total.shares
    if shares["without"].usable == shares["without"].asked:
        return "", "every call was right as it came: with this model the proxy has nothing to do here"
    return "", "no setting would have made more of these answers usable"
