"""A caller is who its token says, over real sockets and with both stores: nobody speaks for another caller, redeems
another's approval, takes another's session or reads another's records."""

import asyncio
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec import json

from rightcall.errors import ConfigError, StoreError
from rightcall.identity.callers import check_caller
from rightcall.mcp.gateway.gateway import CALLER as GATEWAY
from rightcall.proxy.gates import CALLER as PROXY
from rightcall.record.admission import Reply, answer
from rightcall.record.memory import MemoryStore
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import ManualClock, Store, Tables
from rightcall.server import access
from rightcall.server.access import (
    DEFAULT,
    DEFAULTS,
    PREFIX,
    Callers,
    TokenRequest,
    digest_of,
    make_token,
    revoke_tokens,
)
from support.callers import META, OWN, Site, site_of, text_of
from support.every import every

pytestmark = pytest.mark.promise("P-14")

CALLER, TOKEN = "x-rightcall-caller", "x-rightcall-token"
OK, WRONG_TOKEN, WRONG_CALLER = (200, None), (401, "wrong_token"), (403, "wrong_caller")


@pytest.fixture(scope="module", params=["memory", "sqlite"])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site_of(request.param, tmp_path_factory.mktemp("store")) as one:
        yield one


def forged(site: Site) -> list[tuple[str, str, Any, tuple[int, Any]]]:
    """What it is, the path, the headers, and what it gets."""
    ada, eve = site.tokens["ada"], site.tokens["eve"]
    token_id = next(one.id for one in site.store.look(lambda tables: tables.tokens()) if one.caller == "ada")
    return [
        ("the token alone", f"/{ada}/v1/models", {}, OK),
        ("its own name", f"/{ada}/v1/models", {CALLER: "ada"}, OK),
        ("the token in its header", "/v1/models", {TOKEN: ada, CALLER: "ada"}, OK),
        ("the same token twice", f"/{ada}/v1/models", {TOKEN: ada}, OK),
        ("blanks around its own name", f"/{ada}/v1/models", {CALLER: "  ada\t"}, OK),
        ("another's name", f"/{eve}/v1/models", {CALLER: "ada"}, WRONG_CALLER),
        ("another's name, other case of the header", f"/{eve}/v1/models", {"X-RightCall-CALLER": "ada"}, WRONG_CALLER),
        ("its name in another case", f"/{ada}/v1/models", {CALLER: "Ada"}, WRONG_CALLER),
        ("a Cyrillic letter", f"/{ada}/v1/models", {CALLER: "\u0430da"}, WRONG_CALLER),
        ("a hidden character", f"/{ada}/v1/models", {CALLER: "ada\u200b"}, WRONG_CALLER),
        ("no UTF-8", f"/{ada}/v1/models", {CALLER: b"ada\xff"}, WRONG_CALLER),
        ("an empty name", f"/{ada}/v1/models", {CALLER: ""}, WRONG_CALLER),
        ("a long name", f"/{ada}/v1/models", {CALLER: "a" * 5000}, WRONG_CALLER),
        ("two names, its own first", f"/{eve}/v1/models", [(CALLER, "eve"), (CALLER, "ada")], WRONG_CALLER),
        ("two names, its own last", f"/{eve}/v1/models", [(CALLER, "ada"), (CALLER, "eve")], WRONG_CALLER),
        ("two names in one", f"/{eve}/v1/models", {CALLER: "eve, ada"}, WRONG_CALLER),
        ("the server's token for a caller", f"/{OWN}/v1/models", {CALLER: "ada"}, WRONG_CALLER),
        ("the gateway's caller at the proxy", f"/{OWN}/v1/models", {CALLER: GATEWAY}, WRONG_CALLER),
        ("the proxy's caller at the gateway", f"/{OWN}/mcp", {CALLER: PROXY}, WRONG_CALLER),
        ("a caller's token for the usual one", f"/{eve}/mcp", {CALLER: GATEWAY}, WRONG_CALLER),
        ("a name without a token", "/v1/models", {CALLER: "ada"}, WRONG_TOKEN),
        ("two tokens of two callers", f"/{eve}/v1/models", {TOKEN: ada}, WRONG_TOKEN),
        ("the server's token beside a caller's", f"/{eve}/v1/models", {TOKEN: OWN}, WRONG_TOKEN),
        ("a caller's token beside the server's", f"/{OWN}/v1/models", {TOKEN: eve}, WRONG_TOKEN),
        ("a wrong token beside a right one", f"/{ada}/v1/models", {TOKEN: ada[:-1]}, WRONG_TOKEN),
        ("two token headers", "/v1/models", [(TOKEN, eve), (TOKEN, ada)], WRONG_TOKEN),
        ("the token twice in headers", "/v1/models", [(TOKEN, ada), (TOKEN, ada)], WRONG_TOKEN),
        ("part of a token", f"/{ada[:-1]}/v1/models", {}, WRONG_TOKEN),
        ("a longer token", f"/{ada}A/v1/models", {}, WRONG_TOKEN),
        ("another case", f"/{ada.swapcase()}/v1/models", {}, WRONG_TOKEN),
        ("a quoted path", f"/%72{ada[1:]}/v1/models", {}, WRONG_TOKEN),
        ("further on in the path", f"/v1/{ada}/models", {}, WRONG_TOKEN),
        ("in the query", f"/v1/models?token={ada}", {}, WRONG_TOKEN),
        ("as a bearer", "/v1/models", {"authorization": f"Bearer {ada}"}, WRONG_TOKEN),
        ("as a cookie", "/v1/models", {"cookie": f"{TOKEN}={ada}"}, WRONG_TOKEN),
        ("what the store keeps of it", f"/{digest_of(ada.encode())}/v1/models", {}, WRONG_TOKEN),
        ("that with our prefix", f"/{PREFIX}{sha256(ada.encode()).hexdigest()}/v1/models", {}, WRONG_TOKEN),
        ("its id", f"/{token_id}/v1/models", {}, WRONG_TOKEN),
        ("the prefix alone", f"/{PREFIX}/v1/models", {}, WRONG_TOKEN),
        ("a wrong token for /health", "/health", {TOKEN: ada[:-1]}, WRONG_TOKEN),
    ]


