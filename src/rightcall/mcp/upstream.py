"""One server of the policy: started, kept open, started again when it ends, with a pause that grows.

    waiting ─▶ starting ─▶ ready ─▶ (it ends) ─▶ waiting, 0.5 s and then twice as long each time, at most 30 s

Whatever a server does, it is this server's calls alone that hear of it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Final, Literal, Protocol, cast

from msgspec import Raw, Struct, json

from rightcall.base.text import escaped
from rightcall.errors import RightCallError
from rightcall.mcp.messages import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    HANDSHAKE,
    STATELESS,
    VERSION_KEY,
    Answer,
    Era,
    fields,
    mapping,
    value,
)
from rightcall.mcp.session import (
    FORGOTTEN,
    Agreed,
    Cause,
    Link,
    LoginMissing,
    NotRunning,
    ServerGone,
    ServerSlow,
    Session,
)
from rightcall.policy.settings import Server

# ── the environment ──
# What a server that we start sees of our environment, and the names in a policy file that stand for a secret there.
#
# A server gets little: enough to find programs and its user's folders, and what `env` says. Keys that happen to be in
# our own environment are nobody's but ours. `${NAME}` in a value of `env` or `headers` is our variable of that name,
# so that no secret need stand in the policy file.

_PASSED = (
    "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
    "APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMFILES",
    "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE",
)  # fmt: skip
_NAME = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def environment(server: Server) -> dict[str, str]:
    """Of the server's process. Raises ServerGone for a variable that we do not have."""
    passed = {name: os.environ[name] for name in _PASSED if name in os.environ}
    return passed | filled(server.env, f"[servers.{server.name}] env")


def filled(values: Mapping[str, str], where: str) -> dict[str, str]:
    """The values, with `${NAME}` replaced."""

    def of(found: re.Match[str]) -> str:
        name = found[1]
        if name not in os.environ:
            raise ServerGone(f"{where} wants the environment variable {name}, which is not set")
        return os.environ[name]

    return {key: _NAME.sub(of, value) for key, value in values.items()}


# ── the greeting ──
# Finds out which era a server speaks, as clients do: greet it in the one, and in the other where it does not
# understand. Which comes first is the client's to say: a server that knows both is spoken to in the era of its client.

PROBING: Final = 2.0
"""Seconds after which the old way is tried as well, where a server says nothing to the new one: some never do, and some
are just slow to start. Clients wait longer than this for a server that starts."""
SHAKING: Final = 10.0
"""The same for the new way, where the old one came first: servers answer that, and most are just slow to start."""
_UNSUPPORTED: Final = -32022
Json = Mapping[str, Any]


class Hello(Struct, frozen=True):
    """How we present ourselves to a server."""

    info: Json
    capabilities: Json
    """For the handshake, and for requests that no client asked for. In the new era each request of a client brings its
    own."""
    era: Era = "new"
    """In which way the server is greeted first."""


async def greet(session: Session, hello: Hello, seconds: float, *, only: Era | None = None) -> Agreed:
    """Raises ServerGone and ServerSlow. `only` one era is tried where greeting in the other has ended the server."""
    agreed = await _greeted(session, hello, seconds, only)
    session.settle(agreed)
    if agreed.era == "old":
        session.notify("notifications/initialized")
    return agreed


async def _greeted(session: Session, hello: Hello, seconds: float, only: Era | None) -> Agreed:
    if only == "old":
        return await _handshaken(session, hello, seconds)
    if only == "new":
        return await _discovered(session, hello, seconds) or _stranger()
    return await (_new_first if hello.era == "new" else _old_first)(session, hello, seconds)


def _stranger() -> Agreed:
    raise ServerGone("it speaks no revision of the protocol that we do")


