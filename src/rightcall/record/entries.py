"""What the records of the audit hold, by kind, as JSON. Everything a model wrote is redacted before it comes here."""

from typing import Any, Literal

from msgspec import Struct, json

from rightcall.types_running import DecisionKind, Status


class Inputs(Struct, frozen=True, omit_defaults=True):
    """What else of a `Request` its decision used, as far as it is not the usual: with these, the rest of the body and
    the records before it, the same decision can be made again."""

    own: bool = False
    permit: str = ""
    called: tuple[str, ...] = ()
    repeatable: bool = False
    unsure: bool = False
    """What it touches has a state that nobody could tell: answers were compared instead."""
    dry_run: bool = False
    asks: tuple[str, ...] = ()
    repaired: bool = False
    paths: tuple[str | tuple[str, str], ...] = ()
    """Each as it was written and as it was resolved; one text where both are the same."""
    outside: tuple[str, ...] = ()
    linked: bool = False
    inner: tuple[str, ...] = ()
    approval: str | None = None
    """That the caller named."""
    commanded: tuple[str, ...] = ()
    """Arguments that are commands or addresses,"""
    findings: tuple[tuple[str, str, str], ...] = ()
    """what was found in them (answer, rule, why), redacted,"""
    command_paths: tuple[tuple[str, str, bool], ...] = ()
    """and the paths in them: as written, as resolved, and whether they are written to."""
    server: tuple[str, str] = ("", "")
    """The server that would run it, and the digest of how it is reached."""
    unpinned: bool = False
    """The definition was not compared with an earlier one."""
    unasked: bool = False
    """The policies were not asked: by its name or its arguments there was nothing to ask them about."""
    partial: bool = False
    """Something above was too long to be kept: the decision cannot be made again."""


NO_INPUTS = Inputs()
UNASKED = Inputs(unasked=True)


class CallBody(Struct, frozen=True, omit_defaults=True):
    """`begin`, `refused`, `waiting` and `proxied`: who wanted what, what was made of it, and what was decided by which
    rule."""

    caller: str
    tool: str
    params: Any
    """The arguments that run, redacted."""
    digest: str
    """Of the whole canonical call, before anything was redacted."""
    decision: DecisionKind | Literal["passed"]
    """`passed`: nobody decided; it went from the model to the client, who may run it."""
    rule: str
    reason: str = ""
    context: str | None = None
    step: str | None = None
    emission: Any = None
    """What the model wrote, redacted and cut; absent where it is the call itself."""
    repairs: tuple[dict[str, Any], ...] = ()
    """path, before, after, strategy, rule, confidence; redacted."""
    strategy: str = "direct"
    confidence: float = 1.0
    truncated: bool = False
    problems: tuple[dict[str, str], ...] = ()
    origin: str = "native"
    definition: str = ""
    state: str = ""
    effects: tuple[str, ...] = ()
    policy: str = ""
    """Digest of the policy file that decided."""
    rights: str = ""
    approval: str | None = None
    grant: str | None = None
    earlier: int | None = None
    retry_after: float | None = None
    provider: str = ""
    wire: str = ""
    """Of a call that a host runs: which host. Of a call that passed through the proxy: the API,"""
    model: str = ""
    """the model that the client asked for,"""
    written: str = ""
    """the tool's name as the model wrote it, where it is another,"""
    retries: int = 0
    """how often the model was asked again,"""
    taught: bool = False
    """and whether it was told of the tools in its prompt."""
    now: int = 0
    """When it was decided, by the monotonic clock that limits and expiry go by."""
    order: dict[str, int] = {}
    """Of what it counts towards (`all`, `caller`, `tool`): the how many-th start there it is."""
    changes: int = 0
    """How many changes were seen by then: the same call after a change is no repetition."""
    inputs: Inputs = NO_INPUTS
    held: int = 0
    """Bytes that the question to a person holds, of a call that waits or for whose question there was no room."""
    packs: str = ""
    """Digest of the rule packs, where there are any."""


class EndBody(Struct, frozen=True, omit_defaults=True):
    """`end`: what came of a call. Never the whole result."""

    status: Status
    execution_time: float = 0.0
    """Milliseconds."""
    error: str | None = None
    summary: str = ""
    tokens: int = 0
    cached: bool = False
    sandbox: str | None = None
    """The tier that was used, where there was one."""
    answer: str = ""
    """Keyed digest of all that it gave, where somebody saw that: the same call with another answer is no loop."""


class AnswerBody(Struct, frozen=True, omit_defaults=True):
    """`answer`: approval `id` was answered by a person; `call` of the entry is the waiting record."""

    id: str
    status: Literal["approved", "denied", "expired", "used"]
    by: str
    digest: str
    kind: str = "call"
    tool: str = ""
    caller: str = ""
    reason: str = ""
    """Why, where the person said so."""
    now: int = 0
    until: int = 0
    """When it was answered, and until when the answer holds, by the monotonic clock."""


class NoteBody(Struct, frozen=True, omit_defaults=True):
    """`grant`, `definition`, `policy`, `release`, `change`, `prune` and `message`: a few words and some values."""

    what: str
    """Such as `made`, `revoked`; `first seen`, `accepted`; `loaded`, `kept`; `through`; `message`, `diagnosis`."""
    by: str = ""
    data: Any = None


encode = json.Encoder().encode
read_call = json.Decoder(CallBody).decode
read_end = json.Decoder(EndBody).decode
read_answer = json.Decoder(AnswerBody).decode
read_note = json.Decoder(NoteBody).decode
