"""The first process of a run in namespaces is confined as the program is, before there is a program."""

import os
from contextlib import closing
from pathlib import Path

import pytest

from execute.sandbox.running import PLACE
from rightcall.execute.sandbox.inside.watching import descendants
from rightcall.execute.sandbox.sandbox import Sandbox
from rightcall.execute.sandbox.types import Job, NoSandbox


@pytest.mark.promise("X-06")
def test_pid_1_has_the_filter_and_cannot_be_looked_into():
    with closing(Sandbox(only="namespaces")) as sandbox:
        try:
            sandbox.tier()
        except NoSandbox as error:
            pytest.skip(str(error))
        seen: list[tuple[str, bool]] = []

        def look(_stream: str, _part: bytes) -> None:
            for pid in descendants(os.getpid()):
                status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
                if len(status["NSpid"].split()) > 1:
                    undumpable = os.stat(f"/proc/{pid}/environ").st_uid != int(status["Uid"].split()[0])
                    seen.append((f"{status['NSpid'].split()[-1]} {status['Seccomp']}", undumpable))

            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            sandbox.run(Job(("/bin/sh", "-c", "echo begun; sleep 9"), PLACE), out=look)
        assert [each for each in seen if each[0].startswith("1 ")] == [("1 2", True)]
        assert {each[0].partition(" ")[2] for each in seen} == {"2"}
