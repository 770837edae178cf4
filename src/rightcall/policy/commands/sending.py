"""What leaves the machine: requests that change or carry something, copies to other machines and to buckets."""

import re
from collections.abc import Callable, Iterator

from rightcall.base.json.marks import Late
from rightcall.policy.commands.git import SECRET_NAME, Found, Run
from rightcall.policy.commands.options import is_meant, options_of
from rightcall.policy.commands.paths import is_plain
from rightcall.policy.commands.places import Place
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
_SENDING = ("-d", "--data", "--data-ascii", "--data-binary", "--data-raw", "--data-urlencode", "-F", "--form",
            "--form-string", "-T", "--upload-file", "--json")  # fmt: skip


CONNECTS = frozenset(
    ("curl", "curlie", "wget", "http", "https", "xh", "aria2c", "ssh", "scp", "sftp", "rsync", "git", "mosh", "autossh",
     "nc", "ncat", "netcat", "telnet", "psql", "mysql", "redis-cli", "lynx", "links", "w3m", "httpie", "ping")
)  # fmt: skip
"""Programs that take a host without a scheme."""
_HOST = Late(r"(?:[\w.-]+@)?(\[[0-9a-fA-F:]+\]|[\w.-]+):(?!\\|//)")
_LEADS = ("-x", "--proxy", "--preproxy", "--connect-to", "--resolve", "--doh-url", "--socks5", "--socks5-hostname",
          "--socks4", "--socks4a", "--proxy1.0")  # fmt: skip


def addresses(run: Run) -> list[Address]:
    """Those a command would connect to."""
    return [*_named_addresses(run), *_hosts(run)]


def _hosts(run: Run) -> list[Address]:
    """Hosts that stand without a scheme, and those that a request is led through."""
    reader = _HOSTS.get(run.program)
    if reader is None:
        return []
    scheme = "ssh" if run.program in _OVER_SSH else "http"
    read = [parsed(one, scheme) for one in reader(run)[:20] if HOLE not in one]
    return [one for one in read if one is not None]


def _led_through(run: Run) -> list[str]:
    """Of curl: proxies, and what stands in for a host."""
    found: list[str] = []
    for option, value in _given(run, *_LEADS):
        if option in ("--connect-to", "--resolve"):
            pieces = re.findall(r"\[[^\]]*\]|[^:]*", value)
            found += [one for one in pieces if one and not one.isdigit()][-2:]
        else:
            found.append(value)
    return found


def _logged_into(run: Run) -> list[str]:
    jumps = [value for option, value in _given(run, "-J", "-W") if option in run.values]
    return [one.rpartition("@")[2] for one in (*(word.value for word in run.operands(_SSH_VALUED)[:1]), *jumps)]


def _copied_between(run: Run) -> list[str]:
    """`host:path`; of git only with a user, since a branch may have a colon too."""
    values = [one for one in run.values if not one.startswith(("-", "/", ".")) and (run.program != "git" or "@" in one)]
    return [found[1] for one in values if (found := _HOST.match(one))]


def _given(run: Run, *options: str) -> Iterator[tuple[str, str]]:
    """Those of some options that are there, each with its value."""
    for name, value in options_of(run.program, run.arguments):
        if value is not None and (
            found := name if name in options else next((one for one in options if is_meant(one, name)), "")
        ):
            yield found, value.value


_OVER_SSH = frozenset(("ssh", "scp", "sftp", "rsync", "git", "autossh", "mosh"))
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
    **dict.fromkeys(("psql", "mysql", "redis-cli"), lambda run: [value for _, value in _given(run, "-h", "--host")]),
}


