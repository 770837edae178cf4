"""The MCP servers in a client's settings, wrapped and unwrapped. Text in, text out.

   "files": {"command": "npx", "args": ["-y", "some-server"]}
─▶ "files": {"command": "/…/rightcall", "args": ["wrap", "--name", "files", "--mode", "observe", "--", "npx", "-y", …]}
"""

import os
import re
from typing import Any, Literal, cast

from msgspec import Struct

from rightcall.installing.changed import Cannot, Made
from rightcall.installing.commands import Wish, after_us, is_misled, mode_of, option, refuse_odd
from rightcall.installing.json_edits import (
    Edit,
    Path,
    apply,
    node_at,
    quoted,
    with_child,
    with_literal,
    with_string,
    without_child,
)
from rightcall.installing.jsonc import Node, read

State = Literal["plain", "wrapped", "remote", "odd"]


class ServerEntry(Struct, frozen=True):
    """A server in the settings: one that can be wrapped, that is, one elsewhere (with a URL), or nothing known."""

    name: str
    state: State
    words: tuple[str, ...] = ()

    @property
    def ours(self) -> tuple[str, ...]:
        """The words of `rightcall wrap`, up to the server's own command."""
        return after_us(self.words)

    @property
    def server(self) -> tuple[str, ...]:
        """The server's own command."""
        words = self.words
        return words[words.index("--") + 1 :] if self.state == "wrapped" else words


