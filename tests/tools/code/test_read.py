"""`code/read`."""

import os
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert, json, to_builtins

from rightcall.base.files.rules import PathRules
from rightcall.base.files.sight import Sight
from rightcall.base.text import MOST_ANSWER
from rightcall.errors import ToolFailure
from rightcall.executor.messages import trim
from rightcall.executor.views import READ
from rightcall.policy.settings import CodeSettings
from rightcall.tools.code.read import TOOL, ReadArguments, decode_text, tool
from support.every import every
from support.pace import process_time

MOST_BYTES = CodeSettings().largest_file


def read(root: Path | Sight, path: str, **more: Any) -> dict[str, Any]:
    sight = root if isinstance(root, Sight) else Sight(root)
    return to_builtins(TOOL.run(sight, convert({"path": path, **more}, ReadArguments)))


def refused(root: Path, path: str, **more: Any) -> str:
    with pytest.raises(ToolFailure) as failure:
        read(root, path, **more)
    return str(failure.value)


def write(root: Path, path: str, data: bytes | str = "x\n") -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data.encode() if isinstance(data, str) else data)
    return file


@pytest.mark.promise("C-01")
def test_a_read_has_the_fields_of_the_design(tmp_path: Path) -> None:
    file = write(tmp_path, "src/app.py", "one\ntwo\nthree\n")
    os.utime(file, (1_700_000_000, 1_700_000_000))
    assert read(tmp_path, "src/app.py") == {
        "success": True,
        "path": "src/app.py",
        "content": "one\ntwo\nthree\n",
        "metadata": {
            "totalLines": 3,
            "linesReturned": 3,
            "startLine": 1,
            "endLine": 3,
            "lastModified": "2023-11-14T22:13:20Z",
            "size": 14,
            "encoding": "utf-8",
        },
    }


@pytest.mark.promise("C-01")
@pytest.mark.parametrize(
    ("asked", "content", "lines"),
    [
        ({}, "a\nb\r\nc\n\nd", (1, 5)),
        ({"startLine": 2}, "b\r\nc\n\nd", (2, 5)),
        ({"endLine": 2}, "a\nb\r\n", (1, 2)),
        ({"startLine": 2, "endLine": 2}, "b\r\n", (2, 2)),
        ({"startLine": 4, "endLine": 99}, "\nd", (4, 5)),
        ({"startLine": 5}, "d", (5, 5)),
        ({"maxLines": 2}, "a\nb\r\n", (1, 2)),
        ({"startLine": 3, "endLine": 5, "maxLines": 1}, "c\n", (3, 3)),
    ],
)
def test_lines_come_exactly_as_they_stand_in_the_file(
    tmp_path: Path, asked: dict[str, int], content: str, lines: tuple[int, int]
) -> None:
    write(tmp_path, "a.txt", "a\nb\r\nc\n\nd")
    result = read(tmp_path, "a.txt", **asked)
    about = result["metadata"]
    assert result["content"] == content
    assert (about["startLine"], about["endLine"]) == lines
    assert about["linesReturned"] == lines[1] - lines[0] + 1
    assert about["totalLines"] == 5


@pytest.mark.promise("C-01")
def test_five_hundred_lines_are_the_most(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "".join(f"{number}\n" for number in range(1, 2001)))
    about = read(tmp_path, "a.txt")["metadata"]
    assert (about["linesReturned"], about["endLine"], about["totalLines"]) == (500, 500, 2000)
    result = read(tmp_path, "a.txt", startLine=1201, endLine=1999, maxLines=9999)
    assert result["content"].split() == [str(number) for number in range(1201, 1701)]


@pytest.mark.promise("C-01")
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"startLine": 4}, "startLine 4 lies beyond the end; the file has 3 lines"),
        ({"startLine": 3, "endLine": 2}, "endLine 2 lies before startLine 3; the file has 3 lines"),
        ({"endLine": 0}, "endLine 0 lies before startLine 1; the file has 3 lines"),
        ({"startLine": 0}, "startLine and maxLines must be 1 or more; lines are counted from 1"),
        ({"maxLines": 0}, "startLine and maxLines must be 1 or more; lines are counted from 1"),
    ],
)
def test_a_range_that_cannot_be_says_what_would_be_right(tmp_path: Path, asked: dict[str, int], told: str) -> None:
    write(tmp_path, "a.txt", "a\nb\nc\n")
    assert refused(tmp_path, "a.txt", **asked) == told


