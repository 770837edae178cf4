"""Where the server is, how it is reached safely, and what is wrong with it in words.

The password comes from the environment (PGPASSWORD) or from a password file (PGPASSFILE, ~/.pgpass), never from the
URL: a URL is shown, logged and kept in files. Over a network the server's certificate is verified.
"""

import os
import re
import threading
from collections import OrderedDict
from contextlib import suppress
from itertools import zip_longest
from time import monotonic
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote

from msgspec import Struct

from rightcall.base.text import escaped
from rightcall.errors import ConfigError, StoreError, StoreFault
from rightcall.policy.values import wrong_server

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future

    import psycopg

SCHEMES = ("postgresql://", "postgres://")
INSTALL = "pip install 'rightcall[postgres]'"

_SOCKETS, _PORT = "/var/run/postgresql", 5432
"""Where the client library looks when a URL names no host and no port."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_PLACES = (("host", "PGHOST"), ("hostaddr", "PGHOSTADDR"), ("port", "PGPORT"))
_CONNECT_SECONDS = 2
"""The least that the client library takes."""
_SETTINGS = "SET search_path = rightcall; SET lock_timeout = {lock}; SET idle_in_transaction_session_timeout = 15000"

_STATES: dict[str, tuple[StoreFault, str, str]] = {
    "25006": (
        "read-only",
        "it only allows reading",
        "Connect to the primary, with default_transaction_read_only = off.",
    ),
    "42501": ("denied", "this role may not do that", "Grant it the rights, or name another role in the URL."),
    "53100": ("full", "its disk is full", "It continues by itself once there is space again."),
    "53300": ("unreachable", "it has no free connection", "Raise max_connections, or run fewer nodes."),
    "55P03": ("locked", "another node keeps it locked", "It continues by itself once that node is done."),
    "57014": ("locked", "it did not answer in time", "It continues by itself once it is less busy."),
    "40001": ("locked", "too many nodes want the same at once", "Try again."),
    "40P01": ("locked", "too many nodes want the same at once", "Try again."),
}
_TOLD = (
    "The audit log cannot be written now, so nothing was run. Whoever runs RightCall finds the reason in its log, or "
    "with `rightcall doctor`."
)
_FROM_SERVER = re.compile(r"\S:  \S")
"""How the client library tells what a server says before it knows who asks: without a number, in a language of its own.
Those in English are told apart."""
_NO_AUTHORITY = "the file with its authority cannot be read"
_CORRECT_AUTHORITY = "Correct sslrootcert=FILE in the URL."
_CORRECT_SETTING = "Correct it in the URL, in the environment (PGSSLMODE and the like) or in the file of its service."
_WRONG_SETTINGS = (
    ' value: "', "bad value for", "for connection option", "weak sslmode", "could not match", "invalid SCRAM",
    "SSL protocol version range",
)  # fmt: skip
_REFUSALS: tuple[tuple[str, StoreFault, str, str], ...] = (
    ("password authentication failed", "denied", "the user or the password is wrong",
     "Set PGPASSWORD, or write the password into ~/.pgpass."),
    ("no pg_hba.conf entry", "denied", "it does not let this user in from here", "Add a line to its pg_hba.conf."),
    ("root certificate file", "denied", _NO_AUTHORITY, _CORRECT_AUTHORITY),
    ("does not match host name", "denied", "its certificate is for another name",
     "Write the name that the certificate has into the URL, or give the server a certificate for this one."),
    ("sslrootcert=system", "denied", "sslrootcert=system is only for sslmode=verify-full",
     "Take one of the two out of the URL."),
    ("does not exist", "denied", "the database or the role does not exist", "Create it, or correct the URL."),
    *((text, "denied", "a setting of the connection is not valid", _CORRECT_SETTING) for text in _WRONG_SETTINGS),
    ("certificate", "denied", "its certificate could not be verified",
     "Give the authority with sslrootcert=FILE in the URL."),
    ("SSL", "denied", "it does not offer TLS",
     "To connect without TLS, add ?sslmode=disable: everything is then sent in the clear."),
    ("definition of service", "denied", "no such service is defined", "Correct the URL, or ~/.pg_service.conf."),
    ("too many clients", "unreachable", "it has no free connection", "Raise max_connections, or run fewer nodes."),
    ("remaining connection slots", "unreachable", "it has no free connection",
     "Raise max_connections, or run fewer nodes."),
)  # fmt: skip


class Address(Struct, frozen=True):
    """A server and a database on it, with what is needed to connect."""

    url: str
    shown: str
    """Without anything secret, for messages."""
    parameters: dict[str, Any]

    def servers(self) -> list[tuple[str, int]]:
        """Each host, or folder of a Unix socket, with its port."""
        hosts = _listed(self.parameters, "hostaddr" if self.parameters.get("hostaddr") else "host")
        ports = _listed(self.parameters, "port")
        ports = ports * len(hosts) if len(ports) == 1 else ports
        return [(host or _SOCKETS, int(port or _PORT)) for host, port in zip(hosts, ports, strict=False)]


def is_postgres(where: str | None) -> bool:
    """Whether that names a database on a server, and not a file.

    >>> is_postgres("postgresql://db/rightcall"), is_postgres(".rightcall/audit.db")
    (True, False)
    """
    return where is not None and where.startswith(SCHEMES)


def read_address(url: str) -> Address:
    """Raises ConfigError for a URL that is wrong, or that holds a password. What the client library makes of it counts,
    not how it looks."""
    psycopg = load_driver()
    scheme, _, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    user, _, hosts = authority.rpartition("@")
    hosts = hosts.partition("?")[0]
    shown = escaped(f"{scheme}://{hosts}{slash}{path.partition('?')[0]}", 200)
    parameters, wrong = dict[str, Any](), ""
    try:
        parameters = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        wrong = escaped(str(error).strip(), 200)
    if parameters.get("password") or ":" in user or "password=" in unquote(url):
        raise ConfigError(
            f"the store's URL ({shown}) holds a password; take it out, and set PGPASSWORD or write it into ~/.pgpass"
        )
    if wrong:
        raise ConfigError(f"the store's URL is not valid: {wrong}; write postgresql://USER@HOST/DATABASE")
    if wrong := wrong_server(_listed(parameters, "port"), parameters.get("sslmode") or ""):
        raise ConfigError(f"the store's URL {wrong}")
    _add_environment(parameters)
    if wrong := wrong_server(_listed(parameters, "port"), ""):
        raise ConfigError(f"the store's address, with PGPORT, {wrong}")
    if not parameters.get("sslmode"):
        parameters.pop("sslmode", None)
    named = [*_listed(parameters, "host"), *_listed(parameters, "hostaddr")]
    if "service" in parameters or not all(not host or host.startswith("/") or host in _LOOPBACK for host in named):
        parameters["sslmode"] = parameters.get("sslmode") or "verify-full"
        if parameters["sslmode"] == "verify-full":  # the client library refuses it with any other
            parameters.setdefault("sslrootcert", "system")
    if max(len(_listed(parameters, name)) for name in ("host", "hostaddr")) > 1:
        parameters.setdefault("target_session_attrs", "read-write")
    parameters.setdefault("application_name", "rightcall")
    return Address(url, _shown(scheme, parameters), parameters)


def _shown(scheme: str, parameters: dict[str, Any]) -> str:
    """What is connected to, wherever that is said: in the URL, behind its question mark, or in the environment."""
    hosts, ports = _listed(parameters, "host"), _listed(parameters, "port")
    places, more = "", dict[str, str]()
    if any(host.startswith("/") for host in hosts):
        more = {"host": ",".join(hosts), "port": ",".join(ports)}
    else:
        ports = ports * len(hosts) if len(ports) == 1 else ports
        named = [f"[{host}]" if ":" in host else host for host in hosts]
        places = ",".join(
            f"{host}:{port}" if port else host for host, port in zip_longest(named, ports[: len(named)], fillvalue="")
        )
    more |= {name: str(parameters.get(name) or "") for name in ("hostaddr", "service")}
    query = "&".join(f"{name}={value}" for name, value in more.items() if value)
    database = f"/{parameters['dbname']}" if parameters.get("dbname") else ""
    return escaped(f"{scheme}://{places}{database}{'?' if query else ''}{query}", 200)


def _add_environment(parameters: dict[str, Any]) -> None:
    """Where the environment says that the server is. What the file of a service says nobody knows here."""
    is_service = "service" in parameters or os.environ.get("PGSERVICE")
    for name, variable in (("service", "PGSERVICE"),) if is_service else _PLACES:
        if not parameters.get(name) and (value := os.environ.get(variable)):
            parameters[name] = value


def _listed(parameters: dict[str, Any], name: str) -> list[str]:
    return str(parameters.get(name) or "").split(",")


def load_driver() -> Any:
    from importlib import import_module

    try:
        import_module("psycopg.conninfo")
        return import_module("psycopg")
    except ImportError:
        raise ConfigError(f"a store on PostgreSQL needs the extra `postgres`: {INSTALL}") from None


def connect(address: Address, *, lock_seconds: float) -> "psycopg.Connection[Any]":
    """A connection that commits only when told to. Raises StoreError."""
    psycopg = load_driver()
    parameters = {
        "connect_timeout": _CONNECT_SECONDS, "keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3,
        "tcp_user_timeout": 10_000, "client_encoding": "utf8", **address.parameters,
    }  # fmt: skip
    authority = str(parameters.get("sslrootcert") or "system")
    if authority != "system" and not os.path.exists(authority):  # without TLS the client library does not even look
        what = f"{_NO_AUTHORITY} ({escaped(authority, 200)} does not exist)"
        raise unusable(address, what, _CORRECT_AUTHORITY, "denied")
    try:
        connection = psycopg.connect(**parameters, autocommit=True)
    except psycopg.Error as error:
        raise fault_of(error, address) from error
    try:
        connection.execute(_SETTINGS.format(lock=round(lock_seconds * 1000)))
    except psycopg.Error as error:
        connection.close()
        raise fault_of(error, address) from error
    return connection


def unusable(address: Address, what: str, then: str, fault: StoreFault) -> StoreError:
    return StoreError(f"the store {address.shown} cannot be used: {what}. Nothing was run. {then}", fault, _TOLD)


def fault_of(error: BaseException, address: Address) -> StoreError:
    """The error as one of the store's own; each caller gets one of its own to raise."""
    if isinstance(error, StoreError):
        return StoreError(str(error), error.fault, error.told)
    state = getattr(error, "sqlstate", None) or ""
    said = escaped(" ".join(str(error).split()), 300)
    if not isinstance(error, load_driver().Error):
        what = f"RightCall itself failed ({type(error).__name__}: {said})"
        return unusable(address, what, "Report this with what RightCall's log says of it.", "failed")
    if _is_unprepared(error):
        then = "Run `rightcall store prepare URL` with the role that owns the tables, for the days to come."
        return unusable(address, "nobody has prepared it for records of today, and this role may not", then, "denied")
    if state in _STATES:
        fault, what, then = _STATES[state]
        return unusable(address, f"{what} ({said})", then, fault)
    if not state and getattr(getattr(error, "pgconn", None), "needs_password", False):
        then = "Set PGPASSWORD, or write the password into ~/.pgpass."
        return unusable(address, f"it wants a password ({said})", then, "denied")
    for text, fault, what, then in _REFUSALS:
        if not state and text in said:
            return unusable(address, f"{what} ({said})", then, fault)
    if not state and _FROM_SERVER.search(str(error)):
        then = "Correct what it says; if that passes, it continues by itself."
        return unusable(address, f"it refused the connection ({said})", then, "unreachable")
    if is_lost(error):
        then = "It continues by itself once the server is back."
        return unusable(address, f"the server cannot be reached ({said})", then, "unreachable")
    return unusable(address, f"something is wrong with it ({said})", "Look into the server's log.", "failed")


