"""Which patterns ask for what the path rules refuse, and which are too broad to say so."""

import pytest

from rightcall.base.files.rules import glob_rule

pytestmark = pytest.mark.promise("P-03")

DENY = ("private/**", "deploy/keys/**", "data/*.csv")


def rule(pattern: str, **more: object) -> str | None:
    return glob_rule(pattern, DENY, ("certs/**",), (), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "pattern",
    [
        ".env", ".en?", ".env*", "[.]env", "?env", "**/.env.local", "{src,.env}", "*.ts,.env", "*.ts .ENV", "*.pem",
        "**/*.pe?", "id_*", "*secret*", "secrets/**", "a/secrets/*.txt", "*.{ts,key}", "**/credentials.*", "*.tfstate",
    ],
)  # fmt: skip
def test_a_pattern_that_means_secrets_is_refused(pattern: str) -> None:
    assert rule(pattern) == "path:secret"


@pytest.mark.parametrize(
    "pattern",
    [
        "private/**", "priv*/**", "./private/*.md", "src/../private/*", "**/private/**", "**/keys/*.txt", "private",
        "data/*.csv", "rightcall.toml", "**/rightc*", ".rightcall/**", "deploy/key?/a.txt",
    ],
)  # fmt: skip
def test_a_pattern_that_means_what_the_policy_denies_or_our_own_files_is_refused(pattern: str) -> None:
    assert rule(pattern) == "path:deny"


@pytest.mark.parametrize(
    "pattern",
    [
        "*", "**", "**/*", "*.py", "**/*.py", "src/**", "**/*.{ts,tsx}", "*.json", "**/test_*.py", ".*", "*.*",
        "data/**", "deploy/**", "!.env", "**/*.toml", "[a-z]*.go", "certs/*.pem", "secrets.py", "**/*secret*.py", "",
        "*key*", "app/(group)/**", "*(1).txt",
    ],
)  # fmt: skip
def test_a_broad_pattern_passes(pattern: str) -> None:
    assert rule(pattern) is None


def test_a_pattern_counts_from_every_folder_that_the_call_names_and_from_the_root() -> None:
    assert rule("keys/*", starts=(".", "deploy")) == "path:deny"
    assert rule("/Work/private/*", root="/work") == "path:deny"


@pytest.mark.parametrize(
    "pattern",
    ["{a", "a" * 5000, "{a,b}" * 40, ", ".join(map(str, range(300))), ".en[[:alpha:]]", ".@(env|x)", ".en{u..w}"],
)
def test_a_pattern_that_cannot_be_judged_is_refused(pattern: str) -> None:
    assert rule(pattern) == "path:unjudged"
