"""Which words of a command are paths. It errs on the side of seeing too many: what a name means is decided by the path
rules. Words that are only text (messages, patterns of a search, scripts) are left out, since `grep '\\.env'` reads no
`.env`."""

import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from rightcall.base.files.guarded import NOWHERE, follow
from rightcall.base.files.rules import component
from rightcall.base.text import regex
from rightcall.policy.commands.outputs import gives_pattern
from rightcall.policy.commands.places import Place, is_cut, names_in
from rightcall.policy.commands.runs import Run, action_at, option_value
from rightcall.policy.commands.words import HOLE, WILD, Word, could_be, known_names

_TEXT_ONLY = known_names("text only")
_FIRST_IS_TEXT = frozenset(
    ("grep", "egrep", "fgrep", "rg", "ag", "ack", "pcregrep", "ripgrep", "zgrep", "ugrep", "sed", "gsed", "awk",
     "gawk", "mawk", "nawk", "jq", "yq", "fd", "fdfind", "sd", "perl", "semgrep", "ast-grep", "sg", "comby",
     "xmlstarlet", "xq", "gron", "locate", "mlocate", "plocate", "git grep", "git log", "zipgrep", "bzgrep",
     "xzgrep", "rga", "codespell", "parallel")
)  # fmt: skip
_TEXT_BEHIND = ("-e", "--regexp", "--expression", "-A", "-B", "-C", "-m", "-t", "--type", "-v", "-F", "--arg")
_TEXT_OPTIONS = frozenset(
    ("-m", "--message", "--title", "--body", "--grep", "--author", "--format", "--pretty", "-S", "-G", "--subject",
     "--description", "--notes", "--date", "--trailer", "--fixup", "--squash", "--committer", "--since", "--until",
     "-b", "--label", "--reason", "--comment", "--name", "--regexp", "--expression", "--pattern", "--query")
)  # fmt: skip
_PROSE = frozenset(("gh", "glab", "rightcall"))
"""Their words are often titles, searches or calls in JSON; a word with a blank in it is no file there."""
_NO_FILES = frozenset(("api", "search", "browse", "repo", "label"))
"""What they do with words that only look like paths: `gh api repos/x/y/contents/.env` names no file here."""
_TEXT_OPTIONS_OF = frozenset(
    ("git", "hg", "svn", "jj", "gh", "glab", "docker", "kubectl", "aws", "gcloud", "az", "helm")
)
_LEFT_OUT = regex(r"--(?:exclude|ignore|no-|not-|skip|omit|format|message|grep|author|title|body|label|pretty"
                 r"|color|regex"
                       r"|ignore-pattern|ignore-path|type|name|tag|filter|user-agent|header"
                       r"|glob-exclude)", re.IGNORECASE)  # fmt: skip
_CURL_FILES = frozenset(
    ("-o", "--output", "-T", "--upload-file", "-K", "--config", "--cacert", "--cert", "-E", "--key", "-b",
     "--cookie", "-c", "--cookie-jar", "--netrc-file", "--unix-socket", "-D", "--dump-header", "--output-dir",
     "--ca-native", "--pubkey")
)  # fmt: skip
_ASKS_FILES = regex(r"-[a-hknprstuwxzGLNOS]|-(?:ef|nt|ot)")
_REPRESENTATIVES = (
    ".env", ".env.local", ".env.production", "prod.env", "secret.json", "secrets.yaml", "secrets.json", "id_rsa",
    "id_dsa",
    "id_ecdsa", "id_ed25519", "server.pem", "server.key", "cert.p12", "cert.pfx", "app.keystore", "credentials.json",
    "service-account.json", "kubeconfig", "terraform.tfstate", "password.txt", "passwords.txt", ".htpasswd",
    ".netrc", ".npmrc",
    ".pypirc", ".git-credentials", ".pgpass", "rightcall.toml", ".rightcall",
)  # fmt: skip
MOST_PATHS = 2000
"""Of one command; what names more is not judged."""

