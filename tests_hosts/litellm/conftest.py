"""LiteLLM as it is: it reads its list of prices from the network when it is imported, unless it is told not to; it
leaves event loops and connections open, and warns of itself at nearly every call."""

import os

import pytest

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["LITELLM_TELEMETRY"] = "False"


def pytest_configure(config: pytest.Config) -> None:
    for ignored in ("default", "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"):
        config.addinivalue_line("filterwarnings", ignored)
