"""`rightcall stats`: the design's widget with bars, wide and narrow, in blocks and in ASCII; empty stores; JSON."""

import io
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall import Executor
from rightcall import tool as as_tool
from rightcall.cli.persons import ASCII, BLOCKS, Row, Signs, bar, chart, fit_columns, levels, signs_for
from rightcall.cli.stats import drawn, duration, look, percent, watch
from rightcall.cli.terminal import Style, visible_width
from rightcall.record.calls import Period
from rightcall.record.notes import note_diagnosis, note_message
from rightcall.record.sqlite import SqliteStore
from support.cli import Runner, start
from support.stores import Diary

pytestmark = pytest.mark.promise("A-05")

CLAUDE = "claude-assistant"


@as_tool(effects=["read"])
def forecast(city: str) -> str:
    return city


@pytest.fixture
def diary() -> Diary:
    """A day of one assistant like the one in the design, and a little of a teacher."""
    diary = Diary()
    for number in range(47):
        diary.clock.advance(1200)
        call = diary.begin(CLAUDE, "code/read", context="bug 7", strategy="structure" if number % 10 == 0 else "direct")
        diary.end(call, 145.0, "success" if number else "failed", tokens=700, cached=number % 5 == 1)
    for number in range(31):
        diary.clock.advance(300)
        call = diary.begin(CLAUDE, "code/search", strategy="python_ast" if number < 2 else "direct")
        diary.end(call, 512.0, "failed" if number < 3 else "success", error="regex: look-around is not possible")
    for _ in range(19):
        diary.ran(CLAUDE, "code/diff", 201.0)
    for _ in range(5):
        diary.refused(CLAUDE, "code/read", "limit:tool:minute")
    diary.refused(CLAUDE, "code/read", "path:outside")
    diary.begin(CLAUDE, "code/blame")
    diary.waiting(CLAUDE)
    diary.ran("teacher", "file/save", 0.25, rule="dry_run")
    diary.refused("teacher", "code/edit")
    diary.store.transact(lambda tables: note_message(tables, CLAUDE, "bug 7", "debug"))
    diary.store.transact(lambda tables: note_message(tables, CLAUDE, "bug 7", "debug"))
    return diary


def shown(diary: Diary, width: int, caller: str | None = CLAUDE, period: Period = "1day", signs: Signs = BLOCKS) -> str:
    found = diary.store.look(lambda tables: look(tables, period, caller))
    return "\n".join(drawn(found, Style(width=width), signs))


def test_the_design_s_widget_with_bars(diary: Diary) -> None:
    assert shown(diary, 100) == WIDE


def test_a_narrow_terminal_gets_the_same_in_more_lines(diary: Diary) -> None:
    assert shown(diary, 40) == NARROW


def test_all_callers_are_listed_where_none_is_named_and_ascii_does_where_blocks_are_missing(diary: Diary) -> None:
    text = shown(diary, 80, None, signs=ASCII)
    assert text == EVERYONE_IN_ASCII
    assert text.isascii()


@pytest.mark.promise("A-80")
def test_repair_rates_stand_beside_each_provider_and_tool() -> None:
    diary = Diary()
    for number in range(8):
        diary.ran(tool="code/read", provider="ollama", strategy="structure" if number < 2 else "direct")
    diary.ran(tool="code/list", provider="anthropic")
    diary.refused(tool="code/list", provider="ollama", strategy="failed")
    text = shown(diary, 100, None)
    assert text.partition("Repairs by Provider:\n")[2].partition("\n\nSuccess")[0] == (
        "ollama  ████████████████████  (9 calls, 22% repaired, 11% failed)\n"
        "\n"
        "Repairs by Tool:\n"
        "code/read  ████████████████████  (8 calls, 25% repaired)\n"
        "code/list                        (2 calls, 0% repaired, 50% failed)"
    )
    diary.ran(provider="", strategy="structure")
    assert "\nnot reported  ████████████████████  (1 call, 100% repaired)\n" in shown(diary, 100, None)


