"""Ripgrep only saves work: with it and without, a search has the same result."""

import codecs
import os
import random
import stat
from pathlib import Path

import pytest

from rightcall.base.files.rules import PathRules
from rightcall.base.files.sight import Sight
from rightcall.tools.code import candidates as search_ripgrep
from rightcall.tools.code.search import SearchArguments, search

NAMES = [
    "a", "b.py", "c.log", "Build", "build", "dist", ".github", ".GitHub", ".hidden", ".eslintrc.d", "größe",
    "new\nline", "-x", "back\\slash", "x.min.js", "node_modules", "secrets", os.fsdecode(b"\xff\xfe"), " ", "[a]",
    "tmp", "#c", "!d",
]  # fmt: skip
RULES = [
    "*.log",
    "tmp/",
    "/a",
    "b.py",
    "!c.log",
    "**/x*",
    "größe",
    "dist",
    "*",
    "!*/",
    "a/**",
    "[ab]*",
    "\\#c",
    ".github/",
    "*.py",
]
PATTERNS = ["needle", "^$", "x*", "e$", "[^a-z]", r"\bn", "größe", "(?i)NEEDLE", ".", r"\r", "zzz"]


def content(chance: random.Random) -> bytes:
    lines = chance.choices(
        ["needle", "", "größe", "x" * 3_000 + "needle", "plain", "needle needle", "e\rf"], k=chance.randint(0, 6)
    )
    text = chance.choice(["\n", "\r\n"]).join(lines) + chance.choice(["", "\n"])
    form = chance.randrange(9)
    if form == 0:
        return codecs.BOM_UTF16_LE + text.encode("utf-16-le")
    if form == 1:
        return codecs.BOM_UTF8 + text.encode()
    if form == 2:
        return text.encode("latin-1")
    if form == 3:
        return text.encode() + b"\0"
    return text.encode()


def grow(root: Path, chance: random.Random) -> None:
    folders = [root]
    for _ in range(chance.randint(2, 8)):
        folder = chance.choice(folders) / chance.choice(NAMES)
        if not os.path.lexists(folder):
            folder.mkdir()
            folders.append(folder)
    for folder in folders:
        for name in chance.sample(NAMES, 5):
            if not os.path.lexists(folder / name):
                chance.choice((file, file, file, file, link, pipe))(folder / name, chance)
        if chance.random() < 0.4:
            rules = "\n".join(chance.sample(RULES, chance.randint(1, 3)))
            (folder / chance.choice([".gitignore", ".ignore"])).write_text(rules)


def file(path: Path, chance: random.Random) -> None:
    path.write_bytes(content(chance))


def link(path: Path, chance: random.Random) -> None:
    path.symlink_to(chance.choice(["/etc", "..", "a", "b.py"]))


def pipe(path: Path, _chance: random.Random) -> None:
    os.mkfifo(path)


@pytest.mark.skipif(search_ripgrep.ripgrep("/nowhere") is None, reason="ripgrep is not installed")
@pytest.mark.parametrize(
    "seed", [0, 117, 171, 220, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 9))]
)
@pytest.mark.promise("C-02", "C-09")
def test_both_engines_find_the_same_in_generated_trees(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(3):
        root = tmp_path / str(number)
        root.mkdir()
        grow(root, chance)
        rules = chance.choice(
            [PathRules(), PathRules(deny=["a/**"]), PathRules(allow=["secrets/**"], dotfiles=[".hidden/**"])]
        )
        sight = Sight(root, rules)
        folders = [one.name for one in root.iterdir() if one.is_dir() and not one.is_symlink()]
        below = sorted(name for name in folders if rules.refuses(name) is None)
        for pattern in chance.sample(PATTERNS, 4):
            asked = SearchArguments(
                pattern=pattern,
                paths=chance.choice([[], [], below[:1], below[:2]]),
                file_pattern=chance.choice([None, None, "*.py", "**/*.{log,py}", "a/**"]),
                exclude_patterns=chance.choice([[], ["tmp"], ["**/*.log"]]),
                max_matches=chance.choice([100, 3]),
            )
            with_it, without = search(sight, asked, engine="ripgrep"), search(sight, asked, engine="linear")
            assert with_it == without, asked


@pytest.mark.skipif(search_ripgrep.ripgrep("/nowhere") is None, reason="ripgrep is not installed")
@pytest.mark.promise("C-02")
def test_ripgrep_is_believed_only_when_it_has_done_its_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_text("needle\n")
    program = tmp_path / "rg"
    for script in (
        "exit 1",
        "echo oops >&2; exit 2",
        "kill -9 $$",
        "printf 'a.txt\\0007\\n./.env\\0001\\n../x\\0001\\n'; exit 0",
        "exit 127",
    ):
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr(search_ripgrep, "ripgrep", lambda root: str(program))
        result = search(Sight(root), SearchArguments(pattern="needle"))
        assert result.total_matches == (0 if script == "exit 1" else 1), script
        assert result.files_searched == 1
    monkeypatch.setattr(search_ripgrep, "ripgrep", lambda root: str(tmp_path / "absent"))
    assert search(Sight(root), SearchArguments(pattern="needle")).total_matches == 1


@pytest.mark.skipif(search_ripgrep.ripgrep("/nowhere") is None, reason="ripgrep is not installed")
@pytest.mark.promise("C-02")
def test_the_users_own_ripgrep_settings_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "settings"
    settings.write_text("--pre=touch\n--max-count=1\n--invert-match\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(settings))
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_text("needle\nneedle\nother\n")
    assert search(Sight(root), SearchArguments(pattern="needle", max_matches=1), engine="ripgrep").total_matches == 2


@pytest.mark.skipif(search_ripgrep.ripgrep("/nowhere") is None, reason="ripgrep is not installed")
@pytest.mark.promise("P-03")
def test_ripgrep_reads_no_ignore_file_itself(tmp_path: Path) -> None:
    """A link to an endless device in the place of one would cost all the memory there is."""
    (tmp_path / "a.txt").write_text("needle\n")
    for name in (".gitignore", ".ignore", ".rgignore"):
        (tmp_path / name).symlink_to("/dev/zero")
    (tmp_path / "sub").mkdir()
    os.mkfifo(tmp_path / "sub/.gitignore")
    os.mkfifo(tmp_path / "sub/.rgignore")
    result = search(Sight(tmp_path), SearchArguments(pattern="needle"), engine="ripgrep")
    assert (result.total_matches, result.truncated) == (1, False)


@pytest.mark.promise("C-02", "C-08")
def test_a_program_that_lies_in_the_folder_that_is_searched_is_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rg").write_text(f"#!/bin/sh\ntouch '{tmp_path}/started'\n")
    (tmp_path / "rg").chmod(0o755)
    (tmp_path / "a.txt").write_text("TODO\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join((".", "", os.environ["PATH"])))
    found = search(Sight(tmp_path), SearchArguments(pattern="TODO"))
    assert [match.file for match in found.matches] == ["a.txt"]
    assert not (tmp_path / "started").exists()


@pytest.mark.promise("C-02")
def test_a_search_works_where_the_path_names_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("TODO\n")
    monkeypatch.setenv("PATH", ".")
    assert search_ripgrep.ripgrep(str(tmp_path)) is None
    assert search(Sight(tmp_path), SearchArguments(pattern="TODO")).total_matches == 1
