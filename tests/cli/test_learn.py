"""`rightcall learn`: what it shows, explains and writes, and what it refuses to write."""

import json
from pathlib import Path
from typing import Any

import pytest

from rightcall import Gate
from rightcall.cli import INTERRUPTED
from rightcall.executor.door import Door
from rightcall.learn import emissions
from rightcall.record.sqlite import SqliteStore
from support.cli import Runner, Terminal
from support.lessons import TOOLS, headlines, working

SOURCES = [("ann", "1"), ("bob", "2"), ("ann", "3"), ("cyd", "4")]
LINES = working("ann", "bob", "cyd") + headlines(SOURCES)


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    monkeypatch.chdir(tmp_path)
    Path("tools.json").write_text(json.dumps(TOOLS))
    Path("calls.jsonl").write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return "learn", "--from", "calls.jsonl", "--tools", "tools.json"


def test_the_table_says_what_how_often_and_at_what_price(run: Runner, given: tuple[str, ...]) -> None:
    done = run(*given, columns=160)
    assert done.code == 0
    assert "11 calls, 4 refused or failed, 4 corrected by a later call" in done.out
    [row] = [line for line in done.out.splitlines() if line.startswith("alias-")]
    assert row.split()[1:] == [
        "argument",
        "send_note",
        "cargo",
        "means",
        "subject",
        "undeclared",
        "4",
        "3",
        "4",
        "of",
        "4",
        "0",
    ]
    assert '+aliases."cargo" = "subject"' in done.out
    assert not Path("learned.toml").exists()


def test_a_narrow_terminal_gets_the_same_in_lines(run: Runner, given: tuple[str, ...]) -> None:
    done = run(*given, columns=60)
    assert "send_note: cargo means subject" in done.out
    assert "side effects: undeclared" in done.out.replace("\n ", "")


def test_one_proposal_is_explained(run: Runner, given: tuple[str, ...]) -> None:
    [one] = run(*given, "--json").json["proposals"]
    done = run(*given, "--explain", one["id"])
    for words in ("cargo means subject", "3 independent", "4 of 4 retries saved", "m 4", "record 4"):
        assert words in done.out, words
    assert run(*given, "--explain", one["id"], "--json").json["seen"] == 4
    wrong = run(*given, "--explain", "alias-000000")
    assert wrong.code == 2
    assert "unknown proposal" in wrong.err
    assert one["id"] in wrong.err


@pytest.mark.promise("L-02")
def test_a_pack_is_written_only_after_a_yes(run: Runner, given: tuple[str, ...]) -> None:
    refused = run(*given, "--write", "learned.toml")
    assert refused.code == 2
    assert "pass `--yes`" in refused.err
    assert not Path("learned.toml").exists()
    done = run(*given, "--write", "learned.toml", "--yes")
    assert done.code == 0
    assert 'Wrote learned.toml. To use it: [gate] packs = ["learned.toml"]' in done.out
    assert Gate(TOOLS, packs=["./learned.toml"]).check("send_note", {"cargo": "x", "folder": "b", "urgency": "low"}).ok
    again = run(*given, "--write", "learned.toml", "--yes", "--pack", "./learned.toml")
    assert "Nothing to write." in again.out


def test_the_same_history_written_twice_changes_nothing(run: Runner, tmp_path: Path) -> None:
    examples = Path(__file__).parents[2] / "examples"
    given = ("learn", "--from", str(examples / "corrections.jsonl"), "--tools", str(examples / "tools.json"))
    pack = tmp_path / "learned.toml"
    assert run(*given, "--write", str(pack), "--yes").code == 0
    written = pack.read_text()
    assert "names = " in written
    assert "forms." in written
    assert "Nothing to write." in run(*given, "--write", str(pack), "--yes").out
    assert pack.read_text() == written


@pytest.mark.promise("L-02")
@pytest.mark.parametrize(("typed", "is_there"), [("n", False), ("y", True)])
def test_at_a_terminal_a_person_is_asked(given: tuple[str, ...], typed: str, is_there: bool) -> None:
    with Terminal(*given, "--write", "learned.toml") as terminal:
        terminal.until("Write learned.toml? [y/N]")
        terminal.type(typed + "\n")
        assert terminal.end()[0] == (0 if is_there else 1)
    assert Path("learned.toml").exists() is is_there


