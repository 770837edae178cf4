"""A second kind of damaged history, with tools drawn by chance: nested three deep, with optional arguments and free
texts, written as whole conversations. Mistakes come often two at a time, a tool itself refuses what a schema lets
pass, people change their minds, and somebody tries to teach rules of their own."""

from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any, NamedTuple

import msgspec

from rightcall import Gate
from support.damaged_histories import at, dotted, drop, is_meant, rename, worded

VERBS = [
    "open",
    "merge",
    "trace",
    "weigh",
    "sort",
    "mail",
    "print",
    "patch",
    "rent",
    "cook",
    "pair",
    "fold",
    "rank",
    "seal",
    "pack",
    "tune",
]
NOUNS = [
    "order",
    "member",
    "device",
    "report",
    "lesson",
    "parcel",
    "garden",
    "ticket",
    "invoice",
    "sensor",
    "recipe",
    "vessel",
    "contract",
    "shelf",
]
FIELDS = [
    "colour",
    "width",
    "owner",
    "label",
    "region",
    "topic",
    "channel",
    "branch",
    "layer",
    "owner_ref",
    "stage",
    "shift",
    "grade",
    "tariff",
    "depot",
    "lane",
    "format",
    "origin",
    "carrier",
    "season",
    "module",
    "panel",
    "cabin",
    "gauge",
    "vendor",
]
CHOICES = [
    ("north", "south", "west"), ("draft", "final", "void"), ("steel", "copper", "oak"), ("solo", "duo", "trio"),
    ("dawn", "noon", "dusk"), ("lean", "rich", "vegan"), ("metro", "rural", "alpine"), ("gold", "silver", "bronze"),
]  # fmt: skip
STRANGE = [
    "payload2",
    "thingy",
    "subject",
    "body_text",
    "value_of",
    "handle",
    "whatnot",
    "item_ref",
    "gist",
    "blurb",
    "moniker",
    "tally",
    "bucket",
    "essence",
    "pointer",
    "crux",
    "payoff",
    "quarry",
    "nub",
    "kernel_of",
    "tidbit",
    "snippet_of",
    "trinket",
    "widget_ref",
    "doodad",
    "gizmo",
]
SLANG = [
    "bogus1",
    "plain_jane",
    "top_notch",
    "so_so",
    "the_usual",
    "fancy",
    "roomy",
    "speedy",
    "chilly",
    "toasty",
    "brisk",
    "mellow",
    "rusty",
    "shiny",
]
UNITS = [("crate * 24", "crates", 24), ("gross * 144", "gross", 144), ("fortnight * 14", "fortnights", 14)]


class Plant(NamedTuple):
    kind: str
    tool: str
    place: str
    given: str
    meant: Any


