"""The formats by family: those that read like prose (`prose`), and those with tags or tokens (`tags`). A family
is a tuple of formats, and `registry` lists them.
"""
