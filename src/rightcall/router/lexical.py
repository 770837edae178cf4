"""Finding tools by their words: BM25 over the fields of a tool, as lists from word to tools.

What a word of a tool counts is settled when the tool is added, against usual lengths of the fields and not the
catalogue's average: so adding one tool changes nothing of the others. Only how rare a word is, is asked at the search.
"""

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import nlargest
from importlib.resources import files
from math import log
from typing import Any, cast

from msgspec import Struct, json

from rightcall.base.json.marks import is_object
from rightcall.catalog.sources import flatten, read_definitions
from rightcall.catalog.tidy import as_list, as_schema, parts

# ── words ──
# The words of tools and requests: what is compared when a tool is looked for.
#
# A tool is read from any definition as text only: nothing is compiled, and a schema that no gate could use still has
# names and descriptions. Words are split, lowered and cut to a stem, so that `getForecasts`, `forecast` and
# `forecasting` meet.

LONGEST_TEXT = 8_000
"""Characters of a request or a description that are looked at; what stands behind them changes no ranking."""
MOST_PARAMETERS = 200
DEEPEST = 6

_WORD = re.compile(r"[^\W_]+")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_WITHOUT_SPACES = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_SCHEMA_WORDS = frozenset(("type", "properties", "required", "$schema", "$defs", "additionalProperties", "title"))

_SPOKEN = re.compile(r"[^\W_]+|\?")
_MOST_SPOKEN = 120

STOP_WORDS = frozenset(
    """
    a about above after again against all also am an and any are as at be because been before being below between both
    but by can could d did do does doing don down during each few for from further had has have having he her here hers
    him his how i if in into is it its itself just let ll m me more most my myself need no nor not now of off on once
    only or other our ours out over own please re s same she should so some such t than that the their theirs them then
    there these they this those through to too under until up ve very want was we were what when where which while who
    whom why will with would you your yours yourself
    """.split()  # noqa: SIM905 - a paragraph is read more easily than a list
)


class ToolText(Struct, frozen=True):
    """A tool as it reads: enough to find it, never enough to run it."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}
    """The JSON Schema of its arguments, as given."""
    examples: tuple[str, ...] = ()
    """Requests that want it, in people's words."""


class Fields(Struct, frozen=True):
    """The texts of a tool, by where they stand."""

    name: str
    description: str
    arguments: tuple[tuple[str, str], ...]
    """Name and description of each argument, those inside objects too."""
    choices: tuple[str, ...] = ()
    """Values that an argument may have."""


def tool_texts(tools: Any) -> list[ToolText]:
    """The tools in anything that `Gate` takes: dicts of the model APIs, Python functions, our own records.

    >>> [tool.name for tool in tool_texts([{"type": "function", "function": {"name": "add"}}, {"name": "sum"}])]
    ['add', 'sum']
    """
    if isinstance(tools, ToolText):
        return [tools]
    if isinstance(tools, (list, tuple)) and all(isinstance(tool, ToolText) for tool in cast("Iterable[Any]", tools)):
        return list(cast("Iterable[ToolText]", tools))
    found: list[ToolText] = []
    for number, raw in enumerate(flatten(tools), 1):
        item = list(raw) if isinstance(raw, tuple) else raw
        found += [
            ToolText(
                definition.name, definition.description or "", as_schema(definition.schema), definition.rules.examples
            )
            for definition in read_definitions(item, number)
        ]
    return found


def fields_of(tool: ToolText) -> Fields:
    arguments: list[tuple[str, str]] = []
    choices: list[str] = []
    for name, schema in _arguments(tool.parameters):
        arguments.append((name, _text(schema.get("description"))))
        choices += [value for value in choices_of(schema) if isinstance(value, str)]
        if len(arguments) >= MOST_PARAMETERS:
            break
    return Fields(tool.name, _text(tool.description), tuple(arguments), tuple(choices))


def choices_of(schema: dict[str, Any]) -> list[Any]:
    """The values that a schema lists, also within alternatives: one that may be null as well, or each with a text.

    >>> choices_of({"anyOf": [{"enum": ["red", "blue"]}, {"const": "any"}, {"type": "null"}]})
    ['red', 'blue', 'any']
    """
    either = (schema, *filter(is_object, (*as_list(schema.get("anyOf")), *as_list(schema.get("oneOf")))))
    return [value for one in either for value in (*as_list(one.get("enum"))[:50], *_const(one))]


def _const(schema: dict[str, Any]) -> list[Any]:
    return [schema["const"]] if "const" in schema else []


