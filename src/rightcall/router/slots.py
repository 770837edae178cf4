"""Which required arguments of a tool a request seems to hold a value for, by what kind of value each one wants.

Every value serves one argument: two dates are needed for the start and the end of a journey. No value is taken from
here: whether the user has to be asked back is all it helps to tell.
"""

import re
from typing import Any

from msgspec import Struct

from rightcall.catalog.tidy import as_list, as_schema
from rightcall.router.lexical import ToolText, choices_of

LONGEST = 2_000
"""Characters of a request that are looked at."""

FILLED = 0.5
"""From here on an argument counts as given."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NUMBER = re.compile(r"(?<![\w.])[-+$€£]?\d[\d,.]*(?!\d|[:/]|-\d)")
_NUMBER_WORDS = _words(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million dozen half "
    "couple single double alone myself once twice first second third"
)
_QUOTED = re.compile(r"['\"“”‘’`«][^'\"“”’`»]{1,80}['\"“”’`»]")
_NAMED = re.compile(r"(?<=[\w,;:] )[A-Z][\w'-]*(?: (?:of |the |and )?[A-Z][\w'-]*)*")
_CODE = re.compile(r"\b(?=\w*[\d_])(?=\w*[A-Za-z])[\w-]{3,}\b|\b\d{3,}\b|\b[A-Z]#")
_LETTERS = re.compile(r"\b[A-Z]{2,6}\b")
_MONTHS = (
    r"jan(?:uary)?|feb(?:ruary)?|march|april|may|june|july|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|"
    r"dec(?:ember)?"
)
_WHOLE_DATE = re.compile(
    rf"\b\d{{1,4}}[-/]\d{{1,2}}(?:[-/]\d{{1,4}})?\b|\b\d{{1,4}}\.\d{{1,2}}\.\d{{1,4}}\b|"
    rf"(?:\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?)?\b(?:{_MONTHS})\b(?:\s+\d{{1,2}}(?:st|nd|rd|th)?\b)?(?:,?\s+\d{{4}})?|"
    r"\b(?:next |this |last |on )?(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:today|tonight|tomorrow|yesterday|"
    r"weekend|now)\b|\b(?:next|last|this|past) (?:day|week|month|year|quarter)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b|\b\d{1,2}(?:st|nd|rd|th)\b")
"""A date as well as a number."""
_TIME = re.compile(
    r"\b\d{1,2}:\d\d|\b\d{1,2}\s?(?:[ap]\.?m\b|o'?clock)|\b(?:noon|midnight|morning|afternoon|evening|"
    r"now|hours?|minutes?)\b",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"\b(?:in|at|near|from|to|for|around|of|is|between|and)\s+(?:the\s+)?[A-Z][\w'-]*(?:\s[A-Z][\w'-]*)*(?:,\s?[A-Z]\w+)?|"
    r"\b\d+\s[A-Z]\w+\s\w+"
)
_PHRASE = re.compile(
    r"\b(?:in|near|from|to|of|at|on|for|about|with)\s+(?:the\s+|my\s+)?"
    r"(?!the\b|my\b|an?\b|your\b|this\b|that\b|order\b|it\b|for\b|our\b|all\b|be\b|me\b|some)[a-z]{3,}"
)
"""A name in small letters: in the kitchen, near berkeley."""
_FROM = re.compile(r"\b(?:from|between)\b", re.IGNORECASE)
_ADDRESS = re.compile(r"\S+@\S+\.\w+")
_LINK = re.compile(r"https?://|www\.|\b[\w-]+\.(?:com|org|net|io|edu|gov|dev|ai|co)\b")
_FILE = re.compile(r"[\w~.-]*/[\w./-]+|\b[\w-]+\.[a-z]\w{1,4}\b|[A-Z]:\\")
_SMALL = re.compile(r"[a-z]+")
_LISTED = re.compile(r",|\band\b|\[|\bor\b", re.IGNORECASE)

_KINDS: tuple[tuple[str, frozenset[str]], ...] = (
    ("free", _words("query text content message question prompt body search keyword keywords sentence input command "
                    "topic expression note task term")),
    ("address", _words("email mail")),
    ("link", _words("url uri link website domain endpoint site")),
    ("file", _words("file filename path folder directory filepath dir")),
    ("code", _words("id uuid key token code number symbol ticker isbn sku password username user account")),
    ("origin", _words("origin from departure start")),
    ("place", _words("city location place country state destination area airport station zip address region town where "
                     "arrival to loc end")),
    ("time", _words("time hour when")),
    ("date", _words("deadline check checkin checkout dob until begin season")),
)  # fmt: skip
"""What a word of an argument's name says of its value; the first that has one decides."""

