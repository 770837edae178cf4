"""Whatever way a secret takes through a call, it does not come into its records."""

import json
from pathlib import Path
from typing import Any

import pytest

from rightcall import Executor
from rightcall.record.memory import MemoryStore
from support.every import every

SECRET = "Zq8hunter2"
PIN = "12x45"
TOKEN = "sk-" + "abcdefghij0123456789abcdefghij"

CALLS: dict[str, Any] = {
    "the tool's error quotes it": {"name": "login", "arguments": {"user": "ann", "password": SECRET}},
    "in broken JSON": {"name": "login", "arguments": f"{{'user': ann, 'password': '{SECRET}'"},
    "under a misspelt name": {"name": "login", "arguments": {"user": "ann", "pasword": SECRET}},
    "of the wrong type": {"name": "login", "arguments": {"user": "ann", "password": SECRET, "pin": PIN}},
    "in a list": {"name": "login", "arguments": {"user": "ann", "password": [SECRET]}},
    "as a name": {"name": "login", "arguments": {"user": "ann", "password": SECRET, TOKEN: 1}},
    "of an unknown tool": {"name": "log_in_now", "arguments": {"password": SECRET, "note": TOKEN}},
    "many of them": {"name": "login", "arguments": {"user": 5, "password": [f"{SECRET} {n}" for n in range(100)]}},
    "as the tool": {"name": TOKEN, "arguments": {"user": "ann", "password": SECRET}},
    "as the tool, with nothing else": {"name": TOKEN, "arguments": "password=" + SECRET},
    "in a command line": {"name": "login", "arguments": {"user": f"ann --password {SECRET}", "password": ""}},
}


@pytest.mark.promise("A-02")
@every("how", CALLS)
def test_a_secret_is_not_recorded(how: str) -> None:
    store = MemoryStore()
    with Executor.open_sync(store=store) as ex:

        @ex.tool(effects=["read"])
        def login(user: str, password: str, pin: int = 0) -> str:
            """Log in."""
            raise ValueError(f"no entry for {user}: {password}, {pin}")

        ex.run(CALLS[how], caller="teacher")
        ex.run_all(f"I log in with {SECRET}: <tool_call>{json.dumps(CALLS[how])}</tool_call>", caller="teacher")
    bodies = store.look(lambda tables: [entry.body.decode() for entry in tables.entries()])
    assert sum('"caller":"teacher"' in body for body in bodies) == 2
    assert any("[redacted " in body for body in bodies)
    for body in bodies:
        assert SECRET not in body
        assert PIN not in body
        assert TOKEN not in body


@pytest.mark.promise("A-02")
def test_the_digest_of_a_call_with_a_secret_cannot_be_guessed_from_the_rest_of_it() -> None:
    from hashlib import sha256

    from rightcall.record.tables import read_call

    store = MemoryStore()
    with Executor.open_sync(store=store, policy={"policy": {"repeats": 0}}) as ex:

        @ex.tool(effects=["read"])
        def login(user: str, pin: int, password: str = "") -> str:
            return "hello"

        for password in ("", "1234", "1234"):
            ex.run({"name": "login", "arguments": {"user": "ann", "pin": 1, "password": password}})
        entries = store.look(lambda tables: list(tables.entries()))
    digests = [read_call(entry.body).digest for entry in entries if entry.kind == "begin"]
    guess = b'{"arguments":{"password":"1234","pin":1,"user":"ann"},"name":"login"}'
    assert sha256(guess).hexdigest() not in digests
    assert digests[1] == digests[2] != digests[0], "equal calls can still be recognised"


def recorded(store: MemoryStore) -> str:
    return "\n".join(entry.body.decode() for entry in store.look(lambda tables: list(tables.entries())))


