"""The argument normaliser: from what a model wrote to arguments a tool can read, with the strategy that did it.

The strategies, settings, log lines and statistics of the normaliser's design, over the one engine. It judges what it
knows: pack `edit-files` and the `tools` it is given. A tool it does not know is left alone.

And tool schema guardrails: a call that lacks something is not run, and the model reads what and an example.
`SchemaGuardrail().pre_tool_use_schema_guardrail` is a PreToolUse hook in the shape of the Claude Agent SDK; `check` is
the same without a host.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

from rightcall.base.text import invalid_call
from rightcall.errors import ConfigError, RightCallError
from rightcall.types import Call, Event, Verdict

if TYPE_CHECKING:
    from rightcall.gate.gate import Gate

logger = logging.getLogger(__name__)

ARGUMENT_NORMALIZATION: dict[str, Any] = {
    "enabled": True,
    "log_normalizations": True,
    "fail_on_normalization_failure": False,
    "provider_overrides": {
        "ollama": {"enabled": True, "strategies": ["ast", "regex", "structure", "manual"]},
        "anthropic": {"enabled": False},
    },
}
"""The settings used when none are given: the design's, with `structure`, the strategy it did not have."""

LOGGED_ARGUMENTS = 2_000
"""Characters of the arguments in a log line; the rest is cut."""


class NormalizationStrategy(Enum):
    """How arguments were made to fit."""

    DIRECT = "direct"
    PYTHON_AST = "python_ast"
    REGEX_QUOTES = "regex_quotes"
    STRUCTURE = "structure"
    MANUAL_REPAIR = "manual_repair"
    FAILED = "failed"


_DIRECT = NormalizationStrategy.DIRECT  # an enumeration looks its members up each time
VIA = {
    NormalizationStrategy.PYTHON_AST: "AST conversion",
    NormalizationStrategy.REGEX_QUOTES: "regex",
    NormalizationStrategy.STRUCTURE: "structure",
    NormalizationStrategy.MANUAL_REPAIR: "manual repair",
}
_TRIED = {
    "python_ast": "AST normalization",
    "regex_quotes": "Regex normalization",
    "manual_repair": "Manual repair",
}


class NormalizationError(RightCallError, ValueError):
    """No strategy made the arguments fit, and `fail_on_normalization_failure` is set. `verdict` says why."""

    def __init__(self, verdict: Verdict, tool_name: str) -> None:
        super().__init__(verdict.hint or f"the arguments of {tool_name} could not be normalised")
        self.verdict = verdict


