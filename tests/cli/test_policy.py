"""`rightcall policy`: every mistake of a file at once, what is worth knowing, what would be decided by which rule."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rightcall.cli.init import template
from rightcall.policy.decide import POLICIES
from rightcall.policy.settings import STAGES
from rightcall.record.notes import remember_tools
from rightcall.record.sqlite import SqliteStore
from support.cli import Runner, write_trusted

POLICY = """\
[policy]
stage = "sandbox"
deny = ["code/blame"]

[policy.budgets.tools."code/read"]
seconds = 5

[callers.teacher]
allow = ["file/save"]
write = "ask"
execute = "ask"
limits = { minute = 20 }

[callers.guest]
only = ["ping"]
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def file(here: Path) -> Path:
    file = here / "rightcall.toml"
    write_trusted(file, POLICY)
    return file


# check


@pytest.mark.promise("P-09")
def test_a_right_file_is_summed_up(run: Runner, here: Path) -> None:
    write_trusted(here / "rightcall.toml", template("swarm"))
    done = run("policy", "check")
    digest = done.out.split()[-1]
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "✓ rightcall.toml is right\n"
        "  stage    read-only, 14 tools\n"
        '  writes   dry run only, and only for tools in `stage` or `allow`; write = "ask" turns them on\n'
        '  runs     dry run only, and only for tools in `stage` or `allow`; execute = "ask" turns them on\n'
        "  preset   swarm; all callers 100 a minute, 2000 an hour\n"
        "           each caller 10 a minute, 200 an hour, 3 a second\n"
        "  callers  none by name\n"
        f"  digest   {digest}\n"
    )
    assert len(digest) == 16


@pytest.mark.promise("P-09")
def test_every_mistake_is_named_with_its_line_in_one_go(run: Runner, here: Path) -> None:
    (here / "bad.toml").write_text(
        '[gate]\nmode = "blok"\n[gate.tools.x]\naliases = { a = "b" }\nrequired = ["b"]\nmodes = 3\n'
        '[policy]\nstage = "ful"\nrepeats = 1\ndeny = ["ok", " x", "y", "", "z", "z "]\n'
        "[callers.guest]\nonly = []\nallow = []\nlimits = { minute = -1 }\n[audit]\nsize = true\n"
    )
    done = run("policy", "check", "bad.toml")
    assert (done.code, done.out) == (2, "")
    assert [line.removeprefix("error: ")[:70] for line in done.err.splitlines()] == [
        "bad.toml:2: gate.mode: 'blok' is not a valid choice; did you mean 'blo",
        "bad.toml:6: gate.tools.x.modes: unknown key; did you mean 'mode'?",
        "bad.toml:8: policy.stage: 'ful' is not a valid choice; did you mean 'f",
        "bad.toml:9: policy.repeats: 1 would refuse every call; must be 0 for n",
        'bad.toml:10: policy.deny[1]: " x" can match nothing: a name has no bla',
        "bad.toml:10: policy.deny[3]: must be a name, not an empty text",
        'bad.toml:10: policy.deny[5]: "z " can match nothing: a name has no bla',
        "bad.toml:12: callers.guest.only: cannot stand beside `allow`, which it",
        "bad.toml:14: callers.guest.limits.minute: must be a whole number from ",
        "bad.toml:16: audit.size: unknown key; expected one of: keep, path, red",
    ]


