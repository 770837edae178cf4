"""Addresses in a command line, what it copies to other machines and brings from there, and whether a later command
runs that: `curl -o x … && sh x`, `git clone … && cd y && make`."""

import os
import re
from collections.abc import Callable, Iterator

from msgspec import DecodeError, json

from rightcall.base.text import regex
from rightcall.policy.commands.inline import interpreter
from rightcall.policy.commands.outputs import writes_to
from rightcall.policy.commands.paths import is_plain
from rightcall.policy.commands.places import Place
from rightcall.policy.commands.runs import (
    FETCHERS,
    SECRET_NAME,
    SHELLS,
    RuleHit,
    Run,
    action_at,
    is_meant,
    option_value,
    options_of,
)
from rightcall.policy.commands.shell import Simple
from rightcall.policy.commands.urls import Address, canonical_host, parsed
from rightcall.policy.commands.words import HOLE, Word, braces

_CURL_VALUED = (
    "-A -b -c -C -d -D -e -E -F -h -H -K -m -o -P -Q -r -t -T -u -U -w -x -X -y -Y -z --user-agent --cookie "
    "--cookie-jar "
    "--continue-at --data --data-ascii --data-binary --data-raw --data-urlencode --dump-header --referer --cert --form "
    "--form-string --header --config --max-time --output --ftp-port --quote --range --telnet-option "
    "--upload-file --user "
    "--proxy-user --write-out --proxy --request --time-cond --connect-timeout --retry --retry-delay --cacert --capath "
    "--key --resolve --interface --limit-rate --max-redirs --url --json --output-dir --ciphers --unix-socket "
    "--aws-sigv4 "
    "--netrc-file --oauth2-bearer --connect-to --dns-servers --retry-max-time --url-query --variable --socks5 --noproxy"
)
_SSH_VALUED = "-p -i -l -o -L -R -D -F -J -b -c -E -e -I -m -O -Q -S -W -w -B"


CONNECTS = frozenset(
    ("curl", "curlie", "wget", "http", "https", "xh", "aria2c", "ssh", "scp", "sftp", "rsync", "git", "mosh", "autossh",
     "nc", "ncat", "netcat", "telnet", "psql", "mysql", "redis-cli", "lynx", "links", "w3m", "httpie", "ping")
)  # fmt: skip
"""Programs that take a host without a scheme."""
_HOST = regex(r"(?:[\w.-]+@)?(\[[0-9a-fA-F:]+\]|[\w.-]+):(?!\\|//)")
_LEADS = ("-x", "--proxy", "--preproxy", "--connect-to", "--resolve", "--doh-url", "--socks5", "--socks5-hostname",
          "--socks4", "--socks4a", "--proxy1.0")  # fmt: skip


def addresses(run: Run) -> list[Address]:
    """Those a command would connect to."""
    return [*named_addresses(run), *_hosts(run)]


def _hosts(run: Run) -> list[Address]:
    """Hosts that stand without a scheme, and those that a request is led through."""
    reader = _HOSTS.get(run.program)
    if reader is None:
        return []
    scheme = "ssh" if run.program in {"ssh", "scp", "sftp", "rsync", "git", "autossh", "mosh"} else "http"
    read = [parsed(one, scheme) for one in reader(run)[:20] if HOLE not in one]
    return [one for one in read if one is not None]


def _led_through(run: Run) -> list[str]:
    """Of curl: proxies, and what stands in for a host."""
    found: list[str] = []
    for option, value in given(run, *_LEADS):
        if option in ("--connect-to", "--resolve"):
            pieces = re.findall(r"\[[^\]]*\]|[^:]*", value)
            found += [one for one in pieces if one and not one.isdigit()][-2:]
        else:
            found.append(value)
    return found


def _logged_into(run: Run) -> list[str]:
    jumps = [value for option, value in given(run, "-J", "-W") if option in run.values]
    return [one.rpartition("@")[2] for one in (*(word.value for word in run.operands(_SSH_VALUED)[:1]), *jumps)]


def _copied_between(run: Run) -> list[str]:
    """`host:path`; of git only with a user, since a branch may have a colon too."""
    values = [one for one in run.values if not one.startswith(("-", "/", ".")) and (run.program != "git" or "@" in one)]
    return [found[1] for one in values if (found := _HOST.match(one))]


