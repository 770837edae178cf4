"""What somebody should know beside the difference: why it may not work yet, and what was left out."""

import os
import tomllib
from typing import Any

from rightcall.installing.commands import Wish, is_passing
from rightcall.installing.files import text_of
from rightcall.installing.jsonc import read
from rightcall.installing.places import Host, toml_settings
from rightcall.installing.plans import Change
from rightcall.installing.servers import ServerEntry, entries_of


def notes_on(change: Change, wish: Wish) -> list[str]:
    """One sentence each."""
    notes: list[str] = []
    if is_passing(wish.program):
        notes.append(
            f"{wish.program[0]} lies in a cache that may be emptied: install rightcall for good, then do this again."
        )
    settings = settings_of(change)
    if change.host.kind == "servers":
        notes += _left_out(entries_of(settings), wish)
    elif off := switched_off(change.host, change.path, settings):
        notes.append(off)
    return notes


def settings_of(change: Change) -> Any:
    """The settings after the change, as plain data."""
    if change.after is None or change.path.endswith(".toml"):
        return {} if change.after is None else tomllib.loads(text_of(change.after, change.path).removeprefix("\ufeff"))
    text = text_of(change.after, change.path)
    return read(text).plain() if text.strip("\ufeff \t\r\n") else {}


def switched_off(host: Host, path: str, settings: Any) -> str:
    """Says so where the host runs no hooks at all."""
    if host.name == "claude-code" and settings.get("disableAllHooks") is True:
        return "Hooks are switched off in these settings: disableAllHooks is true."
    if host.name == "gemini" and _in(settings, "hooksConfig", "enabled") is False:
        return "Hooks are switched off in these settings: hooksConfig.enabled is false."
    if (
        host.name == "codex"
        and _in(toml_settings(os.path.join(os.path.dirname(path), "config.toml")), "features", "hooks") is False
    ):
        return "Hooks are switched off in Codex's config.toml: hooks is false under [features]."
    return ""


def _in(settings: Any, table: str, key: str) -> Any:
    inner = settings.get(table) if isinstance(settings, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return inner.get(key) if isinstance(inner, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def _left_out(entries: list[ServerEntry], wish: Wish) -> list[str]:
    chosen = [entry for entry in entries if not wish.only or entry.name in wish.only]
    remote = [entry.name for entry in chosen if entry.state == "remote"]
    odd = [entry.name for entry in chosen if entry.state == "odd"]
    notes: list[str] = []
    if remote:
        notes.append(f"Left as they are, since they run elsewhere and have no command: {', '.join(remote)}.")
    if odd:
        notes.append(f"Left as they are, since their command is not understood: {', '.join(odd)}.")
    return notes
