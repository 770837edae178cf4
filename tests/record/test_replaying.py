"""A record holds every input of its decision: a long and mixed history is decided again, call by call, with the same
outcome (the record half of L-01)."""

import random
from collections import Counter
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rightcall import Executor, MemoryStore, tool
from rightcall.base.secrets import Redactor
from rightcall.executor.calls import Who, Written, call_body, hush_reasons
from rightcall.executor.door import Door
from rightcall.executor.guesses import decided
from rightcall.executor.request import canonical
from rightcall.executor.toolbox import Way
from rightcall.policy.types import SECOND, Grant, Request, Rights, rights_of
from rightcall.record.admission import (
    Admission,
    ApprovalQuestion,
    Reply,
    admit,
    answer,
    finish,
    give_grant,
    pause,
    release_all,
    resume,
    revoke_grant,
)
from rightcall.record.tables import CallBody, EndBody, ManualClock, Store, Tables
from rightcall.types import Call, Verdict
from support import policy_worlds as worlds
from support.replaying import Again, Replay

START = 10**15


def _admitted(tables: Tables, request: Request, body: CallBody, redactor: Redactor) -> Admission:
    """As the executor does it."""
    judge = hush_reasons(lambda one, _: decided(one, tables, runs_here=True), redactor)
    return admit(tables, request, judge, body, ApprovalQuestion("{}", "{}"))


def told(store: Store, rights: dict[str, Rights]) -> Counter[str]:
    """How many calls are decided the same again; none is decided otherwise."""
    found = Replay(rights).over(store.look(lambda tables: list(tables.entries())))
    wrong: list[Again] = [one for one in found if one.told == "another"]
    assert wrong == []
    return Counter(one.told for one in found)


def rules(store: Store) -> set[str]:
    from rightcall.record.tables import read_call

    kinds = ("begin", "refused", "waiting")
    bodies = store.look(lambda tables: [one.body for one in tables.entries() if one.kind in kinds])
    return {read_call(body).rule.split(":")[0] for body in bodies}


def settle(chance: random.Random, store: Store) -> None:
    """What people do meanwhile."""
    now = store.clock.now()
    waiting = [one for one in store.look(lambda tables: tables.approvals("waiting")) if one.expires_at > now]
    for one in chance.sample(waiting, min(len(waiting), 2)):
        said: Any = chance.choice(["approved", "approved", "denied"])
        store.transact(lambda tables, one=one, said=said: answer(tables, one.id, Reply(said, "anna", one.digest), 120))
    match chance.randrange(12):
        case 0:
            where: dict[str, Any] = chance.choice([{}, {"n": 1}, {"path": "a*"}])
            made = Grant(
                f"{chance.getrandbits(32):08x}", chance.choice(worlds.CALLERS), chance.choice([*worlds.TOOLS, "save"]),
                where, chance.choice([1, 2]), now + 90 * SECOND, "anna", "",
            )  # fmt: skip
            store.transact(lambda tables: give_grant(tables, made, (), lambda value: value))
        case 1:
            live = [one for one in store.look(lambda tables: tables.all_grants()) if one.expires_at > now]
            for one in live[:1]:
                store.transact(lambda tables, one=one: revoke_grant(tables, one.id, "anna"))
        case 2:
            store.transact(lambda tables: release_all(tables, "anna"))
        case 3:
            store.transact(lambda tables: pause(tables, "anna"))
        case _:
            store.transact(lambda tables: resume(tables, "anna"))


