"""Kill a process at every step of a write, again and again, and look at what it left behind.

    PYTHONPATH=tests python -m support.killing_writes [--times 3] [--only save]

A child process does what a scenario says and kills itself with SIGKILL at a chosen step; `anywhere` is a kill from
outside at a random moment. At once every file must be the old one or the new one. Then another child takes the desk,
which rolls back, and is killed in the middle of that too; then a last one finishes. In the end everything is as before
or as after, whole; no temporary file, no lock and no half change is left; what others have written meanwhile is there.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import rightcall.base.files.write as writing
from rightcall.base.files.sight import Sight
from rightcall.policy.settings import WriteSettings
from rightcall.tools.write.branches import BranchRecord, branch_record, follow
from rightcall.tools.write.changes import FileStep
from rightcall.tools.write.commit import BranchArguments, CommitArguments, commit, create_branch
from rightcall.tools.write.desk import Desk
from rightcall.tools.write.edit import Operation
from rightcall.tools.write.pulls import pull_of
from rightcall.tools.write.save import EditArguments, SaveArguments, edit_work, save
from support.desks import Checks, Project

CHANGES = {"app.py": "print('two')\n", "lib/util.py": None, "new/file.py": "NEW = 1\n"}


def approved(root: Path) -> None:
    """A request that can be merged, and a person at work in the checkout: staged, unstaged and untracked."""
    project = Project(root, within=True)
    project.approved(files=CHANGES)
    project.write({"notes.txt": "staged\n"})
    project.git("add", "notes.txt")
    project.write({"notes.txt": "unstaged\n", "untracked.txt": "mine\n"})


def merged(root: Path) -> None:
    approved(root)
    Project(root, within=True).merge()


def merge(_: Desk, root: Path) -> None:
    Project(root, within=True).merge()


def red(_: Desk, root: Path) -> None:
    """The checks fail, and that is noted: nothing else may change."""
    try:
        Project(root, within=True).merge(Checks(1))
    except Exception as error:  # anything else than a refusal shows in what is there afterwards
        if "Nothing was merged" not in str(error):
            raise


def merge_view(root: Path) -> dict[str, bytes]:
    """The person's files, each file of the index, the branch, and what the record says."""
    project = Project(root, within=True)
    found = {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.relative_to(root).as_posix().startswith((".rightcall/", ".git/"))
    }
    for line in project.git("ls-files", "--stage").splitlines():
        about, _, path = line.partition("\t")
        found[f"staged {path}"] = about.encode()
    record = pull_of(Desk(project.desk.folder, Sight(root), project.desk.settings), 1)
    found["main"] = project.git("log", "--first-parent", "--format=%s", "--name-status", "main").encode()
    found["record"] = f"{record.status} {[one.kind for one in record.discussion]}".encode()
    return found


View = dict[str, bytes]
"""What counts: by name, what is there."""


class Scenario(NamedTuple):
    """`prepare` makes the world, `act` is what is killed, `look` says what counts of it: all files by default."""

    prepare: Callable[[Path], None]
    act: Callable[[Desk, Path], object]
    look: Callable[[Path], View]
    mixed: bool = True
    """Whether parts of it may be old and others new at the moment of the kill."""


def desk_of(root: Path) -> Desk:
    return Desk(str(root / ".rightcall" / "desk"), Sight(root), WriteSettings(folders=("experimental",)))


def files_of(root: Path) -> View:
    """Every file below the root by its path, apart from the desk and git's own."""
    found: View = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if not name.startswith((".rightcall/", ".git/")) and path.is_file() and not path.is_symlink():
            found[name] = path.read_bytes()
    return found


def folders_of(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_dir())


def leftovers(root: Path) -> list[str]:
    """Temporary files, locks and half changes."""
    names = [path.relative_to(root).as_posix() for path in root.rglob("*")]
    return [
        name
        for name in names
        if ".rightcall-" in name
        or name.endswith((".new", "index.lock"))
        or "seal.json." in name
        or "/desk/begun/" in f"/{name}"
    ]


def _one_file(root: Path) -> None:
    (root / "experimental").mkdir()
    (root / "experimental" / "a.txt").write_text("old\n" * 100)


def _save(desk: Desk, _: Path) -> None:
    save(desk, SaveArguments(path="experimental/a.txt", content="old\n" * 100 + "and new\n", caller="killer"))


def _create(desk: Desk, _: Path) -> None:
    save(desk, SaveArguments(path="experimental/deep/er/b.txt", content="new\n", caller="killer"))


