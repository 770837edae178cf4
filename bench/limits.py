"""What the profile pointed at, each row with its limit: `python -m bench.limits`.

CPU time, the least of several runs; a ratio is taken between runs that took turns. `code` has its own rows in
`python -m bench code`, and many lines theirs in `python -m bench.batch`.
"""
# pyright: reportMissingImports=false
# (orjson is installed by `make bench` only, in an environment of its own)

import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jsonschema_rs

from bench.before import _cpu as cpu_of
from bench.before import _environment as environment
from bench.route_tools import made_up
from bench.table import Figure, micro, render
from bench.timing import best, one_core
from rightcall import Executor, Gate, Router, SqliteStore, tool

HERE = Path(__file__).parent.parent
TOOLS, CANDIDATES = 7_000, 50_000
EVENT = {
    "session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls -la src"},
    "tool_use_id": "t",
}  # fmt: skip
CALLS = 200
USUAL_FSYNC = 0.0004
FSYNCS = 2
"""Of a call: when it begins and when it ends."""
EDIT: dict[str, Any] = {
    "type": "object",
    "required": ["items"],
    "additionalProperties": False,
    "properties": {
        "title": {"type": "string"},
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "properties": {"path": {"type": "string"}, "line": {"type": "integer"}, "url": {"type": "string"}},
            },
        },
    },
}


def nested() -> Iterator[Figure]:
    """Right arguments as JSON text, with colons in the values: nothing may stand twice in them."""
    if not find_spec("orjson"):
        yield Figure("right nested JSON text", "", "no orjson: make bench installs it", "", "<= 3 x", None)
        return
    import orjson

    valid = jsonschema_rs.validator_for(EDIT).is_valid
    gate = Gate([{"name": "edit", "parameters": EDIT}])
    for count in (3, 30):
        items = [{"path": f"src/{n}.py", "line": n, "url": f"https://example.org:80/{n}"} for n in range(count)]
        text = json.dumps({"title": "Fix: a thing", "items": items})
        taken = best({"check": lambda: gate.check("edit", text), "peer": lambda: valid(orjson.loads(text))}, 25)  # noqa: B023
        ratio = taken["check"] / taken["peer"]
        what = f"right nested JSON text of {len(text):,} characters: check / orjson.loads + is_valid"
        yield Figure(what, micro(taken["check"]), micro(taken["peer"]), f"{ratio:.2f} x", "<= 3 x", ratio <= 3)


def starting() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rightcall.toml").write_text("")
        subprocess.run([sys.executable, "-m", "compileall", "-q", str(HERE / "src")], check=True)
        env = environment(HERE, folder, 0)
        python = [sys.executable, "-c"]
        bare = cpu_of([*python, "pass"], folder, env)
        event = json.dumps({**EVENT, "cwd": name})
        opened = "from rightcall import Executor; Executor.open_sync(store='memory').close()"
        hook = [sys.executable, "-m", "rightcall.cli", "hook", "claude", "--policy", "rightcall.toml"]
        for what, command, sent, limit in (
            ("from rightcall import Gate", [*python, "from rightcall import Gate"], "", 0.055),
            ("Executor.open_sync", [*python, opened], "", 0.100),
            ("rightcall hook claude", hook, event, 0.070),
        ):
            taken = cpu_of(command, folder, env, sent)
            wanted = f"<= {limit * 1e3:.0f} ms"
            yield Figure(what, micro(taken), f"{micro(bare)} bare", f"{taken / bare:.1f} x", wanted, taken <= limit)


def first_words() -> Iterator[Figure]:
    gate = Gate([{"name": "get_weather", "parameters": {"type": "object"}}])
    words = ["Hello", "The", "I", "Sure!", "Certainly", "It", "Weather", "Yes,"]
    held = [word for word in words if gate.stream().push(word) != [word]]
    yield Figure("first words held back that begin no call", str(len(held)), "", "", "0", not held)


