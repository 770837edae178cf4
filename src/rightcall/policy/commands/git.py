"""What git would do: take back work, push over what others have, or run what a setting says."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from msgspec import Struct

from rightcall.base.json.marks import Late
from rightcall.policy.commands.options import (
    abbreviates,
    action_at,
    is_meant,
    options_of,
    takes_value,
    value_of,
    values_of,
)
from rightcall.policy.commands.places import Place
from rightcall.policy.commands.words import HOLE, Word

# ── runs ──
# One program that would be started, with its words; what a rule says of it; and which of its words it writes to.

SECRET_NAME = Late(
    r"(?:^|_)(?:SECRET|SECRETS|TOKEN|TOKENS|PASSW(?:OR)?D|PASSWD|PASS|PASSPHRASE|CREDENTIALS?|AUTH|PAT"
    r"|PRIVATE_KEY|COOKIE"
    r"|DSN|KEY|APIKEY|API_KEY|ACCESS_KEY|DATABASE_URL|DB_URL|REDIS_URL|MONGO_URI|MONGODB_URI|CONNECTION_STRING|SESSION)"
    r"(?:$|_)|PGPASSWORD|TOKEN$|SECRET$|APIKEY$|PASSWORD$",
    re.IGNORECASE,
)  # fmt: skip
"""Variables that are named like secrets."""
_SECRET_VALUE = Late(
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
     "ZDOTDIR", "PS4", "BASH_FUNC_X")
)  # fmt: skip
"""What they name is loaded or run by other programs."""
_GUARDED_BY = frozenset(("RIGHTCALL_POLICY", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_SYSTEM_SETTINGS_PATH"))
"""They say where our own policy lies, and where a host looks for its hooks."""
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
        """The value of an option, as `options.py` reads it."""
        return value_of(self.program, self.arguments, *names)

    def wholes(self, word: Word, place: Place) -> list[str]:
        return [place.whole(folder, word.value) for folder in self.folders]


def unpacks(run: Run) -> bool:
    """Whether `tar` writes what is in an archive."""
    given = {name for name, _ in options_of("tar", run.arguments)}
    return not given.isdisjoint(("-x", "--extract", "--get")) or given.isdisjoint(("-c", "--create", "-t", "--list"))


def writes_to(run: Run) -> list[Word]:
    """The words that name what a command writes."""
    writer = _WRITERS.get(run.program)
    return [] if writer is None or run.elsewhere else writer(run)


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
    if not any(one.startswith(("-o", "--o", "--se")) or one == "bundle" for one in run.values):
        return []
    at = action_at("git", run.arguments)
    action, rest = (run.values[at], run.arguments[at + 1 :]) if at >= 0 else ("", [])
    found = value_of("git", rest, "--output", "--separate-git-dir", "--output-directory")
    if found is None and action in ("archive", "format-patch"):
        found = value_of("git", rest, "-o")
    if action == "bundle" and rest and rest[0].value == "create":
        found = next((word for word in rest[1:] if word.value == "-" or not word.value.startswith("-")), None)
    return [found] if found is not None and found.value != "-" else []


_CONSOLE_WRITES = Late(r"(?:^|[\s;])(?:\.(?:output|once|backup|save|clone|log)|\\[oT])\s+(?!stdout)['\"]?([^\s'\";]+)")


def _written_by_console(run: Run) -> list[Word]:
    """Files that a client of a database is told to write: `.output x`, `\\o x`."""
    texts = [one for one in (*run.values, run.text or "") if len(one) < 5000]
    return [Word(path) for text in texts for path in _CONSOLE_WRITES.findall(text)]


_SED_WRITES = Late(r"(?:^|[;{}\n]|s(.).*\1[a-zA-Z0-9]*|/|\d|\$)[wW]\s+([^\s;}]+)")


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
    "ssh-keygen": _named("-f"),
    **dict.fromkeys(("sqlite3", "psql", "mysql", "duckdb"), _written_by_console),
    **dict.fromkeys(("pip", "pip3"), _named("-t", "--target", "--prefix", "--root")),
    "sort": _named("-o", "--output"),
    "openssl": _named("-out"),
    **dict.fromkeys(("gcc", "g++", "cc", "c++", "clang", "clang++", "go", "rustc", "ld"), _compiled_to),
    **dict.fromkeys(("python", "python3"), _made_by_python),
    **dict.fromkeys(("make", "gmake"), _installed_to),
    "cmake": _named("--prefix", "--install-prefix"),
    "gpg": _named("-o", "--output"),
    "split": lambda run: run.operands("-l -b -n -a -C -t")[1:],
    "ex": _all(),
}


_LOSES = Late(r"clean\.requireforce|gc\..*|receive\.deny.*|push\..*", re.IGNORECASE)
"""Settings that make a harmless command lose something."""
_GIT_SET = Late(
    r"core\.(?:hookspath|fsmonitor|sshcommand|pager|editor|askpass|attributesfile|worktree|gitproxy)|alias\..*"
    r"|credential\..*"
    r"|filter\..*|(?:diff|merge)\..*\.(?:command|driver|textconv|cmd|tool)|url\..*|include.*|http\..*"
    r"|remote\..*|protocol\..*"
    r"|submodule\..*|gpg\..*|sequence\.editor|pager\..*|safe\..*|uploadpack\..*|receive\..*|init\.templatedir"
    r"|commit\.template",
    re.IGNORECASE,
)  # fmt: skip


def _made_by_git(action: str, rest: list[Word]) -> list[Word]:
    """The folder that a repository or a work tree is made in."""
    if action not in ("clone", "worktree", "init", "submodule"):
        return []
    names = [word for word in rest if not word.value.startswith("-")]
    return names[:1] if action == "init" else names[1:]


def git_rules(run: Run, place: Place) -> Iterator[Found]:
    at = action_at("git", run.arguments)
    for option, word in options_of("git ", run.arguments[:at]) if at > 0 else ():
        name, _, value = word.value.partition("=") if word is not None else ("", "", "")
        if option in ("-c", "--config-env"):
            if _GIT_SET.fullmatch(name) and (option != "-c" or not _shows_only(name, value)):
                yield Found("runs", f"git {option} {name}")
            elif _LOSES.fullmatch(name):
                yield Found("destroys", f"git -c {name}")
        elif option == "--exec-path" and any(one.startswith("--exec-path=") for one in run.values):
            yield Found("runs", "git --exec-path")
    if any(one.startswith("ext::") for one in run.values):
        yield Found("network", "git ext::")
    if at < 0:
        return
    action, rest = run.arguments[at].value, run.arguments[at + 1 :]
    for word in _made_by_git(action, rest):
        if any(place.is_started_from(path) for path in run.wholes(word, place)):
            yield Found("persists", f"git {action} … {word.value}")
    rule = _GIT_RULES.get(action)
    if rule is not None:
        yield from rule(_Words(action, rest))


class _Words:
    """The words behind `git push` and the like."""

    def __init__(self, action: str, rest: list[Word]) -> None:
        self.action = action
        self.rest = [word.value for word in rest]
        self.options = [name for name, _ in options_of(f"git {action}", rest)]

    def has(self, *names: str) -> str:
        """The first of these options that is given, also shortened."""
        return next((one for one in names for given in self.options if is_meant(one, given)), "")

    @property
    def names(self) -> list[str]:
        return [one for one in self.rest if not one.startswith("-")]


def _shows_only(name: str, value: str) -> bool:
    """`-c core.pager=cat`: a pager or an editor that does nothing."""
    return name.casefold().startswith(("core.pager", "pager.", "core.editor", "sequence.editor")) and value in (
        "cat", "less", "less -FRX", "less -R", "more", "true", ":", "", "false", "delta",
    )  # fmt: skip


def _git_push(words: _Words) -> Iterator[Found]:
    forced = words.has(
        "--force", "--force-with-lease", "--force-if-includes", "--mirror", "--delete", "--prune", "-f", "-d"
    )
    refs = [one for one in words.rest if one.startswith(("+", ":")) and len(one) > 1]
    if forced or refs:
        word = forced or refs[0]
        yield Found("destroys", f"git push {word}", (word,))


def _git_fetch(words: _Words) -> Iterator[Found]:
    """A branch of one's own that is given what another holds, whatever it held before: `git fetch origin +a:b`."""
    forced = words.has("-f", "--force")
    for one in words.names[1:]:
        _, colon, to = one.partition(":")
        if colon and (forced or one.startswith("+")) and not to.startswith("refs/remotes/"):
            yield Found("destroys", f"git fetch {one}", ())
            return


