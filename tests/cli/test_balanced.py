"""Two nodes with two workers each behind HAProxy, as `examples/service/haproxy.cfg` sets it up."""

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import urlsplit

import pytest

from support import tool_server
from support.proxies import request
from support.workers import Connection, Server, serving_with, with_server

HAPROXY = shutil.which("haproxy") or ("/usr/sbin/haproxy" if os.path.exists("/usr/sbin/haproxy") else None)
CONFIG = Path(__file__).parent.parent.parent / "examples" / "service" / "haproxy.cfg"
TOKEN = "a-token-for-the-tests-0123"

pytestmark = [
    pytest.mark.long,
    pytest.mark.promise("S-03"),
    pytest.mark.skipif(HAPROXY is None, reason="needs HAProxy; `make tests-long` installs it for root, or says how"),
]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        return bound.getsockname()[1]


@contextmanager
def balanced(folder: Path, nodes: list[Server]) -> Iterator[str]:
    """The address of the balancer, once it has seen both nodes."""
    port = _free_port()
    text = CONFIG.read_text().replace("127.0.0.1:4140", f"127.0.0.1:{port}")
    for place, node in zip(("127.0.0.1:4141", "127.0.0.1:4142"), nodes, strict=True):
        text = text.replace(place, urlsplit(node.url).netloc)
    file = folder / "haproxy.cfg"
    file.write_text(text)
    process = subprocess.Popen([str(HAPROXY), "-db", "-f", str(file)], stderr=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}"
        until = monotonic() + 30
        while not _answers(address):
            assert monotonic() < until
            sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait()


def _answers(address: str) -> bool:
    try:
        return request("GET", address, "/health/ready", None, {"host": "rightcall.example"}).status == 200
    except OSError:
        return False


def test_mcp_in_both_eras_and_the_proxy_work_behind_a_balancer_and_a_node_may_restart(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    for one in folders:
        one.mkdir()
    options = ("--quiet", "--no-console", "--allow-host", "rightcall.example", "--policy")
    with (
        serving_with(folders[0], 2, *options, with_server(folders[0]), RIGHTCALL_TOKEN=TOKEN) as one,
        serving_with(folders[1], 2, *options, with_server(folders[1]), RIGHTCALL_TOKEN=TOKEN) as two,
        balanced(tmp_path, [one, two]) as address,
    ):
        clients = [Connection(f"{address}/{TOKEN}", "rightcall.example") for _ in range(6)]
        try:
            assert {got.status for got in (client.get("/v1/models") for client in clients)} == {200}
            session = clients[0].initialize()
            for nth, client in enumerate(clients):
                got = client.call("tools_echo", {"text": f"over {nth}"}, session)
                assert got.json["result"]["content"][0]["text"] == f"over {nth}"
            assert sorted(len(tool_server.starts(folder)) for folder in folders) == [1, 1]
            able = {"elicitation": {"form": {}}}
            asked = clients[1].call_alone("tools_save", {"text": "x"}, able).json["result"]
            (key,) = asked["inputRequests"]
            said = {"requestState": asked["requestState"], "inputResponses": {key: {"action": "decline"}}}
            assert clients[2].call_alone("tools_save", {"text": "x"}, able, **said).json["result"]["isError"]
            one.process.send_signal(signal.SIGTERM)
            statuses = [
                request("GET", f"{address}/{TOKEN}", "/v1/models", None, {"host": "rightcall.example"}).status
                for _ in range(40)
            ]
            assert set(statuses) == {200}, "a node that ends takes no request with it"
        finally:
            for client in clients:
                client.close()
