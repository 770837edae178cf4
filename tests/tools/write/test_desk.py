"""Changes at a desk: whole or not at all, one process at a time, rolled back after a crash, believed only at home."""

import errno
import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import rightcall.base.files.write as writing
import rightcall.tools.write.desk as keeping
from rightcall.errors import ToolFailure
from rightcall.tools.write.changes import FileStep, Moved
from rightcall.tools.write.desk import Desk, adopt, hold_lock
from support.killing_writes import desk_of, every_step, files_of, leftovers

pytestmark = pytest.mark.promise("W-05")


@pytest.fixture(autouse=True)
def no_hook() -> Iterator[None]:
    yield
    writing.hook = None


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "b.txt").write_text("old b")
    return tmp_path


def some(root: Path) -> list[FileStep]:
    tree = str(root)
    return [
        FileStep(tree, "a.txt", b"old", b"new"),
        FileStep(tree, "x/y/c.txt", None, b"new c"),
        FileStep(tree, "b.txt", b"old b", None),
    ]


def apply(desk: Desk, files: list[FileStep], summary: str = "a change") -> str:
    with desk.working() as worker:
        return worker.apply(tool="file/save", caller="ada", summary=summary, files=files).id


def test_a_change_is_done_and_kept_with_what_was_there(root: Path) -> None:
    desk = desk_of(root)
    assert desk.changes() == []
    assert not os.path.lexists(desk.folder)  # looking makes nothing
    made = apply(desk, some(root), "first\nline \ud800")
    assert files_of(root) == {"a.txt": b"new", "x/y/c.txt": b"new c"}
    (listed,) = desk.changes()
    kept = desk.change(made)
    assert (kept.id, kept.tool, kept.caller) == (made, "file/save", "ada")
    assert (kept.summary, kept.status) == ("first line ?", "done")
    assert [(one.path, one.before, one.after) for one in kept.files] == [
        ("a.txt", b"old", b"new"), ("x/y/c.txt", None, b"new c"), ("b.txt", b"old b", None)
    ]  # fmt: skip
    assert [(one.path, one.before, one.after) for one in listed.files] == [
        ("a.txt", b"", b""), ("x/y/c.txt", None, b""), ("b.txt", b"", None)
    ]  # fmt: skip
    assert oct(os.stat(desk.folder).st_mode & 0o777) == "0o700"
    assert leftovers(root) == []


def test_a_step_onto_something_else_refuses_the_whole_change(root: Path) -> None:
    (root / "b.txt").write_text("by hand")
    with pytest.raises(Moved, match=r"b\.txt was changed since then; nothing was changed"):
        apply(desk_of(root), some(root))
    assert files_of(root) == {"a.txt": b"old", "b.txt": b"by hand"}
    assert (leftovers(root), desk_of(root).changes()) == ([], [])


def test_a_disk_that_fails_at_any_step_leaves_everything_as_it_was(root: Path) -> None:
    desk = desk_of(root)
    names: list[str] = []
    with desk.working() as worker:
        writing.hook = names.append
        done = worker.apply(tool="file/save", caller="ada", summary="s", files=some(root))
        writing.hook = None
        worker.undo(done.id, by="ada")
    assert names[-1] == "done"
    for at in range(len(names) - 1):
        left = [at]

        def fail(_: str, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] == -1:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with desk.working() as worker:
            writing.hook = fail
            with pytest.raises(ToolFailure, match=r"cannot be written: the disk is full\. Nothing was changed"):
                worker.apply(tool="file/save", caller="ada", summary="s", files=some(root))
            writing.hook = None
        assert files_of(root) == {"a.txt": b"old", "b.txt": b"old b"}, names[at]
        assert not (root / "x").exists()
        assert leftovers(root) == []


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (("a.txt", b"old", b"1", "a.txt", b"old", b"2"), "a.txt is named twice in one change"),
        (("../up", None, b"1"), "not a plain relative path"),
        (("a.txt/below", None, b"1"), "a file is in the way"),
        (("x" * 300, None, b"1"), "its name is too long"),
        (("caf\udce9.txt", None, b"1"), "has a name that is not text"),
    ],
)
def test_what_cannot_be_written_is_said_before_anything_is_touched(root: Path, step: tuple[str, ...], why: str) -> None:
    steps = [FileStep(str(root), *step[at : at + 3]) for at in range(0, len(step), 3)]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ToolFailure, match=why):
        apply(desk_of(root), [FileStep(str(root), "z/new.txt", None, b"z"), *steps])
    assert files_of(root) == {"a.txt": b"old", "b.txt": b"old b"}
    assert not (root / "z").exists()


