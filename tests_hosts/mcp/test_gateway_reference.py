"""The reference servers through the gateway, with the official clients of both eras: the same answers as without it."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

from gatewaying.running import READS, gateway

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
OF_ONE_ERA = ("ttl_ms", "cache_scope", "result_type")
pytestmark = pytest.mark.promise("H-04", "X-07")


def plain(result: Any) -> Any:
    """A result without what only the new era has."""
    told = result.model_dump(mode="json") if hasattr(result, "model_dump") else result
    return {key: value for key, value in told.items() if key not in OF_ONE_ERA}


async def tried(work: Any) -> Any:
    try:
        return plain(await work)
    except MCPError as error:
        return error.error.message


async def answers(client: Client, calls: list[tuple[str, dict[str, Any]]], prefix: str) -> dict[str, Any]:
    """Everything that can be asked of a server, in one table."""
    found: dict[str, Any] = {}
    tools = (await client.list_tools()).tools
    found["tools"] = [tool.model_dump(mode="json") | {"name": tool.name.removeprefix(prefix)} for tool in tools]
    for name, arguments in calls:
        found[f"call {name} {arguments}"] = await tried(client.call_tool(prefix + name, arguments))
    capabilities = client.server_capabilities
    if capabilities.prompts:
        prompts = (await client.list_prompts()).prompts
        found["prompts"] = [one.model_dump(mode="json") | {"name": one.name.removeprefix(prefix)} for one in prompts]
        for one in prompts:
            given = {argument.name: "Paris" for argument in one.arguments or ()}
            found[f"prompt {one.name.removeprefix(prefix)}"] = await tried(client.get_prompt(one.name, given))
    if capabilities.resources:
        templates = (await client.list_resource_templates()).resource_templates
        found["templates"] = [one.model_dump(mode="json") for one in templates]
        resources = (await client.list_resources()).resources
        found["resources"] = [one.model_dump(mode="json") for one in resources]
        for one in resources:
            found[f"read {one.uri}"] = await tried(client.read_resource(one.uri))
        found["read none"] = (await tried(client.read_resource("demo://nothing/here"))) is not None
    return found


def compared(command: list[str], calls: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """What the server answers through the gateway, to clients of both eras: the same as directly."""

    async def main() -> list[tuple[dict[str, Any], dict[str, Any]]]:
        server = StdioServerParameters(command=command[0], args=command[1:])
        found: list[tuple[dict[str, Any], dict[str, Any]]] = []
        async with gateway({"x": {"command": command, **READS}}) as site:
            for era in ("legacy", "auto"):
                async with Client(server, mode=era) as client:
                    direct = await answers(client, calls, "")
                async with site.client(era) as client:
                    found.append((direct, await answers(client, calls, "x_")))
        return found

    both = asyncio.run(main())
    for direct, through in both:
        assert direct.keys() == through.keys()
        for key in direct:
            assert through[key] == direct[key], key
    return both[-1][0]


def test_the_server_of_everything(npm_bin: Path) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("echo", {"message": "hé"}),
        ("get-sum", {"a": 1.5, "b": 2}),
        ("get-tiny-image", {}),
        ("get-structured-content", {"location": "Chicago"}),
        ("get-annotated-message", {"messageType": "error", "includeImage": True}),
        ("get-resource-links", {"count": 2}),
        ("get-resource-reference", {"resourceType": "Text", "resourceId": -1}),
    ]
    found = compared([str(npm_bin / "mcp-server-everything")], calls)
    assert len(found["tools"]) > 10
    assert len(found["prompts"]) == 4
    assert found["call get-sum {'a': 1.5, 'b': 2}"]["content"][0]["text"] == "The sum of 1.5 and 2 is 3.5."


def test_the_file_server(npm_bin: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "b.txt").touch()
    here = str(tmp_path)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("list_allowed_directories", {}),
        ("read_text_file", {"path": f"{here}/a.txt", "head": 1}),
        ("list_directory", {"path": here}),
        ("read_text_file", {"path": f"{here}/none.txt"}),
        ("read_text_file", {"path": "/etc/hostname"}),
        ("write_file", {"path": f"{here}/b.txt", "content": "x"}),
        ("get_file_info", {"path": f"{here}/a.txt"}),
    ]
    found = compared([str(npm_bin / "mcp-server-filesystem"), here], calls)
    assert found[f"call list_directory { ({'path': here}) }"]["content"][0]["text"] == "[FILE] a.txt\n[FILE] b.txt"
    assert (tmp_path / "b.txt").read_text() == "x"


def test_the_git_server(tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q", "-b", "main"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run([*git, *words], check=True)
    repository = {"repo_path": str(tmp_path)}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("git_status", repository),
        ("git_log", {**repository, "max_count": 1}),
        ("git_branch", {**repository, "branch_type": "local"}),
        ("git_show", {**repository, "revision": "--output=x"}),
    ]
    found = compared([sys.executable, "-m", "mcp_server_git"], calls)
    assert "first" in found[f"call git_log { ({**repository, 'max_count': 1}) }"]["content"][0]["text"]


@ERAS
def test_completion_progress_logs_and_subscriptions_of_the_server_of_everything(npm_bin: Path, era: str) -> None:
    logs: list[str] = []

    async def logged(params: Any) -> None:
        logs.append(params.level)

    async def main() -> Any:
        import mcp_types

        servers = {"x": {"command": [str(npm_bin / "mcp-server-everything")], **READS}}
        async with gateway(servers) as site, site.client(era, logging_callback=logged) as client:
            prompt = next(one for one in (await client.list_prompts()).prompts if "completable" in one.name)
            ref = mcp_types.PromptReference(type="ref/prompt", name=prompt.name)
            found = await client.complete(ref, {"name": "department", "value": "E"})
            if era == "legacy":
                with pytest.warns(MCPDeprecationWarning):
                    await client.set_logging_level("debug")
                await client.call_tool("x_toggle-simulated-logging", {})
                while not logs:
                    await asyncio.sleep(0.01)
            return found.completion.values

    assert asyncio.run(main()) == ["Engineering"]
    assert era == "auto" or logs


def test_clients_find_the_tools_that_fit_what_they_can_do(npm_bin: Path) -> None:
    async def person(_: Any, params: Any) -> Any:
        return None

    async def names(client: Client) -> set[str]:
        async with client:
            return {tool.name.removeprefix("x_") for tool in (await client.list_tools()).tools}

    async def main() -> list[set[str]]:
        command = [str(npm_bin / "mcp-server-everything")]
        server = StdioServerParameters(command=command[0])
        async with gateway({"x": {"command": command, **READS}}) as site:
            able = site.client("auto", elicitation_callback=person)
            return [
                await names(Client(server)), await names(site.client("legacy")),
                await names(Client(server, elicitation_callback=person)), await names(able),
            ]  # fmt: skip

    plain_direct, plain_through, able_direct, able_through = asyncio.run(main())
    assert plain_through == plain_direct
    assert able_through == able_direct
    assert able_direct - plain_direct == {"trigger-elicitation-request", "trigger-url-elicitation"}
