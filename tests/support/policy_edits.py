"""Sixty and more edits of one policy, and the calls that show each of them. Every call is made for real under the old
and under the new policy: what a replay says of the old history must be what the new policy really decides."""

import random
from collections.abc import Callable
from contextlib import ExitStack
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

from rightcall import Executor, MemoryStore, tool
from rightcall.executor.door import Door
from rightcall.record.notes import remember_tools
from rightcall.record.tables import ManualClock, read_call
from support.histories import NUMBER, PATH, START, functions

OBJECT = {"type": "object"}
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
SERVED: list[dict[str, Any]] = [
    {"name": "read_file", "inputSchema": PATH}, {"name": "save_file", "inputSchema": PATH},
    {"name": "look", "inputSchema": NUMBER}, {"name": "sh", "inputSchema": OBJECT},
    {"name": "get", "inputSchema": OBJECT}, {"name": "note", "inputSchema": TEXT},
    {"name": "drop_table", "inputSchema": OBJECT},
]  # fmt: skip

BASE: dict[str, Any] = {
    "policy": {
        "allow": ["look", "save", "read", "sh", "get", "note", "count"],
        "write": "ask", "execute": "allow", "repeats": 3, "quarantine": 5,
        "limits": {
            "all": {"minute": 0, "hour": 0}, "caller": {"minute": 0, "hour": 0, "burst": 0},
            "tools": {"count": {"minute": 30}},
        },
        "approval": {"expires": 600, "waiting": 5000, "waiting_bytes": 100_000_000, "confidence": 0.5},
        "paths": {"deny": ["private/**"]},
        "commands": {"ask": ["make *"], "deny": ["shutdown *"]},
        "urls": {"ask": ["https://ask.example.org/**"], "deny": ["https://bad.example.org/**"]},
        "budgets": {"tokens": 70},
    },
    "callers": {"helper": {"write": "dry-run"}, "pupil": {"deny": ["sh"]}},
    "servers": {
        "files": {
            "command": ["serve"], "deny": ["drop*"], "ask": ["note"],
            "effects": {"read*": ["read"], "save*": ["write"], "look": ["read"], "sh": ["execute"],
                        "get": ["network"], "note": ["read"]},
        },
    },
    "gate": {"tools": {"look": {"effects": ["read"], "aliases": {"amount": "n"}}}},
}  # fmt: skip


def count(n: int) -> str:
    """Count."""
    return " ".join(str(one) for one in range(n))


class Step(NamedTuple):
    """One call: how long after the one before, where, by whom, and what."""

    wait: float
    place: str
    caller: str
    name: str
    arguments: Any


_CALLS: tuple[tuple[str, Any], ...] = (
    ("look", {"n": 1}), ("look", {"n": "2"}), ("look", {"amount": 3}), ("look", {"n": 1, "colour": "red"}),
    ("look", {"quantity": 4}), ("look", {}), ("look", {"n": "many"}), ("looks", {"n": 5}), ("glance", {"n": 6}),
    ("save", {"path": "a.txt"}), ("save", {"path": "docs/a.md"}), ("save", {"file": "b.txt"}),
    ("save", {"path": "private/c"}), ("save", {"path": ".github/workflows/ci.yml"}),
    ("read", {"path": "docs/a.md"}), ("read", {"path": ".env"}), ("read", {"path": "secret/plan.md"}),
    ("sh", {"command": "ls -l"}), ("sh", {"command": "make all"}), ("sh", {"command": "shutdown now"}),
    ("sh", {"command": "git push"}), ("sh", {"command": "rm -rf src"}), ("sh", {"command": "cat secret/plan.md"}),
    ("get", {"url": "https://example.org/a"}), ("get", {"url": "https://ask.example.org/a"}),
    ("get", {"url": "https://bad.example.org/a"}), ("get", {"url": "http://169.254.169.254/x"}),
    ("note", {"text": "hi"}), ("note", {"remark_made": "hi"}), ("count", {"n": 50}), ("count", {"n": 3}),
    ("nothing", {"a": 1}),
)  # fmt: skip
_SERVED: tuple[tuple[str, Any], ...] = (
    ("read_file", {"path": "docs/a.md"}), ("read_file", {"path": "private/c"}),
    ("read_file", {"path": "secret/plan.md"}),
    ("save_file", {"path": "a.txt"}), ("save_file", {"file": "a.txt"}), ("look", {"n": 1}), ("look", {"amount": 2}),
    ("look", {"n": 1, "colour": "red"}), ("sh", {"command": "ls -l"}), ("sh", {"command": "make all"}),
    ("sh", {"command": "git push"}), ("get", {"url": "https://example.org/a"}),
    ("get", {"url": "https://bad.example.org/a"}), ("note", {"text": "hello"}), ("note", {"remark_made": "hello"}),
    ("drop_table", {}), ("read_fil", {"path": "docs/a.md"}),
)  # fmt: skip
CALLERS = ("default", "helper", "pupil")


