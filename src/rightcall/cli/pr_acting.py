"""What a person does to a pull request. Stage and dry run are for callers of tools; a person's own act is recorded."""

import sys
from argparse import Namespace
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from rightcall.cli import OK, REFUSED
from rightcall.cli.answering import YES
from rightcall.cli.persons import at_a_terminal, typed
from rightcall.cli.pr_noting import noted, person_of
from rightcall.cli.pr_report import diff_lines
from rightcall.cli.questions import json_line
from rightcall.cli.spelling import spelled
from rightcall.cli.terminal import harmless_lines, many, say, style_for
from rightcall.errors import ConfigError, ToolFailure
from rightcall.execute.write.pulls import Decision, PullRecord, pull_of
from rightcall.text.cut import leaves_out
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.config import Policy
    from rightcall.execute.write.desk import Desk
    from rightcall.execute.write.merging import Merge, Plan

_LEAST_COMMIT = 7
_SHORT = 10


def act(desk: "Desk", policy: "Policy", options: Namespace) -> int:
    record = pull_of(desk, options.id)
    by = person_of(options, policy, record.author)
    if options.action == "merge":
        return _merge(desk, policy, options, by)
    if options.action == "close":
        return _close(desk, options, record, by)
    if options.action == "approve":
        return _approve(desk, options, record, by)
    return _say(desk, options, record, by, options.action)


def _say(
    desk: "Desk", options: Namespace, record: PullRecord, by: str, decision: Decision, at: str | None = None
) -> int:
    from rightcall.execute.write.reviewing import ReviewArguments, review

    noted(options, f"pr {decision}", by, {"pull": record.id, "commit": at or "", "branch": record.branch})
    asked = ReviewArguments(id=record.id, decision=decision, comment=options.text, caller=by)
    done = review(desk, asked, person=True, at=at)
    told = {"comment": "Your comment stands", "approve": "It is approved", "reject": "It is rejected"}[decision]
    approvals = f"{many(done.approvals, 'approval')} of {done.needed}"
    say(f"{told} at commit {done.commit[:_SHORT]}; it has {approvals}. To take that back: {done.undo}")
    return OK


def _approve(desk: "Desk", options: Namespace, record: PullRecord, by: str) -> int:
    from rightcall.execute.write.pulls_git import diff_preview
    from rightcall.execute.write.reviewing import case_of
    from rightcall.execute.write.reviewing_rules import refuse_second, require_other

    case = case_of(desk, record.id)
    require_other(by, case.people, "An approval")
    refuse_second(case.record, case.now, case.head, by)
    if options.commit is not None:
        given = options.commit.lower()
        if len(given) < _LEAST_COMMIT or not case.head.startswith(given):
            raise ToolFailure(
                f"{escaped(record.branch, 200)} is at {case.head}, not at {escaped(options.commit, 60)}; "
                f"at least {_LEAST_COMMIT} characters are needed"
            )
    elif not options.yes:
        _require_terminal("approve it with --commit HEX, the commit that you have looked at, or --yes")
        instead = f"`rightcall pr diff {record.id}` shows all of it; then approve it with --commit {case.head[:_SHORT]}"
        _show(diff_preview((), case.writer, case.fork, case.head, instead), instead)
        if typed(f"approve pull request {record.id} at {case.head[:_SHORT]}? [y/N] ") not in YES:
            say("It is not approved.")
            return REFUSED
    return _say(desk, options, record, by, "approve", case.head)


def _close(desk: "Desk", options: Namespace, record: PullRecord, by: str) -> int:
    from rightcall.execute.write.pulls_closing import close_pull

    noted(options, "pr close", by, {"pull": record.id, "branch": record.branch})
    change = close_pull(desk, record.id, by, options.text, person=True)
    say(f"Pull request {record.id} is closed; its branch stays. To take that back: rightcall undo {change.id}")
    return OK


