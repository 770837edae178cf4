"""One file per door: what a host expects, in its own words, over the one engine. Nothing in the engine imports these.

agent_zero   `MetaReasoningGate`: warns and lets run, changes the arguments in place
claude_sdk   `RightCall`: hooks and `can_use_tool` for agents of the Claude Agent SDK
guardrail    `SchemaGuardrail`: blocks with hint and example, as a PreToolUse hook
hook         `rightcall hook`: the process that Claude Code, Gemini CLI and Codex start for each call
normalizer   `ArgumentNormalizer`: strategies, provider settings, statistics
"""
