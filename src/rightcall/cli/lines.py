"""JSON lines in, JSON lines out: `--jsonl` of `read` and `check`.

    lines ─▶ chunks ─▶ [gates of a worker ─▶ answers] × N ─▶ standard output, or `--out`, in order

One bad line is one error line with its number. A file that `--out` has begun is continued: what is in it is counted,
a torn last line is cut off, and as many lines of the input are passed over. A note beside it (`FILE.begun`) says with
which tools, policy and options it was begun.
"""

import fcntl
import json
import os
import stat
import sys
from argparse import Namespace
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TextIO, cast

import msgspec

from rightcall.base.json.strict import NO_JSON, attempt, duplicate_keys
from rightcall.cli import OK
from rightcall.cli.options import MAX_BYTES, InputError, bounded_lines, build_gate, gate_settings, open_lines, reason
from rightcall.cli.terminal import Style, is_unicode, many, pad, print_stats, style_for, tell
from rightcall.errors import RightCallError
from rightcall.gate.records import json_text, verdict_record

if TYPE_CHECKING:
    from rightcall.gate.gate import Gate

# ── statistics of several gates ──
# Statistics of several gates added up, in the shape that `Gate.stats()` has.


def add_statistics(one: dict[str, Any] | None, other: dict[str, Any]) -> dict[str, Any]:
    """The sum of two statistics; the provider is that of the first."""
    if one is None:
        return other
    total = {**one, **_counts(one, other)}
    tools: dict[str, Any] = dict(one.get("tools", {}))
    for name, stats in other.get("tools", {}).items():
        tools[name] = {**tools[name], **_counts(tools[name], stats)} if name in tools else stats
    return {**total, "tools": tools}


