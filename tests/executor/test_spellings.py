"""No spelling of a path or a name turns a refusal into a permission: at a hook, behind `wrap`, in the gateway and in
the executor; and what is legal and harmless is read like anything else."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rightcall import Executor, tool
from rightcall.base.files.guarded import guarded_files, is_another_name
from rightcall.errors import ToolError
from rightcall.executor.door import Door
from rightcall.hosts.hooks.wires import builtin_tools
from support.cli import environment
from support.every import every
from support.spelling_table import (
    DENY,
    HARMLESS,
    IN_EXECUTORS,
    NAMES,
    ON_DRIVES,
    PATHS,
    TARGETS,
    make_deep,
    spelled_paths,
)

pytestmark = pytest.mark.promise("P-15")

POLICY: dict[str, Any] = {
    "policy": {
        "paths": {"deny": DENY}, "repeats": 0, "quarantine": 0, "limits": {"all": {"minute": 0, "hour": 0},
        "caller": {"minute": 0, "hour": 0, "burst": 0}, "tools": {"code/read": {"minute": 0}}},
    },
    "audit": {"path": "state/audit.db"},
    "servers": {"files": {"command": ["x"], "effects": ["read"]}},
    "gate": {"tools": {"files/read_file": {"paths": ["path"]}}},
}  # fmt: skip
READ_FILE = {
    "name": "read_file",
    "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}
TREASURE = "TREASURE: nobody may read this"
Judge = Callable[[str], tuple[str, str]]
EVERY_DAY = 3
some_and_all = pytest.mark.parametrize("step", [EVERY_DAY, pytest.param(1, marks=pytest.mark.long)])
"""Every third spelling every day: each way to spell, and each target, is among them, though not each with each."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every target, every harmless file, and links that lead around among them."""
    root = tmp_path_factory.mktemp("spellings").resolve() / "root"
    for name in TARGETS:
        _write(root / name, TREASURE)
    for name in HARMLESS:
        _write(root / name, f"fine: {name}")
    _write(root / "README.md", "fine: README.md")
    (root / "elsewhere/deep").mkdir(parents=True)
    (root / "link").symlink_to("elsewhere/deep")
    (root / "here").symlink_to(".")
    return root


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def at_home(tree: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tree))
    return tree


@pytest.fixture(params=["hook", "wrap", "gateway"])
def judge(request: pytest.FixtureRequest, at_home: Path) -> Iterator[Judge]:
    """What a door says of reading a path, and by which rule."""
    host = {"hook": "claude-code", "wrap": "wrap", "gateway": "gateway"}[request.param]
    strict, fixed = request.param == "gateway", request.param == "hook"
    with Door.open(host, POLICY, root=at_home, strict=strict, fixed_names=fixed) as door:
        door.know(builtin_tools("claude"))
        door.know([READ_FILE], "files")

        def judged(path: str) -> tuple[str, str]:
            if request.param == "hook":
                passage = door.judge("Read", {"file_path": path})
            else:
                passage = door.judge("read_file", {"path": path}, space="files")
            return passage.action, passage.decision.rule

        yield judged


@some_and_all
def test_no_spelling_of_a_refused_path_passes_a_door(judge: Judge, tree: Path, step: int) -> None:
    tried = list(spelled_paths(str(tree)))
    assert len(tried) > 600
    found = {name: judge(path) for name, path in tried[::step]}
    wrong = {name: said for name, said in found.items() if said[0] != "deny" or not said[1].startswith("path:")}
    assert wrong == {}


def test_no_path_on_a_drive_passes_a_door_and_a_folder_that_is_called_like_one_does(judge: Judge, tree: Path) -> None:
    tried = [(f"{way}: {target}", spell(target, str(tree))) for way, spell in ON_DRIVES.items() for target in TARGETS]
    found = {name: judge(path) for name, path in tried}
    wrong = {name: said for name, said in found.items() if said[0] != "deny" or not said[1].startswith("path:")}
    assert wrong == {}
    assert [judge(path)[0] for path in ("C:/notes.txt", f"{tree}/C:/notes.txt", "a:b.txt")] == ["allow"] * 3


