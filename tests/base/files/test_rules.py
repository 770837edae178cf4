"""Which names below the root are off limits."""

import os
import re
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightcall.base.files.guarded import state_folder
from rightcall.base.files.rules import NEVER_SECRET, PathRules, _judged, glob_rule, path_rule
from rightcall.base.globs import expression, path_matches, quoted
from support.every import every
from support.pace import process_time

MANY = 4 * settings().max_examples

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


@every(("rule", "path"), [(rule, path) for rule, paths in REFUSED.items() for path in paths])
def test_secrets_internals_and_ways_out_are_refused(rule: str, path: str) -> None:
    assert path_rule(path) == rule


@every("path", FINE)
def test_look_alikes_are_not(path: str) -> None:
    assert path_rule(path) is None


def test_the_policys_denials_win_over_its_exceptions() -> None:
    assert path_rule("private/a.txt", deny=["private/**"], allow=["private/a.txt"]) == "path:deny"
    assert path_rule("site.pem", allow=["*.pem"]) is None
    assert path_rule(".npmrc", dotfiles=[".npmrc"]) is None
    assert path_rule("/etc/passwd", allow=["**"]) == "path:outside"


@every(
    ("pattern", "path", "fits"),
    [
        ("private/**", "private/a/b", True), ("private/**", "private", True), ("private", "private/a", True),
        ("private/*", "private/a/b", True), ("*.txt", "a/b.txt", False), ("**/*.txt", "b.txt", True),
        ("**/x/**", "a/x/b/c", True), ("a/**/z", "a/z", True), ("a/**/z", "a/b/c/z", True), ("a/?", "a/bb", False),
        ("A/B", "a/b", True), ("a", "b/a", False), ("**", "anything/at/all", True),
        ("{a,b}/**", "b/x", True), ("{a,b}/**", "c/x", False), ("[p]rivate/**", "private/x", True),
        ("[!p]x", "ax", True), ("[!p]x", "px", False), ("x{,.bak}", "x.bak", True), ("{a/b,c}/d", "a/b/d/e", True),
        ("**/*.{pem,k[e-f]y}", "a/b.KEY", True), ("[[]x]", "[x]", True), ("[*]", "x", False),
        ("a[b-d]*{1,2}", "ac92", True),
        ("a?c", "a/c", False), ("[/a]b", "ab", True),
    ],
)  # fmt: skip
def test_patterns_for_paths_keep_to_components(pattern: str, path: str, fits: bool) -> None:
    assert path_matches(pattern, path) is fits


@given(st.text("ab*?", min_size=1, max_size=8), st.text("ab", min_size=1, max_size=8))
def test_a_component_matches_as_the_standard_library_says(pattern: str, name: str) -> None:
    assert path_matches(pattern, name) == fnmatchcase(name, pattern)


def test_a_pattern_of_many_stars_takes_no_time() -> None:
    assert not path_matches("*a" * 200 + "b", "a" * 5000)
    assert not path_matches("**/a/" * 50 + "b", "a/" * 500)


# What follows says the rules a second time, as naively as DEVIATIONS and the policy page say them.

SAID_SECRET = [
    ".env*", "*.env", "secret.*", "secrets.*", "*_secret.json", "password.*", "passwords.*", "*_password.txt",
    "*htpasswd", "id_rsa", "id_ed25519", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "credentials.json",
    "service-account.json", "kubeconfig", "*.tfstate",
    "id_dsa", "id_ecdsa", "id_*_sk", "*.tfstate.backup", "*.ppk", "*.kdbx",
]  # fmt: skip
SAID_SEEN = [
    ".gitignore", ".gitattributes", ".editorconfig", ".prettierrc*", ".eslintrc*", ".github", ".pre-commit-config.yaml",
    ".python-version",
]  # fmt: skip


def named_like_a_secret(name: str) -> bool:
    prose = "." in name.strip(".") and name.rpartition(".")[2] in NEVER_SECRET
    return any(fnmatchcase(name, pattern) for pattern in SAID_SECRET) and (not prose or name.startswith(".env"))


