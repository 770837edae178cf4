"""The words of tools and requests: what is compared when a tool is looked for.

A tool is read from any definition as text only: nothing is compiled, and a schema that no gate could use still has
names and descriptions. Words are split, lowered and cut to a stem, so that `getForecasts`, `forecast` and
`forecasting` meet.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, cast

from msgspec import Struct

from rightcall.catalog.definitions import flatten, read_definitions
from rightcall.catalog.keywords import as_list, as_schema, parts

LONGEST_TEXT = 8_000
"""Characters of a request or a description that are looked at; what stands behind them changes no ranking."""
MOST_PARAMETERS = 200
DEEPEST = 6

_WORD = re.compile(r"[^\W_]+")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_WITHOUT_SPACES = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_SCHEMA_WORDS = frozenset(("type", "properties", "required", "$schema", "$defs", "additionalProperties", "title"))

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
            ToolText(definition.name, definition.description or "", as_schema(definition.schema))
            for definition in read_definitions(item, number)
        ]
    return found


def fields_of(tool: ToolText) -> Fields:
    arguments: list[tuple[str, str]] = []
    choices: list[str] = []
    for name, schema in _arguments(tool.parameters):
        arguments.append((name, _text(schema.get("description"))))
        choices += [value for value in as_list(schema.get("enum"))[:50] if isinstance(value, str)]
        if len(arguments) >= MOST_PARAMETERS:
            break
    return Fields(tool.name, _text(tool.description), tuple(arguments), tuple(choices))


def _text(value: object) -> str:
    return value[:LONGEST_TEXT] if isinstance(value, str) else ""


def _arguments(schema: dict[str, Any], depth: int = 0) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every named argument with its schema, those inside others after them."""
    if depth == 0 and schema and not (schema.keys() & _SCHEMA_WORDS) and all(map(_is_dict, schema.values())):
        schema = {"properties": schema}  # a bare table of arguments
    if depth > DEEPEST:
        return
    inner: list[dict[str, Any]] = []
    for keyword, key, part in parts(schema):
        if isinstance(part, bool) or not _is_dict(part):
            continue
        if keyword == "properties":
            yield str(key), part
        inner.append(part)
    for part in inner:
        yield from _arguments(part, depth + 1)


def _is_dict(value: object) -> bool:
    return isinstance(value, dict)


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


def short_text(fields: Fields) -> str:
    """Name and description as a sentence, for what it means."""
    return f"{' '.join(_PIECE.findall(fields.name))}. {fields.description}"


def long_text(fields: Fields) -> str:
    """The same with every argument."""
    return " ".join((short_text(fields), *(argument_text(name, text) for name, text in fields.arguments)))


def argument_text(name: str, text: str) -> str:
    return f"{name.replace('_', ' ')}: {text}"
