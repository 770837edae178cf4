"""`install` and `uninstall` for Agent Zero: new files in its folder, no file of its own touched."""

import os
from argparse import Namespace

from rightcall.cli import OK, REFUSED
from rightcall.cli.install_options import agreed, lock_folder
from rightcall.cli.lines import InputError
from rightcall.cli.terminal import say
from rightcall.hosts import agent_zero_install
from rightcall.installing.agent_zero_note import note
from rightcall.installing.manifest import Record, locked, read_manifest, write_manifest
from rightcall.text.escape import escaped

_NAME = "agent-zero"
USUAL = "/a0"


def _folder(options: Namespace) -> str:
    if options.project is not None or options.local is not None or options.file is not None:
        raise InputError("Agent Zero has a folder, not a settings file: --folder DIR")
    return os.path.abspath(options.folder or USUAL)


def put_in(options: Namespace) -> int:
    folder, state = _folder(options), lock_folder()
    if options.only or options.policy is not None or options.mode is not None:
        raise InputError("for Agent Zero, mode and policy stand in rightcall.toml: [gate.hosts.agent-zero] mode = …")
    files = [file for file in agent_zero_install.plan(folder) if file.now != "same"]
    if not files:
        if not options.dry_run:
            note(folder, True)  # the script may have put it there, where nothing could note it
        say(f"Agent Zero: {escaped(folder)} has it already; nothing was changed.")
        return OK
    say(f"Agent Zero: {escaped(folder)}")
    for file in files:
        what = "new" if file.now == "absent" else "instead of an older one of ours"
        say(f"  + {escaped(os.path.relpath(file.path, folder))}  ({what}, {len(file.content):,} bytes)")
    if options.dry_run:
        say("Nothing was written (--dry-run).")
        return OK
    if not agreed(options, "write these files? [y/N] "):
        say("Nothing was written.")
        return REFUSED
    with locked(state):
        written = agent_zero_install.install(folder)
        write_manifest(state, read_manifest(state).with_record(Record(_NAME, folder, "", created=True)))
    say(
        f"Wrote {len(written)} files; no file of Agent Zero was changed. Start it again to take them up.",
        "Calls are put right where that is certain, and warned about otherwise.",
        'To refuse them instead, in rightcall.toml:  [gate.hosts.agent-zero]  mode = "block"',
        f"Undo it with:     rightcall uninstall agent-zero --folder {escaped(folder)}",
    )
    return OK


def take_out(options: Namespace) -> int:
    state = lock_folder()
    noted = [one.file for one in read_manifest(state).files if one.host == _NAME]
    folders = noted if options.folder is None and noted else [_folder(options)]
    return max(_take_out(folder, options, state) for folder in folders)


def _take_out(folder: str, options: Namespace, state: str) -> int:
    files = agent_zero_install.installed(folder)
    if not files:
        if not options.dry_run:
            note(folder, True)  # the script may have put it there, where nothing could note it
        say(f"Agent Zero: {escaped(folder)} has nothing of rightcall; nothing was changed.")
    else:
        say(f"Agent Zero: {escaped(folder)}", *(f"  - {escaped(os.path.relpath(file, folder))}" for file in files))
    if options.dry_run:
        return OK
    if files and not agreed(options, "remove these files? [y/N] "):
        say("Nothing was removed.")
        return REFUSED
    with locked(state):
        removed = agent_zero_install.uninstall(folder)
        write_manifest(state, read_manifest(state).without(_NAME, folder))
    if removed:
        say(f"Removed {len(removed)} files.")
    return OK