def _text(value: object) -> str:
    return value[:LONGEST_TEXT] if isinstance(value, str) else ""


def _arguments(schema: dict[str, Any], depth: int = 0) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every named argument with its schema, those inside others after them."""
    if depth == 0 and schema and not (schema.keys() & _SCHEMA_WORDS) and all(map(is_object, schema.values())):
        schema = {"properties": schema}  # a bare table of arguments
    if depth > DEEPEST:
        return
    inner: list[dict[str, Any]] = []
    for keyword, key, part in parts(schema):
        if isinstance(part, bool) or not is_object(part):
            continue
        if keyword == "properties":
            yield str(key), part
        inner.append(part)
    for part in inner:
        yield from _arguments(part, depth + 1)


def name_words(name: str) -> list[str]:
    """The stems of a name, `get` and its like included: the ranking knows how little they say.

    >>> name_words("weather.getForecasts_byCity")
    ['weath', 'get', 'forecast', 'by', 'citi']
    """
    pieces = _PIECE.findall(name[:LONGEST_TEXT])
    if not name.isascii():
        pieces = [part for piece in pieces for part in _unspaced(piece)]
    return [stem(piece.lower()) for piece in pieces]


def words(text: str) -> list[str]:
    """The stems of a text in order, without the words that every sentence has.

    >>> words("What's the weather like in São Paulo, and the air_quality?")
    ['weath', 'lik', 'são', 'paulo', 'air', 'qualiti']
    """
    return [root for root, _ in spelled_words(text)]


def spelled_words(text: str) -> list[tuple[str, str]]:
    """The same stems, each with the word as it is written in the text."""
    found: list[tuple[str, str]] = []
    for word in _WORD.findall(text[:LONGEST_TEXT]):
        pieces: Iterable[str] = (word,)
        if not word.isascii():
            pieces = _unspaced(word)
        elif not (word.islower() or word.isupper() or word.istitle() or word.isdigit()):
            pieces = _PIECE.findall(word)
        found += [(stem(small), piece) for piece in pieces if (small := piece.lower()) not in STOP_WORDS]
    return found


_SITES = frozenset(("com", "org", "net", "io", "edu", "gov", "dev", "ai", "co"))
_HEX = re.compile(r"(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{6,40}")
_IDENTIFIER = re.compile(r"[a-z]{2,}[0-9]*[A-Z]|[A-Z][a-z0-9]+[A-Z][a-z0-9]+[A-Z]")
"""camelCase, or three words in one: two are a brand as often."""
_TICKET = re.compile(r"\b[A-Z]{2,10}-[0-9]{2,}|(?<!\w)#[0-9]+|\w@\w")
_AROUND = ".,;:!?()[]{}<>\"'`“”‘’…"


def name_values(text: str) -> str:
    """The request with the kind of each technical value in its place: which file or function is meant tells nothing of
    the tool, and that it is one tells much.

    >>> name_values("who calls parse_line() in src/app.py:12, since 3fa91bc?")
    'who calls function in file since commit?'
    """
    words = text.split()
    return " ".join([kind + "?" * word.endswith("?") if (kind := _kind_of(word)) else word for word in words])


def _kind_of(word: str) -> str | None:
    core = word.strip(_AROUND)
    if "()" in word:
        return "function"
    if core.isalpha() and (core.islower() or not _IDENTIFIER.match(core)):  # as most are
        return None
    if "://" in core:
        return "link"
    if "/" in core:
        return "file" if any(part[:1].isalpha() and len(part) > 1 for part in core.split("/")) else None
    head, _, end = core.partition(":")[0].rpartition(".")
    if len(head) > 1 and 0 < len(end) < 6 and end[0].isalpha() and end.isalnum() and end.islower():
        return "link" if end in _SITES else "file"
    if _HEX.fullmatch(core):
        return "commit"
    return "function" if "_" in core.strip("_") or _IDENTIFIER.match(core) else None


def names_value(text: str) -> bool:
    """Whether a request names something that only a tool can look at: a file, an identifier, a commit, a ticket, an
    address.

    >>> names_value("what is OPS-411 about?"), names_value("what is love?")
    (True, False)
    """
    return bool(_TICKET.search(text)) or any(_kind_of(word) for word in text.split())


def spoken_words(text: str) -> tuple[list[str], list[str]]:
    """Every word and every pair of words, small ones too: "who" and "where" tell tools apart whose examples hold them.

    >>> spoken_words("Who owns src/app.py?")
    (['who', 'own', 'fil', '?'], ['^ who', 'who own', 'own fil', 'fil ?'])
    """
    found: list[str] = _SPOKEN.findall(name_values(text[:LONGEST_TEXT]).lower())[:_MOST_SPOKEN]
    stems = [word if word in STOP_WORDS else stem(word) for word in found]
    return stems, [f"{first} {second}" for first, second in zip(["^", *stems], stems, strict=False)]


_QUOTED = re.compile(r"""[`"“][^`"”]{2,80}[`"”]""")
_NUMBER = re.compile(r"\b\d+\b")


def heard_words(text: str) -> set[str]:
    """The same words and pairs, with values marked as no word of the request can be: a folder is none of the "files"
    that somebody speaks of, and a line, a quotation or a pattern tells more than its words.

    >>> sorted(heard_words("who wrote src/app.py:12"))
    ['^ who', 'who', 'who wrot', 'wrot', 'wrot xfile', 'xfile', 'xfile xline', 'xline']
    """
    marked = " ".join([_mark_of(word) for word in text[:LONGEST_TEXT].split()])
    marked = _NUMBER.sub("xnumber", _QUOTED.sub("xquote", marked))
    found = [word if word in STOP_WORDS or word in _MARKS else stem(word) for word in _SPOKEN.findall(marked.lower())][
        :_MOST_SPOKEN
    ]
    return {*found, *(f"{first} {second}" for first, second in zip(["^", *found], found, strict=False))}


_MARKS = frozenset(
    ("xfile", "xfolder", "xpattern", "xline", "xnumber", "xquote", "xfunction", "xlink", "xcommit")
)  # fmt: skip


def _mark_of(word: str) -> str:
    kind = _kind_of(word)
    if kind is None:
        return word
    core = word.strip(_AROUND)
    path, _, line = core.partition(":")
    if kind == "file" and "*" in core:
        kind = "pattern"
    elif kind == "file" and "." not in path.rpartition("/")[2].strip("."):
        kind = "folder"
    return f"x{kind}" + " xline" * line[:1].isdigit() + "?" * word.endswith("?")


def _unspaced(word: str) -> Iterable[str]:
    """Scripts without spaces: pairs of characters serve as words."""
    if not _WITHOUT_SPACES.search(word):
        return (word,)
    pieces: list[str] = []
    end = 0
    for run in _WITHOUT_SPACES.finditer(word):
        pieces += [word[end : run.start()]] if run.start() > end else []
        text = run.group()
        pieces += [text[at : at + 2] for at in range(max(1, len(text) - 1))]
        end = run.end()
    return [*pieces, word[end:]] if end < len(word) else pieces


_ENDINGS = (  # the longest first; what is left must keep so many letters
    ("ational", "at", 3), ("ization", "iz", 3), ("isation", "iz", 3), ("fulness", "", 4), ("ations", "at", 3),
    ("ation", "at", 3), ("ators", "at", 3), ("ator", "at", 3), ("ating", "at", 3), ("ated", "at", 3), ("ates", "at", 3),
    ("ate", "at", 3), ("izing", "iz", 3), ("ising", "iz", 3), ("ized", "iz", 3), ("ised", "iz", 3), ("ize", "iz", 3),
    ("ings", "", 3), ("ions", "", 4), ("ing", "", 3), ("ies", "i", 2), ("ied", "i", 2), ("ion", "", 4),
    ("ments", "ment", 3), ("ness", "", 4), ("ers", "", 4), ("est", "est", 3), ("ous", "ous", 3),
    ("sses", "ss", 1), ("xes", "x", 1), ("ches", "ch", 1), ("shes", "sh", 1), ("ed", "", 3), ("er", "", 4),
    ("ly", "", 4), ("ss", "ss", 0), ("us", "us", 1), ("is", "is", 1), ("es", "", 3), ("s", "", 3), ("y", "i", 2),
    ("e", "", 3),
)  # fmt: skip


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A word in small letters without its ending: no linguistics, the same cut on both sides.

    >>> [stem(word) for word in ("cities", "city", "calculate", "calculation", "booking", "book", "running")]
    ['citi', 'citi', 'calculat', 'calculat', 'book', 'book', 'run']
    """
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    for ending, instead, least in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= least:
            cut = word[: -len(ending)] + instead
            break
    else:
        return word
    doubled = not instead and len(cut) > 3 and cut[-1] == cut[-2] and cut[-1] not in "lsz"
    return cut[:-1] if doubled else cut


