"""Git's index, edited: only the named paths change, in every version of the format, and git agrees."""

import os
from pathlib import Path

import pytest

from rightcall.errors import ToolFailure
from rightcall.tools.write.checkout import edit_index, index_differences, index_without, read_index
from support.desks import Project

LATER = 4_000_000_000 * 10**9


def staged(project: Project) -> str:
    return project.git("ls-files", "--stage", "-v")


@pytest.mark.promise("W-05")
@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_only_the_named_paths_change_and_git_reads_the_rest_as_before(version: str, tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write({"new.txt": "new", "promised.txt": "p", "n" * 200: "long", "ü.txt": "u"})
    project.git("update-index", f"--index-version={version}")
    project.git("add", "new.txt", "n" * 200, "ü.txt")
    if version != "2":
        project.git("add", "--intent-to-add", "promised.txt")
    project.git("update-index", "--assume-unchanged", "notes.txt")
    before, file = staged(project), project.root / ".git/index"
    old = file.read_bytes()
    blob = project.git("rev-parse", "main:notes.txt").strip()
    new = edit_index(old, LATER, {"app.py": (0o100644, blob), "lib/util.py": None, "lib/more.py": (0o100755, blob)})
    file.write_bytes(new)
    after = staged(project).splitlines()
    assert f"H 100755 {blob} 0\tlib/more.py" in after
    assert f"H 100644 {blob} 0\tapp.py" in after
    assert [line for line in before.splitlines() if "app.py" not in line and "lib/" not in line] == [
        line for line in after if "app.py" not in line and "lib/" not in line
    ]
    assert index_differences(old, new).keys() == {"app.py", "lib/util.py", "lib/more.py"}
    project.git("fsck")
    file.write_bytes(index_without(old, new, new, LATER) or b"")
    assert staged(project) == before


@pytest.mark.promise("W-05")
def test_what_git_has_written_anew_is_taken_back_and_what_a_person_has_staged_since_is_not(tmp_path: Path) -> None:
    project = Project(tmp_path)
    file = project.root / ".git/index"
    old = file.read_bytes()
    blob = project.git("rev-parse", "main:notes.txt").strip()
    new = edit_index(old, LATER, {"app.py": (0o100644, blob)})
    file.write_bytes(new)
    project.write({"app.py": "a\nb\nc\n", "other.txt": "other"})
    project.git("add", "other.txt")  # git has written the index again, and its times
    now = file.read_bytes()
    back = index_without(old, new, now, LATER)
    assert back is not None
    assert read_index(back).staged() == read_index(old).staged() | {"other.txt": read_index(now).staged()["other.txt"]}
    project.write({"app.py": "mine\n"})
    project.git("add", "app.py")
    assert index_without(old, new, file.read_bytes(), LATER) is None


@pytest.mark.promise("W-05")
def test_a_file_that_changed_in_the_moment_the_index_was_written_is_compared_anew(tmp_path: Path) -> None:
    project = Project(tmp_path)
    file = project.root / ".git/index"
    looks = os.stat(project.root / "app.py")
    os.utime(project.root / "app.py", ns=(looks.st_atime_ns, file.stat().st_mtime_ns))
    project.git("update-index", "--refresh")
    moment = os.stat(project.root / "app.py")
    os.utime(file, ns=(moment.st_atime_ns, moment.st_mtime_ns))
    (project.root / "app.py").write_text("print('6ne')\n")  # of the same length, in the same moment
    os.utime(project.root / "app.py", ns=(moment.st_atime_ns, moment.st_mtime_ns))
    content = file.read_bytes()
    file.write_bytes(edit_index(content, moment.st_mtime_ns, {"notes.txt": None}))  # the file of the index is newer now
    assert " M app.py" in project.git("status", "--porcelain")


@pytest.mark.parametrize("damage", ["magic", "short", "sum", "count", "version"])
def test_a_damaged_index_is_refused(damage: str, tmp_path: Path) -> None:
    content = (Project(tmp_path).root / ".git/index").read_bytes()
    broken = {
        "magic": b"XXXX" + content[4:],
        "short": content[:10],
        "sum": content[:-1] + bytes([content[-1] ^ 1]),
        "count": content[:8] + (999).to_bytes(4, "big") + content[12:-20] + bytes(20),
        "version": content[:4] + (9).to_bytes(4, "big") + content[8:],
    }[damage]
    with pytest.raises(ToolFailure, match="damaged"):
        read_index(broken)


def test_a_split_index_is_refused_with_what_would_help(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.git("update-index", "--split-index")
    with pytest.raises(ToolFailure, match="no-split-index"):
        read_index((project.root / ".git/index").read_bytes())
