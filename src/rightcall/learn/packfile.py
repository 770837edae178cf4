"""A learned pack as TOML: one line for each rule, its evidence as comments above it. Every name and every value is
written as a quoted text, and a comment holds no character that could end its line."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import json

from rightcall.base.letters import visible
from rightcall.learn.proposals import Proposal

MARK: Final = "# Learned by `rightcall learn`"
"""How a file begins that this command may write again."""
_LONGEST_COMMENT: Final = 200
_MOST_NAMED: Final = 3
_RULE: Final = re.compile(r'(?P<key>(?:[a-z]+)(?:\."(?:[^"\\]|\\.)*")*) = (?P<value>.+)')
_TABLE: Final = re.compile(r'\[tools\."(?P<name>(?:[^"\\]|\\.)*)"\]')


class PackLine:
    """One rule in a pack: its key inside the tool's table, its value, and what is said of it."""

    __slots__ = ("comments", "key", "value")

    def __init__(self, key: str, value: str, comments: list[str]) -> None:
        self.key, self.value, self.comments = key, value, comments


def pack_text(rules: Iterable[Proposal], name: str, before: str = "") -> str:
    """The pack of these rules; with those of an earlier text of ours, which stay as they are."""
    tables = read_lines(before)
    for rule in rules:
        lines = tables.setdefault(rule.tool, {})
        for line in _lines(rule, lines):
            lines[line.key] = line
    head = [MARK + ": read it before you use it.", "", "[pack]", f"name = {quoted(name)}"]
    head.append('description = "What models write, and what it means, as the record shows."')
    out = [*head]
    for tool in sorted(tables):
        out += ["", f"[tools.{quoted(tool)}]"]
        for key in sorted(tables[tool]):
            line = tables[tool][key]
            out += [*(f"# {comment}" for comment in line.comments), f"{line.key} = {line.value}"]
    return "\n".join(out) + "\n"


def read_lines(text: str) -> dict[str, dict[str, PackLine]]:
    """The rules of a text that was written here, by tool, each with its comments."""
    tables: dict[str, dict[str, PackLine]] = {}
    lines: dict[str, PackLine] | None = None
    comments: list[str] = []
    for row in text.splitlines():
        if table := _TABLE.fullmatch(row):
            lines = tables.setdefault(_read_toml(f'"{table["name"]}"'), {})
            comments = []
        elif row.startswith("# "):
            comments.append(row[2:])
        elif (found := _RULE.fullmatch(row)) and lines is not None:
            lines[found["key"]] = PackLine(found["key"], found["value"], comments)
            comments = []
    return tables


def _lines(rule: Proposal, known: dict[str, PackLine]) -> Iterator[PackLine]:
    said = list(comments(rule))
    if rule.kind == "name":
        yield _extended(known, "names", rule, rule.given, said)
    elif rule.kind == "alias":
        yield PackLine(f"aliases.{quoted(rule.given)}", quoted(rule.place), said)
    elif rule.kind == "value":
        yield PackLine(f"values.{quoted(rule.place)}.{quoted(rule.given)}", toml(rule.meant), said)
    elif rule.kind == "default":
        yield PackLine(f"defaults.{quoted(rule.place)}", toml(rule.meant), said)
    else:
        yield _extended(known, f"forms.{quoted(rule.place)}", rule, str(rule.meant), said)


def _extended(known: dict[str, PackLine], key: str, rule: Proposal, item: str, said: list[str]) -> PackLine:
    """A list with one item more, below the evidence of each; what was said of this rule before is replaced."""
    if key not in known:
        return PackLine(key, toml([item]), said)
    items = dict.fromkeys([*_read_toml(known[key].value), item])
    return PackLine(key, toml(list(items)), [*_without(known[key].comments, rule.id), *said])


def _without(earlier: list[str], rule_id: str) -> Iterator[str]:
    """Comments but those of one rule: the line that begins with its id, and the indented lines below."""
    inside = False
    for line in earlier:
        inside = line.startswith(f"{rule_id}:") or (inside and line.startswith("  "))
        if not inside:
            yield line


def _read_toml(value: str) -> Any:
    import tomllib  # late: only a file that is written again is read

    return tomllib.loads(f"value = {value}")["value"]


def comments(rule: Proposal) -> Iterator[str]:
    """The evidence, in lines that cannot be anything but comments."""
    models = ", ".join(f"{_shown(name or 'unknown')} {count}" for name, count in _most(rule.models))
    result = rule.measured
    yield f"{rule.id}: {rule.seen} corrections from {rule.sources} sources, {rule.caller_count} callers; {models}"
    yield f"  held out: {result.saved} of {result.tested} retries saved; calls that worked and would change: 0"
    if rule.effects:
        yield f"  changes calls with side effects: {', '.join(rule.effects)}"
    if numbers := [f"{one.failed}, corrected by {one.corrected}" for one in rule.examples[:1]]:
        yield f"  for instance record {numbers[0]}"


def _most(models: Any) -> list[tuple[str, int]]:
    return sorted(models.items(), key=lambda one: (-one[1], one[0]))[:_MOST_NAMED]


def _shown(text: str) -> str:
    """In one line, with whatever cannot be seen spelled out, and cut."""
    cut = text if len(text) <= _LONGEST_COMMENT else text[:_LONGEST_COMMENT] + "…"
    return visible(cut.replace("\n", " "))


def quoted(text: str) -> str:
    """A text as a basic string of TOML, in ASCII."""
    out = ['"']
    for sign in text:
        if sign in '"\\':
            out.append("\\" + sign)
        elif " " <= sign <= "~":
            out.append(sign)
        else:
            code = ord(sign)
            out.append(f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}")
    return "".join([*out, '"'])


def toml(value: Any) -> str:
    """A JSON value as TOML. Raises ValueError for what TOML cannot hold."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, (int, float)):
        return json.encode(value).decode()
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"  # pyright: ignore[reportUnknownArgumentType] - as it was decoded
    if isinstance(value, dict):
        inner = ", ".join(f"{quoted(str(key))} = {toml(item)}" for key, item in value.items())  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        return "{ " + inner + " }" if inner else "{}"
    raise ValueError(f"a pack cannot hold {type(value).__name__}")
