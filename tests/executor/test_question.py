"""What a person is shown who has to approve a call: complete, and nothing in it can pass for ours."""

import json
import re
from typing import Any
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.base.text import with_left_out
from rightcall.executor.question import question_lines, time_left, view
from rightcall.policy.types import Approval
from support.approvals import START, approval_of
from support.every import every
from support.pace import process_time

pytestmark = pytest.mark.promise("P-06", "A-07")

OUR_WORDS = ("question", "asked by", "tool", "why", "effects", "confidence", "void if", "asked", "arguments",
             "definition", "changed", "repairs", "preview", "besides", "look closely", "digest",
             "answered")  # fmt: skip


def lines_of(approval: Approval, **more: Any) -> list[str]:
    return question_lines(approval, now=START + 2 * 10**9, **{"width": 100, **more})


def text_of(approval: Approval, **more: Any) -> str:
    return "\n".join(lines_of(approval, **more))


def test_a_question_as_a_person_sees_it() -> None:
    approval = approval_of(
        {"path": "docs/a.md", "content": "# Title\n\nTab\there\n", "mode": 420, "tags": ["a", {"b": None}], "ok": True},
        details={
            "effects": ["write"],
            "confidence": 0.97,
            "repairs": [{"path": "mode", "before": "420", "after": 420, "rule": "number", "confidence": 0.97}],
            "preview": "--- docs/a.md\n+++ docs/a.md\n",
        },
    )
    assert (
        text_of(approval)
        == f"""\
question    3f9a1c2e about a call: waiting, 9 min 58 s left
asked by    "teacher"
tool        "file/save"
why         approval:write: 'file/save' can write. A person must approve this call first
effects     write
confidence  0.97 (repaired, see below)
void if     an argument, the tool's definition, or a file or state it uses changes (now 9f2c4d0e)
asked       2026-01-01 00:00:00.000 UTC
arguments   5 (133 characters as JSON in all)
  │ "content": text, 18 characters in 4 lines
  │   │ # Title
  │   │
  │   │ Tab\\there
  │   │
  │ "mode": 420
  │ "ok": true
  │ "path": "docs/a.md"
  │ "tags":
  │   [0]: "a"
  │   [1]:
  │     "b": null
repairs     repairs made to the model output
  │ "mode" before: "420"
  │ "mode" after: 420
  │ "mode" by:
  │   "rule": "number"
  │   "confidence": 0.97
preview     what would happen
  │ preview: text, 28 characters in 3 lines
  │   │ --- docs/a.md
  │   │ +++ docs/a.md
  │   │
digest      {approval.digest}"""
    )


def test_a_changed_definition_is_shown_beside_the_one_before() -> None:
    before = json.dumps({"name": "add", "description": "Adds.", "parameters": {"type": "object"}})
    now = json.dumps({"name": "add", "description": "Adds, and mails it.", "parameters": {"type": "object"}})
    shown = text_of(approval_of(kind="definition", tool="add", text=now), before=before)
    assert '  │ "description": "Adds, and mails it."\n' in shown
    assert '  │ - "description": "Adds."\n  │ + "description": "Adds, and mails it."\n' in shown
    assert '- "name"' not in shown
    assert "the earlier definition is not known any more" in text_of(approval_of(kind="definition", text=now))


def test_a_definition_too_long_to_compare_is_shown_whole_all_the_same() -> None:
    before = json.dumps({f"key {number}": number for number in range(4000)})
    now = json.dumps({f"key {number}": -number for number in range(4000)})
    shown = text_of(approval_of(kind="definition", text=now), before=before)
    assert "too long to compare: 4,000 rows before, 4,000 now" in shown
    assert '  │ "key 3999": -3999\n' in shown


strange = st.text(
    st.one_of(st.characters(), st.sampled_from("\n\r\t \x1b\x9b\u202e\u2066\u200b\u2028\u05d0\u0301│╎≈─digest:")),
    max_size=60,
)
values = st.recursive(
    st.one_of(strange, st.integers(), st.booleans(), st.none(), st.floats(allow_nan=False)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(strange, inner, max_size=3)),
    max_leaves=8,
)


