"""`[sandbox]` and `[write]` of the policy file: read whole, or refused with the line and what would be right."""

from pathlib import Path
from typing import Any

import pytest

from rightcall.base.globs import path_matches
from rightcall.errors import PolicyError
from rightcall.policy.settings import CacheSettings, Check, CodeSettings, SandboxSettings, WriteSettings
from rightcall.policy.tightening import tighten
from rightcall.policy.watch import load_policy
from support.every import every

pytestmark = pytest.mark.promise("P-09", "X-06", "W-01")


def test_without_a_word_the_limits_of_the_design_hold() -> None:
    policy = load_policy({})
    assert policy.sandbox == SandboxSettings(seconds=4, memory=512, processes=64, scratch=128, output=1_000_000)
    assert policy.write.folders == ("experimental", "/tmp")
    assert policy.write.check.command == ()
    assert {"main", "master"} <= set(policy.write.protected)


def test_everything_that_is_said_is_read(tmp_path: Path) -> None:
    file = tmp_path / "rightcall.toml"
    file.write_text(
        '[sandbox]\nseconds = 1.5\nmemory = 64\nprocesses = 8\nscratch = 16\noutput = 1000\ntier = "namespaces"\n'
        'python = "/usr/bin/python3"\nnode = "/usr/bin/node"\nvisible = ["/opt/data"]\n'
        '[write]\nfolders = ["notes"]\ntests = ["checks/**"]\nprotected = ["stable"]\nfrozen = ["v1"]\n'
        'locked = ["deploy/**"]\nreviews = 2\n'
        '[write.check]\ncommand = ["make", "test"]\nseconds = 60\nmemory = 100\nprocesses = 9\nscratch = 50\n',
        encoding="utf-8",
    )
    policy = load_policy(file)
    assert policy.sandbox == SandboxSettings(
        1.5, 64, 8, 16, 1000, "namespaces", "/usr/bin/python3", "/usr/bin/node", ("/opt/data",)
    )
    assert policy.write == WriteSettings(
        ("notes",), ("checks/**",), ("stable",), ("v1",), ("deploy/**",), 2, Check(("make", "test"), 60, 100, 9, 50)
    )


@every(
    ("document", "said"),
    [
        ({"sandbox": {"seconds": 0}}, "sandbox.seconds"),
        ({"sandbox": {"tier": "none"}}, "sandbox.tier"),
        ({"sandbox": {"python": "python3"}}, "whole path"),
        ({"sandbox": {"visible": ["data"]}}, "whole path"),
        ({"sandbox": {"visible": ["/"]}}, "whole path"),
        ({"sandbox": {"visible": ["/srv/../etc"]}}, "whole path"),
        ({"sandbox": {"visible": ["/."]}}, "the machine's own"),
        ({"sandbox": {"visible": ["/opt/data", "/proc"]}}, "cannot be shown: /proc is the machine's own"),
        ({"sandbox": {"visible": ["/sys/kernel"]}}, "the machine's own"),
        ({"sandbox": {"visible": ["/dev/"]}}, "the machine's own"),
        ({"sandbox": {"visible": ["/run"]}}, "the machine's own"),
        ({"sandbox": {"network": True}}, "sandbox.network"),
        ({"write": {"folders": ["../elsewhere"]}}, "must be a folder"),
        ({"write": {"folders": ["/"]}}, "must be a folder"),
        ({"write": {"folders": ["a/*"]}}, "must be a folder"),
        ({"write": {"locked": ["/etc/**"]}}, "can match nothing"),
        ({"write": {"protected": ["release/{1,2"]}}, "can match nothing"),
        ({"write": {"frozen": ["/main"]}}, "can match nothing"),
        ({"write": {"reviews": 0}}, "write.reviews"),
        ({"write": {"check": {"command": "make test"}}}, "must be a list"),
        ({"write": {"check": {"command": [" "]}}}, "begin with the program"),
        ({"write": {"check": {"shell": True}}}, "write.check.shell"),
    ],
)
def test_what_is_wrong_is_refused_and_named(document: dict[str, Any], said: str) -> None:
    with pytest.raises(PolicyError, match=said.replace(".", r"\.")):
        load_policy(document)


