"""`rightcall policy check`: all mistakes of a policy file at once, or a summary and what is worth knowing."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from itertools import groupby
from shlex import quote
from types import MappingProxyType
from typing import Any, cast
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.files.guarded import POLICY_FILE, state_folder
from rightcall.base.globs import hits, is_pattern, loosely, matches
from rightcall.base.http.answers import is_loopback
from rightcall.base.secrets import is_secret
from rightcall.base.text import escaped
from rightcall.catalog.packs import available_packs, load_pack
from rightcall.catalog.toml import KeyPath, Source, dotted, line_of
from rightcall.cli import OK, USAGE
from rightcall.cli.terminal import Style, hang, say, say_json, style_for
from rightcall.errors import ConfigError, PolicyError
from rightcall.executor.explain import Beside, served_tools
from rightcall.executor.toolbox import full_name, names_meant
from rightcall.hosts.adapter import Unenforced, hosts_named, unenforced
from rightcall.hosts.install.plans import read_manifest
from rightcall.policy.effects import EFFECT_DOES, WORDED, EffectWord
from rightcall.policy.reader import read_policy
from rightcall.policy.settings import (
    HOSTS,
    PRESETS,
    STAGES,
    IdentitySettings,
    LlmSettings,
    Policy,
    RouterModel,
    RouterSettings,
    Server,
    Settings,
    WebSettings,
    Window,
    WriteSettings,
)
from rightcall.policy.tightening import ignored_keys, tighten
from rightcall.policy.trust import FoundPolicy, is_trusted, read_text, refuse_leaving_link
from rightcall.record.premises import store_path
from rightcall.tools.code.structure import has_parser
from rightcall.types import Effect

# ── notes ──
# What is right in a policy file and still worth knowing: where it allows much, and names that nothing has.


_UNSEEN: Mapping[str, tuple[str, ...]] = MappingProxyType({})


class Note(Struct, frozen=True):
    at: KeyPath
    says: str


def notes_on(policy: Policy, served: "Served" = _UNSEEN) -> list[Note]:
    """In the order of the file's tables."""
    settings = policy.settings
    found = [
        *_gate(policy),
        *_permissions(settings),
        *_safeguards(settings),
        *_limits(settings),
        *_callers(settings),
        *_router_notes(policy.router),
        *(() if policy.llm is None else _llm_notes(policy.llm)),
        *_hands(policy),
        *_web(policy),
        *_identity(policy),
        *_names(policy, served),
    ]
    return [Note(at, says) for at, says in found]


Found = Iterator[tuple[KeyPath, str]]


def _gate(policy: Policy) -> Found:
    if policy.mode != "block":
        yield ("gate", "mode"), f'"{policy.mode}": a call that does not fit its tool is not refused'
    if policy.unknown_tool == "pass":
        yield ("gate", "unknown_tool"), '"pass": calls of tools that nobody knows are not checked'
    for name in policy.hosts:
        near = get_close_matches(name.lower(), HOSTS, n=1, cutoff=0.7)
        if name not in HOSTS and near:
            yield ("gate", "hosts", name), f"did you mean `{near[0]}`? No host of ours has this name"
    for name, server in policy.servers.items():
        if not server.effects and server.enabled:
            yield ("servers", name), "nobody says what its tools do (`effects`): every call of one asks a person"
    yield from _prefixes(policy)


def _prefixes(policy: Policy) -> Found:
    """Servers whose tools stand under the same prefix in the gateway's list."""
    owners: dict[str, str] = {name: name for name, server in policy.servers.items() if server.prefix is None}
    for name, server in policy.servers.items():
        if server.prefix is None or not server.enabled:
            continue
        other = owners.setdefault(server.prefix.rstrip("_"), name)
        if other != name:
            says = f"[servers.{other}] has the same: a tool whose name both have is listed as `{name}_TOOL`"
            yield ("servers", name, "prefix"), says


_STAGES = {
    "limited-write": "files, tests and branches can be written",
    "full": "files can be edited, committed and merged",
}


