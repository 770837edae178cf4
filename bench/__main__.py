"""python -m bench [PART …] [--json] [--each] [--corpora FOLDER] [--pages FOLDER]"""

import argparse
import json
import logging
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bench.coding import coding
from bench.console import watching
from bench.executing import executing
from bench.hook import hooking
from bench.identity import recognizing
from bench.mcp import bridging
from bench.normalizing import normalizing
from bench.proxy import proxying
from bench.reading import read_speed
from bench.route import routing
from bench.sandbox import sandboxing
from bench.scores import CORPORA, corpora, pages
from bench.speed import broken_json, fast_path, linear
from bench.startup import startup
from bench.streaming import long_texts, stream_speed
from bench.table import Figure, render
from bench.telemetry import following
from bench.timing import one_core
from bench.workers import working

PACKAGES = (
    "rightcall", "msgspec", "jsonschema-rs", "orjson", "json-repair", "fast-json-repair", "llm-output-parser",
    "litellm", "fastmcp", "bm25s", "rank-bm25",
)  # fmt: skip
PAGES = "pages"


def measures(each: bool, corpora_folder: Path | None = None) -> dict[str, Callable[[], Iterator[Figure]]]:
    return {
        "fast": fast_path,
        "normalize": normalizing,
        "small": lambda: broken_json(200, "200 B", each),
        "large": lambda: broken_json(10_000, "10 kB", each),
        "linear": linear,
        "read": read_speed,
        "stream": stream_speed,
        "long": long_texts,
        "execute": executing,
        "code": coding,
        "proxy": proxying,
        "mcp": bridging,
        "start": startup,
        "hook": hooking,
        "route": lambda: routing(corpora_folder),
        "sandbox": sandboxing,
        "telemetry": following,
        "identity": recognizing,
        "console": watching,
        "workers": working,
    }


def versions() -> dict[str, str]:
    """Of what is installed: not every peer has to be."""
    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def show(figures: list[Figure], as_json: bool) -> None:
    known = versions()
    if as_json:
        print(json.dumps({"versions": known, "figures": [figure._asdict() for figure in figures]}, ensure_ascii=False))
    else:
        print(
            "CPU time, best of many, one core (code, sandbox: wall time, medians; "
            "proxy, mcp, console: CPU of the process); "
            + ", ".join(f"{name} {number}" for name, number in known.items())
        )
        print(render(figures))


def arguments() -> argparse.Namespace:
    names = [*measures(False), *CORPORA, PAGES]
    parser = argparse.ArgumentParser(prog="bench", description="RightCall beside its peers, as ratios.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"only these parts: {', '.join(names)} (all)")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object, not as a table")
    parser.add_argument("--each", action="store_true", help="also each kind of damage by itself")
    parser.add_argument(
        "--corpora", type=Path, metavar="FOLDER", help=f"also score {', '.join(CORPORA)} in this folder"
    )
    parser.add_argument("--pages", type=Path, metavar="FOLDER", help="also look for calls in pages that hold none")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(names):
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    for folder, needing in ((options.corpora, set(CORPORA)), (options.pages, {PAGES})):
        if folder is None and needing & set(options.parts):
            parser.error(f"{', '.join(sorted(needing & set(options.parts)))}: in which folder? (--corpora, --pages)")
        if folder is not None and not folder.is_dir():
            parser.error(f"{folder} is no folder")
    options.parts = options.parts or names
    return options


def main() -> int:
    options = arguments()
    one_core()
    logging.disable()  # every refusal is a log line
    wanted = {name: run for name, run in measures(options.each, options.corpora).items() if name in options.parts}
    figures = [figure for run in wanted.values() for figure in run()]
    if wanted:
        show(figures, options.json)
    sound = all(figure.met is not False for figure in figures)
    if options.corpora:
        sound = corpora(options.corpora, options.parts) and sound
    if options.pages and PAGES in options.parts:
        sound = pages(options.pages) and sound
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