Use = Literal["names", "reads", "writes", "unknown"]
"""What a command does with a path: it looks at the name alone (or shows nothing of the file but what is public), reads
or writes what is in the file, or nobody knows."""
_NAMES = frozenset(
    ("ls", "gls", "eza", "exa", "lsd", "ll", "dir", "vdir", "stat", "du", "test", "[", "[[", "realpath", "readlink",
     "git check-ignore", "git check-attr", "git ls-files", "git status", "openssl x509", "openssl verify",
     "openssl crl", "test-path", "resolve-path", "get-childitem")
)  # fmt: skip
_READS = frozenset(
    ("cat", "tac", "head", "tail", "bat", "batcat", "nl", "wc", "grep", "egrep", "fgrep", "zgrep", "rg",
     "ag", "ack", "diff", "colordiff", "cmp", "comm", "cut", "rev", "fold", "column", "od", "hexdump", "strings",
     "file", "md5sum", "sha1sum", "sha256sum", "sha512sum", "shasum", "b2sum", "cksum", "jq", "sed", "gsed",
     "git diff", "git log", "git show", "git blame", "git annotate", "git add", "git stage", "git grep", "git commit",
     "git difftool", "git whatchanged", "git shortlog", "git rev-list", "git cat-file", "git hash-object",
     "rightcall policy", "rightcall check", "rightcall read")
)  # fmt: skip
_CHANGES = frozenset(
    ("rm", "grm", "unlink", "rimraf", "srm", "shred", "trash", "trash-put", "mv", "gmv", "cp", "gcp", "ln", "install",
     "rsync", "scp", "chmod", "chown", "chgrp", "chattr", "setfacl", "rename", "prename", "truncate", "tee", "dd", "ed",
     "ex", "vi", "vim", "nvim", "nano", "emacs", "code", "patch", "perl", "ruby", "python", "python3", "node", "sponge",
     "unzip", "git rm", "git mv", "git checkout", "git restore", "git reset", "git clean", "git stash", "git apply",
     "git update-index", "git filter-branch", "git worktree", "find", "gfind", "xargs", "dos2unix", "unix2dos", "awk",
     "gawk", "taplo", "yq", "sd", "link", "split")
)  # fmt: skip
"""What may change a file that is among those that a wildcard stands for."""


def use_of(run: Run, word: Word) -> Use:
    """What a program does with its operands; `writes_to` knows those that it writes."""
    program = run.program
    names = {program}
    if program in ("git", "rightcall", "openssl") and (at := action_at(program, run.arguments)) >= 0:
        action = run.values[at]
        names = {f"{program} {action}"}
        if action == "rm" and "--cached" in run.values and not word.value.endswith("rightcall.toml"):
            return "names"
        if program == "openssl" and any(re.fullmatch(r"-(?!pub)\w*key", one) for one in run.values):
            return "unknown"  # it signs with one
    if not names.isdisjoint(_NAMES) and not _is_own(run):
        return "names"
    if not names.isdisjoint(_READS) or (word.glob is not None and names.isdisjoint(_CHANGES)):
        return "reads"
    return "unknown"


def seeks_protected(pattern: str) -> bool:
    """Whether a name that is looked for means something protected: `id_*`, `*.pem`, `*/.ssh/*`."""
    last = pattern.rstrip("/*").rpartition("/")[2] or pattern
    return not is_plain(pattern.strip("*")) or any(_is_aimed(one, name) for one in (pattern, last)
                                                   for name in (*_REPRESENTATIVES, *_GUARDED_FOLDERS))  # fmt: skip


def _is_own(run: Run) -> bool:
    """Whether a program is named by a path that is none of the system's: `./echo` may do anything."""
    return "/" in run.name.value and _OF_THE_SYSTEM.fullmatch(run.name.value) is None


_OF_THE_SYSTEM = regex(
    r"/(?:usr/(?:local/)?|opt/(?:homebrew|local)/|run/current-system/sw/|nix/store/[^/]+/)?s?bin/[^/]+"
)


def is_text_only(program: str) -> bool:
    """Whether its words name no files."""
    return program in _TEXT_ONLY


