"""The practice client: it asks the practice model through the real proxy, with a token of its own, so that the console
of somebody new has calls to show. What it does is recorded under the caller `practice`, and it soon becomes slow."""

import asyncio
import logging
import threading
from collections.abc import Callable
from itertools import cycle
from typing import Any, Final

from msgspec import Struct, json

from rightcall.base.http.answers import Address
from rightcall.base.http.client import Request, exchange
from rightcall.doctor.practice import MODEL, RIGHT, WRONG
from rightcall.errors import ConfigError, RightCallError
from rightcall.executor.executor import Executor
from rightcall.executor.sync import SyncExecutor
from rightcall.policy.types import ApprovalStatus
from rightcall.record.tables import Store
from rightcall.server.access import TokenRequest, make_token, revoke_tokens
from rightcall.tools.functions import tool

CALLER: Final = "practice"
MOST: Final = 300
"""Requests in all: somebody who leaves it running does not find a store full of practice."""

_BY: Final = "the practice client"
_TOKEN_ENDS: Final = 6 * 3600
"""If it is killed, its token ends by itself. All requests take less time than that."""
_SECONDS: Final = 10.0
_STOPPING: Final = 3.0
_GLANCE: Final = 0.5
"""Between two looks whether somebody has answered."""
_QUICK, _LIVELY = 8, 35
"""Requests of the first seconds, and of the first minute."""

_log = logging.getLogger("rightcall")


class _Asked(Struct, frozen=True):
    """A request: what is said, and the tool that is offered for it."""

    said: str
    tool: dict[str, Any]


def _offered(name: str, about: str, **arguments: str) -> dict[str, Any]:
    described = {
        "type": "object", "properties": {key: {"type": kind} for key, kind in arguments.items()},
        "required": list(arguments),
    }  # fmt: skip
    return {"type": "function", "function": {"name": name, "description": about, "parameters": described}}


_WEATHER = _offered("get_weather", "The weather of a city for some days", city="string", days="integer")
_SEARCH = _offered("search_notes", "Search notes for a word", search_text="string", max_results="integer")
_CONVERT = _offered("convert_money", "Convert an amount of money", amount="number", from_code="string")
_TABLE = _offered("book_table", "Book a table in a restaurant", restaurant_name="string", guest_count="integer")

ASKED: Final = (
    _Asked("Weather in Bern, 3 days?", _WEATHER),
    _Asked("Search my notes for 'invoice', at most 5 results", _SEARCH),
    _Asked(f"Book a table at Kronenhalle for 4, {WRONG}", _TABLE),
    _Asked("Convert 250 from 'CHF'", _CONVERT),
    _Asked(f"Weather in Oslo, 2 days, {RIGHT}?", _WEATHER),
    _Asked("Book a table at Volkshaus for 2", _TABLE),
    _Asked("Search my notes for 'passport', at most 3 results", _SEARCH),
)


@tool(name="publish_note", effects=["write"])
def publish_note(title: str, text: str) -> str:
    """Publish a note. For practice: the note goes nowhere."""
    return f"The note {title!r} ({len(text)} characters) was published, for practice: nobody reads it."


@tool(name="run_script", effects=["execute"])
def run_script(command: str) -> str:
    """Run a command. For practice: the policy of the practice client denies it."""
    return f"{command!r} did not run: this is for practice."


_NOTE: Final = {
    "name": "publish_note",
    "arguments": "{'title': 'Hello', text: 'Press Approve once, and this note is published, for practice.'}",
}
_SCRIPT: Final = {"name": "run_script", "arguments": {"command": "rm -rf build"}}
_RULES: Final = {"policy": {"write": "ask", "execute": "deny"}}


