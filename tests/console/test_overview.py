"""The first page and its figures: each says plainly what happened, and leads to just the calls that it counts."""

import os
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from rightcall.cli.console import in_force
from rightcall.console.app import Console, console_running
from rightcall.policy.settings import DEFAULT_POLICY, ConsoleSettings
from rightcall.policy.watch import PolicyInForce, load_policy
from rightcall.record.memory import MemoryStore
from rightcall.record.tables import CallBody, ManualClock, encode
from support.approvals import request_of, try_call
from support.cli import write_trusted
from support.consoles import Browser, session
from support.stores import Diary

pytestmark = pytest.mark.promise("H-09")

FIGURE = re.compile(r'<a class="figure[^"]*" href="([^"]+)"><b>([\d,]+)</b><span>([^<]+)</span>')
CHANGE = {"path": "days", "rule": "alias", "strategy": "rules", "before": "3", "after": 3}


def passed(store: MemoryStore, fate: str, **more: Any) -> int:
    body = CallBody("proxy", "weather", {"days": 3}, "ab" * 32, "passed", f"proxy:{fate}", **more)
    return store.transact(lambda tables: tables.append("proxied", 0, encode(body)))


def fill(store: MemoryStore, clock: ManualClock) -> None:
    """Some of every kind a day and more ago, and some now."""
    diary = Diary(store, clock)
    for _ in range(2):
        diary.ran()
        diary.failed(error="timed out")
        diary.refused(rule="path:outside")
        diary.refused(rule="validation", strategy="failed")
        try_call(store, request_of(at=clock.now()))
        passed(store, "right")
        passed(store, "lifted", origin="text")
        passed(store, "repaired", strategy="rules", repairs=(CHANGE,))
        passed(store, "left", strategy="failed", problems=({"code": "missing", "message": "city is missing"},))
        clock.advance(30 * 3600)
    clock.advance(-30 * 3600)


def followed(ann: Browser, link: str) -> int:
    """How many calls the page behind a link says that it shows, and shows."""
    page = ann.get(unescape(link)).text
    found = re.search(r'id="count">(\d+) calls?(?: and (\d+) questions?)?', page)
    assert found, link
    assert page.count('<li class="call"') == int(found[1]) + int(found[2] or 0)
    return int(found[1])


@pytest.mark.parametrize(
    "path",
    ["/?period={}", "/analytics?period={}", "/tools/one?name=weather&period={}", "/tools/one?name=code/read&period={}"],
)
@pytest.mark.parametrize("period", ["1hour", "1day", "1week"])
def test_every_figure_leads_to_the_calls_that_it_counts(
    ann: Browser, store: MemoryStore, clock: ManualClock, path: str, period: str
) -> None:
    fill(store, clock)
    page = ann.get(path.format(period)).text
    figures = {told: (link, int(count)) for link, count, told in FIGURE.findall(page)}
    assert figures["calls"][1] > 0
    assert {told: followed(ann, link) for told, (link, _) in figures.items()} == {
        told: count for told, (_, count) in figures.items()
    }


@pytest.mark.parametrize("path", ["/", "/analytics", "/analytics?by=caller", "/tools", "/policy"])
def test_every_count_of_a_table_leads_to_the_calls_that_it_counts(
    ann: Browser, store: MemoryStore, clock: ManualClock, path: str
) -> None:
    fill(store, clock)
    page = ann.get(path).text
    links = re.findall(r'<td class="num"[^>]*><a href="(/live[^"]+)">(\d+)</a>', page)
    ranked = r'<a href="(/live[^"]+)">[^<]+</a></th><td class="bar">.*?<td class="num">(\d+)</td>'
    links += re.findall(ranked, page, re.S)
    links += re.findall(
        r'<a href="(/live[^"]+rule=[^"]+)">[^<]+</a></th><td class="num"[^>]*>0</td><td class="num"[^>]*>(\d+)', page
    )
    assert links
    assert {link: followed(ann, link) for link, _ in links} == {link: int(count) for link, count in links}
    assert not [link for link in re.findall(r'href="(/live\?[^"]+)"', page) if "period=" not in link]


