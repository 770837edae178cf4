"""Programs that start other programs: what they would start, as words or as code of a shell.

`sudo -u x rm y` starts `rm y`; `sh -c 'rm y'` runs code; `find -exec rm {} +` starts `rm` with words nobody knows yet.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from rightcall.commands.options import action_at, option_value, part, takes_value
from rightcall.commands.words import HOLE, Word, joined, unversioned
from rightcall.parse.late import Late

SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "rbash", "mksh", "yash", "csh", "tcsh"))
_CODE_VARIABLES = Late(
    r"(?:GIT_)?(?:\w*_COMMAND|PAGER|EDITOR|VISUAL|BROWSER|SSH_ASKPASS|ASKPASS|RSYNC_RSH)|\w*PAGER|\w*_EDITOR|GIT_SSH"
    r"|GIT_EXTERNAL_DIFF|CVS_RSH|LESSOPEN|LESSCLOSE|SUDO_EDITOR|FCEDIT|MAKEFLAGS_COMMAND|RUSTC_WRAPPER|\w*_LAUNCHER"
)
_GIT_CODE = Late(
    r"(?:alias\..+|core\.(?:pager|editor|sshcommand|fsmonitor|askpass|hookspath)|credential\..*helper|.*\.(?:cmd|driver"
    r"|textconv|command|clean|smudge|process)|pager\..+|sequence\.editor|diff\.external|gpg\..*program|uploadpack\..*)",
    re.IGNORECASE | re.DOTALL,
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


class _Prefix(NamedTuple):
    valued: frozenset[str]
    operands: int = 0
    more: bool = False
    elsewhere: bool = False


def _prefix(valued: str = "", operands: int = 0, *, more: bool = False, elsewhere: bool = False) -> _Prefix:
    return _Prefix(frozenset(valued.split()), operands, more, elsewhere)


_CONTAINER = (
    "-e -u -w -v -p -l -m -h -c -a --env --user --workdir --env-file --name --volume --publish --network --net --mount "
    "--entrypoint --platform --label --memory --cpus --hostname --add-host --restart --log-driver --gpus --ip --expose "
    "--tmpfs --shm-size --ulimit --device --cap-add --cap-drop --security-opt --pull --pid --ipc --userns "
    "--detach-keys "
    "--dns --link --log-opt --runtime --stop-signal --sysctl --volumes-from --cidfile --group-add --index"
)
_PREFIXES: dict[str, _Prefix] = {
    "sudo": _prefix("-u -g -h -p -C -D -R -T -U -r -t --user --group --host --prompt --chdir --chroot --role --type"),
    "doas": _prefix("-u -C"),
    "pkexec": _prefix("--user"),
    "env": _prefix("-u -C -S --unset --chdir --split-string"),
    "nice": _prefix("-n --adjustment"),
    "ionice": _prefix("-c -n --class --classdata"),
    "nohup": _prefix(),
    "time": _prefix("-f -o --format --output"),
    "gtime": _prefix("-f -o --format --output"),
    "timeout": _prefix("-s -k --signal --kill-after", 1),
    "gtimeout": _prefix("-s -k --signal --kill-after", 1),
    "stdbuf": _prefix("-i -o -e --input --output --error"),
    "setsid": _prefix(),
    "setarch": _prefix("", 1),
    "chrt": _prefix("", 1),
    "taskset": _prefix("", 1),
    "cpulimit": _prefix("-l -p -e"),
    "unbuffer": _prefix(),
    "strace": _prefix("-e -o -p -s -E -u -a -S -O -P -b -X -I"),
    "ltrace": _prefix("-e -o -p -s -u -a -n"),
    "valgrind": _prefix(),
    "chroot": _prefix("--userspec --groups", 1),
    "unshare": _prefix("-S -G -R -w"),
    "nsenter": _prefix("-t -S -G --target"),
    "firejail": _prefix(),
    "xvfb-run": _prefix("-s -n -e -f -p -w"),
    "dbus-run-session": _prefix("--config-file"),
    "caffeinate": _prefix("-t -w"),
    "command": _prefix(),
    "builtin": _prefix(),
    "exec": _prefix("-a"),
    "nocorrect": _prefix(),
    "noglob": _prefix(),
    "coproc": _prefix(),
    "xargs": _prefix("-I -n -P -L -d -s -E -a --max-args --max-procs --delimiter --arg-file --replace --max-lines",
                     more=True),
    "gxargs": _prefix("-I -n -P -L -d -s -E -a", more=True),
    "parallel": _prefix("-j -I -N -a -S -n -L --jobs --colsep --joblog --delay --timeout --retries", more=True),
    "entr": _prefix(),
    "systemd-run": _prefix("-p -u -E -M -H --unit --property --setenv --slice --uid --gid --description"),
    "busybox": _prefix(),
    "toybox": _prefix(),
    "npx": _prefix("-p --package -w --workspace"),
    "bunx": _prefix("-p --package"),
    "pnpx": _prefix("-p --package"),
    "uvx": _prefix("--from --with -p --python --index-url --with-requirements"),
    "dotenv": _prefix("-f -e -c -v"),
    "dotenvx": _prefix("-f -e"),
    "cross-env": _prefix(),
    "nodemon": _prefix("-w -e --watch --ext --exec -x --ignore -i --delay"),
    "winpty": _prefix(),
    "catchsegv": _prefix(),
    "torify": _prefix(),
    "proxychains": _prefix("-f"),
    "proxychains4": _prefix("-f"),
    "sshpass": _prefix("-p -f -d -P"),
    "watchexec": _prefix("-e -w -i -f --exts --watch --ignore --filter"),
    "hyperfine": _prefix("-r -w -m -M -n -s --runs --warmup --prepare --export-markdown --export-json"),
}  # fmt: skip
_RUNNERS: dict[tuple[str, str], _Prefix] = {
    ("poetry", "run"): _prefix(),
    ("pipenv", "run"): _prefix(),
    ("pdm", "run"): _prefix("-p"),
    ("rye", "run"): _prefix(),
    ("hatch", "run"): _prefix(),
    ("pixi", "run"): _prefix("-e --environment"),
    ("uv", "run"): _prefix("--with --extra --group --env-file --python -p --directory --project --with-editable "
                           "--with-requirements --only-group --no-group --package --index-url --no-extra"),
    ("pipx", "run"): _prefix("--spec --python --pip-args --index-url --with"),
    ("conda", "run"): _prefix("-n -p --name --prefix --cwd"),
    ("mamba", "run"): _prefix("-n -p"),
    ("micromamba", "run"): _prefix("-n -p"),
    ("bundle", "exec"): _prefix(),
    ("rbenv", "exec"): _prefix(),
    ("pyenv", "exec"): _prefix(),
    ("asdf", "exec"): _prefix(),
    ("nvm", "exec"): _prefix("", 1),
    ("direnv", "exec"): _prefix("", 1),
    ("mise", "exec"): _prefix(),
    ("mise", "x"): _prefix(),
    ("npm", "exec"): _prefix("-p --package -w --workspace"),
    ("npm", "x"): _prefix("-p --package"),
    ("pnpm", "exec"): _prefix(),
    ("pnpm", "dlx"): _prefix("--package"),
    ("yarn", "exec"): _prefix(),
    ("yarn", "dlx"): _prefix("-p --package"),
    ("bun", "x"): _prefix("-p --package"),
    ("op", "run"): _prefix("--env-file --account"),
    ("doppler", "run"): _prefix("-p -c --project --config --token"),
    ("infisical", "run"): _prefix("--env --path --projectId"),
    ("aws-vault", "exec"): _prefix("-d --duration --region", 1),
    ("chamber", "exec"): _prefix("", 1),
    ("foreman", "run"): _prefix("-e -f -p"),
    ("heroku", "run"): _prefix("-a --app -r --remote -s --size", elsewhere=True),
    ("fly", "ssh"): _prefix("-a --app -C", 1, elsewhere=True),
    ("docker", "exec"): _prefix(_CONTAINER, 1, elsewhere=True),
    ("docker", "run"): _prefix(_CONTAINER, 1, elsewhere=True),
    ("podman", "exec"): _prefix(_CONTAINER, 1, elsewhere=True),
    ("podman", "run"): _prefix(_CONTAINER, 1, elsewhere=True),
    ("nerdctl", "exec"): _prefix(_CONTAINER, 1, elsewhere=True),
    ("nerdctl", "run"): _prefix(_CONTAINER, 1, elsewhere=True),
    ("docker-compose", "exec"): _prefix(_CONTAINER, 1, elsewhere=True),
    ("docker-compose", "run"): _prefix(_CONTAINER, 1, elsewhere=True),
    ("lxc", "exec"): _prefix("--env --user --group --cwd", 1, elsewhere=True),
    ("git", "bisect run"): _prefix(),
    ("perf", "stat"): _prefix("-e -o -r"),
    ("perf", "record"): _prefix("-e -o -F -g"),
    ("coverage", "run"): _prefix("-m --source --rcfile --omit"),
}  # fmt: skip
_SSH = frozenset(
    [
        "-p",
        "-i",
        "-l",
        "-o",
        "-L",
        "-R",
        "-D",
        "-F",
        "-J",
        "-b",
        "-c",
        "-E",
        "-e",
        "-I",
        "-m",
        "-O",
        "-Q",
        "-S",
        "-W",
        "-w",
        "-B",
    ]
)


def inner_of(program: str, arguments: list[Word]) -> Iterator[Inner]:
    """Everything that a command would start, besides itself."""
    special = _SPECIAL.get(program) or _SPECIAL.get(unversioned(program))
    if special is not None:
        yield from special(arguments)
    prefix = _PREFIXES.get(program)
    if prefix is not None:
        yield from _behind(program, arguments, prefix)
        return
    if program in _WITH_ACTIONS:
        at = action_at(program, arguments)
        if at >= 0:
            runner = _RUNNERS.get((program, arguments[at].value))
            if runner is not None:
                yield from _behind(program, arguments[at + 1 :], runner)


_WITH_ACTIONS = frozenset(name for name, _ in _RUNNERS)


def _behind(program: str, arguments: list[Word], prefix: _Prefix) -> Iterator[Inner]:
    """The command behind a wrapper's own options, operands and assignments."""
    left = prefix.operands
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
            taken = takes_value(value, prefix.valued)
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
        yield Inner(rest, more=prefix.more, elsewhere=prefix.elsewhere, folder=folder)


