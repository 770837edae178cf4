"""What holds for every command line: nothing is raised, time is bounded, and a wrapper never makes an answer milder."""

import shlex
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightcall.policy.commands import CommandRules, UrlRules
from rightcall.policy.commands.judgement import judge_code, judge_command, judge_url
from rightcall.policy.commands.places import Place
from support.command_lines import STRENGTH, Desk, rows
from support.every import every
from support.pace import process_time

MANY = 4 * settings().max_examples

PLACE = Place.at("/project")
WRAPPERS = (
    "sh -c {quoted}", "bash -lc {quoted}", "env {line}", "env A=1 nice -n 3 sh -c {quoted}", "( {line} )",
    "{{ {line}\n}}",
    "echo $( {line}\n)", "if true; then {line}\nfi", "for x in 1; do {line}\ndone", "true && {line}", "false || {line}",
    "ls; {line}", "ls | {line}", "f() {{ {line}\n}}; f", "eval {quoted}", "nohup sh -c {quoted}",
    "timeout 5 sh -c {quoted}",
    "echo x | xargs sh -c {quoted}", "cat <( {line}\n)", "bash <<'END'\n{line}\nEND\n", "case x in x) {line}\n;; esac",
    "while false; do {line}\ndone", "! {line}", "time sh -c {quoted}", "command sh -c {quoted}", "trap {quoted} EXIT",
)  # fmt: skip
_SIMPLE = frozenset("|&;<>()$`\n{}*?[~=!#")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(tmp_path_factory.mktemp("project"))


@pytest.mark.promise("P-16")
@pytest.mark.parametrize(("times", "plus"), [(7, 3), pytest.param(1, 0, marks=pytest.mark.long)])
def test_no_wrapper_makes_an_answer_milder(desk: Desk, times: int, plus: int) -> None:
    table = [row["command"] for row in rows("commands") if row["answer"] != "allow"]
    milder: list[tuple[str, str, str]] = []
    for at, line in enumerate(table):
        before = desk.judge(line)[0]
        wrapper = WRAPPERS[(at * times + plus) % len(WRAPPERS)]
        if wrapper.startswith("env {line}") and set(line) & _SIMPLE:
            continue  # only its first command would be wrapped
        wrapped = wrapper.format(line=line, quoted=shlex.quote(line))
        after = desk.judge(wrapped)[0]
        if STRENGTH[after] < min(STRENGTH[before], 1) or (after == "ask" and before == "deny" and "'" not in wrapper
                                                          and not wrapper.startswith(("trap", "f()"))):  # fmt: skip
            milder.append((wrapped, before, after))
    assert milder == []


@pytest.mark.promise("P-16")
def test_quoting_every_word_changes_nothing(desk: Desk) -> None:
    for row in rows("commands")[::3]:
        words = row["command"].split(" ")
        if set(row["command"]) & _SIMPLE or set(row["command"]) & set("'\"\\"):
            continue
        plain = desk.judge(row["command"])[0]
        for quote in ("'{}'", '"{}"', "\\{}"):
            quoted = " ".join(quote.format(word) for word in words)
            assert desk.judge(quoted)[0] == plain, quoted
        assert desk.judge(words)[0] == plain, words


@pytest.mark.promise("P-16")
@settings(max_examples=MANY)
@given(st.text(alphabet=list("abrm -rf/~.*?{}[]()<>|&;$`'\"\\\n#=!%@:,+0\x00\ue000é"), max_size=60))
def test_nothing_is_raised_whatever_the_text(text: str) -> None:
    rules = CommandRules(), UrlRules()
    for judged in (judge_command(text, *rules, PLACE), judge_command([text, text], *rules, PLACE)):
        assert judged.answer in STRENGTH
        assert not any("cannot be judged (" in finding.why for finding in judged.findings), judged
    for language in ("python", "powershell", "cmd", "awk", "sed"):
        found = judge_code(language, text, *rules, PLACE).findings
        assert not any("cannot be judged (" in finding.why for finding in found), found
    found = judge_url(text, UrlRules(), PLACE).findings
    assert not any("cannot be judged (" in finding.why for finding in found), found


HOSTILE = (
    "$((", "$(", "(", "`", "{", "a{b,c}", '"', "${", "<<E ", "[[ ", "if ", "x;", "f(){ ", "case x in ", "$(( ((",
    "a=(", "((",
    "\\\n", "'a' ", "* ", "$x", ">a ", "| a ", "sh -c 'sh -c ", "${a:-", "exec(", "urlopen(", "rm -rf a ", "~/",
    "/", "../",
    "a=b ", "for x in ", "&& ", "@(", "%41", "\x00", "é", ".e* ", "http://a/ ",
)  # fmt: skip


