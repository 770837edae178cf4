"""`rightcall sandbox run` and `doctor`, in the real sandbox."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rightcall.cli import sandbox as sandbox_doctor
from rightcall.cli import sandbox as sandbox_run
from rightcall.cli.sandbox import copy_name, is_system, status
from rightcall.tools.sandbox import scratch as scratch_module
from rightcall.tools.sandbox.conversation import Ended, Language, NoSandbox
from rightcall.tools.sandbox.sandbox import CANARIES, Sandbox, world
from support.cli import Runner, environment, start


@pytest.fixture(scope="module")
def isolation() -> None:
    sandbox = Sandbox()
    try:
        sandbox.tier()
    except NoSandbox as fault:
        pytest.skip(str(fault))
    finally:
        sandbox.close()


needs_sandbox = pytest.mark.usefixtures("isolation")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A folder that another user can get at, as whom a program runs where we are root."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@needs_sandbox
@pytest.mark.promise("X-06")
def test_a_program_has_its_own_output_arguments_and_exit_status(run: Runner, here: Path) -> None:
    (here / "hello.py").write_text(
        "import os, sys\n"
        "print(sys.argv[1:], os.path.basename(__file__), os.listdir('.'), repr(sys.stdin.read()))\n"
        "sys.stderr.write('beside\\n')\n"
        "sys.exit(7)\n"
    )
    done = run("sandbox", "run", "hello.py", "a", "--", "--timeout", "-x", stdin="not for it")
    assert done == (7, "['a', '--timeout', '-x'] hello.py [] ''\n", "beside\n")


@needs_sandbox
@pytest.mark.parametrize(("stream", "out", "err"), [("stderr", "", "half\n"), ("stdout", "half", "")])
def test_what_is_said_of_a_program_begins_a_line_of_its_own(
    run: Runner, here: Path, stream: str, out: str, err: str
) -> None:
    (here / "half.py").write_text(f"import sys\nsys.{stream}.write('half a line')\n")
    done = run("sandbox", "run", "--output", "4", "half.py")
    assert (done.out, done.err) == (out, f"{err}rightcall: stopped: it printed more than 4 bytes (--output)\n")


@needs_sandbox
def test_output_comes_byte_for_byte_and_as_it_comes(here: Path) -> None:
    (here / "slow.py").write_text(
        "import sys, time\nsys.stdout.buffer.write(b'\\xff\\0\\r\\n')\nsys.stdout.flush()\ntime.sleep(60)\n"
    )
    process = start("sandbox", "run", "--timeout", "30", "slow.py")
    assert process.stdout is not None
    assert process.stdout.read(4) == b"\xff\0\r\n"  # while it still runs
    inside = _children(process.pid)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    process.communicate()
    assert inside
    assert not [pid for pid in inside if os.path.exists(f"/proc/{pid}")]


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in path.read_text().split():
            found += [int(child), *_children(int(child))]
    return found


@needs_sandbox
@pytest.mark.promise("X-06")
@pytest.mark.parametrize(
    ("code", "options", "expected", "told"),
    [
        ("while True: pass", ["--timeout", "0.3"], 124, "rightcall: stopped after 0.3 s (--timeout)\n"),
        (
            "while True: print('x' * 999)", ["--output", "5000"], 137,
            "rightcall: stopped: it printed more than 5,000 bytes (--output)\n",
        ),
        ("import os; os.kill(os.getpid(), 15)", [], 143, ""),
    ],
)  # fmt: skip
def test_the_end_of_a_program_is_told_as_a_shell_would(
    run: Runner, here: Path, code: str, options: list[str], expected: int, told: str
) -> None:
    (here / "a.py").write_text(code)
    done = run("sandbox", "run", *options, "a.py")
    assert (done.code, done.err) == (expected, told)


@pytest.mark.parametrize(
    ("ended", "code"),
    [
        (Ended(0, None, (), "namespaces", 1.0), 0),
        (Ended(3, None, ("processes",), "namespaces", 1.0), 3),
        (Ended(None, 11, (), "namespaces", 1.0), 139),
        (Ended(None, 9, ("memory",), "namespaces", 1.0), 137),
        (Ended(None, 9, ("memory", "seconds"), "namespaces", 1.0), 124),
    ],
)
def test_every_end_has_an_exit_status(ended: Ended, code: int) -> None:
    assert status(ended) == code


@needs_sandbox
def test_a_program_can_come_from_standard_input(run: Runner) -> None:
    done = run("sandbox", "run", "-", "x", stdin="import sys\nprint(sys.argv[1], repr(sys.stdin.read()))")
    assert done == (0, "x ''\n", "")


@needs_sandbox
def test_javascript_is_known_by_its_ending_or_said(run: Runner, here: Path) -> None:
    (here / "a.js").write_text("console.log(process.argv.slice(2), 6 * 7)")
    (here / "program").write_text("console.log('said')")
    assert run("sandbox", "run", "a.js", "b") == (0, "[ 'b' ] 42\n", "")
    assert run("sandbox", "run", "--lang", "js", "program").out == "said\n"


def test_what_cannot_run_is_said_before_anything_does(run: Runner, here: Path) -> None:
    (here / "program").write_text("1")
    (here / "a.py").write_text("1")
    assert run("sandbox", "run", "program").err == (
        "error: the ending of program does not say its language: --lang py or --lang js does\n"
    )
    assert run("sandbox", "run", "absent.py").code == 2
    absent = run("sandbox", "run", "--scratch", "absent", "a.py")
    assert (absent.code, "No such file or directory (absent)" in absent.err) == (2, True)
    assert "a folder of the system" in run("sandbox", "run", "--scratch", "/usr/lib", "a.py").err
    assert run("sandbox", "run", "--timeout", "0", "a.py").code == 2
    (here / "data").mkdir()
    with open(here / "data/big", "wb") as file:
        file.truncate(3_000_000)
    large = run("sandbox", "run", "--scratch", "data", "--disk", "2", "a.py")
    assert (large.code, large.err) == (2, "error: data holds 2.9 MB; the scratch folder is limited to 2 MB\n")


@needs_sandbox
def test_javascript_that_imports_is_a_module_whatever_its_file_is_called(run: Runner, here: Path) -> None:
    (here / "data").mkdir()
    for path in ("y.txt", "data/y.txt"):
        (here / path).write_text("import fs from 'fs'\nconsole.log(typeof fs)\n")
    assert run("sandbox", "run", "--lang", "js", "y.txt") == (0, "object\n", "")
    assert run("sandbox", "run", "--lang", "js", "--scratch", "data", "data/y.txt") == (0, "object\n", "")


@pytest.mark.parametrize(
    ("file", "language", "code", "name"),
    [
        ("b/a.py", "python", b"", "a.py"),
        ("a.cjs", "javascript", b"import fs from 'fs'", "a.cjs"),
        ("a.txt", "python", b"", "a.py"),
        ("build", "javascript", b"", "build.js"),
        ("a.py", "javascript", b"import fs from 'fs'", "a.mjs"),
        ("-", "javascript", b"", "main.js"),
    ],
)
def test_a_copy_has_the_ending_of_its_language(file: str, language: Language, code: bytes, name: str) -> None:
    assert copy_name(file, language, code) == name


def test_what_is_wrong_in_the_command_is_said_with_what_would_be_right(run: Runner, here: Path) -> None:
    (here / "a.py").write_text("1")
    assert "the following arguments are required: FILE\n" in run("sandbox", "run").err
    for options, said in (
        (("--memory", "15"), "`--memory`: must be a whole number from 16 to 1,000,000, not 15"),
        (("--memory", "20.5"), "not 20.5"),
        (("--timeout", "3601"), "`--timeout`: must be a number from 0.1 to 3,600, not 3601"),
        (("--timeout", "nan"), "not nan"),
    ):
        done = run("sandbox", "run", *options, "a.py")
        assert (done.code, f"{said}\nhint: " in done.err) == (2, True), done.err


@pytest.mark.promise("X-06")
@pytest.mark.parametrize("action", [("run", "a.py"), ("doctor",)])
def test_a_root_or_policy_that_is_not_there_is_a_mistake(run: Runner, here: Path, action: tuple[str, ...]) -> None:
    (here / "a.py").write_text("print('ran')")
    done = run("sandbox", *action, "--root", "typo")
    assert done == (2, "", f"error: `root`: no such folder: '{here}/typo'\n")
    assert run("sandbox", *action, "--policy", "typo.toml").code == 2


def test_a_policy_with_several_mistakes_says_where_to_see_them_all(run: Runner, here: Path) -> None:
    (here / "a.py").write_text("print('ran')")
    (here / "rightcall.toml").write_text("[sandbox]\nseconds = 'x'\nmemory = 1\nvisible = ['/proc']\n")
    assert run("sandbox", "run", "a.py").err.splitlines()[1:] == [
        "2 more mistakes are in it: `rightcall policy check ./rightcall.toml` lists them all"
    ]


@pytest.mark.promise("X-06")
@pytest.mark.parametrize(
    ("folder", "system"),
    [
        ("/", True), ("/etc", True), ("/etc/cron.d", True), ("/sbin", True), ("/boot", True), ("/var", True),
        ("/root", True), ("/home", True), ("/home/me", True), ("/home/me/work", False), ("/home/you", False),
        ("/root/work", False), ("/var/tmp/x", False), ("/usr2", False), ("/tmp/x", False),
    ],
)  # fmt: skip
def test_folders_that_others_need_are_no_scratch_folders(
    folder: str, system: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert is_system(folder) is system


@needs_sandbox
@pytest.mark.promise("X-06")
def test_a_folder_is_seen_at_its_path_and_comes_back_changed(run: Runner, here: Path) -> None:
    data = here / "data"
    data.mkdir()
    (data / "in.txt").write_text("in")
    (data / "gone.txt").write_text("x")
    (here / "secret").write_text("secret")
    os.symlink(here / "secret", data / "link")
    (here / "work.py").write_text(
        "import os\n"
        "print(os.getcwd(), sorted(os.listdir('.')))\n"
        "open('out.txt', 'w').write(open('in.txt').read() * 2)\n"
        "os.remove('gone.txt')\n"
        "os.symlink('/etc/passwd', 'new-link')\n"
    )
    done = run("sandbox", "run", "--scratch", "data", "work.py")
    assert (done.code, done.err) == (
        0, "rightcall: not copied in: link (a link)\nrightcall: left out: new-link (a link)\n",
    )  # fmt: skip
    assert done.out == f"{data} ['gone.txt', 'in.txt']\n"
    assert sorted(os.listdir(data)) == ["in.txt", "link", "out.txt"]
    assert (data / "out.txt").read_text() == "inin"
    assert (data / "out.txt").stat().st_uid == data.stat().st_uid


@needs_sandbox
@pytest.mark.promise("X-06")
@pytest.mark.parametrize(("ending", "code"), [(0, 123), (5, 5)])
def test_results_that_do_not_come_back_can_be_told_by_the_exit_status(
    run: Runner, here: Path, monkeypatch: pytest.MonkeyPatch, ending: int, code: int
) -> None:
    monkeypatch.setattr(scratch_module, "MOST_LEVELS", 2)
    (here / "data").mkdir()
    os.symlink("elsewhere", here / "data" / "taken")
    (here / "a.py").write_text(
        f"import os, sys\nos.makedirs('1/2/3')\nopen('fine', 'w')\nopen('taken', 'w')\nsys.exit({ending})\n"
    )
    done = run("sandbox", "run", "--scratch", "data", "a.py")
    assert done.code == code
    assert done.err.splitlines() == [
        "rightcall: not copied in: taken (a link)",
        "rightcall: left out: 1/2/3 (more than 2 levels deep)",
        "rightcall: NOT BROUGHT BACK: taken (something else of that name is in the way)",
    ]
    assert sorted(os.listdir("data")) == ["1", "fine", "taken"]
    assert os.readlink("data/taken") == "elsewhere"


@needs_sandbox
@pytest.mark.promise("X-06")
def test_what_a_program_makes_beyond_the_bounds_is_named_and_its_exit_status_stays_its_own(
    run: Runner, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch_module, "MOST_LEVELS", 2)
    (here / "data").mkdir()
    (here / "a.py").write_text("import os\nos.makedirs('1/2/3')\n")
    done = run("sandbox", "run", "--scratch", "data", "a.py")
    assert done == (0, "", "rightcall: left out: 1/2/3 (more than 2 levels deep)\n")


@needs_sandbox
@pytest.mark.promise("X-06")
def test_where_nothing_can_be_mounted_the_program_works_in_the_folder_itself(
    run: Runner, here: Path, reachable: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox_run, "Sandbox", partial(Sandbox, only="landlock"))
    data = reachable / "data"
    (data / "sub").mkdir(parents=True)
    os.symlink("sub", data / "old-link")
    (here / "work.py").write_text(
        "import os\nprint(os.getcwd())\nopen('sub/out', 'w').write('x')\nos.symlink('/etc/passwd', 'sub/new-link')\n"
    )
    done = run("sandbox", "run", "--scratch", str(data), "work.py")
    if done.code == 125 and "Landlock" in done.err:
        pytest.skip(done.err)
    assert done == (0, f"{data}\n", "rightcall: left out: sub/new-link (a link, or no regular file)\n")
    assert sorted(os.listdir(data / "sub")) == ["out"]
    assert os.readlink(data / "old-link") == "sub"
    assert (data / "sub/out").stat().st_uid == data.stat().st_uid


@needs_sandbox
@pytest.mark.promise("X-06")
@pytest.mark.parametrize("ending", [0, 4])
def test_where_its_user_cannot_get_to_the_folder_the_program_works_on_a_copy(
    run: Runner, here: Path, reachable: Path, monkeypatch: pytest.MonkeyPatch, ending: int
) -> None:
    monkeypatch.setattr(sandbox_run, "Sandbox", partial(Sandbox, only="landlock"))
    data = reachable / "closed/data"
    data.mkdir(parents=True)
    data.parent.chmod(0o700)
    (data / "helper.py").write_text("word = 'helped'")
    (data / "main.py").write_text(
        f"import helper, os, sys\nopen('out', 'w').write(helper.word)\nprint(os.getcwd())\nsys.exit({ending})"
    )
    done = run("sandbox", "run", "--scratch", str(data), str(data / "main.py"))
    if done.code == 125 and "Landlock" in done.err:
        pytest.skip(done.err)
    assert (done.code, (data / "out").read_text()) == (ending, "helped")
    copied = done.out != f"{data}\n"
    assert copied == (os.geteuid() == 0)
    assert ("at another path" in done.err) == (copied and ending != 0)


@needs_sandbox
def test_a_program_in_the_folder_runs_where_it_is(run: Runner, here: Path) -> None:
    (here / "data").mkdir()
    (here / "data/helper.py").write_text("word = 'helped'")
    (here / "data/main.py").write_text("import helper\nprint(helper.word, __file__)")
    assert run("sandbox", "run", "--scratch", "data", "data/main.py").out == f"helped {here}/data/main.py\n"


@needs_sandbox
def test_a_policys_limits_count(run: Runner, here: Path) -> None:
    (here / "rightcall.toml").write_text("version = 1\n[sandbox]\nseconds = 0.3\n")
    (here / "a.py").write_text("while True: pass")
    assert run("sandbox", "run", "a.py").err == "rightcall: stopped after 0.3 s (--timeout)\n"
    (here / "rightcall.toml").write_text("version = 1\n[sandbox]\nseconds = 'x'\n")
    assert run("sandbox", "run", "a.py").code == 2


@pytest.mark.promise("X-06")
def test_without_a_sandbox_nothing_runs(run: Runner, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any, **__: Any) -> Any:
        raise NoSandbox("no isolation here", ("install \x1b a kernel",))

    monkeypatch.setattr(Sandbox, "run", never)
    monkeypatch.setattr(Sandbox, "tier", never)
    (here / "a.py").write_text("print('ran')")
    done = run("sandbox", "run", "a.py")
    assert done == (125, "", "rightcall: no isolation here\nrightcall: install \\u001b a kernel\n")
    examined = run("sandbox", "doctor")
    assert examined.code == 1
    assert "namespaces: does not work here: no isolation here\n  install \\u001b a kernel\n" in examined.out
    assert examined.out.endswith("No sandbox works here: code is refused, it never runs without one.\n")


@needs_sandbox
@pytest.mark.promise("X-06")
def test_the_doctor_tries_every_attack_and_says_so(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = tuple(one for one in CANARIES if one.name in ("file", "network", "behind"))
    monkeypatch.setattr(sandbox_doctor, "CANARIES", quick)
    monkeypatch.setattr(sandbox_doctor, "_TIMED", 1)
    done = run("sandbox", "doctor", "--json")
    found = done.json
    assert (done.code, found["works"]) == (0, True)
    tried = {one["tier"]: one for one in found["tiers"]}[found["tier"]]
    assert {one["name"]: one["verdict"] for one in tried["attacks"]} == {one.name: "stopped" for one in quick}
    assert tried["python"] > 0
    namespaces, groups = found["machine"]["userNamespaces"], found["machine"]["cgroup"]
    assert namespaces.startswith(("can be made", "cannot be made ("))
    assert groups.startswith("made for " if tried["groups"] else "cannot be made")


def test_the_doctor_says_what_came_of_trying(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_doctor, "_UNSHARING", "import sys; sys.exit(1)")
    found = sandbox_doctor.machine(None)
    assert found["userNamespaces"] == "cannot be made (Operation not permitted)"
    assert found["cgroup"] == "not tried, as nothing runs"
    monkeypatch.setattr(sandbox_doctor, "_UNSHARING", "import sys; sys.exit(101)")
    used = sandbox_doctor.Examined("namespaces", works=True, groups={"memory": 2, "pids": 1})
    found = sandbox_doctor.machine(used)
    assert found["userNamespaces"] == "can be made, but give no rights (Operation not permitted)"
    assert found["cgroup"] == "made for memory (v2) and processes (v1)"


def test_the_doctor_fails_where_an_attack_gets_through(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_doctor, "_timed", lambda *_: 20.0)
    monkeypatch.setattr(Sandbox, "tier", lambda _: "namespaces")

    def through(*_: Any) -> tuple[Ended, str]:
        return Ended(0, None, (), "namespaces", 0.1), "began\nLEAK\n"

    monkeypatch.setattr(sandbox_doctor, "_run_doctor", through)
    done = run("sandbox", "doctor")
    assert done.code == 1
    assert "forks without end                              NOT STOPPED" in done.out
    assert "The tier namespaces does not stop everything" in done.out
    monkeypatch.setattr(sandbox_doctor, "_run_doctor", lambda *_: (Ended(1, None, (), "namespaces", 0.1), "broken"))
    assert "reads a file outside                           could not be tried" in run("sandbox", "doctor").out


@pytest.mark.parametrize("name", ["file", "environment", "descriptor", "network", "processes", "behind"])
def test_an_attack_succeeds_where_nothing_stops_it(name: str, here: Path) -> None:
    (canary,) = (one for one in CANARIES if one.name == name)
    with world() as around:
        assert not canary.found(around, "began\n")
        command = [sys.executable, "-c", canary.code, *around.told]
        done = subprocess.run(command, capture_output=True, close_fds=False, env=environment(**os.environ), check=True)
        assert canary.found(around, done.stdout.decode())
