"""`[approvals] notify`: somebody is told that a question waits, by a command of theirs or by a post to their address.

They are told id, tool and caller, as JSON: never an argument, and nothing that would answer. A notice is sent beside
the call, once its question is stored; where that fails the call waits as before, and the log says so.
"""

import asyncio
import logging
import ssl
import subprocess
import threading
from time import monotonic
from typing import Final

from msgspec import json

from rightcall.base.http.answers import HttpError, read_address
from rightcall.base.http.client import Request, exchange
from rightcall.base.text import escaped
from rightcall.errors import ConfigError
from rightcall.policy.settings import Policy

SECONDS: Final = 5.0
"""For one notice. A command that takes longer is ended."""
_MOST: Final = 16
"""Notices under way at a time, in one process: who needs more of them looks into the inbox anyway."""
_LONGEST: Final = 200
_NAME: Final = "rightcall notice"

_log = logging.getLogger("rightcall")


def send(notify: str | tuple[str, ...], id: str, tool: str, caller: str) -> None:
    """Starts to tell, and returns at once."""
    body = json.encode({"id": id, "tool": escaped(tool, _LONGEST), "caller": escaped(caller, _LONGEST)})
    if len(_under_way()) >= _MOST:
        _log.warning("approvals.notify: %d notices are under way already, so nobody is told of %s", _MOST, id)
        return
    try:  # no daemon: a command of ours that ends now still sends it
        threading.Thread(target=_send, args=(notify, id, body), name=_NAME, daemon=False).start()
    except RuntimeError:
        _log.warning("approvals.notify: no thread could be started, so nobody is told of %s", id)


def warn_of_notices(policy: Policy) -> None:
    """For what runs long: whoever starts it learns now that nobody would be told, and not with the first question."""
    if problem := policy.settings.approvals.problem:
        _log.warning("approvals.notify: %s", escaped(problem, _LONGEST))


def finish(seconds: float = SECONDS) -> None:
    """Waits for what is under way, for a process that is about to end at once."""
    until = monotonic() + seconds
    for thread in _under_way():
        thread.join(max(until - monotonic(), 0))


def _under_way() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == _NAME]


def _send(notify: str | tuple[str, ...], id: str, body: bytes) -> None:
    try:
        if isinstance(notify, str):
            asyncio.run(_post(notify, body))
        else:
            _run(notify, body)
    except TimeoutError:
        _log.warning("approvals.notify took longer than %g s for %s and was ended", SECONDS, id)
    except (ConfigError, HttpError, OSError) as error:
        _log.warning("approvals.notify failed for %s: %s", id, escaped(str(error), _LONGEST))


def _run(command: tuple[str, ...], body: bytes) -> None:
    """The arguments as they stand, without a shell; what it prints is nobody's concern."""
    try:
        done = subprocess.run(
            command, input=body, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    if done.returncode != 0:
        raise OSError(f"the command exits with status {done.returncode}")


async def _post(url: str, body: bytes) -> None:
    address = read_address(url, "it must be an address", "such a key has no place in it")
    trust = ssl.create_default_context() if address.secure else None
    request = Request("POST", address.path or "/", [(b"content-type", b"application/json")], body)
    async with asyncio.timeout(SECONDS), exchange(address, request, trust) as answer:
        if not 200 <= answer.status < 300:
            raise OSError(f"{address.authority} answers with status {answer.status}")
