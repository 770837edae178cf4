"""The records of running a call: the rights of its caller, what is asked of the policy, what it decides, what came of
it. Frozen.

Verdict ─▶ Request ─▶ Decision ─▶ Result ─▶ Outcome
          authorise      record, execute      present
"""

from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final, Literal, Protocol

from msgspec import Struct
from msgspec.json import encode
from msgspec.structs import replace

from rightcall.base.globs import is_pattern
from rightcall.policy.commands import CommandRules, UrlRules
from rightcall.policy.effects import EffectWord, EffectWords, Words, narrow_to, shipped_on, strictest, words_of
from rightcall.policy.settings import (
    STAGES,
    Asking,
    Budgets,
    CallerSettings,
    Notices,
    Paths,
    Records,
    Settings,
    StageName,
    Window,
    records_of,
    settings_of,
    tokens_per_day,
)
from rightcall.types import Effect

# ── rights ──
# What `rights_of` makes of the policy's settings for one caller.


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
    words: Words
    """What calls that write, execute or use the network may do."""
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
    approvals: Notices = Notices()
    calls_per_day: int = 0
    tokens_per_day: int = 0
    digest: str = ""
    """Of everything above: results are cached by rights, and a record names them."""


def rights_of(settings: Settings, caller: str, unset: EffectWord | None = "dry-run") -> Rights:
    """What the policy says of a caller; of one it does not name, what it says of everybody. `unset` is what calls that
    write or execute may do where nobody has said it: it differs with who runs the tools."""
    own = settings_of(settings, caller) or CallerSettings()
    stage = own.stage or settings.stage
    words = words_of(
        _said(settings), _said(own), settings.tools, unset=unset, least=_least(settings.least, own.least),
        least_of_tools=settings.least_of_tools,
    )  # fmt: skip
    if own.stage is not None:
        words = narrow_to(_said(own), words)
    given = dict.fromkeys(settings.allow, "policy:allow") | dict.fromkeys(own.allow, "caller:allow")
    given = {tool: rule for tool, rule in shipped_on(words).items() if tool not in STAGES[stage]} | given
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
        words=words,
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
        approvals=settings.approvals,
        calls_per_day=settings.limits.calls_per_day if own.calls_per_day is None else own.calls_per_day,
        tokens_per_day=tokens_per_day(settings, caller),
    )
    return with_digest(rights)


def _said(table: Settings | CallerSettings) -> EffectWords:
    return EffectWords(table.write, table.execute, table.network)


def _least(one: EffectWords, other: EffectWords) -> EffectWords:
    return EffectWords(
        strictest(one.write, other.write), strictest(one.execute, other.execute), strictest(one.network, other.network)
    )


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
    # `dict` for the read-only mappings, which the encoder does not know
    plain = encode(replace(rights, digest=""), order="deterministic", enc_hook=dict)
    return replace(rights, digest=sha256(plain).hexdigest()[:16])


# ── calls ──

DecisionKind = Literal["allow", "dry_run", "ask", "deny"]
"""`dry_run`: show what would happen and change nothing. `ask`: not before a person has said yes."""

Status = Literal["pending", "success", "failed", "refused", "interrupted", "waiting"]
"""Of a call in the audit. `pending`: it has begun; `waiting`: for a person; `interrupted`: its process ended first."""

DEFAULT_CALLER = "default"
"""Who calls where nobody says it."""

MINUTE, HOUR, SECOND = 60_000_000_000, 3_600_000_000_000, 1_000_000_000
"""In nanoseconds, as all times of the monotonic clock are."""


class Decision(Struct, frozen=True):
    """What the policy says of one request, and by which rule. `reason` is for the model: it never names what the
    caller may not know."""

    kind: DecisionKind
    rule: str
    """Its id, such as `stage:read-only`, `caller:deny` or `limit:caller:minute`; docs/concepts/policy-order.md: all."""
    reason: str = ""
    hint: str | None = None
    retry_after: float | None = None
    """Seconds, where waiting helps."""
    approval: str | None = None
    """The approval that this decision waits for (`ask`) or uses (`allow`)."""
    grant: str | None = None
    """The grant given in advance that this decision uses."""
    earlier: int | None = None
    """The record of an earlier identical call, where that is the reason."""


