"""Makes an audit of a million records as they come about in real use, and times every read of it that a page needs.
FILE is a SQLite file, or the URL of a PostgreSQL store (postgresql://…).

python scripts/records.py make FILE [--records N] [--days N]     about 20 µs a record, 90 µs on PostgreSQL
python scripts/records.py read FILE                              each read, in milliseconds
python scripts/records.py prune URL                              the first day that is over goes, and the rest verifies
python scripts/records.py pages FILE [--browser]                 each page of the console: what it takes at the server,
                                                                 its size, and until a real browser has drawn it
"""

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from rightcall.cli.stats import look
from rightcall.console.app import Console, console_running
from rightcall.console.pages import PAGES
from rightcall.console.people import person_named
from rightcall.policy.settings import ConsoleSettings, Policy
from rightcall.record.analytics import tool_usage
from rightcall.record.calls import Period
from rightcall.record.figures import By, count_waiting, read_overview, read_series
from rightcall.record.listing import ANY_REPAIR, CallQuery, list_calls
from rightcall.record.notes import note_message
from rightcall.record.postgres import PostgresStore, is_postgres
from rightcall.record.postgres.connection import connect, read_address
from rightcall.record.postgres.schema import make_days
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import CallBody, Clock, EndBody, ManualClock, Store, Tables, encode, written
from rightcall.record.verify import prune, verify_audit

CALLERS = [f"agent-{number}" for number in range(20)]
TOOLS = [
    f"{group}/{verb}" for group in ("code", "file", "git", "data", "web") for verb in ["read", "list", "find", "edit"]
]
MODELS = [("openai", "gpt-4o"), ("anthropic", "claude-sonnet"), ("ollama", "qwen3:8b"), ("", "")]
STRATEGIES = ["direct"] * 16 + ["json-repair", "schema-guided", "name-match", "failed"]
RULES = ["allowlist", "limit:caller", "path:outside", "repeat"]
ERRORS = ["No such file: {}", "timed out", "exit status 1", "permission denied: {}"]
STEP = 2_000
"""Records in one transaction."""


def hash_of(caller: str) -> int:
    """Most of a caller's calls are of one model."""
    return int(caller.removeprefix("agent-"))


def calls(count: int, chance: random.Random) -> Iterator[tuple[str, bytes, bytes]]:
    """Kind, body, and the body of the end (empty for none), until there are so many records."""
    made = 0
    while made < count:
        caller, tool = chance.choice(CALLERS), TOOLS[min(int(chance.expovariate(0.25)), len(TOOLS) - 1)]
        provider, model = MODELS[(hash_of(caller) + (chance.random() < 0.1)) % len(MODELS)]
        params = {"path": f"src/module{chance.randrange(500)}/part.py", "query": "x" * chance.randrange(120)}
        common = {
            "context": f"conversation-{made // 60}-{chance.randrange(4)}", "strategy": chance.choice(STRATEGIES),
            "provider": provider, "model": model, "definition": "d" * 16, "effects": ("read",),
        }  # fmt: skip
        luck = chance.random()
        if luck < 0.06:
            rule = chance.choice(RULES)
            body = CallBody(caller, tool, params, f"{made:064x}", "deny", rule, "It may not do this.", **common)
            yield "refused", encode(body), b""
            made += 1
        elif luck < 0.07:
            body = CallBody(caller, tool, params, f"{made:064x}", "ask", "approval:effects", approval="gone", **common)
            yield "waiting", encode(body), b""
            made += 1
        elif luck < 0.12:
            body = CallBody(caller, tool, params, f"{made:064x}", "passed", "proxy:right", wire="chat", **common)
            yield "proxied", encode(body), b""
            made += 1
        else:
            body = CallBody(caller, tool, params, f"{made:064x}", "allow", "stage:read-only", **common)
            taken = chance.lognormvariate(3, 1.3)
            if chance.random() < 0.05:
                end = EndBody("failed", taken, chance.choice(ERRORS).format(params["path"]), tokens=50)
            else:
                end = EndBody("success", taken, summary="12 lines", tokens=200, cached=chance.random() < 0.1)
            yield "begin", encode(body), encode(end)
            made += 2


def opened(where: str, clock: Clock | None = None) -> Any:
    if is_postgres(where):
        return PostgresStore(where, clock, silent_seconds=60, busy_seconds=60)
    return SqliteStore(where, clock)


