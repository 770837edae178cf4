"""A recorded call made again up to its decision, under one policy: the gate reads and repairs what the model wrote, and
the request is built as the executor or the integration builds it. Nothing is decided, recorded or run.

    Ruling, what a record says was written ─▶ Sites.rebuild ─▶ Rebuilt (a request, or why there is none)

Tools are known as the store remembers them: by the definitions that were on record, and by what servers listed.
"""

import os
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from msgspec import Struct, json
from msgspec.structs import replace

from rightcall.base.secrets import Redactor
from rightcall.catalog.tool import Tool
from rightcall.errors import CallError, RightCallError
from rightcall.executor.calls import Who, Written, one_call, writings
from rightcall.executor.door import Door
from rightcall.executor.guesses import kind_of
from rightcall.executor.passage import CallContext, judge_written
from rightcall.executor.pipeline import Pipeline
from rightcall.executor.request import Tighter
from rightcall.executor.rights import tool_name
from rightcall.executor.toolbox import Equipped, Toolbox, build_toolbox
from rightcall.hosts.hooks.wires import builtin_tools
from rightcall.learn.history import Definition, Definitions, Readable
from rightcall.learn.rulings import STRICT, Ruling
from rightcall.policy.types import Decision, Request
from rightcall.proxy.gates import Gates, Settler, word_for
from rightcall.record.calls import FITS, rule_of
from rightcall.record.memory import MemoryStore
from rightcall.record.notes import offered_tools, remembered_tools
from rightcall.record.tables import CallBody
from rightcall.tools.functions import LocalTool
from rightcall.tools.state import Cache
from rightcall.types import Mode, Verdict

HOOKS: Final[Mapping[str, str]] = {"claude-code": "claude", "codex": "codex", "gemini": "gemini"}
"""Hosts that choose the tool themselves, by the names that their hooks have."""
FIXED: Final = frozenset((*HOOKS, "agent-zero", "claude-agent-sdk"))
_MOST_KEPT: Final = 256
_MOST_OFFERS: Final = 64


class Rebuilt(Struct, frozen=True):
    """One call as it stands before its decision."""

    request: Request | Decision
    verdict: Verdict
    digest: str
    definition: str
    """Of the tool that it was checked against."""
    tool: Tool | None = None


class Known(Struct, frozen=True):
    """What of tools is known where a call is rebuilt."""

    given: bool = False
    """The tools that were named take the place of those on record."""
    wide: bool = False
    """Also those that were never called there: they may have been listed all the same."""


class AsWritten(Struct, frozen=True):
    """What a model wrote, as far as the record holds it: a name and arguments, or a text."""

    name: str
    arguments: Any = None
    text: str | None = None


def written_in(body: CallBody) -> AsWritten:
    """Whether the record holds all of it is seen from the digest that comes of it."""
    space, said = body.inputs.space, body.emission
    bare = body.tool.removeprefix(f"{space}/") if space else body.tool
    if isinstance(said, dict) and isinstance(cast("dict[str, Any]", said).get("name"), str):
        told, text = cast("dict[str, Any]", said), text_of_arguments(body)
        return AsWritten(told["name"], told.get("arguments") if text is None else text)
    if isinstance(said, str) and body.origin == "text":
        return AsWritten(bare, text=said)
    return AsWritten(said if isinstance(said, str) else bare, body.params)


def text_of_arguments(body: CallBody) -> str | None:
    """Arguments that were written as a text and read with a repair: the repair has the text, the call what it says."""
    said: Any = body.emission
    if not isinstance(said, dict) or "arguments" not in said:
        return None
    read = cast("dict[str, Any]", said)["arguments"]
    texts = (one["before"] for one in body.repairs if one.get("path") == "" and one.get("after") == read)
    return next((text for text in texts if isinstance(text, str)), None)


