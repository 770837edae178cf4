"""Packets on the disk: one JSON file each, in `packets/` beside the audit's database.

Saved packets hold what users, models and tools said as they said it, since a packet that waits is continued from it;
the files can be read by their owner only, and `without_secrets` says what is left out. Nothing in a saved packet grants
anything: when it goes on, the review and the executor's policy decide anew.
"""

import json
import logging
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from math import isfinite
from secrets import randbits, token_hex
from time import time, time_ns
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec
from msgspec import DecodeError, Struct, ValidationError
from msgspec.json import Decoder, encode
from msgspec.structs import replace

from rightcall.base.files.guarded import state_folder, whole_file
from rightcall.base.json.marks import is_list, is_object
from rightcall.base.secrets import Redactor
from rightcall.base.text import escaped, render_json
from rightcall.catalog.sources import LONGEST_EXAMPLE, MOST_EXAMPLES
from rightcall.errors import ModelError, PacketError, StoreError, Unreadable
from rightcall.models.replies import Model, ask, asker, failure_of, options_taken
from rightcall.record.notes import Shelf, shelf_of
from rightcall.record.tables import SystemClock
from rightcall.router.packet import (
    PACKET_VERSION,
    Content,
    DataField,
    Header,
    Packet,
    PacketContext,
    Reasoning,
    SelectedTool,
    Sketchpad,
    ToolExecutionResult,
    ToolRouting,
)
from rightcall.tools.functions import Gatherer

if TYPE_CHECKING:
    from rightcall.gate.gate import Gate
    from rightcall.router.lexical import ToolText

# ── ids ──
# The ids of packets: `p`, the moment in microseconds, and a little chance, so that they sort by time.
#
# As `context` they group the records of a request's calls in the audit, and the form alone says that one is a packet's.

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_MOMENT, _CHANCE = 11, 5
"""Characters of five bits each: the moment has room until the year 3111."""

_ID = re.compile(rf"p[{_DIGITS}]{{{_MOMENT + _CHANCE}}}")


