"""What the server says on standard error: never in anybody's way, and never a secret."""

import io
import logging
import os
import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import pytest
from msgspec import json

from rightcall.base.secrets import Redactor
from rightcall.cli.serve import check_upstream
from rightcall.cli.serve_log import Form, Lines, lines_and_log, teller
from rightcall.proxy.gates import NO_ID, Did
from rightcall.server.recording import Facts
from rightcall.types import Call, Problem, Repair, Verdict
from support.scripted.server import ScriptedUpstream

pytestmark = pytest.mark.promise("H-03")

log = logging.getLogger("rightcall")


@contextmanager
def pipe() -> Generator[tuple[int, io.TextIOWrapper]]:
    """A pipe that is full: whoever writes waits until somebody reads."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    try:
        while True:
            os.write(writing, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(writing, True)
    with os.fdopen(writing, "w", encoding="utf-8") as stream:
        yield reading, stream


def test_the_log_is_shown_as_short_lines_while_the_server_runs_and_no_longer() -> None:
    stream = io.StringIO()
    with lines_and_log(stream):
        log.warning("rightcall: %d records", 3)
        log.error("nothing\x1b[31m works")
        log.info("not this")
        try:
            raise ValueError("an error of ours")
        except ValueError:
            log.exception("rightcall: a request failed")
    log.warning("nobody hears this")
    lines = stream.getvalue().splitlines()
    assert lines[:3] == ["rightcall: 3 records", r"rightcall: nothing\u001b[31m works", "rightcall: a request failed"]
    assert lines[3].startswith("Traceback")
    assert lines[-1] == "ValueError: an error of ours"
    assert "nobody" not in stream.getvalue()


def test_a_reader_that_does_not_read_holds_up_nobody_and_hears_what_it_missed() -> None:
    with pipe() as (reading, stream):
        lines = Lines(stream, most=10)
        for number in range(5_000):
            lines.say(f"line {number}")
        got: list[bytes] = []

        def read() -> None:
            while data := os.read(reading, 65_536):
                got.append(data)

        reader = threading.Thread(target=read)
        reader.start()
        lines.close(timeout=20)
        stream.close()
        reader.join()
        os.close(reading)
    told = b"".join(got).decode().lstrip("x").splitlines()
    assert told[0] == "line 0"
    assert " lines were left out: they came faster than they could be written" in told[1]
    assert len(told) in (11, 12, 13)  # ten that waited, the one in hand or not, and the count


def test_at_the_end_a_reader_that_does_not_read_is_not_waited_for() -> None:
    with pipe() as (reading, stream):
        lines = Lines(stream)
        lines.say("never read")
        lines.close(timeout=0.01)
        assert lines._thread.is_alive()  # close did not wait for it
        os.close(reading)  # which ends it


def test_a_reader_that_has_gone_breaks_nothing() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", encoding="utf-8") as stream:
        lines = Lines(stream)
        for _ in range(3):
            lines.say("gone")
        lines.close(timeout=20)
        assert not lines._thread.is_alive()


def test_a_closed_stream_and_a_line_that_cannot_be_made_break_nothing() -> None:
    stream = io.StringIO()
    lines = Lines(stream)
    lines.make(lambda: str(1 // 0), 1)
    lines.say("next")
    lines.close(timeout=20)
    assert stream.getvalue() == "rightcall: a line could not be made (ZeroDivisionError)\nnext\n"
    stream.close()
    closed = Lines(stream)
    closed.say("nowhere")
    closed.close(timeout=20)


NOON = 1_800_000_000.0
TIMED = Form(timed=True, now=lambda: NOON)
STAMP = datetime.fromtimestamp(NOON).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def told(*did: Did, form: Form = TIMED, **facts: Any) -> str:
    stream = io.StringIO()
    lines = Lines(stream, form=form)
    tell = teller(lines, lambda: Redactor(b"key", ["pet"]))
    tell(Facts("openai-chat", "local", did=list(did), **facts))
    lines.close(timeout=20)
    return stream.getvalue()


KEY = "sk-proj-0123456789abcdefghijklmn"
ADD = Call("add", {"n": 1})


def test_secrets_are_hidden_on_the_terminal_as_in_the_audit() -> None:
    arguments = {"api_key": KEY, "password": "hunter2", "pet": "Rex the dog", "days": 3}
    repairs = tuple(Repair(name, [value], value, "structure", "types.unwrap", 0.9) for name, value in arguments.items())
    did = Did("repaired", Verdict(True, Call("login", arguments), repairs=repairs[:3]), "login", "{}")
    assert told(did).startswith(f"{STAMP} repaired login: api_key")
    for text in (told(did), told(did, form=Form(timed=True, as_json=True))):
        for secret in (KEY, "hunter2", "Rex"):
            assert secret not in text
    shown = told(Did("repaired", Verdict(True, Call("login", arguments), repairs=repairs[3:]), "login", "{}"))
    assert shown == f"{STAMP} repaired login: days [3] → 3 [types.unwrap]\n"
    problem = Problem("type", "password", "password must be a number, not hunter2")
    left = told(Did("left", Verdict(False, None, problems=(problem,), found=Call("login", arguments)), "login", "{}"))
    assert left.startswith(f"{STAMP} left     login: password")
    assert "hunter2" not in left


def test_every_call_has_one_line_with_its_repairs_or_the_reason_why_it_was_left_alone() -> None:
    repairs = tuple(Repair(f"a{n}", str(n), n, "structure", "types.number", 0.9) for n in range(3))
    in_text = Call("add", {"n": 1}, origin="text")
    problem = Problem("missing", "n", "n is missing")
    lines = told(
        Did("right", Verdict(True, ADD), "add", "{}"),
        Did("repaired", Verdict(True, ADD, repairs=repairs), "Add", "{}"),
        Did("repaired", Verdict(True, ADD), "add", "{}", NO_ID),
        Did("lifted", Verdict(True, in_text), "add", "add(1)"),
        Did("left", Verdict(False, None, found=ADD, problems=(problem,)), "add", "{}"),
        Did("left", Verdict(True, ADD, truncated=True), "add", "{"),
        Did("left", Verdict(True, in_text), "add", "add(1)"),
        Did("unknown", Verdict(True, Call("fly", {})), "fly", "{}"),
        Did("repeated", Verdict(True, in_text), "add", "add(1)"),
        model="llama3.2", caller="teacher",
    ).splitlines()  # fmt: skip
    assert [line.removeprefix(STAMP).replace("(llama3.2, as teacher)", "*") for line in lines] == [
        " right    add *",
        ' repaired add *: a0 "0" → 0 [types.number]; a1 "1" → 1 [types.number]; a2 "2" → 2 [types.number]',
        " repaired add *: the call had no id of its own, so no client could answer it; it was given one",
        " lifted   add *: moved from the text to a tool call",
        " left     add *: n is missing; passed on unchanged",
        " left     add *: the answer ends before the call does; passed on unchanged",
        " left     add *: the request has no such tool; left in the text",
        " unknown  fly *: the request has no such tool; passed on unchanged",
        " repeated add *: the answer has the same native call; removed from the text",
    ]


def test_a_change_shows_the_whole_text_of_a_call_and_what_was_left_out() -> None:
    written = "{'n': 1, 'mood': 'good',}"
    repairs = (
        Repair("", written, {"n": 1}, "python_ast", "single_quotes", 1.0),
        Repair("", ": 1, 'mood': 'good',}", {"n": 1}, "python_ast", "trailing_comma", 1.0),
        Repair("mood", "good", None, "structure", "dropped_argument", 0.85),
    )
    line = told(Did("repaired", Verdict(True, ADD, repairs=repairs), "add", written))
    assert line == (
        f'{STAMP} repaired add: call {json.encode(written).decode()} → {{"n": 1}} [single_quotes, trailing_comma]; '
        'mood "good" left out [dropped_argument]\n'
    )


def test_a_call_is_told_how_often_the_model_was_asked_and_that_it_was_taught() -> None:
    assert told(Did("right", Verdict(True, ADD), "add", "{}"), model="m", retries=1, taught=True) == (
        f"{STAMP} right    add (m, asked again 1 time, tools in its prompt)\n"
    )


def test_where_nothing_may_change_no_line_says_that_anything_was() -> None:
    in_text = Call("add", {"n": 1}, origin="text")
    lines = told(
        Did("lifted", Verdict(True, in_text), "add", "add(1)"),
        Did("repeated", Verdict(True, in_text), "add", "add(1)"),
        observe=True,
    )
    assert lines == (
        f"{STAMP} would-lift add: would be moved from the text to a tool call; nothing was changed\n"
        f"{STAMP} repeated add: the answer has the same native call; nothing was changed\n"
    )


def test_a_call_of_many_megabytes_has_a_line_beside_others() -> None:
    long = Call("write", {"text": "x" * 6_000_000, "n": 1})
    repair = Repair("n", "1", 1, "structure", "number_text", 0.9)
    one = Did("repaired", Verdict(True, long, repairs=(repair,)), "write", "x" * 6_000_000)
    assert told(one, one, one) == f'{STAMP} repaired write: n "1" → 1 [number_text]\n' * 3


def test_what_a_model_wrote_can_neither_forge_a_line_nor_fill_the_screen() -> None:
    evil = f"x\n{STAMP} right paid\x1b[2J\u202e" + "y" * 1_000
    repairs = tuple(Repair(evil, evil, evil, "structure", evil, 0.9) for _ in range(500))
    for form in (TIMED, Form(timed=True, as_json=True)):
        did = Did("repaired", Verdict(True, Call(evil, {}), repairs=repairs), evil, "{}")
        text = told(did, form=form, model=evil, caller=evil)
        assert text.count("\n") == 1
        assert text[:-1].isprintable()
    line = told(did, model=evil)
    assert len(line) < 6_000
    assert "and 181 more repairs" in line


def test_as_json_every_entry_is_one_object_with_its_time() -> None:
    form = Form(timed=True, as_json=True, now=lambda: NOON)
    repair = Repair("n", "1", 1, "structure", "types.number", 0.9, "a number in quotes")
    line = told(Did("repaired", Verdict(True, ADD, repairs=(repair,)), "Add", "{}"), form=form, model="m", stream=True)
    got = json.decode(line)
    assert got["time"] == "2027-01-15T08:00:00.000+00:00"
    assert (got["event"], got["tool"], got["written"], got["model"], got["stream"]) == (
        "repaired", "add", "Add", "m", True,
    )  # fmt: skip
    (one,) = got["repairs"]
    assert (one["path"], one["before"], one["after"], one["rule"]) == ("n", "1", 1, "types.number")
    stream = io.StringIO()
    with lines_and_log(stream, form) as lines:
        log.warning("rightcall: something\nelse")
        log.warning("tool_validation_failed: add", extra={"event": "tool_validation_failed"})
        lines.say("finishing 1 request")
    entries = [json.decode(line) for line in stream.getvalue().splitlines()]
    assert [(one["event"], one["text"]) for one in entries] == [
        ("warning", "something\nelse"),
        ("note", "finishing 1 request"),
    ], "a refused call has a line of its own already"


def test_a_fault_of_our_own_is_not_called_the_upstreams() -> None:
    assert told(fault="timeout") == f"{STAMP} failed   request: the upstream did not answer in time\n"
    line = told(fault="broken", model="qwen3", upstream="localhost")
    assert line == f"{STAMP} failed   request (qwen3): localhost sent an answer that is broken or stops in the middle\n"
    assert (
        told(fault="internal")
        == f"{STAMP} failed   request: RightCall itself failed; the lines before this one say more\n"
    )
    assert told(fault="refused") == f"{STAMP} failed   request: it cannot be passed on, so it was refused\n"
    assert told(fault="gone") == ""


def test_an_answer_of_very_many_calls_takes_a_screen_at_most() -> None:
    one = Did("lifted", Verdict(True, Call("add", {})), "add", "{}")
    lines = told(*[one] * 5_000).splitlines()
    assert len(lines) == 21
    assert "… and 4980 more calls" in lines[-1]


def checked(url: str, *, quiet: bool = False) -> str:
    stream = io.StringIO()
    lines = Lines(stream, form=TIMED)
    check_upstream(url, lines, quiet=quiet).result(20)
    lines.close(timeout=20)
    return stream.getvalue().removeprefix(f"{STAMP} upstream ")


def test_at_the_start_it_is_said_whether_the_upstream_answers() -> None:
    with ScriptedUpstream() as upstream:
        where = upstream.address.removeprefix("http://")
        assert re.fullmatch(rf"{where} answers \(\d+ ms\)\n", checked(upstream.address))
        assert checked(upstream.address, quiet=True) == ""
    for quiet in (False, True):
        assert checked(upstream.address, quiet=quiet) == (
            f"{where} cannot be reached (Connection refused). Start it, or pass another address as `--upstream`; "
            "requests fail until it answers\n"
        )


@pytest.mark.parametrize(
    ("repairs", "end"),
    [(20, "a19 [types.number]"), (21, "a19 [types.number]; and 1 more repair"), (22, "and 2 more repairs")],
)
def test_so_many_repairs_are_named_and_the_rest_is_counted(repairs: int, end: str) -> None:
    made = tuple(Repair(f"a{n}", "", f"a{n}", "structure", "types.number", 0.9) for n in range(repairs))
    line = told(Did("repaired", Verdict(True, ADD, repairs=made), "add", "{}"))
    assert line.replace('"', "").endswith(f"{end}\n")
