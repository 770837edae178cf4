"""`rightcall sandbox doctor`: which isolation works on this machine, tried with a harmless program and with attacks."""

import os
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import closing
from statistics import median
from time import perf_counter
from typing import Any, Literal, get_args

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from rightcall.cli import OK, REFUSED
from rightcall.cli.output import is_unicode, json_text
from rightcall.cli.sandbox_canaries import CANARIES, Canary, World, world
from rightcall.cli.sandbox_run import settings_of
from rightcall.cli.terminal import Style, say, style_for
from rightcall.config_hands import SandboxSettings
from rightcall.errors import ToolFailure
from rightcall.execute.sandbox.charts import LIBRARY, library_version
from rightcall.execute.sandbox.languages import PLACE, Language, code_for, file_name, job_for
from rightcall.execute.sandbox.sandbox import Sandbox
from rightcall.execute.sandbox.types import Ended, Job, NoSandbox, Tier
from rightcall.text.escape import escaped

_TIMED = 5
_HELLO: dict[Language, str] = {"python": "print('hello')", "javascript": "console.log('hello')"}
Verdict = Literal["stopped", "NOT STOPPED", "could not be tried"]


class Tried(Struct, frozen=True):
    """One attack."""

    name: str
    attack: str
    verdict: Verdict


class Examined(Struct, frozen=True, rename="camel"):
    """One tier. Times are milliseconds from the call to the first output; absent where it does not run."""

    tier: Tier
    works: bool
    why: str = ""
    advice: tuple[str, ...] = ()
    python: float | None = None
    javascript: float | None = None
    javascript_why: str = ""
    groups: Mapping[str, int] = {}
    """What control groups limit, and the version of their interface."""
    attacks: tuple[Tried, ...] = ()

    @property
    def keeps(self) -> bool:
        return self.works and all(one.verdict == "stopped" for one in self.attacks)


def examine(options: Namespace) -> int:
    """0 where the tier that programs get here works and stops everything."""
    settings = settings_of(options)
    with world() as around:
        tiers = [_examined(tier, settings, around) for tier in get_args(Tier)]
    used = _used(tiers, settings)
    good = used is not None and used.keeps
    if options.json:
        found: dict[str, Any] = {"works": good, "tier": used.tier if used else None, "machine": machine(used)}
        found["tiers"] = to_builtins(tiers)
        say(json_text(found, ascii_only=not is_unicode(sys.stdout)))
    else:
        say(*_report(tiers, used, settings, style_for(sys.stdout)))
    return OK if good else REFUSED


def _used(tiers: list[Examined], settings: SandboxSettings) -> Examined | None:
    """The tier that a program gets: the better one, if it works; the other one only where the policy lets it."""
    will_do = tiers[: 1 + list(get_args(Tier)).index(settings.tier)]
    return next((one for one in will_do if one.works), None)


def _examined(tier: Tier, settings: SandboxSettings, around: World) -> Examined:
    with closing(Sandbox(settings.python, tier, only=tier)) as sandbox:
        try:
            sandbox.tier()
            python = _timed(sandbox, settings, "python")
            attacks = tuple(_tried(sandbox, settings, canary, around) for canary in CANARIES)
        except NoSandbox as fault:
            return Examined(tier, works=False, why=fault.why, advice=fault.advice)
        except ToolFailure as fault:
            return Examined(tier, works=False, why=str(fault))
        try:
            javascript, why = _timed(sandbox, settings, "javascript"), ""
        except ToolFailure as fault:
            javascript, why = None, str(fault)
        return Examined(tier, True, "", (), python, javascript, why, sandbox.groups, attacks)


def _timed(sandbox: Sandbox, settings: SandboxSettings, language: Language) -> float:
    """Raises ToolFailure where a harmless program does not work: then what else does not work proves nothing."""
    times: list[float] = []
    for _ in range(_TIMED):
        heard: list[float] = []
        began = perf_counter()
        ended, printed = _run(sandbox, _job(settings, language, _HELLO[language]), heard)
        if ended.code != 0 or printed.splitlines()[:1] != ["hello"]:
            how = f"exit {ended.code}" if ended.signal is None else f"signal {ended.signal}"
            raise ToolFailure(f"a harmless program does not work: {how}: {escaped(printed, 300)}")
        times.append((heard[0] - began) * 1000)
    return round(median(times), 1)


