"""Run a program in the sandbox, or find out whether the sandbox works here. `run` is your own command: the policy's
stage and dry run do not apply to it. No network, no files but a scratch folder; what the program prints comes as it
comes, and its exit status is the command's."""

import os
import shutil
import subprocess
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from functools import partial
from shlex import quote
from statistics import median
from time import perf_counter
from typing import Any, Literal, get_args

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from rightcall.base.text import escaped
from rightcall.cli import OK, REFUSED
from rightcall.cli.options import SHARED, InputError, json_option, policy_file, policy_of, reason, subcommands
from rightcall.cli.terminal import Style, tell
from rightcall.errors import PolicyError, ToolFailure
from rightcall.policy.settings import SANDBOX_RANGES, SandboxSettings
from rightcall.record.premises import existing_folder
from rightcall.tools.sandbox import sandbox as probe
from rightcall.tools.sandbox.charts import LIBRARY, is_missing, lend_library, library_version
from rightcall.tools.sandbox.conversation import (
    PLACE,
    Ended,
    Job,
    Language,
    LimitName,
    NoSandbox,
    Scratch,
    Tier,
    code_for,
    file_name,
    job_for,
    language_of,
)
from rightcall.tools.sandbox.sandbox import CANARIES, Canary, Sandbox, World, world
from rightcall.tools.sandbox.scratch import Folder, Left

EXAMPLES = """\
examples:
  rightcall sandbox run hello.py
  rightcall sandbox run --scratch data summary.py -- --year 2024
  rightcall sandbox run --lang js --timeout 10 --memory 1024 build
  some-model | rightcall sandbox run -
  rightcall sandbox doctor

exit status of `run`: the program's own; 128+n: a signal ended it; 124: it took too long; 137: another limit ended it;
125: no sandbox here, so nothing ran; 123: it ended well, but not all that it left in --scratch could be
brought back. `doctor`: 1 where the sandbox does not work or lets something through.
"""

_LANGUAGES = {"py": "python", "python": "python", "js": "javascript", "javascript": "javascript"}


def arguments(parser: ArgumentParser) -> None:
    action, _ = subcommands(parser)
    _run_arguments(action("run", "Run a Python or JavaScript file in the sandbox"))
    doctor = action("doctor", "Test the sandbox with a harmless program and with attacks")
    _policy_options(doctor)
    json_option(doctor)


def _run_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="Program to run; - reads standard input")
    parser.add_argument(
        "args",
        nargs="*",
        default=[],
        metavar="ARG",
        help="Arguments of the program, after -- if they look like options",
    )
    parser.add_argument("--lang", choices=_LANGUAGES, help="Language (default: by the ending of FILE)", metavar="py|js")
    parser.add_argument(
        "--scratch", metavar="DIR",
        help="Let the program read and change this folder (default: an empty one)",
    )  # fmt: skip
    limits = parser.add_argument_group("Limits (default: those of the policy)")
    for option, metavar, field, about in (
        ("--timeout", "S", "seconds", "Stop after S seconds (default: 4)"),
        ("--memory", "MB", "memory", "Limit the memory of all processes (default: 512)"),
        ("--processes", "N", "processes", "Limit the number of processes (default: 64)"),
        ("--disk", "MB", "scratch", "Limit the size of its files (default: 128)"),
        ("--output", "BYTES", "output", "Limit its output (default: 1000000)"),
    ):
        limits.add_argument(option, metavar=metavar, type=partial(_within, *SANDBOX_RANGES[field]), help=about)
    limits.add_argument("--tier", choices=("landlock", "namespaces"), help="Require at least this isolation")
    _policy_options(parser)