def test_nobody_speaks_for_another_caller(site: Site) -> None:
    for what, path, headers, expected in forged(site):
        before = len(site.upstream.requests)
        got = site.ask("GET", path, headers)
        assert (got.status, got.code) == expected, what
        passed = site.upstream.requests[before:]
        assert len(passed) == (expected == OK), what
        for one in passed:
            assert not [name for name, _ in one.headers if name.lower().startswith("x-rightcall")]
            assert PREFIX not in one.target
        for token in site.tokens.values():
            assert token.encode() not in got.body, what


def test_the_usual_callers_are_those_of_the_integrations() -> None:
    assert (DEFAULT, DEFAULTS) == (PROXY, {"/mcp": GATEWAY})


def test_without_a_token_nobody_has_to_have_a_client_still_cannot_name_itself(tmp_path: Path) -> None:
    with site_of("memory", tmp_path, token=None) as site:
        ada = site.tokens["ada"]
        gone = site.token("gone")
        site.revoke("gone")
        for path, headers, expected in (
            ("/v1/models", {}, OK),
            ("/v1/models", {CALLER: "proxy"}, OK),
            ("/v1/models", {CALLER: "ada"}, WRONG_CALLER),
            (f"/{ada}/v1/models", {CALLER: "ada"}, OK),
            (f"/{ada}/v1/models", {CALLER: "proxy"}, WRONG_CALLER),
            ("/v1/models", {TOKEN: ada, CALLER: "ada"}, OK),
            (f"/{gone}/v1/models", {}, WRONG_TOKEN),
            ("/v1/models", {TOKEN: gone}, WRONG_TOKEN),
            ("/v1/models", {TOKEN: ""}, WRONG_TOKEN),
        ):
            got = site.ask("GET", path, headers)
            assert (got.status, got.code) == expected, (path, headers)
        assert all(PREFIX not in one.target for one in site.upstream.requests)


