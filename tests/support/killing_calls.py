"""Kill a process at every stage of a call, again and again, and look at what it left behind.

    PYTHONPATH=tests python -m support.killing_calls [--times 100]

A child process opens an executor on a real file and appends a token of its own to a file (the side effect) in each
call. At a chosen stage it kills itself with SIGKILL; `anywhere` is a kill from outside at a random moment. Then the
parent opens the same store and asks: did anything run without a record? Was anything run twice? Does the chain verify?
Does the call that was killed show as interrupted?
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from rightcall import Executor, SqliteStore
from rightcall.record.tables import read_call, read_end
from rightcall.record.verify import verify_audit

STAGES = ("check", "authorise", "execute", "in the tool", "after the effect", "record", "present", "anywhere")
FREE = {"minute": 0, "hour": 0, "burst": 0}
POLICY = {
    "policy": {
        "allow": ["append"],
        "write": "allow",
        "execute": "allow",
        "limits": {"all": FREE, "caller": FREE},
    }
}
CALLS = 3


def child(folder: Path, stage: str, number: int) -> None:
    """Runs until it is killed; never returns."""
    calls = 0

    def die(at: str) -> None:
        if at == stage and calls == CALLS:
            os.kill(os.getpid(), signal.SIGKILL)

    effects = os.open(folder / "effects", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    executor = Executor.open_sync(folder, POLICY, on_stage=die)

    @executor.tool(effects=["write"])
    def append(mark: str) -> str:
        die("in the tool")
        os.write(effects, f"{mark}\n".encode())
        die("after the effect")
        return "appended"

    while True:
        calls += 1
        outcome = executor.run({"name": "append", "arguments": {"mark": f"{number}-{calls}"}}, "killer")
        if not outcome.ok:
            os.write(2, f"{outcome.error}\n".encode())
            os._exit(3)


def killed(folder: Path, stage: str, number: int, chance: random.Random) -> None:
    process = os.fork()
    if process == 0:
        try:
            child(folder, stage, number)
        finally:
            os._exit(4)  # whatever happened, the child never goes on as the parent
    if stage == "anywhere":
        time.sleep(0.02 + chance.random() * 0.08)
        os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    if not os.WIFSIGNALED(status):
        raise SystemExit(f"the child was not killed at {stage!r} but ended with {os.waitstatus_to_exitcode(status)}")


def faults(folder: Path, stage: str, number: int) -> tuple[list[str], str | None]:
    """What is wrong with what was left behind, and the status of the last call."""
    effects = (folder / "effects").read_text().split()
    store = SqliteStore(str(folder / ".rightcall" / "audit.db"))
    try:
        entries = store.look(lambda tables: list(tables.entries()))
        checked = store.look(verify_audit)
        still = store.look(lambda tables: tables.running())
    finally:
        store.close()
    begun = {entry.seq: read_call(entry.body).params["mark"] for entry in entries if entry.kind == "begin"}
    ends = Counter(entry.call for entry in entries if entry.kind == "end")
    states = {entry.call: read_end(entry.body).status for entry in entries if entry.kind == "end"}
    wrong = [f"{token} ran without a record" for token in effects if token not in begun.values()]
    wrong += [f"{token} ran {times} times" for token, times in Counter(effects).items() if times > 1]
    wrong += [f"the chain is broken: {checked.problem}"] if not checked.ok else []
    wrong += [f"call {seq} has {ends[seq]} ends" for seq in begun if ends[seq] != 1]
    wrong += [f"call {seq} shows as running" for seq in still]
    for seq, token in begun.items():
        if states.get(seq) == "success" and token not in effects:
            wrong.append(f"{token} is recorded as a success and did not happen")
    last = states.get(max(begun, default=0))
    expected = stage in ("execute", "in the tool", "after the effect", "record")
    if expected and last != "interrupted":
        wrong.append(f"killed at {stage!r}, and the call shows as {last}")
    return [f"{stage} {number}: {fault}" for fault in wrong], last


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=100)
    options = parser.parse_args()
    chance = random.Random(1)
    report: dict[str, dict[str, int]] = {}
    wrong: list[str] = []
    for stage in STAGES:
        last: Counter[str] = Counter()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "effects").touch()
            for number in range(options.times):
                killed(folder, stage, number, chance)
                found, status = faults(folder, stage, number)
                wrong += found
                last[str(status)] += 1
        report[stage] = dict(last)
        sys.stdout.write(f"{stage:<18} killed {options.times} times; the last call then shows as {dict(last)}\n")
    sys.stdout.write(json.dumps({"kills": options.times * len(STAGES), "faults": wrong[:10]}) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
