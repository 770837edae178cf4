"""What the doctor found, for people: the table by step, two bars, the damage, and what to set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rightcall.cli.bars import LEAST_BAR, WIDEST_BAR, Signs, bar
from rightcall.cli.terminal import Style, many, pad, table, wrap
from rightcall.serve.doctor import Examination
from rightcall.serve.doctor_advice import Advice
from rightcall.serve.doctor_findings import WAYS, Findings, Row, Share, Way
from rightcall.serve.doctor_judging import TOLD, Damage
from rightcall.text.escape import escaped

_APIS = {"openai": "OpenAI's API", "anthropic": "Anthropic's API", "ollama": "Ollama's API"}


def report(
    examination: Examination, found: Findings, advised: Sequence[Advice], style: Style, signs: Signs
) -> list[str]:
    """All lines. Names that a server gave are escaped."""
    return [
        *_head(examination, style),
        "",
        *_steps(found, style),
        "",
        *_bars(found, style, signs),
        *_damage("damage seen", found.damage, style),
        *_damage("damage seen with the tools in the prompt", found.taught_damage, style),
        *_render_notes(found, style),
        *_advised(advised, style),
        *_ended(examination, style),
    ]


def _head(examination: Examination, style: Style) -> list[str]:
    patient = examination.patient
    if patient is None:
        return [f"{examination.host} was not asked anything"]
    name = style.tint(escaped(patient.model, 200), "bold")
    chosen = " (the first that the server lists)" if examination.chosen else ""
    asked = many(len(examination.results), "question")
    told = f"{name}{chosen} at {examination.host}, {_APIS[patient.speech]}: {asked} in {examination.seconds:.1f} s"
    return wrap(told, style.width)


def _steps(found: Findings, style: Style) -> list[str]:
    """Usable, and in brackets also right."""
    heads = ["step", "asked", *(WAYS[way] for way in found.ways)]
    rows = [_cells(row, found.ways) for row in (*found.rows, found.total)]
    lines = table(heads, rows, style)
    return [*lines[:-1], style.tint(lines[-1], "bold"), style.tint("usable (also right by value)", "dim")]


def _cells(row: Row, ways: Sequence[Way]) -> list[str]:
    shares = (row.shares[way] for way in ways)
    return [row.name, str(row.shares["without"].asked), *(f"{one.usable} ({one.right})" for one in shares)]


def _bars(found: Findings, style: Style, signs: Signs) -> list[str]:
    """Each way's share of all questions: a full bar is every one of them."""
    rows = [(_label(way), found.total.shares[way]) for way in found.ways]
    label = max(len(name) for name, _ in rows)
    width = min(WIDEST_BAR, style.width - label - max(len(_of(share)) for _, share in rows) - 4)
    if width < LEAST_BAR:
        return [piece for name, share in rows for piece in wrap(f"{name}: {_of(share)}", style.width)]
    return [f"{pad(name, label)}  {_drawn(share, width, style, signs)}  {_of(share)}" for name, share in rows]


def _drawn(share: Share, width: int, style: Style, signs: Signs) -> str:
    return style.tint(pad(bar(share.usable, share.asked, width, signs), width), "cyan")


def _label(way: Way) -> str:
    return {"without": "without RightCall", "with": "with RightCall"}.get(way, f"with {WAYS[way]}")


def _of(share: Share) -> str:
    percent = 100 * share.usable / share.asked if share.asked else 0
    return f"{percent:.0f} % usable ({share.usable} of {share.asked}), {share.right} right"


def _damage(title: str, damage: Mapping[Damage, int], style: Style) -> list[str]:
    if not damage:
        return []
    width = max(len(str(number)) for number in damage.values())
    return ["", style.tint(title, "bold"), *(f"  {number:>{width}} × {TOLD[one]}" for one, number in damage.items())]


def _render_notes(found: Findings, style: Style) -> list[str]:
    if not found.notes:
        return []
    lines = [piece for note in found.notes[:5] for piece in wrap(escaped(note, 500), style.width - 2)]
    return ["", style.tint("the server said", "bold"), *(f"  {line}" for line in lines)]


def _advised(advised: Sequence[Advice], style: Style) -> list[str]:
    if not advised:
        return []
    lines = ["", style.tint("suggestions", "bold")]
    for setting, why in advised:
        first, *rest = wrap(f"{setting}: {why}" if setting else why, style.width - 4)
        shown = first.replace(setting, style.tint(setting, "green"), 1) if setting else first
        lines += [f"  - {shown}", *(f"    {piece}" for piece in rest)]
    return lines


def _ended(examination: Examination, style: Style) -> list[str]:
    if examination.complete:
        return []
    why = f"the server failed three times in a row: {examination.stopped}" if examination.stopped else "interrupted"
    return ["", *(style.tint(line, "yellow") for line in wrap(f"Not everything was asked: {why}", style.width))]
