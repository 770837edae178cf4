"""Every screen in a real browser: it opens without a word of complaint, fits a phone, is dark where that is asked for,
reads without scripts, and axe-core finds nothing wrong with it."""

import re

import pytest

from rightcall.console.pages import PAGES
from support.busy_console import SCREENS, Busy, enter
from support.chromium import Chromium, Page

every_screen = pytest.mark.parametrize("screen", SCREENS)
TOO_WIDE = """[...document.querySelectorAll("main, main *")].filter(one => one.getBoundingClientRect().right > %d
    && document.documentElement.scrollWidth > %d).slice(0, 5).map(one => `${one.tagName}.${one.className}`)"""
OVERLAPS = """(() => {
    const clipped = (box, one) => {
        let {left, top, right, bottom} = box;
        for (let over = one; over; over = over.parentElement) if (getComputedStyle(over).overflow !== "visible") {
            const edge = over.getBoundingClientRect();
            [left, top] = [Math.max(left, edge.left), Math.max(top, edge.top)];
            [right, bottom] = [Math.min(right, edge.right), Math.min(bottom, edge.bottom)];
        }
        return {left, top, right, bottom};
    };
    const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT), boxes = [];
    const labelled = [...document.querySelectorAll("[data-label]")];
    const found = labelled.filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.dataset.label);
    for (let one = texts.nextNode(); one; one = texts.nextNode()) {
        const owner = one.parentElement, range = document.createRange();
        if (!one.data.trim() || !owner.checkVisibility() || owner.closest("svg, .unseen, option")) continue;
        range.selectNodeContents(one);
        const said = one.data.trim().slice(0, 30);
        boxes.push(...[...range.getClientRects()].map(box => [clipped(box, owner), owner, said]));
    }
    boxes.sort((one, other) => one[0].top - other[0].top);
    boxes.forEach(([box, owner, said], at) => {
        for (const [next, by, more] of boxes.slice(at + 1)) {
            if (next.top > box.bottom) break;
            const wide = Math.min(box.right, next.right) - Math.max(box.left, next.left);
            const high = Math.min(box.bottom, next.bottom) - Math.max(box.top, next.top);
            if (owner !== by && wide > 2 && high > 5) found.push(`${said} × ${more}`);
        }
    });
    return found.slice(0, 5);
})()"""
VIOLATIONS = """axe.run(document, {resultTypes: ["violations"]}).then(found => found.violations.flatMap(one =>
    one.nodes.slice(0, 3).map(node => `${one.id}: ${node.html.slice(0, 160)} ${node.any[0]?.message ?? ""}`)))"""
BY_SCRIPT = {"Pause", "Copy", "Turn", "desktop", "notices"}
"""What only a script can do is offered by one."""
MISSING = "Failed to load resource: the server responded with a status of 404"


def look(page: Page, busy: Busy, screen: str) -> None:
    page.open(busy.url(screen))
    page.wait("document.readyState === 'complete' && document.querySelector('h1')")


def test_a_link_logs_in_once(browser: Chromium, busy: Busy) -> None:
    link = busy.link()
    page = browser.page()
    page.open(link)
    assert "logs you in once" in page.text()
    page.loading(lambda: page.click("main button"))
    assert page.run("location.pathname") == "/"
    assert "Overview" in page.text("h1")
    assert page.run("document.cookie") == ""  # no script can read it
    assert page.troubles() == []
    other = browser.page()
    enter(other, link)
    assert other.run("location.pathname") != "/"


@every_screen
def test_it_opens_without_an_error_or_a_violation(page: Page, busy: Busy, screen: str) -> None:
    look(page, busy, screen)
    page.wait("document.getElementById('link').dataset.state === 'live'")  # its script runs
    found = [one for one in page.troubles() if not (screen == "missing" and one.startswith(MISSING))]
    assert found == []
    ours = (busy.address.origin + "/", "data:image/")  # the browser's own icons in a field for a date
    assert [one for one in page.requested if not one.startswith(ours)] == []
    for width in (2560, 1280, 768, 360):
        page.size(width)
        assert page.run(TOO_WIDE % (width, width)) == [], width
        page.run(
            "scrollTo(0, document.documentElement.scrollHeight)"
        )  # where a bar that stays in sight is in its place
        assert page.run(OVERLAPS) == [], width


def test_the_menu_of_a_phone_names_every_screen(page: Page, busy: Busy) -> None:
    page.size(360)
    look(page, busy, "/")
    shown = "[...document.querySelectorAll('#screens a > span')].filter(one => one.checkVisibility()).length"
    assert page.run(shown) == 0
    page.click(".menu")
    page.wait(f"{shown} === {sum(bool(one.path) for one in PAGES)}")
    page.loading(lambda: page.click("#screens a[href='/analytics']"))
    assert page.text("h1") == "Analytics"
    page.loading(lambda: page.click(".quick"))
    assert page.text("h1") == "Inbox"


@every_screen
def test_axe_finds_no_violation_in_light_nor_dark_on_a_phone(page: Page, busy: Busy, axe: str, screen: str) -> None:
    look(page, busy, screen)
    page.run(axe + ";0")
    colours = []
    for scheme, width in (("light", 1280), ("dark", 360)):
        page.prefer(scheme)
        page.size(width)
        colours.append(page.run("getComputedStyle(document.body).backgroundColor"))
        assert page.run(VIOLATIONS) == [], scheme
    assert colours[0] != colours[1]


@pytest.mark.parametrize("screen", ["/", "/inbox", "/live", "/audit", "/analytics", "/policy", "question", "call"])
def test_it_reads_without_scripts(page: Page, busy: Busy, screen: str) -> None:
    look(page, busy, screen)
    words = set(re.findall(r"[A-Za-z]{4,}", page.text("main")))
    page.without_scripts()
    page.reload()
    plain = set(re.findall(r"[A-Za-z]{4,}", page.text("main")))
    assert not page.run("document.getElementById('link').dataset.state === 'live'")
    assert words - plain - BY_SCRIPT == set()
