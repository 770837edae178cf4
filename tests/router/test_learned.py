"""How what was learned is applied, and that it is there."""

import math
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightcall.router.ranking import (
    NUMBERS,
    Linear,
    Tree,
    Wordy,
    alone,
    chance,
    forest,
    load_weights,
    shares,
)
from rightcall.router.vectors import SIZE, embed_request
from support.every import every

#        x0 <= 1 ? (x1 <= -2 ? 10 : 20) : 30
DEEP = Tree([(0, 1.0, 1, -3), (1, -2.0, -1, -2)], [10.0, 20.0, 30.0])
LEAF = Tree([(0, 0.0, -1, -1)], [0.5])


@every(
    ("numbers", "value"),
    [([1.0, -2.0], 10.0), ([1.0, -1.9], 20.0), ([1.1, -9.0], 30.0), ([-math.inf, math.inf], 20.0)],
)
def test_a_tree_leads_to_its_leaf(numbers: list[float], value: float) -> None:
    assert forest([DEEP], numbers) == value
    assert forest([DEEP, LEAF, DEEP], numbers) == 2 * value + 0.5


@settings(max_examples=30)
@given(st.lists(st.floats(-5, 5), min_size=2, max_size=2))
def test_a_forest_is_the_sum_of_what_plain_conditions_say(numbers: list[float]) -> None:
    first, second = numbers
    said = (10.0 if second <= -2.0 else 20.0) if first <= 1.0 else 30.0
    assert forest([DEEP, LEAF], numbers) == said + 0.5


def test_a_linear_score_is_a_weighted_sum() -> None:
    assert Linear([2.0, -1.0], 0.5).score([3.0, 4.0]) == 2.5


def test_words_count_once_and_long_texts_no_more_than_short_ones() -> None:
    wordy = Wordy({"a": 2.0, "b": 4.0}, 1.0)
    assert wordy.score(["a"]) == wordy.score(["a", "a"]) == 3.0
    assert wordy.score(["a", "b", "c", "d"]) == 1.0 + 6.0 / 2.0
    assert wordy.score([]) == 1.0


@settings(max_examples=30)
@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=6))
def test_shares_add_up_to_one_in_the_order_of_the_scores(scores: list[float]) -> None:
    divided = shares(scores)
    assert sum(divided) == pytest.approx(1.0)
    best = max(range(len(scores)), key=scores.__getitem__)
    assert divided[best] == max(divided)


@settings(max_examples=30)
@given(st.floats(allow_nan=False))
def test_odds_become_a_probability(odds: float) -> None:
    assert 0.0 <= chance(odds) <= 1.0
    assert chance(-odds) == pytest.approx(1.0 - chance(odds))


@pytest.mark.promise("T-02", "T-03")
def test_the_weights_fit_the_numbers_they_are_for() -> None:
    weights = load_weights()
    width = len(NUMBERS)
    assert len(weights.few.weights) == len(weights.shown.weights) == 2 * width
    assert [len(voice.meaning.weights) for voice in weights.need.voices] == [SIZE, SIZE]
    assert len(weights.many.weights) == 2 * (width + 1)
    assert weights.made_from
    seen = {number for tree in weights.need.trees for number, *_ in tree.nodes}
    assert max(seen) == 2 * width + 16  # the meaning of the request to the second ear, which comes last
    for tree in weights.need.trees:
        nodes, leaves = len(tree.nodes), len(tree.leaves)
        for at, (_, _, low, high) in enumerate(tree.nodes):
            assert all(at < one < nodes or -leaves <= one < 0 for one in (low, high))  # no way round in a circle
    assert all(math.isfinite(weight) for voice in weights.need.voices for weight in voice.words.weights.values())
    assert all(map(math.isfinite, alone().words.weights.values()))
    assert len(alone().meaning.weights) == SIZE


def test_all_weights_together_stay_below_fifteen_megabytes() -> None:
    sizes = {file.name: len(file.read_bytes()) for file in files("rightcall.router").joinpath("weights").iterdir()}
    assert sizes.keys() == {"examples.json", "learned.json", "own.json", "text.json", "vectors.bin", "words.json"}
    assert sum(sizes.values()) < 15_000_000


def test_the_meaning_of_a_request_is_learned_for_the_vectors_that_ship() -> None:
    """Learned with another table and not turned to this one, it takes some talk for a wish."""
    wishes = (
        "move my meeting with Ana to three o'clock", "show me the invoices that are not paid yet",
        "restart the web server", "which of my parcels arrive tomorrow", "turn off the lights in the kitchen",
        "add milk to the shopping list",
    )  # fmt: skip
    talk = (
        "thanks, that was all", "write me a poem about autumn", "why is the sky blue", "tell me a joke",
        "good morning, how are you", "who wrote Hamlet",
    )  # fmt: skip
    meaning = load_weights().need.voices[0].meaning
    least = min(meaning.score(embed_request(text)) for text in wishes)
    assert least > max(meaning.score(embed_request(text)) for text in talk)