def test_the_latest_calls_say_when_who_what_and_what_became_of_it(
    ann: Browser, store: MemoryStore, clock: ManualClock
) -> None:
    diary = Diary(store, clock)
    right = diary.ran(time=12.0)
    repaired = passed(store, "repaired", strategy="rules", repairs=(CHANGE,))
    watched = passed(store, "would-repair", strategy="rules", repairs=(CHANGE,))
    left = passed(store, "left", strategy="failed", reason="Missing required fields: city.")
    refused = diary.refused(rule="path:outside", reason="No such file")
    try_call(store, request_of(at=clock.now()))
    asked = store.look(lambda tables: tables.head()[0])
    page = ann.get("/").text.partition('<ol class="recent">')[2].partition("</ol>")[0]
    rows = {
        int(number): re.sub(r"\s*<[^>]+>\s*", "|", row).strip("|").split("|")
        for number, row in re.findall(r'<a href="/calls/(\d+)">(.*?)</a>', page)
    }
    told = {number: [part for part in row[1:] if part] for number, row in rows.items()}
    assert told == {
        asked: ["asked", "file/save", "teacher", "waits for a person"],
        refused: ["refused", "code/read", "ada", "No such file"],
        left: ["not repaired", "weather", "proxy", "sent to its client unchanged"],
        watched: ["would be repaired", "weather", "proxy", "sent to its client"],
        repaired: ["repaired", "weather", "proxy", "sent to its client"],
        right: ["right as written", "code/read", "ada", "ran in 12 ms"],
    }


def test_the_tool_that_fails_most_is_named_first_and_its_page_says_why(ann: Browser, store: MemoryStore) -> None:
    diary = Diary(store)
    for _ in range(3):
        diary.failed(tool="web/fetch", error="timed out")
    diary.refused(tool="code/read", rule="path:outside", reason="No such file")
    last = diary.failed(tool="web/fetch", error="no route")
    diary.ran(tool="ping")
    wrong = ann.get("/").text.partition("Where calls go wrong")[2].partition("</section>")[0]
    names = re.findall(r'<th scope="row"><a href="([^"]+)">([^<]+)</a>', wrong)
    assert [name for _, name in names] == ["web/fetch", "code/read"]
    why = ann.get(unescape(names[0][0])).text.partition("Why its calls go wrong")[2].partition("</section>")[0]
    reasons = re.findall(r'<td class="num">(\d+)</td>.*?</i>(\w+)</span></td><td>([^<]+)</td>', why)
    assert reasons == [("3", "failed", "timed out"), ("1", "failed", "no route")]
    assert f'href="/calls/{last}"' in why


def test_a_call_says_first_what_became_of_it(ann: Browser, store: MemoryStore, clock: ManualClock) -> None:
    diary = Diary(store, clock)
    calls = {
        diary.ran(time=12.0): "It was right as written. It ran in 12 ms.",
        diary.failed(error="timed out"): "It ran and failed. timed out",
        diary.refused(reason="No such file"): "Refused: it did not run. No such file Rule allowlist",
        passed(store, "repaired", strategy="rules", repairs=(CHANGE,)): (
            "It was repaired: 1 change. The model's client runs it."
        ),
        passed(store, "left", strategy="failed", problems=({"code": "missing", "message": "city is missing"},)): (
            "It could not be repaired. city is missing. The model's client runs it."
        ),
    }
    try_call(store, request_of(at=clock.now()))
    calls[store.look(lambda tables: tables.head()[0])] = "It waits for a person. Answer it"
    for number, told in calls.items():
        page = ann.get(f"/calls/{number}").text.partition('<p class="gist')[2].partition("</p>")[0]
        assert " ".join(unescape(re.sub(r"<[^>]+>", " ", page.partition(">")[2])).split()) == told