def test_mistakes_in_a_list_of_many_lines_have_each_their_own(run: Runner, here: Path) -> None:
    wrong = ['"a "', '"b"', "3", '"c"', '""', "[]", '"d"', '" e"']
    (here / "rightcall.toml").write_text("[policy]\nallow = [\n" + ",\n".join(wrong) + "\n]\n")
    mistakes = run("policy", "check", "--json").json["mistakes"]
    assert [(mistake["line"], mistake["message"].split(":")[0]) for mistake in mistakes] == [
        (3, "policy.allow[0]"), (5, "policy.allow[2]"), (7, "policy.allow[4]"), (8, "policy.allow[5]"),
        (10, "policy.allow[7]"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("version = 2\n[nonsense]\n", 1, "version: this RightCall reads version 1 of the policy file, not 2"),
        ("[policy\n", 1, "not valid TOML"),
        ("policy = 3\n", 1, "policy: must be a table, not a number"),
        ('[gate]\npacks = ["absent.toml"]\n', 0, "cannot be read: No such file"),
    ],
)
def test_json_carries_the_mistakes_too(run: Runner, here: Path, text: str, line: int, says: str) -> None:
    (here / "rightcall.toml").write_text(text)
    done = run("policy", "check", "rightcall.toml", "--json")
    assert (done.code, done.err) == (2, "")
    assert (done.json["ok"], done.json["file"]) == (False, "rightcall.toml")
    assert says in done.json["mistakes"][-1]["message"]
    assert done.json["mistakes"][-1]["line"] == line
    assert run("policy", "check", "rightcall.toml").code == 2


def test_json_of_a_right_file_has_what_the_summary_says(run: Runner, file: Path) -> None:
    record = run("policy", "check", "--json").json
    assert (record["ok"], record["stage"], record["preset"], record["write"]) == (True, "sandbox", "personal", None)
    assert record["tools"] == sorted(STAGES["sandbox"])
    assert record["callers"] == ["teacher", "guest"]
    assert record["notes"] == []


def test_without_a_file_one_is_told_how_to_get_one(run: Runner, here: Path) -> None:
    done = run("policy", "check")
    assert (done.code, done.out) == (2, "")
    assert done.err == "error: rightcall.toml: no such file; run `rightcall init` to write one, or name another file\n"
    assert "absent.toml: the policy cannot be read: No such file" in run("policy", "check", "absent.toml").err


NOTES = [
    ('write = "allow"', "policy.write", '"allow": nobody is asked before calls that write'),
    ('[callers.x]\nexecute = "allow"', "callers.x.execute", '"allow": nobody is asked before calls that execute'),
    ('tools."*".network = "allow"', 'policy.tools."*".network', "nobody is asked before calls that use the network"),
    ('tools."code_edit".write = "ask"', "policy.tools.code_edit", "did you mean `code/edit`?"),
    ('stage = "full"', "policy.stage", '"full": files can be edited, committed and merged'),
    ('stage = "limited-write"', "policy.stage", '"limited-write": files, tests and branches can be written'),
    ("limits.all.hour = 0", "policy.limits.all.hour", "0: any number of calls an hour (otherwise 20000)"),
    ("limits.caller.burst = 0", "policy.limits.caller.burst", "0: any number of calls a second (otherwise 30)"),
    ("limits.tools.ping.minute = 0", "policy.limits.tools.ping", "0 everywhere: this tool has no limit of its own"),
    ('allow = ["ping", "**"]', "policy.allow[1]", "`**` allows every tool there is"),
    ('allow = ["ping"]\ndeny = ["p*"]', "policy.allow[0]", "`ping` is denied as well, and the denial wins"),
    ('allow = ["code_execute_python"]', "policy.allow[0]", "did you mean `code/execute/python`?"),
    ('allow = ["code/exceute/python"]', "policy.allow[0]", "did you mean `code/execute/python`?"),
    ('deny = ["frobnicate"]', "policy.deny[0]", "no tool of the packs is called `frobnicate`: right if it is your own"),
    ('deny = ["code/zz*"]', "policy.deny[0]", "no tool of the packs matches `code/zz*`"),
    ("limits.tools.pong.minute = 3", "policy.limits.tools.pong", "did you mean `ping`?"),
    ("budgets.tools.pong.seconds = 3", "policy.budgets.tools.pong", "did you mean `ping`?"),
    ("approval.confidence = 0", "policy.approval.confidence", "0: no repair is too uncertain to run unasked"),
    ("approval.definitions = false", "policy.approval.definitions", "false: a tool may change its definition"),
    ('paths.allow = ["**/*"]', "policy.paths.allow[0]", "`**/*`: no file is secret by its name"),
    ("repeats = 0", "policy.repeats", "0: the same call may be made any number of times"),
    ("quarantine = 0", "policy.quarantine", "0: a call that is refused again and again is never put aside"),
    ('[gate]\nmode = "observe"', "gate.mode", '"observe": a call that does not fit its tool is not refused'),
    ('[gate.hosts]\nproxi.mode = "observe"', "gate.hosts.proxi", "did you mean `proxy`?"),
    ('[gate]\nunknown_tool = "pass"', "gate.unknown_tool", '"pass": calls of tools that nobody knows are not checked'),
    ("[callers.x]\nlimits.minute = 0", "callers.x.limits.minute", "0: any number of calls a minute (otherwise 100)"),
    ('[callers.x]\nonly = ["*"]', "callers.x.only[0]", "`*` allows every tool there is"),
    ('[callers.x]\nstage = "full"', "callers.x.stage", '"full": files can be edited'),
    ("[callers.my-ai]\n[callers.My_AI]", "callers.My_AI", "differs from `my-ai` only in its spelling; they are two"),
    ('[web]\nsearch = "https://s.example.org"', "web.search", "`web/fetch` and `web/search` are off"),
    (
        '[web]\nnetworks = ["10.0.0.0/8", "::/0"]\n[policy]\nallow = ["web/fetch"]',
        "web.networks[1]",
        "tools may fetch from every private network and from this machine",
    ),
    ("[router]\nthreshold = 0.5", "router.threshold", "tools run with less confidence than usual (0.7)"),
    (
        '[router.prime]\nurl = "http://m.example.com/v1"\nkey_env = "K"',
        "router.prime.url",
        "the key goes over the network as it is",
    ),
    (
        '[router]\nlight = { url = "http://127.0.0.1/v1", key_env = "K", headers = { api-key = "1" } }',
        "router.light.headers.api-key",
        "a secret in a file that others may read",
    ),
]


