"""The words users and models read: no banned phrase in the packages that are done, and the fixed texts unchanged."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rightcall.cli import COMMANDS, main

SOURCE = Path(__file__).parent.parent / "src" / "rightcall"
DONE = (
    "gate", "policy", "executor", "models", "types.py", "base", "catalog", "doctor", "mcp", "proxy", "record", "router",
    "server", "tools", "cli", "hosts", "console",
)  # fmt: skip
"""Packages whose texts follow the voice; it only grows."""

BANNED = re.compile(
    r"\bis no (?!longer)|\bstands\b|known are|looked at|\bcame of\b|come out right|put right|of yours|\bthe very\b"
    r"|\bon whose behalf\b|\bcut off\b|\bwhat the model wrote\b|\bthe model's server\b"
    r"|\b(?:a|another|every|its|no|saved|that|the|this|unknown) packets?\b"
)
FIXED = (
    "⚠️ Invalid ", "Missing required fields: ", " Example: ", "' is not whitelisted for AI use",
    "Rate limit exceeded. Please wait before making more tool calls.", "Error: ", "[Tool: ", "[MetaGate] ",
    "Normalized ", " arguments via ",
)  # fmt: skip


def texts(file: Path) -> Iterator[tuple[int, str]]:
    """Every string literal and part of an f-string, without docstrings."""
    tree = ast.parse(file.read_text("utf-8"))
    notes = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in notes:
            yield node.lineno, node.value


def files(place: Path) -> list[Path]:
    return sorted(place.rglob("*.py")) if place.is_dir() else [place]


@pytest.mark.parametrize("package", DONE)
def test_no_banned_phrase_is_in_a_text(package: str) -> None:
    found = [
        f"{file.relative_to(SOURCE)}:{line}: {text[:100]}"
        for file in files(SOURCE / package)
        for line, text in texts(file)
        if BANNED.search(text) and text != "' was cut off"  # behind [MetaGate], where the words are fixed
    ]
    assert found == []


def test_no_banned_phrase_is_on_a_page_of_the_console() -> None:
    pages = sorted((SOURCE / "console" / "templates").glob("*.html"))
    assert pages
    shown = {one.name: re.sub(r"\{%.*?%\}|<[^>]*>", " ", one.read_text("utf-8"), flags=re.S) for one in pages}
    assert [f"{name}: {found[0]}" for name, text in shown.items() if (found := BANNED.search(text))] == []


def test_the_texts_fixed_by_contract_are_unchanged() -> None:
    everything = "\n".join(file.read_text("utf-8") for file in files(SOURCE))
    assert [text for text in FIXED if text not in everything] == []


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "version"])
def test_no_banned_phrase_is_in_a_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", command]) == 0
    assert BANNED.findall(capsys.readouterr().out) == []
