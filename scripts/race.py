"""Links that are swapped while files are read: does anything from outside the root, or a secret in it, ever come out?

    python scripts/race.py [--seconds 60] [--files-only]

Processes exchange a file for a link to one outside, a file for a link to `.env`, a folder for a link to one outside,
and the `.git` of a repository for a link to another one's, while others read, search and look at the history. One
reader does it wrongly on purpose (it looks where the
path leads, then opens it): it shows that the race is real. Ends with 1 when anything leaked, when a reader never saw
what it may see, or when the wrong one never leaked.
"""

import argparse
import ctypes
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rightcall.base.files import sight as files
from rightcall.base.files.sight import Sight
from rightcall.errors import ToolFailure
from rightcall.tools.code import diff, history, read, search

TREASURE, REAL = "TREASURE", "REAL"
EITHER = f"{TREASURE}|{REAL}"
FILES = ("file.txt", "note.txt", "folder/x.txt")
SWAPPED = ("root/file.txt", "root/note.txt", "root/folder")
SWAPPED_IN_HISTORY = ("history/file.txt", "history/.git")
EXCHANGE, HERE = 2, -100
Reader = Callable[[Sight, str], str]


def plant(base: Path) -> Path:
    """The tree, and beside it what each of the three is exchanged for."""
    root = base / "root"
    for folder in ("root/folder", "outside", "spare/root", "spare/history", "history", "victim"):
        (base / folder).mkdir(parents=True)
    for name in FILES:
        (root / name).write_text(f"{REAL} {name}\n" * 20)
    (root / "still.txt").write_text(f"{REAL} still\n")
    for secret in (base / "outside/treasure.txt", base / "outside/x.txt", root / ".env"):
        secret.write_text(f"{TREASURE} {secret.name}\n" * 20)
    (base / "spare/root/file.txt").symlink_to(base / "outside/treasure.txt")
    (base / "spare/root/note.txt").symlink_to(root / ".env")
    (base / "spare/root/folder").symlink_to(base / "outside")
    for folder, word in (("history", REAL), ("victim", TREASURE)):
        commit(base / folder, word)
    (base / "history/file.txt").write_text(f"{REAL} file.txt now\n")
    (base / "spare/history/file.txt").symlink_to(base / "outside/treasure.txt")
    (base / "spare/history/.git").symlink_to(base / "victim/.git")
    return root


def commit(folder: Path, word: str) -> None:
    """A repository with one commit that speaks of that word."""
    (folder / "file.txt").write_text(f"{word} file.txt\n")
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-q", "-m", f"{word} file.txt"]):
        subprocess.run(["git", *words], cwd=folder, env=env, check=True)


