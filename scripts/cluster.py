"""A cluster on this machine to try things with: PostgreSQL, three nodes and a balancer, until Ctrl-C.

    python scripts/cluster.py [--nodes 3] [--own-balancer]

Everything listens on loopback only and lies in folders that are removed at the end.
"""

import argparse
import os
import shutil
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support.cluster import Cluster, haproxy_command


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=3, help="how many (3)")
    parser.add_argument("--own-balancer", action="store_true", help="scripts/balancer.py, also where there is HAProxy")
    options = parser.parse_args()
    if not options.own_balancer and haproxy_command() is None:
        print("no HAProxy found: scripts/balancer.py takes its place. To install it: sudo apt-get install haproxy")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    print(f"starting PostgreSQL, {options.nodes} nodes and a balancer", flush=True)
    try:
        with Cluster.started(count=options.nodes, own_balancer=options.own_balancer) as cluster:
            print("\n".join(told(cluster)), flush=True)
            while True:
                signal.pause()
    except KeyboardInterrupt:
        print("\nended: every process is gone, and so are their files")
    return 0


def _end(*_: object) -> None:
    """Once: whoever is impatient would leave processes behind."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def told(cluster: Cluster) -> list[str]:
    here = Path(sys.executable).parent
    rightcall = here / "rightcall" if here != Path(shutil.which("rightcall") or "").parent else Path("rightcall")
    shown = os.path.relpath(rightcall) if rightcall.is_absolute() else str(rightcall)
    base = f"{cluster.address}/{cluster.token}"
    policy = f"--policy {cluster.policy}"
    killed = cluster.nodes[0].pid
    return [
        "",
        f"  {cluster.balanced_by:12} {base}/v1   for clients of models, {base}/mcp for MCP clients",
        *(f"  node {number:<7} http://127.0.0.1:{node.port}   process {node.pid}"
          for number, node in enumerate(cluster.nodes, 1)),
        f"  {'PostgreSQL':12} {cluster.url}",
        "",
        "Try, in a second terminal:",
        f"  curl -s {base}/health",
        f"  {shown} audit tail {policy}     # the calls of all nodes",
        f"  {shown} audit verify {policy}   # a chain for each node",
        f"  {shown} pause {policy}          # stops every node; `resume` lets them go on",
        f"  kill -9 {killed}     # a node dies: the balancer goes on with the others, its calls end within 12 s",
        "Ctrl-C ends everything.",
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
