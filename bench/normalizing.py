"""The argument normaliser's fast path: a right call beside the plain check of the same arguments by the same schema.

`python -m bench.normalizing` needs none of the peers.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import jsonschema_rs
import msgspec

from bench.inputs import RIGHT, SEARCH
from bench.table import Figure, micro, render
from bench.timing import best, one_core
from rightcall.catalog.packs import load_pack
from rightcall.hosts.normalizer import ArgumentNormalizer, NormalizationStrategy

OPERATIONS = [
    {"type": "modify", "path": "fibonacci.sh", "content": "echo 1 1 2 3 5"},
    {"type": "delete", "path": "old/fibonacci.sh"},
]
MOST = 2.0
OPEN: dict[str, dict[str, Any]] = {
    "open_object": {"type": "object"},
    "open_rest": {"type": "object", "properties": {"city": {"type": "string"}}, "additionalProperties": True},
}
MOST_OPEN = 5e-6
"""Seconds, where a schema leaves a place open: then more is looked for than the schema says."""


def normalizing() -> Iterator[Figure]:
    normalizer = ArgumentNormalizer(
        "ollama",
        {"log_normalizations": False},
        tools=[SEARCH, *({"name": name, "parameters": one} for name, one in OPEN.items())],
    )
    edit = load_pack("edit-files").tools[0].schema or {}
    valid_edit = jsonschema_rs.Draft202012Validator(edit).is_valid
    listed = edit["properties"]["operations"]["anyOf"][0]
    valid_inside = jsonschema_rs.Draft202012Validator({**listed, "$defs": edit["$defs"]}).is_valid
    valid_search = jsonschema_rs.Draft202012Validator(SEARCH["parameters"]).is_valid
    decode = msgspec.json.decode

    def text_is_valid(arguments: dict[str, Any]) -> bool:
        return valid_edit(arguments) and valid_inside(decode(arguments["operations"]))

    as_list, as_text = {"operations": OPERATIONS}, {"operations": json.dumps(OPERATIONS)}
    yield _figure("search_flights", normalizer, "search_flights", RIGHT, valid_search)
    yield _figure("edit_files, a list", normalizer, "edit_files", as_list, valid_edit)
    yield _figure("edit_files, JSON text, decoded and both checked", normalizer, "edit_files", as_text, text_is_valid)
    for name, schema in OPEN.items():
        valid = jsonschema_rs.Draft202012Validator(schema).is_valid
        yield _figure(name, normalizer, name, {"city": "Bern", "days": 3}, valid, MOST_OPEN)


def _figure(
    shown: str,
    normalizer: ArgumentNormalizer,
    tool: str,
    arguments: dict[str, Any],
    valid: Callable[[Any], bool],
    most: float | None = None,
) -> Figure:
    normalize = normalizer.normalize_arguments
    assert valid(arguments)
    assert normalize(arguments, tool) == (arguments, NormalizationStrategy.DIRECT)
    taken = best(
        {"ours": lambda: normalize(arguments, tool), "plain": lambda: valid(arguments), "nothing": lambda: None},
        repeats=40,
    )
    ours, plain = taken["ours"] - taken["nothing"], taken["plain"] - taken["nothing"]
    return Figure(
        f"right call: normalize_arguments / is_valid, {shown}",
        micro(ours),
        micro(plain),
        f"{ours / plain:.2f} x",
        f"<= {MOST:.0f} x" if most is None else f"<= {micro(most)}",
        ours <= (MOST * plain if most is None else most),
    )


if __name__ == "__main__":
    one_core()
    print(render(list(normalizing())))
