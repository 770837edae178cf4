"""The bench: the gates that a history is checked with again, as it is now and with a pack laid over it."""

from collections import OrderedDict
from hashlib import blake2b
from typing import Any, Final

from msgspec import json
from msgspec.structs import replace

from rightcall.base.json.shape import Shape
from rightcall.catalog.tool import Pack, Tool
from rightcall.errors import RightCallError
from rightcall.gate.gate import Gate
from rightcall.policy.settings import Policy
from rightcall.types import Reading, Verdict

_MOST_GATES: Final = 64
"""Lists of tools that lines bring along and that are held ready."""
_NOTHING: Final = Reading((), "")


class Bench:
    """`judge` says what the gate makes of a call. A list of tools that a line brings along has a gate of its own."""

    def __init__(self, tools: list[Any], policy: Policy, packs: tuple[str | Pack, ...] = ()) -> None:
        """Raises RightCallError where tools, policy or packs cannot be used."""
        self._policy = _blocking(policy)
        self._packs = packs
        self._tools: OrderedDict[str, list[Any]] = OrderedDict({"": tools})
        self._gates: OrderedDict[str, Gate] = OrderedDict()
        self.gate_for("")

    def with_pack(self, pack: Pack) -> "Bench":
        """The same bench, with a pack more; what lines brought along is shared."""
        other = Bench(self._tools[""], self._policy, (*self._packs, pack))
        other._tools = self._tools
        return other

    def keep(self, tools: list[Any]) -> str:
        """The key of a list of tools that a line brought along; empty where no gate can be made of them."""
        try:
            raw = json.encode(tools, order="deterministic")
        except (TypeError, ValueError, RecursionError):
            return ""
        key = blake2b(raw, digest_size=8).hexdigest()
        if key not in self._tools:
            self._tools[key] = tools
            try:
                self.gate_for(key)
            except (RightCallError, TypeError, ValueError, RecursionError):
                self._tools[key] = self._tools[""]
            while len(self._tools) > _MOST_GATES:
                oldest = next(key for key in self._tools if key)
                self._tools.pop(oldest)
                self._gates.pop(oldest, None)
        return key

    def gate_for(self, key: str) -> Gate:
        gate = self._gates.get(key)
        if gate is None:
            gate = self._gates[key] = _Quiet(self._tools.get(key, self._tools[""]), self._policy, self._packs)
            while len(self._gates) > _MOST_GATES:
                self._gates.pop(next(key for key in self._gates if key))
        return gate

    def judge(self, name: str, arguments: Any, key: str = "") -> Verdict:
        return self.gate_for(key).check(name, arguments)

    def read(self, output: Any, key: str = "") -> Reading:
        """The calls in a text or message. What cannot be read at all holds none."""
        found = self.gate_for(key).read_many([output])
        return found[0] if found else _NOTHING

    def tool(self, name: str, key: str = "") -> Tool | None:
        return self.gate_for(key).catalog.get(name)

    def shape_at(self, name: str, place: str, key: str = "") -> Shape | None:
        """What the schema says of a place in the arguments of a tool."""
        tool = self.tool(name, key)
        shape = None if tool is None else tool.shape
        for step in place.split("."):
            shape = None if shape is None else shape.props.get(step.removesuffix("[]"))
            if shape is not None and step.endswith("[]"):
                shape = shape.items
        return shape


class _Quiet(Gate):
    """A gate that tells nobody: what it is asked about happened long ago."""

    def _tell(self, tool: str, verdict: Verdict, call_id: str | None) -> None:
        pass


def _blocking(policy: Policy) -> Policy:
    """Every call that does not fit is a refusal here, whatever a host does about it."""
    return replace(policy, mode="block", unknown_tool="suggest")
