"""The official conformance suite: what passes directly passes through the gateway and through `wrap`."""

import asyncio
import sys
import warnings
from collections.abc import Generator
from contextlib import nullcontext
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from mcp.shared.exceptions import MCPDeprecationWarning

from conforming import tasks
from conforming.bridge import bridge
from conforming.server import app, over_stdio
from conforming.suite import REVISIONS, Found, lost, run_suite
from gatewaying.running import READS, gateway
from rightcall.server.app import running

ROWS = (Path(__file__).parents[2] / "docs" / "reference" / "mcp.md").read_text(encoding="utf-8").splitlines()
WAYS = ("gateway", "gateway, stdio", "wrap")
TASKS = ("gateway, tasks", "wrap, tasks")
RUNS = [*((way, revision) for way in WAYS for revision in REVISIONS), *((way, REVISIONS[-1]) for way in TASKS)]
pytestmark = pytest.mark.promise("H-53")


class Run(NamedTuple):
    way: str
    revision: str
    direct: Found
    through: Found

    @property
    def row(self) -> str:
        return f"| {self.revision} | {self.way} | {self.direct.counted()} | {self.through.counted()} |"


@pytest.fixture(scope="module", params=RUNS, ids="-".join)
def compared(request: pytest.FixtureRequest, npm_bin: Path) -> Generator[Run]:
    """The same scenarios with the same server, twice. In a fixture, since the servers that run here use their time."""
    way, revision = request.param
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)  # of what the older revision needs
        run = by_http if way == "gateway" else by_stdio
        made = run(way, npm_bin, revision, Path(folder))
        if lost(made.direct, made.through) or made.row not in ROWS:
            # The suite has short clocks of its own, for which a busy machine may be late.
            (again := Path(folder, "again")).mkdir()
            made = run(way, npm_bin, revision, again)
        yield made


def by_http(way: str, npm_bin: Path, revision: str, folder: Path) -> Run:
    with running(app()) as (host, port):
        url = f"http://{host}:{port}/mcp"
        direct = run_suite(npm_bin, url, revision, folder / "direct")
        return Run(way, revision, direct, through_gateway({"url": url}, npm_bin, revision, folder / "through"))


def by_stdio(way: str, npm_bin: Path, revision: str, folder: Path) -> Run:
    with nullcontext([sys.executable, tasks.__file__]) if way in TASKS else over_stdio(folder) as command:
        direct = bridged(command, npm_bin, revision, folder / "direct")
        if way.startswith("wrap"):
            rightcall = which("rightcall")
            assert rightcall is not None
            wrapped = [rightcall, "wrap", "--name", "conforming", "--", *command]
            through = bridged(wrapped, npm_bin, revision, folder / "through")
        else:
            through = through_gateway({"command": command}, npm_bin, revision, folder / "through")
    kind = "tasks-" if way in TASKS else ""
    return Run(way, revision, direct.only(kind), through.only(kind))


def through_gateway(reached: dict[str, Any], npm_bin: Path, revision: str, folder: Path) -> Found:
    async def through() -> Found:
        async with gateway({"conforming": {**reached, "prefix": "", **READS}}) as site:
            return await asyncio.to_thread(run_suite, npm_bin, site.url, revision, folder)

    return asyncio.run(through())


def bridged(command: list[str], npm_bin: Path, revision: str, folder: Path) -> Found:
    with running(bridge(command)) as (host, port):
        return run_suite(npm_bin, f"http://{host}:{port}/mcp", revision, folder)


def test_what_passes_directly_passes_through_us_and_the_documentation_says_how_much(compared: Run) -> None:
    assert compared.direct.passed
    assert lost(compared.direct, compared.through) == {}
    assert compared.row in ROWS
