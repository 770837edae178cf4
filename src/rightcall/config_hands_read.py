"""Reads and checks `[sandbox]`, `[write]`, `[write.check]`, `[code]`, `[cache]` and `[web]`, key by key."""

import os
from typing import Any, cast

from rightcall.config_hands import (
    SANDBOX_RANGES,
    CacheSettings,
    Check,
    CodeSettings,
    LeastTier,
    SandboxSettings,
    WebSettings,
    WriteSettings,
)
from rightcall.config_settings_values import (
    Readers,
    flag,
    laid_over,
    number,
    path_patterns,
    url_patterns,
    web_address,
    whole,
    word,
)
from rightcall.packs.lines import KeyPath
from rightcall.packs.source import Source, Table
from rightcall.text.escape import render_json


def read_sandbox(source: Source, document: Table) -> SandboxSettings:
    """What `[sandbox]` says, the defaults where it says nothing."""
    return laid_over(source, ("sandbox",), document.get("sandbox", {}), _SANDBOX, SandboxSettings())


def read_write(source: Source, document: Table) -> WriteSettings:
    """What `[write]` says, the defaults where it says nothing."""
    return laid_over(source, ("write",), document.get("write", {}), _WRITE, WriteSettings())


def read_code(source: Source, document: Table) -> CodeSettings:
    """What `[code]` says, the defaults where it says nothing."""
    return laid_over(source, ("code",), document.get("code", {}), _CODE, CodeSettings())


def read_cache(source: Source, document: Table) -> CacheSettings:
    """What `[cache]` says, the defaults where it says nothing."""
    return laid_over(source, ("cache",), document.get("cache", {}), _CACHE, CacheSettings())


def read_web(source: Source, document: Table) -> WebSettings:
    """What `[web]` says, the defaults where it says nothing."""
    return laid_over(source, ("web",), document.get("web", {}), _WEB, WebSettings())


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
    text: str = web_address("https://search.example.org")(source, path, value)
    from urllib.parse import urlsplit  # late: few policies name an address

    parts = urlsplit(text)
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise source.wrong(path, "must have no user, password, query or fragment: name scheme, host, port and path")
    return text.rstrip("/")


def _check(source: Source, path: KeyPath, value: Any) -> Check:
    return laid_over(source, path, value, _CHECK, Check())


def _command(source: Source, path: KeyPath, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        raise source.wrong(path, 'must be a list, program and arguments, such as ["python3", "-m", "pytest", "-q"]')
    found = tuple(source.texts(path, value))
    if found and not found[0].strip():
        raise source.wrong(path, "must begin with the program that is run")
    if any("\0" in part for part in found):
        raise source.wrong(path, "holds a character that no command line can have")
    return found


def _program(source: Source, path: KeyPath, value: Any) -> str:
    text = source.text_of(path, value)
    if text and not text.startswith("/"):
        raise source.wrong(path, f'must be a whole path, such as "/usr/bin/python3", not {render_json(text)}')
    return text


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


def _folders(source: Source, path: KeyPath, value: Any) -> tuple[str, ...]:
    found = tuple(source.texts(path, value))
    for at, text in enumerate(found):
        parts = text.strip("/").split("/")
        if not text.strip("/") or any(part in ("", ".", "..") for part in parts) or "*" in text or "\0" in text:
            raise source.wrong(
                (*path, at),
                f'must be a folder, such as "experimental" or "/tmp", without `..` or `*`, not {render_json(text)}',
            )
    return found


_MEGABYTES = whole(16, 1_000_000)
_SANDBOX: Readers = {
    "seconds": number(*SANDBOX_RANGES["seconds"]),
    **{name: whole(int(least), int(most)) for name, (least, most) in SANDBOX_RANGES.items() if name != "seconds"},
    "tier": word(LeastTier),
    "python": _program,
    "node": _program,
    "visible": _absolute,
}
_CODE: Readers = {"largest_file": whole(1, 100_000_000), "structure": flag}
_CACHE: Readers = {
    "enabled": flag,
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
    "folders": _folders,
    "tests": path_patterns,
    "protected": path_patterns,
    "frozen": path_patterns,
    "locked": path_patterns,
    "reviews": whole(1, 100),
    "check": _check,
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
