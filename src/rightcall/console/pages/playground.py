"""The playground: what RightCall makes of any text that a model could write, read against tools of one's choice.
Nothing runs, nothing is recorded, and what was pasted is kept nowhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from hashlib import sha256
from json import dumps
from typing import Any, Final, Literal, cast

from msgspec import DecodeError, Struct, json
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rightcall.base.text import escaped
from rightcall.catalog.packs import available_packs
from rightcall.catalog.tool import Tool
from rightcall.console.bench import TooBusyError
from rightcall.console.page import Form, Page, Site, look, number_of, plain_sign, read_form, render, site_of
from rightcall.console.pages.call import Change
from rightcall.console.questions import Row as ValueRow
from rightcall.console.questions import TextLine, plain_json, rows_of, text_lines, value_lines
from rightcall.errors import RightCallError
from rightcall.gate.gate import Gate, arguments_of, name_of, readable, suited
from rightcall.policy.settings import Policy
from rightcall.record.calls import CallRecord, call
from rightcall.record.notes import known_definitions
from rightcall.types import Place, Reading, Repair, Verdict

LONGEST: Final = 100_000
"""Characters of a text, and of pasted tools, that are read."""
_MOST_FORM: Final = 900_000
_MOST_CALLS: Final = 50
_MOST_PASSED: Final = 8
"""Sets of tools of earlier requests that are offered."""
_LONGEST_LINE: Final = 400_000
KINDS: Final = {"text": "Text the model wrote", "message": "A message of an API (JSON)"}
EXAMPLE: Final = """\
I'll look at the file first.
<tool_call>
{'name': 'code_read', 'arguments': {"filename": "src/app.py", "startLine": "10", endLine: 40,}}
</tool_call>"""
EXAMPLE_TOOLS: Final = """\
[{"name": "get_weather",
  "parameters": {"type": "object", "required": ["city"],
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}}]"""


class Wanted(Struct, frozen=True):
    """What the form says."""

    text: str = ""
    source: str = "policy"
    """`policy`, `server`, `known`, `pasted`, `none`, `pack:NAME`, or `request:DIGEST` (passed the proxy)."""
    pasted: str = ""
    kind: str = "text"
    cut: bool = False
    """The token limit cut it off."""


State = Literal["right", "repaired", "refused", "unread"]


class Found(Struct, frozen=True, kw_only=True):
    """One call that was found, and what is said of it."""

    state: State
    name: str
    as_written: str
    """The name that was written, where it is another."""
    where: str
    format: str
    written: list[TextLine]
    arguments: list[ValueRow]
    changes: list[Change]
    problems: list[tuple[str, str, str]]
    hint: list[TextLine]
    confidence: float
    retry: bool
    truncated: bool
    case: str
    """A line for `rightcall eval`: this call and what becomes of it."""


class View(Struct, frozen=True, kw_only=True):
    """All that the page shows of one reading."""

    found: list[Found]
    more: int
    rest: list[TextLine]
    notes: list[tuple[str, str, str]]
    tools: int
    case: str
    """A line for `rightcall eval`: the text and the calls in it."""


class Problem(Struct, frozen=True):
    """Why nothing could be read."""

    text: str
    busy: bool = False


# ── the form ──


async def show(request: Request) -> Response:
    """The empty form, or one with what a recorded call was made of."""
    site = site_of(request)
    seq = number_of(request.query_params.get("call")) or 0
    found = await look(request, lambda tables: call(tables, seq) if seq else None)
    wanted = Wanted(EXAMPLE) if found is None else await asyncio.to_thread(_recorded, found, site)
    return await _page(request, wanted)


def _recorded(found: CallRecord, site: Site) -> Wanted:
    """The text of a recorded call, as far as the record has it; secrets were taken out of it."""
    ours = found.tool in site.bench.toolbox(site.policy(), site.root).tools
    passed = (key for key, tools in _passed(site).items() if found.tool in map(name_of, tools))
    source = "policy" if ours else next(passed, "known")
    if isinstance(found.emission, str) and found.origin == "text":
        return Wanted(found.emission[:LONGEST], source)
    told: Any = found.emission
    if not isinstance(told, dict) or not {"name", "arguments"} <= told.keys():
        # of a native call the arguments alone are recorded
        told = {"name": found.written or found.tool, "arguments": found.params if told is None else cast("Any", told)}
    return Wanted(plain_json(told, 2)[:LONGEST], source)


async def try_out(request: Request) -> Response:
    """For a browser without scripts: the whole page again, with the answer."""
    wanted = wanted_of(await read_form(request, _MOST_FORM))
    await look(request, lambda _: None)
    return await _page(request, wanted)


async def read_part(request: Request) -> Response:
    """The answer alone, for the page that is open."""
    site, wanted = site_of(request), wanted_of(await read_form(request, _MOST_FORM))
    view = await _tried(site, wanted)
    return render(request, "playground_view", 503 if isinstance(view, Problem) and view.busy else 200, **_shown(view))


async def save_case(request: Request) -> Response:
    """The test case as a file of one line."""
    site, wanted = site_of(request), wanted_of(await read_form(request, _MOST_FORM))
    view = await _tried(site, wanted)
    if isinstance(view, Problem) or not view.case:
        await look(request, lambda _: None)
        return await _page(request, wanted)
    headers = {"content-disposition": 'attachment; filename="case.jsonl"'}
    return Response(f"{view.case}\n", headers=headers, media_type="application/x-ndjson")


async def _page(request: Request, wanted: Wanted) -> Response:
    site = site_of(request)
    sources = await asyncio.to_thread(_sources, site)
    view = await _tried(site, wanted) if wanted.text.strip() else None
    return render(
        request, "playground", wanted=wanted, sources=sources, kinds=KINDS, longest=LONGEST,
        example_tools=EXAMPLE_TOOLS, **_shown(view),
    )  # fmt: skip


def _shown(view: View | Problem | None) -> dict[str, Any]:
    return {
        "view": view if isinstance(view, View) else None,
        "problem": view.text if isinstance(view, Problem) else "",
    }


def _sources(site: Site) -> list[tuple[str, str]]:
    """What tools there are to choose from."""
    policy = site.policy()
    own = len(site.bench.toolbox(policy, site.root).tools)
    known = sum(kind == "tool" for kind, _ in site.store.look(known_definitions))
    served = len(site.tools())
    found = [("policy", f"This policy: {_many(own, 'tool')}")]
    found += [("server", f"The running server: {_many(served, 'MCP tool')}")] if served else []
    found += [("known", f"Seen in the audit log: {_many(known, 'tool')}")] if known else []
    found += [(key, f"A request through the proxy: {_listed(tools)}") for key, tools in _passed(site).items()]
    found += [(f"pack:{name}", f"Pack {name}") for name in available_packs()]
    return [*found, ("pasted", "Pasted below"), ("none", "No tools: read the format only")]


def _many(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _passed(site: Site) -> dict[str, list[dict[str, Any]]]:
    """The tools of the last requests through the proxy, each set under a name that stays while the set does."""
    return {f"request:{sha256(json.encode(one)).hexdigest()[:12]}": one for one in site.passed(_MOST_PASSED)}


def _listed(tools: list[dict[str, Any]]) -> str:
    names = [escaped(name_of(one), 40) for one in tools]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{', '.join(names[:3])}{more}"


def wanted_of(form: Form) -> Wanted:
    text, pasted = (form.one(name).replace("\r\n", "\n") for name in ("text", "pasted"))
    kind, cut = form.one("kind"), bool(form.one("cut"))
    return Wanted(text, form.one("source") or "policy", pasted, kind if kind in KINDS else "text", cut)


# ── the reading ──


_TOO_LONG: Final = Problem(
    f"Too long: at most {LONGEST:,} characters are read here. `rightcall read --file FILE` reads more."
)
_BUSY: Final = Problem("This took too long, or other pages are busy. Shorten the text, or try again.", busy=True)


async def _tried(site: Site, wanted: Wanted) -> View | Problem:
    if max(len(wanted.text), len(wanted.pasted)) > LONGEST:
        return _TOO_LONG
    try:
        return await site.bench.tried(lambda: _read(site, wanted))
    except TooBusyError:
        return _BUSY


def _read(site: Site, wanted: Wanted) -> View | Problem:
    message: Any = wanted.text
    if wanted.kind == "message":
        try:
            message = json.decode(wanted.text)
        except (DecodeError, RecursionError) as fault:
            return Problem(f"This message is not JSON: {escaped(str(fault), 200)}. Read anything else as text.")
    try:
        gate = _gate(site, wanted)
    except (RightCallError, TypeError, ValueError, RecursionError) as fault:
        return Problem(f"The tools cannot be used: {escaped(str(fault), 500)}")
    return view_of(gate.read(message, "length" if wanted.cut else None), gate, wanted)


def _gate(site: Site, wanted: Wanted) -> Gate:
    """Raises RightCallError, TypeError or ValueError for tools that cannot be used."""
    policy, source = site.policy(), wanted.source
    if source == "policy":
        return site.bench.toolbox(policy, site.root).gate
    if source.startswith("pack:") and (name := source.removeprefix("pack:")) in available_packs():
        return site.bench.gate(policy, source, lambda: Gate(policy=policy, packs=(name,)))
    if source.startswith("request:"):
        return _as_proxied(policy, _passed(site).get(source, []))
    make: Callable[[], Any] | None = {
        "server": lambda: [tool for _, tool in site.tools()],
        "known": lambda: _known_tools(site),
        "pasted": lambda: pasted_tools(wanted.pasted, wanted.text),
        "none": lambda: None,
    }.get(source)
    if make is None:
        raise ValueError(f"unknown choice of tools {escaped(source, 60)!r}")
    return Gate(make(), policy)


def _as_proxied(policy: Policy, tools: list[dict[str, Any]]) -> Gate:
    """A gate like the proxy's own for these tools."""
    if not tools:
        raise ValueError("no request with these tools passed the proxy lately; choose other tools")
    suiting, packs = suited(policy, {name_of(one): arguments_of(one) for one in tools})
    return Gate(readable(tools), suiting, packs, host="proxy")


