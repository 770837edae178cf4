"""`rightcall sandbox doctor`: which isolation works on this machine, tried with a harmless program and with attacks."""

import shutil
import sys
from argparse import Namespace
from collections.abc import Iterator
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
from rightcall.execute.sandbox.languages import PLACE, Language, code_for, file_name, job_for
from rightcall.execute.sandbox.sandbox import Sandbox
from rightcall.execute.sandbox.types import Ended, Limits, NoSandbox, Tier
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
        found: dict[str, Any] = {"works": good, "tier": used.tier if used else None, "machine": machine()}
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
        return Examined(tier, True, "", (), python, javascript, why, attacks)


def _timed(sandbox: Sandbox, settings: SandboxSettings, language: Language) -> float:
    """Raises ToolFailure where a harmless program does not work: then what else does not work proves nothing."""
    times: list[float] = []
    for _ in range(_TIMED):
        heard: list[float] = []
        began = perf_counter()
        ended, printed = _run(sandbox, settings, _HELLO[language], language, heard=heard)
        if ended.code != 0 or printed.splitlines()[:1] != ["hello"]:
            how = f"exit {ended.code}" if ended.signal is None else f"signal {ended.signal}"
            raise ToolFailure(f"a harmless program does not work: {how}: {escaped(printed, 300)}")
        times.append((heard[0] - began) * 1000)
    return round(median(times), 1)


def _tried(sandbox: Sandbox, settings: SandboxSettings, canary: Canary, around: World) -> Tried:
    _, printed = _run(sandbox, settings, canary.code, "python", around.told, canary.limits)
    found = canary.found(around, printed)
    began = printed.startswith("began")
    verdict: Verdict = "NOT STOPPED" if found else "stopped" if began else "could not be tried"
    return Tried(canary.name, canary.attack, verdict)


def _run(
    sandbox: Sandbox, settings: SandboxSettings, code: str, language: Language, arguments: tuple[str, ...] = (),
    limits: Limits | None = None, heard: list[float] | None = None,
) -> tuple[Ended, str]:  # fmt: skip
    """How it ended and what it printed; `heard` gets the moments at which it did."""
    parts: list[bytes] = []

    def hear(_stream: str, part: bytes) -> None:
        parts.append(part)
        if heard is not None:
            heard.append(perf_counter())

    file = code_for(file_name(language, code), code.encode(), *settings.visible)
    job = job_for(language, settings, PLACE, file, arguments)
    ended = sandbox.run(replace(job, limits=limits) if limits is not None else job, out=hear)
    return ended, b"".join(parts).decode(errors="replace")


def machine() -> dict[str, Any]:
    """What isolation is made of here."""
    from rightcall.execute.sandbox import probe

    found = probe.machine()
    return {
        "kernel": found.kernel,
        "architecture": found.architecture,
        "landlock": found.landlock,
        "userNamespaces": _user_namespaces(),
        "cgroup": _cgroups(),
        "root": found.root,
        "python": sys.version.split()[0],
        "node": shutil.which("node") or "",
    }


def _user_namespaces() -> str:
    most = _setting("user/max_user_namespaces")
    closed = _setting("kernel/unprivileged_userns_clone") == "0"
    kept = _setting("kernel/apparmor_restrict_unprivileged_userns") == "1"
    if most in ("", "0"):
        return "none"
    return "only for root" if closed else "restricted by AppArmor" if kept else "yes"


def _setting(name: str) -> str:
    try:
        with open(f"/proc/sys/{name}", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def _cgroups() -> str:
    try:
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            lines = [line.split(":", 2) for line in file.read().splitlines()]
    except OSError:
        return "none"
    first = any("memory" in line[1].split(",") for line in lines if len(line) == 3)
    return "v1, with memory" if first else "v2" if any(line[:2] == ["0", ""] for line in lines) else "none"


def _report(
    tiers: list[Examined], used: Examined | None, settings: SandboxSettings, style: Style
) -> Iterator[str]:  # fmt: skip
    about = machine()
    landlock = f"Landlock ABI {about['landlock']}" if about["landlock"] else "no Landlock"
    who = "as root" if about["root"] else "as an ordinary user"
    yield f"machine: Linux {escaped(about['kernel'])} {about['architecture']}, {landlock}, {who}"
    yield f"  user namespaces: {about['userNamespaces']}; cgroup: {about['cgroup']}"
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