def is_lost(error: BaseException) -> bool:
    """Whether the connection is gone, or the server is ending."""
    psycopg = load_driver()
    state = getattr(error, "sqlstate", None) or ""
    return isinstance(error, psycopg.OperationalError) and (not state or state[:3] in ("57P", "08P", "080"))


def is_denied(error: BaseException) -> bool:
    """Whether the role may not do it: that is no mistake of a work."""
    return getattr(error, "sqlstate", None) == "42501" or _is_unprepared(error)


def _is_unprepared(error: BaseException) -> bool:
    """Whether there is no table for records of that day."""
    return getattr(error, "sqlstate", None) == "23514" and cast("psycopg.Error", error).diag.table_name == "audit"


def is_locked(error: BaseException) -> bool:
    """Whether somebody else held what was wanted for too long."""
    return getattr(error, "sqlstate", None) == "55P03"


def is_read_only(error: BaseException) -> bool:
    """Whether this session may only read."""
    return getattr(error, "sqlstate", None) == "25006"


def is_retried(error: BaseException) -> bool:
    """Whether nothing was wrong but the moment: two nodes were in each other's way."""
    return getattr(error, "sqlstate", None) in ("40001", "40P01")


def closed(address: Address) -> StoreError:
    return unusable(address, "it was closed", "Open it again.", "closed")


