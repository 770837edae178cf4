"""A catalogue: an immutable snapshot of tools, built once for the same definitions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct, json

from rightcall.catalog.compile import validator
from rightcall.catalog.names import find_name
from rightcall.catalog.tool import ALL_EFFECTS, NameMatch, PackTool, Tool
from rightcall.errors import ToolError
from rightcall.types import Rules, UnknownArgument


class Catalog(Struct, frozen=True, dict=True, eq=False):
    """Tools by name, in the order given. `get(name)` is exact; `find(name)` also knows other spellings."""

    tools: Mapping[str, Tool]
    digest: str
    get: Callable[[str], Tool | None]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.tools)

    def find(self, name: str) -> NameMatch:
        """Which tool a name means, and how sure that is."""
        return find_name(self.tools, name)


def build_catalog(
    tools: Iterable[Any] | Mapping[str, Any] | str | Path | None = None,
    overlays: Sequence[PackTool] = (),
    *,
    unknown_argument: UnknownArgument = "drop",
) -> Catalog:
    """A catalogue of `tools`, with what packs and the policy file (`overlays`, in order, later wins) say of them."""
    key = json.encode([list(tools or ()), overlays, unknown_argument])
    return _build(key)


@lru_cache(maxsize=64)
def _build(key: bytes) -> Catalog:
    given, overlays, _ = json.decode(key, type=tuple[list[dict[str, Any]], tuple[PackTool, ...], UnknownArgument])
    tools: dict[str, Tool] = {}
    for raw in given:
        raw = raw.get("function", raw)
        name = raw.get("name")
        if not isinstance(name, str):
            raise ToolError("a tool needs a name")
        schema = next((raw[k] for k in ("parameters", "input_schema", "inputSchema", "schema") if k in raw), {})
        rules = next((o.rules for o in overlays if o.name == name), Rules())
        tools[name] = Tool(
            name=name, description=raw.get("description", ""), schema=schema, rules=rules, effects=ALL_EFFECTS,
            effects_declared=False, accepts=validator({"type": "object"} | schema).is_valid, exact=True, open=False,
            unchecked=(), digest=sha256(json.encode(raw)).hexdigest(), source="given",
        )
    return Catalog(tools=MappingProxyType(tools), digest=sha256(key).hexdigest(), get=tools.get)
