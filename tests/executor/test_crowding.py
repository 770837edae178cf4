"""The script behind `make crowd` notices a limit that did not hold."""

from collections import Counter

import pytest

from support.crowding import kept, shares

pytestmark = pytest.mark.promise("P-02", "P-12")


def test_every_attempt_is_somebodys() -> None:
    assert [sum(shares(401, workers)) for workers in (1, 4, 8)] == [401, 401, 401]


@pytest.mark.parametrize(
    ("counts", "held"),
    [
        ({"success": 100, "refused": 300}, True),
        ({"success": 101, "refused": 299}, False),
        ({"success": 99, "refused": 301}, False),
        ({"success": 100, "refused": 299}, False),
        ({"success": 100, "refused": 299, "failed": 1}, False),
        ({"refused": 400}, False),
        ({}, False),
    ],
)
def test_only_exactly_the_limit_and_an_answer_to_every_attempt_is_right(counts: dict[str, int], held: bool) -> None:
    assert kept(Counter(counts), 400, 100) is held
