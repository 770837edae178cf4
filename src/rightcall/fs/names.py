"""File names as text. A name is bytes to the system: what is no UTF-8 is kept apart inside (as Python does, in lone
surrogates) and spelled out where it is shown, since no JSON can carry it."""


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