class PracticeClient:
    """`start` begins to ask, in a thread of its own; `stop` ends that and takes the token back. `pause` says how long
    to wait after the request of a number, `most` how many requests there are."""

    def __init__(
        self, store: Store, root: str, *, pause: Callable[[int], float] | None = None, most: int = MOST
    ) -> None:
        self._store = store
        self._root = root
        self._pause = pause or pause_after
        self._most = most
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, host: str, port: int) -> None:
        """Where the proxy listens."""
        self._thread = threading.Thread(target=self.run, args=(host, port), name="rightcall practice", daemon=True)
        self._thread.start()

    def ask_no_more(self) -> None:
        """The proxy ends: that it cannot be reached any more is not a fault."""
        self._stopping.set()

    def stop(self) -> None:
        self.ask_no_more()
        if self._thread is not None:
            self._thread.join(_STOPPING)

    def run(self, host: str, port: int) -> None:
        """Ask until it is stopped, or there is nothing left to ask."""
        address = Address(host, port, False, "")
        try:
            made, text = self._store.transact(lambda tables: make_token(tables, TokenRequest(CALLER, _BY, _TOKEN_ENDS)))
            try:
                with Executor.open_sync(
                    self._root, _RULES, tools=[publish_note, run_script], store=self._store, servers=False
                ) as executor:
                    self._ask_on(address, text, executor)
            finally:
                self._store.transact(lambda tables: revoke_tokens(tables, _BY, id=made.id))
        except (RightCallError, TimeoutError) as fault:
            if not self._stopping.is_set():
                _log.warning("the practice client has stopped: %s", str(fault) or "the proxy did not answer in time")

    def _ask_on(self, address: Address, token: str, executor: SyncExecutor) -> None:
        executor.run(_SCRIPT, CALLER)  # refused, for whoever wants to read why
        question = _question(executor)
        for number, asked in zip(range(self._most), cycle(ASKED), strict=False):
            asyncio.run(_ask(address, token, asked, stream=number % 2 == 1))
            question, left = self._follow(executor, question), self._pause(number)
            while question is not None and left > _GLANCE:  # whoever approves sees it run at once
                if self._stopping.wait(_GLANCE):
                    return
                question, left = self._follow(executor, question), left - _GLANCE
            if self._stopping.wait(left):
                return

    def _follow(self, executor: SyncExecutor, question: str | None) -> str | None:
        """What waits from now on: a call that was approved is made again, as an agent would, and one that nobody has
        answered asks again, for whoever comes later."""
        status = None if question is None else self._status(question)
        if status == "approved":
            executor.run(_NOTE, CALLER)
        return _question(executor) if status == "expired" else question if status == "waiting" else None

    def _status(self, question: str) -> ApprovalStatus:
        found = self._store.look(lambda tables: tables.approval(question))
        is_over = found is None or (found.status == "waiting" and found.expires_at <= self._store.clock.now())
        return "expired" if found is None or is_over else found.status


def _question(executor: SyncExecutor) -> str | None:
    decision = executor.run(_NOTE, CALLER).decision
    return None if decision is None else decision.approval


def pause_after(number: int) -> float:
    """Seconds.

    >>> [pause_after(number) for number in (0, 20, 200)]
    [0.3, 2.0, 20.0]
    """
    return 0.3 if number < _QUICK else 2.0 if number < _LIVELY else 20.0


async def _ask(address: Address, token: str, asked: _Asked, *, stream: bool) -> None:
    """Raises HttpError where nobody answers, ConfigError where the proxy lets nobody in, TimeoutError."""
    body = json.encode({
        "model": MODEL, "stream": stream, "tools": [asked.tool], "messages": [{"role": "user", "content": asked.said}],
    })  # fmt: skip
    headers = [(b"content-type", b"application/json"), (b"x-rightcall-token", token.encode())]
    request = Request("POST", "/v1/chat/completions", headers, body)
    async with asyncio.timeout(_SECONDS), exchange(address, request, None) as incoming:
        await incoming.read_all()
        if incoming.status != 200:
            raise ConfigError(f"the proxy answers with status {incoming.status}")
