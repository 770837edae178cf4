"""Many texts in many processes: the same readings in the same order, whatever happens to a process."""

import os
import pickle
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rightcall import Gate
from rightcall.batch import BatchError, map_ordered, read_texts
from rightcall.batch.pool import MOST_WORKERS
from rightcall.cli import options
from support.every import every

pytestmark = pytest.mark.promise("S-05")

FORECAST = {"name": "forecast", "parameters": {"type": "object", "properties": {"days": {"type": "integer"}}}}


def text(number: int) -> str:
    return f"<tool_call>{{'name': 'forecast', 'arguments': {{'days': '{number}',}}}}</tool_call> {number}"


def test_texts_are_read_in_two_processes_as_in_this_one() -> None:
    gate = Gate([FORECAST])
    texts: list[Any] = [text(number) for number in range(50)]
    texts[7:9] = [None, {"role": "assistant", "content": text(1)}]
    assert list(read_texts(gate, texts, workers=2, chunk=4)) == gate.read_many(texts)


@every(
    "wrong",
    [{"workers": 0}, {"workers": -1}, {"workers": True}, {"workers": MOST_WORKERS + 1}, {"chunk": 0}, {"chunk": -5},
     {"chunk": "many"}, {"chunk": True}],
)  # fmt: skip
def test_a_number_that_makes_no_sense_is_refused_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="is a whole number, 1 or more"):
        read_texts(Gate(), ["a"], **wrong)


def test_the_command_takes_as_many_workers() -> None:
    assert options._MOST_WORKERS == MOST_WORKERS  # that module imports little


def test_few_texts_are_held_at_a_time() -> None:
    taken: list[int] = []

    def endless() -> Any:
        for number in range(10_000):
            taken.append(number)
            yield text(number)

    readings = read_texts(Gate([FORECAST]), endless(), workers=2, chunk=2)
    assert next(readings).calls[0].call == Gate([FORECAST]).read(text(0)).calls[0].call
    assert len(taken) < 20
    readings.close()  # type: ignore[attr-defined]


def test_a_gate_that_cannot_be_carried_says_so_before_a_process_is_started() -> None:
    with pytest.raises(TypeError, match=r"a Gate with `on_event`.* cannot be pickled"):
        next(read_texts(Gate(on_event=lambda event: None), ["a"], workers=2))


def end_at(fatal: int, number: int) -> int:
    if number == fatal:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def prepare(fatal: int) -> Any:
    return partial(end_at, fatal)


def test_a_worker_that_is_killed_ends_the_run_with_what_was_done_before_it() -> None:
    done: list[int] = []
    with pytest.raises(BatchError, match="a worker process ended"):
        done.extend(map_ordered(partial(prepare, 15), range(100), 2))
    assert done == list(range(len(done)))
    assert len(done) <= 15


def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, sys, time\n"
        "from functools import partial\n"
        "from rightcall.batch import map_ordered\n"
        "def work(number): return os.getpid() if number < 4 else time.sleep(600)\n"
        "def prepare(): return work\n"
        "if __name__ == '__main__':\n"
        "    for pid in map_ordered(prepare, range(8), 2): print(pid, flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    workers = {int(process.stdout.readline()) for _ in range(2)}
    process.kill()
    process.wait()
    process.stdout.close()
    ends = time.monotonic() + 30
    while any(map(is_alive, workers)) and time.monotonic() < ends:
        time.sleep(0.02)
    assert not any(map(is_alive, workers))


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_what_a_worker_gets_is_small() -> None:
    assert len(pickle.dumps(Gate([FORECAST]))) < 10_000
