"""The policy file: read once, checked, frozen.

    >>> from rightcall import load_policy
    >>> load_policy({"gate": {"mode": "warn"}}).mode_for("any_tool")
    'warn'

A file that is wrong anywhere raises PolicyError, with its line: nothing in it is guessed, skipped or made milder.
"""

import copyreg
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from msgspec import Struct

from rightcall.base.globs import hits, is_pattern, matches
from rightcall.catalog.tool import PackTool
from rightcall.policy.commands import CommandRules, UrlRules
from rightcall.policy.effects import (
    NO_WORDS,
    EffectWord,
    EffectWords,
)
from rightcall.types import Effect, Mode, ReasoningMode, StrategyName, UnknownArgument, UnknownTool


def _read_only(mapping: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(mapping)


def _reduce_read_only(view: MappingProxyType[Any, Any]) -> tuple[Any, ...]:
    return _read_only, (dict(view),)


# Python cannot pickle a read-only mapping, and a policy is full of them: a gate takes it to other processes.
copyreg.pickle(MappingProxyType, _reduce_read_only)

# ── sandbox, writes, code, cache, web ──
# `[sandbox]`, `[write]`, `[code]`, `[cache]` and `[web]` of the policy file: what code may use that a model has
# written, where tools may write, what reading gives, what is kept of results, and what may be fetched.
#
# The defaults are those of a file that says nothing. They permit nothing by themselves: which tools a caller may use,
# what needs a person and what is only rehearsed stands in `[policy]`.

LeastTier = Literal["landlock", "namespaces"]


SANDBOX_RANGES: Final[dict[str, tuple[float, float]]] = {
    "seconds": (0.1, 3600),
    "memory": (16, 1_000_000),
    "processes": (1, 10_000),
    "scratch": (1, 1_000_000),
    "output": (1, 100_000_000),
}
"""From and to, for each limit of a program; whole numbers where the least is one."""


class SandboxSettings(Struct, frozen=True):
    """`[sandbox]`: what one program may use, and the least isolation that it needs."""

    seconds: float = 4.0
    memory: int = 512
    """Megabytes, of all its processes together."""
    processes: int = 64
    scratch: int = 128
    """Megabytes of files."""
    output: int = 1_000_000
    """Bytes that it may print."""
    tier: LeastTier = "landlock"
    """The least that will do: `namespaces` is the stronger of the two."""
    python: str = ""
    """The interpreter that runs Python code; empty: the one that rightcall runs on."""
    node: str = ""
    """The program that runs JavaScript; empty: `node` on the PATH."""
    visible: tuple[str, ...] = ()
    """Folders that can be read inside, besides the system's programs."""


class CodeSettings(Struct, frozen=True):
    """`[code]`: what the code tools read."""

    largest_file: int = 1 << 20
    """Bytes of a file that `code/read` and `code/show` open; of a larger one only its size is told."""
    structure: bool = False
    """Whether every `code/read` brings the structure of the file. It costs tokens."""


class CacheSettings(Struct, frozen=True):
    """`[cache]`: the results that an executor keeps."""

    enabled: bool = True
    entries: int = 100
    bytes: int = 10_000_000
    seconds: int = 300
    """How old a result may become, even where nothing it was read from has changed."""


class TelemetrySettings(Struct, frozen=True):
    """`[telemetry]`: whether spans and durations are told to OpenTelemetry. Where they go is never said here, but by
    the variables OTEL_* of whoever starts the process."""

    enabled: bool | None = None
    """None: where such a variable says where they go."""


class Check(Struct, frozen=True):
    """`[write.check]`: the command that must succeed before a merge, and what it may use. It runs in the sandbox, in
    the folder that holds the merged files."""

    command: tuple[str, ...] = ()
    """Program and arguments; without any, nothing can be merged."""
    seconds: float = 600.0
    memory: int = 2048
    processes: int = 256
    scratch: int = 1024


class WriteSettings(Struct, frozen=True):
    """`[write]`: what the tools that write may touch at all."""

    folders: tuple[str, ...] = ("experimental", "/tmp")
    """Where `file/save` may save: below the root, or, where it begins with `/`, outside it."""
    tests: tuple[str, ...] = (
        "tests/**", "test/**", "spec/**", "**/tests/**", "**/test/**", "**/__tests__/**",
        "**/test_*.py", "**/*_test.py", "**/*_test.go", "**/*.test.*", "**/*.spec.*", "**/*Test.java", "**/*_spec.rb",
    )  # fmt: skip
    """What counts as a test file, which is all that `code/create-test` creates."""
    protected: tuple[str, ...] = ("main", "master", "trunk", "develop", "production", "release/*", "releases/*")
    """Branches that change by a reviewed merge and in no other way."""
    frozen: tuple[str, ...] = ()
    """Branches that not even a merge changes."""
    locked: tuple[str, ...] = (
        ".github/**", ".gitea/**", ".forgejo/**", ".gitlab/**", ".gitlab-ci*", "**/*.gitlab-ci.{yml,yaml}",
        ".circleci/**", ".buildkite/**", ".woodpecker*", ".drone.*", ".travis.{yml,yaml}", ".cirrus.*",
        ".semaphore/**", ".tekton/**", "{.,}appveyor.{yml,yaml}", "**/Jenkinsfile*", "**/azure-pipelines*",
        ".azure-pipelines/**", ".azuredevops/**", "bitbucket-pipelines.{yml,yaml}",
        "**/cloudbuild*.{yml,yaml,json}", "**/buildspec*.{yml,yaml}", "codefresh.{yml,yaml}", ".codefresh/**",
        "wercker.{yml,yaml}", "bamboo-specs/**", ".teamcity/**", ".build.yml", ".builds/**", ".vela.{yml,yaml}",
        "codemagic.{yml,yaml}", "bitrise.{yml,yaml}", "{.,}zuul.{yml,yaml}", "{.,}zuul.d/**", "{.,}packit.{yml,yaml}",
        ".copr/**", "screwdriver.yaml", ".harness/**", ".husky/**", "{.,}lefthook.*", ".gitattributes",
        "**/.gitattributes", ".gitmodules", ".pre-commit-config.yaml", "**/rightcall.toml",
    )  # fmt: skip
    """Paths that no tool writes: mostly what CI systems and git hooks run by themselves."""
    reviews: int = 1
    """Approvals that a merge needs, each by somebody else than the author."""
    check: Check = Check()


class WebSettings(Struct, frozen=True):
    """`[web]`: what `web/fetch` and `web/search` may reach, and what one call may cost."""

    seconds: float = 20.0
    """From looking the name up to the last byte, redirects included."""
    bytes: int = 2_000_000
    """Of one answer, as it comes and unpacked."""
    redirects: int = 5
    ports: tuple[int, ...] = (80, 443)
    """0 stands for any."""
    sites: tuple[str, ...] = ()
    """Where the list names any, nothing else is fetched; patterns as in `[policy.urls]`."""
    networks: tuple[str, ...] = ()
    """Ranges outside the public internet that may be reached all the same, such as 10.0.0.0/8."""
    search: str = ""
    """Address of a SearXNG-compatible server; empty: there is no `web/search`."""


class ConsoleSettings(Struct, frozen=True):
    """`[console]`: the pages in the browser, where they listen and how they are reached."""

    enabled: bool = True
    """Whether `rightcall serve` starts them."""
    host: str = "127.0.0.1"
    port: int = 4142
    """0: any that is free."""
    public_url: str = ""
    """Under which people reach it from elsewhere, such as https://console.example.org; empty: as it listens."""
    certificate: str = ""
    """A file with the certificate chain (PEM); with it the pages are served by HTTPS."""
    private_key: str = ""
    """The file with its key."""
    plain_http: bool = False
    """Whether an address other than this machine's own may be served without TLS: behind your own proxy that has
    it."""


# ── the router ──
# `[router]` of the policy file: how a request finds its tool, how sure one must be, and which models are asked.
#
# The names are design 004's in our spelling; the defaults are those of a file that says nothing.

IntentMode = Literal["learned", "keywords", "regex"]
Below = Literal["ask", "skip"]

_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class RouterModel(Struct, frozen=True):
    """One model behind an OpenAI-compatible endpoint, as `http://127.0.0.1:8080/v1`."""

    url: str
    model: str = ""
    """As the server calls it; empty: whichever it serves."""
    key_env: str = ""
    """The environment variable that holds the key. The key itself stands in no file."""
    headers: Mapping[str, str] = _NO_HEADERS
    schema: bool = True
    """False: the server is not asked to keep to a JSON schema. What it says is checked either way."""


class LlmSettings(RouterModel, frozen=True):
    """The model that is asked about calls which nothing else can repair, and how much of it an hour may use."""

    calls: int = 20
    tokens: int = 20_000
    seconds: float = 120.0
    timeout: float = 10.0
    """Seconds of one question."""
    side_effects: bool = False
    """Whether it is asked about calls of tools that do more than read. Such a call still waits for a person."""


class RouterSettings(Struct, frozen=True):
    """What the router does unless a program says otherwise."""

    enabled: bool = True
    """False: no request is given a tool; every one is answered as it is."""
    mode: IntentMode = "learned"
    threshold: float = 0.7
    """The confidence at which a chosen tool runs."""
    below: Below = "ask"
    """Under the threshold: ask the user, or answer without the tool."""
    reinjections: int = 3
    candidates: int = 10
    """Tools that the selecting model is shown where there are more than 40; of fewer it is shown all."""
    selection_temperature: float = 0.15
    selection_tokens: int = 500
    review_temperature: float = 0.3
    review_tokens: int = 200
    answer_temperature: float | None = None
    """None: the server's own."""
    answer_tokens: int = 1000
    top_p: float = 0.9
    seconds: float = 60.0
    """For a whole request, with everything that models and tools take."""
    model_seconds: float = 30.0
    """For one question to a model."""
    tokens: int = 20_000
    """For a whole request: prompts and answers together, estimated."""
    search: int = 0
    """When the gateway would list more tools than this, it lists two to find and to run them instead; 0: never."""
    light: RouterModel | None = None
    """Chooses the tool; None: the prime one does."""
    prime: RouterModel | None = None
    """Reviews the choice and writes the answer; None: the light one does."""


# ── servers ──
# `[servers.NAME]` of the policy file: the MCP servers that the gateway joins, and what is said of their tools.
#
# What stands here also holds at the other doors where calls of a server of that name pass: `rightcall wrap --name
# NAME`, and hooks of hosts that name the server.

_NONE: Mapping[str, str] = MappingProxyType({})


LoginKind = Literal["person", "machine"]


class Server(Struct, frozen=True):
    """One server: how it is reached, and which of its tools may be called. Patterns mean the server's own names."""

    name: str
    command: tuple[str, ...] = ()
    """The program and its arguments; or"""
    url: str = ""
    """where it is, for one that is reached by HTTP."""
    env: Mapping[str, str] = _NONE
    cwd: str = ""
    headers: Mapping[str, str] = _NONE
    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()
    effects: tuple[tuple[str, tuple[Effect, ...]], ...] = ()
    """By pattern, the first that fits counts. What none fits has all of them."""
    ask: tuple[str, ...] = ()
    prefix: str | None = None
    """What stands before its tools in the gateway's list. None: its name; empty: nothing, they keep their names."""
    timeout: float = 60.0
    enabled: bool = True
    login: LoginKind = "person"
    """Who logs in where the server wants it: a person, with `rightcall login`, or this machine by itself."""
    client_id: str = ""
    """As the provider knows us, or the https address of a document about us; empty: we register ourselves."""
    client_secret_env: str = ""
    private_key: str = ""
    """A file (PEM) to prove with that we are this client."""
    assertion_file: str = ""
    """A file with another provider's signed word for who this machine works for."""
    exchange_url: str = ""
    """Where that word is first exchanged for one to the server's provider; empty: it is one already."""
    exchange_client_id: str = ""
    issuer: str = ""
    """Who gives the logins. Empty: whom the server names at the first login."""
    scopes: tuple[str, ...] = ()
    redirect_port: int = 0
    """Of this machine, where the browser comes back to; 0: any."""
    per_caller: bool = False
    """Each caller uses a login of its own."""
    token_env: str = ""
    token_command: tuple[str, ...] = ()
    """A program that prints a token."""
    networks: tuple[str, ...] = ()
    urls: UrlRules = UrlRules()
    """`[web] networks` and `[policy.urls]` of the policy around it: the addresses that its logins lead to obey them."""

    @property
    def brings_token(self) -> bool:
        """Its token comes from the environment or a program, and nobody logs in."""
        return bool(self.token_env or self.token_command)

    @property
    def needs_login(self) -> bool:
        """The policy says that nothing is to be sent without a login."""
        named = self.client_id or self.issuer or self.scopes or self.per_caller or self.login == "machine"
        return bool(named) and not self.brings_token

    def offers(self, tool: str) -> bool:
        """Whether a tool is on the server's list, and nothing denies it.

        >>> Server("files", allow=("read_*",), deny=("read_secret",)).offers("read_file")
        True
        """
        return any(matches(one, tool) for one in self.allow) and not any(hits(one, tool) for one in self.deny)

    def effects_of(self, tool: str) -> tuple[Effect, ...] | None:
        """What the policy says a tool does; None where it says nothing."""
        return next((effects for pattern, effects in self.effects if matches(pattern, tool)), None)


# ── all settings ──
# What `[policy]`, `[callers]` and `[audit]` of the policy file say, as frozen records. The defaults are a file's that
# says nothing. `types.py: rights_of` turns them into what holds for one caller.

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
    calls_per_day: int = 0
    """Of each caller, in a day (UTC); 0 means any number."""
    tokens_per_day: int = 0
    """That models used for it, as far as RightCall stands between them."""


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

    tools: tuple[str, ...] = ()
    """These ask, whatever their effects; names or patterns."""
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


class Notices(Struct, frozen=True):
    """`[approvals]`: how people hear that a call waits for them."""

    notify: str | tuple[str, ...] = ()
    """An address that each new question is posted to, or a command that is run for it."""

    @property
    def problem(self) -> str:
        """Why nobody would hear, as far as that can be seen before a call waits; "" where nothing is wrong."""
        if not self.notify or isinstance(self.notify, str):
            return ""
        from shutil import which  # late: few policies name a command

        program = self.notify[0]
        return "" if which(program) else f"program {program!r:.80} not found: nobody is told when a call waits"


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
    write: EffectWord | None = None
    execute: EffectWord | None = None
    network: EffectWord | None = None
    least: EffectWords = NO_WORDS
    """Words that only make things stricter. No key of a file: what is left of the three above where a file can only
    tighten."""
    budgets: Budgets | None = None
    records: Records | None = None
    rooms: tuple[str, ...] = ()
    """In which it may read and post besides those of its own contexts."""
    calls_per_day: int | None = None
    tokens_per_day: int | None = None


class Audit(Struct, frozen=True):
    """`[audit]`. A relative path counts from the folder of the policy file."""

    path: str = ".rightcall/audit.db"
    redact: tuple[str, ...] = ()
    """Names of arguments that are secret, besides the built-in ones."""
    keep: str = ""
    """How long records are kept, as `400d` or `52w`; empty: for ever."""

    @property
    def keep_days(self) -> int:
        """0: for ever."""
        return int(self.keep[:-1]) * (7 if self.keep.endswith("w") else 1) if self.keep else 0


class StoreSettings(Struct, frozen=True):
    """`[store]`: the server that keeps audit, limits and approvals for many machines, in place of `[audit] path`."""

    url: str = ""
    """`postgresql://USER@HOST/DATABASE`, without a password; empty for the file."""


class Settings(Struct, frozen=True):
    """All of it together."""

    preset: Preset = "personal"
    stage: StageName = "read-only"
    write: EffectWord | None = None
    """What calls that write may do. None: what a list allows is a dry run, or as the host decides that runs it."""
    execute: EffectWord | None = None
    network: EffectWord | None = None
    """None: nothing is said of calls that only use the network."""
    tools: Mapping[str, EffectWords] = MappingProxyType({})
    """`[policy.tools.NAME]`: the same for tools of a name or pattern."""
    least: EffectWords = NO_WORDS
    least_of_tools: Mapping[str, EffectWords] = MappingProxyType({})
    """Words that only make things stricter, as with a caller."""
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
    approvals: Notices = Notices()
    budgets: Budgets = Budgets()
    budgets_of_tools: Mapping[str, Budgets] = MappingProxyType({})
    paths: Paths = Paths()
    commands: CommandRules = CommandRules()
    urls: UrlRules = UrlRules()
    callers: Mapping[str, CallerSettings] = MappingProxyType({})
    audit: Audit = Audit()
    store: StoreSettings = StoreSettings()


def settings_of(settings: Settings, caller: str) -> CallerSettings | None:
    """The table of a caller. One of a kind, as `team/anna`, has that of its kind, `team`, unless it has its own."""
    own = settings.callers.get(caller)
    return settings.callers.get(caller.partition("/")[0]) if own is None and "/" in caller else own


def tokens_per_day(settings: Settings, caller: str) -> int:
    """How many a caller may use up in a day; 0 means any number."""
    own = settings_of(settings, caller)
    return settings.limits.tokens_per_day if own is None or own.tokens_per_day is None else own.tokens_per_day


def records_of(settings: Settings, caller: str) -> Records:
    """Whose records a caller sees."""
    own = settings_of(settings, caller)
    return (own.records if own is not None else None) or settings.records


# ── identity ──
# `[identity]` of the policy file: whose tokens count at proxy, gateway and console, and for whom each speaks.

Algorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519",
]  # fmt: skip
"""How a token may be signed. All of these need a private key: whoever can check a token cannot make one."""