class Finding(Struct, frozen=True):
    """Something in a command or an address that stops it from running as it is."""

    answer: Literal["ask", "deny"]
    rule: str
    why: str
    """One line for a person, escaped."""


class Scope(Struct, frozen=True):
    """What a limit counts together: its name in the store, and for each window how many calls may start in it."""

    name: str
    windows: tuple[tuple[int, int, str], ...]
    """(calls, nanoseconds, rule id)"""


class Origin(Struct, frozen=True):
    """How an MCP server is reached. `digest` covers the command or URL as they are; `described` is what people see."""

    server: str
    """Its name, after the door that knows of it: `wrap:files`."""
    digest: str
    described: str
    """JSON, without secrets."""


UNKNOWN = "unknown"
"""How a state begins that could not be told."""


class Request(Struct, frozen=True):
    """Everything a decision is made of, apart from the shared tables. Frozen: a decision can be replayed from it."""

    caller: str
    tool: str
    """Its canonical name."""
    arguments: dict[str, Any]
    canonical: bytes
    """The call as it is shown, approved, executed and recorded."""
    digest: str
    """Of `canonical`."""
    definition: str
    """Digest of the tool's definition."""
    effects: frozenset[Effect]
    """A batch's are its own and those of all the tools it would run."""
    rights: Rights
    """What the policy says of this caller."""
    at: int
    """Monotonic nanoseconds."""
    state: str = ""
    """Digest of what the call touches: its files, or whatever the tool declares."""
    scopes: tuple[Scope, ...] = ()
    own: bool = False
    """A function of this program."""
    permit: str = ""
    """The rule that permits it where no list names it: it is the tool of a host, or of a server of the policy's."""
    called: tuple[str, ...] = ()
    """Other names under which a rule may deny it or have it ask: without the server before it."""
    repeatable: bool = False
    unsure: bool = False
    """The state may hide a change: whether there was one is seen from what the same call gave before."""
    dry_run: bool = False
    asks: frozenset[Effect] = frozenset()
    """Effects for which its maker wants a person asked, also where the policy would not."""
    rehearse: frozenset[Effect] = frozenset()
    """Effects of which its maker wants no more than a dry run, also where the policy would run it."""
    truncated: bool = False
    repaired: bool = False
    confidence: float = 1.0
    paths: tuple[tuple[str, str], ...] = ()
    """The arguments that are paths: as written, and resolved below the root (one that starts with `/` is outside)."""
    root: str = ""
    """What they are below: the root after every link. Empty where no path had to be followed."""
    alone: bool = False
    """Whether each was seen to have no second name, or not to be there."""
    guesses: bool = False
    """Nobody said which arguments are paths: those count that are named like one."""
    outside: tuple[str, ...] = ()
    """Folders outside the root, below which the tool's paths may be too."""
    linked: bool = False
    """Whether one of them goes through a link: what is written is not what is touched."""
    findings: tuple[Finding, ...] = ()
    """What is found in the arguments that are commands or addresses."""
    commanded: tuple[str, ...] = ()
    """Those arguments, by name."""
    command_paths: tuple[tuple[str, str, bool], ...] = ()
    """Paths that are visible in them: as written, resolved like `paths`, and whether they are written to."""
    inner: tuple[str, ...] = ()
    """Tools that a batch would run; "" for a call that does not name exactly one."""
    approval: str | None = None
    """An approval's id, when the caller names one."""
    context: str | None = None
    """The conversation or session it belongs to, where its host tells."""
    turn: str = ""
    """The request of a person that it belongs to, where identical calls count within that one alone."""
    origin: Origin | None = None
    """Where its tool comes from, for the tool of an MCP server of which that is known."""

    @property
    def side_effects(self) -> bool:
        """Whether running it can do more than read."""
        return not self.effects <= READING