def test_a_process_that_waits_too_long_for_the_other_is_told(root: Path) -> None:
    desk = desk_of(root)
    apply(desk, [])
    told = r"Another process has been writing for more than 0\.03 seconds"
    with hold_lock(desk.folder, 1), pytest.raises(ToolFailure, match=told), desk.working(patience=0.03):
        pass
    with desk.working(patience=0):
        pass


@pytest.mark.long
@pytest.mark.parametrize("name", ["save", "create"])
def test_a_kill_at_any_step_leaves_the_old_or_the_new(name: str) -> None:
    faults, ends, steps = every_step(name, random.Random(1))
    assert faults == []
    assert steps >= 15
    assert ends == {"old": steps - 1, "new": 1}  # the last step is: it is done


def interrupted(root: Path) -> Desk:
    """A desk at which a change was begun, done, and not ended."""
    desk = desk_of(root)

    class Killed(BaseException):
        pass

    def kill(step: str) -> None:
        if step == "refs":
            shutil.copytree(desk.folder, root / "kept", symlinks=True)
            raise Killed

    with desk.working() as worker:
        writing.hook = kill
        with pytest.raises(Killed):
            worker.apply(tool="file/save", caller="ada", summary="half done", files=some(root))
        writing.hook = None
    (begun,) = (root / "kept" / "begun").iterdir()
    begun.rename(Path(desk.folder, "begun", begun.name))  # as if it had not been rolled back
    shutil.rmtree(root / "kept")
    (root / "a.txt").write_text("new")
    (root / "b.txt").unlink()
    (root / "x" / "y").mkdir(parents=True)
    (root / "x" / "y" / "c.txt").write_text("new c")
    return desk


def test_the_next_to_write_rolls_back_what_was_interrupted_and_says_so(root: Path) -> None:
    desk = interrupted(root)
    with desk.working() as worker:
        (note,) = worker.notes
    assert note.endswith("(half done) was interrupted and was taken back")
    assert files_of(root) == {"a.txt": b"old", "b.txt": b"old b"}
    assert not (root / "x").exists()
    assert leftovers(root) == []
    with desk.working() as worker:
        assert worker.notes == ()


def test_what_somebody_has_changed_since_the_crash_stays_and_is_said(root: Path) -> None:
    desk = interrupted(root)
    (root / "a.txt").write_text("by hand")
    (root / "x" / "mine.txt").write_text("mine")
    with desk.working() as worker:
        assert worker.notes[1:] == ("a.txt was changed by somebody else; it was left so",)
    assert files_of(root) == {"a.txt": b"by hand", "b.txt": b"old b", "x/mine.txt": b"mine"}


def test_a_rollback_that_fails_is_tried_again_before_anything_else_is_written(root: Path) -> None:
    desk = interrupted(root)

    def full(step: str) -> None:
        if step == "filled":
            raise OSError(errno.ENOSPC, "full")

    writing.hook = full
    told = r"cannot be taken back yet: .*the disk is full.*Nothing is written until it is"
    with pytest.raises(ToolFailure, match=told), desk.working():
        pass
    writing.hook = None
    with desk.working():
        assert files_of(root) == {"a.txt": b"old", "b.txt": b"old b"}


# A desk that came along with the files


