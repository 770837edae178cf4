"""What to write by hand where a settings file cannot be edited safely."""

import json

from rightcall.installing.commands import Wish
from rightcall.installing.hooks import groups_for
from rightcall.installing.places import Host
from rightcall.installing.toml_edits import hook_tables


def hook_lines(host: Host, wish: Wish, *, toml: bool = False) -> list[str]:
    """The hooks as they should stand in the settings."""
    groups = groups_for(host, wish, [])
    if toml:
        return ["Add by hand:", "", *hook_tables(groups).split("\n")]
    events = [f"    {json.dumps(event)}: {json.dumps([group])}" for event, group in groups.items()]
    return ["Add by hand:", "", '  "hooks": {', *",\n".join(events).split("\n"), "  }"]


def wrap_lines(wish: Wish) -> list[str]:
    """How a server's entry should read."""
    ours = (*wish.program[1:], "wrap", "--name", "NAME", "--mode", wish.mode or "observe", "--")
    args = json.dumps([*ours, "ITS COMMAND", "ITS ARGUMENTS"])
    command = json.dumps(wish.program[0])
    return ["Write the entry of each server by hand as", "", f'  "command": {command},', f'  "args": {args}']
