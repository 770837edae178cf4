"""The practice client fills a console that was just started: through the real proxy, under a name of its own."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from msgspec import json

from rightcall.doctor.practice import practice_app
from rightcall.doctor.traffic import _NOTE, ASKED, CALLER, MOST, PracticeClient, pause_after, publish_note
from rightcall.executor.executor import Executor
from rightcall.policy.watch import PolicyInForce
from rightcall.proxy.gates import Options
from rightcall.record.admission import Reply, answer
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import ManualClock, Store, SystemClock, Tables
from rightcall.server.access import Access, new_token
from rightcall.server.app import Parts, assemble, running
from rightcall.server.recording import Recording


class Site:
    """A proxy in front of the practice model, with an audit."""

    def __init__(self, store: Store, recording: Recording, root: Path, address: tuple[str, int]) -> None:
        self.store, self.recording, self.root, self.address = store, recording, root, address

    def ask(self, **options: Any) -> None:
        PracticeClient(self.store, str(self.root), **options).run(*self.address)

    def say(self, said: Literal["approved", "denied"]) -> float:
        """A person answers all that waits; no pause after that."""

        def work(tables: Tables) -> None:
            for one in tables.approvals("waiting"):
                answer(tables, one.id, Reply(said, "ann", one.digest), 600)

        self.store.transact(work)
        return 0.0

    def records(self, *kinds: str) -> list[dict[str, Any]]:
        self.recording.stop()
        found = self.store.look(lambda tables: [one for one in tables.entries() if one.kind in kinds])
        return [json.decode(one.body) for one in found]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    store = SqliteStore(str(tmp_path / "audit.db"), ManualClock(SystemClock().now(), time.time()))
    recording = Recording(store, owned=False)
    with running(practice_app()) as (host, port):
        access = Access(new_token(), bound_to="127.0.0.1", host_names=[], origins=[])
        service = assemble(f"http://{host}:{port}", PolicyInForce(None), Options(), access, Parts(recording))
        with running(service.app) as address:
            yield Site(store, recording, tmp_path, address)
    store.close()


def test_a_round_of_practice_shows_calls_repaired_lifted_refused_and_right_under_a_name_of_its_own(site: Site) -> None:
    site.ask(pause=lambda _: 0.0, most=len(ASKED))
    calls = site.records("proxied")
    assert {one["caller"] for one in calls} == {CALLER}
    assert {one["tool"] for one in calls} == {one.tool["function"]["name"] for one in ASKED}
    assert {"repaired", "lifted", "left", "right"} <= {one["rule"].removeprefix("proxy:") for one in calls}


def test_one_call_of_practice_waits_for_a_person_and_runs_once_after_a_yes(site: Site) -> None:
    site.ask(pause=lambda _: site.say("approved"), most=4)
    (question,) = site.store.look(lambda tables: tables.approvals())
    assert (question.caller, question.tool, question.status) == (CALLER, "publish_note", "used")
    assert [one["tool"] for one in site.records("begin")] == ["publish_note"]


def test_one_call_of_practice_is_refused_so_that_somebody_can_read_why(site: Site) -> None:
    site.ask(pause=lambda _: 0.0, most=1)
    (refused,) = site.records("refused")
    assert (refused["caller"], refused["tool"], refused["rule"]) == (CALLER, "run_script", "deny:execute")


def test_a_call_of_practice_that_is_denied_does_not_come_again(site: Site) -> None:
    site.ask(pause=lambda _: site.say("denied"), most=3)
    assert site.records("begin") == []
    assert len(site.records("waiting")) == 1


def test_a_call_of_practice_that_nobody_answered_asks_again_for_whoever_comes_later(site: Site) -> None:
    def nobody_comes(number: int) -> float:
        if number == 0:
            assert isinstance(site.store.clock, ManualClock)
            site.store.clock.advance(3600)
        return 0.0

    site.ask(pause=nobody_comes, most=3)
    assert [one.status for one in site.store.look(lambda tables: tables.approvals())] == ["expired", "waiting"]


def test_the_call_of_practice_says_nothing_that_the_page_contradicts() -> None:
    said = [str(publish_note.__doc__), str(_NOTE["arguments"]), publish_note("a", "b")]
    assert not [text for text in said if "changed" in text or "changes nothing" in text]
    assert "Approve once" in str(_NOTE["arguments"])  # as the button is called


def test_the_token_of_the_practice_client_is_gone_when_it_has_ended(site: Site) -> None:
    seen: list[str] = []

    def look(_: int) -> float:
        seen.extend(one.caller for one in site.store.look(lambda tables: tables.tokens()))
        return 0.0

    site.ask(pause=look, most=1)
    assert seen == [CALLER]
    assert site.store.look(lambda tables: tables.tokens()) == []


def test_practice_stops_with_a_word_where_the_proxy_does_not_answer(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    PracticeClient(site.store, str(site.root)).run("127.0.0.1", 9)
    assert "the practice client has stopped" in caplog.text


def test_practice_is_lively_for_a_minute_and_over_within_two_hours() -> None:
    pauses = [pause_after(number) for number in range(MOST)]
    assert sum(pauses[:35]) < 60
    assert sum(pauses) < 2 * 3600


def test_the_executor_of_practice_changes_nothing(tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    with Executor.open_sync(tmp_path, {"policy": {"write": "allow"}}, tools=[publish_note], store="memory") as ex:
        assert ex.run({"name": "publish_note", "arguments": {"title": "a", "text": "b"}}).ok
    assert sorted(tmp_path.iterdir()) == before
