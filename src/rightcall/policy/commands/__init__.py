"""Command lines and addresses in arguments, read and judged before they run: a guard against mistakes, not a sandbox.

    text ─▶ shell.LineReader ─▶ simple commands ─▶ wrappers, launchers ─▶ runs ─▶ patterns, rules, paths, addresses

Only what the policy file says of them is here, so that reading a policy loads nothing else; `judgement` is loaded when
a call has a command or an address in it, and `judge` when it is no plain line. `shell` and `words` read the line;
`wrappers`, `launchers`, `inline` and `python` find what it starts; `patterns` has the list that ships (`starter.txt`)
and `rules`, `git`, `network`, `listings` and `actions` what needs more than a pattern of it; `runs`, `paths`, `places`
and `urls` are what they share, and `findings` gathers what comes of it.
"""

from typing import TYPE_CHECKING

from msgspec import Struct

from rightcall import front

if TYPE_CHECKING:
    from rightcall.policy.commands.judgement import Judgement, judge_code, judge_command, judge_url
    from rightcall.policy.commands.places import Place
else:
    __getattr__, __dir__ = front(
        __name__, {"judgement": "Judgement judge_code judge_command judge_url", "places": "Place"}
    )

__all__ = ["CommandRules", "Judgement", "Place", "UrlRules", "judge_code", "judge_command", "judge_url"]


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