def forked(address: Address) -> StoreError:
    what = "it was opened before this process was forked from another"
    return unusable(address, what, "Open it in the process that uses it.", "closed")


# ── answers given on other nodes ──
# Hears of answers that people give on other nodes, so that whoever waits for one goes on at once.
#
#     a node answers ─▶ NOTIFY with its COMMIT ─▶ Listener of every node on which somebody waits ─▶ who waits looks
#
# The connection is there only while somebody waits. Nothing depends on it: whoever waits looks each second as well, so
# that a listener that was cut off, or a server that knows no NOTIFY, costs a second and no answer.

CHANNEL = "rightcall_answers"
LOOK_SECONDS = 1.0
"""After which whoever waits looks, whatever was heard."""

_HEAR_SECONDS = 0.25
"""How long one listens before one sees whether anybody still waits."""
_IDLE_SECONDS = 30.0
"""For how long one listens on when nobody waits any more."""
_AGAIN_SECONDS = 1.0
"""Between two attempts to connect."""
_REMEMBERED = 1_000
"""Answers that are remembered for those who look just now."""

_Waiting = tuple["AbstractEventLoop", "Future[None]"]


class Listener:
    """Of one node: a thread and a connection while somebody waits."""

    def __init__(self, address: Address, lock_seconds: float) -> None:
        self._address = address
        self._patience = lock_seconds
        self._door = threading.Lock()
        self._waiting: dict[str, list[_Waiting]] = {}
        self._answered: OrderedDict[str, None] = OrderedDict()
        self._thread: threading.Thread | None = None
        self._last = 0.0
        """When somebody last waited."""
        self._stopped = threading.Event()

    async def wait(self, id: str, seconds: float) -> None:
        """Until that approval was answered, as far as one hears of it, or it is time to look."""
        from asyncio import get_running_loop, wait  # late: who has no event loop does not pay for one

        loop = get_running_loop()
        future: Future[None] = loop.create_future()
        entry = loop, future
        with self._door:
            if self._answered.pop(id, self) is None:
                return
            self._waiting.setdefault(id, []).append(entry)
            self._last = monotonic()
            self._start()
        try:
            await wait((future,), timeout=min(seconds, LOOK_SECONDS))
        finally:
            with self._door:
                left = [one for one in self._waiting.get(id, ()) if one is not entry]
                if left:
                    self._waiting[id] = left
                else:
                    self._waiting.pop(id, None)
                self._last = monotonic()

    def _start(self) -> None:
        if not self._stopped.is_set() and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._hear, name="rightcall postgres answers", daemon=True)
            self._thread.start()

    def _is_wanted(self) -> bool:
        """Whether anybody waits, or did a moment ago. Once it says no, the thread is no longer this one."""
        with self._door:
            wanted = bool(self._waiting) or monotonic() - self._last < _IDLE_SECONDS
            if self._stopped.is_set() or not wanted:
                self._thread = None
                self._answered.clear()
                return False
            return True

    def _hear(self) -> None:
        while self._is_wanted():
            with suppress(Exception):  # whoever waits looks by itself
                connection = connect(self._address, lock_seconds=self._patience)
                try:
                    connection.execute(f"LISTEN {CHANNEL}".encode())
                    if not self._listen(connection):
                        return
                finally:
                    connection.close()
            self._stopped.wait(_AGAIN_SECONDS)

    def _listen(self, connection: "psycopg.Connection[Any]") -> bool:
        """Until the connection breaks, or False once nobody wants it."""
        errors: Any = load_driver()
        while self._is_wanted():
            try:
                for heard in connection.notifies(timeout=_HEAR_SECONDS):
                    self._tell(heard.payload)
            except errors.Error:
                return True
        return False

    def _tell(self, id: str) -> None:
        with self._door:
            waiting = self._waiting.get(id, ())
            if not waiting:
                self._answered[id] = None
                while len(self._answered) > _REMEMBERED:
                    self._answered.popitem(last=False)
            for loop, future in waiting:
                with suppress(RuntimeError):  # the loop has ended, and with it whoever waited there
                    loop.call_soon_threadsafe(_set, future)

    def stop(self) -> None:
        self._stopped.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(2 * _HEAR_SECONDS)


def _set(future: "Future[None]") -> None:
    if not future.done():
        future.set_result(None)
