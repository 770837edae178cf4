"""`rightcall policy check`: all mistakes of a policy file at once, or a summary and what is worth knowing."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from shlex import quote
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from rightcall.cli import OK, USAGE
from rightcall.cli.output import is_unicode, json_text
from rightcall.cli.policy_notes import Note, notes_on
from rightcall.cli.terminal import Style, hang, say, style_for
from rightcall.config import Policy
from rightcall.config_found import FoundPolicy, is_trusted, read_text, refuse_leaving_link
from rightcall.config_read import read_policy
from rightcall.config_requests import ignored_keys
from rightcall.config_router import RouterSettings
from rightcall.config_settings import STAGES, Window
from rightcall.config_tightening import tighten
from rightcall.door_guarding import POLICY_FILE
from rightcall.errors import ConfigError, PolicyError
from rightcall.fs.guarded import state_folder
from rightcall.hosts.enforcement import Unenforced, hosts_named, unenforced
from rightcall.installing.manifest import read_manifest
from rightcall.packs.lines import KeyPath, line_of
from rightcall.packs.source import Source, dotted
from rightcall.text.escape import escaped

MOST_MISTAKES = 50
_AS_WRAP = {"claude-desktop": "wrap", "cursor": "wrap"}
"""Hosts that get their servers wrapped."""
_ROLES = ("light", "prime")


def check(file: str | None, *, json: bool) -> int:
    """Prints the answer and returns the exit code: 0 when the file is right. None: the one that is found here."""
    answer = examine(FoundPolicy(POLICY_FILE) if file is None else file)
    if json:
        say(json_text(_record(answer), ascii_only=not is_unicode(sys.stdout)))
    elif answer.policy is None:
        raise PolicyError("\n".join(map(str, answer.mistakes)))
    else:
        say(*_report(answer, answer.policy, style_for(sys.stdout)))
    return OK if answer.policy else USAGE


class Answer(Struct, frozen=True):
    """Either a policy with notes, each with its line, or mistakes."""

    file: str
    policy: Policy | None = None
    notes: tuple[tuple[int, Note], ...] = ()
    mistakes: tuple[ConfigError, ...] = ()
    ignored: tuple[str, ...] = ()
    """Keys that do not count here, since the file was only found and nobody has trusted it."""
    unenforced: tuple[Unenforced, ...] = ()
    """What does not hold at the hosts that the file speaks of, or that RightCall is installed in."""


def examine(given: str | FoundPolicy) -> Answer:
    file, ignored = os.fspath(given), tuple[str, ...]()
    if file == POLICY_FILE and not os.path.lexists(file):
        missing = PolicyError("there is none here; `rightcall init` writes one, or name another file", source=file)
        return Answer(file, mistakes=(missing,))
    try:
        raw = read_text(file).raw
        trusted = not isinstance(given, FoundPolicy) or is_trusted(file, raw)
        if not trusted:
            refuse_leaving_link(file)
        source = _Source.of_bytes(file, PolicyError, raw)
        policy, mistakes = _read_all(source, source.parse(), os.path.dirname(file))
        if policy is not None and not trusted:
            tight = tighten(policy)
            ignored = tuple(ignored_keys(policy, tight))
            policy = replace(policy, packs=tight.packs)  # a file that it names is none of ours to read
        notes = [] if policy is None else notes_on(policy)  # also reads the packs that it names
    except ConfigError as error:
        return Answer(file, mistakes=(error,))
    if policy is None:
        return Answer(file, mistakes=tuple(sorted(mistakes, key=lambda error: error.line)))
    lined = [(line_of(source.lines, note.at), note) for note in notes]
    noted = tuple(sorted(lined, key=lambda pair: pair[0]))
    return Answer(file, policy, noted, ignored=ignored, unenforced=tuple(_unenforced(policy)))


def _unenforced(policy: Policy) -> Iterator[Unenforced]:
    with suppress(ConfigError):  # what is wrong with the notes of the installer is told by `status`
        installed = [_AS_WRAP.get(one.host, one.host) for one in read_manifest(state_folder()).files]
        for host in dict.fromkeys((*hosts_named(policy), *installed)):
            yield from unenforced(policy, host)


class _Source(Source):
    """Remembers where it complained, and where that stood before anything was taken out of a list."""

    at: KeyPath = ()

    def __init__(self, name: str, error: type[ConfigError], text: str | None = None) -> None:
        super().__init__(name, error, text)
        self.gone: dict[KeyPath, list[int]] = {}

    def wrong(self, path: KeyPath, message: str) -> ConfigError:
        self.at = path
        return super().wrong(self.written(path), message)

    def written(self, path: KeyPath) -> KeyPath:
        """A place in what is left, as a place in the file."""
        place: KeyPath = ()
        for key in path:
            if isinstance(key, int):
                for gone in sorted(self.gone.get(place, ())):
                    key += gone <= key
            place = (*place, key)
        return place


def _read_all(source: _Source, document: dict[str, Any], folder: str) -> tuple[Policy | None, list[ConfigError]]:
    """The policy, or every mistake: what is wrong is taken out, and the rest read again."""
    mistakes: list[ConfigError] = []
    while len(mistakes) < MOST_MISTAKES:
        try:
            policy = read_policy(source, document, folder)
            return (None if mistakes else policy), mistakes
        except PolicyError as error:
            mistakes.append(error)
            if source.at == ("version",) or not _take_out(source, document):
                break
    return None, mistakes


def _take_out(source: _Source, document: dict[str, Any]) -> bool:
    """Remove what was complained of, or the innermost thing around it; false when there is nothing to remove.

    The keys of a tool speak of each other, so its whole `[gate.tools.NAME]` goes: no mistake may follow from another.
    """
    path = source.at[:3] if source.at[:2] == ("gate", "tools") else source.at
    found: tuple[Any, int] | None = None
    inner: Any = document
    for depth, key in enumerate(path):
        if not (isinstance(inner, dict) and key in inner) and not (isinstance(inner, list) and isinstance(key, int)):
            break
        found = cast("Any", inner), depth
        inner = found[0][key]
    if found is None:
        return False
    container, depth = found
    if isinstance(container, list):
        *place, index = source.written(path[: depth + 1])
        source.gone.setdefault(tuple(place), []).append(cast("int", index))
    del cast("Any", container)[path[depth]]
    return True


def _record(answer: Answer) -> dict[str, Any]:
    """The answer as `--json` prints it."""
    policy = answer.policy
    if policy is None:
        return {"ok": False, "file": answer.file, "mistakes": [_mistake(error) for error in answer.mistakes]}
    settings = policy.settings
    return {
        "ok": True,
        "file": answer.file,
        "digest": policy.digest,
        "preset": settings.preset,
        "stage": settings.stage,
        "tools": sorted(STAGES[settings.stage]),
        "dry_run": settings.dry_run,
        "callers": list(settings.callers),
        "servers": list(policy.servers),
        "hosts": {name: host.mode or policy.mode for name, host in policy.hosts.items()},
        "router": _router_record(policy.router),
        "notes": [{"line": line, "key": dotted(note.at), "note": note.says} for line, note in answer.notes],
        "ignored": list(answer.ignored),
        "unenforced": [{"host": one.host, "rule": one.rule, "why": one.why} for one in answer.unenforced],
    }


def _router_record(router: RouterSettings) -> dict[str, Any]:
    models = {role: model.url for role in _ROLES if (model := getattr(router, role))}
    return {"enabled": router.enabled, "threshold": router.threshold, "below": router.below, "models": models}


def _mistake(error: ConfigError) -> dict[str, Any]:
    where = f"{error.source}:{error.line}: " if error.line else f"{error.source}: "
    return {"file": error.source, "line": error.line, "message": str(error).removeprefix(where)}


def _report(answer: Answer, policy: Policy, style: Style) -> list[str]:
    settings, limits = policy.settings, policy.settings.limits
    mark = style.tint("!", "yellow")
    lines = [f"{style.tint('✓', 'green')} {escaped(answer.file)} is right"]
    for label, text in (
        ("stage", f"{settings.stage}, {len(STAGES[settings.stage])} tools"),
        ("dry run", "on: tools that write or execute only show what they would do" if settings.dry_run else "off"),
        ("preset", f"{settings.preset}; all callers {window_words(limits.all)}"),
        ("", f"each caller {window_words(limits.caller)}"),
        ("asks", f"a person before {', '.join(settings.approval.effects) or 'nothing'}"),
        ("callers", f"{len(settings.callers)}: {_listed(settings.callers)}" if settings.callers else "none by name"),
        ("servers", ", ".join(name if one.enabled else f"{name} (off)" for name, one in policy.servers.items())),
        ("hosts", ", ".join(f"{escaped(name, 40)} ({one.mode or policy.mode})" for name, one in policy.hosts.items())),
        ("router", _router(policy.router) if policy.router != RouterSettings() else ""),
        ("digest", policy.digest),
    ):
        lines += hang(f"  {label:<7}  ", text, style) if text else []
    for line, note in answer.notes:
        lines += hang(f"{mark} {f'line {line}':<8}  ", f"{escaped(dotted(note.at))}: {escaped(note.says)}", style)
    for host, gaps in groupby(answer.unenforced, key=lambda one: one.host):
        lines.append(f"{mark} not enforced at {escaped(host, 40)}:")
        lines += [piece for gap in gaps for piece in hang("    - ", f"{gap.rule}: {gap.why}", style)]
    if answer.ignored:
        keys = ", ".join(escaped(key, 60) for key in answer.ignored)
        lines += hang(f"{mark} ", f"nobody has trusted this file, so these do not count: {keys}", style)
        lines += [f"  read and trust it: rightcall trust {escaped(quote(answer.file))}"]
    return lines


def _listed(names: Iterable[str]) -> str:
    return ", ".join(escaped(name, 40) for name in names)


def _router(router: RouterSettings) -> str:
    if not router.enabled:
        return "off: no request is given a tool"
    models = [f"{role} {escaped(model.url, 200)}" for role in _ROLES if (model := getattr(router, role))]
    below = "asks the user" if router.below == "ask" else "goes without the tool"
    return f"runs from {router.threshold:g} on, {below} below; models: {', '.join(models) or 'none'}"


def window_words(window: Window) -> str:
    """`10 a minute, 200 an hour, 3 a second`; what is 0 is not said."""
    periods = (("a minute", window.minute), ("an hour", window.hour), ("a second", window.burst))
    return ", ".join(f"{calls} {period}" for period, calls in periods if calls) or "without limit"