def _several(desk: Desk, root: Path) -> None:
    before = (root / "experimental" / "a.txt").read_bytes()
    tree = str(root)
    steps = [
        FileStep(tree, "experimental/a.txt", before, b"changed\n"),
        FileStep(tree, "experimental/x/c.txt", None, b"new\n"),
        FileStep(tree, "gone.txt", b"still here\n", None),
        FileStep(tree, "run.sh", b"#!/bin/sh\n", b"#!/bin/sh\ntrue\n", 0o755, keep=False),
        FileStep(tree, "index", b"one", b"two", lock="index.lock"),
    ]
    with desk.working() as worker:
        worker.apply(tool="several", caller="killer", summary="several at once", files=steps)


def _some_files(root: Path) -> None:
    _one_file(root)
    (root / "gone.txt").write_text("still here\n")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "index").write_text("one")


def _saved(root: Path) -> None:
    _some_files(root)
    _several(desk_of(root), root)


def _undo(desk: Desk, _: Path) -> None:
    with desk.working() as worker:
        worker.undo(desk.changes(1)[0].id, by="killer")


def _repository(root: Path) -> None:
    (root / "a.txt").write_text("1\n")
    (root / "b.txt").write_text("b\n")
    (root / ".gitignore").write_text(".rightcall/\n")
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        _git(root, *command)
    (root / "a.txt").write_text("a person is at work\n")
    create_branch(desk_of(root), BranchArguments(name="fix", caller="killer"))


def _edited(root: Path) -> None:
    _repository(root)
    _edit(desk_of(root), root)


def _committed(root: Path) -> None:
    _edited(root)
    _commit(desk_of(root), root)


def _edit(desk: Desk, _: Path) -> None:
    operations = [
        Operation("modify", "a.txt", "2\n"),
        Operation("insert", "c/d.txt", "d\n"),
        Operation("delete", "b.txt"),
    ]
    edit_work(()).run(desk, EditArguments(operations=operations, caller="killer"))


def _commit(desk: Desk, _: Path) -> None:
    commit(desk, CommitArguments(message="done", caller="killer"))


def _branch(desk: Desk, _: Path) -> None:
    create_branch(desk, BranchArguments(name="more/fix", caller="killer"))