class IdentityRule(Struct, frozen=True):
    """One line of `[identity.map]`: whom it is about, and who that is here."""

    match: Literal["any", "group", "scope", "subject", "claim"]
    value: str = ""
    """A name as it is; for a claim, also a pattern with `*`."""
    claim: str = ""
    stage: StageName | None = None
    """Of that caller: the same as `[callers.NAME] stage`."""
    caller: str = ""
    """A caller, or `NAME/{claim}`, which is one for each value of that claim; empty: such tokens call nothing."""
    may: Literal["", "look", "approve"] = ""
    """What such people may do in the console; empty: they cannot come in."""
    person: str = "{email}"
    """How they are called there: by that claim."""


class IdentitySettings(Struct, frozen=True):
    """One identity provider: `[identity]`, or one of several `[[identity]]`."""

    issuer: str
    audience: tuple[str, ...]
    """As tokens for us name it: one of these."""
    name: str = ""
    """As people know the provider; empty: its host."""
    algorithms: tuple[Algorithm, ...] = ("RS256", "PS256", "ES256", "EdDSA", "Ed25519")
    leeway: float = 30.0
    """Seconds by which the provider's clock may differ from ours."""
    scopes: tuple[str, ...] = ()
    """That a token must have, and that clients are told to ask for."""
    groups: str = "groups"
    """The claim that lists the groups; with dots, one within another."""
    resource: str = ""
    """The address under which clients reach `/mcp`; empty: the one they use."""
    client_id: str = ""
    """Of the console at the provider; empty: nobody logs in there with it."""
    client_secret_env: str = ""
    """The environment variable that holds the console's secret at the provider, where it has one."""
    login_scopes: tuple[str, ...] = ("openid", "profile", "email")
    session: int = 28_800
    """Seconds after which somebody who logged in with it must do so again."""
    map: tuple[IdentityRule, ...] = ()
    """The first that fits counts. Whom none fits is refused."""


