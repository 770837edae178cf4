"""The audit in the console: records are found by a filter that stands in the address, verified while one looks on, and
exported whole in the format of the command line (A-03)."""

import csv
import io
import json
import re
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rightcall.cli import main
from rightcall.console.pages import audit
from rightcall.record.export import COLUMNS, RecordFilter, exported, page_of_records
from rightcall.record.memory import MemoryStore
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import ManualClock
from rightcall.record.verify import anchor_text, newest_fit
from support.consoles import Browser, opened, session
from support.stores import Diary, tamper

pytestmark = pytest.mark.promise("H-09")


@pytest.fixture
def diary(store: MemoryStore, clock: ManualClock) -> Diary:
    return Diary(store, clock)


def shown(text: str) -> list[int]:

    return [int(number) for number in re.findall(r'<tr data-id="(\d+)"', text)]


def test_records_of_every_kind_are_listed_newest_first_and_lead_to_their_page(ann: Browser, diary: Diary) -> None:
    call = diary.ran("teacher", "code/read")
    numbers = shown(ann.get("/audit").text)
    assert numbers[:2] == [call + 1, call]
    assert numbers == sorted(numbers, reverse=True)
    page = ann.get("/audit?caller=teacher").text
    assert shown(page) == [call + 1, call], "the end of a call is found with it"
    assert f'href="/calls/{call}"' in page


@pytest.mark.parametrize(
    ("query", "which"),
    [("kind=refused", [1]), ("tool=web/fetch", [1]), ("rule=allowlist", [1]), ("text=WEB/FE", [1]), ("kind=end", [])],
)
def test_a_filter_in_the_address_finds_what_fits(ann: Browser, diary: Diary, query: str, which: list[int]) -> None:
    number = diary.refused("ada", "web/fetch", "allowlist")
    assert shown(ann.get(f"/audit?{query}").text) == [number for _ in which]


def test_older_records_come_page_by_page_and_none_is_lost(store: MemoryStore, diary: Diary) -> None:
    for _ in range(70):
        diary.ran()

    def pages(tables: Any) -> list[int]:
        found: list[int] = []
        before = None
        while True:
            page = page_of_records(tables, before=before, limit=9)
            found += [one.seq for one in page.records]
            before = page.before
            if before is None:
                return found

    head = store.look(lambda tables: tables.head()[0])
    assert store.look(pages) == list(range(head, 0, -1))


def test_a_time_narrows_it_at_both_ends(store: MemoryStore, diary: Diary) -> None:
    times: list[str] = []
    for _ in range(10):
        diary.clock.advance(60)
        times.append(diary.now)
        diary.refused()
    wanted = RecordFilter(since=times[3], until=times[6])
    numbers = store.look(lambda tables: [one.seq for one in page_of_records(tables, wanted).records])
    assert numbers == [6, 5, 4]
    assert store.look(lambda tables: [one.seq for one, _ in exported(tables, wanted)]) == [4, 5, 6]


def test_an_export_has_all_that_is_filtered_and_not_the_page(ann: Browser, diary: Diary) -> None:
    for _ in range(60):
        diary.refused("ada", "code/read")
        diary.refused("eve", "code/read")
    answer = ann.get("/audit/export?caller=ada&format=jsonl")
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert len(lines) == 60
    assert {json.loads(line["body"])["caller"] for line in lines} == {"ada"}
    assert "attachment" in answer.headers["content-disposition"]
    whole = [json.loads(line) for line in ann.get("/audit/export").text.splitlines()]
    assert all(one["hash"] == other["prev"] for one, other in pairwise(whole))
    assert ann.get("/audit/export?format=exe").status == 400


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r"])
def test_no_cell_of_an_export_is_a_formula(ann: Browser, diary: Diary, sign: str) -> None:
    diary.refused(f"{sign}cmd|' /C calc'!A1", f"{sign}tool", f"{sign}rule")
    header, *rows = csv.reader(io.StringIO(ann.get("/audit/export?format=csv&kind=refused").text))
    assert header == list(COLUMNS)
    assert not [one for row in rows for one in row if one.startswith(("=", "+", "-", "@", "\t", "\r"))]


@pytest.mark.promise("A-03")
def test_a_verification_says_whether_all_is_as_it_was_written(ann: Browser, store: MemoryStore, diary: Diary) -> None:
    diary.ran()
    anchor = anchor_text(store.look(lambda tables: tables.head()))
    page = ann.get(f"/audit/verify?anchor={anchor}")
    assert page.status == 200
    assert "Intact: " in page.text
    assert "is missing or was replaced" in page.text
    assert "<!--" not in page.text
    later = ann.get(f"/audit/verify?anchor=99:{'0' * 64}").text
    assert "not as it was written" in later
    assert ann.get("/audit/verify?anchor=nonsense").status == 400


