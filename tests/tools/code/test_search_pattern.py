"""What may be written as a search pattern, and that both engines read it alike."""

import os
import random
import re
import subprocess
import sys
import warnings
from pathlib import Path
from time import monotonic

import pytest

from rightcall.base.files.sight import Sight
from rightcall.errors import ToolFailure
from rightcall.tools.code.candidates import Counting, ripgrep, ripgrep_ignores
from rightcall.tools.code.pattern import Pattern, read_pattern
from rightcall.tools.code.search import Effort, SearchArguments, look_into, matching, search
from support.every import every
from support.pace import slowness
from support.search_cases import AS_PYTHON, EXPLOSIVE, LINES, REFUSED


def lines_found(pattern: Pattern, file: Path) -> list[int]:
    sight = Sight(file.parent)
    with sight.file(file.name) as opened:
        looked = look_into(opened, pattern, 10_000, Effort(monotonic() + 60))
    return [] if looked is None else [hit.number for hit in looked.hits]


def as_python_finds(pattern: str, lines: list[str], *, case_sensitive: bool) -> list[int]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # Python says that it may read [[ and && otherwise one day
        compiled = re.compile(pattern, re.ASCII if case_sensitive else re.ASCII | re.IGNORECASE)
    return [number for number, line in enumerate(lines, 1) if compiled.search(line)]


@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.promise("C-02")
def test_a_pattern_finds_the_lines_that_python_finds(tmp_path: Path, ending: str) -> None:
    file = tmp_path / "lines.txt"
    file.write_bytes(ending.join(LINES).encode() + ending.encode())
    for written in AS_PYTHON:
        found = lines_found(read_pattern(written, case_sensitive=True), file)
        assert found == as_python_finds(written, LINES, case_sensitive=True), written


