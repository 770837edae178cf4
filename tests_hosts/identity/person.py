"""A person at a browser, without one: opens a link, follows redirects with cookies, logs in and agrees wherever a page
asks, and returns the page on which that ends."""

import re
from html.parser import HTMLParser
from typing import Any, NamedTuple
from urllib.parse import urljoin

import httpx

MOST_PAGES = 30
_ABORT = re.compile(r'href="([^"]+/abort)"')
AGREEING = ("allow", "accept", "yes", "continue", "sign")


class Page(NamedTuple):
    url: str
    status: int
    text: str


class Form:
    def __init__(self, attributes: dict[str, str | None]) -> None:
        self.action = attributes.get("action") or ""
        self.is_post = (attributes.get("method") or "get").lower() == "post"
        self.id = attributes.get("id") or ""
        self.values: dict[str, str] = {}
        self.buttons: list[tuple[str, str]] = []


class Forms(HTMLParser):
    """The forms of a page: what is filled in already, and the buttons that say something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[Form] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self.found.append(Form(given))
        elif tag in ("input", "button") and self.found and (name := given.get("name")):
            if tag == "button" or given.get("type") in ("submit", "button"):
                self.found[-1].buttons.append((name, given.get("value") or ""))
            elif given.get("type") != "checkbox":
                self.found[-1].values[name] = given.get("value") or ""


class Person:
    """Knows a name, and the password that is the same."""

    def __init__(self, name: str = "alice") -> None:
        self.name = name
        self._browser = httpx.Client(timeout=30, headers={"accept": "text/html"})
        self.visited: list[str] = []
        self._refuses = False

    def __enter__(self) -> "Person":
        return self

    def __exit__(self, *_: Any) -> None:
        self._browser.close()

    def open(self, url: str, *, code: str = "", until: str = "\n", reading: str = "\n") -> Page:
        """Until a page asks for nothing more, or until an address that begins so, which is not asked itself. `code` is
        what a device shows, if one does; at addresses that begin with `reading` no form is filled in."""
        answer = self._get(url)
        for _ in range(MOST_PAGES):
            if answer.is_redirect:
                target = urljoin(str(answer.url), answer.headers["location"])
                if target.startswith(until):
                    return Page(target, 0, "")
                answer = self._get(target)
            elif self._refuses and (abort := _ABORT.search(answer.text)):
                answer = self._get(urljoin(str(answer.url), abort[1]))
            elif str(answer.url).startswith(reading) or (form := _asking(answer)) is None:
                return Page(str(answer.url), answer.status_code, answer.text)
            else:
                answer = self._send(answer, form, code)
        raise AssertionError(f"it goes on and on: {self.visited[-5:]}")

    def refuse(self, url: str) -> Page:
        """The same, with a no at the page that asks whether the program may have what it wants."""
        self._refuses = True
        try:
            return self.open(url)
        finally:
            self._refuses = False

    def _get(self, url: str) -> httpx.Response:
        self.visited.append(url)
        return self._browser.get(url)

    def _send(self, page: httpx.Response, form: Form, code: str) -> httpx.Response:
        known = {"login": self.name, "username": self.name, "password": self.name, "user_code": code}
        values = {name: value or known.get(name, "") for name, value in form.values.items()}
        pressed = {name: value for name, value in form.buttons if _agrees(name) or _agrees(value)}
        if self._refuses or "abort" in pressed:
            pressed = {}
        url = urljoin(str(page.url), form.action)
        self.visited.append(url)
        return self._browser.post(
            url, data=values | pressed, headers={"origin": str(page.url.copy_with(raw_path=b"/"))[:-1]}
        )


def _agrees(word: str) -> bool:
    return word.lower().startswith(AGREEING)


def _asking(answer: httpx.Response) -> Form | None:
    if "html" not in answer.headers.get("content-type", ""):
        return None
    return next((form for form in Forms(answer.text).found if form.is_post and "logout" not in form.id), None)