def headline(person: Browser) -> str:
    """What the audit says first of all, in its own words."""
    found = re.search(r'<h2 id="chain">(.*?)</h2>', person.get("/audit").text)
    assert found
    return " ".join(unescape(re.sub(r"<[^>]+>", "", found[1])).split())


@pytest.mark.promise("A-03")
def test_a_changed_record_is_found_and_named(tmp_path: Path) -> None:
    file = tmp_path / "audit.db"
    store = SqliteStore(file)
    diary = Diary(store, ManualClock())
    for _ in range(4):
        diary.refused()
    store.close()
    tamper(file, "UPDATE audit SET body = replace(body, 'ada', 'eve') WHERE seq = 3")
    store = SqliteStore(file)
    try:
        with opened(store) as address:
            ann = Browser(address, session(store, "ann"))
            assert headline(ann) == "Not intact: record 3 is not as it was written"
            assert "Check whether all are as they were written" in ann.get("/").text
            found = ann.get("/audit/verify").text
            assert "record 3 does not fit its hash" in found
            told = r'<a href="/audit">No: a record was changed or removed</a> <small>verified <time'
            assert re.search(told, ann.get("/").text)
            assert 'href="/calls/3"' in found
    finally:
        store.close()


def test_a_verification_tells_how_far_it_is(ann: Browser, diary: Diary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rightcall.record.verify.EVERY", 2)
    for _ in range(5):
        diary.refused()
    page = ann.get("/audit/verify").text
    assert page.count("<progress") >= 2
    assert page.rindex("<progress") < page.index("Intact: ")


def test_the_newest_records_are_checked_at_a_glance(store: MemoryStore, diary: Diary) -> None:
    assert store.look(lambda tables: newest_fit(tables, 10)) == (0, None)
    for _ in range(3):
        diary.refused()
    assert store.look(lambda tables: newest_fit(tables, 10)) == (3, None)
    assert store.look(lambda tables: newest_fit(tables, 2)) == (2, None)


@pytest.mark.promise("A-03")
def test_a_first_record_that_was_changed_is_found_at_a_glance(tmp_path: Path) -> None:
    file = tmp_path / "audit.db"
    store = SqliteStore(file)
    Diary(store, ManualClock()).refused()
    store.close()
    tamper(file, "UPDATE audit SET body = replace(body, 'ada', 'eve') WHERE seq = 1")
    store = SqliteStore(file)
    try:
        assert store.look(lambda tables: newest_fit(tables, 10)) == (0, 1)
    finally:
        store.close()


@pytest.mark.promise("A-03")
def test_the_headline_says_in_one_sentence_what_was_checked_and_when(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "audit.db"
    store = SqliteStore(file)
    diary = Diary(store, ManualClock())
    try:
        with opened(store) as address:
            ann = Browser(address, session(store, "ann"))
            for _ in range(6):
                diary.refused()
            head = store.look(lambda tables: tables.head())[0]
            assert headline(ann) == f"Intact: all {head} records are as they were written, checked just now"
            monkeypatch.setattr(audit, "_QUICK", 2)
            assert headline(ann) == (
                f"Not all checked: the newest 2 records are intact, but {head - 2} older ones were never verified"
            )
            assert main(["audit", "verify", "--store", str(file)]) == 0
            diary.refused()
            told = headline(ann)
            assert told.startswith(
                f"Intact: all {head + 1} records are as they were written, the newest 2 checked just"
            )
            assert re.search(r"now, the older ones [\d-]+ [\d:]+ UTC$", told)
            for _ in range(2):
                diary.refused()
            assert headline(ann).endswith("the newest 2 records are intact, but 1 older one was never verified")
            tamper(file, "UPDATE audit SET body = replace(body, 'ada', 'eve') WHERE seq = 6")
            assert main(["audit", "verify", "--store", str(file)]) == 1
            assert re.match("Not intact: the verification .* found a record that is not as it was", headline(ann))
    finally:
        store.close()


@pytest.mark.promise("A-03")
def test_overview_says_when_the_chain_was_last_verified_by_whomever(tmp_path: Path) -> None:
    file = tmp_path / "audit.db"
    store = SqliteStore(file)
    try:
        Diary(store, ManualClock()).refused()
        with opened(store) as address:
            ann = Browser(address, session(store, "ann"))
            assert "Check whether all are as they were written" in ann.get("/").text
            head = store.look(lambda tables: tables.head())[0]
            assert main(["audit", "verify", "--store", str(file)]) == 0
            page = ann.get("/").text
            assert re.search(rf">Yes, up to record {head}</a> <small>verified <time datetime=", page)
            ann.get(f"/audit/verify?anchor={head}:{'0' * 64}")
            assert ">Yes, up to record" in ann.get("/").text, "a wrong anchor says nothing of the records"
    finally:
        store.close()
