"""Agent Zero with its own loader and tools that note what runs, alone and with the extension: the real one where
AGENT_ZERO names its folder, else our stand-in. Its tools have no schema: the policy says what they need, and what else
models call it."""

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import json

from contract.cases import ARGUMENT_SLIPS, Case, Definition, policy_text
from contract.outcomes import UNSEEN, Seen
from rightcall.hosts.install import agent_zero

sys.path.append(str(Path(__file__).parents[2] / "agent_zero"))
TREES: Any = import_module("agent_zero_trees")
REAL: list[Path] = TREES.REAL

ONLY_REAL = ("broken JSON", "truncated")
"""What is up to Agent Zero's own lenient reader, which the stand-in does not have."""

BLOCK = """
[gate.hosts.agent-zero]
mode = "block"
"""


def drive(cases: Sequence[Case], tools: tuple[Definition, ...], guarded: bool) -> list[Seen | None]:
    with TemporaryDirectory() as folder:
        tree = TREES.tree_of(Path(folder) / "a0", REAL[0] if REAL else "present")
        _add_tools(tree, tools)
        if guarded:
            agent_zero.install(tree.root)
            (tree.root / "rightcall.toml").write_text(policy_text(tools, BLOCK + "".join(map(_rules, tools))))
        turns = tree.send(*(_message(case) for case in cases))
    return [
        _seen(turn) if REAL or case.failure not in ONLY_REAL else UNSEEN
        for case, turn in zip(cases, turns, strict=True)
    ]


def _rules(tool: Definition) -> str:
    required: list[str] = tool.parameters["required"]
    slips = {slip(name): name for name in required for slip in ARGUMENT_SLIPS}
    aliases = ", ".join(f'"{slip}" = "{name}"' for slip, name in slips.items() if slip not in required)
    return f"[gate.tools.{tool.name}]\nrequired = {json.encode(required).decode()}\naliases = {{ {aliases} }}\n"


def _add_tools(tree: Any, tools: tuple[Definition, ...]) -> None:
    place = tree.root / ("python/tools" if tree.layout == "old" else "usr/tools")
    for tool in tools:
        (place / f"{tool.name}.py").write_text(TREES.PROBE.format(helpers=tree.helpers))


def _message(case: Case) -> str:
    """As its models write: one JSON object, with the call in it."""
    if case.text:
        return case.text
    return f'{{"thoughts": ["I will."], "tool_name": "{case.name}", "tool_args": {case.written}' + (
        "" if case.failure == "truncated" else "}"
    )


def _seen(turn: dict[str, Any]) -> Seen:
    ran = tuple((name, arguments) for name, arguments in turn["ran"])
    failed = ": ".join(turn["failed"]) if turn["failed"] else ""
    read = "\n".join([*(str(line) for line in turn["warnings"]), failed]).strip()
    return Seen(ran, read, "approvals approve" in read)
