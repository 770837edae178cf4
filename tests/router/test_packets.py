"""Packets on the disk: saved whole or not at all, for their owner alone, and read back as they were or refused."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import json
from msgspec.structs import replace

from rightcall import Executor
from rightcall.base.files.guarded import packets_folder
from rightcall.base.secrets import Redactor
from rightcall.errors import PacketError
from rightcall.record.calls import CallFilter, find_calls
from rightcall.router.packet import (
    Candidate,
    Content,
    DataField,
    Intent,
    Packet,
    PacketIntent,
    PacketStatus,
    Reasoning,
    ReflectionLog,
    SelectedTool,
    Sketchpad,
    ToolExecutionResult,
    ToolRouting,
)
from rightcall.router.packets import MOST_BYTES, PacketStore, from_json, is_packet_id, new_id, new_packet, to_json

pytestmark = pytest.mark.promise("T-01")

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
PART = st.floats(0, 1)
PLAIN: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
SELECTED = st.builds(SelectedTool, TEXT, st.dictionaries(TEXT, PLAIN, max_size=3), TEXT, PART)
PACKETS = st.builds(
    Packet,
    st.builds(lambda text: new_packet("", session=text, caller=text).header, TEXT),
    st.builds(Content, TEXT, st.tuples(st.builds(DataField, TEXT, PLAIN, TEXT, TEXT)), st.none() | TEXT),
    intent=st.builds(
        PacketIntent,
        TEXT,
        st.none() | st.builds(Intent, st.sampled_from(("call", "ask", "none")), PART, scores=st.just({"call": 0.5})),
    ),
    reasoning=st.builds(
        Reasoning,
        st.tuples(st.builds(ReflectionLog, TEXT, TEXT, st.none() | PART, TEXT, PART)),
        st.tuples(st.builds(Sketchpad, TEXT, PLAIN, TEXT)),
    ),
    status=st.builds(PacketStatus, st.sampled_from(("received", "waiting", "failed")), TEXT),
    tool_routing=st.builds(
        ToolRouting,
        candidates=st.tuples(st.builds(Candidate, TEXT, st.floats(-5, 5), PART, st.tuples(TEXT))),
        selected_tool=st.none() | SELECTED,
        alternative_tools=st.tuples(SELECTED),
        review_approved=st.none() | st.booleans(),
        evidence=st.dictionaries(TEXT, PART, max_size=2),
        execution_result=st.none() | st.builds(ToolExecutionResult, st.booleans(), PLAIN, st.none() | TEXT),
        approval=st.none() | TEXT,
    ),
)


@given(PACKETS)
@settings(max_examples=25)
def test_what_was_saved_is_read_back_equal(packet: Packet) -> None:
    assert from_json(to_json(packet)) == packet


@pytest.fixture
def store(tmp_path: Path) -> PacketStore:
    return PacketStore(tmp_path / "packets")


def file_of(store: PacketStore, packet: Packet) -> Path:
    return Path(store.folder) / f"{packet.header.packet_id}.json"


def test_a_new_packet_knows_its_request_its_tools_and_its_limit() -> None:
    packet = new_packet("show a.md", session="s1", caller="ada", tools=["code/read"], limit=2)
    assert (packet.content.original_prompt, packet.header.session_id, packet.header.caller) == (
        "show a.md",
        "s1",
        "ada",
    )
    assert packet.context.available_mcp_tools == ("code/read",)
    assert (packet.tool_routing.max_reinjections, packet.tool_routing.execution_status) == (2, "pending")
    assert packet.status.state == "received"
    assert packet.version == 1
    with pytest.raises(PacketError, match="`request` must be a text, not int"):
        new_packet(3)  # pyright: ignore[reportArgumentType]


def test_ids_sort_by_time_and_stay_whole_in_the_audit() -> None:
    ids = [new_id() for _ in range(200)]
    assert sorted(ids) == ids
    assert len(set(ids)) == 200
    hide = Redactor(b"key")
    assert all(is_packet_id(one) and hide.value(one) == one for one in ids)


@pytest.mark.promise("P-03")
def test_no_call_may_touch_the_packets_and_its_record_has_their_id(tmp_path: Path) -> None:
    packet = new_packet("read it")
    with Executor.open_sync(root=tmp_path, policy={"audit": {"path": "state/audit.db"}}) as executor:
        folder = packets_folder(str(tmp_path / "state" / "audit.db"))
        PacketStore(folder).save(packet)
        (tmp_path / "state" / "plain.json").write_text("{}")

        def read(path: str) -> str:
            call = {"name": "code/read", "arguments": {"path": path}}
            return executor.run(call, context=packet.header.packet_id).status

        assert read("state/plain.json") == "success"
        assert read(f"state/packets/{packet.header.packet_id}.json") == "refused"
        found = executor.store.look(lambda tables: find_calls(tables, CallFilter(context=packet.header.packet_id)))
        assert [one.status for one in found] == ["refused", "success"]


def test_a_saved_packet_is_its_owners_alone(store: PacketStore) -> None:
    packet = new_packet("x")
    store.save(packet)
    assert stat.S_IMODE(os.stat(store.folder).st_mode) == 0o700
    assert stat.S_IMODE(file_of(store, packet).stat().st_mode) == 0o600
    assert (Path(store.folder) / ".gitignore").read_text() == "*\n"


def test_saving_again_takes_the_place_of_what_was_there(store: PacketStore) -> None:
    packet = new_packet("x")
    later = replace(packet, status=PacketStatus("waiting", "for approval a1"))
    file = file_of(store, packet)
    store.save(packet)
    file.chmod(0o644)
    store.save(later)
    assert store.load(packet.header.packet_id) == later
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(os.listdir(store.folder)) == [".gitignore", file.name]


def test_a_disk_that_says_no_leaves_the_old_packet_and_nothing_else(
    store: PacketStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    packet = new_packet("x")
    store.save(packet)

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(PacketError, match=r"p\w+\.json: cannot be written: No space left on device"):
            store.save(replace(packet, status=PacketStatus("failed")))
    assert store.load(packet.header.packet_id) == packet
    assert len(os.listdir(store.folder)) == 2


class Odd:
    def __repr__(self) -> str:
        raise RuntimeError("no")


@dataclass
class Point:
    x: int


def test_what_json_cannot_hold_is_made_plain() -> None:
    loop: list[Any] = []
    loop.append(loop)
    output = {
        "b": b"ab",
        "n": float("nan"),
        "t": (1, 2),
        "s": "\ud800",
        "big": 2**70,
        "odd": Odd(),
        "p": Point(3),
        7: loop,
    }
    packet = replace(
        new_packet("x\ud800"),
        tool_routing=ToolRouting(
            confidence=float("nan"),
            evidence={"margin": float("inf")},
            execution_result=ToolExecutionResult(True, output),
        ),
        reasoning=Reasoning(sketchpad=(Sketchpad("s", float("nan")),)),
    )
    back = from_json(to_json(packet))
    assert back.content.original_prompt == "x\\ud800"
    assert (back.tool_routing.confidence, back.tool_routing.evidence) == (0.0, {"margin": 0.0})
    assert back.reasoning.sketchpad[0].content == "NaN"
    result = back.tool_routing.execution_result
    assert result
    assert result.output["b"] == "ab"
    assert result.output["n"] == "NaN"
    assert result.output["t"] == [1, 2]
    assert result.output["big"] == str(2**70)
    assert result.output["p"] == {"x": 3}
    assert from_json(to_json(back)) == back


def test_a_packet_that_is_too_large_is_not_saved(store: PacketStore) -> None:
    packet = new_packet("x" * (MOST_BYTES + 1))
    with pytest.raises(PacketError, match=rf"{packet.header.packet_id} is larger than 10,000,000 bytes"):
        store.save(packet)
    assert store.ids() == []


GOOD = new_packet("x")


def changed(**fields: Any) -> bytes:
    return json.encode(json.decode(to_json(GOOD)) | fields)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is damaged, no JSON"),
        (b'{"version": 1, "header"', "is damaged, no JSON"),
        (to_json(GOOD).replace(b'"x"', b'"\xff"'), "is damaged, no JSON"),
        (b"[" * 100_000, "is damaged, no JSON|not a saved request"),
        (b'{"version":1,"content":' + b"[" * 100_000, "is damaged, no JSON"),
        (b"[1]", "not a saved request: Expected `object`"),
        (b"{}", "has no `version`"),
        (changed(version="1"), "has no `version`"),
        (changed(version=True), "has no `version`"),
        (changed(version=2), "is of version 2, saved by a newer RightCall; this one reads version 1"),
        (changed(header=3), r"not a saved request: Expected `object`, got `int` - at `\$.header`"),
        (changed(tool_routing={"execution_status": "ran"}), "not a saved request: Invalid enum value 'ran'"),
        (changed(header={"packet_id": "../../x"}), '"../../x" is not the id of a saved request'),
        (b" " * (MOST_BYTES + 1), "is larger than 10,000,000 bytes"),
    ],
)
def test_what_is_no_packet_is_refused_with_file_and_reason(store: PacketStore, data: bytes, says: str) -> None:
    store.save(GOOD)
    file_of(store, GOOD).write_bytes(data)
    with pytest.raises(PacketError, match=rf"{GOOD.header.packet_id}\.json: .*({says})"):
        store.load(GOOD.header.packet_id)
    (listed,) = store.list()
    assert listed.id == GOOD.header.packet_id
    assert listed.fault


@pytest.mark.parametrize("id", ["", "..", "../x", "a/b", "p" + "0" * 15, "P" + "0" * 16, "p" + "0" * 16 + "\n", 3])
def test_an_id_that_is_none_reaches_no_file(store: PacketStore, id: Any) -> None:
    for work in (store.load, store.remove):
        with pytest.raises(PacketError, match="is not the id of a saved request"):
            work(id)
    with pytest.raises(PacketError, match="is not the id of a saved request"):
        store.save(replace(GOOD, header=replace(GOOD.header, packet_id=id)))


def test_a_packet_under_anothers_name_is_refused(store: PacketStore) -> None:
    other = new_packet("y")
    store.save(GOOD)
    file_of(store, GOOD).rename(file_of(store, other))
    with pytest.raises(PacketError, match=f"holds another request, .*{GOOD.header.packet_id}"):
        store.load(other.header.packet_id)


def test_a_link_and_a_pipe_are_no_packets(store: PacketStore, tmp_path: Path) -> None:
    linked, piped = new_packet("a"), new_packet("b")
    store.save(GOOD)
    (tmp_path / "elsewhere").write_bytes(to_json(linked))
    file_of(store, linked).symlink_to(tmp_path / "elsewhere")
    os.mkfifo(file_of(store, piped))
    for packet in (linked, piped):
        with pytest.raises(PacketError, match="cannot be read"):
            store.load(packet.header.packet_id)


def test_packets_are_listed_newest_first_and_found_by_their_beginning(store: PacketStore) -> None:
    assert store.list() == []
    with pytest.raises(PacketError, match=r"no saved requests in .* yet"):
        store.find("last")
    first, second = new_packet("  one\ntwo"), new_packet("three")
    store.save(second)
    store.save(first)
    assert [(one.id, one.request, one.state, one.status) for one in store.list()] == [
        (second.header.packet_id, "three", "received", "pending"),
        (first.header.packet_id, "one", "received", "pending"),
    ]
    assert [one.id for one in store.list(1)] == [second.header.packet_id]
    assert store.find("last") == second.header.packet_id
    assert store.find(first.header.packet_id[:-1]) == first.header.packet_id
    with pytest.raises(PacketError, match='"p" is the beginning of 2 requests, such as'):
        store.find("p")
    for name in ("", "q", "../x"):
        with pytest.raises(PacketError, match=r"unknown request|no saved requests in"):
            store.find(name)


def test_a_removed_packet_is_gone(store: PacketStore) -> None:
    store.save(GOOD)
    store.remove(GOOD.header.packet_id)
    with pytest.raises(PacketError, match=r"unknown request|no saved requests in"):
        store.load(GOOD.header.packet_id)
    with pytest.raises(PacketError, match=r"unknown request|no saved requests in"):
        store.remove(GOOD.header.packet_id)


def test_pruning_takes_what_was_not_saved_for_so_long_and_nothing_of_others(store: PacketStore) -> None:
    old, young = new_packet("old"), new_packet("young")
    for packet in (old, young):
        store.save(packet)
    folder = Path(store.folder)
    (folder / "notes.json").write_text("mine")
    left = folder / f"{old.header.packet_id}.json.abc.part"
    left.write_text("half")
    for file in (file_of(store, old), folder / "notes.json", left):
        os.utime(file, (1, 1))
    assert store.prune(30) == [old.header.packet_id]
    assert sorted(os.listdir(folder)) == sorted([".gitignore", "notes.json", file_of(store, young).name])
    assert store.prune(0) == [young.header.packet_id]
    for days in (-1, float("nan"), True, "3"):
        with pytest.raises(PacketError, match="`days` must be a number of days"):
            store.prune(days)  # pyright: ignore[reportArgumentType]


SECRET = "hunter22"


def with_secret(state: Any) -> Packet:
    packet = new_packet(f"log in with {SECRET}")
    tool = SelectedTool("login", {"user": "ada", "password": SECRET}, f"the user gave {SECRET}")
    told = f"Selected login, password={SECRET}"
    return replace(
        packet,
        content=Content(
            packet.content.original_prompt, (DataField("tool_result", {"output": SECRET}),), f"with {SECRET}"
        ),
        reasoning=Reasoning((ReflectionLog("tool_selection", told),), (Sketchpad("latest", f"got {SECRET}"),)),
        status=PacketStatus(state, f"waits: {SECRET}"),
        tool_routing=ToolRouting(
            selected_tool=tool,
            alternative_tools=(tool,),
            selection_reasoning=f"what is {SECRET}?",
            review_reasoning=f"{SECRET} is fine",
            execution_result=ToolExecutionResult(False, {"said": SECRET}, f"no {SECRET}"),
        ),
    )


@pytest.mark.promise("A-02")
def test_of_a_packet_on_its_way_only_what_it_needs_is_saved_with_its_secrets(store: PacketStore) -> None:
    packet = with_secret("waiting")
    store.save(packet)
    saved = store.load(packet.header.packet_id)
    assert saved.content == packet.content
    assert saved.tool_routing.execution_result == packet.tool_routing.execution_result
    routing = saved.tool_routing
    assert routing.selected_tool
    assert routing.selected_tool.params == {"user": "ada", "password": SECRET}
    assert routing.alternative_tools[0].params == {"user": "ada", "password": SECRET}
    story = (
        routing.selection_reasoning,
        routing.review_reasoning,
        routing.selected_tool.selection_reasoning,
        saved.status.why,
    )
    assert all(SECRET not in text and "[redacted " in text for text in story)
    assert SECRET not in saved.reasoning.reflection_log[0].summary


@pytest.mark.promise("A-02")
def test_an_answered_packet_holds_no_secret_any_more(store: PacketStore) -> None:
    packet = with_secret("answered")
    store.save(packet)
    assert SECRET.encode() not in file_of(store, packet).read_bytes()
    routing = store.load(packet.header.packet_id).tool_routing
    assert routing.selected_tool
    assert routing.selected_tool.params["user"] == "ada"


@pytest.mark.promise("A-02")
def test_a_failed_packet_keeps_of_its_secrets_only_what_it_would_begin_anew_with(store: PacketStore) -> None:
    packet = with_secret("failed")
    store.save(packet)
    saved = store.load(packet.header.packet_id)
    assert saved.content.original_prompt == packet.content.original_prompt
    assert saved.content.data_fields == packet.content.data_fields
    rest = replace(saved, content=Content("", (), saved.content.answer))
    assert SECRET.encode() not in to_json(rest)


@pytest.mark.promise("A-02")
def test_names_that_the_policy_calls_secret_are_hidden_too(tmp_path: Path) -> None:
    store = PacketStore(tmp_path, Redactor(b"key", ["customer_number"]))
    tool = SelectedTool("find", {"customer_number": "778899"}, "customer 778899")
    packet = replace(new_packet("x"), tool_routing=ToolRouting(selected_tool=tool))
    store.save(packet)
    saved = store.load(packet.header.packet_id).tool_routing.selected_tool
    assert saved
    assert saved.params == {"customer_number": "778899"}
    assert "778899" not in saved.selection_reasoning
