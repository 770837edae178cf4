"""Every help: short enough for a small terminal, complete on demand, and true to the parsers."""

import re
import shlex
from pathlib import Path

import pytest

from rightcall.cli import COMMANDS
from rightcall.cli.help import GROUPS, HIDDEN, LONGEST, PAGES
from rightcall.cli.options import REMOVED, SHARED, WIDTH, Parser, actions_of, flags, parser_of
from support.cli import ROOT, Runner
from support.every import every

PARSED = [name for name in COMMANDS if name != "version"]


def parsers() -> dict[str, Parser]:
    found: dict[str, Parser] = {}

    def walk(parser: Parser) -> None:
        found[parser.prog.removeprefix("rightcall ")] = parser
        for action in actions_of(parser).values():
            walk(action)

    for name in PARSED:
        walk(parser_of(name)[0])
    return found


PARSERS = parsers()


def test_the_overview_shows_the_groups_and_hides_what_only_programs_call(run: Runner) -> None:
    done = run("--help")
    assert (done.code, done.err) == (0, "")
    assert run("help").out == done.out
    for group, names in GROUPS.items():
        assert re.search(rf"^  {group} +{', '.join(names)}$", done.out, re.M)
    assert [name for name in HIDDEN if re.search(rf"\b{name}\b(?<!--{name})", done.out.partition("examples:")[0])] == []
    assert sorted([name for names in GROUPS.values() for name in names] + list(HIDDEN)) == sorted(COMMANDS)
    assert len(done.out.splitlines()) <= LONGEST


@every("command", PARSERS, parts=3)
def test_a_help_fits_a_small_terminal(run: Runner, command: str) -> None:
    done = run(*command.split(), "--help")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert len(lines) <= LONGEST
    assert [line for line in lines if len(line) > WIDTH] == []
    assert re.fullmatch(r"[A-Z].*\w.*\.", lines[0])
    assert lines[2].startswith(f"usage: rightcall {command}")
    assert lines[-1].startswith("docs: rightcall docs ")
    assert run(*lines[-1].split()[2:]).out.startswith("#")
    assert "more: run" not in done.out  # every command's own options fit today


@every("command", PARSED)
def test_an_example_of_a_help_can_be_pasted(run: Runner, command: str) -> None:
    """A shell reads a remark without `#` as arguments."""
    examples = re.findall(r"^  (?:some-model|rightcall) .*", run("help", command).out, re.MULTILINE)
    assert examples
    assert [line for line in examples if re.search(r"\S {2,}[^ #]", line)] == []


@every("command", PARSED)
def test_the_help_of_a_command_has_one_to_three_examples(run: Runner, command: str) -> None:
    examples = run(command, "--help").out.partition("examples:\n")[2].partition("\n\n")[0].splitlines()
    assert 1 <= len(examples) <= 3
    assert all(f"rightcall {command}" in line for line in examples)


@every("command", PARSERS)
def test_help_command_lists_every_option_of_the_parser(run: Runner, command: str) -> None:
    shown = run("help", *command.split())
    assert (shown.code, shown.err) == (0, "")
    assert [flag for flag in flags(PARSERS[command]) if not re.search(rf"^  .*{flag}\b", shown.out, re.M)] == []


def test_the_help_of_a_group_lists_the_options_of_its_actions(run: Runner) -> None:
    assert "--anchor SEQ:HASH" in run("help", "audit").out
    assert "--anchor SEQ:HASH" in run("help", "audit", "verify").out
    assert "--anchor" not in run("help", "audit", "tail").out


@every("command", [name for name, parser in PARSERS.items() if actions_of(parser)])
def test_a_bare_group_prints_its_help_as_wrong_usage(run: Runner, command: str) -> None:
    assert run(*command.split()) == (2, "", run(*command.split(), "--help").out)


def test_an_option_with_a_shared_sentence_has_it_everywhere(run: Runner) -> None:
    topic = run("help", "options").out
    assert all(f"  {flag}" in topic and sentence in topic for flag, sentence in SHARED.items())
    lines = [line for line in run("check", "--help").out.splitlines() if line.startswith("shared options:")]
    assert lines == ["shared options: --json, --tools, --pack, --provider (see `rightcall help options`)"]


