"""`rightcall requests`: a request's story, told whole, escaped and without secrets; and the audit's link to it."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rightcall.base.files.guarded import packets_folder
from rightcall.router.packet import (
    Candidate,
    Content,
    Intent,
    Packet,
    PacketIntent,
    PacketStatus,
    Reasoning,
    ReflectionLog,
    SelectedTool,
    ToolExecutionResult,
    ToolRouting,
)
from rightcall.router.packets import PacketStore, from_json, new_packet
from support.cli import Done, Runner
from support.stores import Diary, opened

pytestmark = pytest.mark.promise("T-01")

EVIL = "\x1b[31m\u202eevil\u200b\x07"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PacketStore:
    monkeypatch.chdir(tmp_path)
    return PacketStore(packets_folder(os.path.join(".", ".rightcall", "audit.db")))


@pytest.fixture
def packet(run: Runner, store: PacketStore) -> Any:
    def do(*arguments: str, **more: Any) -> Done:
        return run("requests", *arguments, **more)

    return do


def told(packet: Packet) -> Packet:
    """The packet with something in every part, at times that a test knows."""
    read = SelectedTool("code/read", {"path": "docs/design.md", "token": "hunter22"}, "It names a file.", 0.9)
    return replace(
        packet,
        header=replace(packet.header, created="2026-01-01 12:00:00.000"),
        content=Content("show me docs/design.md\nplease", answer="Here it is:\n# Design"),
        intent=PacketIntent("tool_routing", Intent("call", 0.93, scores={"call": 0.93}, why=("`show` is a request",))),
        reasoning=Reasoning(
            (
                ReflectionLog("intent_detection", "A tool is needed.", 0.93, "2026-01-01 12:00:00.004", 0.4),
                ReflectionLog("tool_selection", "code/read with hunter22", 0.9, "2026-01-01 12:00:01.250", 1246.0),
            )
        ),
        status=PacketStatus("waiting", "for a person's yes"),
        tool_routing=ToolRouting(
            needs_tool=True,
            candidates=(Candidate("code/read", 2.5, 0.91, ("words: show", "path")), Candidate("ping", 0.1, 0.02)),
            selected_tool=read,
            alternative_tools=(SelectedTool("code/search", {"pattern": "design"}, "might find it"),),
            review_approved=True,
            review_confidence=0.85,
            review_reasoning="The file is named.",
            confidence=0.88,
            evidence={"tool": 0.91, "margin": 0.4},
            execution_status="awaiting_approval",
            execution_result=ToolExecutionResult(True, {"lines": 3}, execution_time_ms=12, call=7),
            approval="3f9a1c2e",
            reinjection_count=1,
        ),
    )


def test_the_story_is_told_from_the_request_to_the_answer(packet: Any, store: PacketStore) -> None:
    made = told(replace(new_packet("", session="s1", caller="ada", tools=["code/read", "ping"])))
    store.save(made)
    done = packet("show", "last", columns=110)
    assert (done.code, done.err) == (0, "")
    told_without_digests = re.sub(r"\[redacted \w+\]", "[redacted …]", done.out)
    assert (
        told_without_digests
        == f"""\
request {made.header.packet_id}: waiting
  request          show me docs/design.md
                   please
  from             ada, session s1, 2026-01-01 12:00:00.000 UTC
  why              for a person's yes
  intent           a tool is needed (probability of a call 0.93)
                   scores: call 0.93
                   - `show` is a request
  tools            2 tools: code/read, ping
  candidates       code/read  0.91  words: show; path
                   ping       0.02
  chosen           code/read  {{"path": "docs/design.md", "token": "[redacted …]"}}
                   because: It names a file.
                   its own confidence: 0.90
  alternatives     code/search  {{"pattern": "design"}}: might find it
  review           approved, confidence 0.85
                   The file is named.
  confidence       0.88 reaches the threshold, which is 0.7 now
                   made of: tool 0.91, margin 0.40
  execution        awaiting approval, 1 of 3 reinjections
  approval         rightcall approvals show 3f9a1c2e --full
                   rightcall approvals approve 3f9a1c2e --digest HEX   with the digest that it shows; or: deny 3f9a1c2e
  to go on         rightcall ask --resume {made.header.packet_id} --as ada   once it is approved, or: yes
  result           success after 12 ms
                   {{"lines": 3}}
  answer           Here it is:
                   # Design
  steps            12:00:00.004  intent_detection   0.93       0.4 ms  A tool is needed.
                   12:00:01.250  tool_selection     0.90   1,246.0 ms  code/read with [redacted …]
  audit            there is none at ./.rightcall/audit.db yet
