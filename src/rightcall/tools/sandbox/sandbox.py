"""The sandbox: one fork server per Sandbox, started when it is first needed."""

import errno
import hashlib
import json
import os
import socket
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from threading import Lock
from weakref import finalize

from msgspec import Struct

from rightcall.tools.sandbox.conversation import (
    Conversation,
    Ended,
    Job,
    Limits,
    NoSandbox,
    Out,
    Scratch,
    Server,
    ServerGone,
    Tier,
    advice,
    is_linux,
)
from rightcall.tools.sandbox.inside import kernel
from rightcall.tools.sandbox.inside.wire import is_open_to_all, is_root

# ── probe ──
# What works here. A tier is believed when a harmless program has run in it, and the same program could neither read a
# file outside nor make a socket: a sandbox that does not start stops every attack, too.

_PLACE = "/tmp/rightcall-probe"
_LIMITS = Limits(seconds=10.0, memory=256, processes=16, scratch=8, output=10_000)
_SCRIPT = """\
import json, socket, sys
import fractions  # one that is surely not loaded yet: the library can be read
def attempt(function):
    try:
        return "done: " + repr(function())
    except OSError as error:
        return "refused"
with open("result", "w") as file:
    file.write("kept")
json.dump({
    "harmless": str(fractions.Fraction(1, 3) + 1) + open("result").read(),
    "read": attempt(lambda: open(sys.argv[1]).read()),
    "socket": attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM)),
    "unix": attempt(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)),
    "write": attempt(lambda: open(sys.argv[1] + ".new", "w")),
}, sys.stdout)
"""
_EXPECTED = {"harmless": "4/3kept", "read": "refused", "socket": "refused", "unix": "refused", "write": "refused"}

_PASSING = tuple(map(os.strerror, (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)))
"""As they come out of the processes that tried, which have no language but this one."""


class Finding(Struct, frozen=True):
    """Whether a tier works here with an interpreter; `why` says why not."""

    tier: Tier
    python: str
    works: bool
    why: str = ""

    @property
    def passing(self) -> bool:
        """Whether it failed for want of something that may be there in a moment: that is no verdict."""
        return not self.works and any(reason in self.why for reason in _PASSING)


class Machine(Struct, frozen=True):
    """What the tiers depend on."""

    kernel: str
    architecture: str
    landlock: int
    """The version of its interface; 0: there is none."""
    root: bool


def machine() -> Machine:
    told = os.uname()
    return Machine(told.release, told.machine, kernel.landlock_version(), os.geteuid() == 0)


def try_tier(server: Server, tier: Tier) -> Finding:
    """Run the harmless program, with its two forbidden wishes."""
    with tempfile.TemporaryDirectory(prefix="rightcall-canary-") as folder:
        os.chmod(folder, 0o755)  # its permissions must not be what stops the program
        canary = os.path.join(folder, "canary")
        with open(canary, "w") as file:
            file.write(token_hex())
        os.chmod(canary, 0o644)
        try:
            said = _run(server, tier, canary)
        except NoSandbox as error:
            return Finding(tier, server.python, works=False, why=error.why)
        except ServerGone:
            return Finding(tier, server.python, works=False, why="the fork server ended")
    return Finding(tier, server.python, works=not (why := refusal(said)), why=why)


def _run(server: Server, tier: Tier, canary: str) -> str:
    said: list[bytes] = []
    job = Job(("probe.py", canary), _PLACE, _LIMITS, script=f"{_PLACE}/probe.py")
    with Conversation(server, job, tier, None, lambda _, block: said.append(block)) as conversation:
        _fill(conversation.prepare())
        conversation.listen()
    return b"".join(said).decode(errors="replace")


def _fill(scratch: Scratch) -> None:
    file = os.open("probe.py", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644, dir_fd=scratch.fd)
    with open(file, "w") as script:
        script.write(_SCRIPT)


def refusal(said: str) -> str:
    """Why not; empty when all is as it should be."""
    try:
        answers: dict[str, str] = json.loads(said)
        wrong = sorted(name for name, answer in _EXPECTED.items() if answers.get(name) != answer)
    except (ValueError, AttributeError):
        last = said.strip().splitlines()[-1:] or ["it said nothing"]
        return f"a harmless program did not work: {last[0]}"
    return f"the probe came out wrong: {', '.join(wrong)}" if wrong else ""


_SYSTEM_PYTHON = "/usr/bin/python3"
_TIERS: tuple[Tier, ...] = ("namespaces", "landlock")


