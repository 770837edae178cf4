"""The basement: text, JSON, files and HTTP. It knows nothing of tools or calls, and every other package builds on it.

text, letters      values shown safely and cut to a budget, letters that look like others
globs              patterns for paths, and for names of tools
secrets, scan      what must not stand in a record
json/ files/ http/ three subjects with several files each; their names are in their own packages
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.base.globs import Globs, compile_globs, is_pattern, matches, path_matches
    from rightcall.base.letters import skeleton, suspicions, visible
    from rightcall.base.secrets import Redactor, is_secret
    from rightcall.base.text import (
        AnswerRoom,
        cut_counted,
        cut_end,
        cut_lines,
        cut_middle,
        cut_preview,
        escaped,
        estimate,
        fault_text,
        render_json,
    )
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "globs": "Globs compile_globs is_pattern matches path_matches",
            "letters": "skeleton suspicions visible",
            "secrets": "Redactor is_secret",
            "text": "AnswerRoom cut_counted cut_end cut_lines cut_middle cut_preview escaped estimate fault_text "
            "render_json",
        },
    )

__all__ = [
    "AnswerRoom", "Globs", "Redactor", "compile_globs", "cut_counted", "cut_end", "cut_lines", "cut_middle",
    "cut_preview", "escaped", "estimate", "fault_text", "is_pattern", "is_secret", "matches", "path_matches",
    "render_json", "skeleton", "suspicions", "visible",
]  # fmt: skip
