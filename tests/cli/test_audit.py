"""`rightcall audit`: what was recorded is shown whole and escaped, checked, taken out, and let go on purpose only."""

import csv
import io
import json
import signal
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rightcall.cli import audit as audit_prune
from rightcall.cli import audit_report, persons
from rightcall.cli.persons import ago, moment
from rightcall.errors import ConfigError
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import AuditEntry, NoteBody, encode
from support.approvals import request_of, say, try_call
from support.cli import Done, Runner, start
from support.stores import Diary, opened, tamper

EVIL = "\x1b[31m\u202eevil\u200b\x07"


def write(diary: Diary) -> None:
    """Records of every status, by three callers, with everything a record can hold somewhere among them."""
    first = diary.begin(
        "teacher", "code/read", context="plan 7", step="1", effects=("read",), policy="p1", rights="r1",
        emission="<tool_call>{'path': a.py}</tool_call>", strategy="python_ast", confidence=0.95, origin="text",
        repairs=({"path": "path", "before": "'a.py", "after": "a.py", "strategy": "python_ast", "rule": "quotes",
                  "confidence": 0.95},),
    )  # fmt: skip
    diary.clock.advance(1)
    diary.end(first, 12.5, summary="Read 3 lines from a.py", tokens=40, cached=True, sandbox="namespaces")
    diary.refused("student", "file/save", "caller:deny", reason="Not allowed.", context="plan 7", step="2")
    diary.failed("teacher", "code/read", 1500.0, "no such file: b.py")
    diary.waiting("student")
    diary.begin("teacher", "code/search", context="plan 7", step="2")
    diary.store.transact(lambda tables: tables.append("policy", 0, encode(NoteBody("loaded", data={"digest": "p1"}))))
    problems = ({"code": "x", "path": "", "message": EVIL},)
    diary.refused("eve", "no/such", reason=f"No{EVIL}", emission=EVIL, problems=problems)


@pytest.fixture
def db(tmp_path: Path) -> str:
    with opened("sqlite", tmp_path) as diary:
        write(diary)
    return str(tmp_path / "audit.db")


@pytest.fixture
def audit(run: Runner, db: str) -> Any:
    def do(*arguments: str, **more: Any) -> Done:
        return run("audit", *arguments, "--store", db, **more)

    return do


TAIL = """\
record  time (UTC)      status       caller   tool             took  what
     1  01-01 12:00:00  success      teacher  code/read     12.5 ms  {} → Read 3 lines from a.py
     3  01-01 12:00:01  refused      student  file/save              caller:deny: Not allowed.
     4  01-01 12:00:01  failed       teacher  code/read       1.5 s  no such file: b.py
     6  01-01 12:00:01  waiting      student  file/save              for approval a1
     7  01-01 12:00:01  interrupted  teacher  code/search            Its process ended, or could no…
     9  01-01 12:00:01  refused      eve      no/such                allowlist: No\\u001b[31m\\u202ee…
"""


def test_tail_shows_the_last_calls_one_line_each(audit: Any) -> None:
    assert audit("tail").out == TAIL


def numbers(done: Done) -> list[int]:
    assert done.code == 0, done.err
    return [line["id"] for line in done.lines]


def test_tail_finds_calls_by_number_caller_tool_status_context_step_and_time(audit: Any) -> None:
    assert numbers(audit("tail", "--json")) == [1, 3, 4, 6, 7, 9]
    assert numbers(audit("tail", "--json", "-n", "2")) == [7, 9]
    assert numbers(audit("tail", "--json", "-n", "0")) == []
    assert numbers(audit("tail", "--json", "--as", "student")) == [3, 6]
    assert numbers(audit("tail", "--json", "--tool", "code/read")) == [1, 4]
    assert numbers(audit("tail", "--json", "--status", "interrupted")) == [7]
    assert numbers(audit("tail", "--json", "--context", "plan 7", "--step", "2")) == [3, 7]
    assert numbers(audit("tail", "--json", "--since", "2026-01-01T13:00:01+01:00")) == [3, 4, 6, 7, 9]


def test_tail_says_when_there_is_nothing(audit: Any, run: Runner, tmp_path: Path) -> None:
    assert audit("tail", "--as", "nobody").out == "No such call is recorded here.\n"
    with closing(SqliteStore(tmp_path / "new.db")):
        pass
    assert run("audit", "tail", "--store", str(tmp_path / "new.db")).out == "No call is recorded here yet.\n"


