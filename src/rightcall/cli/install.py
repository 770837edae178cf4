"""Add RightCall to a host's settings. Shows the difference, asks, keeps a copy, then writes."""

import os
import shlex
import shutil
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import closing, redirect_stdout, suppress
from pathlib import Path
from typing import Any

from msgspec import Struct, convert, to_builtins

from rightcall.base.files.guarded import state_folder
from rightcall.base.text import escaped
from rightcall.cli import OK, REFUSED
from rightcall.cli.options import SHARED, InputError, Looking, json_option
from rightcall.cli.persons import YES, agrees, at_a_terminal, read_word
from rightcall.cli.terminal import Style, hang, many, say, say_json, tell
from rightcall.errors import ConfigError, StoreError
from rightcall.hosts.hooks.place import MODES, policy_of_project, project_folder, record_without_policy
from rightcall.hosts.install import agent_zero
from rightcall.hosts.install.agent_zero import note
from rightcall.hosts.install.places import HOSTS, Host, Scope, Wish, host_named, mode_of, program, settings_file
from rightcall.hosts.install.plans import (
    Change,
    Done,
    Installed,
    Manifest,
    Record,
    hold_lock,
    install,
    installed_in,
    is_installed,
    modes_in,
    places,
    planned_install,
    planned_removal,
    policies_in,
    read_manifest,
    uninstall,
    write_manifest,
)
from rightcall.hosts.install.trying import (
    ModeInForce,
    Tried,
    mode_in_force,
    notes_on,
    server_answers,
    settings_of,
    switched_off,
    try_hook,
    try_server,
    why_not_run,
)
from rightcall.policy.trust import FoundPolicy, folder_stop, stopped, stops_above
from rightcall.policy.types import Pause
from rightcall.record.identity import lost, refuse_leaving
from rightcall.record.sqlite_file import no_folder, read_only, unusable, way_out
from rightcall.server.whereabouts import running_at
from rightcall.types import Mode

# ── options ──
# What `install` and `uninstall` share: where the settings are, the difference, and the question.


def place_options(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("Settings (default: those of the user)")
    one = group.add_mutually_exclusive_group()
    one.add_argument(
        "--project",
        metavar="DIR",
        nargs="?",
        const=".",
        help="Use the settings of a project (default: the current folder)",
    )
    one.add_argument(
        "--local",
        metavar="DIR",
        nargs="?",
        const=".",
        help="Use the project's settings.local.json, which is not shared",
    )
    one.add_argument("--file", metavar="FILE", help="Use this settings file")
    one.add_argument("--folder", metavar="DIR", help="Use Agent Zero in this folder (default: /a0)")


def place_of(host: Host, options: Namespace) -> str:
    """The one file that the options name."""
    if options.folder is not None:
        others = "--project and --file" if "project" in host.scopes else "--file"
        raise InputError(f"--folder is for agent-zero; {host.title} has {others}")
    if options.file is not None:
        return os.path.abspath(options.file)
    scope: Scope = "project" if options.project is not None else "local" if options.local is not None else "user"
    folder = options.project if scope == "project" else options.local
    if folder is not None and not os.path.isdir(folder):
        raise InputError("no such folder", source=folder)
    return settings_file(host, scope, os.path.abspath(folder or "."), os.environ)


def place_words(options: Namespace) -> str:
    """The same place once more, as it is typed: for the commands that we propose. Begins with a space, or is empty."""
    words: list[str] = []
    for name in ("project", "local", "file"):
        value: str | None = getattr(options, name)
        if value is not None:
            words += [f"--{name}"] if value == "." and name != "file" else [f"--{name}", value]
    return f" {escaped(shlex.join(words))}" if words else ""


def say_difference(change: "Change") -> None:
    """As `diff -u` shows it, escaped, and with what looks like a secret hidden: this may end in a log."""
    from rightcall.base.secrets import Redactor
    from rightcall.tools.diff import unified_diff

    hide = Redactor(os.urandom(32))
    say(f"{change.host.title}: {escaped(change.path)}")
    if change.before is not None and change.file != os.path.abspath(change.path):
        say(f"  which is a link to {escaped(change.file)}")
    names = ("nothing" if change.before is None else "now", "nothing" if change.after is None else "then")
    for line in unified_diff(*names, _text(change.before), _text(change.after)).split("\n"):
        say("  " + escaped(hide.text(line.replace("\t", "    "))))


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "backslashreplace").replace("\r\n", "\n")


