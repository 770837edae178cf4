"""Log in to a protected MCP server of the policy (`[servers.NAME] url`). The browser opens the page of the server's
login provider, and returns to this machine; on a machine without a browser, use --device. Tokens are kept in the
system's keyring, or in a file that only you can read. Without NAME, list the servers and their logins."""

import asyncio
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from contextlib import closing, redirect_stdout, suppress
from datetime import datetime
from shlex import quote
from time import time
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from rightcall import suggest
from rightcall.base.text import escaped
from rightcall.cli import OK, REFUSED
from rightcall.cli.options import InputError, json_option, open_store, policy_of, policy_path, store_options
from rightcall.cli.persons import YES, at_a_terminal, login_name, read_word
from rightcall.cli.terminal import say, tell
from rightcall.policy.settings import Server
from rightcall.policy.types import caller_for, subject_in
from rightcall.record.notes import note_change

if TYPE_CHECKING:
    from rightcall.identity.flows import DeviceCode
    from rightcall.identity.logins import Wish
    from rightcall.identity.vault import Login, Want

EXAMPLES = """\
examples:
  rightcall login notes
  rightcall login notes --device
  rightcall login tracker --scopes "read write" --no-browser
  rightcall login tracker --as teacher
  rightcall login tracker --person 248289761001

`rightcall status` shows who is logged in where, until when and with which scopes.
"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="Name of the server in the policy (`[servers.NAME]`)")
    parser.add_argument("--device", action="store_true", help="Print a link and a code to type on another device")
    parser.add_argument("--no-browser", action="store_true", help="Print the link instead of opening the browser")
    parser.add_argument(
        "--scopes", metavar="LIST", help="Ask for these scopes (default: those of the server and policy)"
    )
    _whose_options(parser, "Log in for")
    parser.add_argument("--issuer", metavar="URL", help="Accept this provider, even if it has changed")
    parser.add_argument(
        "--timeout", type=float, metavar="S", default=300.0, help="Wait this long for the login (default: 300 seconds)"
    )
    json_option(parser)
    store_options(parser)


def _whose_options(parser: ArgumentParser, does: str) -> None:
    whose = parser.add_mutually_exclusive_group()
    whose.add_argument(
        "--as", dest="caller", metavar="CALLER", help=f"{does} this caller, at a server with `per_caller`"
    )
    whose.add_argument(
        "--person", metavar="ID", help=f"{does} the person with this ID (`sub`) at the policy's identity provider"
    )


def run(options: Namespace) -> int:
    if options.name is None:
        return _list(options)
    from rightcall.cli.trust import offer_trust
    from rightcall.identity.logins import IssuerChanged

    offer_trust(options)
    server = _server(options)
    with closing(open_store(options, create=True)) as store:  # no record, no login
        wish = _wish(options)
        try:
            login = _logged_in(server, wish, options)
        except IssuerChanged as changed:
            login = _logged_in(server, _accepted(changed, wish, options), options)
        about = {"server": login.server, "url": login.url, "issuer": login.provider.issuer, "scopes": [*login.scopes]}
        said = about | ({"caller": login.caller} if login.caller else {})
        store.transact(lambda tables: note_change(tables, "logged in at a server", login_name(), said))
    tell(options, login_record(login), lambda _: _lines(login))
    return OK


def _wish(options: Namespace) -> "Wish":
    from rightcall.identity.discovery import read_scopes
    from rightcall.identity.logins import Wish

    if options.timeout <= 0:
        raise InputError("invalid value for `--timeout`: expected more than 0 seconds")
    scopes = read_scopes((options.scopes or "").replace(",", " "))
    if options.scopes is not None and not scopes:
        raise InputError('invalid value for `--scopes`: expected words, such as "read write"')
    return Wish(_caller(options), options.device, scopes, options.issuer or "", options.timeout)


def _caller(options: Namespace) -> str:
    """Whose login is meant; empty: everybody's. Raises InputError."""
    if options.person is None:
        return options.caller or ""
    from rightcall.identity.vault import Vault

    policy, vault = policy_of(options), Vault()
    url, issuers = policy.servers[options.name].url, [one.issuer for one in policy.identity]
    known = {one.caller for one in (*vault.logins(), *vault.wants()) if one.url == url}
    meant = sorted(one for one in known if subject_in(one) == options.person)
    meant = meant or [caller_for(issuer, options.person) for issuer in issuers]
    if len(meant) == 1:
        return meant[0]
    if not meant:
        raise InputError("`--person` needs an identity provider in the policy (`[identity]`); pass `--as CALLER`")
    ways = " or ".join(f"`--as {quote(escaped(one, 200))}`" for one in meant[:3])
    raise InputError(f"several identity providers may know {escaped(options.person, 60)!r}: pass {ways}")