def given(run: Run, *options: str) -> Iterator[tuple[str, str]]:
    """Those of some options that are there, each with its value."""
    for name, value in options_of(run.program, run.arguments):
        if value is not None and (
            found := name if name in options else next((one for one in options if is_meant(one, name)), "")
        ):
            yield found, value.value


_HOSTS: dict[str, Callable[[Run], list[str]]] = {
    **dict.fromkeys(("curl", "curlie"), _led_through),
    **dict.fromkeys(("ssh", "autossh", "mosh"), _logged_into),
    **dict.fromkeys(("scp", "rsync", "sftp", "git"), _copied_between),
    **dict.fromkeys(
        ("lynx", "links", "w3m", "httpie"), lambda run: [one for one in run.values if not one.startswith("-")]
    ),
    **dict.fromkeys(
        ("nc", "ncat", "netcat", "telnet", "ping"),
        lambda run: [one.value for one in run.operands("-p -s -w -i -X -x -q -I -O -c -W -t")[:1]],
    ),
    **dict.fromkeys(("psql", "mysql", "redis-cli"), lambda run: [value for _, value in given(run, "-h", "--host")]),
}


def named_addresses(run: Run) -> list[Address]:
    if run.program in ("curl", "curlie"):
        words = [*run.operands(_CURL_VALUED), *filter(None, [run.option("--url")])]
        words = [one for one in words if one.value not in METHODS] if run.program == "curlie" else words
        if any(re.search(r"[{\[]", word.value) for word in words) and not run.has("-g", "--globoff"):
            texts = [re.sub(r"\[(\w+)-(\w+)(?::\d+)?\]", r"{\1..\2}", word.value) for word in words[:10]]
            words += [Word(one) for text in texts for one in braces(text)]
        return _parsed(words, "http")
    if run.program in ("wget", "http", "https", "xh", "aria2c"):
        words = [one for one in run.operands("-O -o -P -U -e -i -t -T --output-document --header --user-agent") if
                 one.value.upper() not in METHODS]  # fmt: skip
        if run.program not in ("wget", "aria2c"):  # `:8000/x` is a port of this machine
            words = [Word(f"localhost{one.value}") if one.value.startswith((":", "/")) else one for one in words[:1]]
        return _parsed(words, "http")
    return _parsed([word for word in run.arguments if "://" in word.value], "")


METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")


def _parsed(words: list[Word], scheme: str) -> list[Address]:
    found: list[Address] = []
    for word in words:
        text = word.value
        if "://" in text and not re.match(r"[A-Za-z][\w+.-]*://", text):
            text = text[re.search(r"[A-Za-z][\w+.-]*://|$", text).start() :]  # type: ignore[union-attr]
        address = parsed(text.replace(HOLE, "x"), scheme)
        if address is not None and HOLE not in word.value.partition("://")[2][:1]:
            found.append(address)
        elif HOLE in word.value:
            found.append(Address(scheme or "http", HOLE, None, "/"))
    return found


def reaches_out(run: Run) -> bool:
    """Whether it talks to more than this machine; where no address is known, it counts as such."""
    found = named_addresses(run)
    return not found or any(not one.is_local for one in found)


def lookup_rules(run: Run, _place: Place) -> Iterator[RuleHit]:
    """Names that are made of what a command prints carry it out."""
    yield from sends_credentials(run)


def sends_credentials(run: Run) -> Iterator[RuleHit]:
    carried = [one for one in run.printed if one not in _HARMLESS_OUTPUT]
    if carried and reaches_out(run):
        yield RuleHit("publishes", f"{run.program} … $({carried[0]} …)")
    handed = [one for one in run.carried if one not in _HARMLESS_OUTPUT]
    if handed and any(_CARRIES.search(word.value) for word in run.arguments) and reaches_out(run):
        yield RuleHit("publishes", f"{run.program} … what `{handed[0]}` printed")
    names = [name for word in run.arguments for name in word.names if SECRET_NAME.search(name)]
    if names and reaches_out(run):
        yield RuleHit("credentials", f"${names[0]}")


