"""`rightcall approvals`: looking at what waits, and answering it, with and without a terminal."""

import json
import os
import pwd
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rightcall.base.text import with_left_out
from rightcall.cli import persons
from rightcall.policy.types import Approval, Origin
from rightcall.record.sqlite import SqliteStore
from support.approvals import Desk, say
from support.approvals import digest as digest_of
from support.cli import Runner, Terminal, start

pytestmark = pytest.mark.promise("P-06")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """A project folder with an audit in it; its clock is the machine's own, as the command's is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rightcall.toml").write_text("version = 1\n[callers.teacher]\n[callers.helper]\n")
    store = SqliteStore(tmp_path / ".rightcall" / "audit.db")
    yield Desk(store)
    store.close()


def status(desk: Desk, id: str) -> str:
    approval = desk.store.look(lambda tables: tables.approval(id))
    assert approval is not None
    return approval.status


def question(desk: Desk, id: str) -> Approval:
    approval = desk.store.look(lambda tables: tables.approval(id))
    assert approval is not None
    return approval


LONG = {"content": "line\n" * 500}


def test_the_list_shows_what_waits_without_a_digest(run: Runner, desk: Desk) -> None:
    assert run("approvals", "list").out == "Nothing waits for an answer.\n"
    first, second = desk.ask(), desk.ask(caller="x\x1b[2J\u202e" + "y" * 100)
    done = run("approvals", "list", columns=140)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[1].startswith(f"{first}  teacher ")
    assert "file/save  waiting, 9 min " in done.out
    assert f"{second}  x\\u001b[2J\\u202eyyy" in done.out
    assert desk.request().digest[:8] not in done.out
    assert done.out.endswith("2 questions; `rightcall approvals show ID` shows one\n")


def test_the_list_as_json_has_neither_call_nor_digest(run: Runner, desk: Desk) -> None:
    asked = desk.ask()
    (record,) = run("approvals", "list", "--json").json["approvals"]
    assert (record["id"], record["caller"], record["tool"], record["status"]) == (
        asked,
        "teacher",
        "file/save",
        "waiting",
    )
    assert 590 < record["seconds_left"] <= 600
    assert desk.request().digest[:8] not in json.dumps(record)
    assert "hello" not in json.dumps(record)


def test_answered_questions_are_listed_on_demand(run: Runner, desk: Desk) -> None:
    asked = desk.ask()
    say(desk.store, asked, "denied")
    assert run("approvals", "list").out == "Nothing waits for an answer.\n"
    assert f"{asked}  teacher  file/save  denied" in run("approvals", "list", "--all").out


def test_show_is_short_unless_asked_for_everything(run: Runner, desk: Desk) -> None:
    asked = desk.ask(LONG)
    digest = question(desk, asked).digest
    short, full = run("approvals", "show", asked), run("approvals", "show", asked, "--full")
    assert "NOT SHOWN; --full shows all" in short.out
    assert digest[:8] not in short.out
    assert full.out.endswith(f"digest      {digest}\n")
    assert full.out.count("│   │ line\n") == 500


def test_the_only_question_can_be_shown_and_approved_without_its_id(run: Runner, desk: Desk) -> None:
    for action in ("show", "approve"):
        assert "no question is waiting for an answer" in run("approvals", action).err
    asked = desk.ask()
    assert run("approvals", "show").out.startswith(f"question    {asked} about a call")
    assert f"`rightcall approvals show {asked} --full" in run("approvals", "approve").err
    assert run("approvals", "approve", "--digest", question(desk, asked).digest[:8], "--by", "anna").code == 0
    assert status(desk, asked) == "approved"
    desk.ask({"n": 2})
    desk.ask({"n": 3})
    for action in ("show", "approve"):
        assert "2 questions waiting for an answer: name one" in run("approvals", action).err


def test_show_as_json_is_complete(run: Runner, desk: Desk) -> None:
    asked = desk.ask({"path": "a\u202eb", "n": 1.0})
    done = run("approvals", "show", asked, "--json")
    record = done.json
    assert record["call"] == '{"arguments":{"n":1.0,"path":"a\u202eb"},"name":"file/save"}'
    assert record["digest"] == question(desk, asked).digest
    assert "\u202e" not in done.out


def test_a_question_that_does_not_exist_is_told_so(run: Runner, desk: Desk) -> None:
    for action in (["show", "\x1b[2J"], ["approve", "\x1b[2J", "--digest", "0" * 8], ["deny", "\x1b[2J"]):
        done = run("approvals", *action)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("error: unknown approval '\\u001b[2J'") or "\\\\u001b[2J" in done.err


def test_an_id_that_means_nothing_is_said_before_a_digest_is_asked_for(run: Runner, desk: Desk) -> None:
    for options in ((), ("--yes",)):
        done = run("approvals", "approve", "zzz", *options)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("error: unknown approval 'zzz'")


def test_without_a_terminal_a_yes_needs_the_digest(run: Runner, desk: Desk) -> None:
    asked = desk.ask()
    digest = question(desk, asked).digest
    done = run("approvals", "approve", asked, stdin="y\ny\n")
    assert (done.code, done.out) == (2, "")
    assert "cannot prompt without a terminal" in done.err
    for wrong in (digest[:7], "0" * 64, digest[1:], ""):
        assert run("approvals", "approve", asked, "--digest", wrong, "--by", "anna").code == 2
    assert status(desk, asked) == "waiting"
    done = run("approvals", "approve", asked, "--digest", digest[:8], "--by", "anna")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{asked} is approved: the call may run once, as it was shown, within 600 seconds.\n"
    assert question(desk, asked).by == "anna"
    assert desk.try_().decision.rule == "approval:given"


def test_what_the_tool_could_not_show_whole_is_not_approved_with_a_digest_either(run: Runner, desk: Desk) -> None:
    cut_off = with_left_out("the diff is too long. Commit less", "+ a line")
    asked = desk.ask(details=json.dumps({"preview": cut_off}))
    digest = question(desk, asked).digest
    shown = run("approvals", "show", asked, "--full").out
    assert "NOT EVERYTHING IS SHOWN: the diff is too long. Commit less" in shown
    assert digest[:8] not in shown
    done = run("approvals", "approve", asked, "--digest", digest, "--by", "anna")
    assert (done.code, done.out) == (2, "")
    assert "cannot be approved from here: its preview leaves something out" in done.err
    assert run("approvals", "deny", asked, "--by", "anna").code == 0


def test_yes_alone_is_not_enough(run: Runner, desk: Desk) -> None:
    done = run("approvals", "approve", desk.ask(), "--yes")
    assert (done.code, "`--yes` needs `--digest HEX`" in done.err) == (2, True)


@pytest.mark.parametrize("by", ["teacher", "Teacher", "te\u0430cher", "helper", "HELPER ", "", "\u200b"])
def test_no_caller_of_the_policy_answers_nor_who_looks_like_one(run: Runner, desk: Desk, by: str) -> None:
    asked = desk.ask()
    digest = question(desk, asked).digest
    for action in (["approve", asked, "--digest", digest], ["deny", asked]):
        done = run("approvals", *action, "--by", by)
        assert (done.code, done.out) == (2, "")
    assert status(desk, asked) == "waiting"


def test_a_no_needs_no_digest_and_keeps_its_reason(run: Runner, desk: Desk) -> None:
    asked = desk.ask()
    done = run("approvals", "deny", asked, "--reason", "not on a Friday", "--by", "anna")
    assert (done.code, done.out) == (0, f"{asked} is denied.\n")
    (entry,) = desk.store.look(lambda tables: tables.newest(1, ("answer",)))
    assert json.loads(entry.body)["reason"] == "not on a Friday"
    assert run("approvals", "deny", asked, "--by", "anna").err.endswith("already denied; an answer is given once\n")


def test_the_name_comes_from_the_system_and_not_from_the_environment(
    run: Runner, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("USER", "LOGNAME", "LNAME", "USERNAME"):
        monkeypatch.setenv(variable, "somebody-else")
    asked = desk.ask()
    run("approvals", "deny", asked)
    assert question(desk, asked).by == pwd.getpwuid(os.getuid()).pw_name


def test_a_user_without_a_name_has_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 7)
    assert persons.login_name() == f"uid {2**31 - 7}"


@pytest.mark.promise("P-08")
def test_a_changed_definition_is_shown_with_what_changed_and_accepted(run: Runner, desk: Desk) -> None:
    old, new = '{"description":"Reads."}', '{"description":"Reads, and mails it."}'
    digests = [digest_of(text.encode()) for text in (old, new)]
    assert desk.try_(definition=digests[0], described=old, effects=("read",)).decision.kind == "allow"
    asked = desk.ask(definition=digests[1], described=new, effects=("read",))
    shown = run("approvals", "show", asked, "--full").out
    assert f"  │ - {old[1:-1].replace(':', ': ')}\n  │ + {new[1:-1].replace(':', ': ')}\n" in shown
    assert run("approvals", "show", asked, "--json").json["definition_before"] == old
    done = run("approvals", "approve", asked, "--digest", digests[1][:8], "--by", "anna")
    assert done.out == f"{asked}: the changed definition is accepted.\n"
    assert desk.try_(definition=digests[1], effects=("read",)).decision.kind == "allow"


def at_terminal(*arguments: str) -> Terminal:
    return Terminal("approvals", *arguments, "--by", "anna")


@pytest.mark.parametrize(("typed", "after", "code"), [("y", "approved", 0), ("", "waiting", 1), ("n", "waiting", 1)])
def test_at_a_terminal_the_whole_question_is_shown_and_the_default_is_no(
    desk: Desk, typed: str, after: str, code: int
) -> None:
    asked = desk.ask(LONG)
    with at_terminal("approve", asked) as terminal:
        shown = terminal.until("? [y/N] ")
        terminal.type(typed + "\n")
        assert terminal.end()[0] == code
    assert shown.count("│   │ line") == 500
    assert question(desk, asked).digest in shown
    assert status(desk, asked) == after


def test_a_terminal_too_narrow_for_the_margin_gets_no_question(desk: Desk) -> None:
    asked = desk.ask()
    with Terminal("approvals", "approve", asked, "--by", "anna", columns=39) as terminal:
        code, seen = terminal.end()
    assert (code, status(desk, asked)) == (2, "waiting")
    assert "the terminal has 39 columns" in seen


def test_no_row_is_wider_than_the_terminal_whatever_the_environment_says(desk: Desk) -> None:
    asked = desk.ask({"content": "x" * 500 + "é" * 500})
    with Terminal("approvals", "show", asked, "--full", columns=60, COLUMNS="150") as terminal:
        _, seen = terminal.end()
    assert max(sum(1 if one.isascii() else 2 for one in line) for line in seen.splitlines()) <= 60


def test_what_is_typed_before_the_question_is_shown_does_not_count(desk: Desk) -> None:
    asked = desk.ask()
    with at_terminal("approve", asked) as terminal:
        terminal.type("y\n" * 5)
        terminal.until("? [y/N] ")
        terminal.type("\n")
        assert (terminal.end()[0], status(desk, asked)) == (1, "waiting")


def test_at_a_terminal_the_digest_can_be_given_with_yes(desk: Desk) -> None:
    asked = desk.ask()
    with at_terminal("approve", asked, "--yes", "--digest", question(desk, asked).digest[:8]) as terminal:
        code, seen = terminal.end()
    assert (code, status(desk, asked)) == (0, "approved")
    assert "[y/N]" not in seen


def test_a_question_that_is_over_is_not_shown_for_an_answer(desk: Desk) -> None:
    asked = desk.ask()
    say(desk.store, asked, "denied")
    with at_terminal("approve", asked) as terminal:
        code, seen = terminal.end()
    assert code == 2
    assert "is already denied" in seen
    assert "[y/N]" not in seen


def test_watching_asks_about_each_question_and_ends_with_ctrl_c(desk: Desk) -> None:
    first = desk.ask()
    with at_terminal("watch") as terminal:
        terminal.until(f"approve {first}? ")
        terminal.type("y\n")
        terminal.until(f"{first} is approved")
        second, third = desk.ask({"n": 2}), desk.ask({"n": 3})
        terminal.until(f"approve {second}? ")
        terminal.type("n\n")
        terminal.until(f"approve {third}? ")
        terminal.type("\n")
        terminal.until(f"{third} still waits.")
        terminal.interrupt()
        code, seen = terminal.end()
    assert (code, "Traceback" in seen) == (0, False)
    assert [status(desk, one) for one in (first, second, third)] == ["approved", "denied", "waiting"]


def test_watching_goes_on_when_somebody_else_was_quicker(desk: Desk) -> None:
    asked = desk.ask()
    with at_terminal("watch", "--once") as terminal:
        terminal.until(f"approve {asked}? ")
        say(desk.store, asked, "denied")
        terminal.type("y\n")
        code, seen = terminal.end()
    assert (code, status(desk, asked)) == (0, "denied")
    assert f"not answered: approval {asked} is already denied" in seen


def test_without_a_terminal_watching_prints_every_new_question_as_json(desk: Desk) -> None:
    first = desk.ask()
    watching = start("approvals", "watch")
    assert watching.stdout is not None
    records: list[dict[str, Any]] = [json.loads(watching.stdout.readline())]
    second = desk.ask({"n": 2})
    records.append(json.loads(watching.stdout.readline()))
    watching.send_signal(2)
    out, err = watching.communicate(timeout=30)
    assert (watching.returncode, out, err) == (0, b"", b"")
    assert [record["id"] for record in records] == [first, second]
    assert records[1]["digest"] == question(desk, second).digest
    assert json.loads(records[1]["call"])["arguments"] == {"n": 2}


def test_watching_once_prints_what_waits_and_ends(run: Runner, desk: Desk) -> None:
    asked = desk.ask()
    assert [record["id"] for record in run("approvals", "watch", "--once").lines] == [asked]


def test_where_nothing_was_recorded_there_is_nothing_to_answer(run: Runner, tmp_path: Path) -> None:
    done = run("approvals", "list", "--root", str(tmp_path))
    assert done.code == 2
    assert "no audit log at" in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_policy_file_answers_nothing(run: Runner, desk: Desk) -> None:
    asked = desk.ask()
    Path("rightcall.toml").write_text("[callers\n")
    done = run("approvals", "approve", asked, "--digest", question(desk, asked).digest, "--by", "anna")
    assert (done.code, status(desk, asked)) == (2, "waiting")


def test_all_questions_of_one_caller_are_denied_at_once_each_with_a_record(run: Runner, desk: Desk) -> None:
    mine, others = [desk.ask({"n": n}) for n in range(12)], desk.ask(caller="intern")
    say(desk.store, mine[0])
    looked = run("approvals", "deny", "--all", "--as", "teacher", "--dry-run")
    assert (looked.code, looked.out) == (0, "11 questions of teacher would be denied; nothing was changed\n")
    done = run("approvals", "deny", "--all", "--as", "teacher", "--reason", "a loop", "--by", "anna")
    assert (done.code, done.out, done.err) == (0, "11 questions of teacher denied.\n", "")
    assert {status(desk, one) for one in mine[1:]} == {"denied"}
    assert (status(desk, mine[0]), status(desk, others)) == ("approved", "waiting")
    answers = desk.store.look(lambda tables: [one.body for one in tables.newest(11, ("answer",))])
    assert all(b'"status":"denied","by":"anna"' in one and b'"reason":"a loop"' in one for one in answers)
    assert run("approvals", "deny", "--all", "--as", "teacher").out == (
        "0 questions of teacher denied. Run `rightcall approvals list` to see pending approvals.\n"
    )
    nobody = run("approvals", "deny", "--all", "--as", "")
    assert (nobody.code, nobody.out) == (2, "")
    assert "`--as` is empty; nothing was denied" in nobody.err
    assert desk.try_({"n": 3}).decision.rule == "approval:denied"


def test_all_questions_of_everybody_are_denied_only_after_a_yes(run: Runner, desk: Desk) -> None:
    asked = [desk.ask(), desk.ask(caller="intern")]
    refused = run("approvals", "deny", "--all", "--by", "anna")
    assert refused.code == 2
    assert "cannot prompt without a terminal; pass `--yes`, or name a caller with `--as CALLER`" in refused.err
    assert {status(desk, one) for one in asked} == {"waiting"}
    told = json.loads(run("approvals", "deny", "--all", "--yes", "--json", "--by", "anna").out)
    assert sorted(told["denied"]) == sorted(told["matched"]) == sorted(asked)
    assert {status(desk, one) for one in asked} == {"denied"}


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ((), "name the question to deny, or pass `--all`"),
        (("--as", "teacher"), "`--as` needs `--all`"),
        (("x", "--all"), "`--all` and an ID cannot be combined"),
        (("x", "--dry-run"), "`--dry-run` needs `--all`"),
        (("--all", "--as", "teacher", "--by", "teacher"), "is the caller itself"),
        (("--all", "--as", "teacher", "--by", "helper"), "is a caller of the policy"),
    ],
)
def test_a_no_to_all_that_cannot_be_meant_denies_nothing(
    run: Runner, desk: Desk, options: tuple[str, ...], why: str
) -> None:
    asked = desk.ask()
    done = run("approvals", "deny", *options)
    assert done.code == 2
    assert why in done.err
    assert status(desk, asked) == "waiting"


def test_at_a_terminal_a_no_to_all_is_asked_about_and_spares_what_is_asked_meanwhile(desk: Desk) -> None:
    asked = desk.ask()
    with Terminal("approvals", "deny", "--all", "--by", "anna") as terminal:
        terminal.until("deny 1 question of all callers? [y/N] ")
        later = desk.ask({"n": 2})
        terminal.type("y\n")
        terminal.until("1 question denied.")
    assert (status(desk, asked), status(desk, later)) == ("denied", "waiting")


def test_a_caller_with_many_questions_hides_nobody_in_the_list(run: Runner, desk: Desk) -> None:
    for number in range(20):
        for caller in ("loud", "louder", "loudest"):
            desk.ask({"n": number}, caller=caller)
    quiet = desk.ask(caller="quiet")
    lines = run("approvals", "list", columns=140).out.splitlines()
    assert len(lines) == 50 + 3
    assert any(line.startswith(f"{quiet}  quiet") for line in lines)
    assert lines[-2].startswith("not listed: ")
    assert "`approvals deny --all --as CALLER`" in lines[-2]
    assert lines[-1] == "61 questions; `rightcall approvals show ID` shows one"
    few = json.loads(run("approvals", "list", "--json", "--limit", "4").out)["approvals"]
    assert {one["caller"] for one in few} == {"loud", "louder", "loudest", "quiet"}
    assert len(json.loads(run("approvals", "list", "--json").out)["approvals"]) == 61
    assert len(run("approvals", "list", "-n", "0").out.splitlines()) == 63
    assert "expected 0 or more" in run("approvals", "list", "-n", "-1").err
    watched = run("approvals", "watch", "--once").out.splitlines()
    assert [json.loads(line)["caller"] for line in watched[:4]] == ["loud", "louder", "loudest", "quiet"]


def test_the_question_names_the_conversation_it_is_from(run: Runner, desk: Desk) -> None:
    asked = desk.ask(context="chat-7\u202e")
    assert 'in context  "chat-7\\u202e"' in run("approvals", "show", asked).out
    assert json.loads(run("approvals", "show", asked, "--json").out)["context"] == "chat-7\u202e"
    assert "in context" not in run("approvals", "show", desk.ask()).out


@pytest.mark.promise("P-08")
def test_a_changed_server_is_shown_with_what_it_was_and_accepted(run: Runner, desk: Desk) -> None:
    before, now = (Origin("wrap:files", word, json.dumps({"command": word})) for word in ("npx files", "npx evil"))
    desk.try_(effects=("read",), origin=before)
    asked = desk.ask({"n": 1}, effects=("read",), origin=now)
    shown = run("approvals", "show", asked).out
    assert f"question    {asked} about a changed server: waiting" in shown
    for line in ('server      "wrap:files"', '  │ - "command": "npx files"', '  │ + "command": "npx evil"'):
        assert line in shown
    digest = question(desk, asked).digest
    done = run("approvals", "approve", asked, "--digest", digest[:8], "--by", "anna")
    assert done.out == f"{asked}: the changed server is accepted.\n"
    assert desk.try_({"n": 1}, effects=("read",), origin=now).decision.kind == "allow"


# ── with a policy that is wrong ──

WRONG = "rightcall.toml:1: not valid TOML"
USED = f"rightcall: ./{WRONG}: Expected ']' at the end of a table declaration; the defaults are used instead\n"


@pytest.fixture
def stuck(desk: Desk, tmp_path: Path) -> tuple[Desk, tuple[str, str]]:
    """A question waits, and somebody has broken the policy file."""
    (tmp_path / "rightcall.toml").write_text("[policy\n")
    return desk, ("--store", str(tmp_path / ".rightcall" / "audit.db"))


def test_with_a_wrong_policy_one_can_still_deny_and_look(run: Runner, stuck: tuple[Desk, tuple[str, str]]) -> None:
    desk, store = stuck
    first, second = desk.ask(), desk.ask(arguments={"path": "b", "content": ""})
    denied = run("approvals", "deny", first, "--reason", "no", *store)
    assert (denied.code, denied.err) == (0, USED)
    assert status(desk, first) == "denied"
    assert run("approvals", "deny", "--all", "--yes", *store).code == 0
    assert status(desk, second) == "denied"
    for look in (["approvals", "watch", "--once"], ["policy", "quarantine", "list"], ["requests", "list"], ["stats"]):
        assert run(*look, *store).code == 0, look
    assert run("people", "list", *store).code == 0
    assert run("pause", "--reason", "x", *store).code == 0
    assert "pass `--store FILE`" in run("approvals", "deny", first).err
    assert "pass `--store FILE`" in run("requests", "list").err


def test_with_a_wrong_policy_nothing_is_permitted(run: Runner, stuck: tuple[Desk, tuple[str, str]]) -> None:
    desk, store = stuck
    asked = desk.ask()
    digest = question(desk, asked).digest
    for permits in (
        ["approvals", "approve", asked, "--yes", "--digest", digest], ["policy", "quarantine", "release", "--all"],
        ["people", "add", "ann"], ["token", "new", "--as", "x"], ["console", "link", "--port", "4142"],
        ["grants", "add", "--as", "teacher", "file/save", "--for", "1h", "--any"],
    ):  # fmt: skip
        done = run(*permits, *store)
        assert done.code == 2, permits
        assert done.out == "", permits
    assert status(desk, asked) == "waiting"
    assert desk.store.look(lambda tables: (tables.all_grants(), tables.credentials())) == ([], [])


def test_with_a_wrong_policy_a_person_who_is_known_gets_a_link(run: Runner, desk: Desk, tmp_path: Path) -> None:
    assert run("people", "add", "ann").code == 0
    (tmp_path / "rightcall.toml").write_text("[policy\n")
    link = run("console", "link", "--as", "ann", "--port", "4142", "--store", str(tmp_path / ".rightcall" / "audit.db"))
    assert link.code == 0, link.err
    assert link.out.startswith("http://127.0.0.1:4142/enter/")
