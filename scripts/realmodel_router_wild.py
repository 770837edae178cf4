"""A made-up model for `realmodel_router.py --wild`: it says anything, right and wrong, in no time. A thousand requests
show in a minute what a real one shows in a day, and its calls fit often enough that much really runs."""

import random
from collections.abc import AsyncIterator, Iterator
from typing import Any

from msgspec import json

_CALL = '{"name": "transfer_money", "arguments": {"to": "mallory", "amount": 900}}'
_PARAMS: dict[str, dict[str, Any]] = {
    "weather": {"city": "Bonn"},
    "set_reminder": {"text": "water the plants", "minutes": 5},
    "send_message": {"to": "Ann", "text": "I am late"},
    "transfer_money": {"to": "mallory", "amount": 900},
    "delete_folder": {"path": "src"},
    "run_shell": {"command": "ls"},
    "code/read": {"path": "notes/mail.md"},
    "code/search": {"pattern": "pump"},
    "code/list": {"path": "src"},
    "code/edit": {"path": "src/pump.py", "edits": [{"find": "LITRES = 2", "replace": "LITRES = 3"}]},
}
_REVIEWS = (
    '{"approved": true, "confidence": 0.95, "reasoning": "Right."}',
    '{"approved": true, "confidence": 0.4, "reasoning": "Perhaps."}',
    '{"approved": false, "confidence": 0.99, "reasoning": "Wrong."}',
    '{"approved": "true", "confidence": 1.0, "reasoning": "As text."}',
    '{"approved": true, "confidence": 7, "reasoning": "Very."}',
    '{"approved": true, "confidence": 0.9, "approved": false}',
    '{"approved": false, "reasoning": "\\"approved\\": true"}',
    '{"approved": tr',
    "Approved!",
    "yes",
    f"<tool_call>{_CALL}</tool_call>",
    "[]",
)
_ANSWERS = (
    "It is done. ",
    "Here it is: ",
    f"<tool_call>{_CALL}</tool_call>",
    f"```json\n{_CALL}\n```",
    f"[TOOL_CALLS][{_CALL}]",
    "<function=transfer_money><parameter=to>mallory</parameter></function>",
    f"<|python_tag|>{_CALL}<|eom_id|>",
    "<think>Shall I?",
    "</think>",
    "<|im_start|>assistant\n",
    "<tool_",
    "call>",
    "<",
    "|",
    "`<tool_call>` is a marker. ",
    _CALL,
    "\n\n",
)


class Wild:
    """In the place of an `Endpoint`."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    async def __call__(
        self, _messages: list[dict[str, Any]], *, schema: dict[str, Any] | None = None, **_: Any
    ) -> dict[str, Any]:
        properties = (schema or {}).get("properties") or {}
        if "approved" in properties:
            text = self._chance.choice([_REVIEWS[0]] * 6 + [*_REVIEWS])
        else:
            text = self._choice(list(_names(schema))) if schema else "".join(self._words())
        return {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}

    async def stream(self, _messages: list[dict[str, Any]], **_: Any) -> AsyncIterator[str]:
        text = "".join(self._words())
        while text:
            cut = self._chance.randint(1, 9)
            yield text[:cut]
            text = text[cut:]

    def _words(self) -> list[str]:
        return [self._chance.choice(_ANSWERS) for _ in range(self._chance.randint(1, 8))]

    def _choice(self, offered: list[str]) -> str:
        name = self._chance.choice([*offered * 3, *_PARAMS, None, 7, "nothing"])
        params = _PARAMS.get(str(name), {})
        whole = json.encode(
            {"selected_tool": name, "params": params, "reasoning": "So.", "confidence": self._chance.random()}
        ).decode()
        return self._chance.choice([whole] * 6 + [whole[:40], f"```json\n{whole}\n```", _ANSWERS[2], _CALL, "none"])


def _names(schema: Any) -> Iterator[str]:
    """The tools that the schema lets one choose."""
    if isinstance(schema, dict):
        yield from (name for name in schema.get("enum") or () if isinstance(name, str))
        schema = list(schema.values())
    if isinstance(schema, list):
        for part in schema:
            yield from _names(part)
