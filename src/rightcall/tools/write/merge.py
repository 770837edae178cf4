"""`code/merge`: an approved pull request becomes a part of its base, once its checks pass.

    rules ─▶ merged tree, in the object store ─▶ checks, in the sandbox ─▶ rules again, under the lock ─▶ ONE change
                                                      │ red
                                                      └─▶ nothing of it; the record says why

The one change is the base branch, the person's checkout where it shows that branch, and the record. Whatever fails on
the way leaves all of it as it was.
"""

import fcntl
import os
import re
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from errno import EEXIST
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct
from msgspec.json import encode
from msgspec.structs import replace

from rightcall.base.files.write import closing, make_tree, opened_tree, step
from rightcall.base.text import escaped
from rightcall.errors import ToolFailure
from rightcall.tools.diff import one_line
from rightcall.tools.git.repository import free_lock
from rightcall.tools.process import program
from rightcall.tools.sandbox.conversation import Job, Limits
from rightcall.tools.sandbox.inside.root import remove
from rightcall.tools.write.branches import branch_record, branch_step, tidy
from rightcall.tools.write.changes import Change, FileStep, GitScope, Moved, RefStep
from rightcall.tools.write.checkout import checkout_steps, clean_checkout
from rightcall.tools.write.commit import commit_lines, refuse_frozen
from rightcall.tools.write.edit import DeskWork, digest, refuse_repositories
from rightcall.tools.write.plumbing import author_of
from rightcall.tools.write.pulls import (
    CheckRun,
    PullRecord,
    Remark,
    counts,
    diff_preview,
    moment,
    names,
    pull_of,
    pull_step,
    refuse_untouchable,
    shown_diff,
    with_check,
    with_remark,
)
from rightcall.tools.write.refs import HEADS
from rightcall.tools.write.review import Case, case_of, has_approved, require_approved

if TYPE_CHECKING:
    from rightcall.policy.settings import Check
    from rightcall.tools.sandbox.sandbox import Sandbox
    from rightcall.tools.write.desk import Desk, Worker
    from rightcall.tools.write.plumbing import Writer


# ── checking ──
# The check command of a merge: run in the sandbox, over the merged files in a folder that is thrown away.
#
#     tree ─▶ desk/checks/<name>/files ─▶ sandbox ─▶ exit status and the end of what it printed ─▶ all of it removed
#
# The folder is held by a lock for as long as the check runs; what a killed process leaves is removed by the next one.

_FILES: Final = "files"
_LOCK: Final = "lock"
_NAME: Final = re.compile("[0-9a-f]{16}")
_TAIL: Final = 8_000
"""Bytes that are kept of what a check printed: its end, where test runners say what failed."""
_MOST_OUTPUT: Final = 50_000_000
"""Bytes that it may print at all."""

Command = tuple[str, ...]


class Checker(Struct, frozen=True):
    """What is needed to run checks: the sandbox, made when it is wanted, and folders that can be read inside."""

    sandbox: "Callable[[], Sandbox]"
    visible: tuple[str, ...] = ()


def require_command(check: "Check") -> None:
    if not check.command:
        raise ToolFailure(
            "No check command is set, and nothing is merged unchecked: a person sets it in the policy file, such as "
            '[write.check] command = ["python3", "-m", "pytest", "-q"]'
        )


def run_checks(desk: "Desk", writer: "Writer", tree: str, commit: str, base: str, checker: Checker) -> CheckRun:
    """Run the check command over the files of a tree. Raises ToolFailure where it cannot be run at all."""
    check = desk.settings.check
    require_command(check)
    sandbox = checker.sandbox()
    with _thrown_away(desk, reachable=_is_root() and sandbox.tier() == "landlock") as folder:
        writer.checkout(tree, folder)
        argv, visible = _resolved(check.command, folder, desk.sight.root)
        tail = _Tail()
        job = Job(
            argv=argv,
            place=folder,
            limits=Limits(check.seconds, check.memory, check.processes, check.scratch, _MOST_OUTPUT),
            visible=(*checker.visible, *visible),
            bind=True,
        )
        ended = sandbox.run(job, out=tail.add)
    return CheckRun(
        commit=commit,
        base=base,
        ok=ended.code == 0 and not ended.limits,
        exit=ended.code,
        seconds=round(ended.seconds, 2),
        at=moment(),
        tail=tail.text(),
        limits=tuple(ended.limits),
        tier=ended.tier,
    )


