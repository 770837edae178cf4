"""Programs with a way of their own to say what they start: `ssh host cmd`, `find -exec`, `git -c alias.x=!cmd`, `vim -c
'!cmd'`. Those that only stand before another command are in `wrappers.py`."""

import re
from collections.abc import Callable, Iterator

from rightcall.base.text import regex
from rightcall.policy.commands.runs import SHELLS, action_at, option_value, part, takes_value
from rightcall.policy.commands.words import HOLE, Word, joined, unversioned
from rightcall.policy.commands.wrappers import (
    EDITORS,
    LINE_EDITORS,
    PREFIXES,
    RUNNERS,
    Inner,
    behind,
    command_texts,
    hidden,
    obeys_input,
    prefix,
    read_editor,
    shell_code,
)

_GIT_CODE = regex(
    r"(?:alias\..+|core\.(?:pager|editor|sshcommand|fsmonitor|askpass|hookspath)|credential\..*helper|.*\.(?:cmd|driver"
    r"|textconv|command|clean|smudge|process)|pager\..+|sequence\.editor|diff\.external|gpg\..*program|uploadpack\..*)",
    re.IGNORECASE | re.DOTALL,
)
_SSH = frozenset(
    ("-p", "-i", "-l", "-o", "-L", "-R", "-D", "-F", "-J", "-b", "-c", "-E", "-e", "-I", "-m", "-O", "-Q", "-S", "-W",
     "-w", "-B")
)  # fmt: skip


def inner_of(program: str, arguments: list[Word]) -> Iterator[Inner]:
    """Everything that a command would start, besides itself."""
    special = _SPECIAL.get(program) or _SPECIAL.get(unversioned(program))
    if special is not None:
        yield from special(arguments)
    before = PREFIXES.get(program)
    if before is not None:
        yield from behind(program, arguments, before)
        return
    if program in _WITH_ACTIONS:
        at = action_at(program, arguments)
        if at >= 0:
            runner = RUNNERS.get((program, arguments[at].value))
            if runner is not None:
                yield from behind(program, arguments[at + 1 :], runner)


_WITH_ACTIONS = frozenset(name for name, _ in RUNNERS)


def _shell(arguments: list[Word]) -> Iterator[Inner]:
    code = shell_code(arguments)
    if code is not None:
        at = next((at for at, word in enumerate(arguments, 1) if word is code), len(arguments))
        yield Inner(code=code, given=tuple(arguments[at:]))


def _fish(arguments: list[Word]) -> Iterator[Inner]:
    yield from _shell(arguments)
    yield from _option_code("-C", "--init-command")(arguments)


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


_SETS_UP = {
    **dict.fromkeys(("pyenv", "rbenv", "nodenv", "goenv", "jenv", "starship", "zoxide", "atuin"),
                    ("init", "virtualenv-init")),
    **dict.fromkeys(("fnm", "opam", "volta", "docker-machine"), ("env",)),
    **dict.fromkeys(("ssh-agent", "dircolors", "lesspipe", "resize"), ("", "-s", "-b", "-c")),
    **dict.fromkeys(("conda", "mamba", "micromamba"), ("shell.bash", "shell.zsh", "shell")),
    "brew": ("shellenv",), "direnv": ("hook",), "mise": ("activate",), "minikube": ("docker-env", "completion"),
    "thefuck": ("--alias",),
    **dict.fromkeys(("kubectl", "helm", "gh", "glab", "npm", "docker", "pip", "rustup", "poetry", "kind", "k3d", "oc",
                     "argocd", "flux", "eksctl", "doctl", "yq", "deno", "rightcall"), ("completion", "completions")),
    **dict.fromkeys(("uv", "uvx"), ("generate-shell-completion", "--generate-shell-completion")),
}  # fmt: skip
"""Programs whose output is meant to be run by the shell that starts them, and the word that they are told so by."""


