"""Programs run as they would outside, end as they would, and end when a limit says so: in either tier."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from rightcall.errors import ToolFailure
from rightcall.tools.sandbox.conversation import Code, Ended, Job, Limits, NoSandbox, Scratch, Tier
from rightcall.tools.sandbox.sandbox import Sandbox
from support.sandbox.traces import PLACE, run_job, run_python, write

VARIABLES = sorted(
    ("HOME", "LANG", "LOGNAME", "OPENSSL_CONF", "PATH", "TMPDIR", "USER", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
)
PLAIN = ["__name__", "__doc__", "__package__", "__loader__", "__spec__", "__file__", "__builtins__", "__cached__"]
if sys.version_info < (3, 14):
    PLAIN.append("__annotations__")
ONE_PROCESS_TOO_MANY = """
import os, signal, sys
made = 0
for _ in range(int(sys.argv[1])):
    try: pid = os.fork()
    except OSError: break
    if not pid: signal.pause()
    made += 1
print(made)
"""
MUCH_MEMORY = """
import os, time
for _ in range(4):
    if not os.fork(): data = b'x' * (30 << 20); time.sleep(9)
time.sleep(9)
"""
MANY_FILES = """
for n in range(40):
    with open(str(n), 'wb') as file: file.write(b'x' * (1 << 20))
while True: pass
"""
TIERS: tuple[Tier, ...] = ("namespaces", "landlock")


@pytest.fixture(scope="module")
def sandboxes() -> Iterator[dict[Tier, Sandbox]]:
    """Both for the whole module: tests come in any order."""
    with ExitStack() as stack:
        yield {tier: stack.enter_context(closing(Sandbox(only=tier))) for tier in TIERS}


@pytest.fixture(params=TIERS)
def sandbox(request: pytest.FixtureRequest, sandboxes: dict[Tier, Sandbox]) -> Sandbox:
    try:
        sandboxes[request.param].tier()
    except NoSandbox as error:
        pytest.skip(str(error))
    return sandboxes[request.param]


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that every user can get to, unlike tmp_path."""
    with TemporaryDirectory() as made:
        os.chmod(made, 0o755)
        yield Path(made)


@pytest.mark.promise("X-06")
def test_a_script_finds_itself_in_a_plain_main_module_and_nothing_of_ours(sandbox: Sandbox):
    code = (
        "import os, sys\n"
        "print(sorted(globals()))\n"
        "print(__name__, __file__ == os.path.join(os.getcwd(), 'main.py'), sys.path[0] == os.getcwd(), sys.argv[1:])\n"
        "print([name for name in sys.modules if 'rightcall' in name], sys.modules['__main__'].__dict__ is globals())\n"
        "print(type(__builtins__).__name__)\n"
        "print(sorted(os.environ), sys.stdin.encoding, sys.stdout.encoding, sys.stdin.read())\n"
    )
    said = run_python(sandbox, code, "a b", "ü")
    assert said.err == ""
    assert said.out.splitlines() == [
        repr(sorted([*PLAIN, "os", "sys"])),
        "__main__ True True ['a b', 'ü']",
        "[] True",
        "module",
        f"{VARIABLES} utf-8 utf-8 ",
    ]
    assert said.ended.code == 0
    assert said.ended.limits == ()


@pytest.mark.promise("X-06")
def test_an_uncaught_exception_is_told_as_python_tells_it(sandbox: Sandbox):
    said = run_python(sandbox, "def f():\n    raise ValueError('no')\nf()\n")
    lines = said.err.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert [line.split(", ", 1)[1] for line in lines if line.startswith("  File")] == [
        "line 3, in <module>",
        "line 2, in f",
    ]
    assert lines[-1] == "ValueError: no"
    assert said.ended.code == 1


@pytest.mark.promise("X-06")
@pytest.mark.parametrize(
    ("code", "status", "err"),
    [
        ("import sys; sys.exit(3)", 3, ""),
        ("raise SystemExit('bye')", 1, "bye\n"),
        ("import os; os._exit(7)", 7, ""),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -15, ""),
        ("import sys; sys.excepthook = lambda *_: sys.stderr.write('own'); raise KeyboardInterrupt", -2, "own"),
        ("import getpass; raise SystemExit(getpass.getuser())", 1, "sandbox\n"),
    ],
)
def test_the_exit_status_is_the_programs_own(sandbox: Sandbox, code: str, status: int, err: str):
    said = run_python(sandbox, code)
    assert (said.ended.code, said.ended.signal) == ((status, None) if status >= 0 else (None, -status))
    assert said.err == err


