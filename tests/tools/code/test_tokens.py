"""Syntax tokens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.base.text import AnswerRoom
from rightcall.tools.code.read import MOST_TOKENS, STYLES, tokens_of
from rightcall.tools.code.structure import language_of
from support.every import every, sampled
from support.pace import process_time


def kinds(text: str, path: str) -> list[tuple[str, str]]:
    return [(token.type, token.text) for token in tokens_of(text, path, 1, 10_000, AnswerRoom())[0]]


@pytest.mark.promise("C-01")
@every(
    ("path", "text", "expected"),
    [
        ("a.py", "def f: # c", ["keyword def", "identifier f", "operator :", "comment # c"]),
        ("a.py", "'''a\n\"b'''+\"c\\\"d\"", ["string '''a\n\"b'''", "operator +", 'string "c\\"d"']),
        ("a.py", "x = 'open\ny", ["identifier x", "operator =", "string 'open", "identifier y"]),
        ("a.py", "1.5e-3 0xFF 1_000 a1 1..2", ["number 1.5e-3", "number 0xFF", "number 1_000", "identifier a1",
         "number 1", "operator ..", "number 2"]),
        ("a.js", "a=>/*b\n*/`c\n${d}`//e", ["identifier a", "operator =>", "comment /*b\n*/",
         "string `c\n${d}`", "comment //e"]),
        ("a.ts", "interface I", ["keyword interface", "identifier I"]),
        ("a.go", "func größe", ["keyword func", "identifier größe"]),
        ("a.lua", "x=--[[a\nb]]1 --c", ["identifier x", "operator =", "comment --[[a\nb]]", "number 1", "comment --c"]),
        ("a.sh", "if x # c", ["keyword if", "identifier x", "comment # c"]),
        ("a.rb", "empty? end", ["identifier empty?", "keyword end"]),
        ("a.c", "/* open", ["comment /* open"]),
        ("a.txt", 'plain # "x" 7', ["identifier plain", "operator #", 'string "x"', "number 7"]),
    ],
)  # fmt: skip
def test_each_piece_has_its_kind(path: str, text: str, expected: list[str]) -> None:
    assert [f"{kind} {shown}" for kind, shown in kinds(text, path)] == expected


def test_places_are_told_and_a_comment_from_above_counts() -> None:
    text = "/* one\n   two */ let a;\n  let b; // c\nlet d;\n"
    found = [(token.line, token.column, token.text) for token in tokens_of(text, "a.js", 2, 3, AnswerRoom())[0]]
    assert found == [
        (1, 1, "/* one\n   two */"), (2, 11, "let"), (2, 15, "a"), (2, 16, ";"),
        (3, 3, "let"), (3, 7, "b"), (3, 8, ";"), (3, 10, "// c"),
    ]  # fmt: skip


def test_tokens_are_bounded_in_number_and_length() -> None:
    tokens, whole = tokens_of("a " * 10_000, "a.py", 1, 1, AnswerRoom())
    assert (len(tokens), whole) == (MOST_TOKENS, False)
    [token], whole = tokens_of("#" + "x" * 1_000, "a.py", 1, 1, AnswerRoom())
    assert whole
    assert (len(token.text), token.text[-1]) == (200, "…")


@pytest.mark.parametrize(
    "piece", sampled(['"', "'", "`", "\\", "/*", "--[[", '"""', "'''a", "1e+", "+", "\n", "a", "(", "$@"], 2)
)
@pytest.mark.parametrize(
    "path", ["a.py", "a.lua", *(pytest.param(path, marks=pytest.mark.long) for path in ("a.ts", "a.rb"))]
)
def test_hostile_text_takes_linear_time(piece: str, path: str) -> None:
    start = process_time()
    tokens_of(piece * (80_000 // len(piece)), path, 10_000_000, 10_000_000, AnswerRoom())
    assert process_time() - start < 0.6


@given(st.text(max_size=60), st.sampled_from(["a.py", "a.ts", "a.lua", "a.rb", "a.php", "a.txt"]))
def test_tokens_and_white_space_make_up_the_text(text: str, path: str) -> None:
    left = text
    for token in tokens_of(text, path, 1, 1_000, AnswerRoom())[0]:
        before, found, left = left.partition(token.text)
        assert found
        assert before.strip() == "" or all(not character.isprintable() for character in before.strip())
    assert all(character.isspace() or not character.isprintable() for character in left)


@every(
    ("path", "text", "language"),
    [
        ("a/b.PY", "", "python"), ("x.h", "", "c"), ("App.tsx", "", "tsx"), ("x.mjs", "", "javascript"),
        ("Gemfile", "", "ruby"), ("run", "#!/usr/bin/env python3\n", "python"), ("run", "#!/bin/sh -e\n", "bash"),
        ("run", "#!", None),
        ("run", "plain", None), (".py", "", None), ("a.unknown", "#!/bin/sh\n", None), ("py", "", None),
    ],
)  # fmt: skip
def test_a_language_is_told_by_the_name_or_the_first_line(path: str, text: str, language: str | None) -> None:
    assert language_of(path, text) == language


def test_every_language_with_a_structure_has_a_style() -> None:
    from rightcall.tools.code.structure import GRAMMARS

    assert set(GRAMMARS) == set(STYLES)
