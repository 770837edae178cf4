"""`rightcall sandbox run`: a person's program, in the sandbox; its output, its exit status, its files."""

import os
import sys
from argparse import Namespace
from contextlib import ExitStack, closing
from typing import Literal

from msgspec.structs import replace

from rightcall.cli.lines import InputError
from rightcall.cli.sandbox import LOST, NO_SANDBOX, STOPPED, TOO_LONG, complain, is_system
from rightcall.cli.store_options import policy_file, policy_of
from rightcall.config_hands import SandboxSettings
from rightcall.errors import PolicyError
from rightcall.execute.sandbox.charts import LIBRARY, is_missing, lend_library
from rightcall.execute.sandbox.languages import PLACE, Language, code_for, file_name, job_for, language_of
from rightcall.execute.sandbox.sandbox import Sandbox
from rightcall.execute.sandbox.scratch import Left
from rightcall.execute.sandbox.scratch_folder import Folder
from rightcall.execute.sandbox.types import Ended, Job, LimitName, NoSandbox, Scratch
from rightcall.text.escape import escaped

_MOST_CODE = 10_000_000
_SHOWN_LEFT = 10
_END = 4000
"""Bytes of standard error that are looked at."""
_WORDS: dict[LimitName, str] = {
    "seconds": "stopped after {seconds:g} s (--seconds)",
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
    named = {"seconds": "seconds", "memory": "memory", "processes": "processes", "disk": "scratch", "output": "output"}
    said = {
        field: getattr(options, name) for name, field in (named | {"tier": "tier"}).items() if hasattr(options, name)
    }
    return replace(settings, **{field: value for field, value in said.items() if value is not None})


def _policys(options: Namespace) -> SandboxSettings:
    """A root that is not there, or a policy that is wrong, is a mistake: what it demands would go unheard."""
    if not os.path.isdir(options.root):
        from rightcall.executor_opening import existing_folder  # says so as other commands do

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
        raise PolicyError(f"{error}\n{more} in it: `rightcall policy check {file}` lists them all") from error


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
        with open(path, "rb") as file:
            code = file.read(_MOST_CODE + 1)
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
