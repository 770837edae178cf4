"""Make, list and revoke the tokens with which clients speak for a caller at the proxy and the MCP gateway. Each token
speaks for exactly one caller. The store keeps only its hash, so the token is shown once. A running server notices new
and revoked tokens within a second."""

import sys
from argparse import ArgumentParser, Namespace
from contextlib import closing, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from rightcall.base.http.addresses import read_address
from rightcall.cli import OK
from rightcall.cli.grant_terms import duration
from rightcall.cli.options import json_option
from rightcall.cli.persons import person_option, who
from rightcall.cli.questions import json_line, named
from rightcall.cli.store_options import existing_place, look_into, open_store, policy_of, redactor_of, store_options
from rightcall.cli.terminal import Style, count, say, style_for, table
from rightcall.config import HOSTS
from rightcall.errors import ConfigError
from rightcall.record.browsable import moment
from rightcall.record.tokens import TokenRequest, has_expired, make_token, revoke_tokens
from rightcall.text.visible import visible
from rightcall.types_running import Token

if TYPE_CHECKING:
    from rightcall.cli.store_options import Looking
    from rightcall.record.tables import Store

EXAMPLES = """\
examples:
  rightcall token new --as teacher
  rightcall token new --as ci --expires 90d --note "nightly build"
  rightcall token list
  rightcall token revoke 3f9a1c2e
"""

ADDRESS: Final = "http://127.0.0.1:4141"
_LONGEST: Final = 3650 * 86_400
_NO_ADDRESS: Final = "--address must be an address such as http://127.0.0.1:4141"


def arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    def action(name: str, about: str) -> ArgumentParser:
        return actions.add_parser(
            name, help=about, description=about, formatter_class=parser.formatter_class, allow_abbrev=False
        )

    new = action("new", "make a token and print it once, with the base URLs to paste")
    new.add_argument("--as", dest="caller", required=True, metavar="CALLER", help="the caller it speaks for")
    new.add_argument(
        "--expires", type=partial(duration, longest=_LONGEST), metavar="TIME",
        help="how long it is valid: 12h, 90d (default: until it is revoked)",
    )  # fmt: skip
    new.add_argument("--note", metavar="TEXT", default="", help="what it is for, for the record")
    new.add_argument(
        "--address", metavar="URL", default=ADDRESS, help=f"where the server listens, for the URLs (default: {ADDRESS})"
    )
    lists = action("list", "list the tokens, without their text")
    revoke = action("revoke", "revoke one token, or all tokens of a caller")
    revoke.add_argument("id", nargs="?", metavar="ID", help="of the token, as `list` shows it")
    revoke.add_argument("--as", dest="caller", metavar="CALLER", help="all tokens of this caller")
    for one in (new, revoke):
        person_option(one)
    for one, what in ((new, "the token"), (lists, "the tokens"), (revoke, "the revoked tokens")):
        json_option(one, what)
        store_options(one)


def run(options: Namespace) -> int:
    if options.action == "new":
        read_address(options.address, _NO_ADDRESS, "it holds no user and no password")
    if options.action == "revoke" and (options.id is None) == (options.caller is None):
        raise ConfigError("pass either a token's ID or `--as CALLER`; `rightcall token list` shows both")
    if options.action == "list":
        with closing(look_into(options)) as looking:
            return _list(looking, options)
    if options.action == "new":
        existing_place(options)
    with closing(open_store(options, create=options.action == "new")) as store:
        return _ACTIONS[options.action](store, options)


def _new(store: "Store", options: Namespace) -> int:
    policy = policy_of(options)
    hide = redactor_of(options, store).value
    by = who(options)
    known = (*policy.settings.callers, *HOSTS, "default")
    made, text = store.transact(
        lambda tables: make_token(tables, TokenRequest(options.caller, by, options.expires, options.note, hide), known)
    )
    urls = _urls(options.address, text)
    if not _counts(made, options):
        store.transact(lambda tables: revoke_tokens(tables, by, id=made.id))
        raise ConfigError(
            "no token was made: your state folder cannot be written, so nothing could later tell that this audit log "
            "is yours. Name it: rightcall token new --db FILE, and start the server with `--policy FILE`"
        )
    try:
        if options.json:
            say(json_line(_record(made) | {"token": text, "urls": urls}))
        else:
            say(*_describe_token(made, text, urls, has_rights=made.caller in policy.settings.callers))
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


def _describe_token(token: Token, text: str, urls: dict[str, str], *, has_rights: bool) -> list[str]:
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
    if not has_rights:
        lines.append(f"The policy has no [callers] table for {caller}, so the rules of [policy] apply.")
    return [*lines, f"Revoke it with `rightcall token revoke {token.id}`."]


def _list(store: "Looking", options: Namespace) -> int:
    now = store.clock.wall()
    found = store.look(lambda tables: tables.tokens())
    if options.json:
        say(json_line({"tokens": [_record(one) | {"expired": has_expired(one, now)} for one in found]}))
    elif found:
        say(*_listing(found, now, style_for(sys.stdout)))
    else:
        say("No tokens. Make one with `rightcall token new --as CALLER`.")
    return OK


def _revoke(store: "Store", options: Namespace) -> int:
    by = who(options)
    gone = store.transact(lambda tables: revoke_tokens(tables, by, id=options.id, caller=options.caller))
    if options.json:
        say(json_line({"revoked": [_record(one) for one in gone]}))
    else:
        say(*(f"Revoked token {one.id} of the caller {named(one.caller)}." for one in gone))
    return OK


def _record(token: Token) -> dict[str, Any]:
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
        [one.id, named(one.caller), moment(one.made)[:16], _until(one, now), named(one.by), visible(one.note)]
        for one in tokens
    ]
    header = ["id", "caller", "made (UTC)", "expires (UTC)", "by", "note"]
    return [*table(header, rows, style, left=6), count(tokens, "token")]


def _until(token: Token, now: str) -> str:
    if not token.expires:
        return "never"
    return f"{moment(token.expires)[:16]}{' (expired)' if has_expired(token, now) else ''}"


_ACTIONS = {"new": _new, "revoke": _revoke}
