"""Command lines and addresses at a door, as a hook judges them."""

from pathlib import Path
from typing import Any, Literal

from msgspec import json

from rightcall.executor.door import Door
from rightcall.policy.settings import Limits, Policy, Window
from rightcall.policy.watch import load_policy

HERE = Path(__file__).parents[1] / "policy" / "commands"
UNCOUNTED = Limits(Window(), Window(), {})
STRENGTH = {"allow": 0, "ask": 1, "deny": 2}


def rows(name: str) -> list[dict[str, Any]]:
    return [json.decode(line) for line in (HERE / f"{name}.jsonl").read_bytes().splitlines()]


class Desk:
    """A door that counts nothing, with one tool that takes a command and one that takes an address."""

    def __init__(self, root: Path, **policy: Any) -> None:
        from msgspec.structs import replace

        loaded: Policy = load_policy({"version": 1, **policy})
        settings = replace(loaded.settings, repeats=0, quarantine=0, limits=UNCOUNTED)
        tools = [
            {"name": name, "parameters": {"type": "object", "properties": {name: {}}}} for name in ("command", "url")
        ]
        self.asked = 0
        self.root = str(root.resolve())
        self.door = Door.open(
            "test", replace(loaded, settings=settings), tools=tools, root=root, store="memory", mode="block"
        )

    def judge(self, value: Any, kind: Literal["command", "url"] = "command") -> tuple[str, str, str]:
        self.asked += 1  # a caller of its own for each: only so many questions wait for one
        passage = self.door.judge(kind, {kind: value}, caller=f"caller-{self.asked}")
        return passage.action, passage.decision.rule, passage.decision.reason
