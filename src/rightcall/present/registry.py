"""What is known of single tools: how a result is shaped, summed up and cut. One file each in `tools`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rightcall.present.view import View


@cache
def views() -> Mapping[str, View]:
    """All of them, by tool."""
    from rightcall.present.tools import (  # late: a call that shows no result needs none of them
        blame,
        data_list,
        diff,
        execute,
        files,
        log,
        logs,
        read,
        search,
        show,
        web,
        write,
    )

    single = (blame, data_list, diff, files, log, logs, read, search, show)
    found = (*(one.VIEW for one in single), *execute.VIEWS, *web.VIEWS, *write.VIEWS)
    return {view.tool: view for view in found}


def view_of(tool: str) -> View | None:
    """What is known of a tool; None for all others."""
    return views().get(tool)
