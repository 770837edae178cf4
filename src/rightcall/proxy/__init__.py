"""The model-side proxy, without any input or output of its own: what a model's server answered goes in, what the client
should see comes out (H-03).

    bytes ─▶ editor ─▶ a wire reads events ─▶ flow decides, with prose and gates ─▶ the wire writes them ─▶ bytes

A wire (`wires/`) knows one API and translates its events to and from deltas that all APIs share. The flow decides what
becomes of each delta, with the gate for its request's tools. `teaching` is for models that know no tools, `gates` says
what was done. Whatever nobody changed leaves as the very bytes that came in.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.proxy.flow import Editor, Flow, collect_answer
    from rightcall.proxy.gates import Did, Gates, Options, Provenance, Settler, provider_of
    from rightcall.proxy.teaching import Pupils, tool_prompt
    from rightcall.proxy.wires.common import Wire
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "flow": "Editor Flow collect_answer",
            "gates": "Did Gates Options Provenance Settler provider_of",
            "teaching": "Pupils tool_prompt",
            "wires.common": "Wire",
        },
    )

__all__ = [
    "Did", "Editor", "Flow", "Gates", "Options", "Provenance", "Pupils", "Settler", "Wire", "collect_answer",
    "provider_of", "tool_prompt",
]  # fmt: skip
