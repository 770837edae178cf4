"""Open the console in the browser on a store: calls as they happen, approvals to answer, and the audit log. It needs no
server beside it; `rightcall serve` starts it by itself."""

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from getpass import getpass
from shlex import quote
from socket import socket
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from rightcall.base.files.guarded import POLICY_FILE
from rightcall.base.letters import visible
from rightcall.cli import OK
from rightcall.cli.options import (
    database_of,
    existing_place,
    follow_up,
    json_option,
    look_into,
    missing_package,
    number_within,
    open_store,
    open_without_policy,
    pointed,
    policy_despite,
    policy_file,
    policy_of,
    store_options,
    subcommands,
)
from rightcall.cli.persons import at_a_terminal, login_name, person_option, render_name, who
from rightcall.cli.terminal import Style, program, say, table, tell
from rightcall.console.people import (
    LINK_SECONDS,
    PREFIX,
    add_person,
    giver_of,
    identified_people,
    is_credential,
    local_person,
    make_link,
    people,
    read_console_address,
    remote_link,
    revoke_person,
)
from rightcall.errors import ConfigError
from rightcall.gate.records import json_text
from rightcall.policy.settings import ConsoleSettings, Policy
from rightcall.policy.types import Credential
from rightcall.policy.watch import PolicyInForce
from rightcall.record.browse import moment
from rightcall.record.tables import Store
from rightcall.server.whereabouts import announced, running_at

if TYPE_CHECKING:
    from rightcall.console.access import Address
    from rightcall.server.app import Service

EXAMPLES = """\
examples:
  rightcall console
  rightcall console --store .rightcall/audit.db --port 0
  rightcall console link --as ann
  rightcall console https://console.example.org:4142
"""

CREDENTIAL: Final = "RIGHTCALL_CREDENTIAL"
"""The variable with a person's credential for a console elsewhere."""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "wanted", nargs="?", type=_wanted, default="open", metavar="link|URL",
        help="Print a login link for a console that runs already: `link` for one of this audit log, "
        "or the address of one elsewhere, such as https://host:4142, with your credential",
    )  # fmt: skip
    parser.add_argument("--as", dest="person", metavar="NAME", help="Log in as this person (default: your user name)")
    console_options(parser)
    parser.add_argument("--json", action="store_true", help="Print address and login link as one JSON object")
    store_options(parser)


def console_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--port", metavar="N", type=number_within(0, 65535),
        help=f"Listen on this port (default: the policy's, else {ConsoleSettings().port}; 0: a free one)",
    )  # fmt: skip


def _wanted(text: str) -> str:
    if text in ("open", "link") or "://" in text:
        return text
    raise ArgumentTypeError(f"{text!r} is neither `link` nor an address such as https://host:4142")


def run(options: Namespace) -> int:
    if "://" in options.wanted:
        return _elsewhere(options)
    settings = (policy_despite(options) if options.wanted == "link" else policy_of(options)).console
    if options.port is not None:
        settings = replace(settings, port=options.port)
    with closing(open_store(options)) as store:
        if options.wanted == "link":
            return _link(store, options, settings)
        try:
            from rightcall.console.app import Console, check_settings, serve_console
        except ImportError as missing:
            raise missing_package(missing) from missing
        check_settings(settings)
        policy = PolicyInForce(policy_file(options), os.path.join(options.root, POLICY_FILE), adopts=True)
        console = Console(store, in_force(policy), options.root, checks=partial(_checks, options))
        with announced(database_of(options), "console") as announce:

            def ready(address: "Address") -> None:
                announce(address.origin)
                _ready(store, options, address)

            return serve_console(console, settings, ready)


def _elsewhere(options: Namespace) -> int:
    """A link of a console that runs on another machine."""
    if options.person is not None or options.port is not None or options.store is not None:
        raise ConfigError(
            "the address is enough, and the credential says who you are: leave out --as, --port and --store"
        )
    address = read_console_address(options.wanted)
    link = remote_link(address, _credential(address.authority))
    tell(options, {"url": link, "seconds": LINK_SECONDS}, lambda _: [*told(link)])
    return OK


def _credential(where: str) -> str:
    """From the environment, else typed unseen; never from the command line, which others can read."""
    given = os.environ.get(CREDENTIAL)
    if given is None and at_a_terminal():
        given = getpass(f"Your credential for {where}: ")
    if given is None:
        raise ConfigError(f"whose console is it? Set {CREDENTIAL} to your credential, or run this at a terminal")
    if not is_credential(given.strip()):
        raise ConfigError(
            f"not a credential of a person: one begins with `{PREFIX}`, and `rightcall people add NAME` prints it "
            "on the machine of the console. Nothing was sent"
        )
    return given.strip()


