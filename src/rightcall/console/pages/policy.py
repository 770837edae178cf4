"""The policy: its file with the lines that decided, what it would decide of a call, and the grants that are given."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, Literal, cast

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from rightcall.base.files.rules import path_rules
from rightcall.base.secrets import Redactor
from rightcall.base.text import escaped
from rightcall.catalog.toml import KeyPath, key_lines
from rightcall.console.access import visitor_of
from rightcall.console.bench import Added, TooBusyError, added_policy, policy_file, policy_text
from rightcall.console.page import Page, Site, look, number_of, one_line, read_form, render, site_of
from rightcall.console.pages.live import link_to, unspelled
from rightcall.console.pages.tools import PERIODS, period_of
from rightcall.errors import AnswerError, PolicyError, RightCallError
from rightcall.executor.explain import Explanation, Served, SupposedCall, explain, find_served, served_tools
from rightcall.executor.question import time_left
from rightcall.executor.toolbox import full_name
from rightcall.hosts.hooks.wires import hosted
from rightcall.policy.decide import matches_pattern
from rightcall.policy.effects import line_to_add
from rightcall.policy.settings import DEFAULT_POLICY, Policy
from rightcall.policy.types import DEFAULT_CALLER, Grant
from rightcall.record.admission import revoke_grant
from rightcall.record.calls import CallFilter, CallRecord, Period, call, page_of_calls
from rightcall.record.rollup.periods import count
from rightcall.record.tables import Tables

# ── rules ──
# Which line of the policy file a rule comes from: for the page of the policy, and for the call that it decided, with
# what an operator can change about it.

_WORDS: Final = ("write", "execute", "network")


def _worded(effect: str) -> tuple[tuple[str, ...], ...]:
    return ("policy", effect), ("callers", "*", effect), ("policy", "tools", "*", effect)


_KEYS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "policy:deny": (("policy", "deny"),),
    "policy:allow": (("policy", "allow"),),
    "caller:deny": (("callers", "*", "deny"),),
    "caller:allow": (("callers", "*", "allow"),),
    "caller:only": (("callers", "*", "only"),),
    "stage": (("policy", "stage"), ("callers", "*", "stage")),
    "allowlist": (("policy", "stage"), ("callers", "*", "stage"), ("callers", "*", "only")),
    "dry_run": (*_worded("write"), *_worded("execute"), *_worded("network")),
    "limit:all": (("policy", "limits", "all"),),
    "limit:caller": (("policy", "limits", "caller"), ("callers", "*", "limits")),
    "limit:tool": (("policy", "limits", "tools", "*"),),
    "approval:tool": (("policy", "approval", "tools"), ("servers", "*", "ask")),
    "approval:confidence": (("policy", "approval", "confidence"),),
    "approval:full": (("policy", "approval", "waiting"),),
    "definition": (("policy", "approval", "definitions"),),
    "path:deny": (("policy", "paths", "deny"),),
    "path:dotfile": (("policy", "paths", "dotfiles"),),
    "command:deny": (("policy", "commands", "deny"),),
    "command:ask": (("policy", "commands", "ask"),),
    "command": (("policy", "commands", "starter"),),
    "url:deny": (("policy", "urls", "deny"),),
    "url:ask": (("policy", "urls", "ask"),),
    "quarantine": (("policy", "quarantine"),),
    "loop": (("policy", "repeats"),),
}  # fmt: skip
"""Where a policy file says what a rule decides by; the longest beginning of the rule's name counts."""


def keys_of(rule: str) -> tuple[tuple[str, ...], ...]:
    """
    >>> keys_of("limit:all:minute"), keys_of("approval:write")[0], keys_of("server:git"), keys_of("paused")
    ((('policy', 'limits', 'all'),), ('policy', 'write'), (('servers', 'git'),), ())
    """
    head, _, rest = rule.partition(":")
    if head in ("allow", "deny", "approval") and rest in _WORDS:
        return _worded(rest)
    if head == "server" and rest:
        return (("servers", rest),)
    parts = rule.split(":")
    return next((_KEYS[one] for end in range(len(parts), 0, -1) if (one := ":".join(parts[:end])) in _KEYS), ())