def _check_trust(options: Namespace) -> None:
    """Raises InputError where a policy was found that nobody trusts: its servers are not reached."""
    if policy_of(options).standing == "tightened":
        file = escaped(quote(os.path.abspath(policy_path(options) or "")))
        raise InputError(f"the policy here is not trusted, so its servers are not used: run `rightcall trust {file}`")


def _server(options: Namespace) -> "Server":
    """The server that is meant. Raises ConfigError, with what would be right."""
    _check_trust(options)
    servers = policy_of(options).servers
    found = servers.get(options.name)
    name = escaped(options.name, 60)
    if found is None:
        with_url = [one.name for one in servers.values() if one.url]
        where = policy_path(options)
        if where is None:
            raise InputError(f"unknown server {name!r}: no policy file here; run `rightcall init`")
        known = suggest(options.name, with_url) if with_url else "; it names no server with a `url`"
        raise InputError(f"unknown server {name!r}{known}", source=where)
    if not found.url:
        raise InputError(
            f"{name} is a program that RightCall starts (`command`); only servers with a `url` have logins"
        )
    if found.brings_token:
        key = "token_env" if found.token_env else "token_command"
        raise InputError(f"[servers.{name}] has `{key}`, so its token comes from there and nobody logs in")
    is_own = options.caller or options.person
    if found.per_caller and not is_own:
        raise InputError(f"[servers.{name}] has `per_caller`: pass `--as CALLER`, whose login it is")
    if is_own and not found.per_caller:
        flag = "--as" if options.caller else "--person"
        raise InputError(f"[servers.{name}] has one login for all callers; `{flag}` needs `per_caller = true` there")
    return found


def _logged_in(server: "Server", wish: "Wish", options: Namespace) -> "Login":
    from rightcall.identity.discovery import Reach
    from rightcall.identity.logins import Shown, log_in_at
    from rightcall.identity.vault import Vault

    policy = policy_of(options)
    named = [one for one in (server.url, server.issuer, server.exchange_url, options.issuer) if one]
    reach = Reach.of(named, policy.web, policy.settings.urls)
    shown = Shown(_shown_link(options), _shown_code(options))
    return asyncio.run(log_in_at(server, wish, reach, Vault(), shown))


def _shown_link(options: Namespace) -> Callable[[str], None]:
    def show(link: str) -> None:
        first = "Open this page to log in:" if options.no_browser else "Log in on the page that opens in your browser:"
        with redirect_stdout(sys.stderr if options.json else sys.stdout):
            say(first, f"  {link}", "Waiting for the login. Ctrl-C stops it.")
        if not options.no_browser:
            from rightcall.base.http.client import in_own_thread

            in_own_thread(lambda: _open(link), "rightcall-browser")  # some browsers are waited for until they close

    return show


def _shown_code(options: Namespace) -> "Callable[[DeviceCode], None]":
    def show(found: "DeviceCode") -> None:
        with redirect_stdout(sys.stderr if options.json else sys.stdout):
            say("Open this page on any device:", f"  {escaped(found.whole_link or found.link, 2000)}")
            say(
                f"and type the code {escaped(found.code)}"
                if not found.whole_link
                else f"Its code is {escaped(found.code)}."
            )
            say("Waiting for the login. Ctrl-C stops it.")

    return show


def _open(link: str) -> bool:
    """Whether a browser was started. What it prints is not ours."""
    import webbrowser

    with suppress(webbrowser.Error, OSError):
        return webbrowser.open(link)
    return False


def _accepted(changed: Any, wish: "Wish", options: Namespace) -> "Wish":
    """The same wish, where a person at the terminal accepts another provider. Raises IssuerChanged else."""
    if options.json or not at_a_terminal():
        raise changed
    say(
        f"{escaped(options.name)} names another provider for its logins than before.",
        f"  before: {escaped(changed.before, 200)}",
        f"  now:    {escaped(changed.now, 200)}",
    )
    if read_word("Log in there? [y/N] ") not in YES:
        raise changed
    return replace(wish, issuer=changed.now)


# ── what is shown of logins ──


def login_record(login: "Login") -> dict[str, Any]:
    """Without secrets, for JSON."""
    return {
        "server": login.server, "url": login.url, "caller": login.caller or None, "who": login.who or None,
        "issuer": login.provider.issuer, "scopes": [*login.scopes], "state": state_word(login),
        "until": login.until or None, "renewable": login.renewable or login.machine, "kept_in": login.keeping,
    }  # fmt: skip


def state_word(login: "Login") -> str:
    """`valid`, `renewed when used`, or `expired`."""
    if login.is_over:
        return "expired"
    if login.until and time() >= login.until:
        return "renewed when used" if login.renewable or login.machine else "expired"
    return "valid"


def describe_login(login: "Login") -> str:
    """One line for people."""
    whose = f" for {_shown_caller(login.caller)}" if login.caller else ""
    who = f" as {login.who}" if login.who else ""
    scopes = f", scopes {' '.join(login.scopes)}" if login.scopes else ""
    return escaped(f"{login.server}: logged in{who}{whose} at {login.provider.issuer}{scopes}, {_end(login)}", 500)


