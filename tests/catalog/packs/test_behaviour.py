"""What the packs do to calls: through the gate, as a user meets them."""

from pathlib import Path
from typing import Any

import pytest

from rightcall import Gate
from support.every import every

Case = tuple[str, str, dict[str, Any] | str, str, dict[str, Any]]

# pack, tool and arguments as written, tool and arguments as they come out
REPAIRED: list[Case] = [
    (
        "agent-zero",
        "code_execution_tool",
        {"command": "echo hello", "language": " Bash "},
        "code_execution_tool",
        {"code": "echo hello", "runtime": "terminal", "session": 0, "reset": False},
    ),
    ("agent-zero", "response", {"message": "Done."}, "response", {"text": "Done."}),
    ("agent-zero", "browser_agent", {"url": "example.com"}, "browser_agent", {"message": "example.com"}),
    ("claude", "ReadFile", {"path": "/a.py"}, "Read", {"file_path": "/a.py"}),
    ("claude", "read_file", "{'filename': '/a.py', 'start_line': '3'}", "Read", {"file_path": "/a.py", "offset": 3}),
    ("claude", "run_command", {"cmd": "git status"}, "Bash", {"command": "git status"}),
    (
        "claude",
        "str_replace",
        {"path": "/a.py", "old_str": "a", "new_str": ""},
        "Edit",
        {"file_path": "/a.py", "old_string": "a", "new_string": ""},
    ),
    ("claude", "Grep", {"regex": "x", "ignore_case": "true"}, "Grep", {"pattern": "x", "-i": True}),
    ("code", "code_read", {"file": "a.py", "start_line": 3}, "code/read", {"path": "a.py", "startLine": 3}),
    ("code", "code/search", {"query": "a", "path": "src"}, "code/search", {"pattern": "a", "paths": ["src"]}),
    ("gaia", "embedding.query", {"q": "memory"}, "embedding.query", {"query": "memory", "top_k": 5}),
    ("gaia", "ai.execute", {"cmd": "ls"}, "ai.execute", {"command": "ls"}),
    (
        "edit-files",
        "edit_files",
        {"operations": "[{'type': 'modify', 'path': 'fibonacci.sh', 'content': 'echo \"1\"'}]"},
        "edit_files",
        {"operations": '[{"type":"modify","path":"fibonacci.sh","content":"echo \\"1\\""}]'},
    ),
    ("composio", "composio_search_web", {"q": "weather"}, "composio_search_web", {"query": "weather"}),
]


@every(("pack", "name", "arguments", "tool", "expected"), REPAIRED)
@pytest.mark.promise("V-08", "N-06", "N-07", "N-09")
def test_a_packs_aliases_values_and_defaults_mend_a_call(
    pack: str, name: str, arguments: dict[str, Any] | str, tool: str, expected: dict[str, Any]
) -> None:
    verdict = Gate(packs=[pack]).check(name, arguments)
    assert verdict.ok, verdict.problems
    assert verdict.call is not None
    assert (verdict.call.name, verdict.call.arguments) == (tool, expected)


@every("pack", ["agent-zero", "claude", "code", "composio", "edit-files", "gaia", "guardrail", "room"])
@pytest.mark.promise("V-08", "N-01")
def test_every_example_of_a_pack_is_a_right_call_and_stays_as_it_is(pack: str) -> None:
    gate = Gate(packs=[pack])
    for tool in gate.catalog.tools.values():
        if tool.deprecated:
            continue
        arguments = dict(tool.rules.example or {})
        verdict = gate.check(tool.name, arguments)
        assert verdict.ok, (tool.name, verdict.problems)
        assert verdict.call is not None
        assert verdict.call.arguments is arguments, tool.name
        assert verdict.repairs == (), tool.name


@pytest.mark.parametrize("runtime", ["output", " OUTPUT "])
@pytest.mark.promise("V-02")
def test_waiting_for_output_needs_no_code(runtime: str) -> None:
    assert Gate(packs=["agent-zero"]).check("code_execution_tool", {"runtime": runtime}).ok


