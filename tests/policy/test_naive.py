"""Two evaluators of the policy, one fast and one obvious, never disagree (`make policies` tries a million)."""

import random

import pytest

from support.agreement import disagreement, rounds
from support.naive_policy import verdict
from support.policy_worlds import policy

pytestmark = pytest.mark.promise("P-01", "P-02", "P-07", "P-09")

KINDS = {"allow", "dry_run", "ask", "deny"}
RARE = {"batch", "definition:changed", "approval:grant"} | {
    f"approval:{word}" for word in ("given", "denied", "waiting", "unknown", "mismatch", "expired")
}
"""Rules that need much to come together, and that the generator must reach all the same."""


@pytest.mark.long
def test_random_policies_and_requests_are_decided_as_the_obvious_evaluator_decides_them() -> None:
    chance = random.Random(20261115)
    seen: set[tuple[str, str]] = set()
    for case in rounds(chance, policies=400, requests=10):
        assert disagreement(case) is None, disagreement(case)
        seen.add(verdict(case.policy, case.request, case.world))
    assert {kind for kind, _ in seen} == KINDS
    assert len(seen) > 25, "the generator no longer reaches most rules"
    assert {rule for _, rule in seen} >= RARE


def test_a_decision_that_differs_is_noticed() -> None:
    chance = random.Random(1)
    found = 0
    for case in rounds(chance, policies=200, requests=5):
        loosened = case._replace(policy=policy(chance))  # the obvious one now judges by another policy
        found += disagreement(loosened) is not None
    assert found > 20
