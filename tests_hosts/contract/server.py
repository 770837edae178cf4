"""An MCP server of the official SDK with the contract's tools. `-m contract.server TOOLS LOG` logs what runs."""

import sys
from pathlib import Path

from mcp.server import MCPServer
from msgspec import json

from contract.cases import read_tools
from contract.outcomes import Ran


class Logged(Ran):
    def __init__(self, log: Path) -> None:
        super().__init__()
        self.log = log

    def note(self, name: str, arguments: dict[str, object]) -> str:
        said = super().note(name, arguments)
        with self.log.open("ab") as file:
            file.write(json.encode(self.calls[-1]) + b"\n")
        return said


def main(tools: str, log: str) -> None:
    server = MCPServer("notes")
    ran = Logged(Path(log))
    for tool in read_tools(Path(tools)):
        server.add_tool(ran.function(tool))
    server.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
