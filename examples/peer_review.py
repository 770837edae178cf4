"""Three agents and a person mend a bug: found by search and blame, tried in the sandbox, written on a branch with a
test, reviewed by another agent, merged when the tests pass. A second change breaks the tests and is not merged.

python examples/peer_review.py
"""

import asyncio
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from msgspec.json import encode

from rightcall import Approval, Executor, Outcome, ScriptedModel, run_loop

STATS = "def median(numbers):\n    ordered = sorted(numbers)\n    return ordered[len(ordered) // 2]\n"
FIXED = (
    "def median(numbers):\n    ordered = sorted(numbers)\n    middle = len(ordered) // 2\n"
    "    if len(ordered) % 2:\n        return ordered[middle]\n"
    "    return (ordered[middle - 1] + ordered[middle]) / 2\n"
)
TEST = (
    "import unittest\n\nfrom stats import median\n\n\nclass Median(unittest.TestCase):\n"
    "    def test_of_an_even_number(self):\n        self.assertEqual(median([1, 2, 3, 4]), 2.5)\n"
)
FASTER = "def median(numbers):\n    return numbers[len(numbers) // 2]\n"

POLICY = {
    "policy": {"stage": "full", "write": "ask", "execute": "ask", "rounds": 12},
    "write": {"check": {"command": ["python3", "-m", "unittest", "discover", "-q", "tests"]}},
}


WORDS = ("totalMatches", "totalChanges", "stdout", "branch", "filesChanged", "id", "decision", "status")


def call(tool: str, **arguments: Any) -> str:
    """What a model without native tool calls writes."""
    return f"<tool_call>{encode({'tool': tool, 'params': arguments}).decode()}</tool_call>"


FINDER = [
    call("code/search", pattern="def median"),
    call("code/blame", path="stats.py"),
    call("code/execute/python", code=f"{FIXED}print(median([1, 2, 3, 4]), median([3, 1, 2]))"),
    call("code/create-branch", name="fix-median"),
    call("code/create-test", path="tests/test_median.py", content=TEST),
    call("code/edit", operations=[{"type": "modify", "path": "stats.py", "content": FIXED}]),
    call("code/commit", message="Median of an even number of values"),
    call("code/pull-request", title="Fix the median", body="It took the upper of the two middle values."),
    "The fix is up for review.",
]
HASTY = [
    call("code/create-branch", name="faster-median"),
    call("code/edit", operations=[{"type": "modify", "path": "stats.py", "content": FASTER}], branch="faster-median"),
    call("code/commit", message="No need to sort", branch="faster-median"),
    call("code/pull-request", title="A faster median", body="Sorting is slow.", branch="faster-median"),
    "It is faster now.",
]


def reviewer(branch: str, number: int) -> list[str]:
    return [
        call("code/diff", base=f"main...{branch}"),
        call("code/review", id=number, decision="approve", comment="Reads well."),
        "Approved.",
    ]


def merger(number: int) -> list[str]:
    return [call("code/merge", id=number), "Done what could be done."]


def person(question: Approval) -> str:
    """Ann is asked before anything is written or run, and shown the diff. Here she says yes; in earnest this would be a
    dialog, or `rightcall approvals` in another terminal."""
    print(f"  ann      approves {question.tool} of {question.caller}")
    return "ann"


async def turn(executor: Executor, caller: str, replies: list[str]) -> None:
    """One agent at work: what it called, and what came of it."""
    result = await run_loop(ScriptedModel(replies), executor, "Go on.", caller=caller)
    for outcome in result.outcomes:
        line = told(outcome) if outcome.ok else str(outcome.error).split(". ")[0]
        print(f"  {caller:8} {outcome.tool}: {line}".rstrip(": "))


def told(outcome: Outcome) -> str:
    """The few words of a result that fit a line."""
    result: dict[str, Any] = outcome.result
    return ", ".join(f"{key} {result[key]}" for key in WORDS if key in result).strip()


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


async def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "stats.py").write_text(STATS)
        git(folder, "init", "-q", "-b", "main")
        git(folder, "add", ".")
        git(folder, "-c", "user.name=Bob", "-c", "user.email=bob@example.com", "commit", "-qm", "A median")
        async with Executor.open(folder, POLICY, ask=person) as executor:
            print("a bug is found, mended, reviewed and merged")
            await turn(executor, "finder", FINDER)
            await turn(executor, "reviewer", reviewer("fix-median", 1))
            await turn(executor, "merger", merger(1))
            print("a change that breaks the tests is not")
            await turn(executor, "finder", HASTY)
            await turn(executor, "reviewer", reviewer("faster-median", 2))
            await turn(executor, "merger", merger(2))
        print(f"main: {git(folder, 'log', '--first-parent', '--format=%s', 'main')!r}")
        print(f"checkout clean: {git(folder, 'status', '--porcelain') == ''}")
        print(f"stats.py is the reviewed one: {(folder / 'stats.py').read_text() == FIXED}")


if __name__ == "__main__":
    asyncio.run(main())