def test_an_empty_file_has_no_lines_and_is_no_error(tmp_path: Path) -> None:
    write(tmp_path, "empty.py", b"")
    for asked in ({}, {"startLine": 1}, {"endLine": 10}, {"syntaxHighlight": True}):
        result = read(tmp_path, "empty.py", **asked)
        about = result["metadata"]
        assert result["content"] == ""
        assert [about[key] for key in ("totalLines", "linesReturned", "startLine", "endLine")] == [0, 0, 0, 0]
    assert refused(tmp_path, "empty.py", startLine=2) == "startLine 2 lies beyond the end; the file has 0 lines"


@pytest.mark.promise("C-01")
def test_other_encodings_are_decoded_and_said(tmp_path: Path) -> None:
    write(tmp_path, "old.txt", b"caf\xe9\r\n")
    write(tmp_path, "wide.txt", "ä\nb\n".encode("utf-16"))
    write(tmp_path, "marked.txt", b"\xef\xbb\xbfa\n")
    for path, content, encoding in (
        ("old.txt", "café\r\n", "windows-1252"),
        ("wide.txt", "ä\nb\n", "utf-16-le"),
        ("marked.txt", "a\n", "utf-8-sig"),
    ):
        for told in (True, False):
            result = read(tmp_path, path, includeMetadata=told)
            assert (result["content"], result["metadata"]["encoding"]) == (content, encoding)
        assert READ.shape(result)["encoding"] == encoding


@pytest.mark.promise("C-01")
def test_without_metadata_the_range_is_still_told(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "a\nb\n")
    result = read(tmp_path, "a.txt", includeMetadata=False)
    assert result["metadata"] == {"totalLines": 2, "linesReturned": 2, "startLine": 1, "endLine": 2}
    assert READ.shape(result)["summary"] == "2 lines (2 total)"
    assert READ.summary(result) == "Read 2 lines from a.txt"


@pytest.mark.promise("C-01")
def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "a.bin", b"text and\0more")
    write(tmp_path, "late.txt", b"a" * 900_000 + b"\0")
    assert refused(tmp_path, "a.bin") == "a.bin is a binary file (13 bytes); code/read shows text only"
    assert "is a binary file" in refused(tmp_path, "late.txt")


@pytest.mark.promise("C-01")
def test_a_file_of_one_megabyte_is_read_and_a_larger_one_is_refused_at_once(tmp_path: Path) -> None:
    write(tmp_path, "fits.txt", (b"a" * 8191 + b"\n") * 128)
    assert (tmp_path / "fits.txt").stat().st_size == MOST_BYTES
    assert read(tmp_path, "fits.txt", endLine=100)["content"] == ("a" * 8191 + "\n") * 100
    write(tmp_path, "over.txt", b"a" * (MOST_BYTES + 1))
    assert refused(tmp_path, "over.txt") == (
        "over.txt has 1,048,577 bytes, code/read takes at most 1,048,576; code/search finds lines in it"
    )
    with (tmp_path / "huge.txt").open("wb") as file:
        file.truncate(5_000_000_000)
    start = process_time()
    assert "5,000,000,000 bytes" in refused(tmp_path, "huge.txt")
    assert process_time() - start < 0.1


def test_a_file_that_grows_while_it_is_read_is_bounded_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path, "log.txt", "a\n")
    real = os.pread

    def growing(fd: int, size: int, offset: int) -> bytes:
        if file.stat().st_size < 10:
            file.write_bytes(b"b" * 3_000_000)
        return real(fd, size, offset)

    monkeypatch.setattr(os, "pread", growing)
    assert "log.txt has 1,048,577 bytes" in refused(tmp_path, "log.txt")


@pytest.mark.parametrize(
    "name",
    [
        b"new\nline.txt", b'quo"te\'s.txt', b"-dash.txt", b"--output=x.txt", b"sp ace .txt", "größe😀.txt".encode(),
        b"$(touch x).txt", b"star*.txt", b"#hash%41.txt", b"\x1b[31m.txt", b"~.txt",
    ],
)  # fmt: skip
def test_odd_names_are_read(tmp_path: Path, name: bytes) -> None:
    path = os.fsdecode(name)
    write(tmp_path, path, "inside\n")
    result = read(tmp_path, path)
    assert (result["content"], result["path"]) == ("inside\n", path)


