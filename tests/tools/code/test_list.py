"""`code/list`."""

import os
import socket
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert, to_builtins

from rightcall.base.files.rules import PathRules
from rightcall.base.files.sight import Sight
from rightcall.errors import ToolFailure
from rightcall.executor.views import FILES
from rightcall.tools.code import listing as list_module
from rightcall.tools.code.listing import TOOL, ListArguments
from rightcall.tools.state import Untold


def listed(root: Path | Sight, pattern: str, **more: Any) -> dict[str, Any]:
    sight = root if isinstance(root, Sight) else Sight(root)
    return to_builtins(TOOL.run(sight, convert({"pattern": pattern, **more}, ListArguments)))


def paths(root: Path | Sight, pattern: str, **more: Any) -> list[str]:
    result = listed(root, pattern, **more)
    assert result["totalFiles"] == len(result["files"])
    assert result["truncated"] is False
    return [entry["path"] for entry in result["files"]]


def refused(root: Path, pattern: str, **more: Any) -> str:
    with pytest.raises(ToolFailure) as failure:
        listed(root, pattern, **more)
    return str(failure.value)


def tree(root: Path, *names: str) -> None:
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    tree(
        tmp_path, "readme.md", "src/app.py", "src/util.py", "src/web/page.ts", "src/web/deep/x.py", "docs/a.md",
        "src/__pycache__/app.pyc", "__pycache__/b.pyc", ".gitignore", ".github/ci.yml", ".env", ".hidden/x.py",
        "node_modules/m/i.py", ".git/config", "secrets/key.py", "src/id_rsa",
    )  # fmt: skip
    return tmp_path


@pytest.mark.promise("C-03")
def test_a_list_has_the_fields_of_the_design(project: Path) -> None:
    os.utime(project / "src/app.py", (1_700_000_000, 1_700_000_000))
    os.utime(project / "src/web", (0, 0))
    result = listed(project, "src/{app.py,web}")
    assert result == {
        "success": True,
        "files": [
            {
                "path": "src/app.py",
                "name": "app.py",
                "size": 10,
                "lastModified": "2023-11-14T22:13:20Z",
                "isDirectory": False,
            },
            {"path": "src/web", "name": "web", "size": 0, "lastModified": "1970-01-01T00:00:00Z", "isDirectory": True},
        ],
        "totalFiles": 2,
        "truncated": False,
    }
    assert FILES.shape(result)["summary"] == "2 files (2 total)"


@pytest.mark.promise("C-03")
@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"pattern": "**/*.py"}, ["src/app.py", "src/util.py", "src/web/deep/x.py"]),
        ({"pattern": "*"}, ["docs", "readme.md", "src"]),
        ({"pattern": "."}, ["docs", "readme.md", "src"]),
        ({"pattern": "./"}, ["docs", "readme.md", "src"]),
        ({"pattern": "src"}, ["src/app.py", "src/util.py", "src/web"]),
        ({"pattern": "./src/"}, ["src/app.py", "src/util.py", "src/web"]),
        ({"pattern": "src/*"}, ["src/app.py", "src/util.py", "src/web"]),
        ({"pattern": "readme.md"}, ["readme.md"]),
        ({"pattern": "{src/web,docs}/*"}, ["docs/a.md", "src/web/deep", "src/web/page.ts"]),
        ({"pattern": "*.py", "directory": "src"}, ["src/app.py", "src/util.py"]),
        ({"pattern": "web/**", "directory": "src/"}, ["src/web/deep", "src/web/deep/x.py", "src/web/page.ts"]),
        ({"pattern": "web", "directory": "src"}, ["src/web/deep", "src/web/page.ts"]),
        ({"pattern": "**/*.py", "maxDepth": 2}, ["src/app.py", "src/util.py"]),
        ({"pattern": "**", "maxDepth": 1}, ["docs", "readme.md", "src"]),
        ({"pattern": "**/*.py", "directory": "src", "maxDepth": 1}, ["src/app.py", "src/util.py"]),
        ({"pattern": "*", "directory": ""}, ["docs", "readme.md", "src"]),
        ({"pattern": "*", "includeHidden": True}, [".github", ".gitignore", "docs", "readme.md", "src"]),
        ({"pattern": "**/*.yml", "includeHidden": True}, [".github/ci.yml"]),
        ({"pattern": "**/*.yml"}, []),
        ({"pattern": "nothing/here"}, []),
        ({"pattern": "**/*.pyc"}, []),
    ],
)
def test_what_matches_is_listed_and_nothing_that_may_not_be_seen(
    project: Path, asked: dict[str, Any], expected: list[str]
) -> None:
    assert paths(project, **asked) == expected


