"""What the pages show, with ordinary and with hostile names and texts: nothing is executed, nothing hides (H-09)."""

import re
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest

from rightcall.base.letters import visible
from rightcall.console.page import Kept
from rightcall.console.pages.live import unspelled
from rightcall.console.people import enter, make_link
from rightcall.console.questions import json_visible, lay_out, text_lines
from rightcall.record.calls import LOOKED_THROUGH, CallFilter, calls_since, page_of_calls
from rightcall.record.memory import MemoryStore
from rightcall.record.tables import CallBody, EndBody, ManualClock, encode
from support.approvals import request_of, try_call
from support.consoles import Answer, Browser
from support.every import sampled
from support.raw_server import in_a_loop
from support.stores import Diary

SCRIPTS = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    '"><script>alert(1)</script>',
    "'><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "' autofocus onfocus='alert(1)",
    "javascript:alert(1)",
    "<a href=javascript:alert(1)>x</a>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "<!--<script>alert(1)//-->",
    "]]><script>alert(1)</script>",
    "{{7*7}}",
    "{% raw %}{% endraw %}{{ config }}",
    "${alert(1)}",
    "<%= 7*7 %>",
    "#{7*7}",
    "&lt;script&gt;",
    "&#60;script&#62;",
    "&#x3c;img src=x onerror=alert(1)&#x3e;",
    "<scr\0ipt>alert(1)</scr\0ipt>",
    "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "<base href=//evil.example/>",
    "<meta http-equiv=refresh content=0;url=//x>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<style>*{display:none}</style>",
    "<template><script>1</script>",
    "<details open ontoggle=alert(1)>",
    "</title><script>alert(1)</script>",
    "</textarea><script>alert(1)</script>",
    "<form action=//evil.example><button>Approve</button></form>",
    "<input name=answer value=approve>",
    '\\"-alert(1)//',
    "%3Cscript%3Ealert(1)%3C/script%3E",
    '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
    "<x onclick=alert(1)>",
    "event: state\ndata: {}\n\n",
    "\r\nset-cookie: a=b\r\n\r\n<html>",
)
HIDDEN = (
    "a\u202eb",
    "a\u202db",
    "a\u2066b\u2069",
    "a\u200bb",
    "a\u200db",
    "a\u2060b",
    "a\ufeffb",
    "a\u00adb",
    "a\u061cb",
    "a\u0000b",
    "a\u001b[2Jb",
    "a\u0007b",
    "a\u0085b",
    "a\u2028b",
    "a\u2029b",
    "a\u3164b",
    "a\u115fb",
    "a\u2800b",
    "a\u034fb",
    "a\ufe0fb",
    "a\u00a0b",
    "a\u2003b",
    "a\U000e0041b",
    "a\u05d0\u05d1b",
    "a\u0635\u0644b",
    "a\u0300\u0301\u0302\u0303b",
    "a\tb",
    "a\rb",
)
HOSTILE = (*SCRIPTS, *HIDDEN)
NEVER = frozenset(
    chr(code)
    for code in (
        *range(0x09),
        *range(0x0B, 0x20),
        *range(0x7F, 0xA0),
        0xAD,
        0x034F,
        0x061C,
        0x115F,
        0x200B,
        0x200C,
        0x200D,
        0x200E,
        0x200F,
        *range(0x2028, 0x202F),
        *range(0x2060, 0x2070),
        0x2800,
        0x3164,
        0xFEFF,
        0xFE0F,
        0xE0041,
    )
)
"""Characters that no page may hold as they are."""
TAGS = frozenset(
    re.findall(
        r"\w+",
        "html head meta title link script body a header svg use span nav ul li b div p i form button small main h1 h2"
        " h3 section table tbody tr th td thead dl dt dd ol code details summary figure figcaption g rect strong time"
        " em bdi label input select option datalist article dialog kbd fieldset legend path desc progress textarea br",
    )
)


