"""Single values of the policy file's tables, each checked so that no rule can be there without effect:
a denial that could never match is a mistake, not a milder policy."""

import os
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, TypeVar, get_args

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.globs import GlobFault, check_pattern, is_pattern
from rightcall.base.text import regex, render_json
from rightcall.catalog.toml import KeyPath, Reader, Source, Table, word
from rightcall.policy.commands import CommandRules, UrlRules
from rightcall.policy.effects import WORDED, EffectWord, EffectWords
from rightcall.policy.settings import (
    PRESETS,
    Asking,
    Audit,
    Budgets,
    CallerSettings,
    Limits,
    Notices,
    Paths,
    Preset,
    Records,
    Settings,
    StageName,
    StoreSettings,
    Window,
)

Readers = Mapping[str, Reader]
Record = TypeVar("Record", bound=Struct)

_OTHER_WILDCARDS = regex(r"[][{}?]")
_SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_HEADER = regex(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def laid_over(source: Source, path: KeyPath, value: Any, readers: Readers, base: Record) -> Record:
    """The record that a table describes: what it names, and `base` for the rest."""
    table = source.table(path, value)
    source.keys(path, table, readers)
    return replace(base, **{key: readers[key](source, (*path, key), item) for key, item in table.items()})


def words(allowed: Any) -> Reader:
    def read(source: Source, path: KeyPath, value: Any) -> tuple[str, ...]:
        found = [source.word((*path, at), item, get_args(allowed)) for at, item in enumerate(source.texts(path, value))]
        return tuple(dict.fromkeys(found))

    return read


def whole(least: int, most: int) -> Reader:
    return lambda source, path, value: source.count(path, value, least, most)


def whole_or_none(why_not_one: str) -> Reader:
    """0 for none, or from 2 to 1000, because 1 makes no sense."""

    def read(source: Source, path: KeyPath, value: Any) -> int:
        found = source.count(path, value, 0, 1000)
        if found == 1:
            raise source.wrong(path, f"1 {why_not_one}; must be 0 for none, or a whole number from 2 to 1000")
        return found

    return read


def number(least: float, most: float) -> Reader:
    def read(source: Source, path: KeyPath, value: Any) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
            raise source.wrong(path, f"must be a number from {least:g} to {most:g}, not {render_json(value)}")
        return float(value)

    return read


def text_that(is_right: Callable[[str], object], wrong: str, read: Reader = Source.text_of) -> Reader:
    """A text, as `read` gives it, of which something holds. Else it is wrong: `{}` there stands for the text."""

    def check(source: Source, path: KeyPath, value: Any) -> str:
        text: str = read(source, path, value)
        if not is_right(text):
            raise source.wrong(path, wrong.replace("{}", render_json(text)))
        return text

    return check


name = text_that(
    lambda text: text == text.strip() and text.isprintable(),
    "{} can match nothing: a name has no blanks around it and no characters that are not seen",
    text_that(str.strip, "must be a name, not an empty text"),
)
"""A name as something can really be called."""
exact_name = text_that(lambda text: not is_pattern(text), "{}: `*` has no meaning here; write one name, as it is", name)
"""A name where a pattern has no meaning."""


def each(read: Reader) -> Reader:
    """A list of these; one that stands twice counts once."""

    def read_all(source: Source, path: KeyPath, value: Any) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys(read(source, (*path, at), item) for at, item in enumerate(source.texts(path, value)))
        )

    return read_all


_tool_pattern = text_that(
    lambda text: not _OTHER_WILDCARDS.search(text),
    "{} can match nothing: `*` is the only wildcard in tool names; write each name by itself",
    name,
)
"""The name of a tool, or a pattern with `*`. No tool's name holds a bracket, a brace or a question mark, so who writes
one wants a pattern that there is not."""


