"""Random policies, requests and pasts, for both evaluators: plain data, and the same as the package's own records."""

import random
from typing import Any

from msgspec.structs import replace

from rightcall.policy.decide import is_rehearsed, scopes_of
from rightcall.policy.settings import Settings
from rightcall.policy.types import (
    Approval,
    Grant,
    Request,
    Rights,
    binding,
    definition_binding,
    refused_scope,
    rights_of,
    same_scope,
)
from rightcall.policy.watch import load_policy
from rightcall.record.memory import MemoryTables
from rightcall.record.tables import ManualClock

CALLERS = ["teacher", "pupil", "helper"]
TOOLS = ["code/read", "code/search", "code/execute/python", "file/save", "code/merge", "add", "Ping", "mail/send"]
PATTERNS = [*TOOLS, "code/*", "*", "mail*", "*/python", "CODE-READ", "file.save", "x*y"]
INNER = [*TOOLS, "Code_Read", "other", ""]
STATUSES = ["approved", "denied", "used", "expired", "waiting"]
WORDED = ["write", "execute", "network"]
WORDS = ["deny", "dry-run", "ask", "ask", "allow", "allow", "allow"]
EFFECTS = ["read", "write", "execute", "network"]
PATHS = ["src/a.py", "/etc/passwd", "private/a", "site.pem", ".hidden", ".gitignore"]
START = 10_000 * 10**9


def some(chance: random.Random, items: list[Any], most: int) -> list[Any]:
    return chance.sample(items, chance.randint(0, min(most, len(items))))


def sometimes(chance: random.Random, table: dict[str, Any], share: float = 0.5) -> dict[str, Any]:
    return {key: value for key, value in table.items() if chance.random() < share}


def window(chance: random.Random) -> dict[str, int]:
    return sometimes(chance, {key: chance.choice([0, 1, 2, 3, 5]) for key in ("minute", "hour", "burst")})


def policy(chance: random.Random) -> dict[str, Any]:
    rules = sometimes(chance, {
        "preset": chance.choice(["personal", "swarm"]),
        "stage": chance.choice(["read-only", "sandbox", "limited-write", "full"]),
        "write": chance.choice(WORDS),
        "execute": chance.choice(WORDS),
        "network": chance.choice(WORDS),
        "tools": {one: {effect: chance.choice(WORDS) for effect in some(chance, WORDED, 2)}
                  for one in some(chance, PATTERNS, 2)},
        "repeats": chance.choice([0, 2, 3]),
        "quarantine": chance.choice([0, 2, 3]),
        "allow": [*some(chance, PATTERNS, 3), *["code/*", "*"][: chance.choice([0, 0, 1, 2])]],
        "deny": some(chance, PATTERNS, 1),
        "limits": sometimes(chance, {"all": window(chance), "caller": window(chance),
                                     "tools": {tool: window(chance) for tool in some(chance, TOOLS, 2)}}),
        "approval": sometimes(chance, {"tools": some(chance, PATTERNS, 1), "confidence": chance.choice([0, 0.5, 1]),
                                       "definitions": chance.random() < 0.5}),
        "paths": sometimes(chance, {"deny": ["private/**"], "allow": some(chance, ["site.pem", ".hidden"], 1),
                                    "dotfiles": some(chance, [".hidden"], 1)}),
    })  # fmt: skip
    callers = {name: caller(chance) for name in some(chance, CALLERS, 2)}
    return {"policy": rules, "callers": callers}


def caller(chance: random.Random) -> dict[str, Any]:
    table = sometimes(chance, {"deny": some(chance, PATTERNS, 1), "limits": window(chance),
                               "write": chance.choice(WORDS), "execute": chance.choice(WORDS)})  # fmt: skip
    if chance.random() < 0.3:
        return table | {"only": some(chance, PATTERNS, 4)}
    return table | sometimes(
        chance, {"stage": chance.choice(["read-only", "full"]), "allow": some(chance, PATTERNS, 3)}
    )


def request(chance: random.Random) -> dict[str, Any]:
    tool = chance.choice(TOOLS)
    effects = chance.choice([["read"], ["read"], ["write"], ["execute", "read"], EFFECTS])
    n = chance.randint(1, 2)
    return {
        "caller": chance.choice(CALLERS), "tool": tool, "n": n, "digest": f"{tool} {n}",
        "definition": chance.choice(["one", "one", "two"]), "state": chance.choice(["", "s1"]), "effects": effects,
        "own": effects == ["read"] and chance.random() < 0.3, "repeatable": chance.random() < 0.2,
        "truncated": chance.random() < 0.1, "repaired": chance.random() < 0.3,
        "confidence": chance.choice([0.4, 0.9, 1]),
        "paths": some(chance, PATHS, 1) if chance.random() < 0.3 else [],
        "inner": some(chance, INNER, 3) if chance.random() < 0.2 else [],
        "linked": chance.random() < 0.2, "approval": chance.choice([None] * 12 + ["a0"] * 6 + ["a1", "d0", "none"]),
    }  # fmt: skip


