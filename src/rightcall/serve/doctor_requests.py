"""The doctor's questions as requests of each API, with everything set that makes answers repeatable."""

from __future__ import annotations

from typing import Any, Final, Literal

from msgspec import Struct

from rightcall.base.http.addresses import Headers
from rightcall.errors import ConfigError
from rightcall.proxy.wire import Wire
from rightcall.proxy.wires import wires
from rightcall.serve.doctor_questions import DoctorQuestion
from rightcall.serve.doctor_tools import TOOLS

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
    request = _REQUESTS[patient.speech](patient, question, seed)
    if "max_tokens" in patient.plain and "max_tokens" in request:
        request["max_completion_tokens"] = request["max_tokens"]
    return {key: value for key, value in request.items() if key not in patient.plain}


def _openai(patient: Patient, question: DoctorQuestion, seed: int) -> Object:
    return {
        "model": patient.model,
        "messages": [{"role": "user", "content": question.text}],
        "tools": _functions(question),
        "stream": question.stream,
        "temperature": 0,
        "seed": seed,
        "max_tokens": patient.tokens,
    }


def _anthropic(patient: Patient, question: DoctorQuestion, seed: int) -> Object:
    del seed  # it knows none
    tools = [{"name": name, "description": TOOLS[name][0], "input_schema": TOOLS[name][1]} for name in question.tools]
    return {
        "model": patient.model,
        "messages": [{"role": "user", "content": question.text}],
        "tools": tools,
        "stream": question.stream,
        "temperature": 0,
        "max_tokens": patient.tokens,
    }


def _ollama(patient: Patient, question: DoctorQuestion, seed: int) -> Object:
    return {
        "model": patient.model,
        "messages": [{"role": "user", "content": question.text}],
        "tools": _functions(question),
        "stream": question.stream,
        "options": {"temperature": 0, "seed": seed, "num_predict": patient.tokens},
    }


def _functions(question: DoctorQuestion) -> list[Object]:
    return [
        {"type": "function", "function": {"name": name, "description": TOOLS[name][0], "parameters": TOOLS[name][1]}}
        for name in question.tools
    ]


_REQUESTS: Final = {"openai": _openai, "anthropic": _anthropic, "ollama": _ollama}
