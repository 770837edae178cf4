"""Check this machine: model servers, policy, store, sandbox and integrations, and say the one next thing to do.

With --upstream, ask a model for tool calls of rising difficulty, and see what share is usable without and with
RightCall, what goes wrong, and which settings help. Each answer is judged twice: as received, and as `rightcall proxy`
would pass it on. Usable: the right tool, and arguments that fit. Right: also the values that were asked for."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping, Sequence
from contextlib import closing
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, to_builtins

from rightcall.base.text import escaped
from rightcall.cli import INTERRUPTED, OK, REFUSED, USAGE
from rightcall.cli.options import (
    SHARED,
    database_of,
    found_in,
    json_option,
    look_into,
    places,
    policy_file,
    server_of,
    store_options,
)
from rightcall.cli.persons import LEAST_BAR, WIDEST_BAR, Signs, ago, bar, signs_for, waiting
from rightcall.cli.terminal import Style, Tint, hang, many, pad, say, say_json, style_for, table, tell, wrap
from rightcall.doctor.doctor import (
    WAYS,
    Advice,
    Examination,
    Findings,
    Progress,
    Row,
    Share,
    Way,
    advice,
    findings,
    record,
)
from rightcall.doctor.judgement import TOLD, Damage
from rightcall.errors import ConfigError, RightCallError, StoreError
from rightcall.policy.trust import folder_stop, stopped
from rightcall.policy.types import Pause
from rightcall.record.tables import Needs, NoteBody, Planned, Tables, encode

if TYPE_CHECKING:
    from rightcall.models.endpoint import LocalServer


EXAMPLES = """\
examples:
  rightcall doctor
  rightcall doctor --upstream http://localhost:11434
  rightcall doctor --upstream http://localhost:8080 --model qwen3 --tries 3
  rightcall doctor --upstream https://api.openai.com --model gpt-5-mini --key-env OPENAI_API_KEY
  rightcall doctor --upstream http://localhost:1234 --json
