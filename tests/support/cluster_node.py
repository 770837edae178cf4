"""A node as a process of its own, which can be killed, paused and given a wrong clock:

    python cluster_node.py URL LEASE SKEW     does what it is told on standard input, a line each
    python cluster_node.py URL LEASE SKEW kill FOLDER STAGE NUMBER     kills itself at a stage of its second call

SKEW is by how many seconds this process's clock is wrong. Each answer is a line on standard output.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

STAGES = ("execute", "in the tool", "after the effect", "record", "present")
FREE = {"minute": 0, "hour": 0, "burst": 0}
POLICY: dict[str, Any] = {
    "policy": {"allow": ["append"], "write": "allow", "execute": "allow", "limits": {"all": FREE, "caller": FREE}}
}


class Node:
    """One of those processes, as whoever started it sees it."""

    def __init__(self, url: str, lease: float = 10, skew: float = 0, *more: str) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(one for one in sys.path if one)}
        self.process = subprocess.Popen(
            [sys.executable, __file__, url, str(lease), str(skew), *more],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip

    def tell(self, *words: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def hear(self) -> list[str]:
        assert self.process.stdout is not None
        return self.process.stdout.readline().split()

    def ask(self, *words: object) -> list[str]:
        self.tell(*words)
        return self.hear()

    def pause(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@contextmanager
def started(*nodes: Node) -> Iterator[tuple[Node, ...]]:
    """Until all of them are ready, and gone afterwards."""
    try:
        for node in nodes:
            assert node.hear() == ["ready"]
        yield nodes
    finally:
        for node in nodes:
            node.end()


def main(url: str, lease: str, skew: str, *more: str) -> None:
    _skew_clock(float(skew))
    _set_lease(float(lease))
    if more:
        _, folder, stage, number = more
        _kill_itself(url, Path(folder), stage, number)
    else:
        _obey(url)


def _skew_clock(seconds: float) -> None:
    """What the machine says it is, for everything that is loaded afterwards."""
    now, now_ns = time.time, time.time_ns
    time.time = lambda: now() + seconds
    time.time_ns = lambda: now_ns() + round(seconds * 1e9)


def _set_lease(seconds: float) -> None:
    from rightcall.record.postgres import batch, node, writer

    for module in (batch, node, writer):
        module.LEASE_SECONDS = seconds  # pyright: ignore[reportAttributeAccessIssue]
    writer.BEAT_SECONDS = min(node.BEAT_SECONDS, seconds / 4)
    writer._IDLE_SECONDS = min(1.0, seconds / 4)


def _obey(url: str) -> None:
    from rightcall.errors import StoreError
    from rightcall.record.postgres import PostgresStore
    from support.postgres_calls import begin, crowd, end

    store = PostgresStore(url)
    begun: dict[int, Any] = {}
    _say("ready")
    for line in sys.stdin:
        what, *more = line.split()
        try:
            match what:
                case "begin":
                    made = begin(store, int(more[0]))
                    begun[made.call] = made
                    _say("begun", made.call)
                case "end":
                    end(store, begun[int(more[0])])
                    _say("ended")
                case "crowd":
                    count, limit, at_once, first = map(int, more)
                    _say(asyncio.run(crowd(store, count, limit, at_once, first)))
                case "time":
                    _say(store.clock.wall())
                case _:
                    _say("what?")
        except StoreError as error:
            _say("refused", error.fault)


def _kill_itself(url: str, folder: Path, stage: str, number: str) -> None:
    from rightcall import Executor
    from rightcall.record.postgres import PostgresStore

    calls = 0

    def die(at: str) -> None:
        if at == stage and calls == 2:
            os.kill(os.getpid(), signal.SIGKILL)

    effects = os.open(folder / "effects", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    executor = Executor.open_sync(
        folder, POLICY, store=PostgresStore(url, silent_seconds=30, busy_seconds=30), on_stage=die
    )

    @executor.tool(effects=["write"])
    def append(mark: str) -> str:
        die("in the tool")
        os.write(effects, f"{mark}\n".encode())
        die("after the effect")
        return "appended"

    while calls < 3:
        calls += 1
        outcome = executor.run({"name": "append", "arguments": {"mark": f"{number}-{calls}"}}, "killer")
        if not outcome.ok:
            raise SystemExit(str(outcome.error))
    raise SystemExit(f"nobody was killed at {stage!r}")


def _say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
