"""`audit adopt`, and what the other commands say of an audit that is not the one that was there."""

import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from shutil import copytree, rmtree

import pytest

from rightcall.policy import trust
from rightcall.record.sqlite import SqliteStore
from support.cli import Runner, environment

pytestmark = pytest.mark.promise("A-03")


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / ".rightcall" / "audit.db"
    write(path, 3)
    return path


def write(path: Path, count: int) -> None:
    with closing(SqliteStore(path)) as store:
        for _ in range(count):
            store.transact(lambda tables: tables.append("message", 0, b'{"what":"message"}'))


def test_an_audit_that_is_in_order_is_left_alone(run: Runner, database: Path) -> None:
    done = run("audit", "adopt", "--yes")
    assert (done.code, done.out) == (0, "The audit is the one that was there before. Nothing was changed.\n")
    assert run("audit", "verify").code == 0


@pytest.mark.parametrize("gone", [True, False])
def test_a_lost_audit_is_told_by_every_command_until_a_new_one_is_begun(
    run: Runner, database: Path, gone: bool
) -> None:
    database.unlink() if gone else database.write_bytes(b"")
    for command in (["audit", "tail"], ["audit", "verify"], ["approvals", "list"], ["run", "ping", "{}"], ["stats"]):
        done = run(*command)
        assert done.code == 2, command
        assert f"rightcall audit adopt --store {database}" in done.err
    assert run("audit", "adopt").code == 2  # there is nobody to ask
    done = run("audit", "adopt", "--yes", "--reason", "a fresh disk", "--by", "anna")
    assert done.code == 0
    assert "A new audit was begun.\nIt is not paused and holds no tokens, approvals or grants.\n" in done.out
    assert "Tokens, approvals and grants in the lost audit log do not hold" in done.out
    assert f"pause them again: rightcall pause --store {database}" in done.out
    shown = run("audit", "show", "1").out
    assert "begun anew" in shown
    assert "a fresh disk" in shown
    assert run("audit", "verify").code == 0


def test_an_older_copy_is_told_also_where_all_that_lies_beside_it_was_put_back(run: Runner, database: Path) -> None:
    """This user's state remembers the record that took something back."""
    rmtree(copy := database.parent.with_name("copy"), ignore_errors=True)
    copytree(database.parent, copy)
    assert (run("pause", "--by", "anna").code, run("resume", "--by", "anna").code) == (0, 0)
    for command in ("tail", "head", "export"):
        assert run("audit", command).err == ""
    rmtree(database.parent)
    copytree(copy, database.parent)
    done = run("audit", "verify", columns=300)
    assert done.code == 1
    assert "The chain is whole, but it is an older copy: it ends with record 3" in done.out
    for command in ("tail", "head", "export"):
        done = run("audit", command)
        told, _said = done.err, trust._said.clear()
        assert "is not the audit that was written here last: it is an older copy" in told, command
    assert "older copy" in run("stats").err


def test_verify_finds_an_older_copy_without_an_anchor(run: Runner, database: Path) -> None:
    older = database.read_bytes()
    write(database, 2)
    database.write_bytes(older)
    done = run("audit", "verify", columns=300)
    assert done.code == 1
    assert "it is an older copy: it ends with record 3, and record 5 was written before" in done.out
    assert run("audit", "verify", "--json").json["ok"] is False
    done = run("audit", "adopt", "--yes", "--by", "anna")
    assert done.code == 0
    assert "Adopted, as record 4 says.\nCalls are not paused; 0 tokens can be used.\n" in done.out
    assert f"rightcall token list --store {database}" in done.out
    assert run("audit", "verify").code == 0


def test_a_damaged_audit_is_kept_under_another_name(run: Runner, database: Path) -> None:
    database.write_bytes(b"a diary\n" * 1000)
    done = run("audit", "adopt", "--yes", "--by", "anna")
    assert done.code == 0
    assert "The damaged file is now audit.db.before-" in done.out
    (kept,) = database.parent.glob("audit.db.before-*")
    assert kept.read_bytes() == b"a diary\n" * 1000
    assert run("audit", "verify").code == 0


def test_a_damaged_key_takes_no_record_with_it(run: Runner, database: Path) -> None:
    database.with_name("audit.db.key").write_bytes(b"short")
    assert run("audit", "adopt", "--yes", "--by", "anna").code == 0
    assert run("audit", "show", "3").code == 0
    assert run("audit", "verify").code == 0


