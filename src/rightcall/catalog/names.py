"""Which tool a name means. Certain or not at all: `overwrite` is never taken for `write`."""

from collections.abc import Mapping

from rightcall.catalog.tool import NameMatch, Tool


def find_name(tools: Mapping[str, Tool], name: str) -> NameMatch:
    tool = tools.get(name)
    return NameMatch("exact", tool) if tool else NameMatch("none", None, 0.0)