class ArgumentNormalizer:
    """Normalises the arguments of tool calls and counts how.

    >>> normalizer = ArgumentNormalizer("ollama")
    >>> arguments = {"operations": "[{'type': 'delete', 'path': 'old.sh'}]"}
    >>> normalizer.normalize_arguments(arguments, "edit_files")
    ({'operations': '[{"type":"delete","path":"old.sh"}]'}, <NormalizationStrategy.PYTHON_AST: 'python_ast'>)
    >>> normalizer.get_stats()["success_rate"]
    100.0
    """

    def __init__(
        self,
        provider_name: str = "unknown",
        config: Mapping[str, Any] | None = None,
        *,
        tools: Iterable[Any] | None = None,
        gate: "Gate | None" = None,
    ) -> None:
        """`config` has the shape of `ARGUMENT_NORMALIZATION`, whole or in part.

        `tools` are further tools to know, as `Gate` takes them. A `gate` takes the place of both, with its own
        provider and policy; `config` then only says what is logged and whether a failure is raised.
        """
        settings = _settings(config)
        self._logs = bool(settings["log_normalizations"])
        self._raises = bool(settings["fail_on_normalization_failure"])
        self._gate = gate if gate is not None else _gate_of(provider_name, settings, tools)
        self._plain, self._is_sound = self._gate.plain, self._gate.is_sound
        ours = self._gate.policy.for_provider(self._gate.provider)
        self._skips = not ours.enabled
        self._tried = [told for name, told in _TRIED.items() if ours.strategies is None or name in ours.strategies]
        self.provider_name = provider_name if gate is None else str(gate.stats()["provider"])

    def normalize_arguments(self, arguments: Any, tool_name: str) -> tuple[Any, NormalizationStrategy]:
        """The arguments and how they were made to fit. `FAILED` returns what was given, untouched; so does `DIRECT`,
        which is also what comes of a provider for which this is switched off: nothing is tried, so nothing fails."""
        try:  # what `Gate.check` does first, without the record of a verdict
            accepts, counter, is_open = self._plain[tool_name]
            if type(arguments) is dict and accepts(arguments) and (not is_open or self._is_sound(arguments)):
                counter[0] += 1
                return arguments, _DIRECT  # pyright: ignore[reportUnknownVariableType]
        except Exception:  # noqa: BLE001 - not plainly right
            pass
        if self._skips:
            self._gate.count_direct(tool_name)
            return arguments, _DIRECT  # pyright: ignore[reportUnknownVariableType]
        verdict = self._gate.check(tool_name, arguments)
        strategy = NormalizationStrategy(verdict.strategy)
        if not verdict.ok or verdict.call is None or strategy is NormalizationStrategy.FAILED:
            return self._failed(verdict, arguments, tool_name)
        fitting = verdict.call.arguments
        if self._logs and strategy is not NormalizationStrategy.DIRECT:
            logger.info("Normalized %s arguments via %s (provider=%s)", tool_name, VIA[strategy], self.provider_name)
            logger.warning(
                "Applied %s normalization to %s arguments. Original: %s → Normalized: %s",
                strategy.value,
                tool_name,
                _render_arguments(arguments),
                _render_arguments(fitting),
            )
        return fitting, strategy

    def get_stats(self) -> dict[str, Any]:
        """The counts: provider, total_calls, normalizations by strategy, failures, success_rate (0 to 100)."""
        stats = self._gate.stats()
        return {key: stats[key] for key in ("provider", "total_calls", "normalizations", "failures", "success_rate")}

    def get_metrics(self) -> dict[str, Any]:
        """The counts as one group of an agent's metrics.

        >>> ArgumentNormalizer("ollama").get_metrics()["argument_normalization"]["provider"]
        'ollama'
        """
        return {"argument_normalization": self.get_stats()}

    @property
    def stats(self) -> dict[str, Any]:
        """The counts alone: total_calls, normalizations by strategy, failures."""
        stats = self._gate.stats()
        return {key: stats[key] for key in ("total_calls", "normalizations", "failures")}

    def _failed(self, verdict: Verdict, arguments: Any, tool_name: str) -> tuple[Any, NormalizationStrategy]:
        if logger.isEnabledFor(logging.DEBUG):
            reason = "; ".join(f"{one.path} {one.code}".strip() for one in verdict.problems)  # no values
            for tried in self._tried:
                logger.debug("%s failed: %s", tried, reason)
        logger.error(
            "Failed to normalize %s arguments after all strategies (provider=%s). Original: %s",
            tool_name,
            self.provider_name,
            _render_arguments(arguments),
        )
        if self._raises:
            raise NormalizationError(verdict, tool_name)
        return arguments, NormalizationStrategy.FAILED


def _settings(config: Mapping[str, Any] | None) -> dict[str, Any]:
    given = dict(config or {})
    unknown = sorted(given.keys() - ARGUMENT_NORMALIZATION.keys())
    if unknown:
        known = ", ".join(ARGUMENT_NORMALIZATION)
        raise ConfigError(f"unknown setting `{unknown[0]}`; the settings are {known}", source="ARGUMENT_NORMALIZATION")
    return {**ARGUMENT_NORMALIZATION, **given}


def _gate_of(provider: str, settings: Mapping[str, Any], tools: Iterable[Any] | None) -> "Gate":
    from rightcall.gate.gate import Gate

    policy = {
        "gate": {
            "unknown_tool": "pass",
            "enabled": settings["enabled"],
            "log_normalizations": False,  # the lines are written here, in the design's words
            "providers": settings["provider_overrides"],
        }
    }
    return Gate(None if tools is None else list(tools), policy=policy, packs=["edit-files"], provider=provider)


def _render_arguments(arguments: Any) -> str:
    """As Python writes it, which also escapes control characters, and of bounded length."""
    text = repr(arguments)
    return text if len(text) <= LOGGED_ARGUMENTS else text[:LOGGED_ARGUMENTS] + "…"


POLICY: dict[str, Any] = {"gate": {"mode": "block", "unknown_tool": "pass", "unknown_argument": "keep"}}
"""The pack knows what a tool needs, not all it can take; and a host has tools nobody told us of."""