def test_what_holds_now_is_one_json_object(run: Runner, database: Path) -> None:
    assert run("audit", "adopt", "--json").json == {"adopted": False}
    database.unlink()
    assert run("audit", "adopt", "--json").code == 2  # it never asks
    done = run("audit", "adopt", "--json", "--yes", "--by", "anna").json
    assert done == {"adopted": True, "new": True, "record": 1, "aside": [], "paused": False, "tokens": 0}


def test_an_older_copy_that_was_paused_stays_paused(run: Runner, database: Path) -> None:
    run("pause", "--store", str(database), "--by", "anna")
    older = database.read_bytes()
    run("resume", "--store", str(database), "--by", "anna")
    database.write_bytes(older)
    assert "Calls are paused; 0 tokens can be used." in run("audit", "adopt", "--yes", "--by", "anna").out


def test_a_file_that_was_never_an_audit_is_left_alone(run: Runner, tmp_path: Path) -> None:
    other = tmp_path / "passwords.txt"
    other.write_text("root:x:0:0\n")
    done = run("audit", "adopt", "--yes", "--store", str(other))
    assert (done.code, done.out) == (2, "")
    assert "is not an audit log; nothing was changed" in done.err
    assert [file.name for file in tmp_path.iterdir() if "passwords" in file.name] == ["passwords.txt"]
    assert "chmod" not in run("stats", "--store", "/dev/null").err


def test_nothing_is_made_where_there_is_no_audit(run: Runner, tmp_path: Path) -> None:
    for options in (["--store", str(tmp_path / "typo" / "audit.db")], ["--root", str(tmp_path)]):
        done = run("audit", "adopt", "--yes", *options)
        assert (done.code, done.out) == (2, "")
        assert "no audit log at" in done.err
    assert not list(tmp_path.rglob("audit.db*"))


def test_a_store_that_was_moved_counts_whole_once_its_user_has_adopted_it(
    run: Runner, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("token", "new", "--as", "teacher").code == 0
    moved = database.parents[1] / "moved"
    copytree(database.parent, moved / ".rightcall")
    monkeypatch.chdir(moved)
    command = f"rightcall audit adopt --store {moved}/.rightcall/audit.db"
    listed = run("token", "list")
    assert "No token counts here" in listed.out
    assert command in listed.err
    refused = run("audit", "adopt", "--yes")
    assert refused.code == 2
    assert command in refused.err
    adopted = run(*command.split()[1:], "--yes", "--by", "anna", "--reason", "moved")
    assert adopted.code == 0
    assert "1 token can be used" in adopted.out
    assert "teacher" in run("token", "list").out
    assert "anna" in run("audit", "show", adopted.out.partition("as record ")[2].partition(" ")[0]).out
    assert run("audit", "verify").code == 0
    assert "Nothing was changed" in run(*command.split()[1:], "--yes").out


def test_a_second_adoption_says_that_it_is_adopted_already(run: Runner, database: Path) -> None:
    other = database.parents[1] / "other" / "audit.db"
    other.parent.mkdir()
    assert run("token", "new", "--as", "teacher", "--store", str(other)).code == 0
    rmtree(database.parent)
    copytree(other.parent, database.parent)
    assert "Adopted, as record" in run("audit", "adopt", "--yes", "--by", "anna").out
    again = run("audit", "adopt", "--yes", "--by", "anna", columns=300)
    assert (again.code, again.err) == (0, "")
    assert again.out.startswith("The audit is adopted already. Nothing was changed.\n")
    assert f"rightcall audit adopt --store {database}" in again.out
    assert run("audit", "adopt", "--json").json == {"adopted": False}
    assert run("audit", "adopt", "--yes", "--by", "anna", "--store", str(database)).code == 0
    assert "is the one that was there before" in run("audit", "adopt").out


_READ_ONLY = """
set -e
mount --bind "$1" "$1"
mount -o remount,ro,bind "$1"
cd "$1"
for words in "audit tail" "audit verify" "audit export -" "stats"
do "$2" -m rightcall.cli $words --store audit.db
done
"""


def test_a_store_on_a_read_only_disk_can_be_read(database: Path) -> None:
    unshare = ["unshare", "--mount", "--map-root-user"]
    if shutil.which("unshare") is None or subprocess.run([*unshare, "true"], check=False).returncode:
        pytest.skip("a disk can be mounted here only with namespaces of users, which this machine does not allow")
    command = [*unshare, "sh", "-c", _READ_ONLY, "sh", str(database.parent), sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 0, done.stderr
    assert "3 records, none changed" in done.stdout
