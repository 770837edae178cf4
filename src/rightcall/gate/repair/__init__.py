"""From a candidate to a call that fits its tool, only where one reading exists.

    arguments ─▶ names ─▶ values ─▶ numbers, choices ─▶ defaults
                 words              log (every change, in order)

`arguments` is the whole of it; `names` says which argument is meant, with `words` for what names are made of; `values`
fits each value to its schema. Here are the strategies that every repair belongs to.
"""

from collections.abc import Iterable
from typing import NamedTuple

from rightcall.types import Repair, StrategyName

__all__ = ["NAMES", "STRATEGIES", "Strategy", "used"]

# The repair strategies: named, in the order in which they are preferred, each of which can be switched off.
#
# Every rule of the reader (`base.json.marks`) and of this stage belongs to a strategy. A call is counted under the last
# strategy of this list that it needed; `direct` needed none, `failed` could not be helped by any.


class Strategy(NamedTuple):
    name: StrategyName
    what: str


STRATEGIES: tuple[Strategy, ...] = (
    Strategy("direct", "the call fits as it is"),
    Strategy("python_ast", "Python literals: single quotes, True, None, tuples, a call's arguments"),
    Strategy("regex_quotes", "quotes of another kind: typographic quotes, backticks, escaped quotes"),
    Strategy("structure", "the schema-led reader and the schema's names, values and types"),
    Strategy("manual_repair", "what packs, the policy or a registered repair say of this one tool"),
    Strategy("failed", "no strategy gave a certain result"),
)
NAMES: tuple[StrategyName, ...] = tuple(strategy.name for strategy in STRATEGIES)


def used(repairs: Iterable[Repair]) -> StrategyName:
    """The strategy a call is counted under."""
    return NAMES[max((NAMES.index(repair.strategy) for repair in repairs), default=0)]
