"""Ignore files, compared with git itself."""

import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from rightcall.base.files.sight import Sight
from rightcall.tools.code.candidates import Ignoring, OutOfTime, Wanted, files_below, ignore_lines
from support.every import numbers
from support.pace import slowness

GIT = {"HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}


def plant(root: Path, *paths: str) -> None:
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x\n")


def searched(root: Path, start: str = ".") -> set[str]:
    sight = Sight(root)
    with sight.folder(start) as folder:
        return set(files_below(sight, folder, Wanted(), time.monotonic() + 60).files)


def as_git_sees(root: Path) -> set[str]:
    """What git would add: everything that no ignore file leaves out."""
    subprocess.run(["git", "init", "-q", "."], cwd=root, env=GIT, check=True)
    told = subprocess.run(
        ["git", "ls-files", "-z", "--others", "--exclude-standard"], cwd=root, env=GIT, check=True, capture_output=True
    )
    return {os.fsdecode(name) for name in told.stdout.split(b"\0") if name}


@pytest.mark.parametrize(
    ("lines", "left_out", "kept"),
    [
        ("*.log", ["a.log", "b/c.log"], ["a.logs", "log"]),
        ("/a.txt", ["a.txt"], ["b/a.txt"]),
        ("b/a.txt", ["b/a.txt"], ["c/b/a.txt"]),
        ("out/", ["out/x", "b/out/y"], ["c/out"]),
        ("*.log\n!keep.log", ["a.log"], ["keep.log", "b/keep.log"]),
        ("out/\n!out/keep", ["out/keep"], []),
        ("out/*\n!out/keep", ["out/x"], ["out/keep"]),
        ("**/deep", ["deep", "a/b/deep"], ["deeper"]),
        ("a/**/z", ["a/z", "a/b/c/z"], ["z", "b/a/z"]),
        ("a/**", ["a/x", "a/b/y"], ["b/a/x"]),
        ("a**b", ["axxb", "c/ab"], ["a/b"]),
        ("?.txt", ["a.txt"], ["ab.txt"]),
        ("[ab].txt", ["a.txt"], ["c.txt"]),
        ("[!ab].txt", ["c.txt"], ["a.txt"]),
        ("[a-c]x", ["bx"], ["dx"]),
        ("[[:digit:]]x", ["1x"], ["ax"]),
        ("[]]x", ["]x"], ["x"]),
        ("a[", [], ["a["]),
        ("\\#a", ["#a"], ["a"]),
        ("#a", [], ["#a", "a"]),
        ("\\!a", ["!a"], ["a"]),
        ("a\\*b", ["a*b"], ["axb"]),
        ("a b  ", ["a b"], ["a"]),
        ("a\\ ", ["a "], ["a"]),
        ("a\r", ["a"], ["b"]),
        ("\ufeffa", ["a"], ["b"]),
        ("größe*", ["größe.txt"], ["groesse.txt"]),
        ("*", ["a", "b/c"], []),
        ("*\n!*/\n!*.py", ["a.txt", "b/c.txt"], ["a.py", "b/c.py"]),
        ("a\\", [], ["b"]),
        ("/", [], ["a"]),
        ("foo/*.c", ["foo/x.c"], ["foo/b/x.c"]),
        ("*/x", ["a/x"], ["x", "a/b/x"]),
    ],
)
@pytest.mark.promise("C-02")
def test_a_line_leaves_out_what_git_leaves_out(
    tmp_path: Path, lines: str, left_out: list[str], kept: list[str]
) -> None:
    (tmp_path / ".gitignore").write_bytes(lines.encode())
    plant(tmp_path, *left_out, *kept)
    found = searched(tmp_path) - {".gitignore"}
    assert found == set(kept)
    assert found == as_git_sees(tmp_path) - {".gitignore"}


@pytest.mark.promise("C-02")
@numbers(8, 30)
def test_generated_ignore_files_leave_out_what_git_leaves_out(tmp_path: Path, numbers: range) -> None:
    pieces = ["a", "b", "c*", "*.x", "?", "[ab]", "**", "d", "[!a]*", "a.x", "\\b"]
    for number in numbers:
        chance, root = random.Random(number), tmp_path / str(number)
        names = ["a", "b", "cc", "d", "a.x", "b.x"]
        plant(
            root,
            *("/".join(chance.choices(names, k=chance.randint(1, 4))) + f"/f{chance.choice(names)}" for _ in range(25)),
        )
        for folder in [root, *(chance.sample(sorted(one for one in root.rglob("*") if one.is_dir()), 3))]:
            lines = [
                chance.choice(("!", "", "", ""))
                + chance.choice(("/", "", "", ""))
                + "/".join(chance.choices(pieces, k=chance.choice((1, 1, 1, 2, 3))))
                + chance.choice(("/", "", ""))
                for _ in range(chance.randint(1, 5))
            ]
            (folder / ".gitignore").write_text("\n".join(lines) + "\n")
        found = searched(root)
        assert found == as_git_sees(root), [(file, file.read_text()) for file in sorted(root.rglob(".gitignore"))]


@pytest.mark.promise("C-02")
def test_ignore_beats_gitignore_which_beats_exclude(tmp_path: Path) -> None:
    plant(tmp_path, "a.log", "b.log", "c.log", "sub/a.log", ".git/info/exclude")
    (tmp_path / ".git/info/exclude").write_text("*.log\n")
    assert searched(tmp_path) == set()
    (tmp_path / ".gitignore").write_text("!b.log\n!c.log\n")
    assert searched(tmp_path) == {"b.log", "c.log", ".gitignore"}
    (tmp_path / ".ignore").write_text("c.log\n")
    assert searched(tmp_path) == {"b.log", ".gitignore"}
    (tmp_path / "sub/.ignore").write_text("!a.log\n")
    assert searched(tmp_path) == {"b.log", ".gitignore", "sub/a.log"}


@pytest.mark.promise("C-02")
def test_a_search_further_down_knows_the_ignore_files_above_and_nothing_above_the_root(tmp_path: Path) -> None:
    root = tmp_path / "root"
    plant(root, "sub/deep/a.log", "sub/deep/a.txt", "sub/deep/b.tmp", "out/x.txt")
    (tmp_path / ".gitignore").write_text("*.txt\n")
    (root / ".gitignore").write_text("*.log\nout/\n")
    (root / "sub/.gitignore").write_text("/deep/*.tmp\n")
    assert searched(root, "sub/deep") == {"sub/deep/a.txt"}
    assert searched(root, "out") == {"out/x.txt"}, "a folder that is named is searched"


@pytest.mark.promise("C-02", "P-03")
def test_an_ignore_file_is_never_a_link_a_pipe_or_large(tmp_path: Path) -> None:
    root = tmp_path / "root"
    plant(root, "a.txt", "one/a.txt", "two/a.txt", "three/a.txt", "four/a.txt")
    (tmp_path / "outside").write_text("a.txt\n")
    (root / ".ignore").symlink_to(tmp_path / "outside")
    (root / ".git").symlink_to(tmp_path)
    os.mkfifo(root / "one/.gitignore")
    (root / "two/.gitignore").symlink_to("/dev/zero")
    (root / "three/.gitignore").write_text("a.txt\n" + "#" * (1 << 20))
    (root / "four/.gitignore").mkdir()
    assert searched(root) >= {"a.txt", "one/a.txt", "two/a.txt", "three/a.txt", "four/a.txt"}


@pytest.mark.promise("C-02")
def test_hostile_ignore_files_cost_little(tmp_path: Path) -> None:
    deep = tmp_path / ("a" * 60)
    plant(deep, *(f"{'ab' * 60}{number}" for number in range(50)))
    wild = "\n".join("*a" * 100 + f"{number}b" for number in range(400))
    many = "\n".join("*a?b[ab]" * 5 + f"*{number}x" for number in range(400))
    (tmp_path / ".gitignore").write_text(wild)
    (tmp_path / ".ignore").write_text(many)
    (deep / ".gitignore").write_text("\n".join(f"x{number}\n!y{number}" for number in range(50_000)))
    begun = time.thread_time()
    assert len(searched(tmp_path)) == 52
    assert time.thread_time() - begun < 3 * slowness()


@pytest.mark.promise("C-02")
def test_ignore_files_that_take_too_long_end_the_walk(tmp_path: Path) -> None:
    plant(tmp_path, "a.txt", "b/c.txt")
    (tmp_path / ".gitignore").write_text("x\n")
    sight = Sight(tmp_path)
    with sight.folder() as folder:
        here = Ignoring(time.monotonic() - 1).below("", folder.fd)
        with pytest.raises(OutOfTime):
            here.suspects("", ["a.txt"])
        with pytest.raises(OutOfTime):
            here.kept("", ["a.txt"], folders=False)
        assert files_below(sight, folder, Wanted(), time.monotonic() - 1).late


@pytest.mark.promise("C-02")
def test_lines_without_meaning_are_none() -> None:
    assert ignore_lines(b"\n  \n#x\n/\n!\n\n!/\n[\nx\\\n" + b"a" * 5_000 + b"\nnul\0\n") == []
    assert len(ignore_lines(b"a\n" * 10_000)) == 5_000
    assert len(ignore_lines(b"*a*\n" * 10_000)) == 1_000
    assert ignore_lines(b"*a" * 17) == []
