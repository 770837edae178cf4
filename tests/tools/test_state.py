"""The state of what a call touches, and whether a result may be kept under it."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from rightcall.base.json.strict import values_at
from rightcall.tools import state as state_module
from rightcall.tools.functions import LocalTool, local_tool, tool
from rightcall.tools.state import is_keepable, place_arguments, state_of, tells_changes
from support.every import every


@every(
    ("place", "found"),
    [
        ("path", ["a.py"]),
        ("paths", ["b", "c", "d"]),
        ("paths[]", ["b", "c", "d"]),
        ("ws.url", ["http://x"]),
        ("operations[].path", ["e", "f"]),
        ("operations[].parts[].at", ["g", "h"]),
        ("rows[][].p", ["i"]),
        ("odd.name", ["j"]),
        ("absent", []),
        ("paths.inner", ["b\0", "c\0", "d\0"]),
        ("path.inner", ["a.py\0"]),
        ("path[]", ["a.py\0"]),
        ("operations.path", ["e", "f"]),
        ("number", []),
        ("number.inner", []),
        ("number[]", []),
    ],
)
def test_a_place_names_the_values_there(place: str, found: list[str]) -> None:
    arguments = {
        "path": "a.py", "paths": ["b", ["c", 5, None], "d"], "ws": {"url": "http://x"}, "number": 5,
        "operations": [{"path": "e", "parts": [{"at": "g"}]}, {"path": "f", "parts": [{"at": "h"}]}, 7, {}],
        "rows": [[{"p": "i"}], []], "odd.name": "j",
    }  # fmt: skip
    assert values_at(arguments, place) == found


def reader(**declared: Any) -> LocalTool:
    def read(path: str = "", more: list[str] | None = None) -> str:
        return path

    options: dict[str, Any] = {"effects": ["read"], "paths": ["path", "more"], **declared}
    return local_tool(tool(**options)(read))


def look(root: Path, *paths: str, **declared: Any) -> str:
    return state_of(reader(**declared), {"path": paths[0], "more": list(paths[1:])}, str(root))


@pytest.mark.promise("X-04", "P-06")
def test_the_state_changes_when_a_file_does_and_only_then(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    seen = [look(tmp_path, "a.txt")]

    def changed() -> bool:
        seen.append(look(tmp_path, "a.txt"))
        assert look(tmp_path, "a.txt") == seen[-1]
        return seen[-1] not in seen[:-1]

    file.write_text("one")
    assert changed()
    assert look(tmp_path, str(file)) == seen[-1]
    file.write_text("three")
    assert changed()
    os.utime(file, ns=(1, 1))
    assert changed()
    file.chmod(0o600)
    assert changed()
    (tmp_path / "b.txt").write_text("three")
    assert not changed()
    (tmp_path / "b.txt").replace(file)
    assert changed()
    file.unlink()
    file.symlink_to("elsewhere")
    assert changed()
    file.unlink()
    file.mkdir()
    assert changed()
    (file / "inner").write_text("")
    assert changed()


def test_every_path_counts(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text(name)
    before = look(tmp_path, "a", "b")
    assert before != look(tmp_path, "b", "a")
    os.utime(tmp_path / "b", ns=(1, 1))
    assert look(tmp_path, "a", "b") != before


@pytest.mark.promise("P-06")
def test_a_folder_swapped_for_another_is_a_change_even_where_the_file_is_absent(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "folder").mkdir()
    before = look(tmp_path, "folder/new.txt")
    (tmp_path / "folder" / "other.txt").write_text("")
    assert look(tmp_path, "folder/new.txt") == before
    (tmp_path / "folder" / "other.txt").unlink()
    (tmp_path / "folder").rmdir()
    (tmp_path / "folder").symlink_to("real")
    assert look(tmp_path, "folder/new.txt") != before


def test_nothing_declared_or_given_is_no_state(tmp_path: Path) -> None:
    assert state_of(reader(paths=()), {"path": "a"}, str(tmp_path)) == ""
    assert state_of(reader(), {}, str(tmp_path)) == ""


@pytest.mark.promise("P-06")
@pytest.mark.parametrize("path", ["absent", "absent/deeper/a.txt", "a\0b", "x" * 5_000, "file/inner", ".", ""])
def test_another_root_is_another_state_even_where_nothing_is_there(path: str, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("")
    one = look(tmp_path / "one", path)
    assert one == look(tmp_path / "one", path)
    assert one != look(tmp_path / "two", path)


@pytest.mark.promise("P-06")
def test_the_same_file_by_another_name_is_another_state(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    os.link(tmp_path / "a", tmp_path / "b")
    assert look(tmp_path, "a") != look(tmp_path, "b")
    assert look(tmp_path, "a") == look(tmp_path, "./a") == look(tmp_path, str(tmp_path / "a"))


@pytest.mark.promise("P-06")
def test_paths_in_json_text_count(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")

    def seen() -> str:
        return state_of(reader(paths=["path[].at"]), {"path": '[{"at": "a"}]'}, str(tmp_path))

    before = seen()
    assert before == seen() != ""
    os.utime(tmp_path / "a", ns=(1, 1))
    assert seen() != before


@pytest.mark.parametrize("path", ["a\0b", "x" * 5_000, "file/inner", "\udc80", "half \ud800", "loop", "odd link"])
def test_a_path_nobody_can_look_at_has_a_state_too(path: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "odd link").symlink_to("\udc80")
    assert look(tmp_path, path)
    assert look(tmp_path, path) == look(tmp_path, path)


@pytest.mark.promise("X-04")
def test_the_tools_own_state_counts() -> None:
    version: Any = {"n": 1, "tags": {"b", "a"}, "at": Path("x")}

    def own(arguments: Any) -> object:
        return [version, arguments["path"]]

    one = reader(state=own, paths=())
    before = state_of(one, {"path": "a"}, "/")
    assert state_of(one, {"path": "a"}, "/") == before
    assert state_of(one, {"path": "b"}, "/") != before
    version = {"at": Path("x"), "tags": {"a", "b"}, "n": 1}
    assert state_of(one, {"path": "a"}, "/") == before
    version["n"] = 2
    assert state_of(one, {"path": "a"}, "/") != before


def raises(arguments: Any) -> object:
    raise SystemExit(1)


def opaque(arguments: Any) -> object:
    return object()


def changes(arguments: Any) -> object:
    arguments["path"] = "changed"
    return 1


@pytest.mark.promise("X-04", "P-06")
@pytest.mark.parametrize("own", [raises, opaque])
def test_a_state_that_cannot_be_told_is_never_the_same(own: Any) -> None:
    one = reader(state=own)
    assert len({state_of(one, {"path": "a"}, "/") for _ in range(5)}) == 5


def test_a_state_function_cannot_change_the_call() -> None:
    arguments = {"path": "a"}
    state_of(reader(state=changes), arguments, "/")
    assert arguments == {"path": "a"}


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of the test were written long ago."""
    now = time.time_ns()
    monkeypatch.setattr(state_module, "time_ns", lambda: now + 10**9)


