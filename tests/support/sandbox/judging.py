"""The snippets, what each of them expects, and whether what came of one is right."""

import os
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from rightcall.policy.settings import SandboxSettings
from support.sandbox.outside import SECRET, Outside

FOLDER = Path(__file__).parent / "snippets"
COMMON = re.compile(r"^(?:from (attacking|taking) import .*|require\(\"\./(attacking|taking)\.js\"\);)$", re.M)
LATE = 1.5
"""Seconds that a program may be over its time when everything of it is gone."""
BUSY = 30.0
"""The same where other tests run beside it: a busy machine is no reason to fail."""
POLLED = 120
"""Megabytes that may be had for a moment, where no part of the kernel keeps the sum and somebody has to look: on a busy
machine a look comes late."""
SIGSYS = 31


class Snippet(NamedTuple):
    """A program of its own. What is expected stands in its comments: `> a line of output`, `exit 7`, `stderr words`,
    `file name`, `limits seconds`…"""

    name: str
    kind: str
    language: str
    source: str

    def expected(self, word: str) -> list[str]:
        return re.findall(rf"^(?:#|//) {re.escape(word)}(?: (.*))?$", self.source, re.M)

    @property
    def file(self) -> str:
        return self.name.partition("/")[2]


class Result(NamedTuple):
    stdout: bytes
    stderr: bytes
    code: int | None
    signal: int | None
    limits: tuple[str, ...]
    seconds: float
    """As whoever waited has seen it."""
    files: dict[str, bytes]


@cache
def snippets() -> tuple[Snippet, ...]:
    return tuple(
        Snippet(f"{path.parent.name}/{path.name}", path.name.partition("_")[0], path.parent.name, _whole(path))
        for path in sorted(FOLDER.glob("*/*_*.*"))
        if path.suffix in (".py", ".js", ".mjs")
    )


def _whole(path: Path) -> str:
    """A snippet is a single file: what it has in common with others is laid before it."""

    def common(found: re.Match[str]) -> str:
        shared = (path.parent / f"{found[1] or found[2]}{path.suffix}").read_text()
        return shared + "\n"

    return COMMON.sub(common, path.read_text())


def settings_for(snippet: Snippet) -> SandboxSettings:
    """Tight for what takes too much, roomy for what shall come to its end on a busy machine."""
    if snippet.kind != "resource":
        return SandboxSettings(seconds=30.0)
    tight = SandboxSettings(seconds=1.5, memory=96, processes=24, scratch=16, output=200_000)
    if snippet.expected("quick"):
        return SandboxSettings(seconds=20.0)
    if snippet.language == "javascript":
        return SandboxSettings(seconds=2.5, memory=160, processes=48, scratch=16, output=200_000)
    return tight


def works_in(snippet: Snippet, tier: str) -> bool:
    """A harmless one that needs what the second tier cannot have says so: `only namespaces`."""
    return snippet.expected("only") in ([], [tier])


def faults(
    snippet: Snippet, result: Result, settings: SandboxSettings, outside: Outside, late: float = BUSY
) -> list[str]:
    """What is wrong; nothing when the sandbox has done what it must."""
    if snippet.kind == "harmless":
        found = _unlike_expected(snippet, result)
    elif snippet.kind == "escape":
        found = _not_held(result)
    else:
        found = _too_much(snippet, result, settings, late)
    everything = [result.stdout, result.stderr, *result.files.values(), *map(os.fsencode, result.files)]
    if any(SECRET.encode() in text for text in everything):
        found.append("the secret came out")
    return found + outside.damage()


def _unlike_expected(snippet: Snippet, result: Result) -> list[str]:
    found: list[str] = []
    lines = result.stdout.decode(errors="replace").splitlines()
    if count := snippet.expected("lines"):
        if lines != [str(number) for number in range(int(count[0]))]:
            found.append(f"{len(lines)} lines instead of {count[0]}")
    elif lines != snippet.expected(">"):
        found.append(f"printed {lines[:10]} instead of {snippet.expected('>')}")
    code = int((snippet.expected("exit") or ["0"])[0])
    if result.code != code:
        found.append(f"exit {result.code} (signal {result.signal}) instead of {code}")
    told = result.stderr.decode(errors="replace")
    wanted = snippet.expected("stderr")
    found += [f"standard error lacks {words!r}" for words in wanted if words not in told]
    if told and not wanted:
        found.append("something on standard error")
    found += [f"no file {name}" for name in snippet.expected("file") if not result.files.get(name)]
    if result.limits:
        found.append(f"limits {result.limits}")
    return found + ([told[-600:]] if found and told else [])


def _not_held(result: Result) -> list[str]:
    found = _did_not_run(result)
    escaped = [line for line in result.stdout.decode(errors="replace").splitlines() if line.startswith("ESCAPED")]
    if result.code != 0 and result.signal != SIGSYS:
        found.append(f"did not come to its end: exit {result.code}, signal {result.signal}, limits {result.limits}")
        found.append(result.stderr[-600:].decode(errors="replace"))
    return found + escaped[:10]


def _did_not_run(result: Result) -> list[str]:
    return [] if result.stdout.startswith(b"RAN\n") else [f"did not even start: {result.stderr[-300:]!r}"]


def _too_much(snippet: Snippet, result: Result, settings: SandboxSettings, late: float) -> list[str]:
    found = _did_not_run(result)
    most = (1.0 if snippet.expected("quick") else settings.seconds) + late
    if result.seconds > most:
        found.append(f"took {result.seconds:.2f} s")
    for kind, megabytes in (
        ("memory", settings.memory * 1.1 + POLLED),
        ("files", settings.memory + settings.scratch + POLLED),
        ("scratch", settings.scratch + POLLED),
    ):
        held = max(map(int, re.findall(rb"HELD (\d+)", result.stdout)), default=0)
        if snippet.expected(kind) and held > megabytes:
            found.append(f"held {held} MB")
    counted = max(map(int, re.findall(rb"COUNT (\d+)", result.stdout)), default=0)
    if counted > settings.processes + 8:
        found.append(f"had {counted}")
    if len(result.stdout) + len(result.stderr) > settings.output + 100_000:
        found.append(f"printed {len(result.stdout) + len(result.stderr):,} bytes")
    for name in snippet.expected("limits"):
        if name not in result.limits:
            found.append(f"limits {result.limits} do not name {name}")
    return found
