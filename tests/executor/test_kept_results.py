"""Lists and searches that are kept: a hit says so, and whatever changes in the tree, no answer is ever an old one."""

import os
import random
from collections.abc import Callable
from pathlib import Path
from time import monotonic, time_ns
from typing import Any

import pytest

from rightcall import Executor
from rightcall.base.files.sight import Sight
from rightcall.executor.shipped import code_tools
from rightcall.tools import state

UNLIMITED: dict[str, Any] = {"minute": 0, "hour": 0, "burst": 0}
POLICY: dict[str, Any] = {
    "policy": {
        "repeats": 0,
        "limits": {"all": UNLIMITED, "caller": UNLIMITED, "tools": {"code/search": UNLIMITED, "code/read": UNLIMITED}},
    }
}
LIST: tuple[str, dict[str, Any]] = ("code/list", {"pattern": "**/*"})
BY_SIZE: tuple[str, dict[str, Any]] = ("code/list", {"pattern": "**/*.txt", "sortBy": "size", "limit": 1})
SEARCH: tuple[str, dict[str, Any]] = ("code/search", {"pattern": "needle"})
BELOW: tuple[str, dict[str, Any]] = ("code/search", {"pattern": "needle", "paths": ["src/deep"]})
CALLS = (LIST, SEARCH, BELOW)
TREE = {
    "a.txt": "needle\n",
    "b.txt": "nothing\n",
    ".gitignore": "*.log\n",
    "debug.log": "needle\n",
    "src/one.txt": "a needle\n",
    "src/deep/two.txt": "needles\n",
    "src/deep/down/three.txt": "no\n",
    "other/one.txt": "a needle\n",
    ".git/info/exclude": "# none\n",
}


def plant(root: Path) -> Path:
    for name, text in TREE.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def rest() -> None:
    """Until what was done just now lies behind the grain of the clock of files."""
    began, until = time_ns(), monotonic() + 60
    while time_ns() - began < 40_000_000:
        assert monotonic() < until


def run(executor: Any, call: tuple[str, dict[str, Any]]) -> Any:
    outcome = executor.run({"name": call[0], "arguments": call[1]}, caller="teacher")
    assert outcome.ok or outcome.decision.kind == "allow", outcome
    return outcome


def fresh(root: Path, call: tuple[str, dict[str, Any]]) -> Any:
    """What the tool itself says at this moment."""
    tools = {tool.name: tool for tool in code_tools(Sight(root))}
    try:
        return tools[call[0]].function(**call[1])
    except Exception as error:  # noqa: BLE001 - whatever it is, the other side must say the same
        return str(error)


def said(outcome: Any) -> Any:
    return outcome.result if outcome.ok else outcome.error


def swap(path: Path, link_to: str) -> None:
    path.rename(path.with_name(path.name + "-before"))
    path.symlink_to(link_to)


def exchange(one: Path, other: Path) -> None:
    one.rename(one.with_name("aside"))
    other.rename(one)


def rewrite_and_hide_it(path: Path, text: str) -> None:
    """Same size, same time of change: only the inode knows."""
    before = path.stat()
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "a new file": lambda root: (root / "new.txt").write_text("needle\n"),
    "a new file far down": lambda root: (root / "src/deep/down/new.txt").write_text("needle\n"),
    "a file has gone": lambda root: (root / "src/deep/two.txt").unlink(),
    "a file has another name": lambda root: (root / "a.txt").rename(root / "c.txt"),
    "a file became a folder": lambda root: ((root / "a.txt").unlink(), (root / "a.txt").mkdir()),
    "a file became longer": lambda root: (root / "src/one.txt").write_text("needle\nneedle\n"),
    "a file of the same size": lambda root: (root / "src/deep/two.txt").write_text("nothing\n"),
    "a change that was hidden": lambda root: rewrite_and_hide_it(root / "src/deep/two.txt", "NEEDLE!\n"),
    "a file was put in the place of another": lambda root: os.replace(root / "b.txt", root / "a.txt"),
    "a file became a link": lambda root: swap(root / "src/one.txt", "../b.txt"),
    "a folder became a link": lambda root: swap(root / "src/deep", "../other"),
    "a folder above became a link": lambda root: swap(root / "src", "other"),
    "a folder became a link to itself": lambda root: swap(root / "src", "src-before"),
    "a folder was exchanged": lambda root: exchange(root / "src/deep", root / "other"),
    "an empty folder": lambda root: (root / "empty").mkdir(),
    "more is ignored": lambda root: (root / ".gitignore").write_text("*.txt\n"),
    "less is ignored": lambda root: (root / ".gitignore").write_text("\n"),
    "ignored further down": lambda root: (root / "src/.gitignore").write_text("one.txt\n"),
    "ignored in another file": lambda root: (root / ".ignore").write_text("a.txt\n"),
    "ignored by git's own file": lambda root: (root / ".git/info/exclude").write_text("a.txt\n"),
    "git's own file has gone": lambda root: (root / ".git/info/exclude").unlink(),
    "git's folder became a link": lambda root: swap(root / ".git", "other"),
    "touched": lambda root: os.utime(root / "a.txt", ns=(5, 5)),
    "nobody may look": lambda root: (root / "src/deep").chmod(0),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.promise("C-75")
