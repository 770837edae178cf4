"""Which programs are started: none that lies in what is looked at."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from rightcall.base.files.sight import Sight
from rightcall.tools.code.search import SearchArguments, search
from rightcall.tools.process import program, search_path
from support.cli import environment, start
from support.repositories import Made, made

pytestmark = pytest.mark.promise("C-08")


def planted(folder: Path, name: str, sign: Path) -> Path:
    """A program that leaves a sign when it is run."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\ntouch '{sign}'\n")
    (folder / name).chmod(0o755)
    return folder / name


@pytest.fixture
def it(tmp_path: Path) -> Made:
    repository = made(tmp_path / "repo")
    repository.commit("one", a="TODO\n")
    return repository


@pytest.mark.parametrize("below", [".", "node_modules/.bin"])
def test_a_program_below_the_root_is_not_run_though_it_comes_first(it: Made, tmp_path: Path, below: str) -> None:
    for name in ("git", "rg"):
        planted(it.folder / below, name, tmp_path / f"ran {name}")
    path = f"{it.folder / below}:{os.environ['PATH']}"
    for call in (("code/log",), ("code/search", '{pattern: "TODO"}')):
        process = start("run", *call, "--root", str(it.folder), PATH=path, XDG_STATE_HOME=str(tmp_path / "state"))
        out, err = process.communicate(timeout=30)
        assert (process.returncode, err) == (0, b""), out
    assert not list(tmp_path.glob("ran *"))


def test_links_are_seen_through(it: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = planted(it.folder / "bin", "git", tmp_path / "ran")
    (tmp_path / "folder").symlink_to(it.folder / "bin")
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs/git").symlink_to(inside)
    (it.folder / "out").symlink_to(tmp_path / "good")
    good = planted(tmp_path / "good", "git", tmp_path / "ran")
    path = [f"{tmp_path}/folder", f"{tmp_path}/programs", f"{it.folder}/out", f"{it.folder}/../repo/bin", "bin", ""]
    monkeypatch.setenv("PATH", os.pathsep.join(path))
    monkeypatch.chdir(it.folder)
    (tmp_path / "alias").symlink_to(it.folder)
    for root in (it.folder, tmp_path / "alias"):
        assert program("git", str(root)) is None
    monkeypatch.setenv("PATH", os.pathsep.join([*path, str(good.parent)]))
    for root in (it.folder, tmp_path / "alias"):
        assert program("git", str(root)) == str(good)
    assert program("git", str(tmp_path / "elsewhere")) == f"{tmp_path}/folder/git"
    assert search_path(str(good), str(tmp_path)) == "/usr/bin:/bin"


def test_with_everything_below_the_root_the_folders_of_the_system_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted(tmp_path, "sh", tmp_path / "ran")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert program("sh", "/") in ("/usr/bin/sh", "/bin/sh")
    assert program("sh", "/usr") in ("/usr/bin/sh", f"{tmp_path}/sh")
    assert search_path("/usr/bin/git", "/") == "/usr/bin:/bin"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program("sh", "/") is None


def test_what_is_no_program_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one/rg").mkdir(parents=True)
    planted(tmp_path / "two", "rg", tmp_path / "ran").chmod(0o644)
    wanted = planted(tmp_path / "three", "rg", tmp_path / "ran")
    monkeypatch.setenv("PATH", f"{tmp_path}/one:{tmp_path}/two:{tmp_path}/none:{tmp_path}/three")
    assert program("rg", str(tmp_path / "root")) == str(wanted)


def test_a_search_works_with_nothing_but_a_planted_program(it: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    planted(it.folder, "rg", it.folder / "ran")
    monkeypatch.setenv("PATH", str(it.folder))
    assert search(Sight(it.folder), SearchArguments(pattern="TODO", file_pattern="a")).total_matches == 1
    assert not (it.folder / "ran").exists()


@pytest.mark.promise("C-10")
@pytest.mark.parametrize("name", ["ast_grep_py", "json", "re", "typing"])
def test_the_parser_is_never_one_that_lies_in_the_current_folder(tmp_path: Path, name: str) -> None:
    if find_spec("ast_grep_py") is None:
        pytest.skip("the parser is not installed")
    sign = tmp_path / "imported"
    (tmp_path / "here" / name).mkdir(parents=True)
    plant = tmp_path / "here" / name / "__init__.py"
    code = (
        "import os\nfrom rightcall.tools.code.structure import structure_of\n"
        f"os.chdir({str(plant.parent.parent)!r})\nimport sys\nsys.path[:0] = ['', os.getcwd()]\n"
        "print(structure_of('def f(): pass\\n', 'a.py')[0].functions[0].name)"
    )
    plant.write_text(f"open({str(sign)!r}, 'w').close()\n")
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, timeout=30)
    assert (done.stdout, done.stderr) == ("f\n", "")
    assert not sign.exists()