def sets_up(words: list[Word]) -> bool:
    """Whether a command prints how a shell is set up for a program: `pyenv init -`, `ssh-agent -s`.

    >>> sets_up([Word("pyenv"), Word("init"), Word("-")]), sets_up([Word("cat"), Word("init")])
    (True, False)
    """
    told = _SETS_UP.get(words[0].value, ()) if words else ()
    return (words[1].value if len(words) > 1 else "") in told and all(word.known for word in words)


def _arithmetic(arguments: list[Word]) -> Iterator[Inner]:
    """`let 'x=a[$(rm y)]'`: what is quoted there is expanded once more."""
    for word in arguments:
        if word.quoted and "[" in word.value:
            yield from (Inner(code=Word(one, None, True)) for one in re.findall(r"\$\((.*)\)", word.value)[:9])


def _replaces(option: str) -> Callable[[list[Word]], Iterator[Inner]]:
    """An option by which a name stands for another program from then on."""
    return lambda arguments: (Inner(code=Word(HOLE)) for one in arguments[:1] if one.value.startswith(option))


def _loads(pattern: str, *names: str) -> Callable[[list[Word]], Iterator[Inner]]:
    """Options that load code: what is not of the project cannot be judged."""
    meant = regex(pattern, re.DOTALL)

    def read(arguments: list[Word]) -> Iterator[Inner]:
        for at, word in enumerate(arguments):
            if (loaded := option_value(arguments[at : at + 2], *names)) is not None and meant.fullmatch(loaded.value):
                yield Inner(code=Word(HOLE))
            if not word.value.startswith("-"):
                return

    return read


def _trap(arguments: list[Word]) -> Iterator[Inner]:
    arguments = arguments[1:] if arguments and arguments[0].value == "--" else arguments
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
        names = [one for at, one in enumerate(rest) if not one.value.startswith("-")
                 and (not at or rest[at - 1].value not in ("-f", "--file"))]  # fmt: skip
        if len(names) >= 2:
            yield from _git_setting(f"{names[0].value}={names[1].value}")
    elif action == "bisect" and rest and rest[0].value == "run":
        yield Inner(tuple(rest[1:]))
    elif action == "rebase":
        codes = [rest[n + 1] for n, one in enumerate(rest[:-1]) if re.fullmatch(r"-[a-z]*x|--exec", one.value)]
        attached = option_value(rest, "-x", "--exec")
        yield from (Inner(code=code) for code in (*codes, *([attached] if attached is not None else [])))
    elif action == "submodule" and any(one.value == "foreach" for one in rest):
        at = next(at for at, one in enumerate(rest, 1) if one.value == "foreach")
        at = next((at for at in range(at, len(rest)) if not rest[at].value.startswith("-")), len(rest))
        yield Inner(code=Word(joined(rest[at:]), None, True))
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
        yield Inner(code=hidden(Word(value.lstrip("!"), None, True)))


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
            yield from behind("docker", rest[1:], RUNNERS["docker", "exec"])
    entry = option_value(arguments, "--entrypoint")
    if entry is not None:
        image = [word for word in arguments if word.known and not word.value.startswith("-")]
        yield Inner((entry, *image[-1:]), elsewhere=True)


def _script(arguments: list[Word]) -> Iterator[Inner]:
    """`script -c 'command' file`, and `script file command` as BSD has it."""
    yield from _dash_c("-c", "--command")(arguments)
    yield from behind("script", arguments, prefix("-c --command -I -O -B -E -T -o -m -t", 1))


def _runuser(arguments: list[Word]) -> Iterator[Inner]:
    yield from _dash_c("-c", "--command")(arguments)
    yield from behind("runuser", arguments, prefix("-c --command -u --user -g --group -G -s --shell -w"))


def _flock(arguments: list[Word]) -> Iterator[Inner]:
    code = option_value(arguments, "-c", "--command")
    if code is not None:
        yield Inner(code=code)
        return
    yield from behind("flock", arguments, prefix("-w -E --timeout", 1))


def _watch(arguments: list[Word]) -> Iterator[Inner]:
    for inner in behind("watch", arguments, prefix("-n --interval -q")):
        yield Inner(code=Word(joined(inner.words), None, True))


