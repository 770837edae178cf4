"""`web/fetch` and `web/search` as an executor runs them. What they are called, take and are for stands in the pack
`code`. What does the work is loaded with the first call: few policies allow them."""

from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from rightcall.config import Policy
from rightcall.execute.functions import LocalTool
from rightcall.execute.packed import packed_tool
from rightcall.packs import load_pack

_AROUND = 10.0
"""Seconds that reading a page may take, beside fetching it."""
_NO_SEARCH = "Web search is not set up here. Go on without it."


class FetchArguments(Struct, frozen=True, rename={"most": "maxLength"}):
    url: str
    format: Literal["text", "raw"] = "text"
    start: int = 0
    most: int = 20_000


class SearchArguments(Struct, frozen=True):
    query: str
    limit: int = 10
    page: int = 1


def web_tools(root: str, policy: Policy) -> list[LocalTool]:
    """They are in no stage: only a policy that names them lets them run. Search needs a server that it names."""
    about = {tool.name: tool for tool in load_pack("code").tools}
    settings, urls = policy.web, policy.settings.urls

    def fetched(asked: FetchArguments) -> Any:
        from asyncio import run

        from rightcall.web.fetch import fetch
        from rightcall.web.targets import Rules

        return run(fetch(asked, Rules(settings, urls, root)))

    def searched(asked: SearchArguments) -> Any:
        from asyncio import run

        from rightcall.web.search import search

        return run(search(asked, settings))

    timeout = settings.seconds + _AROUND
    search = packed_tool(about["web/search"], SearchArguments, searched)
    fetch = packed_tool(about["web/fetch"], FetchArguments, fetched)
    return [
        replace(fetch, timeout=timeout, lasting=True),
        replace(search, timeout=timeout, lasting=True, absent="" if settings.search else _NO_SEARCH),
    ]
