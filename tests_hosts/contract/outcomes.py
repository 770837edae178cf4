"""What came of a case at a door, in one word, and the tools that note what runs."""

import inspect
import keyword
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from msgspec import Struct, json

from contract.cases import Case, Definition

Outcome = Literal["runs", "runs wrong", "says why", "fails", "nothing", "stops", "asks", "unseen"]
"""runs: the call that was meant · runs wrong: another one · says why: not run, and the model reads what was wrong ·
fails: not run, and the model reads only that · nothing: not run, and nobody is told · stops: the whole run ended ·
asks: it waits for a person · unseen: it never comes here, the client or host has dealt with it before."""


class Seen(Struct, frozen=True):
    """What a driver saw: what ran, what the model read next, whether a person was asked, what was raised."""

    ran: tuple[tuple[str, dict[str, Any]], ...] = ()
    read: str = ""
    asked: bool = False
    raised: bool = False


UNSEEN: None = None
"""In place of `Seen`: such a call cannot come to this door."""


def outcome(case: Case, seen: Seen | None) -> Outcome:
    if seen is None:
        return "unseen"
    if seen.ran:
        return "runs" if seen.ran == ((case.tool, case.meant),) else "runs wrong"
    if seen.asked:
        return "asks"
    if seen.raised:
        return "stops"
    if not seen.read:
        return "nothing"
    return "says why" if re.search(case.word, seen.read) else "fails"


class Ran:
    """Notes what runs; `function` makes a tool that does nothing else."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def note(self, name: str, arguments: dict[str, Any]) -> str:
        given = {key: value for key, value in arguments.items() if value is not None}
        self.calls.append((name, given))
        return f"did {name}"

    def taken(self) -> tuple[tuple[str, dict[str, Any]], ...]:
        """What ran since it was last asked."""
        taken, self.calls = tuple(self.calls), []
        return taken

    def function(self, tool: Definition) -> Callable[..., str]:
        """A function with the arguments of the tool's schema, for frameworks that look at those."""

        def run(*args: Any, **kwargs: Any) -> str:
            given = {python.get(name, name): value for name, value in kwargs.items()}
            bound = signature.bind(*args, **given)
            return self.note(tool.name, {names[name]: value for name, value in bound.arguments.items()})

        signature = _signature(tool)
        names = {_identifier(name): name for name in tool.parameters["properties"]}
        python = {name: own for own, name in names.items()}
        run.__name__ = run.__qualname__ = tool.name
        run.__doc__ = tool.description
        run.__signature__ = signature  # type: ignore[attr-defined]
        run.__annotations__ = {name: one.annotation for name, one in signature.parameters.items()} | {"return": str}
        return run


def _identifier(name: str) -> str:
    """What Python can call an argument; `customer-id` and `class` are told to models by their own names."""
    plain = re.sub(r"\W", "_", name)
    return f"{plain}_" if keyword.iskeyword(plain) else plain


_TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict}


def _signature(tool: Definition) -> inspect.Signature:
    required = tool.parameters.get("required", [])
    parameters = [
        inspect.Parameter(
            _identifier(name),
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=inspect.Parameter.empty if name in required else None,
            annotation=_annotation(name, _TYPES[schema["type"]], optional=name not in required),
        )
        for name, schema in tool.parameters["properties"].items()
    ]
    return inspect.Signature(sorted(parameters, key=lambda one: one.default is None), return_annotation=str)


def _annotation(name: str, kind: type, *, optional: bool) -> Any:
    own: Any = kind | None if optional else kind
    if _identifier(name) == name:
        return own
    from pydantic import Field

    return Annotated[own, Field(alias=name)]


class PlainClient:
    """The client of a model's API that most programs have: exact names, strict JSON, a check against the schema."""

    def __init__(self, tools: Sequence[Definition], ran: Ran) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self.ran = ran

    def take(self, message: dict[str, Any]) -> str:
        """Runs the calls of an answer; what the model reads of them. A text is an answer for the user."""
        calls = message.get("tool_calls") or []
        return "\n".join(self._one(call["function"]["name"], call["function"]["arguments"]) for call in calls)

    def _one(self, name: str, written: str) -> str:
        import jsonschema_rs

        tool = self.tools.get(name)
        if tool is None:
            return f"Error: there is no tool {name}"
        try:
            arguments = json.decode(written)
        except ValueError as error:
            return f"Error: the arguments are no JSON: {error}"
        problem = next(jsonschema_rs.iter_errors({**tool.parameters, "additionalProperties": False}, arguments), None)
        return f"Error: {problem.message}" if problem else self.ran.note(name, arguments)
