"""`code/execute/*` and `ai.execute` in the real sandbox: what a model gets back."""

import json
import shutil
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import pytest

from rightcall.errors import ToolFailure
from rightcall.executor.shipped import execute_tools, shell_tool
from rightcall.policy.settings import SandboxSettings
from rightcall.tools.functions import LocalTool
from rightcall.tools.sandbox.conversation import NoSandbox
from rightcall.tools.sandbox.program import both_ends, limits_told
from rightcall.tools.sandbox.sandbox import Sandbox

SETTINGS = SandboxSettings(seconds=3.0)
PICTURE = """
import struct, zlib
def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
head = chunk(b"IHDR", struct.pack(">IIBBBBB", 3, 2, 8, 0, 0, 0, 0))
pixels = chunk(b"IDAT", zlib.compress(bytes(8)))
open("plot.png", "wb").write(b"\\x89PNG\\r\\n\\x1a\\n" + head + pixels + chunk(b"IEND", b""))
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    made = Sandbox()
    try:
        made.tier()
    except NoSandbox as fault:
        pytest.skip(str(fault))
    yield made
    made.close()


@pytest.fixture(scope="module")
def tools(sandbox: Sandbox) -> dict[str, LocalTool]:
    found = [*execute_tools(SETTINGS, lambda: sandbox), shell_tool(SETTINGS, lambda: sandbox)]
    return {tool.name: tool for tool in found}


@pytest.fixture(scope="module")
def python(tools: dict[str, LocalTool]) -> Any:
    return tools["code/execute/python"].function


@pytest.mark.promise("X-06")
def test_a_program_reads_its_input_and_files_and_leaves_new_ones(python: Any) -> None:
    code = """
import json, sys
from helper import double
rows = [line.split(",") for line in open("data/in.csv").read().split()]
with open("out.csv", "w") as out:
    out.write("name,twice\\n")
    for name, number in rows:
        out.write(f"{name},{double(int(number))}\\n")
