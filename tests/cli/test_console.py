"""`rightcall people` and `rightcall console`: credentials shown once, links for terminals alone."""

import json
import re
import subprocess
import sys
from argparse import Namespace
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rightcall.cli.console import _pointed
from rightcall.cli.persons import login_name
from rightcall.console.access import Address
from rightcall.console.people import enter, people
from rightcall.record.sqlite import SqliteStore
from support.cli import Runner, Terminal, environment
from support.consoles import Browser
from support.consoles import opened as console_on

pytestmark = pytest.mark.promise("H-10")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rightcall.toml").write_text("[callers.teacher]\n")
    return tmp_path


def store_of(folder: Path) -> SqliteStore:
    return SqliteStore(folder / ".rightcall" / "audit.db")


def test_a_person_is_added_listed_and_revoked(run: Runner, folder: Path) -> None:
    added = run("people", "add", "ann", "--by", "root")
    assert (added.code, added.err) == (0, "")
    assert added.out.startswith("ann may look and answer approvals in the console. The credential is shown only now:")
    secret = added.out.splitlines()[2].strip()
    store = store_of(folder)
    found = store.transact(lambda tables: enter(tables, secret, "person"))
    store.close()
    assert found is not None
    run("people", "add", "bob", "--may", "look", "--by", "root")
    listed = json.loads(run("people", "list", "--json").out)["people"]
    told = [(one["person"], one["may"], one["sessions"]) for one in listed]
    assert told == [("ann", "approve", 1), ("bob", "look", 0)]
    assert secret not in run("people", "list").out
    assert run("people", "revoke", "ann", "--by", "root").out == (
        "ann is revoked: credential, links and sessions do not count any more.\n"
    )
    store = store_of(folder)
    assert [one.person for one in store.look(people)] == ["bob"]
    store.close()
    gone = run("people", "revoke", "ann", "--by", "root")
    assert (gone.code, gone.err.startswith("error: unknown person 'ann'")) == (2, True)


def test_a_caller_of_the_policy_cannot_be_a_person(run: Runner) -> None:
    for name in ("teacher", "Teacher"):
        done = run("people", "add", name, "--by", "root")
        assert (done.code, "invalid person" in done.err) == (2, True)


def test_a_link_logs_in_whoever_opens_it_first(run: Runner, folder: Path) -> None:
    run("people", "add", "ann", "--by", "root")
    done = run("console", "link", "--as", "ann", "--port", "4999")
    assert done.out.startswith("http://127.0.0.1:4999/enter/")
    secret = done.out.strip().rpartition("/")[2]
    store = store_of(folder)
    with console_on(store) as address:
        entered = Browser(address).post(f"/enter/{secret}")
        assert (entered.status, entered.location) == (303, "/")
    store.close()


def test_the_user_of_the_machine_is_the_first_person_and_no_other(run: Runner, folder: Path) -> None:
    store_of(folder).close()
    assert run("console", "link", "--port", "4142").code == 0
    listed = json.loads(run("people", "list", "--json").out)["people"]
    assert [(one["person"], one["may"]) for one in listed] == [(login_name(), "approve")]
    run("people", "add", "ann", "--by", "root")
    run("people", "revoke", login_name(), "--by", "ann")
    done = run("console", "link", "--port", "4142")
    assert (done.code, "is not among the people" in done.err) == (2, True)


def test_a_link_needs_a_person_a_store_and_a_port(run: Runner, folder: Path) -> None:
    assert "no audit log" in run("console", "link").err
    store_of(folder).close()
    assert "unknown person 'eve'" in run("console", "link", "--as", "eve", "--port", "4142").err
    assert "--port N" in run("console", "link", "--port", "0").err


def test_a_link_names_the_address_that_people_use(run: Runner, folder: Path) -> None:
    store_of(folder).close()
    (folder / "own.toml").write_text('[console]\npublic_url = "https://console.example.org"\nplain_http = true\n')
    done = run("console", "link", "--policy", "own.toml", "--store", ".rightcall/audit.db")
    assert done.out.startswith("https://console.example.org/enter/")


def test_a_policy_that_was_only_found_opens_nothing_to_others(run: Runner, folder: Path) -> None:
    store_of(folder).close()
    said = '[console]\nhost = "0.0.0.0"\nport = 80\npublic_url = "https://evil.example"\n'
    (folder / "rightcall.toml").write_text(said)
    assert run("console", "link", "--port", "4142").out.startswith("http://127.0.0.1:4142/enter/")


def test_other_addresses_need_tls(run: Runner, folder: Path) -> None:
    store_of(folder).close()
    (folder / "own.toml").write_text('[console]\nhost = "0.0.0.0"\n')
    done = run("console", "--policy", "own.toml", "--store", ".rightcall/audit.db")
    assert (done.code, "without TLS" in done.err) == (2, True)