def _named_addresses(run: Run) -> list[Address]:
    if run.program in ("curl", "curlie"):
        words = [*run.operands(_CURL_VALUED), *filter(None, [run.option("--url")])]
        if any(re.search(r"[{\[]", word.value) for word in words) and not run.has("-g", "--globoff"):
            texts = [re.sub(r"\[(\w+)-(\w+)(?::\d+)?\]", r"{\1..\2}", word.value) for word in words[:10]]
            words += [Word(one) for text in texts for one in braces(text)]
        return _parsed(words, "http")
    if run.program in ("wget", "http", "https", "xh", "aria2c"):
        words = [one for one in run.operands("-O -o -P -U -e -i -t -T --output-document --header --user-agent") if
                 one.value.upper() not in _METHODS]  # fmt: skip
        return _parsed(words if run.program in ("wget", "aria2c") else words[:1], "http")
    return _parsed([word for word in run.arguments if "://" in word.value], "")


_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")


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


def _reaches_out(run: Run) -> bool:
    """Whether it talks to more than this machine; where no address is known, it counts as such."""
    found = _named_addresses(run)
    return not found or any(not one.is_local for one in found)


def curl_rules(run: Run, _place: Place) -> Iterator[Found]:
    method = run.option("-X", "--request")
    changes = method is not None and method.value.upper() not in ("GET", "HEAD", "OPTIONS")
    sends = list(_given(run, *_SENDING, "--url-query"))
    files = [one for one, value in sends if re.match(r"[^=&]*@", value) and not one.endswith(("-raw", "-string"))]
    asks_only = not files and (run.has("-G", "--get") or all(one == "--url-query" for one, _ in sends))
    if (changes or (sends and not (asks_only and method is None))) and _reaches_out(run):
        word = (files or [one for one, _ in sends] or [f"-X {method.value if method else ''}"])[0]
        yield Found("publishes", f"curl {word}")
    elif (changes or sends) and any(_MEANS_ALL.search(one.path) for one in _named_addresses(run)):
        yield Found("destroys", f"curl {' '.join(run.values[-1:])}")
    if any(_given(run, "-K", "--config")):
        yield Found("runs", "curl -K", ("-K",))
    if any(_is_away(value) for _, value in _given(run, "-x", "--proxy", "--preproxy")):
        yield Found("publishes", "curl --proxy")
    yield from _sends_credentials(run)


_MEANS_ALL = Late(r"/(?:_all|\*|%2a)(?:[/?]|$)|_delete_by_query", re.IGNORECASE)
"""Of a store that is spoken to by its address: all that is in it, also where it runs on this machine."""


def _is_away(host: str) -> bool:
    address = parsed(host, "http")
    return address is not None and not address.is_local


def wget_rules(run: Run, _place: Place) -> Iterator[Found]:
    method = run.option("--method")
    sends = any(_given(run, "--post-data", "--post-file", "--body-data", "--body-file"))
    if (sends or (method is not None and method.value.upper() not in ("GET", "HEAD"))) and _reaches_out(run):
        yield Found("publishes", "wget --post-data")
    if "askpass" in "".join(value for _, value in _given(run, "-e", "--execute")):
        yield Found("runs", "wget -e use_askpass")
    yield from _sends_credentials(run)


def httpie_rules(run: Run, _place: Place) -> Iterator[Found]:
    operands = [
        word.value for word in run.operands("-a --auth -o --output --session --timeout --proxy -s --style -p --print")
    ]
    method = operands[0].upper() if operands and operands[0].upper() in _METHODS else ""
    items = operands[2:] if method else operands[1:]
    sends = any(re.match(r"[\w.\[\]-]+(?::?=|@)", one) and "==" not in one for one in items)
    sends |= run.redirected or bool(run.fed and not run.has("--ignore-stdin", "-I"))
    if (method not in ("", "GET", "HEAD", "OPTIONS") or sends) and _reaches_out(run):
        yield Found("publishes", f"{run.program} {method or 'POST'}")
    yield from _sends_credentials(run)


def gh_rules(run: Run, _place: Place) -> Iterator[Found]:
    """`gh api` changes what it is told to."""
    if run.values[:1] != ["api"]:
        return
    method = run.option("-X", "--method")
    sends = run.has("-f", "-F", "--field", "--raw-field", "--input")
    if (method is not None and method.value.upper() not in ("GET", "HEAD")) or (sends and method is None):
        yield Found("publishes", f"gh api {'-X ' + method.value if method else '-f'}")


