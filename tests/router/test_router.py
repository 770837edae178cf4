"""The whole loop: every branch from the first look to the answer, with a scripted model and tools that really run."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from rightcall import CallError, ConfigError, Router
from rightcall.models.loop import ScriptedModel
from rightcall.policy.types import Grant
from rightcall.record.admission import give_grant
from rightcall.router.packet import Packet
from rightcall.router.packets import PacketStore
from support.every import every
from support.routers import (
    ALLOWED,
    APPROVED,
    NONE,
    REQUEST,
    UNAPPROVED,
    WORDS,
    Shop,
    answered,
    choice,
    looks,
    none,
    ranks,
    steps,
    within,
)

SKIP = {"router": {"below": "skip"}}
RAN = [("weather", "Oslo", 1)]


@pytest.mark.promise("T-08")
def test_one_call_goes_from_the_request_to_an_answer_built_on_the_result(tmp_path: Path) -> None:
    shop, model = Shop(tmp_path), ScriptedModel([choice(), APPROVED, NONE, WORDS])
    done = answered(shop, model, session="s1")
    packet = done.packet
    assert (done.text, packet.content.answer, packet.status.state) == (WORDS, WORDS, "answered")
    assert (packet.header.session_id, packet.header.caller) == ("s1", "default")
    assert packet.context.available_mcp_tools == ("weather", "fail")
    assert shop.trace == RAN
    assert "rain in Oslo" in model.asked[-1].said
    assert model.left == 0


@pytest.mark.promise("T-07")
def test_every_step_stands_in_the_log_with_its_time_and_its_confidence(tmp_path: Path) -> None:
    packet = answered(Shop(tmp_path), [choice(), APPROVED, NONE, WORDS]).packet
    log = packet.reasoning.reflection_log
    assert steps(packet) == [
        "intent_detection", "tool_selection", "confidence_review", "tool_routing", "tool_execution", "tool_selection",
        "response",
    ]  # fmt: skip
    assert [line.confidence is not None for line in log] == [True, True, True, True, True, False, False]
    assert all(line.at and line.milliseconds > 0 for line in log)
    assert [line.step for line in log if line.tokens] == [
        "tool_selection", "confidence_review", "tool_selection", "response",
    ]  # fmt: skip


@pytest.mark.promise("T-07")
def test_the_result_is_taken_in_as_the_design_says(tmp_path: Path) -> None:
    packet = answered(Shop(tmp_path), [choice(), APPROVED, NONE, WORDS]).packet
    (field,) = packet.content.data_fields
    assert (field.key, field.type, field.source) == ("tool_result", "tool_execution_result", "executor")
    assert field.value == {
        "tool": "weather", "params": {"city": "Oslo"}, "success": True, "output": "rain in Oslo", "error": None,
    }  # fmt: skip
    (note,) = packet.reasoning.sketchpad
    assert (note.slot, note.content, note.content_type) == ("latest_tool_result", "rain in Oslo", "tool_output")
    assert packet.tool_routing.reinjection_count == 1


HESITANT = '{"approved": true, "confidence": 0.69}'
FIRST = ranks("save", "weather", "fail")
FAILING = ranks("fail", "weather", "save")
BRANCHES: dict[str, tuple[Any, list[Any], dict[str, Any], tuple[str, str, str], list[Any]]] = {
    # name: policy, replies, what the first look says, (state, status, words in `why`), what ran
    "no tool": (None, [WORDS], {"needs_tool": looks("none")}, ("answered", "pending", ""), []),
    "unsure, so the model decides": (
        None, [NONE, WORDS], {"needs_tool": looks("none", sure=False)}, ("answered", "skipped", ""), [],
    ),
    "the model chose none": (None, [NONE, WORDS], {}, ("answered", "skipped", ""), []),
    "the model chose none, whatever seems to be missing": (
        None, [NONE, WORDS], {"needs_tool": looks("ask", missing=("city",))}, ("answered", "skipped", ""), [],
    ),
    "the model chose none, since it has to know more": (
        None, [none("Which city is meant?"), "Which city?"], {}, ("waiting", "pending", "Which city is meant?"), [],
    ),
    "a value is missing, and the model talks nonsense": (
        None, ["Hm.", "Hm.", "Which city?"], {"needs_tool": looks("ask", missing=("city",))},
        ("waiting", "pending", "city"), [],
    ),
    "a value is missing, and the model is down": (
        None, [RuntimeError("down"), RuntimeError("down")], {"needs_tool": looks("ask", missing=("city",))},
        ("waiting", "pending", "city"), [],
    ),
    "the model knows what seems to be missing": (
        None, [choice(), APPROVED, NONE, WORDS], {"needs_tool": looks("ask", missing=("city",))},
        ("answered", "executed", ""), RAN,
    ),
    "hardly needed, but the model decides": (
        None, [choice(), APPROVED, NONE, WORDS], {"needs_tool": looks("none", probability=0.03, sure=False)},
        ("answered", "executed", ""), RAN,
    ),
    "needed by nothing that is measured": (
        None, [WORDS], {"needs_tool": looks("none", probability=0.005)}, ("answered", "pending", ""), [],
    ),
    "nothing fits": (None, [WORDS], {"candidates": ranks()}, ("answered", "skipped", "no tool fits"), []),
    "unapproved, ask": (
        None, [choice(), UNAPPROVED], {}, ("waiting", "awaiting_confidence", "did not approve"), [],
    ),
    "unapproved, skip": (SKIP, [choice(), UNAPPROVED, WORDS], {}, ("answered", "skipped", "did not approve"), []),
    "low confidence": (
        None, [choice(), HESITANT], {}, ("waiting", "awaiting_confidence", "too low"), [],
    ),
    "unlikely, and two models agree on a read": (
        None, [choice(), APPROVED, NONE, WORDS], {"candidates": ranks("save", "weather", confidence=0.99)},
        ("answered", "executed", ""), RAN,
    ),
    "unlikely, and it would write": (
        ALLOWED, [choice("save", path="a"), APPROVED], {}, ("waiting", "awaiting_confidence", "too low"), [],
    ),
    "a tool fails": (
        None, [choice("fail", reason="broken"), APPROVED, NONE, WORDS], {"candidates": FAILING},
        ("answered", "failed", "broken"), [("fail", "broken")],
    ),
    "another is tried after that": (
        None, [choice("fail", reason="broken"), APPROVED, choice(), APPROVED, NONE, WORDS], {"candidates": FAILING},
        ("answered", "executed", ""), [("fail", "broken"), *RAN],
    ),
    "the same call again ends it": (
        None, [choice(), APPROVED, choice(), WORDS], {}, ("answered", "executed", ""), RAN,
    ),
    "not for this caller": (
        {"callers": {"default": {"deny": ["weather"]}}}, [choice(), choice(), WORDS], {},
        ("answered", "failed", "`weather` is none of the tools"), [],
    ),
    "the policy refuses it": (
        {"policy": {"limits": {"all": {"minute": 1}}}},
        [choice(), APPROVED, choice(city="Rome"), APPROVED, WORDS], {}, ("answered", "failed", "limit"), RAN,
    ),
    "a write is rehearsed": (
        {"policy": {"allow": ["save"]}}, [choice("save", path="a"), APPROVED, WORDS],
        {"candidates": FIRST}, ("answered", "skipped", "dry run"), [],
    ),
    "a write waits for a person": (
        ALLOWED, [choice("save", path="a"), APPROVED], {"candidates": FIRST},
        ("waiting", "awaiting_approval", "can write"), [],
    ),
    "switched off": ({"router": {"enabled": False}}, [WORDS], {}, ("answered", "pending", ""), []),
    "no reinjection, no tool": (
        {"router": {"reinjections": 0}}, [WORDS], {}, ("answered", "skipped", "the most there may be"), [],
    ),
    "one reinjection": (
        {"router": {"reinjections": 1}}, [choice(), APPROVED, WORDS], {}, ("answered", "executed", ""), RAN,
    ),
}  # fmt: skip


@pytest.mark.parametrize("branch", BRANCHES)
@pytest.mark.promise("T-01")
@pytest.mark.promise("T-08")
def test_every_branch_ends_where_it_should(tmp_path: Path, branch: str) -> None:
    policy, replies, first, (state, status, why), ran = BRANCHES[branch]
    shop, model = Shop(tmp_path, policy), ScriptedModel(replies)
    done = answered(shop, model, **first)
    assert (done.packet.status.state, done.packet.tool_routing.execution_status) == (state, status)
    assert why in done.packet.status.why
    assert shop.trace == ran
    assert model.left == 0, "every reply of the script was asked for"
    assert done.text == done.packet.content.answer != ""
    assert done.text.startswith(WORDS) or state == "waiting"
    pretends = status in ("failed", "skipped") and done.packet.tool_routing.selected_tool is not None
    assert done.text.endswith("]") == pretends, "what came to nothing is told beside the model's words"


@pytest.mark.promise("T-07")
def test_at_most_three_results_are_taken_in_then_it_answers_with_what_there_is(tmp_path: Path) -> None:
    rounds = [reply for days in range(1, 4) for reply in (choice(city="Oslo", days=days), APPROVED)]
    shop, model = Shop(tmp_path), ScriptedModel([*rounds, WORDS])
    packet = answered(shop, model).packet
    assert shop.trace == [("weather", "Oslo", days) for days in (1, 2, 3)]
    assert (packet.tool_routing.reinjection_count, packet.tool_routing.max_reinjections) == (3, 3)
    assert "No further tool: 3 results were taken in" in packet.reasoning.reflection_log[-2].summary
    assert model.left == 0
    once = answered(Shop(tmp_path, {"router": {"reinjections": 1}}), ScriptedModel([*rounds[:2], WORDS])).packet
    assert "No further tool: 1 result was taken in" in once.reasoning.reflection_log[-2].summary


@pytest.mark.promise("T-05")
def test_what_is_not_sure_enough_says_what_it_would_do_and_why_not(tmp_path: Path) -> None:
    said = answered(Shop(tmp_path), [choice(), UNAPPROVED]).text
    assert said == (
        'I would run weather with {"city": "Oslo"}, but I am not sure enough that it is right (confidence 0.50). '
        "The review says: “Another city was meant.” Shall I?"
    )


@pytest.mark.promise("T-05")
@pytest.mark.parametrize(("threshold", "runs"), [(0.7, True), (0.71, False), (0.0, True)])
def test_at_the_threshold_it_runs_and_below_it_does_not(tmp_path: Path, threshold: float, runs: bool) -> None:
    shop = Shop(tmp_path, {"router": {"threshold": threshold, "below": "skip"}})
    sure = '{"approved": true, "confidence": 0.7}'
    replies = [choice(), sure, NONE, WORDS] if runs else [choice(), sure, WORDS]
    confidence = answered(shop, replies).packet.tool_routing.confidence
    assert (confidence, bool(shop.trace)) == (0.7, runs)


@pytest.mark.promise("T-05")
@pytest.mark.parametrize("reviewed", [UNAPPROVED, RuntimeError("down"), "no idea"])
def test_no_threshold_makes_up_for_a_review_that_did_not_approve(tmp_path: Path, reviewed: Any) -> None:
    shop = Shop(tmp_path, {"router": {"threshold": 0.0, "below": "skip"}})
    done = answered(shop, [choice(), reviewed, WORDS])
    assert (done.packet.tool_routing.execution_status, shop.trace) == ("skipped", [])


@pytest.mark.promise("T-06")
@pytest.mark.parametrize(("said", "status"), [("ann", "executed"), (None, "user_denied")])
def test_a_tool_that_writes_asks_a_person_however_sure_the_router_is(
    tmp_path: Path, said: str | None, status: str
) -> None:
    shown: list[Any] = []

    def ask(approval: Any) -> str | None:
        shown.append(approval)
        return said

    shop = Shop(tmp_path, ALLOWED, ask=ask)
    replies = [choice("save", path="a"), APPROVED, *([NONE] if said else []), WORDS]
    sure = {"needs_tool": looks(probability=1.0), "candidates": ranks("save", confidence=1.0)}
    done = answered(shop, replies, **sure)
    assert done.packet.tool_routing.confidence > 0.99
    assert done.packet.tool_routing.execution_status == status
    assert bool(shop.trace) is (said == "ann")
    assert "would write a" in shown[0].details, "the person sees what it would do"


@pytest.mark.promise("T-06")
@pytest.mark.parametrize("granted", [False, True])
def test_a_write_needs_a_person_unless_one_has_said_yes_in_advance(tmp_path: Path, granted: bool) -> None:
    shop = Shop(tmp_path, ALLOWED)
    router = shop.router([choice("save", path="a"), APPROVED, NONE, WORDS], candidates=FIRST)

    async def work() -> Any:
        store = shop.executor.store
        grant = Grant("g1", "default", "save", {"path": "a"}, 1, store.clock.now() + 10**12, "ann", "")
        if granted:
            store.transact(lambda tables: give_grant(tables, grant))
        return await router.answer(REQUEST)

    routing = within(shop, work).packet.tool_routing
    assert routing.execution_status == ("executed" if granted else "awaiting_approval")
    assert bool(shop.trace) is granted


@pytest.mark.promise("T-06")
def test_where_the_policy_says_allow_nobody_is_asked(tmp_path: Path) -> None:
    shop = Shop(tmp_path, {"policy": {"write": "allow"}})
    model = ScriptedModel([choice("save", path="a"), APPROVED, NONE, WORDS])
    assert answered(shop, model, candidates=FIRST).packet.tool_routing.execution_status == "executed"
    assert len(shop.trace) == 1


@pytest.mark.promise("T-06")
def test_without_a_word_a_write_is_only_rehearsed(tmp_path: Path) -> None:
    listed = {"policy": {"allow": ["save"]}}
    shop, model = Shop(tmp_path, listed), ScriptedModel([choice("save", path="a"), APPROVED, "Nothing was saved."])
    packet = answered(shop, model, candidates=FIRST).packet
    assert shop.trace == []
    result = packet.tool_routing.execution_result
    assert result is not None
    assert (result.success, result.error) == (False, "it was a dry run: nothing was changed")
    assert "would write a" in result.output
    assert "it was a dry run: nothing was changed" in model.asked[-1].said


@pytest.mark.promise("T-07")
def test_calls_and_decisions_without_one_stand_in_the_audit_under_the_packet(tmp_path: Path) -> None:
    shop = Shop(tmp_path, SKIP)
    router = shop.router([choice(), APPROVED, NONE, WORDS, choice(), UNAPPROVED, WORDS])

    async def work() -> Any:
        ran = await router.answer("My password: hunter2secret. Weather in Oslo?")
        skipped = await router.answer(REQUEST)
        return ran, skipped, [(entry.kind, entry.body.decode()) for entry in shop.entries()]

    ran, skipped, entries = within(shop, work)
    (began,) = [body for kind, body in entries if kind == "begin"]
    assert f'"context":"{ran.packet.header.packet_id}"' in began
    assert '"step":"1"' in began
    (note,) = [body for kind, body in entries if kind == "message"]
    assert f'"context":"{skipped.packet.header.packet_id}"' in note
    assert '"decision":"skipped","tool":"weather","confidence":0.5' in note
    assert not any("hunter2" in body or REQUEST in body for _, body in entries)


@pytest.mark.promise("T-07")
def test_what_the_audit_cannot_record_does_not_run(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    router = shop.router([choice(), APPROVED, WORDS])
    done = asyncio.run(router.answer(REQUEST))  # nobody has opened the executor, so there is no audit
    assert (done.packet.tool_routing.execution_status, shop.trace) == ("failed", [])
    assert "not open" in done.packet.status.why


@pytest.mark.promise("T-08")
def test_each_step_can_be_used_alone(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    router = shop.router([choice(), APPROVED, WORDS])

    async def work() -> Packet:
        packet = router.find(router.detect(router.open(REQUEST)))
        packet = router.decide(await router.review(await router.select(packet)))
        assert packet.tool_routing.execution_status == "approved"
        packet = router.inject(await router.execute(packet))
        return await router.respond(packet)

    assert within(shop, work).content.answer == WORDS
    assert shop.trace == RAN


@pytest.mark.promise("T-08")
def test_steps_can_be_replaced_by_a_keyword_or_in_a_subclass(tmp_path: Path) -> None:
    shop = Shop(tmp_path)

    class Mine(Router):
        async def respond(self, packet: Packet) -> Packet:
            packet = await super().respond(packet)
            assert packet.content.answer
            return packet

    async def approving(packet: Packet) -> Packet:
        return await Router(shop.executor, lambda messages: APPROVED).review(packet)

    first = {"needs_tool": looks(), "candidates": ranks("weather")}
    router = Mine(shop.executor, ScriptedModel([choice(), NONE, WORDS]), review=approving, **first)
    assert within(shop, lambda: router.answer(REQUEST)).text == WORDS
    assert shop.trace == RAN


def test_a_replaced_review_that_approves_nothing_lets_nothing_run(tmp_path: Path) -> None:
    shop = Shop(tmp_path, SKIP)
    done = answered(shop, [choice(), WORDS], review=lambda packet: packet)
    assert (done.packet.tool_routing.execution_status, shop.trace) == ("skipped", [])


@every(
    ("arguments", "options", "words"),
    [
        ((42,), {}, "`tools` must be a list of tools"),
        ((None, 42), {}, "`models` must be a function"),
        ((None, {"heavy": print}), {}, "'light' model, a 'prime' one"),
        ((None,), {"decide": print}, "`decide` is not an option of the router; steps that can be"),
        ((None,), {"select": 1}, "`select` is a step of the router, so it must be a function"),
        ((None,), {"threshold": 0.5}, "`threshold` is a setting of the policy: .*'router': {'threshold'"),
        ((None,), {"pakets": None}, "did you mean 'packets'"),
    ],
)
def test_what_a_router_cannot_use_is_named_at_once(arguments: Any, options: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Router(*arguments, **options)


@every("limit", ["3", 0, 2.5, None])
def test_a_limit_that_is_no_number_of_tools_is_named(limit: Any) -> None:
    with pytest.raises(ConfigError, match="`limit` must be a whole number from 1"):
        Router([{"name": "a", "description": "Something"}]).candidates("something", limit)


def test_an_executors_policy_is_its_own(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="`policy` is the executor's own"):
        Router(Shop(tmp_path).executor, policy={})


@pytest.mark.promise("T-08")
def test_functions_run_without_further_ado_and_what_they_may_do_is_still_asked() -> None:
    from rightcall import tool

    ran: list[str] = []

    @tool(effects=["read"])
    def weather(city: str) -> str:
        """The weather of a city."""
        ran.append(city)
        return f"rain in {city}"

    def wipe(disk: str) -> None:
        """Says nothing of its effects."""
        ran.append(disk)

    async def main() -> list[str]:
        script = ScriptedModel([choice(), APPROVED, NONE, WORDS, choice("wipe", disk="sda"), APPROVED, WORDS])
        first = {"needs_tool": looks(), "candidates": ranks("weather", "wipe", confidence=0.5)}
        async with Router([weather, wipe], script, **first) as router:
            return [
                (await router.answer(text)).packet.tool_routing.execution_status for text in (REQUEST, "Wipe the disk")
            ]

    assert asyncio.run(main()) == ["executed", "skipped"]
    assert ran == ["Oslo"]


def clock() -> str:
    """The time."""
    return "noon"


@pytest.mark.parametrize("beside", [[], [clock]], ids=["alone", "beside a function"])
def test_a_definition_is_routed_to_and_nobody_runs_it(beside: list[Any]) -> None:
    definition = {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
    script = ScriptedModel([choice(), APPROVED, WORDS] * 2)

    async def main() -> list[Any]:
        first = {"needs_tool": looks(), "candidates": ranks("weather")}
        async with Router([definition, *beside], script, **first) as router:
            return [await router.answer(REQUEST), await router.answer(REQUEST)]

    for done in asyncio.run(main()):
        assert done.packet.tool_routing.execution_status == "failed"
        assert "nobody here can run it" in done.packet.status.why
        assert done.text == f"{WORDS}\n\n[weather did not succeed: {done.packet.status.why}]"


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (looks("ask", missing=("city",)), "I need to know more before I can do that: city. What shall I use?"),
        (looks("call"), "I cannot answer this now: no model is configured"),
    ],
)
def test_without_a_model_it_says_plainly_what_there_is_to_say(tmp_path: Path, first: Any, said: str) -> None:
    shop = Shop(tmp_path)
    done = answered(shop, None, needs_tool=first)
    assert done.text.startswith(said)
    assert shop.trace == []


def test_packets_are_saved_where_they_end(tmp_path: Path) -> None:
    packets = PacketStore(tmp_path / "packets")
    done = answered(Shop(tmp_path), [choice(), APPROVED, NONE, WORDS], packets=packets)
    assert packets.load(done.packet.header.packet_id) == done.packet


@pytest.mark.promise("T-02")
@every("text", [None, 7, b"rain?", ["rain?"]])
def test_a_request_that_is_no_text_is_an_error_that_says_what_is_right(text: Any) -> None:
    for ask in (Router([]).needs_tool, Router([]).candidates):
        with pytest.raises(CallError, match=f"`text` must be the request as a str, not {type(text).__name__}"):
            ask(text)


@pytest.mark.promise("A-02")
def test_a_reason_that_quotes_a_secret_argument_stands_in_the_audit_without_it(tmp_path: Path) -> None:
    shop = Shop(tmp_path)

    @shop.executor.tool(effects=["read"])
    def login(user: str, password: str) -> str:
        """Log in."""
        return user

    quoting = '{"approved": "no, default is a weak password", "confidence": 0.2}'
    router = shop.router([choice("login", user="u", password="default"), quoting], candidates=ranks("login"))

    async def work() -> list[Any]:
        await router.answer("Log me in")
        return [json.decode(entry.body)["data"] for entry in shop.entries() if entry.kind == "message"]

    (told,) = within(shop, work)
    assert (told["caller"], told["decision"], told["tool"]) == ("default", "review_failed", "login")
    assert "[redacted " in told["why"]
    assert "default" not in told["why"]
