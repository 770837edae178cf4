"""What the policy says of a caller at a door, where somebody else runs the tools: a host, a framework, a server.

The defaults of `[policy]` (the stage's list, dry runs, asking before every write) are for the tools that RightCall runs
itself. A host's own tools are permitted as its user set it up, unless the policy says otherwise; the tools of a server
that the gateway joins are permitted by that server's table, and what nobody declared of them asks.
"""

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from rightcall.config import DEFAULT_POLICY, HostSettings, Policy
from rightcall.config_servers import Server
from rightcall.config_settings import Asking, CallerSettings, Rights, Window, rights_of, with_digest
from rightcall.types import Effect

_ALL_DOTFILES = ("**",)


class DoorRights(Struct, frozen=True):
    """A caller's rights at a door, and the rule that permits a tool which no list names."""

    rights: Rights
    permit: str
    dry_run: bool = False
    unset: bool = False
    """Nobody has written a policy: there is nobody who could be asked, either."""


def door_rights(
    policy: Policy, caller: str, *, host: str, server: Server | None, strict: bool, protected: tuple[str, ...]
) -> DoorRights:
    """`server` is the policy's word on the server whose tools these are; `strict`: only such a word permits them."""
    rights = rights_of(policy.settings, caller)
    own = policy.settings.callers.get(caller) or CallerSettings()
    here = policy.hosts.get(host) or HostSettings()
    bound = own.only is not None or own.stage is not None  # the policy names what this caller may use
    permit = "" if bound else f"server:{server.name}" if server is not None else "" if strict else f"host:{host}"
    approval = rights.approval if strict else _asking(rights.approval, here)
    if server is not None and server.ask:
        approval = replace(approval, tools=(*approval.tools, *(f"{server.name}/{one}" for one in server.ask)))
    rights = replace(
        rights,
        approval=approval,
        deny=_denied(rights.deny, server),
        paths=replace(rights.paths, deny=(*rights.paths.deny, *protected), dotfiles=_ALL_DOTFILES),
    )
    unset = policy.source == DEFAULT_POLICY.source and not strict
    if unset:  # nobody has set anything: the host is left as it is
        rights = replace(rights, all=Window(), window=Window(), tools=MappingProxyType({}), repeats=0, quarantine=0)
    return DoorRights(with_digest(rights), permit, (server is not None and server.dry_run) or bool(own.dry_run), unset)


def _asking(policy: Asking, here: HostSettings) -> Asking:
    """A host that runs its tools asks its own user what they may do: we ask only where the policy says so."""
    return replace(policy, effects=here.ask)


def _denied(deny: Mapping[str, str], server: Server | None) -> Mapping[str, str]:
    if server is None or not server.deny:
        return deny
    return MappingProxyType({**deny, **{f"{server.name}/{one}": f"server:{server.name}" for one in server.deny}})


def asked_effects(server: Server | None, tool: str) -> frozenset[Effect] | None:
    """What the policy says a server's tool does; None where it says nothing."""
    said = None if server is None else server.effects_of(tool)
    return None if said is None else frozenset(said)