def _counts(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    calls = one["total_calls"] + other["total_calls"]
    failures = one["failures"] + other["failures"]
    ways = {**one["normalizations"], **other["normalizations"]}
    return {
        "total_calls": calls,
        "normalizations": {
            way: one["normalizations"].get(way, 0) + other["normalizations"].get(way, 0) for way in ways
        },
        "failures": failures,
        "success_rate": 100.0 * (calls - failures) / calls if calls else 0.0,
    }


_MOST_GATES = 64
_ARGUMENTS = ("arguments", "args", "emitted")
_NAMES = ("name", "tool")


class LineError(RightCallError, ValueError):
    """A line that is no call. `id` is the line's own, where it could be read."""

    def __init__(self, message: str, id: Any = None) -> None:
        super().__init__(message)
        self.id = id


class LineGates:
    """The gates a run needs: one for all lines, and one for each set of tools that a line brings along."""

    def __init__(self, options: Namespace, gate: "Gate") -> None:
        self._options = options
        self._gate = gate
        self._own: OrderedDict[str, Gate] = OrderedDict()
        self._past: dict[str, Any] | None = None

    def gate_for(self, tools: Any) -> "Gate":
        if tools is None:
            return self._gate
        key = json_text(tools)
        gate = self._own.get(key)
        if gate is None:
            gate = self._own[key] = self._build(tools)
            if len(self._own) > _MOST_GATES:
                self._forget(self._own.popitem(last=False)[1])
        else:
            self._own.move_to_end(key)
        return gate

    def _forget(self, gate: "Gate") -> None:
        if self._options.stats:
            self._past = add_statistics(self._past, gate.stats())

    def _build(self, tools: Any) -> "Gate":
        from rightcall.gate.gate import Gate

        options = self._options
        return Gate(tools, policy=self._gate.policy, packs=tuple(options.pack), **gate_settings(options))

    def circumstances(self, answer: Any) -> dict[str, str]:
        """Digests of what all answers depend on: tools, policy, and options with what answers a line."""
        known = sorted((tool.name, tool.digest) for tool in self._gate.catalog.tools.values())
        options = [answer, self._options.pack, gate_settings(self._options)]
        return {"tools": _digest(known), "policy": self._gate.policy.digest, "options": _digest(options)}

    def stats_if_wanted(self) -> dict[str, Any] | None:
        return self.stats() if self._options.stats else None

    def stats(self) -> dict[str, Any]:
        """The statistics of all gates of this run together."""
        total = self._gate.stats()
        for stats in (self._past, *(gate.stats() for gate in self._own.values())):
            total = add_statistics(total, stats) if stats else total
        return total


def _digest(value: Any) -> str:
    return sha256(json_text(value).encode()).hexdigest()[:16]


Answer = Callable[[bytes, LineGates], dict[str, Any]]


def check_line(line: bytes, gates: LineGates) -> dict[str, Any]:
    """The verdict on the call of one line."""
    fields = _call_fields(line)
    line_id = fields.get("id")
    name = _tool_name(fields, line_id)
    try:
        gate = gates.gate_for(_tools_or_schema(fields, name))
    except (RightCallError, TypeError, ValueError, RecursionError) as error:
        raise LineError(str(error), line_id) from error
    verdict = gate.check(name, _arguments(fields, line_id), call_id=line_id if isinstance(line_id, str) else None)
    record = verdict_record(verdict, name)
    return {"id": line_id, **record} if "id" in fields else record


def answer_lines(
    stream: BinaryIO, gates: LineGates, out: TextIO, answer: Answer = check_line, *, limit: int = MAX_BYTES
) -> None:
    """Answers every line of the stream, in order."""
    answer_each(stream, out, lambda line: answer(line, gates), limit=limit)


def answer_each(
    stream: BinaryIO, out: TextIO, answer: Callable[[bytes], dict[str, Any]], *, limit: int = MAX_BYTES
) -> None:
    """The same with whatever makes an answer of a line; what it raises of ours is the answer to that line alone."""
    ascii_only = not is_unicode(out)
    for numbered in bounded_lines(stream, limit):
        if not _is_blank(numbered):
            out.write(json_text(_answered(numbered, answer, limit), ascii_only=ascii_only) + "\n")
            out.flush()


Numbered = tuple[int, bytes | None]
"""A line with its number; None where it is too long."""


def _is_blank(numbered: Numbered) -> bool:
    return numbered[1] is not None and not numbered[1].strip()


def _answered(numbered: Numbered, answer: Callable[[bytes], dict[str, Any]], limit: int) -> dict[str, Any]:
    number, line = numbered
    try:
        if line is None:
            raise LineError(f"the line is longer than {limit:,} bytes")
        return answer(line)
    except RightCallError as error:
        return {"id": getattr(error, "id", None), "line": number, "error": str(error)}


# ── many lines ──
# With `--workers` and `--out`: in chunks, by several processes, into a file that a second run continues.

_CHUNK_LINES = 200
_CHUNK_BYTES = 1024 * 1024
_BAR = 20


def run_lines(options: Namespace, path: str, answer: Answer = check_line, *, limit: int = MAX_BYTES) -> int:
    """The whole of `--jsonl`: answers every line of a file, or of standard input."""
    out: str | None = None if options.out == "-" else options.out
    gates = LineGates(options, build_gate(options))
    if out is None and options.workers == 1:
        with open_lines(path) as stream:
            answer_lines(stream, gates, sys.stdout, answer, limit=limit)
        if options.stats:
            print_stats(gates.stats())
        return OK
    work = LineWork(gates, answer, limit, ascii_only=out is None and not is_unicode(sys.stdout))
    with open_lines(path) as stream, _output(out, path) as file:
        done = _run_chunks(work, stream, file, options.workers)
    if options.stats:
        print_stats(done.stats or gates.stats())
    if out is not None:
        tell(options, done.record(), lambda style: done.summary(out, style))
    return OK


class LineWork(NamedTuple):
    """What answers chunks of lines. It goes to the workers as it is, each of which then has gates of its own."""

    gates: LineGates
    answer: Answer
    limit: int
    ascii_only: bool

    def __call__(self, chunk: list[Numbered]) -> "Answered":
        records = [self.record(numbered) for numbered in chunk]
        errors = sum(record.keys() == _ERROR for record in records)
        texts = "".join(map(self.text, records))
        return Answered(texts.encode(), len(records), errors, os.getpid(), self.gates.stats_if_wanted())

    def circumstances(self) -> dict[str, str]:
        """Digests of all that an answer depends on beside its line."""
        return self.gates.circumstances(getattr(self.answer, "__name__", None) or self.answer)

    def record(self, numbered: Numbered) -> dict[str, Any]:
        return _answered(numbered, lambda line: self.answer(line, self.gates), self.limit)

    def text(self, record: dict[str, Any]) -> str:
        return json_text(record, ascii_only=self.ascii_only) + "\n"


_ERROR = {"id", "line", "error"}


class Answered(NamedTuple):
    """The answers to a chunk, and the statistics of its worker so far."""

    data: bytes
    lines: int
    errors: int
    worker: int
    stats: dict[str, Any] | None


def _prepared(work: LineWork) -> LineWork:
    return work


class Progress:
    """How far a run is."""

    def __init__(self, stream: BinaryIO) -> None:
        self.before = self.lines = self.errors = self.taken = 0
        self._by_worker: dict[int, dict[str, Any]] = {}
        self._style = style_for(sys.stderr)
        try:
            self._size = os.fstat(stream.fileno()).st_size if stream.seekable() else 0
        except (OSError, ValueError):  # no file behind it
            self._size = 0

    @property
    def is_measured(self) -> bool:
        """Whether it is known how much there is."""
        return self._size > 0

    def add(self, answered: Answered) -> None:
        self.lines += answered.lines
        self.errors += answered.errors
        if answered.stats is not None:
            self._by_worker[answered.worker] = answered.stats

    @property
    def stats(self) -> dict[str, Any] | None:
        total: dict[str, Any] | None = None
        for one in self._by_worker.values():
            total = add_statistics(total, one)
        return total

    def line(self, seconds: float) -> str:
        """What somebody at a terminal sees while it goes on."""
        said = f"{many(self.before + self.lines, 'line')}  {self.lines / max(seconds, 0.1):,.0f}/s"
        said += f"  {many(self.errors, 'error')}" if self.errors else ""
        if not self._size:
            return said
        from rightcall.cli.persons import bar, signs_for

        drawn = pad(bar(self.taken, self._size, _BAR, signs_for(sys.stderr)), _BAR)
        return f"{self._style.tint(drawn, 'cyan')} {self.taken * 100 // self._size:>3} %  {said}"

    def record(self) -> dict[str, Any]:
        return {"lines": self.before + self.lines, "new": self.lines, "errors": self.errors}

    def summary(self, out: str, style: Style) -> list[str]:
        new = f", {self.lines:,} of them new" if self.before else ""
        said = f"{out}: {many(self.before + self.lines, 'line')}{new}"
        if not self.errors:
            return [said]
        wrong = f'{many(self.errors, "line")} could not be read and {_is(self.errors)} answered with "error"'
        return [said, style.tint(wrong, "yellow")]


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _run_chunks(work: LineWork, stream: BinaryIO, file: "Output", workers: int) -> Progress:
    # late: what is answered line by line needs neither processes nor a bar
    from rightcall.batch.pool import WORKER_LOST, BatchError, map_ordered
    from rightcall.cli.persons import waiting

    progress = Progress(stream)
    lines = (numbered for numbered in bounded_lines(stream, work.limit) if not _is_blank(numbered))
    progress.before = file.resume(lines, work)
    try:
        with waiting(progress.line):
            for answered in map_ordered(partial(_prepared, work), _chunks(lines, stream, progress), workers):
                file.write(answered.data)
                progress.add(answered)
    except (KeyboardInterrupt, RightCallError) as error:
        if file.name is not None:
            written = many(progress.before + progress.lines, "line")
            sys.stderr.write(f"{file.name}: {written}; run the same command again to continue\n")
        if isinstance(error, BatchError):
            raise BatchError(f"{WORKER_LOST}. Try fewer `--workers`") from None
        raise
    return progress


def _chunks(lines: Iterator[Numbered], stream: BinaryIO, progress: Progress) -> Iterator[list[Numbered]]:
    """As many lines as a worker should get at a time: few where they are long."""
    chunk: list[Numbered] = []
    size = 0
    for numbered in lines:
        chunk.append(numbered)
        size += len(numbered[1] or b"")
        if len(chunk) >= _CHUNK_LINES or size >= _CHUNK_BYTES:
            progress.taken = stream.tell() if progress.is_measured else 0
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


class Output:
    """Where the answers go: standard output, or a file that may already hold the first of them."""

    def __init__(self, name: str | None, file: BinaryIO) -> None:
        self.name = name
        self._file = file

    def write(self, data: bytes) -> None:
        """All of it, at once: whatever ends the run, what was written can be continued."""
        self._file.write(data)
        self._file.flush()

    def resume(self, lines: Iterator[Numbered], work: LineWork) -> int:
        """Passes over the lines that are answered already, and gives their number. The first and the last of them are
        answered again, to see that this input is what the file was made of."""
        if self.name is None:
            return 0
        first, last, count, end = _whole_lines(self._file)
        self._same_circumstances(self.name, work.circumstances(), begun=count > 0)
        for number in range(1, count + 1):
            numbered = next(lines, None)
            if numbered is None:
                raise InputError(f"has {count:,} lines, more than the input: {_OTHER}", source=self.name)
            found = first if number == 1 else last if number == count else None
            if found is not None and work.text(work.record(numbered)).encode() != found:
                raise InputError(f"answers line {numbered[0]:,} of another input: {_OTHER}", source=self.name)
        self._file.seek(end)
        self._file.truncate()
        return count

    def _same_circumstances(self, name: str, now: dict[str, str], *, begun: bool) -> None:
        """Kept when the file is begun; compared when it is continued."""
        if not stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
            return  # nothing that is continued
        note = f"{name}.begun"
        if not begun:
            with suppress(OSError), open(note, "w", encoding="utf-8", opener=_unfollowed) as file:
                file.write(json_text(now) + "\n")
            return
        with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError), open(note, "rb") as file:
            before = msgspec.json.decode(file.read(_LONGEST_NOTE), type=dict[str, str])
            other = [what for what, known in now.items() if before.get(what, known) != known]
            if other:
                raise InputError(f"was begun with other {' and '.join(other)}: {_OTHER}", source=name)