def _tmux(arguments: list[Word]) -> Iterator[Inner]:
    at = action_at("tmux", arguments)
    if at < 0 or arguments[at].value not in (
        "new", "new-session", "neww", "new-window", "split-window", "splitw", "send-keys", "send", "run-shell", "run",
        "respawn-pane", "if-shell", "popup", "display-popup", "pipe-pane",
    ):  # fmt: skip
        return
    sent = arguments[at].value.startswith("send")
    if arguments[at].value == "if-shell":
        yield from (
            Inner(code=Word(f"tmux {one.value}", None, True)) for one in arguments[at + 1 :] if " " in one.value
        )
    for inner in behind("tmux", arguments[at + 1 :], prefix("-s -t -n -c -x -y -F -e -p" + " -l" * (not sent))):
        keys = [one for one in inner.words if not (sent and one.value in ("Enter", "C-m", "C-c", "C-d"))]
        if keys:
            yield Inner(code=Word(joined(keys), None, True))


def _screen(arguments: list[Word]) -> Iterator[Inner]:
    yield from behind("screen", arguments, prefix("-S -c -e -h -p -s -t -T"))


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


def _connection(arguments: list[Word]) -> Iterator[Inner]:
    """`scp -S program`, `scp -o ProxyCommand=…`."""
    for at, word in enumerate(arguments[:-1]):
        if word.value == "-S":
            yield Inner(code=hidden(arguments[at + 1]))
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
    """`gdb -ex 'shell command'`, `gdb --args command`."""
    at = next((at for at, word in enumerate(arguments, 1) if word.value in ("--args", "-args", "--")), len(arguments))
    if arguments[at:]:
        yield Inner(tuple(arguments[at:]))
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


def _nix(arguments: list[Word]) -> Iterator[Inner]:
    """`nix develop -c command words`."""
    at = next((at for at, word in enumerate(arguments, 1) if word.value in ("-c", "--command")), len(arguments))
    if arguments[at:]:
        yield Inner(tuple(arguments[at:]))


def _tool(*names: str) -> Callable[[list[Word]], Iterator[Inner]]:
    """Options that put a program between a compiler and its tools."""

    def read(arguments: list[Word]) -> Iterator[Inner]:
        tool = option_value(arguments, *names)
        if tool is not None:
            yield Inner(code=hidden(Word(tool.value.replace(",", " "), None, True)))

    return read


def _fzf(arguments: list[Word]) -> Iterator[Inner]:
    """`fzf --preview 'command'`, `--bind 'enter:execute(command)'`."""
    yield from _option_code("--preview")(arguments)
    for word in arguments:
        for code in re.findall(r"(?:execute(?:-silent)?|become|reload|preview|transform)[(\[{:~!@#](.*)", word.value):
            yield Inner(code=Word(re.sub(r"[)\]}]$", "", code).replace("{}", "x"), None, True))


def _settings(arguments: list[Word]) -> Iterator[Inner]:
    """`make CC='rm x'`: what a variable holds is run by the recipes."""
    for word in arguments:
        name, _, value = word.value.partition("=")
        if " " in value.strip() and name.isidentifier():
            yield Inner(code=Word(value, None, True, word.names, word.inner))


def _editor(arguments: list[Word]) -> Iterator[Inner]:
    """What an editor starts by its options; `-S` and, but for the editors of lines, `-s` name a script."""
    for text in command_texts(arguments):
        told = read_editor(text)
        yield from (Inner(code=Word(code, None, True)) for code in told.codes)
        if told.unknown:
            yield Inner(code=Word(HOLE))
    if any(word.value.startswith("-S") for word in arguments):
        yield Inner(code=Word(HOLE))


def _vim(arguments: list[Word]) -> Iterator[Inner]:
    yield from _editor(arguments)
    if any(word.value == "-s" for word in arguments[:-1]) and not obeys_input("vim", arguments):
        yield Inner(code=Word(HOLE))


