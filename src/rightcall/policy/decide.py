"""May this call run? Small policies, each a function of a frozen request and the shared tables, asked in this order.

The first denial or question ends it. Nothing runs that no policy has allowed: silence is a denial.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, cast

from rightcall.base.files.guarded import NOWHERE
from rightcall.base.files.rules import UNJUDGED, PathRules, path_rule, path_rules
from rightcall.base.globs import hits, matches
from rightcall.base.text import escaped, regex
from rightcall.policy.effects import EFFECT_DOES, EffectWord, turned_on, word_for
from rightcall.policy.settings import Window
from rightcall.policy.types import (
    HOUR,
    MINUTE,
    PAUSED,
    READING,
    SECOND,
    SERVER_CHANGED,
    Approval,
    Decision,
    Facts,
    Grant,
    Request,
    Rights,
    Scope,
    binding,
    definition_binding,
    refused_scope,
    same_scope,
    server_key,
)
from rightcall.types import Effect

# ── allowlist ──
# Which tools a caller may use at all (P-01): its stage's list and its own; a denial beats every permission.


def denied(request: Request, _facts: Facts) -> Decision | None:
    """A denial also hits other spellings of a name, and the tools that a batch would run; that of an effect hits every
    tool that has it."""
    rights = request.rights
    said = word_on(request)
    if said is not None and said[1] == "deny":
        return _effect_denied(said[0], request.tool)
    if rights.within is not None:
        for tool in (request.tool, *request.inner):
            if is_outside(rights, tool):
                return _not_allowed("caller:only", tool)
    if not rights.deny:
        return None
    for tool in (request.tool, *request.called, *request.inner):
        rule = denial(request.rights, tool)
        if rule is not None:
            return _not_allowed(rule, tool)
    return None


def allowed(request: Request, _facts: Facts) -> Decision | None:
    """The tool must be on a list, and so must every tool that a batch would run; a call in it that names none, or more
    than one, is on no list. Who permits all tools of a host or a server permits them in a batch too."""
    rule = permission(
        request.rights, request.tool, own=request.effects if request.own else None, effects=request.effects
    )
    rule = rule or request.permit
    if not rule:
        return _not_allowed("allowlist", request.tool)
    for tool in request.inner:
        if not tool or not (permission(request.rights, tool, effects=request.effects) or request.permit):
            return _not_allowed("allowlist", tool)
    return Decision("allow", rule)


def denial(rights: Rights, tool: str) -> str | None:
    """The rule that denies a tool."""
    if not rights.deny:
        return None
    return next((rule for pattern, rule in rights.deny.items() if hits(pattern, tool)), None)


def is_repeatable(rights: Rights, tool: str) -> bool:
    """Whether the policy lets a tool be polled. As with permissions, the whole name counts (`jobs/status`)."""
    return bool(rights.repeatable) and any(matches(pattern, tool) for pattern in rights.repeatable)


def is_outside(rights: Rights, tool: str) -> bool:
    """Whether a caller may use certain tools at most, and this is none of them."""
    return rights.within is not None and not any(matches(pattern, tool) for pattern in rights.within)


def permission(
    rights: Rights, tool: str, *, own: frozenset[Effect] | None = None, effects: frozenset[Effect] = READING
) -> str | None:
    """The rule that permits a tool, as long as nothing denies it. `own`: what it does, for a function of this program:
    such a one needs no list where it only reads, or where what it does has a word of its own. `effects`: what the call
    does; a word that turned the tool on permits none that has no word."""
    if tool in rights.listed:
        rule = rights.origin.get(tool) or f"stage:{rights.stage}"
        if effects <= READING or not rule.startswith("allow:") or turned_on(rights.words, tool, effects):
            return rule
    for pattern in rights.patterns:
        if matches(pattern, tool):
            return rights.origin[pattern]
    if own is None or not rights.own:
        return None
    if own <= READING:
        return "stage:own"
    effect = turned_on(rights.words, tool, own)
    return effect and f"allow:{effect}"


def word_on(request: Request) -> tuple[Effect, EffectWord] | None:
    """What the policy says of the effects of a call: the strictest word, and the effect that it is about."""
    if request.effects <= READING:
        return None
    return word_for(request.rights.words, request.effects, (request.tool, *request.inner), request.called)


def is_rehearsed(request: Request, wanted: frozenset[Effect]) -> bool:
    """Whether a call is only shown: the policy says so, or its maker wants no more of these effects."""
    said = word_on(request)
    return (said is not None and said[1] == "dry-run") or not request.effects.isdisjoint(wanted)


def may_use(
    rights: Rights, tool: str, *, own: frozenset[Effect] | None = None, effects: frozenset[Effect] = READING
) -> bool:
    """Whether a caller may know of a tool: hints and prompts name only these."""
    if is_outside(rights, tool) or effect_denial(rights, tool, effects) is not None:
        return False
    return denial(rights, tool) is None and permission(rights, tool, own=own) is not None


def not_whitelisted(tool: str) -> str:
    """The design's words for it."""
    return f"Tool '{escaped(tool, 100) or '(unnamed)'}' is not whitelisted for AI use"