def path_words(run: Run) -> Iterator[Word]:
    """Every word, or part of one, that may be a path."""
    program = run.program
    if program in _TEXT_ONLY and not _is_own(run):
        given = option_value(run.arguments, "-f", "--file") if program in ("date", "say") else None
        yield from (given,) if given is not None else ()
        return
    if program in ("test", "[", "[["):
        yield from _tested(run)
        return
    if program in ("curl", "curlie", "wget"):
        yield from _fetched(run)
        return
    if program in ("find", "gfind"):
        yield from _searched(run)
        return
    if program in ("dotenv", "dotenvx") and not {"list", "get", "set", "unset"}.isdisjoint(run.values):
        yield option_value(run.arguments, "-f", "--file") or Word(".env")
    skip_first = program in _FIRST_IS_TEXT and not gives_pattern(program, run.values)
    texts = program in _TEXT_OPTIONS_OF
    before = ""
    for at, word in enumerate(run.arguments):
        value = word.value
        if value.startswith("-") and len(value) > 1:
            before = value
            option, _, chosen = value.partition("=")
            if option in _CHOOSES:
                yield from _chosen(chosen)
            if option not in _CHOOSES or word.glob is not None:  # the shell's own wildcard counts as well
                yield from _attached(word)
            continue
        if before in _CHOOSES and program in _FIRST_IS_TEXT:
            before = ""
            yield from _chosen(value)
            continue
        text = (texts and before in _TEXT_OPTIONS) or _is_pattern_of(program, before)
        if skip_first and not _takes_next(program, before):
            skip_first = False
            text = True
        if program in _PROSE and (
            " " in value or value[:1] in ("{", "[") or (not before and run.values[0] in _NO_FILES)
        ):
            text = True
        before = ""
        if program == "git" and at and run.values[0] == "grep" and at == 1:
            text = True
        if not text:
            yield from parts(word)


_CHOOSES = frozenset(("--include", "-g", "--glob", "--iglob"))


def _chosen(pattern: str) -> Iterator[Word]:
    """The files that a search is narrowed to, if that is aimed at something: `--include='.*'`, and not `*`."""
    if pattern.startswith("*"):
        yield from (Word(one) for one in _REPRESENTATIVES if _is_aimed(pattern, one))
    elif pattern and not pattern.startswith("!"):
        yield Word(pattern, pattern if WILD.search(pattern) else None)


def _is_pattern_of(program: str, option: str) -> bool:
    """Whether the word behind an option is text."""
    return program in _FIRST_IS_TEXT and option in _TEXT_BEHIND


def _takes_next(program: str, option: str) -> bool:
    """Whether an option takes a word, so that the pattern of a search comes later."""
    if "grep" in program or program in ("sed", "gsed"):
        return option in ("-A", "-B", "-C", "-m") and "grep" in program
    return option in (*_TEXT_BEHIND, "-g", "--glob", "--include", "--max-depth", "-n") and option != "--regexp"


def _tested(run: Run) -> Iterator[Word]:
    for before, word in zip(run.values, run.arguments[1:], strict=False):
        if _ASKS_FILES.fullmatch(before):
            yield from parts(word)


def _fetched(run: Run) -> Iterator[Word]:
    before = ""
    for word in run.arguments:
        value = word.value
        if before in _CURL_FILES or (
            run.program == "wget" and before in ("-O", "-P", "-i", "--post-file", "--body-file")
        ):
            yield word
        elif before in (
            "-d",
            "--data",
            "--data-binary",
            "--data-ascii",
            "--data-urlencode",
            "-F",
            "--form",
            "--json",
            "-H",
        ):
            found = re.match(r"[^@]*@([^;]*)", value)
            if found and (value.startswith("@") or "=@" in value or before == "--data-urlencode"):
                yield Word(found[1])
            found = re.match(r"[^=<]*=<([^;]*)", value)
            if found and before in ("-F", "--form"):
                yield Word(found[1])
        elif value.startswith("-"):
            option, equals, rest = value.partition("=")
            if equals and (option in _CURL_FILES or option in ("--post-file", "--body-file", "--output-document")):
                yield Word(rest)
            elif equals and rest.startswith("@"):
                yield Word(rest[1:])
            elif len(value) > 2 and value[:2] in ("-o", "-T", "-K", "-E", "-O", "-b", "-c"):
                yield Word(value[2:])
            elif value.startswith(("-d@", "-F@")) or "=@" in value:
                yield Word(value.partition("@")[2])
        before = value


