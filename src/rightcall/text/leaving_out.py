"""A preview that does not show everything says so in its first line, where nothing that it is about can stand. What was
not shown whole is not approved as if it had been."""

from collections.abc import Iterable
from typing import Final

from rightcall.text.room import text_head

LEFT_OUT: Final = "NOT EVERYTHING IS SHOWN: "
MOST_SHOWN: Final = 900_000
"""Bytes of a diff that a person is asked about: more than anybody reads, and as much as a preview may hold."""


def leaves_out(preview: object) -> bool:
    """Whether a preview says so.

    >>> leaves_out(with_left_out("the diff is too long.", "+ a")), leaves_out("+ NOT EVERYTHING IS SHOWN: ")
    (True, False)
    """
    return isinstance(preview, str) and preview.startswith(LEFT_OUT)


def with_left_out(what: str, preview: str) -> str:
    """A preview below the line that says what is missing in it; the line of one that says so already is kept too."""
    return f"{LEFT_OUT}{what}\n{preview}"


def bounded(head: Iterable[str], files: Iterable[str], diff: str, instead: str, most: int) -> str:
    """A preview of a diff with a head above it. Of one that is too long there is the beginning, and above everything
    what is missing, what to do `instead`, and all of its `files`."""
    shown = text_head(diff, most)
    if len(shown) == len(diff):
        return "\n".join([*head, diff])
    what = f"the diff has {len(diff):,} characters, of which the first {len(shown):,} are below. {instead}"
    return cut_preview(what, head, files, shown)


def cut_preview(what: str, head: Iterable[str], files: Iterable[str], diff: str) -> str:
    listed = ["Every file that changes, with its lines:", *files, ""]
    return with_left_out(what, "\n".join([*listed, *head, diff, "… cut here"]))
