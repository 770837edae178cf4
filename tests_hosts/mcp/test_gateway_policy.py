"""What the policy decides about calls through the gateway: approvals by elicitation, pinned definitions, callers, what
is listed. Nothing that a client sends can stand for a person's yes."""

import asyncio
from typing import Any

import mcp_types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from gatewaying.running import HOSTILE, READS, gateway, texts

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
ASKS: dict[str, Any] = {"notes": {"command": HOSTILE, "effects": {"echo": ["write"], "*": ["read"]}}}
YES = mcp_types.ElicitResult(action="accept", content={"ok": True})


def person(answer: Any, shown: list[str] | None = None) -> Any:
    async def asked(_: Any, params: Any) -> Any:
        if shown is not None:
            shown.append(params.message)
        return answer

    return asked


@pytest.mark.promise("P-06", "H-04")
@ERAS
def test_a_person_who_says_yes_lets_exactly_one_call_through(era: str) -> None:
    shown: list[str] = []

    async def main() -> tuple[str, str]:
        async with gateway(ASKS) as site, site.client(era, elicitation_callback=person(YES, shown)) as client:
            return tuple([texts(await client.call_tool("notes_echo", {"text": "t"})) for _ in range(2)])  # type: ignore[return-value]

    assert asyncio.run(main()) == ("t", "t")
    assert len(shown) == 2
    assert all('"notes/echo"' in one and '"t"' in one for one in shown)


@pytest.mark.promise("P-06", "H-04")
@ERAS
def test_anything_but_a_yes_is_a_no(era: str) -> None:
    answers = [
        mcp_types.ElicitResult(action="decline"),
        mcp_types.ElicitResult(action="cancel"),
        mcp_types.ElicitResult(action="accept", content={"ok": False}),
        mcp_types.ElicitResult(action="accept", content={}),
    ]

    async def asked(_: Any, params: Any) -> Any:
        return answers.pop()

    async def main() -> list[tuple[bool | None, str]]:
        async with gateway(ASKS) as site, site.client(era, elicitation_callback=asked) as client:
            found = [await client.call_tool("notes_echo", {"text": f"t{number}"}) for number in range(4)]
            return [(one.is_error, texts(one)) for one in found]

    assert asyncio.run(main()) == [(True, "A person was asked, and said no to this call.")] * 4


@pytest.mark.promise("P-06")
@ERAS
def test_a_client_that_cannot_ask_is_told_the_id_and_the_call_runs_once_it_is_approved(era: str) -> None:
    async def main() -> tuple[str, str, str]:
        async with gateway(ASKS) as site, site.client(era) as client:
            first = texts(await client.call_tool("notes_echo", {"text": "t"}))
            (waiting,) = site.door.store.look(lambda tables: tables.approvals("waiting"))
            passage = await site.door.ajudge(
                "echo", {"text": "t"}, caller="gateway", space="notes", context=waiting.context
            )
            site.door.answer(passage, "approved", by="Ada")
            return waiting.id, first, texts(await client.call_tool("notes_echo", {"text": "t"}))

    about, first, second = asyncio.run(main())
    assert f"rightcall approvals approve {about}" in first
    assert second == "t"


@pytest.mark.promise("P-06")
def test_forged_swapped_and_replayed_answers_are_none() -> None:
    async def main() -> list[str]:
        async with gateway(ASKS) as site, site.client("auto", elicitation_callback=person(YES)) as client:

            async def call(text: str, **sent: Any) -> str:
                given = {"allow_input_required": True, **sent}
                try:
                    result = await client.session.call_tool("notes_echo", {"text": text}, **given)
                except MCPError as refused:
                    return f"refused: {refused.error.message}"
                return texts(result) if hasattr(result, "content") else "asked"

            asked = await client.session.call_tool("notes_echo", {"text": "a"}, allow_input_required=True)
            state = asked.request_state
            answer = dict.fromkeys(asked.input_requests, YES)
            return [
                await call("a", input_responses=answer),
                await call("b", input_responses=answer, request_state=state),
                await call("a", input_responses=answer, request_state=state[:-4] + "AAAA"),
                await call("a", input_responses=answer, request_state="rightcall-gateway.x"),
                await call("a", input_responses=answer, request_state="another server's"),
                await call("a", input_responses=answer, request_state=state),
                await call("a", input_responses=answer, request_state=state),
            ]

    first, swapped, broken, made_up, foreign, right, replayed = asyncio.run(main())
    assert [first, swapped, broken, right, replayed] == ["asked", "asked", "asked", "a", "asked"]
    assert made_up.startswith("refused: requestState is used up")
    assert foreign.startswith("refused: requestState is none of ours")


