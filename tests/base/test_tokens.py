"""Tokens are estimated by the design's rule: four characters each, rounded up."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.base.text import estimate


@pytest.mark.promise("X-02")
@given(st.text())
def test_four_characters_are_a_token(text: str) -> None:
    assert estimate(text) == math.ceil(len(text) / 4)
