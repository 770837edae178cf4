"""The policy file: read once, checked, frozen; a mistake is named with its line and loosens nothing."""

import builtins
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from rightcall import Executor, Gate
from rightcall.errors import PolicyError
from rightcall.policy.settings import (
    DEFAULT_POLICY,
    PROVIDER_DEFAULTS,
    HostSettings,
    Policy,
    ProviderSettings,
    RouterSettings,
)
from rightcall.policy.watch import load_policy
from support.docs import blocks
from support.every import every

FULL = """\
version = 1

[gate]
mode = "warn"
unknown_tool = "pass"
unknown_argument = "keep"
packs = ["code", "own/mine.toml"]
enabled = true
log_normalizations = false
fail_on_normalization_failure = false
max_text = 2000000
max_depth = 50

[gate.providers.anthropic]
repair = false
[gate.providers.ollama]
strategies = ["ast", "regex_quotes", "structure", "manual"]
[gate.providers.my-server]
enabled = true
strategies = []

[gate.tools.my_tool]
mode = "observe"
unknown_argument = "refuse"
strategies = ["structure"]
aliases = { message = "text" }
effects = ["read"]
description = "Mine."
[gate.tools.my_tool.parameters.properties]
text = { type = "string" }
[gate.tools."code/read"]
min_length = { path = 2 }

[gate.hosts.claude-code]
mode = "observe"
[gate.hosts.proxy]
unknown_tool = "pass"
unknown_argument = "drop"

[policy]
preset = "swarm"
[policy.limits]
all = { minute = 100, hour = 2000 }
[callers.teacher]
stage = "sandbox"
[audit]
path = ".rightcall/audit.db"
[router]
threshold = 0.6
[servers.files]
command = ["npx", "-y", "some-server", "."]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "rightcall.toml"
    file.write_text(FULL, encoding="utf-8")
    return file


@pytest.mark.promise("P-09")
def test_every_setting_of_the_gate_is_read(file: Path) -> None:
    policy = load_policy(file)
    assert (policy.mode, policy.unknown_tool, policy.unknown_argument) == ("warn", "pass", "keep")
    assert (policy.enabled, policy.log_normalizations, policy.fail_on_normalization_failure) == (True, False, False)
    assert (policy.max_text, policy.max_depth) == (2_000_000, 50)
    assert (policy.version, policy.source) == (1, str(file))
    tool = policy.tools["my_tool"]
    assert (tool.name, tool.pack, tool.description, tool.effects) == ("my_tool", "policy", "Mine.", ("read",))
    assert tool.schema == {"type": "object", "properties": {"text": {"type": "string"}}}
    assert tool.rules.aliases == {"message": "text"}
    assert tool.rules.strategies == ("structure",)
    assert policy.tools["code/read"].rules.min_length == {"path": 2}
    assert policy.tools["code/read"].schema is None
    assert policy.hosts == {
        "claude-code": HostSettings(mode="observe"),
        "proxy": HostSettings(unknown_tool="pass", unknown_argument="drop"),
    }


@pytest.mark.promise("P-09")
def test_the_router_is_read_with_its_defaults_for_what_is_not_said(file: Path) -> None:
    assert load_policy(file).router == RouterSettings(threshold=0.6)


@pytest.mark.promise("P-09")
def test_servers_are_read_with_what_holds_for_their_tools(file: Path) -> None:
    server = load_policy(file).servers["files"]
    assert server.command == ("npx", "-y", "some-server", ".")
    assert server.offers("anything")
    assert server.effects_of("anything") is None


@pytest.mark.promise("P-09")
def test_a_dict_of_the_same_shape_gives_the_same_policy(file: Path) -> None:
    from_file = load_policy(file)
    from_dict = load_policy(tomllib.loads(FULL))
    for name in Policy.__struct_fields__:
        if name not in ("source", "packs", "digest"):
            assert getattr(from_dict, name) == getattr(from_file, name), name
    assert from_dict.source == "policy"
    assert load_policy(str(file)) == from_file


@pytest.mark.promise("P-09")
def test_a_pack_of_ones_own_is_found_beside_the_policy_file(file: Path) -> None:
    assert load_policy(file).packs == ("code", str(file.parent / "own" / "mine.toml"))
    assert load_policy({"gate": {"packs": ["own/mine.toml"]}}).packs == (os.path.join("own", "mine.toml"),)
    absolute = str(file.parent / "there.toml")
    assert load_policy({"gate": {"packs": [absolute]}}).packs == (absolute,)


def test_the_default_policy_needs_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: Any, **_options: Any) -> None:
        raise AssertionError("a file was opened")

    monkeypatch.setattr(builtins, "open", refuse)
    monkeypatch.setattr(os, "open", refuse)
    assert load_policy() is DEFAULT_POLICY
    assert load_policy(None) == Policy()
    assert load_policy(DEFAULT_POLICY) is DEFAULT_POLICY


@pytest.mark.promise("P-09")
def test_only_the_named_file_is_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Any] = []
    really = builtins.open

    def note(name: Any, *arguments: Any, **options: Any) -> Any:
        read.append(name)
        return really(name, *arguments, **options)

    monkeypatch.setattr(builtins, "open", note)
    load_policy(file)
    assert read == [str(file)]


def test_the_defaults_block_and_suggest_and_drop() -> None:
    policy = load_policy({})
    assert (policy.mode, policy.unknown_tool, policy.unknown_argument) == ("block", "suggest", "drop")
    assert (policy.enabled, policy.log_normalizations, policy.fail_on_normalization_failure) == (True, True, True)
    assert (policy.packs, policy.max_text) == ((), 1_000_000)


def test_a_policy_cannot_be_changed() -> None:
    policy = load_policy({"gate": {"hosts": {"proxy": {"mode": "warn"}}}})
    with pytest.raises(AttributeError):
        policy.mode = "observe"  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(TypeError):
        policy.hosts["proxy"] = HostSettings()  # pyright: ignore[reportIndexIssue]
    with pytest.raises(TypeError):
        PROVIDER_DEFAULTS["anthropic"] = ProviderSettings()  # pyright: ignore[reportIndexIssue]


@pytest.mark.promise("N-15")
def test_a_provider_of_which_the_policy_says_nothing_has_the_designs_settings() -> None:
    policy = load_policy()
    assert policy.for_provider("anthropic") == ProviderSettings(enabled=False)
    assert policy.for_provider("Anthropic") == ProviderSettings(enabled=False)
    assert policy.for_provider("ollama") == ProviderSettings(
        enabled=True, strategies=("python_ast", "regex_quotes", "structure", "manual_repair")
    )
    assert policy.for_provider("some-server") == ProviderSettings(enabled=True, strategies=None)
    assert policy.for_provider(None) == ProviderSettings(enabled=True, strategies=None)


@pytest.mark.promise("N-15")
def test_the_policys_word_about_a_provider_replaces_the_default(file: Path) -> None:
    policy = load_policy(file)
    assert policy.for_provider("my-server") == ProviderSettings(enabled=True, strategies=())
    assert policy.for_provider("OLLAMA").strategies == ("python_ast", "regex_quotes", "structure", "manual_repair")
    on = load_policy({"gate": {"providers": {"Anthropic": {"repair": True}}}})
    assert on.for_provider("anthropic") == ProviderSettings(enabled=True)


@pytest.mark.promise("N-15")
def test_repair_switched_off_is_off_for_every_provider() -> None:
    policy = load_policy({"gate": {"enabled": False, "providers": {"x": {"enabled": True}}}})
    assert not policy.for_provider("x").enabled
    assert not policy.for_provider("ollama").enabled
    assert not policy.for_provider(None).enabled


@pytest.mark.promise("V-04")
def test_a_mode_is_the_tools_then_the_hosts_then_the_gates(file: Path) -> None:
    policy = load_policy(file)
    assert policy.mode_for("other") == "warn"
    assert policy.mode_for("other", "claude-code") == "observe"
    assert policy.mode_for("other", "proxy") == "warn"
    assert policy.mode_for("my_tool", "proxy") == "observe"
    assert policy.mode_for("code/read", "claude-code") == "observe"


@pytest.mark.promise("V-04")
def test_what_a_pack_declares_yields_to_the_policys_word_on_tool_or_host_only(file: Path) -> None:
    policy = load_policy(file)
    assert policy.mode_for("other", None, "block") == "block"
    assert policy.mode_for("other", "claude-code", "block") == "observe"
    assert policy.mode_for("my_tool", None, "block") == "observe"
    assert policy.unknown_argument_for("other", None, "refuse") == "refuse"
    assert policy.unknown_argument_for("other", "proxy", "refuse") == "drop"
    assert policy.unknown_argument_for("my_tool", "proxy", "keep") == "refuse"


def test_unknown_tools_and_arguments_go_by_host_and_tool_too(file: Path) -> None:
    policy = load_policy({"gate": {"hosts": {"hook": {"unknown_tool": "pass", "unknown_argument": "keep"}}}})
    assert (policy.unknown_tool_for(), policy.unknown_tool_for("hook")) == ("suggest", "pass")
    assert policy.unknown_argument_for("x") == "drop"
    assert policy.unknown_argument_for("x", "hook") == "keep"
    assert load_policy(file).unknown_argument_for("my_tool", "proxy") == "refuse"


@every(
    ("right", "wrong", "line", "says"),
    [
        ("version = 1", "version = 2", 1, "version: this RightCall reads version 1 of the policy file, not 2"),
        ("version = 1", "version = true", 1, "version: this RightCall reads version 1"),
        ("version = 1", 'version = "1"', 1, "version: this RightCall reads version 1"),
        ("[gate]", "[gate", 3, "not valid TOML"),
        (
            '[gate]\nmode = "warn"',
            '[gate] mode = "warn"',
            3,
            'write [gate] on a line of its own, and mode = "warn" on the next',
        ),
        ('mode = "warn"', "mode = warn", 4, 'not valid TOML: Invalid value; texts need quotes: mode = "warn"'),
        ("[gate]", "[gates]", 3, "gates: unknown key; did you mean 'gate'?"),
        ("[audit]", "[audits]", 46, "audits: unknown key; did you mean 'audit'?"),
        ('mode = "warn"', 'mode = "waarn"', 4, "gate.mode: 'waarn' is not a valid choice; did you mean 'warn'?"),
        ('mode = "warn"', 'moode = "warn"', 4, "gate.moode: unknown key; did you mean 'mode'?"),
        ('unknown_tool = "pass"', 'unknown_tool = "drop"', 5, "gate.unknown_tool: 'drop' is not a valid choice"),
        ('unknown_argument = "keep"', "unknown_argument = true", 6, "must be one of drop, keep, refuse"),
        ('packs = ["code",', 'packs = ["cod",', 7, "gate.packs[0]: unknown pack 'cod'; did you mean 'code'?"),
        (
            'packs = ["code", "own/mine.toml"]',
            'packs = "code"',
            7,
            'a list of texts, not a text: write ["code"]',
        ),
        ("enabled = true\nlog", "enabled = True\nlog", 8, "not valid TOML: Invalid value; write enabled = true"),
        ("enabled = true\nlog", "enabled = 1\nlog", 8, "gate.enabled: must be true or false, not a number"),
        ("log_normalizations =", "log_normalisations =", 9, "did you mean 'log_normalizations'?"),
        ("max_text = 2000000", "max_text = 0", 11, "gate.max_text: must be a whole number from 1 to 1000000000, not 0"),
        ("max_depth = 50", "max_depth = 5000", 12, "gate.max_depth: must be a whole number from 1 to 1000"),
        ("repair = false", 'repair = "no"', 15, "gate.providers.anthropic.repair: must be true or false"),
        (
            "repair = false",
            "repair = false\nenabled = true",
            16,
            "`repair` and `enabled` are the same setting",
        ),
        (
            '["ast", "regex_quotes"',
            '["ast", "regexp"',
            17,
            "strategies[1]: 'regexp' is not a valid choice; did you mean",
        ),
        ("[gate.providers.my-server]\nenabled", "[gate.providers.my-server]\nenable", 19, "did you mean 'enabled'?"),
        (
            'mode = "observe"\nunknown',
            'mode = "off"\nunknown',
            23,
            "gate.tools.my_tool.mode: 'off' is not a valid choice",
        ),
        ('message = "text"', 'message = "txt"', 26, "gate.tools.my_tool.aliases.message: 'txt': no such argument"),
        ("min_length = { path", "min_len = { path", 32, 'gate.tools."code/read".min_len: unknown key'),
        ('[gate.hosts.claude-code]\nmode = "observe"', '[gate.hosts.claude-code]\nmode = "no"', 35, "mode: 'no'"),
        ("[gate.hosts.proxy]\nunknown_tool", "[gate.hosts.proxy]\nunknown_tools", 37, "did you mean 'unknown_tool'?"),
    ],
)
@pytest.mark.promise("P-09")
def test_a_mistake_in_the_policy_is_named_with_file_line_and_what_is_right(
    file: Path, right: str, wrong: str, line: int, says: str
) -> None:
    assert right in FULL
    file.write_text(FULL.replace(right, wrong, 1), encoding="utf-8")
    with pytest.raises(PolicyError) as caught:
        load_policy(file)
    assert str(caught.value).startswith(f"{file}:{line}: ")
    assert says in str(caught.value)
    assert caught.value.line == line


@every(
    ("document", "says"),
    [
        ({"gate": []}, "policy: gate: must be a table, not a list"),
        ({"audit": 1}, "policy: audit: must be a table, not a number"),
        ({"gate": {"providers": ["ollama"]}}, "policy: gate.providers: must be a table, not a list"),
        ({"gate": {"tools": {"x": None}}}, "policy: gate.tools.x: must be a table, not nothing"),
        ({"gate": {"tools": {"x": {"defaults": {"a": object()}}}}}, "something JSON can carry"),
    ],
)
def test_a_mistake_in_a_dict_is_named_by_its_place(document: dict[str, Any], says: str) -> None:
    with pytest.raises(PolicyError) as caught:
        load_policy(document)
    assert says in str(caught.value)
    assert caught.value.line == 0


@pytest.mark.promise("P-09")
def test_a_policy_that_cannot_be_read_is_an_error_and_never_the_default(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="the policy cannot be read: No such file"):
        load_policy(tmp_path / "absent.toml")
    with pytest.raises(PolicyError, match="the policy cannot be read: Is a directory"):
        load_policy(tmp_path)
    broken = tmp_path / "broken.toml"
    broken.write_bytes(b'version = 1\n[gate]\nmode = "\xff"\n')
    with pytest.raises(PolicyError, match=r"broken\.toml:3: not UTF-8"):
        load_policy(broken)
    broken.write_text('[gate]\nmode = "block"\nmode = "observe"\n', encoding="utf-8")
    with pytest.raises(PolicyError, match=r"broken\.toml:3: not valid TOML"):
        load_policy(broken)


def test_an_empty_file_is_the_default_policy(tmp_path: Path) -> None:
    file = tmp_path / "empty.toml"
    file.write_text("", encoding="utf-8")
    policy = load_policy(file)
    assert policy.source == str(file)
    assert all(
        getattr(policy, name) == getattr(DEFAULT_POLICY, name) for name in Policy.__struct_fields__ if name != "source"
    )


@pytest.mark.promise("P-09")
def test_the_page_shows_right_policies_every_key_and_the_true_defaults() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "policy.md").read_text(encoding="utf-8")
    examples = [block.body for block in blocks(page) if block.language == "toml"]
    policies = [load_policy(tomllib.loads(example)) for example in examples]
    whole = next(tomllib.loads(example)["gate"] for example in examples if "[gate]\n" in example)
    settings = {"mode", "unknown_tool", "unknown_argument", "packs", "enabled", "log_normalizations"}
    settings |= {"fail_on_normalization_failure", "max_text", "max_depth", "reasoning"}
    assert set(whole) == settings
    assert {key: getattr(DEFAULT_POLICY, key) for key in settings - {"packs"}} == {
        key: value for key, value in whole.items() if key != "packs"
    }
    assert all(f"| `{key}` |" in page for key in settings)
    shown = [name for example in examples for name in tomllib.loads(example).get("gate", {}).get("providers", {})]
    assert [name for policy in policies for name in policy.providers] == shown
    assert set(PROVIDER_DEFAULTS) < set(shown)


@every(
    ("said", "problem"),
    [
        ({"port": 70000}, "console.port"),
        ({"host": "not an address!"}, "console.host"),
        ({"public_url": "https://example.org/console"}, "scheme, host and port alone"),
        ({"public_url": "https://ann:secret@example.org"}, "console.public_url"),
        ({"public_url": "javascript:alert(1)"}, "console.public_url"),
        ({"certificate": "console.pem"}, "must be a whole path"),
        ({"enabled": "no"}, "console.enabled"),
        ({"prot": 1}, "did you mean"),
    ],
)
def test_a_mistake_about_the_console_is_named(said: dict[str, Any], problem: str) -> None:
    with pytest.raises(PolicyError) as error:
        load_policy({"console": said})
    assert problem in str(error.value)


def test_a_found_policy_can_only_switch_the_console_off() -> None:
    from rightcall.policy.settings import ConsoleSettings
    from rightcall.policy.tightening import tighten

    wild = {"host": "0.0.0.0", "port": 1, "public_url": "https://x.example", "plain_http": True}
    assert tighten(load_policy({"console": wild})).console == ConsoleSettings()
    assert tighten(load_policy({"console": {"enabled": False}})).console.enabled is False


@every(
    ("given", "right"),
    [
        ({"write": "allow"}, r'write: belongs to \[policy\]: {"policy": {"write": "allow"}}'),
        ({"deny": ["rm"]}, r'{"policy": {"deny": \["rm"\]}}'),
        ({"mode": "observe"}, '{"gate": {"mode": "observe"}}'),
        ({"tools": {}}, r'{"policy": {"tools": {}}} or {"gate": {"tools": {}}}'),
        (["x"], r'path of a file or a dict, such as {"policy": {"write": "ask"}}; got list'),
        (5, "got int"),
        ('[policy]\nwrite = "ask"\n', "is the text of a policy, not the path of a file; pass a dict"),
    ],
)
def test_a_policy_of_the_wrong_form_is_told_the_right_one(given: Any, right: str) -> None:
    for door in (load_policy, lambda policy: Gate(policy=policy), lambda policy: Executor.open(policy=policy)):
        with pytest.raises(PolicyError, match=right):
            door(given)


def test_a_key_above_the_header_of_its_table_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text('version = 1\nwrite = "ask"\n')
    with pytest.raises(PolicyError, match=r"policy\.toml:2: write: belongs to \[policy\]: write \[policy\] above it"):
        load_policy(str(file))
