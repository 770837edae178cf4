"""The small parts of the fork server: requests, users, what processes use, control groups."""

import ctypes
import gc
import mmap
import os
import socket
import subprocess
import sys
import sysconfig
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from rightcall.errors import ToolFailure
from rightcall.tools.sandbox import conversation
from rightcall.tools.sandbox.inside import cleanup, server, wire
from rightcall.tools.sandbox.inside import root as mapped
from rightcall.tools.sandbox.inside import root as newroot
from rightcall.tools.sandbox.inside import wire as owners
from rightcall.tools.sandbox.inside import wire as places
from rightcall.tools.sandbox.inside.cleanup import RealFolder, Removed
from rightcall.tools.sandbox.inside.server import Overseer, Ways
from rightcall.tools.sandbox.inside.wire import Request
from support.every import every

PIPES: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
LIBC = ctypes.CDLL(None)
LIBC.mmap.restype = ctypes.c_void_p
REQUEST = Request(
    tier="landlock", argv=["/bin/x", "/place/a", "/placement", "/place"], place="/place", bind=False,
    script="/place/main.py", code="", visible=[], env={"A": "/place/b", "B": "see /place"}, packages={},
    seconds=1.0, memory=1, processes=1, scratch=1,
)  # fmt: skip


def test_messages_and_files_cross_a_socket_whole():
    ours, theirs = socket.socketpair()
    with ours, theirs, open(os.devnull) as file:
        wire.send(ours, {"text": "ü" * 10_000}, (file.fileno(), file.fileno()))
        message, files = wire.receive(theirs)
        assert message == {"text": "ü" * 10_000}
        assert [os.fstat(each).st_rdev for each in files] == [os.fstat(file.fileno()).st_rdev] * 2
        for each in files:
            assert not os.get_inheritable(each)
            os.close(each)
        ours.close()
        with pytest.raises(EOFError):
            wire.receive(theirs)


def test_a_place_that_moves_takes_its_paths_along_and_no_others():
    moved = REQUEST.moved("/tmp/new")
    assert moved.argv == ["/bin/x", "/tmp/new/a", "/placement", "/tmp/new"]
    assert (moved.place, moved.script) == ("/tmp/new", "/tmp/new/main.py")
    assert moved.env == {"A": "/tmp/new/b", "B": "see /place"}


def test_code_that_moves_takes_its_paths_along_and_no_others():
    moved = REQUEST._replace(code="/own/main.py", script="/own/main.py", argv=["/own/main.py", "/owner"]).with_code_in(
        "/b"
    )
    assert (moved.code, moved.script, moved.argv) == ("/b/main.py", "/b/main.py", ["/b/main.py", "/owner"])
    assert moved.place == REQUEST.place


@pytest.mark.promise("X-06")
def test_a_folder_that_was_prepared_by_half_is_closed_all_the_same(tmp_path: Path):
    base = tmp_path / "base"
    folder = RealFolder(REQUEST._replace(bind=True, place=f"{tmp_path}/absent"), os.geteuid(), os.getegid())
    with pytest.raises(FileNotFoundError):
        folder.prepare(str(base))
    assert base.exists()
    folder.close()
    assert not base.exists()


@pytest.mark.promise("X-06")
def test_no_two_runs_are_the_same_user():
    held = [owners.Owner() for _ in range(20)]
    assert len({owner.id for owner in held}) == 20
    with pytest.raises(OSError, match="in use"), closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as taken:
        taken.bind(f"\0rightcall-sandbox-{held[0].id}")
    for owner in held:
        owner.close()


def test_what_processes_use_is_seen_from_outside():
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(write)
        os.read(read, 1)
        os._exit(0)
    os.close(read)
    try:
        found = cleanup.descendants(os.getpid())
        assert child in found
        assert cleanup.memory_of([child], 1 << 40) > cleanup.memory_of([child], 0) > 0
        assert cleanup.tasks_of(os.geteuid()) >= 2
    finally:
        os.close(write)
        os.waitpid(child, 0)
    assert cleanup.memory_of([child], 0) == 0


def test_children_are_found_also_where_the_kernel_has_no_list_of_them(monkeypatch: pytest.MonkeyPatch):
    with subprocess.Popen(["/bin/sh", "-c", "sleep 9 & echo $!; read line"], **PIPES) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        below = int(child.stdout.readline())
        monkeypatch.setattr(cleanup, "_children_are_told", lambda: False)
        assert {child.pid, below} <= set(cleanup.descendants(os.getpid()))
        assert cleanup.descendants(child.pid) == [below]
        os.kill(below, 9)
        child.stdin.close()


