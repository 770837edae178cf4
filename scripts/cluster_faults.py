"""Do on purpose what goes wrong where many nodes share a PostgreSQL server, and look at what is left.

    python scripts/cluster_faults.py [--times N] [--only kills,pauses] [--server postgres13]

Nodes are killed in a call and paused beyond their lease, the server is killed and failed over, waits for its standby
are cancelled, its connections are taken, clocks are wrong by an hour, listeners are killed. Everything is on this
machine: servers in folders of their own, run by somebody who is not root, and gone afterwards. Ends with 1 when
something is not as it must be.
"""

import argparse
import logging
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support import cluster_faults as faults
from support.postgres import POSTGRES, Server, binaries_of


class Fault(NamedTuple):
    do: "Callable[..., faults.Row]"
    times: int
    settings: tuple[str, ...] = ()


FAULTS = {
    "kills": Fault(faults.kill_nodes, 200, ("max_connections=100",)),
    "pauses": Fault(faults.pause_nodes, 5),
    "server": Fault(faults.kill_server, 20),
    "failover": Fault(faults.fail_over, 5),
    "waits": Fault(faults.cancel_waits, 10),
    "connections": Fault(faults.exhaust_connections, 10, ("max_connections=20",)),
    "clocks": Fault(faults.skew_clocks, 5),
    "listeners": Fault(faults.kill_listeners, 20),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--times", type=int, help="how often each (default: as often as it takes to believe it)")
    parser.add_argument("--only", default=",".join(FAULTS), help=f"some of: {', '.join(FAULTS)}")
    parser.add_argument("--server", default=POSTGRES[-1], choices=POSTGRES)
    options = parser.parse_args()
    wanted = options.only.split(",")
    for name in wanted:
        if name not in FAULTS:
            parser.error(f"unknown fault '{name}': choose from {', '.join(FAULTS)}")
    logging.getLogger("psycopg").setLevel(logging.ERROR)  # it tells of each connection that is lost
    good = True
    for name in wanted:
        fault, began = FAULTS[name], time.monotonic()
        with Server.started(binaries_of(options.server), "synchronous_commit=on", *fault.settings) as server:
            try:
                row = fault.do(server, options.times or fault.times)
            except AssertionError as error:
                row = faults.Row(name, "no fault beyond this one", str(error), False)
        good = good and row.ok
        print(f"{'ok ' if row.ok else 'BAD'} {row.fault} ({name}, {time.monotonic() - began:.0f} s)")
        print(f"      must: {row.must}")
        print(f"      measured: {row.measured}", flush=True)
    print("make cluster-faults: all good" if good else "make cluster-faults: something is not as it must be")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
