"""The frame itself: the limits that every test runs under are really there."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def test_a_test_cannot_reach_another_machine() -> None:
    with pytest.raises(RuntimeError, match="tests have no network"):
        socket.create_connection(("192.0.2.1", 80), timeout=1)
    with pytest.raises(RuntimeError, match="tests have no network"):
        socket.getaddrinfo("example.invalid", 80)


def test_a_test_that_uses_too_much_cpu_fails_even_inside_a_broad_except(tmp_path: Path) -> None:
    conftest = (HERE / "conftest.py").read_text().replace("CPU_SECONDS = 5", "CPU_SECONDS = 0.2")
    (tmp_path / "conftest.py").write_text(conftest)
    (tmp_path / "test_busy.py").write_text(
        "def test_busy():\n    while True:\n        try:\n            sum(range(1000))\n"
        "        except Exception:\n            pass\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "used more than 0.2 s of CPU" in done.stdout
