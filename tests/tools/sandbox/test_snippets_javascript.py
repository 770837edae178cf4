"""JavaScript programs that attack the sandbox, and harmless ones that must not notice it; see test_snippets_python."""

import os
import shutil

import pytest

from support.sandbox.attacks import chosen, ordinary_python, run_all, run_all_as_ordinary

pytestmark = [
    pytest.mark.promise("X-06"),
    pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="the sandbox needs Linux"),
    pytest.mark.skipif(shutil.which("node") is None, reason="there is no node"),
]
needs_ordinary = pytest.mark.skipif(
    os.name != "posix" or ordinary_python() is None, reason="no interpreter that an ordinary user can start"
)
TELLING = ("resource_memory.js", "resource_busy.js", "resource_processes.js", "resource_daemon.js")


@pytest.mark.long
def test_no_escape_gets_out_and_harmless_programs_work_in_namespaces():
    wanted = chosen(["escape", "harmless"], "javascript")
    assert {name: found for name, found in run_all("namespaces", wanted).items() if found} == {}


@pytest.mark.long
@needs_ordinary
def test_no_escape_of_an_ordinary_user_gets_past_landlock_and_harmless_programs_work():
    found = run_all_as_ordinary("landlock", "escape,harmless", "javascript")
    assert len(found) >= 30
    assert {name: faults for name, faults in found.items() if faults} == {}


@pytest.mark.long
def test_what_takes_too_much_is_ended():
    wanted = [snippet for snippet in chosen(["resource"], "javascript") if snippet.file in TELLING]
    assert len(wanted) == len(TELLING)
    assert {name: found for name, found in run_all("namespaces", wanted, at_once=4).items() if found} == {}
