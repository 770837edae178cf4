"""A tier is believed only after a harmless program has worked in it and a harmful one has not."""

import errno
import os
import subprocess
import sys
from contextlib import closing
from typing import Any

import pytest

from rightcall.tools.sandbox import conversation, sandbox
from rightcall.tools.sandbox.conversation import Job, NoSandbox
from rightcall.tools.sandbox.inside import kernel
from rightcall.tools.sandbox.sandbox import Finding, Sandbox, machine, refusal
from support.every import every

WELL = '{"harmless": "4/3kept", "read": "refused", "socket": "refused", "unix": "refused", "write": "refused"}'


@pytest.mark.promise("X-06")
@every(
    ("said", "why"),
    [
        (WELL, ""),
        ("", "a harmless program did not work: it said nothing"),
        ("Traceback\nImportError: no", "a harmless program did not work: ImportError: no"),
        (WELL.replace('"read": "refused"', '"read": "done: \'secret\'"'), "the probe came out wrong: read"),
        (WELL.replace('"unix": "refused", ', ""), "the probe came out wrong: unix"),
        ("[1]", "a harmless program did not work: [1]"),
    ],
)
def test_a_tier_that_does_not_start_is_not_believed_to_stop_anything(said: str, why: str):
    assert refusal(said) == why


@pytest.mark.promise("X-06")
def test_without_isolation_nothing_runs_and_the_reasons_are_given(monkeypatch: pytest.MonkeyPatch):
    def fails(_server: object, tier: str) -> Finding:
        return Finding("landlock" if tier == "landlock" else "namespaces", "python", works=False, why="not here")

    monkeypatch.setattr(sandbox, "try_tier", fails)
    monkeypatch.setattr(kernel, "landlock_version", lambda: 0)
    with closing(Sandbox(sys.executable)) as refusing, pytest.raises(NoSandbox) as caught:
        refusing.tier()
    assert caught.value.why == (
        "Programs cannot be isolated here, so nothing runs (namespaces: not here; landlock: not here)"
    )
    assert "CONFIG_SECURITY_LANDLOCK" in caught.value.advice[-1]
    assert str(caught.value) == "\n".join([caught.value.why, *caught.value.advice])


@pytest.mark.promise("X-06")
def test_a_tier_below_the_least_is_not_even_tried(monkeypatch: pytest.MonkeyPatch):
    tried: list[str] = []

    def fails(_server: object, tier: str) -> Finding:
        tried.append(tier)
        return Finding("namespaces", "python", works=False, why="not here")

    monkeypatch.setattr(sandbox, "try_tier", fails)
    with closing(Sandbox(sys.executable, "namespaces")) as refusing, pytest.raises(NoSandbox):
        refusing.tier()
    assert tried == ["namespaces"]


@pytest.mark.promise("X-06")
def test_elsewhere_than_on_linux_it_refuses(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(NoSandbox, match="needs Linux"):
        Sandbox().tier()


def test_an_interpreter_that_is_none_is_named():
    with (
        closing(Sandbox("/no/such/python")) as refusing,
        pytest.raises(NoSandbox, match="/no/such/python for Python code was not found"),
    ):
        refusing.tier()


def test_switches_that_are_off_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: object):
    off = os.path.join(str(tmp_path), "off")
    with open(off, "w") as file:
        file.write("0\n")
    monkeypatch.setattr(conversation, "_SWITCHES", {off: ("0", "sysctl a.b=1"), off + "-absent": ("0", "sysctl c.d=1")})
    assert "For namespaces: sysctl a.b=1" in conversation.advice()
    assert not any("c.d" in line for line in conversation.advice())


def test_the_machine_is_described():
    found = machine()
    assert (found.root, found.architecture) == (os.geteuid() == 0, os.uname().machine)
    assert found.landlock == kernel.landlock_version()


def test_nothing_that_runs_inside_needs_more_than_the_library():
    """The modules of the fork server load without the package, in an interpreter without anything installed."""
    folder = os.path.dirname(kernel.__file__)
    code = (
        "import sys, types, os\n"
        "folder = sys.argv[1]\n"
        "for name in ('rightcall.tools.sandbox.inside', 'rightcall.tools.sandbox', 'rightcall.tools', "
        "'rightcall'):\n"
        "    module = types.ModuleType(name); module.__path__ = [folder]; sys.modules[name] = module\n"
        "    folder = os.path.dirname(folder)\n"
        "import rightcall.tools.sandbox.inside.server, rightcall.tools.sandbox.inside.child\n"
        "print(sorted(name for name in sys.modules if 'msgspec' in name))\n"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code, folder], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.promise("X-06")
def test_what_failed_for_a_moment_is_no_verdict_and_tried_again(monkeypatch: pytest.MonkeyPatch):
    tried: list[str] = []

    def fails_once(_server: object, tier: str) -> Finding:
        tried.append(tier)
        return Finding("namespaces", "python", works=len(tried) > 1, why=f"bind tmp: {os.strerror(errno.EMFILE)}")

    monkeypatch.setattr(sandbox, "try_tier", fails_once)
    with closing(Sandbox(sys.executable)) as lacking:
        with pytest.raises(NoSandbox, match="will be with the next program: bind tmp: Too many open files"):
            lacking.tier()
        assert lacking.tier() == "namespaces"
    assert tried == ["namespaces", "namespaces"]


def test_a_caller_without_a_descriptor_to_spare_is_told_so(monkeypatch: pytest.MonkeyPatch):
    def none(*_: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    server: Any = None  # it is not even asked
    monkeypatch.setattr(os, "pipe", none)
    with pytest.raises(NoSandbox, match="No pipes could be had for a program: Too many open files"):
        conversation.Conversation(server, Job(("/bin/true",), "/x"), "landlock", None, print)
