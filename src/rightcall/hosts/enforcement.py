"""What a policy says and a host cannot do: which of its rules do not hold at which host, and why.

One table for `rightcall policy check`, `rightcall status` and docs/hosts/index.md, so that no rule is passed over.
A row says by which keys a rule is written, at which hosts it does not hold, and when a policy says such a thing at all.
"""

from collections.abc import Callable, Iterator

from msgspec import Struct

from rightcall.base.text import escaped
from rightcall.catalog.packs import load_pack
from rightcall.executor.rights import own_arguments
from rightcall.gate.gate import has_required
from rightcall.policy.effects import WORDED
from rightcall.policy.settings import DEFAULT_POLICY, CallerSettings, HostSettings, Policy

HOOKS = ("claude-code", "gemini", "codex")
_CLAUDE = ("claude-code", "claude-agent-sdk")
_CHOSEN = (*HOOKS, "claude-agent-sdk", "agent-zero")
_FRAMEWORKS = ("pydantic-ai", "langchain", "openai-agents", "smolagents", "litellm")
_SILENT = ("codex", "agent-zero", "litellm")
_JOINED = (*HOOKS, "claude-agent-sdk", "fastmcp", "wrap", "gateway")
"""Where tools of MCP servers come by."""
_ELSEWHERE = (*_CHOSEN, *_FRAMEWORKS, "fastmcp", "wrap")
_OTHERS = (*_ELSEWHERE, "gateway")
"""Where tools run that are not RightCall's own; at the gateway these are the servers' tools."""
_OWN_TOOLS = "it holds for RightCall's own tools alone"
Says = Callable[[Policy, str], bool]


class Gap(Struct, frozen=True):
    """A rule that does not hold somewhere."""

    rule: str
    """The keys, as people write them."""
    hosts: tuple[str, ...]
    why: str
    says: Says
    """Whether a policy says such a thing of a host."""


class Unenforced(Struct, frozen=True):
    host: str
    rule: str
    why: str


def _here(policy: Policy, host: str) -> HostSettings:
    return policy.hosts.get(host) or HostSettings()


def _is_unbound(policy: Policy, host: str) -> bool:
    """Whether nothing names the tools that the host may use."""
    own = policy.settings.callers.get(host) or CallerSettings()
    return own.only is None and own.stage is None


def _always(_policy: Policy, _host: str) -> bool:
    return True


def _asks(policy: Policy, host: str) -> bool:
    settings = policy.settings
    tables = (settings, settings.callers.get(host) or CallerSettings(), *settings.tools.values())
    asked = any(getattr(table, effect) == "ask" for table in tables for effect in WORDED)
    return asked or bool(settings.approval.tools) or any(server.ask for server in policy.servers.values())


def _renames(policy: Policy, _host: str) -> bool:
    tools = [*policy.tools.values(), *(tool for pack in policy.packs for tool in load_pack(pack).tools)]
    return any(tool.rules.names or tool.rules.replaced_by for tool in tools)


def _packs_retire(policy: Policy, _host: str) -> bool:
    return any(tool.rules.replaced_by for pack in policy.packs for tool in load_pack(pack).tools)


def _repairs(policy: Policy, _host: str) -> bool:
    rules = [tool.rules for tool in policy.tools.values()]
    return any(one.aliases or one.values or one.defaults for one in rules)


def _judges_unknown_arguments(policy: Policy, host: str) -> bool:
    said = _here(policy, host).unknown_argument or policy.unknown_argument
    return said != "drop" or any(tool.rules.unknown_argument == "refuse" for tool in policy.tools.values())


def _names_servers(policy: Policy, _host: str) -> bool:
    return bool(policy.servers) or any("/" in name or name.startswith("mcp__") for name in policy.tools)