@pytest.mark.promise("X-06")
def test_page_tables_count_as_memory():
    size = 8 << 30
    before = cleanup.memory_of([os.getpid()], 1 << 50)
    address = LIBC.mmap(None, ctypes.c_size_t(size), 1, 0x4022, -1, 0)
    LIBC.madvise(ctypes.c_void_p(address), ctypes.c_size_t(size), 15)  # no huge pages
    for at in range(address, address + size, 2 << 20):
        ctypes.string_at(at, 1)
    assert cleanup.memory_of([os.getpid()], 1 << 50) - before > (size >> 21) * 3000
    LIBC.munmap(ctypes.c_void_p(address), ctypes.c_size_t(size))


WITHOUT_A_LEADER = """
import ctypes, os, sys, threading
def work():
    data = b"x" * (40 << 20)
    file = open(sys.argv[1] + "/held", "w+b")
    file.write(b"x" * 100_000)
    file.flush()
    os.unlink(sys.argv[1] + "/held")
    print("held", flush=True)
    sys.stdin.read()
    os._exit(0)
threading.Thread(target=work).start()
ctypes.CDLL(None).syscall({"aarch64": 93, "x86_64": 60}[os.uname().machine], 0)
"""


@pytest.mark.promise("X-06")
def test_a_process_whose_first_thread_has_ended_still_uses_what_it_uses(tmp_path: Path):
    folder = os.open(tmp_path, os.O_RDONLY)
    with subprocess.Popen([sys.executable, "-c", WITHOUT_A_LEADER, tmp_path], **PIPES) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdout.readline()
        assert cleanup.memory_of([child.pid], 1 << 50) > 40 << 20
        assert cleanup.memory_of([child.pid], 0) > 40 << 20
        assert Removed([folder]).used([child.pid], 1 << 30) >= 100_000
        child.stdin.close()
    os.close(folder)


@pytest.mark.promise("X-06")
def test_a_removed_file_that_waits_in_a_socket_is_missed_by_its_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = os.open(tmp_path, os.O_RDONLY)
    lost = Removed([folder])
    monkeypatch.setattr(cleanup, "_MARGIN", -(1 << 60))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        gc.collect()  # this process may hold removed folders of its own, which must not go meanwhile
        before = lost.used([os.getpid()], 1)
        wire.send(ours, {}, (folder,))
        assert lost.used([os.getpid()], 1) == 2 != before
        os.close(wire.receive(theirs)[1][0])
        assert lost.used([os.getpid()], 1) == before
    os.close(folder)


@pytest.mark.promise("X-06")
def test_shared_memory_that_is_hardly_mapped_is_missed_by_its_room(monkeypatch: pytest.MonkeyPatch):
    held = iter((1 << 30, (1 << 30) + (200 << 20), 2 << 30))
    monkeypatch.setattr(mapped, "shared_memory", lambda: next(held))
    overseer = Overseer(REQUEST, cast("Ways", None), None, None, has_pid1=False)
    with mmap.mmap(-1, 4096):
        assert not overseer._is_memory_hidden([os.getpid()])
        assert overseer._is_memory_hidden([os.getpid()])
    held = iter((2 << 30,))
    assert not overseer._is_memory_hidden([1 << 30])


def test_a_fault_of_the_supervisor_is_told_as_what_it_is(monkeypatch: pytest.MonkeyPatch):
    ours, theirs = socket.socketpair()

    def fail(_: object) -> None:
        raise ZeroDivisionError("by zero")

    def leave(_: int) -> None:
        raise SystemExit

    monkeypatch.setattr(server._Supervisor, "begin", fail)
    monkeypatch.setattr(os, "_exit", leave)
    with ours, theirs:
        with pytest.raises(SystemExit):
            server.supervise(server.Given("", theirs, (0, 1, 2), 0), server.Server([], []))
        message, _ = wire.receive(ours)
    assert message == {"broken": "ZeroDivisionError: by zero"}
    with pytest.raises(ToolFailure, match="its supervisor failed: ZeroDivisionError: by zero"):
        conversation._raise_failure(message)


