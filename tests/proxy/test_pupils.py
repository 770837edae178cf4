"""What is remembered of models, and how much of it."""

import pytest

from rightcall.proxy import teaching
from rightcall.proxy.teaching import Pupils

pytestmark = pytest.mark.promise("H-03")


def test_a_model_that_called_a_tool_by_itself_is_never_taught() -> None:
    known = Pupils()
    known.called("m")
    known.add("m", "whatever")
    assert "m" not in known


def test_a_trial_that_did_not_help_is_not_made_again() -> None:
    known = Pupils()
    known.suspect("m")
    known.tried("m", helped=False)
    assert (known.is_suspect("m"), "m" in known) == (False, False)
    known.suspect("n")
    known.tried("n", helped=True)
    assert (known.is_suspect("n"), "n" in known) == (False, True)


def test_clients_cannot_make_it_remember_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teaching, "MOST", 3)
    known = Pupils()
    names = [str(nth) for nth in range(9)] + ["x" * 1_000]
    for name in names:
        known.add(name, "why")
        known.suspect(name)
        known.is_new(name, "tools")
        known.closed_alone(name)
    assert sum(known.opens_reasoning(name) for name in names) == 3
    assert sum(name in known for name in names) == sum(known.is_suspect(name) for name in names) == 3
    assert not known.is_new("x" * 1_000, "tools")
