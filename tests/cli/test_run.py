"""`rightcall run`: one call the whole way, from the shell."""

import io
import json
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rightcall.record.postgres import PostgresStore
from rightcall.record.sqlite import SqliteStore
from support.approvals import say
from support.cli import Done, Runner, write_trusted
from support.postgres import POSTGRES, shared

Caller = Callable[..., Done]

TOOLS = '''
from rightcall import tool

@tool(effects=["read"])
def word_count(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())

@tool(effects=["write"])
def save(name: str) -> str:
    with open(name, "w") as file:
        file.write("saved")
    return "saved"

@tool(effects=["read"])
def fail() -> None:
    raise RuntimeError("broken \\x1b[31m inside")

TOOLS = [word_count, save, fail]
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "calltools.py").write_text(TOOLS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "calltools", raising=False)
    return tmp_path


@pytest.fixture
def call(run: Runner, folder: Path) -> Caller:
    return lambda *arguments: run("run", *arguments, "--tools", "calltools:TOOLS", "--as", "teacher")


@pytest.mark.promise("X-01", "H-02")
def test_a_call_is_repaired_run_and_recorded(call: Caller, folder: Path) -> None:
    ran = call("word_count", "{'txt': 'to be or not'}", "--json")
    assert ran.code == 0, ran.err
    outcome: Any = json.loads(ran.out)
    assert (outcome["ok"], outcome["result"], outcome["decision"]["rule"]) == (True, 4, "stage:own")
    assert outcome["call"] == {"name": "word_count", "arguments": {"text": "to be or not"}}
    assert set(outcome["metadata"]["stages"]) == {"check", "authorise", "execute", "record", "present"}
    assert (folder / ".rightcall" / "audit.db").exists()


@pytest.mark.promise("X-01")
def test_explain_says_what_was_repaired_which_rule_decided_and_how_long_each_stage_took(
    call: Callable[..., Done], folder: Path
) -> None:
    ran = call("word_count", "{'txt': 'to be'}", "--explain")
    assert ran.code == 0, ran.err
    for words in ("✓ word_count ran in", "repairs", "allowed by rule stage:own", "authorise", "record"):
        assert words in ran.out


def test_the_repairs_that_were_made_are_shown_without_being_asked_for(call: Callable[..., Done], folder: Path) -> None:
    ran = call("word_count", "{'txt': 'to be'}")
    assert "repairs          (the call)  single quotes read as double quotes" in ran.out
    assert '"txt" → "text"' in ran.out
    assert "stages" not in ran.out


@pytest.mark.promise("P-01", "P-04")
def test_what_the_policy_does_not_allow_ends_with_one_and_changes_nothing(
    call: Callable[..., Done], folder: Path
) -> None:
    ran = call("save", '{"name": "a.txt"}')
    assert ran.code == 1
    assert "Tool 'save' is not whitelisted for AI use" in ran.out
    assert 'add to the policy: [policy] write = "ask"' in " ".join(ran.out.split())
    assert 'write = "ask"' in call("save", '{"name": "a.txt"}', "--json").json["decision"]["to_allow"]
    write_trusted(folder / "rightcall.toml", '[policy]\nallow = ["save"]\n')
    ran = call("save", '{"name": "a.txt"}')
    assert ran.code == 0
    assert "DRY RUN: nothing was changed." in ran.out
    write_trusted(folder / "rightcall.toml", '[policy]\nwrite = "ask"\n')
    ran = call("save", '{"name": "a.txt"}')
    assert ran.code == 1
    assert "waits for a person" in ran.out
    assert '[policy.tools."save"] write = "allow"' in " ".join(ran.out.split())
    write_trusted(folder / "rightcall.toml", '[policy]\nwrite = "deny"\n')
    ran = call("save", '{"name": "a.txt"}')
    assert (ran.code, "'save' can write, which is not allowed here" in ran.out) == (1, True)
    assert not (folder / "a.txt").exists()


class Person(io.StringIO):
    """Approves what waits at the moment the command says that it waits."""

    def __init__(self, database: Path) -> None:
        super().__init__()
        self._database = database

    def write(self, text: str) -> int:
        if text.startswith("waiting up to"):
            with closing(SqliteStore(self._database)) as store:
                newest = store.look(lambda tables: tables.approvals("waiting"))[-1]
                say(store, newest.id)
        return super().write(text)


def kinds(folder: Path) -> list[str]:
    """Of the records of calls, the newest first."""
    with closing(SqliteStore(folder / ".rightcall" / "audit.db")) as store:
        kept = ("waiting", "begin", "end", "refused", "answer")
        return [one.kind for one in store.look(lambda tables: tables.newest(20, kept))]


@pytest.mark.promise("P-06")
def test_a_call_that_waits_is_recorded_once_and_runs_when_somebody_approves_it(
    call: Caller, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_trusted(folder / "rightcall.toml", '[policy]\nwrite = "ask"\n')
    ran = call("save", '{"name": "a.txt"}', "--wait", "0.02")
    assert (ran.code, "waits for a person" in ran.out) == (1, True)
    assert kinds(folder) == ["waiting"]
    monkeypatch.setattr(sys, "stderr", Person(folder / ".rightcall" / "audit.db"))
    ran = call("save", '{"name": "b.txt"}', "--wait", "30")
    assert (ran.code, (folder / "b.txt").read_text()) == (0, "saved")
    assert kinds(folder) == ["end", "begin", "answer", "waiting", "waiting"]


@pytest.mark.promise("X-03", "A-07")
def test_a_tool_that_fails_ends_with_one_and_its_error_is_shown_escaped(
    call: Callable[..., Done], folder: Path
) -> None:
    ran = call("fail")
    assert ran.code == 1
    assert "RuntimeError: broken \\u001b[31m inside" in ran.out
    assert "\x1b" not in ran.out


def test_wrong_usage_is_said_clearly(call: Caller, run: Runner, folder: Path) -> None:
    ran = run("run", "word_count", "{}", "--tools", "tools.json")
    assert (ran.code, "MODULE:NAME" in ran.err) == (2, True)
    ran = run("run", "word_count", "{}", "--tools", "nowhere:TOOLS")
    assert (ran.code, "importing nowhere failed" in ran.err) == (2, True)
    (folder / "rightcall.toml").write_text("[policy]\nstage = 'all'\n")
    ran = call("word_count", "{}")
    assert (ran.code, "rightcall.toml:2" in ran.err) == (2, True)


# ── Arguments as options ─────────────────────────────────────────────────────────────────────────────────────────────

TYPED = '''
from typing import Literal
from rightcall import tool