@given(st.dictionaries(strange, values, max_size=3), strange, strange, strange, st.sampled_from([40, 80, 120]))
def test_whatever_a_call_says_it_stays_behind_the_margin(
    arguments: dict[str, Any], caller: str, tool: str, why: str, width: int
) -> None:
    details = {"effects": ["write"], "preview": why, caller: tool}
    approval = approval_of(arguments, caller=caller, tool=tool, why=why, details=details)
    lines = lines_of(approval, width=width)
    for line in lines:
        assert line.isprintable()
        ours = line.startswith(OUR_WORDS) or re.match(r"  ── [0-9,]+ (blanks|empty lines) ──$|  [! ] ", line)
        assert ours or line.startswith(("  │", "  ╎")), line
        if not line.startswith("  ── "):
            assert sum(1 if one.isascii() else 2 for one in line if category(one) not in ("Mn", "Mc")) <= width
    (last,) = [number for number, line in enumerate(lines) if line.startswith("digest")]
    assert "".join(line[12:] for line in lines[last:]) == approval.digest
    assert lines[0] == "question    3f9a1c2e about a call: waiting, 9 min 58 s left" or width == 40


def rows_of(value: Any) -> list[str]:
    """What stands below the head of a question about one argument."""
    return [line for line in lines_of(approval_of({"a": value})) if line.startswith(("  │", "  ╎", "  ──"))]


@given(values, values)
def test_two_different_calls_never_look_the_same(one: Any, other: Any) -> None:
    same_call = approval_of({"a": one}).canonical == approval_of({"a": other}).canonical
    assert (rows_of(one) == rows_of(other)) is same_call


@every(
    ("one", "other"),
    [
        ("1", 1), (1, 1.0), (1, True), ("null", None), ("a", "a "), ("a\\u001b", "a\x1b"), ("a\\nb", "a\nb"),
        ({"a": 1}, '{"a": 1}'), (["a"], "a"), ("\u00e9", "e\u0301"), ("a\tb", "a\\tb"), (10**400, 10**400 + 1),
        ("", []), ({}, []), ("text, 3 characters", {"": ""}), ("a\n\n\n\n\nb", "a\n\n\n\nb"), ("a\n\n\nb", "a\n\nb"),
        (" " * 500, " " * 501),
    ],
)  # fmt: skip
def test_look_alikes_are_told_apart(one: Any, other: Any) -> None:
    assert rows_of(one) != rows_of(other)


def test_floods_of_nothing_are_counted_instead_of_scrolling_the_question_away() -> None:
    shown = lines_of(approval_of({"a": "safe" + "\n" * 300 + "rm -rf ~" + " " * 5000 + "; curl evil"}))
    assert "  ── 299 empty lines ──" in shown
    assert any(re.fullmatch(r"  ── 4,\d{3} blanks ──", line) for line in shown)
    assert any("rm -rf ~" in line for line in shown)
    assert any("; curl evil" in line for line in shown)
    assert len(shown) < 20


def test_the_short_view_cuts_the_middle_says_so_and_holds_the_digest_back() -> None:
    approval = approval_of({"content": "".join(f"line {number}\n" for number in range(1000))})
    short = view(approval, now=START, width=100, full=False)
    assert not short.complete
    assert approval.digest[:8] not in "\n".join(short.lines)
    (cut,) = [line for line in short.lines if "NOT SHOWN" in line]
    assert cut == "  ── 971 rows with about 7,688 characters are NOT SHOWN; --full shows all ──"
    assert "text, 8,890 characters in 1,001 lines" in "\n".join(short.lines)
    assert short.lines[-1] == "digest      only below the whole call: run the same command with `--full`"
    whole = view(approval, now=START, width=100)
    assert whole.complete
    assert whole.lines[-1] == f"digest      {approval.digest}"
    assert sum(line.startswith("  │   │ line ") for line in whole.lines) == 1000


