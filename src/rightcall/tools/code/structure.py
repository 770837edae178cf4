"""The structure of a source file: what it imports, defines and exports, and in which lines. The parser is optional,
and works in a program of its own."""

import os
import re
import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder
from typing import Any, Literal

from msgspec import UNSET, DecodeError, Struct, UnsetType, json

from rightcall.errors import ToolFailure

# ── languages ──
# Which language a file is written in, by its name.

_ENDINGS = {
    "python": "py pyi pyw", "javascript": "js mjs cjs jsx", "typescript": "ts mts cts", "tsx": "tsx", "java": "java",
    "go": "go", "rust": "rs", "c": "c h", "cpp": "cc cpp cxx c++ hh hpp hxx", "csharp": "cs", "ruby": "rb rake gemspec",
    "php": "php", "kotlin": "kt kts", "swift": "swift", "scala": "scala sc", "lua": "lua", "bash": "sh bash",
}  # fmt: skip
_LANGUAGES = {ending: language for language, endings in _ENDINGS.items() for ending in endings.split()}
_NAMES = {"Rakefile": "ruby", "Gemfile": "ruby", "SConstruct": "python", ".bashrc": "bash"}
_STARTERS = {"python": "python", "node": "javascript", "ruby": "ruby", "php": "php", "lua": "lua"} | dict.fromkeys(
    ("sh", "bash", "dash", "zsh", "ksh"), "bash"
)
"""Programs that a first line may name."""


def language_of(path: str, text: str = "") -> str | None:
    """The language, None where it is none of those we know. A file without an ending may say it in its first line.

    >>> language_of("src/App.TSX"), language_of("bin/tool", "#!/usr/bin/env python3\\n"), language_of("notes.txt")
    ('tsx', 'python', None)
    """
    name = path.rpartition("/")[2]
    stem, dot, ending = name.rpartition(".")
    if dot and stem:
        return _LANGUAGES.get(ending.lower())
    if name in _NAMES:
        return _NAMES[name]
    words = text[2:200].partition("\n")[0].split() if text.startswith("#!") else []
    starters = (word.rpartition("/")[2].rstrip("0123456789.") for word in words[:2])
    return next((_STARTERS[one] for one in starters if one in _STARTERS), None)


# ── tables ──
# What imports, classes and functions are called in the grammars of languages, and what makes a name public in each.
# Adding a language adds a line here and its endings above.

Rule = str | dict[str, Any]
"""A kind of node, or a rule of the parser that names one."""
Public = Literal["statements", "underscore", "capital", "marked", "unmarked", "all"]
"""A name is public by a statement of its own, without an underscore, with a capital, with one of the words before it,
without any of them, or always."""


class Grammar(Struct, frozen=True):
    imports: tuple[Rule, ...]
    classes: tuple[Rule, ...]
    functions: tuple[Rule, ...]
    public: Public = "all"
    words: tuple[str, ...] = ()
    exports: tuple[Rule, ...] = ()

    @property
    def roles(self) -> dict[str, str]:
        """What each kind of node is to us."""
        lists = (
            ("import", self.imports),
            ("export", self.exports),
            ("class", self.classes),
            ("function", self.functions),
        )
        return {(rule if isinstance(rule, str) else rule["kind"]): role for role, rules in lists for rule in rules}

    @property
    def rules(self) -> list[dict[str, Any]]:
        """All of them, as the parser takes them."""
        rules = (*self.imports, *self.exports, *self.classes, *self.functions)
        return [{"kind": rule} if isinstance(rule, str) else rule for rule in rules]


def _saying(kind: str, expression: str) -> Rule:
    return {"kind": kind, "regex": expression}


def _with_value(kind: str) -> Rule:
    values = [{"kind": value} for value in ("arrow_function", "function_expression", "generator_function")]
    return {"kind": kind, "has": {"field": "value", "any": values}}


def _with_body(kind: str) -> Rule:
    return {"kind": kind, "has": {"field": "body", "regex": "^[{]"}}


_JS_IMPORTS: tuple[Rule, ...] = ("import_statement", _saying("lexical_declaration", r"^const [^=;]*= *require\("))
_JS_EXPORTS: tuple[Rule, ...] = ("export_statement", _saying("assignment_expression", r"^(module\.)?exports\b"))
_JS_FUNCTIONS: tuple[Rule, ...] = (
    "function_declaration", "generator_function_declaration", "method_definition", _with_value("variable_declarator"),
)  # fmt: skip
_JAVASCRIPT = Grammar(
    _JS_IMPORTS,
    ("class_declaration",),
    (*_JS_FUNCTIONS, _with_value("field_definition")),
    "statements",
    (),
    _JS_EXPORTS,
)
_TYPESCRIPT = Grammar(
    _JS_IMPORTS,
    ("class_declaration", "abstract_class_declaration", "interface_declaration", "enum_declaration",
     "type_alias_declaration"),
    (*_JS_FUNCTIONS, _with_value("public_field_definition"), "function_signature", "method_signature",
     "abstract_method_signature"),
    "statements", (), _JS_EXPORTS,
)  # fmt: skip
_C_TYPES: tuple[Rule, ...] = (
    _with_body("struct_specifier"),
    _with_body("union_specifier"),
    _with_body("enum_specifier"),
)

