"""`web/fetch` and `web/search`: what strangers wrote, and where."""

from typing import Any

from rightcall.present.fields import Fields, many, number, own, records, text, texts
from rightcall.present.view import Losses, View, left_out


def shape_page(result: Any) -> dict[str, Any]:
    result = own(result)
    title, passed = text(result, "title"), texts(result, "redirects")
    return {
        "url": text(result, "url"),
        "summary": f"{_counted(result)} of {text(result, 'contentType')}, {_warning(result)}",
        **({"redirectedFrom": passed} if passed else {}),
        **({"title": title} if title else {}),
        "start": number(result, "start"),
        "content": text(result, "content"),
    } | ({"truncated": True, "next": _following(result)} if result.get("truncated") is True else {})


def _warning(result: Fields) -> str:
    if result["untrusted"] is not True:
        raise LookupError("untrusted")
    return "untrusted content from the web"


def _counted(result: Fields) -> str:
    return f"{len(text(result, 'content')):,} of {number(result, 'length'):,} characters"


def _following(result: Fields) -> str:
    return f"start={number(result, 'start') + len(text(result, 'content'))}"


def summarise_page(result: Any) -> str:
    """Without the query, which may hold a key."""
    result = own(result)
    return f"Fetched {_counted(result)} from {text(result, 'url').partition('?')[0]}"


def note_page(cut: dict[str, Any], losses: Losses) -> str | None:
    """Where to read on."""
    loss = losses.get(("content",))
    if loss is None or not cut.get("content"):
        return None
    shown = len(cut["content"]) - (1 if loss.line else 0)
    following = number(cut, "start") + shown
    if "next" in cut:
        cut["next"] = f"start={following}"
    return f"the text goes on: call web/fetch with start={following}"


def shape_hits(result: Any) -> dict[str, Any]:
    result = own(result)
    found = [dict(hit) for hit in records(result, "results")]
    summary = f"{many(len(found), 'result')}, {_warning(result)}"
    return {"query": text(result, "query"), "summary": summary, "results": found}


def summarise_hits(result: Any) -> str:
    return f"Found {many(len(records(own(result), 'results')), 'result')}"


_FEWER_HITS = left_out("results", "results left out: use a smaller limit")
VIEWS = (
    View("web/fetch", shape_page, summarise_page, note_page, first=("url", "summary")),
    View("web/search", shape_hits, summarise_hits, _FEWER_HITS, first=("query", "summary")),
)
