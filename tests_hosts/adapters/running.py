"""Tools that write down what was run, and a policy about them; the same for every framework."""

from typing import Any

POLICY: dict[str, Any] = {
    "gate": {"tools": {"write_file": {"aliases": {"file_path": "path", "text": "content"}}}},
    "policy": {"deny": ["format_disk"], "approval": {"tools": ["delete_file"]}},
}


class RecordingTools:
    """`functions` are the tools; `ran` is what they were called with."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, ...]] = []
        self.functions = (self.write_file, self.delete_file, self.format_disk, self.launch)

    def write_file(self, path: str, content: str) -> str:
        """Writes."""
        self.ran.append(("write", path, content))
        return f"wrote {len(content)}"

    def delete_file(self, path: str) -> str:
        """Deletes."""
        self.ran.append(("delete", path))
        return "deleted"

    def format_disk(self) -> str:
        """Formats."""
        self.ran.append(("format",))
        return "formatted"

    def launch(self, host: str = "all") -> str:
        """Launches."""
        self.ran.append(("launch", host))
        raise RuntimeError("no route")