def test_a_desk_that_was_copied_here_is_not_believed(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    interrupted(root)
    copy = tmp_path_factory.mktemp("copies") / "copy"
    shutil.copytree(root, copy)
    desk = desk_of(copy)
    with pytest.raises(ToolFailure, match=r"was made elsewhere and copied here.*rightcall undo --adopt"):
        apply(desk, [])
    assert desk.changes() == []
    with pytest.raises(ToolFailure, match="was made elsewhere"):
        desk.documents("branches")
    adopt(desk.folder)
    with desk.working() as worker:  # even then nothing is done by itself
        (note,) = worker.notes
    assert "was begun elsewhere; it was set aside, and nothing was done about it" in note
    assert (copy / "a.txt").read_text() == "new"


def test_a_desk_that_is_a_link_is_not_used(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (root / ".rightcall").mkdir()
    (root / ".rightcall" / "desk").symlink_to(elsewhere)
    with pytest.raises(ToolFailure, match="is a link, and links are not followed"):
        apply(desk_of(root), [])
    assert os.listdir(elsewhere) == []


# Documents, and what is kept


def test_documents_are_files_that_no_name_leads_out_of(root: Path) -> None:
    desk = desk_of(root)
    names = ["fix/login", "..", "a.b", "ä", "%2E"]
    for name in names:
        with desk.working() as worker:
            step = desk.document_step("branches", name, name.encode())
            worker.apply(tool="t", caller="ada", summary="s", files=[step])
    assert desk.documents("branches") == sorted(names)
    assert [desk.document("branches", name) for name in names] == [name.encode() for name in names]
    assert len(os.listdir(os.path.join(desk.folder, "branches"))) == len(names)
    assert desk.document("branches", "none") is None
    with pytest.raises(ToolFailure, match="too long a name"):
        desk.document("branches", "x" * 300)


def test_the_oldest_changes_lose_their_contents_first(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "MOST_CHANGES", 3)
    monkeypatch.setattr(keeping, "MOST_RECORDS", 5)
    monkeypatch.setattr(keeping, "_EVERY", 1)
    desk = desk_of(root)
    content = b"old"
    for number in range(7):
        apply(desk, [FileStep(str(root), "a.txt", content, content := b"%d" % number)])
    assert [one.kept for one in desk.changes()] == [True, True, True, False, False]
    oldest = desk.changes()[-1].id
    with desk.working() as worker, pytest.raises(ToolFailure, match=f"{oldest} cannot be undone: .* no longer kept"):
        worker.undo(oldest, by="anna")
    monkeypatch.setattr(keeping, "MOST_BYTES", 10)
    apply(desk, [FileStep(str(root), "big.txt", None, b"x" * 100)])
    assert [one.kept for one in desk.changes()][:3] == [True, False, False]


def test_a_folder_that_an_ordinary_user_may_not_write_is_said_and_nothing_is_left() -> None:
    """In a process of its own, since the tests may run as the superuser, who may write everywhere."""
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are private
        root = Path(name, "root")
        (root / "closed").mkdir(parents=True)
        (root / "closed" / "a.txt").write_text("old")
        for folder, mode in ((root / "closed", 0o555), (root, 0o777), (Path(name), 0o755)):
            folder.chmod(mode)
        said = Path(name, "root", "said.txt")
        process = os.fork()
        if process == 0:
            try:
                if os.getuid() == 0:
                    os.setgroups([])
                    os.setresgid(65534, 65534, 65534)
                    os.setresuid(65534, 65534, 65534)
                for step in (("closed/a.txt", b"old", b"new"), ("closed/new/b.txt", None, b"new")):
                    try:
                        apply(desk_of(root), [FileStep(str(root), *step)])
                    except ToolFailure as error:
                        with open(said, "a") as file:
                            file.write(f"{error}\n")
            finally:
                os._exit(0)
        os.waitpid(process, 0)
        assert said.read_text() == (
            "closed/a.txt cannot be written: permission denied. Nothing was changed\n"
            "closed/new cannot be written: permission denied. Nothing was changed\n"
        )
        assert files_of(root) == {"closed/a.txt": b"old", "said.txt": said.read_bytes()}
        assert leftovers(root) == []
        (root / "closed").chmod(0o755)


def test_what_the_system_says_of_a_folder_that_was_swapped_is_told_without_its_numbers(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    desk, elsewhere = desk_of(root), tmp_path_factory.mktemp("elsewhere")
    made = apply(desk, [FileStep(str(root), "x/y/c.txt", None, b"c")])

    def swap(step: str) -> None:
        if step == "refs" and not (root / "x").is_symlink():
            (root / "x").rename(elsewhere / "x")
            (root / "x").symlink_to(elsewhere)
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))

    writing.hook = swap
    with pytest.raises(ToolFailure, match="cannot be taken back at this moment") as caught, desk.working() as worker:
        worker.undo(made, by="anna")
    with pytest.raises(ToolFailure, match=r"taken back yet: .*links are not followed") as again, desk.working():
        pass
    assert "Errno" not in f"{caught.value} {again.value}"


def test_a_desk_that_cannot_be_believed_is_not_taken_for_an_empty_one(root: Path) -> None:
    desk = desk_of(root)
    assert (desk.document("pulls", "1"), desk.documents("pulls")) == (None, [])
    apply(desk, some(root))
    os.unlink(os.path.join(desk.folder, "seal.json"))
    for look in (lambda: desk.document("pulls", "1"), lambda: desk.documents("pulls"), lambda: desk.filed("c-1")):
        with pytest.raises(ToolFailure, match="rightcall undo --adopt"):
            look()
