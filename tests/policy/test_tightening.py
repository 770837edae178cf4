"""What a policy may say that nobody has trusted, whose files are read at all, and whose approvals count."""

import os
import stat
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import fields, replace

from rightcall.errors import PolicyError, StoreError
from rightcall.policy import trust
from rightcall.policy.settings import Asking, Policy, Settings
from rightcall.policy.tightening import narrow, requests_of, tighten
from rightcall.policy.trust import FoundPolicy
from rightcall.policy.types import Grant
from rightcall.policy.watch import load_policy
from rightcall.record.sqlite import SqliteStore
from support.every import every

pytestmark = pytest.mark.promise("P-13")

LOOSE = {
    "gate": {"mode": "observe", "unknown_tool": "pass", "unknown_argument": "keep", "packs": ["./x.toml"],
             "max_text": 900_000_000, "hosts": {"proxy": {"mode": "observe", "unknown_tool": "pass"}},
             "tools": {"t": {"values": {"a": {"b": "c"}}, "mode": "observe", "effects": [], "paths": ["x"]}}},
    "policy": {"stage": "full", "write": "allow", "execute": "allow", "allow": ["*"], "rounds": 99, "repeats": 0,
               "quarantine": 0,
               "limits": {"all": {"minute": 0, "hour": 0}}, "paths": {"allow": ["**"], "dotfiles": ["**"]},
               "tools": {"x": {"write": "allow"}},
               "approval": {"expires": 99_999, "confidence": 0.0, "definitions": False},
               "budgets": {"seconds": 9999, "tokens": 999_999}},
    "callers": {"c": {"stage": "full", "write": "allow", "execute": "allow"}},
    "audit": {"path": "/tmp/audit.db"},
    "approvals": {"notify": ["sh"]},
    "servers": {"x": {"command": ["true"], "effects": {"*": []}}},
    "router": {"threshold": 0.1, "prime": {"url": "http://127.0.0.1:1/v1"}},
    "sandbox": {"visible": ["/srv"], "python": "/bin/sh", "memory": 9999},
    "write": {"folders": ["/srv"], "locked": [], "protected": [], "check": {"command": ["true"]}},
    "web": {"networks": ["0.0.0.0/0", "::/0"], "search": "http://127.0.0.1:1", "ports": [443, 80, 22], "seconds": 300,
            "bytes": 50_000_000, "redirects": 20},
}  # fmt: skip


def test_a_policy_that_only_loosens_changes_no_default() -> None:
    tight, plain = tighten(load_policy(LOOSE)), Policy()
    assert replace(tight.settings, callers={}) == replace(plain.settings, callers={})
    for name in ("mode", "unknown_tool", "unknown_argument", "packs", "max_text", "router", "sandbox", "web"):
        assert getattr(tight, name) == getattr(plain, name), name
    assert replace(tight.write, folders=plain.write.folders) == plain.write
    assert tight.write.folders == ()
    assert (tight.servers["x"].command, tight.servers["x"].enabled, tight.servers["x"].effects) == ((), False, ())
    caller = tight.settings.callers["c"]
    assert (caller.stage, caller.only, caller.allow, caller.write) == (None, None, (), None)
    assert (tight.tools["t"].rules.values, tight.tools["t"].rules.mode, tight.tools["t"].effects) == ({}, "block", None)


def test_what_tightens_counts() -> None:
    said = load_policy(
        {
            "policy": {"deny": ["ping"], "limits": {"caller": {"minute": 3}}, "paths": {"deny": ["private/**"]},
                       "approval": {"tools": ["code/read"]}, "budgets": {"seconds": 1}},
            "callers": {"c": {"only": ["code/read", "file/save"]}},
            "audit": {"redact": ["pin"], "path": "logs/audit.db"},
            "web": {"seconds": 1, "ports": [443, 0], "sites": ["docs.python.org"], "redirects": 0},
        }
    )  # fmt: skip
    web = tighten(said).web
    assert (web.seconds, web.ports, web.sites, web.redirects) == (1, (443,), ("docs.python.org",), 0)
    settings = tighten(said).settings
    assert (settings.deny, settings.limits.caller.minute, settings.paths.deny) == (("ping",), 3, ("private/**",))
    assert settings.approval.tools == ("code/read",)
    assert (settings.budgets.seconds, settings.audit.redact, settings.audit.path) == (1, ("pin",), "logs/audit.db")
    assert settings.callers["c"].within == ("code/read", "file/save")


class _Later(Struct, frozen=True):
    told: int = 1
    new: bool = False


def test_a_key_that_nobody_has_a_rule_for_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tighten.__globals__["_RULES"], _Later, {"told": min})
    assert narrow(_Later(), _Later(told=0, new=True)) == _Later(told=0, new=False)
    for record in (Policy, Settings, Asking):
        assert set(tighten.__globals__["_RULES"][record]) <= {field.name for field in fields(record)}


