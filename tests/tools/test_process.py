"""Programs that work for a tool: what they may use, and that none lives on."""

import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rightcall.errors import ToolFailure
from rightcall.tools.process import Finished, Program, limit, run_program
from support.repositories import Made, ask_log, ask_show, made

pytestmark = [
    pytest.mark.promise("C-09"),
    pytest.mark.skipif(sys.platform != "linux", reason="limits from outside: only on Linux"),
]


def run(*command: str, seconds: float = 10.0, **more: Any) -> Finished:
    """It waits for a line of input, which comes when its limits are set."""
    env = {"PATH": os.environ["PATH"]}
    return run_program(Program(command, env, "/", stdin=b"go\n", **more), seconds=seconds, most=9_999)


def gone(process: int, seconds: float) -> bool:
    """Whether a process that is none of our children ends within that time."""
    try:
        watched = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watched], [], [], seconds)[0])
    finally:
        os.close(watched)


def test_seconds_and_memory_are_limited_and_no_core_is_written() -> None:
    done = run("sh", "-c", "read go; ulimit -t; ulimit -d; ulimit -c", seconds=3.2, memory=1 << 28, threads=1)
    assert done.out.split() == [b"5", b"262144", b"0"]
    done = run("sh", "-c", "read go; ulimit -Ht", seconds=3.0, threads=4)
    assert done.out.split() == [b"13"]


def test_a_limit_is_never_raised() -> None:
    command = ["sh", "-c", "ulimit -d 1000; echo set; read go; ulimit -d"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline() == b"set\n"
        limit(process.pid, 3, memory=1 << 28)
        assert process.communicate(b"go\n")[0] == b"1000\n"


def test_a_program_that_wants_more_memory_gets_none() -> None:
    code = "import sys; sys.stdin.readline(); bytearray(200 << 20)"
    assert run(sys.executable, "-I", "-S", "-c", code, memory=100 << 20).err.endswith(b"MemoryError\n")
    assert run(sys.executable, "-I", "-S", "-c", code, memory=400 << 20).code == 0


_PARENT = """
import sys
import time
from rightcall.tools.process import Program, run_program
busy = f"echo $$ > {sys.argv[1]}; while :; do :; done"
run_program(Program(["/bin/sh", "-c", busy], env={}, cwd="/", threads=1), seconds=0.5, most=9)
"""


def is_unlimited(pid: int) -> bool:
    lines = Path(f"/proc/{pid}/limits").read_text(encoding="ascii").splitlines()
    return "unlimited" in next(line for line in lines if line.startswith("Max cpu time")).split()[3]


def test_who_works_for_somebody_who_was_killed_ends_by_itself(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "begun")
    parent = subprocess.Popen([sys.executable, "-c", _PARENT, str(tmp_path / "begun")])
    try:
        child = int((tmp_path / "begun").read_text())
        while is_unlimited(child):  # it is limited right after it was started
            time.sleep(0.001)
        parent.kill()
        parent.wait()
        assert gone(child, 30)
    finally:
        parent.kill()
        parent.wait()


def test_a_program_that_cannot_be_started_is_named() -> None:
    with pytest.raises(ToolFailure, match=r"^nothing could not be started: No such file or directory$"):
        run("/nope/nothing")


@pytest.fixture
def bomb(tmp_path: Path) -> Made:
    """A commit that is small and changes a billion files, on top of one that changes one."""
    it = made(tmp_path / "bomb")
    it.commit("small", a="1\n")
    blob = it.git("hash-object", "-w", "--stdin", input=b"x\n")
    tree = it.git("mktree", input="".join(f"100644 blob {blob}\tf{number}\n" for number in range(10)).encode())
    for _ in range(8):
        tree = it.git("mktree", input="".join(f"040000 tree {tree}\td{number}\n" for number in range(10)).encode())
    it.git("update-ref", "refs/heads/main", it.git("commit-tree", tree, "-p", "HEAD", "-m", "bomb"))
    return it


@pytest.mark.long
@pytest.mark.promise("C-08")
def test_a_commit_that_is_made_to_fill_the_memory_is_told_as_such(bomb: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rightcall.tools.git.run._MEMORY", 64 << 20)
    with pytest.raises(
        ToolFailure, match=r"^This needs too much memory: .*; ask for fewer commits .* or for one path$"
    ):
        ask_log(bomb.folder)
    with pytest.raises(ToolFailure, match=r"^This needs too much memory: .* with code/diff and paths$"):
        ask_show(bomb.folder, commit="HEAD")
    assert [commit["message"] for commit in ask_log(bomb.folder, path="a")["commits"]] == ["bomb", "small"]
    assert ask_show(bomb.folder, commit="HEAD~1")["commit"]["filesChanged"] == ["a"]


def test_what_a_program_has_started_ends_with_it() -> None:
    done = run("sh", "-c", "sleep 300 & echo $!; wait", seconds=0.5)
    assert done.late
    assert gone(int(done.out), 60)
