"""How a server wants to be asked, which it only tells by refusing: what it takes is remembered."""

from typing import Any, Final

from msgspec import Struct, structs

from rightcall.parse.kinds import is_object
from rightcall.text.wire import wire_name

_REFUSALS: Final = frozenset({400, 404, 415, 422, 501})
"""What servers answer that do not know a `response_format`. A question that is wrong for another reason is asked three
times then, and the last refusal tells it."""

_PLAIN: Final = 2
_OPTIONS: Final = ("temperature", "max_tokens", "top_p")


class EndpointQuestion(Struct, frozen=True):
    """What is asked, in no server's words yet."""

    messages: list[dict[str, Any]]
    options: dict[str, Any]
    schema: dict[str, Any] | None = None
    stream: bool = False


class Manner(Struct, frozen=True):
    """`form`: 0 for a JSON schema, 1 for any JSON, 2 for neither. `without`: options that the server does not take."""

    form: int = 0
    without: frozenset[str] = frozenset()

    def body(self, model: str, question: EndpointQuestion) -> dict[str, Any]:
        body: dict[str, Any] = {"model": model, "messages": question.messages}
        for name, value in question.options.items():
            if name not in self.without:
                body[name] = value
            elif name == "max_tokens":
                body["max_completion_tokens"] = value  # as OpenAI's reasoning models call it, and they alone
        if question.schema is not None and self.form < _PLAIN:
            body["response_format"] = _FORMS[self.form](question.schema)
        return body | {"stream": True} if question.stream else body

    def other(self, question: EndpointQuestion, status: int, answer: Any) -> "Manner | None":
        """How to ask after this refusal; None: it is final."""
        option = _refused_option(answer)
        if option in question.options and option not in self.without:
            return structs.replace(self, without=self.without | {option})
        if status in _REFUSALS and question.schema is not None and self.form < _PLAIN:
            return structs.replace(self, form=self.form + 1)
        return None


PLAIN: Final = Manner(_PLAIN)


def _json_schema(schema: dict[str, Any]) -> dict[str, Any]:
    title = schema.get("title")
    name = (wire_name(title) if isinstance(title, str) else "") or "answer"
    return {"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": True}}


def _json_object(_: dict[str, Any]) -> dict[str, Any]:
    return {"type": "json_object"}


_FORMS: Final = (_json_schema, _json_object)


def _refused_option(answer: Any) -> str:
    """The option that the model does not take, as OpenAI tells it.

    >>> _refused_option({"error": {"code": "unsupported_value", "param": "temperature"}})
    'temperature'
    """
    error = answer.get("error") if is_object(answer) else None
    if not is_object(error) or error.get("code") not in ("unsupported_parameter", "unsupported_value"):
        return ""
    param = error.get("param")
    return param if param in _OPTIONS else ""
