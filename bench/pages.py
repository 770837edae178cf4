"""python -m bench.pages FOLDER [--quick] [--show N]: pages of prose, code and documentation, in which no call is found.

Every file is read twice, without tools and with twenty common ones, whole and as a stream. Status 1 on a finding.
"""

import argparse
import logging
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rightcall import Gate
from rightcall.base.text import escaped
from rightcall.types import Reading, Verdict

CHUNK = 7  # shorter than any trigger, so that each is cut somewhere
SHOWN = 120
PLANTED = '<tool_call>{"name": "get_weather", "arguments": {"city": "Bern"}}</tool_call>'


def tool(name: str, *required: str, **others: str) -> dict[str, Any]:
    """A tool whose required arguments are text; the others have the type given."""
    types = dict.fromkeys(required, "string") | others
    properties = {name: {"type": kind} for name, kind in types.items()}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "description": name.replace("_", " "), "parameters": schema}


# The names documentation uses in its own samples: with them a sample is as near to a call as it can be.
TOOLS = [
    tool("get_weather", "city", unit="string", days="integer"),
    tool("get_current_weather", "location", unit="string", format="string"),
    tool("get_current_time", timezone="string"),
    tool("search", "query", limit="integer"),
    tool("web_search", "query", max_results="integer"),
    tool("read_file", "path", start_line="integer", end_line="integer"),
    tool("write_file", "path", "content", append="boolean"),
    tool("edit_file", "path", "old_text", "new_text"),
    tool("list_files", "path", recursive="boolean"),
    tool("bash", "command", timeout="integer"),
    tool("execute_command", "command"),
    tool("python", "code"),
    tool("calculator", "expression"),
    tool("add", a="number", b="number"),
    tool("multiply", a="number", b="number"),
    tool("send_email", "to", "subject", "body"),
    tool("fetch_url", "url"),
    tool("get_stock_price", "ticker"),
    tool("search_flights", "origin", "destination", date="string"),
    tool("final_answer", "answer"),
]


class Finding(NamedTuple):
    what: str
    """`call`, `verdict` (without a call in it), `text changed`, `stream differs` or `raised`."""
    format: str = ""
    text: str = ""


def found(reading: Reading, text: str) -> Iterator[Finding]:
    for number, verdict in enumerate(reading.calls):
        place = reading.places[number] if number < len(reading.places) else None
        at = text[place.start : place.end] if place else repr(verdict.found)
        yield Finding("verdict" if verdict.found is None else "call", place.format if place else "?", at)


def streamed(gate: Gate, text: str) -> tuple[tuple[Verdict, ...], str]:
    feed = gate.stream()
    events = [event for start in range(0, len(text), CHUNK) for event in feed.push(text[start : start + CHUNK])]
    events.extend(feed.close())
    return (
        tuple(event for event in events if isinstance(event, Verdict)),
        "".join(event for event in events if isinstance(event, str)),
    )


def judge(gate: Gate, text: str, *, quick: bool) -> tuple[list[Finding], list[str]]:
    """What is wrong with the reading of one page, and the notes it left."""
    try:
        reading = gate.read(text)
        findings = list(found(reading, text))
        if not reading.calls and reading.text != text:
            findings.append(Finding("text changed", "", reading.text))
        if not quick and streamed(gate, text) != (reading.calls, reading.text):
            findings.append(Finding("stream differs"))
    except Exception as error:  # noqa: BLE001 - one page must not end the run, and nothing may be raised at all
        return [Finding("raised", type(error).__name__, str(error))], []
    return findings, [note.code for note in reading.notes]


class Tally:
    """Pages by finding, by format of what was found, and how many things looked like a call and were none."""

    def __init__(self, gate: str) -> None:
        self.gate = gate
        self.pages: Counter[str] = Counter()
        self.formats: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()

    def add(self, findings: list[Finding], notes: list[str]) -> None:
        self.pages.update({finding.what for finding in findings})
        self.pages["any verdict"] += any(finding.what in {"call", "verdict"} for finding in findings)
        self.formats.update({finding.format for finding in findings if finding.format})
        self.notes.update(notes)

    def __str__(self) -> str:
        rest = ", ".join(f"{what} {self.pages[what]}" for what in ("text changed", "stream differs", "raised"))
        formats = ", ".join(f"{name} {count}" for name, count in self.formats.most_common()) or "none"
        notes = ", ".join(f"{code} {count}" for code, count in self.notes.most_common()) or "none"
        calls = f"pages with a call {self.pages['call']}, with any verdict {self.pages['any verdict']}"
        return f"{self.gate}: {calls}, {rest}\n    pages by format: {formats}\n    not taken for calls: {notes}"


def line(page: str, gate: str, finding: Finding) -> str:
    return f"{finding.what}, {gate}  {escaped(page)}\n    {finding.format}  {escaped(finding.text, SHOWN)}"


def run(folder: Path, gates: dict[str, Gate], *, quick: bool, show: int) -> list[Tally]:
    tallies = {name: Tally(name) for name in gates}
    pages = sorted(file for file in folder.rglob("*") if file.is_file())
    size, start = 0, time.process_time()
    for file in pages:
        text = file.read_bytes().decode(errors="replace")
        size += len(text)
        for name, gate in gates.items():
            findings, notes = judge(gate, text, quick=quick)
            tallies[name].add(findings, notes)
            for finding in findings[:show]:
                print(line(str(file.relative_to(folder)), name, finding), flush=True)
    print(f"\n{len(pages)} pages, {size / 1e6:.1f} M characters, {time.process_time() - start:.0f} s of CPU")
    return list(tallies.values()) if pages else []


def blind(gates: dict[str, Gate]) -> list[str]:
    """The gates that miss a plain call: that they find none in a page would say nothing."""
    return [name for name, gate in gates.items() if not any(verdict.found for verdict in gate.read(PLANTED).calls)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.pages", description="Pages in which no call is found.")
    parser.add_argument("folder", type=Path, help="one page a file, folders within it included")
    parser.add_argument("--quick", action="store_true", help="whole texts only, no streams")
    parser.add_argument("--show", type=int, default=5, metavar="N", help="findings to list per page and gate (5)")
    options = parser.parse_args()
    logging.disable()  # every refusal is a log line
    gates = {"no tools": Gate(), f"{len(TOOLS)} tools": Gate(TOOLS)}
    if missed := blind(gates):
        print(f"a plain call is not found: {', '.join(missed)}")
        return 1
    tallies = run(options.folder, gates, quick=options.quick, show=options.show)
    print("\n".join(map(str, tallies)))
    return 1 if not tallies or any(tally.pages.total() for tally in tallies) else 0


if __name__ == "__main__":
    sys.exit(main())
