"""Opening a store on a server: what is wrong is said in words, and nothing secret is in them."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from rightcall.errors import ConfigError, PolicyError, StoreError, StoreFault
from rightcall.policy.trust import FoundPolicy
from rightcall.policy.watch import load_policy
from rightcall.record.postgres import PostgresReader, PostgresStore
from rightcall.record.postgres.connection import connect, fault_of, read_address
from rightcall.record.postgres.writer import Writer
from rightcall.record.premises import open_store, store_place
from support.consoles import certificate
from support.postgres import Server, versions
from support.stores import add, records


def fault(url: str) -> tuple[StoreFault, str]:
    with pytest.raises(StoreError) as raised:
        PostgresStore(url)
    return raised.value.fault, str(raised.value)


def test_a_password_in_the_url_is_refused_and_not_repeated() -> None:
    for url in (
        "postgresql://ann:hidden@db.example/rightcall", "postgresql://db.example/x?password=hidden",
        "postgresql://db.example/x?pass%77ord=hidden", "postgresql://db.example/x?port=1#&password=hidden",
        "postgresql://ann:1?hidden@db.example/x", "postgresql://ann:1#hidden@db.example/x",
        "postgresql://db.example/x?password=hidden&port=%zz", "postgresql://ann:hidden@db.example:port/x",
    ):  # fmt: skip
        with pytest.raises(ConfigError, match="PGPASSWORD") as raised:
            read_address(url)
        assert "hidden" not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "environment"),
    [
        ("postgresql://u@/n?hostaddr=10.0.0.5", {}),
        ("postgresql://u@localhost:5513/n?hostaddr=10.0.0.5", {}),
        ("postgresql://u@/n?host=/run/postgresql&hostaddr=10.0.0.5", {}),
        ("postgresql://u@localhost/n?h%6fst=db.example", {}),
        ("postgresql://u@localhost,db.example/n", {}),
        ("postgresql://u@/n", {"PGHOST": "db.example"}),
        ("postgresql://u@/n", {"PGHOST": "localhost,db.example"}),
        ("postgresql://u@localhost/n", {"PGHOSTADDR": "10.0.0.5"}),
        ("postgresql://u@/n", {"PGSERVICE": "prod"}),
        ("postgresql://u@localhost/n", {"PGSERVICE": "prod"}),
        ("postgresql://u@localhost/n?service=prod", {}),
        ("postgresql://u@localhost/n?service=prod", {"PGHOST": "localhost"}),
        ("postgresql://u@db.example/n?sslmode=", {}),
    ],
)
def test_a_server_that_may_be_far_is_verified_however_it_is_named(
    url: str, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    parameters = read_address(url).parameters
    assert (parameters["sslmode"], parameters["sslrootcert"]) == ("verify-full", "system")


def test_where_the_environment_says_that_the_server_is_it_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "localhost,/run/postgresql")
    monkeypatch.setenv("PGPORT", "6000")
    address = read_address("postgresql://u@/n")
    assert "sslmode" not in address.parameters
    assert address.parameters["target_session_attrs"] == "read-write"
    assert address.servers() == [("localhost", 6000), ("/run/postgresql", 6000)]
    monkeypatch.setenv("PGHOSTADDR", "127.0.0.1")
    assert read_address("postgresql://u@localhost/n").servers() == [("127.0.0.1", 6000)]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("h:99999/x", "has the port '99999'; a port is a number from 1 to 65535"),
        ("h/x?port=0", "has the port '0'"),
        ("a,b:5433,c:%35x/n", "has the port '5x'"),
        ("[::1]:70000/x", "has the port '70000'"),
        ("h/x?sslmode=bogus", "has the sslmode 'bogus'; write disable, allow, prefer"),
        ("127.0.0.1/x?sslm%6fde=Require", "has the sslmode 'Require'"),
    ],
)
def test_a_url_with_which_no_server_can_be_reached_is_refused_also_in_a_policy(
    wrong: str, says: str, tmp_path: Path
) -> None:
    url = f"postgresql://ann@{wrong}"
    with pytest.raises(ConfigError) as raised:
        read_address(url)
    assert f"the store's URL {says}" in str(raised.value)
    file = tmp_path / "rightcall.toml"
    file.write_text(f'version = 1\n[store]\nurl = "{url}"\n')
    with pytest.raises(PolicyError) as refused:
        load_policy(file)
    assert f"store.url: {says}" in str(refused.value)
    for right in (
        "h:65535/x",
        "h:%35/x?sslmode=require",
        "/x?host=/run/a&port=1",
        "[::1]:5/x",
        "a,b:5433/x?port=&sslmode=",
    ):
        read_address(f"postgresql://{right}")
        file.write_text(f'version = 1\n[store]\nurl = "postgresql://{right}"\n')
        load_policy(file)


@pytest.mark.parametrize(
    "wrong",
    [
        "connect_timeout=abc",
        "keepalives=often",
        "gssencmode=bogus",
        "service=nosuch",
        "hostaddr=127.0.0.1,127.0.0.2",
        "sslmode=require&ssl_min_protocol_version=TLSv1.3&ssl_max_protocol_version=TLSv1.2",
    ],
)
def test_a_setting_of_a_url_that_is_wrong_is_no_outage(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGSERVICEFILE", raising=False)
    kind, text = fault(f"postgresql://ann@127.0.0.1:1/x?{wrong}")
    assert kind == "denied", text
    assert "Correct " in text
    assert "once the server is back" not in text


def test_what_the_environment_adds_to_a_url_is_named_where_it_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSSLMODE", "bogus")
    kind, text = fault("postgresql://ann@127.0.0.1:1/x")
    assert (kind, "(PGSSLMODE and the like)" in text) == ("denied", True), text
    monkeypatch.setenv("PGPORT", "99999")
    with pytest.raises(ConfigError, match="the store's address, with PGPORT, has the port '99999'"):
        read_address("postgresql://ann@127.0.0.1/x")


@pytest.mark.parametrize(
    ("url", "environment", "shown"),
    [
        ("postgresql://u@db.example/n", {}, "postgresql://db.example/n"),
        ("postgresql://u@db.example:6000/n?port=7", {}, "postgresql://db.example:7/n"),
        ("postgresql://u@near.example/n?host=8.8.8.8", {}, "postgresql://8.8.8.8/n"),
        ("postgresql://u@near.example/n?hostaddr=8.8.8.8", {}, "postgresql://near.example/n?hostaddr=8.8.8.8"),
        ("postgresql://u@/n?dbname=m", {"PGHOST": "db.example", "PGPORT": "7"}, "postgresql://db.example:7/m"),
        ("postgresql://u@a,b:5433/n", {}, "postgresql://a,b:5433/n"),
        ("postgresql://u@[::1]:5/n", {}, "postgresql://[::1]:5/n"),
        ("postgresql://u@/n?host=/run/a&port=7", {}, "postgresql:///n?host=/run/a&port=7"),
        ("postgresql://u@/n", {"PGSERVICE": "prod"}, "postgresql:///n?service=prod"),
    ],
)
def test_messages_name_the_server_that_is_really_used(
    url: str, environment: dict[str, str], shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert read_address(url).shown == shown


@pytest.mark.postgres
def test_the_file_of_an_authority_that_is_not_there_is_told_also_on_loopback(server: Server) -> None:
    for near in (server.tcp("postgres"), f"{server.tcp('postgres')}?sslmode=disable"):
        kind, text = fault(f"{near}{'&' if '?' in near else '?'}sslrootcert=/nowhere/ca.pem")
        assert kind == "denied"
        assert "the file with its authority cannot be read (/nowhere/ca.pem does not exist)" in text


@pytest.mark.postgres
def test_no_way_to_name_a_server_over_a_network_connects_in_the_clear(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A server that has no TLS is refused by each of them, before anything is sent."""
    services = tmp_path / "services"
    services.write_text(f"[prod]\nhostaddr=127.0.0.1\nport={server.port}\n")
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    for url in ("postgresql://postgres@/postgres?service=prod", over_network(server, "db.test")):
        kind, text = fault(url)
        assert (kind, "it does not offer TLS" in text) == ("denied", True), text
    monkeypatch.setenv("PGSERVICE", "prod")
    assert "it does not offer TLS" in fault("postgresql://postgres@/postgres")[1]