def _may_write(options: Namespace, question: str, otherwise: str = "Nothing was written.") -> bool:
    """Asks somebody at a terminal. Without one, only --yes counts."""
    if options.yes:
        return True
    if not at_a_terminal():
        raise InputError("nothing was written: cannot prompt without a terminal; pass `--yes` or `--dry-run`")
    return agrees(question, otherwise)


def _ends_here(options: Namespace, question: str) -> int | None:
    """The exit code where nothing is to be written, since this is only a rehearsal or somebody said no."""
    if options.dry_run:
        say("Nothing was written (--dry-run).")
        return OK
    return None if _may_write(options, question) else REFUSED


Work = Callable[[Namespace], int]


def _answered(options: Namespace, work: Work) -> int:
    """What a command for hosts did. With --json that is one object, and what people read goes to standard error."""
    files: list[dict[str, Any]] = []
    options.files = files
    if not options.json:
        return work(options)
    with redirect_stdout(sys.stderr):
        code = work(options)
    say_json({"host": options.host, "ok": code == OK, "dry_run": options.dry_run, "files": files})
    return code


def _note_file(
    options: Namespace, path: str | Path, change: str, *, done: bool = False, backup: str | None = None
) -> None:
    """What becomes of a file: `write`, `remove` or `none`, and whether that is done."""
    options.files.append({"file": str(path), "change": change, "done": done, "backup": backup})


def write_options(parser: ArgumentParser) -> None:
    """--yes, --dry-run, --json."""
    json_option(parser)
    parser.add_argument("--yes", action="store_true", help=SHARED["--yes"])
    parser.add_argument("--dry-run", action="store_true", help=SHARED["--dry-run"])


_UNRECORDED = "Without a policy file (--policy FILE) nothing is recorded."

EXAMPLES = """\
examples:
  rightcall install claude-code                # hooks in ~/.claude/settings.json that only record
  rightcall install claude-code --mode block   # hooks that also refuse and ask, as the policy says
  rightcall install claude-code --project      # in this project's .claude/settings.json
  rightcall install gemini --policy rightcall.toml
  rightcall install codex --dry-run            # shows what would be written
  rightcall install claude-desktop --policy ~/my.toml   # wraps the MCP servers that are there
  rightcall install cursor --project --only files --yes
  rightcall install agent-zero --folder /a0

undo it with `rightcall uninstall HOST`; `rightcall status` shows what is installed and whether it works.
"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("host", metavar="HOST", help=", ".join(HOSTS))
    place_options(parser)
    parser.add_argument(
        "--mode", choices=MODES, help="observe: only record (default); warn: tell the model; block: refuse"
    )
    parser.add_argument("--policy", metavar="FILE", help="Use this policy file wherever the host starts")
    parser.add_argument(
        "--only", metavar="NAME", action="append", default=[], help="Wrap only this MCP server; repeatable"
    )
    write_options(parser)


def run(options: Namespace) -> int:
    return _answered(options, _install)


def _install(options: Namespace) -> int:
    host = host_named(options.host)
    if host.kind == "files":
        return put_in(options)
    if options.only and host.kind != "servers":
        raise InputError(f"--only chooses among MCP servers; {host.title} gets hooks, which see the calls of all tools")
    state = state_folder()
    wish = _wish(options)
    path = place_of(host, options)
    change = planned_install(host, path, wish, read_manifest(state))
    if change.is_none:
        _note_file(options, change.path, "none")
        return _nothing(change, wish)
    say_difference(change)
    if (ended := _ends_here(options, "write this? [y/N] ")) is not None:
        _note_file(options, change.path, "write")
        return ended
    with hold_lock(state):
        fresh = planned_install(host, path, wish, read_manifest(state))
        if fresh.is_none:
            _note_file(options, change.path, "none")
            return _nothing(fresh, wish)
        done = install(change if change.before != fresh.before else fresh, state)
    _note_file(options, change.path, "write", done=True, backup=done.backup)
    say(*_describe_install(change, done, wish, place_words(options)))
    if host.name == "codex" and not options.yes:
        _offer_trust(change.path)
    return OK


def _offer_trust(path: str) -> None:
    """Codex asks its user itself whether hooks are trusted. That is one start away, which can be now."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(path)))
    here = folder if os.path.basename(os.path.dirname(path)) == ".codex" and os.path.isdir(folder) else os.getcwd()
    program = shutil.which("codex")
    if program is None or not at_a_terminal() or os.path.dirname(os.path.abspath(program)) == os.getcwd():
        return
    if read_word(f"start {escaped(program)} now, to trust the hooks? [y/N] ") in YES:
        subprocess.run([program], cwd=here, check=False)


