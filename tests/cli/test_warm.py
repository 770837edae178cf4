"""`rightcall warm`: a commit graph outside the repository, and nothing else."""

import os
import signal
import sys
from pathlib import Path

import pytest

from support.cli import Runner, environment, start
from support.repositories import Made, ask_blame, ask_log, made

pytestmark = pytest.mark.promise("C-09")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Runner:
    return Runner(capsys, monkeypatch)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return made(tmp_path / "repo")


def looks(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.lstat().st_mtime_ns, path.lstat().st_size) for path in folder.rglob("*")}


def test_the_graph_is_written_to_the_cache_and_the_repository_stays_as_it_is(run: Runner, repository: Made) -> None:
    for number in range(3):
        repository.commit(f"{number}", a=f"{number}\n")
    before = looks(repository.folder)
    done = run("warm", "--root", str(repository.folder))
    assert (done.code, done.err) == (0, "")
    first, second, third = done.out.splitlines()
    assert first.startswith("✓ the history is warm: 3 commits in ")
    path = Path(second.removeprefix("  written to "))
    assert path.is_file()
    assert path.is_relative_to(repository.folder.parent / "cache" / "rightcall")
    assert third.endswith("the repository is unchanged")
    assert looks(repository.folder) == before
    assert [commit["message"] for commit in ask_log(repository.folder, path="a")["commits"]] == ["2", "1", "0"]
    assert ask_blame(repository.folder, path="a")["lines"][0]["commit"]["message"] == "2"


def test_what_was_written_comes_as_json(run: Runner, repository: Made) -> None:
    repository.commit("one", a="1\n")
    done = run("warm", "--root", str(repository.folder), "--json")
    assert done.json.keys() == {"commits", "seconds", "bytes", "path"}
    assert done.json["commits"] == 1
    assert done.json["bytes"] == Path(done.json["path"]).stat().st_size


def test_commits_that_came_later_are_found_all_the_same(run: Runner, repository: Made) -> None:
    repository.commit("one", a="1\n")
    assert run("warm", "--root", str(repository.folder)).code == 0
    repository.commit("two", a="2\n")
    assert [commit["message"] for commit in ask_log(repository.folder, path="a")["commits"]] == ["two", "one"]
    assert run("warm", "--root", str(repository.folder), "--json").json["commits"] == 2


def test_an_empty_history_has_nothing_to_make_faster(run: Runner, repository: Made) -> None:
    done = run("warm", "--root", str(repository.folder))
    assert (done.code, done.out[:22]) == (0, "Nothing to make faster")
    assert not (repository.folder.parent / "cache").exists()


def test_without_a_repository_or_a_folder_that_is_what_is_said(run: Runner, tmp_path: Path) -> None:
    done = run("warm", "--root", str(tmp_path))
    assert (done.code, done.out) == (2, "")
    assert done.err == "error: No git repository at the root\n"
    done = run("warm", "--root", str(tmp_path / "nope"))
    assert (done.code, done.out) == (2, "")
    assert "is not a folder" in done.err


def test_without_git_that_is_what_is_said(repository: Made, tmp_path: Path) -> None:
    repository.commit("one", a="1\n")
    (tmp_path / "bin").mkdir()
    process = start("warm", "--root", str(repository.folder), PATH=str(tmp_path / "bin"))
    out, err = process.communicate()
    assert (process.returncode, out) == (2, b"")
    assert b"git is not installed" in err


def test_an_interruption_leaves_nothing_behind(repository: Made, tmp_path: Path) -> None:
    """A git that says when it has begun, and never ends."""
    repository.commit("one", a="1\n")
    for name in ("bin", "tmp"):
        (tmp_path / name).mkdir()
    os.mkfifo(tmp_path / "begun")
    program = tmp_path / "bin" / "git"
    program.write_text(
        f"#!{sys.executable}\nimport time\nopen({str(tmp_path / 'begun')!r}, 'w').write('x')\ntime.sleep(99)\n"
    )
    program.chmod(0o755)
    path = f"{tmp_path / 'bin'}:{environment()['PATH']}"
    process = start("warm", "--root", str(repository.folder), PATH=path, TMPDIR=str(tmp_path / "tmp"))
    try:
        assert (tmp_path / "begun").read_text() == "x"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, out, err) == (130, b"", b"")
    assert list((tmp_path / "tmp").iterdir()) == []
    assert not (tmp_path / "cache").exists()
