"""The policy file of a running server: an edit holds from the next request on; a wrong one changes nothing."""

import logging
import os
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from rightcall.policy import watch as policy_watch
from rightcall.policy.watch import PolicyInForce
from rightcall.proxy.gates import Options
from rightcall.record.memory import MemoryStore
from rightcall.record.tables import Store
from rightcall.server import app
from rightcall.server.access import Access
from rightcall.server.recording import Facts, open_recording
from support.proxies import post, request, serving
from support.scripted.server import Answer, NativeCall, ScriptedUpstream
from support.wires.chat import TOOLS

pytestmark = pytest.mark.promise("P-09", "H-03")

OBSERVE = '[gate.hosts.proxy]\nmode = "observe"\n'
TIMES = iter(range(1_000_000_000, 2_000_000_000))


def write(file: Path, text: str) -> None:
    """As if some time ago: a file that has just been written counts as unfinished."""
    file.write_text(text)
    os.utime(file, times=(0, next(TIMES)))


def ask(address: str) -> str:
    body = {"model": "m", "messages": [{"role": "user", "content": "?"}], "tools": json.decode(TOOLS)}
    return post(address, "/v1/chat/completions", body).headers["x-rightcall"]


def calls_counted(address: str) -> int:
    found = re.findall(r"^rightcall_calls_total\{.*\} (\d+)$", request("GET", address, "/metrics").body.decode(), re.M)
    return sum(map(int, found))


def policy_notes(store: Store) -> list[Any]:
    entries = store.look(lambda tables: [entry.body for entry in tables.entries() if entry.kind == "policy"])
    return [json.decode(body) for body in entries]


def test_an_edit_holds_from_the_next_request_on_and_a_wrong_one_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(policy_watch, "INTERVAL", 0.0)
    file, store = tmp_path / "rightcall.toml", MemoryStore()
    write(file, "version = 1\n")
    policy = PolicyInForce(file)
    recording = open_recording(policy.current, file, store=store)
    access = Access(None, bound_to="127.0.0.1")
    with ScriptedUpstream() as upstream:
        upstream.play([Answer([NativeCall("weather", "{'city': 'Bern'}")])] * 5)
        service = app.assemble(upstream.address, policy, Options(), access, app.Parts(recording))
        with serving(service.app) as address:
            assert ask(address) == "repaired=1"
            write(file, OBSERVE + '[audit]\nredact = ["pet"]\n')
            assert ask(address) == "would-repair=1"
            assert recording.redactor.is_secret("pet")
            assert recording.policy == policy.current.digest
            for wrong in ("[gate", "", '[gate]\npacks = ["nobody"]\n'):
                write(file, wrong)
                with caplog.at_level(logging.WARNING):
                    assert ask(address) == "would-repair=1"
                assert "previous policy active" in caplog.text
                caplog.clear()
            told = json.decode(request("GET", address, "/health").body)
            assert "nobody" in told["policy"]["problem"]
            assert told["ready"] is True
            write(file, OBSERVE)
            assert "policy" not in json.decode(request("GET", address, "/health").body)
            assert calls_counted(address) == 5
    what = [note["what"] for note in policy_notes(store)]
    assert what == ["loaded", "loaded", "kept", "kept", "kept", "loaded"]
    assert len({note["data"]["digest"] for note in policy_notes(store)[1:-1]}) == 1
    assert "problem" in policy_notes(store)[-2]["data"]


def test_the_file_is_looked_at_once_in_the_interval(tmp_path: Path) -> None:
    file = tmp_path / "rightcall.toml"
    write(file, "version = 1\n")
    taken: list[Any] = []
    watch = policy_watch.PolicyWatch(PolicyInForce(file), taken.append, lambda *_: None, interval=1_000.0)
    write(file, OBSERVE)
    watch.look()
    assert taken == []
    watch._looked -= 1_000.0
    watch.look()
    watch.look()
    assert [policy.hosts["proxy"].mode for policy in taken] == ["observe"]


def test_what_goes_wrong_while_looking_reaches_no_answer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "rightcall.toml"
    write(file, "version = 1\n")

    def broken(_: Any) -> None:
        raise OSError("odd")

    watch = policy_watch.PolicyWatch(PolicyInForce(file), broken, lambda *_: None, interval=0.0)
    write(file, OBSERVE)
    watch.look()
    assert "cannot check the policy file" in caplog.text


def test_nothing_that_hears_of_a_request_can_break_its_answer(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Facts] = []

    def broken(_: Facts) -> None:
        raise OSError("the terminal has gone")

    app._tell([broken, heard.append], facts := Facts("passed", "local"))
    assert heard == [facts]
    assert "could not be counted" in caplog.text


def test_a_policy_file_that_was_added_after_the_start_is_told_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "rightcall.toml"
    policy = PolicyInForce(None, str(file))
    with caplog.at_level(logging.WARNING):
        assert policy.changed() is None
        assert caplog.text == ""
        file.write_text('[policy]\nwrite = "ask"\n')
        assert (policy.changed(), policy.changed()) == (None, None)
    assert caplog.text.count(f"a policy file was added at {file} after the start; restart to use it") == 1
    assert policy.current.source == "default policy"