def _wish(options: Namespace) -> Wish:
    if options.policy is not None:
        from rightcall.policy.watch import load_policy

        load_policy(options.policy)  # one that is wrong should be noticed now, not by a host in the middle of its work
    policy = None if options.policy is None else os.path.abspath(options.policy)
    return Wish(program(), options.mode, policy, tuple(options.only), windows=sys.platform == "win32")


def _nothing(change: Change, wish: Wish) -> int:
    where = f"{change.host.title}: {escaped(change.path)}"
    if is_installed(change.host, change.path):
        say(f"{where} has it already; nothing was changed.", *_indented(notes_on(change, wish)))
        say(*_indented(_untrusted(change)))
        return OK
    say(
        f"{where} {'is not there' if change.before is None else 'names no MCP server with a command'}; "
        "there is nothing to wrap yet.",
        *_indented(notes_on(change, wish)),
    )
    return REFUSED


def _untrusted(change: Change) -> list[str]:
    """What is left to do, where the host does not run what is installed."""
    if change.host.name != "codex":
        return []
    installed = installed_in(change.host, change.path)
    return [] if installed is None or not (why := why_not_run(installed, os.environ)) else [f"{why}."]


def _describe_install(change: Change, done: "Done", wish: Wish, place: str) -> list[str]:
    host = change.host
    copy = f"; what was there is in {escaped(done.backup)}" if done.backup else ""
    return [
        f"Wrote {escaped(change.path)}{copy}.",
        *_indented(notes_on(change, wish)),
        *_indented([host.after]),
        *_modes(host, change, f"{place}{_only(wish)}"),
        *_describe_overruling(host, change),
        f"Undo it with:     rightcall uninstall {host.name}{place}",
        "See if it works:  rightcall status",
    ]


def _only(wish: Wish) -> str:
    return "".join(f" --only {escaped(shlex.quote(name))}" for name in wish.only)


def _modes(host: Host, change: Change, options: str) -> list[str]:
    settings = settings_of(change)
    modes, recorded = modes_in(host, settings), host.kind == "hooks" or all(policies_in(settings))
    if modes == ["block"]:
        return [
            "Calls are recorded, and what the policy refuses does not run."
            if recorded
            else f"What does not fit its tool does not run. {_UNRECORDED}"
        ]
    where = host.name if host.kind == "hooks" else "wrap"
    said = f"Mode: {', '.join(modes)}."
    if modes == ["observe"]:
        said = f"{'Calls are recorded; n' if recorded else 'N'}othing is changed or blocked yet."
    return [
        said if recorded else f"{said} {_UNRECORDED}",
        f"Switch it on:     rightcall install {host.name}{options} --mode block",
        f'or in a policy:   gate.hosts.{where}.mode = "block"   (above its first table)',
    ]