def _shown_caller(caller: str) -> str:
    subject = subject_in(caller)
    return f"{subject} of {caller.partition('#')[0]}" if subject else caller


def want_record(want: "Want") -> dict[str, Any]:
    return {
        "server": want.server, "url": want.url, "caller": want.caller or None, "reason": want.reason,
        "scopes": [*want.scopes], "command": want.command,
    }  # fmt: skip


def render_want(want: "Want") -> str:
    """One line for people."""
    from rightcall.identity.logins import LoginNeeded

    return escaped(f"{want.server}: {LoginNeeded(want)}", 500)


def _end(login: "Login") -> str:
    state = state_word(login)
    if state != "valid" or not login.until:
        return state
    renewed = ", then renewed" if login.renewable or login.machine else ""
    return f"valid until {datetime.fromtimestamp(login.until).astimezone():%Y-%m-%d %H:%M}{renewed}"


def _lines(login: "Login") -> list[str]:
    kept = "the system's keyring" if login.keeping == "keyring" else "a file that only you can read"
    return [f"{describe_login(login)}.", f"Its tokens are kept in {kept}. A running gateway uses them within a second."]


def _list(options: Namespace) -> int:
    """Of the servers that can have one."""
    from rightcall.identity.vault import Vault

    _check_trust(options)

    vault = Vault()
    logins, wants = vault.logins(), vault.wants()
    rows: list[dict[str, Any]] = []
    lines: list[str] = []
    for server in policy_of(options).servers.values():
        if not server.url or server.brings_token:
            continue
        own = [one for one in logins if one.url == server.url]
        asked = [one for one in wants if one.url == server.url]
        rows += [*map(login_record, own), *map(want_record, asked)]
        lines += [*map(describe_login, own), *map(render_want, asked)]
        if not own and not asked:
            rows.append({"server": server.name, "url": server.url, "state": "none"})
            lines.append(f"{escaped(server.name)}: not logged in; it has not asked for a login")
    nothing = ["No server to log in to: the policy has no `[servers.NAME]` with a `url`."]
    tell(options, {"logins": rows}, lambda _: lines or nothing)
    return OK


# ── logout ──

HELP_LOGOUT = """\
Log out of an MCP server: the provider revokes the tokens if it can, and they are removed from this machine. RightCall
remembers which provider gave the logins, and asks if the server names another one later; `--forget` ends that too."""

EXAMPLES_LOGOUT = """\
examples:
  rightcall logout notes
  rightcall logout tracker --as teacher
  rightcall logout notes --forget
"""


def arguments_logout(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="Name of the server in the policy (`[servers.NAME]`)")
    _whose_options(parser, "Log out")
    parser.add_argument(
        "--forget", action="store_true", help="Also forget which provider gives the logins: the next login may use any"
    )
    parser.add_argument("--yes", action="store_true", help="Do not ask")
    json_option(parser)
    store_options(parser)


def run_logout(options: Namespace) -> int:
    from rightcall.identity.logins import log_out
    from rightcall.identity.vault import Vault

    server, vault = _server(options), Vault()
    pinned = vault.first_issuer(server.url) if options.forget else ""
    if pinned:
        _agree_to_forget(server, pinned, options)
    with closing(open_store(options, create=True)) as store:
        found = asyncio.run(log_out(server, _caller(options), vault))
        if found is not None:
            about = {"server": server.name, "url": server.url, "revoked": found[1]}
            store.transact(lambda tables: note_change(tables, "logged out at a server", login_name(), about))
        if pinned:
            vault.forget_issuer(server.url)
            gone = {"server": server.name, "url": server.url, "issuer": pinned}
            store.transact(lambda tables: note_change(tables, "provider forgotten", login_name(), gone))
    record: dict[str, Any] = {"server": server.name, "logged_out": found is not None}
    told = "nobody was logged in"
    if found is not None:
        taken = "took the tokens back" if found[1] else "offers no way to take tokens back, or failed"
        record, told = record | {"revoked": found[1]}, f"logged out; its provider {taken}"
    if pinned:
        record, told = record | {"forgotten": pinned}, f"{told}. The next login may use any provider"
    tell(options, record, lambda _: [f"{escaped(f'{server.name}: {told}', 500)}."])
    return OK if found is not None or pinned else REFUSED


def _agree_to_forget(server: "Server", pinned: str, options: Namespace) -> None:
    """Raises InputError where nobody does."""
    if options.yes:
        return
    if options.json or not at_a_terminal():
        raise InputError("cannot prompt without a terminal; pass `--yes` to forget the provider")
    say(f"Logins at {escaped(server.name)} come from {escaped(pinned, 200)}.")
    if read_word("Accept any provider that the server names next? [y/N] ") not in YES:
        raise InputError("nothing was changed")
