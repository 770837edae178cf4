"""One program that would be started: its words, the options among them, what a rule says of it, and which of its words
it writes to.

Options come in bundles (`-rf`), with values behind `=`, attached or in the next word, shortened (`--forc`), and none
stands behind `--`. Where a word can be read in two ways, both count.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct

from rightcall.base.text import regex
from rightcall.policy.commands.places import Place
from rightcall.policy.commands.words import HOLE, Word

SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "rbash", "mksh", "yash", "csh", "tcsh"))
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
_DRY = regex(r"-[a-zA-Z]*?n[a-zA-Z]*")
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


# ── runs ──
# One program that would be started, with its words; what a rule says of it; and which of its words it writes to.

SECRET_NAME = regex(
    r"(?:^|_)(?:SECRET|SECRETS|TOKEN|TOKENS|PASSW(?:OR)?D|PASSWD|PASS|PASSPHRASE|CREDENTIALS?|AUTH|PAT"
    r"|PRIVATE_KEY|COOKIE"
    r"|DSN|KEY|APIKEY|API_KEY|ACCESS_KEY|DATABASE_URL|DB_URL|REDIS_URL|MONGO_URI|MONGODB_URI|CONNECTION_STRING|SESSION)"
    r"(?:$|_)|PGPASSWORD|TOKEN$|SECRET$|APIKEY$|PASSWORD$",
    re.IGNORECASE,
)  # fmt: skip
"""Variables that are named like secrets."""
_SECRET_VALUE = regex(
    r"AKIA|ASIA|sk_live|sk-(?:ant|proj|live)|gh[pousr]_|github_pat|xox[bpas]|glpat|AIza|PRIVATE KEY|BEGIN (?:RSA|EC)"
    r"|(?:AWS|API|AUTH|ACCESS|PRIVATE|CLIENT|SECRET|DB|STRIPE|OPENAI|GITHUB|NPM|SLACK)_(?:SECRET|KEY|TOKEN|PASS)"
    r"|^\W*(?:SECRET|PASSWORD|PASSWD|TOKEN|CREDENTIALS?|API_?KEY)S?\W*$"
    r"|(?i:(?:passw(?:or)?d|passwd|secret|token|api[-_.?\[\]]*key|credentials?)s?\)?(?:\\s|[\s*+?]|\[\^?[^\]]*\])*[=:])"
)


def seeks_secrets(pattern: str) -> bool:
    """Whether a search is for secrets themselves, and not for where code speaks of them.

    >>> [seeks_secrets(one) for one in ("AWS_SECRET", "password=", "password", "token_count", "resetPassword")]
    [True, True, False, False, False]
    """
    return len(pattern) < 1000 and _SECRET_VALUE.search(pattern) is not None


FETCHERS = frozenset(
    ("curl", "wget", "http", "https", "xh", "fetch", "aria2c", "lynx", "links", "w3m", "nc", "ncat", "netcat",
     "socat", "ftp", "lftp", "gsutil", "axel", "curlie", "invoke-webrequest", "iwr", "irm", "invoke-restmethod",
     "gh", "scp")
)  # fmt: skip
"""Programs that bring something from the network."""

_LOADED = frozenset(
    ("LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "ENV", "PROMPT_COMMAND", "PYTHONSTARTUP", "PERL5OPT", "RUBYOPT",
     "LD_AUDIT", "PERL5DB", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "PYTHONHOME", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS",
     "ZDOTDIR", "PS4")
)  # fmt: skip
"""What they name is loaded or run by other programs."""
_NPM_SETTING = regex(r"(?i:npm_config_(?:script_shell|shell|git|node_options|userconfig|globalconfig))")
_GUARDED_BY = frozenset(
    ("RIGHTCALL_POLICY", "XDG_STATE_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_SYSTEM_SETTINGS_PATH")
)
"""They say where our own policy and state lie, and where a host looks for its hooks."""
_UNHOOKED = {
    "HUSKY": ("0", "false"), "LEFTHOOK": ("0", "false"), "HUSKY_SKIP_HOOKS": None, "LEFTHOOK_EXCLUDE": None,
    "LEFTHOOK_SKIP": None, "SKIP": None, "PRE_COMMIT_ALLOW_NO_CONFIG": None, "OVERCOMMIT_DISABLE": None,
    "SKIP_SIMPLE_GIT_HOOKS": None,
}  # fmt: skip
"""Variables by which the hooks of git are left out, with the values that say so; None: any but those that say no."""
_REGISTRIES = regex(
    r"(?:PIP|UV)_(?:EXTRA_)?(?:DEFAULT_)?INDEX(?:_URL)?|PIP_FIND_LINKS|(?:NPM|YARN|BUN|PNPM)_(?:CONFIG_)?\w*REGISTRY\w*"
    r"|GOPROXY|GEM_HOST|BUNDLE_MIRROR\w*|CARGO_REGISTR\w*_INDEX|CONDA_CHANNELS|POETRY_REPOSITORIES_\w+",
    re.IGNORECASE,
)
_USUAL = regex(
    r"(?:https://)?(?:pypi\.org|registry\.npmjs\.org|registry\.yarnpkg\.com|proxy\.golang\.org|download\.pytorch\.org"
    r"|npm\.pkg\.github\.com)(?:[/,].*)?|off|direct|https?://(?:localhost|127\.0\.0\.1)(?:[:/].*)?"
)
_UNCHECKED = {
    "NODE_TLS_REJECT_UNAUTHORIZED": "0", "PYTHONHTTPSVERIFY": "0", "GIT_SSL_NO_VERIFY": "1true",
    "NPM_CONFIG_STRICT_SSL": "false", "GONOSUMCHECK": "1", "GONOSUMDB": "*", "GOFLAGS": "-insecure", "GOSUMDB": "off",
}  # fmt: skip
_EVERYBODYS = regex(r"/(?:tmp|var/tmp|dev/shm)(?:/|$)")
"""Where anybody may put a program under the name of another."""
_OWN_BINS = regex(r"(?:\./)?(?:node_modules/\.bin|\.?venv/bin|vendor/bin)/?")


def skips_hooks(name: str, value: str) -> bool:
    """Whether a variable before git leaves out the checks of a project, as `--no-verify` does.

    >>> skips_hooks("HUSKY", "0"), skips_hooks("HUSKY", "1"), skips_hooks("SKIP", "mypy,ruff")
    (True, False, True)
    """
    if name not in _UNHOOKED:
        return False
    told = _UNHOOKED[name]
    return value.casefold() in told if told is not None else value.casefold() not in ("", "0", "false")


def why_dangerous(name: str, value: str) -> str:
    """The kind of a variable that makes other programs load, run or trust something; "" for any other."""
    if name in _LOADED or name.startswith("BASH_FUNC_"):  # `ENV` is a file to a shell, and a mode to many others
        return "escalates" if value and (name != "ENV" or re.search(r"[/.~$`]|\ue000", value)) else ""
    if _NPM_SETTING.fullmatch(name):
        return "escalates"
    if name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"):
        return "" if all(one.startswith(("/usr/", "/opt/", "/lib", HOLE)) or not one for one in value.split(":")) else \
            "escalates"  # fmt: skip
    if name == "PATH":
        return "escalates" if any(_is_odd_entry(one) for one in value.split(":")) else ""
    if name == "HISTFILE" or (name in ("HISTSIZE", "HISTFILESIZE") and value == "0"):
        return "guards" if value in ("", "0", "/dev/null") else ""
    if name in _GUARDED_BY:
        return "guards"
    if name == "DOCKER_HOST":
        return "" if not value or value.startswith(("unix:", "npipe:", "fd:")) else "publishes"
    if name in ("MAKEFLAGS", "GNUMAKEFLAGS", "MFLAGS"):
        return "runs" if re.search(r"--eval|-f|SHELL=|--file|--makefile", value) else ""
    if name in ("PYTHONPATH", "NODE_PATH", "PERL5LIB", "RUBYLIB", "CLASSPATH", "GOPATH", "LUA_PATH"):
        return "escalates" if any(_EVERYBODYS.match(one) for one in value.split(":")) else ""
    if name == "GOFLAGS" and re.search(r"-(?:toolexec|exec|vettool)\b", value):
        return "runs"
    if name == "NODE_OPTIONS":
        return "runs" if re.search(r"(?:^|\s)(?:-r|--require|--import|--(?:experimental-)?loader)\b", value) else ""
    if name.startswith("GIT_CONFIG") and name != "GIT_CONFIG_NOSYSTEM":
        return "runs" if value not in ("", "/dev/null", "0") else ""
    if _REGISTRIES.fullmatch(name):
        return "network" if value and not _USUAL.fullmatch(value) else ""
    wanted = _UNCHECKED.get(name.upper())
    return "escalates" if wanted is not None and value and value in wanted else ""


def _is_odd_entry(entry: str) -> bool:
    """A folder of `PATH` that depends on where one stands."""
    if _EVERYBODYS.match(entry):
        return re.search(r"/(?:node_modules/\.bin|\.?venv/bin)/?$", entry) is None
    return not entry.startswith(("/", "~", HOLE)) and not _OWN_BINS.fullmatch(entry)


class RuleHit(NamedTuple):
    """What a rule finds: its kind, the words that matter, and the options an allowance has to name."""

    kind: str
    words: str
    options: tuple[str, ...] = ()
    deny: bool = False


class Run(Struct):
    """One program that would be started."""

    program: str
    name: Word
    arguments: list[Word]
    folders: tuple[str, ...]
    elsewhere: bool = False
    more: bool = False
    """Further words come from somewhere else."""
    text: str | None = None
    """What it reads from its input, where that is known."""
    fed: tuple[str, ...] = ()
    """Programs whose output it reads."""
    values: list[str] = []
    redirected: bool = False
    printed: tuple[str, ...] = ()
    """Programs whose output stands in its words."""
    carried: tuple[str, ...] = ()
    """Programs whose output comes to it in variables, or from `xargs`."""
    listed: bool = False
    """Its further words are names of files, or numbers."""
    narrowed: bool = False
    """All that is left of its output behind a pipe are lines that are harmless: `env | grep PATH`."""

    def operands(self, valued: str = "") -> list[Word]:
        """Words that are no options and no values of those that `valued` names."""
        taking = frozenset(valued.split())
        found: list[Word] = []
        at = 0
        plain = False
        while at < len(self.arguments):
            word = self.arguments[at]
            if plain or not word.value.startswith("-") or word.value == "-":
                found.append(word)
            elif word.value == "--":
                plain = True
            else:
                at += takes_value(word.value, taking)
            at += 1
        return found

    def has(self, *options: str) -> bool:
        """Whether an option is given, also in a bundle of single letters."""
        for value in self.values:
            if value == "--":
                return False
            if value in options:
                return True
            if value.startswith("--"):
                name = value.partition("=")[0]
                if name in options or (abbreviates(self.program) and any(is_meant(one, name) for one in options)):
                    return True
            bundle = value[1:] if value[:1] == "-" and value[1:2] != "-" else ""
            if any(len(option) == 2 and option[1] in bundle for option in options):
                return True
        return False

    def option(self, *names: str) -> Word | None:
        """The value of an option, as `value_of` reads it."""
        return value_of(self.program, self.arguments, *names)

    def wholes(self, word: Word, place: Place) -> list[str]:
        return [place.whole(folder, word.value) for folder in self.folders]
