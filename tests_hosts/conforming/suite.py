"""Runs the official conformance suite against an address, and compares two runs of it."""

import json
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import NamedTuple

REVISIONS = ("2025-11-25", "2026-07-28")
PASSED, FAILED = "SUCCESS", "FAILURE"
_FOLDER = re.compile(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$")


class Check(NamedTuple):
    scenario: str
    id: str
    name: str


class Found(NamedTuple):
    """What one run of the suite found: how often each check passed, how often it failed, and why."""

    passed: Counter[Check]
    failed: Counter[Check]
    why: dict[Check, str]
    scenarios: frozenset[str]

    def counted(self) -> str:
        """For people: scenarios without a failed check, and checks that passed."""
        bad = {check.scenario for check in self.failed}
        return f"{len(self.scenarios - bad)} scenarios, {self.passed.total()} checks"

    def only(self, kind: str) -> "Found":
        """Of the scenarios whose names begin so."""

        def kept(counts: Counter[Check]) -> Counter[Check]:
            return Counter({check: number for check, number in counts.items() if check.scenario.startswith(kind)})

        scenarios = frozenset(one for one in self.scenarios if one.startswith(kind))
        return Found(kept(self.passed), kept(self.failed), self.why, scenarios)


def run_suite(npm_bin: Path, url: str, revision: str, folder: Path) -> Found:
    """All scenarios that the revision requires, and those that the suite runs beside them."""
    command = [npm_bin / "conformance", "server", "--url", url, "--requirements", revision, "-o", folder]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400)
    found = Found(Counter(), Counter(), {}, frozenset())
    scenarios: set[str] = set()
    for file in folder.glob("*/checks.json"):
        named = _FOLDER.fullmatch(file.parent.name)
        assert named is not None, file.parent.name
        scenarios.add(named[1])
        for told in json.loads(file.read_text()):
            check = Check(named[1], told["id"], told["name"])
            if told["status"] == PASSED:
                found.passed[check] += 1
            else:
                found.failed[check] += told["status"] == FAILED
                found.why[check] = told.get("errorMessage") or told["status"]
    assert scenarios, done.stdout + done.stderr
    return found._replace(scenarios=frozenset(scenarios), failed=+found.failed)


def lost(direct: Found, through: Found) -> dict[Check, str]:
    """What passes directly, and does not (or less often) through us."""
    return {check: through.why.get(check, "not run") for check in direct.passed - through.passed}
