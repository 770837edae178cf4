"""A policy that nobody named: it lay in the project, and whoever wrote the project may have written it.

So it can make a call stricter than what was installed, and never milder. What its record says a person has approved is
no reason to skip the host's own permissions; its modes count where they are the stricter ones; it may say what an
argument is called and never what stands in it; and its record stays in its own folder.
"""

import os
import stat

from msgspec.structs import replace

from rightcall.catalog import PackTool
from rightcall.config import HostSettings, Policy, load_policy
from rightcall.config_settings import Settings
from rightcall.door import Door
from rightcall.errors import PolicyError
from rightcall.executor_opening import store_path
from rightcall.hosts.hook_place import DEADLINE, MODES, is_file
from rightcall.packs import is_pack_path
from rightcall.types import Mode

INSTALLED: Mode = "block"
"""What a hook does that was installed without a mode."""
_NAME_YOUR_OWN = "a policy that was only found in a project cannot ask for that; name one of your own with --policy"


class FoundDoor(Door):
    """A door under such a policy. The mode it is opened with is the least that it does."""

    least: Mode = INSTALLED

    def _under(self, policy: Policy) -> Policy:
        return at_least(super()._under(policy), self.host, self._mode or self.least)


class FoundHere(FoundDoor):
    """The same for what is started by hand in its folder: without a mode of its own the policy's counts."""

    least = "observe"


def at_least(policy: Policy, host: str, installed: Mode) -> Policy:
    """The policy, nowhere milder than the mode that was installed."""
    here = policy.hosts.get(host) or HostSettings()
    here = replace(
        here,
        mode=stricter(here.mode or policy.mode, installed),
        on_failure=None if installed == "block" else here.on_failure,
        deadline=min(here.deadline, DEADLINE),  # a host that has waited too long runs the call
    )
    tools = {name: _harmless(tool, installed) for name, tool in policy.tools.items()}
    packs = tuple(name for name in policy.packs if not is_pack_path(name))  # one that the project brings along
    return replace(
        policy, hosts={**policy.hosts, host: here}, tools=tools, packs=packs, settings=_guarded(policy.settings)
    )


def _guarded(settings: Settings) -> Settings:
    """What a project says of commands and addresses may deny and ask; it silences no question of the starter list."""
    return replace(
        settings,
        commands=replace(settings.commands, allow=(), starter=True),
        urls=replace(settings.urls, allow=(), starter=True),
    )


def _harmless(tool: PackTool, installed: Mode) -> PackTool:
    """What a project says of a tool, without anything that could put words into a call: no values, no defaults, no
    other tool; and of a host's own tools no schema, whose choices could be taken for what was meant."""
    said = tool.rules
    rules = replace(
        said, values={}, defaults={}, replaced_by=None, replacement_arguments={}, batch=None, json_text=(),
        mode=None if said.mode is None else stricter(said.mode, installed),
    )  # fmt: skip
    return replace(tool, rules=rules, schema=tool.schema if "/" in tool.name else None)


def stricter(one: Mode, other: Mode) -> Mode:
    """
    >>> stricter("observe", "block"), stricter("warn", "observe")
    ('block', 'warn')
    """
    return one if MODES.index(one) >= MODES.index(other) else other


def usable(file: str | None, *, found: bool) -> Policy:
    """The policy in a file, `found` in a project or named. Raises PolicyError, also for what is no file: a pipe of that
    name would be waited for."""
    if file is None:
        return load_policy()
    if not is_file(file):
        raise PolicyError("the policy cannot be read: it is no file, or a link to nothing", source=file)
    policy = load_policy(file)
    if found:
        _refuse_leaving(policy, file)
    return policy


def _refuse_leaving(policy: Policy, file: str) -> None:
    """Raises PolicyError where the record of a policy that was found would lie outside its folder, or where what lies
    there leads out of it. Nothing has been made or opened then."""
    folder = os.path.realpath(os.path.dirname(os.path.abspath(file)))
    said = policy.settings.audit.path
    path = store_path(policy, os.path.abspath(file), folder)
    if os.path.isabs(said) or os.path.splitdrive(said)[0] or not _is_below(os.path.realpath(path), folder):
        raise PolicyError(f"audit.path: {said!a:.100} leaves the policy's folder; {_NAME_YOUR_OWN}", source=file)
    for name in _beside(path):
        raise PolicyError(f"audit.path: {name!a:.100} is a link, or no file; {_NAME_YOUR_OWN}", source=file)


def _beside(path: str) -> list[str]:
    """What lies where the record and its files are to be, and is neither a file nor a folder."""
    folder, name = os.path.split(path)
    try:
        with os.scandir(folder) as found:
            return [one.name for one in found if one.name.startswith(name) and not _is_plain(one)]
    except FileNotFoundError:
        return []
    except OSError:
        return [os.path.basename(folder)]


def _is_plain(one: "os.DirEntry[str]") -> bool:
    mode = one.stat(follow_symlinks=False).st_mode
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _is_below(path: str, folder: str) -> bool:
    try:
        return path != folder and os.path.commonpath((path, folder)) == folder
    except ValueError:  # on different drives
        return False
