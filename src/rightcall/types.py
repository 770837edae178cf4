"""The records that travel between the stages: frozen, without logic, one per arrow of the pipeline.

emission ─▶ recover ─▶ normalise ─▶ validate ─▶ …
             Call        Repair      Problem        Verdict carries all of them
"""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

StrategyName = Literal["direct", "python_ast", "regex_quotes", "structure", "manual_repair", "llm", "failed"]
"""How a call was made to fit. The ids are the argument normaliser's; `structure` is our schema-led reader, `llm` the
model that was asked as the last resort."""

Mode = Literal["block", "warn", "observe"]
UnknownTool = Literal["suggest", "refuse", "pass"]
UnknownArgument = Literal["drop", "keep", "refuse"]
ReasoningMode = Literal["auto", "open", "closed"]
"""Whether the prompt has opened the reasoning, so that an answer begins inside it. `auto`: not that anybody knows."""
Effect = Literal["read", "write", "execute", "network"]
MessageShape = Literal["openai", "anthropic", "mcp", "text"]

ProblemCode = Literal[
    "missing",  # a required argument is absent, null or blank
    "missing_any",  # none of a group is there
    "too_short",  # below the rule's minimum length
    "type",  # the value has another type than the schema wants
    "value",  # right type, wrong value: enum, range, pattern, format, length
    "unknown_argument",  # the tool does not name it, and the policy refuses such
    "ambiguous_name",  # an argument could be meant for several, or several for one
    "duplicate_key",
    "reserved_key",
    "number",  # NaN, an infinity, or a number too large to carry
    "text",  # a lone surrogate or another thing that is no text
    "unreadable",  # the arguments could not be read at all
    "truncated",  # the text ends inside a value
    "too_large",  # over the size or nesting limit
    "unknown_tool",
    "deprecated_tool",
    "inner_call",  # a call inside a batch is wrong
    "schema",  # any other keyword of the schema
    "fault",  # an error of our own, reported instead of raised
]


class Call(Struct, frozen=True, gc=False):
    """A tool call. `arguments` is a dict, except on `Verdict.found`, where it is whatever was read."""

    name: str
    arguments: Any
    id: str | None = None
    origin: Literal["native", "text"] = "native"


class Repair(Struct, frozen=True):
    """One change: where, from what, to what, by which strategy and rule, how sure (0 to 1, 1 is certain), and why in
    words. `before` is what was given, or the place in the text that was not JSON; `after` is the value that took its
    place, None where an argument was left out."""

    path: str
    before: Any
    after: Any
    strategy: StrategyName
    rule: str
    confidence: float = 1.0
    note: str = ""


class Problem(Struct, frozen=True):
    """One reason why a call does not fit. `path` names the argument (`items[0].size`), empty for the whole call."""

    code: ProblemCode
    path: str
    message: str


class Event(Struct, frozen=True):
    """What a callback receives: `tool_validation_failed` (warning) or `tool_call_repaired` (info)."""

    name: Literal["tool_validation_failed", "tool_call_repaired"]
    level: Literal["warning", "info"]
    tool: str
    call_id: str | None
    provider: str
    message: str
    problems: tuple[Problem, ...] = ()
    repairs: tuple[Repair, ...] = ()
    mode: Mode = "block"


class Batch(Struct, frozen=True):
    """Where a tool that runs other tools keeps the inner calls: the list, and in each item name and arguments."""

    list: str
    name: tuple[str, ...] = ("tool_slug", "tool", "name")
    arguments: tuple[str, ...] = ("arguments", "input", "params")


class Rules(Struct, frozen=True, omit_defaults=True):
    """What packs and the policy file say of one tool beside its schema."""

    names: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    defaults: Mapping[str, Any] = field(default_factory=dict[str, Any])
    forms: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Other ways to write a date or a number, by argument: `catalog/forms.py` reads them."""
    required: tuple[str, ...] = ()
    required_any: tuple[tuple[str, ...], ...] = ()
    required_unless: Mapping[str, Mapping[str, tuple[Any, ...]]] = field(
        default_factory=dict[str, Mapping[str, tuple[Any, ...]]]
    )
    min_length: Mapping[str, int] = field(default_factory=dict[str, int])
    json_text: tuple[str, ...] = ()
    example: Mapping[str, Any] | None = None
    examples: tuple[str, ...] = ()
    """Requests that want this tool, in people's words: the router looks for the like."""
    hint: str | None = None
    """A sentence for whoever got a call wrong; it stands before the example."""
    replaced_by: str | None = None
    replacement_arguments: Mapping[str, str] = field(default_factory=dict[str, str])
    batch: Batch | None = None
    paths: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    patches: tuple[str, ...] = ()
    """Arguments that are patches: the files that one names count as paths."""
    globs: tuple[str, ...] = ()
    """Arguments that are patterns for paths."""
    repeatable: bool = False
    mode: Mode | None = None
    unknown_argument: UnknownArgument | None = None
    strategies: tuple[StrategyName, ...] | None = None


