"""A process that redeems approvals: `redeeming.py DATABASE COUNT`. Says `ready`, waits for a line, then tries every
approved call once and prints how many were let through."""

import sys

from rightcall.record.sqlite import SqliteStore
from support.approvals import request_of, try_call


def main(path: str, count: int) -> None:
    store = SqliteStore(path)
    print("ready", flush=True)  # noqa: T201
    sys.stdin.readline()
    decisions = [try_call(store, request_of({"n": n}, at=store.clock.now())).decision for n in range(count)]
    store.close()
    print(sum(one.kind == "allow" for one in decisions))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
