"""The authorisation scenarios of the official conformance suite for clients: which there are, and a run of one."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

_LISTED = re.compile(r"- (auth/\S+) \[(.+)\]")
LATEST = "2026-07-28"


class Scenario(NamedTuple):
    name: str
    revision: str

    def __str__(self) -> str:
        return f"{self.name.removeprefix('auth/')}, {self.revision}"


class Told(NamedTuple):
    """What the suite says of one run: how many checks passed, what the others are, and what the client printed."""

    passed: int
    others: dict[str, str]
    said: str


def listed(npm_bin: Path) -> set[Scenario]:
    """Each with every revision in which it exists; an extension with the latest."""
    done = subprocess.run([npm_bin / "conformance", "list", "--client"], capture_output=True, text=True, timeout=60)
    return {
        Scenario(name, revision)
        for name, revisions in _LISTED.findall(done.stdout)
        for revision in (LATEST if revisions == "extension" else revisions).split(",")
    }


def run_scenario(npm_bin: Path, command: list[str], scenario: Scenario, folder: Path) -> Told:
    asked = ["client", "--command", " ".join(command), "--scenario", scenario.name, "-o", str(folder)]
    versioned = ["--force", "--spec-version", scenario.revision]
    done = subprocess.run(
        [npm_bin / "conformance", *asked, *versioned], capture_output=True, text=True, timeout=120, env=os.environ
    )
    files = list(folder.glob("**/checks.json"))
    assert files, done.stdout + done.stderr
    checks = json.loads(files[0].read_text())
    passed = sum(check["status"] == "SUCCESS" for check in checks)
    others = {
        check["id"]: f"{check['status']}: {check.get('errorMessage') or check['description']}"
        for check in checks
        if check["status"] not in ("SUCCESS", "INFO")
    }
    said = "".join(file.read_text() for file in sorted(folder.glob("**/std*.txt")))
    if done.returncode and not others:
        others["exit"] = done.stdout[-2000:]
    return Told(passed, others, said)