@pytest.mark.promise("C-02")
def test_upper_and_lower_case_are_alike_unless_asked_otherwise(tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    plain = [line for line in LINES if line.isascii()]
    file.write_text("\n".join(plain))
    for written in AS_PYTHON:
        found = lines_found(read_pattern(written, case_sensitive=False), file)
        assert found == as_python_finds(written, plain, case_sensitive=False), written
    file.write_text("GRÖSSE\nΩΜΕΓΑ\nonly\n")
    assert lines_found(read_pattern("grö", case_sensitive=False), file) == [1]
    assert lines_found(read_pattern("ωμ", case_sensitive=False), file) == [2]
    assert lines_found(read_pattern("(?-i)ONLY|gr", case_sensitive=False), file) == []


@pytest.mark.parametrize(
    ("written", "line", "found"),
    [
        (r"\Qa.b(\E+", "xa.b((", True),
        (r"\Qa.b", "axb", False),
        ("[[:digit:]]{3}", "a123", True),
        ("[[:word:]]", "-", False),
        (r"\p{Lu}\p{Ll}+", "größe Ärger", True),
        (r"\p{Greek}", "omega Ω", True),
        (r"\P{L}", "abc", False),
        (r"\pL", "1", False),
        (r"[\p{N}x]", "٣", True),
        (r"\x{1F600}", "😀", True),
        (r"\u{1F600}", "😀", True),
        (r"\U0001F600", "😀", True),
        ("(?#note)a", "a", True),
        ("[^\\n]+b", "ab", True),
        ("[\\r\\n ]b", " b", True),
        (r"\w", "ä", False),
        (r"\d", "٣", False),
        (r"\bä", "xä", True),
        ("(?<name>a)", "a", True),
        ("a\\z", "ba", True),
        ("(?i)A", "a", True),
        ("[\\b]", "\b", True),
    ],
)
@pytest.mark.promise("C-02")
def test_what_python_writes_otherwise_has_its_meaning(tmp_path: Path, written: str, line: str, found: bool) -> None:
    file = tmp_path / "line.txt"
    file.write_text(line)
    assert bool(lines_found(read_pattern(written, case_sensitive=True), file)) is found


@every(("written", "says"), REFUSED.items(), ids=[repr(one[:20]) for one in REFUSED])
@pytest.mark.promise("C-02")
def test_what_cannot_be_searched_for_is_refused_with_a_hint(written: str, says: str) -> None:
    with pytest.raises(ToolFailure) as refusal:
        read_pattern(written, case_sensitive=False)
    assert str(refusal.value).startswith(("pattern: ", "`pattern` "))
    assert says in str(refusal.value)
    assert str(refusal.value).isprintable()


@pytest.mark.skipif(ripgrep("/nowhere") is None, reason="ripgrep is not installed")
@pytest.mark.promise("C-02")
def test_ripgrep_counts_the_lines_that_we_find(tmp_path: Path) -> None:
    crlf, odd = tmp_path / "crlf.txt", tmp_path / "odd.txt"
    crlf.write_bytes("\r\n".join(LINES).encode())
    odd.write_bytes(b"caf\xe9 bar\nfoo\rbar\n\r\n\xff\xfe\n" + "\n".join(LINES).encode() + b"\n")
    program = ripgrep("/nowhere")
    assert program is not None
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        for written in [
            *AS_PYTHON,
            r"\p{Lu}\p{Ll}+",
            r"\P{L}",
            r"[[:punct:]]",
            r"\Qa.b\E",
            r"[\s\S]+",
            r"\W$",
            r"\S\r",
            "[^b]$",
        ]:
            for case_sensitive in (True, False):
                pattern = read_pattern(written, case_sensitive=case_sensitive)
                counting = Counting(program, folder, pattern.ripgrep, ripgrep_ignores(None, as_built=True), None, 10)
                ours = {file.name: len(lines_found(pattern, file)) for file in (crlf, odd)}
                counted = counting.counts()
                assert counted is not None, written
                assert counted[0] == {name: count for name, count in ours.items() if count}, written
    finally:
        os.close(folder)


@pytest.mark.long
@pytest.mark.promise("C-02")
def test_no_pattern_takes_long_or_much_memory(tmp_path: Path) -> None:
    """In a process of its own, whose memory is its own: long lines, many lines, and both engines' limits."""
    script = tmp_path / "explode.py"
    script.write_text(_EXPLODE)
    patterns = "\n".join(EXPLOSIVE)
    done = subprocess.run([sys.executable, script], input=patterns, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = done.stdout.splitlines()
    assert len(report) == len(EXPLOSIVE)
    for line, written in zip(report, EXPLOSIVE, strict=True):
        slowest, memory = line.split()
        assert float(slowest) < slowness(), (written, line)
        assert int(memory) < 64 << 10, (written, line)


_EXPLODE = """
import resource, sys, time
from rightcall.errors import ToolFailure
from rightcall.tools.code.search import Effort, matching
from rightcall.tools.code.pattern import read_pattern

import random
chance = random.Random(5)
texts = [b"a" * (1 << 18), b"ab" * (1 << 17), (b"a" * 80 + b"!\\n") * 2000, bytes(chance.choices(b"ab", k=1 << 14))]
read_pattern("a", case_sensitive=False)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for written in sys.stdin.read().split("\\n"):
    slowest = 0.0
    try:
        pattern = read_pattern(written, case_sensitive=False)
    except ToolFailure:
        pattern = None
    for text in texts if pattern else ():
        begun = time.thread_time()
        for _ in matching(text, pattern, Effort(time.monotonic() + 60)):
            pass
        slowest = max(slowest, time.thread_time() - begun)
    print(slowest, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.promise("C-02")
def test_a_search_stops_at_its_deadline() -> None:
    pattern = read_pattern("a.{1000}c", case_sensitive=True)
    text = b"ab" * (1 << 13) + b"\n" + b"ab" * 100
    over, ample = Effort(monotonic() - 1), Effort(monotonic() + 60)
    assert list(matching(text, pattern, over)) == list(matching(text, pattern, ample)) == []
    assert (over.late, ample.late) == (True, False)


@pytest.mark.promise("C-02")
def test_a_costly_pattern_gives_up_on_a_very_long_line_and_says_so(tmp_path: Path) -> None:
    text = bytes(random.Random(7).choices(b"ab", k=3_000_000))
    (tmp_path / "hard.txt").write_bytes(text + b"\nplain c\n")
    found = search(Sight(tmp_path), SearchArguments(pattern="a.{300}c|plain"))  # within the CPU time of a test
    assert [match.line for match in found.matches] == [2]
    assert found.truncated
    assert "very long lines" in str(found.note)
    assert search(Sight(tmp_path), SearchArguments(pattern="ab+a|plain")).total_matches == 2


@pytest.mark.promise("C-02")
def test_a_line_that_is_looked_through_in_pieces_is_found_once(tmp_path: Path) -> None:
    pattern = read_pattern("x.{0,900}y$|^start|z", case_sensitive=True)
    long = b"a" * (pattern.reach * 3)
    file = tmp_path / "long.txt"
    file.write_bytes(
        b"start" + long + b"\n" + long + b"xy\r\n" + long + b"xy\nstart\n" + long + b"z" + long + b"z\nno\n" + long
    )
    assert lines_found(pattern, file) == [1, 2, 3, 4, 5]
