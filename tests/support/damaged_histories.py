"""Histories with planted damage: tools of many kinds, models that make the same mistakes again and again, and noise.

    world = World(seed)
    world.lines()    the history, as JSON lines for `rightcall learn --from`
    world.planted    what a learner should find
    world.score(…)   how many of them it found, and what it found beside them

A mistake is planted only where the gate refuses it by itself. Between the planted ones there are right calls, one-off
errors of every kind, and near misses that must not become rules: words that mean two things, habits of one caller,
arguments that are forgotten and given with ever other values.
"""

from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

from rightcall import Gate

MODELS = ("small-3b", "mid-8b", "large-70b", "hosted-x")
WORDS = [
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heron",
    "iris",
    "jade",
    "kelp",
    "lotus",
    "maple",
    "north",
    "onyx",
    "pearl",
    "quartz",
    "reed",
]
CITIES = ("Bern", "Oslo", "Lima", "Kyoto", "Quito", "Turin", "Porto", "Graz", "Malmo", "Cusco", "Busan", "Leeds")


def text(rng: Random) -> str:
    return f"{rng.choice(WORDS)} {rng.choice(WORDS)} {rng.randrange(1000)}"


def day(rng: Random) -> str:
    return f"20{rng.randrange(24, 28)}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"


class Argument(NamedTuple):
    schema: dict[str, Any]
    make: Any
    required: bool = True


def string(make=text, required=True, **more):
    return Argument({"type": "string", **more}, make, required)


def one_of(*values, required=True):
    return Argument({"type": "string", "enum": list(values)}, lambda rng: rng.choice(values), required)


def number(low, high, required=True, kind="integer"):
    return Argument({"type": kind, "minimum": low}, lambda rng: rng.randrange(low, high), required)


def a_day(required=True):
    return string(day, required, pattern=r"^\d{4}-\d{2}-\d{2}$")


def an_object(required=True, **inner):
    schema = {
        "type": "object",
        "required": [name for name, one in inner.items() if one.required],
        "properties": {name: one.schema for name, one in inner.items()},
    }
    return Argument(schema, lambda rng: {name: one.make(rng) for name, one in inner.items()}, required)


def a_list(item, required=True):
    make = lambda rng: [item.make(rng) for _ in range(rng.randrange(1, 4))]  # noqa: E731
    return Argument({"type": "array", "items": item.schema}, make, required)


TOOLS: dict[str, dict[str, Argument]] = {
    "search_articles": {"query": string(), "section": one_of("politics", "culture", "science"), "limit": number(1, 50)},
    "forecast": {"city": string(lambda rng: rng.choice(CITIES)), "scale": one_of("celsius", "fahrenheit"),
                 "day": a_day()},
    "create_ticket": {"summary": string(), "severity": one_of("blocker", "major", "minor"), "assignee": string()},
    "book_table": {"venue": string(), "guests": number(1, 12), "date": a_day(),
                   "seating": one_of("terrace", "indoors", "bar")},
    "convert_money": {"amount": number(1, 9000, kind="number"), "source": one_of("CHF", "SEK", "NOK"),
                      "target": one_of("CHF", "SEK", "NOK")},
    "find_route": {"origin": string(lambda rng: rng.choice(CITIES)), "destination": string(),
                   "vehicle": one_of("bicycle", "car", "train")},
    "list_invoices": {"customer": string(), "state": one_of("open", "settled", "overdue"),
                      "range": an_object(start=a_day(), finish=a_day())},
    "order_parts": {"supplier": string(), "positions": a_list(an_object(sku=string(), quantity=number(1, 90)))},
    "set_thermostat": {"room": string(), "degrees": number(5, 30), "program": one_of("comfort", "eco", "frost")},
    "schedule_job": {"job": string(), "delay": number(1, 90000), "queue": one_of("bulk", "express")},
    "translate_text": {"passage": string(), "language": one_of("german", "french", "finnish"),
                       "options": an_object(tone=one_of("formal", "casual"), glossary=string())},
    "query_metrics": {"metric": string(), "window": number(60, 90000), "aggregate": one_of("mean", "median", "total")},
    "reserve_room": {"building": string(), "seats": number(1, 90), "weekday": string(), "equipment":
                     a_list(one_of("projector", "whiteboard", "microphone"))},
    "send_parcel": {"recipient": string(), "weight": number(1, 9000), "speed": one_of("overnight", "economy"),
                    "insured": Argument({"type": "boolean"}, lambda rng: rng.random() < 0.5)},
    "tag_photo": {"photo": string(), "album": string(), "visibility": one_of("family", "world", "nobody")},
    "publish_page": {"slug": string(), "body": string(), "template": one_of("plain", "magazine"), "site": string()},
    "lookup_part": {"number": string(lambda rng: f"P-{rng.randrange(1000, 9999)}", pattern=r"^P-\d{4}$")},
    "archive_case": {"case": string(), "shelf": one_of("cold", "warm"), "until": a_day()},
}  # fmt: skip


