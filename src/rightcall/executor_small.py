"""The small read-only tools of an executor (C-11): ping, system/monitor, debug/logs, data/list, data/read, ai/report,
analytics/tool-usage.

What they are called, what they take and what they are for stands in the pack `code`. The store is asked for when one
is called, since an executor opens it late.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rightcall.config_settings import Settings, records_of
from rightcall.execute.functions import LocalTool
from rightcall.execute.packed import packed_tool
from rightcall.execute.state import untold
from rightcall.record.period import Period
from rightcall.record.tables import Store

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
    from rightcall.packs import load_pack

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
    from rightcall.execute.small import ping

    return ping()


def _monitor(root: str) -> Any:
    from rightcall.execute.small import monitor

    return monitor(root)


def whose(settings: Settings, caller: str) -> str | None:
    """Whose records a caller sees: its own, or with None everybody's."""
    return None if records_of(settings, caller) == "all" else caller


def _logs(store: Store, asked: LogsArguments, whose: str | None) -> Any:
    from rightcall.record.log_lines import log_lines

    return log_lines(store, asked.limit, whose)


def _pulls(root: str, desk: str) -> Mapping[str, Any]:
    from rightcall.executor_pulls import pull_collection

    return pull_collection(root, desk)


def _list(store: Store, asked: ListArguments, more: Mapping[str, Any], whose: str | None) -> Any:
    from rightcall.record.browsing import list_records

    return list_records(store, asked.collection, asked.filter, asked.limit, more, whose=whose)


def _read(store: Store, asked: ReadArguments, more: Mapping[str, Any], whose: str | None) -> Any:
    from rightcall.record.browsing import read_record

    return read_record(store, asked.collection, asked.id, more, whose=whose)


def _report(store: Store, asked: ReportArguments) -> Any:
    from rightcall.record.usage import own_report

    return own_report(store, asked.caller, asked.period)


def _usage(store: Store, asked: UsageArguments, all_records: bool) -> Any:
    from rightcall.record.usage import tool_usage

    return tool_usage(store, asked.caller, asked.persona, asked.period, all_records=all_records)
