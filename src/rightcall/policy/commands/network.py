"""Addresses in a command line, what it copies to other machines and brings from there, and whether a later command
runs that: `curl -o x … && sh x`, `git clone … && cd y && make`."""

import os
import re
from collections.abc import Callable, Iterator

from msgspec import DecodeError, json

from rightcall.base.text import regex
from rightcall.policy.commands.inline import interpreter
from rightcall.policy.commands.paths import is_plain
from rightcall.policy.commands.places import Place
from rightcall.policy.commands.runs import (
    FETCHERS,
    SECRET_NAME,
    RuleHit,
    Run,
    action_at,
    is_meant,
    option_value,
    options_of,
    writes_to,
)
from rightcall.policy.commands.shell import Simple
from rightcall.policy.commands.urls import Address, canonical_host, parsed
from rightcall.policy.commands.words import HOLE, Word, braces
from rightcall.policy.commands.wrappers import SHELLS

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


# ── packages ──
# Packages that a command brings: one that nobody knows and that is fetched and run in one step, one straight from a
# repository, and another version of RightCall itself.

_FETCHES_ALWAYS = frozenset(("npx", "bunx", "pnpx", "uvx"))
"""Without a terminal `npx` and `npm exec` do not ask before they fetch."""
_FETCHERS = frozenset((*_FETCHES_ALWAYS, "pipx"))
_VALUED = "-p --package -w --workspace --from --with --python --spec --index-url --with-requirements"
_SOURCE = regex(
    r"(?:-{1,2}[A-Za-z-]+=)?(?:[\w.,\[\]-]+ ?@ ?)?(?:git::|sparse\+|(?:git|hg|svn|bzr)\+|git://|git@|ssh://|https?://(?!(?:[^/@]*@)?(?:localhost|127\.)\b)"
    r"|(?:github|gitlab|bitbucket|gist):)"
)
"""What is not taken by its name from the index that everybody uses."""
_USUAL = regex(
    r"(?:-{1,2}[a-z-]+=)?https://(?:pypi\.org|registry\.npmjs\.org|registry\.yarnpkg\.com|download\.pytorch\.org"
    r"|rubygems\.org|proxy\.golang\.org|npm\.pkg\.github\.com|conda\.anaconda\.org|repo\.packagist\.org)(?:[:/].*)?"
)
_BRINGS = frozenset(
    ("install", "i", "add", "in", "isntall", "download", "wheel", "sync", "update", "upgrade", "pip", "tool", "pin",
     "plugin", "plugins", "plugin-add", "require", "create", "init", "inject", "try-repo", "get", "global", "source",
     "-p", "ci", "fetch", "profile", "box", "remote", "repo", "package", "archive.install", "escript.install",
     "collection", "role", "remote-add", "dependency:get", "specific_install")
)  # fmt: skip
_RUNS = frozenset(("run", "exec", "x", "dlx"))
"""Of these only what stands before the words of the program counts."""
_ACTIONS = _BRINGS | _RUNS | {"config"}
_OF_THE_PROJECT = frozenset(("test", "start", "ls", "list", "outdated", "audit", "why", "-v", "--version"))
_SETS = frozenset(("composer", "poetry", "pdm", "bundle"))
"""Their `config` may name another place that packages come from."""
_ALWAYS = frozenset(("cpanm", "cpan", "nix-shell", "nix-env"))
_NO_SOURCE = frozenset(("--proxy", "--https-proxy", "--cert", "--homepage", "--message", "-m"))
_INDEXES = frozenset(
    ("--index-url", "-i", "--extra-index-url", "--index", "--find-links", "-f", "--registry", "--source")
)
_BY_REPOSITORY = regex(r"[A-Za-z0-9][\w.-]*/[\w.-]+(?:#.*)?")
_WELL_KNOWN_TEXT = """
    11ty all-contributors astro browserslist bundlesize cucumber-js depcruise eleventy ember eslint_d gatsby grunt gulp
    hardhat jasmine karma knex msw nest newman npm-run-all2 orval pkg postcss-cli protractor remix rescript sequelize
    slidev source-map-explorer stryker svelte-kit syncpack ts-node-dev tsc-watch tslint typechain updtr vue-cli-service
    update-browserslist-db webdriver-manager wdio cap jsonlint json2ts dotenv sort-imports tsx-watch react-router
    ajv alembic ansible-lint autoflake autopep8 ava babel bandit biome black build bump-my-version bumpversion c8 cdk
    changeset check-jsonschema check-manifest cibuildwheel clang-format cloc codespell commitizen commitlint
    concurrently cookiecutter copier cowsay cross-env cspell cypress datamodel-codegen datasette degit depcheck deptry
    detect-secrets djlint docformatter docusaurus dotenv-cli dprint drizzle-kit electron env-cmd esbuild eslint expo
    express-generator fastapi flake8 gh-pages gitleaks gitmoji graphql-codegen griffe hatch http-server httpie husky
    interrogate ipython isort jest jscpd jsdoc json-server jupyter jupyterlab kill-port knip lefthook lerna
    license-checker lighthouse lint-staged live-server llm madge marimo markdownlint markdownlint-cli
    markdownlint-cli2 maturin mintlify mkdocs mocha mutmut mypy nbstripout ncu netlify netlify-cli next ng nodemon nox
    npm-check npm-check-updates npm-run-all nuxi nx nyc openapi-generator openapi-python-client openapi-typescript
    oxlint parcel patch-package pdm pdoc pip pip-audit pip-compile pip-tools playwright plop pm2 pnpm poetry postcss
    pre-commit prettier prisma publint pycowsay pydocstyle pyflakes pylint pyproject-fmt pyright pytest pyupgrade
    quicktype radon react-native react-scripts redocly refurb release-it repomix rimraf rollup ruff safety sass
    semantic-release semgrep sequelize-cli serve shadcn shadcn-ui shx size-limit snyk solhint sort-package-json
    spectral sphinx-build sqlfluff sqlite-utils standard storybook streamlit stylelint surge svelte-check svgo
    swagger-cli swc tailwindcss taplo terser tldr towncrier tox ts-node ts-prune tsc tsd tsup tsx turbo twine ty
    type-coverage typedoc typeorm typescript uv uvicorn validate-pyproject vercel vite vite-node vitepress vitest
    vsce vue-tsc vulture wait-on web-ext webpack webpack-cli wrangler xo yamllint yarn yo yt-dlp zx"""
