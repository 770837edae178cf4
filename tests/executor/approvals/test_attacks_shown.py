"""Attacks on what a person is shown: whatever a call says, and wherever it says it, what is ours stays as it is."""

from collections.abc import Callable
from typing import Any

import pytest

from rightcall.executor.question import question_lines
from support.approval_attacks import DISPLAY, PLACES
from support.approvals import approval_of
from support.every import every

pytestmark = pytest.mark.promise("P-06", "A-07")


@every("place", PLACES.values(), ids=PLACES.keys(), parts=4)
@every("text", DISPLAY.values(), ids=DISPLAY.keys())
def test_no_text_of_a_call_moves_hides_or_imitates_what_a_person_is_shown(
    text: str, place: Callable[[str], dict[str, Any]]
) -> None:
    approval = approval_of(**place(text))
    lines = question_lines(approval, now=approval.asked_at, width=100)
    plain = question_lines(approval_of(**place("plain")), now=approval.asked_at, width=100)
    assert all(line.isprintable() for line in lines)
    assert lines[-1] == f"digest      {approval.digest}"
    assert lines[0] == "question    3f9a1c2e about a call: waiting, 10 min 0 s left"
    assert labels(lines) == labels(plain)


def labels(lines: list[str]) -> list[str]:
    """The words at the left edge, where only we write."""
    return [line[:12].strip() for line in lines if not line.startswith(" ") and not line.startswith("look closely")]


def test_the_tail_of_a_megabyte_is_seen_before_it_can_be_approved() -> None:
    hidden = {"a": "x" * 500_000 + "rm -rf ~" + "x" * 500_000}
    approval = approval_of(hidden)
    short = "\n".join(question_lines(approval, now=approval.asked_at, width=100, full=False))
    assert "rm -rf" not in short
    assert approval.digest[:8] not in short
    whole = question_lines(approval, now=approval.asked_at, width=100)
    assert "rm -rf ~" in "".join(line[8:] for line in whole if line.startswith("  │"))
    assert whole[-1].endswith(approval.digest)
