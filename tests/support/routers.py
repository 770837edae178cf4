"""A router for tests: scripted models, real tools behind a real executor, and a first look that says what it is told.

What needs no model is measured elsewhere; here it is replaced, so that each branch of the loop is taken on purpose.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

from msgspec import json
from msgspec.json import encode

from rightcall import Executor
from rightcall.models.loop import ScriptedModel
from rightcall.router.packet import Candidate, Intent
from rightcall.router.router import Router
from support.cli import write_trusted
from support.scripted.server import Answer, Scripted, ScriptedUpstream, Text

NONE = '{"selected_tool": null, "reasoning": "Nothing to look up.", "confidence": 1.0}'
APPROVED = '{"approved": true, "confidence": 1.0, "reasoning": "Right tool, right city."}'
UNAPPROVED = '{"approved": false, "confidence": 0.9, "reasoning": "Another city was meant."}'
REQUEST = "What is the weather in Oslo?"
WORDS = "It rains in Oslo."
ALLOWED = {"policy": {"write": "ask"}}


def none(reasoning: str) -> str:
    """A selecting model that chooses none, and says why."""
    return encode({"selected_tool": None, "reasoning": reasoning, "confidence": 1.0}).decode()


def choice(tool: str | None = "weather", /, *, confidence: Any = 0.9, alternatives: Any = (), **params: Any) -> str:
    """What a selecting model says."""
    return encode(
        {
            "selected_tool": tool, "params": params or {"city": "Oslo"}, "reasoning": "It asks for weather.",
            "confidence": confidence, "alternatives": alternatives,
        }
    ).decode()  # fmt: skip


def looks(
    answer: Any = "call", *, probability: float = 0.99, sure: bool = True, missing: tuple[str, ...] = ()
) -> Callable[..., Intent]:
    return lambda text, caller=None: Intent(answer, probability, sure, missing=missing)


def ranks(*names: str, confidence: float = 0.99) -> Callable[..., list[Candidate]]:
    rest = (1 - confidence) / max(len(names) - 1, 1)
    found = [Candidate(name, 1.0 - at / 10, rest if at else confidence) for at, name in enumerate(names)]
    return lambda text, limit=5, caller=None: found


class Shop:
    """An executor with three tools, and what they did."""

    def __init__(self, root: Path, policy: Any = None, **options: Any) -> None:
        self.trace: list[Any] = []
        given: dict[str, Any] = {"store": "memory"} | options
        self.executor = Executor.open(root, policy, code=False, **given)

        @self.executor.tool(effects=["read"], repeatable=True)
        def weather(city: str, days: int = 1) -> str:
            """The weather of a city."""
            self.trace.append(("weather", city, days))
            return f"rain in {city}"

        @self.executor.tool(effects=["write"], preview=lambda arguments: f"would write {arguments['path']}")
        def save(path: str, content: str = "") -> str:
            """Save a file."""
            self.trace.append(("save", path, content))
            return f"saved {path}"

        @self.executor.tool(effects=["read"], repeatable=True)
        def fail(reason: str) -> None:
            """Always fails."""
            self.trace.append(("fail", reason))
            raise ValueError(reason)

    def router(self, replies: Any, **options: Any) -> Router:
        """A router with the script of one model, or with models."""
        model = ScriptedModel(replies) if isinstance(replies, list) else replies
        first = {"needs_tool": looks(), "candidates": ranks("weather", "save", "fail")}
        return Router(self.executor, model, **(first | options))

    def entries(self) -> list[Any]:
        return self.executor.store.look(lambda tables: list(tables.entries()))


def within(shop: Shop, work: Callable[[], Awaitable[Any]]) -> Any:
    """Run some work while the executor is open."""

    async def main() -> Any:
        async with shop.executor:
            return await work()

    return asyncio.run(main())


def answered(shop: Shop, replies: Any, text: str = REQUEST, session: str = "", **options: Any) -> Any:
    """The whole loop, once."""
    router = shop.router(replies, **options)
    return within(shop, lambda: router.answer(text, session))


def steps(packet: Any) -> list[str]:
    return [line.step for line in packet.reasoning.reflection_log]


def asked(model: ScriptedModel) -> Iterable[str]:
    return [question.said for question in model.asked]


READING = "read the file docs/design.md"
EVIL = "\x1b[31m\u202eevil\x07"
SURE, READS = 0.01, {"path": "docs/design.md"}


def says(*texts: str) -> list[Scripted]:
    return [Answer([Text(text)]) for text in texts]


def reads(**more: Any) -> str:
    """The model chooses to read the file."""
    return choice("code/read", **(READS | more))


def whole_loop(answer: str = "It says: Design.") -> list[Scripted]:
    return says(reads(), APPROVED, NONE, answer)


def write_policy(folder: Path, server: ScriptedUpstream, *tables: str, **router: Any) -> None:
    """Every request with tools counts as one that needs one: how that is found is measured elsewhere."""
    settings = {"mode": "keywords", "threshold": SURE} | router
    lines = [f"{key} = {json.encode(value).decode()}" for key, value in settings.items()]
    model = ["[router.prime]", f'url = "{server.address}"', 'model = "small"']
    write_trusted(folder / "rightcall.toml", "\n".join(["[router]", *lines, *model, *tables, ""]))


def write_folder(folder: Path) -> None:
    (folder / "docs").mkdir()
    (folder / "docs" / "design.md").write_text("# Design\n")
