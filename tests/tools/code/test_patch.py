"""Whatever files hold and are called, a diff of them is read as what it is."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightcall.base.files.sight import Sight
from rightcall.tools.code.patch import DiffReader, Garbled, Room, View, read_changes
from support.every import every
from support.repositories import Made, applied, ask_diff, made

PIECES = (
    "a\n", "b\n", "c\n", "\n", "x", "diff --git a/a b/a\n", "@@ -1,9 +1,9 @@\n", "--- a/a\n", "+++ b/a\n", "-- \n",
    "\\ No newline at end of file\n", "index 1..2 100644\n", "\r\n", "\r", "\t\n", "+\n", "-\n", "é\n", "\x1b[31m\n",
    "rename from a\n", "Binary files a and b differ\n", "\u2028\n", "\x0c\n", "* Unmerged path a\n",
)  # fmt: skip
NAMES = ("a", "b c", "-x", "--", "ü", 'q"q', "back\\slash", "new\nline", "t\tab", " b b", "d/e", "a b/a", "\x7f", "%s")
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
TREES = st.dictionaries(st.sampled_from(NAMES), TEXTS, max_size=4)


def imported(into: Made, *trees: dict[str, str]) -> None:
    """Each tree becomes a commit, without a file being written."""
    stream: list[bytes] = []
    for number, tree in enumerate(trees):
        stream.append(b"commit refs/heads/main\ncommitter A <a@b> %d +0000\ndata 1\nx\n" % (1_700_000_000 + number))
        stream.append(b"deleteall\n")
        for name, content in tree.items():
            stream.append(b"M 100644 inline " + quoted(name) + b"\ndata %d\n" % len(content.encode()))
            stream.append(content.encode() + b"\n")
    into.git("fast-import", "--quiet", "--force", input=b"".join(stream))


def quoted(name: str) -> bytes:
    return b'"' + b"".join(b"\\%03o" % byte for byte in name.encode()) + b'"'


@pytest.mark.promise("C-04")
@settings(max_examples=30)
@given(old=TREES, new=TREES, context=st.integers(0, 4))
def test_a_diff_applied_to_the_old_files_gives_the_new_ones(
    old: dict[str, str], new: dict[str, str], context: int
) -> None:
    with TemporaryDirectory() as folder:
        repository = made(Path(folder))
        imported(repository, old, new)
        result = ask_diff(repository.folder, base="HEAD~1", compare="HEAD", contextLines=context)
    assert made_of(old, result) == new
    assert result["totalChanges"]["filesChanged"] == len(result["diffs"])
    for kind, count in (("addition", "insertions"), ("deletion", "deletions")):
        lines = [line for file in result["diffs"] for hunk in file["hunks"] for line in hunk["lines"]]
        assert sum(line["type"] == kind for line in lines) == result["totalChanges"][count]


@pytest.mark.promise("C-04")
@settings(max_examples=20)
@given(old=TREES, new=TREES, size=st.integers(1, 60), deny=st.sets(st.sampled_from(("a", "b c", "-x", "d/e"))))
def test_less_room_keeps_the_first_lines_of_the_same_diff_and_refused_files_take_none(
    old: dict[str, str], new: dict[str, str], size: int, deny: set[str]
) -> None:
    seen = [{name: text for name, text in tree.items() if name not in deny} for tree in (old, new)]
    with TemporaryDirectory() as folder:
        repository = made(Path(folder))
        imported(repository, old, new, *seen)
        asked = {"base": "HEAD~1", "compare": "HEAD", "contextLines": 1}
        whole = ask_diff(repository.folder, **asked)
        asked["base"], asked["compare"] = "HEAD~3", "HEAD~2"
        cut = ask_diff(repository.folder, deny=deny, maxDiffSize=size, **asked)
        every = repository.git("diff", "--name-status", "-M", "-z", "HEAD~3", "HEAD~2").split("\0")
    paths = {name for file in cut["diffs"] for name in (file["path"], file.get("oldPath"))}
    assert not paths & deny
    if any(file["status"] == "renamed" for file in whole["diffs"]) or any(
        re.fullmatch(r"R\d+", word) for word in every
    ):
        return  # whether two files are taken for one depends on all files
    assert cut["totalChanges"] == whole["totalChanges"]
    lines = flat(cut)
    assert lines == flat(whole)[: len(lines)]
    assert cut["truncated"] == (len(lines) < len(flat(whole)))
    assert sum(len(line["content"].encode()) + 2 for _, line in lines) <= size


def flat(result: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(file["path"], line) for file in result["diffs"] for hunk in file["hunks"] for line in hunk["lines"]]


def made_of(old: dict[str, str], result: dict[str, Any]) -> dict[str, str]:
    files = dict(old)
    for file in result["diffs"]:
        before = old.get(file.get("oldPath", file["path"]), "").encode()
        if file["status"] == "renamed":
            files.pop(file["oldPath"], None)
        after = applied(before, file).decode()
        if file["status"] == "deleted":
            assert after == ""
            del files[file["path"]]
        else:
            files[file["path"]] = after
    return files


RAW = b":100644 100644 1111111 2222222 M\x00a\x001\t1\ta\x00\x00"
PATCH = b"diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-x\n+y\n z\n"


@pytest.mark.promise("C-04")
@every("end", range(len(RAW), len(RAW + PATCH)))
def test_wherever_a_patch_is_cut_whole_lines_are_kept_and_the_cut_is_told(end: int, tmp_path: Path) -> None:
    whole = RAW + PATCH
    changes = read_changes(DiffReader(whole[:end], whole=False), View(Sight(tmp_path), ""), Room(1000))
    (file,) = changes.diffs
    assert (changes.truncated, file.truncated) == (True, True)
    assert changes.totals.insertions == changes.totals.deletions == 1
    kept = [line.content for hunk in file.hunks for line in hunk.lines]
    assert kept == ["x", "y", "z"][: len(kept)]


@pytest.mark.promise("C-04")
@every("end", range(1, len(RAW)))
def test_an_answer_that_is_cut_before_its_sums_are_whole_is_none(end: int, tmp_path: Path) -> None:
    with pytest.raises(Garbled):
        read_changes(DiffReader(RAW[:end], whole=False), View(Sight(tmp_path), ""), Room(1000))


@pytest.mark.promise("C-04")
@every(
    "wrong",
    [
        PATCH.replace(b" z", b"?z"),
        PATCH.replace(b"a/a b/a", b"a/b b/b"),
        PATCH.replace(b"+y\n z\n", b"+y\n+z\n z\n"),
        PATCH.replace(b"@@ -1,2", b"@@ -one"),
        PATCH.replace(b" z\n", b"\n"),
    ],
)
def test_what_git_would_not_write_is_not_read(wrong: bytes, tmp_path: Path) -> None:
    assert read_changes(DiffReader(RAW + PATCH), View(Sight(tmp_path), ""), Room(1000)).truncated is False
    with pytest.raises(Garbled):
        read_changes(DiffReader(RAW + wrong), View(Sight(tmp_path), ""), Room(1000))
