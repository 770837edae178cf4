"""The official conformance suite: what passes directly passes through the gateway and through `wrap`."""

import asyncio
import warnings
from collections.abc import Generator
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from mcp.shared.exceptions import MCPDeprecationWarning

from conforming.bridge import bridge
from conforming.server import app, over_stdio
from conforming.suite import REVISIONS, Found, lost, run_suite
from gatewaying.running import READS, gateway
from rightcall.server.app import running

ROWS = (Path(__file__).parents[2] / "docs" / "reference" / "mcp.md").read_text(encoding="utf-8").splitlines()
WAYS = ("gateway", "wrap")
pytestmark = pytest.mark.promise("H-53")


class Run(NamedTuple):
    way: str
    revision: str
    direct: Found
    through: Found

    @property
    def row(self) -> str:
        return f"| {self.revision} | {self.way} | {self.direct.counted()} | {self.through.counted()} |"


@pytest.fixture(scope="module", params=[(way, revision) for way in WAYS for revision in REVISIONS], ids="-".join)
def compared(request: pytest.FixtureRequest, npm_bin: Path) -> Generator[Run]:
    """The same scenarios with the same server, twice. In a fixture, since the servers that run here use their time."""
    way, revision = request.param
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)  # of what the older revision needs
        run = by_http if way == "gateway" else by_stdio
        made = Run(way, revision, *run(npm_bin, revision, Path(folder)))
        if lost(made.direct, made.through) or made.row not in ROWS:
            # The suite has short clocks of its own, for which a busy machine may be late.
            (again := Path(folder, "again")).mkdir()
            made = Run(way, revision, *run(npm_bin, revision, again))
        yield made


def by_http(npm_bin: Path, revision: str, folder: Path) -> tuple[Found, Found]:
    async def through(url: str) -> Found:
        async with gateway({"conforming": {"url": url, "prefix": "", **READS}}) as site:
            return await asyncio.to_thread(run_suite, npm_bin, site.url, revision, folder / "through")

    with running(app()) as (host, port):
        url = f"http://{host}:{port}/mcp"
        return run_suite(npm_bin, url, revision, folder / "direct"), asyncio.run(through(url))


def by_stdio(npm_bin: Path, revision: str, folder: Path) -> tuple[Found, Found]:
    rightcall = which("rightcall")
    assert rightcall is not None
    with over_stdio(folder) as command:
        found: list[Found] = []
        for name, around in (("direct", []), ("through", [rightcall, "wrap", "--name", "conforming", "--"])):
            with running(bridge([*around, *command])) as (host, port):
                found.append(run_suite(npm_bin, f"http://{host}:{port}/mcp", revision, folder / name))
    return found[0], found[1]


def test_what_passes_directly_passes_through_us_and_the_documentation_says_how_much(compared: Run) -> None:
    assert compared.direct.passed
    assert lost(compared.direct, compared.through) == {}
    assert compared.row in ROWS