def test_while_tokens_cannot_be_checked_only_the_servers_own_counts(tmp_path: Path) -> None:
    with site_of("sqlite", tmp_path) as site:
        site.store.close()
        got = site.ask("GET", f"/{site.tokens['ada']}/v1/models")
        assert (got.status, got.code) == (503, "tokens_unavailable")
        assert str(tmp_path) not in got.body.decode()
        assert site.ask("GET", f"/{OWN}/v1/models").status == 200
        assert site.ask("GET", "/health").json["status"] == "degraded"


# ── at the gateway ───────────────────────────────────────────────────────────────────────────────────────────────


def test_calls_are_judged_and_recorded_for_the_caller_of_the_token(site: Site) -> None:
    assert text_of(site.call("ada", text="one")) == "one"
    assert "not whitelisted" in text_of(site.call("zoe", text="one"))
    assert text_of(site.call("", text="one")) == "one"
    callers = [
        json.decode(entry.body)["caller"]
        for entry in site.store.look(lambda tables: tables.newest(3, ("begin", "refused")))
    ]
    assert callers == ["gateway", "zoe", "ada"]


def test_a_limit_is_not_escaped_by_another_name(site: Site) -> None:
    for _ in range(3):
        site.call("eve")
    assert "Rate limit exceeded" in text_of(site.call("eve"))
    got = site.ask("POST", f"/{site.tokens['eve']}/mcp", {CALLER: "fresh"}, {})
    assert (got.status, got.code) == WRONG_CALLER
    assert text_of(site.call("ada")) == "hi"


def test_a_session_is_unknown_to_everybody_else(site: Site) -> None:
    own = site.session("ada")
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    assert site.mcp("ada", message, mcp_session_id=own).status == 200
    for thief in ("eve", ""):
        for method in ("POST", "GET", "DELETE"):
            found = [
                site.ask(method, f"/{site.tokens[thief]}/mcp", {"mcp-session-id": named}, message)
                for named in (own, "no-such-session")
            ]
            assert (found[0].status, found[0].body) == (found[1].status, found[1].body) == (404, found[1].body)
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"action": "accept"}}
    assert site.mcp("eve", answer, mcp_session_id=own).status == 404
    assert site.mcp("ada", message, mcp_session_id=own).status == 200, "nobody has ended it"


def asked(site: Site, caller: str, text: str) -> tuple[str, str]:
    """The question that a call of a tool that writes is answered with: its state, and the key of its form."""
    found = site.call(caller, "w_echo", text)["result"]
    assert found["resultType"] == "input_required"
    (key,) = found["inputRequests"]
    return found["requestState"], key


def test_an_answer_to_a_question_counts_only_for_the_caller_that_was_asked(site: Site) -> None:
    state, key = asked(site, "ada", "mine")
    yes = {key: {"action": "accept", "content": {"ok": True}}}
    other, other_key = asked(site, "zoe", "mine")
    before = len(site.links["w"].said("tools/call"))
    for thief in ("zoe", ""):
        for given in (yes, {other_key: yes[key]}):
            found = site.call(thief, "w_echo", "mine", requestState=state, inputResponses=given)["result"]
            assert found.get("resultType") == "input_required", "it is asked anew, and nothing has run"
    assert len(site.links["w"].said("tools/call")) == before
    done = site.call("ada", "w_echo", "mine", requestState=state, inputResponses=yes)
    assert text_of(done) == "mine"
    again = site.call("ada", "w_echo", "mine", requestState=state, inputResponses=yes)["result"]
    assert again.get("resultType") == "input_required", "an approval counts once"
    assert other != state
    assert len(site.links["w"].said("tools/call")) == before + 1


def approve(store: Store, caller: str) -> str:
    """A person at the command line says yes to what this caller waits for."""
    waiting = [one for one in store.look(lambda tables: tables.approvals("waiting")) if one.caller == caller]
    one = waiting[-1]
    store.transact(lambda tables: answer(tables, one.id, Reply("approved", "ann", one.digest), 600))
    return one.id


