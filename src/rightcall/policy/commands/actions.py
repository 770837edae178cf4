"""What a program is told to do, by words that mean the same everywhere: `delete`, `destroy`, `publish`. They count for
programs that nobody listed; of the command lines of clouds only what looks is let through without a question. And
options that name a program to be started.

What is done in production: commands that look as they do at home, on data that others work with.

What a command asks of a server: HTTP by `curl`, `wget` and `httpie`, calls by gRPC, messages to a broker.

To another machine everything counts that changes or sends something. On this one, where servers are tried out all day,
only what destroys: the method, the path, or what is sent says so.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from rightcall.base.text import regex
from rightcall.policy.commands.network import METHODS, given, named_addresses, reaches_out, sends_credentials
from rightcall.policy.commands.places import Place, is_disk
from rightcall.policy.commands.runs import RuleHit, Run, only_looks
from rightcall.policy.commands.urls import Address, parsed
from rightcall.policy.commands.words import HOLE, Word, basename, known_names

DEPLOYS = regex(
    r"(?:^|[:_./-])(?:deploy|deployment|publish|release|ship|promote|rollback|destroy|wipe|nuke|purge|teardown"
    r"|tear-down"
    r"|uninstall|drop|reset-db|db[:_-]?(?:reset|drop|wipe)|hard-?reset|upload)(?:$|[:_.-](?!(?:notes?|changelog|check|dry|plan|docs|list"
    r"|test|lint|info|status|preview)\b))", re.IGNORECASE,
)  # fmt: skip
"""Names of tasks and scripts that deploy or destroy."""
TASKS = known_names("tasks")
"""Programs that run tasks of a project, each by its name."""
_ABOUT_FILES = known_names("about files")
"""Their words are files, names and texts, or they have lists of their own."""
_ENDS = regex(
    r"(?:[a-z]+[:-])?(?:delete|destroy|drop|purge|terminate|wipe|nuke|truncate|revoke|undeploy|tear-?down|erase"
    r"|unregister|obliterate|expunge|deleteall|decommission|deprovision|force-unlock|rollback|flush|evict|unpublish|implode|delete-all|prune)"
    r"(?:[:_-][a-z_-]+|[A-Z][A-Za-z]*)?"
)
_SENDS = regex(r"(?:deploy|publish|promote|ship|rotate|rollout)(?:[:-](?!list|status|check|docs)[a-z-]+)?")
_UNLISTED = frozenset(
    ("push", "release", "apply", "reset", "rm", "uninstall", "submit", "upload", "downgrade", "down", "sync-prod",
     "remove", "unlink")
)  # fmt: skip
"""These too, where nobody knows the program; of others their own lines say what they mean."""
_LOOKS = regex(
    r"(?:describe|list|ls|get|head|show|view|tail|logs?|lookup|search|query|scan|filter|select|estimate|preview"
    r"|simulate|validate|check|wait|help|version|info|status|history|read|download|batch-get|detect|diff|plan|what-if"
    r"|exists|find|count|whoami|explain|test|lint|dry-run|examples?|docs|doctor|decode|verify|inspect|cat|outputs?)(?:-.*)?"
)
_NAMED_SO = regex(r"(?:^|[-_])(?:delete|destroy|drop|purge|wipe|nuke|flush|teardown)(?:[-_]|$)")
_GONE = frozenset(
    ("--delete", "--destroy", "--purge", "--wipe", "--drop", "--delete-all", "--force-delete", "--unregister",
     "--remove-all", "--erase", "--factory-reset")
)  # fmt: skip
_LOCAL: dict[str, frozenset[str]] = {
    "aws": frozenset(("s3", "configure", "help", "history", "sso", "s3api", "eks")),
    "gcloud": frozenset(("config", "info", "version", "topic", "components", "init", "cheat-sheet", "feedback", "help",
                         "emulators", "storage", "auth")),
    "az": frozenset(("config", "configure", "version", "find", "interactive", "bicep", "extension", "cloud", "login",
                     "logout", "account", "help", "upgrade")),
}  # fmt: skip
"""Command lines of clouds, with what of them stays on this machine or has rules of its own."""


def verb_rules(run: Run, is_listed: Callable[[str], bool]) -> Iterator[RuleHit]:
    """A program told to deploy or to destroy."""
    program = run.program
    if program in _LOCAL:
        yield from _in_a_cloud(run)
        return
    if program in _ABOUT_FILES or program in TASKS:
        return
    if _NAMED_SO.search(program) and not only_looks(program, run.values):
        yield RuleHit("destroys", program)
        return
    if not run.values:
        return
    words = _first_words(run.values)
    if len(words) > 1 and words[0] in ("db", "database") and words[1] in _LOSES:
        yield RuleHit("destroys", f"{program} {' '.join(words[:2])}")
        return
    unlisted: bool | None = None
    for word in words:
        if _LOOKS.fullmatch(word):
            return
        kind = "destroys" if _ENDS.fullmatch(word) else "publishes" if _SENDS.fullmatch(word) else ""
        if not kind and word in _UNLISTED:
            unlisted = not is_listed(program) if unlisted is None else unlisted
            kind = "publishes" if unlisted else ""
        if kind and not only_looks(program, run.values):
            yield RuleHit(kind, f"{program} {' '.join(words[:3])}")
            return
    if not _GONE.isdisjoint(run.values) and not only_looks(program, run.values):
        yield RuleHit("destroys", f"{program} --delete")


_LOSES = ("reset", "drop", "downgrade", "wipe", "purge", "rollback", "truncate", "clean")
_NAMED_BY = frozenset(
    ("-m", "--message", "--title", "-k", "--grep", "-g", "--filter", "-t", "--name", "--text", "-p", "--pattern",
     "--tag", "--label", "-q", "--query", "--match", "--marker", "--stage", "--env", "-e", "--target")
)  # fmt: skip
_A_WORD = regex(r"[a-z][A-Za-z0-9:_-]*")


def _first_words(values: list[str]) -> list[str]:
    """The words that may say what is to be done: the first few, and no names that an option gives."""
    found: list[str] = []
    before = ""
    for one in values[:12]:
        if one == "--":
            break
        if not one.startswith("-") and before not in _NAMED_BY:
            if not _A_WORD.fullmatch(one):
                if not found:
                    break  # its first word is a file or a text
                continue
            found.append(one)
            if len(found) == 4:
                break
        before = one
    return found


def _in_a_cloud(run: Run) -> Iterator[RuleHit]:
    """Of hundreds of operations, those that look have telling names; all others change something."""
    words = _first_words(run.values)
    if not words or words[0] in _LOCAL[run.program] or only_looks(run.program, run.values):
        return
    told = words[1:2] if run.program == "aws" else words
    if told and not any(_LOOKS.fullmatch(word) for word in told):
        yield RuleHit("publishes", f"{run.program} {' '.join(words[:4])}")


_STARTED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("tar", "gtar", "bsdtar"), ("-I", "--use-compress-program", "--rsh-command", "--rmt-command")),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "sort": ("--compress-program",),
    "man": ("-P", "--pager"),
    "wget": ("--use-askpass",),
    "scp": ("-S",),
    "zip": ("-TT", "--unzip-command"),
    "diff": ("--to-program",),
}
_STARTED_OFTEN = frozenset(
    ("gzip", "pigz", "xz", "pxz", "pixz", "zstd", "zstdmt", "bzip2", "pbzip2", "lbzip2", "lz4", "lzop", "lzma",
     "brotli", "ssh", "cat", "less", "more", "col", "rsync", "compress", "lrzip")
)  # fmt: skip
_STARTS_MORE = regex(r"[;&|`$<>\n]|ProxyCommand|LocalCommand", re.IGNORECASE)


def started_by_options(run: Run) -> Iterator[RuleHit]:
    """`tar -I`, `rsync -e`: a program that another one starts, besides those that are usual there."""
    names = _STARTED.get(run.program)
    if names is None:
        return
    for name in names:
        word = run.option(name)
        if word is not None and word.value:
            started = basename(word.value.split()[0]) if word.value.split() else ""
            if started not in _STARTED_OFTEN or _STARTS_MORE.search(word.value):
                yield RuleHit("runs", f"{run.program} {name} {word.value}", (name,))


# ── databases ──
# Clients of databases: what the statements do that they are given, typed or in a script.

CLIENTS = known_names("database clients")
_SQL_DESTROYS = regex(
    r"\b(?:DROP\s+(?:TABLE|DATABASE|SCHEMA|INDEX|VIEW|USER|ROLE|COLUMN|KEYSPACE|COLLECTION|FUNCTION|TRIGGER"
    r"|SEQUENCE|TYPE|OWNED|MEASUREMENT|SERIES|BUCKET|"
    r"MATERIALIZED|EXTENSION|POLICY|PROCEDURE|CONSTRAINT|TABLESPACE)|TRUNCATE\b|DELETE\s+FROM"
    r"|UPDATE\s+\S+\s+SET|REPLACE\s+INTO|pg_terminate_backend|KILL\s+\d"
    r"|ALTER\s+(?:TABLE|DATABASE|SYSTEM)|OVERWRITE\b)|\.(?:drop|dropDatabase|deleteMany|deleteOne|remove"
    r"|dropIndexes|updateMany"
    r"|findOneAndDelete|bulkWrite|renameCollection)\s*\(|DETACH\s+DELETE|\bdropDatabase\b"
    r"|db\.shutdownServer", re.IGNORECASE,
)  # fmt: skip
_SQL_RIGHTS = regex(r"\b(?:GRANT|REVOKE)\s|\bSET\s+(?:GLOBAL|PERSIST)\b"
                         r"|\b(?:CREATE|ALTER)\s+(?:USER|ROLE)\b|LOAD_EXTENSION|LOAD\s+DATA\b"
                         r"|INTO\s+(?:OUT|DUMP)FILE|xp_cmdshell|pg_read_file|lo_import"
                         r"|createUser\(", re.IGNORECASE)  # fmt: skip
_SQL_RUNS = regex(
    r"\\!\s*(.*)|^\s*\.(?:shell|system)\s+(.*)|PROGRAM\s+'([^']*)'|^\s*system\s+(.*)", re.MULTILINE | re.IGNORECASE
)
_SQL_SECRET = regex(
    r"pg_shadow|pg_authid|mysql\.user|authentication_string|\bpassword_hash\b|rolpassword", re.IGNORECASE
)


_SQL_READS = regex(r"(?:^|\s)(?:\.read|\\ir?|source)\s+['\"]?([^\s'\";]+)")


def sql_files(run: Run) -> list[Word]:
    """The scripts that a client of a database is told to run."""
    if run.program not in CLIENTS:
        return []
    named = run.option("-f", "--file", "--queries-file", "--init", "-init", "-i")
    told = [Word(one) for value in run.values if len(value) < 5000 for one in _SQL_READS.findall(value)]
    scripts = [word for word in run.arguments if word.value.lower().endswith((".js", ".mongodb", ".sql"))]
    return [*([named] if named is not None else []), *told, *scripts]


def is_sql_client(run: Run) -> bool:
    return run.program in CLIENTS


DUMPS = frozenset(
    ("pg_dump", "pg_dumpall", "mysqldump", "mariadb-dump", "zcat", "gunzip", "gzip", "bzcat", "xzcat", "zstdcat")
)
"""What they print, nobody has looked at: fed to a client it takes the place of what is in a database."""


def is_named_dangerously(file: str) -> bool:
    """A script that nobody can look into, named after what it does or is: `wipe.sql`, `backup.sql`."""
    return DEPLOYS.search(basename(file)) is not None or _RESTORES.search(basename(file)) is not None


_RESTORES = regex(r"dump|backup|restore|snapshot|reset|truncat|delete|remove|clean", re.IGNORECASE)
"""What was saved of a database takes the place of what is in it now, and what cleans it leaves less."""


def console_rules(run: Run) -> Iterator[RuleHit]:
    yield from sql_rules(run.program, "\n".join((*run.values, run.text or ""))[:100_000])


def sql_rules(program: str, text: str) -> Iterator[RuleHit]:
    """What a text of SQL does."""
    for kind, expression in (
        ("destroys", _SQL_DESTROYS), ("escalates", _SQL_RIGHTS), ("runs", _SQL_RUNS), ("credentials", _SQL_SECRET),
    ):  # fmt: skip
        found = expression.search(text)
        if found:
            yield RuleHit(kind, f"{program} {' '.join(found.group().split())[:40]}")
            return


def unlisted_rules(run: Run) -> Iterator[RuleHit]:
    """A program that nobody listed, given a statement of SQL that destroys, or a disk."""
    said = next((one for one in run.values if " " in one and len(one) < 5000 and _SQL_SURELY.match(one)), "")
    if said:
        yield RuleHit("destroys", f"{run.program} {' '.join(said.split())[:40]}")
    elif run.program not in _LOOK_AT_DISKS and any(map(is_disk, run.values)):
        yield RuleHit("destroys", f"{run.program} {next(filter(is_disk, run.values))}")


_SQL_SURELY = regex(
    r"\s*(?:DROP\s+(?:TABLE|DATABASE|SCHEMA|KEYSPACE|INDEX|VIEW|USER)\s+\S|TRUNCATE\s+TABLE\s|DELETE\s+FROM\s+\S)",
    re.IGNORECASE,
)
_LOOK_AT_DISKS = known_names("look at disks")
"""They look, or have lines of their own."""


def restore_rules(run: Run, _place: Place) -> Iterator[RuleHit]:
    if run.has("-c", "--clean", "--create", "-C"):
        yield RuleHit("destroys", "pg_restore --clean", ("--clean",))


def redis_rules(run: Run, _place: Place) -> Iterator[RuleHit]:
    said = [word.value for word in run.operands(_REDIS_VALUED)]
    asked = [said] if said else [line.split() for line in (run.text or "").splitlines() if line.strip()]
    if run.more and not said:
        asked.append([HOLE])
    for words in asked:
        if not _REDIS_LOOKS.fullmatch(" ".join(words[:2])):
            yield RuleHit("destroys", f"redis-cli {words[0]}".replace(HOLE, "…"))
            return


_REDIS_VALUED = (
    "-h -p -t -s -a -u -r -i -n -d -D -X --user --pass --sni --cacert --cacertdir --cert --key --tls-ciphers --pattern "
    "--count --quoted-pattern --rdb --functions-rdb --intrinsic-latency --memkeys-samples --lru-test --show-pushes"
)
_REDIS_LOOKS = regex(
    r"(?:m?get|getrange|getbit|substr|strlen|exists|p?ttl|p?expiretime|type|keys|[hsz]?scan|randomkey|dbsize|info|ping"
    r"|echo|time|lastsave|monitor|role|auth|hello|select|quit|help|dump|touch|wait|object|memory|slowlog|latency"
    r"|command|p?subscribe|pubsub|lolwut|h(?:get|getall|mget|keys|vals|len|exists|strlen|randfield)"
    r"|l(?:range|len|index|pos)|s(?:members|m?ismember|card|randmember|inter|intercard|union|diff)"
    r"|z(?:(?:rev)?range(?:byscore|bylex)?|(?:rev)?rank|m?score|card|(?:lex)?count|randmember|diff|inter|union)"
    r"|x(?:range|revrange|len|read|info|pending)|pfcount|bit(?:count|pos)|bitfield_ro|sort_ro"
    r"|geo(?:pos|dist|hash|search)|json\.(?:m?get|type|\w+len|objkeys)|ft\.(?:search|info|_list|aggregate)"
    r"|ts\.(?:m?get|m?range|info))(?: .*)?"
    r"|(?:config|script|function|acl|cluster|client|debug|module|sentinel)"
    r" (?:get|exists|list|info|stats|whoami|help|nodes|slots|shards|myid|getname|id|masters?|replicas|slaves|keyslot)",
    re.IGNORECASE | re.DOTALL,
)
"""What changes nothing. Any other word may be one that does: there are hundreds, and modules bring their own."""


# ── in production ─────────────────────────────────────────────────────────────────────────────────────────────────────

_PRODUCTION = regex(r"(?:^|[-_./:@])(?:prod|production|live)(?:$|[-_./:@\d])", re.IGNORECASE)
_SWITCHES = {
    "kubectl": ("config", "use-context"), "kubectx": (), "docker": ("context", "use"),
    "gcloud": ("config", "set", "project"), "az": ("account", "set"), "terraform": ("workspace", "select"),
    "tofu": ("workspace", "select"), "firebase": ("use",), "heroku": ("git:remote",),
}  # fmt: skip
_ON_DATA = regex(
    r"(?:.*[:._-])?(?:migrat(?:e|ions?)|seeds?|console|dbconsole|runner|shell|shell_plus|dbshell|db|database|tinker"
    r"|loaddata|createsuperuser|changepassword|data|backfill|import|restore|cleanup|rollback)(?:[:._-].*)?"
)
"""Words that tell a program of a project to work on its data, or to open a prompt that can."""
_MIGRATORS = frozenset(("alembic", "flyway", "liquibase", "dbmate", "goose", "atlas", "sqitch", "migrate", "knex"))
_ONLY_LOOKS = regex(
    r"(?:.*[:._-])?(?:status|version|list|current|history|heads|check|show|info|plan|validate|pending|diff|generate"
    r"|create|make|new|add|build|precompile|compile|install|lint|test|view|get|log|logs)(?:[:._-].*)?|make\w+|show\w+"
)
_LOCAL_PROGRAMS = frozenset(
    ("git", "grep", "rg", "cat", "ls", "cd", "echo", "docker", "find", "export", "env", "vim", "less", "head", "tail",
     "cp", "mv", "mkdir", "psql", "mysql", "ssh", "kubectl", "helm", "terraform", "aws", "gcloud", "az")
)  # fmt: skip
"""They have rules of their own, or what they are given are files."""


def named_production(name: str, value: str) -> str:
    """What a variable says of production: `RAILS_ENV=production`; empty for nothing."""
    return f"{name}={value}"[:60] if len(value) < 500 and _PRODUCTION.search(value) else ""


def production_rules(run: Run, environment: str) -> Iterator[RuleHit]:
    """`environment`: what a variable of the line says of production."""
    switch = _SWITCHES.get(run.program)
    if switch is not None and tuple(run.values[: len(switch)]) == switch:
        # what comes later, and looks as harmless as ever, would be done there
        to = next((one for one in run.values[len(switch) :] if _PRODUCTION.search(one)), "")
        if to:
            yield RuleHit("persists", f"{run.program} {' '.join(switch)} {to}")
        return
    if run.program in _LOCAL_PROGRAMS:
        return
    words = [one for one in run.values[:12] if not one.startswith("-") and " " not in one]
    acts = [one for one in words if _ON_DATA.fullmatch(one)] or (["c"] if words[:1] == ["c"] else [])
    if run.program in _MIGRATORS:
        acts = acts or words[:1]
    if not acts or any(_ONLY_LOOKS.fullmatch(one) for one in words[:4]) or only_looks(run.program, run.values):
        return
    where = _says_production(run.values) or environment or next((one for one in acts if _PRODUCTION.search(one)), "")
    if where:
        yield RuleHit("publishes", f"{run.program} {acts[0]} ({where})")


def _says_production(values: Sequence[str]) -> str:
    """The value of an option, or of a variable among the words, that names production."""
    for at, one in enumerate(values[:40]):
        name, equals, value = one.partition("=")
        if not equals:
            value = one if at and values[at - 1].startswith("-") else ""
        if value and len(value) < 500 and _PRODUCTION.search(value):
            return f"{name}={value}"[:60] if equals else f"{values[at - 1]} {value}"[:60]
    return ""


# ── asked of a server ─────────────────────────────────────────────────────────────────────────────────────────────────

_READS = ("", "GET", "HEAD", "OPTIONS", "SEARCH", "QUERY")
_REMOVES = ("DELETE", "PURGE", "BAN")
_SENDING = ("-d", "--data", "--data-ascii", "--data-binary", "--data-raw", "--data-urlencode", "-F", "--form",
            "--form-string", "-T", "--upload-file", "--json")  # fmt: skip
_MEANS_ALL = regex(r"/(?:_all|\*|%2a)(?:[/?]|$)|_delete_by_query", re.IGNORECASE)
"""Of a store that is spoken to by its address: all that is in it."""
_ENDING_WORDS = (
    r"delete|destroy|drop|purge|wipe|nuke|truncate|flush|erase|terminate|teardown|shutdown|remove|reset|revoke|leave"
    r"|factory|rollback"
)
_PATH_ENDS = regex(rf"(?:^|[/_.:-])(?:{_ENDING_WORDS})(?=$|[/_.:?-])(?!-?password|[-_]?link|[-_]?token)", re.IGNORECASE)
_MUTATION = regex(rf"\bmutation\b[^{{]{{0,300}}\{{\s*(?:\w+\s*:\s*)?(?:{_ENDING_WORDS})", re.IGNORECASE)
_OVERRIDES = regex(r"method-override\s*:\s*(?:delete|purge)", re.IGNORECASE)


def _asked_of_a_server(
    run: Run, method: str, sends: bool, addresses: Sequence[Address], texts: Sequence[str] = ()
) -> Iterator[RuleHit]:
    """What one request would do, to whichever server."""
    if method in _REMOVES or any(_OVERRIDES.search(one) for one in run.values):
        yield RuleHit("destroys", f"{run.program} {method or 'DELETE'}")
        return
    if method in _READS and not sends:
        return
    path = next((one.path for one in addresses if _MEANS_ALL.search(one.path) or _PATH_ENDS.search(one.path)), "")
    if path:
        yield RuleHit("destroys", f"{run.program} … {path[:60]}")
    said = "\n".join(texts)[:100_000]
    if _MUTATION.search(said):
        yield RuleHit("destroys", f"{run.program} … mutation")
    yield from sql_rules(run.program, said)


def _method_first(operands: Sequence[str]) -> str:
    return operands[0].upper() if operands and operands[0].upper() in METHODS else ""


def curl_rules(run: Run, _place: Place) -> Iterator[RuleHit]:
    told = run.option("-X", "--request")
    method = told.value.upper() if told is not None else ""
    if run.program == "curlie" and not method:
        method = next((one for one in run.values if one in METHODS), "")
    sends = list(given(run, *_SENDING, "--url-query"))
    files = [one for one, value in sends if re.match(r"[^=&]*@", value) and not one.endswith(("-raw", "-string"))]
    asks_only = not files and (run.has("-G", "--get") or all(one == "--url-query" for one, _ in sends))
    sent = bool(sends) and not (asks_only and not method)
    if (method not in _READS[:4] or sent) and reaches_out(run):
        yield RuleHit("publishes", f"curl {(files or [one for one, _ in sends] or [f'-X {method}'])[0]}")
    yield from _asked_of_a_server(
        run, method, sent, named_addresses(run), [*(value for _, value in sends), run.text or ""]
    )
    if any(given(run, "-K", "--config")):
        yield RuleHit("runs", "curl -K", ("-K",))
    if any(_is_away(value) for _, value in given(run, "-x", "--proxy", "--preproxy")):
        yield RuleHit("publishes", "curl --proxy")
    yield from sends_credentials(run)


def _is_away(host: str) -> bool:
    address = parsed(host, "http")
    return address is not None and not address.is_local


def wget_rules(run: Run, _place: Place) -> Iterator[RuleHit]:
    told = run.option("--method")
    method = told.value.upper() if told is not None else ""
    sends = [value for _, value in given(run, "--post-data", "--post-file", "--body-data", "--body-file")]
    if (sends or method not in _READS[:4]) and reaches_out(run):
        yield RuleHit("publishes", "wget --post-data")
    yield from _asked_of_a_server(run, method, bool(sends), named_addresses(run), sends)
    if "askpass" in "".join(value for _, value in given(run, "-e", "--execute")):
        yield RuleHit("runs", "wget -e use_askpass")
    yield from sends_credentials(run)


def httpie_rules(run: Run, _place: Place) -> Iterator[RuleHit]:
    operands = [
        word.value for word in run.operands("-a --auth -o --output --session --timeout --proxy -s --style -p --print")
    ]
    method = _method_first(operands)
    items = operands[2:] if method else operands[1:]
    sends = any(re.match(r"[\w.\[\]-]+(?::?=|@)", one) and "==" not in one for one in items)
    sends |= run.redirected or bool(run.fed and not run.has("--ignore-stdin", "-I"))
    if (method not in _READS or sends) and reaches_out(run):
        yield RuleHit("publishes", f"{run.program} {method or 'POST'}")
    yield from _asked_of_a_server(run, method, sends, named_addresses(run), [*items, run.text or ""])
    yield from sends_credentials(run)


def _only_queries(run: Run) -> bool:
    """`gh api graphql -f query='{ viewer { login } }'`: a question, whose further fields are its variables."""
    said = [value[6:] for value in run.values if value.startswith("query=")]
    return (
        "graphql" in run.values and not run.has("--input") and len(said) == 1
        and re.match(r"\s*(?:query\b|\{)", said[0]) is not None and "mutation" not in said[0] and HOLE not in said[0]
    )  # fmt: skip


def gh_rules(run: Run, _place: Place) -> Iterator[RuleHit]:
    """`gh api` changes what it is told to."""
    if run.values[:1] != ["api"]:
        return
    method = run.option("-X", "--method")
    sends = run.has("-f", "-F", "--field", "--raw-field", "--input") and not _only_queries(run)
    if (method is not None and method.value.upper() not in ("GET", "HEAD")) or (sends and method is None):
        yield RuleHit("publishes", f"gh api {'-X ' + method.value if method else '-f'}")


# ── gRPC ──

_GRPC_LOOKS = regex(
    r"(?i:(?:batch)?(?:get|list|describe|search|query|count|check|health|watch|find|read|look|fetch|ping|echo|stream"
    r"|show|view|status|server|has|is|exists|resolve|preview|validate|estimate|hello|say|version))(?![a-z])"
)
_GRPC_ENDS = regex(rf"(?:batch|force|bulk)?(?:{_ENDING_WORDS})", re.IGNORECASE)
_METHOD = regex(r"[\w.]+[/.](\w+)")


def grpc_rules(run: Run, _place: Place) -> Iterator[RuleHit]:
    """The name of a method says what it does."""
    words = [one for one in run.values if not one.startswith("-")]
    if any(one in ("list", "describe", "ls", "desc") for one in words):
        return
    names = [found[1] for one in words if (found := _METHOD.fullmatch(one)) and found[1][:1].isupper()]
    at = next((at for at, one in enumerate(words) if one == "call"), -1)
    names += [one.rpartition(".")[2] for one in words[at + 1 : at + 3] if at >= 0 and one[:1].isupper()]
    for name in names:
        if _GRPC_ENDS.match(name):
            yield RuleHit("destroys", f"{run.program} {name}")
            return
        if not _GRPC_LOOKS.match(name) and not _is_here(words):
            yield RuleHit("publishes", f"{run.program} {name}")
            return


def _is_here(words: Sequence[str]) -> bool:
    """Whether a host is named, and each is this machine."""
    hosts = [one for one in words if re.fullmatch(r"(?:\w+://)?(?:[\w.-]+|\[[\da-fA-F:]+\]):\d+(?:/.*)?", one)]
    hosts += [one for one in words if one == "localhost"]
    return bool(hosts) and not any(map(_is_away, hosts))


# ── brokers and sockets ──

_SAYS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("mosquitto_pub", "kafka-console-producer", "kafka-console-producer.sh", "amqp-publish"), ()),
    **dict.fromkeys(("wscat", "websocat"), ()),
    **dict.fromkeys(("kcat", "kafkacat"), ("-P",)),
    "nats": ("pub", "publish", "req", "request"),
    "mqtt": ("pub", "publish"),
    "rabbitmqadmin": ("publish",),
}  # fmt: skip
"""Programs that send messages, with the words that tell them so."""
_SERVER = ("-h", "--host", "-b", "--broker-list", "--bootstrap-server", "-s", "--server", "-c", "--connect", "-u",
           "--url", "-H")  # fmt: skip


def message_rules(run: Run, _place: Place) -> Iterator[RuleHit]:
    told = _SAYS[run.program]
    if told and set(told).isdisjoint(run.values):
        return
    hosts = [value for _, value in given(run, *_SERVER)] or [one for one in run.values if "://" in one]
    if any(HOLE in one or _is_away(one) for one in hosts):
        yield RuleHit("publishes", f"{run.program} {' '.join(run.values[:3])}".replace(HOLE, "…"))


MESSAGING = frozenset(_SAYS)
