"""`[servers.NAME]` of the policy file: the MCP servers that the gateway joins, and what is said of their tools.

What stands here also holds at the other doors where calls of a server of that name pass: `rightcall wrap --name NAME`,
and hooks of hosts that name the server.
"""

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from rightcall.text.patterns import hits, matches
from rightcall.types import Effect

_NONE: Mapping[str, str] = MappingProxyType({})


class Server(Struct, frozen=True):
    """One server: how it is reached, and which of its tools may be called. Patterns mean the server's own names."""

    name: str
    command: tuple[str, ...] = ()
    """The program and its arguments; or"""
    url: str = ""
    """where it is, for one that is reached by HTTP."""
    env: Mapping[str, str] = _NONE
    cwd: str = ""
    headers: Mapping[str, str] = _NONE
    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()
    effects: tuple[tuple[str, tuple[Effect, ...]], ...] = ()
    """By pattern, the first that fits counts. What none fits has all of them."""
    ask: tuple[str, ...] = ()
    dry_run: bool = False
    prefix: str | None = None
    """What stands before its tools in the gateway's list. None: its name; empty: nothing, they keep their names."""
    timeout: float = 60.0
    enabled: bool = True

    def offers(self, tool: str) -> bool:
        """Whether a tool is on the server's list, and nothing denies it.

        >>> Server("files", allow=("read_*",), deny=("read_secret",)).offers("read_file")
        True
        """
        return any(matches(one, tool) for one in self.allow) and not any(hits(one, tool) for one in self.deny)

    def effects_of(self, tool: str) -> tuple[Effect, ...] | None:
        """What the policy says a tool does; None where it says nothing."""
        return next((effects for pattern, effects in self.effects if matches(pattern, tool)), None)
