"""The refs of a change: set all at once, and put back where nobody has moved them since."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rightcall.errors import ToolFailure
from rightcall.execute.write.changes import RefStep
from rightcall.fs.sight import Sight
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.execute.write.git import Writer

_HEADS = "refs/heads/"


class Refs:
    """Those of one repository below the root. `lock` is held until git has ended, also when we are killed."""

    def __init__(self, sight: Sight, repository: str, lock: int, by: str) -> None:
        self._sight = sight
        self._repository = repository
        self._lock = lock
        self._by = by

    def set(self, steps: Sequence[RefStep]) -> None:
        """All or none. Raises Moved or ToolFailure."""
        if steps:
            self._writer().set_refs(steps, holding=[self._lock], by=self._by)

    def now(self, steps: Sequence[RefStep]) -> list[str | None]:
        """Where each of them is."""
        if not steps:
            return []
        writer = self._writer()
        return [writer.tip(one.name.removeprefix(_HEADS)) for one in steps]

    def back(self, steps: Sequence[RefStep]) -> tuple[list[str], bool]:
        """Put back those that are where they were set to. Returns what to say of the others, and whether one of them
        was set and has been built on since."""
        if not steps or not os.path.isdir(os.path.join(self._sight.root, self._repository)):
            return [], False
        now = self.now(steps)
        ours = [one for one, at in zip(steps, now, strict=True) if at == one.after and at != one.before]
        moved = [(one, at) for one, at in zip(steps, now, strict=True) if at not in (one.before, one.after)]
        if any(self._built_on(one, at) for one, at in moved):
            return [f"{_name(one)} has been built on since; the change stays" for one, _ in moved], True
        self.set([RefStep(one.name, one.after, one.before) for one in ours])
        return [f"{_name(one)} was moved by somebody else; it was left so" for one, _ in moved], False

    def _built_on(self, step: RefStep, at: str | None) -> bool:
        if at is None or step.after is None:
            return False
        try:
            return self._writer().is_ancestor(step.after, at)
        except ToolFailure:  # one of them is not here
            return False

    def _writer(self) -> "Writer":
        from rightcall.execute.write.git import Writer  # late: a file is saved without it

        return Writer(self._sight, self._repository)


def _name(step: RefStep) -> str:
    return f"the branch {escaped(step.name.removeprefix(_HEADS), 200)}"