_CARRIES = regex(rf"(?:://|^)[\w.-]+(?::\d+)?[/?#].*{HOLE}|^{HOLE}\.[\w-]+\.\w|^[\w-]+: .*{HOLE}", re.DOTALL)
"""What is not known stands behind a host that is, before its name, or in a header."""
_HARMLESS_OUTPUT = frozenset(
    ("date", "echo", "printf", "uuidgen", "git", "seq", "uname", "nproc", "jq", "tr", "cut", "basename", "dirname",
     "pwd", "curl", "wget", "arch", "dpkg", "lsb_release", "sw_vers", "npm", "node", "go", "rustc", "python3", "sed",
     "head", "tail", "sort", "grep", "rev", "bc", "expr", "mktemp", "minikube", "docker", "kubectl")
)  # fmt: skip


def _led_by_a_file(run: Run) -> Iterator[RuleHit]:
    """Settings from a file of its own may name programs to start."""
    for at, value in enumerate(run.values):
        if value.startswith("-F") and (value[2:] or "".join(run.values[at + 1 : at + 2])) not in ("/dev/null", "none"):
            yield RuleHit("runs", f"{run.program} -F", ("-F",))
            return


def copy_rules(run: Run, _place: Place) -> Iterator[RuleHit]:
    """`scp` and `rsync`: what goes to another machine."""
    if run.program == "scp":
        yield from _led_by_a_file(run)
    operands = run.operands(
        "-e -f -B --rsh --exclude --include --exclude-from --include-from --filter --bwlimit --timeout --port "
        "--log-file "
        "--backup-dir --suffix --chmod --chown --temp-dir --partial-dir --compare-dest --link-dest --files-from "
        "--password-file " + ("-P -i -o -c -F -l -S -J -D" if run.program == "scp" else "")
    )
    remote = [(bool(re.match(r"(?:[\w.-]+@)?[\w.\[\]:-]+:(?!\\)"
                             r"|\w+://", one.value)) and not one.value.startswith(("/", ".")))
              or (HOLE in one.value.partition(":")[0] and ":" in one.value) for one in operands]  # fmt: skip
    if remote and remote[-1]:
        yield RuleHit("publishes", f"{run.program} … {operands[-1].value}".replace(HOLE, "…"))


def bucket_rules(run: Run, _place: Place) -> Iterator[RuleHit]:
    """Copying to a bucket; from one it is a download."""
    words = [
        word.value for word in run.operands("--profile --region --exclude --include --acl --cache-control --filter")
    ]
    copies = {"aws": ["s3"], "gcloud": ["storage"]}.get(run.program, [])
    if words[: len(copies)] != copies:
        return
    action, *places = words[len(copies) :] or [""]
    if action in ("cp", "sync", "copy", "copyto", "rsync", "cat", "mv") and places and not is_plain(
        places[0].partition(":")[2].lstrip("/")
    ):  # fmt: skip
        yield RuleHit("credentials", f"{run.program} {action} {places[0]}")
    if (
        action in ("cp", "sync", "copy", "copyto", "rsync")
        and places
        and (
            re.match(r"\w[\w.-]*:(?!\\)|/?\w+:/", places[-1])
            or (run.program == "mc" and not places[-1].startswith((".", "/", "~")))
        )
    ):
        yield RuleHit("publishes", f"{run.program} {action} … {places[-1]}")


def netcat_rules(run: Run, _place: Place) -> Iterator[RuleHit]:
    """A look whether a port is open sends nothing; this machine is not outside."""
    hosts = [word.value for word in run.operands("-p -s -w -i -X -x -q -I -O")]
    looks = run.has("-z") or (hosts and canonical_host(hosts[0]) in ("localhost", "127.0.0.1", "::1"))
    if not looks or run.has("-e", "-c", "--exec", "--sh-exec"):
        yield RuleHit("publishes", run.program)


def ssh_rules(run: Run, _place: Place) -> Iterator[RuleHit]:
    yield from _led_by_a_file(run)
    if run.program == "ssh" and not run.operands(_SSH_VALUED):
        return
    if run.fed or run.redirected:
        yield RuleHit("publishes", "… | ssh")
    if run.program == "ssh" and len(run.operands(_SSH_VALUED)) == 1 and not run.has("-T", "-N", "-G", "-O", "-W"):
        yield RuleHit("runs", "ssh")  # whatever is typed there


