"""Programs nobody vouches for, in a sandbox: no network, no files but a scratch folder and what the system ships, and
limits on time, memory, processes, disk and output. Where the machine cannot isolate, nothing runs.

    tools ─▶ program ─▶ sandbox (Sandbox.run) ─▶ conversation ─▶ fork server ─▶ supervisor ─▶ pid 1 ─▶ program
             scratch    (here)                                   (inside/, a process of its own)

`types` is what is asked and answered, `charts` lends the plotting library.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.tools.sandbox.sandbox import Sandbox, machine
    from rightcall.tools.sandbox.scratch import put
    from rightcall.tools.sandbox.types import (
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
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "sandbox": "Sandbox machine",
            "scratch": "put",
            "types": "Ended Job Language Limits NoSandbox Scratch Tier job_for node_program",
        },
    )

__all__ = [
    "Ended", "Job", "Language", "Limits", "NoSandbox", "Sandbox", "Scratch", "Tier", "job_for",
    "machine", "node_program", "put",
]  # fmt: skip