def _path_pattern(source: Source, path: KeyPath, value: Any) -> str:
    """A pattern below the root, with `/` between its parts."""
    text = name(source, path, value)
    if text.startswith("!"):
        raise source.wrong(path, f"{render_json(text)}: `!` is not allowed here; exceptions have a list of their own")
    fault = _fault_of(text)
    drive = os.name == "nt" and text.partition("/")[0].endswith(":")  # elsewhere a folder may be called so
    if fault is not None or drive or _HOME_OR_VARIABLE.match(text):
        why = fault or "a path counts from the root, with `/`"
        raise source.wrong(
            path, f'{render_json(text)} can match nothing: {why}. Examples: "private/**", "**/*.{{pem,key}}"'
        )
    return text


_HOME_OR_VARIABLE = regex(r"~|\$(?:[A-Z_]+|\{[A-Z_]+\})/")
"""A pattern is no line of a shell: what it would put in their place does not stand below the root."""


def _fault_of(pattern: str) -> str | None:
    """Why a pattern matches no path at all."""
    if "\\" in pattern:
        return "a path counts from the root, with `/`"
    try:
        check_pattern(pattern)
    except GlobFault as fault:
        said, _, quoting = str(fault).partition("; for the character itself")
        return f"{said}; for the character itself write `[{quoting[-1]}]`" if quoting else said
    return None


file_path = text_that(
    lambda text: text.strip() and not text.endswith(("/", "\\")) and text.isprintable(),
    'must be the path of a file, such as ".rightcall/audit.db", not {}',
)


def web_address(example: str) -> Reader:
    """A whole address, such as the example."""

    def read(source: Source, path: KeyPath, value: Any) -> str:
        from urllib.parse import urlsplit  # late: few policies name an address

        text = source.text_of(path, value)
        try:
            parts = urlsplit(text)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable or not text.isprintable() or " " in text:
            raise source.wrong(path, f'must be a whole address, such as "{example}"')
        return text

    return read


def bare_address(example: str) -> Reader:
    """A whole address without user, password, query and fragment: what sends to it takes none of them."""
    whole = web_address(example)

    def read(source: Source, path: KeyPath, value: Any) -> str:
        from urllib.parse import urlsplit  # late: few policies name an address

        text: str = whole(source, path, value)
        parts = urlsplit(text)
        if "@" in parts.netloc or "?" in text or "#" in text:
            raise source.wrong(path, "must have no user, password, query or fragment: name scheme, host, port and path")
        if not text.isascii():
            raise source.wrong(path, "must be ASCII, with %XX for everything else")
        return text

    return read


def header_values(source: Source, path: KeyPath, value: Any) -> dict[str, str]:
    """HTTP headers by name."""
    found = source.text_map(path, value)
    for key, text in found.items():
        if not _HEADER.fullmatch(key) or not text.isascii() or not text.isprintable():
            raise source.wrong(
                (*path, key), "is not an HTTP header: expected a name without blanks and a one-line value"
            )
    return found


def by_name(source: Source, path: KeyPath, value: Any) -> dict[str, Any]:
    """A table whose keys are names that somebody chose."""
    return {exact_name(source, (*path, key), key): item for key, item in source.table(path, value).items()}


patterns = each(_tool_pattern)
"""Names of tools, or patterns with `*`."""

exact_names = each(exact_name)
path_patterns = each(_path_pattern)


def _compiled_by(module: str, compiler: str) -> Reader:
    """A pattern that a function of `policy/commands` compiles; loaded then, since most policies have none."""

    def read(source: Source, path: KeyPath, value: Any) -> str:
        text: str = name(source, path, value)
        try:
            getattr(import_module(f"rightcall.policy.commands.{module}"), compiler)(text)
        except ValueError as fault:
            raise source.wrong(path, f"{render_json(text)} {fault}") from None
        return text

    return read


command_patterns = each(_compiled_by("patterns", "compiled"))
url_patterns = each(_compiled_by("urls", "compiled_url"))


