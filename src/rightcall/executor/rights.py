"""The tools behind a door: those of the host itself, and those of each server, under one policy. Definitions come and
change while it runs; what is compiled from them is kept until they do."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from hashlib import sha256
from types import MappingProxyType
from typing import Any, cast

from msgspec import Struct, json
from msgspec.structs import replace

from rightcall import LateLog
from rightcall.base.files.guarded import NOWHERE, POLICY_FILE, is_another_name, is_guarded, program_places
from rightcall.base.files.rules import PathRules, path_rules
from rightcall.base.globs import path_matches
from rightcall.base.text import escaped, regex
from rightcall.catalog.catalog import build_catalog
from rightcall.catalog.packs import load_pack
from rightcall.catalog.sources import flatten
from rightcall.catalog.tool import ALL_EFFECTS, HOST_OWN, Pack, PackTool
from rightcall.errors import RightCallError
from rightcall.executor.toolbox import Equipped, Toolbox, build_toolbox, full_name, names_meant
from rightcall.gate.gate import Gate, arguments_of, demanded, describe_fault, has_required, name_of, readable, suited
from rightcall.policy.decide import denial, effect_denial, is_outside, permission
from rightcall.policy.settings import DEFAULT_POLICY, CallerSettings, HostSettings, Policy, Server, Window, settings_of
from rightcall.policy.types import Decision, Finding, Request, Rights, rights_of, with_digest
from rightcall.types import Effect, Mode

# ── rights ──
# What the policy says of a caller at a door, where somebody else runs the tools: a host, a framework, a server.
#
# The defaults of `[policy]` (the stage's list, dry runs, asking before every write) are for the tools that RightCall
# runs itself. A host's own tools are permitted as its user set it up, unless the policy says otherwise; the tools of
# a server that the gateway joins are permitted by that server's table, and what nobody declared of them asks.

_ALL_DOTFILES = ("**",)


class DoorRights(Struct, frozen=True):
    """A caller's rights at a door, and the rule that permits a tool which no list names."""

    rights: Rights
    permit: str
    unset: bool = False
    """Nobody has written a policy: there is nobody who could be asked, either."""


def door_rights(
    policy: Policy, caller: str, *, host: str, server: Server | None, strict: bool, protected: tuple[str, ...]
) -> DoorRights:
    """`server` is the policy's word on the server whose tools these are; `strict`: only such a word permits them."""
    # the gateway asks where nobody says what its servers may do; any other host asks its own user
    rights = rights_of(policy.settings, caller, "ask" if strict else None)
    own = settings_of(policy.settings, caller) or CallerSettings()
    bound = own.only is not None or own.stage is not None  # the policy names what this caller may use
    permit = "" if bound else f"server:{server.name}" if server is not None else "" if strict else f"host:{host}"
    approval = rights.approval
    if server is not None and server.ask:
        approval = replace(approval, tools=(*approval.tools, *(f"{server.name}/{one}" for one in server.ask)))
    rights = replace(
        rights,
        approval=approval,
        deny=_denied(rights.deny, server),
        paths=replace(rights.paths, deny=(*rights.paths.deny, *protected), dotfiles=_ALL_DOTFILES),
    )
    unset = policy.source == DEFAULT_POLICY.source and not strict
    if unset:  # nobody has set anything: the host is left as it is
        rights = replace(rights, all=Window(), window=Window(), tools=MappingProxyType({}), repeats=0, quarantine=0)
    return DoorRights(with_digest(rights), permit, unset)


def _denied(deny: Mapping[str, str], server: Server | None) -> Mapping[str, str]:
    if server is None or not server.deny:
        return deny
    return MappingProxyType({**deny, **{f"{server.name}/{one}": f"server:{server.name}" for one in server.deny}})


def asked_effects(server: Server | None, tool: str) -> frozenset[Effect] | None:
    """What the policy says a server's tool does; None where it says nothing."""
    said = None if server is None else server.effects_of(tool)
    return None if said is None else frozenset(said)


