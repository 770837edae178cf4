"""`rightcall doctor`: the report, the record, its errors, and somebody who does not wait for the end."""

import re
import shlex
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from rightcall import Executor
from rightcall.doctor.questions import DoctorQuestion
from rightcall.models import endpoint
from rightcall.record.postgres import PostgresStore
from rightcall.record.sqlite import SqliteStore
from support.cli import Runner, Terminal, write_trusted
from support.doctor_model import answering, in_text, is_taught, misnamed, question_in, right
from support.every import every
from support.postgres import POSTGRES, shared
from support.scripted.server import Answer, Failure, NativeCall, Received, Scripted, ScriptedUpstream, Stalls, Text

KEY = "sk-very-secret-0123456789"

REPORT = """\
gpt-4o-mini at 127.0.0.1, OpenAI's API: 23 questions in # s

step                               asked  without     with
one tool, one text                     3    0 (0)    3 (3)
numbers, yes or no, lists              4    0 (0)    4 (4)
the right one of five tools            4    0 (0)    0 (0)
objects in objects, fixed choices      3    0 (0)    3 (3)
quotes, code and lines in a text       3    3 (0)    3 (0)
several calls in one message           3    3 (3)    3 (3)
the same as a stream                   3    3 (3)    3 (3)
all                                   23    9 (6)  19 (16)
usable calls (in brackets: with the right values too)

without RightCall  ███████▉              39 % usable (9 of 23), 6 right
with RightCall     ████████████████▌     83 % usable (19 of 23), 16 right

damage seen
  7 × a call left in the text
  4 × another tool than the one asked for
  3 × a name that no tool has

suggestions
  - the proxy with its default settings: 19 of 23 usable instead of 9 of 23
  - this model picks the wrong tool in 4 of 23 answers: no repair helps against that
  - in 3 of 23 answers the call fits, but a value is not the one that was asked for
"""

TAUGHT = """\
gpt-4o-mini at 127.0.0.1, OpenAI's API: 23 questions in # s

step                               asked  without   with  --teach on
one tool, one text                     3    0 (0)  0 (0)       3 (3)
numbers, yes or no, lists              4    0 (0)  0 (0)       4 (4)
the right one of five tools            4    0 (0)  0 (0)       4 (4)
objects in objects, fixed choices      3    0 (0)  0 (0)       3 (3)
quotes, code and lines in a text       3    0 (0)  0 (0)       3 (3)
several calls in one message           3    0 (0)  0 (0)       3 (3)
the same as a stream                   3    0 (0)  0 (0)       3 (3)
all                                   23    0 (0)  0 (0)     23 (23)
usable calls (in brackets: with the right values too)

without RightCall                        0 % usable (0 of 23), 0 right
with RightCall                           0 % usable (0 of 23), 0 right
with --teach on    ████████████████████  100 % usable (23 of 23), 23 right

damage seen
  23 × the server refused the request because of its tools

the server said
  status 400: it does not support tools

suggestions
  - --teach on: tools in the prompt: 23 of 23 usable instead of 0 of 23; the server refuses tools
"""


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as upstream:
        yield upstream


def mixed(question: DoctorQuestion, name: str, arguments: dict[str, Any]) -> NativeCall | Text:
    """Easy ones in the text, objects under a wrong name, a wrong one of five tools, code with something else in it."""
    if len(question.tools) == 5 and len(question.wanted) == 1 and not question.stream:
        other = "set_timer" if name != "set_timer" else "get_weather"
        return NativeCall(other, {"minutes": 3} if other == "set_timer" else {"city": "Bonn"})
    if question.exact and not question.stream:
        return NativeCall(
            name, {key: f"{value}" if key in ("file", "language") else "x" for key, value in arguments.items()}
        )
    if len(question.wanted) > 1 or question.stream:
        return right(question, name, arguments)
    return (misnamed if "{" in str(arguments)[1:] else in_text)(question, name, arguments)


def without_times(text: str) -> str:
    return re.sub(r"\d+\.\d s", "# s", text)