"""
    )


def test_what_is_not_there_is_not_told(packet: Any, store: PacketStore) -> None:
    made = new_packet("hello")
    store.save(made)
    out = packet("show", made.header.packet_id).out
    labels = [line[2:18].strip() for line in out.splitlines()[1:] if line[2:18].strip()]
    assert labels == ["request", "from", "execution", "to go on", "audit"]


@pytest.mark.parametrize(
    ("routing", "says"),
    [
        ({"confidence": 0.4}, "0.40 is below the threshold, which is 0.8 now"),
        ({"confidence": 0.8}, "0.80 reaches the threshold, which is 0.8 now"),
        ({"review_approved": False, "review_confidence": 0.5}, "not approved, confidence 0.50"),
        ({"review_reasoning": "no JSON came"}, "none that counts"),
    ],
)
def test_confidence_and_review_are_told_as_they_were(
    packet: Any, store: PacketStore, routing: dict[str, Any], says: str
) -> None:
    Path("rightcall.toml").write_text("[router]\nthreshold = 0.8\n")
    chosen = SelectedTool("ping")
    store.save(replace(new_packet("x"), tool_routing=ToolRouting(selected_tool=chosen, **routing)))
    assert says in packet("show", "last").out


def test_nothing_in_a_packet_can_harm_the_terminal(packet: Any, store: PacketStore) -> None:
    made = new_packet(EVIL, session=EVIL, caller=EVIL, tools=[EVIL])
    tool = SelectedTool(EVIL, {EVIL: EVIL}, EVIL)
    made = replace(
        made,
        content=Content(EVIL, answer=EVIL),
        intent=PacketIntent(EVIL, Intent("ask", 0.5, False, {EVIL: 1.0}, (EVIL,), (EVIL,))),
        reasoning=Reasoning((ReflectionLog(EVIL, EVIL, None, EVIL * 3),)),
        status=PacketStatus("failed", EVIL),
        tool_routing=ToolRouting(
            candidates=(Candidate(EVIL, 1, 1, (EVIL,)),),
            selected_tool=tool,
            alternative_tools=(tool,),
            review_reasoning=EVIL,
            evidence={EVIL: 1.0},
            execution_result=ToolExecutionResult(False, EVIL, EVIL),
            approval=f"x; rm {EVIL}",
        ),
    )
    store.save(made)
    for done in (packet("show", "last"), packet("show", "last", "--json"), packet("list"), packet("list", "--json")):
        assert done.code == 0
        assert not any(character in done.out for character in EVIL if not character.isprintable())
    assert "approvals show 'x; rm " in packet("show", "last").out
    store.save(replace(made, tool_routing=ToolRouting(selection_reasoning=EVIL)))
    none = packet("show", "last").out
    assert "  chosen           none\n                   because: " in none
    assert not any(character in none for character in EVIL if not character.isprintable())


def test_json_is_the_packet_itself(packet: Any, store: PacketStore) -> None:
    made = told(new_packet("x"))
    store.save(made)
    shown, saved = from_json(packet("show", "last", "--json").out.encode()), store.load(made.header.packet_id)
    assert (shown.header, shown.status, shown.intent) == (saved.header, saved.status, saved.intent)
    assert shown.tool_routing.execution_result == saved.tool_routing.execution_result


def test_no_way_of_looking_at_a_packet_that_waits_shows_its_secrets(packet: Any, store: PacketStore) -> None:
    secret = "sk-abcdefghijklmnopqrstuvwxyz1234567890ABCD"
    made = new_packet(f"use {secret} to search")
    store.save(replace(made, status=replace(made.status, state="waiting")))
    assert secret in store.load(made.header.packet_id).content.original_prompt  # it goes on from that
    for ways in (["list"], ["list", "--json"], ["show", "last"], ["show", "last", "--json"]):
        done = packet(*ways)
        assert (done.code, "to search" in done.out, secret[:12] in done.out) == (0, True, False), ways


def test_its_calls_stand_below_with_the_command_that_shows_each(
    packet: Any, store: PacketStore, tmp_path: Path
) -> None:
    made = replace(new_packet("x"), header=replace(new_packet("x").header, created="2026-01-01 11:00:00.000"))
    (tmp_path / ".rightcall").mkdir()
    with opened("sqlite", tmp_path / ".rightcall") as diary:
        write_calls(diary, made.header.packet_id)
    store.save(made)
    out = packet("show", "last").out
    assert "  audit            code/read  success         1.0 ms  rightcall audit show 1\n" in out
    assert "                   file/save  refused                 rightcall audit show 4\n" in out
    assert "audit show 3\n" not in out


def test_an_audit_that_cannot_be_read_does_not_hide_the_story(packet: Any, store: PacketStore) -> None:
    store.save(new_packet("hello there"))
    Path(".rightcall/audit.db").write_bytes(b"no database at all" * 100)
    done = packet("show", "last")
    assert done.code == 0
    assert "hello there" in done.out
    assert "  audit            " in done.out


def write_calls(diary: Diary, id: str) -> None:
    diary.ran(context=id)
    diary.refused(tool="other", context="another")
    diary.refused(tool="file/save", context=id)


def test_the_audit_names_the_packet_of_a_call(run: Runner, packet: Any, tmp_path: Path, store: PacketStore) -> None:
    made = new_packet("x")
    with opened("sqlite", tmp_path) as diary:
        write_calls(diary, made.header.packet_id)
    db = str(tmp_path / "audit.db")
    link = f"rightcall requests show {made.header.packet_id} --store {db}"
    assert f"  saved request    {link}\n" in run("audit", "show", "1", "--store", db).out
    assert "rightcall requests" not in run("audit", "show", "3", "--store", db).out
    tail = run("audit", "tail", "--store", db).out
    assert tail.endswith(f"\nrequest: {link}\n")
    assert tail.count("rightcall requests") == 1
    assert "rightcall requests" not in run("audit", "tail", "--json", "--store", db).out
    assert "rightcall requests" not in run("audit", "tail", "--context", "another", "--store", db).out


def test_packets_are_listed_with_state_and_request(packet: Any, store: PacketStore) -> None:
    first, second = told(new_packet("")), new_packet("broken")
    store.save(first)
    store.save(second)
    (Path(store.folder) / f"{second.header.packet_id}.json").write_bytes(b"{")
    out = packet("list").out.splitlines()
    assert out[0].split("  ")[0] == "id"
    assert second.header.packet_id in out[1]
    assert "damaged" in out[1]
    assert (
        f"{first.header.packet_id}  2026-01-01 12:00:00  waiting  awaiting approval  show me docs/design.md" in out[2]
    )
    listed = packet("list", "--json").json["packets"]
    assert [one["id"] for one in listed] == [second.header.packet_id, first.header.packet_id]
    assert "is damaged" in listed[0]["fault"]
    assert len(packet("list", "-n", "1").out.splitlines()) == 2


def test_without_packets_the_folder_is_named(packet: Any, store: PacketStore) -> None:
    assert packet("list").out == f"No request is saved in {store.folder}.\n"
    assert packet("list", "--json").json == {"packets": []}
    assert not os.path.exists(store.folder)


def test_they_lie_where_the_policys_audit_does(packet: Any, store: PacketStore) -> None:
    Path("rightcall.toml").write_text('[audit]\npath = "state/a.db"\n')
    made = new_packet("elsewhere")
    PacketStore(os.path.join("state", "packets")).save(made)
    assert "elsewhere" in packet("list").out
    assert "elsewhere" in packet("show", "last", "--store", "state/other.db").out


def test_a_packet_is_removed_by_the_beginning_of_its_id(packet: Any, store: PacketStore) -> None:
    made = new_packet("x")
    store.save(made)
    done = packet("remove", made.header.packet_id[:-2])
    assert (done.code, done.out) == (0, f"removed {made.header.packet_id}\n")
    assert store.ids() == []


def test_old_ones_are_pruned(packet: Any, store: PacketStore) -> None:
    old, young = new_packet("old"), new_packet("young")
    for made in (old, young):
        store.save(made)
    os.utime(Path(store.folder) / f"{old.header.packet_id}.json", (1, 1))
    assert packet("prune", "--older-than", "30d").out == "removed 1 request\n"
    assert store.ids() == [young.header.packet_id]


def test_those_that_wait_for_a_person_are_pruned_only_when_that_is_said(packet: Any, store: PacketStore) -> None:
    waits = new_packet("may I?")
    store.save(replace(waits, status=replace(waits.status, state="waiting")))
    kept = "removed 0 requests\nkept 1 request waiting for a person; `--all` removes these too\n"
    assert packet("prune", "--older-than", "0d").out == kept
    assert store.ids() == [waits.header.packet_id]
    assert packet("prune", "--older-than", "0d", "--all").out == "removed 1 request\n"
    assert store.ids() == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["show", "../../etc/passwd"], 'unknown request "../../etc/passwd" in '),
        (["show", "last"], "no saved requests in "),
        (["remove", "p1"], 'unknown request "p1" in '),
        (["prune"], "--older-than"),
        (["prune", "--older-than=-1d"], "invalid value '-1d' for `--older-than`: expected 30m, 12h, 30d or 4w"),
        (["prune", "--older-than", "soon"], "invalid value 'soon' for `--older-than`"),
        (["list", "-n", "x"], "invalid number of requests"),
        (["show", "last", "--policy", "absent.toml"], "absent.toml"),
        ([], "ACTION"),
    ],
)
def test_wrong_usage_ends_with_2_and_the_reason(packet: Any, arguments: list[str], says: str) -> None:
    done = packet(*arguments)
    assert (done.code, done.out) == (2, "")
    assert says in done.err
    assert "Traceback" not in done.err
