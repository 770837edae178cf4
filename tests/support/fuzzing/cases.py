"""One random case: of every sort there is, by its seed and number alone."""

import json
import time
from functools import cache
from random import Random
from typing import Any, NamedTuple

import jsonschema_rs

from rightcall import Gate
from rightcall.types import Verdict
from support.fuzzing.damages import Damaged, scrambled
from support.fuzzing.invariants import CPU_SECONDS, any_call, cut_call, faithful, fault, right_call, second_pass, wild
from support.fuzzing.tools import STRINGS, a_string, a_tool, a_value, an_integer
from support.pace import process_time
from support.recover.soup import TOOLS, mutated_example, random_soup
from support.recover.streaming import differences, faults

PACKS = ("agent-zero", "claude", "code", "composio", "edit-files", "gaia", "guardrail", "local-toolkit", "room")

UNREADABLE = {"unreadable", "too_large", "type"}
"""Where there are no named arguments, there is no call to let through."""


def lenient_call(tool: dict[str, Any], emission: Any, random: Random) -> list[str]:
    """`warn` lets every call run that can be read at all, `observe` lets it run exactly as it was given."""
    mode = random.choice(("warn", "observe"))
    gate = Gate([tool], policy={"gate": {"mode": mode}})
    try:
        verdict = gate.check(tool["name"], emission)
    except Exception as error:  # noqa: BLE001  (whatever escapes is the finding)
        return [f"raised {type(error).__name__}: {error}"]
    found = fault(verdict)
    if not verdict.ok and not any(problem.code in UNREADABLE for problem in verdict.problems):
        found.append(f"{mode} refused a call: {verdict}")
    given = isinstance(emission, dict)
    if mode == "observe" and given and (verdict.call is None or verdict.call.arguments is not emission):
        found.append(f"observe changed a call: {verdict}")
    if verdict.problems and not verdict.hint:
        found.append(f"{mode} has problems without a hint: {verdict}")
    return found


def pack_value(random: Random, depth: int = 2) -> Any:
    """Anything that JSON can hold."""
    kind = random.randint(0, 7 if depth else 5)
    if kind == 6:
        return [pack_value(random, depth - 1) for _ in range(random.randint(0, 3))]
    if kind == 7:
        return {random.choice(STRINGS): pack_value(random, depth - 1) for _ in range(random.randint(0, 3))}
    return (None, True, a_string(random), an_integer(random), "", a_string(random))[kind]


def pack_call(gate: Gate, random: Random) -> tuple[Any, list[str]]:
    """A call of a shipped tool, with its own arguments, aliases and values, and others."""
    tool = gate.catalog.tools[random.choice(gate.catalog.names)]
    rules = tool.rules
    known = [*tool.schema.get("properties", {}), *rules.aliases, *rules.defaults, "nobody", "Data"]
    example = dict(rules.example or {})
    arguments = {name: value for name, value in example.items() if random.random() < 0.8}
    for name in random.sample(known, random.randint(0, min(4, len(known)))):
        words = list(rules.values.get(name, ()))
        arguments[name] = random.choice(words) if words and random.random() < 0.6 else pack_value(random)
    name = tool.name if random.random() < 0.9 else scrambled(tool.name, random)
    emission: Any = arguments if random.random() < 0.6 else scrambled(str(arguments), random)
    try:
        verdict = gate.check(name, emission)
        verdict.message("anthropic")
    except Exception as error:  # noqa: BLE001  (whatever escapes is the finding)
        return (name, emission), [f"raised {type(error).__name__}: {error}"]
    found = fault(verdict)
    if verdict.ok and verdict.call and verdict.call.name in gate.catalog.tools:
        found += second_pass(gate, verdict)
    return (name, emission), found


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
    start = process_time()
    with faults() as errors:
        try:
            found = differences(gate(known), text)
            reading = gate(known).read(text)
        except Exception as error:  # noqa: BLE001  (whatever escapes is the finding)
            return [f"raised {type(error).__name__}: {error}"]
    taken = process_time() - start
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


REDUCTION_SECONDS = 2.0


@cache
def packed(pack: str) -> Gate:
    return Gate(packs=[pack])


class Finding(NamedTuple):
    """A case that broke a promise; `sort` is the same for cases that break it in the same way."""

    sort: str
    number: int
    tool: dict[str, Any]
    value: Any
    emission: Any
    complaints: list[str]


def case(seed: str, number: int) -> tuple[str, Finding | None]:
    """The sort of the case, and what it found."""
    random = Random(f"{seed}:{number}")
    tool = a_tool(random)
    value = a_value(random, tool["parameters"])
    kind = random.choice(("right", "faithful", "faithful", "cut", "wild", "wild", "lenient", "pack", "read", "read"))
    name, emission = kind, value
    if kind == "right":
        complaints = right_call(tool, value, random)
    elif kind == "lenient":
        emission = random.choice((wild(value, random), faithful(tool, value, random)[1])).emission
        complaints = lenient_call(tool, emission, random)
    elif kind == "pack":
        emission, complaints = pack_call(packed(random.choice(PACKS)), random)
    elif kind == "read":
        emission, complaints = read_call(random)
    elif kind == "cut":
        emission, complaints = cut_call(tool, value, random)
    else:
        name, damaged = faithful(tool, value, random) if kind == "faithful" else (kind, wild(value, random))
        emission, complaints = damaged.emission, any_call(tool, damaged)
        if complaints and kind == "wild":
            emission, complaints = reduced(tool, emission, complaints)
    if not complaints:
        return name, None
    sort = f"{name}: {complaints[0].split(':')[0]}"
    return name, Finding(sort, number, tool, value, emission, complaints)


def reduced(tool: dict[str, Any], text: str, complaints: list[str]) -> tuple[str, list[str]]:
    """The text with everything left out that the finding does not need."""
    sort, step, deadline = complaints[0].split(":")[0], max(1, len(text) // 2), time.monotonic() + REDUCTION_SECONDS
    while step and time.monotonic() < deadline:
        at = 0
        while at < len(text):
            shorter = text[:at] + text[at + step :]
            found = any_call(tool, Damaged(shorter, None))
            if found and found[0].split(":")[0] == sort:
                text, complaints = shorter, found
            else:
                at += step
        step //= 2
    return text, complaints
