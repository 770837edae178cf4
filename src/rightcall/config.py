"""The policy file: read once, checked, frozen.

    >>> from rightcall.config import load_policy
    >>> load_policy({"gate": {"mode": "warn"}}).mode_for("any_tool")
    'warn'

A file that is wrong anywhere raises PolicyError, with its line: nothing in it is guessed, skipped or made milder.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from msgspec import Struct

from rightcall.catalog import PackTool
from rightcall.config_hands import CacheSettings, CodeSettings, SandboxSettings, WebSettings, WriteSettings
from rightcall.config_router import RouterSettings
from rightcall.config_servers import Server
from rightcall.config_settings import Settings
from rightcall.text.patterns import is_pattern, matches
from rightcall.types import Effect, Mode, ReasoningMode, StrategyName, UnknownArgument, UnknownTool

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
    ask: tuple[Effect, ...] = ()
    """Tools with one of these effects ask a person, where the host runs its tools itself."""
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