def test_exit_codes_are_a_topic_and_one_line_where_scripts_branch(run: Runner) -> None:
    topic = run("help", "exit-codes").out
    assert all(f"\n  {code} " in topic for code in (0, 1, 2, 123, 124, 125, 129, 130, 137, 141, 143))
    having = [name for name in PARSERS if "exit codes:" in run(*name.split(), "--help").out]
    assert having == ["read", "check", "run", "audit verify", "sandbox run"]


def test_every_command_has_its_sentence_in_a_topic(run: Runner) -> None:
    topic = run("help", "commands").out
    assert all(re.search(rf"^  {name} +{re.escape(about)}$", topic, re.M) for name, about in COMMANDS.items())
    assert [line for line in topic.splitlines() if len(line) > WIDTH] == []


def test_every_page_exists() -> None:
    assert [page for page in PAGES.values() if not (ROOT / "docs" / page).is_file()] == []


@every(
    ("words", "message"),
    [
        (["help", "chek"], "error: unknown help topic `chek`: did you mean `check`?\n"),
        (
            ["help", "audit", "tial"],
            "unknown action `tial` of `rightcall audit`: run `rightcall audit --help`\n",
        ),
        (["audit", "tail", "--stauts", "x"], "unknown option `--stauts`: did you mean `--status`?\n"),
        (["policy", "check", "--policy", "x"], "takes the policy file as an argument: `rightcall policy check FILE`\n"),
        (["token", "list", "--tools", "x"], "error: `rightcall token list` does not take `--tools`\n"),
        (["token", "list", "--days", "x"], "error: unknown option `--days`\n"),
    ],
)
def test_a_misspelt_word_gets_a_suggestion(run: Runner, words: list[str], message: str) -> None:
    done = run(*words)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