# ── settings ──
# Reads and checks `[policy]`, `[callers.NAME]` and `[audit]`: every key known, every value in its range.
#
# A table that names only some of its keys leaves the others as they are one step up: a limit as the preset has it, a
# caller's limit or budget, and a tool's budget, as `[policy]` has them.

TABLES = ("policy", "approvals", "callers", "audit", "store")
"""The tables of the policy file that are read here."""


def read_settings(source: Source, document: Table) -> Settings:
    """What these tables say, the defaults where they say nothing."""
    policy = source.table(("policy",), document.get("policy", {}))
    _refuse_folded(source, policy)
    source.keys(("policy",), policy, POLICY_KEYS)
    plain = {key: _POLICY[key](source, ("policy", key), value) for key, value in policy.items() if key in _POLICY}
    settings = Settings(**plain)
    limits = _limits(source, ("policy", "limits"), policy.get("limits", {}), PRESETS[settings.preset])
    budgets, budgets_of_tools = _budgets(source, ("policy", "budgets"), policy.get("budgets", {}))
    return Settings(
        **plain,
        tools=_tool_words(source, ("policy", "tools"), policy.get("tools", {})),
        limits=limits,
        budgets=budgets,
        budgets_of_tools=budgets_of_tools,
        approval=laid_over(source, ("policy", "approval"), policy.get("approval", {}), _APPROVAL, Asking()),
        approvals=laid_over(source, ("approvals",), document.get("approvals", {}), {"notify": _notify}, Notices()),
        paths=laid_over(source, ("policy", "paths"), policy.get("paths", {}), _PATHS, Paths()),
        commands=laid_over(source, ("policy", "commands"), policy.get("commands", {}), _COMMANDS, CommandRules()),
        urls=laid_over(source, ("policy", "urls"), policy.get("urls", {}), _URLS, UrlRules()),
        callers=_callers(source, ("callers",), document.get("callers", {}), limits.caller, budgets),
        audit=laid_over(source, ("audit",), document.get("audit", {}), _AUDIT, Audit()),
        store=laid_over(source, ("store",), document.get("store", {}), {"url": _store_url}, StoreSettings()),
    )


_LEAST_DAYS, _MOST_DAYS = 7, 36_500


def _span(source: Source, path: KeyPath, value: Any) -> str:
    """`400d` or `52w`; empty for ever."""
    text = source.text_of(path, value).strip()
    if not text:
        return text
    number, unit = text[:-1], text[-1]
    if unit not in ("d", "w") or not number.isdecimal() or len(number) > 6:
        raise source.wrong(path, f'must be days or weeks, such as "400d" or "52w", not {render_json(text)}')
    days = int(number) * (7 if unit == "w" else 1)
    if not _LEAST_DAYS <= days <= _MOST_DAYS:
        raise source.wrong(
            path, f'must be from "{_LEAST_DAYS}d" to "{_MOST_DAYS}d", not {render_json(text)}: what is removed is gone '
            "for good; `rightcall audit prune` removes more, once",
        )  # fmt: skip
    return text


def _store_url(source: Source, path: KeyPath, value: Any) -> str:
    text = source.text_of(path, value)
    if not text:
        return text
    if not text.startswith(("postgresql://", "postgres://")) or not text.isprintable():
        raise source.wrong(
            path, 'must be the address of a PostgreSQL server, such as "postgresql://rightcall@db.example/rightcall"; '
            "a file is named under [audit] path",
        )  # fmt: skip
    from urllib.parse import unquote  # late: few policies name a server

    user = text.partition("://")[2].partition("/")[0].rpartition("@")[0]
    if ":" in user or "password=" in unquote(text):
        raise source.wrong(path, "must not hold a password; set PGPASSWORD, or write it into ~/.pgpass")
    if wrong := wrong_server(*_server_of(text)):
        raise source.wrong(path, wrong)
    return text


