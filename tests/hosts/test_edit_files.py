"""The motivating case: `edit_files` calls as models write them, Python where JSON is wanted, code with quotes in it.

The calls are deterministic, so that a failing one can be found again by its number.
"""

import json
import random
from typing import Any, NamedTuple

import pytest

from rightcall.hosts.normalizer import ArgumentNormalizer, NormalizationStrategy
from support.every import every

SNIPPETS = (
    '#!/bin/sh\necho "fib: $1"\n',
    "def greet(name):\n    return f'Hello, {name}!'\n",
    "const s = 'it\\'s';\nconsole.log(`${s}`);\n",
    'print("She said \\"no\\"")\n',
    "text = '''three\nlines'''\n",
    '{"name": "demo", "scripts": {"test": "node -e \'1\'"}}\n',
    "SELECT * FROM t WHERE a = 'x' AND b = \"y\";",
    "path = r'C:\\new\\table'\n",
    "# Grüße aus Köln — “quoted”\n",
    "if a and b: pass  # True, False, None, null\n",
    "sed -i 's/old/new/g' *.txt && rm -f \"$TMP\"",
    "items = [1, 2, {'a': [3]}]\n\tindented = True\n",
    "don't, won't, can't\n",
    "a: 'b', \"c\": d}]\n",
    "",
)
PATHS = (
    "fibonacci.sh",
    "src/app.py",
    "web/index.js",
    "docs/it's here.md",
    'odd "name".txt',
    "data\\raw.csv",
    "a b/c.sql",
)


class EditCall(NamedTuple):
    number: int
    arguments: Any
    operations: list[dict[str, str]]
    style: str


def edit_calls(count: int = 300, seed: int = 3) -> list[EditCall]:
    chance = random.Random(seed)
    return [_call(number, chance) for number in range(count)]


def _call(number: int, chance: random.Random) -> EditCall:
    operations = [_operation(chance) for _ in range(chance.randint(1, 4))]
    style = tuple(STYLES)[number % len(STYLES)]
    return EditCall(number, STYLES[style](operations), operations, style)


def _operation(chance: random.Random) -> dict[str, str]:
    kind = chance.choice(("modify", "delete", "insert"))
    operation = {"type": kind, "path": chance.choice(PATHS)}
    if kind != "delete" or chance.random() < 0.2:
        operation["content"] = "".join(chance.choices(SNIPPETS, k=chance.randint(1, 3)))
    return operation


def _single(text: str) -> str:
    """Always in single quotes, with every character escaped that has to be."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t") + "'"


def _raw(text: str) -> str:
    """In single quotes, the line breaks left as they are: no Python, but what models write."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _dicts(operations: list[dict[str, str]], quoted: Any, comma: str = "") -> str:
    bodies = (", ".join(f"'{key}': {quoted(value)}" for key, value in one.items()) for one in operations)
    return "[" + ", ".join("{" + body + comma + "}" for body in bodies) + comma + "]"


STYLES: dict[str, Any] = {
    "python text": lambda ops: {"operations": repr(ops)},
    "single quotes": lambda ops: {"operations": _dicts(ops, _single)},
    "raw newlines": lambda ops: {"operations": _dicts(ops, _raw)},
    "trailing commas": lambda ops: {"operations": _dicts(ops, _single, ",")},
    "json text": lambda ops: {"operations": json.dumps(ops)},
    "list": lambda ops: {"operations": ops},
    "all python": lambda ops: repr({"operations": ops}),
    "python text in python": lambda ops: repr({"operations": repr(ops)}),
    "python text in json": lambda ops: json.dumps({"operations": repr(ops)}),
    "python text under a wrong name": lambda ops: {"edits": repr(ops)},
}


def operations_of(arguments: Any) -> Any:
    held = arguments["operations"]
    return json.loads(held) if isinstance(held, str) else held


CALLS = edit_calls(300)


@pytest.mark.promise("N-14", "N-13")
@pytest.mark.parametrize("provider", ["qwen", "ollama"])
def test_of_three_hundred_edit_files_calls_99_percent_come_out_right_and_none_wrong(provider: str) -> None:
    normalizer = ArgumentNormalizer(provider, {"log_normalizations": False})
    right, wrong = 0, list[EditCall]()
    for call in CALLS:
        arguments, strategy = normalizer.normalize_arguments(call.arguments, "edit_files")
        if strategy is NormalizationStrategy.FAILED:
            continue
        if operations_of(arguments) == call.operations:
            right += 1
        else:
            wrong.append(call)
    assert wrong == []
    assert right >= 0.99 * len(CALLS)
    assert {call.style for call in CALLS} == set(STYLES)
    assert normalizer.get_stats()["success_rate"] >= 99


@pytest.mark.promise("N-14", "N-13")
@every(
    "operations",
    [
        "[{'type': 'explode', 'path': 'a'}]",
        "[{'type': 'delete'}]",
        '[{"type": "explode", "path": "a"}]',
        [{"type": "explode", "path": "a"}],
        [{"type": "modify", "path": "a", "content": {"not": "text"}}],
    ],
)
def test_operations_that_are_none_are_not_accepted_in_any_form(operations: Any) -> None:
    given = {"operations": operations}
    arguments, strategy = ArgumentNormalizer().normalize_arguments(given, "edit_files")
    assert strategy is NormalizationStrategy.FAILED
    assert arguments is given


def test_prose_is_no_list_of_operations() -> None:
    given = {"operations": "delete everything"}
    assert ArgumentNormalizer().normalize_arguments(given, "edit_files") == (given, NormalizationStrategy.FAILED)
