"""What was put into the folder of Agent Zero, noted for `rightcall status` and `uninstall`: by `rightcall install`, and
by the script of a checkout, which is this module. Where nothing of ours is installed it notes nothing."""

import os
import sys

from rightcall.errors import ConfigError
from rightcall.hosts.agent_zero_install import main
from rightcall.trust.places import state_folder

HOST = "agent-zero"


def note(folder: str, there: bool) -> None:
    """Whether a folder has it. Raises ConfigError, OSError, and ImportError without the packages that ours needs."""
    from rightcall.installing.manifest import Record, locked, read_manifest, write_manifest

    state, real = state_folder(), os.path.abspath(folder)
    if (read_manifest(state).of(HOST, real) is not None) == there:
        return
    with locked(state):
        known = read_manifest(state)
        record = Record(HOST, real, "", created=True)
        write_manifest(state, known.with_record(record) if there else known.without(HOST, real))


def noted(folder: str, there: bool) -> str:
    """`note` for the script: what went wrong with it, or nothing."""
    try:
        note(folder, there)
    except ImportError:  # nobody reads the note there
        return ""
    except (ConfigError, OSError) as error:
        return f"`rightcall status` may not know of it: {error}"
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], note=noted))