def test_a_url_with_one_slash_is_not_taken_for_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for wrong in ("postgresql:/ann@db.example/x", "postgres:x"):
        with pytest.raises(ConfigError, match="write postgresql://USER@HOST/DATABASE"):
            open_store(None, wrong, None)
    assert not list(tmp_path.iterdir())


def said_of(error: Exception) -> tuple[StoreFault, str]:
    found = fault_of(error, read_address("postgresql://db.example/x"))
    return found.fault, str(found)


def test_what_a_server_says_in_another_language_is_not_taken_for_one_that_is_away() -> None:
    before = 'connection failed: connection to server at "127.0.0.1", port 5432 failed: '
    text = said_of(psycopg.OperationalError(f"{before}FATAL:  Passwort-Authentifizierung fehlgeschlagen"))[1]
    assert "it refused the connection" in text
    assert "It continues by itself once the server is back" not in text
    text = said_of(psycopg.OperationalError(f"{before}Connection refused\n\tIs the server running on that host?"))[1]
    assert "It continues by itself once the server is back" in text


class Unprepared(psycopg.errors.CheckViolation):
    """On a server that speaks German."""

    @property
    def diag(self) -> Any:
        return SimpleNamespace(table_name="audit")


def test_a_day_that_nobody_prepared_is_told_in_any_language() -> None:
    kind, text = said_of(Unprepared("keine Partition von Relation »audit« für die Zeile gefunden"))
    assert (kind, "rightcall store prepare" in text) == ("denied", True), text


