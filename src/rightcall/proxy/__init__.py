"""The model-side proxy, without any input or output of its own: what a model's server answered goes in, what the client
should see comes out (H-03).

    bytes ─▶ framing ─▶ a wire reads events ─▶ flow decides ─▶ the wire writes them ─▶ bytes

A wire (`wires/`) knows one API and translates its events to and from deltas that all APIs share. The flow decides what
becomes of each delta, with the gate. Whatever nobody changed leaves as the very bytes that came in.
"""