def test_a_yes_is_redeemed_by_its_caller_and_by_nobody_else(site: Site) -> None:
    asked(site, "ada", "pay")
    yes = approve(site.store, "ada")
    for thief in ("zoe", ""):
        for more in ({}, {"approval": yes}, {"_meta": {**META, "approval": yes}}):
            found = site.call(thief, "w_echo", "pay", **more)["result"]
            assert found.get("resultType") == "input_required"
    assert text_of(site.call("ada", "w_echo", "pay")) == "pay"
    assert site.call("ada", "w_echo", "pay")["result"]["resultType"] == "input_required"


def test_a_changed_definition_is_not_accepted_for_all_by_one_callers_client(tmp_path: Path) -> None:
    with site_of("memory", tmp_path) as site:
        assert text_of(site.call("ada")) == "hi"
        site.store.transact(lambda tables: tables.pin("r/echo", "another"))
        for caller in ("ada", "eve"):
            found = site.call(caller)["result"]
            assert "resultType" not in found or found["resultType"] == "complete"
            assert found["isError"]
        assert site.call("")["result"]["resultType"] == "input_required", "the operator's client may be asked"


def test_a_revoked_token_stops_in_the_middle_of_a_session(site: Site) -> None:
    site.tokens["bob"] = site.token("bob")
    own = site.session("bob")
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    assert site.mcp("bob", message, mcp_session_id=own).status == 200
    site.revoke("bob")
    assert site.mcp("bob", message, mcp_session_id=own).status == 401
    assert site.ask("GET", f"/{site.tokens['bob']}/v1/models").status == 401
    site.tokens["bob"] = site.token("bob")
    assert site.mcp("bob", message, mcp_session_id=own).status == 200, "the session is the caller's"


def test_figures_and_details_are_the_operators(site: Site) -> None:
    for path, own, callers, nobody in (
        ("/metrics", 200, (403, "operator_only"), (401, "wrong_token")),
        ("/health", 200, OK, OK),
    ):
        assert site.ask("GET", f"/{OWN}{path}").status == own
        found = site.ask("GET", f"/{site.tokens['ada']}{path}")
        assert (found.status, found.code) == callers
        none = site.ask("GET", path)
        assert (none.status, none.code) == nobody
    for path in ("/health", f"/{site.tokens['ada']}/health"):
        assert set(site.ask("GET", path).json) == {"status", "version", "ready"}
    assert {"audit", "mcp", "upstream", "uptime_seconds"} <= set(site.ask("GET", f"/{OWN}/health").json)


# ── tokens in the store ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(params=["memory", "sqlite"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Store, ManualClock]]:
    clock = ManualClock()
    store = MemoryStore(clock) if request.param == "memory" else SqliteStore(tmp_path / "audit.db", clock)
    yield store, clock
    store.close()


def test_the_store_holds_no_token_and_the_audit_says_who_made_and_revoked_it(
    kept: tuple[Store, ManualClock], tmp_path: Path
) -> None:
    store, _ = kept
    made, text = store.transact(lambda tables: make_token(tables, TokenRequest("ada", "ann", seconds=60, note="n")))
    (one,) = store.look(lambda tables: tables.tokens())
    assert one == made
    assert text not in repr(one)
    store.transact(lambda tables: revoke_tokens(tables, "bea", id=made.id))
    assert store.look(lambda tables: tables.tokens()) == []
    notes = [json.decode(entry.body) for entry in store.look(lambda tables: list(tables.entries()))]
    assert [(one["what"], one["by"], one["data"]["caller"]) for one in notes] == [
        ("token made", "ann", "ada"),
        ("token revoked", "bea", "ada"),
    ]
    store.close()
    for file in tmp_path.iterdir():
        assert not file.is_file() or text.encode() not in file.read_bytes()


