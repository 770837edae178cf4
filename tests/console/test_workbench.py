"""Playground, tools, policy and doctor: what each page says, and that nothing runs, hides or changes by looking."""

import json
import re
import threading
from collections.abc import Generator, Mapping
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from rightcall import Gate, load_policy
from rightcall.base.secrets import Redactor
from rightcall.catalog.toml import key_lines
from rightcall.cli.corpora import CallCase, judge_call, shape_of_case
from rightcall.console.access import Address
from rightcall.console.app import Console, console_running
from rightcall.console.pages.policy import lines_of, source_of
from rightcall.policy.settings import ConsoleSettings
from rightcall.policy.types import SECOND, Grant
from rightcall.record.admission import give_grant
from rightcall.record.calls import call
from rightcall.record.memory import MemoryStore
from rightcall.record.tables import CallBody, EndBody, NoteBody, Tables, encode
from support.approvals import START, approval_of
from support.consoles import Browser

pytestmark = pytest.mark.promise("H-09")

POLICY = """\
version = 1
[policy]
stage = "full"
execute = "deny"
[callers.teacher]
stage = "read-only"
deny = ["code/log"]
[servers.files]
command = ["files-server", "--token", "sk-abcdefghijklmnopqrstuvwx1234567890"]
[policy.paths]
deny = ["keys/**"]
"""
BROKEN = """<tool_call>{'name': 'code_read', 'arguments': {"filename": "a.py", "startLine": "10",}}</tool_call>"""
HOSTILE = "<script>alert(1)</script>\u202egpj.exe\x1b[2K"
TOOL = {"name": "add", "parameters": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}}


class Bell:
    """What the doctor finds, when the test lets it."""

    def __init__(self) -> None:
        self.rung = threading.Event()
        self.done = threading.Event()

    def checks(self) -> Mapping[str, Any]:
        self.rung.wait(5)
        try:
            check = {"name": "policy", "state": "wrong", "text": f"broken {HOSTILE}", "next": "rightcall policy check"}
            step = {"command": "rightcall policy check", "why": "Fix the policy."}
            return {"ok": False, "checks": [check], "next": step, "models": []}
        finally:
            self.done.set()


@pytest.fixture
def bell() -> Bell:
    return Bell()


@pytest.fixture
def address(store: MemoryStore, tmp_path: Path, bell: Bell) -> Generator[Address]:
    file = tmp_path / "rightcall.toml"
    file.write_text(POLICY, encoding="utf-8")
    file.chmod(0o600)
    policy = load_policy(file)
    state = {
        "mcp": {
            "files": {
                "state": "failed",
                "tools": 0,
                "starts": 3,
                "problem": f"token=sk-abcdefghijklmnopqrstuvwx12 {HOSTILE}",
            }
        }
    }
    served = [("git", {"name": "git_status", "inputSchema": {"type": "object", "properties": {}}})]
    passed = [[TOOL | {"name": "sum_up"}], [TOOL | {"name": HOSTILE[:30]}]]
    console = Console(
        store, lambda: policy, str(tmp_path), lambda: state, lambda: served, bell.checks, lambda most: passed[:most]
    )
    with console_running(console, ConsoleSettings(port=0)) as found:
        yield found


def case_of(text: str, name: str = "case") -> dict[str, Any]:
    found = re.search(rf'<code id="{name}"[^>]*>(.*?)</code>', text)
    assert found is not None
    return json.loads(unescape(found[1]))


def read(browser: Browser, text: str, **more: str) -> str:
    found = browser.post("/playground/reading", {"text": text, "source": "policy"} | more)
    assert found.status == 200
    return found.text


def test_the_playground_shows_each_repair_with_its_rule_and_confidence(bob: Browser) -> None:
    page = read(bob, BROKEN)
    assert "1 call found" in page
    assert "code/read" in page
    for rule in ("tool_style", "single_quotes", "trailing_comma", "alias", "number_text"):
        assert f'<span class="tag fixed">{rule}</span>' in page
    assert "97 % sure" in page


def test_the_playground_works_without_scripts_and_keeps_what_was_typed(bob: Browser) -> None:
    found = bob.post("/playground", {"text": BROKEN, "source": "policy"})
    assert found.status == 200
    assert "1 call found" in found.text
    assert "code_read" in found.text.partition("</textarea>")[0]


