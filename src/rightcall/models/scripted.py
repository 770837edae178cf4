"""A model that says what it was told to say: for tests of agents, and for examples that run without a network.

>>> model = ScriptedModel(["Let me look.", "It is in main.py."])
>>> model([{"role": "user", "content": "Where is it?"}])
'Let me look.'
>>> model.asked[0].said
'Where is it?'
"""

import inspect
import threading
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any, cast

from msgspec import Struct

from rightcall.base.json.marks import is_list, is_object
from rightcall.errors import ConfigError, RightCallError

_NOTHING: Any = object()


class OutOfReplies(RightCallError, LookupError):
    """A scripted model was asked something that its script has no reply to."""


class Asked(Struct, frozen=True):
    """One question: the messages as they were then, and the keywords beside them, such as `tools`."""

    messages: list[dict[str, Any]]
    options: dict[str, Any]

    @property
    def said(self) -> str:
        """The text of the last message."""
        return text_of(self.messages[-1]) if self.messages else ""


class ScriptedModel:
    """A model for `run_loop`, or for any agent that calls one with a list of messages.

    `replies` are given one after the other; or, as a dict, by words that stand in the last message: the first that
    fits, as often as it fits. A reply is a text or a message; an exception is raised; a function is asked with the
    messages. `then` is the reply to everything else; without it, that raises `OutOfReplies`. What it was asked stands
    in `asked`. Safe to use from several threads and tasks.

    >>> ScriptedModel({"Where": "Here."}, then="No idea.")([{"role": "user", "content": "Where is it?"}])
    'Here.'
    """

    def __init__(self, replies: Iterable[Any] | Mapping[str, Any], *, then: Any = _NOTHING) -> None:
        if isinstance(replies, (str, bytes)):
            raise ConfigError("`replies` must be a list of replies, or a dict of them; for one reply write [reply]")
        self._by_words = dict(cast("Mapping[str, Any]", replies)) if isinstance(replies, Mapping) else None
        self._replies = list(cast("Iterable[Any]", replies)) if self._by_words is None else []
        self._then = then
        self._next = 0
        self._lock = threading.Lock()
        self.asked: list[Asked] = []

    def __call__(self, messages: list[dict[str, Any]], **options: Any) -> Any:
        with self._lock:
            question = Asked(deepcopy(messages), dict(options))
            self.asked.append(question)
            reply = self._reply_to(question)
        if isinstance(reply, BaseException) or inspect.isclass(reply):
            raise cast("BaseException", reply)
        return reply(messages) if callable(reply) else deepcopy(reply)

    @property
    def left(self) -> int:
        """How many replies of a list were not asked for: 0 when a script was played to its end."""
        return len(self._replies) - self._next

    def _reply_to(self, question: Asked) -> Any:
        if self._by_words is not None:
            fitting = (reply for words, reply in self._by_words.items() if words in question.said)
            reply = next(fitting, self._then)
            why = f"none of the words {', '.join(map(repr, self._by_words))} stands in"
        else:
            reply = self._replies[self._next] if self.left else self._then
            self._next += bool(self.left)
            why = f"the script is over (replies: {len(self._replies)}), and it was asked"
        if reply is _NOTHING:
            raise OutOfReplies(f"{why}: {question.said[:200]!r}. Give `then=` a reply to everything else.")
        return reply


class AsyncScriptedModel(ScriptedModel):
    """The same for agents that await their model."""

    async def __call__(self, messages: list[dict[str, Any]], **options: Any) -> Any:
        reply = super().__call__(messages, **options)
        return await reply if hasattr(reply, "__await__") else reply


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message: its content, or the texts in its blocks, tool results among them.

    >>> text_of({"content": [{"type": "tool_result", "content": "42"}, {"type": "text", "text": "So?"}]})
    '42\\nSo?'
    """
    content = message.get("content")
    if not is_list(content):
        return content if isinstance(content, str) else ""
    texts = [block.get("text") or text_of(block) for block in content if is_object(block)]
    return "\n".join(text for text in texts if text)
