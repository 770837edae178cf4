"""The rules of pack `agent-zero` as the extension file carries them, for where the package is not installed.

`python -m rightcall.hosts.agent_zero_rules` writes them into the file; a test fails when the two differ.
"""

from pathlib import Path
from textwrap import wrap
from typing import Any

from rightcall.catalog import PackTool
from rightcall.packs import load_pack

EXTENSION = Path(__file__).parent / "agent_zero_files" / "_20_meta_reasoning_gate.py"

_START = "TOOL_SCHEMAS: dict[str, dict[str, Any]] = "
_END = "# fmt: on\n"


def tool_schemas() -> dict[str, dict[str, Any]]:
    """What the pack says of each tool, in the words of the gate's design."""
    return {tool.name: _schema(tool) for tool in load_pack("agent-zero").tools}


def _schema(tool: PackTool) -> dict[str, Any]:
    rules = tool.rules
    arguments: dict[str, Any] = (tool.schema or {}).get("properties", {})
    said: dict[str, Any] = {
        "required": list(rules.required),
        "optional": [name for name in arguments if name not in rules.required],
        "conditionally_required": {
            name: {"skip_when": {other: list(values) for other, values in unless.items()}}
            for name, unless in rules.required_unless.items()
        },
        "arg_aliases": dict(rules.aliases),
        "value_aliases": {name: dict(words) for name, words in rules.values.items()},
        "defaults": dict(rules.defaults),
    }
    return {key: value for key, value in said.items() if value}


def with_rules(text: str) -> str:
    """The extension file's text, with the rules as the pack has them now."""
    start = text.index(_START) + len(_START)
    end = text.index(_END, start)
    return text[:start] + "{\n" + "".join(map(_written, tool_schemas().items())) + "}\n" + text[end:]


def _written(tool: tuple[str, dict[str, Any]]) -> str:
    name, schema = tool
    lines = wrap(f"{name!r}: {schema!r},", 118, initial_indent=" " * 4, subsequent_indent=" " * 8)
    return "".join(line + "\n" for line in lines)


if __name__ == "__main__":
    EXTENSION.write_text(with_rules(EXTENSION.read_text(encoding="utf-8")), encoding="utf-8")
