"""What a server answered, read: a whole answer, the events of a stream, its list of models. Nobody trusts it yet."""

import re
from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec
from msgspec import Struct

from rightcall.base.http.answers import CLOSER, Address, Fault, ServerSentEvents, TooLong, payload
from rightcall.base.json.marks import is_list, is_object
from rightcall.base.telemetry.conventions import TOKEN_TYPES, Value
from rightcall.base.text import escaped
from rightcall.errors import ModelError, ModelFault

# ── errors ──
# Who is asked, and the sentences for when that fails: what was asked of whom, what came, what to do.
#
# A sentence is made of the model's name, the host, numbers, the system's own words for a failed connection, and what
# the server says, escaped and cut. The rest of the url, the key and the headers never stand in it: people put keys
# into all of them, and servers repeat them.

MOST_BODY = 20_000_000
_LONGEST_NAME, _LONGEST_MESSAGE, _LONGEST_TOLD = 80, 300, 200
_SHORTEST_SECRET = 6
"""A header of fewer characters is no key, and hiding it would blot out words."""

_TELLING = ("error", "message", "msg", "detail")
_DEEPEST = 10
"""Errors within errors that are looked into."""

_ADVICE = {
    400: "is the prompt too long for this model, or an option unknown to it?",
    401: "give the right key",
    403: "may this key use this model?",
    404: "does the server have this model, and does the url end as its documentation says, mostly in /v1?",
    405: "does the url end as the server's documentation says, mostly in /v1?",
    408: "is the server overloaded?",
    413: "ask with less text",
    429: "ask less often, or wait",
    503: "is the model still loading?",
}


class Whom(Struct, frozen=True):
    """The server, and the model there as far as it is known. `secrets` are taken out of whatever the server says."""

    address: Address
    model: str = ""
    secrets: tuple[str, ...] = ()

    def error(self, what: str, fault: ModelFault = "unreadable", status: int = 0) -> ModelError:
        name = escaped(self.model, _LONGEST_NAME) or "the model"
        return ModelError(f"asking {name} at {self.address.authority}: {what}", fault, status=status)

    def failed(self, fault: Fault) -> ModelError:
        """There is no whole answer."""
        match fault.code:
            case "unreachable":
                known = escaped(fault.told, 100)
                what = f"the server cannot be reached ({known}); does it run, and is the url right?"
                return self.error(what, "unreachable")
            case "unnamed":
                return self.error("its name cannot be looked up; is the url right?", "unreachable")
            case "untrusted":
                return self.error(
                    f"the server cannot be trusted or speaks no TLS ({escaped(fault.told, 100)}); does the url begin "
                    "with the right one of http:// and https://, and is the certificate valid?",
                    "tls",
                )
            case "not http" | "status":
                return self.error(
                    "what came back is not HTTP; is this the port of a model's server, and http:// right?"
                )
            case "large":
                what = f"the server sent {fault.told} of more than {fault.most:,} bytes, which is not read"
                return self.error(what, "too large")
            case _:
                return self.broken(fault.describe(CLOSER))

    def late(self, seconds: float) -> ModelError:
        return self.error(
            f"no whole answer within {round(seconds, 2):g} s; give it more seconds, or ask for fewer tokens", "timeout"
        )

    def broken(self, what: str) -> ModelError:
        return self.error(f"the server {what}; what does its own log say?")

    def refused(self, status: int, answer: Any, more: str = "") -> ModelError:
        """A status other than 200. `more` replaces the usual advice."""
        told = message_in(answer)
        said = f" and said “{self.safe(told)}”" if told else ""
        advice = more or _ADVICE.get(status, "what does its own log say?")
        return self.error(f"the server answered with the status {status}{said}; {advice}", "status", status)

    def complained(self, answer: Any, status: int = 200) -> ModelError:
        """An error where an answer should be."""
        told = self.safe(message_in(answer)) or "without a word why"
        return self.error(f"the server reported an error instead of an answer: “{told}”", "status", status)

    def safe(self, text: str) -> str:
        """What the server says, fit to show: keys are taken out before it is cut, since half a key is one too, and in
        small letters as well, which hosts have."""
        for secret in self.secrets:
            text = re.sub(re.escape(secret), "[key]", text, flags=re.IGNORECASE)
        return escaped(" ".join(text.split()), _LONGEST_MESSAGE)


