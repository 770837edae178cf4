"""List the formats in which calls are found, or show one: its example, and what reading it gives."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from rightcall.cli import OK
from rightcall.cli.lines import InputError
from rightcall.cli.options import json_option
from rightcall.cli.output import is_unicode, json_text
from rightcall.cli.readings import reading_record
from rightcall.cli.render import labelled
from rightcall.cli.terminal import Style, count, harmless_lines, pad, say, style_for, visible_width, wrap
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.recover.take import Format

_MOST_WORDS = 3

EXAMPLES = """\
examples:
  rightcall formats
  rightcall formats hermes
  rightcall formats --json
"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="show this format: its words, its example, a reading")
    json_option(parser, "the formats")


def run(options: Namespace) -> int:
    from rightcall.recover.registry import builtin_formats

    formats = builtin_formats()
    shown = formats if options.name is None else [_one(formats, options.name)]
    style = style_for(sys.stdout)
    if options.json:
        record = {"formats": [format_record(one, whole=options.name is not None) for one in shown]}
        say(json_text(record, ascii_only=not is_unicode(sys.stdout)))
    elif options.name is None:
        say(*listing(shown, style))
    else:
        say(*detail(shown[0], style))
    return OK


def _one(formats: Sequence["Format"], name: str) -> "Format":
    from difflib import get_close_matches

    for one in formats:
        if one.name == name:
            return one
    near = get_close_matches(name, [one.name for one in formats], n=1)
    hint = f"did you mean `{near[0]}`?" if near else "`rightcall formats` lists them"
    raise InputError(f"there is no format `{name}`: {hint}")


def format_record(one: "Format", *, whole: bool) -> dict[str, Any]:
    """A format as `--json` prints it; what reading its example gives only when it is asked for alone."""
    words = {"opens": list(dict.fromkeys(one.opens)), "closes": list(dict.fromkeys(one.closes))}
    record = {"name": one.name, "about": one.about, **words, "example": one.example}
    if not whole:
        return record
    from rightcall.gate import Gate

    return {**record, "reading": reading_record(Gate().read(one.example), one.example)}


def listing(formats: Sequence["Format"], style: Style) -> list[str]:
    """A table: the name, whose it is, and the words it opens with."""
    name = max(len(one.name) for one in formats)
    about = (style.width - name - 4) // 2
    widths = (name, about, style.width - name - about - 4)
    lines = [style.tint(line, "bold") for line in _row(["format"], ["models, or what it is"], ["opens with"], widths)]
    for one in formats:
        opens = words_filled(one.opens, widths[2], most=_MOST_WORDS)
        lines += _row([escaped(one.name)], wrap(escaped(one.about), about), opens, widths)
    return [*lines, "", f"{count(formats, 'format')}; `rightcall formats NAME` shows an example of one"]


def _row(name: list[str], about: list[str], opens: list[str], widths: Sequence[int]) -> list[str]:
    return [
        "  ".join(pad(piece, width) for piece, width in zip(pieces, widths, strict=True)).rstrip()
        for pieces in zip_longest(name, about, opens, fillvalue="")
    ]


def words_filled(words: Sequence[str], width: int, *, most: int | None = None) -> list[str]:
    """Opening words in lines of at most `width` columns, none of them broken: a blank may be part of one."""
    distinct = [escaped(word.replace("\n", "\\n")) for word in dict.fromkeys(words)]
    if most is not None and len(distinct) > most:
        distinct[most:] = [f"… {len(distinct) - most} more"]
    lines: list[str] = []
    for word in distinct:
        if lines and visible_width(f"{lines[-1]}  {word}") <= width:
            lines[-1] += f"  {word}"
        else:
            lines.append(word)
    return lines


def detail(one: "Format", style: Style) -> list[str]:
    """Everything about one format, and its example read by a gate that knows no tools."""
    from rightcall.cli.read_report import report
    from rightcall.gate import Gate

    reading = Gate().read(one.example)
    return [
        style.tint(escaped(one.name), "bold"),
        *wrap(escaped(one.about), style.width),
        *labelled("opens with", words_filled(one.opens, style.width - 20), style),
        *labelled("closes with", words_filled(one.closes, style.width - 20), style),
        "",
        style.tint("example", "bold"),
        *harmless_lines(one.example),
        "",
        style.tint("what is read", "bold"),
        *report(reading, one.example, style, explain=not reading.calls),
    ]
