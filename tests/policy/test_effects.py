"""One word says what calls that write, execute or use the network may do."""

from pathlib import Path
from typing import Any

import pytest

from rightcall import Executor, tool
from rightcall.executor.door import Door
from rightcall.policy.effects import line_to_add, strictest, word_for
from rightcall.policy.tightening import tighten
from rightcall.policy.trust import FoundPolicy
from rightcall.policy.types import rights_of
from rightcall.policy.watch import load_policy
from support.cli import write_trusted

pytestmark = pytest.mark.promise("P-04")

RAN: list[str] = []


@tool(effects=["write"])
def save(text: str) -> str:
    """Save a text."""
    RAN.append(text)
    return "saved"


@tool(effects=["execute"])
def start(program: str) -> str:
    """Start a program."""
    RAN.append(program)
    return "started"


def anything(text: str) -> str:
    """Nobody says what it does."""
    RAN.append(text)
    return "done"


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    RAN.clear()


def tried(policy: Any, name: str = "save", tmp_path: Path | None = None, **arguments: str) -> Any:
    given = arguments or {"text": "a"}
    root = tmp_path or Path(".")
    with Executor.open_sync(root, policy, tools=[save, start, anything], store="memory", code=True) as executor:
        return executor.run({"name": name, "arguments": given})


@pytest.mark.promise("W-01", "T-06")
@pytest.mark.parametrize(
    ("word", "kind", "rule", "runs"),
    [
        (None, "deny", "allowlist", False),
        ("deny", "deny", "deny:write", False),
        ("dry-run", "dry_run", "dry_run", False),
        ("ask", "ask", "approval:write", False),
        ("allow", "allow", "allow:write", True),
    ],
)
def test_one_word_says_what_a_function_that_writes_may_do(word: str | None, kind: str, rule: str, runs: bool) -> None:
    outcome = tried({"policy": {} if word is None else {"write": word}})
    assert (outcome.decision.kind, outcome.decision.rule, bool(RAN)) == (kind, rule, runs)


@pytest.mark.promise("W-01")
def test_the_word_turns_on_our_own_tools_of_that_effect(tmp_path: Path) -> None:
    call = {"path": "experimental/a.md", "content": "a"}
    assert tried({}, "file/save", tmp_path, **call).decision.rule == "allowlist"
    assert tried({"policy": {"write": "allow"}}, "file/save", tmp_path, **call).ok
    assert (tmp_path / "experimental" / "a.md").read_text() == "a"
    code = {"code": "print(1)"}
    assert tried({"policy": {"write": "allow"}}, "code/execute/python", tmp_path, **code).decision.rule == "allowlist"
    assert tried({"policy": {"execute": "ask"}}, "code/execute/python", tmp_path, **code).status == "waiting"
    assert tried({"policy": {"write": "allow"}}, "code/commit", tmp_path, message="m").decision.rule == "allowlist"


def test_a_tool_has_the_strictest_word_of_all_that_it_does() -> None:
    assert tried({"policy": {"write": "allow"}}, "anything").decision.rule == "allowlist", "nobody says it executes not"
    assert tried({"policy": {"write": "allow", "execute": "ask"}}, "anything").decision.rule == "approval:execute"
    assert tried({"policy": {"write": "allow", "execute": "deny"}}, "anything").decision.rule == "deny:execute"
    assert tried({"policy": {"write": "allow", "execute": "allow", "network": "deny"}}, "anything").ok is False
    assert RAN == []
    assert tried({"policy": {"write": "allow", "execute": "allow"}}, "anything").ok