def _git_checkout(words: _Words) -> Iterator[Found]:
    rest, names = words.rest, words.names
    if "--" in rest and rest.index("--") < len(rest) - 1:
        yield Found("destroys", f"git checkout -- {rest[-1]}", ("--",))
        return
    if words.has("-b", "-B", "--orphan", "--track", "-t", "--detach"):
        return
    if (
        words.has("--pathspec-from-file", "--ours", "--theirs")
        or len(names) > 1
        or (names and (names[0].endswith("/") or names[0] in (".", "*", "./") or _is_file(names[0])))
    ):
        yield Found("destroys", f"git checkout {' '.join(names[:2])}", ())


def _is_file(name: str) -> bool:
    """A name with an ending, and no branch: `src/app.py`."""
    return re.search(r"\.[a-z]{1,4}$", name) is not None and not re.match(r"v?\d+(\.\d+)+$|release|hotfix", name)


def _git_restore(words: _Words) -> Iterator[Found]:
    if not words.has("--staged", "-S") or words.has("--worktree", "-W"):
        yield Found("destroys", "git restore " + " ".join(words.rest[:2]))


def _git_config(words: _Words) -> Iterator[Found]:
    rest = words.rest
    if {"--get", "--list", "-l", "--get-all", "--get-regexp", "--get-urlmatch", "--show-origin", "get", "list"} & set(
        rest
    ):
        if any(_SECRET_SETTING.search(one) for one in rest):
            yield Found("credentials", "git config credential")
        return
    names = [one for one in words.names if one not in ("set", "unset")]
    if len(names) == 1 and _SECRET_SETTING.search(names[0]):
        yield Found("credentials", f"git config {names[0]}")
    sets = len(names) > 1 or any(
        one.startswith("--unset") or one in ("--add", "--replace-all", "unset") for one in rest
    )
    if names and sets and _GIT_SET.fullmatch(names[0]):
        yield Found("persists", f"git config {names[0]}")
    elif "--system" in rest or "-e" in rest or "--edit" in rest or (sets and "--global" in rest):
        yield Found("persists", "git config --global" if "--global" in rest else "git config --system")


