"""What a host is told when its call could not be judged: as the policy wants it, even where the policy is at fault.

`on_failure` decides; where nothing is said, a hook that blocks denies and any other lets pass. A policy file that
cannot be used may still show which of them it means: so far it is believed, and never for the milder. One that was
only found in the project is never believed for the milder.
"""

import os
import stat
from contextlib import suppress
from importlib import import_module
from typing import Any, cast

from rightcall.hosts.hook_event import CANNOT_JUDGE, cannot_judge, denies_unjudged

_OTHER_NAMES = {"claude": ("claude-code", "claude")}
_MILD = ("observe", "warn")
_LONGEST = 600
_MOST_TEXT = 10_000_000


def failure(host: str, policy: str | None, mode: str | None, why: str, *, found: bool = False) -> str:
    """What is to be printed; empty to let the call pass. `found`: nobody named the policy, it lay in the project."""
    if found and policy is not None and _leads_out(policy):
        policy = None  # somebody else's file, of which nothing is read
    if not (found and mode not in _MILD) and not _denies(host, policy, mode):
        return ""
    import json

    wire = import_module(f"rightcall.hosts.hook_{host}")
    tell_operator(why)
    return json.dumps(wire.denied(CANNOT_JUDGE))


def tell_operator(why: str) -> None:
    """On standard error, which no model reads beside an answer: what is wrong may come with a command that helps."""
    shown = "".join(one if one.isprintable() else " " for one in why[:_LONGEST])
    with suppress(OSError):
        os.write(2, f"{cannot_judge(shown)}\n".encode("utf-8", "replace"))


def _leads_out(policy: str) -> bool:
    """Whether it is a link out of its folder."""
    folder = os.path.realpath(os.path.dirname(policy))
    return os.path.islink(policy) and os.path.dirname(os.path.realpath(policy)) != folder


def unsaid(text: str, why: str) -> str:
    """Why a call must not run whose answer never arrived: it was denied, a person should be asked, or it was to run
    with other input. Empty where the answer was only a word beside it."""
    import json

    try:
        told: Any = json.loads(text)
    except ValueError:
        return cannot_judge(why)  # in the system's own words, which name no command
    inner = _table(told, "hookSpecificOutput") or told
    decided = inner.get("permissionDecision") or told.get("decision")
    if decided in ("deny", "ask"):
        return str(inner.get("permissionDecisionReason") or told.get("reason") or cannot_judge(why))
    return cannot_judge(why) if "updatedInput" in inner or "tool_input" in inner else ""


def _denies(host: str, policy: str | None, mode: str | None) -> bool:
    gate = _read_gate_table(policy)
    if gate is None:  # there is a policy, and nobody can read it
        return mode not in _MILD or _speaks_of_blocking(policy)
    hosts = _table(gate, "hosts")
    tables = [_table(hosts, name) for name in _OTHER_NAMES.get(host, (host,))]
    here = tables[0] or tables[-1]
    said = here.get("on_failure")
    meant = here.get("mode") or mode or gate.get("mode")
    return denies_unjudged(said if said in ("allow", "deny") else None, meant if meant in _MILD else "block")


def _read_gate_table(policy: str | None) -> dict[str, Any] | None:
    """The table `[gate]`, whatever else is wrong with the file; None where it is no TOML at all."""
    if policy is None:
        return {}
    import tomllib

    try:
        return _table(tomllib.loads(_text(policy)), "gate")
    except (OSError, ValueError, RecursionError):
        return None


def _speaks_of_blocking(policy: str | None) -> bool:
    try:
        lines = _text(policy or "", "replace").splitlines()
    except (OSError, ValueError):
        return False
    return any('"block"' in line or "'block'" in line for line in lines if not line.lstrip().startswith("#"))


def _text(policy: str, errors: str = "strict") -> str:
    """Of a file only: whatever else has its name is not waited for."""
    handle = os.open(policy, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(handle, encoding="utf-8-sig", errors=errors) as opened:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError("it is no file")
        return opened.read(_MOST_TEXT)


def _table(inside: dict[str, Any], name: str) -> dict[str, Any]:
    found: object = inside.get(name)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