def assigned_code(name: str, value: Word) -> Iterator[Inner]:
    """Variables that some program runs."""
    if _CODE_VARIABLES.fullmatch(name) and value.value:
        if name in ("GIT_SSH", "GIT_EXTERNAL_DIFF", "SSH_ASKPASS", "GIT_ASKPASS"):
            value = _hidden(value)
        yield Inner(code=Word(value.value.lstrip("|-"), None, True, value.names, value.inner))


def shell_code(arguments: list[Word]) -> Word | None:
    """What a shell is told by `-c`, also in a bundle (`-lc`)."""
    at = 0
    while at < len(arguments):
        value = arguments[at].value
        if value in ("-o", "+o", "-O", "+O", "--rcfile", "--init-file"):
            at += 2
            continue
        if value.startswith("-") and not value.startswith("--") and "c" in value[1:]:
            following = [one for one in arguments[at + 1 :] if not re.fullmatch(r"[-+][a-zA-Z]+|--", one.value)]
            return following[0] if following else None
        if not value.startswith(("-", "+")) or value in ("-", "--"):
            return None
        at += 1
    return None


def _shell(arguments: list[Word]) -> Iterator[Inner]:
    code = shell_code(arguments)
    if code is not None:
        yield Inner(code=code)


def _dash_c(*names: str) -> Callable[[list[Word]], Iterator[Inner]]:
    def read(arguments: list[Word]) -> Iterator[Inner]:
        code = option_value(arguments, *names)
        if code is None:
            bundle = next((at for at, one in enumerate(arguments) if re.fullmatch(r"-[a-z]*c", one.value)), -1)
            code = arguments[bundle + 1] if 0 <= bundle < len(arguments) - 1 else None
        if code is not None:
            yield Inner(code=code)

    return read