GAPS: tuple[Gap, ...] = (
    Gap(
        "`[policy]` `stage`, `allow`; `[policy.budgets]`", _ELSEWHERE,
        "the host runs its own tools, so these hold for RightCall's own tools alone; "
        "`[callers.HOST]` `only` and `deny` hold there, and so do `write` and `execute` that are not commented out",
        _is_unbound,
    ),
    Gap(
        "`[policy]` `stage`, `allow`; `[policy.budgets]`", ("gateway",),
        "the table of a server permits its tools; `[servers.NAME]` `allow`, `deny` and `timeout` hold there",
        _is_unbound,
    ),
    Gap(
        "`[policy]`, `[callers]`, `[servers]`, `[write]`, `[web]`, `[code]`, `[sandbox]`", ("proxy",),
        "it runs nothing and decides on nothing; only `[gate]` and `[audit]` concern it", _always,
    ),
    Gap(
        "`write` or `execute` = \"ask\"; `[policy.approval]` `tools`; `[servers.NAME]` `ask`", _SILENT,
        "the host cannot ask, so such a call is denied; a person approves its id, and the model calls again", _asks,
    ),
    Gap(
        "`[gate.tools.NAME]` `names`, `replaced_by`", _CHOSEN,
        "the host has chosen the tool before it asks; a replaced tool is refused with the name of the new one, "
        "and a name that the host does not know never comes", _renames,
    ),
    Gap(
        "`replaced_by` of a pack, for tools of servers", _JOINED,
        "a tool that a server offers is there, so its call passes; what the pack requires of it holds, and "
        "`[gate.tools.\"SERVER/TOOL\"]` `replaced_by` does too", _packs_retire,
    ),
    Gap(
        "`[gate.tools.NAME]` `aliases`, `values`, `defaults`", _CLAUDE,
        "Claude Code checks the arguments of its own tools before any hook; those of MCP tools are repaired", _repairs,
    ),
    Gap(
        "`[gate.tools.NAME]` `aliases`, `values`, `defaults`", ("gemini",),
        "Gemini CLI refuses arguments that do not fit before any hook, those of MCP tools too", _repairs,
    ),
    Gap(
        "`[gate.hosts.HOST]` `unknown_tool`", _CHOSEN,
        "a tool that RightCall does not know is the host's own business: its call passes",
        lambda policy, host: _here(policy, host).unknown_tool not in (None, "pass"),
    ),
    Gap(
        "`unknown_argument`", (*HOOKS, "claude-agent-sdk"),
        "which arguments the host's own tools take is not known; for MCP tools it holds once their definitions are",
        _judges_unknown_arguments,
    ),
    Gap(
        "types and names of the arguments of a server's tools", HOOKS,
        "hosts do not tell definitions; what `[gate.tools]` and packs require holds, and the rest once "
        "`rightcall hook learn`, `wrap` or the gateway has seen the server", _names_servers,
    ),
    Gap(
        "`[policy.paths]` `deny`", (*_ELSEWHERE, "gateway"),
        "an argument that neither a pack nor `[gate.tools.NAME]` `paths` declares to be a path is known for one by its "
        "name alone (`path`, `file`, …)", lambda policy, _: bool(policy.settings.paths.deny),
    ),
    Gap(
        "`[policy.approval]` `definitions`, of servers", ("claude-code", "claude-agent-sdk", "codex"),
        "the host does not tell how a server is reached; `wrap` and the gateway notice when that changes",
        _names_servers,
    ),
    Gap(
        "`[policy]` `repeats`, by answers", ("litellm",),
        "the client runs the tools, so answers are not seen: the third identical call is refused whatever it gave",
        lambda policy, _: bool(policy.settings.repeats),
    ),
    Gap(
        "`[policy]` `rounds`", _OTHERS,
        "the host decides how often its model may call tools; this holds for RightCall's own loop alone",
        lambda policy, _: policy.settings.rounds != DEFAULT_POLICY.settings.rounds,
    ),
    Gap(
        "`[write]` (`folders`, `protected`, …)", _OTHERS,
        f"{_OWN_TOOLS}; `[policy.paths]` `deny` and `[policy.commands]` hold there too",
        lambda policy, _: policy.write != DEFAULT_POLICY.write,
    ),
    Gap(
        "`[web]`", _OTHERS, f"{_OWN_TOOLS}; `[policy.urls]` holds there too",
        lambda policy, _: policy.web != DEFAULT_POLICY.web,
    ),
    Gap(
        "`[code]`", _OTHERS, f"{_OWN_TOOLS}; the host reads files by its own rules",
        lambda policy, _: policy.code != DEFAULT_POLICY.code,
    ),
    Gap(
        "`[sandbox]`", _OTHERS,
        f"{_OWN_TOOLS}; what the host runs is isolated by the host or not at all; "
        "`[policy.commands]` holds there too", lambda policy, _: policy.sandbox != DEFAULT_POLICY.sandbox,
    ),
    Gap(
        "every rule, for tools that the provider runs itself", _FRAMEWORKS,
        "such calls (a provider's own web search or code interpreter) never come by", _always,
    ),
)  # fmt: skip


def unenforced(policy: Policy, host: str) -> list[Unenforced]:
    """What this policy says and this host cannot do."""
    found = [Unenforced(host, gap.rule, gap.why) for gap in GAPS if host in gap.hosts and gap.says(policy, host)]
    return [*found, *_packs(policy, host)]


def _packs(policy: Policy, host: str) -> Iterator[Unenforced]:
    """Packs whose rules miss a host's own tools: another tool of the same name, or none at all."""
    from rightcall.hosts.hooks.wires import builtin_tools  # late: whoever has no packs needs none of it

    if host not in HOOKS:
        return
    own = {tool.name for tool in builtin_tools("claude" if host == "claude-code" else host)}
    for name in policy.packs:
        tools = [tool for tool in load_pack(name).tools if tool.rules.required or tool.rules.required_any]
        shared = [tool for tool in tools if tool.name in own]
        missed = [tool.name for tool in shared if not has_required(tool, own_arguments(host, tool.name))]
        rule = f"pack `{escaped(name, 60)}`"
        if tools and not shared:
            yield Unenforced(host, rule, "it names none of the host's own tools; tools of MCP servers are checked")
        elif missed:
            which = ", ".join(f"`{escaped(one, 60)}`" for one in missed)
            yield Unenforced(host, rule, f"the host's own {which} may have other arguments, so it is not checked")


def hosts_named(policy: Policy) -> list[str]:
    """The hosts that a policy speaks of."""
    known = {host for gap in GAPS for host in gap.hosts}
    named = [*policy.hosts, *policy.settings.callers, *(["gateway"] if policy.servers else [])]
    return [host for host in dict.fromkeys(named) if host in known]


def table_lines() -> list[str]:
    """The table of docs/hosts/index.md."""
    rows = [f"| {gap.rule} | {', '.join(gap.hosts)} | {gap.why} |" for gap in GAPS]
    return ["| rule | does not hold at | why, and what holds instead |", "|---|---|---|", *rows]