@pytest.mark.parametrize(
    "way", ["{0}/root", "{0}/up/root", "{0}/again", "{0}//root/", "{0}/root/here/./", "{0}/root/../root"]
)
def test_links_are_followed_and_their_names_count_whatever_the_way_to_the_root_is(
    tree: Path, tmp_path: Path, way: str
) -> None:
    """A path without links proves its root true; one with a link, or from a root that is one, proves nothing."""
    for file in ("private/a.txt", "sub/.env", "sub/plain.txt", ".env"):
        _write(tmp_path / "root" / file, "fine")
    links = {
        "quiet": "private", "calm.md": ".env", "here": ".", "sub/calm.md": ".env", "far": "..",
        "sub/.env.local": "plain.txt", "closed": str(tree / "elsewhere"),
    }  # fmt: skip
    for name, to in links.items():
        (tmp_path / "root" / name).symlink_to(to)
    (tmp_path / "up").symlink_to(".")
    (tmp_path / "again").symlink_to("root")
    refused = [
        "private/a.txt", "quiet/a.txt", "calm.md", "sub/.env", "sub/calm.md", "here/sub/calm.md", "sub/../calm.md",
        "far/root/quiet/a.txt", "quiet/new.txt", "quiet//a.txt", "quiet/./a.txt", "here/quiet/a.txt", "PRIVATE/A.TXT",
        "sub/.env.local", "here/sub/../sub/.env.local", "closed/deep/x",
    ]  # fmt: skip
    root = way.format(tmp_path)
    seen: list[str] = []

    @tool(effects=["read"], paths=["path"])
    def look(path: str) -> str:
        seen.append(path)
        return "looked"

    executor = Executor.open_sync(root, POLICY, store="memory", tools=[look], code=True)
    with Door.open("wrap", POLICY, root=root) as door, executor:
        door.know([READ_FILE], "files")
        for path in [*refused, *(f"{above}/{path}" for above in (root, f"{tmp_path}/root") for path in refused)]:
            passage = door.judge("read_file", {"path": path}, space="files")
            assert (passage.action, passage.decision.rule[:5]) == ("deny", "path:"), path
            assert not executor.run({"name": "look", "arguments": {"path": path}}).ok, path
            assert not executor.run({"name": "code/read", "arguments": {"path": path}}).ok, path
        for path in ("README.md", "sub/new.py", "here/sub/plain.txt"):
            assert door.judge("read_file", {"path": path}, space="files").action == "allow", path
            assert executor.run({"name": "look", "arguments": {"path": path}}).ok, path
    assert len(seen) == 3


def test_no_link_is_too_deep_to_be_followed_at_any_door(tmp_path: Path) -> None:
    for name in (".env", "private/a.txt", "rightcall.toml"):
        _write(tmp_path / name, TREASURE)
    deep = make_deep(tmp_path, {"a.txt": ".env", "folder": "private", "policy": "rightcall.toml", "out": ".."})
    seen: list[str] = []

    @tool(effects=["read"], paths=["path"])
    def look(path: str) -> str:
        seen.append(path)
        return "looked"

    executor = Executor.open_sync(tmp_path, POLICY, store="memory", tools=[look], code=True)
    with executor, Door.open("claude-code", POLICY, root=tmp_path, tools=builtin_tools("claude")) as door:
        for name in ("a.txt", "folder/a.txt", "folder/new", "policy", "out/x"):
            path = f"{deep}/{name}"
            assert os.path.lexists(tmp_path / deep) is False
            calls = [
                door.judge("Read", {"file_path": path}),
                door.judge("Write", {"file_path": path, "content": ""}, cwd=str(tmp_path)),
                door.judge("Bash", {"command": f"cat {path}"}),
                door.judge("Bash", {"command": f"cat {path}/../x"}),
                *(door.judge("x", {key: path}, space="files") for key in ("path", "file", "source", "files")),
            ]
            assert {(call.action, call.decision.rule) for call in calls} == {("deny", "path:unjudged")}, name
            assert not executor.run({"name": "look", "arguments": {"path": path}}).ok
            assert not executor.run({"name": "code/read", "arguments": {"path": path}}).ok
    assert seen == []


def test_a_relative_path_counts_from_the_folder_that_its_host_or_server_works_in(at_home: Path) -> None:
    with Door.open("claude-code", POLICY, root=at_home, tools=builtin_tools("claude")) as door:
        for cwd, path in (("elsewhere", "../private/a.txt"), ("private", "a.txt"), ("state", "desk/journal")):
            assert door.judge("Read", {"file_path": path}, cwd=f"{at_home}/{cwd}").action == "deny", path
        assert door.judge("Read", {"file_path": "../README.md"}, cwd=f"{at_home}/elsewhere").action == "allow"
    server = {"command": ["x"], "cwd": str(at_home / "private")}
    with Door.open("wrap", {**POLICY, "servers": {"files": server}}, root=at_home) as door:
        door.know([READ_FILE], "files")
        assert door.judge("read_file", {"path": "a.txt"}, space="files").decision.rule == "path:deny"


