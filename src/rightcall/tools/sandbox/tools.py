"""`code/execute/python` and `code/execute/javascript`: code that a model has written, run in the sandbox or not at
all. A scratch folder of its own holds the code and the files of the call, and is gone afterwards; what the program has
left in it is in the result."""

from collections.abc import Callable, Iterator
from functools import partial

from msgspec import Struct, field
from msgspec.json import encode
from msgspec.structs import replace

from rightcall.errors import ToolFailure
from rightcall.policy.settings import SandboxSettings
from rightcall.tools.diff import one_line
from rightcall.tools.functions import Work
from rightcall.tools.sandbox.charts import MISSING, draws, font_files, is_missing, lend_library, with_fonts
from rightcall.tools.sandbox.conversation import PLACE, Job, Language, NoSandbox, file_name, job_for, limits_of
from rightcall.tools.sandbox.program import Ran, run_program
from rightcall.tools.sandbox.sandbox import Sandbox
from rightcall.tools.sandbox.scratch import checked_files

Lender = Callable[[], Sandbox]
_TITLES: dict[Language, str] = {"python": "Python", "javascript": "JavaScript"}


class Arguments(Struct, frozen=True):
    code: str
    stdin: str = ""
    files: dict[str, str] = field(default_factory=dict[str, str])


def execute_work(language: Language, settings: SandboxSettings, sandbox: Lender) -> Work:
    """`sandbox` lends the one that the tools share, when it is first needed."""
    run, preview = (partial(one, language, settings, sandbox) for one in (_run, _preview))
    return Work(Arguments, run, preview=preview)


def _run(language: Language, settings: SandboxSettings, sandbox: Lender, given: Arguments) -> Ran:
    files = checked_files(given.files, settings.scratch)
    name = file_name(language, given.code, frozenset(path.split("/")[0] for path in files))
    files[name] = given.code.encode(errors="backslashreplace")
    lent, job = sandbox(), job_for(language, settings, PLACE, f"{PLACE}/{name}")
    stdin = given.stdin.encode(errors="backslashreplace") or None
    if language != "python":
        return run_program(lent, job, files, stdin)
    job = lend_library(job, files.values(), lent)
    if job.packages and draws(files.values()):
        files |= {path: text for path, text in font_files(job, lent).items() if path not in files}
        job = with_fonts(job)
    ran = run_program(lent, job, files, stdin)
    return replace(ran, hint=MISSING) if ran.exit_code and is_missing(ran.stderr) else ran


def _preview(language: Language, settings: SandboxSettings, sandbox: Lender, given: Arguments) -> str:
    return "\n".join(_preview_lines(language, settings, sandbox, given))


def _preview_lines(
    language: Language, settings: SandboxSettings, sandbox: Lender, given: Arguments
) -> Iterator[str]:  # fmt: skip
    yield f"Would run this {_TITLES[language]} code in the sandbox ({isolation(sandbox)}), {limits_told(settings)}:"
    for line in given.code.removesuffix("\n").split("\n"):
        yield f"  {line}"
    if given.stdin:
        yield "It would read:"
        yield from (f"  {line}" for line in given.stdin.removesuffix("\n").split("\n"))
    if given.files:
        yield "Files in its scratch folder:"
        yield from (f"  {one_line(name)} ({len(text.encode(errors='replace')):,} bytes)"
                    for name, text in given.files.items())  # fmt: skip
    try:
        checked_files(given.files, settings.scratch)
    except ToolFailure as fault:
        yield f"It would be refused: {fault}"


def isolation(sandbox: Lender) -> str:
    """The tier that a program would get here."""
    try:
        return sandbox().tier()
    except NoSandbox as fault:
        return f"there is none here, so it would be refused: {fault.why}"


def limits_told(settings: SandboxSettings) -> str:
    """What a program may use, in words."""
    return (
        f"at most {settings.seconds:g} s, {settings.memory} MB of memory, {settings.processes} processes, "
        f"{settings.scratch} MB of files and {settings.output:,} bytes of output; no network"
    )


# ── shell ──
# `ai.execute` of the pack `gaia`: a shell command, in the sandbox and nowhere else. It sees the system's own programs
# and an empty folder; nothing of the machine's files, no network.

_SHELL = "/bin/sh"
_LONGEST = 100_000
"""Bytes of a command: the system takes no more than a little beyond this."""


class ArgumentsShell(Struct, frozen=True):
    command: str


def shell_work(settings: SandboxSettings, sandbox: Lender) -> Work:
    """`sandbox` as above."""
    run, preview = (partial(one, settings, sandbox) for one in (_run_shell, _preview_shell))
    return Work(ArgumentsShell, run, preview=preview)


def _run_shell(settings: SandboxSettings, sandbox: Lender, given: ArgumentsShell) -> Ran:
    command = given.command.encode(errors="backslashreplace").decode()
    if "\0" in command or len(command.encode()) > _LONGEST:
        raise ToolFailure(f"`command` must be text without NUL of at most {_LONGEST:,} bytes")
    job = Job(argv=(_SHELL, "-c", command), place=PLACE, limits=limits_of(settings), visible=settings.visible)
    return run_program(sandbox(), job, {})


def _preview_shell(settings: SandboxSettings, sandbox: Lender, given: ArgumentsShell) -> str:
    """As JSON, in which every text has one spelling: a line break in it cannot pass for a second command."""
    command = encode(given.command.encode(errors="backslashreplace").decode()).decode()
    return f"Would run: {command}\nin the sandbox ({isolation(sandbox)}), {limits_told(settings)}"
