"""What runs here: functions of the host, and the tools that ship, each as a `LocalTool`.

    functions (declared) ─▶ state (what does it touch?) ─▶ run, in a thread or on the loop ─▶ results (plain data)
                                                       └▶ diff (what it would change)

`places` finds values in arguments, `process` starts programs that work for a tool, `system` has the small tools.
`code/` reads, `write/` writes, `git/` and `sandbox/` serve both, `web` fetches pages (`pages`).
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.tools.functions import LocalTool, local_tool, packed_tool, tool
    from rightcall.tools.process import Finished, Program, run_program
    from rightcall.tools.run import Job, Threads
    from rightcall.tools.state import Cache, state_of
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "functions": "LocalTool local_tool packed_tool tool",
            "process": "Finished Program run_program",
            "run": "Job Threads",
            "state": "Cache state_of",
        },
    )

__all__ = [
    "Cache", "Finished", "Job", "LocalTool", "Program", "Threads", "local_tool", "packed_tool", "run_program",
    "state_of", "tool",
]  # fmt: skip