def _tried(sandbox: Sandbox, settings: SandboxSettings, canary: Canary, around: World) -> Tried:
    job = _job(settings, "python", canary.code, around.told)
    _, printed = _run(sandbox, replace(job, limits=canary.limits))
    found = canary.found(around, printed)
    began = printed.startswith("began")
    verdict: Verdict = "NOT STOPPED" if found else "stopped" if began else "could not be tried"
    return Tried(canary.name, canary.attack, verdict)


def _job(settings: SandboxSettings, language: Language, code: str, arguments: tuple[str, ...] = ()) -> Job:
    file = code_for(file_name(language, code), code.encode(), *settings.visible)
    return job_for(language, settings, PLACE, file, arguments)


def _run(sandbox: Sandbox, job: Job, heard: list[float] | None = None) -> tuple[Ended, str]:
    """How it ended and what it printed; `heard` gets the moments at which it did."""
    parts: list[bytes] = []

    def hear(_stream: str, part: bytes) -> None:
        parts.append(part)
        if heard is not None:
            heard.append(perf_counter())

    ended = sandbox.run(job, out=hear)
    return ended, b"".join(parts).decode(errors="replace")


def machine(used: Examined | None) -> dict[str, Any]:
    """What isolation is made of here, by what was tried: what the system says of itself need not hold for us."""
    from rightcall.execute.sandbox import probe

    found = probe.machine()
    return {
        "kernel": found.kernel,
        "architecture": found.architecture,
        "landlock": found.landlock,
        "userNamespaces": _user_namespaces(),
        "cgroup": _cgroups(used),
        "root": found.root,
        "python": sys.version.split()[0],
        "node": shutil.which("node") or "",
        "charts": library_version(),
    }


_UNSHARING = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
for step, flag in enumerate((0x10000000, 0x00020000)):
    if libc.unshare(flag): sys.exit(100 * step + ctypes.get_errno())
"""
"""One of users, then one of mounts in it, for which it must give rights."""


def _user_namespaces() -> str:
    """Tried in a process of its own."""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", _UNSHARING], capture_output=True, check=False)
    step, error = divmod(done.returncode, 100)
    if not done.returncode:
        return "can be made"
    return f"{'can be made, but give no rights' if step else 'cannot be made'} ({os.strerror(error)})"


def _cgroups(used: Examined | None) -> str:
    if used is None:
        return "not tried, as nothing runs"
    words = {"memory": "memory", "pids": "processes"}
    made = [f"{words[kind]} (v{version})" for kind, version in used.groups.items()]
    return f"made for {' and '.join(made)}" if made else "cannot be made: memory is counted instead"


def _report(
    tiers: list[Examined], used: Examined | None, settings: SandboxSettings, style: Style
) -> Iterator[str]:  # fmt: skip
    about = machine(used)
    landlock = f"Landlock ABI {about['landlock']}" if about["landlock"] else "no Landlock"
    who = "as root" if about["root"] else "as an ordinary user"
    yield f"machine: Linux {escaped(about['kernel'])} {about['architecture']}, {landlock}, {who}"
    drawn = f"{LIBRARY} {about['charts']}" if about["charts"] else "not installed: pip install 'rightcall[charts]'"
    yield f"  user namespaces: {about['userNamespaces']}; control groups: {about['cgroup']}"
    yield f"  charts: {drawn}"
    for one in tiers:
        yield ""
        yield from _tier_lines(one, style)
    yield ""
    if used is None:
        wanted = ", and the policy wants namespaces" if settings.tier == "namespaces" else ""
        yield style.tint(f"No sandbox works here{wanted}: code is refused, it never runs without one.", "red")
    elif used.keeps:
        yield style.tint(
            f"The sandbox works: programs run in the tier {used.tier}, and every attack was stopped.", "green"
        )
    else:
        yield style.tint(f"The tier {used.tier} does not stop everything: do not trust it with code of others.", "red")


def _tier_lines(one: Examined, style: Style) -> Iterator[str]:
    name = style.tint(one.tier, "bold")
    if not one.works:
        yield f"{name}: {style.tint('does not work here', 'yellow')}: {escaped(one.why)}"
        yield from (f"  {escaped(line)}" for line in one.advice)
        return
    yield f"{name}: {style.tint('works', 'green')}"
    yield f"  Python starts in {one.python:g} ms"
    if one.javascript is not None:
        yield f"  JavaScript starts in {one.javascript:g} ms"
    else:
        yield f"  JavaScript: {escaped(one.javascript_why)}"
    width = max(len(tried.attack) for tried in one.attacks)
    for tried in one.attacks:
        tint = "green" if tried.verdict == "stopped" else "red"
        yield f"  {tried.attack:<{width}}  {style.tint(tried.verdict, tint)}"
