"""One number from all evidence: how sure it is that this call is the one to run.

A model's own word on that is badly calibrated, so it is never taken alone. The measured probabilities come first: that
a tool is needed, and that it is this one. Each model that was asked is a vote of limited weight. Nobody lifts the
number above what the reviewer said, and no review, or one that cannot be read, leaves nothing of it.
"""

from msgspec import Struct

SELECTOR_ODDS = 4.0
"""What the selecting model's choice is worth: as a voter who is right four times in five."""

ALONE_ODDS = 2.0
"""What it is worth where the measured ranking had put another tool first: two methods that disagree tell less."""

REVIEW_ODDS = 2.0
"""What an approval is worth: reviewers approve most of what they are shown."""

UNAPPROVED = 0.5
"""The most that is left when the reviewer did not approve (design 004)."""

_LEAST, _MOST = 0.001, 0.999


class Evidence(Struct, frozen=True):
    """What is known of a selected call."""

    needs: float = 1.0
    """The probability that the request needs a tool."""
    tool: float = 1.0
    """The probability that it is this tool, given that it is one of those available."""
    margin: float = 0.0
    """How far the first candidate is ahead of the second: for people, since `tool` is made of it."""
    agrees: bool = True
    """The selecting model chose the first candidate."""
    fits: bool = True
    """The arguments fit the tool's schema."""
    repairs: int = 0
    repair_confidence: float = 1.0
    """How sure the gate is of its repairs."""
    stated: float = 0.0
    """What the selecting model says of itself: for people. It was measured to tell nothing."""
    approved: bool | None = None
    """What the reviewer said; None: nothing that could be read."""
    review: float | None = None
    """How sure the reviewer says to be."""


class Weighed(Struct, frozen=True):
    confidence: float
    parts: dict[str, float]
    """What it was made of, for the packet and for people."""


def weigh(evidence: Evidence) -> Weighed:
    """
    >>> weigh(Evidence(needs=0.9, tool=0.9, approved=True, review=0.95)).confidence
    0.95
    >>> weigh(Evidence(needs=0.9, tool=0.9, approved=False, review=0.95)).confidence
    0.5
    >>> weigh(Evidence(needs=0.9, tool=0.9)).confidence
    0.0
    """
    measured = evidence.needs * evidence.tool
    selected = SELECTOR_ODDS if evidence.agrees else ALONE_ODDS
    voted = _raised(measured, selected * (REVIEW_ODDS if evidence.approved else 1.0))
    confidence = voted * evidence.repair_confidence if evidence.fits else 0.0
    most = _most(evidence)
    parts = {
        "needs": evidence.needs, "tool": evidence.tool, "margin": evidence.margin, "agrees": float(evidence.agrees),
        "fits": float(evidence.fits), "repairs": float(evidence.repairs), "repair": evidence.repair_confidence,
        "stated": evidence.stated, "measured": measured, "voted": voted, "review": evidence.review or 0.0, "most": most,
    }  # fmt: skip
    return Weighed(round(min(confidence, most), 4), {name: round(value, 4) for name, value in parts.items()})


def _most(evidence: Evidence) -> float:
    if evidence.approved is None or evidence.review is None or not 0.0 <= evidence.review <= 1.0:
        return 0.0
    return evidence.review if evidence.approved else min(evidence.review, UNAPPROVED)


def _raised(probability: float, odds: float) -> float:
    bounded = min(max(probability, _LEAST), _MOST)
    against = (1.0 - bounded) / bounded / odds
    return 1.0 / (1.0 + against)
