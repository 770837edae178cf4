"""`[router]` of the policy file: read whole, or refused with the line and what would be right."""

import re
from pathlib import Path
from typing import Any

import pytest

from rightcall.errors import PolicyError
from rightcall.policy.settings import RouterModel, RouterSettings
from rightcall.policy.watch import load_policy
from support.every import every

pytestmark = pytest.mark.promise("T-08", "P-09")

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "policy.md"


def test_without_a_word_the_designs_settings_hold() -> None:
    router = load_policy({}).router
    assert router == RouterSettings()
    assert (router.enabled, router.threshold, router.reinjections) == (True, 0.7, 3)
    assert (router.selection_temperature, router.review_temperature, router.top_p) == (0.15, 0.3, 0.9)
    assert (router.selection_tokens, router.review_tokens) == (500, 200)
    assert (router.light, router.prime) == (None, None)


def test_everything_that_is_said_is_read(tmp_path: Path) -> None:
    file = tmp_path / "rightcall.toml"
    file.write_text(
        '[router]\nenabled = false\nmode = "regex"\nthreshold = 1\nbelow = "skip"\nreinjections = 0\ncandidates = 3\n'
        "selection_temperature = 0\nselection_tokens = 100\nreview_temperature = 2\nreview_tokens = 50\n"
        "answer_temperature = 0.8\nanswer_tokens = 99\ntop_p = 1\n"
        "seconds = 5\nmodel_seconds = 2.5\ntokens = 4000\nsearch = 40\n"
        '[router.light]\nurl = "http://127.0.0.1:8080/v1"\n'
        '[router.prime]\nurl = "https://models.example.com/v1"\nmodel = "big-1"\nkey_env = "BIG_KEY"\n'
        'headers = { x-team = "a" }\nschema = false\n',
        encoding="utf-8",
    )
    assert load_policy(file).router == RouterSettings(
        enabled=False,
        mode="regex",
        threshold=1.0,
        below="skip",
        reinjections=0,
        candidates=3,
        selection_temperature=0.0,
        selection_tokens=100,
        review_temperature=2.0,
        review_tokens=50,
        answer_temperature=0.8,
        answer_tokens=99,
        top_p=1.0,
        seconds=5.0,
        model_seconds=2.5,
        tokens=4000,
        search=40,
        light=RouterModel("http://127.0.0.1:8080/v1"),
        prime=RouterModel("https://models.example.com/v1", "big-1", "BIG_KEY", {"x-team": "a"}, schema=False),
    )


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"enabled": 1}, "router.enabled: must be true or false"),
        ({"mode": "learnt"}, "router.mode: 'learnt' is not a valid choice; did you mean 'learned'?"),
        ({"below": "run"}, "router.below: 'run' is not a valid choice; expected one of: ask, skip"),
        ({"threshold": 1.1}, "router.threshold: must be a number from 0 to 1, not 1.1"),
        ({"threshold": float("nan")}, "router.threshold: must be a number from 0 to 1"),
        ({"threshold": True}, "router.threshold: must be a number"),
        ({"threshold": "0.7"}, "router.threshold: must be a number"),
        ({"reinjections": 101}, "router.reinjections: must be a whole number from 0 to 100"),
        ({"reinjections": 2.5}, "router.reinjections: must be a whole number"),
        ({"candidates": 0}, "router.candidates: must be a whole number from 1 to 100"),
        ({"selection_temperature": 2.1}, "router.selection_temperature: must be a number from 0 to 2"),
        ({"review_temperature": -0.1}, "router.review_temperature: must be a number from 0 to 2"),
        ({"answer_temperature": "warm"}, "router.answer_temperature: must be a number from 0 to 2"),
        ({"selection_tokens": 0}, "router.selection_tokens: must be a whole number from 1"),
        ({"review_tokens": 0}, "router.review_tokens: must be a whole number from 1"),
        ({"answer_tokens": 0}, "router.answer_tokens: must be a whole number from 1"),
        ({"tokens": 0}, "router.tokens: must be a whole number from 1"),
        ({"top_p": 0}, "router.top_p: must be a number from 0.01 to 1"),
        ({"seconds": 0}, "router.seconds: must be a number from 0.1"),
        ({"model_seconds": float("inf")}, "router.model_seconds: must be a number from 0.1"),
        ({"allow_write_tools": False}, 'the router obeys `[policy] write = "ask"`'),
        ({"ALLOW_EXECUTE_TOOLS": True}, 'the router obeys `[policy] execute = "ask"`'),
        ({"treshold": 0.5}, "router.treshold: unknown key; did you mean 'threshold'?"),
        ({"light": "http://127.0.0.1/v1"}, "router.light: must be a table, not a text"),
        (3, "router: must be a table, not a number"),
    ],
)
def test_a_wrong_setting_is_refused_with_what_would_be_right(table: Any, says: str) -> None:
    with pytest.raises(PolicyError) as error:
        load_policy({"router": table})
    assert says in str(error.value)


