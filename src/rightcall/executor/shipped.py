"""The tools that an executor has without being given any: the code tools on its root, the small ones beside them, those
of the web, and those that run code and write."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, to_builtins
from msgspec.json import encode
from msgspec.structs import replace

from rightcall.base.files.rules import path_rules
from rightcall.base.files.sight import Sight
from rightcall.catalog.packs import load_pack
from rightcall.catalog.tool import Pack, PackTool
from rightcall.errors import ToolFailure
from rightcall.executor.stores import Premises
from rightcall.policy.settings import CodeSettings, Policy, Settings, records_of
from rightcall.record.browse import Collection, Row, Rows
from rightcall.record.calls import Period
from rightcall.record.tables import Store, Tables
from rightcall.tools.code import diff, history, listing, read, search
from rightcall.tools.code.opening import local
from rightcall.tools.diff import file_diff
from rightcall.tools.functions import LocalTool, packed_tool
from rightcall.tools.state import untold

if TYPE_CHECKING:
    from rightcall.policy.settings import LeastTier
    from rightcall.tools.sandbox.sandbox import Sandbox
    from rightcall.tools.write.pulls import PullRecord


# ── small tools ──
# The small read-only tools of an executor (C-11): ping, system/monitor, debug/logs, data/list, data/read, ai/report,
# analytics/tool-usage.
#
# What they are called, what they take and what they are for stands in the pack `code`. The store is asked for when one
# is called, since an executor opens it late.

_CALLER = "caller"
"""The argument in which a tool is told who calls; no schema has one of that name."""

_LIVELY = frozenset(("data/list", "data/read"))
"""They show the audit, which grows with every call: asking again is a loop only if they give the same all the same."""


class NoArguments(Struct, frozen=True):
    pass


class LogsArguments(Struct, frozen=True, kw_only=True):
    limit: int = 50
    caller: str = ""


class ListArguments(Struct, frozen=True, kw_only=True):
    collection: str
    filter: dict[str, Any] | None = None
    limit: int = 20
    caller: str = ""


class ReadArguments(Struct, frozen=True, kw_only=True):
    collection: str
    id: str | int
    caller: str = ""


class ReportArguments(Struct, frozen=True, kw_only=True):
    caller: str
    period: Period = "1day"


class UsageArguments(Struct, frozen=True, kw_only=True, rename={"persona": "personaId"}):
    caller: str
    persona: str | None = None
    period: Period = "1day"


def small_tools(
    store: Callable[[], Store], root: str = ".", desk: str = "", settings: Settings | None = None
) -> list[LocalTool]:
    """All of them, as an executor runs them; `root` lies on the file system whose room is told, in the folder `desk`
    are the pull requests, and `settings` say who sees the records of others."""
    rules = settings or Settings()
    about = {tool.name: tool for tool in load_pack("code").tools}
    runs: list[tuple[str, type[Struct], Callable[[Any], Any]]] = [
        ("ping", NoArguments, _ping),
        ("system/monitor", NoArguments, lambda _: _monitor(root)),
        ("debug/logs", LogsArguments, lambda asked: _logs(store(), asked, whose(rules, asked.caller))),
        (
            "data/list",
            ListArguments,
            lambda asked: _list(store(), asked, _pulls(root, desk), whose(rules, asked.caller)),
        ),
        (
            "data/read",
            ReadArguments,
            lambda asked: _read(store(), asked, _pulls(root, desk), whose(rules, asked.caller)),
        ),
        ("ai/report", ReportArguments, lambda asked: _report(store(), asked)),
        (
            "analytics/tool-usage",
            UsageArguments,
            lambda asked: _usage(store(), asked, whose(rules, asked.caller) is None),
        ),
    ]
    return [
        replace(
            packed_tool(about[name], arguments, run, state=untold if name in _LIVELY else None),
            caller=_CALLER if _CALLER in arguments.__struct_fields__ else None,
        )
        for name, arguments, run in runs
    ]  # fmt: skip


def _ping(_: NoArguments) -> Any:
    from rightcall.tools.system import ping

    return ping()


def _monitor(root: str) -> Any:
    from rightcall.tools.system import monitor

    return monitor(root)


def whose(settings: Settings, caller: str) -> str | None:
    """Whose records a caller sees: its own, or with None everybody's."""
    return None if records_of(settings, caller) == "all" else caller


def _logs(store: Store, asked: LogsArguments, whose: str | None) -> Any:
    from rightcall.record.browse import log_lines

    return log_lines(store, asked.limit, whose)


def _pulls(root: str, desk: str) -> Mapping[str, Any]:

    return pull_collection(root, desk)


def _list(store: Store, asked: ListArguments, more: Mapping[str, Any], whose: str | None) -> Any:
    from rightcall.record.browse import list_records

    return list_records(store, asked.collection, asked.filter, asked.limit, more, whose=whose)


