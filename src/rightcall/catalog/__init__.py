"""What tools exist and what they accept: any definition in, compiled and immutable tools out.

    dicts, functions, models, TOML ─▶ sources, functions ─▶ tidy ─▶ rules, packs laid over ─▶ schema ─▶ Tool, Catalog

`catalog` also says which tool a name means, `tidy` where schemas stand inside a schema, `toml` where a key stands
in a file. The packs that ship are data in `shipped/`.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.catalog.catalog import Catalog, Names, build_catalog, may_name_tool
    from rightcall.catalog.functions import from_python
    from rightcall.catalog.packs import available_packs, load_pack, pack_digests, read_pack_text
    from rightcall.catalog.schema import compile_accepts, validator
    from rightcall.catalog.sources import Definition, flatten, read_definitions
    from rightcall.catalog.tidy import Schema, as_list, as_schema, parts, types
    from rightcall.catalog.toml import Source, key_lines, line_of
    from rightcall.catalog.tool import Pack, PackTool, Tool
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "catalog": "Catalog Names build_catalog may_name_tool",
            "functions": "from_python",
            "packs": "available_packs load_pack pack_digests read_pack_text",
            "schema": "compile_accepts validator",
            "sources": "Definition flatten read_definitions",
            "tidy": "Schema as_list as_schema parts types",
            "toml": "Source key_lines line_of",
            "tool": "Pack PackTool Tool",
        },
    )

__all__ = [
    "Catalog", "Definition", "Names", "Pack", "PackTool", "Schema", "Source", "Tool", "as_list", "as_schema",
    "available_packs", "build_catalog", "compile_accepts", "flatten", "from_python", "key_lines", "line_of",
    "load_pack", "may_name_tool", "pack_digests", "parts", "read_definitions", "read_pack_text", "types",
    "validator",
]  # fmt: skip
