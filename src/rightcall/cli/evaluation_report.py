"""The scores of `rightcall eval` as tables."""

from collections.abc import Mapping

from rightcall.cli.evaluation import Result, Scores, Tally
from rightcall.cli.render import labelled, value_text, written_lines
from rightcall.cli.terminal import Style, harmless_lines, table
from rightcall.text.escape import escaped

_HEADS = {"refused_ok": "refused, fine", "wrong": "wrong accepted"}


def report(scores: Scores, style: Style) -> list[str]:
    """The table by damage or kind, the totals, and the failing cases where they were asked for."""
    what = "damaged calls" if scores.shape == "calls" else "broken JSON"
    lines = [f"{escaped(scores.file)}: {scores.cases:,} cases of {what}", ""]
    lines += _table(scores, scores.groups, style)
    if scores.shape == "json" and scores.flagged:
        lines += ["", "core cases only (expectations that are no mere convention)", *_table(scores, scores.core, style)]
    lines += ["", *_totals(scores)]
    return lines + (_failures(scores, style) if scores.listing else [])


def _table(scores: Scores, groups: Mapping[str, Tally], style: Style) -> list[str]:
    wrong = "wrong" if scores.shape == "json" else _HEADS["wrong"]
    heads = [wrong if one == "wrong" else _HEADS.get(one, one) for one in scores.outcomes]
    rows = [_row(scores, group, groups[group]) for group in sorted(groups)]
    first = "damage" if scores.shape == "calls" else "suite/kind"
    return table([first, "n", *heads, "right"], rows, style)


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
    ]
