"""A folder with a file in it, a policy that names a model's server, and what that model says."""

from pathlib import Path
from typing import Any

from msgspec import json

from support.routers import APPROVED, NONE, choice
from support.scripted.server import Answer, Scripted, ScriptedUpstream, Text
from support.trusting import write_trusted

REQUEST = "read the file docs/design.md"
EVIL = "\x1b[31m\u202eevil\x07"
SURE, READS = 0.01, {"path": "docs/design.md"}


def says(*texts: str) -> list[Scripted]:
    return [Answer([Text(text)]) for text in texts]


def reads(**more: Any) -> str:
    """The model chooses to read the file."""
    return choice("code/read", **(READS | more))


def whole_loop(answer: str = "It says: Design.") -> list[Scripted]:
    return says(reads(), APPROVED, NONE, answer)


def write_policy(folder: Path, server: ScriptedUpstream, *tables: str, **router: Any) -> None:
    """Every request with tools counts as one that needs one: how that is found is measured elsewhere."""
    settings = {"mode": "keywords", "threshold": SURE} | router
    lines = [f"{key} = {json.encode(value).decode()}" for key, value in settings.items()]
    model = ["[router.prime]", f'url = "{server.address}"', 'model = "small"']
    write_trusted(folder / "rightcall.toml", "\n".join(["[router]", *lines, *model, *tables, ""]))


def write_folder(folder: Path) -> None:
    (folder / "docs").mkdir()
    (folder / "docs" / "design.md").write_text("# Design\n")