log = LateLog()

NAMELESS = "tool"
_HARMLESS: frozenset[Effect] = frozenset[Effect](("read", "network"))
_ANYTHING = {"type": "object", "additionalProperties": True}
_STUB = build_catalog([{"name": NAMELESS, "parameters": _ANYTHING}]).tools[NAMELESS]
UNKNOWN = Equipped(_STUB, None, "", "", side_effects=True, own=None, touches=False)
"""Stands for a tool of which nobody said anything: it counts as doing everything, and nothing of it is pinned."""

_DESCRIBED = {"claude-code": "claude", "claude-agent-sdk": "claude"}
"""Hosts whose own tools a pack describes. It is not laid over them, since a host knows better: only whether another
pack means the same tool is seen from it."""


def unknown_tool(server: Server | None, name: str, *, listed: bool = False) -> Equipped:
    """A tool whose definition nobody has seen; the policy may say all the same what it does. `listed`: its server has
    told its tools, and this one was not among them, or cannot be read: had it been known before, it has changed."""
    said = asked_effects(server, name)
    tool = UNKNOWN if said is None else with_effects(UNKNOWN, said)
    return replace(tool, definition=NOT_TOLD, described=_UNREADABLE_TEXT) if listed else tool


_UNREADABLE_TEXT = '{"definition":"its server does not tell it, or it cannot be read"}'
NOT_TOLD = sha256(_UNREADABLE_TEXT.encode()).hexdigest()
_SAYING_ARGUMENTS = frozenset(
    ("properties", "patternProperties", "required", "$ref", "allOf", "anyOf", "oneOf", "additionalProperties")
)
_ALSO = ("title", "annotations", "outputSchema", "execution", "icons")
"""What else of a server's definition clients and models read."""


def known_tools(tools: Iterable[Any]) -> list[Any]:
    """Those that can be checked against; a definition that nobody can read leaves the others usable."""
    given: list[Any] = list(tools)
    try:
        given = [one if isinstance(one, dict) else one[0] for one in flatten(given)]
        build_catalog(given)
        return given
    except (RightCallError, ValueError, TypeError, RecursionError) as fault:
        log.warning("rightcall: not all tools can be checked against: %s", describe_fault(fault))
    plain = [cast("dict[str, Any]", tool) for tool in given if isinstance(tool, dict)]
    return readable([tool for tool in plain if name_of(tool)])


def door_policy(policy: Policy, host: str, mode: Mode | None, *, strict: bool) -> Policy:
    """The policy with this door's defaults: what it says of the host wins over `mode`, and tools that nobody knows
    pass unless it says otherwise (`strict`: they do not)."""
    here = policy.hosts.get(host) or HostSettings()
    here = replace(here, mode=here.mode or mode or policy.mode)
    if here.unknown_tool is None and not strict:
        here = replace(here, unknown_tool="pass")
    return replace(policy, hosts={**policy.hosts, host: here})


class Place(Struct, frozen=True):
    """Whose tools they are: a host's own (`space` is empty), or those of one server."""

    host: str
    space: str
    fixed: bool = False
    """Whether the host has chosen the tool before it asks: then also tools that nobody has listed are called here."""
    packs: tuple[str, ...] = ()
    provider: str | None = None