def _eval(arguments: list[Word]) -> Iterator[Inner]:
    if arguments:
        yield Inner(code=Word(joined(arguments), None, True, inner=tuple(at for one in arguments for at in one.inner)))


def _trap(arguments: list[Word]) -> Iterator[Inner]:
    if len(arguments) > 1 and arguments[0].value not in ("-", "", "-l", "-p"):
        yield Inner(code=arguments[0])


def _alias(arguments: list[Word]) -> Iterator[Inner]:
    for word in arguments:
        _, equals, value = word.value.partition("=")
        if equals and value:
            yield Inner(code=Word(value, None, True, word.names, word.inner))


def _ssh(arguments: list[Word]) -> Iterator[Inner]:
    at = 0
    while at < len(arguments):
        value = arguments[at].value
        if value.startswith("-") and len(value) > 1:
            told = value[2:] if value.startswith("-o") and len(value) > 2 else ""
            if value == "-o" and at + 1 < len(arguments):
                told = arguments[at + 1].value
            name, _, code = told.partition("=") if "=" in told else told.partition(" ")
            if name.casefold() in ("proxycommand", "localcommand", "knownhostscommand") and code:
                yield Inner(code=Word(code))
            at += 1 + takes_value(value, _SSH)
            continue
        break
    rest = arguments[at + 1 :]
    if rest:
        yield Inner(code=Word(joined(rest), None, True), elsewhere=True)