def _searched(run: Run) -> Iterator[Word]:
    """Where `find` begins; what it looks for counts where something is done with what is found."""
    yield from run.arguments[search_starts(run.values)]
    for before, word in zip(run.values, run.arguments[1:], strict=False):
        if before in ("-newer", "-fprint", "-fls", "-fprintf", "-anewer", "-cnewer", "-samefile", "-files0-from"):
            yield word


_NAME_TESTS = frozenset(("-name", "-iname", "-lname", "-ilname"))
_PATH_TESTS = frozenset(("-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex"))


class _Ways:
    """What `find` tests on each of its ways: the tests that a file has to pass together."""

    def __init__(self) -> None:
        self.done: list[list[tuple[str, str]]] = []
        self.tests: list[tuple[str, str]] = []
        self.pruned = self.acts = False

    def end(self) -> None:
        """A way that only cuts folders off (`-path x -prune -o …`) hands nothing on."""
        if not self.pruned or self.acts:
            self.done.append(self.tests)
        self.tests, self.pruned, self.acts = [], False, False


_FIND_OPTIONS = regex(r"-[HLPEXdsx]+|-O\w*|-f|--")
"""What may stand before the places, with GNU's and with BSD's `find`; `-D` has a value."""


def search_starts(values: Sequence[str]) -> slice:
    """Where in its words the places stand at which `find` begins.

    >>> words = ["-L", "-D", "tree", "src", "docs", "-name", "*.py"]
    >>> words[search_starts(words)]
    ['src', 'docs']
    """
    first = 0
    while first < len(values) and (values[first] == "-D" or _FIND_OPTIONS.fullmatch(values[first])):
        first += 2 if values[first] == "-D" else 1
    last = first
    while last < len(values) and not values[last].startswith(("-", "(", "!")):
        last += 1
    return slice(first, last)


def searched_for(values: list[str]) -> list[list[tuple[str, str]]]:
    """The names and paths that `find` looks for, for each of its ways (`-o`). What is excluded by `!` or `-not`, or cut
    off by `-prune`, is not looked for.

    >>> searched_for([".", "-name", "*.ts", "!", "-path", "./x/*", "-o", "-name", "*.js"])
    [[('-name', '*.ts')], [('-name', '*.js')]]
    """
    ways = _Ways()
    excluded = False
    groups: list[bool] = []
    for at, value in enumerate(values):
        within = any(groups)  # an excluded group
        if value in ("!", "-not"):
            excluded = not excluded
            continue
        if value == "(":
            groups.append(excluded)
        elif value == ")":
            del groups[-1:]
        elif value in ("-o", "-or", ",") and not within:
            ways.end()
        elif value == "-prune" and not within:
            ways.pruned = True
        elif value.startswith(("-print", "-exec", "-ok", "-delete", "-ls", "-fprint")):
            ways.acts = True
        elif value in _NAME_TESTS | _PATH_TESTS and at + 1 < len(values) and (sum(groups) + excluded) % 2 == 0:
            ways.tests.append((value, values[at + 1]))
        excluded = False
    ways.end()
    return ways.done


def found_words(run: Run) -> list[Word]:
    """What `find` would hand on, as patterns: the folder it begins in and the name it looks for. A name says more than
    a path beside it."""
    starts = [value.rstrip("/") or "/" for value in run.values[search_starts(run.values)]]
    found: dict[str, None] = {}
    for tests in searched_for(run.values):
        named = [one for one in tests if one[0] in _NAME_TESTS]
        for test, name in named or tests:
            plain = name.replace(".*", "*").replace("\\", "") if "regex" in test else name.replace("\\", "")
            for pattern in dict.fromkeys((plain, plain.lower()) if test.startswith("-i") else (plain,)):
                tail = pattern.rpartition("/")[2]
                if tail.strip("*?") or "/" not in pattern:
                    found |= dict.fromkeys(f"{start}/{tail}" for start in starts or ["."])
                if "/" in pattern:
                    found[pattern] = None
                if pattern.startswith("*/"):  # the star stands for the start as well
                    found |= dict.fromkeys(f"{start}/{pattern[2:]}" for start in starts or ["."])
    return [Word(path, path if WILD.search(path) else None) for path in found]


