"""One program that would be started, with its words; what a rule says of it; and which of its words it writes to."""

import re
from collections.abc import Callable
from typing import NamedTuple

from msgspec import Struct

from rightcall.commands.places import Place
from rightcall.commands.words import HOLE, Word
from rightcall.commands.wrappers import option_value, takes_value
from rightcall.parse.late import Late

SECRET_NAME = Late(
    r"(?:^|_)(?:SECRET|SECRETS|TOKEN|TOKENS|PASSW(?:OR)?D|PASSWD|PASS|PASSPHRASE|CREDENTIALS?|AUTH|PAT"
    r"|PRIVATE_KEY|COOKIE"
    r"|DSN|KEY|APIKEY|API_KEY|ACCESS_KEY|DATABASE_URL|DB_URL|REDIS_URL|MONGO_URI|MONGODB_URI|CONNECTION_STRING|SESSION)"
    r"(?:$|_)|PGPASSWORD|TOKEN$|SECRET$|APIKEY$|PASSWORD$",
    re.IGNORECASE,
)  # fmt: skip
"""Variables that are named like secrets."""
FETCHERS = frozenset(
    ("curl", "wget", "http", "https", "xh", "fetch", "aria2c", "lynx", "links", "w3m", "nc", "ncat", "netcat",
     "socat", "ftp", "lftp", "gsutil", "axel", "curlie", "invoke-webrequest", "iwr", "irm", "invoke-restmethod",
     "gh", "scp")
)  # fmt: skip
"""Programs that bring something from the network."""

_LOADED = frozenset(
    ("LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "ENV", "PROMPT_COMMAND", "PYTHONSTARTUP", "PERL5OPT", "RUBYOPT",
     "LD_AUDIT", "PERL5DB", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "PYTHONHOME", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS",
     "ZDOTDIR", "PS4", "BASH_FUNC_X")
)  # fmt: skip
"""What they name is loaded or run by other programs."""
_REGISTRIES = Late(
    r"(?:PIP|UV)_(?:EXTRA_)?(?:DEFAULT_)?INDEX(?:_URL)?|PIP_FIND_LINKS|(?:NPM|YARN|BUN|PNPM)_(?:CONFIG_)?\w*REGISTRY\w*"
    r"|GOPROXY|GEM_HOST|BUNDLE_MIRROR\w*|CARGO_REGISTR\w*_INDEX|CONDA_CHANNELS|POETRY_REPOSITORIES_\w+",
    re.IGNORECASE,
)
_USUAL = Late(
    r"(?:https://)?(?:pypi\.org|registry\.npmjs\.org|registry\.yarnpkg\.com|proxy\.golang\.org|download\.pytorch\.org"
    r"|npm\.pkg\.github\.com)(?:[/,].*)?|off|direct|https?://(?:localhost|127\.0\.0\.1)(?:[:/].*)?"
)
_UNCHECKED = {
    "NODE_TLS_REJECT_UNAUTHORIZED": "0", "PYTHONHTTPSVERIFY": "0", "GIT_SSL_NO_VERIFY": "1true",
    "NPM_CONFIG_STRICT_SSL": "false", "GONOSUMCHECK": "1", "GONOSUMDB": "*", "GOFLAGS": "-insecure", "GOSUMDB": "off",
}  # fmt: skip
_EVERYBODYS = Late(r"/(?:tmp|var/tmp|dev/shm)(?:/|$)")
"""Where anybody may put a program under the name of another."""
_OWN_BINS = Late(r"(?:\./)?(?:node_modules/\.bin|\.?venv/bin|vendor/bin)/?")


def why_dangerous(name: str, value: str) -> str:
    """The kind of a variable that makes other programs load, run or trust something; "" for any other."""
    if name in _LOADED:  # `ENV` is a file to a shell, and a mode to many others
        return "escalates" if value and (name != "ENV" or re.search(r"[/.~$`]|\ue000", value)) else ""
    if name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"):
        return "" if all(one.startswith(("/usr/", "/opt/", "/lib", HOLE)) or not one for one in value.split(":")) else \
            "escalates"  # fmt: skip
    if name == "PATH":
        return "escalates" if any(_is_odd_entry(one) for one in value.split(":")) else ""
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