def _find(arguments: list[Word]) -> Iterator[Inner]:
    at = 0
    while at < len(arguments):
        if arguments[at].value in ("-exec", "-execdir", "-ok", "-okdir"):
            end = at + 1
            while end < len(arguments) and arguments[end].value not in (";", "+"):
                end += 1
            yield Inner(tuple(_filled(word) for word in arguments[at + 1 : end]), more=True)
            at = end
        at += 1


def _filled(word: Word) -> Word:
    """`{}` stands for what is found."""
    return Word(word.value.replace("{}", HOLE)) if "{}" in word.value else word


def _fd(arguments: list[Word]) -> Iterator[Inner]:
    for at, word in enumerate(arguments):
        if word.value in ("-x", "-X", "--exec", "--exec-batch"):
            yield Inner(tuple(_filled(one) for one in arguments[at + 1 :]), more=True)
            return


def _git(arguments: list[Word]) -> Iterator[Inner]:
    for at, word in enumerate(arguments[:-1]):
        if word.value in ("-c", "--config-env", "--config"):
            yield from _git_setting(arguments[at + 1].value)
    for word in arguments[:20]:
        if found := re.match(r"(?:-c|--config=|--config-env=)(?=[a-z]+\.)", word.value, re.IGNORECASE):
            yield from _git_setting(word.value[found.end() :])
    at = action_at("git", arguments)
    action = arguments[at].value if at >= 0 else ""
    rest = arguments[at + 1 :]
    if action == "config" and len(rest) >= 2:
        names = [one for one in rest if not one.value.startswith("-")]
        if len(names) >= 2:
            yield from _git_setting(f"{names[0].value}={names[1].value}")
    elif action == "bisect" and rest and rest[0].value == "run":
        yield Inner(tuple(rest[1:]))
    elif action == "rebase":
        code = option_value(rest, "-x", "--exec")
        if code is not None:
            yield Inner(code=code)
    elif action == "submodule" and any(one.value == "foreach" for one in rest):
        code = [one for one in rest if one.value != "foreach" and not one.value.startswith("-")]
        yield Inner(code=Word(joined(code), None, True))
    elif action == "filter-branch":
        yield from (Inner(code=rest[n + 1]) for n, one in enumerate(rest[:-1]) if one.value.endswith("-filter"))
    elif action in _GIT_OPTIONS:
        code = option_value(rest, *_GIT_OPTIONS[action])
        if code is not None:
            yield Inner(code=code)


