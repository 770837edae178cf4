"""Reads and checks `[policy]`, `[callers.NAME]` and `[audit]`: every key known, every value in its range.

A table that names only some of its keys leaves the others as they are one step up: a limit as the preset has it, a
caller's limit or budget, and a tool's budget, as `[policy]` has them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from rightcall.commands import CommandRules, UrlRules
from rightcall.config_settings import (
    PRESETS,
    Asking,
    Audit,
    Budgets,
    CallerSettings,
    Limits,
    Paths,
    Preset,
    Records,
    Settings,
    StageName,
    Window,
)
from rightcall.config_settings_values import (
    Readers,
    by_name,
    command_patterns,
    exact_names,
    file_path,
    flag,
    laid_over,
    number,
    path_patterns,
    patterns,
    url_patterns,
    whole,
    whole_or_none,
    word,
    words,
)
from rightcall.packs.lines import KeyPath
from rightcall.packs.source import Source, Table
from rightcall.types import Effect

TABLES = ("policy", "callers", "audit")
"""The tables of the policy file that are read here."""


def read_settings(source: Source, document: Table) -> Settings:
    """What these tables say, the defaults where they say nothing."""
    policy = source.table(("policy",), document.get("policy", {}))
    source.keys(("policy",), policy, (*_POLICY, "limits", "approval", "budgets", "paths", "commands", "urls"))
    plain = {key: _POLICY[key](source, ("policy", key), value) for key, value in policy.items() if key in _POLICY}
    settings = Settings(**plain)
    limits = _limits(source, ("policy", "limits"), policy.get("limits", {}), PRESETS[settings.preset])
    budgets, budgets_of_tools = _budgets(source, ("policy", "budgets"), policy.get("budgets", {}))
    return Settings(
        **plain,
        limits=limits,
        budgets=budgets,
        budgets_of_tools=budgets_of_tools,
        approval=laid_over(source, ("policy", "approval"), policy.get("approval", {}), _APPROVAL, Asking()),
        paths=laid_over(source, ("policy", "paths"), policy.get("paths", {}), _PATHS, Paths()),
        commands=laid_over(source, ("policy", "commands"), policy.get("commands", {}), _COMMANDS, CommandRules()),
        urls=laid_over(source, ("policy", "urls"), policy.get("urls", {}), _URLS, UrlRules()),
        callers=_callers(source, ("callers",), document.get("callers", {}), limits.caller, budgets),
        audit=laid_over(source, ("audit",), document.get("audit", {}), _AUDIT, Audit()),
    )


def _limits(source: Source, path: KeyPath, value: Any, preset: Limits) -> Limits:
    table = source.table(path, value)
    source.keys(path, table, Limits.__struct_fields__)
    tools = dict(preset.tools)
    for tool, window in by_name(source, (*path, "tools"), table.get("tools", {})).items():
        tools[tool] = laid_over(source, (*path, "tools", tool), window, _WINDOW, tools.get(tool, Window()))
    return Limits(
        all=laid_over(source, (*path, "all"), table.get("all", {}), _WINDOW, preset.all),
        caller=laid_over(source, (*path, "caller"), table.get("caller", {}), _WINDOW, preset.caller),
        tools=MappingProxyType(tools),
    )


def _budgets(source: Source, path: KeyPath, value: Any) -> tuple[Budgets, Mapping[str, Budgets]]:
    table = source.table(path, value)
    source.keys(path, table, (*_BUDGETS, "tools"))
    own = laid_over(source, path, {key: item for key, item in table.items() if key != "tools"}, _BUDGETS, Budgets())
    tools = by_name(source, (*path, "tools"), table.get("tools", {}))
    return own, MappingProxyType(
        {tool: laid_over(source, (*path, "tools", tool), item, _BUDGETS, own) for tool, item in tools.items()}
    )


def _callers(
    source: Source, path: KeyPath, value: Any, window: Window, budgets: Budgets
) -> Mapping[str, CallerSettings]:
    return MappingProxyType(
        {
            caller: _caller(source, (*path, caller), table, window, budgets)
            for caller, table in by_name(source, path, value).items()
        }
    )


def _caller(source: Source, path: KeyPath, value: Any, window: Window, budgets: Budgets) -> CallerSettings:
    table = source.table(path, value)
    for key in ("stage", "allow"):
        if "only" in table and key in table:
            raise source.wrong(
                (*path, "only"),
                f"cannot stand beside `{key}`, which it replaces: name every tool in `only`, or use `allow` alone",
            )
    readers: Readers = {
        **_CALLER,
        "limits": lambda source, path, value: laid_over(source, path, value, _WINDOW, window),
        "budgets": lambda source, path, value: laid_over(source, path, value, _BUDGETS, budgets),
    }
    return laid_over(source, path, table, readers, CallerSettings())


_POLICY: Readers = {
    "preset": word(Preset),
    "stage": word(StageName),
    "dry_run": flag,
    "rounds": whole(1, 100),
    "repeats": whole_or_none(1000, "would refuse every call"),
    "repeatable": patterns,
    "quarantine": whole_or_none(1000, "would leave a call that is refused once no second try"),
    "records": word(Records),
    "allow": patterns,
    "deny": patterns,
}
_WINDOW: Readers = {key: whole(0, 1_000_000) for key in Window.__struct_fields__}
_APPROVAL: Readers = {
    "effects": words(Effect),
    "tools": patterns,
    "never": patterns,
    "expires": whole(1, 7 * 86_400),
    "confidence": number(0, 1),
    "definitions": flag,
    "waiting": whole(1, 10_000),
    "waiting_bytes": whole(1_000, 1_000_000_000),
}
_BUDGETS: Readers = {
    "seconds": number(0.01, 86_400),
    "tokens": whole(50, 1_000_000),
    "output": whole(1, 1_000_000_000),
    "parallel": whole(1, 1000),
}
_PATHS: Readers = dict.fromkeys(Paths.__struct_fields__, path_patterns)
_COMMANDS: Readers = {**dict.fromkeys(("deny", "ask", "allow"), command_patterns), "starter": flag}
_URLS: Readers = {**dict.fromkeys(("deny", "ask", "allow"), url_patterns), "starter": flag}
_CALLER: Readers = {
    "stage": word(StageName),
    "allow": patterns,
    "only": patterns,
    "deny": patterns,
    "dry_run": flag,
    "records": word(Records),
}
_AUDIT: Readers = {"path": file_path, "redact": exact_names}
