"""One file per framework or host: what it expects, in its own words, over the one engine. Nothing in the engine imports
these, and each framework is loaded only by its own file, which is imported by its name: `from rightcall.hosts.langchain
import RightCallMiddleware`.

    claude_sdk, fastmcp, litellm, openai_agents, pydantic_ai    `RightCall`
    langchain                                                   `RightCallMiddleware`
    smolagents                                                  `GuardedAgent`
    agent_zero                         `MetaReasoningGate`: warns and lets run, changes the arguments in place
    normalizer                         `ArgumentNormalizer`: strategies, provider settings, statistics
                                      `SchemaGuardrail`: blocks with hint and example, as a PreToolUse hook

`adapter` is what the frameworks share. `hooks/` answers the events of Claude Code, Gemini CLI and Codex, `install/`
writes the settings of hosts and says which rules of a policy a host cannot keep.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.hosts.adapter import Gap, Unenforced, unenforced
    from rightcall.hosts.agent_zero import MetaReasoningGate, agent_zero_gate
    from rightcall.hosts.normalizer import (
        ArgumentNormalizer,
        NormalizationError,
        NormalizationStrategy,
        SchemaGuardrail,
    )
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "agent_zero": "MetaReasoningGate agent_zero_gate",
            "adapter": "Gap Unenforced unenforced",
            "normalizer": "ArgumentNormalizer NormalizationError NormalizationStrategy SchemaGuardrail",
        },
    )

__all__ = [
    "ArgumentNormalizer", "Gap", "MetaReasoningGate", "NormalizationError", "NormalizationStrategy",
    "SchemaGuardrail", "Unenforced", "agent_zero_gate", "unenforced",
]  # fmt: skip