def naive(path: str, deny: tuple[str, ...] = (), allow: tuple[str, ...] = ()) -> bool:
    """Whether a true path is refused."""
    *folders, file = parts = path.casefold().split("/")
    prose = "." in file.strip(".") and file.rpartition(".")[2] in NEVER_SECRET
    if any(path_matches(pattern, path) for pattern in deny):
        return True
    if any(path_matches(pattern, path) for pattern in allow):
        return False
    if any(part in ("node_modules", ".git", ".hg", ".svn", "secrets") for part in parts):
        return True
    if named_like_a_secret(file) or (any(map(named_like_a_secret, folders)) and not prose):
        return True
    hidden = [part for part in parts if part.startswith(".") and not part.startswith("..")]
    return bool(hidden) and not any(fnmatchcase(hidden[0], pattern) for pattern in SAID_SEEN)


PIECES = st.sampled_from(
    [
        ".", "env", "secret", "secrets", "_", "json", "password", "passwords", "txt", "htpasswd", "id", "rsa", "sk",
        "pem", "key", "tfstate", "backup", "credentials", "kubeconfig", "git", "github", "ignore", "node_modules", "py",
        "md", "a", "B", "-", " ", "É", "e\u0301", "service-account", "prettierrc", "hg", "svn", "ecdsa", "ed25519",
    ]
)  # fmt: skip
RULE_NAMES = (
    st.lists(PIECES, min_size=1, max_size=4).map("".join)
    | st.sampled_from([pattern.replace("*", "x") for pattern in (*SAID_SECRET, *SAID_SEEN)])
).filter(lambda name: name.strip(" .") != "" and name[-1] not in ". ")  # what trails is for the table
PATHS = st.lists(RULE_NAMES, min_size=1, max_size=4).map("/".join)
PATTERNS = st.lists(st.text("ab*?.", min_size=1, max_size=4) | st.just("**"), min_size=0, max_size=5).map("/".join)
SHORT = st.lists(st.text("abA.", min_size=1, max_size=3).filter(lambda name: name.strip(".") != ""), max_size=5).map(
    "/".join
)


@pytest.mark.promise("P-03")
@settings(max_examples=MANY)
@given(PATHS, st.booleans())
def test_the_rules_refuse_what_the_page_says_and_nothing_else(path: str, shouted: bool) -> None:
    written = path.upper() if shouted else path
    assert (path_rule(written) is not None) == naive(written)


@pytest.mark.promise("P-03")
@settings(max_examples=MANY)
@given(PATTERNS.filter(bool), PATTERNS.filter(bool), SHORT.filter(bool))
def test_denials_and_exceptions_hold_as_their_patterns_say(deny: str, allow: str, path: str) -> None:
    assert (path_rule(path, deny=[deny], allow=[allow]) is not None) == naive(path, (deny,), (allow,))


@settings(max_examples=MANY)
@given(PATTERNS, SHORT)
def test_the_expression_of_a_pattern_means_the_pattern(pattern: str, path: str) -> None:
    whole = "".join(f"{part}/" for part in path.casefold().split("/") if part)
    assert bool(re.fullmatch(expression(pattern.casefold()), whole)) == path_matches(pattern, path)


@pytest.mark.promise("P-03")
@every("pattern", ["**/a/" * 40 + "b", "*a*a*a*a*a*a*b", "**/*a*a*/**/*a*b", "a/**/a/**/a/**/b"])
@every("path", ["a/" * 2000 + "a", "a" * 4000, "aa/" * 1300, ".a/" * 1300 + "a"])
def test_no_path_of_a_model_makes_a_pattern_of_a_policy_slow(pattern: str, path: str) -> None:
    began = process_time()
    path_rule(path, deny=[pattern], dotfiles=[pattern])
    assert process_time() - began < 1


@pytest.mark.promise("P-03")
def test_a_path_that_nothing_could_open_is_not_even_matched() -> None:
    began = process_time()
    for path in ("a" * 1_000_000, "a/" * 500_000, "\\" * 1_000_000, "." * 1_000_000, "é" * 1_000_000):
        assert path_rule(path, deny=["**/*x*y"], allow=["**"]) == "path:unjudged"
    assert process_time() - began < 2


