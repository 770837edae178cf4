"""Cases as data: one JSON line each. `promise` says what it proves, `why` what it is about, the rest what goes in and
comes out. A file is read by the test that names it."""

import json
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
Case = dict[str, Any]


def cases(name: str) -> list[Case]:
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


def table(name: str) -> list[Any]:
    """The cases of a file as parameters of a test, each under its promise."""
    return [pytest.param(case, id=case["why"], marks=pytest.mark.promise(case["promise"])) for case in cases(name)]


def exact(value: Any) -> str:
    """Equal only if the types are equal too: 1 is neither 1.0 nor True; the order of keys does not matter."""
    return json.dumps(value, sort_keys=True)
