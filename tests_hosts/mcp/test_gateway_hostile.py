"""Servers that misbehave, behind the gateway: each harms its own call, and nothing else (X-07)."""

import asyncio
from typing import Any

import mcp_types
import pytest

from gatewaying.running import HOSTILE, READS, Site, gateway, texts

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
GOOD: dict[str, Any] = {"good": {"command": HOSTILE, **READS}}
BAD: dict[str, Any] = {"bad": {"command": HOSTILE, **READS}, **GOOD}
SLOW: dict[str, Any] = {"slow": {"command": HOSTILE, **READS, "timeout": 2}, **GOOD}
ABSENT: dict[str, Any] = {"command": ["/no/such/program"]}
pytestmark = pytest.mark.promise("X-07", "H-04")


async def both(site: Site, era: str, tool: str, server: str = "bad") -> tuple[Any, Any, Any]:
    """The call of a bad server, one of a good server while it runs, and one of the same bad server afterwards."""
    async with site.client(era) as client, site.client(era) as other:
        worse = asyncio.create_task(client.call_tool(f"{server}_{tool}", {}))
        good = await other.call_tool("good_echo", {"text": "unharmed"})
        bad = await worse
        again = await client.call_tool(f"{server}_echo", {"text": "back"})
        return bad, good, again


def run(tool: str, era: str, server: str = "bad", servers: dict[str, Any] = BAD) -> str:
    """What the model reads of the bad call; everything else is right."""

    async def main() -> str:
        async with gateway(servers) as site:
            bad, good, again = await both(site, era, tool, server)
            assert texts(good) == "unharmed"
            assert texts(again) == "back"
            return ("error: " if bad.is_error else "") + texts(bad)

    return asyncio.run(main())


@ERAS
def test_a_server_that_never_answers_is_given_up_in_time(era: str) -> None:
    assert "The server slow did not answer within 2" in run("never", era, "slow", SLOW)


def test_of_two_answers_the_first_counts() -> None:
    assert run("twice", "legacy") == "first"


def test_half_a_line_and_an_end_is_an_error_of_that_call() -> None:
    assert run("half", "legacy") == "error: The server bad gave no answer: it ended with exit code 3."


def test_a_line_of_200_mb_ends_that_server_and_it_starts_again() -> None:
    assert run("huge", "legacy") == "error: The server bad gave no answer: it sent a line of more than 16 MB."


def test_a_flood_on_standard_error_holds_up_nothing() -> None:
    assert run("flood", "legacy") == "still here"


@ERAS
def test_a_server_that_dies_keeps_its_last_words_from_the_client(era: str) -> None:
    assert run("die", era) == "error: The server bad gave no answer: it ended with exit code 7."


def test_whatever_else_a_server_prints_is_no_answer() -> None:
    assert run("garbage", "legacy") == "among garbage"


def test_one_that_cannot_start_leaves_the_others_usable_and_says_why() -> None:
    async def main() -> tuple[Any, list[str], str]:
        async with gateway({**GOOD, "absent": ABSENT}) as site, site.client("auto") as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            return site.gateway.state(), names, texts(await client.call_tool("good_echo", {"text": "x"}))

    state, names, text = asyncio.run(main())
    assert state["absent"]["problem"] == "`/no/such/program` cannot be started: No such file or directory"
    assert {name.partition("_")[0] for name in names} == {"good"}
    assert text == "x"


def test_news_name_each_server_once_and_what_nobody_declared() -> None:
    async def main() -> list[str]:
        async with gateway({"files": {"command": HOSTILE}, "absent": ABSENT}) as site:
            async with site.client("auto") as client:
                await client.list_tools()
            return site.news

    news = asyncio.run(main())
    joined = next(one for one in news if "files" in one)
    assert joined.startswith("mcp: files has joined: 14 tools, revision 2025-11-25")
    assert "nobody has declared what 14 of them do, so each call asks a person: echo, never, twice, " in joined
    assert '[servers.files] of the policy:\n  effects = { "NAME" = ["read"] }' in joined
    assert len([one for one in news if "absent" in one]) == 1


@ERAS
def test_two_dozen_calls_are_under_way_on_one_connection_and_each_gets_its_own_answer(era: str) -> None:
    async def main() -> list[str]:
        async with gateway(GOOD) as site, site.client(era) as client:
            calls = [client.call_tool("good_echo", {"text": f"n{number}"}) for number in range(24)]
            return [texts(one) for one in await asyncio.gather(*calls)]

    assert asyncio.run(main()) == [f"n{number}" for number in range(24)]


@ERAS
def test_a_call_that_its_client_cancels_is_cancelled_at_the_server(era: str) -> None:
    async def main() -> str:
        async with gateway(GOOD) as site, site.client(era) as client:
            await client.list_tools()
            call = asyncio.create_task(client.call_tool("good_wait", {}))
            while not any(one.session._pending for one in [site.gateway.upstream("good")] if one and one.session):
                await asyncio.sleep(0)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            while (text := texts(await client.call_tool("good_cancelled", {}))) == "0":
                await asyncio.sleep(0)
            return text

    assert asyncio.run(main()) == "1"


@ERAS
def test_progress_comes_back_under_the_clients_own_token(era: str) -> None:
    seen: list[float] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    async def main() -> str:
        async with gateway(GOOD) as site, site.client(era) as client:
            return texts(await client.call_tool("good_steps", {}, progress_callback=heard))

    assert asyncio.run(main()) == "two steps"
    assert seen == [1, 2]


@ERAS
def test_a_question_of_an_old_server_reaches_the_client_of_the_call_in_either_era(era: str) -> None:
    async def person(_: Any, params: Any) -> Any:
        return mcp_types.ElicitResult(action="accept", content={"name": params.message})

    async def main() -> str:
        async with gateway(GOOD) as site, site.client(era, elicitation_callback=person) as client:
            return texts(await client.call_tool("good_ask", {}))

    assert asyncio.run(main()) == '{"action": "accept", "content": {"name": "Your name?"}}'


@ERAS
def test_a_question_to_a_client_that_cannot_be_asked_is_refused_clearly(era: str) -> None:
    async def main() -> tuple[str, str]:
        async with gateway(GOOD) as site, site.client(era) as client:
            return texts(await client.call_tool("good_ask", {})), texts(await client.call_tool("good_sample", {}))

    asked, sampled = asyncio.run(main())
    assert "the client of this call does not support elicitation" in asked
    assert "the client of this call does not support sampling" in sampled
