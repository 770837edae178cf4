"""A repository with a person's checkout, a desk, and callers who ask for merges; checks that end as they are told."""

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rightcall.base.files.sight import Sight
from rightcall.policy.settings import Check, WriteSettings
from rightcall.tools.sandbox.conversation import Ended, Job, Scratch
from rightcall.tools.write.branches import BranchRecord, branch_step, tree_of
from rightcall.tools.write.commit import OpenArguments, Opened, open_pull
from rightcall.tools.write.desk import Desk
from rightcall.tools.write.merge import Checker, Merge, MergeArguments, merge
from rightcall.tools.write.pulls import PullRecord, moment, pull_of
from rightcall.tools.write.review import ReviewArguments, Reviewed, review

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