def _server_of(url: str) -> tuple[list[str], str]:
    """The ports and the sslmode that a URL names, also where no driver is installed that reads it."""
    from urllib.parse import parse_qsl, unquote

    rest, _, query = url.partition("://")[2].partition("?")
    named = dict(parse_qsl(query, keep_blank_values=True))
    hosts = rest.partition("/")[0].rpartition("@")[2].split(",")
    ports = [unquote(host.rpartition("]")[2].partition(":")[2]) for host in hosts]
    return named["port"].split(",") if "port" in named else ports, named.get("sslmode", "")


def wrong_server(ports: Iterable[str], sslmode: str) -> str:
    """What no server could be reached with, in words; "" where there is nothing.

    >>> wrong_server(["99999"], "")
    "has the port '99999'; a port is a number from 1 to 65535"
    """
    for port in ports:
        if port and not (port.isascii() and port.isdecimal() and 1 <= int(port[:6]) <= 65_535):
            return f"has the port {port!r:.60}; a port is a number from 1 to 65535"
    if sslmode and sslmode not in _SSL_MODES:
        return f"has the sslmode {sslmode!r:.60}; write {', '.join(_SSL_MODES[:-1])} or {_SSL_MODES[-1]}"
    return ""


def _notify(source: Source, path: KeyPath, value: Any) -> str | tuple[str, ...]:
    if isinstance(value, str):
        return bare_address("https://ntfy.example.org/approvals")(source, path, value)
    found = tuple(source.texts(path, value))
    if (found and not found[0].strip()) or any("\0" in part for part in found):
        raise source.wrong(path, 'must be an address, or a list of program and arguments, such as ["notify-send", "…"]')
    return found


def _tool_words(source: Source, path: KeyPath, value: Any) -> Mapping[str, EffectWords]:
    return MappingProxyType(
        {
            _tool_pattern(source, (*path, pattern), pattern): laid_over(
                source, (*path, pattern), words, _WORDS_OF_EFFECTS, EffectWords()
            )
            for pattern, words in source.table(path, value).items()
        }
    )


def folded_switch(value: Any) -> str:
    """What takes the place of `dry_run`, with the same meaning."""
    instead = '"ask" (or "allow")' if value is False else '"dry-run"'
    return f"is no longer a key: write `write = {instead}` and `execute = {instead}` instead"


def _refuse_folded(source: Source, policy: Table) -> None:
    """Keys that `write`, `execute` and `network` have replaced, each with the line that takes its place."""
    if "dry_run" in policy:
        raise source.wrong(("policy", "dry_run"), folded_switch(policy["dry_run"]))
    approval = source.table(("policy", "approval"), policy.get("approval", {}))
    if "effects" in approval:
        what = "`write`, `execute` and `network` of `[policy]` say it"
        raise source.wrong(
            ("policy", "approval", "effects"),
            f'is no longer a key: {what}, such as `write = "ask"`, or `write = "allow"` to ask nobody',
        )
    if "never" in approval:
        raise source.wrong(
            ("policy", "approval", "never"),
            'is no longer a key: write `[policy.tools."NAME"]` with `write = "allow"` instead',
        )


def _limits(source: Source, path: KeyPath, value: Any, preset: Limits) -> Limits:
    table = source.table(path, value)
    source.keys(path, table, Limits.__struct_fields__)
    tools = dict(preset.tools)
    for tool, window in by_name(source, (*path, "tools"), table.get("tools", {})).items():
        tools[tool] = laid_over(source, (*path, "tools", tool), window, _WINDOW, tools.get(tool, Window()))
    return Limits(
        all=laid_over(source, (*path, "all"), table.get("all", {}), _WINDOW, preset.all),
        caller=laid_over(source, (*path, "caller"), table.get("caller", {}), _WINDOW, preset.caller),
        tools=MappingProxyType(tools),
        **{key: _PER_DAY[key](source, (*path, key), table[key]) for key in _PER_DAY if key in table},
    )