def box_of(policy: Policy, place: Place, tools: list[Any], hidden: tuple[str, ...]) -> Toolbox:
    """The tools of one space but for those that are hidden, compiled. Calls are judged as if nothing were only watched:
    what would have been done is to be told."""
    host, space, packs = place.host, place.space, place.packs
    here = policy.hosts[host]
    if here.mode == "observe":
        policy = replace(policy, hosts={**policy.hosts, host: replace(here, mode="block")})
    server = policy.servers.get(space) if space else None
    if not tools and not space:
        return build_toolbox(policy, (), packs=packs, provider=place.provider, host=host)
    given = [tool for tool in tools if tool_name(tool) not in hidden]
    stated = _stated(policy, space, given, packs)
    whole = _in_space(policy, space) if space else _in_words_of(host, policy)
    policy, fitting = suited(whole, {tool_name(tool): _declared(tool) for tool in given})
    if place.fixed:
        policy = replace(policy, tools=whole.tools)
    asked = Pack("asked", "", tuple(_asked_for(whole, place, given, hidden, unlisted=place.fixed)), "")
    box = build_toolbox(policy, (), known=given, packs=[*fitting, asked, *packs], provider=place.provider, host=host)
    if not place.fixed and any(one.tool.rules.batch is not None for one in box.tools.values()):
        asked = Pack("asked", "", tuple(_asked_for(whole, place, given, hidden, unlisted=True)), "")
        ruled = replace(policy, tools=whole.tools)
        box.gate.inside = Gate(given, ruled, [*fitting, asked, *packs], place.provider, host=host).catalog
    listed = {tool_name(tool) for tool in given}
    if space:
        box = replace(box, tools=MappingProxyType(_with_all_of(box.tools, given)))
    box = replace(box, tools=MappingProxyType({n: _doing(one, server, stated) for n, one in box.tools.items()}))
    box = _polled(box, {tool_name(tool) for tool in given if _is_pollable(tool)})
    own = {tool.name for tool in given if isinstance(tool, PackTool) and tool.pack == HOST_OWN}
    unlisted = set(box.tools) - listed
    return _unpinned(_undescribed(box, unlisted) if space else box, own | unlisted)


def _asked_for(
    policy: Policy, place: Place, given: list[Any], hidden: tuple[str, ...], *, unlisted: bool
) -> Iterator[PackTool]:
    """What the policy's packs demand of tools whose arguments nobody has declared: somebody asked for these rules, so
    they hold there too. Those of a host are known by name, and another tool of that name is left alone. On a server,
    a name that a host's own tool has (`write`) may mean anything. `unlisted`: tools that nobody lists count too."""
    tools = {tool_name(tool): tool for tool in given}
    asked = [tool for pack in policy.packs for tool in load_pack(pack).tools if tool.name not in hidden]
    common = _names_of_hosts() if place.space and asked else frozenset[str]()
    for tool in asked:
        known = tools.get(tool.name)
        if isinstance(known, PackTool) and known.pack == HOST_OWN:
            if has_required(tool, own_arguments(place.host, tool.name)):
                yield demanded(tool)
        elif known is not None:
            if _is_open(known):
                yield demanded(tool)
        elif unlisted and not place.space:
            yield tool
        elif unlisted and tool.name.casefold() not in common:
            yield demanded(tool)


def own_arguments(host: str, tool: str) -> frozenset[str]:
    """The arguments of a host's own tool, by the pack that describes it. Nothing where none does."""
    pack = _DESCRIBED.get(host)
    found = None if pack is None else next((one for one in load_pack(pack).tools if one.name == tool), None)
    return frozenset() if found is None else _declared(found)


def own_name(host: str, tool: str) -> str:
    """As the host itself writes the name of its tool, where a pack describes the host's own.

    >>> own_name("claude-code", "write"), own_name("codex", "write")
    ('Write', 'write')
    """
    pack = _DESCRIBED.get(host)
    own = [] if pack is None else [one.name for one in load_pack(pack).tools]
    return tool if tool in own else next((one for one in own if one.casefold() == tool.casefold()), tool)


@lru_cache(1)
def _names_of_hosts() -> frozenset[str]:
    tools = load_pack("claude").tools
    return frozenset(name.casefold() for tool in tools for name in (tool.name, *tool.rules.names))


