"""A yes runs the call that was shown, once, with every store; and a model object of llama-cpp-python is a model."""

import asyncio
import inspect
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rightcall import Executor, Router, ScriptedModel, run_loop, tool
from rightcall.errors import ConfigError
from rightcall.router.packet import Packet
from rightcall.router.packets import PacketStore, from_json, to_json
from rightcall.router.respond import is_shown_whole
from rightcall.router.router import Answered
from support.every import every

CHOSEN = '{"selected_tool": "look", "params": {"what": "moon"}, "reasoning": "It fits.", "confidence": 0.9}'
SURE = '{"approved": true, "confidence": 0.9, "reasoning": "Right."}'
UNSURE = '{"approved": true, "confidence": 0.4, "reasoning": "Which moon?"}'
NONE = '{"selected_tool": null, "reasoning": "Seen.", "confidence": 1.0}'


class World:
    def __init__(self) -> None:
        self.trace: list[str] = []

        @tool(effects=["read"])
        def look(what: str) -> str:
            """Look at something in the sky."""
            self.trace.append(what)
            return "seen"

        self.tools = [look]

    def ask(self, script: list[Any], tools: Any = None, **options: Any) -> Answered:
        async def main() -> Answered:
            async with Router(tools or self.tools, ScriptedModel(script), **options) as router:
                return await router.answer("look at the moon in the sky")

        return asyncio.run(main())

    def resume(self, packet: Packet, said: str, script: list[Any], tools: Any = None) -> Answered:
        async def main() -> Answered:
            async with Router(tools or self.tools, ScriptedModel(script, then="Words.")) as router:
                return await router.resume(packet, said)

        return asyncio.run(main())


@pytest.mark.promise("T-11")
@every("said", ["No.", "no!", "No, thanks", "nope", "don’t", "Stop!", "no way, don't do that"])
def test_a_refusal_in_other_words_is_a_refusal(said: str) -> None:
    world = World()
    waiting = world.ask([CHOSEN, UNSURE]).packet
    done = world.resume(waiting, said, [CHOSEN, SURE, NONE])
    assert (done.packet.tool_routing.execution_status, world.trace) == ("user_denied", [])


@pytest.mark.promise("T-11")
def test_saying_nothing_changes_nothing_and_other_words_are_a_wish() -> None:
    world = World()
    waiting = world.ask([CHOSEN, UNSURE]).packet
    assert world.resume(waiting, " ", [CHOSEN, SURE, NONE]).packet.status.state == "waiting"
    assert world.trace == []
    assert world.resume(waiting, "no, look at the sun", [CHOSEN, SURE, NONE]).packet.status.state == "answered"
    assert world.trace == ["moon"]


@pytest.mark.promise("T-11")
def test_a_yes_to_a_new_router_runs_exactly_what_was_shown_and_once(tmp_path: Path) -> None:
    world, store = World(), PacketStore(tmp_path / "packets")
    waiting = world.ask([CHOSEN, UNSURE], packets=store).packet
    assert (waiting.status.state, world.trace) == ("waiting", [])
    kept = store.load(waiting.header.packet_id)
    done = world.resume(kept, "yes", [NONE, "Full moon."])
    assert (done.text, done.packet.tool_routing.execution_status, world.trace) == ("Full moon.", "executed", ["moon"])
    again = world.resume(kept, "yes", [])
    assert "counts once" in again.text
    assert world.trace == ["moon"]


@pytest.mark.promise("T-11")
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_a_yes_counts_with_the_executors_own_store(tmp_path: Path, kind: str) -> None:
    world = World()

    def opened() -> Executor:
        policy = {"policy": {"allow": ["look"]}}
        where = "memory" if kind == "memory" else None
        return Executor.open(tmp_path, policy, tools=world.tools, store=where, code=False)

    async def main() -> Packet:
        async with opened() as executor:
            waiting = (await Router(executor, ScriptedModel([CHOSEN, UNSURE])).answer("look at the moon")).packet
        async with opened() as executor:  # as another process would
            return (await Router(executor, ScriptedModel([NONE, "Full."])).resume(waiting, "yes")).packet

    assert (asyncio.run(main()).tool_routing.execution_status, world.trace) == ("executed", ["moon"])


@pytest.mark.promise("T-11")
def test_a_yes_to_a_changed_packet_or_to_one_never_shown_is_none() -> None:
    world = World()
    waiting = world.ask([CHOSEN, UNSURE]).packet
    selected = waiting.tool_routing.selected_tool
    assert selected is not None
    other = replace(selected, params={"what": "sun"})
    changed = replace(waiting, tool_routing=replace(waiting.tool_routing, selected_tool=other))
    world.resume(changed, "yes", [NONE])
    assert world.trace == []
    header = replace(waiting.header, packet_id=waiting.header.packet_id[:-1] + "0")
    world.resume(from_json(to_json(replace(waiting, header=header))), "yes", [NONE])
    assert world.trace == []