def _merge(desk: "Desk", policy: "Policy", options: Namespace, by: str) -> int:
    from rightcall.execute.write.merging import merge_plan, preview_lines
    from rightcall.execute.write.reviewing_rules import require_other

    plan = merge_plan(desk, options.id, approving=by if options.approve else None)
    if options.approve:
        require_other(by, plan.case.people, "An approval")
    if not options.yes:
        _require_terminal("look at it with `rightcall pr diff`, and merge it with --yes")
        instead = f"`rightcall pr diff {plan.case.record.id}` shows all of it; then merge it with --yes"
        _show(preview_lines(desk, plan), instead)
        word = "approve and merge" if options.approve else "merge"
        if typed(f"{word} pull request {plan.case.record.id}? [y/N] ") not in YES:
            say("It is not merged.")
            return REFUSED
    return _merged(desk, policy, options, by, plan)


def _merged(desk: "Desk", policy: "Policy", options: Namespace, by: str, plan: "Plan") -> int:
    from rightcall.execute.sandbox.sandbox import Sandbox
    from rightcall.execute.write.checking import Checker
    from rightcall.execute.write.merging import MergeArguments, approved_plan, merge
    from rightcall.execute.write.reviewing import ReviewArguments, review
    from rightcall.execute.write.reviewing_rules import has_approved

    record, head = plan.case.record, plan.case.head
    data = {"pull": record.id, "commit": head, "branch": record.branch, "base": record.base}
    noted(options, "pr merge", by, data | {"approve": options.approve})
    if options.approve and not has_approved(plan.case.now, by):
        review(desk, ReviewArguments(id=record.id, decision="approve", caller=by), person=True, at=head)
        plan = approved_plan(desk, plan, by)
    command = " ".join(harmless_lines(word)[0] for word in policy.write.check.command)
    sandbox = Sandbox(policy.sandbox.python, policy.sandbox.tier)
    try:
        sys.stderr.write(f"rightcall: running the checks: {command}\n")
        asked = MergeArguments(id=record.id, caller=by, expected=plan.state)
        done = merge(desk, asked, Checker(lambda: sandbox, policy.sandbox.visible), person=True)
    except ToolFailure:
        noted(options, "pr not merged", by, data)
        raise
    except KeyboardInterrupt:
        _interrupted(desk, options, by, data)
        raise
    finally:
        sandbox.close()
    noted(options, "pr merged", by, data | {"change": done.change, "merge": done.commit})
    say(json_line(to_builtins(done)) if options.json else _describe_merge(done))
    return OK


def _interrupted(desk: "Desk", options: Namespace, by: str, data: dict[str, Any]) -> None:
    """Say what became of a merge that somebody has stopped."""
    with suppress(ToolFailure), desk.working():
        pass  # whatever was half done has been rolled back now
    record = pull_of(desk, options.id)
    if record.status == "merged":
        noted(options, "pr merged", by, data | {"merge": record.merge})
        sys.stderr.write(f"rightcall: interrupted, after it was merged as {record.merge[:_SHORT]}\n")
        return
    noted(options, "pr not merged", by, data)
    approved = f"; your approval stands (rightcall pr show {record.id})" if options.approve else ""
    sys.stderr.write(f"rightcall: interrupted: nothing was merged, pull request {record.id} is open{approved}\n")


def _describe_merge(done: "Merge") -> str:
    counted = f"{many(done.files_changed, 'file')}, +{done.insertions} -{done.deletions}"
    where = "; your checkout shows it" if done.checkout else ""
    return (
        f"Pull request {done.id} is merged into {spelled(done.base)} as {done.commit[:_SHORT]} ({counted}){where}. "
        f"The checks passed in {done.check_seconds:g} s. To take it back: {done.undo}"
    )


def _show(preview: str, instead: str) -> None:
    """Show what is asked about; what cannot be shown whole is not asked about."""
    say(*diff_lines(preview, style_for(sys.stdout)))
    if leaves_out(preview):
        raise ToolFailure(f"It cannot be shown whole here, so you are not asked: {instead}")


def _require_terminal(instead: str) -> None:
    if not at_a_terminal():
        raise ConfigError(f"there is no terminal to show it and ask at: {instead}")
