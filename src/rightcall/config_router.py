"""`[router]` of the policy file: how a request finds its tool, how sure one must be, and which models are asked.

The names are design 004's in our spelling; the defaults are those of a file that says nothing.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from msgspec import Struct

IntentMode = Literal["learned", "keywords", "regex"]
Below = Literal["ask", "skip"]

_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class ModelSettings(Struct, frozen=True):
    """One model behind an OpenAI-compatible endpoint, as `http://127.0.0.1:8080/v1`."""

    url: str
    model: str = ""
    """As the server calls it; empty: whichever it serves."""
    key_env: str = ""
    """The environment variable that holds the key. The key itself stands in no file."""
    headers: Mapping[str, str] = _NO_HEADERS
    schema: bool = True
    """False: the server is not asked to keep to a JSON schema. What it says is checked either way."""


class RouterSettings(Struct, frozen=True):
    """What the router does unless a program says otherwise."""

    enabled: bool = True
    """False: no request is given a tool; every one is answered as it is."""
    mode: IntentMode = "learned"
    threshold: float = 0.7
    """The confidence at which a chosen tool runs."""
    below: Below = "ask"
    """Under the threshold: ask the user, or answer without the tool."""
    reinjections: int = 3
    candidates: int = 10
    """Tools that the selecting model is shown."""
    selection_temperature: float = 0.15
    selection_tokens: int = 500
    review_temperature: float = 0.3
    review_tokens: int = 200
    answer_temperature: float | None = None
    """None: the server's own."""
    answer_tokens: int = 1000
    top_p: float = 0.9
    allow_write_tools: bool = False
    """False: tools that write only show what they would do. Allowed ones still ask a person."""
    allow_execute_tools: bool = False
    seconds: float = 60.0
    """For a whole request, with everything that models and tools take."""
    model_seconds: float = 30.0
    """For one question to a model."""
    tokens: int = 20_000
    """For a whole request: prompts and answers together, estimated."""
    search: int = 0
    """When the gateway would list more tools than this, it lists two to find and to run them instead; 0: never."""
    light: ModelSettings | None = None
    """Chooses the tool; None: the prime one does."""
    prime: ModelSettings | None = None
    """Reviews the choice and writes the answer; None: the light one does."""
