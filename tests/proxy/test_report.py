"""What the proxy says it did: counts for the client, and a record of every call for the audit."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import json
from openai._streaming import SSEDecoder

from rightcall import load_policy
from rightcall.base.secrets import Redactor
from rightcall.proxy.gates import LOOKED_AT, Did, Gates, Provenance, Settler, notes, render_comment, render_header
from rightcall.record.tables import CallBody, encode, read_call
from rightcall.types import Call, Verdict
from support.every import every

pytestmark = pytest.mark.promise("H-03")

HIDE = Redactor(b"the key of a store")
TOOLS = json.encode(
    [
        {
            "name": "weather",
            "input_schema": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "api_key": {"type": "string"}},
                "required": ["city"],
            },
        },
        {
            "name": "Read",
            "input_schema": {
                "type": "object",
                "properties": {"file_path": {"type": "string"}, "limit": {"type": "number"}},
                "required": ["file_path"],
            },
        },
    ]
)
LIFTED = '<tool_call>{"name": "weather", "arguments": {"city": "Bern"}}</tool_call>'


@pytest.fixture(scope="module")
def settler() -> Settler:
    gate = Gates(load_policy(None), "local").of(TOOLS)
    assert gate is not None
    return Settler(gate, new_id=lambda: "call_1")


def lifted(settler: Settler, text: str = LIFTED) -> Did:
    (verdict,) = settler.gate.read(text).calls
    return Did("lifted", verdict, "weather", text)


def did(*fates: Any) -> list[Did]:
    return [Did(fate, Verdict(True, None), "add") for fate in fates]


def noted(one: Did, **about: Any) -> CallBody:
    facts: Any = {"wire": "openai_chat", "model": "qwen3:4b", "provider": "local"} | about
    (found,) = notes([one], HIDE, Provenance(**facts))
    assert read_call(encode(found)) == found, "what is recorded is read back as it is"
    return found


# ── for the client ───────────────────────────────────────────────────────────────────────────────────────────────


@every(
    ("fates", "facts", "words"),
    [
        ((), {}, None),
        (("right", "unknown"), {}, None),
        (("right", "unknown"), {"observe": True}, None),
        (("right", "repaired", "lifted"), {}, "repaired=1 lifted=1"),
        (("left", "repeated", "repaired", "repaired"), {}, "repaired=2 left=1 repeated=1"),
        (("right",), {"retries": 2, "taught": True}, "retried=2 taught=1"),
        (("repaired", "lifted", "lifted", "left"), {"observe": True}, "would-repair=1 would-lift=2 left=1"),
    ],
)
def test_the_header_counts_what_was_done_and_is_not_there_when_nothing_was(
    fates: tuple[Any, ...], facts: Any, words: str | None
) -> None:
    assert render_header(did(*fates), **facts) == words
    assert render_comment(words) == (b"" if words is None else f": rightcall {words}\n\n".encode())


@pytest.mark.promise("A-07")
def test_nothing_that_a_model_wrote_comes_into_the_header(settler: Settler) -> None:
    hostile = "weather\r\nset-cookie: a=b\u202e"
    _, left = settler.native(hostile, '{"city": "\\r\\nx: y"}', "a\r\nb")
    assert render_header([left._replace(fate="left")]) == "left=1"


def test_clients_skip_the_comment_in_a_stream() -> None:
    stream = b'data: {"n": 1}\n\n' + render_comment(render_header(did("repaired"))) + b"data: [DONE]\n\n"
    events = [event.data for event in SSEDecoder().iter_bytes(iter([stream]))]
    assert events == ['{"n": 1}', "[DONE]"]


# ── for the audit ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.promise("A-02")
def test_a_repaired_call_is_recorded_with_what_was_written_and_every_repair(settler: Settler) -> None:
    _, repaired = settler.native("read_file", "{'path':'a.py', 'limit':'5'}", "call_7")
    body = noted(repaired, retries=1, taught=True, policy="abc", caller="editor")
    assert (body.decision, body.rule, body.tool, body.written) == ("passed", "proxy:repaired", "Read", "read_file")
    assert body.params == {"file_path": "a.py", "limit": 5}
    assert body.emission == "{'path':'a.py', 'limit':'5'}"
    assert [(one["path"], one["before"], one["after"], one["rule"]) for one in body.repairs] == [
        ("", "read_file", "Read", "tool_alias"),
        ("", "{'path':'a.py', 'limit':'5'}", {"path": "a.py", "limit": "5"}, "single_quotes"),
        ("path", "path", "file_path", "alias"),
        ("limit", "5", 5, "number_text"),
    ]
    assert {one["confidence"] for one in body.repairs} == {1.0}
    assert [one["strategy"] for one in body.repairs] == ["manual_repair", "python_ast", "manual_repair", "structure"]
    assert (body.caller, body.provider, body.wire, body.model) == ("editor", "local", "openai_chat", "qwen3:4b")
    assert (body.retries, body.taught, body.policy, body.origin) == (1, True, "abc", "native")


def test_a_right_call_is_recorded_too_and_only_once(settler: Settler) -> None:
    _, right = settler.native("weather", '{"city": "Bern"}', "call_7")
    body = noted(right)
    assert (body.rule, body.tool, body.params, body.strategy) == ("proxy:right", "weather", {"city": "Bern"}, "direct")
    assert (body.emission, body.repairs, body.problems, body.written) == (None, (), (), "")
    assert body.caller == "proxy"


def test_a_call_out_of_the_text_is_recorded_with_that_text(settler: Settler) -> None:
    body = noted(lifted(settler))
    assert (body.rule, body.origin, body.emission) == ("proxy:lifted", "text", LIFTED)
    assert body.params == {"city": "Bern"}


def test_a_call_that_was_left_is_recorded_with_its_problems_and_the_hint(settler: Settler) -> None:
    _, left = settler.native("weather", '{"days": "soon"}', "call_7")
    body = noted(left)
    assert (body.rule, body.strategy, body.confidence) == ("proxy:left", "failed", 0.0)
    assert [one["code"] for one in body.problems] == ["missing", "type"]
    assert body.reason.startswith("⚠️ Invalid weather call. Missing required fields: city.")


def test_a_call_whose_markup_holds_none_is_recorded_as_text(settler: Settler) -> None:
    text = '<tool_call>{"name": "weather", "arguments": {"city": ,,,'
    (verdict,) = settler.gate.read(text).calls
    body = noted(Did("left", verdict, "", text))
    assert (body.origin, body.emission, body.tool, body.params) == ("text", text, "", None)


def test_under_observe_the_record_says_what_would_have_been_done(settler: Settler) -> None:
    _, repaired = settler.native("read_file", {"file_path": "a.py"}, "call_7")
    assert noted(repaired, observe=True).rule == "proxy:would-repair"
    assert noted(lifted(settler), observe=True).rule == "proxy:would-lift"


def test_a_call_that_only_lacked_an_id_says_so(settler: Settler) -> None:
    _, named = settler.native("weather", {"city": "Bern"}, None)
    assert (named.fate, "had no id" in noted(named).reason) == ("repaired", True)


def test_the_digest_of_a_call_is_the_one_that_an_executor_would_record(settler: Settler) -> None:
    from rightcall.executor.request import canonical

    _, right = settler.native("weather", {"days": 2, "city": "Bern"}, "call_7")
    assert noted(right).digest == canonical("weather", {"city": "Bern", "days": 2}).digest


SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"

_secret_places: dict[str, Callable[[Settler], Did]] = {
    "in an argument": lambda s: s.native("weather", {"city": "Bern", "api_key": SECRET}, "a")[1],
    "by its shape": lambda s: s.native("weather", {"city": SECRET}, "a")[1],
    "in a broken call": lambda s: s.native("weather", f"{{'city': 'Bern', 'api_key': '{SECRET}'}}", "a")[1],
    "in a dropped argument": lambda s: s.native("weather", {"city": "Bern", "password": SECRET}, "a")[1],
    "in a wrong value": lambda s: s.native("weather", {"city": "Bern", "days": SECRET}, "a")[1],
    "in the name": lambda s: s.native(SECRET, {}, "a")[1],
    "in the text": lambda s: lifted(
        s, f'<tool_call>{{"name": "weather", "arguments": {{"city": "Bern", "api_key": "{SECRET}"}}}}</tool_call>'
    ),
    "at the end of a long text": lambda s: s.native("weather", {"city": "x " * 8000 + SECRET}, "a")[1],
    "where a long text is cut": lambda s: s.native("weather", {"city": "x" * 7980 + " " + SECRET * 300}, "a")[1],
}


@pytest.mark.promise("A-02")
@every("place", _secret_places)
def test_no_secret_comes_into_a_record(place: str, settler: Settler) -> None:
    body = noted(_secret_places[place](settler))
    assert SECRET[8:30].encode() not in encode(body)


@pytest.mark.promise("A-02")
@pytest.mark.parametrize("place", ["in an argument", "at the end of a long text"])
def test_a_digest_that_covers_what_the_record_does_not_show_is_keyed(place: str, settler: Settler) -> None:
    assert noted(_secret_places[place](settler)).digest.startswith("keyed:")


def test_secrets_of_the_model_s_and_the_caller_s_name_are_hidden_and_long_names_cut(settler: Settler) -> None:
    _, right = settler.native("weather", {"city": "Bern"}, "call_7")
    body = noted(right, model=f"m {SECRET}", caller=f"x {SECRET}")
    assert SECRET.encode() not in encode(body)
    assert len(noted(right, model="m" * 5000).model) == 200


@pytest.mark.parametrize(
    "arguments",
    [
        {"city": "x" * 900_000},
        {"city": "Bern", "more": ["word"] * 100_000},
        {"city": "Bern", "more": {str(n): {"a": {"b": {"c": {"d": "x" * 5000}}}} for n in range(90)}},
    ],
    ids=["text", "list", "deep"],
)
def test_a_record_stays_small_whatever_a_model_writes(arguments: Any, settler: Settler) -> None:
    _, did = settler.native("weather", arguments, "call_7")
    assert len(json.encode(arguments)) > LOOKED_AT
    assert len(encode(noted(did))) < 4 * LOOKED_AT


def test_thousands_of_repairs_are_told_by_their_number(settler: Settler) -> None:
    repair = settler.native("weather", {"city": "Bern", "days": "5"}, "call_7")[1].verdict.repairs[0]
    verdict = Verdict(True, Call("weather", {"city": "Bern"}), repairs=(repair,) * 5000)
    body = noted(Did("repaired", verdict, "weather", "{}"))
    assert len(body.repairs) == 201
    assert body.repairs[-1]["before"] == "and 4800 more"


# ── who calls ────────────────────────────────────────────────────────────────────────────────────────────────────
