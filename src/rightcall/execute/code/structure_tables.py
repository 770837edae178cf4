"""What imports, classes and functions are called in the grammars of languages, and what makes a name public in each.
Adding a language adds a line here and its endings in `languages.py`."""

from typing import Any, Literal

from msgspec import Struct

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
        return {_kind(rule): role for role, rules in lists for rule in rules}

    @property
    def rules(self) -> list[dict[str, Any]]:
        """All of them, as the parser takes them."""
        rules = (*self.imports, *self.exports, *self.classes, *self.functions)
        return [{"kind": rule} if isinstance(rule, str) else rule for rule in rules]


def _kind(rule: Rule) -> str:
    return rule if isinstance(rule, str) else rule["kind"]


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