@every(
    ("theirs", "ours"),
    [
        ("ENABLED", "enabled"),
        ("SELECTION_TEMPERATURE", "selection_temperature"),
        ("REVIEW_TEMPERATURE", "review_temperature"),
        ("CONFIDENCE_THRESHOLD", "threshold"),
        ("confidence_threshold", "threshold"),
        ("MAX_REINJECTIONS", "reinjections"),
        ("max_reinjections", "reinjections"),
    ],
)
def test_a_name_of_the_design_is_told_ours(theirs: str, ours: str) -> None:
    with pytest.raises(PolicyError, match=re.escape(f"router.{theirs}: is called `{ours}` here")):
        load_policy({"router": {theirs: 1}})
    assert ours in RouterSettings.__struct_fields__


def test_the_designs_table_is_told_ours() -> None:
    with pytest.raises(PolicyError, match=r"TOOL_ROUTING: is called `\[router\]` here"):
        load_policy({"TOOL_ROUTING": {"ENABLED": True}})


HERE = "http://127.0.0.1:8080/v1"


@every(
    ("model", "says"),
    [
        ({}, 'needs `url = "http://127.0.0.1:8080/v1"`'),
        ({"model": "m"}, "needs `url"),
        ({"url": ""}, "url: must be a whole address"),
        ({"url": "127.0.0.1:8080"}, "url: must be a whole address"),
        ({"url": "ftp://a/v1"}, "url: must be a whole address"),
        ({"url": "http://a/v1?key=1"}, "url: ends with its path"),
        ({"url": HERE, "model": " m"}, "model: must be what the server calls its model"),
        ({"url": HERE, "model": "a\nb"}, "model: must be what the server calls its model"),
        ({"url": HERE, "key_env": "9LIVES"}, "key_env: must be the name of an environment variable"),
        ({"url": HERE, "headers": {"a b": "c"}}, "is not an HTTP header"),
        ({"url": HERE, "headers": {"a": "c\r\nd: e"}}, "is not an HTTP header"),
        ({"url": HERE, "schema": "yes"}, "schema: must be true or false"),
        ({"url": HERE, "modle": "m"}, "modle: unknown key; did you mean 'model'?"),
    ],
)
@every("role", ["light", "prime"])
def test_a_wrong_model_is_refused_with_what_would_be_right(role: str, model: Any, says: str) -> None:
    with pytest.raises(PolicyError, match=rf"router\.{role}") as error:
        load_policy({"router": {role: model}})
    assert says in str(error.value)


@every(
    "model",
    [
        {"url": HERE, "key": "hunter2"},
        {"url": HERE, "api_key": "hunter2"},
        {"url": HERE, "Token": "hunter2"},
        {"url": "http://me:hunter2@127.0.0.1/v1"},
        {"url": HERE, "headers": {"Authorization": "Bearer hunter2"}},
        {"url": HERE, "key_env": "hunter2!"},
    ],
)
def test_a_key_in_the_file_is_refused_and_not_repeated(model: Any) -> None:
    with pytest.raises(PolicyError) as error:
        load_policy({"router": {"prime": model}})
    assert "environment variable" in str(error.value)
    assert "hunter2" not in str(error.value)


def test_an_error_names_its_line(tmp_path: Path) -> None:
    file = tmp_path / "rightcall.toml"
    file.write_text('version = 1\n[router]\nmode = "learned"\n[router.prime]\nurl = "x"\n', encoding="utf-8")
    with pytest.raises(PolicyError, match=r"rightcall\.toml:5: router\.prime\.url"):
        load_policy(file)


def test_settings_of_the_router_change_the_digest() -> None:
    one, two = ({"router": {"threshold": threshold}} for threshold in (0.7, 0.8))
    assert load_policy(one).digest != load_policy(two).digest


def test_nothing_in_it_can_be_changed() -> None:
    router = load_policy({"router": {"light": {"url": HERE, "headers": {"a": "b"}}}}).router
    assert router.light
    with pytest.raises(TypeError):
        router.light.headers["a"] = "c"  # pyright: ignore[reportIndexIssue]


def test_every_key_of_a_model_stands_on_the_page() -> None:
    text = re.search(r"^### `\[router\.light\]`.*?(?=^##)", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert text
    assert tuple(re.findall(r"^\| `(\w+)` \|", text[0], re.MULTILINE)) == RouterModel.__struct_fields__
