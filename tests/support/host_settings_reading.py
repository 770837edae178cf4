"""Settings as a host reads them, written a second time and in another way than in the product."""

import json
from typing import Any


def as_host(data: bytes) -> Any:
    """Comments and trailing commas out, then plain JSON; what is blank is an empty object."""
    text = data.decode("utf-8-sig")
    out, at = "", 0
    while at < len(text):
        if text[at] == '"':
            end = at + 1
            while text[end] != '"':
                end += 2 if text[end] == "\\" else 1
            out, at = out + text[at : end + 1], end + 1
        elif text.startswith("//", at):
            at = text.find("\n", at)
        elif text.startswith("/*", at):
            at = text.index("*/", at + 2) + 2
        else:
            if text[at] in "]}" and out.rstrip().endswith(","):
                out = out.rstrip()[:-1]
            out, at = out + text[at], at + 1
        if at < 0:
            break
    return json.loads(out, parse_float=str, parse_int=str) if out.strip() else {}


def without_ours(settings: Any) -> Any:
    """The same without our hooks and without what is empty then."""
    if not isinstance(settings.get("hooks"), dict):
        return settings
    hooks = {
        event: [group for group in groups if "/my bin/rightcall' hook " not in json.dumps(group)]
        for event, groups in settings["hooks"].items()
    }
    left = {event: groups for event, groups in hooks.items() if groups}
    return {key: value for key, value in settings.items() if key != "hooks"} | ({"hooks": left} if left else {})


def our_commands(settings: Any) -> dict[str, str]:
    """Our command, per event."""
    return {
        event: handler["command"]
        for event, groups in settings["hooks"].items()
        for group in groups
        for handler in group.get("hooks", ())
        if "/my bin/rightcall' hook " in handler["command"]
    }
