"""Roles for those who need less than the owner of the tables: one that can only append, with which a node works, and
one that can only read. As SQL, for a person who reviews and runs it.

    owner    makes and updates the tables, prepares days, prunes, erases, pauses, makes tokens and people
    append   admits calls and records them, and lets people of the console in and out; cannot change or remove a record
             (`UPDATE`, `DELETE` are refused), and makes no tokens and no people
    read     audit, statistics, approvals and tokens as they are; writes nothing, and sees no secret
"""

import re

from rightcall.errors import ConfigError
from rightcall.record.postgres.figures import FIGURES

_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}", re.ASCII)
_APPEND = (
    ("audit", "SELECT, INSERT"),
    ("nodes", "SELECT, INSERT, UPDATE"),
    ("windows", "SELECT, INSERT, UPDATE, DELETE"),
    ("locks", "SELECT, INSERT, UPDATE"),
    ("running", "SELECT, INSERT, UPDATE, DELETE"),
    ("definitions", "SELECT, INSERT, UPDATE"),
    ("changes", "SELECT, INSERT, UPDATE"),
    ("approvals", "SELECT, INSERT, UPDATE"),
    ("grants", "SELECT, INSERT, UPDATE, DELETE"),
    ("spent", "SELECT, INSERT, UPDATE, DELETE"),
    ("documents", "SELECT, INSERT, UPDATE, DELETE"),
    ("tokens", "SELECT"),
    ("credentials", "SELECT"),
    ("sessions", "SELECT, INSERT, DELETE"),
    ("secrets", "SELECT"),
    ("meta", "SELECT"),
    *((name, "SELECT, INSERT, UPDATE, DELETE") for name in re.findall(r"CREATE TABLE (\w+)", FIGURES)),
)
"""What a node does with each table. Figures can be counted anew from the records: nodes may change them."""
_SECRET = ("secrets", "documents")
"""Saved requests hold what users wrote as they wrote it."""


def roles_sql(append: str, read: str, tables: list[str]) -> str:
    """What is run once by a superuser, or by the owner of the tables if it may create roles. `tables` are those that
    there are: what is not named above is read alone. Raises ConfigError for a name that needs quotes."""
    for name in (append, read):
        if not _NAME.fullmatch(name):
            raise ConfigError(f"invalid role {name!r}: expected small letters, digits and _, such as rightcall_append")
    rights = dict(_APPEND)
    lines = [
        "-- Run it as a superuser, or as a role with CREATEROLE that owns the tables.",
        "",
        "-- A node may append with this role, and not change or remove a record.",
        f"CREATE ROLE {append} LOGIN;",
        f"GRANT USAGE ON SCHEMA rightcall TO {append};",
        f"GRANT USAGE ON SEQUENCE rightcall.numbers TO {append};",
        *(f"GRANT {rights.get(table, 'SELECT')} ON rightcall.{table} TO {append};" for table in tables),
        "",
        "-- Whoever only looks.",
        f"CREATE ROLE {read} LOGIN;",
        f"GRANT USAGE ON SCHEMA rightcall TO {read};",
        *(f"GRANT SELECT ON rightcall.{table} TO {read};" for table in tables if table not in _SECRET),
        "",
        "-- Then give each a password (\\password), or let it in by certificate. Every month or so, as the owner:",
        "--   rightcall store prepare postgresql://OWNER@HOST/DATABASE --ahead 60",
    ]
    return "\n".join(lines)


TABLES = tuple(table for table, _ in _APPEND)