def script(seed: int = 5, length: int = 260) -> list[Step]:
    """The calls, all of them at least once at each place, some in a hurry, some again and again."""
    chance, steps = random.Random(seed), list[Step]()
    every = [("here", *one) for one in _CALLS] + [(place, *one) for place in ("wrap", "gateway") for one in _SERVED]
    every += [("host", *one) for one in _CALLS]
    for place, name, arguments in every:
        steps.append(Step(chance.choice((1, 7, 20)), place, chance.choice(CALLERS), name, arguments))
    while len(steps) < length:
        place, name, arguments = chance.choice(every)
        caller = chance.choice(CALLERS)
        for _ in range(chance.choice((1, 1, 2, 7))):
            steps.append(Step(chance.choice((0, 0.1, 1)), place, caller, name, arguments))
        steps.append(Step(chance.choice((1, 30, 90)), place, caller, name, arguments))
    return steps


class Decided(NamedTuple):
    decision: str
    rule: str


def make_history(
    policy: dict[str, Any], root: Path, steps: list[Step]
) -> tuple[MemoryStore, list[tuple[int, Decided]]]:
    """The calls made for real under a policy: the store, and each call's record with its decision."""
    clock = ManualClock(START)
    store, found = MemoryStore(clock, records=10**6), list[tuple[int, Decided]]()
    with ExitStack() as stack:
        here = stack.enter_context(Executor.open_sync(root, policy, store=store, code=False, servers=False))
        here.register(*functions(), tool(count, effects=["read"]), tool(note, effects=["read"]))
        doors = {
            "wrap": stack.enter_context(Door.open("wrap", policy, store=store, root=root)),
            "gateway": stack.enter_context(Door.open("gateway", policy, store=store, root=root, strict=True)),
            "host": stack.enter_context(Door.open("my-agent", policy, store=store, root=root, tools=SERVED)),
        }
        remember_tools(store, "files", SERVED)
        for place in ("wrap", "gateway"):
            doors[place].know(SERVED, "files")
        for step in steps:
            clock.advance(step.wait)
            before = store.look(lambda tables: tables.head()[0])
            if step.place == "here":
                here.run({"name": step.name, "arguments": step.arguments}, step.caller)
            else:
                door, space = doors[step.place], "" if step.place == "host" else "files"
                passage = door.judge(step.name, step.arguments, caller=step.caller, space=space)
                if passage.action == "allow":
                    door.ended(passage, summary="done")
            found.append(_decided(store, before))
    return store, found


def note(text: str) -> str:
    """Note."""
    return text


def _decided(store: MemoryStore, before: int) -> tuple[int, Decided]:
    kinds = ("begin", "refused", "waiting")
    entry = next(one for one in store.look(lambda tables: list(tables.entries(before))) if one.kind in kinds)
    body = read_call(entry.body)
    return entry.seq, Decided(body.decision, body.rule)


