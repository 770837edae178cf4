"""Local Python functions as tools. The schema comes from the type hints, everything else from the decorator.

    @tool(effects=["read"], paths=["path"])
    def read_file(path: str) -> str: ...

The function stays the function it was; the record travels with it as an attribute. Whatever it returns becomes plain
data (`shape_result`), which belongs to nobody: what is kept in a cache or written into a record cannot be changed by
the tool that made it.
"""

import enum
import functools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from datetime import date, time
from operator import index
from typing import TYPE_CHECKING, Any, TypedDict, TypeGuard, TypeVar, Unpack, cast, get_args, overload

from msgspec import Struct, ValidationError, convert, to_builtins
from msgspec.json import encode
from msgspec.structs import replace

from rightcall import check_keywords
from rightcall.base.text import escaped, fault_text
from rightcall.catalog.tool import MARK, PackTool
from rightcall.errors import ToolError, ToolFailure
from rightcall.types import Effect, Rules

if TYPE_CHECKING:
    from rightcall.catalog.functions import Converter

# ── declared ──
# What an author declares about a tool, checked when it is declared: a mistake is named at once, not at the first
# call.

_EFFECTS: tuple[Effect, ...] = get_args(Effect)


def checked_name(name: Any) -> str:
    """A name a model can write: `code/read`, `add`."""
    if (
        not isinstance(name, str)
        or not name
        or not name.isprintable()
        or len(name.split()) != 1
        or name != name.strip()
    ):
        raise ToolError(f"a tool's name must be one word, such as `read_file` or `code/read`; got {name!r:.80}")
    return name


def checked_effects(tool: str, effects: Any) -> tuple[Effect, ...] | None:
    """The effects in their usual order; None stays None, which counts as all of them."""
    if effects is None:
        return None
    if not isinstance(effects, Iterable):
        raise ToolError(f"{tool}: effects must be a list of {', '.join(_EFFECTS)}; got {type(effects).__name__}")
    words = {effects} if isinstance(effects, str) else set(cast("Iterable[Any]", effects))
    for word in words - set(_EFFECTS):
        raise ToolError(f"{tool}: effects: {word!r:.40} is none of {', '.join(_EFFECTS)}")
    return tuple(effect for effect in _EFFECTS if effect in words)


def checked_timeout(tool: str, seconds: Any) -> float | None:
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < math.inf:
        raise ToolError(f"{tool}: timeout must be a number of seconds above 0; got {seconds!r:.40}")
    return float(seconds)


def checked_function(tool: str, what: str, function: Any) -> Callable[..., Any] | None:
    if function is not None and not callable(function):
        raise ToolError(f"{tool}: {what} must be a function of the arguments; got {type(function).__name__}")
    return function