def _permissions(settings: Settings) -> Found:
    owners: list[tuple[KeyPath, Settings | object]] = [(("policy",), settings)]
    owners += [(("callers", name), caller) for name, caller in settings.callers.items()]
    for place, owner in owners:
        stage = getattr(owner, "stage", None)
        if stage in _STAGES:
            yield (*place, "stage"), f'"{stage}": {_STAGES[stage]}'
        yield from _allowed_effects(owner, place)
        for key in ("allow", "only"):
            for at, pattern in enumerate(getattr(owner, key, None) or ()):
                if not pattern.strip("*"):
                    yield (*place, key, at), f"`{pattern}` allows every tool there is"
        denied = (*settings.deny, *getattr(owner, "deny", ()))
        for key in ("allow", "only"):
            for at, pattern in enumerate(getattr(owner, key, None) or ()):
                if any(hits(denial, pattern) for denial in denied):
                    yield (*place, key, at), f"`{escaped(pattern, 60)}` is denied as well, and the denial wins"


def _allowed_effects(words: object, place: KeyPath) -> Found:
    for effect in WORDED:
        if getattr(words, effect, None) == "allow":
            yield (*place, effect), f'"allow": nobody is asked before calls that {EFFECT_DOES[effect]}'


_MANY_QUESTIONS = 200
"""Of one caller; from there on a person approves without looking."""


def _safeguards(settings: Settings) -> Found:
    asking = settings.approval
    for pattern, words in settings.tools.items():
        yield from _allowed_effects(words, ("policy", "tools", pattern))
    if settings.approvals.problem:
        yield ("approvals", "notify"), settings.approvals.problem
    if asking.confidence == 0:
        yield ("policy", "approval", "confidence"), "0: no repair is too uncertain to run unasked"
    if not asking.definitions:
        yield ("policy", "approval", "definitions"), "false: a tool may change its definition and run unasked"
    if asking.waiting > _MANY_QUESTIONS:
        yield (
            ("policy", "approval", "waiting"),
            f"{asking.waiting:,}: nobody can look at so many questions of one caller",
        )
    if not settings.repeats:
        yield ("policy", "repeats"), "0: the same call may be made any number of times"
    if not settings.quarantine:
        yield ("policy", "quarantine"), "0: a call that is refused again and again is never put aside"
    for at, pattern in enumerate(settings.paths.allow):
        if not pattern.strip("*/"):
            yield ("policy", "paths", "allow", at), f"`{pattern}`: no file is secret by its name"


def _limits(settings: Settings) -> Found:
    limits, preset = settings.limits, PRESETS[settings.preset]
    yield from _unlimited(("policy", "limits", "all"), limits.all, preset.all)
    yield from _unlimited(("policy", "limits", "caller"), limits.caller, preset.caller)
    for tool, window in limits.tools.items():
        yield from _unlimited(("policy", "limits", "tools", tool), window, preset.tools.get(tool, Window()))
        if window == Window():
            yield ("policy", "limits", "tools", tool), "0 everywhere: this tool has no limit of its own"
    for name, caller in settings.callers.items():
        if caller.limits is not None:
            yield from _unlimited(("callers", name, "limits"), caller.limits, limits.caller)


_PERIODS = {"minute": "a minute", "hour": "an hour", "burst": "a second"}


def _unlimited(place: KeyPath, window: Window, usual: Window) -> Found:
    for key, period in _PERIODS.items():
        if getattr(usual, key) and not getattr(window, key):
            yield (*place, key), f"0: any number of calls {period} (otherwise {getattr(usual, key)})"


def _callers(settings: Settings) -> Found:
    seen: dict[str, str] = {}
    for name in settings.callers:
        other = seen.setdefault(loosely(name), name)
        if other != name:
            yield ("callers", name), f"differs from `{escaped(other, 60)}` only in its spelling; they are two callers"