def test_the_report_is_a_table_two_bars_the_damage_and_what_helps(run: Runner, server: ScriptedUpstream) -> None:
    server.play(answering(mixed))
    done = run("doctor", "--upstream", server.address, "--model", "gpt-4o-mini")
    assert (done.code, done.err) == (0, "")
    assert without_times(done.out) == REPORT


def test_teaching_has_a_column_of_its_own(run: Runner, server: ScriptedUpstream) -> None:
    calls = answering(in_text)

    def script(request: Received) -> Scripted:
        return calls(request) if is_taught(request) else Failure(400, "it does not support tools")

    server.play(script)
    done = run("doctor", "--upstream", server.address, "--model", "gpt-4o-mini")
    assert done.code == 0
    assert without_times(done.out) == TAUGHT


def test_the_record_holds_every_figure(run: Runner, server: ScriptedUpstream) -> None:
    server.play(answering(mixed))
    done = run("doctor", "--upstream", f"{server.address}/v1", "--json", "--wire", "ollama", "--tries", "2")
    told = done.json
    assert done.code == 0
    assert (told["wire"], told["model_chosen"], told["complete"], told["tries"]) == ("ollama", True, True, 2)
    assert told["total"]["asked"] == 46
    assert told["total"]["with"] == {"asked": 46, "usable": 38, "right": 32}
    assert told["damage"] == {"text": 14, "wrong tool": 8, "name": 6}
    assert [suggestion["setting"] for suggestion in told["suggestions"]] == [None, None, None]
    assert len(told["questions"]) == 46
    assert told["questions"][0] == {
        "id": "weather",
        "step": "one tool, one text",
        "stream": False,
        "seconds": told["questions"][0]["seconds"],
        "damage": ["text"],
        "damage_when_taught": None,
        "without": {"usable": False, "right": False},
        "with": {"usable": True, "right": True},
        "retry": {"usable": True, "right": True},
    }


def test_what_a_server_calls_its_models_is_shown_escaped(run: Runner, server: ScriptedUpstream) -> None:
    server.play(answering(right))
    done = run("doctor", "--upstream", server.address, "--model", "m\x1b[31m")
    assert "m\\u001b[31m at 127.0.0.1" in done.out
    assert "\x1b" not in done.out


def test_nobody_at_the_address_is_an_error_with_advice(run: Runner) -> None:
    with ScriptedUpstream() as gone:
        address = gone.address
    done = run("doctor", "--upstream", address)
    assert (done.code, done.out) == (2, "")
    assert re.match(r"error: 127\.0\.0\.1:\d+ cannot be reached \(", done.err)
    assert done.err.endswith("check that the upstream is running and that --upstream is its address\n")


@every(
    ("arguments", "complaint"),
    [
        (["--upstream", "localhost:8080"], "--upstream must be an address such as http://localhost:11434"),
        (["--upstream", "http://h", "--key-env", "NOT_SET"], "environment variable NOT_SET is missing or empty"),
        (["--upstream", "http://h", "--tries", "0"], "`--tries`: a number from 1 to 20, not 0"),
        (["--upstream", "http://h", "--max-tokens", "x"], "`--max-tokens`: a number from 16 to 100000, not x"),
        (["--upstream", "http://h", "--timeout", "nan"], "`--timeout`: seconds from 0.1 to 3600, not nan"),
    ],
)
def test_wrong_usage_says_what_would_be_right(run: Runner, arguments: list[str], complaint: str) -> None:
    done = run("doctor", *arguments)
    assert done.code == 2
    assert complaint in done.err