def test_the_playground_offers_the_tools_of_the_last_requests_through_the_proxy(bob: Browser) -> None:
    page = bob.get("/playground").text
    offered = dict(re.findall(r'<option value="(request:\w+)"[^>]*>(.*?)</option>', page))
    assert [label for label in offered.values() if "sum_up" in label] == ["A request through the proxy: sum_up"]
    assert "<script>" not in page.partition("<select")[2].partition("</select>")[0]
    key = next(key for key, label in offered.items() if "sum_up" in label)
    read_by_it = read(bob, '<tool_call>{"name": "sumUp", "arguments": {"n": "3"}}</tool_call>', source=key)
    assert '<span class="tag fixed">number_text</span>' in read_by_it
    gone = read(bob, "x", source="request:0123456789ab")
    assert "no request with these tools passed the proxy lately" in gone


def test_the_playground_tells_what_a_refused_model_would_read(bob: Browser) -> None:
    page = read(
        bob, '<tool_call>{"name": "add", "arguments": {}}</tool_call>', source="pasted", pasted=json.dumps([TOOL])
    )
    assert "Missing required fields: n" in page
    assert "1 refused" in page


def test_a_pasted_schema_is_that_of_the_tool_that_is_called(bob: Browser) -> None:
    page = read(
        bob, '{"name": "plus", "arguments": {"n": "3"}}', source="pasted", pasted=json.dumps(TOOL["parameters"])
    )
    assert "number_text" in page
    assert ">plus<" in page


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"source": "pasted", "pasted": "{"}, "this is not JSON"),
        ({"source": "pasted", "pasted": ""}, "paste definitions"),
        ({"source": "pasted", "pasted": "[1]"}, "The tools cannot be used"),
        ({"source": "pack:../../etc"}, "unknown choice of tools"),
        ({"kind": "message"}, "This message is not JSON"),
        ({"text": "x" * 100_001}, "Too long"),
    ],
)
def test_what_the_playground_cannot_use_it_says(bob: Browser, more: dict[str, str], told: str) -> None:
    assert told in unescape(read(bob, **({"text": "hello"} | more)))


@pytest.mark.parametrize("source", ["policy", "server", "known", "none", "pack:code"])
def test_the_playground_reads_against_every_source(bob: Browser, source: str) -> None:
    call = '{"name": "git_status", "arguments": {}}'
    assert "1 call found" in read(bob, f"<tool_call>{call}</tool_call>", source=source)


def test_a_saved_case_is_one_that_eval_reads_and_finds_right(bob: Browser) -> None:
    page = read(
        bob,
        '<tool_call>{"name": "add", "arguments": {"n": "3"}}</tool_call>',
        source="pasted",
        pasted=json.dumps([TOOL]),
    )
    whole = case_of(page)
    assert shape_of_case(whole, "", 1) == "emissions"
    found = Gate(whole["tools"]).read(whole["text"]).calls[0].found
    assert found is not None
    assert whole["expected"] == [{"name": found.name, "arguments": found.arguments}]
    one = case_of(page, "case-1")
    assert shape_of_case(one, "", 1) == "calls"
    verdict = Gate([{"name": one["tool"], "parameters": one["schema"]}]).check(one["tool"], one["emitted"])
    assert verdict.call is not None
    got = judge_call(CallCase(one["emitted"], one["accepted"]), ok=True, arguments=verdict.call.arguments, touched=True)
    assert got == "restored"


def test_a_case_can_be_downloaded(bob: Browser) -> None:
    found = bob.post("/playground/case", {"text": BROKEN, "source": "policy"})
    assert found.headers["content-type"].startswith("application/x-ndjson")
    assert found.headers["content-disposition"] == 'attachment; filename="case.jsonl"'
    assert json.loads(found.text)["text"] == BROKEN


def test_trying_things_out_records_nothing(ann: Browser, store: MemoryStore) -> None:
    before = store.look(lambda tables: tables.head())
    read(ann, BROKEN)
    ann.post("/policy", {"caller": "teacher", "tool": "code/read", "arguments": '{"path": "a.py"}'})
    for path in ("/playground", "/tools", "/tools/one?name=code/read", "/policy", "/doctor"):
        assert ann.get(path).status == 200
    assert store.look(lambda tables: tables.head()) == before