class Reader(HTMLParser):
    """What a browser would make of a page: its elements and their attributes."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.problems: list[str] = []
        self.scripts = 0
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS and tag != "g":
            self.problems.append(f"<{tag}>")
        if tag == "script":
            self.scripts += 1
        for name, value in attrs:
            if name.startswith("on") or name in ("style", "srcdoc", "http-equiv"):
                self.problems.append(f"{name}={value}")
            if (name in ("href", "src", "action") and not (value or "").startswith(("/", "#"))) or (
                value or ""
            ).startswith("//"):
                self.problems.append(f"{name}={value}")

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        self.problems.append(f"<!--{data}")


def read(page: Answer) -> Reader:
    reader = Reader()
    reader.feed(page.text)
    return reader


def harms(page: Answer) -> list[str]:
    """What is wrong with a page: markup or a script that is not ours, a character that hides others."""
    reader = read(page)
    wrong = [f"status {page.status}"] if page.status not in (200, 404) else []
    wrong += [f"{reader.scripts} scripts"] if reader.scripts != 1 else []
    return [*wrong, *reader.problems, *sorted(NEVER & set(page.text))]


def harmless(page: Answer) -> Reader:
    assert harms(page) == []
    return read(page)


def recorded(store: MemoryStore, words: str, **more: Any) -> int:
    """A call that has these words wherever a record has words."""
    repairs = (
        {
            "path": words,
            "before": words,
            "after": words,
            "rule": words,
            "strategy": words,
            "confidence": 0.9,
            "note": words,
        },
    )
    body = CallBody(
        words, words, {words: [words, {"deep": words}]}, "d" * 64, "allow", words, words, words, words, words, repairs,
        problems=({"path": words, "code": words, "message": words},), model=words, written=words,
        provider=words, **more,
    )  # fmt: skip

    def work(tables: Any) -> int:
        call = tables.append("begin", 0, encode(body))
        tables.append("end", call, encode(EndBody("failed", 1.5, words, words)))
        return call

    return store.transact(work)


@pytest.mark.promise("H-09")
def test_there_are_sixty_hostile_strings() -> None:
    assert len(set(HOSTILE)) >= 60


@pytest.mark.parametrize("words", sampled(HOSTILE, 8), ids=ascii)
@pytest.mark.promise("H-09")
def test_hostile_words_are_text_on_every_page_and_nothing_hides_in_them(
    ann: Browser, store: MemoryStore, words: str
) -> None:
    number = recorded(store, words)
    waits = try_call(store, request_of({words: words, "lines": f"{words}\n{words}"}, caller="teacher", context=words))
    for path in (
        "/",
        "/inbox",
        "/live",
        f"/inbox/{waits.decision.approval}",
        f"/calls/{number}",
        f"/calls/{number + 1}",
        "/audit",
        *(f"/analytics?by={by}" for by in ("tool", "model", "provider", "caller")),
    ):
        assert harms(ann.get(path)) == [], path
    found = harmless(ann.get(f"/inbox/{waits.decision.approval}")).text
    assert "".join(one.text for one in text_lines(words)[0].pieces) in found
    raw = ann.get(f"/calls/{number}/raw")
    assert raw.headers["content-type"].startswith("application/x-ndjson")


@pytest.mark.parametrize("words", sampled(HOSTILE, 8), ids=ascii)
def test_hostile_words_in_the_address_are_text(ann: Browser, words: str) -> None:
    from urllib.parse import urlencode

    for path, names in (
        ("/live", ("text", "caller", "repair", "rule")),
        ("/audit", ("text", "caller", "tool", "since")),
        ("/analytics", ("caller", "by")),
    ):
        assert harms(ann.get(f"{path}?{urlencode(dict.fromkeys(names, words))}")) == [], path


def test_a_long_text_is_there_to_its_end(ann: Browser, store: MemoryStore) -> None:
    waits = try_call(store, request_of({"path": "a", "content": "x" * 400_000 + "THE END"}))
    assert "THE END" in ann.get(f"/inbox/{waits.decision.approval}").text


def test_many_empty_lines_and_blanks_are_counted_and_push_nothing_out_of_sight() -> None:
    lines = text_lines("first\n" + "\n" * 500 + " " * 3000 + "last")
    assert [[piece.text for piece in one.pieces] for one in lines] == [
        ["first"],
        ["500 empty lines"],
        ["3,000 blanks", "last"],
    ]
    assert [one.number for one in lines] == [1, 0, 502]


def test_a_preview_counts_lines_as_the_file_does_and_a_blank_line_of_its_context_is_blank() -> None:
    diff = (
        "--- a/n.md\n+++ b/n.md\n@@ -4,4 +4,5 @@ part\n # Notes\n \n--- old\n+new \n+\n+\u202eback\n end\n"
        "\\ No newline at end of file\n@@ -20 +21 @@\n-a\n+b\n+ not of the hunk"
    )
    shown = [
        (one.number, one.mark, "".join(piece.text for piece in one.pieces)) for one in text_lines(diff, is_diff=True)
    ]
    assert shown == [
        (0, "", "--- a/n.md"), (0, "", "+++ b/n.md"), (0, "", "@@ -4,4 +4,5 @@ part"),
        (4, "", " # Notes"), (5, "", " "),
        (6, "-", "--- old"), (6, "+", "+new\\u0020"), (7, "+", "+"), (8, "+", "+\\u202eback"), (9, "", " end"),
        (0, "", "\\ No newline at end of file"), (0, "", "@@ -20 +21 @@"), (20, "-", "-a"), (21, "+", "+b"),
        (0, "+", "+ not of the hunk"),
    ]  # fmt: skip
    plain = text_lines("+a\n @@ -1 +1 @@\n ", is_diff=True)
    assert [(one.number, one.pieces[0].text) for one in plain] == [(1, "+a"), (2, " @@ -1 +1 @@"), (3, "\\u0020")]


def test_json_keeps_its_own_escapes_and_spells_what_hides() -> None:
    assert json_visible('{"a": "x\\ny\u202e \\u0041"}') == '{"a": "x\\ny\\u202e \\u0041"}'


def test_the_words_of_a_caller_cannot_draw_a_line_of_ours(ann: Browser, store: MemoryStore) -> None:
    waits = try_call(store, request_of({"content": "1,000 empty lines\nDigest of everything above"}))
    page = ann.get(f"/inbox/{waits.decision.approval}").text
    assert page.count('<em class="ours">') == 0
    assert page.count('<p class="digest">') == 1


# ── the pages themselves ──


def test_the_overview_counts_what_happened(ann: Browser, store: MemoryStore, clock: ManualClock) -> None:
    assert "No call is recorded yet" in ann.get("/").text
    recorded(store, "code/read")
    waits = try_call(store, request_of())
    page = harmless(ann.get("/?period=1hour"))
    for words in ("1 call waits for you", "code/read", "teacher"):
        assert words in page.text
    assert f"/inbox/{waits.decision.approval}" in ann.get("/").text
    assert ann.get("/?period=evil").status == 200


def test_the_pause_is_on_every_page(ann: Browser, store: MemoryStore) -> None:
    from rightcall.record.admission import pause

    store.transact(lambda tables: pause(tables, "ann", "runaway"))
    for path in ("/", "/inbox", "/live"):
        assert "All calls are paused" in ann.get(path).text


def ran(store: MemoryStore, tool: str = "code/read", caller: str = "ada", **more: Any) -> int:
    body = CallBody(caller, tool, {"path": "a.md"}, "d" * 64, more.pop("decision", "allow"), "stage:read-only", **more)
    return store.transact(lambda tables: tables.append("begin", 0, encode(body)))


def shown(page: Answer) -> list[int]:
    return [int(one) for one in re.findall(r'data-id="(\d+)"', page.text)]


def test_live_shows_the_newest_first_and_pages_by_number(ann: Browser, store: MemoryStore) -> None:
    calls = [ran(store) for _ in range(120)]
    seen: list[int] = []
    path = "/live"
    while path:
        page = ann.get(path)
        seen += shown(page)
        following = re.search(r'href="(/live\?[^"]*before=\d+)" rel="next"', page.text)
        path = following[1].replace("&amp;", "&") if following else ""
    assert seen == calls[::-1]


@pytest.mark.parametrize(
    ("query", "tools"),
    [
        ("tool=b", ["b"]),
        ("caller=eve", ["b"]),
        ("model=llama", ["c"]),
        ("decision=dry_run", ["d"]),
        ("repair=any", ["e"]),
        ("repair=alias", ["e"]),
        ("repair=none&tool=e", []),
        ("text=NEEDLE", ["f"]),
        ("context=s1", ["f"]),
        ("period=1h", ["g"]),
        ("status=interrupted&tool=b", ["b"]),
        ("status=success", []),
        ("rule=stage%3Aread-only&tool=c", ["c"]),
        ("tool=", list("gfedcba")),
        ("period=nonsense", list("gfedcba")),
    ],
)
def test_live_filters_by_what_stands_in_the_address(
    ann: Browser, store: MemoryStore, clock: ManualClock, query: str, tools: list[str]
) -> None:
    ran(store, "a")
    ran(store, "b", "eve")
    ran(store, "c", model="llama")
    ran(store, "d", decision="dry_run")
    ran(store, "e", repairs=({"path": "x", "rule": "alias", "strategy": "rules"},), strategy="rules")
    ran(store, "f", context="s1", reason="a needle in it")
    clock.advance(7200)
    ran(store, "g")
    # the session is of before, and still counts
    page = ann.get(f"/live?{query}")
    assert re.findall(r'<span class="tool">(\w)', page.text) == tools


def test_a_page_of_calls_is_searched_in_bounded_steps_and_says_where_to_go_on(store: MemoryStore) -> None:
    needle = ran(store, "needle")

    def fill(tables: Any) -> None:
        for _ in range(LOOKED_THROUGH + 10):
            tables.append("message", 0, b"{}")

    store.transact(fill)
    wanted = CallFilter(tool="needle")
    first = store.look(lambda tables: page_of_calls(tables, wanted))
    assert (first.calls, first.before is not None) == ([], True)
    second = store.look(lambda tables: page_of_calls(tables, wanted, before=first.before))
    assert ([one.id for one in second.calls], second.before) == ([needle], None)
    assert store.look(lambda tables: calls_since(tables, needle, wanted)) == []


@pytest.mark.promise("H-09")
def test_a_call_is_shown_from_what_was_written_to_what_was_read(ann: Browser, store: MemoryStore) -> None:
    repair = {"path": "patern", "before": "patern", "after": "pattern", "rule": "name_typo", "confidence": 0.95}
    body = CallBody(
        "ada", "code/search", {"pattern": "TODO"}, "d" * 64, "allow", "stage:read-only", context="s1",
        emission='{"name": "code/search", "arguments": {"patern": "TODO"}}', written="code-search",
        strategy="structure", repairs=(repair,), confidence=0.95, effects=("read",), policy="abc",
    )  # fmt: skip
    number = store.transact(lambda tables: tables.append("begin", 0, encode(body)))
    store.transact(
        lambda tables: tables.append("end", number, encode(EndBody("success", 12.5, summary="3 matches", tokens=42)))
    )
    beside = ran(store, "code/read", context="s1")
    page = ann.get(f"/calls/{number}")
    text = harmless(page).text
    steps = [
        text.index(words) for words in ("As written", "Recovered", "Repaired", "Decided", "Ran", "What the model read")
    ]
    assert steps == sorted(steps)
    for words in (
        '"patern": "TODO"', "name_typo", "95 % sure", "stage:read-only", "12 ms", "3 matches", "42 tokens",
        "code-search", "rightcall run --as ada code/search '{\"pattern\": \"TODO\"}'",
    ):  # fmt: skip
        assert words in text
    assert f"/calls/{beside}" in page.text
    hashes = [
        one.hash.hex() for one in store.look(lambda tables: [tables.entry(number), *tables.belonging(number)]) if one
    ]
    assert all(one in text for one in hashes)
    assert store.look(lambda tables: tables.entry(number + 1)) is not None
    assert f"record {number}" in ann.get(f"/calls/{number + 1}").text


def test_a_record_of_another_kind_has_a_page_and_an_unknown_one_says_so(ann: Browser, store: MemoryStore) -> None:
    assert "person added" in ann.get("/calls/1").text
    assert ann.get("/calls/999999").status == 404
    assert ann.get("/calls/x").status == 404
    assert ann.get("/nowhere").status == 404


def test_a_damaged_record_is_shown_as_one(ann: Browser, store: MemoryStore) -> None:
    number = store.transact(lambda tables: tables.append("begin", 0, b'{"caller": 3}'))
    assert "damaged" in harmless(ann.get(f"/calls/{number}")).text
    assert "damaged" in harmless(ann.get("/live")).text


def test_the_definition_that_changed_is_shown_beside_the_one_before(store: MemoryStore) -> None:
    from rightcall.policy.types import Approval
    from support.approvals import digest

    now = '{"description": "new", "name": "t"}'
    asked = Approval(
        "a1", "definition", "ada", "t", now, digest(now.encode()), "b", "d", "", "definition:changed: it has changed",
        "{}", 0, "2026-01-01 00:00:00.000", 10**15,
    )  # fmt: skip
    question = lay_out(asked, '{"description": "old", "name": "t"}', 0)
    assert [(one.mark, one.pieces[0].text) for one in question.changes] == [
        ("-", '"description": "old"'), ("+", '"description": "new"'),
    ]  # fmt: skip
    assert question.digest == asked.digest


def test_somebody_who_looks_sees_the_same_pages(bob: Browser, store: MemoryStore) -> None:
    number = ran(store)
    assert [bob.get(path).status for path in ("/", "/inbox", "/live", f"/calls/{number}")] == [200] * 4
    link = store.transact(lambda tables: make_link(tables, "bob", "bob"))
    assert store.transact(lambda tables: enter(tables, link, "link")) is not None


@pytest.mark.parametrize("words", sampled(HOSTILE, 3), ids=ascii)
def test_a_filter_finds_a_name_as_pages_spell_it(ann: Browser, store: MemoryStore, words: str) -> None:
    from urllib.parse import urlencode

    number = recorded(store, words)
    page = ann.get(f"/live?{urlencode({'caller': visible(words), 'tool': visible(words)})}")
    assert shown(page) == [number]
    assert unspelled(visible(words)) == words


@in_a_loop
async def test_figures_that_take_long_are_used_again_for_a_while_and_quick_ones_never() -> None:
    clock = [0.0]
    kept = Kept(lambda: clock[0])
    asked: list[float] = []

    def work(seconds: float) -> float:
        asked.append(clock[0])
        clock[0] += seconds
        return clock[0]

    assert await kept.get("quick", lambda: work(0.01)) == 0.01
    assert await kept.get("quick", lambda: work(0.01)) == 0.02
    asked.clear()
    slow = await kept.get("slow", lambda: work(2.0))
    for _ in range(10):
        assert await kept.get("slow", lambda: work(2.0)) == slow
        clock[0] += 3.9
    assert len(asked) == 1
    clock[0] += 1.1
    assert await kept.get("slow", lambda: work(2.0)) > slow


@in_a_loop
async def test_figures_are_not_kept_longer_than_they_count() -> None:
    clock = [0.0]
    kept = Kept(lambda: clock[0])

    def work() -> bytes:
        clock[0] += 0.1
        return bytes(100)

    for number in range(1000):  # as many callers as somebody cares to ask for
        await kept.get(("sums", number), work)
    assert len(kept._found) <= 25
    assert len(kept._locks) <= 1


def test_a_call_lifted_from_the_text_says_that_the_clients_answer_is_not_seen(ann: Browser, store: MemoryStore) -> None:
    why = "moved from the text to a tool call"
    body = CallBody("proxy", "weather", {"city": "Bern"}, "ab" * 32, "passed", "lifted", why)
    number = store.transact(lambda tables: tables.append("proxied", 0, encode(body)))
    page = ann.get(f"/calls/{number}").text
    last = page[page.index("What the model read") :]
    assert "The client's answer is not seen here." in unescape(last[: last.index("</li>")])
    assert why not in last[: last.index("</li>")]
    assert why in page


def passed(store: MemoryStore, fate: str, **more: Any) -> int:
    body = CallBody("proxy", "weather", {"days": 3}, "ab" * 32, "passed", f"proxy:{fate}", **more)
    return store.transact(lambda tables: tables.append("proxied", 0, encode(body)))


def left(store: MemoryStore) -> int:
    """A call that nothing made fit, passed on as it was."""
    why = "⚠️ Invalid weather call. Missing required fields: city."
    problem = {"code": "missing", "message": "city is missing"}
    return passed(store, "left", reason=why, strategy="failed", confidence=0.0, problems=(problem,))


def test_a_row_says_what_mode_observe_kept_from_being_done(ann: Browser, store: MemoryStore) -> None:
    diary = Diary(store)
    diary.ran(tool="Bash", rule="observe", reason="deny by command:catastrophic: It deletes everything.")
    asked = diary.ran(tool="Bash", rule="observe", reason="ask by command:network: It fetches.")
    diary.ran(tool="Bash", rule="observe")
    tags = re.findall(r'class="tag warn">([^<]+)<', ann.get("/live").text)
    assert tags == ["would ask: command:network", "would refuse: command:catastrophic"]
    assert shown(ann.get("/live?status=would-ask")) == [asked]


def test_each_call_says_how_it_came_to_fit_and_the_filters_agree(ann: Browser, store: MemoryStore) -> None:
    right, lifted, unfit = passed(store, "right"), passed(store, "lifted", origin="text"), left(store)
    change = {"path": "days", "rule": "alias", "strategy": "rules", "before": "3", "after": 3}
    repaired = passed(store, "repaired", strategy="rules", repairs=(change,))
    watched = passed(store, "would-repair", strategy="rules", repairs=(change,))
    copied = passed(store, "left", origin="text")
    rows = {int(one[1]): one[2] for one in re.finditer(r'data-id="(\d+)"(.*?)</li>', ann.get("/live").text, re.S)}
    badges = {number: re.findall(r'class="tag ?(\w*)">([^<]+)<', row) for number, row in rows.items()}
    assert badges == {
        right: [], lifted: [("", "lifted")], unfit: [("warn", "not repaired")],
        repaired: [("fixed", "1 repair")], watched: [("fixed", "would be repaired")],
        copied: [("warn", "left as written")],
    }  # fmt: skip
    found = {one: sorted(shown(ann.get(f"/live?repair={one}"))) for one in ("any", "lifted", "left", "none")}
    assert found == {"any": [repaired, watched], "lifted": [lifted], "left": [unfit, copied], "none": [right]}


def test_calls_through_the_proxy_are_in_the_figures_of_every_page(ann: Browser, store: MemoryStore) -> None:
    ran(store, "weather")
    left(store)
    left(store)
    passed(store, "lifted", origin="text")
    page = ann.get("/").text
    assert "<b>4</b><span>calls</span>" in page
    assert "<b>2</b><span>not repaired</span>" in page
    bars = re.findall(r'<td class="num">(\d+)</td><td class="num">(\d+)</td></tr>', page)
    assert (sum(int(one) for one, _ in bars), sum(int(one) for _, one in bars)) == (4, 3)
    assert re.search(r">weather</a></th>.*?<td class=\"num\">4</td>", page, re.S)
    assert 'href="/audit"' in page[page.index("<dt>Intact</dt>") :][:100]
    tools = ann.get("/tools").text
    assert re.search(r'"Not repaired"><a href="/live\?tool=weather&amp;repair=left&amp;period=24h">2</a>', tools)
    assert "<b>2</b><span>not repaired</span>" in ann.get("/tools/one?name=weather").text
    assert "1 more lifted from the text" in page
    analytics = ann.get("/analytics").text
    assert "<b>25.0 %</b><span>right as written</span>" in analytics, "the call that ran, and not the lifted one"
    assert "1 more lifted from the text" in analytics
    assert "<b>50.0 %</b><span>right in the end</span>" in analytics


def test_a_call_that_could_not_be_repaired_says_so_in_plain_words(ann: Browser, store: MemoryStore) -> None:
    page = unescape(ann.get(f"/calls/{left(store)}").text)
    repaired, decided = re.findall(r'<li class="step([^"]*)"><h2><span>[34]<', page)
    assert (repaired, decided) == (" bad", " bad")
    assert "It could not be repaired:" in page
    assert "city is missing" in page
    assert "It was passed on unchanged, as the model wrote it." in page
    assert "⚠ Invalid weather call." in page
    for wrong in ("Nothing had to be changed", "<code>failed</code>", "0 % sure", "⚠\\ufe0f Invalid"):
        assert wrong not in page[: page.index('id="chain"')]
    assert "⚠ Invalid weather call." in ann.get("/live").text


def test_a_call_lifted_from_the_text_was_right(ann: Browser, store: MemoryStore) -> None:
    page = ann.get(f"/calls/{passed(store, 'lifted', origin='text')}").text
    assert "It was taken out of the text; its arguments were right." in page
    assert "Nothing had to be changed" not in page