@pytest.mark.parametrize(("text", "key", "says"), NOTES)
def test_what_is_right_but_notable_is_noted_with_its_line(
    run: Runner, here: Path, text: str, key: str, says: str
) -> None:
    table = "" if text.startswith("[") else "[policy]\n"
    write_trusted(here / "rightcall.toml", f"{table}{text}\n")
    notes = run("policy", "check", "--json").json["notes"]
    assert [note["key"] for note in notes] == [key]
    assert says in notes[0]["note"]
    assert notes[0]["line"] == 2
    shown = run("policy", "check", columns=200)
    assert shown.code == 0
    assert f"! line 2    {key}: {notes[0]['note']}" in shown.out


def test_other_spellings_of_a_denied_name_need_no_note(run: Runner, here: Path) -> None:
    write_trusted(here / "rightcall.toml", '[policy]\ndeny = ["CODE.READ", "Code_*"]\n')
    assert run("policy", "check", "--json").json["notes"] == []


# explain


def explained(run: Runner, *arguments: str) -> Any:
    done = run("policy", "explain", *arguments, "--json")
    assert (done.code, done.err) == (0, "")
    return done.json


@pytest.mark.promise("P-01")
def test_the_designs_example_is_refused_by_the_default_and_says_how_to_allow_it(run: Runner, here: Path) -> None:
    done = run("policy", "explain", "--as", "teacher", "code/execute/python")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "✗ code/execute/python, called by `teacher`, would be refused\n"
        "  rule          allowlist\n"
        "  reason        Tool 'code/execute/python' is not whitelisted for AI use\n"
        '  to allow it   add to the policy: [policy] execute = "ask" (a person approves each call) or "allow"\n'
        "                (nobody is asked)\n"
        "  policy        the defaults: no rightcall.toml here\n"
        "  caller        not named in the policy, so what holds for everybody; stage read-only\n"
        "  tool          given; execute\n"
        "  policies      pause       no opinion\n"
        "                denied      no opinion\n"
        "                allowed     denied      allowlist  ◀ decides\n"
        "                batch       no opinion\n"
        "                quarantine  no opinion\n"
        "                truncated   no opinion\n"
        "                paths       no opinion\n"
        "                commands    no opinion\n"
        "                loops       no opinion\n"
        "                limits      no opinion\n"
        "                budget      no opinion\n"
        "                definition  no opinion\n"
        "                effects     dry run     dry_run\n"
        "                approval    no opinion\n"
        "  limits        limit:all:minute      1000 a minute\n"
        "                limit:all:hour        20000 an hour\n"
        "                limit:caller:minute   100 a minute\n"
        "                limit:caller:hour     2000 an hour\n"
        "                limit:caller:burst    30 a second\n"
        "                limit:tool:minute     20 a minute\n"
        "  budgets       30 s, 4000 tokens shown, 1000000 bytes kept\n"
        "  not judged    no arguments were given, so nothing that depends on them: paths, repeats\n"
    )
    assert list(here.iterdir()) == []