def _line_editor(arguments: list[Word]) -> Iterator[Inner]:
    """`ed '!command'` edits what a command prints."""
    yield from (Inner(code=Word(one.value[1:], None, True)) for one in arguments if one.value.startswith("!"))


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
            yield Inner(code=Word(HOLE))  # nobody who is asked can read it
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
        yield Inner(code=hidden(shell))
    code = option_value(arguments, "--call")
    if code is None and any(one.value == "-c" for one in arguments):
        code = option_value(arguments, "-c")
    if code is not None:
        yield Inner(code=code)


_OUR_FILES = regex(r"(?:.*/)?rightcall(?:/cli)?(?:/__main__\.py|/__init__\.py)?/?")


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


_MODULES = {
    "rightcall": "rightcall",
    "awscli": "aws",
    "huggingface_hub": "huggingface-cli",
    "pip": "pip",
    "code": "python",
}
"""Modules that are another program, or that are one by any name below them."""


def _uv(arguments: list[Word]) -> Iterator[Inner]:
    """`uv tool run` is `uvx`."""
    at = action_at("uv", arguments)
    if at >= 0 and [word.value for word in arguments[at : at + 2]] == ["tool", "run"]:
        yield from behind("uvx", arguments[at + 2 :], PREFIXES["uvx"])


def _wsl(arguments: list[Word]) -> Iterator[Inner]:
    for inner in behind("wsl", arguments, prefix("-d -u --distribution --user --cd")):
        yield Inner(inner.words)  # behind `-e` no shell reads it
        yield Inner(code=Word(joined(inner.words), None, True))


_SPECIAL: dict[str, Callable[[list[Word]], Iterator[Inner]]] = {
    **dict.fromkeys(SHELLS, _shell),
    "fish": _fish,
    "eval": _eval,
    **dict.fromkeys(("let", "test", "[", "[["), _arithmetic),
    "hash": _replaces("-p"),
    "enable": _replaces("-f"),
    "node": _loads(
        r"(?:/|~|\.\./|data:|https?:).*", "-r", "--require", "--import", "--loader", "--experimental-loader"
    ),
    "ruby": _loads(r"(?:/|~|\.\./).*", "-r"),
    "php": _loads(r"auto_(?:prepend|append)_file=.*|extension=.*/.*", "-d"),
    "bind": lambda arguments: (
        Inner(code=Word(word.value.partition(":")[2].strip("\"' "), None, True))
        for word in arguments
        if ":" in word.value
    ),
    "complete": _option_code("-C"),
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
    "runuser": _runuser,
    "script": _script,
    "flock": _flock,
    "watch": _watch,
    "tmux": _tmux,
    "screen": _screen,
    "tar": _tar,
    "rsync": _option_code("-e", "--rsh", "--rsync-path"),
    "nix-shell": _option_code("--run", "--command"),
    "nix": _nix,
    "vagrant": _option_code("-c", "--command"),
    "sg": _dash_c("-c"),
    "nodemon": _option_code("--exec", "-x"),
    "concurrently": lambda arguments: (
        Inner(code=word) for word in arguments if not word.value.startswith("-") and " " in word.value
    ),
    "hyperfine": lambda arguments: (
        Inner(code=word) for word in arguments if not word.value.startswith("-") and " " in word.value
    ),
    **dict.fromkeys(EDITORS, _vim),
    "ex": _editor,
    **dict.fromkeys(LINE_EDITORS, _line_editor),
    "go": _tool("-toolexec", "--toolexec", "-exec", "--exec", "-vettool", "--vettool"),
    **dict.fromkeys(("gcc", "g++", "cc", "clang"), _tool("-wrapper")),
    "rg": _tool("--pre"),
    "ag": _option_code("--pager"),
    "fzf": _fzf,
    "cargo": _loads(r".*(?:wrapper|runner|linker).*", "--config"),
    **dict.fromkeys(("make", "gmake"), _settings),
    **dict.fromkeys(("fly", "flyctl"), _option_code("-C", "--command")),
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
ACTING = frozenset(name for (name, _), runner in RUNNERS.items() if not runner.elsewhere and name != "git")
"""Those that start programs here by some of their actions."""
RUNNING = frozenset((*PREFIXES, *_SPECIAL, *_WITH_ACTIONS))
"""Programs that this module sees through."""
