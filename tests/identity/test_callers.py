"""Who somebody is by the map: claims of every type and spelling, and what must not be taken for a group or a name."""

from typing import Any

import pytest

from rightcall import load_policy
from rightcall.identity.callers import caller_of, person_of
from rightcall.policy.settings import IdentitySettings
from support.every import every

MAP: dict[str, Any] = {
    "subject:robot-7": {"caller": "robot"},
    "group:platform": {"caller": "platform", "stage": "limited-write"},
    "claim:department=research": {"caller": "research"},
    "claim:email=*@example.org": {"caller": "staff/{email}", "may": "look"},
    "claim:team=core-*-eu": {"caller": "team/{team}"},
    "scope:admin": {"may": "approve", "person": "{sub}"},
}


def settings(map: dict[str, Any] = MAP, **more: Any) -> IdentitySettings:
    table = {"issuer": "https://login.example.org", "audience": "x", "map": map, **more}
    return load_policy({"identity": table}).identity[0]


def mail(text: Any, verified: Any = True) -> dict[str, Any]:
    return {"email": text, "email_verified": verified}


@pytest.mark.promise("I-05")
@every(
    ("claims", "caller"),
    [
        ({"groups": ["a", "platform"]}, "platform"),
        ({"groups": "platform"}, "platform"),
        ({"sub": "robot-7", "groups": ["platform"]}, "robot"),
        ({"department": "research"}, "research"),
        ({"department": ["x", "research"]}, "research"),
        (mail("anna@example.org"), "staff/anna@example.org"),
        ({"team": "core-net-eu"}, "team/core-net-eu"),
        ({"team": "core--eu"}, "team/core--eu"),
        # groups that are none
        ({"groups": ["Platform"]}, None),
        ({"groups": ["platform "]}, None),
        ({"groups": ["рlatform"]}, None),  # with a Cyrillic letter
        ({"groups": ["platform\u200b"]}, None),
        ({"groups": ["plat\u0000form"]}, None),
        ({"groups": ["*"]}, None),
        ({"groups": ["platform,admin"]}, None),
        ({"groups": "a platform"}, None),
        ({"groups": {"platform": True}}, None),
        ({"groups": [["platform"]]}, None),
        ({"groups": [{"name": "platform"}]}, None),
        ({"groups": ["x"] * 3000 + ["platform"]}, None),
        ({"groups": None}, None),
        ({"groups": 1}, None),
        ({"group": ["platform"]}, None),
        # claims that are none
        ({"department": "research*"}, None),
        ({"department": {"research": 1}}, None),
        ({"department": "Research"}, None),
        ({"sub": "robot-70"}, None),
        ({"sub": ["robot-7"]}, None),
        # mail addresses that are none
        (mail("anna@example.org", verified=False), None),
        (mail("anna@example.org", verified="true"), None),
        (mail("anna@example.org", verified=1), None),
        ({"email": "anna@example.org"}, None),
        (mail("anna@example.org.evil.example"), None),
        (mail("anna@evil.example"), None),
        (mail("evil@evil.example@example.org"), None),
        (mail("anna@EXAMPLE.ORG"), None),
        (mail("аnna@example.org"), None),  # with a Cyrillic letter
        (mail("anna\u202e@example.org"), None),
        (mail("an na/x@example.org"), None),
        (mail("../platform@example.org"), None),
        (mail("*@example.org"), None),
        (mail(" anna@example.org"), None),
        (mail("a" * 200 + "@example.org"), None),
        (mail(["anna@example.org"]), None),
        (mail({"value": "anna@example.org"}), None),
        (mail(None), None),
        ({"team": "core-eu"}, None),
        ({"team": "core-a/b-eu"}, None),
    ],
)
def test_a_token_speaks_for_one_caller_or_for_nobody(claims: dict[str, Any], caller: str | None) -> None:
    assert caller_of(claims, settings()) == caller


@pytest.mark.promise("I-08")
@every(
    ("claims", "found"),
    [
        (mail("anna@example.org"), ("anna@example.org", "look")),
        ({"sub": "anna", "scope": "admin x"}, ("anna", "approve")),
        ({"sub": "anna", "scp": ["x", "admin"]}, ("anna", "approve")),
        ({"sub": "anna", "scope": "administrator"}, None),
        ({"sub": "anna", "scope": {"admin": 1}}, None),
        ({"sub": "an\tna", "scope": "admin"}, None),
        ({"groups": ["platform"]}, None),
        ({}, None),
    ],
)
def test_a_person_is_who_the_first_line_with_a_right_says(claims: dict[str, Any], found: Any) -> None:
    person = person_of(claims, settings())
    assert (person and (person.name, person.may)) == found


def test_groups_may_be_within_another_claim() -> None:
    roles = settings(groups="realm_access.roles")
    assert caller_of({"realm_access": {"roles": ["platform"]}}, roles) == "platform"
    assert caller_of({"realm_access.roles": ["platform"]}, roles) == "platform"
    assert caller_of({"realm_access": ["platform"], "roles": ["platform"]}, roles) is None
    own = settings(groups="https://example.org/groups")
    assert caller_of({"https://example.org/groups": ["platform"]}, own) == "platform"


def test_everybody_else_is_whoever_the_last_line_says() -> None:
    everybody = settings({"group:a": {"caller": "a"}, "*": {"caller": "guest"}})
    assert caller_of({"groups": ["a"]}, everybody) == "a"
    assert caller_of({}, everybody) == "guest"


@every(("nick", "caller"), [("ada", "x"), ("a\nb", None), ("a\u202eb", None), ("a" * 501, None)])
def test_a_star_stands_for_what_can_be_seen(nick: str, caller: str | None) -> None:
    assert caller_of({"nick": nick}, settings({"claim:nick=a*": {"caller": "x"}})) == caller


def test_the_first_line_that_fits_counts_even_if_it_makes_no_name() -> None:
    each = settings({"group:a": {"caller": "staff/{nick}"}, "*": {"caller": "guest"}})
    assert caller_of({"groups": ["a"], "nick": "x/y"}, each) is None
