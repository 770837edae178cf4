"""Tokens with which clients speak for a caller over HTTP: made, revoked and found by their digests.

    rct_… ─▶ SHA-256 ─▶ the store's table ─▶ one caller

The token itself is shown once and kept nowhere. It is random enough that a plain digest cannot be reversed.
"""

import os
from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any, Final, NamedTuple
from unicodedata import normalize

from rightcall.base.letters import has_unseen, skeleton, suspicions
from rightcall.base.text import escaped
from rightcall.errors import ConfigError
from rightcall.policy.types import Token
from rightcall.record.admission import unsaid
from rightcall.record.notes import note_change
from rightcall.record.tables import Tables

PREFIX: Final = "rct_"
"""How every token of a caller begins, so that secret scanners and our own redaction know one."""
MOST: Final = 1_000
"""Tokens of one store: a server keeps all of them at hand."""
LONGEST_CALLER, LONGEST_NOTE = 100, 200


class TokenRequest(NamedTuple):
    """A token that somebody wants for a caller."""

    caller: str
    by: str
    seconds: int | None = None
    """None: it does not expire."""
    note: str = ""
    hide: Callable[[Any], Any] = unsaid
    """Says what the record keeps of the note."""


def make_token(tables: Tables, request: TokenRequest, callers: Collection[str] = ()) -> tuple[Token, str]:
    """A new token for a caller, and its text. `callers` are further names that a caller must not be mistaken for.
    Raises ConfigError."""
    caller, by, seconds, note, hide = request
    now = tables.wall()
    for token in tables.tokens():
        if has_expired(token, now):
            tables.drop_token(token.id)
    kept = tables.tokens()
    check_caller(caller, [*callers, *(one.caller for one in kept)])
    if len(note) > LONGEST_NOTE or not (note.isprintable() or not note):
        raise ConfigError(f"invalid note: expected at most {LONGEST_NOTE} printable characters")
    if len(kept) >= MOST:
        raise ConfigError(f"{MOST:,} tokens exist already; revoke some with `rightcall token revoke ID`")
    text = PREFIX + token_urlsafe(32)
    made = Token(_new_id(kept), caller, digest_of(text.encode()), _after(now, seconds), by, now, note)
    tables.put_token(made)
    note_change(tables, "token made", by, _data(made) | ({"note": hide(note)} if note else {}))
    return made, text


def revoke_tokens(tables: Tables, by: str, *, id: str | None = None, caller: str | None = None) -> list[Token]:
    """Revoke the token with this id, or all tokens of this caller. Raises ConfigError where there is none."""
    found = [one for one in tables.tokens() if (one.id == id if id is not None else one.caller == caller)]
    if not found:
        whose = f"token {escaped(id, 40)!r}" if id is not None else f"token for caller {escaped(caller or '', 100)!r}"
        raise ConfigError(f"unknown {whose}; `rightcall token list` shows all tokens")
    for token in found:
        tables.drop_token(token.id)
        note_change(tables, "token revoked", by, _data(token))
    return found


def digest_of(token: bytes) -> str:
    return sha256(token).hexdigest()


def has_expired(token: Token, now: str) -> bool:
    """`now` is the wall's time as the store writes it, in which texts are ordered as times are."""
    return bool(token.expires) and token.expires <= now


def check_caller(name: str, others: Collection[str] = ()) -> None:
    """Raises ConfigError for a name that could be taken for another: hidden characters, mixed alphabets, or a spelling
    of one of `others` that only looks the same."""
    shown = escaped(name, LONGEST_CALLER)
    if not 0 < len(name) <= LONGEST_CALLER or name != name.strip() or not name.isprintable() or "*" in name:
        raise ConfigError(
            f"invalid caller '{shown}': expected 1 to {LONGEST_CALLER} printable characters, without `*` and without "
            "blanks around them"
        )
    odd = next(suspicions(name), "")
    if odd or has_unseen(name) or normalize("NFKC", name) != name or not skeleton(name):
        why = odd or "it has characters that cannot be seen, or that only look like letters"
        raise ConfigError(f"invalid caller '{ascii(name)[1:-1]}': {why}")
    own = skeleton(name)
    near = next((one for one in others if one != name and skeleton(one) == own), None)
    if near is not None:
        raise ConfigError(
            f"invalid caller '{shown}': it can be mistaken for the caller '{escaped(near, LONGEST_CALLER)}'; "
            "use that spelling, or a name that differs in more than case, signs or look-alike letters"
        )


def _new_id(kept: Collection[Token]) -> str:
    taken = {one.id for one in kept}
    while (new := os.urandom(4).hex()) in taken:
        pass
    return new


def _after(now: str, seconds: int | None) -> str:
    if seconds is None:
        return ""
    moment = datetime.strptime(now, "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=UTC) + timedelta(seconds=seconds)
    return moment.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def _data(token: Token) -> dict[str, Any]:
    return {"id": token.id, "caller": token.caller, "expires": token.expires}