@pytest.mark.promise("X-06")
def test_what_is_not_python_is_said_without_a_traceback(sandbox: Sandbox):
    said = run_python(sandbox, "print(1)\nx ==== 3\n")
    assert said.out == ""
    assert "Traceback" not in said.err
    assert said.err.endswith("SyntaxError: invalid syntax\n")
    assert said.ended.code == 1


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (b"x = 1\ny = '\xe9'\n", "SyntaxError: Non-UTF-8 code starting with '\\xe9' in file "),
        (b"import sys\ndef h(*_): 1 / 0\nsys.excepthook = h\nraise KeyError(2)\n", "Error in sys.excepthook:\n"),
    ],
    ids=["encoding", "hook"],
)
def test_what_goes_wrong_is_told_in_the_interpreters_own_words(sandbox: Sandbox, code: bytes, told: str):
    job = Job(("/code/main.py",), PLACE, script="/code/main.py", code=Code("/code/main.py", code))
    said = run_job(sandbox, job)
    assert said.err.startswith(told)
    assert ("\nOriginal exception was:\n" in said.err) == ("hook" in told)
    assert "boot.py" not in said.err


def test_modules_beside_a_script_come_before_those_of_the_library(sandbox: Sandbox):
    code = "import datetime, json, resource\nprint(resource.own, json.dumps(1), datetime.MAXYEAR)"

    def fill(scratch: Scratch) -> None:
        for name, text in (("main.py", code), ("resource.py", "own = 2"), ("json.md", "")):
            write(scratch, name, text)
        os.mkdir("datetime", dir_fd=scratch.fd)

    said = run_job(sandbox, Job(("main.py",), PLACE, script=f"{PLACE}/main.py"), fill=fill)
    assert (said.out, said.err) == ("2 1 9999\n", "")


@pytest.mark.promise("X-06")
def test_the_interpreter_ends_as_usual(sandbox: Sandbox):
    """Handlers at exit, threads, and files that nobody has closed."""
    code = (
        "import atexit, threading\n"
        "atexit.register(print, 'at exit')\n"
        "file = open('unclosed', 'w')\n"
        "file.write('whole')\n"
        "threading.Thread(target=print, args=('thread',)).start()\n"
    )
    kept: list[str] = []

    def collect(scratch: Scratch, _ended: Ended) -> None:
        with open(os.open("unclosed", os.O_RDONLY, dir_fd=scratch.fd)) as file:
            kept.append(file.read())

    said = run_python(sandbox, code, collect=collect)
    assert said.out == "thread\nat exit\n"
    assert kept == ["whole"]


@pytest.mark.promise("X-06")
def test_processes_pools_locks_and_temporary_files_work(sandbox: Sandbox):
    code = (
        "import multiprocessing, os, shutil, subprocess, sys, tempfile\n"
        "def square(n): return n * n\n"
        "context = multiprocessing.get_context('fork')\n"
        "with context.Pool(2) as pool: print(pool.map(square, range(4)))\n"
        "lock = context.RLock()\n"
        "with lock, lock: print(context.Lock().acquire(timeout=1))\n"
        "print(context.Value('i', 7).value, shutil.copy2('main.py', 'copy.py'))\n"
        "full = context.BoundedSemaphore(1)\n"
        "try: full.release()\n"
        "except ValueError as error: print(error)\n"
        "print(subprocess.run([sys.executable, '-c', 'print(5)'], capture_output=True, text=True).stdout, end='')\n"
        "with tempfile.TemporaryDirectory() as folder: print(os.listdir(folder))\n"
    )
    said = run_python(sandbox, code)
    assert said.err == ""
    assert said.out == "[0, 1, 4, 9]\nTrue\n7 copy.py\nsemaphore or lock released too many times\n5\n[]\n"


@pytest.mark.promise("X-06")
def test_a_program_by_its_path_is_fed_and_heard_to_its_end(sandbox: Sandbox):
    fed = os.urandom(150_000).hex().encode()
    said = run_job(sandbox, Job(("/bin/cat",), PLACE), stdin=fed)
    assert said.out.encode() == fed
    assert said.ended.code == 0


