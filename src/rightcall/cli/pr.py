"""List, show, review, merge and export the pull requests that models opened. A merge runs the checks first and changes
all or nothing; `rightcall undo` takes it back."""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

from msgspec import to_builtins

from rightcall.base.files.rules import path_rules
from rightcall.base.files.sight import Sight
from rightcall.base.text import escaped, leaves_out
from rightcall.cli import OK, REFUSED
from rightcall.cli.code_report import diff_lines, listing, story, summary, whole
from rightcall.cli.options import (
    SHARED,
    database_of,
    follow_up,
    given_text,
    json_option,
    open_store,
    places,
    pointed,
    policy_of,
    policy_path,
    store_options,
    subcommands,
    whole_number,
)
from rightcall.cli.persons import (
    agrees,
    at_a_terminal,
    person_option,
    render_name,
    spell_out,
    spelled_lines,
    who,
)
from rightcall.cli.terminal import Style, harmless_lines, many, say, say_json, style_for, table, tell, wrap
from rightcall.errors import ConfigError, ToolFailure
from rightcall.policy.settings import Policy
from rightcall.policy.watch import place_policy
from rightcall.record.admission import require_person
from rightcall.record.notes import note_change
from rightcall.record.premises import desk_folder, existing_folder, guarded_paths
from rightcall.tools.sandbox.sandbox import Sandbox
from rightcall.tools.write import acts
from rightcall.tools.write.apply import preview, why_not
from rightcall.tools.write.changes import Change, Filed
from rightcall.tools.write.desk import Desk, adopt, distrust
from rightcall.tools.write.merge import (
    Checker,
    Merge,
    MergePlan,
    merge_plan,
)
from rightcall.tools.write.pulls import (
    PULLS,
    Decision,
    PullRecord,
    all_pulls,
    damaged_pulls,
    diff_preview,
    exact_diff,
    pull_of,
    shown_diff,
)
from rightcall.tools.write.review import (
    FORGES,
    case_of,
    export,
    refuse_second,
    require_other,
    span_of,
    view_pull,
)

# ── notes ──
# Who acts on a pull request, and the record that a person's own act leaves in the audit.


def person_of(options: Namespace, policy: "Policy", author: str) -> str:
    """Who acts; AnswerError where that is, or looks like, a caller of tools."""
    name = who(options)
    require_person(name, author, tuple(policy.settings.callers))
    return name


def record_first(options: Namespace, what: str, by: str, data: dict[str, Any]) -> None:
    """Written before anything is done: where nothing can be recorded, nothing happens."""
    with closing(open_store(options, create=True)) as store:
        store.transact(lambda tables: note_change(tables, what, by, data))


def _actor(options: Namespace, by: str) -> acts.Actor:
    return acts.Actor(by, lambda what, data: record_first(options, what, by, data))


# ── actions ──
# What a person does to a pull request. Stage and dry run are for callers of tools; a person's own act is recorded.

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
    done = acts.say(desk, _actor(options, by), record, decision, options.text, at)
    told = {"comment": "Comment added", "approve": "It is approved", "reject": "It is rejected"}[decision]
    approvals = f"{many(done.approvals, 'approval')} of {done.needed}"
    back = f"{done.undo}{places(options)}"
    said = f"{told} at commit {done.commit[:_SHORT]}; it has {approvals}. To take that back: {back}"
    tell(options, to_builtins(done), lambda _: [said], guarded=True)
    return OK


def _approve(desk: "Desk", options: Namespace, record: PullRecord, by: str) -> int:
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
        _require_terminal("pass `--commit HEX`, the commit you reviewed, or `--yes`")
        look = f"`{follow_up(f'pr diff {record.id}', options)}`"
        instead = f"{look} shows all of it; then approve it with --commit {case.head[:_SHORT]}"
        _show_acting(diff_preview((), case.writer, case.fork, case.head, instead), instead)
        if not agrees(f"approve pull request {record.id} at {case.head[:_SHORT]}? [y/N] ", "It is not approved."):
            return REFUSED
    return _say(desk, options, record, by, "approve", case.head)


def _close(desk: "Desk", options: Namespace, record: PullRecord, by: str) -> int:
    change = acts.close(desk, _actor(options, by), record, options.text)
    back = f"rightcall undo {change.id}{places(options)}"
    said = f"Pull request {record.id} is closed; its branch stays. To take that back: {back}"
    tell(options, {"closed": record.id, "change": change.id}, lambda _: [said], guarded=True)
    return OK