def effect_denial(rights: Rights, tool: str, effects: frozenset[Effect]) -> Decision | None:
    """The refusal of a tool with an effect that the policy denies."""
    said = None if effects <= READING else word_for(rights.words, effects, (tool,))
    return _effect_denied(said[0], tool) if said is not None and said[1] == "deny" else None


def _effect_denied(effect: Effect, tool: str) -> Decision:
    reason = f"'{escaped(tool, 100)}' can {EFFECT_DOES[effect]}, which is not allowed here"
    return Decision(
        "deny", f"deny:{effect}", reason, "Do not repeat it. Continue without it, or ask the user to do it."
    )


def _not_allowed(rule: str, tool: str) -> Decision:
    return Decision("deny", rule, not_whitelisted(tool))


# ── batches ──
# A tool with a limit of its own, or that always asks, does not run inside a batch, where it would be neither counted
# nor asked about (P-02, P-06).


def by_itself(request: Request, _facts: Facts) -> Decision | None:
    for tool in request.inner:
        why = _why_batches(request.rights, tool)
        if why is not None:
            name = escaped(tool, 100)
            hint = f"Call '{name}' by itself, and leave it out of the batch."
            return Decision("deny", "batch", f"'{name}' {why}, so it cannot run inside a batch", hint)
    return None


def _why_batches(rights: Rights, tool: str) -> str | None:
    if any(hits(pattern, tool) for pattern in rights.approval.tools):
        return "always asks a person"
    for name, window in rights.tools.items():
        if hits(name, tool) and (window.minute or window.hour or window.burst):
            return "has a limit of its own"
    return None


# ── damage ──
# A call that the token limit cut off never does anything but read, even where its end could be completed.


def truncated(request: Request, _facts: Facts) -> Decision | None:
    if not (request.truncated and request.side_effects):
        return None
    reason = "The call is truncated, and this tool does more than read"
    return Decision("deny", "truncated", reason, "Resend the complete call, shorter if needed.")


# ── definitions ──
# A tool that is no longer what it was when it was first seen waits for a person (P-08).


def unchanged(request: Request, facts: Facts) -> Decision | None:
    """The server comes first: what another program says of its tools is worth nothing before a person knows of it."""
    if not request.rights.approval.definitions:
        return None
    origin = request.origin
    if origin is not None and _is_another(facts, key := server_key(origin.server), origin.digest):
        told = f"The server '{escaped(origin.server, 100)}' is not the one that was first used"
        return _ask_about(request, facts, definition_binding(key, origin.digest), Decision("ask", SERVER_CHANGED, told))
    if not request.definition or not _is_another(facts, request.tool, request.definition):
        return None
    told = f"The definition of '{escaped(request.tool, 100)}' has changed since it was first seen"
    asking = Decision("ask", "definition:changed", told)
    return _ask_about(request, facts, definition_binding(request.tool, request.definition), asking)


def _is_another(facts: Facts, key: str, now: str) -> bool:
    known = facts.definition(key)
    return known is not None and known != now


def _ask_about(request: Request, facts: Facts, binding: str, asking: Decision) -> Decision:
    answer = facts.answered(binding)
    if answer is not None and answer.status == "denied" and answer.expires_at > request.at:
        return Decision("deny", "approval:denied", f"{asking.reason}, and a person denied the change")
    return asking


# ── effects ──
# Tools that write or execute are rehearsed until the policy says otherwise (P-04, P-05); where it says `allow`, the
# record has that word for its reason.


def permitted_effects(request: Request, _facts: Facts) -> Decision | None:
    if request.dry_run:
        return Decision("dry_run", "dry_run")
    said = word_on(request)
    return Decision("allow", f"allow:{said[0]}") if said is not None and said[1] == "allow" else None


