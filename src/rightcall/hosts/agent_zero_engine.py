"""What the extension loads that an earlier version put into Agent Zero: the same as `agent_zero`."""

from rightcall.hosts.agent_zero import after, before, tool_named

__all__ = ["after", "before", "tool_named"]
