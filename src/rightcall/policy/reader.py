"""Reads and checks the policy file, key by key. Only somebody who has one pays for importing this."""

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, TypeVar, cast

from msgspec.structs import replace

from rightcall.base.globs import matches
from rightcall.base.text import regex, render_json
from rightcall.catalog.packs import available_packs, is_pack_path
from rightcall.catalog.toml import KeyPath, Source, Table, dotted, instead, word
from rightcall.catalog.tool import PackTool
from rightcall.errors import PolicyError
from rightcall.policy.settings import (
    HOST_NAMES,
    PROVIDER_DEFAULTS,
    SANDBOX_RANGES,
    VERSION,
    Below,
    CacheSettings,
    Check,
    CodeSettings,
    ConsoleSettings,
    HostSettings,
    IntentMode,
    LeastTier,
    LlmSettings,
    LoginKind,
    ModelSettings,
    Policy,
    ProviderSettings,
    RouterModel,
    RouterSettings,
    SandboxSettings,
    Server,
    TelemetrySettings,
    WebSettings,
    WriteSettings,
)
from rightcall.policy.values import (
    POLICY_KEYS,
    TABLES,
    Readers,
    bare_address,
    each,
    exact_name,
    file_path,
    header_values,
    laid_over,
    number,
    path_patterns,
    patterns,
    read_settings,
    text_that,
    url_patterns,
    web_address,
    whole,
    words,
)
from rightcall.policy.values import name as name_of
from rightcall.types import Effect, Mode, ReasoningMode, UnknownArgument, UnknownTool

# ── sandbox, writes, code, cache, web, telemetry ──
# Reads and checks `[sandbox]`, `[write]`, `[write.check]`, `[code]`, `[cache]`, `[web]` and `[telemetry]`, key by key.


def _ports(source: Source, path: KeyPath, value: Any) -> tuple[int, ...]:
    if not isinstance(value, list | tuple):
        raise source.wrong(path, "must be a list of ports, such as [80, 443, 8080]")
    return tuple(source.count((*path, at), one, 0, 65535) for at, one in enumerate(cast("list[Any]", value)))


def _networks(source: Source, path: KeyPath, value: Any) -> tuple[str, ...]:
    from ipaddress import ip_network  # late: few policies have any

    found: list[str] = []
    for at, text in enumerate(source.texts(path, value)):
        try:
            found.append(str(ip_network(text)))
        except ValueError:
            raise source.wrong(
                (*path, at),
                f'must be a range of addresses, such as "10.0.0.0/8" or "127.0.0.1", not {render_json(text)}',
            ) from None
    return tuple(found)


def _endpoint(source: Source, path: KeyPath, value: Any) -> str:
    if value == "":
        return ""
    return bare_address("https://search.example.org")(source, path, value).rstrip("/")


_file = text_that(
    lambda text: not text or (text.startswith("/") and "\0" not in text),
    'must be a whole path, such as "/etc/rightcall/console.pem", not {}',
)
_public = text_that(
    lambda text: text.count("/") <= 2,
    'must be scheme, host and port alone, such as "https://console.example.org"',
    _endpoint,
)
_host_name = text_that(
    lambda text: text.isascii() and text and all(one.isalnum() or one in ".:-_" for one in text),
    'must be an address, such as "127.0.0.1" or "0.0.0.0", not {}',
)