class Planted(NamedTuple):
    kind: str
    tool: str
    place: str
    given: str
    meant: Any


ALIASES = [
    ("search_articles", "query", "needle"), ("forecast", "city", "whereabouts"),
    ("create_ticket", "summary", "headline"),
    ("book_table", "guests", "chairs"), ("convert_money", "amount", "dough"), ("find_route", "origin", "kickoff"),
    ("tag_photo", "album", "folder"), ("publish_page", "slug", "moniker"), ("archive_case", "case", "document"),
    ("list_invoices", "range.start", "range.opening_day"), ("list_invoices", "range.finish", "range.closing_day"),
    ("order_parts", "positions[].sku", "positions[].product"), ("order_parts", "positions[].quantity",
     "positions[].stueck"), ("translate_text", "options.glossary", "options.book"),
    ("set_thermostat", "degrees", "warmth"), ("schedule_job", "job", "script"), ("reserve_room", "seats", "people"),
    ("query_metrics", "metric", "title"),
]  # fmt: skip
VALUES = [
    ("create_ticket", "severity", "showstopper", "blocker"), ("create_ticket", "severity", "cosmetic", "minor"),
    ("search_articles", "section", "arts", "culture"), ("book_table", "seating", "outside", "terrace"),
    ("list_invoices", "state", "paid", "settled"), ("set_thermostat", "program", "night", "frost"),
    ("translate_text", "options.tone", "polite", "formal"), ("query_metrics", "aggregate", "sum", "total"),
    ("reserve_room", "equipment[]", "beamer", "projector"), ("tag_photo", "visibility", "private", "nobody"),
    ("send_parcel", "speed", "asap", "overnight"), ("find_route", "vehicle", "velo", "bicycle"),
]  # fmt: skip
NAMES = [
    ("search_articles", "browse_news"), ("create_ticket", "open_issue"), ("find_route", "navigate"),
    ("send_parcel", "ship_box"), ("forecast", "sky_report"), ("tag_photo", "label_picture"),
    ("archive_case", "shelve_file"), ("publish_page", "go_live"),
]  # fmt: skip
DEFAULTS = [
    ("publish_page", "site", "intranet"), ("search_articles", "limit", 10), ("reserve_room", "building", "east wing"),
    ("translate_text", "options.tone", "casual"), ("create_ticket", "assignee", "triage"),
]  # fmt: skip
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def dotted(value):
    year, month, at = value.split("-")
    return f"{int(at)}.{int(month)}.{year}"


def american(value):
    year, month, at = value.split("-")
    return f"{int(month)}/{int(at)}/{year}"


def worded(value):
    year, month, at = value.split("-")
    return f"{int(at)} {MONTHS[int(month) - 1]} {year}"


FORMS = [
    ("forecast", "day", "D.M.YYYY -> YYYY-MM-DD", dotted), ("book_table", "date", "M/D/YYYY -> YYYY-MM-DD", american),
    ("archive_case", "until", "D MMMM YYYY -> YYYY-MM-DD", worded),
    ("schedule_job", "delay", "min * 60", lambda value: f"{value // 60 or 1} min"),
    ("query_metrics", "window", "h * 3600", lambda value: f"{value // 3600 or 1}h"),
    ("send_parcel", "weight", "kg * 1000", lambda value: f"{value // 1000 or 1} kg"),
]  # fmt: skip
SCALES = {"min * 60": 60, "h * 3600": 3600, "kg * 1000": 1000}
FORMATS = [
    ("[[TOOL|ARG=VALUE]]", lambda name, pairs: f"[[{name}|" + "|".join(f"{k}={v}" for k, v in pairs) + "]]"),
    ("@TOOL{ARG->VALUE}", lambda name, pairs: f"@{name}{{" + "; ".join(f"{k}->{v}" for k, v in pairs) + "}"),
]  # fmt: skip
MISSING = ["delete_parcel", "paint_wall", "fax_document"]


