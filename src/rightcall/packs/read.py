"""A pack from its TOML text: read, checked, and kept by content."""

from functools import lru_cache
from typing import Any

from rightcall.errors import PackError
from rightcall.packs.check import check_pack, check_tool
from rightcall.packs.pack import Pack
from rightcall.packs.rules import pack_tools, read_tool
from rightcall.packs.source import Source


@lru_cache(maxsize=32)
def read_pack(text: str, source: str) -> Pack:
    """The pack, or a PackError that names the line. A file that was edited is another text, so it is read again."""
    where = Source(source, PackError, text)
    document = where.parse()
    where.keys((), document, ("pack", "tools"))
    head = _read_head(where, document)
    tables = {
        name: read_tool(where, ("tools", name), table)
        for name, table in where.table(("tools",), document.get("tools", {})).items()
    }
    for name, tool in tables.items():
        check_tool(where, ("tools", name), tool)
    check_pack(where, tables)
    return Pack(tools=pack_tools(tables, head["name"]), source=source, **head)


def _read_head(where: Source, document: dict[str, Any]) -> dict[str, str]:
    if "pack" not in document:
        raise where.wrong((), 'a pack begins with a table [pack] that has a name, such as name = "my-tools"')
    table = where.table(("pack",), document["pack"])
    where.keys(("pack",), table, ("name", "title", "description", "version"))
    head = {"name": "", "description": ""} | {key: where.text_of(("pack", key), value) for key, value in table.items()}
    if not head["name"].strip():
        raise where.wrong(("pack",), 'needs a name, such as name = "my-tools"')
    return head