_GIT_OPTIONS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("difftool", "mergetool"), ("-x", "--extcmd")),
    **dict.fromkeys(("fetch", "pull", "ls-remote", "fetch-pack"), ("--upload-pack", "--exec")),
    "clone": ("--upload-pack", "-u"),
    "push": ("--receive-pack", "--exec"),
    "archive": ("--exec",),
    "grep": ("--open-files-in-pager", "-O"),
}
"""Options of git's actions that hold a command."""


def _git_setting(setting: str) -> Iterator[Inner]:
    """Settings that hold commands: aliases with `!`, pagers, helpers."""
    name, _, value = setting.partition("=")
    if not _GIT_CODE.fullmatch(name):
        return
    if name.casefold().startswith("alias."):
        yield Inner(code=Word(value[1:] if value.startswith("!") else f"git {value}", None, True))
    elif not name.casefold().endswith(("hookspath", "fsmonitor")):
        yield Inner(code=Word(value.lstrip("!"), None, True))


def _kubectl(arguments: list[Word]) -> Iterator[Inner]:
    at = action_at("kubectl", arguments)
    if at >= 0 and arguments[at].value in ("exec", "debug", "run"):
        for place, word in enumerate(arguments[at:]):
            if word.value == "--":
                yield Inner(tuple(arguments[at + place + 1 :]), elsewhere=True)
                return


def _compose(arguments: list[Word]) -> Iterator[Inner]:
    """`docker compose exec web rm x`."""
    at = action_at("docker", arguments)
    if at >= 0 and arguments[at].value in ("compose", "container"):
        rest = arguments[at + 1 :]
        valued = frozenset(["-f", "--file", "-p", "--project-name", "--profile", "--env-file", "--project-directory"])
        while rest and rest[0].value.startswith("-"):
            rest = rest[1 + takes_value(rest[0].value, valued) :]
        if rest and rest[0].value in ("exec", "run"):
            yield from _behind("docker", rest[1:], _RUNNERS["docker", "exec"])
    entry = option_value(arguments, "--entrypoint")
    if entry is not None:
        image = [word for word in arguments if word.known and not word.value.startswith("-")]
        yield Inner((entry, *image[-1:]), elsewhere=True)


def _script(arguments: list[Word]) -> Iterator[Inner]:
    yield from _dash_c("-c", "--command")(arguments)


def _flock(arguments: list[Word]) -> Iterator[Inner]:
    code = option_value(arguments, "-c", "--command")
    if code is not None:
        yield Inner(code=code)
        return
    yield from _behind("flock", arguments, _prefix("-w -E --timeout", 1))


def _watch(arguments: list[Word]) -> Iterator[Inner]:
    for inner in _behind("watch", arguments, _prefix("-n --interval -q")):
        yield Inner(code=Word(joined(inner.words), None, True))


def _tmux(arguments: list[Word]) -> Iterator[Inner]:
    at = action_at("tmux", arguments)
    if at < 0 or arguments[at].value not in (
        "new", "new-session", "neww", "new-window", "split-window", "splitw", "send-keys", "send", "run-shell", "run",
        "respawn-pane", "if-shell", "popup", "display-popup", "pipe-pane",
    ):  # fmt: skip
        return
    sent = arguments[at].value.startswith("send")
    for inner in _behind("tmux", arguments[at + 1 :], _prefix("-s -t -n -c -x -y -F -e -l -p")):
        keys = [one for one in inner.words if not (sent and one.value in ("Enter", "C-m", "C-c", "C-d"))]
        if keys:
            yield Inner(code=Word(joined(keys), None, True))


