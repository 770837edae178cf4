"""Programs that start other programs: what they would start, as words or as code of a shell.

`sudo -u x rm y` starts `rm y`; `sh -c 'rm y'` runs code; `find -exec rm {} +` starts `rm` with words nobody knows yet.

Patterns over the words of a command, as `[policy.commands]` has them: `git push`, `git push --force*`, `docker *`.

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
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from rightcall.base.globs import matches
from rightcall.base.text import regex
from rightcall.policy.commands.runs import VALUED, abbreviates, is_meant, part, takes_value
from rightcall.policy.commands.words import HOLE, Word, alternatives, basename, unversioned

SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "rbash", "mksh", "yash", "csh", "tcsh"))
_CODE_VARIABLES = regex(
    r"(?:GIT_)?(?:\w*_COMMAND|PAGER|EDITOR|VISUAL|BROWSER|SSH_ASKPASS|ASKPASS|RSYNC_RSH)|\w*PAGER|\w*_EDITOR|GIT_SSH"
    r"|GIT_EXTERNAL_DIFF|CVS_RSH|LESSOPEN|LESSCLOSE|SUDO_EDITOR|FCEDIT|MAKEFLAGS_COMMAND|RUSTC_WRAPPER|\w*_LAUNCHER"
)


class Inner(NamedTuple):
    """What a program starts: words, or code. `more`: further words come from elsewhere (its input, found files)."""

    words: tuple[Word, ...] = ()
    code: Word | None = None
    language: str = "sh"
    more: bool = False
    elsewhere: bool = False
    """On another machine, or in a container."""
    folder: str | None = None
    given: tuple[Word, ...] = ()
    """What code finds in `$0`, `$1` and so on."""


class Prefix(NamedTuple):
    valued: frozenset[str]
    operands: int = 0
    more: bool = False
    elsewhere: bool = False


def prefix(valued: str = "", operands: int = 0, *, more: bool = False, elsewhere: bool = False) -> Prefix:
    return Prefix(frozenset(valued.split()), operands, more, elsewhere)


VALUED_BY_CONTAINERS = (
    "-e -u -w -v -p -l -m -h -c -a --env --user --workdir --env-file --name --volume --publish --network --net --mount "
    "--entrypoint --platform --label --memory --cpus --hostname --add-host --restart --log-driver --gpus --ip --expose "
    "--tmpfs --shm-size --ulimit --device --cap-add --cap-drop --security-opt --pull --pid --ipc --userns "
    "--detach-keys "
    "--dns --link --log-opt --runtime --stop-signal --sysctl --volumes-from --cidfile --group-add --index"
)
PREFIXES: dict[str, Prefix] = {
    "sudo": prefix("-u -g -h -p -C -D -R -T -U -r -t --user --group --host --prompt --chdir --chroot --role --type"),
    "doas": prefix("-u -C"),
    "pkexec": prefix("--user"),
    "env": prefix("-u -C -S --unset --chdir --split-string"),
    "nice": prefix("-n --adjustment"),
    "ionice": prefix("-c -n --class --classdata"),
    "nohup": prefix(),
    "time": prefix("-f -o --format --output"),
    "gtime": prefix("-f -o --format --output"),
    "timeout": prefix("-s -k --signal --kill-after", 1),
    "gtimeout": prefix("-s -k --signal --kill-after", 1),
    "stdbuf": prefix("-i -o -e --input --output --error"),
    "setsid": prefix(),
    "setarch": prefix("", 1),
    "chrt": prefix("", 1),
    "taskset": prefix("", 1),
    "cpulimit": prefix("-l -p -e"),
    "unbuffer": prefix(),
    "strace": prefix("-e -o -p -s -E -u -a -S -O -P -b -X -I"),
    "ltrace": prefix("-e -o -p -s -u -a -n"),
    "valgrind": prefix(),
    "chroot": prefix("--userspec --groups", 1),
    "unshare": prefix("-S -G -R -w"),
    "nsenter": prefix("-t -S -G --target"),
    "firejail": prefix(),
    "xvfb-run": prefix("-s -n -e -f -p -w"),
    "dbus-run-session": prefix("--config-file"),
    "caffeinate": prefix("-t -w"),
    "command": prefix(),
    "builtin": prefix(),
    "exec": prefix("-a"),
    "nocorrect": prefix(),
    "noglob": prefix(),
    "coproc": prefix(),
    "xargs": prefix("-I -n -P -L -d -s -E -a --max-args --max-procs --delimiter --arg-file --replace --max-lines",
                     more=True),
    "gxargs": prefix("-I -n -P -L -d -s -E -a", more=True),
    "parallel": prefix("-j -I -N -a -S -n -L --jobs --colsep --joblog --delay --timeout --retries", more=True),
    "entr": prefix(),
    "systemd-run": prefix("-p -u -E -M -H --unit --property --setenv --slice --uid --gid --description"),
    "busybox": prefix(),
    "toybox": prefix(),
    "npx": prefix("-p --package -w --workspace"),
    "bunx": prefix("-p --package"),
    "pnpx": prefix("-p --package"),
    "uvx": prefix("--from --with -p --python --index-url --with-requirements"),
    "dotenv": prefix("-f -e -c -v"),
    "dotenvx": prefix("-f -e"),
    "cross-env": prefix(),
    "env-cmd": prefix("-f -e -r --file --environments --rc-file"),
    "nodemon": prefix("-w -e --watch --ext --exec -x --ignore -i --delay"),
    "winpty": prefix(),
    "catchsegv": prefix(),
    "torify": prefix(),
    "proxychains": prefix("-f"),
    "proxychains4": prefix("-f"),
    "sshpass": prefix("-p -f -d -P"),
    "watchexec": prefix("-e -w -i -f --exts --watch --ignore --filter"),
    "hyperfine": prefix("-r -w -m -M -n -s --runs --warmup --prepare --export-markdown --export-json"),
}  # fmt: skip
RUNNERS: dict[tuple[str, str], Prefix] = {
    ("ip", "netns"): prefix("", 2),
    ("poetry", "run"): prefix(),
    ("pipenv", "run"): prefix(),
    ("pdm", "run"): prefix("-p"),
    ("rye", "run"): prefix(),
    ("hatch", "run"): prefix(),
    ("pixi", "run"): prefix("-e --environment"),
    ("uv", "run"): prefix("--with --extra --group --env-file --python -p --directory --project --with-editable "
                           "--with-requirements --only-group --no-group --package --index-url --no-extra"),
    ("pipx", "run"): prefix("--spec --python --pip-args --index-url --with"),
    ("conda", "run"): prefix("-n -p --name --prefix --cwd"),
    ("mamba", "run"): prefix("-n -p"),
    ("micromamba", "run"): prefix("-n -p"),
    ("bundle", "exec"): prefix(),
    ("rbenv", "exec"): prefix(),
    ("pyenv", "exec"): prefix(),
    ("asdf", "exec"): prefix(),
    ("nvm", "exec"): prefix("", 1),
    ("fnm", "exec"): prefix("--using --fnm-dir --node-dist-mirror"),
    ("direnv", "exec"): prefix("", 1),
    ("mise", "exec"): prefix(),
    ("mise", "x"): prefix(),
    ("npm", "exec"): prefix("-p --package -w --workspace"),
    ("npm", "x"): prefix("-p --package"),
    ("pnpm", "exec"): prefix(),
    ("pnpm", "dlx"): prefix("--package"),
    ("yarn", "exec"): prefix(),
    ("yarn", "dlx"): prefix("-p --package"),
    ("bun", "x"): prefix("-p --package"),
    ("op", "run"): prefix("--env-file --account"),
    ("doppler", "run"): prefix("-p -c --project --config --token"),
    ("infisical", "run"): prefix("--env --path --projectId"),
    ("aws-vault", "exec"): prefix("-d --duration --region", 1),
    ("chamber", "exec"): prefix("", 1),
    ("foreman", "run"): prefix("-e -f -p"),
    ("heroku", "run"): prefix("-a --app -r --remote -s --size", elsewhere=True),
    ("fly", "ssh"): prefix("-a --app -C", 1, elsewhere=True),
    ("docker", "exec"): prefix(VALUED_BY_CONTAINERS, 1, elsewhere=True),
    ("docker", "run"): prefix(VALUED_BY_CONTAINERS, 1, elsewhere=True),
    ("podman", "exec"): prefix(VALUED_BY_CONTAINERS, 1, elsewhere=True),
    ("podman", "run"): prefix(VALUED_BY_CONTAINERS, 1, elsewhere=True),
    ("nerdctl", "exec"): prefix(VALUED_BY_CONTAINERS, 1, elsewhere=True),
    ("nerdctl", "run"): prefix(VALUED_BY_CONTAINERS, 1, elsewhere=True),
    ("docker-compose", "exec"): prefix(VALUED_BY_CONTAINERS, 1, elsewhere=True),
    ("docker-compose", "run"): prefix(VALUED_BY_CONTAINERS, 1, elsewhere=True),
    ("lxc", "exec"): prefix("--env --user --group --cwd", 1, elsewhere=True),
    ("git", "bisect run"): prefix(),
    ("perf", "stat"): prefix("-e -o -r"),
    ("perf", "record"): prefix("-e -o -F -g"),
    ("coverage", "run"): prefix("-m --source --rcfile --omit"),
}  # fmt: skip


def behind(program: str, arguments: list[Word], how: Prefix) -> Iterator[Inner]:
    """The command behind a wrapper's own options, operands and assignments."""
    left = how.operands
    folder: str | None = None
    at = 0
    while at < len(arguments):
        value = arguments[at].value
        if value == "--":
            at += 1
            if left == 0:
                break
            continue
        if value == "-" and program in ("env", "sudo"):
            at += 1
            continue
        if value.startswith("-") and len(value) > 1:
            taken = takes_value(value, how.valued)
            if value in ("-C", "-D", "--chdir", "--cwd", "--directory") and at + 1 < len(arguments):
                folder = arguments[at + 1].value
            at += 1 + taken
            continue
        if program in ("env", "sudo", "cross-env", "doas") and re.match(r"[A-Za-z_]\w*=", value):
            yield from assigned_code(value.partition("=")[0], Word(value.partition("=")[2]))
            at += 1
            continue
        if left:
            left -= 1
            at += 1
            continue
        break
    rest = tuple(arguments[at:])
    if rest and not (program == "command" and any(one.value in ("-v", "-V") for one in arguments[:at])):
        if program == "parallel":
            rest = tuple(word for word in rest if word.value not in (":::", "::::"))
        if program in ("npx", "npm", "uvx", "pipx", "bunx", "pnpx", "pnpm", "yarn"):
            first = re.sub(r"(?<=.)@[^/]*$", "", rest[0].value)  # `npx eslint@8`
            rest = (Word(first), *rest[1:])
        if program == "uv" and (rest[0].value == "-" or rest[0].value.endswith(".py")):
            yield Inner((Word("python"), *rest), folder=folder)
        yield Inner(rest, more=how.more, elsewhere=how.elsewhere, folder=folder)


