"""A console with something on every screen: real calls that were repaired, refused and run, a question that waits and
one that was answered, a pull request, and a routed request. The tests in a browser look at it, and the pictures of the
documentation are taken of it."""

import time
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rightcall import Executor, Outcome, load_policy
from rightcall.base.files.guarded import packets_folder
from rightcall.console.access import Address
from rightcall.console.app import Console, console_running
from rightcall.console.pages import PAGES
from rightcall.console.people import add_person, make_link, person_named
from rightcall.policy.settings import Check, ConsoleSettings, Policy, WriteSettings
from rightcall.policy.types import May
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import ManualClock, Store, SystemClock
from rightcall.router.packet import Candidate, Intent, PacketIntent, PacketStatus, SelectedTool, ToolRouting
from rightcall.router.packets import PacketStore, new_packet
from support.approvals import say
from support.chromium import Page
from support.desks import Project

POLICY = """\
version = 1

[policy]
stage = "full"
write = "ask"
execute = "deny"

[callers.reviewer]
stage = "read-only"

[write]
folders = ["docs"]
"""
NOTES = "# Release notes\n\n- calls are found\n- calls are repaired\n- calls are recorded\n- calls are checked\n"
REPAIRED = {"name": "codeRead", "arguments": "{'file': 'docs/notes.md', 'endLine': 'three'}"}
RIGHT: tuple[dict[str, Any], ...] = (
    {"name": "code/read", "arguments": {"path": "docs/notes.md"}},
    {"name": "code/search", "arguments": {"pattern": "calls"}},
    {"name": "code/list", "arguments": {"pattern": "docs/*.md"}},
    {"name": "code/log", "arguments": {"limit": 5}},
    {"name": "code/diff", "arguments": {}},
)
MENDED: tuple[dict[str, Any], ...] = (
    REPAIRED,
    {"name": "code.search", "arguments": {"patern": "calls", "max_results": "5"}},
    {"name": "code/list", "arguments": '{"pattern": "**/*.md", "sort_by": "Modified"'},
    {"name": "code/log", "arguments": "{'limit': 'two'}"},
)
REFUSED: tuple[dict[str, Any], ...] = (
    {"name": "code/read", "arguments": {"path": "../../etc/passwd"}},
    {"name": "code/read", "arguments": {}},
    {"name": "code/read", "arguments": {"path": ".env"}},
    {"name": "send_rocket", "arguments": {"to": "moon"}},
)
FAILED = {"name": "code/read", "arguments": {"path": "docs/missing.md"}}
DAY = (2, 1, 1, 0, 1, 2, 4, 7, 9, 8, 10, 9, 5, 7, 11, 12, 9, 8, 6, 4, 5, 3, 4, 6)
"""How many calls each hour of a good day has: most are right, two of seven are repaired, a few are refused."""
FIRST = {"name": "file/save", "arguments": {"path": "docs/plan.md", "content": "# Plan\n"}}
SAVE = {
    "name": "file/save",
    "arguments": {"path": "docs/notes.md", "content": NOTES.replace("checked", "checked, and decided by policy")},
}


BEHIND = {
    "question": "/inbox/{busy.question}",
    "answer": "/inbox/{busy.answered}",
    "call": "/calls/{busy.call}",
    "pull request": "/changes/pulls/1",
    "merge": "/changes/pulls/1/merge",
    "request": "/requests/{busy.request}",
    "tool": "/tools/one?name=code/read",
    "filter": "/live?status=refused&period=day",
    "empty filter": "/live?caller=nobody",
    "verified": "/audit/verify",
    "missing": "/nothing",
}
SCREENS = (*(page.path for page in PAGES if page.path), *BEHIND)
"""Every screen by its path, and the pages behind them by what they are."""


