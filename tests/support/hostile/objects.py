"""Python objects where a plain dict is expected: cycles, lies, depth, odd types."""

import array
import collections
import datetime
import decimal
import enum
import fractions
import itertools
import types
import uuid
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import msgspec

from support.hostile.kinds import Expect, Kind
from support.hostile.texts import DEEP


class Angry:
    """Every question put to it is an error."""

    def refuse(self, *_: Any) -> NoReturn:
        raise RuntimeError("do not touch")

    __eq__ = __lt__ = __str__ = __repr__ = __len__ = __iter__ = __bool__ = __getitem__ = __contains__ = refuse
    __hash__ = object.__hash__


class AngryText(str):
    def refuse(self, *_: Any) -> NoReturn:
        raise RuntimeError("do not touch")

    __eq__ = __lt__ = __str__ = __repr__ = __len__ = __iter__ = __bool__ = __getitem__ = __contains__ = refuse  # type: ignore[assignment]
    strip = casefold = lower = encode = split = startswith = refuse  # type: ignore[assignment]
    __hash__ = str.__hash__


class AngryDict(dict[Any, Any]):
    def refuse(self, *_: Any) -> NoReturn:
        raise RuntimeError("do not touch")

    __eq__ = __len__ = __iter__ = __getitem__ = __contains__ = keys = items = values = get = copy = refuse
    __hash__ = None


class AngryList(list[Any]):
    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError("do not touch")


class Growing(dict[Any, Any]):
    """Has another key each time one looks."""

    def items(self) -> Any:
        self[f"k{len(self)}"] = 1
        return super().items()

    def keys(self) -> Any:
        self[f"k{len(self)}"] = 1
        return super().keys()

    def __iter__(self) -> Iterator[Any]:
        for key in list(super().__iter__()):
            self[f"k{len(self)}"] = 1
            yield key


class Lying(dict[Any, Any]):
    """Says it is empty, and is not."""

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return False


class Impostor:
    @property
    def __class__(self) -> type:
        return dict


class Endless(dict[Any, Any]):
    def items(self) -> Any:
        return ((f"k{n}", n) for n in itertools.count())


class Colour(enum.Enum):
    RED = "red"


class Word(enum.StrEnum):
    HIGH = "high"


class Count(enum.IntEnum):
    ONE = 1


class Number(int):
    def __repr__(self) -> str:
        raise RuntimeError("do not touch")

    __str__ = __repr__


class Record(msgspec.Struct):
    text: str = "x"


def deep(wrap: Callable[[Any], Any], levels: int = DEEP) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = wrap(value)
    return value


def cyclic_dict() -> dict[str, Any]:
    value: dict[str, Any] = {"text": "x"}
    value["place"] = value
    return value


def cyclic_list() -> dict[str, Any]:
    value: list[Any] = []
    value.append(value)
    return {"text": "x", "tags": value}


def cyclic_pair() -> dict[str, Any]:
    one: dict[str, Any] = {}
    two: dict[str, Any] = {"one": one}
    one["two"] = two
    return {"text": "x", "extra": one}


def shared(levels: int = 60) -> Any:
    """Sixty small lists, which written out would be 2 to the 60 values."""
    value: Any = "x"
    for _ in range(levels):
        value = [value, value]
    return value


def given(name: str, make: Callable[[], Any], expect: Expect = "any", tool: Any = None) -> Kind:
    return Kind(name, lambda _: make(), expect, grows=False, tool=tool, angry="angry" in name)


def value(name: str, make: Callable[[], Any], expect: Expect = "any", argument: str = "extra") -> Kind:
    """Inside otherwise right arguments."""
    return given(f"{name} as a value", lambda: {"text": "x", argument: make()}, expect)


