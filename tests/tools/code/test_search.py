"""`code/search`, with ripgrep and without."""

import codecs
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert, to_builtins

from rightcall.base.files.rules import PathRules
from rightcall.base.files.sight import Sight, Unseen
from rightcall.errors import ToolFailure
from rightcall.executor.views import shape_search
from rightcall.tools.code import search as search_module
from rightcall.tools.code.candidates import ripgrep, ripgrep_glob
from rightcall.tools.code.search import TOOL, Engine, SearchArguments, SearchResult, search
from rightcall.tools.state import Untold
from support.pace import process_time

Ask = Callable[..., SearchResult]

ENGINES = [
    "linear",
    pytest.param("ripgrep", marks=pytest.mark.skipif(ripgrep("/nowhere") is None, reason="no ripgrep here")),
]


@pytest.fixture(params=ENGINES)
def ask(request: pytest.FixtureRequest, tmp_path: Path) -> Ask:
    engine: Engine = request.param

    def asked(pattern: str, rules: PathRules | None = None, **arguments: Any) -> SearchResult:
        return search(
            Sight(tmp_path, rules), convert({"pattern": pattern, **arguments}, SearchArguments), engine=engine
        )

    return asked


def plant(root: Path, files: Mapping[str, str | bytes]) -> None:
    for path, content in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())


def found(result: SearchResult) -> list[str]:
    return [f"{match.file}:{match.line}" for match in result.matches]


@pytest.mark.promise("C-02")
def test_a_match_has_its_place_its_line_and_the_lines_around_it(ask: Ask, tmp_path: Path) -> None:
    plant(tmp_path, {"src/app.py": "one\ntwo\nthree\nfour Needle\nfive\nsix\nseven\n", "b.py": "nothing\n"})
    assert to_builtins(ask("needle")) == {
        "success": True,
        "pattern": "needle",
        "matches": [
            {
                "file": "src/app.py",
                "line": 4,
                "column": 6,
                "matchedText": "four Needle",
                "highlights": [[5, 11]],
                "contextBefore": ["two", "three"],
                "contextAfter": ["five", "six"],
            }
        ],
        "totalMatches": 1,
        "filesSearched": 2,
        "truncated": False,
    }


@pytest.mark.promise("C-02")
def test_every_match_has_the_context_that_was_asked_for(ask: Ask, tmp_path: Path) -> None:
    plant(tmp_path, {"a.txt": "x1\nx2\nno\nx3\n"})
    contexts = [(one.context_before, one.context_after) for one in ask("x", contextLines=1).matches]
    assert contexts == [([], ["x2"]), (["x1"], ["no"]), (["no"], [])]
    assert [(one.context_before, one.context_after) for one in ask("x", contextLines=0).matches] == [([], [])] * 3


@pytest.mark.promise("C-02")
def test_line_numbers_can_be_left_out_and_the_result_still_be_shown(ask: Ask, tmp_path: Path) -> None:
    plant(tmp_path, {"a.txt": "here\n"})
    result = to_builtins(ask("here", includeLineNumbers=False))
    assert result["matches"] == [
        {"file": "a.txt", "matchedText": "here", "highlights": [[0, 4]], "contextBefore": [], "contextAfter": []}
    ]
    assert shape_search(result)["summary"] == "Found 1 match in 1 file (1 searched)"


HIGHLIGHTS: list[tuple[str, str | bytes, list[list[str]]]] = [
    ("foo", "xx foo bar Foo\n", [["foo", "Foo"]]),
    ("foo", "é☃ foo ☃foo\r\n", [["foo", "foo"]]),
    ("foo", b"\xe9\xe9 foo \xff foo\n", [["foo", "foo"]]),
    ("^.*$", "a b\r\n\nc\n", [["a b"], [], ["c"]]),
    ("^x|y", "xxy\n", [["x", "y"]]),
    (r"\Boo\b", "foo oo zoo\n", [["oo", "oo"]]),
    ("a*", "bab\n", [["a"]]),
    ("x*|$", "b\n", [[]]),
    ("foo", "漢" * 1000 + "foo" + "漢" * 1000 + "foo\n", [["foo"]]),
    ("漢+$", "漢" * 1000 + "\n", [["漢" * 400]]),
    ("f.{900}o", "f" + "x" * 1800 + "o\n", []),
    ("fx{900}x{800}o", "__f" + "x" * 1700 + "o_\n", [["f" + "x" * 397]]),
    ("^1|a[2a]*$", "1a" + "2a" * 1000 + "\n", [["1"]]),
]


