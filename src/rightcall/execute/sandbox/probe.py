"""What works here. A tier is believed when a harmless program has run in it, and the same program could neither read a
file outside nor make a socket: a sandbox that does not start stops every attack, too."""

import errno
import json
import os
import tempfile
from secrets import token_hex

from msgspec import Struct

from rightcall.execute.sandbox.conversation import Conversation, ServerGone
from rightcall.execute.sandbox.holding import Server
from rightcall.execute.sandbox.inside import kernel
from rightcall.execute.sandbox.types import Job, Limits, NoSandbox, Scratch, Tier

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
