"""Folders a program had to itself are counted, handed over and removed, whatever it has put there."""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from rightcall.execute.sandbox.inside import folders

DEEP = 1200
"""More than Python can recurse."""
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Where a thousand folders are made and removed in no time, whatever the disk."""


@pytest.fixture
def base() -> Iterator[Path]:
    with TemporaryDirectory(dir=MEMORY) as made:
        yield Path(made)


@pytest.fixture
def opened(base: Path) -> Iterator[tuple[Path, int]]:
    folder = base / "folder"
    folder.mkdir()
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    yield folder, fd
    os.close(fd)


def dig(top: int, depth: int) -> None:
    """Folders in folders, deeper than any path can name."""
    here = os.dup(top)
    for _ in range(depth):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("last", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


@pytest.mark.promise("X-06")
def test_a_folder_of_any_depth_is_removed_and_links_are_not_followed(base: Path, opened: tuple[Path, int]):
    folder, fd = opened
    outside = base / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    (folder / "link").symlink_to(outside)
    closed = folder / "closed"
    closed.mkdir()
    (closed / "inner").mkdir()
    closed.chmod(0)
    dig(fd, DEEP)
    folders.remove(str(folder))
    assert not folder.exists()
    assert (outside / "kept").read_text() == "kept"


def test_what_is_not_there_is_removed_already(tmp_path: Path):
    folders.remove(str(tmp_path / "absent"))
    (tmp_path / "link").symlink_to(tmp_path)
    folders.remove(str(tmp_path / "link"))
    assert (tmp_path / "link").is_symlink()


@pytest.mark.promise("X-06")
def test_everything_below_is_seen_at_any_depth_and_counted(opened: tuple[Path, int]):
    folder, fd = opened
    dig(fd, DEEP)
    (folder / "data").write_bytes(b"x" * 100_000)
    names = [name for _, name, _ in folders.walked(fd)]
    assert len(names) == DEEP + 2
    assert names[-1] == "last" or names[0] == "d"
    assert folders.used(fd, 1 << 30) >= 100_000
    assert folders.used(fd, 1000) > 1000
    folders.remove(str(folder))
