"""Makes an audit of a million records as they come about in real use, and times every read of it that a page needs.

python scripts/records.py make FILE [--records N] [--days N]     about 20 µs a record
python scripts/records.py read FILE                              each read, in milliseconds
"""

import argparse
import random
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from rightcall.cli.stats import look
from rightcall.record.analytics import tool_usage
from rightcall.record.calls import Period
from rightcall.record.figures import By, count_waiting, read_overview, read_series
from rightcall.record.listing import ANY_REPAIR, CallQuery, list_calls
from rightcall.record.notes import note_message
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import CallBody, EndBody, ManualClock, Tables, encode, written

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


def make(path: Path, records: int, days: float) -> None:
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

    with closing(SqliteStore(path, clock)) as store:
        while store.transact(some):
            """The next ones."""


def reads(store: SqliteStore) -> Iterator[tuple[str, Callable[[], object]]]:
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


def read(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
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


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["make", "read"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--days", type=float, default=6.5)
    return parser.parse_args()


def main() -> None:
    options = arguments()
    start = time.perf_counter()
    if options.what == "read":
        read(options.file)
    if options.what == "make":
        make(options.file, options.records, options.days)
        print(f"made in {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
