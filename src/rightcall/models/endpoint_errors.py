"""Who is asked, and the sentences for when that fails: what was asked of whom, what came, what to do.

A sentence is made of the model's name, the host, numbers, the system's own words for a failed connection, and what the
server says, escaped and cut. The rest of the url, the key and the headers never stand in it: people put keys into all
of them, and servers repeat them.
"""

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from rightcall.base.http.addresses import Address
from rightcall.base.http.errors import CLOSER, Fault
from rightcall.errors import ModelError, ModelFault
from rightcall.parse.kinds import is_list, is_object
from rightcall.text.escape import escaped

MOST_BODY = 20_000_000
_LONGEST_NAME, _LONGEST_MESSAGE = 80, 300
_SHORTEST_SECRET = 6
"""A header of fewer characters is no key, and hiding it would blot out words."""

_TELLING = ("error", "message", "msg", "detail")
_DEEPEST = 10
"""Errors within errors that are looked into."""

_ADVICE = {
    400: "is the prompt too long for this model, or an option unknown to it?",
    401: "give the right key",
    403: "may this key use this model?",
    404: "does the server have this model, and does the url end as its documentation says, mostly in /v1?",
    405: "does the url end as the server's documentation says, mostly in /v1?",
    408: "is the server overloaded?",
    413: "ask with less text",
    429: "ask less often, or wait",
    503: "is the model still loading?",
}


class Whom(Struct, frozen=True):
    """The server, and the model there as far as it is known. `secrets` are taken out of whatever the server says."""

    address: Address
    model: str = ""
    secrets: tuple[str, ...] = ()

    def error(self, what: str, fault: ModelFault = "unreadable", status: int = 0) -> ModelError:
        name = escaped(self.model, _LONGEST_NAME) or "the model"
        return ModelError(f"asking {name} at {self.address.authority}: {what}", fault, status=status)

    def failed(self, fault: Fault) -> ModelError:
        """There is no whole answer."""
        match fault.code:
            case "unreachable":
                known = escaped(fault.told, 100)
                what = f"the server cannot be reached ({known}); does it run, and is the url right?"
                return self.error(what, "unreachable")
            case "unnamed":
                return self.error("its name cannot be looked up; is the url right?", "unreachable")
            case "untrusted":
                return self.error(
                    f"the server cannot be trusted or speaks no TLS ({escaped(fault.told, 100)}); does the url begin "
                    "with the right one of http:// and https://, and is the certificate valid?",
                    "tls",
                )
            case "not http" | "status":
                return self.error(
                    "what came back is not HTTP; is this the port of a model's server, and http:// right?"
                )
            case "large":
                what = f"the server sent {fault.told} of more than {fault.most:,} bytes, which is not read"
                return self.error(what, "too large")
            case _:
                return self.broken(fault.describe(CLOSER))

    def late(self, seconds: float) -> ModelError:
        return self.error(
            f"no whole answer within {round(seconds, 2):g} s; give it more seconds, or ask for fewer tokens", "timeout"
        )

    def broken(self, what: str) -> ModelError:
        return self.error(f"the server {what}; what does its own log say?")

    def refused(self, status: int, answer: Any, more: str = "") -> ModelError:
        """A status other than 200. `more` replaces the usual advice."""
        told = message_in(answer)
        said = f" and said “{self.safe(told)}”" if told else ""
        advice = more or _ADVICE.get(status, "what does its own log say?")
        return self.error(f"the server answered with the status {status}{said}; {advice}", "status", status)

    def complained(self, answer: Any, status: int = 200) -> ModelError:
        """An error where an answer should be."""
        told = self.safe(message_in(answer)) or "without a word why"
        return self.error(f"the server reported an error instead of an answer: “{told}”", "status", status)

    def safe(self, text: str) -> str:
        """What the server says, fit to show: keys are taken out before it is cut, since half a key is one too, and in
        small letters as well, which hosts have."""
        for secret in self.secrets:
            text = re.sub(re.escape(secret), "[key]", text, flags=re.IGNORECASE)
        return escaped(" ".join(text.split()), _LONGEST_MESSAGE)


def secrets_of(key: str | None, headers: Mapping[str, str]) -> tuple[str, ...]:
    """The longest first: one may be part of another."""
    held = {value for value in headers.values() if len(value) >= _SHORTEST_SECRET}
    held |= {word for value in held for word in value.split() if len(word) >= _SHORTEST_SECRET}
    return tuple(sorted(held | ({key} if key else set()), key=len, reverse=True))


def message_in(answer: Any, depth: int = _DEEPEST) -> str:
    """What an error says, in the shapes that servers give it: OpenAI's, Ollama's, FastAPI's, plain text.

    >>> message_in({"error": {"message": "no such model"}}), message_in({"detail": [{"msg": "Field required"}]})
    ('no such model', 'Field required')
    """
    if isinstance(answer, str):
        return "" if answer.lstrip()[:1] == "<" else answer.strip()  # a page for a browser says nothing in short
    if not depth:
        return ""
    if is_list(answer):
        return "; ".join(filter(None, (message_in(one, depth - 1) for one in answer[:3])))
    if is_object(answer):
        return next(filter(None, (message_in(answer.get(key), depth - 1) for key in _TELLING)), "")
    return ""
