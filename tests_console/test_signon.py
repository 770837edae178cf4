"""Logging in with an identity provider on another site, in a real browser on a phone: cookies, redirects, the page."""

from pathlib import Path

import pytest

from rightcall import load_policy
from rightcall.console.app import Console, console_running
from rightcall.policy.settings import ConsoleSettings
from rightcall.record.sqlite import SqliteStore
from rightcall.server.app import bind
from support.chromium import Chromium
from support.consoles import certificate
from support.openid import GATEWAY, OpenId

NAME = "console.localhost"


@pytest.mark.promise("I-08")
def test_a_person_logs_in_with_a_provider_on_another_site(browser: Chromium, tmp_path: Path) -> None:
    pem, key = certificate(tmp_path, NAME)
    with bind("127.0.0.1", 0) as free:
        port: int = free.getsockname()[1]
    store = SqliteStore(tmp_path / "audit.db")
    origin = f"https://{NAME}:{port}"
    settings = ConsoleSettings(port=port, public_url=origin, certificate=str(pem), private_key=str(key))
    with OpenId() as provider:
        provider.people["anna"] = {"email": "anna@example.org", "email_verified": True}
        name = "A provider with a name that is much too long for the button on a phone"
        table = {"issuer": provider.issuer, "audience": GATEWAY, "client_id": "console", "name": name}
        policy = load_policy({"identity": table | {"map": {"*": {"may": "look"}}}})
        with console_running(Console(store, lambda: policy), settings):
            page = browser.page()
            page.size(360, 740)
            page.ask("Security.setIgnoreCertificateErrors", ignore=True)  # nobody vouches for it but itself
            page.open(f"{origin}/live")
            assert page.run("document.documentElement.scrollWidth") == 360
            page.loading(lambda: page.click("a[href^='/login/with/0']"))
            page.wait("location.pathname === '/live'")
            assert "anna@example.org" in page.run("document.querySelector('.who').innerHTML")
            cookies = page.ask("Network.getCookies")["cookies"]
            kinds = [(one["name"].startswith("__Host-"), one["httpOnly"], one["sameSite"]) for one in cookies]
            assert kinds == [(True, True, "Strict")]  # that of the login is gone
            assert page.troubles() == []
            page.close()
    store.close()
