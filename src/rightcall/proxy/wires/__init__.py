"""One module for each API that models are asked over: OpenAI's chat completions and Responses, Anthropic's messages,
Ollama's chat. `common` is what the events of every API come down to."""

from __future__ import annotations

from rightcall.proxy.wires.common import Wire

__all__ = ["Wire", "wires"]


def wires() -> tuple[Wire, ...]:
    """All of them; a request goes to the first whose path it has."""
    from rightcall.proxy.wires.anthropic import Anthropic
    from rightcall.proxy.wires.ollama import Ollama
    from rightcall.proxy.wires.openai_chat import OpenAIChat
    from rightcall.proxy.wires.openai_responses import OpenAIResponses

    return (OpenAIChat(), Anthropic(), OpenAIResponses(), Ollama())