def _is_open(tool: Any) -> bool:
    """Whether a server says nothing of a tool's arguments."""
    if not isinstance(tool, dict):
        return False
    about = cast("dict[str, Any]", tool)
    schema: Any = about.get("inputSchema", about.get("parameters", {}))
    return isinstance(schema, dict) and not cast("dict[str, Any]", schema).keys() & _SAYING_ARGUMENTS


def _with_all_of(tools: Mapping[str, Equipped], given: list[Any]) -> dict[str, Equipped]:
    """A server's tool is known by everything that it says of it (P-08)."""
    plain = [cast("dict[str, Any]", tool) for tool in given if isinstance(tool, dict)]
    more = {tool_name(tool): also for tool in plain if (also := {key: tool[key] for key in _ALSO if key in tool})}
    return {name: _also(one, more[name]) if name in more else one for name, one in tools.items()}


def _also(one: Equipped, more: dict[str, Any]) -> Equipped:
    described = json.encode({**json.decode(one.described), **more}, order="deterministic")
    return replace(one, definition=sha256(described).hexdigest(), described=described.decode())


def _undescribed(box: Toolbox, names: set[str]) -> Toolbox:
    """A server's tools of which only rules are known: what they demand describes no tool, so that paths and commands
    are looked for in all its arguments as before."""
    tools = {name: replace(box.tools[name], tool=replace(box.tools[name].tool, source="given")) for name in names}
    return replace(box, tools=MappingProxyType({**box.tools, **tools})) if names else box


def _is_pollable(tool: Any) -> bool:
    """Whether a server says that calling a tool again is harmless. It must say both: most tools that read are
    `readOnlyHint`, and a model that reads the same thing over and over is in a loop all the same."""
    said: Any = cast("dict[str, Any]", tool).get("annotations") if isinstance(tool, dict) else None
    if not isinstance(said, dict):
        return False
    hints = cast("dict[str, Any]", said)
    return hints.get("readOnlyHint") is True and hints.get("idempotentHint") is True


def _polled(box: Toolbox, names: set[str]) -> Toolbox:
    """Tools that their servers call pollable: that takes the loop rule from them, and nothing else. Where the policy
    says that a tool does more than read, its server's word does not count."""
    if not names:
        return box
    tools = {
        name: replace(one, tool=replace(one.tool, rules=replace(one.tool.rules, repeatable=True)))
        for name, one in box.tools.items()
        if name in names and (not one.tool.effects_declared or one.tool.effects <= _HARMLESS)
    }
    return replace(box, tools=MappingProxyType({**box.tools, **tools}))


def _unpinned(box: Toolbox, names: set[str]) -> Toolbox:
    if not names:
        return box
    pinned = box.tools.items()
    tools = {name: replace(one, definition="") if name in names else one for name, one in pinned}
    return replace(box, tools=MappingProxyType(tools))


def hidden(rights: DoorRights, space: str, tool: str, server: Server | None) -> bool:
    """Whether a caller may not know of a tool."""
    name = full_name(space, tool)
    if is_outside(rights.rights, name):
        return True
    if any(denial(rights.rights, one) is not None for one in (name, *names_meant(space, tool))):
        return True
    if server is not None and not server.offers(tool):
        return True
    if effect_denial(rights.rights, name, asked_effects(server, tool) or ALL_EFFECTS) is not None:
        return True
    return not (permission(rights.rights, name) or rights.permit)


def _in_space(policy: Policy, space: str) -> Policy:
    """What `[gate.tools."files/read_file"]` says of the tool that its server calls `read_file`; hosts write it
    `mcp__files__read_file`."""
    own = {
        name.removeprefix(start): replace(tool, name=tool.name.removeprefix(start))
        for start in (f"mcp__{space}__", f"{space}/")
        for name, tool in policy.tools.items()
        if name.startswith(start)
    }
    return replace(policy, tools={**policy.tools, **own})


