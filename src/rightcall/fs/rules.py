"""Which paths below the root may be touched, by their names alone. The path is the resolved one, relative to the root,
with `/` between its components: what a link or `..` hides has been followed before."""

from collections.abc import Iterable

from rightcall.fs.globs import component_matches, path_matches

REFUSED_FOLDERS = frozenset(("node_modules", ".git", ".hg", ".svn"))
SECRET_FOLDERS = frozenset(("secrets",))
SECRET_FILES = (
    ".env*", "*.env", "secret.*", "secrets.*", "*_secret.json", "password.*", "passwords.*", "*_password.txt",
    "*htpasswd", "id_rsa", "id_ed25519", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore",
    "credentials.json", "service-account.json", "kubeconfig", "*.tfstate",
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


def path_rule(
    path: str, deny: Iterable[str] = (), allow: Iterable[str] = (), dotfiles: Iterable[str] = ()
) -> str | None:
    """The id of the rule that refuses a path, None when it may be touched. `deny` beats `allow`, which makes
    exceptions to the built-in names; `dotfiles` adds to those that may be read.

    >>> path_rule("src/secretary.py"), path_rule("deploy/.env.local"), path_rule("a/../../etc/passwd")
    (None, 'path:secret', 'path:outside')
    """
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") or ".." in parts or "\0" in path or "\\" in path:
        return "path:outside"
    clean = "/".join(parts)
    if any(path_matches(pattern, clean) for pattern in deny):
        return "path:deny"
    if any(path_matches(pattern, clean) for pattern in allow):
        return None
    folded = [part.casefold() for part in parts]
    if any(part in REFUSED_FOLDERS for part in folded):
        return "path:internal"
    if any(part in SECRET_FOLDERS for part in folded[:-1]) or (folded and _secret(folded[-1])):
        return "path:secret"
    if any(part.startswith(".") for part in folded) and not _known_dotfile(clean, dotfiles):
        return "path:dotfile"
    return None


def _secret(name: str) -> bool:
    stem, dot, ending = name.rpartition(".")
    if dot and stem.strip(".") and ending in NEVER_SECRET:
        return name.startswith(".env")
    return name in SECRET_FOLDERS or any(component_matches(pattern, name) for pattern in SECRET_FILES)


def _known_dotfile(path: str, more: Iterable[str]) -> bool:
    """Matched at any depth: a `.gitignore` may stand in every folder."""
    return any(path_matches(pattern, path) or path_matches(f"**/{pattern}", path) for pattern in (*DOTFILES, *more))
