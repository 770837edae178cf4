"""Packets as JSON and back: what they hold is made plain on the way out, and checked whole on the way in."""

from collections.abc import Mapping
from math import isfinite
from types import MappingProxyType
from typing import Any, cast

from msgspec import DecodeError, Struct, ValidationError
from msgspec.json import Decoder, encode

from rightcall.errors import PacketError
from rightcall.execute.plain import Gatherer
from rightcall.route.packet_ids import is_packet_id
from rightcall.route.types import PACKET_VERSION, DataField, Packet, SelectedTool, Sketchpad, ToolExecutionResult
from rightcall.text.escape import escaped, render_json

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
            f"packet {escaped(packet.header.packet_id, 60)} is larger than {MOST_BYTES:,} bytes, the most that is saved"
        )
    return data


def from_json(data: bytes, source: str = "packet") -> Packet:
    """The packet that was saved as this. Raises PacketError, which names the `source`, for anything else."""
    if len(data) > MOST_BYTES:
        raise PacketError(f"{source}: is larger than {MOST_BYTES:,} bytes, the most that a packet can have")
    try:
        version = _stamps.decode(data).version
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise PacketError(f"{source}: has no `version`, as every saved packet has, but {render_json(version, 40)}")
        if version > PACKET_VERSION:
            raise PacketError(
                f"{source}: is of version {render_json(version, 40)}, saved by a newer RightCall; "
                f"this one reads version {PACKET_VERSION}"
            )
        packet = _packets.decode(data)
    except ValidationError as fault:
        raise PacketError(f"{source}: is no packet: {escaped(str(fault), 300)}") from None
    except (DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise PacketError(f"{source}: is damaged, no JSON: {escaped(str(fault), 300)}") from None
    if not is_packet_id(packet.header.packet_id):
        raise PacketError(f"{source}: {render_json(packet.header.packet_id, 60)} is no packet's id")
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
