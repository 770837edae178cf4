"""Lines that are judged at a glance get the answer that the whole judge would give."""

from itertools import product

import pytest

from rightcall.policy.commands import CommandRules, UrlRules
from rightcall.policy.commands.judge import Judge
from rightcall.policy.commands.judgement import _FILES, _GIT, _GIT_OPTIONS, _WHOLE, judge_command, plain_paths
from rightcall.policy.commands.places import Place, SeenPath
from support.command_lines import rows
from support.every import every

PLACES = [Place("/home/me/code", "/home/me", (folder,)) for folder in ("/home/me/code", "/home/me/code/src")]
WORDS = (
    "", "src", "src/app.py", "README.md", "a b c", "HEAD", "main -1", "-la", "-n 5 x", "-5 x", "-rf src", "-c 500G x",
    "-o out", "--output x", "./src", "x.env", "id_rsa", "secrets.yaml", "a/id_rsa/b", "server.pem", ".env",
    "/etc/passwd", "~", "..", "*.py", "rm -rf src", "push", "drop", "--stat", "-A", "-D x", "node_modules", "x.tfstate",
    "history.db", "prod.kubeconfig", "--", "-", "-f x", "credentials", "a.key", "http", "sudo rm", "kubeconfig", "x/y/",
)  # fmt: skip
JOINED = (
    "git status && ls src", "cd src && ls", "cd src; cd app; cat x.py", "cd src && cd .. && ls", "cat a | head -5",
    "ls | xargs rm", "cd a | ls", "git log --oneline -5 | head -3", "cat a | sh", "ls; rm -rf src", "ls && rm -rf src",
    "cat a|sh", "ls & rm x", "ls || rm x", "pwd; date; whoami", "cat x | cat .env", "cd a && cat id_rsa", "cd / && ls",
    "ls src ; pwd", "cat a\nrm -rf src", "ls\trm", "git status;", "; ls", "cd a b && ls", "cd && ls", "cd - && ls",
    "cd src && rm -rf app", "git add x && git push", "echo rm && pwd", "true && cat a/b && diff a b", "true | rm x",
)  # fmt: skip


def judged(line: str, place: Place) -> tuple[list[str], tuple[SeenPath, ...]]:
    judge = Judge(CommandRules(), UrlRules(), place)
    judge.script(line, place.folders, depth=0)
    return [one.rule for one in judge.findings], tuple(judge.paths.values())


def every_line() -> list[str]:
    programs = [
        *_FILES,
        "echo",
        *_WHOLE,
        *(f"git {action}" for action in (*_GIT, "push", "branch", "checkout", "stash")),
    ]
    made = [f"{program} {words}".strip() for program, words in product(programs, WORDS)]
    options = [f"git {action} {option} x" for action, option in product(_GIT, _GIT_OPTIONS)]
    options += [f"{program} -{letter} x" for program, letters in _FILES.items() for letter in letters]
    names = ("commands", "second", "third", "fourth", "fifth", "sixth", "held_out", "everyday")
    return [*made, *options, *JOINED, *(row["command"] for name in names for row in rows(name))]


@pytest.mark.promise("P-16")
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.folders[0])
def test_a_plain_line_has_the_answer_of_the_whole_judge(place: Place) -> None:
    plain = {line: seen for line in every_line() if (seen := plain_paths(line, place)) is not None}
    assert len(plain) > 800
    assert {line: judged(line, place) for line in plain} == {line: ([], seen) for line, seen in plain.items()}


@pytest.mark.promise("P-16")
def test_rules_of_the_policy_are_asked_about_plain_lines_too() -> None:
    rules = CommandRules(deny=("git status",))
    assert judge_command("git status", CommandRules(), UrlRules(), PLACES[0]).answer == "allow"
    assert judge_command("git status", rules, UrlRules(), PLACES[0]).answer == "deny"


@pytest.mark.promise("P-16")
@every(
    "folder",
    ["/etc/x", "/home/me/.aws/x", "/root/x", "/home/me/secrets/x", "/home/me/.config/gcloud", "/var/lib/docker/x"],
)
def test_in_an_odd_folder_no_line_is_plain(folder: str) -> None:
    assert plain_paths("git status && ls src", Place(folder, "/home/me", (folder,))) is None
    assert plain_paths("git status && ls src", PLACES[0]) is not None
