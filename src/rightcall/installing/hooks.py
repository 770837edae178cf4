"""Our hooks in the settings of a host that has them: found, put in, taken out. Text in, text out.

{"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": …, "timeout": 30}]}]}}
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from msgspec import Struct

from rightcall.installing.changed import Cannot, Made
from rightcall.installing.commands import (
    Wish,
    hook_handler,
    is_our_hook,
    means_the_same,
    mode_of,
    option,
    other_options,
    words_of,
)
from rightcall.installing.json_edits import Path, hollow_of, node_at, with_child, with_string, without_child
from rightcall.installing.jsonc import Node, read
from rightcall.installing.places import Host
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
        raise Cannot(f"{key!r} stands there twice", box.heads[box.keys.index(key)])
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
        if touched and _was_made(path, record):
            text = _without_empty(text, path, hollow.get(".".join(path[:-1]), ""))
    return text


def _refuse_double(tree: Node, event: str) -> None:
    hooks = _place(tree, "the settings", "hooks")
    if hooks is not None:
        _place(hooks, '"hooks"', event)


def _was_made(path: tuple[str, ...], record: Made | None) -> bool:
    return record is None or "hooks" in record.made or ".".join(path) in record.made


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