@pytest.mark.promise("P-01", "P-04", "P-06")
@pytest.mark.parametrize(
    ("caller", "call", "kind", "rule"),
    [
        ("anybody", ["code/read"], "allow", "stage:sandbox"),
        ("anybody", ["code_read"], "allow", "stage:sandbox"),
        ("anybody", ["code/execute/python"], "dry_run", "dry_run"),
        ("anybody", ["code/blame"], "deny", "policy:deny"),
        ("anybody", ["file/save"], "deny", "allowlist"),
        ("teacher", ["code/execute/python"], "ask", "approval:execute"),
        ("teacher", ["file/save"], "ask", "approval:write"),
        ("teacher", ["code/blame"], "deny", "policy:deny"),
        ("guest", ["ping"], "allow", "caller:only"),
        ("guest", ["code/read"], "deny", "allowlist"),
        ("anybody", ["code/read", '{"path": "src/a.py"}'], "allow", "stage:sandbox"),
        ("anybody", ["code/read", "{'file': 'conf/.env',}"], "deny", "path:secret"),
        ("anybody", ["code/read", '{"path": "../outside"}'], "deny", "path:outside"),
        ("anybody", ["code/read", "{}"], "deny", "validation"),
        ("guest", ["code/read", "{}"], "deny", "allowlist"),
    ],
)
def test_the_decision_and_its_rule_are_the_policies_own(
    run: Runner, file: Path, caller: str, call: list[str], kind: str, rule: str
) -> None:
    record = explained(run, "--as", caller, *call)
    assert (record["decision"]["kind"], record["decision"]["rule"]) == (kind, rule)
    deciding = [step for step in record["policies"] if step["decides"]]
    assert [step["rule"] for step in deciding] == [rule]
    assert [step["policy"] for step in record["policies"] if step["policy"] != "arguments"] == [n for n, _ in POLICIES]
    assert record["named"] is (caller != "anybody")


def test_a_callers_own_limits_and_a_tools_budget_are_shown(run: Runner, file: Path) -> None:
    record = explained(run, "--as", "teacher", "code/read")
    limits = {limit["rule"]: limit["calls"] for limit in record["limits"]}
    assert limits == {
        "limit:all:minute": 1000, "limit:all:hour": 20000, "limit:caller:minute": 20, "limit:caller:hour": 2000,
        "limit:caller:burst": 30, "limit:tool:minute": 50,
    }  # fmt: skip
    assert record["budgets"]["seconds"] == 5
    assert {limit["used"] for limit in record["limits"]} == {None}


@pytest.mark.promise("P-02", "P-08", "P-12")
def test_live_counts_what_was_really_called_and_writes_nothing(run: Runner, file: Path) -> None:
    file.write_text('[callers.teacher]\nlimits = { minute = 3 }\n[audit]\npath = "store/audit.db"\n')
    (file.parent / "store").mkdir()
    with closing(SqliteStore(str(file.parent / "store" / "audit.db"))) as store:
        for call in (1, 2):
            store.transact(lambda tables, call=call: tables.mark("caller\0teacher", call))
        store.transact(lambda tables: tables.pin("code/read", "of another definition"))
        head = store.look(lambda tables: tables.head())
        record = explained(run, "--as", "teacher", "code/read", "--live")
        used = {limit["rule"]: limit["used"] for limit in record["limits"]}
        assert (used["limit:caller:minute"], used["limit:all:minute"]) == (2, 0)
        assert (record["decision"]["kind"], record["decision"]["rule"]) == ("ask", "definition:changed")
        assert (
            "limit:caller:minute   3 a minute, 2 used"
            in run("policy", "explain", "--as", "teacher", "ping", "--live").out
        )
        store.transact(lambda tables: tables.mark("caller\0teacher", 3))
        full = explained(run, "--as", "teacher", "ping", "--live", "--store", str(file.parent / "store" / "audit.db"))
        assert full["decision"]["rule"] == "limit:caller:minute"
        assert full["decision"]["retry_after"] > 0
        assert store.look(lambda tables: tables.head()) == head
    assert explained(run, "--as", "teacher", "ping")["decision"]["kind"] == "allow"


