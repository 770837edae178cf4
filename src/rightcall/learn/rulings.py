"""By which policy a recorded call was decided, and what another one says of its caller: the rights that the very same
functions give at the executor and at each integration.

    `policy` records ─▶ Rulings ─▶ Ruling (one policy where it was in force) ─▶ Rights of a caller there
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, cast

from msgspec import DecodeError, Struct, field
from msgspec.structs import replace

from rightcall import __version__
from rightcall.catalog.packs import pack_digests
from rightcall.errors import RightCallError
from rightcall.executor.explain import toolbox_of
from rightcall.executor.rights import DoorRights, door_policy, door_rights
from rightcall.executor.toolbox import Toolbox
from rightcall.policy.content import policy_from
from rightcall.policy.settings import DEFAULT_POLICY, Policy
from rightcall.policy.types import Rights, rights_of, with_digest
from rightcall.policy.watch import place_policy
from rightcall.record.notes import packs_digest
from rightcall.record.tables import AuditEntry, CallBody, read_note
from rightcall.types import Mode

STRICT: Final = "gateway"
"""The integration whose servers are the policy's own."""
_MOST_CALLERS: Final = 10_000
_NO_PACKS: Mapping[str, str] = MappingProxyType({})


class Ruling(Struct, frozen=True, eq=False):
    """A policy where it is in force: beside which files, with which packs, by which version."""

    policy: Policy
    """As it counts there: with what it denies and locks counted from its own folder too."""
    packs: Mapping[str, str] = _NO_PACKS
    """Rule packs by name, each with the digest of its file."""
    protected: tuple[str, ...] = ()
    folder: str = ""
    root: str = ""
    version: str = __version__
    is_told: bool = False
    """It names who is told of questions, which no record holds: rights cannot be known again by their digest."""
    kept: dict[tuple[str, ...], Any] = field(default_factory=dict[tuple[str, ...], Any])

    def at_the_place_of(self, other: "Ruling") -> "Ruling":
        """This policy in the place of another one."""
        policy, packs = _placed(self.policy, other.folder, other.root), {**self.packs, **other.beside}
        return Ruling(policy, packs, other.protected, other.folder, other.root, is_told=self.is_told)

    @property
    def beside(self) -> dict[str, str]:
        """Packs that a program names besides those of the policy."""
        return {name: digest for name, digest in self.packs.items() if name not in self.policy.packs}

    def rights(self, body: CallBody) -> Rights:
        """What it says of the caller of a recorded call, where that was made."""
        return self.door(body).rights if body.wire else self.here(body)

    def door(self, body: CallBody) -> DoorRights:
        host, space, caller = body.wire, body.inputs.space, body.caller
        found = self.kept.get(("door", host, space, caller))
        if found is None:
            self._make_room()
            server = self.policy.servers.get(space) if space else None
            found = self.kept["door", host, space, caller] = door_rights(
                self.policy, caller, host=host, server=server, strict=host == STRICT, protected=self.protected
            )
        return cast("DoorRights", found)

    def here(self, body: CallBody) -> Rights:
        """Of a call that we ran: with or without the tools that ship with us, whichever the record names."""
        both = self.kept.get(("here", body.caller))
        if both is None:
            self._make_room()
            bare = rights_of(self.policy.settings, body.caller)
            if self.protected:
                deny = (*bare.paths.deny, *self.protected)
                bare = with_digest(replace(bare, paths=replace(bare.paths, deny=deny)))
            box = self.toolbox()
            both = self.kept["here", body.caller] = bare, bare if box is None else box.rights_of(body.caller)
        bare, whole = cast("tuple[Rights, Rights]", both)
        return bare if bare.digest == body.rights else whole

    def toolbox(self) -> Toolbox | None:
        """The tools that ship with us under this policy; None where one of its packs is missing here."""
        if ("box",) not in self.kept:
            try:
                box = toolbox_of(self.policy, None, self.root or ".")
                self.kept["box",] = replace(box, protected=self.protected, rights={}, scopes={})
            except RightCallError:
                self.kept["box",] = None
        return self.kept["box",]

    def _make_room(self) -> None:
        if len(self.kept) > _MOST_CALLERS:
            self.kept.clear()

    def host_policy(self, host: str, mode: Mode | None) -> Policy:
        """With the defaults of an integration that was opened with this mode."""
        key = "host", host, mode or ""
        if key not in self.kept:
            self.kept[key] = door_policy(self.policy, host, mode, strict=host == STRICT)
        return self.kept[key]


