"""Explains why `tool.accepts` said no: every problem at once, and a hint that makes the next try succeed.

problems ─▶ schema (what the schema says), rules (what packs and policy say), values (what is no JSON at all)
hint     ─▶ example
"""

from rightcall.validate.example import example
from rightcall.validate.explain import problems
from rightcall.validate.hints import can_retry, deprecated_hint, hint, nameless_hint, unknown_tool_hint

__all__ = ["can_retry", "deprecated_hint", "example", "hint", "nameless_hint", "problems", "unknown_tool_hint"]
