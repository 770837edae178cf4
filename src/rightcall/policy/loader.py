"""A policy from where it is: a file that was named or found, a dict, or the default one."""

import os
from collections.abc import Mapping
from typing import Any

from rightcall.policy.settings import DEFAULT_POLICY, Policy


def load_policy(policy: str | os.PathLike[str] | Mapping[str, Any] | Policy | None = None) -> Policy:
    """The policy from a file, from a dict of the same shape, or the default one. Of a file that was only found
    (`FoundPolicy`), what may be believed of it.

    Raises PolicyError, which names the file, the line and what would be right. Only the named file is read.
    """
    if policy is None:
        return DEFAULT_POLICY
    if isinstance(policy, Policy):
        return policy
    from rightcall.policy.reader import read_document  # late, both: the default policy needs no reader

    if isinstance(policy, Mapping):
        return read_document(policy)
    from rightcall.policy.discovery import load_file

    return load_file(policy)
