"""Where a text is cut."""

from hypothesis import given
from hypothesis import strategies as st

from rightcall.executor.present.trim import cut_text, quoted_text


@given(st.text('a\\"\n\x01ü😀u0', max_size=14), st.integers(-1, 40))
def test_a_text_is_cut_where_its_json_fits_exactly(text: str, room: int) -> None:
    fits = [end for end in range(len(text) + 1) if len(quoted_text(text[:end])) - 2 <= max(room, 0)]
    kept, _ = cut_text(text, room, as_json=True)
    end = min(max(fits), max(room, 0))
    assert kept.removesuffix("…") == text[: len(kept.removesuffix("…"))]
    assert len(quoted_text(kept)) - 2 <= max(room, 0) + 2
    if "\n" not in text:
        assert len(kept) == (end if end == len(text) or end > 1 else 0)
