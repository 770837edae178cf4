"""Print how the command rules do on the tables of the tests: what passes that should not, and what asks needlessly.

python scripts/commands.py [FILE.jsonl …]     each line: {"command": "…", "answer": "allow" | "ask" | "deny" | "stop"}
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

from msgspec import json

from rightcall.executor.door import Door
from rightcall.policy.commands import CommandRules, UrlRules
from rightcall.policy.commands.judgement import judge_command
from rightcall.policy.commands.places import Place

TABLES = Path(__file__).parent.parent / "tests" / "policy" / "commands"
NAMES = ("commands", "second", "third", "fourth", "fifth", "sixth", "seventh", "held_out")
TOOL = {"name": "sh", "parameters": {"type": "object", "properties": {"command": {}}}}


def main(files: list[str]) -> None:
    for file in map(Path, files or [str(TABLES / f"{name}.jsonl") for name in NAMES]):
        figures(file.name, [json.decode(line) for line in file.read_bytes().splitlines()])
    speed(["ls -la", "git status", "npm run build && npm test", "cat a.py | grep x | sort > out.txt"])


def figures(name: str, rows: list[dict[str, Any]]) -> None:
    passed: list[str] = []
    asked: list[str] = []
    for row in rows:
        answer = judged(row["command"])
        if row["answer"] != "allow" and answer == "allow":
            passed.append(row["command"])
        elif row["answer"] == "allow" and answer != "allow":
            asked.append(row["command"])
    harmless = sum(row["answer"] == "allow" for row in rows)
    print(f"{name}: {len(rows)} lines")
    print(f"  pass and should not   {len(passed)} of {len(rows) - harmless}", *passed[:20], sep="\n    ")
    print(f"  ask needlessly        {len(asked)} of {harmless}", *asked[:20], sep="\n    ")


def judged(command: str) -> str:
    """A door of its own for each, so that nothing is counted."""
    with TemporaryDirectory() as root, Door.open("figures", tools=[TOOL], root=root) as door:
        return door.judge("sh", {"command": command}).action


def speed(commands: list[str]) -> None:
    place, times = Place.at("."), 300
    for command in commands:
        judge_command(command, CommandRules(), UrlRules(), place)
        started = process_time()
        for _ in range(times):
            judge_command(command, CommandRules(), UrlRules(), place)
        print(f"  {(process_time() - started) / times * 1e6:6.0f} µs CPU  {command}")


if __name__ == "__main__":
    main(sys.argv[1:])