@every(
    ("pack", "tool", "arguments", "hint"),
    [
        (
            "agent-zero",
            "code_execution_tool",
            {"runtime": "python"},
            "⚠️ Invalid code_execution_tool call. Missing required fields: code. Example: ",
        ),
        ("agent-zero", "response", {"text": "  "}, "⚠️ Invalid response call. Missing required fields: text. Example: "),
        (
            "guardrail",
            "write",
            {"file_path": "a.md"},
            '⚠️ Invalid write call. Missing required fields: content. Example: {"file_path": "notes/today.md", ',
        ),
        (
            "guardrail",
            "gmail_send_email",
            {"subject": "Hi", "body": "Hello"},
            "⚠️ Invalid gmail_send_email call. Missing required fields: (recipient_email or to). Example: ",
        ),
        (
            "guardrail",
            "upload_to_composio",
            {"path": "a", "tool_slug": ""},
            "⚠️ Invalid upload_to_composio call. Missing required fields: tool_slug, toolkit_slug. Example: ",
        ),
    ],
)
@pytest.mark.promise("V-02", "V-08")
def test_what_a_pack_requires_is_asked_for_in_the_designs_words(
    pack: str, tool: str, arguments: dict[str, Any], hint: str
) -> None:
    verdict = Gate(packs=[pack]).check(tool, arguments)
    assert not verdict.ok
    assert verdict.hint is not None
    assert verdict.hint.startswith(hint)


@every(("content", "ok"), [("0123456789", False), ("0123456789a", True)])
@every("name", ["write", "Write"])
@pytest.mark.promise("V-02", "V-08")
def test_more_than_ten_characters_means_eleven(name: str, content: str, ok: bool) -> None:
    verdict = Gate(packs=["guardrail"]).check(name, {"file_path": "a.md", "content": content})
    assert verdict.ok is ok
    assert verdict.call is not None
    assert verdict.call.name == name


@pytest.mark.promise("V-08")
def test_short_and_empty_files_are_right_for_claude_until_the_guardrail_is_laid_over_it() -> None:
    for content in ("", "x = 1"):
        call = {"file_path": "/a.py", "content": content}
        assert Gate(packs=["claude"]).check("Write", call).ok
        assert not Gate(packs=["claude", "guardrail"]).check("Write", call).ok
    named_otherwise = {"path": "/a.py", "text": "0123456789a"}
    verdict = Gate(packs=["claude", "guardrail"]).check("WriteFile", named_otherwise)
    assert verdict.ok
    assert verdict.call is not None
    assert (verdict.call.name, list(verdict.call.arguments)) == ("Write", ["file_path", "content"])


@pytest.mark.promise("V-06")
@pytest.mark.parametrize("pack", ["composio", "guardrail"])
def test_an_inner_call_is_checked_by_its_own_tools_rules(pack: str) -> None:
    mail = {"tool_slug": "GMAIL_SEND_EMAIL", "arguments": {"subject": "Hi", "body": "Hello"}}
    search = {"tool_slug": "COMPOSIO_SEARCH_WEB", "arguments": {"query": "weather"}}
    gate = Gate(packs=[pack])
    refused = gate.check("composio_multi_execute_tool", {"tools": [search, mail]})
    assert not refused.ok
    assert [problem.path.partition(".")[0] for problem in refused.problems] == ["tools[1]"]
    assert "recipient_email" in (refused.hint or "")
    mail["arguments"]["to"] = "ada@example.com"
    right = {"tools": [search, mail], "session_id": "s1"}
    verdict = gate.check("COMPOSIO_MULTI_EXECUTE_TOOL", right)
    assert verdict.ok
    assert verdict.call is not None
    assert verdict.call.arguments is right