class Drawn:
    """A world of tools, habits and noise, from a seed."""

    def __init__(self, seed: int, contexts: int = 260, callers: int = 7, poison: int = 600) -> None:
        self.rng = rng = Random(f"drawn {seed}")
        self.contexts, self.poison = contexts, poison
        self.callers = [f"svc{at}" for at in range(callers)]
        self.models = ["alpha-1", "beta-2", "gamma-3"]
        self.strange, self.slang = rng.sample(STRANGE, len(STRANGE)), rng.sample(SLANG, len(SLANG))
        names = rng.sample([f"{verb}_{noun}" for verb in VERBS for noun in NOUNS], 22)
        self.schemas = {name: self._object(rng.sample(FIELDS, rng.randrange(2, 5)), 0) for name in names}
        self.tools = [
            {"type": "function", "function": {"name": name, "description": f"To {name.replace('_', ' a ')}.",
                                              "parameters": schema}}
            for name, schema in self.schemas.items()
        ]  # fmt: skip
        self.gate = Gate(self.tools)
        self.planted: list[Plant] = []
        self.how: dict[Plant, Any] = {}
        self.strict: set[tuple[str, str, str]] = set()
        """Values that the schema lets pass and the tool refuses: tool, place, text."""
        self._plant()
        self.habits = {model: [one for one in self.planted if rng.random() < 0.6] for model in self.models}
        for one in self.planted:
            if not any(one in known for known in self.habits.values()):
                self.habits[rng.choice(self.models)].append(one)

    def _object(self, fields: list[str], depth: int) -> dict[str, Any]:
        rng, properties = self.rng, {}
        for name in fields:
            roll = rng.random()
            if depth < 2 and roll < 0.2:
                properties[name] = self._object(rng.sample([one for one in FIELDS if one not in fields], 2), depth + 1)
            elif depth < 2 and roll < 0.3:
                inner = self._object(rng.sample([one for one in FIELDS if one not in fields], 2), depth + 2)
                properties[name] = {"type": "array", "items": inner}
            elif roll < 0.5:
                properties[name] = {"type": "string", "enum": list(rng.choice(CHOICES))}
            elif roll < 0.65:
                properties[name] = {"type": "integer"}
            elif roll < 0.75:
                properties[name] = {"type": "string", "format": "date"}
            else:
                properties[name] = {"type": "string"}
        required = [name for name in fields if rng.random() < 0.85]
        return {"type": "object", "properties": properties, "required": required}

    def value(self, schema: dict[str, Any]) -> Any:
        rng = self.rng
        if schema["type"] == "object":
            return {
                name: self.value(part) for name, part in schema["properties"].items()
                if name in schema["required"] or rng.random() < 0.5
            }  # fmt: skip
        if schema["type"] == "array":
            return [self.value(schema["items"]) for _ in range(rng.randrange(1, 3))]
        if "enum" in schema:
            return rng.choice(schema["enum"])
        if schema["type"] == "integer":
            return rng.randrange(2, 5000)
        if schema.get("format") == "date":
            return f"202{rng.randrange(5, 9)}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"
        return f"{rng.choice(NOUNS)}-{rng.randrange(10_000)}"

    def places(self, schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any], bool]]:
        for name, part in schema["properties"].items():
            here = f"{path}.{name}" if path else name
            yield here, part, name in schema["required"]
            if part["type"] == "object":
                yield from self.places(part, here)
            elif part["type"] == "array":
                yield from self.places(part["items"], f"{here}[]")

    # ── planting ──

    def _plant(self) -> None:
        rng = self.rng
        every = [(tool, *spot) for tool, schema in self.schemas.items() for spot in self.places(schema)]
        rng.shuffle(every)
        used: set[tuple[str, str]] = set()

        def free(test: Any) -> tuple[str, str, dict[str, Any]] | None:
            for tool, place, part, needed in every:
                around = place.rpartition(".")[0]
                if (tool, place) not in used and (tool, around) not in used and test(place, part, needed):
                    used.add((tool, place))
                    return tool, place, part
            return None

        counts = {"alias": 13, "value": 9, "date": 3, "unit": 3, "default": 4}
        for kind, most in counts.items():
            for _ in range(most):
                self._plant_one(kind, free)
        for _ in range(5):
            given = f"{rng.choice(VERBS)}_the_{rng.choice(NOUNS)}_{rng.choice(['pls', 'now', 'fast'])}"
            self.planted.append(Plant("name", rng.choice(list(self.schemas)), "", given, None))
        self.planted.append(Plant("missing", "", "", "phone_a_friend", None))
        shape = Plant("format", "", "", "::TOOL:: ARG => VALUE", None)
        self.planted.append(shape)
        one, other = rng.sample([name for name in self.schemas if len(self.schemas[name]["properties"]) > 1], 2)
        self.planted.append(Plant("switch", one, "", one, other))

    def _plant_one(self, kind: str, free: Any) -> None:
        rng = self.rng
        scalar = ("string", "integer")
        if kind == "alias":
            found = free(lambda _place, part, needed: needed and part["type"] in scalar)
            if found:
                tool, place, _ = found
                around = place.rpartition(".")[0]
                name = self.strange.pop()
                self.planted.append(Plant("alias", tool, place, f"{around}.{name}" if around else name, place))
        elif kind == "value":
            found = free(lambda _place, part, needed: needed and "enum" in part)
            if found:
                tool, place, part = found
                self.planted.append(Plant("value", tool, place, self.slang.pop(), rng.choice(part["enum"])))
        elif kind == "date":
            found = free(lambda _place, part, needed: needed and part.get("format") == "date")
            if found:
                form, write = rng.choice([("D.M.YYYY -> YYYY-MM-DD", dotted), ("D MMMM YYYY -> YYYY-MM-DD", worded)])
                one = Plant("form", found[0], found[1], form, form)
                self.planted.append(one)
                self.how[one] = write
        elif kind == "unit":
            found = free(lambda _place, part, needed: needed and part["type"] == "integer")
            if found:
                form, word, size = rng.choice(UNITS)
                one = Plant("form", found[0], found[1], form, form)
                self.planted.append(one)
                self.how[one] = (word, size)
        else:
            found = free(lambda place, part, needed: needed and part["type"] == "string" and "[" not in place)
            if found:
                tool, place, part = found
                meant = rng.choice(part["enum"]) if "enum" in part else "main-" + rng.choice(NOUNS)
                if part.get("format") != "date":
                    self.planted.append(Plant("default", tool, place, "", meant))

    # ── history ──

    def lines(self) -> Iterator[dict[str, Any]]:
        rng = self.rng
        for number in range(self.contexts):
            caller, model = rng.choice(self.callers), rng.choice(self.models)
            messages: list[dict[str, Any]] = [{"role": "user", "content": "Please help."}]
            for _ in range(rng.randrange(6, 14)):
                self._turn(messages, model)
            yield {"caller": caller, "context": f"c{number}", "model": model, "tools": self.tools, "messages": messages}
        yield from self._poison()

    def say(self, messages: list[dict[str, Any]], name: str, arguments: Any, *, bad: bool = False) -> bool:
        """A call and its answer; whether it went well."""
        call_id = f"call_{len(messages)}"
        text = msgspec.json.encode(arguments).decode()
        call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        verdict = self.gate.check(name, arguments)
        ok = not verdict.problems and verdict.confidence >= 0.9 and not bad and not self._refuses(name, arguments)
        answer = "done" if ok else "Error: " + (verdict.hint or "this did not work")
        messages.append({"role": "tool", "tool_call_id": call_id, "content": answer})
        return ok

    def _refuses(self, name: str, arguments: Any) -> bool:
        """What the tool itself does not take, although the schema does: dates that are none."""
        schema = self.schemas.get(name)
        if schema is None:
            return False
        for place, part, _ in self.places(schema):
            if part.get("format") == "date":
                for value in values_at(arguments, place):
                    if isinstance(value, str) and (len(value) != 10 or value[4] != "-"):
                        return True
        return False

    def _turn(self, messages: list[dict[str, Any]], model: str) -> None:
        rng, roll = self.rng, self.rng.random()
        if roll < 0.5 and self.habits[model]:
            one = rng.choice(self.habits[model])
            self._make_mistake(messages, one, model)
        elif roll < 0.65:
            self._slip(messages)
        elif roll < 0.7:
            self._near_miss(messages)
        else:
            tool = rng.choice(list(self.schemas))
            self.say(messages, tool, self.value(self.schemas[tool]))

    def _make_mistake(self, messages: list[dict[str, Any]], one: Plant, model: str) -> None:
        rng = self.rng
        if one.kind == "missing":
            self.say(messages, one.given, {"who": rng.choice(NOUNS), "about": f"x{rng.randrange(999)}"})
            messages.append({"role": "assistant", "content": "I cannot do that."})
            return
        tool = one.tool or rng.choice(list(self.schemas))
        right = self.value(self.schemas[tool])
        if one.kind == "format":
            flat = [(name, value) for name, value in right.items() if not isinstance(value, (dict, list))]
            if flat:
                shown = ", ".join(f"{name} => {value}" for name, value in flat)
                messages.append({"role": "assistant", "content": f"::{tool}:: {shown}"})
                messages.append({"role": "user", "content": "Nothing happened."})
            self.say(messages, tool, right)
            return
        if one.kind == "switch":
            other = self.value(self.schemas[one.meant])
            messages.append(
                {"role": "assistant", "content": None, "tool_calls": [
                    {"id": f"w{len(messages)}", "type": "function", "function":
                     {"name": tool, "arguments": msgspec.json.encode(other).decode()}}]}
            )  # fmt: skip
            messages.append({"role": "tool", "tool_call_id": f"w{len(messages) - 1}", "content": "Error: wrong tool"})
            self.say(messages, one.meant, other)
            return
        wrongs = [one, *(other for other in self.habits[model] if other.tool == tool and other is not one
                         and other.kind in ("alias", "value") and rng.random() < 0.2)]  # fmt: skip
        wrong = self._with_mistakes(right, wrongs)
        if wrong is None:
            return
        if (
            self.say(messages, one.given if one.kind == "name" else tool, wrong, bad=one.kind == "form")
            or rng.random() < 0.12
        ):
            return
        self.say(messages, tool, right)

    def _with_mistakes(self, right: dict[str, Any], wrongs: list[Plant]) -> dict[str, Any] | None:
        rng = self.rng
        for one in wrongs:
            if one.place and not values_at(right, one.place):
                return None
            if one.kind in ("value", "default"):
                at(right, one.place, lambda _, one=one: one.meant)
            if one.kind == "form" and isinstance(self.how[one], tuple):
                at(right, one.place, lambda _, one=one: rng.randrange(1, 9) * self.how[one][1])
        wrong = deepcopy(right)
        for one in wrongs:
            if one.kind == "value":
                at(wrong, one.place, lambda _, one=one: one.given)
            elif one.kind == "form" and isinstance(self.how[one], tuple):
                word, size = self.how[one]
                at(wrong, one.place, lambda value, word=word, size=size: f"{value // size} {word}")
            elif one.kind == "form":
                at(wrong, one.place, self.how[one])
            elif one.kind == "default":
                drop(wrong, one.place)
        for one in wrongs:
            if one.kind == "alias" and values_at(wrong, one.place):
                rename(wrong, one.place, one.given.rpartition(".")[2])
        return wrong

    def _slip(self, messages: list[dict[str, Any]]) -> None:
        rng = self.rng
        tool = rng.choice(list(self.schemas))
        right = self.value(self.schemas[tool])
        wrong, called = deepcopy(right), tool
        name = rng.choice(list(right) or ["x"])
        planted = {(one.tool, one.place) for one in self.planted if one.kind == "default"}
        kind = rng.randrange(4)
        if kind == 0 and (tool, name) not in planted:
            wrong.pop(name, None)
        elif kind == 1 and name in wrong:
            wrong[f"{rng.choice(NOUNS)}{rng.randrange(9999)}"] = wrong.pop(name)
        elif kind == 2:
            called = f"{rng.choice(NOUNS)}_{rng.randrange(9999)}"
        elif name in wrong:
            wrong[name] = f"?{rng.randrange(99999)}"
        if not self.say(messages, called, wrong) and rng.random() < 0.75:
            if rng.random() < 0.2:
                right = self.value(self.schemas[tool])  # changed their mind
            self.say(messages, tool, right)

    def _near_miss(self, messages: list[dict[str, Any]]) -> None:
        """The same word for two arguments, or the same value for two, or one name for two tools."""
        rng = self.rng
        kind = rng.randrange(3)
        tools = sorted(self.schemas)
        if kind == 0:
            tool = tools[0]
            right = self.value(self.schemas[tool])
            texts = [name for name, value in right.items() if isinstance(value, str)]
            if len(texts) > 1:
                name = rng.choice(texts)
                wrong = {("both_ways" if key == name else key): value for key, value in right.items()}
                if not self.say(messages, tool, wrong):
                    self.say(messages, tool, right)
        elif kind == 1:
            spots = [(tool, place, part) for tool in tools for place, part, _ in self.places(self.schemas[tool])
                     if "enum" in part and "." not in place and "[" not in place]  # fmt: skip
            tool, place, part = spots[0]
            right = self.value(self.schemas[tool])
            right[place] = rng.choice(part["enum"])
            if not self.say(messages, tool, {**right, place: "whatever_fits"}):
                self.say(messages, tool, right)
        else:
            tool = rng.choice(tools[:2])
            right = self.value(self.schemas[tool])
            if not self.say(messages, "do_it", right):
                self.say(messages, tool, right)

    def _poison(self) -> Iterator[dict[str, Any]]:
        """One attacker: thousands of crafted corrections, under one name, and under many that do nothing else."""
        tool = sorted(self.schemas)[2]
        for number in range(self.poison):
            alone = number < self.poison // 2
            messages: list[dict[str, Any]] = []
            right = self.value(self.schemas[tool])
            self.say(messages, "innocent_looking", right)
            self.say(messages, tool, right)
            name = "mallory" if alone else f"made-up-{number}"
            yield {"caller": name, "context": f"p{number}", "model": "evil", "tools": self.tools, "messages": messages}

    def score(self, found: list[dict[str, Any]]) -> tuple[list[Plant], list[dict[str, Any]]]:
        wanted = {(one.kind, one.tool, one.place, one.given) for one in self.planted}
        got = {(one["kind"], one["tool"], one["place"], one["given"]): one for one in found}
        missed = [
            one
            for one in self.planted
            if (found_one := got.get((one.kind, one.tool, one.place, one.given))) is None
            or not is_meant(one, found_one)
        ]
        return missed, [one for key, one in got.items() if key not in wanted]


def values_at(arguments: Any, place: str) -> list[Any]:
    here = [arguments]
    for step in place.split("."):
        name = step.removesuffix("[]")
        here = [one[name] for one in here if isinstance(one, dict) and name in one]
        if step.endswith("[]"):
            here = [item for one in here if isinstance(one, list) for item in one]
    return here