def _budgets(source: Source, path: KeyPath, value: Any) -> tuple[Budgets, Mapping[str, Budgets]]:
    table = source.table(path, value)
    source.keys(path, table, (*_BUDGETS, "tools"))
    own = laid_over(source, path, {key: item for key, item in table.items() if key != "tools"}, _BUDGETS, Budgets())
    tools = by_name(source, (*path, "tools"), table.get("tools", {}))
    return own, MappingProxyType(
        {tool: laid_over(source, (*path, "tools", tool), item, _BUDGETS, own) for tool, item in tools.items()}
    )


def _callers(
    source: Source, path: KeyPath, value: Any, window: Window, budgets: Budgets
) -> Mapping[str, CallerSettings]:
    return MappingProxyType(
        {
            caller: _caller(source, (*path, caller), table, window, budgets)
            for caller, table in by_name(source, path, value).items()
        }
    )


def _caller(source: Source, path: KeyPath, value: Any, window: Window, budgets: Budgets) -> CallerSettings:
    table = source.table(path, value)
    if "dry_run" in table:
        raise source.wrong((*path, "dry_run"), folded_switch(table["dry_run"]))
    for key in ("stage", "allow"):
        if "only" in table and key in table:
            raise source.wrong(
                (*path, "only"),
                f"cannot stand beside `{key}`, which it replaces: name every tool in `only`, or use `allow` alone",
            )
    readers: Readers = {
        **_CALLER,
        "limits": lambda source, path, value: laid_over(source, path, value, _WINDOW, window),
        "budgets": lambda source, path, value: laid_over(source, path, value, _BUDGETS, budgets),
    }
    return laid_over(source, path, table, readers, CallerSettings())


_WORDS_OF_EFFECTS: Readers = dict.fromkeys(WORDED, word(EffectWord))
_POLICY: Readers = {
    "preset": word(Preset),
    "stage": word(StageName),
    **_WORDS_OF_EFFECTS,
    "rounds": whole(1, 100),
    "repeats": whole_or_none("would refuse every call"),
    "repeatable": patterns,
    "quarantine": whole_or_none("would leave a call that is refused once no second try"),
    "records": word(Records),
    "allow": patterns,
    "deny": patterns,
}
POLICY_KEYS = (*_POLICY, "tools", "limits", "approval", "budgets", "paths", "commands", "urls")
"""What `[policy]` may say."""
_WINDOW: Readers = {key: whole(0, 1_000_000) for key in Window.__struct_fields__}
_APPROVAL: Readers = {
    "tools": patterns,
    "expires": whole(1, 7 * 86_400),
    "confidence": number(0, 1),
    "definitions": Source.flag,
    "waiting": whole(1, 10_000),
    "waiting_bytes": whole(1_000, 1_000_000_000),
}
_BUDGETS: Readers = {
    "seconds": number(0.01, 86_400),
    "tokens": whole(50, 1_000_000),
    "output": whole(1, 1_000_000_000),
    "parallel": whole(1, 1000),
}
_PATHS: Readers = dict.fromkeys(Paths.__struct_fields__, path_patterns)
_COMMANDS: Readers = {**dict.fromkeys(("deny", "ask", "allow"), command_patterns), "starter": Source.flag}
_URLS: Readers = {**dict.fromkeys(("deny", "ask", "allow"), url_patterns), "starter": Source.flag}
_PER_DAY: Readers = {"calls_per_day": whole(0, 1_000_000_000), "tokens_per_day": whole(0, 1_000_000_000_000)}
_CALLER: Readers = {
    **_PER_DAY,
    "stage": word(StageName),
    "allow": patterns,
    "only": patterns,
    "deny": patterns,
    **_WORDS_OF_EFFECTS,
    "records": word(Records),
    "rooms": exact_names,
}
_AUDIT: Readers = {"path": file_path, "redact": exact_names, "keep": _span}