@pytest.mark.long
def test_thousands_of_random_requests_are_decided_the_same_again() -> None:
    """Requests of every kind (paths, batches, links, own tools, named approvals) under random policies."""
    totals: Counter[str] = Counter()
    seen: set[str] = set()
    for seed in range(30):
        chance = random.Random(seed)
        settings = worlds.settings_of(worlds.policy(chance))
        rights = {name: rights_of(settings, name) for name in worlds.CALLERS}
        clock = ManualClock(START)
        store, redactor = MemoryStore(clock), Redactor(b"key")
        like = [worlds.request(chance) for _ in range(8)]
        begun: list[tuple[int, Any]] = []
        for _ in range(120):
            clock.advance(chance.choice([0, 0.1, 1, 1, 5, 30, 61]))
            raw = chance.choice(like)
            request = worlds.ours(raw, rights[raw["caller"]], clock.now())
            exact = canonical(request.tool, request.arguments)
            definition = sha256(request.definition.encode()).hexdigest()
            request = replace(request, canonical=exact.raw, digest=exact.digest, definition=definition)
            verdict = Verdict(
                True, Call(request.tool, request.arguments), confidence=request.confidence, truncated=request.truncated
            )
            if request.repaired:
                verdict = replace(verdict, repairs=(worlds_repair(),))
            body = call_body(Written(verdict, request.tool), Who(request.caller), request, redactor)
            admission = store.transact(partial(_admitted, request=request, body=body, redactor=redactor))
            if admission.decision.kind == "allow":
                begun.append((admission.call, request.digest if request.side_effects else None))
            if begun and chance.random() < 0.5:
                call, changed = begun.pop()
                store.transact(lambda tables, c=call, d=changed: finish(tables, c, EndBody("success"), d))
            if chance.random() < 0.2:
                settle(chance, store)
        totals += told(store, {one.digest: one for one in rights.values()})
        seen |= rules(store)
    assert totals["same"] == 30 * 120
    assert seen >= {"paused", "quarantine", "limit", "loop", "approval", "definition", "batch", "allowlist", "dry_run",
                    "truncated", "path", "caller", "policy", "stage"}  # fmt: skip


def worlds_repair() -> Any:
    from rightcall.types import Repair

    return Repair("n", "1", 1, "direct", "coerced", 0.5)


POLICY = {
    "policy": {
        "allow": ["*"], "deny": ["fo*"], "write": "ask", "execute": "allow", "repeats": 3, "quarantine": 4,
        "limits": {"all": {"minute": 20}, "caller": {"minute": 6, "burst": 2}, "tools": {"look": {"minute": 9}}},
        "approval": {"expires": 60, "waiting": 3},
        "paths": {"deny": ["private/**"]},
    },
    "callers": {"helper": {"write": "dry-run", "execute": "dry-run"}, "pupil": {"only": ["look", "save"]}},
    "audit": {"redact": ["page_mark"]},
}  # fmt: skip

CONTEXTS = (None, None, "one", "two")
SPACES = ("", "", "files")

CALLS: list[tuple[str, Any]] = [
    ("look", {"n": 1}), ("look", {"n": 2}), ("look", "{'n': '3'}"), ("look", {}), ("look", {"n": "x"}),
    ("save", {"path": "a.txt"}), ("save", {"path": "b.txt"}), ("save", {"path": "private/c"}),
    ("save", {"path": "a.txt", "page_mark": "Zq8hunter2"}), ("save", {"pth": "a.txt"}), ("forbidden", {}),
    ("nothing", {"a": 1}), ("read", {"path": "link/x"}), ("sh", {"command": "ls -l"}), ("sh", {"command": "cat .env"}),
    ("sh", {"command": "git push"}), ("sh", {"command": "git push --force"}), ("sh", {"command": "rm -rf /"}),
    ("sh", {"command": "rm -rf src"}),
]  # fmt: skip


@pytest.mark.parametrize("kind", ["executor", "door"])
def test_a_mixed_history_of_real_calls_is_decided_the_same_again(kind: str, tmp_path: Path) -> None:
    chance, clock = random.Random(7), ManualClock(START)
    store = MemoryStore(clock)
    (tmp_path / "inside").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "inside")
    rights = (with_executor if kind == "executor" else with_door)(chance, clock, store, tmp_path)
    totals = told(store, rights)
    assert totals["same"] > 300
    assert totals["unknown"] > 0  # a secret is not guessed
    assert totals["unread"] > 0
    assert rules(store) >= {"paused", "quarantine", "limit", "loop", "approval", "validation", "path", "command"}
    assert b'"approval:full"' in b"".join(store.look(lambda tables: [one.body for one in tables.entries()]))


