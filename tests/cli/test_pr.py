"""`rightcall pr`: a person looks after pull requests, is asked at a terminal, and is recorded."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from rightcall.record.sqlite import SqliteStore
from support.cli import Runner, Terminal, write_trusted
from support.desks import Project

POLICY = """\
version = 1
[callers.teacher]
[callers.helper]
[write.check]
command = ["sh", "-c", "grep -q two app.py || { echo not two; exit 3; }"]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    made = Project(tmp_path, within=True)
    write_trusted(tmp_path / "rightcall.toml", POLICY)
    (tmp_path / ".git/info").mkdir(exist_ok=True)
    (tmp_path / ".git/info/exclude").write_text("rightcall.toml\n")
    made.branch()
    made.open(title="Say \x1b[31mtwo", body="why\n\u202enot")
    return made


def notes(project: Project) -> list[str]:
    store = SqliteStore(project.root / ".rightcall/audit.db")
    try:
        bodies = store.look(lambda tables: [json.loads(one.body) for one in tables.entries() if one.kind == "change"])
    finally:
        store.close()
    return [f"{one['what']} by {one['by']}" for one in bodies]


@pytest.mark.promise("W-02", "A-07")
def test_requests_are_listed_and_shown_without_harm(run: Runner, project: Project) -> None:
    project.review("comment", "looks \x1b[2Jfine")
    listed, shown = run("pr", "list"), run("pr", "show", "1")
    assert listed.code == shown.code == 0
    assert "fix → main" in listed.out
    for part in (
        "Say \\u001b[31mtwo",
        "\\u202enot",
        "approvals: 0 of 1",
        "looks \\u001b[2Jfine",
        "a change  (teacher)",
    ):
        assert part in shown.out
    assert "\x1b" not in listed.out + shown.out
    (one,) = json.loads(run("pr", "list", "--json").out)["pulls"]
    assert (one["id"], one["title"], one["status"]) == ("1", "Say \x1b[31mtwo", "open")
    whole = json.loads(run("pr", "show", "1", "--json").out)
    assert (whole["totals"]["files"], whole["needed"], whole["approved_by"]) == (1, 1, [])
    missing = run("pr", "show", "7")
    assert (missing.code, missing.out) == (1, "")
    assert "Unknown pull request 7; the only one is 1" in missing.err


@pytest.mark.promise("W-02")
def test_a_piped_diff_is_the_exact_patch(run: Runner, project: Project) -> None:
    patch = run("pr", "diff", "1").out
    assert run("pr", "diff", "1", "--json").json["diff"] == patch
    assert project.status() == ""
    subprocess.run(["git", "apply", "--index", "-"], input=patch.encode(), cwd=project.root, check=True)
    assert project.git("write-tree") == project.git("rev-parse", "fix^{tree}")


@pytest.mark.promise("W-03")
def test_a_person_comments_and_approves_but_never_under_the_name_of_a_caller(run: Runner, project: Project) -> None:
    assert run("pr", "comment", "1", "is it tested?", "--by", "joel").code == 0
    head = project.tip("fix")
    for name, why in (("teacher", "is the caller itself"), ("he1per", "looks like one"), ("", "say who you are")):
        refused = run("pr", "approve", "1", "--yes", "--by", name)
        assert refused.code == 2
        assert why in refused.err
    blind = run("pr", "approve", "1", "--by", "joel")
    assert (blind.code, "cannot prompt without a terminal; pass `--commit HEX`" in blind.err) == (2, True)
    other = run("pr", "approve", "1", "--by", "joel", "--commit", "0" * 40)
    assert (other.code, head in other.err) == (1, True)
    assert run("pr", "approve", "1", "--by", "joel", "--commit", head[:10]).code == 0
    again = run("pr", "approve", "1", "--by", "joel", "--yes")
    assert (again.code, f"'joel' has approved pull request 1 at commit {head[:10]} already" in again.err) == (1, True)
    remarks = [(one.by, one.kind, one.person) for one in project.record().discussion]
    assert remarks == [("teacher", "opened", False), ("joel", "comment", True), ("joel", "approve", True)]
    assert notes(project) == ["pr comment by joel", "pr approve by joel"]


