"""What the tests with real hosts may rely on: what `tests/` relies on, and where the programs are.

`make test-hosts` sets up the environments and says where the programs are:

    RIGHTCALL_NPM_BIN          the folder of the MCP reference servers from npm
    RIGHTCALL_LITELLM_PYTHON   a Python that has LiteLLM, whose packages do not go together with the other frameworks'
"""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent

sys.path.append(str(HERE))  # at the end: the folder `mcp` of these tests must not hide the package

_spec = importlib.util.spec_from_file_location("conftest_of_tests", HERE.parent / "tests" / "conftest.py")
assert _spec is not None
assert _spec.loader is not None
_shared = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_shared)
pytest_runtest_call = _shared.pytest_runtest_call  # five seconds of CPU; no network comes with it


def program(variable: str) -> Path:
    """Where `make test-hosts` has put it. Tests that need it fail without, they are not left out."""
    where = os.environ.get(variable)
    if not where:
        pytest.fail(f"{variable} is not set: run `make test-hosts`, or say where it is")
    return Path(where)


@pytest.fixture(scope="session")
def npm_bin() -> Path:
    return program("RIGHTCALL_NPM_BIN")


@pytest.fixture(scope="session")
def litellm_python() -> Path:
    return program("RIGHTCALL_LITELLM_PYTHON")