def test_the_key_is_read_from_the_environment_and_never_printed(
    run: Runner, server: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", f"{KEY}\n")
    server.play(lambda _: Failure(400, f"what a strange key: {KEY}"))
    done = run("doctor", "--upstream", server.address, "--key-env", "MY_KEY")
    assert {request.header("authorization") for request in server.requests} == {f"Bearer {KEY}"}
    assert done.code == 2
    assert "Not everything was asked: the server failed three times in a row" in done.out
    assert "what a strange key" in done.out
    assert KEY not in done.out + done.err
    monkeypatch.setenv("MY_KEY", "two words")
    done = run("doctor", "--upstream", server.address, "--key-env", "MY_KEY")
    assert done.code == 2
    assert "words" not in done.out + done.err.replace("blanks", "")


def test_ctrl_c_at_a_terminal_prints_what_is_known_so_far(server: ScriptedUpstream) -> None:
    calls = answering(right)

    def script(request: Received) -> Scripted:
        return Stalls(Answer([Text("hm")]), after=0) if question_in(request).id == "light" else calls(request)

    server.play(script)
    with Terminal("doctor", "--upstream", server.address) as terminal:
        server.wait_for_stall()
        terminal.until("4 of 23 questions")
        terminal.interrupt()
        code, seen = terminal.end()
    assert code == 130
    assert "numbers, yes or no, lists" in seen
    assert "100 % usable (4 of 4), 4 right" in seen
    assert "Not everything was asked: interrupted" in seen


def test_a_narrow_terminal_gets_no_bars(run: Runner, server: ScriptedUpstream) -> None:
    server.play(answering(right))
    done = run("doctor", "--upstream", server.address, columns=44)
    assert "█" not in done.out
    assert "with RightCall: 100 % usable (23 of 23), 23\nright\n" in done.out


def test_in_a_hurry_one_question_of_each_step_is_asked(run: Runner, server: ScriptedUpstream) -> None:
    server.play(answering(right))
    told = run("doctor", "--upstream", server.address, "--quick", "--json").json
    assert [question["id"] for question in told["questions"]] == [
        "weather", "timer", "message", "event", "line", "cities", "weather, streamed",
    ]  # fmt: skip


# ── this machine ──


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder and an empty home; no model server listens."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(endpoint, "SERVERS", {"Nobody": 9})
    return tmp_path


def states(record: Any) -> dict[str, str]:
    return {one["name"]: one["state"] for one in record["checks"]}


def test_a_fresh_machine_is_told_to_see_the_demo(run: Runner, here: Path) -> None:
    done = run("doctor")
    assert (done.code, done.err) == (0, "")
    assert "· models        no Ollama, LM Studio, llama.cpp or vLLM on its usual port; for another address" in done.out
    assert "`rightcall doctor --upstream URL`\n" in done.out
    assert "· policy        no policy file: the defaults apply\n" in done.out
    assert "· integrations  none installed\n" in done.out
    assert "\nnext: rightcall demo\n" in done.out
    assert not (here / ".rightcall").exists()


def test_a_model_server_that_runs_here_gets_a_proxy(
    run: Runner, here: Path, server: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = int(server.address.rpartition(":")[2])
    monkeypatch.setattr(endpoint, "SERVERS", {"Ollama": port})
    record = run("doctor", "--json").json
    assert (record["ok"], states(record)["models"]) == (True, "ok")
    assert record["models"][0]["name"] == "Ollama"
    assert record["next"]["command"] == f"rightcall proxy --upstream http://127.0.0.1:{port} --no-auth"


def test_what_is_wrong_comes_first_with_the_command_that_helps(run: Runner, here: Path) -> None:
    (here / "rightcall.toml").write_text("version = 1\n[policy]\nstage = 'ful'\n")
    done = run("doctor", "--json")
    assert (done.code, done.json["ok"], states(done.json)["policy"]) == (1, False, "wrong")
    assert done.json["next"]["command"] == "rightcall policy check ./rightcall.toml"


def test_a_stopped_folder_is_told_of_without_its_store(run: Runner, here: Path) -> None:
    (here / "rightcall.toml").write_text("version = 1\n")
    run("pause", "--by", "anna")
    rmtree(here / ".rightcall")
    done = run("doctor", "--json")
    assert (states(done.json)["store"], done.json["next"]["command"]) == ("wrong", "rightcall resume")
    assert run("resume", "--by", "anna").code == 0
    assert states(run("doctor", "--json").json)["store"] == "missing"


def test_without_a_policy_the_store_of_hooks_is_named_once_it_is_there(
    run: Runner, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "state"))
    assert "record in" not in run("doctor").out
    shared = here / "state" / "rightcall" / "audit.db"
    shared.parent.mkdir(parents=True)
    SqliteStore(shared).close()
    (store,) = [one for one in run("doctor", "--json").json["checks"] if one["name"] == "store"]
    assert store["text"].endswith(f"nothing is recorded yet; hooks without a policy file record in {shared}")


@pytest.mark.postgres
@pytest.mark.parametrize("what", ["read-only", "nodes", "audit"])
def test_a_store_that_can_be_read_and_not_written_is_wrong(run: Runner, here: Path, what: str) -> None:
    server = shared(POSTGRES[-1])
    with server.database() as url, ExitStack() as stack:
        PostgresStore(url).close()
        if what != "read-only":
            stack.enter_context(server.full_disk(url, what))
        else:
            name = url.split("/")[3].partition("?")[0]
            server.run(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        done = run("doctor", "--json", "--store", url)
    (store,) = [one for one in done.json["checks"] if one["name"] == "store"]
    assert (done.code, store["state"]) == (1, "wrong")
    assert ("it only allows reading" if what == "read-only" else "its disk is full") in store["text"]


def test_a_paused_store_is_to_be_resumed_where_it_is(run: Runner, here: Path) -> None:
    (here / "my project").mkdir()
    (here / "my project" / "rightcall.toml").write_text("version = 1\n")
    assert run("pause", "--root", "my project", "--by", "anna").code == 0
    done = run("doctor", "--root", "my project", "--json")
    assert (done.code, states(done.json)["store"]) == (1, "wrong")
    command = done.json["next"]["command"]
    assert command == "rightcall resume --root 'my project'"
    assert run(*shlex.split(command)[1:], "--by", "anna").code == 0
    assert run("doctor", "--root", "my project").code == 0


def test_a_machine_that_was_stopped_is_to_be_resumed(run: Runner, here: Path) -> None:
    assert run("pause", "--everywhere", "--by", "anna").code == 0
    try:
        done = run("doctor", "--json")
        assert (done.code, done.json["next"]["command"]) == (1, "rightcall resume --everywhere")
    finally:
        assert run("resume", "--everywhere", "--by", "anna").code == 0


def test_a_policy_that_nobody_trusts_is_named(run: Runner, here: Path) -> None:
    (here / "rightcall.toml").write_text("version = 1\n[policy]\nstage = 'full'\n")
    assert run("pause", "--by", "anna").code == run("resume", "--by", "anna").code == 0
    record = run("doctor", "--json").json
    assert record["next"]["command"] == "rightcall trust ./rightcall.toml"


def test_a_command_to_notify_that_does_not_exist_is_found_by_both_checks(tmp_path: Path, run: Runner) -> None:
    file = tmp_path / "rightcall.toml"
    write_trusted(file, '[approvals]\nnotify = ["no-such-program"]\n')
    checked = run("policy", "check", str(file))
    assert checked.code == 0
    assert "line 2    approvals.notify: program 'no-such-program' not found" in checked.out
    looked = run("doctor", "--root", str(tmp_path), "--json")
    (policy_check,) = [one for one in looked.json["checks"] if one["name"] == "policy"]
    assert policy_check["state"] == "wrong"
    assert "approvals.notify: program 'no-such-program' not found: nobody is told" in policy_check["text"]
    assert looked.code == 1


def test_after_init_the_next_step_is_another_one(tmp_path: Path, run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rightcall.cli.doctor._servers", list)
    assert run("doctor", "--root", str(tmp_path), "--json").json["next"]["command"] == "rightcall demo"
    assert run("init", "--root", str(tmp_path)).code == 0
    after = run("doctor", "--root", str(tmp_path), "--json").json["next"]
    assert after["command"] == f"rightcall serve --root {tmp_path}"


def test_the_look_around_says_what_would_have_failed(tmp_path: Path, run: Runner) -> None:
    with Executor.open_sync(tmp_path) as executor:
        executor.run({"name": "ping", "arguments": "{}"}, "ann")
        executor.run({"name": "system/ping", "arguments": "{'message': 'x',}"}, "ann")
    done = run("doctor", "--root", str(tmp_path), "--json")
    told = [one["text"] for one in done.json["checks"] if one["name"] == "value"]
    assert [text.endswith("would have failed without RightCall") for text in told] == [True]
