"""Where this user keeps what lasts, and what a file is known by there. Only the standard library: hooks load it."""

import os
import sys


def state_folder() -> str:
    """The user's own folder for what lasts: the record of calls in projects without a policy, and the sockets."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~\\AppData\\Local")
    else:
        base = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):  # from the folder that one happens to be in it would be that folder's word
        base = os.path.expanduser("~/.local/state")
    return os.path.join(os.path.abspath(base), "rightcall")


def identity(policy: str) -> str:
    """What a policy file is known by: its name in its real folder. A link to it in another project is another policy,
    since the record lies beside the link."""
    folder, name = os.path.split(os.path.abspath(policy))
    return os.path.join(os.path.realpath(folder), name)
