"""Arguments that were written for another tool are not run on this one."""

import pytest

from rightcall import Gate

USER = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
GATE = Gate([{"name": "delete_user", "parameters": USER}, {"name": "get_user", "parameters": USER}])


@pytest.mark.promise("N-13", "V-09")
@pytest.mark.parametrize(
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
@pytest.mark.parametrize(
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