def test_a_name_that_is_no_text_is_spelled_out(tmp_path: Path) -> None:
    path = os.fsdecode(b"caf\xe9.txt")
    write(tmp_path, path, "inside\n")
    assert read(tmp_path, path)["path"] == "caf\\xe9.txt"


def test_absolute_and_roundabout_paths_below_the_root_are_read(tmp_path: Path) -> None:
    write(tmp_path, "src/a.txt", "inside\n")
    for path in (str(tmp_path / "src/a.txt"), "./src/a.txt", "src//a.txt", "src/../src/a.txt"):
        assert read(tmp_path, path)["path"] == "src/a.txt"


@pytest.mark.promise("P-03", "C-01")
def test_links_are_followed_only_where_they_end_inside(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(root, "src/a.txt", "inside\n")
    write(root, ".env", "KEY=1\n")
    write(tmp_path, "outside/loot.txt", "loot\n")
    (tmp_path / "outside/back").symlink_to(root / "src")
    links = {
        "in.txt": "src/a.txt", "absolute.txt": str(root / "src/a.txt"), "dir": "src",
        "return": str(tmp_path / "outside/back"), "out.txt": "../outside/loot.txt", "out": "../outside", "loop": "loop",
        "secret.md": ".env", "nowhere": "gone",
    }  # fmt: skip
    for name, target in links.items():
        (root / name).symlink_to(target)
    for path in ("in.txt", "absolute.txt", "dir/a.txt", "return/a.txt"):
        assert read(root, path)["path"] == "src/a.txt", path
    for path in (
        "out.txt",
        "out/loot.txt",
        "loop",
        "secret.md",
        "nowhere",
        "../outside/loot.txt",
        ".env",
        "absent.txt",
    ):
        assert refused(root, path) == f"No such file or folder: {path}"


@pytest.mark.promise("P-03")
def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "folder").mkdir()
    (tmp_path / "null.txt").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(tmp_path / "s.txt"))
        for path in ("pipe.txt", "null.txt", "s.txt"):
            assert refused(tmp_path, path) == f"No such file or folder: {path}"
    assert refused(tmp_path, "folder") == "folder is a folder; code/list shows what is in it"
    write(tmp_path, "a.txt")
    assert refused(tmp_path, "a.txt/") == "No such file or folder: a.txt/"


@pytest.mark.promise("P-03")
def test_a_denied_file_answers_like_an_absent_one(tmp_path: Path) -> None:
    write(tmp_path, "private/a.txt")
    with pytest.raises(ToolFailure, match=r"^No such file or folder: private/a\.txt$"):
        read(Sight(tmp_path, PathRules(deny=["private/**"])), "private/a.txt")


def test_a_read_only_file_is_read(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "inside\n").chmod(0o444)
    assert read(tmp_path, "a.txt")["content"] == "inside\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="everything is readable to root")
def test_an_unreadable_file_answers_like_an_absent_one(tmp_path: Path) -> None:
    write(tmp_path, "a.txt").chmod(0)
    assert refused(tmp_path, "a.txt") == "No such file or folder: a.txt"


def test_what_a_model_wrote_is_shown_escaped(tmp_path: Path) -> None:
    assert refused(tmp_path, "a\x1b[31m\u202e.txt") == "No such file or folder: a\\u001b[31m\\u202e.txt"