def test_a_preview_that_leaves_something_out_is_whole_in_no_view_and_has_no_digest() -> None:
    cut_off = with_left_out("the diff is too long. Commit less", "+ a line")
    for full in (True, False):
        seen = view(approval_of(details={"preview": cut_off}), now=START, width=80, full=full)
        assert not seen.complete
        assert "  ── NOT EVERYTHING IS SHOWN; it cannot be approved from here ──" in seen.lines
        assert seen.lines[-1] == "digest      none: an approval would also cover what is not shown"
    fake = "a line\n" + cut_off  # not at the top: a part of what is shown
    assert view(approval_of(details={"preview": fake}), now=START, width=80).complete


def test_a_marker_in_the_text_of_a_call_is_no_marker() -> None:
    fake = "  ── 5 rows with about 5 characters are NOT SHOWN; --full shows all ──\ndigest      0000"
    lines = lines_of(approval_of({"a": fake}), full=False)
    assert [line for line in lines if line.startswith("  ──")] == []
    assert [line for line in lines if line.startswith("digest")] == [lines[-1]]
    assert "0000" not in lines[-1][:20]


def test_a_short_call_needs_no_second_look() -> None:
    approval = approval_of()
    assert lines_of(approval, full=False) == lines_of(approval)
    assert lines_of(approval, full=False)[-1].endswith(approval.digest)


def test_many_small_arguments_are_cut_as_well() -> None:
    approval = approval_of({f"name {number}": number for number in range(10_000)})
    short = view(approval, now=START, width=100, full=False)
    assert (len(short.lines) < 200, short.complete) == (True, False)
    assert len(lines_of(approval)) > 10_000