@pytest.mark.parametrize("words", [["console", "--port", "0", "--json"], ["serve", "--port", "0", "--json"]], ids=str)
def test_the_console_starts_by_itself_and_beside_a_server_and_prints_no_link_into_a_log(
    folder: Path, words: list[str]
) -> None:
    store_of(folder).close()
    process = subprocess.Popen(
        [sys.executable, "-m", "rightcall", *words],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment(), text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        origin: str = told["console"] if words[0] == "serve" else told["address"]
        assert told.get("link") is None
        assert "/enter/" not in json.dumps(told)
        port = int(origin.rpartition(":")[2])
        assert Browser(Address("127.0.0.1", port)).get("/").location == "/login?next=%2F"
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()  # type: ignore[union-attr]
    assert process.returncode == 128 + 15


@pytest.mark.parametrize("words", [["console", "--port", "0"], ["serve", "--port", "0"]], ids=str)
def test_at_a_terminal_the_link_is_printed_and_logs_in(folder: Path, words: list[str]) -> None:
    store_of(folder).close()
    with Terminal(*words) as terminal:
        while not (found := re.search(r"Console: (http://127\.0\.0\.1:\d+)/enter/([\w-]+)\s", terminal.seen)):
            terminal.until("\n")
        assert "This link logs you in once" in terminal.seen
        origin, secret = found.groups()
        browser = Browser(Address("127.0.0.1", int(origin.rpartition(":")[2])))
        entered = browser.post(f"/enter/{secret}")
        assert entered.status == 303
        browser.secret = entered.headers["set-cookie"].partition(";")[0].partition("=")[2]
        assert login_name() in browser.get("/").text
        terminal.interrupt()
        assert terminal.end()[0] == 130


@contextmanager
def started(*words: str) -> Generator[dict[str, Any]]:
    """What a server or console told of itself, while it runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rightcall", *words, "--port", "0", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment(), text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()  # type: ignore[union-attr]


@pytest.mark.parametrize("word", ["console", "serve"])
def test_a_link_leads_to_the_console_that_runs_whatever_its_port(run: Runner, folder: Path, word: str) -> None:
    store_of(folder).close()
    with started(word) as told:
        origin = told["console"] if word == "serve" else told["address"]
        assert run("console", "link").out.startswith(f"{origin}/enter/")
    gone = run("console", "link")
    assert gone.code == 2
    assert "no console of this audit log is running" in gone.err
    assert "`rightcall console`" in gone.err


def test_status_names_the_server_of_a_folder_without_a_policy(run: Runner, folder: Path) -> None:
    (folder / "rightcall.toml").unlink()
    assert "server: none is running for this folder" in run("status").out
    with started("serve") as told:
        assert (
            f"server: runs at {told['address']}; without a policy file each hook judges by itself" in run("status").out
        )


def logged_in(run: Runner, origin: str) -> Browser:
    port = origin.rpartition(":")[2]
    browser = Browser(Address("127.0.0.1", int(port)))
    secret = run("console", "link", "--port", port).out.strip().rpartition("/")[2]
    entered = browser.post(f"/enter/{secret}")
    browser.secret = entered.headers["set-cookie"].partition(";")[0].partition("=")[2]
    return browser


@pytest.mark.parametrize(
    "words",
    [["serve"], pytest.param(["proxy", "--upstream", "http://127.0.0.1:9"], marks=pytest.mark.long)],
    ids=["serve", "proxy"],
)
def test_the_doctor_beside_a_server_checks_the_machine(run: Runner, folder: Path, words: list[str]) -> None:
    store_of(folder).close()
    with started(*words) as told:
        browser = logged_in(run, told["console"])
        assert browser.post("/doctor/checks").status == 303
        while "data-poll" in (page := browser.get("/doctor").text):
            pass
        assert ("audit.db: " in page, "it failed" in page) == (True, False)


@pytest.mark.parametrize("words", [["--no-console"], ["--no-audit"]], ids=str)
def test_a_server_runs_without_the_console_where_it_is_told_to(folder: Path, words: list[str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "rightcall", "serve", "--port", "0", "--json", *words],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment(), text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert "console" not in json.loads(process.stdout.readline())
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()  # type: ignore[union-attr]


def test_without_a_terminal_the_command_for_a_link_is_one_that_can_be_pasted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sys.argv", ["/opt/own/bin/rightcall", "serve"])
    options = Namespace(policy=None, root=".", store=None)
    address, command = _pointed(Address("127.0.0.1", 5000), options)
    assert address == "Console: http://127.0.0.1:5000"
    assert command == "`/opt/own/bin/rightcall console link --port 5000` prints a login link."