def _screen(arguments: list[Word]) -> Iterator[Inner]:
    yield from _behind("screen", arguments, _prefix("-S -c -e -h -p -s -t -T"))


def _tar(arguments: list[Word]) -> Iterator[Inner]:
    for word in arguments:
        found = re.match(r"--(?:checkpoint-action=exec=|to-command=|use-compress-program="
                         r"|rsh-command=)(.*)", word.value,
                         re.DOTALL)  # fmt: skip
        if found:
            yield Inner(code=Word(found[1], None, True))
    for at, word in enumerate(arguments[:-1]):
        if word.value in ("-I", "--use-compress-program", "--to-command", "-F", "--info-script", "--new-volume-script",
                          "--rsh-command", "--checkpoint-action"):  # fmt: skip
            yield Inner(code=Word(arguments[at + 1].value.removeprefix("exec="), None, True))


def _hidden(word: Word) -> Word:
    """A program in the place of another: which it is can be told of the system's own only."""
    plain = "/" not in word.value or " " in word.value or word.value.startswith(("/bin/", "/usr/bin/"))
    return word if plain else Word(HOLE)


def _connection(arguments: list[Word]) -> Iterator[Inner]:
    """`scp -S program`, `scp -o ProxyCommand=…`."""
    for at, word in enumerate(arguments[:-1]):
        if word.value == "-S":
            yield Inner(code=_hidden(arguments[at + 1]))
    yield from (one for one in _ssh([*arguments, Word("host")]) if not one.elsewhere)
    for at, word in enumerate(arguments):
        told = arguments[at + 1].value if word.value == "-o" and at + 1 < len(arguments) else word.value[2:]
        found = re.match(r"(?:proxycommand|localcommand|knownhostscommand)[= ](.*)", told, re.IGNORECASE | re.DOTALL)
        if found and word.value.startswith("-o"):
            yield Inner(code=Word(found[1], None, True))


def _pager(arguments: list[Word]) -> Iterator[Inner]:
    """`less '+!command'`."""
    for word in arguments:
        found = re.match(r"\++(?:cmd)?\s*[!|]\.?(.*)", word.value, re.DOTALL)
        if found:
            yield Inner(code=Word(found[1], None, True))


def _debugger(arguments: list[Word]) -> Iterator[Inner]:
    """`gdb -ex 'shell command'`."""
    for word in arguments:
        found = re.match(r"\s*(?:shell|!|platform shell|process launch|pipe|make)\s*(.*)", word.value, re.DOTALL)
        if found and (word.value.lstrip().startswith("!") or " " in word.value):
            yield Inner(code=Word(found[1], None, True))


def _option_code(*names: str) -> Callable[[list[Word]], Iterator[Inner]]:
    def read(arguments: list[Word]) -> Iterator[Inner]:
        code = option_value(arguments, *names)
        if code is not None:
            yield Inner(code=code)

    return read


def _vim(arguments: list[Word]) -> Iterator[Inner]:
    for at, word in enumerate(arguments):
        told = word.value[1:] if word.value.startswith("+") else ""
        if word.value in ("-c", "--cmd") and at + 1 < len(arguments):
            told = arguments[at + 1].value
        found = re.match(r":*\s*(?:silent!?\s+)?(?:[%.\d,$]*)!(.*)", told, re.DOTALL)
        if found:
            yield Inner(code=Word(found[1], None, True))
        elif re.search(
            r"system\(|term|^:*\s*(?:lua|py\w*|perl|ruby|tcl|mz\w*)\b|job_start|\bso(?:urce)?\b|delete\(", told
        ):
            yield Inner(code=Word(HOLE))
        if (word.value.startswith("-S") and word.value != "-S") or (word.value == "-S" and at + 1 < len(arguments)):
            yield Inner(code=Word(HOLE))


