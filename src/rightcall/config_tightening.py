"""What a policy may say that nobody has trusted: only what makes the defaults stricter.

Each record of the policy has a table: for a field, how the default and what was said make the stricter of the two.
A field without a line in its table keeps its default, so that a key which is added to the policy counts for nothing
here until somebody says how it tightens.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from rightcall.catalog import PackTool
from rightcall.commands import CommandRules, UrlRules
from rightcall.config import HostSettings, Policy, ProviderSettings
from rightcall.config_found import leaves_folder
from rightcall.config_hands import CacheSettings, CodeSettings, SandboxSettings, WebSettings, WriteSettings
from rightcall.config_router import RouterSettings
from rightcall.config_servers import Server
from rightcall.config_settings import (
    STAGES,
    Asking,
    Audit,
    Budgets,
    CallerSettings,
    Limits,
    Paths,
    Settings,
    Window,
)
from rightcall.packs import is_pack_path
from rightcall.types import Mode, Rules

S = TypeVar("S", bound=Struct)
Rule = Callable[[Any, Any], Any]
"""From the default and what was said, the stricter."""

_MODES = ("observe", "warn", "block")
_UNKNOWN_TOOL = ("pass", "suggest", "refuse")
_UNKNOWN_ARGUMENT = ("keep", "drop", "refuse")


def tighten(policy: Policy, least: Mode = "block") -> Policy:
    """The defaults, made stricter by what a policy says. `least` is the mode that was set up by hand: the stricter of
    the two counts.

    >>> from rightcall.config import load_policy
    >>> said = load_policy({"gate": {"mode": "observe"}, "policy": {"stage": "full", "deny": ["code/log"]}})
    >>> strict = tighten(said)
    >>> strict.mode, strict.settings.stage, strict.settings.deny
    ('block', 'read-only', ('code/log',))
    """
    strict = narrow(Policy(), policy)
    return replace(
        strict,
        mode=stricter(policy.mode, least),
        hosts=MappingProxyType({name: _host(said, least) for name, said in policy.hosts.items()}),
        tools=MappingProxyType({name: _tool(said, least) for name, said in policy.tools.items()}),
        source=policy.source,
        digest=policy.digest,
        standing="tightened",
    )


def narrow(default: S, said: S) -> S:
    """Every field by its rule; one without a rule stays as the default has it."""
    rules = _RULES[type(default)]
    return replace(default, **{name: rule(getattr(default, name), getattr(said, name)) for name, rule in rules.items()})


def stricter(one: Mode, other: Mode) -> Mode:
    """
    >>> stricter("observe", "block"), stricter("warn", "observe")
    ('block', 'warn')
    """
    return one if _MODES.index(one) >= _MODES.index(other) else other


# How two words become the stricter one


def _take_as_is(_default: Any, said: Any) -> Any:
    """It permits nothing, and is only shown."""
    return said


def _both(default: tuple[Any, ...], said: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys((*default, *said)))


def _common(default: tuple[Any, ...], said: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(one for one in default if one in said)


def _nothing_else(default: tuple[Any, ...], said: tuple[Any, ...]) -> tuple[Any, ...]:
    """A list besides which nothing is allowed; the default is empty, and allows everything."""
    return said or default


def _either(default: bool, said: bool) -> bool:
    return default or said


def _only_both(default: bool, said: bool) -> bool:
    return default and said


def _limit(default: int, said: int) -> int:
    """0 means any number."""
    return min(default or said, said or default)


def _later_word(words: tuple[str, ...]) -> Rule:
    """Of words in order of strictness, the stricter one."""
    return lambda default, said: max(default, said, key=words.index)


def _inner(default: Struct, said: Struct) -> Struct:
    return narrow(default, said)


def _table(empty: Struct) -> Rule:
    """Tables by name. What the defaults do not name is narrowed from `empty`."""

    def rule(default: Mapping[str, Any], said: Mapping[str, Any]) -> Mapping[str, Any]:
        own = {name: narrow(default.get(name, empty), one) for name, one in said.items()}
        return MappingProxyType({**default, **own})

    return rule


def _providers(_default: Any, said: Mapping[str, ProviderSettings]) -> Mapping[str, ProviderSettings]:
    """A provider's calls can be left unrepaired, which refuses more of them."""
    return MappingProxyType({name: one for name, one in said.items() if not one.enabled})


def _shipped(_default: Any, said: tuple[str, ...]) -> tuple[str, ...]:
    """Packs of ours. One that is named by its path may have come with the policy."""
    return tuple(name for name in said if not is_pack_path(name))


def _servers(_default: Any, said: Mapping[str, Server]) -> Mapping[str, Server]:
    """What is denied, asked or only rehearsed of a server holds wherever its calls pass. Nothing is started or reached,
    and no tool is said to do less than everything."""
    return MappingProxyType(
        {
            name: Server(name, allow=one.allow, deny=one.deny, ask=one.ask, dry_run=one.dry_run, enabled=False)
            for name, one in said.items()
        }
    )


