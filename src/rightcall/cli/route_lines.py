"""`rightcall route --jsonl`: requests in, judgements out, one line each, in order, with bounded memory.

No model is asked. A router is kept for each of the last sets of tools, so that many requests to the same tools build
one index; a line's tools are not even decoded where they are known already.
"""

from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, cast

import msgspec

from rightcall.cli.jsonl import LineError, value_of
from rightcall.cli.output import json_text
from rightcall.errors import RightCallError
from rightcall.route.router import Router

MAX_BYTES = 32 * 1024 * 1024
"""Of one line: thousands of tools may stand in it."""
MOST_ROUTERS = 16
_SMALL = 1000
"""Bytes of tools up to which a line is simply read whole."""


class _Tools(msgspec.Struct):
    """Of a line, its tools alone, as they are written."""

    tools: msgspec.Raw = msgspec.Raw()


_tools_alone = msgspec.json.Decoder(_Tools)


class LineRouters:
    """The routers that a run needs: `made` makes one of some tools, of those of the command line for None, and one that
    judges the text alone for []."""

    def __init__(self, made: Callable[[list[Any] | None], Router]) -> None:
        self._made = made
        self._kept: OrderedDict[bytes, Router] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def router_for(self, tools: "Written | None") -> Router:
        key = b"" if tools is None else tools.digest
        router = self._kept.get(key)
        if router is None:
            router = self._kept[key] = self._made(None if tools is None else tools.read())
            if len(self._kept) > MOST_ROUTERS:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(key)
        return router


class Written(msgspec.Struct, frozen=True):
    """The tools of a line as they stand there."""

    raw: bytes

    @property
    def digest(self) -> bytes:
        return blake2b(self.raw, digest_size=20).digest()

    def read(self) -> list[Any]:
        """Raises ValueError. null and [] are the same: nothing is known of the tools."""
        tools: Any = value_of(self.raw)
        if tools is not None and not isinstance(tools, list):
            raise ValueError('"tools" is a list of tools, or null where they are not known')
        return cast("list[Any]", tools or [])


def line_judge(routers: LineRouters, limit: int) -> Callable[[bytes], dict[str, Any]]:
    """What answers a line."""

    def judge(line: bytes) -> dict[str, Any]:
        fields, tools = taken_apart(line)
        line_id, text = fields.get("id"), fields.get("text")
        if not isinstance(text, str):
            raise LineError('the line needs "text": the request, a string', line_id)
        try:
            router = routers.router_for(tools)
            return {"id": line_id, **judged(router, text, limit)}
        except (RightCallError, TypeError, ValueError, RecursionError) as error:
            raise LineError(str(error), line_id) from error

    return judge


def judged(router: Router, text: str, limit: int) -> dict[str, Any]:
    """What can be said of a request without a model, as a plain object."""
    return {
        "intent": msgspec.to_builtins(router.needs_tool(text)),
        "candidates": msgspec.to_builtins(router.candidates(text, limit)),
    }


def taken_apart(line: bytes) -> tuple[dict[str, Any], Written | None]:
    """The members of a line without its tools, and these as they are written, None where the line has none.

    >>> taken_apart(b'{"id": 1, "text": "hi", "tools": []}')
    ({'id': 1, 'text': 'hi'}, Written(raw=b'[]'))
    """
    try:
        raw = bytes(_tools_alone.decode(line).tools)
    except (msgspec.MsgspecError, RecursionError):  # the lenient reader knows more of it, or better what is wrong
        raw = b""
    rest = line.replace(raw, b"null", 1) if len(raw) > _SMALL else line
    value = value_of(rest)
    if not isinstance(value, dict):
        raise LineError('a line is an object with "text", and optionally "id" and "tools"')
    fields = cast("dict[str, Any]", value)
    if "tools" not in fields:
        return fields, None
    tools = fields.pop("tools")
    return fields, Written(raw or json_text(tools, ascii_only=True).encode())