_UNPACKERS = frozenset(("tar", "bsdtar", "gtar", "unzip", "cpio", "7z", "unrar"))
_BUILDS = frozenset(
    ("make", "gmake", "cmake", "ninja", "meson", "just", "task", "rake", "npm", "yarn", "pnpm", "bun", "npx", "pip",
     "pip3", "uv", "poetry", "pdm", "pipenv", "cargo", "bundle", "composer", "mvn", "gradle", "ant", "sbt", "dotnet",
     "tox", "nox", "pytest", "scons", "bazel", "invoke", "fab", "easy_install", "go", "deno", "mix", "lerna", "nx")
)  # fmt: skip
"""They run code of the folder that they stand in, or are given."""
_LOOKS = frozenset(
    ("ls", "list", "view", "info", "outdated", "audit", "--version", "-v", "--help", "help", "search", "why", "tree",
     "metadata", "show", "freeze", "config", "download", "build-help", "-n", "--dry-run", "mod", "vet", "fmt", "get")
)  # fmt: skip
_COPIES = frozenset(("hg", "svn", "bzr", "jj", "fossil", "degit", "tiged", "giget"))
_BRINGING = FETCHERS | _COPIES | {"git", "lwp-download", "rsync"}
_GIT_BRINGS = frozenset(("clone", "submodule", "pull", "FETCH_HEAD"))
_ADDRESS = regex(r"(?:\w[\w+.-]*://|git@|[\w.-]+@[\w.-]+:)")


class Brought:
    """Files and folders that came from the network in this very line."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.files: set[str] = set()
        self.folders: list[str] = []
        """Whole working copies of somebody else."""
        self.unpacked: list[str] = []
        """Where an archive was unpacked: what is new there is not known."""

    def __bool__(self) -> bool:
        return bool(self.files or self.folders or self.unpacked)

    def note(self, run: Run, command: Simple) -> None:
        """What a command brings."""
        if run.program not in _BRINGING and not run.fed and not self.files:
            return
        fed = not FETCHERS.isdisjoint(run.fed)
        here = run.folders[0]
        if run.program in _UNPACKERS and (fed or any(map(self.has, self._wholes(run, run.arguments)))):
            into = option_value(run.arguments, "-C", "--directory", "-d")
            folder = here if into is None else self.place.whole(here, into.value)
            (self.unpacked if folder == here or os.path.isdir(folder) else self.folders).append(folder)
        for folder in _cloned(run):
            self.folders.append(HOLE if HOLE in folder else self.place.whole(here, folder))
        operands = run.operands() if self.files and run.program in ("mv", "cp", "ln", "install") else []
        if len(operands) > 1 and self.has(self.place.whole(here, operands[0].value)):
            self.files.add(self.place.whole(here, operands[-1].value))
        if not fed and run.program not in FETCHERS and run.program != "lwp-download":
            return
        names = [*writes_to(run), *(one.target for one in command.redirects if one.writes)]
        if run.program in {"wget", "fetch", "axel", "aria2c", "lwp-download"} or run.has("-O", "--remote-name"):
            found = [address.path.rpartition("/")[2] for address in addresses(run)]
            names += [Word(f"{folder.value}/{name}") for folder in writes_to(run) for name in found]
            names += map(Word, found)
        if run.program == "lwp-download":
            names += run.operands()[1:]
        if run.program in ("scp", "rsync"):
            given = [one.value for one in run.operands("-P -i -o -F -e -l -S")]
            names += [Word(f"{given[-1]}/{re.split('[:/]', one)[-1]}") for one in given[:-1] if ":" in one]
        self.files.update(self._wholes(run, names))
        self.files.update(f"${name}" for word in names if HOLE in word.value for name in word.names)

    def has(self, whole: str) -> bool:
        """Whether a path is one of those files, or in one of those folders."""
        return whole in self.files or any(whole == one or whole.startswith(f"{one}/") for one in self.folders)

    def runs(self, run: Run) -> str | None:
        """What of it a command would run; None for nothing."""
        name = run.name.value
        if "/" in name and (
            self.has(self.place.whole(run.folders[0], name)) or (self.unpacked and name.startswith("./"))
        ):
            return name
        inside = any(self.has(folder) or self._is_unpacked(folder) for folder in run.folders)
        if "/" in name and inside:
            return name
        how = interpreter(run.program)
        if run.program in SHELLS or run.program in ("source", ".") or (how is not None and not how.first):
            script = run.operands(" ".join(how.valued) if how is not None else "-o +o -O +O --rcfile")[:1]
            wholes = self._wholes(run, script)
            inside |= bool(self.unpacked) and run.program in SHELLS
            inside |= any(f"${name}" in self.files for word in script for name in word.names)
            inside |= any(self.has(one) or self._is_unpacked(os.path.dirname(one)) for one in wholes)
            if script and "-m" not in run.values and inside:
                return f"{run.program} {script[0].value}".replace(HOLE, "…")
            return None
        if run.program not in _BUILDS or not _LOOKS.isdisjoint(run.values[:2]):
            return None
        values = [Word(one.value.rpartition("=")[2]) for one in run.arguments]
        if inside or any(map(self.has, self._wholes(run, values))):
            return " ".join([run.program, *run.values[:1]])
        return None

    def _is_unpacked(self, folder: str) -> bool:
        """One below the place of an archive, which was not there before."""
        return any(folder.startswith(f"{one}/") for one in self.unpacked) and not os.path.isdir(folder)

    def _wholes(self, run: Run, words: list[Word]) -> list[str]:
        return [self.place.whole(run.folders[0], word.value) for word in words if word.value and HOLE not in word.value]


def _cloned(run: Run) -> Iterator[str]:
    """The folders that a command fills with somebody else's code."""
    if run.program == "git":
        yield from _cloned_by_git(run)
        return
    operands = [one.value for one in run.operands("-b -r --revision --depth")]
    if run.program == "gh" and operands[:2] == ["repo", "clone"] and operands[2:]:
        yield _folder_of(operands[2:4])
    elif run.program in _COPIES:
        named = run.program in ("degit", "tiged", "giget")
        brings = named or operands[:1] in (["clone"], ["co"], ["checkout"], ["export"], ["git"])
        rest = [one for one in (operands if named else operands[1:]) if one != "clone"]
        if brings and rest:
            yield _folder_of(rest)


