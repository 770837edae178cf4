"""A person's folder is lent to a program, and what is in it is as it was before, whoever owns it."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from rightcall.tools.sandbox.inside.cleanup import Lent

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
STRANGER = 12345


@pytest.fixture
def opened() -> Iterator[tuple[Path, int]]:
    with TemporaryDirectory() as made:
        folder = Path(made, "folder")
        folder.mkdir()
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        yield folder, fd
        os.close(fd)


def owner(path: Path) -> tuple[int, int]:
    about = path.lstat()
    return about.st_uid, about.st_gid


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.promise("X-06")
def test_bits_that_would_lend_rights_are_gone_afterwards_unless_they_were_there_before(opened: tuple[Path, int]):
    folder, fd = opened
    for name in ("old", "written"):
        (folder / name).write_text("")
        (folder / name).chmod(0o4755)
    lent = Lent(fd, os.geteuid(), os.getegid())
    lent.lend()
    (folder / "new").write_text("")
    (folder / "new").chmod(0o6755)
    (folder / "written").write_text("something else")
    (folder / "written").chmod(0o4755)
    lent.take_back()
    assert [mode(folder / name) for name in ("old", "written", "new")] == [0o4755, 0o755, 0o755]


@pytest.mark.promise("X-06")
@ROOT
def test_everything_is_its_owners_again_and_what_is_new_is_the_folders(opened: tuple[Path, int]):
    folder, fd = opened
    os.fchown(fd, 1001, 1001)
    (folder / "below").mkdir()
    owners = {"below": (1002, 50), "below/file": (33, 1001), "own": (0, 0), "setuid": (1002, 1002)}
    for name, whose in owners.items():
        if name != "below":
            (folder / name).write_text("")
        os.chown(folder / name, *whose)
    (folder / "setuid").chmod(0o4755)
    lent = Lent(fd, STRANGER, STRANGER)
    lent.lend()
    assert {owner(folder / name)[0] for name in (".", "below", "below/file", "own")} == {STRANGER}
    assert owner(folder / "setuid") == (1002, 1002)
    (folder / "new").write_text("")
    os.chown(folder / "new", STRANGER, STRANGER)
    lent.take_back()
    assert {name: owner(folder / name) for name in owners} == owners
    assert owner(folder / "new") == owner(folder) == (1001, 1001)
    assert mode(folder / "setuid") == 0o4755


@pytest.mark.promise("X-06")
@ROOT
def test_a_file_with_a_name_elsewhere_is_not_given_away(opened: tuple[Path, int]):
    folder, fd = opened
    outside = folder.parent / "outside"
    outside.write_text("")
    os.link(outside, folder / "second")
    (folder / "own").write_text("")
    (folder / "link").symlink_to(outside)
    lent = Lent(fd, STRANGER, STRANGER)
    lent.lend()
    assert owner(folder / "own") == owner(folder / "link") == (STRANGER, STRANGER)
    assert outside.stat().st_uid == 0
    lent.take_back()
    assert {path.lstat().st_uid for path in [folder, *folder.iterdir()]} == {0}
