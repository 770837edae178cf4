"""Where logins are kept: their secrets in the system's keyring, or in a file that only its owner can read.

    <state>/rightcall/logins/<digest>.json    one login: who, where, until when; its secrets, where there is no keyring
    <state>/rightcall/logins/<digest>.want    a login that is missing: which server asked, and for what
    <state>/rightcall/logins/<digest>.pin     who gives the logins of a server, since the first one
    <state>/rightcall/logins/<digest>.lock    held while one process gets new tokens

The state folder is one of RightCall's own files, which no call may touch. A login is known by its server's address and
its caller, and is used for nothing else. Several processes share it: whoever writes does so in one step, and under the
lock, so that a refresh token that can be used once is used once.
"""

import asyncio
import os
import stat
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from functools import lru_cache
from hashlib import sha256
from shlex import quote
from threading import Event
from time import monotonic, time
from typing import Any, Final, Literal, Protocol, TypeVar, cast

from msgspec import MsgspecError, Struct, json
from msgspec.structs import replace

from rightcall.base.files.guarded import plain_file, state_folder, take_lock, whole_file
from rightcall.base.http.client import in_own_thread
from rightcall.errors import IdentityError
from rightcall.identity.discovery import Provider, read_url
from rightcall.identity.registration import Client
from rightcall.policy.trust import others_may_write
from rightcall.policy.types import subject_in

Keeping = Literal["file", "keyring"]
Reason = Literal["login", "expired", "scopes", "issuer"]
_MOST_BYTES: Final = 200_000
_KEYRING_SECONDS: Final = 20.0
"""A keyring may ask its user to unlock it; a server that nobody sits at must not wait for ever."""
_CLEARING_SECONDS: Final = 2.0
"""For a keyring that did not take something just now."""
LOCK_SECONDS: Final = 60.0
_POLL: Final = 0.05
_WANTED: Final = 30 * 86_400.0
"""Seconds for which a login is wanted."""
_SERVICE: Final = "rightcall"
_EVERYBODY: Final = "\0"
"""In the place of a caller: what is known of a server for all of them. No caller has this name."""


class Secrets(Struct, frozen=True, omit_defaults=True):
    """Of one login. They are in no message, record or page."""

    access: str = ""
    refresh: str = ""
    client: str = ""
    """The client's own secret, where the provider gave it one."""
    proof: str = ""
    """The private key (PEM) that the tokens are bound to, where they are."""

    def __repr__(self) -> str:
        return "Secrets(…)"