@pytest.mark.parametrize(
    ("fate", "more", "told"),
    [
        ("repaired", {"strategy": "rules", "repairs": (CHANGE,)}, "RightCall repaired and recorded it."),
        ("right", {}, "RightCall recorded it."),
        ("lifted", {"origin": "text"}, "RightCall took it out of the text and recorded it."),
        ("left", {"strategy": "failed"}, "RightCall could not repair it, and recorded it."),
        ("would-repair", {"strategy": "rules"}, "RightCall only recorded it, since it observes."),
    ],
)
def test_a_call_through_the_proxy_says_who_runs_it_and_what_rightcall_did(
    ann: Browser, store: MemoryStore, fate: str, more: dict[str, Any], told: str
) -> None:
    page = unescape(ann.get(f"/calls/{passed(store, fate, **more)}").text)
    assert f"The model's client runs this call; {told}" in page
    assert "does not run it" not in page


ADDED = '[callers.teacher]\ndeny = ["code/read"]\n'
READ = {"caller": "teacher", "tool": "code/read"}


def words(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", "", page)).split())


def test_a_policy_file_that_was_made_after_the_start_is_told_of_and_explained_beside_the_defaults(
    store: MemoryStore, tmp_path: Path
) -> None:
    file = tmp_path / "rightcall.toml"
    with console_running(Console(store, lambda: DEFAULT_POLICY, str(tmp_path)), ConsoleSettings(port=0)) as address:
        ann = Browser(address, session(store, "ann"))
        assert not [path for path in ("/", "/policy") if "after the start" in ann.get(path).text]
        assert "code/read, called by teacher, would run." in words(ann.post("/policy", READ).text)
        file.write_text(ADDED)
        for path in ("/", "/policy"):
            told = words(ann.get(path).text)
            assert f"A policy file was added at {file} after the start. Restart to use it" in told
            assert "No policy file" not in told
        shown = words(ann.get("/policy").text)
        assert "The file from the next start on" in shown
        assert "[callers.teacher]" in shown
        told = words(ann.post("/policy", READ).text)
        assert "would run until the restart, by the defaults. With the added file, it would be refused" in told
        assert "(rule caller:deny)." in told
        file.write_text("[callers.teacher\n")
        for path in ("/", "/policy"):
            told = words(ann.get(path).text)
            assert f"A policy file was added at {file}, but it cannot be used: " in told
            assert "No policy file" not in told
        assert "code/read, called by teacher, would run." in words(ann.post("/policy", READ).text)
    file.write_text(ADDED)
    policy = load_policy(file)
    with console_running(Console(store, lambda: policy, str(tmp_path)), ConsoleSettings(port=0)) as address:
        assert "after the start" not in Browser(address, session(store, "eve")).get("/").text


def test_a_console_without_a_server_takes_a_policy_file_that_is_added(store: MemoryStore, tmp_path: Path) -> None:
    file = tmp_path / "rightcall.toml"
    policy = in_force(PolicyInForce(None, str(file), adopts=True))
    with console_running(Console(store, policy, str(tmp_path)), ConsoleSettings(port=0)) as address:
        ann = Browser(address, session(store, "ann"))
        assert "would run." in words(ann.post("/policy", READ).text)
        file.write_text(ADDED)
        os.utime(file, times=(0, 1_000_000_000))
        told = words(ann.post("/policy", READ).text)
        assert "code/read, called by teacher, would be refused." in told
        assert str(file) in told
        assert "after the start" not in told
        write_trusted(file, ADDED.replace("deny", "allow"))
        os.utime(file, times=(0, 1_000_000_001))
        assert "would run." in words(ann.post("/policy", READ).text)


def test_practice_says_what_to_press(store: MemoryStore, clock: ManualClock) -> None:
    which = try_call(store, request_of(at=clock.now())).decision.approval
    console = Console(store, lambda: DEFAULT_POLICY, state=lambda: {"practice": True})
    with console_running(console, ConsoleSettings(port=0)) as address:
        page = Browser(address, session(store, "ann")).get("/").text
    assert f'<a href="/inbox/{which}">Open the call that waits</a> and press <b>Approve once</b>' in page
    with console_running(Console(store, lambda: DEFAULT_POLICY), ConsoleSettings(port=0)) as address:
        assert "This is practice" not in Browser(address, session(store, "eve")).get("/").text
