"""What several wires need: small readings of JSON that somebody else wrote."""

from __future__ import annotations

import secrets
from typing import Any, cast

import msgspec

from rightcall.proxy.wire import Usage

encode = msgspec.json.encode
Object = dict[str, Any]


def decoded(data: bytes) -> Object | None:
    """The object in these bytes, if there is one."""
    try:
        return an_object(msgspec.json.decode(data))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


class Requested(msgspec.Struct):
    """What every API's request says in the same words. The tools stay as they stood."""

    model: Any = ""
    stream: Any = None
    tools: msgspec.Raw = msgspec.Raw()
    tool_choice: Any = None
    n: Any = None


_requested = msgspec.json.Decoder(Requested)


def requested(body: bytes) -> Requested | None:
    """The request, None where it cannot be read."""
    try:
        return _requested.decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def random_id(prefix: str, length: int = 24) -> str:
    """An id that no server gives a second time.

    >>> len(random_id("call_"))
    29
    """
    return prefix + secrets.token_hex(length // 2)


def an_object(value: Any) -> Object | None:
    """The value if it is an object.

    >>> an_object([1]) is None
    True
    """
    return cast("Object", value) if isinstance(value, dict) else None


def a_list(value: Any) -> list[Any]:
    """The value if it is a list, else none of its items."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def objects(value: Any) -> list[Object]:
    """The objects in a list."""
    return [cast("Object", item) for item in a_list(value) if isinstance(item, dict)]


def raw_list(value: msgspec.Raw) -> bytes:
    """The bytes of a list that was not decoded; none where it is empty or no list."""
    raw = bytes(value)
    return raw if raw.startswith(b"[") and raw.strip(b"[ \n\r\t]") else b""


def arguments_text(arguments: Any) -> str:
    """Arguments as the JSON text that APIs carry."""
    return arguments if isinstance(arguments, str) else encode(arguments).decode()


def a_number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def added(value: Any, more: int | None) -> Any:
    """A count with another one added, where it is a count."""
    number = a_number(value)
    return value if number is None or more is None else number + more


def with_tokens(answer: Object, extra: Usage | None, prompt: str, completion: str) -> Object:
    """An answer with tokens of other tries added to its own `usage`, where it tells any under these names."""
    usage = an_object(answer.get("usage"))
    if usage is None or extra is None:
        return answer
    total = (extra.prompt or 0) + (extra.completion or 0)
    more = {prompt: extra.prompt, completion: extra.completion, "total_tokens": total}
    return {**answer, "usage": {**usage, **{key: added(usage[key], n) for key, n in more.items() if key in usage}}}


def plus(one: Usage, other: Usage) -> Usage:
    """
    >>> plus(Usage(1, 2), Usage(3, None))
    Usage(prompt=4, completion=2)
    """
    return Usage(_sum(one.prompt, other.prompt), _sum(one.completion, other.completion))


def _sum(one: int | None, other: int | None) -> int | None:
    return one if other is None else other if one is None else one + other