print(sys.stdin.read().upper(), end="")
print("beside", file=sys.stderr)
"""
    files = {"data/in.csv": "ann,1\nbob,2\n", "helper.py": "def double(n):\n    return n * 2\n"}
    result = python(code=code, stdin="hello\n", files=files)
    time, tier = result.pop("executionTime"), result.pop("tier")
    assert result == {
        "success": True,
        "exitCode": 0,
        "signal": None,
        "stdout": "HELLO\n",
        "stderr": "beside\n",
        "files": [
            {
                "path": "out.csv", "size": 23, "type": "table", "mediaType": "text/csv",
                "text": "name  twice\nann   2\nbob   4", "rows": 2, "columns": 2,
            }
        ],
        "filesLeftOut": [],
        "limits": [],
        "truncated": False,
    }  # fmt: skip
    assert type(time) is int
    assert tier in ("namespaces", "landlock")


@pytest.mark.promise("X-06")
def test_a_picture_comes_back(python: Any) -> None:
    (file,) = python(code=PICTURE)["files"]
    assert (file["type"], file["width"], file["height"]) == ("image", 3, 2)
    assert b64decode(file["data"]).startswith(b"\x89PNG")


@pytest.mark.promise("X-06")
def test_a_program_that_fails_is_a_result_with_its_errors(python: Any) -> None:
    result = python(code="import sys\nprint('so far')\nraise ValueError('no')\n")
    assert (result["success"], result["exitCode"], result["stdout"]) == (True, 1, "so far\n")
    assert result["stderr"].endswith("ValueError: no\n")
    assert "main.py" in result["stderr"]
    assert python(code="raise SystemExit(7)")["exitCode"] == 7
    assert python(code="this is no Python")["exitCode"] == 1


@pytest.mark.promise("X-06")
def test_a_program_without_an_end_is_stopped_and_what_it_did_is_there(sandbox: Sandbox) -> None:
    tool = execute_tools(SandboxSettings(seconds=1.5), lambda: sandbox)[0]
    result = tool.function(code="print('on', flush=True)\nopen('a.txt', 'w').write('x')\nimport time; time.sleep(60)")
    assert (result["exitCode"], result["signal"], result["limits"]) == (None, 9, ["seconds"])
    assert (result["stdout"], [file["path"] for file in result["files"]]) == ("on\n", ["a.txt"])


@pytest.mark.promise("X-06")
def test_output_beyond_its_limit_ends_the_program_and_both_ends_stay_data(sandbox: Sandbox) -> None:
    tool = execute_tools(SandboxSettings(output=5_000), lambda: sandbox)[0]
    result = tool.function(code="while True: print('x' * 99)")
    assert result["limits"] == ["output"]
    assert len(result["stdout"]) <= 5_000
    assert result["truncated"] is True


def test_output_that_is_no_text_is_still_json(python: Any) -> None:
    result = python(
        code="import sys\nsys.stdout.buffer.write(b'\\xff\\0\\xed\\xa0\\x80ok')\nopen('l\\udcff', 'w').close()"
    )
    assert result["stdout"] == "\\xff\0\\xed\\xa0\\x80ok"
    assert result["files"][0]["path"] == "l\\xff"
    json.dumps(result, ensure_ascii=False).encode()


@pytest.mark.promise("X-06")
def test_links_and_floods_of_files_are_bounded(python: Any) -> None:
    code = (
        "import os\nos.symlink('/etc/passwd', 'p')\nos.mkfifo('q')\nfor n in range(60): open(f'f{n:02}', 'w').close()"
    )
    result = python(code=code)
    assert [file["path"] for file in result["files"]] == [f"f{n:02}" for n in range(40)]
    left = {one["path"]: one["why"] for one in result["filesLeftOut"]}
    assert (left["p"], left["q"], left["f40"]) == ("a link", "no regular file", "more than 40 files")
    assert len(left) == 22


def test_a_link_left_out_is_nothing_cut(python: Any) -> None:
    result = python(code="import os\nos.symlink('/etc/passwd', 'p')\n")
    assert (result["filesLeftOut"], result["truncated"]) == ([{"path": "p", "why": "a link"}], False)


def test_a_huge_sparse_file_is_only_named(python: Any) -> None:
    (file,) = python(code="open('big', 'wb').truncate(90_000_000)")["files"]
    assert file == {"path": "big", "size": 90_000_000, "type": "binary", "mediaType": "application/octet-stream"}


def test_a_name_that_leads_outside_is_refused_before_anything_runs(python: Any) -> None:
    with pytest.raises(ToolFailure, match=r"`files`: the name '\.\./x' must be a plain path"):
        python(code="print(1)", files={"../x": ""})


def test_a_file_of_the_programs_own_name_is_no_obstacle(python: Any) -> None:
    result = python(code="print(open('main.py').read())", files={"main.py": "mine"})
    assert (result["stdout"], result["files"]) == ("mine\n", [])
    assert python(code="print(1)", files={"main.py/x": ""})["stdout"] == "1\n"


def test_files_that_do_not_fit_are_refused(sandbox: Sandbox) -> None:
    tool = execute_tools(SandboxSettings(scratch=1), lambda: sandbox)[0]
    with pytest.raises(
        ToolFailure, match=r"`files`: .* cannot be put into the scratch folder: No space left on device"
    ):
        tool.function(code="x = 1" + "#" * 200_000, files={"a": "x" * 999_999})


@pytest.mark.promise("X-06")
def test_a_flood_of_large_files_is_looked_into_in_bounds(python: Any) -> None:
    code = "for n in range(8): open(f'{n:02}.txt', 'w').write('x' * 3_999_999)"
    result = python(code=code)
    assert [file["type"] for file in result["files"]] == ["text"] * 4 + ["binary"] * 4
    assert len(json.dumps(result)) < 1_000_000


needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")


@needs_node
@pytest.mark.promise("X-06")
def test_javascript_runs_with_its_files(tools: dict[str, LocalTool]) -> None:
    javascript = tools["code/execute/javascript"].function
    code = """