def test_an_empty_store_says_so_kindly_and_what_to_try() -> None:
    assert shown(Diary(), 100, None) == (
        "No calls are recorded yet.\n"
        "Record one: `rightcall run ping '{}'`. Or send requests through the proxy: `rightcall serve`.\n"
        "To look elsewhere, pass `--store FILE`, `--policy FILE` or `--root DIR`."
    )


def test_a_period_without_calls_says_when_the_last_one_was(diary: Diary) -> None:
    diary.clock.advance(86_500)
    last = "The last call was recorded on 2026-01-02 06:15:00.000 UTC"
    assert shown(diary, 100, None) == f"All Callers - Last 24h: no calls.\n{last}; try --period 1week."
    diary.clock.advance(604_800)
    assert shown(diary, 100, None) == f"All Callers - Last 24h: no calls.\n{last}."  # in a week there is none either
    assert shown(diary, 100, None, "1week") == f"All Callers - Last 7 days: no calls.\n{last}."


def test_a_caller_without_calls_is_told_who_has_some(diary: Diary) -> None:
    assert shown(diary, 100, "nobody") == (
        "Nobody - Last 24h: no calls.\nCallers in this period: claude-assistant, teacher."
    )


def test_questions_and_notes_alone_are_worth_a_report() -> None:
    diary = Diary()
    diary.waiting()
    assert "1 waited for a person" in shown(diary, 100, None)
    diary = Diary()
    diary.store.transact(lambda tables: note_diagnosis(tables, "ada", "bug", True))
    assert "1 of 1 checked diagnosis right" in shown(diary, 100, None)


@pytest.mark.promise("A-07")
def test_nothing_a_model_wrote_reaches_the_terminal_raw() -> None:
    diary = Diary()
    evil = "\x1b[2J\u202e\u200bname"
    diary.failed(evil, evil, error=evil)
    diary.refused(evil, evil, evil)
    for caller in (None, evil):
        for width in (40, 100):
            text = shown(diary, width, caller)
            assert all(line.isprintable() for line in text.split("\n"))
            assert "\\u001b[2J\\u202e" in text
    assert all(line.isprintable() for line in shown(diary, 100, "\x1b[2J").split("\n"))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Diary]:
    """A real database in which three calls were recorded just now."""
    store = SqliteStore(tmp_path / "audit.db")
    diary = Diary(store)
    diary.ran(CLAUDE, "code/read", 145.0)
    diary.failed(CLAUDE, "code/read", 155.0, "No such file or folder: a.py")
    diary.refused("teacher", "code/edit")
    yield diary
    store.close()


def test_the_command_finds_the_store_and_counts_what_is_asked_for(run: Runner, database: Diary, tmp_path: Path) -> None:
    done = run("stats", "--as", CLAUDE, "--period", "1hour", "--store", str(tmp_path / "audit.db"))
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Claude Assistant - Last hour\n━")
    assert "Total Tool Calls: 2\nSuccess Rate: 50.0%\nAvg Execution: 150ms  (p95 155ms)\n" in done.out
    assert "1. code/read  ████████████████████  (2 calls, 50% success, 150ms avg)\n" in done.out
    assert "1x code/read: No such file or folder: a.py\n" in done.out
    assert "teacher" not in done.out
    (tmp_path / "rightcall.toml").write_text('[audit]\npath = "audit.db"\n')
    assert "Total Tool Calls: 3  (2 ran, 1 refused)\n" in run("stats", "--root", str(tmp_path)).out


