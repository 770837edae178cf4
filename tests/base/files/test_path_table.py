"""Every path of the table, opened by the kernel's one call and by the walk, by root and by nobody."""

import importlib.util
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from rightcall.base.files import sight
from rightcall.base.files.rules import DOTFILES, REFUSED_FOLDERS, SECRET_FILES, SECRET_FOLDERS
from rightcall.base.files.sight import Sight
from rightcall.base.globs import path_matches
from support import path_table
from support.every import every
from support.path_table import TREASURE, Tree, problem, problems, readable_cases, refused_cases, refused_files

READABLE = list(readable_cases().items())
REFUSED = refused_cases()


@pytest.fixture(scope="module")
def tree() -> Iterator[Tree]:
    with tempfile.TemporaryDirectory() as folder:  # not below tmp_path, which nobody else may enter
        os.chmod(folder, 0o755)
        made = Tree(Path(folder).resolve())
        yield made
        made.close()


@pytest.fixture(params=["openat2", "walk"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "walk":
        monkeypatch.setattr(sight, "_known", False)
    elif not sight.has_openat2():
        pytest.skip("this kernel has no openat2")
    return request.param


@pytest.mark.promise("P-03")
@pytest.mark.skipif(sys.platform != "linux", reason="the table holds links of /proc and names in two cases")
@every(("path", "true"), READABLE, ids=[ascii(path)[:60] for path, _ in READABLE])
def test_what_may_be_read_is_read(tree: Tree, way: str, path: str, true: str) -> None:
    assert problem(Sight(tree.root), tree, path, true) is None


@pytest.mark.promise("P-03")
@pytest.mark.skipif(sys.platform != "linux", reason="the table holds links of /proc and names in two cases")
@every("path", REFUSED, ids=[ascii(path)[:60] for path in REFUSED])
def test_what_may_not_be_read_is_not_there(tree: Tree, way: str, path: str) -> None:
    assert problem(Sight(tree.root), tree, path, None) is None


@pytest.mark.promise("P-03")
@pytest.mark.skipif(sys.platform != "linux", reason="the table holds links of /proc and names in two cases")
@pytest.mark.parametrize("root", ["by-link", "root/../by-link", "root/self-folder", "root/"])
def test_the_same_holds_when_the_root_is_reached_through_a_link(tree: Tree, way: str, root: str) -> None:
    assert problems(Sight(f"{tree.base}/{root}"), tree) == []


@pytest.mark.promise("P-03")
@pytest.mark.skipif(sys.platform != "linux", reason="the table holds links of /proc and names in two cases")
@pytest.mark.parametrize("how", ["openat2", "walk"])
def test_the_same_holds_for_a_user_who_is_not_root(how: str) -> None:
    """Root may search every folder; for others a walk could fail where the kernel's one call does not."""
    command = [sys.executable, path_table.__file__, how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("all looked at", "")


@pytest.mark.promise("P-03")
@pytest.mark.skipif(sys.platform != "linux", reason="the table holds links of /proc and names in two cases")
def test_the_table_is_large_and_knows_every_name_of_the_rules(tree: Tree) -> None:
    assert len(READABLE) > 180
    assert len(REFUSED) > 400
    assert len({path for path, _ in READABLE} & set(REFUSED)) == 0
    parts = {part.casefold() for path in REFUSED if len(path) < 256 for part in path.split("/")}
    for pattern in (*SECRET_FILES, *SECRET_FOLDERS, *REFUSED_FOLDERS):
        assert any(path_matches(pattern, part) for part in parts), pattern
    seen = {part for path, _ in READABLE for part in path.split("/")}
    for pattern in DOTFILES:
        assert any(path_matches(pattern.split("/")[0], part) for part in seen), pattern


@pytest.mark.promise("P-03")
@pytest.mark.skipif(sys.platform != "linux", reason="the table holds links of /proc and names in two cases")
def test_every_refused_file_of_the_tree_is_really_there(tree: Tree) -> None:
    """Else the table would prove nothing."""
    for name in refused_files():
        with open(tree.root / name, encoding="utf-8") as file:
            assert file.read() == TREASURE


SCRIPT = Path(__file__).parents[3] / "scripts" / "race.py"


def raced(seconds: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), "--seconds", str(seconds), "--files-only"]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)


@pytest.mark.long
@pytest.mark.promise("P-03")
def test_a_swapped_link_never_shows_what_it_leads_to() -> None:
    done = raced(2)
    if "this was no race" in done.stdout:  # on a busy machine so short a one may be none
        done = raced(30)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing leaked" in done.stdout


def test_a_race_that_proves_nothing_is_no_success() -> None:
    spec = importlib.util.spec_from_file_location("race", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    race = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(race)
    good = {name: Counter(tries=9, real=3, leaks=0) for name in race.READERS} | {"wrongly": Counter(real=3, leaks=1)}
    assert race.verdict(good) == []
    assert race.verdict(good | {"code/read": Counter(tries=9, real=3, leaks=1)}) == ["code/read leaked 1 times"]
    assert race.verdict(good | {"code/read": Counter(tries=9, leaks=0)}) == ["code/read never saw what it may see"]
    assert len(race.verdict(good | {"wrongly": Counter(tries=9, real=3, leaks=0)})) == 1
