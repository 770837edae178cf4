"""Reads and checks the policy file, key by key. Only somebody who has one pays for importing this."""

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, get_args

from msgspec.structs import replace

from rightcall.catalog import PackTool
from rightcall.config import (
    HOST_NAMES,
    PROVIDER_DEFAULTS,
    VERSION,
    HostSettings,
    ModelSettings,
    Policy,
    ProviderSettings,
)
from rightcall.config_hands_read import read_cache, read_code, read_sandbox, read_web, read_write
from rightcall.config_router_read import read_router
from rightcall.config_servers_read import read_servers
from rightcall.config_settings_read import TABLES, read_settings
from rightcall.config_settings_values import laid_over, number, words
from rightcall.config_settings_values import name as name_of
from rightcall.errors import PolicyError
from rightcall.packs import available_packs, is_pack_path
from rightcall.packs.check import check_tool
from rightcall.packs.lines import KeyPath
from rightcall.packs.rules import pack_tools, read_tool, strategies
from rightcall.packs.source import Source, Table, instead
from rightcall.text.escape import render_json
from rightcall.types import Effect, Mode, ReasoningMode, UnknownArgument, UnknownTool


def read_bytes(file: str, raw: bytes) -> Policy:
    """The policy in the bytes of a TOML file; relative paths in it count from the file's folder."""
    source = Source.of_bytes(file, PolicyError, raw)
    return read_policy(source, source.parse(), os.path.dirname(file))


def read_document(document: Table) -> Policy:
    """The policy in a dict of the same shape."""
    return read_policy(Source("policy", PolicyError), document, "")


def read_policy(source: Source, document: Table, folder: str) -> Policy:
    """The policy in a parsed document; `source` complains, and `folder` is where relative paths begin."""
    version = document.get("version", VERSION)
    if isinstance(version, bool) or version != VERSION:
        raise source.wrong(
            ("version",), f"this RightCall reads version {VERSION} of the policy file, not {render_json(version)}"
        )
    router = read_router(source, document)
    known = ("version", "gate", *TABLES, "servers", "router", "sandbox", "write", "code", "cache", "web")
    source.keys((), document, known)
    gate = source.table(("gate",), document.get("gate", {}))
    source.keys(("gate",), gate, _GATE)
    settings = {key: _GATE[key](source, ("gate", key), value) for key, value in gate.items()}
    if "packs" in settings:
        settings["packs"] = tuple(
            os.path.join(folder, name) if is_pack_path(name) else name for name in settings["packs"]
        )
    return Policy(
        **settings,
        servers=read_servers(source, document, folder),
        settings=read_settings(source, document),
        router=router,
        sandbox=read_sandbox(source, document),
        write=read_write(source, document),
        code=read_code(source, document),
        cache=read_cache(source, document),
        web=read_web(source, document),
        source=source.name,
        digest=_digest(source, document),
    )


def _digest(source: Source, document: Table) -> str:
    from hashlib import sha256  # late, both: only somebody who has a policy pays for them
    from json import dumps

    text = source.text
    if text is None:
        try:
            text = dumps(document, sort_keys=True, separators=(",", ":"), default=dict)
        except (TypeError, ValueError):
            raise source.wrong((), "must hold nothing but what JSON can carry, under names that are texts") from None
    return sha256(text.encode()).hexdigest()[:16]


def _packs(source: Source, path: KeyPath, value: Any) -> tuple[str, ...]:
    names = source.texts(path, value)
    for at, name in enumerate(names):
        if not is_pack_path(name) and name not in available_packs():
            choice = instead(name, available_packs())
            raise source.wrong((*path, at), f"there is no pack {name!r}; {choice}, or the path of a .toml file")
    return names


def _providers(source: Source, path: KeyPath, value: Any) -> Mapping[str, ProviderSettings]:
    return MappingProxyType(
        {name.casefold(): _provider(source, (*path, name), table) for name, table in source.table(path, value).items()}
    )


def _models(source: Source, path: KeyPath, value: Any) -> Mapping[str, ModelSettings]:
    return MappingProxyType(
        {
            name_of(source, (*path, name), name).casefold(): laid_over(
                source, (*path, name), table, {"reasoning": _word(ReasoningMode)}, ModelSettings()
            )
            for name, table in source.table(path, value).items()
        }
    )


def _provider(source: Source, path: KeyPath, value: Any) -> ProviderSettings:
    table = source.table(path, value)
    source.keys(path, table, ("repair", "enabled", "strategies", "reasoning"))
    reasoning = _word(ReasoningMode)(source, (*path, "reasoning"), table["reasoning"]) if "reasoning" in table else None
    if set(table) == {"reasoning"}:  # nothing is said of repairs, so they stay as they are for this provider
        return replace(PROVIDER_DEFAULTS.get(str(path[-1]).casefold(), ProviderSettings()), reasoning=reasoning)
    flags = {key: source.flag((*path, key), table[key]) for key in ("repair", "enabled") if key in table}
    if len(set(flags.values())) > 1:
        raise source.wrong((*path, "enabled"), "`repair` and `enabled` are two words for one setting and disagree")
    named = strategies(source, (*path, "strategies"), table["strategies"]) if "strategies" in table else None
    return ProviderSettings(enabled=next(iter(flags.values()), True), strategies=named, reasoning=reasoning)


def _tools(source: Source, path: KeyPath, value: Any) -> Mapping[str, PackTool]:
    tables = {name: read_tool(source, (*path, name), table) for name, table in source.table(path, value).items()}
    for name, tool in tables.items():
        check_tool(source, (*path, name), tool)
    return MappingProxyType({tool.name: tool for tool in pack_tools(tables, "policy")})


def _hosts(source: Source, path: KeyPath, value: Any) -> Mapping[str, HostSettings]:
    hosts: dict[str, HostSettings] = {}
    for name, raw in source.table(path, value).items():
        place = (*path, name)
        table = source.table(place, raw)
        source.keys(place, table, HostSettings.__struct_fields__)
        called = HOST_NAMES.get(name, name)
        if called in hosts:
            raise source.wrong(place, f"`{name}` and `{called}` are two names of one host")
        hosts[called] = HostSettings(**{key: _HOST[key](source, (*place, key), item) for key, item in table.items()})
    return MappingProxyType(hosts)


def _word(words: Any) -> Any:
    def read(source: Source, path: KeyPath, value: Any) -> Any:
        return source.word(path, value, get_args(words))

    return read


def _number(least: int, most: int) -> Any:
    def read(source: Source, path: KeyPath, value: Any) -> int:
        return source.count(path, value, least, most)

    return read


_WORDS: dict[str, Any] = {
    "mode": _word(Mode),
    "unknown_tool": _word(UnknownTool),
    "unknown_argument": _word(UnknownArgument),
}
_HOST: dict[str, Any] = {
    **_WORDS,
    "ask": words(Effect),
    "on_failure": _word(Literal["allow", "deny"]),
    "deadline": number(0.1, 600),
}
_GATE: dict[str, Any] = {
    **_WORDS,
    "packs": _packs,
    "enabled": Source.flag,
    "log_normalizations": Source.flag,
    "fail_on_normalization_failure": Source.flag,
    "max_text": _number(1, 1_000_000_000),
    "max_depth": _number(1, 1_000),
    "reasoning": _word(ReasoningMode),
    "providers": _providers,
    "models": _models,
    "tools": _tools,
    "hosts": _hosts,
}
