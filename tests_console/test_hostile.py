"""Hostile names and texts in a real browser: nothing of them is executed, and nothing hides in them (H-09)."""

import re
from typing import Any

import pytest

from console.test_pages import HOSTILE, NEVER, recorded
from rightcall.console.questions import text_lines
from rightcall.record.tables import CallBody, encode
from support.chromium import Page

MADE = "[document.scripts.length, document.querySelectorAll('iframe, img, object, embed, base, [onclick]').length]"


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def harmless(page: Page) -> str:
    """What a person reads there, once nothing has happened."""
    assert page.troubles() == []
    assert page.run(MADE) == [1, 0]
    assert page.run("document.title")  # nothing closed it, and no dialog keeps it from answering
    shown = page.text()
    assert not NEVER & set(shown)
    assert not NEVER & set(page.run("document.title"))
    return shown


@pytest.mark.promise("H-09")
def test_hostile_words_are_only_text_on_every_screen(desk: Any) -> None:
    calls = [recorded(desk.store, words) for words in HOSTILE]
    whole = recorded(desk.store, "\n".join(HOSTILE))
    for path in ("/", "/live", "/audit", "/tools", "/analytics?by=tool", f"/calls/{calls[0]}", f"/calls/{whole}"):
        harmless(desk.open(path))


@pytest.mark.promise("H-09")
def test_a_question_shows_every_hostile_word_whole(desk: Any) -> None:
    question = desk.ask({f"{number}": f"{words}\n{words}" for number, words in enumerate(HOSTILE)}, context=HOSTILE[0])
    shown = squeezed(harmless(desk.open(f"/inbox/{question}")))
    for words in HOSTILE:
        for line in text_lines(words):
            assert squeezed("".join(one.text for one in line.pieces)) in shown, ascii(words)


@pytest.mark.promise("H-09")
def test_a_live_row_with_hostile_words_comes_in_as_text(desk: Any) -> None:
    page = desk.open("/live")
    for words in HOSTILE[:8]:
        recorded(desk.store, words)
    page.wait("document.querySelectorAll('#calls li').length === 8")
    harmless(page)


@pytest.mark.promise("H-09")
def test_a_long_question_is_shown_to_its_end_and_pushes_nothing_aside(desk: Any) -> None:
    question = desk.ask({"path": "a.md", "content": "x" * 400_000 + "THE END"})
    desk.page.size(360, 740)
    page = desk.open(f"/inbox/{question}")
    assert "THE END" in harmless(page)
    assert page.run("document.documentElement.scrollWidth") == 360
    page.click("input[name=reason]")


@pytest.mark.promise("H-09")
def test_a_megabyte_in_a_record_and_endless_names_push_nothing_aside(desk: Any) -> None:
    body = CallBody("ada", "file/save", {"content": "x" * 1_000_000}, "d" * 64, "allow", "stage:full")
    large = desk.store.transact(lambda tables: tables.append("begin", 0, encode(body)))
    named = recorded(desk.store, "x" * 3000)
    desk.page.size(360, 740)
    for path in ("/", "/live", "/audit", "/tools", "/analytics", "/policy", f"/calls/{large}", f"/calls/{named}"):
        page = desk.open(path)
        harmless(page)
        assert page.run("document.documentElement.scrollWidth") == 360, path
