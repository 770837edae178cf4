"""A folder that somebody swaps for a link while a tool writes: nothing is written beyond it."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import rightcall.base.files.write as writing
import rightcall.tools.write.plumbing as git_module
from rightcall.errors import ToolFailure
from rightcall.tools.git.layout import Pins
from rightcall.tools.git.repository import Repository
from rightcall.tools.git.run import only_in
from rightcall.tools.sandbox.inside import kernel
from rightcall.tools.write.changes import FileStep
from support.desks import Place, modify, place
from support.killing_writes import desk_of

pytestmark = pytest.mark.promise("W-01", "W-02")


@pytest.fixture
def here(tmp_path: Path) -> Place:
    return place(tmp_path / "here")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    return tmp_path / "outside"


def swap(folder: Path, target: Path) -> None:
    folder.rename(folder.with_name("aside"))
    folder.symlink_to(target)


def at(name: str, act: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Do it once, when that step is reached."""

    def hook(reached: str) -> None:
        if reached == name:
            monkeypatch.setattr(writing, "hook", None)
            act()

    monkeypatch.setattr(writing, "hook", hook)


def test_a_worktree_is_not_written_through_a_link_in_its_place(
    here: Place, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.branch()
    here.edit(modify("b.py", "x\n"))
    (outside / "a.py").write_text("1\n")
    tree = here.tree()
    at("begun", lambda: swap(tree, outside), monkeypatch)
    with pytest.raises(ToolFailure, match=r"a\.py cannot be written: a folder of its path is a link"):
        here.edit(modify("a.py", "2\n"))
    assert (outside / "a.py").read_text() == "1\n"
    with pytest.raises(ToolFailure, match="is a link"):
        here.edit(modify("a.py", "2\n"))
    tree.unlink()
    tree.with_name("aside").rename(tree)
    here.edit(modify("a.py", "2\n"))
    assert (tree / "b.py").read_text() == "x\n"


def test_a_desk_that_is_swapped_gets_what_was_begun_on_it(
    tmp_path: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    desk = desk_of(root)
    steps = [FileStep(str(root), "a.txt", None, b"new")]

    def apply() -> None:
        with desk.working() as worker:
            worker.apply(tool="file/save", caller="ada", summary="a", files=steps)

    at("journal", lambda: swap(Path(desk.folder), outside), monkeypatch)
    apply()
    with pytest.raises(ToolFailure, match="is a link, and links are not followed"):
        apply()
    assert not list(outside.iterdir())
    Path(desk.folder).unlink()
    Path(desk.folder).with_name("aside").rename(desk.folder)
    assert [one.summary for one in desk.changes()] == ["a"]


@pytest.mark.parametrize("name", ["objects", "refs"])
def test_a_repository_is_not_held_by_the_name_of_a_link(here: Place, outside: Path, name: str) -> None:
    writer = here.writer()
    head = writer.commit_of("HEAD")
    swap(here.made.git_dir / name, outside)
    with pytest.raises(ToolFailure, match="cannot be opened, or is being changed right now"):
        Pins(writer.repository)
    with pytest.raises(ToolFailure):
        writer.commit_tree(writer.tree(head, {"x.py": (0o644, b"x\n")}), [head], "x", ("x", "y"))
    with pytest.raises(ToolFailure, match="or one of them is a link"):
        here.writer()
    assert not list(outside.iterdir())


def test_objects_that_are_swapped_at_the_last_moment_are_not_followed(
    here: Place, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = here.writer()

    class Late(Pins):
        def __init__(self, repository: Repository) -> None:
            swap(here.made.git_dir / "objects", outside)
            super().__init__(repository)

    monkeypatch.setattr(git_module, "Pins", Late)
    with pytest.raises(ToolFailure, match="is being changed right now"):
        writer.commit_tree(
            writer.tree(writer.commit_of("HEAD"), {"x.py": (0o644, b"x\n")}),
            [writer.commit_of("HEAD")],
            "x",
            ("x", "y"),
        )
    assert not list(outside.iterdir())


@pytest.mark.skipif(not kernel.landlock_version(), reason="this system cannot keep git from following links")
def test_git_itself_makes_no_branch_through_a_link(here: Place, outside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heads = here.made.git_dir / "refs/heads"
    begun: list[str] = []

    def late(folders: Sequence[int], *paths: str) -> Callable[[], None] | None:
        confine = only_in(folders, *paths)
        begun.append("a git")

        def first() -> None:
            if begun == ["the change", "a git", "a git"]:  # it has looked where the branch is: now it makes it
                swap(heads, outside)
            assert confine is not None
            confine()

        return first

    told = here.state("code/create-branch", name="fix")
    monkeypatch.setattr(git_module, "only_in", late)
    at("begun", lambda: begun.__setitem__(slice(None), ["the change"]), monkeypatch)
    with pytest.raises(ToolFailure):
        here.call("code/create-branch", name="fix", expected=told)
    assert heads.is_symlink()
    assert not list(outside.iterdir())


def test_refs_that_become_links_before_a_branch_is_made_are_not_written(
    here: Place, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = here.state("code/create-branch", name="fix")
    at("begun", lambda: swap(here.made.git_dir / "refs/heads", outside), monkeypatch)
    with pytest.raises(ToolFailure):  # git would have made it in a folder of ours, and nobody would have had it
        here.call("code/create-branch", name="fix", expected=told)
    assert not list(outside.iterdir())
