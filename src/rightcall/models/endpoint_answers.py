"""What a server answered, read: a whole answer, the events of a stream, its list of models. Nobody trusts it yet."""

from typing import Any, Final

import msgspec

from rightcall.errors import ModelError
from rightcall.models.endpoint_characters import Halves, with_whole_characters
from rightcall.models.endpoint_errors import Whom, message_in
from rightcall.parse.kinds import is_list, is_object
from rightcall.text.framing import ServerSentEvents, TooLong, payload

_DONE: Final = b"[DONE]"
_UNREAD: Final = object()
_OPENINGS: Final = frozenset((b"d", b"e", b"i", b"r", b":", b"\xef"))
"""How a stream of events begins: with data, event, id, retry, a comment or a mark of the byte order."""
_MOST_TOLD: Final = 2000
"""Bytes of a refusal that is no JSON. It is shown cut further."""


def read_json(raw: bytes, *, halves: bool = False) -> Any:
    """The value in these bytes, _UNREAD where there is none. With `halves`, those of a character may stand in it."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return _read_halves(raw, halves) if b"\\ud" in raw.lower() else _UNREAD


def _read_halves(raw: bytes, halves: bool) -> Any:
    from json import loads  # for JSON half a character is right, for msgspec the whole of it wrong

    try:
        value = loads(raw)
        return value if halves else with_whole_characters(value)
    except (ValueError, RecursionError):
        return _UNREAD


def read_refusal(raw: bytes) -> Any:
    """The body of a refusal: JSON, or the text it is, of which the last word is left out where it may be half a key."""
    answer = read_json(raw)
    if answer is not _UNREAD:
        return answer
    text = raw[:_MOST_TOLD].decode("utf-8", "replace")
    return text if len(raw) <= _MOST_TOLD else (text.rsplit(None, 1) or [""])[0]


def whole(whom: Whom, raw: bytes) -> dict[str, Any]:
    """An answer that says something. Raises ModelError for every other."""
    answer = read_json(raw)
    if answer is _UNREAD:
        raise _no_json(whom)
    choice = _choice(whom, answer)
    message = choice.get("message") if choice is not None else None
    if choice is None or not is_object(message):
        raise _no_answer(whom)
    if not _says(message.get("content")) and not message.get("tool_calls"):
        raise _empty(whom, choice.get("finish_reason"), message)
    return answer


def text_of(answer: dict[str, Any]) -> str:
    """The text of a whole answer."""
    content: Any = answer["choices"][0]["message"].get("content")
    parts: list[Any] = content if is_list(content) else [content]
    texts = (part.get("text") if is_object(part) else part for part in parts)
    return "".join(text for text in texts if isinstance(text, str))


class Pieces:
    """The text in a stream of events, or in the whole answer of a server that does not stream.

    `feed` gives the texts that are complete; `end` says that nothing more comes, and raises where more should.
    """

    def __init__(self, whom: Whom) -> None:
        self.is_over = False
        self._whom = whom
        self._events = ServerSentEvents()
        self._halves = Halves()
        self._whole: list[bytes] | None = None
        self._has_begun = self._has_said = self._is_other = False
        self._finish: Any = None

    def feed(self, data: bytes) -> list[str]:
        if not self._has_begun:
            data = data.lstrip()
            self._has_begun = bool(data)
            if data[:1] == b"{":  # no event begins so
                self._whole = []
            self._is_other = self._has_begun and data[:1] not in _OPENINGS
        if self._whole is not None:
            self._whole.append(data)
            return []
        try:
            events = self._events.feed(data)
        except TooLong:
            raise self._whom.broken("sent an event that does not end") from None
        return [text for event in events if (text := self._text(event))]

    def end(self) -> list[str]:
        if self._whole is not None:
            return [text_of(whole(self._whom, b"".join(self._whole)))]
        texts: list[str] = []
        if not self.is_over and (rest := self._events.rest()).strip():
            texts = [self._last(rest)]
        if not self.is_over and self._finish is None:
            raise _no_json(self._whom) if self._is_other else self._broke_off()
        if not self._has_said:
            raise _empty(self._whom, self._finish, {})
        return [*texts, *filter(None, [self._halves.rest()])]

    def _last(self, rest: bytes) -> str:
        """Some servers do not end their last event; others break off in it."""
        try:
            return self._text(rest.rstrip(b"\r\n") + b"\n\n")
        except ModelError as error:
            raise self._broke_off() if error.fault == "unreadable" else error from None

    def _text(self, event: bytes) -> str:
        data = payload(event).strip()
        if not data or self.is_over:
            return ""
        if data == _DONE:
            self.is_over = True
            return ""
        answer = read_json(data, halves=True)
        if answer is _UNREAD:
            raise self._whom.broken("sent an event that is not JSON")
        choice = _choice(self._whom, answer)
        if choice is None:  # the last may count tokens only
            return ""
        self._finish = choice.get("finish_reason") or self._finish
        delta = choice.get("delta")
        text = delta.get("content") if is_object(delta) else None
        self._has_said |= _says(text)
        return self._halves.feed(text) if isinstance(text, str) else ""

    def _broke_off(self) -> ModelError:
        return self._whom.broken("broke off in the middle of its answer")


def names_in(raw: bytes) -> tuple[str, ...] | None:
    """The models in a list of OpenAI's, Anthropic's or Ollama's shape; None where it is none.

    >>> names_in(b'{"data": [{"id": "a"}]}'), names_in(b'{"models": [{"name": "b"}]}'), names_in(b"<html>")
    (('a',), ('b',), None)
    """
    answer = read_json(raw)
    for key in ("data", "models"):
        listed = answer.get(key) if is_object(answer) else None
        if is_list(listed):
            names = (one.get("id") or one.get("name") for one in listed if is_object(one))
            return tuple(name for name in names if isinstance(name, str) and name)
    return None


def _choice(whom: Whom, answer: Any) -> dict[str, Any] | None:
    """The first choice, None where there is none; raises where an error stands instead."""
    if not is_object(answer):
        raise _no_answer(whom)
    choices = answer.get("choices")
    if is_list(choices):
        first = choices[0] if choices else None
        return first if is_object(first) else None
    if message_in(answer) or answer.get("error"):
        raise whom.complained(answer)
    raise _no_answer(whom)


def _says(content: Any) -> bool:
    return bool(content.strip()) if isinstance(content, str) else is_list(content) and bool(content)


def _no_json(whom: Whom) -> ModelError:
    return whom.error("the answer is not JSON; is the url that of an OpenAI-compatible API, mostly ending in /v1?")


def _no_answer(whom: Whom) -> ModelError:
    return whom.error("the JSON that came holds no choices; is the url that of an OpenAI-compatible API?")


def _empty(whom: Whom, finish: Any, message: dict[str, Any]) -> ModelError:
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        return whom.error(f"it refuses to answer: “{whom.safe(refusal)}”", "empty")
    if finish == "length":
        return whom.error(
            "it used up all its tokens without an answer; allow it more, or turn its reasoning off", "empty"
        )
    return whom.error("the answer is empty; does this model follow instructions, and does its template fit?", "empty")
