"""What a person is shown of a difference: whatever can be read, whole; and what is missing is said, with every file."""

from pathlib import Path

import pytest

from rightcall.base.files.sight import Sight
from rightcall.tools.write.plumbing import Writer
from support.repositories import Made, made

pytestmark = pytest.mark.promise("P-06")
NUMBERS = bytes(range(256)) * 20


@pytest.fixture
def repository(tmp_path: Path) -> Made:
    repository = made(tmp_path)
    repository.write("a.js", "one()\n")
    repository.write("old.png", NUMBERS)
    repository.commit("first")
    return repository


def test_one_odd_byte_hides_no_line_and_what_is_no_text_has_its_size_and_id(repository: Made) -> None:
    first = repository.git("rev-parse", "HEAD")
    repository.write("a.js", "one()\n/*\0*/ evil()\n")
    repository.write("latin.js", b"// caf\xe9 \0" + b"x" * 50 + b"\nevil_too()\n")
    repository.write("wide.txt", "also\n".encode("utf-16-le"))
    repository.write("old.png", NUMBERS + b"!")
    repository.write("new.png", NUMBERS)
    second = repository.commit("second")
    found = Writer(Sight(repository.folder)).shown(first, second, 100_000)
    for line in ("+/*\0*/ evil()", "+evil_too()", "+a\0l\0s\0o\0"):
        assert line in found.text.split("\n")
    before = repository.git("rev-parse", f"{first}:old.png")
    after = repository.git("rev-parse", f"{second}:old.png")
    assert found.text.split("\n")[-2:] == [
        f"new.png: binary, no file before, 5,120 bytes ({before}) afterwards",
        f"old.png: binary, 5,120 bytes ({before}) before, 5,121 bytes ({after}) afterwards",
    ]
    assert found.left_out == ""


def test_a_diff_that_is_cut_says_so_and_names_every_file_with_its_lines(repository: Made) -> None:
    first = repository.git("rev-parse", "HEAD")
    repository.write("a.js", "/*\0*/ evil()\n")
    repository.write("data.json", "1,\n" * 2_000)
    repository.write("new.png", NUMBERS)
    repository.write("z.py", "evil()\n")
    second = repository.commit("second")
    found = Writer(Sight(repository.folder)).shown(first, second, 3_000)
    assert found.left_out == "the diff has more than 3,000 bytes, and only these are below."
    assert found.files == ("  M a.js  +1 -1", "  A data.json  +2,000 -0", "  A new.png  binary", "  A z.py  +1 -0")
    repository.git("rm", "-q", "--cached", "new.png", "a.js")
    plain = Writer(Sight(repository.folder)).shown(first, repository.commit("third"), 100_000)
    assert (plain.left_out, "+evil()" in plain.text) == ("", True)


def test_what_is_too_large_to_be_looked_at_counts_as_left_out(
    repository: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rightcall.tools.write.refs._LARGEST", 20)
    first = repository.git("rev-parse", "HEAD")
    repository.write("a.js", "/*\0*/ evil_in_a_large_file()\n")
    found = Writer(Sight(repository.folder)).shown(first, repository.commit("second"), 100_000)
    assert found.left_out == "1 file(s) are too large to read."
    assert found.text.endswith("afterwards; too large to read")