class Sites:
    """Where calls were made, each under any policy. `tools` take the place of what is known of tools of these names."""

    def __init__(self, definitions: Definitions, store: Readable, root: str, tools: tuple[dict[str, Any], ...] = ()):
        self._definitions, self._store, self._root = definitions, store, root
        self._given = {tool_name(one): one for one in tools}
        self._doors: dict[tuple[Any, ...], Door] = {}
        self._boxes: dict[tuple[Any, ...], Toolbox] = {}
        self._places: dict[tuple[str, str], dict[str, str]] = {}
        """By integration and server: the definition of each tool as it was last called there."""
        self._known_at: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}
        self._gates: dict[tuple[int, str], Gates] = {}
        self._offers: dict[str, bytes] = {}
        self._memory = MemoryStore()
        self._redactor = Redactor(b"replay")

    def close(self) -> None:
        for door in self._doors.values():
            door.close()
        self._doors.clear()

    def note(self, body: CallBody) -> None:
        """A call was made: its tool is known where it was."""
        if not body.definition:
            return
        place = body.wire, body.inputs.space
        tools = self._places.setdefault(place, {})
        if tools.get(body.tool) != body.definition:
            tools[body.tool] = body.definition
            self._known_at[place] = tuple(sorted(tools.items()))

    def known_at(self, body: CallBody) -> tuple[tuple[str, str], ...]:
        """The tools that were called where a call was made, each with its definition."""
        return self._known_at.get((body.wire, body.inputs.space), ())

    def rebuild(self, ruling: Ruling, body: CallBody, mode: Mode | None, known: Known) -> Rebuilt | None:
        """None where it cannot be done here: a pack is missing, or a text holds another number of calls."""
        try:
            return self._at_a_door(ruling, body, mode, known) if body.wire else self._here(ruling, body, known)
        except (RightCallError, CallError, OSError):
            return None

    # Integrations

    def _at_a_door(self, ruling: Ruling, body: CallBody, mode: Mode | None, known: Known) -> Rebuilt | None:
        space, said = body.inputs.space, written_in(body)
        door = self._door(ruling, body, mode, known)
        here = replace(door.here(body.caller, space), rights=ruling.door(body))
        if body.inputs.folder:
            here = replace(here, folders=(body.inputs.folder,), cwd=body.inputs.folder)
        name, arguments = said.name, said.arguments
        if said.text is not None:
            found = here.box.gate.read(said.text).calls
            if len(found) != 1 or found[0].found is None:
                return None
            name, arguments = found[0].found.name, found[0].found.arguments
        around = CallContext(approval=body.inputs.approval, context=body.context)
        judged = judge_written(here, name, arguments, around, body.now)
        request = judged.request
        digest = judged.written.digest if isinstance(request, Decision) else request.digest
        return Rebuilt(request, judged.written.verdict, digest, judged.tool.definition, judged.tool.tool)

    def _door(self, ruling: Ruling, body: CallBody, mode: Mode | None, known: Known) -> Door:
        space = body.inputs.space
        key = id(ruling), body.wire, space, body.provider, mode, known, self.known_at(body)
        door = self._doors.get(key)
        if door is None:
            if len(self._doors) >= _MOST_KEPT:
                self.close()
            door = self._doors[key] = Door.open(
                body.wire, ruling.policy, root=self._root_of(ruling), store="memory", strict=body.wire == STRICT,
                fixed_names=body.wire in FIXED, provider=body.provider or None, packs=tuple(ruling.beside), mode=mode,
            )  # fmt: skip
            door.know(list(self._tools_of(body, known)), space)
        return door

    def _tools_of(self, body: CallBody, known: Known) -> Iterator[Any]:
        """The tools of the host, or of the server, that a call was for."""
        space = body.inputs.space
        listed: dict[str, Any] = {}
        if not space and body.wire in HOOKS:
            listed = {one.name: one for one in builtin_tools(HOOKS[body.wire])}
        elif space:
            listed = {tool_name(one): one for one in remembered_tools(self._store, space)}
        for name, one in self._definitions_at(body, known):
            bare = name.removeprefix(f"{space}/") if space else name
            listed[bare] = _served(one, bare)
        if known.given:
            named = {name.removeprefix(f"{space}/") if space else name: one for name, one in self._given.items()}
            listed |= {bare: {**one, "name": bare} for bare, one in named.items() if not space or bare in listed}
        yield from listed.values()

    def _definitions_at(self, body: CallBody, known: Known) -> Iterator[tuple[str, Definition]]:
        """What is on record of the tools of a place."""
        start = f"{body.inputs.space}/" if body.inputs.space else ""
        if known.wide:
            for name, one in self._definitions.tools().items():
                if name.startswith(start) and (start or not body.wire or "/" not in name):
                    yield name, one
        for name, digest in self.known_at(body):
            one = self._definitions.find(name, digest)
            if one is not None:
                yield name, one

    def _root_of(self, ruling: Ruling) -> str:
        return ruling.root if ruling.root and os.path.isdir(ruling.root) else self._root

    # The proxy

    def pass_on(self, ruling: Ruling, body: CallBody) -> tuple[str, Any] | None:
        """What the proxy would do about a native call, given the tools that were named, or else those that its client
        offered: the rule, and the arguments that the client gets. None where nobody can say."""
        if body.origin == "text" or (self._given and body.tool not in self._given):
            return None
        key = id(ruling), body.provider
        if key not in self._gates:
            self._gates[key] = Gates(ruling.policy, body.provider)
        gate = self._gates[key].of(json.encode(list(self._given.values())) if self._given else self._offered(body))
        if gate is None:
            return None
        said = body.params if body.emission is None else body.emission
        _, did = Settler(gate).native(body.written or body.tool, said, "replay", "cut" if body.truncated else "own")
        call = did.verdict.call or did.verdict.found
        observed = body.rule in FITS and body.rule.startswith(rule_of("would-"))
        return rule_of(word_for(did, observe=observed)), None if call is None else call.arguments

    def _offered(self, body: CallBody) -> bytes:
        """The tools that a client offered when a model made this call; empty where the store does not keep them."""
        if not body.definition:
            return b""
        if body.definition not in self._offers:
            if len(self._offers) >= _MOST_OFFERS:
                self._offers.clear()
            self._offers[body.definition] = self._store.look(lambda tables: offered_tools(tables, body.definition))
        return self._offers[body.definition]

    # The executor

    def _here(self, ruling: Ruling, body: CallBody, known: Known) -> Rebuilt | None:
        box, said = self._box(ruling, body, known), written_in(body)
        if said.text is not None:
            found = writings(said.text, box.gate, None)
            if len(found) != 1:
                return None
            written = found[0]
        else:
            written = one_call({"name": said.name, "arguments": said.arguments}, box.gate)
        rights = ruling.here(body)
        tool = equipped_as(written, box, body)
        tighter = Tighter(frozenset(body.inputs.rehearse), frozenset(body.inputs.asks))  # pyright: ignore[reportArgumentType] - effects, by their names
        pipeline = Pipeline(box, self._memory, Cache(), self._redactor, self._root_of(ruling), tighter=tighter)
        who = Who(body.caller, body.context, turn=body.inputs.turn or None)
        request = pipeline.request_for(written, tool, rights, body.inputs.approval, who)
        digest = written.digest if isinstance(request, Decision) else request.digest
        if tool is None:
            return Rebuilt(request, written.verdict, digest, "")
        return Rebuilt(request, written.verdict, digest, tool.definition, tool.tool)

    def _box(self, ruling: Ruling, body: CallBody, known: Known) -> Toolbox:
        key = id(ruling), body.provider, known, self.known_at(body)
        box = self._boxes.get(key)
        if box is None:
            if len(self._boxes) >= _MOST_KEPT:
                self._boxes.clear()
            shipped = ruling.toolbox()
            tools: dict[str, LocalTool] = {}
            if shipped is not None:
                tools = {name: one.local for name, one in shipped.tools.items() if one.local is not None}
            ours = frozenset(tools)
            for name, one in self._definitions_at(body, known):
                if name not in ours:
                    tools[name] = _stand_in(one)
            if known.given:
                tools |= {name: _given(name, one, tools.get(name)) for name, one in self._given.items()}
            box = build_toolbox(
                ruling.policy, tools.values(), (), ruling.protected, packs=tuple(ruling.beside),
                provider=body.provider or None,
            )  # fmt: skip
            self._boxes[key] = box
        return box


