"""The real Claude Code through the proxy: what its model gets wrong runs at the first try, what is right stays."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import json

from support.claude_code import TOKENS, Conversation, Turn, command_line, run
from support.proxies import Rig, post, proxied
from support.scripted.parts import Part
from support.scripted.server import Answer, NativeCall, ScriptedUpstream, Text

pytestmark = [
    pytest.mark.long,  # it takes seconds to start
    pytest.mark.promise("H-03"),
    pytest.mark.skipif(command_line() is None, reason="claude-agent-sdk's wheel for this platform has no command line"),
]


def reading(file: Path) -> dict[str, Part]:
    """A call that reads the file, in all the ways in which models get it wrong."""
    path = str(file)
    named = json.encode({"name": "Read", "arguments": {"file_path": path}}).decode()
    return {
        "wrong argument name": NativeCall("Read", {"path": path}),
        "wrong tool name": NativeCall("ReadFile", {"file_path": path}),
        "both wrong": NativeCall("read_file", {"filename": path}),
        "Python's quotes": NativeCall("Read", f"{{'file_path': '{path}'}}"),
        "a number as text": NativeCall("Read", {"file_path": path, "limit": "5"}),
        "a number as a word": NativeCall("Read", {"file_path": path, "limit": "five"}),
        "left in text": Text(f"Let me look.\n<tool_call>\n{named}\n</tool_call>"),
        "a fence": Text(f"Let me look.\n```json\n{named}\n```"),
    }


WRONG = list(reading(Path("/")))


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with proxied() as made:
        yield made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("claude")
    (made / "work").mkdir()
    for name in WRONG:
        (made / "work" / name).write_text(f"the words behind {name}\n")
    return made


def answers(folder: Path) -> list[Answer]:
    """One turn for each way, each with a file of its own."""
    parts = [reading(folder / "work" / name)[name] for name in WRONG]
    return [Answer([part], id=f"t{number}", usage=TOKENS) for number, part in enumerate(parts)]


@pytest.fixture(scope="module")
def through(rig: Rig, folder: Path) -> dict[str, Turn]:
    """What became of every wrong call in one run through the proxy."""
    conversation = Conversation(answers(folder))
    rig.upstream.play(conversation)
    assert run(rig.address, folder).strip() == "done"
    return dict(zip(WRONG, conversation.turns, strict=True))


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_runs_at_the_first_try(through: dict[str, Turn], name: str) -> None:
    (result,) = through[name].results
    assert not result.is_error
    assert f"the words behind {name}" in result.text


@pytest.mark.parametrize("name", WRONG)
def test_claude_code_sees_one_right_call(through: dict[str, Turn], folder: Path, name: str) -> None:
    ((tool, arguments),) = through[name].calls
    assert tool == "Read"
    assert arguments["file_path"] == str(folder / "work" / name)
    assert arguments.get("limit") == (5 if "number" in name else None)


def test_without_the_proxy_none_of_them_gives_the_file_but_a_plain_number(folder: Path) -> None:
    """Otherwise the tests above would show nothing. Claude Code reads "5" as 5 by itself by now; a call left in text
    ends the run, and nobody runs it."""
    native = [answer for answer in answers(folder) if answer.calls]
    text = next(answer for answer in answers(folder) if not answer.calls)
    conversation = Conversation([*native, text])
    with ScriptedUpstream(conversation) as upstream:
        printed = run(upstream.address, folder)
    results = [result for turn in conversation.turns for result in turn.results]
    assert len(results) == len(native)
    (read,) = [result.text for result in results if not result.is_error]
    assert "the words behind a number as text" in read
    assert "<tool_call>" in printed


def test_a_right_call_and_quoted_markup_are_untouched(rig: Rig, folder: Path) -> None:
    file = folder / "work" / WRONG[0]
    right = Answer([NativeCall("Read", {"file_path": str(file), "limit": 1})], id="right", usage=TOKENS)
    quoted = 'Write `<tool_call>{"name": "Read", "arguments": {"file_path": "/etc/hostname"}}</tool_call>`, they say.'
    told = Answer([Text(quoted)], id="quoted", usage=TOKENS)
    conversation = Conversation([right, told])
    rig.upstream.play(conversation)
    assert run(rig.address, folder).strip() == quoted
    (turn,) = conversation.turns
    assert turn.calls == [("Read", {"file_path": str(file), "limit": 1})]
    assert not turn.results[0].is_error
    for request, answer in zip(conversation.asked, (right, told), strict=True):
        rig.upstream.play([answer, answer])
        here, there = (post(url, request.target, request.json) for url in (rig.address, rig.direct))
        assert here.body == there.body
        assert here.headers["content-type"] == there.headers["content-type"]
