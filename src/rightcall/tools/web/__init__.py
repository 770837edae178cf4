"""`web/fetch` and `web/search`: pages and searches for models, off until the policy allows them.

    url ─▶ target (spelled one way) ─▶ looked up once ─▶ each address judged ─▶ connection to that address
                ▲                                                                     │
                └──────────────────────────── redirect, judged anew ◀─────────────────┘
                                                              page ─▶ unpacked ─▶ decoded ─▶ readable text

`client` gets one page, `fetch` has the two tools and makes text of it.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.tools.web.client import Page, Rules, Target, fetch_page, read_target
    from rightcall.tools.web.fetch import Readable, read_html
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "client": "Page Rules Target fetch_page read_target",
            "fetch": "Readable read_html",
        },
    )

__all__ = [
    "Page", "Readable", "Rules", "Target", "fetch_page", "read_html", "read_target",
]  # fmt: skip
