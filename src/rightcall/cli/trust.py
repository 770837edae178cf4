"""Trust a policy file that was found in a folder: show what it asks for beyond stricter rules, ask, and remember it.

A policy file that you did not name with `--policy` can only make things stricter. What else it asks for (programs to
start, addresses, environment variables, folders, more tools) counts once you trust the file. Trust holds for these
bytes at this path: after a change you are asked again. It is kept in your state folder, never beside the file."""

import os
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from rightcall.cli import OK, REFUSED
from rightcall.cli.lines import InputError
from rightcall.cli.options import json_option
from rightcall.cli.output import is_unicode, json_text
from rightcall.cli.terminal import many, say
from rightcall.door_guarding import POLICY_FILE
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.config_trust import Offer

EXAMPLES = """\
examples:
  rightcall trust
  rightcall trust my-project/rightcall.toml --yes
  rightcall trust --list
  rightcall trust --remove my-project/rightcall.toml

without a terminal nothing is trusted unless you pass --yes; --json shows the file and asks nothing.
"""

_QUESTION = "Trust this file? [y/N] "


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", metavar="FILE", help=f"the policy file (default: {POLICY_FILE} here)")
    parser.add_argument("--yes", action="store_true", help="trust it without asking; what it asks for is still printed")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--list", action="store_true", help="list the files that you trust")
    action.add_argument("--remove", action="store_true", help="no longer trust the file")
    json_option(parser, "the answer")


def run(options: Namespace) -> int:
    if options.list:
        if options.file is not None:
            raise InputError("`--list` shows every trusted file; it takes no FILE")
        return _list(options)
    file = options.file or POLICY_FILE
    if options.remove:
        return _remove(file, options)
    if not os.path.lexists(file):
        here = "there is no policy file here; `rightcall init` writes one" if options.file is None else "no such file"
        raise InputError(here, source=file)
    from rightcall.config_found import refuse_leaving_link
    from rightcall.config_trust import give, offer

    if options.file is None:
        refuse_leaving_link(file)
    offered = offer(file)
    if options.json:
        if options.yes:
            give(offered)
        say(json_text(_record(offered, trusted=options.yes or offered.trusted), ascii_only=not is_unicode(sys.stdout)))
        return OK
    say(*render_offer(offered))
    if offered.trusted:
        say("You trust this file already.")
        return OK
    if not (options.yes or _agreed()):
        say("Nothing was trusted. Until you trust it, the file can only make things stricter.")
        return REFUSED
    give(offered)
    say(f"Trusted: {escaped(os.path.abspath(file))}")
    return OK


def render_offer(offered: "Offer") -> list[str]:
    """All that a file asks for, with nothing left out: values are JSON, so that no line of it can be disguised."""
    lines = [escaped(os.path.abspath(offered.file)), f"  sha256 {offered.digest}"]
    if not offered.requests:
        return [*lines, "  It asks for nothing beyond stricter rules."]
    news = [one for one in offered.requests if offered.is_new(one)]
    changed = f"; {len(news)} new since you trusted it" if offered.known is not None and not offered.trusted else ""
    lines += [f"  It makes {many(len(offered.requests), 'request')} beyond stricter rules{changed}:"]
    for one in offered.requests:
        mark = "+" if offered.is_new(one) else " "
        lines += [f"{mark} line {one.line}: {escaped(one.key)} ({one.meaning})", f"      {escaped(one.value)}"]
    return lines


def _agreed() -> bool:
    from rightcall.cli.answering import YES
    from rightcall.cli.persons import at_a_terminal, typed

    if not at_a_terminal():
        raise InputError("nothing was trusted: cannot prompt without a terminal; pass `--yes`")
    return typed(_QUESTION) in YES


def _record(offered: "Offer", *, trusted: bool) -> dict[str, Any]:
    return {
        "file": os.path.abspath(offered.file),
        "sha256": offered.digest,
        "trusted": trusted,
        "requests": [
            {"key": one.key, "line": one.line, "value": one.value, "meaning": one.meaning, "new": offered.is_new(one)}
            for one in offered.requests
        ],
    }


def _list(options: Namespace) -> int:
    from rightcall.config_trust import state_of
    from rightcall.trust.ledger import listed

    found = [
        {"file": str(one.get("path", "")), "sha256": str(one.get("sha256", "")), "at": str(one.get("at", "")),
         "state": state_of(one)}
        for one in listed("policies")
    ]  # fmt: skip
    if options.json:
        say(json_text({"files": found}, ascii_only=not is_unicode(sys.stdout)))
        return OK
    if not found:
        say("You trust no policy file. `rightcall trust FILE` shows one and asks.")
    for one in found:
        say(f"{escaped(one['state']):<8} {escaped(one['at'][:19])}  {escaped(one['file'])}")
    return OK


def _remove(file: str, options: Namespace) -> int:
    from rightcall.config_trust import take_back

    removed, whole = take_back(file), os.path.abspath(file)
    if options.json:
        say(json_text({"file": whole, "removed": removed}, ascii_only=not is_unicode(sys.stdout)))
    else:
        say(f"{escaped(whole)} is {'no longer trusted' if removed else 'not trusted; nothing was changed'}.")
    return OK if removed else REFUSED


def offer_trust(options: Namespace) -> None:
    """Where a person is at the terminal, and the command would have to do without what its policy asks for: show it
    and ask, once. Whatever the answer is, the command goes on."""
    from rightcall.cli.persons import at_a_terminal
    from rightcall.cli.store_options import policy_file
    from rightcall.config_found import FoundPolicy

    found = policy_file(options)
    asks = at_a_terminal() and sys.stderr.isatty() and not getattr(options, "json", False)
    if not isinstance(found, FoundPolicy) or not asks:
        return
    from contextlib import redirect_stdout

    from rightcall.config_found import refuse_leaving_link
    from rightcall.config_trust import give, offer
    from rightcall.errors import PolicyError

    try:
        offered = offer(found.path)
        refuse_leaving_link(found.path)
    except PolicyError:
        return  # the command itself says what is wrong with it
    if offered.trusted or not offered.requests:
        return
    with redirect_stdout(sys.stderr):  # standard output belongs to the command
        say(*render_offer(offered))
        if _agreed():
            give(offered)
