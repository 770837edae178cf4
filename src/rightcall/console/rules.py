"""Which line of the policy file a rule comes from: for the page of the policy, and for the call that it decided, with
what an operator can change about it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, Literal, cast

from msgspec import Struct

from rightcall.base.files.rules import path_rules
from rightcall.base.secrets import Redactor
from rightcall.catalog.toml import KeyPath, key_lines
from rightcall.console.bench import policy_file, policy_text
from rightcall.errors import PolicyError
from rightcall.policy.decide import matches_pattern
from rightcall.policy.settings import DEFAULT_POLICY, Policy
from rightcall.record.calls import CallRecord

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
        if isinstance(path[-1], int) and mine.get(path[:-1]) in lines and _names(rows[line - 1], found.tool)
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


def _names(row: str, tool: str) -> bool:
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
    return Way(never=f"{found.rule} is a built-in guard, and no line lifts it") if head in _GUARDS else Way()


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
