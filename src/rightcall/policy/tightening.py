"""What a policy may say that nobody has trusted: only what makes the defaults stricter.

Each record of the policy has a table: for a field, how the default and what was said make the stricter of the two.
A field without a line in its table keeps its default, so that a key which is added to the policy counts for nothing
here until somebody says how it tightens.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from json import dumps
from types import MappingProxyType
from typing import Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.files.guarded import leaves_folder
from rightcall.catalog.packs import is_pack_path
from rightcall.catalog.toml import KeyPath, Source, dotted, line_of
from rightcall.catalog.tool import PackTool
from rightcall.errors import PolicyError
from rightcall.policy.commands import CommandRules, UrlRules
from rightcall.policy.effects import NO_WORDS, WORDED, EffectWords
from rightcall.policy.reader import read_policy
from rightcall.policy.settings import (
    HOST_NAMES,
    HOSTS,
    STAGES,
    Asking,
    Audit,
    Budgets,
    CacheSettings,
    CallerSettings,
    CodeSettings,
    ConsoleSettings,
    HostSettings,
    Limits,
    Paths,
    Policy,
    ProviderSettings,
    RouterSettings,
    SandboxSettings,
    Server,
    Settings,
    TelemetrySettings,
    WebSettings,
    Window,
    WriteSettings,
)
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

    >>> from rightcall import load_policy
    >>> said = load_policy({"gate": {"mode": "observe"}, "policy": {"stage": "full", "deny": ["code/log"]}})
    >>> strict = tighten(said)
    >>> strict.mode, strict.settings.stage, strict.settings.deny
    ('block', 'read-only', ('code/log',))
    """
    strict = narrow(Policy(), policy)
    said = policy.settings
    settings = replace(
        strict.settings,
        **denials(said),
        least=floors(said),
        tools=_stated({pattern: EffectWords(**denials(words)) for pattern, words in said.tools.items()}),
        least_of_tools=_stated({pattern: floors(words) for pattern, words in said.tools.items()}),
    )
    return replace(
        strict,
        settings=settings,
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


def _off_alone(default: bool | None, said: bool | None) -> bool | None:
    """It can be switched off. On, it would tell others what happens here."""
    return False if said is False else default


def _limit(default: int, said: int) -> int:
    """0 means any number."""
    return min(default or said, said or default)


def _later_word(words: tuple[str, ...]) -> Rule:
    """Of words in order of strictness, the stricter one."""
    return lambda default, said: max(default, said, key=words.index)


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
    """What is denied or asked of a server holds wherever its calls pass. Nothing is started or reached,
    and no tool is said to do less than everything."""
    return MappingProxyType(
        {name: Server(name, allow=one.allow, deny=one.deny, ask=one.ask, enabled=False) for name, one in said.items()}
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
        **denials(said),
        least=floors(said),
        budgets=None if said.budgets is None else narrow(Budgets(), said.budgets),
        calls_per_day=said.calls_per_day or None,
        tokens_per_day=said.tokens_per_day or None,
    )


def denials(said: Settings | CallerSettings | EffectWords) -> dict[str, Any]:
    """The words that are as strict wherever they count: the others may turn a tool on, or let it run."""
    return {effect: "deny" if getattr(said, effect) == "deny" else None for effect in WORDED}


def floors(said: Settings | CallerSettings | EffectWords) -> EffectWords:
    """The words that still make something stricter where they turn nothing on: a host that would run a call asks
    first, or shows it."""
    words: dict[str, Any] = {effect: getattr(said, effect) for effect in WORDED}
    floor: dict[str, Any] = {effect: word for effect, word in words.items() if word in ("ask", "dry-run")}
    return EffectWords(**floor)


def _stated(tools: dict[str, EffectWords]) -> Mapping[str, EffectWords]:
    return MappingProxyType({pattern: words for pattern, words in tools.items() if words != NO_WORDS})


def _path(default: str, said: str) -> str:
    return default if leaves_folder(said) else said


def _host(said: HostSettings, least: Mode) -> HostSettings:
    """`pass` and `keep` are the milder words; what says nothing leaves it to the door."""
    default = HostSettings()
    return HostSettings(
        mode=None if said.mode is None else stricter(said.mode, least),
        unknown_tool=None if said.unknown_tool == "pass" else said.unknown_tool,
        unknown_argument="refuse" if said.unknown_argument == "refuse" else None,
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
        "settings": narrow,
        "router": narrow,
        "sandbox": narrow,
        "write": narrow,
        "code": narrow,
        "cache": narrow,
        "web": narrow,
        "console": narrow,
        "telemetry": narrow,
    },
    Settings: {
        "preset": _take_as_is,  # its limits count by themselves
        "rounds": min,
        "repeats": _limit,
        "repeatable": _common,
        "quarantine": _limit,
        "deny": _both,
        "limits": narrow,
        "approval": narrow,
        "budgets": narrow,
        "budgets_of_tools": _table(Budgets()),
        "paths": narrow,
        "commands": narrow,
        "urls": narrow,
        "callers": _callers,
        "audit": narrow,
    },
    Limits: {
        "all": narrow,
        "caller": narrow,
        "tools": _table(Window()),
        "calls_per_day": _limit,
        "tokens_per_day": _limit,
    },
    Window: {"minute": _limit, "hour": _limit, "burst": _limit},
    Asking: {
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
    ConsoleSettings: {"enabled": _only_both},  # where it listens and under which name opens it to others
    TelemetrySettings: {"enabled": _off_alone},
}


# ── config requests ──
# What a policy file asks for beyond making things stricter: what a person is shown before trusting it.
#
# Nothing is listed by hand here: it is what the file says and `tighten` has not taken over, whatever that is.

_NO_KEYS = ("standing", "source", "digest", "version", "within", "pack", "name", "preset", "least", "least_of_tools")
"""Fields that are no keys of a file, or that permit nothing."""
_TABLES: Mapping[type[Struct], Mapping[str, KeyPath]] = {
    Policy: {
        "settings": ("policy",), "servers": ("servers",), "router": ("router",), "sandbox": ("sandbox",),
        "write": ("write",), "code": ("code",), "cache": ("cache",), "web": ("web",),
        "console": ("console",), "telemetry": ("telemetry",), "identity": ("identity",),
    },
    Settings: {
        "approvals": ("approvals",), "callers": ("callers",), "audit": ("audit",), "store": ("store",),
        "budgets_of_tools": ("policy", "budgets", "tools"),
    },
}  # fmt: skip
"""Where a record's fields stand in the file, if not under the record's own key."""
_FREE = STAGES["read-only"]


@cache
def _meanings() -> list[tuple[list[str], str]]:
    """The keys of `meanings.txt`, each with its words; `*` stands for a name that somebody chose."""
    with open(os.path.join(os.path.dirname(__file__), "meanings.txt"), encoding="utf-8") as stream:
        lines = [line.strip().partition(" = ") for line in stream if not line.startswith("#")]
    return [(key.split("."), words) for key, _, words in lines]


class Beyond(Struct, frozen=True):
    """One thing that a file asks for, and that counts only where the file is trusted."""

    key: str
    line: int
    value: str
    """Whole, as JSON: nothing in it can disguise the line it is shown in."""
    meaning: str


def requests_of(file: str, raw: bytes) -> list[Beyond]:
    """Everything that the bytes of a policy file ask for beyond tightening. Raises PolicyError."""
    source = Source.of_bytes(file, PolicyError, raw)
    policy = read_policy(source, source.parse(), "")
    asked = _beyond(policy, tighten(policy), ())
    return sorted(
        (
            Beyond(
                dotted(path), line_of(source.lines, path), dumps(_plain(value), ensure_ascii=True), meaning(path, value)
            )
            for path, value in asked
        ),
        key=lambda one: (one.line, one.key),
    )


def ignored_keys(policy: Policy, tight: Policy) -> list[str]:
    """The same as keys alone, for a line in a log."""
    return list(dict.fromkeys(dotted(path) for path, _ in _beyond(policy, tight, ())))


def meaning(path: KeyPath, value: object = None) -> str:
    """What it comes to, in a few words, none of which are the file's.

    >>> meaning(("servers", "x", "command"))
    'starts a program'
    >>> meaning(("gate", "hosts", "claude-code", "mode"), "observe")
    'stops blocking at claude-code: calls are only recorded'
    """
    if path[0] == "gate" and path[-1] == "mode" and (mild := _MILDER.get(str(value))) is not None:
        return f"stops blocking{_where(path)}: {mild}"
    for pattern, words in _meanings():
        if len(path) >= len(pattern) and all(one in ("*", here) for one, here in zip(pattern, path, strict=False)):
            return words
    return "permits more than the default"


_MILDER = {"observe": "calls are only recorded", "warn": "the model is only warned"}


def _where(path: KeyPath) -> str:
    if path[1] == "tools":
        return " for this tool"
    if path[1] == "hosts":
        name = HOST_NAMES.get(str(path[2]), path[2])
        return f" at {name}" if name in HOSTS else " at this host"
    return ""


def _beyond(said: Struct, tight: Struct, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """The fields of one record in which the two differ."""
    for name in said.__struct_fields__:
        one, other = getattr(said, name), getattr(tight, name)
        if name in _NO_KEYS or one == other or _asks_nothing(said, name, one):
            continue
        yield from _difference(one, other, _place(said, name, path))


def _difference(said: Any, tight: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    if isinstance(said, Struct):
        if type(tight) is type(said):
            yield from _beyond(said, tight, path)
            return
        said = _unlike_defaults(said)
    if isinstance(said, Mapping):
        under = cast("Mapping[str, Any]", tight if isinstance(tight, Mapping) else {})
        over = cast("Mapping[str, Any]", said)
        for key, one in over.items():
            if one != under.get(key):
                yield from _difference(one, under.get(key), (*path, key))
        yield from (((*path, key), _without(under[key])) for key in under if key not in over)
    elif isinstance(said, tuple) and isinstance(tight, tuple):
        known = cast("tuple[Any, ...]", tight)
        given = cast("tuple[Any, ...]", said)
        more = [one for one in given if one not in known]
        dropped = [one for one in known if one not in given]
        if more:
            yield path, more
        if dropped:
            yield path, _without(dropped)
    elif said is not None:
        yield path, said


def _without(value: Any) -> dict[str, Any]:
    """A rule that holds by itself, and would not hold under this file."""
    return {"without": value}


def _unlike_defaults(record: Struct) -> dict[str, Any]:
    """What a record says that a table without these keys would not say."""
    fields, defaults = record.__struct_fields__, record.__struct_defaults__
    usual = dict(zip(fields[len(fields) - len(defaults) :], defaults, strict=True))
    said = {name: getattr(record, name) for name in fields}
    return {name: value for name, value in said.items() if name not in usual or value != usual[name]}


def _place(record: Struct, name: str, path: KeyPath) -> KeyPath:
    moved = _TABLES.get(type(record), {}).get(name)
    if moved is not None:
        return moved
    if isinstance(record, Policy):
        return ("gate", name)
    if isinstance(record, PackTool):  # what is said of its arguments stands in the tool's own table
        return path if name == "rules" else (*path, "parameters" if name == "schema" else name)
    return (*path, name)


def _asks_nothing(record: Struct, name: str, said: Any) -> bool:
    """Whether a field differs only because it was said in another way, or has the default that every file has."""
    if isinstance(record, CallerSettings) and name in ("stage", "only"):
        return said == "read-only" or (name == "only" and set(said or ()) <= _FREE)
    if isinstance(record, HostSettings | Rules):
        return said is None
    return name == "enabled" and said is True and not isinstance(record, TelemetrySettings)


def _plain(value: Any) -> Any:
    if isinstance(value, Struct):
        return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in cast("list[Any]", value)]
    return value
