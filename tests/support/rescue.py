"""The last resort in tests: scripted models, what they may lie about, and damage that only structure can undo."""

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from random import Random
from typing import Any

from rightcall.gate.last_resort import Plea, Rescue
from rightcall.policy.settings import LlmSettings

POLICY = {"gate": {"llm": {"url": "http://127.0.0.1:9/v1", "model": "small", "side_effects": True}}}
Object = dict[str, Any]


class Says:
    """A last resort that says what it was told to, and remembers what it was asked."""

    def __init__(self, *answers: str | None) -> None:
        self.answers = list(answers)
        self.asked: list[Plea] = []

    async def __call__(self, plea: Plea, settings: LlmSettings) -> Rescue:
        self.asked.append(plea)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return Rescue(answer, settings.model, "" if answer is not None else "it is away", 7, 0.25)


# ── places in a value ──

Place = tuple[Any, Any]
"""What holds something, and under which name or number."""


def leaves(value: Any) -> Iterator[Place]:
    """Every place of a text, number, true, false or null."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in list(items):
        if isinstance(item, dict | list):
            yield from leaves(item)
        else:
            yield value, key


def objects(value: Any) -> Iterator[Object]:
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, dict | list):
            yield from objects(item)


# ── lies ──
# Each changes a copy of what was meant; the copy may by chance be the same.


def change_one(value: Object, random: Random) -> None:
    holder, key = random.choice(list(leaves(value)))
    old = holder[key]
    holder[key] = random.choice(["other", 41, True, None, f"{old}x", "rm -rf /", _near(old)])


def _near(old: Any) -> Any:
    """As little as can be changed."""
    if isinstance(old, bool) or old is None:
        return not old
    if isinstance(old, int | float):
        return random_sign(old)
    return old[1:] if len(old) > 1 else old + " "


def random_sign(number: float) -> float:
    return -number if number else 1


def cut_one(value: Object, random: Random) -> None:
    texts = [(holder, key) for holder, key in leaves(value) if isinstance(holder[key], str) and len(holder[key]) > 1]
    if texts:
        holder, key = random.choice(texts)
        at = random.randrange(1, len(holder[key]))
        holder[key] = random.choice([holder[key][:at], holder[key][at:], holder[key].strip(" ,.:;(){}[]\"'")])


def split_one(value: Object, random: Random) -> None:
    texts = [(holder, key) for holder, key in leaves(value) if isinstance(holder[key], str) and len(holder[key]) > 2]
    if texts:
        holder, key = random.choice(texts)
        parts = [part.strip() for part in re.split(r"[,; ]", holder[key]) if part.strip()]
        if isinstance(holder, list):
            holder[key : key + 1] = parts
        else:
            holder[key] = parts


def add_one(value: Object, random: Random) -> None:
    holder = random.choice(list(objects(value)))
    old = [inner[key] for inner, key in leaves(value)]
    holder[random.choice(["extra", "to", "path", *holder])] = random.choice(["made up", 7, *old])


def drop_one(value: Object, random: Random) -> None:
    holder, key = random.choice(list(leaves(value)))
    del holder[key]


def swap_two(value: Object, random: Random) -> None:
    places = list(leaves(value))
    (one, here), (other, there) = random.choice(places), random.choice(places)
    one[here], other[there] = other[there], one[here]


def swap_names(value: Object, random: Random) -> None:
    holder = random.choice(list(objects(value)))
    names = list(holder)
    if len(names) > 1:
        one, other = random.sample(names, 2)
        renamed = {{one: other, other: one}.get(name, name): item for name, item in holder.items()}
        holder.clear()
        holder.update(renamed)


def move_one(value: Object, random: Random) -> None:
    holder, key = random.choice(list(leaves(value)))
    item = holder.pop(key)
    goal = random.choice(list(objects(value)))
    goal[key if isinstance(key, str) else "moved"] = item


def join_two(value: Object, random: Random) -> None:
    texts = [(holder, key) for holder, key in leaves(value) if isinstance(holder[key], str)]
    if len(texts) > 1:
        at = random.randrange(len(texts) - 1)
        (one, here), (other, there) = texts[at : at + 2]
        between = random.choice([", ", " ", '", "', f'", "{there}": "', f", {there}: ", ""])
        one[here] = f"{one[here]}{between}{other[there]}"
        del other[there]


LIES: tuple[Callable[[Object, Random], None], ...] = (
    change_one, cut_one, split_one, add_one, drop_one, swap_two, swap_names, move_one, join_two,
)  # fmt: skip


def lie(value: Object, random: Random) -> Object:
    told = deepcopy(value)
    if list(leaves(told)):
        random.choice(LIES)(told, random)
    return told


# ── damage to structure ──


def damage(text: str, random: Random) -> str:
    """JSON with something of its structure gone or another; names and values as they were."""
    for _ in range(random.choice([1, 1, 2])):
        text = random.choice(DAMAGES)(text, random)
    return text


def _one(pattern: str, new: str) -> Callable[[str, Random], str]:
    def change(text: str, random: Random) -> str:
        places = list(re.finditer(pattern, text))
        if not places:
            return text
        found = random.choice(places)
        return text[: found.start()] + found.expand(new) + text[found.end() :]

    return change


def _all(pattern: str, new: str) -> Callable[[str, Random], str]:
    return lambda text, _: re.sub(pattern, new, text)


DAMAGES: tuple[Callable[[str, Random], str], ...] = (
    _one(r'"(, ")', r"\1"),
    _one(r'(: )"', r"\1"),
    _one(r'"([}\]])', r"\1"),
    _one(r'", "', r'" "'),
    _one(r"[}\]]", ""),
    _one(r"[{\[]", ""),
    _one(r'": ', '" '),
    _one(r": ", " = "),
    _one(r"\]", "}"),
    _all(r'"(\w+)":', r"\1="),
    _all(r'"(\w+)": "', r'\1: "'),
    _all(r", ", "; "),
    _all(r", ", "\n"),
    _all(r'"', "'"),
    _all(r'"', ""),
    _one(r"$", "}"),
    _one(r"^", "{"),
    _one(r"^", "forecast("),
)


def dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
