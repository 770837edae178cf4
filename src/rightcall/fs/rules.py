"""Which paths below the root may be touched, by their names alone. The path is the resolved one, relative to the root,
with `/` between its components: what a link or `..` hides has been followed before."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from rightcall.fs.globs import expression

REFUSED_FOLDERS = frozenset(("node_modules", ".git", ".hg", ".svn"))
SECRET_FOLDERS = frozenset(("secrets",))
SECRET_FILES = (
    ".env*", "*.env", "secret.*", "secrets.*", "*_secret.json", "password.*", "passwords.*", "*_password.txt",
    "*htpasswd", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_*_sk", "*.pem", "*.key", "*.p12",
    "*.pfx", "*.jks", "*.keystore",
    "credentials.json", "service-account.json", "kubeconfig", "*.tfstate",
    "*.tfstate.backup", "*.ppk", "*.kdbx",
)  # fmt: skip
DOTFILES = (
    ".gitignore", ".gitattributes", ".editorconfig", ".prettierrc*", ".eslintrc*", ".github/**",
    ".pre-commit-config.yaml", ".python-version",
)  # fmt: skip
NEVER_SECRET = frozenset(
    (
        "py", "pyi", "js", "jsx", "ts", "tsx", "mjs", "cjs", "java", "kt", "go", "rs", "c", "h", "cc", "cpp", "hpp",
        "cs", "rb", "php", "swift", "scala", "sh", "lua", "r", "sql", "html", "css", "scss", "vue", "svelte",
        "md", "rst", "adoc", "tex",
    )
)  # fmt: skip
"""Endings of source and prose: `secrets.py` and `password.md` are about secrets, they are none."""


_SEPARATOR = re.compile(r"[/\\]")
"""A backslash separates nothing here, but whoever reads the path may think so: rules hold for both readings."""
_ELSEWHERE = re.compile(r"(?:[A-Za-z]:)?\\")
"""`C:\\x` and `\\\\server\\x`: whole paths to whoever takes them for such."""
_SECRET = re.compile("|".join(expression(pattern) for pattern in SECRET_FILES))
_MOST_KNOWN = 10_000
"""Folders whose judgement is kept at hand."""


class PathRules:
    """The rules for true paths, relative to the root with `/` between components. `deny` beats `allow`, which makes
    exceptions to the built-in names; `dotfiles` adds to those that may be seen. Made once, asked for every file.

    >>> rules = PathRules(deny=["private/**"])
    >>> rules.refuses("src/secretary.py"), rules.refuses("deploy/.env.local"), rules.refuses("Private/a.txt")
    (None, 'path:secret', 'path:deny')
    """

    __slots__ = ("_allow", "_deny", "_dotfiles", "_folders")

    def __init__(self, deny: Iterable[str] = (), allow: Iterable[str] = (), dotfiles: Iterable[str] = ()) -> None:
        self._deny = _any_of(deny)
        self._allow = _any_of(allow)
        self._dotfiles = _any_of(f"**/{pattern}" for pattern in (*DOTFILES, *dotfiles))
        self._folders: dict[str, tuple[str | None, bool, bool]] = {}

    def refuses(self, path: str) -> str | None:
        """The id of the rule that refuses a path, None when it may be touched."""
        folder, _, name = path.rpartition("/")
        inside = self._folders.get(folder)
        if inside is None:
            inside = _judged(folder)
            if len(self._folders) < _MOST_KNOWN:
                self._folders[folder] = inside
        rule, secret, hidden = inside
        if rule == "path:outside" or path.startswith("/"):
            return "path:outside"
        own, own_secret, own_hidden = _named(name)
        if own == "path:outside":
            return own
        whole = f"{path.strip('/')}/".casefold() if self._deny or self._allow or hidden or own_hidden else ""
        if self._deny is not None and self._deny.fullmatch(whole):
            return "path:deny"
        if self._allow is not None and self._allow.fullmatch(whole):
            return None
        if rule is not None or own is not None:
            return rule if rule == "path:internal" else own or rule
        if own_secret or (secret and not _is_source(name)):
            return "path:secret"
        if (hidden or own_hidden) and not (self._dotfiles is not None and self._dotfiles.fullmatch(whole)):
            return "path:dotfile"
        return None

    def within(self, folder: str) -> Callable[[str], bool]:
        """For one folder: whether a name in it may be touched. The same as asking `refuses` for each, at a fraction of
        the cost where the folder is an ordinary one and the name that of a source file."""
        top = f"{folder}/" if folder else ""
        ordinary = self._deny is None and _judged(folder) == (None, False, False)

        def touchable(name: str) -> bool:
            if ordinary and name.isascii() and name[:1] != "." and "\\" not in name and "\0" not in name:
                stem, dot, ending = name.rpartition(".")
                if dot and stem and ending in NEVER_SECRET:
                    return True
            return self.refuses(top + name) is None

        return touchable


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


def _any_of(patterns: Iterable[str]) -> re.Pattern[str] | None:
    """One expression for folded paths that end in `/`; None for no pattern at all."""
    made = [expression(pattern.casefold()) for pattern in patterns]
    return re.compile("|".join(made)) if made else None


def _judged(folder: str) -> tuple[str | None, bool, bool]:
    """Of the folders above a file: a rule that refuses everything in them, whether one is named like a secret, and
    whether one is hidden."""
    rule: str | None = None
    secret = hidden = False
    for name in folder.split("/"):
        of_name, is_secret, is_hidden = _named(name)
        if of_name == "path:outside":
            return of_name, True, True
        if of_name == "path:internal" or (rule is None and of_name is not None):
            rule = of_name
        secret |= is_secret
        hidden |= is_hidden
    return rule, secret, hidden


@lru_cache(10_000)
def _named(component: str) -> tuple[str | None, bool, bool]:
    """Of one component: a rule by which it is refused with all that is in it, whether it is named like a secret, and
    whether it is hidden."""
    if "\0" in component or _ELSEWHERE.match(component):
        return "path:outside", True, True
    rule: str | None = None
    secret = hidden = False
    for name in _SEPARATOR.split(component.casefold()):
        if name == ".." or (name == "." and component != "."):
            return "path:outside", True, True
        if name in REFUSED_FOLDERS:
            rule = "path:internal"
        elif name in SECRET_FOLDERS:
            rule = rule or "path:secret"
        secret |= _secret(name)
        hidden |= name.startswith(".") and name != "."
    return rule, secret, hidden


def _secret(name: str) -> bool:
    return name.startswith(".env") if _is_source(name) else _SECRET.fullmatch(f"{name}/") is not None


def _is_source(name: str) -> bool:
    stem, dot, ending = name.casefold().rpartition(".")
    return bool(dot and stem.strip(".")) and ending in NEVER_SECRET