def lines_of(rule: str, lines: Mapping[KeyPath, int], rows: Sequence[str]) -> list[int]:
    """The lines of a policy file that can have made a rule decide, in order: those of its keys, and where the rule
    names a word, those that say it."""
    wanted = keys_of(rule)
    found = sorted({line for path, line in lines.items() if any(_fits(path, one) for one in wanted)})
    word = _word_of(rule)
    return [line for line in found if f'"{word}"' in rows[line - 1]] if word else found


def _word_of(rule: str) -> str:
    """The word that a line must say to have made this rule decide; empty where any can have."""
    head, _, rest = rule.partition(":")
    if head in ("stage", "dry_run"):
        return rest if head == "stage" else "dry-run"
    return {"deny": "deny", "allow": "allow", "approval": "ask"}.get(head, "") if rest in _WORDS else ""


def _fits(path: KeyPath, wanted: tuple[str, ...]) -> bool:
    return len(path) == len(wanted) and all(one in (key, "*") for key, one in zip(path, wanted, strict=True))


def keys_in(text: str) -> dict[KeyPath, int]:
    try:
        return key_lines(text)
    except (ValueError, IndexError, RecursionError):  # it is not TOML: an edit that nobody took
        return {}


# ── of one call ──


class RuleSource(Struct, frozen=True):
    """Where the rule that decided about a call is written."""

    kind: Literal["line", "default", "built-in", "elsewhere"]
    """In these lines of the file; nowhere, since it is the default; in no policy at all; or in another policy than the
    one in force: it was changed since, or the program that made the call brought its own."""
    file: str = ""
    lines: list[tuple[int, str]] = []
    """Each with its number."""


def source_of(found: CallRecord, policy: Policy, redactor: Redactor) -> RuleSource | None:
    """None for a call that no policy decided about."""
    if not found.policy or not found.rule or found.status == "proxied":
        return None
    if not keys_of(found.rule):
        return RuleSource("built-in")
    if found.policy != policy.digest:
        return RuleSource("elsewhere")
    if found.rule == "path:deny" and not names_denied(found, policy):  # a file of our own, or another name of a path
        return RuleSource("built-in") if not policy.settings.paths.deny else None
    if policy.source == DEFAULT_POLICY.source:
        return RuleSource("default")
    file = policy_file(policy)
    try:
        text, in_force = policy_text(policy)
    except PolicyError:
        return RuleSource("elsewhere")
    if file is None or not in_force:
        return RuleSource("elsewhere")
    rows, name = text.split("\n"), os.path.basename(file)
    lines = _lines_for(found, keys_in(text), rows)
    if not lines:
        return RuleSource("default", name)
    return RuleSource("line", name, [(line, redactor.text(rows[line - 1].strip())) for line in lines])


def _lines_for(found: CallRecord, keys: Mapping[KeyPath, int], rows: Sequence[str]) -> list[int]:
    """Of the lines that can have made a rule decide, those about this caller and this tool; of a list, the entry."""
    mine = {path: line for path, line in keys.items() if _concerns(path, found)}
    lines = lines_of(found.rule, mine, rows)
    named = [
        line
        for path, line in mine.items()
        if isinstance(path[-1], int) and mine.get(path[:-1]) in lines and _has_entry(rows[line - 1], found.tool)
    ]
    if named or not _word_of(found.rule):
        return sorted(set(named)) or lines
    # a word for a caller or a tool takes the place of the one for everybody, unless that one is a denial
    everybody = [line for path, line in mine.items() if line in lines and path[0] == "policy" and len(path) == 2]
    others = [line for line in lines if line not in everybody]
    return (everybody or others) if _word_of(found.rule) == "deny" else (others or everybody)


def _concerns(path: KeyPath, found: CallRecord) -> bool:
    """Not what is said of other callers and tools."""
    if path[0] == "callers" and len(path) > 1:
        return path[1] == found.caller
    for table in (("policy", "tools"), ("policy", "limits", "tools")):
        if path[: len(table)] == table and len(path) > len(table):
            name = path[len(table)]
            return isinstance(name, str) and (name == found.tool or matches_pattern(name, found.tool))
    return True


def _has_entry(row: str, tool: str) -> bool:
    """Whether a line of a list has an entry that means the tool."""
    return any(one == tool or matches_pattern(one, tool) for one in row.split('"')[1::2])


# ── what an operator can do about a refusal ──