def _merge(desk: "Desk", policy: "Policy", options: Namespace, by: str) -> int:
    plan = merge_plan(desk, options.id, approving=by if options.approve else None)
    if options.approve:
        require_other(by, plan.case.people, "An approval")
    if not options.yes:
        _require_terminal("review it with `rightcall pr diff`, then pass `--yes`")
        look = f"`{follow_up(f'pr diff {plan.case.record.id}', options)}`"
        instead = f"{look} shows all of it; then merge it with --yes"
        _show_acting(plan.shown(), instead)
        word = "approve and merge" if options.approve else "merge"
        if not agrees(f"{word} pull request {plan.case.record.id}? [y/N] ", "It is not merged."):
            return REFUSED
    return _merge_now(desk, policy, options, by, plan)


def _merge_now(desk: "Desk", policy: "Policy", options: Namespace, by: str, plan: "MergePlan") -> int:
    command = " ".join(harmless_lines(word)[0] for word in policy.write.check.command)
    sandbox = Sandbox(policy.sandbox.python, policy.sandbox.tier)
    try:
        sys.stderr.write(f"rightcall: running the checks: {command}\n")
        checker = Checker(lambda: sandbox, policy.sandbox.visible)
        done = acts.merge_shown(desk, _actor(options, by), plan, checker, approve=options.approve)
    except KeyboardInterrupt:
        _interrupted(desk, options, by, acts.merge_data(plan))
        raise
    finally:
        sandbox.close()
    tell(options, to_builtins(done), lambda _: [_describe_merge(done) + places(options)], guarded=True)
    return OK


def _interrupted(desk: "Desk", options: Namespace, by: str, data: dict[str, Any]) -> None:
    """Say what became of a merge that somebody has stopped."""
    with suppress(ToolFailure), desk.working():
        pass  # whatever was half done has been rolled back now
    record = pull_of(desk, options.id)
    if record.status == "merged":
        record_first(options, "pr merged", by, data | {"merge": record.merge})
        sys.stderr.write(f"rightcall: interrupted, after it was merged as {record.merge[:_SHORT]}\n")
        return
    record_first(options, "pr not merged", by, data)
    shown = follow_up(f"pr show {record.id}", options)
    approved = f"; your approval is kept (see `{shown}`)" if options.approve else ""
    sys.stderr.write(f"rightcall: interrupted: nothing was merged, pull request {record.id} is open{approved}\n")


def _describe_merge(done: "Merge") -> str:
    counted = f"{many(done.files_changed, 'file')}, +{done.insertions} -{done.deletions}"
    where = "; your checkout shows it" if done.checkout else ""
    return (
        f"Pull request {done.id} is merged into {spell_out(done.base)} as {done.commit[:_SHORT]} ({counted}){where}. "
        f"The checks passed in {done.check_seconds:g} s. To take it back: {done.undo}"
    )


def _show_acting(preview: str, instead: str) -> None:
    """Show what is asked about; what cannot be shown whole is not asked about."""
    say(*diff_lines(preview, style_for(sys.stdout)))
    if leaves_out(preview):
        raise ToolFailure(f"It cannot be shown whole here, so you are not asked: {instead}")


def _require_terminal(instead: str) -> None:
    if not at_a_terminal():
        raise ConfigError(f"cannot prompt without a terminal; {instead}")


# ── desks ──
# The desk that a command works at: that of the root, beside the audit that its options name.


def desk_of(options: Namespace) -> "Desk":
    """Where changes are kept. Nothing is made by asking for it."""
    policy, database, root = policy_of(options), database_of(options), existing_folder(options.root)
    policy = place_policy(policy, policy_path(options), root)
    paths = policy.settings.paths
    denied = (*paths.deny, *guarded_paths(root, policy_path(options), database))
    return Desk(desk_folder(database, root), Sight(root, path_rules(denied, paths.allow, paths.dotfiles)), policy.write)


def believed_desk(options: Namespace) -> "Desk":
    """The same, for whoever tells what is on it. ConfigError where one is there and cannot be read or believed: it must
    not look like one on which nothing has happened."""
    desk = desk_of(options)
    if why := distrust(desk.folder):
        raise ConfigError(why)
    return desk


_MOST_DIFF = 64 << 20
EXAMPLES = """\
examples:
  rightcall pr list
  rightcall pr show 7
  rightcall pr diff 7 | less
  rightcall pr comment 7 "does this hold for an empty file?"
  rightcall pr reject 7 "the clock is still not set"
  rightcall pr merge 7 --approve
  rightcall pr export 7 --to github --out request-7

exit code 1: it was not done; standard error says why.
"""


