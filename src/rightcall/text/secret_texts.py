"""A text without its secrets: private keys, values of secret names, logins in addresses and commands, known shapes."""

import re
from collections.abc import Callable

from rightcall.text.secret_shapes import AWS_SECRET, LOGIN, LONG_WORD, PRIVATE_KEY, SIGNS, Shape, is_aws_secret
from rightcall.text.secret_values import named_values

Hide = Callable[[str], str]
"""From a secret to what stands for it."""

_LONG_NAME = 20
"""Characters from which a name without a password, in an address, is taken for a token."""

_NOT_HIDDEN = r"(?!\[redacted [0-9a-f]{12}\])"
_COMMANDS: dict[str, re.Pattern[str]] = {
    "sshpass": re.compile(rf"(?<=sshpass)[ \t]++-p[ \t]*+{_NOT_HIDDEN}([^\s\"'\\]++)"),
    "curl": re.compile(
        rf"(?<=[ \t])(?:-u|-U|--user|--proxy-user)[ \t=]*+[\"']?[^\s:\"']{{1,100}}:{_NOT_HIDDEN}([^\s\"'\\]++)"
    ),
    "mysql": re.compile(rf"mysql\w*+[^\n|;&]{{0,200}}?[ \t]-p{_NOT_HIDDEN}([^\s\"'\\-][^\s\"'\\]*+)"),
}
"""Commands that take a password in a short option."""


def without_secrets(text: str, is_secret: Callable[[str], bool], hide: Hide) -> str:
    """The text with every secret replaced by what `hide` makes of it; the same object when there is none."""
    clean = text
    if "-----BEGIN" in clean:
        clean = PRIVATE_KEY.sub(lambda found: hide(found[0]), clean)
    if "=" in clean or ":" in clean or ">" in clean or "-" in clean:  # else no name can have a value
        clean = _without_named(clean, is_secret, hide)
    if "://" in clean and "@" in clean:
        clean = LOGIN.sub(lambda found: _login(found, hide), clean)
    for command, pattern in _COMMANDS.items():
        if command in clean:
            clean = pattern.sub(lambda found: _but_hidden(found, 1, hide), clean)
    if "AKIA" in clean or "ASIA" in clean:
        clean = without_aws_secret(clean, hide)
    if LONG_WORD.search(clean):
        for shape in dict.fromkeys([shape for sign, shape in SIGNS if sign in clean]):
            clean = _without_shape(clean, shape, hide)
    return text if clean == text else clean


def without_aws_secret(text: str, hide: Hide) -> str:
    """For a text beside an AWS access key."""
    return AWS_SECRET.sub(lambda found: hide(found[0]) if is_aws_secret(found[0]) else found[0], text)


def _without_named(text: str, is_secret: Callable[[str], bool], hide: Hide) -> str:
    pieces: list[str] = []
    done = 0
    for start, end in named_values(text, is_secret):
        pieces += (text[done:start], hide(text[start:end]))
        done = end
    return "".join((*pieces, text[done:])) if pieces else text


def _without_shape(text: str, shape: Shape, hide: Hide) -> str:
    def replaced(found: re.Match[str]) -> str:
        group = found.lastindex or 0
        unsure = shape.sure is not None and not shape.sure(found[group])
        return found[0] if unsure else _but_hidden(found, group, hide)

    return shape.pattern.sub(replaced, text)


def _but_hidden(found: re.Match[str], group: int, hide: Hide) -> str:
    """What was found, with one group hidden."""
    start, end = found.start(group) - found.start(), found.end(group) - found.start()
    return found[0][:start] + hide(found[group]) + found[0][end:]


def _login(found: re.Match[str], hide: Hide) -> str:
    name, password = found[1], found[2]
    if len(name) >= _LONG_NAME:
        name = hide(name)
    return name + (":" + hide(password[1:]) if password and len(password) > 1 else password or "")
