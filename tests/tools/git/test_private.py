"""The private git directory: whose it is, what is in it, how long it lives."""

import gc
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from rightcall.base.files.rules import PathRules
from rightcall.base.files.sight import Sight
from rightcall.errors import ToolFailure
from rightcall.tools.git.refs import commit_of
from rightcall.tools.git.repository import Repository, repository_for
from rightcall.tools.git.run import Private, output_of, private_for, run_git
from support.repositories import Made, files_compared, made

pytestmark = pytest.mark.promise("C-08")


@pytest.fixture
def it(tmp_path: Path) -> Made:
    repository = made(tmp_path / "r")
    repository.commit("one", a__py="1\n")
    return repository


def of(it: Made) -> Repository:
    return repository_for(Sight(it.folder))


def test_it_is_ours_alone_and_outside_the_root(it: Made) -> None:
    private = Path(private_for(of(it)).path)
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert not private.is_relative_to(it.folder)
    assert PathRules().refuses(private.name) == "path:dotfile"


def test_where_the_temporary_folder_is_below_the_root_another_is_taken(
    it: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (it.folder / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(it.folder / "tmp"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert Path(Private(of(it)).path).parent == tmp_path.resolve()


def test_a_place_where_others_could_swap_it_is_not_used(
    it: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, mode in (("everybodys", 0o777), ("apart", 0o1777)):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(mode)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "everybodys"))
    assert tmp_path not in Path(Private(of(it)).path).parents
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "apart"))
    assert tmp_path in Path(Private(of(it)).path).parents


def test_where_there_is_no_room_the_next_place_is_tried(
    it: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = [str(tmp_path / "gone"), str(it.folder / "a.py"), str(tmp_path)]
    monkeypatch.setattr("rightcall.tools.git.run._places", lambda _: places)
    assert Path(Private(of(it)).path).parent == tmp_path
    monkeypatch.setattr("rightcall.tools.git.run._places", lambda _: places[:2])
    with pytest.raises(ToolFailure, match="no writable folder for temporary files"):
        Private(of(it))


def test_it_holds_nothing_of_the_repository_but_objects_refs_and_reflogs(it: Made) -> None:
    it.git("update-server-info")
    (it.git_dir / "info/grafts").write_text("x\n")
    (it.git_dir / "modules").mkdir()
    (it.git_dir / "objects/info/alternates").write_text("/nowhere\n")
    (it.git_dir / "description").write_text("x\n")
    it.git("pack-refs", "--all")
    kept = Private(of(it))
    private = Path(kept.path)
    links = {
        str(path.relative_to(private)): os.path.realpath(os.readlink(path))
        for path in private.rglob("*")
        if path.is_symlink()
    }
    git_dir = it.git_dir.resolve()
    assert {name for name in links if not name.startswith("objects/")} == {
        ".own/shallow",
        "logs/HEAD",
        "logs/refs",
        "packed-refs",
        "refs",
    }
    assert {name for name in links if name.startswith("objects/")} == {
        "objects/pack",
        *(f"objects/{number:02x}" for number in range(256)),
    }
    assert links.pop(".own/shallow") == str(git_dir / "shallow")
    assert links.pop("objects/info/commit-graph", "none") == "none"
    assert all(target == str(git_dir / name) for name, target in links.items())
    assert {
        str(path.relative_to(private)) for path in private.rglob("*") if path.is_file() and not path.is_symlink()
    } == {
        ".lock",
        "HEAD",
        "config",
    }


def test_it_is_used_again_until_something_changes_and_then_kept_up_to_date(it: Made) -> None:
    repository = of(it)
    first = private_for(repository)
    assert private_for(repository) is first
    new = it.commit("two", a__py="2\n")
    assert commit_of(repository, "HEAD") == new
    assert private_for(repository) is first
    it.git("checkout", "-q", "-b", "other")
    assert (Path(private_for(repository).path) / "HEAD").read_text() == "ref: refs/heads/other\n"
    it.git("gc", "-q", "--prune=now")
    assert commit_of(repository, "HEAD") == new
    assert output_of(run_git(repository, ["log", "--format=%s"], seconds=10, most=100)) == b"two\none\n"


def test_a_link_that_is_put_in_later_is_left_behind_too(it: Made, tmp_path: Path) -> None:
    victim = made(tmp_path / "victim")
    secret = victim.commit("secret", s__py="s\n")
    repository = of(it)
    assert commit_of(repository, "HEAD")
    for name in victim.git("rev-list", "--objects", "--all").splitlines():
        place = it.git_dir / "objects" / name[:2] / name.split()[0][2:]
        place.parent.mkdir(exist_ok=True)
        place.symlink_to(victim.git_dir / "objects" / name[:2] / name.split()[0][2:])
    (it.git_dir / "refs/heads/evil").symlink_to(victim.git_dir / "refs/heads/main")
    for ref in (secret, "evil"):
        with pytest.raises(ToolFailure, match="No such commit"):
            commit_of(repository, ref)
    assert commit_of(repository, "main")


def test_it_is_made_anew_when_somebody_has_tidied_up(it: Made) -> None:
    repository = of(it)
    first = private_for(repository).path
    shutil.rmtree(first)
    assert commit_of(repository, "HEAD")
    assert private_for(repository).path != first


def test_it_goes_when_nobody_uses_it(it: Made) -> None:
    private = Private(of(it))
    path = private.path
    assert os.path.exists(path)
    del private
    gc.collect()
    assert not os.path.exists(path)
    assert it.git("rev-parse", "HEAD")  # what it was linked to is still there


def test_a_process_keeps_only_a_few(tmp_path: Path) -> None:
    made(tmp_path / "r").commit("one", a__py="1\n")
    git_dir = str(tmp_path.resolve() / "r/.git")
    several = [Repository(git_dir, git_dir, f"f{number}", str(tmp_path)) for number in range(20)]
    paths = [private_for(repository).path for repository in several]
    gc.collect()
    assert [os.path.exists(path) for path in paths] == [False] * 4 + [True] * 16


_CHILD = """
import os, sys
from rightcall.base.files.sight import Sight
from rightcall.tools.git.run import private_for
from rightcall.tools.git.refs import commit_of
from rightcall.tools.git.repository import repository_for
repository = repository_for(Sight(sys.argv[1]))
own = private_for(repository).path
reader, writer = os.pipe()
child = os.fork()
if not child:
    theirs = private_for(repository).path
    assert commit_of(repository, "HEAD")
    os.write(writer, theirs.encode())
    sys.exit(0)
os.waitpid(child, 0)
theirs = os.read(reader, 4096).decode()
print(own, theirs, os.path.exists(own), os.path.exists(theirs), commit_of(repository, "HEAD"))
"""


def test_a_fork_has_its_own_and_leaves_the_others_alone(it: Made) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(it.folder)], capture_output=True, check=True, timeout=60, text=True
    )
    own, theirs, own_is_there, theirs_is_there, head = done.stdout.split()
    assert own != theirs
    assert (own_is_there, theirs_is_there) == ("True", "False")
    assert head == it.git("rev-parse", "HEAD")
    assert not os.path.exists(own)  # its process has ended


