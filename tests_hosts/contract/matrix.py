"""What each door does about each failure, stated beforehand; beside it what its host does without RightCall.

`test_contract.py` measures both with the real packages and programs. The order is that of `cases.FAILURES`.
"""

from importlib import import_module
from typing import Final

from msgspec import Struct

from contract.cases import FAILURES, Case, Definition, Failure
from contract.outcomes import Outcome, Seen, outcome

RUNS: Final = "runs"
WRONG: Final = "runs wrong"
WHY: Final = "says why"
FAILS: Final = "fails"
NONE: Final = "nothing"
STOPS: Final = "stops"
ASKS: Final = "asks"
UNSEEN: Final = "unseen"


class Row(Struct, frozen=True):
    """One door: how it is called in the docs, what happens at its host alone, and with it."""

    title: str
    alone: tuple[Outcome, ...]
    guarded: tuple[Outcome, ...]
    real_only: tuple[Failure, ...] = ()
    """What a stand-in for the host cannot show: measured where the real one is."""

    def stated(self, guarded: bool) -> dict[Failure, Outcome]:
        return dict(zip(FAILURES, self.guarded if guarded else self.alone, strict=True))


#             argument  tool    JSON    text    missing refusal approval truncated
PLAIN: Final = (WHY, FAILS, WHY, NONE, WHY, RUNS, RUNS, WHY)
"""A client of a model's API that runs only exact names with valid JSON that fits the schema."""

MATRIX: Final[dict[str, Row]] = {
    "library": Row("Library (`Gate`)", PLAIN, (RUNS, RUNS, RUNS, RUNS, WHY, RUNS, RUNS, WHY)),
    "executor": Row("Executor", PLAIN, (RUNS, RUNS, RUNS, RUNS, WHY, WHY, ASKS, WHY)),
    "proxy": Row("Proxy", PLAIN, (RUNS, RUNS, RUNS, RUNS, WHY, RUNS, RUNS, WHY)),
    "wrap": Row(
        "`rightcall wrap` (MCP)",
        (WHY, FAILS, UNSEEN, UNSEEN, WHY, RUNS, RUNS, UNSEEN),
        (RUNS, RUNS, UNSEEN, UNSEEN, WHY, WHY, ASKS, UNSEEN),
    ),
    "gateway": Row(
        "Gateway of `rightcall serve` (MCP)",
        (WHY, FAILS, UNSEEN, UNSEEN, WHY, RUNS, RUNS, UNSEEN),
        (RUNS, RUNS, UNSEEN, UNSEEN, WHY, WHY, ASKS, UNSEEN),
    ),
    "hook_claude": Row(
        "Hook of Claude Code",
        (WHY, FAILS, WHY, NONE, WHY, RUNS, RUNS, WHY),
        (RUNS, FAILS, WHY, NONE, WHY, WHY, ASKS, WHY),
    ),
    "hook_gemini": Row(
        "Hook of Gemini CLI",
        (WHY, WHY, UNSEEN, NONE, WHY, RUNS, RUNS, UNSEEN),
        (WHY, WHY, UNSEEN, NONE, WHY, WHY, ASKS, UNSEEN),
    ),
    "hook_codex": Row(
        "Hook of Codex",
        (WHY, FAILS, FAILS, NONE, WHY, RUNS, RUNS, STOPS),
        (RUNS, FAILS, RUNS, NONE, WHY, WHY, ASKS, STOPS),
    ),
    "agent_zero": Row(
        "Agent Zero",
        (WRONG, FAILS, RUNS, FAILS, WRONG, RUNS, RUNS, WRONG),
        (RUNS, RUNS, RUNS, RUNS, WHY, WHY, ASKS, WHY),
        real_only=("broken JSON", "truncated"),
    ),
    "claude_sdk": Row(
        "Claude Agent SDK",
        (WHY, FAILS, WHY, NONE, WHY, RUNS, RUNS, WHY),
        (RUNS, FAILS, WHY, NONE, WHY, WHY, ASKS, WHY),
    ),
    "pydantic_ai": Row(
        "pydantic-ai",
        (WHY, WHY, WHY, NONE, WHY, RUNS, RUNS, FAILS),
        (RUNS, RUNS, RUNS, RUNS, WHY, WHY, ASKS, WHY),
    ),
    "langchain": Row(
        "LangChain",
        (WHY, WHY, NONE, NONE, WHY, RUNS, RUNS, NONE),
        (RUNS, RUNS, RUNS, RUNS, WHY, WHY, ASKS, WHY),
    ),
    "openai_agents": Row(
        "OpenAI Agents",
        (FAILS, STOPS, FAILS, NONE, FAILS, RUNS, RUNS, FAILS),
        (RUNS, RUNS, RUNS, RUNS, WHY, WHY, ASKS, WHY),
    ),
    "fastmcp": Row(
        "FastMCP",
        (WHY, FAILS, UNSEEN, UNSEEN, WHY, RUNS, RUNS, UNSEEN),
        (RUNS, RUNS, UNSEEN, UNSEEN, WHY, WHY, ASKS, UNSEEN),
    ),
    "litellm": Row("LiteLLM", PLAIN, (RUNS, RUNS, RUNS, RUNS, WHY, WHY, ASKS, WHY)),
    "smolagents": Row(
        "smolagents",
        (FAILS, WHY, FAILS, RUNS, WHY, RUNS, RUNS, FAILS),
        (RUNS, RUNS, RUNS, RUNS, WHY, WHY, ASKS, WHY),
    ),
}


def measured(
    door: str, cases: tuple[Case, ...], tools: tuple[Definition, ...], *, guarded: bool
) -> dict[Failure, Outcome]:
    """What the door really does. Its module is loaded now: each needs a package of its own."""
    seen: list[Seen | None] = import_module(f"contract.doors.{door}").drive(cases, tools, guarded)
    return {case.failure: outcome(case, one) for case, one in zip(cases, seen, strict=True)}


WORDS: Final[dict[Outcome, str]] = {
    "runs": "runs",
    "runs wrong": "**runs wrong**",
    "says why": "says why",
    "fails": "fails",
    "nothing": "nothing",
    "stops": "stops",
    "asks": "asks",
    "unseen": "·",
}

LEGEND: Final = """\
Each cell: the host alone → with RightCall. *runs*: the call that was meant · *runs wrong*: another one · *says why*:
not run, and the model reads what was wrong · *fails*: not run, and the model reads only that · *nothing*: not run, and
nobody is told · *stops*: the whole run ends · *asks*: it waits for a person · `·`: it never comes here, the client or
host has dealt with it before."""


def markdown(alone: dict[str, dict[Failure, Outcome]], guarded: dict[str, dict[Failure, Outcome]]) -> str:
    """The table of the docs."""
    lines = [f"| door | {' | '.join(FAILURES)} |", f"|---{'|---' * len(FAILURES)}|"]
    for door, row in guarded.items():
        cells = [_cell(alone[door][failure], row[failure]) for failure in FAILURES]
        lines.append(f"| {MATRIX[door].title} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", LEGEND])


def _cell(alone: Outcome, guarded: Outcome) -> str:
    return "·" if alone == guarded == "unseen" else f"{WORDS[alone]} → {WORDS[guarded]}"


BEGIN: Final = "<!-- contract matrix: begin -->"
END: Final = "<!-- end -->"


def with_table(page: str) -> str:
    """The page of the docs with the table of what is stated."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    stated = [{door: row.stated(guarded) for door, row in MATRIX.items()} for guarded in (False, True)]
    return f"{before}{BEGIN}\n{markdown(*stated)}\n{END}{after}"