# ── limits ──
# How often: exact sliding windows over all callers, one caller, and one caller's use of one tool (P-02).

_PERIODS = {"minute": MINUTE, "hour": HOUR, "burst": SECOND}
_WORDS = {"minute": "a minute", "hour": "an hour", "burst": "a second"}
_WHOM = {"all": "all callers", "caller": "this caller", "tool": "this tool"}


def scopes_of(rights: Rights, tool: str) -> tuple[Scope, ...]:
    """What a call of this tool counts towards. Where a limit is 0 nothing is counted."""
    counted = (
        ("all", "all", rights.all),
        (f"caller\0{rights.caller}", "caller", rights.window),
        (f"tool\0{rights.caller}\0{tool}", "tool", rights.tools.get(tool)),
    )
    return tuple(Scope(name, windows) for name, rule, window in counted if (windows := tuple(_windows(rule, window))))


def _windows(rule: str, window: Window | None) -> Iterator[tuple[int, int, str]]:
    if window is None:
        return
    for period, length in _PERIODS.items():
        calls: int = getattr(window, period)
        if calls:
            yield calls, length, f"limit:{rule}:{period}"


def within_limits(request: Request, facts: Facts) -> Decision | None:
    """Refused when any window is full; of several, the one that stays full the longest says when to try again."""
    worst: tuple[int, int, str] | None = None
    for scope in request.scopes:
        for calls, length, rule in scope.windows:
            mark = facts.nth_last(scope.name, calls)
            if mark is not None and (free := mark.at + length) > request.at and (worst is None or free > worst[0]):
                worst = (free, calls, rule)
    return None if worst is None else _full(*worst, request.at)


def _full(free: int, calls: int, rule: str, now: int) -> Decision:
    _, whom, period = rule.split(":")
    wait = (free - now) / 1e9
    reason = (
        "Rate limit exceeded. Please wait before making more tool calls. "
        f"(rate limit: {calls} {_WORDS[period]} for {_WHOM[whom]})"
    )
    return Decision("deny", rule, reason, f"Try again in {_seconds(wait)}.", retry_after=wait)


def _seconds(wait: float) -> str:
    return f"{wait:.1f} s" if wait < 10 else f"{wait:.0f} s"


# ── budgets ──
# How much in a day: UTC days of the store's clock, exact for all who share it.


def within_budget(request: Request, facts: Facts) -> Decision | None:
    most = request.rights.calls_per_day
    if not most or facts.spent(request.caller).calls < most:
        return None
    wait, until = next_day(facts.wall())
    reason = f"Daily budget exceeded: {most:,} calls a day for this caller, all used. It resets at {until} UTC"
    return Decision("deny", "limit:caller:day", reason, f"Make no more calls before {until} UTC.", retry_after=wait)


def next_day(wall: str) -> tuple[float, str]:
    """Seconds until the next day begins, and when that is.

    >>> next_day("2026-01-01 23:59:30.000")
    (30.0, '2026-01-02 00:00')
    """
    now = datetime.fromisoformat(wall)
    then = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(1)
    return (then - now).total_seconds(), then.strftime("%Y-%m-%d %H:%M")


# ── loops ──
# A model that makes the same call over and over, while nothing changes, is told so (P-07).


def not_repeated(request: Request, facts: Facts) -> Decision | None:
    times = request.rights.repeats
    if not times or request.repeatable:
        return None
    first = facts.nth_last(same_scope(request, facts.changes()), times - 1)
    if first is None or first.at <= request.at - MINUTE:
        return None
    reason = f"Identical call repeated within a minute ({_ordinal(times)} time); nothing changed"
    hint = f"Use the result of call {first.call}, or change the arguments. A person can allow polling this tool."
    wait = (first.at + MINUTE - request.at) / 1e9
    return Decision("deny", "loop", reason, hint, retry_after=wait, earlier=first.call)


def _ordinal(number: int) -> str:
    return {2: "second", 3: "third", 4: "fourth", 5: "fifth"}.get(number) or f"{number}th"


# ── paths ──
# Paths in the arguments stay below the root and away from secrets, by the names of their components (P-03's first
# half: the tools that open files check again what they opened).

_SECRET_NAME = "This name is on the list of secret names, which are refused whether or not there is such a file."
_PLAINLY = (
    "Write the plain path of the file: at most 4,096 characters with the folder that it counts from, no NUL, no other "
    "encoding, and only through folders that this user may enter."
)


