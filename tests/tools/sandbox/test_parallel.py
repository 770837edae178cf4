"""Many programs at once: each has its own, and nothing of them stays."""

import os
import resource
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from rightcall.policy.settings import SandboxSettings
from rightcall.tools.sandbox.conversation import Language, Tier
from rightcall.tools.sandbox.sandbox import Sandbox
from support.sandbox.traces import Ran, adopting, run_code, same_again, traces

pytestmark = [
    pytest.mark.promise("X-06"),
    pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="the sandbox needs Linux"),
]
SHORT = SandboxSettings(seconds=3.0, memory=64, processes=16, scratch=8, output=50_000)
TELL = """
import os, sys
with open("mine.txt", "w") as file:
    file.write("{number}")
print(open("mine.txt").read(), sorted(os.listdir(".")), os.getuid())
"""
TELL_JS = """
const fs = require("node:fs");
fs.writeFileSync("mine.txt", "{number}");
console.log(fs.readFileSync("mine.txt", "utf8"), JSON.stringify(fs.readdirSync(".").sort()), process.getuid());
"""
ENDED = {  # by the limit that ends it
    "seconds": "import os, time\nprint({number}, flush=True)\nfor _ in range(3): os.fork()\ntime.sleep(600)",
    "memory": "print({number}, flush=True)\nkept = []\nwhile True: kept.append(b'x' * 1_000_000 + b'%d' % len(kept))",
    "output": "while True: print({number})",
    "daemon": "import os, time\nprint({number}, flush=True)\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(600)",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Temporary folders are made here, where nobody else makes any."""
    os.chmod(tmp_path, 0o711)
    place = tmp_path / "places"
    place.mkdir(mode=0o711)
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


@pytest.mark.long
@pytest.mark.parametrize(("tier", "count"), [("namespaces", 50), ("landlock", 25)])
def test_fifty_programs_at_once_keep_apart_and_leave_nothing(tier: Tier, count: int, folder: Path):
    with adopting(), closing(Sandbox(only=tier)) as sandbox:
        run_code(sandbox, "print('warm')")
        before = traces(folder)
        with ThreadPoolExecutor(count) as pool:
            running = [pool.submit(_one, sandbox, number) for number in range(count)]
            results = [one.result() for one in running]
        users = [user for number, result in enumerate(results) if (user := _checked(number, result)) is not None]
        if os.getuid() == 0:
            assert len(set(users)) > 1
            assert 0 not in users
        assert same_again(before, folder) == ""
        assert run_code(sandbox, "print('still')").stdout == "still\n"


@pytest.mark.long
def test_programs_wait_where_the_server_has_no_room_for_all():
    with closing(Sandbox()) as sandbox:
        run_code(sandbox, "print('warm')")
        server = sandbox._server
        assert server is not None
        own = len(os.listdir(f"/proc/{server._process.pid}/fd"))
        most = own + 14  # for one program and a second; what a supervisor needs for itself is more than the rest
        resource.prlimit(server._process.pid, resource.RLIMIT_NOFILE, (max(most, 28), max(most, 28)))
        with ThreadPoolExecutor(16) as pool:
            running = [pool.submit(run_code, sandbox, "import time; time.sleep(0.1); print('ok')") for _ in range(16)]
            assert [one.result().stdout for one in running] == ["ok\n"] * 16


def _one(sandbox: Sandbox, number: int) -> Ran:
    language, code = _program(number)
    kind = _kind(number)
    settings = SandboxSettings(seconds=30.0) if kind is None or kind == "daemon" else SHORT
    return run_code(sandbox, code.replace("{number}", str(number)), settings, language)


def _program(number: int) -> tuple[Language, str]:
    kind = _kind(number)
    if kind is not None:
        return "python", ENDED[kind]
    if number % 5 == 4 and shutil.which("node") is not None:
        return "javascript", TELL_JS
    return "python", TELL


def _kind(number: int) -> str | None:
    """Every third is one that has to be ended."""
    return list(ENDED)[number // 3 % len(ENDED)] if number % 3 == 1 else None


def _checked(number: int, result: Ran) -> int | None:
    """Whom it ran as."""
    kind = _kind(number)
    if kind is not None:
        assert (
            set(result.stdout.split()) == {str(number)} if kind != "output" else result.stdout.startswith(f"{number}\n")
        )
        assert kind in ("daemon", *result.ended.limits) or "MemoryError" in result.stderr, (kind, result)
        return None
    mine, rest = result.stdout.split(" ", 1)
    assert mine == str(number), result
    assert "mine.txt" in rest
    assert result.ended.code == 0
    assert len(rest.split("[")[1].split(",")) == 1  # nothing but what it has written
    return int(rest.split()[-1])


@pytest.mark.parametrize("tier", ["namespaces", "landlock"])
def test_a_program_cannot_see_or_reach_another_that_runs_beside_it(tier: Tier, folder: Path):
    """One waits with a secret file, while the other looks for it everywhere."""
    waiting = """
import time
for path in ("secret.txt", "/tmp/secret.txt"):
    try: open(path, "w").write("of the first")
    except OSError: pass
print("there", flush=True)
time.sleep(600)
"""
    seeking = """
import glob, os, signal
for pattern in ("/tmp/*", "/tmp/*/*", "/dev/shm/*", "/proc/*/cwd/*", "{folder}/*", "{folder}/*/*", "../*/*"):
    for path in glob.glob(pattern):
        try:
            if "of the" + " first" in open(path).read(): print("FOUND", path)
        except (OSError, ValueError): pass
try: os.kill(-1, signal.SIGKILL)
except OSError: pass
print("sought")
"""
    with closing(Sandbox(only=tier)) as sandbox, ThreadPoolExecutor(1) as pool:
        run_code(sandbox, "print('warm')")
        sought: list[Ran] = []

        def seen(output: str) -> None:
            if output == "there\n" and not sought:
                sought.append(run_code(sandbox, seeking.replace("{folder}", str(folder))))

        first = pool.submit(run_code, sandbox, waiting, SandboxSettings(seconds=1.0), "python", seen).result()
        assert [result.stdout for result in sought] == ["sought\n"]
        assert first.ended.limits == ("seconds",)
