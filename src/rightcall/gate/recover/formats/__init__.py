"""The formats by family: those that read like prose (`prose`), and those with tags or tokens (`tags`). Each has a tuple
`FORMATS`; `registry` lists the families.
"""
