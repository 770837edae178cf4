"""What a shell would make of variables, lists and substitutions in the words of a command."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rightcall.policy.commands import CommandRules, UrlRules
from rightcall.policy.commands.judgement import judge_command
from rightcall.policy.commands.places import Place
from rightcall.policy.commands.scanner import alter
from support.command_lines import Desk
from support.every import every, sampled
from support.pace import process_time

pytestmark = pytest.mark.promise("P-16")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    root = tmp_path_factory.mktemp("project")
    for name in ("private/plan.md", "src/app.py", "README.md"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("x\n")
    made = Desk(root, policy={"paths": {"deny": ["private/**"]}})
    yield made
    made.door.close()


@every(
    ("value", "operation", "made"),
    [
        ("src/app.test.py", "##*/", "app.test.py"),
        ("src/app.test.py", "%/*", "src"),
        ("src/app.test.py", "%%.*", "src/app"),
        ("src/app.test.py", "#*.", "test.py"),
        ("aXbXc", "//X/.", "a.b.c"),
        ("aXbXc", "/X", "abXc"),
        ("aXbXc", "/#a/z", "zXbXc"),
        ("aXbXc", "/%c/z", "aXbXz"),
        ("a1b", "/[0-9]/-", "a-b"),
        ("a1b", "/[!a-z]/-", "a-b"),
        ("netrc", ":1:3", "etr"),
        ("netrc", ": -2", "rc"),
        ("netrc", ":0:-1", "netr"),
        ("nETRC", ",", "nETRC"),
        ("netrc", "^", "Netrc"),
        ("a", "*", None),
        ("a", "//*a*b*/", None),
        ("a" * 500, "^^", None),
    ],
)
def test_a_value_is_changed_as_a_shell_changes_it(value: str, operation: str, made: str | None) -> None:
    assert alter(value, operation) == made


REFUSED = (
    "names=(README.md secrets.yaml); head ${names[1]}",
    "names=(README.md); names+=(secrets.yaml); head ${names[@]}",
    "names[4]=secrets.yaml; head ${names[4]}",
    'declare -A of=([k]=secrets.yaml); head "${of[k]}"',
    "names=(x secrets.yaml y); head ${names[@]:1:1}",
    "names=(secrets.yam); head ${names[0]}l",
    'for one in "${all[@]}"; do :; done; all=(secrets.yaml); for one in "${all[@]}"; do head "$one"; done',
    "n=secrets.yaml.bak; head ${n%.bak}",
    "n=secXretXs.yaml; head ${n//X}",
    "n=SECRETS; head ${n,,}.yaml",
    "n=my_secrets.yaml; head ${n#my_}",
    "show() { head \"${1}\"; }; show secrets.yaml",
    "set -- a secrets.yaml; head ${@:2}",
    "head priv${x}ate/plan.md",
    "head $(git rev-parse --show-toplevel)/priv$(x)ate/plan.md",
)  # fmt: skip
ASKED = (
    "head .net${x}rc",
    "head .np$(tool)mrc",
    "head .np`tool`mrc",
    "head conf/.e${x}v",
    'head ".$name"',
    "head id_r${x}sa",
    "echo x > rightcall.to${x}ml",
    "head ~/.a${x}ws/config",
    "act=(git push -f); ${act[@]}",
    "rm -r ${things[0]}",
    "head $(tr X . <<< Xnetrc)",
    'head "$(echo crten. | rev)"',
    "head $(base64 -d <<< Lm5ldHJj)",
)
PASSED = (
    'head "$name"', 'head "$folder/$name"', "head $HOME/notes.txt", "head ${HOME}/notes.txt",
    'for one in *.py; do head "$one"; done', 'for one in *.md; do pandoc "$one" -o "${one%.md}.html"; done',
    'for one in src/*.ts; do mv "$one" "${one%.ts}.tsx"; done', 'all=(src/*.py); wc -l "${all[@]}"',
    'all=(a.py b.py); for one in "${all[@]}"; do python "$one"; done', 'head "$folder/$name.json"',
    "head logs/app-$(date +%F).log", "docker build -t app:$TAG .", "git diff main..$BRANCH", "ssh server$n uptime",
    'git checkout -b "feature/$NAME"', "kubectl get pods -o jsonpath=.$x", 'args=(-q --tb=short); pytest "${args[@]}"',
    'declare -A of=([a]=1 [b]=2); echo "${of[a]}"', 'made=(build dist); rm -rf "${made[@]}"', 'echo "${PATH//:/ }"',
    'echo ${x:-y} ${#x} ${x^^} ${@:2} ${!x}', 'head "tests/test_${name}.py"', "cp config.$STAGE.json config.json",
    'touch "src/${name}_test.go"', 'names=(README.md .netrc); head "${names[0]}"', "n=src/app.py; head ${n%/*}/x.py",
    "head app$n", "head cert$n", "head prod$n.log", "head $n.tar.gz",
    'touch ".$(date +%s)"', 'head "$(echo "$name" | sed s/.py/.txt/)"', "head $(echo a b | tr ' ' '\\n')",
    "echo $(tr a-z A-Z <<< text)", "head $(sed s/x/y/ list.txt)",
)  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "answer"), [(REFUSED, "deny"), (ASKED, "ask"), (PASSED, "allow")], ids=["refused", "asked", "passed"]
)
def test_what_a_word_would_be_is_worked_out_and_what_is_unknown_is_a_wildcard(
    desk: Desk, lines: tuple[str, ...], answer: str
) -> None:
    assert {line: desk.judge(line)[0] for line in lines} == dict.fromkeys(lines, answer)


@pytest.mark.parametrize(
    "line",
    sampled(["x=" + "a" * 199 + "; echo " + "${x/*b/c}" * 15_000, "x=(" + "a " * 90_000 + "); echo " + "${x[@]}" * 500,
     "x=(" * 50_000, "${x[" * 40_000, "cat " + "a${x}b/" * 20_000], 2),
)  # fmt: skip
def test_hostile_expansions_are_judged_in_the_length_of_the_line(tmp_path: Path, line: str) -> None:
    started = process_time()
    judge_command(line, CommandRules(), UrlRules(), Place.at(str(tmp_path)))
    assert process_time() - started < 4