def make(where: str, records: int, days: float) -> None:
    chance = random.Random(23)
    clock = ManualClock(wall=time.time() - days * 86_400)
    pause = days * 86_400 / records
    source = calls(records, chance)

    def some(tables: Tables) -> int:
        written = 0
        for kind, body, end in source:
            seq = tables.append(kind, 0, body)  # type: ignore[arg-type]
            clock.advance(pause)
            written += 1
            if end:
                tables.append("end", seq, end)
                clock.advance(pause)
                written += 1
            if seq % 97 == 0:
                note_message(tables, chance.choice(CALLERS), f"conversation-{seq // 60}-0")
                written += 1
            if written >= STEP:
                break
        return written

    with closing(opened(where, clock)) as store:
        if is_postgres(where):
            with closing(connect(read_address(where), lock_seconds=60)) as connection:
                make_days(connection, clock.wall()[:10], int(days) + 2)
        while store.transact(some):
            """The next ones."""


def reads(store: Store) -> Iterator[tuple[str, Callable[[], object]]]:
    """What commands, tools and pages ask for."""
    periods: tuple[Period, ...] = ("1hour", "1day", "1week")
    sides: tuple[By, ...] = ("all", "tool", "caller", "provider", "model", "strategy", "rule")
    for period in periods:
        yield f"rightcall stats --period {period}", lambda p=period: store.look(lambda tables: look(tables, p, None))
        yield (
            f"rightcall stats --period {period} --caller",
            lambda p=period: store.look(lambda tables: look(tables, p, "agent-3")),
        )
        yield f"analytics/tool-usage {period}", lambda p=period: tool_usage(store, "me", "*", p, all_records=True)
        yield f"overview {period}", lambda p=period: read_overview(store, p)
        for by in sides:
            yield f"series {period} by {by}", lambda p=period, b=by: read_series(store, p, b)
    yield "questions that wait", lambda: count_waiting(store)
    day = written(time.time() - 2 * 86_400)
    queries = {
        "newest": CallQuery(),
        "of a caller": CallQuery(caller="agent-7"),
        "of nobody": CallQuery(caller="nobody"),
        "of a tool": CallQuery(tool="web/edit"),
        "of a model": CallQuery(model="qwen3:8b"),
        "of a caller, a tool and a rule": CallQuery(caller="agent-7", tool="web/edit", rule="path:outside"),
        "refused by a rule": CallQuery(rule="path:outside"),
        "decided so": CallQuery(decision="ask"),
        "repaired": CallQuery(strategy=ANY_REPAIR),
        "repaired so": CallQuery(strategy="name-match", caller="agent-1"),
        "failed": CallQuery(status="failed"),
        "interrupted": CallQuery(status="interrupted"),
        "of a context": CallQuery(context="conversation-5000-1"),
        "of a day": CallQuery(since=day, until=day[:11] + "23:59:59.999"),
        "with words": CallQuery(text="module77/"),
        "with words that are nowhere": CallQuery(text="nowhere at all"),
    }
    for name, query in queries.items():
        yield f"calls: {name}", lambda q=query: list_calls(store, q)


def read(where: str) -> None:
    with closing(opened(where)) as store:
        start = time.perf_counter()
        store.look(lambda tables: tables.rollup().catch_up(tables))
        print(f"{(time.perf_counter() - start) * 1000:8.0f} ms  counting what was not counted yet")
        for name, ask in reads(store):
            ask()
            taken: list[tuple[float, float]] = []
            for _ in range(3):
                start, spent = time.perf_counter(), time.process_time()
                ask()
                taken.append((time.perf_counter() - start, time.process_time() - spent))
            wall, cpu = min(taken)
            print(f"{wall * 1000:8.0f} ms  {cpu * 1000:6.0f} ms CPU  {name}")


def prune_a_day(url: str) -> None:
    with closing(opened(url)) as store:
        first = store.look(lambda tables: next(iter(tables.entries()))).at[:10]
        day = str(date.fromisoformat(first) + timedelta(1))
        start = time.perf_counter()
        gone = store.transact(lambda tables: prune(tables, before=day, by="measuring", now=store.clock.now()))
        print(f"{(time.perf_counter() - start) * 1000:8.0f} ms  {gone.removed:,} records of {first} pruned")
        for what in ("counting what was pruned", "and then nothing"):
            start = time.perf_counter()
            store.look(lambda tables: tables.rollup().catch_up(tables))
            print(f"{(time.perf_counter() - start) * 1000:8.0f} ms  {what}")
        start = time.perf_counter()
        found = store.look(verify_audit)
        took = time.perf_counter() - start
        print(f"{took * 1000:8.0f} ms  {found.checked:,} records verified: {found.problem or 'ok'}")


# ── pages ──
# The console on such an audit: what its server takes for a page, and how large that is.

