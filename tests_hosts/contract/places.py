"""Where the repository is, and the environment of processes that run its code."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
OURS = [sys.executable, "-m", "rightcall"]
"""The command line of this very tree."""


def environment(**more: str) -> dict[str, str]:
    path = os.pathsep.join(str(ROOT / name) for name in ("src", "tests", "tests_hosts"))
    return {**os.environ, "PYTHONPATH": path, "LITELLM_LOCAL_MODEL_COST_MAP": "True", **more}
