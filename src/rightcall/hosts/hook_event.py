"""What an event of a host says, whichever host it is; and how the names of its tools are to be read."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, cast

Kind = Literal["before", "after", "over", "other"]
_PREFIX = "mcp__"
_LONGEST_LABEL = 200


class Happened(NamedTuple):
    """`before` a tool runs, `after` it has run, `over` when a session or a turn is; anything `other` needs no word."""

    kind: Kind
    tool: str = ""
    arguments: Any = None
    space: str = ""
    """The MCP server, for a tool of one."""
    context: str | None = None
    """The session."""
    step: str = ""
    """The call, as the host numbers it; empty for a host that does not."""
    ok: bool = True
    error: str | None = None
    summary: str = ""
    seconds: float | None = None
    reached: Mapping[str, Any] | None = None
    """How that server is reached, where the host tells: `command`, `args`, `cwd`, `url`."""
    cwd: str | None = None
    """The folder that the host works in at the moment."""
    answer: Any = None
    """All that the tool gave, as the host tells it."""
    called: str = ""
    """The tool by the name that the model calls it, where a word on it follows."""


class WrongEvent(Exception):
    """The event is not what the host says it sends; the text says what is wrong."""


def as_called(message: str, happened: Happened) -> str:
    """A refusal for the model, which knows a server's tool by the host's name for it.

    >>> as_called("⚠️ Invalid read call.", Happened("before", "read", space="files", called="mcp__files__read"))
    '⚠️ Invalid mcp__files__read call.'
    """
    if not message or not happened.space or not happened.called:
        return message
    from rightcall.text.escape import escaped  # late: a call that passes says nothing

    tool, called = (f"⚠️ Invalid {escaped(name, 100)} call." for name in (happened.tool, happened.called))
    return message.replace(tool, called, 1)


def tool_and_space(name: str, servers: Iterable[str] = ()) -> tuple[str, str]:
    """`mcp__files__read` is the tool `read` of server `files`. The longest server that is known counts, since names of
    servers may hold the separator; hosts write what they do not take in a name as `_`.

    >>> tool_and_space("mcp__files__read_file"), tool_and_space("Read")
    (('read_file', 'files'), ('Read', ''))
    >>> tool_and_space("mcp__my_files__v2__read", ["my files__v2"])
    ('read', 'my files__v2')
    """
    if not name.startswith(_PREFIX):
        return name, ""
    rest = name.removeprefix(_PREFIX)
    for server in sorted(servers, key=len, reverse=True):
        start = f"{plain(server)}__"
        if rest.startswith(start) and len(rest) > len(start):
            return rest.removeprefix(start), server
    server, separator, tool = rest.partition("__")
    return (tool, server) if server and separator and tool else (name, "")


def plain(server: str) -> str:
    """A server's name as hosts write it in the names of its tools."""
    return "".join(one if one.isascii() and (one.isalnum() or one in "_-") else "_" for one in server)


def label(value: object) -> str | None:
    """An id that can stand in a record."""
    return value if isinstance(value, str) and value.isprintable() and 0 < len(value) <= _LONGEST_LABEL else None


def text_of(value: object, most: int = 300) -> str:
    """The beginning of what a tool gave back, as text. Only for the record, where it is shown escaped."""
    if isinstance(value, str):
        return value[:most]
    if isinstance(value, list):
        return " ".join(filter(None, (text_of(one, most) for one in value[:5])))[:most]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, dict):
        for key in ("text", "stdout", "content", "llmContent", "output", "message", "filePath", "file"):
            if found := text_of(value.get(key), most):  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
                return found
    return ""


_TIMINGS = ("duration", "elapsed")
_DEEPEST = 20


def answer_of(value: Any, depth: int = 0) -> Any:
    """What a tool gave, without what a host says beside it: how long it took is no part of the answer.

    >>> answer_of({"stdout": "ok", "durationMs": 12, "_meta": {}})
    {'stdout': 'ok'}
    """
    if depth < _DEEPEST and isinstance(value, dict):
        table = cast("dict[str, Any]", value)
        return {key: answer_of(one, depth + 1) for key, one in table.items() if not _is_beside(key)}
    if depth < _DEEPEST and isinstance(value, list):
        return [answer_of(one, depth + 1) for one in cast("list[Any]", value)]
    return value


def _is_beside(key: str) -> bool:
    return key == "_meta" or key.casefold().startswith(_TIMINGS)


def inside(value: Any, key: str) -> Any:
    """What a value holds under a key; None where it is no object."""
    return cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None


def field(event: dict[str, Any], name: str, kind: type) -> Any:
    """What the event must hold. Raises WrongEvent."""
    value = event.get(name)
    if not isinstance(value, kind):
        raise WrongEvent(f"its `{name}` is {'absent' if value is None else 'of the wrong type'}")
    return value


def is_unjudged(rule: str) -> bool:
    """Whether a refusal says nothing of the call itself: it could not be recorded, or judging it failed."""
    return rule == "fault" or rule.startswith("store:")


def denies_unjudged(on_failure: str | None, mode: str | None) -> bool:
    """Whether a call that nobody could judge is denied: as `on_failure` says, else where calls are blocked."""
    return (on_failure or ("deny" if mode in (None, "block") else "allow")) == "deny"


CANNOT_JUDGE = "RightCall could not judge this call, so it was not made. Do not repeat it; tell the user."
"""What the model reads when a call is denied because nobody could judge it. Why is for the operator."""


def cannot_judge(why: str) -> str:
    """What the operator reads of it."""
    return f"RightCall could not judge this call, so it was not made: {why.rstrip('. ')}."
