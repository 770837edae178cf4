"""Files into a scratch folder and out of it, whatever a program has made of it."""

import ctypes
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from rightcall.errors import ToolFailure
from rightcall.tools.sandbox import scratch as scratch_module
from rightcall.tools.sandbox.conversation import Scratch
from rightcall.tools.sandbox.scratch import (
    Folder,
    Listing,
    changed_files,
    checked_files,
    given_marks,
    listing,
    put,
    read,
)
from support.every import every


@contextmanager
def opened(folder: Path) -> Iterator[Scratch]:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield Scratch(fd, os.geteuid(), os.getegid())
    finally:
        os.close(fd)


def names(found: Listing) -> list[str]:
    return [entry.path for entry in found.files]


@every(
    ("name", "why"),
    [
        ("", "must be a plain path"),
        ("/etc/passwd", "must be a plain path"),
        ("../up", "must be a plain path"),
        ("a/../../b", "must be a plain path"),
        ("a//b", "must be a plain path"),
        ("./a", "must be a plain path"),
        ("a/", "must be a plain path"),
        ("1/2/3/4/5/6/7/8/9", "has 9 levels; at most 8"),
        ("a\nb", "holds a character that cannot be shown"),
        ("a\0b", "holds a character that cannot be shown"),
        ("a\u202eb", "holds a character that cannot be shown"),
        ("\ud800", "holds a character that cannot be shown"),
        ("ä" * 128, "has a part of more than 255 bytes"),
    ],
)
def test_a_name_that_is_no_plain_path_is_refused(name: str, why: str) -> None:
    with pytest.raises(ToolFailure, match=why) as fault:
        checked_files({"fine.txt": "x", name: "x"}, 1)
    assert str(fault.value).isprintable()
    assert "`files`" in str(fault.value)


def test_too_many_too_large_and_contradictory_files_are_refused() -> None:
    with pytest.raises(ToolFailure, match="101 files; at most 100"):
        checked_files({f"f{n}": "" for n in range(101)}, 1)
    with pytest.raises(ToolFailure, match="limited to 1 MB"):
        checked_files({"a": "x" * 600_000, "b": "x" * 600_000}, 1)
    with pytest.raises(ToolFailure, match="'a/b' cannot be both a file and a folder"):
        checked_files({"a/b/c": "", "a/b": ""}, 1)


def test_files_are_put_below_the_folder_and_only_changes_come_back(tmp_path: Path) -> None:
    files = checked_files({"same.txt": "same", "sub/deep/changed.txt": "old", "touched": "x", "gone": "y"}, 1)
    with opened(tmp_path) as scratch:
        for path, content in files.items():
            put(scratch, path, content)
        before = given_marks(scratch.fd)
        (tmp_path / "sub/deep/changed.txt").write_text("new")
        (tmp_path / "new.txt").write_text("new")
        (tmp_path / "gone").unlink()
        now = listing(scratch.fd, owner=scratch.uid)
        assert [entry.path for entry in changed_files(now, before)] == ["new.txt", "sub/deep/changed.txt"]
        assert read(scratch.fd, "sub/deep/changed.txt", 2) == b"ne"
    assert (tmp_path / "same.txt").read_text() == "same"


def test_a_change_that_hides_its_time_is_seen(tmp_path: Path) -> None:
    with opened(tmp_path) as scratch:
        put(scratch, "a", b"old")
        before = given_marks(scratch.fd)
        seen = (tmp_path / "a").stat()
        (tmp_path / "b").write_bytes(b"new")
        os.utime(tmp_path / "b", ns=(seen.st_atime_ns, seen.st_mtime_ns))
        os.replace(tmp_path / "b", tmp_path / "a")
        assert [entry.path for entry in changed_files(listing(scratch.fd), before)] == ["a"]


