"""Random emissions for `Gate.read`: soup, examples with damage, and calls cut off. What must hold of each."""

import json
import time
from functools import cache
from random import Random
from typing import Any

import jsonschema_rs

from rightcall import Gate
from rightcall.types import Verdict
from support.fuzzing.invariants import CPU_SECONDS
from support.recover.faults import faults
from support.recover.soup import TOOLS, mutated_example, random_soup
from support.recover.streaming import differences

SCHEMAS = {tool["name"]: tool["parameters"] for tool in TOOLS}


@cache
def gate(known: bool) -> Gate:
    return Gate(TOOLS if known else [])


def read_call(random: Random) -> tuple[str, list[str]]:
    """A random emission, and what is wrong with how it was read."""
    if random.random() < 0.15:
        return cut_emission(random)
    text = random_soup(random) if random.random() < 0.6 else mutated_example(random)
    return text, complaints(text, known=random.random() < 0.7)


def complaints(text: str, *, known: bool = True) -> list[str]:
    start = time.process_time()
    with faults() as errors:
        try:
            found = differences(gate(known), text)
            reading = gate(known).read(text)
        except Exception as error:  # noqa: BLE001  (whatever escapes is the finding)
            return [f"raised {type(error).__name__}: {error}"]
    taken = time.process_time() - start
    found += [f"a fault of our own: {error}" for error in errors[:1]]
    if taken > 4 * CPU_SECONDS:
        found.append(f"took {taken:.2f} s")
    if not reading.calls and reading.text != text:
        found.append(f"no call, but the text changed: {reading.text!r}")
    return found + [complaint for verdict in reading.calls for complaint in about(verdict, known)]


def about(verdict: Verdict, known: bool) -> list[str]:
    found: list[str] = []
    if verdict.found is not None and not isinstance(verdict.found.arguments, dict):
        found.append(f"found arguments are no object: {verdict.found}")
    if not verdict.ok:
        return found if verdict.hint and verdict.problems else [*found, f"refused without saying why: {verdict}"]
    if verdict.call is None or verdict.found is None:
        return [*found, f"ok without a call: {verdict}"]
    schema: Any = SCHEMAS.get(verdict.call.name)
    if known and (schema is None or not jsonschema_rs.validator_for(schema).is_valid(verdict.call.arguments)):
        found.append(f"ok, but the call fits no tool: {verdict.call}")
    return found


OPENS = ("<tool_call>", "[TOOL_CALLS]", "<|python_tag|>", "<TOOLCALL>[", "```json\n", "", "Well then, ", "<think>hm ")


def cut_emission(random: Random) -> tuple[str, list[str]]:
    """Cut off inside a string or a key, a call is never ok."""
    city = random.choice(("Bern", "Saint-Étienne", 'a "b"', "x, y: z", "} ]", "</tool_call", "1", "true"))
    body = json.dumps({"name": "get_weather", "arguments": {"city": city, "tags": ["a", "b c"]}}, ensure_ascii=False)
    value = json.dumps(city, ensure_ascii=False)
    first = body.index(value) + 1
    text = random.choice(OPENS) + body[: random.randrange(first, first + len(value) - 1)]
    accepted = [verdict for verdict in gate(True).read(text).calls if verdict.ok]
    return text, [*complaints(text), *(f"cut off inside a value, and ok: {verdict}" for verdict in accepted)]