def step(chance: random.Random, clock: ManualClock, store: Store) -> tuple[str, Any, str]:
    clock.advance(chance.choice([0, 0.1, 0.5, 1, 1, 5, 20]))
    if chance.random() < 0.2:
        settle(chance, store)
    return *chance.choice(CALLS), chance.choice(worlds.CALLERS)


def with_executor(chance: random.Random, clock: ManualClock, store: Store, root: Path) -> dict[str, Rights]:
    def look(n: int) -> int:
        """Look."""
        return n

    def save(path: str, page_mark: str = "") -> str:
        """Save."""
        return path

    def read(path: str) -> str:
        """Read."""
        return path

    def sh(command: str) -> str:
        """Run a command."""
        return command

    def look_again(n: int, m: int = 0) -> int:
        """Look closer."""
        return n + m

    with Executor.open_sync(root, POLICY, store=store, code=False) as ex:
        ex.register(tool(look, effects=["read"]), tool(save, effects=["write"], paths=["path"]))
        ex.register(tool(read, effects=["read"], paths=["path"]), tool(sh, effects=["read"]))
        for turn in range(900):
            name, arguments, caller = step(chance, clock, store)
            more: dict[str, Any] = {"rehearse": ["write"]} if chance.random() < 0.1 else {}
            more |= {"ask": ["read"]} if chance.random() < 0.05 else {}
            ex.run({"name": name, "arguments": arguments}, caller, context=chance.choice(CONTEXTS), **more)
            if turn == 300:
                ex.register(tool(look_again, name="look", effects=["read"]))  # another definition
        found = [ex._executor._toolbox.rights_of(name) for name in worlds.CALLERS]
    return {one.digest: one for one in found}


def with_door(chance: random.Random, clock: ManualClock, store: Store, root: Path) -> dict[str, Rights]:
    number = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    path = {"type": "object", "properties": {"path": {"type": "string"}, "page_mark": {"type": "string"}},
            "required": ["path"]}  # fmt: skip
    rules = {
        "read": {"paths": ["path"]},
        "save": {"paths": ["path"], "effects": ["write"]},
        "look": {"effects": ["read"]},
    }
    policy = POLICY | {"gate": {"tools": rules}}
    with Door.open("wrap", policy, store=store, root=root, fixed_names=False) as door:
        tools = [
            {"name": "look", "inputSchema": number}, {"name": "save", "inputSchema": path},
            {"name": "read", "inputSchema": path}, {"name": "sh", "inputSchema": {"type": "object"}},
        ]  # fmt: skip
        door.know(tools)
        for space in SPACES[1:]:
            door.know(tools, space)
        for turn in range(900):
            name, arguments, caller = step(chance, clock, store)
            if turn in (0, 300):  # the second time it is another program
                door.locate("files", Way(("serve", str(turn))))
            space, context = chance.choice(SPACES), chance.choice(CONTEXTS)
            passage = door.judge(name, arguments, caller=caller, context=context, space=space)
            if passage.action == "allow" and chance.random() < 0.8:
                door.ended(passage, summary=chance.choice(["one", "two"]))
        found = [door._rights_of(name, space).rights for name in worlds.CALLERS for space in SPACES]
    assert b'"definition:server"' in b"".join(store.look(lambda tables: [one.body for one in tables.entries()]))
    return {one.digest: one for one in found}


def test_records_without_the_new_fields_are_still_read() -> None:
    from rightcall.record.tables import read_answer, read_call

    old = b'{"caller":"a","tool":"t","params":{},"digest":"d","decision":"allow","rule":"stage:full"}'
    body = read_call(old)
    assert (body.now, body.order, body.changes, body.packs, body.inputs.paths) == (0, {}, 0, "", ())
    assert read_answer(b'{"id":"a","status":"denied","by":"x","digest":"d"}').now == 0
