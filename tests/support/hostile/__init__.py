"""Hostile input, made by code: what a model, a tool definition or a host could throw at the gate."""
