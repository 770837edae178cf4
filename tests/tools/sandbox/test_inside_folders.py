"""Folders a program had to itself are counted, handed over and removed, whatever it has put there."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from rightcall.tools.sandbox.inside import root

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
    root.remove(str(folder))
    assert not folder.exists()
    assert (outside / "kept").read_text() == "kept"


def test_what_is_not_there_is_removed_already(tmp_path: Path):
    root.remove(str(tmp_path / "absent"))
    (tmp_path / "link").symlink_to(tmp_path)
    root.remove(str(tmp_path / "link"))
    assert (tmp_path / "link").is_symlink()


@pytest.mark.promise("X-06")
def test_everything_below_is_seen_at_any_depth_and_counted(opened: tuple[Path, int]):
    folder, fd = opened
    dig(fd, DEEP)
    (folder / "data").write_bytes(b"x" * 100_000)
    names = [name for _, name, _ in root.walk_below(fd)]
    assert len(names) == DEEP + 2
    size = root.measure_use(fd).size
    os.link(folder / "data", folder / "second")
    assert root.measure_use(fd).size == size
    os.unlink(folder / "second")
    assert names[-1] == "last" or names[0] == "d"
    assert root.measure_use(fd).size >= 100_000
    assert root.measure_use(fd).entries == 8 * DEEP + 2
    assert root.measure_use(fd, root.Use(1000, 1 << 20)).size > 1000
    assert root.measure_use(fd, root.Use(1 << 30, 6)).entries in (8, 9)
    root.remove(str(folder))


@pytest.mark.promise("X-06")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_what_its_owner_cannot_list_is_counted_and_stays_as_it_was(opened: tuple[Path, int]):
    """As an ordinary user, whose own rights hold for him. What he cannot search he cannot fill."""
    folder, fd = opened
    for name, mode in (("write only", 0o300), ("read only", 0o400), ("closed", 0)):
        (folder / name / "deep").mkdir(parents=True)
        (folder / name / "data").write_bytes(b"x" * 100_000)
        (folder / name).chmod(mode)
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, 65534, 65534)
    child = os.fork()
    if child == 0:
        try:
            os.setresuid(65534, 65534, 65534)
            names = sorted(name for _, name, _ in root.walk_below(fd))
            os._exit(names != ["closed", "data", "deep", "read only", "write only"])
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o300, 0o400, 0}


@pytest.mark.promise("X-06")
@pytest.mark.parametrize("depth", [2, 40])
def test_a_folder_that_is_moved_meanwhile_leads_nowhere_else(base: Path, opened: tuple[Path, int], depth: int):
    folder, fd = opened
    (base / "elsewhere").mkdir()
    (base / "elsewhere" / "foreign").write_text("")
    deepest = folder.joinpath(*"d" * depth)
    deepest.mkdir(parents=True)
    (deepest / "last").write_text("")
    found: list[str] = []
    with suppress(OSError):
        for _, name, _ in root.walk_below(fd):
            found.append(name)
            if name == "last":
                deepest.rename(base / "elsewhere" / "d")
    assert "last" in found
    assert "foreign" not in found