@pytest.mark.parametrize(
    ("everybody", "caller", "tools", "word"),
    [
        ("ask", "allow", {}, "allow"),
        ("deny", "ask", {}, "deny"),
        ("deny", "allow", {"save": "allow"}, "deny"),
        ("deny", None, {"save": "allow"}, "deny"),
        ("allow", "deny", {}, "deny"),
        ("ask", None, {"save": "allow"}, "allow"),
        ("allow", None, {"s*": "ask"}, "ask"),
        ("ask", "deny", {"save": "allow"}, "deny"),
        ("ask", None, {"save": "allow", "*": "ask"}, "ask"),
        ("ask", None, {"SAVE": "allow"}, "ask"),
        ("allow", None, {"SAVE": "deny"}, "deny"),
    ],
)
@pytest.mark.promise("P-01")
def test_the_words_of_callers_and_tools(everybody: str, caller: str | None, tools: dict[str, str], word: str) -> None:
    policy = {"policy": {"write": everybody, "tools": {name: {"write": one} for name, one in tools.items()}}}
    said = load_policy(policy | {"callers": {"c": {"write": caller}} if caller else {}})
    rights = rights_of(said.settings, "c")
    assert word_for(rights.words, frozenset(["write"]), ("save",)) == ("write", word)
    assert word_for(rights.words, frozenset(["read"]), ("save",)) is None


@pytest.mark.promise("P-01")
def test_a_denial_and_a_list_of_its_own_beat_the_word() -> None:
    assert tried({"policy": {"write": "allow", "deny": ["save"]}}).decision.rule == "policy:deny"
    only = {"policy": {"write": "allow"}, "callers": {"default": {"only": ["ping"]}}}
    assert tried(only).decision.rule == "allowlist"
    assert RAN == []


@pytest.mark.promise("W-01")
def test_a_merge_asks_even_where_everything_is_allowed() -> None:
    everything = load_policy({"policy": {"write": "allow", "tools": {"code/merge": {"write": "allow"}}}})
    rights = rights_of(everything.settings, "c")
    assert word_for(rights.words, frozenset(["write"]), ("code/merge",)) == ("write", "ask")
    assert word_for(rights.words, frozenset(["write"]), ("batch", "code/merge")) == ("write", "ask")


@pytest.mark.promise("P-10")
def test_an_uncertain_repair_asks_even_where_it_is_allowed() -> None:
    policy = {"policy": {"write": "allow", "approval": {"confidence": 1}}}
    assert tried(policy, txt="a").decision.rule == "approval:confidence"
    assert RAN == []


@pytest.mark.promise("P-13", "W-01")
@pytest.mark.parametrize("word", ["dry-run", "ask", "allow"])
def test_a_file_that_was_only_found_turns_nothing_on(tmp_path: Path, word: str) -> None:
    text = f'[policy]\nwrite = "{word}"\n[policy.tools.save]\nwrite = "{word}"\n[callers.default]\nwrite = "{word}"\n'
    file = tmp_path / "rightcall.toml"
    file.write_text(text)
    assert tried(FoundPolicy(str(file)), tmp_path=tmp_path).decision.rule == "allowlist"
    assert RAN == []
    write_trusted(file, text)
    assert tried(FoundPolicy(str(file)), tmp_path=tmp_path).decision.rule != "allowlist"


@pytest.mark.promise("P-13")
def test_a_found_file_makes_a_host_stricter_and_never_milder() -> None:
    tools = [{"name": "put", "parameters": {"type": "object"}}]

    def action(policy: Any) -> str:
        with Door.open("my-agent", policy, tools=tools) as door:
            return door.judge("put", {}).decision.rule

    assert action({}) == "host:my-agent"
    assert action(tighten(load_policy({"policy": {"write": "ask"}}))) == "approval:write"
    assert action(tighten(load_policy({"policy": {"tools": {"PUT": {"write": "deny"}}}}))) == "deny:write"
    assert action(tighten(load_policy({"callers": {"my-agent": {"execute": "dry-run"}}}))) == "dry_run"
    assert action(tighten(load_policy({"policy": {"write": "allow"}}))) == "host:my-agent"