def inside(request: Request, _facts: Facts) -> Decision | None:
    """The answer is the same as for a path that does not exist: a refusal must not tell what is there."""
    rules = request.rights.paths
    for written, resolved in request.paths:
        if resolved == NOWHERE:
            return Decision("deny", UNJUDGED, f"No such file or folder: {escaped(written, 200)}", _PLAINLY)
        path = _below(resolved, request.outside) if request.outside and resolved.startswith("/") else resolved
        rule = path_rule(path, rules.deny, rules.allow, rules.dotfiles)
        if rule is not None:
            return as_absent(rule, written)
    return None


def as_absent(rule: str, written: str) -> Decision:
    """A refusal in the words of the file tools. What is named like a secret as it is written is refused whatever is
    there, so that much can be told; where a link leads cannot."""
    named = path_rule(written.removeprefix("./").lstrip("/")) == rule == "path:secret"
    return Decision("deny", rule, f"No such file or folder: {escaped(written, 200)}", _SECRET_NAME if named else None)


def _below(path: str, folders: tuple[str, ...]) -> str:
    """A path outside the root as seen from the folder in which it may be; as it is where there is none."""
    for folder in folders:
        top = folder.rstrip("/") + "/"
        if path.startswith(top):
            return path[len(top) :]
    return path


# ── commands ──
# Commands and addresses in the arguments (P-16): what the policy denies, and paths in a command that the path rules
# refuse. What asks a person is decided by `approved`.


def harmless(request: Request, _facts: Facts) -> Decision | None:
    """A path is refused in the words of the file tools, as if it were not there."""
    if not request.commanded and not request.findings:
        return None
    for finding in request.findings:
        if finding.answer == "deny":
            if finding.rule.startswith("path:"):
                return Decision("deny", finding.rule, finding.why)
            hint = "Do not run it in another form. Use another approach, or ask the user to do it."
            return Decision("deny", finding.rule, _sentence(finding.why), hint)
    paths = request.rights.paths
    rules = path_rules(paths.deny, paths.allow, paths.dotfiles)
    for written, resolved, writes in request.command_paths:
        rule = _rule_against(rules, resolved, writes)
        if rule is not None:
            return as_absent(rule, written)
    return None


def _rule_against(rules: PathRules, path: str, writes: bool) -> str | None:
    """A path may lie anywhere, since programs read their libraries outside the root; its name counts all the same."""
    if path == NOWHERE:
        return UNJUDGED
    named = rules.named(path)
    if named is None and writes and rules.refuses(path.lstrip("/") or ".") == "path:internal":
        return "path:internal"
    return named


def question_of(request: Request) -> tuple[str, str] | None:
    """The rule that wants a person for a command or an address, and why; None when none does."""
    for finding in request.findings:
        if finding.answer == "ask":
            return finding.rule, _sentence(finding.why)
    return None


def _sentence(why: str) -> str:
    return why[:1].upper() + why[1:]


# ── pause ──
# The emergency stop (P-17): while it holds, every call is refused before anything else is asked.


def not_paused(_request: Request, facts: Facts) -> Decision | None:
    return None if facts.paused() is None else PAUSED


# ── quarantine ──
# A call that was refused again and again is not even looked at for a while (P-11).


def not_quarantined(request: Request, facts: Facts) -> Decision | None:
    return quarantine(facts, request.caller, request.digest, request.rights.quarantine, request.at)


def quarantine(facts: Facts, caller: str, digest: str, refusals: int, now: int) -> Decision | None:
    """The refusal of a call that is in quarantine; it ends an hour after the first refusal that counts for it."""
    if not refusals:
        return None
    first = facts.nth_last(refused_scope(caller, digest), refusals)
    if first is None or first.at <= now - HOUR:
        return None
    reason = f"This call was refused {refusals} times within an hour and is now in quarantine"
    hint = "Do not repeat it. Use another approach, or tell the user that it is not possible."
    return Decision("deny", "quarantine", reason, hint, retry_after=(first.at + HOUR - now) / 1e9)


# ── granting ──
# Whether a call is one that a grant was given for. Strict: what is not clearly meant is asked about instead.
#
# A grant names arguments and their values. A text with `*` is a pattern: `*` stands for any characters of one component
# of a path, `**` for components too. Neither ever stands for anything that could lead elsewhere: see `_tame`.

LONGEST = 4096
"""Characters of a text that a pattern is tried on; a longer one is a matter for a person."""

