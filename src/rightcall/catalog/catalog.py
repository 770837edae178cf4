"""The tools a gate knows: any definition in, compiled and immutable tools out.

    definitions ─▶ tidy, refs ─▶ merge (packs, policy) ─▶ strict, ruled ─▶ compile ─▶ Tool, Catalog

`sources.py` reads the dict shapes, `functions.py` and `tidy.py` Python. `Names` answers which tool a name means.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from operator import is_, itemgetter
from os import PathLike, path
from types import MappingProxyType
from typing import Any, Generic, ParamSpec, TypeVar

from msgspec import Raw, Struct, json
from msgspec.structs import replace

from rightcall.base.text import regex
from rightcall.catalog.schema import compile_accepts, localise, without_hard_patterns
from rightcall.catalog.sources import Definition, flatten, lay_over, read_definitions
from rightcall.catalog.tidy import Schema, as_schema, schema_from_rules, tidy_arguments
from rightcall.catalog.tool import ALL_EFFECTS, LateCheck, NameKind, NameMatch, PackTool, Tool
from rightcall.errors import ToolError
from rightcall.types import Rules, UnknownArgument

# ── words ──
# Words that mean something on their own in tool names: one of them is never a slip of the pen for another.


def _read_common() -> frozenset[str]:
    with open(path.join(path.dirname(__file__), "common.txt"), encoding="utf-8") as stream:
        return frozenset(stream.read().split())


COMMON = _read_common()


SUGGESTIONS = 3
LONGEST = 200
"""A longer name is no name; it gets no search."""
MANY = 500
"""Names; among more, only those that share something with a wrong one are compared with it."""
COMPARED = 200
"""So many of them."""
KEPT = 256
"""Answers that are kept: a model that has a name wrong has it wrong again and again."""

_NAMESPACE = regex(r"__|[./:]")
_WORD = regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_AROUND = " \t\r\n\"'`“”‘’«»<>"
_CALL_NUMBER = regex(r"(?:[:#]\d+|\(\))$")
_NUMBER_BEGUN = regex(r"[:#]\d*$")
_FUNCTIONS = regex(r"^(?:functions\.)+")
_ENVELOPE = frozenset((
    "name", "toolname", "functionname", "recipientname", "tool", "tools", "function", "functions", "action",
    "type", "arguments", "argument", "parameters", "parameter", "params", "param", "args", "arg", "kwargs",
    "input", "inputs", "actioninput", "toolargs", "toolarguments", "toolinput", "toolparameters", "toolcall",
    "toolcalls", "toolscalls", "functioncall", "functioncalls", "tooluse", "call", "calls", "id", "callid",
    "toolcallid", "tooluseid", "index", "null", "none", "undefined", "true", "false",
))  # fmt: skip
"""The words of which calls are made: they stand around a name, in whatever case or style, and are none."""

_NUMBER = regex(r"[-+]?(?:0[xob][0-9a-f_]+|[\d_]*\.?\d[\d_]*(?:e[-+]?\d+)?j?)", re.IGNORECASE)
"""`1e3` and `0x0` have letters, and are numbers."""

_CONFIDENCE: Mapping[NameKind, float] = {"alias": 1.0, "namespace": 0.98, "style": 0.97, "typo": 0.9}
_NEAR_ON_A_KEYBOARD = frozenset(
    frozenset(pair) for row in ("qwertyuiop", "asdfghjkl", "zxcvbnm") for pair in pairwise(row)
) | frozenset(frozenset((a, b)) for a in "aeiouy" for b in "aeiouy" if a < b)
"""Letters that people and models mix up: neighbours in a row of keys, and vowels."""


class Names:
    """The names of a catalogue, prepared once for every question about them."""

    def __init__(self, tools: Mapping[str, Tool]) -> None:
        self.tools = tools
        self.alias: dict[str, set[str]] = {}
        self.styled: dict[str, set[str]] = {}
        self.last: dict[str, set[str]] = {}
        self.words: set[str] = set(COMMON)
        self.spelled: list[tuple[str, list[str], str]] = []  # tool, words of one of its names, the same joined
        self.offered: dict[str, str] = {}  # what may be suggested
        self.ways: tuple[tuple[NameKind, Callable[[str], set[str]]], ...] = (
            ("style", lambda bare: {bare} & self.tools.keys()),
            ("alias", lambda bare: self.alias.get(bare, set())),
            ("namespace", self.without_namespace),
            ("style", lambda bare: self.styled.get(key_of(bare), set())),
            ("namespace", self.tail),
            ("typo", self.typo),
        )
        for name, tool in tools.items():
            for other in tool.rules.names:
                self.alias.setdefault(other, set()).add(name)
            for spelling in (name, *tool.rules.names):
                words = words_of(spelling)
                self.styled.setdefault("".join(words), set()).add(name)
                self.words.update(words)
                self.spelled.append((name, words, "_".join(words)))
            if not tool.deprecated:
                self.offered[name] = " ".join(words_of(name))
            spaces = _NAMESPACE.split(name)
            for start in range(1, len(spaces)):
                self.last.setdefault(key_of("/".join(spaces[start:])), set()).add(name)

        self.searched = lru_cache(maxsize=KEPT)(self.search)

    def find(self, name: str) -> NameMatch:
        tool = self.tools.get(name)
        if tool is not None:
            return NameMatch("exact", tool)
        return self.searched(name) if len(name) <= LONGEST else self.search(name)

    def search(self, name: str) -> NameMatch:
        """The tool that a name means which is no tool's own name."""
        bare = _CALL_NUMBER.sub("", name[: LONGEST + 1].strip(_AROUND))
        if not bare or len(bare) > LONGEST:
            return NameMatch("none", None, 0.0)
        for kind, tries in self.ways:
            if tries == self.tail and not may_name_tool(bare):
                return NameMatch("none", None, 0.0)  # only a tool of this very name could have been meant
            found = tries(bare)
            if found:
                return self.answer(kind, bare, found)
        return self.answer("none", bare, set())

    def tail(self, bare: str) -> set[str]:
        """`tool` where `server.tool` is known."""
        return self.last.get(key_of(bare), set())

    def answer(self, kind: NameKind, bare: str, found: set[str]) -> NameMatch:
        if len(found) == 1:
            return NameMatch(kind, self.tools[next(iter(found))], _CONFIDENCE[kind])
        first = [name for name in self.tools if name in found] if found else []
        return NameMatch("none", None, 0.0, tuple(dict.fromkeys((*first, *self.similar(bare))))[:SUGGESTIONS])

    def without_namespace(self, bare: str) -> set[str]:
        """`server.tool` where `tool` is known: the longest ending that is a name."""
        for separator in _NAMESPACE.finditer(bare):
            rest = bare[separator.end() :]
            if rest in self.tools:
                return {rest}
            found = self.alias.get(rest) or self.styled.get(key_of(rest))
            if found:
                return found
        return set()

    def typo(self, bare: str) -> set[str]:
        """The one tool whose name differs by a slip, when no other is nearly as close."""
        from rapidfuzz import process  # late: only a name that nobody has pays for it
        from rapidfuzz.distance import OSA

        if len(bare) < 5:
            return set()
        mine = words_of(bare)
        text = "_".join(mine)
        near: dict[str, int] = {}
        found = process.extract(text, self.joined, scorer=OSA.distance, score_cutoff=4, limit=None)
        for _, distance, at in sorted(found, key=itemgetter(2)):
            name = self.spelled[at][0]
            near[name] = min(int(distance), near.get(name, int(distance)))
        ranked = sorted(near, key=near.__getitem__)
        allowed = 2 if len(bare) >= 10 else 1
        if not ranked or near[ranked[0]] > allowed:
            return set()
        best = ranked[0]
        clearly_ahead = len(ranked) == 1 or near[ranked[1]] >= near[best] + 2
        slipped = any(self.is_slip(mine, words) for name, words, _ in self.spelled if name == best)
        return {best} if clearly_ahead and slipped else set()

    def is_slip(self, mine: list[str], theirs: list[str]) -> bool:
        """Word by word: a word that means something else is no slip, nor is a plural, a prefix or a number."""
        if len(mine) != len(theirs):
            return False
        pairs = [(a, b) for a, b in zip(mine, theirs, strict=True) if a != b]
        return bool(pairs) and all(a not in self.words and slip(a, b) for a, b in pairs)

    def similar(self, bare: str) -> tuple[str, ...]:
        """Names worth suggesting, best first: alike as a whole, and in at least one word."""
        from rapidfuzz import fuzz, process

        words = words_of(bare)
        among = self.offered if len(self.offered) <= MANY else self.sharing(words)
        found = process.extract(" ".join(words), among, scorer=fuzz.WRatio, score_cutoff=60, limit=SUGGESTIONS)

        def alike(other: str) -> bool:
            parts = other.split()
            return any(process.extractOne(word, parts, scorer=fuzz.ratio, score_cutoff=60) for word in words)

        return tuple(name for other, _, name in found if alike(other))

    def sharing(self, words: list[str]) -> dict[str, str]:
        """Of very many names, those that share most with these words, or with what they are misspelt for: a rare word
        counts for more than a common one. Where none does, those that look most alike as a whole."""
        from heapq import nlargest  # late: only an unknown name among very many needs it

        from rapidfuzz import fuzz, process

        shares: dict[str, float] = {}
        for word in dict.fromkeys(words):
            alike = [word] if word in self.holders else []
            if not alike and len(word) > 2:
                near = process.extract(word, self.vocabulary, scorer=fuzz.ratio, score_cutoff=70, limit=SUGGESTIONS)
                alike = [one for one, _, _ in near]
            for one in alike:
                holders = self.holders[one]
                for name in holders[:COMPARED]:
                    shares[name] = shares.get(name, 0.0) + 1 / len(holders)
        best = nlargest(COMPARED, shares, key=shares.__getitem__)
        if not best:
            found = process.extract(" ".join(words), self.offered, scorer=fuzz.ratio, score_cutoff=60, limit=COMPARED)
            best = [name for _, _, name in found]
        return {name: self.offered[name] for name in best}

    @cached_property
    def joined(self) -> list[str]:
        return [joined for _, _, joined in self.spelled]

    @cached_property
    def holders(self) -> dict[str, list[str]]:
        """The names that hold a word, by the word."""
        found: dict[str, list[str]] = {}
        for name, text in self.offered.items():
            for word in dict.fromkeys(text.split()):
                found.setdefault(word, []).append(name)
        return found

    @cached_property
    def vocabulary(self) -> list[str]:
        return list(self.holders)

    @cached_property
    def keys(self) -> list[str]:
        """All names without case and separators, with and without their namespace, in order."""
        return sorted({*self.styled, *self.last, *map(key_of, self.alias)})

    def may_begin(self, word: str) -> bool:
        """Whether a word, or what it goes on with, may be the name of a tool as a model writes it down.

        >>> from rightcall.catalog import build_catalog
        >>> tools = build_catalog([{"name": "get_weather", "parameters": {"type": "object"}}])
        >>> [tools.may_begin(word) for word in ("ge", "getWea", "functions.get_w", "fun", "Hello", "get_weather:0")]
        [True, True, True, True, False, True]
        """
        rest = _FUNCTIONS.sub("", _NUMBER_BEGUN.sub("", word))
        key = key_of(rest)
        if not key or "functions".startswith(key):
            return True
        at = bisect_left(self.keys, key)
        return at < len(self.keys) and self.keys[at].startswith(key)


