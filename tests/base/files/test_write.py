"""Files are written whole or not at all, and nobody's own save is lost to ours."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import rightcall.base.files.write as renaming
import rightcall.base.files.write as writing
from rightcall.base.files.write import (
    Differs,
    Written,
    failure,
    make_folders,
    mend,
    missing_folders,
    remove_folders,
    seen_file,
    spot,
    write,
)
from rightcall.errors import ToolFailure

pytestmark = pytest.mark.promise("W-05")

BESIDE = ".rightcall-0123.tmp"
CHANGE, CREATE, REMOVE = Written(b"old", b"ours"), Written(None, b"ours"), Written(b"old", None)
LOCKED = Written(b"old", b"ours", lock="a.lock")


@pytest.fixture(params=["exchange", "plain renames"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """As it is, and as on a file system that cannot exchange two names."""
    if request.param != "exchange":
        monkeypatch.setattr(renaming, "_rename_function", lambda: None)
    return request.param


@pytest.fixture(autouse=True)
def no_hook() -> Iterator[None]:
    yield
    writing.hook = None


def put(folder: Path, wanted: Written, path: str = "a.txt") -> None:
    with spot(str(folder), path) as here:
        write(here, wanted, BESIDE)


def prepared(folder: Path, wanted: Written) -> Path:
    file = folder / "a.txt"
    if wanted.before is not None:
        file.write_bytes(wanted.before)
    return file


def steps_of(folder: Path, wanted: Written) -> list[str]:
    names: list[str] = []
    prepared(folder, wanted)
    writing.hook = names.append
    put(folder, wanted)
    writing.hook = None
    return names


@pytest.mark.parametrize("wanted", [CHANGE, CREATE, REMOVE, LOCKED])
def test_a_file_is_changed_made_and_removed_and_nothing_is_left_beside_it(
    tmp_path: Path, system: str, wanted: Written
) -> None:
    file = prepared(tmp_path, wanted)
    put(tmp_path, wanted)
    assert os.listdir(tmp_path) == ([] if wanted.after is None else ["a.txt"])
    assert wanted.after is None or file.read_bytes() == wanted.after


@pytest.mark.parametrize("wanted", [CHANGE, CREATE, REMOVE, LOCKED])
def test_what_is_not_as_it_was_said_to_be_is_left_alone(tmp_path: Path, system: str, wanted: Written) -> None:
    (tmp_path / "a.txt").write_text("theirs")
    with pytest.raises(Differs, match=r"a\.txt (was changed since|exists now)"):
        put(tmp_path, wanted)
    assert (tmp_path / "a.txt").read_text() == "theirs"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_file_keeps_its_permissions_but_never_gets_those_of_another_user(tmp_path: Path) -> None:
    file = prepared(tmp_path, CHANGE)
    file.chmod(0o4750)
    put(tmp_path, CHANGE)
    assert stat.S_IMODE(file.stat().st_mode) == 0o750
    put(tmp_path, Written(b"ours", b"ours", 0o6711, keep=False))
    assert stat.S_IMODE(file.stat().st_mode) == 0o711
    put(tmp_path, Written(None, b"new", 0o4644), "b.txt")
    assert stat.S_IMODE((tmp_path / "b.txt").stat().st_mode) == 0o644


# Somebody else saves at the same time


def by_rename(file: Path) -> None:
    other = file.with_name("editor.swp")
    other.write_text("theirs")
    other.rename(file)


def in_place(file: Path) -> None:
    file.write_text("theirs")


EDITORS: list[Callable[[Path], None]] = [by_rename, in_place]


@pytest.mark.parametrize("editor", EDITORS)
@pytest.mark.parametrize("wanted", [CHANGE, CREATE, REMOVE])
def test_a_save_of_somebody_else_at_any_step_is_what_is_there_in_the_end(
    tmp_path: Path, editor: Callable[[Path], None], wanted: Written
) -> None:
    (tmp_path / "steps").mkdir()
    names = steps_of(tmp_path / "steps", wanted)
    refused: list[bool] = []
    for at in range(len(names)):
        folder = tmp_path / str(at)
        folder.mkdir()
        file = prepared(folder, wanted)
        left = [at]

        def save(_: str, file: Path = file, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] == -1:
                editor(file)

        writing.hook = save
        try:
            put(folder, wanted)
            refused.append(False)
        except Differs:
            refused.append(True)
        assert file.read_text() == "theirs", f"lost at step {at}, {names[at]}"
        assert os.listdir(folder) == ["a.txt"], f"left at step {at}, {names[at]}"
    # before it is in place ours is refused; after that theirs is a save over ours
    assert refused == sorted(refused, reverse=True)
    assert refused[0] == (wanted.after is not None)  # where the old one goes, theirs is a new file
    assert not refused[-1]


@pytest.mark.parametrize("wanted", [CHANGE, REMOVE])
def test_an_editor_that_has_the_file_open_loses_nothing(tmp_path: Path, wanted: Written) -> None:
    file = prepared(tmp_path, wanted)
    with open(file, "r+") as editor:
        with pytest.raises(Differs, match="is being written by another program"):
            put(tmp_path, wanted)
        editor.write("theirs")
    assert file.read_text() == "theirs"
    assert os.listdir(tmp_path) == ["a.txt"]
    with open(file) as reader:  # somebody who only reads is no obstacle
        put(tmp_path, Written(b"theirs", b"ours"))
        assert reader.read() == "theirs"
    assert file.read_text() == "ours"


@pytest.mark.parametrize(
    "moments", [("compared", "exchanged"), ("compared", "going back"), ("compared", "going back", "going back")]
)
def test_the_last_of_several_saves_that_come_between_stays(tmp_path: Path, moments: tuple[str, ...]) -> None:
    file = prepared(tmp_path, CHANGE)
    due = list(moments)

    def save(step: str) -> None:
        if due and step == due[0]:
            due.pop(0)
            by_rename(file)
            file.write_text(f"{len(due)} to come")

    writing.hook = save
    with pytest.raises(Differs):
        put(tmp_path, CHANGE)
    assert due == []
    assert file.read_text() == "0 to come"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("when", ["kept", "compared"])
@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_something_else_that_takes_the_place_is_put_back(tmp_path: Path, kind: str, when: str) -> None:
    file = prepared(tmp_path, CHANGE)
    (tmp_path / "target").write_text("old")

    def swap(step: str) -> None:
        if step == when:
            file.unlink()
            _make(file, kind)

    writing.hook = swap
    with pytest.raises(ToolFailure, match=rf"a\.txt is a {kind}; only regular files are written"):
        put(tmp_path, CHANGE)
    assert file.is_symlink() == (kind == "link")
    assert file.is_dir() == (kind == "folder")
    assert file.is_fifo() == (kind == "pipe")
    assert (tmp_path / "target").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "target"]


def _make(file: Path, kind: str) -> None:
    if kind == "link":
        file.symlink_to("target")
    elif kind == "folder":
        file.mkdir()
    else:
        os.mkfifo(file)


# What is in the way


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
@pytest.mark.parametrize("wanted", [CHANGE, CREATE, REMOVE])
def test_only_regular_files_are_written(tmp_path: Path, kind: str, wanted: Written) -> None:
    (tmp_path / "target").write_text("old")
    _make(tmp_path / "a.txt", kind)
    with pytest.raises(ToolFailure, match=f"is a {kind}"):
        put(tmp_path, wanted)
    assert (tmp_path / "target").read_text() == "old"


def test_no_link_on_the_way_is_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "way").symlink_to("../outside")
    with pytest.raises(ToolFailure, match="a folder of its path is a link, and links are not followed"):
        seen_file(str(tmp_path / "root"), "way/a.txt")
    with pytest.raises(OSError) as caught:  # noqa: PT011 - its number is looked at
        put(tmp_path / "root", CREATE, "way/a.txt")
    assert caught.value.errno == errno.ELOOP
    assert os.listdir(tmp_path / "outside") == []


@pytest.mark.parametrize("path", ["", "/a", "a//b", "../a", "a/..", "./a", "a\0b"])
def test_only_plain_paths_are_written(tmp_path: Path, path: str) -> None:
    with pytest.raises(ToolFailure, match="is not a plain relative path"):
        put(tmp_path, CREATE, path)


@pytest.mark.parametrize("wanted", [CHANGE, CREATE, REMOVE, LOCKED])
def test_a_fault_at_any_step_before_it_is_in_place_leaves_what_was_there(
    tmp_path: Path, system: str, wanted: Written
) -> None:
    (tmp_path / "steps").mkdir()
    names = steps_of(tmp_path / "steps", wanted)
    for at in range(names.index("in place")):
        folder = tmp_path / str(at)
        folder.mkdir()
        file = prepared(folder, wanted)
        left = [at]

        def fail(_: str, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] == -1:
                raise OSError(errno.ENOSPC, "full")

        writing.hook = fail
        with pytest.raises(OSError, match="full"):
            put(folder, wanted)
        writing.hook = None
        after_the_lock = wanted.lock and names[at] == "unlocked"
        if not after_the_lock:  # from there on the journal takes it back
            assert (file.read_bytes() if file.exists() else None) == wanted.before, names[at]
        assert set(os.listdir(folder)) <= {"a.txt"}, names[at]


def test_a_file_that_would_be_too_large_is_said_to_be(tmp_path: Path) -> None:
    """A limit of the system, which fails in the middle of the content as a full disk does."""
    import resource
    import signal

    file = prepared(tmp_path, CHANGE)
    process = os.fork()
    if process == 0:
        code = 1
        with suppress(BaseException):
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
            try:
                put(tmp_path, Written(b"old", b"x" * 5000))
            except OSError as error:
                code = 0 if error.errno == errno.EFBIG else 2
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    assert file.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (errno.EROFS, "the disk is read-only"),
        (errno.EDQUOT, "the disk quota is used up"),
        (errno.EACCES, "permission denied"),
        (errno.EIO, "input/output error"),
    ],
)
def test_a_refusal_says_what_the_system_says(number: int, why: str) -> None:
    said = str(failure(OSError(number, os.strerror(number)), "a\x1b.txt"))
    assert said == f"a\\u001b.txt cannot be written: {why}. Nothing was changed"


# Locks of other programs


def test_a_lock_of_another_program_is_respected_and_left(tmp_path: Path) -> None:
    file = prepared(tmp_path, LOCKED)
    (tmp_path / "a.lock").write_text("git")
    with pytest.raises(ToolFailure, match=r"Another program is at work: a\.lock is there"):
        put(tmp_path, LOCKED)
    assert file.read_bytes() == b"old"
    assert (tmp_path / "a.lock").read_text() == "git"
    assert sorted(os.listdir(tmp_path)) == ["a.lock", "a.txt"]


def test_after_a_crash_only_a_lock_of_ours_is_removed(tmp_path: Path) -> None:
    prepared(tmp_path, LOCKED)
    (tmp_path / BESIDE).write_text("ours")
    (tmp_path / "a.lock").write_text("ours")  # the same content, yet another file
    with spot(str(tmp_path), "a.txt") as here:
        assert mend(here, LOCKED, BESIDE) is None
        assert sorted(os.listdir(tmp_path)) == ["a.lock", "a.txt"]
        (tmp_path / "a.lock").rename(tmp_path / BESIDE)
        os.link(tmp_path / BESIDE, tmp_path / "a.lock")
        assert mend(here, LOCKED, BESIDE) is None
    assert os.listdir(tmp_path) == ["a.txt"]


# After a crash


@pytest.mark.parametrize(
    ("placed", "aside", "expected", "rescued"),
    [
        ("old", "ou", "old", None),  # killed while it was written
        ("old", "ours", "old", None),  # before the exchange
        ("ours", "old", "old", None),  # after it
        ("ours", "theirs", "theirs", None),  # after it, and somebody had saved just before
        ("theirs", "old", "theirs", None),  # somebody has saved since
        ("newest", "theirs", "newest", b"theirs"),  # somebody had saved before and after
        ("ours", "our", "ours", b"our"),  # nobody can tell: kept elsewhere
    ],
)
def test_what_a_killed_write_left_is_put_right(
    tmp_path: Path, placed: str, aside: str, expected: str, rescued: bytes | None
) -> None:
    (tmp_path / "a.txt").write_text(placed)
    (tmp_path / BESIDE).write_text(aside)
    with spot(str(tmp_path), "a.txt") as here:
        assert mend(here, CHANGE, BESIDE) == rescued
        assert mend(here, CHANGE, BESIDE) is None
    assert (tmp_path / "a.txt").read_text() == expected
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize(("aside", "expected"), [("old", "old"), ("theirs", "theirs")])
def test_a_removal_that_was_killed_is_put_right(tmp_path: Path, aside: str, expected: str) -> None:
    (tmp_path / BESIDE).write_text(aside)
    with spot(str(tmp_path), "a.txt") as here:
        assert mend(here, REMOVE, BESIDE) is None
    assert (tmp_path / "a.txt").read_text() == expected
    assert os.listdir(tmp_path) == ["a.txt"]


# Folders


def test_folders_are_made_and_go_again_where_they_are_empty(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    missing = missing_folders(str(tmp_path), "a/b/c/d/file")
    assert missing == ["a/b", "a/b/c", "a/b/c/d"]
    make_folders(str(tmp_path), missing)
    make_folders(str(tmp_path), missing)
    assert stat.S_IMODE((tmp_path / "a/b/c/d").stat().st_mode) & 0o700 == 0o700
    (tmp_path / "a/b/theirs").touch()
    remove_folders(str(tmp_path), missing)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b", "theirs"]
    with pytest.raises(NotADirectoryError):
        missing_folders(str(tmp_path), "a/b/theirs/file")
