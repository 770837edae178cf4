"""What was found is what git reads, whatever the names around it lead to by then."""

import os
from pathlib import Path

import pytest

from rightcall.base.files.sight import Sight
from rightcall.errors import ToolFailure
from rightcall.tools.git.repository import repository_for
from rightcall.tools.git.run import Private, git_in, output_of, private_for
from rightcall.tools.process import run_program
from support.repositories import Made, files_compared, made

pytestmark = pytest.mark.promise("C-08", "P-03")


@pytest.fixture
def it(tmp_path: Path) -> Made:
    found = made(tmp_path / "root")
    found.commit("honest", a="1\n")
    return found


@pytest.fixture
def victim(tmp_path: Path) -> Made:
    found = made(tmp_path / "victim")
    found.commit("TREASURE", a="TREASURE\n")
    found.git("pack-refs", "--all")
    return found


def log(private: Private) -> bytes:
    return output_of(run_program(git_in(private, ["log", "--format=%s", "-p", "--all"]), seconds=10, most=10_000))


@pytest.mark.parametrize("name", [".git", ".git/objects", ".git/refs", ".git/objects/pack"])
def test_a_folder_that_is_swapped_for_a_link_is_not_followed(it: Made, victim: Made, name: str) -> None:
    it.git("gc", "-q")
    victim.git("gc", "-q")
    repository = repository_for(Sight(it.folder))
    private = private_for(repository)
    before = log(private)
    assert b"honest" in before
    (it.folder / name).rename(it.folder / "aside")
    (it.folder / name).symlink_to(victim.folder / name)
    assert log(private) == before
    try:
        after = log(private_for(repository))
    except ToolFailure:
        after = b""
    assert b"TREASURE" not in after


def test_a_repository_that_is_made_anew_is_seen(it: Made, tmp_path: Path) -> None:
    repository = repository_for(Sight(it.folder))
    assert b"honest" in log(private_for(repository))
    it.git_dir.rename(tmp_path / "old")
    other = made(it.folder)
    other.commit("another", a="2\n")
    assert b"honest" not in log(private_for(repository))
    assert b"another" in log(private_for(repository))


def test_files_are_compared_as_they_are_and_nothing_beyond_a_link(it: Made, tmp_path: Path) -> None:
    it.write("folder/notes.txt", "inside\n")
    it.write("gone.txt", "was here\n")
    it.commit("more")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "notes.txt").write_text("TREASURE\n")
    (it.folder / "folder").rename(tmp_path / "aside")
    (it.folder / "folder").symlink_to(outside)
    (it.folder / "a").unlink()
    (it.folder / "a").symlink_to(outside / "notes.txt")
    (it.folder / "gone.txt").unlink()
    os.mkfifo(it.folder / "gone.txt")
    os.mkfifo(it.folder / ".gitattributes")
    said = files_compared(repository_for(Sight(it.folder)), "HEAD")
    assert b"-inside\n" in said
    assert b"-was here\n" in said
    assert b"TREASURE" not in said


def test_an_index_that_lies_about_a_file_shows_nothing_of_it(it: Made, tmp_path: Path) -> None:
    """It says that the file behind the link is the one that was committed: git would take it from there."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "notes.txt").write_text("TREASURE\n")
    it.write("link/notes.txt", "harmless\n")
    it.commit("notes")
    aside = tmp_path / "aside"
    (it.folder / "link").rename(aside)
    (it.folder / "link").symlink_to(outside)
    entry = it.git("ls-files", "--stage", "link/notes.txt").split()[1]
    seen = (outside / "notes.txt").stat()
    index = (it.git_dir / "index").read_bytes()
    at = index.index(b"link/notes.txt") - 62
    stamp = b"".join(
        number.to_bytes(4, "big")
        for number in (
            seen.st_ctime_ns // 10**9, seen.st_ctime_ns % 10**9, seen.st_mtime_ns // 10**9, seen.st_mtime_ns % 10**9,
            seen.st_dev & 0xFFFFFFFF, seen.st_ino & 0xFFFFFFFF, 0o100644, seen.st_uid, seen.st_gid, seen.st_size,
        )
    )  # fmt: skip
    from hashlib import sha1

    lying = index[:at] + stamp + bytes.fromhex(entry) + index[at + 60 : -20]
    (it.git_dir / "index").write_bytes(lying + sha1(lying, usedforsecurity=False).digest())
    assert b"TREASURE" not in files_compared(repository_for(Sight(it.folder)), "HEAD")


def test_a_merge_in_the_middle_shows_the_file_as_it_is(it: Made) -> None:
    it.git("checkout", "-q", "-b", "side")
    it.commit("side", a="2\n")
    it.git("checkout", "-q", "-")
    it.commit("main", a="3\n")
    with pytest.raises(Exception, match="merge"):
        it.git("merge", "-q", "side")
    said = files_compared(repository_for(Sight(it.folder)), "HEAD")
    assert b"+<<<<<<< HEAD" in said
    assert b"+>>>>>>> side" in said


def test_modes_links_and_large_files_are_compared_too(it: Made) -> None:
    it.write("run.sh", "echo\n")
    it.write("large.bin", "x")
    (it.folder / "link").symlink_to("a")
    it.commit("kinds")
    repository = repository_for(Sight(it.folder))
    assert files_compared(repository, "HEAD") == b""
    (it.folder / "run.sh").chmod(0o755)
    (it.folder / "link").unlink()
    (it.folder / "link").symlink_to("run.sh")
    with (it.folder / "large.bin").open("wb") as file:
        file.truncate(6 << 20)
    said = files_compared(repository, "HEAD")
    assert b"old mode 100644\nnew mode 100755\n" in said
    assert b"-a\n\\ No newline at end of file\n+run.sh\n" in said
    assert b"Binary files a/large.bin and b/large.bin differ" in said