def may_name_tool(name: str) -> bool:
    """Whether a word can be the name of some tool. An index, a number, a constant, a sign, a blank or a word of the
    envelope cannot; a tool that has such a name all the same is known by it, and by nothing near it.

    >>> [may_name_tool(word) for word in ("get_weather", "0", "[1]", " ", "1e3", "True", "functions.tool_calls")]
    [True, False, False, False, False, False, False]
    """
    return _may_name(name[: LONGEST + 1])


@lru_cache(maxsize=KEPT)
def _may_name(name: str) -> bool:
    bare = _FUNCTIONS.sub("", _CALL_NUMBER.sub("", name.strip(_AROUND)))
    if key_of(bare) in _ENVELOPE or _NUMBER.fullmatch(bare):
        return False
    return any(char.isalpha() for char in bare)


def words_of(name: str) -> list[str]:
    """`getUserByID` and `get_user_by_id` have the same words."""
    if not name.isascii():
        from unicodedata import normalize  # late: few names need it

        name = normalize("NFKC", name)
    return [word.casefold() for word in _WORD.findall(name)]


def key_of(name: str) -> str:
    """What is left of a name without case and separators."""
    return "".join(words_of(name))


def slip(a: str, b: str) -> bool:
    """Whether word `a` is `b` with letters swapped, left out, doubled or mistyped inside.

    >>> slip("wether", "weather"), slip("users", "user"), slip("overwrite", "write")
    (True, False, False)
    """
    from rapidfuzz.distance import OSA

    shorter, longer = sorted((a, b), key=len)
    if len(shorter) < 5 or not (a + b).isalpha() or longer.startswith(shorter) or longer.endswith(shorter):
        return False
    distance = OSA.distance(a, b, score_cutoff=2)
    if distance == 2:
        return len(shorter) >= 8 and a[0] == b[0] and a[-1] == b[-1]
    return distance == 1 and (len(a) != len(b) or swapped(a, b) or mistyped(a, b))


