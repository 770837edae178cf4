"""Names that look alike and mean the contrary."""

import pytest

from rightcall.gate.repair.words import opposed


@pytest.mark.promise("N-06", "N-13")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("max_price", "min_price"), ("old_value", "newValue"), ("from_date", "to_date"), ("source", "destination"),
        ("before", "after"), ("lat", "lng"), ("inputs", "output"), ("is_active", "is_inactive"), ("follow", "unfollow"),
        ("connect", "disconnect"), ("x1", "x2"), ("ipv4", "ipv6"), ("include_tags", "exclude_tags"),
    ],
)  # fmt: skip
def test_contraries_are_known_both_ways(one: str, other: str) -> None:
    assert opposed(one, other)
    assert opposed(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("city", "town"), ("max_price", "maximum_price"), ("from_start", "start_from"), ("start", "begin"),
        ("min_max", "max_min"), ("line1", "line"), ("debug", "bug"), ("unit", "it"), ("", ""), ("price", "min_price"),
    ],
)  # fmt: skip
def test_what_is_no_contrary_is_none(one: str, other: str) -> None:
    assert not opposed(one, other)
    assert not opposed(other, one)
