"""From whatever a model wrote to the calls it holds: every format at once, whole or as a stream.

    text ─▶ machine ─▶ registry (which format begins here?) ─▶ formats/ ─▶ section, items/ ─▶ envelope ─▶ Take
    message ─▶ native

Whoever writes a format of their own needs `Format`, the `Window` it reads in, and the helpers that wait for more text;
`tagged` makes one from its opening and closing words.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.gate.recover.items.objects import object_item
    from rightcall.gate.recover.native import NativeCall, finish_word, unpack
    from rightcall.gate.recover.registry import builtin_formats
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
            "items.objects": "object_item",
            "native": "NativeCall finish_word unpack",
            "registry": "builtin_formats",
            "section": "read_section tagged",
            "window": "Format Literals Mute Take Window blank closing find literal matched search skip",
        },
    )

__all__ = [
    "Format", "Literals", "Mute", "NativeCall", "Take", "Window", "blank", "builtin_formats", "closing", "find",
    "finish_word", "literal", "matched", "object_item", "read_section", "search", "skip", "tagged", "unpack",
]  # fmt: skip
