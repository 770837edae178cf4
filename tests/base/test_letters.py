"""Letters that look like others: names that look alike are one, and no two texts that a person decides about do."""

import re
from unicodedata import bidirectional, category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.base.letters import folded, quoted, right_to_left_words, skeleton, suspicions, visible
from support.every import every

ESCAPE = re.compile(r"\\(\\|n|r|t|u[0-9a-f]{4}(?:\\u[0-9a-f]{4})*|)", re.DOTALL)
NASTY = "\\nrtu\"' \t\r\n\x1b\x00\u200b\u202e\u2066\ud800a0é1\u0301\u05d0\u0661\ufe0f\u3164│≈─\U0001f600\U000e0041"
texts = st.text(st.one_of(st.sampled_from(NASTY), st.characters()), max_size=40)


def meant(shown: str) -> str:
    """What a reader takes a shown line for."""

    def one(match: re.Match[str]) -> str:
        word = match[1]
        if word[:1] == "u":
            return bytes.fromhex(word.replace("\\u", "")[1:]).decode("utf-16-be", "surrogatepass")
        return {"\\": "\\", "n": "\n", "r": "\r", "t": "\t", "": "\\"}[word]

    return ESCAPE.sub(one, shown)


@pytest.mark.promise("P-06", "A-07")
@given(texts)
def test_what_is_shown_means_exactly_the_text(text: str) -> None:
    assert meant(visible(text)).encode("utf-16", "surrogatepass") == text.encode("utf-16", "surrogatepass")
    inside = quoted(text)[1:-1]
    assert '"' not in inside
    assert meant(inside).encode("utf-16", "surrogatepass") == text.encode("utf-16", "surrogatepass")


