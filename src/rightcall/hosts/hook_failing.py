"""What a host is told when its call could not be judged: as the policy wants it, even where the policy is at fault.

`on_failure` decides; where nothing is said, a hook that blocks denies and any other lets pass. A policy file that
cannot be used may still show which of them it means: so far it is believed, and never for the milder.
"""

import json
from importlib import import_module
from typing import Any, cast

from rightcall.hosts.hook_event import cannot_judge

_OTHER_NAMES = {"claude": ("claude-code", "claude")}
_MILD = ("observe", "warn")
_LONGEST = 600


def failure(host: str, policy: str | None, mode: str | None, why: str) -> str:
    """What is to be printed; empty to let the call pass."""
    if not _denies(host, policy, mode):
        return ""
    wire = import_module(f"rightcall.hosts.hook_{host}")
    shown = "".join(one if one.isprintable() else " " for one in why[:_LONGEST])
    return json.dumps(wire.denied(cannot_judge(shown)))


def _denies(host: str, policy: str | None, mode: str | None) -> bool:
    gate = _said(policy)
    if gate is None:  # there is a policy, and nobody can read it
        return mode not in _MILD or _speaks_of_blocking(policy)
    hosts = _table(gate, "hosts")
    tables = [_table(hosts, name) for name in _OTHER_NAMES.get(host, (host,))]
    here = tables[0] or tables[-1]
    if here.get("on_failure") in ("allow", "deny"):
        return here["on_failure"] == "deny"
    return (here.get("mode") or mode or gate.get("mode") or "block") not in _MILD


def _said(policy: str | None) -> dict[str, Any] | None:
    """The table `[gate]`, whatever else is wrong with the file; None where it is no TOML at all."""
    if policy is None:
        return {}
    import tomllib

    try:
        with open(policy, "rb") as opened:
            return _table(tomllib.load(opened), "gate")
    except (OSError, ValueError, RecursionError):
        return None


def _speaks_of_blocking(policy: str | None) -> bool:
    try:
        with open(policy or "", encoding="utf-8", errors="replace") as opened:
            return any('"block"' in line or "'block'" in line for line in opened if not line.lstrip().startswith("#"))
    except OSError:
        return False


def _table(inside: dict[str, Any], name: str) -> dict[str, Any]:
    found: object = inside.get(name)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
