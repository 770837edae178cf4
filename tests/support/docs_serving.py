"""The servers that a page of the documentation starts. `$ rightcall serve …` and `$ rightcall proxy …` go on running
beside the commands that follow, until the page starts another one or ends.

So that pages can be run at once and anywhere, a free port stands in for the one they name, and the practice model for
every `--upstream`.
"""

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from rightcall.doctor.practice import practice_app
from rightcall.server.app import running

STARTS = re.compile(r"(?:[A-Z_]+=\S+ )*rightcall (?:serve|proxy)\b(?!.*--help)")
UPSTREAM = re.compile(r"--upstream https?:\S+")
PORT = "4141"
LAST_LINE = "Ctrl-C stops."


class Servers(AbstractContextManager["Servers"]):
    """At most one at a time."""

    def __init__(self) -> None:
        self._running = ExitStack()
        self._port = PORT
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
        self._port = found[1] if found else PORT
        return printed.replace(f":{self._port}", f":{PORT}")

    def located(self, text: str) -> str:
        """A command or program of the page, with the port on which its server really listens."""
        return text.replace(f"127.0.0.1:{PORT}", f"127.0.0.1:{self._port}")


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