@pytest.mark.promise("P-06", "A-07")
@given(texts)
def test_nothing_is_shown_that_hides_turns_or_moves(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable()
    assert not {bidirectional(one) for one in shown} & {
        "R",
        "AL",
        "AN",
        "RLO",
        "LRO",
        "RLE",
        "LRE",
        "RLI",
        "LRI",
        "FSI",
    }
    assert not shown.endswith(" ")


@pytest.mark.promise("P-06", "A-07")
@every(
    ("text", "shown"),
    [
        ("plain text", "plain text"),
        ("C:\\data\\x", "C:\\data\\x"),
        ("C:\\users\\new", "C:\\\\users\\\\new"),
        ("\\d+\\.py", "\\d+\\.py"),
        ("\x1b[2K\rsafe", "\\u001b[2K\\rsafe"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u200bb\u00adc", "a\\u200bb\\u00adc"),
        ("a\u3164\u2800b", "a\\u3164\\u2800b"),
        ("a\u00a0b\u3000c", "a\\u00a0b\\u3000c"),
        ("naïve Привет 日本", "naïve Привет 日本"),
        ("⚠️", "⚠\\ufe0f"),
        ("אב", "\\u05d0\\u05d1"),
        ("end ", "end\\u0020"),
        ("a\\ ", "a\\\\\\u0020"),
        ("\U000e0041", "\\udb40\\udc41"),
    ],
)
def test_each_kind_of_character_is_shown_or_spelled_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.promise("P-06", "A-07")
def test_marks_stay_on_their_letter_but_do_not_pile_up() -> None:
    assert visible("x\u0301") == "x\u0301"
    assert visible("x\u0301\u0302\u0303") == "x\u0301\u0302\\u0303"
    assert visible("\u0301a") == "\\u0301a"
    assert visible(" \u0301a") == " \\u0301a"
    assert visible("a\u20dd") == "a\\u20dd"  # encloses what is around it
    assert sum(one == "\u0335" for one in visible("x" + "\u0335" * 1000)) == 2


@pytest.mark.promise("P-06", "A-07")
@given(texts, st.integers(8, 40))
def test_rows_together_are_the_text_and_none_is_wider_than_the_terminal(text: str, width: int) -> None:
    shown = visible(text)
    rows = folded(shown, width)
    assert "".join(rows) == shown
    for row in rows:
        drawn = [one for one in row if category(one) not in ("Mn", "Mc")]
        assert sum(1 if one.isascii() else 2 for one in drawn) <= width


@pytest.mark.promise("P-06", "A-07")
def test_a_mark_never_starts_a_row() -> None:
    rows = folded("aaaaaaa" + "x\u0301" * 10, 8)
    assert not any(row.startswith("\u0301") for row in rows)


@pytest.mark.promise("P-06", "A-07")
def test_of_two_spellings_that_look_the_same_the_unusual_one_is_spelled_out() -> None:
    assert visible("\u00e9") == "\u00e9"
    assert visible("e\u0301") == "e\\u0301"
    assert visible("\u212b \u1112\u1161") == "\\u212b \u1112\\u1161"


@pytest.mark.promise("P-06", "A-07")
def test_words_from_the_right_are_told_apart() -> None:
    assert right_to_left_words("x שלום/עולם 1") == ["שלום", "עולם"]
    assert right_to_left_words("plain") == []
    assert right_to_left_words("\u202e\u061c") == []


@pytest.mark.promise("P-06")
@every(
    "twin",
    ["Teacher", " teacher ", "tea cher", "t\u0435acher", "ｔｅａｃｈｅｒ", "teacher\u200b", "te\u0301acher", "𝐭𝐞𝐚𝐜𝐡𝐞𝐫",
     "TEACHER", "teacher.", "te\u00adacher", "\u202eteacher", "tеасhеr", "ⓣeacher"],
)  # fmt: skip
def test_a_name_that_looks_the_same_is_the_same(twin: str) -> None:
    assert skeleton(twin) == skeleton("teacher")


@pytest.mark.promise("P-06")
@every(
    "nothing", [*"\u3164\u115f\u1160\uffa0\ufe0f\u034f\u2800\u17b4\u180e\u02bc\u0640\u0378", "\U000e0100", "\U0001d173"]
)
def test_what_cannot_be_seen_makes_no_other_name(nothing: str) -> None:
    assert {skeleton(name) for name in (f"teacher{nothing}", f"{nothing}teacher", f"te{nothing}acher")} == {"teacher"}
    assert skeleton(nothing) == ""


@pytest.mark.promise("P-06")
@pytest.mark.parametrize("twin", ["ᴛᴇᴀᴄʜᴇʀ", "ꓔꓰꓮꓚꓧꓰꓣ", "ᎢᎬᎪᏟᎻᎬᎡ"])
def test_letters_that_are_drawn_as_latin_ones_are_those(twin: str) -> None:
    assert skeleton(twin) == "teacher"


@pytest.mark.promise("P-06")
def test_other_names_stay_other_names() -> None:
    names = [
        "teacher",
        "teacher2",
        "anna",
        "hanna",
        "root",
        "admin",
        "Ивáн",
        "田中",
        "müller",
        "miller",
        "ラーメン",
        "한글",
        "佐々木",
    ]
    assert len({skeleton(name) for name in names}) == len(names)


@pytest.mark.promise("P-06")
@every(
    ("text", "told"),
    [
        ("p\u0430ypal", "letters of different alphabets in one word: p\\u0430ypal"),
        ("see docs/re\u0430d.md now", "letters of different alphabets in one word: re\\u0430d"),
        ("сор", "foreign letters that all look like Latin ones: \\u0441\\u043e\\u0440"),
        ("ｒｍ -rf", "letters that only look like plain ones: \\uff52\\uff4d"),
        ("docs∕secret", "signs that look like others: \\u2215 like /"),
        ("a‥b", "signs that look like others: \\u2025 like .."),
    ],
)
def test_a_text_that_plays_with_letters_is_pointed_out_in_plain_ascii(text: str, told: str) -> None:
    found = list(suspicions(text))
    assert found == [told]
    assert told.isascii()


@pytest.mark.promise("P-06")
@every(
    "text",
    [
        "plain",
        "Ich möchte Äpfel",
        "Привет, это обычный текст",
        "日本語とEnglish",
        "naïve café",
        "Ω and 5 µm",
        "שלום",
        "🙂 fine",
    ],
)
def test_an_ordinary_text_is_not(text: str) -> None:
    assert list(suspicions(text)) == []


@pytest.mark.promise("P-06")
def test_many_odd_words_are_counted_and_only_some_named() -> None:
    (told,) = suspicions(" ".join(f"p\u0430y{number}" for number in range(1000)))
    assert told.endswith("and 997 more")
    assert len(told) < 200
