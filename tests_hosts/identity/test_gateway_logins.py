"""Our gateway as the client of the official SDKs' protected servers, with two different providers: a person logs in
with `rightcall login`, and what follows."""

from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from identity.desk import Desk
from identity.person import Person
from identity.protected import SDKS, Protected, protected
from identity.providers import CERTIFIED, MACHINE, MACHINE_SECRET, Provider

pytestmark = pytest.mark.promise("I-02", "I-03")
Sitting = Callable[..., Desk]


@pytest.fixture(scope="module", params=SDKS)
def server(request: pytest.FixtureRequest, provider: Provider, npm_bin: Path) -> Generator[Protected]:
    with protected(request.param, provider.issuer, npm_bin) as started:
        yield started


@pytest.fixture
def sit(server: Protected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sitting:
    """`more` are lines of `[servers.notes]`."""
    return lambda more="": Desk(tmp_path, server.url, more, monkeypatch)


def test_a_call_says_what_to_run_and_works_after_it(sit: Sitting, alice: Person, provider: Provider) -> None:
    desk = sit()
    assert "rightcall login notes" in desk.call("whoami")
    done = desk.login(alice)
    assert done.code == 0, done.err
    assert done.json["issuer"] == provider.issuer
    assert desk.call("whoami").startswith("alice mcp:read")


def test_a_token_that_the_server_refuses_is_renewed_and_nobody_is_asked(
    sit: Sitting, server: Protected, alice: Person
) -> None:
    desk = sit()
    assert desk.login(alice).code == 0
    pages = len(alice.visited)
    for told in desk.calls(("whoami", {}), ("whoami", {}), ("whoami", {}), between=server.refuse_all):
        assert told.startswith("alice mcp:read")
    assert len(alice.visited) == pages


def test_a_tool_that_needs_more_scopes_gets_them_by_another_login(sit: Sitting, alice: Person) -> None:
    desk = sit()
    assert desk.login(alice).code == 0
    refused = desk.call("write", text="x")
    assert "mcp:write" in refused
    assert "rightcall login notes" in refused
    assert desk.login(alice).code == 0
    assert desk.call("write", text="x") == "wrote x"
    assert set(desk.call("whoami").split()[1:]) >= {"mcp:read", "mcp:write"}


def test_a_login_that_was_taken_back_is_said_and_nothing_is_sent(
    sit: Sitting, server: Protected, provider: Provider, alice: Person
) -> None:
    desk = sit()
    assert desk.login(alice).code == 0
    assert desk.call("whoami").startswith("alice")
    provider.order(forget=True)
    server.refuse_all()
    for _ in range(2):
        assert "rightcall login notes" in desk.call("whoami")
    assert desk.login(alice).code == 0
    assert desk.call("whoami").startswith("alice")


def test_a_logout_takes_the_tokens_back(sit: Sitting, alice: Person) -> None:
    desk = sit()
    assert desk.login(alice).code == 0
    done = desk.run("logout", "notes", "--json")
    assert done.json == {"server": "notes", "logged_out": True, "revoked": True}
    assert "rightcall login notes" in desk.call("whoami")


def test_a_machine_logs_in_by_itself(sit: Sitting, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MACHINE_SECRET", MACHINE_SECRET)
    keys = f'login = "machine"\nclient_id = "{MACHINE}"\nclient_secret_env = "MACHINE_SECRET"\nscopes = ["mcp:read"]'
    keys += f'\nissuer = "{provider.issuer}"'
    assert sit(keys).call("whoami") == f"{MACHINE} mcp:read"


def test_a_code_on_another_device_logs_in(sit: Sitting, provider: Provider, alice: Person) -> None:
    desk = sit()
    done = desk.login(alice, "--device")
    if provider.kind == CERTIFIED:
        assert done.code == 0, done.err
        assert desk.call("whoami").startswith("alice mcp:read")
    else:  # its metadata does not name the place for it
        assert done.code != 0
        assert "offers no login by a code" in done.err


def test_somebody_who_says_no_is_not_logged_in(sit: Sitting, provider: Provider, alice: Person) -> None:
    desk = sit()

    def cancelled(link: str, _: str) -> None:
        back = alice.refuse(link)
        assert "error=access_denied" in back.url

    done = desk.login(alice, open=cancelled)
    assert done.code != 0
    # The toolkit says that it names itself in each answer, and does not in this one: RFC 9207 wants it refused.
    assert ("access_denied" if provider.kind == CERTIFIED else "does not say which provider it is from") in done.err
    assert "rightcall login notes" in desk.call("whoami")