_WELL_KNOWN = frozenset(_WELL_KNOWN_TEXT.split())
_OF_WELL_KNOWN = regex(
    r"(?:@[\w.-]+/)?create-[\w.-]+|@(?:modelcontextprotocol|angular|nestjs|vue|storybook|babel|biomejs|changesets"
    r"|commitlint|openapitools|redocly|tailwindcss|playwright|anthropic-ai|google|openai|microsoft|sveltejs|astrojs"
    r"|nuxt|vitejs|vercel|sentry|cloudflare|aws-[\w-]+|graphql-codegen|expo|react-native-community|ionic|capacitor"
    r"|typescript-eslint|eslint|mermaid-js|marp-team|arethetypeswrong|github|docusaurus|remix-run|shopify|stoplight"
    r"|apidevtools|lhci)/[\w.-]+"
)
"""Starters of projects, and what comes from makers that everybody knows."""
_MODULE = regex(
    r"(?!(?:golang\.org/x|google\.golang\.org|github\.com/(?:golangci|go-delve|golang|google|grpc-ecosystem|goreleaser"
    r"|sqlc-dev|vektra|swaggo|air-verse)|honnef\.co/go|mvdan\.cc|gotest\.tools)/)[^/@]+\.[^/@]+/.*@.*",
    re.DOTALL,
)
"""Of Go, from anywhere: its name is the address that it comes from."""
_OURS = regex(r"(?:.*/)?rightcall(?:[-=<>!~@\[; ].*)?", re.IGNORECASE | re.DOTALL)
_PACKAGERS = frozenset(
    ("pip", "pip3", "pipx", "uv", "conda", "mamba", "micromamba", "poetry", "pdm", "rye", "hatch", "pixi", "brew",
     "easy_install")
)  # fmt: skip
_CHANGES = frozenset(
    ("install", "uninstall", "add", "remove", "upgrade", "update", "reinstall", "inject", "download", "rm")
)


