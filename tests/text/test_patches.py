"""Which files a patch would touch."""

from time import process_time

import pytest

from rightcall.text.patches import paths_in_patch

pytestmark = pytest.mark.promise("P-03")

ENVELOPE = "*** Begin Patch\n{}\n*** End Patch"


@pytest.mark.parametrize(
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
    ],
)
def test_every_file_that_a_patch_names_is_found(patch: str, paths: list[str]) -> None:
    assert paths_in_patch(patch) == paths


@pytest.mark.parametrize(
    "patch",
    ['diff --git "' + '\\"' * 100_000, "diff --git " + '"\\' * 100_000, "--- " + " 2020-01-0" * 20_000,
     "*** " + " " * 100_000 + "x", "+++ x" + " " * 100_000 + "y\n@@ ", "--- a\n+++ b\n" * 20_000],
)  # fmt: skip
def test_a_hostile_patch_takes_no_longer_than_its_length(patch: str) -> None:
    started = process_time()
    paths_in_patch(patch)
    assert process_time() - started < 1