CERTAIN = 0.9
"""A repair less sure than this is shown to a person before it runs."""


class SchemaGuardrail:
    """Checks tool calls by the rules of pack `guardrail`, or of the packs, tools or gate given.

    >>> guardrail = SchemaGuardrail()
    >>> print(guardrail.check("list_directory", {}).hint)
    ⚠️ Invalid list_directory call. Missing required fields: path. Example: {"path": "notes"}
    """

    def __init__(
        self,
        gate: "Gate | None" = None,
        *,
        packs: Iterable[str] = ("guardrail",),
        tools: Iterable[Any] | None = None,
        on_event: Callable[[Event], object] | None = None,
        when_repaired: Literal["host", "allow", "ask"] = "host",
    ) -> None:
        """A `gate` takes the place of `packs`, `tools` and `on_event`: it has its own.

        `when_repaired` is what the hook says beside the corrected input. `host`, nothing: the host asks, allows or
        denies as it would have done for the right call. `allow` skips its permission prompt, so that a call with a
        misspelt argument may do what the right one may not; only for hosts that take no input without a decision.
        """
        if gate is None:
            from rightcall.gate.gate import Gate

            gate = Gate(None if tools is None else list(tools), policy=POLICY, packs=tuple(packs), on_event=on_event)
        elif tools is not None or on_event is not None:
            raise TypeError("SchemaGuardrail: a `gate` has its own tools and `on_event`; give them to the gate")
        self.gate = gate
        self.when_repaired = when_repaired

    def check(self, tool_name: str, tool_input: Any, call_id: str | None = None) -> Verdict:
        """The verdict on one call: `ok` false means do not run it, `hint` is what the model should read.

        A failure is also the structured warning `tool_validation_failed`, in the log and for `on_event`.
        """
        return self.gate.check(tool_name, tool_input, call_id=call_id)

    async def pre_tool_use_schema_guardrail(
        self, input_data: Mapping[str, Any], tool_use_id: str | None = None, _context: Any = None
    ) -> dict[str, Any]:
        """The hook: `{}` where there is nothing to say, else a decision in `hookSpecificOutput`."""
        tool_name = str(input_data.get("tool_name", ""))
        tool_input: Any = input_data.get("tool_input") or {}
        if self.gate.catalog.find(tool_name).kind == "typo":
            return {}  # the host knows this tool under this name: it is another one, however alike
        verdict = self.check(tool_name, tool_input, tool_use_id)
        if not verdict.ok or verdict.call is None:
            return _output(permissionDecision="deny", permissionDecisionReason=verdict.message("text"))
        if verdict.call.name != tool_name and _is_replaced(verdict):
            return _output(permissionDecision="deny", permissionDecisionReason=_use_instead(tool_name, verdict.call))
        said: dict[str, Any] = {}
        if verdict.call.arguments != tool_input:
            decision = self.when_repaired if verdict.confidence >= CERTAIN else "ask"
            if decision != "host":
                said |= {"permissionDecision": decision, "permissionDecisionReason": _corrected(verdict)}
            said["updatedInput"] = verdict.call.arguments
        if verdict.mode == "warn" and verdict.hint:
            said["additionalContext"] = verdict.hint
        return _output(**said) if said else {}


def _output(**fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **fields}}


def _is_replaced(verdict: Verdict) -> bool:
    return any(repair.rule == "tool_replaced" and not repair.path for repair in verdict.repairs)


def _use_instead(tool_name: str, call: Call) -> str:
    """A hook can change a tool's input, not which tool runs."""
    fields = ", ".join(call.arguments)
    return f"{invalid_call(tool_name)} It is deprecated: use `{call.name}` instead, with the fields {fields}."


def _corrected(verdict: Verdict) -> str:
    """For the person who is asked; where nobody is, it reaches the model."""
    changes = [
        f"`{repair.before}` is `{repair.after}`"
        if isinstance(repair.after, str) and repair.before == repair.path.rpartition(".")[2]
        else f"`{repair.path}` ({repair.rule})"
        for repair in verdict.repairs
        if not repair.rule.startswith("tool_")  # the host has chosen the tool, whatever we call it
    ]
    return f"RightCall corrected the input: {', '.join(changes) or 'defaults filled in'}."
