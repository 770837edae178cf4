"""Calls that ask, built by hand: requests as the executor makes them, a store whose clock stands still, a person."""

import json
import sys
from hashlib import sha256
from typing import Any

from rightcall.policy.decide import decide
from rightcall.policy.settings import Asking, Settings
from rightcall.policy.types import Approval, Request, rights_of
from rightcall.record.admission import Admission, ApprovalQuestion, Reply, admit, answer
from rightcall.record.memory import MemoryStore
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import CallBody, ManualClock, Store
from rightcall.types import Effect

SETTINGS = Settings(stage="full", allow=("*",), write="ask", execute="ask", approval=Asking(expires=600))
PERSON = "anna"
START = 10**15


def canonical(tool: str, arguments: dict[str, Any]) -> bytes:
    return json.dumps(
        {"arguments": arguments, "name": tool}, sort_keys=True, ensure_ascii=False, separators=(",", ":")
    ).encode("utf-8", "surrogatepass")


def digest(raw: bytes) -> str:
    return sha256(raw).hexdigest()


def request_of(
    arguments: dict[str, Any] | None = None, *, tool: str = "file/save", caller: str = "teacher", at: int = START,
    definition: str = "d" * 64, state: str = "s", effects: tuple[Effect, ...] = ("write",),
    settings: Settings = SETTINGS, **more: Any,
) -> Request:  # fmt: skip
    given = {"path": "docs/a.md", "content": "hello"} if arguments is None else arguments
    raw = canonical(tool, given)
    return Request(
        caller=caller, tool=tool, arguments=json.loads(raw)["arguments"], canonical=raw, digest=digest(raw),
        definition=definition, effects=frozenset(effects), rights=rights_of(settings, caller), at=at, state=state,
        **more,
    )  # fmt: skip


def try_call(store: Store, request: Request, described: str = "{}", details: str = "{}") -> Admission:
    """What the executor does with a request: decide and record, in one transaction."""
    body = CallBody(
        request.caller, request.tool, dict(request.arguments), request.digest, "deny", "", context=request.context
    )
    return store.transact(lambda tables: admit(tables, request, decide, body, ApprovalQuestion(details, described)))


def say(
    store: Store, id: str, said: Any = "approved", *, by: str = PERSON, digest: str | None = None,
    callers: tuple[str, ...] = (), reason: str = "", expires: int = 600, takes_back: bool = False,
) -> Approval:  # fmt: skip
    shown = store.look(lambda tables: tables.approval(id))
    seen = digest if digest is not None else shown.digest if shown else "0" * 64
    reply = Reply(said, by, seen, reason, str, takes_back=takes_back)
    return store.transact(lambda tables: answer(tables, id, reply, expires, callers))


class Desk:
    """A store in memory with a clock that is moved by hand, a caller who asks and a person who answers."""

    def __init__(self, store: Store | None = None) -> None:
        self.clock = ManualClock(START)
        self.store: Store = store if store is not None else MemoryStore(self.clock)

    @property
    def now(self) -> int:
        return self.store.clock.now()

    def request(self, arguments: dict[str, Any] | None = None, **more: Any) -> Request:
        return request_of(arguments, at=self.now, **more)

    def try_(
        self, arguments: dict[str, Any] | None = None, *, described: str = "{}", details: str = "{}", **more: Any
    ) -> Admission:
        return try_call(self.store, self.request(arguments, **more), described, details)

    def ask(self, arguments: dict[str, Any] | None = None, **more: Any) -> str:
        """The id of the question that a call raises."""
        decision = self.try_(arguments, **more).decision
        assert decision.kind == "ask", decision
        assert decision.approval is not None
        return decision.approval

    def approved(self, arguments: dict[str, Any] | None = None, **more: Any) -> str:
        """The id of an approval that a person has given."""
        asked = self.ask(arguments, **more)
        say(self.store, asked)
        return asked

    def ran(self) -> int:
        """How many calls were let through."""
        return self.store.look(lambda tables: sum(entry.kind == "begin" for entry in tables.entries()))


def approval_of(
    arguments: dict[str, Any] | None = None, *, tool: str = "file/save", caller: str = "teacher", kind: Any = "call",
    text: str | None = None, details: Any = None, **more: Any,
) -> Approval:  # fmt: skip
    """A question as the store keeps it."""
    given = {"path": "docs/a.md", "content": "hello"} if arguments is None else arguments
    raw = text if text is not None else canonical(tool, given).decode("utf-8", "surrogatepass")
    fields: dict[str, Any] = {
        "id": "3f9a1c2e", "kind": kind, "caller": caller, "tool": tool, "canonical": raw,
        "digest": digest(raw.encode("utf-8", "surrogatepass")), "binding": "b", "definition": "d", "state": "9f2c4d0e",
        "why": "approval:write: 'file/save' can write. A person must approve this call first",
        "details": json.dumps({} if details is None else details), "asked_at": START,
        "asked": "2026-01-01 00:00:00.000", "expires_at": START + 600 * 10**9,
    }  # fmt: skip
    return Approval(**(fields | more))


class Discreet(Desk):
    """Its records hold nothing of a call, as those of an executor hold none of its secrets."""

    def try_(self, arguments: dict[str, Any] | None = None, *, described: str = "{}", **more: Any) -> Admission:
        details = more.pop("details", "{}")
        request = self.request(arguments, **more)
        body = CallBody(request.caller, request.tool, {}, request.digest, "deny", "")
        return self.store.transact(
            lambda tables: admit(tables, request, decide, body, ApprovalQuestion(details, described))
        )


def main(path: str, count: int) -> None:
    store = SqliteStore(path)
    print("ready", flush=True)  # noqa: T201
    sys.stdin.readline()
    decisions = [try_call(store, request_of({"n": n}, at=store.clock.now())).decision for n in range(count)]
    store.close()
    print(sum(one.kind == "allow" for one in decisions))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