class Sandbox:
    """Runs programs in isolation. `python` is the interpreter for scripts ("" is the one we run on); `least` is the
    tier that must be had; `only` is the tier to use, for probing and tests.

    In the tier `landlock` nothing can be mounted: the scratch folder is then seen at a path of its own
    (`Scratch.place`), unless it is bound, and `Job.place` in arguments, script and environment is changed to it."""

    def __init__(self, python: str = "", least: Tier = "landlock", *, only: Tier | None = None) -> None:
        self._wanted = python
        self._tiers: tuple[Tier, ...] = tuple(
            tier for tier in _TIERS if only in (None, tier) and (least == "landlock" or tier == least)
        )
        self._lock = Lock()
        self._server: Server | None = None
        self._finalizer: Callable[[], object] = _nothing
        self._holder = 0
        self._closed = False
        self._chosen: Finding | None = None
        self.findings: list[Finding] = []
        """What was tried, in this order."""

    def tier(self) -> Tier:
        """The tier that is used here, found by trying, once. Raises NoSandbox."""
        with self._lock:
            return self._choice().tier

    @property
    def python(self) -> str:
        """The interpreter that runs scripts, as seen inside and outside."""
        with self._lock:
            return self._choice().python

    def can_bind(self, folder: str) -> bool:
        """Whether a folder can be the scratch itself (Job.bind). Where nothing can be mounted it stays where it is, and
        the user that root's programs run as must get there."""
        if self.tier() == "namespaces" or not is_root():
            return True
        return is_open_to_all(os.path.abspath(folder)) and is_open_to_all(os.path.realpath(folder))

    @property
    def groups(self) -> Mapping[str, int]:
        """What control groups limit here, `memory` or `pids`, found by making one; the version of their interface."""
        with self._lock:
            self._choice()
            return self._running().groups

    def run(
        self,
        job: Job,
        *,
        stdin: bytes | None = None,
        fill: Callable[[Scratch], None] | None = None,
        collect: Callable[[Scratch, Ended], object] | None = None,
        out: Out,
    ) -> Ended:
        """Run a program to its end or a limit. Blocking, from any thread, many at once; whatever ends it, no process
        stays. `fill` is called before it starts, `collect` after all of its processes have ended."""
        _check(job)
        for _ in range(3):
            with suppress(ServerGone):  # it was ended from outside before the program began: there is a new one
                return self._run(job, stdin, fill, collect, out)
        raise NoSandbox("The fork server was ended from outside, again and again")

    def _run(
        self,
        job: Job,
        stdin: bytes | None,
        fill: Callable[[Scratch], None] | None,
        collect: Callable[[Scratch, Ended], object] | None,
        out: Out,
    ) -> Ended:
        with self._lock:
            tier = self._choice().tier
            server = self._running()
        try:
            with Conversation(server, job, tier, stdin, out) as conversation:
                scratch = conversation.prepare()
                if fill is not None:
                    fill(scratch)
                ended = conversation.listen()
                if collect is not None:
                    collect(scratch, ended)
                return ended
        except ServerGone:
            with self._lock:
                if self._server is server:
                    self._drop()
            raise

    def close(self) -> None:
        """End the fork server and whatever still runs. Nothing can be run after that."""
        with self._lock:
            self._closed = True
            self._drop()

    def _choice(self) -> Finding:
        if self._chosen is None:
            _need_linux()
            if self._wanted and not os.access(self._wanted, os.X_OK):
                raise NoSandbox(f"Program {self._wanted} for Python code was not found ([sandbox] python)")
            self.findings = []
            for tier in self._tiers:
                for python in self._interpreters(tier):
                    finding = self._tried(tier, python)
                    self.findings.append(finding)
                    if finding.works:
                        self._chosen = finding
                        return finding
                    if finding.passing:  # a lesser tier is not taken for that, least of all for good
                        self._drop()
                        raise NoSandbox(
                            f"The sandbox could not be tried, and will be with the next program: {finding.why}"
                        )
            tried = "; ".join(f"{each.tier}: {each.why}" for each in self.findings)
            self._drop()
            raise NoSandbox(f"Programs cannot be isolated here, so nothing runs ({tried})", advice())
        return self._chosen

    def _tried(self, tier: Tier, python: str) -> Finding:
        try:
            return try_tier(self._running(python), tier)
        except NoSandbox as error:
            return Finding(tier, python, works=False, why=error.why)
        except OSError as error:  # of our own: no descriptor or no room for a file
            return Finding(tier, python, works=False, why=error.strerror or str(error))

    def _interpreters(self, tier: Tier) -> list[str]:
        """Ours may be one that the program's user cannot get at: it lies below somebody's home, and where nothing can
        be mounted it stays there."""
        if self._wanted:
            return [self._wanted]
        own: str = getattr(sys, "_base_executable", "") or sys.executable
        stays = tier == "landlock" and os.geteuid() == 0
        if (stays or not os.access(own, os.X_OK)) and os.path.exists(_SYSTEM_PYTHON):
            return list(dict.fromkeys((own, _SYSTEM_PYTHON)))
        return [own]

    def _running(self, python: str = "") -> Server:
        """The server for an interpreter, or for the one that was chosen."""
        wanted = python or (self._chosen.python if self._chosen else "")
        server = self._server
        if server is None or self._holder != os.getpid() or server.python != wanted or not server.alive:
            self._drop()
            if self._closed:
                raise NoSandbox("The sandbox is closed")
            server = self._server = Server(wanted)
            self._finalizer = finalize(self, server.close)
            self._holder = os.getpid()
        return server

    def _drop(self) -> None:
        """It ends when we are forgotten, or the interpreter ends, at the latest."""
        self._finalizer()
        self._server = None


