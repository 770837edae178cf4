"""One piece that is damaged stops nobody else: it is set aside with all that is left of it, and is told."""

from pathlib import Path

import pytest

import rightcall.base.files.write as writing
from rightcall.errors import ToolFailure
from rightcall.tools.write.changes import FileStep
from rightcall.tools.write.desk import Desk
from support.desks import Place, insert, modify, place
from support.killing_writes import desk_of, files_of

pytestmark = pytest.mark.promise("W-05")


def apply(desk: Desk, root: Path, name: str) -> tuple[str, ...]:
    with desk.working() as worker:
        worker.apply(tool="file/save", caller="ada", summary="a", files=[FileStep(str(root), name, None, b"new")])
        return worker.notes


def interrupted(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A change of a.txt that was killed when its file was in place; its folder in the journal."""
    (root / "a.txt").write_text("old")
    desk = desk_of(root)

    def kill(name: str) -> None:
        if name == "file":
            monkeypatch.setattr("rightcall.tools.write.apply.roll_back", lambda *_: [])
            raise SystemExit

    monkeypatch.setattr(writing, "hook", kill)
    step = FileStep(str(root), "a.txt", b"old", b"new")
    with pytest.raises(SystemExit), desk.working() as worker:
        worker.apply(tool="file/save", caller="ada", summary="first", files=[step])
    monkeypatch.undo()
    (left,) = Path(desk.folder, "begun").iterdir()
    return left


@pytest.mark.parametrize("record", [b"garbage", b"\xff", None])
def test_a_begun_change_that_cannot_be_read_is_set_aside_and_told(tmp_path: Path, record: bytes | None) -> None:
    desk = desk_of(tmp_path)
    apply(desk, tmp_path, "first.txt")
    left = Path(desk.folder, "begun", "c-00000001")
    left.mkdir()
    (left / "contents").write_bytes(b"the only copy")
    if record is not None:
        (left / "change.json").write_bytes(record)
    (note,) = apply(desk, tmp_path, "second.txt")
    assert set(files_of(tmp_path)) == {"first.txt", "second.txt"}
    (kept,) = desk.damaged()
    assert Path(kept, "contents").read_bytes() == b"the only copy"
    assert note == f"c-00000001 was interrupted and its record is damaged: what it had done stays. It is kept in {kept}"
    assert apply(desk, tmp_path, "third.txt") == ()


def test_an_interrupted_change_whose_bytes_are_damaged_is_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = interrupted(tmp_path, monkeypatch)
    (left / "contents").write_bytes(b"0123456")
    desk = desk_of(tmp_path)
    notes = apply(desk, tmp_path, "b.txt")
    (kept,) = desk.damaged()
    assert "a.txt was left as it is" in notes[1]
    assert notes[2] == f"what was kept of it is in {kept}"
    assert files_of(tmp_path) == {"a.txt": b"new", "b.txt": b"new"}
    assert Path(kept, "contents").read_bytes() == b"0123456"


def test_a_change_begun_by_another_version_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = interrupted(tmp_path, monkeypatch)
    record = (left / "change.json").read_bytes()
    (left / "change.json").write_bytes(record.replace(b'"version":1', b'"version":2'))
    with pytest.raises(ToolFailure, match=r"of version 2, not 1.*has written it can go on with it"):
        apply(desk_of(tmp_path), tmp_path, "b.txt")
    (left / "change.json").write_bytes(record)
    apply(desk_of(tmp_path), tmp_path, "b.txt")
    assert files_of(tmp_path) == {"a.txt": b"old", "b.txt": b"new"}


@pytest.fixture
def here(tmp_path: Path) -> Place:
    here = place(tmp_path)
    here.branch()
    here.edit(modify("a.py", "2\n"))
    return here


def test_one_damaged_branch_stops_no_other(here: Place) -> None:
    (here.made.git_dir / "refs/heads/fix").write_text("garbage")
    here.branch("other")
    here.edit(insert("new.py", "x\n"))  # the only one that is open
    with pytest.raises(ToolFailure, match="The branch fix cannot be read: its ref is damaged"):
        here.edit(insert("new.py", "x\n"), branch="fix")
    assert (here.tree() / "a.py").read_text() == "2\n"


def test_the_files_of_a_branch_whose_record_is_damaged_stay_where_they_are(here: Place) -> None:
    tree = here.tree()
    (record,) = Path(here.desk.folder, "branches").iterdir()
    record.write_bytes(b"garbage")
    here.branch("other")
    here.edit(insert("new.py", "x\n"), branch="other")
    assert (tree / "a.py").read_text() == "2\n"