def test_hostile_texts_are_shown_and_never_markup(bob: Browser, store: MemoryStore) -> None:
    def see(tables: Any) -> None:
        for what, text in (("first seen", "old"), ("accepted", HOSTILE)):
            described = json.dumps({"name": HOSTILE, "description": text, "parameters": {"type": "object"}})
            tables.pin(HOSTILE, text)
            data = {"tool": HOSTILE, "definition": text, "described": described}
            tables.append("definition", 0, encode(NoteBody(what, HOSTILE, data)))

    store.transact(see)
    pages = [bob.get(path).text for path in ("/tools", f"/tools/one?name={quote(HOSTILE)}", "/playground", "/policy")]
    pages.append(
        read(bob, f'{HOSTILE} {{"name": "{HOSTILE[:20]}", "arguments": {{"a": "{HOSTILE[:20]}"}}}}', source="known")
    )
    pages.append(bob.post("/policy", {"caller": "x", "tool": HOSTILE}).text)
    for page in pages:
        assert "<script>alert" not in page
        assert "\u202e" not in page
        assert "\x1b" not in page
    assert "&lt;script&gt;" in pages[0]
    assert "changed" in pages[0]
    assert "Changed since it was first seen" in pages[1]


def test_servers_show_their_last_error_without_secrets(bob: Browser) -> None:
    page = bob.get("/tools").text
    assert "failed" in page
    assert "sk-abcdefghijklmnop" not in page + bob.get("/policy").text
    assert "[redacted" in page


def test_a_tool_says_who_is_offered_it_and_why_somebody_is_not(bob: Browser) -> None:
    page = bob.get("/tools/one?name=code/log").text
    assert "denied by caller:deny" in page
    assert "everybody but teacher" in bob.get("/tools?text=code/log").text
    assert "denied by deny:execute" in bob.get("/tools?text=execute/python").text
    assert "No tool fits" in bob.get("/tools?text=zzz").text
    assert bob.get("/tools/one?name=zzz").status == 404


def test_the_policy_explains_a_call_by_the_rule_that_decides(bob: Browser) -> None:
    page = bob.post("/policy", {"caller": "teacher", "tool": "code/log"}).text
    assert "would be refused" in page
    assert "<code>caller:deny</code>" in page
    assert "would run" in bob.post("/policy", {"caller": "x", "tool": "code/read", "arguments": '{"path": "a"}'}).text
    assert "did you mean `code/read`" in unescape(bob.post("/policy", {"tool": "code/raed"}).text)


def test_a_rule_is_found_in_the_lines_of_the_file() -> None:
    keys, rows = key_lines(POLICY), POLICY.split("\n")
    found = {rule: lines_of(rule, keys, rows) for rule in ("stage:read-only", "caller:deny", "deny:execute", "paused")}
    assert found == {"stage:read-only": [6], "caller:deny": [7], "deny:execute": [4], "paused": []}


def grant(store: MemoryStore) -> None:
    made = Grant("aaaa1111", "teacher", "code/edit", {"path": "a*"}, 5, store.clock.now() + 3600 * SECOND, "root", "")
    store.transact(lambda tables: give_grant(tables, made))


def test_only_who_may_approve_revokes_a_grant_and_never_by_looking(
    ann: Browser, bob: Browser, store: MemoryStore
) -> None:
    grant(store)
    path = "/policy/grants/aaaa1111/revoke"
    assert "code/edit" in bob.get("/policy").text
    assert bob.post(path).status == 403
    assert ann.get(path).status == 405
    assert ann.post(path, None, **{"sec-fetch-site": "cross-site"}).status == 403
    assert len(store.look(lambda tables: tables.all_grants())) == 1
    assert ann.post(path).status == 303
    assert store.look(lambda tables: tables.all_grants()) == []
    entry = store.look(lambda tables: tables.newest(1))[0]
    assert entry.kind == "grant"
    assert b'"by":"ann"' in entry.body
    assert ann.post(path).status == 404


def test_the_doctor_shows_that_it_looks_and_then_what_it_found(ann: Browser, bob: Browser, bell: Bell) -> None:
    assert bob.post("/doctor/checks").status == 403
    assert "Not checked yet" in ann.get("/doctor").text
    assert ann.post("/doctor/checks").location == "/doctor"
    page = ann.get("/doctor").text
    assert "data-poll" in page
    assert "<progress" in page
    bell.rung.set()
    bell.done.wait(5)
    while "data-poll" in (page := ann.get("/doctor").text):
        pass
    assert "rightcall policy check" in page
    assert "<script>alert" not in page
    assert "No model server was found" in page


