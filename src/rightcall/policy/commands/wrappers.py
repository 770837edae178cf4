"""Programs that start other programs: what they would start, as words or as code of a shell.

`sudo -u x rm y` starts `rm y`; `sh -c 'rm y'` runs code; `find -exec rm {} +` starts `rm` with words nobody knows yet.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from rightcall.base.text import regex
from rightcall.policy.commands.runs import part, takes_value
from rightcall.policy.commands.words import HOLE, Word

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


_CONTAINER = (
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
    ("docker", "exec"): prefix(_CONTAINER, 1, elsewhere=True),
    ("docker", "run"): prefix(_CONTAINER, 1, elsewhere=True),
    ("podman", "exec"): prefix(_CONTAINER, 1, elsewhere=True),
    ("podman", "run"): prefix(_CONTAINER, 1, elsewhere=True),
    ("nerdctl", "exec"): prefix(_CONTAINER, 1, elsewhere=True),
    ("nerdctl", "run"): prefix(_CONTAINER, 1, elsewhere=True),
    ("docker-compose", "exec"): prefix(_CONTAINER, 1, elsewhere=True),
    ("docker-compose", "run"): prefix(_CONTAINER, 1, elsewhere=True),
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
