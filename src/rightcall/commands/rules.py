"""Starter rules that need more than a pattern: what `rm` removes, where `git push` pushes to, what SQL is run.

Each looks at one command with the folder it runs in, and says what it finds. `starter.py` has what a line can say.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from msgspec import Struct

from rightcall.commands.places import Place, is_device, is_disk
from rightcall.commands.urls import Address, canonical_host, parsed
from rightcall.commands.words import HOLE, Late, Word, joined
from rightcall.commands.wrappers import SHELLS, action_at, option_value, shell_code, takes_value

SECRET_NAME = Late(
    r"(?:^|_)(?:SECRET|SECRETS|TOKEN|TOKENS|PASSW(?:OR)?D|PASSWD|PASS|PASSPHRASE|CREDENTIALS?|AUTH|PAT"
    r"|PRIVATE_KEY|COOKIE"
    r"|DSN|KEY|APIKEY|API_KEY|ACCESS_KEY|DATABASE_URL|DB_URL|REDIS_URL|MONGO_URI|MONGODB_URI|CONNECTION_STRING|SESSION)"
    r"(?:$|_)|PGPASSWORD|TOKEN$|SECRET$|APIKEY$|PASSWORD$",
    re.IGNORECASE,
)  # fmt: skip
FETCHERS = frozenset(
    ("curl", "wget", "http", "https", "xh", "fetch", "aria2c", "lynx", "links", "w3m", "nc", "ncat", "netcat",
     "socat", "ftp", "lftp", "gsutil", "axel", "curlie", "invoke-webrequest", "iwr", "irm", "invoke-restmethod",
     "gh", "scp")
)  # fmt: skip
_DEPLOYS = Late(
    r"(?:^|[:_./-])(?:deploy|deployment|publish|release|ship|promote|rollback|destroy|wipe|nuke|purge|teardown"
    r"|tear-down"
    r"|drop|reset-db|db[:_-]?(?:reset|drop|wipe)|hard-?reset|upload)(?:[:_.-]|$)", re.IGNORECASE,
)  # fmt: skip
_SQL = frozenset(
    ("psql", "mysql", "mariadb", "sqlite3", "sqlite", "mycli", "pgcli", "litecli", "clickhouse-client", "clickhouse",
     "sqlcmd", "cqlsh", "duckdb", "usql", "mongosh", "mongo", "snowsql", "bq", "trino", "presto", "hive", "beeline",
     "cockroach", "turso", "wrangler", "osqueryi", "impala-shell", "sqlplus", "isql", "tsql")
)  # fmt: skip
_SQL_DESTROYS = Late(
    r"\b(?:DROP\s+(?:TABLE|DATABASE|SCHEMA|INDEX|VIEW|USER|ROLE|COLUMN|KEYSPACE|COLLECTION|FUNCTION|TRIGGER"
    r"|SEQUENCE|TYPE|OWNED|"
    r"MATERIALIZED|EXTENSION|POLICY|PROCEDURE|CONSTRAINT|TABLESPACE)|TRUNCATE\b|DELETE\s+FROM"
    r"|UPDATE\s+\S+\s+SET|REPLACE\s+INTO"
    r"|ALTER\s+(?:TABLE|DATABASE|SYSTEM)|OVERWRITE\b)|\.(?:drop|dropDatabase|deleteMany|deleteOne|remove"
    r"|dropIndexes|updateMany"
    r"|findOneAndDelete|bulkWrite|renameCollection)\s*\(|\bdropDatabase\b|db\.shutdownServer", re.IGNORECASE,
)  # fmt: skip
_SQL_RIGHTS = Late(r"\b(?:GRANT|REVOKE)\s|\b(?:CREATE|ALTER)\s+(?:USER|ROLE)\b|LOAD_EXTENSION|LOAD\s+DATA\b"
                         r"|INTO\s+(?:OUT|DUMP)FILE|xp_cmdshell|pg_read_file|lo_import"
                         r"|createUser\(", re.IGNORECASE)  # fmt: skip
_SQL_RUNS = Late(
    r"\\!\s*(.*)|^\s*\.(?:shell|system)\s+(.*)|PROGRAM\s+'([^']*)'|^\s*system\s+(.*)", re.MULTILINE | re.IGNORECASE
)
_SQL_SECRET = Late(
    r"pg_shadow|pg_authid|mysql\.user|authentication_string|\bpassword_hash\b|rolpassword", re.IGNORECASE
)


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


def found_in(run: Run, place: Place) -> Iterator[Found]:
    """Everything that the rules of this module find in a command."""
    rule = _RULES.get(run.program)
    if rule is not None:
        yield from rule(run, place)
    if run.program in _SQL:
        yield from _sql(run)
    if run.program.startswith("mkfs") or run.program in ("newfs", "mke2fs", "mkntfs"):
        yield Found("destroys", run.program, deny=any(is_disk(one) for one in run.values))
    if _runs_scripts(run) and (script := _script_of(run)) and _DEPLOYS.search(script):
        yield Found("publishes", script)
    if any("/dev/tcp/" in value or "/dev/udp/" in value for value in run.values):
        yield Found("escalates", "/dev/tcp")


# ── what is removed ────────────────────────────────────────────────────────────────────────────────────────────────────


def _may_go(run: Run, word: Word, place: Place) -> bool:
    """Whether something may be removed without a question: it is made again by a build, or temporary."""
    if run.elsewhere:
        return False
    beside = place.root_is_temporary and not word.value.startswith("/")  # `../other` is another project then
    return all(
        place.is_made_again(path) or (place.is_temporary(path) and not beside) for path in run.wholes(word, place)
    )


def _rm(run: Run, place: Place) -> Iterator[Found]:
    targets = run.operands()
    if run.has("--no-preserve-root"):
        yield Found("destroys", "rm --no-preserve-root", deny=True)
    recursive = run.has("-r", "-R", "--recursive", "-d") or run.program != "rm"
    for word in targets:
        everything = any(place.is_everything(path) for path in run.wholes(word, place))
        if everything and (recursive or word.glob is not None) and not run.elsewhere:
            yield Found("destroys", f"{run.program} {word.value}", deny=True)
        elif not _may_go(run, word, place):
            yield Found("destroys", f"{run.program} {word.value}".replace(HOLE, "…"), _options(run, "-r", "-R", "-f"))
            return
    if not targets and not run.has("--help", "--version"):
        yield Found("destroys", run.program)


def _options(run: Run, *names: str) -> tuple[str, ...]:
    return tuple(name for name in names if run.has(name))


def _find(run: Run, place: Place) -> Iterator[Found]:
    if "-delete" in run.values:
        names = [run.arguments[at + 1] for at, one in enumerate(run.values[:-1]) if one in ("-name", "-iname", "-path")]
        starts: list[Word] = []
        for word in run.arguments:
            if word.value.startswith(("-", "(", "!")):
                break
            starts.append(word)
        starts = starts or [Word(".")]
        if not names and any(place.is_everything(path) for word in starts for path in run.wholes(word, place)):
            yield Found("destroys", "find -delete", deny=True)
        elif not all(_may_go(run, word, place) for word in starts) and not (
            names and all(place.is_made_again(f"{place.root}/{word.value}") for word in names)
            and all(place.is_inside(path) for word in starts for path in run.wholes(word, place))
        ):  # fmt: skip
            yield Found("destroys", "find -delete", ("-delete",))
    for option in ("-fprint", "-fprintf", "-fls"):
        if option in run.values:
            yield Found("destroys", f"find {option}", (option,))


def _truncate(run: Run, place: Place) -> Iterator[Found]:
    for word in run.operands("-s --size -r --reference"):
        if not _may_go(run, word, place):
            yield Found("destroys", f"truncate {word.value}")
            return


def _dd(run: Run, place: Place) -> Iterator[Found]:
    for word in run.arguments:
        if word.value.startswith("of="):
            target = Word(word.value[3:])
            if is_disk(target.value):
                yield Found("destroys", f"dd {word.value}", deny=True)
            elif not is_device(target.value) and not _may_go(run, target, place):
                yield Found("destroys", f"dd {word.value}")


def _mv(run: Run, place: Place) -> Iterator[Found]:
    operands = run.operands("-t -S --target-directory --suffix")
    if operands and operands[-1].value == "/dev/null":
        yield Found("destroys", "mv … /dev/null")
    for word in operands[:-1]:
        for path in run.wholes(word, place):
            if place.is_everything(path):
                yield Found("destroys", f"mv {word.value}")
                return
            if not place.is_inside(path) and not place.is_temporary(path):
                yield Found("destroys", f"mv {word.value}")
                return


def _cp(run: Run, _place: Place) -> Iterator[Found]:
    operands = run.operands("-t -S --target-directory --suffix -m -o -g --mode --owner --group")
    if operands and is_disk(operands[-1].value):
        yield Found("destroys", f"{run.program} {operands[-1].value}", deny=True)
    elif operands and operands[0].value == "/dev/null":
        yield Found("destroys", f"{run.program} /dev/null")


def _kill(run: Run, _place: Place) -> Iterator[Found]:
    if run.program == "kill":
        operands = run.values[1:] if run.values[:1] and run.values[0].startswith("-") else run.values
        if any(one in ("-1", "1", "0") for one in operands if one != "--") and "-l" not in run.values:
            yield Found("destroys", "kill " + " ".join(run.values[:3]))
    elif run.has("-u", "-U", "--euid", "--uid", "-g", "--user") or any(
        one.value in (".", ".*", "", "*") for one in run.operands()
    ):
        yield Found("destroys", run.program)


# ── rights ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _chmod(run: Run, place: Place) -> Iterator[Found]:
    operands = [word for word in run.arguments if not re.match(r"-[A-Za-z-]{1,}$", word.value) or
                re.fullmatch(r"-[rwxst]+", word.value)]  # fmt: skip
    mode, targets = (operands[0].value if operands else ""), operands[1:]
    if run.program != "chmod":
        mode = ""
    if (
        (re.fullmatch(r"0?[2-7][0-7]{3}", mode) and not mode.startswith("0"))
        or re.search(r"[+=][rwxXt]*s", mode)
        or re.fullmatch(r"[0-7]{0,3}[2367]", mode)
        or re.search(r"(?:^|,)[ug]*[oa][ugoa]*[+=][rx]*w", mode)
    ):
        yield Found("escalates", f"chmod {mode}")
    for word in targets:
        if any(not place.is_inside(path) and not place.is_temporary(path) for path in run.wholes(word, place)):
            yield Found("destroys" if run.has("-R", "--recursive") else "persists", f"{run.program} {word.value}")
            return


def _crontab(run: Run, _place: Place) -> Iterator[Found]:
    if (run.values and not run.has("-l", "--help") and not run.has("-r")) or (
        not run.values and (run.fed or run.redirected)
    ):
        yield Found("persists", "crontab")


# ── git ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

_GIT_SET = Late(
    r"core\.(?:hookspath|fsmonitor|sshcommand|pager|editor|askpass|attributesfile|worktree|gitproxy)|alias\..*"
    r"|credential\..*"
    r"|filter\..*|(?:diff|merge)\..*\.(?:command|driver|textconv|cmd|tool)|url\..*|include.*|http\..*"
    r"|remote\..*|protocol\..*"
    r"|submodule\..*|gpg\..*|sequence\.editor|pager\..*|safe\..*|uploadpack\..*|receive\..*|init\.templatedir"
    r"|commit\.template",
    re.IGNORECASE,
)  # fmt: skip


def _git(run: Run, _place: Place) -> Iterator[Found]:
    at = action_at("git", run.arguments)
    for before, word in enumerate(run.arguments[: max(at, 0)]):
        if run.values[before - 1 : before] == ["-c"] and _GIT_SET.fullmatch(word.value.partition("=")[0]):
            yield Found("runs", f"git -c {word.value.partition('=')[0]}")
    if at < 0:
        return
    action, rest = run.arguments[at].value, [word.value for word in run.arguments[at + 1 :]]
    rule = _GIT_RULES.get(action)
    if rule is not None:
        yield from rule(rest)


def _git_push(rest: list[str]) -> Iterator[Found]:
    forced = [one for one in rest if one.startswith(("--force", "--mirror", "--delete", "--prune")) or
              re.fullmatch(r"-[a-zA-Z]*[fd][a-zA-Z]*", one)]  # fmt: skip
    refs = [one for one in rest if one.startswith(("+", ":")) and len(one) > 1]
    if forced or refs:
        word = (forced or refs)[0]
        yield Found("destroys", f"git push {word}", (word.partition("=")[0],))


def _git_checkout(rest: list[str]) -> Iterator[Found]:
    if "--" in rest and rest.index("--") < len(rest) - 1:
        yield Found("destroys", f"git checkout -- {rest[-1]}", ("--",))
        return
    if {"-b", "-B", "--orphan", "--track", "-t", "--detach"} & set(rest):
        return
    names = [one for one in rest if not one.startswith("-")]
    if len(names) > 1 or (names and (names[0].endswith("/") or names[0] in (".", "*", "./") or _is_file(names[0]))):
        yield Found("destroys", f"git checkout {' '.join(names[:2])}", ())


def _is_file(name: str) -> bool:
    """A name with an ending, and no branch: `src/app.py`."""
    return re.search(r"\.[a-z]{1,4}$", name) is not None and not re.match(r"v?\d+(\.\d+)+$|release|hotfix", name)


def _git_restore(rest: list[str]) -> Iterator[Found]:
    staged = any(one == "--staged" or re.fullmatch(r"-[a-zA-Z]*S[a-zA-Z]*", one) for one in rest)
    tree = any(one == "--worktree" or re.fullmatch(r"-[a-zA-Z]*W[a-zA-Z]*", one) for one in rest)
    if not staged or tree:
        yield Found("destroys", "git restore " + " ".join(rest[:2]))


def _git_config(rest: list[str]) -> Iterator[Found]:
    if {"--get", "--list", "-l", "--get-all", "--get-regexp", "--get-urlmatch", "--show-origin", "get", "list"} & set(
        rest
    ):
        if any("credential" in one or "token" in one for one in rest):
            yield Found("credentials", "git config credential")
        return
    names = [one for one in rest if not one.startswith("-") and one not in ("set", "unset")]
    sets = len(names) > 1 or any(
        one.startswith("--unset") or one in ("--add", "--replace-all", "unset") for one in rest
    )
    if names and sets and _GIT_SET.fullmatch(names[0]):
        yield Found("persists", f"git config {names[0]}")
    elif "--system" in rest or "-e" in rest or "--edit" in rest:
        yield Found("persists", "git config --system")


def _git_clone(rest: list[str]) -> Iterator[Found]:
    if any(one.startswith("ext::") or "::" in one.partition("/")[0] for one in rest):
        yield Found("network", "git clone ext::")


def _git_remote(rest: list[str]) -> Iterator[Found]:
    if rest[:1] in (["add"], ["set-url"], ["rename"], ["remove"], ["rm"]) and any(
        one.startswith("ext::") for one in rest
    ):
        yield Found("network", "git remote ext::")
    elif rest[:1] in (["set-url"], ["remove"], ["rm"]):
        yield Found("persists", f"git remote {rest[0]}")


_GIT_RULES: dict[str, Callable[[list[str]], Iterator[Found]]] = {
    "push": _git_push,
    "checkout": _git_checkout,
    "restore": _git_restore,
    "config": _git_config,
    "clone": _git_clone,
    "remote": _git_remote,
}


# ── what leaves the machine ────────────────────────────────────────────────────────────────────────────────────────────

_CURL_VALUED = (
    "-A -b -c -C -d -D -e -E -F -h -H -K -m -o -P -Q -r -t -T -u -U -w -x -X -y -Y -z --user-agent --cookie --cookie-jar "
    "--continue-at --data --data-ascii --data-binary --data-raw --data-urlencode --dump-header --referer --cert --form "
    "--form-string --header --config --max-time --output --ftp-port --quote --range --telnet-option --upload-file --user "
    "--proxy-user --write-out --proxy --request --time-cond --connect-timeout --retry --retry-delay --cacert --capath "
    "--key --resolve --interface --limit-rate --max-redirs --url --json --output-dir --ciphers --unix-socket --aws-sigv4 "
    "--netrc-file --oauth2-bearer --connect-to --dns-servers --retry-max-time --url-query --variable --socks5 --noproxy"
)
_SENDING = ("-d", "--data", "--data-ascii", "--data-binary", "--data-raw", "--data-urlencode", "-F", "--form",
            "--form-string", "-T", "--upload-file", "--json")  # fmt: skip


def addresses(run: Run) -> list[Address]:
    """Those a command would connect to."""
    if run.program in ("curl", "curlie"):
        words = [*run.operands(_CURL_VALUED), *filter(None, [option_value(run.arguments, "--url")])]
        return _parsed(words, "http")
    if run.program in ("wget", "http", "https", "xh", "aria2c"):
        words = [one for one in run.operands("-O -o -P -U -e -i -t -T --output-document --header --user-agent") if
                 one.value.upper() not in _METHODS]  # fmt: skip
        return _parsed(words if run.program in ("wget", "aria2c") else words[:1], "http")
    return _parsed([word for word in run.arguments if "://" in word.value], "")


_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")


def _parsed(words: list[Word], scheme: str) -> list[Address]:
    found: list[Address] = []
    for word in words[:50]:
        text = word.value
        if "://" in text and not re.match(r"[A-Za-z][\w+.-]*://", text):
            text = text[re.search(r"[A-Za-z][\w+.-]*://|$", text).start() :]  # type: ignore[union-attr]
        address = parsed(text.replace(HOLE, "x"), scheme)
        if address is not None and HOLE not in word.value.partition("://")[2][:1]:
            found.append(address)
        elif HOLE in word.value:
            found.append(Address(scheme or "http", HOLE, None, "/"))
    return found


def _reaches_out(run: Run) -> bool:
    """Whether it talks to more than this machine; where no address is known, it counts as such."""
    found = addresses(run)
    return not found or any(not one.is_local for one in found)


def _curl(run: Run, _place: Place) -> Iterator[Found]:
    method = option_value(run.arguments, "-X", "--request")
    changes = method is not None and method.value.upper() not in ("GET", "HEAD", "OPTIONS")
    sends = [option for option in _SENDING if _gives(run, option)]
    asks_only = run.has("-G", "--get") and method is None
    if (changes or (sends and not asks_only)) and _reaches_out(run):
        word = sends[0] if sends else f"-X {method.value if method else ''}"
        yield Found("publishes", f"curl {word}")
    yield from _sends_credentials(run)


def _gives(run: Run, option: str) -> bool:
    for value in run.values:
        if value == option or (option.startswith("--") and value.startswith(option + "=")):
            return True
        if len(option) == 2 and value[:1] == "-" and value[1:2] != "-" and option[1] in value:
            at = value.index(option[1])
            if not any(f"-{letter}" in _CURL_VALUED.split() for letter in value[1:at]):
                return True
    return False


def _wget(run: Run, _place: Place) -> Iterator[Found]:
    method = option_value(run.arguments, "--method")
    sends = any(one.startswith(("--post-", "--body-")) for one in run.values)
    if (sends or (method is not None and method.value.upper() not in ("GET", "HEAD"))) and _reaches_out(run):
        yield Found("publishes", "wget --post-data")
    yield from _sends_credentials(run)


def _httpie(run: Run, _place: Place) -> Iterator[Found]:
    operands = [
        word.value for word in run.operands("-a --auth -o --output --session --timeout --proxy -s --style -p --print")
    ]
    method = operands[0].upper() if operands and operands[0].upper() in _METHODS else ""
    items = operands[2:] if method else operands[1:]
    sends = any(re.match(r"[\w.\[\]-]+(?::?=|@)", one) and "==" not in one for one in items)
    if (method not in ("", "GET", "HEAD", "OPTIONS") or sends) and _reaches_out(run):
        yield Found("publishes", f"{run.program} {method or 'POST'}")
    yield from _sends_credentials(run)


def _gh(run: Run, _place: Place) -> Iterator[Found]:
    """`gh api` changes what it is told to."""
    if run.values[:1] != ["api"]:
        return
    method = option_value(run.arguments, "-X", "--method")
    sends = run.has("-f", "-F", "--field", "--raw-field", "--input")
    if (method is not None and method.value.upper() not in ("GET", "HEAD")) or (sends and method is None):
        yield Found("publishes", f"gh api {'-X ' + method.value if method else '-f'}")


def _make(run: Run, _place: Place) -> Iterator[Found]:
    """Rules that come from elsewhere than a file of the project."""
    file = option_value(run.arguments, "-f", "--file", "--makefile")
    if any(one.startswith(("SHELL=", ".SHELLFLAGS=", "MAKEFLAGS=")) for one in run.values) or run.has("--eval"):
        yield Found("runs", "make SHELL=")
    elif file is not None and file.value in ("-", "/dev/stdin"):
        yield Found("runs", "make -f -")


def _looks_up(run: Run, _place: Place) -> Iterator[Found]:
    """Names that are made of what a command prints carry it out."""
    yield from _sends_credentials(run)


def _sends_credentials(run: Run) -> Iterator[Found]:
    carried = [one for one in run.printed if one not in _HARMLESS_OUTPUT]
    if carried and _reaches_out(run):
        yield Found("publishes", f"{run.program} … $({carried[0]} …)")
    names = [name for word in run.arguments for name in word.names if SECRET_NAME.search(name)]
    if names and _reaches_out(run):
        yield Found("credentials", f"${names[0]}")


_HARMLESS_OUTPUT = frozenset(
    ("date", "echo", "printf", "uuidgen", "git", "seq", "uname", "nproc", "jq", "tr", "cut", "basename", "dirname",
     "pwd", "curl", "wget", "arch", "dpkg", "lsb_release", "sw_vers", "npm", "node", "go", "rustc", "python3", "sed",
     "head", "tail", "sort", "grep", "rev", "bc", "expr", "mktemp", "minikube", "docker", "kubectl")
)  # fmt: skip


def _copies(run: Run, _place: Place) -> Iterator[Found]:
    """`scp` and `rsync`: what goes to another machine."""
    operands = run.operands(
        "-e -f -B --rsh --exclude --include --exclude-from --include-from --filter --bwlimit --timeout --port --log-file "
        "--backup-dir --suffix --chmod --chown --temp-dir --partial-dir --compare-dest --link-dest --files-from --password-file "
        + ("-P -i -o -c -F -l -S -J -D" if run.program == "scp" else "")
    )
    remote = [(bool(re.match(r"(?:[\w.-]+@)?[\w.\[\]:-]+:(?!\\)"
                             r"|\w+://", one.value)) and not one.value.startswith(("/", ".")))
              or (HOLE in one.value.partition(":")[0] and ":" in one.value) for one in operands]  # fmt: skip
    if remote and remote[-1]:
        yield Found("publishes", f"{run.program} … {operands[-1].value}".replace(HOLE, "…"))


def _bucket(run: Run, _place: Place) -> Iterator[Found]:
    """Copying to a bucket; from one it is a download."""
    words = [
        word.value for word in run.operands("--profile --region --exclude --include --acl --cache-control --filter")
    ]
    copies = {"aws": ["s3"], "gcloud": ["storage"]}.get(run.program, [])
    if words[: len(copies)] != copies:
        return
    action, *places = words[len(copies) :] or [""]
    if (
        action in ("cp", "sync", "copy", "copyto", "rsync")
        and places
        and re.match(r"\w[\w.-]*:(?!\\)|/?\w+:/", places[-1])
    ):
        yield Found("publishes", f"{run.program} {action} … {places[-1]}")


def _nc(run: Run, _place: Place) -> Iterator[Found]:
    """A look whether a port is open sends nothing; this machine is not outside."""
    hosts = [word.value for word in run.operands("-p -s -w -i -X -x -q -I -O")]
    looks = run.has("-z") or (hosts and canonical_host(hosts[0]) in ("localhost", "127.0.0.1", "::1"))
    if not looks or run.has("-e", "-c", "--exec", "--sh-exec"):
        yield Found("publishes", run.program)


def _ssh(run: Run, _place: Place) -> Iterator[Found]:
    if run.program == "ssh" and not run.operands("-p -i -l -o -L -R -D -F -J -b -c -E -e -I -m -O -Q -S -W -w -B"):
        return
    if run.fed or run.redirected:
        yield Found("publishes", "… | ssh")


# ── credentials ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _environment(run: Run, _place: Place) -> Iterator[Found]:
    """A dump of all variables, or one that is named like a secret."""
    program, values = run.program, run.values
    if program == "env":
        rest = [one for one in values if not one.startswith("-") and "=" not in one]
        if not rest and not any(one in ("--help", "--version") or one.startswith(("-S", "--split")) for one in values):
            yield Found("credentials", "env")
    elif program == "printenv":
        names = [one for one in values if not one.startswith("-")]
        if not names or any(SECRET_NAME.search(one) for one in names):
            yield Found("credentials", "printenv " + " ".join(names[:1]))
    elif program in ("export", "declare", "typeset", "readonly", "set"):
        dumps = not values or (program != "set" and all(re.fullmatch(r"-[pxgr]+", one) for one in values))
        if dumps:
            yield Found("credentials", program)
    elif program == "compgen" and any(one in ("-v", "-e") for one in values):
        yield Found("credentials", "compgen")


def _prints(run: Run, _place: Place) -> Iterator[Found]:
    names = [name for word in run.arguments for name in word.names if SECRET_NAME.search(name)]
    if names:
        yield Found("credentials", f"${names[0]}")


# ── databases ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _sql(run: Run) -> Iterator[Found]:
    text = "\n".join((*run.values, run.text or ""))[:100_000]
    for kind, expression in (
        ("destroys", _SQL_DESTROYS), ("escalates", _SQL_RIGHTS), ("runs", _SQL_RUNS), ("credentials", _SQL_SECRET),
    ):  # fmt: skip
        found = expression.search(text)
        if found:
            yield Found(kind, f"{run.program} {' '.join(found.group().split())[:40]}")
            return


def _pg_restore(run: Run, _place: Place) -> Iterator[Found]:
    if run.has("-c", "--clean", "--create", "-C"):
        yield Found("destroys", "pg_restore --clean", ("--clean",))


# ── containers, scripts, ourselves ─────────────────────────────────────────────────────────────────────────────────────


def _container(run: Run, place: Place) -> Iterator[Found]:
    """Folders of the machine that a container is let into."""
    for at, value in enumerate(run.values):
        told = ""
        if value in ("-v", "--volume", "--mount") and at + 1 < len(run.values):
            told = run.values[at + 1]
        elif value.startswith(("--volume=", "--mount=", "-v/", "-v~", "-v.")):
            told = value.partition("=")[2] or value[2:]
        found = re.search(r"(?:source|src)=([^,]+)", told)
        source = found[1] if found else told.partition(":")[0]
        if source and source[0] in "/~.":
            for path in run.wholes(Word(source), place):
                if place.is_everything(path) or place.holds_credentials(path):
                    yield Found("escalates", f"{run.program} -v {source}")
                    return
    if "inspect" in run.values[:2] and any("Env" in one for one in run.values):
        yield Found("credentials", f"{run.program} inspect")
    if any(re.fullmatch(r"--(?:net|network|pid|ipc|uts|userns)=host", one) for one in run.values):
        yield Found("escalates", f"{run.program} --network=host")


_TASKS = frozenset(
    ("npm", "yarn", "pnpm", "bun", "make", "gmake", "just", "task", "rake", "composer", "invoke", "inv", "nox",
     "tox", "grunt", "gulp", "turbo", "nx", "lerna", "deno", "hatch", "pdm", "poe", "doit", "mage", "earthly",
     "cargo-make", "sbt", "ant", "fab", "fabric", "cap")
)  # fmt: skip


def _runs_scripts(run: Run) -> bool:
    return run.program in _TASKS or run.program in SHELLS or run.program.endswith((".sh", ".py", ".js", ".rb", ".ps1"))


def _script_of(run: Run) -> str:
    """The name of the task or script that runs: `deploy` in `npm run deploy` and `./deploy.sh`."""
    if run.program.endswith((".sh", ".py", ".js", ".rb", ".ps1")):
        return run.program
    operands = [word.value for word in run.operands("-C -f -j --prefix -w --workspace --filter -F --cwd")]
    while operands and operands[0] in ("run", "run-script", "task", "workspace", "-"):
        operands.pop(0)
    if run.program in SHELLS:
        only_reads = shell_code(run.arguments) is not None or run.has("-n")
        return operands[0].rpartition("/")[2] if operands and not only_reads else ""
    if run.program in ("npm", "pnpm", "yarn", "bun") and operands[:1] and operands[0] in (
        "install", "i", "add", "remove", "why", "view", "info", "list", "ls", "outdated", "audit", "exec", "dlx", "publish",
        "search", "uninstall", "link", "create", "init", "help", "docs", "show", "update", "upgrade", "version", "pack",
    ):  # fmt: skip
        return ""
    return next((one for one in operands if _DEPLOYS.search(one)), "")


_LOOKING = frozenset(
    ("status", "stats", "doctor", "demo", "version", "--version", "--help", "-h", "help", "read", "check", "docs",
     "formats", "packs", "tools", "lint", "eval", "completion", "replay", "")
)  # fmt: skip
_ASKING = frozenset(
    ("policy", "audit", "approvals", "grants", "requests", "packet", "route", "sandbox", "pr", "store", "people")
)
_LOOKS_AT = frozenset(
    ("check", "explain", "command", "show", "list", "verify", "export", "tail", "ls", "view", "doctor", "run")
)
_NEVER = frozenset(("approvals", "grants", "trust", "people", "token", "pause", "resume", "uninstall", "quarantine"))


def _rightcall(run: Run, _place: Place) -> Iterator[Found]:
    """A model does not answer its own questions."""
    words = [word.value for word in run.operands("--policy --db --store --root --as")]
    command = words[0] if words else ""
    action = words[1] if len(words) > 1 else ""
    if command in _LOOKING or (command in _ASKING and action in _LOOKS_AT) or run.has("--help"):
        return
    if command in ("approvals", "grants", "people", "audit", "store") and not action:
        return
    yield Found("guards", f"rightcall {command} {action}".strip(), deny=command in _NEVER)


def _python(run: Run, place: Place) -> Iterator[Found]:
    """`python -m NAME` is the program of that name."""
    for at, value in enumerate(run.values):
        if value == "-m" and at + 1 < len(run.values):
            inner = Run(run.values[at + 1].casefold(), run.arguments[at + 1], run.arguments[at + 2 :], run.folders,
                        values=run.values[at + 2 :], fed=run.fed, text=run.text)  # fmt: skip
            yield from _module(inner, place)
            return
        if not value.startswith("-"):
            return


def _module(run: Run, place: Place) -> Iterator[Found]:
    from rightcall.commands.starter import listed

    if run.program in ("rightcall",):
        yield from _rightcall(run, place)
    elif run.program in (
        "pip",
        "twine",
        "ansible",
        "flit",
        "poetry",
        "uv",
        "pipx",
        "huggingface_hub",
        "awscli",
        "keyring",
    ):
        found = listed(run.program, run.values)
        if found is not None:
            yield Found(found[0], f"{run.program} {' '.join(run.values[:2])}")
        elif run.program == "keyring":
            yield Found("credentials", "keyring")
    elif run.program == "http.server" and not any(one in ("127.0.0.1", "localhost") for one in run.values):
        return


def _vercel(run: Run, _place: Place) -> Iterator[Found]:
    """Without a word it deploys."""
    if not run.operands("--cwd --token -t --scope -S") and not run.has("--help", "--version", "-v"):
        yield Found("publishes", run.program)


def _redis(run: Run, _place: Place) -> Iterator[Found]:
    if run.text and re.search(r"\b(?:FLUSHALL|FLUSHDB|DEL|UNLINK|SHUTDOWN|CONFIG)\b", run.text, re.IGNORECASE):
        yield Found("destroys", "redis-cli")


def _tar(run: Run, place: Place) -> Iterator[Found]:
    if any(one.startswith(("--checkpoint-action", "--to-command")) for one in run.values):
        yield Found("runs", "tar --checkpoint-action")
    if run.has("--remove-files"):
        yield Found("destroys", "tar --remove-files", ("--remove-files",))
    into = option_value(run.arguments, "-C", "--directory")
    unpacks = into is not None and not run.has("-c", "--create")
    if into is not None and unpacks and any(place.is_everything(path) for path in run.wholes(into, place)):
        yield Found("persists", f"tar -C {into.value}")


def _tee(run: Run, _place: Place) -> Iterator[Found]:
    if any(is_disk(one) for one in run.values):
        yield Found("destroys", "tee", deny=True)


def _words_only(run: Run, _place: Place) -> Iterator[Found]:
    """`set +o history` and the like."""
    if joined(run.arguments[:2]) == "+o history":
        yield Found("guards", "set +o history")
    yield from _environment(run, _place)


_RULES: dict[str, Callable[[Run, Place], Iterator[Found]]] = {
    **dict.fromkeys(("rm", "grm", "unlink", "rimraf", "srm", "del-cli"), _rm),
    **dict.fromkeys(("find", "gfind"), _find),
    "truncate": _truncate,
    "dd": _dd,
    "mv": _mv,
    "gmv": _mv,
    "cp": _cp,
    "install": _cp,
    **dict.fromkeys(("kill", "killall", "pkill", "skill", "killall5"), _kill),
    **dict.fromkeys(("chmod", "chown", "chgrp"), _chmod),
    "crontab": _crontab,
    "git": _git,
    **dict.fromkeys(("curl", "curlie"), _curl),
    "wget": _wget,
    **dict.fromkeys(("http", "https", "xh", "xhs"), _httpie),
    **dict.fromkeys(("scp", "rsync"), _copies),
    "ssh": _ssh,
    **dict.fromkeys(("env", "printenv", "export", "declare", "typeset", "readonly", "compgen"), _environment),
    "set": _words_only,
    **dict.fromkeys(("echo", "printf", "print", "cat", "tee", "logger", "base64", "xxd", "od"), _prints),
    "pg_restore": _pg_restore,
    **dict.fromkeys(("docker", "podman", "nerdctl"), _container),
    "rightcall": _rightcall,
    **dict.fromkeys(("python", "python3", "python2", "py", "pypy3", "ipython"), _python),
    **dict.fromkeys(("vercel", "now", "surge"), _vercel),
    "redis-cli": _redis,
    "gh": _gh,
    **dict.fromkeys(("aws", "gcloud", "gsutil", "rclone", "mc", "s3cmd", "s5cmd"), _bucket),
    **dict.fromkeys(("nc", "ncat", "netcat"), _nc),
    **dict.fromkeys(("make", "gmake"), _make),
    **dict.fromkeys(("nslookup", "dig", "host", "ping", "drill", "getent"), _looks_up),
    **dict.fromkeys(("tar", "bsdtar", "gtar"), _tar),
}


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


def _in_place(run: Run) -> list[Word]:
    if not any(re.match(r"-[a-zA-Z]*i|--in-place", value) for value in run.values):
        return []
    operands = run.operands("-e -f --expression --file -l")
    given = any(one in ("-e", "-f", "--expression", "--file") for one in run.values)
    return operands if given or run.program not in ("sed", "gsed") else operands[1:]


_WRITERS: dict[str, Callable[[Run], list[Word]]] = {
    **dict.fromkeys(
        ("cp", "mv", "ln", "install", "gcp", "gmv", "rsync", "scp"), _last("-t -S -m -o -g -e --exclude -i -P -p")
    ),
    **dict.fromkeys(
        ("tee", "touch", "mkdir", "truncate", "rmdir", "patch", "mkfifo", "sponge"), _all("-s -r -d -m -t -p -i -S")
    ),
    **dict.fromkeys(("sed", "gsed", "perl", "ruby"), _in_place),
    "dd": lambda run: [Word(word.value[3:]) for word in run.arguments if word.value.startswith("of=")],
    "curl": _named("-o", "--output", "--output-dir", "-c", "--cookie-jar", "-D"),
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
