"""Reads the examples out of a Markdown file, so that the tests can run them.

How an example states what it prints:

    ```python              `#> text` below the line that prints it, or `>>>` as in a docstring,
                           or a ```text block right after it that holds all it prints
    ```console             `$ command`, then its output; a line `…` stands for any lines, `…` in a line for any text
                           `$ rightcall serve …`, `$ rightcall proxy …` and the protected server of the examples run on
                           beside what follows;
                           in a ```console { .server } block also beside the Python of the page
    ```python title="agent.py"   a file that the commands of the page find beside them; a second part is put behind it
    ```python { .hosts }   needs a framework, and ```console { .hosts } too: `make test-hosts` runs them
    ```python { .shown }   only shown: a generated page, whose source is tested elsewhere
    ```bash, ```sh         commands only
    ```json, ```toml       must be readable
"""

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import pairwise
from typing import NamedTuple

from rightcall.doctor.practice import practice_app
from rightcall.server.app import running

FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```[ ]*$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    language: str
    info: str
    body: str
    line: int
    output: str | None
    """What the ```text block right after it says, if there is one."""


class Command(NamedTuple):
    text: str
    output: str
    line: int


def blocks(markdown: str) -> Iterator[Block]:
    for match, following in pairwise([*FENCE.finditer(markdown), None]):
        assert match
        output = None
        if following and following["info"].strip() == "text" and not markdown[match.end() : following.start()].strip():
            output = following["body"]
        body = re.sub(rf"^{match['indent']}", "", match["body"], flags=re.MULTILINE)
        language, _, info = match["info"].strip().partition(" ")
        yield Block(language, info.strip("{. }"), body, markdown.count("\n", 0, match.start("body")) + 1, output)


def commands(block: Block) -> Iterator[Command]:
    """`$ command` lines (continued by a trailing backslash, or inside an open quote) with the lines that follow."""
    command, output, start = "", list[str](), 0
    for number, line in enumerate(block.body.splitlines(), block.line):
        if command and not output and unfinished(command):
            command += "\n" + line.removeprefix("> ")
        elif line.startswith("$ "):
            if command:
                yield Command(command, "\n".join(output), start)
            command, output, start = line[2:], [], number
        else:
            output.append(line)
    if command:
        yield Command(command, "\n".join(output), start)


def file_name(block: Block) -> str | None:
    """The file that a block is, or is a part of."""
    found = re.fullmatch(r'title="([\w.]+)"', block.info)
    return found and found[1]


def unfinished(command: str) -> bool:
    return command.endswith("\\") or command.count("'") % 2 == 1


def same(stated: str, printed: str) -> bool:
    """Whether the output is as stated, where `…` stands for anything (alone in a line: for any lines)."""
    lines = [line.rstrip() for line in stated.strip("\n").splitlines()]
    parts = [r"(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*") + r"\n" for line in lines]
    actual = "".join(line.rstrip() + "\n" for line in printed.strip("\n").splitlines())
    return re.fullmatch("".join(parts), actual) is not None


STARTS = re.compile(r"(?:[A-Z_]+=\S+ )*rightcall (?:serve|proxy)\b(?!.*--help)|python examples/protected_server\.py\b")
UPSTREAM = re.compile(r"--upstream https?:\S+")
PORT, PROTECTED = "4141", "4150"
LAST_LINE = "Press Ctrl-C to stop."


class Servers(AbstractContextManager["Servers"]):
    """At most one at a time."""

    def __init__(self) -> None:
        self._running = ExitStack()
        self._port = PORT
        self._usual = PORT
        self.started = False

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def start(self, command: str) -> str:
        """Starts it instead of the one before. Returns what it prints until it is ready, as the page would have it."""
        self._running.close()
        self.started = True
        if UPSTREAM.search(command):
            host, port = self._running.enter_context(running(practice_app()))
            command = UPSTREAM.sub(f"--upstream http://{host}:{port}", command)
        printed = self._running.enter_context(_started(f"{command} --port 0"))
        found = re.search(r"http://127\.0\.0\.1:(\d+)", printed)
        self._usual = PROTECTED if "protected_server" in command else PORT
        self._port = found[1] if found else self._usual
        return printed.replace(f":{self._port}", f":{self._usual}")

    def located(self, text: str) -> str:
        """A command or program of the page, with the port on which its server really listens."""
        return text.replace(f"127.0.0.1:{self._usual}", f"127.0.0.1:{self._port}")

    def shown(self, text: str) -> str:
        """What a command prints, as the page has it."""
        return text.replace(f"127.0.0.1:{self._port}", f"127.0.0.1:{self._usual}")


@contextmanager
def _started(command: str) -> Iterator[str]:
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            ["bash", "-c", command], stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True
        )
        assert process.stdout is not None
        try:
            printed = ""
            for line in process.stdout:
                printed += line
                if LAST_LINE in line or line.startswith("{"):
                    break
            else:  # it did not start, and says why
                errors.seek(0)
                printed += errors.read()
            yield printed
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
            process.communicate()