def _nothing() -> None:
    """There is no server yet."""


def _need_linux() -> None:
    if not is_linux():
        raise NoSandbox("The sandbox needs Linux")
    if os.uname().machine not in ("x86_64", "aarch64", "arm64"):
        raise NoSandbox(f"The sandbox needs x86-64 or arm64, not {os.uname().machine}")


def _check(job: Job) -> None:
    place = os.path.normpath(job.place)
    if not os.path.isabs(place) or place == "/":
        raise ValueError(f"Job.place must be an absolute path other than /: {job.place!r}")
    if job.script is None and not (job.argv and os.path.isabs(job.argv[0])):
        raise ValueError("Job.argv must begin with the whole path of a program")
    if job.code is not None and os.path.dirname(os.path.normpath(job.code.path)) in ("", "/"):
        raise ValueError(f"Job.code.path must be the whole path of a file in a folder: {job.code.path!r}")


# ── attacks that do no harm where they succeed: what `rightcall sandbox doctor` tries ─────────────────────────────────

VARIABLE = "RIGHTCALL_CANARY"
_SMALL = Limits(seconds=3.0, memory=96, processes=32, scratch=8, output=200_000)
_BEGIN = "import os, sys\nprint('began', flush=True)\n"


class World(Struct, frozen=True):
    """What is outside, for the attacks to find. `secret` stands in a file, in our environment and behind an open
    descriptor; no attack is told it."""

    secret: str
    folder: str
    """Anybody may read and write it, so that nothing but the sandbox keeps a program out."""
    file: str
    listener: socket.socket
    environment: str
    """Digest of our environment, as the system has it."""
    command: str
    """The same of our command line."""

    @property
    def told(self) -> tuple[str, ...]:
        """What every attack gets as its arguments."""
        return self.folder, self.file, str(self.listener.getsockname()[1]), str(os.getpid()), self.mark

    @property
    def mark(self) -> str:
        """A number of seconds that nobody else waits for: by it a process is known that was left behind."""
        return f"29.{int(self.secret[:12], 16)}"


Found = Callable[[World, str], bool]


class Canary(Struct, frozen=True):
    """`found`: whether the attack has succeeded, by what it printed or what is to be seen here."""

    name: str
    attack: str
    code: str
    found: Found
    limits: Limits = _SMALL


@contextmanager
def world() -> Generator[World]:
    secret = token_hex(16)
    with tempfile.TemporaryDirectory(prefix="rightcall-doctor-") as folder, socket.socket() as listener:
        os.chmod(folder, 0o777)  # so that the sandbox must keep programs out, and not a permission
        file = Path(folder, "canary.txt")
        file.write_text(secret)
        file.chmod(0o644)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        opened = os.open(file, os.O_RDONLY)
        os.set_inheritable(opened, True)
        before = os.environ.get(VARIABLE)
        os.environ[VARIABLE] = secret
        try:
            yield World(secret, folder, str(file), listener, _digest("environ"), _digest("cmdline"))
        finally:
            os.close(opened)
            os.environ.pop(VARIABLE)
            if before is not None:
                os.environ[VARIABLE] = before


def _digest(name: str) -> str:
    with suppress(OSError):
        return hashlib.sha256(Path("/proc/self", name).read_bytes()).hexdigest()
    return "unknown"


def _secret(world: World, printed: str) -> bool:
    return world.secret in printed or "LEAK" in printed


def _environment(world: World, printed: str) -> bool:
    return world.secret in printed or world.environment in printed


