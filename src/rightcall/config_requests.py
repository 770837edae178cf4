"""What a policy file asks for beyond making things stricter: what a person is shown before trusting it.

Nothing is listed by hand here: it is what the file says and `tighten` has not taken over, whatever that is.
"""

from collections.abc import Iterator, Mapping
from json import dumps
from typing import Any, cast

from msgspec import Struct

from rightcall.catalog import PackTool
from rightcall.config import HostSettings, Policy
from rightcall.config_read import read_policy
from rightcall.config_settings import STAGES, CallerSettings, Settings
from rightcall.config_tightening import tighten
from rightcall.errors import PolicyError
from rightcall.packs.lines import KeyPath, line_of
from rightcall.packs.source import Source, dotted
from rightcall.types import Rules

_NO_KEYS = ("standing", "source", "digest", "version", "within", "pack", "name", "preset")
"""Fields that are no keys of a file, or that permit nothing."""
_TABLES: Mapping[type[Struct], Mapping[str, KeyPath]] = {
    Policy: {
        "settings": ("policy",), "servers": ("servers",), "router": ("router",), "sandbox": ("sandbox",),
        "write": ("write",), "code": ("code",), "cache": ("cache",), "web": ("web",),
    },
    Settings: {"callers": ("callers",), "audit": ("audit",), "budgets_of_tools": ("policy", "budgets", "tools")},
}  # fmt: skip
"""Where a record's fields stand in the file, if not under the record's own key."""
_FREE = STAGES["read-only"]

_MEANINGS = (
    (("servers", "*", "command"), "starts a program"),
    (("servers", "*", "url"), "connects to a server"),
    (("servers", "*", "env"), "sets the environment of a program"),
    (("servers", "*", "headers"), "sends headers, which may hold environment variables"),
    (("router", "*", "url"), "sends requests to a model"),
    (("router", "*", "key_env"), "sends an environment variable"),
    (("router", "*", "headers"), "sends headers, which may hold environment variables"),
    (("sandbox", "visible"), "shows folders to the code that models write"),
    (("sandbox", "python"), "runs a program"),
    (("sandbox", "node"), "runs a program"),
    (("write", "check", "command"), "runs a command in the sandbox"),
    (("write", "folders"), "lets tools write there"),
    (("web", "search"), "sends searches to a server"),
    (("web", "networks"), "lets tools reach addresses that are not part of the public internet"),
    (("web",), "lets tools fetch more"),
    (("audit", "path"), "keeps the audit log outside the folder"),
    (("gate", "packs"), "loads rules from a file"),
    (("policy", "stage"), "allows more tools"),
    (("policy", "allow"), "allows more tools"),
    (("policy", "paths"), "opens protected paths"),
    (("policy", "approval"), "asks a person less often"),
    (("policy", "commands"), "asks less about commands"),
    (("policy", "urls"), "asks less about addresses"),
    (("policy", "records"), "shows callers the records of others"),
    (("policy", "limits"), "allows more calls"),
    (("policy", "repeatable"), "lets tools be called in a loop"),
    (("policy", "dry_run"), "lets tools write and execute"),
    (("code", "largest_file"), "opens larger files"),
    (("code", "structure"), "adds the structure to every read"),
    (("cache",), "keeps more results, or keeps them longer"),
    (("write", "locked"), "lets tools write what other programs run"),
    (("write", "protected"), "lets tools change protected branches"),
    (("callers", "*", "stage"), "allows more tools"),
    (("callers", "*", "allow"), "allows more tools"),
    (("callers", "*", "only"), "allows these tools"),
    (("gate", "reasoning"), "changes how model output is read"),
    (("gate", "models"), "changes how model output is read"),
    (("gate", "providers"), "changes how model output is repaired"),
    (("gate", "hosts", "*", "deadline"), "changes how long a hook may take"),
    (("router", "*", "model"), "chooses a model"),
    (("gate", "tools"), "changes how the arguments of a tool are read"),
)


class Beyond(Struct, frozen=True):
    """One thing that a file asks for, and that counts only where the file is trusted."""

    key: str
    line: int
    value: str
    """Whole, as JSON: nothing in it can disguise the line it is shown in."""
    meaning: str


