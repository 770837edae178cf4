"""One pattern and one path: every door that reads patterns says the same of them."""

import re

from hypothesis import given
from hypothesis import strategies as st

from rightcall.base.globs import compile_globs, expression, path_matches, plain_forms, quoted
from rightcall.base.patterns import matches

piece = st.sampled_from(["a", "b", ".c", "*", "?", "[ab]", "[!a]", "{a,b}", "{a,*b}", "\\*"])
component = st.lists(piece, min_size=1, max_size=4).map("".join)
patterns = st.lists(st.one_of(st.just("**"), component), min_size=1, max_size=5).map("/".join)
names = st.lists(st.sampled_from(["a", "b", ".c", "*"]), min_size=1, max_size=4).map("".join)
paths = st.lists(names, min_size=1, max_size=5).map("/".join)


def is_whole(pattern: str, path: str) -> bool:
    """As `code/list` asks."""
    return compile_globs([pattern], anywhere=False)(path)


@given(patterns, paths)
def test_a_policy_means_the_paths_of_a_tool_and_all_below_them(pattern: str, path: str) -> None:
    named = pattern
    while named.endswith("/**"):  # to a policy a folder and all below it are the same
        named = named.removesuffix("/**")
    parts = path.split("/")
    above = ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
    meant = any(is_whole(named, folder) for folder in above)
    assert path_matches(pattern, path) == meant
    assert (re.fullmatch(expression(pattern), path + "/") is not None) == meant
    assert not meant or any(path_matches(form, path) for form in plain_forms(pattern))


@given(patterns, paths)
def test_a_search_means_the_paths_of_a_list_in_any_folder(pattern: str, path: str) -> None:
    found = compile_globs([pattern], anywhere=True)(path)
    assert found == is_whole(pattern if "/" in pattern else f"**/{pattern}", path)


@given(st.text("ab*", min_size=1, max_size=8), names)
def test_a_name_and_a_path_of_one_component_are_matched_alike(pattern: str, name: str) -> None:
    assert matches(pattern, name) == is_whole(pattern, name) == path_matches(pattern, name)


@given(paths, paths)
def test_a_quoted_path_means_itself_at_every_door(path: str, other: str) -> None:
    pattern = quoted(path)
    assert path_matches(pattern, path)
    assert is_whole(pattern, path)
    assert is_whole(pattern, other) == (path == other)