def test_the_policy_file_can_be_named_in_every_usual_way(run: Runner, here: Path) -> None:
    (here / "sub").mkdir()
    other = here / "sub" / "rightcall.toml"
    write_trusted(other, '[callers.teacher]\nonly = ["ping"]\n')
    for arguments in (
        [str(other), "--as", "teacher", "ping"],
        ["--as", "teacher", str(other), "ping", "{}"],
        ["ping", "--as", "teacher", "--policy", str(other)],
        ["ping", "--as", "teacher", "--root", "sub"],
    ):
        assert explained(run, *arguments)["decision"]["rule"] == "caller:only"


def test_own_tools_are_judged_by_what_they_declare(run: Runner, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "explain_my_tools.py").write_text(
        "from rightcall.tools.functions import tool\n"
        "@tool(effects=['read'])\ndef count(text: str) -> int:\n    return len(text)\n"
        "def undeclared(text: str) -> int:\n    return len(text)\n"
        "TOOLS = [count, undeclared]\n"
    )
    (here / "tools.json").write_text(json.dumps([{"name": "served", "parameters": {"type": "object"}}]))
    monkeypatch.syspath_prepend(str(here))
    sources = ["--tools", "explain_my_tools:TOOLS", "--tools", "tools.json", "--pack", "agent-zero"]
    assert explained(run, "count", *sources)["decision"]["rule"] == "stage:own"
    for tool in ("undeclared", "served", "code_execution_tool"):
        assert explained(run, tool, *sources)["decision"]["rule"] == "allowlist"
    assert explained(run, "served", *sources)["effects_declared"] is False


def test_people_are_told_whom_they_may_have_meant(run: Runner, file: Path) -> None:
    assert "not named in the policy (did you mean teacher?)" in run("policy", "explain", "--as", "techer", "ping").out
    assert (
        "has a table of its own; only what its own list names" in run("policy", "explain", "--as", "guest", "ping").out
    )
    to_allow = run("policy", "explain", "--as", "guest", "code/read").out
    assert 'to allow it   only = ["code/read"] in [callers.guest]' in to_allow


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["code/raed/this"], "unknown tool `code/raed/this`: did you mean `code/read`"),
        (["ping", "{}", "{}"], "explain takes [FILE] TOOL [ARGS]"),
        (["absent.toml", "ping"], "absent.toml: the policy cannot be read"),
        (["rightcall.toml", "ping", "--policy", "rightcall.toml"], "the policy file is named twice"),
        (["ping", "--as", " "], "--as needs the name of a caller"),
        (["ping", "--store", "x.db"], "`--store` needs `--live`"),
        (["ping", "--live"], "no audit log at"),
        (["ping", "--tools", "absent.json"], "absent.json: cannot be read"),
        ([], "the following arguments are required"),
        (["ping", "--bogus"], "unknown option `--bogus`"),
    ],
)
def test_wrong_usage_is_named(run: Runner, file: Path, arguments: list[str], message: str) -> None:
    done = run("policy", "explain", *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_a_wrong_policy_is_never_explained_by_the_defaults(run: Runner, file: Path) -> None:
    file.write_text('[policy]\nstage = "ful"\n')
    done = run("policy", "explain", "ping")
    assert (done.code, done.out) == (2, "")
    assert "rightcall.toml:2: policy.stage: 'ful' is not a valid choice" in done.err


def test_nothing_hostile_reaches_the_terminal(run: Runner, file: Path) -> None:
    hostile = "\x1b[2J"
    for arguments in (
        ["explain", "--as", "a", f"tool{hostile}"],
        ["explain", "--as", "a", "code/read", f'{{"path": "{hostile}/.env"}}'],
        ["explain", "--as", "a\u202e", "ping"],
        ["check", f"{hostile}.toml"],
    ):
        done = run("policy", *arguments)
        assert not {"\x1b", "\u202e"} & set(done.out + done.err)


@pytest.mark.promise("T-08")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[router]\nbelow = "skip"', "router   runs from 0.7 on, goes without the tool below; models: none"),
        (
            '[router.prime]\nurl = "http://127.0.0.1:8080/v1"',
            "router   runs from 0.7 on, asks the user below; models: prime http://127.0.0.1:8080/v1",
        ),
        ("[router]\nenabled = false", "router   off: no request is given a tool"),
    ],
)
def test_a_router_with_settings_of_its_own_is_told(run: Runner, here: Path, text: str, says: str) -> None:
    write_trusted(here / "rightcall.toml", f"{text}\n")
    assert says in run("policy", "check", columns=200).out
    assert run("policy", "check", "--json").json["router"]["threshold"] == 0.7


