"""`audit verify` and `audit head`: anchors as people keep them, progress, and the result in words."""

import sys
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from rightcall.cli.audit_lines import records
from rightcall.cli.terminal import Style, wrap
from rightcall.errors import ConfigError
from rightcall.record.verify import Verification, verify
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.cli.store_options import Looking
    from rightcall.record.tables import Tables

Anchor = tuple[int, bytes]

_HASH = 64


def anchor_text(anchor: Anchor) -> str:
    return f"{anchor[0]}:{anchor[1].hex()}"


def anchor_of(text: str) -> Anchor:
    """An anchor as `audit head` prints it."""
    seq, _, digest = text.strip().partition(":")
    try:
        if seq.isdecimal() and len(seq) <= 18 and len(digest) == _HASH:
            return int(seq), bytes.fromhex(digest)
    except ValueError:
        pass
    right = f"`rightcall audit head` prints one: a number, a colon and {_HASH} hexadecimal digits"
    raise ConfigError(f"--anchor: {escaped(text, 90)!r} is no anchor; {right}")


def check(store: "Looking", anchor: Anchor | None) -> Verification:
    """Checks everything; somebody who waits at a terminal is told how far it is."""
    watched = sys.stderr.isatty()

    def progress(checked: int) -> None:
        sys.stderr.write(f"\r{records(checked)} are right so far …")
        sys.stderr.flush()

    def work(tables: "Tables") -> Verification:
        found = verify(tables, anchor, progress if watched else None)
        problem = store.strangeness(tables) if found.ok else ""
        return replace(found, ok=False, problem=f"The chain is whole, but {problem}.") if problem else found

    try:
        return store.look(work)
    finally:
        if watched:
            sys.stderr.write("\r\x1b[K")


def lines(result: Verification, anchor: Anchor | None, style: Style) -> list[str]:
    if not result.ok:
        found = [style.tint("✗ the audit is not as it was written", "red", "bold"), *wrap(result.problem, style.width)]
        return [*found, f"Right before that: {records(result.checked)}."] if result.first_wrong else found
    whole = f"✓ as it was written: {records(result.checked)}" if result.checked else "✓ the audit is empty"
    said = [style.tint(whole, "green", "bold")]
    if result.pruned:
        said += wrap(f"Records up to {result.pruned:,} were pruned, as the record of that says.", style.width)
    if anchor is not None:
        said.append(f"Nothing up to record {anchor[0]:,}, the anchor, is missing or another.")
    else:
        said += wrap("Without --anchor nobody can tell whether the newest records were cut off.", style.width)
    return [*said, f"head {anchor_text(result.head)}"]


def record_of(result: Verification, anchor: Anchor | None) -> dict[str, Any]:
    return {
        "ok": result.ok,
        "checked": result.checked,
        "first_wrong": result.first_wrong,
        "problem": result.problem or None,
        "head": anchor_text(result.head),
        "pruned": result.pruned or None,
        "anchor": None if anchor is None else anchor_text(anchor),
    }
