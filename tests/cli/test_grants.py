"""`rightcall grants` and `rightcall policy quarantine`: a yes in advance, and a call that is looked at again."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rightcall.policy.settings import Settings
from rightcall.record.sqlite import SqliteStore
from support.approvals import Desk
from support.cli import Done, Runner, write_trusted


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rightcall.toml").write_text("[policy]\nquarantine = 3\n[callers.teacher]\n[callers.helper]\n")
    store = SqliteStore(tmp_path / ".rightcall" / "audit.db")
    yield Desk(store)
    store.close()


def add(run: Runner, *arguments: str, by: str = "anna") -> Done:
    return run("grants", "add", "--as", "teacher", "file/save", *arguments, "--by", by, columns=160)


@pytest.mark.promise("P-06")
def test_a_grant_lets_matching_calls_run_as_often_as_it_says(run: Runner, desk: Desk) -> None:
    done = add(run, "--where", "path=docs/*.md", "--uses", "2", "--for", "10m", "--note", "the report")
    (grant,) = desk.store.look(lambda tables: tables.all_grants())
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        f'{grant.id}: teacher may call file/save 2 times where "path" is like "docs/*.md"; any other argument may be '
        f"anything.\nRevoke it with `rightcall grants revoke {grant.id}`.\n"
    )
    assert (grant.where, grant.uses, grant.by, grant.note) == ({"path": "docs/*.md"}, 2, "anna", "the report")
    assert 590 * 10**9 < grant.expires_at - desk.now <= 600 * 10**9
    assert desk.try_({"path": "secrets/a.md"}).decision.kind == "ask"
    assert [desk.try_({"path": f"docs/{n}.md"}).decision.kind for n in range(3)] == ["allow", "allow", "ask"]


@pytest.mark.promise("A-02")
def test_a_grant_and_a_no_are_recorded_without_their_secrets(run: Runner, desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "rightcall.toml").write_text('[audit]\nredact = ["page_mark"]\n')
    secret = "Zq8hunter2"
    add(run, "--where", f"page_mark={secret}", "--where", "path=docs/*", "--note", f"password={secret}")
    run("approvals", "deny", desk.ask(), "--reason", f"the password={secret} is known", "--by", "anna")
    bodies = [entry.body.decode() for entry in desk.store.look(lambda t: t.newest(9, ("grant", "answer")))]
    assert len(bodies) == 2
    for body in bodies:
        assert secret not in body
        assert "[redacted " in body
    assert '"path":"docs/*"' in bodies[1]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("n=3", 3), ("n=3.0", 3.0), ("n=true", True), ("n=null", None), ('n="3"', "3"), ("n=[1, 2]", [1, 2]),
        ('n={"a": 1}', {"a": 1}), ("n=three", "three"), ("n=", ""), ("n=a=b", "a=b"), ("n=007", "007"),
    ],
)  # fmt: skip
def test_a_condition_is_json_or_else_plain_text(run: Runner, desk: Desk, written: str, meant: object) -> None:
    assert add(run, "--where", written).code == 0
    (grant,) = desk.store.look(lambda tables: tables.all_grants())
    assert json.dumps(grant.where) == json.dumps({"n": meant})


def test_what_was_granted_tells_text_and_number_apart(run: Runner, desk: Desk) -> None:
    assert '"n" is 3;' in add(run, "--where", "n=3").out
    assert '"n" is "3";' in add(run, "--where", 'n="3"').out
    assert "once with ANY arguments" in add(run).out
    assert "\\u001b" in add(run, "--where", "n=\x1b[2J").out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--where", "path"], "for `--where`: expected NAME=VALUE"),
        (["--where", "=x"], "for `--where`: expected NAME=VALUE"),
        (["--where", "a=1", "--where", "a=2"], "names 'a' twice"),
        (["--where", "path=docs/../*"], "can never match"),
        (["--where", "path=a\n*"], "can never match"),
        (["--uses", "0"], "invalid number of uses"),
        (["--uses", "-1"], "invalid number of uses"),
        (["--uses", "1e3"], "invalid number of uses"),
        (["--uses", "٣"], "invalid number of uses"),
        (["--for", "1"], "invalid time"),
        (["--for", "0s"], "invalid time"),
        (["--for", "31d"], "invalid time"),
        (["--for", "-1h"], "expected one argument"),
        (["--for", "1h1m"], "invalid time"),
    ],
)
def test_terms_that_are_not_clear_are_told_what_would_be_right(
    run: Runner, desk: Desk, arguments: list[str], said: str
) -> None:
    done = add(run, *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert desk.store.look(lambda tables: tables.all_grants()) == []


@pytest.mark.promise("P-06")
@pytest.mark.parametrize("by", ["teacher", "TEACHER", "t\u0435acher", "helper", "", "anna\x1b"])
def test_no_caller_grants_anything_nor_who_looks_like_one(run: Runner, desk: Desk, by: str) -> None:
    done = add(run, by=by)
    assert (done.code, done.out) == (2, "")
    assert "\x1b" not in done.err
    assert desk.store.look(lambda tables: tables.all_grants()) == []


def test_grants_are_listed_and_taken_back(run: Runner, desk: Desk) -> None:
    assert run("grants", "list").out == "Nothing is granted in advance.\n"
    add(run, "--where", "path=docs/*", "--uses", "5")
    (grant,) = desk.store.look(lambda tables: tables.all_grants())
    listed = run("grants", "list", columns=120).out
    assert f'{grant.id}  teacher  file/save  "path" is like "docs/*"          5  59 min ' in listed
    (record,) = run("grants", "list", "--json").json["grants"]
    assert (record["id"], record["where"], record["uses"], record["by"]) == (grant.id, {"path": "docs/*"}, 5, "anna")
    done = run("grants", "revoke", grant.id, "--by", "anna")
    assert done.out == f"{grant.id} is revoked: teacher needs approval again for file/save.\n"
    assert run("grants", "revoke", grant.id, "--by", "anna").code == 2
    assert desk.try_({"path": "docs/a"}).decision.kind == "ask"


FORBIDDEN = Settings(stage="full", deny=("file/save",), quarantine=3)


def refuse(desk: Desk, times: int) -> str:
    for _ in range(times):
        desk.try_({"n": 1}, settings=FORBIDDEN)
    return desk.request({"n": 1}).digest


@pytest.mark.promise("P-11")
def test_quarantine_is_listed_and_released(run: Runner, desk: Desk) -> None:
    assert run("policy", "quarantine", "list").out == "No call is in quarantine.\n"
    digest = refuse(desk, 2)
    assert run("policy", "quarantine", "list").out == "No call is in quarantine.\n"
    assert (
        f"teacher  {digest[:12]}  file/save        2  policy:deny           no"
        in run("policy", "quarantine", "list", "--all").out
    )
    refuse(desk, 1)
    assert (
        f"teacher  {digest[:12]}  file/save        3  policy:deny          yes"
        in run("policy", "quarantine", "list").out
    )
    (record,) = run("policy", "quarantine", "list", "--json").json["calls"]
    assert (record["digest"], record["refusals"], record["quarantined"]) == (digest, 3, True)
    assert run("policy", "quarantine", "release", "teacher", digest[:8], "--by", "teacher").code == 2
    assert run("policy", "quarantine", "release", "teacher", digest[:8], "--by", "anna").out == "1 call released.\n"
    assert run("policy", "quarantine", "list", "--all").out == "No call is in quarantine.\n"


@pytest.mark.promise("P-11")
def test_all_of_quarantine_is_released_at_once(run: Runner, desk: Desk) -> None:
    refuse(desk, 3)
    assert run("policy", "quarantine", "release", "--all", "--by", "anna").out == "1 call released.\n"
    assert run("policy", "quarantine", "release", "--all", "--by", "anna").out == "0 calls released.\n"


@pytest.mark.parametrize("arguments", [[], ["teacher"], ["teacher", "abcdefgh", "--all"]])
def test_what_to_release_has_to_be_said(run: Runner, desk: Desk, arguments: list[str]) -> None:
    done = run("policy", "quarantine", "release", *arguments, "--by", "anna")
    assert (done.code, done.out) == (2, "")
    assert "name a caller and a digest" in done.err


def test_a_policy_without_quarantine_says_so(run: Runner, desk: Desk) -> None:
    write_trusted(Path("rightcall.toml"), "[policy]\nquarantine = 0\n")
    refuse(desk, 9)
    assert run("policy", "quarantine", "list").out == "The policy puts no call in quarantine.\n"
    assert run("policy", "quarantine", "list", "--json").json == {"calls": []}