async def _new_first(session: Session, hello: Hello, seconds: float) -> Agreed:
    """Whichever it answers first; the new way where it answers that at once."""
    loop = asyncio.get_running_loop()
    asked = loop.create_task(_discovered(session, hello, seconds))
    shaken: asyncio.Task[Agreed] | None = None
    try:
        await asyncio.wait([asked], timeout=PROBING)
        if asked.done() and (agreed := asked.result()) is not None:
            return agreed
        shaken = loop.create_task(_handshaken(session, hello, seconds))
        await asyncio.wait([shaken] if asked.done() else [asked, shaken], return_when=asyncio.FIRST_COMPLETED)
        agreed = asked.result() if asked.done() else None
        if agreed is None and not _has_failed(shaken):  # to one that refuses the one, the other may be all it knows
            return await shaken
        agreed = agreed or await asked or await shaken
        await asyncio.wait([shaken], timeout=PROBING)
        if agreed.era == "new" and shaken.done() and not _has_failed(shaken):
            raise SpeaksBoth("it was slow to start, and answered in both eras")
        return agreed
    finally:
        await _dropped(asked, shaken)


class SpeaksBoth(ServerGone):
    """After a handshake a server takes no request without one: it is to be reached anew, in the new way alone."""


async def _old_first(session: Session, hello: Hello, seconds: float) -> Agreed:
    """The handshake where the server takes it; why it does not, where it knows neither way."""
    loop = asyncio.get_running_loop()
    shaken = loop.create_task(_handshaken(session, hello, seconds))
    asked: asyncio.Task[Agreed | None] | None = None
    try:
        await asyncio.wait([shaken], timeout=SHAKING)
        if shaken.done() and not _has_failed(shaken):
            return shaken.result()
        asked = loop.create_task(_discovered(session, hello, seconds))
        await asyncio.wait([asked] if shaken.done() else [asked, shaken], return_when=asyncio.FIRST_COMPLETED)
        if shaken.done() and not _has_failed(shaken):
            return shaken.result()
        return await asked or await shaken
    finally:
        await _dropped(shaken, asked)


def _has_failed(task: asyncio.Task[Agreed]) -> bool:
    return task.done() and task.exception() is not None


async def _dropped(*tasks: asyncio.Task[Any] | None) -> None:
    left = [task for task in tasks if task is not None]
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


def envelope_for(hello: Hello, version: str) -> dict[str, Any]:
    """The `_meta` of a request that no client asked for."""
    return {VERSION_KEY: version, CLIENT_KEY: hello.info, CAPABILITIES_KEY: hello.capabilities}


def headers_for(method: str, version: str, name: str | None = None) -> dict[str, str]:
    """What a request of the new era says beside its body, over HTTP."""
    headers = {"mcp-protocol-version": version, "mcp-method": method}
    return headers if name is None else {**headers, "mcp-name": name}


async def _discovered(session: Session, hello: Hello, seconds: float) -> Agreed | None:
    version = STATELESS[-1]
    for _ in range(2):
        params = {"_meta": envelope_for(hello, version)}
        headers = headers_for("server/discover", version)
        try:
            answer = await session.request("server/discover", params, seconds, headers=headers)
        except ServerSlow:
            return None
        if answer.result is not None:
            return _read_agreement(_object(answer.result), version)
        again = _offered(answer)
        if again is None:
            return None
        version = again
    return None


def _read_agreement(result: Json, version: str) -> Agreed | None:
    versions = result.get("supportedVersions")
    if not isinstance(versions, list) or version not in versions:
        return None
    return Agreed(
        "new", version, _part(result, "capabilities"), _server_info(result), _text(result.get("instructions"))
    )


def _offered(answer: Answer) -> str | None:
    """The revision to ask in instead; None to shake hands. Raises ServerGone where neither can help."""
    error = _object(answer.error)
    supported = _part(error, "data").get("supported")
    if error.get("code") != _UNSUPPORTED or not isinstance(supported, list):
        return None
    mutual = [one for one in STATELESS if one in supported]
    if mutual:
        return mutual[-1]
    if not any(one in supported for one in HANDSHAKE):
        raise ServerGone(
            f"it speaks only revisions of the protocol that we do not: {escaped(str(cast('Any', supported)), 200)}"
        )
    return None