def report(usable: int) -> dict[str, Any]:
    share = {"without": {"asked": 10, "usable": usable, "right": 1}, "with": {"asked": 10, "usable": 10, "right": 9}}
    return {"host": "here", "model": HOSTILE, "total": share, "steps": [{"name": "one call", **share}]}


def test_two_reports_of_the_doctor_are_compared(ann: Browser, bob: Browser) -> None:
    assert bob.post("/doctor/reports", {"report": json.dumps(report(5))}).status == 403
    first, second = (ann.post("/doctor/reports", {"report": json.dumps(report(n))}).location for n in (5, 7))
    page = ann.get(f"{second}?with={first.rpartition('/')[2]}").text
    assert "70 %" in page
    assert '<span class="better">+20</span>' in page
    assert "<script>alert" not in page
    assert json.loads(ann.get(f"{first}/json").text) == report(5)
    for wrong in ("", "[]", '{"a": 1}', "[" * 5000):
        assert ann.post("/doctor/reports", {"report": wrong}).status == 400


def test_no_address_can_be_made_to_be_asked(ann: Browser) -> None:
    found = ann.post("/doctor/models", {"model": "http://169.254.169.254/v1 x"})
    assert found.status == 400
    assert "was not found on this machine" in found.text


def test_a_recorded_call_opens_in_the_playground(ann: Browser) -> None:
    assert ann.get("/playground?call=999999").status == 200
    assert ann.get("/playground?call=x").status == 200


def test_a_change_that_waits_is_shown_beside_its_tool_and_a_call_that_waits_is_none(
    bob: Browser, store: MemoryStore
) -> None:
    waiting = [
        approval_of(tool="git/git_status", kind="definition", id="aaaa1111"),
        approval_of(tool="code/read", kind="call", id="bbbb2222"),
        approval_of(tool="code/log", kind="definition", id="cccc3333", expires_at=START - 1),
    ]
    for one in waiting:
        store.transact(lambda tables, one=one: tables.put_approval(one))
    page = bob.get("/tools").text
    assert "/inbox/aaaa1111" in page
    assert "bbbb2222" not in page
    assert "cccc3333" not in page


@pytest.mark.parametrize("emission", [None, {"city": "Bern", "dayz": 3}, '{"city": "Bern", "dayz": 3'], ids=str)
def test_a_native_call_opens_in_the_playground_with_its_name(ann: Browser, store: MemoryStore, emission: Any) -> None:
    body = CallBody(
        "proxy", "weather", {"city": "Bern"}, "ab" * 32, "passed", "proxy:repaired", emission=emission, written="wether"
    )
    number = store.transact(lambda tables: tables.append("proxied", 0, encode(body)))
    page = unescape(ann.get(f"/playground?call={number}").text)
    text = page[page.index('id="search"') :].partition("</textarea>")[0]
    assert '"name": "wether"' in text
    assert "Bern" in text
    assert "No call found" not in page


def test_a_tool_that_runs_elsewhere_is_not_offered_to_be_run_here(ann: Browser, store: MemoryStore) -> None:
    def passed(tool: str) -> str:
        body = CallBody("proxy", tool, {"path": "a.md"}, "ab" * 32, "passed", "proxy:right")
        number = store.transact(lambda tables: tables.append("proxied", 0, encode(body)))
        return ann.get(f"/calls/{number}").text

    assert "rightcall run --as proxy code/read" in passed("code/read")
    page = passed("weather")
    assert "rightcall run" not in page
    assert "The model's client runs this call; RightCall recorded it." in unescape(page)
    said = unescape(ann.post("/policy", {"tool": "weather"}).text)
    assert "The model's client runs `weather`; RightCall repairs and records its calls." in said


def test_a_tool_of_a_client_is_told_by_what_passed_the_proxy(bob: Browser, store: MemoryStore) -> None:
    problem = {"code": "missing", "message": "n is missing"}
    body = CallBody(
        "proxy", "sum_up", {}, "ab" * 32, "passed", "proxy:left", reason="Missing required fields: n.",
        strategy="failed", confidence=0.0, problems=(problem,),
    )  # fmt: skip
    number = store.transact(lambda tables: tables.append("proxied", 0, encode(body)))
    page = bob.get("/tools/one?name=sum_up").text
    assert "It has no description." in page
    assert "&#34;integer&#34;" in page.partition("JSON Schema")[2]
    assert "<dt>Last called</dt><dd><time" in page
    assert "never called yet" not in page
    why = page.partition("Why its calls go wrong")[2].partition("</section>")[0]
    assert "n is missing" in why
    assert f'href="/calls/{number}"' in why
    assert "The model's client runs this tool; RightCall repairs and records its calls." in unescape(page)
    assert "its client runs it" in bob.get("/tools?text=sum_up").text


