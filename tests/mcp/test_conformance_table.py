"""The table of the conformance suite in docs/mcp.md, which `make test-hosts` keeps true: nothing is lost through us."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "mcp.md"
ROW = re.compile(
    r"^\| ([\d-]+) \| (\w+) \| (\d+) scenarios, (\d+) checks \| (\d+) scenarios, (\d+) checks \|$", re.MULTILINE
)


@pytest.mark.promise("H-53")
def test_every_revision_is_there_in_both_ways_and_no_less_passes_through_us() -> None:
    rows = ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert [row[:2] for row in rows] == [
        (revision, way) for revision in ("2025-11-25", "2026-07-28") for way in ("gateway", "wrap")
    ]
    for _, _, scenarios, checks, scenarios_through, checks_through in rows:
        assert int(scenarios_through) >= int(scenarios) > 0
        assert int(checks_through) >= int(checks) > 0
