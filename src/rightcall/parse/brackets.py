"""The open brackets of a text: what is put into them, and how they close, also with the wrong bracket or with none."""

from __future__ import annotations

from typing import Any

from rightcall.errors import Unreadable
from rightcall.parse.atoms import Atoms
from rightcall.parse.late import Late
from rightcall.parse.shape import ANY, Shape
from rightcall.parse.strings import space

_GOES_ON = Late(r'\s*,\s*"[^"\\\n]{1,100}"\s*:')


class Frame:
    """One open bracket. `after` is true between a value and the comma that should follow it."""

    __slots__ = ("after", "closer", "commas", "key", "keyed", "shape", "value")

    def __init__(self, closer: str, keyed: bool, shape: Shape) -> None:
        self.closer = closer
        self.keyed = keyed
        self.shape = shape
        self.value: Any = {} if keyed else []
        self.key = ""
        self.after = False
        self.commas = 0


class Brackets(Atoms):
    """A stack of open brackets; what closes last is the value."""

    def __init__(self, text: str, max_depth: int) -> None:
        super().__init__(text)
        self.max_depth = max_depth
        self.stack: list[Frame] = []
        self.root: Any = None
        self.duplicates: list[str] = []

    def put(self, value: Any) -> None:
        if not self.stack:
            self.root = value
            return
        frame = self.stack[-1]
        if frame.keyed:
            if frame.key in frame.value:
                self.duplicates.append(self.path())
            frame.value[frame.key] = value
        else:
            frame.value.append(value)
        frame.after = True

    def push(self, closer: str, keyed: bool, shape: Shape, at: int) -> None:
        if len(self.stack) >= self.max_depth:
            raise Unreadable(f"nested deeper than {self.max_depth} levels", at)
        wanted = "object" if keyed else "array"
        for option in shape.options:
            if option.allows(wanted) and (option.props if keyed else option.items):
                shape = option
                break
        self.stack.append(Frame(closer, keyed, shape))
        self.open += closer
        self.at = at
        self.solid = False

    def close(self, at: int, char: str) -> None:
        self.at = at + 1
        frame = self.stack[-1]
        if frame.closer != char:
            found = self.open.rfind(char)
            if found < 0 and len(self.stack) == 1 and space(self.text, at + 1) < self.size:
                self.mark("surplus_closer", at)
                return
            self.mark("wrong_closer" if found < 0 else "missing_closer", at)
            while len(self.stack) > found + 1 > 0:
                self.pop()
        elif frame.value and not frame.after:
            self.mark("trailing_comma", at)
        if len(self.stack) == 1 and char == "}" and _GOES_ON.match(self.text, self.at):
            self.mark("early_closer", at)  # {"a": 1}, "b": 2}: a bracket too early, the text goes on with another key
            self.stack[-1].after = True
            return
        self.pop()

    def pop(self) -> None:
        frame = self.stack.pop()
        self.open = self.open[:-1]
        value = frame.value
        if frame.closer == ")" and not frame.keyed:
            if len(value) == 1 and not frame.commas:
                value = value[0]
            else:
                self.mark("python_literal", self.at)
        self.solid = True
        self.put(value)

    def cut_off(self, frame: Frame) -> None:
        """The text ends here. Only where the last value is visibly complete are brackets all that is missing."""
        if not self.cut:
            self.cut = "closers" if self.solid and frame.after else "value"
        self.at = self.size
        self.mark("cut_closers" if self.cut == "closers" else "cut_value", self.size)
        while self.stack:
            self.pop()

    def cut_value(self) -> None:
        self.cut = "value"
        self.cut_off(self.stack[-1])

    def member_shape(self, frame: Frame) -> Shape:
        return frame.shape.props.get(frame.key) or frame.shape.additional or ANY

    def item_shape(self, frame: Frame) -> Shape:
        prefix = frame.shape.prefix
        if len(frame.value) < len(prefix):
            return prefix[len(frame.value)]
        return frame.shape.items or ANY

    def path(self) -> str:
        """Where the reader stands, as `items[2].name`."""
        parts = (f".{frame.key}" if frame.keyed else f"[{len(frame.value)}]" for frame in self.stack)
        return "".join(parts).removeprefix(".")
