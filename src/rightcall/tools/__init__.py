"""Running what is allowed: local Python functions under a time limit and an output cap, dry runs, kept results.

    functions ─▶ state ─▶ preview or run ─▶ cache
    (LocalTool)           (threads, plain)

`functions` declares tools, `run` runs one and never raises, `preview` says what would happen and changes nothing,
`state` says in which state what a call touches is, `cache` keeps results. Nothing is loaded here: a program that only
declares tools needs no event loop.
"""