def requests_of(file: str, raw: bytes) -> list[Beyond]:
    """Everything that the bytes of a policy file ask for beyond tightening. Raises PolicyError."""
    source = Source.of_bytes(file, PolicyError, raw)
    policy = read_policy(source, source.parse(), "")
    asked = _beyond(policy, tighten(policy), ())
    return sorted(
        (
            Beyond(dotted(path), line_of(source.lines, path), _render_value(value), meaning(path))
            for path, value in asked
        ),
        key=lambda one: (one.line, one.key),
    )


def ignored_keys(policy: Policy, tight: Policy) -> list[str]:
    """The same as keys alone, for a line in a log."""
    return list(dict.fromkeys(dotted(path) for path, _ in _beyond(policy, tight, ())))


def meaning(path: KeyPath) -> str:
    """What it comes to, in a few words.

    >>> meaning(("servers", "x", "command"))
    'starts a program'
    """
    for pattern, words in _MEANINGS:
        if len(path) >= len(pattern) and all(one in ("*", here) for one, here in zip(pattern, path, strict=False)):
            return words
    return "changes a default other than by making it stricter"


def _beyond(said: Struct, tight: Struct, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """The fields of one record in which the two differ."""
    for name in said.__struct_fields__:
        one, other = getattr(said, name), getattr(tight, name)
        if name in _NO_KEYS or one == other or _asks_nothing(said, name, one):
            continue
        yield from _difference(one, other, _place(said, name, path))


def _difference(said: Any, tight: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    if isinstance(said, Struct):
        if type(tight) is type(said):
            yield from _beyond(said, tight, path)
            return
        said = _unlike_defaults(said)
    if isinstance(said, Mapping):
        under = cast("Mapping[str, Any]", tight if isinstance(tight, Mapping) else {})
        over = cast("Mapping[str, Any]", said)
        for key, one in over.items():
            if one != under.get(key):
                yield from _difference(one, under.get(key), (*path, key))
        yield from (((*path, key), _without(under[key])) for key in under if key not in over)
    elif isinstance(said, tuple) and isinstance(tight, tuple):
        known = cast("tuple[Any, ...]", tight)
        given = cast("tuple[Any, ...]", said)
        more = [one for one in given if one not in known]
        dropped = [one for one in known if one not in given]
        if more:
            yield path, more
        if dropped:
            yield path, _without(dropped)
    elif said is not None:
        yield path, said


def _without(value: Any) -> dict[str, Any]:
    """A rule that holds by itself, and would not hold under this file."""
    return {"without": value}


def _unlike_defaults(record: Struct) -> dict[str, Any]:
    """What a record says that a table without these keys would not say."""
    fields, defaults = record.__struct_fields__, record.__struct_defaults__
    usual = dict(zip(fields[len(fields) - len(defaults) :], defaults, strict=True))
    said = {name: getattr(record, name) for name in fields}
    return {name: value for name, value in said.items() if name not in usual or value != usual[name]}


def _place(record: Struct, name: str, path: KeyPath) -> KeyPath:
    moved = _TABLES.get(type(record), {}).get(name)
    if moved is not None:
        return moved
    if isinstance(record, Policy):
        return ("gate", name)
    if isinstance(record, PackTool):  # what is said of its arguments stands in the tool's own table
        return path if name == "rules" else (*path, "parameters" if name == "schema" else name)
    return (*path, name)


def _asks_nothing(record: Struct, name: str, said: Any) -> bool:
    """Whether a field differs only because it was said in another way, or has the default that every file has."""
    if isinstance(record, CallerSettings) and name in ("stage", "only"):
        return said == "read-only" or (name == "only" and set(said or ()) <= _FREE)
    if isinstance(record, HostSettings | Rules):
        return said is None
    return name == "enabled" and said is True


def _render_value(value: Any) -> str:
    return dumps(_plain(value), ensure_ascii=True)


def _plain(value: Any) -> Any:
    if isinstance(value, Struct):
        return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in cast("list[Any]", value)]
    return value