# ── how common words are ──
# How common a word is in general: the share of tools and of requests that hold it.
#
# A catalogue of three tools cannot tell that `find` says little and `thyroid` much, so every catalogue is counted as if
# so many general texts stood beside it. The table is made by scripts/train_index.py.

BESIDE = 1_000.0
"""General texts counted beside the catalogue's own: they decide for a few tools and matter little for thousands."""


class General(Struct, frozen=True):
    """What scripts/train_index.py writes."""

    made_from: str
    texts: int
    words: dict[str, int]
    """How many of so many texts hold a stem. Rarer ones are left out."""


@lru_cache(maxsize=1)
def general() -> General:
    return json.decode(files("rightcall.router").joinpath("weights", "words.json").read_bytes(), type=General)


@lru_cache(maxsize=20_000)
def share(stem: str) -> float:
    """The share of general texts that hold a stem."""
    table = general()
    return table.words.get(stem, 1) / table.texts


def rarity(stem: str, holding: int = 0, tools: int = 0) -> float:
    """How much a word tells: the more, the fewer texts hold it. `holding` of `tools` are the catalogue's own."""
    if not tools:
        return _rarity_in_general(stem)
    with_it = holding + BESIDE * share(stem)
    return log(1.0 + (tools + BESIDE - with_it + 0.5) / (with_it + 0.5))