def test_harmless_names_pass_a_door(judge: Judge, tree: Path) -> None:
    given = [*HARMLESS, *(f"{tree}/{name}" for name in HARMLESS), *(f"./{name}" for name in HARMLESS)]
    assert {name: said for name in given if (said := judge(name))[0] != "allow"} == {}


def test_a_path_that_nobody_can_judge_is_recorded_under_a_rule_of_its_own(judge: Judge) -> None:
    for path in ("./" * 2100 + "README.md", "README.md\0", "a" * 5000, "README.md%00.txt"):
        assert judge(path) == ("deny", "path:unjudged"), path[:20]


def test_guarded_files_are_known_by_what_they_are(judge: Judge, tree: Path) -> None:
    """A second name, or a link, says nothing; the file is the same."""
    hard, soft, folder = tree / "elsewhere/notes.txt", tree / "elsewhere/notes.md", tree / "elsewhere/more"
    os.link(tree / "state/audit.db-wal", hard)
    soft.symlink_to("../state/audit.db.key")
    folder.symlink_to("../state/desk")
    try:
        for path in ("elsewhere/notes.txt", "elsewhere/notes.md", "elsewhere/more/journal", "elsewhere/more/new"):
            assert judge(path)[0] == "deny", path
    finally:
        for one in (hard, soft, folder):
            one.unlink()


def test_the_files_of_a_record_outside_the_root_are_guarded_too(tmp_path: Path) -> None:
    root, away = tmp_path / "root", tmp_path / "away"
    root.mkdir()
    policy = tmp_path / "mine.toml"
    policy.write_text('version = 1\n[audit]\npath = "away/audit.db"\n', encoding="utf-8")
    with Door.open("claude-code", policy, root=root, tools=builtin_tools("claude")) as door:
        for path in ("audit.db", "audit.db-wal", "audit.db.key", "desk/journal", "packets/a.json", "x/../desk/new"):
            assert door.judge("Write", {"file_path": f"{away}/{path}", "content": ""}).action == "deny", path
        assert door.judge("Write", {"file_path": str(policy), "content": ""}).action == "deny"
        assert door.judge("Write", {"file_path": f"{away}/desk.py", "content": ""}).action == "allow"


@some_and_all
def test_no_spelling_of_a_refused_path_is_read_by_a_code_tool(at_home: Path, step: int) -> None:
    with Executor.open_sync(at_home, POLICY, store="memory", code=True) as executor:
        for name, path in list(spelled_paths(str(at_home), IN_EXECUTORS))[::step]:
            outcome = executor.run({"name": "code/read", "arguments": {"path": path}})
            assert not outcome.ok, name
            assert TREASURE not in outcome.content, name


@some_and_all
def test_no_spelling_of_a_refused_path_reaches_a_function(at_home: Path, step: int) -> None:
    seen: list[str] = []

    @tool(effects=["read"], paths=["path"])
    def look(path: str) -> str:
        seen.append(path)
        return "looked"

    with Executor.open_sync(at_home, POLICY, store="memory", tools=[look]) as executor:
        for _, path in list(spelled_paths(str(at_home), IN_EXECUTORS))[::step]:
            executor.run({"name": "look", "arguments": {"path": path}})
        assert seen == []
        for path in ("~/../outside", f"file://{at_home.parent}/x", "%2e%2e/x", "$HOME/../x", '"/etc/passwd"'):
            outcome = executor.run({"name": "look", "arguments": {"path": path}})
            assert outcome.decision is not None
            assert outcome.decision.rule == "path:outside", path
        for name in HARMLESS:
            assert executor.run({"name": "look", "arguments": {"path": name}}).ok, name


def test_harmless_names_are_read_found_and_listed_by_code_tools(at_home: Path) -> None:
    with Executor.open_sync(at_home, POLICY, store="memory", code=True) as executor:
        for name in HARMLESS:
            outcome = executor.run({"name": "code/read", "arguments": {"path": name}})
            assert outcome.ok, (name, outcome.content)
            assert outcome.result["content"].startswith(f"fine: {name}")
        found = executor.run({"name": "code/search", "arguments": {"pattern": "^fine: ", "contextLines": 0}}).result
        listed = executor.run({"name": "code/list", "arguments": {"pattern": "**"}}).result
        odd = ("..config.py", "...dots.txt", "..folder/x.md", "C:/notes.txt", "a:b.txt", "\u2026notes.txt")
        assert set(odd) <= {match["file"] for match in found["matches"]}
        assert set(odd) <= {file["path"] for file in listed["files"]}


