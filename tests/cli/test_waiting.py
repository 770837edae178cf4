"""Who waits at a terminal sees what is being done; in a pipe nothing of it is left."""

import sys
from io import StringIO
from threading import Event, active_count

import pytest

from rightcall.cli import doctor, init
from rightcall.cli.persons import waiting

pytestmark = pytest.mark.promise("H-02")


class Screen(StringIO):
    """A terminal that says when something is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        done = super().write(text)
        self.written.set()
        return done


def watching(monkeypatch: pytest.MonkeyPatch) -> Screen:
    found = Screen()
    monkeypatch.setattr(sys, "stderr", found)
    return found


def test_the_line_is_shown_while_the_work_goes_on_and_is_gone_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = watching(monkeypatch)
    with waiting(lambda seconds: f"working {seconds:.0f} s", every=0.001):
        assert screen.written.wait(60)
    shown = screen.getvalue()
    assert shown.startswith("\r\x1b[Kworking 0 s")
    assert shown.endswith("\r\x1b[K")


def test_it_is_gone_after_an_error_too(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = watching(monkeypatch)
    before = active_count()
    with pytest.raises(KeyboardInterrupt), waiting(lambda _: "working"):
        raise KeyboardInterrupt
    assert (screen.getvalue(), active_count()) == ("\r\x1b[K", before)


def test_in_a_pipe_nothing_is_said_and_no_thread_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", StringIO())
    before = active_count()
    with waiting(lambda _: "working", every=0.0):
        assert active_count() == before
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]


def test_every_command_that_takes_long_has_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    from rightcall.doctor.doctor import Progress

    screen = watching(monkeypatch)
    doing = init.Doing()
    doing.at("writing the graph")
    assert doing.line(3.4) == "writing the graph … 3 s"
    watched = doctor.Watched()
    assert watched.line(1.0) == ""
    watched.at(Progress(2, 17, "one tool"))
    assert "2 of 17 questions  9 s  one tool" in watched.line(9.2)
    assert not screen.getvalue()