"""

MOST_TRIES = 20
_MOST_PROVEN = 20_000
"""Records that are read to say what would have failed: a tenth of a second."""
_BAR = 24


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--upstream", metavar="URL", help="Measure the model of this server, with or without /v1")
    parser.add_argument("--model", metavar="NAME", help=SHARED["--model"])
    parser.add_argument(
        "--wire", choices=("openai", "anthropic", "ollama"),
        help="Use this API (default: openai if it lists models, else ollama)",
    )  # fmt: skip
    parser.add_argument("--key-env", metavar="NAME", help=SHARED["--key-env"])
    parser.add_argument(
        "--tries", metavar="N", type=_tries, default=1, help="Ask every question N times (default: 1)"
    )  # fmt: skip
    parser.add_argument(
        "--quick", action="store_true", help="Ask only the first question of each step (for slow machines)"
    )
    parser.add_argument(
        "--max-tokens", metavar="N", type=_positive, default=512, help="Limit each answer to N tokens (default: 512)"
    )  # fmt: skip
    parser.add_argument(
        "--timeout", metavar="S", type=_seconds, default=120.0,
        help="Wait at most S seconds for an answer (default: 120)",
    )  # fmt: skip
    json_option(parser)
    store_options(parser)


def run(options: Namespace) -> int:
    return check_up(options) if options.upstream is None else _measure(options)


def _measure(options: Namespace) -> int:
    key = _key(options.key_env)
    try:
        from rightcall.doctor.doctor import Examination, Settings
        from rightcall.doctor.questions import QUICK, STEPS
    except ImportError as missing:
        from rightcall.cli.options import missing_package

        raise missing_package(missing) from missing

    settings = Settings(
        options.upstream, options.model, options.wire, key, options.tries, options.max_tokens, options.timeout,
        QUICK if options.quick else STEPS,
    )  # fmt: skip
    watched = Watched()
    examination = Examination(settings, watched.at)
    with waiting(watched.line):
        interrupted = _examined(examination)
    if interrupted and not examination.results:
        return INTERRUPTED
    _tell(examination, as_json=options.json)
    if interrupted:
        return INTERRUPTED
    return USAGE if examination.stopped else OK


def _examined(examination: Examination) -> bool:
    """Whether somebody interrupted it. What is known until then is told all the same."""
    try:
        asyncio.run(examination.run())
    except KeyboardInterrupt:
        return True
    return False


def _tell(examination: Examination, *, as_json: bool) -> None:
    found = findings(examination)
    advised = advice(examination, found)
    if as_json:
        say_json(record(examination, found, advised))
        return

    say(*report(examination, found, advised, style_for(sys.stdout), signs_for(sys.stdout)))


def _key(variable: str | None) -> str:
    """The key itself is never shown: not here, and in no error."""
    if variable is None:
        return ""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ConfigError(f"environment variable {escaped(variable, 100)} is missing or empty (`--key-env`)")
    return key


def _tries(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_TRIES:
        raise ArgumentTypeError(f"a number from 1 to {MOST_TRIES}, not {escaped(text, 20)}")
    return int(text)


def _positive(text: str) -> int:
    if not text.isdecimal() or not 16 <= int(text) <= 100_000:
        raise ArgumentTypeError(f"a number from 16 to 100000, not {escaped(text, 20)}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 3600:
        raise ArgumentTypeError(f"seconds from 0.1 to 3600, not {escaped(text, 20)}")
    return seconds


class Watched:
    """How many questions there are, as a bar, what is asked, and for how long already."""

    def __init__(self) -> None:
        self._progress: Progress | None = None
        self._signs = signs_for(sys.stderr)
        self._style = style_for(sys.stderr)

    def at(self, progress: Progress) -> None:
        self._progress = progress

    def line(self, seconds: float) -> str:
        progress = self._progress
        if progress is None:
            return ""
        drawn = self._style.tint(pad(bar(progress.done, progress.of, _BAR, self._signs), _BAR), "cyan")
        asked = f"{progress.done} of {many(progress.of, 'question')}"
        line = f"{drawn} {asked}  {seconds:.0f} s  {progress.doing}"
        return line[: self._style.width + len(drawn) - _BAR - 1]


# ── the report ──
# What the doctor found, for people: the table by step, two bars, the damage, and what to set.

_APIS = {"openai": "OpenAI's API", "anthropic": "Anthropic's API", "ollama": "Ollama's API"}


def report(
    examination: Examination, found: Findings, advised: Sequence[Advice], style: Style, signs: Signs
) -> list[str]:
    """All lines. Names that a server gave are escaped."""
    return [
        *_head(examination, style),
        "",
        *_steps(found, style),
        "",
        *_bars(found, style, signs),
        *_damage("damage seen", found.damage, style),
        *_damage("damage seen with the tools in the prompt", found.taught_damage, style),
        *_render_notes(found, style),
        *_advised(advised, style),
        *_ended(examination, style),
    ]


def _head(examination: Examination, style: Style) -> list[str]:
    patient = examination.patient
    if patient is None:
        return [f"{examination.host} was not asked anything"]
    name = style.tint(escaped(patient.model, 200), "bold")
    chosen = " (the first that the server lists)" if examination.chosen else ""
    asked = many(len(examination.results), "question")
    told = f"{name}{chosen} at {examination.host}, {_APIS[patient.speech]}: {asked} in {examination.seconds:.1f} s"
    return wrap(told, style.width)


def _steps(found: Findings, style: Style) -> list[str]:
    """Usable, and in brackets also right."""
    heads = ["step", "asked", *(WAYS[way] for way in found.ways)]
    rows = [_cells(row, found.ways) for row in (*found.rows, found.total)]
    lines = table(heads, rows, style)
    return [
        *lines[:-1],
        style.tint(lines[-1], "bold"),
        style.tint("usable calls (in brackets: with the right values too)", "dim"),
    ]


def _cells(row: Row, ways: Sequence[Way]) -> list[str]:
    shares = (row.shares[way] for way in ways)
    return [row.name, str(row.shares["without"].asked), *(f"{one.usable} ({one.right})" for one in shares)]


def _bars(found: Findings, style: Style, signs: Signs) -> list[str]:
    """Each way's share of all questions: a full bar is every one of them."""
    rows = [
        (
            {"without": "without RightCall", "with": "with RightCall"}.get(way, f"with {WAYS[way]}"),
            found.total.shares[way],
        )
        for way in found.ways
    ]
    label = max(len(name) for name, _ in rows)
    width = min(WIDEST_BAR, style.width - label - max(len(_of(share)) for _, share in rows) - 4)
    if width < LEAST_BAR:
        return [piece for name, share in rows for piece in wrap(f"{name}: {_of(share)}", style.width)]
    return [f"{pad(name, label)}  {_drawn(share, width, style, signs)}  {_of(share)}" for name, share in rows]


