"""Tokens that the policy brings: from the environment, or from a program that prints one (`token_env`,
`token_command`). Nobody logs in for them, and they are kept nowhere."""

import asyncio
import os
from contextlib import suppress
from time import time
from typing import Final

from rightcall.base.http.answers import Answer, Headers
from rightcall.base.json.marks import is_object
from rightcall.base.json.strict import attempt
from rightcall.base.text import escaped
from rightcall.errors import IdentityError
from rightcall.identity import flows
from rightcall.identity.documents import text_at
from rightcall.policy.settings import Server

EARLY: Final = 30.0
"""Seconds before its end from which on a token is renewed."""
_MOST_BYTES: Final = 50_000
_COMMAND_SECONDS: Final = 30.0
_PLAIN_SECONDS: Final = 300.0
"""For which a token counts whose program does not say how long."""


def token_in(headers: Headers) -> str:
    sent = next((value for name, value in headers if name == b"authorization"), b"")
    return sent.partition(b" ")[2].decode("ascii")


class TokenAccess:
    """A token from the environment, or from a program (`token_env`, `token_command`)."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._token = ""
        self._until = 0.0
        self._asking = asyncio.Lock()

    async def headers(self, method: str = "POST") -> Headers:  # noqa: ARG002 # as `Access` has it
        """Raises IdentityError, which never repeats what a program printed."""
        if self._server.token_env:
            token = os.environ.get(self._server.token_env, "")
            if not token:
                name = self._server.token_env
                raise IdentityError(f"[servers.{self._server.name}] token_env: the variable {name} is not set")
        else:
            async with self._asking:
                if not self._token or time() > self._until - EARLY:
                    self._token, self._until = await self._printed()
                token = self._token
        if not flows.is_token(token):
            raise IdentityError(f"[servers.{self._server.name}]: its token is not one line of ASCII")
        return [(b"authorization", b"Bearer " + token.encode("ascii"))]

    async def refused(self, answer: Answer, sent: Headers, *, is_last: bool) -> bool:
        """Whether to send it again: a program is asked for another token, once. Raises IdentityError."""
        used = token_in(sent)
        if answer.status == 401 and self._server.token_command and not is_last:
            if used == self._token:
                self._token = ""
            if token_in(await self.headers()) != used:
                return True
        key = "token_env" if self._server.token_env else "token_command"
        if answer.status == 401:
            raise IdentityError(f"it does not accept the token of [servers.{self._server.name}] {key}")
        return False

    async def _printed(self) -> tuple[str, float]:
        where = f"[servers.{self._server.name}] token_command"
        try:
            process = await asyncio.create_subprocess_exec(
                *self._server.token_command, stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            )  # fmt: skip
        except (OSError, ValueError):
            raise IdentityError(f"{where}: {escaped(self._server.token_command[0], 100)} cannot be started") from None
        try:
            async with asyncio.timeout(_COMMAND_SECONDS):
                printed = await _read_some(process)
                code = await process.wait() if len(printed) <= _MOST_BYTES else 0
        except TimeoutError:
            raise IdentityError(f"{where}: it printed no token within {_COMMAND_SECONDS:g} s") from None
        finally:
            await _end(process)
        if len(printed) > _MOST_BYTES:
            raise IdentityError(f"{where}: it printed more than {_MOST_BYTES:,} bytes")
        if code:
            raise IdentityError(f"{where}: it ended with exit code {code}")
        return _read_printed(printed.decode("utf-8", "replace").strip(), where)


async def _read_some(process: asyncio.subprocess.Process) -> bytes:
    """All that it prints, or more than a token could be."""
    assert process.stdout is not None
    printed = b""
    while len(printed) <= _MOST_BYTES and (piece := await process.stdout.read(_MOST_BYTES)):
        printed += piece
    return printed


async def _end(process: asyncio.subprocess.Process) -> None:
    """Whatever it does; what it has started may hold its output open, and is not waited for."""
    assert process.stdout is not None
    with suppress(ProcessLookupError):
        process.kill()
    with suppress(TimeoutError):
        async with asyncio.timeout(2.0):
            while await process.stdout.read(_MOST_BYTES):
                pass
            await process.wait()


def _read_printed(text: str, where: str) -> tuple[str, float]:
    """A token alone, or JSON as providers answer it, and when it ends."""
    if not text.startswith("{"):
        return text, time() + _PLAIN_SECONDS + EARLY
    found = attempt(text)
    token = text_at(found, "access_token") or text_at(found, "token") if is_object(found) else ""
    if not token:
        raise IdentityError(f"{where}: it printed JSON without an access_token")
    return token, flows.end_of(found.get("expires_in")) or time() + _PLAIN_SECONDS + EARLY
