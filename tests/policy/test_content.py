"""A policy as plain data: what is kept of it decides as it did, and holds nothing of how servers are reached."""

import json

import pytest

from rightcall import load_policy
from rightcall.policy.content import content_of, policy_from
from rightcall.policy.types import rights_of
from support.histories import POLICY
from support.policy_edits import EDITS, edited


@pytest.mark.promise("L-01")
def test_what_is_kept_gives_every_caller_the_same_rights() -> None:
    policies = [load_policy(edited(edit)) for edit, _ in EDITS.values()]
    policies += [load_policy({}), load_policy(POLICY), load_policy({"policy": {"preset": "swarm"}})]
    for policy in policies:
        again = policy_from(json.loads(json.dumps(content_of(policy))))
        assert again is not None
        for caller in ("default", "helper", "pupil"):
            assert rights_of(again.settings, caller).digest == rights_of(policy.settings, caller).digest
        assert (again.tools, again.hosts, again.mode) == (policy.tools, policy.hosts, policy.mode)
        assert content_of(again) == content_of(policy)


def test_nothing_is_kept_of_how_servers_are_reached_and_who_is_notified() -> None:
    policy = load_policy(
        {
            "servers": {"files": {"command": ["serve", "Zq8hunter2"], "env": {"KEY": "Zq8hunter2"}, "deny": ["drop"]}},
            "approvals": {"notify": "https://example.org/Zq8hunter2"},
            "store": {"url": "postgresql://me@example.org/audit"},
        }
    )
    assert content_of(policy) == {"servers": {"files": {"deny": ("drop",)}}}


def test_content_that_this_version_cannot_read_is_not_guessed() -> None:
    assert policy_from({"settings": {"stage": "unheard-of"}}) is None
    assert policy_from({"servers": "none"}) is None