def in_force(policy: PolicyInForce) -> Callable[[], Policy]:
    """The policy of each moment; an edit that is wrong changes nothing, and is told of in the log."""

    def current() -> Policy:
        found = policy.changed()
        if isinstance(found, Policy):
            policy.take(found)
        elif found is not None:
            policy.keep(str(found))
        return policy.current

    return current


def _link(store: Store, options: Namespace, settings: ConsoleSettings) -> int:
    url = login_url(store, options, _origin(options, settings), options.person)
    if url is None:
        raise ConfigError(_nobody())
    tell(options, {"url": url, "seconds": LINK_SECONDS}, lambda _: [url])
    return OK


def _origin(options: Namespace, settings: ConsoleSettings) -> str:
    """Where the console is: as the options or the policy say, else where the one of this audit log runs."""
    from rightcall.console.access import Address

    if options.port or settings.public_url:
        return Address(settings.host, settings.port, settings.public_url, tls=bool(settings.certificate)).origin
    origin = running_at(database_of(options), "console")
    if origin is None:
        raise ConfigError(
            f"no console of this audit log is running. Start one with `{follow_up('console', options)}`; "
            "for one that another user started, pass the port it printed as `--port N`"
        )
    return origin


def _ready(store: Store, options: Namespace, address: "Address") -> None:
    """The link is a key: it is printed where somebody reads it, and not into a log."""
    link = login_url(store, options, address.origin, options.person) if at_a_terminal() else None
    if options.json:
        say(json_text({"address": address.origin, "link": link}))
    else:
        from rightcall.cli.trust import tell_store  # late: it imports much

        say(*told(link) if link else _pointed(address, options))
        say(*tell_store(options))
        say("Press Ctrl-C to stop.")
    sys.stdout.flush()


def told(link: str) -> list[str]:
    return [f"This link logs you in once, within {LINK_SECONDS // 60} minutes.", f"Console: {link}"]


def _pointed(address: "Address", options: Namespace) -> list[str]:
    """Where the console is, and how to come in."""
    port = "" if address.port == ConsoleSettings().port else f" --port {address.port}"
    command = follow_up(f"console link{port}", options, program())
    return [f"Console: {address.origin}", f"`{command}` prints a login link."]


def login_url(store: Store, options: Namespace, origin: str, person: str | None = None) -> str | None:
    """A link for a person, or for the user of this machine, who is the first person of a store. None where there are
    people and this user is not among them. Raises ConfigError for a person who is not known."""
    user = login_name()

    def work(tables: Any) -> str | None:
        callers = () if people(tables) else tuple(policy_of(options).settings.callers)  # to add one needs the policy
        if person is None and local_person(tables, user, callers) is None:
            return None
        return make_link(tables, person or user, user)

    secret = store.transact(work)
    return None if secret is None else f"{origin}/enter/{secret}"


def _nobody() -> str:
    user = login_name()
    return (
        f"{user!r} is not among the people of this console. Name one with `--as NAME`, or run "
        f"`rightcall people add {user}`"
    )


@contextmanager
def console_beside(
    options: Namespace, store: Store, policy: PolicyInForce, service: "Service", bound: "socket | None" = None
) -> Generator[list[str]]:
    """The console of a server, while the `with` lasts; yields what to tell of it. A worker has a socket of its parent's
    for it, which then tells where it is."""
    settings = policy.current.console
    if not settings.enabled or options.no_console:
        yield []
        return
    from rightcall.console.app import Console, console_running

    settings = _settings_beside(options, settings) if bound is None else replace(settings, port=bound.getsockname()[1])
    practises = getattr(options, "practice", False)
    console = Console(
        store, lambda: policy.current, options.root, lambda: {**service.state(), "practice": practises}, service.tools,
        partial(_checks, options), service.passed,
    )  # fmt: skip
    with announced(database_of(options), "console") as announce, console_running(console, settings, bound) as address:
        if bound is None:
            announce(address.origin)
        link = login_url(store, options, address.origin) if at_a_terminal() and not options.json else None
        options.console_address = address.origin
        yield told(link) if link else _pointed(address, options)


def console_socket(options: Namespace, settings: ConsoleSettings) -> "socket | None":
    """Bound for the consoles of all workers; None where there is to be none."""
    if not settings.enabled or options.no_console or options.no_audit:
        return None
    from rightcall.console.app import bind_console

    return bind_console(_settings_beside(options, settings))