@pytest.mark.parametrize("stdin", [b"fed", None])
def test_the_streams_can_be_opened_by_their_names(sandbox: Sandbox, stdin: bytes | None):
    null = os.stat(os.devnull)
    code = "open('/dev/stdout', 'w').write(open('/dev/stdin').read() + '.')\nopen('/dev/stderr', 'w').write('err')"
    said = run_python(sandbox, code, stdin=stdin)
    assert (said.out, said.err) == ((stdin or b"").decode() + ".", "err")
    assert (os.stat(os.devnull).st_uid, os.stat(os.devnull).st_gid) == (null.st_uid, null.st_gid)


@pytest.mark.promise("X-06")
def test_a_program_that_is_not_there_is_a_failure_that_names_it(sandbox: Sandbox):
    with pytest.raises(ToolFailure, match="/no/such: No such file") as caught:
        run_job(sandbox, Job(("/no/such",), PLACE))
    assert not isinstance(caught.value, NoSandbox)


@pytest.mark.promise("X-06")
@pytest.mark.parametrize(
    ("code", "limits", "hit"),
    [
        ("while True: pass", Limits(seconds=0.2), "seconds"),
        ("while True: print('x' * 1000)", Limits(output=5000), "output"),
        (MUCH_MEMORY, Limits(memory=64), "memory"),
        (MANY_FILES, Limits(scratch=8), "scratch"),
    ],
    ids=["seconds", "output", "memory", "scratch"],
)
def test_the_limit_that_was_hit_is_said(sandbox: Sandbox, code: str, limits: Limits, hit: str):
    said = run_python(sandbox, code, limits=limits)
    assert hit in said.ended.limits
    assert said.ended.seconds < 30  # a busy machine may be slow
    assert len(said.out) <= 5000


@pytest.mark.promise("X-06")
@pytest.mark.parametrize(("most", "wanted", "made"), [(6, 5, 5), (6, 6, 5), (1, 0, 0), (1, 1, 0)])
def test_a_process_that_was_refused_is_said_and_none_that_was_not(
    sandbox: Sandbox, most: int, wanted: int, made: int
):  # fmt: skip
    said = run_python(sandbox, ONE_PROCESS_TOO_MANY, str(wanted), limits=Limits(processes=most))
    assert (said.out, said.err) == (f"{made}\n", "")
    server = sandbox._server
    assert server is not None
    known = "pids" in server.groups
    assert said.ended.limits == (("processes",) if known and made < wanted else ())


@pytest.mark.promise("X-06")
def test_too_much_memory_at_once_is_an_error_of_python(sandbox: Sandbox):
    code = "try: bytearray(200 << 20)\nexcept MemoryError: print('caught')"
    said = run_python(sandbox, code, limits=Limits(memory=128))
    assert said.out == "caught\n"
    assert said.ended.limits == ()


@pytest.mark.promise("X-06")
def test_a_folder_can_be_the_scratch_itself_and_stays_its_owners(sandbox: Sandbox, folder: Path):
    place = folder / "checkout"
    place.mkdir()
    outside = folder / "outside"
    outside.write_text("outside")
    os.link(outside, place / "second-name")
    (place / "main.py").write_text(
        "import os\n"
        "os.makedirs('a/b')\n"
        "open('a/b/new', 'w').write('new')\n"
        "os.chmod('a/b/new', 0o6755)\n"
        "print(os.getcwd(), os.path.exists('second-name'))\n"
    )
    job = Job(("main.py",), str(place), script=f"{place}/main.py", bind=True)
    said = run_job(sandbox, job)
    assert (said.out, said.err) == (f"{place} True\n", "")
    assert (place / "a/b/new").read_text() == "new"
    assert {path.stat().st_uid for path in [place, outside, *place.rglob("*")]} == {os.geteuid()}
    assert not any(path.stat().st_mode & 0o6000 for path in place.rglob("*") if path.is_file())


@pytest.mark.promise("X-06")
@pytest.mark.parametrize("bind", [True, False])
def test_a_set_up_that_fails_runs_nothing_and_names_the_step(sandbox: Sandbox, folder: Path, bind: bool):
    absent = f"{folder}/absent"
    job = Job(("/bin/echo", "run"), absent if bind else PLACE, bind=bind, visible=() if bind else (absent,))
    heard: list[bytes] = []
    with pytest.raises(NoSandbox, match="could not be set up") as caught:
        sandbox.run(job, out=lambda _stream, part: heard.append(part))
    assert absent in caught.value.why
    assert "No such file" in caught.value.why
    assert heard == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's programs run as another user")