def arguments(parser: ArgumentParser) -> None:
    make, every = subcommands(parser)

    def action(name: str, about: str, *, takes_id: bool = True, acts: bool = False) -> ArgumentParser:
        made = make(name, about)
        if takes_id:
            made.add_argument("id", metavar="ID", help="ID of the pull request, from `list`")
        if acts:
            person_option(made)
        return made

    lists = action("list", "List the open pull requests", takes_id=False)
    lists.add_argument("--all", action="store_true", help="Also show merged and closed ones")
    json_option(lists)
    json_option(action("show", "Show one pull request: commits, reviews, checks, discussion"))
    json_option(action("diff", "Show the changes; piped, the exact patch"))
    action("comment", "Add a comment", acts=True).add_argument(
        "text", type=given_text, metavar="TEXT", help="Comment; @FILE reads a file, - standard input"
    )
    approve = action("approve", "Approve the pull request as it is now", acts=True)
    reject = action("reject", "Reject the pull request as it is now", acts=True)
    reject.add_argument("text", type=given_text, metavar="TEXT", help="Reason; @FILE reads a file, - standard input")
    close = action("close", "Close the pull request without merging it", acts=True)
    merge = action("merge", "Run the checks, and merge the pull request if they pass", acts=True)
    merge.add_argument("--approve", action="store_true", help="Also approve it, as shown")
    for one, what in ((close, "Reason"), (approve, "Comment")):
        one.add_argument(
            "text",
            nargs="?",
            type=given_text,
            default="",
            metavar="TEXT",
            help=f"{what}; @FILE reads a file, - standard input",
        )
    approve.add_argument("--commit", metavar="HEX", help="Approve only if the branch is at this commit")
    for one in (approve, merge):
        one.add_argument("--yes", action="store_true", help="Do not ask for confirmation")
    for name in ("comment", "approve", "reject", "close", "merge"):
        json_option(every[name])
    export = action("export", "Write files for a forge's command line, and print the command")
    json_option(export)
    export.add_argument("--to", choices=FORGES, default=FORGES[0], help="Export for this forge (default: %(default)s)")
    export.add_argument("--out", metavar="DIR", help="Write into this new folder (default: pull-request-ID)")
    for one in every.values():
        store_options(one)


def run(options: Namespace) -> int:
    desk, policy = believed_desk(options), policy_of(options)
    try:
        if options.action in ("comment", "approve", "reject", "close", "merge"):
            return act(desk, policy, options)
        return _LOOKS[options.action](desk, policy, options)
    except ToolFailure as error:
        sys.stderr.write("rightcall: " + "\n".join(harmless_lines(str(error), most=120)) + "\n")
        return REFUSED


def _list(desk: "Desk", _policy: "Policy", options: Namespace) -> int:
    found = [one for one in all_pulls(desk) if options.all or one.status == "open"]
    damaged = damaged_pulls(desk)

    def lines(style: Style) -> Iterator[str]:
        nothing = ["No pull request was ever opened." if options.all else "No pull request is open."]
        yield from listing(found, style) if found else nothing
        if damaged:
            records = harmless_lines(os.path.join(desk.folder, PULLS))[0]
            yield f"Not listed, since their records in {records} are damaged: {', '.join(damaged)}"

    tell(options, {"pulls": [summary(one) for one in found], "damaged": damaged}, lines, guarded=True)
    return OK


def _show(desk: "Desk", policy: "Policy", options: Namespace) -> int:
    view = view_pull(desk, pull_of(desk, options.id))
    tell(
        options,
        whole(view, policy.write.reviews),
        lambda style: story(view, policy.write, style, places(options)),
        guarded=True,
    )
    return OK


def _diff(desk: "Desk", _policy: "Policy", options: Namespace) -> int:
    span = span_of(desk, pull_of(desk, options.id))
    if options.json:
        patch = exact_diff(span.writer, span.old, span.new).decode("utf-8", "backslashreplace")
        say_json({"id": options.id, "old": span.old, "new": span.new, "diff": patch}, guarded=True)
    elif sys.stdout.isatty():
        say(*diff_lines(shown_diff(span.writer, span.old, span.new, _MOST_DIFF), style_for(sys.stdout)))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(exact_diff(span.writer, span.old, span.new))
    return OK


def _export(desk: "Desk", _policy: "Policy", options: Namespace) -> int:
    record = pull_of(desk, options.id)
    folder = options.out or f"pull-request-{record.id}"
    lines = export(desk, record, options.to, folder)
    tell(options, {"id": record.id, "to": options.to, "folder": folder, "commands": lines}, lambda _: lines)
    sys.stderr.write(f"rightcall: its files are in {harmless_lines(folder)[0]}; nothing was sent\n")
    return OK


_LOOKS = {"list": _list, "show": _show, "diff": _diff, "export": _export}


HELP_UNDO = """\
Undo a change that a tool made, while nothing newer depends on it. Without ID, list the last changes."""

EXAMPLES_UNDO = """\
examples:
  rightcall undo
  rightcall undo c-7f3a9b2e
  rightcall undo c-7f3a9b2e --yes --json
"""

_MOST = 20


