"""What may become a rule. Whoever writes into a history must not gain by it: no rule touches what a policy speaks of,
holds a secret, hides in odd letters, or switches a safeguard off."""

import re
from collections.abc import Iterable
from typing import Any, Final
from unicodedata import category, is_normalized

from msgspec import json

from rightcall.base.globs import hits, is_pattern
from rightcall.base.letters import has_unseen, right_to_left_words, skeleton, suspicions
from rightcall.base.secrets import Redactor
from rightcall.base.text import REDACTED
from rightcall.catalog.catalog import may_name_tool
from rightcall.executor.guesses import kind_of
from rightcall.gate.repair.words import words_of
from rightcall.learn.bench import Bench
from rightcall.learn.clues import RULES, Kind
from rightcall.policy.settings import Policy

LONGEST_NAME: Final = 64
LONGEST_VALUE: Final = 200
_SAFEGUARDS: Final = frozenset((
    "confirm", "confirmed", "confirmation", "approve", "approved", "approval", "consent", "force", "forced",
    "override", "overwrite", "sudo", "unsafe", "insecure", "bypass", "disable", "dry", "dryrun", "simulate", "sandbox",
    "readonly", "grant", "allow", "trust", "trusted",
))  # fmt: skip
"""Words in the names of arguments that hold a call back or let it do more."""
_PRIVILEGES: Final = frozenset((
    "role", "roles", "scope", "scopes", "permission", "permissions", "privilege", "privileges", "admin",
))  # fmt: skip
"""The same, where filling them in would give somebody something."""
_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|\bwww\.|\S@\S+\.\S|\b\d{1,3}(?:\.\d{1,3}){3}\b")
_UNKNOWN: Final = frozenset((
    "?", "n/a", "na", "none", "null", "nil", "nan", "undefined", "unknown", "unspecified", "missing", "tbd", "todo",
    "placeholder", "string", "value", "text", "your_value", "example",
))  # fmt: skip
"""What models write where they do not know a value: it is no other name of one."""


class Safety:
    """`objection` says why something may not be proposed; empty where it may."""

    def __init__(self, bench: Bench, policy_names: Iterable[str] = ()) -> None:
        self._bench = bench
        self._named = tuple(policy_names)
        self._redactor = Redactor(b"learn")

    def objection(self, kind: Kind, tool: str, place: str, given: str, meant: Any) -> str:
        texts = [text for text in (tool, place, given if kind != "format" else "") if text]
        wrong = next((reason for text in texts if (reason := self._of_text(text))), "")
        if wrong or kind not in RULES:
            return wrong
        if kind == "name":
            return self._of_tool(given, tool)
        if kind == "alias":
            return self._of_alias(place, given)
        if kind == "value" and _stands_for_nothing(given):
            return "it is written where a value is not known"
        return self._of_value(kind, tool, place, meant)

    def _of_text(self, text: str) -> str:
        """Of a name or a value that stood in a call."""
        if len(text) > LONGEST_VALUE:
            return "a name or value is too long"
        if not text.isprintable() or has_unseen(text) or right_to_left_words(text):
            return "a name or value holds characters that cannot be seen"
        if not is_normalized("NFC", text) or next(suspicions(text), None) is not None:
            return "a name or value plays with letters that look like others"
        if REDACTED.search(text) or self._redactor.text(text) != text:
            return "a name or value looks like a secret"
        return ""

    def _of_tool(self, given: str, tool: str) -> str:
        if len(given) > LONGEST_NAME or not may_name_tool(given):
            return "this cannot be the name of a tool"
        if any(hits(name, given) for name in self._named):
            return "the policy speaks of a tool of this name"
        known = self._bench.gate_for("").catalog.tools
        like = [name for name in known if name != tool and skeleton(name) == skeleton(given)]
        return f"it looks like another tool, {like[0]}" if like else ""

    def _of_alias(self, place: str, given: str) -> str:
        if max(len(place), len(given)) > LONGEST_NAME:
            return "a name is too long"
        names = (*given.split("."), *place.split("."))
        if any(self._redactor.is_secret(name.removesuffix("[]")) for name in names):
            return "an argument of this name holds a secret"
        safeguarded = {one for one in map(_safeguard, (given, place)) if one}
        if safeguarded and _safeguard(given) != _safeguard(place):
            return f"it would switch a safeguard: {sorted(safeguarded)[0]}"
        if kind_of(_last(place)) in ("command", "code") and kind_of(_last(given)) not in ("command", "code", ""):
            return "it would make a command of something else"
        return ""

    def _of_value(self, kind: Kind, tool: str, place: str, meant: Any) -> str:
        name = place.rpartition(".")[2].removesuffix("[]")
        if any(self._redactor.is_secret(step.removesuffix("[]")) for step in place.split(".")):
            return "an argument of this name holds a secret"
        if kind == "form":
            return ""
        text = meant if isinstance(meant, str) else json.encode(meant).decode()
        if len(text) > LONGEST_VALUE or meant is None:
            return "the value is too long" if meant is not None else "a pack cannot hold null"
        if wrong := self._of_text(text):
            return wrong
        if safeguard := _safeguard(place, privileges=kind == "default"):
            return f"it would set a safeguard: {safeguard}"
        if kind_of(name) in ("command", "code", "program", "patch", "url") and not self._is_listed(tool, place, meant):
            return f"`{name}` is something that is run or fetched"
        if kind == "default" and _ADDRESS.search(text):
            return "the value is an address"
        return ""

    def _is_listed(self, tool: str, place: str, meant: Any) -> bool:
        """Whether the schema itself names this value as one of a few."""
        shape = self._bench.shape_at(tool, place)
        return shape is not None and shape.enum is not None and meant in shape.enum


def _last(place: str) -> str:
    return place.rpartition(".")[2].removesuffix("[]")


def _safeguard(place: str, *, privileges: bool = False) -> str:
    """The word in a name that holds a call back, or lets it do more."""
    wary = _SAFEGUARDS | _PRIVILEGES if privileges else _SAFEGUARDS
    return next((word for word in words_of(place.rpartition(".")[2]) if word in wary), "")


def names_in(policy: Policy) -> tuple[str, ...]:
    """Every name of a tool that a policy speaks of: what it says must not come to mean another tool. A pattern counts
    where it forbids or asks; one that permits says nothing of a single tool."""
    settings = policy.settings
    callers = tuple(settings.callers.values())
    strict = (
        *settings.deny,
        *settings.tools,
        *settings.approval.tools,
        *(name for one in callers for name in one.deny),
    )
    permitted = (*settings.allow, *(name for one in callers for name in (*one.allow, *(one.only or ()))))
    plain = (*permitted, *settings.limits.tools, *settings.budgets_of_tools, *policy.tools)
    return tuple(dict.fromkeys((*strict, *(name for name in plain if not is_pattern(name)))))


_SIGNS: Final = frozenset(("=", "==", "===", "!=", "≠", "<", ">", "<=", ">=", "≤", "≥", "%", "+"))


def _stands_for_nothing(given: str) -> bool:
    """Whether it is what models write for a value that they do not know. Comparisons and currencies say something.

    >>> _stands_for_nothing("<unknown>"), _stands_for_nothing("--"), _stands_for_nothing(">="), _stands_for_nothing("€")
    (True, True, False, False)
    """
    plain = given.strip()
    if plain in _SIGNS or (len(plain) == 1 and category(plain) == "Sc"):
        return False
    return given.strip("<>[]{}() ") in _UNKNOWN or not any(map(str.isalnum, given))