@pytest.mark.promise("X-04")
@pytest.mark.usefixtures("settled")
def test_a_result_is_kept_under_files_but_not_under_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("")
    root = str(tmp_path)
    assert is_keepable(reader(), {"path": "a.txt"}, root)
    assert is_keepable(reader(), {"path": "absent"}, root)
    assert not is_keepable(reader(), {"path": "."}, root), "what is deeper inside may change unseen"
    assert not is_keepable(reader(), {"path": "a.txt", "more": ["."]}, root)
    assert not is_keepable(reader(), {}, root), "nothing says what it read"
    assert not is_keepable(reader(), {"path": "a\0"}, root)
    assert is_keepable(reader(state=len), {"path": "."}, root)
    assert is_keepable(reader(state=len), {}, root)
    assert not is_keepable(reader(effects=["write"]), {"path": "a.txt"}, root)


@pytest.mark.promise("X-04")
def test_a_file_that_was_just_written_could_change_without_looking_different(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.txt"
    file.write_text("1")
    written = file.stat().st_ctime_ns
    monkeypatch.setattr(state_module, "time_ns", lambda: written + 5_000_000)
    assert not is_keepable(reader(), {"path": "a.txt"}, str(tmp_path))
    monkeypatch.setattr(state_module, "time_ns", lambda: written + 50_000_000)
    assert is_keepable(reader(), {"path": "a.txt"}, str(tmp_path))


@pytest.mark.promise("P-03")
@every(
    ("given", "place", "expected"),
    [
        ({"path": "a", "other": "b"}, "path", {"path": "/r/a", "other": "b"}),
        ({"path": "/abs"}, "path", {"path": "/abs"}),
        ({"paths": ["a", "/b"]}, "paths", {"paths": ["/r/a", "/b"]}),
        ({"ops": [{"path": "a"}, {"x": 1}]}, "ops[].path", {"ops": [{"path": "/r/a"}, {"x": 1}]}),
        ({"to": {"file": "a"}}, "to.file", {"to": {"file": "/r/a"}}),
        ({"path": 5}, "path", {"path": 5}),
        ({}, "path", {}),
    ],
)
def test_relative_paths_are_joined_to_the_root(given: Any, place: str, expected: Any) -> None:
    before = json.dumps(given)
    assert place_arguments(given, (place,), "/r") == expected
    assert json.dumps(given) == before, "what was judged is not changed"


@pytest.mark.promise("P-03")
def test_paths_inside_json_text_are_too() -> None:
    text = json.dumps([{"path": "a"}, {"path": "/b"}])
    (made,) = place_arguments({"ops": text}, ("ops[].path",), "/r").values()
    assert json.loads(made) == [{"path": "/r/a"}, {"path": "/b"}]
    assert place_arguments({"ops": "no json"}, ("ops[].path",), "/r") == {"ops": "no json"}


@pytest.mark.promise("P-03")
def test_where_the_process_works_in_the_root_they_stay_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert place_arguments({"path": "a"}, ("path",), str(tmp_path)) == {"path": "a"}


def test_the_same_state_tells_nothing_of_what_is_deeper_in_a_folder_unless_the_tool_says_it(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()

    def tells(*paths: str, **declared: Any) -> bool:
        return tells_changes(reader(**declared), {"path": paths[0], "more": list(paths[1:])}, str(tmp_path))

    assert tells("file")
    assert tells("not there")
    assert not tells("folder")
    assert not tells("file", "folder")
    assert tells("folder", state=lambda _: "all of it")
    assert tells("folder", paths=[])