def arguments_undo(parser: ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", metavar="ID", help="ID of the change, from the list or a tool")
    parser.add_argument("--yes", action="store_true", help=SHARED["--yes"])
    parser.add_argument(
        "-n",
        "--limit",
        type=whole_number("changes", 1),
        default=_MOST,
        metavar="N",
        help=f"List at most N changes (default: {_MOST})",
    )
    parser.add_argument(
        "--adopt", action="store_true", help="Trust a journal that was copied here; undo writes what it holds"
    )
    json_option(parser)
    person_option(parser)
    store_options(parser)


def run_undo(options: Namespace) -> int:
    if options.adopt:
        return _adopt(desk_of(options), options)
    desk = believed_desk(options)
    if options.id is None:
        return _list_undo(desk, options)
    return _undo(desk, options)


def _adopt(desk: "Desk", options: Namespace) -> int:
    if not os.path.isdir(desk.folder) or os.path.islink(desk.folder):
        unread = "" if os.path.lexists(desk.folder) else distrust(desk.folder)
        raise ConfigError(unread or f"no journal at {desk.folder}")
    _note(options, "desk adopted", {"folder": desk.folder})
    adopt(desk.folder)
    say(f"{desk.folder} is believed from now on.")
    return OK


def _list_undo(desk: "Desk", options: Namespace) -> int:
    found = [(one, why_not(desk, desk.filed(one.id))) for one in desk.changes(options.limit)]
    damaged = desk.damaged()

    def lines(style: Style) -> Iterator[str]:
        if found:
            yield from _listing(found, style)
            more = pointed("Run `rightcall undo ID` to see what it would change", options)
            yield f"{more}; it asks before it changes anything."
        elif not damaged:
            yield "Nothing was changed yet."
        if damaged:
            yield "Interrupted, damaged and not taken back; what is left of each:"
            yield from (f"  {spell_out(one)}" for one in damaged)

    record = {"changes": [_record(change, why) for change, why in found], "damaged": damaged}
    tell(options, record, lines, guarded=True)
    return OK


def _record(change: "Change", why: str) -> dict[str, Any]:
    return {
        "id": change.id, "at": change.at, "by": change.caller, "tool": change.tool, "summary": change.summary,
        "files": [one.path for one in change.files], "branches": [one.name for one in change.refs],
        "undoes": change.undoes, "undone": change.undone, "canUndo": not why, "why": why,
    }  # fmt: skip


def _listing(found: list[tuple["Change", str]], style: Style) -> list[str]:
    rows = [
        [one.id, one.at.replace("T", " ").rstrip("Z"), render_name(one.caller), spell_out(one.summary, 60),
         "yes" if not why else "undone" if one.undone else "no"]
        for one, why in found
    ]  # fmt: skip
    lines = table(["id", "when (UTC)", "by", "what", "can be undone"], rows, style, left=5)
    reasons = [f"{one.id}: {why}" for one, why in found if why and not one.undone]
    lines += [piece for reason in reasons for piece in wrap(spell_out(reason), style.width)]
    return lines


def _undo(desk: "Desk", options: Namespace) -> int:
    filed = desk.filed(options.id)
    why = why_not(desk, filed)
    if why:
        return _say_refusal(options, why)
    if not options.yes and not _ask_to_merge(options, filed, preview(desk, filed)):
        return REFUSED
    shown = preview(desk, filed) if options.json else ""
    by = person_of(options, policy_of(options), "")
    try:
        done = acts.undo_change(desk, _actor(options, by), options.id)
    except ToolFailure:
        if why := why_not(desk, desk.filed(options.id)):
            return _say_refusal(options, why)
        raise
    record = {"ok": True, "undone": options.id, "change": done.change.id, "diff": shown}
    said = [
        *done.notes,
        pointed(f"{options.id} is undone. To redo it, run `rightcall undo {done.change.id}`.", options),
    ]
    tell(options, record, lambda _: said, guarded=True)
    return OK


def _say_refusal(options: Namespace, why: str) -> int:
    said = f"{spell_out(options.id)} cannot be undone: {spell_out(why)}."
    tell(options, {"ok": False, "undone": None, "why": why}, lambda _: [said], guarded=True)
    return REFUSED


def _ask_to_merge(options: Namespace, filed: "Filed", diff: str) -> bool:
    entry = filed.entry
    if options.json or not at_a_terminal():
        raise ConfigError(f"cannot prompt without a terminal; pass `--yes` to undo {options.id}")
    say(
        f"{entry.id}, {entry.at}, {render_name(entry.caller)}: {spell_out(entry.summary, 200)}",
        "This would be changed:",
        "",
    )
    say(*spelled_lines(diff), "")
    return agrees("undo it? [y/N] ", "Nothing was changed.")


def _note(options: Namespace, what: str, about: dict[str, Any]) -> str:
    """Note in the audit what a person does; returns who."""
    by = person_of(options, policy_of(options), "")
    record_first(options, what, by, about)
    return by