_LONGEST_NOTE = 10_000
_OTHER = "use the same input, tools, policy and options to continue it, or pass another --out"


def _unfollowed(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)


def _whole_lines(file: BinaryIO) -> tuple[bytes, bytes, int, int]:
    """The first and the last whole line of a file, how many there are, and where they end."""
    file.seek(0)
    first, last, count, end = b"", b"", 0, 0
    for line in file:
        if not line.endswith(b"\n"):
            break  # torn: the run was killed while it wrote
        first = first or line
        last, count, end = line, count + 1, end + len(line)
    return first, last, count, end


@contextmanager
def _output(out: str | None, path: str) -> Generator[Output]:
    if out is None:
        sys.stdout.flush()
        yield Output(None, sys.stdout.buffer)
        return
    try:
        descriptor = os.open(out, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise InputError(reason(error).replace("read", "written"), source=out) from error
    with open(descriptor, "r+b") as file:
        if path != "-" and os.path.samestat(os.fstat(descriptor), os.stat(path)):
            raise InputError("is the input itself: pass another --out", source=out)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InputError("another run is writing to it", source=out) from error
        yield Output(out, file)


# ── the fields of a line ──


def _call_fields(line: bytes) -> dict[str, Any]:
    """The members of a line. Arguments that are an object stay text, so that the gate sees a key that stands twice."""
    try:
        raw = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        _refuse_twice(line.decode(), raw)
        return {key: _member(key, value) for key, value in raw.items()}
    except msgspec.ValidationError as error:
        raise LineError("the line is JSON, but no object") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _fields_of_odd_json(line)


def _refuse_twice(line: str, raw: dict[str, msgspec.Raw]) -> None:
    """A member of the line that stands twice is refused; what is inside the arguments is the gate's business."""
    for path in duplicate_keys(line, attempt(line)):
        if path in raw:
            raise LineError(f"the line has `{path}` twice")


def _member(key: str, raw: msgspec.Raw) -> Any:
    data = bytes(raw)
    if key in _ARGUMENTS and data[:1] in (b"{", b"["):
        return data.decode()
    return msgspec.json.decode(data)


def _fields_of_odd_json(line: bytes) -> dict[str, Any]:
    """What the strict reader refuses and Python's own still reads: NaN, lone surrogates."""
    value = value_of(line)
    if not isinstance(value, dict):
        raise LineError("the line is JSON, but no object")
    return cast(dict[str, Any], value)


def value_of(line: bytes) -> Any:
    """The JSON value of a line, in which no key stands twice."""
    with suppress(UnicodeDecodeError):
        text = line.decode()
        value = attempt(text)
        if value is not NO_JSON and not duplicate_keys(text, value):
            return value
    try:
        return json.loads(line.decode("utf-8-sig"), object_pairs_hook=refuse_twice)
    except UnicodeDecodeError as error:
        raise LineError(f"the line is not UTF-8 (byte {error.start})") from error
    except json.JSONDecodeError as error:
        raise LineError(f"the line is not JSON: {error.msg} (column {error.colno})") from error
    except RecursionError as error:
        raise LineError("the line cannot be read: its JSON is nested too deeply") from error
    except ValueError as error:
        raise LineError(f"the line cannot be read: {error}") from error


def refuse_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For `object_pairs_hook`: an object in which no key stands twice."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key is given twice")
    return members


def _tool_name(fields: Mapping[str, Any], id: Any) -> str:
    name = next((fields[key] for key in _NAMES if key in fields), None)
    if not isinstance(name, str):
        raise LineError('the line needs "name" (or "tool"): the name of the tool, as text', id)
    return name


def _arguments(fields: Mapping[str, Any], id: Any) -> Any:
    given = [key for key in _ARGUMENTS if key in fields]
    if len(given) > 1:
        raise LineError(f"the line has both {given[0]} and {given[1]}; which one is meant?", id)
    return fields[given[0]] if given else {}


def _tools_or_schema(fields: Mapping[str, Any], name: str) -> Any:
    tools, schema = tools_of(fields), fields.get("schema")
    if schema is None:
        return tools
    if not isinstance(schema, dict):
        raise ValueError('"schema" is the JSON Schema of the arguments, an object')
    return [{"name": name, "parameters": schema}]


def tools_of(fields: Mapping[str, Any]) -> Any:
    tools = fields.get("tools")
    if tools is not None and not isinstance(tools, list):
        raise ValueError('"tools" is a list of tools')
    return cast(Any, tools)