def secrets_of(key: str | None, headers: Mapping[str, str]) -> tuple[str, ...]:
    """The longest first: one may be part of another."""
    held = {value for value in headers.values() if len(value) >= _SHORTEST_SECRET}
    held |= {word for value in held for word in value.split() if len(word) >= _SHORTEST_SECRET}
    return tuple(sorted(held | ({key} if key else set()), key=len, reverse=True))


def message_in(answer: Any, depth: int = _DEEPEST) -> str:
    """What an error says, in the shapes that servers give it: OpenAI's, Ollama's, FastAPI's, plain text.

    >>> message_in({"error": {"message": "no such model"}}), message_in({"detail": [{"msg": "Field required"}]})
    ('no such model', 'Field required')
    """
    if isinstance(answer, str):
        return "" if answer.lstrip()[:1] == "<" else answer.strip()  # a page for a browser says nothing in short
    if not depth:
        return ""
    if is_list(answer):
        return "; ".join(filter(None, (message_in(one, depth - 1) for one in answer[:3])))
    if is_object(answer):
        return next(filter(None, (message_in(answer.get(key), depth - 1) for key in _TELLING)), "")
    return ""


# ── endpoint characters ──
# Characters of which only one half is there, as JSON can write them: models write tokens, and one may end within an
# emoji. The halves are joined; a half that stays alone is shown as `�`.


def whole_characters(text: str) -> str:
    r"""
    >>> whole_characters("\ud83d\ude00"), whole_characters("a\ud83db")
    ('😀', 'a�b')
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def with_whole_characters(value: Any) -> Any:
    """The same for every text within a value. Raises RecursionError for one that is too deep."""
    if isinstance(value, str):
        return whole_characters(value)
    if is_object(value):
        return {with_whole_characters(key): with_whole_characters(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [with_whole_characters(item) for item in cast("list[Any]", value)]
    return value


class Halves:
    """Joins texts that come one after the other: what may be the first half of a character waits for the second."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, text: str) -> str:
        text = self._half + text
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return whole_characters(text.removesuffix(self._half))

    def rest(self) -> str:
        """What waits at the end, in vain."""
        half, self._half = self._half, ""
        return whole_characters(half)


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


def answer_told(answer: Any) -> dict[str, Value]:
    """What an answer, or an event of one, tells of itself, as spans call it: id, model, tokens, and why it ended.

    >>> answer_told({"id": "a", "usage": {"prompt_tokens": 3, "completion_tokens": None}})
    {'gen_ai.response.id': 'a', 'gen_ai.usage.input_tokens': 3}
    """
    told: dict[str, Value] = {}
    if not is_object(answer):
        return told
    for key in ("id", "model"):
        if isinstance(found := answer.get(key), str) and found:
            told[f"gen_ai.response.{key}"] = escaped(found, _LONGEST_TOLD)
    usage = answer.get("usage")
    for kind, key in (("input", "prompt_tokens"), ("output", "completion_tokens")):
        number = usage.get(key) if is_object(usage) else None
        if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 2**53:
            told[TOKEN_TYPES[kind]] = number
    choices = answer.get("choices")
    first = choices[0] if is_list(choices) and choices else None
    reason = first.get("finish_reason") if is_object(first) else None
    if isinstance(reason, str) and reason:
        told["gen_ai.response.finish_reasons"] = (escaped(reason, _LONGEST_TOLD),)
    return told


class Pieces:
    """The text in a stream of events, or in the whole answer of a server that does not stream.

    `feed` gives the texts that are complete; `end` says that nothing more comes, and raises where more should.
    """

    def __init__(self, whom: Whom, *, is_followed: bool = False) -> None:
        self.is_over = False
        self._is_followed = is_followed
        self._whom = whom
        self._events = ServerSentEvents()
        self._halves = Halves()
        self._whole: list[bytes] | None = None
        self.told: dict[str, Value] = {}
        """What the answer has told of itself so far, where somebody follows it."""
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
            answer = whole(self._whom, b"".join(self._whole))
            self.told = answer_told(answer)
            return [text_of(answer)]
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
        if self._is_followed:
            self.told |= answer_told(answer)
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
