"""What the doctor asks: tool calls of rising difficulty, each with the one right answer.

Every question states the values it wants, so that an answer is right or wrong and nobody has to judge. There is no
system prompt: whatever it said, some models would do better or worse for it.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from msgspec import Struct

from rightcall.base.http.answers import Headers
from rightcall.base.text import escaped
from rightcall.errors import ConfigError
from rightcall.models.answers import names_in
from rightcall.proxy.wires import wires
from rightcall.proxy.wires.common import Wire
from rightcall.server.addresses import Upstream


class Wanted(Struct, frozen=True):
    """One call that a right answer has. The values are those that the question states."""

    tool: str
    values: dict[str, Any]


class DoctorQuestion(Struct, frozen=True):
    """One request to the model."""

    id: str
    text: str
    tools: tuple[str, ...]
    wanted: tuple[Wanted, ...]
    exact: bool = False
    """Whether texts must be the same to the letter; else case and blanks do not matter."""
    stream: bool = False


class Step(Struct, frozen=True):
    """Questions of the same difficulty."""

    name: str
    questions: tuple[DoctorQuestion, ...]


FIVE: Final = ("get_weather", "send_message", "set_timer", "search_files", "convert_money")

_SCRIPT = 'for n in range(3):\n    print(f"{n}: it\'s {{n}}")'
_LIST = '- buy "oat" milk\n- call Bob\n- clear C:\\temp\\new'
_LINE = 'print("it\'s me, \\"Bob\\"")'
_SHELL = 'grep -c "a b" \'notes.txt\'\necho "$HOME"'


def _one(
    id: str, text: str, tools: str | tuple[str, ...], tool: str, exact: bool = False, /, **values: Any
) -> DoctorQuestion:
    offered = (tools,) if isinstance(tools, str) else tools
    return DoctorQuestion(id, text, offered, (Wanted(tool, values),), exact=exact)


def _streamed(question: DoctorQuestion) -> DoctorQuestion:
    return DoctorQuestion(question.id, question.text, question.tools, question.wanted, question.exact, stream=True)


STEPS: Final = (
    Step(
        "one tool, one text",
        (
            _one("weather", "What is the weather in Paris right now?", "get_weather", "get_weather", city="Paris"),
            _one("word", "Look up the word serendipity.", "lookup_word", "lookup_word", word="serendipity"),
            _one("page", "Open https://example.com/docs/start", "open_page", "open_page",
                 url="https://example.com/docs/start"),
        ),
    ),
    Step(
        "numbers, yes or no, lists",
        (
            _one("timer", "Start a timer of 25 minutes.", "set_timer", "set_timer", minutes=25),
            _one("light", "Switch off the light in the kitchen.", "set_light", "set_light", room="kitchen", on=False),
            _one("average", "What is the average of 4, 8, 15 and 16.5?", "average", "average",
                 numbers=[4, 8, 15, 16.5]),
            _one("labels", "Put the labels work and urgent on note 17.", "tag_note", "tag_note",
                 note_id=17, labels=["work", "urgent"]),
        ),
    ),
    Step(
        "the right one of five tools",
        (
            _one("message", 'Send Anna the message "Dinner is at eight".', FIVE, "send_message",
                 to="Anna", text="Dinner is at eight"),
            _one("money", "Convert 250 from EUR to JPY.", FIVE, "convert_money",
                 amount=250, source="EUR", target="JPY"),
            _one("files", "Find the files that match *.toml in the folder config.", FIVE, "search_files",
                 pattern="*.toml", folder="config"),
            _one("warm", "How warm is it in Lisbon today?", FIVE, "get_weather", city="Lisbon"),
        ),
    ),
    Step(
        "objects in objects, fixed choices",
        (
            _one("event", "Put the event Review into the calendar: date 2026-03-14, time 09:30, priority high.",
                 "create_event", "create_event",
                 title="Review", start={"date": "2026-03-14", "time": "09:30"}, priority="high"),
            _one("order", "Order for the customer Mara Voss in Graz: 2 pieces of A-100 and 1 piece of B-7, by express.",
                 "create_order", "create_order",
                 customer={"name": "Mara Voss", "city": "Graz"},
                 items=[{"sku": "A-100", "quantity": 2}, {"sku": "B-7", "quantity": 1}], shipping="express"),
            _one("heating", "Set the heating upstairs to 20.5 degrees celsius.", ("set_thermostat", "set_light"),
                 "set_thermostat", zone="upstairs", target={"value": 20.5, "unit": "celsius"}),
        ),
    ),
    Step(
        "quotes, code and lines in a text",
        (
            _one("line", f"Save this line, exactly as it is, in the file me.py:\n\n{_LINE}", "save_text",
                 "save_text", True, file="me.py", content=_LINE),
            _one("lines", f"Save these three lines, exactly as they are, in the file todo.md:\n\n{_LIST}",
                 ("save_text", "search_files"), "save_text", True, file="todo.md", content=_LIST),
            _one("code", f"Run this python code, exactly as it is:\n\n{_SCRIPT}", ("run_snippet", "save_text"),
                 "run_snippet", True, language="python", code=_SCRIPT),
        ),
    ),
    Step(
        "several calls in one message",
        (
            DoctorQuestion("cities", "What is the weather in Oslo and in Rome? Call the tool once for each city.",
                     ("get_weather",), (Wanted("get_weather", {"city": "Oslo"}),
                                        Wanted("get_weather", {"city": "Rome"}))),
            DoctorQuestion("lights", "Switch on the light in the hall, and switch off the light in the office.",
                     ("set_light", "set_timer"), (Wanted("set_light", {"room": "hall", "on": True}),
                                                  Wanted("set_light", {"room": "office", "on": False}))),
            DoctorQuestion("both", 'Start a timer of 10 minutes, and send Ben the message "Start now".', FIVE,
                     (Wanted("set_timer", {"minutes": 10}),
                      Wanted("send_message", {"to": "Ben", "text": "Start now"}))),
        ),
    ),
    Step(
        "the same as a stream",
        (
            _streamed(_one("weather, streamed", "What is the weather in Tokyo right now?", FIVE, "get_weather",
                           city="Tokyo")),
            _streamed(_one("event, streamed",
                           "Put the event Standup into the calendar: date 2026-04-02, time 10:15, priority low.",
                           "create_event", "create_event",
                           title="Standup", start={"date": "2026-04-02", "time": "10:15"}, priority="low")),
            _streamed(_one("code, streamed", f"Run this shell code, exactly as it is:\n\n{_SHELL}",
                           ("run_snippet", "save_text"), "run_snippet", True, language="shell", code=_SHELL)),
        ),
    ),
)  # fmt: skip
"""From easy to hard."""

QUICK: Final = tuple(Step(step.name, step.questions[:1]) for step in STEPS)


# ── tools ──
# The tools that the doctor's questions offer. Nobody runs them: only the calls count.

Schema = dict[str, Any]

_TEXT: Final[Schema] = {"type": "string"}
_WHOLE: Final[Schema] = {"type": "integer"}
_NUMBER: Final[Schema] = {"type": "number"}
_YES_NO: Final[Schema] = {"type": "boolean"}
_TEXTS: Final[Schema] = {"type": "array", "items": _TEXT}


def _one_of(*words: str) -> Schema:
    return {"type": "string", "enum": list(words)}


def _object(**fields: Schema) -> Schema:
    """All fields are required, and there are no others: what fits is never a matter of taste."""
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


TOOLS: Final[dict[str, tuple[str, Schema]]] = {
    "get_weather": ("Get the weather of a city right now.", _object(city=_TEXT)),
    "lookup_word": ("Look up a word in the dictionary.", _object(word=_TEXT)),
    "open_page": ("Open a web page.", _object(url=_TEXT)),
    "set_timer": ("Start a kitchen timer.", _object(minutes=_WHOLE)),
    "set_light": ("Switch the light of a room on or off.", _object(room=_TEXT, on=_YES_NO)),
    "average": ("Compute the average of some numbers.", _object(numbers={"type": "array", "items": _NUMBER})),
    "tag_note": ("Put labels on a note.", _object(note_id=_WHOLE, labels=_TEXTS)),
    "send_message": ("Send a short message to a person.", _object(to=_TEXT, text=_TEXT)),
    "search_files": ("Find files by a pattern.", _object(pattern=_TEXT, folder=_TEXT)),
    "convert_money": ("Convert an amount of money.", _object(amount=_NUMBER, source=_TEXT, target=_TEXT)),
    "create_event": (
        "Put an event into the calendar.",
        _object(title=_TEXT, start=_object(date=_TEXT, time=_TEXT), priority=_one_of("low", "normal", "high")),
    ),
    "create_order": (
        "Order goods for a customer.",
        _object(
            customer=_object(name=_TEXT, city=_TEXT),
            items={"type": "array", "items": _object(sku=_TEXT, quantity=_WHOLE)},
            shipping=_one_of("standard", "express"),
        ),
    ),
    "set_thermostat": (
        "Set the heating of a part of the house.",
        _object(
            zone=_one_of("upstairs", "downstairs"),
            target=_object(value=_NUMBER, unit=_one_of("celsius", "fahrenheit")),
        ),
    ),
    "save_text": ("Save a text under a file name.", _object(file=_TEXT, content=_TEXT)),
    "run_snippet": ("Run a piece of code.", _object(language=_one_of("python", "shell"), code=_TEXT)),
}
"""Description and schema of the arguments, by name."""


# ── requests ──
# The doctor's questions as requests of each API, with everything set that makes answers repeatable.

Object = dict[str, Any]
Speech = Literal["openai", "anthropic", "ollama"]
"""What people call the API."""

PATHS: Final[dict[Speech, str]] = {
    "openai": "/v1/chat/completions",
    "anthropic": "/v1/messages",
    "ollama": "/api/chat",
}
LISTS: Final[dict[Speech, str]] = {"openai": "/v1/models", "anthropic": "/v1/models", "ollama": "/api/tags"}

_NAMES: Final[dict[Speech, str]] = {"openai": "openai_chat", "anthropic": "anthropic", "ollama": "ollama"}
_VERSION: Final = b"2023-06-01"


class Patient(Struct, frozen=True):
    """Whom the doctor asks."""

    speech: Speech
    model: str
    key: str = ""
    """Never shown, and in no record."""
    tokens: int = 512
    """The most of one answer."""
    plain: frozenset[str] = frozenset()
    """Settings that this server does not take."""

    @property
    def wire(self) -> Wire:
        return next(wire for wire in wires() if wire.name == _NAMES[self.speech])

    @property
    def target(self) -> str:
        return PATHS[self.speech]

    @property
    def headers(self) -> Headers:
        return [(b"content-type", b"application/json"), *key_headers(self.speech, self.key)]


def key_headers(speech: Speech, key: str) -> Headers:
    """How the API wants its key."""
    headers: Headers = [(b"accept-encoding", b"identity")]
    if speech == "anthropic":
        headers.append((b"anthropic-version", _VERSION))
    if not key:
        return headers
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError("--key-env: the variable holds no key: keys are printable ASCII without blanks")
    if speech == "anthropic":
        return [*headers, (b"x-api-key", key.encode())]
    return [*headers, (b"authorization", b"Bearer " + key.encode())]


def request_of(patient: Patient, question: DoctorQuestion, seed: int) -> Object:
    """The request to the model."""
    request: Object = {
        "model": patient.model,
        "messages": [{"role": "user", "content": question.text}],
        "tools": [_tool(name, patient.speech) for name in question.tools],
        "stream": question.stream,
    }
    match patient.speech:
        case "openai":
            request |= {"temperature": 0, "seed": seed, "max_tokens": patient.tokens}
        case "anthropic":  # it knows no seed
            request |= {"temperature": 0, "max_tokens": patient.tokens}
        case "ollama":
            request["options"] = {"temperature": 0, "seed": seed, "num_predict": patient.tokens}
    if "max_tokens" in patient.plain and "max_tokens" in request:
        request["max_completion_tokens"] = request["max_tokens"]
    return {key: value for key, value in request.items() if key not in patient.plain}


def _tool(name: str, speech: Speech) -> Object:
    about, schema = TOOLS[name]
    if speech == "anthropic":
        return {"name": name, "description": about, "input_schema": schema}
    return {"type": "function", "function": {"name": name, "description": about, "parameters": schema}}


# ── servers and their models ──
# Finding out whom to ask: which API a server speaks, and which models it has.

_MOST_SHOWN: Final = 20
_LONGEST_NAME: Final = 200


class Found(Struct, frozen=True):
    """What a server said of itself."""

    speech: Speech
    models: tuple[str, ...]


async def find(upstream: Upstream, speech: Speech | None, key: str) -> Found:
    """The API that the server speaks and its models: OpenAI's first, then Ollama's own, unless one is given."""
    tried: tuple[Speech, ...] = ("openai", "ollama") if speech is None else (speech,)
    for one in tried:
        status, body = await get(upstream, LISTS[one], key_headers(one, key))
        if status in (401, 403):
            raise needs_key(upstream.host, status, given=bool(key))
        names = names_in(body) if status < 300 else None
        if names is not None:
            return Found(one, names)
    if speech is not None:  # servers need not list their models
        return Found(speech, ())
    asked = " nor ".join(LISTS[one] for one in tried)
    raise ConfigError(
        f"--upstream: {upstream.host} lists models neither at {asked}: is this the address of a model's server? "
        f"If it is, say which API it speaks (--wire {', '.join(PATHS)}) and name a --model"
    )


async def get(upstream: Upstream, target: str, headers: Headers) -> tuple[int, bytes]:
    """Status and body. Raises HttpError."""
    incoming = await upstream.send("GET", target, headers)
    try:
        return incoming.status, await incoming.read_all(4_000_000)
    finally:
        incoming.release()


def needs_key(host: str, status: int, *, given: bool) -> ConfigError:
    wanted = "does not accept the key that --key-env names" if given else "wants a key"
    return ConfigError(
        f"{host} {wanted} (status {status}): put the right one into an environment variable and name that "
        "variable, such as --key-env OPENAI_API_KEY"
    )


def no_such_model(host: str, model: str, models: tuple[str, ...]) -> ConfigError:
    named = ", ".join(escaped(name, _LONGEST_NAME) for name in models[:_MOST_SHOWN])
    more = f" and {len(models) - _MOST_SHOWN} more" if len(models) > _MOST_SHOWN else ""
    there = f"it has {named}{more}" if models else "and it lists none"
    return ConfigError(f"--model: {host} has no model {escaped(model, _LONGEST_NAME)}; {there}")