def _callers(_default: Any, said: Mapping[str, CallerSettings]) -> Mapping[str, CallerSettings]:
    return MappingProxyType({name: _caller(one) for name, one in said.items()})


def _caller(said: CallerSettings) -> CallerSettings:
    """A list of tools that a caller may use permits none of them here, and keeps the caller from all others."""
    within = said.only
    if within is None and said.stage is not None:
        within = (*sorted(STAGES[said.stage]), *said.allow)
    return CallerSettings(
        within=within,
        deny=said.deny,
        limits=None if said.limits is None else narrow(Limits().caller, said.limits),
        dry_run=True if said.dry_run else None,
        budgets=None if said.budgets is None else narrow(Budgets(), said.budgets),
    )


def _path(default: str, said: str) -> str:
    return default if leaves_folder(said) else said


def _host(said: HostSettings, least: Mode) -> HostSettings:
    """`pass` and `keep` are the milder words; what says nothing leaves it to the door."""
    default = HostSettings()
    return HostSettings(
        mode=None if said.mode is None else stricter(said.mode, least),
        unknown_tool=None if said.unknown_tool == "pass" else said.unknown_tool,
        unknown_argument="refuse" if said.unknown_argument == "refuse" else None,
        ask=said.ask,
        on_failure=None if least == "block" else said.on_failure,
        deadline=default.deadline,  # after a shorter one a call may pass unjudged, and so may one that a host awaits
    )


def _tool(said: PackTool, least: Mode) -> PackTool:
    """Nothing that could put words into a call or take a rule of its own from it: what a file says of arguments takes
    the place of what is known of them."""
    rules = Rules(
        mode=None if said.rules.mode is None else stricter(said.rules.mode, least),
        unknown_argument="refuse" if said.rules.unknown_argument == "refuse" else None,
    )
    return PackTool(said.name, rules=rules, pack=said.pack)


_RULES: dict[type[Struct], dict[str, Rule]] = {
    Policy: {
        "unknown_tool": _later_word(_UNKNOWN_TOOL),
        "unknown_argument": _later_word(_UNKNOWN_ARGUMENT),
        "packs": _shipped,
        "enabled": _only_both,
        "max_text": min,
        "max_depth": min,
        "providers": _providers,
        "servers": _servers,
        "settings": _inner,
        "router": _inner,
        "sandbox": _inner,
        "write": _inner,
        "code": _inner,
        "cache": _inner,
        "web": _inner,
    },
    Settings: {
        "preset": _take_as_is,  # its limits count by themselves
        "dry_run": _either,
        "rounds": min,
        "repeats": _limit,
        "repeatable": _common,
        "quarantine": _limit,
        "deny": _both,
        "limits": _inner,
        "approval": _inner,
        "budgets": _inner,
        "budgets_of_tools": _table(Budgets()),
        "paths": _inner,
        "commands": _inner,
        "urls": _inner,
        "callers": _callers,
        "audit": _inner,
    },
    Limits: {"all": _inner, "caller": _inner, "tools": _table(Window())},
    Window: {"minute": _limit, "hour": _limit, "burst": _limit},
    Asking: {
        "effects": _both,
        "tools": _both,
        "expires": min,
        "confidence": max,
        "definitions": _either,
        "waiting": min,
        "waiting_bytes": min,
    },
    Budgets: {"seconds": min, "tokens": min, "output": min, "parallel": min},
    Paths: {"deny": _both},
    CommandRules: {"deny": _both, "ask": _both, "starter": _either},
    UrlRules: {"deny": _both, "ask": _both, "starter": _either},
    Audit: {"path": _path, "redact": _both},
    RouterSettings: {
        "enabled": _only_both,
        "threshold": max,
        "reinjections": min,
        "candidates": min,
        "selection_tokens": min,
        "review_tokens": min,
        "answer_tokens": min,
        "seconds": min,
        "model_seconds": min,
        "tokens": min,
    },
    SandboxSettings: {
        "seconds": min,
        "memory": min,
        "processes": min,
        "scratch": min,
        "output": min,
        "tier": _later_word(("landlock", "namespaces")),
    },
    CodeSettings: {"largest_file": min},  # a structure with every read costs tokens, so it has no line
    CacheSettings: {"enabled": _only_both, "entries": min, "bytes": min, "seconds": min},
    WriteSettings: {
        "folders": _common,
        "tests": _common,
        "protected": _both,
        "frozen": _both,
        "locked": _both,
        "reviews": max,
    },
    WebSettings: {  # `networks` and `search` open something, and so stay closed
        "seconds": min,
        "bytes": min,
        "redirects": min,
        "ports": _common,
        "sites": _nothing_else,
    },
}