class Login(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One login at one server, without its secrets."""

    server: str
    """Its name in the policy when somebody logged in."""
    url: str
    caller: str = ""
    """Whose it is; empty: everybody's who may call the server."""
    who: str = ""
    """As the provider calls them."""
    resource: str
    provider: Provider
    client: Client
    """Without its secret."""
    scopes: tuple[str, ...] = ()
    at: float
    """When somebody logged in,"""
    since: float = 0.0
    """when its access token was given,"""
    until: float = 0.0
    """and when that ends; 0: nobody says."""
    renewable: bool = False
    is_over: bool = False
    """The provider takes its refresh token no longer. It is kept for who gave it: that is pinned."""
    machine: bool = False
    networks: tuple[str, ...] = ()
    """`[web] networks` of the policy at that time: its provider may be in one of them."""
    keeping: Keeping = "file"

    @property
    def key(self) -> str:
        return key_of(self.url, self.caller)


class Want(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A login that a server wants and nobody has given. What it holds of a challenge is the server's word."""

    server: str
    url: str
    caller: str = ""
    reason: Reason = "login"
    scopes: tuple[str, ...] = ()
    names_scopes: bool = False
    metadata: str = ""
    bound: bool = False
    """It wants tokens that are bound to a key."""
    at: float = 0.0

    @property
    def key(self) -> str:
        return key_of(self.url, self.caller)

    @property
    def command(self) -> str:
        """What a person runs."""
        subject = subject_in(self.caller)
        whose = f" --person {quote(subject)}" if subject else f" --as {quote(self.caller)}" if self.caller else ""
        return f"rightcall login {self.server}{whose}"


class Pin(Struct, frozen=True):
    """Who gives the logins of a server, whoever logs in. It outlives them: a logout changes nobody's mind."""

    url: str
    issuer: str


class _Stored(Struct, frozen=True, omit_defaults=True):
    login: Login
    secrets: Secrets | None = None
    version: int = 1


class Keyring(Protocol):
    """What the library `keyring` gives."""

    def get_password(self, service: str, username: str) -> str | None: ...

    def set_password(self, service: str, username: str, password: str) -> None: ...

    def delete_password(self, service: str, username: str) -> None: ...


T = TypeVar("T")


def key_of(url: str, caller: str) -> str:
    """What a login is known by."""
    return sha256(f"{read_url(url)}\0{caller}".encode()).hexdigest()[:32]


class Vault:
    """The logins of this user. `find_keyring` gives the system's, when one is needed: looking for it takes longer than
    everything else here. None: secrets are kept in files."""

    def __init__(self, folder: str | None = None, find_keyring: "Callable[[], Keyring | None] | None" = None) -> None:
        self.folder = folder or os.path.join(state_folder(), "logins")
        self._find_keyring = find_keyring or system_keyring

    # ── logins ───────────────────────────────────────────────────────────────────────────────────────────────────

    def read(self, key: str) -> tuple[Login, Secrets] | None:
        """Raises IdentityError where it is there and cannot be used."""
        found = self._load(f"{key}.json", _Stored)
        if found is None:
            return None
        if found.login.keeping == "keyring":
            text = self._from_keyring(key)
            if text is None:
                return found.login, Secrets()
            try:
                return found.login, json.decode(text, type=Secrets)
            except MsgspecError:
                return found.login, Secrets()
        return found.login, found.secrets or Secrets()

    def write(self, login: Login, secrets: Secrets) -> Login:
        """Raises IdentityError where it cannot be kept."""
        kept = replace(login, keeping="keyring" if self._to_keyring(login.key, secrets) else "file")
        self._save(f"{login.key}.json", _Stored(kept, None if kept.keeping == "keyring" else secrets))
        return kept

    def remove(self, key: str) -> bool:
        """Whether there was one. Who gave it stays known."""
        self._clear_keyring(key)
        self.drop_want(key)
        with suppress(FileNotFoundError):
            os.unlink(self._path(f"{key}.json"))
            return True
        return False

    def first_issuer(self, url: str) -> str:
        """Who gives the logins of a server, since the first one; empty: nobody has logged in there so far."""
        found = self._load(f"{key_of(url, _EVERYBODY)}.pin", Pin)
        if found is not None:
            return found.issuer
        own = [one for one in self.logins() if one.url == url]
        return min(own, key=lambda one: one.at).provider.issuer if own else ""

    def pin_issuer(self, url: str, issuer: str) -> None:
        self._save(f"{key_of(url, _EVERYBODY)}.pin", Pin(url, issuer))

    def forget_issuer(self, url: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._path(f"{key_of(url, _EVERYBODY)}.pin"))

    def logins(self) -> list[Login]:
        """All of them, without secrets. One that cannot be read is left out."""
        return [one.login for one in self._all(".json", _Stored)]

    def stamp(self, key: str) -> object:
        """Differs when a login or a want of this key has changed."""
        return tuple(self._stamp(f"{key}{end}") for end in (".json", ".want"))

    def _stamp(self, name: str) -> object:
        try:
            found = os.stat(self._path(name))
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    # ── wants ────────────────────────────────────────────────────────────────────────────────────────────────────

    def want(self, key: str) -> Want | None:
        return self._load(f"{key}.want", Want)

    def wants(self) -> list[Want]:
        """All of them; what nobody has asked for in a month is forgotten."""
        found = self._all(".want", Want)
        for one in found:
            if one.at and time() - one.at > _WANTED:
                self.drop_want(one.key)
        return [one for one in found if not one.at or time() - one.at <= _WANTED]

    def note_want(self, want: Want) -> None:
        self._save(f"{want.key}.want", want)

    def drop_want(self, key: str) -> None:
        with suppress(OSError):
            os.unlink(self._path(f"{key}.want"))

    # ── the lock ─────────────────────────────────────────────────────────────────────────────────────────────────

    @asynccontextmanager
    async def held(self, key: str) -> AsyncGenerator[None]:
        """While no other process or task gets new tokens for this login. Raises IdentityError after a while."""
        self._prepare()
        try:
            handle = _no_link(self._path(f"{key}.lock"), os.O_RDWR | os.O_CREAT)
        except OSError as fault:
            raise IdentityError(f"logins cannot be kept in {self.folder}: {fault.strerror or fault}") from None
        try:
            until = monotonic() + LOCK_SECONDS
            while not take_lock(handle):
                if monotonic() > until:
                    raise IdentityError("another process has been at this login for a minute; try again")
                await asyncio.sleep(_POLL)
            yield
        finally:
            os.close(handle)

    # ── files ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def _prepare(self) -> None:
        try:
            for one in (os.path.dirname(self.folder), self.folder):
                os.makedirs(one, mode=0o700, exist_ok=True)
            problem = _disbelief(self.folder)
        except OSError as fault:
            raise IdentityError(f"logins cannot be kept in {self.folder}: {fault.strerror or fault}") from None
        if problem:
            raise IdentityError(problem)

    def _save(self, name: str, found: Struct) -> None:
        self._prepare()
        path = self._path(name)
        try:
            with whole_file(path, f"{path}.{os.urandom(6).hex()}") as opened:
                opened.write(json.encode(found))
        except OSError as fault:
            raise IdentityError(f"logins cannot be kept in {self.folder}: {fault.strerror or fault}") from None

    def _load(self, name: str, kind: type[T]) -> T | None:
        path = self._path(name)
        try:
            if problem := _disbelief(self.folder):
                raise IdentityError(problem)
            with open(path, "rb", opener=_no_link) as opened:
                if problem := _disbelief(path, os.fstat(opened.fileno())):
                    raise IdentityError(problem)
                return json.decode(opened.read(_MOST_BYTES), type=kind)
        except FileNotFoundError:
            return None
        except (OSError, MsgspecError, ValueError, RecursionError):
            raise IdentityError(f"{path} cannot be read; remove it and log in again") from None

    def _all(self, end: str, kind: type[T]) -> list[T]:
        try:
            names = sorted(one for one in os.listdir(self.folder) if one.endswith(end))
        except OSError:
            return []
        found: list[T] = []
        for name in names:
            with suppress(IdentityError):
                one = self._load(name, kind)
                found += [] if one is None else [one]
        return found

    # ── the keyring ──────────────────────────────────────────────────────────────────────────────────────────────

    def _name(self, key: str) -> str:
        """In the keyring. Another state folder has other logins."""
        return f"{key}-{sha256(os.fsencode(os.path.realpath(self.folder))).hexdigest()[:16]}"

    def _to_keyring(self, key: str, secrets: Secrets) -> bool:
        """Whether the keyring has taken them: some have no room for long tokens, and some only look like one. Where it
        has not, it keeps nothing of this login either: neither older secrets, nor these once somebody unlocks it."""
        text, name = json.encode(secrets).decode(), self._name(key)
        given_up = Event()

        def keep(keyring: Keyring) -> None:
            try:
                keyring.set_password(_SERVICE, name, text)
            finally:
                if given_up.is_set():
                    keyring.delete_password(_SERVICE, name)

        try:
            if self._try_keyring(keep) is _NO_KEYRING:
                return False
            if self._from_keyring(key) == text:
                return True
        except IdentityError:
            pass
        given_up.set()
        self._clear_keyring(key, _CLEARING_SECONDS)
        return False

    def _clear_keyring(self, key: str, seconds: float | None = None) -> None:
        """It may hold nothing of this login, and says so as it likes."""
        with suppress(IdentityError):
            self._try_keyring(lambda keyring: keyring.delete_password(_SERVICE, self._name(key)), seconds)

    def _from_keyring(self, key: str) -> str | None:
        found = self._try_keyring(lambda keyring: keyring.get_password(_SERVICE, self._name(key)))
        if found is _NO_KEYRING:
            raise IdentityError("this login is in the system's keyring, which cannot be used here; log in again")
        return found

    def _try_keyring(self, use: Callable[[Keyring], Any], seconds: float | None = None) -> Any:
        keyring = self._find_keyring()
        if keyring is None:
            return _NO_KEYRING
        try:
            return in_own_thread(lambda: use(keyring), "rightcall-keyring").result(seconds or _KEYRING_SECONDS)
        except Exception as error:  # noqa: BLE001 - each backend raises what it likes
            raise IdentityError(f"the system's keyring cannot be used ({type(error).__name__})") from None


_NO_KEYRING: Final[Any] = object()


@lru_cache(1)
def system_keyring() -> Keyring | None:
    """The system's, where the library is there and finds one that keeps what it is given."""
    try:
        import keyring
        from keyring.backends import fail, null
    except ImportError:
        return None
    try:
        found = keyring.get_keyring()
        is_one = not isinstance(found, (fail.Keyring, null.Keyring)) and float(found.priority) >= 1
    except Exception:  # noqa: BLE001 - each backend raises what it likes
        return None
    return cast("Keyring", found) if is_one else None


def _no_link(path: str, flags: int) -> int:
    return plain_file(path, flags | getattr(os, "O_NOFOLLOW", 0))


def _disbelief(path: str, found: os.stat_result | None = None) -> str:
    """Why what lies there may be read or written by somebody else; empty: it is this user's alone."""
    if sys.platform == "win32":
        return ""  # the profile's folder has its own protection, which no mode tells
    seen = os.lstat(path) if found is None else found
    if seen.st_uid != os.geteuid():
        return f"{path} belongs to another user"
    if others_may_write(seen) or (found is not None and stat.S_IMODE(seen.st_mode) & 0o077):
        return f"{path} can be read or written by others: run `chmod go-rwx {path}`"
    return ""