def _drawn(share: Share, width: int, style: Style, signs: Signs) -> str:
    return style.tint(pad(bar(share.usable, share.asked, width, signs), width), "cyan")


def _of(share: Share) -> str:
    percent = 100 * share.usable / share.asked if share.asked else 0
    return f"{percent:.0f} % usable ({share.usable} of {share.asked}), {share.right} right"


def _damage(title: str, damage: Mapping[Damage, int], style: Style) -> list[str]:
    if not damage:
        return []
    width = max(len(str(number)) for number in damage.values())
    return ["", style.tint(title, "bold"), *(f"  {number:>{width}} × {TOLD[one]}" for one, number in damage.items())]


def _render_notes(found: Findings, style: Style) -> list[str]:
    if not found.notes:
        return []
    lines = [piece for note in found.notes[:5] for piece in wrap(escaped(note, 500), style.width - 2)]
    return ["", style.tint("the server said", "bold"), *(f"  {line}" for line in lines)]


def _advised(advised: Sequence[Advice], style: Style) -> list[str]:
    if not advised:
        return []
    lines = ["", style.tint("suggestions", "bold")]
    for setting, why in advised:
        first, *rest = wrap(f"{setting}: {why}" if setting else why, style.width - 4)
        shown = first.replace(setting, style.tint(setting, "green"), 1) if setting else first
        lines += [f"  - {shown}", *(f"    {piece}" for piece in rest)]
    return lines


def _ended(examination: Examination, style: Style) -> list[str]:
    if examination.complete:
        return []
    why = f"the server failed three times in a row: {examination.stopped}" if examination.stopped else "interrupted"
    return ["", *(style.tint(line, "yellow") for line in wrap(f"Not everything was asked: {why}", style.width))]


# ── this machine ──
# Without --upstream: five looks, quick and without a change, and what to do next.

State = Literal["ok", "missing", "wrong"]
_SIGNS: dict[State, tuple[str, Tint]] = {"ok": ("✓", "green"), "missing": ("·", "dim"), "wrong": ("✗", "red")}


class Check(Struct, frozen=True):
    """One look. `next` is the command that repairs or adds what is missing, and `why` its use."""

    name: str
    state: State
    text: str
    next: str = ""
    why: str = ""


def look_around(options: Namespace) -> dict[str, Any]:
    """Every look, and what to do next, as `--json` prints it."""
    servers = _servers()
    checks = [
        _check_models(servers), _check_policy(options), _check_store(options), _check_sandbox(options),
        _check_integrations(),
    ]  # fmt: skip
    command, why = _next(checks, servers, options)
    checks[3:3] = _look_at_value(options)
    return {
        "ok": all(one.state != "wrong" for one in checks), "checks": checks, "models": servers,
        "next": {"command": command, "why": why},
    }  # fmt: skip


def check_up(options: Namespace) -> int:
    """0 where nothing is wrong; what is only missing is not a mistake."""
    found = look_around(options)
    checks: list[Check] = found["checks"]

    def lines(style: Style) -> list[str]:
        width = max(len(one.name) for one in checks)
        told = [
            line
            for one in checks
            for line in hang(f"{style.tint(*_SIGNS[one.state])} {one.name:<{width}}  ", escaped(one.text), style)
        ]
        return [*told, "", f"next: {style.tint(found['next']['command'], 'bold')}", f"      {found['next']['why']}"]

    tell(options, to_builtins(found), lines)
    return OK if found["ok"] else REFUSED


def _servers() -> list[LocalServer]:
    try:
        from rightcall.models.endpoint import find_local
    except ImportError:  # without the extra that asks models
        return []
    return asyncio.run(find_local())


_NO_MODELS = (
    "no Ollama, LM Studio, llama.cpp or vLLM on its usual port; for another address run "
    "`rightcall doctor --upstream URL`"
)


