"""Packs `code`, `edit-files` and `gaia` against the tables of their designs."""

from typing import Any

import pytest

from rightcall.catalog.packs import load_pack
from rightcall.catalog.tool import PackTool
from rightcall.policy.settings import STAGES
from support.every import every

# The seven tools: parameter, whether required, JSON type, and the default as the design writes it ("" for none).
Row = tuple[str, bool, str, str]
SEVEN: dict[str, tuple[Row, ...]] = {
    "code/read": (
        ("path", True, "string", ""),
        ("startLine", False, "integer", ""),
        ("endLine", False, "integer", ""),
        ("maxLines", False, "integer", "default 500"),
        ("syntaxHighlight", False, "boolean", "default false"),
        ("includeMetadata", False, "boolean", "default true"),
        ("includeLines", False, "boolean", "default false"),  # how the design's `lines` are asked for: promise C-71
        ("includeStructure", False, "boolean", "default false"),  # not in the design: promise C-10
    ),
    "code/search": (
        ("pattern", True, "string", ""),
        ("paths", False, "array", "default: everywhere"),
        ("filePattern", False, "string", ""),
        ("excludePatterns", False, "array", "default: node_modules, .git"),
        ("contextLines", False, "integer", "default 2"),
        ("caseSensitive", False, "boolean", "default false"),
        ("maxMatches", False, "integer", "default 100"),
        ("includeLineNumbers", False, "boolean", "default true"),
    ),
    "code/list": (
        ("pattern", True, "string", ""),
        ("directory", False, "string", "default: repository root"),
        ("maxDepth", False, "integer", "default 10"),
        ("includeHidden", False, "boolean", "default false"),
        ("sortBy", False, "string", "default name"),
        ("limit", False, "integer", "default 500"),
    ),
    "code/diff": (
        ("base", False, "string", "default HEAD"),
        ("compare", False, "string", "default: working directory"),
        ("paths", False, "array", ""),
        ("contextLines", False, "integer", "default 3"),
        ("ignoreWhitespace", False, "boolean", "default false"),
        ("maxDiffSize", False, "integer", "default 50 kB"),
    ),
    "code/log": (
        ("path", False, "string", "default: all"),
        ("limit", False, "integer", "default 20"),
        ("since", False, "string", ""),
        ("until", False, "string", ""),
        ("author", False, "string", ""),
        ("grep", False, "string", ""),
        ("includeDiff", False, "boolean", "default false"),
    ),
    "code/blame": (
        ("path", True, "string", ""),
        ("startLine", False, "integer", ""),
        ("endLine", False, "integer", ""),
        ("includeContent", False, "boolean", "default true"),
    ),
    "code/show": (
        ("commit", True, "string", ""),
        ("includeDiff", False, "boolean", "default true"),
    ),
}

# The design's safety constraints that a schema can say.
LIMITS = {
    ("code/read", "startLine"): {"minimum": 1},
    ("code/read", "endLine"): {"minimum": 1},
    ("code/read", "maxLines"): {"minimum": 1, "maximum": 500},
    ("code/search", "pattern"): {"maxLength": 1000},
    ("code/search", "contextLines"): {"minimum": 0, "maximum": 20},
    ("code/search", "maxMatches"): {"minimum": 1, "maximum": 100},
    ("code/list", "maxDepth"): {"minimum": 1, "maximum": 10},
    ("code/list", "sortBy"): {"enum": ["name", "modified", "size"]},
    ("code/list", "limit"): {"minimum": 1, "maximum": 500},
    ("code/diff", "contextLines"): {"minimum": 0},
    ("code/diff", "maxDiffSize"): {"minimum": 1, "maximum": 51200},
    ("code/log", "limit"): {"minimum": 1, "maximum": 100},
    ("code/blame", "startLine"): {"minimum": 1},
    ("code/blame", "endLine"): {"minimum": 1},
}

READ_ONLY = {
    *SEVEN,
    "data/list",
    "data/read",
    "ping",
    "debug/logs",
    "ai/report",
    "system/monitor",
    "analytics/tool-usage",
}
SANDBOX = {"code/execute/python", "code/execute/javascript", "screenshot"}
LIMITED_WRITE = {"file/save", "code/create-branch", "code/create-test"}
FULL = {"code/edit", "code/commit", "code/pull-request", "code/review", "code/merge"}
WEB = {"web/fetch", "web/search"}

PATHS = {
    "code/read": ("path",),
    "code/search": ("paths",),
    "code/list": ("directory",),
    "code/diff": ("paths",),
    "code/log": ("path",),
    "code/blame": ("path",),
    "file/save": ("path",),
    "code/create-test": ("path",),
    "code/edit": ("operations[].path",),
    "code/commit": ("paths",),
}

