"""Adding to JSON and removing from it as a careful person would: in the layout of its neighbours, nothing else touched.

What is added by `with_child` is removed by `without_child` to the last byte, as long as nobody wrote in between.
"""

import json
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from msgspec import Struct

# ── jsonc ──
# JSON as settings files have it, with comments and trailing commas, read so that every part knows where it stands.
#
# >>> tree = read('{"a": [1, 2,], // two\n}')
# >>> tree.get("a").children[1].start
# 10

Kind = Literal["object", "array", "string", "number", "word"]

_DEEPEST = 100
_TRIVIA = re.compile(r"(?:[ \t\r\n]++|//[^\r\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*+"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}
_WORD = re.compile("true|false|null")


class NotReadable(Exception):
    """The text is no JSON, not even with comments. `at` is where in it, -1 for nowhere."""

    def __init__(self, why: str, at: int = -1) -> None:
        super().__init__(why)
        self.why = why
        self.at = at


class TooDeep(NotReadable):
    """Valid as far as it was read, and nested deeper than anything that is edited here."""


class Node(Struct, frozen=True):
    """A value in the text, from `start` up to `end`. In an object `keys` are the names of `children`, and `heads` where
    those names begin."""

    kind: Kind
    start: int
    end: int
    value: Any = None
    children: tuple["Node", ...] = ()
    keys: tuple[str, ...] = ()
    heads: tuple[int, ...] = ()
    commas: tuple[int, ...] = ()

    def get(self, key: str) -> "Node | None":
        """The value of a key; of several the last, as everybody reads it."""
        for at in reversed(range(len(self.keys))):
            if self.keys[at] == key:
                return self.children[at]
        return None

    def begins(self, at: int) -> int:
        """Where a child begins, its name included."""
        return self.heads[at] if self.heads else self.children[at].start

    def comma_after(self, at: int) -> int | None:
        """Where the comma behind a child is. Only the last child can be without one."""
        return self.commas[at] if at < len(self.commas) else None

    def plain(self) -> Any:
        """The value without its places. A number stays as it is written: nothing here reckons with it."""
        if self.kind == "object":
            return {key: child.plain() for key, child in zip(self.keys, self.children, strict=True)}
        if self.kind == "array":
            return [child.plain() for child in self.children]
        return ("number", self.value) if self.kind == "number" else self.value


@lru_cache(maxsize=16)
def read(text: str) -> Node:
    """The one value of a text, after a byte order mark if there is one. Raises NotReadable."""
    at = after_trivia(text, 1 if text.startswith("\ufeff") else 0)
    node = _value(text, at, 0)
    rest = after_trivia(text, node.end)
    if rest != len(text):
        raise NotReadable("unexpected text after the end of the value", rest)
    return node


def after_trivia(text: str, at: int) -> int:
    """The first place from `at` on that is neither blank nor comment."""
    found = _TRIVIA.match(text, at)
    return at if found is None else found.end()


def _value(text: str, at: int, depth: int) -> Node:
    if depth > _DEEPEST:
        raise TooDeep(f"nested more than {_DEEPEST} levels deep", at)
    first = text[at : at + 1]
    if first == "{":
        return _object(text, at, depth)
    if first == "[":
        return _array(text, at, depth)
    if first == '"':
        return _string(text, at)
    if found := _NUMBER.match(text, at):
        return Node("number", at, found.end(), found.group())
    if found := _WORD.match(text, at):
        return Node("word", at, found.end(), _WORDS[found.group()])
    raise NotReadable("a value is missing" if first else "it ends too early", at)


def _string(text: str, at: int) -> Node:
    found = _STRING.match(text, at)
    if found is None:
        raise NotReadable("a text in double quotes is missing or broken", at)
    # `json`, since a lone surrogate is right for every host and wrong for msgspec
    return Node("string", at, found.end(), json.loads(found.group()))


def _array(text: str, start: int, depth: int) -> Node:
    children: list[Node] = []
    commas: list[int] = []
    at = after_trivia(text, start + 1)
    while text[at : at + 1] != "]":
        children.append(_value(text, at, depth + 1))
        at = _separator(text, children[-1].end, "]", commas)
    return Node("array", start, at + 1, children=tuple(children), commas=tuple(commas))


def _object(text: str, start: int, depth: int) -> Node:
    children: list[Node] = []
    keys: list[str] = []
    heads: list[int] = []
    commas: list[int] = []
    at = after_trivia(text, start + 1)
    while text[at : at + 1] != "}":
        key = _string(text, at)
        colon = after_trivia(text, key.end)
        if text[colon : colon + 1] != ":":
            raise NotReadable("a colon is missing after a name", colon)
        children.append(_value(text, after_trivia(text, colon + 1), depth + 1))
        keys.append(key.value)
        heads.append(at)
        at = _separator(text, children[-1].end, "}", commas)
    return Node("object", start, at + 1, None, tuple(children), tuple(keys), tuple(heads), tuple(commas))


def _separator(text: str, at: int, closing: str, commas: list[int]) -> int:
    """Where the next child, or the closing bracket, is."""
    at = after_trivia(text, at)
    if text[at : at + 1] == ",":
        commas.append(at)
        return after_trivia(text, at + 1)
    if text[at : at + 1] != closing:
        raise NotReadable(f"a comma or {closing} is missing" if text[at:] else "it ends too early", at)
    return at


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
        at = max(at, edit.end)
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
    name = "" if key is None else quote_json(key)
    if box.children:
        return apply(text, _behind_others(text, box, name, data))
    return apply(text, [_into_empty(text, box, name, data)])