@pytest.mark.promise("X-06")
def test_links_pipes_and_sockets_are_named_and_never_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    inside = tmp_path / "inside"
    inside.mkdir()
    os.symlink(outside / "secret", inside / "file")
    os.symlink(outside, inside / "folder")
    os.mkfifo(inside / "pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(inside / "socket"))
    (inside / "real").write_text("x")
    with opened(inside) as scratch:
        found = listing(scratch.fd)
        assert names(found) == ["real"]
        assert {(one.path, one.why) for one in found.left} == {
            ("file", "a link"), ("folder", "a link"), ("pipe", "no regular file"), ("socket", "no regular file"),
        }  # fmt: skip
        assert read(scratch.fd, "file", 10) is None
        assert read(scratch.fd, "folder/secret", 10) is None
        assert read(scratch.fd, "pipe", 10) is None


def test_files_of_somebody_else_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    with opened(tmp_path) as scratch:
        assert [one.why for one in listing(scratch.fd, owner=scratch.uid + 1).left] == ["not its own"]


def test_a_folder_without_an_end_is_read_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch_module, "MOST_ENTRIES", 10)
    monkeypatch.setattr(scratch_module, "MOST_LEVELS", 3)
    (tmp_path / "1/2/3/4/5").mkdir(parents=True)
    (tmp_path / "1/2/3/4/5/deep").write_text("x")
    with opened(tmp_path) as scratch:
        found = listing(scratch.fd)
        assert (names(found), [(one.path, one.why) for one in found.cut], found.whole) == (
            [], [("1/2/3/4", "more than 3 levels deep")], True,
        )  # fmt: skip
        for number in range(20):
            (tmp_path / f"f{number:02}").write_text("x")
        assert (listing(scratch.fd).whole, listing(scratch.fd).cut[-1].path) == (False, "…")


def test_a_name_that_is_no_text_is_spelled_out(tmp_path: Path) -> None:
    os.symlink("x", os.fsencode(tmp_path) + b"/caf\xe9")
    os.symlink("x", tmp_path / "red\x1b[31m\n")
    with opened(tmp_path) as scratch:
        assert sorted(one.path for one in listing(scratch.fd).left) == ["caf\\xe9", "red\\u001b[31m\\u000a"]


PR_SET_DUMPABLE = 4


