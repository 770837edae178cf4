"""Servers and providers that try to be let in, or to have a secret sent to them: none of these is accepted. Each case
is an honest pair on loopback (`support/authorities.py`) in which one thing is hostile."""

import asyncio
import json
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rightcall.errors import IdentityError
from rightcall.identity.discovery import Reach
from rightcall.identity.flows import TokenAccess
from rightcall.identity.logins import Access, LoginNeeded, Shown, Wish, log_in_at
from rightcall.identity.vault import Login, Vault
from rightcall.policy.settings import Server
from support.authorities import Guarded, Provider, Reply, Said, browse_later, get, guarded
from support.every import every, sampled

pytestmark = pytest.mark.promise("I-01", "I-02", "I-03")


class World:
    """A server, its provider, somebody else on this machine who hears everything, and where logins are kept."""

    def __init__(self, provider: Provider, guard: Guarded, other: Provider, vault: Vault) -> None:
        self.provider, self.guard, self.other, self.vault = provider, guard, other, vault
        self.shown: list[Any] = []

    @property
    def server(self) -> Server:
        return Server("notes", url=self.guard.mcp)

    def enter(self, wish: Wish | None = None, server: Server | None = None) -> Login:
        def show(link: str) -> None:
            self.shown.append(link)
            browse_later(link)

        about = Shown(show, self.shown.append)
        work = log_in_at(server or self.server, wish or Wish(seconds=0.7), self.reach, self.vault, about)
        return asyncio.run(work)

    @property
    def reach(self) -> Reach:
        return Reach.of([self.guard.mcp])

    def is_unharmed(self) -> bool:
        """Nobody is logged in, and nobody else has heard anything."""
        return not self.vault.logins() and not self.other.said


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> Iterator[World]:
    with guarded() as (provider, guard), guarded() as (other, _):
        yield World(provider, guard, other, Vault(str(tmp_path / "state" / "logins"), lambda: None))


def answered(body: bytes, kind: str = "application/json", status: int = 200) -> Reply:
    return status, {"content-type": kind}, body


# ── what a server says of itself ──

RESOURCE = "/.well-known/oauth-protected-resource/mcp"
RESOURCES: dict[str, Callable[[World], Any]] = {
    "another port": lambda w: f"{w.other.url}/mcp",
    "another scheme": lambda w: w.guard.mcp.replace("http:", "https:"),
    "a path below": lambda w: f"{w.guard.mcp}/tenant",
    "a path beside": lambda w: f"{w.guard.url}/mcp2",
    "a prefix of the path": lambda w: f"{w.guard.url}/mc",
    "the path in capitals": lambda w: f"{w.guard.url}/MCP",
    "the path quoted": lambda w: f"{w.guard.url}/%6Dcp",
    "the path by way of another": lambda w: f"{w.guard.url}/x/../mcp",
    "another name of this machine": lambda w: w.guard.mcp.replace("127.0.0.1", "localhost"),
    "a user before the host": lambda w: w.guard.mcp.replace("//", "//127.0.0.1@"),
    "a host behind ours": lambda w: w.guard.mcp.replace("127.0.0.1", "127.0.0.1.evil.example"),
    "a list": lambda w: [w.guard.mcp],
    "an object": lambda w: {"url": w.guard.mcp},
    "a number": lambda _: 7,
    "a text that is no address": lambda _: "mcp",
    "an address with a line break": lambda w: f"{w.guard.url}/\nmcp",
    "a backslash": lambda w: w.guard.mcp.replace("/mcp", "\\mcp"),
}


@pytest.mark.parametrize("name", RESOURCES)
def test_metadata_for_another_resource_logs_nobody_in(world: World, name: str) -> None:
    world.guard.metadata = {"resource": RESOURCES[name](world)}
    with pytest.raises(IdentityError, match="another server"):
        world.enter()
    assert world.is_unharmed()
    assert not world.provider.said


def _good(world: World) -> dict[str, Any]:
    return world.guard.document()


