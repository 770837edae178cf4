"""What the policy says of one caller: its stage and lists, limits and budgets, with denials that always win."""

import tomllib
from typing import Any

import pytest

from rightcall.policy.settings import PRESETS, STAGES, Budgets, Limits, Settings, Window
from rightcall.policy.types import rights_of
from rightcall.policy.watch import load_policy

POLICY = """\
[policy.limits]
all = { minute = 90, hour = 2000 }
caller = { minute = 10, hour = 150, burst = 2 }
[policy.budgets]
tokens = 500
[policy.budgets.tools."code/search"]
seconds = 10.5
[callers.teacher]
limits = { minute = 20 }
write = "ask"
budgets = { tokens = 900 }
[callers.guest]
only = ["ping"]
"""


def rights(document: str, caller: str = "teacher") -> Any:
    return rights_of(load_policy(tomllib.loads(document)).settings, caller)


@pytest.mark.promise("P-01")
def test_a_caller_nobody_names_has_what_everybody_has() -> None:
    found = rights('[policy]\nallow = ["my/*", "x"]\ndeny = ["ping"]\n[callers.other]\nstage = "full"')
    assert (found.stage, found.own, found.patterns) == ("read-only", True, ("my/*",))
    assert found.listed == STAGES["read-only"] | {"x"}
    assert found.origin == {"my/*": "policy:allow", "x": "policy:allow"}
    assert found.deny == {"ping": "policy:deny"}


@pytest.mark.promise("P-01")
def test_allow_adds_to_the_callers_stage_and_to_everybodys_list() -> None:
    found = rights('[policy]\nallow = ["x"]\n[callers.teacher]\nstage = "sandbox"\nallow = ["y", "z/*"]')
    assert (found.stage, found.own) == ("sandbox", True)
    assert found.listed == STAGES["sandbox"] | {"x", "y"}
    assert found.patterns == ("z/*",)
    assert found.origin == {"x": "policy:allow", "y": "caller:allow", "z/*": "caller:allow"}


@pytest.mark.promise("P-01")
def test_only_replaces_stage_and_allow_and_an_empty_one_allows_nothing() -> None:
    found = rights('[policy]\nstage = "full"\nallow = ["x"]\n[callers.teacher]\nonly = ["ping", "my/*"]')
    assert (found.stage, found.own, found.listed, found.patterns) == (None, False, {"ping"}, ("my/*",))
    assert found.origin == {"ping": "caller:only", "my/*": "caller:only"}
    nothing = rights("[callers.teacher]\nonly = []")
    assert (nothing.listed, nothing.patterns, nothing.own) == (frozenset(), (), False)


@pytest.mark.promise("P-01")
def test_denials_add_up_and_stay_beside_only() -> None:
    found = rights('[policy]\ndeny = ["a"]\n[callers.teacher]\nonly = ["a", "b"]\ndeny = ["b"]')
    assert found.deny == {"a": "policy:deny", "b": "caller:deny"}


@pytest.mark.promise("P-01", "P-02")
def test_a_callers_limits_words_and_budgets_take_the_place_of_everybodys() -> None:
    settings = load_policy(tomllib.loads(POLICY)).settings
    teacher, guest = rights_of(settings, "teacher"), rights_of(settings, "guest")
    assert (teacher.window, guest.window) == (Window(20, 150, 2), Window(10, 150, 2))
    assert teacher.all == guest.all == Window(90, 2000)
    assert (teacher.words.usual["write"], guest.words.usual["write"]) == ("ask", "dry-run")
    assert (teacher.budgets.tokens, guest.budgets.tokens) == (900, 500)


@pytest.mark.promise("X-03")
def test_of_a_tools_and_a_callers_word_on_one_budget_the_stricter_holds() -> None:
    document = """
        [policy.budgets]
        seconds = 30
        [policy.budgets.tools.slow]
        seconds = 300
        tokens = 1000
        [callers.teacher]
        budgets = { tokens = 2000, output = 5 }
        [callers.guest]
        budgets = { seconds = 10 }
        """
    assert rights(document).budgets_of_tools["slow"] == Budgets(seconds=300.0, tokens=1000, output=5)
    assert rights(document, "guest").budgets_of_tools["slow"] == Budgets(seconds=10.0, tokens=1000)
    assert rights(document, "else").budgets_of_tools["slow"] == Budgets(seconds=300.0, tokens=1000)


@pytest.mark.promise("P-09")
def test_frozen_means_frozen() -> None:
    settings = load_policy(tomllib.loads(POLICY)).settings
    found = rights_of(settings, "teacher")
    mappings: list[Any] = [
        settings.limits.tools, settings.callers, settings.budgets_of_tools, found.tools, found.origin, found.deny,
        found.budgets_of_tools, STAGES, PRESETS, PRESETS["swarm"].tools, Settings().callers, Limits().tools,
    ]  # fmt: skip
    for mapping in mappings:
        with pytest.raises(TypeError):
            mapping["x"] = None
    with pytest.raises(AttributeError):
        settings.stage = "full"  # pyright: ignore[reportAttributeAccessIssue]


def test_rights_have_a_digest_of_everything_they_say() -> None:
    base = rights("")
    assert len(base.digest) == 16
    assert base.digest == rights("[callers.guest]\nonly = []").digest
    others = [
        '[policy]\nstage = "full"',
        '[policy]\nallow = ["x"]',
        '[policy]\ndeny = ["x"]',
        "[policy]\nlimits.tools.x.minute = 3",
        "[policy]\nbudgets.tools.x.seconds = 3",
        '[policy]\npaths.deny = ["x"]',
        '[policy]\nwrite = "ask"',
        '[policy.tools.x]\nwrite = "ask"',
        "[callers.teacher]\nonly = []",
        "[callers.teacher]\nlimits = { burst = 1 }",
    ]
    assert len({base.digest, rights("", "else").digest, *(rights(other).digest for other in others)}) == len(others) + 2
