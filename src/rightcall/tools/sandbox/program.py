"""`code/execute/python`, `code/execute/javascript` and `ai.execute`: a program of a model's, run in the sandbox or not
at all, from its files to the result that the model gets."""

import csv
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from io import StringIO
from typing import Any, Literal, cast

from msgspec import Struct, field
from msgspec.json import decode, encode
from msgspec.structs import replace

from rightcall.base.text import cut_middle, escaped, render_json, text_start
from rightcall.errors import ToolFailure
from rightcall.policy.settings import SandboxSettings
from rightcall.tools.diff import one_line
from rightcall.tools.functions import Work
from rightcall.tools.sandbox.charts import (
    FOLDER,
    MISSING,
    SIGNATURE,
    draws,
    font_files,
    is_missing,
    is_shown,
    lend_library,
    png_size,
    svg_size,
    with_fonts,
)
from rightcall.tools.sandbox.conversation import (
    PLACE,
    Ended,
    Job,
    Language,
    LimitName,
    NoSandbox,
    Scratch,
    Tier,
    file_name,
    job_for,
    limits_of,
)
from rightcall.tools.sandbox.sandbox import Sandbox
from rightcall.tools.sandbox.scratch import (
    Left,
    Mark,
    changed_files,
    checked_files,
    given_marks,
    listing,
    put,
    read,
    shown_path,
)

# ── tables ──
# Tables in files: how many rows and columns they have, and their first rows lined up.

_ROWS, _COLUMNS, _CELL = 20, 12, 40
"""What of a table is shown."""
_MOST_JSON = 2_000_000
"""Bytes of JSON that are read as a table: small texts can hold very many values."""


class Table(Struct, frozen=True):
    """`rows` without the head."""

    text: str
    rows: int
    columns: int


def csv_table(text: str, separator: str | None = None) -> Table | None:
    """Of a text in rows; the first one is the head. Raises csv.Error for one that breaks the rules; None for one that
    has no columns. `separator` None: whichever of comma, semicolon and tab stands most in the first line."""
    head = text[: text.find("\n")] if "\n" in text else text[:10_000]
    separator = separator or max(",;\t", key=head.count)
    count = columns = 0
    first: list[list[str]] = []
    for row in csv.reader(StringIO(text, newline=""), delimiter=separator):
        if not row:
            continue
        count += 1
        columns = max(columns, len(row))
        if len(first) <= _ROWS:
            first.append(row[:_COLUMNS])
    if count == 0 or columns < 1:
        return None
    return Table(_lined_up(first, count - 1, columns), count - 1, columns)


def json_table(content: bytes) -> Table | None:
    """Of a JSON list of objects; None for any other JSON. Raises ValueError for what is none."""
    if len(content) > _MOST_JSON or not content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        return None
    found: Any = decode(content.removeprefix(b"\xef\xbb\xbf"))
    records = cast("list[Any]", found)
    if not records or not all(isinstance(record, dict) for record in records):
        return None
    names = list(dict.fromkeys(name for record in cast("list[dict[str, Any]]", records) for name in record))
    head = names[:_COLUMNS]
    rows = [_cells(record, head) for record in records[:_ROWS]]
    return Table(_lined_up([head, *rows], len(records), len(names)), len(records), len(names))