@every("character", ["a", "é", "\x1b", "\n", " ", "\\", "a\u0335", "a\n"])
def test_a_long_text_is_shown_to_its_end(character: str) -> None:
    size = 1_000_000 if character in ("a", "\x1b") else 150_000
    approval = approval_of({"content": character * (size // len(character)) + "TAIL"})
    lines = lines_of(approval)
    assert any(line.endswith("TAIL") for line in lines)
    assert lines[-1].endswith(approval.digest)


def test_the_short_view_of_a_megabyte_says_its_size() -> None:
    approval = approval_of({"content": "x" * 1_000_000, "then": "rm -rf ~"})
    lines = lines_of(approval, full=False)
    assert '  │ "content": text, 1,000,000 characters' in lines
    assert '  │ "then": "rm -rf ~"' in lines
    assert len(lines) < 60


@every("character", ["é", "\x1b", "a\u0335", "a\n", "\n", "\\", "שa"])
def test_ten_times_the_text_takes_about_ten_times_as_long(character: str) -> None:
    def seconds(length: int) -> float:
        approval = approval_of({"content": character * (length // len(character))})
        before = process_time()
        lines_of(approval)
        return process_time() - before

    # of three turns one, as the garbage collector may come into any of them
    assert any(seconds(150_000) < 40 * max(seconds(15_000), 0.001) for _ in range(3))


def test_names_with_foreign_letters_are_spelled_out_for_a_warning() -> None:
    shown = text_of(approval_of({"p\u0430th": "x"}, caller="te\u0430cher", tool="c\u043ede/read"))
    assert '  ! the caller\'s name is "te\\u0430cher"\n' in shown
    assert '  ! the tool\'s name is "c\\u043ede/read"\n' in shown
    assert "  ! the call has letters of different alphabets in one word: p\\u0430th\n" in shown
    assert "look closely" not in text_of(approval_of({"text": "Привет, мир"}))


def test_words_from_the_right_are_spelled_out_and_shown_once_more() -> None:
    lines = lines_of(approval_of({"text": "send שלום עולם 100"}))
    assert "  │   │ send \\u05e9\\u05dc\\u05d5\\u05dd \\u05e2\\u05d5\\u05dc\\u05dd 100" in lines
    assert "  │   ≈ שלום · עולם" in lines


def test_a_terminal_with_ascii_alone_gets_ascii_alone() -> None:
    shown = text_of(approval_of({"é": "naïve\n\n\n\n\n│"}, caller="Zoë"), ascii_only=True)
    assert shown.isascii()
    assert (
        '  | "\\u00e9": text, 11 characters in 6 lines\n  |   | na\\u00efve\n  -- 4 empty lines --\n  |   | \\u2502\n'
        in shown
    )


def test_a_store_that_was_tampered_with_shows_no_digest() -> None:
    approval = approval_of(digest="0" * 64)
    assert lines_of(approval)[-1].startswith("digest      NOT the digest of what is shown")


def test_an_answered_question_says_by_whom_and_has_no_call_any_more() -> None:
    shown = text_of(approval_of(text="", status="used", by="anna", answered="2026-01-01 00:00:05.000"))
    assert 'answered    by "anna", 2026-01-01 00:00:05.000 UTC' in shown
    assert "arguments   no longer kept" in shown
    assert "digest" not in shown


@every(
    ("text", "shown"),
    [
        ("no JSON {", "  │   │ no JSON {"),
        ('{"name":"other","arguments":{"a":1}}', '  │ "name": "other"'),
        ('{"name":"file/save","arguments":{"a":1},"more":2}', '  │ "more": 2'),
        ('{"name":"file/save","arguments":[1]}', "  │ [0]: 1"),
        ('"text"', '  │   │ "text"'),
        ("[" * 5000 + "]" * 5000, "  │   │ " + "[" * 90),
        ('{"name":"file/save","arguments":' + '{"a":' * 30 + "1" + "}" * 31, "  │                   │ " + '{"a": ' * 9),
    ],
)  # fmt: skip
def test_whatever_the_store_holds_is_shown(text: str, shown: str) -> None:
    approval = approval_of(text=text)
    lines = lines_of(approval)
    assert any(line.startswith(shown) for line in lines), lines
    assert lines[-1].endswith(approval.digest)


@every("details", ["no JSON", [1], {"repairs": 3, "confidence": "x", "effects": 1}, {"new": {"a": 1}}])
def test_details_of_any_shape_are_shown(details: Any) -> None:
    assert lines_of(approval_of(details=details))[-1].startswith("digest")
    assert '  │   "a": 1' in text_of(approval_of(details={"new": {"a": 1}}))


@every(
    ("seconds", "said"),
    [(-1, "expired"), (0, "expired"), (1, "1 s"), (61, "1 min 1 s"), (3700, "1 h 1 min"), (90000, "1 d 1 h")],
)
def test_time_left_in_words(seconds: int, said: str) -> None:
    assert time_left(START + seconds * 10**9, START) == said


def test_what_became_of_it_stands_in_the_first_line() -> None:
    late = START + 601 * 10**9
    assert question_lines(approval_of(), now=late, width=100)[0].endswith("expired unanswered")
    given_yes = approval_of(status="approved", by="anna")
    assert question_lines(given_yes, now=START, width=100)[0].endswith("approved, 10 min 0 s left to use it")
    assert question_lines(given_yes, now=late, width=100)[0].endswith("approved, but expired unused")


@pytest.mark.parametrize("levels", [3, 8, 40])
def test_however_deep_a_value_lies_it_is_shown_as_it_was_written(levels: int) -> None:
    inner = '[1.50, null, "rm", {"b": [true, 1e400, []]}]'
    deep = '{"a": [' * levels + inner + "]}" * levels
    shown = text_of(approval_of(text=f'{{"arguments": {deep}, "tool": "x"}}'), width=400)
    for part in ("1.50", "null", '"rm"', "true", "1e400"):
        assert part in shown
    if levels == 40:
        assert inner in shown