@tool(effects=["read"])
def told(
    text: str, count: int = 1, ratio: float = 0.5, loud: bool = False, kind: Literal["one", "two"] = "one",
    names: list[str] | None = None, sizes: list[int] | None = None, extra: dict | None = None, root: str = "",
) -> dict:
    """Say 100 % of what was given."""
    return locals()

TOOLS = [told]
'''
DEFAULT: dict[str, Any] = {
    "count": 1, "ratio": 0.5, "loud": False, "kind": "one", "names": None, "sizes": None, "extra": None, "root": "",
}  # fmt: skip
GIVEN: list[tuple[str, dict[str, Any]]] = [
    ("--text=hello", {"text": "hello"}),
    ("--text hello --count 3", {"text": "hello", "count": 3}),
    ("--text=5 --count=+5 --ratio=2", {"text": "5", "count": 5, "ratio": 2}),
    ("--text=-x --ratio -1.5", {"text": "-x", "ratio": -1.5}),
    ("--text= --loud", {"text": "", "loud": True}),
    ("--loud --text x", {"text": "x", "loud": True}),
    ("--text x --loud=false", {"text": "x", "loud": False}),
    ("--text x --loud true --kind two", {"text": "x", "loud": True, "kind": "two"}),
    ("--TEXT x --names a --names b", {"text": "x", "names": ["a", "b"]}),
    ('--text x --names ["a,b"]', {"text": "x", "names": ["a,b"]}),
    ("--text x --sizes 1 --sizes=2", {"text": "x", "sizes": [1, 2]}),
    ('--text x --extra {"a":[1]}', {"text": "x", "extra": {"a": [1]}}),
    ("--text null", {"text": "null"}),
]
WRONG: list[tuple[str, str]] = [
    ("--txt x", "unknown option `--txt` for `told`: did you mean `--text`?"),
    ("--text x --jsn", "unknown option `--jsn` for `told`: did you mean `--json`?"),
    (
        "--text x --zzzzzz=1",
        "unknown option `--zzzzzz` for `told`: run `rightcall run told --help` to see its options",
    ),
    ("--txt=x\u2003y", "unknown option `--txt` for `told`: did you mean `--text`?"),
    ("--count 1", "missing option `--text` of `told`; run `rightcall run told --help` to see all of them"),
    ("--text x --count one", 'invalid value "one" for `--count`: expected a whole number'),
    ("--text x --count 1.5", 'invalid value "1.5" for `--count`: expected a whole number'),
    ("--text x --ratio half", 'invalid value "half" for `--ratio`: expected a number'),
    ("--text x --loud=maybe", 'invalid value "maybe" for `--loud`: expected true or false'),
    ("--text x --kind tow", 'invalid value "tow" for `--kind`: did you mean `two`?'),
    ("--text x --kind three", 'invalid value "three" for `--kind`: expected one of one, two'),
    ("--text x --text y", "option `--text` is given 2 times; it takes one value"),
    (
        "--text x --names [1",
        'invalid value "[1" for `--names`: expected a list as JSON, or the option once for each item',
    ),
    ("--text x --extra [1]", 'invalid value "[1]" for `--extra`: expected an object as JSON'),
    ("--text x --names a b", 'unexpected argument "b": an option takes one value; repeat the option for a list'),
    ('{"text":"x"} --count 2', 'unexpected argument "{\\"text\\":\\"x\\"}": give the arguments of `told` as one JSON'),
    ("--text \x1b[31m --count \x1b[2J", 'invalid value "\\u001b[2J" for `--count`'),
]


@pytest.fixture
def told(run: Runner, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Caller:
    (folder / "typedtools.py").write_text(TYPED)
    monkeypatch.delitem(sys.modules, "typedtools", raising=False)
    return lambda *words: run("run", *words, "--tools", "typedtools:TOOLS", "--store", str(folder / "audit.db"))


@pytest.mark.promise("C-72")
def test_the_arguments_of_a_tool_are_options_of_their_types(told: Caller) -> None:
    for words, given in GIVEN:
        ran = told("told", *words.split(" "), "--json")
        assert ran.code == 0, (words, ran.err)
        assert json.loads(ran.out)["result"] == DEFAULT | given, words
    for text in ("two words", "a\nb", 'find {"text": "x"}', '{"text": "x"}', "--count=2 x"):
        for words in (["--text", text], [f"--text={text}"]):
            if text.startswith("--") and len(words) == 2:
                continue  # as with any option: what looks like one needs `=`
            ran = told("TOLD", *words, "--json")
            assert json.loads(ran.out)["call"]["arguments"] == {"text": text}, words


@pytest.mark.promise("C-72")
def test_an_option_that_is_wrong_says_what_would_be_right_and_nothing_runs(told: Caller, folder: Path) -> None:
    for words, message in WRONG:
        ran = told("told", *words.split(" "))
        assert (ran.code, ran.out) == (2, ""), words
        assert message in ran.err, (words, ran.err)
        assert "\x1b" not in ran.err
    assert "did you mean `told`?" in told("tolt", "--text", "x").err
    assert not (folder / "audit.db").exists()


@pytest.mark.promise("C-72")
def test_the_help_of_a_tool_lists_its_options(told: Caller, run: Runner) -> None:
    ran = told("told", "--help")
    assert ran.code == 0
    assert "Say 100 % of what was given." in ran.out
    for line in ("--text TEXT", "(required)", "--count N", "--kind {one,two}", "--names TEXT", "repeatable"):
        assert line in ran.out
    assert "--root TEXT" not in ran.out  # the command's own option wins
    assert "Only as JSON: root." in ran.out
    assert run("run", "code/list", "-h").out.count("--sortBy {name,modified,size}") == 2
    assert "--sortBy" not in run("run", "--help").out


@pytest.mark.promise("C-72")
@pytest.mark.parametrize(
    "line",
    [
        "code/read --path=calltools.py --startLine=2 --endLine=3",
        r"code/search --pattern=word_\\w+ --filePattern=**/*.py --contextLines=3",
        "code/list --pattern=**/*.py --sortBy=modified --limit=50",
        "code/log --path=calltools.py --limit=10 --author=joel",
        "code/blame --path=calltools.py --startLine=2 --endLine=3",
        "code/diff --base=main --compare=HEAD --paths=calltools.py",
        "code/show --commit=HEAD",
    ],
)
def test_the_commands_of_the_design_can_be_typed(run: Runner, folder: Path, line: str) -> None:
    """They are all understood; without a repository some say that there is none."""
    ran = run("run", *line.split(" "))
    assert ran.code in (0, 1), ran.err
    assert ran.err == ""
    assert ("No git repository" in ran.out) == (ran.code == 1), ran.out


@pytest.mark.postgres
def test_why_a_server_cannot_record_a_call_is_told_on_standard_error(run: Runner, folder: Path) -> None:
    server = shared(POSTGRES[-1])
    with server.database() as url:
        PostgresStore(url).close()
        with server.full_disk(url, "audit"):
            done = run("run", "ping", "{}", "--json", "--store", url)
        assert (done.code, done.json["decision"]["rule"]) == (1, "store:full")
        assert "its disk is full" not in done.out
        assert done.err.startswith("rightcall: a call was refused: the store postgresql://")
        assert "its disk is full (could not extend file" in done.err
        assert done.err.count("\n") == 1
