"""The first process of a run in namespaces is confined as the program is, before there is a program."""

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from unittest.mock import Mock

import pytest

from rightcall.tools.sandbox.conversation import Job, NoSandbox
from rightcall.tools.sandbox.inside import child, kernel
from rightcall.tools.sandbox.inside.cleanup import descendants
from rightcall.tools.sandbox.sandbox import Sandbox
from support.sandbox.traces import PLACE


@pytest.fixture(scope="module")
def namespaces() -> Iterator[Sandbox]:
    with closing(Sandbox(only="namespaces")) as sandbox:
        try:
            sandbox.tier()
        except NoSandbox as error:
            pytest.skip(str(error))
        yield sandbox


@pytest.mark.promise("X-06")
def test_pid_1_has_the_filter_and_cannot_be_looked_into(namespaces: Sandbox):
    seen: list[tuple[str, bool]] = []

    def look(_stream: str, _part: bytes) -> None:
        for pid in descendants(os.getpid()):
            status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
            if len(status["NSpid"].split()) > 1:
                undumpable = os.stat(f"/proc/{pid}/environ").st_uid != int(status["Uid"].split()[0])
                seen.append((f"{status['NSpid'].split()[-1]} {status['Seccomp']}", undumpable))

        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        namespaces.run(Job(("/bin/sh", "-c", "echo begun; sleep 9"), PLACE), out=look)
    assert [each for each in seen if each[0].startswith("1 ")] == [("1 2", True)]
    assert {each[0].partition(" ")[2] for each in seen} == {"2"}


@pytest.mark.promise("X-06")
def test_a_program_that_interrupts_pid_1_at_once_ends_as_it_would(namespaces: Sandbox):
    for _ in range(30):
        ended = namespaces.run(Job(("/bin/sh", "-c", "kill -INT 1; exit 3"), PLACE), out=lambda _stream, _part: None)
        assert (ended.code, ended.limits) == (3, ())


def test_pid_1_handles_no_interrupt_before_there_is_a_program_to_send_one(monkeypatch: pytest.MonkeyPatch):
    """Else a program that is quick enough would end its own run."""
    for name in ("enter_new_root", "_give_up", "_restrict", "_wait_for_go", "_filter_calls"):
        monkeypatch.setattr(child, name, Mock(return_value=7))
    for name in ("unshare", "set_dumpable"):
        monkeypatch.setattr(kernel, name, Mock())
    handled: list[object] = []
    monkeypatch.setattr(os, "fork", lambda: handled.append(signal.getsignal(signal.SIGINT)) or 0)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert child.become_first(Mock()) == 7
    finally:
        signal.signal(signal.SIGINT, before)
    assert handled == [signal.SIG_DFL]
