"""What goes out: the address, the headers and the question as bytes."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from rightcall.base.http.addresses import Address, Headers, read_address
from rightcall.errors import ConfigError
from rightcall.models.endpoint_characters import with_whole_characters
from rightcall.text.escape import escaped

CHAT = "/chat/completions"
_RULE = "`url` must be an address such as http://localhost:11434 or https://api.example.com/v1"
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_VALUE = re.compile(r"[\t\x20-\x7e]*\Z")
_OURS = frozenset({"host", "connection", "content-length", "transfer-encoding", "content-type", "accept-encoding"})


def address_of(url: str) -> Address:
    address = read_address(url, _RULE, "the key goes into `key`")
    if address.path.endswith(CHAT):
        return msgspec.structs.replace(address, path=address.path.removesuffix(CHAT))
    return address if address.path else msgspec.structs.replace(address, path="/v1")


def headers_of(key: str | None, headers: Mapping[str, str]) -> Headers:
    """The headers of every request. What could end one and begin another is refused, and never shown."""
    for name, value in headers.items():
        if not _NAME.match(name) or name.lower() in _OURS:
            raise ConfigError(f"`headers`: {escaped(name, 60)} cannot be set; take another name, in letters and -")
        if not _VALUE.match(value):
            raise ConfigError(f"`headers`: the value of {name} must be one line of ASCII")
        if key is not None and name.lower() == "authorization":
            raise ConfigError("`headers`: authorization is what `key` sends; give one of the two")
    if key is not None and (not key or not _VALUE.match(key) or " " in key):
        raise ConfigError("`key` must be ASCII without blanks, or None for no key; is there a line end behind it?")
    lines = {
        "user-agent": "rightcall",
        "accept": "application/json, text/event-stream",
        "accept-encoding": "identity",
        "content-type": "application/json",
    }
    lines |= {name.lower(): value for name, value in headers.items()}
    lines |= {"authorization": f"Bearer {key}"} if key is not None else {}
    return [(name.encode("ascii"), value.encode("ascii")) for name, value in lines.items()]


def options_of(temperature: float | None, max_tokens: int | None, top_p: float | None) -> dict[str, Any]:
    options = {"temperature": temperature, "max_tokens": max_tokens, "top_p": top_p}
    return {name: value for name, value in options.items() if value is not None}


def encoded(body: dict[str, Any]) -> bytes:
    try:
        try:
            return msgspec.json.encode(body)
        except UnicodeEncodeError:  # half a character, which a model may well write
            return msgspec.json.encode(with_whole_characters(body))
    except (TypeError, RecursionError) as why:
        raise ConfigError(f"`messages` must be what JSON can hold: {escaped(str(why), 200)}") from None