def test_json_has_the_whole_and_the_design_s_shape(run: Runner, database: Diary, tmp_path: Path) -> None:
    found = run("stats", "--store", str(tmp_path / "audit.db"), "--json").json
    assert list(found) == ["analytics", "metrics", "toolAnalytics"]
    assert found["analytics"]["total_calls"] == 3
    assert found["analytics"]["refusals"] == {"allowlist": 1}
    assert found["analytics"]["tool_breakdown"]["code/read"] == {
        "calls": 2, "success_rate": 50.0, "avg_time": 150.0, "p95": 155.0
    }  # fmt: skip
    assert sorted(found["analytics"]["callers"]) == [CLAUDE, "teacher"]
    assert [(one["name"], one["met"]) for one in found["metrics"]] == [
        ("Tool Adoption", None),
        ("Investigation Depth", None),
        ("Diagnosis Accuracy", None),
        ("Tool Success Rate", False),
        ("Response Time", True),
        ("Rate Limit Hits", True),
        ("Security Violations", True),
    ]
    assert sorted(found["toolAnalytics"]) == ["period", "personaId", "personaName", "stats", "toolBreakdown"]
    assert found["toolAnalytics"]["stats"]["totalCalls"] == 3


def test_a_missing_store_and_a_wrong_period_are_told_apart(run: Runner, tmp_path: Path) -> None:
    missing = run("stats", "--root", str(tmp_path))
    assert (missing.code, missing.out) == (2, "")
    assert "nothing is recorded there yet" in missing.err
    assert list(tmp_path.iterdir()) == []
    wrong = run("stats", "--period", "1month")
    assert (wrong.code, wrong.out) == (2, "")
    assert "invalid value `1month` for `--period`: expected 1hour" in wrong.err


def test_a_file_of_somebody_else_is_left_as_it_was(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_bytes(b"no database at all" * 200)
    found = run("stats", "--store", str(tmp_path / "notes.db"))
    assert (found.code, "no database" in found.err) == (2, True)
    assert [one.name for one in tmp_path.iterdir()] == ["notes.db"]


def test_names_and_files_that_cannot_be_are_refused(run: Runner, database: Diary, tmp_path: Path) -> None:
    store = ("--store", str(tmp_path / "audit.db"))
    assert "`--as`: the name is not UTF-8 text" in run("stats", *store, "--as", "\udcff").err
    assert "`--store`: expected a file" in run("stats", "--store", "").err
    told = run("stats", *store, "--value", "--since", "2999-01-01")
    assert (told.code, told.err) == (2, "error: `--since` lies in the future\n")
    assert "invalid value ''" in run("stats", *store, "--value", "--since", "").err


def test_watching_shows_what_is_recorded_meanwhile_and_ends_with_an_interrupt(database: Diary, tmp_path: Path) -> None:
    process = start("stats", "--store", str(tmp_path / "audit.db"), "--watch", "--json")
    assert process.stdout
    assert json.loads(process.stdout.readline())["analytics"]["total_calls"] == 3
    database.ran(CLAUDE)
    assert json.loads(process.stdout.readline())["analytics"]["total_calls"] == 4
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, b"")


def test_a_stream_without_blocks_gets_ascii(database: Diary, tmp_path: Path) -> None:
    process = start("stats", "--store", str(tmp_path / "audit.db"), PYTHONIOENCODING="ascii")
    out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, b"")
    assert b"1. code/read  ####################  (2 calls, 50% success, 150ms avg)" in out
    assert b"\\u" not in out


NAME = st.one_of(st.sampled_from(["code/read", "漢字" * 20, "x" * 90, "a b"]), st.text(min_size=1, max_size=40))
CALL = st.tuples(NAME, NAME, st.sampled_from(["ran", "failed", "refused"]), st.floats(0, 1e7), NAME)


@given(st.lists(CALL, min_size=1, max_size=15), st.integers(40, 120))
def test_no_line_is_wider_than_the_terminal(calls: list[tuple[str, str, str, float, str]], width: int) -> None:
    diary = Diary()
    for caller, tool, kind, time, text in calls:
        if kind == "ran":
            diary.ran(caller, tool, time)
        elif kind == "failed":
            diary.failed(caller, tool, time, text)
        else:
            diary.refused(caller, tool, text)
    for caller in (None, calls[0][0]):
        lines = shown(diary, width, caller).split("\n")
        assert [line for line in lines if visible_width(line) > width] == []
        assert all(line.isprintable() for line in lines)