SHOWN = """\
record 1: code/read for teacher, success
  when             2026-01-01 12:00:00.000 UTC, ended 2026-01-01 12:00:01.000 after 12.5 ms
  context          plan 7, step 1
  arguments        {}
  input            <tool_call>{'path': a.py}</tool_call>
  repairs          path  "'a.py" → "a.py"  [quotes, python_ast, confidence 0.95]
  decision         allow by stage:read-only; read by python_ast, confidence 0.95
  effects          read
  outcome          success, 40 tokens, from the cache, sandbox namespaces
                   Read 3 lines from a.py
  digest           dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd
  decided with     policy p1, rights r1, origin text
  hash             HASH
  hash before      0000000000000000000000000000000000000000000000000000000000000000

beside it in context plan 7:
     3  01-01 12:00:01  refused      student  file/save              caller:deny: Not allowed.
     7  01-01 12:00:01  interrupted  teacher  code/search            Its process ended, or could no…
"""


@pytest.mark.promise("A-02")
def test_show_tells_everything_about_one_call(audit: Any) -> None:
    record = audit("show", "1", "--json").json
    assert audit("show", "1").out == SHOWN.replace("HASH", record["records"][0]["hash"])
    assert audit("show", "#2").out == audit("show", "1").out, "the number of its end means the same call"
    assert (record["caller"], record["status"], record["prev"]) == ("teacher", "success", "0" * 64)
    assert [one["kind"] for one in record["records"]] == ["begin", "end"]
    assert record["records"][1]["body"]["tokens"] == 40
    assert record["neighbours"] == [3, 7]


def test_show_tells_how_a_person_answered_but_not_what_is_redacted(run: Runner, tmp_path: Path) -> None:
    with opened("sqlite", tmp_path) as diary:
        asked = try_call(diary.store, request_of({"path": "a", "content": "unredacted"}, at=diary.clock.now()))
        assert asked.decision.approval
        say(diary.store, asked.decision.approval)
    tamper(tmp_path / "audit.db", "UPDATE audit SET body = replace(body, 'unredacted', '[redacted 0123456789ab]')")
    db = str(tmp_path / "audit.db")
    done = run("audit", "show", str(asked.call), "--store", db)
    assert f"{asked.decision.approval}, asked 2026-01-01 12:00:00.000 UTC because of " in done.out
    assert "approved by anna on 2026-01-01 12:00:00.000 UTC" in done.out
    last = run("audit", "show", "last", "--store", db)
    assert (last.code, run("audit", "show", "--store", db).out) == (0, last.out)
    told = run("audit", "show", str(asked.call), "--json", "--store", db)
    assert told.json["answer"]["by"] == "anna"
    assert "unredacted" not in done.out + told.out


@pytest.mark.promise("P-07", "H-72")
def test_show_tells_an_operator_how_to_allow_a_client_that_polls(run: Runner, tmp_path: Path) -> None:
    with opened("sqlite", tmp_path) as diary:
        diary.refused("student", "jobs/status", "loop", reason="Identical call repeated within a minute")
    shown = run("audit", "show", "1", "--store", str(tmp_path / "audit.db")).out
    assert 'to allow polling it, add it to the policy: [policy] repeatable = ["jobs/status"]' in shown


def test_show_tells_records_of_other_kinds_too(audit: Any) -> None:
    done = audit("show", "8")
    assert done.out.startswith("record 8: policy\n  when             2026-01-01 12:00:01.000 UTC\n")
    assert '{"what": "loaded", "data": {"digest": "p1"}}' in done.out
    assert audit("show", "8", "--json").json["records"][0]["body"]["what"] == "loaded"


@pytest.mark.parametrize(
    ("id", "said"),
    [
        ("99", "unknown record 99"),
        ("x", "invalid record 'x': expected a number"),
        ("1.5", "expected a number"),
        ("9" * 30, "expected a number"),
    ],
)
def test_show_of_what_is_not_there_says_so(audit: Any, id: str, said: str) -> None:
    done = audit("show", id)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


EVERY_VIEW = ["tail", "tail --json", "show 1", "show 1 --json", "export", "export --format csv"]


