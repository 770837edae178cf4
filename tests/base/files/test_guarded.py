"""Where paths lead."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from rightcall.base.files.guarded import NOWHERE, Unjudged, destinations, follow, names_if_straight
from support.every import every
from support.spelling_table import make_deep


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


@every(
    "path",
    ["src/a.py", "src/new.py", "new/deep/er.py", "in/a.py", "in/new.py", "in/new/er.py", "file", "file/new.py", "gone",
     "gone/new.py", "far/new.py", "src/../new.py", "in/../new.py", "src/a.py/new.py", "src/",
     "new/", "new/./er.py", "new/../er.py", "gone/../er.py", "n" * 300,
     "n" * 300 + "/../er.py", ".", "one.py (deleted)", "src/new.py (deleted)"],
)  # fmt: skip
def test_a_path_leads_where_the_system_says_also_where_nothing_is(tree: Path, path: str) -> None:
    whole = f"{tree}/{path}"
    assert follow(whole) == os.path.realpath(whole)


def test_a_link_that_leads_in_a_circle_leads_nowhere(tree: Path) -> None:
    for path in ("loop", "loop/new.py", "loop/../one.py"):
        assert follow(f"{tree}/{path}") == NOWHERE
        assert names_if_straight(str(tree), path) == 0
        with pytest.raises(Unjudged):
            destinations(str(tree), path)


@pytest.mark.promise("P-15")
def test_nobody_says_where_a_path_leads_that_is_too_deep_to_be_looked_at(tree: Path) -> None:
    """Whoever starts in the root opens it: only from the top of the file system its name is too long."""
    deep = make_deep(tree, {"file": "src/a.py", "folder": "src"})
    names = [f"{deep}/{name}" for name in ("file", "folder/a.py", "folder/new.py", "new.py")]
    for name in [*names, *(f"./{name}" for name in names)]:
        assert follow(f"{tree}/{name}") == NOWHERE
        assert names_if_straight(str(tree), name) == 0
        with pytest.raises(Unjudged):
            destinations(str(tree), name)
    above, below = deep[: 201 * 10 - 1], deep[201 * 10 :]
    (tree / "way").symlink_to(above)
    assert follow(f"{tree}/way/{below}/file") == f"{tree}/src/a.py"  # the system follows this one
    assert follow(f"{tree}/way/{below}/new.py") == NOWHERE


@pytest.mark.skipif(sys.platform != "linux" or os.getuid() != 0, reason="only root can look as somebody else")
def test_nobody_says_where_a_path_leads_through_a_closed_folder() -> None:
    """A tool may run as somebody who sees more."""
    ask = (
        "import os, sys; from rightcall.base.files.guarded import follow, names_if_straight\n"
        "os.seteuid(65534); print(ascii(follow(sys.argv[1] + '/closed/link')), names_if_straight(*sys.argv[1:]))"
    )
    with tempfile.TemporaryDirectory() as folder:  # not below tmp_path, which nobody else may enter
        os.chmod(folder, 0o755)
        os.mkdir(f"{folder}/closed", 0o700)
        os.symlink("..", f"{folder}/closed/link")
        told = subprocess.run([sys.executable, "-c", ask, folder, "closed/link"], capture_output=True, text=True)
    assert told.stdout == f"{NOWHERE!a} 0\n"


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
