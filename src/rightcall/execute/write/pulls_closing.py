"""Closing a pull request: it is not going to be merged. Its branch stays."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from rightcall.execute.write.changes import Change, GitScope
from rightcall.execute.write.git import Writer
from rightcall.execute.write.pulls import Remark, checked_text, moment, pull_of, pull_step, require_open, with_remark

if TYPE_CHECKING:
    from rightcall.execute.write.desk import Desk


def close_pull(desk: "Desk", given: str | int, by: str, text: str = "", *, person: bool = False) -> Change:
    """A person, or whoever opened it, says that it is over."""
    with desk.working() as worker:
        record = pull_of(desk, given)
        require_open(record)
        head = Writer(desk.sight, record.repository).tip(record.branch) or record.head
        said = with_remark(record, Remark(by, "close", moment(), checked_text("text", text), head, person))
        closed = replace(said, status="closed", head=head)
        return worker.apply(
            tool="pr close", caller=by, summary=f"close pull request {record.id}: {record.title}",
            files=[pull_step(desk, closed)], scope=GitScope(record.repository, pull=record.id),
        )  # fmt: skip
