"""`code/execute/python` and `code/execute/javascript`: code that a model has written, run in the sandbox or not at
all. A scratch folder of its own holds the code and the files of the call, and is gone afterwards; what the program has
left in it is in the result."""

from collections.abc import Callable, Iterator
from functools import partial

from msgspec import Struct, field
from msgspec.structs import replace

from rightcall.config_hands import SandboxSettings
from rightcall.errors import ToolFailure
from rightcall.execute.diff import one_line
from rightcall.execute.functions import LocalTool
from rightcall.execute.packed import packed_tool
from rightcall.execute.sandbox.charts import MISSING, draws, font_files, is_missing, lend_library, with_fonts
from rightcall.execute.sandbox.languages import PLACE, Language, file_name, job_for
from rightcall.execute.sandbox.running import Ran, run_program
from rightcall.execute.sandbox.sandbox import Sandbox
from rightcall.execute.sandbox.scratch import checked_files
from rightcall.execute.sandbox.types import NoSandbox
from rightcall.packs import load_pack

Lender = Callable[[], Sandbox]
AROUND = 10.0
"""Seconds that starting and looking at the results may take, beside the program itself."""
_LANGUAGES: dict[str, Language] = {"code/execute/python": "python", "code/execute/javascript": "javascript"}
_TITLES: dict[Language, str] = {"python": "Python", "javascript": "JavaScript"}


class Arguments(Struct, frozen=True):
    code: str
    stdin: str = ""
    files: dict[str, str] = field(default_factory=dict[str, str])


def execute_tools(settings: SandboxSettings, sandbox: Lender) -> list[LocalTool]:
    """Both tools. `sandbox` lends the one that they share, when it is first needed."""
    known = {about.name: about for about in load_pack("code").tools}
    return [
        replace(
            packed_tool(
                known[name], Arguments, partial(_run, language, settings, sandbox),
                preview=partial(_preview, language, settings, sandbox),
            ),
            timeout=settings.seconds + AROUND, lasting=True,
        )
        for name, language in _LANGUAGES.items()
    ]  # fmt: skip


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