@pytest.mark.promise("A-02")
def test_ids_of_the_host_that_hold_a_secret_are_hidden_and_still_group_the_records() -> None:
    store = MemoryStore()
    with Executor.open_sync(store=store) as ex:

        @ex.tool(effects=["read"])
        def look(at: str) -> str:
            return at

        for at in ("one", "two"):
            ex.run({"name": "look", "arguments": {"at": at}}, context=f"password={SECRET}", step=TOKEN)
        ex.note_message("default", f"password={SECRET}")
        ex.note_diagnosis("default", f"password={SECRET}", None)
    assert SECRET not in recorded(store)
    assert TOKEN not in recorded(store)
    bodies = [json.loads(line) for line in recorded(store).splitlines()]
    contexts = {body["context"] for body in bodies if "context" in body}
    noted = {body["data"]["context"] for body in bodies if body.get("what") in ("message", "diagnosis")}
    assert contexts == noted
    assert len(contexts) == 1
    assert len({body["step"] for body in bodies if "step" in body}) == 1


@pytest.mark.promise("A-02")
def test_the_reason_of_a_decision_quotes_no_secret(tmp_path: Path) -> None:
    store = MemoryStore()
    with Executor.open_sync(tmp_path, store=store) as ex:

        @ex.tool(effects=["read"], paths=["path"])
        def peek(path: str, password: str = "") -> str:
            return path

        outcome = ex.run({"name": "peek", "arguments": {"path": f"../{TOKEN}/{SECRET}.txt", "password": SECRET}})
    assert outcome.decision is not None
    assert outcome.decision.rule.startswith("path"), outcome.decision
    assert TOKEN not in recorded(store)
    assert SECRET not in recorded(store)


@pytest.mark.promise("A-02")
@every("before", range(140, 205, 5))
def test_a_secret_at_the_place_where_a_text_is_cut_is_hidden_before_the_cut(before: int) -> None:
    store = MemoryStore()
    key = "-----BEGIN PRIVATE KEY----- " + "QUJD " * (780 + before) + "-----END PRIVATE KEY----- "
    with Executor.open_sync(store=store) as ex:

        @ex.tool(effects=["read"])
        def login(text: str, password: str) -> str:
            return "x" * before + " " + text

        @ex.tool(effects=["read"])
        def fail(password: str) -> str:
            raise ValueError("x" * (1850 + before) + " " + password)

        call = {"name": "login", "arguments": {"text": TOKEN, "password": SECRET}}
        ex.run(call)
        ex.run({"name": "fail", "arguments": {"password": SECRET}})
        long = {"name": "login", "arguments": {"text": key * 2 + f"{SECRET} " * 2000, "password": SECRET}}
        ex.run_all(f"<tool_call>{json.dumps(long)}</tool_call>")
    assert TOKEN[:12] not in recorded(store)
    assert SECRET[:6] not in recorded(store)
    assert max(len(json.loads(line).get("summary", "")) for line in recorded(store).splitlines()) <= 200


@pytest.mark.promise("A-02", "P-06")
@pytest.mark.parametrize("said", ["approved", "denied"])
def test_nothing_of_a_secret_is_on_disk_once_its_approval_was_answered_and_used(said: Any, tmp_path: Path) -> None:
    policy = {"policy": {"allow": ["*"], "write": "ask", "execute": "ask"}}
    call = {"name": "send", "arguments": {"to": "ann", "password": SECRET * 500}}

    def holding() -> list[Path]:
        return [path for path in tmp_path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]

    with Executor.open_sync(tmp_path, policy, code=False) as ex:

        @ex.tool(effects=["write"], preview=lambda arguments: f"would send {arguments['password']}")
        def send(to: str, password: str) -> str:
            """Send."""
            return to

        assert ex.run(call, caller="teacher").status == "waiting"
        (question,) = ex.waiting()
        assert SECRET in question.details
        assert [path.parent.name for path in holding()] == ["audit.db-private"]
        ex.answer(question.id, said, by="anna", digest=question.digest)
        assert ex.run(call, caller="teacher").ok is (said == "approved")
        assert holding() == []
    assert holding() == []
