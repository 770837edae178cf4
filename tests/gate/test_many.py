"""Many texts at a time, and gates that go to other processes: the same answers as one by one, here and there."""

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from rightcall import ConfigError, Event, Gate, Policy, load_policy, tagged
from rightcall.batch import read_column, read_texts
from support.every import every

FORECAST = {
    "name": "forecast",
    "parameters": {
        "type": "object",
        "required": ["city"],
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    },
}
TEXTS: list[Any] = [
    "No call here.",
    '<tool_call>{"name": "forecast", "arguments": {"city": "Bern"}}</tool_call>',
    "<tool_call>{'name': 'forecast', 'arguments': {'city': 'Bern', 'days': 'three',}}</tool_call> and more",
    '<tool_call>{"name": "forecast", "arguments": {"days": 3}}</tool_call>',
    '<tool_call>{"name": "forecast", "arguments": {"city": "Be',
    {"role": "assistant", "tool_calls": [{"function": {"name": "forecast", "arguments": '{"city": "Rome"}'}}]},
    None,
    7,
]


def test_many_texts_are_read_as_each_alone_in_order() -> None:
    gate = Gate([FORECAST])
    assert gate.read_many(TEXTS) == [gate.read(text) for text in TEXTS]
    assert gate.read_many(iter(TEXTS[1:2]), "length") == [gate.read(TEXTS[1], "length")]
    assert gate.read_many(()) == []


@pytest.mark.parametrize("one", ["Hello.", b"Hello.", {"role": "assistant", "content": "Hello."}])
def test_a_single_text_is_not_read_letter_by_letter(one: Any) -> None:
    with pytest.raises(TypeError, match=f"expected a list of texts or messages, not one {type(one).__name__}"):
        Gate([FORECAST]).read_many(one)
    with pytest.raises(TypeError, match=r"use `Gate\.read`"):
        read_texts(Gate([FORECAST]), one)
    with pytest.raises(TypeError, match=r"use `Gate\.read`"):
        read_column(Gate([FORECAST]), one)


def test_a_text_that_cannot_be_read_is_a_fault_of_its_own_and_the_others_are_read(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    gate, read = Gate([FORECAST]), Gate.read

    def fail(self: Gate, message: Any, finish_reason: str | None = None) -> Any:
        if message == "second":
            raise RuntimeError("broken")
        return read(self, message, finish_reason)

    monkeypatch.setattr(Gate, "read", fail)
    first, second, third = gate.read_many([TEXTS[1], "second", TEXTS[1]])
    assert first == third == read(gate, TEXTS[1])
    assert [problem.code for problem in second.calls[0].problems] == ["fault"]
    assert (second.calls[0].ok, second.text, len(second.places)) == (False, "second", 1)
    assert gate.stats()["failures"] == 1
    assert "reading one of many texts failed" in caplog.text


def test_a_pickled_gate_gives_the_same_readings_in_another_process(tmp_path: Path) -> None:
    policy = tmp_path / "rightcall.toml"
    policy.write_text('[gate]\nmode = "warn"\n\n')
    tools = tmp_path / "tools.toml"
    tools.write_text('[tools.add.parameters]\ntype = "object"\n')
    gate = Gate([FORECAST, str(tools)], policy=policy, packs=["code"], provider="ollama", reasoning="closed")
    readings = gate.read_many(TEXTS)
    carried = tmp_path / "gate.pickle"
    carried.write_bytes(pickle.dumps((gate, TEXTS, readings)))
    policy.unlink()  # what the gate was made of is in it: another machine has no such files
    tools.unlink()
    code = (
        "import pickle, sys; gate, texts, readings = pickle.load(open(sys.argv[1], 'rb')); "
        "assert gate.read_many(texts) == readings; print(gate.catalog.digest, gate.policy.mode_for('forecast'))"
    )
    done = subprocess.run([sys.executable, "-c", code, carried], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == [gate.catalog.digest, "warn"]


def forecast(city: str, days: int = 1) -> str:
    """Weather of the next days."""
    return f"{city}: rain for {days} days"


def metres(arguments: dict[str, Any]) -> dict[str, Any] | None:
    return {"city": arguments["town"]} if "town" in arguments else None


HEARD: list[Event] = []


def hear(event: Event) -> None:
    HEARD.append(event)


def carry(gate: Gate) -> Gate:
    return pickle.loads(pickle.dumps(gate))  # noqa: S301 - our own


@pytest.mark.parametrize("carry", [carry, copy.copy, copy.deepcopy])
def test_a_copy_has_the_same_tools_rules_and_functions_and_counts_from_zero(carry: Any) -> None:
    gate = Gate([forecast], policy={"gate": {"max_text": 5000}}, provider="ollama", on_event=hear)
    gate.repair("forecast")(metres)
    gate.check("forecast", {"city": "Bern"})
    other = carry(gate)
    assert other is not gate
    assert (other.policy, other.catalog.digest, other.provider) == (gate.policy, gate.catalog.digest, "ollama")
    assert other.stats()["total_calls"] == 0
    HEARD.clear()
    assert other.check("forecast", {"town": "Bern"}) == gate.check("forecast", {"town": "Bern"})
    assert [event.name for event in HEARD] == ["tool_call_repaired"] * 2


@every(
    ("given", "named"),
    [
        ({"on_event": lambda event: None}, "`on_event` = <function"),
        ({"on_event": HEARD.append}, "`on_event` = <built-in method append"),
        ({"repairs": {"forecast": lambda arguments: None}}, r"`repairs\['forecast'\]` = <function"),
        ({"formats": [tagged("mine", "<<", ">>")]}, r"`formats` \(mine\)"),
    ],
)
def test_what_another_process_cannot_have_is_named_and_copies_in_this_one_keep_it(given: Any, named: str) -> None:
    gate = Gate([FORECAST], **given)
    with pytest.raises(TypeError, match=f"^a Gate with {named}.* cannot be pickled: .*other process"):
        pickle.dumps(gate)
    assert copy.copy(gate).formats == copy.deepcopy(gate).formats == gate.formats


def test_a_policy_can_be_pickled_and_copied_and_stays_read_only() -> None:
    policy = load_policy({"policy": {"preset": "swarm"}, "servers": {"a": {"command": ["a"], "env": {"B": "C"}}}})
    for other in (pickle.loads(pickle.dumps(policy)), copy.deepcopy(policy)):  # noqa: S301 - our own
        assert isinstance(other, Policy)
        assert other == policy
        with pytest.raises(TypeError):
            cast("Any", other.settings.limits.tools)["code/read"] = None


def test_a_mistake_in_the_arguments_is_told_as_before() -> None:
    with pytest.raises(ConfigError, match="invalid `reasoning`"):
        Gate(reasoning="ajar")  # type: ignore[arg-type]