ARGUMENTS = [
    given("a dict of depth", lambda: deep(lambda inner: {"a": inner}), "refused"),
    given("a list of depth", lambda: deep(lambda inner: [inner]), "refused"),
    given("a cyclic dict", cyclic_dict),
    given("a cyclic list", cyclic_list, "refused"),
    given("two dicts that hold each other", cyclic_pair, "refused"),
    given("keys that are numbers", lambda: {"text": "x", 1: 2}),
    given("keys that are None", lambda: {"text": "x", None: 2}),
    given("keys that are tuples", lambda: {"text": "x", (1, 2): 2}),
    given("keys that are bytes", lambda: {b"text": "x"}, "refused"),
    given("keys that are angry", lambda: {"text": "x", Angry(): 1}),
    given("keys that are angry text", lambda: {AngryText("text"): "x"}),
    given("keys in an argument that are numbers", lambda: {"text": "x", "place": {1: 2}}),
    given("nothing", lambda: None),
    given("true", lambda: True, "refused"),
    given("a number", lambda: 7, "refused"),
    given("NaN given", lambda: float("nan"), "refused"),
    given("a list", lambda: ["x"]),
    given("a list of dicts", lambda: [{"text": "x"}]),
    given("a tuple", lambda: ({"text": "x"},)),
    given("a set", lambda: {"text"}, "refused"),
    given("bytes of JSON", lambda: b'{"text": "x"}'),
    given("bytes that are no text", lambda: b"\xff\xfe\x00{", "refused"),
    given("a bytearray", lambda: bytearray(b'{"text": "x"}')),
    given("a memoryview", lambda: memoryview(b'{"text": "x"}')),
    given("a generator", lambda: (n for n in range(3)), "refused"),
    given("an endless iterator", itertools.count, "refused"),
    given("a function", lambda: print, "refused"),
    given("a class", lambda: dict, "refused"),
    given("a module", lambda: types, "refused"),
    given("an exception", lambda: ValueError("x"), "refused"),
    given("an ellipsis", lambda: ..., "refused"),
    given("an object that is angry", Angry, "refused"),
    given("an object that says it is a dict", Impostor, "refused"),
    given("a dict that is angry", lambda: AngryDict(text="x")),
    given("a dict that grows", lambda: Growing(text="x")),
    given("a dict that says it is empty", lambda: Lying(text="x")),
    given("a dict without end", lambda: Endless(text="x")),
    given("an ordered dict", lambda: collections.OrderedDict(text="x"), "ok"),
    given("a dict with defaults", lambda: collections.defaultdict(list, text="x"), "ok"),
    given("a read-only dict", lambda: types.MappingProxyType({"text": "x"})),
    given("a user dict", lambda: collections.UserDict(text="x")),
    given("a chain of dicts", lambda: collections.ChainMap[str, Any]({"text": "x"}, {"count": 1})),
    given("a record", Record),
    given("text that is angry", lambda: AngryText('{"text": "x"}')),
]

VALUES = [
    value("a dict of depth", lambda: deep(lambda inner: {"a": inner}), "refused"),
    value("a list of depth", lambda: deep(lambda inner: [inner]), "refused"),
    value("a tuple of depth", lambda: deep(lambda inner: (inner,)), "refused"),
    value("depth where a string should be", lambda: deep(lambda inner: [inner]), "refused", "level"),
    value("depth where an object should be", lambda: deep(lambda inner: {"city": inner}), "refused", "place"),
    value("shared lists", shared),
    value("shared lists where a list of strings should be", shared, "refused", "tags"),
    value("NaN", lambda: float("nan"), "refused", "ratio"),
    value("NaN anywhere", lambda: [{"a": float("nan")}], "refused"),
    value("infinity", lambda: float("-inf"), "refused", "ratio"),
    value("infinity anywhere", lambda: (float("inf"),), "refused"),
    value("a huge number", lambda: 10**5000, "refused", "count"),
    value("a huge number anywhere", lambda: 10**100_000, "refused"),
    value("a huge negative number", lambda: -(10**5000), "refused", "count"),
    value("a huge number where text should be", lambda: 10**5000, "refused", "level"),
    value("a number of its own", lambda: Number(3), argument="count"),
    value("a decimal", lambda: decimal.Decimal("1.5"), argument="ratio"),
    value("a decimal NaN", lambda: decimal.Decimal("sNaN"), "refused", "ratio"),
    value("a fraction", lambda: fractions.Fraction(1, 3), argument="ratio"),
    value("a complex number", lambda: 1j, argument="ratio"),
    value("a date", lambda: datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), argument="level"),
    value("a uuid", lambda: uuid.UUID(int=1)),
    value("an enum", lambda: Colour.RED, argument="level"),
    value("an enum of text", lambda: Word.HIGH, argument="level"),
    value("an enum of numbers", lambda: Count.ONE, argument="count"),
    value("a set", lambda: {"a"}, argument="tags"),
    value("a tuple", lambda: ("a", "b"), argument="tags"),
    value("a deque", lambda: collections.deque("ab"), argument="tags"),
    value("an array", lambda: array.array("d", [1.0]), argument="tags"),
    value("bytes", lambda: b"\xff", argument="level"),
    value("a generator", lambda: (n for n in "ab"), argument="tags"),
    value("a range", lambda: range(10**12), argument="tags"),
    value("an endless iterator", itertools.count, argument="tags"),
    value("an angry object", Angry),
    value("an angry object where a number should be", Angry, argument="count"),
    value("angry text", lambda: AngryText("x"), argument="level"),
    value("angry text anywhere", lambda: AngryText("x")),
    value("an angry list", lambda: AngryList(["a"]), argument="tags"),
    value("an angry dict", lambda: AngryDict(city="x"), argument="place"),
    value("a growing dict", lambda: Growing(city="x"), argument="place"),
    value("an endless dict", lambda: Endless(city="x"), argument="place"),
    value("an impostor", Impostor, argument="place"),
    value("a lone surrogate", lambda: "\ud800", argument="level"),
    value("a lone surrogate anywhere", lambda: ["\udfff"]),
    value("a reserved key", lambda: {"__proto__": 1}),
    value("a function", lambda: print),
    value("a class", lambda: int, argument="count"),
    value("not implemented", lambda: NotImplemented),
]