@pytest.mark.promise("A-07")
@pytest.mark.parametrize("arguments", EVERY_VIEW)
def test_nothing_a_model_wrote_reaches_the_terminal_unescaped(run: Runner, tmp_path: Path, arguments: str) -> None:
    with opened("sqlite", tmp_path) as diary:
        diary.begin(
            f"a{EVIL}", f"b{EVIL}", rule=f"c{EVIL}", reason=f"d{EVIL}", context=f"e{EVIL}", step=f"f{EVIL}",
            emission={f"g{EVIL}": EVIL}, strategy=EVIL, origin=EVIL, definition=EVIL, state=EVIL, effects=(EVIL,),
            repairs=({"path": EVIL, "before": EVIL, "after": EVIL, "strategy": EVIL, "rule": EVIL, "confidence": 1},),
            problems=({"code": EVIL, "path": EVIL, "message": EVIL},), approval=EVIL, grant=EVIL, provider=EVIL,
        )  # fmt: skip
        diary.end(1, 1.0, error=f"h{EVIL}", summary=f"i{EVIL}", sandbox=EVIL)
        diary.refused(context=f"e{EVIL}", tool=EVIL)
    done = run("audit", *arguments.split(), "--store", str(tmp_path / "audit.db"))
    assert done.code == 0
    assert "evil" in done.out
    assert all(character.isprintable() or character == "\n" for character in done.out)


@pytest.mark.promise("A-03")
def test_verify_says_that_all_is_right_and_with_an_anchor_that_nothing_is_missing(audit: Any) -> None:
    head = audit("head").out.strip()
    assert audit("verify").out == (
        f"✓ 9 records, none changed\nWithout `--anchor`, removed newest records cannot be detected.\nhead {head}\n"
    )
    done = audit("verify", "--anchor", head)
    assert done.code == 0
    assert "No record up to the anchor, 9, is missing or was replaced." in done.out
    assert audit("verify", "--json", "--anchor", f" {head}\n").json == {
        "ok": True, "checked": 9, "first_wrong": None, "problem": None, "head": head, "pruned": None, "erased": None,
        "anchor": head,
    }  # fmt: skip


@pytest.mark.promise("A-03")
def test_verify_names_the_record_that_was_changed_and_ends_with_one(audit: Any, db: str) -> None:
    tamper(Path(db), "UPDATE audit SET body = replace(body, 'Not allowed', 'Allowed') WHERE seq = 3")
    done = audit("verify")
    assert done.code == 1
    assert done.out == (
        "✗ the audit is not as it was written\n"
        "record 3 does not fit its hash: it, or the one before it, was changed\n"
        "Right before that: 2 records.\n"
    )
    told = audit("verify", "--json")
    assert (told.code, told.json["ok"], told.json["first_wrong"]) == (1, False, 3)


@pytest.mark.promise("A-03")
def test_verify_finds_a_cut_tail_by_the_anchor(audit: Any, db: str) -> None:
    head = audit("head").out.strip()
    tamper(Path(db), "DELETE FROM audit WHERE seq > 6")
    assert audit("verify").code == 0
    done = audit("verify", "--anchor", head)
    assert done.code == 1
    assert "the tail is truncated: the audit ends with record 6, the anchor is record 9" in done.out


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_somebody_who_waits_at_a_terminal_is_told_how_far_it_is(audit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rightcall.record.verify.EVERY", 4)
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    assert audit("verify").code == 0
    told = "\r4 records are right so far …\r8 records are right so far …\r\x1b[K"
    assert terminal.getvalue() == told


@pytest.mark.parametrize("anchor", ["", "9", "9:abc", "x:" + "0" * 64, "9:" + "g" * 64, "9:" + "0" * 63, EVIL])
def test_what_is_no_anchor_is_not_taken_for_one(audit: Any, anchor: str) -> None:
    done = audit("verify", "--anchor", anchor)
    assert (done.code, done.out) == (2, "")
    assert "for `--anchor`: expected a number, a colon and 64 hexadecimal digits" in done.err


def test_head_of_an_empty_audit_is_the_start_of_the_chain(run: Runner, tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "new.db")):
        pass
    head = "0:" + "0" * 64
    assert run("audit", "head", "--store", str(tmp_path / "new.db")).out == head + "\n"
    done = run("audit", "verify", "--anchor", head, "--store", str(tmp_path / "new.db"))
    assert done.code == 0
    assert done.out.startswith("✓ the audit is empty\n")


