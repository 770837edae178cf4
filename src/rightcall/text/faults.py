"""An exception in one line that a model may read: its kind and its message, escaped, without a traceback."""

from rightcall.text.escape import escaped

_LONGEST = 1_000


def fault_text(error: BaseException, limit: int = _LONGEST) -> str:
    """`ValueError: no such day`; only the kind where there is no message, or none that can be had.

    >>> fault_text(ValueError("no such\\nday")), fault_text(MemoryError())
    ('ValueError: no such day', 'MemoryError')
    """
    kind = type(error).__name__
    message = message_of(error, limit)
    return escaped(f"{kind}: {message}" if message else kind, limit)


def message_of(error: BaseException, limit: int = _LONGEST) -> str:
    """The message alone, on one line, escaped and cut."""
    try:
        text = str(error)[: 2 * limit]
    except Exception:  # noqa: BLE001 - an exception's own `__str__` may fail as well
        return ""
    return escaped(" ".join(text.split()), limit)