def _known_tools(site: Site) -> list[dict[str, Any]]:
    known = site.store.look(known_definitions)
    found = [_definition(one.last.described) for (kind, _), one in known.items() if kind == "tool"]
    return [one for one in found if one is not None]


def _definition(described: str) -> dict[str, Any] | None:
    try:
        value = json.decode(described)
    except DecodeError:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) and "name" in value else None


def pasted_tools(pasted: str, text: str) -> list[Any] | dict[str, Any]:
    """Definitions as any API has them, one or a list; or the schema of the one tool that the text calls. Raises
    ValueError."""
    if not pasted.strip():
        raise ValueError("paste definitions as JSON, or choose other tools")
    try:
        value: Any = json.decode(pasted)
    except (DecodeError, RecursionError) as fault:
        raise ValueError(f"this is not JSON ({fault})") from None
    if isinstance(value, list):
        return cast("list[Any]", value)
    if not isinstance(value, dict):
        raise ValueError("definitions are JSON objects")
    if "properties" not in value:
        table = cast("dict[str, Any]", value)
        return table if "tools" in table else [table]
    called = {one.found.name for one in Gate().read(text).calls if one.found is not None}
    return [{"name": called.pop() if len(called) == 1 else "tool", "parameters": value}]


def view_of(reading: Reading, gate: Gate, wanted: Wanted) -> View:
    pairs = list(zip(reading.calls, reading.places, strict=True))
    text = wanted.text if wanted.kind == "text" else None
    return View(
        found=[_found(verdict, place, gate, text) for verdict, place in pairs[:_MOST_CALLS]],
        more=max(0, len(pairs) - _MOST_CALLS),
        rest=text_lines(reading.text.strip("\n")) if reading.text.strip() else [],
        notes=[(one.code, one.message, "" if text is None else text[one.start : one.end]) for one in reading.notes],
        tools=len(gate.catalog.tools),
        case=_reading_case(reading, gate, wanted) if text is not None else "",
    )


