"""`rightcall audit` and `rightcall stats` on calls that passed through the proxy: what was done, by whom, escaped."""

from pathlib import Path
from typing import Any

import pytest

from rightcall.cli.persons import BLOCKS
from rightcall.cli.stats import drawn, look
from rightcall.cli.terminal import Style
from rightcall.record.tables import CallBody, encode
from support.cli import Runner
from support.stores import Diary, opened

pytestmark = pytest.mark.promise("H-03", "A-07")

EVIL = "\x1b[31m\u202eevil"


def passed(diary: Diary, fate: str, **more: Any) -> None:
    about: Any = {"wire": "openai_chat", "model": "qwen3:4b", "provider": "local"} | more
    body = CallBody("proxy", "Read", {"file_path": "a.py"}, "d" * 64, "passed", f"proxy:{fate}", **about)
    diary.store.transact(lambda tables: tables.append("proxied", 0, encode(body)))


def write(diary: Diary) -> None:
    passed(diary, "right")
    passed(diary, "repaired", written="read_file", strategy="manual_repair", retries=1, taught=True)
    passed(diary, "left", reason=f"Missing: path. {EVIL}", strategy="failed", confidence=0.0, model=EVIL, written=EVIL)


@pytest.fixture
def db(tmp_path: Path) -> str:
    with opened("sqlite", tmp_path) as diary:
        write(diary)
    return str(tmp_path / "audit.db")


TAIL = """\
record  time (UTC)      status       caller  tool            took  what
     1  01-01 12:00:00  proxied      proxy   Read                  right: {"file_path": "a.py"}
     2  01-01 12:00:00  proxied      proxy   Read                  repaired from "read_file": {"fil…
     3  01-01 12:00:00  proxied      proxy   Read                  left from "\\u001b[31m\\u202eevil"…
"""


def test_tail_says_what_became_of_each(run: Runner, db: str) -> None:
    assert run("audit", "tail", "--store", db).out == TAIL
    assert (
        run("audit", "tail", "--status", "proxied", "-n", "1", "--store", db).out.splitlines()[1:]
        == TAIL.splitlines()[3:]
    )
    assert "No such call" in run("audit", "tail", "--status", "success", "--store", db).out
    for fate, line in (("repaired", 2), ("left", 3)):
        assert run("audit", "tail", "--status", fate, "--store", db).out.splitlines()[1:] == [TAIL.splitlines()[line]]
    assert "No such call" in run("audit", "tail", "--status", "lifted", "--store", db).out


def test_the_reason_for_a_call_that_was_left_begins_with_what_is_wrong(run: Runner, tmp_path: Path) -> None:
    with opened("sqlite", tmp_path) as diary:
        passed(diary, "left", reason="⚠️ Invalid Read call. Missing required fields: path. Example: {}")
    assert "  left: Missing required fields: p" in run("audit", "tail", "--store", str(tmp_path / "audit.db")).out


SHOWN = """\
record 2: Read for proxy, proxied
  when             2026-01-01 12:00:00.000 UTC
  model            qwen3:4b over openai_chat, asked again 1 time, told of the tools in its prompt
  arguments        {"file_path": "a.py"}
  name as written  read_file
  decision         passed by proxy:repaired; read by manual_repair, certain
  outcome          passed on to the client; the result is unknown here
"""


def test_show_tells_the_model_and_that_nobody_knows_what_came_of_it(run: Runner, db: str) -> None:
    assert run("audit", "show", "2", "--store", db).out.startswith(SHOWN)
    evil = run("audit", "show", "3", "--store", db).out
    assert "\\u001b[31m\\u202eevil over openai_chat" in evil
    assert "\x1b[31m" not in evil
    assert "\u202e" not in evil


STATS = """\
Total Tool Calls: 0  (3 more passed through the proxy)
Success Rate: -
"""
PASSED = """\
Through the Proxy:
3 calls, by model: qwen3:4b 2, \\u001b[31m\\u202eevil 1
left      ████████████████████  1
repaired  ████████████████████  1
right     ████████████████████  1

Repairs by Strategy:
failed         ████████████████████  1
manual_repair  ████████████████████  1
"""


@pytest.mark.promise("A-05")
def test_stats_have_a_section_of_their_own_for_them() -> None:
    diary = Diary()
    write(diary)
    text = "\n".join(drawn(diary.store.look(lambda tables: look(tables, "1day", None)), Style(width=100), BLOCKS))
    assert STATS in text
    assert PASSED in text
    nobody = diary.store.look(lambda tables: look(tables, "1day", "nobody"))
    assert "Callers in this period: proxy." in drawn(nobody, Style(width=100), BLOCKS)
