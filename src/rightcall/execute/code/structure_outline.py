"""From the nodes of a parsed file to its outline."""

import re
from collections.abc import Sequence

from msgspec import UNSET, Struct, UnsetType

from rightcall.execute.code.structure_tables import Grammar

MOST_ENTRIES = 500
_LONGEST = 200
_WORDS = frozenset(
    ("class", "struct", "interface", "enum", "trait", "protocol", "object", "record", "union", "module", "impl", "type",
     "extension", "actor")
)  # fmt: skip
_WORD = re.compile(r"[^\W\d]\w*")
_MODULE = re.compile(r"^(?:module\.)?exports\.")
_QUOTED = re.compile(r"[\"'](\w{1,200})[\"']")


class Part(Struct, frozen=True, rename="camel", kw_only=True):
    """Something with a name, from line to line. `methods` are those of a class, `kind` is what it calls itself."""

    name: str
    line: int
    end_line: int | UnsetType = UNSET
    kind: str | UnsetType = UNSET
    methods: list["Part"] | UnsetType = UNSET


class Import(Struct, frozen=True, rename="camel", kw_only=True):
    text: str
    line: int


class Structure(Struct, frozen=True, rename="camel", kw_only=True):
    """Functions are those of the file itself; what is local to a function is left out. `exports` are the names that
    other files can use, as far as this one tells. `truncated`: there is more than fits here."""

    language: str
    imports: list[Import]
    classes: list[Part]
    functions: list[Part]
    exports: list[Part]
    truncated: bool = False


class Node(Struct, frozen=True, array_like=True):
    """What the worker tells of one node. `head` stands before the name, `tail` after it."""

    kind: str
    name: str
    head: str
    tail: str
    line: int
    name_line: int
    end_line: int
    start: int
    end: int
    receiver: str
    exported: list[str]


def outline(language: str, grammar: Grammar, nodes: Sequence[Node], more: bool = False) -> Structure:
    """The outline of nodes that come in the order of the text."""
    made = _Outline(grammar)
    for node in nodes:
        if made.entries == MOST_ENTRIES:
            more = True
            break
        made.add(node)
    return made.result(language, more)


class _Outline:
    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._roles = grammar.roles
        self._open: list[tuple[int, Part | None]] = []
        """The classes and functions around the place we are at: where each ends, and the class; None for a function,
        whose insides are nobody's business."""
        self._owned: list[tuple[str, Part]] = []
        """Methods that are written outside their class."""
        self._public: list[Part] = []
        self.imports: list[Import] = []
        self.classes: list[Part] = []
        self.functions: list[Part] = []
        self.exports: list[Part] = []
        self.entries = 0
        self._cut = False

    def add(self, node: Node) -> None:
        while self._open and node.start >= self._open[-1][0]:
            self._open.pop()
        role = self._roles[node.kind]
        if role == "import":
            text = " ".join(f"{node.head}{node.name}{node.tail}".split())
            self.imports.append(Import(text=_cut(text), line=node.line))
            self.entries += 1
        elif role == "export":
            self._export(node)
        elif node.name:
            self._define(node, role)

    def _export(self, node: Node) -> None:
        if self._open:  # an assignment to `exports` may stand anywhere
            return
        if node.kind != "export_statement":
            names = _QUOTED.findall(node.tail) or [_MODULE.sub("", node.name)]
        elif node.tail.split(None, 2)[:2] == ["export", "default"]:
            names = ["default"]
        else:
            names = node.exported or ["*"]
        room = MOST_ENTRIES - self.entries
        self.exports += [Part(name=_cut(name), line=node.line) for name in names[:room]]
        self.entries += len(names[:room])
        self._cut = len(names) > room

    def _define(self, node: Node, role: str) -> None:
        inside = self._open[-1] if self._open else None
        is_class = role == "class"
        if inside is not None and inside[1] is None:
            return
        around = inside[1] if inside is not None else None
        name = _cut(f"{around.name}.{node.name}" if is_class and around is not None else node.name)
        part = Part(
            name=name,
            line=node.name_line,
            end_line=node.end_line,
            kind=_kind(node) if is_class else UNSET,
            methods=[] if is_class else UNSET,
        )
        self._open.append((node.end, part if is_class else None))
        self.entries += 1
        if is_class:
            self.classes.append(part)
        elif around is not None and around.methods is not UNSET:
            around.methods.append(part)
        elif node.receiver:
            self._owned.append((_owner(node.receiver), part))
        else:
            self.functions.append(part)
        if around is None and not node.receiver and self._is_public(node):
            self._public.append(Part(name=name, line=node.name_line))

    def _is_public(self, node: Node) -> bool:
        public, words = self._grammar.public, set(_WORD.findall(re.sub(r"pub\s*\(", "", node.head)))
        if public == "underscore":
            return not node.name.startswith("_")
        if public == "capital":
            return node.name[0].isupper()
        if public == "all":
            return True
        if public == "statements":
            return False
        return (not words.isdisjoint(self._grammar.words)) == (public == "marked")

    def result(self, language: str, more: bool) -> Structure:
        methods = {one.name: one.methods for one in self.classes if one.methods is not UNSET}
        for owner, part in self._owned:
            if owner in methods:
                methods[owner].append(part)
            else:
                name = _cut(f"{owner}.{part.name}")
                self.functions.append(Part(name=name, line=part.line, end_line=part.end_line))
        return Structure(
            language=language,
            imports=self.imports,
            classes=self.classes,
            functions=self.functions,
            exports=self.exports or self._public,
            truncated=more or self._cut,
        )


def _owner(receiver: str) -> str:
    """Of `(s *Stack[T])`: Stack."""
    words = _WORD.findall(receiver.partition("[")[0])
    return words[-1] if words else ""


def _kind(node: Node) -> str | UnsetType:
    words = (*_WORD.findall(node.head), *_WORD.findall(node.tail)[:2])
    return next((word for word in words if word in _WORDS), UNSET)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
