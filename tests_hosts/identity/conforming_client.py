"""The client under test of the official conformance suite: our gateway, with the suite's server behind it.

`python conforming_client.py URL`, as the suite starts it. Whatever the gateway refuses for want of a login is followed
by that login, as a person would do it, at most three times. Asked to, the person follows a server to another provider,
and writes the provider into the policy that a secret is for.
"""

import asyncio
import json
import os
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path += [str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "tests")]

from identity.person import Person
from rightcall import load_policy
from rightcall.errors import IdentityError
from rightcall.identity.logins import IssuerChanged, Shown, Wish, log_in_at, reach_of
from rightcall.identity.vault import Vault
from rightcall.mcp.gateway.shared import SharedGateway
from rightcall.mcp.links import open_link
from support.gateways import once, shared_of

MOST_LOGINS = 3
MACHINES = {
    f"auth/{name}"
    for name in (
        "client-credentials-basic", "client-credentials-jwt", "enterprise-managed-authorization", "wif-jwt-bearer",
    )
}  # fmt: skip
DOCUMENT = "https://conformance-test.local/client-metadata.json"
"""Which the suite knows, and nobody fetches."""


def keys(scenario: str, given: dict[str, str], folder: Path) -> dict[str, Any]:
    """What somebody writes into `[servers.suite]` who was given this."""
    os.environ["SUITE_SECRET"] = given.get("client_secret", "")
    known: dict[str, Any] = {"client_id": given["client_id"]} if "client_id" in given else {}
    if "client_secret" in given:
        known["client_secret_env"] = "SUITE_SECRET"
    if "private_key_pem" in given:
        (file := folder / "key.pem").write_text(given["private_key_pem"])
        known["private_key"] = str(file)
    if (assertion := given.get("valid_jwt") or given.get("idp_id_token")) is not None:
        (file := folder / "assertion").write_text(assertion)
        known["assertion_file"] = str(file)
    if "idp_token_endpoint" in given:
        known |= {"exchange_url": given["idp_token_endpoint"], "exchange_client_id": given["idp_client_id"]}
    if scenario in MACHINES:
        known["login"] = "machine"
    return known or ({"client_id": DOCUMENT} if scenario == "auth/basic-cimd" else {})


async def log_in(gateway: SharedGateway, person: Person) -> None:
    server = gateway.door.policy.servers["suite"]
    opened: list[asyncio.Future[Any]] = []
    loop = asyncio.get_running_loop()

    def show(link: str) -> None:
        opened.append(loop.run_in_executor(None, person.open, link))

    async def entered(issuer: str = "") -> None:
        await log_in_at(server, Wish(issuer=issuer, seconds=20), reach_of(server), Vault(), Shown(show, print))

    try:
        await entered()
    except IssuerChanged as changed:
        await entered(changed.now)
    finally:
        await asyncio.gather(*opened)


async def call(gateway: SharedGateway, person: Person) -> str:
    """What the tool answered, after as many logins as it took."""
    for logins in range(MOST_LOGINS + 1):
        answer = json.dumps(await once(gateway, "tools/call", name="suite_test-tool", arguments={}))
        sys.stderr.write(f"{answer}\n")
        if "rightcall login" not in answer:
            return answer
        if logins < MOST_LOGINS:
            await log_in(gateway, person)
    sys.exit("it still wants a login")


async def named_issuer(url: str, known: dict[str, Any]) -> dict[str, Any]:
    """The line that somebody is told to write, where a secret of the policy could go to anybody."""
    server = load_policy({"version": 1, "servers": {"suite": {"url": url, **known}}}).servers["suite"]
    if not server.client_secret_env and (not server.assertion_file or server.exchange_url):
        return known
    try:
        await log_in_at(server, Wish(), reach_of(server), Vault(), Shown(print, print))
    except IdentityError as told:
        found = re.search(r'write the line issuer = "([^"]+)"', str(told))
        return known | ({"issuer": found[1]} if found else {})
    sys.exit("a secret was sent to whom nobody has named")


async def main(url: str, folder: Path) -> None:
    given = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    known = await named_issuer(url, keys(os.environ["MCP_CONFORMANCE_SCENARIO"], given, folder))
    server = {"url": url, "effects": ["read"], **known}
    policy = {"version": 1, "policy": {"repeats": 0}, "servers": {"suite": server}}
    with Person() as person:
        async with shared_of(policy, open_link) as gateway:
            await once(gateway, "tools/list")
            for _ in range(2):
                answer = await call(gateway, person)
                if '"test"' not in answer:
                    sys.exit(answer)


if __name__ == "__main__":
    with TemporaryDirectory() as state:
        os.environ["XDG_STATE_HOME"] = state
        asyncio.run(main(sys.argv[1], Path(state)))
