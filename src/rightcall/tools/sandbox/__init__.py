"""Programs nobody vouches for, in a sandbox: no network, no files but a scratch folder and what the system ships, and
limits on time, memory, processes, disk and output. Where the machine cannot isolate, nothing runs.

    program (the tools) ─▶ sandbox (Sandbox.run) ─▶ conversation ─▶ fork server ─▶ supervisor ─▶ pid 1 ─▶ program
    scratch                (here)                                   (inside/, a process of its own)

`charts` lends the plotting library.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.tools.sandbox.conversation import (
        Ended,
        Job,
        Language,
        Limits,
        NoSandbox,
        Scratch,
        Tier,
        job_for,
        node_program,
    )
    from rightcall.tools.sandbox.sandbox import Sandbox, machine
    from rightcall.tools.sandbox.scratch import put
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "conversation": "Ended Job Language Limits NoSandbox Scratch Tier job_for node_program",
            "sandbox": "Sandbox machine",
            "scratch": "put",
        },
    )

__all__ = [
    "Ended", "Job", "Language", "Limits", "NoSandbox", "Sandbox", "Scratch", "Tier", "job_for",
    "machine", "node_program", "put",
]  # fmt: skip
