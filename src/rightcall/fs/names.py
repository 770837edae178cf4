"""File names as text. A name is bytes to the system: what is no UTF-8 is kept apart inside (as Python does, in lone
surrogates) and spelled out where it is shown, since no JSON can carry it."""

import re

_SPELLED = re.compile(r"\\x([89a-f][0-9a-f])")


def shown_name(name: str) -> str:
    """A name that any JSON can carry; bytes that are no text come out as `\\xNN`.

    >>> shown_name("größe.txt"), shown_name("caf\\udce9.txt")
    ('größe.txt', 'caf\\\\xe9.txt')
    """
    try:
        name.encode()
    except UnicodeEncodeError:
        return name.encode(errors="surrogateescape").decode(errors="backslashreplace")
    return name


def unshown_name(shown: str) -> str:
    """The name behind one that was shown: `\\xNN` is a byte again.

    >>> unshown_name("caf\\\\xe9.txt") == "caf\\udce9.txt"
    True
    """
    return _SPELLED.sub(lambda found: bytes((int(found[1], 16),)).decode(errors="surrogateescape"), shown)
