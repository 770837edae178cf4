"""Taking back what a change did to a checkout's index, though git has written it again since: it does so whenever it
has looked at a file."""

import os

from rightcall.execute.write.journal import Contents, Kept
from rightcall.fs.spots import seen_file


def index_back(kept: Kept, contents: Contents) -> tuple[bytes, bytes | None] | None:
    """The index as it is and as it would be without the change; None where its files are staged anew. ToolFailure for
    one that cannot be read."""
    from rightcall.execute.write.checkout_index import taken_back  # late: most changes touch no index

    seen = seen_file(kept.tree, kept.path)
    if seen is None:
        return None
    before, after = contents.read(kept.before), contents.read(kept.after)
    if seen.content == after:
        return seen.content, before
    written = os.stat(os.path.join(kept.tree, kept.path), follow_symlinks=False).st_mtime_ns
    found = taken_back(before, after, seen.content, written)
    return None if found is None else (seen.content, found)