@pytest.mark.promise("X-06")
@pytest.mark.parametrize("root", [True, False])
def test_a_removed_file_counts_as_long_as_it_is_open_or_mapped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: bool
):  # fmt: skip
    """Whoever may not look at a mapped file sees the room on the disk go."""
    if root and os.geteuid() != 0:
        pytest.skip("only root may look at mapped files")

    def refuse(_: mapped.Mapped) -> os.stat_result:
        raise PermissionError

    def used() -> int:
        return lost.used([os.getpid()], 1 << 30)

    folder = os.open(tmp_path, os.O_RDONLY)
    lost = Removed([folder])
    gc.collect()  # this process may hold removed folders of its own, which must not go meanwhile
    before = used()
    monkeypatch.setattr(cleanup, "_MARGIN", -(1 << 60))  # as if much had gone
    if not root:
        monkeypatch.setattr(mapped.Mapped, "on_disk", refuse)
    path = tmp_path / "file"
    with open(path, "w+b") as file:
        file.write(b"x" * 100_000)
        file.flush()
        assert used() == before
        path.unlink()
        assert used() >= before + 100_000
        address = LIBC.mmap(None, 4096, 1, 1, file.fileno(), 0)
    assert before + 100_000 <= used() < 1 << 30 if root else used() > 1 << 30
    LIBC.munmap(ctypes.c_void_p(address), 4096)
    assert used() == before
    os.close(folder)


def test_a_group_limits_memory_and_processes_and_goes_away():
    homes = cleanup.usable_homes()
    if not homes:
        pytest.skip("there are no control groups to be had here")
    group = cleanup.Group(homes, "test", 64 << 20, 7)
    for home in homes:
        folder = Path(home.folder) / "rightcall-test"
        files = {"memory": "memory.max" if home.version == 2 else "memory.limit_in_bytes", "pids": "pids.max"}
        wanted = {"memory": f"{64 << 20}\n", "pids": "7\n"}
        assert {kind: (folder / files[kind]).read_text() for kind in home.kinds} == {
            kind: wanted[kind] for kind in home.kinds
        }
    assert group.kinds == {kind for home in homes for kind in home.kinds}
    assert not group.ran_out()
    assert not group.refused()
    group.close()
    assert not any((Path(home.folder) / "rightcall-test").exists() for home in homes)


def test_a_group_that_cannot_be_made_limits_nothing_and_leaves_nothing(tmp_path: Path):
    home = cleanup.Home(str(tmp_path), 1, ("pids",))  # no control group: it lacks the file
    group = cleanup.Group([home, home._replace(folder=f"{tmp_path}/absent")], "test", 1, 1)
    assert (group.kinds, group.refused(), os.listdir(tmp_path)) == (set(), False, [])


@pytest.mark.parametrize(
    ("prefix", "modest"),
    [
        ("/", False),
        ("/home", False),
        ("~", False),
        ("/home/ann", False),
        ("/x/.local", False),
        ("/usr/local", True),
        ("/srv/venv", True),
    ],
)
def test_a_prefix_that_holds_a_home_is_not_shown_as_a_whole(prefix: str, modest: bool, monkeypatch: pytest.MonkeyPatch):
    shown = os.path.expanduser(prefix)
    for name in ("prefix", "base_prefix", "exec_prefix", "base_exec_prefix"):
        monkeypatch.setattr(sys, name, shown)
    monkeypatch.setattr(os.path, "exists", lambda _: True)
    found = places.interpreter_places()
    assert shown not in found or modest
    assert all(path != "/" for path in found)


def test_the_nearest_folder_is_the_deepest():
    assert places.nearest("/a/b/c", ["/a", "/a/b", "/a/bc"]) == "/a/b"
    assert places.nearest("/ab", ["/a"]) is None


def test_an_environment_in_the_folder_of_a_project_does_not_show_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    packages = tmp_path / "lib" / "python" / "site-packages"
    packages.mkdir(parents=True)
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(packages))
    for name in ("prefix", "exec_prefix"):
        monkeypatch.setattr(sys, name, str(tmp_path))
    assert str(tmp_path) in places.interpreter_places()
    (tmp_path / "secrets.toml").touch()
    found = places.interpreter_places()
    assert str(tmp_path) not in found
    assert str(packages) in found


@pytest.mark.promise("X-06")
@every("path", ["/", "//", "/usr/..", "/proc/self/root"])
def test_everything_cannot_be_made_visible(path: str):
    with pytest.raises(ValueError, match="whole file system"):
        newroot._opened(REQUEST._replace(visible=[path]), [])