@pytest.mark.promise("P-16")
def test_one_line_is_explained(run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("policy", "command", "git push --force")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "? git push --force\n"
        "  answer  ask\n"
        "  rule    command:destroys\n"
        "  why     `git push --force` can destroy something that cannot be brought back\n"
    )
    assert json.loads(run("policy", "command", "--url", "file:///x/.env", "--json").out)["answer"] == "deny"


def test_a_command_line_without_quotes_is_told_to_be_quoted(run: Runner) -> None:
    for words in (["ls", "-la"], ["git", "push", "origin"]):
        done = run("policy", "command", *words)
        assert done.code == 2
        assert f"rightcall policy command '{' '.join(words)}'" in done.err


def test_a_command_line_comes_from_a_file_or_from_standard_input(run: Runner, tmp_path: Path) -> None:
    file = tmp_path / "line.txt"
    file.write_text("git push --force\n")
    typed = run("policy", "command", "git push --force", "--json", "--root", str(tmp_path))
    for given in (
        run("policy", "command", f"@{file}", "--json", "--root", str(tmp_path)),
        run("policy", "command", "-", "--json", "--root", str(tmp_path), stdin="git push --force\n"),
    ):
        assert given == typed
    assert typed.json["answer"] == "ask"
    assert run("policy", "command", f"@{tmp_path}/none", "--root", str(tmp_path)).code == 2


# tools of servers