def _check_models(servers: Sequence[LocalServer]) -> Check:
    if not servers:
        return Check("models", "missing", _NO_MODELS)
    told = "; ".join(f"{one.name} at {one.url}: {_names(one.models)}" for one in servers)
    return Check("models", "ok", told)


def _names(models: Sequence[str]) -> str:
    more = f" and {len(models) - 2} more" if len(models) > 2 else ""
    return ", ".join(escaped(one, 60) for one in models[:2]) + more


def _check_policy(options: Namespace) -> Check:
    from rightcall.cli.policy_check import examine

    file = policy_file(options)
    if file is None:
        why = "Write a policy file: what may run, for whom, and what needs approval."
        command = f"rightcall init{places(Namespace(root=options.root))}"
        return Check("policy", "missing", "no policy file: the defaults apply", command, why)
    path, answer = os.fspath(file), examine(file)
    shown = quote(escaped(path))
    if answer.mistakes:
        why = "Find and fix the mistakes in the policy."
        return Check("policy", "wrong", str(answer.mistakes[0]), f"rightcall policy check {shown}", why)
    if answer.ignored:
        text = f"{path}: {many(len(answer.ignored), 'setting')} ignored until you trust the file"
        why = "Read and trust the policy, so that all of it counts."
        return Check("policy", "ok", text, f"rightcall trust {shown}", why)
    if answer.policy is not None and (problem := answer.policy.settings.approvals.problem):
        why = "Install the program that [approvals] notify names, or name another."
        return Check("policy", "wrong", f"{path}: approvals.notify: {problem}", f"rightcall policy check {shown}", why)
    return Check("policy", "ok", path)


def _check_store(options: Namespace) -> Check:
    from rightcall.cli.install import fault_of

    if (whole := stopped()) is not None:
        text = f"everything on this machine is paused since {whole.since} UTC by {whole.by}"
        return Check("store", "wrong", text, "rightcall resume --everywhere", "Let tool calls run again.")
    verify = f"rightcall audit verify{places(options)}"
    try:
        url = server_of(options)
        path = url or database_of(options)
        if not url and (fault := fault_of(path)):
            command = next(iter(re.findall(r"`(rightcall [^`]+)`", fault)), verify)
            return Check("store", "wrong", fault, command, "Repair the audit log: every call is refused until then.")
        if not url and not os.path.exists(path):
            if (folder := found_in(options)) and (held := stopped(folder_stop(folder))) is not None:
                return _paused(options, folder, held)
            return Check("store", "missing", f"{path}: nothing is recorded yet{_hooks_record(options)}")
        with closing(look_into(options)) as store:
            kept, held = store.look(lambda tables: (_count_records(tables), tables.paused()))
            risks: list[str] = getattr(store, "risks", list)()  # of a server
    except RightCallError as error:
        told = error.reason if isinstance(error, StoreError) else str(error)
        return Check("store", "wrong", told, verify, "Check the audit log.")
    if held is not None:
        return _paused(options, path, held)
    if fault := _write_fault(options, url, path):
        return Check("store", "wrong", fault, verify, "Repair the audit log: every call is refused until then.")
    if risks:
        why = "See how the server keeps what it confirms, and change its settings."
        return Check("store", "wrong", f"{path}: {'; '.join(risks)}", "rightcall docs scale", why)
    return Check("store", "ok", f"{path}: {kept}")


def _count_records(tables: Tables) -> str:
    last, oldest = tables.head()[0], tables.oldest()
    kept = many(last - oldest + 1 if oldest else 0, "record")
    return kept if tables.chains() is None else f"at most {kept}"  # numbers may be missing there


def _write_fault(options: Namespace, url: str | None, path: str) -> str:
    """Why nothing can be recorded in a store that can be read; empty where it can. It is tried as `/health/ready` does,
    and with a record that is undone: the audit may be all that has no room."""
    from rightcall.record.postgres import PostgresStore  # late: whoever asks for help needs no store
    from rightcall.record.sqlite import SqliteStore

    try:
        made = PostgresStore(url) if url else SqliteStore(path, found=found_in(options) or False)
        with closing(made) as store:
            store.transact(Planned(lambda tables: tables.touch(), Needs))
            store.transact(_write_and_undo)
    except StoreError as error:
        return "" if error.fault == "locked" else error.reason
    except _UndoneError:
        pass
    return ""


