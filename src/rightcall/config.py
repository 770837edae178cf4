"""The policy file: read once, checked, frozen. This step knows `[gate]`; the other tables are kept for later ones.

    >>> from rightcall.config import load_policy
    >>> load_policy({"gate": {"mode": "warn"}}).mode_for("any_tool")
    'warn'

A file that is wrong anywhere raises PolicyError, with its line: nothing in it is guessed, skipped or made milder.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

from msgspec import Struct

from rightcall.catalog import PackTool
from rightcall.errors import PolicyError
from rightcall.packs import available_packs, is_pack_path
from rightcall.packs.check import check_tool
from rightcall.packs.lines import KeyPath
from rightcall.packs.rules import pack_tools, read_tool, strategies
from rightcall.packs.source import Source, Table, instead
from rightcall.types import Mode, StrategyName, UnknownArgument, UnknownTool

VERSION = 1
LATER_TABLES = ("policy", "callers", "audit", "router", "servers")
"""Top-level tables that belong to other parts; accepted here and kept as they are in `Policy.rest`."""


class ProviderSettings(Struct, frozen=True):
    """Whether calls of a provider are repaired, and by which strategies; None means all of them."""

    enabled: bool = True
    strategies: tuple[StrategyName, ...] | None = None


class HostSettings(Struct, frozen=True):
    """What one host (a hook, the proxy, a framework) does differently; None means: as `[gate]` says."""

    mode: Mode | None = None
    unknown_tool: UnknownTool | None = None
    unknown_argument: UnknownArgument | None = None


PROVIDER_DEFAULTS: Mapping[str, ProviderSettings] = MappingProxyType(
    {
        "anthropic": ProviderSettings(enabled=False),  # emits clean JSON
        "ollama": ProviderSettings(strategies=("python_ast", "regex_quotes", "structure", "manual_repair")),
    }
)
"""What holds for a provider of which the policy says nothing; every other provider has all strategies."""

_NO_PROVIDERS: Mapping[str, ProviderSettings] = MappingProxyType({})
_NO_HOSTS: Mapping[str, HostSettings] = MappingProxyType({})
_NO_TOOLS: Mapping[str, PackTool] = MappingProxyType({})
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Policy(Struct, frozen=True):
    """The settings in force. The defaults here are those of a policy file that says nothing."""

    mode: Mode = "block"
    unknown_tool: UnknownTool = "suggest"
    unknown_argument: UnknownArgument = "drop"
    packs: tuple[str, ...] = ()
    enabled: bool = True
    log_normalizations: bool = True
    fail_on_normalization_failure: bool = True
    max_text: int = 1_000_000
    max_depth: int = 200
    providers: Mapping[str, ProviderSettings] = _NO_PROVIDERS
    tools: Mapping[str, PackTool] = _NO_TOOLS
    hosts: Mapping[str, HostSettings] = _NO_HOSTS
    rest: Mapping[str, Any] = _NOTHING
    version: int = VERSION
    source: str = "default policy"

    def for_provider(self, name: str | None) -> ProviderSettings:
        """The settings for a provider; its name's case does not matter."""
        key = (name or "").casefold()
        found = self.providers.get(key) or PROVIDER_DEFAULTS.get(key) or ProviderSettings()
        return found if self.enabled else ProviderSettings(enabled=False, strategies=found.strategies)

    def mode_for(self, tool: str, host: str | None = None, declared: Mode | None = None) -> Mode:
        """What happens to a call that does not fit.

        The policy's word on the tool wins, then its word on the host, then what a pack `declared`, then `[gate]`.
        """
        own = self.tools.get(tool)
        return (own.rules.mode if own else None) or self._host(host).mode or declared or self.mode

    def unknown_tool_for(self, host: str | None = None) -> UnknownTool:
        return self._host(host).unknown_tool or self.unknown_tool

    def unknown_argument_for(
        self, tool: str, host: str | None = None, declared: UnknownArgument | None = None
    ) -> UnknownArgument:
        """What happens to an argument the tool does not name, decided in the same order as the mode."""
        own = self.tools.get(tool)
        return (
            (own.rules.unknown_argument if own else None)
            or self._host(host).unknown_argument
            or declared
            or self.unknown_argument
        )

    def _host(self, host: str | None) -> HostSettings:
        return self.hosts.get(host or "") or HostSettings()


DEFAULT_POLICY = Policy()


def load_policy(policy: str | os.PathLike[str] | Mapping[str, Any] | Policy | None = None) -> Policy:
    """The policy from a file, from a dict of the same shape, or the default one.

    Raises PolicyError, which names the file, the line and what would be right. Only the named file is read.
    """
    if policy is None:
        return DEFAULT_POLICY
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, Mapping):
        return _read(Source("policy", PolicyError), policy, Path())
    file = os.fspath(policy)
    source = Source.read(file, PolicyError, "policy")
    return _read(source, source.parse(), Path(file).parent)


def _read(source: Source, document: Table, folder: Path) -> Policy:
    source.keys((), document, ("version", "gate", *LATER_TABLES))
    version = document.get("version", VERSION)
    if isinstance(version, bool) or version != VERSION:
        raise source.wrong(("version",), f"this RightCall reads version {VERSION} of the policy file, not {version!r}")
    rest = {key: source.table((key,), document[key]) for key in LATER_TABLES if key in document}
    gate = source.table(("gate",), document.get("gate", {}))
    source.keys(("gate",), gate, _GATE)
    settings = {key: _GATE[key](source, ("gate", key), value) for key, value in gate.items()}
    if "packs" in settings:
        settings["packs"] = tuple(str(folder / name) if is_pack_path(name) else name for name in settings["packs"])
    return Policy(**settings, rest=MappingProxyType(rest), source=source.name)


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


def _provider(source: Source, path: KeyPath, value: Any) -> ProviderSettings:
    table = source.table(path, value)
    source.keys(path, table, ("repair", "enabled", "strategies"))
    flags = {key: source.flag((*path, key), table[key]) for key in ("repair", "enabled") if key in table}
    if len(set(flags.values())) > 1:
        raise source.wrong((*path, "enabled"), "`repair` and `enabled` are two words for one setting and disagree")
    named = strategies(source, (*path, "strategies"), table["strategies"]) if "strategies" in table else None
    return ProviderSettings(enabled=next(iter(flags.values()), True), strategies=named)


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
        hosts[name] = HostSettings(**{key: _WORDS[key](source, (*place, key), item) for key, item in table.items()})
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
_GATE: dict[str, Any] = {
    **_WORDS,
    "packs": _packs,
    "enabled": Source.flag,
    "log_normalizations": Source.flag,
    "fail_on_normalization_failure": Source.flag,
    "max_text": _number(1, 1_000_000_000),
    "max_depth": _number(1, 1_000),
    "providers": _providers,
    "tools": _tools,
    "hosts": _hosts,
}
