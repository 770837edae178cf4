"""Adding to JSON and removing from it as a careful person would: in the layout of its neighbours, nothing else touched.

What is added by `with_child` is removed by `without_child` to the last byte, as long as nobody wrote in between.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from rightcall.installing.jsonc import Node, read

Path = tuple[str | int, ...]

_INDENTED = re.compile(r"\n([ \t]+)[\"\[{]")
_TAIL = re.compile(r"(?:[ \t]++|/\*(?:[^*\r\n]|\*(?!/))*+\*/)*+(?://[^\r\n]*+)?(?=\r?\n)")
"""The rest of a line that holds nothing but comments."""


class Edit(Struct, frozen=True):
    """`insert` instead of what stands from `start` up to `end`."""

    start: int
    end: int
    insert: str = ""


def apply(text: str, edits: Sequence[Edit]) -> str:
    """The text with edits that do not overlap; of two at one place the first comes first."""
    out, at = "", 0
    for edit in sorted(edits, key=lambda one: one.start):
        out += text[at : edit.start] + edit.insert
        at = edit.end
    return out + text[at:]


def node_at(tree: Node, path: Path) -> Node | None:
    """The node that a path of names and numbers leads to."""
    here: Node | None = tree
    for step in path:
        if here is None:
            return None
        if isinstance(step, int):
            here = here.children[step] if here.kind == "array" and step < len(here.children) else None
        else:
            here = here.get(step) if here.kind == "object" else None
    return here


def with_child(text: str, path: Path, data: Any, key: str | None = None) -> str:
    """The text with one more child, at the end of the object (then with a key) or array that the path leads to."""
    box = _box(text, path)
    name = "" if key is None else quoted(key)
    if box.children:
        return apply(text, _behind_others(text, box, name, data))
    return apply(text, [_into_empty(text, box, name, data)])


def with_string(text: str, path: Path, value: str) -> str:
    """The text with another string where the path leads to."""
    return with_literal(text, path, quoted(value))


def with_literal(text: str, path: Path, literal: str) -> str:
    """The text with other JSON, as it is written, where the path leads to."""
    node = _box(text, path)
    return apply(text, [Edit(node.start, node.end, literal)])


def quoted(value: str) -> str:
    """A string as JSON writes it."""
    return json.dumps(value, ensure_ascii=False)


def without_child(text: str, path: Path, at: int, hollow: str = "") -> str:
    """The text without one child. `hollow` is what stood there while there was none, and does again where this was the
    only one and no more than blanks differ."""
    box = _box(text, path)
    start, end = _with_blanks_before(text, box.begins(at)), box.children[at].end
    comma = box.comma_after(at)
    edits: list[Edit] = []
    if comma is None:
        edits = [Edit(box.commas[at - 1], box.commas[at - 1] + 1)] if at > 0 else []
    elif text[end:comma].strip(" \t"):  # a comment of somebody else
        edits = [Edit(comma, comma + 1)]
    else:
        end = comma + 1
        if at == 0 and "\n" not in text[start:end] and text[end : end + 1] == " ":
            end += 1
    done = apply(text, [*edits, Edit(start, end)])
    return _emptied(done, path, hollow) if len(box.children) == 1 else done


def hollow_of(text: str, path: Path) -> str | None:
    """What stands in an object or array without children; None where it has some."""
    box = _box(text, path)
    return None if box.children else text[box.start + 1 : box.end - 1]


def _box(text: str, path: Path) -> Node:
    box = node_at(read(text), path)
    if box is None:
        raise KeyError(path)
    return box


def _emptied(text: str, path: Path, hollow: str) -> str:
    box = _box(text, path)
    inside = text[box.start + 1 : box.end - 1]
    return apply(text, [Edit(box.start + 1, box.end - 1, hollow)]) if inside.split() == hollow.split() else text


def _with_blanks_before(text: str, start: int) -> int:
    """The line that a child stands on is its own: back to the line end before it."""
    at = start
    while text[at - 1] in " \t":
        at -= 1
    if text[at - 1] == "\n":
        return at - 2 if text[at - 2] == "\r" else at - 1
    return at


def _behind_others(text: str, box: Node, name: str, data: Any) -> list[Edit]:
    last = len(box.children) - 1
    end, comma = box.children[last].end, box.comma_after(last)
    line = text.rfind("\n", 0, box.begins(last)) + 1
    indent = text[line : box.begins(last)]
    if line == 0 or indent.strip(" \t"):
        tight = _is_tight(text, box)
        body = _compact(name, data, tight=tight)
        blank = "" if tight else " "
        if comma is None:
            return [Edit(end, end, f",{blank}{body}")]
        return [Edit(comma + 1, comma + 1, f"{blank}{body},")]
    behind = end if comma is None else comma + 1
    tail = _TAIL.match(text, behind)
    place = behind if tail is None else tail.end()
    body = f"{line_end(text)}{indent}{_laid_out(text, name, data, indent)}"
    if comma is None:
        return [Edit(end, end, ","), Edit(place, place, body)]
    return [Edit(place, place, body + ",")]


def _into_empty(text: str, box: Node, name: str, data: Any) -> Edit:
    place, inside = box.start + 1, text[box.start + 1 : box.end - 1]
    if "\n" not in text.strip() and len(text.strip("\ufeff \t\r\n")) > box.end - box.start:
        return Edit(place, place, _compact(name, data, tight=", " not in text and ": " not in text))
    line = text.rfind("\n", 0, box.start) + 1
    whole = text[line : box.start]
    indent = whole[: len(whole) - len(whole.lstrip(" \t"))]
    inner = indent + indent_of(text)
    closing = "" if "\n" in inside else line_end(text) + indent
    return Edit(place, place, f"{line_end(text)}{inner}{_laid_out(text, name, data, inner)}{closing}")


def _is_tight(text: str, box: Node) -> bool:
    """Whether it is written without blanks, as programs do that save room."""
    if len(box.children) > 1:
        return text[box.commas[0] + 1] not in " \t\r\n"
    return ": " not in text[box.start : box.end]


def _compact(name: str, data: Any, *, tight: bool) -> str:
    separators = (",", ":") if tight else (", ", ": ")
    body = json.dumps(data, ensure_ascii=False, separators=separators)
    return f"{name}{separators[1]}{body}" if name else body


def _laid_out(text: str, name: str, data: Any, indent: str) -> str:
    body = json.dumps(data, ensure_ascii=False, indent=indent_of(text))
    body = body.replace("\n", line_end(text) + indent)  # in strings a line end is written as \n, never as itself
    return f"{name}: {body}" if name else body


def line_end(text: str) -> str:
    """As the first line of the text ends."""
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def indent_of(text: str) -> str:
    """One step of indentation, as the text has it."""
    found = _INDENTED.search(text)
    return found.group(1) if found else "  "