def with_string(text: str, path: Path, value: str) -> str:
    """The text with another string where the path leads to."""
    return with_literal(text, path, quote_json(value))


def with_literal(text: str, path: Path, literal: str) -> str:
    """The text with other JSON, as it is written, where the path leads to."""
    node = _box(text, path)
    return apply(text, [Edit(node.start, node.end, literal)])


def quote_json(value: str) -> str:
    """A string as JSON writes it."""
    return json.dumps(value, ensure_ascii=False)


def without_child(text: str, path: Path, at: int, hollow: str = "") -> str:
    """The text without one child. `hollow` is what stood there while there was none, and does again where this was the
    only one and no more than blanks differ."""
    box = _box(text, path)
    done = apply(text, removals(text, box, [at]))
    return _emptied(done, path, hollow) if len(box.children) == 1 else done


def removals(text: str, box: Node, gone: Collection[int]) -> list[Edit]:
    """What takes some children out of an object or array. Comments stay."""
    edits: list[Edit] = []
    kept = [at for at in range(len(box.children)) if at not in gone]
    for at in gone:
        start, end = _with_blanks_before(text, box.begins(at)), box.children[at].end
        comma = box.comma_after(at)
        if comma is None:
            edits += [Edit(box.commas[kept[-1]], box.commas[kept[-1]] + 1)] if kept else []
        elif text[end:comma].strip(" \t"):  # a comment of somebody else
            edits.append(Edit(comma, comma + 1))
        else:
            end = comma + 1
            if at == 0 and "\n" not in text[start:end] and text[end : end + 1] == " ":
                end += 1
        since = box.commas[at - 1] + 1 if at > 0 else box.start + 1
        if _ends_in_comment(text[since:start]) and not text[end:].lstrip(" \t\r").startswith("\n"):
            start = text.index("\n", start) + 1  # else what comes behind the child would be part of the comment
        edits.append(Edit(start, end))
    return edits


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


def _ends_in_comment(gap: str) -> bool:
    """Whether blanks and comments end amid a comment that goes to the end of its line."""
    at = 0
    while (found := gap.find("/", at)) >= 0:
        ended = gap.find("\n" if gap.startswith("//", found) else "*/", found + 2)
        if ended < 0:
            return True
        at = ended + 2 if gap.startswith("*/", ended) else ended
    return False


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


# ── toml edits ──
# Adding tables to a TOML file and taking them out again: one block at its end, between two comments that name us.
#
# TOML has no place for a table but after the last one, so nothing else moves. A program that appends a table later puts
# it before the comment at the end, as Codex does with `[hooks.state]`, where it notes which hooks are trusted: so only
# the tables at the beginning of the block count as ours.

_FIRST = "# RightCall: `rightcall uninstall codex` removes its hooks, down to the line that says end."
_LAST = "# RightCall: end."
_OTHERS = re.compile(r"^\[(?!\[hooks\.[A-Z][A-Za-z]*(?:\.hooks)?\]\])", re.MULTILINE)


def read_toml(text: str) -> dict[str, Any]:
    """The tables of a text. Raises NotReadable."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise NotReadable(str(error), len(text)) from None


def hook_tables(events: Mapping[str, Mapping[str, Any]]) -> str:
    """One group of hooks for each event, as `[[hooks.EVENT]]` tables."""
    return "\n".join(line for event, group in events.items() for line in _group(event, group))


def _group(event: str, group: Mapping[str, Any]) -> list[str]:
    lines = [f"[[hooks.{event}]]"]
    lines += [f"{key} = {_scalar(value)}" for key, value in group.items() if key != "hooks"]
    handlers: Sequence[Mapping[str, Any]] = group["hooks"]
    for handler in handlers:
        lines += [f"[[hooks.{event}.hooks]]", *(f"{key} = {_scalar(value)}" for key, value in handler.items())]
    return lines


def _scalar(value: str | int) -> str:
    """JSON's way to write a text, or a number, is TOML's too, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def with_block(text: str, block: str) -> str:
    """The text with our block at its end; one that is there is replaced."""
    bare = without_block(text)
    end = line_end(bare)
    before = end if bare.removeprefix("\ufeff") else ""
    return bare + before + "\n".join((_FIRST, block, _LAST, "")).replace("\n", end)


def block_of(text: str) -> str | None:
    """Our block with its two comments, as it stands in the text."""
    start = text.find(_FIRST)
    end = text.find(_LAST, start)
    if start < 0 or end < 0:
        return None
    end += len(_LAST)
    return text[
        start : end + len("\r\n" if text.startswith("\r\n", end) else "\n" if text.startswith("\n", end) else "")
    ]


def without_block(text: str) -> str:
    """The text without our block and the blank line before it; what others wrote into it stays."""
    block = block_of(text)
    if block is None:
        return text
    start = text.index(block)
    before, behind = text[:start], _others(block) + text[start + len(block) :]
    end = line_end(text)
    if before.endswith(end * 2) or not behind:
        before = before.removesuffix(end)
    return before + behind


def _others(block: str) -> str:
    """What stands in our block from the first table on that we would not write."""
    found = _OTHERS.search(block)
    return "" if found is None else block[found.start() : block.index(_LAST)]
