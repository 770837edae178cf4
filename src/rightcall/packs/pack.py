"""A pack as loaded."""

from msgspec import Struct

from rightcall.catalog import PackTool


class Pack(Struct, frozen=True):
    """Tools and what is known about them. `source` is the file; its dicts are shared: leave them be."""

    name: str
    description: str
    tools: tuple[PackTool, ...]
    source: str
    title: str = ""
    version: str = ""