def _command(source: Source, path: KeyPath, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        raise source.wrong(path, 'must be a list, program and arguments, such as ["python3", "-m", "pytest", "-q"]')
    found = tuple(source.texts(path, value))
    if found and not found[0].strip():
        raise source.wrong(path, "must begin with the program that is run")
    if any("\0" in part for part in found):
        raise source.wrong(path, "holds a character that no command line can have")
    return found


_program = text_that(
    lambda text: not text or text.startswith("/"), 'must be a whole path, such as "/usr/bin/python3", not {}'
)


def _absolute(source: Source, path: KeyPath, value: Any) -> tuple[str, ...]:
    found = tuple(source.texts(path, value))
    for at, text in enumerate(found):
        if not text.startswith("/") or text.strip("/") == "" or ".." in text.split("/"):
            raise source.wrong(
                (*path, at), f'must be a whole path of a folder, such as "/opt/data", not {render_json(text)}'
            )
        machine = _of_the_machine(os.path.realpath(text))
        if machine is not None:
            raise source.wrong(
                (*path, at),
                f"{render_json(text)} cannot be shown: {machine} is the machine's own, with processes, devices or "
                "sockets of others; name a folder of files",
            )
    return found


def _of_the_machine(folder: str) -> str | None:
    """What a folder is, or lies in, or holds, that is no folder of files. Below /run there may be some."""
    for one in ("/proc", "/sys", "/dev", "/run"):
        if f"{one}/".startswith(f"{folder.rstrip('/')}/") or (one != "/run" and folder.startswith(f"{one}/")):
            return one
    return None


_folder = text_that(
    lambda text: {"", ".", ".."}.isdisjoint(text.strip("/").split("/")) and "*" not in text and "\0" not in text,
    'must be a folder, such as "experimental" or "/tmp", without `..` or `*`, not {}',
)
_MEGABYTES = whole(16, 1_000_000)
_SANDBOX: Readers = {
    "seconds": number(*SANDBOX_RANGES["seconds"]),
    **{name: whole(int(least), int(most)) for name, (least, most) in SANDBOX_RANGES.items() if name != "seconds"},
    "tier": word(LeastTier),
    "python": _program,
    "node": _program,
    "visible": _absolute,
}
_CODE: Readers = {"largest_file": whole(1, 100_000_000), "structure": Source.flag}
_CACHE: Readers = {
    "enabled": Source.flag,
    "entries": whole(1, 100_000),
    "bytes": whole(1_000, 10_000_000_000),
    "seconds": whole(1, 86_400),
}
_CHECK: Readers = {
    "command": _command,
    "seconds": number(1, 86_400),
    "memory": _MEGABYTES,
    "processes": whole(1, 10_000),
    "scratch": whole(1, 1_000_000),
}
_WRITE: Readers = {
    "folders": each(_folder),
    "tests": path_patterns,
    "protected": path_patterns,
    "frozen": path_patterns,
    "locked": path_patterns,
    "reviews": whole(1, 100),
    "check": lambda source, path, value: laid_over(source, path, value, _CHECK, Check()),
}
_WEB: Readers = {
    "seconds": number(0.1, 300),
    "bytes": whole(1000, 50_000_000),
    "redirects": whole(0, 20),
    "ports": _ports,
    "sites": url_patterns,
    "networks": _networks,
    "search": _endpoint,
}
_CONSOLE: Readers = {
    "enabled": Source.flag,
    "host": _host_name,
    "port": whole(0, 65535),
    "public_url": _public,
    "certificate": _file,
    "private_key": _file,
    "plain_http": Source.flag,
}
_SECTIONS: dict[str, tuple[Readers, Any]] = {
    "sandbox": (_SANDBOX, SandboxSettings()),
    "write": (_WRITE, WriteSettings()),
    "code": (_CODE, CodeSettings()),
    "cache": (_CACHE, CacheSettings()),
    "web": (_WEB, WebSettings()),
    "console": (_CONSOLE, ConsoleSettings()),
    "telemetry": ({"enabled": Source.flag}, TelemetrySettings()),
}
"""The tables that stand for themselves, and what holds where they say nothing."""


# ── the router ──
# Reads and checks `[router]`, `[router.light]` and `[router.prime]`, key by key.

_OURS = MappingProxyType(
    {
        "ENABLED": "enabled",
        "SELECTION_TEMPERATURE": "selection_temperature",
        "REVIEW_TEMPERATURE": "review_temperature",
        "CONFIDENCE_THRESHOLD": "threshold",
        "MAX_REINJECTIONS": "reinjections",
    }
)
"""What design 004 calls a setting, and what it is called here."""

_ALLOWED_THERE = {"ALLOW_WRITE_TOOLS": "write", "ALLOW_EXECUTE_TOOLS": "execute"}

_VARIABLE = regex(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
M = TypeVar("M", bound=RouterModel)
_USE_KEY_ENV = 'say with `key_env = "MY_KEY"` which environment variable holds it'


def read_router(source: Source, document: Table) -> RouterSettings:
    """What the table says, the defaults where it says nothing."""
    if "TOOL_ROUTING" in document:
        raise source.wrong(("TOOL_ROUTING",), "is called `[router]` here, and its keys are written in small letters")
    table = source.table(("router",), document.get("router", {}))
    for key in table:
        effect = _ALLOWED_THERE.get(key.upper())
        if effect is not None:
            raise source.wrong(
                ("router", key),
                f'is no longer a key: the router obeys `[policy] {effect} = "ask"` (or "allow") like every other door',
            )
        ours = _OURS.get(key.upper())
        if ours and key not in _ROUTER:
            raise source.wrong(("router", key), f"is called `{ours}` here")
    return laid_over(source, ("router",), table, _ROUTER, RouterSettings())


def _model(source: Source, path: KeyPath, value: Any) -> RouterModel:
    return _endpoint_model(source, path, value, _MODEL, RouterModel(""))


def _llm(source: Source, path: KeyPath, value: Any) -> LlmSettings:
    return _endpoint_model(source, path, value, _LLM, LlmSettings(""))


def _endpoint_model(source: Source, path: KeyPath, value: Any, readers: Readers, default: M) -> M:
    table = source.table(path, value)
    for key in table:
        if key.casefold() in ("key", "api_key", "apikey", "token", "secret", "password"):
            raise source.wrong((*path, key), f"a key must not be in a file that others may read: {_USE_KEY_ENV}")
    model = laid_over(source, path, table, readers, default)
    if not model.url:
        raise source.wrong(path, f'needs `url = "{_EXAMPLE}"`: where the model is')
    return model


def _url(source: Source, path: KeyPath, value: Any) -> str:
    text: str = _ADDRESS(source, path, value)
    from urllib.parse import urlsplit  # late: few policies name an address

    parts = urlsplit(text)
    if "@" in parts.netloc:
        raise source.wrong(path, f"contains a name or password, which must not be in a file: {_USE_KEY_ENV}")
    if parts.query or parts.fragment:
        raise source.wrong(path, f'ends with its path, since more is put behind it: "{_EXAMPLE}"')
    return text


_model_name = text_that(
    lambda text: text == text.strip() and text.isprintable() and len(text) <= 300,
    "must be what the server calls its model: one line without blanks around it",
)
_variable = text_that(  # the text is not shown: it may be the key
    lambda text: not text or _VARIABLE.fullmatch(text),
    "must be the name of an environment variable (letters, digits and `_`), not the key itself",
)


def _headers(source: Source, path: KeyPath, value: Any) -> MappingProxyType[str, str]:
    found = header_values(source, path, value)
    for name in found:
        if name.casefold() == "authorization":
            raise source.wrong((*path, name), f"a key must not be in a file that others may read: {_USE_KEY_ENV}")
    return MappingProxyType(found)


_EXAMPLE = "http://127.0.0.1:8080/v1"
_ADDRESS = web_address(_EXAMPLE)
_TEMPERATURE = number(0, 2)
_TOKENS = whole(1, 1_000_000)
_SECONDS = number(0.1, 86_400)
_MODEL: Readers = {
    "url": _url,
    "model": _model_name,
    "key_env": _variable,
    "headers": _headers,
    "schema": Source.flag,
}
_LLM: Readers = {
    **{key: _MODEL[key] for key in ("url", "model", "key_env", "headers")},
    "calls": whole(1, 1_000_000),
    "tokens": whole(1, 1_000_000_000),
    "seconds": _SECONDS,
    "timeout": _SECONDS,
    "side_effects": Source.flag,
}
_ROUTER: Readers = {
    "enabled": Source.flag,
    "mode": word(IntentMode),
    "threshold": number(0, 1),
    "below": word(Below),
    "reinjections": whole(0, 100),
    "candidates": whole(1, 100),
    "selection_temperature": _TEMPERATURE,
    "selection_tokens": _TOKENS,
    "review_temperature": _TEMPERATURE,
    "review_tokens": _TOKENS,
    "answer_temperature": _TEMPERATURE,
    "answer_tokens": _TOKENS,
    "top_p": number(0.01, 1),
    "seconds": _SECONDS,
    "model_seconds": _SECONDS,
    "tokens": whole(1, 1_000_000_000),
    "search": whole(0, 100_000),
    "light": _model,
    "prime": _model,
}


# ── servers ──
# Reads and checks `[servers.NAME]`, key by key.

_NAME = regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")


def read_servers(source: Source, document: Table, folder: str) -> Mapping[str, Server]:
    """The servers by name; relative folders count from the policy file's."""
    tables = source.table(("servers",), document.get("servers", {}))
    return MappingProxyType({name: _server(source, ("servers", name), name, tables[name], folder) for name in tables})


def _server(source: Source, path: KeyPath, name: str, value: Any, folder: str) -> Server:
    if not _NAME.fullmatch(name):
        raise source.wrong(path, "a server's name has 1 to 40 letters, digits, `-` and `_`: it prefixes its tools")
    table = source.table(path, value)
    if "dry_run" in table:
        place = f'`[policy.tools."{name}/*"]`'
        raise source.wrong(
            (*path, "dry_run"),
            f'is no longer a key: write {place} with `write`, `execute` and `network` = "dry-run" instead',
        )
    for key in table:
        if key.casefold() in ("client_secret", "token", "secret", "password", "api_key"):
            raise source.wrong((*path, key), f"a secret must not be in a file that others may read: {_USE_ENV}")
    server = laid_over(source, path, table, _SERVER, Server(name))
    if bool(server.command) == bool(server.url):
        raise source.wrong(
            path, 'needs either `command = ["program", "argument"]` or `url = "http://…"`, and only one of them'
        )
    for key in ("env", "cwd") if server.url else ("headers", *_LOGIN):
        if key in table:
            kind = "url" if server.url else "command"
            raise source.wrong((*path, key), f"has no meaning beside `{kind}`")
    _check_login(source, path, table, server)
    placed = {
        key: os.path.join(folder, text)
        for key in ("cwd", "private_key", "assertion_file")
        if (text := getattr(server, key))
    }
    return replace(server, **placed) if placed else server


def _check_login(source: Source, path: KeyPath, table: Table, server: Server) -> None:
    """Of each way to a token one, and all that it needs."""
    if server.token_env and server.token_command:
        raise source.wrong((*path, "token_command"), "and `token_env` are two ways to one token: leave one of them out")
    if server.brings_token:
        for key in _LOGIN[:-2]:
            if key in table:
                raise source.wrong((*path, key), "has no meaning beside `token_env` or `token_command`")
    if any(name.lower() == "authorization" for name in server.headers) and any(key in table for key in _LOGIN):
        raise source.wrong((*path, "headers"), "name `authorization`, which the login sets: leave one of them out")
    if server.login == "machine":
        if not server.client_id or not (server.client_secret_env or server.private_key or server.assertion_file):
            needed = "`client_secret_env`, `private_key` or `assertion_file`"
            raise source.wrong((*path, "login"), f"a machine needs `client_id`, with {needed}")
        if server.per_caller:
            raise source.wrong((*path, "per_caller"), 'has no meaning beside `login = "machine"`')
    elif server.assertion_file:
        raise source.wrong((*path, "assertion_file"), 'has no meaning without `login = "machine"`')
    for key in ("exchange_url", "exchange_client_id"):
        if key in table and not server.assertion_file:
            raise source.wrong((*path, key), "has no meaning without `assertion_file`")


def _scopes(source: Source, path: KeyPath, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        raise source.wrong(path, f'is a list of texts: {path[-1]} = ["read", "write"]')
    scopes = source.texts(path, value)
    if not all(_SCOPE.fullmatch(one) for one in scopes):
        raise source.wrong(path, "a scope is one word of ASCII, without quotes and backslashes")
    return scopes


_USE_ENV = "name the environment variable that holds it (`token_env`, `client_secret_env`), or a `token_command`"
_SCOPE = regex(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")
_LOGIN = (
    "login", "client_id", "client_secret_env", "private_key", "assertion_file", "exchange_url", "exchange_client_id",
    "issuer", "scopes", "redirect_port", "per_caller", "token_env", "token_command",
)  # fmt: skip
"""What is said of the login at a server; the last two bring a token instead."""


def _command_servers(source: Source, path: KeyPath, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        raise source.wrong(path, f'is a list, no shell reads it: {path[-1]} = ["program", "argument"]')
    parts = source.texts(path, value)
    if not parts or not parts[0].strip() or any("\0" in part for part in parts):
        raise source.wrong(path, 'names a program first: command = ["program", "argument"]')
    return parts


def _effects(source: Source, path: KeyPath, value: Any) -> tuple[tuple[str, tuple[Effect, ...]], ...]:
    """A list holds for all tools; a table says it by pattern, and the first that fits counts."""
    if not isinstance(value, Mapping):
        return (("*", _WORDS_SERVERS(source, path, value)),)
    found: list[tuple[str, tuple[Effect, ...]]] = []
    for pattern, item in source.table(path, value).items():
        first = next((earlier for earlier, _ in found if matches(earlier, pattern)), None)
        if first is not None:
            raise source.wrong(
                (*path, pattern),
                f"never counts, because {render_json(first)} comes first and covers it: move this entry up",
            )
        found.append((pattern, _WORDS_SERVERS(source, (*path, pattern), item)))
    return tuple(found)


_prefix = text_that(
    lambda text: not text or _NAME.fullmatch(text),
    'has at most 40 letters, digits, `-` and `_`, the first a letter or digit; "" leaves the names as they are',
)
_WORDS_SERVERS = words(Effect)
_SERVER: Readers = {
    "command": _command_servers,
    "url": web_address("http://127.0.0.1:8000/mcp"),
    "env": Source.text_map,
    "cwd": Source.text_of,
    "headers": header_values,
    "allow": patterns,
    "deny": patterns,
    "effects": _effects,
    "ask": patterns,
    "prefix": _prefix,
    "timeout": number(0.1, 86_400),
    "enabled": Source.flag,
    "login": word(LoginKind),
    "client_id": exact_name,
    "client_secret_env": _variable,
    "private_key": file_path,
    "assertion_file": file_path,
    "exchange_url": web_address("https://login.example.org/token"),
    "exchange_client_id": exact_name,
    "issuer": bare_address("https://login.example.org"),
    "scopes": _scopes,
    "redirect_port": whole(0, 65_535),
    "per_caller": Source.flag,
    "token_env": _variable,
    "token_command": _command_servers,
}


def read_bytes(file: str, raw: bytes) -> Policy:
    """The policy in the bytes of a TOML file; relative paths in it count from the file's folder."""
    source = Source.of_bytes(file, PolicyError, raw)
    return read_policy(source, source.parse(), os.path.dirname(file))


def read_document(document: Table) -> Policy:
    """The policy in a dict of the same shape."""
    return read_policy(Source("policy", PolicyError), document, "")


def read_policy(source: Source, document: Table, folder: str) -> Policy:
    """The policy in a parsed document; `source` complains, and `folder` is where relative paths begin."""
    version = document.get("version", VERSION)
    if isinstance(version, bool) or version != VERSION:
        raise source.wrong(
            ("version",), f"this RightCall reads version {VERSION} of the policy file, not {render_json(version)}"
        )
    known = ("version", "gate", *TABLES, "servers", "router", "identity", *_SECTIONS)
    _refuse_misplaced(source, document, known)
    router = read_router(source, document)
    source.keys((), document, known)
    gate = source.table(("gate",), document.get("gate", {}))
    source.keys(("gate",), gate, _GATE)
    settings = {key: _GATE[key](source, ("gate", key), value) for key, value in gate.items()}
    if "packs" in settings:
        settings["packs"] = tuple(
            os.path.join(folder, name) if is_pack_path(name) else name for name in settings["packs"]
        )
    rules, identity = read_settings(source, document), ()
    if "identity" in document:
        from rightcall.policy.identities import read_identity, with_stages  # late: few policies name a provider

        identity = read_identity(source, document)
        rules = with_stages(source, identity, rules)
    policy = Policy(
        **settings,
        servers=read_servers(source, document, folder),
        settings=rules,
        identity=identity,
        router=router,
        **{
            name: laid_over(source, (name,), document.get(name, {}), readers, defaults)
            for name, (readers, defaults) in _SECTIONS.items()
        },
        source=source.name,
        digest=_digest(source, document),
    )
    return replace(policy, servers=_surrounded(policy)) if any(one.url for one in policy.servers.values()) else policy


def _surrounded(policy: Policy) -> Mapping[str, Server]:
    """The servers, with what the policy says elsewhere about addresses."""
    networks, urls = policy.web.networks, policy.settings.urls
    return MappingProxyType(
        {name: replace(one, networks=networks, urls=urls) if one.url else one for name, one in policy.servers.items()}
    )


def _refuse_misplaced(source: Source, document: Table, known: tuple[str, ...]) -> None:
    """A key that is right, but not at the top: the header of its table was left out."""
    for key, value in document.items():
        homes = [table for table, keys in (("policy", POLICY_KEYS), ("gate", _GATE)) if key in keys]
        if not homes or (key in known and isinstance(value, Mapping)):
            continue
        tables = " or ".join(f"[{table}]" for table in homes)
        form = f"write {tables} above it"
        if source.text is None:
            form = " or ".join(f'{{"{table}": {{"{key}": {render_json(value, 60)}}}}}' for table in homes)
        raise source.wrong((key,), f"belongs to {tables}: {form}")


def _digest(source: Source, document: Table) -> str:
    from hashlib import sha256  # late: only somebody who has a policy pays for it

    text = source.text
    if text is None:
        from json import dumps  # late: a file has its own text

        try:
            text = dumps(document, sort_keys=True, separators=(",", ":"), default=dict)
        except (TypeError, ValueError):
            raise source.wrong((), "must hold nothing but what JSON can carry, under names that are texts") from None
    return sha256(text.encode()).hexdigest()[:16]


def _packs(source: Source, path: KeyPath, value: Any) -> tuple[str, ...]:
    names = source.texts(path, value)
    for at, name in enumerate(names):
        if not is_pack_path(name) and name not in available_packs():
            choice = instead(name, available_packs())
            raise source.wrong((*path, at), f"unknown pack {name!r}; {choice}, or the path of a .toml file")
    return names


def _providers(source: Source, path: KeyPath, value: Any) -> Mapping[str, ProviderSettings]:
    return MappingProxyType(
        {name.casefold(): _provider(source, (*path, name), table) for name, table in source.table(path, value).items()}
    )


def _models(source: Source, path: KeyPath, value: Any) -> Mapping[str, ModelSettings]:
    return MappingProxyType(
        {
            name_of(source, (*path, name), name).casefold(): laid_over(
                source, (*path, name), table, {"reasoning": word(ReasoningMode)}, ModelSettings()
            )
            for name, table in source.table(path, value).items()
        }
    )


def _provider(source: Source, path: KeyPath, value: Any) -> ProviderSettings:
    table = source.table(path, value)
    source.keys(path, table, ("repair", "enabled", "strategies", "reasoning"))
    reasoning = word(ReasoningMode)(source, (*path, "reasoning"), table["reasoning"]) if "reasoning" in table else None
    if set(table) == {"reasoning"}:  # nothing is said of repairs, so they stay as they are for this provider
        return replace(PROVIDER_DEFAULTS.get(str(path[-1]).casefold(), ProviderSettings()), reasoning=reasoning)
    flags = {key: source.flag((*path, key), table[key]) for key in ("repair", "enabled") if key in table}
    if len(set(flags.values())) > 1:
        raise source.wrong((*path, "enabled"), "`repair` and `enabled` are the same setting and disagree")
    named = None
    if "strategies" in table:
        from rightcall.catalog.rules import strategies  # late: few policies need it, and every hook would pay for it

        named = strategies(source, (*path, "strategies"), table["strategies"])
    return ProviderSettings(enabled=next(iter(flags.values()), True), strategies=named, reasoning=reasoning)


def _tools(source: Source, path: KeyPath, value: Any) -> Mapping[str, PackTool]:
    from rightcall.catalog.rules import check_tool, pack_tools, read_tool  # late: as above

    tables = {name: read_tool(source, (*path, name), table) for name, table in source.table(path, value).items()}
    for name, tool in tables.items():
        check_tool(source, (*path, name), tool)
    return MappingProxyType({tool.name: tool for tool in pack_tools(tables, "policy")})


def _hosts(source: Source, path: KeyPath, value: Any) -> Mapping[str, HostSettings]:
    hosts: dict[str, HostSettings] = {}
    for name, raw in source.table(path, value).items():
        place = (*path, name)
        table = source.table(place, raw)
        if "ask" in table:
            caller = dotted(("callers", HOST_NAMES.get(name, name)))
            raise source.wrong((*place, "ask"), f'is no longer a key: write `[{caller}]` with `write = "ask"` instead')
        source.keys(place, table, HostSettings.__struct_fields__)
        called = HOST_NAMES.get(name, name)
        if called in hosts:
            raise source.wrong(place, f"`{name}` and `{called}` are two names of one host")
        hosts[called] = HostSettings(**{key: _HOST[key](source, (*place, key), item) for key, item in table.items()})
    return MappingProxyType(hosts)


_WORDS: dict[str, Any] = {
    "mode": word(Mode),
    "unknown_tool": word(UnknownTool),
    "unknown_argument": word(UnknownArgument),
}
_HOST: dict[str, Any] = {
    **_WORDS,
    "on_failure": word(Literal["allow", "deny"]),
    "deadline": number(0.1, 600),
}
_GATE: dict[str, Any] = {
    **_WORDS,
    "packs": _packs,
    "enabled": Source.flag,
    "log_normalizations": Source.flag,
    "fail_on_normalization_failure": Source.flag,
    "max_text": whole(1, 1_000_000_000),
    "max_depth": whole(1, 1_000),
    "reasoning": word(ReasoningMode),
    "llm": _llm,
    "providers": _providers,
    "models": _models,
    "tools": _tools,
    "hosts": _hosts,
}
