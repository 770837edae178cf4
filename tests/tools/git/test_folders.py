"""Private folders that a killed process has left behind are removed by the next one, and no others."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rightcall.base.files.sight import Sight
from rightcall.tools.git import repository as folders
from rightcall.tools.git.refs import commit_of
from rightcall.tools.git.repository import PrivateFolder, repository_for, sweep
from rightcall.tools.git.run import Private, write_graph
from support.repositories import Made, made

pytestmark = pytest.mark.promise("C-08", "C-09")

_MAKER = """
import os, sys
from rightcall.tools.git.run import write_graph
from rightcall.tools.git.run import Private
from rightcall.tools.git.repository import repository_for
from rightcall.base.files.sight import Sight
private = Private(repository_for(Sight(sys.argv[1])))
if sys.argv[2:]:
    begun, tell = os.pipe()
    if os.fork() == 0:
        os.write(tell, b"x")
        os.read(int(sys.argv[2]), 1)
        os._exit(0)
    os.read(begun, 1)
print(private.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def it(tmp_path: Path) -> Made:
    repository = made(tmp_path / "r")
    repository.commit("one", a__py="1\n")
    return repository


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "place").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "place"))
    return tmp_path / "place"


@contextmanager
def somebody(it: Made, *more: str, fds: tuple[int, ...] = ()) -> "Iterator[tuple[subprocess.Popen[str], Path]]":
    """A process that has made a private folder and lives."""
    command = [sys.executable, "-c", _MAKER, str(it.folder), *more]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, pass_fds=fds
    )  # fmt: skip
    try:
        assert process.stdout
        yield process, Path(process.stdout.readline().rstrip("\n"))
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe
            pipe.close()


def left(it: Made) -> Path:
    """What a killed process leaves."""
    with somebody(it) as (process, folder):
        process.kill()
        process.wait()
    assert folder.is_dir()
    return folder


def aged(folder: Path, seconds: float = 120) -> Path:
    at = time.time() - seconds
    os.utime(folder, (at, at))
    return folder


def test_what_a_killed_process_left_goes_with_the_next_one(it: Made, place: Path) -> None:
    folder = aged(left(it))
    assert folder.parent == place
    with somebody(it) as (_, other):
        assert not folder.exists()
        assert other.exists()
    assert commit_of(repository_for(Sight(it.folder)), "HEAD") == it.git("rev-parse", "HEAD")  # no link was followed
    assert it.git("fsck") == ""


def test_what_was_left_a_moment_ago_stays(it: Made, place: Path) -> None:
    folder = left(it)
    sweep(str(place))
    assert folder.exists()
    sweep(str(aged(folder).parent))
    assert not folder.exists()


def test_the_folder_of_somebody_who_lives_stays_however_old_it_is(it: Made, place: Path) -> None:
    with somebody(it) as (_, folder):
        sweep(str(aged(folder, 1e6).parent))
        assert (folder / "config").exists()
    own = Private(repository_for(Sight(it.folder)))
    sweep(str(aged(Path(own.path), 1e6).parent))
    assert os.path.exists(own.path)


def test_a_child_does_not_keep_what_its_killed_parent_has_made(it: Made, place: Path) -> None:
    told, teller = os.pipe()
    try:
        with somebody(it, str(told), fds=(told,)) as (process, folder):
            process.kill()
            process.wait()
            sweep(str(aged(folder).parent))
            assert not folder.exists()
    finally:
        os.close(teller)
        os.close(told)


def test_the_lock_stays_with_the_parent_when_a_child_ends(it: Made, place: Path) -> None:
    own = PrivateFolder(str(place))
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    sweep(str(aged(Path(own.path), 1e6).parent))
    assert os.path.exists(own.path)


def test_without_a_lock_it_stays_for_an_hour(place: Path) -> None:
    (folder := place / ".rightcall-git-old").mkdir()
    sweep(str(aged(folder, 3_000).parent))
    assert folder.exists()
    sweep(str(aged(folder, 4_000).parent))
    assert not folder.exists()


def test_links_and_other_names_are_left_alone(place: Path, tmp_path: Path) -> None:
    (target := tmp_path / "precious").mkdir()
    (target / "file").write_text("x")
    (place / ".rightcall-git-link").symlink_to(target)
    (place / ".rightcall-git-file").write_text("x")
    (place / "else").mkdir()
    (inside := place / ".rightcall-git-odd").mkdir()
    (inside / ".lock").symlink_to(target / "file")
    for path in (target, place / "else", inside):
        aged(path, 1e6)
    before = sorted(place.iterdir())
    sweep(str(place))
    assert sorted(place.iterdir()) == before
    assert (target / "file").read_text() == "x"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_what_belongs_to_others_is_left_alone(place: Path) -> None:
    (folder := place / ".rightcall-git-theirs").mkdir()
    os.chown(folder, 12_345, -1)
    sweep(str(aged(folder, 1e6).parent))
    assert folder.exists()


def test_one_sweep_removes_some_dozens_at_most(place: Path) -> None:
    for number in range(40):
        (folder := place / f".rightcall-git-{number}").mkdir()
        aged(folder, 1e6)
    sweep(str(place))
    assert len(list(place.iterdir())) == 8


def test_several_can_sweep_at_once(place: Path) -> None:
    for number in range(20):
        (folder := place / f".rightcall-git-{number}").mkdir()
        (folder / ".lock").touch()
        aged(folder, 1e6)
    code = "import sys; from rightcall.tools.git.repository import sweep; sys.stdin.read(1); sweep(sys.argv[1])"
    command = [sys.executable, "-c", code, str(place)]
    sweepers = [subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
    for sweeper in sweepers:
        assert sweeper.stdin
        sweeper.stdin.write(b"x")
        sweeper.stdin.flush()
    assert [sweeper.communicate(timeout=30)[1] for sweeper in sweepers] == [b""] * 3
    assert list(place.iterdir()) == []


def test_a_folder_that_another_sweeper_has_is_left_to_it(place: Path) -> None:
    (folder := place / ".rightcall-git-1").mkdir()
    (folder / ".lock").touch()
    aged(folder, 1e6)
    opened = os.open(folder, os.O_RDONLY)
    taken = folders.free_lock(folders._LOCK, opened)
    assert taken is not None
    try:
        sweep(str(place))
        assert folder.exists()
    finally:
        os.close(taken)
        os.close(opened)
    sweep(str(place))
    assert not folder.exists()


def test_half_written_graphs_go_with_the_next_one(it: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    repository = repository_for(Sight(it.folder))
    graph = Path(write_graph(repository, 10).path)
    old, new = graph.parent / "tmpold", graph.parent / "tmpnew"
    for path in (old, new):
        path.write_text("half")
    aged(old, 4_000)
    write_graph(repository, 10)
    assert sorted(graph.parent.iterdir()) == [graph, new]
