"""Commit graphs of our own: outside the repository, believed only if ours, never wrong."""

import os
import stat
from pathlib import Path

import pytest

from rightcall.base.files.sight import Sight
from rightcall.errors import ToolFailure
from rightcall.tools.git.layout import graph_file, graph_folder
from rightcall.tools.git.refs import commit_of
from rightcall.tools.git.repository import Repository, repository_for
from rightcall.tools.git.run import Private, output_of, private_for, run_git, write_graph
from support.repositories import Made, made

pytestmark = pytest.mark.promise("C-09")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def it(tmp_path: Path) -> Made:
    repository = made(tmp_path / "r")
    for number in range(4):
        repository.commit(f"number {number}", a__py=f"{number}\n")
    return repository


def of(it: Made) -> Repository:
    return repository_for(Sight(it.folder))


def linked(repository: Repository) -> bool:
    return os.path.exists(os.path.join(private_for(repository).path, "objects/info/commit-graph"))


def log(repository: Repository, *more: str) -> list[str]:
    return output_of(run_git(repository, ["log", "--format=%H", *more], seconds=10, most=99_999)).decode().split()


def test_a_graph_is_written_outside_the_repository_and_used_at_once(it: Made, cache: Path) -> None:
    repository = of(it)
    assert not linked(repository)
    before = sorted(it.git_dir.rglob("*"))
    heard: list[str] = []
    report = write_graph(repository, 10, heard.append)
    assert (report.commits, report.path, heard) == (
        4,
        graph_file(repository),
        ["reading the history", "writing the graph"],
    )
    assert report.bytes == os.path.getsize(report.path)
    assert Path(graph_folder(repository)).parent == cache / "rightcall/graphs"
    assert stat.S_IMODE(os.stat(report.path).st_mode) == 0o600
    assert sorted(it.git_dir.rglob("*")) == before
    assert linked(repository)
    assert run_git(repository, ["commit-graph", "verify"], seconds=10, most=99).code == 0
    assert log(repository, "--", "a.py") == it.git("log", "--format=%H", "--", "a.py").split()


def test_a_graph_of_a_rewritten_history_gives_no_wrong_answer(it: Made) -> None:
    repository = of(it)
    write_graph(repository, 10)
    old = it.git("rev-parse", "HEAD")
    it.git("reset", "-q", "--hard", "HEAD~2")
    new = it.commit("another", b__py="b\n")
    it.git("reflog", "expire", "--expire=now", "--all")
    it.git("update-ref", "-d", "ORIG_HEAD")
    it.git("gc", "-q", "--prune=now")
    assert linked(repository)
    assert log(repository) == it.git("log", "--format=%H").split()
    assert log(repository, "--", "a.py") == it.git("log", "--format=%H", "--", "a.py").split()
    assert log(repository, "--", "b.py") == [new]
    with pytest.raises(ToolFailure, match="No such commit"):
        commit_of(repository, old)
    assert write_graph(repository, 10).commits == 3
    assert log(repository) == it.git("log", "--format=%H").split()


def test_a_graph_is_no_help_to_a_shallow_history_and_no_harm(it: Made, tmp_path: Path) -> None:
    write_graph(of(it), 10)
    it.git("clone", "-q", "--depth=2", f"file://{it.folder}", str(tmp_path / "shallow"))
    shallow = repository_for(Sight(tmp_path / "shallow"))
    report = write_graph(shallow, 10)
    assert (report.commits, report.path) == (0, "")
    assert len(log(shallow)) == 2
    (it.git_dir / "shallow").write_text(it.git("rev-parse", "HEAD~1") + "\n")
    assert len(log(of(it))) == 2


def test_a_graph_that_somebody_else_could_have_written_is_not_believed(it: Made) -> None:
    repository = of(it)
    path = Path(write_graph(repository, 10).path)
    assert linked(repository)
    path.chmod(0o622)
    assert not linked(repository)
    path.chmod(0o600)
    assert linked(repository)
    path.parent.parent.chmod(0o777)
    fresh = Private(repository)
    assert os.listdir(os.path.join(fresh.path, "objects/info")) == []
    path.parent.parent.chmod(0o700)
    path.rename(path.parent / "elsewhere")
    path.symlink_to(path.parent / "elsewhere")
    assert not linked(repository)


def test_another_repository_in_the_same_place_has_no_graph(it: Made) -> None:
    write_graph(of(it), 10)
    first = graph_folder(of(it))
    (it.git_dir / "objects").rename(it.git_dir / "objects-before")
    (it.git_dir / "objects").mkdir()
    assert graph_folder(of(it)) != first


def test_a_damaged_graph_is_no_reason_to_fail(it: Made) -> None:
    repository = of(it)
    path = Path(write_graph(repository, 10).path)
    path.write_bytes(path.read_bytes()[:50])
    assert len(log(repository)) == 4
    path.write_bytes(b"no graph at all")
    assert len(log(repository)) == 4


def test_a_graph_that_takes_too_long_is_not_written(it: Made) -> None:
    with pytest.raises(ToolFailure, match="too long"):
        write_graph(of(it), 0.0)
    assert not os.path.exists(graph_file(of(it)))


def test_a_cache_that_cannot_be_written_is_said_in_plain_words(it: Made, cache: Path) -> None:
    cache.write_text("a file")
    with pytest.raises(ToolFailure, match="The graph cannot be written to"):
        write_graph(of(it), 10)


def test_an_empty_history_makes_no_graph(tmp_path: Path) -> None:
    made(tmp_path / "empty")
    assert write_graph(repository_for(Sight(tmp_path / "empty")), 10).commits == 0
