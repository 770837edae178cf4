"""What starting costs: CPU of whole child processes, since that is what a hook or a shell user pays."""

import json
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.emissions import hermes
from bench.inputs import RIGHT, SEARCH
from bench.table import Figure

RUNS = 15


def cpu(command: list[str]) -> float:
    """Median CPU seconds, user and system, of running the command; the first run only warms the caches."""
    taken: list[float] = []
    for _ in range(RUNS + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(taken[1:])


def startup() -> Iterator[Figure]:
    bare = cpu([sys.executable, "-c", "pass"])
    with_us = cpu([sys.executable, "-c", "import rightcall"])
    yield Figure(
        "import rightcall, CPU beyond bare Python",
        f"{(with_us - bare) * 1e3:.0f} ms",
        f"{bare * 1e3:.0f} ms bare",
        "",
        "<= 60 ms",
        with_us - bare <= 0.060,
    )
    # `import rightcall` loads names lazily: the honest cost of using it is the first checked call.
    for what, first in (
        ("check one call", f"check('search_flights', {RIGHT!r}).ok"),
        ("read one text", f"read({_emission()!r}).calls[0].ok"),
    ):
        taken = cpu([sys.executable, "-c", f"from rightcall import Gate; assert Gate([{SEARCH!r}]).{first}"])
        yield Figure(
            f"import, build a gate, {what}, CPU beyond bare Python",
            f"{(taken - bare) * 1e3:.0f} ms",
            f"{bare * 1e3:.0f} ms bare",
            "",
            "",
            None,
        )
    yield from commands(bare)


def commands(bare: float) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        tools = Path(folder) / "tools.json"
        tools.write_text(json.dumps([SEARCH]))
        start = "import sys; from rightcall.cli import main; sys.exit(main())"
        for what, arguments in (
            ("check, a right call", ["check", "--tools", str(tools), "search_flights", json.dumps(RIGHT)]),
            (
                "check, a broken call",
                ["check", "--tools", str(tools), "search_flights", str(RIGHT | {"passengers": "2"})],
            ),
            ("read, a short text with a call", ["read", "--tools", str(tools), _emission()]),
            ("read, a short text without one", ["read", "--tools", str(tools), "There is no ferry on Sundays."]),
        ):
            taken = cpu([sys.executable, "-c", start, *arguments])
            yield Figure(
                f"rightcall {what}, CPU of the whole process",
                f"{taken * 1e3:.0f} ms",
                f"{bare * 1e3:.0f} ms bare",
                "",
                "<= 150 ms",
                taken <= 0.150,
            )


def _emission() -> str:
    return f"I'll look for flights.\n{hermes('search_flights', RIGHT)}"