_ENDS = frozenset("/\\")  # of a component, on any system
_SHELL = frozenset(";&|<>$`")
_COMPONENTS = regex(r"[/\\]")
_ROOTED = regex(r"[/\\~]|[A-Za-z]:")
_ENCODED = regex(r"%(?:2[ef5]|5c|0[0-9a-f]|1[0-9a-f]|7f)", re.IGNORECASE)
_STARS = regex(r"(\*+)")


def grant_matches(grant: Grant, arguments: Mapping[str, Any]) -> bool:
    """Whether the arguments are among those that the grant names. Those it does not name may be anything; caller,
    tool, expiry and uses are the policy's to check."""
    return all(name in arguments and _fits(wanted, arguments[name]) for name, wanted in grant.where.items())


def _fits(wanted: Any, value: Any) -> bool:
    if isinstance(wanted, str) and "*" in wanted:
        return isinstance(value, str) and matches_pattern(wanted, value)
    return same_json(wanted, value)


def same_json(one: Any, other: Any) -> bool:
    """The same value of the same type: 1, 1.0, true and "1" are four different things.

    >>> same_json({"a": [1]}, {"a": [1]}), same_json(1, True), same_json(1, 1.0)
    (True, False, False)
    """
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        left, right = cast("dict[str, Any]", one), cast("dict[str, Any]", other)
        return left.keys() == right.keys() and all(same_json(left[key], right[key]) for key in left)
    if isinstance(one, list):
        items, others = cast("list[Any]", one), cast("list[Any]", other)
        return len(items) == len(others) and all(map(same_json, items, others))
    return one == other


def matches_pattern(pattern: str, value: str) -> bool:
    """Whether a text is one that the pattern describes, as a whole and letter by letter.

    >>> matches_pattern("docs/*.md", "docs/a.md"), matches_pattern("docs/*.md", "docs/a/b.md")
    (True, False)
    >>> matches_pattern("docs/**", "docs/a/b.md"), matches_pattern("docs/**", "docs/../secrets")
    (True, False)
    """
    return len(value) <= LONGEST and _tame(value) and _same_ends(pattern, value) and _simulate(_tokens(pattern), value)


def can_match(pattern: str) -> bool:
    """Whether there is any text that the pattern describes: not when what it spells out is never matched."""
    return bool(pattern) and _tame(pattern)


def _same_ends(pattern: str, value: str) -> bool:
    """What starts at a root, and a folder as such (`docs/`), are only meant where the pattern says so."""
    rooted = _ROOTED.match(value)
    if rooted and not pattern.startswith(rooted.group()):
        return False
    return value != "" and (value[-1] not in _ENDS or pattern[-1] in _ENDS)


def _tame(value: str) -> bool:
    """No component of dots alone, nothing invisible, no line break; not in another spelling either."""
    if not value.isprintable() or _ENCODED.search(value):
        return False
    spellings = {value}
    if not value.isascii():
        from unicodedata import normalize  # a lookup table, loaded only when a text needs it

        spellings.add(normalize("NFKC", value))
    return not any("." in part and not part.strip(". ") for text in spellings for part in _COMPONENTS.split(text))


def _tokens(pattern: str) -> list[str]:
    """Single characters, `*` and `**`."""
    tokens: list[str] = []
    for piece in _STARS.split(pattern):
        if piece.startswith("*"):
            tokens.append(piece[:2])
        else:
            tokens += piece
    return tokens


def _simulate(tokens: list[str], value: str) -> bool:
    """All ways to match at once, as bits of a number: linear in the text, whatever the pattern."""
    stars = sum(1 << at for at, token in enumerate(tokens) if token in ("*", "**"))
    wide = sum(1 << at for at, token in enumerate(tokens) if token == "**")
    plain: dict[str, int] = {}
    for at, token in enumerate(tokens):
        if not stars >> at & 1:
            plain[token] = plain.get(token, 0) | 1 << at
    state = 1 | (1 & stars) << 1
    before = "/"
    for character in value:
        hidden = character == "." and before in _ENDS  # a dotfile is only meant where the dot is written
        stay = 0 if hidden or character in _SHELL else wide if character in _ENDS else stars
        state = (state & plain.get(character, 0)) << 1 | state & stay
        state |= (state & stars) << 1
        before = character
    return bool(state >> len(tokens) & 1)


# ── approval ──
# Which calls need a person, and whether one has said yes to exactly this one (P-06, P-10).

_WAIT = "A person must approve this call first"


