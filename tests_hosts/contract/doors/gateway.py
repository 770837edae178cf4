"""The gateway of `rightcall serve`, a process, between the official client over HTTP and a server of its SDK."""

import asyncio
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp import Client
from msgspec import json

from contract.cases import Case, Definition, policy_text
from contract.doors.wrap import drive as over_stdio
from contract.mcp_driving import Person, Site, called
from contract.outcomes import Seen
from contract.places import OURS, environment

SERVER = """
[servers.notes]
command = {command}
effects = ["read"]
env = {{ PYTHONPATH = {path} }}
"""


def drive(cases: Sequence[Case], tools: tuple[Definition, ...], guarded: bool) -> list[Seen | None]:
    if not guarded:
        return over_stdio(cases, tools, guarded=False)
    with TemporaryDirectory() as folder:
        site = Site(Path(folder), tools)
        path = json.encode(environment()["PYTHONPATH"]).decode()
        server = SERVER.format(command=json.encode(site.server).decode(), path=path)
        site.policy.write_text(policy_text(tools, server))
        with _serving(site) as url:
            return asyncio.run(_drive(cases, site, url))


async def _drive(cases: Sequence[Case], site: Site, url: str) -> list[Seen | None]:
    person = Person()
    return await called(Client(url, elicitation_callback=person), person, site, cases, prefix="notes__")


@contextmanager
def _serving(site: Site) -> Iterator[str]:
    command = [*OURS, "serve", "--policy", str(site.policy), "--port", "0", "--no-auth", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment(), cwd=site.policy.parent
    ) as process:
        assert process.stdout is not None
        try:
            yield json.decode(process.stdout.readline())["mcp"]
        finally:
            process.terminate()