class Found(NamedTuple):
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
            if value in options or (value.startswith("--") and value.partition("=")[0] in options):
                return True
            bundle = value[1:] if value[:1] == "-" and value[1:2] != "-" else ""
            if any(len(option) == 2 and option[1] in bundle for option in options):
                return True
        return False

    def wholes(self, word: Word, place: Place) -> list[str]:
        return [place.whole(folder, word.value) for folder in self.folders]


def writes_to(run: Run) -> list[Word]:
    """The words that name what a command writes."""
    writer = _WRITERS.get(run.program)
    return [] if writer is None or run.elsewhere else writer(run)


def _last(valued: str) -> Callable[[Run], list[Word]]:
    def read(run: Run) -> list[Word]:
        into = option_value(run.arguments, "-t", "--target-directory")
        operands = run.operands(valued)
        if into is not None and any(one in ("-t", "--target-directory") for one in run.values):
            return [into]
        return operands[-1:] if len(operands) > 1 else []

    return read


def _all(valued: str = "") -> Callable[[Run], list[Word]]:
    return lambda run: run.operands(valued)


def _named(*options: str) -> Callable[[Run], list[Word]]:
    def read(run: Run) -> list[Word]:
        return [word for option in options if (word := option_value(run.arguments, option)) is not None and (
            len(option) > 2 or any(value.startswith(option) for value in run.values)
        )]  # fmt: skip

    return read


def _bundled(run: Run) -> list[Word]:
    """`curl -sSLo file`."""
    return [word for value, word in zip(run.values, run.arguments[1:], strict=False)
            if re.fullmatch(r"-[a-zA-Z#]+[oD]", value)]  # fmt: skip


def _in_place(run: Run) -> list[Word]:
    if not any(re.match(r"-[a-zA-Z]*i|--in-place", value) for value in run.values):
        return []
    operands = run.operands("-e -f --expression --file -l")
    given = gives_pattern(run.program, run.values)
    return operands if given or run.program not in ("sed", "gsed") else operands[1:]


_PATTERN_GIVEN = frozenset(("--regexp", "--file", "--expression", "--from-file"))
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
            if value.partition("=")[0] in _PATTERN_GIVEN:
                return True
        elif value.startswith("-"):
            for letter in value[1:]:
                if letter in "efE" and (letter != "E" or program == "perl"):
                    return True
                if letter in closing:
                    break
    return False


_WRITERS: dict[str, Callable[[Run], list[Word]]] = {
    **dict.fromkeys(
        ("cp", "mv", "ln", "install", "gcp", "gmv", "rsync", "scp"), _last("-t -S -m -o -g -e --exclude -i -P -p")
    ),
    **dict.fromkeys(
        ("tee", "touch", "mkdir", "truncate", "rmdir", "patch", "mkfifo", "sponge"), _all("-s -r -d -m -t -p -i -S")
    ),
    **dict.fromkeys(("sed", "gsed", "perl", "ruby"), _in_place),
    "dd": lambda run: [Word(word.value[3:]) for word in run.arguments if word.value.startswith("of=")],
    "curl": lambda run: [*_named("-o", "--output", "--output-dir", "-c", "--cookie-jar", "-D")(run), *_bundled(run)],
    "wget": _named("-O", "--output-document", "-P", "--directory-prefix", "-o"),
    **dict.fromkeys(
        ("tar", "bsdtar", "gtar"), lambda run: [] if run.has("-c", "-t") else _named("-C", "--directory")(run)
    ),
    "unzip": _named("-d"),
    "git": lambda run: _named("--output", "--separate-git-dir")(run),
    "ssh-keygen": _named("-f"),
    "sort": _named("-o", "--output"),
    "openssl": _named("-out"),
    "gpg": _named("-o", "--output"),
    "split": lambda run: run.operands("-l -b -n -a -d")[1:],
    "ex": _all(),
}