def new_id() -> str:
    """An id that no other packet has.

    >>> is_packet_id(new_id()), is_packet_id("plan 7"), is_packet_id("../x")
    (True, False, False)
    """
    return "p" + _written(time_ns() // 1000, _MOMENT) + _written(randbits(5 * _CHANCE), _CHANCE)


def is_packet_id(text: object) -> bool:
    """Whether this has the form of a packet's id; there need not be such a packet."""
    return isinstance(text, str) and _ID.fullmatch(text) is not None


def _written(number: int, length: int) -> str:
    return "".join(_DIGITS[number >> 5 * at & 31] for at in reversed(range(length)))


# ── files ──
# Files that only their owner can read: written in one step, read without following or waiting for anything.

UNFINISHED = ".part"
"""How a file ends that is still being written, or was when its process ended."""


def make_folder(folder: str) -> None:
    """Makes a folder for its owner alone, which stays out of version control."""
    if os.path.isdir(folder):
        return
    os.makedirs(os.path.dirname(folder) or ".", mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
        write(os.path.join(folder, ".gitignore"), b"*\n")


def write(path: str, data: bytes) -> None:
    """Whoever reads sees the old file or the new one, also after a crash."""
    with whole_file(path, f"{path}.{token_hex(6)}{UNFINISHED}") as stream:
        stream.write(data)


def read(path: str, most: int) -> bytes:
    """At most one byte more than `most`. Raises OSError, also for what is no plain file: a link, a pipe, a folder."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    with open(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError("it is not a file")
        return stream.read(most + 1)


# ── secrets ──
# What of a packet is saved without its secrets.
#
# A packet that is still on its way is continued from what users, models and tools said, so that is kept as it is: the
# request, the arguments, the results. What only tells its story, the log and the reasons, never holds a secret: neither
# one that is known by its shape nor one that an argument with a secret name has. Once a packet is answered nothing is
# continued from it any more; then all of it is only a story, and very long texts in it are cut. One that failed begins
# anew when its user says more, with the request and the results that are there; the rest of it is a story too.


def without_secrets(packet: Packet, redactor: Redactor) -> Packet:
    """The packet as it is saved."""
    match packet.status.state:
        case "answered":
            return story_of(packet, redactor)
        case "failed":
            told = story_of(packet, redactor)
            return replace(told, content=replace(packet.content, answer=told.content.answer))
        case _:
            return _Hiding(packet, redactor).story(packet)


def story_of(packet: Packet, redactor: Redactor) -> Packet:
    """The packet as a story that is only looked at."""
    hide = _Hiding(packet, redactor)
    return hide.words(hide.story(packet))


def arguments_of(packet: Packet) -> list[Any]:
    """What any of its tools was to be given, or was given before."""
    routing = packet.tool_routing
    chosen = (routing.selected_tool, *routing.alternative_tools)
    arguments: list[Any] = [tool.params for tool in chosen if tool is not None]
    return arguments + [_arguments_in(one.value) for one in packet.content.data_fields]


class _Hiding:
    """Hides the secrets of one packet. What the arguments of any of its tools name as secret is hidden everywhere."""

    def __init__(self, packet: Packet, redactor: Redactor) -> None:
        self._arguments = arguments_of(packet)
        self._redactor = redactor

    def _hidden(self, thing: Any) -> Any:
        return self._redactor.beside(thing, self._arguments)

    def _text(self, text: str) -> str:
        return str(self._hidden(text))

    def story(self, packet: Packet) -> Packet:
        """Without secrets in the log and in the reasons that were given."""
        routing = packet.tool_routing
        log = tuple(replace(line, summary=self._text(line.summary)) for line in packet.reasoning.reflection_log)
        return replace(
            packet,
            reasoning=replace(packet.reasoning, reflection_log=log),
            status=replace(packet.status, why=self._text(packet.status.why)),
            tool_routing=replace(
                routing,
                selection_reasoning=self._text(routing.selection_reasoning),
                review_reasoning=self._text(routing.review_reasoning),
                selected_tool=self._reason(routing.selected_tool) if routing.selected_tool else None,
                alternative_tools=tuple(self._reason(one) for one in routing.alternative_tools),
            ),
        )

    def _reason(self, tool: SelectedTool) -> SelectedTool:
        return replace(tool, selection_reasoning=self._text(tool.selection_reasoning))

    def words(self, packet: Packet) -> Packet:
        """Without secrets in what was said, either."""
        content, routing = packet.content, packet.tool_routing
        return replace(
            packet,
            content=replace(
                content,
                original_prompt=self._text(content.original_prompt),
                data_fields=tuple(self._data(one) for one in content.data_fields),
                answer=None if content.answer is None else self._text(content.answer),
            ),
            reasoning=Reasoning(
                packet.reasoning.reflection_log, tuple(self._note(one) for one in packet.reasoning.sketchpad)
            ),
            tool_routing=replace(
                routing,
                selected_tool=self._call(routing.selected_tool) if routing.selected_tool else None,
                alternative_tools=tuple(self._call(one) for one in routing.alternative_tools),
                execution_result=self._result(routing.execution_result) if routing.execution_result else None,
            ),
        )

    def _data(self, field: DataField) -> DataField:
        secret = self._redactor.is_secret(field.key)
        return replace(field, value=self._redactor.whole(field.value) if secret else self._hidden(field.value))

    def _note(self, note: Sketchpad) -> Sketchpad:
        return replace(note, content=self._hidden(note.content))

    def _call(self, tool: SelectedTool) -> SelectedTool:
        params = self._hidden(tool.params)
        return replace(tool, params=params if isinstance(params, dict) else {})

    def _result(self, result: ToolExecutionResult) -> ToolExecutionResult:
        return replace(
            result,
            output=self._hidden(result.output),
            error=None if result.error is None else self._text(result.error),
        )


def _arguments_in(value: Any) -> Any:
    """Of the result of an earlier call, the arguments it was called with."""
    return cast("dict[str, Any]", value).get("params") if isinstance(value, dict) else None


# ── JSON ──
# Packets as JSON and back: what they hold is made plain on the way out, and checked whole on the way in.

MOST_BYTES = 10_000_000
"""Of one packet. Results of tools are cut long before: what is larger was not written by a router."""

_SAID: Mapping[type[Struct], str] = MappingProxyType(
    {SelectedTool: "params", ToolExecutionResult: "output", DataField: "value", Sketchpad: "content"}
)
"""Fields that hold what a user, a model or a tool said."""


class _Stamp(Struct):
    """What is looked at before anything else of a saved packet."""

    version: Any = None


_stamps = Decoder(_Stamp)
_packets = Decoder(Packet)


def to_json(packet: Packet) -> bytes:
    """The packet as JSON.

    What JSON has no word for, in the values of users and tools, becomes what it can carry: a tuple a list, bytes their
    text, NaN the text "NaN", any other object what it says of itself. Raises PacketError for one that is too large.
    """
    gatherer = Gatherer(MOST_BYTES)
    data = encode(_record(packet, gatherer))
    if gatherer.full or len(data) > MOST_BYTES:
        raise PacketError(
            f"request {escaped(packet.header.packet_id, 60)} is larger than {MOST_BYTES:,} bytes and is not saved"
        )
    return data


def from_json(data: bytes, source: str = "packet") -> Packet:
    """The packet that was saved as this. Raises PacketError, which names the `source`, for anything else."""
    if len(data) > MOST_BYTES:
        raise PacketError(f"{source}: is larger than {MOST_BYTES:,} bytes, the most that a saved request can have")
    try:
        version = _stamps.decode(data).version
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise PacketError(f"{source}: has no `version`, as every saved request has, but {render_json(version, 40)}")
        if version > PACKET_VERSION:
            raise PacketError(
                f"{source}: is of version {render_json(version, 40)}, saved by a newer RightCall; "
                f"this one reads version {PACKET_VERSION}"
            )
        packet = _packets.decode(data)
    except ValidationError as fault:
        raise PacketError(f"{source}: not a saved request: {escaped(str(fault), 300)}") from None
    except (DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise PacketError(f"{source}: is damaged, no JSON: {escaped(str(fault), 300)}") from None
    if not is_packet_id(packet.header.packet_id):
        raise PacketError(f"{source}: {render_json(packet.header.packet_id, 60)} is not the id of a saved request")
    return packet


def _record(record: Struct, gatherer: Gatherer) -> dict[str, Any]:
    """What a field holds keeps its type, except where anything may stand: there it may become a text."""
    said = _SAID.get(type(record))
    values = ((name, getattr(record, name)) for name in record.__struct_fields__)
    return {name: gatherer.plain(value) if name == said else _field(value, gatherer) for name, value in values}


def _field(value: Any, gatherer: Gatherer) -> Any:
    if isinstance(value, Struct):
        return _record(value, gatherer)
    if isinstance(value, float):
        return value if isfinite(value) else 0.0
    if isinstance(value, tuple):
        return [_field(one, gatherer) for one in cast("tuple[Any, ...]", value)]
    if isinstance(value, dict):
        return {gatherer.plain(key): _field(one, gatherer) for key, one in cast("dict[str, Any]", value).items()}
    return gatherer.plain(value)


LAST = "last"
"""Instead of an id: the newest packet."""

_END = ".json"
_DAY = 86_400
_LONGEST_LINE = 200


class Listed(Struct, frozen=True):
    """A saved packet in short."""

    id: str
    created: str = ""
    state: str = ""
    status: str = ""
    request: str = ""
    """Its first line."""
    fault: str = ""
    """Why it cannot be read; then nothing else is known of it."""


def new_packet(
    request: str, *, session: str = "", caller: str = "default", tools: Iterable[str] = (), limit: int = 3,
    created: str = "",
) -> Packet:  # fmt: skip
    """A request at its very beginning. `limit` is how often it may be reinjected, `tools` what it may choose from, and
    `created` the moment, as a clock writes it; now, where none is given."""
    for name, value in (("request", request), ("session", session), ("caller", caller)):
        if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance] - no types at run time
            raise PacketError(f"`{name}` must be a text, not {type(value).__name__}")
    return Packet(
        Header(new_id(), session, caller, created or SystemClock().wall()),
        Content(request),
        context=PacketContext(tuple(tools)),
        tool_routing=ToolRouting(max_reinjections=limit),
    )


class PacketStore:
    """The packets in one folder, which is made when the first is saved, or on the shelf of a store. `redactor` hides
    what is secret by the policy's names too; without one the built-in names are hidden. Raises PacketError for
    everything that is wrong with a file, with its path and the reason."""

    def __init__(self, folder: str | os.PathLike[str] | Shelf, redactor: Redactor | None = None) -> None:
        is_folder = isinstance(folder, (str, os.PathLike))
        self._shelf = None if is_folder else folder
        self.folder = os.fspath(folder) if is_folder else folder.place
        self._redactor = redactor or Redactor(os.urandom(32))

    def save(self, packet: Packet) -> None:
        """Writes the packet in one step, in the place of what was saved under its id."""
        path = self._path(packet.header.packet_id)
        data = to_json(without_secrets(packet, self._redactor))
        try:
            if self._shelf is not None:
                self._shelf.put(packet.header.packet_id, data)
            else:
                make_folder(self.folder)
                write(path, data)
        except (OSError, StoreError) as fault:
            raise PacketError(f"{path}: cannot be written: {_reason(fault)}") from None

    def load(self, id: str) -> Packet:
        """The packet that was saved under this id."""
        path = self._path(id)
        try:
            data = read(path, MOST_BYTES) if self._shelf is None else self._shelf.get(id)
        except FileNotFoundError:
            data = None
        except (OSError, StoreError) as fault:
            raise PacketError(f"{path}: cannot be read: {_reason(fault)}") from None
        if data is None:
            raise PacketError(f"unknown request {id} in {self.folder}")
        packet = from_json(data, path)
        if packet.header.packet_id != id:
            raise PacketError(f"{path}: holds another request, {render_json(packet.header.packet_id, 60)}")
        return packet

    def find(self, name: str) -> str:
        """The id that a person means: whole, its beginning where only one has it, or `last` for the newest."""
        ids = self.ids()
        if name == LAST:
            if not ids:
                raise PacketError(f"no saved requests in {self.folder} yet")
            return ids[0]
        found = [one for one in ids if name and one.startswith(name)]
        if not found:
            raise PacketError(
                f"unknown request {render_json(name, 60)} in {self.folder}; `rightcall requests list` shows them"
            )
        if len(found) > 1:
            raise PacketError(
                f"{render_json(name, 60)} is the beginning of {len(found)} requests, such as {found[0]} and {found[1]}"
            )
        return found[0]

    def ids(self) -> list[str]:
        """Every packet's id, the newest first."""
        return sorted((name.removesuffix(_END) for name, _ in self._files() if name.endswith(_END)), reverse=True)

    def remove(self, id: str) -> None:
        path = self._path(id)
        try:
            if self._shelf is None:
                os.unlink(path)
            elif not self._shelf.drop(id):
                raise FileNotFoundError
        except FileNotFoundError:
            raise PacketError(f"unknown request {id} in {self.folder}") from None
        except (OSError, StoreError) as fault:
            raise PacketError(f"{path}: cannot be removed: {_reason(fault)}") from None

    def prune(self, days: float, keeps: Callable[[str], bool] | None = None) -> list[str]:
        """Removes what was not saved again for so many days, and returns the ids, the oldest first. `keeps` says of an
        id whether it stays all the same."""
        if isinstance(days, bool) or not isinstance(days, (int, float)) or not days >= 0:  # pyright: ignore[reportUnnecessaryIsInstance] - no types at run time
            raise PacketError(f"`days` must be a number of days, 0 or more, not {render_json(days, 40)}")
        before = time() - days * _DAY
        removed: list[str] = []
        for name, saved in sorted(self._files()):
            if saved <= before:
                if name.endswith(_END):
                    if keeps is not None and keeps(name.removesuffix(_END)):
                        continue
                    self.remove(name.removesuffix(_END))
                    removed.append(name.removesuffix(_END))
                else:
                    self._sweep(name)
        return removed

    def waits(self, id: str) -> bool:
        """Whether it waits for a person; from one that cannot be read nothing can go on."""
        try:
            return self.load(id).status.state == "waiting"
        except PacketError:
            return False

    def list(self, limit: int | None = None) -> list[Listed]:
        """In short, the newest first and without secrets; also those that cannot be read, with the reason."""
        return [self.listed(one) for one in self.ids()[:limit]]

    def _sweep(self, name: str) -> None:
        """A file that a process did not live to finish. Another may be removing it too."""
        try:
            os.unlink(os.path.join(self.folder, name))
        except FileNotFoundError:
            return
        except OSError as fault:
            raise PacketError(f"{os.path.join(self.folder, name)}: cannot be removed: {fault.strerror}") from None

    def listed(self, id: str) -> Listed:
        """One of them in short."""
        try:
            packet = self.load(id)
        except PacketError as fault:
            return Listed(id, fault=str(fault))
        first = story_of(packet, self._redactor).content.original_prompt.strip().partition("\n")[0]
        return Listed(
            id,
            packet.header.created,
            packet.status.state,
            packet.tool_routing.execution_status,
            first[:_LONGEST_LINE],
        )

    def _files(self) -> Iterator[tuple[str, float]]:
        """Names of ours, each with the moment it was saved. What else lies in the folder is left alone."""
        if self._shelf is not None:
            try:
                yield from ((f"{name}{_END}", saved) for name, saved in self._shelf.saved())
            except StoreError as fault:
                raise PacketError(f"{self.folder}: cannot be looked into: {fault}") from None
            return
        try:
            with os.scandir(self.folder) as found:
                names = [one for one in found if _is_ours(one.name)]
        except FileNotFoundError:
            return
        except OSError as fault:
            raise PacketError(f"{self.folder}: cannot be looked into: {fault.strerror or fault}") from None
        for one in names:
            with suppress(FileNotFoundError):  # somebody has just removed it
                yield one.name, one.stat(follow_symlinks=False).st_mtime

    def _path(self, id: str) -> str:
        if not is_packet_id(id):
            raise PacketError(
                f"{render_json(id, 60)} is not the id of a saved request, which is `p` and 16 small letters and digits"
            )
        return os.path.join(self.folder, id + _END)


def packets_of(store: object, folder: str, redactor: Redactor | None = None) -> PacketStore:
    """Those that belong to a store: in it where it is on a server, else in the folder beside it."""
    return PacketStore(shelf_of(store, "requests") or folder, redactor)


def _reason(fault: OSError | StoreError) -> str:
    return getattr(fault, "strerror", None) or str(fault)


def _is_ours(name: str) -> bool:
    start, _, end = name.partition(".")
    return is_packet_id(start) and (end == _END[1:] or end.endswith(UNFINISHED))


# ── written ──
# Examples of requests that stand in no definition: those of our own tools, and those that a model or a person wrote.
#
#     a tool without examples ─▶ a model, asked once ─▶ a file, which people may edit ─▶ what the router compares
#
# There is one file for each folder that is worked in, in the user's own state folder: no tool may touch it, and no
# project brings it along. What a model wrote is only ever compared with requests; no model is shown it, and people are
# shown it escaped. Our late imports keep `rightcall tools` quick where nothing was written.

YOU: Final = "you"
"""Who wrote what no model may replace."""
_MOST_BYTES = 16_000_000
_LONGEST_DEFINITION = 6000
_MOST_TOKENS = 4000
_log = logging.getLogger("rightcall")


class Requests(Struct, frozen=True, forbid_unknown_fields=True):
    """Requests that want one tool, as the file has them."""

    examples: tuple[str, ...]
    by: str = YOU
    """`model NAME`, or `you`."""
    digest: str = ""
    """Of the definition that they were written for; a person may leave it out."""

    def fits(self, digest: str) -> bool:
        return self.digest == digest or (self.by == YOU and not self.digest)


@lru_cache(maxsize=1)
def shipped_examples() -> dict[str, tuple[str, ...]]:
    """Those of our own tools, by name."""
    with open(os.path.join(os.path.dirname(__file__), "weights", "examples.json"), "rb") as stream:
        return msgspec.json.decode(stream.read(), type=dict[str, tuple[str, ...]])


def digest_of(name: str, description: str, parameters: dict[str, Any]) -> str:
    """Of how a tool reads: examples are of no use once it has become another."""
    said = json.dumps([name, description, parameters], sort_keys=True, default=str)
    return sha256(said.encode()).hexdigest()[:32]


def tidy_examples(texts: Iterable[object]) -> tuple[str, ...]:
    """What can be used of a list that anybody may have written: texts in one line each, without control characters."""
    plain = ("".join(sign if sign.isprintable() else " " for sign in one) for one in texts if isinstance(one, str))
    lines = (" ".join(one.split())[:LONGEST_EXAMPLE].strip() for one in plain)
    return tuple(dict.fromkeys(one for one in lines if one))[:MOST_EXAMPLES]


# ── the file ──


def examples_file(root: str) -> str:
    """Where the examples for the tools of a folder are, or would be."""
    key = os.path.realpath(root).encode(errors="replace")
    return os.path.join(state_folder(), "examples", f"{sha256(key).hexdigest()[:32]}.json")


def load_requests(root: str) -> dict[str, Requests]:
    """What was written for the tools of a folder, by name. Raises StoreError for a file that cannot be used."""
    path = examples_file(root)
    if not os.path.lexists(path):
        return {}

    try:
        data = read(path, _MOST_BYTES)
        if len(data) > _MOST_BYTES:
            raise StoreError(f"the examples in {path} are more than {_MOST_BYTES:,} bytes", "corrupt")
        found = msgspec.json.decode(data, type=dict[str, Requests])
    except OSError as fault:
        raise StoreError(f"the examples in {path} cannot be read: {fault.strerror or fault}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as fault:
        said = escaped(str(fault), 200)
        raise StoreError(f"the examples in {path} are damaged: {said}; correct or remove the file", "corrupt") from None
    return {name: replace(one, examples=tidy_examples(one.examples)) for name, one in found.items()}


def keep_requests(root: str, name: str, written: Requests) -> None:
    """Add those of one tool to the file, read anew: a person may have edited it meanwhile. Raises StoreError."""

    path, found = examples_file(root), load_requests(root)
    if name in found and found[name].by == YOU:
        return
    listed = json.dumps(msgspec.to_builtins(found | {name: written}), ensure_ascii=False, indent=2) + "\n"
    try:
        make_folder(os.path.dirname(path))
        write(path, listed.encode(errors="replace"))
    except OSError as fault:
        raise StoreError(f"the examples cannot be saved to {path}: {fault.strerror or fault}") from None


def with_written(tools: Iterable["ToolText"], root: str) -> list["ToolText"]:
    """The same tools; those without examples have what was written for them. A damaged file is told and left out."""
    try:
        written = load_requests(root)
    except (StoreError, OSError) as fault:
        _log.warning("rightcall: %s", fault)
        written = {}
    found: list[ToolText] = []
    for tool in tools:
        own = None if tool.examples else written.get(tool.name)
        fits = own is not None and own.fits(digest_of(tool.name, tool.description, tool.parameters))
        found.append(replace(tool, examples=own.examples) if own is not None and fits else tool)
    return found


# ── the model ──

_PROMPT = """\
Here is a tool that an assistant can use:

{definition}

Write ten requests that people would type into a chat when they need this tool. They do not know the tool, so they do \
not name it. Use everyday words, with concrete values where a request would have them. Let the requests differ in \
wording, length and detail. Answer with a JSON list of ten texts and nothing else."""


async def ask_for_requests(model: "Model", tool: "ToolText", gate: "Gate") -> Requests:
    """What a model writes for one tool. Raises ModelError: `unreadable` where it answered, but with no such list."""
    from rightcall.gate.repair.arguments import loads
    from rightcall.router.choose import taken_apart

    definition = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    shown = json.dumps(definition, ensure_ascii=False, default=str)[:_LONGEST_DEFINITION]
    messages: list[Any] = [{"role": "user", "content": _PROMPT.format(definition=shown)}]
    options = options_taken(model, {"temperature": 0.7, "max_tokens": _MOST_TOKENS})
    written = await ask(asker(model), messages, options)
    if (failure := failure_of(written)) is not None:
        raise ModelError(failure, "unreachable")
    try:
        parsed = loads(taken_apart(gate, written).text)
    except Unreadable:
        raise ModelError("the model wrote no JSON list of requests") from None
    value: Any = parsed.value
    if is_object(value):  # {"requests": […]}, as models do that were told to answer with an object
        value = next((one for one in value.values() if is_list(one)), None)
    listed: list[Any] = value if is_list(value) else []
    found = tidy_examples(listed[:-1] if parsed.truncated else listed)
    if not found:
        raise ModelError("the model wrote no JSON list of requests")
    return Requests(
        found, f"model {getattr(model, 'model', '')}".strip(), digest_of(tool.name, tool.description, tool.parameters)
    )
