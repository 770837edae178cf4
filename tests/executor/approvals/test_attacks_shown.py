"""Attacks on what a person is shown: whatever a call says, and wherever it says it, what is ours stays as it is."""

from collections.abc import Callable
from typing import Any

import pytest

from rightcall.executor.question import question_lines
from support.approvals import approval_of
from support.every import every

pytestmark = pytest.mark.promise("P-06", "A-07")

DISPLAY = {
    "erases the line": "safe\x1b[2K\x1b[1Gharmless",
    "moves the cursor up": "x\x1b[10A\x1b[2Jwho asks    root",
    "sets the title": "\x1b]0;pwned\x07",
    "a link that leads elsewhere": "\x1b]8;;http://evil\x1b\\docs\x1b]8;;\x1b\\",
    "one-byte control sequences": "\x9b2J\x9d0;x\x9c",
    "colours": "\x1b[8minvisible\x1b[0m",
    "turns the reading direction": "\u202egnp.exe\u202c \u2066x\u2069 \u200f",
    "letters from the right": "approve 1\u05d0\u05d12 deny",
    "carriage return": "rm -rf ~\rls -la  ",
    "300 empty lines": "safe" + "\n" * 300 + "rm -rf ~",
    "blanks that push it out of sight": "safe" + " " * 4000 + "rm -rf ~",
    "tabs": "safe" + "\t" * 500 + "rm -rf ~",
    "vertical moves": "a\x0b\x0c\x85\u2028\u2029b",
    "zero width": "s\u200ba\u200cf\u200de\u2060\ufeff",
    "invisible letters": "a\u3164\u115f\u2800b",
    "tag characters": "safe" + "".join(chr(0xE0000 + ord(c)) for c in "rm -rf"),
    "backspaces": "evil\x08\x08\x08\x08safe",
    "a flood of marks": "a" + "\u0335\u0336\u0337\u0338" * 500,
    "a question of its own": "ok\n\nquestion    00000000 about a call: waiting, 9 min left\nwho asks    \"root\"",
    "a digest of its own": "ok\ndigest      " + "0" * 64,
    "a marker of its own": "ok\n  ── 5 empty lines ──\n  ── 1 rows with about 1 characters are NOT SHOWN ──",
    "a margin of its own": "  │ \"path\": \"docs/a.md\"\n  ╎ more\n│   │ x",
    "a prompt of its own": "ok\napprove 3f9a1c2e? [y/N] y\n3f9a1c2e is approved",
    "a second argument of its own": 'x"\n  │ "force": false',
    "escapes that are only text": "\\u001b[2K \\n \\\\u0000",
    "a NUL and a lone surrogate": "a\0b\ud800c",
}  # fmt: skip
PLACES: dict[str, Callable[[str], dict[str, Any]]] = {
    "a value": lambda text: {"arguments": {"path": text}},
    "a name": lambda text: {"arguments": {text: "x"}},
    "deep inside": lambda text: {"arguments": {"a": [{"b": {text: [text]}}]}},
    "the caller": lambda text: {"caller": text},
    "the tool": lambda text: {"tool": text},
    "the reason": lambda text: {"why": text},
    "the preview": lambda text: {"details": {"preview": text}},
    "a repair": lambda text: {"details": {"repairs": [{"path": text, "before": text, "after": text, "rule": text}]}},
    "the effects": lambda text: {"details": {"effects": [text]}},
    "the name of who answered": lambda text: {"by": text},
}


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
