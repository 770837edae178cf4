"""What `[policy]`, `[callers]` and `[audit]` of the policy file say, as frozen records. The defaults are a file's that
says nothing. `rights_of` turns them into what holds for one caller."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from msgspec import Struct
from msgspec.json import encode
from msgspec.structs import replace

from rightcall.commands import CommandRules, UrlRules
from rightcall.text.patterns import is_pattern, matches
from rightcall.types import Effect

StageName = Literal["read-only", "sandbox", "limited-write", "full"]
Preset = Literal["personal", "swarm"]
Records = Literal["own", "all"]
"""Whose records a caller sees with the tools that show the audit."""

_READ_ONLY = frozenset(
    (
        "code/read", "code/search", "code/list", "code/diff", "code/log", "code/blame", "code/show",
        "data/list", "data/read", "ping", "debug/logs", "system/monitor", "ai/report", "analytics/tool-usage",
    )
)  # fmt: skip
_SANDBOX = _READ_ONLY | {"code/execute/python", "code/execute/javascript", "screenshot"}
_LIMITED = _SANDBOX | {"file/save", "code/create-branch", "code/create-test"}
STAGES: Mapping[StageName, frozenset[str]] = MappingProxyType(
    {
        "read-only": _READ_ONLY,
        "sandbox": _SANDBOX,
        "limited-write": _LIMITED,
        "full": _LIMITED | {"code/edit", "code/commit", "code/pull-request", "code/review", "code/merge"},
    }
)
"""The allowlists of design 002 §7; `full` is its phase 4. Each contains the one before."""


class Window(Struct, frozen=True):
    """How many calls may start within a minute, an hour, and (`burst`) a second; 0 means any number."""

    minute: int = 0
    hour: int = 0
    burst: int = 0


class Limits(Struct, frozen=True):
    """`tools` counts each caller's calls of that tool, besides the caller's own limit; the stricter wins."""

    all: Window = Window(1000, 20_000)
    caller: Window = Window(100, 2000, 30)
    tools: Mapping[str, Window] = MappingProxyType(
        {"code/read": Window(50), "code/search": Window(30), "code/execute/python": Window(20)}
    )


PRESETS: Mapping[Preset, Limits] = MappingProxyType(
    {
        "personal": Limits(),
        "swarm": Limits(
            all=Window(100, 2000),
            caller=Window(10, 200, 3),
            tools=MappingProxyType(
                {"code/read": Window(5), "code/search": Window(3), "code/execute/python": Window(2)}
            ),
        ),
    }
)
"""`swarm` has the numbers of design 002 §8; `personal`, for one's own client on one's own machine, ten times those."""


class Asking(Struct, frozen=True):
    """`[policy.approval]`: which calls need a person."""

    effects: tuple[Effect, ...] = ("write", "execute")
    tools: tuple[str, ...] = ()
    """These ask, whatever their effects; names or patterns."""
    never: tuple[str, ...] = ()
    """These do not ask for their effects. A changed definition and an uncertain repair still do."""
    expires: int = 600
    """Seconds until an unanswered question counts as no, and an unused yes as void."""
    confidence: float = 0.9
    """A repaired call with side effects below this always asks."""
    definitions: bool = True
    """Whether a tool whose definition or server changed asks before it runs again."""
    waiting: int = 20
    """Questions of one caller that may wait at a time, and"""
    waiting_bytes: int = 1_000_000
    """how much they may hold together."""


class Budgets(Struct, frozen=True):
    """`[policy.budgets]`: what one call may cost."""

    seconds: float = 30.0
    """How long a tool may run."""
    tokens: int = 4000
    """How much of its result a model is shown."""
    output: int = 1_000_000
    """Bytes of result that are kept at all."""
    parallel: int = 8
    """Calls of one message that run at once."""


class Paths(Struct, frozen=True):
    """`[policy.paths]`: patterns below the root. `allow` makes exceptions to the built-in secret names."""

    deny: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    dotfiles: tuple[str, ...] = ()
    """Dotfiles that may be read, besides the built-in list."""


class CallerSettings(Struct, frozen=True):
    """`[callers.NAME]`; None means: as `[policy]` says."""

    stage: StageName | None = None
    allow: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None
    """Replaces stage and `allow` altogether."""
    within: tuple[str, ...] | None = None
    """The tools that the caller may use of those that it may use anyway. No key of a file: what is left of `stage` and
    `only` where a file can only tighten."""
    deny: tuple[str, ...] = ()
    limits: Window | None = None
    """Complete: what the table does not say was taken from `[policy.limits]` when it was read."""
    dry_run: bool | None = None
    budgets: Budgets | None = None
    records: Records | None = None


class Audit(Struct, frozen=True):
    """`[audit]`. A relative path counts from the folder of the policy file."""

    path: str = ".rightcall/audit.db"
    redact: tuple[str, ...] = ()
    """Names of arguments that are secret, besides the built-in ones."""


class Settings(Struct, frozen=True):
    """All of it together."""

    preset: Preset = "personal"
    stage: StageName = "read-only"
    dry_run: bool = True
    rounds: int = 5
    repeats: int = 3
    repeatable: tuple[str, ...] = ()
    """Tools that clients may poll: the same call again and again is no loop. Names or patterns."""
    quarantine: int = 5
    """Refusals of the same call within an hour after which it is not even looked at; 0 means never."""
    records: Records = "own"
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    limits: Limits = Limits()
    approval: Asking = Asking()
    budgets: Budgets = Budgets()
    budgets_of_tools: Mapping[str, Budgets] = MappingProxyType({})
    paths: Paths = Paths()
    commands: CommandRules = CommandRules()
    urls: UrlRules = UrlRules()
    callers: Mapping[str, CallerSettings] = MappingProxyType({})
    audit: Audit = Audit()


class Rights(Struct, frozen=True):
    """What holds for one caller: `Settings` with its own table laid over. Built once per policy and caller."""

    caller: str
    stage: StageName | None
    """None: `only` has taken its place."""
    listed: frozenset[str]
    """Tools allowed by name."""
    patterns: tuple[str, ...]
    """Tools allowed by pattern."""
    origin: Mapping[str, str]
    """The rule id for each of the names and patterns that do not come from the stage."""
    deny: Mapping[str, str]
    """Names and patterns that are denied, each with its rule id."""
    within: tuple[str, ...] | None
    """Names and patterns besides which nothing is allowed; None: nothing of the kind was said."""
    own: bool
    """Whether functions of the program that only read are allowed without being named."""
    all: Window
    window: Window
    tools: Mapping[str, Window]
    dry_run: bool
    repeats: int
    quarantine: int
    approval: Asking
    budgets: Budgets
    budgets_of_tools: Mapping[str, Budgets]
    paths: Paths
    records: Records = "own"
    commands: CommandRules = CommandRules()
    urls: UrlRules = UrlRules()
    repeatable: tuple[str, ...] = ()
    digest: str = ""
    """Of everything above: results are cached by rights, and a record names them."""


def rights_of(settings: Settings, caller: str) -> Rights:
    """What the policy says of a caller; of one it does not name, what it says of everybody."""
    own = settings.callers.get(caller) or CallerSettings()
    stage = own.stage or settings.stage
    given = dict.fromkeys(settings.allow, "policy:allow") | dict.fromkeys(own.allow, "caller:allow")
    if own.only is not None:
        given = dict.fromkeys(own.only, "caller:only")
    listed = frozenset(name for name in given if not is_pattern(name))
    rights = Rights(
        caller=caller,
        stage=None if own.only is not None else stage,
        listed=listed if own.only is not None else listed | STAGES[stage],
        patterns=tuple(name for name in given if is_pattern(name)),
        origin=MappingProxyType(given),
        deny=MappingProxyType(
            dict.fromkeys(settings.deny, "policy:deny") | dict.fromkeys(own.deny, "caller:deny"),
        ),
        within=own.within,
        own=own.only is None,
        all=settings.limits.all,
        window=own.limits or settings.limits.caller,
        tools=settings.limits.tools,
        dry_run=settings.dry_run if own.dry_run is None else own.dry_run,
        repeats=settings.repeats,
        quarantine=settings.quarantine,
        approval=settings.approval,
        budgets=own.budgets or settings.budgets,
        budgets_of_tools=_budgets_of_tools(settings, own),
        paths=settings.paths,
        records=records_of(settings, caller),
        commands=settings.commands,
        urls=settings.urls,
        repeatable=settings.repeatable,
    )
    return with_digest(rights)


def is_repeatable(rights: Rights, tool: str) -> bool:
    """Whether the policy lets a tool be polled. As with permissions, the whole name counts (`jobs/status`)."""
    return bool(rights.repeatable) and any(matches(pattern, tool) for pattern in rights.repeatable)


def records_of(settings: Settings, caller: str) -> Records:
    """Whose records a caller sees."""
    own = settings.callers.get(caller)
    return (own.records if own is not None else None) or settings.records


def _budgets_of_tools(settings: Settings, own: CallerSettings) -> Mapping[str, Budgets]:
    """For each tool with budgets of its own, what this caller has there: of two words on one budget the stricter."""
    if own.budgets is None:
        return settings.budgets_of_tools
    return MappingProxyType(
        {tool: _stricter(settings.budgets, own.budgets, of_tool) for tool, of_tool in settings.budgets_of_tools.items()}
    )


def _stricter(everybody: Budgets, caller: Budgets, tool: Budgets) -> Budgets:
    """Whoever says the same as `[policy.budgets]` has no word of its own."""
    found = dict[str, float]()
    for field in Budgets.__struct_fields__:
        said = {getattr(caller, field), getattr(tool, field)}
        found[field] = min(said - {getattr(everybody, field)} or said)
    return replace(tool, **found)


def with_digest(rights: Rights) -> Rights:
    """The same with its own digest: whoever changes rights says so."""
    from hashlib import sha256

    # `dict` for the read-only mappings, which the encoder does not know
    plain = encode(replace(rights, digest=""), order="deterministic", enc_hook=dict)
    return replace(rights, digest=sha256(plain).hexdigest()[:16])
