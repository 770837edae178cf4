"""Tools from the types you already have: a function, a dataclass, a pydantic model (where pydantic is installed).

python examples/own_tools.py
"""

from dataclasses import dataclass
from typing import Any, Literal

from rightcall import Gate


def get_weather(city: str, days: int = 1, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """The weather of the coming days."""
    return f"{days} days of sun in {city}, in {unit}"


@dataclass
class Transfer:
    """Moves money from one account to another."""

    source: str
    target: str
    amount: float


TOOLS: list[Any] = [get_weather, Transfer]

try:
    from pydantic import BaseModel, Field

    class Reminder(BaseModel):
        """Reminds the user of something."""

        text: str
        minutes: int = Field(ge=1)

    TOOLS.append(Reminder)
except ModuleNotFoundError:
    print("(without pydantic: two tools instead of three)")


def main() -> None:
    gate = Gate(TOOLS)
    for name, arguments in (
        ("get_weather", "{'city': 'Rome', 'days': 'two'}"),
        ("Transfer", '{"source": "00123", "target": "00456", "amount": "1,250.50",}'),
        ("Reminder", '{"text": "tea", "minutes": 0}'),
    ):
        if name in gate.catalog.names:
            verdict = gate.check(name, arguments)
            print(name, verdict.call.arguments if verdict.ok and verdict.call else f"is refused: {verdict.hint}")


if __name__ == "__main__":
    main()