# Names that models use instead; every one is here, so that none slips in unseen.
FILE: dict[str, str] = dict.fromkeys(("file", "filename", "file_path", "filepath"), "path")
TEXT: dict[str, str] = dict.fromkeys(("text", "contents"), "content")
ALIASES: dict[str, dict[str, str]] = {
    "web/fetch": {
        **dict.fromkeys(("uri", "link", "address"), "url"),
        **dict.fromkeys(("offset", "start_index"), "start"),
        "max_length": "maxLength",
    },
    "web/search": {
        **dict.fromkeys(("q", "search"), "query"),
        **dict.fromkeys(("max_results", "count"), "limit"),
    },
    "analytics/tool-usage": dict.fromkeys(("caller", "persona"), "personaId"),
    "code/read": {**FILE, "limit": "maxLines"},
    "code/search": {
        **dict.fromkeys(("query", "regex", "search"), "pattern"),
        **dict.fromkeys(("path", "directory"), "paths"),
        **dict.fromkeys(("glob", "include"), "filePattern"),
        **dict.fromkeys(("limit", "maxResults"), "maxMatches"),
        "exclude": "excludePatterns",
        "context": "contextLines",
    },
    "code/list": {
        **dict.fromkeys(("glob", "query"), "pattern"),
        **dict.fromkeys(("path", "dir", "folder"), "directory"),
        "depth": "maxDepth",
        "sort": "sortBy",
        "hidden": "includeHidden",
    },
    "code/diff": {
        "from": "base",
        **dict.fromkeys(("to", "head"), "compare"),
        **dict.fromkeys(("path", "files"), "paths"),
        "context": "contextLines",
    },
    "code/log": {
        **dict.fromkeys(("file", "file_path"), "path"),
        **dict.fromkeys(("count", "n"), "limit"),
        "after": "since",
        "before": "until",
        "message": "grep",
    },
    "code/blame": FILE,
    "code/show": dict.fromkeys(("ref", "sha", "hash", "revision"), "commit"),
    "data/list": {"table": "collection"},
    "data/read": {"table": "collection"},
    "code/execute/python": {**dict.fromkeys(("script", "source", "python"), "code"), "input": "stdin"},
    "code/execute/javascript": {**dict.fromkeys(("script", "source", "javascript"), "code"), "input": "stdin"},
    "file/save": {**FILE, **TEXT},
    "code/create-test": {**FILE, **TEXT, "code": "content"},
    "code/create-branch": {**dict.fromkeys(("branch", "branch_name"), "name"), "from": "base"},
    "code/edit": dict.fromkeys(("edits", "ops", "changes", "actions"), "operations"),
    "code/commit": {"msg": "message", "files": "paths"},
    "code/pull-request": {**dict.fromkeys(("description", "text"), "body"), "head": "branch"},
    "code/review": {"pr": "id", **dict.fromkeys(("body", "text"), "comment"), "verdict": "decision"},
    "code/merge": {"pr": "id"},
}

CODE = {tool.name: tool for tool in load_pack("code").tools}


def properties(tool: PackTool) -> dict[str, dict[str, Any]]:
    assert tool.schema is not None
    return tool.schema.get("properties", {})


@pytest.mark.promise("V-08")
def test_the_tools_are_those_of_every_stage_of_trust() -> None:
    assert set(CODE) == READ_ONLY | SANDBOX | LIMITED_WRITE | FULL | WEB
    assert not any(WEB & names for names in STAGES.values()), "a policy has to name them"


@every("name", SEVEN)
@pytest.mark.promise("V-08")
def test_a_read_only_tool_has_the_designs_parameters_types_and_defaults(name: str) -> None:
    tool = CODE[name]
    assert tool.schema is not None
    assert list(properties(tool)) == [row[0] for row in SEVEN[name]]
    assert tool.schema.get("required", []) == [row[0] for row in SEVEN[name] if row[1]]
    assert tool.rules.required == tuple(row[0] for row in SEVEN[name] if row[1])
    for parameter, _, kind, default in SEVEN[name]:
        said = properties(tool)[parameter]
        assert said["type"] == kind, parameter
        assert default in said["description"], parameter
        assert bool(default) is ("default" in said["description"]), parameter
        limits = {key: value for key, value in said.items() if key not in ("type", "description", "items")}
        assert limits == LIMITS.get((name, parameter), {}), parameter


@pytest.mark.promise("V-08")
def test_a_default_of_the_design_is_told_and_not_filled_in() -> None:
    """The tool itself fills it: what a model did not say is not put into its mouth."""
    assert {name for name, tool in CODE.items() if tool.rules.defaults} == set()
    assert all("default" not in part for tool in CODE.values() for part in properties(tool).values())


