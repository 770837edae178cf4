"""What is noted beside the calls: which policy is in force, and what a host can tell: that a message was written,
whether a diagnosis was right, and what a router decided. Two of the success metrics need the messages, one the
diagnoses; without them these say "not reported"."""

from hashlib import sha256
from typing import Any, Literal

from msgspec import Struct, json

from rightcall.errors import ConfigError
from rightcall.record.entries import NoteBody, encode
from rightcall.record.tables import Tables
from rightcall.text.escape import render_json

LONGEST = 500
"""Characters of a name."""


class Said(Struct, frozen=True, gc=False):
    """What a host has told, as it is read back."""

    caller: str = ""
    context: str | None = None
    task: str | None = None
    used_tools: bool | None = None
    correct: bool | None = None


class Told(Struct, frozen=True):
    what: str
    data: Said = Said()


def note_message(
    tables: Tables, caller: str, context: str | None = None, task: str | None = None, used_tools: bool | None = None
) -> int:
    """A model has finished a message; returns the number of the record. `task` is the kind of work (`debug` is the one
    that is measured). Whether it used tools is seen from the calls since its last one, unless `used_tools` says so."""
    data = {
        "caller": _name("caller", caller),
        "context": None if context is None else _name("context", context),
        "task": None if task is None else _name("task", task),
        "used_tools": _yes_or_no("used_tools", used_tools),
    }
    return tables.append("message", 0, encode(NoteBody("message", data=data)))


def note_diagnosis(tables: Tables, caller: str, context: str, correct: bool | None) -> int:
    """A model has named a cause in this context; `correct` is what a person found, None as long as nobody has looked.
    The last word on a caller's context counts. Returns the number of the record."""
    data = {
        "caller": _name("caller", caller),
        "context": _name("context", context),
        "task": "debug",
        "correct": _yes_or_no("correct", correct),
    }
    return tables.append("message", 0, encode(NoteBody("diagnosis", data=data)))


class Routed(Struct, frozen=True, omit_defaults=True):
    """What a router decided of a request that it ran no call for, or what a person said to it."""

    caller: str
    context: str
    """The packet's id, under which its calls are recorded too."""
    decision: str
    """One word, such as `no_tool`, `low_confidence` or `confirmed`."""
    tool: str = ""
    confidence: float | None = None
    why: str = ""
    by: str = ""
    """The person who said so, where one did."""
    digest: str = ""
    """Keyed: of the call that a person is asked about, or has said yes to."""


_PACKET = "(packet) "
"""Under this name and the packet's, the digest of the call that it waits with is kept beside those of the tools."""
_USED = "used "

Confirmation = Literal["confirmed", "used", "unknown"]
"""Of a yes: it counts; it was given before; it is not to the call that was shown."""


def note_routing(tables: Tables, routed: Routed) -> int:
    """A router's decision without a call; returns the number of the record. The request itself is not in it. With a
    digest, the packet waits from now on for a yes to exactly that call; without, for none any more."""
    name = _packet_name(routed)
    if routed.digest or tables.definition(name) is not None:
        tables.pin(name, routed.digest)
    return _noted(tables, routed)


def confirm_routing(tables: Tables, routed: Routed) -> Confirmation:
    """A person says yes to the call that a packet waits with. It counts once, whoever asks at the same time, and only
    for the call as it was shown; then it stands in the record."""
    name = _packet_name(routed)
    known = tables.definition(name)
    if not routed.digest or known != routed.digest:
        return "used" if routed.digest and known == _USED + routed.digest else "unknown"
    tables.pin(name, _USED + routed.digest)
    _noted(tables, routed)
    return "confirmed"


def _packet_name(routed: Routed) -> str:
    return f"{_PACKET}{routed.context}"


def _noted(tables: Tables, routed: Routed) -> int:
    return tables.append("message", 0, encode(NoteBody("routing", routed.by, routed)))


def _name(argument: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST or not _writable(value):
        raise ConfigError(f"{argument}: {render_json(value, 60)} is no name; give a text of 1 to {LONGEST} characters")
    return value


def _writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True


def _yes_or_no(argument: str, value: Any) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise ConfigError(f"{argument}: {render_json(value, 60)} is neither True, False nor None")
    return value


def note_change(tables: Tables, what: str, by: str, data: Any = None) -> int:
    """A person has changed something by a command of their own, such as `undo` or `pr merge`; returns the number of the
    record."""
    return tables.append("change", 0, encode(NoteBody(what, _name("by", by), data)))


def policy_note(what: str, policy: Any, packs: dict[str, str], problem: str | None) -> tuple[NoteBody, str]:
    """What is noted of a policy, and what it is known by: its own digest and that of the packs beside it."""
    data: dict[str, Any] = {"digest": policy.digest, "source": policy.source}
    data |= {"packs": packs} if packs else {}
    data |= {"problem": problem} if problem else {}
    standing = "" if policy.standing == "given" else policy.standing
    data |= {"standing": standing} if standing else {}
    known = " ".join(part for part in (policy.digest, packs_digest(packs), standing) if part)
    return NoteBody(what, data=data), known


def packs_digest(packs: dict[str, str]) -> str:
    """As a record names them; empty where there are none."""
    return sha256(json.encode(sorted(packs.items()))).hexdigest()[:16] if packs else ""


_POLICY = "(policy)"
"""Under this name the digest of the policy that was noted last is kept beside those of the tools; no tool has it."""


def note_policy(tables: Tables, note: NoteBody, digest: str) -> None:
    """Which policy is in force and whose word it is, or why an edit was not taken. A process that finds the one before
    it notes nothing: hooks and commands come and go with every call."""
    if note.what == "loaded" and tables.definition(_POLICY) == digest:
        return
    tables.pin(_POLICY, digest if note.what == "loaded" else "")
    tables.append("policy", 0, encode(note))