_LIFTED: Final[Mapping[str, str]] = {
    "path:dotfile": "name the file in [policy.paths] dotfiles",
    "path:secret": "name the file in [policy.paths] allow, which makes it an exception",
    "path:internal": "name the file in [policy.paths] allow, which makes it an exception",
    "command:deny": "take the pattern that fits the command out of [policy.commands] deny",
    "command:ask": "take the pattern that fits the command out of [policy.commands] ask",
    "url:deny": "take the pattern that fits the address out of [policy.urls] deny",
    "url:ask": "take the pattern that fits the address out of [policy.urls] ask",
    "limit:all": "wait, or raise the limit in [policy.limits] all",
    "limit:caller": "wait, or raise the limit of this caller",
    "limit:tool": "wait, or raise the limit in [policy.limits.tools]",
}
_GUARDS: Final = ("path", "command", "url", "name")
"""Heads of rules of which those that no key of a policy is about hold under every policy."""
_WRONG: Final = ("unknown_tool", "validation", "truncated")
_EFFECT: Final = '`{} = "ask"` (a person approves each call) or `"allow"` (nobody is asked)'
_OWN_FILES: Final = "RightCall's own files, such as the policy and the record,"
_MOST_TEXTS: Final = 1000


class Way(Struct, frozen=True):
    """What an operator can do so that a call like this one runs; or why no line of a policy does it."""

    allows: str = ""
    never: str = ""


def way_out(found: CallRecord, source: RuleSource | None, policy: Policy, line: str) -> Way:
    """`line` is what the command line says of it; empty where it says nothing."""
    head, _, rest = found.rule.partition(":")
    places = [] if source is None else [f"{source.file}:{number}" for number, _ in source.lines]
    at = " and ".join(places)
    if head == "deny" and rest in _WORDS and at:
        return Way(f"change {at} to {_EFFECT.format(rest)}")
    if line:
        return Way(line)
    if found.rule in _WRONG:
        return Way(
            never="the call itself was wrong, and no line of the policy is about that; step 3 says what was wrong"
        )
    if found.rule == "path:deny" and not policy.settings.paths.deny:
        return Way(never=f"{_OWN_FILES} are hidden under every policy")
    if found.rule == "path:deny":
        also = "" if names_denied(found, policy) else f"; {_OWN_FILES} stay hidden under every policy"
        return Way(f"take the pattern that names it out of [policy.paths] deny{at and ', '}{at}{also}")
    if lifted := next((words for rule, words in _LIFTED.items() if f"{found.rule}:".startswith(f"{rule}:")), ""):
        return Way(f"{lifted}{at and ', '}{at}")
    if at:
        return Way(f"change {at}")
    return Way(never=f"{found.rule} is a built-in guard, which holds under every policy") if head in _GUARDS else Way()


def names_denied(found: CallRecord, policy: Policy) -> bool:
    """Whether a pattern of the policy denies a path that the call names."""
    rules = path_rules(policy.settings.paths.deny, (), ())
    return any(rules.named(one) == "path:deny" for one in islice(_texts(found.params), _MOST_TEXTS))


def _texts(value: Any) -> Iterator[str]:
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            left += cast("dict[str, Any]", one).values()
        elif isinstance(one, list | tuple):
            left += cast("list[Any]", one)


_MOST_LINES: Final = 5000
_MOST_GRANTS: Final = 200
_LONGEST: Final = 50_000
"""Characters of the arguments that are asked about."""
_MOST_FORM: Final = 300_000


class Ruled(Struct, frozen=True):
    """How often a rule decided, and where it comes from."""

    rule: str
    refused: int
    passed: int
    lines: list[int]
    link: str

    @property
    def all(self) -> int:
        return self.refused + self.passed


class SourceLine(Struct, frozen=True):
    """One line of the file."""

    number: int
    text: str
    look: str
    hits: list[Ruled]


class PolicyView(Struct, frozen=True, kw_only=True):
    file: str
    awaited: bool
    """Whether it was added after the start, and so does not count yet."""
    problem: str
    in_force: bool
    standing: str
    digest: str
    lines: list[SourceLine]
    more: int
    rules: list[Ruled]


class Given(Struct, frozen=True):
    """A grant, and how long it lasts."""

    grant: Grant
    left: str


