"""Where a path leads: as the kernel follows it, and by hand, and as the standard library says."""

import os
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightcall.base.files import sight as resolve
from rightcall.base.files.rules import PathRules
from rightcall.base.files.sight import Sight, below
from rightcall.errors import ToolFailure
from support.every import every

MANY = 2 * settings().max_examples

pytestmark = pytest.mark.promise("P-03")
NAMES = ("a", "b", "c", "d", "..", ".", "root", "")


def grow(top: Path, chance: random.Random) -> None:
    """A random tree of folders, files and links, some of them outside the root, which is `root`."""
    places = [top, top / "root"]
    (top / "root").mkdir()
    for _ in range(chance.randint(3, 14)):
        at = chance.choice(places) / chance.choice("abcd")
        if os.path.lexists(at):
            continue
        kind = chance.random()
        if kind < 0.35:
            at.mkdir()
            places.append(at)
        elif kind < 0.55:
            at.write_text("x")
        else:
            written = "/".join(chance.choice(NAMES) for _ in range(chance.randint(1, 4))) or "a"
            at.symlink_to(f"{top}/{written}" if chance.random() < 0.3 else written)


def oracle(root: str, written: str) -> str | None:
    """The naive way, which is right as long as nobody changes anything: the true path below the root, or None."""
    whole = os.path.join(root, written)
    try:
        true = os.path.realpath(whole, strict=True)
        os.stat(whole)  # realpath lets `file/` and `file/..` pass
    except OSError:
        return None
    if not written or os.path.commonpath([true, root]) != root:
        return None
    return os.path.relpath(true, root) if true != root else ""


@settings(max_examples=MANY)
@given(st.integers(0, 10**9), st.booleans())
def test_random_links_lead_where_the_standard_library_says(seed: int, walk: bool) -> None:
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        if walk:
            patch.setattr(resolve, "_known", False)
        top = Path(folder).resolve()
        grow(top, chance)
        root = str(top / "root")
        sight = Sight(root)
        for _ in range(25):
            written = "/".join(chance.choice(NAMES) for _ in range(chance.randint(1, 6)))
            if chance.random() < 0.2:
                written = f"{top}/{written}"
            true = oracle(root, written)
            try:
                with sight.open(written) as opened:
                    assert opened.path == true, (seed, written)
                    assert os.path.sameopenfile(opened.fd, opened.fd)
                    there = os.lstat(os.path.join(root, opened.path))
                    assert (there.st_dev, there.st_ino) == (opened.stat.st_dev, opened.stat.st_ino)
            except ToolFailure:
                assert true is None, (seed, written)


def test_a_kernel_that_cannot_tell_names_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sandbox without /proc: the names are found out by hand, what is opened is still opened in one call."""
    monkeypatch.setattr(resolve, "_has_proc", lambda: False)
    (tmp_path / "a.txt").write_text("hello")
    (tmp_path / "link").symlink_to("a.txt")
    with Sight(tmp_path, PathRules()).file("link") as file:
        assert (file.path, file.read(10)) == ("a.txt", b"hello")


@every(
    ("whole", "root", "found"),
    [
        ("/srv/app/a.py", "/srv/app", "a.py"), ("/srv/app", "/srv/app", ""), ("/a", "/", "a"), ("/", "/", ""),
        ("/srv/app-evil/a", "/srv/app", None), ("/srv/ap", "/srv/app", None), ("/srv", "/srv/app", None),
        ("(unreachable)/srv/app/a", "/srv/app", None), ("pipe:[123]", "/", None), ("/srv/APP/a", "/srv/app", None),
    ],
)  # fmt: skip
def test_below_means_component_by_component(whole: str, root: str, found: str | None) -> None:
    if found is None:
        with pytest.raises(OSError, match="outside"):
            below(whole, root)
    else:
        assert below(whole, root) == found