@pytest.mark.promise("P-08", "H-04")
@ERAS
def test_a_definition_that_changes_asks_before_its_next_call_and_clients_hear_of_it(era: str) -> None:
    heard: list[str] = []
    shown: list[str] = []

    async def message(one: Any) -> None:
        heard.append(type(one).__name__)

    async def main() -> tuple[str, str]:
        servers = {"notes": {"command": HOSTILE, **READS}}
        options = {"elicitation_callback": person(YES, shown), "message_handler": message}
        async with gateway(servers) as site, site.client(era, **options) as client:
            before = texts(await client.call_tool("notes_echo", {"text": "a"}))
            is_shared = era == "auto"  # with a session each client that can be asked has a server of its own
            table = site.shared.group_of({"elicitation": {"form": {}, "url": {}}}).table if is_shared else None
            version = table.version if table is not None else 0
            await client.call_tool("notes_change", {})
            while table.version == version if table is not None else "ToolListChangedNotification" not in heard:
                await asyncio.sleep(0.01)
            return before, texts(await client.call_tool("notes_echo", {"text": "b"}))

    assert asyncio.run(main()) == ("a", "b")
    (question,) = shown
    assert "A tool" in question
    assert "Another description" in question
    assert era == "auto" or "ToolListChangedNotification" in heard


@pytest.mark.promise("P-08")
def test_a_client_of_the_new_era_that_listens_hears_that_tools_have_changed() -> None:
    async def main() -> str:
        async with gateway({"notes": {"command": HOSTILE, **READS}}) as site, site.client("auto") as client:
            await client.list_tools()
            async with client.listen(tools_list_changed=True) as news:
                await client.call_tool("notes_change", {})
                return type(await anext(aiter(news))).__name__

    assert asyncio.run(main()) == "ToolsListChanged"


@pytest.mark.promise("P-01", "H-04")
@ERAS
def test_only_what_a_caller_may_use_is_listed_and_runs(era: str) -> None:
    servers = {"notes": {"command": HOSTILE, **READS, "allow": ["echo", "twice", "die"], "deny": ["die"]}}
    callers = {"callers": {"guest": {"deny": ["notes/twice"]}}}

    async def main() -> dict[str, tuple[list[str], list[str]]]:
        found: dict[str, tuple[list[str], list[str]]] = {}
        async with gateway(servers, callers) as site:
            for caller in ("gateway", "guest"):
                async with Client(site.url_for(caller), mode=era) as client:
                    names = [tool.name for tool in (await client.list_tools()).tools]
                    told = [
                        texts(await client.call_tool(f"notes_{one}", {"text": "x"})) for one in ("echo", "twice", "die")
                    ]
                    found[caller] = names, told
        return found

    found = asyncio.run(main())
    assert found["gateway"][0] == ["notes_echo", "notes_twice"]
    assert found["guest"][0] == ["notes_echo"]
    assert found["gateway"][1][:2] == ["x", "first"]
    assert found["guest"][1][0] == "x"
    refused = [*found["guest"][1][1:], found["gateway"][1][2]]
    assert all("is not whitelisted for AI use" in one for one in refused)


@pytest.mark.promise("H-04", "A-01")
@ERAS
def test_calls_are_repaired_recorded_and_their_end_is_too(era: str) -> None:
    async def main() -> list[Any]:
        async with gateway({"notes": {"command": HOSTILE, **READS}}) as site, site.client(era) as client:
            assert texts(await client.call_tool("echo", {"txt": "5"})) == "5"
            assert "Did you mean notes_echo" in texts(await client.call_tool("notes_ecko2", {"text": "x"}))
            return site.door.store.look(lambda tables: list(tables.entries(0)))

    kinds = [(entry.kind, b"notes/echo" in entry.body, b'"success"' in entry.body) for entry in asyncio.run(main())]
    assert ("begin", True, False) in kinds
    assert any(kind == "end" and done for kind, _, done in kinds)