class _UndoneError(Exception):
    """Raised in a transaction, so that nothing of it stays."""


def _write_and_undo(tables: Tables) -> None:
    seq = tables.append("message", 0, encode(NoteBody("doctor", "", {})))
    tables.entry(seq)  # which a server is asked for after the record
    raise _UndoneError


def _look_at_value(options: Namespace) -> list[Check]:
    """What `rightcall stats --value` says of the last week, where calls are recorded."""
    from rightcall.cli.stats import summary
    from rightcall.record.value import read_value

    try:
        if not server_of(options) and not os.path.exists(database_of(options)):
            return []
        with closing(look_into(options)) as store:
            found = store.look(lambda tables: read_value(tables, ago("7d", "--since"), most=_MOST_PROVEN))
    except RightCallError:  # which the look at the store tells
        return []
    return [Check("value", "ok", summary(found))] if found.total.calls else []


def _paused(options: Namespace, where: str, held: Pause) -> Check:
    text = f"{where}: all calls are paused since {held.since} UTC by {held.by}"
    return Check("store", "wrong", text, f"rightcall resume{places(options)}", "Let tool calls run again.")


def _hooks_record(options: Namespace) -> str:
    """Where the hooks of a folder without a policy record, once they do."""
    from rightcall.hosts.hooks.place import record_without_policy

    path = record_without_policy()
    is_used = policy_file(options) is None and os.path.exists(path)
    return f"; hooks without a policy file record in {path}" if is_used else ""


def _check_sandbox(options: Namespace) -> Check:
    from rightcall.cli.sandbox import settings_of
    from rightcall.tools.sandbox.conversation import NoSandbox
    from rightcall.tools.sandbox.sandbox import Sandbox

    where = places(Namespace(policy=options.policy, root=options.root))
    look = f"rightcall sandbox doctor{where}", "See what the sandbox needs. Without it, no model-written code runs."
    try:
        settings = settings_of(options)
        with closing(Sandbox(settings.python, settings.tier)) as sandbox:
            return Check("sandbox", "ok", f"works (tier {sandbox.tier()})")
    except (NoSandbox, RightCallError) as fault:
        return Check("sandbox", "missing", getattr(fault, "why", "") or str(fault), *look)


def _check_integrations() -> Check:
    from rightcall.cli.install import integrations, mode_words

    try:
        found = integrations()
    except RightCallError as error:
        return Check("integrations", "wrong", str(error), "rightcall status", "See what is installed.")
    broken = [one for one in found if one["works"] is False]
    if broken:
        text = "; ".join(f"{one['host']} does not work: {one['why']}" for one in broken)
        return Check("integrations", "wrong", text, "rightcall status", "See each integration and why it fails.")
    if not found:
        return Check("integrations", "missing", "none installed")
    told = (f"{one['host']} ({escaped(mode_words(one), 120)})" for one in found)
    return Check("integrations", "ok", ", ".join(dict.fromkeys(told)))


def _next(checks: Sequence[Check], servers: Sequence[LocalServer], options: Namespace) -> tuple[str, str]:
    """What is wrong comes first, then what is missing for a first use, then what only limits it."""
    models, policy, store, sandbox, integrations = checks
    for one in (policy, store, integrations):
        if one.state == "wrong":
            return one.next, one.why
    unused = integrations.state == "missing" and store.state == "missing"
    where = places(Namespace(policy=options.policy, root=options.root))
    if unused and models.state == "ok":
        command = f"rightcall proxy --upstream {servers[0].url.removesuffix('/v1')} --no-auth{where}"
        return command, f"Run the proxy in front of {servers[0].name}, and give your client its base URL."
    if unused and policy.state == "ok" and not policy.next:
        return f"rightcall serve{where}", "Start the server with its practice model, and look at its console."
    if unused and not policy.next.startswith("rightcall trust"):
        return "rightcall demo", "See how calls are repaired and refused; no model is needed."
    for one in (policy, sandbox):
        if one.next:
            return one.next, one.why
    if models.state == "ok":
        return f"rightcall doctor --upstream {servers[0].url.removesuffix('/v1')}", "Measure the model's tool calls."
    return f"rightcall audit tail{places(options)}", "See the last calls."