def _attached(word: Word) -> Iterator[Word]:
    """`--file=path`, `-Ipath`."""
    value = word.value
    option, equals, rest = value.partition("=")
    if equals:
        if rest and not _LEFT_OUT.match(option):
            yield from parts(_cut(word, len(option) + 1))
    elif value[1:2] != "-" and len(value) > 3 and (value[2] in "./~" or (value[1] == "L" and ":" in value)):
        yield from parts(_cut(word, 2))  # and `git log -L1,5:path`


def _cut(word: Word, start: int) -> Word:
    glob = word.glob[start:] if word.glob is not None and len(word.glob) == len(word.value) else None
    return Word(word.value[start:], glob, word.quoted, word.names, word.inner)


def parts(word: Word) -> Iterator[Word]:
    """The word, and what may be a path in it: behind `=`, `@` and `:`."""
    value = word.value
    if not value or len(value) > 5000:
        if value:
            yield word
        return
    if "://" in value:
        return
    yield word
    for sign in "=@:,":
        if sign in value:
            for piece in re.split(r"[=@:,]", value):
                if piece and piece != value:
                    yield Word(piece, piece if re.search(r"[*?\[]", piece) and word.glob is not None else None)
            return


class Meant(NamedTuple):
    """The paths that a word may stand for."""

    texts: list[str]
    cut: bool = False
    """There may be more."""


def expanded(word: Word, folders: tuple[str, ...], place: Place) -> Meant:
    """Of a word with wildcards: the word itself, the protected names that it is aimed at, and what is there."""
    glob = word.glob
    if glob is None:
        return Meant([word.value, *(_through_links(word.value, folders) if ".." in word.value else ())])
    found = [re.sub(r"[*?\[\]]", "_", word.value)]
    folder, _, last = glob.rpartition("/")
    wild = re.search(r"[*?\[]", folder) is not None
    top = "" if wild else f"{word.value.rpartition('/')[0] or '.'}/"
    found += [f"{top}{one}" for one in _REPRESENTATIVES if _is_aimed(last, one)]
    if wild:
        found += _aimed_folders(glob)
    if HOLE in word.value:
        return Meant(found)
    cut = False
    for base in folders:
        tops = _led_to(glob[: -len(last)] if last else glob, base, place) if wild else [f"{folder}/" if folder else ""]
        cut |= len(tops) > _MOST_FOLDERS
        for top in tops[:_MOST_FOLDERS]:
            names = names_in(place.whole(base, top or ".")) if last else ("",)
            cut |= is_cut(names)
            found += [f"{top}{name}" for name in names if could_be(last, name)]
    return Meant(found, cut)


_MOST_UNKNOWN = 2
"""Characters that the unknown part of a name is taken to stand for; what is longer could be any name."""
_DEEPEST = 50
"""Names in a path that is looked at so."""


def may_mean(word: Word, folders: tuple[str, ...], place: Place, *, opened: bool) -> tuple[list[str], str]:
    """What a path with an unknown part in one of its names may stand for: paths that are there, and a protected name.
    `opened`: the path is surely that of a file that is read, so that a dot alone is enough to mean a hidden one.

    >>> may_mean(Word(f".e{HOLE}nv"), (), Place("/x", "/y", ()), opened=True)
    ([], '.env')
    """
    there: list[str] = []
    names = (word.glob if word.glob is not None else re.sub(r"([*?\[])", r"[\1]", word.value)).split("/")
    written = word.value.split("/")
    if len(written) > _DEEPEST or len(names) != len(written):
        return there, ""
    if written[0] == HOLE and len(written) > 1:  # which may be the root
        written, names, folders = written[1:], names[1:], (place.root,)
    for at, name in enumerate(names):
        known = len(re.sub(r"\[.\]", "_", name).replace(HOLE, "").replace("*", ""))
        if HOLE not in name or not known:
            continue
        glob = name.replace(HOLE, "*")
        top, begun = written[:at], WILD.split(glob, maxsplit=1)[0]
        for folder in folders if HOLE not in "".join((*top, *folders)) else ():
            found = names_in(place.whole(folder, "/".join(top) + "/" if top else "."))
            meant = [one for one in found if one.startswith(begun) and len(one) - known <= _MOST_UNKNOWN]
            meant = [one for one in meant if fnmatchcase(one, glob)][:_MOST_FOLDERS]
            there += ["/".join((*top, one, *written[at + 1 :])) for one in meant]
        kinds = _REPRESENTATIVES if at == len(names) - 1 else _GUARDED_FOLDERS
        most = _MOST_UNKNOWN + (opened and name.startswith("."))
        for one in kinds:
            if len(one) - known <= most and fnmatchcase(one, glob):
                return there, one
    return there, ""