@pytest.mark.promise("C-70")
@pytest.mark.parametrize(("pattern", "text", "wanted"), HIGHLIGHTS, ids=range(len(HIGHLIGHTS)))
def test_the_places_of_all_matches_in_a_line_are_told(
    ask: Ask, tmp_path: Path, pattern: str, text: str | bytes, wanted: list[list[str]]
) -> None:
    plant(tmp_path, {"a.txt": text})
    found = ask(pattern).matches
    assert [[one.matched_text[start:end] for start, end in one.highlights] for one in found] == wanted


@pytest.mark.promise("C-70")
def test_a_pattern_that_is_made_to_cost_is_not_followed_through_every_line(ask: Ask, tmp_path: Path) -> None:
    plant(tmp_path, {"a.txt": ("a" * 390 + "\n") * 100})
    began = process_time()
    assert len(ask("(a?){300}b|(a{1,30}){20}|a").matches) == 100
    assert process_time() - began < 5


def test_a_long_line_that_is_not_ascii_is_cut_at_a_whole_character(ask: Ask, tmp_path: Path) -> None:
    plant(tmp_path, {"a.txt": "foo" + "漢" * 1000})
    assert ask("foo").matches[0].matched_text == "foo" + "漢" * 397 + "…"


@pytest.mark.promise("C-02")
def test_case_counts_only_when_asked(ask: Ask, tmp_path: Path) -> None:
    plant(tmp_path, {"a.txt": "Foo\nfoo\nÄpfel\n"})
    assert found(ask("FOO")) == ["a.txt:1", "a.txt:2"]
    assert found(ask("foo", caseSensitive=True)) == ["a.txt:2"]
    assert found(ask("äpfel")) == ["a.txt:3"]


@pytest.mark.promise("C-02")
def test_totals_count_what_is_not_shown(ask: Ask, tmp_path: Path) -> None:
    plant(tmp_path, {f"{name}.txt": "x\n" * 60 for name in "cab"} | {"none.txt": "y\n"})
    result = ask("x", contextLines=0)
    assert (len(result.matches), result.total_matches, result.files_searched, result.truncated) == (100, 180, 4, True)
    assert found(result)[0] == "a.txt:1"
    assert found(result)[-1] == "b.txt:40"
    few = ask("x", maxMatches=2)
    assert (found(few), few.total_matches, few.truncated) == (["a.txt:1", "a.txt:2"], 180, True)
    whole = ask("x", paths=["a.txt"])
    assert (len(whole.matches), whole.truncated) == (60, False)


@pytest.mark.promise("C-02")
def test_made_and_fetched_folders_and_ignored_files_are_left_out(ask: Ask, tmp_path: Path) -> None:
    plant(
        tmp_path,
        dict.fromkeys(
            (
                "a.py",
                "node_modules/b.js",
                "x/node_modules/c.js",
                "dist/d.js",
                "x/build/e.js",
                "build/deep/f.js",
                ".git/config",
                "dist.py",
                "out.log",
                "tmp/g.py",
                "x/keep.log",
                ".venv/lib/h.py",
                ".github/ci.yml",
                "build.sh/i",
            ),
            "needle\n",
        ),
    )
    plant(tmp_path, {".gitignore": "*.log\n/tmp/\n", "x/.gitignore": "!keep.log\n"})
    assert found(ask("needle")) == [".github/ci.yml:1", "a.py:1", "build.sh/i:1", "dist.py:1", "x/keep.log:1"]
    assert found(ask("needle", paths=["build/deep"])) == ["build/deep/f.js:1"]
    assert found(ask("needle", paths=["dist", "out.log", "tmp"])) == ["dist/d.js:1", "out.log:1", "tmp/g.py:1"]


@pytest.mark.promise("C-02", "P-03")
def test_what_may_not_be_seen_is_never_searched(ask: Ask, tmp_path: Path) -> None:
    plant(
        tmp_path,
        dict.fromkeys(
            (
                ".env",
                "deploy/.env.local",
                "id_rsa",
                "certs/site.pem",
                "secrets/x.json",
                "private/x.py",
                ".npmrc",
                "ok.py",
                "secretary.py",
                "password_reset.py",
                "a\\.env",
            ),
            "needle\n",
        ),
    )
    rules = PathRules(deny=["private/**"])
    result = ask("needle", rules)
    assert found(result) == ["ok.py:1", "password_reset.py:1", "secretary.py:1"]
    assert result.files_searched == result.total_matches == 3
    for path in (".env", "private", "private/x.py", "secrets", "../outside", "absent.py", "/etc/passwd"):
        with pytest.raises(Unseen, match=r"^No such file or folder: "):
            ask("needle", rules, paths=[path])
    allowed = ask("needle", PathRules(allow=["secrets/**"], dotfiles=[".npmrc"]))
    assert {"secrets/x.json:1", ".npmrc:1"} < set(found(allowed))