def _read(store: Store, asked: ReadArguments, more: Mapping[str, Any], whose: str | None) -> Any:
    from rightcall.record.browse import read_record

    return read_record(store, asked.collection, asked.id, more, whose=whose)


def _report(store: Store, asked: ReportArguments) -> Any:
    from rightcall.record.analytics import own_report

    return own_report(store, asked.caller, asked.period)


def _usage(store: Store, asked: UsageArguments, all_records: bool) -> Any:
    from rightcall.record.analytics import tool_usage

    return tool_usage(store, asked.caller, asked.persona, asked.period, all_records=all_records)


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
_NO_WRITING = "No tool of ours writes files on this system, so nothing was written. A host can provide `file/save`"
_NO_SANDBOX = "Commands run in a sandbox or not at all, and there is none here, so nothing was run"
_NO_HOST = "`embedding.query` is provided by a host, and none has: it registers a function under this name"


def with_gaia(tools: Mapping[str, LocalTool], root: str, shell: LocalTool | None = None) -> dict[str, LocalTool]:
    """The tools that ship with us, which also answer to the names of the pack; and what of the pack is not here, with
    a word on why. `shell` runs the commands of `ai.execute`."""

    def saving(arguments: Mapping[str, Any]) -> str:
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


# ── pull requests as data ──
# Pull requests as models look at them, with `data/list` and `data/read`: rows like those of the audit's own tables.
# Every caller sees all of them: they are there to be reviewed by others.
#
# They lie on the desk and not in the store; nothing of the files they change is in them, apart from what a check
# printed.

NAME: Final = "pull_requests"
_COLUMNS: Final = (
    "id", "title", "author", "branch", "base", "status", "made", "head", "body", "merge", "discussion", "checks",
)  # fmt: skip


def pull_collection(root: str, desk: str) -> Mapping[str, Collection]:
    """The collection, by its name. Reads the desk when it is asked, and makes none."""

    def records() -> list[PullRecord]:
        if not desk or os.name != "posix":
            return []
        from rightcall.base.files.sight import Sight
        from rightcall.policy.settings import WriteSettings
        from rightcall.tools.write.desk import Desk
        from rightcall.tools.write.pulls import all_pulls

        return all_pulls(Desk(desk, Sight(root), WriteSettings()))

    def rows(_: Tables, __: str | None) -> Rows:
        return ((lambda record=record: _row(record)) for record in records())

    def row(_: Tables, id: str, __: str | None) -> Row | None:
        return next((_row(record) for record in records() if record.id == id.removeprefix("#")), None)

    return {NAME: Collection(_COLUMNS, rows, row, bounded=False)}


def _row(record: PullRecord) -> Row:
    fields: dict[str, Any] = {name: getattr(record, name) for name in _COLUMNS}
    return fields | {"discussion": to_builtins(record.discussion), "checks": to_builtins(record.checks)}


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
        from rightcall.tools.sandbox.tools import execute_tools
        from rightcall.tools.write.desk import Desk
        from rightcall.tools.write.tools import write_tools

        sandbox = self._sandbox_for(policy)
        return [
            *execute_tools(policy.sandbox, sandbox),
            *write_tools(Desk(desk, sight, policy.write), sandbox, policy.sandbox.visible, guarded),
        ]

    def shell(self, policy: Policy) -> LocalTool:
        """`ai.execute` of the pack `gaia`."""
        from rightcall.tools.sandbox.tools import shell_tool

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


GAIA, EDIT_FILES, ROOM = "gaia", "edit-files", "room"
_EDIT = "code/edit"


def shipped_tools(
    premises: Premises, policy: Policy, store: Callable[[], Store], packs: Iterable[str | Pack], hands: Hands
) -> dict[str, LocalTool]:
    """By name; `packs` are those in force, of which one has names of its own for some of them. All but the small ones
    need a system on which files can be opened beneath a folder, which Windows is not."""
    from rightcall.tools.web.fetch import web_tools

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
        from rightcall.tools.rooms import room_tools

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


# ── tools ──
# The code tools on one root, ready for an executor. The order is that of the design.

_USUAL = CodeSettings()


def code_tools(sight: Sight, settings: CodeSettings = _USUAL) -> tuple[LocalTool, ...]:
    """All seven. What is said of them stands in the pack `code`."""
    tools = (
        read.tool(settings), search.TOOL, listing.TOOL, diff.TOOL, history.LOG, history.BLAME, history.tool(settings)
    )  # fmt: skip
    about: dict[str, PackTool] = {tool.name: tool for tool in load_pack("code").tools}
    return tuple(local(tool, about[tool.name], sight) for tool in tools)
