"""Look after pull requests: what models ask to be merged, what others said of it, and your own word. A merge runs the
checks first and changes all or nothing; `rightcall undo` takes it back."""

import os
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from rightcall.cli import OK, REFUSED
from rightcall.cli.desks import believed_desk
from rightcall.cli.options import json_option
from rightcall.cli.persons import person_option
from rightcall.cli.questions import json_line
from rightcall.cli.store_options import policy_of, store_options
from rightcall.cli.terminal import harmless_lines, say, style_for
from rightcall.errors import ToolFailure
from rightcall.execute.write.exporting import FORGES

if TYPE_CHECKING:
    from rightcall.config import Policy
    from rightcall.execute.write.desk import Desk

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
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    def action(name: str, about: str, *, takes_id: bool = True, acts: bool = False) -> ArgumentParser:
        made = actions.add_parser(
            name, help=about, description=about, formatter_class=parser.formatter_class, allow_abbrev=False
        )
        if takes_id:
            made.add_argument("id", metavar="ID", help="of the pull request, as `list` shows it")
        if acts:
            person_option(made)
        return made

    lists = action("list", "the pull requests that are open", takes_id=False)
    lists.add_argument("--all", action="store_true", help="also those that were merged or closed")
    json_option(lists, "the pull requests in short")
    json_option(action("show", "one of them: commits, reviews, checks, discussion"), "the pull request")
    action("diff", "what it changes; piped, the exact patch")
    action("comment", "say something", acts=True).add_argument("text", metavar="TEXT", help="what you have to say")
    approve = action("approve", "approve it as it is now", acts=True)
    reject = action("reject", "reject it as it is now", acts=True)
    reject.add_argument("text", metavar="TEXT", help="why")
    close = action("close", "close it: it is not going to be merged", acts=True)
    close.add_argument("text", nargs="?", default="", metavar="TEXT", help="why")
    merge = action("merge", "run its checks, and merge it if they pass", acts=True)
    merge.add_argument("--approve", action="store_true", help="approve it as well, as it is shown")
    approve.add_argument("text", nargs="?", default="", metavar="TEXT", help="what you have to say")
    approve.add_argument("--commit", metavar="HEX", help="only if the branch is at this commit: the one you looked at")
    for one in (approve, merge):
        one.add_argument("--yes", action="store_true", help="do not show it and ask at a terminal")
    json_option(merge, "what was merged")
    export = action("export", "write what a forge's own command line takes, and print that command line")
    export.add_argument("--to", choices=FORGES, default=FORGES[0], help="which forge (default: %(default)s)")
    export.add_argument("--out", metavar="DIR", help="a new folder for its files (default: pull-request-ID, here)")
    for one in actions.choices.values():
        store_options(one)


def run(options: Namespace) -> int:
    desk, policy = believed_desk(options), policy_of(options)
    try:
        if options.action in ("comment", "approve", "reject", "close", "merge"):
            from rightcall.cli.pr_acting import act

            return act(desk, policy, options)
        return _LOOKS[options.action](desk, policy, options)
    except ToolFailure as error:
        sys.stderr.write("rightcall: " + "\n".join(harmless_lines(str(error), most=120)) + "\n")
        return REFUSED


def _list(desk: "Desk", _policy: "Policy", options: Namespace) -> int:
    from rightcall.cli.pr_report import listing, summary
    from rightcall.execute.write.pulls import PULLS, all_pulls, damaged_pulls

    found = [one for one in all_pulls(desk) if options.all or one.status == "open"]
    damaged = damaged_pulls(desk)
    if options.json:
        say(json_line({"pulls": [summary(one) for one in found], "damaged": damaged}))
        return OK
    if found:
        say(*listing(found, style_for(sys.stdout)))
    else:
        say("No pull request was ever opened." if options.all else "No pull request is open.")
    if damaged:
        records = os.path.join(desk.folder, PULLS)
        say(f"Not listed, since their records in {harmless_lines(records)[0]} are damaged: {', '.join(damaged)}")
    return OK


def _show(desk: "Desk", policy: "Policy", options: Namespace) -> int:
    from rightcall.cli.pr_report import story, whole
    from rightcall.cli.pr_view import view_of
    from rightcall.execute.write.pulls import pull_of

    view = view_of(desk, pull_of(desk, options.id))
    if options.json:
        say(json_line(whole(view, policy.write.reviews)))
    else:
        say(*story(view, policy.write, style_for(sys.stdout)))
    return OK


def _diff(desk: "Desk", _policy: "Policy", options: Namespace) -> int:
    from rightcall.cli.pr_report import diff_lines
    from rightcall.execute.write.exporting import span_of
    from rightcall.execute.write.pulls import pull_of
    from rightcall.execute.write.pulls_git import exact_diff, shown_diff

    span = span_of(desk, pull_of(desk, options.id))
    if sys.stdout.isatty():
        say(*diff_lines(shown_diff(span.writer, span.old, span.new, _MOST_DIFF), style_for(sys.stdout)))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(exact_diff(span.writer, span.old, span.new))
    return OK


def _export(desk: "Desk", _policy: "Policy", options: Namespace) -> int:
    from rightcall.execute.write.exporting import export
    from rightcall.execute.write.pulls import pull_of

    record = pull_of(desk, options.id)
    folder = options.out or f"pull-request-{record.id}"
    say(*export(desk, record, options.to, folder))
    sys.stderr.write(f"rightcall: its files are in {harmless_lines(folder)[0]}; nothing was sent\n")
    return OK


_LOOKS = {"list": _list, "show": _show, "diff": _diff, "export": _export}
