"""Policy files that a test finds rather than names, and whose full word it means."""

from pathlib import Path

from rightcall.policy.trust import give, offer


def trust(file: Path) -> Path:
    """As a person who was shown it."""
    give(offer(str(file)))
    return file


def write_trusted(file: Path, text: str) -> Path:
    file.write_text(text)
    return trust(file)
