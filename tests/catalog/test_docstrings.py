"""Docstrings in the three common styles say what a parameter means."""

import pytest

from rightcall.catalog.functions import read_docstring

GOOGLE = """Summary.

    More of it: here.

    Args:
        a (int): The first,
            continued.
        **b: The rest.

    Returns:
        c: not a parameter
"""
NUMPY = """Summary.

    More of it: here.

    Parameters
    ----------
    a : int
        The first,
        continued.
    b, c
        The rest.

    Returns
    -------
    d : int
"""
SPHINX = """Summary.

    More of it: here.

    :param int a: The first,
        continued.
    :param b: The rest.
    :type b: str
    :returns: c
"""


@pytest.mark.parametrize("doc", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_each_style_gives_the_summary_and_the_parameters(doc: str) -> None:
    summary, items = read_docstring(doc)
    assert summary == "Summary.\n\nMore of it: here."
    assert items["a"] == "The first, continued."
    assert items["b"] == "The rest."
    assert "d" not in items


@pytest.mark.parametrize("doc", [None, "", "   \n "])
def test_no_docstring_says_nothing(doc: str | None) -> None:
    assert read_docstring(doc) == ("", {})


def test_plain_prose_is_all_summary() -> None:
    assert read_docstring("Does it.\n\nNote that: it is fast.") == ("Does it.\n\nNote that: it is fast.", {})


def test_prose_after_the_parameters_is_no_parameter() -> None:
    assert read_docstring("Does it.\n\nArgs:\n    a: The first.\n\nSo it is.\nNote: it is fast.")[1] == {
        "a": "The first."
    }
