"""`--fix`: what can be corrected without knowing what the author meant. No fix narrows what a tool accepts: a call that
fits the definition before fits it afterwards (L-05).

    tool ─▶ fix_tool ─▶ its definition with each mechanical finding corrected ─▶ the file, changed only there
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from msgspec import Struct

from rightcall.catalog.tidy import Part, Schema, as_list, as_schema, map_parts, number_strict_bounds
from rightcall.hosts.install.edits import Edit, Node, apply, indent_of, line_end, node_at, read, removals
from rightcall.lint.definitions import DEEPEST, TYPES, Document, ToolView, effective, follow, view_tool
from rightcall.lint.explained import documented
from rightcall.lint.findings import Finding, Steps
from rightcall.lint.hidden import without_hidden
from rightcall.lint.hints import HINTS
from rightcall.lint.prose import NO_DEFAULT, default_in
from rightcall.lint.schemas import COMPOSED, FOREIGN, fits_schema, walk

FIXED: Final = frozenset(
    (
        "RC212",
        "RC305",
        "RC401",
        "RC403",
        "RC404",
        "RC405",
        "RC406",
        "RC416",
        "RC417",
        "RC422",
        "RC504",
        "RC506",
        "RC701",
        "RC804",
    )
)
"""The rules that `--fix` corrects; a test compares it with what the rules say of themselves."""


_ROUNDS = 6
"""One correction can make room for another."""


class Fix(Struct, frozen=True):
    """One corrected tool."""

    tool: ToolView
    fixed: dict[str, Any]
    rules: tuple[str, ...]


def fix_document(document: Document, findings: Iterable[Finding]) -> list[Fix]:
    """Every tool that has a finding which can be corrected, with the corrected definition."""
    wanted: dict[int, set[str]] = {}
    for finding in findings:
        if finding.rule in FIXED:
            wanted.setdefault(finding.number, set()).add(finding.rule)
    found: list[Fix] = []
    for tool in document.tools:
        rules = wanted.get(tool.number, set())
        fixed = fix_tool(tool, rules) if rules else tool.raw
        if fixed != tool.raw:
            found.append(Fix(tool, fixed, tuple(sorted(rules))))
    return found


def fix_tool(tool: ToolView, rules: Iterable[str]) -> dict[str, Any]:
    """The definition with the findings of these rules corrected, until nothing more changes. What it was given stays
    as it is."""
    wanted, raw = frozenset(rules), tool.raw
    for _ in range(_ROUNDS):
        fixed = _fix_once(raw, wanted)
        if fixed == raw:
            break
        raw = fixed
    return raw


def _fix_once(given: dict[str, Any], wanted: frozenset[str]) -> dict[str, Any]:
    raw = cast("dict[str, Any]", json.loads(json.dumps(given)))
    if "RC701" in wanted:
        raw = cast("dict[str, Any]", _without_hidden(raw))
    if "RC804" in wanted and isinstance(raw.get("annotations"), dict):
        raw["annotations"] = _spelt(raw["annotations"])
    view = view_tool(raw)
    if view.schema is not None:
        own = _get(raw, view.schema_path)
        _put(raw, view.schema_path, _carry(own, view.schema, _fix_schema(view.schema, wanted)))
    elif "RC401" in wanted and "inputSchema" not in raw and not view.base:
        raw["inputSchema"] = {"type": "object", "properties": {}}
    if "RC212" in wanted:
        _move_texts(raw)
    if "RC305" in wanted:
        _add_defaults(raw)
    return raw


def _put(raw: dict[str, Any], path: Steps, value: Any) -> None:
    _get(raw, path[:-1])[path[-1]] = value


def _get(raw: dict[str, Any], path: Steps) -> Any:
    found: Any = raw
    for step in path:
        found = found[step]
    return found


def _carry(own: Any, read: Any, fixed: Any) -> Any:
    """What was corrected in a schema as it was read, in the schema as its author wrote it: Gemini's words stay."""
    if read == fixed:
        return own
    if isinstance(own, dict) and isinstance(read, dict) and isinstance(fixed, dict):
        mine, before, after = cast("Schema", own), cast("Schema", read), cast("Schema", fixed)
        kept = {key: value for key, value in mine.items() if key in after or key not in before}
        return kept | {key: _carry(mine.get(key), before.get(key), value) for key, value in after.items()}
    if isinstance(own, list) and isinstance(read, list) and isinstance(fixed, list):
        mine, before, after = cast("list[Any]", own), cast("list[Any]", read), cast("list[Any]", fixed)
        if len(mine) == len(before) == len(after):
            return [_carry(one, was, now) for one, was, now in zip(mine, before, after, strict=True)]
    return cast("Any", fixed)


