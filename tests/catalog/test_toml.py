"""Every key, table and list element of a TOML text has a line, so that an error can name it."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rightcall.catalog.packs
from rightcall.catalog.toml import KeyPath, key_lines, line_of
from support.every import every

DOCUMENT = '''\
# a comment with [brackets] and = signs
version = 1
"quoted key" = "a # no comment"
'literal\\key' = 'c:\\path' # a comment
"esc\\u0061ped\\t" = 2
a.b . "c.d" = [1, 2]
long = """
[not.a.table]
x = 1
"""
literal = \'\'\'
y = """
\'\'\'
ends = """two quotes: """""

[table] # comment
inline = { one = 1, two = { three = [3, { four = 4 }] }, "fi,ve" = "}" }
list = [
  "first", # a comment ]
  [ 1,
    2 ],

  { deep = "x" },
]
date = 1979-05-27 07:32:00
empty = []
none = {}
  [table."sub/table".x]
  z = -1.5e3

[[many]]
name = "one"
[many.inner]
k = 1
[[many.parts]]
p = 1
[[many.parts]]
p = 2
[[many]]
name = "two"
[[many.parts]]
p = 3
'''

EXPECTED: dict[KeyPath, int] = {
    ("version",): 2,
    ("quoted key",): 3,
    ("literal\\key",): 4,
    ("escaped\t",): 5,
    ("a",): 6,
    ("a", "b"): 6,
    ("a", "b", "c.d"): 6,
    ("a", "b", "c.d", 0): 6,
    ("a", "b", "c.d", 1): 6,
    ("long",): 7,
    ("literal",): 11,
    ("ends",): 14,
    ("table",): 16,
    ("table", "inline"): 17,
    ("table", "inline", "one"): 17,
    ("table", "inline", "two"): 17,
    ("table", "inline", "two", "three"): 17,
    ("table", "inline", "two", "three", 0): 17,
    ("table", "inline", "two", "three", 1): 17,
    ("table", "inline", "two", "three", 1, "four"): 17,
    ("table", "inline", "fi,ve"): 17,
    ("table", "list"): 18,
    ("table", "list", 0): 19,
    ("table", "list", 1): 20,
    ("table", "list", 1, 0): 20,
    ("table", "list", 1, 1): 21,
    ("table", "list", 2): 23,
    ("table", "list", 2, "deep"): 23,
    ("table", "date"): 25,
    ("table", "empty"): 26,
    ("table", "none"): 27,
    ("table", "sub/table"): 28,
    ("table", "sub/table", "x"): 28,
    ("table", "sub/table", "x", "z"): 29,
    ("many",): 31,
    ("many", 0): 31,
    ("many", 0, "name"): 32,
    ("many", 0, "inner"): 33,
    ("many", 0, "inner", "k"): 34,
    ("many", 0, "parts"): 35,
    ("many", 0, "parts", 0): 35,
    ("many", 0, "parts", 0, "p"): 36,
    ("many", 0, "parts", 1): 37,
    ("many", 0, "parts", 1, "p"): 38,
    ("many", 1): 39,
    ("many", 1, "name"): 40,
    ("many", 1, "parts"): 41,
    ("many", 1, "parts", 0): 41,
    ("many", 1, "parts", 0, "p"): 42,
}


def places(value: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    """Every place in a parsed document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.promise("P-09")
def test_every_place_of_a_document_has_its_line(newline: str) -> None:
    text = DOCUMENT.replace("\n", newline)
    assert key_lines(text) == EXPECTED
    assert set(places(tomllib.loads(text))) == set(EXPECTED)


@every("name", rightcall.catalog.packs.available_packs())
def test_every_place_of_a_shipped_pack_has_a_line_that_shows_its_key(name: str) -> None:
    text = Path(rightcall.catalog.packs.load_pack(name).source).read_text(encoding="utf-8")
    shown = text.splitlines()
    lines = key_lines(text)
    for path in places(tomllib.loads(text)):
        if isinstance(path[-1], str):
            assert path[-1] in shown[lines[path] - 1], path


def test_an_unknown_place_has_the_line_of_what_is_around_it() -> None:
    lines = key_lines("[a]\n\n[a.b]\nc = 1\n")
    assert line_of(lines, ("a", "b", "missing")) == 3
    assert line_of(lines, ("nowhere",)) == 1
    assert line_of({}, ("nowhere",)) == 0


KEYS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=6)
VALUES = st.recursive(
    st.integers(-5, 5) | st.booleans() | KEYS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def written(value: Any) -> str:
    """A value as TOML; lists over several lines, with comments that look like more TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, list):
        return "[ # ]\n" + "".join(f" {written(item)}, # [x]\n" for item in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{quoted(key)} = {written(item)}" for key, item in value.items()) + " }"
    return str(value)


@given(st.dictionaries(KEYS, VALUES, max_size=4), st.dictionaries(KEYS, VALUES, max_size=4))
def test_every_place_of_any_document_has_a_line(top: dict[str, Any], table: dict[str, Any]) -> None:
    keys = [f"{quoted(key)} = {written(value)}" for key, value in top.items() if key != "t"]
    inner = [f"{quoted(key)} = {written(value)}" for key, value in table.items()]
    text = "\n".join([*keys, "[t]", *inner])
    assert set(places(tomllib.loads(text))) == set(key_lines(text))


@given(st.text("[]{}\"'#=.,\n\\ ab1", max_size=60))
def test_the_scanner_agrees_with_the_parser_on_odd_but_valid_text(text: str) -> None:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    assert set(places(tomllib.loads(text))) == set(key_lines(text))


@every(
    "key",
    [
        '"a\\tb"',
        '"\\u00e4x"',
        '"\\U0001F600x"',
        '"\\U0001F600\\u00e41\\"\\\\"',
        '"\\b\\n\\f\\r"',
        "'\\u00e4'",
        '"\\u0031 2"',
    ],
)
def test_a_key_with_escapes_is_found_under_what_it_means(key: str) -> None:
    text = f"[{key}.inner]\nvalue = 1\n"
    assert set(places(tomllib.loads(text))) == set(key_lines(text))
