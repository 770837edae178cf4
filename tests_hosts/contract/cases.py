"""What is done to a call in the contract: eight failures, made of any tools and from any seed.

The same cases go through every door. The first tool of a set is called wrongly, the second is denied by the policy, the
third needs a person.
"""

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args

from msgspec import Struct, json
from msgspec.structs import replace

Failure = Literal[
    "wrong argument", "wrong tool", "broken JSON", "left in text", "missing field", "refusal", "approval", "truncated"
]
FAILURES: tuple[Failure, ...] = get_args(Failure)

TOOLS = Path(__file__).with_name("tools.json")


class Definition(Struct, frozen=True):
    """A tool, and the arguments of a right call to it."""

    name: str
    parameters: dict[str, Any]
    description: str = ""
    example: dict[str, Any] = {}

    @property
    def bare(self) -> dict[str, Any]:
        return {"name": self.name, "description": self.description, "parameters": self.parameters}

    @property
    def openai(self) -> dict[str, Any]:
        return {"type": "function", "function": self.bare}


class Case(Struct, frozen=True):
    """A call as a model wrote it, and the one it meant."""

    failure: Failure
    tool: str
    meant: dict[str, Any] | None
    """None where nobody can know: then nothing may run."""
    name: str
    arguments: dict[str, Any] | str
    """As the model wrote them; a text where that is no JSON."""
    word: str
    """A pattern: an answer in which it is found tells the model what to do better."""
    text: str = ""
    """The whole answer, where the call was left in it."""

    @property
    def written(self) -> str:
        """The arguments as an API sends them."""
        return self.arguments if isinstance(self.arguments, str) else json.encode(self.arguments).decode()

    @property
    def finish(self) -> str:
        if self.failure == "truncated":
            return "length"
        return "stop" if self.text else "tool_calls"

    @property
    def message(self) -> dict[str, Any]:
        """The model's answer in OpenAI's shape."""
        if self.text:
            return {"role": "assistant", "content": self.text}
        call = {"id": self.call_id, "type": "function", "function": {"name": self.name, "arguments": self.written}}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    @property
    def call_id(self) -> str:
        return "call_" + self.failure.replace(" ", "_")


def read_tools(path: Path = TOOLS) -> tuple[Definition, ...]:
    """At least three, as `tools.json` has them; without an `example` one is made from the schema."""
    found = json.decode(path.read_bytes(), type=list[Definition])
    if len(found) < 3:
        raise ValueError(f"{path}: the contract needs three tools, these are {len(found)}")
    return tuple(map(_complete, found))


def policy_for(tools: tuple[Definition, ...]) -> dict[str, Any]:
    """The one policy of the whole contract. Calls may be repeated: what the cases mean is one and the same."""
    policy = {"deny": [tools[1].name], "approval": {"tools": [tools[2].name]}, "repeats": 0}
    return {"version": 1, "policy": policy}


def policy_text(tools: tuple[Definition, ...], more: str = "") -> str:
    """The same as a file, for doors that are processes of their own."""
    policy = policy_for(tools)["policy"]
    lines = ["version = 1", "[policy]", f"deny = {_json(policy['deny'])}", f"repeats = {policy['repeats']}"]
    return "\n".join([*lines, "[policy.approval]", f"tools = {_json(policy['approval']['tools'])}", more, ""])


def make_cases(tools: tuple[Definition, ...], seed: int = 0) -> tuple[Case, ...]:
    chance = random.Random(seed)
    tool, denied, asking = tools[:3]
    meant, required = tool.example, tool.parameters["required"]
    renamed = chance.choice([name for name in required if "_" in name] or required)
    other = chance.choice(ARGUMENT_SLIPS)(renamed)
    left_out = chance.choice(required)
    whole = json.encode(_last_text_last(meant)).decode()
    return (
        Case("wrong argument", tool.name, meant, tool.name, _renamed(meant, renamed, other), _pattern(renamed)),
        Case("wrong tool", tool.name, meant, chance.choice(TOOL_SLIPS)(tool.name), meant, _not_quoted(tool.name)),
        Case("broken JSON", tool.name, meant, tool.name, chance.choice(BREAKAGES)(meant), r"(?i)json"),
        Case("left in text", tool.name, meant, tool.name, meant, tool.name, chance.choice(TEXTS)(tool.name, meant)),
        Case("missing field", tool.name, None, tool.name, _without(meant, left_out), _pattern(left_out)),
        Case("refusal", denied.name, denied.example, denied.name, denied.example, r"not whitelisted|not allowed"),
        Case("approval", asking.name, asking.example, asking.name, asking.example, r"approve"),
        Case("truncated", tool.name, None, tool.name, _cut(whole, chance), r"(?i)cut .*off|truncated|incomplete"),
    )


