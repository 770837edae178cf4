"""Trust a policy file that was found in a folder: show what it permits beyond the defaults, ask, and remember it.

A policy file that you did not name with `--policy` can only make things stricter. What else it asks for (programs to
start, addresses, environment variables, folders, more tools) counts once you trust the file. Trust holds for these
bytes at this path: after a change you are asked again. It is kept in your state folder, never beside the file."""

import os
import sys
from argparse import ArgumentParser, Namespace
from contextlib import closing, redirect_stdout, suppress
from functools import partial
from shlex import quote
from typing import Any, Final

from rightcall.base.files.guarded import POLICY_FILE
from rightcall.base.http.answers import read_address
from rightcall.base.letters import visible
from rightcall.base.text import escaped
from rightcall.cli import OK, REFUSED
from rightcall.cli.approvals import duration
from rightcall.cli.options import (
    InputError,
    Looking,
    database_of,
    existing_place,
    given_text,
    json_option,
    look_into,
    open_store,
    open_without_policy,
    places,
    pointed,
    policy_file,
    policy_of,
    redactor_of,
    store_options,
    subcommands,
)
from rightcall.cli.persons import YES, at_a_terminal, person_option, read_word, render_name, who
from rightcall.cli.terminal import Style, count, many, program, say, say_json, table, tell
from rightcall.errors import ConfigError, PolicyError
from rightcall.policy.settings import HOSTS
from rightcall.policy.trust import (
    FoundPolicy,
    TrustOffer,
    give,
    listed,
    offer,
    refuse_leaving_link,
    state_of,
    take_back,
)
from rightcall.policy.types import Token
from rightcall.record.browse import moment
from rightcall.record.tables import Store
from rightcall.server.access import TokenRequest, has_expired, make_token, revoke_tokens
from rightcall.server.whereabouts import running_at

EXAMPLES = """\
examples:
  rightcall trust
  rightcall trust my-project/rightcall.toml --yes
  rightcall trust --list
  rightcall trust --remove my-project/rightcall.toml

without a terminal nothing is trusted unless you pass --yes; --json shows the file and asks nothing.
"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", metavar="FILE", help=f"Policy file (default: {POLICY_FILE} here)")
    parser.add_argument(
        "--yes", action="store_true", help="Trust the file without asking; its requests are still printed"
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--list", action="store_true", help="List the files that you trust")
    action.add_argument("--remove", action="store_true", help="Stop trusting the file")
    json_option(parser)


def run(options: Namespace) -> int:
    if options.list:
        if options.file is not None:
            raise InputError("`--list` shows every trusted file; it takes no FILE")
        return _list(options)
    file = options.file or POLICY_FILE
    if options.remove:
        return _remove(file, options)
    if not os.path.lexists(file):
        here = "no policy file here; run `rightcall init` to write one" if options.file is None else "no such file"
        raise InputError(here, source=file)
    if options.file is None:
        refuse_leaving_link(file)
    offered = offer(file)
    if options.json:
        if options.yes:
            give(offered)
        say_json(_record(offered, trusted=options.yes or offered.trusted))
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


def render_offer(offered: TrustOffer) -> list[str]:
    """All that a file asks for, with nothing left out: values are JSON, so that no line of it can be disguised."""
    lines = [escaped(os.path.abspath(offered.file)), f"  sha256 {offered.digest}"]
    if not offered.requests:
        return [*lines, "  Nothing in it permits more than the defaults."]
    news = [one for one in offered.requests if offered.is_new(one)]
    changed = f"; {len(news)} new since you trusted it" if offered.known is not None and not offered.trusted else ""
    permit = "permits" if len(offered.requests) == 1 else "permit"
    lines += [f"  {many(len(offered.requests), 'line')} {permit} more than the defaults{changed}:"]
    for one in offered.requests:
        mark = "+" if offered.is_new(one) else " "
        lines += [f"{mark} line {one.line}: {escaped(one.key)} ({one.meaning})", f"      {escaped(one.value)}"]
    return lines


def _agreed() -> bool:
    if not at_a_terminal():
        raise InputError("nothing was trusted: cannot prompt without a terminal; pass `--yes`")
    return read_word("Trust this file? [y/N] ") in YES


def _record(offered: TrustOffer, *, trusted: bool) -> dict[str, Any]:
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
    found = [
        {"file": str(one.get("path", "")), "sha256": str(one.get("sha256", "")), "at": str(one.get("at", "")),
         "state": state_of(one)}
        for one in listed("policies")
    ]  # fmt: skip
    nothing = ["You trust no policy file. `rightcall trust FILE` shows one and asks."]
    lines = [f"{escaped(one['state']):<8} {escaped(one['at'][:19])}  {escaped(one['file'])}" for one in found]
    tell(options, {"files": found}, lambda _: lines or nothing)
    return OK


def _remove(file: str, options: Namespace) -> int:
    removed, whole = take_back(file), os.path.abspath(file)
    said = f"{escaped(whole)} is {'no longer trusted' if removed else 'not trusted; nothing was changed'}."
    tell(options, {"file": whole, "removed": removed}, lambda _: [said])
    return OK if removed else REFUSED


_STORE_KEYS: Final = ("store.url", "audit.path")


def offer_trust(options: Namespace) -> None:
    """Where a person is at the terminal, and the command would have to do without what its policy asks for: show it
    and ask, once. Whatever the answer is, the command goes on."""
    found = policy_file(options)
    asks = at_a_terminal() and sys.stderr.isatty() and not getattr(options, "json", False)
    if not isinstance(found, FoundPolicy) or not asks:
        return
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


def tell_store(options: Namespace) -> list[str]:
    """The lines at the start of a server that say which store is in use, where the policy names another one and nobody
    trusts it."""
    found = policy_file(options)
    if not isinstance(found, FoundPolicy) or options.store is not None or getattr(options, "no_audit", False):
        return []
    try:
        offered = offer(found.path)
    except PolicyError:
        return []
    if offered.trusted or not any(one.key in _STORE_KEYS for one in offered.requests):
        return []
    file = os.path.abspath(found.path)
    used = os.path.abspath(database_of(options))
    return [
        f"Store: {escaped(used)}. {escaped(file)} names another one, but is not trusted.",
        f"To use that one, run `{program()} trust {escaped(quote(file))}` and start again.",
    ]


HELP_TOKEN = """\
Make, list and revoke the tokens with which clients speak for a caller at the proxy and the MCP gateway. Each token
speaks for exactly one caller. The store keeps only its hash, so the token is shown once. A running server notices new
and revoked tokens within a second."""

EXAMPLES_TOKEN = """\
examples:
  rightcall token new --as teacher
  rightcall token new --as ci --expires 90d --note "nightly build"
  rightcall token list
  rightcall token revoke 3f9a1c2e
