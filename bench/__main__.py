"""python -m bench [--json] [--each] [--only NAME …] [--corpora FOLDER]"""

import argparse
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

from bench.speed import broken_json, fast_path, linear
from bench.startup import startup
from bench.table import Figure, render
from bench.timing import one_core

PEERS = ("rightcall", "msgspec", "jsonschema-rs", "orjson", "json-repair", "fast-json-repair")


def parts(each: bool) -> dict[str, Callable[[], Iterator[Figure]]]:
    return {
        "fast": fast_path,
        "small": lambda: broken_json(200, "200 B", each),
        "large": lambda: broken_json(10_000, "10 kB", each),
        "linear": linear,
        "start": startup,
    }


def score(folder: Path) -> int:
    """The corpora are not ours and not in the repository: `rightcall eval` reads them where they are."""
    start = [sys.executable, "-c", "import sys; from rightcall.cli import main; sys.exit(main())", "eval"]
    worst = 0
    for file in (folder / "corrupted_calls.jsonl", folder / "malformed_json.jsonl"):
        if file.is_file():
            print(f"\n{file.name}", flush=True)
            flags = file.with_name(f"{file.stem}_flags.jsonl")
            extra = ["--flags", str(flags)] if flags.is_file() else []
            worst = max(worst, subprocess.run([*start, str(file), *extra], check=False).returncode)
    return worst


def main() -> int:
    names = list(parts(False))
    parser = argparse.ArgumentParser(prog="bench", description="RightCall beside its peers, as ratios.")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    parser.add_argument("--each", action="store_true", help="also each kind of damage by itself")
    parser.add_argument("--only", nargs="+", choices=names, default=names, help="only these parts")
    parser.add_argument("--corpora", type=Path, metavar="FOLDER", help="also score the corpora in this folder")
    options = parser.parse_args()
    one_core()
    logging.disable()  # every refusal is a log line
    figures = [figure for name, run in parts(options.each).items() if name in options.only for figure in run()]
    versions = {name: version(name) for name in PEERS}
    if options.json:
        print(
            json.dumps({"versions": versions, "figures": [figure._asdict() for figure in figures]}, ensure_ascii=False)
        )
    else:
        print("CPU time, best of many, one core; " + ", ".join(f"{name} {number}" for name, number in versions.items()))
        print(render(figures))
    failed = score(options.corpora) if options.corpora else 0
    return 1 if failed or any(figure.met is False for figure in figures) else 0


if __name__ == "__main__":
    sys.exit(main())
