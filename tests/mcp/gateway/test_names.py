"""Servers and their tools get short names that stay the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.executor.toolbox import full_name
from rightcall.mcp.gateway.names import server_name, wire_names
from support.every import every

pytestmark = pytest.mark.promise("H-04")

NAMES = {
    "npx -y @modelcontextprotocol/server-filesystem /x": "filesystem",
    "npx -y @playwright/mcp@latest": "playwright",
    "npx @upstash/context7-mcp": "context7",
    "uvx mcp-server-git --repository /x": "git",
    "uvx --from git+https://x mcp-server-time": "time",
    "uv run --directory /x server.py": "server",
    "python -m my_server": "my_server",
    "python3.11 -m a.b.__main__": "b",
    "/opt/x/server.py": "server",
    "/usr/bin/mcp-server-git": "git",
    "node /a/weather/dist/index.js": "weather",
    "docker run -i --rm -e KEY ghcr.io/github/github-mcp-server:latest": "github",
    r"C:\Python\python.exe -m mcp_server_fetch": "mcp_server_fetch",
    "cmd /c npx -y mcp-server-x@1.2": "x",
    "env A=b npx notes-mcp": "notes",
    "python": "server",
    "..": "server",
    "": "server",
}


@every(("command", "name"), NAMES.items())
def test_a_server_is_named_by_its_command(command: str, name: str) -> None:
    assert server_name(command.split()) == name


def test_a_command_for_a_shell_is_looked_into() -> None:
    assert server_name(["sh", "-c", "npx -y notes-mcp /x"]) == "notes"


@given(st.lists(st.text(max_size=20), max_size=5))
def test_any_command_gives_a_name_that_can_be_written(command: list[str]) -> None:
    name = server_name(command)
    assert 0 < len(name) <= 64
    assert all(letter.isascii() and (letter.isalnum() or letter in "_.-") for letter in name)


_PAIRS = st.lists(st.tuples(st.sampled_from(["a", "a_b", "ä"]), st.text("ab_/é", max_size=70)), max_size=6)


@given(_PAIRS)
def test_no_two_tools_share_a_name_and_their_order_does_not_matter(pairs: list[tuple[str, str]]) -> None:
    names = wire_names(pairs)
    assert set(names.values()) == set(pairs)
    assert names == wire_names(reversed(pairs))
    assert all(len(name) <= 64 for name in names)


def test_a_tool_of_a_server_is_named_after_both() -> None:
    assert full_name("files", "read") == "files/read"
    assert wire_names([("files", "read")]) == {"files_read": ("files", "read")}