"""

ADDRESS: Final = "http://127.0.0.1:4141"
_LONGEST: Final = 3650 * 86_400


def arguments_token(parser: ArgumentParser) -> None:
    action, _ = subcommands(parser)
    new = action("new", "Create a token and print it once, with the base URLs to paste")
    new.add_argument("--as", dest="caller", required=True, metavar="CALLER", help="Create the token for this caller")
    new.add_argument(
        "--expires", type=partial(duration, longest=_LONGEST), metavar="TIME",
        help="Expire the token after this time, such as 90d (default: never)",
    )  # fmt: skip
    new.add_argument(
        "--note", type=given_text, metavar="TEXT", default="", help="Record what the token is for (@FILE, -)"
    )
    new.add_argument(
        "--address", metavar="URL",
        help=f"Address of the server, for the URLs (default: that of the running server, else {ADDRESS})",
    )  # fmt: skip
    lists = action("list", "List the tokens, without their text")
    revoke = action("revoke", "Revoke one token, or all tokens of a caller")
    revoke.add_argument("id", nargs="?", metavar="ID", help="ID of the token, from `list`")
    revoke.add_argument("--as", dest="caller", metavar="CALLER", help="Revoke all tokens of this caller")
    for one in (new, revoke):
        person_option(one)
    for one in (new, lists, revoke):
        json_option(one)
        store_options(one)


def run_token(options: Namespace) -> int:
    if options.action == "new" and options.address is not None:
        read_address(
            options.address,
            "--address must be an address such as http://127.0.0.1:4141",
            "it holds no user and no password",
        )
    if options.action == "revoke" and (options.id is None) == (options.caller is None):
        raise ConfigError("pass either a token's ID or `--as CALLER`; `rightcall token list` shows both")
    if options.action == "list":
        with closing(look_into(options)) as looking:
            return _list_token(looking, options)
    if options.action == "new":
        existing_place(options)
    opened = open_without_policy(options) if options.action == "revoke" else open_store(options, create=True)
    with closing(opened) as store:
        return _ACTIONS[options.action](store, options)


def _new(store: "Store", options: Namespace) -> int:
    policy = policy_of(options)
    hide = redactor_of(options, store).value
    by = who(options)
    known = (*policy.settings.callers, *HOSTS, "default")
    made, text = store.transact(
        lambda tables: make_token(tables, TokenRequest(options.caller, by, options.expires, options.note, hide), known)
    )
    known_address = options.address or running_at(database_of(options))
    urls = _urls(known_address or ADDRESS, text)
    if not _counts(made, options):
        store.transact(lambda tables: revoke_tokens(tables, by, id=made.id))
        raise ConfigError(
            "no token was made: your state folder cannot be written, so nothing could later tell that this audit log "
            "is yours. Name it: rightcall token new --store FILE, and start the server with `--policy FILE`"
        )
    try:
        has_rights = made.caller in policy.settings.callers
        lines = _describe_token(made, text, urls, places(options), has_rights=has_rights, guessed=known_address is None)
        tell(options, _record_token(made) | {"token": text, "urls": urls}, lambda _: lines, guarded=True)
        sys.stdout.flush()
    except OSError:  # nobody has read it, and nobody ever will
        store.transact(lambda tables: revoke_tokens(tables, by, id=made.id))
        with suppress(OSError):
            sys.stderr.write(f"rightcall: token {made.id} could not be printed, so it was revoked; make a new one\n")
        raise
    return OK


def _counts(made: Token, options: Namespace) -> bool:
    """Whether another process of this user will find it: in a store that was found, its word alone does not do."""
    with closing(look_into(options)) as looking:
        return any(one.id == made.id for one in looking.look(lambda tables: tables.tokens()))


def _urls(address: str, text: str) -> dict[str, str]:
    base = f"{address.rstrip('/')}/{text}"
    return {"openai": f"{base}/v1", "anthropic": base, "ollama": base, "mcp": f"{base}/mcp"}


def _describe_token(
    token: Token, text: str, urls: dict[str, str], where: str, *, has_rights: bool, guessed: bool
) -> list[str]:
    caller = visible(token.caller)
    until = f"valid until {moment(token.expires)}" if token.expires else "valid until it is revoked"
    lines = [
        f"Token {token.id} speaks for the caller {caller}, {until}. It is shown only now:",
        "",
        f"  {text}",
        "",
        "Base URLs for clients (or send the header x-rightcall-token):",
        f"  OpenAI             {urls['openai']}",
        f"  Anthropic, Ollama  {urls['anthropic']}",
        f"  MCP                {urls['mcp']}",
        "",
    ]
    if guessed:
        lines.append("No server was found running here: the URLs have the default port. `--address URL` names another.")
    if not has_rights:
        lines.append(f"The policy has no [callers] table for {caller}, so the rules of [policy] apply.")
    return [*lines, f"Revoke it with `rightcall token revoke {token.id}{where}`."]


def _list_token(store: "Looking", options: Namespace) -> int:
    now = store.clock.wall()
    found = store.look(lambda tables: tables.tokens())
    record = {"tokens": [_record_token(one) | {"expired": has_expired(one, now)} for one in found]}
    whole = getattr(store, "counts_whole", True)
    first = "No tokens." if whole else "No token counts here: the audit log was made elsewhere."
    nothing = [pointed(f"{first} Make one with `rightcall token new --as CALLER`.", options)]
    tell(options, record, lambda style: _listing(found, now, style) if found else nothing, guarded=True)
    return OK


def _revoke(store: "Store", options: Namespace) -> int:
    by = who(options)
    gone = store.transact(lambda tables: revoke_tokens(tables, by, id=options.id, caller=options.caller))
    lines = [f"Revoked token {one.id} of the caller {render_name(one.caller)}." for one in gone]
    tell(options, {"revoked": [_record_token(one) for one in gone]}, lambda _: lines, guarded=True)
    return OK


def _record_token(token: Token) -> dict[str, Any]:
    return {
        "id": token.id,
        "caller": token.caller,
        "made": moment(token.made),
        "expires": moment(token.expires) or None,
        "by": token.by,
        "note": token.note or None,
    }


def _listing(tokens: list[Token], now: str, style: Style) -> list[str]:
    rows = [
        [
            one.id,
            render_name(one.caller),
            moment(one.made)[:16],
            _until(one, now),
            render_name(one.by),
            visible(one.note),
        ]
        for one in tokens
    ]
    header = ["id", "caller", "made (UTC)", "expires (UTC)", "by", "note"]
    return [*table(header, rows, style, left=6), count(tokens, "token")]


def _until(token: Token, now: str) -> str:
    if not token.expires:
        return "never"
    return f"{moment(token.expires)[:16]}{' (expired)' if has_expired(token, now) else ''}"


_ACTIONS = {"new": _new, "revoke": _revoke}
