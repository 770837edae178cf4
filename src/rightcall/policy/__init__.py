"""What is allowed: the policy file, read once and frozen, and the decision it gives for one request.

    file ─▶ trust, tightening ─▶ watch, reader, values ─▶ settings (Policy) ─▶ decide ─▶ Decision

`types` are the records of running a call, `watch` the policy of something that runs while its file is edited, `trust`
what this user trusts, policy files as they are found among it. `commands/` reads command lines and addresses in
arguments.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.policy.decide import POLICIES, denial, may_use, permission, scopes_of
    from rightcall.policy.settings import DEFAULT_POLICY, Policy, RouterSettings, SandboxSettings, Server, Settings
    from rightcall.policy.trust import FoundPolicy
    from rightcall.policy.types import (
        Approval,
        Decision,
        Finding,
        Grant,
        Metadata,
        Pause,
        Request,
        Result,
        Rights,
        Token,
        rights_of,
    )
    from rightcall.policy.watch import PolicyInForce, load_policy
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "decide": "POLICIES denial may_use permission scopes_of",
            "settings": "DEFAULT_POLICY Policy RouterSettings SandboxSettings Server Settings",
            "trust": "FoundPolicy",
            "types": "Approval Decision Finding Grant Metadata Pause Request Result Rights Token rights_of",
            "watch": "PolicyInForce load_policy",
        },
    )

__all__ = [
    "DEFAULT_POLICY", "POLICIES", "Approval", "Decision", "Finding", "FoundPolicy", "Grant", "Metadata", "Pause",
    "Policy", "PolicyInForce", "Request", "Result", "Rights", "RouterSettings", "SandboxSettings", "Server",
    "Settings", "Token", "denial", "load_policy", "may_use", "permission", "rights_of", "scopes_of",
]  # fmt: skip
