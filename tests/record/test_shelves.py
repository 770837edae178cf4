"""What belongs to a store and is no record is kept with it: in memory, beside a file, or on a server for all nodes."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rightcall.errors import PacketError
from rightcall.record.notes import remember_tools, remembered_servers, remembered_tools
from rightcall.record.postgres import PostgresReader, PostgresStore
from rightcall.record.tables import Store
from rightcall.router.packets import PacketStore, new_packet, packets_of

TOOLS = [{"name": "read", "inputSchema": {"type": "object"}}]


@pytest.fixture
def packets(store: Store, tmp_path: Path) -> PacketStore:
    return packets_of(store, str(tmp_path / "packets"))


def test_what_a_server_listed_last_is_known_until_it_lists_something_else(store: Store) -> None:
    assert remember_tools(store, "files", [{"name": "write"}])
    assert remember_tools(store, "files", TOOLS)
    assert remember_tools(store, "../up\0", [*TOOLS, "nonsense"])
    store.transact(lambda _: None)
    assert remembered_tools(store, "files") == TOOLS
    assert remembered_tools(store, "../up\0") == TOOLS
    assert remembered_tools(store, "unknown") == []
    assert remembered_servers(store) == ["../up\0", "files"]
    assert not remember_tools(store, "x" * 201, TOOLS)


def test_a_request_is_saved_found_listed_and_removed(packets: PacketStore) -> None:
    first, second = new_packet("Read the file"), new_packet("Tell me\nmore")
    for packet in (first, second, first):
        packets.save(packet)
    ids = sorted((first.header.packet_id, second.header.packet_id), reverse=True)
    assert packets.ids() == ids
    assert packets.load(first.header.packet_id).content.original_prompt == "Read the file"
    assert packets.find("last") == ids[0]
    assert [one.request for one in packets.list()] == ["Tell me", "Read the file"]
    packets.remove(first.header.packet_id)
    with pytest.raises(PacketError, match="unknown request"):
        packets.remove(first.header.packet_id)
    with pytest.raises(PacketError, match="unknown request"):
        packets.load(first.header.packet_id)
    assert packets.prune(1) == []
    assert packets.prune(0) == [second.header.packet_id]


@pytest.fixture
def nodes(url: str) -> Iterator[tuple[PostgresStore, PostgresStore]]:
    with (
        closing(PostgresStore(url, silent_seconds=30, busy_seconds=30)) as one,
        closing(PostgresStore(url, silent_seconds=30, busy_seconds=30)) as two,
    ):
        yield one, two


def test_another_node_and_whoever_only_looks_find_them(url: str, nodes: tuple[PostgresStore, PostgresStore]) -> None:
    one, two = nodes
    packet = new_packet("Read the file")
    packets_of(one, "").save(packet)
    assert remember_tools(one, "files", TOOLS)
    one.transact(lambda _: None)
    assert remembered_tools(two, "files") == TOOLS
    with closing(PostgresReader(url)) as reader:
        assert packets_of(reader, "").load(packet.header.packet_id).content.original_prompt == "Read the file"
        assert remembered_servers(reader) == ["files"]
        with pytest.raises(RuntimeError, match="only looked into"):
            packets_of(reader, "").save(packet)


def test_a_document_is_read_inside_a_look_without_another_connection(
    nodes: tuple[PostgresStore, PostgresStore], server: object
) -> None:
    one, _ = nodes
    packets = packets_of(one, "")
    packet = new_packet("Read the file")
    packets.save(packet)

    def depth(left: int) -> str:
        if left:
            return one.look(lambda _: depth(left - 1))
        return packets.load(packet.header.packet_id).content.original_prompt

    assert depth(5) == "Read the file", server
