"""Names that look alike are one name; a text that plays with letters is pointed out, an ordinary one is not."""

import pytest

from rightcall.base.letters import skeleton, suspicions

pytestmark = pytest.mark.promise("P-06")


@pytest.mark.parametrize(
    "twin",
    ["Teacher", " teacher ", "tea cher", "t\u0435acher", "ｔｅａｃｈｅｒ", "teacher\u200b", "te\u0301acher", "𝐭𝐞𝐚𝐜𝐡𝐞𝐫",
     "TEACHER", "teacher.", "te\u00adacher", "\u202eteacher", "tеасhеr", "ⓣeacher"],
)  # fmt: skip
def test_a_name_that_looks_the_same_is_the_same(twin: str) -> None:
    assert skeleton(twin) == skeleton("teacher")


@pytest.mark.parametrize(
    "nothing", [*"\u3164\u115f\u1160\uffa0\ufe0f\u034f\u2800\u17b4\u180e\u02bc\u0640\u0378", "\U000e0100", "\U0001d173"]
)
def test_what_cannot_be_seen_makes_no_other_name(nothing: str) -> None:
    assert {skeleton(name) for name in (f"teacher{nothing}", f"{nothing}teacher", f"te{nothing}acher")} == {"teacher"}
    assert skeleton(nothing) == ""


@pytest.mark.parametrize("twin", ["ᴛᴇᴀᴄʜᴇʀ", "ꓔꓰꓮꓚꓧꓰꓣ", "ᎢᎬᎪᏟᎻᎬᎡ"])
def test_letters_that_are_drawn_as_latin_ones_are_those(twin: str) -> None:
    assert skeleton(twin) == "teacher"


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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


def test_many_odd_words_are_counted_and_only_some_named() -> None:
    (told,) = suspicions(" ".join(f"p\u0430y{number}" for number in range(1000)))
    assert told.endswith("and 997 more")
    assert len(told) < 200