@pytest.mark.promise("P-03")
def test_long_names_of_a_model_are_not_kept() -> None:
    rules = PathRules()
    for number in range(200):
        rules.refuses(f"{'é' * 2000}{number}/{'.' * 1900}{number}")
    assert sum(map(len, rules._folders)) < 1000
    assert _judged.cache_info().currsize < 10_000
    before = _judged.cache_info().currsize
    rules.refuses("é" * 300)
    assert _judged.cache_info().currsize == before


@pytest.mark.promise("P-03")
def test_a_dotfile_that_may_be_seen_may_not_be_in_a_hidden_folder() -> None:
    assert path_rule(".venv/.gitignore") == "path:dotfile"
    assert path_rule("a/.ssh/.github/x") == "path:dotfile"
    assert path_rule(".venv/.gitignore", dotfiles=[".venv/.gitignore"]) is None
    assert path_rule("a/b/.venv/.gitignore", dotfiles=[".venv/.gitignore"]) is None
    assert path_rule("a/.x/.tool", dotfiles=["**/.tool"]) is None


@pytest.mark.promise("P-03")
def test_a_denial_holds_in_every_spelling() -> None:
    for path in ("private/a", "PRIVATE/a", "private\\a", "x\\..\\private", "./private/a", "private//a"):
        assert path_rule(path, deny=["private"]) in ("path:deny", "path:outside"), path
    assert path_rule("gro\u0308\u00dfe/a", deny=["größe/**"]) == "path:deny"
    assert path_rule("größe/a", deny=["GRO\u0308SSE"]) == "path:deny"


@pytest.mark.promise("P-15")
def test_a_denial_holds_for_what_only_looks_like_it() -> None:
    for path in ("priv\u0430te/a", "\uff50rivate/a", "priv\u200bate/a", "\u03a1rivate/a", "sub\\..\\pr\u0456vate"):
        assert path_rule(path, deny=["private", "**/private"]) in ("path:deny", "path:outside"), ascii(path)
    assert path_rule("o\u0442\u0447\u0451\u0442/a", deny=["\u043e\u0442\u0447\u0451\u0442/**"]) == "path:deny"
    assert path_rule("\u043e\u0442\u0447/a", deny=["[\u0440-\u0441]x", "private"]) is None
    for path in ("\u0455ecrets.json", ".\u0435nv", "id_r\u0455a", "server.p\u0435m", "\u0455ecrets/x"):
        assert path_rule(path) == "path:secret", ascii(path)
    assert path_rule(".gi\u0442/config") == "path:internal"


@pytest.mark.promise("P-15")
def test_a_pattern_for_a_name_with_signs_in_it_means_that_name() -> None:
    for name in ("a[1]/x.toml", "{a,b}.db", "star*.db", "quest?.db", "back\\slash.db", "[!a]", "x**y"):
        assert path_matches(quoted(name), name), name
    for name, other in (("a[1]", "a1"), ("{a,b}", "a"), ("star*", "starry"), ("quest?", "quests"), ("[!a]", "b")):
        assert not path_matches(quoted(name), other), name


@pytest.mark.promise("P-03")
def test_an_empty_pattern_means_the_root_and_not_everything() -> None:
    for empty in ("", "/", "//"):
        assert path_rule(".env", allow=[empty]) == "path:secret"
        assert path_rule("a.txt", deny=[empty]) is None
        assert path_rule("", deny=[empty]) == path_rule(".", deny=[empty]) == "path:deny"


def test_names_by_the_thousand_are_judged_in_no_time() -> None:
    """1.5 µs each on the machine this was written on; five times that is a mistake and not a slow machine."""
    rules = PathRules()
    paths = [
        f"src/part{number % 100}/module_{number}.{['py', 'json', 'txt', 'ts'][number % 4]}" for number in range(10_000)
    ]
    for path in paths[:100]:
        rules.refuses(path)
    taken: list[float] = []
    for _ in range(3):
        began = process_time()
        for path in paths:
            rules.refuses(path)
        taken.append(process_time() - began)
    assert min(taken) < 0.075