def ruling_of(policy: Policy, packs: tuple[str, ...] = ()) -> Ruling:
    """A policy that was named, with packs beside its own."""
    whole = replace(policy, packs=tuple(dict.fromkeys((*policy.packs, *packs)))) if packs else policy
    return Ruling(whole, pack_digests(whole.packs), is_told=bool(policy.settings.approvals.notify))


def _placed(policy: Policy, folder: str, root: str) -> Policy:
    return place_policy(policy, f"{folder}/rightcall.toml", root) if folder else policy


class Place(Struct, frozen=True):
    """Where a policy is in force."""

    protected: tuple[str, ...] = ()
    root: str = ""
    folder: str = ""
    """Of the policy, where that is not the root."""


class Rulings:
    """The policies that a store has kept, by their digests; and those that somebody knows besides."""

    def __init__(self, *known: Policy, place: Place | None = None) -> None:
        """`known` are policies that somebody has, and `place` where they would be in force: for calls of a policy that
        no record holds any more."""
        self._known = {one.digest: one for one in known}
        self._place = place or Place()
        self._kept: dict[str, list[Ruling]] = {}
        self._found: dict[tuple[str, str, str], Ruling | None] = {}
        self._made: dict[str, Ruling] = {}
        """Of the policies that somebody has. Kept, since what was worked out for a ruling is known by its identity."""

    def take(self, entry: AuditEntry) -> None:
        """A `policy` record."""
        try:
            note = read_note(entry.body)
        except DecodeError:
            return
        told: Any = note.data
        data = cast("dict[str, Any]", told) if isinstance(told, dict) else {}
        if note.what != "loaded" or not isinstance(data.get("digest"), str) or "version" not in data:
            return
        ruling = self._read(data)
        if ruling is not None:
            self._kept.setdefault(data["digest"], []).append(ruling)
            self._found.clear()

    def _read(self, data: Mapping[str, Any]) -> Ruling | None:
        digest, folder, root = data["digest"], str(data.get("folder", "")), str(data.get("root", ""))
        content: Any = data.get("content")
        policy = self._known.get(digest)
        if isinstance(content, dict):
            policy = policy_from(cast("dict[str, Any]", content)) or policy
        if policy is None:
            return None
        told: Any = data.get("packs")
        packs = cast("dict[str, str]", told) if isinstance(told, dict) else {}
        source, standing = str(data.get("source", "")), data.get("standing", "given")
        named = replace(policy, digest=digest, source=source or DEFAULT_POLICY.source, standing=standing)
        return Ruling(
            _placed(named, folder, root), packs, tuple(data.get("protected", ())), folder, root, str(data["version"]),
            is_told=bool(data.get("notify")),
        )  # fmt: skip

    def of(self, body: CallBody) -> Ruling | None:
        """The one that decided a call: it gives the same rights. None where no record holds it."""
        key = body.policy, body.rights, body.packs
        if key not in self._found:
            if len(self._found) > _MOST_CALLERS:
                self._found.clear()
            self._found[key] = self._search(body)
        return self._found[key]

    def _search(self, body: CallBody) -> Ruling | None:
        for one in reversed(self._kept.get(body.policy, ())):
            if packs_digest(dict(one.packs)) != body.packs and body.packs:
                continue
            if not body.rights or one.is_told or one.rights(body).digest == body.rights:
                return one
        return self._from_known(body)

    def _from_known(self, body: CallBody) -> Ruling | None:
        """A policy that somebody has, if it gives the rights that the record names."""
        policy, place = self._known.get(body.policy), self._place
        if policy is None or not body.rights:
            return None
        made = self._made.get(policy.digest)
        if made is None:
            at, packs = _placed(policy, place.folder, place.root), pack_digests(policy.packs)
            made = self._made[policy.digest] = Ruling(at, packs, place.protected, place.folder, place.root)
        if body.packs and packs_digest(dict(made.packs)) != body.packs:
            return None
        return made if made.rights(body).digest == body.rights else None
