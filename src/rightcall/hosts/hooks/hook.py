"""`rightcall hook claude|gemini|codex`: reads a host's event, prints what the host is to do, and ends.

A host starts it anew for every call, so that it is quick first of all: with a running `rightcall serve` it only carries
the event there and back, and loads no engine. Without one it judges by itself. If neither works in time it says what
the policy wants for that: see `on_failure` and `deadline` of `[gate.hosts.NAME]`.

Only the standard library, and as little of it as does it.
"""

import _signal  # pyright: ignore[reportMissingImports] - not `signal`, which loads much that is not needed here
import os
import sys
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from rightcall import LateModule, lighten
from rightcall.base.files.guarded import identity
from rightcall.hosts.hooks.place import (
    DEADLINE,
    MODES,
    is_private,
    policy_of_project,
    project_folder,
    socket_address,
    socket_folder,
    socket_path,
)

if TYPE_CHECKING:
    from rightcall.types import Mode

HOSTS = ("claude", "gemini", "codex")
GREETING = b"rightcall hook 2"
READY, NOT_MINE = b"R", b"N"
"""What a server says to an event that has arrived: it will judge it, in so many seconds; or it is another policy's."""
GO = b"G"
"""What the hook says to a server that is ready. Before it the server judges nothing, after it the hook does not: so
that a call is judged once, however slow either of them is."""
MINE = b"A"
"""How the server's answer begins; what is to be printed follows."""
MOST_BYTES = 64_000_000
"""Of an event. What is longer is cut off, and judged by what is left of it."""
_OF_THE_SERVER = 2.0
"""Seconds in which a server must be ready: enough is left to judge without it."""
_CONNECTING = 0.25
_LONGEST_LINE = 64
_LONGEST_WAIT = 600.0
_PIECE = 1 << 20
_SHORT = 1 << 16
"""Bytes of an event that are hashed in less time than OpenSSL takes to load."""
_DIGITS = "0123456789"
_HEX = f"{_DIGITS}abcdefABCDEF"
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


_INTERRUPTED = "it was interrupted"
STOP = 2
"""The exit code that stops the call, whatever else is said; hosts show what stands on standard error."""


def _nothing() -> None:
    return


class Options(NamedTuple):
    """How the hook was started."""

    host: str
    policy: str | None
    root: str
    mode: str | None
    caller: str | None
    terminal: bool = True
    """Whether somebody may sit at the host's terminal. Asked only of a host that would wait for ever for nobody."""
    found: bool = False
    """Whether nobody named the policy: it lay in the project. Then it can only make things stricter."""


class Usage(Exception):
    """What is wrong with the words it was started with."""


class Unanswered(Exception):
    """Nobody can judge the event: its project is not there; or a server has taken it and does not say what came of it,
    and nobody else may judge it a second time."""


def is_hook(arguments: list[str]) -> bool:
    """Whether these words start a hook: the quick way, without the rest of the command line."""
    return arguments[:1] == ["hook"] and len(arguments) > 1 and arguments[1] in HOSTS and not _asks_for_help(arguments)


def process(arguments: list[str], settled: Callable[[], None] = _nothing) -> int:
    """What a hook does, from the words behind `hook` on; its exit code. `settled` is called when it knows what to say
    and is not to be interrupted any more."""
    try:
        options = read_options(arguments)
    except Usage as wrong:
        return _tell_misuse(arguments, wrong)
    watch = Watch(
        DEADLINE, lambda: _failed(options, f"it took longer than {watch.seconds:g} seconds", late=True), settled
    )
    try:
        return watch.say(_answer(options, watch))
    except Unanswered as late:
        return watch.say(_failed(options, str(late)))
    except KeyboardInterrupt:
        return watch.say(_failed(options, _INTERRUPTED))
    except BaseException as fault:  # noqa: BLE001 - no host is ever shown a traceback
        return watch.say(_failed(options, f"{type(fault).__name__}: {fault}"))


def alone(arguments: list[str]) -> int:
    """`process` in a process of its own."""
    _fill_standard_files()
    return process(arguments, _ignore_interruptions)


def answer_interrupted(arguments: list[str]) -> int:
    """What an interruption before the beginning comes to: a failure like any other."""
    _ignore_interruptions()
    try:
        options = read_options(arguments)
    except Usage as wrong:
        return _tell_misuse(arguments, wrong)
    return _print(_failed(options, _INTERRUPTED))


def _ignore_interruptions() -> None:
    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)  # pyright: ignore[reportUnknownMemberType]


