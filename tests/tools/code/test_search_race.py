"""While somebody swaps files and folders for links, a search shows nothing but what it may."""

import os
from collections.abc import Generator
from pathlib import Path
from threading import Event, Thread
from time import monotonic, time_ns

import pytest
from msgspec.json import encode

from rightcall.base.files.sight import Sight, Unseen
from rightcall.tools.code.candidates import Candidates, ripgrep
from rightcall.tools.code.search import Engine, SearchArguments, search

ENGINES = [
    "linear",
    pytest.param("ripgrep", marks=pytest.mark.skipif(ripgrep("/nowhere") is None, reason="no ripgrep here")),
]
SECONDS = 0.7


@pytest.fixture
def root(tmp_path: Path) -> Generator[Path, None, None]:
    """A file and a folder that are themselves, a link to a secret outside and one to `.env`, in turn."""
    outside, root = tmp_path / "outside", tmp_path / "root"
    for folder in (outside, root, root / "real"):
        folder.mkdir()
    for secret in (outside / "file.txt", outside / "inner.txt", root / ".env"):
        secret.write_text("needle SECRET\n" * 3)
    for number in range(30):
        (root / f"plain{number}.txt").write_text("needle plain\n")
    (root / "real/inner.txt").write_text("needle plain\n")
    (root / "real.txt").write_text("needle plain\n")
    stop = Event()
    swapping = Thread(target=swap, args=(root, outside, stop))
    swapping.start()
    yield root
    stop.set()
    swapping.join()


def swap(root: Path, outside: Path, stop: Event) -> None:
    file, folder, spare = root / "file.txt", root / "folder", root / "spare"
    while not stop.is_set():
        for target in (root / "real.txt", outside / "file.txt", root / ".env"):
            if target.name == "real.txt":
                os.link(target, spare)
            else:
                spare.symlink_to(target)
            os.replace(spare, file)
        for target in (None, outside, root):
            if target is None:
                folder.mkdir()
                (folder / "inner.txt").write_text("needle plain\n")
                (folder / "inner.txt").unlink()
                folder.rmdir()
            else:
                folder.symlink_to(target)
                folder.unlink()


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.promise("P-03", "C-02")
def test_a_link_that_is_swapped_in_while_a_search_runs_shows_nothing(root: Path, engine: Engine) -> None:
    sight = Sight(root)
    end, searches, seen = monotonic() + SECONDS, 0, 0
    while monotonic() < end or (monotonic() < end + 60 and not (searches > 10 and seen)):
        for paths in ([], ["file.txt"], ["folder"]):
            try:
                result = search(sight, SearchArguments(pattern="needle", paths=paths), engine=engine)
            except Unseen:
                continue
            shown = encode(result)
            assert b"SECRET" not in shown
            assert b".env" not in shown
            searches += 1
            seen += any(match.file == "file.txt" for match in result.matches)
    assert searches > 10
    assert seen > 0


@pytest.mark.promise("P-03", "C-02")
@pytest.mark.parametrize("swapped", [False, True])
def test_a_count_is_believed_only_where_nothing_has_changed_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swapped: bool
) -> None:
    """Ripgrep says of `sub/z.txt` what it has read behind a link that stood there for a moment."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").write_text("hit\n" * 100)
    (tmp_path / "sub" / "z.txt").write_text("nothing\n")
    until = monotonic() + 60
    while time_ns() - (tmp_path / "sub").stat().st_ctime_ns < 100_000_000:  # nothing is new any more
        assert monotonic() < until

    def counted(*_: object, **__: object) -> Candidates:
        if swapped:
            (tmp_path / "sub" / "z.txt").rename(tmp_path / "sub" / "aside")
            (tmp_path / "sub" / "aside").rename(tmp_path / "sub" / "z.txt")
        return Candidates([("a.txt", 100), ("sub/z.txt", 7)], ["a.txt", "sub/z.txt"], late=False)

    monkeypatch.setattr("rightcall.tools.code.search.candidates", counted)
    assert search(Sight(tmp_path), SearchArguments(pattern="hit")).total_matches == (100 if swapped else 107)
