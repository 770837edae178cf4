"""`file/save`: below the folders that are meant for it, and exactly what was shown and approved."""

import os
from pathlib import Path
from typing import Any

import pytest

from rightcall import Executor
from rightcall.base.files.rules import path_rules
from rightcall.base.files.sight import Sight
from rightcall.errors import ToolFailure
from rightcall.executor.shipped import saving_tools
from rightcall.policy.settings import WriteSettings
from rightcall.tools.functions import LocalTool
from rightcall.tools.state import state_of
from rightcall.tools.write.changes import LARGEST, Moved
from rightcall.tools.write.desk import Desk

pytestmark = pytest.mark.promise("W-01")


class Saving:
    """A root, a folder outside it, and the tool as an executor has it."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.root, self.outside = folder / "root", folder / "outside"
        (self.root / "experimental").mkdir(parents=True)
        self.outside.mkdir()
        sight = Sight(self.root, path_rules(("private/**", "experimental/private/**"), (), ()))
        chosen = WriteSettings(folders=("experimental", str(self.outside)), **settings)
        self.desk = Desk(str(self.root / ".rightcall" / "desk"), sight, chosen)
        self.guarded = (str(self.outside / "audit.db"),)
        (self.tool,) = saving_tools(lambda: self.desk, chosen, self.guarded)

    def state(self, path: str, content: str = "") -> str:
        return state_of(self.tool, {"path": path, "content": content}, str(self.root))

    def preview(self, path: str, content: str) -> str:
        ask: Any = self.tool.preview
        return ask({"path": path, "content": content})

    def save(self, path: str, content: str = "new\n", expected: str | None = None) -> dict[str, Any]:
        told = self.state(path) if expected is None else expected
        return self.tool.function(path=path, content=content, caller="ada", expected=told)


@pytest.fixture
def here(tmp_path: Path) -> Saving:
    return Saving(tmp_path)


def test_a_file_is_shown_saved_and_can_be_taken_back(here: Saving) -> None:
    assert here.preview("experimental/a/b.md", "# New\n") == (
        "--- /dev/null\n+++ b/experimental/a/b.md\n@@ -0,0 +1 @@\n+# New"
    )
    assert not (here.root / "experimental" / "a").exists()
    assert not (here.root / ".rightcall").exists()  # to look at it makes nothing
    made = here.save("experimental/a/b.md", "# New\n")
    assert (here.root / "experimental" / "a" / "b.md").read_text() == "# New\n"
    (change,) = here.desk.changes()
    diff = "--- /dev/null\n+++ b/experimental/a/b.md\n@@ -0,0 +1 @@\n+# New"
    assert made == {
        "success": True, "path": "experimental/a/b.md", "bytes": 6, "created": True, "change": change.id,
        "undo": f"rightcall undo {change.id}", "diff": diff,
    }  # fmt: skip
    assert (change.caller, change.tool, change.summary) == ("ada", "file/save", "save experimental/a/b.md")
    again = here.save("./experimental//a/b.md", "# Newer\n")
    assert (again["created"], again["path"]) == (False, "experimental/a/b.md")


def test_what_is_so_already_is_no_change(here: Saving) -> None:
    here.save("experimental/a.md")
    same = here.save("experimental/a.md")
    assert (same["success"], same["change"], same["undo"]) == (True, "", "")
    assert same["diff"] == "experimental/a.md: no change"
    assert len(here.desk.changes()) == 1


def test_a_folder_outside_the_root_is_written_where_the_policy_names_it(here: Saving) -> None:
    whole = str(here.outside / "deep" / "a.md")
    assert here.preview(whole, "x\n").startswith(f"--- /dev/null\n+++ b{whole}\n")
    assert here.save(whole)["path"] == whole
    assert Path(whole).read_text() == "new\n"
    with here.desk.working() as worker:
        worker.undo(here.desk.changes()[0].id, by="anna")
    assert os.listdir(here.outside) == []


def test_a_whole_path_below_the_root_counts_from_the_root(here: Saving) -> None:
    assert here.save(str(here.root / "experimental" / "a.md"))["path"] == "experimental/a.md"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("src/app.py", "is not below experimental or {outside}, where file/save saves"),
        ("experimental", "experimental is the folder itself; name a file in it, such as experimental/notes.md"),
        ("experimentally/a.md", "is not below experimental"),
        ("{root}/src/app.py", "is not below experimental"),
        ("/etc/passwd", "is not below experimental"),
        ("{outside}", "is the folder itself"),
        ("{outside}-not/a.md", "is not below experimental"),
        ("experimental/../src/app.py", "is not a file path"),
        ("experimental/a/", "is not a file path"),
        ("", "is not a file path"),
        ("experimental/a\nb", "is not a file path"),
        ("experimental/" + "x" * 256, "is not a file path"),
        ("experimental/.env", "is a name that tools neither read nor write"),
        ("experimental/.bashrc", "is a name that tools neither read nor write"),
        ("experimental/key.pem", "is a name that tools neither read nor write"),
        ("experimental/private/a.md", "is a name that tools neither read nor write"),
        ("{outside}/.ssh/config", "is a name that tools neither read nor write"),
        ("{outside}/audit.db", "is a name that tools neither read nor write"),
        ("{outside}/audit.db-wal", "is a name that tools neither read nor write"),
        ("experimental/.GIT/config", "is not a file path"),
        ("experimental/repo.git/config", "a folder that is named as git's own are"),
        ("experimental/Repo.GIT /config", "has a name that ends with a blank or a dot"),
        ("experimental/a.", "has a name that ends with a blank or a dot"),
        ("{outside}/a /b", "has a name that ends with a blank or a dot"),
        ("experimental/.gitattributes", "is locked: no tool writes it"),
        ("{outside}/rightcall.toml", "is locked: no tool writes it"),
    ],
)
def test_other_places_are_refused_with_their_rule(here: Saving, path: str, why: str) -> None:
    places = {"root": str(here.root), "outside": str(here.outside)}
    with pytest.raises(ToolFailure, match=r"^path: ") as caught:
        here.save(path.format(**places))
    assert why.format(**places) in str(caught.value)
    assert [*here.root.rglob("*"), *here.outside.rglob("*")] == [here.root / "experimental"]


def test_a_root_that_lies_below_a_folder_of_the_policy_is_judged_by_its_own_folders(tmp_path: Path) -> None:
    here = Saving(tmp_path)
    outer = WriteSettings(folders=("experimental", str(tmp_path)))
    (tool,) = saving_tools(lambda: Desk(here.desk.folder, here.desk.sight, outer), outer)
    here.tool = tool
    (tmp_path / "alias").symlink_to(tmp_path)
    for path in (f"{tmp_path}/root/src.py", f"{tmp_path}/root/.rightcall/desk/lock"):
        with pytest.raises(ToolFailure, match=r"is not below experimental or|neither read nor write"):
            here.save(path)
    with pytest.raises(ToolFailure, match="a folder of its path is a link"):
        here.save(f"{tmp_path}/alias/root/src.py")
    alias = WriteSettings(folders=(str(tmp_path / "alias"),))
    (tool,) = saving_tools(lambda: Desk(here.desk.folder, here.desk.sight, alias), alias)
    here.tool = tool
    with pytest.raises(ToolFailure, match="is not below"):
        here.save(f"{tmp_path}/alias/root/src.py")
    assert here.save(f"{tmp_path}/alias/ok.md")["success"]
    assert not (here.root / "src.py").exists()


def test_no_link_leads_out_of_a_folder(here: Saving) -> None:
    (here.root / "src").mkdir()
    (here.root / "src" / "app.py").write_text("code")
    (here.root / "experimental" / "way").symlink_to("../src")
    (here.root / "experimental" / "file.py").symlink_to("../src/app.py")
    with pytest.raises(ToolFailure, match="a folder of its path is a link"):
        here.save("experimental/way/app.py")
    with pytest.raises(ToolFailure, match="is a link; only regular files are written"):
        here.save("experimental/file.py")
    assert (here.root / "src" / "app.py").read_text() == "code"


def test_nothing_is_written_into_a_repository_of_git_itself(here: Saving) -> None:
    for name in ("objects", "refs", "hooks"):
        (here.outside / "bare" / name).mkdir(parents=True)
    (here.outside / "bare" / "HEAD").write_text("ref: refs/heads/main\n")
    with pytest.raises(ToolFailure, match="a directory of git's own"):
        here.save(str(here.outside / "bare" / "hooks" / "post-commit"))


@pytest.mark.parametrize(
    "parts",
    [
        ("HEAD", "objects/x", "refs/x"), ("objects/x", "refs/x", "HEAD"), ("refs/x", "HEAD", "objects/x"),
        ("head", "Objects/x", "REFS/x"), ("HEAD", "commondir"), ("CommonDir", "HEAD"),
    ],
)  # fmt: skip
def test_no_repository_of_git_is_made_file_by_file(here: Saving, parts: tuple[str, ...]) -> None:
    *first, last = parts
    for name in ("config", *first):
        here.save(f"experimental/r/{name}")
    with pytest.raises(ToolFailure, match=r"^path: with this git would take experimental/r for a repository"):
        here.save(f"experimental/r/{last}")
    assert not (here.root / "experimental/r" / last).exists()


def test_an_undo_makes_no_repository_of_git_either(here: Saving) -> None:
    first = here.save("experimental/r/HEAD")["change"]
    with here.desk.working() as worker:
        gone = worker.undo(first, by="person").id
    here.save("experimental/r/objects/x")
    here.save("experimental/r/refs/x")
    with pytest.raises(ToolFailure, match="would take experimental/r for a repository"), here.desk.working() as worker:
        worker.undo(gone, by="person")
    assert not (here.root / "experimental/r/HEAD").exists()


def test_names_that_git_uses_are_no_harm_alone(here: Saving) -> None:
    for name in (
        "docs/config",
        "src/objects/a.py",
        "src/refs/x.md",
        "src/HEAD.md",
        "a/HEAD",
        "a/objects/b",
        "b/info/x",
    ):
        assert here.save(f"experimental/{name}")["created"]


@pytest.mark.parametrize(
    ("content", "why"),
    [("x" * (LARGEST + 1), "content: it has 5,000,001 bytes; at most 5,000,000 fit"), ("\ud800", "half a character")],
)
def test_content_that_no_file_shall_hold_is_refused(here: Saving, content: str, why: str) -> None:
    with pytest.raises(ToolFailure, match=why):
        here.save("experimental/a.md", content)


# What was approved is what is written


@pytest.mark.promise("W-05", "P-06")
def test_a_file_that_changed_since_it_was_shown_is_refused_with_the_new_diff(here: Saving) -> None:
    file = here.root / "experimental" / "a.md"
    file.write_text("one\n")
    shown = here.state("experimental/a.md")
    file.write_text("two\n")
    with pytest.raises(Moved) as caught:
        here.save("experimental/a.md", "new\n", shown)
    assert caught.value.diff.endswith("@@ -1 +1 @@\n-two\n+new")
    assert file.read_text() == "two\n"
    file.write_text("one\n")
    assert here.save("experimental/a.md", "new\n", shown)["success"]


@pytest.mark.promise("P-06")
def test_the_state_tells_content_and_kind_and_place_apart(here: Saving) -> None:
    file = here.root / "experimental" / "a.md"
    told = {here.state("experimental/a.md"), here.state("experimental/b.md")}
    for content in ("", "one"):
        file.write_text(content)
        told.add(here.state("experimental/a.md"))
    os.chmod(file, 0o755)
    told.add(here.state("experimental/a.md"))
    file.unlink()
    file.symlink_to("b.md")
    told |= {here.state("experimental/a.md"), here.state("experimental/a.md")}
    assert len(told) == 7  # a link is like nothing else, not even like itself


@pytest.mark.promise("P-05", "P-06", "W-05")
def test_an_approval_holds_for_the_file_as_it_was_shown(tmp_path: Path) -> None:
    (tmp_path / "experimental").mkdir()
    file = tmp_path / "experimental" / "a.md"
    file.write_text("one\n")
    policy = {"policy": {"stage": "full", "write": "ask", "execute": "ask"}}
    call = {"name": "file/save", "arguments": {"path": "experimental/a.md", "content": "new\n"}}
    with Executor.open_sync(tmp_path, policy) as executor:

        def approve() -> None:
            assert not executor.run(call, "ada").ok
            (asked,) = [one for one in executor.waiting() if one.status == "waiting"]
            executor.answer(asked.id, "approved", by="anna", digest=asked.digest)

        approve()
        file.write_text("two\n")
        assert not executor.run(call, "ada").ok
        assert file.read_text() == "two\n"
        file.write_text("one\n")
        assert executor.run(call, "ada").ok
        assert file.read_text() == "new\n"


@pytest.mark.promise("P-05")
def test_a_dry_run_shows_the_diff_and_changes_nothing(tmp_path: Path) -> None:
    with Executor.open_sync(tmp_path, {"policy": {"stage": "full"}}) as executor:
        call = {"name": "file/save", "arguments": {"path": "experimental/a.md", "content": "new\n"}}
        outcome = executor.run(call, "ada")
    assert "+new" in str(outcome.result)
    assert not (tmp_path / "experimental").exists()
    assert not (tmp_path / ".rightcall" / "desk").exists()


def test_the_folders_outside_are_told_to_whoever_judges_paths(here: Saving) -> None:
    tool: LocalTool = here.tool
    assert tool.outside == (str(here.outside),)


def test_only_paths_below_those_folders_pass_the_rules_for_paths(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    root.mkdir()
    (outside / "way").symlink_to(root)
    policy = {
        "policy": {"stage": "full", "write": "allow", "execute": "allow"},
        "write": {"folders": ["experimental", str(outside)]},
    }
    with Executor.open_sync(root, policy) as executor:

        def saves(path: str) -> tuple[bool, str]:
            outcome = executor.run({"name": "file/save", "arguments": {"path": path, "content": "x"}}, "ada")
            assert outcome.decision is not None
            return outcome.ok, outcome.decision.rule

        assert saves(f"{outside}/a.md")[0]
        assert saves(f"{outside}/id_rsa") == (False, "path:secret")
        assert saves(f"{tmp_path}/b.md") == (False, "path:outside")
        assert saves(f"{outside}/way/c.md")[0] is False
        read = executor.run({"name": "code/read", "arguments": {"path": f"{outside}/a.md"}}, "ada")
        assert read.decision is not None
        assert (read.ok, read.decision.rule) == (False, "path:outside")
    assert os.listdir(root) == [".rightcall"]
