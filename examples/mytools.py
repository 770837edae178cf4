"""Tools of one's own for `rightcall run`: functions with type hints, each with the effects it has."""

from pathlib import Path

from rightcall import tool


@tool(effects=["read"], example={"text": "to be or not to be"})
def word_count(text: str, unique: bool = False) -> int:
    """Count the words of a text."""
    words = text.split()
    return len(set(words) if unique else words)


@tool(effects=["write"], paths=["path"], preview=lambda arguments: f"would append a line to {arguments['path']}")
def append_note(path: str, line: str) -> str:
    """Append a line to a file of notes."""
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    return f"appended to {path}"


TOOLS = [word_count, append_note]
