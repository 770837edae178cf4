"""Attacks that do no harm where they succeed: what `rightcall sandbox doctor` tries. Each says `began` first, since a
sandbox that does not even start would stop every attack."""

import hashlib
import os
import socket
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from msgspec import Struct

from rightcall.tools.sandbox.conversation import Limits

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
