"""Who somebody is here: from the claims of a token that counts to a caller, and to a person of the console, by
`[identity.map]`. And which names a caller can have.

    claims ─▶ the first line that fits ─▶ "platform"                     a caller that several share
                                          "staff/{email}"                one for each
                                          {email}, may = "approve"       a person

A claim is the provider's word, and often its users' own: a value counts only as what it is, letter by letter. One that
could be taken for another name, or that holds a slash, makes no caller.
"""

from collections.abc import Collection, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final, Literal
from unicodedata import normalize

from msgspec import Struct, json

from rightcall.base.globs import matches
from rightcall.base.json.marks import is_list, is_object
from rightcall.base.letters import has_unseen, skeleton, suspicions
from rightcall.base.text import escaped
from rightcall.errors import ConfigError
from rightcall.policy.settings import IdentityRule, IdentitySettings

LONGEST_CALLER: Final = 100
LONGEST_TOKEN: Final = 16_384
"""Bytes of a token. Those with hundreds of groups have a few thousand."""
_LONGEST_VALUE: Final = 500
_MOST_GROUPS: Final = 2_000


def check_caller(name: str, others: Collection[str] = (), what: str = "caller") -> None:
    """Raises ConfigError for a name that could be taken for another: hidden characters, mixed alphabets, or a spelling
    of one of `others` that only looks the same. `what` has that name."""
    shown = escaped(name, LONGEST_CALLER)
    if not 0 < len(name) <= LONGEST_CALLER or name != name.strip() or not name.isprintable() or "*" in name:
        raise ConfigError(
            f"invalid {what} '{shown}': expected 1 to {LONGEST_CALLER} printable characters, without `*` and without "
            "blanks around them"
        )
    odd = next(suspicions(name), "")
    if odd or has_unseen(name) or normalize("NFKC", name) != name or not skeleton(name):
        why = odd or "it has characters that cannot be seen, or that only look like letters"
        raise ConfigError(f"invalid {what} '{ascii(name)[1:-1]}': {why}")
    own = skeleton(name)
    near = next((one for one in others if one != name and skeleton(one) == own), None)
    if near is not None:
        raise ConfigError(
            f"invalid {what} '{shown}': it can be mistaken for the {what} '{escaped(near, LONGEST_CALLER)}'; "
            "use that spelling, or a name that differs in more than case, signs or look-alike letters"
        )


# ── refusals ──

Why = Literal[
    "malformed", "too_large", "algorithm", "header", "unknown_key", "signature", "kind", "issuer", "audience",
    "expired", "not_yet", "claims", "nonce", "scope", "unmapped", "unavailable",
]  # fmt: skip
TOLD: Final[Mapping[Why, str]] = {
    "malformed": "the token is not a signed JWT",
    "too_large": f"the token is longer than {LONGEST_TOKEN:,} bytes",
    "algorithm": "the token is signed with an algorithm that is not allowed",
    "header": "the header of the token asks for something that is not supported",
    "unknown_key": "the token is signed with a key that the identity provider does not publish",
    "signature": "the signature of the token is wrong",
    "kind": "the token is of another kind than is needed here, or is bound to a key of its client",
    "issuer": "the token comes from another issuer",
    "audience": "the token is meant for another audience",
    "expired": "the token has expired",
    "not_yet": "the token is not valid yet",
    "claims": "the token lacks a claim that is needed, or has one of the wrong type",
    "nonce": "the token belongs to another login",
    "scope": "the token lacks a scope that is needed",
    "unmapped": "the policy has no caller for whoever this token is about",
    "unavailable": "tokens of the identity provider cannot be checked now",
}


class Refusal(Struct, frozen=True):
    """Why a token does not count."""

    why: Why

    @property
    def told(self) -> str:
        return TOLD[self.why]


def looks_like_token(text: bytes) -> bool:
    """Whether it is worth reading: a JWT begins with the quoted brace of its header, and has three parts.

    >>> looks_like_token(b"eyJhbGciOiJSUzI1NiJ9.e30.c2ln"), looks_like_token(b"sk-a.b.c")
    (True, False)
    """
    return text.startswith(b"ey") and text.count(b".") == 2


# ── by claims ──


