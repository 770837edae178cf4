"""`rightcall hook`: what it says of a server that it cannot ask."""

import sys

import pytest

from support.cli import Runner


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("rightcall-no-such-command",), "server x: `rightcall-no-such-command` cannot be started: "),
        ((sys.executable, "-c", ""), "server x: it ended with exit code 0"),
    ],
)
def test_why_a_server_could_not_be_learnt_is_one_sentence(run: Runner, command: tuple[str, ...], said: str) -> None:
    done = run("hook", "learn", "--name", "x", "--", *command)
    assert done.code == 2
    assert done.err.startswith(f"error: {said}")