def _in_words_of(host: str, policy: Policy) -> Policy:
    """What `[gate.tools.write]` says of the tool that the host writes `Write`, if it can be the same tool."""
    named = ((own_name(host, name), tool) for name, tool in policy.tools.items())
    own = {
        name: replace(tool, name=name)
        for name, tool in named
        if name not in policy.tools and has_required(tool, own_arguments(host, name))
    }
    return replace(policy, tools={**policy.tools, **own}) if own else policy


def tool_name(tool: Any) -> str:
    return tool.name if isinstance(tool, PackTool) else name_of(tool)


def _declared(tool: Any) -> frozenset[str]:
    return arguments_of({"parameters": tool.schema} if isinstance(tool, PackTool) else tool)


def _stated(
    policy: Policy, space: str, given: list[Any], packs: tuple[str, ...]
) -> dict[str, tuple[Effect, ...] | None]:
    """What is declared of tools, by those who may declare it: the policy, and for a host's own tools also the packs
    that somebody named. Neither the tool itself, nor a pack of tools that are merely called the same; and of a
    server's tool only what the policy says under the server's name."""
    if space:
        start = f"{space}/"
        own = policy.tools.items()
        return {name.removeprefix(start): tool.effects for name, tool in own if name.startswith(start)}
    named = [tool for pack in dict.fromkeys((*policy.packs, *packs)) for tool in load_pack(pack).tools]
    records = [tool for tool in given if isinstance(tool, PackTool)]
    return {tool.name: tool.effects for tool in (*named, *records, *policy.tools.values())}


def _doing(one: Equipped, server: Server | None, stated: Mapping[str, tuple[Effect, ...] | None]) -> Equipped:
    said = asked_effects(server, one.tool.name)
    own = stated.get(one.tool.name)
    effects = said if said is not None else frozenset(own) if own is not None else ALL_EFFECTS
    return with_effects(one, effects)


def with_effects(one: Equipped, effects: frozenset[Effect]) -> Equipped:
    tool = replace(one.tool, effects=effects, effects_declared=effects is not ALL_EFFECTS)
    return replace(one, tool=tool, side_effects=not effects <= {"read"})


# ── guarded files ──
# The files that no call at a door may touch, wherever they are: what its subjects can write is no policy. And those
# that only a person lets a file tool write: settings of hooks, and what a shell, git or the system starts from.

STATE_FOLDER = ".rightcall"
_MAY_GUARD = regex(r"(?:^|[/\\])[.~]|^/|^[A-Za-z]:|customize\.py|authorized_keys|managed-settings", re.IGNORECASE)
"""A look at a path before anything is loaded to judge it."""
_ODD_STARTS = (".", "/etc/", "/proc/", "/run/", "/var/", "/dev/", "/root")
_ODD_ENDS = (
    "_netrc", "shadow", "shadow-", "wallet.dat", "login data", "logins.json", "key4.db", "cookies.sqlite", ".tfvars",
    ".tfvars.json", "wp-config.php",
)  # fmt: skip
_ODD_WORDS = (
    "key", "token", "secret", "passw", "_pass", "-pass", "cred", "kubeconfig", "appsettings.", "history", ".p8",
    "adminsdk",
)  # fmt: skip
"""The same for the places of credentials: whatever a command would be asked about is among them."""