def equipped_as(written: Written, box: Toolbox, body: CallBody) -> Equipped | None:
    """The tool that a call is for, with the arguments for paths and commands that its author declared: as the record
    shows them."""
    from rightcall.executor.calls import equipped

    found = equipped(written, box)
    if found is None or found.local is None or found.local.about is not None:
        return found
    held: Any = body.params
    params = cast("dict[str, Any]", held) if isinstance(held, dict) else {}
    seen = {one if isinstance(one, str) else one[0] for one in body.inputs.paths}
    named = tuple(name for name, value in params.items() if isinstance(value, str) and value in seen)
    commands = tuple(name for name in body.inputs.commanded if name in params and not kind_of(name))
    tool, rules = found.tool, found.tool.rules
    paths = rules.paths or (() if body.inputs.guesses else named)
    tool = replace(tool, rules=replace(rules, paths=paths, commands=rules.commands or commands))
    return replace(found, tool=tool, guesses=body.inputs.guesses and not rules.paths and not tool.is_described)


def _served(one: Definition, name: str) -> dict[str, Any]:
    """As its server listed it."""
    also = {key: value for key, value in one.about.items() if key not in ("name", "parameters", "effects")}
    return {**also, "name": name, "inputSchema": one.about.get("parameters") or {"type": "object"}}


def _stand_in(one: Definition) -> LocalTool:
    """In place of a function that only its own program has."""
    about, effects = one.about, one.about.get("effects")
    definition = {
        "name": one.tool, "description": about.get("description") or "",
        "parameters": about.get("parameters") or {"type": "object"},
    }  # fmt: skip
    return LocalTool(one.tool, _never, definition, effects=None if effects is None else tuple(effects))


def _given(name: str, tool: Mapping[str, Any], known: LocalTool | None) -> LocalTool:
    function: Any = tool.get("function", tool)
    names = ("parameters", "inputSchema", "input_schema")
    schema: Any = next((function[name] for name in names if name in function), {"type": "object"})
    definition: dict[str, Any] = {"name": name, "description": function.get("description") or "", "parameters": schema}
    return LocalTool(name, _never, definition, effects=None if known is None else known.effects)


def _never(**_: Any) -> Any:
    raise RuntimeError("a replay runs nothing")
