"""The words users and models read: no banned phrase in the packages that are done, and the fixed texts unchanged."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType

import pytest

from rightcall.cli import COMMANDS, main
from support.every import every

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
    """Every string literal and part of an f-string, without docstrings, and the line where its function begins. The
    compiler leaves out what is for readers alone, and keeps one constant where a walk through the tree meets ten
    nodes."""
    waiting: list[object] = [compile(file.read_text("utf-8"), str(file), "exec", dont_inherit=True, optimize=2)]
    for one in waiting:
        if isinstance(one, CodeType):
            names = {name for code in one.co_consts if isinstance(code, CodeType) for name in [code.co_qualname]}
            yield from ((one.co_firstlineno, text) for text in flat(one.co_consts) if text not in names)
            waiting += one.co_consts


def flat(constants: Iterable[object]) -> Iterator[str]:
    for one in constants:
        if isinstance(one, str):
            yield one
        elif isinstance(one, tuple | frozenset):
            yield from flat(one)


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


def test_a_banned_phrase_is_found_wherever_a_text_may_be(tmp_path: Path) -> None:
    written = [
        "a = 'it stands here'", "def f(x='it stands here'): ...", "def f(n):\n    return f'it stands {n}'",
        "class A:\n    def f(self):\n        return {'a': ('b', 'it stands here')}", "a = 'it ' 'stands'",
        "async def f():\n    return [lambda: {'it stands', 'b'}]", "if 'x' in ('a', 'it stands'): ...",
    ]  # fmt: skip
    silent = ["'it stands here'", "def stands():\n    'It stands.'", "a = 1\n'it stands'", "# it stands"]
    for code, found in [*dict.fromkeys(written, True).items(), *dict.fromkeys(silent, False).items()]:
        (tmp_path / "a.py").write_text(code)
        assert any(BANNED.search(text) for _, text in texts(tmp_path / "a.py")) is found, code


def test_no_banned_phrase_is_on_a_page_of_the_console() -> None:
    pages = sorted((SOURCE / "console" / "templates").glob("*.html"))
    assert pages
    shown = {one.name: re.sub(r"\{%.*?%\}|<[^>]*>", " ", one.read_text("utf-8"), flags=re.S) for one in pages}
    assert [f"{name}: {found[0]}" for name, text in shown.items() if (found := BANNED.search(text))] == []


def test_the_texts_fixed_by_contract_are_unchanged() -> None:
    everything = "\n".join(file.read_text("utf-8") for file in files(SOURCE))
    assert [text for text in FIXED if text not in everything] == []


@every("command", [name for name in COMMANDS if name != "version"])
def test_no_banned_phrase_is_in_a_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", command]) == 0
    assert BANNED.findall(capsys.readouterr().out) == []