_SECRET_SETTING = Late(r"credential|token|passw|extraheader|secret|smtppass", re.IGNORECASE)


def _git_clone(words: _Words) -> Iterator[Found]:
    if any(one.startswith("ext::") or "::" in one.partition("/")[0] for one in words.rest):
        yield Found("network", "git clone ext::")


def _git_remote(words: _Words) -> Iterator[Found]:
    rest = words.rest
    if rest[:1] in (["add"], ["set-url"], ["rename"], ["remove"], ["rm"]) and any(
        one.startswith("ext::") for one in rest
    ):
        yield Found("network", "git remote ext::")
    elif rest[:1] in (["set-url"], ["remove"], ["rm"]):
        yield Found("persists", f"git remote {rest[0]}")


def _git_rm(words: _Words) -> Iterator[Found]:
    if "--cached" not in words.rest and words.has("-r"):
        yield Found("destroys", f"git rm {' '.join(words.rest[:2])}")


def _git_branch(words: _Words) -> Iterator[Found]:
    """A name that is given to another branch, whatever it meant before."""
    over = words.has("-M", "-C") or (words.has("-f", "--force") and words.has("-m", "-c", "--move", "--copy"))
    if over and len(words.names) > 1:
        yield Found("destroys", f"git branch {over}", (over,))


def _git_symbolic_ref(words: _Words) -> Iterator[Found]:
    if len(words.names) > 1 or words.has("-d", "--delete"):
        yield Found("destroys", "git symbolic-ref")


def _git_looks_back(words: _Words) -> Iterator[Found]:
    """`git log -p -S AWS_SECRET`: what was taken out of the files is still in the history."""
    sought = next((one for one in words.rest if seeks_secrets(one)), "")
    if sought and (words.has("-p", "-u", "--patch") or any(HOLE in one for one in words.rest)):
        yield Found("credentials", f"git … {sought}")


def _git_unchecked(words: _Words) -> Iterator[Found]:
    """The checks that a project runs before a commit are left out."""
    given = words.has("--no-verify") or ("-n" in words.options and "-n" if words.action == "commit" else "")
    if given:
        yield Found("escalates", f"git {words.action} {given}", (given,))


_GIT_RULES: dict[str, Callable[[_Words], Iterator[Found]]] = {
    "branch": _git_branch,
    "symbolic-ref": _git_symbolic_ref,
    "log": _git_looks_back,
    "grep": _git_looks_back,
    "push": _git_push,
    "fetch": _git_fetch,
    "pull": _git_fetch,
    "checkout": _git_checkout,
    "restore": _git_restore,
    "config": _git_config,
    "clone": _git_clone,
    "remote": _git_remote,
    "rm": _git_rm,
    **dict.fromkeys(("commit", "merge", "rebase", "am", "revert", "cherry-pick"), _git_unchecked),
}
