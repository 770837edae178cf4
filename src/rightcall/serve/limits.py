"""How much, how many and how long, at both ends of the server. Every number can be set; these are the defaults."""

from msgspec import Struct

_MB = 1_000_000


class ServeLimits(Struct, frozen=True, kw_only=True):
    """What we wait for and take from clients."""

    connections: int = 1_000
    head_seconds: float = 10.0
    """From the first byte of a request, or from connecting, to the end of its head."""
    head_bytes: int = 64_000
    headers: int = 200
    body_bytes: int = 32 * _MB
    body_stall_seconds: float = 30.0
    """Without a single byte of a body that is still to come."""
    body_seconds: float = 120.0
    """For a whole body, and one second more for every kilobyte: the least pace we accept."""
    reader_stall_seconds: float = 120.0
    """In which a client takes nothing of an answer that is ready for it."""
    drain_bytes: int = 1 * _MB
    """How much of a refused body is still taken, so that the client reads the refusal before the connection ends."""
    drain_seconds: float = 2.0
    keep_alive_seconds: float = 65.0
    """For the next request on a connection: longer than clients keep theirs, so that it is they who close."""
    grace_seconds: float = 30.0
    """At a stop: how long requests that run may go on."""