BULK = [
    Kind("a long string given", lambda size: {"text": "x" * size}, "ok"),
    Kind("a long list given", lambda size: {"text": "x", "tags": ["a"] * (size // 8)}),
    Kind("a long list of the wrong type given", lambda size: {"text": "x", "tags": [1] * (size // 8)}),
    Kind("a long list with one wrong", lambda size: {"text": "x", "tags": ["a"] * (size // 8) + [None]}, "refused"),
    Kind("many keys given", lambda size: {"text": "x"} | {f"k{n}": n for n in range(size // 100)}),
    Kind("many keys like ours given", lambda size: {f"text{n}": "x" for n in range(size // 100)}, "refused"),
    Kind("a long key given", lambda size: {"text": "x", "k" * size: 1}),
    Kind("a long key like ours given", lambda size: {"text" * (size // 4): "x"}, "refused"),
    Kind("a long value where an enum is", lambda size: {"text": "x", "level": "h" * size}, "refused"),
    Kind("a long value where a number is", lambda size: {"text": "x", "count": "1" * size}, "refused"),
    Kind("a long value where true or false is", lambda size: {"text": "x", "urgent": "true" * (size // 4)}, "refused"),
    Kind("a long value where an object is", lambda size: {"text": "x", "place": "{" * size}, "refused"),
    Kind("long JSON where an object is", lambda size: {"text": "x", "place": '{"city": "' + "x" * size + '"}'}),
]

NAMES = [
    given("no tool name", lambda: {"text": "x"}, "refused", tool=""),
    given("a tool name of a megabyte", lambda: {"text": "x"}, "refused", tool="note" * 250_000),
    given("a tool name with a surrogate", lambda: {"text": "x"}, tool="note\ud800"),
    given("a tool name with NUL", lambda: {"text": "x"}, tool="note\0"),
    given("a tool name of blanks", lambda: {"text": "x"}, "refused", tool=" " * 100_000),
    given("a tool name of separators", lambda: {"text": "x"}, "refused", tool="__." * 100_000),
    given("a tool name with escape sequences", lambda: {"text": "x"}, "refused", tool="\x1b[2Kshell"),
    given("a tool name that is angry", lambda: {"text": "x"}, tool=AngryText("note")),
    given("a tool name that is a number", lambda: {"text": "x"}, "refused", tool=7),
    given("a tool name that is bytes", lambda: {"text": "x"}, "refused", tool=b"note"),
    given("a tool name that is a list", lambda: {"text": "x"}, "refused", tool=["note"]),
]

OBJECTS = [*ARGUMENTS, *VALUES, *BULK, *NAMES]
