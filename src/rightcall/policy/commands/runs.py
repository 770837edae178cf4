"""One program that would be started: its words, the options among them, what a rule says of it, and which of its words
it writes to.

Options come in bundles (`-rf`), with values behind `=`, attached or in the next word, shortened (`--forc`), and none
stands behind `--`. Where a word can be read in two ways, both count.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct

from rightcall.base.text import regex
from rightcall.policy.commands.places import Place
from rightcall.policy.commands.words import HOLE, Word

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


def unpacks(run: Run) -> bool:
    """Whether `tar` writes what is in an archive."""
    given = {name for name, _ in options_of("tar", run.arguments)}
    return not given.isdisjoint(("-x", "--extract", "--get")) or given.isdisjoint(("-c", "--create", "-t", "--list"))


def writes_to(run: Run) -> list[Word]:
    """The words that name what a command writes."""
    writer = _WRITERS.get(run.program, _outputs)
    return [] if run.elsewhere else writer(run)


_OUTPUTS = regex(
    r"--?(?:out|output|outfile|out-file|output-file|outdir|out-dir|output-dir|dest|destination|dest-dir|target-dir"
    r"|save-to|write-to|[a-z]+_out)"
)
_MAY_NAME = regex(r"\A-o|out|dest|-to\b|-dir")
_OTHER_O = frozenset(
    ("grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ugrep", "git", "ps", "ssh", "sftp", "mount", "kubectl",
     "oc", "k", "set", "find", "gfind", "fd", "docker", "podman", "helm", "az", "bash", "sh", "zsh", "strace", "ltrace",
     "ls", "od", "nm", "objdump", "lsof", "ss", "journalctl", "systemctl", "gdb", "lldb", "node", "test", "[", "[[",
     "echo", "printf", "cat", "head", "tail", "wc", "xargs", "useradd", "usermod", "chown", "dpkg", "apt", "apt-get",
     "jq", "sed")
)  # fmt: skip
"""Programs to which `-o` is something else, or that write nothing."""


def _outputs(run: Run) -> list[Word]:
    """What a program writes that nobody described, where an option says so that means it nearly everywhere. Only what
    may lie elsewhere, or is hidden."""
    if run.program in _OTHER_O or not any(one[:1] == "-" and _MAY_NAME.search(one) for one in run.values):
        return []
    found = [
        word
        for name, word in options_of(run.program, run.arguments)
        if word is not None and (name == "-o" or _OUTPUTS.fullmatch(name)) and word.value[:1] in ("/", "~", ".")
    ]
    pairs = zip(run.values, run.arguments[1:], strict=False)
    return found + [
        word for name, word in pairs
        if (name == "-o" or _OUTPUTS.fullmatch(name)) and word.value[:1] in ("/", "~", ".") and word not in found
    ]  # fmt: skip


def _last(valued: str) -> Callable[[Run], list[Word]]:
    def read(run: Run) -> list[Word]:
        into = run.option("-t", "--target-directory") if run.program not in ("rsync", "scp") else None
        operands = run.operands(valued)
        if into is not None:
            return [into]
        return operands[-1:] if len(operands) > 1 else []

    return read


def _all(valued: str = "") -> Callable[[Run], list[Word]]:
    return lambda run: run.operands(valued)


def _named(*options: str) -> Callable[[Run], list[Word]]:
    def read(run: Run) -> list[Word]:
        return values_of(run.program, run.arguments, options)

    return read


def _compiled_to(run: Run) -> list[Word]:
    """`gcc -o x`; of its other options many have an `o` in them."""
    return [word for at, word in enumerate(run.arguments[1:]) if run.values[at] == "-o"]


def _made_by_python(run: Run) -> list[Word]:
    return run.operands("-m --prompt")[:9] if run.values[:2] == ["-m", "venv"] else []


def _installed_to(run: Run) -> list[Word]:
    """`make install prefix=/usr`; with `DESTDIR` it goes elsewhere."""
    if "install" not in run.values or any(one.startswith("DESTDIR=") for one in run.values):
        return []
    return [Word(one.partition("=")[2]) for one in run.values if one.casefold().startswith("prefix=")]


def _written_by_git(run: Run) -> list[Word]:
    """What is written besides the files of the work tree."""
    if not any(one.startswith(("-o", "--o", "--se")) or one in ("bundle", "mv") for one in run.values):
        return []
    at = action_at("git", run.arguments)
    action, rest = (run.values[at], run.arguments[at + 1 :]) if at >= 0 else ("", [])
    found = value_of("git", rest, "--output", "--separate-git-dir", "--output-directory")
    if found is None and action in ("archive", "format-patch"):
        found = value_of("git", rest, "-o")
    if action == "bundle" and rest and rest[0].value == "create":
        found = next((word for word in rest[1:] if word.value == "-" or not word.value.startswith("-")), None)
    if action == "mv":
        found = next((word for word in reversed(rest) if not word.value.startswith("-")), None)
    return [found] if found is not None and found.value != "-" else []


_CONSOLE_READS = regex(
    r"(?:^|[\s;])\.(?:import|read|restore|open|load)\s+(?:-\S+\s+(?:\d+\s+)?)*['\"]?([^\s'\";]+)"
    r"|\b(?:readfile|read_\w+|load_file|pg_read_\w+|lo_import|glob)\s*\(\s*['\"]([^'\"]+)"
    r"|\b(?:from|infile|attach(?:\s+database)?)\s+['\"]([^'\"]+)['\"]", re.IGNORECASE,
)  # fmt: skip


def read_by_console(run: Run) -> list[Word]:
    """Files that a client of a database is told to read: `.import x`, `select readfile('x')`."""
    texts = [one for one in (*run.values, run.text or "") if len(one) < 5000]
    found = (one for text in texts for found in _CONSOLE_READS.findall(text) for one in found if one)
    return [Word(one, one if re.search(r"[*?\[]", one) else None) for one in found]


_CONSOLE_WRITES = regex(r"(?:^|[\s;])(?:\.(?:output|once|backup|save|clone|log)|\\[oT])\s+(?!stdout)['\"]?([^\s'\";]+)")


def _written_by_console(run: Run) -> list[Word]:
    """Files that a client of a database is told to write: `.output x`, `\\o x`."""
    texts = [one for one in (*run.values, run.text or "") if len(one) < 5000]
    return [Word(path) for text in texts for path in _CONSOLE_WRITES.findall(text)]


_SED_WRITES = regex(r"(?:^|[;{}\n]|s(.).*\1[a-zA-Z0-9]*|/|\d|\$)[wW]\s+([^\s;}]+)")


def _written_by_sed(run: Run) -> list[Word]:
    """Files edited in their place, and those that `w` names."""
    scripts = [word for name, word in options_of(run.program, run.arguments) if name in ("-e", "--expression") and word]
    scripts = scripts or run.operands("-e -f --expression --file -l -E")[:1]
    named = [Word(found[2]) for word in scripts if len(word.value) < 5000 for found in _SED_WRITES.finditer(word.value)]
    return [*_in_place(run), *named]


def _in_place(run: Run) -> list[Word]:
    if not any(re.match(r"-[a-zA-Z]*i|--in?-?p?l?a?c?e?", value) for value in run.values):
        return []
    operands = run.operands("-e -f --expression --file -l")
    given = gives_pattern(run.program, run.values)
    return operands if given or run.program not in ("sed", "gsed") else operands[1:]


_WITH_TEXT = {"perl": "iIMmFxCD", "ruby": "iIFxCrE", "sed": "il", "gsed": "il"}
"""Letters behind which the rest of a bundle is no option: `-i.bak`."""


def gives_pattern(program: str, values: list[str]) -> bool:
    """Whether an option gives the pattern or script, which the first operand would be otherwise: `-e x`, `-ex`, `-iex`.

    >>> gives_pattern("grep", ["-iekey"]), gives_pattern("grep", ["-thelm"]), gives_pattern("sed", ["-i.before"])
    (True, False, False)
    """
    closing = _WITH_TEXT.get(program, "ABCmdDgjMtTvF")
    for value in values:
        if value == "--":
            return False
        if value.startswith("--"):
            if value.partition("=")[0] in {"--regexp", "--file", "--expression", "--from-file"}:
                return True
        elif value.startswith("-"):
            for letter in value[1:]:
                if letter in "efE" and (letter != "E" or program == "perl"):
                    return True
                if letter in closing:
                    break
    return False


def _written_by_cmdlet(run: Run) -> list[Word]:
    """`Set-Content -Path x`, `Copy-Item a b`."""
    copies = run.program in ("copy-item", "move-item")
    names = ("-destination",) if copies else ("-path", "-literalpath", "-filepath")
    for before, word in zip(run.values, run.arguments[1:], strict=False):
        if before.casefold() in names:
            return [word]
    operands = run.operands()
    return operands[1:2] if copies else operands[:1]


_WRITERS: dict[str, Callable[[Run], list[Word]]] = {
    **dict.fromkeys(("cp", "mv", "ln", "gcp", "gmv"), _last("-t -S --suffix")),
    "install": _last("-t -S -m -o -g --suffix --mode --owner --group"),
    "rsync": _last("-e -B -T -f -M --rsh --exclude --include --exclude-from --include-from --files-from --filter"),
    "scp": _last("-P -i -o -c -F -l -S -J -D -X"),
    **dict.fromkeys(("tee", "rmdir", "sponge"), _all()),
    **dict.fromkeys(("mkdir", "mkfifo"), _all("-m --mode")),
    "touch": _all("-d -r -t --date --reference --time"),
    "truncate": _all("-s -r --size --reference"),
    "patch": _all("-d -p -i -r --directory --strip --input --reject-file"),
    "cpio": _named("-D", "--directory"),
    **dict.fromkeys(("sed", "gsed"), _written_by_sed),
    **dict.fromkeys(("perl", "ruby"), _in_place),
    **dict.fromkeys(("gawk", "awk"), lambda run: run.operands("-i -v -f -F")[1:] if "inplace" in run.values else []),
    "dd": lambda run: [Word(word.value[3:]) for word in run.arguments if word.value.startswith("of=")],
    "curl": _named("-o", "--output", "--output-dir", "-c", "--cookie-jar", "-D", "--dump-header", "--stderr"),
    "wget": _named("-O", "--output-document", "-P", "--directory-prefix", "-o", "-a", "--save-cookies"),
    **dict.fromkeys(("tar", "bsdtar", "gtar"), lambda run: _named("-C", "--directory")(run) if unpacks(run) else []),
    "unzip": _named("-d"),
    "git": _written_by_git,
    **dict.fromkeys(("diff", "shuf", "tree", "jc", "pandoc", "dot", "pdftotext"), _named("-o", "--output")),
    "uniq": lambda run: run.operands("-f -s -w")[1:2],
    "xxd": lambda run: run.operands("-c -g -l -o -s -n")[1:2] if run.has("-r", "-revert") else [],
    "ssh-keygen": lambda run: [] if run.has("-l", "-F") else _named("-f")(run),
    **dict.fromkeys(("sqlite3", "psql", "mysql", "duckdb"), _written_by_console),
    **dict.fromkeys(("pip", "pip3"), _named("-t", "--target", "--prefix", "--root", "-d", "--dest", "-w")),
    "aria2c": _named("-d", "--dir", "-o", "--out"),
    **dict.fromkeys(("pg_dump", "pg_dumpall"), _named("-f", "--file")),
    **dict.fromkeys(("7z", "7za", "7zz"), lambda run: [Word(one[2:]) for one in run.values if re.match("-o.", one)]),
    **dict.fromkeys(("ffmpeg", "convert", "magick"), lambda run: run.arguments[-1:] if len(run.arguments) > 1 else []),
    **dict.fromkeys(("zipfile", "tarfile"), lambda run: run.operands()[-1:] if run.has("-e", "--extract") else []),
    "csplit": _named("-f", "--prefix"),
    "sort": _named("-o", "--output"),
    "openssl": _named("-out"),
    **dict.fromkeys(("gcc", "g++", "cc", "c++", "clang", "clang++", "go", "rustc", "ld"), _compiled_to),
    **dict.fromkeys(("python", "python3"), _made_by_python),
    **dict.fromkeys(("make", "gmake"), _installed_to),
    "cmake": _named("--prefix", "--install-prefix"),
    "gpg": _named("-o", "--output"),
    "split": lambda run: run.operands("-l -b -n -a -C -t")[1:],
    "ex": _all(),
    **dict.fromkeys(
        ("set-content", "add-content", "out-file", "new-item", "copy-item", "move-item"), _written_by_cmdlet
    ),
}
