"""The Claude Agent SDK with our hooks: its example, run against a scripted API."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hooks.hooking import SOURCE
from support.claude_code import TOKENS, Conversation
from support.scripted.server import Answer, NativeCall, ScriptedUpstream

MISSING = (
    "⚠️ Invalid mcp__desk__book_table call. Missing required fields: guests. "
    'Example: {"restaurant": "Da Enzo", "guests": 1}'
)
EXAMPLE = Path(__file__).parents[2] / "examples" / "claude_sdk_agent.py"


@pytest.mark.promise("H-07", "H-05")
def test_the_example_puts_right_refuses_and_asks(tmp_path: Path) -> None:
    calls = [
        ("mcp__desk__find_restaurant", {"City": "Rome"}),
        ("mcp__desk__wire_money", {"amount": 100}),
        ("mcp__desk__book_table", {"restaurant": "Da Enzo"}),
        ("mcp__desk__book_table", {"restaurant": "Da Enzo", "guests": "4"}),
        ("Bash", {"command": "touch made"}),
    ]
    answers = [Answer([NativeCall(*call)], id=f"t{at}", usage=TOKENS) for at, call in enumerate(calls)]
    conversation = Conversation(answers)
    with ScriptedUpstream(conversation) as upstream:
        done = subprocess.run(
            [sys.executable, str(EXAMPLE), "A table, please."],
            env={
                "HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path), "PATH": os.environ["PATH"],
                "PYTHONPATH": SOURCE, "ANTHROPIC_BASE_URL": upstream.address,
                "ANTHROPIC_API_KEY": "a-key-for-loopback", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_ERROR_REPORTING": "1",
            },
            cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    said = re.sub(r"PreToolUse:\w+ hook error: ", "", done.stdout)  # as the host introduces every denial
    assert said.splitlines() == [
        "result:  Da Enzo, in Rome.",
        "refused:  Error: Tool 'desk/wire_money' is not whitelisted for AI use",
        f"refused:  {MISSING}",
        "a person is asked:  book_table {'restaurant': 'Da Enzo', 'guests': 4}, and says yes",
        "result:  Booked Da Enzo for 4.",
        "refused:  Error: Tool 'Bash' is not whitelisted for AI use",
        "answer:  done",
    ]
    assert not (tmp_path / "made").exists()
