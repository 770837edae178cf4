"""`[sandbox]` and `[write]` of the policy file: read whole, or refused with the line and what would be right."""

from pathlib import Path
from typing import Any

import pytest

from rightcall.config import load_policy
from rightcall.config_hands import Check, SandboxSettings, WriteSettings
from rightcall.errors import PolicyError

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


@pytest.mark.parametrize(
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
        ({"write": {"reviews": 0}}, "write.reviews"),
        ({"write": {"check": {"command": "make test"}}}, "must be a list"),
        ({"write": {"check": {"command": [" "]}}}, "begin with the program"),
        ({"write": {"check": {"shell": True}}}, "write.check.shell"),
    ],
)
def test_what_is_wrong_is_refused_and_named(document: dict[str, Any], said: str) -> None:
    with pytest.raises(PolicyError, match=said.replace(".", r"\.")):
        load_policy(document)
