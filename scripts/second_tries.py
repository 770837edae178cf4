"""How often a model's second try succeeds once it has read the hint, with the hints of this tree and of another commit.

    python scripts/second_tries.py [--base COMMIT] [--scripted]

Each case is a request, a first try that the gate refuses, and the call that was meant. Four models try again:

    copies       writes the example of the hint, word for word
    completes    puts what the example has into its first try, where that lacks it
    obeys        changes only the arguments that the hint names, to what the example says of them
    SmolLM2      a real model of 135 million parameters (`make second-tries` installs it), at temperature 0

A second try *passes* if the gate accepts it, and is *whole* if all that was right in the first try is still in it.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from rightcall import Gate

ROOT = Path(__file__).resolve().parents[1]
TOKENS, SECONDS = 120, 300
SYSTEM = 'You call tools. Answer only with <tool_call>{"name": ..., "arguments": {...}}</tool_call>.\nTools:\n'


def schema(required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required.split(), "additionalProperties": False}


def whole(low: int, high: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": low, "maximum": high}


def one_of(words: str) -> dict[str, Any]:
    return {"type": "string", "enum": words.split()}


def like(pattern: str) -> dict[str, Any]:
    return {"type": "string", "pattern": pattern}


TEXT, DAY, MOMENT, EMAIL = ({"type": "string", **more} for more in (
    {}, {"format": "date"}, {"format": "date-time"}, {"format": "email"},
))  # fmt: skip
ACCOUNT, AIRPORT = like("^[A-Z]{2}[0-9]{6}$"), {"type": "string", "minLength": 3, "maxLength": 3}
TOOLS = {
    "get_weather": schema("city", city=TEXT, days=whole(1, 7), unit=one_of("celsius fahrenheit")),
    "create_event": schema("title start", title=TEXT, start=MOMENT, minutes=whole(5, 480)),
    "transfer": schema(
        "source target amount", source=ACCOUNT, target=ACCOUNT, amount={"type": "number", "exclusiveMinimum": 0}
    ),
    "search_flights": schema(
        "origin destination date", origin=AIRPORT, destination=AIRPORT, date=DAY, cabin=one_of("economy business first")
    ),
    "send_email": schema("to subject body", to=EMAIL, subject=TEXT, body=TEXT),
    "set_thermostat": schema("room degrees", room=one_of("kitchen bedroom office"), degrees=whole(5, 30)),
    "list_issues": schema("project", project=TEXT, state=one_of("open closed all"), limit=whole(1, 100)),
    "resize_image": schema("path width height", path=TEXT, width=whole(1, 4000), height=whole(1, 4000)),
    "translate": schema("text to", text=TEXT, to=one_of("de fr es it")),
    "play_song": schema("title", title=TEXT, artist=TEXT, volume=whole(0, 10)),
}


class Case(NamedTuple):
    request: str
    tool: str
    first: dict[str, Any]
    meant: dict[str, Any]


CASES = [
    Case("What is the weather in Rome in the next 3 days?", "get_weather", {"days": 3}, {"city": "Rome", "days": 3}),
    Case(
        "Weather in Oslo for the whole month, as far as you can",
        "get_weather",
        {"city": "Oslo", "days": 30},
        {"city": "Oslo", "days": 7},
    ),
    Case(
        "Weather in Cairo in fahrenheit",
        "get_weather",
        {"city": "Cairo", "unit": "degrees"},
        {"city": "Cairo", "unit": "fahrenheit"},
    ),
    Case(
        "Five day forecast for Lima in celsius",
        "get_weather",
        {"unit": "celsius", "days": 5},
        {"city": "Lima", "unit": "celsius", "days": 5},
    ),
    Case(
        "Add lunch with Eva on 3 March 2027 at 12:00 UTC",
        "create_event",
        {"title": "Lunch with Eva"},
        {"title": "Lunch with Eva", "start": "2027-03-03T12:00:00Z"},
    ),
    Case(
        "Add a dentist event on 2027-05-01 at 09:00 UTC",
        "create_event",
        {"start": "2027-05-01T09:00:00Z"},
        {"title": "Dentist", "start": "2027-05-01T09:00:00Z"},
    ),
    Case(
        "Workshop on 2027-06-02 08:00 UTC, 8 hours",
        "create_event",
        {"title": "Workshop", "start": "2027-06-02T08:00:00Z", "minutes": 4800},
        {"title": "Workshop", "start": "2027-06-02T08:00:00Z", "minutes": 480},
    ),
    Case(
        "Move 50 from AB123456 to CD654321",
        "transfer",
        {"source": "AB123456", "amount": 50},
        {"source": "AB123456", "target": "CD654321", "amount": 50},
    ),
    Case(
        "Move 75 from XY000111 to QR222333",
        "transfer",
        {"source": "XY000111", "target": "QR-222333-0", "amount": 75},
        {"source": "XY000111", "target": "QR222333", "amount": 75},
    ),
    Case(
        "Send 20 from AA111111 to BB222222",
        "transfer",
        {"source": "AA111111", "target": "BB222222", "amount": -20},
        {"source": "AA111111", "target": "BB222222", "amount": 20},
    ),
    Case(
        "Flights from VIE to JFK on 2027-02-10",
        "search_flights",
        {"origin": "VIE", "date": "2027-02-10"},
        {"origin": "VIE", "destination": "JFK", "date": "2027-02-10"},
    ),
    Case(
        "Flights from LHR to Tokyo HND on 2027-02-11",
        "search_flights",
        {"origin": "LHR", "destination": "Tokyo", "date": "2027-02-11"},
        {"origin": "LHR", "destination": "HND", "date": "2027-02-11"},
    ),
    Case(
        "Business flights from SFO to SEA on 2027-02-12",
        "search_flights",
        {"origin": "SFO", "destination": "SEA", "date": "2027-02-12", "cabin": "premium"},
        {"origin": "SFO", "destination": "SEA", "date": "2027-02-12", "cabin": "business"},
    ),
    Case(
        "Flights OSL to ARN on 2027-04-01",
        "search_flights",
        {"destination": "ARN"},
        {"origin": "OSL", "destination": "ARN", "date": "2027-04-01"},
    ),
    Case(
        "Email ann@example.org, subject Report, text: It is done.",
        "send_email",
        {"to": "ann@example.org", "subject": "Report"},
        {"to": "ann@example.org", "subject": "Report", "body": "It is done."},
    ),
    Case(
        "Email bob@example.org, subject Hello, text: See you soon.",
        "send_email",
        {"subject": "Hello", "body": "See you soon."},
        {"to": "bob@example.org", "subject": "Hello", "body": "See you soon."},
    ),
    Case(
        "Email cat@example.org, subject News, text: We won.",
        "send_email",
        {"to": "cat@example.org", "body": "We won."},
        {"to": "cat@example.org", "subject": "News", "body": "We won."},
    ),
    Case("Set the bedroom to 19 degrees", "set_thermostat", {"degrees": 19}, {"room": "bedroom", "degrees": 19}),
    Case(
        "Set the office to 21 degrees",
        "set_thermostat",
        {"room": "work room", "degrees": 21},
        {"room": "office", "degrees": 21},
    ),
    Case(
        "Make the kitchen as warm as possible",
        "set_thermostat",
        {"room": "kitchen", "degrees": 100},
        {"room": "kitchen", "degrees": 30},
    ),
    Case("Set the kitchen to 18 degrees", "set_thermostat", {"room": "kitchen"}, {"room": "kitchen", "degrees": 18}),
    Case(
        "List all closed issues of project apollo",
        "list_issues",
        {"state": "closed"},
        {"project": "apollo", "state": "closed"},
    ),
    Case(
        "List 500 issues of project zeus",
        "list_issues",
        {"project": "zeus", "limit": 500},
        {"project": "zeus", "limit": 100},
    ),
    Case(
        "List finished issues of project hera",
        "list_issues",
        {"project": "hera", "state": "over"},
        {"project": "hera", "state": "closed"},
    ),
    Case(
        "Resize cat.png to 200 by 100",
        "resize_image",
        {"path": "cat.png", "width": 200},
        {"path": "cat.png", "width": 200, "height": 100},
    ),
    Case(
        "Resize dog.png to 320 by 240",
        "resize_image",
        {"width": 320, "height": 240},
        {"path": "dog.png", "width": 320, "height": 240},
    ),
    Case(
        "Resize sky.jpg to the largest size, 4000 by 4000",
        "resize_image",
        {"path": "sky.jpg", "width": 9000, "height": 4000},
        {"path": "sky.jpg", "width": 4000, "height": 4000},
    ),
    Case(
        "Translate 'good morning' to French",
        "translate",
        {"text": "good morning"},
        {"text": "good morning", "to": "fr"},
    ),
    Case(
        "Translate 'thank you' to Spanish",
        "translate",
        {"text": "thank you", "to": "spa-lang"},
        {"text": "thank you", "to": "es"},
    ),
    Case("Translate 'goodbye' to Italian", "translate", {"to": "it"}, {"text": "goodbye", "to": "it"}),
    Case(
        "Play Yesterday by The Beatles at volume 4",
        "play_song",
        {"artist": "The Beatles", "volume": 4},
        {"title": "Yesterday", "artist": "The Beatles", "volume": 4},
    ),
    Case(
        "Play Imagine as loud as possible",
        "play_song",
        {"title": "Imagine", "volume": 100},
        {"title": "Imagine", "volume": 10},
    ),
]
GATE = Gate([{"name": name, "parameters": parameters} for name, parameters in TOOLS.items()])
Model = Callable[[Case, str], str]


def hints() -> list[str]:
    found = [GATE.check(case.tool, case.first).hint for case in CASES]
    assert all(found), "every first try is refused"
    return [str(one) for one in found]


# ── models ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def shown(hint: str) -> dict[str, Any]:
    return json.loads(hint.partition("Example: ")[2] or "{}")


def copies(_: Case, hint: str) -> str:
    return json.dumps(shown(hint))


def completes(case: Case, hint: str) -> str:
    return json.dumps({**shown(hint), **case.first})


def obeys(case: Case, hint: str) -> str:
    said = hint.partition("Example: ")[0]
    named = {name for name in TOOLS[case.tool]["properties"] if re.search(rf"\b{name}\b", said.partition("call.")[2])}
    example = shown(hint)
    return json.dumps({**case.first, **{name: example[name] for name in named if name in example}})


def real(url: str) -> Model:
    def answered(case: Case, hint: str) -> str:
        tool = {"name": case.tool, "parameters": TOOLS[case.tool]}
        first = f"<tool_call>{json.dumps({'name': case.tool, 'arguments': case.first})}</tool_call>"
        said = ("system", SYSTEM + json.dumps(tool)), ("user", case.request), ("assistant", first), ("user", hint)
        messages = [{"role": role, "content": content} for role, content in said]
        connection = HTTPConnection(urlsplit(url).netloc, timeout=SECONDS)
        asked = {"model": "any", "messages": messages, "temperature": 0, "seed": 1, "max_tokens": TOKENS}
        connection.request("POST", "/v1/chat/completions", json.dumps(asked), {"content-type": "application/json"})
        answer = json.loads(connection.getresponse().read())
        connection.close()
        return answer["choices"][0]["message"]["content"]

    return answered


# ── measuring ────────────────────────────────────────────────────────────────────────────────────────────────────────


class Share(NamedTuple):
    passed: int
    whole: int

    def __str__(self) -> str:
        return f"{self.passed:>3} pass, {self.whole:>3} whole"


def measure(model: Model, given: list[str]) -> Share:
    passed = kept = 0
    for case, hint in zip(CASES, given, strict=True):
        text = model(case, hint)
        verdicts = GATE.read(text).calls or [GATE.check(case.tool, text)]
        right = next(
            (one.call.arguments for one in verdicts if one.ok and one.call and one.call.name == case.tool), None
        )
        passed += right is not None
        same = [name for name, value in case.first.items() if case.meant.get(name) == value]
        kept += right is not None and all(right.get(name) == case.first[name] for name in same)
    return Share(passed, kept)


@contextmanager
def source_of(commit: str) -> Generator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", f"{folder}/tree", commit], check=True)
        try:
            yield Path(folder, "tree", "src")
        finally:
            subprocess.run([*git, "remove", "--force", f"{folder}/tree"], check=True)


def hints_of(commit: str) -> list[str]:
    with source_of(commit) as source:
        environment = {**os.environ, "PYTHONPATH": str(source)}
        command = [sys.executable, __file__, "--hints"]
        return json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", metavar="COMMIT", help="the hints of another commit beside those of this tree")
    parser.add_argument("--scripted", action="store_true", help="without the real model")
    parser.add_argument("--hints", action="store_true", help="print the hints of this tree as JSON, and no more")
    options = parser.parse_args()
    if options.hints:
        print(json.dumps(hints()))
        return 0
    trees = {"this tree": hints()} | ({options.base: hints_of(options.base)} if options.base else {})
    print(f"second tries of {len(CASES)}")
    for model in (copies, completes, obeys):
        _told(model.__name__, model, trees)
    if not options.scripted:
        from realmodel import model_server  # late: another commit may lack what it needs

        with model_server(None, cache=True) as url:
            _told("SmolLM2", real(url), trees)
    return 0


def _told(name: str, model: Model, trees: dict[str, list[str]]) -> None:
    for tree, given in trees.items():
        print(f"{name:<12} {tree:<12} {measure(model, given)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
