"""The scenarios of design 002 §12, with a scripted model and real tools on real files."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rightcall.executor.executor import Executor
from rightcall.models.loop import LoopResult, ScriptedModel, run_loop
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import CallBody, ManualClock
from support.loops import anthropic, code_base, code_tools, openai, records, written

Message = dict[str, Any]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A real database, at one moment that does not pass."""
    kept = SqliteStore(tmp_path / "audit.db", ManualClock())
    yield kept
    kept.close()


def opened(folder: Path, store: SqliteStore, policy: dict[str, Any] | None = None) -> Executor:
    return Executor.open(code_base(folder), policy, tools=code_tools(folder), store=store)


def quoting(pattern: str, sentence: str) -> Any:
    """A reply that can only be made by a model that has read the tool's result."""

    def reply(messages: list[Message]) -> str:
        found = re.findall(pattern, messages[-1]["content"])
        return sentence.format(", ".join(found)) if found else "I found nothing."

    return reply


def used(store: SqliteStore, caller: str | None = None) -> list[tuple[str, Any]]:
    return [(one.tool, one.params) for one in records(store, caller)]


@pytest.mark.promise("X-01")
def test_reads_code_when_asked_about_an_implementation(tmp_path: Path, store: SqliteStore) -> None:
    model = ScriptedModel(
        {
            "How does": f"Let me look. {written('code/read', path='system/CognitionLogger.ts')}",
            "[Tool: code/read]": quoting(r"static (\w+)\(", "{} is a static method of CognitionLogger."),
        }
    )

    async def main() -> LoopResult:
        async with opened(tmp_path, store) as executor:
            question = "How does CognitionLogger.logStateSnapshot work?"
            return await run_loop(model, executor, question, caller="test-coder-ai", context="room")

    result = asyncio.run(main())
    assert used(store) == [("code/read", {"path": "system/CognitionLogger.ts"})]
    assert result.text == "logStateSnapshot is a static method of CognitionLogger."
    assert result.stopped == "answer"


@pytest.mark.promise("X-01")
def test_searches_the_code_base_when_asked_about_usage(tmp_path: Path, store: SqliteStore) -> None:
    model = ScriptedModel(
        {
            "Where is": written("code/search", pattern="CognitionLogger"),
            "[Tool: code/search]": quoting(r"(system/\w+\.ts):1", "It is found and imported in {}."),
        }
    )

    async def main() -> LoopResult:
        async with opened(tmp_path, store) as executor:
            question = "Where is CognitionLogger used in the system?"
            return await run_loop(model, executor, question, caller="test-coder-ai")

    result = asyncio.run(main())
    assert used(store) == [("code/search", {"pattern": "CognitionLogger"})]
    assert result.text == "It is found and imported in system/CognitionLogger.ts, system/PersonaUser.ts."


def about_a_file(messages: list[Message]) -> str:
    """Asks for the file it is asked about, and tells what became of that."""
    said = messages[-1]["content"]
    if asked := re.search(r"Tell me about file (\d+)\.ts", said):
        return written("code/read", path=f"file{asked[1]}.ts")
    limited = re.search(r"Rate limit exceeded.*?Try again in ([\d.]+ s)", said, re.DOTALL)
    return f"I hit the rate limit and have to wait {limited[1]}." if limited else "It is empty but for a number."


@pytest.mark.promise("P-02")
def test_of_fifteen_rapid_questions_some_are_answered_and_the_others_say_that_they_must_wait(
    tmp_path: Path, store: SqliteStore
) -> None:
    for number in range(15):
        (tmp_path / f"file{number}.ts").write_text(f"export const n = {number};\n")
    policy = {"policy": {"preset": "swarm"}}

    async def main() -> list[LoopResult]:
        async with opened(tmp_path, store, policy) as executor:
            questions = (
                run_loop(about_a_file, executor, f"Tell me about file {number}.ts", caller="test-coder-ai")
                for number in range(15)
            )
            return await asyncio.gather(*questions)

    results = asyncio.run(main())
    limited = [result for result in results if "rate limit" in result.text and "wait" in result.text]
    answered = [result for result in results if result.text == "It is empty but for a number."]
    assert (len(answered), len(limited)) == (3, 12)  # within one moment: the swarm's burst
    assert {one.rule for one in records(store) if one.decision == "deny"} == {"limit:caller:burst"}
    assert len({result.context for result in results}) == 15


