"""What would change in a file, as a unified diff."""

import os
import random
from pathlib import Path

import pytest

from rightcall.tools.diff import content_diff, file_diff, shown_text


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


def test_a_change_is_shown_with_its_surroundings(root: Path) -> None:
    (root / "a.txt").write_text("".join(f"{n}\n" for n in range(1, 21)))
    new = "".join(f"{n}\n" for n in range(1, 21) if n != 10).replace("15\n", "fifteen\n")
    assert file_diff("a.txt", new, root=root) == (
        "--- a/a.txt\n+++ b/a.txt\n@@ -7,12 +7,11 @@\n 7\n 8\n 9\n-10\n 11\n 12\n 13\n 14\n-15\n+fifteen\n 16\n 17\n 18"
    )


def test_an_absent_file_is_all_new(root: Path) -> None:
    assert file_diff("new/a.txt", "x\ny\n", root=root) == "--- /dev/null\n+++ b/new/a.txt\n@@ -0,0 +1,2 @@\n+x\n+y"
    assert file_diff("a.txt", "", root=root) == "a.txt: would be created, empty"


def test_a_file_that_is_emptied_is_all_gone(root: Path) -> None:
    (root / "a.txt").write_text("x\n")
    assert file_diff("a.txt", "", root=root) == "--- a/a.txt\n+++ b/a.txt\n@@ -1 +0,0 @@\n-x"


def test_a_missing_newline_at_the_end_is_told(root: Path) -> None:
    (root / "a.txt").write_text("x\ny")
    assert file_diff("a.txt", "x\ny\n", root=root).splitlines()[3:] == [
        " x", "-y", "\\ No newline at end of file", "+y",
    ]  # fmt: skip


def test_carriage_returns_show(root: Path) -> None:
    (root / "a.txt").write_bytes(b"x\r\ny\r\n")
    assert file_diff("a.txt", "x\r\ny\n", root=root).split("\n")[3:] == [" x\r", "-y\r", "+y"]


def test_nothing_to_change_is_said(root: Path) -> None:
    (root / "a.txt").write_text("x")
    assert file_diff("a.txt", "x", root=root) == "a.txt: no change"


@pytest.mark.promise("P-06")
def test_a_text_with_a_nul_in_it_is_shown_and_what_is_none_has_its_size_and_digest() -> None:
    assert content_diff("a.js", b"one()\n", b"/*\0*/ evil()\n").split("\n")[3:] == ["-one()", "+/*\0*/ evil()"]
    assert content_diff("a.png", None, b"\xff\0") == (
        "a.png: would go from no file to 2 bytes that are no text "
        "(sha256 ea5dbf9596d187e9500f23e9a680109475341cf4e81f7e043f7d97152c10772f)"
    )


def test_a_binary_file_is_named_not_shown(root: Path) -> None:
    (root / "a.bin").write_bytes(b"\xff\xfe\x00")
    assert file_diff("a.bin", "text", root=root) == (
        "a.bin: a binary file of 3 bytes would be replaced by 4 bytes of text"
    )


@pytest.mark.promise("P-05")
def test_text_of_a_model_cannot_forge_a_line_and_shown_it_cannot_colour_or_turn(root: Path) -> None:
    text = file_diff('a"\n+++ b/other', "\x1b[31mred\u202e\nq\x85w\ttab\n\udc80\n", root=root)
    assert text.split("\n")[1:4:2] == ['+++ "b/a\\"\\n+++ b/other"', "+\x1b[31mred\u202e"]
    assert shown_text(text).splitlines() == [
        "--- /dev/null",
        '+++ "b/a\\"\\n+++ b/other"',
        "@@ -0,0 +1,3 @@",
        "+\\u001b[31mred\\u202e",
        "+q\\u0085w\ttab",
        "+\\udc80",
    ]


@pytest.mark.promise("P-05")
def test_a_file_outside_the_root_is_not_looked_at(root: Path) -> None:
    inside, secret = root / "inside", root / "secret.txt"
    inside.mkdir()
    secret.write_text("the secret\n")
    (inside / "link").symlink_to(secret)
    (root / "inside-out").mkdir()
    (root / "inside-out" / "s.txt").write_text("the secret\n")
    for path in ("../secret.txt", str(secret), "link", "../inside-out/s.txt"):
        assert file_diff(path, "x", root=inside).endswith(": is outside the root and was not read")
    assert "-the secret" in file_diff(secret, "x")


def test_what_is_no_file_is_said_and_nothing_waits(root: Path) -> None:
    (root / "folder").mkdir()
    os.mkfifo(root / "pipe")
    (root / "loop").symlink_to("loop")
    assert file_diff("folder", "x", root=root) == "folder: is not a regular file"
    assert file_diff("pipe", "x", root=root) == "pipe: is not a regular file"
    for path in ("loop", "a\0b", "x" * 5_000):
        assert ": cannot be read: " in file_diff(path, "x", root=root)


def test_large_files_take_no_longer_than_they_are_large(root: Path) -> None:
    lines = [f"{n % 7}\n" for n in range(100_000)]
    (root / "a.txt").write_text("".join(lines))
    assert file_diff("a.txt", "".join([*lines[:50_000], "new\n", *lines[50_000:]]), root=root).count("\n") < 20
    other = "".join(reversed(lines))
    assert file_diff("a.txt", other, root=root).count("\n-") > 90_000
    (root / "huge.txt").write_text("x" * 10_000_001)
    assert (
        file_diff("huge.txt", "x", root=root) == "huge.txt: would be replaced by 1 bytes of text; too large to compare"
    )


def patched(old: str, diff: str) -> str:
    """What `patch` would make of the old text: a second reading of the format, as naive as can be."""
    rest, made = old.split("\n"), list[str]()
    taken = 0
    lines = diff.split("\n")[2:]
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith("@@"):
            first, _, count = line.split()[1][1:].partition(",")
            start = int(first) - (count != "0")
            made += [f"{kept}\n" for kept in rest[taken:start]]
            taken = start
            continue
        if line.startswith("\\"):
            continue
        end = "" if following.startswith("\\") else "\n"
        if line[0] in " -":
            assert rest[taken] == line[1:]
            taken += 1
        if line[0] in " +":
            made.append(line[1:] + end)
    return "".join(made) + "\n".join(rest[taken:])


@pytest.mark.promise("P-05")
@pytest.mark.parametrize("seed", range(60))
def test_what_a_diff_shows_is_exactly_the_change(root: Path, seed: int) -> None:
    chance = random.Random(seed)
    old = [f"{chance.randrange(5)}\n" for _ in range(chance.choice((1, 5, 50, 3_000)))]
    kept = chance.choice((0.05, 0.9, 0.999))
    new = [line for line in old if chance.random() < kept]
    for _ in range(chance.randrange(6)):
        new.insert(chance.randrange(len(new) + 1), "new\n")
    before, after = ("".join(lines).rstrip("\n") if chance.random() < 0.3 else "".join(lines) for lines in (old, new))
    (root / "a.txt").write_text(before)
    diff = file_diff("a.txt", after, root=root)
    assert diff == "a.txt: no change" if before == after else patched(before, diff) == after