async def _handshaken(session: Session, hello: Hello, seconds: float) -> Agreed:
    params = {
        "protocolVersion": HANDSHAKE[-1], "capabilities": hello.capabilities, "clientInfo": hello.info,
    }  # fmt: skip
    answer = await session.request("initialize", params, seconds)
    if answer.result is None:
        told = bytes(answer.error or b"").decode("utf-8", "replace")
        raise ServerGone(f"it refused the handshake: {escaped(told, 300)}")
    result = _object(answer.result)
    version = result.get("protocolVersion")
    if version not in HANDSHAKE:
        raise ServerGone(f"it speaks the revision {escaped(str(version), 40)} of the protocol, which we do not")
    return Agreed(
        "old", version, _part(result, "capabilities"), _part(result, "serverInfo"), _text(result.get("instructions"))
    )


def _server_info(result: Json) -> Json:
    return _part(_part(result, "_meta"), "io.modelcontextprotocol/serverInfo") or _part(result, "serverInfo")


def _object(raw: Raw | None) -> Json:
    return mapping(value(raw or b""))


def _part(found: Json, key: str) -> Json:
    return mapping(found.get(key))


def _text(found: Any) -> str:
    return found if isinstance(found, str) else ""


log = logging.getLogger("rightcall")

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
STARTING = 30.0
"""Seconds in which a server must have started and introduced itself."""
STEADY = 30.0
"""After so many seconds of life a server counts as one that works."""
PATIENCE = 2.0
"""A call waits for a server that is tried again within so many seconds; for another it is told why not."""

LOGIN_PAUSE: Final = 1.0
"""Seconds between two looks whether somebody has logged in. Until then nothing is sent."""

State = Literal["off", "starting", "ready", "waiting"]
Opening = Callable[[Server], Link]


class Joined(Protocol):
    """Who is told of what happens to a server."""

    async def joined(self, upstream: Upstream, session: Session) -> None:
        """It is there. Its tools are to be known before anybody calls one. Raises ServerGone and ServerSlow."""
        ...

    def left(self, upstream: Upstream, why: str) -> None: ...

    def asked(self, upstream: Upstream, method: str, params: Raw, cause: Cause | None) -> Awaitable[Answer]: ...

    def told(self, upstream: Upstream, method: str, params: Raw, cause: Cause | None) -> None: ...


