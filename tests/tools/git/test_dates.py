"""Points in time: a closed set of ways to write them, the same answers as git where git is exact."""

import calendar
import time

import pytest

from rightcall.errors import ToolFailure
from rightcall.tools.git.refs import seconds_of
from support.every import every

pytestmark = pytest.mark.promise("C-05")

NOW = 1_710_510_330.5
"""Friday, 15 March 2024, 13:45:30 UTC."""


def utc(text: str) -> int:
    return calendar.timegm(time.strptime(text, "%Y-%m-%d %H:%M:%S"))


@every(
    ("written", "means"),
    [
        ("@1700000000", "2023-11-14 22:13:20"),
        ("@0", "1970-01-01 00:00:00"),
        ("1700000000", "2023-11-14 22:13:20"),
        ("2024-02-29", "2024-02-29 00:00:00"),
        ("2024/02/29", "2024-02-29 00:00:00"),
        ("2024.02.29", "2024-02-29 00:00:00"),
        ("2024-2-9", "2024-02-09 00:00:00"),
        ("2024-02-29 10:20", "2024-02-29 10:20:00"),
        ("2024-02-29T10:20:30", "2024-02-29 10:20:30"),
        ("2024-02-29T10:20:30Z", "2024-02-29 10:20:30"),
        ("2024-02-29t10:20:30z", "2024-02-29 10:20:30"),
        ("2024-02-29T10:20:30.123456Z", "2024-02-29 10:20:30"),
        ("2024-02-29T10:20:30+02:00", "2024-02-29 08:20:30"),
        ("2024-02-29 10:20:30 +0200", "2024-02-29 08:20:30"),
        ("2024-02-29 10:20:30 -0530", "2024-02-29 15:50:30"),
        ("2024-02-29T10:20-05", "2024-02-29 15:20:00"),
        ("  2024-02-29  ", "2024-02-29 00:00:00"),
        ("now", "2024-03-15 13:45:30"),
        ("today", "2024-03-15 00:00:00"),
        ("midnight", "2024-03-15 00:00:00"),
        ("noon", "2024-03-15 12:00:00"),
        ("tea", "2024-03-14 17:00:00"),
        ("yesterday", "2024-03-14 13:45:30"),
        ("yesterday noon", "2024-03-14 12:00:00"),
        ("Yesterday", "2024-03-14 13:45:30"),
        ("1 second ago", "2024-03-15 13:45:29"),
        ("5 minutes ago", "2024-03-15 13:40:30"),
        ("1 hour ago", "2024-03-15 12:45:30"),
        ("3 days ago", "2024-03-12 13:45:30"),
        ("3.days.ago", "2024-03-12 13:45:30"),
        ("3_days_ago", "2024-03-12 13:45:30"),
        ("3 days", "2024-03-12 13:45:30"),
        ("1 week ago", "2024-03-08 13:45:30"),
        ("a week ago", "2024-03-08 13:45:30"),
        ("an hour ago", "2024-03-15 12:45:30"),
        ("two weeks ago", "2024-03-01 13:45:30"),
        ("2 days 3 hours ago", "2024-03-13 10:45:30"),
        ("2 days, 3 hours and 5 minutes ago", "2024-03-13 10:40:30"),
        ("last week", "2024-03-08 13:45:30"),
        ("last month", "2024-02-15 13:45:30"),
        ("1 month ago", "2024-02-15 13:45:30"),
        ("6 months ago", "2023-09-15 13:45:30"),
        ("last year", "2023-03-15 13:45:30"),
        ("1 year 2 months ago", "2023-01-15 13:45:30"),
        ("10 years ago", "2014-03-15 13:45:30"),
        ("monday", "2024-03-11 13:45:30"),
        ("last monday", "2024-03-11 13:45:30"),
        ("friday", "2024-03-08 13:45:30"),
    ],
)  # fmt: skip
def test_what_people_and_git_write(written: str, means: str) -> None:
    assert seconds_of(written, NOW, argument="since") == utc(means)


def test_a_month_before_the_last_of_a_month_is_the_last_of_the_one_before() -> None:
    assert seconds_of("1 month ago", utc("2024-03-31 10:00:00"), argument="since") == utc("2024-02-29 10:00:00")
    assert seconds_of("1 year ago", utc("2024-02-29 10:00:00"), argument="since") == utc("2023-02-28 10:00:00")


@every(
    "written",
    [
        "", " ", ".", "..", "_", ".ago", "_ago",
        "x", "never", "soon", "tomorrow", "2024", "2024-13-01", "2024-02-30", "2024-00-10", "0000-01-01",
        "24-02-01",
        "2024-02-29T25:00", "2024-02-29 10:61", "2024-02-29T10", "2024-02-29 10:20 +99:00", "2024-02-29 10:20 CET",
        "10:20",
        "--all", "-1", "@", "@x", "@-5", "@1.5", "@" + "9" * 12, "12345", "1 fortnite ago", "ago", "days ago",
        "3 ago", "ago 3 days",
        "3 days hence", "99999999 days ago", "999999 years ago", "3 days ago; rm -rf /", "$(date)", "2024-02-29\0",
        "3 days\nago\x1b",
        "yesterday yesterday", "yesterday x", "last", "last last week", "x" * 5_000, "1 " * 5_000, "٣ days ago",
        "²days", "1e9", "NaN",
        "two", "a", "last noon", "1 day 2", "@１２３", "２０２４-01-01",
    ],
)  # fmt: skip
def test_anything_else_is_refused_with_examples(written: str) -> None:
    with pytest.raises(ToolFailure) as refused:
        seconds_of(written, NOW, argument="until")
    said = str(refused.value)
    assert said.startswith("until: ")
    assert said.endswith("Use 2024-05-01, 2024-05-01T13:45:00Z, @1700000000, yesterday or 2 weeks ago")
    assert said.isprintable()
    assert len(said) < 300