def _describe_overruling(host: Host, change: Change) -> list[str]:
    """Where the policy of this folder says another mode than was installed: that one counts."""
    installed = installed_in(host, change.path)
    if installed is None or not installed.hooks:
        return []
    told = _modes_of_hooks(installed)
    return [f"What counts here: mode {escaped(one.words)}." for one in told if one.mode != one.installed]


def _indented(lines: list[str]) -> list[str]:
    return [f"  {escaped(line)}" for line in lines if line]


# ── Agent Zero ──
# `install` and `uninstall` for Agent Zero: new files in its folder, no file of its own touched.

_NAME = "agent-zero"
USUAL = "/a0"


def _folder(options: Namespace) -> str:
    if options.project is not None or options.local is not None or options.file is not None:
        raise InputError("Agent Zero has a folder, not a settings file: --folder DIR")
    return os.path.abspath(options.folder or USUAL)


def put_in(options: Namespace) -> int:
    folder, state = _folder(options), state_folder()
    if options.only or options.policy is not None or options.mode is not None:
        raise InputError("for Agent Zero, mode and policy stand in rightcall.toml: [gate.hosts.agent-zero] mode = …")
    files = [file for file in agent_zero.plan(folder) if file.now != "same"]
    if not files:
        if not options.dry_run:
            note(folder, True)  # the script may have put it there, where nothing could note it
        say(f"Agent Zero: {escaped(folder)} has it already; nothing was changed.")
        return OK
    say(f"Agent Zero: {escaped(folder)}")
    for file in files:
        what = "new" if file.now == "absent" else "instead of an older one of ours"
        say(f"  + {escaped(os.path.relpath(file.path, folder))}  ({what}, {len(file.content):,} bytes)")
    if (ended := _ends_here(options, "write these files? [y/N] ")) is not None:
        for file in files:
            _note_file(options, file.path, "write")
        return ended
    with hold_lock(state):
        written = agent_zero.install(folder)
        write_manifest(state, read_manifest(state).with_record(Record(_NAME, folder, "", created=True)))
    for file in files:
        _note_file(options, file.path, "write", done=True)
    say(
        f"Wrote {len(written)} files; no file of Agent Zero was changed. Start it again to take them up.",
        "Calls are repaired where that is certain, and warned about otherwise.",
        'To refuse them instead, in rightcall.toml:  [gate.hosts.agent-zero]  mode = "block"',
        f"Undo it with:     rightcall uninstall agent-zero --folder {escaped(shlex.quote(folder))}",
    )
    return OK


def take_out(options: Namespace) -> int:
    state = state_folder()
    noted = [one.file for one in read_manifest(state).files if one.host == _NAME]
    folders = noted if options.folder is None and noted else [_folder(options)]
    return max(_take_out(folder, options, state) for folder in folders)


def _take_out(folder: str, options: Namespace, state: str) -> int:
    files = agent_zero.installed(folder)
    if not files:
        if not options.dry_run:
            note(folder, True)  # the script may have put it there, where nothing could note it
        say(f"Agent Zero: {escaped(folder)} has nothing of rightcall; nothing was changed.")
    else:
        say(f"Agent Zero: {escaped(folder)}", *(f"  - {escaped(os.path.relpath(file, folder))}" for file in files))
    if options.dry_run:
        return OK
    if files and not _may_write(options, "remove these files? [y/N] ", "Nothing was removed."):
        return REFUSED
    with hold_lock(state):
        removed = agent_zero.uninstall(folder)
        write_manifest(state, read_manifest(state).without(_NAME, folder))
    for file in removed:
        _note_file(options, file, "remove", done=True)
    if removed:
        say(f"Removed {len(removed)} files.")
    return OK


HELP_UNINSTALL = """\
Remove RightCall from a host's settings. Restores the file byte for byte if nothing else changed it."""

EXAMPLES_UNINSTALL = """\
examples:
  rightcall uninstall claude-code
  rightcall uninstall cursor --project
  rightcall uninstall codex --dry-run
  rightcall uninstall gemini --all --yes
"""


