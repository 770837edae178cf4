"""When a server says that it is busy, and how long it wants to be left alone."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import urlsplit

from rightcall.base.http.addresses import header_of
from rightcall.base.http.client import Incoming
from rightcall.models.endpoint_errors import Whom

_BUSY: Final = frozenset({429, 503})
_SECONDS: Final = re.compile(r"\d{1,9}(?:\.\d{1,9})?\Z", re.ASCII)


def seconds_to_wait(response: Incoming) -> float | None:
    """What the server asks for; None: it does not say that asking again would help."""
    said = header_of(response.headers, b"retry-after").decode("latin-1")
    if response.status not in _BUSY or not said:
        return None
    if _SECONDS.match(said):
        return float(said)
    try:
        at = parsedate_to_datetime(said)
    except ValueError:
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def advice_to_wait(whom: Whom, response: Incoming, pause: float | None, left: float) -> str:
    """What to do instead, where the answer itself says it."""
    if pause is not None and pause >= left:
        return f"it is busy and asks for {pause:g} s of patience, which is more than this question has"
    if pause is not None:
        return "it was left alone for as long as it asked for, and is still busy; ask less often, or later"
    if 300 <= response.status < 400:
        host = _host(response)
        at = f" ({whom.safe(host)})" if host else ""
        return f"redirects are not followed, a key could go astray; use the address it points to{at}"
    return ""


def _host(response: Incoming) -> str:
    """The host alone: the rest may hold a key, as our own url may."""
    try:
        return urlsplit(header_of(response.headers, b"location").decode("latin-1")).hostname or ""
    except ValueError:
        return ""
