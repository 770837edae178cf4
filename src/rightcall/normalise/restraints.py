"""Strangers that must not be dropped: they hold a call back or narrow it, so that without them it would do more.

`rm -rf x` with `dry_run` is another call than without. What adds nothing but a preference is dropped as ever.
"""

from __future__ import annotations

from typing import Any

from rightcall.normalise.words import joined, words_of

_BACK_TEXT = "dry dryrun simulate simulated simulation preview draft sandbox readonly disabled disable paused append"
_BACK = frozenset(_BACK_TEXT.split())
"""Words that hold a call back where they are switched on."""

_CONFIRM = frozenset(["confirm", "confirmed", "confirmation", "approve", "approved", "approval", "consent"])
"""Words that hold a call back where they are switched off."""

_NARROW_TEXT = (
    "exclude excluded excludes excluding exclusion exclusions except skip ignore omit without unless only not no"
)
_NARROW = frozenset(["no", *_NARROW_TEXT.split()])
"""Words that take something out of what a call works on."""

_VALUES = frozenset(["append", "dryrun", "preview", "simulate", "readonly", "draft"])
"""What a `mode` may say to the same effect."""

_OFF = (None, False, 0, "", "false", "no", "off", "none", "0")


def restrains(name: str, value: Any) -> bool:
    """Whether a call without this argument would do more than the one that was written.

    >>> restrains("dry_run", True), restrains("dryRun", False), restrains("exclude", ["a"]), restrains("colour", "red")
    (True, False, True, False)
    """
    words = words_of(name)
    off = _is_off(value)
    if any(word in _CONFIRM for word in words):
        return off and value is not None
    if off or value == [] or value == {}:
        return False
    if any(word in _BACK for word in words) or joined(name) in _BACK:
        return True
    if any(word in _NARROW for word in words):
        return words[:2] != ("no", "of")  # the number of something
    return joined(name).endswith("mode") and isinstance(value, str) and joined(value) in _VALUES


def _is_off(value: Any) -> bool:
    return (value.strip().lower() if isinstance(value, str) else value) in _OFF
