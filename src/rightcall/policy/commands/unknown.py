"""Programs that nobody listed. What they do with their words is not known, so every tail of them that begins with a
program the rules know is judged as if it were started, and so is a word that holds a whole command."""

from collections.abc import Iterator
from functools import lru_cache

from rightcall.policy.commands.inline import interpreter
from rightcall.policy.commands.launchers import ACTING
from rightcall.policy.commands.rules import is_listed, known_programs
from rightcall.policy.commands.words import Word, basename, known_names
from rightcall.policy.commands.wrappers import Inner

_MOST_TAILS = 12
_WORDS = known_names("likely words")
"""Names that are as likely a word: `ruff format src`, `tool init`."""
_STILL = frozenset(("env", "exec", "eval", "timeout", "nice", "pnpm", "npm", "yarn", "find", "cat", "cp", "mv", "tee"))
"""Those of them that count all the same where an option or a path follows, or behind `--` and `exec`."""
_TEXTS = frozenset(
    ("-m", "--message", "--title", "--body", "--description", "-k", "--grep", "-g", "--filter", "-t", "--name",
     "--text", "--comment", "--prompt", "-p", "--query", "-q", "--pattern", "--match", "--reason", "--summary")
)  # fmt: skip


@lru_cache(1)
def _heads() -> frozenset[str]:
    return frozenset(name for name in known_programs() if name not in _WORDS or name in _STILL)


def tails(program: str, arguments: list[Word]) -> Iterator[Inner]:
    """What a program may start that the rules do not know; of one they know only what stands behind `exec` or
    `--`."""
    start = 0
    if is_listed(program):
        if program not in _EXECUTES:
            return
        start = next((at for at, word in enumerate(arguments[:8], 1) if word.value in ("exec", "run", "shell")), -1)
        if start < 0:
            yield from _behind_dashes(arguments)
            return
    found = 0
    for at in range(start, len(arguments)):
        value = arguments[at].value
        before = arguments[at - 1].value if at else ""
        if " " in value.strip():
            if before not in _TEXTS and is_head(value.split()[0].rpartition("=")[2], " -"):
                yield Inner(code=arguments[at])
                found += 1
        elif at + 1 < len(arguments) and is_head(value, _rest(arguments, at), behind=before in ("--", "exec", "run")):
            ends = arguments[at + 1].value == "--"  # the wrapper's own, as `start-stop-daemon -x rm -- -r x` has it
            yield Inner((arguments[at], *arguments[at + 1 + ends :]))
            found += 1
        if found >= _MOST_TAILS:
            yield Inner(code=Word("\ue000"))
            return


def _behind_dashes(arguments: list[Word]) -> Iterator[Inner]:
    """`npm explore x -- rm y`: an action that nobody listed hands on what follows."""
    at = next((at for at, word in enumerate(arguments[:50], 1) if word.value == "--"), len(arguments))
    rest = arguments[at:]
    if rest and (" " in rest[0].value.strip() or is_head(rest[0].value, "", behind=True)):
        yield Inner(tuple(rest))


_EXECUTES = ACTING | frozenset(
    ("nix", "rustup", "volta", "lerna", "pnpm", "yarn", "npm", "tox", "mise", "asdf", "nvm", "bundle", "flatpak",
     "conda", "mamba", "uv", "poetry", "nx", "go", "perf")
)  # fmt: skip


def _rest(arguments: list[Word], at: int) -> str:
    return f" {arguments[at + 1].value}"


def is_head(word: str, rest: str, *, behind: bool = False) -> bool:
    """Whether a word is the name of a program that would be judged; `rest` is what follows."""
    if "=" in word or word.startswith("-"):
        return False
    name = basename(word)
    if name not in _heads() and interpreter(name) is None and not name.startswith("mkfs"):
        return False
    return name not in _WORDS or behind or "/" in word or rest.startswith((" -", " /", " ~", " ."))
