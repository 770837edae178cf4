"""Whatever is done to a record behind the audit's back is found, and the first such record is named."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rightcall.record.tables import START, EndBody, NoteBody, encode, link
from rightcall.record.verify import EVERY, Verification, prune, verify_audit
from support.stores import KINDS, Diary, forge, opened, tamper

pytestmark = pytest.mark.promise("A-03")
every_store = pytest.mark.parametrize("kind", KINDS)


def checked(diary: Diary, anchor: tuple[int, bytes] | None = None) -> Verification:
    return diary.store.look(lambda tables: verify_audit(tables, anchor))


def fill(diary: Diary, calls: int = 10) -> None:
    for number in range(calls):
        diary.ran(caller=f"caller {number}")
        diary.clock.advance(60)


def head(diary: Diary) -> tuple[int, bytes]:
    return diary.store.look(lambda tables: tables.head())


def hash_of(diary: Diary, seq: int) -> bytes:
    entry = diary.store.look(lambda tables: tables.entry(seq))
    assert entry
    return entry.hash


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """An audit of twenty records in a file that nobody has open."""
    with opened("sqlite", tmp_path) as diary:
        fill(diary)
    return tmp_path / "audit.db"


def verified(file: Path, anchor: tuple[int, bytes] | None = None) -> Verification:
    with opened("sqlite", file.parent) as diary:
        return checked(diary, anchor)


@every_store
def test_an_audit_as_it_was_written_is_right(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        assert checked(diary) == Verification(True, 0, None, "", (0, START))
        fill(diary)
        diary.refused()
        assert checked(diary) == Verification(True, 21, None, "", head(diary))


@pytest.mark.parametrize(
    ("statement", "wrong"),
    [
        ("UPDATE audit SET body = replace(body, 'caller 3', 'caller 4') WHERE seq = 7", 7),
        ("UPDATE audit SET body = body || ' ' WHERE seq = 20", 20),
        ("UPDATE audit SET body = '' WHERE seq = 1", 1),
        ("UPDATE audit SET body = CAST(body AS BLOB) WHERE seq = 3", 3),
        ("UPDATE audit SET kind = 'refused' WHERE seq = 5", 5),
        ("UPDATE audit SET call = 3 WHERE seq = 6", 6),
        ("UPDATE audit SET at = '2026-01-01 12:00:00.001' WHERE seq = 1", 1),
        ("UPDATE audit SET hash = zeroblob(32) WHERE seq = 9", 9),
        ("UPDATE audit SET hash = 'text' WHERE seq = 9", 9),
        ("UPDATE audit SET seq = 100 WHERE seq = 20", 20),
        ("DELETE FROM audit WHERE seq = 8", 8),
        ("DELETE FROM audit WHERE seq = 1", 1),
        ("DELETE FROM audit WHERE seq BETWEEN 4 AND 11", 4),
        ("DELETE FROM audit WHERE seq % 2 = 0", 2),
        ("INSERT INTO audit SELECT seq + 20, kind, call, at, hash, body FROM audit WHERE seq = 1", 21),
    ],
)
def test_a_change_in_the_file_is_found_at_the_first_record_it_touches(file: Path, statement: str, wrong: int) -> None:
    tamper(file, statement)
    found = verified(file)
    assert (found.ok, found.first_wrong, found.checked) == (False, wrong, wrong - 1)
    assert f"record{'s' if 'are' in found.problem else ''} {wrong}" in found.problem


def test_two_records_that_changed_places_are_found(file: Path) -> None:
    tamper(
        file,
        "UPDATE audit SET seq = -1 WHERE seq = 5",
        "UPDATE audit SET seq = 5 WHERE seq = 13",
        "UPDATE audit SET seq = 13 WHERE seq = -1",
    )
    assert verified(file).first_wrong == 5


def test_a_changed_record_with_a_hash_that_fits_is_found_at_the_next_one(file: Path) -> None:
    tamper(file, "UPDATE audit SET body = replace(body, 'caller 3', 'caller 4') WHERE seq = 7")
    forge(file, 7, 7)
    found = verified(file)
    assert (found.ok, found.first_wrong) == (False, 8)
    assert "it, or the one before it, was changed" in found.problem


def test_a_chain_that_was_forged_from_end_to_end_shows_only_with_an_anchor(file: Path) -> None:
    anchor = verified(file).head
    tamper(file, "UPDATE audit SET body = replace(body, 'caller 3', 'caller 4') WHERE seq = 7")
    forge(file)
    assert verified(file).ok
    assert verified(file, anchor).first_wrong == 20


def test_a_cut_tail_shows_only_with_an_anchor(file: Path) -> None:
    anchor = verified(file).head
    assert verified(file, anchor).ok
    tamper(file, "DELETE FROM audit WHERE seq > 17")
    assert verified(file).ok
    found = verified(file, anchor)
    assert (found.ok, found.first_wrong, found.head[0]) == (False, 18, 17)
    assert "the tail is truncated: the audit ends with record 17, the anchor is record 20" in found.problem


def test_an_anchor_holds_while_the_audit_goes_on_and_shows_what_was_written_over(file: Path) -> None:
    anchor = verified(file).head
    with opened("sqlite", file.parent) as diary:
        fill(diary, 3)
        assert checked(diary, anchor).ok
    tamper(file, "DELETE FROM audit WHERE seq > 17")
    with opened("sqlite", file.parent) as diary:
        fill(diary, 5)
        assert checked(diary).ok
        found = checked(diary, anchor)
        assert (found.ok, found.first_wrong) == (False, 20)
        assert "is not the one of the anchor" in found.problem


def test_an_audit_that_was_emptied_is_wrong_when_it_was_pruned_once_or_with_an_anchor(file: Path) -> None:
    anchor = verified(file).head
    tamper(file, "DELETE FROM audit")
    assert verified(file).ok
    assert verified(file, anchor).first_wrong == 1


def test_the_first_records_cannot_go_without_a_prune_record(file: Path) -> None:
    tamper(file, "DELETE FROM audit WHERE seq <= 6")
    found = verified(file)
    assert (found.ok, found.first_wrong, found.checked) == (False, 1, 0)
    assert "records 1 to 6 are removed, and no prune record vouches for it" in found.problem


def test_what_goes_after_a_prune_is_found_too(file: Path) -> None:
    with opened("sqlite", file.parent) as diary:
        diary.store.transact(lambda tables: prune(tables, keep=12, by="anna"))
        assert checked(diary).pruned == 8
    tamper(file, "DELETE FROM audit WHERE seq = 9")
    assert verified(file).first_wrong == 9
    tamper(file, "DELETE FROM audit WHERE kind != 'prune'")
    assert verified(file).first_wrong == 9
    tamper(file, "DELETE FROM audit")
    found = verified(file)
    assert not found.ok
    assert "not even the record of a prune is left" in found.problem


def test_a_prune_record_that_somebody_changed_vouches_for_nothing(file: Path) -> None:
    with opened("sqlite", file.parent) as diary:
        diary.store.transact(lambda tables: prune(tables, keep=12, by="anna"))
    for body in ("{}", "[]", "no JSON", '{"what": "through", "data": {"seq": "8", "hash": 5}}'):
        tamper(file, f"UPDATE audit SET body = '{body}' WHERE kind = 'prune'")
        assert not verified(file).ok


def test_an_anchor_that_was_pruned_is_said_to_be_so_and_proves_nothing(file: Path) -> None:
    with opened("sqlite", file.parent) as diary:
        hashes = {seq: hash_of(diary, seq) for seq in (4, 8, 10)}
        diary.store.transact(lambda tables: prune(tables, keep=12, by="anna"))
        found = checked(diary, (4, hashes[4]))
        assert (found.ok, found.first_wrong) == (False, None)
        assert "the anchor (record 4) can no longer be compared: records up to 8 were pruned" in found.problem
        assert checked(diary, (8, hashes[8])).ok, "the checkpoint names it"
        assert checked(diary, (8, START)).first_wrong == 8
        assert checked(diary, (10, hashes[10])).ok


@every_store
@pytest.mark.parametrize("call", [0, 1, 2, 99])
def test_an_end_without_a_call_that_had_begun_is_wrong_however_well_it_is_chained(
    kind: str, call: int, tmp_path: Path
) -> None:
    with opened(kind, tmp_path) as diary:
        diary.refused()
        diary.ran()
        diary.end(call)
        found = checked(diary)
        assert (found.ok, found.first_wrong) == (False, 4)
        assert f"record 4 ends call {call}, which had not begun or had already ended" in found.problem


@every_store
def test_other_records_may_belong_to_a_call_that_has_ended(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        call = diary.ran()
        diary.store.transact(lambda tables: tables.append("definition", call, encode(NoteBody("first seen"))))
        assert checked(diary).ok


def test_a_random_change_anywhere_is_found_where_it_is(tmp_path: Path) -> None:
    with opened("sqlite", tmp_path) as diary:
        fill(diary, 50)
    chance = random.Random(4)
    fields: list[Callable[[int], str]] = [
        lambda seq: f"UPDATE audit SET body = body || char(32) WHERE seq = {seq}",
        lambda seq: f"UPDATE audit SET at = at || '0' WHERE seq = {seq}",
        lambda seq: f"UPDATE audit SET call = call + 1 WHERE seq = {seq}",
        lambda seq: f"UPDATE audit SET kind = kind || ' ' WHERE seq = {seq}",
        lambda seq: f"DELETE FROM audit WHERE seq = {seq}",
    ]
    original = (tmp_path / "audit.db").read_bytes()
    for _ in range(40):
        (tmp_path / "audit.db").write_bytes(original)
        seq = chance.randrange(1, 100)
        tamper(tmp_path / "audit.db", chance.choice(fields)(seq))
        assert verified(tmp_path / "audit.db").first_wrong == seq


def test_bytes_may_not_move_from_one_field_to_the_next() -> None:
    one = link(START, 1, "end", 1, "2026-01-01 00:00:00.000", b"0\0x")
    assert one != link(START, 1, "end", 1, "2026-01-01 00:00:00.000\0000", b"x")
    assert one != link(START, 11, "end", 1, "2026-01-01 00:00:00.000", b"0\0x")


def test_progress_is_told_now_and_then() -> None:
    with opened("memory", Path()) as diary:
        body = encode(EndBody("success"))

        def write(tables: Any) -> None:
            for _ in range(EVERY + 5):
                tables.append("message", 0, body)

        diary.store.transact(write)
        told: list[int] = []
        assert diary.store.look(lambda tables: verify_audit(tables, progress=told.append)).ok
        assert told == [EVERY]
