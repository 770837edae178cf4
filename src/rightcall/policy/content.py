"""A policy as plain data, as far as it decides about calls: what a record keeps of it, so that a call can be decided
again by the policy that decided it.

    Policy ─▶ content_of ─▶ JSON, only what differs from the defaults ─▶ policy_from ─▶ the same decisions

Left out is what decides nothing and may be secret or of one machine: how servers are reached, who is told of questions,
where the store is, the models of the router.
"""

from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct, ValidationError, convert, to_builtins
from msgspec.structs import fields, replace

from rightcall.policy.settings import DEFAULT_POLICY, Audit, Notices, Policy, Server, StoreSettings

_DECIDING = (
    "mode", "unknown_tool", "unknown_argument", "packs", "enabled", "fail_on_normalization_failure", "max_text",
    "max_depth", "providers", "tools", "hosts", "servers", "settings", "write",
)  # fmt: skip
"""Fields of a policy that say what becomes of a call."""
_UNREACHED = Server("")


def content_of(policy: Policy) -> dict[str, Any]:
    """What is kept of a policy; empty for the defaults.

    >>> from rightcall import load_policy
    >>> content_of(load_policy({"policy": {"write": "ask"}, "servers": {"files": {"command": ["serve"]}}}))
    {'servers': {'files': {}}, 'settings': {'write': 'ask'}}
    """
    settings = replace(
        policy.settings, approvals=Notices(), store=StoreSettings(), audit=Audit(redact=policy.settings.audit.redact)
    )
    kept = replace(policy, settings=settings)
    servers = {name: _of_server(one) for name, one in policy.servers.items()}
    found = {
        name: _changed(getattr(kept, name), getattr(DEFAULT_POLICY, name))
        for name in _DECIDING
        if name != "servers" and getattr(kept, name) != getattr(DEFAULT_POLICY, name)
    }
    return dict(sorted((found | ({"servers": servers} if servers else {})).items()))


def _of_server(server: Server) -> dict[str, Any]:
    """What it may do, and not how it is reached."""
    bare = Server(
        "", allow=server.allow, deny=server.deny, effects=server.effects, ask=server.ask, prefix=server.prefix,
        timeout=server.timeout, enabled=server.enabled,
    )  # fmt: skip
    return cast("dict[str, Any]", _changed(bare, _UNREACHED))


def _changed(value: Any, usual: Any) -> Any:
    """Of a record only the fields that differ from the usual ones, however deep."""
    if isinstance(value, Mapping):
        return {str(name): _sparse(one) for name, one in cast("Mapping[Any, Any]", value).items()}
    if not isinstance(value, Struct) or type(value) is not type(usual):
        return to_builtins(value, enc_hook=dict)
    pairs = {name: (getattr(value, name), getattr(usual, name)) for name in value.__struct_fields__}
    return {name: _changed(own, other) for name, (own, other) in pairs.items() if own != other}


def _sparse(value: Any) -> Any:
    """One of several records, without the fields that are as its type has them."""
    if not isinstance(value, Struct):
        return to_builtins(value, enc_hook=dict)
    usual = {one.name: one.default for one in fields(value)}
    return {
        name: to_builtins(own, enc_hook=dict)
        for name in value.__struct_fields__
        if (own := getattr(value, name)) != usual[name]
    }


def _whole(content: Any, usual: Any) -> Any:
    """What `_changed` left out is as usual."""
    if not isinstance(usual, Struct) or not isinstance(content, Mapping):
        return content
    told = cast("Mapping[str, Any]", content)
    return {
        name: _whole(told[name], own) if name in told else to_builtins(own, enc_hook=dict)
        for name in usual.__struct_fields__
        if (own := getattr(usual, name)) is not None or name in told
    }


def policy_from(content: Mapping[str, Any]) -> Policy | None:
    """The policy that content was kept of; None where this version cannot read it."""
    servers = content.get("servers", {})
    try:
        named = {name: {**about, "name": name} for name, about in servers.items()}
        return convert(_whole({**content, "servers": named}, DEFAULT_POLICY), Policy)
    except (ValidationError, TypeError, AttributeError):
        return None
