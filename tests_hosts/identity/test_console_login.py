"""People log into the console with two different providers: the code flow with PKCE, state and nonce, and a session."""

import json
from collections.abc import Generator
from pathlib import Path

import pytest

from identity.guarded import Guarded, free_port, guarded, tools
from identity.person import Page, Person
from identity.providers import CONSOLE, CONSOLE_SECRET, PROVIDERS, clients, provider

pytestmark = pytest.mark.promise("I-08")
LINES = f"""\
client_id = "{CONSOLE}"
client_secret_env = "CONSOLE_SECRET"
login_scopes = ["openid", "email", "groups"]
"""


@pytest.fixture(scope="module", params=PROVIDERS)
def console(
    request: pytest.FixtureRequest, npm_bin: Path, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Guarded]:
    folder, port = tmp_path_factory.mktemp("console"), free_port()
    registered = clients((f"http://127.0.0.1:{port}/login/back",))
    tables = f"{tools(folder)}\n[console]\nport = {port}"
    with (
        provider(request.param, npm_bin, registered) as started,
        guarded(started.issuer, folder, tables, LINES, CONSOLE_SECRET=CONSOLE_SECRET) as running,
    ):
        yield running


def visit(person: Person, console: Guarded, path: str = "/login/with/0?next=/live") -> Page:
    return person.open(f"{console.console}{path}", reading=console.console)


def test_a_person_comes_in_and_is_in_the_record(console: Guarded, alice: Person) -> None:
    page = visit(alice, console)
    assert (page.status, page.url) == (200, f"{console.console}/live")
    assert "alice" in page.text
    changes = [json.loads(record["body"]) for record in console.records() if record["kind"] == "change"]
    assert {one["by"] for one in changes if one["what"] == "logged in"} == {"alice"}


def test_a_person_whom_the_map_does_not_name_stays_outside(console: Guarded) -> None:
    with Person("bob") as bob:
        page = visit(bob, console)
        assert page.status == 401
        assert not visit(bob, console, "/live").url.endswith("/live")


def test_an_answer_that_was_used_is_not_taken_again(console: Guarded, alice: Person) -> None:
    visit(alice, console)
    back = next(url for url in reversed(alice.visited) if "/login/back?" in url)
    with Person("alice") as another:
        assert another.open(back, reading=back[:20]).status == 401
    assert alice.open(back, reading=back[:20]).status == 401
