"""Makes histories through the real executor and the real integrations, with a clock that is moved by hand: several
callers, several processes' worth of executors and doors on one store, people who answer, grant, pause and release."""

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from rightcall import Executor, tool
from rightcall.errors import AnswerError
from rightcall.executor.door import Door
from rightcall.executor.toolbox import Way
from rightcall.policy.types import SECOND, Grant
from rightcall.record.admission import Reply, answer, give_grant, pause, release_all, resume, revoke_grant
from rightcall.record.tables import Clock, ManualClock, Store

START = 10**15
CALLERS = ("default", "helper", "pupil", "teacher")

POLICY: dict[str, Any] = {
    "policy": {
        "allow": ["*"], "deny": ["fo*"], "write": "ask", "execute": "allow", "repeats": 3, "quarantine": 4,
        "limits": {
            "all": {"minute": 60}, "caller": {"minute": 25, "burst": 5}, "tools": {"look": {"minute": 9}},
            "calls_per_day": 2500,
        },
        "approval": {"expires": 60, "waiting": 3},
        "paths": {"deny": ["private/**"]},
    },
    "callers": {"helper": {"write": "dry-run", "execute": "dry-run"}, "pupil": {"only": ["look", "save", "files/*"]}},
    "servers": {"files": {"command": ["serve"], "deny": ["drop*"], "effects": {"read*": ["read"], "save*": ["write"]}}},
    "gate": {
        "tools": {
            "read": {"paths": ["path"]}, "save": {"paths": ["path"], "effects": ["write"]},
            "look": {"effects": ["read"]},
        },
    },
    "audit": {"redact": ["page_mark"]},
}  # fmt: skip

CONTEXTS = (None, None, "one", "two")

CALLS: tuple[tuple[str, Any], ...] = (
    ("look", {"n": 1}), ("look", {"n": 2}), ("look", "{'n': '3'}"), ("look", {}), ("look", {"n": "x"}),
    ("look", {"number": 4}), ("lok", {"n": 5}),
    ("save", {"path": "a.txt"}), ("save", {"path": "b.txt"}), ("save", {"path": "private/c"}),
    ("save", {"path": "a.txt", "page_mark": "Zq8hunter2"}), ("save", {"pth": "a.txt"}), ("forbidden", {}),
    ("nothing", {"a": 1}), ("read", {"path": "link/x"}), ("read", {"path": ".env"}), ("read", {"path": "docs/a.md"}),
    ("sh", {"command": "ls -l"}), ("sh", {"command": "cat .env"}), ("sh", {"command": "git push"}),
    ("sh", {"command": "git push --force"}), ("sh", {"command": "rm -rf /"}), ("sh", {"command": "rm -rf src"}),
    ("get", {"url": "https://example.org/a"}), ("get", {"url": "http://169.254.169.254/x"}),
)  # fmt: skip

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
PATH = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "page_mark": {"type": "string"}},
    "required": ["path"],
}
TOOLS: list[dict[str, Any]] = [
    {"name": "look", "inputSchema": NUMBER}, {"name": "save", "inputSchema": PATH},
    {"name": "read", "inputSchema": PATH}, {"name": "sh", "inputSchema": {"type": "object"}},
    {"name": "get", "inputSchema": {"type": "object"}}, {"name": "dropped", "inputSchema": {"type": "object"}},
]  # fmt: skip


def functions() -> list[Any]:
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

    def get(url: str) -> str:
        """Fetch."""
        return url

    return [
        tool(look, effects=["read"]), tool(save, effects=["write"], paths=["path"]),
        tool(read, effects=["read"], paths=["path"]), tool(sh, effects=["read"]), tool(get, effects=["network"]),
    ]  # fmt: skip


def look_again(n: int, m: int = 0) -> int:
    """Look closer."""
    return n + m


