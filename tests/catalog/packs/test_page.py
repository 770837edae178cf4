"""The tables in docs/reference/packs.md are those of the packs. To renew one, print `table_of("NAME")`."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from rightcall.catalog.packs import available_packs, load_pack, read_pack_text
from rightcall.catalog.rules import KEYS
from rightcall.catalog.tool import PackTool
from support.docs import blocks
from support.every import every

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "packs.md"


def table_of(pack: str) -> str:
    """A pack as a Markdown table: one line per tool, bold what is always required."""
    tools = load_pack(pack).tools
    named = any(tool.rules.names for tool in tools)
    lines = [f"| tool |{' other names |' if named else ''} arguments | written instead | effects |"]
    lines.append("|---" * (5 if named else 4) + "|")
    for tool in tools:
        cells = [f"`{tool.name}`", arguments(tool), instead(tool), ", ".join(tool.effects or ()) or "none"]
        if named:
            cells.insert(1, ticked(tool.rules.names))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def arguments(tool: PackTool) -> str:
    schema = tool.schema or {}
    required = {*schema.get("required", ()), *tool.rules.required} - set(tool.rules.required_unless)
    names = [f"**`{name}`**" if name in required else f"`{name}`" for name in schema.get("properties", {})]
    groups = [f"one of {ticked(group)}" for group in tool.rules.required_any]
    excuses = [
        f"**`{name}`** unless `{other}` is {ticked(map(str, values))}"
        for name, conditions in tool.rules.required_unless.items()
        for other, values in conditions.items()
    ]
    lengths = [f"`{name}` at least {least} characters" for name, least in tool.rules.min_length.items()]
    none = "any" if schema.get("additionalProperties", True) else "none"
    return "; ".join(filter(None, [", ".join(names), *groups, *excuses, *lengths])) or none


def instead(tool: PackTool) -> str:
    targets = dict.fromkeys(tool.rules.aliases.values())
    return "; ".join(
        f"{ticked(alias for alias, name in tool.rules.aliases.items() if name == target)} → `{target}`"
        for target in targets
    )


def ticked(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


@every("pack", available_packs())
@pytest.mark.promise("V-08")
def test_the_page_shows_the_pack_as_it_is(pack: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert f"\n### {pack}\n" in page
    assert table_of(pack) in page


def test_the_format_on_the_page_is_a_right_pack_that_uses_every_key() -> None:
    (block,) = [block for block in blocks(PAGE.read_text(encoding="utf-8")) if block.language == "toml"]
    assert len(read_pack_text(block.body, "page").tools) == 4
    written = {line.split("=")[0].split(".")[0].strip() for line in block.body.splitlines() if "=" in line}
    tables = {line.strip("[]").split("]")[0].split(".")[-1] for line in block.body.splitlines() if line.startswith("[")}
    assert set(KEYS) <= written | tables
