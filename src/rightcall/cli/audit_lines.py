"""One call of the audit as one line, and the marks and words that `tail` and `show` share. Everything is escaped."""

from collections.abc import Iterable, Mapping

from rightcall.cli.terminal import Style, Tint, many, pad, visible_width
from rightcall.record.reading import CallRecord
from rightcall.text.escape import escaped, render_json

TINTS: Mapping[str, Tint] = {
    "success": "green", "failed": "red", "refused": "yellow", "waiting": "cyan", "pending": "dim",
    "interrupted": "red", "damaged": "red", "proxied": "cyan",
}  # fmt: skip

_STATUS, _TIME = 11, 8
_LEAST_CALLER, _LEAST_TOOL = 6, 10
_MOST_CALLER, _MOST_TOOL = 20, 28
_DETAIL = 400
_LEAST_DETAIL = 6
_WIDE, _NARROW = 100, 70
"""Columns of a terminal below which lines go without the date, and without the time a call took."""


class Table:
    """Lines for calls, one below the other. The columns are as wide as the widest name so far."""

    def __init__(self, style: Style, records: Iterable[CallRecord] = ()) -> None:
        self._style = style
        self._dated, self._timed = style.width >= _WIDE, style.width >= _NARROW
        self._caller, self._tool = _LEAST_CALLER, _LEAST_TOOL
        for record in records:
            self._widen(record)

    def header(self) -> str:
        when = pad("time (UTC)", 14) if self._dated else pad("UTC", 8)
        words = f"{'record':>6}  {when}  {pad('status', _STATUS)}  {pad('caller', self._caller)}  "
        return self._style.tint(f"{words}{pad('tool', self._tool)}  {self._took('took')}what", "bold")

    def line(self, record: CallRecord) -> str:
        """Number, time, how it went, who, what, how long, and what with or why not."""
        self._widen(record)
        status = self._style.tint(pad(record.status, _STATUS), TINTS[record.status])
        when = escaped(record.timestamp[5 if self._dated else 11 : 19], 14)
        start = (
            f"{record.id:>6}  {when}  {status}  {column(record.caller, self._caller)}  "
            f"{column(record.tool, self._tool)}  {self._took(took(record))}"
        )
        room = max(_LEAST_DETAIL, self._style.width - visible_width(start))
        return (start + fitting(detail(record), room)).rstrip()

    def _took(self, text: str) -> str:
        return f"{text:>{_TIME}}  " if self._timed else ""

    def _widen(self, record: CallRecord) -> None:
        self._caller = min(_MOST_CALLER, max(self._caller, visible_width(escaped(record.caller, 200))))
        self._tool = min(_MOST_TOOL, max(self._tool, visible_width(escaped(record.tool, 200))))


def call_lines(records: list[CallRecord], style: Style) -> list[str]:
    table = Table(style, records)
    return [table.line(record) for record in records]


def detail(record: CallRecord) -> str:
    """What a line has room for: the reason where it did not go well, else the arguments and what came of them."""
    if record.status in ("failed", "refused", "interrupted", "damaged"):
        return escaped(f"{record.rule}: {record.error}" if record.status == "refused" else record.error or "", _DETAIL)
    if record.status == "waiting":
        return escaped(f"for approval {record.approval}", _DETAIL)
    if record.status == "proxied":
        return _passed(record)
    given = render_json(record.params, _DETAIL)
    return f"{given} → {escaped(record.summary, _DETAIL)}" if record.summary else given


def _passed(record: CallRecord) -> str:
    """What the proxy did about a call, the name it had, and what the client got of it."""
    fate = record.rule.removeprefix("proxy:")
    name = f" from {render_json(record.written, 60)}" if record.written else ""
    told = render_json(record.params, _DETAIL) if fate != "left" else escaped(record.reason, _DETAIL)
    return f"{escaped(fate, 40)}{name}: {told}"


def records(number: int) -> str:
    return many(number, "record")


def took(record: CallRecord) -> str:
    time = record.execution_time
    if time is None:
        return ""
    return f"{time:.1f} ms" if time < 1000 else f"{time / 1000:.1f} s"


def column(text: str, width: int) -> str:
    return pad(fitting(escaped(text, 200), width), width)


def fitting(text: str, width: int) -> str:
    """Cut to so many columns."""
    if visible_width(text) <= width:
        return text
    while visible_width(text) >= width:
        text = text[: -max(1, (visible_width(text) - width) // 2)]
    return text + "…"
