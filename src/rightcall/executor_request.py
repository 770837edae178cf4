"""From a checked call to the frozen request that the policies judge. What is shown, approved, executed and recorded
are the bytes made here."""

import os
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from msgspec import Struct, json

from rightcall.authorise.limits import scopes_of
from rightcall.catalog import Tool
from rightcall.config_settings import Rights
from rightcall.execute.state import values_at
from rightcall.executor_toolbox import Equipped
from rightcall.types import Batch, Verdict
from rightcall.types_running import Request, Scope

_encode = json.Encoder(order="deterministic").encode
_PLAIN = Verdict(True, None)


class Canonical(Struct, frozen=True):
    """A call as bytes: keys sorted, nothing else changed."""

    raw: bytes
    digest: str
    arguments: dict[str, Any]
    """Read back from the bytes: what runs is what was shown."""


def canonical(tool: str, arguments: Mapping[str, Any]) -> Canonical:
    """Raises ValueError or TypeError for what JSON cannot carry.

    >>> canonical("add", {"b": 1, "a": 2}).raw
    b'{"arguments":{"a":2,"b":1},"name":"add"}'
    """
    raw = _encode({"name": tool, "arguments": arguments})
    return Canonical(raw, sha256(raw).hexdigest(), json.decode(raw)["arguments"])


def build_request(
    equipped: Equipped, call: Canonical, rights: Rights, *, at: int, root: str, verdict: Verdict = _PLAIN,
    approval: str | None = None, scopes: tuple[Scope, ...] | None = None, state: str = "",
) -> Request:  # fmt: skip
    """Everything that a decision is made of, apart from the shared tables. `scopes` are those of rights and tool, where
    they are known already."""
    tool = equipped.tool
    rules = tool.rules
    return Request(
        caller=rights.caller,
        tool=tool.name,
        arguments=call.arguments,
        canonical=call.raw,
        digest=call.digest,
        definition=equipped.definition,
        effects=tool.effects,
        rights=rights,
        at=at,
        state=state,
        scopes=scopes_of(rights, tool.name) if scopes is None else scopes,
        own=equipped.own,
        repeatable=rules.repeatable,
        dry_run=rights.dry_run and equipped.rehearsed,
        truncated=verdict.truncated,
        repaired=bool(verdict.repairs) and verdict.mode != "observe",
        confidence=verdict.confidence,
        paths=tuple(_paths(tool, call.arguments, root)) if rules.paths else (),
        inner=tuple(_inner(rules.batch, call.arguments)) if rules.batch is not None else (),
        approval=approval,
    )


def _paths(tool: Tool, arguments: dict[str, Any], root: str) -> Iterator[tuple[str, str]]:
    """Each path as written, and below the root after every link; outside it stays absolute."""
    for place in tool.rules.paths:
        for written in values_at(arguments, place):
            yield written, _below(root, written)


def _below(root: str, written: str) -> str:
    if "\0" in written:
        return "/"
    base = os.path.realpath(root)
    resolved = os.path.realpath(os.path.join(base, written))
    relative = os.path.relpath(resolved, base).replace(os.sep, "/")
    return resolved if relative == ".." or relative.startswith("../") else relative


def _inner(batch: Batch, arguments: dict[str, Any]) -> Iterator[str]:
    """The names of the tools that a batch would run; one that cannot be told is named so that nothing allows it."""
    calls = arguments.get(batch.list)
    for call in calls if isinstance(calls, list) else ():  # pyright: ignore[reportUnknownVariableType] - a model wrote it
        names = [call[key] for key in batch.name if isinstance(call, dict) and key in call]  # pyright: ignore[reportUnknownVariableType]
        yield names[0] if names and isinstance(names[0], str) else "(unnamed)"