@pytest.mark.promise("W-03")
def test_whoever_committed_on_the_branch_does_not_approve_it_at_the_command_line_either(
    run: Runner, project: Project
) -> None:
    project.commit({"notes.txt": "mine\n"}, by="Joel")
    refused = run("pr", "merge", "1", "--approve", "--yes", "--by", "joel")
    assert refused.code == 1
    assert "must come from somebody else" in refused.err
    assert project.record().status == "open"


@pytest.mark.promise("W-04", "X-06")
def test_a_merge_runs_the_checks_in_the_real_sandbox_and_is_recorded(run: Runner, project: Project) -> None:
    lonely = run("pr", "merge", "1", "--yes", "--by", "joel")
    assert (lonely.code, "needs 1 approval(s) by others" in lonely.err) == (1, True)
    done = run("pr", "merge", "1", "--approve", "--yes", "--json", "--by", "joel")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert (told["approvedBy"], told["checks"], told["checkout"]) == (["joel"], "passed", True)
    assert told["sandbox"] in ("namespaces", "landlock")
    assert (project.root / "app.py").read_text() == "print('two')\n"
    assert project.status() == ""

    project.branch("bad", files={"app.py": "print('three')\n"})
    project.open(branch="bad")
    red = run("pr", "merge", "2", "--approve", "--yes", "--by", "joel")
    assert red.code == 1
    assert "exit status 3" in red.err
    assert "not two" in red.err
    assert project.tip() == told["commit"]
    assert notes(project) == ["pr merge by joel", "pr merged by joel", "pr merge by joel", "pr not merged by joel"]


@pytest.mark.promise("P-06", "W-04")
def test_at_a_terminal_the_whole_change_is_shown_first_and_the_default_is_no(project: Project) -> None:
    with Terminal("pr", "merge", "1", "--approve", "--by", "joel") as terminal:
        shown = terminal.until("? [y/N] ")
        terminal.type("\n")
        assert terminal.end()[0] == 1
    assert "grep -q two app.py" in shown
    assert "print('two')" in shown
    assert "\x1b" not in shown
    assert project.record().discussion[-1].kind == "opened"


@pytest.mark.promise("P-06")
@pytest.mark.parametrize(("action", "instead"), [("approve", "approve it with --commit "), ("merge", "--yes")])
def test_nobody_is_asked_about_what_cannot_be_shown_whole(
    run: Runner, project: Project, monkeypatch: pytest.MonkeyPatch, action: str, instead: str
) -> None:
    project.review()
    monkeypatch.setattr("rightcall.cli.pr.at_a_terminal", lambda: True)
    monkeypatch.setattr("rightcall.tools.write.pulls.MOST_SHOWN", 100)
    done = run("pr", action, "1", "--by", "joel")
    assert done.code == 1
    assert done.out.startswith("NOT EVERYTHING IS SHOWN: the diff has more than 100 bytes")
    assert "  M app.py  +1 -1" in done.out
    assert "so you are not asked: `rightcall pr diff 1` shows all of it" in done.err
    assert instead in done.err
    assert project.record().discussion[-1].by == "helper"


HIDING = "\u3164\u2800\u034f\ufe0f\U000e0100\u202e\x1b\u200b\u00a0\r"


@pytest.mark.promise("P-06", "A-07")
@pytest.mark.parametrize("action", [("diff",), ("approve", "--by", "joel"), ("merge", "--approve", "--by", "joel")])
def test_what_a_person_approves_at_a_terminal_hides_nothing(project: Project, action: tuple[str, ...]) -> None:
    project.commit({"app.py": f"print('two')\n{HIDING}\nif a == '\u05d0\u05d1': pass\n\\u202e\n"})
    with Terminal("pr", action[0], "1", *action[1:]) as terminal:
        if action[0] != "diff":
            terminal.until("? [y/N] ")
            terminal.type("n\n")
        lines = terminal.end()[1].replace("\r\n", "\n").split("\n")
    spelled = "+\\u3164\\u2800\\u034f\\ufe0f\\udb40\\udd00\\u202e\\u001b\\u200b\\u00a0\\r"
    assert [line for line in lines if line.startswith(("+", "≈"))][2:] == [
        spelled, "+if a == '\\u05d0\\u05d1': pass", "≈ \u05d0\u05d1", "+\\\\u202e"
    ]  # fmt: skip
    assert not set(HIDING) & set("".join(lines))


