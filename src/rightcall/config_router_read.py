"""Reads and checks `[router]`, `[router.light]` and `[router.prime]`, key by key."""

import re
from types import MappingProxyType
from typing import Any

from rightcall.config_router import Below, IntentMode, ModelSettings, RouterSettings
from rightcall.config_settings_values import Readers, flag, header_values, laid_over, number, web_address, whole, word
from rightcall.packs.lines import KeyPath
from rightcall.packs.source import Source, Table

_OURS = MappingProxyType(
    {
        "ENABLED": "enabled",
        "SELECTION_TEMPERATURE": "selection_temperature",
        "REVIEW_TEMPERATURE": "review_temperature",
        "CONFIDENCE_THRESHOLD": "threshold",
        "MAX_REINJECTIONS": "reinjections",
        "ALLOW_WRITE_TOOLS": "allow_write_tools",
        "ALLOW_EXECUTE_TOOLS": "allow_execute_tools",
    }
)
"""What design 004 calls a setting, and what it is called here."""

_KEYS = ("key", "api_key", "apikey", "token", "secret", "password")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
_USE_KEY_ENV = 'say with `key_env = "MY_KEY"` which environment variable holds it'


def read_router(source: Source, document: Table) -> RouterSettings:
    """What the table says, the defaults where it says nothing."""
    if "TOOL_ROUTING" in document:
        raise source.wrong(("TOOL_ROUTING",), "is called `[router]` here, and its keys are written in small letters")
    table = source.table(("router",), document.get("router", {}))
    for key in table:
        ours = _OURS.get(key.upper())
        if ours and key not in _ROUTER:
            raise source.wrong(("router", key), f"is called `{ours}` here")
    return laid_over(source, ("router",), table, _ROUTER, RouterSettings())


def _model(source: Source, path: KeyPath, value: Any) -> ModelSettings:
    table = source.table(path, value)
    for key in table:
        if key.casefold() in _KEYS:
            raise source.wrong((*path, key), f"a key stands in no file, which others may read: {_USE_KEY_ENV}")
    model = laid_over(source, path, table, _MODEL, ModelSettings(""))
    if not model.url:
        raise source.wrong(path, f'needs `url = "{_EXAMPLE}"`: where the model is')
    return model


def _url(source: Source, path: KeyPath, value: Any) -> str:
    text: str = _ADDRESS(source, path, value)
    from urllib.parse import urlsplit  # late: few policies name an address

    parts = urlsplit(text)
    if "@" in parts.netloc:
        raise source.wrong(path, f"holds a name or password, which stands in no file: {_USE_KEY_ENV}")
    if parts.query or parts.fragment:
        raise source.wrong(path, f'ends with its path, since more is put behind it: "{_EXAMPLE}"')
    return text


def _name(source: Source, path: KeyPath, value: Any) -> str:
    text = source.text_of(path, value)
    if text != text.strip() or not text.isprintable() or len(text) > 300:
        raise source.wrong(path, "must be what the server calls its model: one line without blanks around it")
    return text


def _variable(source: Source, path: KeyPath, value: Any) -> str:
    text = source.text_of(path, value)
    if text and not _VARIABLE.fullmatch(text):  # the text is not shown: it may be the key
        raise source.wrong(
            path, "must be the name of an environment variable (letters, digits and `_`), not the key itself"
        )
    return text


def _headers(source: Source, path: KeyPath, value: Any) -> MappingProxyType[str, str]:
    found = header_values(source, path, value)
    for name in found:
        if name.casefold() == "authorization":
            raise source.wrong((*path, name), f"a key stands in no file, which others may read: {_USE_KEY_ENV}")
    return MappingProxyType(found)


_EXAMPLE = "http://127.0.0.1:8080/v1"
_ADDRESS = web_address(_EXAMPLE)
_TEMPERATURE = number(0, 2)
_TOKENS = whole(1, 1_000_000)
_SECONDS = number(0.1, 86_400)
_MODEL: Readers = {
    "url": _url,
    "model": _name,
    "key_env": _variable,
    "headers": _headers,
    "schema": flag,
}
_ROUTER: Readers = {
    "enabled": flag,
    "mode": word(IntentMode),
    "threshold": number(0, 1),
    "below": word(Below),
    "reinjections": whole(0, 100),
    "candidates": whole(1, 100),
    "selection_temperature": _TEMPERATURE,
    "selection_tokens": _TOKENS,
    "review_temperature": _TEMPERATURE,
    "review_tokens": _TOKENS,
    "answer_temperature": _TEMPERATURE,
    "answer_tokens": _TOKENS,
    "top_p": number(0.01, 1),
    "allow_write_tools": flag,
    "allow_execute_tools": flag,
    "seconds": _SECONDS,
    "model_seconds": _SECONDS,
    "tokens": whole(1, 1_000_000_000),
    "search": whole(0, 100_000),
    "light": _model,
    "prime": _model,
}