def with_dots(word: Word) -> Word | None:
    """The hidden names that a wildcard stands for where a shell is told so (`shopt -s dotglob`)."""
    top, slash, last = (word.glob or "").rpartition("/")
    if not last.startswith(("*", "?")):
        return None
    glob = f"{top}{slash}.{last.removeprefix('?')}"
    return Word(glob, glob)


_MOST_FOLDERS = 300


def _led_to(folder: str, base: str, place: Place) -> list[str]:
    """The folders that a pattern of folders stands for, each with a slash behind it."""
    tops = ["/"] if folder.startswith("/") else [""]
    for part in filter(None, folder.split("/")):
        if re.search(r"[*?\[]", part) is None:
            tops = [f"{top}{part}/" for top in tops]
            continue
        tops = [
            f"{top}{name}/"
            for top in tops[: _MOST_FOLDERS + 1]
            for name in names_in(place.whole(base, top or "."))
            if could_be(part, name) and os.path.isdir(place.whole(base, f"{top}{name}"))
        ]
    return tops


_GUARDED_FOLDERS = (".rightcall", ".ssh", ".aws", ".gnupg", ".kube", ".git", ".claude", ".codex", ".gemini", ".cursor")


def _through_links(path: str, folders: tuple[str, ...]) -> Iterator[str]:
    """Where `link/../x` leads: the system goes up from where a link leads, and not from where it stands."""
    if HOLE in path or "\0" in path or len(path) > 4096:
        return
    for folder in folders:
        whole = os.path.join("/" if HOLE in folder else folder, path)
        real = follow(whole)
        if real == NOWHERE or real != follow(os.path.normpath(whole)):
            yield real


def _aimed_folders(glob: str) -> Iterator[str]:
    """Guarded folders that the wildcards in a path's folders are aimed at, whether they are there or not."""
    *parents, last = glob.split("/")
    for at, part in enumerate(parents):
        if WILD.search(part):
            aimed = [one for one in _GUARDED_FOLDERS if _is_aimed(part, one)]
            yield from ("/".join((*parents[:at], one, *parents[at + 1 :], last)) for one in aimed)


def _is_aimed(glob: str, name: str) -> bool:
    """Whether a pattern spells out enough of a protected name to mean it: `.e*`, `*.pem`, not `*` or `*.json`."""
    if not fnmatchcase(name, glob) or (name.startswith(".") and not glob.startswith((".", "[.]", "?", "["))):
        return False
    written = re.sub(r"\[.[^\]]*\]|[*?]", "", glob)
    if name.startswith("."):
        return (glob.startswith((".", "[.]")) and glob not in (".*", ".?*", ".[!.]*", ".[a-z]*")) or len(written) >= 3
    stem, dot, ending = name.partition(".")
    if ending in ("pem", "key", "p12", "pfx", "keystore", "tfstate", "env") and written.endswith(ending):
        return True
    return len(re.sub(rf"\.{re.escape(ending)}$", "", written) if dot else written) >= min(3, len(stem))


def is_plain(path: str) -> bool:
    """Whether no component of a path is named like anything protected."""
    return all(not component(part).secret and component(part).rule is None for part in path.split("/") if part)