def test_more_than_ten_tools_and_five_errors_are_counted() -> None:
    diary = Diary()
    for number in range(12):
        diary.failed("ada", f"tool{number}", error=f"error {number}")
    text = shown(diary, 100, None)
    assert "and 2 more tools; --json has them all" in text
    assert "and 7 more errors; --json has them all" in text


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


class Enough(Exception):
    """Ends a watch."""


def watched(stream: io.StringIO, looks: list[list[str]]) -> str:
    coming = iter(looks)
    waited: list[float] = []

    def pause(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == len(looks):
            raise Enough

    with pytest.raises(Enough):
        watch(lambda: next(coming), stream, pause)
    assert set(waited) == {2.0}
    return stream.getvalue()


def test_watching_draws_each_look_in_the_place_of_the_last() -> None:
    assert watched(Screen(), [["a", "b"], ["c"]]) == "\x1b[2J\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J\x1b[Hc\x1b[K\n\x1b[J"


def test_watching_into_a_pipe_writes_one_after_the_other() -> None:
    assert watched(io.StringIO(), [["a", "b"], ["c", "d"]]) == "a\nb\n\nc\nd\n"
    assert watched(io.StringIO(), [["{}"], ["{}"]]) == "{}\n{}\n"


def test_bars_are_exact_to_an_eighth_and_nothing_that_counts_is_invisible() -> None:
    assert [bar(value, 16, 2) for value in range(6)] == ["", "▏", "▎", "▍", "▌", "▋"]
    assert (bar(16, 16, 2), bar(99, 16, 2), bar(1, 10**9, 2), bar(0, 0, 2)) == ("██", "██", "▏", "")
    assert (bar(1, 10**9, 20, ASCII), bar(1, 2, 20, ASCII)) == ("#", "#" * 10)


@given(st.integers(0, 1000), st.integers(1, 1000), st.integers(1, 40))
def test_a_bar_never_leaves_its_room(value: int, most: int, width: int) -> None:
    for signs in (BLOCKS, ASCII):
        drawn_bar = bar(value, most, width, signs)
        assert len(drawn_bar) <= width
        assert (drawn_bar == "") is (value == 0)


def test_levels_show_the_least_call_and_keep_the_ground_for_none() -> None:
    assert levels([0, 1, 1000]) == "▁▂█"
    assert levels([0, 0]) == "▁▁"
    assert levels([0, 1, 7], ASCII) == "_.#"
    assert levels([]) == ""


def test_a_chart_puts_its_text_below_where_there_is_no_room() -> None:
    rows = [Row("one", 2, "two calls"), Row("three", 1, "one")]
    assert chart(rows, Style(width=24), BLOCKS) == ["one    ██████  two calls", "three  ███     one"]
    assert [line.rstrip() for line in chart(rows, Style(width=16), BLOCKS, indent=1)] == [
        "one    █████████",
        " two calls",
        "three  ████▌",
        " one",
    ]
    assert chart([], Style(), BLOCKS) == []


def test_texts_are_cut_by_columns_and_say_so() -> None:
    assert fit_columns("漢字漢字", 8) == "漢字漢字"
    assert fit_columns("漢字漢字", 7) == "漢字漢…"
    assert fit_columns("abcdef", 3, ASCII) == "ab~"


@pytest.mark.parametrize(("encoding", "signs"), [("utf-8", BLOCKS), ("ascii", ASCII), ("latin-1", ASCII)])
def test_blocks_are_used_only_where_the_stream_can_carry_them(encoding: str, signs: object) -> None:
    assert signs_for(io.TextIOWrapper(io.BytesIO(), encoding=encoding)) is signs


def test_rounding_never_claims_all_or_nothing() -> None:
    assert [percent(value) for value in (0.0, 0.01, 50.04, 99.97, 100.0)] == [
        "0.0%",
        "0.1%",
        "50.0%",
        "99.9%",
        "100.0%",
    ]
    assert [percent(value, 0) for value in (0.2, 99.7, 100.0)] == ["1%", "99%", "100%"]
    assert percent(None) == "-"


def test_times_take_few_characters() -> None:
    times = [0.04, 9.94, 10.0, 1999.6, 10_000.0, 4_000_000.0]
    assert [duration(time) for time in times] == ["0.0ms", "9.9ms", "10ms", "2000ms", "10.0s", "4,000.0s"]


WIDE = """\
Claude Assistant - Last 24h
━━━━━━━━━━━━━━━━━━━━━━━━━━━━
Total Tool Calls: 104  (98 ran, 6 refused, 5 of them by limits)
Success Rate: 89.4%  (of those that ran 94.9%)
Avg Execution: 273ms  (p95 512ms)
32,900 tokens, 10 cached, 1 interrupted, 1 waited for a person
Each hour: ▁▁▁▁▁▁▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▃▄█

Top Tools:
1. code/read    ████████████████████  (53 calls, 87% success, 145ms avg)
2. code/search  ███████████▊          (31 calls, 90% success, 512ms avg)
3. code/diff    ███████▏              (19 calls, 100% success, 201ms avg)
4. code/blame   ▍                     (1 call, 0% success)

Refusals by Rule:
limit:tool:minute  ████████████████████  5
path:outside       ████                  1

Repairs by Strategy:
structure   ████████████████████  5
python_ast  ████████              2

Repairs by Tool:
code/read    ████████████████████  (53 calls, 9% repaired)
code/search  █████████████▋        (31 calls, 6% repaired)

Errors:
3x code/search: regex: look-around is not possible
1x code/read: no reason given

Success Metrics:
✗ Tool Adoption          50.0%  >50%  miss          1 of 2 messages used tools
✓ Investigation Depth       47  3+    pass          47 calls in 1 debugging task
– Diagnosis Accuracy         –  >70%  not reported  the host has to call note_diagnosis
✓ Tool Success Rate      94.9%  >90%  pass          93 of 98 calls that ran succeeded
✓ Response Time          273ms  <2s   pass          mean of 97 calls
✓ Rate Limit Hits         4.8%  <5%   pass          5 of 104 calls refused by a limit
✓ Security Violations        0  0     pass          0 let through, 1 refused by path rules (1
                                                    outside the root)"""

NARROW = """\
Claude Assistant - Last 24h
━━━━━━━━━━━━━━━━━━━━━━━━━━━━
Total Tool Calls: 104
  (98 ran, 6 refused, 5 of them by
  limits)
Success Rate: 89.4%
  (of those that ran 94.9%)
Avg Execution: 273ms  (p95 512ms)
32,900 tokens, 10 cached, 1 interrupted,
1 waited for a person
Each hour: ▁▁▁▁▁▁▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▃▄█

Top Tools:
1. code/read    ████████████████████
   (53 calls, 87% success, 145ms avg)
2. code/search  ███████████▊
   (31 calls, 90% success, 512ms avg)
3. code/diff    ███████▏
   (19 calls, 100% success, 201ms avg)
4. code/blame   ▍
   (1 call, 0% success)

Refusals by Rule:
limit:tool:minute  ██████████████████  5
path:outside       ███▋                1

Repairs by Strategy:
structure   ████████████████████  5
python_ast  ████████              2

Repairs by Tool:
code/read    ████████████████████
  (53 calls, 9% repaired)
code/search  █████████████▋
  (31 calls, 6% repaired)

Errors:
3x code/search: regex: look-around is
   not possible
1x code/read: no reason given

Success Metrics:
✗ Tool Adoption: miss
  50.0%, target >50%
  1 of 2 messages used tools
✓ Investigation Depth: pass
  47, target 3+
  47 calls in 1 debugging task
– Diagnosis Accuracy: not reported
  target >70%
  the host has to call note_diagnosis
✓ Tool Success Rate: pass
  94.9%, target >90%
  93 of 98 calls that ran succeeded
✓ Response Time: pass
  273ms, target <2s
  mean of 97 calls
✓ Rate Limit Hits: pass
  4.8%, target <5%
  5 of 104 calls refused by a limit
✓ Security Violations: pass
  0, target 0
  0 let through, 1 refused by path rules
  (1 outside the root)"""

EVERYONE_IN_ASCII = """\
All Callers - Last 24h
============================
Total Tool Calls: 106  (99 ran, 7 refused, 5 of them by limits)
Success Rate: 88.7%  (of those that ran 94.9%)
Avg Execution: 270ms  (p95 512ms)
32,900 tokens, 10 cached, 1 dry run, 1 interrupted, 1 waited for a person
Each hour: ______...............:-#

Top Tools:
1. code/read    ####################  (53 calls, 87% success, 145ms avg)
2. code/search  ############          (31 calls, 90% success, 512ms avg)
3. code/diff    #######               (19 calls, 100% success, 201ms avg)
4. code/blame   #                     (1 call, 0% success)
5. code/edit    #                     (1 call, 0% success)
6. file/save    #                     (1 call, 100% success, 0.2ms avg)

Callers:
claude-assistant  ####################  (104 calls, 89% success, 273ms avg)
teacher           #                     (2 calls, 50% success, 0.2ms avg)

Refusals by Rule:
limit:tool:minute  ####################  5
allowlist          ####                  1
path:outside       ####                  1

Repairs by Strategy:
structure   ####################  5
python_ast  ########              2

Repairs by Tool:
code/read    ####################  (53 calls, 9% repaired)
code/search  ##############        (31 calls, 6% repaired)

Errors:
3x code/search: regex: look-around is not possible
1x code/read: no reason given

Success Metrics:
x Tool Adoption          50.0%  >50%  miss
  1 of 2 messages used tools
+ Investigation Depth       47  3+    pass
  47 calls in 1 debugging task
- Diagnosis Accuracy         -  >70%  not reported
  the host has to call note_diagnosis
+ Tool Success Rate      94.9%  >90%  pass
  94 of 99 calls that ran succeeded
+ Response Time          270ms  <2s   pass
  mean of 98 calls
+ Rate Limit Hits         4.7%  <5%   pass
  5 of 106 calls refused by a limit
+ Security Violations        0  0     pass
  0 let through, 1 refused by path rules (1 outside the root)"""


# ── what it was worth ────────────────────────────────────────────────────────────────────────────────────────────


def test_value_is_told_between_two_bounds_and_as_json(run: Runner, tmp_path: Path) -> None:
    with Executor.open_sync(tmp_path, tools=[forecast]) as executor:
        for arguments in ({"city": "Bern"}, "{'city': 'Bern'}", {"City": "Bern"}):
            executor.run({"name": "forecast", "arguments": arguments}, "ann")
    shown = run("stats", "--value", "--root", str(tmp_path))
    assert "would have failed: 1 to 2 of 3" in shown.out
    assert "estimate" in shown.out
    told = run("stats", "--value", "--root", str(tmp_path), "--json").json["value"]
    assert (told["total"]["at_least"], told["total"]["at_most"]) == (1, 2)
    assert "No calls" in run("stats", "--value", "--as", "eve", "--root", str(tmp_path)).out


def test_since_belongs_to_value(run: Runner, tmp_path: Path) -> None:
    assert "--value" in run("stats", "--since", "3d", "--root", str(tmp_path)).err
    assert "--value" in run("stats", "--prompt-tokens", "9", "--root", str(tmp_path)).err
    mixed = run("stats", "--value", "--period", "1hour", "--root", str(tmp_path))
    assert (mixed.code, "pass `--since`" in mixed.err) == (2, True)