class World:
    """A history of so many contexts, with as many mistakes as `planted` names."""

    def __init__(self, seed: int, contexts: int = 400, callers: int = 14) -> None:
        self.rng = Random(seed)
        self.contexts = contexts
        self.callers = [f"team-{name}" for name in WORDS[:callers]]
        self.tools = [self._definition(name, arguments) for name, arguments in TOOLS.items()]
        self.gate = Gate(self.tools)
        self.habits: dict[str, list[tuple[Planted, Any]]] = {}
        self.planted: list[Planted] = []
        self._plan()

    def _definition(self, name, arguments):
        required = [at for at, one in arguments.items() if one.required]
        properties = {at: one.schema for at, one in arguments.items()}
        schema = {"type": "object", "required": required, "properties": properties}
        return {"name": name, "description": f"Tool {name}.", "parameters": schema}

    def right(self, tool: str) -> dict[str, Any]:
        return {name: one.make(self.rng) for name, one in TOOLS[tool].items()}

    def passes(self, name: str, arguments: Any) -> bool:
        """As a host that takes only sure repairs sees it."""
        verdict = self.gate.check(name, arguments)
        return not verdict.problems and verdict.confidence >= 0.9

    # ── plan ──

    def _plan(self) -> None:
        rng = self.rng
        plans: list[tuple[Planted, Any]] = []
        for tool, place, given in rng.sample(ALIASES, 14):
            plans.append((Planted("alias", tool, place, given, place), None))
        for tool, place, given, meant in rng.sample(VALUES, 9):
            plans.append((Planted("value", tool, place, given, meant), None))
        for tool, given in rng.sample(NAMES, 6):
            plans.append((Planted("name", tool, "", given, tool), None))
        for tool, place, form, write in rng.sample(FORMS, 5):
            plans.append((Planted("form", tool, place, form, form), write))
        taken = {(one.tool, one.place) for one, _ in plans}
        free = [one for one in DEFAULTS if (one[0], one[1]) not in taken]
        for tool, place, meant in rng.sample(free, 3):
            plans.append((Planted("default", tool, place, "", meant), None))
        for shape, write in FORMATS:
            plans.append((Planted("format", "", "", shape, None), write))
        plans.append((Planted("missing", "", "", rng.choice(MISSING), None), None))
        for planted, how in plans:
            self.planted.append(planted)
            for model in rng.sample(MODELS, rng.randrange(1, 4)):
                self.habits.setdefault(model, []).append((planted, how))

    # ── history ──

    def lines(self) -> Iterator[dict[str, Any]]:
        rng = self.rng
        owner = {f"chat-{at}": rng.choice(self.callers) for at in range(self.contexts)}
        for context, caller in owner.items():
            model = rng.choice(MODELS)
            who = {"caller": caller, "context": context, "model": model}
            for _ in range(rng.randrange(8, 20)):
                for line in self._step(model, caller):
                    yield {**who, **line}

    def _step(self, model: str, caller: str) -> Iterator[dict[str, Any]]:
        rng, roll = self.rng, self.rng.random()
        if roll < 0.45:
            planted, how = rng.choice(self.habits[model])
            yield from self._damaged(planted, how)
        elif roll < 0.58:
            yield from self._noise()
        elif roll < 0.63:
            yield from self._near_miss(caller)
        else:
            tool = rng.choice(list(TOOLS))
            yield self._call(tool, self.right(tool), True)

    def _call(self, name, arguments, ok):
        return {"name": name, "arguments": arguments, "ok": ok}

    def _damaged(self, planted: Planted, how: Any) -> Iterator[dict[str, Any]]:
        rng = self.rng
        if planted.kind == "missing":
            yield self._call(planted.given, {"what": text(rng), "when": day(rng)}, False)
            return
        tool = planted.tool or rng.choice([name for name in TOOLS if len(TOOLS[name]) <= 3 and name != "order_parts"])
        right = self.right(tool)
        if planted.kind == "format":
            pairs = [(k, v) for k, v in right.items() if not isinstance(v, (dict, list))]
            yield {"text": f"{rng.choice(['Sure.', 'Let me see.', ''])} {how(tool, pairs)}", "ok": False}
            yield self._call(tool, right, True)
            return
        if planted.kind == "form" and planted.given in SCALES:
            scale = SCALES[planted.given]
            at(right, planted.place, lambda _: rng.randrange(1, 9) * scale)
        if planted.kind == "value":
            at(right, planted.place, lambda _: planted.meant)
        if planted.kind == "default":
            at(right, planted.place, lambda _: planted.meant)
        wrong = damaged(right, planted, how)
        name = planted.given if planted.kind == "name" else tool
        if self.passes(name, wrong):
            yield self._call(name, wrong, True)
            return
        yield self._call(name, wrong, False)
        if rng.random() < 0.1:
            return  # given up
        if rng.random() < 0.15:
            other = rng.choice(list(TOOLS))
            if other != tool:
                yield self._call(other, self.right(other), True)
        if rng.random() < 0.08:
            right = {**right, **dict([rng.choice([(k, v) for k, v in self.right(tool).items()])])}
            if planted.kind in ("value", "default"):
                at(right, planted.place, lambda _: planted.meant)
        yield self._call(tool, right, True)

    def _noise(self) -> Iterator[dict[str, Any]]:
        """An error that happens once: it has no meaning that comes again."""
        rng = self.rng
        tool = rng.choice(list(TOOLS))
        right = self.right(tool)
        name = rng.choice(list(right))
        wrong, called = dict(right), tool
        kind = rng.randrange(5)
        if kind == 0 and ("default", tool, name) not in {one[:3] for one in self.planted}:
            del wrong[name]
        elif kind == 1:
            wrong[f"{rng.choice(WORDS)}_{rng.randrange(999)}"] = wrong.pop(name)
        elif kind == 2:
            called = f"{rng.choice(WORDS)}_{rng.choice(WORDS)}_{rng.randrange(99)}"
        elif kind == 3:
            wrong[name] = {"odd": text(rng)}
        else:
            wrong[name] = [text(rng), 3]
        fine = self.passes(called, wrong)
        yield self._call(called, wrong, fine)
        if not fine and rng.random() < 0.7:
            yield self._call(tool, right, True)

    def _near_miss(self, caller: str) -> Iterator[dict[str, Any]]:
        rng, kind = self.rng, self.rng.randrange(5)
        if kind == 0:  # a word that means two arguments
            right = self.right("find_route")
            wrong = dict(right)
            wrong["spot"] = wrong.pop(rng.choice(["origin", "destination"]))
            tool = "find_route"
        elif kind == 1:  # a value that means two
            tool, right = "send_parcel", self.right("send_parcel")
            wrong = {**right, "speed": "usual"}
        elif kind == 2:  # forgotten, and given with ever other values
            tool, right = "create_ticket", self.right("create_ticket")
            wrong = {k: v for k, v in right.items() if k != "severity"}
        elif kind == 3:  # a name that means two tools
            tool = rng.choice(["search_articles", "lookup_part"])
            right = self.right(tool)
            yield self._call("retrieve", right, False)
            yield self._call(tool, right, True)
            return
        else:  # a habit of one caller alone
            tool, right = "lookup_part", self.right("lookup_part")
            if caller != self.callers[0]:
                yield self._call(tool, right, True)
                return
            wrong = {"teilenummer": right["number"]}
        yield self._call(tool, wrong, self.passes(tool, wrong))
        yield self._call(tool, right, True)

    # ── score ──

    def score(self, found: list[dict[str, Any]]) -> tuple[list[Planted], list[dict[str, Any]]]:
        """The planted mistakes that were not found, and the proposals that nobody planted."""
        wanted = {key_of(one) for one in self.planted}
        got = {(one["kind"], one["tool"] if one["kind"] not in ("missing", "format") else "", one["place"],
                one["given"]): one for one in found}  # fmt: skip
        missed = [one for one in self.planted if key_of(one) not in got or not is_meant(one, got[key_of(one)])]
        return missed, [one for key, one in got.items() if key not in wanted]