def test_a_file_of_nothing_but_line_breaks_costs_no_more_than_another(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", b"\n" * MOST_BYTES)
    start = process_time()
    about = read(tmp_path, "a.txt", startLine=1_000_000)["metadata"]
    assert (about["startLine"], about["endLine"], about["totalLines"]) == (1_000_000, 1_000_499, MOST_BYTES)
    assert process_time() - start < 1


@pytest.mark.promise("C-01")
@given(st.text("ab\r\n\u2028é", max_size=40), st.integers(1, 12), st.integers(1, 12))
def test_any_range_is_what_a_plain_split_gives(
    tmp_path_factory: pytest.TempPathFactory, text: str, first: int, count: int
) -> None:
    root = tmp_path_factory.getbasetemp() / "any-range"
    write(root, "a.txt", text * 60)  # far enough for the search by halves
    lines = [part + "\n" for part in (text * 60).split("\n")]
    lines[-1] = lines[-1][:-1]
    if not lines[-1]:
        lines.pop()
    for start in (first, first * 50):
        if start <= len(lines):
            expected = "".join(lines[start - 1 : start - 1 + count])
            assert read(root, "a.txt", startLine=start, endLine=start + count - 1)["content"] == expected


@pytest.mark.promise("C-10")
def test_structure_and_tokens_come_when_asked(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "import os\n\ndef f():\n    pass\n")
    result = read(tmp_path, "a.py", startLine=3, includeStructure=True, syntaxHighlight=True)
    assert result["structure"]["imports"] == [{"text": "import os", "line": 1}]
    assert result["structure"]["functions"] == [{"name": "f", "line": 3, "endLine": 4}]
    assert result["syntaxTokens"][0] == {"type": "keyword", "line": 3, "column": 1, "text": "def"}
    assert READ.shape(result)["structure"]["language"] == "python"
    write(tmp_path, "a.txt", "text\n")
    result = read(tmp_path, "a.txt", includeStructure=True)
    assert (result["structure"], result["note"]) == (None, "no structure: not a language whose structure is known")
    assert READ.shape(result)["note"] == "no structure: not a language whose structure is known"


@pytest.mark.promise("C-01")
def test_lines_too_long_for_one_answer_are_left_for_the_next(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text(("\u00fc" * 249_999 + "\n") * 2)
    (tmp_path / "one.js").write_text('"' * 900_000)
    found = read(tmp_path, "long.txt")
    about = found["metadata"]
    assert (about["linesReturned"], about["endLine"], about["totalLines"], len(found["content"])) == (1, 1, 2, 250_000)
    found = read(tmp_path, "one.js")
    assert found["note"] == f"line 1 is cut after {len(found['content']):,} of 900,000 characters"
    assert 900_000 < len(json.encode(found["content"])) <= MOST_ANSWER


@pytest.mark.promise("C-01")
def test_a_long_line_is_cut_where_it_becomes_too_much_wherever_its_costly_characters_stand(tmp_path: Path) -> None:
    (tmp_path / "odd.js").write_text("\x01" * 400_000 + "x" * 400_000)
    content = read(tmp_path, "odd.js")["content"]
    assert MOST_ANSWER - 100 < len(json.encode(content)) <= MOST_ANSWER


# ── What the policy and the call can ask for besides ─────────────────────────────────────────────────────────────────


@pytest.mark.promise("C-71")
@pytest.mark.parametrize(
    ("content", "more", "lines"),
    [
        ("one\ntwo\n", {}, ["one", "two"]),
        ("one\r\ntwo", {}, ["one", "two"]),
        ("one\n\n\n", {}, ["one", "", ""]),
        ("", {}, []),
        ("\n", {}, [""]),
        ("a\rb\nc\u2028d\n", {}, ["a\rb", "c\u2028d"]),
        ("".join(f"{n}\n" for n in range(900)), {"startLine": 3, "endLine": 4}, ["2", "3"]),
    ],
)
def test_the_lines_come_one_by_one_when_they_are_asked_for(
    tmp_path: Path, content: str, more: dict[str, Any], lines: list[str]
) -> None:
    write(tmp_path, "a.txt", content)
    result = read(tmp_path, "a.txt", includeLines=True, **more)
    assert result["lines"] == lines
    assert len(lines) == result["metadata"]["linesReturned"]
    assert "lines" not in read(tmp_path, "a.txt", **more)


@pytest.mark.promise("C-71")
@pytest.mark.parametrize("line", ["x\n", "\x01" * 300 + "\n", '"' * 4000 + "\n", "漢" * 3000 + "\n", "z" * 900_000])
def test_lines_and_content_together_are_one_answer(tmp_path: Path, line: str) -> None:
    write(tmp_path, "a.txt", line * min(500, MOST_BYTES // len(line.encode())))
    result = read(tmp_path, "a.txt", includeLines=True)
    assert len(json.encode(result)) <= MOST_ANSWER + 1000
    assert "\n".join(result["lines"]) == result["content"].removesuffix("\n")
    if result["metadata"]["endLine"] > 1:
        assert len(result["lines"]) == result["metadata"]["endLine"]


@pytest.mark.promise("C-71")
def test_a_model_is_shown_the_lines_once_and_told_where_to_read_on() -> None:
    about = {"linesReturned": 500, "totalLines": 500, "startLine": 11, "endLine": 510}
    lines = [f"x = {number}" for number in range(500)]
    result = {"path": "a.py", "content": "\n".join(lines), "lines": lines, "metadata": about}
    shaped = READ.shape(result)
    assert list(shaped) == ["path", "summary", "lines", "lineRange"]
    trimmed = trim(shaped, 120, "code/read")
    shown = json.decode(trimmed.body)
    assert shown["lineRange"] == f"11-{10 + len(shown['lines'])}"
    assert trimmed.left_out.endswith(f"lines left out: call code/read with startLine={11 + len(shown['lines'])}]")
    long = READ.shape(result | {"lines": ["y" * 3000, "z"]})
    assert "line 11 is cut after" in trim(long, 120, "code/read").left_out
    middle = READ.shape(result | {"lines": ["y", "z" * 5000, "k"]})
    assert json.decode(trim(middle, 400, "code/read").body)["lines"] == ["y"]


@pytest.mark.promise("C-74")
def test_the_largest_file_is_what_the_policy_says(tmp_path: Path) -> None:
    write(tmp_path, "small.txt", "12345678\n")
    write(tmp_path, "large.txt", "x\n" * MOST_BYTES)
    small, large = tool(CodeSettings(largest_file=8)), tool(CodeSettings(largest_file=3 * MOST_BYTES))
    with pytest.raises(ToolFailure, match=r"small\.txt has 9 bytes, code/read takes at most 8; code/search"):
        small.run(Sight(tmp_path), ReadArguments(path="small.txt"))
    found = large.run(Sight(tmp_path), ReadArguments(path="large.txt", start_line=MOST_BYTES))
    assert (found.content, found.metadata.total_lines) == ("x\n", MOST_BYTES)


@pytest.mark.promise("C-74")
def test_the_structure_can_come_with_every_read(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "import os\n\n\ndef main():\n    pass\n")
    write(tmp_path, "notes.md", "# Notes\n")
    always, usual = tool(CodeSettings(structure=True)), tool(CodeSettings())

    def told(one: Any, path: str, asked: bool | None = None) -> tuple[bool, str | None]:
        found = to_builtins(one.run(Sight(tmp_path), ReadArguments(path=path, include_structure=asked)))
        return bool(found.get("structure")), found.get("note")

    no_language = "no structure: not a language whose structure is known"
    assert told(always, "a.py") == told(always, "a.py", True) == told(usual, "a.py", True) == (True, None)
    assert told(usual, "a.py") == told(always, "a.py", False) == (False, None)
    assert told(always, "notes.md") == (False, None)  # nobody asked about this file
    assert told(always, "notes.md", True) == (False, no_language)


@pytest.mark.promise("C-01")
@every(
    ("data", "expected"),
    [
        (b"", ("", "utf-8")),
        ("größe".encode(), ("größe", "utf-8")),
        (b"\xef\xbb\xbfabc", ("abc", "utf-8-sig")),
        (b"\xef\xbb\xbfcaf\xe9", ("ï»¿café", "windows-1252")),
        (b"caf\xe9 \x93x\x94", ("café “x”", "windows-1252")),
        (b"\x81\xe9", ("\x81é", "iso-8859-1")),
        (b"\xff\xfe" + "aß\n".encode("utf-16-le"), ("aß\n", "utf-16-le")),
        (b"\xfe\xff" + "a😀".encode("utf-16-be"), ("a😀", "utf-16-be")),
        (b"\xff\xfe\0\0" + "a".encode("utf-32-le"), ("a", "utf-32-le")),
        (b"\0\0\xfe\xff" + "a".encode("utf-32-be"), ("a", "utf-32-be")),
        (b"\xff\xfe", ("", "utf-16-le")),
        (b"\x7fELF\0\0", None),
        (b"text\0", None),
        (b"\xff\xfea\0b", None),
        (b"\xff\xfe\0\0\0\xd8", None),
        (b"\xff\xfea\0\0\0", None),
    ],
)
def test_bytes_are_decoded_and_the_encoding_is_said(data: bytes, expected: tuple[str, str] | None) -> None:
    assert decode_text(data) == expected


@given(st.binary(max_size=50))
def test_any_bytes_are_text_or_binary_and_a_nul_without_a_mark_means_binary(data: bytes) -> None:
    found = decode_text(data)
    if found is None:
        assert b"\0" in data
    else:
        assert "\0" not in found[0]
        found[0].encode()
