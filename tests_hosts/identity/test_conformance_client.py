"""Every authorisation scenario that the official conformance suite has for clients, in every revision in which it has
it, with our gateway as the client of the suite's server."""

import sys
from pathlib import Path

import pytest

from identity import conforming_client
from identity.scenarios import Scenario, listed, run_scenario

pytestmark = pytest.mark.promise("I-02")
BOTH = ("2025-11-25", "2026-07-28")
LATEST = ("2026-07-28",)
REVISIONS = {
    **dict.fromkeys(("2025-03-26-oauth-endpoint-fallback", "2025-03-26-oauth-metadata-backcompat"), ("2025-03-26",)),
    **dict.fromkeys((f"token-endpoint-auth-{method}" for method in ("basic", "none", "post")), ("2025-06-18", *BOTH)),
    **dict.fromkeys(
        (
            "basic-cimd", "metadata-default", "metadata-var1", "metadata-var2", "metadata-var3", "pre-registration",
            "scope-from-scopes-supported", "scope-from-www-authenticate", "scope-omitted-when-undefined",
            "scope-retry-limit", "scope-step-up",
        ),
        BOTH,
    ),
    **dict.fromkeys(
        (
            "authorization-server-migration", "iss-normalized", "iss-not-advertised", "iss-supported",
            "iss-supported-missing", "iss-unexpected", "iss-wrong-issuer", "metadata-issuer-mismatch",
            "offline-access-not-supported", "offline-access-scope", "resource-mismatch",
        ),
        LATEST,
    ),
    **dict.fromkeys(
        (
            "client-credentials-basic", "client-credentials-jwt", "dpop", "dpop-nonce",
            "enterprise-managed-authorization", "wif-jwt-bearer",
        ),
        LATEST,
    ),
}  # fmt: skip
SCENARIOS = [Scenario(f"auth/{name}", revision) for name, revisions in REVISIONS.items() for revision in revisions]


PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "mcp.md").read_text(encoding="utf-8")


def test_these_are_all_of_them_and_the_documentation_says_how_many(npm_bin: Path) -> None:
    assert set(SCENARIOS) == listed(npm_bin)
    assert f"{len(REVISIONS)} scenarios, in every revision in which the suite has them {len(SCENARIOS)} runs" in PAGE


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_a_scenario_passes(scenario: Scenario, npm_bin: Path, tmp_path: Path) -> None:
    told = run_scenario(npm_bin, [sys.executable, conforming_client.__file__], scenario, tmp_path)
    assert told.others == {}, told.said
    assert told.passed