def judge_names(
    tool: Equipped, request: Request, root: str, guarded: tuple[str, ...], locked: tuple[str, ...]
) -> Request | Decision:
    """What the names of paths say where somebody else opens the files; of the paths those are left that the policies
    are to judge."""
    seen = request.paths
    if request.command_paths:
        seen = (*seen, *((written, resolved) for written, resolved, _ in request.command_paths))
    touched = touches(guarded, request.root, seen, alone=request.alone and not request.command_paths)
    if touched is not None:
        return Decision("deny", "path:deny", f"No such file or folder: {escaped(touched, 200)}")
    said, findings = request.rights.paths, request.findings
    rules = path_rules(said.deny, said.allow, said.dotfiles)
    writes = bool(request.paths) and _writes_files(tool, request)
    guarding = guards(root, request.paths, locked) if writes else None
    if guarding is None and request.command_paths:
        written = ((one, path) for one, path, writes in request.command_paths if writes)
        obeyed = (one for one, path in written if is_locked(path, locked) and not _is_new_folder(request.root, path))
        guarding = next(obeyed, None)
    if guarding is not None:
        why = f"`{escaped(guarding, 200)}` decides which hooks or programs run"
        findings = (*findings, Finding("ask", "path:guards", why))
    kept = [pair for pair in request.paths if not rules.excepts(pair[1])]
    held = holds_credentials(request.root, kept, shown=not writes)
    if held is not None:
        findings = (*findings, Finding("ask", "path:credentials", f"`{escaped(held, 200)}` holds credentials"))
    return replace(
        request,
        findings=findings,
        paths=_named_paths(request.paths, rules),
        command_paths=tuple([path for path in request.command_paths if _is_named(path[1], rules)]),
    )


def _is_new_folder(root: str, path: str) -> bool:
    """`mkdir -p .github/workflows`: a folder for such files that is not there yet runs nothing."""
    return path in _CI_FOLDERS and not os.path.lexists(os.path.join(root, path))


_CI_FOLDERS = frozenset(
    (".github", ".github/workflows", ".github/actions", ".gitlab", ".circleci", ".buildkite", ".woodpecker", ".tekton")
)


def _writes_files(tool: Equipped, request: Request) -> bool:
    """Whether a tool may write the files it names, as one does of which nobody says that it only reads; of a tool
    without declared effects its name says so, too. What a command writes is judged with the command."""
    if not tool.tool.effects_declared and _READS.match(tool.tool.name.rpartition("/")[2]):
        return False
    return "write" in request.effects and not tool.tool.rules.commands


_READS = regex(
    r"(?!.*(?i:writ|creat|updat|delet|remov|replac|renam|insert|append|patch|edit|save|move|set|put|upload))"
    r"(?:read|get|list|search|find|show|view|stat|describe|inspect|query|count|compare)(?=[_.A-Z-]|$)"
)
"""Names of tools that only look, in servers that declare no effects: `read_file`, but not `find_and_replace`."""


def _named_paths(paths: tuple[tuple[str, str], ...], rules: PathRules) -> tuple[tuple[str, str], ...]:
    """Those paths that the policy denies or that are named like secrets, wherever they are, and those that nobody can
    judge: where else a host may look is the host's affair."""
    return tuple(
        [
            (written, path if path == NOWHERE else path.lstrip("/") or ".")
            for written, path in paths
            if _is_named(path, rules)
        ]
    )


def _is_named(path: str, rules: PathRules) -> bool:
    return path == NOWHERE or rules.named(path) is not None


def touches(
    guarded: tuple[str, ...], base: str, paths: Iterable[tuple[str, str]], *, alone: bool = False
) -> str | None:
    """The first path, as it is written, that is one of these, or that could become one: a policy anywhere holds for
    what lies below it. `base` is the true folder that they are below. `alone`: it was seen that none has a second name.

    >>> touches((), "/work", [("notes.txt", "notes.txt"), ("sub/rightcall.toml", "sub/rightcall.toml")])
    'sub/rightcall.toml'
    """
    for written, resolved in paths:
        if "\0" in resolved:  # it leads nowhere
            continue
        whole = os.path.join(base, resolved)
        names = _plain(whole).replace("\\", "/").split("/")
        if names[-1] == POLICY_FILE or STATE_FOLDER in names:
            return written
        if is_guarded(whole, guarded) or (not alone and is_another_name(whole, guarded)):
            return written
        if names[-1] == "*" and _holds(os.path.dirname(whole), guarded, base):
            return written
    return None


