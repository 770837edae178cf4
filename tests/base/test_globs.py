"""Globs that a model writes."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.base.globs import compile_globs, expression, matches, path_matches, plain_forms, quoted
from rightcall.errors import ToolFailure
from support.every import every
from support.pace import process_time

PATHS = (
    "a.py", "b.js", "src/a.py", "src/b.ts", "src/deep/c.py", "src/deep/er/d.tsx", "docs/readme.md", "docs", "src",
    "A.PY", "x[1].py", "we{i}rd.py", "back\\slash.py", "new\nline.py", "größe.py", "-n.py", "star*.py", ".gitignore",
)  # fmt: skip


def matched(pattern: str, *, anywhere: bool = False) -> set[str]:
    match = compile_globs([pattern], anywhere=anywhere)
    return {path for path in PATHS if match(path)}


@pytest.mark.promise("C-03")
@every(
    ("pattern", "expected"),
    [
        ("src/*.py", {"src/a.py"}),
        ("./src/*.py", {"src/a.py"}),
        ("src//./*.py", {"src/a.py"}),
        ("src/**/*.py", {"src/a.py", "src/deep/c.py"}),
        ("src/**", {"src/a.py", "src/b.ts", "src/deep/c.py", "src/deep/er/d.tsx"}),
        ("src/", {"src/a.py", "src/b.ts", "src/deep/c.py", "src/deep/er/d.tsx"}),
        ("**", set(PATHS)),
        ("**/*", set(PATHS)),
        ("**/**/*.md", {"docs/readme.md"}),
        ("*/*/*.py", {"src/deep/c.py"}),
        ("**/deep/**/*.ts*", {"src/deep/er/d.tsx"}),
        ("docs", {"docs"}),
        ("?.py", {"a.py"}),
        ("[ab].*", {"a.py", "b.js"}),
        ("[!ab].*", {"A.PY"}),
        ("[^a-z].PY", {"A.PY"}),
        ("src[+-9]a.py", set()),
        ("src?a.py", set()),
        ("[]x][[]1].py", {"x[1].py"}),
        ("x\\[1\\].py", {"x[1].py"}),
        ("x[[]1[]].py", {"x[1].py"}),
        ("[\\]x]*1*", {"x[1].py"}),
        ("{a,b}.{py,js}", {"a.py", "b.js"}),
        ("{src/{a,deep/c},a}.py", {"a.py", "src/a.py", "src/deep/c.py"}),
        ("{src,src/deep}/**/d.tsx", {"src/deep/er/d.tsx"}),
        ("{,src/}a.py", {"a.py", "src/a.py"}),
        ("we\\{i\\}rd.py", {"we{i}rd.py"}),
        ("back\\\\slash.py", {"back\\slash.py"}),
        ("new*line.py", {"new\nline.py"}),
        ("gr??e.py", {"größe.py"}),
        ("gr[ö-ü]ße.py", {"größe.py"}),
        ("-n.py", {"-n.py"}),
        ("star\\*.py", {"star*.py"}),
        ("a,b", set()),
        (".*", {".gitignore"}),
    ],
)
def test_a_glob_matches_whole_paths(pattern: str, expected: set[str]) -> None:
    assert matched(pattern) == expected


@every(
    ("pattern", "expected"),
    [
        ("*.md", {"docs/readme.md"}),
        ("/*.py", matched("*.py")),
        ("c.py", {"src/deep/c.py"}),
        ("deep/", {"src/deep/c.py", "src/deep/er/d.tsx"}),
        ("deep/*.py", set()),
        ("{c.py,docs/*}", {"src/deep/c.py", "docs/readme.md"}),
    ],
)
def test_a_glob_without_a_slash_can_match_anywhere(pattern: str, expected: set[str]) -> None:
    assert matched(pattern, anywhere=True) == expected


def test_several_globs_match_what_one_of_them_does() -> None:
    match = compile_globs(["*.js", "src/*.py"], anywhere=True)
    assert [path for path in PATHS if match(path)] == ["b.js", "src/a.py"]
    assert not compile_globs([], anywhere=True)("a")


@pytest.mark.promise("C-03")
@every(
    ("pattern", "wrong"),
    [
        ("", "it is empty; ** matches everything"),
        (".", "it is empty; ** matches everything"),
        ("/etc/*", "it must be relative, such as src/**/*.py"),
        ("../x", 'it must not hold ".."'),
        ("a/{.,x}./b", 'it must not hold ".."'),
        ("a[b", "a [ is not closed; for the character itself write \\["),
        ("a[]", "a [ is not closed; for the character itself write \\["),
        ("[z-a]", "the range z-a runs backwards"),
        ("[z-\x07]", "the range z-\\u0007 runs backwards"),
        ("[/]", "a class of nothing but / matches no name"),
        ("{a,b", "a { is not closed; for the character itself write \\{"),
        ("a}b", "a } closes nothing; for the character itself write \\}"),
        ("a\\", "a backslash at the end; for the character itself write \\\\"),
        ("{" * 9 + "a" + "}" * 9, "braces stand at most 8 deep in each other"),
        ("{a,b}" * 9, "its braces stand for more than 256 patterns"),
        ("{" + "a," * 300 + "b}", "its braces stand for more than 256 patterns"),
        ("{" + "a," * 200 + "b}" + "c" * 500, "it is too much at once; use fewer or shorter alternatives"),
        ("a" * 1001, "at most 1000 characters, these are 1001"),
    ],
)
def test_a_bad_glob_is_told_what_is_wrong(pattern: str, wrong: str) -> None:
    with pytest.raises(ToolFailure) as failure:
        compile_globs([pattern], anywhere=False, argument="filePattern")
    assert str(failure.value).startswith('filePattern "')
    assert str(failure.value).endswith(f'": {wrong}')
    assert len(str(failure.value)) < 400


def test_too_many_globs_are_refused() -> None:
    with pytest.raises(ToolFailure, match="excludePatterns: at most 100 patterns, these are 101"):
        compile_globs(["a"] * 101, anywhere=True, argument="excludePatterns")


@pytest.mark.promise("C-03")
@every("pattern", ["*a" * 499 + "b", "**/a*/" * 160 + "b", "[!b]*" * 199 + "b", "{a,*}" * 8 + "*?" * 20 + "b"])
def test_an_explosive_glob_takes_no_time_and_is_still_right(pattern: str) -> None:
    start = process_time()
    match = compile_globs([pattern], anywhere=False)
    for path in ("a" * 255, "a/" * 2000 + "c", "ab" * 2000 + "c"):
        assert not match(path)
    assert match(
        pattern.replace("**", "a").replace("*", "a").replace("[!b]", "a").replace("{a,a}", "a").replace("?", "a")
    )
    assert process_time() - start < 1


def test_names_that_are_no_text_match_stars_and_question_marks() -> None:
    for pattern in ("caf?.py", "*f*.py", "caf[!x].py", "caf\udce9.py"):
        assert compile_globs([pattern], anywhere=False)("caf\udce9.py"), pattern
    assert not compile_globs(["caf.py"], anywhere=False)("caf\udce9.py")
    assert not compile_globs(["caf??.py"], anywhere=False)("caf\udce9.py")


@every(
    ("pattern", "reached", "not_reached"),
    [
        ("src/**/*.py", ["", "src", "src/a/b"], ["docs", "srcs"]),
        ("*.py", [""], ["src"]),
        ("a/*/c.py", ["", "a", "a/x"], ["a/x/y", "b"]),
        ("{a,b}/x", ["", "a", "b"], ["c", "a/b"]),
        ("**", ["", "anything/at/all"], []),
    ],
)
def test_where_nothing_can_match_is_known(pattern: str, reached: list[str], not_reached: list[str]) -> None:
    globs = compile_globs([pattern], anywhere=False)
    assert [folder for folder in reached if not globs.reaches(folder)] == []
    assert [folder for folder in not_reached if globs.reaches(folder)] == []


def plainly(pattern: list[str], path: list[str]) -> bool:
    """What a glob means, by definition; components and characters."""
    if not pattern:
        return not path
    if pattern[0] == "**":
        if len(pattern) == 1:
            return bool(path)
        return plainly(pattern[1:], path) or (bool(path) and plainly(pattern, path[1:]))
    return bool(path) and name_matches(pattern[0], path[0]) and plainly(pattern[1:], path[1:])


def name_matches(pattern: str, name: str) -> bool:
    if not pattern:
        return not name
    if pattern[0] == "*":
        return name_matches(pattern[1:], name) or (bool(name) and name_matches(pattern, name[1:]))
    return bool(name) and pattern[0] in ("?", name[0]) and name_matches(pattern[1:], name[1:])


parts = st.lists(st.one_of(st.just("**"), st.text("ab.*?", min_size=1, max_size=4)), min_size=1, max_size=4)
names = st.lists(st.text("ab.", min_size=1, max_size=4), min_size=1, max_size=4)


@given(parts, names)
def test_a_glob_means_what_its_definition_says(pattern: list[str], path: list[str]) -> None:
    if any(part in (".", "..") for part in (*pattern, *path)) or any(
        set(part) == {"*"} and part > "**" for part in pattern
    ):
        return
    globs = compile_globs(["/".join(pattern)], anywhere=False)
    assert globs("/".join(path)) == plainly(pattern, path)
    if globs("/".join(path)):
        assert all(globs.reaches("/".join(path[:depth])) for depth in range(len(path)))


@given(st.text(max_size=30), st.text(max_size=30))
def test_no_glob_raises_anything_but_a_tool_failure(pattern: str, path: str) -> None:
    try:
        match = compile_globs([pattern], anywhere=True)
    except ToolFailure:
        return
    assert match(path) in (True, False)


piece = st.sampled_from(["a", "b", ".c", "*", "?", "[ab]", "[!a]", "{a,b}", "{a,*b}", "\\*"])
component = st.lists(piece, min_size=1, max_size=4).map("".join)
patterns = st.lists(st.one_of(st.just("**"), component), min_size=1, max_size=5).map("/".join)
components = st.lists(st.sampled_from(["a", "b", ".c", "*"]), min_size=1, max_size=4).map("".join)
paths = st.lists(components, min_size=1, max_size=5).map("/".join)


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


@given(st.text("ab*", min_size=1, max_size=8), components)
def test_a_name_and_a_path_of_one_component_are_matched_alike(pattern: str, name: str) -> None:
    assert matches(pattern, name) == is_whole(pattern, name) == path_matches(pattern, name)


@given(paths, paths)
def test_a_quoted_path_means_itself_at_every_door(path: str, other: str) -> None:
    pattern = quoted(path)
    assert path_matches(pattern, path)
    assert is_whole(pattern, path)
    assert is_whole(pattern, other) == (path == other)