def why_red(run: CheckRun, command: Command) -> str:
    """One sentence on a check that failed."""
    what = " ".join(escaped(word, 60) for word in command[:6])
    if run.limits:
        return f"The check ({what}) came to its limit of {', '.join(run.limits)} after {run.seconds:g} s"
    if run.exit is None:
        return f"The check ({what}) was ended by a signal after {run.seconds:g} s"
    hint = ": the program was not found inside the sandbox ([sandbox] visible names folders)" if run.exit == 127 else ""
    return f"The check ({what}) ended with exit status {run.exit} after {run.seconds:g} s{hint}"


class _Tail:
    """The end of what was printed, both streams in the order in which it came."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._cut = False

    def add(self, _stream: Literal["stdout", "stderr"], block: bytes) -> None:
        self._kept += block[-2 * _TAIL :]
        if len(self._kept) > _TAIL:
            self._cut = True
            del self._kept[:-_TAIL]

    def text(self) -> str:
        text = bytes(self._kept).decode(errors="replace").replace("\0", "\ufffd")
        return ("…" if self._cut else "") + text.rstrip()


def _resolved(command: Command, folder: str, root: str) -> tuple[Command, tuple[str, ...]]:
    """The command by its program's whole path, and what of it must be made visible inside."""
    name, *rest = command
    if "/" in name and not os.path.isabs(name):  # a program of the repository itself
        return (os.path.join(folder, name), *rest), ()
    whole = name if os.path.isabs(name) else _installed(name, root)
    if whole is None:
        raise ToolFailure(
            f"The check command cannot be run: `{escaped(name, 100)}` was not found on the PATH outside the root; "
            "name it by its whole path in [write.check] command"
        )
    return (whole, *rest), _needed(whole)


def _installed(name: str, root: str) -> str | None:
    """On the PATH. A Python that is a script, as those of version managers are, only leads to one: then ours is it."""
    found = program(name, root)
    unusable = found is None or _is_script(found)
    return sys.executable if unusable and name in ("python", "python3") else found