def assigned_code(name: str, value: Word) -> Iterator[Inner]:
    """Variables that some program runs."""
    if _CODE_VARIABLES.fullmatch(name) and value.value:
        if name in ("GIT_SSH", "GIT_EXTERNAL_DIFF", "SSH_ASKPASS", "GIT_ASKPASS"):
            value = hidden(value)
        yield Inner(code=Word(value.value.lstrip("|-"), None, True, value.names, value.inner))


def shell_code(arguments: list[Word]) -> Word | None:
    """What a shell is told by `-c`, also in a bundle (`-lc`)."""
    at = 0
    while at < len(arguments):
        value = arguments[at].value
        if value in ("--rcfile", "--init-file"):
            at += 2
            continue
        if value.startswith("--command"):  # of fish
            return part(arguments[at], 10) if "=" in value else next(iter(arguments[at + 1 :]), None)
        if not value.startswith(("-", "+")) or value in ("-", "--"):
            return None
        taken = 0 if value.startswith("--") else value.count("o") + value.count("O")
        if value.startswith("-") and not value.startswith("--") and "c" in value[1:]:
            following = [one for one in arguments[at + 1 :] if not re.fullmatch(r"[-+][a-zA-Z]+|--", one.value)]
            return following[taken] if len(following) > taken else None
        at += 1 + taken  # `-euo pipefail`
    return None


def hidden(word: Word) -> Word:
    """A program in the place of another: which it is can be told of the system's own only."""
    plain = "/" not in word.value or " " in word.value or word.value.startswith(("/bin/", "/usr/bin/"))
    return word if plain else Word(HOLE)


# ── patterns over the words of a command ──────────────────────────────────────────────────────────────────────────────

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


def first_hit(
    patterns: Sequence[str], program: str, arguments: Sequence[str], *, surely: bool = False
) -> Pattern | None:
    """The first pattern of a list that means this command."""
    return next((one for text in patterns if (one := compiled(text)).hits(program, arguments, surely=surely)), None)