def _fill_standard_files() -> None:
    """Where a host has closed one, its number would be that of the next file that is opened: the record, say. What
    stands there instead cannot be written to, which is then noticed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)


def _tell_misuse(arguments: list[str], wrong: "Usage") -> int:
    _complain(f"rightcall hook: {wrong}")
    observing = any(mode in arguments for mode in ("observe", "warn", "--mode=observe", "--mode=warn"))
    return 1 if observing else STOP


def _answer(options: Options, watch: "Watch") -> str:
    event = _read()
    if not os.path.isdir(options.root):  # in any other folder another policy would hold, or none
        raise Unanswered(f"the project's folder {options.root!a} does not exist; start the host in one that does")
    if options.policy is not None:
        told = ask_server(options, event, watch.allow)
        if told is not None:
            return told

    return judge_event(options, event, watch.allow)


def read_options(arguments: list[str]) -> Options:
    """Reads the words; raises Usage. Not argparse, which takes longer to load than everything here."""
    given: dict[str, str] = {}
    rest = list(arguments[1:])
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if name not in ("--policy", "--mode", "--as", "--caller", "--root"):
            raise Usage(f"unknown option {name[:40]!a}: expected --policy, --mode, --as or --root")
        value = value if equals or not rest else rest.pop(0)
        if not value:
            raise Usage(f"{name} needs a value")
        given["--as" if name == "--caller" else name] = value  # --caller is in settings that were written earlier
    mode = given.get("--mode")
    if mode is not None and mode not in MODES:
        raise Usage(f"--mode is one of {', '.join(reversed(MODES))}, not {mode[:40]!a}")
    named = given.get("--policy")
    try:
        root = project_folder(given.get("--root"), arguments[0])
        policy = os.path.abspath(named) if named else policy_of_project(root)
    except FileNotFoundError:
        raise Usage("the folder that it was started in is gone; start the host in one that is there") from None
    terminal = arguments[0] != "gemini" or _has_terminal()
    return Options(arguments[0], policy, root, mode, given.get("--as"), terminal, not named)


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR))
    except OSError:
        return os.name == "nt"
    return True


def _unwatched(_seconds: float) -> None:
    return


def ask_server(options: Options, event: bytes, allow: Callable[[float], None] = _unwatched) -> str | None:
    """What the server for this policy says; None where there is none, or it does not answer for it. `allow` is told
    how many seconds the policy gives. Raises Unanswered."""
    assert options.policy is not None
    path = socket_path(options.policy)
    if not os.path.exists(path):
        return None
    import _socket  # not `socket`, which loads much that is not needed here

    try:
        folder = os.open(socket_folder(), os.O_RDONLY)
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    except (OSError, AttributeError):
        return None
    try:
        if not is_private(folder):
            return None
        connection.settimeout(_CONNECTING)
        connection.connect(socket_address(path, folder))
        until = monotonic() + _OF_THE_SERVER
        connection.settimeout(_OF_THE_SERVER)
        connection.sendall(request(options, event))
        seconds = _ready(connection.recv, connection.settimeout, until)
        if seconds is None:
            return None
        connection.sendall(GO)
    except OSError:
        return None
    else:
        allow(seconds)
        return _received(connection.recv, connection.settimeout, monotonic() + seconds)
    finally:
        connection.close()
        os.close(folder)


def request(options: Options, event: bytes) -> bytes:
    """As the server reads it: words between zero bytes, then the event as it came. The last word is its length."""
    words = (
        options.host,
        identity(options.policy or ""),
        options.root,
        options.mode or "",
        options.caller or "",
        "yes" if options.terminal else "",
        "found" if options.found else "",
        str(len(event)),
    )
    return b"\0".join((GREETING, *(os.fsencode(word) for word in words), event))


def _ready(recv: Callable[[int], bytes], settimeout: Callable[[float], None], until: float) -> float | None:
    """How many seconds the policy gives, of a server that waits for our word; None for one that will not judge it."""
    line = b""
    while not line.endswith(b"\n") and len(line) < _LONGEST_LINE and (piece := recv(_LONGEST_LINE - len(line))):
        line += piece
        settimeout(max(0.001, until - monotonic()))
    if not line.startswith(READY) or not line.endswith(b"\n"):
        return None
    try:
        seconds = float(line[len(READY) :])
    except ValueError:
        return None
    return seconds if 0 < seconds <= _LONGEST_WAIT else None


def _received(recv: Callable[[int], bytes], settimeout: Callable[[float], None], until: float) -> str | None:
    """The answer; None where the server has died over it, or says what no server of ours says."""
    pieces: list[bytes] = []
    try:
        settimeout(max(0.001, until - monotonic()))
        while piece := recv(_PIECE):
            pieces.append(piece)
            settimeout(max(0.001, until - monotonic()))
    except TimeoutError:
        raise Unanswered("the running server took the event and did not answer in time") from None
    except OSError:
        return None
    whole = b"".join(pieces)
    if not whole.startswith(MINE) or not whole.endswith(b"\n"):
        return None
    try:
        return whole[len(MINE) :].decode()
    except UnicodeDecodeError:
        return None


class Watch:
    """Sees to it that something is said in time, and once only: `say` ends the matter, or else `late` does."""

    def __init__(self, seconds: float, late: Callable[[], str], settled: Callable[[], None] = _nothing) -> None:
        self.seconds = seconds
        self._begun = monotonic()
        self._late = late
        self._settled = settled
        self._speaking = allocate_lock()
        self._done = allocate_lock()
        self._done.acquire()
        start_new_thread(self._wait, ())

    def allow(self, seconds: float) -> None:
        """So long in all, from the start on."""
        self.seconds = seconds

    def say(self, text: str) -> int:
        """The exit code that goes with it."""
        self._settled()
        self._speaking.acquire()  # never released: nobody says anything after it
        code = _print(text)
        self._done.release()
        return code

    def _wait(self) -> None:
        while (left := self._begun + self.seconds - monotonic()) > 0:
            if self._done.acquire(timeout=min(left, 0.5)):
                return
        if self._speaking.acquire(blocking=False):
            os._exit(_print(self._late()))


def _print(text: str) -> int:
    """One line, or nothing at all; the exit code. A word that does not arrive is no leave to run the call as it is:
    then the code says that it is not to run."""
    try:
        left = text.strip().encode("utf-8", "replace")
        left = left + b"\n" if left else b""
        while left:
            left = left[os.write(1, left) :]
    except OSError as fault:
        from rightcall.hosts.hooks.wires import reason_unsaid

        reason = reason_unsaid(text, fault.strerror or "standard output cannot be written")
        if reason:
            _complain(reason)
            return STOP
    return 0


def _complain(text: str) -> None:
    try:
        os.write(2, f"{text}\n".encode("utf-8", "replace"))
    except OSError:  # the exit code is all that is left
        return


def _read() -> bytes:
    pieces: list[bytes] = []
    size = 0
    while size <= MOST_BYTES and (piece := os.read(0, _PIECE)):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)[:MOST_BYTES]


def _failed(options: Options, why: str, *, late: bool = False) -> str:
    try:
        from rightcall.hosts.hooks.wires import answer_unjudged

        return answer_unjudged(options.host, options.policy, options.mode, why, found=options.found, late=late)
    except BaseException:  # noqa: BLE001 - not even that works: the host has to do with the exit code
        if options.mode in ("observe", "warn"):
            return ""
        _complain("RightCall could not judge this call, so it was not made.")
        os._exit(STOP)


def _asks_for_help(arguments: list[str]) -> bool:
    return "-h" in arguments or "--help" in arguments


# ── without a server ──
# The hook without a server: the door is opened, one event is judged, the door is closed.


def _lighten_more(event: bytes) -> None:
    """Has parts of two modules without the rest, which takes longer to load than an event takes to judge: of `string`
    what the reader of TOML needs, and `hashlib` without OpenSSL. Python's own functions for that are slower with a long
    event. Whatever else is asked of either loads it as it is."""
    parts: dict[str, dict[str, Any]] = {"string": {"ascii_letters": _LETTERS, "digits": _DIGITS, "hexdigits": _HEX}}
    if len(event) <= _SHORT:
        with suppress(ImportError):  # in a Python that was built without them
            sha = import_module("_sha256" if sys.version_info < (3, 12) else "_sha2")
            parts["hashlib"] = {"sha256": sha.sha256, "blake2b": import_module("_blake2").blake2b}
    for name, part in parts.items():
        if name not in sys.modules:
            sys.modules[name] = late = LateModule(name)
            vars(late).update(part)


def judge_event(options: Options, event: bytes, allow: Callable[[float], None]) -> str:
    """What is to be printed. `allow` is told how many seconds the policy gives in all. Never raises."""
    alone = "threading" not in sys.modules  # a process that was started for this, and will do nothing else
    lighten(alone=alone)
    if alone:
        _lighten_more(event)
    from rightcall.hosts.hooks.judgement import Failed, Hook, Hooks  # late: the whole engine

    mode = cast("Mode | None", options.mode)
    hook = Hook(options.host, options.policy or "", options.root, mode, options.caller, options.found)
    try:
        hooks = Hooks(hook, every_tool=False)
    except Exception as fault:  # noqa: BLE001 - a policy that is wrong, a record that cannot be used, or our own fault
        from rightcall.hosts.hooks.wires import answer_unjudged

        why = str(fault) or type(fault).__name__
        return answer_unjudged(options.host, options.policy, options.mode, why, found=options.found)
    try:
        allow(hooks.deadline)
        return hooks.answer(event, can_ask=options.terminal)
    except Failed as failed:
        if failed.answer:
            from rightcall.hosts.hooks.wires import tell_operator

            tell_operator(str(failed))
        return failed.answer
    finally:
        hooks.close()
