"""What a router notes in the audit holds no secret."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from support.routers import Shop, choice, ranks, within


@pytest.mark.promise("A-02")
def test_a_reason_that_quotes_a_secret_argument_stands_in_the_audit_without_it(tmp_path: Path) -> None:
    shop = Shop(tmp_path)

    @shop.executor.tool(effects=["read"])
    def login(user: str, password: str) -> str:
        """Log in."""
        return user

    quoting = '{"approved": "no, default is a weak password", "confidence": 0.2}'
    router = shop.router([choice("login", user="u", password="default"), quoting], candidates=ranks("login"))

    async def work() -> list[Any]:
        await router.answer("Log me in")
        return [json.decode(entry.body)["data"] for entry in shop.entries() if entry.kind == "message"]

    (told,) = within(shop, work)
    assert (told["caller"], told["decision"], told["tool"]) == ("default", "review_failed", "login")
    assert "[redacted " in told["why"]
    assert "default" not in told["why"]
