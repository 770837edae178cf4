"""The command as a whole: help, versions, wrong usage, colours, and how it ends."""

import errno
import json
import os
import signal
import socket
import subprocess
import sys
from math import inf
from pathlib import Path

import pytest

from rightcall import __version__, cli
from support.cli import EXAMPLES, ROOT, TOOLS, Runner, environment, start
from support.every import every


def test_no_command_is_wrong_usage_and_shows_the_help(run: Runner) -> None:
    done = run()
    assert (done.code, done.out) == (2, "")
    assert done.err == run("--help").out


def test_a_misspelt_command_is_told_the_right_one(run: Runner) -> None:
    done = run("chek")
    assert (done.code, done.out) == (2, "")
    assert done.err == "error: unknown command `chek`: did you mean `check`?\n"


@pytest.mark.parametrize(("old", "new"), [("call", "run"), ("packet", "requests"), ("quarantine", "policy quarantine")])
def test_a_removed_command_names_the_new_one_and_does_nothing(run: Runner, old: str, new: str) -> None:
    assert run(old, "list") == (2, "", f"error: `rightcall {old}` is now `rightcall {new}`\n")


@pytest.mark.promise("C-09")
def test_an_interruption_that_python_has_made_another_exception_of_still_is_one(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it does when a module is loaded: what comes while a class is made becomes a RuntimeError, in older ones."""

    def interrupted(_name: str) -> None:
        try:
            raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()
        except RuntimeError as error:
            raise ImportError("no module") from error

    def broken(_name: str) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(cli, "import_module", interrupted)
    assert run("demo") == (130, "", "")
    monkeypatch.setattr(cli, "import_module", broken)
    with pytest.raises(RuntimeError, match="a fault of ours"):
        run("demo")


@pytest.mark.parametrize("word", ["version", "--version", "-V"])
def test_the_version_is_one_line(run: Runner, word: str) -> None:
    done = run(word)
    assert done.code == 0
    assert done.out.startswith("rightcall ")
    assert done.out.count("\n") == 1
    assert json.loads(run(word, "--json").out) == {"version": __version__}


@pytest.mark.parametrize("word", ["--help", "-h", "help"])
def test_help_of_help_is_the_overview(run: Runner, word: str) -> None:
    assert run("help", word) == run("help")


@every(
    ("arguments", "message"),
    [
        (["check", "get_weather"], "check needs TOOL and ARGS"),
        (["check", "t", "{}", "--nonsense"], "unknown option `--nonsense`"),
        (["check", "t", "{}", "--tools", "absent.json"], "absent.json: cannot be read: No such file"),
        (["check", "t", "@absent.txt"], "absent.txt: cannot be read"),
        (["check", "t", "{}", "--pack", "agent-zer"], "agent-zer"),
        (["check", "t", "{}", "--policy", "absent.toml"], "absent.toml"),
        (["check", "--jsonl", "absent.jsonl"], "absent.jsonl: cannot be read"),
        (["check", "--jsonl", "a.jsonl", "b"], "--jsonl takes one file"),
        (["tools", "nothing", "--tools", TOOLS], "unknown tool `nothing`"),
        (["packs", "agent-zer"], "agent-zer"),
        (["eval", "absent.jsonl"], "absent.jsonl: cannot be read"),
        (["eval", TOOLS, "--limit", "-1"], "--limit"),
    ],
)
def test_wrong_usage_ends_with_2_and_a_plain_message(run: Runner, arguments: list[str], message: str) -> None:
    done = run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert "Traceback" not in done.err


def test_a_message_about_a_hostile_name_is_harmless(run: Runner) -> None:
    assert "\x1b" not in run("\x1b[2J").err
    assert "\x1b" not in run("tools", "\x1b[2J", "--tools", TOOLS).err


def test_the_command_runs_as_a_module_without_colours_in_a_pipe_and_with_them_on_demand() -> None:
    def output(**more: str) -> str:
        process = start("check", "get_weather", '{"city": "Oslo"}', "--tools", TOOLS, **more)
        out, err = process.communicate()
        assert (process.returncode, err) == (0, b"")
        return out.decode()

    assert "\x1b" not in output()
    assert "\x1b[32m" in output(FORCE_COLOR="1")
    assert "\x1b" not in output(FORCE_COLOR="1", NO_COLOR="1")


def test_a_terminal_that_knows_only_ascii_gets_escapes_instead_of_a_crash() -> None:
    process = start("demo", PYTHONIOENCODING="ascii")
    out, err = process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert out.isascii()


def test_output_that_cannot_be_written_ends_with_2_and_the_reason() -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "rightcall.cli", "packs"],
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment(),
            check=False,
        )
    told = b"error: cannot write the output: the disk is full; free some space and run it again\n"
    assert (done.returncode, done.stderr) == (2, told)


def test_a_program_can_talk_to_it_line_by_line_and_ctrl_c_ends_it_quietly() -> None:
    process = start("check", "--jsonl", "--tools", TOOLS)
    assert process.stdin
    assert process.stdout
    for number in range(3):
        process.stdin.write(b'{"id": %d, "name": "get_weather", "arguments": {"city": "Oslo"}}\n' % number)
        process.stdin.flush()
        assert process.stdout.readline().startswith(b'{"id": %d, "ok": true' % number)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"")


def test_a_reader_that_goes_away_ends_it_quietly() -> None:
    process = start("check", "--jsonl", "--tools", TOOLS)
    assert process.stdin
    assert process.stdout
    line = b'{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    process.stdin.write(line)
    process.stdin.flush()
    assert process.stdout.readline()
    process.stdout.close()
    process.stdin.write(line)
    process.stdin.close()
    assert process.wait() == 141
    assert process.stderr
    with process.stderr:
        assert process.stderr.read() == b""


@pytest.mark.promise("H-02")
def test_check_answers_within_150_ms_of_cpu(tmp_path: Path) -> None:
    # compiled once, as an installed package is, whatever the environment of this test run says
    compiled = environment(PYTHONDONTWRITEBYTECODE="", PYTHONPYCACHEPREFIX=str(tmp_path))

    def cpu(*arguments: str) -> float:
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, *arguments],
            compiled,
            file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
        )
        _, status, usage = os.wait4(pid, 0)
        assert status == 0
        return usage.ru_utime + usage.ru_stime

    check = ("-m", "rightcall.cli", "check", "get_weather", "{'city': 'Oslo'}", "--tools", str(TOOLS))
    ours = yardstick = inf
    for _ in range(6):  # the first one compiles
        ours = min(ours, cpu(*check))
        if ours <= 0.150:
            return
        yardstick = min(yardstick, cpu("-c", "import asyncio, json, re, inspect"))
    assert ours <= 1.75 * yardstick  # a busy machine is slow with both


EXAMPLE_OUTPUTS = {
    "wrap_a_function.py": ["Booked Da Enzo for 4 on 2026-05-01.", "Missing required fields: date."],
    "check_a_call.py": ["run get_weather {'city': 'Oslo', 'days': 3, 'unit': 'celsius'}", "repaired unit by "],
    "own_tools.py": ["get_weather {'city': 'Rome', 'days': 2}", "'amount': 1250.5", "Reminder is refused: "],
    "text_only_model.py": [
        "to the model:   Result: ⚠️ Invalid get_weather call. Missing required fields: city.",
        "to the model:   Result: 3 days of sun in Oslo\n",
        "answer:         It will be sunny in Oslo for three days.\n",
    ],
    "mytools.py": [],  # a module for `rightcall run`: docs/reference/executor.md uses it
    "tool_loop.py": [
        "code/read: success\ncode/delete: refused, Validation failed: Unknown tool `code/delete`\n",
        "answer after 2 rounds: The parser splits its text at commas.\n",
    ],
    "router_agent.py": [
        "Yes, take an umbrella: it will rain in Oslo.\n    intent_detection: tool_routing\n",
        "    tool_execution: Executed get_weather: success\n",
        'I would run save_note with {"file": "notes.txt", "text": "umbrella"}. A person has to approve that first',
        "The note is saved. (executed)\n",
    ],
    "debug_room.py": [
        "deepseek: The issue is in log_working_memory. (3 of 4 turns used tools)\n",
        "  deepseek  finding  I found the issue: log_working_memory returns before it appends.\n",
        "  step 2: read what was found, completed True, ['room/read', 'code/read', 'room/post']\n",
        "adoption of grok: {'turns': 3, 'toolTurns': 2, 'rate': 66.67}\n",
    ],
    "streaming.py": [
        "show: \" in both.\\n\"\nrun: get_weather {'city': 'Oslo'}\ntell the model: ⚠️ Invalid get_weather call.",
        'show: " One "\nshow: "moment."\n',
    ],
}

NEED_ARGUMENTS = {"proxy_client.py", "repair_training_set.py"}
"""Where the server is, and the files: docs/reference/proxy.md and docs/python/training-set.md run them with these."""


NEED_FRAMEWORKS = {
    "claude_sdk_agent.py", "fastmcp_server.py", "langchain_agent.py", "litellm_callback.py", "openai_agents_agent.py",
    "pydantic_ai_agent.py", "smolagents_agent.py",
}  # fmt: skip
"""They run where their frameworks are: `make test-hosts`."""


OWN_TESTS = {"peer_review.py": "tests/test_docs.py", "protected_server.py": "tests/test_docs.py"}


def test_every_example_that_needs_a_framework_is_run_by_a_test_with_the_real_one() -> None:
    source = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "tests_hosts").rglob("test_*.py"))
    assert [example for example in sorted(NEED_FRAMEWORKS) if example not in source] == []


@pytest.mark.parametrize(
    "example", sorted({path.name for path in EXAMPLES.glob("*.py")} - NEED_FRAMEWORKS - set(OWN_TESTS))
)
@pytest.mark.promise("H-01")
def test_every_example_runs_and_prints_what_it_should(example: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / example)],
        capture_output=True,
        env=environment(),
        cwd=ROOT,
        check=False,
        text=True,
    )
    if example in NEED_ARGUMENTS:
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"usage: {example} ")
        assert "Traceback" not in done.stderr
    else:
        assert (done.returncode, done.stderr) == (0, "")
        assert [words for words in EXAMPLE_OUTPUTS[example] if words not in done.stdout] == []


def test_the_example_client_says_that_nobody_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"  # of nobody, once it is closed
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "proxy_client.py"), address], capture_output=True, check=False, text=True
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"nobody answers at {address}: ")


def test_what_was_answered_before_an_interruption_is_written(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(options: object) -> int:
        sys.stdout.write("answered\n")
        raise KeyboardInterrupt

    monkeypatch.setattr("rightcall.cli.demo.run", interrupted)
    done = run("demo")
    assert (done.code, done.out, done.err) == (130, "answered\n", "")


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.EROFS, "cannot write ./rightcall.toml: the disk is read-only; run it in another folder"),
        (errno.ENOSPC, "cannot write ./rightcall.toml: the disk is full; free some space and run it again"),
        (errno.EACCES, "no permission for ./rightcall.toml; change its rights, or run it in another folder"),
    ],
)
def test_a_file_that_cannot_be_written_is_named_with_what_to_do(number: int, told: str) -> None:
    assert cli._describe_failure(OSError(number, os.strerror(number), "./rightcall.toml")) == told
