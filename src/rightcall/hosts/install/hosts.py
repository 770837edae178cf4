"""Our hooks, and wrapped MCP servers, in the settings of a host: found, put in, taken out. Text in, text out.

{"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": …, "timeout": 30}]}]}}
"""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, cast

from msgspec import Struct

from rightcall.hosts.install.edits import (
    Edit,
    Node,
    Path,
    apply,
    hollow_of,
    node_at,
    quote_json,
    read,
    with_child,
    with_literal,
    with_string,
    without_child,
)
from rightcall.hosts.install.places import (
    Cannot,
    Host,
    Made,
    Wish,
    after_us,
    hook_handler,
    is_misled,
    is_our_hook,
    means_the_same,
    mode_of,
    option,
    other_options,
    refuse_odd,
    words_of,
)
from rightcall.types import Mode


class Found(Struct, frozen=True):
    """One handler of ours in the settings, and its command."""

    event: str
    group: int
    handler: int
    words: tuple[str, ...]

    @property
    def path(self) -> Path:
        return ("hooks", self.event, self.group, "hooks", self.handler)


def found_hooks(host: Host, tree: Any) -> list[Found]:
    """Our handlers in settings, given as plain data; whatever else stands there is passed over."""
    hooks = tree.get("hooks") if isinstance(tree, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return list(_find_handlers(host, cast("dict[str, Any]", hooks))) if isinstance(hooks, dict) else []


def _find_handlers(host: Host, hooks: Mapping[str, Any]) -> Iterator[Found]:
    for event, groups in hooks.items():
        for number, group in enumerate(_list(groups)):
            for at, handler in enumerate(_list(group.get("hooks") if isinstance(group, dict) else None)):  # pyright: ignore[reportUnknownMemberType]
                if isinstance(handler, dict):
                    one = cast("dict[str, Any]", handler)
                    words = words_of(one.get("command"), one.get("args"))
                    if is_our_hook(host.name, words):
                        yield Found(event, number, at, words)


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def groups_for(host: Host, wish: Wish, found: list[Found]) -> dict[str, dict[str, Any]]:
    """What is to stand under each event. What the wish leaves open stays as it is installed."""
    policy = wish.policy or next((file for one in found if (file := option(one.words, "--policy"))), None)
    more = other_options(found[0].words) if found else ()
    started = hook_handler(host.name, wish, wish.mode or _mode(found), policy, more)
    return {event: _group(host, event, seconds, started) for event, seconds in host.events.items()}


def _mode(found: list[Found]) -> Mode:
    for one in found:
        if (mode := mode_of(one.words)) is not None:
            return mode
    return "observe"


def _group(host: Host, event: str, seconds: int, started: Mapping[str, Any]) -> dict[str, Any]:
    named = {"name": "rightcall"} if host.name == "gemini" else {}
    handler = {**named, "type": "command", **started, "timeout": seconds * host.unit}
    return ({"matcher": "*"} if event in host.filters else {}) | {"hooks": [handler]}


def put_hooks(host: Host, text: str, wish: Wish) -> tuple[str, Made]:
    """The settings with our hooks. Raises Cannot where they have no place for them."""
    tree = read(text)
    groups = groups_for(host, wish, found_hooks(host, tree.plain()))
    if _place(tree, "the settings", "hooks") is None:
        hollow = hollow_of(text, ())
        made = Made(made=("hooks",), hollow={} if hollow is None else {"": hollow})
        return with_child(text, (), {event: [group] for event, group in groups.items()}, "hooks"), made
    made, hollows = list[str](), dict[str, str]()
    for event, group in groups.items():
        before = text
        text, new = _put_one(host, text, event, group)
        made += [f"hooks.{event}"] if new else []
        for path in (("hooks",), ("hooks", event)):
            box = node_at(read(before), path)
            if text != before and box is not None and (hollow := hollow_of(before, path)) is not None:
                hollows[".".join(path)] = hollow
    return text, Made(made=tuple(made), hollow=hollows)


def _put_one(host: Host, text: str, event: str, group: dict[str, Any]) -> tuple[str, bool]:
    """One event; and whether it had not been named at all."""
    tree = read(text)
    hooks = tree.get("hooks")
    assert hooks is not None
    if (present := _place(hooks, '"hooks"', event)) is None:
        return with_child(text, ("hooks",), [group], event), True
    if present.kind != "array":
        raise Cannot(f'"hooks" has {event}, but not as a list', present.start)
    ours = [one for one in found_hooks(host, tree.plain()) if one.event == event]
    if not ours:
        return with_child(text, ("hooks", event), group), False
    return _as_wished(text, ours[0], group["hooks"][0]), False


def _as_wished(text: str, found: Found, handler: dict[str, Any]) -> str:
    """Only the command changes: somebody may have set another time limit or pattern."""
    node = node_at(read(text), found.path)
    assert node is not None
    present = node.plain()
    if means_the_same(found.words, words_of(handler["command"], handler.get("args"))):
        return text
    if ("args" in present) != ("args" in handler):
        raise Cannot("a hook of rightcall is written in another way there", node.start)
    if "args" in handler:
        text = without_child(text, found.path, node.keys.index("args"))
        text = with_child(text, found.path, handler["args"], "args")
    return with_string(text, (*found.path, "command"), handler["command"])


def _place(box: Node, called: str, key: str) -> Node | None:
    """The value of a key that must not stand there twice, in something that must be an object."""
    if box.kind != "object":
        raise Cannot(f"{called} should be an object in braces", box.start)
    if box.keys.count(key) > 1:
        raise Cannot(f"{key!r} is there twice", box.heads[box.keys.index(key)])
    return box.get(key)


def without_hooks(host: Host, text: str, record: Made | None) -> str:
    """The settings without our hooks, and without what we made for them. With no record of it, that is everything that
    is empty once they are gone."""
    hollow = {} if record is None else dict(record.hollow)
    touched: set[str] = set()
    while ours := found_hooks(host, read(text).plain()):
        last = ours[-1]
        _refuse_double(read(text), last.event)
        touched.add(last.event)
        text = _without_one(text, last, hollow.get(f"hooks.{last.event}", ""))
    for path in (*(("hooks", event) for event in sorted(touched)), ("hooks",)):
        if touched and (record is None or "hooks" in record.made or ".".join(path) in record.made):
            text = _without_empty(text, path, hollow.get(".".join(path[:-1]), ""))
    return text


def _refuse_double(tree: Node, event: str) -> None:
    hooks = _place(tree, "the settings", "hooks")
    if hooks is not None:
        _place(hooks, '"hooks"', event)


def _without_one(text: str, found: Found, hollow: str) -> str:
    handlers = node_at(read(text), found.path[:-1])
    assert handlers is not None
    if len(handlers.children) > 1:
        return without_child(text, found.path[:-1], found.handler)
    return without_child(text, ("hooks", found.event), found.group, hollow)


def _without_empty(text: str, path: tuple[str, ...], hollow: str) -> str:
    box, around = node_at(read(text), path), node_at(read(text), path[:-1])
    if box is None or around is None or box.children or text[box.start + 1 : box.end - 1].strip():
        return text
    return without_child(text, path[:-1], around.keys.index(path[-1]), hollow)


def bare_of_hooks(host: Host, tree: Any) -> Any:
    """Plain settings without anything of ours: what must be the same before and after."""
    if not isinstance(tree, dict) or not isinstance(tree.get("hooks"), dict):  # pyright: ignore[reportUnknownMemberType]
        return cast("Any", tree)
    settings = cast("dict[str, Any]", tree)
    ours = {(one.event, one.group, one.handler) for one in found_hooks(host, settings)}
    hooks: dict[str, Any] = {}
    for event, groups in settings["hooks"].items():
        kept = [
            _bare_group(group, {at for e, g, at in ours if (e, g) == (event, number)})
            for number, group in enumerate(_list(groups))
        ]
        left = [group for group in kept if group is not None] if isinstance(groups, list) else groups
        if left != []:
            hooks[event] = left
    return {key: value for key, value in settings.items() if key != "hooks"} | ({"hooks": hooks} if hooks else {})


def _bare_group(group: Any, ours: set[int]) -> Any:
    if not ours:
        return group
    left = [handler for at, handler in enumerate(group["hooks"]) if at not in ours]
    return group | {"hooks": left} if left else None


# ── servers ──
# The MCP servers in a client's settings, wrapped and unwrapped. Text in, text out.
#
#    "files": {"command": "npx", "args": ["-y", "some-server"]}
# ─▶ "files": {"command": "/…/rightcall", "args": ["wrap", "--name", "files", "--mode", "observe", "--", "npx", …]}

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
        raise Cannot(f"unknown server {min(missing)!r}; the servers are: {known}")
    made, wrapped = list[str](), list[str]()
    for entry in entries:
        path = ("mcpServers", entry.name)
        if entry.state == "wrapped" and (not wish.only or entry.name in wish.only):
            text = _as_wished_servers(text, path, entry, wish)
        if entry.state != "plain" or (wish.only and entry.name not in wish.only):
            continue
        _refuse_double_servers(_node(text, path))
        made += [] if node_at(read(text), (*path, "args")) else [f"{entry.name}.args"]
        wrapped.append(entry.name)
        text = _wrapped(text, path, entry, wish)
    return text, Made(made=tuple(made), wrapped=tuple(wrapped))


def _refuse_unusual(tree: Node) -> None:
    if tree.kind != "object":
        raise Cannot("the settings should be an object in braces", tree.start)
    if tree.keys.count("mcpServers") > 1:
        raise Cannot("'mcpServers' is there twice", tree.heads[tree.keys.index("mcpServers")])
    servers = tree.get("mcpServers")
    if servers is None:
        return
    if servers.kind != "object":
        raise Cannot('"mcpServers" should be an object in braces', servers.start)
    for at, name in enumerate(servers.keys):
        if name in servers.keys[:at]:
            raise Cannot(f"the server {name!r} is there twice", servers.heads[at])


def _refuse_double_servers(entry: Node) -> None:
    for key in ("command", "args"):
        if entry.keys.count(key) > 1:
            raise Cannot(f"{key!r} is there twice", entry.heads[entry.keys.index(key)])


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
        text = apply(text, [_before_first(text, args, [*map(quote_json, ours), written])])
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


def _as_wished_servers(text: str, path: Path, entry: ServerEntry, wish: Wish) -> str:
    """A server that is wrapped already: only what was asked for changes, and a program that is not there any more."""
    moved = os.path.isabs(entry.words[0]) and not os.path.exists(entry.words[0])
    if moved and len(wish.program) == 1 and entry.words[1:] == entry.ours:
        text = with_string(text, (*path, "command"), wish.program[0])
    if is_misled(entry.words):
        text = apply(text, [_before_first(text, _node(text, (*path, "args")), [quote_json("-P")])])
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
    return apply(text, [Edit(place, place, f"{quote_json(name)}, {quote_json(value)}, ")])


def unwrap_servers(text: str, record: Made | None) -> str:
    """The settings with their servers as they were: those that we wrapped, if that is known, else all."""
    _refuse_unusual(read(text))
    for entry in entries_of(read(text).plain()):
        if entry.state == "wrapped" and (record is None or entry.name in record.wrapped):
            text = _unwrapped(text, ("mcpServers", entry.name), record)
    return text


def _unwrapped(text: str, path: Path, record: Made | None) -> str:
    entry, args, command = _node(text, path), _node(text, (*path, "args")), _node(text, (*path, "command"))
    _refuse_double_servers(entry)
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
