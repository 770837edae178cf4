"""A connection to a server by its name. The name is looked up in a thread of its own: asyncio's threads are waited for
at the end of a program, and the system's lookup can hang for minutes."""

import asyncio
import socket
import ssl
from collections.abc import Sequence
from functools import partial
from ipaddress import ip_address

from rightcall.execute.own_thread import in_own_thread

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def connected(
    host: str, port: int, trust: ssl.SSLContext | None, limit: int, at: Sequence[str] | None = None
) -> Streams:
    """By the first of its addresses that answers: of those `at` which it is said to be, or else those that its name is
    looked up to. Raises OSError; UnicodeError for a name that DNS cannot have."""
    addresses = at if at is not None else await looked_up(host, port)
    failed: OSError = OSError(f"{host} has no address")
    for address in addresses:
        try:
            return await asyncio.open_connection(
                address, port, ssl=trust, server_hostname=host if trust is not None else None, limit=limit
            )
        except ssl.SSLError:  # somebody is there, who is not trusted
            raise
        except OSError as why:
            failed = why
    raise failed


async def looked_up(host: str, port: int) -> list[str]:
    """The addresses of a name; what is an address already is its own."""
    if _is_address(host):
        return [host]
    look = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    found = await asyncio.wrap_future(in_own_thread(look, "rightcall-lookup"))
    return list(dict.fromkeys(str(place[0]) for *_, place in found))


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
