"""The tables of design 002, row by row, through an executor: every argument, every field of a result, every limit."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rightcall import Executor
from rightcall.base.files.sight import Sight
from rightcall.executor.shipped import code_tools
from rightcall.policy.settings import PRESETS, STAGES, Window

ARGUMENTS = {
    "code/read": {
        "path": "string", "startLine": "integer", "endLine": "integer", "maxLines": "integer",
        "syntaxHighlight": "boolean", "includeMetadata": "boolean",
    },
    "code/search": {
        "pattern": "string", "paths": "array", "filePattern": "string", "excludePatterns": "array",
        "contextLines": "integer", "caseSensitive": "boolean", "maxMatches": "integer", "includeLineNumbers": "boolean",
    },
    "code/list": {
        "pattern": "string", "directory": "string", "maxDepth": "integer", "includeHidden": "boolean",
        "sortBy": "string", "limit": "integer",
    },
    "code/diff": {
        "base": "string", "compare": "string", "paths": "array", "contextLines": "integer",
        "ignoreWhitespace": "boolean", "maxDiffSize": "integer",
    },
    "code/log": {
        "path": "string", "limit": "integer", "since": "string", "until": "string", "author": "string",
        "grep": "string", "includeDiff": "boolean",
    },
    "code/blame": {"path": "string", "startLine": "integer", "endLine": "integer", "includeContent": "boolean"},
    "code/show": {"commit": "string", "includeDiff": "boolean"},
}  # fmt: skip
REQUIRED = {"code/read": ["path"], "code/search": ["pattern"], "code/list": ["pattern"], "code/blame": ["path"],
            "code/show": ["commit"]}  # fmt: skip
MOST = {("code/read", "maxLines"): 500, ("code/search", "maxMatches"): 100, ("code/list", "maxDepth"): 10,
        ("code/list", "limit"): 500, ("code/diff", "maxDiffSize"): 50 * 1024, ("code/log", "limit"): 100}  # fmt: skip
SECONDS = {"code/search": 10, "code/diff": 5, "code/log": 10}
COMMIT = {"hash", "shortHash", "author", "email", "date", "message", "filesChanged"}
FIELDS: list[tuple[str, dict[str, Any], dict[str, set[str]]]] = [
    ("code/read", {"path": "a.py", "syntaxHighlight": True, "includeLines": True}, {
        "": {"success", "path", "content", "lines", "metadata", "syntaxTokens"},
        "metadata": {"totalLines", "linesReturned", "startLine", "endLine", "lastModified", "size", "encoding"},
    }),
    ("code/search", {"pattern": "def", "contextLines": 1}, {
        "": {"success", "pattern", "matches", "totalMatches", "filesSearched", "truncated"},
        "matches.0": {"file", "line", "column", "matchedText", "contextBefore", "contextAfter"},
    }),
    ("code/list", {"pattern": "**/*.py"}, {
        "": {"success", "files", "totalFiles", "truncated"},
        "files.0": {"path", "name", "size", "lastModified", "isDirectory"},
    }),
    ("code/diff", {}, {
        "": {"success", "base", "compare", "diffs", "totalChanges", "truncated"},
        "totalChanges": {"filesChanged", "insertions", "deletions"},
        "diffs.0": {"path", "status", "hunks", "stats"},
        "diffs.0.stats": {"insertions", "deletions"},
        "diffs.0.hunks.0": {"oldStart", "oldLines", "newStart", "newLines", "lines"},
        "diffs.0.hunks.0.lines.0": {"type", "lineNumber", "content"},
    }),
    ("code/log", {"includeDiff": True}, {
        "": {"success", "commits", "totalCommits", "truncated"},
        "commits.0": COMMIT | {"stats", "diff"},
    }),
    ("code/blame", {"path": "a.py"}, {
        "": {"success", "path", "lines"},
        "lines.0": {"lineNumber", "content", "commit"},
        "lines.0.commit": {"hash", "shortHash", "author", "date", "message"},
    }),
    ("code/show", {"commit": "HEAD"}, {"": {"success", "commit"}, "commit": COMMIT | {"diff"}}),
]  # fmt: skip
READ_ONLY = {*ARGUMENTS, "data/list", "data/read", "ping", "debug/logs", "ai/report"}


@pytest.fixture
def executor(tmp_path: Path) -> Iterator[Any]:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_text("import os\n\n\ndef main():\n    return os.name\n")
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "First"]):
        subprocess.run([*git, *command], cwd=root, check=True, env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)})
    (root / "a.py").write_text("import os\n\n\ndef main():\n    return 1\n")
    with Executor.open_sync(root, store="memory") as opened:
        yield opened


def at(value: Any, path: str) -> Any:
    for part in path.split(".") if path else ():
        value = value[int(part)] if part.isdigit() else value[part]
    return value


@pytest.mark.promise("C-76")
def test_every_field_of_the_designs_results_is_there(executor: Any) -> None:
    for tool, arguments, fields in FIELDS:
        outcome = executor.run({"name": tool, "arguments": arguments}, caller="teacher")
        assert outcome.ok, (tool, outcome.error)
        for path, names in fields.items():
            assert names <= set(at(outcome.result, path)), (tool, path)


@pytest.mark.promise("C-76")
def test_a_commit_has_one_short_name_in_every_tool(executor: Any) -> None:
    asked = {tool: arguments for tool, arguments, _ in FIELDS}
    commits = [
        at(executor.run({"name": tool, "arguments": asked[tool]}, caller="teacher").result, path)
        for tool, path in (("code/log", "commits.0"), ("code/show", "commit"), ("code/blame", "lines.0.commit"))
    ]
    assert [commit["shortHash"] for commit in commits] == [commit["hash"][:10] for commit in commits]


@pytest.mark.promise("C-76")
def test_every_argument_of_the_design_is_there_with_its_type_and_limit(tmp_path: Path) -> None:
    for tool in code_tools(Sight(tmp_path)):
        schema = tool.definition["parameters"]
        types = {name: part["type"] for name, part in schema["properties"].items()}
        assert ARGUMENTS[tool.name].items() <= types.items(), tool.name
        assert schema.get("required", []) == REQUIRED.get(tool.name, [])
        for (name, argument), most in MOST.items():
            if name == tool.name:
                assert schema["properties"][argument]["maximum"] == most
    assert schema_of(tmp_path, "code/list")["sortBy"]["enum"] == ["name", "modified", "size"]


def schema_of(root: Path, name: str) -> dict[str, Any]:
    return next(tool for tool in code_tools(Sight(root)) if tool.name == name).definition["parameters"]["properties"]


@pytest.mark.promise("C-77")
def test_every_code_tool_ends_by_itself(tmp_path: Path) -> None:
    """Each at its own deadline, with two seconds to say what it has."""
    limits = {tool.name: tool.timeout for tool in code_tools(Sight(tmp_path))}
    assert {name: limits[name] for name in SECONDS} == {name: seconds + 2 for name, seconds in SECONDS.items()}
    assert all(limit is not None and limit <= 22 for limit in limits.values())


@pytest.mark.promise("P-01", "P-02")
def test_the_designs_stages_and_limits_are_ours() -> None:
    sandbox = READ_ONLY | {"code/execute/python", "code/execute/javascript", "screenshot"}
    limited = sandbox | {"file/save", "code/create-branch", "code/create-test"}
    assert STAGES["read-only"] >= READ_ONLY
    assert sandbox <= STAGES["sandbox"]
    assert limited <= STAGES["limited-write"]
    assert not STAGES["read-only"] & (limited - READ_ONLY)
    swarm = PRESETS["swarm"]
    assert (swarm.all, swarm.caller) == (Window(100, 2000), Window(10, 200, 3))
    assert dict(swarm.tools) == {"code/read": Window(5), "code/search": Window(3), "code/execute/python": Window(2)}


@pytest.mark.promise("X-02")
def test_an_outcome_is_the_designs_tool_result(executor: Any) -> None:
    from rightcall.cli.run import outcome_record

    ran = outcome_record(executor.run({"name": "code/read", "arguments": {"path": "a.py"}}))
    refused = outcome_record(executor.run({"name": "file/delete", "arguments": {"path": "a.py"}}))
    for told in (ran, refused):
        assert {"success", "tool", "result", "error", "metadata"} <= set(told)
        assert {"executionTime", "tokenEstimate", "cached"} <= set(told["metadata"])
    assert (ran["success"], refused["success"], ran["metadata"]["cached"]) == (True, False, False)
