"""Repositories with a desk beside them: its tools called as an executor calls them, a person's checkout, and callers
who ask for merges."""

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rightcall.base.files.sight import Sight
from rightcall.executor.shipped import branch_tools
from rightcall.policy.settings import Check, WriteSettings
from rightcall.tools.sandbox.conversation import Ended, Job, Scratch
from rightcall.tools.state import state_of
from rightcall.tools.write.branches import BranchRecord, branch_record, branch_step, tree_of
from rightcall.tools.write.commit import OpenArguments, Opened, open_pull
from rightcall.tools.write.desk import Desk
from rightcall.tools.write.merge import Checker, Merge, MergeArguments, merge
from rightcall.tools.write.plumbing import Writer
from rightcall.tools.write.pulls import PullRecord, moment, pull_of
from rightcall.tools.write.review import ReviewArguments, Reviewed, review
from support.repositories import Made, made


class Place:
    """A repository that a person works in, and the desk at which tools write."""

    def __init__(self, folder: Path, repository: Made, settings: WriteSettings | None = None) -> None:
        self.folder = folder
        self.made = repository
        self.desk = Desk(str(folder / "state" / "desk"), Sight(repository.folder), settings or WriteSettings())
        self.tools = {tool.name: tool for tool in branch_tools(lambda: self.desk)}

    def state(self, tool: str, caller: str = "ada", **arguments: Any) -> str:
        return state_of(self.tools[tool], {**arguments, "caller": caller}, str(self.made.folder))

    def preview(self, tool: str, caller: str = "ada", **arguments: Any) -> str:
        ask: Any = self.tools[tool].preview
        return ask({**arguments, "caller": caller})

    def call(self, tool: str, caller: str = "ada", expected: str | None = None, **arguments: Any) -> dict[str, Any]:
        """As it is after an approval: on the state that was told just before."""
        told = expected if expected is not None else self.state(tool, caller, **arguments)
        return self.tools[tool].function(**arguments, caller=caller, expected=told)

    def branch(self, name: str = "fix", caller: str = "ada", **more: Any) -> dict[str, Any]:
        return self.call("code/create-branch", caller, name=name, **more)

    def edit(self, *operations: Mapping[str, str], caller: str = "ada", **more: Any) -> dict[str, Any]:
        return self.call("code/edit", caller, operations=list(operations), **more)

    def record(self, name: str = "fix") -> BranchRecord:
        found = branch_record(self.desk, name)
        assert found is not None
        return found

    def tree(self, name: str = "fix") -> Path:
        return Path(self.record(name).tree)

    def undo(self, change: str) -> None:
        with self.desk.working() as worker:
            worker.undo(change, by="person")

    def writer(self) -> Writer:
        return Writer(self.desk.sight)


def place(folder: Path, settings: WriteSettings | None = None, **files: str | bytes) -> Place:
    """With one commit on main."""
    repository = made(folder / "root")
    repository.write("src/run.sh", "#!/bin/sh\n").chmod(0o755)
    for name, content in files.items():
        repository.write(name.replace("__", "."), content)
    repository.commit("first", a__py="1\n", b__py="b\n")
    return Place(folder, repository, settings)


def modify(path: str, content: str) -> dict[str, str]:
    return {"type": "modify", "path": path, "content": content}


def insert(path: str, content: str) -> dict[str, str]:
    return {"type": "insert", "path": path, "content": content}


def delete(path: str) -> dict[str, str]:
    return {"type": "delete", "path": path}


def everything(folder: Path, *, without: tuple[str, ...] = ()) -> dict[str, object]:
    """All files below a folder, byte for byte, with their kinds; times too, so that nothing was written anew."""
    found: dict[str, object] = {}
    for here, folders, names in os.walk(folder):
        inside = Path(here).relative_to(folder)
        folders[:] = [name for name in folders if str(inside / name) not in without]
        for name in (*names, *folders):
            path = Path(here, name)
            if str(inside / name) in without:
                continue
            looks = path.lstat()
            if path.is_symlink():
                found[str(inside / name)] = os.readlink(path)
            elif path.is_file():
                found[str(inside / name)] = (looks.st_mode, looks.st_ino, looks.st_mtime_ns, path.read_bytes())
            else:
                found[str(inside / name)] = looks.st_mode
    return found


SETTINGS = WriteSettings(check=Check(command=("python3", "check.py")))
_BY = ("-c", "user.name=Person", "-c", "user.email=person@example.invalid")


class Checks:
    """In the place of the sandbox: it notes each run and ends it as it was told. `meanwhile` happens during a run."""

    def __init__(self, code: int = 0, said: bytes = b"", meanwhile: Callable[[], object] = lambda: None) -> None:
        self.code = code
        self.said = said
        self.meanwhile = meanwhile
        self.jobs: list[Job] = []
        self.seen: list[dict[str, bytes]] = []

    def tier(self) -> str:
        return "namespaces"

    def run(
        self, job: Job, *, stdin: bytes | None = None, fill: Callable[[Scratch], None] | None = None,
        collect: object = None, out: Callable[[Any, bytes], None],
    ) -> Ended:  # fmt: skip
        self.jobs.append(job)
        place = Path(job.place)
        self.seen.append({str(p.relative_to(place)): p.read_bytes() for p in place.rglob("*") if p.is_file()})
        self.meanwhile()
        out("stdout", self.said)
        return Ended(code=self.code, signal=None, limits=(), tier="namespaces", seconds=0.5)

    def checker(self) -> Checker:
        return Checker(lambda: self)  # pyright: ignore[reportArgumentType] - it does what is asked of one here


