"""Opening beneath a folder: the kernel's one call and the walk come to the same, and no link is followed."""

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.base.files import sight
from rightcall.base.files.sight import O_PATH, has_openat2, open_anywhere, open_beneath

pytestmark = pytest.mark.promise("P-03")
needs_openat2 = pytest.mark.skipif(not has_openat2(), reason="this kernel has no openat2")


@pytest.fixture(scope="module")
def folder() -> Iterator[int]:
    """a/b/file, and links to each of them, in every folder; a pipe."""
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        (top / "a/b").mkdir(parents=True)
        for place in ("", "a", "a/b"):
            (top / place / "file").write_text(place)
            (top / place / "tofile").symlink_to("file")
            (top / place / "toself").symlink_to(".")
            (top / place / "up").symlink_to("..")
        (top / "toa").symlink_to("a")
        os.mkfifo(top / "pipe")
        found = os.open(name, os.O_RDONLY)
        yield found
        os.close(found)


def outcome(folder: int, path: str, flags: int) -> tuple[int, int] | str:
    """What was opened, or that nothing was."""
    try:
        found = open_beneath(folder, path, flags)
    except OSError:
        return "nothing"
    try:
        seen = os.fstat(found)
        return seen.st_ino, stat.S_IFMT(seen.st_mode)
    finally:
        os.close(found)


NAMES = st.sampled_from(["a", "b", "file", "tofile", "toself", "toa", "up", "pipe", "", ".", "..", "nope"])


@needs_openat2
@given(st.lists(NAMES, max_size=5).map("/".join), st.sampled_from([os.O_RDONLY, O_PATH, os.O_DIRECTORY]))
def test_the_call_and_the_walk_open_the_same(folder: int, path: str, flags: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        one = outcome(folder, path, flags)
        patch.setattr(sight, "_known", False)
        other = outcome(folder, path, flags)
    assert one == other


@given(st.lists(NAMES, min_size=1, max_size=5), st.booleans(), st.booleans())
def test_whatever_opens_is_reached_by_plain_names_alone(folder: int, names: list[str], look: bool, walk: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if walk:
            patch.setattr(sight, "_known", False)
        found = outcome(folder, "/".join(names), O_PATH if look else os.O_RDONLY)
    if names != [""] and {"tofile", "toself", "toa", "up", "", ".."} & set(names):
        assert found == "nothing"
    elif found != "nothing":
        seen = os.stat("/".join(name or "." for name in names), dir_fd=folder, follow_symlinks=False)
        assert found == (seen.st_ino, stat.S_IFMT(seen.st_mode))


@pytest.mark.parametrize("walk", [False, True])
@pytest.mark.parametrize("flags", [os.O_RDONLY, O_PATH])
@pytest.mark.parametrize("path", ["tofile", "toa/file", "a/tofile", "a/toself/file", "a/up/file"])
def test_a_link_anywhere_in_the_path_is_an_error(
    folder: int, path: str, flags: int, walk: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if walk:
        monkeypatch.setattr(sight, "_known", False)
    with pytest.raises(OSError) as caught:  # noqa: PT011  the number is what is asserted
        open_beneath(folder, path, flags)
    assert caught.value.errno in (errno.ELOOP, errno.ENOTDIR)


@pytest.mark.parametrize("walk", [False, True])
def test_a_pipe_without_a_writer_opens_at_once(folder: int, walk: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if walk:
        monkeypatch.setattr(sight, "_known", False)
    opened = open_beneath(folder, "pipe")
    assert stat.S_ISFIFO(os.fstat(opened).st_mode)
    os.close(opened)


def test_nothing_stays_open_when_a_walk_fails(folder: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sight, "_known", False)
    before = lowest()
    for path in ("a/b/nope", "a/file/x", "a/tofile", "a/b/file", "up/x"):
        outcome(folder, path, os.O_RDONLY)
        outcome(folder, path, O_PATH)
    assert lowest() == before


def lowest() -> int:
    """The lowest free descriptor: it rises when one is left open."""
    found = os.open(os.devnull, os.O_RDONLY)
    os.close(found)
    return found


@needs_openat2
def test_a_link_that_is_no_name_leads_nowhere(folder: int) -> None:
    for path in (f"/proc/self/fd/{folder}", "/proc/self/cwd", "/proc/self/root/etc"):
        with pytest.raises(OSError, match="symbolic links"):
            open_anywhere(folder, path)


def failing(number: int, times: int = 10_000):
    """A system call that fails that often, and then opens the root folder."""
    left = [times]

    def call(*_: object) -> tuple[int, int]:
        left[0] -= 1
        if left[0] < 0:
            return os.open("/", os.O_RDONLY), 0
        return -1, number

    return call


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EPERM, errno.E2BIG, errno.EACCES, errno.EINVAL])
def test_a_kernel_or_sandbox_without_the_call_gets_the_walk(
    folder: int, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sight, "_known", None)
    monkeypatch.setattr(sight, "_syscall", failing(number))
    assert not has_openat2()
    os.close(open_beneath(folder, "a/b/file"))


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_a_shortage_says_nothing_about_the_call(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if not has_openat2():
        pytest.skip("this kernel has no openat2")
    monkeypatch.setattr(sight, "_known", None)
    with monkeypatch.context() as patch:
        patch.setattr(sight, "_syscall", failing(number))
        with pytest.raises(OSError, match=os.strerror(number)):
            has_openat2()
    assert has_openat2()


def test_the_kernel_is_asked_again_while_folders_move_but_not_for_ever(
    folder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sight, "_known", True)
    monkeypatch.setattr(sight, "_syscall", failing(errno.EAGAIN, 5))
    os.close(open_beneath(folder, "a"))
    monkeypatch.setattr(sight, "_syscall", failing(errno.EAGAIN))
    with pytest.raises(OSError, match="change all the time"):
        open_beneath(folder, "a")
