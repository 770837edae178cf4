"""What texts mean, as vectors."""

import sys
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.errors import RightCallError
from rightcall.router import vectors
from rightcall.router.lexical import Fields
from rightcall.router.toolset import ToolIndex
from rightcall.router.vectors import REQUEST_PIECES, SIZE, Pieces, Stack, embed_request, embed_tool, mean, near, table


@pytest.mark.promise("T-03")
def test_a_request_lies_near_the_tool_it_means_without_a_common_word() -> None:
    asked = embed_request("do I need an umbrella tomorrow?")
    forecast = embed_tool(Fields("get_forecast", "Weather forecast for a city.", (("city", ""),)))
    hotel = embed_tool(Fields("book_room", "Reserve a hotel room.", (("guests", ""),)))
    assert near(asked, forecast) > near(asked, hotel) + 0.1


def test_vectors_have_length_one_and_an_empty_text_is_no_direction() -> None:
    assert near(embed_request("a city"), embed_request("a city")) == pytest.approx(1.0, abs=1e-6)
    assert embed_request("A CITY") == embed_request("a city")
    assert not any(embed_request(""))
    assert near(mean([embed_request("a city"), embed_request("a town")]), embed_request("a city")) > 0.5


@pytest.mark.parametrize("text", ["", "a city", "find TODO comments in src/app.py", "word " * 90, "Größe: 12,3 %"])
def test_a_vector_is_the_same_whether_numpy_is_loaded_or_not(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import_module("numpy")
    sooner = table().embed(text, REQUEST_PIECES)
    monkeypatch.delitem(sys.modules, "numpy")
    assert table().embed(text, REQUEST_PIECES) == sooner


@given(st.text())
def test_any_text_has_a_vector(text: str) -> None:
    vector = table().embed(text + "\ud800", REQUEST_PIECES)
    assert len(vector) == SIZE
    assert near(vector, vector) < 1.001


def test_a_word_that_is_not_known_is_taken_apart() -> None:
    whole = table().pieces("kubernetesification", 10)
    assert len(whole) > 1
    assert table().pieces("x" * 100, 10) == []


def test_an_index_has_the_vectors_that_plain_python_has() -> None:
    fields = Fields("get_forecast", "Weather forecast for a city.", (("city", ""),))
    assert vectors.rows_of([fields])[0].tolist() == pytest.approx(list(embed_tool(fields)), abs=1e-3)


@given(st.lists(st.text(), min_size=1, max_size=30), st.text())
def test_a_stack_of_vectors_gives_their_cosines(texts: list[str], text: str) -> None:
    each, asked = [table().embed(one, REQUEST_PIECES) for one in texts], table().embed(text, REQUEST_PIECES)
    assert Stack(each).near(asked) == pytest.approx([near(one, asked) for one in each], abs=5e-3)


@pytest.mark.promise("T-03")
def test_without_the_extra_an_index_finds_tools_by_their_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "find_spec", lambda name: None)
    assert not vectors.available()
    assert vectors.digest() == ""
    index = ToolIndex([{"name": "get_weather"}, {"name": "add_numbers"}])
    assert not index.meaning
    assert [hit.name for hit in index.search("the weather, please")] == ["get_weather"]


def test_a_table_of_another_version_is_refused() -> None:
    with pytest.raises(RightCallError, match="of another version"):
        Pieces(b"rightcall-vectors 9 1 256 0\n")
