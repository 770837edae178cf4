"""`.ci/run` tries what failed once more, alone, and says plainly what came of it."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent

MIXED = """
from pathlib import Path

def test_alone():
    seen = Path(__file__).with_name("seen")
    assert seen.exists() or seen.touch()

def test_never():
    assert False

def test_always():
    pass
"""
FLAKY = MIXED.replace("assert False", "pass")
MANY = "import pytest\n\n@pytest.mark.parametrize('number', range(6))\ndef test_never(number):\n    assert False\n"
BROKEN = "import nothing_of_this_name\n"


def suite(folder: Path, test: str, *arguments: str) -> tuple[int, list[str]]:
    """Its status, and what it says itself."""
    (folder / "test_it.py").write_text(test, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "suites.py"), "test_it.py", "-q", "--rootdir", str(folder), *arguments],
        env={"PATH": os.environ["PATH"], "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return done.returncode, [
        line for line in done.stdout.splitlines() if line.startswith(("failed beside", "failed twice"))
    ]


def test_what_fails_only_beside_others_does_not_fail_the_run(tmp_path: Path) -> None:
    said = ["failed beside others, passed alone: test_it.py::test_alone"]
    assert suite(tmp_path, FLAKY, "-p", "xdist.plugin", "-n", "1") == (0, said)


def test_what_fails_twice_fails_the_run(tmp_path: Path) -> None:
    said = ["failed beside others, passed alone: test_it.py::test_alone", "failed twice: test_it.py::test_never"]
    assert suite(tmp_path, MIXED) == (1, said)


def test_many_failures_and_files_that_cannot_be_loaded_fail_at_once(tmp_path: Path) -> None:
    assert suite(tmp_path, MANY) == (1, [])
    assert suite(tmp_path, BROKEN) == (2, [])  # pytest says it by its status, or with xdist by the name alone
    assert suite(tmp_path, BROKEN, "-p", "xdist.plugin", "-n", "1") == (1, [])