def _router_notes(router: RouterSettings) -> Found:
    usual = RouterSettings()
    if router.threshold < usual.threshold:
        yield ("router", "threshold"), f"tools run with less confidence than usual ({usual.threshold:g})"
    for role in ("light", "prime"):
        model: RouterModel | None = getattr(router, role)
        if model is not None:
            yield from _model(model, ("router", role))


def _model(model: RouterModel, place: KeyPath) -> Found:
    if model.key_env and model.url.startswith("http:") and not is_loopback(urlsplit(model.url).hostname or ""):
        yield (*place, "url"), "the key goes over the network as it is: https hides it"
    for name in model.headers:
        if is_secret(name):
            yield (*place, "headers", name), "a secret in a file that others may read; `key_env` keeps a key out of it"


def _llm_notes(llm: LlmSettings) -> Found:
    yield from _model(llm, ("gate", "llm"))
    yield (
        ("gate", "llm"),
        "hooks, `wrap` and the gateway never ask it; each process has its own budget",
    )
    if not is_loopback(urlsplit(llm.url).hostname or ""):
        yield ("gate", "llm", "url"), "calls that cannot be repaired are sent there, with their arguments"
    if llm.key_env and not os.environ.get(llm.key_env):
        yield ("gate", "llm", "key_env"), f"{escaped(llm.key_env, 60)} is not set here, so no model is asked"
    if llm.side_effects:
        yield ("gate", "llm", "side_effects"), "calls that do more than read are sent too; each waits for a person"


def _hands(policy: Policy) -> Found:
    usual = WriteSettings()
    if policy.code.structure and not has_parser():
        yield ("code", "structure"), 'the parser is not installed: run `pip install "rightcall[code]"`'
    for at, folder in enumerate(policy.sandbox.visible):
        if folder.strip("/") in _MUCH:
            yield ("sandbox", "visible", at), "code that a model wrote can read everything in there"
    gone = [name for name in usual.protected[:2] if name not in policy.write.protected + policy.write.frozen]
    if gone and policy.write.protected != usual.protected:
        yield ("write", "protected"), f"tools may commit to {' and '.join(gone)} without a review"


def _identity(policy: Policy) -> Found:
    """Whom the map lets in, and maybe more than one thinks."""
    for at, one in enumerate(policy.identity):
        place: KeyPath = ("identity",) if len(policy.identity) == 1 else ("identity", at)
        for rule in one.map:
            if rule.match == "any" and rule.caller:
                yield (*place, "map", "*"), f"everybody with a token of {escaped(one.name, 60)} may call"
            if rule.match == "any" and rule.may:
                yield (*place, "map", "*"), f"everybody with a login at {escaped(one.name, 60)} may open the console"
        if not one.client_id and any(rule.may for rule in one.map):
            yield (*place, "map"), "`may` has no effect without `client_id`: nobody can log into the console"
        for other in policy.identity[:at]:
            for name in sorted(_shared_callers(one, other)):
                told = f"caller `{escaped(name, 100)}` is also one of {escaped(other.name, 60)}"
                yield (*place, "map"), f"{told}: tokens of both share its rights, limits and records"


def _shared_callers(one: IdentitySettings, other: IdentitySettings) -> set[str]:
    """Callers that tokens of two providers can both be. A name with a claim in it is every name that begins so."""
    pairs = ((mine.caller, theirs.caller) for mine in one.map for theirs in other.map if mine.caller and theirs.caller)
    return {mine for mine, theirs in pairs if _may_be_same(mine, theirs)}


def _may_be_same(mine: str, theirs: str) -> bool:
    """
    >>> _may_be_same("staff/{email}", "staff/{sub}"), _may_be_same("ci", "ci"), _may_be_same("staff/{email}", "staff")
    (True, True, False)
    """
    (own, brace, _), (other, also, _) = mine.partition("{"), theirs.partition("{")
    if brace and also:
        return own == other  # a claim holds no slash
    return theirs.startswith(own) if brace else own.startswith(other) if also else own == other


def _map_lines(count: int) -> str:
    return "1 line in the map" if count == 1 else f"{count} lines in the map"