@lru_cache(maxsize=20_000)
def _rarity_in_general(stem: str) -> float:
    with_it = BESIDE * share(stem)
    return log(1.0 + (BESIDE - with_it + 0.5) / (with_it + 0.5))


SATURATION = 1.0
_ROUNDING = 1e-9


class Field(Struct, frozen=True):
    weight: float
    usual: float
    """Words that such a field usually has."""
    by_length: float
    """How much a longer field makes each of its words count less, 0 to 1."""


NAME = Field(1.2, 3.0, 0.5)
DESCRIPTION = Field(1.0, 8.0, 0.75)
ARGUMENTS = Field(0.5, 4.0, 0.75)
ARGUMENT_TEXTS = Field(0.3, 16.0, 0.75)


class Stems(Struct, frozen=True):
    """The words of a tool, by field."""

    name: list[str]
    description: list[str]
    arguments: list[str]
    argument_texts: list[str]


class Request(Struct, frozen=True):
    """A request as the index reads it."""

    text: str
    counts: dict[str, float]
    """What each of its words weighs: said twice is little more than said once."""
    spelled: dict[str, str]
    """How the request writes each word."""


@lru_cache(maxsize=4)
def read_request(text: str) -> Request:
    """Kept for a while: whoever has searched compares what was found."""
    spelled: dict[str, str] = {}
    counts: dict[str, int] = {}
    for stem, word in spelled_words(text):
        counts[stem] = counts.get(stem, 0) + 1
        spelled.setdefault(stem, word)
    return Request(text, {stem: count**0.3 for stem, count in counts.items()}, spelled)


def stems_of(fields: Fields) -> Stems:
    return Stems(
        name_words(fields.name),
        words(fields.description),
        [stem for name, _ in fields.arguments for stem in name_words(name)],
        [stem for _, text in fields.arguments for stem in words(text)]
        + [stem for choice in fields.choices for stem in words(choice)],
    )


def impacts(stems: Stems) -> dict[str, float]:
    """What each word of a tool counts, without its rarity: between 0 and `1 + SATURATION`."""
    sums: dict[str, float] = {}
    for field, found in (
        (NAME, stems.name),
        (DESCRIPTION, stems.description),
        (ARGUMENTS, stems.arguments),
        (ARGUMENT_TEXTS, stems.argument_texts),
    ):
        one = field.weight / (1.0 - field.by_length + field.by_length * len(found) / field.usual)
        for stem, count in Counter(found).items():
            sums[stem] = sums.get(stem, 0.0) + one * count
    return {stem: value * (1.0 + SATURATION) / (value + SATURATION) for stem, value in sums.items()}


def best_possible(request: Request) -> float:
    """The score of a tool that holds every word of the request to the full, by general rarity."""
    return sum(weight * rarity(stem) for stem, weight in request.counts.items()) * (1.0 + SATURATION)


