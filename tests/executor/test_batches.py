"""A tool that runs other tools gets around nothing: what holds for a tool holds for its calls inside a batch."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rightcall import Executor, MemoryStore
from rightcall.policy.types import HOUR, Grant
from rightcall.record.tables import ManualClock
from support.every import sampled

pytestmark = pytest.mark.promise("P-01", "P-02", "P-06")

BATCH = {"list": "calls", "name": ["tool_slug", "tool"], "arguments": ["arguments", "input"]}
ALLOWED = ["run_all", "run_more", "look", "save", "stranger"]
OPEN = {"allow": ALLOWED, "write": "allow", "execute": "allow"}
Run = Callable[..., Any]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Any]:
    """`shop(policy, *calls)` makes a batch of these calls; `shop.ran` are the batches that ran."""
    opened: list[Any] = []

    class Shop:
        ran: list[Any]
        store = MemoryStore(ManualClock(10**12))

        def __call__(self, policy: dict[str, Any], *calls: Any, mode: str = "block", **more: Any) -> Any:
            gate = {"mode": mode, "tools": {"run_all": {"batch": BATCH}, "run_more": {"batch": BATCH}}}
            executor = Executor.open_sync(tmp_path, {"gate": gate, "policy": policy}, store=self.store)
            opened.append(executor)

            @executor.tool(effects=["read"])
            def run_all(calls: list[Any]) -> str:
                self.ran.append(calls)
                return "done"

            @executor.tool(effects=["read"])
            def run_more(calls: list[Any]) -> str:
                raise AssertionError

            @executor.tool(effects=["read"], paths=["path"])
            def look(path: str = "") -> str:
                raise AssertionError

            @executor.tool(effects=["write"], paths=["path"])
            def save(path: str = "") -> str:
                raise AssertionError

            @executor.tool(effects=["read"])
            def secret(key: str = "") -> str:
                raise AssertionError

            return executor.run({"name": "run_all", "arguments": {"calls": list(calls)}}, "teacher", **more)

    made = Shop()
    made.ran = []
    yield made
    for one in opened:
        one.close()


def call(tool: str, arguments: Any = None, key: str = "tool") -> dict[str, Any]:
    return {key: tool, "arguments": {} if arguments is None else arguments}


def nested(inner: Any, depth: int, *, text: bool = False) -> Any:
    for _ in range(depth):
        arguments = {"calls": [inner]}
        inner = call("run_more", json.dumps(arguments) if text else arguments)
    return inner


def test_a_batch_of_allowed_tools_runs(shop: Any) -> None:
    assert shop(OPEN, call("look"), nested(call("look"), 1)).ok
    assert len(shop.ran) == 1


@pytest.mark.parametrize("mode", ["block", "observe"])
@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_forbidden_tool_is_found_however_deep_it_is(shop: Any, depth: int, text: bool, mode: str) -> None:
    outcome = shop(OPEN, call("look"), nested(call("secret"), depth, text=text), mode=mode)
    assert (outcome.ok, outcome.decision.rule, shop.ran) == (False, "allowlist", [])
    assert outcome.error == "Tool 'secret' is not whitelisted for AI use"


@pytest.mark.parametrize("mode", ["block", "observe"])
def test_a_denied_tool_is_found_under_another_spelling(shop: Any, mode: str) -> None:
    for name in ("secret", "Secret", "functions.secret"):
        outcome = shop({**OPEN, "allow": ["*"], "deny": ["secret"]}, nested(call(name), 1), mode=mode)
        assert (outcome.decision.rule, shop.ran) == ("policy:deny", []), name


@pytest.mark.parametrize("mode", ["block", "observe"])
@pytest.mark.parametrize(
    "inner",
    sampled(
        [
            {"tool_slug": "look", "tool": "save", "arguments": {}},
            {"tool_slug": "look", "Tool": "save", "arguments": {}},
            {"tool_slug": "look", "tool": 5, "arguments": {}},
            {"tool_slug": "look", "tool": ["save"], "arguments": {}},
            {"arguments": {}},
            {"tool": "", "arguments": {}},
            {"tool": "look", "arguments": '{"path": "a", "path": "b"}'},
            {"tool": "run_more", "arguments": "calls: save"},
            {"tool": "run_more", "arguments": {"calls": "save"}},
            {"tool": "run_more", "arguments": {"calls": [["save"]]}},
            {"tool": "run_more", "arguments": {"steps": [{"tool": "save"}]}},
            "save",
            None,
            nested({"tool": "look", "arguments": {}}, 20),
        ],
        2,
    ),
    ids=lambda inner: str(inner)[:60],
)
def test_a_call_that_does_not_name_exactly_one_tool_is_allowed_by_nothing(shop: Any, inner: Any, mode: str) -> None:
    outcome = shop({**OPEN, "allow": ["*"]}, inner, mode=mode)
    assert (outcome.ok, shop.ran) == (False, [])
    assert outcome.decision.rule in (("validation", "allowlist") if mode == "block" else ("allowlist",))


def test_arguments_under_every_key_are_looked_at(shop: Any) -> None:
    inner = {"tool": "run_more", "arguments": {"calls": []}, "input": {"calls": [call("secret")]}}
    assert shop(OPEN, inner).decision.rule == "allowlist"


def test_a_batch_has_the_effects_of_all_its_tools(shop: Any) -> None:
    rehearsed = {"allow": ALLOWED}
    assert shop(rehearsed, call("look")).decision.kind == "allow"
    assert shop(rehearsed, call("save")).decision.kind == "dry_run"
    assert shop(rehearsed, nested(call("save"), 2)).decision.kind == "dry_run"
    assert shop(rehearsed, call("stranger")).decision.kind == "dry_run", "nobody knows what it does"
    asking = {"allow": ALLOWED, "write": "ask", "execute": "ask"}
    assert shop(asking, call("save")).decision.rule == "approval:write"
    assert shop(asking, call("stranger")).decision.rule == "approval:write"
    assert len(shop.ran) == 1


def test_a_tool_that_is_allowed_does_not_speak_for_those_in_its_batch(shop: Any) -> None:
    asking = {"allow": ALLOWED, "write": "ask", "execute": "ask", "tools": {"run_all": {"write": "allow"}}}
    assert shop(asking, call("save")).decision.rule == "approval:write"
    both = {**asking, "tools": {name: {"write": "allow"} for name in ("run_all", "save")}}
    assert shop(both, call("save")).ok


@pytest.mark.promise("P-03")
@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", ".env", "keys/id_rsa"])
@pytest.mark.parametrize("depth", [0, 1])
def test_paths_in_a_batch_are_judged(shop: Any, path: str, depth: int) -> None:
    assert shop(OPEN, nested(call("look", {"path": "notes.md"}), depth)).ok
    outcome = shop(OPEN, nested(call("look", {"path": path}), depth))
    assert outcome.decision.rule.startswith("path:")
    assert len(shop.ran) == 1


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"limits": {"tools": {"look": {"minute": 5}}}}, "has a limit of its own"),
        ({"limits": {"tools": {"Look": {"hour": 5}}}}, "has a limit of its own"),
        ({"approval": {"tools": ["look"]}}, "always asks a person"),
        ({"approval": {"tools": ["lo*"]}}, "always asks a person"),
    ],
)
def test_a_tool_that_is_counted_or_asked_about_is_refused_inside_a_batch(shop: Any, more: Any, why: str) -> None:
    for inner in (call("look"), nested(call("look"), 2)):
        outcome = shop({**OPEN, **more}, call("save"), inner)
        assert (outcome.ok, outcome.decision.rule) == (False, "batch")
        assert outcome.error == f"'look' {why}, so it cannot run inside a batch"
        assert outcome.hint.startswith("Call 'look' by itself")
    assert shop.ran == []


def test_a_limit_of_nothing_is_none(shop: Any) -> None:
    assert shop({**OPEN, "limits": {"tools": {"look": {"minute": 0}}}}, call("look")).ok


def test_a_batch_in_a_message_runs_alone(tmp_path: Path) -> None:
    from rightcall.executor.calls import equipped, one_call
    from rightcall.executor.executor import Executor as Asynchronous

    executor = Asynchronous.open(tmp_path, {"gate": {"tools": {"run": {"batch": BATCH}}}}, store="memory")

    @executor.tool(effects=["read"])
    def run(calls: list[Any]) -> None: ...

    toolbox = executor._now()
    found = equipped(one_call({"name": "run", "arguments": {"calls": []}}, toolbox.gate), toolbox)
    assert found is not None
    assert found.side_effects, "nobody knows beforehand what it will run"


@pytest.mark.parametrize("link", ["file", "folder"])
def test_a_grant_is_not_for_what_a_link_leads_to(tmp_path: Path, link: str) -> None:
    root = tmp_path / "root"
    (root / "docs").mkdir(parents=True)
    (root / "prod").mkdir()
    (root / "prod" / "notes.md").write_text("production")
    if link == "file":
        (root / "docs" / "notes.md").symlink_to("../prod/notes.md")
    else:
        (root / "docs").rmdir()
        (root / "docs").symlink_to("prod")
    store = MemoryStore(ManualClock(10**12))
    store.transact(
        lambda t: t.put_grant(Grant("g", "teacher", "save", {"path": "docs/*"}, 9, 10**12 + HOUR, "ada", ""))
    )
    policy = {"policy": {"allow": ["save"], "write": "ask", "execute": "ask"}}
    (tmp_path / "way").symlink_to("root")  # a root that is itself behind a link makes no path suspicious
    with Executor.open_sync(tmp_path / "way", policy, store=store) as executor:

        @executor.tool(effects=["write"], paths=["path"])
        def save(path: str) -> str:
            return path

        linked = executor.run({"name": "save", "arguments": {"path": "docs/notes.md"}}, "teacher")
        assert (linked.status, linked.decision and linked.decision.rule) == ("waiting", "approval:write")
        if link == "file":
            plain = executor.run({"name": "save", "arguments": {"path": "docs/other.md"}}, "teacher")
            assert plain.decision is not None
            assert plain.decision.rule == "approval:grant"
