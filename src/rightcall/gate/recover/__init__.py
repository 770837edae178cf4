"""From whatever a model wrote to the calls it holds: every format at once, whole or as a stream.

    text ─▶ machine (which format begins here?) ─▶ tags, prose ─▶ section ─▶ objects, calls, elements ─▶ Take
    message ─▶ native

`tags` are the formats with tags or tokens, `prose` those without. A call in one is a JSON object (`objects`), a call in
Python's syntax (`calls`) or a run of tags (`elements`).

Whoever writes a format of their own needs `Format`, the `Window` it reads in, and the helpers that wait for more text;
`tagged` makes one from its opening and closing words.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.gate.recover.machine import builtin_formats
    from rightcall.gate.recover.native import NativeCall, finish_word, unpack
    from rightcall.gate.recover.objects import object_item
    from rightcall.gate.recover.section import read_section, tagged
    from rightcall.gate.recover.window import (
        Format,
        Literals,
        Mute,
        Take,
        Window,
        blank,
        closing,
        find,
        literal,
        matched,
        search,
        skip,
    )
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "objects": "object_item",
            "native": "NativeCall finish_word unpack",
            "machine": "builtin_formats",
            "section": "read_section tagged",
            "window": "Format Literals Mute Take Window blank closing find literal matched search skip",
        },
    )

__all__ = [
    "Format", "Literals", "Mute", "NativeCall", "Take", "Window", "blank", "builtin_formats", "closing", "find",
    "finish_word", "literal", "matched", "object_item", "read_section", "search", "skip", "tagged", "unpack",
]  # fmt: skip