class Person(Struct, frozen=True):
    """Somebody who may open the console."""

    name: str
    may: Literal["look", "approve"]
    lines: str
    """Which lines of the map were read for that, the last of which fits."""


def caller_of(claims: Mapping[str, Any], settings: IdentitySettings) -> str | None:
    """For whom a token speaks: exactly one caller, or nobody."""
    rule = next((one for one in settings.map if one.caller and _fits(one, claims, settings)), None)
    return None if rule is None else _filled(rule.caller, claims)


def person_of(claims: Mapping[str, Any], settings: IdentitySettings) -> Person | None:
    """Who logs into the console by these claims."""
    passed: list[str] = []
    for line, rule in console_lines(settings).items():
        passed.append(line)
        if rule.may and _fits(rule, claims, settings):
            name = _filled(rule.person, claims)
            return None if name is None else Person(name, rule.may, ".".join(passed))
    return None


@lru_cache(64)
def console_lines(settings: IdentitySettings) -> Mapping[str, IdentityRule]:
    """The lines of the map that let people into the console, in order, each by a digest of whom it is about."""
    found: dict[str, IdentityRule] = {}
    for rule in settings.map:
        if rule.may:
            told = (settings.issuer, settings.groups, rule.match, rule.value, rule.claim, rule.may, rule.person)
            found[sha256(json.encode(told)).hexdigest()[:8]] = rule
    return found


def still_lets_in(lines: str, may: str, settings: IdentitySettings) -> bool:
    """Whether the map lets somebody in as it did at their login, by the lines that were read then: the last of them is
    still there, and none before it that might be about them."""
    *before, own = lines.split(".")
    now = console_lines(settings)
    rule = now.get(own)
    earlier = [*now][: [*now].index(own)] if rule is not None else []
    return rule is not None and rule.may == may and set(earlier) <= set(before)


def _fits(rule: IdentityRule, claims: Mapping[str, Any], settings: IdentitySettings) -> bool:
    match rule.match:
        case "any":
            return True
        case "group":
            return rule.value in _listed(find_claim(claims, settings.groups))
        case "scope":
            given = claims.get("scope", claims.get("scp"))
            return rule.value in (given.split(" ") if isinstance(given, str) else _listed(given))
        case "subject":
            return claims.get("sub") == rule.value
        case "claim":
            return any(_matches(rule.value, one) for one in _listed(_trusted_claim(claims, rule.claim)))


def find_claim(claims: Mapping[str, Any], name: str) -> Any:
    """A claim by its name; with dots, also one within another, as in `realm_access.roles`."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if is_object(found) else None
    return found


def _trusted_claim(claims: Mapping[str, Any], name: str) -> Any:
    """A mail address counts where the provider says that it has checked it: at many, people choose theirs freely."""
    if name == "email" and claims.get("email_verified") is not True:
        return None
    return find_claim(claims, name)


def _listed(value: Any) -> list[str]:
    """The texts of a claim, which may be one or a list. Nothing else is made into a text."""
    if isinstance(value, str):
        return [value]
    return [one for one in value if isinstance(one, str)] if is_list(value) and len(value) <= _MOST_GROUPS else []


def _matches(pattern: str, value: str) -> bool:
    """Letter by letter; `*` in the pattern is any number of characters that can be seen, and none in the value.

    >>> _matches("*@example.org", "anna@example.org"), _matches("*@example.org", "x@evil.org@example.org")
    (True, False)
    >>> _matches("research", "Research"), _matches("a*c", "abc"), _matches("abc", "a*c")
    (False, True, False)
    """
    if "*" not in pattern:
        return pattern == value
    if len(value) > _LONGEST_VALUE or not value.isprintable() or value.count("@") > 1:
        return False
    return matches(pattern, value)


def _filled(template: str, claims: Mapping[str, Any]) -> str | None:
    """The name that a line of the map gives; None where the claim in it is missing, or makes no name."""
    before, brace, claim = template.removesuffix("}").partition("{")
    if not brace:
        return template
    value = _trusted_claim(claims, claim)
    if not isinstance(value, str) or "/" in value or not is_name(value) or not is_name(before + value):
        return None
    return before + value


def is_name(text: str) -> bool:
    try:
        check_caller(text)
    except ConfigError:
        return False
    return True
