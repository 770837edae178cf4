"""Check tool definitions for what makes models and providers fail, and write the fixes that are mechanical.

    definitions ─▶ Document ─▶ linter (likeness, wording, prose, schemas, providers, lists, …) ─▶ Finding …
                                                                       ╰─▶ fixes ─▶ the same file, corrected

The rules are data with examples: the reference page is made from them, and a test runs each example.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.lint.definitions import Document, ToolView, read_file, view_tools
    from rightcall.lint.findings import Finding
    from rightcall.lint.linter import Choice, lint
    from rightcall.lint.rules import Rule, load_rules
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "definitions": "Document ToolView read_file view_tools",
            "findings": "Finding",
            "linter": "Choice lint",
            "rules": "Rule load_rules",
        },
    )

__all__ = ["Choice", "Document", "Finding", "Rule", "ToolView", "lint", "load_rules", "read_file", "view_tools"]