def _cmd(arguments: list[Word]) -> Iterator[Inner]:
    for at, word in enumerate(arguments):
        if word.value.casefold() in ("/c", "/k", "/r"):
            yield Inner(code=Word(joined(arguments[at + 1 :]), None, True), language="cmd")
            return


def _powershell(arguments: list[Word]) -> Iterator[Inner]:
    for at, word in enumerate(arguments):
        option = word.value.casefold().lstrip("-/")
        named = word.value[:1] in "-/" and bool(option)
        if named and (option in ("ec", "e") or ("encodedcommand".startswith(option) and option.startswith("en"))):
            yield Inner(code=_decoded(arguments[at + 1 :]), language="powershell")
            return
        if named and "command".startswith(option):
            yield Inner(code=Word(joined(arguments[at + 1 :]), None, True), language="powershell")
            return
        if named and "file".startswith(option):
            return
    if arguments and not arguments[0].value.startswith("-"):
        yield Inner(code=Word(joined(arguments), None, True), language="powershell")


def _decoded(words: list[Word]) -> Word:
    from base64 import b64decode
    from binascii import Error

    try:
        return Word(b64decode(words[0].value + "==").decode("utf-16-le"), None, True)
    except (Error, ValueError, IndexError):
        return Word(HOLE)


def _socat(arguments: list[Word]) -> Iterator[Inner]:
    for word in arguments:
        found = re.match(r"(?:EXEC|SYSTEM|SHELL):(.*)", word.value, re.IGNORECASE | re.DOTALL)
        if found:
            yield Inner(code=Word(found[1].strip("'\"").partition(",")[0], None, True))


def _env_split(arguments: list[Word]) -> Iterator[Inner]:
    code = option_value(arguments, "--split-string")
    for at, word in enumerate(arguments):
        bundle = re.match(r"-[iv0]*S", word.value)
        if bundle:
            code = part(word, bundle.end()) if len(word.value) > bundle.end() else next(iter(arguments[at + 1 :]), None)
            break
        valued = at and arguments[at - 1].value in ("-u", "-C", "--unset", "--chdir")
        if not word.value.startswith("-") and "=" not in word.value and not valued:
            break
    if code is not None:
        yield Inner(code=code)


def _npm_call(arguments: list[Word]) -> Iterator[Inner]:
    if (shell := option_value(arguments, "--script-shell")) is not None:
        yield Inner(code=_hidden(shell))
    code = option_value(arguments, "--call")
    if code is None and any(one.value == "-c" for one in arguments):
        code = option_value(arguments, "-c")
    if code is not None:
        yield Inner(code=code)


_OUR_FILES = Late(r"(?:.*/)?rightcall(?:/cli)?(?:/__main__\.py|/__init__\.py)?/?")


def _python(arguments: list[Word]) -> Iterator[Inner]:
    """`python -m NAME` is the program of that name, also in a bundle (`-Im NAME`) and attached (`-mNAME`)."""
    skip = False
    for at, word in enumerate(arguments):
        value = word.value
        if skip:
            skip = False
        elif not value.startswith("-") or value in ("-", "--"):
            if _OUR_FILES.fullmatch(value):
                yield Inner((Word("rightcall"), *arguments[at + 1 :]))
            return
        elif value.startswith("--"):
            skip = value == "--check-hash-based-pycs"
        else:
            letters = re.match(r"-[^mcXWQ]*", value)
            end = letters.end() if letters else 1
            letter, attached = value[end : end + 1], value[end + 1 :]
            if letter == "m":
                name = [Word(attached)] if attached else arguments[at + 1 : at + 2]
                rest = arguments[at + 1 :] if attached else arguments[at + 2 :]
                if name:
                    yield Inner((_module(name[0]), *rest))
            if letter in ("m", "c"):
                return
            skip = letter in ("X", "W", "Q") and not attached