def swapped(a: str, b: str) -> bool:
    return sorted(a) == sorted(b)


def mistyped(a: str, b: str) -> bool:
    return any(frozenset((x, y)) in _NEAR_ON_A_KEYBOARD for x, y in zip(a, b, strict=True) if x != y)


# ── build ──
# A catalogue: an immutable snapshot of tools, built once for the same definitions.

MOST_KEPT = 1_000_000
"""Bytes of definitions whose catalogue is kept. A larger one takes a hundred megabytes: who needs it again keeps it."""


class Catalog(Struct, frozen=True, dict=True, eq=False):
    """Tools by name, in the order given. `get(name)` is exact; `find(name)` also knows other spellings."""

    tools: Mapping[str, Tool]
    digest: str
    get: Callable[[str], Tool | None]

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(self.tools)

    @cached_property
    def _names(self) -> Names:
        return Names(self.tools)

    @cached_property
    def find(self) -> Callable[[str], NameMatch]:
        """Which tool a name means, and how sure that is."""
        return self._names.find

    @cached_property
    def may_begin(self) -> Callable[[str], bool]:
        """Whether a word may be the beginning of a tool's name."""
        return self._names.may_begin


def build_catalog(
    tools: Iterable[Any] | Mapping[str, Any] | str | PathLike[str] | None = None,
    overlays: Sequence[PackTool] = (),
    *,
    unknown_argument: UnknownArgument = "drop",
) -> Catalog:
    """A catalogue of `tools`, with what packs and the policy file (`overlays`, in order, later wins) say of them.

    A given tool keeps its own schema; rules of the same name are laid over it as far as it has those arguments. A tool
    that only an overlay knows is added with the overlay's schema. The same definitions give the same catalogue, from a
    cache, so that one can be built for every request. Raises ToolError where a definition cannot be used.

    >>> catalog = build_catalog([{"name": "add", "parameters": {"type": "object", "properties": {"n": {}}}}])
    >>> catalog.get("add").accepts({"n": 1}), catalog.get("add").accepts({"m": 1})
    (True, False)
    """
    flat = flatten(tools)
    try:
        key = json.encode((flat, Raw(_encoded(_Same(tuple(overlays)))), unknown_argument))
    except (TypeError, ValueError, OverflowError, RecursionError) as fault:
        raise ToolError(f"a tool definition is not valid JSON: {fault}") from fault
    return _build(key) if len(key) <= MOST_KEPT else _build.__wrapped__(key)


