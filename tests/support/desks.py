"""Repositories with a desk beside them, and the tools of that desk: called as an executor calls them."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rightcall.base.files.sight import Sight
from rightcall.policy.settings import WriteSettings
from rightcall.tools.state import state_of
from rightcall.tools.write.branches import BranchRecord, branch_record
from rightcall.tools.write.desk import Desk
from rightcall.tools.write.git import Writer
from rightcall.tools.write.save import branch_tools
from support.repositories import Made, made


class Place:
    """A repository that a person works in, and the desk at which tools write."""

    def __init__(self, folder: Path, repository: Made, settings: WriteSettings | None = None) -> None:
        self.folder = folder
        self.made = repository
        self.desk = Desk(str(folder / "state" / "desk"), Sight(repository.folder), settings or WriteSettings())
        self.tools = {tool.name: tool for tool in branch_tools(self.desk)}

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