def test_a_folder_that_is_closed_to_the_programs_user_is_named(sandboxes: dict[Tier, Sandbox], folder: Path):
    inner = folder / "closed/a/b"
    inner.mkdir(parents=True)
    (folder / "closed").chmod(0o700)
    with pytest.raises(NoSandbox) as caught:
        run_job(sandboxes["landlock"], Job(("/bin/true",), PLACE, visible=(str(inner),)))
    if "could not be set up" not in caught.value.why:
        pytest.skip(caught.value.why)
    assert f"({folder}/closed is closed to others: `chmod o+x` it, or use a folder elsewhere)" in caught.value.why


@pytest.mark.promise("X-06")
def test_whatever_the_caller_raises_nothing_goes_on(sandbox: Sandbox):
    began = threading.Event()

    def out(_stream: str, _part: bytes) -> None:
        began.set()
        raise KeyboardInterrupt

    def divide(scratch: Scratch) -> None:
        write(scratch, "file", str(1 // 0))

    job = Job(("/bin/sh", "-c", "echo begun; while :; do :; done"), PLACE)
    with pytest.raises(KeyboardInterrupt):
        sandbox.run(job, out=out)
    assert began.is_set()
    with pytest.raises(ZeroDivisionError):
        sandbox.run(job, fill=divide, out=out)
    with pytest.raises(FileNotFoundError):
        sandbox.run(job, fill=lambda scratch: os.unlink("absent", dir_fd=scratch.fd), out=out)
    assert run_python(sandbox, "print('well')").out == "well\n"


@pytest.mark.promise("X-06")
def test_a_server_that_was_killed_is_replaced(sandbox: Sandbox):
    before = server_of(sandbox)
    os.kill(before, 9)
    assert run_python(sandbox, "print('again')").out == "again\n"
    assert server_of(sandbox) != before


def server_of(sandbox: Sandbox) -> int:
    server = sandbox._server
    assert server is not None
    return server._process.pid


@pytest.mark.promise("X-06")
def test_a_visible_folder_can_be_read_and_not_written(sandbox: Sandbox, folder: Path):
    shown = folder / "shown"
    shown.mkdir()
    (shown / "data").write_text("seen")
    shown.chmod(0o777)
    code = (
        "import sys\n"
        "print(open(sys.argv[1] + '/data').read())\n"
        "try: open(sys.argv[1] + '/new', 'w')\n"
        "except OSError as error: print('refused')\n"
    )
    job = Job(("main.py", str(shown)), PLACE, script=f"{PLACE}/main.py", visible=(str(shown),))
    said = run_job(sandbox, job, fill=lambda scratch: write(scratch, "main.py", code))
    assert (said.out, said.err) == ("seen\nrefused\n", "")


@pytest.mark.promise("X-06")
@pytest.mark.parametrize("size", [0, 3_000_000])
def test_code_comes_along_in_a_folder_of_its_own_and_cannot_be_changed(sandbox: Sandbox, size: int):
    code = (
        "import os, sys\n"
        "print(os.path.basename(__file__), os.listdir(os.path.dirname(__file__)), os.listdir('.'), sys.argv[1:])\n"
        "for path in (__file__, __file__ + '.new'):\n"
        "    try: open(path, 'a')\n"
        "    except OSError: print('refused')\n"
    )
    file = Code("/some/where/main.py", code.encode() + b"#" * size)
    said = run_job(sandbox, Job((file.path, "a"), PLACE, Limits(scratch=1), script=file.path, code=file))
    assert (said.out, said.err) == ("main.py ['main.py'] [] ['a']\nrefused\nrefused\n", "")


@pytest.mark.parametrize("path", ["main.py", "/main.py", "/x/../main.py"])
def test_code_needs_a_folder_of_its_own(path: str):
    with pytest.raises(ValueError, match=r"Job\.code"):
        run_job(Sandbox(), Job(("/bin/true",), PLACE, code=Code(path, b"")))


@pytest.mark.parametrize("place", ["relative", "/", "/x/../.."])
def test_a_place_that_cannot_be_one_is_refused(place: str):
    with pytest.raises(ValueError, match=r"Job\.place"):
        run_job(Sandbox(), Job(("/bin/true",), place))


def test_a_closed_sandbox_runs_nothing():
    sandbox = Sandbox()
    sandbox.close()
    with pytest.raises(NoSandbox, match="closed"):
        run_job(sandbox, Job(("/bin/true",), PLACE))