def _found(verdict: Verdict, place: Place, gate: Gate, text: str | None) -> Found:
    call, found = verdict.call, verdict.found
    shown = call or found
    arguments: Any = shown.arguments if shown is not None else None
    name = shown.name if shown is not None else ""
    return Found(
        state=_state(verdict),
        name=name,
        as_written=found.name if found is not None and found.name != name else "",
        where=_where(place, text),
        format=place.format,
        written=[] if text is None else text_lines(text[place.start : place.end].strip("\n")),
        arguments=[] if arguments is None else list(rows_of(arguments, "arguments")),
        changes=[_change(one) for one in verdict.repairs],
        problems=[(one.code, one.path, one.message) for one in verdict.problems],
        hint=text_lines(plain_sign(verdict.hint)) if verdict.hint else [],
        confidence=verdict.confidence,
        retry=verdict.retry,
        truncated=verdict.truncated,
        case=_call_case(verdict, gate),
    )


def _state(verdict: Verdict) -> State:
    if verdict.found is None:
        return "unread"
    if not verdict.ok:
        return "refused"
    return "repaired" if verdict.repairs or verdict.strategy != "direct" else "right"


def _where(place: Place, text: str | None) -> str:
    if text is None:
        return "in the message"
    first, last = (text.count("\n", 0, at) + 1 for at in (place.start, max(place.start, place.end - 1)))
    return f"line {first:,}" if first == last else f"lines {first:,} to {last:,}"