def checked_places(tool: str, what: str, places: Any, schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Arguments, or arguments inside others (`operations[].path`); only the first step can be looked up."""
    listed: list[Any] = [places] if isinstance(places, str) else list(places)
    for place in listed:
        if not isinstance(place, str):
            raise ToolError(f"{tool}: {what} must be names of arguments; got {place!r:.40}")
        if place not in schema["properties"]:
            _known(tool, what, place.split(".")[0].removesuffix("[]"), schema)
    return tuple(listed)


def checked_example(tool: str, example: Any, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if example is None:
        return None
    if not isinstance(example, Mapping):
        raise ToolError(f"{tool}: example must be the arguments of a right call, as a dict")
    arguments = cast("Mapping[Any, Any]", example)
    for name in arguments:
        _known(tool, "example", name, schema)
    for name in schema.get("required", ()):
        if name not in arguments:
            raise ToolError(f"{tool}: example: an example must be a right call, but `{name}` is missing")
    return dict(arguments)


def _known(tool: str, what: str, name: Any, schema: Mapping[str, Any]) -> None:
    if name not in schema["properties"] and not schema.get("additionalProperties"):
        names = ", ".join(schema["properties"]) or "none"
        raise ToolError(f"{tool}: {what}: {name!r:.60} is not an argument of the tool; its arguments are: {names}")


Function = Callable[..., Any]
F = TypeVar("F", bound=Function)


class LocalTool(Struct, frozen=True, eq=False):
    """A function of this program that a model may call, and what its author says of it."""

    name: str
    function: Function
    definition: dict[str, Any]
    """`{name, description, parameters}`, as any other tool's."""
    effects: tuple[Effect, ...] | None = None
    """None: nothing was declared, which counts as all of them."""
    repeatable: bool = False
    timeout: float | None = None
    """Seconds; the policy's limit holds beside it, the shorter one wins."""
    cacheable: bool = False
    """It only reads, and what it reads is declared: an unchanged state means an unchanged result."""
    state: Callable[[Mapping[str, Any]], object] | None = None
    preview: Callable[[Mapping[str, Any]], Any] | None = None
    paths: tuple[str, ...] = ()
    guesses: bool = False
    """Nobody said which of its arguments are paths: those count that are named like one."""
    commands: tuple[str, ...] = ()
    example: Mapping[str, Any] | None = None
    convert: "Converter | None" = None
    """From the call's JSON to the types the function declares; None: it takes the JSON as it is."""
    rooted: bool = False
    """It resolves its paths below the root itself, and gets them as they were written."""
    caller: str | None = None
    """The argument in which it is told who calls; no model can set it."""
    context: str | None = None
    """The argument in which it is told the call's context; no model can set it."""
    in_turn: bool = False
    """It only reads, and all the same runs alone and in its place among the calls of a message."""
    expected: str | None = None
    """The argument in which it is told the state that was judged and approved: it writes only onto that. No model can
    set it."""
    outside: tuple[str, ...] = ()
    """True paths of folders outside the root that it may touch too, and looks after itself."""
    lasting: bool = False
    """Its `timeout` is what it needs: the usual limit does not shorten it, one that a policy states does."""
    traced: bool = False
    """It notes what it looks at (`tracing` of `state.py`): its results are kept by that."""
    about: PackTool | None = None
    """The pack's own word on a tool that ships with us: more rules than a function can declare."""
    offered: tuple[str, ...] = ()
    """Other names of it under which models are offered it too."""
    absent: str = ""
    """Why it cannot run here, for whoever calls it all the same. It is offered to nobody; a dry run shows what it is
    about."""

    @property
    def described(self) -> PackTool:
        """As every catalogue has it. Functions of the program itself may declare effects and rules, unlike definitions
        that come from a server."""
        if self.about is not None:
            return self.about
        rules = Rules(repeatable=self.repeatable, paths=self.paths, commands=self.commands, example=self.example)
        said = self.definition.get("description") or ""
        return PackTool(self.name, said, self.definition["parameters"], self.effects, rules, "given")


class Declared(TypedDict, total=False):
    """What the decorator takes, for type checkers; `tool` says what each means."""

    name: str | None
    description: str | None
    effects: Iterable[str] | str | None
    repeatable: bool
    timeout: float | None
    state: Callable[[Mapping[str, Any]], object] | None
    preview: Callable[[Mapping[str, Any]], Any] | None
    paths: Iterable[str] | None
    commands: Iterable[str]
    example: Mapping[str, Any] | None


class _Declaration(Struct, frozen=True, kw_only=True):
    """The same as it arrives, of any type: what is wrong with it is told with the tool's name."""

    name: Any = None
    description: Any = None
    effects: Any = None
    repeatable: Any = False
    timeout: Any = None
    state: Any = None
    preview: Any = None
    paths: Any = None
    commands: Any = ()
    example: Any = None


@overload
def tool(function: F, **declared: Unpack[Declared]) -> F: ...
@overload
def tool(function: None = None, **declared: Unpack[Declared]) -> Callable[[F], F]: ...
def tool(function: Any = None, **declared: Any) -> Any:
    """Declare a function to be a tool, with or without parentheses. It can be called as before.

    `effects`: read, write, execute, network; leave it out and the tool counts as all of them. `repeatable`: calling it
    again and again is right (polling). `timeout`: seconds. `state`: a function of the arguments whose value changes
    when what the tool touches does. `preview`: a function of the arguments that says what would happen. `paths` and
    `commands`: which arguments hold paths and command lines; without `paths` those that are named like one, with an
    empty list none. `example`: the arguments of a right call.

    >>> @tool(effects=["read"])
    ... def add(a: int, b: int) -> int:
    ...     return a + b
    >>> add(1, 2), local_tool(add).effects
    (3, ('read',))
    """

    check_keywords("tool", declared, _Declaration.__struct_fields__)
    declaration = _Declaration(**declared)

    def declare(function: Any) -> Any:
        return _carrying(function, _record(function, declaration))

    return declare if function is None else declare(function)


def local_tool(thing: Any) -> LocalTool:
    """The record of a declared tool, or one for any other function, which then counts as undeclared.

    Takes functions, bound methods, partials and objects that can be called; ToolError for anything else.
    """
    if isinstance(thing, LocalTool):
        return thing
    record = getattr(thing, MARK, None)
    if not isinstance(record, LocalTool):
        record = _record(thing, _Declaration())
    if _wants_self(thing):
        raise ToolError(f"{record.name}: give the bound method, as in `thing.{record.name}`, not the class's")
    # A method found on its object, or a wrapper that took over the attributes of what it wraps, is what must run.
    return record if record.function is thing else replace(record, function=thing)


def _record(function: Any, said: _Declaration) -> LocalTool:
    from inspect import iscoroutinefunction  # late, as what follows: the tools that ship with us need none

    from rightcall.catalog.functions import converter

    definition = _definition(function)
    called = checked_name(said.name if said.name is not None else definition["name"])
    schema = definition["parameters"]
    words = checked_effects(called, said.effects)
    places = checked_places(called, "paths", () if said.paths is None else said.paths, schema)
    reads_only = words is not None and set(words) <= {"read"}
    if iscoroutinefunction(said.state):
        raise ToolError(f"{called}: state is asked before and after each call and must not be asynchronous")
    return LocalTool(
        name=called,
        function=function,
        definition={
            "name": called,
            "description": definition["description"] if said.description is None else said.description,
            "parameters": schema,
        },
        effects=words,
        repeatable=bool(said.repeatable),
        timeout=checked_timeout(called, said.timeout),
        cacheable=reads_only and not said.repeatable and bool(said.state or places),
        state=checked_function(called, "state", said.state),
        preview=checked_function(called, "preview", said.preview),
        paths=places,
        guesses=said.paths is None,
        commands=checked_places(called, "commands", said.commands, schema),
        example=checked_example(called, said.example, schema),
        convert=converter(function),
    )


def _definition(function: Any) -> dict[str, Any]:
    """Name, description and schema; what a partial has already set is no longer the model's to set."""
    if isinstance(function, type) or not callable(function):
        raise ToolError(f"a tool that runs must be a function or an object that can be called; got {function!r:.80}")
    if isinstance(function, staticmethod | classmethod):
        kind = type(cast("Any", function)).__name__
        raise ToolError(f"put @{kind} above @tool, so that the tool is the function itself")
    from inspect import signature

    from rightcall.catalog.functions import from_python

    definition = dict(from_python(function))
    own_name = getattr(cast("Any", function), "__name__", None)
    if isinstance(own_name, str):
        definition["name"] = own_name
    for parameter in signature(function).parameters.values():
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise ToolError(
                f"{definition['name']}: `{parameter.name}` is positional-only; a model's arguments always have names"
            )
    schema: dict[str, Any] = definition["parameters"]
    fixed = fixed_arguments(function)
    free = {name: part for name, part in schema.get("properties", {}).items() if name not in fixed}
    return definition | {"parameters": schema | {"properties": free}}


def fixed_arguments(function: Function) -> frozenset[str]:
    """The arguments that a partial has set by name: a call must not set them again."""
    names: frozenset[str] = frozenset()
    while isinstance(function, functools.partial):
        part = cast("functools.partial[Any]", function)
        names = names.union(part.keywords)
        function = part.func
    return names


def _wants_self(function: Any) -> bool:
    from inspect import signature

    first = next(iter(signature(function).parameters), "")
    return first in ("self", "cls")


def _carrying(function: Any, record: LocalTool) -> Any:
    """The function with its record. One that carries another tool already, or nothing at all, gets a shell."""
    other = getattr(function, MARK, None)
    taken = isinstance(other, LocalTool) and other.function is function
    if not taken:
        try:
            setattr(function, MARK, record)
        except (AttributeError, TypeError):  # a bound method, an object with slots
            pass
        else:
            return function
    shell = functools.update_wrapper(functools.partial(function), function)
    setattr(shell, MARK, record)
    return shell


# ── packed ──
# Tools that ship with us: what they are called, take and are for stands in a pack; here is how they run.


class Work(Struct, frozen=True):
    """The code of a tool: functions of the record of its arguments. `run` gives a record of its result."""

    arguments: type[Struct]
    run: Callable[[Any], Any]
    state: Callable[[Any], object] | None = None
    preview: Callable[[Any], Any] | None = None


def packed_tool(about: PackTool, load: Callable[[], Work], *, state: bool = False, preview: bool = False) -> LocalTool:
    """A tool of a pack. `load` imports its code and is called when the tool first is; `state` and `preview` say which
    of the two that code has."""

    @functools.cache
    def work() -> Work:
        loaded = load()
        assert (loaded.state is not None, loaded.preview is not None) == (state, preview), about.name
        return loaded

    def on_record(part: str) -> Callable[[Mapping[str, Any]], Any]:
        return lambda given: getattr(work(), part)(_record_packed(about.name, work().arguments, given))

    run = on_record("run")

    def call(**given: Any) -> Any:
        return to_builtins(run(given))

    return LocalTool(
        name=about.name,
        function=call,
        definition={"name": about.name, "description": about.description, "parameters": about.schema},
        effects=about.effects,
        repeatable=about.rules.repeatable,
        state=on_record("state") if state else None,
        preview=on_record("preview") if preview else None,
        paths=about.rules.paths,
        commands=about.rules.commands,
        example=about.rules.example,
        about=about,
    )


def _record_packed(name: str, kind: type[Struct], given: Mapping[str, Any]) -> Any:
    try:
        return convert(dict(given), kind)
    except ValidationError as fault:  # what a schema lets pass, such as 1e300 for a whole number
        raise ToolFailure(f"{name}: {escaped(str(fault), 200)}") from fault


# ── whatever a tool returned, as plain data ───────────────────────────────────────────────────────────────────────────

COMMON: frozenset[Any] = frozenset((type(None), bool, int, float, str, dict, list, tuple))
"""The types of most results: nothing else needs to be asked about them."""

DEEPEST = 100
_LEAST_INT, _MOST_INT = -(2**63), 2**64 - 1
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")
_WIDEST = 13
"""Nothing of weight n is longer than 13·n bytes as JSON: a float weighs 2 and may have 24 characters."""
_CLOSING = DEEPEST + 2
"""Brackets that may be open where gathering stops: they must not show in the head of the JSON."""


class Shaped(Struct, frozen=True):
    """A value as plain data within the cap; `cut` says what was left out."""

    value: Any
    cut: str | None = None


def shape_result(value: Any, output: int) -> Shaped:
    """Plain data of at most `output` bytes as JSON. Text keeps its head; of any other value that is too large the head
    of its JSON is left, as text. Draws from an iterator until it ends or the cap is reached.

    >>> shape_result({"days": {3, 1}, "at": None}, 1000), shape_result("abcdef", 4).value
    (Shaped(value={'days': [1, 3], 'at': None}, cut=None), 'abcd')
    """
    if isinstance(value, str):
        return _shaped_text(str.__str__(value), output)
    gatherer = Gatherer(output)
    plain = gatherer.drained(value) if is_iterator(value) else gatherer.plain(value)
    return gatherer.shaped(plain)


def is_iterator(value: Any) -> TypeGuard[Iterator[Any]]:
    """Something that gives its items one by one and only once: a generator, `map`, an open file."""
    return type(value) not in COMMON and isinstance(value, Iterator)


def _shaped_text(text: str, output: int) -> Shaped:
    data = text[: output + 1].encode(errors="backslashreplace")
    if len(data) <= output:
        return Shaped(data.decode())
    kept = data[:output].decode(errors="ignore")
    return Shaped(kept, f"{max(len(text) - len(kept), 1):,} of {len(text):,} characters were left out")


class Gatherer:
    """Makes plain data until the cap is certainly passed; every value weighs at least as much as its JSON's shortest
    form, so what was gathered by then begins with the same `output` bytes as the whole."""

    __slots__ = ("_left", "_output")

    def __init__(self, output: int) -> None:
        self._output = output
        self._left = output + _CLOSING

    @property
    def full(self) -> bool:
        return self._left < 0

    def shaped(self, plain: Any) -> Shaped:
        """What was gathered as it is, or the head of it: of a text itself, of anything else of its JSON."""
        if not self.full and (self._output + _CLOSING - self._left) * _WIDEST <= self._output:
            return Shaped(plain)
        is_text = isinstance(plain, str)
        data = plain.encode() if is_text else encode(plain)
        if not self.full and len(data) <= self._output:
            return Shaped(plain)
        size = "" if self.full else f" of {len(data):,}"
        note = f"only the first {self._output:,}{size} bytes were kept" + ("" if is_text else ", as JSON text")
        return Shaped(data[: self._output].decode(errors="ignore"), note)

    def drained(self, items: Iterator[Any]) -> list[Any]:
        """The items an iterator gives, no more of them than the cap allows."""
        try:
            return self._items(items, 1)
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                close()

    def plain(self, value: Any, depth: int = 0) -> Any:
        """One value. Never raises, whatever the value's own methods do."""
        kind = cast("Any", type(value))
        if kind is str:
            return self._text(value)
        if value is None or kind is bool:
            self._left -= 2
            return value
        if kind is int:
            return self._integer(value)
        if kind is float:
            self._left -= 2
            return (
                value if value - value == 0 else ("NaN" if value != value else "Infinity" if value > 0 else "-Infinity")
            )
        if depth >= DEEPEST:
            return self._text("… (nested too deeply)")
        try:
            if kind is dict:
                return self._table(value.items(), depth + 1)
            if kind is list or kind is tuple:
                return self._items(value, depth + 1)
            return self._other(value, kind, depth + 1)
        except Exception as error:  # noqa: BLE001 - a value's own methods may raise anything
            return self._text(f"<{kind.__name__}: {fault_text(error, 200)}>")

    def _text(self, text: str) -> str:
        left = self._left
        self._left -= len(text) + 2
        if self._left < 0:
            text = text[: max(left, 0) + 1]
        return text if text.isascii() else text.encode(errors="backslashreplace").decode()

    def _integer(self, number: int) -> int | str:
        """JSON knows no bounds for integers, but its readers do: beyond 64 bits the digits are text."""
        if _LEAST_INT <= number <= _MOST_INT:
            self._left -= 2
            return number
        bits = number.bit_length()
        return self._text(str(number) if bits < 10_000 else f"<an integer of about {bits * 3 // 10:,} digits>")

    def _items(self, items: Iterable[Any], depth: int) -> list[Any]:
        self._left -= 2
        found: list[Any] = []
        for item in items:
            found.append(self.plain(item, depth))
            if self._left < 0:
                break
        return found

    def _table(self, pairs: Iterable[tuple[Any, Any]], depth: int) -> dict[str, Any]:
        self._left -= 2
        found: dict[str, Any] = {}
        for key, item in pairs:
            name = key if type(key) is str and key.isascii() else self._key(key)
            self._left -= len(name) + 3
            found[name] = self.plain(item, depth)
            if self._left < 0:
                break
        return found

    def _key(self, key: Any) -> str:
        left = self._left
        plain = self.plain(key, DEEPEST - 2)
        self._left = left  # the table weighs its names itself
        return plain if isinstance(plain, str) else encode(plain).decode()

    def _other(self, value: Any, kind: Any, depth: int) -> Any:
        if isinstance(value, enum.Enum):
            return self.plain(value.value, depth)
        if isinstance(value, str):
            return self._text(str.__str__(value))
        if isinstance(value, int):
            return self._integer(int(value))
        if isinstance(value, float):
            return self.plain(float.__float__(value), depth)
        if isinstance(value, bytes | bytearray | memoryview):
            return self._text(_decoded(cast("bytes", value), max(self._left, 0) + 4))
        if isinstance(value, BaseException):
            return self._text(fault_text(value))
        if isinstance(value, date | time):
            return self._text(value.isoformat())
        if hasattr(kind, "model_dump"):  # pydantic, which knows what it must not show
            return self.plain(value.model_dump(mode="json"), depth)
        names = _field_names(kind)
        if names is not None:
            return self._table(((name, getattr(value, name)) for name in names), depth)
        return self._collection(value, depth)

    def _collection(self, value: Any, depth: int) -> Any:
        if isinstance(value, Mapping):
            return self._table(cast("Mapping[Any, Any]", value).items(), depth)
        if isinstance(value, Set):
            found = self._items(cast("Set[Any]", value), depth)
            return found if self.full else sorted(found, key=_order)
        if isinstance(value, Sequence):
            return self._items(cast("Sequence[Any]", value), depth)
        try:
            return self._integer(index(value))  # numpy's integers
        except TypeError:
            return self._text(_ADDRESS.sub("", str(value)))


def _field_names(kind: Any) -> Iterable[str] | None:
    """The names of a record's parts, whoever made it; None when it is no record."""
    if hasattr(kind, "__dataclass_fields__"):
        from dataclasses import fields  # late: who has such a record has loaded it

        return [field.name for field in fields(kind)]
    if hasattr(kind, "__attrs_attrs__"):
        return [field.name for field in kind.__attrs_attrs__]
    if hasattr(kind, "__struct_fields__"):
        return kind.__struct_fields__
    return getattr(cast("Any", kind), "_fields", None) if issubclass(kind, tuple) else None


def _decoded(value: bytes | bytearray | memoryview, most: int) -> str:
    """Bytes as text; those that are none are shown as `\\xff`."""
    head = bytes(value)[:most] if isinstance(value, memoryview) else bytes(value[:most])
    return head.decode(errors="backslashreplace")


def _order(plain: Any) -> tuple[bool, Any]:
    """Numbers by size, then everything else by its JSON: the same set gives the same list."""
    if isinstance(plain, int | float):
        return False, plain
    return True, encode(plain)
