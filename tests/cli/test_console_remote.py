"""`rightcall console URL`: a login link of a console elsewhere, for a person's own credential and over TLS alone."""

import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rightcall.console.access import Address
from rightcall.console.app import Console, console_running
from rightcall.console.people import add_person, people, revoke_person
from rightcall.policy.settings import ConsoleSettings, Policy
from rightcall.record.memory import MemoryStore
from support.cli import Runner, Terminal
from support.consoles import Browser, certificate, opened

pytestmark = pytest.mark.promise("H-10")


class Remote:
    """A console with one person, as it is on another machine."""

    def __init__(self, store: MemoryStore, address: Address) -> None:
        self.store = store
        self.address = address
        self.credential = store.transact(lambda tables: add_person(tables, "ann", "look", "root"))[1]


@pytest.fixture
def remote() -> Generator[Remote]:
    store = MemoryStore()
    with opened(store) as address:
        yield Remote(store, address)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RIGHTCALL_CREDENTIAL", raising=False)


def secret_in(said: str, origin: str) -> str:
    found = re.search(rf"{re.escape(origin)}/enter/([\w-]+)", said)
    assert found, said
    return found[1]


def test_a_credential_gives_a_link_that_logs_in_once(
    run: Runner, remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIGHTCALL_CREDENTIAL", remote.credential)
    done = run("console", f"{remote.address.origin}/")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("This link logs you in once, within 10 minutes.\nConsole: http://127.0.0.1:")
    assert remote.credential not in done.out
    browser = Browser(remote.address)
    secret = secret_in(done.out, remote.address.origin)
    assert browser.post(f"/enter/{secret}").status == 303
    assert browser.post(f"/enter/{secret}").status == 401
    assert remote.store.look(lambda tables: [one.person for one in people(tables)]) == ["ann"]


def test_at_a_terminal_the_credential_is_asked_for_and_not_shown(remote: Remote) -> None:
    with Terminal("console", remote.address.origin) as terminal:
        terminal.until("Your credential for 127.0.0.1")
        terminal.type(remote.credential + "\n")
        screen = terminal.until("Console: ")
        assert remote.credential not in screen
        assert terminal.end()[0] == 0


def test_a_wrong_or_revoked_credential_is_told_and_leaves_no_link(
    run: Runner, remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIGHTCALL_CREDENTIAL", "rcp_" + "x" * 43)
    wrong = run("console", remote.address.origin)
    assert (wrong.code, wrong.out) == (2, "")
    assert "does not accept this credential: it is wrong or revoked" in wrong.err
    monkeypatch.setenv("RIGHTCALL_CREDENTIAL", remote.credential)
    remote.store.transact(lambda tables: revoke_person(tables, "ann", "root"))
    assert "wrong or revoked" in run("console", remote.address.origin).err
    assert remote.store.look(lambda tables: tables.credentials()) == []


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://console.example.org:4142", "in the open. Use https://, or a tunnel: `ssh -L 4142:127.0.0.1:4142"),
        ("https://ann:secret@console.example.org", "without a user or password; the credential is asked for"),
        ("https://console.example.org/inbox", "without a path"),
        ("ftp://console.example.org", "it must begin with http:// or https://"),
        ("console.example.org:4142", "is neither `link` nor an address such as https://host:4142"),
    ],
)
def test_an_address_that_cannot_be_one_is_refused_before_anything_is_asked(
    run: Runner, monkeypatch: pytest.MonkeyPatch, url: str, told: str
) -> None:
    monkeypatch.setenv("RIGHTCALL_CREDENTIAL", "rcp_" + "x" * 43)
    done = run("console", url)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert "secret" not in done.err


class Other(BaseHTTPRequestHandler):
    """A server that is no console, and keeps what it was sent."""

    sent: bytes = b""
    answer: bytes = b"<title>Welcome</title>\x1b[2J"

    def do_POST(self) -> None:
        type(self).sent = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(self.answer)))
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving(answer: bytes) -> Generator[str]:
    kind = type("Answering", (Other,), {"answer": answer})
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("answer", [b"<title>\x1b[2J</title>", b'{"link": "\\u001b[2Jx\\nhttps://evil.example/"}'])
def test_what_is_no_console_gets_a_plain_word_and_shows_none_of_its_own(
    run: Runner, monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    monkeypatch.setenv("RIGHTCALL_CREDENTIAL", "rcp_" + "x" * 43)
    with serving(answer) as url:
        done = run("console", url)
    assert (done.code, done.out) == (2, "")
    assert "is not a console of RightCall (status 200)" in done.err
    assert "\x1b" not in done.err
    assert "evil" not in done.err
    gone = run("console", url)
    assert (gone.code, "Is this the address of the console, and does it run?" in gone.err) == (2, True)


def test_only_a_persons_credential_is_ever_sent(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(b"{}") as url:
        monkeypatch.setenv("RIGHTCALL_CREDENTIAL", "sk-something-else")
        assert "Nothing was sent" in run("console", url).err
        monkeypatch.delenv("RIGHTCALL_CREDENTIAL")
        assert "Set RIGHTCALL_CREDENTIAL to your credential" in run("console", url).err
        assert "leave out --as" in run("console", url, "--as", "ann").err
    assert Other.sent == b""


def test_over_tls_an_unknown_certificate_is_refused_and_a_named_one_is_trusted(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pem, key = certificate(tmp_path)
    store = MemoryStore()
    credential = store.transact(lambda tables: add_person(tables, "ann", "approve", "root"))[1]
    settings = ConsoleSettings(port=0, certificate=str(pem), private_key=str(key))
    monkeypatch.setenv("RIGHTCALL_CREDENTIAL", credential)
    with console_running(Console(store, Policy), settings) as address:
        url = f"https://localhost:{address.port}"
        refused = run("console", url)
        assert (refused.code, refused.out) == (2, "")
        assert "SSL_CERT_FILE=FILE rightcall console" in refused.err
        monkeypatch.setenv("SSL_CERT_FILE", str(pem))
        done = run("console", url)
        assert (done.code, done.err) == (0, "")
        assert secret_in(done.out, url)