def _not_quoted(name: str) -> str:
    """Not as a part of the wrong name, which an answer may only repeat."""
    return rf"(?<!functions\.){re.escape(name)}"


def _pattern(name: str) -> str:
    """Where tools are functions, `customer-id` is `customer_id`."""
    return re.sub(r"\W", ".", name)


# ── damage ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _camel(name: str) -> str:
    first, *rest = re.split(r"[_\-]", name)
    return first + "".join(part.capitalize() for part in rest) if rest else name.capitalize()


def _pascal(name: str) -> str:
    camel = _camel(name)
    return camel[0].upper() + camel[1:]


def _dashes(name: str) -> str:
    return name.replace("_", "-") if "_" in name else name.upper()


def _typo(name: str) -> str:
    """Two letters in the middle of its longest word change places, as far as there are two that differ."""
    word = max(re.split(r"[_\W]", name), key=len)
    at = next((at for at in range(len(word) // 2, len(word) - 1) if word[at] != word[at + 1]), None)
    if at is None or len(word) < 5:
        return _dashes(name)
    return name.replace(word, word[:at] + word[at + 1] + word[at] + word[at + 2 :])


def _article(name: str) -> str:
    return f"the_{name}"


OTHER_WORDS = {
    "path": "file_path", "title": "heading", "text": "content", "content": "text", "address": "addr", "message": "msg",
    "id": "identifier", "query": "search", "folder": "directory", "email": "mail", "description": "desc", "url": "link",
}  # fmt: skip
"""What models say instead, and nothing else can be meant by."""


def _other_word(name: str) -> str:
    last = re.split(r"[_\W]", name)[-1]
    other = OTHER_WORDS.get(last)
    return _typo(name) if other is None else name.removesuffix(last) + other


ARGUMENT_SLIPS: tuple[Callable[[str], str], ...] = (_camel, _pascal, _dashes, _typo, _article, _other_word)
"""Another style, a slip of the keyboard, a word too many, another word for the same."""
TOOL_SLIPS: tuple[Callable[[str], str], ...] = (_camel, _pascal, _dashes, lambda name: f"functions.{name}")


def _python(arguments: dict[str, Any]) -> str:
    return repr(arguments)


def _trailing(arguments: dict[str, Any]) -> str:
    return json.encode(arguments).decode()[:-1] + ",}"


def _unquoted(arguments: dict[str, Any]) -> str:
    keys = {key: key if re.fullmatch(r"[\w-]+", key) else _json(key) for key in arguments}
    return "{" + ", ".join(f"{keys[key]}: {_json(value)}" for key, value in arguments.items()) + "}"


BREAKAGES: tuple[Callable[[dict[str, Any]], str], ...] = (_python, _trailing, _unquoted)


def _tagged(name: str, arguments: dict[str, Any]) -> str:
    return f"I will do that.\n<tool_call>\n{_json({'name': name, 'arguments': arguments})}\n</tool_call>"


def _fenced(name: str, arguments: dict[str, Any]) -> str:
    return f"Let me do that.\n```json\n{_json({'name': name, 'arguments': arguments})}\n```\n"


def _mistral(name: str, arguments: dict[str, Any]) -> str:
    return f"[TOOL_CALLS][{_json({'name': name, 'arguments': arguments})}]"


TEXTS: tuple[Callable[[str, dict[str, Any]], str], ...] = (_tagged, _fenced, _mistral)


def _json(value: Any) -> str:
    return json.encode(value).decode()


def _renamed(arguments: dict[str, Any], before: str, after: str) -> dict[str, Any]:
    return {after if key == before else key: value for key, value in arguments.items()}


def _without(arguments: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in arguments.items() if key != name}


def _last_text_last(arguments: dict[str, Any]) -> dict[str, Any]:
    """The same arguments, a text as the last of them: where it is cut, it is visibly not complete."""
    texts = [key for key, value in arguments.items() if isinstance(value, str) and len(value) > 3]
    return {**_without(arguments, texts[-1]), texts[-1]: arguments[texts[-1]]}


def _cut(whole: str, chance: random.Random) -> str:
    """The text up to somewhere inside its last value."""
    value = whole.rindex('":"') + 3
    return whole[: chance.randrange(value + 1, len(whole) - 3)]


# ── tools without a description or an example ────────────────────────────────────────────────────────────────────────

_SAMPLES: dict[str, Any] = {"integer": 7, "number": 2.5, "boolean": True, "array": [], "object": {}}


def _complete(tool: Definition) -> Definition:
    properties: dict[str, Any] = tool.parameters.get("properties", {})
    example = {name: _sample(name, properties[name]) for name in tool.parameters.get("required", properties)}
    return replace(tool, description=tool.description or f"Does {tool.name}", example=tool.example or example)


def _sample(name: str, schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    return _SAMPLES.get(schema.get("type", "string"), f"some {name.replace('_', ' ')}")