_DECIDING: Final = frozenset(("enum", "const", "default", "examples", "required", "pattern"))
_SHOWN: Final = frozenset(("description", "title", "$comment"))


def _without_hidden(value: Any) -> Any:
    """Texts for people and models without characters that cannot be seen. Names, values and patterns decide calls, so
    they stay."""
    if isinstance(value, list):
        return [_without_hidden(inner) for inner in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    fixed: dict[str, Any] = {}
    for key, inner in cast("dict[str, Any]", value).items():
        if key in _SHOWN and isinstance(inner, str):
            fixed[key] = without_hidden(inner)
        else:
            fixed[key] = inner if key in _DECIDING and not isinstance(inner, dict) else _without_hidden(inner)
    return fixed


def _spelt(hints: Mapping[str, Any]) -> dict[str, Any]:
    right = {name.lower(): name for name in HINTS} | {name.lower().removesuffix("hint"): name for name in HINTS}
    fixed: dict[str, Any] = {}
    for key, value in hints.items():
        name = key if key in HINTS else right.get(key.replace("_", "").replace("-", "").lower(), key)
        word = value.lower() if isinstance(value, str) else ""
        fixed[name if name not in hints else key] = (
            {"true": True, "false": False}.get(word, value) if name in HINTS else value
        )
    return fixed


# ── schemas ──


def _fix_schema(schema: Schema, wanted: frozenset[str]) -> Schema:
    fixed = cast("Schema", _fix_part(schema, schema, wanted, 0))
    if (
        "RC401" in wanted
        and "type" not in fixed
        and not {"anyOf", "oneOf", "allOf", "$ref"} & fixed.keys()
        and _is_keywords(fixed)
    ):
        fixed = {"type": "object", **fixed}
        fixed.setdefault("properties", {})
    return fixed


def _is_keywords(schema: Schema) -> bool:
    return "properties" in schema or all(
        key.startswith("$") or key in ("required", "additionalProperties", "description", "title") for key in schema
    )


def _fix_part(part: Part, root: Schema, wanted: frozenset[str], depth: int) -> Part:
    if not isinstance(part, dict) or depth > DEEPEST * 3:
        return part
    node = dict(part)
    if "RC506" in wanted:
        node = _inline(node, root)
    node = map_parts(node, lambda _keyword, inner, _key: _fix_part(inner, root, wanted, depth + 1))
    if isinstance(node.get("definitions"), dict):
        node["definitions"] = {
            key: _fix_part(inner, root, wanted, depth + 1) for key, inner in node["definitions"].items()
        }
    if "RC417" in wanted:
        _as_json_schema(node)
    if "RC422" in wanted:
        _list_required(node)
    if "RC403" in wanted:
        _drop_unknown(node, widen=_may_widen(root) and not any("oneOf" in one for _, one in walk(root, ())))
    if "RC404" in wanted and _is_array(node) and "items" not in node and "prefixItems" not in node:
        node["items"] = {}
    if {"RC504", "RC506"} & wanted:
        _plainer(node, widen=_may_widen(root))
    if (
        "RC405" in wanted
        and "default" in node
        and not fits_schema(node["default"], {key: value for key, value in node.items() if key != "default"}, root)
    ):
        del node["default"]
    if "RC406" in wanted:
        _fitting_examples(node, root)
    if "RC416" in wanted:
        _without_titles(node)
    return node


def _is_array(node: Schema) -> bool:
    kind = node.get("type")
    return kind == "array" or (isinstance(kind, list) and "array" in kind)


def _inline(node: Schema, root: Schema) -> Schema:
    """The schema that a reference leads to, in its place; a circle stays."""
    reference = node.get("$ref")
    if not isinstance(reference, str):
        return node
    target = follow(reference, root)
    beside = {key: value for key, value in node.items() if key != "$ref"}
    if (
        not target
        or "$ref" in json.dumps(target)
        or not beside.keys() <= {"description", "title", "default", "examples", "type"}
        or beside.get("type", target.get("type")) != target.get("type")
    ):
        return node
    if isinstance(target.get("required"), bool):  # meant nothing behind a reference, and would in its place
        target = {key: value for key, value in target.items() if key != "required"}
    return {**target, **beside}


def _as_json_schema(node: Schema) -> None:
    """Types and keywords of other languages, as our reader of definitions takes them."""
    kind = node.get("type")
    if isinstance(kind, str) and kind not in TYPES:
        word = kind.lower()
        right = word if word in TYPES else FOREIGN.get(word)
        if right:
            node["type"] = right
    number_strict_bounds(node)
    if node.get("nullable") is True and isinstance(node.get("type"), str) and "enum" not in node:
        node["type"] = [node["type"], "null"]
        del node["nullable"]


def _list_required(node: Schema) -> None:
    """`required: true` inside an argument becomes its name in the list of the object; what is listed stays so."""
    for name, inner in as_schema(node.get("properties")).items():
        needed = as_schema(inner).get("required")
        if isinstance(needed, bool):
            node["properties"][name] = {key: value for key, value in as_schema(inner).items() if key != "required"}
            if needed and name not in as_list(node.get("required")):
                node["required"] = [*as_list(node.get("required")), name]


def _drop_unknown(node: Schema, *, widen: bool) -> None:
    """Without names in `required` that no argument has: what was accepted before is accepted still."""
    named, known = as_list(node.get("required")), node.get("properties")
    if not widen or not isinstance(known, dict) or not COMPOSED.isdisjoint(node):
        return
    near = {_letters(name) for name in cast("dict[str, Any]", known)}
    kept = [name for name in named if not isinstance(name, str) or _letters(name) in near]  # misspelt: for a person
    if len(kept) == len(named):
        return
    if kept:
        node["required"] = kept
    else:
        del node["required"]


def _may_widen(schema: Schema) -> bool:
    """Whether a wider part makes the whole wider: not where a part is denied, counted or must fit alone."""
    return not any(
        {"not", "if", "maxContains"} & part.keys() or {"oneOf", "anyOf"} <= part.keys() for _, part in walk(schema, ())
    )


def _plainer(node: Schema, *, widen: bool) -> None:
    """Other words for the same, which more providers know; `anyOf` accepts what `oneOf` does, and more."""
    if "const" in node and "enum" not in node:
        value = node.pop("const")
        node["enum"] = [value]
        if "type" not in node and isinstance(value, str):
            node["type"] = "string"
    if widen and "oneOf" in node:
        node["anyOf"] = node.pop("oneOf")
    if node.get("type") == "integer":
        for strict, plain, step in (("exclusiveMinimum", "minimum", 1), ("exclusiveMaximum", "maximum", -1)):
            bound = node.get(strict)
            if isinstance(bound, int) and not isinstance(bound, bool) and plain not in node:
                node[plain] = bound + step
                del node[strict]


def _fitting_examples(node: Schema, root: Schema) -> None:
    bare = {key: value for key, value in node.items() if key not in ("examples", "example", "default")}
    if isinstance(node.get("examples"), list):
        kept = [one for one in node["examples"] if fits_schema(one, bare, root)]
        if kept:
            node["examples"] = kept
        else:
            del node["examples"]
    if "example" in node and not fits_schema(node["example"], bare, root):
        del node["example"]


def _without_titles(node: Schema) -> None:
    """Of the arguments: a title that repeats the name."""
    for name, inner in as_schema(node.get("properties")).items():
        title = as_schema(inner).get("title")
        if isinstance(title, str) and _letters(title) == _letters(name):
            node["properties"][name] = {key: value for key, value in cast("Schema", inner).items() if key != "title"}


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).lower()