def test_tokens_count_until_they_expire_and_are_looked_at_again_from_time_to_time(
    kept: tuple[Store, ManualClock],
) -> None:
    store, clock = kept
    now = [0.0]

    def new(caller: str, seconds: int | None = None) -> str:
        return digest_of(
            store.transact(lambda tables: make_token(tables, TokenRequest(caller, "ann", seconds=seconds)))[1].encode()
        )

    async def sleep(seconds: float) -> None:
        now[0] += seconds

    async def main() -> None:
        callers = Callers(store, now=lambda: now[0], sleep=sleep)

        async def of(*digests: str) -> list[str | None]:
            return [await callers.of(one) for one in digests]

        ada, short = new("ada"), new("bob", 60)
        assert await of(ada, short, "0" * 64) == ["ada", "bob", None]
        late = new("late")
        assert await of(late) == ["late"], "a token made just after a look counts as well"
        waited = now[0]
        assert await of("1" * 64) == [None]
        assert now[0] - waited == pytest.approx(0.1), "a guess waits for the next look and causes none at once"
        store.transact(lambda tables: revoke_tokens(tables, "ann", caller="ada"))
        clock.advance(60)
        assert await of(ada, short) == ["ada", "bob"]
        now[0] += 1.0
        assert await of(ada, short, late) == [None, None, "late"]

    asyncio.run(main())


def test_while_the_store_cannot_be_read_no_token_of_it_counts_and_it_is_left_alone() -> None:
    store, looks, now = MemoryStore(), list[str](), [0.0]
    digest = digest_of(store.transact(lambda tables: make_token(tables, TokenRequest("ada", "ann")))[1].encode())

    class Counted:
        clock, is_remote = store.clock, False

        def look(self, work: Any) -> Any:
            looks.append("look")
            return store.look(work)

    async def main() -> None:
        callers = Callers(cast("Store", Counted()), now=lambda: now[0])
        assert await asyncio.gather(*(callers.of(digest) for _ in range(100))) == ["ada"] * 100
        assert len(looks) == 1
        store.close()
        now[0] += 1
        for _ in range(5):
            with pytest.raises(StoreError):
                await callers.of(digest)
        assert len(looks) == 2

    asyncio.run(main())


@every(
    "name",
    ["", " ada", "ada ", "a\x00b", "a\nb", "a\u200bb", "t\u0435acher", "\uff54eacher", "\U0001d42deacher", "a*",
     "a" * 101, "---", "re\u0301e", "a\u202eb", "\u0430\u0435\u043e"],
)  # fmt: skip
def test_a_name_that_could_be_another_gets_no_token(name: str) -> None:
    with pytest.raises(ConfigError, match="invalid caller"):
        check_caller(name)


@every("name", ["Teacher", "TEACHER", "teacher.", "tea-cher", "te acher", "tea\u0441her", "t\u0435acher"])
def test_a_name_that_looks_like_a_known_one_gets_no_token(name: str) -> None:
    store = MemoryStore()
    with pytest.raises(ConfigError, match="invalid caller"):
        store.transact(lambda tables: make_token(tables, TokenRequest(name, "ann"), ["teacher"]))
    store.transact(lambda tables: make_token(tables, TokenRequest("teacher", "ann"), ["teacher"]))
    with pytest.raises(ConfigError, match="invalid caller"):
        store.transact(lambda tables: make_token(tables, TokenRequest(name, "ann")))
    assert len(store.look(lambda tables: tables.tokens())) == 1


@every("name", ["ada", "ci-42", "Zoë", "Müller", "Иван", "build bot", "team/a", "a@b.example"])
def test_ordinary_names_get_one(name: str) -> None:
    others = ["teacher", "proxy", name]
    token, _ = MemoryStore().transact(lambda tables: make_token(tables, TokenRequest(name, "ann"), others))
    assert token.caller == name


def test_there_is_room_for_so_many_tokens_and_expired_ones_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "MOST", 5)
    clock = ManualClock()
    store = MemoryStore(clock)

    def fill(tables: Tables) -> None:
        for _ in range(5):
            make_token(tables, TokenRequest("ada", "ann", seconds=60))

    store.transact(fill)
    one: Callable[[Tables], Any] = lambda tables: make_token(tables, TokenRequest("ada", "ann"))  # noqa: E731
    with pytest.raises(ConfigError, match="tokens exist already"):
        store.transact(one)
    clock.advance(60)
    store.transact(one)
    assert len(store.look(lambda tables: tables.tokens())) == 1