_NODE = frozenset(("npm", "pnpm", "yarn", "bun"))
PACKAGING = frozenset(
    (*_FETCHERS, *_PACKAGERS, *_NODE, *_ALWAYS, "pipenv", "cargo", "gem", "bundle", "go", "deno", "composer",
     "luarocks", "opam", "pre-commit", "asdf", "mise", "terraform", "tofu", "rustup", "mix", "dart", "flutter", "conan",
     "vcpkg", "stack", "cabal", "raku", "zef", "swift", "rebar3", "nimble", "shards", "haxelib", "pod", "carthage",
     "dotnet", "nuget", "mvn", "ansible-galaxy", "vagrant", "volta", "nix", "flatpak")
)  # fmt: skip


def package_rules(run: Run, place: Place) -> Iterator[RuleHit]:
    """What a command brings that a person should look at."""
    if (
        run.program in _NODE
        and run.values
        and (run.values[0] in _OF_THE_PROJECT or (run.values[0] == "run" and run.program != "bun"))
    ):
        return
    operands = run.operands(_VALUED)
    action = operands[0].value if operands else ""
    if (source := _foreign(run, operands, action)) is not None:
        yield RuleHit("network", f"{run.program} {source}")
    elif _fetches(run, operands, action) and (name := _package(run)) and not _is_known(name, run, place):
        yield RuleHit("network", f"{run.program} {name}")
    elif run.program in _NODE and (name := _global_package(run, operands, action, place)):
        yield RuleHit("network", f"{run.program} {action} -g {name}")
    elif run.program == "go" and action in ("install", "run"):
        for module in operands[1 : 2 if action == "run" else None]:
            if _MODULE.fullmatch(module.value):
                yield RuleHit("network", f"go {action} {module.value}")
    if (
        run.program in _PACKAGERS
        and not _CHANGES.isdisjoint(run.values[:6])
        and any(_OURS.fullmatch(one) for one in run.values if not one.startswith("-"))
    ):
        yield RuleHit("guards", f"{run.program} … rightcall")


_IMAGE_OWNERS_TEXT = """
    library bitnami grafana prom localstack selenium hashicorp apache confluentinc cypress minio nvidia pytorch
    tensorflow rocm amazon google jenkins gitlab sonarsource redis rabbitmq elasticsearch kibana opensearchproject
    timescale postgis pgvector qdrant neo4j keycloak vault traefik caddy nginxinc testcontainers mailhog axllent
    wiremock mockserver stoplight openapitools swaggerapi hadolint koalaman aquasec trufflesecurity returntocorp
    semgrep astral-sh puppeteer browserless microsoft dotnet ubuntu debian alpine rockylinux jupyter continuumio
    condaforge ollama vllm huggingface portainer linuxserver homebrew actions github super-linter open-telemetry otel
    jaegertracing openzipkin victoriametrics clickhouse cockroachdb mongodb mysql mariadb cassandra scylladb gradle
    maven composer wordpress drupal distroless google-containers cloud-builders kaniko-project"""
_IMAGE_OWNERS = frozenset(_IMAGE_OWNERS_TEXT.split())
_PUBLIC = regex(
    r"(?:(?:index\.|registry-1\.)?docker\.io|registry\.hub\.docker\.com|ghcr\.io|quay\.io|(?:[\w.-]+\.)?gcr\.io"
    r"|public\.ecr\.aws|registry\.gitlab\.com|[\w.-]+\.pkg\.dev)(?::\d+)?"
)


def is_known_image(image: str) -> bool:
    """An image of one's own or of somebody everybody knows. Anybody may put one under a name of their own into a public
    registry; what has no owner in its name is official, or was built here.

    >>> [is_known_image(one) for one in ("postgres:16", "grafana/grafana", "someone/tool", "registry.corp.example/app")]
    [True, True, False, True]
    """
    parts = image.partition("@")[0].split("/")
    if HOLE in image or len(parts) == 1:
        return True
    host = parts[0] if re.search(r"[.:]|^localhost$", parts[0]) else ""
    if host and not _PUBLIC.fullmatch(host):
        return True
    owner = parts[1 if host else 0]
    return owner in _IMAGE_OWNERS or (bool(host) and len(parts) == 2)


