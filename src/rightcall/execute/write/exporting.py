"""A pull request for a forge: what its own command line takes, as files and a command that a person can run.

Nothing is run here, and nothing is sent.
"""

import os
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

from rightcall.errors import ToolFailure
from rightcall.execute.code.git.run import checked, run_git
from rightcall.execute.write.git import Writer
from rightcall.execute.write.pulls import PullRecord
from rightcall.execute.write.pulls_git import fork_point, required_tip
from rightcall.text.escape import escaped
from rightcall.text.visible import visible

if TYPE_CHECKING:
    from rightcall.execute.write.desk import Desk

Forge = Literal["github", "gitlab", "gitea", "patch"]
FORGES: Final[tuple[Forge, ...]] = ("github", "gitlab", "gitea", "patch")

TITLE, BODY, SERIES = "title.txt", "body.md", "series.mbox"
_SECONDS = 60.0
_MOST = 256 << 20


class Span(Struct, frozen=True):
    """From where to where a pull request goes in its repository."""

    writer: Writer
    old: str
    new: str
    """For its diff."""
    head: str
    """The last of its own commits: between these and `old` are its commits."""


def span_of(desk: "Desk", record: PullRecord) -> Span:
    """Of an open one as it is now, of a merged one as it was merged, of a closed one as far as it is still there."""
    writer = Writer(desk.sight, record.repository)
    if record.status == "merged":
        return Span(writer, record.before, record.merge, record.head)
    head = writer.tip(record.branch) if record.status == "closed" else required_tip(writer, record.branch, "branch")
    head = head or record.head
    fork = fork_point(writer, required_tip(writer, record.base, "base"), head)
    return Span(writer, fork, head, head)


def series(span: Span) -> bytes:
    """Its commits as `git am` takes them, byte for byte."""
    command = [
        "format-patch", "--stdout", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-renames",
        "--no-signature", "--no-thread", "--no-attach", "--encode-email-headers", span.head, f"^{span.old}", "--",
    ]  # fmt: skip
    finished = run_git(span.writer.repository, command, seconds=_SECONDS, most=_MOST)
    if finished.full:
        raise ToolFailure("The commits are larger than 256 MB: push the branch instead")
    return checked(finished)


def export(desk: "Desk", record: PullRecord, forge: Forge, folder: str) -> list[str]:
    """Write the files into a folder, which must be new or empty; the commands to run, one to a line."""
    span = span_of(desk, record)
    files = {TITLE: f"{record.title}\n".encode(), BODY: f"{record.body}\n".encode(), SERIES: series(span)}
    if not files[SERIES]:
        raise ToolFailure(f"Pull request {record.id} has no commits of its own to export")
    _write(folder, files)
    return commands(record, forge, os.path.abspath(folder))


def commands(record: PullRecord, forge: Forge, folder: str) -> list[str]:
    """What a person runs to make the request at the forge."""
    if forge == "patch":
        return [f"git am {shlex.quote(os.path.join(folder, SERIES))}"]
    branch, base = shlex.quote(record.branch), shlex.quote(record.base)
    ref = shlex.quote(f"refs/heads/{record.branch}")
    push = f"git push origin {ref}:{ref}"
    title = _quoted(record.title, os.path.join(folder, TITLE))
    body = shlex.quote(os.path.join(folder, BODY))
    create = {
        "github": f"gh pr create --head {branch} --base {base} --title {title} --body-file {body}",
        "gitlab": (
            f"glab mr create --source-branch {branch} --target-branch {base} --title {title} "
            f'--description "$(cat {body})" --yes'
        ),
        "gitea": f'tea pulls create --head {branch} --base {base} --title {title} --description "$(cat {body})"',
    }
    return [push, create[forge]]


def _quoted(text: str, file: str) -> str:
    """For a shell. What a terminal would obey or hide is not printed: it is read from its file instead."""
    return shlex.quote(text) if visible(text) == text else f'"$(cat {shlex.quote(file)})"'


def _write(folder: str, files: Mapping[str, bytes]) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
        if os.listdir(folder):
            raise ToolFailure(f"{escaped(folder, 300)} is not empty: name a folder that is new, --out DIR")
        for name, content in files.items():
            with open(os.path.join(folder, name), "xb") as file:
                file.write(content)
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise ToolFailure(f"{escaped(folder, 300)} cannot be written to: {why}") from error
