"""What of a recorded request holds under another policy: its fields compared with those that a policy gives.

recorded, under the old policy, under the new one ─▶ carry ─▶ the request to decide, or None
"""

from typing import Any, Final, cast

from msgspec import json
from msgspec.structs import replace

from rightcall.base.json.strict import values_at
from rightcall.base.secrets import LONGEST_VALUE
from rightcall.base.text import REDACTED
from rightcall.catalog.tool import Tool
from rightcall.learn.rulings import Ruling
from rightcall.learn.sites import Rebuilt
from rightcall.policy.decide import is_rehearsed, is_repeatable
from rightcall.policy.types import PAUSED, Decision, Request, Rights
from rightcall.record.tables import CallBody

CARRIED: Final = (
    "arguments", "effects", "own", "called", "truncated", "repaired", "confidence", "paths", "outside", "linked",
    "findings", "commanded", "command_paths", "inner",
)  # fmt: skip
"""Fields of a request that depend on the policy and on what was written."""


_STRICT: Final = ("effects", "truncated", "repaired", "findings", "commanded", "inner")
"""Those of them that must come out as they were recorded. Where paths lead may have changed since."""


def under(
    request: Request, body: CallBody, rights: Rights, before: Rights, new: Ruling, effects_of: Request | None = None
) -> Request:
    """With what the new policy says of the caller: dry runs, polling, and what permits tools that no list names."""
    repeatable = request.repeatable if effects_of is None else effects_of.repeatable
    if effects_of is None:
        by_rule = request.repeatable and not is_repeatable(before, request.tool)
        repeatable = by_rule or is_repeatable(rights, request.tool)
    permit = new.door(body).permit if body.wire else request.permit
    request = replace(request, rights=rights, repeatable=repeatable, permit=permit, dry_run=False)
    return replace(request, dry_run=True) if is_rehearsed(request, request.rehearse) else request


def is_as_recorded(was: Rebuilt, body: CallBody) -> bool:
    """Whether the old policy makes of it what was recorded, at first sight."""
    request = was.request
    if was.digest != body.digest or isinstance(request, Decision) != body.inputs.unasked:
        return False
    if isinstance(request, Decision):
        return unasked_rule(body) in ("", request.rule)
    return request.tool == body.tool and sorted(request.effects) == list(body.effects)


def carry(recorded: Request, was: Request, would: Request) -> Request | None:
    """The recorded request with what the policies make differ; None where the old one does not give what was recorded,
    so that nobody knows what the new one would."""
    if any(plain_field(name, getattr(was, name)) != plain_field(name, getattr(recorded, name)) for name in _STRICT):
        return None
    changes: dict[str, Any] = {}
    for name in CARRIED:
        one, other = getattr(was, name), getattr(would, name)
        if plain_field(name, one) == plain_field(name, other):
            continue
        if plain_field(name, one) != plain_field(name, getattr(recorded, name)):
            return None
        changes[name] = other
    return replace(recorded, **changes) if changes else recorded


def plain_field(name: str, value: Any) -> Any:
    """As it can be compared: reasons are redacted in a record."""
    return tuple((one.answer, one.rule) for one in value) if name == "findings" else value


def unasked_rule(body: CallBody) -> str:
    """Why there was no request: of one that was only watched, as its reason tells. Of one in quarantine no record
    says it."""
    if body.rule != "observe":
        return "" if body.rule in ("quarantine", PAUSED.rule) else body.rule
    return body.reason.partition(" by ")[2].partition(": ")[0]


def arguments_in(body: CallBody) -> dict[str, Any]:
    params: Any = body.params
    return cast("dict[str, Any]", params) if isinstance(params, dict) else {}


def shows_places(body: CallBody, tool: Tool | None) -> bool:
    """Whether a record with redacted arguments still holds every path of the call as it was written: its tool declares
    where they are, and what is there was neither redacted nor cut. Commands and addresses it has none."""
    if tool is None or not tool.rules.paths or tool.rules.batch is not None:
        return False
    if body.inputs.commanded or body.inputs.inner or body.inputs.guesses:
        return False
    params = arguments_in(body)
    if not params or len(json.encode(params)) > LONGEST_VALUE // 2:
        return False  # what was cut is about as long as a record may be
    hidden = [name for name, value in params.items() if REDACTED.search(json.encode({name: value}).decode())]
    shown = {name: value for name, value in params.items() if name not in hidden}
    places = (*tool.rules.paths, *tool.rules.patches, *tool.rules.globs)
    return all(values_at(params, place) == values_at(shown, place) for place in places)
