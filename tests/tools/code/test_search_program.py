"""Which ripgrep is started."""

import os
from pathlib import Path

import pytest

from rightcall.base.files.sight import Sight
from rightcall.tools.code import search as search_ripgrep
from rightcall.tools.code.search import SearchArguments, search


@pytest.mark.promise("C-02", "C-08")
def test_a_program_that_lies_in_the_folder_that_is_searched_is_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rg").write_text(f"#!/bin/sh\ntouch '{tmp_path}/started'\n")
    (tmp_path / "rg").chmod(0o755)
    (tmp_path / "a.txt").write_text("TODO\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join((".", "", os.environ["PATH"])))
    found = search(Sight(tmp_path), SearchArguments(pattern="TODO"))
    assert [match.file for match in found.matches] == ["a.txt"]
    assert not (tmp_path / "started").exists()


@pytest.mark.promise("C-02")
def test_a_search_works_where_the_path_names_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("TODO\n")
    monkeypatch.setenv("PATH", ".")
    assert search_ripgrep.ripgrep(str(tmp_path)) is None
    assert search(Sight(tmp_path), SearchArguments(pattern="TODO")).total_matches == 1
