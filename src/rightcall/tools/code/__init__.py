"""The read-only code tools, one subject per file: `read`, `search`, `listing`, `diff`, `history` (log, show and blame).

Whatever they open, they open through a `Sight` (`rightcall.base.files`) and with `opening`; what they start, they start
through `rightcall.tools.process`. `pattern` is the search's own engine, `candidates` the files it looks into,
`patch` what git writes of changes, `structure` and `worker` the outline of a source file.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.tools.code.opening import CodeTool, local
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "opening": "CodeTool local",
        },
    )

__all__ = [
    "CodeTool", "local",
]  # fmt: skip