class Lexicon:
    """Which tool holds which word, and how much it counts there. Tools are numbers here."""

    def __init__(self) -> None:
        self.holding: dict[str, dict[int, float]] = {}
        self.most: dict[str, float] = {}
        """What a word counts at most in any tool; never too little, so that a search may stop by it."""
        self.tools = 0

    def add(self, tool: int, counted: Mapping[str, float]) -> None:
        for stem, value in counted.items():
            self.holding.setdefault(stem, {})[tool] = value
            if value > self.most.get(stem, 0.0):
                self.most[stem] = value
        self.tools += 1

    def remove(self, tool: int, counted: Mapping[str, float]) -> None:
        for stem in counted:
            kept = self.holding[stem]
            del kept[tool]
            if not kept:
                del self.holding[stem], self.most[stem]
        self.tools -= 1

    def weights(self, request: Request) -> dict[str, float]:
        """What each word of the request is worth here, words that no tool has left out."""
        return {
            stem: weight * rarity(stem, len(self.holding[stem]), self.tools)
            for stem, weight in request.counts.items()
            if stem in self.holding
        }

    def scores(self, weights: Mapping[str, float]) -> dict[int, float]:
        """The score of each tool that holds any of the words."""
        found: dict[int, float] = {}
        get = found.get
        for stem, weight in weights.items():
            for tool, value in self.holding[stem].items():
                found[tool] = get(tool, 0.0) + weight * value
        return found

    def best(self, weights: Mapping[str, float], limit: int) -> list[tuple[int, float]]:
        """The tools of the highest scores, best first; ties in the order they came.

        Words go from the one that can add most to the one that can add least. A tool that could no longer come among
        the first is left out, and new ones are no longer looked at when none could: long requests cost little more
        than short ones.
        """
        stems = sorted(weights, key=lambda stem: -weights[stem] * self.most[stem])
        to_come = sum(weights[stem] * self.most[stem] for stem in stems)
        found: dict[int, float] = {}
        closed = False
        for stem in stems:
            weight, holding = weights[stem], self.holding[stem]
            to_come -= weight * self.most[stem]
            if closed:
                for tool in found:
                    if tool in holding:
                        found[tool] += weight * holding[tool]
            else:
                get = found.get
                for tool, value in holding.items():
                    found[tool] = get(tool, 0.0) + weight * value
            if len(found) > limit:
                least = nlargest(limit, found.values())[-1]
                if closed or least > to_come:
                    closed = True
                    found = {tool: score for tool, score in found.items() if score + to_come >= least - _ROUNDING}
        return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]

    def saved(self, tools: Sequence[int]) -> "Saved":
        """With the tools numbered as they stand in `tools`."""
        place = {tool: number for number, tool in enumerate(tools)}
        return {
            stem: (
                array("I", [place[tool] for tool in holding]).tobytes(),
                array("f", holding.values()).tobytes(),
            )
            for stem, holding in self.holding.items()
        }

    def restore(self, tools: int, saved: "Saved") -> None:
        """Raises ValueError for numbers that no tool has."""
        for stem, (numbers, values) in saved.items():
            held = dict(zip(array("I", numbers), array("f", values), strict=True))
            if not held or max(held) >= tools:
                raise ValueError(f"a tool above {tools}")
            self.holding[stem] = held
            self.most[stem] = max(held.values())
        self.tools = tools


Saved = dict[str, tuple[bytes, bytes]]
"""Word to the numbers of its tools and what it counts there, as they lie in memory."""


# ── why a tool was found ──
# Why a tool was found, in words for a person.

MOST_WORDS = 4
NEAR = 0.2
"""A meaning below this is no reason."""


class Told(Struct, frozen=True):
    """The words of a tool that can be a reason. Worth keeping: a tool that was found is found again."""

    own: frozenset[str]
    """Of its name and description."""
    arguments: tuple[tuple[str, frozenset[str]], ...]


def told_of(tool: ToolText) -> Told:
    fields = fields_of(tool)
    own = frozenset((*name_words(fields.name), *words(fields.description)))
    arguments = ((name, frozenset((*name_words(name), *words(text))) - own) for name, text in fields.arguments)
    return Told(own, tuple(arguments))


def why(request: Request, tool: Told, meaning: float = 0.0) -> tuple[str, ...]:
    """At most three reasons: shared words, arguments that the request speaks of, nearness of meaning."""
    asked = request.counts.keys()
    shared = tool.own & asked
    reasons: list[str] = []
    if shared:
        best = sorted(shared, key=lambda stem: (-rarity(stem), stem))[:MOST_WORDS]
        reasons.append("words: " + ", ".join(request.spelled[stem] for stem in best))
    spoken = [name for name, own in tool.arguments if own & asked]
    if spoken:
        reasons.append(f"argument{'s' if len(spoken) > 1 else ''}: " + ", ".join(spoken[:MOST_WORDS]))
    if meaning >= NEAR:
        reasons.append(f"meaning {meaning:.2f}")
    return tuple(reasons)
