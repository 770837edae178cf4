"""Which files a patch would touch."""

from pathlib import Path

import pytest

from rightcall.policy.commands.git import paths_in_patch
from support.command_lines import Desk
from support.every import every
from support.pace import process_time

pytestmark = pytest.mark.promise("P-03")

ENVELOPE = "*** Begin Patch\n{}\n*** End Patch"


@every(
    ("patch", "paths"),
    [
        (ENVELOPE.format("*** Add File: a b.py\n+x"), ["a b.py"]),
        (ENVELOPE.format("*** Update File: a.py\n*** Move to: .env\n@@\n-x"), ["a.py", ".env"]),
        (ENVELOPE.format("  *** delete file: a.py  "), ["a.py"]),
        (ENVELOPE.format("*** Update File: a.sql\r\n@@\r\n--- a comment\r\n+x"), ["a.sql"]),
        ("--- a/x.py\t2024-01-01\n+++ b/x.py\n@@ -1 +1 @@\n", ["a/x.py", "x.py", "b/x.py"]),
        ("--- /dev/null\n+++ b/.env\n@@ -0,0 +1 @@\n", ["b/.env", ".env"]),
        ("+++ private/a\n@@ -1 +1 @@\n", ["private/a", "a"]),
        ("*** a/x\n--- b/y\n***************\n", ["a/x", "x", "b/y", "y"]),
        ("rename from a\nrename to .env\n", ["a", ".env"]),
        ('--- "a/\\303\\251.py"\n+++ "b/\\303\\251.py"\n', ["a/é.py", "é.py", "b/é.py"]),
        ("diff --git a/x b/x\nold mode 1\n", ["a/x", "x", "b/x"]),
        ('diff --git "a/\\303\\251" b/x\n', ["a/é", "é", "b/x", "x"]),
        ("just words\n--- \n", []),
        ("+++ rightcall.toml foo\n@@ -1 +1 @@\n", ["rightcall.toml foo", "rightcall.toml"]),
        ('+++ "rightcall.toml" foo\n@@ -1 +1 @@\n', ["rightcall.toml"]),
        ("+++ f\n\nwords\n@@ -1 +1 @@\n-x\n+y\n", ["f"]),
        ("X--- f\nX+++ f\nX@@ -1 +1 @@\n", ["f"]),
        ("- --- f\n- \n- @@ -1 +1 @@\n", ["f"]),
        ("*** f\nwords\n***************\n", ["f"]),
        ("--- f\nwords\n1c1\n< x\n", ["f"]),
        ("diff --git f f\nold mode 1\n", ["f"]),
        ("diff --git i/f w/f\nold mode 1\n", ["i/f", "f", "w/f"]),
        ("diff --git my file my file\n", ["my", "file my file", "file", "my file", "my file my"]),
        ("--- a\n+++ a\n@@ -1,3 +1,2 @@\n x\n--- a comment\n y\n@@ -9 +8 @@\n-x\n+y\n", ["a"]),
    ],
)
def test_every_file_that_a_patch_names_is_found(patch: str, paths: list[str]) -> None:
    assert paths_in_patch(patch) == paths


def test_a_path_may_lose_any_number_of_its_folders() -> None:
    assert paths_in_patch("--- a/b/f\n+++ a/b/f\n", endings=True) == ["a/b/f", "b/f", "f"]
    assert "f" in paths_in_patch(f"--- {'a/' * 500}f\n@@ -1 +1 @@", endings=True)


@every(
    "patch",
    ['diff --git "' + '\\"' * 100_000, "diff --git " + '"\\' * 100_000, "--- " + " 2020-01-0" * 20_000,
     "*** " + " " * 100_000 + "x", "+++ x" + " " * 100_000 + "y\n@@ ", "--- a\n+++ b\n" * 20_000,
     "diff --git " + "a " * 100_000,
     "X" * 500_000, "- " * 200_000, "--- " + "a/" * 200_000, "--- x\n\n" * 50_000 + "@@ -1 +1 @@"],
)  # fmt: skip
def test_a_hostile_patch_takes_no_longer_than_its_length(patch: str) -> None:
    started = process_time()
    paths_in_patch(patch, endings=True)
    assert process_time() - started < 1


DIFF = "--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-x\n+y\n"
APPLIED = {
    "git apply fixes/*.patch": "allow", "git apply *.patch": "deny", "cat *.patch | git apply": "deny",
    'for one in fixes/*.patch; do git apply "$one"; done': "allow",
    'for one in none/*.patch; do patch -p1 < "$one"; done': "allow",
    'for one in p*.patch; do patch -p1 < "$one"; done': "deny",
    "git -C fixes apply 1.patch": "allow", "git -C src apply ../policy.patch": "deny",
    'git apply "$1"': "ask", 'patch -p1 <<< "$CHANGES"': "ask", "git apply <(xzcat a.xz)": "ask",
    "bzcat fix.bz2 | git apply": "ask", "gunzip -c fix.gz | patch -p0": "ask", "patch -p1 < <(base64 -d x)": "ask",
    "sed s,old,new, fixes/1.patch | git am": "ask", "./make-patch > new.patch && git apply new.patch": "ask",
    "patch -d .git/hooks -i ../../fixes/1.patch": "ask", "patch -p1 --directory=.husky < fixes/1.patch": "ask",
    "git diff main -- src | git apply -R": "allow", "git diff > new.patch; git apply new.patch": "allow",
    "git apply <(git show HEAD~1)": "allow", "cat fixes/1.patch | git apply --index": "allow",
    "patch -p1 < fixes/1.patch": "allow", "git am --continue": "allow", "git am fixes/*.patch": "allow",
}  # fmt: skip


@pytest.mark.promise("P-16")
def test_a_patch_is_read_wherever_it_comes_from_and_asks_where_it_cannot_be(tmp_path: Path) -> None:
    for name, file in (
        ("policy.patch", "rightcall.toml"),
        ("fixes/1.patch", "src/a.py"),
        ("fixes/2.patch", "src/b.py"),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(DIFF.format(file))
    desk = Desk(tmp_path)
    try:
        assert {line: desk.judge(line)[0] for line in APPLIED} == APPLIED
    finally:
        desk.door.close()


@pytest.mark.promise("P-16")
def test_of_more_patches_than_are_looked_at_a_person_is_asked(tmp_path: Path) -> None:
    for number in range(21):
        (tmp_path / f"{number}.patch").write_text(DIFF.format("src/a.py"))
    desk = Desk(tmp_path)
    try:
        assert desk.judge("git apply *.patch")[:2] == ("ask", "command:unreadable")
    finally:
        desk.door.close()
