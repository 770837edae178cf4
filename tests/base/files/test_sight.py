"""A sight opens what may be seen, and tells nothing about the rest."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from rightcall.base.files import sight
from rightcall.base.files.rules import PathRules
from rightcall.base.files.sight import Sight, Unseen, shown_name
from rightcall.errors import ToolFailure
from rightcall.tools.code.listing import walk

pytestmark = pytest.mark.promise("P-03")


@pytest.fixture(params=["openat2", "walk"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "walk":
        monkeypatch.setattr(sight, "_known", False)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "src").mkdir(parents=True)
    (root / "src/main.py").write_text("print()\n")
    (root / ".env").write_text("TREASURE")
    (root / "secrets").mkdir()
    (root / "harmless").symlink_to(".env")
    (root / "gone").symlink_to("nowhere")
    (root / "out").symlink_to("/etc/passwd")
    os.mkfifo(root / "pipe")
    return root


def told(action: object, *arguments: object) -> str:
    with pytest.raises(ToolFailure) as caught:
        action(*arguments)  # type: ignore[operator]
    return str(caught.value)


@pytest.mark.parametrize("path", [".env", "secrets", "harmless", "gone", "out", "pipe", "nope", "src/main.py/", ""])
def test_what_is_refused_and_what_is_absent_are_told_alike(root: Path, path: str) -> None:
    sight = Sight(root)
    for action in (sight.open, sight.file, sight.folder):
        assert told(action, path) == f"No such file or folder: {path}"


def test_a_file_and_a_folder_that_are_mixed_up_are_told_plainly(root: Path) -> None:
    sight = Sight(root)
    assert told(sight.file, "src") == "src is a folder; code/list shows what is in it"
    assert told(sight.folder, "src/main.py") == "src/main.py is not a folder; use code/read for a file"


def test_the_text_of_a_refusal_is_escaped_and_short(root: Path) -> None:
    text = told(Sight(root).open, "\x1b[2K\u202e" + "x" * 5000)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert len(text) < 300


def test_the_root_is_a_folder_with_an_empty_path(root: Path) -> None:
    for path in (".", "src/..", str(root), f"{root}/"):
        with Sight(root).folder(path) as folder:
            assert (folder.path, folder.is_folder) == ("", True)
            assert set(os.listdir(folder.fd)) >= {"src", ".env"}


def test_a_root_that_is_gone_shows_nothing(root: Path) -> None:
    sight = Sight(root)
    shutil.rmtree(root)
    for action in (sight.open, sight.named):
        assert told(action, "src") == "No such file or folder: src"


def test_a_relative_root_stays_where_it_was(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    sight = Sight(".")
    monkeypatch.chdir("/")
    with sight.file("src/main.py") as file:
        assert file.read(5) == b"print"


def test_reading_is_bounded_and_closing_twice_is_harmless(root: Path) -> None:
    file = Sight(root).file("src/main.py")
    assert file.read(3) == b"pri"
    assert file.read(0) == b""
    file.close()
    file.close()


def test_nothing_stays_open_after_a_refusal(root: Path) -> None:
    sight = Sight(root)
    before = os.open(os.devnull, os.O_RDONLY)
    os.close(before)
    for path in (".env", "pipe", "nope", "out", "src", "src/main.py", "\0", "\ud800", "harmless", "gone"):
        for action in (sight.file, sight.folder):
            with suppress(ToolFailure):
                action(path).close()
    after = os.open(os.devnull, os.O_RDONLY)
    os.close(after)
    assert after == before


def test_a_walk_cannot_reopen_what_the_rules_refuse_or_what_is_no_file(root: Path) -> None:
    sight = Sight(root)
    top = sight.open_root()
    try:
        with sight.reopen(top, "src/main.py") as file:
            assert file.path == "src/main.py"
        for path in (".env", "harmless", "pipe", "out", "../root/src/main.py", "src/../src/main.py", "secrets"):
            with pytest.raises(OSError):  # noqa: PT011  whatever the system says
                sight.reopen(top, path)
    finally:
        os.close(top)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("src/main.py", "src/main.py"), ("./src//main.py", "src/main.py"), ("src/old.py", "src/old.py"),
        ("./gone/./x.py", "gone/x.py"), ("{root}/src/old.py", "src/old.py"), (".", ""), ("gone", "gone"),
        ("src/main.py/was-a-folder.py", "src/main.py/was-a-folder.py"),
    ],
)  # fmt: skip
def test_history_knows_a_path_by_where_it_leads_or_by_its_plain_name(root: Path, path: str, name: str) -> None:
    assert Sight(root).named(path.replace("{root}", str(root))) == name


@pytest.mark.parametrize(
    "path",
    [
        ".env", "harmless", "secrets/old.txt", "old/.env", ".git/config", "../x", "src/../../x", "nope/../x", "/etc/x",
        "{root}-evil/x", "", "a\0b", "\ud800", "src/main.py/", "/", "x" * 5000 + "\0",
    ],
)  # fmt: skip
def test_history_has_no_name_for_what_may_not_be_seen(root: Path, path: str) -> None:
    written = path.replace("{root}", str(root))
    with pytest.raises(Unseen):
        Sight(root).named(written)


def test_the_rules_of_a_policy_hold(root: Path) -> None:
    sight = Sight(root, PathRules(deny=["SRC/**"], allow=[".env"]))
    assert not sight.sees("src/main.py")
    assert told(sight.file, "src/main.py") == "No such file or folder: src/main.py"
    with sight.file("harmless") as file:
        assert file.path == ".env"


@pytest.mark.promise("P-03")
def test_the_files_of_a_bare_repository_are_not_to_be_read_under_any_name(tmp_path: Path) -> None:
    bare = tmp_path / "backup"
    for name in ("objects", "refs"):
        (bare / name).mkdir(parents=True)
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    (bare / "config").write_text("url = https://token@example.org\n")
    (tmp_path / "HEAD").write_text("no repository\n")
    for path in ("backup/config", "backup/HEAD", "backup", "backup/refs"):
        with pytest.raises(Unseen):
            Sight(tmp_path).open(path)
    with pytest.raises(ToolFailure, match="bare git repository"):
        Sight(bare).open("config")
    with Sight(tmp_path).folder() as folder:
        assert [(place.path, place.files) for place in walk(Sight(tmp_path), folder)] == [("", ["HEAD"])]
    assert Sight(bare).named("config") == "config"  # a history may have a file of that name


@pytest.mark.promise("C-01", "P-03")
def test_a_name_that_is_no_text_is_opened_as_it_was_shown(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    (tmp_path / name).write_text("odd")
    (tmp_path / "a\\xe9.txt").write_text("plain")
    (tmp_path / os.fsdecode(b"a\xe9.txt")).write_text("not this one")
    sight = Sight(tmp_path)
    assert shown_name(name) == "caf\\xe9.txt"
    with sight.file(shown_name(name)) as file:
        assert (file.path, file.read(9)) == (name, b"odd")
    with sight.file("a\\xe9.txt") as file:
        assert file.read(9) == b"plain"
    assert sight.named(shown_name(name)) == name
    with pytest.raises(Unseen):
        sight.file("nope\\xe9.txt")
    with pytest.raises(Unseen):
        sight.file("\\x2e\\x65nv")