def unknown() -> Iterator[Figure]:
    verbs, nouns = ("get", "list", "create", "update", "delete"), ("user", "invoice", "order", "ticket", "message")
    names = [f"{verb}_{noun}_{number}" for number in range(TOOLS // 25) for verb in verbs for noun in nouns]
    gate = Gate([{"name": name, "parameters": {"type": "object"}} for name in names])
    gate.check("warm_up_the_names", {})
    wrong = [f"creat_invoic_{number}_x" for number in range(40)]
    least = min(_taken(lambda name=name: gate.check(name, {})) for name in wrong)
    yield Figure(f"an unknown tool among {TOOLS:,}", micro(least), "", "", "<= 5 ms", least <= 0.005)


def candidates() -> Iterator[Figure]:
    tools, texts = made_up()
    rounds = range(CANDIDATES // len(tools) + 1)
    many = [{**one, "name": f"{one['name']}_{number}"} for number in rounds for one in tools][:CANDIDATES]
    router = Router(many)
    for text in texts[:40]:  # a tool is read closely when it is first found
        router.candidates(text)
    taken = sorted(_taken(lambda text=text: router.candidates(text)) for text in texts[:40])
    median = taken[len(taken) // 2]
    yield Figure(f"candidates among {CANDIDATES:,} tools", micro(median), "", "", "<= 15 ms", median <= 0.015)


def durable() -> Iterator[Figure]:
    """One caller, one call after the other, each with two records on the disk; wall time, since it waits for it."""

    @tool(effects=["read"])
    def count(text: str) -> int:
        """Counts letters."""
        return len(text)

    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(str(Path(folder) / "audit.db"))
        often = {"minute": 1_000_000, "hour": 1_000_000, "burst": 1_000_000}
        policy = {"policy": {"limits": {"caller": often, "all": often}}}
        with Executor.open_sync(folder, policy, store=store, tools=[count]) as executor:
            least, waited = 1.0, 1.0
            for turn in range(3):
                began = time.perf_counter()
                for number in range(CALLS):
                    outcome = executor.run({"name": "count", "arguments": {"text": f"{turn} {number}"}})
                    assert outcome.ok, outcome.error
                least = min(least, (time.perf_counter() - began) / CALLS)
                waited = min(waited, _fsync(Path(folder)))
        store.close()
    fits = waited <= 1.5 * USUAL_FSYNC
    without = least - FSYNCS * waited  # what is not waiting for the disk
    usual = "" if fits else ": not measured"
    if not fits and without > 0:  # else the disk was slower or faster between the two
        usual += f"; by this one about {1 / (without + FSYNCS * USUAL_FSYNC):,.0f}"
    yield Figure(
        f"calls a second of one durable caller, where fsync takes {USUAL_FSYNC * 1e3} ms",
        f"{1 / least:,.0f}",
        f"fsync {waited * 1e3:.1f} ms{usual}",
        "",
        ">= 600",
        1 / least >= 600 if fits else None,
    )


def _fsync(folder: Path) -> float:
    """Seconds that a small write takes until it is on the disk."""
    with open(folder / "file", "ab", buffering=0) as file:
        began = time.perf_counter()
        for _ in range(50):
            file.write(b"x" * 4096)
            os.fdatasync(file.fileno())
        return (time.perf_counter() - began) / 50


def _taken(action: Any) -> float:
    began = time.process_time()
    action()
    return time.process_time() - began


PARTS = {
    "nested": nested, "start": starting, "stream": first_words, "unknown": unknown, "candidates": candidates,
    "durable": durable,
}  # fmt: skip


def main() -> int:
    one_core()
    logging.disable()
    found = [figure for part in sys.argv[1:] or PARTS for figure in PARTS[part]()]
    print(render(found))
    return 0 if all(figure.met is not False for figure in found) else 1


if __name__ == "__main__":
    sys.exit(main())