def is_meant(one: Any, found: dict[str, Any]) -> bool:
    """Whether a proposal means what was planted, where that is a value."""
    return one.kind not in ("value", "default") or found["meant"] == one.meant


def key_of(one: Planted) -> tuple[str, str, str, str]:
    return one.kind, one.tool, one.place, one.given


def at(arguments: Any, place: str, change: Any) -> None:
    """Change what stands at a place, in every item of a list."""
    step, _, rest = place.partition(".")
    name = step.removesuffix("[]")
    if step.endswith("[]"):
        if rest:
            for item in arguments[name]:
                at(item, rest, change)
        else:
            arguments[name] = [change(item) for item in arguments[name]]
    elif rest:
        at(arguments[name], rest, change)
    else:
        arguments[name] = change(arguments.get(name))


def damaged(right: dict[str, Any], planted: Planted, how: Any) -> dict[str, Any]:
    from copy import deepcopy

    wrong = deepcopy(right)
    if planted.kind == "alias":
        rename(wrong, planted.place, planted.given.rpartition(".")[2])
    elif planted.kind == "value":
        at(wrong, planted.place, lambda _: planted.given)
    elif planted.kind == "form":
        at(wrong, planted.place, how)
    elif planted.kind == "default":
        drop(wrong, planted.place)
    return wrong


def rename(arguments: Any, place: str, name: str) -> None:
    step, _, rest = place.partition(".")
    if not rest:
        arguments[name] = arguments.pop(step)
        return
    inner = arguments[step.removesuffix("[]")]
    for item in inner if isinstance(inner, list) else [inner]:
        rename(item, rest, name)


def drop(arguments: Any, place: str) -> None:
    step, _, rest = place.partition(".")
    if rest:
        drop(arguments[step], rest)
    else:
        del arguments[step]
