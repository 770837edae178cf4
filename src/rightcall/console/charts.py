"""Charts as SVG, made here and drawn by `templates/charts.html`: lines, and bars on top of each other.

A chart fills whatever width there is, so nothing in it is text: names, ticks and times stand around it as HTML. Lines
differ by colour, by dashes and by the shape of their dots; bars stand apart and in the order of the legend. Each chart
has a title, a description, and a table with the same numbers, which is also what an export holds.
"""

from collections.abc import Sequence
from math import floor, log10
from typing import Any, Final, Literal

from msgspec import Struct

WIDTH: Final = 1000
HEIGHT: Final = 200
MOST: Final = 6
"""Series in one chart; the rest are added up as `OTHERS`, or left to the table."""
_MOST_DOTS: Final = 31
"""Places up to which every value has a dot."""
OTHERS: Final = "all others"
Unit = Literal["", "%", "ms"]
Value = float | int | None


class Series(Struct, frozen=True):
    """Values under one name, one for each place on the axis; None where there is none."""

    name: str
    values: Sequence[Value]


class Dot(Struct, frozen=True):
    x: float
    y: float
    label: str


class Bar(Struct, frozen=True):
    x: float
    y: float
    width: float
    height: float
    label: str


class Drawn(Struct, frozen=True):
    """One series. `place` chooses its look."""

    name: str
    place: int
    path: str = ""
    dots: list[Dot] = []
    bars: list[Bar] = []


class Tick(Struct, frozen=True):
    y: float
    label: str


class Chart(Struct, frozen=True, kw_only=True):
    id: str
    title: str
    desc: str
    kind: Literal["lines", "bars"]
    starts: list[str]
    """When each place of the axis begins, UTC."""
    drawn: list[Drawn]
    ticks: list[Tick]
    columns: list[str]
    rows: list[list[Any]]
    nothing: str
    """What to say where there is nothing to draw."""

    @property
    def is_empty(self) -> bool:
        return not any(one.path or one.dots or one.bars for one in self.drawn)


class Drawing(Struct, frozen=True, kw_only=True):
    """What a chart is made of."""

    id: str
    title: str
    desc: str
    starts: Sequence[str]
    series: Sequence[Series]
    unit: Unit = ""
    nothing: str = "Nothing to show in this period."


class Scale(Struct, frozen=True):
    """From which value to which the chart goes."""

    least: float
    most: float

    def y(self, value: float) -> float:
        return round(HEIGHT - HEIGHT * (value - self.least) / (self.most - self.least), 2)


def lines(drawing: Drawing) -> Chart:
    """Each series as a line; a place without a value interrupts it. Parts of a hundred that are all large begin where
    they differ: the ticks say where."""
    shown = drawing.series[:MOST]
    known = [value for one in shown for value in one.values if value is not None]
    scale = _from_zero(known)
    if drawing.unit == "%":
        scale = Scale(min(90.0, floor(min(known, default=0) / 10) * 10.0), 100.0)
    drawn: list[Drawn] = []
    for place, one in enumerate(shown):
        dots = [
            Dot(_x(at, len(one.values)), scale.y(value), f"{one.name}: {told(value, drawing.unit)}")
            for at, value in enumerate(one.values)
            if value is not None and (len(one.values) <= _MOST_DOTS or _is_alone(one.values, at))
        ]
        drawn.append(Drawn(one.name, place, _path(one.values, scale), dots))
    return _chart(drawing, "lines", drawn, scale)


def bars(drawing: Drawing) -> Chart:
    """The series of each place on top of each other, the first at the bottom."""
    shown = list(drawing.series)
    if len(shown) > MOST:
        rest = zip(*(one.values for one in shown[MOST - 1 :]), strict=True)
        shown = [*shown[: MOST - 1], Series(OTHERS, [sum(value or 0 for value in column) for column in rest])]
    count = len(drawing.starts) or 1
    tops, step = [0.0] * count, WIDTH / count
    scale = _from_zero([sum(one.values[at] or 0 for one in shown) for at in range(len(drawing.starts))])
    drawn: list[Drawn] = []
    for place, one in enumerate(shown):
        found: list[Bar] = []
        for at, value in enumerate(one.values):
            if value:
                bottom, tops[at] = tops[at], tops[at] + value
                y, low = scale.y(tops[at]), scale.y(bottom)
                label = f"{one.name}: {told(value, drawing.unit)}"
                found.append(Bar(round(step * (at + 0.12), 2), y, round(step * 0.76, 2), round(low - y, 2), label))
        drawn.append(Drawn(one.name, place, bars=found))
    return _chart(drawing, "bars", drawn, scale)


def _is_alone(values: Sequence[Value], at: int) -> bool:
    """Whether no line leads to a value: only its dot shows it."""
    return all(not 0 <= near < len(values) or values[near] is None for near in (at - 1, at + 1))


def _from_zero(values: Sequence[float]) -> Scale:
    return Scale(0.0, nice(max(values, default=0)))


def _chart(drawing: Drawing, kind: Literal["lines", "bars"], drawn: list[Drawn], scale: Scale) -> Chart:
    values = (scale.most, (scale.least + scale.most) / 2, scale.least)
    ticks = [Tick(scale.y(value), told(value, drawing.unit)) for value in values]
    return Chart(
        id=drawing.id, title=drawing.title, desc=drawing.desc, kind=kind, starts=list(drawing.starts), drawn=drawn,
        ticks=ticks, nothing=drawing.nothing,
        columns=["start", *(f"{one.name} ({drawing.unit})" if drawing.unit else one.name for one in drawing.series)],
        rows=[
            [start, *(rounded(one.values[at]) for one in drawing.series)] for at, start in enumerate(drawing.starts)
        ],
    )  # fmt: skip


def rounded(value: Value) -> Value:
    return round(value, 2) if isinstance(value, float) else value


def _x(at: int, count: int) -> float:
    return round(WIDTH * (at + 0.5) / (count or 1), 2)


def _path(values: Sequence[Value], scale: Scale) -> str:
    path, pen_down = "", False
    for at, value in enumerate(values):
        if value is not None:
            path += f"{'L' if pen_down else 'M'}{_x(at, len(values)):g} {scale.y(value):g}"
        pen_down = value is not None
    return path


def nice(most: float) -> float:
    """A round number that is not less.

    >>> nice(0), nice(7), nice(23), nice(1001)
    (1.0, 10.0, 50.0, 2000.0)
    """
    if most <= 0:
        return 1.0
    unit = 10 ** floor(log10(most))
    return float(next(step * unit for step in (1, 2, 5, 10) if step * unit >= most))


def told(value: float, unit: Unit) -> str:
    """
    >>> told(12.345, "%"), told(1500, "ms"), told(12000, "")
    ('12.3 %', '1.5 s', '12,000')
    """
    if unit == "%":
        return f"{value:.1f}".removesuffix(".0") + " %"
    if unit == "ms":
        return f"{value / 1000:g} s" if value >= 1000 else f"{value:.3g} ms"
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"
