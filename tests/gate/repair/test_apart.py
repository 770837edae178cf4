"""Names that look alike and are for different things: never taken for each other, and never just dropped."""

from typing import Any

import pytest

from rightcall import Gate, Verdict
from support.every import every

TEXT = {"type": "string"}
APART = """
case_insensitive>case_sensitive sort_descending>sort_ascending only_read>only_unread out_of_stock>in_stock
not_enabled>enabled non_public>public exclude_path>path ignore_path>path exclude_files>files not_tags>tags
check_out>check_in check_out_date>check_in_date size_gb>size_mb temp_f>temp_c weight_lb>weight_kg height_in>height_cm
height_m>height_cm distance_mi>distance_km delay_s>delay_ms temperature_f>temperature timeout>timeout_ms
amount>amount_cents size>size_mb line2>line1 address2>address1 ipv6>ipv4 https_port>http_port from>form county>country
prize>price per_page>page page_size>page cc_email>email backup_email>email fax_phone>phone expiry_date>date
file_path>file_id username>user_id product>product_id recipient>to_account
"""
SAME = """
zip>zip_code phone>phone_number email_address>email search_query>query q>query file>file_path user>user_name
minutes>in_minutes is_active>active start>start_date desc>description msg>message id>device_id kind>wave_type
cafe\u0301>caf\u00e9 ＣＩＴＹ>city
"""


def called(given: dict[str, Any], known: str, *, required: bool, kind: dict[str, Any] = TEXT) -> Verdict:
    needed = ["one", known] if required else ["one"]
    properties = {"one": {"type": "boolean"}, known: kind}
    tool = {"name": "t", "parameters": {"type": "object", "properties": properties, "required": needed}}
    return Gate([tool]).check("t", {"one": True, **given})


@pytest.mark.promise("N-06", "N-13")
@every("required", [True, False])
@every("pair", APART.split())
def test_a_word_that_changes_the_meaning_keeps_names_apart(pair: str, required: bool) -> None:
    given, known = pair.split(">")
    verdict = called({given: "x"}, known, required=required)
    assert not verdict.ok
    assert any(problem.path == given and f"`{known}`" in problem.message for problem in verdict.problems)


@pytest.mark.promise("N-13")
@pytest.mark.parametrize(("given", "known"), [("customer_id", "user_id"), ("stopover", "destination"), ("a", "b")])
def test_a_name_for_something_else_is_not_what_is_missing(given: str, known: str) -> None:
    assert not called({given: "x"}, known, required=True).ok


@pytest.mark.promise("N-06")
@every("required", [True, False])
@every("pair", SAME.split())
def test_a_word_that_changes_nothing_does_not(pair: str, required: bool) -> None:
    given, known = pair.split(">")
    verdict = called({given: "x"}, known, required=required)
    assert verdict.call is not None
    assert verdict.ok
    assert verdict.call.arguments == {"one": True, known: "x"}


@pytest.mark.promise("N-13")
@every("name", ["Days", "num_days", "dayz", "the_days", "duration", "days_count"])
def test_a_wrong_value_under_another_spelling_is_no_stranger(name: str) -> None:
    assert not called({name: "soon"}, "days", required=False, kind={"type": "integer"}).ok


@pytest.mark.promise("N-13")
def test_an_object_that_does_not_fit_does_not_disappear() -> None:
    kind = {"type": "object", "properties": {"v": {"type": "integer"}}}
    verdict = called({"Opts": {"v": "x"}}, "opts", required=False, kind=kind)
    assert [problem.path for problem in verdict.problems] == ["opts.v"]


@pytest.mark.promise("N-06")
def test_another_style_is_certain_however_many_names_are_in_it() -> None:
    properties = {f"arg_{number}": {"type": "integer"} for number in range(100)}
    tool = {"name": "t", "parameters": {"type": "object", "properties": properties}}
    verdict = Gate([tool]).check("t", {f"Arg{number}": number for number in range(100)})
    assert verdict.call is not None
    assert verdict.call.arguments == {f"arg_{number}": number for number in range(100)}


@pytest.mark.promise("N-13")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"days": 1, "Days": 2}, "`Days` and `days` both mean `days`; pass only one"),
        ({" ": 2}, "` ` is an argument without a name; name the intended argument"),
        ({"": 2}, "`` is an argument without a name; name the intended argument"),
    ],
)
def test_the_message_says_what_is_wrong(given: dict[str, Any], message: str) -> None:
    verdict = called(given, "days", required=False, kind={"type": "integer"})
    assert message in [problem.message for problem in verdict.problems]


@pytest.mark.promise("N-13")
@every(("given", "known"), [("", "code"), ("code", ""), ("--", "name"), ("name", "__"), ("", "__")])
def test_a_name_without_words_is_like_no_other(given: str, known: str) -> None:
    verdict = called({given: "x"}, known, required=False)
    assert verdict.call is None or known not in verdict.call.arguments
    assert "fault" not in {problem.code for problem in verdict.problems}


@pytest.mark.promise("N-10", "N-13")
def test_a_note_is_dropped_only_where_it_can_be_for_no_argument() -> None:
    assert called({"note": "x"}, "city", required=False).ok
    assert not called({"note": "x"}, "comment", required=False).ok
    assert not called({"comments": "x"}, "remark", required=False).ok


USER = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
GATE = Gate([{"name": "delete_user", "parameters": USER}, {"name": "get_user", "parameters": USER}])


@pytest.mark.promise("N-13", "V-09")
@every(
    "arguments",
    [
        '{"name": "get_user", "arguments": {"id": "1"}}',
        '{"function": {"name": "get_user", "arguments": {"id": "1"}}}',
        'get_user(id="1")',
        'get_user({"id": "1"})',
        '{"get_user": {"id": "1"}}',
        '{"exclude": {"id": "1"}}',
    ],
)
def test_what_names_another_tool_is_refused(arguments: str) -> None:
    assert not GATE.check("delete_user", arguments).ok


@pytest.mark.promise("N-06")
@every(
    "arguments",
    [
        '{"name": "delete_user", "arguments": {"id": "1"}}',
        '{"name": "functions.delete_user", "parameters": {"id": "1"}}',
        '{"tool_input": {"id": "1"}}',
        '{"the_params": {"id": "1"}}',
        'delete_user(id="1")',
        'call(id="1")',
    ],
)
def test_an_envelope_of_this_tool_is_opened(arguments: str) -> None:
    verdict = GATE.check("delete_user", arguments)
    assert verdict.ok
    assert verdict.call is not None
    assert verdict.call.arguments == {"id": "1"}


@pytest.mark.promise("V-04")
@pytest.mark.parametrize(("mode", "ok"), [("block", False), ("warn", True), ("observe", True)])
def test_the_mode_holds_for_tools_nobody_knows(mode: str, ok: bool) -> None:
    verdict = Gate([{"name": "get_user", "parameters": USER}], policy={"gate": {"mode": mode}}).check(
        "fly", {"to": "x"}
    )
    assert (verdict.ok, verdict.mode) == (ok, mode)
    assert [problem.code for problem in verdict.problems] == ["unknown_tool"]