def exchanger() -> Callable[[str, str], None]:
    """Two names change places: in one step where the system can, else in three."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:
        call = None

    def exchange(one: str, other: str) -> None:
        if call is None or call(HERE, os.fsencode(one), HERE, os.fsencode(other), EXCHANGE) != 0:
            os.rename(one, other + "~")
            os.rename(other, one)
            os.rename(other + "~", other)

    return exchange


def swap(base: str, name: str, seconds: float, ready: Any) -> Counter[str]:
    exchange = exchanger()
    one, other = os.path.join(base, name), os.path.join(base, "spare", name)
    pause = 0.004 if name in SWAPPED_IN_HISTORY else 0.0  # git takes some milliseconds for each look
    counts = Counter(tries=0)
    ready.wait()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        exchange(one, other)
        counts["tries"] += 1
        if pause:
            time.sleep(random.random() * pause)
    return counts


def by_read(sight: Sight, path: str) -> str:
    return read.TOOL.run(sight, read.TOOL.arguments(path=path)).content


def by_walk(sight: Sight, path: str) -> str:
    files._known = False  # as on a kernel without openat2
    return by_read(sight, path)


def by_search(sight: Sight, _path: str) -> str:
    return repr(search.TOOL.run(sight, search.TOOL.arguments(pattern=EITHER)).matches)


def by_search_within(sight: Sight, path: str) -> str:
    return repr(search.TOOL.run(sight, search.TOOL.arguments(pattern=EITHER, paths=[path.split("/")[0]])).matches)


def by_search_alone(sight: Sight, _path: str) -> str:
    asked = search.SearchArguments(pattern=EITHER)
    return repr(search.search(sight, asked, engine="linear").matches)


def by_diff(sight: Sight, _path: str) -> str:
    return repr(diff.TOOL.run(sight, diff.TOOL.arguments()))


def by_log(sight: Sight, _path: str) -> str:
    return repr(history.LOG.run(sight, history.LOG.arguments(include_diff=True)))


def by_show(sight: Sight, _path: str) -> str:
    return repr(history.SHOW.run(sight, history.SHOW.arguments(commit="HEAD:file.txt")))


def by_blame(sight: Sight, _path: str) -> str:
    return repr(history.BLAME.run(sight, history.BLAME.arguments(path="file.txt")))


def wrongly(sight: Sight, path: str) -> str:
    """Looks where the path leads, and then opens it."""
    whole = os.path.join(sight.root, path)
    true = os.path.realpath(whole)
    if not true.startswith(sight.root + "/") or not sight.sees(true[len(sight.root) + 1 :]):
        raise ToolFailure("no such file")
    return Path(whole).read_text()


READERS: dict[str, Reader] = {
    "code/read": by_read,
    "code/read, by the walk": by_walk,
    "code/search": by_search,
    "code/search in a path": by_search_within,
    "code/search, no ripgrep": by_search_alone,
    "wrongly": wrongly,
}
IN_HISTORY: dict[str, Reader] = {
    "code/diff": by_diff,
    "code/log": by_log,
    "code/show": by_show,
    "code/blame": by_blame,
}


def look(base: str, name: str, seconds: float, ready: Any) -> Counter[str]:
    """One reader, until the time is over: how often it looked, saw what it may see, and saw what it may not."""
    sight = Sight(os.path.join(base, "history" if name in IN_HISTORY else "root"))
    reader = READERS.get(name) or IN_HISTORY[name]
    counts = Counter(tries=0, real=0, leaks=0)
    ready.wait()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        path = FILES[counts["tries"] % len(FILES)]
        counts["tries"] += 1
        try:
            text = reader(sight, path)
        except (ToolFailure, OSError):
            continue
        counts["real"] += any(f"{REAL} {swapped}" in text for swapped in FILES)
        counts["leaks"] += TREASURE in text
    return counts


def part(work: Callable[..., Counter[str]], base: str, name: str, seconds: float, ready: Any, told: Any) -> None:
    """One process of the race; it begins when all are there, and tells what came of it whatever happens."""
    found = Counter(crashes=1)
    try:
        found = work(base, name, seconds, ready)
    finally:
        told.put((name, found))


def race(seconds: float, *, files_only: bool = False) -> dict[str, Counter[str]]:
    processes = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        base = str(Path(folder).resolve())
        plant(Path(base))
        told = processes.Queue()
        parts = [(swap, name) for name in SWAPPED] + [(look, name) for name in READERS]
        if not files_only:
            parts += [(swap, name) for name in SWAPPED_IN_HISTORY] + [(look, name) for name in IN_HISTORY]
        ready = processes.Barrier(len(parts), timeout=60)
        running = [
            processes.Process(target=part, args=(work, base, name, seconds, ready, told)) for work, name in parts
        ]
        for process in running:
            process.start()
        found = dict(told.get(timeout=seconds + 90) for _ in running)
        for process in running:
            process.join()
    return found


def verdict(found: dict[str, Counter[str]]) -> list[str]:
    """What is wrong; nothing, it is to be hoped."""
    wrong = [f"{name} leaked {counts['leaks']} times" for name, counts in found.items() if counts["leaks"]]
    wrong = [line for line in wrong if not line.startswith("wrongly ")]
    wrong += [f"{name} crashed" for name, counts in found.items() if counts["crashes"]]
    readers = [name for name, counts in found.items() if "leaks" in counts]
    wrong += [f"{name} never saw what it may see" for name in readers if not found[name]["real"]]
    if not found["wrongly"]["leaks"]:
        wrong.append("even reading wrongly leaked nothing: this was no race")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--files-only", action="store_true", help="leave out the race for a repository")
    asked = parser.parse_args()
    found = race(asked.seconds, files_only=asked.files_only)
    print(f"{'':<26}{'tries':>10}{'real':>10}{'leaks':>10}")
    for name, counts in sorted(found.items()):
        shown = [f"{counts[key]:,}" if key in counts else "" for key in ("tries", "real", "leaks")]
        print(f"{name if 'leaks' in counts else f'swaps of {name}':<26}{shown[0]:>10}{shown[1]:>10}{shown[2]:>10}")
    wrong = verdict(found)
    print(*wrong or ["nothing leaked, except where it was done wrongly on purpose"], sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