@pytest.mark.promise("C-02", "P-03")
def test_links_and_pipes_are_not_followed_unless_a_link_is_named(ask: Ask, tmp_path: Path) -> None:
    outside = tmp_path.with_name(tmp_path.name + "-outside")
    plant(outside, {"secret.txt": "needle\n"})
    plant(tmp_path, {"real/a.txt": "needle\n", ".env": "needle\n"})
    (tmp_path / "file").symlink_to("real/a.txt")
    (tmp_path / "folder").symlink_to("real")
    (tmp_path / "away").symlink_to(outside)
    (tmp_path / "env.txt").symlink_to(".env")
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    result = ask("needle")
    assert (found(result), result.files_searched) == (["real/a.txt:1"], 1)
    assert found(ask("needle", paths=["folder", "file"])) == ["real/a.txt:1"]
    for path in ("away", "away/secret.txt", "env.txt", "loop", "pipe"):
        with pytest.raises(Unseen):
            ask("needle", paths=[path])


@pytest.mark.promise("C-02")
def test_globs_choose_files_by_path(ask: Ask, tmp_path: Path) -> None:
    paths = ("a.ts", "src/b.ts", "src/c.tsx", "src/d.py", "test/e.ts", "test/deep/f.ts")
    plant(tmp_path, dict.fromkeys(paths, "x\n"))
    assert found(ask("x", filePattern="*.ts")) == ["a.ts:1", "src/b.ts:1", "test/deep/f.ts:1", "test/e.ts:1"]
    assert found(ask("x", filePattern="**/*.{tsx,py}")) == ["src/c.tsx:1", "src/d.py:1"]
    assert found(ask("x", filePattern="src/*.ts")) == ["src/b.ts:1"]
    assert found(ask("x", filePattern="*.ts", paths=["test"])) == ["test/deep/f.ts:1", "test/e.ts:1"]
    assert found(ask("x", excludePatterns=["test", "*.py", "a.ts"])) == ["src/b.ts:1", "src/c.tsx:1"]
    assert ask("x", filePattern="*.ts", excludePatterns=["test/**"]).files_searched == 2
    with pytest.raises(ToolFailure, match="filePattern"):
        ask("x", filePattern="[")
    with pytest.raises(ToolFailure, match="excludePatterns"):
        ask("x", excludePatterns=["a/../b"])


@pytest.mark.promise("C-02")
def test_names_of_any_kind_are_found_and_can_be_told(ask: Ask, tmp_path: Path) -> None:
    names = [
        "-n",
        "--help",
        "a b",
        "new\nline",
        "größe",
        "q'\"",
        "[x]",
        "*",
        "{a}",
        "!x",
        "#y",
        "tab\t",
        "back\\slash",
        "$HOME",
    ]
    plant(tmp_path, dict.fromkeys(names, "needle\n"))
    (tmp_path / os.fsdecode(b"caf\xe9")).write_text("needle\n")
    assert {match.file for match in ask("needle").matches} == {*names, "caf\\xe9"}
    for name in names:
        assert [match.file for match in ask("needle", paths=[name]).matches] == [name]
    assert [match.file for match in ask("needle", filePattern="-n").matches] == ["-n"]


@pytest.mark.promise("C-02")
def test_encodings_and_line_ends_are_as_people_see_them(ask: Ask, tmp_path: Path) -> None:
    text = "first\r\nzweite größe\r\nlast needle"
    plant(
        tmp_path,
        {
            "bom.txt": codecs.BOM_UTF8 + text.encode(),
            "le.txt": codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
            "be.txt": codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
            "latin.txt": text.encode("latin-1"),
            "utf8.txt": text.encode(),
            "binary.bin": b"needle\n\0needle",
            "late.bin": b"needle\n" + b"x" * 100_000 + b"\0",
            "empty.txt": b"",
        },
    )
    result = ask("needle$")
    assert found(result) == ["be.txt:3", "bom.txt:3", "latin.txt:3", "le.txt:3", "utf8.txt:3"]
    assert all(match.context_before == ["first", "zweite größe"] for match in result.matches)
    assert {match.column for match in result.matches} == {6}
    assert result.files_searched == 8
    assert {match.file: match.column for match in ask("größe$").matches} == dict.fromkeys(
        ("be.txt", "bom.txt", "le.txt", "utf8.txt"), 8
    )
    assert len(ask("^first$").matches) == 5
    assert [match.matched_text for match in ask("^zweite gr", paths=["latin.txt"]).matches] == ["zweite größe"]


