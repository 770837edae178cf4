"""Nodes that run `rightcall serve` on one PostgreSQL server behind a balancer, as `make cluster` starts them."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rightcall.server.health import LOOKING
from support.cluster import HAPROXY, Cluster, McpClient
from support.postgres import POSTGRES, binaries_of

pytestmark = [pytest.mark.postgres, pytest.mark.long]
SOON = 5.0
"""Half a second, and what a busy machine adds."""


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster.started(binaries_of(POSTGRES[-1]), count=2, own_balancer=True) as made:
        yield made


def rightcall(cluster: Cluster, *words: str) -> str:
    command = [sys.executable, "-m", "rightcall", *words, "--policy", str(cluster.policy)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cluster.folder, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_cluster_goes_on_without_the_node_that_died_and_leaves_no_process() -> None:
    with Cluster.started(binaries_of(POSTGRES[-1]), count=2, own_balancer=True) as cluster:
        clients = [McpClient(cluster) for _ in range(2)]
        for client in clients:  # each has its session on another node
            assert b'"text": "hi"' in client.call("notes_echo", text="hi").body
        assert [cluster.complete().status for _ in range(4)] == [200] * 4
        cluster.nodes[0].kill()
        assert [cluster.complete().status for _ in range(4)] == [200] * 4
        statuses = sorted(client.call("notes_echo", text="again").status for client in clients)
        assert statuses == [200, 404]  # the session of the dead node is gone, and its client is told to begin anew
        assert McpClient(cluster).call("notes_echo", text="new").status == 200
        cluster.nodes[0].start()
        cluster.nodes[0].await_ready()
        assert cluster.complete(port=cluster.nodes[0].port).status == 200
        verified = json.loads(rightcall(cluster, "audit", "verify", "--json"))
        assert verified["ok"], verified
        processes = [node.process for node in cluster.nodes]
        balancer = cluster.balancer
    assert balancer is not None
    assert balancer.poll() is not None
    assert all(process is not None and process.poll() is not None for process in processes)


def test_the_balancer_asks_nodes_what_the_example_for_service_asks() -> None:
    example = Path(__file__).parents[2] / "examples" / "service" / "haproxy.cfg"
    for config in (HAPROXY, example.read_text()):
        assert set(re.findall(r"http-check send meth GET uri (\S+)", config)) == {"/health/ready"}


@pytest.mark.promise("A-04")
def test_a_token_from_a_store_that_is_gone_is_not_called_wrong(cluster: Cluster) -> None:
    token = json.loads(rightcall(cluster, "token", "new", "--as", "ada", "--json"))["token"]
    headers = {"x-rightcall-token": token}
    node = cluster.nodes[0].port
    body = {"model": "practice", "messages": [{"role": "user", "content": "hello"}]}
    assert cluster.ask("POST", "/v1/chat/completions", body, headers, port=node).status == 200
    cluster.server.kill()
    began = time.monotonic()
    answer = cluster.ask("POST", "/v1/chat/completions", body, headers, port=node)
    tried = [cluster.ask("POST", "/v1/chat/completions", body, headers, port=node).status for _ in range(3)]
    assert time.monotonic() - began < SOON
    assert 401 not in {answer.status, *tried}
    assert 403 not in {answer.status, *tried}
    cluster.server.start()


def test_a_server_is_one_node_and_takes_four_connections_at_most(cluster: Cluster) -> None:
    client = McpClient(cluster)
    for number in range(10):
        client.call("notes_echo", text=str(number))
        cluster.complete()
    assert cluster.connections() <= 4 * len(cluster.nodes)
    name = cluster.url.split("/")[3].partition("?")[0]
    leases = cluster.server.run("SELECT count(*) FROM rightcall.nodes WHERE until > clock_timestamp()", name)
    assert leases == [(len(cluster.nodes),)]


@pytest.mark.promise("A-04")
def test_a_node_whose_store_was_put_back_or_is_down_says_that_it_is_not_ready(cluster: Cluster) -> None:
    node = cluster.nodes[0].port
    client = McpClient(cluster, node)
    assert b'"text": "hi"' in client.call("notes_echo", text="hi").body

    def told() -> tuple[int, str, bool]:
        time.sleep(LOOKING)
        said = json.loads(cluster.ask("GET", "/health", port=node).body)
        return cluster.ask("GET", "/health/ready", port=node).status, said["status"], said["ready"]

    assert told() == (200, "ok", True)
    name = cluster.url.split("/")[3].partition("?")[0]
    cluster.server.run("UPDATE rightcall.nodes SET seq = 0", name)  # as a copy has it that is put back
    assert b'"isError":true' in client.call("notes_echo", text="hi").body.replace(b" ", b"")
    assert told() == (503, "degraded", False)
    cluster.server.kill()
    assert told() == (503, "degraded", False)
    cluster.server.start()
