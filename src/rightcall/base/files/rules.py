"""Which paths below the root may be touched, by their names alone. The path is the resolved one, relative to the root,
with `/` between its components: what a link or `..` hides has been followed before."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache, lru_cache
from itertools import islice, product

from msgspec import Struct

from rightcall.base.globs import EXTENDED, GlobFault, expression, first_names, folded, path_matches, plain_forms
from rightcall.base.text import regex

# ── refused ──
# What a single component of a path says about it: an internal, a secret, hidden, or a way out. Whoever reads the path
# later may read the component differently than we do (another system, another file system), so every reading is judged
# and the strictest holds.

REFUSED_FOLDERS = frozenset(("node_modules", ".git", ".hg", ".svn"))
SECRET_FOLDERS = frozenset(("secrets",))
SECRET_FILES = (
    ".env*", "*.env", "secret.*", "secrets.*", "*_secret.json", "password.*", "passwords.*", "*_password.txt",
    "*htpasswd", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_*_sk", "*.pem", "*.key", "*.p12",
    "*.pfx", "*.jks", "*.keystore",
    "credentials.json", "service-account.json", "kubeconfig", "*.tfstate",
    "*.tfstate.backup", "*.ppk", "*.kdbx",
)  # fmt: skip
NEVER_SECRET = frozenset(
    (
        "py", "pyi", "pyx", "ipynb", "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "coffee", "vue", "svelte",
        "java", "kt", "kts", "scala", "groovy", "clj", "cljs", "go", "rs", "zig", "nim", "cr",
        "c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "inl", "m", "mm", "swift", "cs", "fs", "fsx", "vb",
        "rb", "php", "pl", "pm", "lua", "r", "jl", "dart", "ex", "exs", "erl", "hrl", "hs", "lhs", "ml", "mli", "elm",
        "lisp", "el", "scm", "rkt", "sh", "bash", "zsh", "fish", "ps1", "psm1", "bat", "cmd", "tcl", "awk",
        "asm", "f90", "pas", "ada", "adb", "ads", "sol", "sv", "vhd", "cu", "proto", "thrift", "graphql", "sql",
        "html", "htm", "xhtml", "css", "scss", "sass", "less", "pug",
        "md", "mdx", "markdown", "rst", "adoc", "tex", "org",
    )
)  # fmt: skip
"""Endings of source and prose: `secrets.py` and `password.md` are about secrets, they are none."""


class Component(Struct, frozen=True):
    """`rule` refuses it and all that is in it; `secret`: it is named like a secret file; `hidden`: like a dotfile."""

    rule: str | None
    secret: bool
    hidden: bool

    def names_secret(self, source: bool = False) -> bool:
        """Whether it makes a secret of the path it stands in; `source`: of one that ends like source or prose."""
        return self.rule == "path:secret" or (self.secret and not source and self.rule != "path:outside")


OUTSIDE = Component("path:outside", True, True)
PLAIN = Component(None, False, False)

_ELSEWHERE = regex(r"(?:[A-Za-z]:)?\\|[A-Za-z]:\Z" if os.name == "nt" else r"(?:[A-Za-z]:)?\\")
"""`C:\\x` and `\\\\server\\x`: whole paths to whoever takes them for such. A folder called `C:` is one like any other
where there are no drives."""
_HIDDEN = regex(r"\.[^.]|\.{3,}\Z")
"""`.ssh` is hidden; `..config.py` only begins with dots. Nothing but dots leads upwards on some systems."""
_STREAM = regex(r"::?\$.*", re.DOTALL)
"""`a.pem::$DATA` is `a.pem` on NTFS, as is `a.pem.` and `a.pem` with a blank behind it."""
_UNSEEN = regex("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u206a-\u206f\ufeff]")
"""Characters that nobody sees; HFS+ takes a name with them for the name without."""
_LONGEST_REFUSED = 255
"""No file has a longer name, so no judgement of one is worth keeping."""

_STARTS = tuple(
    {pattern.partition("*")[0] for pattern in SECRET_FILES if pattern[0] != "*"}
    | REFUSED_FOLDERS
    | SECRET_FOLDERS
    | {"."}
)
_ENDS = tuple({pattern[1:] for pattern in SECRET_FILES if pattern[0] == "*"} | {".", " "})
_FIRST_TWO = frozenset(start[:2] for start in _STARTS)
_LAST_TWO = frozenset(end[-2:] for end in _ENDS)
_FIRST = frozenset(start[0] for start in _STARTS)
_LAST = frozenset(end[-1] for end in _ENDS)
"""Few names begin or end like these: a look at two characters spares the others the long lists."""


def component(name: str) -> Component:
    """The judgement of one component; of the usual ones at once.

    >>> component("README.md"), component("Prod.ENV").secret, component(".git").rule
    (Component(rule=None, secret=False, hidden=False), True, 'path:internal')
    """
    if not name:  # between two slashes
        return PLAIN
    if name.isascii() and "\\" not in name and ":" not in name and "\0" not in name:
        low = name.lower()
        if (low[0] not in _FIRST or not low.startswith(_STARTS)) and (low[-1] not in _LAST or not low.endswith(_ENDS)):
            return PLAIN
    return _judged(name) if len(name) <= _LONGEST_REFUSED else _judged.__wrapped__(name)


def unusual(names: list[str]) -> list[str]:
    """Those of many names that `component` has to be asked about; all others are plain. Two characters at each end
    settle most of them, and the rest is looked at for all names at once."""
    joined = "/".join(names)
    if not joined.isascii() or "\\" in joined or ":" in joined or "\0" in joined:
        return names
    low = joined.lower().split("/")
    if len(low) != len(names):  # none at all, or something that is no name
        return names
    return [
        name
        for name, one in zip(names, low, strict=True)
        if not one or one[0] == "." or one[:2] in _FIRST_TWO or one[-2:] in _LAST_TWO or one[-1:] in (".", " ")
    ]


def is_source(name: str) -> bool:
    """Whether its ending is one of source or prose."""
    stem, dot, ending = name.lower().rpartition(".")
    return bool(dot and stem.strip(".")) and ending in NEVER_SECRET


@lru_cache(10_000)
def _judged(name: str) -> Component:
    if "\0" in name or (("\\" in name or ":" in name) and _ELSEWHERE.match(name)):
        return OUTSIDE
    rule: str | None = None
    secret = hidden = False
    readings = _readings_refused(name)
    for one in readings:
        if one.rstrip(" ") == ".." or (one == "." and name != "."):
            return OUTSIDE
        hidden |= _HIDDEN.match(one) is not None
    for one in readings if name.isascii() else readings | _looks(name):
        if one in REFUSED_FOLDERS:
            rule = "path:internal"
        elif one in SECRET_FOLDERS:
            rule = rule or "path:secret"
        secret |= _is_secret(one)
    found = Component(rule, secret, hidden)
    return PLAIN if found == PLAIN else found


def _looks(name: str) -> set[str]:
    """What a name looks like: nobody who reads `.\u0435nv` sees that it is no `.env`."""
    # late: hardly any name needs it, and a hook would pay for it with every call
    from rightcall.base.letters import latin

    return _readings_refused(latin(name))


def _readings_refused(name: str) -> set[str]:
    found = set(folded(name).replace("\\", "/").split("/"))
    if not name.isascii():
        found |= {_UNSEEN.sub("", one) for one in found}
    return found | {bare for one in found if (bare := (_STREAM.sub("", one) if ":" in one else one).rstrip(". "))}


def _is_secret(name: str) -> bool:
    if is_source(name):
        return name.startswith(".env")
    return _secret_names().fullmatch(f"{name}/") is not None


@cache
def _secret_names() -> re.Pattern[str]:
    """Made when a name needs it: few do, and a hook would pay for it with every call."""
    return re.compile("|".join(expression(pattern) for pattern in SECRET_FILES))


DOTFILES = (
    ".gitignore", ".gitattributes", ".editorconfig", ".prettierrc*", ".eslintrc*", ".github/**",
    ".pre-commit-config.yaml", ".python-version",
)  # fmt: skip
_IN_SIGHT = r"(?:(?!\.[^.]|\.+/)[^/]+/)*?"
"""Folders that are not hidden: a dotfile that may be seen may be in any of them."""
_LONGEST = 4096
"""Characters; no longer path can be opened, so none need be judged."""
UNJUDGED = "path:unjudged"
"""The rule that refuses a path of which nobody can say what it means."""
_MOST_KNOWN = 10_000
_WORTH_KNOWING = 500
"""Folders whose judgement is kept at hand, and how long a name of one may be."""


class PathRules:
    """The rules for true paths, relative to the root with `/` between components. `deny` beats `allow`, which makes
    exceptions to the built-in names; `dotfiles` adds to those that may be seen. Made once, asked for every file.

    >>> rules = PathRules(deny=["private/**"])
    >>> rules.refuses("src/secretary.py"), rules.refuses("deploy/.env.local"), rules.refuses("Private/a.txt")
    (None, 'path:secret', 'path:deny')
    """

    __slots__ = ("_allow", "_denied_tops", "_deny", "_dotfiles", "_folders", "as_built")

    def __init__(self, deny: Iterable[str] = (), allow: Iterable[str] = (), dotfiles: Iterable[str] = ()) -> None:
        more = tuple(dotfiles)
        denied = _and_their_looks(deny)
        self._deny = _any_of(denied)
        self._denied_tops = first_names(denied)
        self._allow = _any_of(allow)
        self._dotfiles = _any_of((*DOTFILES, *more), _IN_SIGHT)
        self.as_built = self._allow is None and not more
        """Whether nothing can be seen that the built-in names refuse."""
        self._folders: dict[str, Component] = {}

    def refuses(self, path: str) -> str | None:
        """The id of the rule that refuses a path, None when it may be touched."""
        if len(path) > _LONGEST:
            return UNJUDGED
        folder, _, name = path.rpartition("/")
        inside = self._folders.get(folder)
        if inside is None:
            inside = self._known(folder)
        own = component(name)
        if inside is PLAIN and own is PLAIN and path[:1] != "/" and not self._may_deny(path):
            return None
        return self._judged(path, inside, own)

    def touchable(self, folder: str, names: list[str]) -> list[str]:
        """Those names in one folder that may be touched: what `refuses` says of each, but quicker for many."""
        top = f"{folder}/" if folder else ""
        inside = self._folders.get(folder) or self._known(folder)
        if inside is PLAIN and len(folder) < _LONGEST - 256 and folder[:1] != "/" and not self._may_deny(folder):
            odd = {name for name in unusual(names) if self.refuses(top + name) is not None}
            return [name for name in names if name not in odd] if odd else names
        return [name for name in names if self.refuses(top + name) is None]

    def _may_deny(self, path: str) -> bool:
        """Whether a denial could name a path or reach into it: most begin with one name, and leave all others alone."""
        if self._deny is None:
            return False
        top = path.partition("/")[0]
        if self._denied_tops is None or top in {"", ".", ".."} or not top.isascii() or "\\" in top:
            return True
        plain, begun = self._denied_tops
        return (low := top.lower()) in plain or low.startswith(begun)

    def named(self, path: str) -> str | None:
        """The rule by which a path is denied or a secret, wherever it lies: what else may be touched outside a root is
        for others to say. A path that is too long to be judged is denied.

        >>> PathRules().named("/etc/passwd"), PathRules().named("/srv/node_modules/x/.env")
        (None, 'path:secret')
        """
        if len(path) > _LONGEST:
            return UNJUDGED
        path = path.lstrip("/")
        folder, _, name = path.rpartition("/")
        inside, own = self._folders.get(folder) or self._known(folder), component(name)
        if inside is PLAIN and own is PLAIN and not self._may_deny(path):
            return None
        whole = _whole(path)
        if self._denies(whole):
            return "path:deny"
        if (inside is PLAIN and own is PLAIN) or (self._allow is not None and self._allow.fullmatch(whole)):
            return None
        source = is_source(name)
        named = own.names_secret() or any(component(one).names_secret(source) for one in folder.split("/"))
        return "path:secret" if named else None

    def excepts(self, path: str) -> bool:
        """Whether `allow` names a path: then its name alone is no reason to refuse it or to ask.

        >>> PathRules(allow=[".npmrc"]).excepts(".npmrc"), PathRules().excepts(".npmrc")
        (True, False)
        """
        return self._allow is not None and self._allow.fullmatch(_whole(path.lstrip("/"))) is not None

    def _denies(self, whole: str) -> bool:
        return self._deny is not None and any(self._deny.fullmatch(reading) for reading in _readings(whole))

    def _judged(self, path: str, inside: Component, own: Component) -> str | None:
        if inside is OUTSIDE or own is OUTSIDE or path.startswith("/"):
            return "path:outside"
        whole = _whole(path)
        if self._denies(whole):
            return "path:deny"
        if self._allow is not None and self._allow.fullmatch(whole):
            return None
        if inside.rule is not None or own.rule is not None:
            return inside.rule if inside.rule == "path:internal" else own.rule or inside.rule
        if own.secret or (inside.secret and not is_source(path.rpartition("/")[2])):
            return "path:secret"
        if (inside.hidden or own.hidden) and not (self._dotfiles is not None and self._dotfiles.fullmatch(whole)):
            return "path:dotfile"
        return None

    def _known(self, folder: str) -> Component:
        found = _all_of(folder)
        if len(folder) <= _WORTH_KNOWING:
            if len(self._folders) >= _MOST_KNOWN:
                self._folders.clear()
            self._folders[folder] = found
        return found


def path_rule(
    path: str, deny: Iterable[str] = (), allow: Iterable[str] = (), dotfiles: Iterable[str] = ()
) -> str | None:
    """The same for one path.

    >>> path_rule("src/secretary.py"), path_rule("deploy/.env.local"), path_rule("a/../../etc/passwd")
    (None, 'path:secret', 'path:outside')
    """
    return path_rules(tuple(deny), tuple(allow), tuple(dotfiles)).refuses(path)


@lru_cache(64)
def path_rules(deny: tuple[str, ...], allow: tuple[str, ...], dotfiles: tuple[str, ...]) -> PathRules:
    """The rules of a policy, made once for all who ask by it."""
    return PathRules(deny, allow, dotfiles)


def _any_of(patterns: Iterable[str], above: str = "") -> re.Pattern[str] | None:
    """One expression for folded paths that end in `/`; None for no pattern at all. Raises GlobFault. It is compiled
    when a path needs it: a hook judges one."""
    made = [above + expression(folded(pattern)) for pattern in patterns]
    return regex("|".join(made)) if made else None


def _and_their_looks(patterns: Iterable[str]) -> tuple[str, ...]:
    """Patterns, and for one in foreign letters the plain ones that it looks like: paths are read both ways too."""
    given = tuple(patterns)
    if all(pattern.isascii() for pattern in given):
        return given
    from rightcall.base.letters import latin

    found = dict.fromkeys(given)
    for pattern in given:
        with suppress(GlobFault):  # a class of letters may lose its order that way; the pattern itself holds
            expression(latin(pattern))
            found[latin(pattern)] = None
    return tuple(found)


def _all_of(folder: str) -> Component:
    """The folders above a file taken together: the strictest rule, and whether any is named like a secret or hidden."""
    names = [component(name) for name in folder.split("/")]
    if OUTSIDE in names:
        return OUTSIDE
    rules = [one.rule for one in names if one.rule is not None]
    rule = "path:internal" if "path:internal" in rules else rules[0] if rules else None
    found = Component(rule, any(one.secret for one in names), any(one.hidden for one in names))
    return PLAIN if found == PLAIN else found


def _whole(path: str) -> str:
    """A path as patterns are matched against it."""
    if path and "//" not in path and "/." not in path and path[0] != "." and path[-1] != "/":
        return folded(path) + "/"
    return "".join(f"{part}/" for part in folded(path).split("/") if part not in ("", "."))


def _readings(whole: str) -> tuple[str, ...]:
    """What is denied is denied also to whoever takes a backslash for a separator, or one letter for another."""
    if whole.isascii():
        return (whole, _whole(whole.replace("\\", "/"))) if "\\" in whole else (whole,)
    from rightcall.base.letters import latin  # late: hardly any path needs it

    found = (whole, _whole(latin(whole)))
    return (*found, *(_whole(one.replace("\\", "/")) for one in found)) if "\\" in found[1] else found


# ── patterns, judged ──
# What a pattern for paths asks for: `.en?`, `**/*.pem` and `private/**` mean protected files, `**/*.py` does not.
#
# A pattern is refused by the examples that it gives: each wildcard is filled, and where a component fits a protected
# name and none of the ordinary ones, with that name. A broad pattern (`*`, `**/*.json`, `src/**`) fits ordinary names
# as well and passes, whatever else it may match: what it finds there nobody can say from the pattern alone.

_OWN = ("rightcall.toml", ".rightcall")
_MOST_PIECES = 200
_MOST_EXAMPLES = 64
_APART = regex(r"[\s,]+(?![^{}]*\})")
"""Between several patterns in one text, as some search tools take them."""
_WILD = regex(r"[*?]+")
_ANYTHING = regex(r"\?*\*[*?]*|\?+")
_FILLED = "0zq"
"""Stands for whatever a wildcard may match; no policy names it."""
_ENDINGS = (_FILLED, "txt", "json", "yaml", "yml", "toml")
_ORDINARY = (
    "main.py", "index.ts", "index.js", "app.tsx", "main.go", "main.rs", "main.c", "main.h", "main.kt", "main.java",
    "readme.md", "notes.txt", "package.json", "config.yaml", "config.yml", "pyproject.toml", "makefile", "dockerfile",
    "style.css", "index.html", "data.csv", "test_main.py", "main_test.go", "keyboard.ts", "image.png", "schema.sql",
    "pom.xml", "cargo.lock", "src", "docs", "tests", "lib", "app", "packages", "public", "scripts", "build",
    ".gitignore", ".github",
)  # fmt: skip
"""Names that patterns are written for; one that fits any of these says nothing of a protected name."""


def glob_rule(
    pattern: str, deny: tuple[str, ...], allow: tuple[str, ...], dotfiles: tuple[str, ...], *,
    root: str = "", starts: Iterable[str] = (".",),
) -> str | None:  # fmt: skip
    """The rule that refuses a pattern, None when it may be searched for. `starts` are the folders, as seen from the
    root, from which it may count.

    >>> [glob_rule(one, ("private/**",), (), ()) for one in (".en?", "priv*/*.md", "**/*.py", "*")]
    ['path:secret', 'path:deny', None, None]
    """
    pieces = dict.fromkeys((pattern, *_APART.split(pattern, _MOST_PIECES)))
    if len(pattern) > _LONGEST or len(pieces) > _MOST_PIECES or EXTENDED.search(pattern):
        return UNJUDGED
    judge = _judge(deny, allow, dotfiles)
    for piece in pieces:
        if not piece or piece.startswith("!"):  # what is left out is not read
            continue
        try:
            forms = plain_forms(folded(piece).removeprefix(f"{folded(root).rstrip('/')}/" if root else ""))
        except GlobFault:
            return UNJUDGED
        for form in forms:
            rule = judge.rule(form, starts)
            if rule is not None:
                return rule
    return None


def pattern_forms(pattern: str) -> Iterator[str]:
    """Each pattern in a text as several with `*` and `?` alone. Raises GlobFault."""
    for piece in dict.fromkeys((pattern, *_APART.split(pattern, _MOST_PIECES))):
        if piece and not piece.startswith("!"):  # what is left out is not read
            yield from plain_forms(piece)


@lru_cache(64)
def _judge(deny: tuple[str, ...], allow: tuple[str, ...], dotfiles: tuple[str, ...]) -> "_Judge":
    return _Judge(path_rules(deny, allow, dotfiles), deny)


class _Judge:
    def __init__(self, rules: PathRules, deny: tuple[str, ...]) -> None:
        self._rules = rules
        denied = [_parts(form) for pattern in deny for form in _forms(folded(pattern))]
        self._denied = [[_WILD.sub(_FILLED, part) for part in parts if part != "**"] for parts in denied]
        names = (*_secrets(), *_OWN, *(name for parts in self._denied for name in parts))
        self._protected = tuple(dict.fromkeys(name for name in names if not _ANYTHING.fullmatch(name)))
        self._ordinary = tuple(
            name for name in _ORDINARY if not self._refuses(name) and not self._refuses(f"{name}/{_FILLED}")
        )

    def rule(self, form: str, starts: Iterable[str]) -> str | None:
        parts = _parts(form)
        if len(parts) == 1:
            parts = ["**", *parts]
        for chosen in islice(product(*self._choices(parts)), _MOST_EXAMPLES):
            example = "/".join(part for part in chosen if part)
            for start in starts:
                whole = example if start == "." else f"{start.rstrip('/')}/{example}"
                if "\0" not in whole and (rule := self._refuses(whole)) is not None:
                    return rule
        return None

    def _refuses(self, path: str) -> str | None:
        names = path.split("/")
        if names[-1] == _OWN[0] or _OWN[1] in names:
            return "path:deny"
        return self._rules.named(path)

    def _choices(self, parts: list[str]) -> Iterator[tuple[str, ...]]:
        for part, after in zip(parts, (*parts[1:], ""), strict=True):
            if part == "**":
                yield ("", *self._above(after)) if after else (_FILLED,)
            elif not _WILD.search(part):
                yield (part,)
            else:
                yield (_WILD.sub(_FILLED, part), *self._meant(part))

    def _above(self, name: str) -> tuple[str, ...]:
        """The folders in which something denied is called so."""
        found = ("/".join(parts[: parts.index(name)]) for parts in self._denied if name in parts[1:])
        return tuple(dict.fromkeys(found))[:4]

    def _meant(self, part: str) -> tuple[str, ...]:
        if _ANYTHING.fullmatch(part) or any(path_matches(part, name) for name in self._ordinary):
            return ()
        return tuple(name for name in self._protected if path_matches(part, name))[:8]


def _secrets() -> Iterator[str]:
    yield from SECRET_FOLDERS
    for name in SECRET_FILES:
        if name.endswith(".*"):
            yield from (name[:-1] + ending for ending in _ENDINGS)
        else:
            yield from (name.replace("*", ""), name.replace("*", _FILLED))
    yield from (".env.local", ".envrc", "id_ed25519_sk")


def _forms(pattern: str) -> list[str]:
    try:
        return plain_forms(pattern)
    except GlobFault:  # the policy was checked, so this is one that only looks strange when folded
        return []


def _parts(form: str) -> list[str]:
    found: list[str] = []
    for part in form.split("/"):
        if part == ".." and found:
            found.pop()
        elif part not in ("", ".", ".."):
            found.append(part)
    return found