# ── texts ──


def _move_texts(raw: dict[str, Any]) -> None:
    """What the description tells of each argument becomes the argument's own description; the section stays."""
    view = view_tool(raw)
    told = dict(documented(view))
    for argument in view.top:
        text = told.get(argument.name, "")
        if text and not argument.part.get("description"):
            _put(raw, (*argument.path, "description"), text)


def _add_defaults(raw: dict[str, Any]) -> None:
    view = view_tool(raw)
    for argument in view.arguments:
        value = default_in(argument.description, argument)
        if value is NO_DEFAULT or argument.required or "default" in argument.part or "$ref" in argument.part:
            continue
        if fits_schema(value, effective(argument.part, view.schema or {}), view.schema or {}):
            _put(raw, (*argument.path, "default"), value)


# ── the text of a file ──


def write_fixes(document: Document, fixes: Iterable[Fix]) -> str:
    """The text of a JSON file with the corrected definitions, in its own layout: only what differs is written anew."""
    if document.kind == "jsonl":
        return _write_lines(document, fixes)
    tree, edits = read(document.text), cast("list[Edit]", [])
    for fix in fixes:
        node = node_at(tree, fix.tool.path)
        if node is not None:
            edits += _differences(document.text, node, fix.tool.raw, fix.fixed)
    return apply(document.text, edits)


