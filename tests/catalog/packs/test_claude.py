"""Pack `claude` against the tools Claude Code declares, and against the names other models use for them."""

import pytest

from rightcall.catalog.packs import load_pack
from support.every import every

ALL = {"read", "write", "execute", "network"}

# Arguments, the required ones, effects. As Claude Code 2.1.325 sent them to a loopback server in the place of its API;
# those it offers only in a terminal, or that only earlier versions had, as they were published.
DECLARED: dict[str, tuple[str, str, set[str]]] = {
    "Read": ("file_path offset limit pages allow_large", "file_path", {"read"}),
    "Write": ("file_path content", "file_path content", {"write"}),
    "Edit": ("file_path old_string new_string replace_all", "file_path old_string new_string", {"read", "write"}),
    "MultiEdit": ("file_path edits", "file_path edits", {"read", "write"}),
    "NotebookEdit": (
        "notebook_path cell_id new_source cell_type edit_mode",
        "notebook_path new_source",
        {"read", "write"},
    ),
    "Bash": ("command timeout description run_in_background dangerouslyDisableSandbox", "command", ALL),
    "PowerShell": ("command description timeout run_in_background", "command", ALL),
    "BashOutput": ("bash_id filter", "bash_id", {"read"}),
    "KillShell": ("shell_id", "shell_id", {"execute"}),
    "TaskOutput": ("task_id block timeout", "task_id", {"read"}),
    "TaskStop": ("task_id", "task_id", {"execute"}),
    "Monitor": ("description command timeout_ms ws", "description", ALL),
    "Glob": ("pattern path", "pattern", {"read"}),
    "Grep": (
        "pattern path glob type output_mode -A -B -C context -n -i -o head_limit offset multiline",
        "pattern",
        {"read"},
    ),
    "LS": ("path ignore", "path", {"read"}),
    "WebFetch": ("url prompt offset", "url prompt", {"network"}),
    "WebSearch": ("query allowed_domains blocked_domains", "query", {"network"}),
    "TodoWrite": ("todos", "todos", set()),
    "Task": (
        "description prompt subagent_type model resume run_in_background max_turns",
        "description prompt",
        ALL,
    ),
    "Agent": (
        "description prompt subagent_type model effort run_in_background isolation name",
        "description prompt",
        ALL,
    ),
    "EnterPlanMode": ("", "", set()),
    "ExitPlanMode": ("plan", "", set()),
    "AskUserQuestion": ("questions", "questions", set()),
    "Skill": ("skill args", "skill", {"read", "execute"}),
    "SlashCommand": ("command", "command", {"read", "execute"}),
    "TaskCreate": ("subject description activeForm metadata", "subject description", set()),
    "TaskGet": ("taskId", "taskId", set()),
    "TaskList": ("", "", set()),
    "TaskUpdate": (
        "taskId subject description activeForm status addBlocks addBlockedBy owner metadata",
        "taskId",
        set(),
    ),
}

TOOLS = {tool.name: tool for tool in load_pack("claude").tools}


@pytest.mark.promise("V-08")
def test_the_tools_are_claudes_built_in_ones() -> None:
    assert set(TOOLS) == set(DECLARED)


@every("name", DECLARED)
@pytest.mark.promise("V-08")
def test_a_tool_has_the_arguments_and_effects_that_are_declared(name: str) -> None:
    arguments, required, effects = DECLARED[name]
    tool = TOOLS[name]
    assert tool.schema is not None
    assert set(tool.schema.get("properties", {})) == set(arguments.split())
    assert tool.schema.get("required", []) == required.split()
    assert set(tool.effects or ()) == effects
    assert tool.rules.min_length == {}
    assert tool.rules.defaults == {}


@pytest.mark.promise("V-08")
def test_policy_can_see_every_path_command_and_address() -> None:
    assert {name: tool.rules.paths for name, tool in TOOLS.items() if tool.rules.paths} == {
        **dict.fromkeys(("Read", "Write", "Edit", "MultiEdit"), ("file_path",)),
        **dict.fromkeys(("Glob", "Grep", "LS"), ("path",)),
        "NotebookEdit": ("notebook_path",),
    }
    commands = {name: tool.rules.commands for name, tool in TOOLS.items() if tool.rules.commands}
    assert commands == {"Bash": ("command",), "PowerShell": ("command",), "Monitor": ("command",)}
    assert {name: tool.rules.urls for name, tool in TOOLS.items() if tool.rules.urls} == {
        "WebFetch": ("url",),
        "Monitor": ("ws.url",),
    }
    assert {name for name, tool in TOOLS.items() if tool.rules.repeatable} == {"BashOutput", "TaskOutput", "Monitor"}


@every(
    ("name", "meant"),
    [
        ("ReadFile", "Read"),
        ("read_file", "Read"),
        ("WriteFile", "Write"),
        ("write_file", "Write"),
        ("write", "Write"),
        ("create_file", "Write"),
        ("edit_file", "Edit"),
        ("str_replace", "Edit"),
        ("run_command", "Bash"),
        ("shell", "Bash"),
        ("execute_command", "Bash"),
        ("KillBash", "KillShell"),
        ("find_files", "Glob"),
        ("grep_search", "Grep"),
        ("list_dir", "LS"),
        ("fetch_url", "WebFetch"),
        ("search_web", "WebSearch"),
        ("ask_user", "AskUserQuestion"),
    ],
)
@pytest.mark.promise("V-08")
def test_a_name_other_models_use_means_one_tool(name: str, meant: str) -> None:
    assert [tool.name for tool in TOOLS.values() if name in tool.rules.names] == [meant]


@every(
    ("tool", "written", "meant"),
    [
        *((tool, wrong, "file_path") for tool in ("Read", "Write", "Edit") for wrong in ("path", "filename", "file")),
        ("Write", "text", "content"),
        ("Write", "contents", "content"),
        ("Edit", "old_str", "old_string"),
        ("Edit", "new_str", "new_string"),
        ("Edit", "replacement", "new_string"),
        ("Bash", "cmd", "command"),
        ("Grep", "regex", "pattern"),
        ("Grep", "ignore_case", "-i"),
        ("Glob", "directory", "path"),
        ("WebFetch", "uri", "url"),
        ("WebSearch", "q", "query"),
        ("Task", "instructions", "prompt"),
    ],
)
@pytest.mark.promise("V-08")
def test_an_argument_other_models_use_means_one_argument(tool: str, written: str, meant: str) -> None:
    assert TOOLS[tool].rules.aliases[written] == meant


@pytest.mark.promise("V-08")
def test_an_empty_file_and_a_deletion_are_right_calls() -> None:
    """What may be blank is left to the schema; `required` counts blank text as missing."""
    assert "content" not in TOOLS["Write"].rules.required
    assert "new_string" not in TOOLS["Edit"].rules.required
    assert "new_source" not in TOOLS["NotebookEdit"].rules.required
