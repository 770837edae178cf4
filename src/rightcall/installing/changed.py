"""What the editing of one file comes to: the new text, or why there is none."""

from collections.abc import Mapping

from msgspec import Struct


class Cannot(Exception):
    """The text cannot be edited safely. `at` is where in it, -1 for nowhere."""

    def __init__(self, why: str, at: int = -1) -> None:
        super().__init__(why)
        self.why = why
        self.at = at


class Made(Struct, frozen=True):
    """What an edit made besides the entries themselves, so that it can be undone to the last byte: objects and lists
    (`made`, by path), the blanks that stood in empty ones (`hollow`), the servers that were wrapped."""

    made: tuple[str, ...] = ()
    hollow: Mapping[str, str] = {}
    wrapped: tuple[str, ...] = ()