def _web(policy: Policy) -> Found:
    """What is set and has no effect, or reaches further than one may think."""
    if policy.web == WebSettings():
        return
    callers = policy.settings.callers.values()
    given = [*policy.settings.allow, *(name for one in callers for name in (*one.allow, *(one.only or ())))]
    if not any(matches(name, tool) for name in given for tool in ("web/fetch", "web/search")):
        usual = WebSettings()
        key = next(name for name in usual.__struct_fields__ if getattr(policy.web, name) != getattr(usual, name))
        yield ("web", key), '`web/fetch` and `web/search` are off: `[policy] allow = ["web/fetch"]` switches one on'
    for at, network in enumerate(policy.web.networks):
        if network.endswith("/0"):
            yield ("web", "networks", at), "tools may fetch from every private network and from this machine"


_MUCH = frozenset(("etc", "home", "root", "var", "run", "proc", "sys", "dev", "mnt", "srv", "opt"))


Served = Mapping[str, tuple[str, ...]]
"""The tools of each server that was seen, by the server's own names."""


def _names(policy: Policy, served: Served) -> Found:
    """Names and patterns that no known tool has, and servers of which that cannot be said yet."""
    known = known_tools(policy)
    theirs = {name: frozenset(_names_of(name, served[name])) for name in served}
    everything = known.union(*theirs.values())
    unsure = False
    for at, name in _named(policy.settings):
        fits = hits if "deny" in at else matches
        if any(fits(name, tool) for tool in everything):
            continue
        server = next((one for one in policy.servers if name.startswith((f"{one}/", f"mcp__{one}__"))), None)
        if server in theirs:
            yield at, _misspelt(name, theirs[server])
        elif not (policy.servers or policy.hosts) or any(loosely(tool) == loosely(name) for tool in known):
            yield at, _unknown(name, known)
        elif not is_pattern(name) and get_close_matches(name, everything - known, n=1, cutoff=_ALIKE):
            yield at, _misspelt(name, everything - known)
        else:
            unsure = True
    for name, server in policy.servers.items():
        own = [
            (("servers", name, key, at), one) for key in ("allow", "deny", "ask") for at, one in _patterns(server, key)
        ]
        own += [(("servers", name, "effects", one), one) for one, _ in server.effects]
        own = [(at, one) for at, one in own if one != "*"]
        if name in served:
            wrong = [(at, one) for at, one in own if not any(hits(one, tool) for tool in served[name])]
            yield from ((at, _misspelt(one, served[name])) for at, one in wrong)
        elif server.enabled and (own or unsure):
            learn = f"rightcall hook learn --name {quote(name)}"
            yield ("servers", name), f"names of its tools could not be checked: it was not seen yet (`{learn}`)"


_ALIKE = 0.8
"""How close a name must be to one of a server's tools, where it may also be that of a tool nobody knows."""


def _named(settings: Settings) -> Found:
    """Every name and pattern of tools, with its place."""
    tables: list[tuple[KeyPath, Iterable[str] | None]] = [
        (("policy", "allow"), settings.allow),
        (("policy", "deny"), settings.deny),
        (("policy", "approval", "tools"), settings.approval.tools),
    ]
    for name, caller in settings.callers.items():
        tables += [(("callers", name, key), getattr(caller, key)) for key in ("allow", "only", "deny")]
    for place, names in tables:
        yield from (((*place, at), name) for at, name in enumerate(names or ()))
    yield from ((("policy", "tools", pattern), pattern) for pattern in settings.tools)
    for place, tools in (("limits", settings.limits.tools), ("budgets", settings.budgets_of_tools)):
        yield from ((("policy", place, "tools", tool), tool) for tool in tools)


def _patterns(server: Server, key: str) -> Iterable[tuple[int, str]]:
    return enumerate(cast("tuple[str, ...]", getattr(server, key)))


def _names_of(server: str, tools: Iterable[str]) -> Iterator[str]:
    """Everything that a rule may call the tools of a server."""
    for tool in tools:
        yield full_name(server, tool)
        yield from names_meant(server, tool)


