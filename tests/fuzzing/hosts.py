"""The same promises under other terms: modes that do not block, rule packs, names that are nobody's."""

from random import Random
from typing import Any

from fuzzing.damages import scrambled
from fuzzing.invariants import fault, second_pass
from fuzzing.tools import STRINGS, a_string, an_integer
from rightcall import Gate

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