SERVED = """\
[policy]
stage = "read-only"

[callers.teacher]
deny = ["notes/wipe"]

[servers.notes]
command = ["notes-server"]
effects = { "find" = ["read"] }
deny = ["drop"]
"""
LISTED = [
    {"name": name, "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}}
    for name in ("find", "add", "wipe", "drop")
]


@pytest.fixture
def remembered(here: Path) -> Path:
    write_trusted(here / "rightcall.toml", SERVED)
    with closing(SqliteStore(here / ".rightcall" / "audit.db")) as store:
        assert remember_tools(store, "notes", LISTED)
    return here


@pytest.mark.parametrize(
    ("call", "kind", "rule"),
    [
        (("notes/find",), "allow", "server:notes"),
        (("notes_find", '{"q": "milk"}'), "allow", "server:notes"),
        (("mcp__notes__find",), "allow", "server:notes"),
        (("notes/find", "{}"), "deny", "validation"),
        (("notes/add",), "ask", "approval:write"),
        (("notes/wipe",), "deny", "caller:deny"),
        (("notes/drop",), "deny", "server:notes"),
    ],
)
@pytest.mark.usefixtures("remembered")
def test_a_tool_of_a_server_that_was_seen_is_explained_as_the_gateway_decides(
    run: Runner, call: tuple[str, ...], kind: str, rule: str
) -> None:
    record = explained(run, "--as", "teacher", *call)
    assert record["tool"] == "notes/" + call[0].replace("mcp__notes__", "").replace("notes_", "").removeprefix("notes/")
    assert (record["decision"]["kind"], record["decision"]["rule"]) == (kind, rule)


HOSTED = """[policy]
deny = ["WebFetch"]
[policy.limits.tools]
Bash = { minute = 2 }
[policy.approval]
tools = ["Write"]
"""


@pytest.mark.parametrize(
    ("call", "kind", "rule"),
    [
        (("Bash", '{"command": "ls"}'), "allow", "host:claude-code"),
        (("Bash", '{"command": "rm -rf /"}'), "deny", "command:catastrophic"),
        (("Write",), "ask", "approval:tool"),
        (("WebFetch",), "deny", "policy:deny"),
    ],
)
def test_a_tool_of_a_host_is_explained_as_its_hook_decides(
    run: Runner, here: Path, call: tuple[str, ...], kind: str, rule: str
) -> None:
    write_trusted(here / "rightcall.toml", HOSTED)
    record = explained(run, "--as", "claude-code", *call)
    assert (record["decision"]["kind"], record["decision"]["rule"]) == (kind, rule)
    if call[0] == "Bash" and kind == "allow":
        assert {"rule": "limit:tool:minute", "calls": 2, "used": None} in record["limits"]


def test_a_tool_of_a_host_is_asked_about_with_its_caller(run: Runner) -> None:
    done = run("policy", "explain", "Write")
    assert (done.code, done.err) == (2, "error: `Write` is a tool of claude-code: ask with `--as claude-code`\n")


def test_a_server_that_was_never_seen_is_named_with_what_to_do(run: Runner, here: Path) -> None:
    write_trusted(here / "rightcall.toml", SERVED)
    done = run("policy", "explain", "--as", "teacher", "notes/find")
    assert done.code == 2
    assert "rightcall hook learn --name notes" in done.err


MISSPELT = SERVED.replace('deny = ["drop"]', 'deny = ["dorp"]').replace("notes/wipe", "notes/wpie")


@pytest.mark.usefixtures("remembered")
def test_a_misspelt_name_of_a_servers_tool_is_noted_once_the_server_was_seen(run: Runner, here: Path) -> None:
    assert "no known tool" not in run("policy", "check").out
    write_trusted(here / "rightcall.toml", MISSPELT)
    notes = {note["key"]: note["note"] for note in json.loads(run("policy", "check", "--json").out)["notes"]}
    assert notes["callers.teacher.deny[0]"] == "no known tool has the name `notes/wpie`; did you mean `notes/wipe`?"
    assert notes["servers.notes.deny[0]"] == "no known tool has the name `dorp`; did you mean `drop`?"


def test_names_of_a_server_that_was_never_seen_are_said_not_to_be_checked(run: Runner, here: Path) -> None:
    write_trusted(here / "rightcall.toml", MISSPELT)
    shown = " ".join(run("policy", "check").out.split())
    assert "could not be checked" in shown
    assert "rightcall hook learn --name notes" in shown


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        ("platform", "platform", True), ("staff/{email}", "staff/{sub}", True), ("staff/{email}", "staff/anna", True),
        ("staff/anna", "staff/{sub}", True), ("staff/{email}", "crew/{email}", False),
        ("staff/{email}", "staff", False), ("platform", "platforms", False),
    ],
)  # fmt: skip
def test_callers_that_two_identity_providers_share_are_told(
    run: Runner, here: Path, first: str, second: str, shared: bool
) -> None:
    table = (
        '[[identity]]\nissuer = "https://{0}.example.org"\naudience = "https://gateway.example.org/mcp"\nname = "{0}"\n'
        '[identity.map]\n"group:x" = {{ caller = "{1}" }}\n'
    )
    write_trusted(here / "rightcall.toml", table.format("One", first) + table.format("Two", second))
    done = run("policy", "check")
    told = f"caller `{second}` is also one of One: tokens of both share its rights, limits and records"
    assert (done.code, told in " ".join(done.out.split())) == (0, shared)
