"""What must hold of every call, right, damaged or nonsense. Each function returns what is wrong, in words."""

import json
from random import Random
from typing import Any

import jsonschema_rs

from rightcall import Gate, Unreadable, Verdict, loads
from support.fuzzing.damages import DOUBTFUL_TEXT, FAITHFUL_TEXT, FAITHFUL_VALUE, Damaged, cut, dumped, noise, scrambled
from support.pace import process_time

CPU_SECONDS = 0.25
"""For texts of a few hundred bytes: a thousand times what they should take."""


def exact(value: Any) -> str:
    """Equal only if the types are equal too: 1 is neither 1.0 nor True, and the order of keys does not matter."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True)


def same(one: Any, other: Any) -> bool:
    """As the wire sees it, but 3.0 and 3 are one number."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def keys_of(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(keys_of, value.values()))
    return set[str]().union(*map(keys_of, value)) if isinstance(value, list) else set()


def right_call(tool: dict[str, Any], value: dict[str, Any], random: Random) -> list[str]:
    """What was valid comes back as it was: the same object, or what JSON says its text is."""
    gate, text = Gate([tool]), dumped(value, random)
    given, written = gate.check(tool["name"], value), gate.check(tool["name"], text)
    found: list[str] = []
    if not (given.ok and given.call and given.call.arguments is value and given.strategy == "direct"):
        found.append(f"a right call was touched: {given}")
    if not (written.ok and written.call and exact(written.call.arguments) == exact(value)):
        found.append(f"a right call as text came out otherwise: {written}")
    if given.repairs or written.repairs or written.strategy != "direct":
        found.append(f"a right call was repaired: {given.repairs or written}")
    if exact(loads(text).value) != exact(value):
        found.append("loads disagrees with json.loads")
    return found


def any_call(tool: dict[str, Any], damaged: Damaged, gate: Gate | None = None) -> list[str]:
    """A call in any state: an answer in time, which if it says yes fits the tool and stays as it is."""
    gate = gate or Gate([tool])
    taken = 0.0
    for _ in range(2):  # what takes long only once was the collector, tidying up after other tests
        start = process_time()
        try:
            verdict = gate.check(tool["name"], damaged.emission)
            if isinstance(damaged.emission, str):
                reading(damaged.emission, tool["parameters"])
        except Exception as error:  # noqa: BLE001  (whatever escapes is the finding)
            return [f"raised {type(error).__name__}: {error}"]
        taken = process_time() - start
        if taken <= CPU_SECONDS:
            break
    found = [f"took {taken:.2f} s"] if taken > CPU_SECONDS else []
    found += fault(verdict)
    if not verdict.ok:
        found += [] if verdict.hint and verdict.problems else ["refused without saying why"]
        return found + ([] if damaged.doubtful else [f"refused what was beyond doubt: {verdict.problems}"])
    return found + accepted(tool, damaged, verdict) + second_pass(gate, verdict)


def fault(verdict: Verdict) -> list[str]:
    faults = [problem.message for problem in verdict.problems if problem.code == "fault"]
    return [f"a fault of our own: {faults}"] if faults else []


def reading(text: str, schema: Any) -> None:
    """The reader raises nothing but its own error, with and without a schema."""
    for guide in (None, schema):
        try:
            loads(text, guide)
        except Unreadable:
            continue


def accepted(tool: dict[str, Any], damaged: Damaged, verdict: Verdict) -> list[str]:
    if verdict.call is None or not isinstance(verdict.call.arguments, dict):
        return [f"ok without arguments: {verdict}"]
    arguments = verdict.call.arguments
    found: list[str] = []
    if not jsonschema_rs.validator_for(tool["parameters"]).is_valid(arguments):
        found.append(f"accepted what the schema refuses: {arguments}")
    if damaged.meant is not None and not any(same(arguments, meant) for meant in damaged.meant):
        found.append(f"a wrong value was accepted: {arguments}, repairs {verdict.repairs}")
    if invented := sorted(key for key in keys_of(arguments) if not comes_from(key, damaged.emission, verdict)):
        found.append(f"invented {invented}: {arguments}")
    return found


def comes_from(key: str, emission: Any, verdict: Verdict) -> bool:
    """The key stands in the emission, or a repair says that it stands for something that does."""
    written = emission if isinstance(emission, str) else json.dumps(emission, ensure_ascii=False)
    plain = written.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if key in plain or json.dumps(key)[1:-1] in plain or key in plain.replace("\\", ""):
        return True
    return any(key in repair.path or key in str(repair.after) for repair in verdict.repairs)


def second_pass(gate: Gate, verdict: Verdict) -> list[str]:
    """What came out right is right: checking it again changes nothing."""
    assert verdict.call is not None
    again = gate.check(verdict.call.name, verdict.call.arguments)
    if again.ok and again.call and again.call.arguments is verdict.call.arguments and again.strategy == "direct":
        return []
    return [f"a second pass changed something: {verdict.call.arguments} became {again}"]


def prefixes(value: Any, whole: Any) -> bool:
    """Whether `value` is `whole` with things missing, but nothing else and nothing cut through."""
    if isinstance(value, dict) and isinstance(whole, dict):
        return all(key in whole and prefixes(inner, whole[key]) for key, inner in value.items())
    if isinstance(value, list) and isinstance(whole, list):
        return len(value) <= len(whole) and all(map(prefixes, value, whole))
    return same(value, whole)


def cut_call(tool: dict[str, Any], value: dict[str, Any], random: Random) -> tuple[Any, list[str]]:
    """Cut off inside a value a call is refused; between values, what is accepted is a part of what was meant."""
    text, inside = cut(dumped(value, random), random)
    found = any_call(tool, Damaged(text, () if inside else None))
    verdict = Gate([tool]).check(tool["name"], text)
    if verdict.ok and verdict.call and not prefixes(verdict.call.arguments, value):
        found.append(f"what was cut off was made up: {verdict.call.arguments}")
    if verdict.ok and not verdict.truncated:
        found.append(f"completed without saying so: {verdict}")
    return text, found


def faithful(tool: dict[str, Any], value: dict[str, Any], random: Random) -> tuple[str, Damaged]:
    """The name of a damage of which one knows what was meant, and the call with it."""
    other = ("python", "duplicate key", "not a number")
    name = random.choice((*FAITHFUL_TEXT, *FAITHFUL_VALUE, *DOUBTFUL_TEXT, *other))
    text = dumped(value, random)
    if name in FAITHFUL_TEXT:
        return name, Damaged(FAITHFUL_TEXT[name](text, random), (value,), doubtful=False)
    if name in DOUBTFUL_TEXT:
        return name, Damaged(DOUBTFUL_TEXT[name](text, random), (value,))
    if name in FAITHFUL_VALUE:
        changed = FAITHFUL_VALUE[name](value, tool["parameters"], random)
        return name, Damaged(changed if random.random() < 0.5 else dumped(changed, random), (value,), doubtful=False)
    if name == "python":
        return name, Damaged(repr(value), (value,), doubtful=False)
    if name == "duplicate key" and value:
        key = random.choice(list(value))
        return name, Damaged(f"{text[:-1]}, {json.dumps(key)}: {json.dumps(value[key])}}}", ())
    return "not a number", Damaged({**value, random.choice([*value, "z"]): [float("nan")]}, None)


def wild(value: dict[str, Any], random: Random) -> Damaged:
    return Damaged(noise(random) if random.random() < 0.2 else scrambled(dumped(value, random), random), None)
