"""What can go wrong with the model's server, told to the user: which host, what happened, what to check.

A sentence is made of the host, numbers and the system's own words for a failed connection. Nothing of the request
goes into it, and so no key.
"""

from typing import Literal

from rightcall.errors import RightCallError

UpstreamFault = Literal["unreachable", "tls", "timeout", "broken", "too_large"]
Phase = Literal["connect", "first byte", "between pieces"]


class UpstreamError(RightCallError):
    """The upstream gave no whole answer. `kind` says why in one word, `phase` what a timeout waited for."""

    def __init__(self, message: str, kind: UpstreamFault, *, host: str, phase: Phase | None = None) -> None:
        super().__init__(message)
        self.kind: UpstreamFault = kind
        self.host = host
        self.phase: Phase | None = phase


def unreachable(host: str, why: OSError) -> UpstreamError:
    told = why.strerror or type(why).__name__
    return UpstreamError(
        f"{host} cannot be reached ({told}): is the model's server running, and is --upstream its address?",
        "unreachable",
        host=host,
    )


def no_tls(host: str, why: str) -> UpstreamError:
    return UpstreamError(
        f"{host} cannot be trusted or does not speak TLS ({why}): does --upstream begin with the right one of "
        "http:// and https://, and is its certificate valid?",
        "tls",
        host=host,
    )


_WAITED: dict[Phase, str] = {
    "connect": "did not accept a connection within {} s: is it overloaded, or is a firewall between?",
    "first byte": "did not begin to answer within {} s: is the model still loading, or the prompt too long for it?",
    "between pieces": "stopped in the middle of its answer and was silent for {} s: does the model still run?",
}


def timed_out(host: str, phase: Phase, seconds: float) -> UpstreamError:
    return UpstreamError(f"{host} {_WAITED[phase].format(f'{seconds:g}')}", "timeout", host=host, phase=phase)


def broken(host: str, what: str) -> UpstreamError:
    return UpstreamError(
        f"{host} {what}: is --upstream the address of an HTTP API, and what does the server's own log say?",
        "broken",
        host=host,
    )


def too_large(host: str, what: str, most: int) -> UpstreamError:
    return UpstreamError(f"{host} sent {what} of more than {most:,} bytes, which is not taken", "too_large", host=host)