@pytest.mark.promise("P-06", "A-07")
def test_neither_lists_nor_stories_hide_a_blank_letter(run: Runner, project: Project) -> None:
    project.branch("b2", files={"notes.txt": "b\n"})
    project.open(branch="b2", title="a\u3164b", body="c\u3164d")
    project.review("comment", "e\u3164f", id="2")
    listed, shown, undo = run("pr", "list"), run("pr", "show", "2"), run("undo")
    exported = run("pr", "export", "2", "--out", "out2")
    assert "a\\u3164b" in listed.out
    assert all(part in shown.out for part in ("a\\u3164b", "c\\u3164d", "e\\u3164f"))
    assert "open pull request 2: a\\u3164b" in undo.out
    assert "\u3164" not in listed.out + shown.out + undo.out + exported.out


@pytest.mark.promise("W-02")
def test_a_request_is_closed_and_exported(run: Runner, project: Project) -> None:
    done = run("pr", "export", "1", "--out", "out")
    told = run("pr", "export", "1", "--out", "again", "--json").json
    assert told["commands"] == done.out.replace("out", "again").splitlines()
    assert done.code == 0
    assert done.out.splitlines()[1].startswith("gh pr create --head fix --base main --title ")
    assert sorted(os.listdir("out")) == ["body.md", "series.mbox", "title.txt"]
    assert run("pr", "close", "1", "not now", "--by", "joel").code == 0
    assert run("pr", "list").out == "No pull request is open.\n"
    assert "closed" in run("pr", "list", "--all").out
    again = run("pr", "reject", "1", "too late", "--by", "joel")
    assert (again.code, "is closed" in again.err) == (1, True)


@pytest.mark.promise("W-05")
@pytest.mark.parametrize("command", [("list",), ("show", "1"), ("comment", "1", "x", "--by", "joel"), ("diff", "1")])
def test_the_requests_of_a_copied_project_are_not_taken_for_none(
    run: Runner, project: Project, command: tuple[str, ...]
) -> None:
    copy = project.root / "copy"
    shutil.copytree(project.root / ".rightcall", copy / ".rightcall")
    done = run("pr", *command, "--root", str(copy))
    assert (done.code, done.out) == (2, "")
    assert "was made elsewhere and copied here" in done.err
    assert "rightcall undo --adopt" in done.err


@pytest.mark.promise("W-02")
def test_a_request_whose_record_is_damaged_is_named(run: Runner, project: Project) -> None:
    records = project.root / ".rightcall/desk/pulls"
    (records / "2.json").write_text("{}")
    (records / "3.json").mkdir()
    listed = run("pr", "list").out.splitlines()
    assert listed[1].startswith("1 ")
    assert listed[2:] == [f"Not listed, since their records in {records} are damaged: 3, 2"]
    assert run("pr", "list", "--json").json["damaged"] == ["3", "2"]


@pytest.mark.promise("W-04")
def test_a_merge_that_is_interrupted_says_that_nothing_was_merged(project: Project) -> None:
    before = project.tip()
    write_trusted(project.root / "rightcall.toml", POLICY.replace("grep -q two app.py ||", "sleep 60; "))
    with Terminal("pr", "merge", "1", "--approve", "--yes", "--by", "joel") as terminal:
        terminal.until("running the checks")
        terminal.interrupt()
        code, shown = terminal.end()
    assert code == 130
    assert "interrupted: nothing was merged, pull request 1 is open; your approval is kept" in shown
    assert (project.tip(), project.record().status) == (before, "open")
    assert notes(project)[-1] == "pr not merged by joel"
