"""One tool as the gate knows it: what was given, what packs and the policy add, and a compiled `accepts`."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from rightcall.types import Effect, Rules

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

    from rightcall.base.json.shape import Shape
    from rightcall.catalog.schema import Check


ALL_EFFECTS: frozenset[Effect] = frozenset[Effect](("read", "write", "execute", "network"))
"""What a tool that declares nothing counts as: everything."""


HOST_OWN = "host"
"""The pack of a tool that is a host's own. What we say of it may change with our version, which is no news of it."""


class PackTool(Struct, frozen=True, omit_defaults=True):
    """What a pack or the policy file says of one tool. `pack` is the pack's name, or `policy` for the policy file.

    `schema` None means: rules only. `effects` None means: not declared.
    """

    name: str
    description: str = ""
    schema: dict[str, Any] | None = None
    effects: tuple[Effect, ...] | None = None
    rules: Rules = Rules()
    pack: str = "policy"
    is_tried: bool = False
    """It ships with us, and a test compiles it: where nothing is laid over it, that can wait for its first call."""


MARK = "__rightcall_tool__"
"""The attribute in which a function carries what its author declared with `@tool`; its `described` is a `PackTool`."""


def declared_tool(thing: Any) -> PackTool | None:
    """What the author of a function declared of it; None where nothing was."""
    about = getattr(getattr(thing, MARK, None), "described", None)
    return about if isinstance(about, PackTool) else None


class LateCheck:
    """The compiled check of a tool's arguments, made when it is first asked for; copies of a tool share it."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: "Callable[[], Check]") -> None:
        self._make = make
        self._made: Check | None = None

    @property
    def is_made(self) -> bool:
        return self._made is not None

    def __call__(self) -> "Check":
        """Raises ToolError where the schema is none."""
        if self._made is None:
            self._made = self._make()
        return self._made


class Tool(Struct, frozen=True, dict=True, eq=False):
    """An immutable tool of a catalogue. Built by `build_catalog`; its dicts are its own and are never changed.

    `accepts(arguments)` is one compiled check: true means the arguments fit schema and rules and nothing is to be
    done, apart from what a schema cannot say:

    - it refuses numbers beyond 64 bits, for which there is `fits`;
    - it may raise ValueError on what is not JSON at all (bytes, sets, keys that are no text, a lone surrogate in one);
      the caller catches that;
    - where `open` is true there are places without a type, in which lone surrogates, NaN, infinities and reserved keys
      below the first level pass: look deep there;
    - where `exact` is false, more than the schema decides: texts that must hold JSON (`rules.json_text`), the inner
      calls of a batch, or a replacement for a deprecated tool.
    """

    name: str
    description: str
    schema: dict[str, Any]
    """JSON Schema (2020-12) of the arguments, tidied, without what `unchecked` names."""
    rules: Rules
    effects: frozenset[Effect]
    effects_declared: bool
    check: LateCheck
    exact: bool
    unchecked: tuple[str, ...]
    """Notes about keywords that cannot be checked, such as a pattern with look-around."""
    digest: str
    source: str
    """`given`, `pack:NAME` or `policy`."""

    @cached_property
    def accepts(self) -> Callable[[Any], bool]:
        return self.check().accepts

    @cached_property
    def accepts_large(self) -> Callable[[Any], bool] | None:
        """`accepts` for numbers of any size, where the schema has numbers; it does not see lone surrogates."""
        return self.check().accepts_large

    @cached_property
    def open(self) -> bool:
        return self.check().open

    @cached_property
    def is_described(self) -> bool:
        """Whether a pack or the policy says what its arguments are: which of them is a path or a command, too."""
        return self.source.startswith(("pack:", "policy"))

    @cached_property
    def deprecated(self) -> bool:
        """Whether another tool has taken this one's place."""
        return self.rules.replaced_by is not None

    @cached_property
    def fits(self) -> Callable[[Any], bool]:
        """Whether `accepts` takes the arguments, or would, were a number in them not so large."""
        check = self.check()
        return check.accepts if check.accepts_large is None else check.fits

    @property
    def is_decidable(self) -> bool:
        """Whether the arguments alone decide over a call."""
        return self.exact or not (self.rules.batch is not None or self.deprecated)

    @cached_property
    def decides(self) -> Callable[[Any], bool] | None:
        """`accepts`, extended by a look into the texts that must hold JSON: true means that the call is right as it is.
        None where more than arguments decides. It may raise ValueError, as `accepts` may."""
        if self.exact:
            return self.accepts
        if not self.is_decidable:
            return None
        from rightcall.catalog.schema import accepts_with_text  # late: most tools have no such text

        decides = self.accepts
        for name in self.rules.json_text:
            decides = accepts_with_text(decides, self.schema, name)
        return decides

    @cached_property
    def shape(self) -> "Shape":
        """The schema as the lenient reader wants it; built when the first broken call comes."""
        from rightcall.base.json.shape import shape_of  # late: a call that fits never needs it

        return shape_of(self.schema)

    @cached_property
    def errors(self) -> "Callable[[Any], Iterator[ValidationError]]":
        """Every error of the schema with unknown arguments counted as errors; compiled when first asked."""
        from rightcall.catalog.schema import explainer

        return explainer(self.schema)


NameKind = Literal["exact", "alias", "namespace", "style", "typo", "none"]


class NameMatch(Struct, frozen=True):
    """What a name was taken for. `tool` is None when no single tool is certain; then `suggestions` may help."""

    kind: NameKind
    tool: Tool | None
    confidence: float = 1.0
    suggestions: tuple[str, ...] = ()


# ── pack ──
# A pack as loaded.


class Pack(Struct, frozen=True):
    """Tools and what is known about them. `source` is the file; its dicts are shared: leave them be."""

    name: str
    description: str
    tools: tuple[PackTool, ...]
    source: str
    title: str = ""
    version: str = ""