DOCUMENTS: dict[str, Callable[[World], Reply]] = {
    "a key twice": lambda w: answered(json.dumps(_good(w)).encode()[:-1] + b', "resource": "https://evil.example"}'),
    "a key twice, once escaped": lambda w: answered(
        json.dumps(_good(w)).encode()[:-1] + b', "re\\u0073ource": "https://evil.example"}'
    ),
    "a list of it": lambda w: answered(json.dumps([_good(w)]).encode()),
    "a mark before it": lambda w: answered(b"\xef\xbb\xbf" + json.dumps(_good(w)).encode()),
    "in UTF-16": lambda w: answered(json.dumps(_good(w)).encode("utf-16")),
    "with a comment": lambda w: answered(b"// hello\n" + json.dumps(_good(w)).encode()),
    "with more behind it": lambda w: answered(json.dumps(_good(w)).encode() + b"{}"),
    "with a number that is none": lambda w: answered(json.dumps(_good(w) | {"x": float("nan")}).encode()),
    "nested deeply": lambda w: answered(json.dumps(_good(w)).encode()[:-1] + b', "x": ' + b"[" * 40 + b"]" * 40 + b"}"),
    "nested endlessly": lambda w: answered(
        json.dumps(_good(w)).encode()[:-1] + b', "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    ),
    "too large": lambda w: answered(json.dumps(_good(w) | {"x": "y" * 300_000}).encode()),
    "as a page": lambda w: answered(json.dumps(_good(w)).encode(), "text/html"),
    "as a script": lambda w: answered(json.dumps(_good(w)).encode(), "text/javascript"),
    "with another status": lambda w: answered(json.dumps(_good(w)).encode(), status=203),
    "as a part": lambda w: answered(json.dumps(_good(w)).encode(), status=206),
    "as an error": lambda w: answered(json.dumps(_good(w)).encode(), status=500),
    "elsewhere": lambda w: (302, {"location": f"{w.other.url}{RESOURCE}"}, None),
    "elsewhere for ever": lambda w: (308, {"location": f"{w.guard.url}{RESOURCE}"}, None),
    "packed": lambda w: (200, {"content-encoding": "gzip"}, json.dumps(_good(w)).encode()),
    "empty": lambda _: answered(b""),
    "null": lambda _: answered(b"null"),
    "half of it": lambda w: answered(json.dumps(_good(w)).encode()[:-20]),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_that_is_none_logs_nobody_in(world: World, name: str) -> None:
    world.guard.overrides[RESOURCE] = lambda _: DOCUMENTS[name](world)
    with pytest.raises(IdentityError):
        world.enter()
    assert world.is_unharmed()
    assert not world.provider.said


PRIVATE = [
    "https://10.0.0.7", "https://169.254.169.254/latest", "https://192.168.0.1", "https://[fd00::1]", "https://[::]",
    "https://172.16.5.4", "https://100.64.0.1", "https://0.0.0.0", "https://[::ffff:10.0.0.7]", "https://0x0a000007",
    "https://167772167", "https://012.0.0.7", "https://[64:ff9b::a00:7]", "https://168.63.129.16", "https://[fe80::1]",
    "https://metadata.google.internal", "https://does-not-exist.invalid", "http://93.184.216.34", "ftp://a.example",
    "https://a.example:0", "https://", "//a.example", "https://a.example\u2025evil.example", "https://[::1%25lo]",
    "unix:///run/x.sock", "data:application/json,{}", " https://10.0.0.7 ", "https://10.0.0.7.",
]  # fmt: skip


@pytest.mark.parametrize("url", sampled(PRIVATE, 3))
@pytest.mark.parametrize("where", ["resource_metadata", "authorization_servers", "endpoints"])
def test_an_address_that_nobody_may_be_asked_at_is_not_asked(
    world: World, monkeypatch: pytest.MonkeyPatch, url: str, where: str
) -> None:
    async def look_up(host: str, port: int) -> list[str]:
        del port
        if host.endswith(".invalid"):
            raise OSError
        return ["10.0.0.8"] if host[-1].isalpha() else [host]  # a name server that is the attacker's

    monkeypatch.setattr("rightcall.tools.pages.look_up", look_up)
    if where == "resource_metadata":
        sent = url.encode("utf-8").decode("latin-1")
        world.guard.overrides["/mcp"] = (401, {"www-authenticate": f'Bearer resource_metadata="{sent}"'}, None)
    elif where == "authorization_servers":
        world.guard.metadata = {"authorization_servers": [url]}
    else:
        world.provider.metadata = {"token_endpoint": url, "registration_endpoint": url}
    with pytest.raises(IdentityError):
        world.enter()
    assert world.is_unharmed()
    assert not world.shown


# ── what a provider says of itself ──

METADATA = "/.well-known/oauth-authorization-server"
ISSUERS: dict[str, Callable[[World], Any]] = {
    "another": lambda w: w.other.url,
    "with a path": lambda w: f"{w.provider.url}/tenant",
    "with a query": lambda w: f"{w.provider.url}?x=1",
    "in capitals": lambda w: w.provider.url.upper(),
    "with two slashes": lambda w: f"{w.provider.url}//x",
    "by another name": lambda w: w.provider.url.replace("127.0.0.1", "localhost"),
    "with a blank": lambda w: f"{w.provider.url} ",
    "a list": lambda w: [w.provider.url],
    "nothing": lambda _: None,
    "an empty text": lambda _: "",
}


@pytest.mark.parametrize("name", ISSUERS)
def test_metadata_of_another_issuer_logs_nobody_in(world: World, name: str) -> None:
    world.provider.metadata = {"issuer": ISSUERS[name](world)}
    with pytest.raises(IdentityError, match="another issuer"):
        world.enter()
    assert world.is_unharmed()
    assert not world.shown


def _page(world: World, behind: str) -> dict[str, Any]:
    return {"authorization_endpoint": f"{world.provider.url}/authorize{behind}"}


PAGES: dict[str, Callable[[World], dict[str, Any]]] = {
    "a script": lambda _: {"authorization_endpoint": "javascript:alert(1)"},
    "a file": lambda _: {"authorization_endpoint": "file:///etc/passwd"},
    "brings a redirect": lambda w: _page(w, "?redirect_uri=https://e.example"),
    "brings a response type": lambda w: _page(w, "?response_type=token"),
    "brings a state": lambda w: _page(w, "?state=theirs"),
    "brings a challenge": lambda w: _page(w, "?code_challenge=x"),
    "brings the method": lambda w: _page(w, "?code_challenge_method=plain"),
    "brings a request": lambda w: _page(w, "?request_uri=urn:x"),
    "brings a mode": lambda w: _page(w, "?response_mode=form_post"),
    "brings one quoted": lambda w: _page(w, "?redirect%5Furi=https://e.example"),
    "in the clear": lambda _: {"authorization_endpoint": "http://login.example/authorize"},
    "in a private network": lambda _: {"authorization_endpoint": "https://10.0.0.7/authorize"},
    "none": lambda _: {"authorization_endpoint": None},
    "with a command for the terminal": lambda w: {"authorization_endpoint": f"{w.provider.url}/\x1b]0;x\x07authorize"},
    "with a password": lambda w: {"authorization_endpoint": w.provider.url.replace("//", "//a:b@") + "/authorize"},
    "PKCE plain only": lambda _: {"code_challenge_methods_supported": ["plain"]},
    "PKCE in small letters": lambda _: {"code_challenge_methods_supported": ["s256"]},
    "PKCE as a text": lambda _: {"code_challenge_methods_supported": "plain S256"},
    "PKCE as an object": lambda _: {"code_challenge_methods_supported": {"S256": True}},
    "PKCE nowhere": lambda _: {"code_challenge_methods_supported": None},
    "PKCE in a list in the list": lambda _: {"code_challenge_methods_supported": [["S256"]]},
}  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_a_page_to_log_in_that_could_cheat_is_shown_to_nobody(world: World, name: str) -> None:
    world.provider.metadata = PAGES[name](world)
    with pytest.raises(IdentityError):
        world.enter()
    assert world.is_unharmed()
    assert not world.shown
    assert not world.provider.asked("/authorize")


# ── answers that never end ──


@pytest.mark.parametrize("path", [RESOURCE, METADATA, "/register", "/token"])
@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{", b"HTTP/1.1 200 O"])
def test_a_slow_answer_is_given_up(world: World, monkeypatch: pytest.MonkeyPatch, path: str, head: bytes) -> None:
    monkeypatch.setattr(sys.modules[Reach.__module__], "SECONDS", 0.15)
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as slow:

        def drip() -> None:
            while not over.is_set():
                with suppress(OSError):
                    connection, _ = slow.accept()
                    threading.Thread(target=_drip, args=(connection, head, over), daemon=True).start()

        threading.Thread(target=drip, daemon=True).start()
        at = f"http://127.0.0.1:{slow.getsockname()[1]}"
        match path:
            case "/register" | "/token":
                key = "registration_endpoint" if path == "/register" else "token_endpoint"
                world.provider.metadata = {key: f"{at}{path}"}
            case _ if path == METADATA:
                world.guard.metadata = {"authorization_servers": [at]}
            case _:
                challenge = f'Bearer resource_metadata="{at}{path}"'
                world.guard.overrides["/mcp"] = (401, {"www-authenticate": challenge}, None)
        try:
            with pytest.raises(IdentityError, match="within"):
                world.enter(Wish(seconds=3))
        finally:
            over.set()
    assert world.is_unharmed()


def _drip(connection: socket.socket, head: bytes, over: threading.Event) -> None:
    with connection, suppress(OSError):
        connection.sendall(head)
        while not over.wait(0.02):
            connection.sendall(b" ")


# ── redirects ──


@pytest.mark.parametrize("status", sampled([301, 302, 303, 307, 308], 2))
@pytest.mark.parametrize("path", ["/token", "/register", METADATA, "/device", "/revoke"])
def test_nothing_follows_a_redirect(world: World, path: str, status: int) -> None:
    world.provider.overrides[path] = (status, {"location": f"{world.other.url}{path}"}, {"access_token": "x"})
    if path == "/revoke":
        world.enter()
        from rightcall.identity.logins import log_out

        assert asyncio.run(log_out(world.server, "", world.vault)) is not None
    else:
        with pytest.raises(IdentityError):
            world.enter(Wish(device=path == "/device", seconds=0.7))
    assert world.is_unharmed()


# ── the way back from the browser ──

BACK: dict[str, dict[str, str | None]] = {
    "no state": {"state": None},
    "an empty state": {"state": ""},
    "another state": {"state": "x" * 43},
    "a state with more": {"state": "{}x"},
    "another issuer": {"iss": "https://evil.example"},
    "no issuer": {"iss": None},
    "an empty issuer": {"iss": ""},
    "the issuer with a slash": {"iss": "{issuer}/"},
    "an error without an issuer": {"iss": None, "error": "access_denied", "code": None},
    "an error of another": {"iss": "https://evil.example", "error": "server_error"},
    "an error beside a code": {"error": "temporarily_unavailable"},
    "no code": {"code": None},
    "an empty code": {"code": ""},
    "a long code": {"code": "c" * 5000},
    "a code with a line break": {"code": "a\r\nb"},
    "a code of somebody else": {"code": "stolen-elsewhere"},
    "a token instead": {"code": None, "access_token": "theirs", "token_type": "Bearer"},
}


@pytest.mark.parametrize("name", BACK)
def test_an_answer_that_was_changed_on_its_way_logs_nobody_in(world: World, name: str) -> None:
    changed = BACK[name]

    def authorize(said: Said) -> Reply:
        own: dict[str, str | None] = {
            key: one and one.replace("{issuer}", world.provider.url) for key, one in changed.items()
        }
        if name == "a state with more":
            own = {"state": said.query["state"] + "x"}
        world.provider.redirected = own
        del world.provider.overrides["/authorize"]
        return world.provider.answer(said)

    world.provider.overrides["/authorize"] = authorize
    with pytest.raises(IdentityError):
        world.enter()
    assert world.is_unharmed()


def test_a_missing_issuer_is_said_to_be_missing(world: World) -> None:
    world.provider.redirected = {"iss": None, "error": "access_denied", "code": None}
    with pytest.raises(IdentityError, match=r"does not say which provider it is from \(iss\)"):
        world.enter()


FORGED = [
    "/callback", "/callback?state={s}&state={s}&code=x", "/callback/?state={s}&code=x", "/?state={s}&code=x",
    "/callback?code=x", "//evil.example/callback?state={s}&code=x", "/callback?STATE={s}&code=x",
    "/callback;x?state={s}&code=x", "/callback?" + "a=1&" * 60 + "state={s}&code=x", "/callback#?state={s}&code=x",
]  # fmt: skip


def test_a_page_on_this_machine_that_guesses_ends_no_login(world: World) -> None:
    """All of these come while the login waits, one of them from a page of another origin; then the right one does."""
    seen: list[int] = []

    def authorize(said: Said) -> Reply:
        back = said.query["redirect_uri"].removesuffix("/callback")
        seen.extend(get(back + one.replace("{s}", "guess"))[0] for one in FORGED)
        seen.extend(
            get(back + one.replace("{s}", said.query["state"]))[0] for one in FORGED if "state={s}&state" in one
        )
        del world.provider.overrides["/authorize"]
        return world.provider.answer(said)

    world.provider.overrides["/authorize"] = authorize
    login = world.enter(Wish(seconds=4))
    assert set(seen) == {400}
    assert login.provider.issuer == world.provider.url


# ── a code for another device ──

DEVICE: dict[str, dict[str, Any]] = {
    "typed at somebody else's": {"verification_uri": "https://93.184.216.34/login/device"},
    "a link to somebody else's": {"verification_uri_complete": "https://93.184.216.34/login/device?user_code=X"},
    "a script": {"verification_uri": "javascript:alert(1)"},
    "in a private network": {"verification_uri": "https://192.168.0.1/"},
    "in the clear": {"verification_uri": "http://login.example/device"},
    "a code with a command": {"user_code": "`curl evil`"},
    "a code for the terminal": {"user_code": "\x1b[2J"},
    "a code in two lines": {"user_code": "A\nB"},
    "a long code": {"user_code": "A" * 100},
    "no code": {"user_code": None},
    "no code of ours": {"device_code": None},
    "a code of ours in two lines": {"device_code": "a\nb"},
}


@pytest.mark.parametrize("name", DEVICE)
def test_a_code_that_could_let_somebody_else_in_is_shown_to_nobody(world: World, name: str) -> None:
    about = {"device_code": "d", "user_code": "WDJB-MJHT", "verification_uri": f"{world.provider.url}/activate"}
    given = {key: one for key, one in (about | DEVICE[name]).items() if one is not None}
    world.provider.overrides["/device"] = (200, {}, given)
    with pytest.raises(IdentityError) as caught:
        world.enter(Wish(device=True))
    assert world.is_unharmed()
    assert not world.shown
    if "somebody else's" in name:
        assert "--device --issuer" in str(caught.value)


# ── servers that change their mind ──


@pytest.mark.parametrize("path", ["", "/", "/tenant", "?x"])
def test_another_provider_gets_nothing_whatever_it_is_called(world: World, path: str) -> None:
    world.enter()
    world.guard.metadata = {"authorization_servers": [f"{world.other.url}{path}"]}
    with pytest.raises(IdentityError, match=r"now names|query"):
        world.enter()
    assert not world.other.said


def test_a_server_that_moves_its_login_to_another_address_gets_no_token(world: World) -> None:
    world.enter()
    moved = replace(world.server, url=f"{world.other.url}/mcp")
    assert asyncio.run(Access(moved, vault=world.vault).headers()) == []
    below = replace(world.server, url=f"{world.guard.mcp}/below")
    assert asyncio.run(Access(below, vault=world.vault).headers()) == []
    with pytest.raises(LoginNeeded):
        asyncio.run(Access(replace(world.server, issuer="https://login.example"), vault=world.vault).headers())


# ── programs that print a token ──

PRINTED: dict[str, str] = {
    "nothing": "pass",
    "blanks": "print('  ')",
    "two lines": "print('a'); print('b')",
    "a header more": r"print('a\r\nx-evil: 1')",
    "with its scheme": "print('Bearer abc')",
    "another alphabet": "print('tökén')",
    "bytes": "import sys; sys.stdout.buffer.write(bytes([255, 254, 0]))",
    "too much": "print('x' * 60_000)",
    "too long a token": "print('x' * 17_000)",
    "JSON without it": "print('{}')",
    "JSON with a number": "print('{\"access_token\": 5}')",
    "JSON with a list": 'print(\'{"access_token": ["a"]}\')',
    "JSON that is broken": 'print(\'{"access_token": "a"\')',
    "JSON with a line break": r"""print('{"access_token": "a\\r\\nb"}')""",
    "a wrong end": "print('a'); raise SystemExit(3)",
    "a NUL": r"print('a\0b')",
    "a command for the terminal": r"print('\x1b[2Jabc')",
}


@every("name", PRINTED)
def test_what_a_program_prints_is_a_token_or_nothing(name: str) -> None:
    command = (sys.executable, "-c", PRINTED[name])
    server = Server("notes", url="https://mcp.example/mcp", token_command=command)
    with pytest.raises(IdentityError) as caught:
        asyncio.run(TokenAccess(server).headers())
    assert "xxx" not in str(caught.value)
    assert "\x1b" not in str(caught.value)
