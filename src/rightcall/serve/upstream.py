"""The model's server, as `--upstream` names it: how paths join its address, and what to check when it fails."""

import ssl
from collections.abc import Sequence
from typing import Final

from rightcall.base.http.client import Client, HttpLimits, Incoming
from rightcall.base.http.errors import Fault, HttpError
from rightcall.serve.addresses import address_of, joined

_ADVICE: Final = {
    "unreachable": "is the model's server running, and is --upstream its address?",
    "tls": "does --upstream begin with the right one of http:// and https://, and is its certificate valid?",
    "broken": "is --upstream the address of an HTTP API, and what does the server's own log say?",
    "connect": "is it overloaded, or is a firewall between?",
    "first byte": "is the model still loading, or the prompt too long for it?",
    "between pieces": "does the model still run?",
}


class Upstream(Client):
    """`host` names it, `is_local` says whether it is this machine."""

    def __init__(self, url: str, limits: HttpLimits | None = None, *, trust: ssl.SSLContext | None = None) -> None:
        super().__init__(address_of(url), limits, trust=trust)
        self.host = self.address.host
        self.is_local = self.address.is_local

    async def send(self, method: str, path: str, headers: Sequence[tuple[bytes, bytes]], body: bytes = b"") -> Incoming:
        """`path` is path and query as the client sent them; `headers` are what `forwarded` left of its headers."""
        return await super().send(method, joined(self.address.path, path), headers, body)

    def error(self, fault: Fault) -> HttpError:
        return tell_upstream(self.host, fault)


def tell_upstream(host: str, fault: Fault) -> HttpError:
    """With what the user may check."""
    advice = _ADVICE.get(fault.code) or _ADVICE.get(fault.kind)
    return HttpError(host, fault, f": {advice}" if advice else "")