class Busy(Struct, frozen=True):
    """Where its screens are."""

    address: Address
    store: Store
    question: str
    answered: str
    call: int
    request: str

    def url(self, screen: str) -> str:
        return self.address.origin + self.path(screen)

    def link(self, name: str = "ann") -> str:
        """A login link."""
        return login_link(self.store, self.address, name)

    def path(self, screen: str) -> str:
        return BEHIND[screen].format(busy=self) if screen in BEHIND else screen


def login_link(store: Store, address: Address, name: str, may: May = "approve") -> str:
    def make(tables: Any) -> str:
        if person_named(tables, name) is None:
            add_person(tables, name, may, "root")
        return make_link(tables, name, "root")

    return f"{address.origin}/enter/{store.transact(make)}"


def enter(page: Page, link: str) -> None:
    """Log in with a link."""
    page.open(link)
    page.loading(lambda: page.click("main button"))


@contextmanager
def busy_console(folder: Path, hours: int = 4) -> Generator[Busy]:
    """With the last hours of a day."""
    settings = WriteSettings(check=Check(command=("true",)))
    project = Project(folder, settings, within=True)
    project.branch()
    project.open(title="Say two", body="One was not enough.")
    (folder / "docs").mkdir(exist_ok=True)
    (folder / "docs" / "notes.md").write_text(NOTES, encoding="utf-8")
    (folder / "rightcall.toml").write_text(POLICY, encoding="utf-8")
    policy = load_policy(folder / "rightcall.toml")
    file = folder / ".rightcall" / "audit.db"
    repaired = _worked(folder, policy, file, DAY[-hours:])
    with closing(SqliteStore(file)) as store:
        with Executor.open_sync(folder, policy, store=store, code=True) as executor:
            answered = _asked(executor.run(FIRST, caller="planner"))
            say(store, answered, by="ann", reason="the plan says so")
            executor.run(FIRST, caller="planner")
            question = _asked(executor.run(SAVE, caller="planner", context="session-1"))
        request = _routed(folder)
        with console_running(Console(store, lambda: policy, str(folder)), ConsoleSettings(port=0)) as address:
            yield Busy(address, store, question, answered, repaired, request)


def _worked(folder: Path, policy: Policy, file: Path, day: Sequence[int]) -> int:
    """Calls of the last hours, as long ago as they say; the record of the last one that was repaired."""
    ago = len(day) * 3600.0
    clock = ManualClock(SystemClock().now() - round(ago * 1e9), time.time() - ago)
    right, mended, refused = cycle(RIGHT), cycle(MENDED), cycle(REFUSED)
    made = repaired = 0
    with (
        closing(SqliteStore(file, clock)) as store,
        Executor.open_sync(folder, policy, store=store, code=True) as executor,
    ):
        for hour, calls in enumerate(day):
            for _ in range(calls):
                made += 1
                call = next(refused) if made % 13 == 5 else next(mended) if made % 7 in (2, 5) else next(right)
                if made % 60 == 10:
                    call = FAILED
                caller = ("planner", "reviewer")[made % 3 == 0]
                outcome = executor.run(call, caller=caller, context=f"session-{hour}")
                if call is REPAIRED:
                    repaired = outcome.metadata.call or 0
                clock.advance(3500 / calls)
            clock.advance(100 if calls else 3600)
    return repaired


def _asked(outcome: Outcome) -> str:
    assert outcome.decision is not None
    assert outcome.decision.approval is not None
    return outcome.decision.approval


def _routed(folder: Path) -> str:
    packet = replace(
        new_packet("What is the weather in Bern?", caller="planner", tools=["weather"]),
        intent=PacketIntent("tool_routing", Intent("call", 0.97, why=("asks for a fact",))),
        tool_routing=ToolRouting(
            candidates=(Candidate("weather", 2.0, 0.93, ("weather",)),),
            selected_tool=SelectedTool("weather", {"city": "Bern"}, "it names a city", 0.9),
        ),
        status=PacketStatus("answered", "sunny"),
    )
    PacketStore(packets_folder(str(folder / ".rightcall" / "audit.db"))).save(packet)
    return packet.header.packet_id