def test_an_absolute_pattern_below_the_directory_is_taken(project: Path) -> None:
    assert paths(project, f"{project}/src/*.py") == ["src/app.py", "src/util.py"]
    assert paths(project, str(project)) == ["docs", "readme.md", "src"]
    assert paths(project, f"{project}/src/*.py", directory="src") == ["src/app.py", "src/util.py"]
    link = project.parent / "way-in"
    link.symlink_to(project)
    assert paths(link, f"{project}/src/*.py") == paths(link, f"{link}/src/*.py") == ["src/app.py", "src/util.py"]
    for pattern, directory in (("/etc/*", "."), (f"{project}x/*", "."), (f"{project}/docs/*", "src")):
        assert "it must be relative" in refused(project, pattern, directory=directory)


@pytest.mark.promise("C-03")
def test_what_cannot_be_listed_says_why(project: Path) -> None:
    assert refused(project, "../*") == 'pattern "../*": it must not hold ".."'
    assert refused(project, "") == 'pattern "": it is empty; ** matches everything'
    assert refused(project, "src/[a") == 'pattern "src/[a": a [ is not closed; for the character itself write \\['
    assert refused(project, "*", directory="readme.md") == "readme.md is not a folder; use code/read for a file"
    for directory in ("absent", ".git", "secrets", "..", "/etc", "node_modules/m"):
        assert refused(project, "*", directory=directory) == f"No such file or folder: {directory}"
    assert "must be 1 or more" in refused(project, "*", maxDepth=0)
    assert "must be 1 or more" in refused(project, "*", limit=0)


@pytest.mark.promise("C-03")
def test_lists_are_sorted_by_name_time_or_size(tmp_path: Path) -> None:
    for number, (name, size) in enumerate([("b.txt", 5), ("a.txt", 50), ("c.txt", 1), ("d.txt", 5)]):
        (tmp_path / name).write_bytes(b"x" * size)
        os.utime(tmp_path / name, ns=(0, 1_000_000_000_000_000_000 + number % 3))
    assert paths(tmp_path, "*", sortBy="name") == ["a.txt", "b.txt", "c.txt", "d.txt"]
    assert paths(tmp_path, "*", sortBy="modified") == ["c.txt", "a.txt", "b.txt", "d.txt"]
    assert paths(tmp_path, "*", sortBy="size") == ["a.txt", "b.txt", "d.txt", "c.txt"]


@pytest.mark.promise("C-03")
@pytest.mark.parametrize("order", ["name", "modified", "size"])
def test_at_most_as_many_as_asked_for_and_never_more_than_five_hundred(tmp_path: Path, order: str) -> None:
    for number in range(510):
        (tmp_path / f"{number:03}.txt").write_bytes(b"")
    result = listed(tmp_path, "*.txt", sortBy=order, limit=9_999)
    assert (len(result["files"]), result["totalFiles"], result["truncated"]) == (500, 510, True)
    result = listed(tmp_path, "00*.txt", sortBy=order, limit=3)
    assert (len(result["files"]), result["totalFiles"], result["truncated"]) == (3, 10, True)
    result = listed(tmp_path, "00*.txt", sortBy=order, limit=10)
    assert (len(result["files"]), result["totalFiles"], result["truncated"]) == (10, 10, False)


@pytest.mark.promise("P-03", "C-03")
@pytest.mark.parametrize("order", ["name", "size"])
def test_a_link_is_listed_as_what_it_leads_to_and_never_gone_into(tmp_path: Path, order: str) -> None:
    root = tmp_path / "root"
    tree(root, "src/a.py", ".env")
    tree(tmp_path, "outside/loot.py")
    (tmp_path / "outside/back").symlink_to(root / "src")
    links = {
        "in.py": "src/a.py", "folder": "src", "return": str(tmp_path / "outside/back"), "out.py": "../outside/loot.py",
        "out": "../outside", "loop": "loop", "up": "..", "self": ".", "hidden.md": ".env", "gone": "nowhere",
        "device": "/dev/zero",
    }  # fmt: skip
    for name, target in links.items():
        (root / name).symlink_to(target)
    result = listed(root, "**", sortBy=order)
    seen = {entry["path"]: (entry["isDirectory"], entry["size"]) for entry in result["files"]}
    assert seen == {
        "folder": (True, 0), "in.py": (False, 8), "return": (True, 0), "self": (True, 0), "src": (True, 0),
        "src/a.py": (False, 8),
    }  # fmt: skip
    assert result["totalFiles"] == 6
    assert paths(root, "folder") == ["folder"]
    assert paths(root, "*", directory="folder") == ["src/a.py"]
    assert "No such file" in refused(root, "*", directory="out")