def is_chained(lines: list[dict[str, Any]]) -> bool:
    """As docs/reference/audit.md shows it, without a line of RightCall."""
    for line in lines:
        head = f"{line['seq']}\0{line['kind']}\0{line['call']}\0{line['at']}\0{len(line['body'].encode())}\0"
        digest = sha256(bytes.fromhex(line["prev"]) + head.encode() + line["body"].encode()).hexdigest()
        if digest != line["hash"]:
            return False
    return all(one["hash"] == other["prev"] for one, other in pairwise(lines))


@pytest.mark.promise("A-03")
def test_an_export_can_be_verified_by_anybody(audit: Any) -> None:
    lines = audit("export").lines
    assert [line["seq"] for line in lines] == list(range(1, 10))
    assert is_chained(lines)
    assert not is_chained([lines[0], lines[1] | {"body": lines[1]["body"].replace("40", "41")}])
    assert json.loads(lines[0]["body"])["caller"] == "teacher"


def test_an_export_of_a_pruned_audit_still_says_what_came_before(audit: Any) -> None:
    audit("prune", "--keep", "3", "--yes")
    lines = audit("export").lines
    assert lines[0]["seq"] == 7
    assert is_chained(lines)


def test_an_export_by_caller_or_time_has_what_belongs_to_it(audit: Any) -> None:
    assert [line["seq"] for line in audit("export", "--as", "teacher").lines] == [1, 2, 4, 5, 7]
    assert [line["seq"] for line in audit("export", "--as", "student").lines] == [3, 6]
    later = audit("export", "--since", "2026-01-01 12:00:00.500").lines
    assert [line["seq"] for line in later] == list(range(2, 10))
    assert is_chained(later)
    assert audit("export", "--since", "2030-01-01").out == ""


def test_a_table_for_a_spreadsheet_holds_no_formula(run: Runner, tmp_path: Path) -> None:
    with opened("sqlite", tmp_path) as diary:
        diary.refused("=cmd|' /C calc'!A1", "@tool")
    done = run("audit", "export", "--format", "csv", "--store", str(tmp_path / "audit.db"))
    header, row = csv.reader(io.StringIO(done.out))
    assert header == list(audit_report.COLUMNS)
    told = dict(zip(header, row, strict=True))
    assert (told["caller"], told["tool"], told["decision"]) == ("'=cmd|' /C calc'!A1", "'@tool", "deny")
    assert json.loads(told["body"])["tool"] == "@tool"


