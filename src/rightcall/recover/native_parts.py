"""What a native message is taken apart into, and the basket the parts are gathered in."""

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from rightcall.recover.native_fields import field, is_many, is_thing, text_of, word
from rightcall.types import Note, NoteCode

MOST = 10_000
"""So many parts are read from one message; a longer one gets a note."""
DEEPEST = 12
"""The deepest real nesting is four; more is a cycle or worse."""

CUT = {"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"}
TEXT_FIELDS = ("text", "thinking", "reasoning", "refusal", "summary", "content", "reasoningText", "value")


class NativeCall(NamedTuple):
    """A call as the API gave it, also a malformed one: `name` and `arguments` are whatever stood there."""

    name: Any
    arguments: Any
    id: str | None
    partial: bool
    """The API itself says that this call is unfinished."""


class NativeText(NamedTuple):
    """Prose of the model, which may itself hold calls; `reasoning` never does."""

    text: str
    reasoning: bool = False


class Unpacked(NamedTuple):
    """The parts in order of appearance. `finish` is why the API stopped, `length` when the token limit cut it."""

    parts: tuple[NativeCall | NativeText, ...]
    finish: str | None
    notes: tuple[Note, ...]


def finish_word(given: str) -> str:
    """Why an API stopped; `length` in all the words that APIs have for the token limit."""
    return "length" if given.rsplit(".", 1)[-1].casefold() in CUT else given


class Basket:
    """Gathers the parts of one message, no more than `MOST` of them."""

    def __init__(self) -> None:
        self.parts: list[NativeCall | NativeText] = []
        self.notes: list[Note] = []
        self.finish: str | None = None
        self.listed: frozenset[tuple[str, str]] = frozenset()
        """Id and name of the calls that stand beside the content that is being read."""
        self._left = MOST

    def call(self, call: NativeCall) -> None:
        if type(call.name) is str and call.id is not None and (call.id, call.name) in self.listed:
            self.note("repeated", "the content repeats a call that the message lists")
            return
        self._add(call)

    def text(self, value: Any, *, reasoning: bool = False, depth: int = 0) -> None:
        """The text in this value: a string, a list of pieces, or an object around one."""
        text = text_of(value)
        if text is not None:
            if text:
                self._add(NativeText(text, reasoning))
        elif value is None:
            pass
        elif depth > DEEPEST:
            self.note("unreadable", "the text is nested too deep, or holds itself")
        elif is_many(value):
            for piece in self.entries(value):
                self.text(piece, reasoning=reasoning, depth=depth + 1)
        elif is_thing(value):
            self.text(field(value, *TEXT_FIELDS), reasoning=reasoning, depth=depth + 1)
        else:
            self.note("unreadable", f"a {type(value).__name__} stands where text should")

    def finished(self, reason: Any) -> None:
        """The last reason counts, but once cut off is cut off."""
        given = word(reason)
        if given and self.finish != "length":
            self.finish = finish_word(given)

    def entries(self, value: Any) -> Iterator[Any]:
        """The items of a list, as far as there is room; what is no list is its own only item."""
        if not is_many(value):
            yield value
            return
        try:
            for item in _iterator(value):
                if self._left <= 0:
                    self._full()
                    return
                self._left -= 1
                yield item
        except Exception:  # noqa: BLE001 - a list of an SDK that cannot be walked to its end
            self.note("unreadable", f"a {type(value).__name__} cannot be read to its end")

    def note(self, code: NoteCode, message: str) -> None:
        self.notes.append(Note(code, message))

    def unpacked(self) -> Unpacked:
        return Unpacked(tuple(self.parts), self.finish, tuple(dict.fromkeys(self.notes)))

    def _add(self, part: NativeCall | NativeText) -> None:
        if len(self.parts) < MOST:
            self.parts.append(part)
        else:
            self._full()

    def _full(self) -> None:
        self.note("too_many", f"the message has more than {MOST} parts; the rest was not read")


def _iterator(value: Any) -> Iterator[Any]:
    plain = next((kind for kind in (list, tuple) if issubclass(type(value), kind)), None)
    # A subclass of list may have another idea of how to walk through it.
    return iter(value) if plain is None else cast("Any", plain).__iter__(value)