@every("name", sorted(READ_ONLY | SANDBOX | LIMITED_WRITE | FULL | WEB))
@pytest.mark.promise("V-08")
def test_effects_paths_and_aliases_are_declared(name: str) -> None:
    tool = CODE[name]
    if name in READ_ONLY or name == "screenshot":
        assert tool.effects == ("read",)
    elif name in SANDBOX:
        assert tool.effects == ("execute",)
    elif name in WEB:
        assert tool.effects == ("read", "network")
    else:
        assert "write" in (tool.effects or ())
    assert tool.rules.paths == PATHS.get(name, ())
    assert tool.rules.urls == (("url",) if name == "web/fetch" else ())
    assert tool.rules.aliases == ALIASES.get(name, {})
    assert tool.rules.names == ()


@pytest.mark.promise("V-08")
def test_tools_that_are_asked_again_and_again_are_repeatable() -> None:
    polled = {name for name, tool in CODE.items() if tool.rules.repeatable}
    assert polled == {"ping", "system/monitor", "debug/logs", "ai/report", "analytics/tool-usage"}


EDIT_FILES = {tool.name: tool for tool in load_pack("edit-files").tools}


@pytest.mark.promise("V-08")
def test_edit_files_takes_operations_as_a_list_or_as_json_text() -> None:
    assert set(EDIT_FILES) == {"edit_files"}
    tool = EDIT_FILES["edit_files"]
    assert tool.schema is not None
    assert tool.schema["required"] == ["operations"]
    assert tool.rules.required == ("operations",)
    assert tool.rules.json_text == ("operations",)
    as_list, as_text = properties(tool)["operations"]["anyOf"]
    assert as_list == {"type": "array", "items": {"$ref": "#/$defs/operation"}}
    assert as_text == {"type": "string", "contentMediaType": "application/json", "contentSchema": as_list}
    assert tool.rules.aliases == dict.fromkeys(("edits", "ops", "changes", "actions"), "operations")
    assert tool.effects == ("write",)
    assert tool.rules.paths == ("operations[].path",)


@pytest.mark.promise("V-08")
@pytest.mark.parametrize("pack", ["edit-files", "code"])
def test_an_operation_is_modify_delete_or_insert_with_a_path_and_perhaps_content(pack: str) -> None:
    if pack == "edit-files":
        assert EDIT_FILES["edit_files"].schema is not None
        operation = EDIT_FILES["edit_files"].schema["$defs"]["operation"]
    else:
        operation = properties(CODE["code/edit"])["operations"]["items"]
    assert operation["required"] == ["type", "path"]
    assert operation["properties"]["type"]["enum"] == ["modify", "delete", "insert"]
    assert {name: part["type"] for name, part in operation["properties"].items()} == dict.fromkeys(
        ("type", "path", "content"), "string"
    )


# Design 004: tool, parameters, the required ones (top_k has a default), whether it needs approval.
GAIA: dict[str, tuple[tuple[str, ...], tuple[str, ...], bool]] = {
    "ai.read": (("path",), ("path",), False),
    "ai.write": (("path", "content"), ("path", "content"), True),
    "ai.execute": (("command",), ("command",), True),
    "embedding.query": (("query", "top_k"), ("query",), False),
}
GAIA_ALIASES = {
    "ai.read": FILE,
    "ai.write": {**FILE, **dict.fromkeys(("text", "contents", "data"), "content")},
    "ai.execute": dict.fromkeys(("cmd", "script", "shell", "code"), "command"),
    "embedding.query": {
        **dict.fromkeys(("q", "search", "text", "question"), "query"),
        **dict.fromkeys(("k", "limit", "n"), "top_k"),
    },
}


@pytest.mark.promise("V-08")
def test_gaia_describes_its_tools_in_the_designs_words() -> None:
    tools = {tool.name: tool for tool in load_pack("gaia").tools}
    told = {
        name: [tool.description, *(part["description"] for part in properties(tool).values())]
        for name, tool in tools.items()
    }
    assert told == {
        "ai.read": ["Read a file from the filesystem", "Absolute path to the file to read"],
        "ai.write": [
            "Write content to a file on the filesystem",
            "Absolute path to the file to write",
            "Content to write to the file",
        ],
        "ai.execute": ["Execute a shell command", "Shell command to execute"],
        "embedding.query": [
            "Query the vector database for semantic search",
            "Search query text",
            "Number of results to return (default: 5)",
        ],
    }


@pytest.mark.promise("V-08")
def test_gaia_has_the_designs_tools_parameters_and_default() -> None:
    tools = {tool.name: tool for tool in load_pack("gaia").tools}
    assert set(tools) == set(GAIA)
    for name, (parameters, required, approval) in GAIA.items():
        tool = tools[name]
        assert tool.schema is not None
        assert tuple(properties(tool)) == parameters, name
        assert tuple(tool.schema["required"]) == required, name
        assert bool({"write", "execute"} & set(tool.effects or ())) is approval, name
        assert tool.rules.aliases == GAIA_ALIASES[name], name
        assert tool.rules.defaults == ({"top_k": 5} if name == "embedding.query" else {}), name
    assert tools["ai.read"].rules.paths == tools["ai.write"].rules.paths == ("path",)
    assert tools["ai.execute"].rules.commands == ("command",)