def test_an_export_into_a_file_appears_whole_and_is_for_its_owner_alone(audit: Any, tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    done = audit("export", str(file))
    assert (done.code, done.out, done.err) == (0, "", f"9 records written to {file}\n")
    assert is_chained([json.loads(line) for line in file.read_text().splitlines()])
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_an_export_that_is_interrupted_leaves_the_earlier_one_as_it_was(
    audit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    (tmp_path / "out").mkdir()
    file = tmp_path / "out" / "out.jsonl"
    file.write_text("earlier")

    def fail(stream: Any, records: Iterator[Any]) -> int:
        stream.write("half")
        raise error

    monkeypatch.setattr(audit_report, "_jsonl", fail)
    done = audit("export", str(file), "--force")
    assert done.code == (130 if isinstance(error, KeyboardInterrupt) else 2)
    assert [one.name for one in file.parent.iterdir()] == ["out.jsonl"]
    assert file.read_text() == "earlier"


def test_an_export_replaces_an_existing_file_only_by_force(audit: Any, tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    file.write_text("of another day")
    refused = audit("export", str(file))
    assert (refused.code, refused.out) == (2, "")
    assert f"{file}: this file exists, and nothing was written; pass `--force` to replace it" in refused.err
    assert file.read_text() == "of another day"
    assert audit("export", str(file), "--force").code == 0
    assert len(file.read_text().splitlines()) == 9
    assert audit("export", "/dev/null").code == 0, "what is no file holds nothing"


def test_an_export_to_where_nothing_can_be_written_says_so(audit: Any, tmp_path: Path) -> None:
    done = audit("export", str(tmp_path / "absent" / "out.jsonl"))
    assert done.code == 2
    assert "out.jsonl: cannot be written: No such file or directory" in done.err
    assert "cannot be written" in audit("export", str(tmp_path)).err


@pytest.mark.promise("A-03")
def test_prune_says_what_would_go_and_needs_a_yes(audit: Any) -> None:
    done = audit("prune", "--keep", "3")
    assert done.code == 2
    assert "this would remove 6 records for good, 1 to 6. Cannot prompt without a terminal; pass `--yes`" in done.err
    assert len(audit("export").lines) == 9
    done = audit("prune", "--keep", "3", "--yes", "--by", "anna")
    assert done.code == 0
    assert done.out.startswith("Removed 6 records, up to 6; record 10 says so.\n")
    assert audit("verify").code == 0
    assert json.loads(audit("export").lines[-1]["body"])["by"] == "anna"


@pytest.mark.parametrize(("answer", "left"), [("y", 4), ("", 9), ("n", 9)])
def test_prune_asks_at_a_terminal(audit: Any, monkeypatch: pytest.MonkeyPatch, answer: str, left: int) -> None:
    monkeypatch.setattr(audit_prune, "at_a_terminal", lambda: True)
    monkeypatch.setattr(persons, "read_word", lambda _prompt: answer)
    done = audit("prune", "--keep", "3")
    assert done.code == (0 if answer == "y" else 1)
    assert done.out.startswith("This would remove 6 records for good, 1 to 6.\n")
    assert len(audit("export").lines) == left


def test_prune_by_date_and_by_age(audit: Any) -> None:
    assert audit("prune", "--before", "2026-01-01T12:00", "--yes").out == "Nothing is old enough to be removed.\n"
    done = audit("prune", "--before", "2026-01-01T12:00:00.500", "--yes", "--json")
    assert done.json == {"removed": 0, "through": 0, "checkpoint": 0}, "the end of the first call is younger"
    done = audit("prune", "--older-than", "30d", "--yes", "--json")
    assert done.json == {"removed": 9, "through": 9, "checkpoint": 10}
    assert audit("verify").code == 0


def test_prune_says_what_has_to_stay(run: Runner, tmp_path: Path) -> None:
    with opened("sqlite", tmp_path) as diary:
        diary.ran()
        call = diary.begin()
        diary.store.transact(lambda tables: tables.begun(call))
        diary.ran()
        done = run("audit", "prune", "--keep", "0", "--yes", "--store", str(tmp_path / "audit.db"))
        assert "Old enough, but kept: 3 records. From 3 on there is a call that still runs." in done.out
        done = run("audit", "prune", "--keep", "2", "--yes", "--store", str(tmp_path / "audit.db"))
        assert done.out.startswith("Nothing can be removed now.\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "say what is old: --before DATE, --older-than 30d or --keep N"),
        (["--before", "2026-01-01", "--older-than", "3d"], "two words for one thing"),
        (["--before", "tomorrow"], "invalid value 'tomorrow' for `--before`: expected a date"),
        (["--older-than", "a while"], "invalid value 'a while' for `--older-than`: expected 30m"),
        (["--keep", "-1"], "--keep"),
        (["--keep", "many"], "invalid number of records 'many'"),
    ],
)
def test_prune_that_is_not_said_well_removes_nothing(audit: Any, arguments: list[str], said: str) -> None:
    done = audit("prune", *arguments, "--yes")
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert len(audit("export").lines) == 9


def test_moments_are_read_as_people_write_them() -> None:
    assert moment("2026-01-31", "--since") == "2026-01-31 00:00:00.000"
    assert moment("2026-01-31 10:30:00.250", "--since") == "2026-01-31 10:30:00.250"
    assert moment("2026-01-31T12:00Z", "--since") == "2026-01-31 12:00:00.000"
    for wrong in ("", "31.1.2026", "2026-02-30", "2026-13-01", "now", "1y", "９d", "0000-01-01"):
        with pytest.raises(ConfigError, match="--since"):
            moment(wrong, "--since")
    with pytest.raises(ConfigError, match="no date is that old"):
        ago("999999w", "--older-than")


@pytest.mark.parametrize(
    "action", [["tail"], ["show", "1"], ["verify"], ["head"], ["export"], ["prune", "--keep", "1"]]
)
def test_without_an_audit_every_action_says_so_and_creates_none(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("audit", *action)
    assert (done.code, done.out) == (2, "")
    assert "no audit log at ./.rightcall/audit.db: nothing is recorded there yet." in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_audit(run: Runner, tmp_path: Path) -> None:
    assert "is a folder, not an audit log" in run("audit", "tail", "--store", str(tmp_path)).err


def test_the_audit_is_found_by_policy_by_root_and_where_one_stands(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "with").mkdir()
    (tmp_path / "with" / "rightcall.toml").write_text('[audit]\npath = "kept/here.db"\n')
    (tmp_path / "without").mkdir()
    for place, caller in (("with/kept/here.db", "ada"), ("without/.rightcall/audit.db", "bob")):
        with closing(SqliteStore(tmp_path / place)) as store:
            Diary(store).refused(caller)

    def caller_of(*where: str) -> str:
        return run("audit", "tail", "--json", *where).json["caller"]

    assert caller_of("--policy", str(tmp_path / "with" / "rightcall.toml")) == "ada"
    assert caller_of("--root", str(tmp_path / "with")) == "ada"
    assert caller_of("--root", str(tmp_path / "without")) == "bob"
    assert caller_of("--root", str(tmp_path / "without"), "--store", str(tmp_path / "with/kept/here.db")) == "ada"
    monkeypatch.chdir(tmp_path / "with")
    assert caller_of() == "ada"
    (tmp_path / "with" / "rightcall.toml").write_text("[audit]\npth = 1\n")
    assert "rightcall.toml:2" in run("audit", "tail").err


def test_looking_changes_nothing_in_the_file(audit: Any, db: str) -> None:
    before = Path(db).read_bytes()
    for action in (["tail"], ["show", "1"], ["verify"], ["head"], ["export"]):
        assert audit(*action).code == 0
    assert Path(db).read_bytes() == before


def test_following_shows_each_call_as_it_comes_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    with opened("sqlite", tmp_path) as diary:
        diary.refused("old")
        with start("audit", "tail", "--follow", "--json", "--store", str(tmp_path / "audit.db")) as process:
            assert process.stdout
            try:
                assert json.loads(process.stdout.readline())["caller"] == "old"
                diary.refused("new")
                assert json.loads(process.stdout.readline())["caller"] == "new"
                call = diary.begin("runs")
                diary.store.transact(lambda tables: tables.begun(call))
                assert json.loads(process.stdout.readline())["status"] in ("pending", "interrupted")
                diary.end(call)
                assert json.loads(process.stdout.readline())["status"] == "success"
                process.send_signal(signal.SIGINT)
                out, err = process.communicate(timeout=30)
                assert (process.returncode, out, err) == (0, b"", b"")
            finally:
                process.kill()


def test_a_record_that_somebody_broke_is_shown_and_does_not_end_the_command(audit: Any, db: str) -> None:
    tamper(Path(db), "UPDATE audit SET body = x'ff00' WHERE seq = 1")
    assert audit("tail").code == 0
    assert "damaged" in audit("tail").out
    assert audit("show", "1").code == 0
    assert audit("export").code == 0
    assert audit("export", "--as", "teacher", "--format", "csv").code == 0


def test_an_entry_has_no_field_that_the_export_leaves_out(audit: Any) -> None:
    where_one_writes = {*AuditEntry.__struct_fields__, "prev"} - {"node"}
    assert set(audit("export").lines[0]) == where_one_writes


@pytest.mark.promise("I-05")
def test_a_record_is_shown_with_the_identity_behind_its_caller(run: Runner, tmp_path: Path) -> None:
    with opened("sqlite", tmp_path) as diary:
        diary.ran("staff/anna", identity=("https://login.example.org", "a\x1b[31m1"))
        diary.ran("ada")
    db = str(tmp_path / "audit.db")
    shown = run("audit", "show", "1", "--store", db).out
    line = next(one for one in shown.splitlines() if one.strip().startswith("identity"))
    assert (line.split()[1:], "\x1b" in line) == (["a\\u001b[31m1", "at", "https://login.example.org"], False)
    assert "identity" not in run("audit", "show", "3", "--store", db).out
    told = json.loads(run("audit", "show", "1", "--store", db, "--json").out)
    assert "https://login.example.org" in json.dumps(told)
