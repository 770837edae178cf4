"""Python programs that attack the sandbox, and harmless ones that must not notice it.

All of them, as root and as an ordinary user, in both tiers, are run by scripts/sandbox_attacks.py; here each is run
once in each tier, and of those that take too much the most telling.
"""

import os

import pytest

from support.sandbox.attacks import chosen, ordinary_python, run_all, run_all_as_ordinary, run_bare
from support.sandbox.judging import snippets

pytestmark = [
    pytest.mark.promise("X-06"),
    pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="the sandbox needs Linux"),
]
needs_ordinary = pytest.mark.skipif(
    os.name != "posix" or ordinary_python() is None, reason="no interpreter that an ordinary user can start"
)
TELLING = (
    "fork_bomb", "memory_of_many", "memory_shared", "memory_in_files", "scratch", "output", "busy", "stopped", "daemon",
    "closed_output", "endless_start", "socket_buffers",
)  # fmt: skip


def telling() -> list[str]:
    return [f"resource_{name}.py" for name in TELLING]


def test_there_are_as_many_as_were_promised():
    count = [snippet.language for snippet in snippets()].count
    assert count("python") >= 59
    assert count("javascript") >= 35


def test_without_a_sandbox_they_do_escape():
    """A judge that never finds anything would find every sandbox good."""
    for name in ("read_by_path", "write_outside", "unix_sockets", "environment"):
        [snippet] = [one for one in snippets() if one.name == f"python/escape_{name}.py"]
        assert run_bare(snippet), name


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.long)])
def test_no_escape_gets_out_of_the_namespaces(step: int):
    wanted = chosen(["escape"], "python")[::step]
    assert {name: found for name, found in run_all("namespaces", wanted).items() if found} == {}


@pytest.mark.long
@needs_ordinary
def test_no_escape_of_an_ordinary_user_gets_past_landlock():
    found = run_all_as_ordinary("landlock", "escape", "python")
    assert len(found) >= 40
    assert {name: faults for name, faults in found.items() if faults} == {}


@pytest.mark.long
def test_harmless_programs_work_in_namespaces():
    wanted = chosen(["harmless"], "python")
    assert {name: found for name, found in run_all("namespaces", wanted).items() if found} == {}


@pytest.mark.long
@needs_ordinary
def test_harmless_programs_work_for_an_ordinary_user_with_landlock():
    found = run_all_as_ordinary("landlock", "harmless", "python")
    assert len(found) >= 20
    assert {name: faults for name, faults in found.items() if faults} == {}


@pytest.mark.long
def test_what_takes_too_much_is_ended_in_namespaces():
    wanted = [snippet for snippet in chosen(["resource"], "python") if snippet.file in telling()]
    assert len(wanted) == len(TELLING)
    assert {name: found for name, found in run_all("namespaces", wanted, at_once=6).items() if found} == {}


@pytest.mark.long
@needs_ordinary
def test_what_takes_too_much_of_an_ordinary_user_is_ended_with_landlock():
    found = run_all_as_ordinary("landlock", "resource", "python", *telling())
    assert len(found) >= len(TELLING)
    assert {name: faults for name, faults in found.items() if faults} == {}
