"""`--jsonl` with workers and a file: the same answers as line by line, and a run that is ended can be continued."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from support.cli import Runner, Terminal, environment
from support.every import sampled

TOOLS = json.dumps(
    [{"name": "forecast", "parameters": {"type": "object", "properties": {"days": {"type": "integer"}}}}]
)


def text(number: int) -> str:
    return f"<tool_call>{{'name': 'forecast', 'arguments': {{'days': '{number}',}}}}</tool_call> ünï"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools.json").write_text(TOOLS)
    lines: list[Any] = [{"id": number, "text": text(number)} for number in range(450)]
    written = list(map(json.dumps, lines))
    written[100:103] = ["{broken", "", '{"id": "x", "tools": [], "text": 3}']
    (tmp_path / "in.jsonl").write_text("\n".join(written) + "\n")
    return tmp_path


ONE_BY_ONE = ("read", "--jsonl", "in.jsonl", "--tools", "tools.json")
INTO = (*ONE_BY_ONE, "--out", "out.jsonl")


def test_workers_give_the_answers_of_one_by_one_in_order_and_a_bad_line_its_number(run: Runner, folder: Path) -> None:
    plain = run(*ONE_BY_ONE, "--stats")
    assert plain.lines[100] == {
        "id": None,
        "line": 101,
        "error": "the line is not JSON: Expecting property name enclosed in double quotes (column 2)",
    }
    assert (plain.lines[101]["id"], plain.lines[101]["line"]) == ("x", 103)
    done = run(*INTO, "--workers", "2", "--stats")
    assert (folder / "out.jsonl").read_text(encoding="utf-8") == plain.out
    assert done.out == ('out.jsonl: 449 lines\n2 lines could not be read and are answered with "error"\n')
    assert json.loads(done.err) == json.loads(plain.err)
    assert run(*INTO, "--json").lines == [{"lines": 449, "new": 0, "errors": 0}]


def test_without_a_file_workers_answer_on_standard_output(folder: Path) -> None:
    command = [sys.executable, "-m", "rightcall.cli", *ONE_BY_ONE]
    plain = subprocess.run(command, capture_output=True, check=True, env=environment())
    many = subprocess.run([*command, "--workers", "2"], capture_output=True, check=True, env=environment())
    assert many.stdout == plain.stdout
    assert many.stderr == b""


@pytest.mark.parametrize("kept", sampled([0, 1, 60, 448, 449], 2))
@pytest.mark.parametrize("torn", ["", '{"id": 17, "ca'])
def test_a_second_run_continues_where_the_first_ended(run: Runner, folder: Path, kept: int, torn: str) -> None:
    out = folder / "out.jsonl"
    run(*INTO)
    whole = out.read_text(encoding="utf-8")
    out.write_text("".join(whole.splitlines(keepends=True)[:kept]) + torn, encoding="utf-8")
    done = run(*INTO, "--json")
    assert out.read_text(encoding="utf-8") == whole
    assert done.lines[0]["new"] == 449 - kept


def test_lines_that_were_added_to_the_input_are_answered_by_the_next_run(run: Runner, folder: Path) -> None:
    run(*INTO)
    with (folder / "in.jsonl").open("a") as file:
        file.write(json.dumps({"id": "new", "text": text(1)}) + "\n")
    done = run(*INTO)
    assert done.out == "out.jsonl: 450 lines, 1 of them new\n"
    assert json.loads((folder / "out.jsonl").read_text().splitlines()[-1])["id"] == "new"


def test_another_input_or_other_tools_do_not_continue_a_file(run: Runner, folder: Path) -> None:
    run(*INTO)
    before = (folder / "out.jsonl").read_bytes()
    (folder / "other.json").write_text(TOOLS.replace("forecast", "weather"))
    for command in (
        ("read", "--jsonl", "in.jsonl", "--tools", "other.json", "--out", "out.jsonl"),
        ("read", "--jsonl", "--tools", "tools.json", "--out", "out.jsonl"),
        ("read", "--jsonl", "in.jsonl", "--tools", "tools.json", "--out", "in.jsonl"),
    ):
        done = run(*command, stdin=json.dumps({"id": 0, "text": text(0)}))
        assert done.code == 2
        assert "pass another --out" in done.err
    assert (folder / "out.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "other"),
    [
        (("--tools", "other.json"), "tools"),
        (("--tools", "tools.json", "--finish-reason", "length"), "options"),
        (("--tools", "tools.json", "--policy", "policy.toml"), "policy"),
    ],
)
def test_a_file_is_not_continued_with_other_tools_or_options_that_its_ends_do_not_show(
    run: Runner, folder: Path, words: tuple[str, ...], other: str
) -> None:
    """The first and the last line hold no call."""
    lines = ["Hello.", text(1), "Bye."]
    (folder / "in.jsonl").write_text("".join(json.dumps({"text": one}) + "\n" for one in lines))
    (folder / "other.json").write_text(TOOLS.replace("forecast", "weather"))
    (folder / "policy.toml").write_text('[gate]\nunknown_argument = "refuse"\n')
    assert run(*INTO).code == 0
    before = (folder / "out.jsonl").read_bytes()
    with (folder / "in.jsonl").open("a") as file:
        file.write(json.dumps({"text": text(2)}) + "\n")
    done = run("read", "--jsonl", "in.jsonl", *words, "--out", "out.jsonl")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: out.jsonl: was begun with other {other}: use the same input, tools, policy")
    assert (folder / "out.jsonl").read_bytes() == before
    assert run(*INTO).out == "out.jsonl: 4 lines, 1 of them new\n"


def test_an_output_without_its_note_is_continued_and_an_empty_one_begun_anew(run: Runner, folder: Path) -> None:
    run(*INTO)
    note = folder / "out.jsonl.begun"
    known = note.read_text()
    note.unlink()
    assert run(*INTO).out == "out.jsonl: 449 lines, 0 of them new\n"
    (folder / "out.jsonl").write_text("")
    note.write_text(known.replace("tools", "other"))
    assert run(*INTO).out.startswith("out.jsonl: 449 lines\n")
    assert note.read_text() == known


def test_two_runs_do_not_write_one_file(run: Runner, folder: Path) -> None:
    import fcntl

    with (folder / "out.jsonl").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "out.jsonl: another run is writing to it" in run(*INTO).err


@pytest.mark.long
def test_ctrl_c_and_kill_lose_nothing_that_was_written(folder: Path) -> None:
    """A run is ended in its midst, twice, and then continued to the end."""
    lines = folder / "in.jsonl"
    lines.write_bytes(lines.read_bytes() * 10)
    out = folder / "out.jsonl"
    command = [sys.executable, "-m", "rightcall.cli", *INTO]
    sizes = [0]
    for number, workers in ((signal.SIGINT, "2"), (signal.SIGKILL, "1")):
        with subprocess.Popen(
            [*command, "--workers", workers], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment()
        ) as process:
            while not out.exists() or out.stat().st_size <= sizes[-1]:
                assert process.poll() is None
            process.send_signal(number)
            said = process.communicate()[1].decode()
        sizes.append(out.stat().st_size)
        if number == signal.SIGINT:
            assert process.returncode == 130
            assert said.endswith("lines; run the same command again to continue\n")
    assert 0 < sizes[1] < sizes[2]
    for path in ("out.jsonl", "whole.jsonl"):
        subprocess.run([*command[:-1], path], check=True, env=environment(), stdout=subprocess.DEVNULL)
    assert sizes[2] < out.stat().st_size
    assert out.read_bytes() == (folder / "whole.jsonl").read_bytes()


def starting_workers(parent: int) -> bool:
    """Whether one has got so far that Python would say where it was interrupted."""
    for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        with suppress(OSError):
            status = dict(line.split(":\t", 1) for line in Path(f"/proc/{child}/status").read_text().splitlines())
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes() and int(status["SigCgt"], 16) & 2:
                return True
    return False


@pytest.mark.long
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("begun", [False, True])
def test_a_signal_to_the_group_ends_a_run_without_a_word_from_its_workers(
    run: Runner, folder: Path, number: signal.Signals, code: int, begun: bool
) -> None:
    """While workers start, and while they work."""
    lines = folder / "in.jsonl"
    lines.write_bytes(lines.read_bytes() * 40)
    out = folder / "out.jsonl"
    with subprocess.Popen(
        [sys.executable, "-m", "rightcall.cli", *INTO, "--workers", "2"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(), start_new_session=True,
    ) as process:  # fmt: skip
        while not (out.exists() and out.stat().st_size if begun else starting_workers(process.pid)):
            assert process.poll() is None
        os.killpg(process.pid, number)
        said = process.communicate(timeout=30)[1].decode()
    assert process.returncode == code
    assert "Traceback" not in said
    assert said.endswith("lines; run the same command again to continue\n")
    written = out.read_bytes()
    assert not written or written.endswith(b"\n")
    lines.write_bytes(b"".join(lines.read_bytes().splitlines(keepends=True)[: written.count(b"\n") + 20]))
    assert run(*INTO).code == 0
    assert out.read_bytes().startswith(written)


@pytest.mark.long
def test_a_terminal_shows_a_bar_while_lines_are_read(folder: Path) -> None:
    (folder / "in.jsonl").write_bytes((folder / "in.jsonl").read_bytes() * 20)
    with Terminal(*INTO, "--workers", "2") as terminal:
        shown = terminal.until(" %  ") + terminal.until("out.jsonl: 8,980 lines")
    assert "lines  " in shown


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ({"id": 1, "output": text(3), "text": 7}, 1),
        ({"output": {"role": "assistant", "content": text(3)}}, 1),
        ({"output": [{"type": "text", "text": text(3)}]}, 1),
        ({"output": 3}, '"output" must be a text or a native message: not int'),
        ({"text": "a"}, '"output" must be a text or a native message: the line has none'),
        ("a", 'expected an object with "output"'),
    ],
)
def test_a_field_names_the_key_of_the_text(run: Runner, folder: Path, line: Any, found: Any) -> None:
    answer = run("read", "--jsonl", "--tools", "tools.json", "--field", "output", stdin=json.dumps(line)).lines[0]
    assert answer.get("error", len(answer.get("calls", []))) == found


def test_a_worker_that_is_killed_is_told_in_words_for_a_command(folder: Path) -> None:
    lines = folder / "in.jsonl"
    lines.write_bytes(lines.read_bytes() * 10)
    with subprocess.Popen(
        [sys.executable, "-m", "rightcall.cli", *INTO, "--workers", "2"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(),
    ) as process:  # fmt: skip
        while not (workers := workers_of(process.pid)):
            assert process.poll() is None
        os.kill(workers[0], signal.SIGKILL)
        said = process.communicate()[1].decode()
    assert process.returncode == 2
    assert "Try fewer `--workers`" in said
    assert "run the same command again to continue" in said
    assert "__main__" not in said


def workers_of(parent: int) -> list[int]:
    kids = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(one) for one in kids if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]


def test_check_has_workers_and_a_file_too(run: Runner, folder: Path) -> None:
    lines = "\n".join(json.dumps({"name": "forecast", "arguments": {"days": str(n)}}) for n in range(300))
    plain = run("check", "--jsonl", "--tools", "tools.json", stdin=lines)
    run("check", "--jsonl", "--tools", "tools.json", "--workers", "2", "--out", "out.jsonl", stdin=lines)
    assert (folder / "out.jsonl").read_text() == plain.out


@pytest.mark.parametrize(
    ("words", "heard"),
    [
        (("read", "hello", "--out", "a"), "--out is for JSON lines: pass --jsonl too"),
        (("read", "hello", "--field", "a"), "--field is for JSON lines: pass --jsonl too"),
        (("read", "--jsonl", "--workers", "0"), "expected auto or a number from 1 to 256, not '0'"),
        (("serve", "--workers", "0"), "expected auto or a number from 1 to 128, not '0'"),
        (("read", "--jsonl", "--out", "."), ".: cannot be written: Is a directory"),
        (("read", "--jsonl", "--out", "no/such"), "no/such: cannot be written: No such file"),
    ],
)
def test_wrong_usage_is_told(run: Runner, folder: Path, words: tuple[str, ...], heard: str) -> None:
    done = run(*words)
    assert done.code == 2
    assert heard in done.err
