"""What a function's author declares holds, whatever a pack says of that tool; the policy file may say else."""

import json
from pathlib import Path
from typing import Any

import pytest

from rightcall import Executor, Gate, MemoryStore, guard, run_calls
from rightcall.executor.toolbox import build_toolbox
from rightcall.policy.watch import load_policy
from rightcall.tools.functions import local_tool, tool

OUTSIDE = "../../etc/passwd"


@tool(effects=["write"], paths=["src", "dst"], commands=["run"])
def copy(src: str, dst: str, run: str = "", then: str = "") -> str:
    """Copy a file."""
    return f"{src} {dst}"


@tool
def silent(src: str = "") -> str:
    """Declares nothing."""
    return src


def packs(folder: Path, *tables: str) -> list[str]:
    """Each table as the rules of a pack for `copy` and `silent`."""
    made: list[str] = []
    for number, table in enumerate(tables):
        file = folder / f"pack{number}.toml"
        file.write_text(f'[pack]\nname = "p{number}"\n[tools.copy]\n{table}\n[tools.silent]\n{table}\n')
        made.append(str(file))
    return made


LOOSE = 'effects = ["read"]\npaths = ["src"]\ncommands = ["then"]'


def equipped(policy: dict[str, Any], name: str = "copy") -> Any:
    return build_toolbox(load_policy(policy), [local_tool(copy), local_tool(silent)]).tools[name]


@pytest.mark.promise("P-04", "P-03")
def test_a_pack_adds_to_what_the_author_declared_and_takes_nothing_away(tmp_path: Path) -> None:
    one = equipped({"gate": {"packs": packs(tmp_path, LOOSE)}})
    assert one.tool.effects == {"read", "write"}
    assert one.tool.rules.paths == one.local.paths == ("src", "dst")
    assert one.tool.rules.commands == one.local.commands == ("run", "then")
    assert (one.own, one.side_effects, one.touches) == ({"read", "write"}, True, True)
    assert json.loads(one.described)["effects"] == ["read", "write"], "a person is shown what holds"


@pytest.mark.promise("P-04")
def test_a_second_pack_takes_nothing_away_either(tmp_path: Path) -> None:
    one = equipped({"gate": {"packs": packs(tmp_path, 'effects = ["network"]', 'effects = []\npaths = ["then"]')}})
    assert one.tool.effects >= {"write"}
    assert one.tool.rules.paths == ("src", "dst", "then")


@pytest.mark.promise("P-04", "P-03")
def test_the_policy_file_has_the_last_word(tmp_path: Path) -> None:
    said = {"effects": ["read"], "paths": ["src"], "commands": ["then"]}
    for chosen in ([], packs(tmp_path, 'effects = ["write"]\npaths = ["dst"]\ncommands = ["run"]')):
        one = equipped({"gate": {"packs": chosen, "tools": {"copy": said}}})
        assert (one.tool.effects, one.own) == ({"read"}, {"read"})
        assert one.tool.rules.paths == one.local.paths == ("src",)
        assert one.tool.rules.commands == one.local.commands == ("then",)


@pytest.mark.promise("P-04", "P-03")
@pytest.mark.parametrize(
    "said", [{"mode": "warn"}, {"paths": ["absent"]}, {"paths": []}, {"effects": ["read", "write"]}]
)
def test_the_policy_has_the_last_word_only_on_what_it_says(tmp_path: Path, said: dict[str, Any]) -> None:
    one = equipped({"gate": {"packs": packs(tmp_path, LOOSE), "tools": {"copy": said}}})
    assert one.tool.effects == {"read", "write"}
    assert set(one.tool.rules.paths) == set(one.local.paths) == {"src", "dst"}


def test_without_a_pack_everything_is_as_declared() -> None:
    one = equipped({})
    assert (one.tool.effects, one.tool.rules.paths) == ({"write"}, ("src", "dst"))


@pytest.mark.promise("P-04")
def test_for_a_function_that_declares_nothing_a_pack_may_speak(tmp_path: Path) -> None:
    assert not equipped({}, "silent").tool.effects_declared
    one = equipped({"gate": {"packs": packs(tmp_path, LOOSE)}}, "silent")
    assert (one.tool.effects, one.own, one.local.paths) == ({"read"}, {"read"}, ("src",))
    assert not equipped({"gate": {"packs": packs(tmp_path, 'paths = ["src"]')}}, "silent").tool.effects_declared


@pytest.mark.promise("P-04", "P-03")
def test_a_pack_opens_no_way_to_run_or_to_leave_the_root(tmp_path: Path) -> None:
    def ran(policy: dict[str, Any], call: dict[str, str]) -> tuple[bool, str]:
        with Executor.open_sync(tmp_path, policy, tools=[copy], store="memory") as ex:
            outcome = ex.run({"name": "copy", "arguments": call})
            return outcome.ok, outcome.decision.rule if outcome.decision else ""

    loose = {"gate": {"packs": packs(tmp_path, LOOSE)}}
    assert ran(loose, {"src": "a", "dst": "b"})[0] is False
    free = {**loose, "policy": {"allow": ["copy"], "write": "allow", "execute": "allow"}}
    assert ran(free, {"src": "a", "dst": "b"})[0] is True
    assert ran(free, {"src": "a", "dst": OUTSIDE}) == (False, "path:outside")