def _settings_beside(options: Namespace, settings: ConsoleSettings) -> ConsoleSettings:
    """Beside a server on any free port, and where somebody else has the usual one, it takes any free port too."""
    from rightcall.console.app import check_settings

    if settings.port == ConsoleSettings().port and (options.port == 0 or not _is_free(settings)):
        settings = replace(settings, port=0)
    check_settings(settings)
    return settings


def _checks(options: Namespace) -> Mapping[str, Any]:
    from rightcall.cli.doctor import look_around

    return look_around(options)


def _is_free(settings: ConsoleSettings) -> bool:
    from rightcall.server.app import bind

    try:
        bind(settings.host, settings.port).close()
    except ConfigError:
        return False
    return True


# ── people ──

HELP_PEOPLE = """\
Add, list and revoke the people who may open the console. Each has a credential of their own: the store keeps only its
hash, so it is shown once. Revoking a person ends their sessions and open pages at once."""

EXAMPLES_PEOPLE = """\
examples:
  rightcall people add ann
  rightcall people add bob --may look
  rightcall people list
  rightcall people revoke ann
"""

_RIGHTS: Final = ("approve", "look")


def arguments_people(parser: ArgumentParser) -> None:
    action, _ = subcommands(parser)
    add = action("add", "Add a person, or give one a new credential, and print it once")
    add.add_argument("name", metavar="NAME", help="Name of the person, which every answer is recorded with")
    add.add_argument("--may", choices=_RIGHTS, default="approve", help="approve or look (default: approve)")
    lists = action("list", "List the people, without their credentials")
    revoke = action("revoke", "Revoke a person: credential, links and sessions")
    revoke.add_argument("name", metavar="NAME", help="Name of the person, from `list`")
    for one in (add, revoke):
        person_option(one)
    for one in (add, lists, revoke):
        json_option(one)
        store_options(one)


def run_people(options: Namespace) -> int:
    if options.action == "list":
        with closing(look_into(options)) as looking:
            found = looking.look(lambda tables: ([*people(tables), *identified_people(tables)], tables.credentials()))
            return _list(found, options)
    if options.action == "add":
        existing_place(options)
        with closing(open_store(options, create=True)) as store:
            return _add(store, options)
    with closing(open_without_policy(options)) as store:
        return _revoke(store, options)


def _add(store: Store, options: Namespace) -> int:
    callers, by = tuple(policy_of(options).settings.callers), who(options)
    made, text = store.transact(lambda tables: add_person(tables, options.name, options.may, by, callers=callers))
    name = quote(made.person)
    lines = [
        f"{visible(made.person)} may {_may(made)} in the console. The credential is shown only now:",
        "",
        f"  {text}",
        "",
        f"Log in with it, or with a link: `{follow_up(f'console link --as {name}', options)}`.",
        f"Revoke it with `{follow_up(f'people revoke {name}', options)}`.",
    ]
    tell(options, _record(made) | {"credential": text}, lambda _: lines, guarded=True)
    return OK


def _may(one: Credential) -> str:
    return "look and answer approvals" if one.may == "approve" else "look"


def _list(found: tuple[list[Credential], list[Credential]], options: Namespace) -> int:
    known, rows = found
    sessions = {one.person: sum(row.kind == "session" and row.person == one.person for row in rows) for one in known}
    record = {"people": [_record(one) | {"sessions": sessions[one.person]} for one in known]}
    nothing = [pointed("No people. Add one with `rightcall people add NAME`.", options)]

    def lines(style: Style) -> list[str]:
        cells = [
            [
                render_name(one.person),
                one.may,
                moment(one.made)[:16],
                render_name(giver_of(one)),
                str(sessions[one.person]),
            ]
            for one in known
        ]
        return [*table(["person", "may", "added (UTC)", "by", "sessions"], cells, style, left=4), _people(known)]

    tell(options, record, lambda style: lines(style) if known else nothing, guarded=True)
    return OK


def _people(known: list[Credential]) -> str:
    return "1 person" if len(known) == 1 else f"{len(known)} people"


def _revoke(store: Store, options: Namespace) -> int:
    gone = store.transact(lambda tables: revoke_person(tables, options.name, who(options)))
    said = f"{render_name(gone.person)} is revoked: credential, links and sessions do not count any more."
    tell(options, {"revoked": gone.person}, lambda _: [said], guarded=True)
    return OK


def _record(one: Credential) -> dict[str, Any]:
    return {"person": one.person, "may": one.may, "made": moment(one.made), "by": giver_of(one)}