CI_FILES = (
    ".github/workflows/x.yml", ".gitlab-ci.yml", ".gitlab-ci.d/x.yml", ".gitlab/ci/x.yml", "ci/build.gitlab-ci.yml",
    ".circleci/config.yml", ".buildkite/pipeline.yml", ".woodpecker.yml", ".woodpecker/build.yaml", ".drone.yml",
    ".drone.star", ".travis.yml", ".cirrus.yml", ".semaphore/semaphore.yml", ".tekton/push.yaml", "appveyor.yml",
    ".appveyor.yml", "Jenkinsfile", "jenkinsfile", "ops/Jenkinsfile.release", "azure-pipelines.yml",
    "ops/azure-pipelines-release.yml", ".azure-pipelines/x.yml", "bitbucket-pipelines.yml", "cloudbuild.yaml",
    "cloudbuild.json", "buildspec.yml", "codefresh.yml", "wercker.yml", "bamboo-specs/x.yml", ".teamcity/settings.kts",
    ".builds/x.yml", ".build.yml", ".vela.yml", ".gitea/workflows/x.yml", ".forgejo/workflows/x.yml", ".husky/pre-push",
    "lefthook.yml", ".lefthook.yml", "sub/rightcall.toml", "rightcall.toml",
    "codemagic.yaml", "bitrise.yml", ".zuul.yaml", "zuul.d/jobs.yaml", ".packit.yaml", "packit.yaml", ".copr/Makefile",
)  # fmt: skip


@pytest.mark.promise("W-02")
def test_what_ci_systems_and_git_hooks_run_is_locked() -> None:
    locked = WriteSettings().locked
    open_paths = [path for path in CI_FILES if not any(path_matches(pattern, path) for pattern in locked)]
    assert open_paths == []
    for path in (
        "src/jenkins.py",
        "docs/gitlab.md",
        "pipelines/x.py",
        "Makefile",
        "cloud/build.yaml",
        "tests/drone.py",
    ):
        assert not any(path_matches(pattern, path) for pattern in locked), path


@pytest.mark.promise("C-74", "C-75")
def test_what_is_read_and_kept_can_be_said() -> None:
    said = {"code": {"largest_file": 5, "structure": True}, "cache": {"enabled": False, "entries": 7, "seconds": 9}}
    policy = load_policy(said)
    assert policy.code == CodeSettings(5, structure=True)
    assert policy.cache == CacheSettings(enabled=False, entries=7, bytes=10_000_000, seconds=9)
    wrong = {
        "code.largest_file": {"code": {"largest_file": 0}},
        "code.structure": {"code": {"structure": "yes"}},
        "code.largest": {"code": {"largest": 5}},
        "cache.entries": {"cache": {"entries": 0}},
        "cache.seconds": {"cache": {"seconds": 1.5}},
        "cache.ttl": {"cache": {"ttl": 1}},
    }
    for key, document in wrong.items():
        with pytest.raises(PolicyError, match=key):
            load_policy(document)


@pytest.mark.promise("C-74", "C-75", "P-13")
def test_a_file_that_was_found_reads_and_keeps_less_and_never_more() -> None:
    more = {"code": {"largest_file": 9_000_000, "structure": True}, "cache": {"entries": 999, "seconds": 999}}
    assert (tighten(load_policy(more)).code, tighten(load_policy(more)).cache) == (CodeSettings(), CacheSettings())
    less = {"code": {"largest_file": 5}, "cache": {"enabled": False, "entries": 1, "bytes": 2000, "seconds": 3}}
    assert tighten(load_policy(less)).code == CodeSettings(5)
    assert tighten(load_policy(less)).cache == CacheSettings(enabled=False, entries=1, bytes=2000, seconds=3)
