"""A console that others reach: over TLS with a certificate of its own, by its public name, on a phone."""

from pathlib import Path

import pytest

from rightcall.console.app import Console, console_running
from rightcall.policy.settings import ConsoleSettings, Policy
from rightcall.record.sqlite import SqliteStore
from rightcall.server.app import bind
from support.approvals import request_of, try_call
from support.busy_console import enter, login_link
from support.chromium import Chromium
from support.consoles import certificate

NAME = "console.localhost"
"""A name that every browser takes for this machine."""


@pytest.mark.promise("H-10")
def test_a_waiting_write_is_approved_over_tls_on_a_phone(browser: Chromium, tmp_path: Path) -> None:
    pem, key = certificate(tmp_path, NAME)
    with bind("127.0.0.1", 0) as free:
        port: int = free.getsockname()[1]
    store = SqliteStore(tmp_path / "audit.db")
    origin = f"https://{NAME}:{port}"
    settings = ConsoleSettings(port=port, public_url=origin, certificate=str(pem), private_key=str(key))
    question = try_call(store, request_of(at=store.clock.now())).decision.approval
    with console_running(Console(store, Policy), settings) as address:
        assert address.origin == origin
        page = browser.page()
        page.size(360, 740)
        page.ask("Security.setIgnoreCertificateErrors", ignore=True)  # nobody vouches for it but itself
        enter(page, login_link(store, address, "ann"))
        assert page.run("[location.origin, isSecureContext]") == [origin, True]
        cookies = page.ask("Network.getCookies")["cookies"]
        assert [(one["secure"], one["httpOnly"], one["sameSite"]) for one in cookies] == [(True, True, "Strict")]
        page.open(f"{origin}/inbox/{question}")
        page.wait("document.getElementById('link').dataset.state === 'live'")  # the event stream too
        assert page.run("document.documentElement.scrollWidth") == 360
        page.wait("performance.now() > 800")
        page.loading(lambda: page.click("button[value=approve]"))
        assert "by ann" in page.text("#state")
        found = store.look(lambda tables: tables.approval(question or ""))
        assert found is not None
        assert (found.status, found.by) == ("approved", "ann")
        assert page.troubles() == []
        assert [one for one in page.requested if not one.startswith((origin, "data:"))] == []
        page.close()
    store.close()