@pytest.mark.promise("H-01")
@pytest.mark.parametrize(
    ("word", "action", "rule"),
    [("deny", "deny", "deny:write"), ("dry-run", "deny", "dry_run"), ("ask", "ask", "approval:write"),
     ("allow", "allow", "allow:write")],
)  # fmt: skip
def test_the_word_holds_at_hosts_and_at_the_gateway(word: str, action: str, rule: str) -> None:
    policy = {"policy": {"write": word}, "servers": {"s": {"command": ["x"], "effects": ["write"]}}}
    tools = [{"name": "put", "inputSchema": {"type": "object"}}]
    for host, strict in (("my-agent", False), ("gateway", True)):
        with Door.open(host, policy, strict=strict) as door:
            door.know(tools, "s")
            passage = door.judge("put", {}, space="s")
            assert (passage.action, passage.decision.rule) == (action, rule), host
            assert door.offers("put", "s") is (word != "deny")


@pytest.mark.promise("V-09")
def test_a_tool_whose_effect_is_denied_is_not_offered_and_its_refusal_names_no_key() -> None:
    with Executor.open_sync(".", {"policy": {"write": "deny"}}, tools=[save], store="memory") as executor:
        assert "save" not in [one["name"] for one in executor.definitions(shape="mcp")]
        outcome = executor.run({"name": "save", "arguments": {"txt": 1}})
    assert outcome.error == "'save' can write, which is not allowed here"
    assert "[policy" not in outcome.content


@pytest.mark.promise("D-01")
@pytest.mark.parametrize(
    ("rule", "name", "effects", "says"),
    [
        ("allowlist", "save", ["write"], '[policy] write = "ask"'),
        ("allowlist", "file/save", ["write"], '[policy] write = "ask"'),
        ("allowlist", "code/edit", ["write"], '[policy.tools."code/edit"] write = "ask"'),
        ("allowlist", "all", ["execute", "network", "read", "write"], '[policy] write = "ask", execute = "ask"'),
        ("deny:execute", "start", ["execute"], '[policy] execute = "ask"'),
        ("approval:write", "save", ["write"], '[policy.tools."save"] write = "allow"'),
        ("approval:write", "code/merge", ["write"], ""),
        ("approval:write", 'a"\n[x]', ["write"], ""),
        ("allowlist", 'a/"\n[x]', ["write"], ""),
        ("approval:tool", "save", ["write"], ""),
        ("allowlist", "look", ["read"], ""),
        ("definition:changed", "look", ["read"], "[policy.approval] definitions = false"),
        ("definition:changed", "server/look", ["read"], ""),
    ],
)
def test_the_line_to_add_is_named(rule: str, name: str, effects: list[str], says: str) -> None:
    line = line_to_add(rule, name, effects)
    assert says in line if says else line == ""


def test_the_words_have_an_order() -> None:
    assert strictest("allow", "dry-run", "ask") == "dry-run"
    assert strictest("deny", "dry-run") == "deny"


@pytest.mark.promise("P-01")
def test_a_stage_of_the_callers_own_is_not_widened_by_the_words_for_everybody(tmp_path: Path) -> None:
    policy = {
        "policy": {"stage": "full", "write": "allow", "execute": "allow", "tools": {"save": {"write": "allow"}}},
        "callers": {"default": {"stage": "read-only"}},
    }
    saved = {"path": "experimental/a.md", "content": "a"}
    assert tried(policy, "file/save", tmp_path, **saved).decision.rule == "allowlist"
    assert tried(policy, "code/execute/python", tmp_path, code="1").decision.rule == "allowlist"
    assert tried(policy).decision.rule == "allowlist"
    policy["callers"]["default"]["write"] = "allow"
    assert tried(policy, "file/save", tmp_path, **saved).ok


@pytest.mark.promise("P-01")
def test_a_word_for_an_effect_that_a_tool_does_not_have_permits_nothing() -> None:
    policy = {"policy": {"tools": {"web/fetch": {"write": "dry-run"}}}}
    assert tried(policy, "web/fetch", url="https://example.com/").decision.rule == "allowlist"
