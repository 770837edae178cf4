"""Taking back one word on a pull request, though more was said since: only what depends on it stands in the way, as
the merge does that it was counted for, and no comment."""

from msgspec import DecodeError
from msgspec.json import decode, encode
from msgspec.structs import replace

from rightcall.execute.write.journal import Contents, Kept
from rightcall.execute.write.pulls import PullRecord
from rightcall.fs.spots import seen_file


def remark_back(kept: Kept, contents: Contents) -> tuple[bytes, bytes] | None:
    """The record of a pull request as it is and as it would be without the remark that a change has added; None where
    the change did anything else, or the request is not open any more. `kept` is such a record."""
    seen = seen_file(kept.tree, kept.path)
    before, after = _record(contents.read(kept.before)), _record(contents.read(kept.after))
    now = None if seen is None else _record(seen.content)
    if seen is None or before is None or after is None or now is None:
        return None
    said = after.discussion[-1:]
    only = replace(after, discussion=before.discussion) == before and after.discussion == (*before.discussion, *said)
    if not said or not only or now.status != "open" or said[0] not in now.discussion:
        return None
    at = len(now.discussion) - 1 - now.discussion[::-1].index(said[0])
    without = replace(now, discussion=(*now.discussion[:at], *now.discussion[at + 1 :]))
    return seen.content, encode(without) + b"\n"


def _record(content: bytes | None) -> PullRecord | None:
    try:
        return None if content is None else decode(content, type=PullRecord)
    except DecodeError:
        return None
