"""The starter list: what asks before it runs, because it destroys, publishes, reads credentials, runs what came from
the network, escalates, persists, or switches a guard off. The list itself is `starter.txt`."""

from functools import lru_cache

from rightcall.policy.commands.runs import only_looks
from rightcall.policy.commands.words import read_lists
from rightcall.policy.commands.wrappers import Pattern, compiled

WHY: dict[str, str] = {
    "destroys": "can destroy something that cannot be brought back",
    "publishes": "changes or sends something outside this machine",
    "credentials": "reads credentials",
    "network": "runs code that comes from the network",
    "escalates": "acts with more rights, or takes a protection away",
    "persists": "changes what is started later, or the system",
    "guards": "changes what guards these calls",
    "runs": "runs code that cannot be judged beforehand",
}


@lru_cache(1)
def _lines() -> dict[str, list[tuple[str, str]]]:
    """The lines by program. They are compiled when a command comes that they could mean: a hook judges one."""
    found: dict[str, list[tuple[str, str]]] = {}
    for kind, lines in read_lists("starter.txt").items():
        for line in lines:
            for program in line.partition(" ")[0].casefold().split("|"):
                found.setdefault(program, []).append((kind, line))
    return found


def programs() -> frozenset[str]:
    """Those that the list names."""
    return frozenset(_lines())


@lru_cache(512)
def _by_operand(program: str) -> dict[str, list[tuple[str, str]]]:
    """The lines of a program by the words that may come first; under "" those that any word can begin."""
    found: dict[str, list[tuple[str, str]]] = {}
    for kind, line in _lines().get(program, ()):
        first = next((word for word in line.split()[1:] if not word.startswith("-")), "")
        for choice in [""] if "*" in first else first.split("|"):
            found.setdefault(choice, []).append((kind, line))
    return found


def listed(program: str, arguments: list[str]) -> tuple[str, Pattern] | None:
    """The first line of the list that means a command; of several, the one that names most."""
    lines = _by_operand(program) if program in _lines() else None
    if not lines:
        return None
    found: tuple[str, Pattern] | None = None
    for word in ("", *dict.fromkeys(arguments)):
        for kind, line in lines.get(word, ()):
            pattern = compiled(line)
            if pattern.hits(program, arguments) and (found is None or len(pattern.options) > len(found[1].options)):
                found = kind, pattern
    return None if found is None or only_looks(program, arguments) else found