@pytest.mark.promise("P-16")
def test_hostile_text_of_a_megabyte_costs_little() -> None:
    rules = CommandRules(), UrlRules()
    slow: list[tuple[str, float]] = []
    for piece in HOSTILE:
        for size in (2_000, 1_000_000):
            text = piece * (size // len(piece))
            started = process_time()
            judge_command(text, *rules, PLACE)
            if size == 2_000:
                judge_code("python", text, *rules, PLACE)
                judge_url(text, UrlRules(), PLACE)
                judge_command(["python", "-c", text], *rules, PLACE)
            if (took := process_time() - started) > 1.0:
                slow.append((piece, took))
    assert slow == []


@pytest.mark.promise("P-16")
def test_what_is_too_long_asks(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    assert desk.judge("echo " + "a" * 300_000)[:2] == ("ask", "command:unreadable")
    assert desk.judge(["echo", "a" * 300_000])[:2] == ("ask", "command:unreadable")
    assert desk.judge("echo a\0b")[:2] == ("ask", "command:unreadable")


FILLER = " ".join(f"a{number}" for number in range(401))


@pytest.mark.promise("P-16")
@pytest.mark.parametrize(
    "line",
    [f"cat {FILLER} private/x", f"sed -i s/a/b/ {FILLER} rightcall.toml", "sudo ls;" * 51 + "rm -rf /",
     f"for f in {' '.join(f'b{number}' for number in range(40))} .env; do cat $f; done",
     f"cat {{{FILLER[:400].replace(' ', ',')},.env}}", "cat .e*" + " x" * 1000,
     "python -c \"x = [" + "'a', " * 300 + "]; open('private/x')\"",
     f"curl {'http://a.example/ ' * 60} file:///etc/../{{root}}/private/x"],
    ids=["words", "written", "questions", "loop", "braces", "wildcard", "texts", "addresses"],
)  # fmt: skip
def test_no_number_of_harmless_things_hides_a_denial(tmp_path: Path, line: str) -> None:
    desk = Desk(tmp_path, policy={"paths": {"deny": ["private/**"]}})
    assert desk.judge(line.replace("{root}", desk.root))[0] == "deny"


@pytest.mark.promise("P-16")
def test_a_limit_that_is_reached_asks(tmp_path: Path) -> None:
    desk = Desk(tmp_path, policy={"paths": {"deny": ["private/**"]}})
    words = " ".join(f"a{number}" for number in range(2100))
    for line in (
        f"cat {words} private/x",
        f"for f in {words}; do cat $f; done",
        f"cat {{{words[:1200].replace(' ', ',')}}}",
    ):
        assert desk.judge(line)[:2] == ("ask", "command:unreadable"), line[:20]
    (tmp_path / "many").mkdir()
    for number in range(2001):
        (tmp_path / "many" / f"{number}.txt").touch()
    assert desk.judge("cat many/*")[:2] == ("ask", "command:unreadable")
    assert desk.judge("ls many/*")[0] == "allow"


@pytest.mark.promise("P-16")
def test_a_wildcard_covers_every_name_and_is_shown_as_it_is_written(tmp_path: Path) -> None:
    for number in range(101):
        (tmp_path / f"{number}.txt").touch()
    for name in ("zz-prod.pem", "rightcall.toml", ".env"):
        (tmp_path / name).touch()
    desk = Desk(tmp_path)
    for line in ("cat *", "head *", "grep foo *"):
        assert desk.judge(line) == ("deny", "path:secret", "No such file or folder: *"), line
    for line in ("ls *", "echo *", "du -sh *"):
        assert desk.judge(line)[0] == "allow", line
    (tmp_path / "zz-prod.pem").unlink()
    for line in ("ls *", "wc -l *", "grep foo *", "git add *", "tar czf x.tgz *", "head *", "ruff check *"):
        assert desk.judge(line)[0] == "allow", line
    for line in ("rm *", "mv * x", "sed -i s/a/b/ *", "chmod 600 *"):
        assert desk.judge(line)[:2] == ("deny", "path:deny"), line


@pytest.mark.promise("P-16")
def test_a_wildcard_leads_into_folders(tmp_path: Path) -> None:
    for name in ("private/x", "src/a/main.py", "conf/server.pem", "a/b/private.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    desk = Desk(tmp_path, policy={"paths": {"deny": ["private/**", "a/b/*.txt"]}})
    for line in ("cat priv*/x", "cat */x", "cat p*/*", "cat */*", "cat [a-c]*/*", "cat */b/*", f"cat {desk.root}/p*/x"):
        assert desk.judge(line)[0] == "deny", line
    for line in ("cat src/*/*.py", "ls */*", "cat s*/*/main.py", "wc -l x*/y*"):
        assert desk.judge(line)[0] == "allow", line


_GROWS = ".replace('a', '" + "a" * 200 + "')"
_JOINS = ".join([" + "'x', " * 400 + "])"


@pytest.mark.promise("P-16")
@pytest.mark.parametrize("calls", [_GROWS * 3, _GROWS * 2 + _JOINS, _JOINS * 3], ids=["replace", "both", "join"])
def test_a_text_that_code_makes_ever_longer_is_not_made(tmp_path: Path, calls: str) -> None:
    desk = Desk(tmp_path)
    began = process_time()
    desk.judge(f"python3 -c \"open('a'{calls})\"")
    assert process_time() - began < 2
    assert desk.judge(f"python3 -c \"open('a'{calls}); open('.exx'.replace('xx', 'nv'))\"")[0] == "deny"


@pytest.mark.promise("P-16")
@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("open('.exx'.replace('xx', 'nv'))", "deny"),
        ("open('.exnxv'.replace('x', ''))", "deny"),
        ("open('.env'.replace('x', ''))", "deny"),
        ("open('.env'.replace('.env', 'src/a.py'))", "deny"),
        ("open('v'.join(['.en', '']))", "deny"),
        ("open(''.join(('.', 'e', 'n', 'v')))", "deny"),
        ("open('src/a.py'.replace('b', 'c'))", "allow"),
        ("open('.env'.replace('a', unknown))", "deny"),
    ],
)
def test_a_path_that_code_puts_together_is_the_one_that_is_judged(tmp_path: Path, code: str, answer: str) -> None:
    assert Desk(tmp_path).judge(f'python3 -c "{code}"')[0] == answer


@pytest.mark.promise("P-16")
@pytest.mark.parametrize("options", ["", "-L ", "-H ", "-P -L ", "-O3 ", "-D tree ", "-LX ", "-- ", "-f "])
@every(
    ("rest", "answer"),
    [
        (".env", "deny"),
        (".env -type f | xargs cat", "deny"),
        ("src/a.py .env -print0 | xargs -0 cat", "deny"),
        (".env -exec cat {} +", "deny"),
        ("~/.ssh -type f | xargs cat", "ask"),
        (". -name .env | xargs cat", "deny"),
        ("/ -delete", "deny"),
        ("src -delete", "ask"),
        ("src -type f | xargs cat", "allow"),
        ("src -name '*.py' | xargs wc -l", "allow"),
    ],
)
def test_no_option_of_find_hides_where_it_begins(desk: Desk, options: str, rest: str, answer: str) -> None:
    assert desk.judge(f"find {options}{rest}")[0] == answer


@pytest.mark.promise("P-16")
@every(
    ("line", "answer"),
    [
        ("fzf --bind 'enter:execute(rm -rf /)'", "deny"),
        ("fzf --bind 'enter:execute(rm -rf {})'", "ask"),
        ("fzf --bind='ctrl-x:reload:rm -rf /'", "deny"),
        ("ls | fzf --bind 'enter:become(cat .env)'", "deny"),
        ("fzf --preview 'cat .env'", "deny"),
        ("fzf --preview 'cat {}'", "allow"),
        ("fzf --bind 'enter:execute-silent(cat src/a.py)'", "allow"),
        ("ls .env | xargs cat", "deny"),
        ("printf .env | xargs cat", "deny"),
        ("ls src | xargs cat", "allow"),
        ("echo src/a.py | xargs cat", "allow"),
    ],
)
def test_what_one_program_hands_to_another_is_judged_with_it(desk: Desk, line: str, answer: str) -> None:
    assert desk.judge(line)[0] == answer


@pytest.mark.promise("P-16")
def test_a_file_that_a_line_reads_and_empties_first_is_asked_about(tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text("{}")
    (tmp_path / "test").write_text("x")
    desk = Desk(tmp_path)
    lost = (
        "jq . f.json > f.json", "sort f.json >| f.json", "sed s/a/b/ ./f.json > f.json", "cat f.json | jq . > f.json",
        "jq . < f.json > f.json", "sort f.json | tee f.json", "cat f.json | jq . | tee ./f.json",
        "jq . f.json &> f.json",
    )  # fmt: skip
    assert {line: desk.judge(line)[:2] for line in lost} == dict.fromkeys(lost, ("ask", "command:destroys"))
    kept = (
        "jq . f.json > g.json", "jq . f.json >> f.json", "echo f.json > f.json", "jq . f.json | sponge f.json",
        "jq . g.json > g.json", "sort f.json | tee -a f.json", "cat f.json | tee g.json", "jq . f.json > /tmp/f.json",
    )  # fmt: skip
    assert {line: desk.judge(line)[0] for line in kept} == dict.fromkeys(kept, "allow")


@pytest.mark.promise("P-16")
def test_a_link_that_a_line_makes_leads_to_all_that_lies_behind_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path, policy={"paths": {"deny": ["private/**"]}})
    assert desk.judge("ln -s .git/hooks h && cp x h/pre-commit")[0] == "ask"
    assert desk.judge("ln -s . z; ln -s z y; cat y/z/private/x")[0] == "deny"
    assert desk.judge("ln -s src s && cat s/a.py")[0] == "allow"
    many = ";".join(f"ln -s a{number} b{number}" for number in range(800))
    started = process_time()
    desk.judge(f"{many}; cat {' '.join(f'b{number}/x' for number in range(800))}")
    assert process_time() - started < 2.0
