"""The argument normaliser with the names of its design: strategies, settings, log lines, statistics."""

import json
import logging
from collections import Counter
from typing import Any

import pytest

from rightcall import ConfigError, Gate
from rightcall.base.json.strict import is_plain, unsound
from rightcall.catalog.schema import RESERVED_KEYS
from rightcall.hosts.normalizer import (
    ARGUMENT_NORMALIZATION,
    ArgumentNormalizer,
    NormalizationError,
    NormalizationStrategy,
)
from support.every import every

PYTHON_TEXT = {"operations": "[{'type': 'modify', 'path': 'fibonacci.sh', 'content': 'echo 1'}]"}
OPERATIONS = [{"type": "modify", "path": "fibonacci.sh", "content": "echo 1"}]
FORECAST = {
    "name": "forecast",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    },
}
OPEN = {"name": "open", "parameters": {"type": "object"}}


@pytest.mark.promise("N-14", "N-03")
def test_the_motivating_call_comes_out_as_json_text() -> None:
    arguments, strategy = ArgumentNormalizer("ollama").normalize_arguments(PYTHON_TEXT, "edit_files")
    assert json.loads(arguments["operations"]) == OPERATIONS
    assert strategy is NormalizationStrategy.PYTHON_AST


@pytest.mark.promise("N-14")
@pytest.mark.parametrize("operations", [OPERATIONS, json.dumps(OPERATIONS)])
def test_a_list_and_json_text_are_right_already(operations: Any) -> None:
    given = {"operations": operations}
    arguments, strategy = ArgumentNormalizer().normalize_arguments(given, "edit_files")
    assert arguments is given
    assert strategy is NormalizationStrategy.DIRECT


@pytest.mark.promise("N-02")
def test_the_strategies_are_those_of_the_design_and_structure() -> None:
    assert {strategy.name: strategy.value for strategy in NormalizationStrategy} == {
        "DIRECT": "direct",
        "PYTHON_AST": "python_ast",
        "REGEX_QUOTES": "regex_quotes",
        "STRUCTURE": "structure",
        "MANUAL_REPAIR": "manual_repair",
        "FAILED": "failed",
    }


@pytest.mark.promise("N-02")
def test_broken_text_becomes_arguments_and_names_what_did_it() -> None:
    normalizer = ArgumentNormalizer(tools=[FORECAST])
    right = {"city": "Bern", "days": 3}
    assert normalizer.normalize_arguments('{"city": "Bern", "days": 3}', "forecast") == (
        right,
        NormalizationStrategy.DIRECT,
    )
    assert normalizer.normalize_arguments("{'city': 'Bern', 'days': 3}", "forecast") == (
        right,
        NormalizationStrategy.PYTHON_AST,
    )
    assert normalizer.normalize_arguments({"city": "Bern", "days": "3"}, "forecast") == (
        right,
        NormalizationStrategy.STRUCTURE,
    )


@pytest.mark.promise("N-14")
def test_a_repair_for_one_tool_is_registered_in_one_line() -> None:
    gate = Gate([FORECAST], repairs={"forecast": lambda found: {"city": found["town"]} if "town" in found else None})
    assert ArgumentNormalizer(gate=gate).normalize_arguments({"town": "Bern"}, "forecast") == (
        {"city": "Bern"},
        NormalizationStrategy.MANUAL_REPAIR,
    )


@pytest.mark.promise("N-16")
def test_the_statistics_have_exactly_the_designs_keys() -> None:
    normalizer = ArgumentNormalizer("qwen", tools=[FORECAST])
    normalizer.normalize_arguments({"city": "Bern"}, "forecast")
    normalizer.normalize_arguments("{'city': 'Bern'}", "forecast")
    normalizer.normalize_arguments(PYTHON_TEXT, "edit_files")
    normalizer.normalize_arguments("no call", "forecast")
    assert normalizer.get_stats() == {
        "provider": "qwen",
        "total_calls": 4,
        "normalizations": {
            "direct": 1,
            "python_ast": 2,
            "regex_quotes": 0,
            "structure": 0,
            "manual_repair": 0,
            "failed": 1,
        },
        "failures": 1,
        "success_rate": 75.0,
    }


