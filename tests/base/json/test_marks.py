"""From what the reader needed to records, under the strategies that may carry it out."""

import pytest

from rightcall.base.json.marks import REPAIRING, RULES, repairs_of

TEXT = "{'a': True, \"b\" 1}"


@pytest.mark.promise("N-12")
def test_each_rule_is_one_record_with_the_place_it_was_needed_first() -> None:
    repairs, forbidden = repairs_of({"single_quotes": 1, "missing_colon": 16}, TEXT, "args")
    assert forbidden == ()
    assert [(repair.rule, repair.path, repair.strategy) for repair in repairs] == [
        ("single_quotes", "args", "python_ast"),
        ("missing_colon", "args", "structure"),
    ]
    assert [repair.confidence for repair in repairs] == [
        RULES["single_quotes"].confidence,
        RULES["missing_colon"].confidence,
    ]


@pytest.mark.promise("N-02")
def test_a_rule_falls_to_the_first_strategy_that_is_on() -> None:
    def carried_by(*strategies: str) -> tuple[list[str], int]:
        repairs, forbidden = repairs_of({"single_quotes": 1}, TEXT, strategies=frozenset(strategies))  # type: ignore[arg-type]
        return [repair.strategy for repair in repairs], len(forbidden)

    assert carried_by(*REPAIRING) == (["python_ast"], 0)
    assert carried_by("regex_quotes", "structure") == (["regex_quotes"], 0)
    assert carried_by("structure") == (["structure"], 0)
    assert carried_by("manual_repair") == ([], 1)


@pytest.mark.promise("N-02")
def test_what_no_strategy_may_carry_out_is_forbidden() -> None:
    repairs, forbidden = repairs_of(
        {"missing_comma": 3, "single_quotes": 1}, TEXT, strategies=frozenset({"python_ast"})
    )
    assert [repair.rule for repair in repairs] == ["single_quotes"]
    assert forbidden == (RULES["missing_comma"],)


def test_a_record_quotes_the_place_and_not_the_whole_text() -> None:
    text = "x" * 5000 + "{,}" + "y" * 5000
    ((repair,), _) = repairs_of({"trailing_comma": 5001}, text)
    assert "{,}" in repair.before
    assert len(repair.before) < 200
