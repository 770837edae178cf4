"""Where paths lead."""

import os
import sys
from pathlib import Path

import pytest

from rightcall.base.files.guarded import follow, names_if_straight


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Files and links of every kind, below a folder without links."""
    root = Path(os.path.realpath(tmp_path))
    (root / "src").mkdir()
    (root / "src/a.py").write_text("")
    (root / "src/twin.py").hardlink_to(root / "src/a.py")
    (root / "one.py").write_text("")
    for name, to in (
        ("in", "src"),
        ("file", "src/a.py"),
        ("gone", "nowhere"),
        ("far", "nowhere/else"),
        ("loop", "loop"),
    ):
        (root / name).symlink_to(to)
    return root


@pytest.mark.parametrize(
    "path",
    ["src/a.py", "src/new.py", "new/deep/er.py", "in/a.py", "in/new.py", "in/new/er.py", "file", "file/new.py", "gone",
     "gone/new.py", "far/new.py", "loop", "loop/new.py", "src/../new.py", "in/../new.py", "src/a.py/new.py", "src/",
     "new/", "new/./er.py", "new/../er.py", ".", "one.py (deleted)", "src/new.py (deleted)"],
)  # fmt: skip
def test_a_path_leads_where_the_system_says_also_where_nothing_is(tree: Path, path: str) -> None:
    whole = f"{tree}/{path}"
    assert follow(whole) == os.path.realpath(whole)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the number is not told")
@pytest.mark.parametrize(
    ("path", "names"),
    [("one.py", 1), ("src", 1), ("src/a.py", 2), ("src/twin.py", 2), ("src/new.py", 1), ("new/deep/er.py", 1),
     ("file", 0), ("in/a.py", 0), ("in/new.py", 0), ("gone", 0), ("gone/new.py", 0), ("loop", 0), ("src/", 0),
     ("src/a.py/new.py", 2), ("a b", 0), ("../one.py", 0), ("src//a.py", 0)],
)  # fmt: skip
def test_the_names_of_a_file_are_counted_where_its_path_is_straight(tree: Path, path: str, names: int) -> None:
    assert names_if_straight(str(tree), path) == names
    assert names_if_straight(f"{tree}/in/..", path) == 0


def test_a_root_that_becomes_a_link_is_no_longer_straight(tree: Path) -> None:
    root = tree / "root"
    root.mkdir()
    assert names_if_straight(str(root), "no/new.py") == 1
    root.rename(tree / "moved")
    root.symlink_to(tree / "src")
    assert names_if_straight(str(root), "no/new.py") == 0
    assert names_if_straight(str(root), "new.py") == 0
    root.unlink()
    (tree / "moved").rename(root)
    assert names_if_straight(str(root), "no/new.py") == 1
