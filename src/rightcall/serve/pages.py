"""Pages for people where an answer of a model should be: what a gateway or a wrong address sends."""

from __future__ import annotations

import html
import re

from rightcall.base.http.addresses import header_of
from rightcall.base.http.client import Incoming
from rightcall.base.http.errors import HttpError
from rightcall.text.escape import escaped

MOST = 256_000
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)


def is_page(incoming: Incoming) -> bool:
    kind = header_of(incoming.headers, b"content-type").partition(b";")[0].strip().lower()
    return kind in (b"text/html", b"application/xhtml+xml")


async def told_of_page(incoming: Incoming) -> str:
    """What to tell the client, with the title of the page."""
    try:
        page = (await incoming.read_all(MOST)).decode("utf-8", "replace")
    except HttpError:  # too long, or broken off: the rest says no more
        page = ""
    found = _TITLE.search(page)
    title = escaped(" ".join(html.unescape(found[1]).split()), 100) if found else "it has no title"
    status = incoming.status
    return f"the upstream answered with a web page (status {status}: {title}): is --upstream the address of an API?"
