"""What a single component of a path says about it: an internal, a secret, hidden, or a way out. Whoever reads the path
later may read the component differently than we do (another system, another file system), so every reading is judged
and the strictest holds."""

import os
import re
from functools import cache, lru_cache
from typing import NamedTuple

from rightcall.base.globs import expression, folded
from rightcall.parse.late import Late

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


class Component(NamedTuple):
    """`rule` refuses it and all that is in it; `secret`: it is named like a secret file; `hidden`: like a dotfile."""

    rule: str | None
    secret: bool
    hidden: bool

    def names_secret(self, source: bool = False) -> bool:
        """Whether it makes a secret of the path it stands in; `source`: of one that ends like source or prose."""
        return self.rule == "path:secret" or (self.secret and not source and self.rule != "path:outside")


OUTSIDE = Component("path:outside", True, True)
PLAIN = Component(None, False, False)

_SEPARATOR = re.compile(r"[/\\]")
"""A backslash separates nothing here, but on another system it does."""
_ELSEWHERE = re.compile(r"(?:[A-Za-z]:)?\\|[A-Za-z]:\Z" if os.name == "nt" else r"(?:[A-Za-z]:)?\\")
"""`C:\\x` and `\\\\server\\x`: whole paths to whoever takes them for such. A folder called `C:` is one like any other
where there are no drives."""
_HIDDEN = re.compile(r"\.[^.]|\.{3,}\Z")
"""`.ssh` is hidden; `..config.py` only begins with dots. Nothing but dots leads upwards on some systems."""
_STREAM = Late(r"::?\$.*", re.DOTALL)
"""`a.pem::$DATA` is `a.pem` on NTFS, as is `a.pem.` and `a.pem` with a blank behind it."""
_UNSEEN = Late("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u206a-\u206f\ufeff]")
"""Characters that nobody sees; HFS+ takes a name with them for the name without."""
_LONGEST = 255
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
    if name.isascii() and "\\" not in name and ":" not in name and "\0" not in name and name:
        low = name.lower()
        if (low[0] not in _FIRST or not low.startswith(_STARTS)) and (low[-1] not in _LAST or not low.endswith(_ENDS)):
            return PLAIN
    return _judged(name) if len(name) <= _LONGEST else _judged.__wrapped__(name)


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
    if "\0" in name or _ELSEWHERE.match(name):
        return OUTSIDE
    rule: str | None = None
    secret = hidden = False
    for one in _readings(name):
        if one.rstrip(" ") == ".." or (one == "." and name != "."):
            return OUTSIDE
        hidden |= _HIDDEN.match(one) is not None
    for one in _readings(name) if name.isascii() else _readings(name) | _looks(name):
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
    from rightcall.text.alike import latin

    return _readings(latin(name))


def _readings(name: str) -> set[str]:
    found = set(_SEPARATOR.split(folded(name)))
    found |= {_UNSEEN.sub("", one) for one in found}
    return found | {bare for one in found if (bare := _STREAM.sub("", one).rstrip(". "))}


def _is_secret(name: str) -> bool:
    if is_source(name):
        return name.startswith(".env")
    return _secret_names().fullmatch(f"{name}/") is not None


@cache
def _secret_names() -> re.Pattern[str]:
    """Made when a name needs it: few do, and a hook would pay for it with every call."""
    return re.compile("|".join(expression(pattern) for pattern in SECRET_FILES))