def _change(one: Repair) -> Change:
    """Where the text of the whole call was repaired, `before` is a part of that text."""
    is_text = not one.path and isinstance(one.before, str)
    before = text_lines(one.before) if is_text else value_lines(one.before)
    return Change(one.path, before, value_lines(one.after), one.rule, one.strategy, one.confidence, one.note)


# ── test cases ──
# As `rightcall eval` reads them: one JSON object in a line.


def _reading_case(reading: Reading, gate: Gate, wanted: Wanted) -> str:
    """The text, and the calls that are in it. Of the tools only those that are called, where that gives the same."""
    found = [one.found for one in reading.calls if one.found is not None]
    expected = [{"name": one.name, "arguments": one.arguments} for one in found]
    called = {tool.name: tool for one in found if (tool := gate.catalog.find(one.name).tool) is not None}
    tools = [_as_dict(one) for one in called.values()]
    if _calls(Gate(tools).read(wanted.text)) != _calls(reading):
        tools = [_as_dict(one) for one in gate.catalog.tools.values()]
    return _line({"text": wanted.text, "tools": tools, "expected": expected})


def _calls(reading: Reading) -> list[Any]:
    return [(one.found.name, one.found.arguments) for one in reading.calls if one.found is not None]


def _call_case(verdict: Verdict, gate: Gate) -> str:
    """The arguments that were written, and those that would run; or that the call cannot be repaired."""
    tool = gate.catalog.find(verdict.found.name).tool if verdict.found is not None else None
    if tool is None or verdict.found is None:
        return ""
    case: dict[str, Any] = {"tool": tool.name, "schema": tool.schema, "emitted": verdict.found.arguments}
    if verdict.ok and verdict.call is not None:
        return _line(case | {"accepted": accepted(verdict.call.arguments)})
    return _line(case | {"accepted": {}, "recoverable": False})


def accepted(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Each argument with the list of its right values; in objects the same again.

    >>> accepted({"a": 1, "b": {"c": [2]}})
    {'a': [1], 'b': [{'c': [[2]]}]}
    """
    return {name: [_accepted(value)] for name, value in arguments.items()}


def _accepted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return accepted(cast("Mapping[str, Any]", value))
    return [_accepted(one) for one in cast("list[Any]", value)] if isinstance(value, list) else value


def _as_dict(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.schema}


def _line(case: dict[str, Any]) -> str:
    """Empty where it would be too long, or is not JSON. In ASCII: what is copied is what is seen."""
    try:
        body = dumps(case, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return ""
    name = f"playground-{sha256(body.encode()).hexdigest()[:8]}"
    return "" if len(body) > _LONGEST_LINE else dumps({"id": name} | case)


PAGE = Page(
    "playground", "Playground", "play", "/playground",
    [
        Route("/playground", show, methods=["GET"]),
        Route("/playground", try_out, methods=["POST"]),
        Route("/playground/reading", read_part, methods=["POST"]),
        Route("/playground/case", save_case, methods=["POST"]),
    ],
)  # fmt: skip