def test_no_change_of_a_tree_is_missed(tmp_path: Path) -> None:
    roots = {name: plant(tmp_path / f"tree {at}") for at, name in enumerate(CHANGES)}
    for name, root in roots.items():
        with Executor.open_sync(root, POLICY, store="memory") as executor:
            rest() if root is next(iter(roots.values())) else None
            assert [run(executor, call).metadata.cached for call in CALLS] == [False] * 3
            assert [run(executor, call).metadata.cached for call in CALLS] == [True] * 3, name
            CHANGES[name](root)
            assert [said(run(executor, call)) for call in CALLS] == [fresh(root, call) for call in CALLS], name
        if name == "nobody may look":
            (root / "src/deep").chmod(0o755)


@pytest.mark.long
@pytest.mark.promise("C-75")
def test_what_happens_at_any_moment_is_never_missed(tmp_path: Path) -> None:
    """Without waiting in between: what changed a moment ago can change again without looking different."""
    root, chance = plant(tmp_path / "tree"), random.Random(11)
    hits = 0
    with Executor.open_sync(root, POLICY, store="memory") as executor:
        for _ in range(80):
            path = root / chance.choice(("a.txt", "src/one.txt", "src/deep/two.txt", "src/deep/down/x.txt", "n.txt"))
            match chance.randrange(5):
                case 0:
                    path.write_text(chance.choice(("needle\n", "NEEDLE\n", "nothin\n")))
                case 1:
                    path.unlink(missing_ok=True)
                case 2:
                    (root / ".gitignore").write_text(chance.choice(("*.log\n", "one.*\n", "two.*\n")))
                case 3:
                    rest()
                case _:
                    pass
            call = chance.choice((*CALLS, BY_SIZE))
            outcome = run(executor, call)
            hits += outcome.metadata.cached
            assert said(outcome) == fresh(root, call)
    assert hits > 3


@pytest.mark.promise("C-75")
def test_what_cannot_be_told_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = plant(tmp_path / "tree")
    (root / "link.txt").symlink_to("a.txt")
    (root / "src/here").symlink_to("deep")
    rest()
    rows: list[tuple[tuple[str, dict[str, Any]], bool]] = [
        (("code/list", {"pattern": "src/*.txt"}), True),
        (("code/list", {"pattern": "*.txt"}), False),  # a link shows as what it leads to
        (("code/list", {"pattern": "*", "directory": "src/here"}), False),
        (("code/list", {"pattern": "*", "directory": "src/../other"}), False),
        (("code/list", {"pattern": "*", "directory": "./src//deep/"}), True),
        (("code/list", {"pattern": f"{root}/src/deep/*"}), False),
        (("code/search", {"pattern": "needle", "paths": ["link.txt"]}), False),
        (("code/search", {"pattern": "needle", "paths": ["a.txt", "src/deep"]}), True),
        (("code/search", {"pattern": "needle", "paths": ["src/here"]}), False),
        (("code/diff", {}), False),
    ]
    with Executor.open_sync(root, POLICY, store="memory") as executor:
        for call, kept in rows:
            executor.run({"name": call[0], "arguments": call[1]})
            again = executor.run({"name": call[0], "arguments": call[1]})
            assert again.metadata.cached is kept, call
        monkeypatch.setattr(state, "_dependable", lambda _: False)
        other = ("code/list", {"pattern": "other/*"})
        assert [run(executor, other).metadata.cached for _ in range(2)] == [False, False]
        monkeypatch.undo()
        monkeypatch.setattr(state, "MOST_LOOKS", 3)
        other = ("code/list", {"pattern": "src/deep/*"})
        assert [run(executor, other).metadata.cached for _ in range(2)] == [False, False]


def test_times_of_whole_seconds_need_longer_to_settle() -> None:
    found = state.Trace("/")
    now = time_ns()
    whole = now // 10**9 * 10**9
    rows = {
        now - 10**10: True, now - 10**8 | 1: True, now - 10**6 | 1: False, now + 10**12: False,
        whole - 10**9: False, whole - 4 * 10**9: True,
    }  # fmt: skip
    for changed, settled in rows.items():
        found._looks = [1, 2, 3, 4, 5, changed]
        assert found._had_settled() is settled, changed


@pytest.mark.promise("C-75", "X-04")
def test_the_policy_says_what_is_kept_and_a_change_of_it_forgets(tmp_path: Path) -> None:
    root = plant(tmp_path / "tree")
    rest()
    rows: list[tuple[dict[str, Any], list[bool]]] = [
        ({}, [False, True, False, True, True]),
        ({"enabled": False}, [False] * 5),
        ({"entries": 1}, [False, True, False, False, True]),
        ({"bytes": 1000}, [False] * 5),
    ]
    asked = [SEARCH, SEARCH, ("code/read", {"path": "a.txt"}), SEARCH, SEARCH]
    for settings, cached in rows:
        with Executor.open_sync(root, {**POLICY, "cache": settings}, store="memory") as executor:
            assert [run(executor, call).metadata.cached for call in asked] == cached, settings


@pytest.mark.promise("C-75")
def test_a_changed_policy_file_makes_a_new_cache(tmp_path: Path) -> None:
    root = plant(tmp_path / "tree")
    file = tmp_path / "rightcall.toml"

    def write(text: str) -> None:
        file.write_text(f"[policy]\nrepeats = 0\n{text}")
        os.utime(file, (1_000_000_000 + len(text), 1_000_000_000 + len(text)))

    write("")
    rest()
    with Executor.open_sync(root, str(file), store="memory") as executor:
        assert [run(executor, SEARCH).metadata.cached for _ in range(2)] == [False, True]
        write("[cache]\nseconds = 60\n")
        assert [run(executor, SEARCH).metadata.cached for _ in range(2)] == [False, True]
        write("[cache]\nenabled = false\n")
        assert [run(executor, SEARCH).metadata.cached for _ in range(2)] == [False, False]
