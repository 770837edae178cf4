"""Putting RightCall into the settings of hosts, and taking it out again.

    places (which file?) ─▶ plans ─▶ hosts, edits (text in, text out) ─▶ shown as a difference ─▶ one atomic write

Every edit is an insertion, a removal or a replacement of a few characters in the text that is there: comments, order,
indentation and line ends of the rest keep their bytes. What cannot be edited so is refused with the lines to add by
hand. Nothing is written that was not read back first and found to mean what it should. `trying` runs what was
installed, once.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.hosts.install.places import HOSTS, Host, Scope, Wish, host_named, settings_file
    from rightcall.hosts.install.plans import (
        Change,
        Done,
        Installed,
        Record,
        install,
        installed_in,
        planned_install,
        planned_removal,
        read_manifest,
        uninstall,
    )
    from rightcall.hosts.install.trying import Tried, try_hook, try_server
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "places": "HOSTS Host Scope Wish host_named settings_file",
            "plans": "Change Done Installed Record install installed_in planned_install planned_removal "
            "read_manifest uninstall",
            "trying": "Tried try_hook try_server",
        },
    )

__all__ = [
    "HOSTS", "Change", "Done", "Host", "Installed", "Record", "Scope", "Tried", "Wish", "host_named", "install",
    "installed_in", "planned_install", "planned_removal", "read_manifest", "settings_file", "try_hook",
    "try_server", "uninstall",
]  # fmt: skip
