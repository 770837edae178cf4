"""The same hostile repositories seen as a model sees them: through the tools, to the last character of the answer."""

from pathlib import Path
from typing import Any

import pytest

from rightcall import Executor
from support.hostile_repositories import SPRUNG_BY_PLAIN_GIT, TRAPS
from support.traps import SECRET, Trap
from tools.git.test_hostile import HONEST, looks_of, of_every_day

pytestmark = pytest.mark.promise("C-08", "C-04", "C-05", "C-06", "C-07")

CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("code/log", {"includeDiff": True}),
    ("code/log", {"path": "a.py", "limit": 5, "author": "Ada", "grep": "t", "since": "2020-01-01"}),
    ("code/show", {"commit": "HEAD"}),
    ("code/show", {"commit": "evil"}),
    ("code/show", {"commit": "HEAD:a.py"}),
    ("code/diff", {"base": "HEAD"}),
    ("code/diff", {"base": "HEAD~2", "compare": "HEAD"}),
    ("code/diff", {"base": "HEAD~2...HEAD", "ignoreWhitespace": True}),
    ("code/blame", {"path": "a.py"}),
    ("code/blame", {"path": "folder/secret.txt"}),
    ("code/search", {"pattern": "SECRET|5ec7"}),
    ("code/list", {"pattern": "**/*"}),
)


def answers(it: Trap) -> list[str]:
    """What the model is told, and what a program is given."""
    said: list[str] = []
    with Executor.open_sync(
        root=it.root, policy={"version": 1, "audit": {"path": str(it.folder / "audit.db")}}
    ) as executor:
        for name, arguments in (*CALLS, ("code/show", {"commit": it.victim_commit[:12]})):
            outcome = executor.run({"name": name, "arguments": arguments}, caller="tester")
            said += [outcome.content, repr(outcome.result), str(outcome.error), str(outcome.hint)]
    return said


@pytest.mark.parametrize("name", of_every_day(SPRUNG_BY_PLAIN_GIT))
def test_a_model_learns_nothing_from_a_hostile_repository(name: str, tmp_path: Path) -> None:
    it = Trap(tmp_path)
    TRAPS[name](it)
    it.mark.unlink(missing_ok=True)
    before = looks_of(it.root) | looks_of(it.victim.folder)
    said = answers(it)
    assert not it.mark.exists(), it.mark.read_text()
    assert looks_of(it.root) | looks_of(it.victim.folder) == before
    assert name not in HONEST or sum("changed" in text for text in said) > 2
    for text in said:
        assert SECRET not in text
        assert "5ec7e7" not in text
        assert "\x1b" not in text
        assert it.victim_commit[12:] not in text
