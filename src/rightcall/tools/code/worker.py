"""Parses one source text, as a program of its own: a hostile text can keep a parser busy for hours or crash it, and a
program can be ended. Reads a question as JSON, writes the nodes that were asked for, in the order of the text.

It runs without this package: everything it needs is in the question.
"""

import json
import re
import sys
from importlib import import_module
from typing import Any

_MEMORY = 1 << 30
_NAMES = ("identifier", "simple_identifier", "type_identifier", "name", "constant", "word", "property_identifier")
_MOST_HEAD = 200
_MOST_BEFORE = 5_000


def main() -> None:
    """`argv[1]`: where the parser is installed; `argv[2]`: seconds of CPU."""
    _bounded(int(sys.argv[2]))
    sys.path.append(sys.argv[1])
    question = json.loads(sys.stdin.buffer.read())
    parser: Any = import_module("ast_grep_py")
    root = parser.SgRoot(question["source"], question["language"]).root()
    exports = set(question["exports"])
    nodes = root.find_all({"rule": {"any": question["rules"]}})
    told = [_describe_node(node, node.kind() in exports) for node in nodes[: question["most"]]]
    sys.stdout.write(json.dumps({"nodes": told, "more": len(nodes) > question["most"]}))


def _bounded(seconds: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _describe_node(node: Any, is_export: bool) -> list[Any]:
    where = node.range()
    text = node.text()
    named = _named(node)
    name = named.text() if named is not None else ""
    at = _place(name, text)
    receiver = node.field("receiver")
    return [
        node.kind(),
        name,
        text[:at][-_MOST_HEAD:],
        text[: 20 * _MOST_HEAD] if is_export else text[at + len(name) :][:_MOST_HEAD],
        where.start.line + 1,
        where.start.line + 1 + text.count("\n", 0, at),
        where.end.line + 1,
        where.start.index,
        where.end.index,
        receiver.text()[:_MOST_HEAD] if receiver is not None else "",
        _exported(node) if is_export else [],
    ]


def _place(name: str, text: str) -> int:
    """Where the name stands as a word of its own. To ask the parser for it would cost a walk along the line each."""
    found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text[:_MOST_BEFORE]) if name else None
    return found.start() if found else 0 if text.startswith(name) else min(len(text), _MOST_HEAD)


def _named(node: Any) -> Any:
    """The node that holds the name: a field of that name in most grammars, the innermost declarator in those of C."""
    for field in ("name", "left"):
        if (found := node.field(field)) is not None:
            return found
    found = node
    while (inner := found.field("declarator")) is not None:
        found = inner
    if found is not node:
        return found
    if (found := node.field("type")) is not None:  # Rust's `impl Trait for Type`
        return found
    for child in node.children():
        if child.kind() in _NAMES:
            return child
    above = node.parent()
    return above.field("declarator") if above is not None else None  # C's `typedef struct {…} Name`


def _exported(node: Any) -> list[str]:
    """The names in an export statement."""
    names: list[str] = []
    declared = node.field("declaration")
    for child in [declared] if declared is not None else node.children():
        if child.kind() == "export_clause":
            each = [one for one in child.children() if one.kind() == "export_specifier"]
            names += [(one.field("alias") or one.field("name")).text() for one in each]
        elif child.kind() == "namespace_export":
            names.append(child.children()[-1].text())
        elif declared is not None:
            each = [one for one in child.children() if one.kind() == "variable_declarator"]
            names += [found.text() for one in each or [child] if (found := _named(one)) is not None]
    return names


if __name__ == "__main__":
    main()