def _is_script(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


def _needed(whole: str) -> tuple[str, ...]:
    """A program elsewhere than in the system's folders: the environment it belongs to if it is one of Python's, else
    the file alone. Never a folder that just happens to hold it, which could be somebody's home."""
    if whole.startswith(("/usr/", "/bin/", "/sbin/", "/lib")):
        return ()
    if prefix := _environment(whole):
        return (prefix,)
    return (whole, os.path.realpath(whole)) if os.path.islink(whole) else (whole,)


def _environment(whole: str) -> str:
    """The virtual environment of Python that a program belongs to; empty: none."""
    prefix = os.path.dirname(os.path.dirname(whole))
    return prefix if os.path.isfile(os.path.join(prefix, "pyvenv.cfg")) else ""


@contextmanager
def _thrown_away(desk: "Desk", *, reachable: bool) -> Generator[str]:
    """An empty folder for the files; gone afterwards, with whatever was made in it. `reachable`: somebody else than we
    works in it under its own path, and must be able to get there: a desk is for nobody else to enter."""
    above = os.path.join(desk.folder, "checks")
    try:
        make_tree(above)
        _sweep(above)
        own, lock = _own(above)
    except OSError as error:
        raise _no_room(error) from error
    try:
        folder = _elsewhere(own) if reachable else os.path.join(own, _FILES)
        try:
            if not make_tree(folder):
                raise OSError(EEXIST, "")
        except OSError as error:
            raise _no_room(error) from error
        yield folder
    finally:
        _remove(own)
        os.close(lock)


def _no_room(error: OSError) -> ToolFailure:
    return ToolFailure(f"Not enough space for the check: {os.strerror(error.errno or 0)}")


def _own(above: str) -> tuple[str, int]:
    """A new folder and its lock, which is ours before anybody else can look for it."""
    name = token_hex(8)
    with _alone(above) as fd:
        os.mkdir(name, 0o700, dir_fd=fd)
        lock = os.open(f"{name}/{_LOCK}", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=fd)
        step("lock made")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise
    return os.path.join(above, name), lock


@contextmanager
def _alone(above: str) -> Generator[int]:
    """The open folder; nobody else makes one in here meanwhile, or looks for those that were left."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    with opened_tree(above) as held, closing(os.open(".", flags, dir_fd=held)) as fd:
        with suppress(OSError):  # a file system without such locks
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield fd


def _is_root() -> bool:
    return os.geteuid() == 0


def _elsewhere(own: str) -> str:
    """Where the files are that cannot be on the desk: known by the same name, so that they are found again."""
    return os.path.join(os.path.realpath(tempfile.gettempdir()), f"rightcall-check-{os.path.basename(own)}")


def _remove(own: str) -> None:
    if _NAME.fullmatch(os.path.basename(own)):
        with suppress(OSError):
            remove(_elsewhere(own))
    with suppress(OSError):
        remove(os.path.join(own, _FILES))
    with suppress(OSError), _alone(os.path.dirname(own)):
        remove(own)


def _sweep(above: str) -> None:
    """Remove what killed processes have left: folders whose lock nobody holds, or that have none."""
    with _alone(above):
        paths = [os.path.join(above, name) for name in os.listdir(above)]
        found = [(path, free_lock(os.path.join(path, _LOCK))) for path in paths]
    for path, lock in found:
        if lock is not None:
            _remove(path)
            if lock >= 0:
                os.close(lock)


NAME: Final = "code/merge"
_TRIES: Final = 2
"""Whoever moves the base while the checks run makes them run again, once."""
_LONGEST_WHY: Final = 4_000


class MergeArguments(Struct, frozen=True, kw_only=True):
    id: str | int
    caller: str = ""
    expected: str | None = None


class Merge(Struct, frozen=True, rename="camel", kw_only=True):
    success: bool = True
    id: str
    title: str
    branch: str
    base: str
    commit: str
    approved_by: tuple[str, ...]
    checks: str
    check_seconds: float
    sandbox: str
    files_changed: int
    insertions: int
    deletions: int
    checkout: bool
    """Whether the files of the person's own checkout were changed."""
    status: str = "merged"
    change: str
    undo: str


class MergePlan(Struct, frozen=True):
    """What would be merged, at this moment."""

    case: Case
    tree: str
    check: "Check"

    def state(self) -> str:
        """All that a person is shown, and all that the rules go by: the request with everything said about it, both
        branches, what comes of them, and what is run before."""
        return digest(NAME, self._apart, self.case.head, self.case.tip, self.tree)

    @property
    def difference(self) -> str:
        """The same without where the base is: that may move, as long as the same files change in the same way."""
        return digest(self._apart, self.case.head, self.case.writer.difference(self.case.tip, self.tree))

    @property
    def _apart(self) -> bytes:
        return encode((self.case.record, self.case.now.approved, self.check))

    def diff(self, most: int) -> str:
        return shown_diff(self.case.writer, self.case.tip, self.tree, most)

    def shown(self) -> str:
        record = self.case.record
        return diff_preview(
            [
                f"Would merge pull request {record.id}: {one_line(record.branch)} into {one_line(record.base)}",
                f"title: {one_line(record.title)}",
                f"by: {one_line(record.author)}",
                f"approved by: {', '.join(map(one_line, self.case.now.approved)) or 'nobody yet'}",
                f"after this has succeeded: {' '.join(map(one_line, self.check.command))}",
                *commit_lines(self.case.commits),
                "",
            ],
            self.case.writer, self.case.tip, self.tree,
            f"A person can look at all of it (rightcall pr diff {record.id}) and merge it "
            f"(rightcall pr merge {record.id})",
        )  # fmt: skip


def merge_plan(desk: "Desk", given: str | int, *, approving: str | None = None) -> MergePlan:
    """All that must hold before the checks are run; ToolFailure says what does not. `approving` is a person who is
    about to approve it as it is."""
    case = case_of(desk, given)
    record = case.record
    refuse_frozen(desk, record.base)
    if not case.commits:
        raise ToolFailure(f"Pull request {record.id} has no commit that {escaped(record.base, 200)} lacks")
    needed = desk.settings.reviews - (0 if approving is None or has_approved(case.now, approving) else 1)
    require_approved(record, case.now, case.head, needed)
    require_command(desk.settings.check)
    merged = case.writer.merged(case.tip, case.head)
    if merged.conflicts:
        raise ToolFailure(
            f"{escaped(record.branch, 200)} and {escaped(record.base, 200)} have both changed the same lines of "
            f"{names(merged.conflicts)}: nothing was merged. Bring the branch up to date first"
        )
    changed = case.writer.changed(case.tip, merged.tree)
    refuse_untouchable([path for path, _ in changed], case.writer, desk.sight, desk.settings)
    refuse_repositories(case.writer, merged.tree, [path for path, kind in changed if kind != "D"])
    clean_checkout(case.writer, record.base, case.tip, merged.tree)
    return MergePlan(case, merged.tree, desk.settings.check)


def approved_plan(desk: "Desk", shown: MergePlan, by: str) -> MergePlan:
    """The plan once `by` has approved what was shown: nothing else may have been said or changed since."""
    now = merge_plan(desk, shown.case.record.id)
    own = [one for one in now.case.record.discussion if one not in shown.case.record.discussion]
    rest = tuple(one for one in now.case.record.discussion if one not in own)
    before = replace(shown, case=replace(shown.case, now=now.case.now))
    after = replace(now, case=replace(now.case, record=replace(now.case.record, discussion=rest)))
    if [(one.by, one.kind) for one in own] != [(by, "approve")] or before.state() != after.state():
        raise _moved(now)
    return now


def merge_work(checker: Checker) -> DeskWork:
    """`code/merge`."""
    return DeskWork(MergeArguments, lambda desk, asked: merge_plan(desk, asked.id), partial(merge, checker=checker))


def merge(desk: "Desk", asked: MergeArguments, checker: Checker, *, person: bool = False) -> Merge:
    """Do it. Takes as long as the checks do."""
    plan = merge_plan(desk, asked.id)
    if asked.expected not in (None, plan.state()):
        raise _moved(plan)
    shown = plan.difference
    for left in reversed(range(_TRIES)):
        run = _checked(desk, plan, checker, asked.caller, person)
        try:
            return _finished(desk, plan, run, asked.caller, person)
        except _BaseMoved:
            plan = merge_plan(desk, asked.id)
            if plan.difference != shown:
                raise _moved(plan) from None
            if not left:
                break
    raise ToolFailure(
        f"{escaped(plan.case.record.base, 200)} moved again while the checks ran; nothing was merged. Try again when "
        "nobody else is merging"
    )


class _BaseMoved(Exception):
    """While the checks ran, somebody else has changed the branch that is merged into."""


def _checked(desk: "Desk", plan: MergePlan, checker: Checker, by: str, person: bool) -> CheckRun:
    """A green run, or ToolFailure with the reason, which the record then holds as well."""
    case = plan.case
    try:
        run = run_checks(desk, case.writer, plan.tree, case.head, case.tip, checker)
    except ToolFailure as why:
        text = f"The checks could not be run: {why}"
        _note(desk, case.record.id, Remark(by, "check", moment(), text[:_LONGEST_WHY], case.head, person))
        raise
    if run.ok:
        return run
    why = why_red(run, desk.settings.check.command)
    _note(desk, case.record.id, Remark(by, "check", moment(), why, case.head, person), run)
    tail = "\n".join(escaped(line, 500) for line in run.tail.split("\n")[-60:])
    raise ToolFailure(
        f"{why}. Nothing was merged: {escaped(case.record.base, 200)} is as it was, and pull request "
        f"{case.record.id} stays open. The end of what it printed:\n{tail}"
    )


def _finished(desk: "Desk", plan: MergePlan, run: CheckRun, by: str, person: bool) -> Merge:
    """The rules once more, now that nobody else can write, and then all at once."""
    record = plan.case.record
    try:
        with desk.working() as worker:
            now = merge_plan(desk, record.id)
            if now.case.head != plan.case.head:
                raise Moved(
                    f"{escaped(record.branch, 200)} has got further commits while the checks ran: nothing was merged, "
                    "they have to be reviewed first"
                )
            if now.case.tip != plan.case.tip:
                raise _BaseMoved
            if now.state() != plan.state():
                raise Moved(
                    f"Something was said about pull request {record.id} while the checks ran: nothing was merged. Look "
                    f"at it (rightcall pr show {record.id}) and merge it again"
                )
            change, commit, steps = _applied(worker, now, run, by, person)
            with suppress(ToolFailure, OSError):  # it is merged; what is left of the worktree is tidied another time
                tidy(desk, now.case.writer)
    except ToolFailure as why:
        text = f"Merging failed after the checks had passed, and was rolled back: {why}"
        _note(desk, record.id, Remark(by, "merge", moment(), text[:_LONGEST_WHY], plan.case.head, person), run)
        raise
    told = counts(now.case.writer, now.case.tip, commit)
    return Merge(
        id=record.id, title=record.title, branch=record.branch, base=record.base, commit=commit,
        approved_by=now.case.now.approved, checks="passed", check_seconds=run.seconds, sandbox=run.tier,
        files_changed=told.files, insertions=told.insertions, deletions=told.deletions, checkout=bool(steps),
        change=change.id, undo=f"rightcall undo {change.id}",
    )  # fmt: skip


def _applied(
    worker: "Worker", plan: MergePlan, run: CheckRun, by: str, person: bool
) -> tuple[Change, str, tuple[FileStep, ...]]:
    desk, case = worker.desk, plan.case
    record = case.record
    message = _message(case)
    commit = case.writer.commit_tree(plan.tree, (case.tip, case.head), message, author_of(by))
    steps = checkout_steps(case.writer, clean_checkout(case.writer, record.base, case.tip, commit))
    said = Remark(by, "merge", moment(), f"merged into {record.base} as {commit[:10]}", case.head, person)
    merged = replace(
        with_check(with_remark(record, said), run), status="merged", merge=commit, before=case.tip, head=case.head
    )
    branch = branch_record(desk, record.branch)
    documents = [pull_step(desk, merged)]
    if branch is not None:
        documents.append(branch_step(desk, replace(branch, merged=commit)))
    change = worker.apply(
        tool=NAME, caller=by, summary=f"merge pull request {record.id}: {record.title}",
        files=[*steps, *documents], refs=[RefStep(HEADS + record.base, case.tip, commit)],
        scope=GitScope(record.repository, record.base, record.id),
    )  # fmt: skip
    return change, commit, steps


def _message(case: Case) -> str:
    record = case.record
    reviewers = [f"Reviewed-by: {author_of(name)[0]} <{author_of(name)[1]}>" for name in case.now.approved]
    return "\n".join([f"Merge pull request #{record.id} from {record.branch}", "", record.title, "", *reviewers])


def _note(desk: "Desk", id: str, remark: Remark, run: CheckRun | None = None) -> None:
    """Tell it in the record. What there is to say reaches the caller in any case: a desk that cannot be written to is
    no reason to hide it."""
    with suppress(ToolFailure, OSError), desk.working() as worker:
        record: PullRecord = pull_of(desk, id)
        if record.status != "open":
            return
        told = with_remark(record, remark)
        told = told if run is None else with_check(told, run)
        worker.apply(
            tool=NAME, caller=remark.by, summary=f"pull request {id} was not merged",
            files=[pull_step(desk, told)], scope=GitScope(record.repository, pull=id),
        )  # fmt: skip


def _moved(plan: MergePlan) -> Moved:
    record = plan.case.record
    return Moved(
        f"Pull request {record.id} would not merge what was reviewed: {escaped(record.branch, 200)}, "
        f"{escaped(record.base, 200)}, what was said about it or the check command has changed since. Nothing was "
        "merged. Now it would be:",
        plan.diff(20_000),
    )