def entries_of(settings: Any) -> list[ServerEntry]:
    """The servers in settings that are given as plain data."""
    servers = settings.get("mcpServers") if isinstance(settings, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if not isinstance(servers, dict):
        return []
    return [_entry(name, one) for name, one in cast("dict[str, Any]", servers).items()]


def _entry(name: str, one: Any) -> ServerEntry:
    if not isinstance(one, dict):
        return ServerEntry(name, "odd")
    entry = cast("dict[str, Any]", one)
    command, args = entry.get("command"), entry.get("args", [])
    if command is None and ("url" in entry or "serverUrl" in entry):
        return ServerEntry(name, "remote")
    if not isinstance(command, str) or not command or not isinstance(args, list):
        return ServerEntry(name, "odd")
    words = (command, *cast("list[Any]", args))
    if not all(isinstance(word, str) for word in words):
        return ServerEntry(name, "odd")
    ours = after_us(words)
    wrapped = ours[:1] == ("wrap",) and "--" in ours[:-1]
    return ServerEntry(name, "wrapped" if wrapped else "odd" if ours[:1] == ("wrap",) else "plain", words)


def wrap_servers(text: str, wish: Wish) -> tuple[str, Made]:
    """The settings with their servers wrapped, all of them or those in `wish.only`."""
    refuse_odd("", (*wish.program, wish.policy or ""))
    tree = read(text)
    _refuse_unusual(tree)
    entries = entries_of(tree.plain())
    if missing := set(wish.only) - {entry.name for entry in entries}:
        known = ", ".join(entry.name for entry in entries) or "none"
        raise Cannot(f"there is no server {min(missing)!r}; the servers are: {known}")
    made, wrapped = list[str](), list[str]()
    for entry in entries:
        path = ("mcpServers", entry.name)
        if entry.state == "wrapped" and (not wish.only or entry.name in wish.only):
            text = _as_wished(text, path, entry, wish)
        if entry.state != "plain" or (wish.only and entry.name not in wish.only):
            continue
        _refuse_double(_node(text, path))
        made += [] if node_at(read(text), (*path, "args")) else [f"{entry.name}.args"]
        wrapped.append(entry.name)
        text = _wrapped(text, path, entry, wish)
    return text, Made(made=tuple(made), wrapped=tuple(wrapped))


def _refuse_unusual(tree: Node) -> None:
    if tree.kind != "object":
        raise Cannot("the settings should be an object in braces", tree.start)
    if tree.keys.count("mcpServers") > 1:
        raise Cannot("'mcpServers' stands there twice", tree.heads[tree.keys.index("mcpServers")])
    servers = tree.get("mcpServers")
    if servers is None:
        return
    if servers.kind != "object":
        raise Cannot('"mcpServers" should be an object in braces', servers.start)
    for at, name in enumerate(servers.keys):
        if name in servers.keys[:at]:
            raise Cannot(f"the server {name!r} stands there twice", servers.heads[at])


def _refuse_double(entry: Node) -> None:
    for key in ("command", "args"):
        if entry.keys.count(key) > 1:
            raise Cannot(f"{key!r} stands there twice", entry.heads[entry.keys.index(key)])


def _wrapped(text: str, path: Path, entry: ServerEntry, wish: Wish) -> str:
    command = _node(text, (*path, "command"))
    policy = ("--policy", wish.policy) if wish.policy else ()
    ours = (*wish.program[1:], "wrap", "--name", _plain(entry.name), "--mode", wish.mode or "observe", *policy, "--")
    written = text[command.start : command.end]  # as it stands there, so that it comes back as it was
    args = node_at(read(text), (*path, "args"))
    if args is None:
        text = with_child(text, path, [*ours, ""], "args")
        text = with_literal(text, (*path, "args", len(ours)), written)
    else:
        text = apply(text, [_before_first(text, args, [*map(quoted, ours), written])])
    return with_string(text, (*path, "command"), wish.program[0])


def _plain(name: str) -> str:
    """A server's name as `rightcall wrap` takes it."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_.-")[:64] or "server"


def _before_first(text: str, args: Node, literals: list[str]) -> Edit:
    if len(args.children) == 0:
        return Edit(args.start + 1, args.start + 1, ", ".join(literals))
    tight = len(args.children) > 1 and text[args.commas[0] + 1] == '"'
    separator = "," if tight else ", "
    first = args.children[0].start
    return Edit(first, first, "".join(literal + separator for literal in literals))


def _as_wished(text: str, path: Path, entry: ServerEntry, wish: Wish) -> str:
    """A server that is wrapped already: only what was asked for changes, and a program that is not there any more."""
    moved = os.path.isabs(entry.words[0]) and not os.path.exists(entry.words[0])
    if moved and len(wish.program) == 1 and entry.words[1:] == entry.ours:
        text = with_string(text, (*path, "command"), wish.program[0])
    if is_misled(entry.words):
        text = apply(text, [_before_first(text, _node(text, (*path, "args")), [quoted("-P")])])
    if wish.mode is not None and mode_of(entry.ours) != wish.mode:
        text = _with_option(text, path, "--mode", wish.mode)
    if wish.policy is not None and option(entry.ours, "--policy") != wish.policy:
        text = _with_option(text, path, "--policy", wish.policy)
    return text


def _with_option(text: str, path: Path, name: str, value: str) -> str:
    args = _node(text, (*path, "args"))
    words = cast("list[str]", args.plain())
    end = words.index("--")
    if name in words[:end]:
        return with_string(text, (*path, "args", words.index(name) + 1), value)
    place = args.children[end].start
    return apply(text, [Edit(place, place, f"{quoted(name)}, {quoted(value)}, ")])


def unwrap_servers(text: str, record: Made | None) -> str:
    """The settings with their servers as they were: those that we wrapped, if that is known, else all."""
    _refuse_unusual(read(text))
    for entry in entries_of(read(text).plain()):
        if entry.state == "wrapped" and (record is None or entry.name in record.wrapped):
            text = _unwrapped(text, ("mcpServers", entry.name), record)
    return text


def _unwrapped(text: str, path: Path, record: Made | None) -> str:
    entry, args, command = _node(text, path), _node(text, (*path, "args")), _node(text, (*path, "command"))
    _refuse_double(entry)
    last = cast("list[str]", args.plain()).index("--") + 1
    original = text[args.children[last].start : args.children[last].end]
    if last + 1 < len(args.children):
        cut = [Edit(args.children[0].start, args.children[last + 1].start)]
    else:
        comma = args.comma_after(last)
        cut = [Edit(args.children[0].start, args.children[last].end if comma is None else comma + 1)]
    done = apply(text, [*cut, Edit(command.start, command.end, original)])
    left = _node(done, (*path, "args"))
    if not left.children and record is not None and f"{path[-1]}.args" in record.made:
        done = without_child(done, path, entry.keys.index("args"))
    return done


def _node(text: str, path: Path) -> Node:
    node = node_at(read(text), path)
    if node is None:
        raise Cannot(f"{'.'.join(map(str, path))} is not there any more")
    return node


def bare_of_wrapping(settings: Any) -> Any:
    """Plain settings with every server's own command: what must be the same before and after."""
    wrapped = {entry.name: entry for entry in entries_of(settings) if entry.words}
    if not wrapped:
        return settings
    servers = {
        name: one | {"command": wrapped[name].server[0], "args": list(wrapped[name].server[1:])}
        if name in wrapped
        else one
        for name, one in settings["mcpServers"].items()
    }
    return settings | {"mcpServers": servers}
