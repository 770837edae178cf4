"""Options as they may be written: bundled, shortened, with their values attached or apart."""

from pathlib import Path

import pytest

from rightcall.policy.commands.runs import only_looks, options_of, value_of
from rightcall.policy.commands.words import Word
from support.command_lines import Desk
from support.every import every


def _words(line: str) -> list[Word]:
    return [Word(one) for one in line.split()]


@pytest.mark.promise("P-16")
@every(
    ("program", "line", "names", "value"),
    [
        ("curl", "-sX POST https://a.example", ("-X", "--request"), "POST"),
        ("curl", "-sXPOST https://a.example", ("-X", "--request"), "POST"),
        ("curl", "--reques=PUT https://a.example", ("-X", "--request"), "PUT"),
        ("curl", "-oX https://a.example", ("-X", "--request"), None),
        ("wget", "-qO out.txt https://a.example", ("-O", "--output-document"), "out.txt"),
        ("tar", "xfC a.tar /srv", ("-C", "--directory"), "/srv"),
        ("tar", "-xf a.tar -C/srv", ("-C", "--directory"), "/srv"),
        ("sort", "a.txt --outp b.txt", ("-o", "--output"), "b.txt"),
        ("sort", "-- -o b.txt", ("-o", "--output"), None),
        ("unheard-of", "-ab value", ("-b",), "value"),
    ],
)
def test_a_value_is_found_wherever_it_stands(
    program: str, line: str, names: tuple[str, ...], value: str | None
) -> None:
    found = value_of(program, _words(line), *names)
    assert (found.value if found is not None else None) == value


def test_the_value_of_an_option_is_no_option() -> None:
    assert [name for name, _ in options_of("curl", _words("-H -X -s a.example"))] == ["-H", "-s"]


@pytest.mark.promise("P-16")
@every(
    ("line", "looks"),
    [
        ("git push --dry-run", True),
        ("git push -o --dry-run origin", False),
        ("git push origin help", False),
        ("git help push", True),
        ("npm publish --dry-run false", False),
        ("cargo yank --version 1.0.0", False),
        ("rsync -a --delete a/ b/ -h", False),
        ("rsync -an --delete a/ b/", True),
        ("kubectl delete pod x --dry-run=none", False),
        ("kubectl delete --help", True),
        ("tool delete -- --help", False),
    ],
)
def test_only_what_really_looks_is_believed(line: str, looks: bool) -> None:
    program, *arguments = line.split()
    assert only_looks(program, arguments) == looks


@pytest.mark.promise("P-16")
def test_a_policy_denies_a_shortened_option_and_allows_none_by_its_beginning(tmp_path: Path) -> None:
    commands = {"deny": ["git commit --no-verify"], "allow": ["git push --force-with-lease"]}
    desk = Desk(tmp_path, policy={"commands": commands})
    lines = {
        "git commit --no-verif -m x": "deny", "git commit -m x": "allow", "git push --force-with-lease": "allow",
        "git push --force": "ask", "git push --force-wit": "ask",
    }  # fmt: skip
    try:
        assert {line: desk.judge(line)[0] for line in lines} == lines
    finally:
        desk.door.close()
