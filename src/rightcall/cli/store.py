"""Move a store to a PostgreSQL server, prepare its tables, and print the SQL of roles that may only append or read."""

import sys
from argparse import ArgumentParser, Namespace
from contextlib import closing
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from rightcall.base.text import escaped
from rightcall.cli import OK
from rightcall.cli.options import SHARED, is_server, json_option, number_within, subcommands
from rightcall.cli.persons import person_option, who
from rightcall.cli.terminal import many, tell
from rightcall.errors import ConfigError
from rightcall.record.verify import anchor_text

if TYPE_CHECKING:
    from rightcall.record.postgres.migration import Migrated, Plan

EXAMPLES = """\
examples:
  rightcall store migrate .rightcall/audit.db postgresql://rightcall@db.example/rightcall --dry-run
  rightcall store migrate .rightcall/audit.db postgresql://rightcall@db.example/rightcall
  rightcall store prepare postgresql://rightcall@db.example/rightcall --ahead 60
  rightcall store roles | psql postgresql://postgres@db.example/rightcall
"""

_MOST_DAYS = 366


def arguments(parser: ArgumentParser) -> None:
    action, _ = subcommands(parser)
    migrate = action("migrate", "Move a store from a SQLite file to a PostgreSQL server; run again to continue")
    migrate.add_argument("source", metavar="FROM", help="The SQLite file, such as .rightcall/audit.db; it is kept")
    migrate.add_argument("target", metavar="TO", help="An empty database, as postgresql://USER@HOST/DATABASE")
    migrate.add_argument("--dry-run", action="store_true", help=SHARED["--dry-run"])
    person_option(migrate)
    json_option(migrate)
    prepare = action("prepare", "Make or update the tables on a server, and those of the days to come")
    prepare.add_argument("url", metavar="URL", help="The database, with the role that owns the tables")
    prepare.add_argument(
        "--ahead", type=number_within(1, _MOST_DAYS), default=60, metavar="N", help="Days to prepare (default: 60)"
    )
    json_option(prepare)
    roles = action("roles", "Print the SQL of a role that may only append and one that may only read")
    roles.add_argument("--append", default="rightcall_append", metavar="NAME", help="Its name (default: %(default)s)")
    roles.add_argument("--read", default="rightcall_read", metavar="NAME", help="Its name (default: %(default)s)")
    json_option(roles)


def run(options: Namespace) -> int:
    return _ACTIONS[options.action](options)


# ── store migrate ──


def _migrate(options: Namespace) -> int:
    if is_server(options.source) or not is_server(options.target):
        raise ConfigError("expected a SQLite file and then a URL: `rightcall store migrate FILE postgresql://…`")
    from rightcall.record.postgres.migration import Migration  # late: it needs an extra

    with closing(Migration(Path(options.source), options.target)) as migration:
        plan = migration.plan()
        if options.dry_run:
            record = {"records": plan.records, "left": plan.left, "resumed": plan.resumed, "done": plan.done}
            tell(options, record, lambda _: _would(plan, migration.address.shown))
            return OK
        watched = sys.stderr.isatty()
        ended = ""
        try:
            done = migration.run(who(options), _progress if watched else None)
        except KeyboardInterrupt:
            ended = "Interrupted. To continue, run the same command again; nobody can use the server before.\n"
            raise
        finally:
            sys.stderr.write(("\r\x1b[K" if watched else "") + ended)
        tell(options, _record(done, migration.address.shown), lambda _: _moved(done, options))
    return OK


def _progress(copied: int, total: int) -> None:
    share = 100 * copied // max(1, total)
    sys.stderr.write(f"\r\x1b[K{copied:,} of {many(total, 'record')} copied ({share} %) …")
    sys.stderr.flush()


def _would(plan: "Plan", shown: str) -> list[str]:
    if plan.done:
        return [f"This store was moved to {shown} before. There is nothing to do."]
    if plan.resumed:
        return [f"Would continue: {many(plan.left, 'record')} of {plan.records:,} are left. Nothing was changed."]
    return [f"Would move {many(plan.records, 'record')} to {shown}. Nothing was changed."]


def _record(done: "Migrated", shown: str) -> dict[str, Any]:
    return {
        "records": done.records, "copied": done.copied, "head": anchor_text(done.head), "digest": done.digest or None,
        "resumed": done.resumed, "to": shown,
    }  # fmt: skip


def _moved(done: "Migrated", options: Namespace) -> list[str]:
    if not done.copied and not done.digest:
        return ["This store was moved there before. There was nothing to do."]
    file = escaped(quote(options.source))
    return [
        f"Moved {many(done.records, 'record')}; each was read back and compared.",
        f"head {anchor_text(done.head)}",
        f"digest {done.digest}",
        f"{file} is kept and takes no more records. Now:",
        f'1. In the policy, under [store]: url = "{escaped(options.target)}"',
        f"2. Check it: rightcall audit verify --store {escaped(quote(options.target))}",
        "3. Restart what was running.",
    ]


# ── store prepare, store roles ──
# For nodes whose role may only append: they cannot make tables, so the owner makes those of many days at once.


def _prepare(options: Namespace) -> int:
    if not is_server(options.url):
        raise ConfigError("expected a URL: `rightcall store prepare postgresql://OWNER@HOST/DATABASE`")
    from rightcall.record.postgres.store import prepare_days  # late: it needs an extra

    shown, last = prepare_days(options.url, options.ahead)
    told = f"The tables of {shown} are up to date, and ready for records until {last}."
    tell(options, {"store": shown, "until": last}, lambda _: [told])
    return OK


def _roles(options: Namespace) -> int:
    from rightcall.record.postgres.schema import TABLES, roles_sql  # late: few ask for it

    sql = roles_sql(options.append, options.read, list(TABLES))
    tell(options, {"sql": sql}, lambda _: sql.splitlines())
    return OK


_ACTIONS = {"migrate": _migrate, "prepare": _prepare, "roles": _roles}
