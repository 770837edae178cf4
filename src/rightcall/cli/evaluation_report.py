"""The scores of `rightcall eval` as tables."""

from collections.abc import Mapping

from rightcall.cli.corpora import Shape
from rightcall.cli.evaluation import Result, Scores, Tally
from rightcall.cli.render import labelled, value_text, written_lines
from rightcall.cli.terminal import Style, harmless_lines, table
from rightcall.text.escape import cut_counted, escaped

_HEADS = {"refused_ok": "refused, fine", "wrong": "wrong accepted"}
_LONGEST = 2000
_WHAT: dict[Shape, str] = {"calls": "damaged calls", "json": "broken JSON", "emissions": "emissions"}
_FIRST: dict[Shape, str] = {"calls": "damage", "json": "suite/kind", "emissions": "format"}


def report(scores: Scores, style: Style) -> list[str]:
    """The table by damage or kind, the totals, and the failing cases where they were asked for."""
    lines = [f"{escaped(scores.file)}: {scores.cases:,} cases of {_WHAT[scores.shape]}", ""]
    lines += _table(scores, scores.groups, style)
    if scores.flagged and scores.shape != "calls":
        lines += ["", "core cases only (expectations that are no mere convention)", *_table(scores, scores.core, style)]
    lines += ["", *(_emission_totals(scores, style) if scores.shape == "emissions" else _totals(scores))]
    return lines + (_failures(scores, style) if scores.listing else [])


def _table(scores: Scores, groups: Mapping[str, Tally], style: Style) -> list[str]:
    wrong = _HEADS["wrong"] if scores.shape == "calls" else "wrong"
    heads = [wrong if one == "wrong" else _HEADS.get(one, one) for one in scores.outcomes]
    rows = [_row(scores, group, groups[group]) for group in sorted(groups)]
    return table([_FIRST[scores.shape], "n", *heads, "right"], rows, style)


def _row(scores: Scores, group: str, tally: Tally) -> list[str]:
    name = escaped(group) + (" (to be refused)" if group in scores.hopeless else "")
    counts = (str(tally.outcomes[outcome]) for outcome in scores.outcomes)
    return [name, str(tally.n), *counts, _percent(100 * tally.right / tally.n)]


def _percent(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:.1f} %"


def _totals(scores: Scores) -> list[str]:
    totals = scores.totals()
    if scores.shape == "calls":
        wrong = totals["wrong_accepted"]
        return [
            f"restored            {_percent(totals['restored_percent'])} of the calls that can be restored",
            f"wrong accepted      {_percent(totals['wrong_accepted_percent'])} of all damaged calls ({wrong})",
            f"rightly refused     {_percent(totals['rightly_refused_percent'])} of the calls that nobody can restore",
            f"clean left alone    {_percent(totals['clean_left_alone_percent'])}",
        ]
    parts = ("all", "core") if scores.flagged else ("all",)
    return [
        f"{part:<5} {_percent(totals[part]['right_percent'])} right, {_percent(totals[part]['wrong_percent'])} wrong "
        f"({totals[part]['n']:,} cases)"
        for part in parts
    ]


def _emission_totals(scores: Scores, style: Style) -> list[str]:
    """All and core, each split into what holds calls and what holds none; then the streams."""
    rows: list[list[str]] = []
    for whole in ("all", "core") if scores.flagged else ("all",):
        for name, part in ((whole, whole), ("  expects a call", f"{whole} call"), ("  expects none", f"{whole} none")):
            tally = scores.parts[part]
            if tally.n:
                rows.append(_row(scores, name, tally))
    streams = scores.totals()["streams"]
    said = f"{_percent(streams['agree_percent'])} ({streams['agree']:,} of {scores.cases:,})"
    return [
        *table(["total", "n", *scores.outcomes, "right"], rows, style),
        "",
        f"as a stream, character by character and in random pieces: the same calls and prose in {said}",
    ]


def _failures(scores: Scores, style: Style) -> list[str]:
    lines = ["", style.tint(f"{len(scores.failures)} of {scores.failures_in_all} failing cases", "bold")]
    for result in scores.failures:
        lines += ["", *_failure(result, style)]
    return lines


def _failure(result: Result, style: Style) -> list[str]:
    head = f"{escaped(result.id)}  {escaped(result.group)}  {result.outcome}{'' if result.core else '  (flagged)'}"
    wrote = written_lines(result.wrote) if isinstance(result.wrote, str) else [value_text(result.wrote)]
    return [
        style.tint(head, "yellow"),
        *labelled("wrote", wrote, style),
        *labelled("wanted", [value_text(result.wanted)], style),
        *labelled("got", [value_text(result.got)], style),
        *(labelled("because", harmless_lines(result.reason), style) if result.reason else []),
        *(labelled("streams differ", [cut_counted(escaped(result.stream), _LONGEST)], style) if result.stream else []),
    ]