def _misspelt(name: str, tools: Iterable[str]) -> str:
    near = get_close_matches(name, sorted(tools), n=1)
    hint = f"; did you mean `{escaped(near[0], 60)}`?" if near else ""
    return f"no known tool {'matches' if is_pattern(name) else 'has the name'} `{escaped(name, 60)}`{hint}"


def _unknown(name: str, known: set[str]) -> str:
    if is_pattern(name):
        return f"no tool of the packs matches `{escaped(name, 60)}`: right if it is for your own or a server's"
    alike = [tool for tool in sorted(known) if loosely(tool) == loosely(name)]
    near = alike or get_close_matches(name, sorted(known), n=1)
    rest = f"did you mean `{near[0]}`?" if near else "right if it is your own or a server's"
    return f"no tool of the packs is called `{escaped(name, 60)}`: {rest}"


def known_tools(policy: Policy) -> set[str]:
    """Every tool that the shipped packs, the policy's packs, its own tables and the stages name."""
    packs = dict.fromkeys((*available_packs(), *policy.packs))
    return {
        *(tool.name for pack in packs for tool in load_pack(pack).tools),
        *policy.tools,
        *(tool for stage in STAGES.values() for tool in stage),
    }


# ── the answer ──

MOST_MISTAKES = 50
_AS_WRAP = {"claude-desktop": "wrap", "cursor": "wrap"}
"""Hosts that get their servers wrapped."""
_ROLES = ("light", "prime")


def check(file: str | None, *, json: bool) -> int:
    """Prints the answer and returns the exit code: 0 when the file is right. None: the one that is found here."""
    answer = examine(FoundPolicy(POLICY_FILE) if file is None else file)
    if json:
        say_json(_record(answer))
    elif answer.policy is None:
        raise PolicyError("\n".join(map(str, answer.mistakes)))
    else:
        say(*_report(answer, answer.policy, style_for(sys.stdout)))
    return OK if answer.policy else USAGE


class Answer(Struct, frozen=True):
    """Either a policy with notes, each with its line, or mistakes."""

    file: str
    policy: Policy | None = None
    notes: tuple[tuple[int, Note], ...] = ()
    mistakes: tuple[ConfigError, ...] = ()
    ignored: tuple[str, ...] = ()
    """Keys that do not count here, since the file was only found and nobody has trusted it."""
    unenforced: tuple[Unenforced, ...] = ()
    """What does not hold at the hosts that the file speaks of, or that RightCall is installed in."""


def examine(given: str | FoundPolicy) -> Answer:
    file, ignored = os.fspath(given), tuple[str, ...]()
    if file == POLICY_FILE and not os.path.lexists(file):
        missing = PolicyError("no such file; run `rightcall init` to write one, or name another file", source=file)
        return Answer(file, mistakes=(missing,))
    try:
        raw = read_text(file).raw
        trusted = not isinstance(given, FoundPolicy) or is_trusted(file, raw)
        if not trusted:
            refuse_leaving_link(file)
        source = _Source.of_bytes(file, PolicyError, raw)
        policy, mistakes = _read_all(source, source.parse(), os.path.dirname(file))
        if policy is not None and not trusted:
            tight = tighten(policy)
            ignored = tuple(ignored_keys(policy, tight))
            policy = replace(policy, packs=tight.packs)  # a file that it names is none of ours to read
        seen = _seen(policy, file) if policy is not None and trusted else _UNSEEN
        notes = [] if policy is None else notes_on(policy, seen)  # also reads the packs that it names
    except ConfigError as error:
        return Answer(file, mistakes=(error,))
    if policy is None:
        return Answer(file, mistakes=tuple(sorted(mistakes, key=lambda error: error.line)))
    lined = [(line_of(source.lines, note.at), note) for note in notes]
    noted = tuple(sorted(lined, key=lambda pair: pair[0]))
    return Answer(file, policy, noted, ignored=ignored, unenforced=tuple(_unenforced(policy)))


