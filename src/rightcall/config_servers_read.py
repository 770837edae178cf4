"""Reads and checks `[servers.NAME]`, key by key."""

import os
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from rightcall.config_servers import Server
from rightcall.config_settings_values import (
    Readers,
    flag,
    header_values,
    laid_over,
    number,
    patterns,
    web_address,
    words,
)
from rightcall.packs.lines import KeyPath
from rightcall.packs.source import Source, Table
from rightcall.types import Effect

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")


def read_servers(source: Source, document: Table, folder: str) -> Mapping[str, Server]:
    """The servers by name; relative folders count from the policy file's."""
    tables = source.table(("servers",), document.get("servers", {}))
    return MappingProxyType({name: _server(source, ("servers", name), name, tables[name], folder) for name in tables})


def _server(source: Source, path: KeyPath, name: str, value: Any, folder: str) -> Server:
    if not _NAME.fullmatch(name):
        raise source.wrong(path, "a server's name has 1 to 40 letters, digits, `-` and `_`: it stands before its tools")
    table = source.table(path, value)
    server = laid_over(source, path, table, _SERVER, Server(name))
    if bool(server.command) == bool(server.url):
        raise source.wrong(
            path, 'needs either `command = ["program", "argument"]` or `url = "http://…"`, and only one of them'
        )
    for key in ("env", "cwd") if server.url else ("headers",):
        if key in table:
            kind = "url" if server.url else "command"
            raise source.wrong((*path, key), f"has no meaning beside `{kind}`")
    return replace(server, cwd=os.path.join(folder, server.cwd)) if server.cwd else server


def _command(source: Source, path: KeyPath, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        raise source.wrong(path, f'is a list, no shell reads it: {path[-1]} = ["program", "argument"]')
    parts = source.texts(path, value)
    if not parts or not parts[0].strip() or any("\0" in part for part in parts):
        raise source.wrong(path, 'names a program first: command = ["program", "argument"]')
    return parts


def _effects(source: Source, path: KeyPath, value: Any) -> tuple[tuple[str, tuple[Effect, ...]], ...]:
    """A list holds for all tools; a table says it by pattern."""
    if not isinstance(value, Mapping):
        return (("*", _WORDS(source, path, value)),)
    table = source.table(path, value)
    return tuple((pattern, _WORDS(source, (*path, pattern), item)) for pattern, item in table.items())


def _prefix(source: Source, path: KeyPath, value: Any) -> str:
    text = source.text_of(path, value)
    if text and not _NAME.fullmatch(text):
        raise source.wrong(
            path,
            'has at most 40 letters, digits, `-` and `_`, the first a letter or digit; "" leaves the names as they are',
        )
    return text


_WORDS = words(Effect)
_SERVER: Readers = {
    "command": _command,
    "url": web_address("http://127.0.0.1:8000/mcp"),
    "env": Source.text_map,
    "cwd": Source.text_of,
    "headers": header_values,
    "allow": patterns,
    "deny": patterns,
    "effects": _effects,
    "ask": patterns,
    "dry_run": flag,
    "prefix": _prefix,
    "timeout": number(0.1, 86_400),
    "enabled": flag,
}