def arguments_uninstall(parser: ArgumentParser) -> None:
    parser.add_argument("host", metavar="HOST", help=", ".join(HOSTS))
    place_options(parser)
    parser.add_argument("--all", action="store_true", help="Remove it everywhere, from all projects")
    write_options(parser)


def run_uninstall(options: Namespace) -> int:
    return _answered(options, _uninstall)


def _uninstall(options: Namespace) -> int:
    host = host_named(options.host)
    if host.kind == "files":
        return take_out(options)
    state = state_folder()
    paths = _files_of(host, state) if options.all else (place_of(host, options),)
    if not paths:
        say(f"{host.title}: nothing of rightcall is installed there; nothing was changed.")
    codes = [_take_out_uninstall(host, path, options, state) for path in paths]
    for other in set(_files_of(host, state)) - {os.path.realpath(path) for path in paths}:
        say(f"It is also in {escaped(other)}: --file FILE or --all takes it out there too.")
    return max(codes, default=OK)


def _files_of(host: Host, state: str) -> tuple[str, ...]:
    """Every file that we know we are in."""
    return tuple(one.file for one in read_manifest(state).files if one.host == host.name)


def _take_out_uninstall(host: Host, path: str, options: Namespace, state: str) -> int:
    change = planned_removal(host, path, read_manifest(state))
    word = "none" if change.is_none else "remove" if change.after is None else "write"
    if change.is_none and change.record is None:
        _note_file(options, path, word)
        say(f"{host.title}: {escaped(path)} has nothing of rightcall; nothing was changed.")
        return OK
    if not change.is_none:
        say_difference(change)
        if (ended := _ends_here(options, "write this? [y/N] ")) is not None:
            _note_file(options, path, word)
            return ended
    elif options.dry_run:
        _note_file(options, path, word)
        return OK
    with hold_lock(state):
        fresh = planned_removal(host, path, read_manifest(state))
        done = uninstall(change if change.before != fresh.before else fresh, state)
    _note_file(options, path, word, done=True, backup=done.backup)
    say(*_describe_removal(change, done))
    return OK


def _describe_removal(change: Change, done: Done) -> list[str]:
    path = escaped(change.path)
    if change.is_none:
        return [f"{change.host.title}: {path} has nothing of rightcall any more; it is forgotten."]
    if change.after is None:
        return [f"Removed {path}, which rightcall had made."]
    if change.exact:
        return [f"Restored {path}, byte for byte."]
    kept = f" The copy from before is {escaped(done.backup)}." if done.backup else ""
    return [f"Took the entries of rightcall out of {path}; the rest of it stays as others have written it since.{kept}"]


HELP_STATUS = """\
Show where RightCall is installed, in which mode, and whether it works. Each hook is run once, with a call of a tool
that does not exist (`rightcall_status`): it is judged, and neither run nor recorded."""

EXAMPLES_STATUS = """\
examples:
  rightcall status
  rightcall status --json
"""


def arguments_status(parser: ArgumentParser) -> None:
    json_option(parser)


def run_status(options: Namespace) -> int:
    found = integrations()
    server = _server()
    stores = [*_stores()]
    paused = [*_pauses(stores)]
    faults = [fault for path in stores if (fault := fault_of(path)) is not None]
    clashes = _clashes(stores[0])
    logins, wanted = _logins()
    record = {
        "installed": found, "server": server, "paused": paused, "faults": faults, "clashes": clashes,
        "logins": [one for one, _ in logins], "logins_wanted": [one for one, _ in wanted],
    }  # fmt: skip

    def lines(style: Style) -> Iterator[str]:
        yield from (style.tint(line, "red", "bold") for one in paused for line in _paused_lines(one))
        yield from (style.tint(fault, "red") for fault in faults)
        yield from (line for one in found for line in _status_lines(one, style))
        if not found:
            yield "No integrations installed. Run `rightcall install --help`"
        yield _server_line(server)
        yield from (f"{style.tint('!', 'yellow')} gateway: {clash}" for clash in clashes)
        yield from (line for _, line in logins)
        yield from (f"{style.tint('!', 'yellow')} {line}" for _, line in wanted)

    tell(options, record, lines)
    return REFUSED if faults or any(one["works"] is False for one in found) else OK