@pytest.mark.promise("C-02")
def test_the_end_of_a_file_is_no_line_of_its_own(ask: Ask, tmp_path: Path) -> None:
    plant(tmp_path, {"a.txt": "one\n\ntwo\n", "b.txt": "one", "c.txt": "", "d.txt": "\n"})
    assert found(ask("^$")) == ["a.txt:2", "d.txt:1"]
    assert found(ask("x*")) == ["a.txt:1", "a.txt:2", "a.txt:3", "b.txt:1", "d.txt:1"]
    assert ask("$", maxMatches=1).total_matches == 5


@pytest.mark.promise("C-02")
def test_long_lines_are_cut_around_the_match(ask: Ask, tmp_path: Path) -> None:
    line = "ä" * 5_000 + "needle" + "ö" * 5_000
    plant(tmp_path, {"min.js": f"{'k' * 900}\n{line}\nneedle{'e' * 900}\n"})
    middle, begin = ask("needle").matches
    assert middle.column == 5_001
    assert middle.matched_text == "…" + "ä" * 120 + "needle" + "ö" * 274 + "…"
    assert middle.context_before == ["k" * 400 + "…"]
    assert begin.matched_text == "needle" + "e" * 394 + "…"
    assert begin.context_before[1] == "ä" * 400 + "…"


@pytest.mark.promise("C-02")
def test_a_large_file_is_searched_to_its_end(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "_BLOCK", 1_000)
    lines = [f"line {number} {'x' * (number % 50)}" for number in range(2_000)]
    lines[3] = lines[1_000] = lines[1_999] = "the needle"
    plant(
        tmp_path, {"big.log": codecs.BOM_UTF8 + "\n".join(lines).encode(), "big.bin": "\n".join(lines).encode() + b"\0"}
    )
    result = ask("^the needle$")
    assert [match.line for match in result.matches] == [4, 1_001, 2_000]
    assert result.matches[0].context_before == lines[1:3]
    assert result.matches[1].context_after == lines[1_001:1_003]
    assert result.matches[2].context_before == lines[1_997:1_999]
    first = ask("line 0 ").matches[0]
    assert (first.line, first.context_before) == (1, [])
    assert ask("line", maxMatches=1).total_matches == 1_997


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"maxMatches": 0}, "maxMatches: is 0, from 1 to 100"),
        ({"maxMatches": 101}, "from 1 to 100"),
        ({"contextLines": 21}, "contextLines: is 21, from 0 to 20"),
        ({"contextLines": -1}, "from 0 to 20"),
        ({"paths": ["a"] * 101}, "paths: is 101"),
    ],
)
@pytest.mark.promise("C-02")
def test_limits_are_those_of_the_tool(ask: Ask, arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ToolFailure, match=says):
        ask("x", **arguments)


@pytest.mark.promise("C-02")
def test_when_time_runs_out_what_was_found_is_told(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, {f"{number}.txt": "needle\n" for number in range(20)})
    monkeypatch.setattr("rightcall.tools.code.search._SECONDS", 0.0)
    result = ask("needle")
    assert result.truncated
    assert isinstance(result.note, str)
    assert result.note.startswith("Time ran out")
    assert shape_search(to_builtins(result))["note"] == result.note
    assert result.total_matches < 20
    monkeypatch.setattr("rightcall.tools.code.search._SECONDS", 10.0)
    assert ask("needle").total_matches == 20


@pytest.mark.promise("C-02", "P-03")
def test_nothing_stays_open(ask: Ask, tmp_path: Path) -> None:
    plant(tmp_path, {"a/b.txt": "x\n", "c.txt": "x\n"})
    before = len(os.listdir("/proc/self/fd"))
    ask("x")
    for arguments in ({"paths": ["a", "c.txt", "absent"]}, {"filePattern": "["}):
        with pytest.raises(ToolFailure):
            ask("x", **arguments)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.promise("C-09")
def test_no_two_searches_are_taken_for_the_same(tmp_path: Path) -> None:
    assert (TOOL.name, TOOL.traced, TOOL.seconds) == ("code/search", True, 10)
    assert TOOL.state is not None
    with pytest.raises(Untold):
        TOOL.state(Sight(tmp_path), SearchArguments(pattern="x"))


@pytest.mark.promise("C-02")
def test_only_plain_globs_are_told_to_ripgrep() -> None:
    told = ["*.py", "**/*.ts", "Makefile", "*.{ts,tsx}", "**/a.b", "*"]
    assert [ripgrep_glob(glob) for glob in told] == told
    for glob in ("src/*.py", "!x", "[a]", "a\\b", "/x", "*.{a,{b}}", "**", "a?", "{a,b}", ".*", ""):
        assert ripgrep_glob(glob) is None, glob
