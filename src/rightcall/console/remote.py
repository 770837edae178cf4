"""A console on another machine, by its address: a person's own credential is exchanged for a login link there.

    rightcall console https://HOST:PORT ─▶ POST /login (the credential) ─▶ a link that logs in once

The credential goes to that address and nowhere else: over TLS, or to this machine. What the other side answers is
hostile until it proves to be a link: nothing else of it is shown.
"""

import asyncio
import re
import ssl
from typing import Final
from urllib.parse import urlencode

from msgspec import DecodeError, Struct, json

from rightcall.base.http.answers import Address, HttpError, header_of, read_address
from rightcall.base.http.client import Request, exchange
from rightcall.console.people import PREFIX
from rightcall.errors import ConfigError

ASKED_AS: Final = "application/json"
"""What a program accepts: the login page answers it with a link instead of a session."""
_SECONDS: Final = 15.0
_MOST: Final = 100_000
_SECRET: Final = re.compile(r"[A-Za-z0-9_-]{20,100}", re.ASCII)
_CREDENTIAL: Final = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{20,100}}", re.ASCII)


class Made(Struct, frozen=True):
    """What a console answers to a credential that is right."""

    link: str
    """The secret of the link."""


def read_console_address(url: str) -> Address:
    """Raises ConfigError for what is no address of a console, and where a credential would go there in the open."""
    address = read_address(url, "the address of a console is https://HOST:PORT", "the credential is asked for")
    if address.path:
        raise ConfigError("the address of a console is https://HOST:PORT: without a path")
    if not address.secure and not address.is_local:
        raise ConfigError(
            f"http://{address.authority} would carry your credential in the open. Use https://, or a tunnel: "
            f"`ssh -L {address.port}:127.0.0.1:{address.port} {address.host}`, then "
            f"`rightcall console http://127.0.0.1:{address.port}`"
        )
    return address


def is_credential(text: str) -> bool:
    """Whether it looks like one of a person; any other secret is not sent anywhere."""
    return bool(_CREDENTIAL.fullmatch(text))


def remote_link(address: Address, credential: str) -> str:
    """A login link of the console at an address. Raises ConfigError."""
    where = f"{'https' if address.secure else 'http'}://{address.authority}"
    try:
        status, kind, body = asyncio.run(_ask(address, where, credential))
    except TimeoutError:
        raise ConfigError(f"{where} gives no answer within {_SECONDS:g} seconds") from None
    except HttpError as fault:
        raise ConfigError(f"{fault}{_advice(fault)}") from None
    if status == 401:
        raise ConfigError(
            f"{where} does not accept this credential: it is wrong or revoked. "
            "Whoever runs that console makes a new one with `rightcall people add NAME`"
        )
    if status == 421:
        raise ConfigError(f"the console at {where} has another name: set `public_url` in its [console], or use that")
    if status == 200 and kind.startswith(ASKED_AS.encode()):
        try:
            made = json.decode(body, type=Made)
        except DecodeError:
            made = Made("")
        if _SECRET.fullmatch(made.link):
            return f"{where}/enter/{made.link}"
    raise ConfigError(
        f"{where} is not a console of RightCall (status {status}). The console has a port of its own: "
        "`rightcall console link` prints it on that machine"
    )


async def _ask(address: Address, where: str, credential: str) -> tuple[int, bytes, bytes]:
    headers = [
        (b"origin", where.encode()), (b"accept", ASKED_AS.encode()),
        (b"content-type", b"application/x-www-form-urlencoded"),
    ]  # fmt: skip
    request = Request("POST", "/login", headers, urlencode({"credential": credential}).encode(), _MOST)
    trust = ssl.create_default_context() if address.secure else None
    async with asyncio.timeout(_SECONDS), exchange(address, request, trust) as answer:
        return answer.status, header_of(answer.headers, b"content-type"), await answer.read_all()


def _advice(fault: HttpError) -> str:
    if fault.fault.code == "untrusted":
        return ". If the certificate is your own, name its file: SSL_CERT_FILE=FILE rightcall console …"
    return ". Is this the address of the console, and does it run?" if fault.kind == "unreachable" else ""
