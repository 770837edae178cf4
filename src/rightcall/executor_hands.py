"""What gives an executor hands: the sandbox in which code runs, and the desk at which files are written.

Both are made once for an executor and live as long as it does; the tools are made anew with each policy. Nothing is
started before it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

from rightcall.config import Policy
from rightcall.execute.functions import LocalTool
from rightcall.fs.sight import Sight

if TYPE_CHECKING:
    from rightcall.config_hands import LeastTier
    from rightcall.execute.sandbox.sandbox import Sandbox


class Hands:
    """The sandboxes of one executor, by what the policy wants of them."""

    def __init__(self) -> None:
        self._sandboxes: dict[tuple[str, LeastTier], Sandbox] = {}
        self._lock = Lock()

    def tools(self, sight: Sight, policy: Policy, desk: str, guarded: tuple[str, ...]) -> list[LocalTool]:
        """The tools that run code, and those that write; `desk` is the folder of what belongs to writing, `guarded` are
        the files that none of them may write."""
        from rightcall.execute.sandbox.tools import execute_tools
        from rightcall.execute.write.desk import Desk
        from rightcall.execute.write.tools import write_tools

        sandbox = self._sandbox_for(policy)
        return [
            *execute_tools(policy.sandbox, sandbox),
            *write_tools(Desk(desk, sight, policy.write), sandbox, policy.sandbox.visible, guarded),
        ]

    def shell(self, policy: Policy) -> LocalTool:
        """`ai.execute` of the pack `gaia`."""
        from rightcall.execute.sandbox.shell import shell_tool

        return shell_tool(policy.sandbox, self._sandbox_for(policy))

    def close(self) -> None:
        """End what was started. Used again, it is started again."""
        with self._lock:
            started, self._sandboxes = list(self._sandboxes.values()), {}
        for sandbox in started:
            sandbox.close()

    def _sandbox_for(self, policy: Policy) -> Callable[[], Sandbox]:
        wanted = policy.sandbox.python, policy.sandbox.tier

        def sandbox() -> Sandbox:
            from rightcall.execute.sandbox.sandbox import Sandbox

            with self._lock:
                if wanted not in self._sandboxes:
                    self._sandboxes[wanted] = Sandbox(*wanted)
                return self._sandboxes[wanted]

        return sandbox
