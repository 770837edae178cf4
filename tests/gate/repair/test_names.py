"""Argument names: mapped only where exactly one argument fits, and surest first."""

from typing import Any

import pytest

from rightcall import Gate, Verdict
from support.every import every

TEXT = {"type": "string"}


def called(given: dict[str, Any], *required: str, policy: Any = None, **optional: Any) -> Verdict:
    properties = dict.fromkeys(required, TEXT) | optional
    tool = {"name": "t", "parameters": {"type": "object", "properties": properties, "required": list(required)}}
    return Gate([tool], policy).check("t", given)


def rules(verdict: Verdict) -> list[str]:
    return [repair.rule for repair in verdict.repairs]


@pytest.mark.promise("N-06", "N-18")
@every(
    ("given", "meant", "rule"),
    [
        ("fileName", "file_name", "style"),
        ("FILE-NAME", "file_name", "style"),
        ("input_city", "city", "affix"),
        ("the_city", "city", "affix"),
        ("cities", "city", "affix"),
        ("id_of_user", "user_id", "affix"),
        ("recipent", "recipient", "typo"),
        ("gas_name", "gas", "suffix"),
        ("gas", "gas_type", "suffix"),
        ("place", "location", "synonym"),
        ("event_kind", "event_type", "synonym"),
        ("begin", "start_date", "part"),
    ],
)
def test_each_kind_of_likeness_has_its_rule(given: str, meant: str, rule: str) -> None:
    verdict = called({given: "x"}, meant)
    assert verdict.call is not None
    assert verdict.call.arguments == {meant: "x"}
    assert rules(verdict) == [rule]
    (repair,) = verdict.repairs
    assert (repair.path, repair.before, repair.after) == (given, given, meant)


@pytest.mark.promise("N-18")
def test_the_surer_the_likeness_the_higher_the_confidence() -> None:
    given = {"fileName": "file_name", "input_city": "city", "gas_name": "gas", "begin": "start_date"}
    found = [called({name: "x"}, meant).confidence for name, meant in given.items()]
    assert found == sorted(found, reverse=True)
    assert (found[0], found[-1]) == (1.0, 0.8)


@pytest.mark.promise("N-06")
def test_a_declared_alias_comes_before_everything_else() -> None:
    policy = {"gate": {"tools": {"t": {"aliases": {"contnt": "subject"}}}}}
    assert called({"contnt": "x"}, content=TEXT, subject=TEXT, policy=policy).call.arguments == {"subject": "x"}  # type: ignore[union-attr]
    assert called({"contnt": "x"}, content=TEXT, subject=TEXT).call.arguments == {"content": "x"}  # type: ignore[union-attr]


@pytest.mark.promise("N-06")
def test_two_declared_aliases_decide_nothing_even_where_one_is_a_word_that_models_like_to_add() -> None:
    verdict = Gate(packs=["agent-zero"]).check("skills_tool", {"action": "list", "command": "load"})
    assert not verdict.ok
    assert "both mean `method`" in verdict.problems[0].message


@pytest.mark.promise("N-06")
def test_an_alias_in_the_schema_counts_as_declared() -> None:
    verdict = called({"zz": "x", "n": 1}, body=TEXT | {"x-alias": "zz"}, n={"type": "integer"})
    assert verdict.call is not None
    assert verdict.call.arguments == {"body": "x", "n": 1}
    assert rules(verdict) == ["alias"]


@pytest.mark.promise("N-06")
def test_the_same_style_beats_a_likeness() -> None:
    verdict = called({"userName": "a", "user": "b"}, "user_name", "username_2", user={"type": "string"})
    assert [repair.after for repair in verdict.repairs if repair.before == "userName"] == ["user_name"]


@pytest.mark.promise("N-06", "N-13")
@every(
    ("given", "known"),
    [
        ({"date": "x"}, ("start_date", "end_date")),
        ({"dates": "x"}, ("start_date", "end_date")),
        ({"name": "x"}, ("first_name", "last_name")),
        ({"destinatoin": "x"}, ("destination", "destinations_")),
    ],
)
def test_a_name_that_fits_two_is_refused_and_both_are_named(given: dict[str, Any], known: tuple[str, ...]) -> None:
    verdict = called(given, *known)
    assert not verdict.ok
    (problem,) = [problem for problem in verdict.problems if problem.code == "ambiguous_name"]
    assert problem.path in given
    assert all(f"`{name}`" in problem.message for name in known)