class _Same:
    """Equal to the same records in the same order: packs are loaded once and laid over many catalogues, so their text
    is made once too."""

    __slots__ = ("records",)

    def __init__(self, records: tuple[PackTool, ...]) -> None:
        self.records = records

    def __hash__(self) -> int:
        return hash(tuple(map(id, self.records)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Same) or len(self.records) != len(other.records):
            return False
        return all(map(is_, self.records, other.records))


@lru_cache(maxsize=16)
def _encoded(overlays: _Same) -> bytes:
    return json.encode(overlays.records)


_decoder = json.Decoder(tuple[list[dict[str, Any] | list[PackTool]], tuple[PackTool, ...], UnknownArgument])


@lru_cache(maxsize=64)
def _build(key: bytes) -> Catalog:
    flat, overlays, unknown = _decoder.decode(key)
    table: dict[str, Definition] = {}
    tried: dict[str, Definition] = {}
    for number, raw in enumerate(flat, 1):
        for definition in read_definitions(raw, number):
            if definition.name in table:
                raise ToolError(f"two tools have the name `{definition.name}`; every tool needs a name of its own")
            table[definition.name] = _of_tool(definition.name, _tidied, definition)
            if isinstance(raw, list) and raw[0].is_tried:
                tried[definition.name] = table[definition.name]
    for overlay in overlays:
        lay_over(table, _of_tool(overlay.name, _tidied, _definition(overlay)))
    tools = {
        name: _of_tool(name, _tool, json.encode(definition), unknown, is_tried=tried.get(name) is definition)
        for name, definition in table.items()
    }
    return Catalog(tools=MappingProxyType(tools), digest=_digest(key), get=tools.get)


P = ParamSpec("P")
R = TypeVar("R")


def _of_tool(name: str, work: Callable[P, R], *arguments: P.args, **options: P.kwargs) -> R:
    """Do some work on a tool, so that what goes wrong names the tool."""
    try:
        return work(*arguments, **options)
    except ToolError as fault:
        raise ToolError(f"tool `{name}`: {fault}") from fault
    except RecursionError as fault:
        raise ToolError(f"tool `{name}`: its schema is nested too deeply") from fault


def _definition(overlay: PackTool) -> Definition:
    source = overlay.pack if overlay.pack == "policy" else f"pack:{overlay.pack}"
    return Definition(overlay.name, overlay.description, overlay.schema, overlay.effects, overlay.rules, source)


def _tidied(definition: Definition) -> Definition:
    """With its schema in one form. Without one a given tool takes any arguments, a pack's speaks by its rules."""
    if definition.schema is None and (definition.source != "given" or definition.rules != Rules()):
        return definition
    schema, notes = without_hard_patterns(localise(tidy_arguments(definition.schema)))
    return replace(definition, schema=schema, unchecked=notes)


@lru_cache(maxsize=512)
def _tool(key: bytes, unknown: UnknownArgument, *, is_tried: bool = False) -> Tool:
    """The compiled tool; kept by content, since catalogues of changing composition share most of their tools."""
    definition = json.decode(key, type=Definition)
    rules = definition.rules
    schema = definition.schema if definition.schema is not None else schema_from_rules(rules)
    rules = replace(rules, json_text=tuple(dict.fromkeys((*rules.json_text, *_json_texts(schema)))))
    keep = (rules.unknown_argument or unknown) == "keep"
    check = LateCheck(partial(compile_accepts, schema, rules, keep_unknown=keep))
    accepts = None if is_tried else check().accepts  # at once: who gives a wrong schema is told so
    if accepts is not None and rules.example is not None and not accepts({**rules.defaults, **rules.example}):
        rules = replace(rules, example=None)  # a hint must not teach a wrong call
    return Tool(
        name=definition.name,
        description=definition.description,
        schema=schema,
        rules=rules,
        effects=ALL_EFFECTS if definition.effects is None else frozenset(definition.effects),
        effects_declared=definition.effects is not None,
        check=check,
        exact=not rules.json_text and rules.batch is None and rules.replaced_by is None,
        unchecked=definition.unchecked,
        digest=_digest(key),
        source=definition.source,
    )


def _digest(key: bytes) -> str:
    from hashlib import sha256  # late: it loads a cryptographic library

    return sha256(key).hexdigest()


def _json_texts(schema: Schema) -> Iterable[str]:
    """Arguments that are text and must hold JSON, as the schema itself says."""
    for name, part in as_schema(schema.get("properties")).items():
        about = as_schema(part)
        if "json" in str(about.get("contentMediaType", "")) and "string" in str(about.get("type", "string")):
            yield name


# ── kept results ──
# What was worked out of the tools there are, kept for whoever asks again: which of them a caller may use, say.

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_MOST_KEPT = 100
"""Answers that are kept. With more, all are forgotten, which costs no more than to work them out again."""


class Kept(Generic[K, V]):
    """Answers by who asks. Each holds as long as what it was made of: the very same object, or one that is equal."""

    def __init__(self, most: int = _MOST_KEPT) -> None:
        self._most = most
        self._answers: dict[K, tuple[object, V]] = {}

    def has(self, key: K, of: object) -> bool:
        return self._find(key, of) is not None

    def get(self, key: K, of: object, make: Callable[[], V]) -> V:
        """The answer that is known, or the one that is made now."""
        known = self._find(key, of)
        if known is None:
            known = of, make()
            if key not in self._answers and len(self._answers) >= self._most:
                self._answers.clear()
            self._answers[key] = known
        return known[1]

    def _find(self, key: K, of: object) -> tuple[object, V] | None:
        known = self._answers.get(key)
        return known if known is not None and (known[0] is of or known[0] == of) else None