VERSION = 1

Standing = Literal["given", "trusted", "tightened"]
"""Somebody named the policy; it was found, and its very bytes are trusted; it was found, and only tightens."""


class ProviderSettings(Struct, frozen=True):
    """Whether calls of a provider are repaired, and by which strategies; None means all of them."""

    enabled: bool = True
    strategies: tuple[StrategyName, ...] | None = None
    reasoning: ReasoningMode | None = None
    """Whether its prompts end inside of reasoning; None means: as `[gate]` says."""


class ModelSettings(Struct, frozen=True):
    """What holds for the models of one name or pattern; None means: as the provider or `[gate]` says."""

    reasoning: ReasoningMode | None = None


class HostSettings(Struct, frozen=True):
    """What one host (a hook, the proxy, a framework) does differently; None means: as `[gate]` says."""

    mode: Mode | None = None
    unknown_tool: UnknownTool | None = None
    unknown_argument: UnknownArgument | None = None
    on_failure: Literal["allow", "deny"] | None = None
    """What a hook says when it cannot judge; None: `deny` where it blocks, else `allow`."""
    deadline: float = 5.0
    """Seconds in which a hook answers, whatever happens."""


HOSTS = (
    "proxy", "gateway", "wrap", "claude-code", "gemini", "codex", "agent-zero", "claude-agent-sdk", "pydantic-ai",
    "langchain", "openai-agents", "fastmcp", "litellm", "smolagents",
)  # fmt: skip
"""What the doors that ship with us are called; a program may call its own as it likes."""

