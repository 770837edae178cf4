"""What `rightcall install` wrote is what the real hosts read: Claude Code runs the hooks, an MCP client the wrapped
server; after `uninstall` their settings are the bytes that were there."""

import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from msgspec import json

from hooks.hooking import SOURCE, recorded
from support.claude_code import TOKENS, Conversation, Result, run
from support.scripted.server import Answer, NativeCall, ScriptedUpstream

pytestmark = pytest.mark.promise("H-08")

SETTINGS = b'{\n  "permissions": {"allow": ["Bash"]},\n  "cleanupPeriodDays": 7\n}\n'
POLICY = 'version = 1\n[policy]\ndeny = ["Bash"]\n'


class Machine:
    """A home with the command in a folder that has a blank in its name."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home, self.work = folder, folder / "home", folder / "work"
        self.program = folder / "my bin" / "rightcall"
        for one in (self.home, self.work, self.program.parent):
            one.mkdir()
        start = f"import sys\nsys.path.insert(0, {SOURCE!r})\nfrom rightcall.cli import main\nsys.exit(main())\n"
        self.program.write_text(f"#!{sys.executable}\n{start}")
        self.program.chmod(0o755)

    def rightcall(self, *words: str) -> str:
        environment = {"HOME": str(self.home), "CLAUDE_CONFIG_DIR": str(self.home), "PATH": "/usr/bin:/bin"}
        done = subprocess.run(
            [self.program, *words],
            env=environment,
            cwd=self.work,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done.stdout


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def bash_in_claude_code(machine: Machine) -> Result:
    conversation = Conversation([Answer([NativeCall("Bash", {"command": "touch made"})], id="t", usage=TOKENS)])
    with ScriptedUpstream(conversation) as upstream:
        run(upstream.address, machine.folder)
    (turn,) = conversation.turns
    return turn.results[0]


def test_claude_code_runs_what_was_installed_and_nothing_of_it_is_left(machine: Machine) -> None:
    settings = machine.home / "settings.json"
    settings.write_bytes(SETTINGS)
    (machine.work / "rightcall.toml").write_text(POLICY)
    machine.rightcall("install", "claude-code", "--yes")
    assert "works" in machine.rightcall("status")

    assert not bash_in_claude_code(machine).is_error  # it only watches
    assert (machine.work / "made").exists()
    (machine.work / "made").unlink()

    machine.rightcall("install", "claude-code", "--mode", "block", "--yes")
    denied = bash_in_claude_code(machine)
    assert denied.is_error
    assert "Bash" in denied.text
    assert not (machine.work / "made").exists()

    machine.rightcall("uninstall", "claude-code", "--yes")
    assert settings.read_bytes() == SETTINGS
    calls = [(one["tool"], one["kind"]) for one in recorded(machine.work) if one["tool"] == "Bash"]
    assert calls == [("Bash", "begin"), ("Bash", "refused")]
    assert not bash_in_claude_code(machine).is_error
    assert (machine.work / "made").exists()


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_client_starts_the_wrapped_server_and_finds_the_same_tools(machine: Machine, npm_bin: Path) -> None:
    file = machine.work / ".cursor" / "mcp.json"
    file.parent.mkdir()
    server = {"command": str(npm_bin / "mcp-server-filesystem"), "args": [str(machine.work)]}
    plain = json.format(json.encode({"mcpServers": {"files": server}}), indent=2)
    file.write_bytes(plain)
    before = await tools_of(file)
    machine.rightcall("install", "cursor", "--project", "--yes")
    assert json.decode(file.read_bytes())["mcpServers"]["files"]["command"] == str(machine.program)
    assert await tools_of(file) == before
    assert len(before) > 5
    machine.rightcall("uninstall", "cursor", "--project", "--yes")
    assert file.read_bytes() == plain


async def tools_of(settings: Path) -> list[str]:
    entry = json.decode(settings.read_bytes())["mcpServers"]["files"]
    parameters = StdioServerParameters(command=entry["command"], args=entry["args"], cwd=settings.parent.parent)
    async with Client(parameters) as client:
        return [tool.name for tool in (await client.list_tools()).tools]