@pytest.mark.parametrize(
    ("mode", "members", "refused"),
    [(0o646, [], True), (0o664, ["other"], True), (0o664, ["root"], False), (0o664, [], False), (0o644, ["o"], False)],
)
@pytest.mark.skipif(os.name == "nt", reason="modes mean nothing there")
def test_a_policy_that_others_may_write_is_refused_with_the_command_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, members: list[str], refused: bool
) -> None:
    import grp
    import pwd

    file = tmp_path / "rightcall.toml"
    file.write_text("version = 1\n")
    file.chmod(mode)
    monkeypatch.setattr(grp, "getgrgid", lambda _: SimpleNamespace(gr_name="team", gr_mem=members))
    monkeypatch.setattr(pwd, "getpwall", list[Any])
    for source in (str(file), FoundPolicy(str(file))):
        if refused:
            with pytest.raises(PolicyError, match=f"run `chmod go-w {file}`"):
                load_policy(source)
        else:
            assert load_policy(source).version == 1


@pytest.mark.skipif(os.name == "nt", reason="modes mean nothing there")
def test_where_modes_mean_nothing_a_named_policy_counts_as_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rightcall.toml"
    file.write_text('[policy]\nstage = "full"\n')
    file.chmod(0o777)
    monkeypatch.setattr(trust, "_file_system", lambda _: "vfat")
    assert load_policy(str(file)).standing == "tightened"
    assert stat.S_IMODE(file.stat().st_mode) == 0o777


def grants_of(store: SqliteStore) -> list[str]:
    return [one.id for one in store.look(lambda tables: tables.all_grants())]


def grant(id: str) -> Grant:
    return Grant(id, "c", "t", {}, 5, 2**62, "Ada", "", "")


def test_grants_that_came_with_a_store_do_not_count_and_later_ones_do(tmp_path: Path) -> None:
    path = tmp_path / "made" / "audit.db"
    store = SqliteStore(path)
    store.transact(lambda tables: tables.put_grant(grant("g-1")))
    store.close()
    store = SqliteStore(path, found=True)  # this user made it
    assert grants_of(store) == ["g-1"]
    store.close()
    moved = tmp_path / "clone"
    path.parent.rename(moved)
    store = SqliteStore(moved / "audit.db", found=True)
    assert grants_of(store) == []
    assert store.transact(lambda tables: tables.grants("c", "t")) == ()
    store.transact(lambda tables: tables.put_grant(grant("g-2")))
    assert grants_of(store) == ["g-2"]
    store.close()
    store = SqliteStore(moved / "audit.db", found=True)
    assert grants_of(store) == ["g-2"]
    store.close()
    store = SqliteStore(moved / "audit.db")  # somebody names it
    assert grants_of(store) == ["g-1", "g-2"]
    store.close()


def test_a_store_with_tables_of_somebody_else_is_not_written(tmp_path: Path) -> None:
    import sqlite3

    store = SqliteStore(tmp_path / "audit.db")
    store.close()
    connection = sqlite3.connect(tmp_path / "audit.db")
    connection.execute("CREATE TRIGGER t AFTER INSERT ON meta BEGIN DELETE FROM audit; END")
    connection.execute("DELETE FROM meta WHERE name LIKE 'known_to:%'")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="other tables, views or triggers"):
        SqliteStore(tmp_path / "audit.db", found=True)


DROPPED = {
    '[policy]\nwrite = "allow"\n': ["policy.write"],
    '[policy]\nwrite = "ask"\n[callers.x]\nexecute = "dry-run"\n': ["policy.write", "callers.x.execute"],
    '[policy.tools.save]\nwrite = "ask"\n': ["policy.tools.save.write"],
    '[write]\nlocked = []\nprotected = ["main"]\n': ["write.locked", "write.protected"],
    '[policy]\nwrite = "deny"\n[callers.x]\nexecute = "deny"\n[policy.tools.save]\nwrite = "deny"\n': [],
    '[policy]\ndeny = ["x"]\n[policy.paths]\ndeny = ["private/**"]\n[write]\nfrozen = ["old"]\n': [],
}


@pytest.mark.promise("P-13")
@every("text", DROPPED)
def test_what_a_file_takes_away_is_shown_as_well(text: str) -> None:
    raw = f"version = 1\n{text}".encode()
    asked = requests_of("rightcall.toml", raw)
    assert [one.key for one in asked] == DROPPED[text]
    policy = load_policy(tomllib.loads(raw.decode()))
    if not asked:  # then it counts as it is, trusted or not
        assert tighten(policy).settings == policy.settings
        assert tighten(policy).write == policy.write


@pytest.mark.parametrize("seconds", [0.1, 25])
def test_a_deadline_that_was_found_does_not_count(seconds: float) -> None:
    said = load_policy({"gate": {"hosts": {"claude-code": {"mode": "warn", "deadline": seconds}}}})
    assert tighten(said, "warn").hosts["claude-code"].deadline == 5.0
