"""A gate for the tools of each request: which packs apply, what is kept, what is left alone."""

import pytest
from msgspec import json

from rightcall.gate.gate import functions
from rightcall.policy.watch import load_policy
from rightcall.proxy import gates
from rightcall.proxy.gates import Gates
from support.every import every
from support.wires.chat import READ, TOOLS, WEATHER, tool

pytestmark = pytest.mark.promise("H-03")


def of(*tools: object, policy: object = None) -> object:
    return Gates(load_policy(policy), "local").of(json.encode(list(tools)))  # type: ignore[arg-type]


def test_the_same_tools_have_the_same_gate() -> None:
    kept = Gates(load_policy(None), "local")
    assert kept.of(TOOLS) is kept.of(bytes(TOOLS))


@pytest.mark.promise("V-08")
def test_a_pack_applies_to_the_tools_of_it_that_a_request_offers() -> None:
    gate = of(READ)
    verdict = gate.check("ReadFile", {"filename": "x"})  # type: ignore[attr-defined]
    assert (verdict.call.name, verdict.call.arguments) == ("Read", {"file_path": "x"})


def test_a_pack_brings_no_tools_that_were_not_offered() -> None:
    assert of(READ, policy={"gate": {"packs": ["claude", "code"]}}).catalog.names == ("Read",)  # type: ignore[attr-defined]


def test_another_tool_of_the_same_name_is_not_the_packs() -> None:
    gate = of(tool("Read", ["book"], book={"type": "string"}))
    assert gate.check("Read", {"book": "Emma"}).repairs == ()  # type: ignore[attr-defined]
    assert gate.catalog.find("cat").tool is None  # type: ignore[attr-defined] - a name the pack has for its own


def test_unknown_tools_pass_unless_the_policy_says_otherwise() -> None:
    assert of(WEATHER).check("launch", {"a": 1}).ok  # type: ignore[attr-defined]
    strict = {"gate": {"hosts": {"proxy": {"unknown_tool": "refuse"}}}}
    assert not of(WEATHER, policy=strict).check("launch", {"a": 1}).ok  # type: ignore[attr-defined]


@every("tools", [b"", b"[]", b"[{}]", b'[{"type": "web_search"}]', b"nonsense", b'{"a": 1}', b"[" * 5000])
def test_what_is_no_list_of_functions_has_no_gate(tools: bytes) -> None:
    assert Gates(load_policy(None), "local").of(tools) is None


@every(
    "odd",
    [
        tool("odd", [], a={"type": "nonsense"}),
        tool("odd", [], a={"$ref": "#/nowhere"}),
        tool("odd", [], a={"$ref": "https://example.com/schema"}),
        tool("odd", [], a={"type": ["string", None]}),
        {"type": "function", "function": {"name": "odd", "parameters": {"type": "object", "properties": []}}},
        READ,
    ],
)
def test_one_odd_tool_does_not_keep_the_others_from_being_checked(odd: object) -> None:
    gate = of(READ, odd, WEATHER)
    assert gate.check("weather", "{'city': 'Bern'}").call.arguments == {"city": "Bern"}  # type: ignore[attr-defined]


def test_two_tools_of_one_name_are_the_clients_affair() -> None:
    gate = of(WEATHER, READ, WEATHER)
    assert gate.catalog.names == ("Read",)  # type: ignore[attr-defined]


def test_gates_are_kept_by_the_bytes_of_their_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gates, "MOST_BYTES", 1_000)
    kept = Gates(load_policy(None), "local")
    sets = [json.encode([tool(f"t{nth}", [], a={"type": "string", "description": "x" * 300})]) for nth in range(5)]
    for one in sets:
        kept.of(one)
    assert [kept.knows(one) for one in sets] == [False, False, False, True, True]


def test_functions_of_every_api_are_found() -> None:
    schema = {"type": "object", "properties": {}}
    shapes = [
        {"type": "function", "function": {"name": "a", "parameters": schema}},
        {"type": "function", "function": {"name": "b"}},
        {"type": "function", "name": "c", "parameters": schema, "strict": True},
        {"type": "function", "name": "d", "parameters": None},
        {"name": "e", "input_schema": schema},
        {"type": "web_search_20250305", "name": "f"},
        {"type": "custom", "name": "g", "format": {"type": "text"}},
    ]
    found = [one.get("name") or one["function"]["name"] for one in functions(shapes)]
    assert found == ["a", "b", "c", "d", "e"]


@pytest.mark.promise("N-16")
def test_counts_survive_the_gates_they_were_made_by(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gates, "MOST", 2)
    kept = Gates(load_policy(None), "local")
    for nth in range(5):
        gate = kept.of(json.encode([tool(f"t{nth}", ["city"], city={"type": "string"})]))
        assert gate is not None
        gate.check(f"t{nth}", {"city": "Bern"})
        gate.check(f"t{nth}", {"City": "Bern"})
    stats = kept.stats()
    assert (stats["provider"], stats["total_calls"], len(stats["tools"])) == ("local", 10, 5)
    assert stats["normalizations"]["direct"] == 5


def test_the_tools_of_the_last_requests_are_known_newest_first() -> None:
    kept = Gates(load_policy(None), "local")
    for tools in ([WEATHER], [READ], [{"type": "web_search"}], [WEATHER]):
        kept.of(json.encode(tools))
    assert kept.recent(5) == [[WEATHER], [READ]]
    assert kept.recent(1) == [[WEATHER]]
