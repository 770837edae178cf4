"""`[identity]` of the policy file: what it may say, and what it is told where it is wrong."""

from typing import Any

import pytest

from rightcall import PolicyError, load_policy
from rightcall.policy.tightening import ignored_keys, requests_of, tighten
from rightcall.policy.types import rights_of
from support.every import every

MAP: dict[str, Any] = {"*": {"caller": "guest"}}
LEAST: dict[str, Any] = {"issuer": "https://login.example.org", "audience": "api://gateway", "map": MAP}
FILE = b"""\
[identity]
issuer = "https://login.example.org/tenant"
audience = ["https://gateway.example.org/mcp", "api://gateway"]

[identity.map]
"group:platform" = { caller = "platform", stage = "limited-write" }
"claim:email=*@example.org" = { caller = "staff/{email}", may = "look" }
"""


def identity(**more: Any) -> dict[str, Any]:
    return {"identity": LEAST | more}


def test_what_is_not_said_is_the_safe_choice() -> None:
    found = load_policy(identity()).identity[0]
    assert (found.name, found.leeway, found.scopes, found.session) == ("login.example.org", 30.0, (), 28_800)
    assert found.algorithms == ("RS256", "PS256", "ES256", "EdDSA", "Ed25519")
    assert load_policy({}).identity == ()


def test_several_providers_have_a_map_each() -> None:
    second = LEAST | {"issuer": "https://ci.example.org", "map": {"subject:repo": {"caller": "ci"}}}
    found = load_policy({"identity": [LEAST, second]}).identity
    assert [(one.issuer, one.map[0].caller) for one in found] == [
        ("https://login.example.org", "guest"), ("https://ci.example.org", "ci"),
    ]  # fmt: skip


def test_a_stage_in_the_map_is_that_of_its_caller_and_of_each_below_it() -> None:
    policy = load_policy(
        identity(
            map={"group:a": {"caller": "a", "stage": "full"}, "group:b": {"caller": "b/{sub}", "stage": "sandbox"}}
        )
    )
    stages = {name: rights_of(policy.settings, name).stage for name in ("a", "b/anna", "b", "c", "x/a")}
    assert stages == {"a": "full", "b/anna": "sandbox", "b": "sandbox", "c": "read-only", "x/a": "read-only"}


def test_the_table_of_a_caller_counts_for_each_below_it_that_has_none_of_its_own() -> None:
    policy = load_policy({"callers": {"b": {"deny": ["x"]}, "b/eve": {"deny": ["y"]}}})
    denied = {name: set(rights_of(policy.settings, name).deny) for name in ("b/anna", "b/eve", "bb", "b/")}
    assert denied == {"b/anna": {"x"}, "b/eve": {"y"}, "bb": set(), "b/": {"x"}}


@pytest.mark.promise("P-13")
def test_a_found_policy_lets_nobody_in(tmp_path: Any) -> None:
    file = tmp_path / "rightcall.toml"
    file.write_bytes(FILE)
    policy = load_policy(str(file))
    assert tighten(policy).identity == ()
    assert "identity" in ignored_keys(policy, tighten(policy))
    asked = {one.key: (one.line, one.meaning) for one in requests_of(str(file), FILE)}
    assert asked["identity"] == (1, "lets in whoever has a token of that provider")