def _policy_options(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("Policy")
    group.add_argument("--policy", metavar="FILE", help=SHARED["--policy"])
    group.add_argument("--root", metavar="DIR", default=".", help=SHARED["--root"])


def run(options: Namespace) -> int:
    if options.action == "doctor":
        return examine(options)

    if options.lang is not None:
        options.lang = _LANGUAGES[options.lang]
    return run_file(options)


def _within(least: float, most: float, text: str) -> float:
    """The same as the policy takes: whole numbers where the least is one."""
    try:
        found = int(text) if isinstance(least, int) else float(text)
    except ValueError:
        found = least - 1
    if not text.isascii() or not least <= found <= most:
        kind = "a whole number" if isinstance(least, int) else "a number"
        raise ArgumentTypeError(f"must be {kind} from {least:,} to {most:,}, not {escaped(text, 20)}")
    return found


def complain(*lines: str) -> None:
    """To standard error; what a program or a folder is called cannot steer the terminal."""
    for line in lines:
        sys.stderr.write(f"rightcall: {escaped(line)}\n")
    sys.stderr.flush()


NO_SANDBOX = 125
LOST = 123
"""The program has ended with 0, and somebody who counts on its files must hear that they are not all there."""
TOO_LONG = 124
STOPPED = 137
_SYSTEM = (
    "/proc", "/sys", "/dev", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/boot",
)  # fmt: skip
_SHARED = ("/var", "/var/lib", "/var/log", "/var/cache", "/var/spool", "/root", "/home", "/opt", "/srv", "/run")
"""Where the folders of many are: not themselves, but one below may well be somebody's own."""


def is_system(folder: str) -> bool:
    """Whether a whole path is a folder that others need as it is, or holds such: the system's, or a home."""
    home = os.path.realpath(os.path.expanduser("~"))
    below = any(folder == one or folder.startswith(one + os.sep) for one in _SYSTEM)
    return below or any(f"{one}/".startswith(f"{folder.rstrip('/')}/") for one in (*_SYSTEM, *_SHARED, home))


# ── sandbox run ──
# `rightcall sandbox run`: a person's program, in the sandbox; its output, its exit status, its files.

_MOST_CODE = 10_000_000
_SHOWN_LEFT = 10
_END = 4000
"""Bytes of standard error that are looked at."""
_WORDS: dict[LimitName, str] = {
    "seconds": "stopped after {seconds:g} s (--timeout)",
    "memory": "it used more than {memory} MB of memory (--memory)",
    "processes": "it wanted more than {processes} processes (--processes)",
    "scratch": "its files reached {scratch} MB, or were too many for that (--disk)",
    "output": "it printed more than {output:,} bytes (--output)",
}
_ELSEWHERE = (
    "the scratch folder lies where other users cannot go, and there are no namespaces here: the program had a copy of "
    "it at another path, which relative paths and HOME lead to"
)


def run_file(options: Namespace) -> int:
    """The exit status."""
    settings = settings_of(options)
    code = _code(options.file)
    language = _language(options, code)
    sandbox = Sandbox(settings.python, settings.tier)
    with closing(sandbox), ExitStack() as stack:
        try:
            return _run(_Program(options, settings, sandbox, code, language, stack), sandbox, settings)
        except NoSandbox as fault:
            complain(fault.why, *fault.advice)
            return NO_SANDBOX


def settings_of(options: Namespace) -> SandboxSettings:
    """Those of the policy, if there is one, and what was said here."""
    settings = _policys(options)
    named = {"timeout": "seconds", "memory": "memory", "processes": "processes", "disk": "scratch", "output": "output"}
    said = {
        field: getattr(options, name) for name, field in (named | {"tier": "tier"}).items() if hasattr(options, name)
    }
    return replace(settings, **{field: value for field, value in said.items() if value is not None})


def _policys(options: Namespace) -> SandboxSettings:
    """A root that is not there, or a policy that is wrong, is a mistake: what it demands would go unheard."""
    if not os.path.isdir(options.root):
        existing_folder(options.root)
    file = policy_file(options)
    if file is None:
        return SandboxSettings()
    try:
        return policy_of(options).sandbox
    except PolicyError as error:
        from rightcall.cli.policy_check import examine

        others = len(examine(file).mistakes) - 1
        if others < 1:
            raise
        more = f"{others} more mistakes are" if others > 1 else "one more mistake is"
        raise PolicyError(
            f"{error}\n{more} in it: `rightcall policy check {quote(os.fspath(file))}` lists them all"
        ) from error


class _Program:
    """What runs, and where: a copy of the file that only the run has, or the file in the scratch folder itself."""

    def __init__(
        self, options: Namespace, settings: SandboxSettings, sandbox: Sandbox, code: bytes, language: Language,
        stack: ExitStack,
    ) -> None:  # fmt: skip
        scratch: str | None = options.scratch
        self.folder = None if scratch is None else _open_folder(scratch, settings, stack)
        place = PLACE if scratch is None else os.path.abspath(scratch)
        inside = _below(options.file, place, self.folder)
        if copy_name(options.file, language, code).endswith(".mjs") and language_of(options.file) != language:
            inside = None  # under its own name node would not take it for a module
        if inside is None:
            script = code_for(copy_name(options.file, language, code), code, place, *settings.visible)
        else:
            script = os.path.join(place, inside)
        self.job: Job = job_for(language, settings, place, script, tuple(options.args))
        if language == "python":
            anything = f"import {LIBRARY}".encode()  # another file in the folder may want it
            self.job = lend_library(self.job, (code if self.folder is None else anything,), sandbox)
        self.elsewhere = False
        if self.folder is not None and sandbox.tier() == "landlock":  # nothing can be mounted
            self.elsewhere = not sandbox.can_bind(place)
            self.job = replace(self.job, bind=not self.elsewhere)

    def fill(self, scratch: Scratch) -> None:
        if self.folder is not None and not _same(scratch.fd, self.folder.fd):
            self.folder.fill(scratch)

    def collect(self, scratch: Scratch, _ended: Ended) -> None:
        if self.folder is None:
            return
        if _same(scratch.fd, self.folder.fd):
            self.folder.drop_links()
        else:
            self.folder.bring_back(scratch)


def _same(one: int, other: int) -> bool:
    """Whether the program works in the person's folder itself, as in the second tier: then nothing is copied."""
    return os.path.samestat(os.fstat(one), os.fstat(other))


def _run(program: _Program, sandbox: Sandbox, settings: SandboxSettings) -> int:
    output = _Output()
    ended = sandbox.run(program.job, fill=program.fill, collect=program.collect, out=output.pass_on)
    told: list[str] = []
    lost = False
    if program.folder is not None:
        told += _list_paths("not copied in", program.folder.missing)
        told += _list_paths("left out", program.folder.left)
        told += _list_paths("NOT BROUGHT BACK", program.folder.lost)
        lost = bool(program.folder.lost)
    if ended.limits:
        told.append(limits_told(ended, settings))
    if ended.code and is_missing(output.errors.decode(errors="replace")):
        told.append(f"{LIBRARY} is not available in the sandbox: pip install 'rightcall[charts]'")
    if program.elsewhere and status(ended):
        told.append(_ELSEWHERE)
    if told:
        output.end_line()
        complain(*told)
    return status(ended) or (LOST if lost else 0)


def _list_paths(what: str, paths: list[Left]) -> list[str]:
    more = [f"{what}: {len(paths) - _SHOWN_LEFT:,} more"] if len(paths) > _SHOWN_LEFT else []
    return [f"{what}: {one.path} ({one.why})" for one in paths[:_SHOWN_LEFT]] + more


def status(ended: Ended) -> int:
    """What a shell would say of a program that ended so."""
    if "seconds" in ended.limits:
        return TOO_LONG
    if ended.signal is not None:
        return STOPPED if ended.limits else 128 + ended.signal
    return ended.code or 0


def limits_told(ended: Ended, settings: SandboxSettings) -> str:
    """The limits that it reached, in one line."""
    figures = {name: getattr(settings, name) for name in _WORDS}
    told = "; ".join(_WORDS[name].format_map(figures) for name in ended.limits)
    return told if ended.signal is None or "seconds" in ended.limits else f"stopped: {told}"


class _Output:
    """What the program prints goes on byte for byte, at once. What we say of it begins a line of its own."""

    def __init__(self) -> None:
        self._unfinished = {"stdout": False, "stderr": False}
        self.errors = b""
        """The end of what it said on standard error."""

    def pass_on(self, stream: Literal["stdout", "stderr"], part: bytes) -> None:
        target = (sys.stdout if stream == "stdout" else sys.stderr).buffer
        target.write(part)
        target.flush()
        if part:
            self._unfinished[stream] = not part.endswith(b"\n")
        if stream == "stderr":
            self.errors = (self.errors + part)[-_END:]

    def end_line(self) -> None:
        """On standard error; at a terminal standard output is on the same screen."""
        same_screen = sys.stdout.isatty() and sys.stderr.isatty()
        if self._unfinished["stderr"] or (same_screen and self._unfinished["stdout"]):
            sys.stderr.write("\n")


def _code(path: str) -> bytes:
    if path == "-":
        code = sys.stdin.buffer.read(_MOST_CODE + 1)
    else:
        try:
            with open(path, "rb") as file:
                code = file.read(_MOST_CODE + 1)
        except OSError as error:
            raise InputError(reason(error), source=path) from None
    if len(code) > _MOST_CODE:
        raise InputError(f"{escaped(path, 200)} has more than {_MOST_CODE:,} bytes: too much for a program")
    return code


def _language(options: Namespace, code: bytes) -> Language:
    if options.lang is not None:
        return options.lang
    found = language_of(options.file)
    if found is not None:
        return found
    if options.file == "-":
        return "javascript" if code.startswith(b"#!") and b"node" in code.partition(b"\n")[0] else "python"
    raise InputError(
        f"the ending of {escaped(options.file, 200)} does not say its language: --lang py or --lang js does"
    )


def _open_folder(path: str, settings: SandboxSettings, stack: ExitStack) -> Folder:
    if is_system(os.path.realpath(path)):
        raise InputError(
            f"--scratch {escaped(path, 200)}: a folder of the system, or your home itself, cannot be a scratch folder; "
            "a folder made for it can"
        )
    folder = Folder(path, settings.scratch)
    stack.callback(folder.close)
    return folder


def copy_name(file: str, language: Language, code: bytes) -> str:
    """What our copy of a program is called: by an ending that does not name its language, node would not know it."""
    name = os.path.basename(file)
    if language_of(name) == language:
        return name
    usual = file_name(language, code.decode(errors="replace"))
    return usual if file == "-" else os.path.splitext(name)[0] + os.path.splitext(usual)[1]


def _below(file: str, place: str, folder: Folder | None) -> str | None:
    """Where in the scratch folder the program is, if it is one of the files in there."""
    if folder is None or file == "-":
        return None
    path = os.path.relpath(os.path.realpath(file), os.path.realpath(place))
    return path if any(entry.path == path for entry in folder.survey.files) else None


# ── sandbox doctor ──
# `rightcall sandbox doctor`: which isolation works on this machine, tried with a harmless program and with attacks.

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
    tier = used.tier if used else None
    record = {"works": good, "tier": tier, "machine": machine(used), "tiers": to_builtins(tiers)}
    tell(options, record, lambda style: _report(tiers, used, settings, style))
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
        ended, printed = _run_doctor(sandbox, _job(settings, language, _HELLO[language]), heard)
        if ended.code != 0 or printed.splitlines()[:1] != ["hello"]:
            how = f"exit {ended.code}" if ended.signal is None else f"signal {ended.signal}"
            raise ToolFailure(f"a harmless program does not work: {how}: {escaped(printed, 300)}")
        times.append((heard[0] - began) * 1000)
    return round(median(times), 1)


def _tried(sandbox: Sandbox, settings: SandboxSettings, canary: Canary, around: World) -> Tried:
    job = _job(settings, "python", canary.code, around.told)
    _, printed = _run_doctor(sandbox, replace(job, limits=canary.limits))
    found = canary.found(around, printed)
    began = printed.startswith("began")
    verdict: Verdict = "NOT STOPPED" if found else "stopped" if began else "could not be tried"
    return Tried(canary.name, canary.attack, verdict)


def _job(settings: SandboxSettings, language: Language, code: str, arguments: tuple[str, ...] = ()) -> Job:
    file = code_for(file_name(language, code), code.encode(), *settings.visible)
    return job_for(language, settings, PLACE, file, arguments)


def _run_doctor(sandbox: Sandbox, job: Job, heard: list[float] | None = None) -> tuple[Ended, str]:
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
