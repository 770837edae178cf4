"""The one reader of options: bundles (`-rf`), values behind `=`, attached or in the next word, shortened long options
(`--forc`), and `--`, behind which nothing is an option. Where a word can be read in two ways, both count."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from rightcall.base.json.marks import Late
from rightcall.policy.commands.words import Word

VALUED: dict[str, frozenset[str]] = {
    "git": frozenset(("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env")),
    "docker": frozenset(("-H", "--host", "-c", "--context", "--config", "-l", "--log-level")),
    "podman": frozenset(("--connection", "-c", "--root", "--url", "--log-level")),
    "kubectl": frozenset(
        ("-n", "--namespace", "--context", "--cluster", "--kubeconfig", "--user", "-s", "--server", "--token", "--as")
    ),
    "helm": frozenset(("-n", "--namespace", "--kube-context", "--kubeconfig")),
    "aws": frozenset(("--profile", "--region", "--output", "--endpoint-url", "--query", "--color")),
    "gcloud": frozenset(("--project", "--account", "--format", "--configuration", "--region", "--zone")),
    "az": frozenset(("--subscription", "--output", "-o", "--query")),
    "gh": frozenset(("-R", "--repo", "--hostname")),
    "npm": frozenset(("--prefix", "-w", "--workspace", "--registry", "-C")),
    "pnpm": frozenset(("-C", "--dir", "-F", "--filter")),
    "yarn": frozenset(("--cwd",)),
    "make": frozenset(("-C", "--directory", "-f", "--file", "-j", "-I", "-o", "-W")),
    "terraform": frozenset(("-chdir",)),
    "systemctl": frozenset(("-H", "--host", "-M", "--machine", "-t", "--type", "-p", "--property")),
    "cargo": frozenset(("--manifest-path", "-C", "--config", "--color")),
    "go": frozenset(("-C",)),
    "pip": frozenset(("--python", "--log", "--proxy", "--cache-dir")),
    "uv": frozenset(("--directory", "--project", "--python", "-p", "--with", "--config-file", "--cache-dir")),
    "poetry": frozenset(("-C", "--directory", "-P", "--project")),
    "find": frozenset(),
}  # fmt: skip
"""Options of well-known programs that take the next word, and stand before the word that says what is to be done."""
_LETTERS = {
    **dict.fromkeys(("curl", "curlie"), "AbcCdDeEFhHKmoPQrtTuUwxXyYz"),
    "wget": "aABDeiIloOPQRtTUwX",
    **dict.fromkeys(("tar", "gtar", "bsdtar"), "bCfFgHIKLNTVX"),
    "sort": "koStT",
    "git commit": "mFCct",
    "gh": "RXfFHqtpbBlamrsc",
    **dict.fromkeys(("sed", "gsed"), "efEl"),
    "rsync": "eBMTf",
    **dict.fromkeys(("mv", "cp", "ln"), "tS"),
    "install": "tSmog",
}
"""Letters that take a value. Of other programs every letter of a bundle may be an option, and may have a value."""
_ABBREVIATING = frozenset(
    ("git", "rm", "grm", "cp", "gcp", "mv", "gmv", "ln", "chmod", "chown", "chgrp", "install", "sort", "uniq", "tee",
     "truncate", "shred", "split", "tar", "gtar", "grep", "egrep", "fgrep", "zgrep", "sed", "gsed", "curl", "wget",
     "mkdir", "touch", "xargs", "env", "diff", "patch", "cat", "head", "tail", "gpg", "rsync", "npm", "pip", "pip3",
     "twine", "sudo", "make", "gmake", "mysql", "mysqladmin", "mysqldump", "psql", "pg_restore", "dropdb", "crontab",
     "chattr", "useradd", "usermod", "userdel", "shutdown", "aws", "ansible", "ansible-playbook", "man", "rmdir")
)  # fmt: skip
"""They take a beginning of a long option for the option."""
_WHOLE = frozenset(
    ("--force", "--delete", "--data", "--prune", "--exec", "--save", "--all", "--output", "--index", "--no-index",
     "--exclude", "--include", "--file", "--files", "--user", "--key", "--cert", "--form", "--get", "--http", "--post",
     "--proxy", "--remote", "--template", "--config", "--set", "--show", "--stat", "--color", "--name", "--list")
)  # fmt: skip
"""Options that are none of the longer ones that begin like them."""
_OLD_STYLE = frozenset(("tar", "gtar", "bsdtar"))


class Option(NamedTuple):
    """An option as it is written, without its value."""

    name: str
    value: Word | None
    """What may be its value."""


def is_meant(wanted: str, given: str) -> bool:
    """Whether a long option is written out or shortened; `wanted` may end in `*`.

    >>> is_meant("--force", "--forc"), is_meant("--force-with-lease", "--force"), is_meant("--prune*", "--prun")
    (True, False, True)
    """
    return given == wanted or (
        len(given) > 3 and given[:2] == "--" and wanted.startswith(given) and given not in _WHOLE
    )  # fmt: skip


def abbreviates(program: str) -> bool:
    return program in _ABBREVIATING


def options_of(program: str, arguments: Sequence[Word]) -> Iterator[Option]:
    """Every option, each letter of a bundle by itself."""
    letters = _LETTERS.get(program)
    at = 0
    if program in _OLD_STYLE and arguments and arguments[0].value[:1].isalpha():
        yield from _old_style(arguments, letters or "")
        at = 1
    while at < len(arguments):
        word = arguments[at]
        value = word.value
        at += 1
        following = arguments[at] if at < len(arguments) else None
        if value == "--":
            return
        if value[:2] == "--":
            name, equals, _ = value.partition("=")
            yield Option(name, part(word, len(name) + 1) if equals else following)
        elif value[:1] == "-" and len(value) > 1:
            if letters is None:
                yield from _readings(word, following)
                continue
            for place, letter in enumerate(value[1:], 2):
                if letter not in letters:
                    yield Option(f"-{letter}", None)
                    continue
                yield Option(f"-{letter}", part(word, place) if place < len(value) else following)
                at += place == len(value)
                break


def _readings(word: Word, following: Word | None) -> Iterator[Option]:
    """A bundle of a program whose letters are not known."""
    value = word.value
    name, equals, _ = value.partition("=")
    if equals:
        yield Option(name, part(word, len(name) + 1))
    elif len(value) > 2:
        yield Option(value, following)  # `-delete`
    for place, letter in enumerate(name[1:], 2):
        yield Option(f"-{letter}", part(word, place) if place < len(value) else following)


def _old_style(arguments: Sequence[Word], letters: str) -> Iterator[Option]:
    """`tar xfC archive folder`: the letters take the words behind them in turn."""
    following = iter(arguments[1:])
    for letter in arguments[0].value:
        yield Option(f"-{letter}", next(following, None) if letter in letters else None)


def values_of(program: str, arguments: Sequence[Word], names: Collection[str]) -> list[Word]:
    """What these options are given, in the order they stand in."""
    if program not in _OLD_STYLE and not any(word.value[:1] == "-" for word in arguments):
        return []
    short = program in _ABBREVIATING
    return [
        value
        for name, value in options_of(program, arguments)
        if value is not None
        and (name in names or (short and name[:2] == "--" and any(is_meant(one, name) for one in names)))
    ]


def value_of(program: str, arguments: Sequence[Word], *names: str) -> Word | None:
    """The value of an option, of which the last counts."""
    found = values_of(program, arguments, names)
    return found[-1] if found else None


def option_value(arguments: Sequence[Word], *names: str) -> Word | None:
    """The same where the program is not known: behind it, behind `=`, or attached to a single letter."""
    found: Word | None = None
    for at, word in enumerate(arguments):
        value = word.value
        for name in names:
            if value == name and at + 1 < len(arguments):
                found = arguments[at + 1]
            elif value.startswith(name + "="):
                found = part(word, len(name) + 1)
            elif len(name) == 2 and value.startswith(name) and len(value) > 2 and value[1] != "-":
                found = part(word, 2)
    return found


def takes_value(option: str, valued: frozenset[str]) -> int:
    """1 where an option takes the next word, which may be the last of a bundle (`-Eu user`)."""
    if option.startswith("--"):
        return int("=" not in option and option in valued)
    for at in range(1, len(option)):
        if f"-{option[at]}" in valued:
            return int(at == len(option) - 1)
    return int(option in valued)


def action_at(program: str, arguments: Sequence[Word]) -> int:
    """Where the word stands that says what is to be done, such as `push` in `git -C x push`; -1 for nowhere."""
    valued = VALUED.get(program, frozenset[str]())
    skip = False
    for at, word in enumerate(arguments):
        if skip:
            skip = False
        elif word.value in valued:
            skip = True
        elif not word.value.startswith("-"):
            return at
    return -1


def part(word: Word, start: int) -> Word:
    """A word from one of its characters on."""
    glob = word.glob[start:] if word.glob is not None else None
    return Word(word.value[start:], glob, word.quoted, word.names, word.inner)


_LOOKS = frozenset(("--help", "-help", "--dry-run", "--dryrun", "--syntax-check", "--what-if"))
_NO_REAL_DRY_RUN = frozenset(("sudo", "su", "doas", "crontab", "docker", "heroku", "dd", "rm", "redis-cli", "curl"))
_DRY = Late(r"-[a-zA-Z]*?n[a-zA-Z]*")
"""`-n` in a bundle of those that have it for a dry run."""
_TEXTS_BEHIND = frozenset(("-o", "-m", "-c", "-b", "--push-option", "--message", "--title", "--body", "--notes"))
_NOT_SO = ("false", "none", "no", "0", "off")


def only_looks(program: str, arguments: list[str]) -> bool:
    """It asks for help, or for what would be done. `--version 1.2` names a version, `rsync -h` shows sizes."""
    if arguments in (["--version"], ["-V"], ["-h"]) or (arguments[-1:] == ["--help"] and "--" not in arguments):
        return True
    if program in _NO_REAL_DRY_RUN or not arguments:
        return False
    if (program == "rsync" or (program == "git" and arguments[0] in ("clean", "push", "prune", "rm"))) and any(
        _DRY.fullmatch(one) for one in arguments
    ):
        return True
    if arguments[0] == "help" or (program == "aws" and arguments[-1] == "help"):
        return True
    if arguments[-1] in ("-h", "--version", "-V") and not any(one.startswith("-") for one in arguments[:-1]):
        return True
    for at, one in enumerate(arguments[:20]):
        if one == "--":
            return False
        if at and arguments[at - 1] in _TEXTS_BEHIND:
            continue
        if one in _LOOKS and arguments[at + 1 : at + 2] not in [[word] for word in _NOT_SO]:
            return True
        if one.startswith("--dry-run=") and not one.endswith(_NOT_SO):
            return True
        if one == "--check" and program.startswith("ansible"):
            return True
    return False