@pytest.mark.promise("V-06")
def test_an_inner_call_is_mended_and_keeps_the_slug_it_was_written_with() -> None:
    calls = [{"tool": "COMPOSIO_SEARCH_WEB", "arguments": {"q": "weather"}}]
    verdict = Gate(packs=["composio"]).check("composio_multi_execute_tool", {"tools": calls})
    assert verdict.ok
    assert verdict.call is not None
    assert verdict.call.arguments == {
        "tools": [{"tool_slug": "COMPOSIO_SEARCH_WEB", "arguments": {"query": "weather"}}]
    }


@pytest.mark.promise("V-07")
def test_a_deprecated_tool_is_mapped_to_its_replacement_where_that_is_known() -> None:
    verdict = Gate(packs=["local-toolkit", "claude"]).check("write_local_file", {"path": "/a", "content": "x"})
    assert verdict.ok
    assert verdict.call is not None
    assert (verdict.call.name, verdict.call.arguments) == ("Write", {"file_path": "/a", "content": "x"})


@pytest.mark.parametrize("pack", ["local-toolkit", "guardrail"])
@pytest.mark.promise("V-07")
def test_a_deprecated_tool_tells_its_replacement_where_that_is_not_known(pack: str) -> None:
    verdict = Gate(packs=[pack]).check("read_local_file", {"path": "/a"})
    assert not verdict.ok
    assert "Read" in (verdict.hint or "")
    assert "file_path" in (verdict.hint or "")


@pytest.mark.parametrize(
    ("pack", "tool", "arguments"),
    [
        ("agent-zero", "skills_tool", {"action": "load", "skill_name": "pdf"}),
        ("agent-zero", "code_execution_tool", {"runtime": "py", "code": "1", "allow_running": True}),
        ("composio", "gmail_send_email", {"recipient": "a@example.com", "subject": "s", "body": "b", "thread_id": "1"}),
    ],
)
@pytest.mark.promise("V-08", "N-10")
def test_a_tool_that_takes_further_arguments_keeps_them_even_when_mended(
    pack: str, tool: str, arguments: dict[str, Any]
) -> None:
    verdict = Gate(packs=[pack]).check(tool, arguments)
    assert verdict.ok
    assert verdict.call is not None
    extra = {"skill_name", "allow_running", "thread_id"} & set(arguments)
    assert {name: verdict.call.arguments.get(name) for name in extra} == {name: arguments[name] for name in extra}


@pytest.mark.promise("V-08")
def test_the_policy_file_overrides_a_pack_key_by_key(tmp_path: Path) -> None:
    file = tmp_path / "rightcall.toml"
    file.write_text(
        '[gate]\npacks = ["guardrail"]\n'
        '[gate.tools.write]\nmin_length = { content = 3 }\naliases = { text = "content" }\n',
        encoding="utf-8",
    )
    gate = Gate(policy=file)
    assert gate.check("write", {"file_path": "a", "text": "abc"}).ok
    assert not gate.check("write", {"file_path": "a", "content": "ab"}).ok
    assert not gate.check("write", {"content": "abc"}).ok, "what the pack requires still holds"


@pytest.mark.promise("V-08")
def test_packs_combine_and_a_users_own_comes_last(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[pack]\nname = "mine"\n[tools.response]\naliases = { said = "text" }\n', encoding="utf-8")
    gate = Gate(packs=["agent-zero", "gaia", str(file)])
    assert gate.check("response", {"said": "Hello"}).ok
    assert gate.check("response", {"message": "Hello"}).ok
    assert gate.check("ai.read", {"path": "/a"}).ok


@pytest.mark.promise("N-15")
def test_a_provider_that_emits_clean_json_is_not_repaired_and_still_checked() -> None:
    clean = Gate(packs=["claude"], provider="anthropic")
    assert clean.check("Read", {"file_path": "/a"}).ok
    assert not clean.check("Read", {"path": "/a"}).ok
    assert Gate(packs=["claude"], provider="ollama").check("Read", {"path": "/a"}).ok
    policy = {"gate": {"providers": {"anthropic": {"repair": True}}}}
    assert Gate(packs=["claude"], provider="anthropic", policy=policy).check("Read", {"path": "/a"}).ok