@every(
    ("words", "message"),
    [
        (["audit", "tail", "--db", "x"], "`--db` is now `--store`"),
        (["audit", "tail", "--db=x"], "`--db` is now `--store`"),
        (["ask", "hi", "--url", "http://h"], "`--url` is now `--upstream`"),
        (["mcp", "--caller", "x"], "`--caller` is now `--as`"),
        (["wrap", "--caller", "x", "--", "cat"], "`--caller` is now `--as`"),
        (["serve", "--observe"], "`--observe` is now `--mode observe`"),
        (["install", "codex", "--block"], "`--block` is now `--mode block`"),
        (["requests", "prune", "--days", "3"], "`--days` is now `--older-than`"),
        (["sandbox", "run", "--seconds", "3", "a.py"], "`--seconds` is now `--timeout`"),
        (["serve", "--open"], "`--open` is now `--no-auth`"),
        (["proxy", "--origin", "http://h"], "`--origin` is now `--allow-origin`"),
        (["proxy", "--host-name", "h"], "`--host-name` is now `--allow-host`"),
        (["audit", "tial"], "unknown action `tial`: did you mean `tail`?"),
        (["init", "--stage", "readonly"], "invalid value `readonly` for `--stage`: did you mean `read-only`?"),
        (["chek"], "unknown command `chek`: did you mean `check`?"),
        (["run", "code/raed", "--path", "x"], "unknown tool `code/raed`: did you mean `code/read`?"),
        (["run", "word_count", "{}", "--tols", "x"], "unknown option `--tols`: did you mean `--tools`?"),
        (
            ["run", "code/read", "--tools", "examples.mytools:TOOL"],
            "examples.mytools:TOOL: examples.mytools has no `TOOL`: did you mean 'TOOLS'?",
        ),
        (["install", "claud-code"], "unknown host 'claud-code': did you mean 'claude-code'?"),
        (["start"], "unknown command `start`: did you mean `serve`?"),
        (["logs"], "unknown command `logs`: did you mean `audit tail`?"),
        (["hlep"], "unknown command `hlep`: did you mean `help`?"),
        (["docs", "trubleshooting"], "unknown page `trubleshooting`: did you mean `troubleshooting`?"),
    ],
)
def test_a_removed_or_misspelt_word_gets_the_right_one(run: Runner, words: list[str], message: str) -> None:
    done = run(*words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: {message}\n")


def test_no_command_has_a_flag_that_was_removed() -> None:
    kept = {("policy command", "--url"), ("lint", "--url")}  # the argument is a URL; where an MCP server is
    found = {(name, flag) for name, parser in PARSERS.items() for flag in flags(parser) if flag in REMOVED}
    assert found == kept


def test_a_flag_that_several_commands_take_is_the_same_everywhere() -> None:
    for parser in PARSERS.values():
        for action in parser._actions:
            if "--limit" in action.option_strings:
                assert action.option_strings == ["-n", "--limit"]
            if "--as" in action.option_strings:
                person = parser.prog == "rightcall console"  # who logs in is no caller
                assert (action.dest, action.metavar) == (("person", "NAME") if person else ("caller", "CALLER"))
            if "--timeout" in action.option_strings:
                assert action.metavar == "S"


def test_the_documentation_is_printed(run: Runner) -> None:
    listed = run("docs")
    assert re.search(r"^troubleshooting +Troubleshooting$", listed.out, re.M)
    assert "This page moved" not in listed.out
    assert run("docs", "approvals").out == (ROOT / "docs/operate/approve.md").read_text("utf-8").rstrip("\n") + "\n"
    assert run("docs", "operate/approve.md").out == run("docs", "approvals").out
    assert run("docs", "faq", "--json").json["title"] == "FAQ"
    token = run("docs", "token").out
    assert token.startswith("## token\n")
    assert "### token revoke" in token
    assert "## pause" not in token
    assert "<!--" not in run("docs", "reference/commands").out
    assert {one["page"] for one in run("docs", "--json").json["pages"]} >= {"index", "operate/approve", "faq"}


def test_every_command_that_answers_can_answer_in_json() -> None:
    """The others speak a protocol, or print what a program or a file format says."""
    bare = {"mcp", "wrap", "hook", "sandbox run", "audit export", "audit heads", "approvals watch", "completion"}
    without = {name for name, parser in PARSERS.items() if not actions_of(parser) and "--json" not in flags(parser)}
    assert without == bare


def test_a_reason_comes_from_a_file_or_standard_input(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rightcall.toml").write_text("version = 1\n")
    (tmp_path / "why.txt").write_text("the agent loops\n")
    for reason, stdin in (("@why.txt", ""), ("-", "the agent loops\n")):
        done = run("pause", "--reason", reason, "--by", "anna", "--json", stdin=stdin)
        assert done.json["stores"][0]["reason"] == "the agent loops"
        assert run("resume", "--by", "anna").code == 0
    done = run("pause", "--reason", "@absent.txt", "--by", "anna")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: `--reason`: absent.txt: cannot be read: No such file or directory\n")


def test_printed_commands_lead_to_the_same_store(run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my project").mkdir()
    (tmp_path / "my project" / "rightcall.toml").write_text("version = 1\n[callers.teacher]\n")
    assert run("run", "code/list", '{"pattern": "*"}', "--root", "my project").code == 0
    made = run("token", "new", "--as", "teacher", "--root", "my project")
    assert made.code == 0, made.err
    (command,) = re.findall(r"Revoke it with `(.*)`", made.out)
    assert command.endswith(" --root 'my project'")
    assert run(*shlex.split(command)[1:]).code == 0
    wrong = run("audit", "show", "99", "--root", "my project")
    assert "run `rightcall audit tail --root 'my project'`" in wrong.err


def test_a_misspelt_flag_is_named_also_where_a_required_one_is_missing(run: Runner) -> None:
    done = run("proxy", "--upsteam", "http://127.0.0.1:9")
    assert (done.code, done.err.splitlines()[0]) == (2, "error: unknown option `--upsteam`: did you mean `--upstream`?")
    assert "required: --upstream" in run("proxy", "--json").err
    assert "rightcall completion SHELL" in run("--help").out


@pytest.mark.parametrize("words", [["claude", "--help"], ["codex", "-h"], ["learn", "--help"]])
def test_the_help_of_hook_is_shown_behind_a_host_too(run: Runner, words: list[str]) -> None:
    shown, whole = run("hook", *words), run("hook", "--help")
    assert (shown.code, shown.out) == (0, whole.out)
