"""Rule packs: what is known about well-known tools, as data. One TOML file per pack, shipped here or a user's own.

>>> from rightcall.packs import available_packs, load_pack
>>> "agent-zero" in available_packs()
True
>>> load_pack("agent-zero").tools[0].rules.aliases["command"]
'code'
"""

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rightcall.errors import PackError
from rightcall.packs.check import check_pack, check_tool
from rightcall.packs.compiled import lookup
from rightcall.packs.pack import Pack
from rightcall.packs.rules import pack_tools, read_tool
from rightcall.packs.source import Source, instead

__all__ = ["Pack", "available_packs", "is_pack_path", "load_pack", "read_pack_text"]

_HOME = Path(__file__).parent


def available_packs() -> tuple[str, ...]:
    """The names of the packs that ship with RightCall, in order; nothing is read."""
    return tuple(sorted(name.removesuffix(".toml") for name in os.listdir(_HOME) if name.endswith(".toml")))


def is_pack_path(name: str) -> bool:
    """Whether `name` is the path of a user's own pack rather than the name of a shipped one."""
    return name.endswith(".toml") or "/" in name or os.sep in name


def load_pack(name_or_path: str | os.PathLike[str]) -> Pack:
    """A shipped pack by name, or a user's own by the path of its TOML file.

    Raises PackError with file and line when there is no such pack or something in it is wrong.
    """
    name = os.fspath(name_or_path)
    if is_pack_path(name):
        return _read(_text(name), name)
    if name not in available_packs():
        raise PackError(
            f"there is no pack {name!r}; {instead(name, available_packs())}. "
            "A pack of your own is given by its path, which ends in .toml"
        )
    return _shipped(name)


def read_pack_text(text: str, source: str = "pack") -> Pack:
    """A pack from its TOML text. `source` is what errors call it."""
    return _read(text, source)


def _text(file: str) -> str:
    return Source.read(file, PackError, "pack").text or ""


def _shipped(name: str) -> Pack:
    file = _HOME / f"{name}.toml"
    return _known(name, _text(str(file)), str(file))


@lru_cache(maxsize=16)
def _known(name: str, text: str, file: str) -> Pack:
    found = lookup(name, text)
    return _read(text, file) if found is None else replace(found, source=file)


@lru_cache(maxsize=32)
def _read(text: str, source: str) -> Pack:
    """Kept by content: a file that was edited is another text."""
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