def test_a_no_takes_back_what_was_shown() -> None:
    world = World()
    waiting = world.ask([CHOSEN, UNSURE]).packet
    world.resume(waiting, "no", ["As you like."])
    world.resume(waiting, "yes", [NONE])
    assert world.trace == []


SENDS = '{"selected_tool": "send", "params": {"to": "bo"}, "reasoning": "It fits.", "confidence": 0.9}'
ASKS = {"policy": {"write": "ask"}}
ASKS_FOR_SEND = {"policy": {"write": "ask", "allow": ["send"]}}


class Post:
    """A router over a function that writes, which the policy wants a person for."""

    def __init__(self, review: str, to: str = "bo") -> None:
        self.sent: list[str] = []

        @tool(effects=["write"])
        def send(to: str) -> str:
            """Send an email to a person."""
            self.sent.append(to)
            return "sent"

        self.send = send
        self.router = Router([send], ScriptedModel([SENDS.replace("bo", to), review], then=NONE), policy=ASKS)

    def answer(self, *yes: str, change: Any = None) -> Packet:
        """The request, and a yes by each of these persons."""

        async def main() -> Packet:
            async with self.router as router:
                packet = (await router.answer("send an email to bo")).packet
                packet = packet if change is None else change(packet)
                for by in yes:
                    packet = (await router.resume(packet, "yes", by=by)).packet
                return packet

        return asyncio.run(main())


@pytest.mark.promise("T-11")
@pytest.mark.parametrize("review", [SURE, UNSURE])
def test_one_yes_of_a_person_is_enough_where_the_policy_wants_one(review: str) -> None:
    post = Post(review)
    done = post.answer("ann")
    assert (done.tool_routing.execution_status, post.sent) == ("executed", ["bo"])


@pytest.mark.promise("P-06")
@every("review", [SURE, UNSURE])
@every(
    ("by", "why"),
    [("", "needs the name of a person"), ("default", "is the caller itself"), ("d\u0435fault", "looks the same")],
)
def test_a_yes_without_a_person_approves_nothing_and_says_why(review: str, by: str, why: str) -> None:
    post = Post(review)
    done = post.answer(by)
    assert (done.tool_routing.execution_status, post.sent) == ("awaiting_approval", [])
    assert why in done.status.why
    assert why in (done.content.answer or "")


@pytest.mark.promise("P-06")
def test_after_a_nameless_yes_a_named_one_runs_it() -> None:
    post = Post(SURE)
    assert (post.answer("", "ann").tool_routing.execution_status, post.sent) == ("executed", ["bo"])


@pytest.mark.promise("P-06")
def test_a_yes_is_an_approval_of_the_call_that_was_shown_alone() -> None:
    """The packet names another call, or a call too long to be shown: the approval it waits for is not given."""

    def another(packet: Packet) -> Packet:
        selected = packet.tool_routing.selected_tool
        assert selected is not None
        changed = replace(selected, params={"to": "eve"})
        return replace(packet, tool_routing=replace(packet.tool_routing, selected_tool=changed))

    post = Post(SURE)
    done = post.answer("ann", change=another)
    assert (done.tool_routing.execution_status, post.sent) == ("awaiting_approval", [])
    assert "digest" in done.status.why
    assert not is_shown_whole({"to": "x" * 5000})
    assert is_shown_whole({"to": "x" * 500})


@pytest.mark.promise("P-06", "P-14")
@pytest.mark.parametrize(("caller", "context"), [("bob", "bobs"), ("default", "another chat")])
def test_a_yes_is_no_approval_of_the_same_call_by_another_caller_or_in_another_conversation(
    tmp_path: Path, caller: str, context: str
) -> None:
    post = Post(SURE)

    async def main() -> str:
        async with Executor.open(tmp_path, ASKS_FOR_SEND, tools=[post.send], code=False) as executor:
            theirs = await executor.run({"name": "send", "arguments": {"to": "bo"}}, caller, context=context)
            assert theirs.decision is not None
            router = Router(executor, ScriptedModel([SENDS, SURE], then=NONE))
            packet = (await router.answer("send an email to bo")).packet
            forged = replace(packet, tool_routing=replace(packet.tool_routing, approval=theirs.decision.approval))
            done = (await router.resume(forged, "yes", by="ann")).packet
            again = await executor.run({"name": "send", "arguments": {"to": "bo"}}, caller, context=context)
            assert (done.tool_routing.execution_status, again.status) == ("awaiting_approval", "waiting")
            return done.status.why

    assert asyncio.run(main()) == "that approval is for another caller or another conversation"
    assert post.sent == []


