"""From a candidate to a call that fits its tool: argument names, values, types, defaults, in this order."""