def test_a_tool_that_a_program_runs_with_its_own_functions_is_not_called_unknown(
    bob: Browser, store: MemoryStore
) -> None:
    body = CallBody("ada", "forecast", {}, "ab" * 32, "allow", "stage:own")

    def ran(tables: Tables) -> None:
        tables.append("end", tables.append("begin", 0, encode(body)), encode(EndBody("success", 1.0)))

    store.transact(ran)
    refused = CallBody("ada", "rocket", {}, "ab" * 32, "deny", "unknown_tool")
    store.transact(lambda tables: tables.append("refused", 0, encode(refused)))
    ours, nobodys = (unescape(bob.get(f"/tools/one?name={name}").text) for name in ("forecast", "rocket"))
    assert "A program or a host outside of this console runs this tool." in ours
    assert "Nothing here runs this tool, so RightCall refuses its calls." in nobodys
    listed = bob.get("/tools").text
    assert ("its program runs it" in listed, "no tool here has this name" in listed) == (True, True)


def test_rules_of_a_tool_are_told_in_words(bob: Browser) -> None:
    page = unescape(bob.get("/tools/one?name=code/read").text)
    rules = page.partition("Aliases and rules")[2].partition("</section>")[0]
    assert "('" not in rules
    assert "<dd>path" in rules


def test_a_refused_call_says_how_to_allow_it_and_leads_to_the_policy(bob: Browser, store: MemoryStore) -> None:
    body = CallBody("ada", "file/save", {"path": "a\u202e.md"}, "ab" * 32, "deny", "allowlist", reason="not on a list")
    number = store.transact(lambda tables: tables.append("refused", 0, encode(body)))
    page = unescape(bob.get(f"/calls/{number}").text)
    assert 'To allow it:</strong> add to the policy: [policy] write = "ask"' in page
    link = f"/policy?call={number}"
    assert f'href="{link}#explain"' in page
    form = unescape(bob.get(link).text).partition('id="explain"')[2]
    for part in ('value="ada"', 'value="file/save"', '{"path": "a\\u202e.md"}'):
        assert part in form, part


@pytest.mark.parametrize(
    ("tool", "params", "rule", "told"),
    [
        ("run", {}, "deny:execute", 'To allow it: change rightcall.toml:4 to `execute = "ask"` (a person'),
        ("code/read", {"path": "keys/a.pem"}, "path:deny", "out of [policy.paths] deny, rightcall.toml:11"),
        ("code/read", {"path": "rightcall.toml"}, "path:deny", "own files, such as the policy and the record, stay"),
        ("code/read", {"path": ".npmrc"}, "path:secret", "To allow it: name the file in [policy.paths] allow"),
        ("code/read", {"path": "../a"}, "path:outside", "No line of the policy allows it: path:outside is a built-in"),
        ("send_rocket", {}, "unknown_tool", "No line of the policy allows it: the call itself was wrong"),
        ("run", {}, "stage:full", "To allow it: change rightcall.toml:3"),
        ("run", {}, "limit:all:minute", "To allow it: wait, or raise the limit in [policy.limits] all"),
        ("code/log", {}, "policy:deny", "To allow it: take it out of [policy] deny"),
    ],
)  # fmt: skip
def test_every_refusal_says_which_line_to_change_or_that_none_lifts_it(
    bob: Browser, store: MemoryStore, tmp_path: Path, tool: str, params: dict[str, Any], rule: str, told: str
) -> None:
    digest = load_policy(tmp_path / "rightcall.toml").digest
    body = CallBody("ada", tool, params, "ab" * 32, "deny", rule, reason="no", policy=digest)
    number = store.transact(lambda tables: tables.append("refused", 0, encode(body)))
    assert told in told_of(bob.get(f"/calls/{number}").text)


