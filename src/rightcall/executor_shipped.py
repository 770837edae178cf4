"""The tools that an executor has without being given any: the code tools on its root, the small ones beside them."""

import os
from collections.abc import Callable

from rightcall.config import Policy
from rightcall.execute.functions import LocalTool
from rightcall.fs.rules import path_rules
from rightcall.fs.sight import Sight
from rightcall.record.tables import Store


def shipped_tools(
    root: str, policy: Policy, protected: tuple[str, ...], store: Callable[[], Store]
) -> dict[str, LocalTool]:
    """By name. The code tools need a system on which files can be opened beneath a folder, which Windows is not."""
    from rightcall.executor_small import small_tools  # late: executors that are told to do without need none of it

    tools = small_tools(store, root)
    if os.name == "posix":
        from rightcall.execute.code.tools import code_tools

        paths = policy.settings.paths
        rules = path_rules((*paths.deny, *protected), paths.allow, paths.dotfiles)
        tools = [*code_tools(Sight(root, rules)), *tools]
    return {tool.name: tool for tool in tools}