EDITING = {
    "gate": {"packs": ["edit-files"]},
    "policy": {"allow": ["edit_files"], "write": "allow", "execute": "allow"},
}


def edit(path: str) -> list[dict[str, str]]:
    return [{"type": "modify", "path": path}]


@pytest.mark.promise("P-03")
@pytest.mark.parametrize(
    ("operations", "rule"),
    [
        (edit("a.txt"), None),
        (json.dumps(edit("a.txt")), None),
        (edit(OUTSIDE), "path:outside"),
        (json.dumps(edit(OUTSIDE)), "path:outside"),
        (json.dumps(edit(".env")), "path:secret"),
        (json.dumps(edit("a.txt") + edit(OUTSIDE)), "path:outside"),
        (json.dumps([json.dumps(edit(OUTSIDE)[0])]), "path:outside"),
        (json.dumps(edit(OUTSIDE)[0]), "path:outside"),
        (json.dumps(json.dumps(edit(OUTSIDE))), "path:outside"),
        ("no JSON at all: ../../etc/passwd", "validation"),
    ],
)
def test_paths_in_the_json_text_of_an_argument_are_judged(tmp_path: Path, operations: Any, rule: str | None) -> None:
    ran: list[Any] = []

    @tool(effects=["write"])
    def edit_files(operations: Any) -> str:
        """Edits of several files."""
        ran.append(operations)
        return "done"

    with Executor.open_sync(tmp_path, EDITING, tools=[edit_files], store="memory") as ex:
        outcome = ex.run({"name": "edit_files", "arguments": {"operations": operations}})
    assert (outcome.ok, bool(ran)) == (rule is None, rule is None)
    assert outcome.decision is not None
    assert rule is None or outcome.decision.rule == rule


@pytest.mark.promise("P-03")
@pytest.mark.parametrize(
    ("edits", "ok"),
    [('[{"path": "a"}]', True), ('[{"path": "../a"}]', False), ("[{'path': 'a'}]", False), ("a", False)],
)
def test_a_text_that_hides_its_paths_does_not_pass(tmp_path: Path, edits: str, ok: bool) -> None:
    @tool(effects=["read"], paths=["edits[].path"])
    def look(edits: str) -> str:
        """Reads its text in some way of its own."""
        return edits

    with Executor.open_sync(tmp_path, tools=[look], store="memory") as ex:
        outcome = ex.run({"name": "look", "arguments": {"edits": edits}})
    assert outcome.ok is ok
    assert outcome.decision is not None
    assert ok or outcome.decision.rule == ("path:outside" if ".." in edits else "path:unjudged")


@pytest.mark.promise("P-06")
@pytest.mark.parametrize("path", ["a.txt", "deep/er/a.txt"])
def test_a_yes_for_one_root_is_none_for_another(tmp_path: Path, path: str) -> None:
    policy = {"policy": {"allow": ["copy"], "write": "ask", "execute": "ask"}}
    call = {"name": "copy", "arguments": {"src": path, "dst": path}}
    store = MemoryStore()
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with (
        Executor.open_sync(tmp_path / "one", policy, tools=[copy], store=store) as one,
        Executor.open_sync(tmp_path / "two", policy, tools=[copy], store=store) as two,
    ):
        one.run(call)
        (question,) = one.waiting()
        one.answer(question.id, "approved", by="ann", digest=question.digest)
        assert two.run(call).status == "waiting"
        named = two.run(call, approval=question.id).decision
        assert named is not None
        assert named.rule == "approval:mismatch"
        assert one.run(call).ok


@tool(name="shop/find", description="Find articles.", effects=["read"], example={"words": "red shoes"})
def find(words: str) -> str:
    """Not for models."""
    return f"3 {words}"


def test_every_gate_knows_a_function_as_its_author_declared_it() -> None:
    found = Gate([find]).catalog.tools["shop/find"]
    assert (found.description, found.effects, found.effects_declared) == ("Find articles.", {"read"}, True)
    assert found.rules.example == {"words": "red shoes"}
    call = {"id": "c", "type": "function", "function": {"name": "shop/find", "arguments": '{"words": "hats"}'}}
    assert [answer["content"] for answer in run_calls(Gate([find]), [find], [call])] == ["3 hats"]
    assert guard(find)('{"words": "hats",}') == "3 hats"
    assert str(guard(find)("{}")).startswith("⚠️ Invalid shop/find call.")


def test_no_pack_loosens_in_a_gate_what_the_author_declared(tmp_path: Path) -> None:
    given = [copy, silent]
    loose = Gate(given, packs=packs(tmp_path, LOOSE)).catalog.tools
    assert (loose["copy"].effects, loose["silent"].effects) == ({"read", "write"}, {"read"})
    stated = Gate(given, {"gate": {"tools": {"copy": {"effects": ["read"]}}}}, packs=packs(tmp_path, LOOSE))
    assert stated.catalog.tools["copy"].effects == {"read"}, "the policy file has the last word"