const fs = require('fs'), twice = require('./twice');
const given = fs.readFileSync(0, 'utf8');
fs.writeFileSync('out.json', JSON.stringify([{n: twice(21), given}]));
console.log(twice(4));
console.error('beside');
process.exitCode = 3;
"""
    result = javascript(code=code, stdin="in", files={"twice.js": "module.exports = n => 2 * n;"})
    assert (result["stdout"], result["stderr"], result["exitCode"]) == ("8\n", "beside\n", 3)
    assert result["files"][0]["text"] == "n   given\n42  in"


@needs_node
def test_javascript_that_imports_is_a_module(tools: dict[str, LocalTool]) -> None:
    result = tools["code/execute/javascript"].function(
        code="import { sep } from 'node:path';\nconst x = await Promise.resolve(sep);\nconsole.log(x);"
    )
    assert (result["stdout"], result["exitCode"]) == ("/\n", 0)


def test_javascript_without_node_says_what_is_missing(sandbox: Sandbox) -> None:
    tool = execute_tools(SandboxSettings(node="/nowhere/node"), lambda: sandbox)[1]
    with pytest.raises(ToolFailure, match=r"needs Node.js, but `/nowhere/node` \(\[sandbox\] node\) was not found"):
        tool.function(code="1")


@pytest.mark.promise("X-06")
def test_a_shell_command_runs_in_the_sandbox_alone(tools: dict[str, LocalTool]) -> None:
    result = tools["ai.execute"].function(
        command="ls -A; echo made > file; cat /etc/shadow /root/* 2>/dev/null; exit 4"
    )
    assert (result["stdout"], result["exitCode"]) == ("", 4)
    assert [(file["path"], file["text"]) for file in result["files"]] == [("file", "made\n")]


def test_a_command_that_no_shell_takes_is_refused(tools: dict[str, LocalTool]) -> None:
    for command in ("echo a\0b", "echo " + "x" * 100_000):
        with pytest.raises(ToolFailure, match="`command` must be text without NUL of at most 100,000 bytes"):
            tools["ai.execute"].function(command=command)


@pytest.mark.promise("X-06")
def test_the_second_tier_gives_the_same_result() -> None:
    second = Sandbox(only="landlock")
    try:
        second.tier()
    except NoSandbox as fault:
        pytest.skip(str(fault))
    tool = execute_tools(SETTINGS, lambda: second)[0]
    result = tool.function(code="import helper\nopen('o', 'w').write(helper.word)", files={"helper.py": "word = 'x'"})
    second.close()
    assert (result["exitCode"], result["tier"], result["stderr"]) == (0, "landlock", "")
    assert [(file["path"], file["text"]) for file in result["files"]] == [("o", "x")]


@pytest.mark.promise("P-05")
def test_a_rehearsal_shows_what_would_run_and_runs_nothing(tools: dict[str, LocalTool], sandbox: Sandbox) -> None:
    tool = tools["code/execute/python"]
    assert tool.preview is not None
    given = {"code": "print(1)\n\x1b[2Jprint(2)\r\n", "stdin": "in\n", "files": {"a.txt": "äb"}}
    assert tool.preview(given).split("\n") == [
        f"Would run this Python code in the sandbox ({sandbox.tier()}), {limits_told(SETTINGS)}:",
        "  print(1)",
        "  \x1b[2Jprint(2)\r",
        "It would read:",
        "  in",
        "Files in its scratch folder:",
        "  a.txt (3 bytes)",
    ]
    assert "It would be refused: `files`" in tool.preview({"code": "", "files": {"../x": ""}})
    shell = tools["ai.execute"].preview
    assert shell is not None
    assert shell({"command": "ls\nrm -r /"}).split("\n")[0] == 'Would run: "ls\\nrm -r /"'


@pytest.mark.promise("X-06")
def test_without_a_sandbox_nothing_runs_and_the_reason_is_said() -> None:
    class Nowhere(Sandbox):
        def tier(self) -> Any:
            raise NoSandbox("no isolation", ("install a kernel",))

        def run(self, *_: Any, **__: Any) -> Any:
            raise NoSandbox("no isolation", ("install a kernel",))

    tool = execute_tools(SETTINGS, Nowhere)[0]
    with pytest.raises(ToolFailure, match="no isolation\ninstall a kernel"):
        tool.function(code="print(1)")
    assert tool.preview is not None
    assert "there is none here, so it would be refused: no isolation" in tool.preview({"code": "print(1)"})


def test_they_are_never_cached_and_have_the_time_they_need(tools: dict[str, LocalTool]) -> None:
    for tool in tools.values():
        assert (tool.cacheable, tool.lasting) == (False, True)
        assert (tool.timeout or 0) > SETTINGS.seconds
        assert "execute" in (tool.effects or ())


@pytest.mark.parametrize("text", ["x" * 1000, "\0" * 1000, "ä" * 1000])
def test_of_long_output_both_ends_are_kept_within_the_room(text: str) -> None:
    kept = both_ends(f"first{text}last", 400)
    assert kept.startswith("first")
    assert kept.endswith("last")
    assert len(json.dumps(kept, ensure_ascii=False).encode()) <= 400
    assert both_ends("short", 400) == "short"
