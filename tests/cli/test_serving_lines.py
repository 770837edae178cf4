"""What the server says on standard error: never in anybody's way, and never a secret."""

import io
import logging
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from rightcall.base.secrets import Redactor
from rightcall.cli.serve import Lines, lines_and_log, teller
from rightcall.cli.terminal import Style
from rightcall.proxy.gates import Did
from rightcall.server.recording import Facts
from rightcall.types import Call, Problem, Repair, Verdict

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
    assert "nobody read these lines for a while: 49" in told[1]
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


def told(*did: Did, fault: str = "") -> str:
    stream = io.StringIO()
    lines = Lines(stream)
    tell = teller(lines, Style(), lambda: Redactor(b"key", ["pet"]))
    tell(Facts("openai-chat", "local", did=list(did), fault=fault))
    lines.close(timeout=20)
    return stream.getvalue()


KEY = "sk-proj-0123456789abcdefghijklmn"


def test_secrets_are_hidden_on_the_terminal_as_in_the_audit() -> None:
    arguments = {"api_key": KEY, "password": "hunter2", "pet": "Rex the dog", "days": 3}
    repairs = tuple(Repair(name, [value], value, "structure", "types.unwrap", 0.9) for name, value in arguments.items())
    text = told(Did("repaired", Verdict(True, Call("login", arguments), repairs=repairs[:3]), "login", "{}"))
    assert text.startswith("  repaired login  api_key")
    for secret in (KEY, "hunter2", "Rex"):
        assert secret not in text
    shown = told(Did("repaired", Verdict(True, Call("login", arguments), repairs=repairs[3:]), "login", "{}"))
    assert shown == "  repaired login  days [3] → 3\n"
    problem = Problem("type", "password", "password must be a number, not hunter2")
    left = told(Did("left", Verdict(False, None, problems=(problem,), found=Call("login", arguments)), "login", "{}"))
    assert left.startswith("  left login  password")
    assert "hunter2" not in left


def test_a_fault_of_our_own_is_not_called_the_upstreams() -> None:
    assert told(fault="timeout") == "  upstream timeout\n"
    assert told(fault="internal") == "  request failed in RightCall itself\n"
    assert told(fault="refused") == "  request refused: it cannot be passed on\n"
    assert told(fault="gone") == ""


def test_an_answer_of_very_many_calls_takes_a_screen_at_most() -> None:
    one = Did("lifted", Verdict(True, Call("add", {})), "add", "{}")
    lines = told(*[one] * 5_000).splitlines()
    assert (len(lines), lines[-1]) == (21, "  … and 4980 more calls")
