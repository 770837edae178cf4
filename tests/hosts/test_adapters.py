"""Adapters for frameworks that are not installed."""

import importlib
import sys

import pytest

ADAPTERS = {
    "claude_sdk": ("claude_agent_sdk", "claude-agent-sdk"),
    "fastmcp": ("mcp_types", "fastmcp"),
    "langchain": ("langchain", "langchain"),
    "litellm": ("litellm", "litellm"),
    "openai_agents": ("agents", "openai-agents"),
    "pydantic_ai": ("pydantic_ai", "pydantic-ai"),
    "smolagents": ("smolagents", "smolagents"),
}


@pytest.mark.promise("H-07")
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_importing_an_adapter_without_its_framework_says_what_to_install(
    adapter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    framework, extra = ADAPTERS[adapter]
    name = f"rightcall.hosts.{adapter}"
    monkeypatch.setitem(sys.modules, framework, None)
    monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(ImportError, match=rf"^{name} needs .* \(rightcall\[{extra}\]\): pip install '\.\[{extra}\]'"):
        importlib.import_module(name)
