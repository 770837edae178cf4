"""One file per door: what a host expects, in its own words, over the one engine. Nothing in the engine imports these.

agent_zero   `MetaReasoningGate`: warns and lets run, changes the arguments in place
guardrail    `SchemaGuardrail`: blocks with hint and example, as a PreToolUse hook
normalizer   `ArgumentNormalizer`: strategies, provider settings, statistics
"""
