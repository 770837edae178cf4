"""Command lines and addresses in arguments, read and judged before they run: a guard against mistakes, not a sandbox.

    text ─▶ shell.Reader ─▶ simple commands ─▶ wrappers ─▶ runs ─▶ patterns, starter rules, paths, addresses

Only what the policy file says of them is here, so that reading a policy loads nothing else; `judging.py` is loaded when
a call has a command or an address in it.
"""

from msgspec import Struct


class CommandRules(Struct, frozen=True):
    """`[policy.commands]`: patterns over words, as `patterns.py` explains them."""

    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    """Silences what the starter list would ask, never a denial and never a path rule."""
    starter: bool = True
    """Whether the starter list counts. Without it only the lists above count, and what cannot be read still asks."""


class UrlRules(Struct, frozen=True):
    """`[policy.urls]`: patterns over scheme, host, port and path, as `urls.py` explains them."""

    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    """Silences the starter's question about cloud metadata, never a denial."""
    starter: bool = True