@pytest.mark.promise("P-06", "P-08", "T-11")
@pytest.mark.parametrize("word", ["ask", "allow"])
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_a_yes_is_none_to_a_tool_that_has_changed_since_it_was_shown(tmp_path: Path, word: str, kind: str) -> None:
    ran: list[str] = []

    def sender(name: str, about: str) -> Any:
        def send(to: str) -> str:
            ran.append(f"{name} {to}")
            return "sent"

        send.__doc__ = about
        return tool(effects=["write"])(send)

    async def main(about: str) -> str:
        store = "memory" if kind == "memory" else None
        policy = {"policy": {"write": word, "allow": ["send"]}}
        tools = [sender("one", "Send an email.")]
        async with Executor.open(tmp_path, policy, tools=tools, store=store, code=False) as executor:
            router = Router(executor, ScriptedModel([SENDS, UNSURE], then=NONE))
            packet = (await router.answer("send an email to bo")).packet
            assert packet.tool_routing.execution_status == "awaiting_confidence"
            executor.register(sender("other", about))
            return (await router.resume(packet, "yes", by="ann")).packet.tool_routing.execution_status

    assert asyncio.run(main("Empty a mailbox.")) == "skipped"
    assert ran == []
    assert asyncio.run(main("Send an email.")) == "executed"
    assert ran == ["other bo"]


@pytest.mark.promise("P-06", "T-11")
def test_a_yes_before_anybody_looked_at_the_file_does_not_approve_the_change_of_it(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    file = tmp_path / "docs" / "a.md"
    saves = (
        '{"selected_tool": "file/save", "params": {"path": "docs/a.md", "content": "new"}, "reasoning": "It fits.", '
        '"confidence": 0.9}'
    )
    policy = {"policy": {"write": "ask", "allow": ["file/save"]}, "write": {"folders": ["docs"]}}

    async def main() -> list[str]:
        async with Executor.open(tmp_path, policy, store="memory", code=True) as executor:
            router = Router(executor, ScriptedModel([saves, UNSURE], then=NONE))
            packet = (await router.answer("save new to docs/a.md")).packet
            file.write_text("work of somebody else")
            early = (await router.resume(packet, "yes", by="ann")).packet
            assert "see what it would change" in early.status.why
            assert file.read_text() == "work of somebody else"
            late = (await router.resume(early, "yes", by="ann")).packet
            return [one.tool_routing.execution_status for one in (packet, early, late)]

    assert asyncio.run(main()) == ["awaiting_confidence", "awaiting_approval", "executed"]
    assert file.read_text() == "new"


@pytest.mark.promise("P-06")
@pytest.mark.parametrize("review", [SURE, UNSURE])
def test_a_yes_to_a_name_that_looks_like_another_is_given_where_that_is_shown(review: str) -> None:
    post = Post(review, to="b\u043eb")
    done = post.answer("ann")
    assert (done.tool_routing.execution_status, post.sent) == ("awaiting_approval", [])
    assert "letters of different alphabets in one word: b\\u043eb" in done.status.why


class Llama:
    """As llama-cpp-python's: callable with a prompt, and with a method for chats."""

    def __init__(self, replies: list[str]) -> None:
        self.model = ScriptedModel(replies)
        self.options: list[dict[str, Any]] = []

    def __call__(self, prompt: str, suffix: str | None = None) -> Any:
        raise TypeError("a prompt is due")

    def create_chat_completion(
        self, messages: list[Any], tools: Any = None, temperature: float = 0.2, top_p: float = 0.95,
        stream: bool = False, response_format: Any = None, max_tokens: int | None = None,
    ) -> Any:  # fmt: skip
        self.options.append({"tools": tools, "temperature": temperature, "response_format": response_format})
        content = self.model(messages)
        return {"choices": [{"index": 0, "message": {"role": "assistant", "content": content}}]}


@pytest.mark.promise("T-04")
def test_a_model_object_with_create_chat_completion_routes() -> None:
    world, model = World(), Llama([CHOSEN, SURE, NONE, "Full moon."])

    async def main() -> Answered:
        async with Router(world.tools, {"light": model, "prime": model}) as router:
            return await router.answer("look at the moon in the sky")

    assert (asyncio.run(main()).text, world.trace) == ("Full moon.", ["moon"])
    assert [one["temperature"] for one in model.options[:2]] == [0.15, 0.3]
    assert model.options[0]["response_format"]["schema"]["required"]


def test_a_model_object_with_create_chat_completion_loops(tmp_path: Path) -> None:
    world = World()
    call = '<tool_call>{"name": "look", "arguments": {"what": "moon"}}</tool_call>'
    model = Llama([call, "Full moon."])

    async def main() -> str:
        policy = {"policy": {"allow": ["look"]}}
        async with Executor.open(tmp_path, policy, tools=world.tools, store="memory", code=False) as executor:
            return (await run_loop(model, executor, "look at the moon", caller="ada")).text

    assert (asyncio.run(main()), world.trace) == ("Full moon.", ["moon"])
    assert "look" in str(model.model.asked[0].messages[0])


def test_an_object_that_is_no_model_is_told_what_is() -> None:
    assert not inspect.isclass(World())
    with pytest.raises(ConfigError, match="create_chat_completion"):
        Router([], World())
