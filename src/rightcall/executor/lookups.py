"""Requests to MCP servers that run no tool: for a resource, a prompt or a completion. Nobody can be asked about one, so
it passes or it is refused:

    paused? ─▶ may the caller use anything of the server? ─▶ paths and addresses ─▶ it passes, without a record
       └────────────────────┴──────────────────────────────────────┴─────────────▶ a refusal, recorded

What the server answers is its own: only what is asked for is looked at.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from rightcall.executor.calls import Who, Written, fault_body
from rightcall.executor.passage import Here, deny_name
from rightcall.executor.request import Ground, Occasion, attempt_request, build_request, canonical
from rightcall.executor.rights import UNKNOWN, judge_names, with_effects
from rightcall.executor.toolbox import full_name, names_meant
from rightcall.policy.decide import harmless, inside, question_of
from rightcall.policy.types import PAUSED, READING, Decision, Facts, Request
from rightcall.record.tables import UNASKED, CallBody
from rightcall.types import Call, Verdict

LOOKUPS: Final = frozenset(("resources/read", "resources/subscribe", "prompts/get", "completion/complete"))
"""Methods of the protocol that are judged here."""
_ANY: Final = "\u4efb\u4f55"
"""No rule spells this name out, in whatever spelling: what is said of it is said of every tool."""
_READS: Final = with_effects(UNKNOWN, READING)
_NOT_ASKED: Final = (
    "Nobody can be asked about a resource or a prompt. Use a tool of the server instead, or ask the user to change the "
    "policy."
)


class Lookup(Struct, frozen=True):
    """One such request."""

    method: str
    params: Mapping[str, Any]
    """What it names, as `mcp.messages.read_lookup` reads it."""
    caller: str | None = None
    space: str = ""
    """The server that would answer it."""
    context: str | None = None


def lookup_request(here: Here, tools: Iterable[str], lookup: Lookup, at: int) -> Request | Decision | None:
    """What is to be decided; None where calls are only watched. `tools` are those that the server has told."""
    if here.policy.mode_for(lookup.method, here.host) == "observe":
        return None
    against = deny_server(here, tools)
    if against is not None:
        return against
    whole, given = full_name(here.space, lookup.method), dict(lookup.params)
    verdict = _verdict(whole, given)
    ground = Ground(here.box, here.root, here.folders, here.above, here.held, guesses=True)
    request = attempt_request(
        lambda: build_request(
            _READS, canonical(whole, given), here.rights.rights, verdict, ground, Occasion(at, None, lookup.context)
        )
    )
    if isinstance(request, Decision):
        return request
    if not lookup.method.startswith("resources/"):  # what stands in a prompt is neither run nor fetched
        about_paths = tuple(one for one in request.findings if one.rule.startswith("path:"))
        request = replace(request, findings=about_paths, commanded=(), command_paths=())
    return judge_names(_READS, request, here.root, here.guarded, here.policy.write.locked)


def _verdict(whole: str, given: Mapping[str, Any]) -> Verdict:
    call = Call(whole, given)
    return Verdict(True, call, call)


def deny_server(here: Here, tools: Iterable[str]) -> Decision | None:
    """Why a caller may use none of a server's tools, known or not: then it may use nothing else of it."""
    against = None
    for bare in (*tools, _ANY):
        whole = full_name(here.space, bare)
        against = deny_name(here, whole, bare, whole, names_meant(here.space, bare))
        if against is None:
            return None
    return against


def decide_lookup(facts: Facts, request: Request | Decision | None) -> Decision | None:
    """The refusal, None where it passes."""
    if facts.paused() is not None:
        return PAUSED
    if request is None or isinstance(request, Decision):
        return request
    return inside(request, facts) or harmless(request, facts) or _deny_question(request)


def make_refusal(here: Here, who: Who, lookup: Lookup) -> CallBody:
    """How a refusal is recorded."""
    whole, given = full_name(here.space, lookup.method), dict(lookup.params)
    body = fault_body(Written(_verdict(whole, given), whole), who, here.redactor)
    return replace(
        body, tool=whole, wire=here.host, rights=here.rights.rights.digest, inputs=replace(UNASKED, space=here.space)
    )


def _deny_question(request: Request) -> Decision | None:
    """What a person would be asked about. An address that means something to its server only is no address to judge,
    unless the policy has rules for addresses."""
    asked, urls = question_of(request), request.rights.urls
    if asked is None or (asked[0] == "url:unreadable" and not urls.deny and not urls.ask):
        return None
    return Decision("deny", asked[0], asked[1], _NOT_ASKED)