READING: frozenset[Effect] = frozenset[Effect](("read",))


class Mark(Struct, frozen=True):
    """One start of a call in a scope: when, and under which record."""

    at: int
    call: int


class Spent(Struct, frozen=True):
    """What a caller has used up of a day (UTC, by the store's clock)."""

    day: str
    caller: str
    calls: int = 0
    tokens: int = 0


ApprovalStatus = Literal["waiting", "approved", "denied", "used", "expired"]


class Approval(Struct, frozen=True):
    """A question to a person, and its answer. Bound to `binding`: caller, canonical call, definition, state and
    context; that of a changed definition or server to what it is now, for every caller."""

    id: str
    kind: Literal["call", "definition", "server"]
    caller: str
    tool: str
    """Its name; that of the server where the question is about one."""
    canonical: str
    """The whole call (or definition, or how the server is reached) as JSON. Emptied once used, denied or expired."""
    digest: str
    binding: str
    definition: str
    state: str
    why: str
    """The rule that asks, and its reason."""
    details: str
    """JSON: repairs, confidence, effects, preview; what a person should see beside the call."""
    asked_at: int
    """Monotonic nanoseconds."""
    asked: str
    """The same moment as people write it, in UTC."""
    expires_at: int
    status: ApprovalStatus = "waiting"
    by: str = ""
    answered: str = ""
    used_by: int = 0
    """The record of the call that used it."""
    context: str | None = None
    """As the record has it; None for a call without one."""


class Grant(Struct, frozen=True):
    """A yes in advance: calls of one tool by one caller, as often as `uses` says, until it expires."""

    id: str
    caller: str
    tool: str
    where: Mapping[str, Any]
    """Arguments a call must have: a value, or for text a pattern with `*`. Empty: any arguments."""
    uses: int
    """How often it may still be used."""
    expires_at: int
    by: str
    made: str
    note: str = ""


class Pause(Struct, frozen=True):
    """The emergency stop: who pulled it, when (UTC) and why."""

    by: str
    since: str
    reason: str = ""


PAUSED = Decision(
    "deny", "paused", "All tool calls are paused by the operator",
    "Do not retry. Tell the user that tool calls are paused, and go on without them.",
)  # fmt: skip
"""What is decided while it holds. The operator's own reason is for people."""


def caller_for(issuer: str, subject: str) -> str:
    """The caller of a login that belongs to one person, whom an identity provider knows: several may be one caller of
    the policy."""
    return f"{issuer}#{subject}"


def subject_in(caller: str) -> str:
    """Of such a caller; empty for one of the policy."""
    issuer, _, subject = caller.partition("#")
    return subject if issuer.startswith(("https://", "http://")) else ""


class Token(Struct, frozen=True):
    """A credential that speaks for one caller over HTTP. The token itself is kept nowhere."""

    id: str
    caller: str
    digest: str
    """SHA-256 of the token."""
    expires: str
    """UTC, as the audit writes it; empty for never."""
    by: str
    made: str
    """UTC."""
    note: str = ""


May = Literal["look", "approve"]
"""What a person may do in the console: read everything, or also answer approvals."""


class Credential(Struct, frozen=True):
    """What lets a person into the console: their own credential, a login link that counts once, or the session that
    one of them began. The secret itself is kept nowhere."""

    id: str
    kind: Literal["person", "link", "session", "login"]
    """`login`: the name of a login with an identity provider that was used, so that it is used once."""
    person: str
    may: May
    digest: str
    """SHA-256 of the secret; empty for a person who comes in by links alone."""
    expires: str
    """UTC, as the audit writes it; empty for never."""
    by: str
    made: str
    """UTC."""


