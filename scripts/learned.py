"""How much `rightcall learn` finds in histories with planted damage: found, false, and right calls changed, by seed.

python scripts/learned.py 1 2 3
python scripts/learned.py --drawn 1 2 3    the second kind of history
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from msgspec import json

from rightcall.catalog.packs import read_pack_text
from rightcall.learn.bench import Bench
from rightcall.learn.emissions import logged
from rightcall.learn.learner import Learned, learn
from rightcall.learn.packfile import pack_text
from rightcall.learn.proposals import Proposal
from rightcall.learn.safety import Safety
from rightcall.policy.settings import DEFAULT_POLICY
from support.damaged_histories import World
from support.drawn_histories import Drawn


def main(words: Sequence[str]) -> int:
    kind = Drawn if "--drawn" in words else World
    for seed in [one for one in words if one.isdigit()] or ["1"]:
        measure(kind(int(seed)), seed)
    return 0


def measure(world: World | Drawn, seed: str) -> None:
    began = process_time()
    lines = [json.encode(line) for line in world.lines()]
    bench = Bench(world.tools, DEFAULT_POLICY)
    learned = learn(lambda: logged(iter(enumerate(lines, 1)), bench, print), bench, Safety(bench))
    missed, false = world.score([json.decode(json.encode(one)) for one in learned.proposed])
    changed = sum(one.measured.changed for one in learned.proposed)
    planted = len(world.planted)
    print(
        f"seed {seed}: {len(lines):,} lines, {planted - len(missed)} of {planted} found, {len(false)} false, "
        f"{changed} right calls changed, {process_time() - began:.1f} s of CPU"
    )
    for one in missed:
        print("   missed", one, *(f"({other.refused})" for other in _of(learned, one)))
    for one in false:
        print("   false ", one["kind"], one["tool"], one["place"], one["given"], one["meant"], one["seen"])
    read_pack_text(pack_text(learned.rules, "learned"))


def _of(learned: Learned, planted: tuple[object, ...]) -> list[Proposal]:
    wanted = planted[:4]
    return [one for one in learned.found if (one.kind, one.tool, one.place, one.given) == wanted]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
