"""What a user sets for the proxy, and what follows from the upstream's host."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

Switch = Literal["auto", "on", "off"]

LOCAL: Final = "local"
"""The provider of every server on this machine, whatever it runs."""

HOSTED: Final = {
    "api.openai.com": "openai",
    "api.anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "google",
    "api.mistral.ai": "mistral",
    "api.cohere.com": "cohere",
    "api.x.ai": "xai",
    "api.deepseek.com": "deepseek",
}
"""Providers that serve their own models and emit native calls: what looks like a call in their text is talk of one."""


class Options(Struct, frozen=True):
    """How answers are treated."""

    retry: int = 0
    """How often a call that cannot be repaired goes back to the model."""
    observe: bool = False
    """Change nothing, and tell what would have been done."""
    teach: Switch = "auto"
    """Put the tools into the prompt: always, never, or where a server turns out to ignore them."""
    lift: Switch = "auto"
    """Turn calls in the text into native ones; `auto` means: except for hosted providers that emit native ones."""


def provider_of(host: str, *, is_local: bool) -> str:
    """The provider's name, by the upstream's host and never by the API it speaks.

    >>> provider_of("127.0.0.1", is_local=True), provider_of("api.openai.com", is_local=False)
    ('local', 'openai')
    """
    return LOCAL if is_local else HOSTED.get(host, host)


def lifts(options: Options, host: str) -> bool:
    """Whether calls in the text of this upstream are lifted."""
    return options.lift == "on" or (options.lift == "auto" and host not in HOSTED)
