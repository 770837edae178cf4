"""Matches below their file, in colour where there are any; with lines around them, where those were asked for, as
`grep -C` shows them."""

from collections.abc import Iterator
from itertools import groupby

from rightcall.cli.code_report_text import Fields, marked, safe, some
from rightcall.cli.terminal import Style, many

Line = tuple[int | None, str, Fields | None]
"""Its number, where that is known, its text, and the match that it is, None for one around it."""


def search(result: Fields, style: Style, arguments: Fields) -> Iterator[str]:
    """Two lines around each match always come with a result; whoever has not asked for any wants the matches."""
    around = bool(arguments.get("contextLines"))
    for file, matches in groupby(result["matches"], key=lambda match: match["file"]):
        yield style.tint(safe(file), "bold")
        found = list(matches)
        yield from _with_context(found, style) if around else (_bare(match, style) for match in found)
    count = some(len(result["matches"]), result["totalMatches"], "matching line")
    yield style.tint(f"{count}, {many(result['filesSearched'], 'file')} searched", "dim")


def more(result: Fields) -> str | None:
    if len(result["matches"]) < result["totalMatches"]:
        return "paths, filePattern or a narrower pattern show the others"
    return None


def _bare(match: Fields, style: Style) -> str:
    return f"{style.tint(_place(match.get('line'), '  '), 'dim')}{_marked(match, style)}"


def _with_context(matches: list[Fields], style: Style) -> Iterator[str]:
    groups = _numbered(matches) if all("line" in match for match in matches) else map(_around, matches)
    for at, group in enumerate(groups):
        if at:
            yield style.tint("--", "dim")
        for number, text, match in group:
            if match is not None:
                yield f"{style.tint(_place(number, ': '), 'dim')}{_marked(match, style)}"
            else:
                yield style.tint(f"{_place(number, '- ')}{safe(text)}", "dim")


def _numbered(matches: list[Fields]) -> Iterator[list[Line]]:
    """The lines of a file in their order, each of them once; a gap begins another group."""
    lines: dict[int, Line] = {}
    for match in matches:
        for number, text, matched in _around(match):
            if number is not None and (matched is not None or number not in lines):
                lines[number] = (number, text, matched)
    for _, group in groupby(enumerate(sorted(lines)), key=lambda found: found[1] - found[0]):
        yield [lines[number] for _, number in group]


def _around(match: Fields) -> list[Line]:
    number = match.get("line")
    before, after = match["contextBefore"], match["contextAfter"]
    first = None if number is None else number - len(before)
    lines = [*((text, None) for text in before), (match["matchedText"], match), *((text, None) for text in after)]
    return [(None if first is None else first + at, text, matched) for at, (text, matched) in enumerate(lines)]


def _marked(match: Fields, style: Style) -> str:
    return marked(str(match["matchedText"]), match.get("highlights") or (), style)


def _place(number: int | None, mark: str) -> str:
    return mark if number is None else f"{number:>6}{mark}"