def test_a_path_that_a_rule_hid_is_told_as_hidden_with_its_line_and_not_as_missing(
    bob: Browser, store: MemoryStore, tmp_path: Path
) -> None:
    digest, reason = load_policy(tmp_path / "rightcall.toml").digest, "No such file or folder: keys/a.pem"
    body = CallBody("ada", "code/read", {"path": "keys/a.pem"}, "ab" * 32, "deny", "path:deny", reason, policy=digest)
    number = store.transact(lambda tables: tables.append("refused", 0, encode(body)))
    page = bob.get(f"/calls/{number}").text
    gist = unescape(re.sub(r"<[^>]+>", "", page[page.index('<p class="gist') :].partition("</p>")[0]))
    assert f"Hidden from the model by path:deny, rightcall.toml:11. The model read: {reason}" in gist
    assert f"The rule hid it. What the model was told: {reason}" in told_of(page)


def test_only_a_tool_that_is_known_here_can_be_asked_about(bob: Browser, store: MemoryStore) -> None:
    body = CallBody("ada", "run_command", {"command": "make"}, "ab" * 32, "deny", "deny:execute", reason="no")
    number = store.transact(lambda tables: tables.append("refused", 0, encode(body)))
    page = bob.get(f"/calls/{number}").text
    assert ("Ask the policy about this call" in page, "To allow it:" in page) == (False, True)


def told_of(page: str) -> str:
    """Step 4 of a call, as a person reads it."""
    step = page[page.index("</span>Decided</h2>") :]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", step[: step.index("</li>\n<li")])).split())


@pytest.mark.parametrize(
    ("caller", "tool", "rule", "told", "line"),
    [
        ("teacher", "code/log", "caller:deny", 'rightcall.toml:7 7 deny = ["code/log"]', 7),
        ("teacher", "run", "stage:read-only", 'rightcall.toml:6 6 stage = "read-only"', 6),
        ("ada", "run", "deny:execute", 'rightcall.toml:4 4 execute = "deny"', 4),
        ("ada", "file/save", "approval:confidence", "a default: no line of rightcall.toml says otherwise", None),
        ("ada", "run", "validation", ", which holds under every policy", None),
    ],
)
def test_a_call_names_the_file_and_the_line_of_the_rule_that_decided(
    bob: Browser, store: MemoryStore, tmp_path: Path, caller: str, tool: str, rule: str, told: str, line: int | None
) -> None:
    digest = load_policy(tmp_path / "rightcall.toml").digest
    body = CallBody(caller, tool, {}, "ab" * 32, "deny", rule, reason="no", policy=digest)
    number = store.transact(lambda tables: tables.append("refused", 0, encode(body)))
    page = bob.get(f"/calls/{number}").text
    assert f"Denied by rule {rule} , {told}".replace(" , ,", " ,") in told_of(page)
    assert page.count(f'<a href="/policy#L{line}">rightcall.toml:{line}</a>') == (0 if line is None else 2)
    assert line is None or f'<li id="L{line}">' in bob.get("/policy").text


def test_a_call_that_another_policy_decided_about_names_no_line_of_this_one(bob: Browser, store: MemoryStore) -> None:
    body = CallBody("ada", "run", {}, "ab" * 32, "deny", "deny:execute", reason="no", policy="0123456789abcdef")
    number = store.transact(lambda tables: tables.append("refused", 0, encode(body)))
    page = bob.get(f"/calls/{number}").text
    assert "of another policy than the one in force here" in told_of(page)
    assert "/policy#L" not in page


def test_lines_about_other_callers_and_tools_did_not_decide(store: MemoryStore, tmp_path: Path) -> None:
    file = tmp_path / "other.toml"
    file.write_text(
        '[policy]\nstage = "full"\nwrite = "ask"\ndeny = [\n  "code/blame",\n  "code/l*",\n]\n'
        '[policy.tools."notes/*"]\nwrite = "ask"\n[callers.ada]\nwrite = "ask"\n'
    )
    file.chmod(0o600)
    policy = load_policy(file)

    def lines(caller: str, tool: str, rule: str) -> list[int]:
        body = CallBody(caller, tool, {}, "ab" * 32, "deny", rule, policy=policy.digest)
        number = store.transact(lambda tables: tables.append("refused", 0, encode(body)))
        found = store.look(lambda tables: call(tables, number))
        assert found is not None
        source = source_of(found, policy, Redactor(b"k" * 32))
        assert source is not None
        return [line for line, _ in source.lines]

    assert lines("bob", "file/save", "approval:write") == [3]
    assert lines("ada", "file/save", "approval:write") == [11]
    assert lines("bob", "notes/add", "approval:write") == [9]
    assert lines("bob", "code/log", "policy:deny") == [6]
