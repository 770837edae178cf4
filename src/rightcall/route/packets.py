"""Packets on the disk: one JSON file each, in `packets/` beside the audit's database.

Saved packets hold what users, models and tools said as they said it, since a packet that waits is continued from it;
the files can be read by their owner only, and packets_hidden.py says what is left out. Nothing in a saved packet grants
anything: when it goes on, the review and the executor's policy decide anew.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from time import time

from msgspec import Struct

from rightcall.errors import PacketError
from rightcall.record.clock import SystemClock
from rightcall.route.packet_ids import is_packet_id, new_id
from rightcall.route.packets_files import UNFINISHED, make_folder, read, write
from rightcall.route.packets_hidden import story_of, without_secrets
from rightcall.route.packets_json import MOST_BYTES, from_json, to_json
from rightcall.route.types import Content, Header, Packet, PacketContext, ToolRouting
from rightcall.text.escape import render_json
from rightcall.text.redact import Redactor

__all__ = ["Listed", "PacketStore", "from_json", "is_packet_id", "new_packet", "to_json"]

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
    request: str, *, session: str = "", caller: str = "default", tools: Iterable[str] = (), limit: int = 3
) -> Packet:
    """A request at its very beginning. `limit` is how often it may be reinjected, `tools` what it may choose from."""
    for name, value in (("request", request), ("session", session), ("caller", caller)):
        if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance] - no types at run time
            raise PacketError(f"`{name}` must be a text, not {type(value).__name__}")
    return Packet(
        Header(new_id(), session, caller, SystemClock().wall()),
        Content(request),
        context=PacketContext(tuple(tools)),
        tool_routing=ToolRouting(max_reinjections=limit),
    )


class PacketStore:
    """The packets in one folder, which is made when the first is saved. `redactor` hides what is secret by the policy's
    names too; without one the built-in names are hidden. Raises PacketError for everything that is wrong with a file,
    with its path and the reason."""

    def __init__(self, folder: str | os.PathLike[str], redactor: Redactor | None = None) -> None:
        self.folder = os.fspath(folder)
        self._redactor = redactor or Redactor(os.urandom(32))

    def save(self, packet: Packet) -> None:
        """Writes the packet in one step, in the place of what was saved under its id."""
        path = self._path(packet.header.packet_id)
        data = to_json(without_secrets(packet, self._redactor))
        try:
            make_folder(self.folder)
            write(path, data)
        except OSError as fault:
            raise PacketError(f"{path}: cannot be written: {fault.strerror or fault}") from None

    def load(self, id: str) -> Packet:
        """The packet that was saved under this id."""
        path = self._path(id)
        try:
            data = read(path, MOST_BYTES)
        except FileNotFoundError:
            raise PacketError(f"there is no packet {id} in {self.folder}") from None
        except OSError as fault:
            raise PacketError(f"{path}: cannot be read: {fault.strerror or fault}") from None
        packet = from_json(data, path)
        if packet.header.packet_id != id:
            raise PacketError(f"{path}: holds another packet, {render_json(packet.header.packet_id, 60)}")
        return packet

    def find(self, name: str) -> str:
        """The id that a person means: whole, its beginning where only one has it, or `last` for the newest."""
        ids = self.ids()
        if name == LAST:
            if not ids:
                raise PacketError(f"there is no packet in {self.folder} yet")
            return ids[0]
        found = [one for one in ids if name and one.startswith(name)]
        if not found:
            raise PacketError(
                f"there is no packet {render_json(name, 60)} in {self.folder}; `rightcall packet list` shows them"
            )
        if len(found) > 1:
            raise PacketError(
                f"{render_json(name, 60)} is the beginning of {len(found)} packets, such as {found[0]} and {found[1]}"
            )
        return found[0]

    def ids(self) -> list[str]:
        """Every packet's id, the newest first."""
        return sorted((name.removesuffix(_END) for name, _ in self._files() if name.endswith(_END)), reverse=True)

    def remove(self, id: str) -> None:
        path = self._path(id)
        try:
            os.unlink(path)
        except FileNotFoundError:
            raise PacketError(f"there is no packet {id} in {self.folder}") from None
        except OSError as fault:
            raise PacketError(f"{path}: cannot be removed: {fault.strerror or fault}") from None

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
        return [self._listed(one) for one in self.ids()[:limit]]

    def _sweep(self, name: str) -> None:
        """A file that a process did not live to finish. Another may be removing it too."""
        try:
            os.unlink(os.path.join(self.folder, name))
        except FileNotFoundError:
            return
        except OSError as fault:
            raise PacketError(f"{os.path.join(self.folder, name)}: cannot be removed: {fault.strerror}") from None

    def _listed(self, id: str) -> Listed:
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
            raise PacketError(f"{render_json(id, 60)} is no packet's id, which is `p` and 16 small letters and digits")
        return os.path.join(self.folder, id + _END)


def _is_ours(name: str) -> bool:
    start, _, end = name.partition(".")
    return is_packet_id(start) and (end == _END[1:] or end.endswith(UNFINISHED))
