"""What a server asks its client for reaches it through the gateway as it would directly: with a server that knows both
eras, in that of the client; and tasks, with the reference server that has them."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import mcp_types
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from gatewaying.over_http import served
from gatewaying.running import HERE, READS, gateway, texts
from wrap_talking import Talk, wrapped

BOTH = [sys.executable, "-W", "ignore", str(HERE / "both_eras.py")]
TOOLS = ("greet", "think", "folders", "log")
pytestmark = [pytest.mark.promise("H-30"), pytest.mark.filterwarnings("ignore")]  # of features that are going away


class Desk:
    """Answers whatever a server asks, and remembers what it heard."""

    def __init__(self, folder: str = "file:///ada") -> None:
        self.heard: list[str] = []
        self._folder = folder

    async def elicit(self, _: Any, params: Any) -> Any:
        self.heard.append(params.message)
        return mcp_types.ElicitResult(action="accept", content={"name": "Ada"})

    async def sample(self, _: Any, params: Any) -> Any:
        self.heard.append(params.messages[0].content.text)
        content = mcp_types.TextContent(type="text", text="42")
        return mcp_types.CreateMessageResult(role="assistant", content=content, model="m")

    async def roots(self, _: Any) -> Any:
        self.heard.append("roots")
        return mcp_types.ListRootsResult(roots=[mcp_types.Root(uri=self._folder)])  # type: ignore[arg-type]

    async def logged(self, params: Any) -> None:
        self.heard.append(f"{params.level}: {params.data}")

    def able(self) -> dict[str, Any]:
        return {
            "elicitation_callback": self.elicit, "sampling_callback": self.sample, "list_roots_callback": self.roots,
            "logging_callback": self.logged,
        }  # fmt: skip


async def steps(client: Client, desk: Desk, prefix: str) -> list[Any]:
    """Each tool's answer, or the error in its place."""
    found: list[Any] = []
    async with client:
        for name in TOOLS:
            try:
                found.append(texts(await client.call_tool(prefix + name, {})))
            except MCPError as error:
                found.append((error.error.code, error.error.message))
        for uri in ("memo://one", "memo://two"):
            try:
                found.append((await client.read_resource(uri)).contents[0].text)  # type: ignore[union-attr]
            except MCPError as error:
                found.append((error.error.code, error.error.message, error.error.data))
    return [found, desk.heard]


@pytest.mark.promise("H-34")
@pytest.mark.parametrize("era", ["legacy", "auto"])
@pytest.mark.parametrize("way", ["stdio", "http"])
def test_sampling_elicitation_roots_and_logging_are_as_they_are_directly(era: str, way: str) -> None:
    from gatewaying.both_eras import mcp

    async def main(url: str) -> tuple[list[Any], list[Any]]:
        near, far = Desk(), Desk()
        server: Any = StdioServerParameters(command=BOTH[0], args=BOTH[1:]) if way == "stdio" else url
        direct = await steps(Client(server, mode=era, **near.able()), near, "")
        there = {"command": BOTH} if way == "stdio" else {"url": url}
        async with gateway({"x": {**there, **READS}}) as site:
            return direct, await steps(site.client(era, **far.able()), far, "x_")

    with served(mcp.streamable_http_app()) as url:
        direct, through = asyncio.run(main(url))
    assert through == direct
    if era == "legacy":
        assert direct[1] == ["Who?", "why?", "roots", "info: a line of the log"]


@pytest.mark.promise("H-31")
def test_two_clients_at_a_time_each_answer_with_their_own_folders() -> None:
    async def main() -> list[str]:
        async with gateway({"x": {"command": BOTH, **READS}}) as site:
            desks = [Desk(f"file:///{name}") for name in ("ada", "eve")]
            async with site.client("legacy", **desks[0].able()) as ada, site.client("legacy", **desks[1].able()) as eve:
                answers = await asyncio.gather(*(one.call_tool("x_folders", {}) for one in (ada, eve, ada)))
            return [texts(one) for one in answers]

    assert asyncio.run(main()) == ["file:///ada", "file:///eve", "file:///ada"]


def follow(talk: Talk, prefix: str) -> list[Any]:
    """A task of the reference server, from its beginning to its result, and one that is cancelled."""
    wanted = {"name": f"{prefix}simulate-research-query", "arguments": {"topic": "x"}, "task": {"ttl": 60_000}}
    begun = talk.ask(1, "tools/call", wanted)["result"]["task"]
    about = {"taskId": begun["taskId"]}
    found = [begun["status"], talk.ask(2, "tasks/get", about)["result"]["status"]]
    result = talk.ask(3, "tasks/result", about)["result"]
    found += [result["content"], list(result["_meta"]), talk.ask(4, "tasks/get", about)["result"]["status"]]
    second = {"taskId": talk.ask(5, "tools/call", wanted)["result"]["task"]["taskId"]}
    found.append(talk.ask(6, "tasks/cancel", second)["result"]["status"])
    found.append(sorted(one["status"] for one in talk.ask(7, "tasks/list")["result"]["tasks"]))
    found.append(talk.ask(8, "tasks/get", {"taskId": "nobody's"})["error"]["code"])
    return found


@pytest.mark.promise("H-32")
def test_a_task_of_the_reference_server_is_the_same_directly_wrapped_and_through_the_gateway(
    npm_bin: Path, tmp_path: Path
) -> None:
    command = [str(npm_bin / "mcp-server-everything")]
    policy = tmp_path / "rightcall.toml"
    table = f'command = {json.dumps(command)}\neffects = ["read"]\n'
    policy.write_text(f"version = 1\n[policy]\nrepeats = 0\n[servers.x]\n{table}")
    behind = wrapped(command, "--policy", str(policy), "--name", "x")
    joined = [*behind[:3], "mcp", "--servers", "--no-code", "--root", ".", "--policy", str(policy)]
    found: list[Any] = []
    for started, prefix in ((command, ""), (behind, ""), (joined, "x_")):
        with Talk(started, tmp_path) as talk:
            found.append(follow(talk.greet(), prefix))
    direct, behind_wrap, behind_gateway = found
    assert direct[-3:] == ["cancelled", ["cancelled", "completed"], -32602]
    assert behind_wrap == direct
    assert behind_gateway == direct
