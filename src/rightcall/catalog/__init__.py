"""The tools a gate knows: any definition in, compiled and immutable tools out.

    definitions ─▶ sources (dict shapes, functions, models, TOML) ─▶ tidy ─▶ merge (packs, policy) ─▶ compile ─▶ Catalog
"""

from rightcall.catalog.build import Catalog, build_catalog
from rightcall.catalog.tool import ALL_EFFECTS, NameKind, NameMatch, PackTool, Tool

__all__ = ["ALL_EFFECTS", "Catalog", "NameKind", "NameMatch", "PackTool", "Tool", "build_catalog"]