def _global_package(run: Run, operands: list[Word], action: str, place: Place) -> str:
    """A package that is put where every project's programs lie, and that not everybody knows."""
    everywhere = run.has("-g", "--global") or action == "global"
    named = operands[2:] if action == "global" else operands[1:]
    if not everywhere or not {"install", "i", "add"}.intersection(word.value for word in operands[:2]):
        return ""
    plain = (re.sub(r"(?<=.)@[^/]*$", "", word.value) for word in named if HOLE not in word.value)
    return next((one for one in plain if one[:1] not in "./" and not _is_known(one, run, place)), "")


def _foreign(run: Run, operands: list[Word], action: str) -> str | None:
    """A repository, an archive or an index that packages are taken from, where it is not the usual one."""
    if action not in _ACTIONS and run.program not in _ALWAYS and run.program not in _FETCHERS:
        return None
    running = run.program in ("npx", "bunx", "pnpx", "uvx") or action in _RUNS
    if not (running or action in _BRINGS or run.program in _ALWAYS or (action == "config" and run.program in _SETS)):
        return None
    names = operands if run.program in _FETCHERS and run.program != "pipx" else operands[1:]
    values = run.values
    if running and names:
        values = values[: next(at for at, word in enumerate(run.arguments) if word is names[0]) + 1]
    for at, value in enumerate(values):
        if value.isalnum():
            continue
        if _SOURCE.match(value) and not _USUAL.fullmatch(value) and not (at and values[at - 1] in _NO_SOURCE):
            return value[:60]
        if "://" in value and ((run.program.startswith("nix") and "fetch" in value) or '"url"' in value):
            return value[:60]
        if HOLE in value and at and values[at - 1] in _INDEXES:
            return values[at - 1]
    if run.program == "brew" and (tapped := next((one.value for one in names if one.value.count("/") == 2), "")):
        return tapped if not tapped.startswith("homebrew/") else None
    if run.program in _NODE and (action in ("install", "i", "add") or (action == "create" and run.program == "bun")):
        for one in names:
            here = any(os.path.exists(os.path.join(folder, one.value)) for folder in run.folders)
            if _BY_REPOSITORY.fullmatch(one.value) and not here:
                return one.value
    return None


def _fetches(run: Run, operands: list[Word], action: str) -> bool:
    """Whether what it runs is brought without a question where it is not here: `npx -y`, `pnpm dlx`, `uvx`."""
    if run.program == "npm":
        return action in ("exec", "x")
    if run.program == "uv":
        return [word.value for word in operands[:2]] == ["tool", "run"]
    if run.program in ("pnpm", "yarn", "bun"):
        return action in ("dlx", "x")
    return run.program in _FETCHES_ALWAYS or (run.program == "pipx" and action == "run")


def _package(run: Run) -> str:
    """Its name, without a version."""
    operands = [word for word in run.operands(_VALUED) if word.value not in ("dlx", "x", "exec", "run", "tool")]
    before = run.arguments[
        : next((at for at, word in enumerate(run.arguments) if operands and word is operands[0]), None)
    ]
    options = ("--from", "--spec") if run.program in ("uvx", "uv", "pipx") else ("--package", "-p")
    given = option_value(before, *options)
    name = given.value if given is not None else operands[0].value if operands else ""
    return "" if HOLE in name else re.sub(r"(?<=.)(?:@|[=<>~]=|\[)[^/]*$", "", name)


def _is_known(name: str, run: Run, place: Place) -> bool:
    """Known to everybody, or installed in the project. Any other may be a name that somebody mistyped."""
    if name in _WELL_KNOWN or name in ("rightcall", "npm") or _OF_WELL_KNOWN.fullmatch(name):
        return True
    return "/" not in name and any(
        os.path.exists(os.path.join(folder, "node_modules", ".bin", name)) for folder in (*run.folders, place.root)
    )
