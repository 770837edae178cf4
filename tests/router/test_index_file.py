"""Indexes as files."""

from pathlib import Path

import pytest

from rightcall.errors import StoreError
from rightcall.router import vectors
from rightcall.router.lexical import ToolText
from rightcall.router.toolset import ToolIndex

pytestmark = pytest.mark.promise("T-03")
TOOLS = [
    ToolText("get_weather", "The forecast for a city.", {"properties": {"city": {"type": "string"}}}),
    ToolText("book_hotel", "Reserves a room."),
    ToolText("play_music", "Plays a song."),
]
REQUESTS = ("the forecast for Rome", "a room for two", "a song", "rain")


@pytest.mark.parametrize("meaning", [True, False])
def test_a_saved_index_finds_the_same(tmp_path: Path, meaning: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    index = ToolIndex([ToolText("gone"), *TOOLS], meaning=meaning)
    index.remove("gone")
    index.save(tmp_path / "tools.index")
    monkeypatch.setattr(vectors, "available", lambda: meaning)
    again = ToolIndex.load(tmp_path / "tools.index")
    assert again.tools() == TOOLS
    assert again.meaning == meaning
    for text in REQUESTS:
        assert [(hit.name, hit.why) for hit in again.search(text)] == [
            (hit.name, hit.why) for hit in index.search(text)
        ]
    again.add(ToolText("tell_joke"))
    assert again.remove("get_weather")
    assert again.search("a joke")[0].name == "tell_joke"


def test_vectors_of_other_weights_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(vectors, "digest", lambda: "others")
        ToolIndex(TOOLS).save(tmp_path / "tools.index")
    again = ToolIndex.load(tmp_path / "tools.index")
    assert again.meaning
    assert again.search("rain") == ToolIndex(TOOLS).search("rain")


def test_one_saved_without_the_extra_finds_by_meaning_where_there_is_one(tmp_path: Path) -> None:
    ToolIndex(TOOLS, meaning=False).save(tmp_path / "tools.index")
    assert ToolIndex.load(tmp_path / "tools.index").search("rain")[0].meaning > 0.1


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: b"", "is not a tool index"),
        (lambda data: b"\x80\x04 a pickle", "is not a tool index"),
        (lambda data: data.replace(b"-index 1", b"-index 9", 1), "of another version or machine"),
        (lambda data: data[:-7], "is damaged"),
        (lambda data: data + b"more", "is damaged"),
        (lambda data: data[:40], "is damaged"),
        (lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:], r"is damaged \(its check does not fit\)"),
    ],
)
def test_a_damaged_or_foreign_file_is_refused_clearly(tmp_path: Path, damage: object, message: str) -> None:
    file = tmp_path / "tools.index"
    ToolIndex(TOOLS).save(file)
    file.write_bytes(damage(file.read_bytes()))  # type: ignore[operator]
    with pytest.raises(StoreError, match=message):
        ToolIndex.load(file)


def test_a_file_that_is_not_there_and_a_folder_that_is_not_are_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be read: No such file"):
        ToolIndex.load(tmp_path / "none")
    with pytest.raises(StoreError, match="cannot be saved to"):
        ToolIndex(TOOLS).save(tmp_path / "nowhere" / "tools.index")
