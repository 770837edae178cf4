"""Editors that are told what to do by an option or through their input."""

from pathlib import Path

import pytest

from rightcall.policy.commands.wrappers import EditorCommands, read_editor
from support.command_lines import Desk
from support.every import every
from support.pace import process_time

pytestmark = pytest.mark.promise("P-16")


@every(
    ("text", "found"),
    [
        ("w a.txt", EditorCommands(writes=("a.txt",))),
        (":1,/end/w! a.txt | q", EditorCommands(writes=("a.txt",))),
        ("w >> a.txt", EditorCommands(writes=("a.txt",))),
        ("w", EditorCommands()),
        ("e a.txt\nwq", EditorCommands(reads=("a.txt",), writes=("a.txt",))),
        ("0r a.txt", EditorCommands(reads=("a.txt",))),
        ("r !git push", EditorCommands(codes=("git push",))),
        ("w !git push | cat", EditorCommands(codes=("git push | cat",))),
        ("silent! %!sort -u", EditorCommands(codes=("sort -u",))),
        ("g/x/w a.txt", EditorCommands(writes=("a.txt",))),
        ("%s/a|b/w c.txt/g | sav d.txt", EditorCommands(writes=("d.txt",))),
        ("exe 'w a.txt'", EditorCommands(writes=("a.txt",))),
        ("a\nw a.txt\n!git push\n.\nw b.txt", EditorCommands(writes=("b.txt",))),
        ("call writefile(['x'], 'a.txt')", EditorCommands(unknown=True)),
        ("py3 print(1)", EditorCommands(unknown=True)),
        ("e `git push`", EditorCommands(reads=("`git", "push`"), unknown=True)),
        ("normal gg=G", EditorCommands()),
        ("set nu | syntax on", EditorCommands()),
        ("x" * 200_000, EditorCommands(unknown=True)),
    ],
)
def test_commands_of_an_editor_are_followed(text: str, found: EditorCommands) -> None:
    assert read_editor(text) == found


@every(
    ("text", "found"),
    [
        ("w!git push", EditorCommands(codes=("git push",))),
        ("E a.txt\n,p", EditorCommands(reads=("a.txt",))),
        ("f a.txt\nw", EditorCommands(reads=("a.txt",), writes=("a.txt",))),
        ("W a.txt", EditorCommands(writes=("a.txt",))),
        ("1,$p\nq", EditorCommands()),
    ],
)
def test_the_letters_of_ed_are_followed(text: str, found: EditorCommands) -> None:
    assert read_editor(text, by_line=True) == found


JUDGED = {
    "ex -s notes.md <<< 'w! rightcall.toml'": "deny", "ex notes.md <<'END'\n1d\nw! rightcall.toml\nEND": "deny",
    "printf '%s\\n' 1d 'w rightcall.toml' q | ex notes.md": "deny", "echo 'w rightcall.toml' | ed -s notes.md": "deny",
    "ed <<< 'r secrets.yaml'": "deny", "vim -es notes.md <<< ':1,2w secrets.yaml'": "deny",
    "nvim -Es notes.md <<< 'e secrets.yaml'": "deny", "ed -s notes.md < steps.ed": "deny",
    "ex -s notes.md <<< '!git push'": "ask", "ed -s notes.md <<< $'1p\\n!git push'": "ask", "ed '!git push'": "ask",
    "vim -e notes.md <<< 'so x.vim'": "ask", "ex -s notes.md < there-is-none": "ask", "./steps | ex notes.md": "ask",
    'ed -s notes.md <<< "$STEPS"': "ask", "vim -s keys notes.md": "ask", "vim -es < other.ex notes.md": "ask",
    "ed -s notes.md <<< $'g/old/s//new/g\\nw\\nq'": "allow", "printf '%s\\n' 1d w q | ed -s notes.md": "allow",
    "ex -s notes.md <<'END'\n%s/old/new/g\nx\nEND": "allow", "ex -sc '%s/old/new/|x' notes.md": "allow",
    "ls *.md | while read one; do ex -sc '%s/old/new/|x' \"$one\"; done": "allow", "echo text | vim -": "allow",
    "vim -c 'normal gg=G' -c wq notes.md": "allow", "nvim --headless +PlugInstall +qall": "allow",
    "ex -s notes.md < /dev/null": "allow", "ed -s notes.md < fine.ed": "allow", "vim +10 notes.md": "allow",
    "ed -s notes.md <<< $'a\\nw rightcall.toml\\n.\\nw'": "allow",
}  # fmt: skip


def test_what_an_editor_reads_from_its_input_is_judged_like_its_options(tmp_path: Path) -> None:
    (tmp_path / "steps.ed").write_text("1p\nw rightcall.toml\n")
    (tmp_path / "fine.ed").write_text("1p\nw\n")
    (tmp_path / "other.ex").write_text("!git push\n")
    desk = Desk(tmp_path)
    try:
        assert {line: desk.judge(line)[0] for line in JUDGED} == JUDGED
    finally:
        desk.door.close()


@every("text", ["/" * 99_000, "g/a" * 30_000, "1," * 40_000, "silent " * 14_000, "w|" * 40_000,
                                  "?x" * 40_000, "s/\\" * 30_000])  # fmt: skip
def test_hostile_commands_take_no_longer_than_their_length(text: str) -> None:
    started = process_time()
    read_editor(text)
    assert process_time() - started < 1
