"""One number from all evidence: T-05."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rightcall.router.review import UNAPPROVED, Evidence, weigh
from support.every import every

pytestmark = pytest.mark.promise("T-05")

SOUND = Evidence(needs=0.95, tool=0.95, margin=2.0, stated=0.9, approved=True, review=0.95)


def changed(**fields: object) -> float:
    return weigh(replace(SOUND, **fields)).confidence


def test_a_sound_call_passes_the_threshold_of_the_design() -> None:
    assert weigh(SOUND).confidence >= 0.7


@every(
    ("fields", "most"),
    [
        ({"approved": False}, UNAPPROVED),
        ({"approved": False, "review": 1.0, "needs": 1.0, "tool": 1.0}, UNAPPROVED),
        ({"approved": False, "review": 0.2}, 0.2),
        ({"approved": None}, 0.0),
        ({"review": None}, 0.0),
        ({"approved": None, "review": None}, 0.0),
        ({"review": math.nan}, 0.0),
        ({"review": math.inf}, 0.0),
        ({"review": 1.5}, 0.0),
        ({"review": -0.1}, 0.0),
        ({"review": 0.3}, 0.3),
        ({"review": 0.0}, 0.0),
        ({"fits": False}, 0.0),
        ({"repair_confidence": 0.6}, 0.6),
        ({"needs": 0.0}, 0.1),
        ({"tool": 0.0}, 0.1),
    ],
)
def test_what_is_wrong_lowers_it(fields: dict[str, object], most: float) -> None:
    assert changed(**fields) <= most


def test_repairs_lower_it() -> None:
    assert changed(repair_confidence=0.7, repairs=2) < changed()


def test_what_the_selecting_model_says_of_itself_lifts_nothing() -> None:
    assert changed(stated=1.0) == changed(stated=0.0)


def test_its_parts_are_told() -> None:
    parts = weigh(SOUND).parts
    assert {"needs", "tool", "margin", "agrees", "fits", "repairs", "stated", "review", "most"} <= parts.keys()
    assert parts["review"] == 0.95


SHARES = st.floats(0.0, 1.0)
EVIDENCE = st.builds(
    Evidence, needs=SHARES, tool=SHARES, margin=st.floats(0, 10), agrees=st.booleans(), fits=st.booleans(),
    repairs=st.integers(0, 3), repair_confidence=SHARES, stated=SHARES, approved=st.sampled_from((True, False, None)),
    review=st.one_of(st.none(), SHARES),
)  # fmt: skip


@given(evidence=EVIDENCE, name=st.sampled_from(("needs", "tool", "repair_confidence", "review")), more=SHARES)
def test_more_evidence_never_makes_it_less_sure_and_nobody_lifts_it_above_the_review(
    evidence: Evidence, name: str, more: float
) -> None:
    confidence = weigh(evidence).confidence
    assert 0.0 <= confidence <= round(evidence.review or 0.0, 4)
    if getattr(evidence, name) is not None:
        better = replace(evidence, **{name: max(more, getattr(evidence, name))})
        assert weigh(better).confidence >= confidence
    if evidence.approved is False:
        assert confidence <= UNAPPROVED
        assert weigh(replace(evidence, approved=True)).confidence >= confidence
    assert weigh(replace(evidence, fits=True)).confidence >= confidence
