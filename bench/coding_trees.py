"""What the code tools are measured on: a tree of source-like files and a long history. Made once from a seed, the same
on every machine, and kept in the user's cache."""

import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

VERSION = "1"
FILES = 10_000
LONG_FILES = 300
LONG_LINES = 800
COMMITS = 20_000
HISTORY_FILES = 1_200
RARE, COMMON, ABSENT = "quokka_handler", "return", "zyzzyva_nowhere"
HOT = ("core/engine.py", "core/parser.py", "core/state.py")
ENDINGS = ("py", "ts", "go", "java", "c", "md", "json", "txt")
WORDS = (
    "alpha", "beta", "gamma", "delta", "index", "value", "result", "config", "handler", "request", "response", "stream",
    "buffer", "token", "parser", "node", "tree", "cache", "store", "record", "field", "option", "default", "error",
    "message", "context", "session", "user", "account", "order", "item", "price", "total",
)  # fmt: skip
WHO = "Ada Example <ada@example.org>"


def tree() -> Path:
    """About 10,000 files and 80 MB, committed to a repository."""
    return _kept("tree", _grow_tree)


def history() -> Path:
    """About 20,000 commits to 1,200 files, three of which change all the time."""
    return _kept("history", _grow_history)


def git(folder: Path, *arguments: str, stdin: bytes | None = None) -> bytes:
    done = subprocess.run(["git", "-C", folder, *arguments], input=stdin, capture_output=True, check=True)
    return done.stdout


def _kept(name: str, grow: Callable[[Path], None]) -> Path:
    """The folder of that name; a half-made one never gets it."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rightcall-bench"
    found = home / f"{name}-{VERSION}"
    if not found.is_dir():
        home.mkdir(parents=True, exist_ok=True)
        sys.stderr.write(f"making the {name} to measure on, once, in {found} (a minute)\n")
        made = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=home))
        try:
            grow(made)
            made.rename(found)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return found


def _lines(chance: random.Random, count: int) -> list[str]:
    """A stock of lines to make files of."""
    made: list[str] = []
    for _ in range(count):
        one, two, three = chance.choices(WORDS, k=3)
        indent = "    " * chance.randint(0, 3)
        made.append(
            chance.choice(
                (
                    f"{indent}{one}_{two} = {three}.{one}({chance.randint(0, 999)})",
                    f"{indent}return {one}.{two}({three})",
                    f"{indent}if {one} > {chance.randint(0, 99)} and {two} is not None:",
                    f"def {one}_{two}({three}: int, limit: int = {chance.randint(1, 50)}) -> str:",
                    f"{indent}# {one} and {two} must agree on the {three} before anything is written",
                    "",
                )
            )
        )
    return made


def _grow_tree(folder: Path) -> None:
    chance = random.Random(20260101)
    stock = _lines(chance, 5_000)
    for number in range(FILES):
        place = folder / f"part{number % 40:02}" / f"module{number % 400:03}"
        place.mkdir(parents=True, exist_ok=True)
        lines = chance.choices(stock, k=chance.randint(40, 400))
        if number % 800 == 7:
            lines[chance.randrange(len(lines))] = f"    {RARE}(value, index)"
        (place / f"file_{number}.{ENDINGS[number % len(ENDINGS)]}").write_text("\n".join(lines) + "\n")
    (folder / "long").mkdir()
    for number in range(LONG_FILES):
        (folder / "long" / f"file_{number}.py").write_text("\n".join(chance.choices(stock, k=LONG_LINES)) + "\n")
    for name in ("build", "dist", "node_modules/left"):
        (folder / name).mkdir(parents=True)
        (folder / name / "made.js").write_text("return made\n" * 1000)
    (folder / ".gitignore").write_text("build/\ndist/\nnode_modules/\n*.log\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-q", "-m", "All of it")


def _grow_history(folder: Path) -> None:
    git(folder, "init", "-q", "-b", "main")
    git(folder, "fast-import", "--quiet", stdin=b"".join(_commits(random.Random(20260102))))
    git(folder, "reset", "-q", "--hard")


def _commits(chance: random.Random) -> Iterator[bytes]:
    stock = _lines(chance, 2_000)
    names = [*HOT, *(f"src/part{number % 60:02}/file_{number}.py" for number in range(HISTORY_FILES - len(HOT)))]
    files = {name: chance.choices(stock, k=600 if name in HOT else chance.randint(30, 150)) for name in names}
    yield _commit(0, "Begin", files.items())
    for number in range(1, COMMITS):
        touched = {chance.choice(names) for _ in range(chance.randint(1, 3))}
        if number % 10 == 0:
            touched.add(HOT[number // 10 % len(HOT)])
        for name in touched:
            lines = files[name]
            at = chance.randrange(len(lines))
            lines[at : at + chance.randint(0, 2)] = chance.choices(stock, k=chance.randint(1, 2))
        topic = " ".join(chance.choices(WORDS, k=4))
        yield _commit(number, f"Make {topic} right\n\nIt was not.", [(name, files[name]) for name in sorted(touched)])


def _commit(number: int, message: str, files: Iterable[tuple[str, list[str]]]) -> bytes:
    said = message.encode()
    parts = [b"commit refs/heads/main\ncommitter %s %d +0000\n" % (WHO.encode(), 1_500_000_000 + number * 3600)]
    parts.append(b"data %d\n%s\n" % (len(said), said))
    for name, lines in files:
        content = ("\n".join(lines) + "\n").encode()
        parts.append(b"M 100644 inline %s\ndata %d\n%s\n" % (name.encode(), len(content), content))
    return b"".join(parts)