def test_a_pack_of_somebody_else_is_not_written_over(run: Runner, given: tuple[str, ...]) -> None:
    Path("mine.toml").write_text('[pack]\nname = "mine"\n')
    done = run(*given, "--write", "mine.toml", "--yes")
    assert done.code == 2
    assert "is not a learned pack" in done.err
    assert Path("mine.toml").read_text() == '[pack]\nname = "mine"\n'


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--since", "3d"), "`--since` is for the audit log"),
        (("--yes",), "`--yes` needs `--write FILE`"),
        (("--write", "x.json", "--yes"), "a pack ends in .toml"),
        (("--explain", "x", "--write", "x.toml", "--yes"), "cannot be combined"),
    ],
)
def test_contradictions_are_refused(run: Runner, given: tuple[str, ...], more: tuple[str, ...], said: str) -> None:
    done = run(*given, *more)
    assert done.code == 2
    assert said in done.err


def test_what_is_not_proposed_is_listed_with_the_reason(run: Runner, given: tuple[str, ...]) -> None:
    alone = working("ann", "bob") + headlines([("ann", str(at)) for at in range(4)])
    Path("calls.jsonl").write_text("".join(json.dumps(line) + "\n" for line in alone))
    assert "1 more pattern not proposed" in run(*given).out
    assert "because all of it comes from one source" in run(*given, "--all").out
    assert run(*given, "--json").json["not_proposed"][0]["refused"] == "all of it comes from one source"


def test_lines_that_cannot_be_used_are_told_once(run: Runner, given: tuple[str, ...]) -> None:
    Path("calls.jsonl").write_text("{\n" * 8 + Path("calls.jsonl").read_text())
    done = run(*given)
    assert done.err.count("was left out") == 5
    assert "3 more lines left out" in done.err
    assert "cargo means subject" in done.out


def test_lines_come_through_a_pipe_as_well(run: Runner, given: tuple[str, ...]) -> None:
    text = Path("calls.jsonl").read_text()
    done = run("learn", "--from", "-", "--tools", "tools.json", stdin=text)
    assert "cargo means subject" in done.out


def test_lines_without_callers_are_told_so(run: Runner, given: tuple[str, ...]) -> None:
    bare = [{key: line[key] for key in ("name", "arguments", "ok")} for line in LINES]
    Path("calls.jsonl").write_text("".join(json.dumps(line) + "\n" for line in bare))
    done = run(*given)
    assert done.code == 0
    assert 'no line names a caller: add "caller" and "context"' in done.err


def test_without_tools_there_is_nothing_to_check_against(run: Runner, given: tuple[str, ...]) -> None:
    done = run("learn", "--from", "calls.jsonl")
    assert done.code == 2
    assert "pass `--tools FILE`" in done.err


def test_an_interruption_writes_nothing(run: Runner, given: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(emissions, "of_line", interrupted)
    done = run(*given, "--write", "learned.toml", "--yes")
    assert done.code == INTERRUPTED
    assert "nothing was written" in done.err
    assert not Path("learned.toml").exists()


def test_the_audit_log_is_read_without_naming_its_tools(run: Runner, tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "audit.db"))
    with Door.open("my-agent", tools=TOOLS, store=store) as door:
        for line in LINES:
            passage = door.judge(line["name"], line["arguments"], caller=line["caller"], context=line["context"])
            door.ended(passage, ok=True)
    store.close()
    done = run("learn", "--store", str(tmp_path / "audit.db"))
    assert "cargo means subject" in done.out, done.out + done.err


def test_examples_show_no_secrets(run: Runner, given: tuple[str, ...]) -> None:
    lines = [json.loads(line) for line in Path("calls.jsonl").read_text().splitlines()]
    for line in lines:
        if line["name"] == "send_note":
            line["arguments"]["api_key"] = "hunter2hunter2"
    Path("calls.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = run(*given, "--json")
    assert done.json["proposals"][0]["examples"]
    assert "hunter2" not in done.out