class Verdict(Struct, frozen=True, gc=False):
    """What the gate says of one call. `ok` false means: do not run; `hint` is what the model should read."""

    ok: bool
    call: Call | None
    found: Call | None = None
    repairs: tuple[Repair, ...] = ()
    problems: tuple[Problem, ...] = ()
    hint: str | None = None
    confidence: float = 1.0
    truncated: bool = False
    strategy: StrategyName = "direct"
    mode: Mode = "block"
    retry: bool = False
    """Whether trying again, corrected as the hint says, can help."""
    unread: Call | None = None
    """Where the arguments could not be read, or not with certainty: the tool, and their text as it was written."""

    def message(self, shape: MessageShape = "text") -> Any:
        """The refusal or warning in the shape a model's API wants; `text` is the hint itself.

        >>> from rightcall import Gate
        >>> gate = Gate([{"name": "add", "parameters": {"type": "object", "properties": {"n": {}}, "required": ["n"]}}])
        >>> gate.check("add", {}).message("openai")["role"]
        'tool'
        """

        return refusal(self, shape)


NoteCode = Literal[
    "quoted",  # markup in quotes, in inline code or in a code block: talk about a call
    "sample",  # introduced as an example
    "reasoning",  # inside a thought: a native call, or one in reasoning that the token limit cut off
    "final",  # in the channel for the final answer
    "unreadable",  # markup of a call that holds none
    "repeated",  # a call in the text that the message also has natively
    "elsewhere",  # a call that the provider runs itself
    "too_many",  # more calls than the cap allows
]


class Place(Struct, frozen=True):
    """Where a call was found: the characters from `start` to `end`, in which format (`native` for a native call)."""

    start: int
    end: int
    format: str


class Note(Struct, frozen=True):
    """Something that looked like a call and was not taken for one, and why."""

    code: NoteCode
    message: str
    start: int = 0
    end: int = 0


class Reading(Struct, frozen=True):
    """What `Gate.read` found: the calls in order, the prose that is left, and for each call where it stood."""

    calls: tuple[Verdict, ...]
    text: str
    notes: tuple[Note, ...] = ()
    places: tuple[Place, ...] = ()


class Parsed(Struct, frozen=True):
    """What `rightcall.loads` read. `end` is where the value ends in the text."""

    value: Any
    repairs: tuple[Repair, ...] = ()
    confidence: float = 1.0
    truncated: bool = False
    end: int = 0


# ── messages ──
# What a model is told of its call, in the shape its API wants.


def refusal(verdict: Verdict, shape: MessageShape = "text") -> Any:
    """The refusal, or the warning of a call that runs all the same; None when there is nothing to tell.

    A refused call is answered in place of the tool, so the message carries the call's id. In mode `warn` the same
    shapes come without the mark of an error, since the tool will answer itself.
    """
    told = verdict.hint or _problems(verdict)
    if not told:
        return None
    call = verdict.call or verdict.found
    return answer(told, shape, call_id=(call.id if call is not None else None) or "", error=not verdict.ok)


def answer(text: str, shape: MessageShape, *, call_id: str, error: bool) -> Any:
    """What answers a call, in the shape an API wants; for a model that only reads text it is the text itself."""
    match shape:
        case "text":
            return text
        case "openai":
            return {"role": "tool", "tool_call_id": call_id, "content": text}
        case "anthropic":
            return {"type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": error}
        case "mcp":
            return {"content": [{"type": "text", "text": text}], "isError": error}
    raise ValueError(f"unknown message shape {shape!r}: expected openai, anthropic, mcp or text")


def _problems(verdict: Verdict) -> str:
    """A verdict made without a hint still says why."""
    if verdict.ok:
        return ""
    return " ".join(f"{problem.message}." for problem in verdict.problems) or "The call was refused."
