"""The official client libraries, each asked in the same way, and what a program that uses them sees."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import Any, ClassVar, NamedTuple, Self

import anthropic
import ollama
import openai
from msgspec import json

from support.client_cases import TOOLS

MODEL = "some-model"
MESSAGES: Any = [{"role": "user", "content": "How is the weather in Paris?"}]
CHAT_TOOLS: Any = [{"type": "function", "function": tool} for tool in TOOLS]


class Seen(NamedTuple):
    """What is left of an answer for a program: calls as (id, name, arguments), prose, how it ended, tokens."""

    calls: list[tuple[str, str, Any]]
    prose: str
    finish: str
    tokens: tuple[int, int]
    reasoning: str = ""

    @property
    def named(self) -> list[tuple[str, Any]]:
        return [(name, arguments) for _, name, arguments in self.calls]


class Client:
    """One library at one address. `parsed` is everything it made of an answer, object by object."""

    path: ClassVar[str]
    error: ClassVar[tuple[type[Exception], ...]]
    """What the library raises when it was told of an error; `lost` when it only lost the connection."""
    lost: ClassVar[tuple[type[Exception], ...]] = ()
    called: ClassVar[str]
    """How an answer with calls ends, in this wire's words; `spoken` without, `cut_short` when the tokens ran out."""
    spoken: ClassVar[str]
    ids: ClassVar[str]
    """What the ids of calls begin with, upstream; empty where the library shows none."""
    cut_short: ClassVar[str]

    def __init__(self, address: str, headers: dict[str, str] | None = None) -> None:
        self.address = address
        self._open = ExitStack()

    def body(self, stream: bool) -> dict[str, Any]:
        raise NotImplementedError

    def ask(self, stream: bool) -> list[Any]:
        """The objects that the library gives: one, or those of the stream."""
        raise NotImplementedError

    def seen(self, answered: list[Any], stream: bool) -> Seen:
        raise NotImplementedError

    def see(self, stream: bool) -> Seen:
        return self.seen(self.ask(stream), stream)

    def helped(self) -> tuple[list[dict[str, Any]], Seen]:
        """What the library's helper for streams makes of one: its events, and the answer put together."""
        raise NotImplementedError

    def parsed(self, stream: bool) -> list[dict[str, Any]]:
        return [one.model_dump(exclude_unset=False) for one in self.ask(stream)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._open.close()


class _OpenAI(Client):
    error = (openai.APIError,)
    lost = (openai.APIConnectionError,)

    def __init__(self, address: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(address)
        client = openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0, default_headers=headers)
        self.client = self._open.enter_context(client)


class Chat(_OpenAI):
    path = "/v1/chat/completions"
    called, spoken, cut_short = "tool_calls", "stop", "length"
    ids = "call"

    def body(self, stream: bool) -> dict[str, Any]:
        body: dict[str, Any] = {"model": MODEL, "messages": MESSAGES, "tools": CHAT_TOOLS}
        return body | ({"stream": True, "stream_options": {"include_usage": True}} if stream else {})

    def ask(self, stream: bool) -> list[Any]:
        return _asked(self.client.chat.completions.create, self.body(stream), stream)

    def seen(self, answered: list[Any], stream: bool) -> Seen:
        if not stream:
            return self.seen_whole(answered[0])
        calls: list[list[str]] = []
        prose = finish = reasoning = ""
        for chunk in answered:
            for choice in chunk.choices:
                assert not finish, "nothing comes after the finish reason"
                prose += choice.delta.content or ""
                reasoning += getattr(choice.delta, "reasoning_content", None) or ""
                for call in choice.delta.tool_calls or []:
                    if call.index == len(calls):
                        assert call.type == "function"
                        calls.append([call.id, call.function.name, ""])
                    else:
                        assert call.id is None
                    calls[call.index][2] += call.function.arguments or ""
                finish = choice.finish_reason or ""
        assert answered[0].choices[0].delta.role == "assistant"
        usage = answered[-1].usage
        return Seen(
            [(call_id, name, json.decode(text)) for call_id, name, text in calls],
            prose,
            finish,
            (usage.prompt_tokens, usage.completion_tokens),
            reasoning,
        )

    def helped(self) -> tuple[list[dict[str, Any]], Seen]:
        with self.client.chat.completions.stream(**_unstreamed(self.body(True))) as stream:
            events = [event.model_dump(warnings=False) for event in stream]
            return events, self.seen_whole(stream.get_final_completion())

    def seen_whole(self, answer: Any) -> Seen:
        choice, usage = answer.choices[0], answer.usage
        calls = [(call.id, call.function.name, json.decode(call.function.arguments)) for call in tools_in(choice)]
        reasoning = getattr(choice.message, "reasoning_content", None) or ""
        tokens = (usage.prompt_tokens, usage.completion_tokens)
        return Seen(calls, choice.message.content or "", choice.finish_reason, tokens, reasoning)


def tools_in(choice: Any) -> list[Any]:
    assert all(call.type == "function" for call in choice.message.tool_calls or [])
    return choice.message.tool_calls or []


class ErrorEvent(Exception):
    """The library hands errors in a Responses stream on as events; a program has to look for them."""


class Responses(_OpenAI):
    path = "/v1/responses"
    error = (openai.APIError, ErrorEvent)
    called, spoken, cut_short = "completed", "completed", "incomplete"
    ids = "call"

    def body(self, stream: bool) -> dict[str, Any]:
        tools = [{"type": "function", "strict": False, **tool} for tool in TOOLS]
        body: dict[str, Any] = {"model": MODEL, "input": "How is the weather in Paris?", "tools": tools}
        return body | ({"stream": True} if stream else {})

    def ask(self, stream: bool) -> list[Any]:
        answered = _asked(self.client.responses.create, self.body(stream), stream)
        if stream and answered[-1].type == "error":
            raise ErrorEvent(answered[-1].message)
        return answered

    def seen(self, answered: list[Any], stream: bool) -> Seen:
        if not stream:
            return self.seen_whole(answered[0])
        assert answered[-1].type in ("response.completed", "response.incomplete")
        final = self.seen_whole(answered[-1].response)
        assert final.prose == "".join(one.delta for one in answered if one.type == "response.output_text.delta")
        assert streamed_calls(answered) == [(name, arguments) for _, name, arguments in final.calls]
        numbers = [one.sequence_number for one in answered]
        assert numbers == sorted(set(numbers))
        return final

    def helped(self) -> tuple[list[dict[str, Any]], Seen]:
        with self.client.responses.stream(**_unstreamed(self.body(True))) as stream:
            events = [event.model_dump(warnings=False) for event in stream]
            return events, self.seen_whole(stream.get_final_response())

    def seen_whole(self, answer: Any) -> Seen:
        calls = [one for one in answer.output if one.type == "function_call"]
        thoughts = [one for one in answer.output if one.type == "reasoning"]
        assert len({one.id for one in answer.output}) == len(answer.output)
        return Seen(
            [(call.call_id, call.name, json.decode(call.arguments)) for call in calls],
            answer.output_text,
            answer.status,
            (answer.usage.input_tokens, answer.usage.output_tokens),
            "".join(part.text for one in thoughts for part in one.summary),
        )


def streamed_calls(events: list[Any]) -> list[tuple[str, Any]]:
    """The calls as a client reads them that never looks at the last event, checked against each other."""
    opened: dict[int, Any] = {}
    texts: dict[int, str] = {}
    closed: set[int] = set()
    calls: list[tuple[str, Any]] = []
    for one in events:
        match one.type:
            case "response.output_item.added":
                assert one.output_index == len(opened), "items open in order"
                opened[one.output_index] = one.item
            case "response.function_call_arguments.delta":
                texts[one.output_index] = texts.get(one.output_index, "") + one.delta
            case "response.function_call_arguments.done":
                assert one.arguments == texts.get(one.output_index, "")
                assert one.item_id == opened[one.output_index].id
            case "response.output_item.done":
                begun = opened[one.output_index]
                assert (begun.type, begun.id) == (one.item.type, one.item.id)
                closed.add(one.output_index)
                if one.item.type == "function_call":
                    assert (begun.name, begun.call_id) == (one.item.name, one.item.call_id)
                    assert one.item.arguments == texts.get(one.output_index, "")
                    calls.append((one.item.name, json.decode(one.item.arguments)))
    assert closed == set(opened)
    return calls


class Messages(Client):
    path = "/v1/messages"
    error = (anthropic.APIError,)
    lost = (anthropic.APIConnectionError,)
    called, spoken, cut_short = "tool_use", "end_turn", "max_tokens"
    ids = "toolu"

    def __init__(self, address: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(address)
        client = anthropic.Anthropic(base_url=address, api_key="none", max_retries=0, default_headers=headers)
        self.client = self._open.enter_context(client)

    def body(self, stream: bool) -> dict[str, Any]:
        tools = [
            {"name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"]}
            for tool in TOOLS
        ]
        body: dict[str, Any] = {"model": MODEL, "max_tokens": 99, "messages": MESSAGES, "tools": tools}
        return body | ({"stream": True} if stream else {})

    def ask(self, stream: bool) -> list[Any]:
        return _asked(self.client.messages.create, self.body(stream), stream)

    def seen(self, answered: list[Any], stream: bool) -> Seen:
        if not stream:
            return self.seen_whole(answered[0])
        blocks: list[Any] = []
        texts: list[str] = []
        opened = False
        finish, tokens = "", (0, 0)
        for one in answered:
            match one.type:
                case "content_block_start":
                    assert (one.index, opened) == (len(blocks), False), "blocks come one after the other"
                    blocks.append(one.content_block)
                    texts.append("")
                    opened = True
                case "content_block_delta":
                    assert (one.index, opened) == (len(blocks) - 1, True)
                    delta = one.delta
                    texts[-1] += getattr(delta, "text", None) or getattr(delta, "partial_json", None) or ""
                    texts[-1] += getattr(delta, "thinking", None) or ""
                case "content_block_stop":
                    assert (one.index, opened) == (len(blocks) - 1, True)
                    opened = False
                case "message_delta":
                    finish = one.delta.stop_reason
                    tokens = (one.usage.input_tokens, one.usage.output_tokens)
        assert (answered[0].type, answered[-1].type) == ("message_start", "message_stop")
        pairs = list(zip(blocks, texts, strict=True))
        return Seen(
            [(block.id, block.name, json.decode(text or "{}")) for block, text in pairs if block.type == "tool_use"],
            "".join(text for block, text in pairs if block.type == "text"),
            finish,
            tokens,
            "".join(text for block, text in pairs if block.type == "thinking"),
        )

    def helped(self) -> tuple[list[dict[str, Any]], Seen]:
        with self.client.messages.stream(**_unstreamed(self.body(True))) as stream:
            events = [event.model_dump(warnings=False) for event in stream]
            return events, self.seen_whole(stream.get_final_message())

    def seen_whole(self, answer: Any) -> Seen:
        return Seen(
            [(block.id, block.name, block.input) for block in answer.content if block.type == "tool_use"],
            "".join(block.text for block in answer.content if block.type == "text"),
            answer.stop_reason,
            (answer.usage.input_tokens, answer.usage.output_tokens),
            "".join(block.thinking for block in answer.content if block.type == "thinking"),
        )


class Ollama(Client):
    path = "/api/chat"
    error = (ollama.ResponseError,)
    called, spoken, cut_short = "stop", "stop", "length"
    ids = ""

    def __init__(self, address: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(address)
        self.client = ollama.Client(host=address, headers=headers)
        self._open.callback(self.client._client.close)  # it has no `close` of its own

    def body(self, stream: bool) -> dict[str, Any]:
        return {"model": MODEL, "messages": MESSAGES, "tools": CHAT_TOOLS, "stream": stream}

    def ask(self, stream: bool) -> list[Any]:
        return _asked(self.client.chat, self.body(stream), stream)

    def seen(self, answered: list[Any], stream: bool) -> Seen:
        *lines, last = answered
        assert last.done
        assert not any(line.done for line in lines)
        messages = [one.message for one in answered]
        calls = [call.function for message in messages for call in message.tool_calls or []]
        return Seen(
            [("", call.name, dict(call.arguments)) for call in calls],
            "".join(message.content or "" for message in messages),
            last.done_reason,
            (last.prompt_eval_count, last.eval_count),
            "".join(message.thinking or "" for message in messages),
        )


def _unstreamed(body: dict[str, Any]) -> Any:
    """The helpers say themselves that they want a stream."""
    return {name: value for name, value in body.items() if name != "stream"}


def _asked(ask: Callable[..., Any], body: dict[str, Any], stream: bool) -> list[Any]:
    answered: Any = ask(**body)
    if not stream:
        return [answered]
    if isinstance(answered, Iterator):
        return list(answered)
    with answered as events:
        return list(events)