def settle(chance: random.Random, store: Store, callers: tuple[str, ...] = CALLERS) -> None:
    """What people do meanwhile."""
    now = store.clock.now()
    waiting = [one for one in store.look(lambda tables: tables.approvals("waiting")) if one.expires_at > now]
    for one in chance.sample(waiting, min(len(waiting), 2)):
        said: Any = chance.choice(["approved", "approved", "denied"])
        reply = Reply(said, "anna", one.digest)
        with suppress(AnswerError):  # another process was faster
            store.transact(lambda tables, one=one, reply=reply: answer(tables, one.id, reply, 60))
    match chance.randrange(14):
        case 0:
            where: dict[str, Any] = chance.choice([{}, {"n": 1}, {"path": "a*"}])
            made = Grant(
                f"{chance.getrandbits(32):08x}", chance.choice(callers), chance.choice(["save", "files/save", "sh"]),
                where, chance.choice([1, 2]), now + 90 * SECOND, "anna", "",
            )  # fmt: skip
            store.transact(lambda tables: give_grant(tables, made, (), lambda value: value))
        case 1:
            live = [one for one in store.look(lambda tables: tables.all_grants()) if one.expires_at > now]
            for one in live[:1]:
                with suppress(AnswerError):
                    store.transact(lambda tables, one=one: revoke_grant(tables, one.id, "anna"))
        case 2:
            store.transact(lambda tables: release_all(tables, "anna"))
        case 3 if chance.random() < 0.3:
            store.transact(lambda tables: pause(tables, "anna"))
        case _:
            store.transact(lambda tables: resume(tables, "anna"))


class World:
    """Executors and doors on one store, as several processes have them."""

    def __init__(self, stack: ExitStack, stores: list[Store], root: Path, policy: dict[str, Any]) -> None:
        (root / "inside").mkdir(exist_ok=True)
        if not (root / "link").exists():
            (root / "link").symlink_to(root / "inside")
        self.executors = [
            stack.enter_context(Executor.open_sync(root, policy, store=store, code=False, servers=False))
            for store in stores
        ]
        for one in self.executors:
            one.register(*functions())
        self.doors: list[tuple[Door, str]] = []
        for number, store in enumerate(stores):
            wrap = stack.enter_context(Door.open("wrap", policy, store=store, root=root))
            wrap.know(TOOLS, "files")
            wrap.locate("files", Way(("serve", str(number // 8))))
            gateway = stack.enter_context(Door.open("gateway", policy, store=store, root=root, strict=True))
            gateway.know(TOOLS, "files")
            host = stack.enter_context(Door.open("my-agent", policy, store=store, root=root, tools=TOOLS))
            self.doors += [(wrap, "files"), (gateway, "files"), (host, "")]

    def call(self, chance: random.Random, name: str, arguments: Any, caller: str) -> None:
        context = chance.choice(CONTEXTS)
        if chance.random() < 0.45:
            more: dict[str, Any] = {"rehearse": ["write"]} if chance.random() < 0.1 else {}
            more |= {"ask": ["read"]} if chance.random() < 0.05 else {}
            chance.choice(self.executors).run({"name": name, "arguments": arguments}, caller, context=context, **more)
            return
        door, space = chance.choice(self.doors)
        passage = door.judge(name, arguments, caller=caller, context=context, space=space)
        if passage.action == "allow" and chance.random() < 0.8:
            door.ended(passage, summary=chance.choice(["one", "two"]))


@contextmanager
def world(stores: list[Store], root: Path, policy: dict[str, Any] | None = None) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(stack, stores, root, POLICY if policy is None else policy)


def live(chance: random.Random, clock: Clock, stores: list[Store], made: World, calls: int) -> None:
    """So many calls, and what people do between them."""
    usual = list(CALLS)
    for turn in range(calls):
        hurried = turn // 50 % 2  # now many at once, now few
        if isinstance(clock, ManualClock):
            clock.advance(chance.choice((0, 0, 0.01, 0.1, 0.5) if hurried else (0.1, 0.5, 1, 1, 2, 5, 20)))
        if chance.random() < 0.15:
            settle(chance, stores[0])
        if not turn % 20:
            usual = chance.choices(CALLS, k=4)
        name, arguments = chance.choice(usual if hurried else CALLS)  # a model in a hurry repeats itself
        made.call(chance, name, arguments, chance.choice(CALLERS))
        if turn == calls * 2 // 3:
            made.doors[0][0].locate("files", Way(("serve", "elsewhere")))
        if turn == calls // 2:
            made.executors[0].register(tool(look_again, name="look", effects=["read"]))  # another definition