DENIALS = {"git_reset": ("git_reset",), "git_*": ("git_reset",), "*_secrets": ("list_secrets",)}


@every("way", ["hook", "wrap", "gateway", "server"])
def test_no_spelling_of_a_denied_name_passes_a_door(way: str) -> None:
    for pattern, targets in DENIALS.items():
        own = {"deny": [pattern]} if way == "server" else {}
        policy = {**POLICY, "policy": POLICY["policy"] | ({} if own else {"deny": [pattern]})}
        policy = policy | {"servers": {"files": {"command": ["x"], "effects": ["read"], **own}}}
        with Door.open("claude-code", policy, strict=way == "gateway", fixed_names=way == "hook") as door:
            space = "" if way == "hook" else "files"
            for target in targets:
                for spelling, spell in NAMES.items():
                    name = spell(target)
                    door.know([READ_FILE | {"name": name}], space)
                    passage = door.judge(name, {"path": "a"}, space=space)
                    assert passage.action == "deny", (pattern, spelling)
                    assert not door.offers(name, space), (pattern, spelling)
            for name in ("github_search", "git", "reset_git", "list_secretaries", "forgit_reset_all"):
                door.know([READ_FILE | {"name": name}], space)
                if name != "git":  # `git_*` may mean it
                    assert door.judge(name, {"path": "a"}, space=space).action == "allow", (pattern, name)


def _harmless() -> int:
    return 1


def test_no_spelling_of_a_denied_name_runs_in_the_executor() -> None:
    for caller_only in (False, True):
        deny = {"deny": ["git_reset", "list_*"]}
        policy = {"callers": {"ann": deny}} if caller_only else {"policy": deny}
        for spelling, spell in NAMES.items():
            if not spell("git_reset").isprintable() or " " in spell("git_reset"):
                continue  # no function can be called that
            made = tool(_harmless, name=spell("git_reset"), effects=["read"])
            with Executor.open_sync(".", policy, store="memory", tools=[made]) as executor:
                outcome = executor.run({"name": spell("git_reset"), "arguments": {}}, caller="ann")
                assert not outcome.ok, spelling
                assert outcome.decision is not None
                assert outcome.decision.rule in ("policy:deny", "caller:deny", "unknown_tool"), spelling


def test_a_permission_means_one_spelling() -> None:
    policy = {**POLICY, "callers": {"ann": {"only": ["files/git_reset"]}}}
    with Door.open("wrap", policy, caller="ann") as door:
        for spelling, spell in NAMES.items():
            name = spell("git_reset")
            door.know([READ_FILE | {"name": name}], "files")
            action = door.judge(name, {"path": "a"}, space="files").action
            assert action == ("allow" if name == "git_reset" else "deny"), spelling


@pytest.mark.parametrize("strict", [False, True])
def test_of_two_tools_that_look_alike_the_plain_one_is_offered(strict: bool) -> None:
    alike = ["r\u0435ad_file", "read\u200b_file", "\uff52ead_file"]
    with Door.open("gateway" if strict else "wrap", POLICY, strict=strict) as door:
        door.know([READ_FILE, *(READ_FILE | {"name": name} for name in (*alike, "readFile"))], "files")
        assert [name for name in (*alike, "readFile", "read_file") if door.offers(name, "files")] == [
            "readFile",
            "read_file",
        ]
        for name in alike:
            assert door.judge(name, {"path": "a"}, space="files").action == "deny"
        assert door.judge("read_file", {"path": "a"}, space="files").action == "allow"
    with Door.open("wrap", POLICY) as door:
        door.know([READ_FILE | {"name": alike[0]}], "files")
        assert door.judge(alike[0], {"path": "a"}, space="files").action == "allow", "there is no other"


def test_a_program_cannot_have_two_functions_that_look_alike() -> None:
    one, other = (tool(_harmless, name=name, effects=["read"]) for name in ("add_up", "\u0430dd_up"))
    with pytest.raises(ToolError, match=r"'\\u0430dd_up' looks like another one"):
        Executor.open_sync(".", store="memory", tools=[one, other])