class Answered(Struct, frozen=True):
    """What `explain` says, or why it cannot."""

    asked: SupposedCall
    found: Explanation | None = None
    problem: str = ""
    advice: str = ""
    later: Explanation | None = None
    """The same by a file that was added after the start."""


# ── the page ──


async def show(request: Request) -> Response:
    """The call of a record that is named is filled in."""
    number = number_of(request.query_params.get("call"))
    if number is not None and (found := await look(request, lambda tables: call(tables, number))) is not None:
        return await _show(request, SupposedCall(found.caller, found.tool, _arguments(found)), None)
    asked = SupposedCall(_word(request, "caller") or DEFAULT_CALLER, _word(request, "tool"))
    return await _show(request, asked, None)


def _arguments(found: CallRecord) -> str | None:
    text = one_line(found.params)
    return text if len(text) <= _LONGEST else None


def _word(request: Request, name: str) -> str:
    return request.query_params.get(name, "")[:1000]


async def ask(request: Request) -> Response:
    """What would be decided; nothing runs and nothing is recorded."""
    form = await read_form(request, _MOST_FORM)
    written = form.one("arguments").strip()
    caller, tool = (unspelled(form.one(name).strip()) for name in ("caller", "tool"))
    asked = SupposedCall(caller or DEFAULT_CALLER, tool, written or None)
    site = site_of(request)
    added = await asyncio.to_thread(added_policy, site.policy(), site.root)
    return await _show(request, asked, await _answered(site, asked, None if added is None else added.policy))


async def _answered(site: Site, asked: SupposedCall, added: Policy | None) -> Answered:
    if not asked.tool:
        return Answered(asked, problem="Name a tool.")
    if not asked.caller.isprintable() or len(asked.arguments or "") > _LONGEST:
        return Answered(asked, problem=f"A caller has a printable name, and arguments at most {_LONGEST:,} characters.")
    try:
        found = await site.bench.tried(lambda: _explained(site, asked, site.policy()))
        later = None if added is None else await site.bench.tried(lambda: _explained(site, asked, added))
    except TooBusyError:
        return Answered(asked, problem="This took too long, or other pages are busy. Try again in a moment.")
    except RightCallError as fault:
        if await asyncio.to_thread(site.store.look, lambda tables: _only_passed(tables, asked.tool)):
            return Answered(asked, problem=_PASSED.format(escaped(asked.tool, 100)))
        return Answered(asked, problem=f"{escaped(str(fault), 500)}.")
    tool = found.tool.tool
    return Answered(asked, found, advice=line_to_add(found.decision.rule, tool.name, tool.effects), later=later)


_PASSED: Final = (
    "The model's client runs `{}`; RightCall repairs and records its calls. The policy decides about tools that "
    "RightCall runs, and about those of its MCP servers."
)


def _only_passed(tables: Tables, tool: str) -> bool:
    return bool(page_of_calls(tables, CallFilter(tool=tool, status="proxied"), limit=1).calls)


def _explained(site: Site, asked: SupposedCall, policy: Policy) -> Explanation:
    toolbox = site.bench.toolbox(policy, site.root)
    served = None if asked.tool in toolbox.tools else find_served(toolbox.policy, asked.tool, site.store)
    if (theirs := hosted(asked.tool).get(asked.caller)) is not None:
        served = Served("", asked.tool, theirs, asked.caller)
    return explain(toolbox, asked, site.store, site.root, live=True, served=served)


def can_explain(site: Site, found: CallRecord) -> bool:
    """Whether the tool of a call is known here: that of a program with functions of its own is not."""
    try:
        toolbox = site.bench.toolbox(site.policy(), site.root)
        known = toolbox.gate.catalog.find(found.tool).tool is not None
        return known or found.caller in hosted(found.tool) or bool(find_served(toolbox.policy, found.tool, site.store))
    except RightCallError:
        return False


def _names(site: Site) -> list[str]:
    """Of every tool that can be asked about."""
    toolbox = site.bench.toolbox(site.policy(), site.root)
    served = (full_name(one.server, one.tool) for one in served_tools(toolbox.policy, site.store))
    return sorted({*toolbox.tools, *served})