_WHEN = frozenset(("date", "time", "day", "year", "month"))
_MEASURE = _words("unit units currency language format type frame zone timezone limit offset page per size sort order")
"""Said in passing, in words that no pattern knows."""
_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


class Counts(dict[str, int]):
    """How many values of a kind stand in a request. Each kind is looked for when it is first asked for: most tools want
    two or three."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.undated = _WHOLE_DATE.sub(" ", text)

    def __missing__(self, kind: str) -> int:
        if kind == "number":
            said = sum(word in _NUMBER_WORDS for word in _SMALL.findall(self.text.lower()))
            count = len(_NUMBER.findall(self.undated)) + said
        elif kind == "date":
            count = len(_WHOLE_DATE.findall(self.text)) + len(_YEAR.findall(self.undated))
        else:
            pattern, dated = _PATTERNS[kind]
            count = len(pattern.findall(self.text if dated else self.undated))
        self[kind] = count
        return count


_PATTERNS: dict[str, tuple[re.Pattern[str], bool]] = {
    "quoted": (_QUOTED, True),
    "named": (_NAMED, False),
    "code": (_CODE, False),
    "letters": (_LETTERS, False),
    "time": (_TIME, True),
    "place": (_PLACE, False),
    "phrase": (_PHRASE, False),
    "address": (_ADDRESS, True),
    "link": (_LINK, True),
    "file": (_FILE, True),
}
"""What a value of each kind looks like, and whether dates may be part of it."""


class _Left(dict[str, int]):
    """What is left of the values while arguments take them."""

    def __init__(self, counts: Counts) -> None:
        super().__init__()
        self.counts = counts

    def __missing__(self, kind: str) -> int:
        self[kind] = self.counts[kind]
        return self[kind]


class Values(Struct, frozen=True, eq=False):
    """What a request offers."""

    small: str
    counts: Counts
    leaves: bool
    """Whether it says from where."""
    talks: bool
    """Long enough to hold a text of its own."""
    foreign: bool
    """Mostly in another script, where capitals tell nothing."""


def values_in(text: str) -> Values:
    """
    >>> counts = values_in("Book a table for 4 at Chez Panisse in Berkeley tomorrow").counts
    >>> [(kind, counts[kind]) for kind in ("number", "named", "date", "place", "file")]
    [('number', 1), ('named', 2), ('date', 1), ('place', 2), ('file', 0)]
    """
    text = text[:LONGEST]
    small = text.lower()
    return Values(small, Counts(text), bool(_FROM.search(text)), len(small.split()) > 5, _is_foreign(text))


def _is_foreign(text: str) -> bool:
    if text.isascii():
        return False
    letters = sum(map(str.isalpha, text))
    return sum(char.isascii() and char.isalpha() for char in text) < letters / 2


class Wanted(Struct, frozen=True):
    """A required argument: the kind of value it wants."""

    name: str
    kind: str
    choices: tuple[str, ...] = ()


def wanted_arguments(tool: ToolText) -> tuple[Wanted, ...]:
    """The required arguments of a tool, as far as its schema tells."""
    properties = as_schema(tool.parameters.get("properties"))
    required = [name for name in as_list(tool.parameters.get("required")) if isinstance(name, str)]
    return tuple(_wanted(name, as_schema(properties.get(name))) for name in required[:50] if name in properties)


def _wanted(name: str, schema: dict[str, Any]) -> Wanted:
    choices = tuple(str(value).lower() for value in choices_of(schema)[:50] if value is not None)
    kind = schema.get("type")
    if choices:
        return Wanted(name, "choice", choices)
    pieces = {piece.lower() for piece in _PIECES.findall(name)}
    if pieces & _MEASURE:
        return Wanted(name, "boolean")
    if kind in ("integer", "number", "float"):
        return Wanted(name, "year" if pieces & {"year", "season"} else "number")
    if kind == "boolean":
        return Wanted(name, "boolean")
    if kind in ("array", "list", "tuple"):
        return Wanted(name, "list")
    if pieces & _WHEN:
        return Wanted(name, "time" if "time" in pieces and "date" not in pieces else "date")
    return Wanted(name, next((kind for kind, names in _KINDS if pieces & names), "any"))


def filled_shares(arguments: tuple[Wanted, ...], values: Values) -> list[float]:
    """For each argument how surely the request holds its value, 0 to 1."""
    left = _Left(values.counts)
    held: dict[str, float] = {}
    for one in sorted(arguments, key=lambda one: one.kind in _UNDEMANDING):  # who takes anything takes what is left
        held[one.name] = _filled(one, values, left)
    return [held[one.name] for one in arguments]


def exact(arguments: tuple[Wanted, ...], held: list[float]) -> int:
    """How many arguments of a telling kind have a value of that very kind."""
    return sum(share == 1.0 and one.kind in _TELLING for one, share in zip(arguments, held, strict=True))


def _filled(one: Wanted, values: Values, left: dict[str, int]) -> float:
    match one.kind:
        case "choice":
            return 1.0 if any(choice and choice in values.small for choice in one.choices) else 0.4
        case "boolean":  # or what is as easily said in passing
            return 0.6
        case "list":
            several = left["number"] > 1 or left["quoted"] or _LISTED.search(values.small)
            return 1.0 if several else 0.4
        case "free":
            return 1.0 if _take(left, "quoted") or values.talks else 0.5
        case "origin":
            return 1.0 if values.leaves and _take(left, "place", "named") else 0.6 if values.foreign else 0.1
        case _:
            return _one_of(one.kind, values, left)


_TELLING = frozenset(("file", "link", "address", "date", "time", "code", "choice", "number"))
_UNDEMANDING = frozenset(("any", "free", "code"))
_SERVES: dict[str, tuple[str, ...]] = {
    "number": ("number",),
    "date": ("date",),
    "year": ("date", "number"),
    "time": ("time",),
    "address": ("address",),
    "link": ("link",),
    "file": ("file", "quoted"),
    "place": ("place",),
    "code": ("code", "quoted", "address"),
    "any": ("quoted", "named", "address"),
}
_INSTEAD: dict[str, tuple[str, ...]] = {
    "place": ("named", "quoted", "phrase", "address"),
    "time": ("date",),
    "any": ("code", "number", "phrase"),
    "file": ("named",),
    "link": ("named", "quoted"),
    "code": ("letters", "named"),
}
"""What may serve for want of better, and then counts half."""


def _one_of(kind: str, values: Values, left: dict[str, int]) -> float:
    if _take(left, *_SERVES[kind]):
        return 1.0
    if _take(left, *_INSTEAD.get(kind, ())):
        return FILLED
    if values.foreign and kind in _INSTEAD:
        return 0.6
    if kind == "place" and values.counts["place"]:  # a city often says its state
        return 0.4
    return 0.4 if kind == "any" and values.talks else 0.0


def _take(left: dict[str, int], *kinds: str) -> bool:
    """Whether there was one of these, which is used up then. A place is a name too."""
    for kind in kinds:
        if left[kind] > 0:
            left[kind] -= 1
            if kind == "place":
                left["named"] -= 1
            return True
    return False