def test_many_threads_can_look_while_the_history_goes_on(it: Made) -> None:
    repository = of(it)
    known = {it.git("rev-parse", "HEAD")}
    seen: list[str] = []
    failed: list[BaseException] = []

    def look() -> None:
        try:
            seen.extend([commit_of(repository, "HEAD") for _ in range(12)])
        except BaseException as fault:  # noqa: BLE001 - shown below
            failed.append(fault)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(8):
        known.add(it.commit("more", a__py=f"{number}\n"))
    for thread in threads:
        thread.join()
    assert not failed
    assert len(seen) == 48
    assert set(seen) <= known
    assert commit_of(repository, "HEAD") == it.git("rev-parse", "HEAD")


def test_a_file_changed_in_the_same_moment_as_the_index_is_seen(it: Made) -> None:
    """The copy of the index must not look newer than the index, or git would believe it."""
    moment = 1_700_000_000
    for content in ("5\n", "6\n"):
        os.utime(it.write("a.py", content), (moment, moment))
        it.git("add", "a.py") if content == "5\n" else None
    os.utime(it.git_dir / "index", (moment, moment))
    repository = of(it)
    assert b"-1\n+6\n" in files_compared(repository, "HEAD")


def test_a_sparse_checkout_is_not_a_deletion(it: Made) -> None:
    it.write("in/x.py", "x\n")
    it.write("out/y.py", "y\n")
    it.commit("folders")
    it.git("sparse-checkout", "set", "--cone", "--sparse-index", "in")
    assert not (it.folder / "out").exists()
    repository = of(it)
    assert files_compared(repository, "--name-status", "HEAD") == b""
    it.write("in/x.py", "z\n")
    assert files_compared(repository, "--name-status", "HEAD") == b"M\tin/x.py\n"


def test_a_staged_file_is_part_of_the_working_tree(it: Made) -> None:
    repository = of(it)
    it.write("new.py", "n\n")
    assert files_compared(repository, "--name-status", "HEAD") == b""
    it.git("add", "-A")
    assert files_compared(repository, "--name-status", "HEAD") == b"A\tnew.py\n"
    it.git("rm", "-q", "--cached", "new.py")
    assert files_compared(repository, "--name-status", "HEAD") == b""


def test_a_damaged_head_is_said_in_plain_words(it: Made) -> None:
    repository = of(it)
    (it.git_dir / "HEAD").write_text("TOP-SECRET\n")
    with pytest.raises(ToolFailure, match="damaged: its HEAD names neither a branch nor a commit"):
        private_for(repository)
