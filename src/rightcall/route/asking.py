"""Asking the models: a light one selects, a prime one reviews and answers. Either may be missing, slow, down or talking
nonsense; whatever it is, it is a value here, within the budget."""

import inspect
from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from rightcall.config_router import RouterSettings
from rightcall.errors import ConfigError
from rightcall.loop_asking import Failed, Model, ask, asker, parameters_of
from rightcall.loop_turns import failure_of
from rightcall.recover.native import NativeCall, unpack
from rightcall.route.budget import Budget
from rightcall.text.tokens import estimate

Message = dict[str, str]

NO_MODEL = Failed("there is no model to ask: give the router one, or set [router.light] or [router.prime]")


class Models(Struct, frozen=True):
    """Who is asked. One that is missing is stood in for by the other."""

    light: Model | None = None
    prime: Model | None = None

    @property
    def selecting(self) -> Model | None:
        return self.light or self.prime

    @property
    def answering(self) -> Model | None:
        return self.prime or self.light


class RouterQuestion(Struct, frozen=True):
    """What a model is asked, and how it shall answer."""

    messages: list[Message]
    max_tokens: int
    temperature: float | None = None
    top_p: float | None = None
    schema: dict[str, Any] | None = None

    @property
    def tokens(self) -> int:
        return sum(estimate(message["content"]) for message in self.messages)

    def after(self, reply: str, then: str) -> "RouterQuestion":
        """The same once more: with what was said to it, and what was wrong with that."""
        turns = [{"role": "assistant", "content": reply or "(nothing)"}, {"role": "user", "content": then}]
        return replace(self, messages=[*self.messages, *turns])

    @property
    def options(self) -> dict[str, Any]:
        given = {
            "schema": self.schema, "temperature": self.temperature, "max_tokens": self.max_tokens, "top_p": self.top_p,
        }  # fmt: skip
        return {name: value for name, value in given.items() if value is not None}


class Reply(Struct, frozen=True):
    """What came back: a text or a message of any API, or why there is none; and what asking has cost."""

    written: Any
    tokens: int

    @property
    def failed(self) -> str | None:
        return self.written.error if isinstance(self.written, Failed) else None


def models_of(given: Any, settings: RouterSettings | None = None) -> Models:
    """The models that a router was given, else those that the policy names."""
    if given is None:
        return _configured(settings)
    if isinstance(given, Models):
        return given
    if isinstance(given, Mapping):
        named = dict(cast("Mapping[str, Any]", given))
        if named and named.keys() <= {"light", "prime"}:
            return Models(*(_checked(named.get(role), f"models[{role!r}]") for role in ("light", "prime")))
        raise ConfigError("`models` as a dict names a 'light' model, a 'prime' one, or both")
    model = _checked(given, "models")
    return Models(model, model)


def _checked(model: Any, name: str) -> Model | None:
    if model is not None and not callable(model):
        kind = type(model).__name__
        raise ConfigError(f"`{name}` must be a function of a list of messages, or an Endpoint, not {kind}")
    return model


def _configured(settings: RouterSettings | None) -> Models:
    if settings is None or (settings.light is None and settings.prime is None):
        return Models()
    from rightcall.models.endpoint import Endpoint  # late: most routers are given their models

    seconds, named = settings.model_seconds, (settings.light, settings.prime)
    return Models(*(None if one is None else Endpoint.of(one, seconds=seconds) for one in named))


async def put(model: Model | None, question: RouterQuestion, budget: Budget, spent: int = 0) -> Reply:
    """One question, within what is left. Options that a model does not take by its signature are not sent."""
    ready = prepared(model, question, budget, spent)
    if isinstance(ready, Failed):
        return Reply(ready, 0)
    assert model is not None
    asking = asker(model, None, budget.for_question())
    written = await ask(asking, [dict(message) for message in ready.messages], taken_by(model, ready.options))
    failure = failure_of(written)
    if failure is not None:
        return Reply(Failed(failure), ready.tokens)
    return Reply(written, ready.tokens + _length(written))


def prepared(model: Model | None, question: RouterQuestion, budget: Budget, spent: int) -> RouterQuestion | Failed:
    """The question with the answer's room cut to what is left, or why it cannot be asked."""
    if model is None:
        return NO_MODEL
    over = budget.over(spent)
    if over is not None:
        return Failed(over)
    room = budget.for_answer(question.tokens, question.max_tokens, spent)
    return replace(question, max_tokens=room) if room else Failed(budget.no_tokens)


def taken_by(model: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The options that a callable takes."""
    kinds = parameters_of(model)
    if not kinds or inspect.Parameter.VAR_KEYWORD in kinds.values():
        return options
    return {name: value for name, value in options.items() if name in kinds}


def _length(written: Any) -> int:
    if isinstance(written, str):
        return estimate(written)
    parts = unpack(written).parts
    return sum(estimate(str(part.arguments) if isinstance(part, NativeCall) else part.text) for part in parts)
