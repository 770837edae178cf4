"""A console with something on every screen: real calls that were repaired, refused and run, a question that waits and
one that was answered, a pull request, and a routed request. The tests in a browser look at it, and the pictures of the
documentation are taken of it."""

from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rightcall import Executor, load_policy
from rightcall.base.files.guarded import packets_folder
from rightcall.console.access import Address
from rightcall.console.app import Console, console_running
from rightcall.console.pages import PAGES
from rightcall.console.people import add_person, make_link, person_named
from rightcall.policy.settings import Check, ConsoleSettings, WriteSettings
from rightcall.policy.types import May
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import Store
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
NOTES = "# Release notes\n\n- calls are repaired\n- calls are checked\n"
REPAIRED = {"name": "code_reed", "arguments": "{'path': 'docs/notes.md', 'start_line': '1',}"}
CALLS: tuple[dict[str, Any], ...] = (
    {"name": "code/list", "arguments": {}},
    {"name": "code/read", "arguments": {"file": "docs/notes.md"}},
    REPAIRED,
    {"name": "code/search", "arguments": {"patern": "calls", "max_results": "5"}},
    {"name": "code/read", "arguments": {}},
    {"name": "send_rocket", "arguments": {"to": "moon"}},
    {"name": "sandbox/python", "arguments": {"code": "print(1)"}},
)
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
def busy_console(folder: Path, rounds: int = 3) -> Generator[Busy]:
    settings = WriteSettings(check=Check(command=("true",)))
    project = Project(folder, settings, within=True)
    project.branch()
    project.open(title="Say two", body="One was not enough.")
    (folder / "docs").mkdir(exist_ok=True)
    (folder / "docs" / "notes.md").write_text(NOTES, encoding="utf-8")
    (folder / "rightcall.toml").write_text(POLICY, encoding="utf-8")
    policy = load_policy(folder / "rightcall.toml")
    with closing(SqliteStore(folder / ".rightcall" / "audit.db")) as store:
        with Executor.open_sync(folder, policy, store=store, code=True) as executor:
            for number in range(rounds):
                for call in CALLS:
                    caller = ("planner", "reviewer")[number % 2]
                    last = executor.run(call, caller=caller, context=f"session-{number}")
                    if call is REPAIRED:
                        repaired = last.metadata.call
            answered = executor.run(FIRST, caller="planner").decision.approval
            say(store, answered, by="ann", reason="the plan says so")
            executor.run(FIRST, caller="planner")
            question = executor.run(SAVE, caller="planner", context="session-1").decision.approval
        request = _routed(folder)
        with console_running(Console(store, lambda: policy, str(folder)), ConsoleSettings(port=0)) as address:
            yield Busy(address, store, question, answered, repaired, request)


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
