"""Every failure is a warning event and every repair an info event, for a callback and for the log."""

import logging

import pytest

from rightcall import Event, Gate

TOOL = {
    "name": "login",
    "parameters": {
        "type": "object",
        "required": ["user", "password"],
        "properties": {
            "user": {"type": "string"},
            "password": {"type": "string", "minLength": 8},
            "attempts": {"type": "integer"},
            "scope": {"enum": ["read", "write"]},
        },
    },
}
RIGHT = {"user": "ann", "password": "correct-horse"}
SECRET = "hunter2"


@pytest.fixture
def events() -> list[Event]:
    return []


@pytest.fixture
def gate(events: list[Event]) -> Gate:
    return Gate([TOOL], provider="ollama", on_event=events.append)


@pytest.mark.promise("V-05")
def test_a_failure_is_a_warning_with_tool_problems_and_call_id(gate: Gate, events: list[Event]) -> None:
    verdict = gate.check("login", {"user": "ann"}, call_id="call_7")
    (event,) = events
    assert (event.name, event.level) == ("tool_validation_failed", "warning")
    assert (event.tool, event.call_id, event.provider, event.mode) == ("login", "call_7", "ollama", "block")
    assert event.problems == verdict.problems
    assert [(problem.code, problem.path) for problem in event.problems] == [("missing", "password")]


@pytest.mark.promise("V-05", "N-12")
def test_every_repair_is_told_in_an_info_event(gate: Gate, events: list[Event]) -> None:
    verdict = gate.check("login", "{'User': 'ann', 'password': 'correct-horse', 'attempts': '3'}", call_id="call_8")
    assert {(event.name, event.level, event.call_id) for event in events} == {("tool_call_repaired", "info", "call_8")}
    assert [repair for event in events for repair in event.repairs] == list(verdict.repairs)
    assert len(verdict.repairs) == 3


@pytest.mark.promise("V-05", "N-01")
def test_a_call_that_fits_is_no_event(gate: Gate, events: list[Event], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "rightcall"):
        gate.check("login", RIGHT)
    assert (events, caplog.records) == ([], [])


@pytest.mark.promise("V-05")
def test_a_failure_that_was_repaired_in_part_tells_both(gate: Gate, events: list[Event]) -> None:
    gate.check("login", {"User": "ann", "password": "short"})
    (event,) = events
    assert event.level == "warning"
    assert [repair.rule for repair in event.repairs] == ["style"]
    assert [problem.path for problem in event.problems] == ["password"]


@pytest.mark.promise("V-05")
def test_an_unknown_tool_is_a_failure_too(gate: Gate, events: list[Event]) -> None:
    gate.check("logout", {}, call_id="call_9")
    assert [(event.tool, event.level, event.call_id) for event in events] == [("logout", "warning", "call_9")]


@pytest.mark.promise("V-04", "V-05")
@pytest.mark.parametrize("mode", ["warn", "observe"])
def test_what_is_let_through_is_told_all_the_same(mode: str, events: list[Event]) -> None:
    gate = Gate([TOOL], {"gate": {"mode": mode}}, on_event=events.append)
    assert gate.check("login", {"user": "ann"}).ok
    assert [(event.name, event.mode) for event in events] == [("tool_validation_failed", mode)]


@pytest.mark.promise("V-05")
def test_the_log_has_the_same_events_with_their_fields(gate: Gate, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "rightcall"):
        gate.check("login", {"user": "ann"}, call_id="call_1")
        gate.check("login", RIGHT | {"attempts": "3"}, call_id="call_2")
    failed, repaired = caplog.records
    assert (failed.levelname, repaired.levelname) == ("WARNING", "INFO")
    assert [vars(record)["event"] for record in (failed, repaired)] == ["tool_validation_failed", "tool_call_repaired"]
    assert [vars(record)["call_id"] for record in (failed, repaired)] == ["call_1", "call_2"]
    assert {vars(record)["tool"] for record in (failed, repaired)} == {"login"}
    assert [problem.path for problem in vars(failed)["problems"]] == ["password"]
    assert repaired.getMessage() == "Normalized login arguments via structure (provider=ollama)"


@pytest.mark.promise("V-05")
@pytest.mark.parametrize(
    "arguments",
    [
        {"user": "ann", "password": SECRET},
        {"user": "ann", "password": [SECRET, SECRET]},
        {"user": "ann", "password": "correct-horse", "scope": SECRET},
        {"user": "ann", "password": "correct-horse", "attempts": SECRET},
        f"{{'user': 'ann', 'password': 'correct-horse', 'attempts': '3', 'note': '{SECRET}'}}",
        f'{{"user": "ann", "password": "{SECRET}',
        f"my password is {SECRET}",
    ],
)
def test_a_log_line_never_holds_a_value(gate: Gate, arguments: object, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "rightcall"):
        gate.check("login", arguments)
    assert caplog.records
    assert SECRET not in caplog.text


@pytest.mark.promise("V-05")
@pytest.mark.parametrize("name", ["a\nWARNING forged", "\x1b[31mred", "half \ud800", "\u202ereversed", "x" * 5000])
def test_a_name_that_a_model_wrote_stays_on_its_line(name: str, caplog: pytest.LogCaptureFixture) -> None:
    for gate, arguments in ((Gate([TOOL]), {}), (Gate([TOOL]), {name: 1, "user": "ann"}), (Gate(), "{'a': 1}")):
        caplog.clear()
        with caplog.at_level(logging.DEBUG, "rightcall"):
            gate.check("login" if name in arguments else name, arguments)
        (record,) = caplog.records
        line = record.getMessage()
        assert line.isprintable()
        assert len(line) < 6000
        line.encode()


@pytest.mark.promise("V-05")
def test_a_callback_that_fails_decides_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def failing(_: Event) -> None:
        raise RuntimeError("the host's own")

    gate = Gate([TOOL], on_event=failing)
    assert gate.check("login", RIGHT | {"attempts": "3"}).ok
    assert not gate.check("login", {"user": "ann"}).ok
    assert "the event callback failed" in caplog.text


@pytest.mark.promise("N-15")
def test_log_lines_of_repairs_can_be_switched_off(events: list[Event], caplog: pytest.LogCaptureFixture) -> None:
    gate = Gate([TOOL], {"gate": {"log_normalizations": False}}, on_event=events.append)
    with caplog.at_level(logging.DEBUG, "rightcall"):
        gate.check("login", RIGHT | {"attempts": "3"})
    assert caplog.records == []
    assert [event.name for event in events] == ["tool_call_repaired"]


@pytest.mark.promise("V-05")
def test_every_repair_is_an_event_of_its_own_also_beside_a_warning() -> None:
    events: list[Event] = []
    tool = {
        "name": "t",
        "parameters": {
            "type": "object",
            "properties": {"n": {"type": "integer"}, "s": {"type": "string"}},
            "required": ["s"],
        },
    }
    verdict = Gate([tool], policy={"gate": {"mode": "warn"}}, on_event=events.append).check("t", "{'n': 'two',}")
    assert verdict.ok
    assert [event.name for event in events] == [
        "tool_validation_failed",
        *["tool_call_repaired"] * len(verdict.repairs),
    ]
    assert tuple(event.repairs[0] for event in events[1:]) == verdict.repairs
    assert len(verdict.repairs) == 3
