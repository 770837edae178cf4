"""`rightcall undo`: the last changes, what taking one back would change, and taking it back."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from rightcall import Executor, SqliteStore
from rightcall.record.tables import NoteBody, read_note
from support.cli import Runner, Terminal, write_trusted

pytestmark = pytest.mark.promise("W-05")

POLICY = '[policy]\nstage = "full"\nwrite = "allow"\nexecute = "allow"\n[callers.ada]\n'


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_trusted(tmp_path / "rightcall.toml", POLICY)
    (tmp_path / "experimental").mkdir()
    (tmp_path / "experimental" / "a.md").write_text("one\n")
    return tmp_path


def save(root: Path, content: str) -> str:
    with Executor.open_sync(root, root / "rightcall.toml") as executor:
        call: dict[str, Any] = {"path": "experimental/a.md", "content": content}
        return executor.run({"name": "file/save", "arguments": call}, "ada").result["change"]


def notes(root: Path) -> list[NoteBody]:
    store = SqliteStore(root / ".rightcall" / "audit.db")
    try:
        return [read_note(one.body) for one in store.look(lambda tables: list(tables.newest(9, ("change",))))]
    finally:
        store.close()


def test_the_last_changes_are_listed_with_whether_they_can_be_undone(run: Runner, root: Path) -> None:
    assert run("undo").out == "Nothing was changed yet.\n"
    assert not (root / ".rightcall").exists()
    first, second = save(root, "two\n"), save(root, "three\n")
    done = run("undo", columns=200)
    header, *lines = done.out.splitlines()
    assert header.split("  ")[0] == "id"
    assert lines[0].startswith(second)
    assert lines[0].endswith("ada  save experimental/a.md  yes")
    assert lines[1].startswith(first)
    assert lines[1].endswith("no")
    assert lines[2] == f"{first}: {second} has changed experimental/a.md since (ada: save experimental/a.md)"
    listed = run("undo", "--json").json["changes"]
    assert [(one["id"], one["canUndo"], one["files"]) for one in listed] == [
        (second, True, ["experimental/a.md"]), (first, False, ["experimental/a.md"])
    ]  # fmt: skip
    assert len(run("undo", "--json", "--limit", "1").json["changes"]) == 1


@pytest.mark.promise("A-01")
def test_a_change_is_undone_and_recorded_with_who_did_it(run: Runner, root: Path) -> None:
    made = save(root, "two\n")
    done = run("undo", made, "--yes", "--by", "anna", "--json")
    assert (done.code, done.json["undone"], done.json["ok"]) == (0, made, True)
    assert done.json["diff"].endswith("@@ -1 +1 @@\n-two\n+one")
    assert (root / "experimental" / "a.md").read_text() == "one\n"
    (note,) = notes(root)
    assert (note.what, note.by) == ("undo", "anna")
    again = run("undo", done.json["change"], "--yes", "--by", "anna")
    assert again.out.startswith(f"{done.json['change']} is undone. To redo it, run `rightcall undo c-")
    assert (root / "experimental" / "a.md").read_text() == "two\n"


def test_what_cannot_be_undone_is_said_with_its_reason(run: Runner, root: Path) -> None:
    made = save(root, "two\n")
    (root / "experimental" / "a.md").write_text("by hand\n")
    done = run("undo", made, "--yes")
    assert (done.code, done.out) == (1, f"{made} cannot be undone: experimental/a.md was changed by hand since.\n")
    assert run("undo", made, "--yes", "--json").json["why"] == "experimental/a.md was changed by hand since"
    assert (root / "experimental" / "a.md").read_text() == "by hand\n"
    assert notes(root) == []


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("ID",), "cannot prompt without a terminal; pass `--yes` to undo ID"),
        (("c-00000000", "--yes"), "Unknown change c-00000000; `rightcall undo` lists the last ones"),
        (("ID", "--yes", "--by", "ada"), "'ada' is a caller of the policy, or looks like one; a person has to decide"),
        (("--adopt", "--root", "elsewhere"), "no such folder"),
        (("--limit", "0"), "invalid number of changes '0': expected 1 or more"),
    ],
)
def test_wrong_usage_is_explained_and_changes_nothing(
    run: Runner, root: Path, arguments: tuple[str, ...], why: str
) -> None:
    made = save(root, "two\n")
    done = run("undo", *(one.replace("ID", made) for one in arguments))
    assert done.code == 2
    assert why.replace("ID", made) in done.err
    assert (root / "experimental" / "a.md").read_text() == "two\n"


def test_at_a_terminal_the_diff_is_shown_and_a_person_decides(root: Path) -> None:
    made = save(root, "two\n")
    for answer, expected in (("n", "two\n"), ("y", "one\n")):
        with Terminal("undo", made, "--root", str(root)) as terminal:
            shown = terminal.until("undo it? [y/N] ")
            assert "--- a/experimental/a.md\r\n+++ b/experimental/a.md\r\n@@ -1 +1 @@\r\n-two\r\n+one\r\n" in shown
            terminal.type(f"{answer}\n")
            code, _ = terminal.end()
        assert code == (0 if answer == "y" else 1)
        assert (root / "experimental" / "a.md").read_text() == expected


@pytest.mark.promise("P-06", "A-07")
def test_what_an_undo_would_write_hides_nothing(root: Path) -> None:
    (root / "experimental" / "a.md").write_text("\u3164\u2800\u034f\ufe0f\u202e \\u202e\t|\n")
    made = save(root, "two\n")
    with Terminal("undo", made, "--root", str(root)) as terminal:
        shown = terminal.until("undo it? [y/N] ")
    assert "-two\r\n+\\u3164\\u2800\\u034f\\ufe0f\\u202e \\\\u202e\\t|\r\n" in shown


def test_a_desk_from_elsewhere_is_taken_over_by_a_person_only(run: Runner, root: Path) -> None:
    made = save(root, "two\n")
    copy = root.with_name(root.name + "-copy")
    shutil.copytree(root, copy)
    listed = run("undo", "--root", str(copy))
    assert listed.code == 2
    assert "was made elsewhere and copied here" in listed.err
    assert run("undo", made, "--yes", "--root", str(copy)).code == 2
    assert run("undo", "--adopt", "--root", str(copy), "--by", "anna").code == 0
    assert [(one.what, one.by) for one in notes(copy)] == [("desk adopted", "anna")]
    listed = run("undo", "--json", "--root", str(copy))
    (found,) = listed.json["changes"]
    assert (found["id"], found["why"]) == (made, f"it was made in {root}, and can be undone only there (--root)")
    assert (root / "experimental" / "a.md").read_text() == "two\n"


@pytest.mark.parametrize(
    "command",
    [("undo",), ("undo", "c-00000000", "--yes"), ("undo", "--adopt"), ("pr", "list"), ("pr", "comment", "1", "x")],
)
def test_a_desk_that_cannot_be_read_does_not_look_like_an_empty_one(
    run: Runner, root: Path, command: tuple[str, ...]
) -> None:
    (root / ".rightcall").symlink_to(".rightcall")  # as good as a folder of somebody else, also for root
    done = run(*command)
    assert (done.code, done.out) == (2, "")
    assert "cannot be read: too many levels of symbolic links" in done.err


def test_what_is_damaged_is_listed_with_where_it_is_kept(run: Runner, root: Path) -> None:
    kept = root / ".rightcall/desk/damaged/c-00000001-ab"
    save(root, "two\n")
    kept.mkdir(parents=True)
    told = run("undo").out.splitlines()
    assert told[-2:] == ["Interrupted, damaged and not taken back; what is left of each:", f"  {kept}"]
    assert run("undo", "--json").json["damaged"] == [str(kept)]
