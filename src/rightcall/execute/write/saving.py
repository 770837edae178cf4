"""`file/save`: a whole file, below the folders that are meant for it, or in the worktree of a branch."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from rightcall.catalog import PackTool
from rightcall.errors import ToolFailure
from rightcall.execute.diff import content_diff, one_line, shown_text
from rightcall.execute.functions import LocalTool
from rightcall.execute.packed import packed_tool
from rightcall.execute.write.changes import LARGEST, FileStep
from rightcall.execute.write.editing import Edit, EditResult
from rightcall.execute.write.editing_state import digest, identify_file, must_be
from rightcall.execute.write.editing_tools import save_on_branch
from rightcall.execute.write.saving_places import Place, outside_folders, place_for
from rightcall.fs.spots import Seen, seen_file
from rightcall.packs import load_pack
from rightcall.text.cut import MOST_SHOWN, bounded, cut_lines

if TYPE_CHECKING:
    from rightcall.execute.write.desk import Desk

NAME: Final = "file/save"
_SECONDS = 60.0
_MOST_DIFF = 4_000
"""Characters of the diff in a result: whoever saved it knows what it holds."""


class SaveArguments(Struct, frozen=True, kw_only=True):
    path: str
    content: str
    branch: str | None = None
    caller: str = ""
    expected: str | None = None


class SaveResult(Struct, frozen=True, kw_only=True):
    success: bool = True
    path: str
    bytes: int
    created: bool
    change: str
    """Empty when the file was so already."""
    undo: str
    diff: str


class _Plan(Struct, frozen=True):
    place: Place
    seen: Seen | None
    content: bytes

    @property
    def before(self) -> bytes | None:
        return None if self.seen is None else self.seen.content

    def state(self) -> str:
        return digest("save", self.place.tree, self.place.path, identify_file(self.seen))

    def shown(self) -> str:
        diff = content_diff(self.place.shown, self.before, self.content)
        listed = [f"  {one_line(self.place.shown)}"]
        return bounded((), listed, diff, "Its new content is among the arguments", MOST_SHOWN)


def saving_tools(
    desk: "Desk", about: Mapping[str, PackTool] | None = None, guarded: Sequence[str] = ()
) -> list[LocalTool]:
    """The tool on one desk. `about` is the pack `code` by name; `guarded` are the true paths of files that no tool may
    write wherever they are, such as a policy and an audit outside the root."""
    known = about if about is not None else {tool.name: tool for tool in load_pack("code").tools}
    made = packed_tool(
        known[NAME], SaveArguments, partial(save, desk, guarded), state=partial(_state, desk, guarded),
        preview=partial(_preview, desk, guarded),
    )  # fmt: skip
    return [
        replace(
            made, timeout=_SECONDS, rooted=True, caller="caller", expected="expected", outside=outside_folders(desk)
        )
    ]


def save(desk: "Desk", guarded: Sequence[str], asked: SaveArguments) -> SaveResult | EditResult:
    """Save it, if what is there is what was judged."""
    if asked.branch is not None:
        return _on_branch(desk, asked).apply(asked.expected)
    _planned(desk, guarded, asked)  # what cannot be done at all needs no desk
    with desk.working() as worker:
        plan = _planned(desk, guarded, asked)
        must_be(asked.expected, plan.state(), plan.shown)
        change = ""
        if plan.before != plan.content:
            step = FileStep(plan.place.tree, plan.place.path, plan.before, plan.content)
            summary = f"save {plan.place.shown}"
            change = worker.apply(tool=NAME, caller=asked.caller, summary=summary, files=[step]).id
    diff = shown_text(plan.shown())
    return SaveResult(
        path=plan.place.shown, bytes=len(plan.content), created=plan.seen is None, change=change,
        undo=f"rightcall undo {change}" if change else "",
        diff=cut_lines(diff, _MOST_DIFF),
    )  # fmt: skip


def _preview(desk: "Desk", guarded: Sequence[str], asked: SaveArguments) -> str:
    if asked.branch is not None:
        return _on_branch(desk, asked).preview(asked.expected)
    plan = _planned(desk, guarded, asked)
    must_be(asked.expected, plan.state(), plan.shown)
    return plan.shown()


def _state(desk: "Desk", guarded: Sequence[str], asked: SaveArguments) -> str:
    if asked.branch is not None:
        return _on_branch(desk, asked).state()
    return _planned(desk, guarded, asked).state()


def _on_branch(desk: "Desk", asked: SaveArguments) -> Edit:
    assert asked.branch is not None
    return save_on_branch(desk, NAME, asked.caller, asked.branch, asked.path, asked.content)


def _planned(desk: "Desk", guarded: Sequence[str], asked: SaveArguments) -> _Plan:
    place = place_for(desk, asked.path, guarded)
    return _Plan(place, seen_file(place.tree, place.path), _content(asked.content))


def _content(written: str) -> bytes:
    try:
        content = written.encode()
    except UnicodeEncodeError:
        raise ToolFailure("content: it holds half a character (a lone surrogate), which no file can") from None
    if len(content) > LARGEST:
        raise ToolFailure(f"content: it has {len(content):,} bytes; at most {LARGEST:,} fit")
    return content