def lookup_rules(run: Run, _place: Place) -> Iterator[Found]:
    """Names that are made of what a command prints carry it out."""
    yield from _sends_credentials(run)


def _sends_credentials(run: Run) -> Iterator[Found]:
    carried = [one for one in run.printed if one not in _HARMLESS_OUTPUT]
    if carried and _reaches_out(run):
        yield Found("publishes", f"{run.program} … $({carried[0]} …)")
    handed = [one for one in run.carried if one not in _HARMLESS_OUTPUT]
    if handed and any(_CARRIES.search(word.value) for word in run.arguments) and _reaches_out(run):
        yield Found("publishes", f"{run.program} … what `{handed[0]}` printed")
    names = [name for word in run.arguments for name in word.names if SECRET_NAME.search(name)]
    if names and _reaches_out(run):
        yield Found("credentials", f"${names[0]}")


_CARRIES = Late(rf"(?:://|^)[\w.-]+(?::\d+)?[/?#].*{HOLE}|^{HOLE}\.[\w-]+\.\w|^[\w-]+: .*{HOLE}", re.DOTALL)
"""What is not known stands behind a host that is, before its name, or in a header."""
_HARMLESS_OUTPUT = frozenset(
    ("date", "echo", "printf", "uuidgen", "git", "seq", "uname", "nproc", "jq", "tr", "cut", "basename", "dirname",
     "pwd", "curl", "wget", "arch", "dpkg", "lsb_release", "sw_vers", "npm", "node", "go", "rustc", "python3", "sed",
     "head", "tail", "sort", "grep", "rev", "bc", "expr", "mktemp", "minikube", "docker", "kubectl")
)  # fmt: skip


def _led_by_a_file(run: Run) -> Iterator[Found]:
    """Settings from a file of its own may name programs to start."""
    for at, value in enumerate(run.values):
        if value.startswith("-F") and (value[2:] or "".join(run.values[at + 1 : at + 2])) not in ("/dev/null", "none"):
            yield Found("runs", f"{run.program} -F", ("-F",))
            return


def copy_rules(run: Run, _place: Place) -> Iterator[Found]:
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
        yield Found("publishes", f"{run.program} … {operands[-1].value}".replace(HOLE, "…"))


def bucket_rules(run: Run, _place: Place) -> Iterator[Found]:
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
        yield Found("credentials", f"{run.program} {action} {places[0]}")
    if (
        action in ("cp", "sync", "copy", "copyto", "rsync")
        and places
        and (
            re.match(r"\w[\w.-]*:(?!\\)|/?\w+:/", places[-1])
            or (run.program == "mc" and not places[-1].startswith((".", "/", "~")))
        )
    ):
        yield Found("publishes", f"{run.program} {action} … {places[-1]}")


def netcat_rules(run: Run, _place: Place) -> Iterator[Found]:
    """A look whether a port is open sends nothing; this machine is not outside."""
    hosts = [word.value for word in run.operands("-p -s -w -i -X -x -q -I -O")]
    looks = run.has("-z") or (hosts and canonical_host(hosts[0]) in ("localhost", "127.0.0.1", "::1"))
    if not looks or run.has("-e", "-c", "--exec", "--sh-exec"):
        yield Found("publishes", run.program)


def ssh_rules(run: Run, _place: Place) -> Iterator[Found]:
    yield from _led_by_a_file(run)
    if run.program == "ssh" and not run.operands(_SSH_VALUED):
        return
    if run.fed or run.redirected:
        yield Found("publishes", "… | ssh")
    if run.program == "ssh" and len(run.operands(_SSH_VALUED)) == 1 and not run.has("-T", "-N", "-G", "-O", "-W"):
        yield Found("runs", "ssh")  # whatever is typed there
