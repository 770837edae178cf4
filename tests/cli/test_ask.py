"""`rightcall ask --route`: the whole way from the shell, with a real server and a person at a real terminal."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rightcall.base.files.guarded import packets_folder
from rightcall.router.packets import PacketStore
from support.cli import Done, Runner, Terminal, environment, start, write_trusted
from support.routers import (
    APPROVED,
    EVIL,
    NONE,
    READING,
    READS,
    UNAPPROVED,
    choice,
    reads,
    says,
    whole_loop,
    write_folder,
    write_policy,
)
from support.scripted.server import Answer, Dies, ScriptedUpstream, Stalls, Text

Ask = Callable[..., Done]
ASKS = '[policy.approval]\ntools = ["code/read"]'


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as upstream:
        yield upstream


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ScriptedUpstream) -> Path:
    monkeypatch.chdir(tmp_path)
    write_folder(tmp_path)
    write_policy(tmp_path, server)
    server.play([])
    return tmp_path


@pytest.fixture
def ask(run: Runner, folder: Path) -> Ask:
    return lambda *arguments, **more: run("ask", *([] if "--resume" in arguments else ["--route"]), *arguments, **more)


def packets() -> PacketStore:
    return PacketStore(packets_folder(os.path.join(".", ".rightcall", "audit.db")))


@pytest.mark.promise("T-08")
def test_a_request_is_answered_with_what_a_tool_gave_and_its_packet_is_kept(ask: Ask, server: ScriptedUpstream) -> None:
    server.play(whole_loop(f"It says:\r\n\tDesign. {EVIL}"))
    done = ask(READING, "--session", "s1")
    assert done.code == 0
    assert re.fullmatch(r'✓ code/read {"path": "docs/design.md"} \(\d+ ms\): Read 1 line from .*\n', done.err)
    assert done.out == "It says:\n    Design. \\u001b[31m\\u202eevil\\u0007\n"
    assert "# Design" in json.dumps(server.requests[-1].json)
    packet = packets().load(packets().find("last"))
    assert (packet.status.state, packet.header.session_id) == ("answered", "s1")
    assert packet.tool_routing.execution_status == "executed"


def test_the_words_of_a_request_need_no_quotes_and_a_program_gets_the_packet(
    ask: Ask, server: ScriptedUpstream
) -> None:
    server.play(whole_loop())
    done = ask(*READING.split(), "--json")
    assert done.code == 0, done.err
    assert (done.json["answer"], done.json["state"], done.json["commands"]) == ("It says: Design.", "answered", {})
    assert done.json["packet"]["content"]["original_prompt"] == READING
    assert done.json["packet"]["tool_routing"]["selected_tool"]["params"] == READS


def test_the_command_line_can_name_another_model_with_its_key(
    ask: Ask, folder: Path, server: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_trusted(folder / "rightcall.toml", '[router]\nmode = "regex"\n')
    monkeypatch.setenv("MY_KEY", "s3cret")
    server.play(says("Hello!"))
    done = ask("hello", "--upstream", server.address, "--model", "other", "--key-env", "MY_KEY")
    assert (done.code, done.out) == (0, "Hello!\n")
    (asked,) = server.requests
    assert (asked.json["model"], asked.header("authorization")) == ("other", "Bearer s3cret")


@pytest.mark.promise("T-05")
def test_a_low_confidence_is_a_question_that_another_command_answers(ask: Ask, server: ScriptedUpstream) -> None:
    server.play(says(reads(), UNAPPROVED))
    done = ask(READING)
    kept = packets().find("last")
    assert done.code == 1
    assert done.out.startswith('I would run code/read with {"path": "docs/design.md"}, but I am not sure enough')
    assert f"to go on         rightcall ask --resume {kept} yes   or: no" in done.out
    again = ask("--resume", kept)  # nothing is said, so nothing happens
    assert (again.code, again.out) == (1, done.out)
    server.play(says(NONE, "It says: Design."))
    went_on = ask("--resume", "last", "yes")
    told = 'yes to: code/read {"path": "docs/design.md"}\nIt says: Design.\n'
    assert (went_on.code, went_on.out, went_on.err.count("\n")) == (0, told, 1)
    assert went_on.err.startswith("✓ code/read ")
    assert packets().load(kept).tool_routing.execution_status == "executed"
    assert ask("--resume", kept).out == "It says: Design.\n"


def test_no_to_a_question_leaves_the_call_out(ask: Ask, server: ScriptedUpstream) -> None:
    server.play(says(reads(), UNAPPROVED, "As you like."))
    assert ask(READING).code == 1
    done = ask("--resume", "last", "No")
    assert (done.code, done.out) == (0, "As you like.\n")
    assert packets().load(packets().find("last")).tool_routing.execution_status == "user_denied"


@pytest.mark.promise("T-06")
def test_a_call_that_needs_a_person_waits_for_that_person(
    ask: Ask, run: Runner, folder: Path, server: ScriptedUpstream
) -> None:
    write_policy(folder, server, ASKS)
    server.play(says(reads(), APPROVED))
    done = ask(READING, "--json", "--as", "ada")
    assert (done.code, done.json["state"]) == (1, "waiting")
    commands = done.json["commands"]
    assert list(commands) == ["show", "approve", "deny", "resume"]
    kept = done.json["packet"]["header"]["packet_id"]
    assert commands["resume"] == f"rightcall ask --resume {kept} --as ada"
    assert ask("--resume", kept).err.startswith("error: `caller`: this request is of 'ada'")
    digest = run(*commands["show"].split()[1:], "--json").json["digest"]
    assert run(*commands["approve"].split()[1:], "--digest", digest, "--by", "anna").code == 0
    server.play(says(NONE, "It says: Design."))
    assert run(*commands["resume"].split()[1:]).out == "It says: Design.\n"
    assert "rightcall ask" not in run("requests", "show", kept).out


@pytest.mark.promise("T-06", "P-06")
@pytest.mark.parametrize("review", [UNAPPROVED, APPROVED])
def test_one_yes_on_the_command_line_is_enough(ask: Ask, folder: Path, server: ScriptedUpstream, review: str) -> None:
    write_policy(folder, server, ASKS)
    server.play(says(reads(), review))
    done = ask(READING, "--as", "ada")
    assert done.code == 1
    server.play(says(NONE, "It says: Design."))
    refused = ask("--resume", "last", "yes", "--as", "ada", "--by", "ada")
    assert (refused.code, "is the caller itself" in refused.out) == (1, True)
    done = ask("--resume", "last", "yes", "--as", "ada", "--by", "anna")
    assert (done.code, done.out) == (0, 'yes to: code/read {"path": "docs/design.md"}\nIt says: Design.\n')


@pytest.mark.promise("T-05", "T-06")
@pytest.mark.parametrize(("review", "asks"), [(UNAPPROVED, "run it? [y/n"), (APPROVED, "? [y/N")])
def test_at_a_terminal_a_question_is_asked_there_and_then_and_once(
    folder: Path, server: ScriptedUpstream, review: str, asks: str
) -> None:
    write_policy(folder, server, ASKS)
    server.play(says(reads(), review, NONE, f"Done. {EVIL}"))
    with Terminal("ask", "--route", READING, "--by", "anna") as terminal:
        shown = terminal.until(asks)
        terminal.type("y\n")
        code, seen = terminal.end()
    assert (code, "docs/design.md" in shown) == (0, True)
    assert "Done. \\u001b[31m\\u202eevil\\u0007\n" in seen
    assert f"rightcall requests show {packets().find('last')}\n" in seen


def test_ctrl_c_saves_the_request_and_says_how_it_goes_on(folder: Path, server: ScriptedUpstream) -> None:
    server.play([Stalls(Answer([Text("hm")]), after=0)])
    process = start("ask", "--route", READING)
    server.wait_for_stall()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    kept = packets().find("last")
    assert (process.returncode, out) == (130, b"")
    assert f"goes on with: rightcall ask --resume {kept}\n" in err.decode()
    assert packets().load(kept).content.original_prompt == READING


def test_an_interrupted_request_goes_on(ask: Ask, folder: Path, server: ScriptedUpstream) -> None:
    from rightcall.router.packets import new_packet

    packets().save(new_packet(READING))
    server.play(whole_loop())
    assert ask("--resume", "last").out == "It says: Design.\n"


def test_a_server_that_is_down_is_one_sentence(ask: Ask, folder: Path) -> None:
    done = ask(READING, "--upstream", "http://127.0.0.1:9", "--model", "m")
    assert (done.code, done.err, done.out.count("\n")) == (1, "", 1)
    assert "127.0.0.1:9" in done.out
    assert "cannot be reached" in done.out


@pytest.mark.parametrize("command", ["ask", "route"])
def test_without_a_model_an_example_says_how_to_name_one(run: Runner, folder: Path, command: str) -> None:
    (folder / "rightcall.toml").unlink()
    done = run(command, "hello", *(["--run"] if command == "route" else []))
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: no model to ask. Name one in ./rightcall.toml:\n\n  [router.prime]\n")
    assert f"rightcall {command} … --upstream http://127.0.0.1:8080/v1 --model qwen3-4b" in done.err
    assert not (folder / ".rightcall").exists()
    lines = [line[2:] for line in done.err.splitlines() if line.startswith("  ")]
    write_trusted(folder / "rightcall.toml", "\n".join(lines))
    assert run("policy", "check").code == 0  # the example is right as it stands
    (folder / "rightcall.toml").write_text("# another\n" + "\n".join(lines))
    untrusted = run(command, "hello", *(["--run"] if command == "route" else [])).err
    assert "no model to ask. The one that ./rightcall.toml names counts once you trust the file: rightcall" in untrusted


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "no request was given; pass your question"),
        ([" "], "an empty request was given"),
        (["--resume", "last"], "no saved requests in"),
        (["--resume", "pabc"], 'unknown request "pabc"'),
        (["--resume", "last", "yes", "--session", "s"], "--session is for a new request"),
        (["hi", "--model", "m"], "--model needs `--upstream URL`"),
        (["hi", "--upstream", "nonsense"], "`url` must be an address"),
        (
            ["hi", "--upstream", "http://127.0.0.1:9", "--key-env", "NOT_THERE"],
            "environment variable NOT_THERE is missing or empty",
        ),
        (["hi", "--root", "absent"], "no such folder"),
        (["hi\udcff"], "is not UTF-8 text"),
    ],
)
def test_what_is_wrong_is_said_before_anybody_is_asked(
    ask: Ask, server: ScriptedUpstream, arguments: list[str], complaint: str
) -> None:
    done = ask(*arguments)
    assert (done.code, done.out, server.requests) == (2, "", [])
    assert complaint in done.err


def test_a_request_that_no_model_could_be_asked_is_refused_with_the_limit(ask: Ask, server: ScriptedUpstream) -> None:
    done = ask("-", stdin="word " * 20_000)
    assert (done.code, server.requests) == (2, [])
    assert "about 25,000 tokens, but a whole request may take 20,000" in done.err
    server.play(whole_loop())
    assert ask("-", stdin=READING).out == "It says: Design.\n"


@pytest.mark.promise("T-07")
def test_own_functions_go_on_where_route_left_them_with_the_command_that_was_printed(
    ask: Ask, run: Runner, folder: Path, server: ScriptedUpstream
) -> None:
    (folder / "askedtools.py").write_text(
        "from rightcall import tool\n\n@tool(effects=['read'])\ndef count_notes(about: str) -> int:\n"
        '    """Count the notes about something."""\n    return 7041\n'
    )
    write_policy(folder, server, '[policy.approval]\ntools = ["count_notes"]')
    server.play(says(choice("count_notes", about="milk"), APPROVED, NONE, "There are 7041."))
    waits = run("route", "count the notes about milk", "--tools", "askedtools:count_notes", "--run", "--json").json
    assert waits["commands"]["resume"] == f"rightcall ask --resume {waits['packet']} --tools askedtools:count_notes"
    shown = run("approvals", "show", waits["approval"], "--json").json
    assert run("approvals", "approve", waits["approval"], "--digest", shown["digest"]).code == 0
    done = ask(*waits["commands"]["resume"].split()[2:])
    assert (done.code, done.out) == (0, "There are 7041.\n")


def test_an_answer_that_breaks_off_says_why_on_standard_error(ask: Ask, server: ScriptedUpstream) -> None:
    server.play([*says(reads(), APPROVED, NONE), Dies(Answer([Text("It says: Design, and more.")]), after=2)])
    done = ask(READING)
    assert done.code == 1
    assert "\nerror: the answer is not complete: " in done.err


def test_a_request_that_came_to_nothing_says_so_and_ends_with_1(ask: Ask, server: ScriptedUpstream) -> None:
    server.play(says("Hm.", "Hm.", "I looked, and it says Design."))
    done = ask(READING)
    assert (done.code, done.out) == (1, "I looked, and it says Design.\n")
    assert done.err.startswith("error: nothing was done: the model's choice cannot be used: ")
    server.play(says("Hm.", "Hm.", "I looked, and it says Design."))
    told = ask(READING, "--json")
    assert (told.code, "cannot be used" in told.json["why"]) == (1, True)


def test_a_tool_that_the_policy_forbids_is_named_with_the_line_that_allows_it(
    ask: Ask, folder: Path, server: ScriptedUpstream
) -> None:
    (folder / "posttools.py").write_text(
        "from rightcall import tool\n\n@tool(effects=['write'])\ndef send_email(to: str, text: str) -> str:\n"
        '    """Send an email to a person."""\n    return "sent"\n\n'
        "@tool(effects=['read'])\ndef list_emails(folder: str = 'inbox') -> str:\n"
        '    """List the emails of a folder."""\n    return "none"\n\nTOOLS = [send_email, list_emails]\n'
    )
    server.play(says(NONE, "I have sent it."))
    done = ask("send an email to bo@example.org: lunch at one", "--route", "--tools", "posttools:TOOLS")
    assert done.code == 1, done
    assert "error: nothing was done: send_email may be what this needs, but the policy does not allow it" in done.err
    assert '[policy] write = "ask"' in done.err
    sends = choice("send_email", to="bo", text="lunch")
    server.play(says(sends, sends, "I have sent it."))
    done = ask("send an email to bo@example.org: lunch at one", "--route", "--tools", "posttools:TOOLS")
    assert "`send_email` is none of the tools: the policy does not allow it; " in done.err
    server.play(says(NONE, "You are welcome."))
    assert ask("thanks a lot!", "--route", "--tools", "posttools:TOOLS").code == 0


def test_a_full_disk_is_one_sentence_for_an_answer_too(folder: Path, server: ScriptedUpstream) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    server.play([*says(reads(), APPROVED, NONE), Answer([Text("It says: Design. " * 400, pieces=100)])])
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "rightcall.cli", "ask", READING],
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment(),
            check=False,
        )
    told = b"error: cannot write the output: the disk is full; free some space and run it again\n"
    assert (done.returncode, done.stderr) == (2, told)