SCRIPTS: dict[str, list[Any]] = {
    "Claude": [
        written("code/read", path="system/CognitionLogger.ts"),
        quoting(r"// (.*) is missing", "I found the issue: {} is not written."),
    ],
    "DeepSeek": [
        written("code/search", pattern="workingMemory"),
        written("code/read", path="system/PersonaUser.ts"),
        quoting(r"\(\{ (\w+) \}\)", "The caller does pass {}, so the issue is in the logger."),
    ],
    "Grok": [
        openai("code/search", pattern="CognitionLogger"),
        openai("code/read", "c2", path="system/CognitionLogger.ts"),
        "I agree with Claude.",
    ],
}


@pytest.mark.promise("A-06")
def test_three_callers_at_once_debug_together_and_their_records_can_be_told_apart(
    tmp_path: Path, store: SqliteStore
) -> None:
    report = "Bug: CognitionLogger is not logging working memory correctly. Can you investigate?"

    async def main() -> dict[str, LoopResult]:
        async with opened(tmp_path, store) as executor:
            loops = [
                run_loop(
                    ScriptedModel(script),
                    executor,
                    report,
                    caller=caller,
                    native="openai" if caller == "Grok" else None,
                )
                for caller, script in SCRIPTS.items()
            ]
            return dict(zip(SCRIPTS, await asyncio.gather(*loops), strict=True))

    results = asyncio.run(main())
    assert used(store, "Claude") == [("code/read", {"path": "system/CognitionLogger.ts"})]
    assert used(store, "DeepSeek") == [
        ("code/search", {"pattern": "workingMemory"}),
        ("code/read", {"path": "system/PersonaUser.ts"}),
    ]
    assert used(store, "Grok") == [
        ("code/search", {"pattern": "CognitionLogger"}),
        ("code/read", {"path": "system/CognitionLogger.ts"}),
    ]
    for caller, result in results.items():
        own = records(store, caller)
        assert {one.context for one in own} == {result.context}
        assert [one.step for one in own] == [str(number) for number in range(1, len(own) + 1)]
    assert len({result.context for result in results.values()}) == 3
    assert results["Claude"].text == "I found the issue: workingMemory is not written."
    assert results["DeepSeek"].text == "The caller does pass workingMemory, so the issue is in the logger."
    assert {result.stopped for result in results.values()} == {"answer"}


@pytest.mark.promise("A-06")
def test_three_callers_in_one_room_share_its_context(tmp_path: Path, store: SqliteStore) -> None:
    async def main() -> None:
        async with opened(tmp_path, store) as executor:
            call = written("code/search", pattern="Room")
            loops = (
                run_loop(ScriptedModel([call, "Done."]), executor, "Look.", caller=caller, context="debug-session")
                for caller in SCRIPTS
            )
            await asyncio.gather(*loops)

    asyncio.run(main())
    assert {(one.caller, one.context) for one in records(store)} == {(caller, "debug-session") for caller in SCRIPTS}


def comparable(result: LoopResult) -> list[Any]:
    """What came of a request, without times, ids and record numbers."""
    return [
        (one.tool, one.ok, one.status, one.content, one.result, one.error, one.hint, one.decision and one.decision.rule)
        for one in result.outcomes
    ]


def without_form(body: CallBody) -> tuple[Any, ...]:
    exact = body.digest if body.decision == "allow" else ""  # a refused call is known by how it was written
    return body.tool, body.params, exact, body.decision, body.rule, body.step


@pytest.mark.promise("X-01", "O-02")
def test_text_and_native_models_get_the_same_outcomes_and_leave_the_same_records(
    tmp_path: Path, store: SqliteStore
) -> None:
    steps: list[tuple[str, dict[str, Any]]] = [
        ("code/read", {"path": "system/CognitionLogger.ts"}),
        ("code/search", {"pattern": "Room"}),
        ("code/read", {}),
        ("erase", {"path": "system/Room.ts"}),
        ("code/read", {"path": "no/such/file.ts"}),
    ]
    found: list[tuple[list[Any], list[Any]]] = []
    for call, native in ((written, None), (openai, "openai"), (anthropic, "anthropic")):
        before = len(records(store))
        model = ScriptedModel([*(call(name, **arguments) for name, arguments in steps), "Done."])

        async def main(model: Any = model, native: Any = native) -> LoopResult:
            async with opened(tmp_path, store) as executor:
                return await run_loop(model, executor, "Investigate.", caller=f"{native}", native=native)

        result = asyncio.run(main())
        assert (result.text, result.rounds) == ("Done.", 5)
        found.append((comparable(result), [without_form(body) for body in records(store)[before:]]))
    assert found[0][0][0][1] is True
    assert found[0][0] == found[1][0] == found[2][0]
    assert found[0][1] == found[1][1] == found[2][1]
