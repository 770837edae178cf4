"""Abuse of the proxy, while a normal client asks and is timed: is everybody else refused, and is nobody made to wait?

    python scripts/storm.py [--seconds 15]

Slow connections, a body of a gigabyte, chunks and headers without end, wrong tokens, foreign Hosts and Origins: first
each alone, then all at once, on 127.0.0.1 only. Ends with 1 when one of them was let in, when the normal client waited
500 ms or longer or got a wrong answer, or when the server's memory grew by more than 100 MB.
"""

import argparse
import asyncio
import re
import secrets
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.proxy_contenders import Contender, load, rightcall, upstream
from bench.table import columns

SLOW = 500
GIGABYTE = 1_000_000_000
PIECE = b"x" * 65_536
PATIENCE = 0.5
"""Seconds a normal client waits at most."""
GROWTH = 100
"""Megabytes."""
STATUS = re.compile(rb"HTTP/1\.1 (\d{3})")

Outcomes = Counter[str]
Attack = Callable[[Contender, float, Outcomes], Awaitable[None]]


class Result(NamedTuple):
    what: str
    outcomes: Outcomes
    took: list[float]
    memory: float

    @property
    def let_in(self) -> int:
        return sum(count for outcome, count in self.outcomes.items() if outcome.startswith("2"))

    @property
    def sound(self) -> bool:
        return not self.let_in and max(self.took) < PATIENCE and self.memory < GROWTH


# ── those who abuse it ───────────────────────────────────────────────────────────────────────────────────────────


