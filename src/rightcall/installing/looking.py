"""What is installed where, as the settings themselves say it."""

import os
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from rightcall.errors import ConfigError
from rightcall.installing.commands import mode_of, option
from rightcall.installing.files import contents, text_of
from rightcall.installing.hooks import Found, found_hooks
from rightcall.installing.jsonc import NotReadable, read
from rightcall.installing.manifest import Manifest
from rightcall.installing.places import HOSTS, Host, settings_file
from rightcall.installing.servers import ServerEntry, entries_of


class Installed(Struct, frozen=True):
    """Our entries in one settings file: `hooks` of the one kind, or wrapped `servers` of the other."""

    host: Host
    path: str
    settings: Any
    hooks: tuple[Found, ...] = ()
    servers: tuple[ServerEntry, ...] = ()

    @property
    def modes(self) -> list[str]:
        return modes_in(self.host, self.settings)

    @property
    def policy(self) -> str | None:
        words = [one.words for one in self.hooks] + [one.ours for one in self.servers]
        return next((file for one in words if (file := option(one, "--policy"))), None)


def modes_in(host: Host, settings: Any) -> list[str]:
    """The modes that our entries have, each once. Without one it is as the policy says."""
    if host.kind == "servers":
        words = [entry.ours for entry in entries_of(settings) if entry.state == "wrapped"]
    else:
        words = [found.words for found in found_hooks(host, settings)]
    return list(dict.fromkeys(mode_of(one) or "as the policy says" for one in words))


def policies_in(settings: Any) -> list[str | None]:
    """The policy files that the wrapped servers name, one for each server."""
    return [option(entry.ours, "--policy") for entry in entries_of(settings) if entry.state == "wrapped"]


def installed_in(host: Host, path: str) -> Installed | None:
    """What is in one file; None where nothing of ours is. Raises ConfigError for one that cannot be read."""
    data = contents(path)
    text = "" if data is None else text_of(data, path)
    if not text.strip("\ufeff \t\r\n"):
        return None
    try:
        settings = tomllib.loads(text.removeprefix("\ufeff")) if path.endswith(".toml") else read(text).plain()
    except (NotReadable, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"cannot be understood: {error}", source=path) from None
    hooks = tuple(found_hooks(host, settings)) if host.kind == "hooks" else ()
    servers = tuple(entry for entry in entries_of(settings) if entry.state == "wrapped")
    servers = servers if host.kind == "servers" else ()
    return Installed(host, path, settings, hooks, servers) if hooks or servers else None


def places(manifest: Manifest, folder: str, environment: Mapping[str, str]) -> Iterator[tuple[Host, str]]:
    """Every file that may hold something of ours: the user's, this project's, and those that we noted."""
    seen: set[tuple[str, str]] = set()
    for host in HOSTS.values():
        if host.kind == "files":
            continue
        usual = [settings_file(host, scope, folder, environment) for scope in host.scopes]
        noted = [one.file for one in manifest.files if one.host == host.name]
        for path in (*usual, *noted):
            key = (host.name, os.path.realpath(path))
            if key not in seen:
                seen.add(key)
                yield host, path
