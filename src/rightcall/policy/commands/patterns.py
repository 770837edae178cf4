"""Patterns over the words of a command, as `[policy.commands]` has them: `git push`, `git push --force*`, `docker *`.

- The first word is the program, without its folder and its case: `rm` means `/bin/rm` too.
- Words without a dash are the first operands, in this order: `git push` means `git push origin`, not `git log push`.
  `*` stands for any characters in a word; a word `**` for any number of operands. Options before and between them do
  not matter (`git -C dir push`).
- A word with a dash is an option that must be there, anywhere, also in a bundle: `rm -r` means `rm -fr x`, and `rm -rf`
  also `rm -r -f x`. `--force` means `--force=x` too, `--force*` also `--force-with-lease`. Of well-known programs the
  short and the long spelling are one option (`TWINS`), and a beginning of it counts where the program takes it for the
  option (`git push --forc`); an allowance needs it written out. Capital and small letters differ, but where both mean
  the same.
- A script is a program, whoever runs it: `deploy.sh` means `bash deploy.sh`. `python` means `python3.11`.
- A last word `*` means: at least one word more, whatever it is.
- `|` separates choices in one word: `npm publish|unpublish`, `git clean -f|--force`. Braces do the same within a word:
  `docker{,-compose} up`. `?` and `[a-z]` are no wildcards here, since both stand in arguments (`pip install x[y]`).

The starter list, `starter.txt`, has what asks before it runs: because it destroys, publishes, reads credentials, runs
what came from the network, escalates, persists, or switches a guard off.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from rightcall.base.globs import matches
from rightcall.base.text import regex
from rightcall.policy.commands.runs import SHELLS, VALUED, abbreviates, is_meant, only_looks
from rightcall.policy.commands.words import alternatives, basename, read_lists, unversioned

_LONGEST = 500
_PROGRAM = regex(r"[^\s'\"`$;&<>()\\]+")

_RECURSIVE = (("-r", "-R", "--recursive"), ("-f", "--force"), ("-v", "--verbose"))
TWINS: dict[str, tuple[tuple[str, ...], ...]] = {
    "rm": (*_RECURSIVE, ("-i", "--interactive"), ("-d", "--dir")),
    "cp": (*_RECURSIVE, ("-a", "--archive"), ("-n", "--no-clobber"), ("-i", "--interactive")),
    "mv": (("-f", "--force"), ("-n", "--no-clobber"), ("-i", "--interactive"), ("-v", "--verbose")),
    "ln": (("-s", "--symbolic"), ("-f", "--force")),
    **dict.fromkeys(("chmod", "chown", "chgrp"), _RECURSIVE),
    "git push": (("-f", "--force"), ("-d", "--delete"), ("-n", "--dry-run"), ("-u", "--set-upstream")),
    "git commit": (("-a", "--all"), ("-n", "--no-verify"), ("-m", "--message")),
    "git clean": (("-f", "--force"), ("-n", "--dry-run"), ("-i", "--interactive")),
    "git checkout": (("-f", "--force"),),
    "git switch": (("-f", "--force", "--discard-changes"), ("-c", "--create"), ("-C", "--force-create")),
    "git branch": (("-d", "--delete"), ("-f", "--force"), ("-m", "--move")),
    "git tag": (("-d", "--delete"), ("-f", "--force")),
    "git rm": (("-f", "--force"),),
    "git add": (("-A", "--all"), ("-f", "--force")),
    "git rebase": (("-i", "--interactive"),),
    "docker": (("-f", "--force"), ("-a", "--all"), ("-v", "--volume", "--volumes")),
    "podman": (("-f", "--force"), ("-a", "--all"), ("-v", "--volume", "--volumes")),
    "kubectl": (("-f", "--filename"), ("-A", "--all-namespaces"), ("-n", "--namespace")),
    "npm": (("-g", "--global"), ("-f", "--force")),
    "pip": (("-U", "--upgrade"), ("-r", "--requirement"), ("-e", "--editable"), ("-y", "--yes")),
    "curl": (("-k", "--insecure"), ("-d", "--data"), ("-T", "--upload-file"), ("-X", "--request"), ("-F", "--form"),
             ("-o", "--output"), ("-L", "--location")),
    "rsync": (("-a", "--archive"), ("-r", "--recursive"), ("-n", "--dry-run")),
    "tar": (("-x", "--extract", "--get"), ("-c", "--create"), ("-f", "--file")),
    "sed": (("-i", "--in-place"), ("-n", "--quiet", "--silent")),
    "grep": (("-r", "--recursive"), ("-i", "--ignore-case")),
    "sudo": (("-u", "--user"), ("-i", "--login"), ("-s", "--shell")),
}  # fmt: skip
"""Spellings of one option."""
_ONE_DASH = frozenset(
    ("find", "gfind", "terraform", "tofu", "terragrunt", "java", "javac", "openssl", "gcc", "g++", "clang", "go",
     "ffmpeg", "convert", "magick", "packer", "vault", "consul", "nomad", "xcodebuild", "adb", "erl", "screen")
)  # fmt: skip
"""Their long options have one dash, so `-delete` is no bundle."""
_BUNDLE = regex(r"-[A-Za-z]{2,4}")
_KEYWORDS = frozenset(
    ("time", "if", "then", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "!", "coproc",
     "function", "select", "{", "}", "[[", "]]")
)  # fmt: skip


class Pattern(NamedTuple):
    """One line of a list, ready to be matched."""

    text: str
    program: tuple[str, ...]
    operands: tuple[tuple[str, ...], ...]
    options: tuple[tuple[str, ...], ...]
    rest: bool
    """It ends in `*`: everything behind is meant."""
    words: int = 0
    """Besides the program and that `*`."""

    def hits(self, program: str, arguments: Sequence[str], *, surely: bool = False) -> bool:
        """Whether a command is meant. Where a word may be the value of an option or an operand, both count; `surely`:
        only what is meant in every reading."""
        plain = unversioned(program)
        if not any(matches(one, program) or (plain != program and matches(one, plain)) for one in self.program):
            return False
        if self.rest and len(arguments) <= self.words:
            return False
        if self.options:
            flags = _flags(plain, arguments)
            short = not surely and abbreviates(plain)
            if not all(any(_is_option(wish, flag, short) for wish in one for flag in flags) for one in self.options):
                return False
        return not self.operands or _operands(self.operands, program, arguments, surely)

    def names(self, option: str) -> bool:
        """Whether the pattern speaks of an option, so that an allowance of it covers that one."""
        return self.rest or any(_is_option(choice, option) for one in self.options for choice in one)


def _flags(program: str, arguments: Sequence[str]) -> list[str]:
    """The options of a command, each in all its spellings."""
    flags = [one for one in arguments if one[:1] == "-" and one != "-"]
    operands = [one for one in arguments if one[:1] != "-"]
    if program == "git" and "push" in operands and any(one[:1] == "+" and len(one) > 1 for one in operands):
        flags.append("--force")  # `+main` is what it means for one branch
    twins = TWINS.get(program, ())
    if program == "git":
        twins = next((found for one in operands[:3] if (found := TWINS.get(f"git {one}"))), ())
    for spellings in twins:
        if any(_is_option(one, flag, abbreviates(program)) for one in spellings for flag in flags):
            flags += spellings
    return flags


def _is_option(wanted: str, given: str, short: bool = False) -> bool:
    """`-f` is met by `-f`, `-xf` and `-f=1`; `--force*` by every option that begins so; `short`: also `--forc`."""
    if wanted.startswith("--") or len(wanted) != 2:
        name = given.partition("=")[0]
        return matches(wanted, name) or (short and is_meant(wanted, name)) or ("=" in wanted and matches(wanted, given))
    return given == wanted or (given[:1] == "-" and given[1:2] != "-" and wanted[1] in given.partition("=")[0][1:])


def _operands(wanted: tuple[tuple[str, ...], ...], program: str, arguments: Sequence[str], surely: bool) -> bool:
    """All ways to read the words at once: a set of places in the pattern that may have been reached."""
    valued = VALUED.get(program)
    reached, before, plain = {0}, "", False
    for argument in arguments:
        if not plain and argument == "--":
            plain, before = True, ""
            continue
        if not plain and argument[:1] == "-" and len(argument) > 1:
            before = argument
            continue
        if argument[:1] == "+" and program == "cargo":  # `cargo +nightly publish`
            continue
        if valued is not None and before in valued:
            before = ""
            continue
        taken = {at for place in reached for at in _steps(wanted, place, argument)}
        maybe = bool(before) and "=" not in before
        before = ""
        reached = taken & reached if maybe and surely else taken | reached if maybe else taken
        if any(_is_end(wanted, at) for at in reached):
            return True
        if not reached:
            return False
    return any(_is_end(wanted, at) for at in reached)


def _steps(wanted: tuple[tuple[str, ...], ...], place: int, argument: str) -> set[int]:
    if place >= len(wanted):
        return {place}
    if wanted[place] == ("**",):
        return {place} | _steps(wanted, place + 1, argument)
    return {place + 1} if any(matches(choice, argument) for choice in wanted[place]) else set()


def _is_end(wanted: tuple[tuple[str, ...], ...], place: int) -> bool:
    return all(one == ("**",) for one in wanted[place:])


@lru_cache(2048)
def compiled(text: str) -> Pattern:
    """Raises ValueError with what is wrong, and an example."""
    if len(text) > _LONGEST:
        raise ValueError(f"is longer than {_LONGEST} characters")
    words = text.split()
    if not words:
        raise ValueError('must name a program, such as "git push"')
    if words[0].startswith("-"):
        raise ValueError('must begin with a program, as in "git push --force*", not with an option')
    for word in words:
        if not _PROGRAM.fullmatch(word):
            raise ValueError('has quotes or signs of the shell in it; a pattern has plain words, as in "git push"')
    rest = len(words) > 1 and words[-1] == "*"
    body = words[1:-1] if rest else words[1:]
    programs = _choices(words[0])
    for program in programs:
        _can_match([program, *words[1:]])
    whole = len(body)
    if words[0].casefold() not in _ONE_DASH:
        body = [one for word in body for one in ([f"-{x}" for x in word[1:]] if _BUNDLE.fullmatch(word) else [word])]
    choices = [_choices(word) for word in body]
    if any(len({choice.startswith("-") for choice in one}) > 1 for one in choices):
        raise ValueError("has an option and a plain word as choices of one word; write a pattern for each")
    return Pattern(
        text,
        tuple(basename(one) or one for one in programs),
        tuple(one for one in choices if not one[0].startswith("-")),
        tuple(one for one in choices if one[0].startswith("-")),
        rest,
        whole,
    )


def _choices(word: str) -> tuple[str, ...]:
    """What one word of a pattern may be. Raises ValueError for what no word of a command is."""
    if word.startswith("#"):
        raise ValueError("has a `#` before a word, which begins a comment in a shell; leave out what follows it")
    found = tuple(one for choice in alternatives(word) for one in choice.split("|"))
    if not all(found):
        raise ValueError(
            'has an empty choice in it: `|` separates choices, as in "npm publish|unpublish"; '
            "of a pipe, each command is judged by itself"
        )
    if any(one != "[" and not {"?", "[", "]"}.isdisjoint(one) for one in found):
        better = re.sub(r"\?|\[[^\]]*\]?", "*", word)
        raise ValueError(f'has a `?` or brackets in it, and `*` is the only wildcard: write "{better}"')
    return found


def _can_match(words: list[str]) -> None:
    """Raises ValueError for what no command is ever compared with, since it is seen through."""
    first = words[0].casefold()
    if "/" in first and "*" not in first:
        raise ValueError(f'names a program by its folder, and can match nothing: write "{basename(first) or "ls"}"')
    if "=" in words[0] and re.match(r"[A-Za-z_]\w*=", words[0]):
        better = " ".join(words[1:]) or "env"
        raise ValueError(f'begins with a variable, and can match nothing: write "{better}"')
    if first in _KEYWORDS:
        better = " ".join(words[1:]) or "rm"
        raise ValueError(f'begins with `{first}`, a word of the shell: name the program, as in "{better}"')
    shell = first in SHELLS
    code = next((at for at, word in enumerate(words) if shell and re.fullmatch(r"-[a-z]*c", word)), 0) + 1
    if 1 < code < len(words) and words[code] not in ("*", "**"):
        better = " ".join(words[code:])
        raise ValueError(f'names what a shell runs, and can match nothing: write "{better}", which covers `{first} -c`')


def first_hit(patterns: Sequence[str], program: str, arguments: Sequence[str]) -> Pattern | None:
    """The first pattern of a list that means this command."""
    return next((one for text in patterns if (one := compiled(text)).hits(program, arguments)), None)


# ── the starter list ──

WHY: dict[str, str] = {
    "destroys": "can destroy something that cannot be brought back",
    "publishes": "changes or sends something outside this machine",
    "credentials": "reads credentials",
    "network": "runs code that comes from the network",
    "escalates": "acts with more rights, or takes a protection away",
    "persists": "changes what is started later, or the system",
    "guards": "changes what guards these calls",
    "runs": "runs code that cannot be judged beforehand",
}


@lru_cache(1)
def _lines() -> dict[str, list[tuple[str, str]]]:
    """The lines by program. They are compiled when a command comes that they could mean: a hook judges one."""
    found: dict[str, list[tuple[str, str]]] = {}
    for kind, lines in read_lists("starter.txt").items():
        for line in lines:
            for program in line.partition(" ")[0].casefold().split("|"):
                found.setdefault(program, []).append((kind, line))
    return found


def programs() -> frozenset[str]:
    """Those that the list names."""
    return frozenset(_lines())


@lru_cache(512)
def _by_operand(program: str) -> dict[str, list[tuple[str, str]]]:
    """The lines of a program by the words that may come first; under "" those that any word can begin."""
    found: dict[str, list[tuple[str, str]]] = {}
    for kind, line in _lines().get(program, ()):
        first = next((word for word in line.split()[1:] if not word.startswith("-")), "")
        for choice in [""] if "*" in first else first.split("|"):
            found.setdefault(choice, []).append((kind, line))
    return found


def listed(program: str, arguments: list[str]) -> tuple[str, Pattern] | None:
    """The first line of the list that means a command; of several, the one that names most."""
    lines = _by_operand(program) if program in _lines() else None
    if not lines:
        return None
    found: tuple[str, Pattern] | None = None
    for word in ("", *dict.fromkeys(arguments)):
        for kind, line in lines.get(word, ()):
            pattern = compiled(line)
            if pattern.hits(program, arguments) and (found is None or len(pattern.options) > len(found[1].options)):
                found = kind, pattern
    return None if found is None or only_looks(program, arguments) else found
