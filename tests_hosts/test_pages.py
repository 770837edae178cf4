"""The pages of hosts whose examples need a framework: they run here, and print what they say."""

import sys
from pathlib import Path

import pytest

import test_docs
from contract.matrix import MATRIX, markdown
from support.docs import commands, same

PAGES = sorted((test_docs.ROOT / "docs" / "hosts").glob("*.md"))
workshop = test_docs.workshop


def blocks_of(page: Path, language: str) -> list[test_docs.Block]:
    return [one for one in test_docs.read(page) if (one.language, one.info) == (language, test_docs.ELSEWHERE)]


@pytest.mark.parametrize("page", [page for page in PAGES if blocks_of(page, "python")], ids=test_docs.name_of)
def test_every_program_on_the_page_of_a_framework_runs(page: Path, workshop: Path) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks_of(page, "python"):
        assert test_docs.run_python(block, names, test_docs.name_of(page)) is None


@pytest.mark.parametrize("page", [page for page in PAGES if blocks_of(page, "console")], ids=test_docs.name_of)
def test_every_example_on_the_page_of_a_framework_prints_what_it_says(
    page: Path, workshop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = workshop / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    for block in blocks_of(page, "console"):
        for command in commands(block):
            printed = test_docs.run_command(command.text)
            assert same(command.output, printed), printed


@pytest.mark.parametrize("module", [name for name in test_docs.modules(adapters=True) if ".litellm" not in name])
def test_every_example_in_the_docstring_of_an_adapter_is_true(module: str) -> None:
    test_docs.check_docstrings(module)


def test_the_matrix_on_the_page_of_every_door_is_the_one_that_is_measured() -> None:
    """`test_contract.py` measures what is stated, and what is stated stands there as scripts/contract.py prints it."""
    page = (test_docs.ROOT / "docs" / "hosts" / "index.md").read_text(encoding="utf-8")
    table = page.partition("<!-- contract matrix: begin -->\n")[2].partition("<!-- end -->")[0]
    stated = [{door: row.stated(guarded) for door, row in MATRIX.items()} for guarded in (False, True)]
    assert table.strip() == markdown(*stated)
