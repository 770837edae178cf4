"""Whatever way a secret takes through a call, it does not come into its records."""

import json
from typing import Any

import pytest

from rightcall import Executor
from rightcall.record.memory import MemoryStore

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
    "in a command line": {"name": "login", "arguments": {"user": f"ann --password {SECRET}", "password": ""}},
}


@pytest.mark.promise("A-02")
@pytest.mark.parametrize("how", CALLS)
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

    from rightcall.record.entries import read_call

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