def _seen(world: World, printed: str) -> bool:
    return world.command in printed or "LEAK" in printed


def _connected(world: World, printed: str) -> bool:
    try:
        world.listener.accept()[0].close()
    except BlockingIOError:
        return "LEAK" in printed
    return True


def _written(world: World, printed: str) -> bool:
    return os.listdir(world.folder) != ["canary.txt"] or "LEAK" in printed


def _left_behind(world: World, _printed: str) -> bool:
    """Ends it, too."""
    left = False
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if world.mark.encode() in (process / "cmdline").read_bytes().split(b"\0")[:2]:
                left = True
                os.kill(int(process.name), 9)
    return left


_READ = """
for path in (sys.argv[2], '/proc/self/root' + sys.argv[2], '/proc/1/root' + sys.argv[2]):
    try: print(open(path).read())
    except OSError: pass
"""
_ENVIRON = """
import glob, hashlib
print(dict(os.environ))
for path in glob.glob('/proc/[0-9]*/environ') + [f'/proc/{sys.argv[4]}/environ', f'/proc/{os.getppid()}/environ']:
    try: data = open(path, 'rb').read()
    except OSError: continue
    print(hashlib.sha256(data).hexdigest(), data)
"""
_DESCRIPTORS = """
for number in range(3, 1024):
    try: print(os.pread(number, 1000, 0))
    except OSError: pass
"""
_NETWORK = """
import socket
for kind, address in ((socket.AF_INET, ('127.0.0.1', int(sys.argv[3]))), (socket.AF_INET6, ('::1', int(sys.argv[3])))):
    try:
        with socket.socket(kind) as one:
            one.settimeout(0.5)
            one.connect(address)
            print('LEAK')
    except OSError: pass
"""
_FORKS = """
import time
made = 0
try:
    while made < 200:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        made += 1
except OSError: pass
print('LEAK' if made >= 64 else made)
os.kill(os.getpid(), 9)
"""
_MEMORY = """
held = []
try:
    while len(held) < 60:
        held.append(bytearray(os.urandom(1 << 12) * (1 << 10)))
    print('LEAK')
except MemoryError: pass
"""
_DISK = """
wrote = 0
try:
    for number in range(40):
        with open(f'fill{number}', 'wb') as file:
            file.write(os.urandom(1 << 20))
            file.flush()
            os.fsync(file.fileno())
        wrote += 1
        if wrote % 8 == 0:
            import time
            time.sleep(0.1)
except OSError: pass
print('LEAK' if wrote > 30 else wrote)
"""
_PROCESSES = """
import glob, hashlib
for path in glob.glob('/proc/[0-9]*/cmdline') + [f'/proc/{sys.argv[4]}/cmdline']:
    try: print(hashlib.sha256(open(path, 'rb').read()).hexdigest())
    except OSError: pass
try:
    os.kill(int(sys.argv[4]), 0)
    print('LEAK' if int(sys.argv[4]) > 64 else '')
except OSError: pass
"""
_WRITE = """
for folder in (sys.argv[1], '/usr', '/usr/local', '/etc', '/bin', os.path.dirname(sys.executable)):
    try:
        with open(os.path.join(folder, 'rightcall-canary'), 'x') as file: pass
        print('LEAK')
        os.unlink(os.path.join(folder, 'rightcall-canary'))
    except OSError: pass
try: open(sys.argv[2], 'a').close(); print('LEAK')
except OSError: pass
"""
_BEHIND = """
import time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(3): os.close(number)
        os.execv('/bin/sleep', ['sleep', sys.argv[5]])
    os._exit(0)
os.wait()
time.sleep(0.1)
"""

CANARIES = (
    Canary("file", "reads a file outside", _BEGIN + _READ, _secret),
    Canary("environment", "reads the caller's environment", _BEGIN + _ENVIRON, _environment),
    Canary("descriptor", "reads a file that the caller has open", _BEGIN + _DESCRIPTORS, _secret),
    Canary("network", "connects to a server on this machine", _BEGIN + _NETWORK, _connected),
    Canary("processes", "sees the processes of others, or signals them", _BEGIN + _PROCESSES, _seen),
    Canary("write", "writes outside its scratch folder", _BEGIN + _WRITE, _written),
    Canary("fork", "forks without end", _BEGIN + _FORKS, _secret),
    Canary("memory", "takes more memory than it may", _BEGIN + _MEMORY, _secret),
    Canary("disk", "fills the disk", _BEGIN + _DISK, _secret),
    Canary("behind", "leaves a process behind", _BEGIN + _BEHIND, _left_behind),
)