def world(chance: random.Random, like: list[dict[str, Any]], this: dict[str, Any]) -> dict[str, Any]:
    """A past in which the same requests were made, and people were often asked about this one; ages in whole seconds,
    the edges of the windows among them."""
    ages = [0, 1, 1, 2, 30, 59, 60, 61, 3599, 3600, 3601]

    def event() -> dict[str, Any]:
        return {**chance.choice(like), "ago": chance.choice(ages)}

    def asked() -> dict[str, Any]:
        return {**this, "ago": 0} if chance.random() < 0.5 else event()

    calls = sorted((event() | {"changes": chance.choice([0, 0, 1])} for _ in range(chance.randint(0, 8))), key=age)
    return {
        "calls": calls[::-1],
        "refusals": sorted((event() for _ in range(chance.randint(0, 4))), key=age)[::-1],
        "changes": chance.choice([0, 0, 1]),
        "definitions": dict.fromkeys(some(chance, TOOLS, len(TOOLS)), "one"),
        "approvals": distinct([asked() | {"status": status, "left": chance.choice([-1, 0, 1, 60]), "id": f"a{number}"}
                               for number, status in enumerate(some(chance, STATUSES, 2))]),
        "answers": [{"tool": asked()["tool"], "definition": chance.choice(["one", "two"]), "id": "d0",
                     "status": status, "left": chance.choice([-1, 0, 60])} for status in some(chance, STATUSES, 1)],
        "grants": [event() | {"left": chance.choice([-1, 0, 60]), "where": chance.choice([{}, {"n": 1}, {"n": 9}])}
                   for _ in range(chance.randint(0, 2))],
    }  # fmt: skip


def distinct(approvals: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A call has one question at a time: the next is only asked when the one before is used, refused or expired."""
    return list({tuple(a[key] for key in ("caller", "digest", "definition", "state")): a for a in approvals}.values())


def age(event: dict[str, Any]) -> int:
    return event["ago"]


def ours(raw: dict[str, Any], rights: Rights, at: int) -> Request:
    plain = Request(
        caller=raw["caller"], tool=raw["tool"], arguments={"n": raw["n"]}, canonical=b"", digest=raw["digest"],
        definition=raw["definition"], effects=frozenset(raw["effects"]), rights=rights, at=at, state=raw["state"],
        scopes=scopes_of(rights, raw["tool"]), own=raw["own"], repeatable=raw["repeatable"],
        truncated=raw["truncated"],
        repaired=raw["repaired"], confidence=raw["confidence"], paths=tuple((path, path) for path in raw["paths"]),
        inner=tuple(raw["inner"]), linked=raw["linked"], approval=raw["approval"],
    )  # fmt: skip
    return replace(plain, dry_run=is_rehearsed(plain, frozenset()))


def settings_of(raw: dict[str, Any]) -> Settings:
    return load_policy(raw).settings


def tables_of(raw: dict[str, Any], settings: Settings) -> MemoryTables:
    """The same past in the package's own tables."""
    clock = ManualClock(START - 4000 * 10**9)
    tables = MemoryTables(clock, 1000)
    happened = [(event, "call") for event in raw["calls"]] + [(event, "refusal") for event in raw["refusals"]]
    for event, kind in sorted(happened, key=lambda pair: -pair[0]["ago"]):
        at = START - event["ago"] * 10**9
        clock.advance((at - clock.now()) / 1e9)
        tables.keep()  # each is a work of its own, at its own time
        if kind == "refusal":
            tables.mark(refused_scope(event["caller"], event["digest"]), 1)
            continue
        past = ours(event, rights_of(settings, event["caller"]), at)
        for scope in past.scopes:
            tables.mark(scope.name, 1)
        tables.mark(same_scope(past, event["changes"]), 1)
    clock.advance((START - clock.now()) / 1e9)
    for turn in range(raw["changes"]):
        tables.changed(f"change {turn}")
    for tool, definition in raw["definitions"].items():
        tables.pin(tool, definition)
    for event in raw["approvals"]:
        tables.put_approval(approval(event, settings))
    for event in raw["answers"]:
        tables.put_approval(answer(event))
    for number, event in enumerate(raw["grants"]):
        end = START + event["left"] * 10**9
        tables.put_grant(Grant(str(number), event["caller"], event["tool"], event["where"], 1, end, "somebody", ""))
    return tables


def approval(event: dict[str, Any], settings: Settings) -> Approval:
    bound = binding(ours(event, rights_of(settings, event["caller"]), START))
    return Approval(
        id=event["id"], kind="call", caller=event["caller"], tool=event["tool"], canonical="", digest=event["digest"],
        binding=bound, definition=event["definition"], state=event["state"], why="", details="", asked_at=0, asked="",
        expires_at=START + event["left"] * 10**9, status=event["status"],
    )  # fmt: skip


def answer(event: dict[str, Any]) -> Approval:
    """What a person said of a changed definition."""
    bound = definition_binding(event["tool"], event["definition"])
    return Approval(
        id=event["id"], kind="definition", caller="", tool=event["tool"], canonical="", digest="", binding=bound,
        definition=event["definition"], state="", why="", details="", asked_at=0, asked="",
        expires_at=START + event["left"] * 10**9, status=event["status"],
    )  # fmt: skip