GRAMMARS: dict[str, Grammar] = {
    "python": Grammar(
        ("import_statement", "import_from_statement", "future_import_statement"), ("class_definition",),
        ("function_definition",), "underscore", (), (_saying("assignment", r"^__all__\s*="),),
    ),
    "javascript": _JAVASCRIPT, "typescript": _TYPESCRIPT, "tsx": _TYPESCRIPT,
    "java": Grammar(
        ("import_declaration",),
        ("class_declaration", "interface_declaration", "enum_declaration", "record_declaration"),
        ("method_declaration", "constructor_declaration"), "marked", ("public",),
    ),
    "go": Grammar(("import_spec",), ("type_spec",), ("function_declaration", "method_declaration"), "capital"),
    "rust": Grammar(
        ("use_declaration", "extern_crate_declaration"),
        ("struct_item", "enum_item", "union_item", "trait_item", "impl_item"),
        ("function_item", "function_signature_item"), "marked", ("pub",),
    ),
    "c": Grammar(("preproc_include",), _C_TYPES, ("function_definition",), "unmarked", ("static",)),
    "cpp": Grammar(
        ("preproc_include", "using_declaration"), (*_C_TYPES, _with_body("class_specifier")), ("function_definition",),
        "unmarked", ("static",),
    ),
    "csharp": Grammar(
        ("using_directive",),
        ("class_declaration", "interface_declaration", "struct_declaration", "enum_declaration", "record_declaration"),
        ("method_declaration", "constructor_declaration"), "marked", ("public",),
    ),
    "ruby": Grammar(
        (_saying("call", r"^(require|require_relative|load)\b"),), ("class", "module"), ("method", "singleton_method"),
    ),
    "php": Grammar(
        ("namespace_use_declaration", "require_expression", "require_once_expression", "include_expression",
         "include_once_expression"),
        ("class_declaration", "interface_declaration", "trait_declaration", "enum_declaration"),
        ("function_definition", "method_declaration"),
    ),
    "kotlin": Grammar(
        ("import_header",), ("class_declaration", "object_declaration"), ("function_declaration",),
        "unmarked", ("private", "internal"),
    ),
    "swift": Grammar(
        ("import_declaration",), ("class_declaration", "protocol_declaration"),
        ("function_declaration", "init_declaration", "protocol_function_declaration"), "marked", ("public", "open"),
    ),
    "scala": Grammar(
        ("import_declaration",), ("class_definition", "object_definition", "trait_definition", "enum_definition"),
        ("function_definition", "function_declaration"), "unmarked", ("private", "protected"),
    ),
    "lua": Grammar((_saying("function_call", r"^require\b"),), (), ("function_declaration",), "unmarked", ("local",)),
    "bash": Grammar((_saying("command", r"^(source|\.)\s"),), (), ("function_definition",)),
}  # fmt: skip


# ── the outline ──
# From the nodes of a parsed file to its outline.

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


_SECONDS = 3
_WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py")
_MISSING = 'no structure: its parser is not installed; pip install "rightcall[code]" brings it'


class _Answer(Struct, frozen=True):
    nodes: list[Node]
    more: bool


def structure_of(text: str, path: str) -> tuple[Structure | None, str | None]:
    """The structure, or why there is none."""
    language = language_of(path, text)
    if language is None:
        return None, "no structure: not a language whose structure is known"
    installed = _installed()
    if installed is None:
        return None, _MISSING
    grammar = GRAMMARS[language]
    answer = _ask_worker(text, language, grammar, installed)
    if answer is None:
        return None, "no structure: the file could not be parsed within the limits of time and memory"
    return outline(language, grammar, answer.nodes, answer.more), None


def has_parser() -> bool:
    """Whether structures can be told here at all."""
    return _installed() is not None


def _installed() -> str | None:
    """The folder with the parser. The current folder does not count, where Python would look for it too: it may be the
    very one that is looked at."""
    try:
        here = os.path.realpath(os.curdir)
    except OSError:  # it has been removed: then nothing can be found in it
        here = ""
    places = [place for place in sys.path if os.path.isabs(place) and os.path.realpath(place) != here]
    found = PathFinder.find_spec("ast_grep_py", places)
    return None if found is None or found.origin is None else os.path.dirname(os.path.dirname(found.origin))


def _ask_worker(text: str, language: str, grammar: Grammar, installed: str) -> _Answer | None:
    from rightcall.tools.process import Program, run_program

    exports = [kind for kind, role in grammar.roles.items() if role == "export"]
    question = {
        "language": language, "rules": grammar.rules, "exports": exports, "most": 1_000, "source": text
    }  # fmt: skip
    command = [sys.executable, "-I", "-S", "-B", _WORKER, installed, str(_SECONDS)]
    try:
        program = Program(command, env={}, cwd="/", stdin=json.encode(question), threads=1)
        done = run_program(program, seconds=_SECONDS, most=16 << 20)
        return json.decode(done.out, type=_Answer) if done.code == 0 else None
    except (ToolFailure, DecodeError):
        return None
