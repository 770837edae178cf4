"""Everything that is written: files and branches, in journaled steps that a crash cannot leave half done.

    preview, state ─▶ approval ─▶ Desk.working() ─▶ compare ─▶ apply, with a journal ─▶ done ─▶ (undo)

`desk` is where changes are kept and done, `changes` has their records, `apply` does one whole or not at all, and takes
it back. `save`, `edit`, `commit`, `review` and `merge` are the tools, which only say what shall be where; `pulls` and
`branches` are what they work on, `plumbing`, `refs` and `checkout` how git is written.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.tools.write.apply import why_not
    from rightcall.tools.write.changes import Change, FileStep, RefStep
    from rightcall.tools.write.desk import Desk
    from rightcall.tools.write.pulls import PullRecord, all_pulls, pull_of
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "apply": "why_not",
            "changes": "Change FileStep RefStep",
            "desk": "Desk",
            "pulls": "PullRecord all_pulls pull_of",
        },
    )

__all__ = [
    "Change", "Desk", "FileStep", "PullRecord", "RefStep", "all_pulls", "pull_of", "why_not",
]  # fmt: skip
