"""Which tools a router has: given in any shape, found without compiling anything, and only those a caller may use."""

import asyncio
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rightcall import Executor, Router, ScriptedModel, tool
from rightcall.router.lexical import ToolText
from rightcall.router.ranking import FEW, FOUND
from rightcall.router.toolset import Toolset
from support.every import every

pytestmark = pytest.mark.promise("T-03")

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}


def weather(city: str) -> str:
    """The weather of a city."""
    return city


@every(
    "given",
    [
        weather,
        [weather],
        {"name": "weather", "parameters": SCHEMA},
        {"tools": [{"name": "weather", "inputSchema": SCHEMA}]},
        [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}],
        [{"name": "weather", "input_schema": SCHEMA}],
        [{"functionDeclarations": [{"name": "weather", "parameters": SCHEMA}]}],
        [ToolText("weather", "", SCHEMA)],
    ],
)
def test_tools_are_taken_in_any_shape(given: Any) -> None:
    tools = Toolset(given, None, None)
    assert [tool.name for tool in tools.offer("default").tools] == ["weather"]
    assert tools.gate(["weather"]).check("weather", {"city": "Oslo"}).ok


def test_no_tools_are_tools_too() -> None:
    assert Toolset(None, None, None).offer("default").tools == []


def test_looking_for_a_tool_compiles_no_schema() -> None:
    broken = {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "no such type"}}}}
    assert near(Toolset([broken], None, None)) == ["weather"]


def numbered(count: int) -> list[dict[str, Any]]:
    return [
        {"name": f"tool_{at}", "description": f"Does the thing number {at}", "parameters": SCHEMA}
        for at in range(count)
    ]


def near(tools: Toolset, caller: str = "default") -> list[str]:
    """The names of what is looked at closely, when somebody asks for the weather."""
    return [one.name for one in tools.near("the weather of Oslo", caller).tools or ()]


def test_of_many_tools_only_the_nearest_are_looked_at_closely() -> None:
    few, many = Toolset(numbered(FEW), None, None), Toolset([*numbered(FEW), weather], None, None)
    assert few.near("the weather of Oslo", "default").hits is None
    assert len(near(few)) == FEW
    assert (len(near(many)), near(many)[0]) == (FOUND, "weather")
    hits = many.near("the weather of Oslo", "default").hits or ()
    assert [hit.name for hit in hits] == near(many)


def test_nothing_known_of_tools_is_not_the_same_as_none() -> None:
    assert Toolset(None, None, None).near("weather", "default").tools is None
    assert Toolset([], None, None).near("weather", "default").tools == []


def test_each_caller_finds_what_it_may_use_and_what_is_new_is_found_at_once(tmp_path: Path) -> None:
    policy = {"callers": {"guest": {"deny": ["weather"]}}}
    executor = Executor.open(tmp_path, policy, store="memory", code=False)
    about = [(one["name"], one["description"]) for one in numbered(FEW)]
    executor.register(*(tool(partial(weather), name=name, description=says, effects=["read"]) for name, says in about))
    tools = Toolset(executor, None, None)
    assert "weather" not in near(tools)
    executor.tool(effects=["read"])(weather)
    assert near(tools)[0] == "weather"
    assert "weather" not in near(tools, "guest")


def test_functions_are_run_by_an_executor_that_is_opened_at_the_first_need() -> None:
    tools = Toolset([weather], None, None)
    assert tools.executor is None

    async def main() -> tuple[Any, Any]:
        try:
            return await tools.running(), await tools.running()
        finally:
            await tools.close()

    first, second = asyncio.run(main())
    assert first is second is tools.executor


def test_a_router_without_a_model_loads_no_executor_and_no_model() -> None:
    code = (
        "import sys; from rightcall import Router; router = Router([{'name': 'add'}]); router.open('add');"
        "print(*(name for name in sys.modules if name.startswith('rightcall.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "rightcall.router.router" in loaded
    assert loaded.isdisjoint(
        {"rightcall.executor.executor", "rightcall.gate.gate", "rightcall.record.sqlite", "rightcall.models.loop"}
    )


@tool(name="shop/stock", description="How many of an article are left.", effects=["read"])
def counted(article: str) -> str:
    """Not for models."""
    return f"3 of {article}"


@tool(effects=["write"])
def order(article: str, quantity: int) -> str:
    """Order an article."""
    return "ordered"


HOURS = {"name": "opening_hours", "description": "When the shop is open.", "parameters": SCHEMA}


@pytest.mark.promise("T-06")
@every("opened", [False, True], ids=["at the first request", "once it is open"])
@every("given", [[counted, order], [HOURS, counted, order]], ids=["functions", "a dict beside them"])
def test_name_description_and_effects_are_those_that_the_author_declared(given: list[Any], opened: bool) -> None:
    chosen = '{"selected_tool": "shop/stock", "params": {"article": "A7"}, "reasoning": "", "confidence": 0.9}'
    approved, none = '{"approved": true, "confidence": 0.9, "reasoning": ""}', '{"selected_tool": null}'
    model = ScriptedModel([chosen, approved, none, "Three."])

    async def main() -> Any:
        router = Router(given, model)
        try:
            if opened:
                await router.__aenter__()
            return (await router.answer("How many of article A7 are left?")).packet.tool_routing
        finally:
            await router.aclose()

    routing = asyncio.run(main())
    offered, reviewed = model.asked[0].said, model.asked[1].said
    assert "- shop/stock: How many of an article are left." in offered
    assert "Not for models" not in offered
    assert offered.count("Note: Requires user approval") == 1, "of the order alone"
    assert "Effects: read\n" in reviewed
    assert routing.execution_result.output == "3 of A7"
    assert (routing.evidence["reads"], routing.confidence) == (1.0, 0.9), "two models agree on a read"