class Upstream:
    """`open_link` makes the way to the server; `hello` says how we present ourselves to it."""

    def __init__(self, server: Server, open_link: Opening, hello: Hello, joined: Joined) -> None:
        self.name = server.name
        self.server = server
        self.state: State = "off"
        self.problem = ""
        """Why it is not there."""
        self.words = ""
        """What it wrote last to standard error, for the operator alone: it may tell of any caller's call."""
        self.starts = 0
        self._open_link = open_link
        self._hello = hello
        self._joined = joined
        self._session: Session | None = None
        self._change = asyncio.Event()
        self._is_tried = asyncio.Event()
        self._gone: asyncio.Future[str] | None = None
        self._pause = FIRST_PAUSE
        self._retry_at = 0.0
        self.awaits_login = False
        """It is there, and wants somebody to log in first."""
        self._sooner = asyncio.Event()
        self._began = 0.0
        self._only: Era | None = None
        """The era that is left where greeting it in the other has ended it: some servers take no question before the
        handshake, and some no handshake."""
        self._task: asyncio.Task[None] | None = None

    @property
    def session(self) -> Session | None:
        """The one that is open."""
        return self._session if self.state == "ready" else None

    def takes(self, server: Server | None) -> bool:
        """Take what the policy now says of it; False where it is to be stopped, or reached in another way."""
        now, before = server, self.server
        if now is None or not now.enabled:
            return False
        self.server = now
        return _way(now) == _way(before)

    @property
    def is_new(self) -> bool:
        """It starts for the first time, and has said nothing of itself yet."""
        return self.state == "starting" and not self._is_tried.is_set()

    async def tried(self, seconds: float) -> None:
        """Wait for the end of its first start, so long after it began at most. For another nobody else is to wait, but
        for a look whether somebody has logged in."""
        if self.awaits_login:
            with suppress(ServerGone):
                await self.ready(seconds)
            return
        left = self._began + seconds - asyncio.get_running_loop().time()
        if self._is_tried.is_set() or left <= 0:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(left):
                await self._is_tried.wait()

    def start(self) -> None:
        if self._task is None:
            self._began = asyncio.get_running_loop().time()
            self.state = "starting"
            self._task = asyncio.get_running_loop().create_task(self._keep(), name=f"mcp server {self.name}")

    async def ready(self, seconds: float = STARTING) -> Session:
        """The open session; waits for one that is about to open. Raises ServerGone."""
        self.start()
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        tried = self.starts
        while self.state != "ready" or self._session is None:
            left = until - loop.time()
            if self.state == "waiting" and self.awaits_login:
                if self.starts > tried:
                    raise LoginMissing(self.problem)
                self._sooner.set()  # somebody may have logged in just now
            elif left <= 0 or (self.state == "waiting" and self._retry_at - loop.time() > PATIENCE):
                raise NotRunning(self.told())
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._change.wait()
        return self._session

    def told(self) -> str:
        """Where it stands, for people and models."""
        if self.state == "starting":
            return "has not started yet"
        if self.awaits_login:
            return f"cannot be used: {self.problem}"
        again = max(0.0, self._retry_at - asyncio.get_running_loop().time())
        return f"is not running: {self.problem or 'it was not started'}. It is tried again in {again:.1f} seconds"

    async def aclose(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        self.state = "off"

    async def _keep(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            began, only = loop.time(), self._only
            self._enter("starting")
            self.words = ""
            session: Session | None = None
            failed = False
            try:
                session = Session(self._open_link(self.server), self)
                why = await self._one_life(session)
                failed = self.state == "starting"
            except ServerGone as gone:
                why = str(gone)
            finally:
                self._session = None
                if session is not None:
                    await _closed(session, failed)
            works = session is not None and session.has_answered
            if works or loop.time() - began > STEADY:
                self._pause = FIRST_PAUSE
            self.problem = why
            if (works and why == FORGOTTEN) or (only is None and self._only is not None):
                continue  # whoever waits for its first start waits for the other era too
            self._sooner.clear()
            looks = self.awaits_login and self.server.login == "person" and not self.server.brings_token
            pause = LOGIN_PAUSE if looks else self._pause  # a machine that is refused asks its provider each time
            self._retry_at = loop.time() + pause
            self._enter("waiting")
            self._joined.left(self, why)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._sooner.wait()
            self._pause = FIRST_PAUSE if looks else min(self._pause * 2, LONGEST_PAUSE)

    async def _one_life(self, session: Session) -> str:
        """From the start to the end of one session; why it has ended."""
        self.starts += 1
        self._gone = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(STARTING):
                await session.open()
                try:
                    await greet(session, self._hello, STARTING, only=self._only)
                except SpeaksBoth:
                    self._only = "new"
                    raise
                except LoginMissing:
                    raise
                except ServerGone:
                    self._only = None if self._only else "old" if self._hello.era == "new" else "new"
                    raise
                await self._joined.joined(self, session)
        except (ServerGone, ServerSlow) as gone:
            self.awaits_login = isinstance(gone, LoginMissing)
            return f"it {gone}" if isinstance(gone, ServerSlow) else str(gone)
        except TimeoutError:
            self.awaits_login = False
            return f"it did not introduce itself within {STARTING:g} seconds"
        except Exception as error:
            self.awaits_login = False
            log.exception("rightcall: the server %s could not be joined", self.name)
            return f"an error of ours ({type(error).__name__}); the log says more"
        self._session = session
        self.problem = ""
        self.awaits_login = False
        self._enter("ready")
        return await self._gone

    def _enter(self, state: State) -> None:
        self.state = state
        if state != "starting":
            self._is_tried.set()
        self._change.set()
        self._change = asyncio.Event()

    # what the session tells

    def asked(self, method: str, params: Raw, cause: Cause | None) -> Awaitable[Answer]:
        return self._joined.asked(self, method, params, cause)

    def told_by_server(self, method: str, params: Raw, cause: Cause | None) -> None:
        self._joined.told(self, method, params, cause)

    def lost(self, session: Session, why: str, words: str = "") -> None:
        self.words = words
        if session is self._session:  # from this moment on nobody is given it
            self._session = None
            self._retry_at = asyncio.get_running_loop().time() + self._pause
            self._enter("waiting")
        if self._gone is not None and not self._gone.done():
            self._gone.set_result(why)


def _way(server: Server) -> tuple[Any, ...]:
    """How a server is reached, and who we are there."""
    login = (
        server.login, server.client_id, server.client_secret_env, server.private_key, server.issuer, server.scopes,
        server.per_caller, server.token_env, server.token_command, server.assertion_file, server.exchange_url,
        server.exchange_client_id,
    )  # fmt: skip
    return server.command, server.url, dict(server.env), server.cwd, dict(server.headers), login


async def _closed(session: Session, failed: bool) -> None:
    try:
        await session.aclose(failed=failed)
    except Exception:
        log.exception("rightcall: an MCP server could not be closed")


# ── lists ──
# What a server offers, page by page.

PAGES: Final = 200
MOST: Final = 10_000
"""Entries of one list of one server."""
MOST_BYTES: Final = 32_000_000
"""Of all its pages; those after them are left out."""
_items = json.Decoder(list[Raw])


async def own_request(
    session: Session, hello: Hello, method: str, params: Mapping[str, Any], seconds: float | None
) -> Answer:
    """A request of the gateway's own, in the server's era."""
    agreed = session.agreed
    assert agreed is not None
    if agreed.era == "old":
        return await session.request(method, params, seconds)
    whole = {**params, "_meta": envelope_for(hello, agreed.version)}
    return await session.request(method, whole, seconds, headers=headers_for(method, agreed.version))


class ListRefused(Exception):
    """The server answers with an error where a list was asked for, or, where that is told too, with no list."""

    def __init__(self, answer: Answer, why: str = "the server has refused to list") -> None:
        super().__init__(why)
        self.answer = answer


async def listed_tools(session: Session, hello: Hello, seconds: float, most: int = MOST) -> list[Raw]:
    """None where the server has no such list. Raises what `listed` does else."""
    try:
        return await listed(session, hello, "tools/list", "tools", seconds, most)
    except ListRefused:
        return []


async def listed(
    session: Session, hello: Hello, method: str, key: str, seconds: float, most: int = MOST, *, strict: bool = False
) -> list[Raw]:
    """The entries of a list, over all its pages. Raises ListRefused where the server has no such list, ServerGone, and
    ServerSlow where all of them together take longer. `strict` raises ListRefused too where any page is an error or
    has no list, instead of leaving out that page and those after it."""
    try:
        async with asyncio.timeout(seconds):
            return await _walked(session, hello, method, key, seconds, most, strict)
    except TimeoutError:
        raise ServerSlow(f"did not list what it has within {seconds:g} seconds ({method})") from None


async def _walked(
    session: Session, hello: Hello, method: str, key: str, seconds: float, most: int, strict: bool
) -> list[Raw]:
    found: list[Raw] = []
    size = 0
    cursor: Any = None
    for _ in range(PAGES):
        params = {} if cursor is None else {"cursor": cursor}
        answer = await own_request(session, hello, method, params, seconds)
        if answer.result is None:
            if cursor is None or strict:
                raise ListRefused(answer, f"the server answered {method} with an error: {_error_told(answer)}")
            break
        size += len(bytes(answer.result))
        page = fields(answer.result)
        try:
            found += _items.decode(page.get(key, b"" if strict else b"[]"))
        except (RightCallError, ValueError, RecursionError):
            if strict:
                why = f"the server answered {method} without a list of {key}: expected `{key}` to be a JSON array"
                raise ListRefused(answer, why) from None
            break
        cursor = value(page.get("nextCursor", b""))
        if cursor is None or len(found) >= most or size > MOST_BYTES:
            break
    return found[:most]


def _error_told(answer: Answer) -> str:
    """The words and the code of an error; all of it where it has no words."""
    error = mapping(value(answer.error or b""))
    message, code = error.get("message"), error.get("code")
    if not isinstance(message, str) or not message.strip():
        return escaped(bytes(answer.error or b"").decode("utf-8", "replace"), 300)
    return escaped(message, 300) + (f" (code {code})" if isinstance(code, int) else "")