@pytest.mark.promise("P-03")
@settings(max_examples=MANY)
@given(
    st.sampled_from(["", "a", "a/b", ".github", ".hidden", "secrets", "x.pem", "node_modules", "é", "a\\.env"]),
    st.lists(
        RULE_NAMES | st.sampled_from(["id_rsa.", ".env ", "a\\b", "a:b", "É.PEM", "..", "", "x" * 300]), max_size=6
    ),
    st.sampled_from([(), ("a/**",), ("**/*.py",)]),
)
def test_many_names_at_once_are_judged_as_each_by_itself(folder: str, names: list[str], deny: tuple[str, ...]) -> None:
    rules = PathRules(deny=deny)
    top = f"{folder}/" if folder else ""
    assert rules.touchable(folder, names) == [name for name in names if rules.refuses(top + name) is None]


DENY = ("private/**", "deploy/keys/**", "data/*.csv")


def rule(pattern: str, **more: object) -> str | None:
    return glob_rule(pattern, DENY, ("certs/**",), (), **more)  # type: ignore[arg-type]


@pytest.mark.promise("P-03")
@every(
    "pattern",
    [
        ".env", ".en?", ".env*", "[.]env", "?env", "**/.env.local", "{src,.env}", "*.ts,.env", "*.ts .ENV", "*.pem",
        "**/*.pe?", "id_*", "*secret*", "secrets/**", "a/secrets/*.txt", "*.{ts,key}", "**/credentials.*", "*.tfstate",
    ],
)  # fmt: skip
def test_a_pattern_that_means_secrets_is_refused(pattern: str) -> None:
    assert rule(pattern) == "path:secret"


@pytest.mark.promise("P-03")
@every(
    "pattern",
    [
        "private/**", "priv*/**", "./private/*.md", "src/../private/*", "**/private/**", "**/keys/*.txt", "private",
        "data/*.csv", "rightcall.toml", "**/rightc*", ".rightcall/**", "deploy/key?/a.txt",
    ],
)  # fmt: skip
def test_a_pattern_that_means_what_the_policy_denies_or_our_own_files_is_refused(pattern: str) -> None:
    assert rule(pattern) == "path:deny"


@pytest.mark.promise("P-03")
@every(
    "pattern",
    [
        "*", "**", "**/*", "*.py", "**/*.py", "src/**", "**/*.{ts,tsx}", "*.json", "**/test_*.py", ".*", "*.*",
        "data/**", "deploy/**", "!.env", "**/*.toml", "[a-z]*.go", "certs/*.pem", "secrets.py", "**/*secret*.py", "",
        "*key*", "app/(group)/**", "*(1).txt",
    ],
)  # fmt: skip
def test_a_broad_pattern_passes(pattern: str) -> None:
    assert rule(pattern) is None


@pytest.mark.promise("P-03")
def test_a_pattern_counts_from_every_folder_that_the_call_names_and_from_the_root() -> None:
    assert rule("keys/*", starts=(".", "deploy")) == "path:deny"
    assert rule("/Work/private/*", root="/work") == "path:deny"


@pytest.mark.promise("P-03")
@every(
    "pattern",
    ["{a", "a" * 5000, "{a,b}" * 40, ", ".join(map(str, range(300))), ".en[[:alpha:]]", ".@(env|x)", ".en{u..w}"],
)
def test_a_pattern_that_cannot_be_judged_is_refused(pattern: str) -> None:
    assert rule(pattern) == "path:unjudged"


@pytest.mark.skipif(sys.platform == "win32", reason="there is no HOME there")
@pytest.mark.parametrize("home", ["", ".", "here", "sub/../here"])
def test_a_home_folder_that_is_relative_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    import pwd

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", home)
    own = pwd.getpwuid(os.getuid()).pw_dir
    assert state_folder() == os.path.join(own, ".local", "state", "rightcall")