_BEGUN: dict[str, dict[str, bytes | None]] = {}
FILES = {"app.py": "print('one')\n", "notes.txt": "a\nb\nc\n", "lib/util.py": "X = 1\n"}


class Project:
    """What a test works with. The person's branch is `main`, with the files above, checked out."""

    def __init__(self, folder: Path, settings: WriteSettings = SETTINGS, *, within: bool = False) -> None:
        """`within`: the desk lies in the root, which is the folder itself, as it usually is."""
        self.root = folder if within else folder / "project"
        self.root.mkdir(exist_ok=True)
        self.desk = Desk(str(folder / ".rightcall/desk" if within else folder / "desk"), Sight(self.root), settings)
        if not (self.root / ".git").exists():
            self._begin(FILES | ({".gitignore": ".rightcall/\n"} if within else {}))

    def _begin(self, files: Mapping[str, str]) -> None:
        """The same repository for every test: git makes it once."""
        known = _BEGUN.get(str(files))
        if known is None:
            self.git("init", "-q", "-b", "main", "--template=")
            self.commit(files, "main", "Person")
            self.git("reset", "-q", "--hard")
            paths = [path for path in sorted(self.root.rglob("*")) if ".rightcall" not in path.parts]
            known = _BEGUN[str(files)] = {
                str(path.relative_to(self.root)): None if path.is_dir() else path.read_bytes() for path in paths
            }
            return
        for name, content in known.items():
            if content is None:
                (self.root / name).mkdir()
            else:
                (self.root / name).write_bytes(content)

    def git(self, *arguments: str, cwd: Path | None = None, told: bytes = b"") -> str:
        done = subprocess.run(
            ["git", *_BY, *arguments], cwd=cwd or self.root, check=True, capture_output=True, input=told,
            env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"},
        )  # fmt: skip
        return done.stdout.decode()

    def write(self, files: Mapping[str, str]) -> None:
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)

    def with_settings(self, **changes: Any) -> None:
        self.desk.settings = replace(self.desk.settings, **changes)

    def commit(
        self, files: Mapping[str, str | None], branch: str = "fix", by: str = "teacher", start: str = "main",
        mode: str = "100644", message: str = "a change",
    ) -> str:  # fmt: skip
        """A commit that no tool made, without touching any checkout; the branch's tip."""
        begun = [] if self._is_there(branch) or branch == "main" else [f"from refs/heads/{start}"]
        going = [f"from refs/heads/{branch}^0"] if self._is_there(branch) else begun
        lines = [f"commit refs/heads/{branch}", f"committer {by} <{by}@x> 1700000000 +0000"]
        lines += [f"data {len(message.encode())}", message, *going]
        for path, content in files.items():
            if content is None:
                lines.append(f"D {path}")
            else:
                lines += [f"M {mode} inline {path}", f"data {len(content.encode())}", content]
        self.git("fast-import", "--quiet", told="\n".join([*lines, ""]).encode())
        return self.tip(branch)

    def tip(self, branch: str = "main") -> str:
        return (self.root / ".git/refs/heads" / branch).read_text().strip()

    def _is_there(self, branch: str) -> bool:
        return (self.root / ".git/refs/heads" / branch).exists()

    def branch(self, name: str = "fix", caller: str = "teacher", files: Mapping[str, str | None] | None = None) -> str:
        """A branch of a caller with one commit, as the tools would leave it; its tip."""
        tip = self.commit(files or {"app.py": "print('two')\n"}, name, caller)
        record = BranchRecord(
            name=name, owner=caller, base="main", start=self.tip(), tree=tree_of(self.desk, name), made=moment()
        )
        with self.desk.working() as worker:
            step = branch_step(self.desk, record)
            worker.apply(tool="code/create-branch", caller=caller, summary="a branch", files=[step])
        return tip

    def open(self, caller: str = "teacher", **asked: Any) -> Opened:
        return open_pull(self.desk, OpenArguments(**({"title": "Say two"} | asked), caller=caller))

    def review(self, decision: Any = "approve", comment: str = "", caller: str = "helper", id: str = "1") -> Reviewed:
        return review(self.desk, ReviewArguments(id=id, decision=decision, comment=comment, caller=caller))

    def merge(self, checks: Checks | None = None, caller: str = "teacher", **asked: Any) -> Merge:
        given = MergeArguments(**({"id": "1"} | asked), caller=caller)
        return merge(self.desk, given, (checks or Checks()).checker())

    def approved(self, **branch: Any) -> None:
        """A pull request that could be merged."""
        self.branch(**branch)
        self.open()
        self.review()

    def record(self, id: str = "1") -> PullRecord:
        return pull_of(self.desk, id)

    def status(self) -> str:
        return self.git("status", "--porcelain=v2", "--untracked-files=all")
