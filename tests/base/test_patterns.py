"""Patterns for names: one wildcard, no surprises, and denials that other spellings cannot slip past."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.base.globs import hits, is_pattern, loosely, matches
from support.every import every

NAMES = st.text(alphabet="ab/_-.[*?\nA", max_size=8)


@every(
    ("pattern", "name", "expected"),
    [
        ("code/read", "code/read", True),
        ("code/read", "Code/read", False),
        ("code/read", "code/read2", False),
        ("code/*", "code/read", True),
        ("code/*", "code/execute/python", True),
        ("code/*", "code/", True),
        ("code/*", "code", False),
        ("*", "", True),
        ("*", "anything at all", True),
        ("**", "a", True),
        ("*read", "code/read", True),
        ("*read", "code/read2", False),
        ("a*b*c", "aXbYc", True),
        ("a*b*c", "acb", False),
        ("ab*ba", "aba", False),
        ("a*a", "a", False),
        ("[ab]", "a", False),
        ("[ab]", "[ab]", True),
        ("a?c", "abc", False),
        ("a.c", "abc", False),
        ("", "", True),
        ("", "a", False),
        ("a*", "a\nb", True),
    ],
)
@pytest.mark.promise("P-01")
def test_a_star_stands_for_any_characters_and_everything_else_for_itself(
    pattern: str, name: str, expected: bool
) -> None:
    assert matches(pattern, name) is expected


@given(NAMES, NAMES)
def test_matching_agrees_with_the_plainest_definition(pattern: str, name: str) -> None:
    naive = re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name, re.DOTALL) is not None
    assert matches(pattern, name) is naive


def test_a_hostile_pattern_takes_no_longer_than_its_length() -> None:
    # a backtracking matcher would need longer than the universe has; the five seconds of conftest.py are the measure
    assert not matches("*a" * 20_000 + "*b", "a" * 100_000)
    assert matches("*a" * 20_000 + "*b", "a" * 100_000 + "b")


@every(
    "spelling",
    ["file/save", "File/Save", "FILE_SAVE", "file.save", "file-save", "file::save", "file  save", "file_/_save"],
)
@pytest.mark.promise("P-01")
def test_a_denial_hits_every_spelling(spelling: str) -> None:
    assert loosely(spelling) == "file_save"
    assert hits("file/save", spelling)
    assert hits(spelling, "file/save")
    assert hits("FILE.*", spelling)
    assert not hits("file/save", spelling + "2")


@given(NAMES, NAMES)
def test_a_denial_never_misses_what_matches_letter_by_letter(pattern: str, name: str) -> None:
    assert hits(pattern, name) or not matches(pattern, name)


@given(NAMES)
def test_a_loose_name_is_loose_already(name: str) -> None:
    assert loosely(loosely(name)) == loosely(name)


def test_only_a_star_makes_a_pattern() -> None:
    assert is_pattern("code/*")
    assert not is_pattern("code/[a-z]?")


@pytest.mark.promise("P-01")
def test_a_denial_with_a_star_hits_names_that_play_with_their_letters() -> None:
    played = {
        "delete_file*": "delete_fiIe deIete_file deIete_fiIe dELETE_FILE DeLeTeFiLe de|ete_file deleteFi\u0399e_now",
        "*_file": "delete_fiIe deIeteFile move_f|le move|file",
        "git_*": "gIt_reset g|t_reset g|t|reset g!tReset gitIgnoreFiIe",
        "*git*reset*": "my_gItRe5et2_reset xgIt_rEset",
        "move_*": "rnove_x rnoveX MOVE_x",
        "turn_*": "tum_off",
    }
    missed = [(one, name) for one, names in played.items() for name in names.split() if not hits(one, name)]
    assert not missed
    harmless = {"git_*": "github_search digit_sum legit", "*_file": "file_list", "move_*": "movement_x remove_x"}
    assert not [(one, name) for one, names in harmless.items() for name in names.split() if hits(one, name)]