@every(
    ("table", "told"),
    [
        ({"issuer": "http://login.example.org"}, "must begin with https://"),
        ({"issuer": "login.example.org"}, "must be a whole address"),
        ({"issuer": "https://user:pw@login.example.org"}, "must have no user, password"),
        ({"issuer": "https://login.example.org?x=1"}, "query"),
        ({"audience": ""}, "must be a name"),
        ({"audience": []}, "must be what tokens for this gateway name"),
        ({"audience": 7}, "list"),
        ({"algorithms": ["HS256"]}, "HS256"),
        ({"algorithms": ["none"]}, "none"),
        ({"algorithms": []}, "at least one"),
        ({"leeway": 301}, "from 0 to 300"),
        ({"leeway": -1}, "from 0 to 300"),
        ({"scopes": ["a b"]}, "the name of one scope"),
        ({"resource": "https://gateway.example.org/"}, "must be the address of `/mcp`"),
        ({"client_id": "api://gateway"}, "is also the audience"),
        ({"client_secret_env": "SECRET"}, "without `client_id`"),
        ({"client_id": "c", "client_secret_env": "s3cr-et"}, "not the secret itself"),
        ({"client_id": "c", "login_scopes": ["email"]}, "openid"),
        ({"session": 10}, "300"),
        ({"secret": "x"}, "secret"),
        ({"map": {}}, "every token is refused"),
        ({"map": {"platform": {"caller": "a"}}}, 'must begin with "group:"'),
        ({"map": {"group:": {"caller": "a"}}}, 'must begin with "group:"'),
        ({"map": {"group:a*": {"caller": "a"}}}, "`*` has no meaning in a group"),
        ({"map": {"group: a": {"caller": "a"}}}, "can match nothing"),
        ({"map": {"claim:email": {"caller": "a"}}}, "claim:NAME=VALUE"),
        ({"map": {"claim:email=*": {"caller": "a"}}}, "fits everybody"),
        ({"map": {"*": {"caller": "a"}, "group:a": {"caller": "b"}}}, "must be the last line"),
        ({"map": {"*": {}}}, "needs `caller`"),
        ({"map": {"*": {"stage": "full", "may": "look"}}}, "without `caller`"),
        ({"map": {"*": {"caller": "a", "person": "{sub}"}}}, "without `may`"),
        ({"map": {"*": {"caller": "{email}"}}}, 'must be "NAME/{claim}"'),
        ({"map": {"*": {"caller": "a/{b}/{c}"}}}, 'must be "NAME/{claim}"'),
        ({"map": {"*": {"caller": "gateway"}}}, "cannot be a caller of tokens"),
        ({"map": {"*": {"caller": "proxy/{sub}"}}}, "cannot be a caller of tokens"),
        ({"map": {"*": {"caller": "*"}}}, "cannot be a caller of tokens"),
        ({"map": {"*": {"may": "everything"}}}, "look"),
        ({"map": {"*": {"may": "look", "person": "root"}}}, "must be one claim"),
        ({"map": {"*": {"caller": "a", "stage": "root"}}}, "stage"),
        (
            {"map": {"group:a": {"caller": "x", "stage": "full"}, "*": {"caller": "x", "stage": "sandbox"}}},
            "two stages",
        ),
    ],
)
def test_what_is_wrong_is_said(table: dict[str, Any], told: str) -> None:
    with pytest.raises(PolicyError) as error:
        load_policy(identity(**table))
    assert told in str(error.value)
    assert "s3cr-et" not in str(error.value)


@every(
    ("document", "told"),
    [
        ({"identity": {"issuer": "https://login.example.org"}}, "needs `audience`"),
        ({"identity": {"audience": "x"}}, "needs `issuer`"),
        ({"identity": "https://login.example.org"}, "must be one table"),
        ({"identity": [LEAST] * 9}, "up to 8"),
        ({"identity": [LEAST, LEAST]}, "is named by another table"),
        (
            {
                "identity": [
                    LEAST | {"resource": "https://a.example/mcp"},
                    LEAST | {"issuer": "https://b.example", "resource": "https://b.example/mcp"},
                ]
            },
            "the gateway has one",
        ),
        (
            identity(map={"*": {"caller": "a", "stage": "full"}}) | {"callers": {"a": {"stage": "sandbox"}}},
            "another stage than",
        ),
        (
            identity(map={"*": {"caller": "a", "stage": "full"}}) | {"callers": {"a": {"only": ["ping"]}}},
            "another stage than",
        ),
    ],
)
def test_what_is_wrong_with_the_whole_is_said(document: dict[str, Any], told: str) -> None:
    with pytest.raises(PolicyError) as error:
        load_policy(document)
    assert told in str(error.value)
