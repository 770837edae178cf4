"""The structure of source files."""

import importlib.util
import sys
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from msgspec import to_builtins

from cases import Case, cases, table
from rightcall.tools.code import structure as structure_module
from rightcall.tools.code.structure import GRAMMARS, MOST_ENTRIES, structure_of
from support.every import every

Outline = dict[str, Any]


def outlined(text: str, path: str) -> Outline:
    """As in the cases: line, kind and name of each part, methods with their lines behind a colon; no empty lists."""
    structure, note = structure_of(text, path)
    assert note is None
    found = to_builtins(structure)
    assert found.pop("truncated") is False
    assert found.pop("language") in GRAMMARS
    return {role: [_line(one) for one in parts] for role, parts in found.items() if parts}


def _line(part: dict[str, Any]) -> str:
    words = [str(part["line"]), part.get("kind", ""), part.get("name") or part["text"]]
    methods = ", ".join(f"{method['name']} {method['line']}" for method in part.get("methods", ()))
    return " ".join(filter(None, words)) + (f": {methods}" if methods else "")


@every("case", table("code_structure.jsonl"))
def test_a_file_has_its_imports_classes_functions_and_exports_with_their_lines(case: Case) -> None:
    assert outlined(case["text"], case["path"]) == case["expected"]


def test_every_language_has_a_case() -> None:
    from rightcall.tools.code.structure import language_of

    assert {language_of(case["path"]) for case in cases("code_structure.jsonl")} == set(GRAMMARS)


@pytest.mark.promise("C-10")
def test_a_part_tells_where_it_ends() -> None:
    structure, _ = structure_of("class A:\n    def m(self):\n        pass\n\n    x = 1\n", "a.py")
    assert structure is not None
    [found] = to_builtins(structure.classes)
    assert found == {
        "name": "A", "line": 1, "endLine": 5, "kind": "class", "methods": [{"name": "m", "line": 2, "endLine": 3}],
    }  # fmt: skip


@every("text", ["", "\n", "\ufeff", "def", "class (:::", "é" * 100, "\x00\x01", "def f(\n" * 50])
@every("path", ["a.py", "a.js", "a.rs"])
def test_broken_text_has_some_structure_or_none_and_is_no_error(text: str, path: str) -> None:
    structure, note = structure_of(text, path)
    assert (structure is None) == (note is not None)


@pytest.mark.promise("C-10")
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "(" * 100_000),
        ("a.js", "function f(){a()};" * 50_000),
        ("a.java", "a<" * 500_000),
        pytest.param("a.c", "{" * 1_000_000, marks=pytest.mark.long),
        pytest.param("a.js", "[" * 500_000 + "]" * 500_000, marks=pytest.mark.long),
        pytest.param("a.lua", "[" * 1_000_000, marks=pytest.mark.long),
        pytest.param("a.sh", "if(a)" * 200_000, marks=pytest.mark.long),
    ],
    ids=[
        "python-brackets",
        "one-line-of-functions",
        "java-types",
        "c-braces",
        "nested-lists",
        "lua-brackets",
        "bash-ifs",
    ],
)
def test_hostile_source_ends_in_time(path: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure_module, "_SECONDS", 1)
    start = monotonic()
    structure, note = structure_of(text, path)
    assert monotonic() - start < 60  # a busy machine may be slow
    assert (structure is None) == (note is not None)


def test_no_more_entries_than_anybody_reads() -> None:
    for path, text, role in (
        ("a.py", "def f(): pass\n" * 2_000, "functions"),
        ("a.py", "import a\n" * 700, "imports"),
        ("a.js", "export const " + ", ".join(f"a{number} = 1" for number in range(800)), "exports"),
    ):
        structure, _ = structure_of(text, path)
        assert structure is not None
        assert len(getattr(structure, role)) == MOST_ENTRIES
        assert structure.truncated is True
    structure, _ = structure_of("def f(): pass\n" * MOST_ENTRIES, "a.py")
    assert structure is not None
    assert structure.truncated is False


def test_long_names_are_cut() -> None:
    structure, _ = structure_of(f"def {'f' * 5_000}(): pass\nimport {'a' * 5_000}\n", "a.py")
    assert structure is not None
    assert len(structure.functions[0].name) == 200
    assert len(structure.imports[0].text) == 200


@pytest.mark.promise("C-10")
def test_without_the_parser_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    assert structure_of("x = 1\n", "a.py") == (
        None,
        'no structure: its parser is not installed; pip install "rightcall[code]" brings it',
    )


def test_a_worker_that_fails_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    told = (None, "no structure: the file could not be parsed within the limits of time and memory")
    for program in ("/bin/false", "/nowhere/python", "/bin/echo"):
        monkeypatch.setattr(sys, "executable", program)
        assert structure_of("x = 1\n", "a.py") == told


def test_the_parser_is_never_loaded_into_this_process() -> None:
    assert importlib.util.find_spec("ast_grep_py") is not None
    structure_of("x = 1\n", "a.py")
    assert "ast_grep_py" not in sys.modules


@pytest.mark.promise("C-10")
def test_a_current_folder_that_is_gone_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    found, note = structure_of("def main(): ...\n", "a.py")
    assert found is not None, note
    assert [part.name for part in found.functions] == ["main"]