@pytest.mark.promise("N-06", "N-13")
@pytest.mark.parametrize(
    "given",
    [{"recipent": "a", "receiver": "b"}, {"Recipient": "a", "RECIPIENT": "b"}, {"recipient": "a", "Recipient": "b"}],
)
def test_two_sources_for_one_target_are_refused(given: dict[str, Any]) -> None:
    verdict = called(given, "recipient")
    assert not verdict.ok
    assert "ambiguous_name" in {problem.code for problem in verdict.problems}


@pytest.mark.promise("N-06")
@pytest.mark.parametrize("blank", ["", "  ", None])
def test_a_blank_argument_counts_as_absent(blank: Any) -> None:
    verdict = called({"recipient": blank, "receiver": "Ann"}, "recipient")
    assert verdict.call is not None
    assert verdict.call.arguments == {"recipient": "Ann"}


@pytest.mark.promise("N-06")
@every("value", [0, False, [], {}])
def test_zero_false_and_empty_are_values_and_not_blank(value: Any) -> None:
    verdict = called({"count": value, "Count": 5 if value == 0 else "x"}, count={})
    assert not verdict.ok


@pytest.mark.promise("N-06")
def test_a_target_of_another_type_does_not_count() -> None:
    verdict = called({"amount": "some"}, total={"type": "integer"})
    assert [(problem.code, problem.path) for problem in verdict.problems] == [("ambiguous_name", "amount")]
    assert called({"amount": "5"}, total={"type": "integer"}).call.arguments == {"total": 5}  # type: ignore[union-attr]


@pytest.mark.promise("N-06", "N-13")
@every(
    ("given", "known"),
    [
        ("end", "start"), ("max_price", "min_price"), ("to", "from_city"), ("longitude", "latitude"),
        ("width", "height"), ("old_value", "new_value"), ("input_file", "output_file"), ("is_active", "is_inactive"),
        ("enable", "disable"), ("before", "after"), ("follow", "unfollow"), ("allow", "deny"), ("read", "write"),
        ("lat1", "lat2"), ("item1", "item2"), ("ipv4", "ipv6"), ("created_after", "created_before"),
        ("billing_address", "shipping_address"), ("first_name", "last_name"), ("parent_id", "child_id"),
    ],
)  # fmt: skip
def test_a_name_is_never_taken_for_its_contrary(given: str, known: str) -> None:
    optional = called({given: "x", "note": "y"}, **{known: TEXT, "note": TEXT})
    assert optional.call is None or known not in optional.call.arguments
    assert not called({given: "x", "n": 1}, known, n={"type": "integer"}).ok


@pytest.mark.promise("N-06")
def test_names_are_mapped_at_every_depth() -> None:
    inner = {"type": "object", "required": ["zip_code"], "properties": {"zip_code": TEXT}}
    people = {"type": "array", "items": {"type": "object", "properties": {"home": inner}}}
    verdict = called({"people": [{"home": {"zipCode": "1"}}, {"Home": {"zip-code": "2"}}]}, people=people)
    assert verdict.call is not None
    assert verdict.call.arguments == {"people": [{"home": {"zip_code": "1"}}, {"home": {"zip_code": "2"}}]}
    paths = [repair.path for repair in verdict.repairs]
    assert paths == ["people[0].home.zipCode", "people[1].Home", "people[1].home.zip-code"]


@pytest.mark.promise("N-09", "N-13")
def test_a_name_is_never_mapped_onto_an_argument_that_was_given() -> None:
    verdict = called({"city": "Bern", "town": "Rom"}, "city", note=TEXT)
    assert verdict.call is not None
    assert verdict.call.arguments["city"] == "Bern"


@pytest.mark.promise("N-06")
@pytest.mark.parametrize(("given", "meant"), [("file_path", "path"), ("path", "file_path"), ("link_url", "url")])
def test_a_name_that_says_the_same_thing_twice_is_as_sure_as_a_synonym(given: str, meant: str) -> None:
    verdict = called({given: "x"}, meant)
    assert (rules(verdict), verdict.confidence) == (["synonym"], 0.9)