Edit = Callable[[dict[str, Any]], object]


def put(*path: str, value: Any) -> Edit:
    def edit(policy: dict[str, Any]) -> None:
        table = policy
        for key in path[:-1]:
            table = table.setdefault(key, {})
        table[path[-1]] = value

    return edit


def drop(*path: str) -> Edit:
    def edit(policy: dict[str, Any]) -> None:
        table = policy
        for key in path[:-1]:
            table = table[key]
        del table[path[-1]]

    return edit


def edited(edit: Edit) -> dict[str, Any]:
    policy = deepcopy(BASE)
    edit(policy)
    return policy


_POLICY, _LIMITS = ("policy",), ("policy", "limits")

EDITS: dict[str, tuple[Edit, str]] = {
    # what may be used: each edit, and one kind of change that it must show
    "allow fewer": (put("policy", "allow", value=["look", "save", "read", "sh", "count", "note"]), "refused"),
    "allow by pattern": (put("policy", "allow", value=["*"]), "rule"),
    "deny a tool": (put("policy", "deny", value=["get"]), "refused"),
    "deny by pattern": (put("policy", "deny", value=["s*"]), "refused"),
    "deny a server's tool": (put("policy", "deny", value=["files/note"]), "refused"),
    "deny for one caller": (put("callers", "helper", "deny", value=["read"]), "refused"),
    "deny no longer": (drop("callers", "pupil", "deny"), "loosened"),
    "only a few": (put("callers", "pupil", "only", value=["look"]), "refused"),
    "only some of a server": (put("callers", "pupil", "only", value=["look", "files/read*"]), "refused"),
    "allow for one caller": (put("callers", "default", value={"allow": ["nothing"]}), "unchanged"),
    "a stage for one caller": (put("callers", "helper", "stage", value="read-only"), "tightened"),
    # effects
    "write is denied": (put("policy", "write", value="deny"), "refused"),
    "write is allowed": (put("policy", "write", value="allow"), "loosened"),
    "write is rehearsed": (put("policy", "write", value="dry-run"), "tightened"),
    "write is not said": (drop("policy", "write"), "changed"),
    "execute asks": (put("policy", "execute", value="ask"), "asked"),
    "execute is denied": (put("policy", "execute", value="deny"), "refused"),
    "network asks": (put("policy", "network", value="ask"), "asked"),
    "network is denied": (put("policy", "network", value="deny"), "refused"),
    "network is rehearsed": (put("policy", "network", value="dry-run"), "tightened"),
    "a word for a tool": (put("policy", "tools", value={"save": {"write": "allow"}}), "loosened"),
    "a word for a server's tool": (put("policy", "tools", value={"files/save_file": {"write": "deny"}}), "refused"),
    "a caller may write": (put("callers", "helper", "write", value="ask"), "loosened"),
    "a caller may not write": (put("callers", "helper", "write", value="deny"), "refused"),
    # limits
    "a limit for all": (put("policy", "limits", "all", value={"minute": 10}), "refused"),
    "a limit for all by the hour": (put("policy", "limits", "all", value={"minute": 0, "hour": 60}), "refused"),
    "a limit for a caller": (put("policy", "limits", "caller", value={"minute": 5, "hour": 0, "burst": 0}), "refused"),
    "a burst": (put("policy", "limits", "caller", value={"minute": 0, "hour": 0, "burst": 2}), "refused"),
    "a limit for a tool": (put("policy", "limits", "tools", value={"look": {"minute": 1}}), "refused"),
    "a limit for a server's tool": (put("policy", "limits", "tools", value={"files/look": {"minute": 1}}), "refused"),
    "a limit for one caller": (
        put("callers", "pupil", "limits", value={"minute": 2, "hour": 0, "burst": 0}), "refused",
    ),
    "calls per day": (put("policy", "limits", "calls_per_day", value=20), "refused"),
    "calls per day for one caller": (put("callers", "helper", "calls_per_day", value=5), "refused"),
    # loops and quarantine
    "fewer repeats": (put("policy", "repeats", value=2), "refused"),
    "more repeats": (put("policy", "repeats", value=6), "loosened"),
    "any number of repeats": (put("policy", "repeats", value=0), "loosened"),
    "a tool may be polled": (put("policy", "repeatable", value=["look", "files/look"]), "loosened"),
    "quarantine sooner": (put("policy", "quarantine", value=2), "rule"),
    "no quarantine": (put("policy", "quarantine", value=0), "rule"),
    # approvals
    "a tool always asks": (put("policy", "approval", "tools", value=["look"]), "asked"),
    "a server's tool always asks": (put("policy", "approval", "tools", value=["files/read*"]), "asked"),
    "surer repairs": (put("policy", "approval", "confidence", value=0.99), "changed"),
    "few may wait": (put("policy", "approval", "waiting", value=2), "refused"),
    # paths
    "a path is denied": (put("policy", "paths", "deny", value=["private/**", "secret/**"]), "refused"),
    "a path is denied no longer": (put("policy", "paths", "deny", value=[]), "changed"),
    "a secret is excepted": (put("policy", "paths", "allow", value=[".env"]), "changed"),
    "docs are denied": (put("policy", "paths", "deny", value=["docs/**"]), "refused"),
    # commands and addresses
    "a command is denied": (put("policy", "commands", "deny", value=["shutdown *", "ls *"]), "refused"),
    "a command asks": (put("policy", "commands", "ask", value=["make *", "ls *"]), "asked"),
    "a command asks no longer": (put("policy", "commands", "ask", value=[]), "changed"),
    "a command is allowed": (put("policy", "commands", "allow", value=["git push"]), "loosened"),
    "no starter list": (put("policy", "commands", "starter", value=False), "loosened"),
    "an address is denied": (put("policy", "urls", "deny", value=["https://example.org/**"]), "refused"),
    "an address asks": (put("policy", "urls", "ask", value=["https://example.org/**"]), "asked"),
    "an address is denied no longer": (put("policy", "urls", "deny", value=[]), "loosened"),
    # the gate
    "unknown arguments are refused": (put("gate", "unknown_argument", value="refuse"), "refused"),
    "another alias": (put("gate", "tools", "note", value={"aliases": {"remark_made": "text"}}), "repaired"),
    "an alias for a server's tool": (
        put("gate", "tools", "files/note", value={"aliases": {"remark_made": "text"}}), "changed",
    ),
    "a tool has another name": (put("gate", "tools", "look", "names", value=["glance"]), "repaired"),
    "a default": (put("gate", "tools", "look", "defaults", value={"n": 9}), "repaired"),
    "a tool does more": (put("gate", "tools", "look", "effects", value=["write"]), "tightened"),
    "paths of a tool": (put("gate", "tools", "note", value={"paths": ["text"]}), "unchanged"),
    "a host only watches": (put("gate", "hosts", value={"wrap": {"mode": "observe"}}), "loosened"),
    "a host warns": (put("gate", "hosts", value={"my-agent": {"mode": "warn"}}), "changed"),
    # servers
    "a server offers less": (put("servers", "files", "allow", value=["read*", "look"]), "refused"),
    "a server denies less": (put("servers", "files", "deny", value=[]), "loosened"),
    "a server asks": (put("servers", "files", "ask", value=["note", "look"]), "asked"),
    "a server asks no longer": (put("servers", "files", "ask", value=[]), "loosened"),
    "a server's tool does more": (
        put("servers", "files", "effects", value=BASE["servers"]["files"]["effects"] | {"look": ["write"]}),
        "tightened",
    ),
    "what a server's tools do is not said": (drop("servers", "files", "effects"), "tightened"),
    # budgets
    "fewer tokens": (put("policy", "budgets", "tokens", value=50), "cost"),
    "more tokens": (put("policy", "budgets", "tokens", value=400), "cost"),
}  # fmt: skip