def _holds(folder: str, guarded: tuple[str, ...], base: str) -> bool:
    """Whether one of these lies right in a folder that a command takes as a whole; the project itself is no such."""
    above = f"{base.rstrip(os.sep)}{os.sep}".startswith(f"{folder.rstrip(os.sep)}{os.sep}")
    return not above and any(os.path.dirname(one.rstrip(os.sep)) == folder for one in guarded)


def guards(root: str, paths: Iterable[tuple[str, str]], locked: tuple[str, ...] = ()) -> str | None:
    """The first path, as it is written, that decides which hooks are asked or which programs start; `locked` are
    patterns of the policy for what other programs run.

    >>> guards("/work", [("src/a.py", "src/a.py"), (".claude/settings.json", ".claude/settings.json")])
    '.claude/settings.json'
    """
    given = [pair for pair in paths if not any("\0" in one for one in pair)]
    obeyed = next((written for written, resolved in given if is_locked(resolved, locked)), None)
    if obeyed is not None:
        return obeyed
    odd = [
        pair for pair in given
        if any(map(_MAY_GUARD.search, pair)) or is_guarded(os.path.join(root, pair[1]), program_places())
    ]  # fmt: skip
    if not odd:
        return None
    from rightcall.policy.commands.places import Place  # late: few writes need it

    place = Place.at(root)
    for written, resolved in odd:
        for path in (place.whole(place.root, written), place.whole(place.root, resolved)):
            plain = path if path.isascii() else os.path.join(os.path.dirname(path), _plain(os.path.basename(path)))
            if place.is_guard(plain) or place.is_started_from(plain):
                return written
    return None


def is_locked(path: str, locked: tuple[str, ...]) -> bool:
    """Whether a path below the root is one that other programs run by themselves, as `[write] locked` lists them.

    >>> is_locked("ci/Jenkinsfile", ("**/Jenkinsfile*",)), is_locked("src/app.py", ("**/Jenkinsfile*",))
    (True, False)
    """
    low = path.casefold()
    return any(hint in low and path_matches(pattern, path) for pattern, hint in _hints(locked))


@lru_cache(8)
def _hints(patterns: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Each pattern with the longest text that a path must have in it: few patterns are compiled for one path."""
    return tuple((one, max(_NOT_FIXED.split(one.casefold()), key=len).strip("/")) for one in patterns)


_NOT_FIXED = regex(r"\{[^}]*\}|\[[^\]]*\]|[*?{}\[\]\\]+")


def holds_credentials(root: str, paths: Iterable[tuple[str, str]], *, shown: bool = False) -> str | None:
    """The first path, as it is written, of a file in which a program keeps what it signs in with: what a command is
    asked about is asked about here too. `root` is the true folder that they are below. `shown`: they are only read.

    >>> holds_credentials("/work", [("src/a.py", "src/a.py"), ("/etc/shadow", "/etc/shadow")])
    '/etc/shadow'
    """
    odd = [pair for pair in paths if _may_hold(pair[1].lower()) and "\0" not in pair[1]]
    if not odd:
        return None
    from rightcall.policy.commands.places import Place  # late: few calls need it

    place = Place.at(root)
    for written, resolved in odd:
        path = place.whole(place.root, resolved)
        path = path if path.isascii() else _plain(path)
        if place.holds_credentials(path) or (shown and place.holds_values(path)):
            return written
    return None


def _may_hold(path: str) -> bool:
    if (
        "/." in path
        or "library/" in path
        or "snap/" in path
        or path.startswith(_ODD_STARTS)
        or path.endswith(_ODD_ENDS)
    ):
        return True
    name = path.rpartition("/")[2]
    for word in _ODD_WORDS:  # noqa: SIM110 - for every path of every call, and `any` takes three times as long
        if word in name:
            return True
    return False


def _plain(name: str) -> str:
    if name.isascii():
        return name.lower()
    # late: hardly any name needs it, and a hook would pay for it with every call
    from rightcall.base.letters import latin

    return latin(name)
