"""Every planted edit of a policy is found in the history, and what is said of each call is what really happens."""

from pathlib import Path
from typing import Any

import pytest

from rightcall import MemoryStore, load_policy
from rightcall.learn.differences import Again, Change, Same, Unknown
from rightcall.learn.history import Definitions, stream_entries
from rightcall.learn.replay import Replay
from rightcall.learn.rulings import Rulings, ruling_of
from rightcall.learn.sites import Sites
from rightcall.learn.tally import Tally
from support.every import sampled
from support.policy_edits import BASE, EDITS, Decided, Edit, Step, edited, make_history, script
from support.policy_edits_further import FURTHER


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("root")


@pytest.fixture(scope="module")
def history(root: Path) -> tuple[MemoryStore, list[tuple[int, Decided]]]:
    return make_history(BASE, root, script())


def replayed(store: MemoryStore, root: Path, policy: dict[str, Any]) -> list[Again]:
    sites = Sites(Definitions.of(store), store, str(root))
    replay = Replay(ruling_of(load_policy(policy)), Rulings(), sites)
    return list(replay.over(stream_entries(store)))


@pytest.mark.parametrize("edits", [EDITS, FURTHER], ids=["edits", "further"])
def test_there_are_sixty_edits(edits: dict[str, tuple[Edit, str]]) -> None:
    assert len([one for one, kind in edits.values() if kind != "unchanged"]) >= 60


@pytest.mark.promise("L-01")
@pytest.mark.parametrize("name", sampled([*EDITS, *FURTHER], 17))
def test_a_planted_edit_is_found_as_it_really_decides(
    name: str, history: tuple[MemoryStore, list[tuple[int, Decided]]], root: Path
) -> None:
    edit, expected = (EDITS | FURTHER)[name]
    policy = edited(edit)
    store, recorded = history
    told = replayed(store, root, policy)
    found = {one.seq: one for one in told if not isinstance(one, Change) or one.tokens is None}
    costs = [one for one in told if isinstance(one, Change) and one.tokens is not None]
    _, real = make_history(policy, root, script())
    wrong: list[Any] = []
    kinds: set[str] = set()
    for (seq, before), (_, after) in zip(recorded, real, strict=True):
        again = found[seq]
        if isinstance(again, Unknown):
            continue
        said = before if isinstance(again, Same) else Decided(again.after.decision, again.after.rule)
        kinds |= set(again.kinds) if isinstance(again, Change) else set()
        if said != after:
            wrong.append((seq, before, after, said, again))
    assert wrong == []
    unknown = [one for one in found.values() if isinstance(one, Unknown)]
    assert len(unknown) <= len(found) * 0.05, unknown[:3]
    kinds |= {"cost"} if costs else set()
    assert not kinds if expected == "unchanged" else kinds if expected == "changed" else expected in kinds


LIMITED: dict[str, Any] = {
    "policy": {
        "allow": ["look", "count"],
        "limits": {"all": {"minute": 0, "hour": 0}, "caller": {"minute": 2, "hour": 0, "burst": 0}},
    }
}


@pytest.mark.promise("L-01")
def test_what_only_follows_from_other_changes_is_indirect(root: Path) -> None:
    steps = [Step(1, "here", "ann", "count", {"n": 1}), Step(1, "here", "ann", "count", {"n": 2}),
             Step(1, "here", "ann", "look", {"n": 3})]  # fmt: skip
    store, recorded = make_history(LIMITED, root, steps)
    assert [said.decision for _, said in recorded] == ["allow", "allow", "deny"]
    stricter = {"policy": LIMITED["policy"] | {"deny": ["count"]}}
    tally = Tally()
    for one in replayed(store, root, stricter):
        tally.add(one)
    assert (tally.kinds["refused"], tally.kinds["loosened"], tally.indirect) == (2, 0, 1)
    assert tally.found(["loosened", "allowed"]) == []
    assert tally.found(["refused", "indirect", "changed"]) == ["refused", "indirect", "changed"]
    looser = {"policy": LIMITED["policy"] | {"limits": LIMITED["policy"]["limits"] | {"caller": {"minute": 9}}}}
    [direct] = [one for one in replayed(store, root, looser) if isinstance(one, Change) and one.tokens is None]
    assert (direct.kinds, direct.is_indirect) == (("loosened", "allowed"), False)