async def _show(
    request: Request, asked: SupposedCall, answered: Answered | None, problem: str = "", status: int = 200
) -> Response:
    site, period = site_of(request), period_of(request)
    now = site.store.clock.now()
    rules, grants = await look(request, lambda tables: (_counted(tables, period), _grants(tables, now)))
    added = await asyncio.to_thread(added_policy, site.policy(), site.root)
    view = await asyncio.to_thread(_view, site, rules, period, added)
    tools = await asyncio.to_thread(_names, site)
    return render(
        request, "policy", status, view=view, grants=grants, asked=asked, answered=answered, problem=problem,
        period=period, periods=PERIODS, tools=tools, added=added,
        callers=[DEFAULT_CALLER, *site.policy().settings.callers],
    )  # fmt: skip


Counted = tuple[Counter[str], Counter[str]]
"""Calls by the rule that refused them, and by the one that let them run."""


def _counted(tables: Tables, period: Period) -> Counted:
    counts = count(tables, period=period, now=tables.wall())
    return Counter(counts.rules(refused=True)), Counter(counts.rules(refused=False))


def _grants(tables: Tables, now: int) -> list[Given]:
    """Those that still count, the next to end first."""
    found = [one for one in tables.all_grants() if one.expires_at > now and one.uses > 0]
    found.sort(key=lambda one: one.expires_at)
    return [Given(one, time_left(one.expires_at, now)) for one in found[:_MOST_GRANTS]]


def _view(site: Site, counted: Counted, period: Period, added: Added | None) -> PolicyView:
    """With the file that was added after the start, where there is one: nothing was decided by its lines."""
    policy = site.policy() if added is None or added.policy is None else added.policy
    text, in_force, problem = "", True, ""
    try:
        text, in_force = policy_text(policy)
    except PolicyError as fault:
        problem = "" if policy_file(policy) is None else escaped(str(fault), 500)
    keys = keys_in(text) if in_force and added is None else {}
    rows = text.split("\n")
    rules = _ruled(counted, period, lambda rule: lines_of(rule, keys, rows))
    redactor = Redactor(site.store.key(), policy.settings.audit.redact)
    return PolicyView(
        file=policy_file(policy) or "",
        awaited=added is not None,
        problem=problem,
        in_force=in_force,
        standing=policy.standing,
        digest=policy.digest,
        lines=list(_source(rows[:_MOST_LINES], rules, redactor)) if text else [],
        more=max(0, len(rows) - _MOST_LINES),
        rules=rules,
    )


def _ruled(counted: Counted, period: Period, lines: Callable[[str], list[int]]) -> list[Ruled]:
    refused, passed = counted
    found = [
        Ruled(rule, refused[rule], passed[rule], lines(rule), link_to(period, rule=rule))
        for rule in {*refused, *passed}
    ]
    return sorted(found, key=lambda one: (-one.all, one.rule))


def _source(rows: Iterable[str], rules: list[Ruled], redactor: Redactor) -> Iterator[SourceLine]:
    """The lines of the file, without secrets. A rule stands at a line where only that line can have made it decide."""
    hits: dict[int, list[Ruled]] = {}
    for one in rules:
        if len(one.lines) == 1:
            hits.setdefault(one.lines[0], []).append(one)
    for number, row in enumerate(rows, 1):
        bare = row.strip()
        kind = "comment" if bare.startswith("#") else "table" if bare.startswith("[") else ""
        yield SourceLine(number, redactor.text(row.rstrip("\r")), kind, hits.get(number, []))


# ── grants ──


async def revoke(request: Request) -> Response:
    """A person who may approve takes a grant back."""
    site, visitor = site_of(request), visitor_of(request)
    asked = SupposedCall(DEFAULT_CALLER, "")
    if not visitor.may_approve:
        told = "You may look, but not revoke grants. Nothing was changed."
        return await _show(request, asked, None, told, 403)
    grant: str = request.path_params["id"]
    try:
        await site.store.atransact(lambda tables: revoke_grant(tables, grant, visitor.name))
    except AnswerError:
        told = "This grant is not there any more: it was used up, has ended, or was revoked. Nothing was changed."
        return await _show(request, asked, None, told, 404)
    return RedirectResponse("/policy#grants", 303)


PAGE = Page(
    "policy", "Policy", "shield", "/policy",
    [
        Route("/policy", show, methods=["GET"]),
        Route("/policy", ask, methods=["POST"]),
        Route("/policy/grants/{id}/revoke", revoke, methods=["POST"]),
    ],
)  # fmt: skip
