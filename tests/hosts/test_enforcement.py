"""What a host cannot enforce is said (design 001, G-77): the table is true, and the commands and the page show it."""

from pathlib import Path
from typing import Any

import pytest

from rightcall.executor.door import Door
from rightcall.hosts.adapter import GAPS, hosts_named, table_lines, unenforced
from rightcall.hosts.hooks.wires import CODEX, builtin_tools
from rightcall.policy.settings import HOSTS
from rightcall.policy.tightening import tighten
from rightcall.policy.watch import load_policy
from support.cli import ROOT, Runner
from support.every import every

pytestmark = pytest.mark.promise("G-77")

READ = {
    "name": "read",
    "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Runner:
    return Runner(capsys, monkeypatch)


def rules(policy: dict[str, Any], host: str) -> list[str]:
    return [one.rule for one in unenforced(load_policy(policy), host)]


def at_hook(policy: dict[str, Any], tool: str, arguments: Any, host: str = "claude-code", **more: Any) -> Any:
    own = "claude" if host == "claude-code" else host
    with Door.open(host, policy, tools=builtin_tools(own), mode="block", fixed_names=True) as door:
        if definitions := more.pop("definitions", None):
            door.know(definitions, more["space"])
        return door.judge(tool, arguments, **more)


def test_the_page_has_the_table() -> None:
    page = (ROOT / "docs" / "hosts" / "index.md").read_text(encoding="utf-8")
    block = page.partition("<!-- enforcement: begin -->\n")[2].partition("\n<!-- end -->")[0]
    assert block.splitlines() == table_lines()
    assert {host for gap in GAPS for host in gap.hosts} <= set(HOSTS)


def test_what_protects_our_own_tools_does_not_hold_where_a_host_runs_its_own() -> None:
    policy = {"policy": {"stage": "read-only"}}
    written = {"file_path": "a.txt", "content": "x"}
    assert at_hook(policy, "Write", written).action == "allow"
    (stage,) = [one for one in rules(policy, "claude-code") if "`stage`" in one]
    assert "`allow`" in stage
    bound = policy | {"callers": {"claude-code": {"only": ["Read"]}}}
    assert at_hook(bound, "Write", written).action == "deny"
    assert not [one for one in rules(bound, "claude-code") if "`stage`" in one]


def test_settings_of_our_own_tools_are_named_where_others_run() -> None:
    """Each table that binds only our own tools, by the call that it would stop and that the host makes all the same."""
    rows: tuple[tuple[dict[str, Any], str, str, dict[str, Any]], ...] = (
        ({"policy": {"rounds": 1}}, "`[policy]` `rounds`", "Read", {"file_path": "a"}),
        ({"write": {"folders": ["out"]}}, "`[write]`", "Write", {"file_path": "src/a", "content": "x"}),
        ({"write": {"protected": ["stable"]}}, "`[write]`", "Bash", {"command": "git commit -m x"}),
        ({"web": {"sites": ["example.com"]}}, "`[web]`", "WebFetch", {"url": "https://example.org/", "prompt": "x"}),
        ({"code": {"largest_file": 1000}}, "`[code]`", "Read", {"file_path": "a"}),
        ({"sandbox": {"seconds": 1}}, "`[sandbox]`", "Bash", {"command": "ls"}),
    )
    for policy, rule, tool, arguments in rows:
        assert at_hook(policy, tool, arguments).action == "allow", policy
        for host in ("claude-code", "codex", "wrap", "gateway", "langchain"):
            assert [one for one in rules(policy, host) if one.startswith(rule)], (policy, host)
            assert not [one for one in rules({"version": 1}, host) if one.startswith(rule)], (rule, host)


def test_files_that_run_code_in_ci_ask_where_others_write_them_too() -> None:
    policy: dict[str, Any] = {"write": {"locked": ["src/**"]}}
    assert at_hook(policy, "Write", {"file_path": "src/a", "content": "x"}).action == "ask"
    assert at_hook({"version": 1}, "Write", {"file_path": "Jenkinsfile", "content": "x"}).action == "ask"


def test_a_host_that_cannot_ask_denies() -> None:
    policy = {"policy": {"approval": {"tools": ["Bash"]}}}
    passage = at_hook(policy, "Bash", {"command": "ls"}, "codex")
    assert passage.action == "ask"
    told = CODEX.answer_before(passage)
    assert told is not None
    assert told["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert any("`ask`" in one for one in rules(policy, "codex"))
    for said in ({"policy": {"write": "ask"}}, {"policy": {"tools": {"Bash": {"execute": "ask"}}}},
                 {"callers": {"codex": {"write": "ask"}}}):  # fmt: skip
        for policy in (load_policy(said), tighten(load_policy(said))):
            assert any('= "ask"' in one.rule for one in unenforced(policy, "codex")), "also of a file that was found"
    assert not any("`ask`" in one for one in rules({"version": 1}, "codex"))


def test_a_host_has_chosen_the_tool_before_it_asks() -> None:
    policy = {"gate": {"tools": {"fetch_old": {"replaced_by": "Read", "example": {"file_path": "a"}}}}}
    assert at_hook(policy, "fetch_old", {"file_path": "a"}).action == "deny"
    assert any("`replaced_by`" in one for one in rules(policy, "claude-code"))
    packed = {"gate": {"packs": ["guardrail"]}}
    assert at_hook(packed, "read_local_file", {"path": "a"}).action == "deny"
    assert at_hook(packed, "read_local_file", {"path": "a"}, space="local").action == "allow"
    assert any("of a pack, for tools of servers" in one for one in rules(packed, "claude-code"))
    assert not any("of a pack, for tools of servers" in one for one in rules(policy, "claude-code"))
    told = {"gate": {"tools": {"local/read_local_file": {"replaced_by": "Read", "example": {"path": "a"}}}}}
    assert at_hook(told, "read_local_file", {"path": "a"}, space="local").action == "deny"
    unknown = {"gate": {"hosts": {"claude-code": {"unknown_tool": "refuse"}}}}
    assert at_hook(unknown, "NobodyKnowsThis", {}).action == "allow"
    assert any("`unknown_tool`" in one for one in rules(unknown, "claude-code"))
    assert not any("`unknown_tool`" in one for one in rules({"version": 1}, "claude-code"))


def test_arguments_that_nobody_declared_are_not_judged() -> None:
    loose = {"gate": {"unknown_argument": "refuse"}}
    assert at_hook(loose, "Write", {"file_path": "a", "content": "b", "new": 1}).action == "allow"
    assert any("unknown_argument" in one for one in rules(loose, "claude-code"))
    private = {"policy": {"paths": {"deny": ["private/**"]}}}
    assert at_hook(private, "read", {"where": "private/a"}, space="files").action == "allow"
    assert at_hook(private, "Read", {"file_path": "private/a"}).action == "deny"
    assert any("`[policy.paths]`" in one for one in rules(private, "claude-code"))
    said = {"servers": {"files": {"command": ["x"]}}}
    assert at_hook(said, "read", {"path": 3}, space="files").action == "allow"
    assert at_hook(said, "read", {}, space="files", definitions=[READ]).action == "deny"
    assert any("of a server's tools" in one for one in rules(said, "claude-code"))


@every(
    ("host", "said"),
    [
        ("claude-code", ""),
        ("gemini", "the host's own `list_directory` may have other arguments, so it is not checked"),
        ("codex", "it names none of the host's own tools; tools of MCP servers are checked"),
        ("wrap", ""),
    ],
)
def test_a_pack_that_misses_a_hosts_own_tools_is_named(host: str, said: str) -> None:
    found = unenforced(load_policy({"gate": {"packs": ["guardrail"]}}), host)
    assert "".join(one.why for one in found if one.rule == "pack `guardrail`") == said


def test_hosts_are_those_that_a_policy_speaks_of() -> None:
    said = {
        "gate": {"hosts": {"codex": {"mode": "block"}, "my-own": {"mode": "block"}}},
        "callers": {"claude-code": {"deny": ["Bash"]}, "teacher": {"deny": ["Bash"]}},
        "servers": {"files": {"command": ["x"]}},
    }
    assert hosts_named(load_policy(said)) == ["codex", "claude-code", "gateway"]
    assert unenforced(load_policy(said), "my-own") == []


def test_policy_check_names_it(run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    file = tmp_path / "mine.toml"
    file.write_text('[gate]\npacks = ["guardrail"]\n[callers.codex]\nwrite = "ask"\n', encoding="utf-8")
    found = run("policy", "check", str(file), "--json").json["unenforced"]
    assert {one["host"] for one in found} == {"codex"}
    shown = run("policy", "check", str(file), columns=400).out
    assert "! not enforced at codex:\n" in shown
    for one in found:
        assert f"- {one['rule']}: {one['why']}" in " ".join(shown.split())
    file.write_text("version = 1\n", encoding="utf-8")
    assert run("policy", "check", str(file), "--json").json["unenforced"] == []


def test_policy_check_names_it_for_the_hosts_that_it_is_installed_in(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("XDG_STATE_HOME", tmp_path / "state"), ("HOME", tmp_path)):
        monkeypatch.setenv(name, str(value))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "mine.toml"
    file.write_text('[policy]\nstage = "read-only"\n', encoding="utf-8")
    assert run("install", "claude-code", "--policy", str(file), "--yes").code == 0
    found = run("policy", "check", str(file), "--json").json["unenforced"]
    assert [(one["host"], "`stage`" in one["rule"]) for one in found] == [("claude-code", True)]
    (one,) = run("status", "--json").json["installed"]
    assert [gap["rule"] for gap in one["unenforced"]] == [gap["rule"] for gap in found]
    assert "! not enforced: `[policy]` `stage`" in run("status", columns=400).out