def approved(request: Request, facts: Facts) -> Decision | None:
    """A dry run needs nobody: it changes nothing."""
    if request.dry_run:
        return None
    if request.approval is not None:
        return _by_id(request, facts, request.approval)
    why = _why(request)
    if why is None:
        return None
    rule, reason = why
    answer = facts.answered(binding(request))
    if answer is not None and answer.expires_at > request.at:
        if answer.status == "approved":
            return Decision("allow", "approval:given", approval=answer.id)
        if answer.status == "denied":
            return _refused("denied", "A person denied this call")
    # an uncertain repair is nothing that could be granted in advance, nor is what a link leads to
    if rule != "approval:confidence" and not request.linked:
        for grant in facts.grants(request.caller, request.tool):
            if grant.expires_at > request.at and grant.uses > 0 and _covers(grant, request, rule):
                return Decision("allow", "approval:grant", grant=grant.id)
    return Decision("ask", rule, f"{reason}. {_WAIT}")


def _why(request: Request) -> tuple[str, str] | None:
    """The rule that wants a person, None when none does."""
    asking = request.rights.approval
    if request.repaired and request.side_effects and request.confidence < asking.confidence:
        reason = f"The call was repaired with a confidence of only {request.confidence:g}, and it does more than read"
        return "approval:confidence", reason
    asked = question_of(request)
    if asked is not None:
        return asked
    names = (request.tool, *request.called)
    if asking.tools and any(hits(pattern, name) for pattern in asking.tools for name in names):
        return "approval:tool", f"'{escaped(request.tool, 100)}' always asks"
    said = word_on(request)
    asked_for = (said[0],) if said is not None and said[1] == "ask" else ()
    for effect in (*asked_for, *sorted(request.asks)):
        if effect in request.effects:
            return f"approval:{effect}", f"'{escaped(request.tool, 100)}' can {EFFECT_DOES[effect]}"
    return None


def _covers(grant: Grant, request: Request, rule: str) -> bool:
    """A question about a command is answered in advance only by who named that command, and one about a file that
    guards or starts others, or holds credentials, only by who named arguments."""
    if rule in ("path:guards", "path:credentials") and not grant.where:
        return False
    if rule.startswith(("command:", "url:")) and not all(name in grant.where for name in request.commanded):
        return False
    return grant_matches(grant, request.arguments)


def _by_id(request: Request, facts: Facts, id: str) -> Decision:
    """The caller says which approval it means: anything wrong with that one is a refusal, not a new question."""
    approval = facts.approval(id)
    if approval is None or approval.kind != "call":
        return _refused("unknown", f"Unknown approval '{escaped(id, 40)}'")
    if approval.binding != binding(request):
        return _refused(
            "mismatch",
            "That approval is for another call, another caller or another conversation, or the state it was given for "
            "has changed",
        )
    if approval.expires_at <= request.at:
        return _refused("expired", "That approval has expired")
    return _by_status(approval)


def _by_status(approval: Approval) -> Decision:
    match approval.status:
        case "approved":
            return Decision("allow", "approval:given", approval=approval.id)
        case "waiting":
            return Decision("ask", "approval:waiting", f"{_WAIT}; the approval is still pending")
        case "denied":
            return _refused("denied", "A person denied this call")
        case _:
            return _refused(approval.status, f"That approval is already {approval.status}")


def _refused(word: str, reason: str) -> Decision:
    return Decision("deny", f"approval:{word}", reason)


Policy = Callable[[Request, Facts], Decision | None]
"""Its word on a request, None when it has none. `allow` and `dry_run` let the next policy speak."""

POLICIES: tuple[tuple[str, Policy], ...] = (
    ("pause", not_paused),
    ("denied", denied),
    ("allowed", allowed),
    ("batch", by_itself),
    ("quarantine", not_quarantined),
    ("truncated", truncated),
    ("paths", inside),
    ("commands", harmless),
    ("loops", not_repeated),
    ("limits", within_limits),
    ("budget", within_budget),
    ("definition", unchanged),
    ("effects", permitted_effects),
    ("approval", approved),
)

_IN_ORDER = tuple(policy for _, policy in POLICIES)
NOBODY_ALLOWED = Decision("deny", "default", "No rule allows this call")


def decide(request: Request, facts: Facts) -> Decision:
    """The decision on a request, with the id of the rule that made it."""
    decision = NOBODY_ALLOWED
    for policy in _IN_ORDER:
        word = policy(request, facts)
        if word is None:
            continue
        if word.kind in ("deny", "ask"):
            return word
        decision = word
    return decision