MOST_MILLISECONDS = 300
"""For any page, at the server, of CPU: what it takes on a machine that does nothing else. The first look at a page
counts; for a while its figures are kept."""
FIRST = 200_000, 1000
"""For the first page with all its files: bytes, and milliseconds until it is drawn."""
FILTERS = (
    "caller=agent-7", "caller=nobody", "tool=web/edit", "model=qwen3:8b", "status=failed", "status=interrupted",
    "status=refused&period=7d", "decision=ask", "rule=path:outside", "repair=any", "repair=name-match&caller=agent-1",
    "context=conversation-5000-1", "text=module77/", "text=nowhere+at+all", "before=500000",
    "caller=agent-7&tool=web/edit&rule=path:outside",
)  # fmt: skip


def screens(store: Store) -> list[str]:
    """Every screen, the filters of those that have some, and one call."""
    newest = list_calls(store, CallQuery()).calls[0].id
    sides = ("all", "tool", "caller", "provider", "model", "strategy", "rule")
    return [
        *(page.path for page in PAGES if page.path),
        "/?period=1hour", "/?period=1week", f"/calls/{newest}", "/calls/2", "/tools/one?name=code/read",
        *(f"/live?{one}" for one in FILTERS),
        "/audit?kind=refused", "/audit?caller=nobody", "/audit?before=500000",
        *(f"/analytics?period={period}&by={by}" for period in ("1hour", "1day", "1week") for by in sides),
    ]  # fmt: skip


def pages(where: str, browser: bool) -> bool:
    """Whether all are fast enough."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from support.busy_console import enter, login_link
    from support.chromium import Chromium
    from support.consoles import Browser, session

    slow: list[str] = []
    with (
        closing(opened(where)) as store,
        console_running(Console(store, Policy), ConsoleSettings(port=0)) as address,
    ):
        store.look(lambda tables: tables.rollup().catch_up(tables))
        known = store.look(lambda tables: person_named(tables, "measuring"))
        visitor = Browser(address, "" if known else session(store, "measuring", "look"))
        if known:
            link = login_link(store, address, "measuring").rpartition("/")[2]
            entered = visitor.post(f"/enter/{link}")
            visitor.secret = entered.headers["set-cookie"].partition(";")[0].partition("=")[2]
        records = store.look(lambda tables: tables.head()[0])
        print(f"{'CPU':>8} {'wall':>8} {'again':>8} {'size':>9}  page, of {records:,} records")
        for screen in screens(store):
            taken: list[tuple[float, float]] = []
            for _ in range(3):
                start, spent = time.perf_counter(), time.process_time()
                answer = visitor.get(screen)
                taken.append(((time.process_time() - spent) * 1000, (time.perf_counter() - start) * 1000))
            (cpu, wall), again = taken[0], min(taken[1:])[0]
            if cpu > MOST_MILLISECONDS or answer.status != 200:
                slow.append(f"{screen} (status {answer.status}, {cpu:.0f} ms)")
            size = len(answer.text.encode()) / 1000
            print(f"{cpu:5.0f} ms {wall:5.0f} ms {again:5.0f} ms {size:6.1f} kB  {screen}")
        if browser:
            with Chromium() as chromium:
                page = chromium.page()
                page.size(1280)
                enter(page, login_link(store, address, "measuring"))
                slow += drawn(page, address.origin, screens(store))
    print(*(f"TOO SLOW: {one}" for one in slow), sep="\n", end="\n" if slow else "")
    return not slow


def drawn(page: Any, origin: str, paths: list[str]) -> list[str]:
    """Opens each in a browser, the first with an empty cache; which were too slow or too large."""
    page.ask("Network.setCacheDisabled", cacheDisabled=True)
    wrong: list[str] = []
    for number, path in enumerate(paths):
        page.open(origin + path)
        page.wait("performance.getEntriesByName('first-contentful-paint').length")
        script = """[performance.getEntriesByName('first-contentful-paint')[0].startTime,
            performance.getEntriesByType('navigation').concat(performance.getEntriesByType('resource'))
            .reduce((sum, one) => sum + (one.transferSize || 0), 0)]"""
        painted, size = page.run(script)
        print(f"{painted:5.0f} ms to the first paint {size / 1000:6.1f} kB  {path}")
        if number == 0 and (size > FIRST[0] or painted > FIRST[1]):
            wrong.append(f"{path} in the browser ({painted:.0f} ms, {size / 1000:.0f} kB)")
        wrong += [f"{path}: {one}" for one in page.troubles()]
    return wrong


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["make", "read", "prune", "pages"])
    parser.add_argument("file")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--days", type=float, default=6.5)
    parser.add_argument("--browser", action="store_true", help="also open each page in a real browser")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    if options.what == "pages":
        return 0 if pages(options.file, options.browser) else 1
    start = time.perf_counter()
    if options.what == "read":
        read(options.file)
    if options.what == "prune":
        prune_a_day(options.file)
    if options.what == "make":
        make(options.file, options.records, options.days)
        print(f"made in {time.perf_counter() - start:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