def _write_lines(document: Document, fixes: Iterable[Fix]) -> str:
    lines = document.text.split("\n")
    for fix in fixes:
        at = cast("int", fix.tool.path[0])
        line = lines[at]
        node = node_at(read(line), fix.tool.path[1:])
        if node is not None:
            lines[at] = apply(line, _differences(line, node, fix.tool.raw, fix.fixed))
    return "\n".join(lines)


def _differences(text: str, node: Node, old: Any, new: Any) -> list[Edit]:
    """What must be written anew: the smallest values that differ, keys that go, and keys that are added at the end."""
    if isinstance(old, list) and isinstance(new, list) and len(cast("list[Any]", old)) == len(cast("list[Any]", new)):
        parts = zip(node.children, cast("list[Any]", old), cast("list[Any]", new), strict=True)
        return [edit for child, one, other in parts if one != other for edit in _differences(text, child, one, other)]
    before, after = cast("dict[str, Any]", old), cast("dict[str, Any]", new)
    whole = not isinstance(old, dict) or not isinstance(new, dict) or len(set(node.keys)) < len(node.keys)
    if whole or before.keys().isdisjoint(after):
        return [Edit(node.start, node.end, _laid_out(text, node, new))]
    edits = removals(text, node, [at for at, key in enumerate(node.keys) if key not in after])
    for key, child in zip(node.keys, node.children, strict=True):
        if key in after and before[key] != after[key]:
            edits += _differences(text, child, before[key], after[key])
    if added := [key for key in after if key not in before]:
        last = max(child.end for key, child in zip(node.keys, node.children, strict=True) if key in after)
        edits.append(Edit(last, last, "".join(_written(text, node, key, after[key]) for key in added)))
    return edits


def _written(text: str, node: Node, key: str, value: Any) -> str:
    """One more key at the end of an object, in its layout."""
    inside = text[node.start : node.end]
    first = node.begins(0)
    gap = text[node.start + 1 : first]
    colon = ": " if ": " in inside else ":"
    body = json.dumps(value, ensure_ascii=False, separators=(", ", ": ") if colon == ": " else (",", ":"))
    comma = f",{gap}" if "\n" in gap else ", " if colon == ": " else ","
    return f"{comma}{json.dumps(key, ensure_ascii=False)}{colon}{body}"


def _laid_out(text: str, node: Node, value: Any) -> str:
    """A value as JSON in the layout around it: on one line where it was on one."""
    inside = text[node.start : node.end]
    if "\n" not in inside:
        tight = ": " not in inside and ":" in inside
        return json.dumps(value, ensure_ascii=False, separators=(",", ":") if tight else (", ", ": "))
    line = text.rfind("\n", 0, node.start) + 1
    lead = text[line : node.start]
    indent = lead[: len(lead) - len(lead.lstrip(" \t"))]
    body = json.dumps(value, ensure_ascii=False, indent=indent_of(text))
    return body.replace("\n", line_end(text) + indent)