@pytest.mark.promise("N-71")
def test_the_metrics_are_the_designs_group_of_the_same_counts() -> None:
    normalizer = ArgumentNormalizer("ollama", tools=[FORECAST])
    normalizer.normalize_arguments({"city": "Bern"}, "forecast")
    normalizer.normalize_arguments(r"{\'city\': \'Bern\'}", "forecast")
    normalizer.normalize_arguments("no call", "forecast")
    metrics = normalizer.get_metrics()
    assert list(metrics) == ["argument_normalization"]
    assert metrics["argument_normalization"] == normalizer.get_stats()
    assert metrics["argument_normalization"] == {
        "provider": "ollama",
        "total_calls": 3,
        "normalizations": {
            "direct": 1,
            "python_ast": 0,
            "regex_quotes": 1,
            "structure": 0,
            "manual_repair": 0,
            "failed": 1,
        },
        "failures": 1,
        "success_rate": pytest.approx(200 / 3),
    }
    assert normalizer.stats == {
        key: metrics["argument_normalization"][key] for key in ("total_calls", "normalizations", "failures")
    }


@pytest.mark.promise("N-73")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("forecast", {"city": "Bern", "days": 3}),
        ("open", {"city": "Bern", "rows": [{"n": 1.5}], "ü": None}),
        ("edit_files", {"operations": OPERATIONS}),
        ("edit_files", {"operations": json.dumps(OPERATIONS)}),
        ("edit_files", {"operations": json.dumps([{"type": "modify", "path": "a:b", "content": "{'c': 1}"}])}),
        ("edit_files", {"operations": json.dumps(OPERATIONS, indent=2)}),
    ],
)
def test_a_right_call_never_takes_the_slow_way(
    tool: str, arguments: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    normalizer = ArgumentNormalizer("ollama", tools=[FORECAST, OPEN])
    gate = Gate([FORECAST, OPEN], packs=["edit-files"])
    monkeypatch.setattr(Gate, "_judged", None)
    monkeypatch.setattr("rightcall.gate.gate.unsound", None)
    assert normalizer.normalize_arguments(arguments, tool) == (arguments, NormalizationStrategy.DIRECT)
    assert normalizer.get_stats()["normalizations"]["direct"] == 1
    verdict = gate.check(tool, arguments)
    assert verdict.ok
    assert verdict.call is not None
    assert verdict.call.arguments is arguments


@pytest.mark.promise("N-73", "N-11")
def test_what_is_plain_is_sound() -> None:
    odd: list[Any] = [
        float("nan"), float("inf"), 2**64, 10**2000, "\ud800", b"x", (1,), {1: 2}, {"\ud800": 1}, {"__proto__": 1},
        {"a": {"constructor": 1}}, [[["\udfff"]]], [[[[1]]]], object(), {1}, Counter("a"),
    ]  # fmt: skip
    for value in odd:
        assert not is_plain({"v": value}, 2, RESERVED_KEYS), value
    for value in (None, True, 3, -(2**63), 1.5, "ü", [], {}, [[1]], {"a": {"b": "c"}}):
        assert is_plain({"v": value}, 2, RESERVED_KEYS), value
        assert not unsound({"v": value}, 2, RESERVED_KEYS), value
    assert not is_plain({"v": [0] * 41}, 2)
    assert not is_plain({"v": [[1]]}, 1)


@pytest.mark.promise("N-73", "N-11", "N-13")
@every(
    "operations",
    [
        '[{"type": "delete", "path": "a", "path": "b"}]',
        '[{"type": "explode", "path": "a"}]',
        "delete it",
        '[{"type": "delete", "path": "\\ud800"}]',
        [{"type": "delete", "path": "a\ud800"}],
    ],
)
def test_the_fast_way_takes_nothing_that_the_slow_way_refuses(operations: Any) -> None:
    given = {"operations": operations}
    assert ArgumentNormalizer().normalize_arguments(given, "edit_files")[1] is NormalizationStrategy.FAILED
    assert not Gate(packs=["edit-files"]).check("edit_files", given).ok


@pytest.mark.promise("N-15")
def test_the_settings_are_the_designs_with_structure_beside_its_strategies() -> None:
    assert ARGUMENT_NORMALIZATION == {
        "enabled": True,
        "log_normalizations": True,
        "fail_on_normalization_failure": False,
        "provider_overrides": {
            "ollama": {"enabled": True, "strategies": ["ast", "regex", "structure", "manual"]},
            "anthropic": {"enabled": False},
        },
    }


@pytest.mark.promise("N-15")
def test_a_provider_that_emits_clean_json_skips_repair() -> None:
    normalizer = ArgumentNormalizer("anthropic", tools=[FORECAST])
    assert normalizer.normalize_arguments({"city": "Bern"}, "forecast")[1] is NormalizationStrategy.DIRECT
    broken = "{'city': 'Bern'}"
    assert normalizer.normalize_arguments(broken, "forecast") == (broken, NormalizationStrategy.DIRECT)


@pytest.mark.promise("N-15", "N-16")
@pytest.mark.parametrize(("provider", "config"), [("anthropic", {}), ("qwen", {"enabled": False})])
def test_a_normaliser_that_is_switched_off_tries_nothing_and_fails_at_nothing(
    provider: str, config: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    normalizer = ArgumentNormalizer(provider, {"fail_on_normalization_failure": True, **config})
    with caplog.at_level(logging.DEBUG, "rightcall"):
        for given, tool in ((PYTHON_TEXT, "edit_files"), ("no call", "edit_files"), ({"a": "{'b': 1}"}, "other")):
            arguments, strategy = normalizer.normalize_arguments(given, tool)
            assert arguments is given
            assert strategy is NormalizationStrategy.DIRECT
    assert caplog.messages == []
    stats = normalizer.get_stats()
    assert (stats["total_calls"], stats["normalizations"]["direct"], stats["failures"]) == (3, 3, 0)


@pytest.mark.promise("N-14", "N-15")
@every("strategies", [["manual"], ["ast", "regex", "manual"]])
@every(
    "operations",
    [
        "[{'type': 'delete', 'path': 'a.sh'}]",
        "[{type: 'delete', path: 'a.sh'}]",
        '[{type: "delete", path: "a.sh"}]',
        "({'type': 'delete', 'path': 'a.sh',},)",
    ],
)
def test_manual_repair_reads_the_operations_of_edit_files(strategies: list[str], operations: str) -> None:
    def normalized(strategies: list[str]) -> tuple[Any, NormalizationStrategy]:
        config = {"provider_overrides": {"ollama": {"strategies": strategies}}}
        return ArgumentNormalizer("ollama", config).normalize_arguments({"operations": operations}, "edit_files")

    arguments, strategy = normalized(strategies)
    assert json.loads(arguments["operations"]) == [{"type": "delete", "path": "a.sh"}]
    by_hand = "ast" not in strategies or normalized(["ast", "regex"])[1] is NormalizationStrategy.FAILED
    assert strategy is (NormalizationStrategy.MANUAL_REPAIR if by_hand else NormalizationStrategy.PYTHON_AST)


@pytest.mark.promise("N-15", "N-02")
def test_a_provider_has_only_the_strategies_it_names() -> None:
    config = {"provider_overrides": {"qwen": {"strategies": ["regex"]}}}
    normalizer = ArgumentNormalizer("qwen", config, tools=[FORECAST])
    given = {"city": "Bern", "days": "3"}
    assert normalizer.normalize_arguments(given, "forecast") == (given, NormalizationStrategy.FAILED)
    assert ArgumentNormalizer("other", config, tools=[FORECAST]).normalize_arguments(given, "forecast")[1] is (
        NormalizationStrategy.STRUCTURE
    )


@pytest.mark.promise("N-15", "N-02")
def test_the_designs_own_list_of_strategies_is_honoured_to_the_letter() -> None:
    config = {"provider_overrides": {"ollama": {"enabled": True, "strategies": ["ast", "regex", "manual"]}}}
    normalizer = ArgumentNormalizer("ollama", config)
    assert normalizer.normalize_arguments(PYTHON_TEXT, "edit_files")[1] is NormalizationStrategy.PYTHON_AST
    raw_newline = {"operations": "[{'type': 'modify', 'path': 'a', 'content': 'one\ntwo'}]"}
    assert normalizer.normalize_arguments(raw_newline, "edit_files")[1] is NormalizationStrategy.FAILED
    assert ArgumentNormalizer("ollama").normalize_arguments(raw_newline, "edit_files")[1] is (
        NormalizationStrategy.STRUCTURE
    )


def test_a_failure_returns_what_was_given_or_raises_as_set() -> None:
    given = {"days": 3}
    arguments, strategy = ArgumentNormalizer(tools=[FORECAST]).normalize_arguments(given, "forecast")
    assert arguments is given
    assert strategy is NormalizationStrategy.FAILED
    strict = ArgumentNormalizer(config={"fail_on_normalization_failure": True}, tools=[FORECAST])
    with pytest.raises(NormalizationError, match="Missing required fields: city") as caught:
        strict.normalize_arguments(given, "forecast")
    assert [problem.path for problem in caught.value.verdict.problems] == ["city"]


@pytest.mark.promise("N-16")
@pytest.mark.parametrize(
    ("arguments", "tool", "words", "strategy"),
    [
        (PYTHON_TEXT, "edit_files", "AST conversion", "python_ast"),
        ({"town": "Bern"}, "forecast", "manual repair", "manual_repair"),
        ({"city": "Bern", "days": "3"}, "forecast", "structure", "structure"),
    ],
)
def test_a_normalisation_is_logged_in_the_designs_words(
    arguments: Any, tool: str, words: str, strategy: str, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate(
        [FORECAST],
        packs=["edit-files"],
        provider="qwen",
        policy={"gate": {"log_normalizations": False, "tools": {"forecast": {"aliases": {"town": "city"}}}}},
    )
    with caplog.at_level(logging.INFO):
        fitting, _ = ArgumentNormalizer(gate=gate).normalize_arguments(arguments, tool)
    assert caplog.messages == [
        f"Normalized {tool} arguments via {words} (provider=qwen)",
        f"Applied {strategy} normalization to {tool} arguments. Original: {arguments} → Normalized: {fitting}",
    ]
    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING"]


def test_a_failure_is_logged_as_an_error(caplog: pytest.LogCaptureFixture) -> None:
    ArgumentNormalizer("qwen", tools=[FORECAST]).normalize_arguments({"days": 3}, "forecast")
    assert caplog.messages[-1] == (
        "Failed to normalize forecast arguments after all strategies (provider=qwen). Original: {'days': 3}"
    )
    assert caplog.records[-1].levelname == "ERROR"


def test_what_each_strategy_lacked_is_told_for_debugging(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "rightcall.hosts.normalizer"):
        ArgumentNormalizer("qwen", tools=[FORECAST]).normalize_arguments({"days": 3}, "forecast")
    told = [record.getMessage() for record in caplog.records if record.levelname == "DEBUG"]
    assert told == [
        "AST normalization failed: city missing",
        "Regex normalization failed: city missing",
        "Manual repair failed: city missing",
    ]


def test_no_strategy_is_said_to_have_failed_that_was_not_tried(caplog: pytest.LogCaptureFixture) -> None:
    config = {"provider_overrides": {"qwen": {"strategies": ["regex"]}}}
    with caplog.at_level(logging.DEBUG, "rightcall.hosts.normalizer"):
        ArgumentNormalizer("qwen", config, tools=[FORECAST]).normalize_arguments({"days": 3}, "forecast")
    assert [record.getMessage() for record in caplog.records if record.levelname == "DEBUG"] == [
        "Regex normalization failed: city missing"
    ]


def test_logging_can_be_switched_off_and_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        ArgumentNormalizer(config={"log_normalizations": False}).normalize_arguments(PYTHON_TEXT, "edit_files")
        assert caplog.messages == []
        long = repr([{"type": "modify", "path": "a", "content": "x" * 100_000}])
        ArgumentNormalizer().normalize_arguments({"operations": long}, "edit_files")
    assert max(len(message) for message in caplog.messages) < 5_000


def test_a_tool_nobody_told_us_of_is_left_alone() -> None:
    given = {"note": "[{'type': 'modify'}]", "n": "5"}
    arguments, strategy = ArgumentNormalizer().normalize_arguments(given, "keep_note")
    assert arguments is given
    assert strategy is NormalizationStrategy.DIRECT


def test_a_wrong_setting_is_named() -> None:
    with pytest.raises(ConfigError, match="unknown setting `enable`"):
        ArgumentNormalizer(config={"enable": True})
    with pytest.raises(ConfigError, match="strategies"):
        ArgumentNormalizer("qwen", {"provider_overrides": {"qwen": {"strategies": ["magic"]}}})