def _cells(record: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    values = (record.get(name, "") for name in names)
    return [value if isinstance(value, str) else render_json(value, _CELL) for value in values]


def _lined_up(rows: Iterable[Sequence[str]], count: int, columns: int) -> str:
    cells = [[escaped(cell[: _CELL + 1], _CELL) for cell in row] for row in rows]
    width = max(map(len, cells))
    widths = [max((len(row[at]) for row in cells if at < len(row)), default=0) for at in range(width)]
    lines = ["  ".join(cell.ljust(widths[at]) for at, cell in enumerate(row)).rstrip() for row in cells]
    if columns > width:
        lines[0] += f"  … ({columns - width} more columns)"
    if count > len(cells) - 1:
        lines.append(f"… ({count - len(cells) + 1} more rows)")
    return "\n".join(lines)


# ── content ──
# What a program has left in its scratch folder, as a model or a person can look at it: text, tables, pictures, and of
# everything else its name and size. Nothing in a file can make this take long, take much, or fail.

LOOKED_INTO = 4_000_000
"""Bytes of a file that is looked into at all; a larger one is only named."""
MOST_TEXT = 100_000
"""Bytes of a text that are kept, of each file."""
MOST_IMAGE = 300_000

Kind = Literal["text", "table", "image", "binary"]
_MEDIA = {
    "txt": "text/plain", "log": "text/plain", "md": "text/markdown", "csv": "text/csv",
    "tsv": "text/tab-separated-values", "json": "application/json", "jsonl": "application/jsonl", "html": "text/html",
    "xml": "application/xml", "svg": "image/svg+xml", "py": "text/x-python", "js": "text/javascript",
    "mjs": "text/javascript", "css": "text/css", "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg",
    "gif": "image/gif", "pdf": "application/pdf", "zip": "application/zip", "gz": "application/gzip",
}  # fmt: skip


class File(Struct, frozen=True, rename="camel", omit_defaults=True):
    """One file, as it stands in a result. `text` is a text's own, an SVG's, or a table's first rows; `data` is
    base64."""

    path: str
    size: int
    type: Kind
    media_type: str
    text: str | None = None
    data: str | None = None
    rows: int | None = None
    columns: int | None = None
    width: int | None = None
    height: int | None = None
    truncated: bool = False
    """The text is only its beginning, or the picture is too large to be handed on."""


def look_into(path: str, content: bytes, room: int) -> File:
    """A file whose whole content is at hand. `room`: bytes that its text or data may take as JSON."""
    named = name_only(path, len(content))
    picture = _picture(named, content, room) if content.startswith(SIGNATURE) else _drawing(named, content, room)
    if picture is not None:
        return picture
    text = _text(content)
    if text is None:
        return named
    table = _table(path, text, content)
    if table is not None and json_size(table.text) <= room:
        shown, rows, columns = table.text, table.rows, table.columns
        return File(path, len(content), "table", named.media_type, text=shown, rows=rows, columns=columns)
    kept = text_start(text, min(room, MOST_TEXT) + 2)
    media = named.media_type if named.media_type != _UNKNOWN else "text/plain"
    return File(path, len(content), "text", media, text=kept, truncated=len(kept) < len(text))


def name_only(path: str, size: int) -> File:
    """A file that is not looked into."""
    return File(path, size, "binary", _MEDIA.get(_ending(path), _UNKNOWN))


_UNKNOWN = "application/octet-stream"


def bytes_taken(file: File) -> int:
    """Bytes that a file takes in a result, as JSON."""
    return json_size(file.path) + json_size(file.text or "") + len(file.data or "") + 200


def json_size(text: str) -> int:
    """Bytes that a text takes as JSON, without its quotes."""
    return len(encode(text)) - 2


def _ending(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[2].lower()


def _text(content: bytes) -> str | None:
    """None: it is no text. A mark of the byte order at its beginning is none of it."""
    if b"\0" in content:
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _table(path: str, text: str, content: bytes) -> Table | None:
    """None: it is no table, or one that cannot be read as such; then it is shown as the text it is."""
    ending = _ending(path)
    try:
        if ending in ("csv", "tsv"):
            return csv_table(text, "\t" if ending == "tsv" else None)
        return json_table(content) if ending == "json" else None
    except (csv.Error, ValueError, RecursionError):
        return None


def _picture(named: File, content: bytes, room: int) -> File | None:
    size = png_size(content)
    if size is None:
        return None
    width, height = size
    data = None
    fits = len(content) <= MOST_IMAGE and (len(content) + 2) // 3 * 4 <= room
    if fits and is_shown(size):
        data = b64encode(content).decode()
    path, media = named.path, "image/png"
    return File(path, named.size, "image", media, data=data, width=width, height=height, truncated=data is None)


def _drawing(named: File, content: bytes, room: int) -> File | None:
    """An SVG that does nothing but draw; any other is shown as the text it is."""
    if _ending(named.path) != "svg" or len(content) > LOOKED_INTO:
        return None
    size, text = svg_size(content), _text(content)
    if size is None or text is None:
        return None
    fits = len(content) <= MOST_IMAGE and json_size(text) <= room
    kept = text if fits and is_shown(size) else None
    path, media, (width, height) = named.path, "image/svg+xml", size
    return File(path, named.size, "image", media, text=kept, width=width, height=height, truncated=kept is None)


_LISTED = 40
"""Files that a result names, and others that it says were left out."""
_LOOKED_INTO_ALL = 16_000_000
"""Bytes of all files that are looked into."""
_ROOM, _ROOM_FILES = 900_000, 500_000
"""Bytes of a result as JSON, below what any result may have; and of the files in it."""


class Ran(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What came of a program. It is no failure of the call when the program fails: `exit_code` and `stderr` say so."""

    success: bool
    exit_code: int | None
    """None: a signal ended it."""
    signal: int | None
    stdout: str
    stderr: str
    files: list[File]
    """Those that are new or changed in its scratch folder."""
    files_left_out: list[Left]
    limits: list[LimitName]
    """Those that it has reached."""
    tier: Tier
    execution_time: int
    """Milliseconds."""
    truncated: bool
    """Something of its output or files is not in here."""
    hint: str = ""
    """What a model can do about how it ended."""


class Output:
    """What a program prints, as it comes."""

    def __init__(self) -> None:
        self._parts: dict[str, list[bytes]] = {"stdout": [], "stderr": []}

    def take(self, stream: Literal["stdout", "stderr"], part: bytes) -> None:
        self._parts[stream].append(part)

    def text(self, stream: Literal["stdout", "stderr"]) -> str:
        return b"".join(self._parts[stream]).decode(errors="backslashreplace")


class Collected:
    """What is new in the scratch folder, once the program has ended."""

    def __init__(self, given: Mapping[str, bytes]) -> None:
        self._given = given
        self._marks: Mapping[str, Mark] = {}
        self.files: list[File] = []
        self.left: list[Left] = []
        self.cut = False
        """Whether there is more than could be taken; a link is never taken, which is no loss."""
        self.room = _ROOM

    def fill(self, scratch: Scratch) -> None:
        for path, content in self._given.items():
            try:
                put(scratch, path, content)
            except OSError as fault:
                why = fault.strerror or str(fault)
                raise ToolFailure(
                    f"`files`: {shown_path(path)} cannot be put into the scratch folder: {why}"
                ) from fault
        self._marks = given_marks(scratch.fd)

    def collect(self, scratch: Scratch, _ended: Ended) -> None:
        found = listing(scratch.fd, owner=scratch.uid)
        self.left = [*found.left, *found.cut]
        self.cut = bool(found.cut)
        room, looks = _ROOM_FILES, _LOOKED_INTO_ALL
        for entry in changed_files(found, self._marks):
            if _is_cache(entry.path):
                continue
            if len(self.files) == _LISTED:
                self.left.append(Left(shown_path(entry.path), f"more than {_LISTED} files"))
                self.cut = True
                continue
            small = entry.size <= min(LOOKED_INTO, looks)
            content = read(scratch.fd, entry.path, LOOKED_INTO) if small else None
            looks -= len(content or b"")
            path = shown_path(entry.path)
            file = name_only(path, entry.size) if content is None else look_into(path, content, room)
            self.files.append(file)
            room -= min(bytes_taken(file), room)
        self.room = _ROOM - (_ROOM_FILES - room)


def _is_cache(path: str) -> bool:
    """What Python and the plotting library write by themselves."""
    folders = path.split("/")[:-1]
    return "__pycache__" in folders or folders[:1] == [FOLDER]


def run_program(
    sandbox: Sandbox, job: Job, given: Mapping[str, bytes], stdin: bytes | None = None,
) -> Ran:  # fmt: skip
    """Run a job with these files in its scratch folder. Raises NoSandbox where it cannot be run safely."""
    output, collected = Output(), Collected(given)
    ended = sandbox.run(job, stdin=stdin, fill=collected.fill, collect=collected.collect, out=output.take)
    return _ran(ended, output, collected)


def _ran(ended: Ended, output: Output, collected: Collected) -> Ran:
    stderr = output.text("stderr")
    stdout = output.text("stdout")
    told = both_ends(stderr, collected.room // 3)
    printed = both_ends(stdout, collected.room - json_size(told))
    left = collected.left
    if len(left) > _LISTED:
        left = [*left[:_LISTED], Left("…", f"and {len(left) - _LISTED} more")]
    cut = (
        collected.cut
        or len(told) < len(stderr)
        or len(printed) < len(stdout)
        or any(file.truncated for file in collected.files)
    )
    return Ran(
        success=True,
        exit_code=ended.code,
        signal=ended.signal,
        stdout=printed,
        stderr=told,
        files=collected.files,
        files_left_out=left,
        limits=list(ended.limits),
        tier=ended.tier,
        execution_time=round(ended.seconds * 1000),
        truncated=cut or "output" in ended.limits,
    )


def both_ends(text: str, room: int) -> str:
    """The beginning and the end of a text that is too long: a program says last what went wrong."""
    whole = text_start(text, room + 2)
    if len(whole) == len(text):
        return text
    head = text_start(text, room // 2 + 2)
    tail = text_start(text[::-1], max(room // 2 - 100, 0) + 2)[::-1]
    return cut_middle(text, head, tail)


# ── tools ──
# A scratch folder of its own holds the code and the files of the call, and is gone afterwards; what the program has
# left in it is in the result.

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
    job = Job(argv=("/bin/sh", "-c", command), place=PLACE, limits=limits_of(settings), visible=settings.visible)
    return run_program(sandbox(), job, {})


def _preview_shell(settings: SandboxSettings, sandbox: Lender, given: ArgumentsShell) -> str:
    """As JSON, in which every text has one spelling: a line break in it cannot pass for a second command."""
    command = encode(given.command.encode(errors="backslashreplace").decode()).decode()
    return f"Would run: {command}\nin the sandbox ({isolation(sandbox)}), {limits_told(settings)}"
