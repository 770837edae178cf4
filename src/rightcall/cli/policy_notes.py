"""What is right in a policy file and still worth knowing: where it allows much, and names that nothing has."""

from collections.abc import Iterator
from difflib import get_close_matches
from urllib.parse import urlsplit

from msgspec import Struct

from rightcall.base.http.addresses import is_loopback
from rightcall.config import HOSTS, Policy
from rightcall.config_hands import WebSettings, WriteSettings
from rightcall.config_router import ModelSettings, RouterSettings
from rightcall.config_settings import PRESETS, STAGES, Settings, Window
from rightcall.execute.code.structure import has_parser
from rightcall.packs import available_packs, load_pack
from rightcall.packs.lines import KeyPath
from rightcall.text.escape import escaped
from rightcall.text.patterns import hits, is_pattern, loosely, matches
from rightcall.text.secret_names import is_secret


class Note(Struct, frozen=True):
    at: KeyPath
    says: str


def notes_on(policy: Policy) -> list[Note]:
    """In the order of the file's tables."""
    settings = policy.settings
    found = [
        *_gate(policy),
        *_permissions(settings),
        *_safeguards(settings),
        *_limits(settings),
        *_callers(settings),
        *_router(policy.router),
        *_hands(policy),
        *_web(policy),
        *_names(policy),
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
        stage, dry_run = getattr(owner, "stage", None), getattr(owner, "dry_run", None)
        if stage in _STAGES:
            yield (*place, "stage"), f'"{stage}": {_STAGES[stage]}'
        if dry_run is False:
            yield (*place, "dry_run"), "off: tools that write or execute really do so"
        for key in ("allow", "only"):
            for at, pattern in enumerate(getattr(owner, key, None) or ()):
                if not pattern.strip("*"):
                    yield (*place, key, at), f"`{pattern}` allows every tool there is"
        denied = (*settings.deny, *getattr(owner, "deny", ()))
        for key in ("allow", "only"):
            for at, pattern in enumerate(getattr(owner, key, None) or ()):
                if any(hits(denial, pattern) for denial in denied):
                    yield (*place, key, at), f"`{escaped(pattern, 60)}` is denied as well, and the denial wins"


_MANY_QUESTIONS = 200
"""Of one caller; from there on a person approves without looking."""


def _safeguards(settings: Settings) -> Found:
    asking = settings.approval
    for effect in ("write", "execute"):
        if effect not in asking.effects:
            yield ("policy", "approval", "effects"), f"calls that {effect} ask nobody"
    for at, pattern in enumerate(asking.never):
        if not pattern.strip("*"):
            yield ("policy", "approval", "never", at), f"`{pattern}`: no call asks for its effects"
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


def _router(router: RouterSettings) -> Found:
    usual = RouterSettings()
    if router.threshold < usual.threshold:
        yield ("router", "threshold"), f"tools run with less confidence than usual ({usual.threshold:g})"
    for key, does in (("allow_write_tools", "write"), ("allow_execute_tools", "execute")):
        if getattr(router, key):
            yield ("router", key), f"tools that {does} are more than shown, once a person has said yes"
    for role in ("light", "prime"):
        model: ModelSettings | None = getattr(router, role)
        if model is not None:
            yield from _model(model, ("router", role))


def _model(model: ModelSettings, place: KeyPath) -> Found:
    if model.key_env and model.url.startswith("http:") and not is_loopback(urlsplit(model.url).hostname or ""):
        yield (*place, "url"), "the key goes over the network as it is: https hides it"
    for name in model.headers:
        if is_secret(name):
            yield (*place, "headers", name), "a secret in a file that others may read; `key_env` keeps a key out of it"


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


def _names(policy: Policy) -> Found:
    """Names and patterns that no known tool has; a tool of one's own, or of a server, is not known here."""
    known = known_tools(policy)
    settings = policy.settings
    tables: list[tuple[KeyPath, tuple[str, ...] | None]] = [
        (("policy", "allow"), settings.allow),
        (("policy", "deny"), settings.deny),
        (("policy", "approval", "tools"), settings.approval.tools),
        (("policy", "approval", "never"), settings.approval.never),
    ]
    for name, caller in settings.callers.items():
        tables += [(("callers", name, key), getattr(caller, key)) for key in ("allow", "only", "deny")]
    for place, names in tables:
        for at, name in enumerate(names or ()):
            fits = hits if place[-1] == "deny" else matches
            if not any(fits(name, tool) for tool in known) and not _is_a_servers(policy, name, known):
                yield (*place, at), _unknown(name, known)
    for place, tools in (("limits", settings.limits.tools), ("budgets", settings.budgets_of_tools)):
        for tool in tools:
            if tool not in known:
                yield ("policy", place, "tools", tool), _unknown(tool, known)


def _is_a_servers(policy: Policy, name: str, known: set[str]) -> bool:
    """Whether a name can be that of a tool which is not known here: where there are servers and hosts, most are."""
    return bool(policy.servers or policy.hosts) and not any(loosely(tool) == loosely(name) for tool in known)


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
