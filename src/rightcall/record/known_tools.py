"""The definitions of MCP servers' tools, kept beside the audit: what one process learnt, the next one knows.

A hook sees calls of a server's tools and never the server itself, so that it could not tell a wrong argument's name.
Whoever does see it (`rightcall wrap`, the gateway, `rightcall hook learn`) leaves what the server listed here.

    <audit>-definitions/<server>.json     {"version": 1, "server": "files", "tools": [ … as listed … ]}

One file for each server, replaced as a whole; folder and files are for their owner's eyes only.
"""

import logging
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from threading import get_ident
from typing import Any

from msgspec import MsgspecError, Struct, json

log = logging.getLogger("rightcall")

VERSION = 1
MOST_BYTES = 16_000_000
"""A list of tools that is longer than this is not kept, and not read."""
_LONGEST = 200
_MOST_SERVERS = 1000
_END = ".json"
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


class _Known(Struct, frozen=True):
    version: int
    server: str
    tools: list[dict[str, Any]]


def remember_tools(store: object, server: str, tools: Iterable[Any]) -> bool:
    """Keep what a server listed (`tools` of `tools/list`, as it came) beside this store; it takes the place of what was
    kept of it. False where nothing can be kept: the store is no file, or the disk says no. Never raises."""
    folder = folder_beside(store)
    if folder is None or not 0 < len(server) <= _LONGEST:
        return False
    try:
        text = json.encode(_Known(VERSION, server, [tool for tool in tools if isinstance(tool, dict)]))
        if len(text) > MOST_BYTES:
            log.warning("rightcall: the tools of server %r are too long to be kept for hooks", server)
            return False
        return _replace(folder, _file_of(server), text)
    except (OSError, TypeError, ValueError, RecursionError) as fault:
        log.warning("rightcall: the tools of server %r could not be kept for hooks: %s", server, fault)
        return False


def remembered_tools(store: object, server: str) -> list[dict[str, Any]]:
    """What is kept of a server; nothing where nobody has learnt it, or it cannot be read."""
    folder = folder_beside(store)
    if folder is None or not 0 < len(server) <= _LONGEST:
        return []
    try:
        known = json.decode(_contents(os.path.join(folder, _file_of(server))), type=_Known)
    except (OSError, MsgspecError, RecursionError):  # without it a hook knows less, and is no less strict
        return []
    return known.tools if known.version == VERSION and known.server == server else []


def remembered_servers(store: object) -> list[str]:
    """The servers of which something is kept, in order."""
    folder = folder_beside(store)
    try:
        with os.scandir(folder or "") as files:
            names = [file.name for file in islice(files, _MOST_SERVERS)]
    except OSError:
        return []
    return sorted(_server_of(name) for name in names if name.endswith(_END))


def _contents(path: str) -> bytes:
    """Of a plain file: what else has its name (a pipe, a device, a link) is neither followed nor waited for."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    with open(handle, "rb") as opened:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_BYTES:
            raise OSError("it is no file, or too long")
        return opened.read(MOST_BYTES)


def folder_beside(store: object) -> str | None:
    """Beside the database of a store, under a name that the paths it guards cover; None for one in memory."""
    path = getattr(store, "path", None)
    return None if path is None else f"{os.fspath(path)}-definitions"


def _replace(folder: str, name: str, text: bytes) -> bool:
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, name)
    with suppress(OSError):
        if _contents(path) == text:
            return True
    fresh = f"{path}.{os.getpid()}.{get_ident()}"
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        with open(fd, "wb") as opened:
            opened.write(text)
        os.replace(fresh, path)
    except OSError:
        with suppress(OSError):
            os.unlink(fresh)
        raise
    return True


def _file_of(server: str) -> str:
    """A server may be called anything; a file may not."""
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in server.encode()) + _END


def _server_of(file: str) -> str:
    from urllib.parse import unquote

    return unquote(file.removesuffix(_END), errors="replace")
