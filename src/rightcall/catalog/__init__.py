"""The tools a gate knows: any definition in, compiled and immutable tools out.

    definitions ─▶ tidy, refs ─▶ merge (packs, policy) ─▶ strict, ruled ─▶ compile ─▶ Tool, Catalog

`definitions` reads the dict shapes, `functions` and `hints` Python, `names` answers which tool a name means.
"""

from rightcall.catalog.build import Catalog, build_catalog
from rightcall.catalog.compile import nested_deeper
from rightcall.catalog.names import may_name_tool
from rightcall.catalog.strict import RESERVED_KEYS
from rightcall.catalog.tool import ALL_EFFECTS, NameKind, NameMatch, PackTool, Tool

__all__ = [
    "ALL_EFFECTS", "RESERVED_KEYS", "Catalog", "NameKind", "NameMatch", "PackTool", "Tool", "build_catalog",
    "may_name_tool", "nested_deeper",
]  # fmt: skip