def _logins() -> tuple[list[tuple[dict[str, Any], str]], list[tuple[dict[str, Any], str]]]:
    """Who is logged in at which server, and which servers wait for a login: each as a record and as a line."""
    if not os.path.isdir(os.path.join(state_folder(), "logins")):
        return [], []
    from rightcall.cli.login import describe_login, login_record, render_want, want_record
    from rightcall.identity.vault import Vault

    vault = Vault()
    logins = [(login_record(one), describe_login(one)) for one in vault.logins()]
    return logins, [(want_record(one), render_want(one)) for one in vault.wants()]


def integrations() -> list[dict[str, Any]]:
    """Every host that RightCall is installed in, each tried once."""
    manifest = read_manifest(state_folder())
    return [*_of_settings(manifest), *_of_agent_zero(manifest)]


def _of_settings(manifest: Manifest) -> Iterator[dict[str, Any]]:
    for host, path in places(manifest, os.getcwd(), os.environ):
        try:
            installed = installed_in(host, path)
        except ConfigError as error:
            if manifest.of(host.name, os.path.realpath(path)) is not None:
                yield _status_record(host.name, path, works=False, why=str(error))
            continue
        if installed is not None:
            yield from _tried(installed, manifest.of(host.name, os.path.realpath(path)))


def _tried(installed: Installed, record: Record | None) -> Iterator[dict[str, Any]]:
    name, path, policy = installed.host.name, installed.path, installed.policy
    for entry in installed.servers:
        tried = try_server(entry, os.environ)
        modes = _list_modes([mode_in_force("wrap", mode_of(entry.ours), policy)])
        yield _of_try(tried, name, path, **modes, policy=policy, server=entry.name, unenforced=_gaps("wrap", policy))
    if installed.hooks:
        off = switched_off(installed.host, path, installed.settings)
        tried = Tried(off) if off else try_hook(installed, record, os.environ)
        missing = sorted(set(installed.host.events) - {one.event for one in installed.hooks})
        if missing and tried.works:
            tried = Tried(f"the hooks for {', '.join(missing)} are not there: install it again")
        if tried.works and (untrusted := _why_passed_over(installed)):
            tried = Tried(untrusted)
        used = policy or policy_of_project(project_folder())
        gaps = _gaps(name, policy) if policy else _gaps(name, used, found=True)
        modes = _list_modes(_modes_of_hooks(installed))
        ignored = [] if policy else _ignored(used)
        yield _of_try(tried, name, path, **modes, policy=used, unenforced=gaps, ignored=ignored)


def _modes_of_hooks(installed: Installed) -> list[ModeInForce]:
    said: dict[Mode | None, None] = dict.fromkeys(mode_of(one.words) for one in installed.hooks)
    named = installed.policy
    used = named or policy_of_project(project_folder())
    return [mode_in_force(installed.host.name, mode, used, found=named is None) for mode in said]


def _list_modes(modes: list[ModeInForce]) -> dict[str, Any]:
    """What counts, each once, and where it comes from."""
    return {"mode": list(dict.fromkeys(one.mode for one in modes)), "modes": [to_builtins(one) for one in modes]}


def mode_words(one: dict[str, Any]) -> str:
    """The mode that counts at an integration, for people."""
    return ", ".join(dict.fromkeys(convert(mode, ModeInForce).words for mode in one["modes"])) or "as the policy says"


def _gaps(host: str, policy: str | None, *, found: bool = False) -> list[dict[str, str]]:
    """What the policy says and the host cannot do. Without a policy there is nothing that it could not."""
    if policy is None:
        return []
    from rightcall.hosts.adapter import unenforced
    from rightcall.policy.watch import load_policy

    with suppress(ConfigError, OSError):  # a policy that is wrong is told of beside
        said = load_policy(FoundPolicy(policy, quiet=True) if found else policy)
        return [{"rule": one.rule, "why": one.why} for one in unenforced(said, host)]
    return []


