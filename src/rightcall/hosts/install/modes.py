"""The mode that counts where RightCall is installed, and where it comes from.

    [gate.tools.NAME] mode ─▶ [gate.hosts.HOST] mode ─▶ --mode of the installed command ─▶ [gate] mode

The policy's word on the host wins over what was installed; a file that was only found wins where it is stricter.
"""

import os
from contextlib import suppress
from typing import Any, cast

from msgspec import Struct

from rightcall.catalog.toml import KeyPath, Source
from rightcall.errors import ConfigError, PolicyError
from rightcall.policy.settings import DEFAULT_POLICY, HOST_NAMES, Policy
from rightcall.policy.trust import FoundPolicy, read_text
from rightcall.types import Mode


class ModeInForce(Struct, frozen=True):
    mode: Mode
    installed: Mode | None
    """`--mode` of the installed command; None where it has none."""
    file: str | None = None
    """The policy file that says `mode`; None where it is the installed command that counts, or the default."""
    line: int | None = None
    tools: dict[str, Mode] = {}
    """Tools for which the policy says another mode."""

    @property
    def words(self) -> str:
        """As people read it: `observe (rightcall.toml line 2; installed: block); Bash: warn`."""
        said = [] if self.file is None else [f"{os.path.basename(self.file)} line {self.line}"]
        if self.installed is not None and self.installed != self.mode:
            said.append(f"installed: {self.installed}")
        tools = "".join(f"; {name}: {mode}" for name, mode in self.tools.items())
        return f"{self.mode} ({'; '.join(said)}){tools}" if said else f"{self.mode}{tools}"


def mode_in_force(host: str, installed: Mode | None, policy: str | None, *, found: bool = False) -> ModeInForce:
    """What counts at a host for a command with this `--mode`. `found`: nobody named the policy. One that cannot be read
    is told of elsewhere; then it is what was installed."""
    from rightcall.policy.watch import load_policy  # late: `install` starts without it

    given = DEFAULT_POLICY
    with suppress(ConfigError, OSError):
        given = load_policy(FoundPolicy(policy, installed or "block", quiet=True) if found and policy else policy)
    here = given.hosts.get(host)
    said = None if here is None else here.mode
    mode = said or installed or given.mode
    tools = _of_tools(given, mode)
    if policy is None or (said is None and installed is not None):
        return ModeInForce(mode, installed, tools=tools)
    names = (host, *(other for other, name in HOST_NAMES.items() if name == host))
    keys: list[KeyPath] = [("gate", "mode")] if said is None else [("gate", "hosts", name, "mode") for name in names]
    line = _line_saying(policy, keys, mode)
    return ModeInForce(mode, installed, None if line is None else policy, line, tools)


def _of_tools(policy: Policy, mode: Mode) -> dict[str, Mode]:
    return {name: own for name, tool in policy.tools.items() if (own := tool.rules.mode) is not None and own != mode}


def _line_saying(file: str, keys: list[KeyPath], mode: Mode) -> int | None:
    """The line on which one of these keys has this value. A milder one of a found file does not count."""
    with suppress(ConfigError, OSError):
        source = Source.of_bytes(file, PolicyError, read_text(file).raw)
        document = source.parse()
        return next((source.lines.get(key) for key in keys if _value(document, key) == mode), None)
    return None


def _value(document: dict[str, Any], key: KeyPath) -> Any:
    here: Any = document
    for part in key:
        here = cast("dict[Any, Any]", here).get(part) if isinstance(here, dict) else None
    return here