@pytest.mark.promise("P-03")
def test_pipes_devices_and_sockets_are_not_listed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    tree(tmp_path, "file")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(tmp_path / "socket"))
        assert paths(tmp_path, "*") == ["file"]


@pytest.mark.promise("P-03")
def test_what_a_policy_denies_is_not_listed(project: Path) -> None:
    sight = Sight(project, PathRules(deny=["src/web/**"], allow=[".hidden/**"]))
    assert paths(sight, "**/*.py") == ["src/app.py", "src/util.py"]
    assert paths(sight, "**/*.py", includeHidden=True) == [".hidden/x.py", "src/app.py", "src/util.py"]


def test_odd_names_are_listed_in_a_form_that_any_json_can_carry(tmp_path: Path) -> None:
    names = [b"new\nline", b'quo"te', b"-dash", b"sp ace", "größe".encode(), b"caf\xe9", b"star*", b"\x1b[31m"]
    for name in names:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text("x")
    expected = {os.fsdecode(name) for name in names} - {"caf\udce9"} | {"caf\\xe9"}
    for order in ("name", "size"):
        assert set(paths(tmp_path, "*", sortBy=order)) == expected
    assert paths(tmp_path, "caf?") == ["caf\\xe9"]


def test_a_file_that_goes_meanwhile_is_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, "a.py", "b.py", "c.py")
    real = list_module._entries

    def late(*asked: Any) -> Any:
        (tmp_path / "b.py").unlink()
        return real(*asked)

    monkeypatch.setattr(list_module, "_entries", late)
    assert paths(tmp_path, "*") == ["a.py", "c.py"]


@pytest.mark.promise("P-03")
def test_a_folder_swapped_for_a_link_shows_nothing_of_what_it_leads_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    tree(root, "src/a.py")
    tree(tmp_path, "outside/a.py")
    (tmp_path / "outside/a.py").write_text("much more than inside")
    real = list_module._entries

    def swapped(*asked: Any) -> Any:
        (root / "src").rename(tmp_path / "away")
        (root / "src").symlink_to(tmp_path / "outside")
        return real(*asked)

    monkeypatch.setattr(list_module, "_entries", swapped)
    assert listed(root, "src/*.py")["files"] == []


def test_a_list_that_takes_too_long_ends_with_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, "a.py", "b/c.py")
    (tmp_path / "link").symlink_to("a.py")
    monkeypatch.setattr(list_module, "_SECONDS", -1.0)
    result = listed(tmp_path, "**")
    assert [entry["path"] for entry in result["files"]] == ["a.py", "b"]
    assert result["truncated"] is True


def test_a_list_leaves_nothing_open(project: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for order in ("name", "modified"):
        listed(project, "**", sortBy=order)
    listed(project, f"{project}/src")
    refused(project, "{")
    assert len(os.listdir("/proc/self/fd")) == before


def test_no_two_lists_count_as_the_same_call_again(tmp_path: Path) -> None:
    assert TOOL.traced is True
    assert TOOL.state is not None
    with pytest.raises(Untold):
        TOOL.state(Sight(tmp_path), ListArguments(pattern="*"))


@pytest.mark.promise("C-03")
def test_folders_too_deep_to_be_visited_are_told_unless_that_was_asked_for(tmp_path: Path) -> None:
    deep = "/".join(["d"] * 10)
    tree(tmp_path, f"{deep}/x.py", "a/b.py")
    result = listed(tmp_path, "**/*.py")
    assert ([entry["path"] for entry in result["files"]], result["truncated"]) == (["a/b.py"], True)
    assert result["note"] == "What lies more than 10 folders deep was not read; pass a deeper directory."
    assert paths(tmp_path, "**/*.py", maxDepth=10) == ["a/b.py"]
    assert paths(tmp_path, "**/*.py", maxDepth=1) == []
    assert paths(tmp_path, "a/**") == ["a/b.py"]
    assert paths(tmp_path, "**/*.py", directory="d") == [f"{deep}/x.py"]
