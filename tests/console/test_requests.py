"""Routed requests as stories in the console, without their secrets."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from console.test_pages import HOSTILE, harms
from rightcall.base.files.guarded import packets_folder
from rightcall.record.sqlite import SqliteStore
from rightcall.router.packet import (
    Candidate,
    Intent,
    PacketIntent,
    PacketStatus,
    Reasoning,
    ReflectionLog,
    SelectedTool,
    ToolExecutionResult,
    ToolRouting,
)
from rightcall.router.packets import PacketStore, new_packet
from support.consoles import Browser, opened, session

pytestmark = pytest.mark.promise("H-09")


class World:
    def __init__(self, folder: Path, store: SqliteStore, browser: Browser) -> None:
        self.browser = browser
        self.packets = PacketStore(packets_folder(str(folder / "audit.db")))
        self.store = store

    def save(self, words: str = "What is the weather?", state: Any = "answered", **routing: Any) -> str:
        made = new_packet(words, caller="ada", tools=["weather"])
        chosen = SelectedTool("weather", {"city": words, "api_key": "sk-1234567890abcdef"}, words, 0.9)
        given: dict[str, Any] = {
            "candidates": (Candidate("weather", 2.0, 0.93, (words,)),), "selected_tool": chosen,
            "review_approved": True, "review_reasoning": words, "confidence": 0.95, "execution_status": "executed",
            "execution_result": ToolExecutionResult(True, {"forecast": words}, None, 340),
        } | routing  # fmt: skip
        packet = replace(
            made,
            intent=PacketIntent("tool_routing", Intent("call", 0.97, why=(words,))),
            tool_routing=ToolRouting(**given),
            status=PacketStatus(state, words),
            reasoning=Reasoning((ReflectionLog("tool_selection", words, 0.9, "2026-01-01 12:00:00.000", 812.0),)),
        )
        self.packets.save(packet)
        return packet.header.packet_id


@pytest.fixture
def world(tmp_path: Path) -> Generator[World]:
    store = SqliteStore(tmp_path / "audit.db")
    with opened(store) as address:
        yield World(tmp_path, store, Browser(address, session(store, "ann")))
    store.close()


def test_an_empty_list_says_what_to_do(world: World) -> None:
    assert "rightcall ask --route" in world.browser.get("/requests").text


def test_a_request_is_told_from_what_was_asked_to_what_came_of_it(world: World) -> None:
    found = world.save()
    listed = world.browser.get("/requests").text
    assert "What is the weather?" in listed
    assert f'href="/requests/{found}"' in listed
    page = world.browser.get(f"/requests/{found}").text
    for part in ("A tool is needed", "93 %", "weather", "Approved", "95 %", "success", "812 ms", "tool selection"):
        assert part in page, part
    assert "sk-1234567890abcdef" not in page
    none = world.save(selected_tool=None, selection_reasoning="Which <b>city</b>?", execution_result=None)
    assert "<p>Which &lt;b&gt;city&lt;/b&gt;?</p>" in world.browser.get(f"/requests/{none}").text


def test_one_that_waits_leads_to_its_approval_and_says_how_it_goes_on(world: World) -> None:
    found = world.save(
        state="waiting", execution_status="awaiting_approval", approval="a1b2c3d4", execution_result=None
    )
    page = world.browser.get(f"/requests/{found}").text
    assert 'href="/inbox/a1b2c3d4"' in page
    assert f"rightcall ask --resume {found}" in page
    assert found in world.browser.get("/requests?state=waiting").text
    assert found not in world.browser.get("/requests?state=failed").text


def test_older_requests_come_page_by_page(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rightcall.console.pages.requests.LIMIT", 2)
    ids = sorted((world.save() for _ in range(5)), reverse=True)
    first = world.browser.get("/requests").text
    assert all(one in first for one in ids[:2])
    assert ids[2] not in first
    assert f"before={ids[1]}" in first
    second = world.browser.get(f"/requests?before={ids[1]}").text
    assert ids[2] in second
    assert ids[0] not in second


@pytest.mark.parametrize("found", ["nothing", "..%2f..%2faudit.db", "p" + "0" * 16])
def test_an_unknown_request_is_not_found(world: World, found: str) -> None:
    assert world.browser.get(f"/requests/{found}").status == 404


def test_hostile_words_are_text(world: World) -> None:
    ids = [world.save(words) for words in HOSTILE]
    for path in ("/requests", *(f"/requests/{found}" for found in ids)):
        assert harms(world.browser.get(path)) == [], path
