"""`rightcall replay`: what a policy change would do to recorded calls, for people, for programs and for CI."""

from pathlib import Path

import pytest

from rightcall.executor.door import Door
from support.cli import Runner, write_trusted

pytestmark = pytest.mark.promise("L-01")

OLD = """\
[policy]
allow = ["look", "save"]
write = "ask"
[gate.tools.look]
effects = ["read"]
[audit]
path = "audit.db"
"""
NEW = OLD.replace('"ask"', '"allow"\ndeny = ["look"]').replace("audit.db", "elsewhere.db")
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = [{"name": "look", "inputSchema": NUMBER}, {"name": "save", "inputSchema": PATH}]


@pytest.fixture(autouse=True)
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_trusted(tmp_path / "rightcall.toml", OLD)
    (tmp_path / "new.toml").write_text(NEW)
    with Door.open("my-agent", "rightcall.toml", tools=TOOLS) as door:
        for number in range(3):
            door.judge("look", {"n": number}, caller="anna")
        door.judge("save", {"path": "a\u202e.txt"}, caller="berta")
        door.judge("look", {}, caller="berta")


def test_nothing_changes_under_the_policy_in_force(run: Runner) -> None:
    done = run("replay")
    assert (done.code, done.err) == (0, "")
    assert done.out == "5 calls decided again under ./rightcall.toml\n5 unchanged, 0 changed, 0 not replayable\n"


def test_what_would_change_is_told_by_rule_and_tool(run: Runner) -> None:
    done = run("replay", "--policy", "new.toml")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[:2] == ["5 calls decided again under new.toml", "0 unchanged, 5 changed, 0 not replayable"]
    assert "asks → runs  save  1 call" in lines
    assert "runs → refused  look  3 calls" in lines
    assert "  policy:allow → policy:deny  [tightened, refused]" in lines
    assert "\u202e" not in done.out  # what a model wrote is shown escaped
    assert lines[-1] == "Questions to people: 1 → 0"


def test_ci_fails_on_the_kinds_that_are_named(run: Runner) -> None:
    assert run("replay", "--policy", "new.toml", "--fail-on", "loosened").code == 1
    assert run("replay", "--policy", "new.toml", "--fail-on", "repaired,cost").code == 0
    assert run("replay", "--fail-on", "changed,unknown").code == 0
    done = run("replay", "--policy", "new.toml", "--fail-on", "loosend")
    assert done.code == 2
    assert "did you mean 'loosened'?" in done.err


def test_programs_read_the_same(run: Runner) -> None:
    found = run("replay", "--policy", "new.toml", "--json", "--fail-on", "refused").json
    assert (found["decided"], found["changed"], found["unchanged"], found["partial"]) == (5, 5, 0, False)
    assert found["failed"] == ["refused"]
    assert {group["tool"] for group in found["groups"]} == {"look", "save"}
    example = next(group for group in found["groups"] if group["tool"] == "save")["example"]
    assert example["caller"] == "berta"
    assert run("audit", "show", str(example["record"]), "--json").json["tool"] == "save"


def test_a_caller_a_tool_and_a_time_can_be_chosen(run: Runner) -> None:
    assert run("replay", "--as", "anna", "--json").json["decided"] == 3
    assert run("replay", "--tool", "save", "--json").json["decided"] == 1
    assert run("replay", "--until", "1d", "--json").json["decided"] == 0
    assert run("replay", "--since", "1d", "--json").json["decided"] == 5


def test_other_tools_can_be_tried(run: Runner, tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_text('[{"name": "look", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}]')
    found = run("replay", "--tools", str(file), "--json").json
    assert found["kinds"] == {"loosened": 1, "allowed": 1, "repaired": 1}


def test_mistakes_are_told_in_one_line(run: Runner) -> None:
    for words in (
        ["--policy", "none.toml"],
        ["--since", "yesterday"],
        ["--store", "none.db"],
        ["--tools", "none.json"],
    ):
        done = run("replay", *words)
        assert done.code == 2
        assert done.err.startswith("error: ")
        assert "Traceback" not in done.err


def test_ctrl_c_tells_what_was_found_so_far(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    from rightcall.learn.replay import Replay

    taken = Replay.take
    count = [0]

    def take(self: Replay, entry: object) -> object:
        count[0] += 1
        if count[0] == 4:
            raise KeyboardInterrupt
        return taken(self, entry)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(Replay, "take", take)
    done = run("replay", "--policy", "new.toml")
    assert done.code == 130
    assert done.out.startswith("Interrupted: this is what was found so far.")
    assert "decided again" in done.out


@pytest.mark.parametrize("in_policy", [False, True])
def test_a_pack_that_is_missing_is_an_error_and_not_a_history_without_changes(run: Runner, in_policy: bool) -> None:
    Path("new.toml").write_text('[gate]\npacks = ["./absent.toml"]\n' if in_policy else "version = 1\n")
    more = () if in_policy else ("--pack", "absent.toml")
    done = run("replay", "--policy", "new.toml", "--fail-on", "loosened", *more)
    assert done.code == 2
    assert "absent.toml" in done.err
