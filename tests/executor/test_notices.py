"""`[approvals] notify`: somebody hears that a call waits, and hears nothing that they need not know."""

import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import json
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rightcall import Executor, load_policy, tool
from rightcall.errors import PolicyError
from rightcall.executor.door import Door
from rightcall.executor.notices import finish
from rightcall.hosts.adapter import door_for
from rightcall.policy.tightening import requests_of, tighten
from rightcall.server.app import running
from support.every import every

pytestmark = pytest.mark.promise("P-06")

SECRET = "do-not-tell-4711"


@tool(effects=["write"])
def save(text: str) -> str:
    return text


def policy_with(notify: Any) -> dict[str, Any]:
    return {"policy": {"write": "ask"}, "approvals": {"notify": notify}}


def writing_to(file: Path, before: str = "") -> list[str]:
    """A command that keeps what it is told, one line for each notice."""
    return [sys.executable, "-c", f"import sys;{before}open({str(file)!r},'ab').write(sys.stdin.buffer.read()+b'\\n')"]


def ask(notify: Any, *texts: str) -> list[str | None]:
    with Executor.open_sync(policy=policy_with(notify), tools=[save], store="memory") as ex:
        found = [ex.run({"name": "save", "arguments": {"text": text}}, caller="ada") for text in texts]
    finish()
    assert [one.status for one in found] == ["waiting"] * len(texts)
    return [None if one.decision is None else one.decision.approval for one in found]


def test_a_command_hears_id_tool_and_caller_of_each_new_question_once(tmp_path: Path) -> None:
    (first, again) = ask(writing_to(tmp_path / "told"), SECRET, SECRET)
    assert first == again
    told = (tmp_path / "told").read_bytes()
    assert json.decode(told) == {"id": first, "tool": "save", "caller": "ada"}
    assert SECRET.encode() not in told


def test_an_address_gets_the_same_as_a_post() -> None:
    bodies: list[bytes] = []

    async def take(request: Request) -> Response:
        bodies.append(await request.body())
        return Response(status_code=204)

    with running(Starlette(routes=[Route("/hook", take, methods=["POST"])])) as (host, port):
        (asked,) = ask(f"http://{host}:{port}/hook", SECRET)
    assert [json.decode(one) for one in bodies] == [{"id": asked, "tool": "save", "caller": "ada"}]


def test_a_call_at_a_door_is_told_too(tmp_path: Path) -> None:
    with Door.open(
        "wrap", load_policy(policy_with(writing_to(tmp_path / "told"))), tools=[save], store="memory"
    ) as door:
        passage = door.judge("save", {"text": SECRET})
    finish()
    assert json.decode((tmp_path / "told").read_bytes())["id"] == passage.approval


@pytest.mark.parametrize(
    ("notify", "told"),
    [
        (["/no/such/program"], "No such file"),
        ([sys.executable, "-c", "raise SystemExit(3)"], "status 3"),
        ("http://127.0.0.1:9/hook", "127.0.0.1"),
    ],
)
def test_a_notice_that_fails_is_logged_and_the_call_waits_as_before(
    notify: Any, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    ask(notify, "x")
    assert "approvals.notify failed" in caplog.text
    assert told in caplog.text


def test_a_command_that_does_not_exist_is_told_before_a_call_waits(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told = "approvals.notify: program 'no-such-program' not found: nobody is told when a call waits"
    policy = policy_with(["no-such-program", "x"])
    with Executor.open_sync(policy=policy, tools=[save], store="memory"):
        assert told in caplog.text
    caplog.clear()
    with door_for("my-agent", load_policy(policy), store="memory"):
        assert told in caplog.text
    caplog.clear()
    with Executor.open_sync(policy=policy_with([sys.executable, "x"]), tools=[save], store="memory"):
        assert not caplog.text


def test_a_command_is_no_shell(tmp_path: Path) -> None:
    file = tmp_path / "made"
    ask([sys.executable, "-c", "pass", f"; touch {file}", f"$(touch {file})"], "x")
    assert not file.exists()


@pytest.mark.promise("P-13")
def test_a_policy_that_was_found_cannot_name_whom_to_tell() -> None:
    said = b'[approvals]\nnotify = ["sh", "-c", "evil"]\n'
    assert tighten(load_policy(policy_with(["sh"]))).settings.approvals.notify == ()
    (asked,) = requests_of("rightcall.toml", said)
    assert (asked.key, asked.line) == ("approvals.notify", 2)
    assert asked.meaning == "runs a command, or posts to an address, when a call waits"


@every("notify", [
        "notify-send", "ftp://example.org", [""], ["a\0b"], 5, "https://example.org/x?key=1", "https://example.org/?",
        "https://example.org/#x", "https://ann:pw@example.org", "https://ann@example.org", "https://example.org/\u00e9",
        "https://example.org:99999", "https://example.org\n", "https:///x",
    ],
)  # fmt: skip
def test_what_is_neither_an_address_nor_a_command_is_refused(notify: Any) -> None:
    with pytest.raises(PolicyError, match="notify"):
        load_policy(policy_with(notify))