class Work:
    """A person's folder and a scratch folder, between which a program runs."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder, self.inside = tmp_path / "folder", tmp_path / "inside"
        self.folder.mkdir()
        self.inside.mkdir()
        (self.folder / "sub").mkdir()
        (self.folder / "keep.txt").write_text("keep")
        (self.folder / "change.txt").write_text("old")
        (self.folder / "sub/gone.txt").write_text("gone")
        (self.folder / "tool.sh").write_text("#!/bin/sh")
        (self.folder / "tool.sh").chmod(0o755)

    @contextmanager
    def program(self, megabytes: int = 1) -> Iterator[Folder]:
        """What the block does, the program does in `inside`, or somebody else in `folder`."""
        folder = Folder(str(self.folder), megabytes)
        try:
            with opened(self.inside) as scratch:
                folder.fill(scratch)
                yield folder
                folder.bring_back(scratch)
        finally:
            folder.close()

    def files(self) -> dict[str, str]:
        found = (path for path in self.folder.rglob("*") if path.is_file() and not path.is_symlink())
        return {str(path.relative_to(self.folder)): path.read_text() for path in found}


def test_a_folder_comes_back_as_the_program_left_it(tmp_path: Path) -> None:
    work = Work(tmp_path)
    untouched = (work.folder / "keep.txt").stat()
    with work.program() as folder:
        assert (work.inside / "tool.sh").stat().st_mode & 0o111
        (work.inside / "change.txt").write_text("new")
        (work.inside / "sub/gone.txt").unlink()
        (work.inside / "sub").rmdir()
        (work.inside / "made/deep").mkdir(parents=True)
        (work.inside / "made/deep/new.sh").write_text("n")
        (work.inside / "made/deep/new.sh").chmod(0o6755)
    assert work.files() == {
        "keep.txt": "keep", "change.txt": "new", "tool.sh": "#!/bin/sh", "made/deep/new.sh": "n",
    }  # fmt: skip
    assert not (work.folder / "sub").exists()
    assert stat.S_IMODE((work.folder / "made/deep/new.sh").stat().st_mode) == 0o755
    assert (work.folder / "keep.txt").stat().st_ino == untouched.st_ino
    assert folder.left + folder.lost == []
    assert not [name for name in os.listdir(work.folder) if name.startswith(".rightcall")]


def test_a_file_that_became_a_folder_and_one_the_other_way_round_come_back(tmp_path: Path) -> None:
    work = Work(tmp_path)
    with work.program() as folder:
        (work.inside / "keep.txt").unlink()
        (work.inside / "keep.txt").mkdir()
        (work.inside / "keep.txt/inner").write_text("1")
        (work.inside / "sub/gone.txt").unlink()
        (work.inside / "sub").rmdir()
        (work.inside / "sub").write_text("2")
    assert folder.left + folder.lost == []
    assert (work.files()["keep.txt/inner"], work.files()["sub"]) == ("1", "2")


@pytest.mark.promise("X-06")
def test_links_stay_outside_on_both_sides(tmp_path: Path) -> None:
    work = Work(tmp_path)
    secret = tmp_path / "secret"
    secret.write_text("secret")
    os.symlink(secret, work.folder / "link")
    os.link(secret, work.folder / "hard")
    os.symlink(tmp_path, work.folder / "up")
    with work.program() as folder:
        assert sorted(os.listdir(work.inside)) == ["change.txt", "keep.txt", "sub", "tool.sh"]
        assert sorted(one.path for one in folder.survey.left) == ["hard", "link", "up"]
        os.symlink("/etc/passwd", work.inside / "new-link")
        os.mkfifo(work.inside / "pipe")
        (work.inside / "link").write_text("through")
        (work.inside / "up").mkdir()
        (work.inside / "up/secret").write_text("through")
    assert secret.read_text() == "secret"
    assert os.readlink(work.folder / "link") == str(secret)
    assert not os.path.lexists(work.folder / "new-link")
    assert sorted(one.path for one in folder.missing) == ["hard", "link", "up"]
    assert {one.path for one in folder.left} == {"new-link", "pipe"}
    assert {one.path for one in folder.lost} == {"link", "up/secret", "up"}


def test_what_somebody_else_changes_meanwhile_is_left_to_them(tmp_path: Path) -> None:
    work = Work(tmp_path)
    with work.program() as folder:
        for path in ("change.txt", "new.txt"):
            (work.inside / path).write_text("the program's")
        (work.inside / "keep.txt").unlink()
        for path in ("change.txt", "new.txt", "keep.txt"):
            (work.folder / path).write_text("somebody else's")
    assert {work.files()[path] for path in ("change.txt", "new.txt", "keep.txt")} == {"somebody else's"}
    assert [one.path for one in folder.lost] == ["keep.txt", "change.txt", "new.txt"]


@pytest.mark.parametrize("stays", [True, False])
def test_two_names_of_one_file_both_come_back(tmp_path: Path, stays: bool) -> None:
    work = Work(tmp_path)
    os.link(work.folder / "change.txt", work.folder / "second.txt")
    os.link(work.folder / "change.txt", work.folder / "third.txt")
    with work.program() as folder:
        for path in ("change.txt", "second.txt"):
            (work.inside / path).write_text(path)
        if not stays:
            (work.inside / "third.txt").unlink()
    assert {work.files()[path] for path in ("change.txt", "second.txt")} == {"change.txt", "second.txt"}
    assert ((work.folder / "third.txt").exists(), folder.lost) == (stays, [])


def test_a_file_that_could_not_be_copied_is_said_and_kept(tmp_path: Path) -> None:
    work = Work(tmp_path)
    with closing(Folder(str(work.folder), 1)) as folder, opened(work.inside) as scratch:
        os.rename(work.folder / "keep.txt", tmp_path / "away")
        folder.fill(scratch)
        assert [(one.path, one.why) for one in folder.missing] == [("keep.txt", "cannot be read")]
        os.rename(tmp_path / "away", work.folder / "keep.txt")
        (work.inside / "keep.txt").write_text("the program's")
        folder.bring_back(scratch)
    assert (work.files()["keep.txt"], [one.path for one in folder.lost]) == ("keep", ["keep.txt"])


def test_beyond_the_bounds_nothing_is_taken_for_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(tmp_path)
    monkeypatch.setattr(scratch_module, "MOST_LEVELS", 2)
    with work.program() as folder:
        (work.inside / "1/2/3").mkdir(parents=True)
        os.rename(work.inside / "keep.txt", work.inside / "1/2/3/keep.txt")
        (work.inside / "new.txt").write_text("new")
    assert (work.files()["keep.txt"], work.files()["new.txt"]) == ("keep", "new")
    assert [(one.path, one.why) for one in folder.left] == [("1/2/3", "more than 2 levels deep")]


def test_what_filled_the_scratch_folder_fits_into_it_again(tmp_path: Path) -> None:
    (tmp_path / "full").write_bytes(b"x" * (1 << 20))
    with closing(Folder(str(tmp_path), 1)) as folder:
        assert [entry.path for entry in folder.survey.files] == ["full"]
    assert checked_files({"full": "x" * (1 << 20)}, 1)


def test_holes_in_a_file_come_back_as_holes(tmp_path: Path) -> None:
    work = Work(tmp_path)
    with work.program() as folder, open(work.inside / "sparse", "wb") as file:
        for at in (5_000_000, 40_000_000):
            file.seek(at)
            file.write(b"data")
        file.truncate(90_000_000)
    seen = (work.folder / "sparse").stat()
    assert (folder.lost, seen.st_size) == ([], 90_000_000)
    assert seen.st_blocks * 512 < 1_000_000
    with open(work.folder / "sparse", "rb") as file:
        for at in (4_999_996, 39_999_996):
            file.seek(at)
            assert file.read(12) == b"\0\0\0\0data\0\0\0\0"


@pytest.mark.promise("W-05")
def test_an_interruption_while_files_come_back_leaves_whole_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work(tmp_path)
    before = work.files()

    def interrupt(_file: int) -> None:
        raise KeyboardInterrupt

    def interrupted() -> None:
        with work.program():
            (work.inside / "change.txt").write_text("new")
            monkeypatch.setattr(os, "fsync", interrupt)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert work.files() == before


def test_a_folder_that_holds_too_much_is_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work(tmp_path)
    with open(work.folder / "big", "wb") as file:
        file.truncate(3_000_000)
    with pytest.raises(ToolFailure, match=r"holds 2\.9 MB; the scratch folder is limited to 2 MB"):
        Folder(str(work.folder), 2)
    monkeypatch.setattr(scratch_module, "MOST_ENTRIES", 3)
    with pytest.raises(ToolFailure, match="too many for a scratch folder"):
        Folder(str(work.folder), 10)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_files_come_back_as_their_folders_owner(tmp_path: Path) -> None:
    work = Work(tmp_path)
    os.chown(work.folder, 4321, 4322)
    with work.program():
        (work.inside / "made").mkdir()
        (work.inside / "made/new").write_text("x")
    for path in ("made", "made/new"):
        assert ((work.folder / path).stat().st_uid, (work.folder / path).stat().st_gid) == (4321, 4322)


@pytest.mark.promise("X-06")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_file_that_the_program_closed_to_itself_comes_back_to_an_ordinary_user(tmp_path: Path) -> None:
    work = Work(tmp_path)
    for path in (work.folder, *work.folder.rglob("*"), work.inside):
        os.chown(path, 65534, 65534)
    folder = Folder(str(work.folder), 1)
    with closing(folder), opened(work.inside) as scratch:
        folder.fill(scratch)
        (work.inside / "locked.txt").write_text("kept")
        (work.inside / "locked.txt").chmod(0)
        os.chown(work.inside / "locked.txt", 65534, 65534)
        child = os.fork()
        if child == 0:
            try:
                os.setresuid(65534, 65534, 65534)
                ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1)  # else /proc/self stays root's
                folder.bring_back(Scratch(scratch.fd, 65534, 65534))
                os._exit(bool(folder.lost))
            finally:
                os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
    assert (work.folder / "locked.txt").read_text() == "kept"
    assert stat.S_IMODE((work.folder / "locked.txt").stat().st_mode) == 0
