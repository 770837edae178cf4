"""What starting costs: CPU of whole child processes, since that is what a hook or a shell user pays."""

import json
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

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
    first = f"from rightcall import Gate; assert Gate([{SEARCH!r}]).check('search_flights', {RIGHT!r}).ok"
    taken = cpu([sys.executable, "-c", first])
    yield Figure(
        "import, build a gate, check one call, CPU beyond bare Python",
        f"{(taken - bare) * 1e3:.0f} ms",
        f"{bare * 1e3:.0f} ms bare",
        "",
        "",
        None,
    )
    with tempfile.TemporaryDirectory() as folder:
        tools = Path(folder) / "tools.json"
        tools.write_text(json.dumps([SEARCH]))
        start = "import sys; from rightcall.cli import main; sys.exit(main())"
        for name, arguments in (("right", json.dumps(RIGHT)), ("broken", str(RIGHT | {"passengers": "2"}))):
            command = [sys.executable, "-c", start, "check", "--tools", str(tools), "search_flights", arguments]
            taken = cpu(command)
            yield Figure(
                f"rightcall check, a {name} call, CPU of the whole process",
                f"{taken * 1e3:.0f} ms",
                f"{bare * 1e3:.0f} ms bare",
                "",
                "<= 150 ms",
                taken <= 0.150,
            )
