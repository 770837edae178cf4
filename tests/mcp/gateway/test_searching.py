"""A gateway with more tools than a client can take: it lists a search and a way to run what was found."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Raw, json

from rightcall.mcp.gateway.gateway import Gateway
from rightcall.mcp.serving import Client
from rightcall.record.tables import read_call
from support.every import every
from support.gateways import (
    NEW,
    Raws,
    ScriptedLink,
    asked,
    gateway_of,
    greeted,
    line_asked,
    old_server,
    once,
    policy,
    text_of,
)

pytestmark = pytest.mark.promise("T-03")

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
NOTES = {
    "send_mail": "Send an electronic letter to somebody.",
    "read_calendar": "Tell which appointments a day has.",
    "translate": "Translate a sentence into another language.",
}
ALL = {"notes_send_mail", "notes_read_calendar", "notes_translate", "more_forecast"}


def server(tools: dict[str, str]) -> Callable[[str, dict[str, Any]], Any]:
    """`tools` may be changed while it runs."""

    def answering(method: str, params: dict[str, Any]) -> Any:
        if method == "tools/list":
            return {
                "tools": [{"name": name, "description": about, "inputSchema": TEXT} for name, about in tools.items()]
            }
        return old_server(method, params)

    return answering


def links() -> dict[str, Any]:
    return {"notes": Raws(server(NOTES)), "more": Raws(server({"forecast": "The weather of tomorrow in a city."}))}


def rules(search: int = 2, **more: Any) -> dict[str, Any]:
    return policy("notes", "more", router={"search": search}, **more)


def names(listed: Any) -> list[str]:
    return [one["name"] for one in listed["tools"]]


async def both_eras(gateway: Gateway, method: str, **params: Any) -> list[Any]:
    return [await asked(await greeted(gateway), method, **params), await once(gateway, method, **params)]


async def searched(gateway: Gateway, query: str, caller: str = "gateway", **more: Any) -> list[Any]:
    found = await once(gateway, "tools/call", caller, name="tools_search", arguments={"query": query, **more})
    assert json.decode(text_of(found)) == found["structuredContent"]
    return found["structuredContent"]["tools"]


def recorded(gateway: Gateway) -> list[Any]:
    entries = gateway.door.store.look(lambda tables: list(tables.entries()))
    return [read_call(entry.body) for entry in entries if entry.kind in ("begin", "refused")]


@pytest.mark.parametrize(("search", "expected"), [(0, ALL), (4, ALL), (3, {"tools_search", "tools_run"})])
def test_only_more_tools_than_the_policy_says_are_replaced_by_a_search(search: int, expected: set[str]) -> None:
    async def main() -> list[Any]:
        async with gateway_of(rules(search), **links()) as gateway:
            return await both_eras(gateway, "tools/list")

    for listed in asyncio.run(main()):
        assert set(names(listed)) == expected


class Own:
    """Tools of our own, which are always listed."""

    def listed(self, _: str) -> list[Raw]:
        return [Raw(b'{"name": "ping"}')] * 3

    def has(self, name: str) -> bool:
        return name == "ping"

    def names(self) -> dict[str, tuple[str, ...]]:
        return {"ping": ()}

    async def call(self, _: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize(("servers", "listed"), [((), []), (("notes", "more"), ["tools_search", "tools_run"])])
def test_our_own_tools_stay_in_the_list_and_alone_need_no_search(servers: tuple[str, ...], listed: list[str]) -> None:
    async def main() -> Any:
        async with gateway_of(policy(*servers, router={"search": 2}), {"own": Own()}, **links()) as gateway:
            return await once(gateway, "tools/list")

    assert names(asyncio.run(main())) == ["ping"] * 3 + listed


def test_the_two_tools_say_what_they_are_for_and_name_the_servers() -> None:
    async def main() -> Any:
        async with gateway_of(rules(), **links()) as gateway:
            return await once(gateway, "tools/list")

    search, run = asyncio.run(main())["tools"]
    assert "among the 4 of more, notes" in search["description"]
    assert search["annotations"]["readOnlyHint"] is True
    assert "annotations" not in run, "what it runs may do anything"
    assert (search["inputSchema"]["required"], run["inputSchema"]["required"]) == (["query"], ["name"])


def test_a_search_gives_enough_to_call_what_it_finds_and_why() -> None:
    async def main() -> list[Any]:
        async with gateway_of(rules(), **links()) as gateway:
            return await searched(gateway, "send a letter to Ada", limit=1)

    (found,) = asyncio.run(main())
    assert (found["name"], found["description"], found["parameters"]) == ("notes_send_mail", NOTES["send_mail"], TEXT)
    assert found["why"]


def test_arguments_of_a_search_are_repaired_and_what_is_missing_is_told() -> None:
    async def main() -> list[Any]:
        async with gateway_of(rules(), **links()) as gateway:
            arguments = '{"q": "weather", "limit": "one",}'
            right = await once(gateway, "tools/call", name="tools_search", arguments=arguments)
            wrong = await once(gateway, "tools/call", name="tools_search", arguments={"limit": 3})
            return [right["structuredContent"]["tools"], wrong]

    right, wrong = asyncio.run(main())
    assert [one["name"] for one in right] == ["more_forecast"]
    assert wrong["isError"]
    assert "Missing required fields: query" in text_of(wrong)


def test_a_caller_finds_what_it_may_use_and_nothing_else() -> None:
    denying = rules(1, callers={"guest": {"deny": ["notes/send_mail"]}, "small": {"deny": ["notes/*"]}})
    denying["servers"]["notes"]["deny"] = ["translate"]

    async def main() -> Any:
        async with gateway_of(denying, **links()) as gateway:
            query = "send letter translate sentence weather"
            found = {who: await searched(gateway, query, who, limit=50) for who in ("gateway", "guest")}
            return found, await once(gateway, "tools/list", "small")

    found, listed = asyncio.run(main())
    mine, theirs = ({one["name"] for one in found[who]} for who in ("gateway", "guest"))
    assert {"notes_send_mail", "more_forecast"} <= mine <= ALL - {"notes_translate"}
    assert {"more_forecast"} <= theirs <= mine - {"notes_send_mail"}
    assert names(listed) == ["more_forecast"], "one tool is not too many"


@pytest.mark.promise("X-07")
def test_what_was_found_runs_as_a_call_of_its_own_in_both_eras() -> None:
    arguments = {"name": "notes_translate", "arguments": {"text": "hello"}}

    async def main() -> Any:
        servers = links()
        async with gateway_of(rules(), **servers) as gateway:
            answers = await both_eras(gateway, "tools/call", name="tools_run", arguments=arguments)
            return answers, servers["notes"].said("tools/call"), recorded(gateway)

    answers, sent, records = asyncio.run(main())
    assert [text_of(answer) for answer in answers] == ["hello", "hello"]
    assert [(one["params"]["name"], one["params"]["arguments"]) for one in sent] == [
        ("translate", {"text": "hello"})
    ] * 2
    assert [(one.tool, one.params) for one in records] == [("notes/translate", {"text": "hello"})] * 2


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": "notes_translate", "arguments": {"txt": "hello"}},
        {"name": "notes.translate", "arguments": '{"text": "hello",}'},
        "{'name': 'notes_translate', 'arguments': {'text': 'hello'}}",
    ],
)
def test_a_call_within_is_repaired_like_any_other(arguments: Any) -> None:
    async def main() -> Any:
        async with gateway_of(rules(), **links()) as gateway:
            return await once(gateway, "tools/call", name="tools_run", arguments=arguments)

    assert text_of(asyncio.run(main())) == "hello"


def test_a_right_call_within_keeps_the_bytes_of_its_arguments() -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string"}, "n": {"type": "number"}}}

    def counting(method: str, params: dict[str, Any]) -> Any:
        if method == "tools/list":
            return {"tools": [{"name": "count", "inputSchema": schema}, {"name": "b"}, {"name": "c"}]}
        return old_server(method, params)

    async def main() -> bytes:
        link = Raws(counting)
        async with gateway_of(policy("a", router={"search": 2}), a=link) as gateway:
            inner = b'{"name": "a_count", "arguments": {"n":1.10, "text":"x"}}'
            line = b'{"id": 1, "method": "tools/call", "params": {"name": "tools_run", "arguments": %b}}' % inner
            await line_asked(await greeted(gateway), line)
            return link.bodies[-1]

    assert b'{"n":1.10, "text":"x"}' in asyncio.run(main())


@every(
    ("inner", "told", "is_recorded"),
    [
        (b'{"name": "notes_translate", "name": "notes_send_mail", "arguments": {"text": "x"}}', "twice", False),
        (b'{"name": "notes_translate", "arguments": {"text": "x"}, "arguments": {"text": "y"}}', "twice", False),
        (b'{"name": "notes_translate", "text": "x"}', "text", False),
        (b'{"arguments": {"text": "x"}}', "Missing required fields: name", False),
        (b'{"name": {}}', "name", False),
        (b'{"tool": "notes_translate", "args": {"text": "x"}}', '{"name": "files_read_file"', False),
        (
            b'"{\\"name\\": \\"notes_translate\\", \\"arguments\\": {\\"text\\": \\"x\\"}"',
            "is truncated or damaged",
            False,
        ),
        (b'{"name": "notes_translate", "arguments": {"text": "x", "text": "y"}}', "twice", True),
        (b'{"name": "tools_run", "arguments": {"name": "notes_translate"}}', "Unknown tool", True),
        (b'{"name": "qqqqqq", "arguments": {}}', "tools_search finds those there are", True),
    ],
)
def test_what_is_no_call_of_one_tool_runs_nothing(inner: bytes, told: str, is_recorded: bool) -> None:
    async def main() -> Any:
        servers = links()
        async with gateway_of(rules(), **servers) as gateway:
            client = await greeted(gateway)
            await asked(client, "tools/list")
            line = b'{"id": 1, "method": "tools/call", "params": {"name": "tools_run", "arguments": %b}}' % inner
            answer = await line_asked(client, line)
            return answer, servers["notes"].said("tools/call"), recorded(gateway)

    answer, sent, records = asyncio.run(main())
    assert told in str(answer)
    assert sent == []
    assert bool(records) is is_recorded


@pytest.mark.promise("P-06")
def test_the_policy_decides_on_the_call_within_and_not_on_the_one_around_it() -> None:
    denying = rules(callers={"guest": {"deny": ["notes/send_mail"]}})

    async def main() -> Any:
        servers = links()
        async with gateway_of(denying, **servers) as gateway:
            arguments = {"name": "notes_send_mail", "arguments": {"text": "x"}}
            answer = await once(gateway, "tools/call", "guest", name="tools_run", arguments=arguments)
            return answer, servers["notes"].said("tools/call"), recorded(gateway)

    answer, sent, (record,) = asyncio.run(main())
    assert answer["isError"]
    assert (sent, record.tool, record.decision) == ([], "notes/send_mail", "deny")


def asking_rules() -> dict[str, Any]:
    undeclared = rules()
    del undeclared["servers"]["notes"]["effects"]
    return undeclared | {"policy": {"write": "ask", "execute": "ask"}}


WISH = {"name": "tools_run", "arguments": {"name": "notes_send_mail", "arguments": {"text": "hello"}}}
FORM = {"elicitation": {"form": {}}}


def test_a_person_is_asked_about_the_tool_that_would_run_and_a_yes_runs_it() -> None:
    async def main() -> Any:
        servers = links()
        async with gateway_of(asking_rules(), **servers) as gateway:
            asks = await once(gateway, "tools/call", capabilities=FORM, **WISH)
            ((key, question),) = asks["inputRequests"].items()
            shown = question["params"]["message"]
            (field,) = question["params"]["requestedSchema"]["properties"]
            yes = {"inputResponses": {key: {"action": "accept", "content": {field: True}}}}
            state = {"requestState": asks["requestState"]}
            other = {**WISH, "arguments": {"name": "notes_send_mail", "arguments": {"text": "other"}}}
            elsewhere = await once(gateway, "tools/call", capabilities=FORM, **other, **yes, **state)
            before = len(servers["notes"].said("tools/call"))
            answer = await once(gateway, "tools/call", capabilities=FORM, **WISH, **yes, **state)
            return shown, elsewhere, before, answer

    shown, elsewhere, before, answer = asyncio.run(main())
    assert "notes/send_mail" in shown
    assert "tools_run" not in shown
    assert (elsewhere["resultType"], before) == ("input_required", 0), "a yes is for the call that was shown"
    assert text_of(answer) == "hello"


def test_what_a_server_adds_changes_and_takes_away_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rightcall.mcp.gateway.joining.FIRST_PAUSE", 0.0)
    tools = dict(NOTES)

    async def main() -> Any:
        link = ScriptedLink(server(tools))
        heard: list[bytes] = []
        async with gateway_of(policy("notes", router={"search": 1}), notes=link) as gateway:
            await greeted(gateway, heard=heard)
            found = [await described(gateway)]
            for about in ("The weather of tomorrow.", "Roll some dice.", None):
                tools.pop("forecast", None)
                if about is not None:
                    tools["forecast"] = about
                await changed(link, heard)
                found.append(await described(gateway))
            return found

    async def described(gateway: Gateway) -> str | None:
        found = await searched(gateway, "weather dice tomorrow roll", limit=50)
        return next((one["description"] for one in found if one["name"] == "notes_forecast"), None)

    assert asyncio.run(main()) == [None, "The weather of tomorrow.", "Roll some dice.", None]


async def changed(link: ScriptedLink, heard: list[bytes]) -> None:
    """The server says that its list has changed; waits until clients hear of it."""
    before = len(heard)
    link.say({"method": "notifications/tools/list_changed"})
    async with asyncio.timeout(25):
        while len(heard) == before:
            await asyncio.sleep(0)


def test_a_server_whose_tools_are_called_like_the_search_keeps_its_names() -> None:
    tools = {"search": "Look something up.", "run": "Run along.", "walk": "Walk."}

    async def main() -> Any:
        link = ScriptedLink(server(tools))
        async with gateway_of(policy("tools", router={"search": 2}), tools=link) as gateway:
            listed = names(await once(gateway, "tools/list"))
            theirs = await once(gateway, "tools/call", name="tools_search", arguments={"text": "theirs"})
            arguments = {"name": "tools_run", "arguments": {"text": "theirs too"}}
            run = await once(gateway, "tools/call", name=listed[1], arguments=arguments)
            return listed, text_of(theirs), text_of(run)

    listed, theirs, run = asyncio.run(main())
    assert (theirs, run) == ("theirs", "theirs too")
    assert [name[:-8] for name in listed] == ["tools_search_", "tools_run_"]


def test_where_it_is_switched_off_the_two_names_mean_nothing() -> None:
    async def main() -> Any:
        async with gateway_of(rules(0), **links()) as gateway:
            return await once(gateway, "tools/call", name="tools_run", arguments={"name": "notes_translate"})

    assert "Unknown tool" in text_of(asyncio.run(main()))


def test_a_request_of_the_new_era_needs_its_envelope_for_the_call_within_too() -> None:
    async def main() -> Any:
        async with gateway_of(rules(), **links()) as gateway:
            client = Client(gateway, "gateway", lambda _: None)
            meta = {f"{NEW}protocolVersion": "2026-07-28"}
            return await asked(client, "tools/call", **WISH, _meta=meta)

    assert "clientCapabilities" in asyncio.run(main())["message"]