def _seen(policy: Policy, file: str) -> Served:
    """What lies beside the store of this file; nothing is opened for it."""
    seen: dict[str, tuple[str, ...]] = {}
    for one in served_tools(policy, Beside(store_path(policy, os.path.abspath(file), ""))):
        seen[one.server] = (*seen.get(one.server, ()), one.tool)
    return seen


def _unenforced(policy: Policy) -> Iterator[Unenforced]:
    with suppress(ConfigError):  # what is wrong with the notes of the installer is told by `status`
        installed = [_AS_WRAP.get(one.host, one.host) for one in read_manifest(state_folder()).files]
        for host in dict.fromkeys((*hosts_named(policy), *installed)):
            yield from unenforced(policy, host)


class _Source(Source):
    """Remembers where it complained, and where that stood before anything was taken out of a list."""

    at: KeyPath = ()

    def __init__(self, name: str, error: type[ConfigError], text: str | None = None) -> None:
        super().__init__(name, error, text)
        self.gone: dict[KeyPath, list[int]] = {}

    def wrong(self, path: KeyPath, message: str) -> ConfigError:
        self.at = path
        return super().wrong(self.written(path), message)

    def written(self, path: KeyPath) -> KeyPath:
        """A place in what is left, as a place in the file."""
        place: KeyPath = ()
        for key in path:
            if isinstance(key, int):
                for gone in sorted(self.gone.get(place, ())):
                    key += gone <= key
            place = (*place, key)
        return place


def _read_all(source: _Source, document: dict[str, Any], folder: str) -> tuple[Policy | None, list[ConfigError]]:
    """The policy, or every mistake: what is wrong is taken out, and the rest read again."""
    mistakes: list[ConfigError] = []
    while len(mistakes) < MOST_MISTAKES:
        try:
            policy = read_policy(source, document, folder)
            return (None if mistakes else policy), mistakes
        except PolicyError as error:
            mistakes.append(error)
            if source.at == ("version",) or not _take_out(source, document):
                break
    return None, mistakes


def _take_out(source: _Source, document: dict[str, Any]) -> bool:
    """Remove what was complained of, or the innermost thing around it; false when there is nothing to remove.

    The keys of a tool speak of each other, so its whole `[gate.tools.NAME]` goes: no mistake may follow from another.
    """
    path = source.at[:3] if source.at[:2] == ("gate", "tools") else source.at
    found: tuple[Any, int] | None = None
    inner: Any = document
    for depth, key in enumerate(path):
        if not (isinstance(inner, dict) and key in inner) and not (isinstance(inner, list) and isinstance(key, int)):
            break
        found = cast("Any", inner), depth
        inner = found[0][key]
    if found is None:
        return False
    container, depth = found
    if isinstance(container, list):
        *place, index = source.written(path[: depth + 1])
        source.gone.setdefault(tuple(place), []).append(cast("int", index))
    del cast("Any", container)[path[depth]]
    return True


def _record(answer: Answer) -> dict[str, Any]:
    """The answer as `--json` prints it."""
    policy = answer.policy
    if policy is None:
        return {"ok": False, "file": answer.file, "mistakes": [_mistake(error) for error in answer.mistakes]}
    settings = policy.settings
    return {
        "ok": True,
        "file": answer.file,
        "digest": policy.digest,
        "preset": settings.preset,
        "stage": settings.stage,
        "tools": sorted(STAGES[settings.stage]),
        **{effect: getattr(settings, effect) for effect in WORDED},
        "callers": list(settings.callers),
        "servers": list(policy.servers),
        "identity": [one.issuer for one in policy.identity],
        "hosts": {name: host.mode or policy.mode for name, host in policy.hosts.items()},
        "router": _router_record(policy.router),
        "notes": [{"line": line, "key": dotted(note.at), "note": note.says} for line, note in answer.notes],
        "ignored": list(answer.ignored),
        "unenforced": [{"host": one.host, "rule": one.rule, "why": one.why} for one in answer.unenforced],
    }


