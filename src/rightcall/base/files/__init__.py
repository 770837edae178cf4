"""Files below a root: which of them may be touched, and how one is opened, read and written so that no link leads out.

    name ─▶ rules (by its name) ─▶ sight (opened, no link followed; may be seen) ─▶ guarded (is it ours?)

`sight` is what tools that read go through, `write` what changes one file whole or not at all.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.base.files.guarded import (
        POLICY_FILE,
        guarded_files,
        is_guarded,
        plain_file,
        state_folder,
        whole_file,
    )
    from rightcall.base.files.rules import PathRules, path_rule, path_rules
    from rightcall.base.files.sight import Opened, Sight, Unseen, below, open_beneath, open_true, true_path
    from rightcall.base.files.write import Spot, Written, opened_tree, seen_file, spot, step
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "guarded": "POLICY_FILE guarded_files is_guarded plain_file state_folder whole_file",
            "rules": "PathRules path_rule path_rules",
            "sight": "Opened Sight Unseen below open_beneath open_true true_path",
            "write": "Spot Written opened_tree seen_file spot step",
        },
    )

__all__ = [
    "POLICY_FILE", "Opened", "PathRules", "Sight", "Spot", "Unseen", "Written", "below", "guarded_files", "is_guarded",
    "open_beneath", "open_true", "opened_tree", "path_rule", "path_rules", "plain_file", "seen_file", "spot",
    "state_folder", "step", "true_path", "whole_file",
]  # fmt: skip