HOST_NAMES: Mapping[str, str] = MappingProxyType({"claude": "claude-code"})
"""Other names for hosts: what `rightcall hook` calls them."""

PROVIDER_DEFAULTS: Mapping[str, ProviderSettings] = MappingProxyType(
    {
        "anthropic": ProviderSettings(enabled=False),  # emits clean JSON
        "ollama": ProviderSettings(strategies=("python_ast", "regex_quotes", "structure", "manual_repair")),
    }
)
"""What holds for a provider of which the policy says nothing; every other provider has all strategies."""

_NO_PROVIDERS: Mapping[str, ProviderSettings] = MappingProxyType({})
_NO_MODELS: Mapping[str, ModelSettings] = MappingProxyType({})
_NO_HOSTS: Mapping[str, HostSettings] = MappingProxyType({})
_NO_SERVERS: Mapping[str, Server] = MappingProxyType({})
_NO_TOOLS: Mapping[str, PackTool] = MappingProxyType({})


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
    reasoning: ReasoningMode = "auto"
    """Whether the prompts of models end inside of reasoning, of which nothing else is said."""
    llm: LlmSettings | None = None
    """`[gate.llm]`: the model that is asked as the last resort; None: none is."""
    providers: Mapping[str, ProviderSettings] = _NO_PROVIDERS
    models: Mapping[str, ModelSettings] = _NO_MODELS
    tools: Mapping[str, PackTool] = _NO_TOOLS
    hosts: Mapping[str, HostSettings] = _NO_HOSTS
    servers: Mapping[str, Server] = _NO_SERVERS
    """`[servers]`: the MCP servers that the gateway joins."""
    settings: Settings = Settings()
    """`[policy]`, `[callers]` and `[audit]`."""
    router: RouterSettings = RouterSettings()
    """`[router]`: how a request finds its tool."""
    sandbox: SandboxSettings = SandboxSettings()
    """`[sandbox]`: what code may use that a model has written."""
    write: WriteSettings = WriteSettings()
    """`[write]`: what the tools that write may touch."""
    code: CodeSettings = CodeSettings()
    """`[code]`: what the code tools read."""
    cache: CacheSettings = CacheSettings()
    """`[cache]`: the results that an executor keeps."""
    web: WebSettings = WebSettings()
    """`[web]`: what the tools that fetch may reach."""
    console: ConsoleSettings = ConsoleSettings()
    """`[console]`: the pages in the browser."""
    telemetry: TelemetrySettings = TelemetrySettings()
    """`[telemetry]`: whether spans and durations are told to OpenTelemetry."""
    identity: tuple[IdentitySettings, ...] = ()
    """`[identity]`: the identity providers whose tokens count."""
    version: int = VERSION
    source: str = "default policy"
    digest: str = "e3b0c44298fc1c14"
    """Of the file's text (what `sha256sum` says of it begins so), or of the dict; this one is an empty file's."""
    standing: Standing = "given"
    """Whose word it is."""

    def for_provider(self, name: str | None) -> ProviderSettings:
        """The settings for a provider; its name's case does not matter."""
        key = (name or "").casefold()
        found = self.providers.get(key) or PROVIDER_DEFAULTS.get(key) or ProviderSettings()
        return found if self.enabled else ProviderSettings(enabled=False, strategies=found.strategies)

    def reasoning_for(self, provider: str | None, model: str | None = None) -> ReasoningMode:
        """Whether a model's answer begins inside of reasoning: what is said of the model wins, a name before a pattern
        and a longer pattern before a shorter one; then of the provider; then of all. Case does not matter.

        >>> from rightcall import load_policy
        >>> policy = load_policy({"gate": {"models": {"deepseek-r1*": {"reasoning": "open"}}}})
        >>> policy.reasoning_for("ollama", "DeepSeek-R1:7b")
        'open'
        """
        name = (model or "").casefold()
        fitting = [one for one in self.models if self.models[one].reasoning and matches(one, name)] if name else []
        best = max(fitting, key=lambda one: (not is_pattern(one), len(one)), default="")
        own = self.models[best].reasoning if best else None
        by_provider = self.providers.get((provider or "").casefold())
        return own or (by_provider.reasoning if by_provider else None) or self.reasoning

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
