"""The tools that an executor has without being given any: the code tools on its root, the small ones beside them, those
of the web, and those that run code and write. What must be known of a tool before it is called stands here; its code
is loaded with the first call."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from msgspec.json import encode
from msgspec.structs import replace

from rightcall.base.files.guarded import true_place
from rightcall.base.files.rules import path_rules
from rightcall.base.files.sight import Sight
from rightcall.catalog.packs import load_pack
from rightcall.catalog.tool import Pack, PackTool
from rightcall.errors import ToolFailure
from rightcall.policy.settings import CodeSettings, Policy, SandboxSettings, Settings, WriteSettings
from rightcall.record.premises import Premises
from rightcall.record.tables import Store
from rightcall.tools.code import CodeTool, local
from rightcall.tools.functions import LocalTool, Work, packed_tool

if TYPE_CHECKING:
    from rightcall.policy.settings import LeastTier
    from rightcall.tools.sandbox.conversation import Language
    from rightcall.tools.sandbox.sandbox import Sandbox
    from rightcall.tools.write.desk import Desk
    from rightcall.tools.write.edit import DeskWork


SECONDS: Final = 60.0
"""A worktree of a large repository takes some."""
_AROUND_CHECKS: Final = 60.0
"""Seconds that a merge may take besides its checks, which may run twice."""


def desk_tool(about: PackTool, desk: Callable[[], Desk], load: Callable[[], DeskWork]) -> LocalTool:
    """The tool on one desk. It is told who calls, and the state that was judged: it writes onto nothing else."""

    def work() -> Work:
        own, at = load(), desk()
        return Work(own.arguments, partial(own.run, at), partial(own.state, at), partial(own.preview, at))

    made = packed_tool(about, work, state=True, preview=True)
    return replace(made, timeout=SECONDS, rooted=True, caller="caller", expected="expected", lasting=True)


# ── saving ──
# `file/save`.


def saving_tools(desk: Callable[[], Desk], settings: WriteSettings, guarded: Sequence[str] = ()) -> list[LocalTool]:
    """The tool on one desk. `guarded` are the true paths of files that no tool may write wherever they are, such as a
    policy and an audit outside the root."""

    def load() -> DeskWork:
        from rightcall.tools.write.save import save_work

        return save_work(guarded)

    outside = tuple(os.path.realpath(folder) for folder in settings.folders if folder.startswith("/"))
    return [replace(desk_tool(_pack()["file/save"], desk, load), lasting=False, outside=outside)]


# ── branches ──
# The tools that work on branches: `code/create-branch`, `code/edit`, `code/create-test` and `code/commit`.


def branch_tools(desk: Callable[[], Desk], guarded: Sequence[str] = ()) -> list[LocalTool]:
    """The tools on one desk; `guarded` as for `file/save`."""
    about = _pack()

    def edit() -> DeskWork:
        from rightcall.tools.write.save import edit_work

        return edit_work(guarded)

    return [
        desk_tool(about["code/create-branch"], desk, _load_branch),
        desk_tool(about["code/edit"], desk, edit),
        desk_tool(about["code/create-test"], desk, _load_test),
        desk_tool(about["code/commit"], desk, _load_commit),
    ]


def _load_branch() -> DeskWork:
    from rightcall.tools.write.commit import BRANCH_WORK

    return BRANCH_WORK


def _load_test() -> DeskWork:
    from rightcall.tools.write.save import create_test_work

    return create_test_work()


def _load_commit() -> DeskWork:
    from rightcall.tools.write.commit import COMMIT_WORK

    return COMMIT_WORK


# ── pull requests ──
# The tools of peer review: `code/pull-request`, `code/review` and `code/merge`.


def pull_tools(
    desk: Callable[[], Desk], settings: WriteSettings, sandbox: Callable[[], Sandbox], visible: tuple[str, ...] = ()
) -> list[LocalTool]:
    """The tools on one desk; `sandbox` makes the sandbox when checks are run, `visible` are folders that can be read in
    it."""
    about = _pack()

    def merging() -> DeskWork:
        from rightcall.tools.write.merge import Checker, merge_work

        return merge_work(Checker(sandbox, visible))

    return [
        desk_tool(about["code/pull-request"], desk, _load_pull),
        desk_tool(about["code/review"], desk, _load_review),
        replace(desk_tool(about["code/merge"], desk, merging), timeout=2 * settings.check.seconds + _AROUND_CHECKS),
    ]


def _load_pull() -> DeskWork:
    from rightcall.tools.write.commit import OPEN_WORK

    return OPEN_WORK


def _load_review() -> DeskWork:
    from rightcall.tools.write.review import REVIEW_WORK

    return REVIEW_WORK


def write_tools(
    folder: str, sight: Sight, settings: WriteSettings, sandbox: Callable[[], Sandbox],
    visible: tuple[str, ...] = (), guarded: Sequence[str] = (),
) -> list[LocalTool]:  # fmt: skip
    """All of them, on the desk in this folder. `sandbox` is where checks run, `visible` what they can read besides;
    `guarded` are the true paths of files that none may write, wherever they lie."""

    true = true_place(folder)  # now: a link that is put there later leads nowhere

    @cache
    def desk() -> Desk:
        from rightcall.tools.write.desk import Desk

        return Desk(true, sight, settings, is_true=True)

    return [
        *saving_tools(desk, settings, guarded),
        *branch_tools(desk, guarded),
        *pull_tools(desk, settings, sandbox, visible),
    ]


def _pack() -> dict[str, PackTool]:
    return {tool.name: tool for tool in load_pack("code").tools}


# ── small tools ──
# The small read-only tools of an executor (C-11). What they are called, what they take and what they are for stands in
# the pack `code`. The store is asked for when one is called, since an executor opens it late.

_SMALL = ("ping", "system/monitor", "debug/logs", "data/list", "data/read", "ai/report", "analytics/tool-usage")
_CALLER = "caller"
"""The argument in which a tool is told who calls; no schema has one of that name."""
_FOR_ANYBODY = frozenset(("ping", "system/monitor"))
"""They are not told who calls."""
_LIVELY = frozenset(("data/list", "data/read"))
"""They show the audit, which grows with every call: asking again is a loop only if they give the same all the same."""


def small_tools(
    store: Callable[[], Store], root: str = ".", desk: str = "", settings: Settings | None = None
) -> list[LocalTool]:
    """All of them, as an executor runs them; `root` lies on the file system whose room is told, in the folder `desk`
    are the pull requests, and `settings` say who sees the records of others."""
    about = _tools_of("code")

    def load(name: str) -> Work:
        from rightcall.tools.system import small_work

        return small_work(name, store, root, desk, settings or Settings())

    return [
        replace(
            packed_tool(about[name], partial(load, name), state=name in _LIVELY),
            caller=None if name in _FOR_ANYBODY else _CALLER,
        )
        for name in _SMALL
    ]


# ── the tools of pack `gaia` ──
# The tools of design 004 (the pack `gaia`) on an executor's own: what they are called there, and what runs here.
#
#     ai.read          code/read
#     ai.write         file/save      shown, not run, on a system where no tool of ours writes
#     ai.execute       itself         runs in the sandbox or not at all; shown, not run, where there is none
#     embedding.query  itself         a host provides it
#
# Lists of the policy may use either name: whoever may use `code/read` may call it `ai.read`, and the other way round;
# the audit says `code/read`.

_SAME = {"ai.read": "code/read", "ai.write": "file/save"}
_NO_WRITING = "RightCall cannot write files on this system, so nothing was written. A host can provide `file/save`"
_NO_SANDBOX = "Commands run only in a sandbox, which is unavailable here, so nothing was run"
_NO_HOST = "`embedding.query` is unavailable: a host must register a function under this name"


def with_gaia(tools: Mapping[str, LocalTool], root: str, shell: LocalTool | None = None) -> dict[str, LocalTool]:
    """The tools that ship with us, which also answer to the names of the pack; and what of the pack is not here, with
    a word on why. `shell` runs the commands of `ai.execute`."""

    def saving(arguments: Mapping[str, Any]) -> str:
        from rightcall.tools.diff import file_diff

        return f"{file_diff(arguments['path'], arguments['content'], root=root)}\n{_NO_WRITING}."

    def running(arguments: Mapping[str, Any]) -> str:
        return f"Would run: {encode(arguments['command']).decode()}\n{_NO_SANDBOX}."

    code, gaia = _tools_of("code"), _tools_of("gaia")
    absent = [
        replace(_absent(code["file/save"], _NO_WRITING), preview=saving),
        replace(_absent(gaia["ai.execute"], _NO_SANDBOX), preview=running),
        _absent(gaia["embedding.query"], _NO_HOST),
    ]
    whole = {**{one.name: one for one in absent}, **tools}
    if shell is not None:
        whole[shell.name] = shell
    return whole | {ours: also_named(whole[ours], theirs) for theirs, ours in _SAME.items() if ours in whole}


def _tools_of(pack: str) -> dict[str, PackTool]:
    return {one.name: one for one in load_pack(pack).tools}


def _absent(about: PackTool, why: str) -> LocalTool:
    def never(**_: Any) -> None:
        raise ToolFailure(why)

    return LocalTool(
        name=about.name,
        function=never,
        definition={"name": about.name, "description": about.description, "parameters": about.schema},
        effects=about.effects,
        paths=about.rules.paths,
        commands=about.rules.commands,
        example=about.rules.example,
        rooted=True,
        about=about,
        absent=why,
    )


def also_named(tool: LocalTool, name: str) -> LocalTool:
    """The tool, which answers to this name too."""
    about = tool.about
    if about is None:
        return tool
    return replace(tool, about=replace(about, rules=replace(about.rules, names=(*about.rules.names, name))))


# ── sandbox and writes ──
# What gives an executor hands: the sandbox in which code runs, and the desk at which files are written.
#
# Both are made once for an executor and live as long as it does; the tools are made anew with each policy. Nothing is
# started before it is used.


class Hands:
    """The sandboxes of one executor, by what the policy wants of them."""

    def __init__(self) -> None:
        self._sandboxes: dict[tuple[str, LeastTier], Sandbox] = {}
        self._lock = Lock()

    def tools(self, sight: Sight, policy: Policy, desk: str, guarded: tuple[str, ...]) -> list[LocalTool]:
        """The tools that run code, and those that write; `desk` is the folder of what belongs to writing, `guarded` are
        the files that none of them may write."""
        sandbox = self._sandbox_for(policy)
        return [
            *execute_tools(policy.sandbox, sandbox),
            *write_tools(desk, sight, policy.write, sandbox, policy.sandbox.visible, guarded),
        ]

    def shell(self, policy: Policy) -> LocalTool:
        """`ai.execute` of the pack `gaia`."""
        return shell_tool(policy.sandbox, self._sandbox_for(policy))

    def close(self) -> None:
        """End what was started. Used again, it is started again."""
        with self._lock:
            started, self._sandboxes = list(self._sandboxes.values()), {}
        for sandbox in started:
            sandbox.close()

    def _sandbox_for(self, policy: Policy) -> Callable[[], Sandbox]:
        wanted = policy.sandbox.python, policy.sandbox.tier

        def sandbox() -> Sandbox:
            from rightcall.tools.sandbox.sandbox import Sandbox

            with self._lock:
                if wanted not in self._sandboxes:
                    self._sandboxes[wanted] = Sandbox(*wanted)
                return self._sandboxes[wanted]

        return sandbox


_AROUND = 10.0
"""Seconds that a tool may take beside the program that it starts, or the page that it fetches."""
_LANGUAGES: dict[str, Language] = {"code/execute/python": "python", "code/execute/javascript": "javascript"}


def execute_tools(settings: SandboxSettings, sandbox: Callable[[], Sandbox]) -> list[LocalTool]:
    """Both tools. `sandbox` lends the one that they share, when it is first needed."""
    about = _tools_of("code")

    def load(language: Language) -> Work:
        from rightcall.tools.sandbox.program import execute_work

        return execute_work(language, settings, sandbox)

    return [
        _lasting(packed_tool(about[name], partial(load, language), preview=True), settings.seconds)
        for name, language in _LANGUAGES.items()
    ]


def shell_tool(settings: SandboxSettings, sandbox: Callable[[], Sandbox]) -> LocalTool:
    """`ai.execute`. `sandbox` lends the one it shares with others, when it is first needed."""

    def load() -> Work:
        from rightcall.tools.sandbox.program import shell_work

        return shell_work(settings, sandbox)

    return _lasting(packed_tool(_tools_of("gaia")["ai.execute"], load, preview=True), settings.seconds)


def _lasting(tool: LocalTool, seconds: float) -> LocalTool:
    return replace(tool, timeout=seconds + _AROUND, lasting=True)


# ── the web ──

_NO_SEARCH = "Web search is unavailable here. Continue without it."


def web_tools(root: str, policy: Policy) -> list[LocalTool]:
    """They are in no stage: only a policy that names them lets them run. Search needs a server that it names."""
    about, settings = _tools_of("code"), policy.web

    def fetch() -> Work:
        from rightcall.tools.web import fetch_work

        return fetch_work(settings, policy.settings.urls, root)

    def search() -> Work:
        from rightcall.tools.web import search_work

        return search_work(settings)

    searching = _lasting(packed_tool(about["web/search"], search), settings.seconds)
    return [
        _lasting(packed_tool(about["web/fetch"], fetch), settings.seconds),
        replace(searching, absent="" if settings.search else _NO_SEARCH),
    ]


# ── all of them ──

GAIA, EDIT_FILES, ROOM = "gaia", "edit-files", "room"
_EDIT = "code/edit"


def shipped_tools(
    premises: Premises, policy: Policy, store: Callable[[], Store], packs: Iterable[str | Pack], hands: Hands
) -> dict[str, LocalTool]:
    """By name; `packs` are those in force, of which one has names of its own for some of them. All but the small ones
    need a system on which files can be opened beneath a folder, which Windows is not."""
    root, desk = premises.root, premises.desk
    tools = small_tools(store, root, desk, policy.settings)
    tools += web_tools(root, policy)
    if os.name == "posix":
        paths = policy.settings.paths
        rules = path_rules((*paths.deny, *premises.protected), paths.allow, paths.dotfiles)
        sight = Sight(root, rules)
        tools = [*code_tools(sight, policy.code), *tools, *hands.tools(sight, policy, desk, premises.guarded)]
    found = {tool.name: tool for tool in tools}
    if ROOM in packs:
        from rightcall.tools.system import room_tools

        found |= {tool.name: tool for tool in room_tools(store, policy.settings)}
    if EDIT_FILES in packs and _EDIT in found:
        found[_EDIT] = _with_edit_files(found[_EDIT])
    if GAIA not in packs:
        return found

    return with_gaia(found, root, hands.shell(policy) if os.name == "posix" else None)


def _with_edit_files(edit: LocalTool) -> LocalTool:
    """`edit_files` of design 003 is `code/edit` by another name; its operations may be JSON text, its result has the
    changes as `results`, too."""

    def edit_files(**given: Any) -> dict[str, Any]:
        done = edit.function(**given)
        return {**done, "results": done["files"]}

    named = also_named(replace(edit, function=edit_files, offered=("edit_files",)), "edit_files")
    about = named.about
    if about is None or about.schema is None:
        return named
    properties = about.schema["properties"]
    operations = {**properties["operations"], "contentMediaType": "application/json"}
    return replace(
        named, about=replace(about, schema={**about.schema, "properties": {**properties, "operations": operations}})
    )


# ── code ──
# The code tools on one root, ready for an executor. The order is that of the design.

_USUAL = CodeSettings()


def code_tools(sight: Sight, settings: CodeSettings = _USUAL) -> tuple[LocalTool, ...]:
    """All seven. What is said of them stands in the pack `code`."""
    about = _tools_of("code")

    def reading() -> CodeTool:
        from rightcall.tools.code.read import tool

        return tool(settings)

    def showing() -> CodeTool:
        from rightcall.tools.code.history import tool

        return tool(settings)

    loads: dict[str, Callable[[], CodeTool]] = {
        "code/read": reading, "code/search": _load_search, "code/list": _load_list, "code/diff": _load_diff,
        "code/log": _load_log, "code/blame": _load_blame, "code/show": showing,
    }  # fmt: skip
    return tuple(local(about[name], load, sight) for name, load in loads.items())


def _load_search() -> CodeTool:
    from rightcall.tools.code.search import TOOL

    return TOOL


def _load_list() -> CodeTool:
    from rightcall.tools.code.listing import TOOL

    return TOOL


def _load_diff() -> CodeTool:
    from rightcall.tools.code.diff import TOOL

    return TOOL


def _load_log() -> CodeTool:
    from rightcall.tools.code.history import LOG

    return LOG


def _load_blame() -> CodeTool:
    from rightcall.tools.code.history import BLAME

    return BLAME