def _router_record(router: RouterSettings) -> dict[str, Any]:
    models = {role: model.url for role in _ROLES if (model := getattr(router, role))}
    return {"enabled": router.enabled, "threshold": router.threshold, "below": router.below, "models": models}


def _mistake(error: ConfigError) -> dict[str, Any]:
    where = f"{error.source}:{error.line}: " if error.line else f"{error.source}: "
    return {"file": error.source, "line": error.line, "message": str(error).removeprefix(where)}


def _report(answer: Answer, policy: Policy, style: Style) -> list[str]:
    settings, limits = policy.settings, policy.settings.limits
    mark = style.tint("!", "yellow")
    lines = [f"{style.tint('✓', 'green')} {escaped(answer.file)} is right"]
    for label, text in (
        ("stage", f"{settings.stage}, {len(STAGES[settings.stage])} tools"),
        ("writes", _effect_words(settings, "write")),
        ("runs", _effect_words(settings, "execute")),
        ("preset", f"{settings.preset}; all callers {window_words(limits.all)}"),
        ("", f"each caller {window_words(limits.caller)}"),
        ("callers", f"{len(settings.callers)}: {_listed(settings.callers)}" if settings.callers else "none by name"),
        ("servers", ", ".join(name if one.enabled else f"{name} (off)" for name, one in policy.servers.items())),
        ("hosts", ", ".join(f"{escaped(name, 40)} ({one.mode or policy.mode})" for name, one in policy.hosts.items())),
        ("logins", ", ".join(f"{escaped(one.name, 60)} ({_map_lines(len(one.map))})" for one in policy.identity)),
        ("router", _router(policy.router) if policy.router != RouterSettings() else ""),
        ("digest", policy.digest),
    ):
        lines += hang(f"  {label:<7}  ", text, style) if text else []
    for line, note in answer.notes:
        lines += hang(f"{mark} {f'line {line}':<8}  ", f"{escaped(dotted(note.at))}: {escaped(note.says)}", style)
    for host, gaps in groupby(answer.unenforced, key=lambda one: one.host):
        lines.append(f"{mark} not enforced at {escaped(host, 40)}:")
        lines += [piece for gap in gaps for piece in hang("    - ", f"{gap.rule}: {gap.why}", style)]
    if answer.ignored:
        keys = ", ".join(escaped(key, 60) for key in answer.ignored)
        lines += hang(f"{mark} ", f"nobody has trusted this file, so these do not count: {keys}", style)
        lines += [f"  read and trust it: rightcall trust {escaped(quote(answer.file))}"]
    return lines


_WORD_MEANS: dict[EffectWord | None, str] = {
    "deny": "deny: refused",
    "dry-run": "dry-run: shown, not made",
    "ask": "ask: a person approves each call",
    "allow": "allow: nobody is asked",
}


def _effect_words(settings: Settings, effect: Effect) -> str:
    """What tools that write or execute may do, and the line that changes it where nobody has said it."""
    word = getattr(settings, effect)
    usual = f'dry run only, and only for tools in `stage` or `allow`; {effect} = "ask" turns them on'
    return _WORD_MEANS.get(word) or usual


def _listed(names: Iterable[str]) -> str:
    return ", ".join(escaped(name, 40) for name in names)


def _router(router: RouterSettings) -> str:
    if not router.enabled:
        return "off: no request is given a tool"
    models = [f"{role} {escaped(model.url, 200)}" for role in _ROLES if (model := getattr(router, role))]
    below = "asks the user" if router.below == "ask" else "goes without the tool"
    return f"runs from {router.threshold:g} on, {below} below; models: {', '.join(models) or 'none'}"


def window_words(window: Window) -> str:
    """`10 a minute, 200 an hour, 3 a second`; what is 0 is not said."""
    periods = (("a minute", window.minute), ("an hour", window.hour), ("a second", window.burst))
    return ", ".join(f"{calls} {period}" for period, calls in periods if calls) or "without limit"