async def slow(at: Contender, seconds: float, outcomes: Outcomes) -> None:
    """Half of them send a head byte by byte, a quarter a body, and a quarter nothing."""
    head = f"POST {at.prefix}/v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{at.port}\r\n".encode()
    until = time.monotonic() + seconds

    async def one(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", at.port)
        if number % 4 == 0:
            writer.write(head + b"content-length: 5000\r\n\r\n")
        rest = iter((head + b"x-slow: 1\r\n" * 100).decode("latin-1"))
        while time.monotonic() < until and not reader.at_eof():
            if number % 4 != 1:
                writer.write(next(rest).encode())
            with suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    outcomes[_status(await reader.read(4096))] += 1
                break
        else:
            outcomes["still waiting"] += 1
        writer.close()

    await _all(one(number) for number in range(SLOW))


async def gigabyte(at: Contender, seconds: float, outcomes: Outcomes) -> None:
    """Announced, and sent whatever the answer is."""
    head = _head(at, f"content-length: {GIGABYTE}")
    await _pour(at, seconds, outcomes, lambda sent: head if not sent else PIECE)


async def gigabyte_in_chunks(at: Contender, seconds: float, outcomes: Outcomes) -> None:
    head = _head(at, "transfer-encoding: chunked")
    chunk = b"%x\r\n%b\r\n" % (len(PIECE), PIECE)
    await _pour(at, seconds, outcomes, lambda sent: head if not sent else chunk)


async def endless_chunks(at: Contender, seconds: float, outcomes: Outcomes) -> None:
    """A byte a chunk."""
    head = _head(at, "transfer-encoding: chunked")
    await _pour(at, seconds, outcomes, lambda sent: head if not sent else b"1\r\nx\r\n" * 5_000)


async def endless_extension(at: Contender, seconds: float, outcomes: Outcomes) -> None:
    """The line with the size of a chunk does not end."""
    head = _head(at, "transfer-encoding: chunked")
    await _pour(at, seconds, outcomes, lambda sent: head + b"1;" if not sent else PIECE)


async def endless_head(at: Contender, seconds: float, outcomes: Outcomes) -> None:
    head = _head(at, "x-first: 1").removesuffix(b"\r\n")
    await _pour(at, seconds, outcomes, lambda sent: head if not sent else b"x-more: and more of it\r\n" * 1_000)


async def wrong_tokens(at: Contender, seconds: float, outcomes: Outcomes) -> None:
    path, host = "/v1/chat/completions", f"127.0.0.1:{at.port}"
    await _ask(seconds, at.port, outcomes, lambda: f"GET /{secrets.token_urlsafe(24)}{path} HTTP/1.1\r\nhost: {host}")


async def foreign_host(at: Contender, seconds: float, outcomes: Outcomes) -> None:
    await _ask(seconds, at.port, outcomes, lambda: f"GET {at.prefix}/plain HTTP/1.1\r\nhost: evil.example:{at.port}")


async def foreign_origin(at: Contender, seconds: float, outcomes: Outcomes) -> None:
    request = f"GET {at.prefix}/plain HTTP/1.1\r\nhost: 127.0.0.1:{at.port}\r\norigin: https://evil.example"
    await _ask(seconds, at.port, outcomes, lambda: request)


ATTACKS: dict[str, Attack] = {
    f"{SLOW} slow connections": slow,
    "bodies of 1 GB": gigabyte,
    "bodies of 1 GB in chunks": gigabyte_in_chunks,
    "chunks of one byte without end": endless_chunks,
    "a chunk's line without end": endless_extension,
    "headers without end": endless_head,
    "wrong tokens": wrong_tokens,
    "a foreign Host": foreign_host,
    "a foreign Origin": foreign_origin,
}


def _head(at: Contender, more: str) -> bytes:
    line = f"POST {at.prefix}/v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{at.port}\r\n{more}\r\n\r\n"
    return line.encode()


def _status(answer: bytes) -> str:
    found = STATUS.match(answer)
    return found[1].decode() if found else "cut off"


async def _pour(at: Contender, seconds: float, outcomes: Outcomes, piece: Callable[[int], bytes]) -> None:
    """Again and again as much as is taken, up to a gigabyte each time, with a little time between two."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        reader, writer = await asyncio.open_connection("127.0.0.1", at.port)
        sent, answer = 0, asyncio.ensure_future(reader.read(4096))
        with suppress(OSError):
            while sent < GIGABYTE and time.monotonic() < until:
                data = piece(sent)
                writer.write(data)
                sent += len(data)
                await writer.drain()
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(1):
                outcomes[_status(await answer)] += 1
        answer.cancel()
        writer.transport.abort()
        await asyncio.sleep(0.05)


async def _ask(seconds: float, port: int, outcomes: Outcomes, request: Callable[[], str]) -> None:
    until = time.monotonic() + seconds

    async def one() -> None:
        while time.monotonic() < until:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            with suppress(OSError, asyncio.IncompleteReadError):
                for _ in range(20):
                    writer.write(f"{request()}\r\n\r\n".encode())
                    head = await reader.readuntil(b"\r\n\r\n")
                    size = re.search(rb"content-length: (\d+)", head)
                    await reader.readexactly(int(size[1]) if size else 0)
                    outcomes[_status(head)] += 1
                    await asyncio.sleep(0.005)
            writer.close()

    await _all(one() for _ in range(4))


async def _all(tasks: Iterator[Awaitable[None]]) -> None:
    for failure in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(failure, BaseException) and not isinstance(failure, OSError):
            raise failure


# ── the one who does not ─────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def normal_client(at: Contender) -> Iterator[list[float]]:
    """Asks without a pause, in a process of its own; every answer is compared. The seconds of each."""
    took: list[float] = []
    over = threading.Event()
    wrong: list[str] = []

    def work() -> None:
        try:
            while not over.is_set():
                seen = load(at.job(kind="repaired", count=50, check="call"))
                took.extend(seen.took)
                if seen.wrong:
                    wrong.append(seen.example)
        except RuntimeError as failed:
            wrong.append(str(failed))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield took
    finally:
        over.set()
        thread.join()
    if wrong:
        raise SystemExit(f"the normal client got a wrong answer: {wrong[0]}")


def storm(at: Contender, what: str, attacks: list[Attack], seconds: float) -> Result:
    outcomes: Outcomes = Counter()

    async def all_of_them() -> None:
        await asyncio.gather(*(attack(at, seconds, outcomes) for attack in attacks))

    before = at.memory()
    with normal_client(at) as took:
        if attacks:
            asyncio.run(all_of_them())
        else:
            time.sleep(seconds)
    return Result(what, outcomes, took, at.memory() - before)


def row(result: Result) -> tuple[str, ...]:
    cuts = statistics.quantiles(result.took, n=100)
    told = ", ".join(f"{outcome}: {count}" for outcome, count in sorted(result.outcomes.items()))
    times = (f"{value * 1e3:.1f}" for value in (cuts[49], cuts[98], max(result.took)))
    return (result.what, *times, str(len(result.took)), f"{result.memory:+.0f}", told, "ok" if result.sound else "BAD")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=15.0, help="of the storm with all at once (15)")
    options = parser.parse_args()
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as folder, upstream() as server, rightcall(server, Path(folder)) as ours:
        load(ours.job(kind="repaired", count=20, check="call"))
        results.append(storm(ours, "nobody", [], 2.0))
        for what, attack in ATTACKS.items():
            results.append(storm(ours, what, [attack], options.seconds if attack is slow else 3.0))
        results.append(storm(ours, "all at once", [*ATTACKS.values()], options.seconds))
    heads = ("who else asks", "median ms", "p99", "worst", "asked", "MB more", "answers to the others", "")
    print("A normal client, whose call is repaired, beside those who abuse the server:")
    print(columns([heads, *map(row, results)]))
    return 0 if all(result.sound for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
