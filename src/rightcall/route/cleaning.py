"""An answer for people, as it comes: no call in it, no marker of one, no reasoning that some models write first.

    pieces ─▶ reasoning is held back ─▶ calls are taken out ─▶ lone markers go ─▶ again, twice ─▶ a last look ─▶ people

Taking something out can make another of what stood around it, so all of it is done several times. Where the last look,
which is the gate's own, still finds something, the answer ends there: what is built like that is no answer. An answer
without any markup comes back as it is, and so does code in it.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from rightcall.recover.machine import Machine
from rightcall.recover.registry import scanner_for
from rightcall.recovering import CatalogTools
from rightcall.route.cleaning_calls import Calls
from rightcall.route.cleaning_hidden import Hidden, Opened, Scratchpad
from rightcall.route.cleaning_markers import markers_of
from rightcall.route.cleaning_sweep import Sweep

if TYPE_CHECKING:
    from rightcall.gate import Gate

_PASSES = 3
_ODD_SPACE = re.compile(r"[^\S \t\r\n]\s*\Z")
"""Nobody is shown what is blank at the end; to the gate only these are more than blanks."""

_ENDS = "..."
"""Says that something is missing; what stands before it is then no call that was cut off."""


class _Step(Protocol):
    def push(self, text: str, /) -> str: ...
    def close(self) -> str: ...


class Cleaner:
    """`push` each piece and show what it returns; `close` gives the rest. Together the same as of the whole text."""

    def __init__(self, gate: "Gate") -> None:
        markers = markers_of(gate.formats)
        self._readers = [Calls(gate, anew=number == _PASSES - 1) for number in range(_PASSES)]
        self._steps: list[_Step] = [Opened()] if gate.reasoning == "open" else []
        for reader in self._readers:
            self._steps += (Hidden(), Scratchpad(), reader, Sweep(markers))
        self._steps += (_LastLook(gate), _LastSweep(Sweep(markers)))

    @property
    def calls(self) -> int:
        """How many calls stood in it."""
        return sum(reader.found for reader in self._readers)

    def push(self, piece: str) -> str:
        return self._through(0, piece)

    def close(self) -> str:
        return "".join(self._through(number + 1, step.close()) for number, step in enumerate(self._steps))

    def _through(self, number: int, text: str) -> str:
        for step in self._steps[number:]:
            if not text:
                return ""
            text = step.push(text)
        return text


def cleaned(gate: "Gate", text: str) -> tuple[str, int]:
    """A whole answer without its calls, and how many there were.

    >>> from rightcall import Gate
    >>> cleaned(Gate(), '<think>Hm.</think>It is <tool_call>{"name": "f", "arguments": {}}</tool_call>42.')
    ('It is 42.', 1)
    """
    cleaner = Cleaner(gate)
    return (cleaner.push(text) + cleaner.close()).strip(), cleaner.calls


class _LastLook:
    """Reads what is about to be shown as the gate would, and lets nothing pass from the first call on."""

    def __init__(self, gate: "Gate") -> None:
        self._machine = Machine(scanner_for(gate.formats), CatalogTools(gate.catalog), gate.policy.max_text)
        self._over = False
        self._begun = False
        self._held: str = ""

    def push(self, text: str) -> str:
        text = self._held + text if self._begun else text.lstrip()  # as it is shown
        self._begun = self._begun or bool(text)
        odd = _ODD_SPACE.search(text)
        end = len(text) if odd is None else odd.start()
        self._held = text[end:]
        return "" if self._over else self._before_a_call(self._machine.push(text[:end]))

    def close(self) -> str:
        return "" if self._over else self._before_a_call(self._machine.close())

    def _before_a_call(self, events: Sequence[object]) -> str:
        prose: list[str] = []
        for event in events:
            if not isinstance(event, str):
                self._over = True
                prose.append(_ENDS)
                break
            prose.append(event)
        return "".join(prose)


class _LastSweep:
    """The same for markers."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self._shown = 0

    def push(self, text: str) -> str:
        return self._before_a_marker(self._sweep.push(text))

    def close(self) -> str:
        return self._before_a_marker(self._sweep.close())

    def _before_a_marker(self, text: str) -> str:
        if self._sweep.first is not None:
            text = text[: max(0, self._sweep.first - self._shown)]
        self._shown += len(text)
        return text