def _git(root: Path, *command: str) -> bytes:
    who = {f"GIT_{one}_{what}": "a@example.org" for one in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1", "GIT_OPTIONAL_LOCKS": "0"} | who
    done = subprocess.run(["git", *command], cwd=root, env=env, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else b"failed"


def branch_of(root: Path) -> View:
    """A person's checkout and index, the branches, what is not committed, and the files on them."""
    found = files_of(root) | {"staged": _git(root, "diff", "--cached", "--name-only")}
    for name in ("fix", "more/fix"):
        record = branch_record(desk_of(root), name)
        found[f"{name}: log"] = _git(root, "log", "--format=%s", "--name-status", name, "--")
        found |= {f"{name}: dirty {path}": b"" for path in (record.dirty if record is not None else ())}
        found |= {f"{name}: {path}": content for path, content in _on_branch(root, name, record)}
    return found


def _on_branch(root: Path, name: str, record: BranchRecord | None) -> Iterator[tuple[str, bytes]]:
    """From the worktree; before there is one, from the commit."""
    if record is not None and os.path.isdir(record.tree):
        for path in sorted(Path(record.tree).rglob("*")):
            if path.is_file() and path.name != ".git":
                yield path.relative_to(record.tree).as_posix(), path.read_bytes()
    elif record is not None and _git(root, "rev-parse", "--verify", name) != b"failed":
        for path in _git(root, "ls-tree", "-r", "--name-only", name).decode().split():
            yield path, _git(root, "show", f"{name}:{path}")


SCENARIOS: dict[str, Scenario] = {
    "save": Scenario(_one_file, _save, files_of, mixed=False),
    "create": Scenario(_one_file, _create, files_of, mixed=False),
    "several files": Scenario(_some_files, _several, files_of),
    "undo": Scenario(_saved, _undo, files_of),
    "branch": Scenario(_repository, _branch, branch_of),
    "edit": Scenario(_repository, _edit, branch_of),
    "commit": Scenario(_edited, _commit, branch_of),
    "undo commit": Scenario(_committed, _undo, branch_of),
    "merge": Scenario(approved, merge, merge_view),
    "red merge": Scenario(approved, red, merge_view),
    "undo merge": Scenario(merged, _undo, merge_view),
}
"""More of them: add a line."""


def forked(work: Callable[[], object], at: int | None, later: float = 0.0) -> bool:
    """Do it in a process of its own, killed at a step (None: at no step) or after a moment. False: it came to its
    end."""
    process = os.fork()
    if process == 0:
        code = 4
        try:
            left = [at]

            def count(_: str) -> None:
                if left[0] is not None:
                    left[0] -= 1
                    if left[0] < 0:
                        os.kill(os.getpid(), signal.SIGKILL)

            writing.hook = count
            work()
            code = 0
        except BaseException as error:  # noqa: BLE001 - whatever happened, the child never goes on as the parent
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(code)
    if later:
        time.sleep(later)
        os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    if os.WIFSIGNALED(status):
        return True
    if os.waitstatus_to_exitcode(status):
        raise SystemExit("the child failed by itself")
    return False


def recover(root: Path) -> None:
    desk = desk_of(root)
    with desk.working():
        follow(desk)  # as whatever works on a branch next does it


class World(NamedTuple):
    scenario: Scenario
    old: View
    new: View
    folders: tuple[list[str], list[str]]

    def at_once(self, root: Path) -> list[str]:
        """What is wrong at the moment of the kill."""
        now = self.scenario.look(root)
        shown = {name: content for name, content in now.items() if ".rightcall-" not in name}
        shown.pop("index.lock", None)
        if not self.scenario.mixed:
            return [] if shown in (self.old, self.new) else [f"neither old nor new: {shown}"]
        names = shown.keys() | self.old.keys() | self.new.keys()
        odd = [n for n in names if shown.get(n) not in (self.old.get(n), self.new.get(n))]
        return [f"{name} is neither old nor new: {shown.get(name)}" for name in odd]

    def at_last(self, root: Path) -> list[str]:
        now, folders = self.scenario.look(root), folders_of(root)
        wrong = [] if now in (self.old, self.new) else [f"between old and new: {sorted(now)}"]
        own = [name for name in folders if not name.startswith((".rightcall", ".git"))]
        wrong += [] if own in self.folders else [f"folders are left: {own}"]
        return wrong + [f"{name} is left" for name in leftovers(root)]


def world(scenario: Scenario) -> World:
    views: list[View] = []
    folders: list[list[str]] = []
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        scenario.prepare(root)
        for work in (lambda: None, lambda: scenario.act(desk_of(root), root)):
            work()
            views.append(scenario.look(root))
            folders.append([one for one in folders_of(root) if not one.startswith((".rightcall", ".git"))])
    return World(scenario, views[0], views[1], (folders[0], folders[1]))


def killed(one: World, at: int | None, then: int | None, later: float = 0.0) -> tuple[list[str], str, bool]:
    """Kill at a step, kill the recovery at another; what is wrong, how it ended, and whether it was killed at all."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        one.scenario.prepare(root)
        hit = forked(lambda: one.scenario.act(desk_of(root), root), at, later)
        wrong = one.at_once(root)
        if then is not None:
            forked(lambda: recover(root), then)
            wrong += one.at_once(root)
        forked(lambda: recover(root), None)
        wrong += one.at_last(root)
        ended = "new" if one.scenario.look(root) == one.new else "old"
        return wrong, ended, hit


def every_step(name: str, chance: random.Random, *, twice: bool = True) -> tuple[list[str], Counter[str], int]:
    """Kill at each step in turn, until it comes to its end."""
    one = world(SCENARIOS[name])
    faults: list[str] = []
    ends: Counter[str] = Counter()
    at = 0
    while True:
        wrong, ended, hit = killed(one, at, chance.randrange(12) if twice else None)
        if not hit:
            return faults, ends, at
        faults += [f"{name}, step {at}: {fault}" for fault in wrong]
        ends[ended] += 1
        at += 1


def anywhere(name: str, chance: random.Random, times: int) -> list[str]:
    one = world(SCENARIOS[name])
    faults: list[str] = []
    for _ in range(times):
        wrong, _, _ = killed(one, None, chance.randrange(12), later=0.0005 + chance.random() * 0.03)
        faults += [f"{name}, anywhere: {fault}" for fault in wrong]
    return faults


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--only", choices=[*SCENARIOS])
    options = parser.parse_args()
    chance = random.Random(1)
    wrong: list[str] = []
    kills = 0
    for name in [options.only] if options.only else SCENARIOS:
        ends: Counter[str] = Counter()
        steps = 0
        for _ in range(options.times):
            faults, ended, steps = every_step(name, chance)
            wrong += faults
            ends += ended
            kills += steps
        wrong += anywhere(name, chance, options.times * 10)
        kills += options.times * 10
        sys.stdout.write(
            f"{name:<14} killed at each of {steps} steps {options.times} times; then it was {dict(ends)}\n"
        )
    sys.stdout.write(json.dumps({"kills": kills, "faults": wrong[:10]}) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
