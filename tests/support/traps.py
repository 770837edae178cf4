"""What a hostile repository is made of: honest commits, a program that leaves a mark, a secret and a neighbour."""

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from support.repositories import Made, made

SECRET = "TOP-SECRET-7f3a9c"
TRAPS: dict[str, Callable[["Trap"], None]] = {}
"""Each builds its trap into a fresh repository."""


class Trap:
    """One hostile repository at `root`, its surroundings, and the marks that show harm."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "root"
        self.mark = folder / "ran"
        self.canary = folder / "canary.sh"
        self.canary.write_text(f'#!/bin/sh\necho "$0 $*" >> {self.mark}\nexit 0\n')
        self.canary.chmod(0o755)
        self.secret = folder / "secret.txt"
        self.secret.write_text(f"{SECRET}\nsecond {SECRET}\n")
        pristine, self.victim_commit = _pristine()
        shutil.copytree(pristine.name, folder, dirs_exist_ok=True)
        self.victim = Made(folder / "victim")
        self.made = Made(self.root)
        self.made.commits = 3
        self.made.write("a.py", "1\n2\nchanged\n")

    @property
    def git_dir(self) -> Path:
        return self.made.git_dir

    def config(self, *pairs: str) -> None:
        """`name=value` each; `%c` is the program, `%s` the secret file, `%v` the other repository."""
        for pair in pairs:
            name, _, value = pair.partition("=")
            value = value.replace("%c", str(self.canary)).replace("%s", str(self.secret))
            value = value.replace("%v", str(self.victim.folder))
            self.made.git("config", "--local", name, value)

    def replace(self, path: str, target: Path) -> None:
        """Put a link in the place of a file or folder of the git directory."""
        place = self.git_dir / path
        if place.is_dir() and not place.is_symlink():
            place.rename(self.folder / f"was-{path.replace('/', '-')}")
        place.unlink(missing_ok=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)

    def loose(self, name: str) -> Path:
        return self.git_dir / "objects" / name[:2] / name[2:]


@cache
def _pristine() -> tuple["TemporaryDirectory[str]", str]:
    """What all of them begin with, made once."""
    folder = TemporaryDirectory()
    secret = made(Path(folder.name) / "victim").commit(SECRET, a__py=f"{SECRET}\n")
    honest = made(Path(folder.name) / "root")
    honest.commit("one", a__py="1\n", b__py="b\n")
    honest.commit("two", a__py="1\n2\n")
    honest.commit("three", a__py="1\n2\n3\n")
    return folder, secret


def trap(function: Callable[[Trap], None]) -> Callable[[Trap], None]:
    TRAPS[function.__name__.replace("_", "-")] = function
    return function
