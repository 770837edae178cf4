"""Colours only where they belong, columns that line up, and nothing a model wrote reaches the terminal raw."""

import io

from hypothesis import given
from hypothesis import strategies as st

from rightcall.base.text import escaped
from rightcall.cli.terminal import Style, beside, harmless_lines, table, visible_width, wants_colour, wrap
from support.every import every


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@every(
    ("environment", "on_screen", "in_pipe"),
    [
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),
        ({"TERM": "dumb"}, False, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": "0"}, False, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
    ],
)
def test_colours_appear_only_where_they_are_wanted(environment: dict[str, str], on_screen: bool, in_pipe: bool) -> None:
    assert wants_colour(Screen(), environment) is on_screen
    assert wants_colour(io.StringIO(), environment) is in_pipe


def test_a_style_without_colour_adds_nothing() -> None:
    assert Style().tint("text", "red", "bold") == "text"
    assert Style(colour=True).tint("text", "red") == "\x1b[31mtext\x1b[0m"


def test_lines_stay_lines_and_a_flood_of_them_is_counted() -> None:
    assert harmless_lines("a\r\n\tb\x1b\u202e 漢") == ["a", "    b\\u001b\\u202e 漢"]
    assert harmless_lines("\n" * 300, most=3) == ["", "", "", "… and 298 more lines"]


@given(st.text(max_size=60), st.integers(1, 30))
def test_wrapping_loses_nothing_but_blanks_and_keeps_to_the_width(text: str, width: int) -> None:
    line = escaped(text)
    pieces = wrap(line, width)
    assert "".join(pieces).replace(" ", "") == line.replace(" ", "")
    assert all(visible_width(piece) <= max(width, 2) for piece in pieces)


def test_two_blocks_stand_side_by_side() -> None:
    assert beside(["one", "two"], ["漢字漢字 long"], 19) == ["one      │ 漢字漢字", "two      │ long"]


def test_a_table_lines_up_words_left_and_figures_right() -> None:
    assert table(["kind", "n"], [["a", "1"], ["long name", "100"]], Style()) == [
        "kind         n",
        "a            1",
        "long name  100",
    ]
