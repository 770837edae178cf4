"""Each rule finds its bad example and leaves its good one alone; what `--fix` corrects is what the rules say."""

from typing import Any

import pytest

from rightcall import ConfigError
from rightcall.lint import Choice, Document, Rule, lint, load_rules, view_tools
from rightcall.lint.fixes import FIXED
from rightcall.lint.rules import require_known

RULES = list(load_rules().values())
WITH_EXAMPLES = [rule for rule in RULES if rule.bad]


def found_in(tools: list[dict[str, Any]]) -> set[str]:
    views = view_tools([((number,), raw) for number, raw in enumerate(tools)])
    return {one.rule for one in lint(Document("example", "json", views), Choice(notes=True))}


@pytest.mark.parametrize("rule", WITH_EXAMPLES, ids=lambda rule: rule.id)
def test_the_bad_example_of_a_rule_breaks_it_and_the_good_one_does_not(rule: Rule) -> None:
    assert rule.id in found_in(rule.bad_tools())
    assert rule.id not in found_in(rule.good_tools())


def test_only_rules_about_records_and_running_servers_have_no_example() -> None:
    assert {rule.id for rule in RULES if not rule.bad} == {"RC115", "RC119", "RC901", "RC902"}


def test_names_and_ids_are_unique_and_every_sentence_ends() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES) == len({rule.id for rule in RULES})
    assert all(text.endswith(".") for rule in RULES for text in (rule.summary, rule.why, rule.remedy))


def test_a_rule_of_a_provider_names_its_source_and_the_day_it_was_read() -> None:
    assert [rule.id for rule in RULES if rule.id.startswith("RC5") and not (rule.source and rule.checked)] == []


def test_what_can_be_fixed_is_what_the_rules_say() -> None:
    assert {rule.id for rule in RULES if rule.fixable} == FIXED


def test_an_unknown_rule_is_told_with_the_right_one() -> None:
    with pytest.raises(ConfigError, match=r"unknown rule 'choices-in-txt'.*choices-in-text"):
        require_known(["choices-in-txt"])
    require_known(["RC3", "rc301:get_*", "all", "choices-in-text"])
