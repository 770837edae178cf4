"""`rightcall wrap` between the official client and a server of the official SDK, all of them processes."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp import Client, StdioServerParameters

from contract.cases import Case, Definition, policy_text
from contract.mcp_driving import Person, Site, called
from contract.outcomes import Seen
from contract.places import OURS, environment


def drive(cases: Sequence[Case], tools: tuple[Definition, ...], guarded: bool) -> list[Seen | None]:
    with TemporaryDirectory() as folder:
        site = Site(Path(folder), tools, policy_text(tools))
        own = [*OURS, "wrap", "--policy", str(site.policy), "--name", "notes", "--"]
        return asyncio.run(_drive(cases, site, [*own, *site.server] if guarded else site.server))


async def _drive(cases: Sequence[Case], site: Site, command: list[str]) -> list[Seen | None]:
    person = Person()
    server = StdioServerParameters(command=command[0], args=command[1:], env=environment())
    return await called(Client(server, elicitation_callback=person), person, site, cases)