def _ignored(policy: str | None) -> list[str]:
    """The keys of a policy that was found which do not count, since nobody has trusted it."""
    if policy is None:
        return []
    from rightcall.cli.policy_check import examine

    return list(examine(FoundPolicy(policy, quiet=True)).ignored)


def _why_passed_over(installed: Installed) -> str:
    """Why the host runs none of our hooks although they work."""
    return "" if installed.host.name != "codex" else why_not_run(installed, os.environ)


def _of_try(tried: "Tried", host: str, path: str, **more: Any) -> dict[str, Any]:
    return _status_record(
        host, path, works=tried.works, why=tried.why or tried.unknown, milliseconds=tried.milliseconds, **more
    )


def _status_record(host: str, path: str, **more: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {
        "mode": [], "modes": [], "policy": None, "server": None, "milliseconds": None, "unenforced": [], "ignored": [],
    }  # fmt: skip
    return {"host": host, "file": path} | usual | more


def _of_agent_zero(manifest: Manifest) -> Iterator[dict[str, Any]]:
    noted = [one.file for one in manifest.files if one.host == "agent-zero"]
    # a script without our packages may have put it there, and could note nothing
    unnoted = [USUAL] if USUAL not in noted and agent_zero.installed(USUAL) else []
    for folder in [*noted, *unnoted]:
        try:
            old = [file for file in agent_zero.plan(folder) if file.now != "same"]
            why = "its files are not there, or older ones: install it again" if old else ""
        except ConfigError as error:
            why = str(error)
        yield _status_record("agent-zero", folder, works=not why, why=why)


def _stores() -> Iterator[str]:
    """This project's store, and the one that hooks without a policy share."""
    from rightcall.policy.watch import load_policy
    from rightcall.record.premises import found_folder, store_path

    policy = policy_of_project(project_folder())
    with suppress(ConfigError, StoreError):  # what is wrong with it is told elsewhere
        found = load_policy(None if policy is None else FoundPolicy(policy, quiet=True))
        path = store_path(found, policy, project_folder())
        refuse_leaving(path, found_folder(found, policy, project_folder()) or os.path.dirname(path))
        yield path
    yield record_without_policy()


class _Beside(Struct, frozen=True):
    """Stands for a store that need not be opened: only what lies beside it is read."""

    path: str


def _clashes(store: str) -> list[str]:
    """Names that more than one tool would have in the gateway's list, by what its servers listed last."""
    policy = policy_of_project(project_folder())
    if policy is None:
        return []
    from rightcall.mcp.gateway.names import clash_words, name_tools
    from rightcall.policy.watch import load_policy
    from rightcall.record.notes import remembered_tools

    with suppress(ConfigError, OSError):
        servers = [one for one in load_policy(FoundPolicy(policy, quiet=True)).servers.values() if one.enabled]
        known = [(one.name, tool.get("name")) for one in servers for tool in remembered_tools(_Beside(store), one.name)]
        pairs = [(server, tool) for server, tool in known if isinstance(tool, str) and tool]
        named = name_tools(pairs, {one.name: one.prefix for one in servers if one.prefix is not None})
        wires = {pair: wire for wire, pair in named.names.items()}
        return [clash_words(clash, lambda server, tool: wires.get((server, tool))) for clash in named.clashes]
    return []


def _pauses(stores: list[str]) -> Iterator[dict[str, Any]]:
    """The emergency stops that hold here, each once, with the command that ends it."""
    from rightcall.cli.pause import state_record

    policy = policy_of_project(project_folder())
    folder = folder_stop(os.path.dirname(policy) if policy else project_folder())
    # without a policy, what is paused above is paused here
    above = {folder: stopped(folder)} if policy else stops_above(os.path.join(folder, "store"))
    shared, seen = record_without_policy(), list[Pause]()
    for path in stores:
        if (held := _paused(path)) is not None:
            seen.append(held)
            reach = f" --store {shlex.quote(path)}" if path == shared and policy else ""
            yield {"store": path} | state_record(held) | {"resume": f"rightcall resume{reach}"}
    for stop, held in above.items():
        if held is not None and held not in seen:
            root = "" if stop == folder else f" --root {shlex.quote(stop.rstrip(os.sep))}"
            yield {"store": stop} | state_record(held) | {"resume": f"rightcall resume{root}"}
    if (held := stopped()) is not None:
        yield {"store": "everywhere"} | state_record(held) | {"resume": "rightcall resume --everywhere"}


def _paused(path: str) -> Pause | None:
    """The emergency stop of a store, while it holds; None also where the store is not there or cannot be read."""
    if os.path.exists(path):
        with suppress(StoreError), closing(Looking(path, found=path != record_without_policy())) as store:
            return store.look(lambda tables: tables.own_pause())
    return None


def fault_of(path: str) -> str | None:
    """Why a store cannot be used, where it is lost, replaced or damaged, or cannot be written: then every call is
    refused."""
    file = os.path.realpath(path)
    if problem := lost(file):
        return unusable(file, problem, way_out(file), "replaced").reason
    try:
        if os.path.exists(path):
            with closing(Looking(path, found=path != record_without_policy())) as store:
                if problem := store.look(store.strangeness):
                    return unusable(file, problem, way_out(file), "replaced").reason
    except StoreError as fault:
        return fault.reason
    folder = os.path.dirname(file)
    if os.path.lexists(folder) and not os.path.isdir(folder):
        return no_folder(file).reason
    if os.path.lexists(file) and not (os.access(file, os.W_OK) and os.access(folder, os.W_OK | os.X_OK)):
        return read_only(file).reason
    return None


def _paused_lines(one: dict[str, Any]) -> list[str]:
    from rightcall.cli.pause import paused_line

    held = Pause(one["by"], one["since"], one["reason"] or "")
    return [*paused_line(held, one["resume"]), f"  store: {escaped(one['store'])}"]


def _server() -> dict[str, Any]:
    policy = policy_of_project(project_folder())
    answers, address = server_answers(policy), running_at(next(_stores()))
    running = answers is not None or address is not None
    return {"policy": policy, "running": running, "answers": answers, "address": address}


def _server_line(server: dict[str, Any]) -> str:
    if server["answers"] is None and server["address"] is not None:
        alone = "without a policy file each hook judges by itself: `rightcall init` writes one"
        why = alone if server["policy"] is None else "it answers no hooks here"
        return f"server: runs at {server['address']}; {why}"
    if not server["running"]:
        return "server: none is running for this folder; each hook judges by itself, which takes a little longer"
    return f"server: {'answers' if server['answers'] else 'does not answer'}, for {escaped(server['policy'])}"


def _status_lines(one: dict[str, Any], style: Style) -> list[str]:
    name = f"{one['host']}: {one['server']}" if one["server"] else one["host"]
    mode = f"mode {mode_words(one)}"
    policy = f"policy {one['policy']}" if one["policy"] else "no policy"
    took = f" (answers in {one['milliseconds']} ms)" if one["milliseconds"] is not None else ""
    broken = style.tint(f"does not work: {escaped(one['why'])}", "red")
    state = style.tint(f"works{took}", "green") if one["works"] else broken
    if one["works"] is None:
        state = style.tint(escaped(one["why"]), "yellow")
    facts = "" if one["host"] == "agent-zero" else f"  {escaped(f'{mode}, {policy}')}\n"
    lines = f"{escaped(name)}  {escaped(one['file'])}\n{facts}  {state}".split("\n")
    if one["ignored"]:
        settings = many(len(one["ignored"]), "setting")
        lines += hang(f"  {style.tint('!', 'yellow')} ", f"{settings} ignored until you trust the policy:", style)
        lines.append(f"      rightcall trust {escaped(shlex.quote(one['policy']))}")  # whole, so that it can be pasted
    for gap in one["unenforced"]:
        lines += hang(f"  {style.tint('!', 'yellow')} ", f"not enforced: {gap['rule']}: {gap['why']}", style)
    return lines
