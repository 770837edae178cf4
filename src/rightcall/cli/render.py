"""A verdict for people: what was written, what comes out, each repair with its reason, the problems and the hint."""

from typing import Any

from rightcall.base.json.marks import RULES
from rightcall.base.text import cut_counted, escaped, render_json
from rightcall.cli.terminal import Style, harmless_lines, json_text, pad, wrap
from rightcall.types import Problem, Repair, Verdict

_LABEL = 16  # columns of the left label, "what the model …"
_LONGEST = 4000  # of one value; more than this is only counted
_BRIEF = 60


def headline(verdict: Verdict, name: str, style: Style) -> str:
    """The verdict in one line."""
    called = escaped(verdict.call.name if verdict.call else name)
    if not verdict.ok:
        return style.tint(f"✗ {called} is refused", "red", "bold")
    if verdict.mode == "observe" and (verdict.repairs or verdict.problems):
        return style.tint(f"○ {called} passes as it is (mode observe); what would have happened:", "yellow", "bold")
    if verdict.problems:
        return style.tint(f"! {called} runs with a warning (mode {verdict.mode})", "yellow", "bold")
    if verdict.repairs:
        return style.tint(f"✓ {called} may run, repaired ({confidence(verdict.confidence)})", "green", "bold")
    return style.tint(f"✓ {called} may run, untouched", "green", "bold")


def confidence(number: float) -> str:
    return "certain" if number >= 1 else f"confidence {number:.2f}"


def report(verdict: Verdict, name: str, written: str, style: Style) -> list[str]:
    """Everything about one verdict, line by line."""
    return [
        headline(verdict, name, style),
        *labelled("the model wrote", written_lines(written), style),
        *outcome(verdict, style),
        *reasons(verdict, style),
        *advice(verdict, style),
        *(labelled("trying again", [retry_text(verdict)], style) if not verdict.ok else []),
    ]


def outcome(verdict: Verdict, style: Style) -> list[str]:
    """The arguments that come out; of a refused call those that were read."""
    lines: list[str] = []
    if verdict.ok and verdict.call is not None:
        lines += labelled("what comes out", [value_text(verdict.call.arguments)], style)
    elif verdict.found is not None:
        lines += labelled("what was read", [value_text(verdict.found.arguments)], style)
    if verdict.truncated:
        lines += labelled("cut off", ["the text ends before the call does"], style)
    return lines


def reasons(verdict: Verdict, style: Style) -> list[str]:
    """Every repair and every problem."""
    return [
        *labelled("repaired" if verdict.ok else "tried", repair_lines(verdict.repairs), style),
        *labelled("problems", problem_lines(verdict.problems), style),
    ]


def advice(verdict: Verdict, style: Style) -> list[str]:
    """What the model should read."""
    return labelled("hint", harmless_lines(verdict.hint), style) if verdict.hint else []


def labelled(label: str, lines: list[str], style: Style) -> list[str]:
    """A label on the left and its lines, wrapped, on the right; nothing for no lines."""
    width = max(20, style.width - _LABEL - 3)
    pieces = [piece for line in lines for piece in wrap(line, width)]
    heads = [label] + [""] * (len(pieces) - 1) if pieces else []
    return [
        f"  {style.tint(pad(head, _LABEL), 'dim')} {piece}".rstrip() for head, piece in zip(heads, pieces, strict=True)
    ]


def written_lines(text: str) -> list[str]:
    """What the model wrote, line by line as it stands."""
    return harmless_lines(cut_counted(text.rstrip("\r\n"), _LONGEST) or "(nothing)")


def value_text(value: Any) -> str:
    return cut_counted(json_text(value), _LONGEST)


def brief(value: Any) -> str:
    """A value in few characters."""
    return render_json(value, _BRIEF)


def repair_lines(repairs: tuple[Repair, ...]) -> list[str]:
    """One line per repair: where, what, and by which rule."""
    places = [escaped(repair.path, 40) or "(the call)" for repair in repairs]
    width = min(24, max((len(place) for place in places), default=0))
    return [
        f"{pad(place, width)}  {change(repair)}  [{why(repair)}]" for place, repair in zip(places, repairs, strict=True)
    ]


def change(repair: Repair) -> str:
    """What was done, in words where a text was read leniently, otherwise as before and after."""
    if repair.rule in RULES:  # the reader's repairs quote the place in the text, which stands above in full
        return str(repair.after)
    if repair.rule == "dropped_argument":
        return f"{brief(repair.before)} left out: there is no such argument"
    return f"{brief(repair.before)} → {brief(repair.after)}"


def why(repair: Repair) -> str:
    return f"{repair.rule}, {repair.strategy}, {confidence(repair.confidence)}"


def problem_lines(problems: tuple[Problem, ...]) -> list[str]:
    return [f"{escaped(problem.message)}  [{problem.code}]" for problem in problems]


def retry_text(verdict: Verdict) -> str:
    if verdict.retry:
        return "can help, if the model corrects what the hint names"
    return "will not help"