def test_every_way_to_spell_is_tried_on_every_target() -> None:
    assert len(PATHS) * len(TARGETS) > 900
    assert len(PATHS) % EVERY_DAY  # else the same ways would be left out for each target
    assert len(NAMES) * len(DENIALS) > 60


SERVER = """
import json, sys
schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = {"tools": [{"name": "read_file", "inputSchema": schema}, {"name": "gitReset", "inputSchema": schema}]}
    if message["method"] == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "x"}}
    if message["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": "PASSED " + message["params"]["arguments"]["path"]}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
NAMED = """
[policy]
deny = ["git_reset"]
repeats = 0
quarantine = 0
paths.deny = ["private/**"]
limits = { all = { minute = 0 }, caller = { minute = 0, burst = 0 } }
[servers.files]
command = ["%s", "files.py"]
cwd = "."
effects = ["read"]
[gate.tools."files/read_file"]
paths = ["path"]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "rightcall.toml").write_text(NAMED % sys.executable, encoding="utf-8")
    (tmp_path / "rightcall.toml").chmod(0o600)
    (tmp_path / "files.py").write_text(SERVER, encoding="utf-8")
    (tmp_path / "here").symlink_to(".")
    return tmp_path


def _spoken(project: Path, *command: str, tool: str) -> list[str]:
    """What a client hears of each call: refused paths, a denied tool, and at last one that is right."""
    paths = [path for _, path in spelled_paths(str(project), (".env", "private/a.txt", "rightcall.toml"))]
    calls = [(tool, path) for path in paths] + [(tool.replace("read_file", "gitReset"), "a"), (tool, "..config.py")]
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines: list[dict[str, Any]] = [
        {"id": 0, "method": "initialize", "params": params}, {"method": "notifications/initialized"},
        {"id": "list", "method": "tools/list"},
        *({"id": at, "method": "tools/call", "params": {"name": name, "arguments": {"path": path}}}
          for at, (name, path) in enumerate(calls, 1)),
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "rightcall.cli", *command],
        input="".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines), capture_output=True, text=True,
        check=False, cwd=project, env=environment() | {"HOME": str(project)}, timeout=60,
    )  # fmt: skip
    heard = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines()) if "id" in answer}
    return [json.dumps(heard[at]) for at in range(1, len(calls) + 1)]


@pytest.mark.parametrize("way", ["wrap", "gateway"])
def test_no_spelling_passes_between_real_clients_and_servers(project: Path, way: str) -> None:
    policy = ("--policy", "rightcall.toml")
    if way == "wrap":
        answers = _spoken(
            project, "wrap", *policy, "--name", "files", "--", sys.executable, "files.py", tool="read_file"
        )
    else:
        answers = _spoken(project, "mcp", "--servers", *policy, tool="files_read_file")
    assert [answer for answer in answers[:-1] if "PASSED" in answer] == []
    assert "PASSED ..config.py" in answers[-1]


@pytest.mark.parametrize("path", ["./" * 2100 + "rightcall.toml", "x\\..\\.env"])
def test_no_spelling_passes_the_real_hook(project: Path, path: str) -> None:
    event = {
        "hook_event_name": "PreToolUse", "session_id": "s", "tool_use_id": "t", "cwd": str(project),
        "tool_name": "Read", "tool_input": {"file_path": path},
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "rightcall.cli", "hook", "claude"], input=json.dumps(event), capture_output=True,
        text=True, check=False, cwd=project, env=environment() | {"CLAUDE_PROJECT_DIR": str(project)}, timeout=60,
    )  # fmt: skip
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.promise("P-15")
def test_another_name_of_what_lies_beside_the_audit_or_in_our_folders_is_known_too(tmp_path: Path) -> None:
    database = tmp_path / "kept" / "audit.db"
    (tmp_path / "kept" / "audit.db-private").mkdir(parents=True)
    (tmp_path / "kept" / "packets").mkdir()
    inside = [database, tmp_path / "kept" / "audit.db-private" / "x", tmp_path / "kept" / "packets" / "p.json"]
    for number, file in enumerate(inside):
        file.write_text("secret")
        os.link(file, tmp_path / f"other{number}.txt")
    (tmp_path / "own.txt").write_text("")
    os.link(tmp_path / "own.txt", tmp_path / "own too.txt")
    guarded = guarded_files(None, str(database))
    names = [*(f"other{number}.txt" for number in range(len(inside))), "own.txt"]
    assert [is_another_name(str(tmp_path / name), guarded) for name in names] == [True, True, True, False]
