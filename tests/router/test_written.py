"""Examples of requests that a model wrote once: kept by digest, edited by people, shown to no model."""

import asyncio
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from rightcall import Executor, Gate, ScriptedModel
from rightcall.catalog.sources import LONGEST_EXAMPLE, MOST_EXAMPLES
from rightcall.errors import ModelError, StoreError
from rightcall.router.lexical import ToolText
from rightcall.router.packets import (
    YOU,
    Requests,
    ask_for_requests,
    digest_of,
    examples_file,
    keep_requests,
    load_requests,
    shipped_examples,
    tidy_examples,
    with_written,
)
from rightcall.router.router import Router
from rightcall.router.toolset import Offering

pytestmark = pytest.mark.promise("T-03")

TOOL = ToolText("ledger", "Books a posting.", {"type": "object", "properties": {"amount": {"type": "number"}}})
DIGEST = digest_of(TOOL.name, TOOL.description, TOOL.parameters)
WORDS = ("note down that lunch was twelve euros", "put my train ticket on the books")
HOSTILE = "pay\x1b[31m the\r\nrent\u202e\ud800\x00now"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "root").mkdir()
    return tmp_path / "state"


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path / "root")


def written(reply: Any) -> Requests:
    return asyncio.run(ask_for_requests(ScriptedModel([reply]), TOOL, Gate()))


def spoil(root: str, text: str) -> None:
    path = Path(examples_file(root))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_a_model_is_asked_with_the_definition_and_its_list_is_kept_for_its_owner_alone(root: str) -> None:
    model = ScriptedModel([json.dumps(WORDS)])
    found = asyncio.run(ask_for_requests(model, TOOL, Gate()))
    assert found == Requests(WORDS, "model", DIGEST)
    assert '"description": "Books a posting."' in model.asked[0].said
    keep_requests(root, TOOL.name, found)
    assert load_requests(root) == {"ledger": found}
    path = examples_file(root)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert os.listdir(root) == []


@pytest.mark.parametrize(
    "reply",
    [
        f"Sure!\n```json\n{json.dumps(WORDS)}\n```",
        f"<think>Which ones?</think>{json.dumps(WORDS)}",
        json.dumps({"requests": WORDS}),
        json.dumps(WORDS)[:-1] + ', "and this was cut o',
        json.dumps([*WORDS, 7, None, "", "  ", WORDS[0]]),
    ],
)
def test_a_list_is_read_however_a_model_wraps_it(reply: str) -> None:
    assert written(reply).examples == WORDS


@pytest.mark.parametrize("reply", ["I would rather not.", '"one text"', "[]", "[1, 2]", '{"a": "b"}', "17"])
def test_what_is_no_list_of_requests_is_told(reply: str) -> None:
    with pytest.raises(ModelError, match="wrote no JSON list of requests") as told:
        written(reply)
    assert told.value.fault == "unreadable"


def test_a_model_that_fails_is_another_fault() -> None:
    with pytest.raises(ModelError, match="no power") as told:
        written(OSError("no power"))
    assert told.value.fault == "unreachable"


def test_hostile_texts_become_short_plain_lines(root: str) -> None:
    found = tidy_examples([HOSTILE, "x" * 1000, *(f"request {at}" for at in range(50))])
    assert found[0] == "pay [31m the rent now"
    assert len(found[1]) == LONGEST_EXAMPLE
    assert len(found) == MOST_EXAMPLES
    spoil(root, json.dumps({"ledger": {"examples": [HOSTILE] * 3 + ["y" * 9999], "by": "you"}}).replace("\\ud800", ""))
    (one,) = load_requests(root).values()
    assert [len(text) for text in one.examples] == [21, LONGEST_EXAMPLE]


def test_the_router_finds_a_tool_by_what_was_written_and_asks_nobody(root: str) -> None:
    keep_requests(root, TOOL.name, Requests(WORDS, "model m", DIGEST))
    assert with_written([TOOL], root)[0].examples == WORDS
    assert with_written([TOOL], os.path.dirname(root)) == [TOOL]
    executor = Executor.open(root, store="memory", code=False)

    @executor.tool(effects=["read"])
    def ledger(amount: float) -> None:
        """Books a posting."""

    @executor.tool(effects=["read"])
    def weather(city: str) -> None:
        """The weather of a city."""

    request = "note down twelve euros for lunch"
    before = {one.name: one.score for one in Router(executor).candidates(request)}
    tool = executor.gate.catalog.tools["ledger"]
    digest = digest_of("ledger", tool.description, tool.schema)
    keep_requests(root, "ledger", Requests(WORDS, "model m", digest))
    after = Router(executor).candidates(request)
    assert after[0].name == "ledger"
    assert after[0].score > before.get("ledger", 0.0) + 1.0
    assert WORDS[0] not in executor.prompt()
    assert WORDS[0] not in json.dumps(executor.definitions("default", "mcp"))
    assert WORDS[0] not in json.dumps(Offering(executor).found(request))


def test_examples_of_another_definition_are_not_used(root: str) -> None:
    keep_requests(root, TOOL.name, Requests(WORDS, "model m", DIGEST))
    changed = ToolText(TOOL.name, "Deletes a posting.", TOOL.parameters)
    assert with_written([changed], root) == [changed]


def test_the_definition_comes_before_what_was_written(root: str) -> None:
    own = ToolText(TOOL.name, TOOL.description, TOOL.parameters, ("book this",))
    keep_requests(root, TOOL.name, Requests(WORDS, "model m", DIGEST))
    assert with_written([own], root) == [own]


def test_what_a_person_wrote_is_never_replaced_and_needs_no_digest(root: str) -> None:
    spoil(root, json.dumps({"ledger": {"examples": ["write it down"]}}))
    assert with_written([TOOL], root)[0].examples == ("write it down",)
    keep_requests(root, TOOL.name, Requests(WORDS, "model m", DIGEST))
    assert load_requests(root)["ledger"] == Requests(("write it down",), YOU, "")


def test_a_model_needs_a_digest(root: str) -> None:
    spoil(root, json.dumps({"ledger": {"examples": ["write it down"], "by": "model m"}}))
    assert with_written([TOOL], root) == [TOOL]


@pytest.mark.parametrize("text", ["{", "[]", '{"ledger": ["a"]}', '{"ledger": {"examples": [1]}}', "\x00"])
def test_a_damaged_file_is_told_ignored_and_never_written_over(
    root: str, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    spoil(root, text)
    assert with_written([TOOL], root) == [TOOL]
    assert "are damaged" in caplog.text
    with pytest.raises(StoreError, match="correct or remove the file"):
        keep_requests(root, TOOL.name, Requests(WORDS, "model m", DIGEST))
    assert Path(examples_file(root)).read_text(encoding="utf-8") == text


def test_a_link_in_its_place_is_not_followed(root: str, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"ledger": {"examples": ["write it down"]}}))
    os.makedirs(os.path.dirname(examples_file(root)))
    os.symlink(other, examples_file(root))
    assert with_written([TOOL], root) == [TOOL]


def test_a_folder_that_cannot_be_written_is_told(root: str, state: Path) -> None:
    state.write_text("a file where the folder should be")  # what the superuser cannot write either
    with pytest.raises(StoreError, match="the examples cannot be saved to "):
        keep_requests(root, TOOL.name, Requests(WORDS, "model m", DIGEST))


def test_our_own_tools_have_theirs() -> None:
    assert all(tidy_examples(texts) == texts for texts in shipped_examples().values())