class Facts(Protocol):
    """What a policy may ask of the shared tables, inside the transaction in which the decision is recorded."""

    def paused(self) -> Pause | None:
        """The emergency stop, while it holds."""
        ...

    def nth_last(self, scope: str, n: int) -> Mark | None:
        """The n-th last start in a scope (1 is the last), None when there were fewer."""
        ...

    def changes(self) -> int:
        """A number that grows when a call with side effects begins or ends that is not the very one that did so last.
        The same number: nothing changed, unless by the same call again."""
        ...

    def definition(self, tool: str) -> str | None:
        """The digest under which a tool is known; None when it was never seen."""
        ...

    def approval(self, id: str) -> Approval | None: ...

    def answered(self, binding: str) -> Approval | None:
        """The newest approval for exactly this call that still matters: approved and unused, else denied, else
        waiting; None when there is none."""
        ...

    def grants(self, caller: str, tool: str) -> tuple[Grant, ...]: ...

    def spent(self, caller: str) -> Spent:
        """What this caller has used up today."""
        ...

    def wall(self) -> str:
        """The present time as it is written down, UTC."""
        ...


class Result(Struct, frozen=True):
    """What a tool gave: a value, or an error. Never an exception."""

    ok: bool
    value: Any = None
    error: str | None = None
    seconds: float = 0.0
    cached: bool = False
    cut: str | None = None
    """What was left out, where the output was over its cap."""
    plain: bool = False
    """The error is a sentence of ours, which a model may read as it is; any other is a tool's own text."""


class Metadata(Struct, frozen=True):
    """How a call went. Times in milliseconds."""

    execution_time: float = 0.0
    token_estimate: int = 0
    cached: bool = False
    call: int = 0
    """The number of its record in the audit, 0 when there is none."""
    recorded: bool = True
    """Whether the outcome stands in the audit. False: it ran, but the store failed afterwards; it is written later."""
    stages: Mapping[str, float] = {}


RENAMED = frozenset(("tool_alias", "tool_namespace", "tool_style", "tool_typo", "tool_replaced"))
"""Repairs of a tool's name."""


# ── keys ──
# Under which names the shared tables keep what belongs to one request. The policies read there, the record writes.


def same_scope(request: Request, changes: int) -> str:
    """Where identical calls are counted, as long as nothing changes. A state that could not be told is like no other,
    and says nothing here: what such calls gave is compared instead. A person may ask the same again: that is another
    turn, in which the count begins anew."""
    before, after = same_scope_parts(request)
    return f"{before}{changes}{after}"


def same_scope_parts(request: Request) -> tuple[str, str]:
    """What `same_scope` has before and after the number of changes."""
    state = UNKNOWN if request.state.startswith(UNKNOWN) else request.state
    before = f"same\0{request.caller}\0{request.digest}\0{state}\0"
    return before, f"\0{request.turn}" if request.turn else ""


REFUSED_SCOPES: Final = "refused\0"
"""How every `refused_scope` begins."""


def refused_scope(caller: str, digest: str) -> str:
    """Where refusals of the same call are counted."""
    return f"{REFUSED_SCOPES}{caller}\0{digest}"


def binding(request: Request) -> str:
    """What an approval is bound to: who, exactly what, by which definition, in which state of what it touches, and
    in which conversation, run by which server. One without either has the key it had before they counted: what waits
    in an older store is redeemed by calls without a context alone."""
    bound: list[str | None] = ["call", request.caller, request.digest, request.definition, request.state]
    if request.context is not None or request.origin is not None:
        bound += [request.context, None if request.origin is None else request.origin.digest]
    return sha256(encode(bound)).hexdigest()


def definition_binding(tool: str, definition: str) -> str:
    """What an approval of a changed definition is bound to."""
    return sha256(encode(["definition", tool, definition])).hexdigest()


SERVER_CHANGED = "definition:server"
"""The rule that asks about a server which is not reached as it was: the policy decides so, the record asks about it."""


def server_key(server: str) -> str:
    """Under which the origin of a server is pinned, among the definitions of tools. No tool has a NUL in its name."""
    return f"server\0{server}"


def count_since(facts: Facts, scope: str, since: int, most: int) -> int:
    """How many starts in a scope were later than `since`; counting stops at `most`."""
    count = 0
    while count < most and (mark := facts.nth_last(scope, count + 1)) is not None and mark.at > since:
        count += 1
    return count