@pytest.mark.postgres
def test_a_server_that_wants_a_password_is_told_whatever_it_says(server: Server) -> None:
    role = f"pw_{os.getpid()}"
    server.run(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    rules = server.data / "pg_hba.conf"
    before = rules.read_text()
    try:
        rules.write_text(f"local all {role} scram-sha-256\n{before}")
        server.run("SELECT pg_reload_conf()")
        kind, text = fault(server.url("postgres", role))
        assert (kind, "it wants a password" in text, "Set PGPASSWORD" in text) == ("denied", True, True), text
    finally:
        rules.write_text(before)
        server.run("SELECT pg_reload_conf()")
        server.run(f"DROP ROLE {role}")


@pytest.mark.postgres
def test_a_fault_of_ours_is_not_blamed_on_the_server(
    url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(PostgresStore(url, silent_seconds=30, busy_seconds=30)) as store:
        with monkeypatch.context() as patch:
            patch.setattr(Writer, "_begin", lambda *_: [].pop())
            with pytest.raises(StoreError, match=r"RightCall itself failed \(IndexError: pop") as raised:
                store.transact(add())
        assert "server's log" not in str(raised.value)
        assert "IndexError" in caplog.text  # with the place where it happened
        store.transact(add())


def test_over_a_network_the_certificate_is_verified_unless_the_url_says_otherwise() -> None:
    assert read_address("postgresql://db.example/x").parameters["sslmode"] == "verify-full"
    assert read_address("postgresql://db.example/x").parameters["sslrootcert"] == "system"
    for mode in ("disable", "prefer", "require", "verify-ca"):  # with these the client library refuses `system`
        parameters = read_address(f"postgresql://db.example/x?sslmode={mode}").parameters
        assert (parameters["sslmode"], "sslrootcert" in parameters) == (mode, False)
    for near in ("postgresql://127.0.0.1/x", "postgresql:///x?host=/run/postgresql"):
        assert "sslmode" not in read_address(near).parameters


@pytest.fixture(scope="module")
def secure() -> Iterator[Server]:
    """A server that speaks TLS, with a certificate for db.test that vouches for itself."""
    with Server.started(versions()[-1], "fsync=off") as server:
        server.stop()
        for file in certificate(server.data, "db.test"):
            file.chmod(0o600)
            if os.geteuid() == 0:
                shutil.chown(file, "nobody", "nogroup")
        server.options = (*server.options, "ssl=on", "ssl_cert_file=console.pem", "ssl_key_file=console.key")
        server.start()
        yield server


def over_network(server: Server, host: str, *more: str) -> str:
    """As a client on another machine names it."""
    return f"postgresql://postgres@{host}:{server.port}/postgres?{'&'.join(('hostaddr=127.0.0.1', *more))}"


@pytest.mark.postgres
def test_over_a_network_each_way_to_connect_that_the_url_names_works(secure: Server) -> None:
    authority = f"sslrootcert={secure.data / 'console.pem'}"
    for more in (("sslmode=disable",), ("sslmode=require",), ("sslmode=verify-ca", authority), (authority,)):
        with closing(connect(read_address(over_network(secure, "db.test", *more)), lock_seconds=1)) as connection:
            assert connection.info.pgconn.ssl_in_use is (more != ("sslmode=disable",)), more


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("host", "more", "says"),
    [
        ("db.test", "", "its certificate could not be verified"),
        ("db.test", "sslrootcert=/nowhere/ca.pem", "Correct sslrootcert=FILE in the URL"),
        ("db.test", "sslmode=require&sslrootcert=system", "sslrootcert=system is only for sslmode=verify-full"),
        ("other.test", "sslrootcert={authority}", "its certificate is for another name"),
    ],
)
def test_what_is_wrong_with_a_certificate_is_told_apart(secure: Server, host: str, more: str, says: str) -> None:
    kind, text = fault(over_network(secure, host, more.format(authority=secure.data / "console.pem")))
    assert (kind, says in text) == ("denied", True), text


def test_a_server_without_tls_is_told_with_the_way_around_it(server: Server) -> None:
    kind, text = fault(over_network(server, "db.test"))
    assert kind == "denied"
    assert "To connect without TLS, add ?sslmode=disable: everything is then sent in the clear." in text


def test_without_the_extra_the_command_that_installs_it_is_named() -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None; from rightcall.record.postgres import PostgresStore;"
        " PostgresStore('postgresql://x/y')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'rightcall[postgres]'" in done.stderr


def test_a_policy_names_the_server_and_one_that_was_only_found_needs_trust(tmp_path: Path) -> None:
    file = tmp_path / "rightcall.toml"
    file.write_text('version = 1\n[store]\nurl = "postgresql://ann@db.example/x"\n')
    assert store_place(load_policy(file), str(file), ".") == "postgresql://ann@db.example/x"
    found = load_policy(FoundPolicy(str(file), quiet=True))
    assert store_place(found, str(file), ".") == str(tmp_path / ".rightcall/audit.db")
    secret = "must not hold a password"
    for wrong, says in (
        ("audit.db", "a file is named under"), ("postgresql://a:b@c/d", secret),
        ("postgresql://c/d?pass%77ord=b", secret),
    ):  # fmt: skip
        file.write_text(f'version = 1\n[store]\nurl = "{wrong}"\n')
        with pytest.raises(PolicyError, match=says):
            load_policy(file)


def test_a_server_that_is_not_there_is_unreachable() -> None:
    kind, text = fault("postgresql://ann@127.0.0.1:1/x")
    assert kind == "unreachable"
    assert "Nothing was run." in text


def test_a_database_or_role_that_is_not_there_is_denied(server: Server) -> None:
    assert fault(server.url("nowhere"))[0] == "denied"
    assert fault(server.url("postgres", "nobody_known"))[0] == "denied"


def test_a_database_in_another_encoding_is_refused(server: Server) -> None:
    server.run("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    try:
        kind, text = fault(server.url("latin"))
    finally:
        server.run("DROP DATABASE latin WITH (FORCE)")
    assert (kind, "ENCODING 'UTF8'" in text) == ("version", True), text


def test_tables_of_a_newer_version_are_refused_by_writers_and_readers(url: str) -> None:
    PostgresStore(url, silent_seconds=30, busy_seconds=30).close()
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE rightcall.meta SET value = '99' WHERE name = 'version'")
    assert fault(url) == ("version", str(fault(url)[1]))
    with closing(PostgresReader(url)) as reader, pytest.raises(StoreError, match="newer RightCall") as raised:
        reader.look(lambda tables: tables.head())
    assert raised.value.fault == "version"


def test_whoever_only_looks_is_no_node_and_makes_no_tables(url: str) -> None:
    with closing(PostgresReader(url)) as reader, pytest.raises(StoreError, match="no tables of RightCall"):
        reader.look(lambda tables: tables.head())
    with closing(open_store(None, url, None)) as store:
        store.transact(add())
        with closing(PostgresReader(url)) as reader:
            assert reader.look(lambda tables: len(list(tables.entries()))) == 1
            assert abs(reader.clock.now() - store.clock.now()) < 60_000_000_000
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM rightcall.nodes").fetchone() == (1,)


def test_two_stores_of_one_database_have_one_key_and_see_each_other(url: str) -> None:
    with (
        closing(PostgresStore(url, silent_seconds=30, busy_seconds=30)) as one,
        closing(PostgresStore(url, silent_seconds=30, busy_seconds=30)) as two,
    ):
        assert one.key() == two.key()
        one.transact(add())
        assert len(records(two)) == 1


def test_a_node_has_three_connections_at_most(url: str) -> None:
    with closing(PostgresStore(url, silent_seconds=30, busy_seconds=30)) as store:
        for _ in range(5):
            store.transact(add())
            records(store)
        with psycopg.connect(url) as connection:
            count = (
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            found = connection.execute(count).fetchone()
    assert found is not None
    assert found[0] <= 3
