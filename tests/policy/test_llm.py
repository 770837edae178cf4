"""`[gate.llm]`: off without its table, every key checked, and nothing of it from a policy that nobody trusts."""

from typing import Any

import pytest

from rightcall import PolicyError, load_policy
from rightcall.policy.settings import LlmSettings
from rightcall.policy.tightening import requests_of, tighten
from support.every import every

pytestmark = pytest.mark.promise("L-04")

URL = "http://127.0.0.1:8080/v1"


def read(**keys: Any) -> LlmSettings | None:
    return load_policy({"gate": {"llm": keys}}).llm


def test_without_its_table_no_model_is_named() -> None:
    assert load_policy().llm is None
    assert load_policy({"gate": {"mode": "block"}}).llm is None


def test_the_defaults_are_small_and_leave_side_effects_out() -> None:
    found = read(url=URL)
    assert found == LlmSettings(URL, calls=20, tokens=20_000, seconds=120.0, timeout=10.0, side_effects=False)


def test_every_key_is_read() -> None:
    keys: dict[str, Any] = {
        "url": URL, "model": "small", "key_env": "MY_KEY", "headers": {"x-team": "tools"}, "calls": 3, "tokens": 900,
        "seconds": 4, "timeout": 0.5, "side_effects": True,
    }  # fmt: skip
    found = read(**keys)
    assert {name: getattr(found, name) for name in keys} == keys


@every(
    ("keys", "why"),
    [
        ({}, "needs `url"),
        ({"url": "ftp://x"}, "url"),
        ({"url": URL, "api_key": "x"}, "key_env"),
        ({"url": "http://me:secret@x/v1"}, "key_env"),
        ({"url": URL, "calls": 0}, "calls"),
        ({"url": URL, "timeout": 0}, "timeout"),
        ({"url": URL, "side_effects": "yes"}, "side_effects"),
        ({"url": URL, "cals": 3}, "calls"),
    ],
)
def test_what_is_wrong_is_said_with_its_key(keys: dict[str, Any], why: str) -> None:
    with pytest.raises(PolicyError, match=why):
        read(**keys)


def test_a_policy_that_nobody_trusts_names_no_model() -> None:
    assert tighten(load_policy({"gate": {"llm": {"url": URL, "key_env": "MY_KEY"}}})).llm is None


def test_who_trusts_it_reads_what_it_asks_for() -> None:
    text = f'version = 1\n[gate.llm]\nurl = "{URL}"\nkey_env = "MY_KEY"\n'
    asked = {one.key: one.meaning for one in requests_of("p.toml", text.encode())}
    assert asked["gate.llm.url"] == "sends calls that could not be repaired to a model"
    assert "key" in asked["gate.llm.key_env"]
