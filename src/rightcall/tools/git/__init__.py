"""Git for the tools that look at a history: it runs in a private git directory with a configuration of our own, so that
nothing a repository says about itself is ever run or read.

    path ─▶ repository (which one?) ─▶ layout (what may git see?) ─▶ run, in a private directory ─▶ output

`refs` says what the name of a commit means.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.tools.git.refs import Span, commit_of, span
    from rightcall.tools.git.repository import NoRepository, Repository, repository_for
    from rightcall.tools.git.run import Private, private_for, run_git, write_graph
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "refs": "Span commit_of span",
            "repository": "NoRepository Repository repository_for",
            "run": "Private private_for run_git write_graph",
        },
    )

__all__ = [
    "NoRepository", "Private", "Repository", "Span", "commit_of", "private_for", "repository_for", "run_git",
    "span", "write_graph",
]  # fmt: skip
