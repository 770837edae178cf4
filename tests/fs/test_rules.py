"""Which names below the root are off limits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.fs.globs import component_matches, path_matches
from rightcall.fs.rules import path_rule

REFUSED = {
    "path:outside": ["/etc/passwd", "../x", "a/../../x", "a/..", "..", "C:\\x", "a\0b"],
    "path:secret": [
        ".env", ".env.local", "prod.env", "deep/.ENV", "secret.yaml", "secrets.json", "secrets/a.py", "SECRETS/x.txt",
        "my_secret.json", "password.txt", "passwords.csv", "db_password.txt", ".htpasswd", "htpasswd", "id_rsa",
        "keys/id_ed25519", "tls/site.pem", "a.key", "a.p12", "a.pfx", "a.jks", "a.keystore", "credentials.json",
        "service-account.json", "kubeconfig", "infra/main.tfstate", "secrets", ".env.py",
    ],
    "path:internal": [".git/config", "node_modules/x/index.js", "sub/.hg/store", ".svn/entries", ".GIT/HEAD"],
    "path:dotfile": [".npmrc", ".ssh/config", "a/.hidden/b.txt", ".bashrc"],
}  # fmt: skip
FINE = [
    "secretary.py", "password_reset.py", "src/secrets.py", "docs/password.md", "tokens.txt", "environment.yml",
    "env.example", "keyboard.json", "monkey.js", "a.keys", ".gitignore", "sub/.gitattributes", ".editorconfig",
    ".prettierrc.json", ".eslintrc", ".github/workflows/ci.yml", ".pre-commit-config.yaml", ".python-version", "", ".",
    "a/./b.txt", "secretsfolder/a.txt", "my.environment", "credentials.py",
]  # fmt: skip


@pytest.mark.parametrize(("rule", "path"), [(rule, path) for rule, paths in REFUSED.items() for path in paths])
def test_secrets_internals_and_ways_out_are_refused(rule: str, path: str) -> None:
    assert path_rule(path) == rule


@pytest.mark.parametrize("path", FINE)
def test_look_alikes_are_not(path: str) -> None:
    assert path_rule(path) is None


def test_the_policys_denials_win_over_its_exceptions() -> None:
    assert path_rule("private/a.txt", deny=["private/**"], allow=["private/a.txt"]) == "path:deny"
    assert path_rule("site.pem", allow=["*.pem"]) is None
    assert path_rule(".npmrc", dotfiles=[".npmrc"]) is None
    assert path_rule("/etc/passwd", allow=["**"]) == "path:outside"


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("private/**", "private/a/b", True), ("private/**", "private", True), ("private", "private/a", True),
        ("private/*", "private/a/b", True), ("*.txt", "a/b.txt", False), ("**/*.txt", "b.txt", True),
        ("**/x/**", "a/x/b/c", True), ("a/**/z", "a/z", True), ("a/**/z", "a/b/c/z", True), ("a/?", "a/bb", False),
        ("A/B", "a/b", True), ("a", "b/a", False), ("**", "anything/at/all", True),
    ],
)  # fmt: skip
def test_patterns_for_paths_keep_to_components(pattern: str, path: str, fits: bool) -> None:
    assert path_matches(pattern, path) is fits


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=8))
def test_a_component_matches_as_the_standard_library_says(pattern: str, name: str) -> None:
    from fnmatch import fnmatchcase

    assert component_matches(pattern, name) == fnmatchcase(name, pattern)


def test_a_pattern_of_many_stars_takes_no_time() -> None:
    assert not component_matches("*a" * 200 + "b", "a" * 5000)
    assert not path_matches("**/a/" * 50 + "b", "a/" * 500)
