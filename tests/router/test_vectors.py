"""What texts mean, as vectors."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.errors import RightCallError
from rightcall.router import vectors
from rightcall.router.index import ToolIndex


@pytest.fixture
def without_extra(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As where wordllama was never installed."""
    monkeypatch.setattr(vectors, "find_spec", lambda name: None)
    monkeypatch.setattr(vectors, "_loaded", [])
    vectors._folder.cache_clear()
    yield
    vectors._folder.cache_clear()


@pytest.mark.promise("T-03")
def test_texts_of_one_meaning_are_nearer_than_others() -> None:
    sunny, forecast, hotel = vectors.embed(
        ["Will it rain in Paris?", "weather forecast for a city", "reserve a hotel room"]
    )
    assert sunny @ forecast > sunny @ hotel + 0.05


def test_rows_have_length_one_and_an_empty_text_is_no_direction() -> None:
    rows = vectors.embed(["a city", "A CITY", ""])
    assert rows.shape == (3, vectors.SIZE)
    assert rows[0] @ rows[0] == pytest.approx(1.0, abs=1e-4)
    assert rows[0].tolist() == rows[1].tolist()
    assert not rows[2].any()


@given(st.lists(st.text(), max_size=3))
def test_any_text_has_a_vector(texts: list[str]) -> None:
    rows = vectors.embed([*texts, "\ud800 alone"])
    assert rows.shape == (len(texts) + 1, vectors.SIZE)
    assert all(float(row @ row) < 1.001 for row in rows)


def test_the_package_that_brings_the_files_is_never_imported() -> None:
    vectors.embed(["anything"])
    assert "wordllama" not in sys.modules


@pytest.mark.promise("T-03")
def test_without_the_extra_tools_are_found_by_their_words(without_extra: None) -> None:
    assert not vectors.available()
    assert vectors.digest() == ""
    index = ToolIndex([{"name": "get_weather"}, {"name": "add_numbers"}])
    assert not index.meaning
    assert [hit.name for hit in index.search("the weather, please")] == ["get_weather"]
    with pytest.raises(RightCallError, match=r'pip install "rightcall\[route\]"'):
        vectors.embed(["anything"])


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    head = b'{"embedding.weight":{"dtype":"I8","shape":[4,256],"data_offsets":[0,1024]}}'
    file = tmp_path / "weights.safetensors"
    file.write_bytes(len(head).to_bytes(8, "little") + head + bytes(1024))
    with pytest.raises(RightCallError, match=r"holds I8 of \[4, 256\]; right is F16"):
        vectors._read_weights(file)