def _module(name: Word) -> Word:
    top = name.value.casefold().partition(".")[0]
    program = _MODULES.get(top)
    return Word(program) if program is not None else name


_MODULES = {"rightcall": "rightcall", "awscli": "aws", "huggingface_hub": "huggingface-cli", "pip": "pip"}
"""Modules that are another program, or that are one by any name below them."""


def _uv(arguments: list[Word]) -> Iterator[Inner]:
    """`uv tool run` is `uvx`."""
    at = action_at("uv", arguments)
    if at >= 0 and [word.value for word in arguments[at : at + 2]] == ["tool", "run"]:
        yield from _behind("uvx", arguments[at + 2 :], _PREFIXES["uvx"])


def _wsl(arguments: list[Word]) -> Iterator[Inner]:
    for inner in _behind("wsl", arguments, _prefix("-d -u --distribution --user --cd")):
        yield Inner(code=Word(joined(inner.words), None, True))


_SPECIAL: dict[str, Callable[[list[Word]], Iterator[Inner]]] = {
    **dict.fromkeys(SHELLS, _shell),
    "eval": _eval,
    "trap": _trap,
    "alias": _alias,
    "ssh": _ssh,
    "autossh": _ssh,
    "mosh": _ssh,
    "find": _find,
    "gfind": _find,
    "fd": _fd,
    "fdfind": _fd,
    "git": _git,
    "kubectl": _kubectl,
    "oc": _kubectl,
    "k": _kubectl,
    "docker": _compose,
    "podman": _compose,
    "docker-compose": lambda arguments: _compose([Word("compose"), *arguments]),
    "su": _dash_c("-c", "--command"),
    "runuser": _dash_c("-c", "--command"),
    "script": _script,
    "flock": _flock,
    "watch": _watch,
    "tmux": _tmux,
    "screen": _screen,
    "tar": _tar,
    "rsync": _option_code("-e", "--rsh", "--rsync-path"),
    "nix-shell": _option_code("--run", "--command"),
    "nix": _option_code("-c", "--command"),
    "vagrant": _option_code("-c", "--command"),
    "sg": _dash_c("-c"),
    "nodemon": _option_code("--exec", "-x"),
    "concurrently": lambda arguments: (
        Inner(code=word) for word in arguments if not word.value.startswith("-") and " " in word.value
    ),
    "hyperfine": lambda arguments: (
        Inner(code=word) for word in arguments if not word.value.startswith("-") and " " in word.value
    ),
    **dict.fromkeys(("vi", "vim", "nvim", "ex", "view", "gvim"), _vim),
    "cmd": _cmd,
    "powershell": _powershell,
    "pwsh": _powershell,
    "socat": _socat,
    "env": _env_split,
    "npx": _npm_call,
    "npm": _npm_call,
    "wsl": _wsl,
    "uv": _uv,
    **dict.fromkeys(("python", "py", "pypy", "ipython"), _python),
    "man": _option_code("-P", "--pager"),
    **dict.fromkeys(("bsdtar", "gtar"), _tar),
    **dict.fromkeys(("scp", "sftp"), _connection),
    **dict.fromkeys(("less", "more", "most"), _pager),
    **dict.fromkeys(("gdb", "lldb", "cgdb"), _debugger),
    "sort": _option_code("--compress-program"),
    "gsort": _option_code("--compress-program"),
    "split": _option_code("--filter"),
    "gsplit": _option_code("--filter"),
    "wget": _option_code("--use-askpass"),
    **dict.fromkeys(("yarn", "pnpm"), _option_code("--script-shell", "--shell-mode-command")),
    "zip": _option_code("-TT", "--unzip-command"),
}
"""What has a way of its own to say what it starts."""
ACTING = frozenset(name for (name, _), runner in _RUNNERS.items() if not runner.elsewhere and name != "git")
"""Those that start programs here by some of their actions."""
RUNNING = frozenset((*_PREFIXES, *_SPECIAL, *_WITH_ACTIONS))
"""Programs that this module sees through."""
