"""MCP, the protocol between clients and tool servers: what stands between the two.

`messages`, `eras`, `approving` and `naming` do no I/O and are shared by everything here; `wrap*` is the byte pump
around one server (`rightcall wrap`).
"""
