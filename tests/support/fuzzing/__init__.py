"""Random tools, random right calls, random damage, and what must hold of every one. For hypothesis and `make fuzz`."""