def _cloned_by_git(run: Run) -> Iterator[str]:
    if _GIT_BRINGS.isdisjoint(run.values):
        return
    at = action_at("git", run.arguments)
    action = run.values[at] if at >= 0 else ""
    rest = Run("git", run.name, run.arguments[at + 1 :], run.folders, values=run.values[at + 1 :])
    operands = [one.value for one in rest.operands("-b --branch --depth -o --origin -c --config -j --reference")]
    if action == "submodule" and operands[:1] == ["add"]:
        action, operands = "clone", operands[1:]
    if action == "clone" and operands:
        above = option_value(run.arguments[:at], "-C")
        yield os.path.join(above.value if above is not None else "", _folder_of(operands))
    elif "FETCH_HEAD" in operands or (action == "pull" and operands and _ADDRESS.match(operands[0])):
        yield "."


def _folder_of(operands: list[str]) -> str:
    name = operands[1] if len(operands) > 1 else re.split(r"[/:]", operands[0].rstrip("/"))[-1].removesuffix(".git")
    return name or "."


# ── what is written and run in one line ─────────────────────────────────────────────────────────────────────────────

_OBEYED = {
    **dict.fromkeys(("make", "gmake"), ("Makefile", "makefile", "GNUmakefile")),
    **dict.fromkeys(("npm", "yarn", "pnpm", "bun"), ("package.json",)),
}
"""The files whose commands a program runs without being told."""


def obeyed_files(program: str) -> tuple[str, ...]:
    return _OBEYED.get(program, ())


def recipes_in(name: str, text: str) -> Iterator[str]:
    """The commands in a file for `make` or `npm`."""
    if name == "package.json":
        try:
            scripts = json.decode(text, type=dict[str, object]).get("scripts")
        except DecodeError:
            return
        if isinstance(scripts, dict):
            yield from (one for one in scripts.values() if isinstance(one, str))  # pyright: ignore[reportUnknownVariableType]
        return
    for line in text.replace("\\\n", " ").split("\n"):
        recipe = line if line.startswith("\t") else line.partition(";")[2] if ":" in line.partition(";")[0] else ""
        if recipe.strip():
            yield re.sub(r"^[\s@+-]+", "", recipe).replace("$$", "$").replace("$@", "x").replace("$<", "x")
